"""What a detector is given: a machine that never raises and never waits past its deadline."""

from __future__ import annotations

import threading
import time
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from compat.detect.root import LIMIT, Entry, Interpreter, Root, System
from compat.facts import Fact, Reading, Unknown
from compat.lazy import dataclass, pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from compat.run import Outcome, Runner

T = TypeVar("T")

_WINDOWS_FOLDER: Final = pattern(r"[A-Za-z]:[\\/]|\\\\")  # of a drive, or of another machine


@dataclass(frozen=True, slots=True)
class Machine:
    """A root, a runner and a deadline; reads become readings, failures become reasons.

    Attributes:
        root: the surface that is looked at.
        run: what starts programs, or replays them.
        until: ``time.monotonic()`` after which no answer counts.
        python: interpreter or environment folder that the person chose; empty for the obvious one.
        full: whether serial numbers and UUIDs may be told.
    """

    root: Root
    run: Runner
    until: float
    python: str = ""
    full: bool = False
    _memo: dict[str, Any] = field(default_factory=dict)
    _locks: dict[str, threading.Lock] = field(default_factory=dict)

    @property
    def system(self) -> System:
        """Kernel and architecture."""
        return self.once("system", self.root.system)

    @property
    def env(self) -> Mapping[str, str]:
        """The environment variables."""
        return self.once("env", self.root.environ)

    @property
    def interpreter(self) -> Interpreter:
        """The Python that runs us."""
        return self.once("interpreter", self.root.interpreter)

    def once(self, key: str, make: Callable[[], T]) -> T:
        """What ``make`` returns, worked out once per machine however many detectors ask.

        Each key has a lock of its own: a question that hangs holds up those who need its answer and nobody else.
        """
        with self._locks.setdefault(key, threading.Lock()):
            if key not in self._memo:
                self._memo[key] = make()
            found: T = self._memo[key]
            return found

    def left(self) -> float:
        """Seconds until the deadline, never below a few milliseconds so that a last look is possible."""
        return max(0.005, self.until - time.monotonic())

    def read(self, path: str, limit: int = LIMIT) -> Reading:
        """The text at ``path``; a known absence if nothing is there; the system's reason if it may not be read."""
        try:
            return Fact(self.root.read(path, limit).decode("utf-8", "replace"), path)
        except (FileNotFoundError, NotADirectoryError):
            return Fact(None, path)
        except OSError as error:
            return Unknown(f"{path}: {reason(error)}", path)

    def text(self, path: str, limit: int = LIMIT) -> str:
        """The stripped text at ``path``; empty if there is none or it may not be read."""
        reading = self.read(path, limit)
        return (reading.value or "").strip() if isinstance(reading, Fact) else ""

    def number(self, path: str) -> int | None:
        """The whole number of at most 64 bits that a file of sysfs holds; ``None`` for anything else (``max``)."""
        text = self.text(path, 64)
        number = int(text) if text.isascii() and text.isdigit() else -1
        return number if 0 <= number < 1 << 64 else None

    def data(self, path: str, limit: int = LIMIT) -> bytes:
        """The bytes at ``path``; empty if there are none or they may not be read."""
        try:
            return self.root.read(path, limit)
        except OSError:
            return b""

    def names(self, path: str) -> tuple[str, ...]:
        """Names in a folder, sorted; none if there is no such folder or it may not be listed."""
        try:
            return tuple(self.root.names(path))
        except OSError:
            return ()

    def entry(self, path: str) -> Entry | None:
        """Kind and owner of what is at ``path``; ``None`` if nothing is, or it may not be looked at."""
        try:
            return self.root.entry(path)
        except OSError:
            return None

    def registry(self, key: str) -> Reading:
        """Values of a key of Windows' registry; a known absence if there is no such key, else the system's reason."""
        try:
            return Fact(dict(self.root.registry(key)), key)
        except FileNotFoundError:
            return Fact(None, key)
        except OSError as error:
            return Unknown(f"{key}: {reason(error)}", key)

    def exists(self, path: str) -> bool:
        """Whether something is at ``path``, links followed."""
        return self.entry(path) is not None

    def link(self, path: str) -> str:
        """Last part of what a symbolic link points to; empty if it is no link."""
        try:
            return self.root.link(path).rstrip("/").rsplit("/", 1)[-1]
        except OSError:
            return ""

    def real(self, path: str) -> str:
        """The path with every link followed; the path itself where that fails."""
        try:
            return self.root.real(path)
        except OSError:
            return path

    def which(self, program: str) -> str:
        """Path of a program on ``PATH``; empty if it is not there. Relative folders of ``PATH`` are not trusted."""
        name = f"{program}.exe" if self.system.name == "windows" else program
        for folder in self.folders("PATH"):
            path = f"{folder.rstrip('/')}/{name}"
            entry = self.entry(path)
            if entry is not None and entry.kind == "file" and entry.mode & 0o111:
                return path
        return ""

    def folders(self, variable: str) -> list[str]:
        """Folders that a variable such as ``PATH`` lists, the relative ones left out: they may be anybody's."""
        windows = self.system.name == "windows"
        parts = self.env.get(variable, "").split(";" if windows else ":")
        return [part for part in parts if (_WINDOWS_FOLDER.match(part) if windows else part.startswith("/"))]

    def ask(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> Outcome:
        """Run a program within what is left of the deadline."""
        return self.run(argv, timeout=self.left(), env=env)


def reason(error: OSError) -> str:
    """The system's words for a failure, without its path."""
    return error.strerror or type(error).__name__


def once(answer: Callable[[Machine], T]) -> Callable[[Machine], T]:
    """A question about a machine that is answered once, however many detectors ask (:meth:`Machine.once`)."""

    def asked(machine: Machine) -> T:
        return machine.once(f"{answer.__module__}.{answer.__name__}", lambda: answer(machine))

    return asked
