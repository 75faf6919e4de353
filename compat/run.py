"""The one place that starts other programs: no shell, a deadline, bounded output, replayable, none left behind.

Detectors get a :class:`Runner`; on a recorded machine it answers from files instead of starting anything. Programs run
in a neutral folder: the current one may be a stranger's repository, whose files an interpreter or a loader would run.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic, sleep
from typing import IO, Final, Protocol

from compat import stopping
from compat.lazy import dataclass

_LIMIT: Final = 4 * 1024 * 1024  # more output than any tool we ask prints; a runaway tool is ended here
_PART: Final = 65536
_LINE: Final = 1 << 20  # bytes of a line that is passed on before its end has come
_LOOK: Final = 0.2  # seconds between two looks whether a program has ended whose children keep its output open
_PATIENCE: Final = 3.0  # seconds that a long program gets to clean up after SIGTERM
_MARK: Final = "ENVCHECK_STARTED"
_LATE: Final = "late"  # it ran past the deadline
_LEFT: Final = "left"  # it has ended, and something that it started has not
# Where programs run: nobody but the system's owner puts files there.
NEUTRAL: Final = "/" if os.name == "posix" else sys.base_prefix


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program did.

    Attributes:
        code: its exit status; 127 if it is not installed, 124 if it ran past the deadline or printed without end.
        out: its standard output (of a program that hung, what it had written by then), at most 4 MiB, undecodable
            bytes replaced.
        err: its standard error, likewise.
        why: the reason in words when the program could not be run to its end, else empty.
        lacking: whether this process may start no program at all now, since memory, files or processes ran out.
    """

    code: int
    out: str = ""
    err: str = ""
    why: str = ""
    lacking: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ran to its end and reported success."""
        return self.code == 0 and not self.why


class Runner(Protocol):
    """Something that runs a program, or replays what it printed."""

    def __call__(self, argv: Sequence[str], *, timeout: float = 5.0, env: Mapping[str, str] | None = None) -> Outcome:
        """Run ``argv`` and return its outcome; never raises for anything the program does."""
        ...


class _Children:
    """The programs that run now, so that none outlives this process."""

    def __init__(self) -> None:
        self.running: dict[subprocess.Popen[bytes], str] = {}  # and its mark
        self.starting, self.closed, self.lock = 0, False, threading.Lock()
        self.count = 0

    def start(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None, **settings: object
    ) -> subprocess.Popen[bytes]:
        """Start a program in a session of its own, and note it before a signal can come.

        A mark in its environment tells it and all that it starts from other people's programs.

        Raises:
            OSError: if it cannot be started, or everything is being ended.
        """
        with stopping.held():
            with self.lock:
                if self.closed:
                    raise InterruptedError(4, "the command is ending")
                self.starting += 1
                self.count += 1
                mark = f"{os.getpid()}.{self.count}"
            try:
                whole = {**os.environ, "LC_ALL": "C", **(env or {}), _MARK: mark}
                process = subprocess.Popen(list(argv), env=whole, start_new_session=True, **settings)  # type: ignore[call-overload]  # noqa: S603 - argv is ours, never a shell line
                self.running[process] = mark
            finally:
                with self.lock:
                    self.starting -= 1
        return process  # type: ignore[no-any-return]

    def end(self) -> None:
        """End all, and let none be started any more; those that are being started now are waited for."""
        self.closed, until = True, monotonic() + _PATIENCE
        while self.running or self.starting:
            for process in tuple(self.running):
                _kill(process)
                self.running.pop(process, None)
            if not self.starting or monotonic() > until:
                break
            sleep(0.005)
        if _has_children():  # what was forked and is not known by its object yet
            _kill_each(_descendants(os.getpid()))


_CHILDREN: Final = _Children()
stopping.at_last(_CHILDREN.end)


def isolated() -> list[str]:
    """The words that start our own interpreter without the current folder and the environment's wishes (``-I``).

    Packages of the user's own (``pip install --user``) stay visible where they are visible to us.
    """
    import site

    if not site.ENABLE_USER_SITE:
        return [sys.executable, "-I"]
    return [sys.executable, "-E", *(["-P"] if sys.version_info >= (3, 11) else [])]


def which(program: str) -> str:
    """Path of a program on PATH; empty if there is none. Relative folders of PATH may be anybody's and do not count."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, program + ".exe" * (os.name == "nt"))  # noqa: PTH118 - no pathlib at start-up
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):  # noqa: PTH113, PTH117
            return path
    return ""


