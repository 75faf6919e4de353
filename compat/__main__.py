"""The command's door: the version without importing anything, everything else through the command line."""

from __future__ import annotations

import sys


def main() -> int:
    """Run ``envcheck`` with the process's arguments and return its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from compat import __version__

        sys.stdout.write(f"envcheck {__version__}\n")
        return 0
    from compat.cli import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
