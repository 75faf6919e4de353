"""The one place that starts other programs: no shell, a deadline, bounded output, replayable.

Detectors get a :class:`Runner`; on a recorded machine it answers from files instead of starting anything.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LIMIT: Final = 4 * 1024 * 1024  # more output than any tool we ask prints; a runaway tool is cut here


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program did.

    Attributes:
        code: its exit status; 127 if it is not installed, 124 if it ran past the deadline.
        out: its standard output (of a program that hung, what it had written by then), cut at 4 MiB, undecodable bytes
            replaced.
        err: its standard error, likewise.
        why: the reason in words when the program could not be run to its end, else empty.
    """

    code: int
    out: str = ""
    err: str = ""
    why: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ran to its end and reported success."""
        return self.code == 0 and not self.why


class Runner(Protocol):
    """Something that runs a program, or replays what it printed."""

    def __call__(self, argv: Sequence[str], *, timeout: float = 5.0, env: Mapping[str, str] | None = None) -> Outcome:
        """Run ``argv`` and return its outcome; never raises for anything the program does."""
        ...


def run(argv: Sequence[str], *, timeout: float = 5.0, env: Mapping[str, str] | None = None) -> Outcome:
    """Run a program of this machine with English messages and a deadline in seconds.

    The program gets its own session, so that a Ctrl-C at the terminal reaches us alone and a timeout takes its
    children with it.
    """
    settings = {**os.environ, "LC_ALL": "C", **(env or {})}
    try:
        process = subprocess.Popen(  # noqa: S603 - argv is ours, never a shell line
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=settings,
            start_new_session=True,
        )
    except OSError as error:
        return Outcome(127, why=f"{argv[0]} could not be started: {error.strerror}")
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as late:
        _end(process)
        why = f"{argv[0]} did not answer within {timeout:g} s"
        return Outcome(124, _text(late.stdout or b""), _text(late.stderr or b""), why)
    except BaseException:
        _end(process)
        raise
    return Outcome(process.returncode, _text(out), _text(err))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole session of a program that hangs."""
    import signal

    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return  # stuck in the kernel (a hung driver): init will reap it


def _text(raw: bytes) -> str:
    return raw[:_LIMIT].decode("utf-8", "replace")
