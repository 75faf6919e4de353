"""SIGINT, SIGTERM and SIGHUP end a command alike: what it started is ended, one line is said, no traceback.

The first signal raises :class:`Stopped` where the main thread is, so that every ``finally`` does its work. A second
one that does not belong to the same burst (a terminal, ``timeout`` and a service manager may each send one) ends the
process at once, and so does any signal while the interpreter shuts down. A signal that was ignored from the start
(``nohup``, a job in the background) stays ignored.

Source of the exit codes: POSIX, "Shell Command Language", exit status of a command that a signal ended: 128 plus its
number, as every common shell has it.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # the built-in half of ``signal``: the other half costs as much as the whole door
import os
import sys
from _thread import get_ident, start_new_thread
from time import monotonic, sleep

TYPE_CHECKING = False  # ``typing`` costs more than the rest of ``--version``; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_BURST: Final = 1.0  # seconds in which several signals count as one
_NUMBERS: Final = tuple(getattr(_signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(_signal, name))


class Stopped(BaseException):
    """A signal asks the command to end.

    Attributes:
        code: the exit code that tells it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


class _State:
    """What was heard so far; one per process, as signals are."""

    def __init__(self) -> None:
        self.main = get_ident()
        self.heard = 0.0  # when the first signal came; nothing came yet if zero
        self.held = 0  # how many blocks must not be interrupted now
        self.waiting = 0  # the signal that came meanwhile
        self.lasts: list[Callable[[], None]] = []


_STATE: Final = _State()


def listen() -> None:
    """From now on the first signal raises :class:`Stopped`; for the main thread of a command."""
    for number in _NUMBERS:
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, _hear)
    sys.unraisablehook = _lost


def at_last(work: Callable[[], None]) -> None:
    """Have something done before the process ends, however it ends; it must be quick and must not raise."""
    _STATE.lasts.append(work)


def leave(code: int) -> None:
    """End the process now, without the interpreter's own shutdown, which could block on a full pipe."""
    finish()
    os._exit(code)


def finish() -> None:
    """Do what must be done last; from now on a signal ends the process at once."""
    for number in _NUMBERS:
        if _signal.getsignal(number) is _hear:
            _signal.signal(number, _end)
    for work in _STATE.lasts:
        work()


class held:  # noqa: N801 - read as a word: ``with held():``
    """A block that no signal interrupts; one that came meanwhile raises at its end. For blocks of milliseconds."""

    def __enter__(self) -> None:
        """Hold signals back; only the main thread has any."""
        if get_ident() == _STATE.main:
            _STATE.held += 1

    def __exit__(self, *_: object) -> None:
        """Raise what was held back.

        Raises:
            Stopped: if a signal came.
        """
        if get_ident() != _STATE.main:
            return
        _STATE.held -= 1
        if _STATE.waiting and not _STATE.held:
            number, _STATE.waiting = _STATE.waiting, 0
            raise Stopped(number)


def _hear(number: int, _frame: Any) -> None:
    """The first signal asks, a later one insists."""
    now = monotonic()
    if not _STATE.heard:
        _STATE.heard = now
        if _STATE.held:
            _STATE.waiting = number
            return
        raise Stopped(number)
    if now - _STATE.heard > _BURST:
        leave(128 + number)


def _end(number: int, _frame: Any) -> None:
    leave(128 + number)


def _lost(report: Any) -> None:
    """A signal that came where nothing can be raised (a finaliser) is sent once more, a moment later."""
    if isinstance(report.exc_value, Stopped):
        _STATE.heard = 0.0
        start_new_thread(_send, (report.exc_value.code - 128,))
    else:
        sys.__unraisablehook__(report)


def _send(number: int) -> None:
    sleep(0.01)
    os.kill(os.getpid(), number)
