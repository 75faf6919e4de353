"""The one place that starts other programs: no shell, a deadline, bounded output, replayable.

Detectors get a :class:`Runner`; on a recorded machine it answers from files instead of starting anything.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Final, Protocol

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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


def stream(
    argv: Sequence[str],
    hear: Callable[[str], None],
    *,
    text: str = "",
    timeout: float = 3600.0,
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a program that takes long, and hear each line as it comes; both outputs are one stream.

    Args:
        argv: the program and its words.
        hear: called with every line, without its end.
        text: its standard input.
        timeout: deadline in seconds.
        env: environment over ours.

    Returns:
        What it did; ``out`` holds the last 4 MiB of what was heard.
    """
    import tempfile

    with tempfile.TemporaryFile() as source:
        source.write(text.encode())
        source.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - argv is ours, never a shell line
                list(argv),
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C", **(env or {})},
                start_new_session=True,
            )
        except OSError as error:
            return Outcome(127, why=f"{argv[0]} could not be started: {error.strerror}")
        return _heard(process, argv[0], hear, timeout)


def _heard(process: subprocess.Popen[bytes], name: str, hear: Callable[[str], None], timeout: float) -> Outcome:
    """Pass lines on until the program closes its output or the deadline comes; end it whatever happens."""
    import select
    import time

    assert process.stdout is not None
    until, kept, rest = time.monotonic() + timeout, b"", b""
    try:
        while select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            data = os.read(process.stdout.fileno(), 65536)
            if not data:
                if rest:  # a program that dies may not end its last line, which says why
                    hear(_text(rest))
                return Outcome(process.wait(timeout=10), _text(kept))
            kept = (kept + data)[-_LIMIT:]
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                hear(_text(line.rstrip(b"\r")))
            rest = rest[-_LIMIT:]
        return Outcome(124, _text(kept), why=f"{name} did not end within {timeout:g} s")
    finally:
        if process.poll() is None:
            _end(process)
        process.stdout.close()


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