def run(argv: Sequence[str], *, timeout: float = 5.0, env: Mapping[str, str] | None = None) -> Outcome:
    """Run a program of this machine with English messages and a deadline in seconds.

    The program gets its own session, so that a Ctrl-C at the terminal reaches us alone and a timeout takes its
    children with it.
    """
    try:
        process = _CHILDREN.start(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=NEUTRAL
        )
    except OSError as error:
        return _not_started(argv[0], error)
    out, err = bytearray(), bytearray()
    why = ""
    try:
        if os.name == "nt":  # its pipes cannot be waited for
            why = _communicated(process, out, err, timeout)
        else:
            why = _collected(process, {process.stdout: out, process.stderr: err}, monotonic() + timeout)
    finally:
        _close(process, left=why != "")
    why = f"did not answer within {timeout:g} s" if why == _LATE else why
    if why and why != _LEFT:
        return Outcome(124, _text(out), _text(err), f"{argv[0]} {why}")
    return Outcome(process.returncode, _text(out), _text(err))


def _not_started(program: str, error: OSError) -> Outcome:
    why = f"{program} could not be started: {error.strerror}"
    return Outcome(127, why=why, lacking=error.errno in {errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM})


def _collected(process: subprocess.Popen[bytes], streams: Mapping[IO[bytes] | None, bytearray], until: float) -> str:
    """Read what a program writes until it ends; why it is not waited for any longer, else empty.

    A program that has ended and left its output to a child of its own is done: :data:`_LEFT`.
    """
    import selectors

    with selectors.DefaultSelector() as open_ones:
        for stream in streams:
            assert stream is not None
            open_ones.register(stream, selectors.EVENT_READ)
        while open_ones.get_map():
            left, over = until - monotonic(), process.poll() is not None
            ready = open_ones.select(0.0 if over else min(_LOOK, max(0.0, left)))
            for key, _ in ready:
                part = os.read(key.fd, _PART)
                into = streams[key.fileobj]  # type: ignore[index]
                into += part
                if not part:
                    open_ones.unregister(key.fileobj)
                if len(into) > _LIMIT:
                    return f"printed more than {_LIMIT >> 20} MiB and was ended"
            if not ready and over:
                return _LEFT
            if left <= 0:
                return _LATE
    try:
        process.wait(max(0.0, until - monotonic()))
    except subprocess.TimeoutExpired:
        return _LATE
    return ""


def _communicated(process: subprocess.Popen[bytes], out: bytearray, err: bytearray, timeout: float) -> str:
    """The same on Windows, where what is kept is bounded by the tools' own manners."""
    try:
        parts = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        return _LATE
    out += parts[0]
    err += parts[1]
    return ""


def stream(
    argv: Sequence[str],
    hear: Callable[[str], None],
    *,
    text: str = "",
    timeout: float = 3600.0,
    env: Mapping[str, str] | None = None,
    folder: str = NEUTRAL,
) -> Outcome:
    """Run a program that takes long, and hear each line as it comes; both outputs are one stream.

    ``hear``: called with every line, without its end.

    Returns:
        What it did; ``out`` holds the last 4 MiB of what was heard.
    """
    import tempfile

    with tempfile.TemporaryFile() as source:
        source.write(text.encode())
        source.seek(0)
        try:
            process = _CHILDREN.start(
                argv, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=folder
            )
        except OSError as error:
            return _not_started(argv[0], error)
        return _heard(process, argv[0], hear, timeout)


