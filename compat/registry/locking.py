"""Questions to package indexes: the only place, beside building, that uses the network, and only on demand.

A lock file (PEP 751) needs every transitive package with its hashes. Installers resolve that well: uv for any Python
and platform, pip for the Python that runs it. The plan's exact pins and indexes go in; the installer's own
configuration (mirrors, credentials, certificates) counts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from compat import lock, run
from compat.errors import CannotCheckError

if TYPE_CHECKING:
    from compat.plan import Plan

_DEADLINE: Final = 600.0
_LONGEST: Final = 600  # characters of an installer's words
_HINT: Final = "uv locks for every Python; pip does from 25.1 on, for its own"


def pylock(plan: Plan, *, runner: run.Runner = run.run) -> str:
    """The plan as a ``pylock.toml`` with hashes.

    Raises:
        CannotCheckError: if no installer here can lock for the plan's Python, or it fails; with its own words.
    """
    with tempfile.TemporaryDirectory(prefix="envcheck-lock-") as folder:
        wanted, made = Path(folder, "requirements.txt"), Path(folder, "pylock.toml")
        wanted.write_text(lock.requirements(plan), "utf-8")
        outcome = runner(_command(plan, wanted, made), timeout=_DEADLINE)
        if not outcome.ok or not made.is_file():
            raise CannotCheckError(f"the lock could not be made: {_said(outcome)}", hint=_HINT)
        return made.read_text("utf-8")


def _said(outcome: run.Outcome) -> str:
    """The installer's own words: from its first error on where it marks one, else its last lines."""
    lines = [line.strip() for line in outcome.err.splitlines() if line.strip()]
    first = next((number for number, line in enumerate(lines) if line.lower().startswith("error")), len(lines) - 2)
    return outcome.why or " ".join(lines[max(0, first) :])[:_LONGEST] or "the installer said nothing"


def _command(plan: Plan, wanted: Path, made: Path) -> list[str]:
    if uv := run.which("uv"):
        # As pip does. The default strategy takes a package from the first index that has it, and PyTorch's own index
        # has old copies of NumPy and others; the planned builds are pinned to their local version either way.
        indexes = ["--index-strategy", "unsafe-best-match"]
        # A universal lock holds the files of every platform, each behind its marker.
        platform = ["--universal"] if plan.also else ["--python-platform", f"{plan.arch}-manylinux_2_28"]
        platform = ["--python-version", plan.python, *platform]
        # The interpreter is ours: uv would look for a .venv in its folder and above, and run the one it finds.
        platform += ["--python", sys.executable]
        options = ["--generate-hashes", "--format", "pylock.toml", "--quiet", "--no-header"]
        return [uv, "pip", "compile", str(wanted), "--output-file", str(made), *indexes, *platform, *options]
    if plan.python == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return [*run.isolated(), "-m", "pip", "lock", "--quiet", "-r", str(wanted), "-o", str(made)]
    raise CannotCheckError(f"no installer here locks for Python {plan.python}", hint="install uv")
