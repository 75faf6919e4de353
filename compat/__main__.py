"""The command's door: the version without importing anything, everything else through the command line."""

import _signal  # type: ignore[import-not-found]  # the built-in half of ``signal``, there from the start
import sys

# Until the handlers stand, Ctrl-C ends the command at once and without a traceback, as the shell expects (130).
if sys.argv[0].endswith("envcheck") and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

import errno
import gc

from compat import stopping

# Objects made between two collections: loading modules makes many and drops none, so that looking often is in vain.
_MANY = 50_000


def main() -> int:
    """Run ``envcheck`` with the process's arguments and return its exit code."""
    try:
        stopping.listen()
        return _answered()
    except stopping.Stopped as stopped:
        return _stopped(stopped.code)
    except KeyboardInterrupt:  # raised by a library that took the handler
        return _stopped(130)
    except MemoryError:
        return _scarce("memory")
    except OSError as error:
        if error.errno not in {errno.EMFILE, errno.ENFILE, errno.ENOMEM}:
            raise
        return _scarce("memory" if error.errno == errno.ENOMEM else "open files")
    finally:
        stopping.finish()
        gc.freeze()  # else the interpreter looks through every object once more on its way out


def _answered() -> int:
    collect_seldom()
    if sys.argv[1:] in (["--version"], ["-V"]):
        return _version()
    from compat.cli import run

    return run(sys.argv[1:])


def _stopped(code: int) -> int:
    """One line, and the end: what was started is ended already, and nobody waits for the rest of the answer."""
    try:
        if sys.stderr:
            sys.stderr.write("envcheck: interrupted\n")
            sys.stderr.flush()
    except OSError:
        pass
    stopping.leave(code)
    return code


def _scarce(what: str) -> int:
    """The limit was reached while modules were being loaded."""
    if sys.stderr:
        sys.stderr.write(f"envcheck: this process may have no more {what}; raise its limit (ulimit -a shows them)\n")
    return 3


def collect_seldom() -> None:
    """Let Python look for garbage less often, as whoever resolves many requests in one process may do too."""
    gc.set_threshold(_MANY)


def _version() -> int:
    from compat import __version__

    try:
        if sys.stdout:  # None where the parent closed it
            sys.stdout.write(f"envcheck {__version__}\n")
            sys.stdout.flush()
    except OSError as error:
        sys.stdout = None
        sys.stderr.write(f"envcheck: standard output cannot be written: {error.strerror}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