def _heard(process: subprocess.Popen[bytes], name: str, hear: Callable[[str], None], timeout: float) -> Outcome:
    """Pass lines on until the program closes its output or the deadline comes; end it whatever happens."""
    import select

    assert process.stdout is not None
    until, kept, rest = monotonic() + timeout, bytearray(), b""
    try:
        while select.select([process.stdout], [], [], max(0.0, until - monotonic()))[0]:
            data = os.read(process.stdout.fileno(), _PART)
            if not data:
                if rest:  # a program that dies may not end its last line, which says why
                    hear(_text(rest))
                return Outcome(process.wait(timeout=10), _text(kept[-_LIMIT:]))
            kept += data
            if len(kept) > 2 * _LIMIT:
                del kept[:-_LIMIT]
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                hear(_text(line.rstrip(b"\r")))
            rest = rest[-_LINE:]
        return Outcome(124, _text(kept[-_LIMIT:]), why=f"{name} did not end within {timeout:g} s")
    finally:
        if process.poll() is None:
            _ask(process)
        _close(process)


def _ask(process: subprocess.Popen[bytes]) -> None:
    """Let a program end by itself: a builder has its engine to tell, and the probes end what they started."""
    from signal import SIGTERM

    try:
        os.killpg(process.pid, SIGTERM)
        process.wait(timeout=_PATIENCE)
    except (OSError, subprocess.TimeoutExpired):
        return


def _close(process: subprocess.Popen[bytes], *, left: bool = False) -> None:
    """End a program that still runs, or what it has left behind, and let go of its output."""
    if left or process.returncode is None:
        _kill(process)
    _CHILDREN.running.pop(process, None)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    try:
        process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return  # stuck in the kernel (a hung driver): init will reap it


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a session, and what left it for one of its own, also where its parent has ended (a daemon)."""
    if os.name == "nt":
        process.kill()
        return
    others = _descendants(process.pid)
    _kill_each([-process.pid, *others, *_marked(_CHILDREN.running.get(process, ""))])


def _marked(mark: str) -> list[int]:
    """Processes of ours with a mark in the environment that they started with (proc(5), ``environ``)."""
    words, found = f"\0{_MARK}={mark}\0".encode(), []
    for number in _numbers() if mark else ():
        try:
            with open(f"/proc/{number}/environ", "rb") as environ:  # noqa: PTH123
                if words in b"\0" + environ.read(_LIMIT):
                    found.append(number)
        except OSError:
            continue  # it has ended, or is another user's
    return found


def _numbers() -> list[int]:
    """The processes of this machine, as far as /proc tells."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208
    except OSError:
        return []


def _kill_each(numbers: Sequence[int]) -> None:
    """Kill processes, and groups by their negative numbers (kill(2))."""
    from signal import SIGKILL

    for number in numbers:
        try:
            os.kill(number, SIGKILL)
        except OSError:
            continue  # it has ended


def _has_children() -> bool:
    """Whether this process has a child, also one that has ended: one question, where /proc may hold thousands."""
    if not hasattr(os, "waitid"):  # Windows, and macOS before Python 3.13
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _descendants(pid: int) -> list[int]:
    """Processes below one, as far as /proc tells (proc(5), ``stat``: the parent is the second word after the name)."""
    below: dict[int, list[int]] = {}
    for number in _numbers():
        try:
            with open(f"/proc/{number}/stat", "rb") as stat:  # noqa: PTH123
                parent = int(stat.read(1024).rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        below.setdefault(parent, []).append(number)
    found = [pid]
    for each in found:
        found += below.get(each, [])
    return found[1:]


def _text(raw: bytes | bytearray) -> str:
    return raw[:_LIMIT].decode("utf-8", "replace")
