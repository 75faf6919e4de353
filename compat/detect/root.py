"""One machine's surface: files, environment, identity, sockets. The only door through which detectors look.

:class:`Root` is the machine that runs us. A recorded machine is another class of the same shape, so every method here
is something that can be written down: no file handle, no live object crosses this border.

Reading is defensive: sizes are bounded, pipes and devices are never opened as files, and every failure is an
:class:`OSError` with the system's own words.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from typing import Final

from compat.lazy import dataclass

# Bytes read from one file unless the caller asks for more: no text that we need is longer.
LIMIT: Final = 1 << 20

_ENTRIES: Final = 20_000  # names taken from one folder; /proc of a large node has some ten thousand


@dataclass(frozen=True, slots=True)
class Entry:
    """What ``stat`` says of a path: ``kind`` (``file``, ``folder``, ``device``, ``socket``) and owner."""

    kind: str
    mode: int = 0
    uid: int = 0
    gid: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class System:
    """What ``uname`` says without the host's name: ``name`` (``linux``), kernel ``release`` and ``machine``."""

    name: str
    release: str = ""
    machine: str = ""
    edition: str = ""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python: its ``executable``, its ``prefix``, the prefix it was made from, its version, its import path."""

    executable: str
    prefix: str
    base_prefix: str = ""
    version: str = ""
    paths: tuple[str, ...] = ()


class Root:
    """The machine that runs this process, or a copy of one under ``prefix``.

    Methods that read raise :class:`OSError` with the system's own reason; :class:`compat.detect.machine.Machine`
    turns these into readings.
    """

    def __init__(self, prefix: str = "/") -> None:
        self._prefix = prefix.rstrip("/")

    def _at(self, path: str) -> str:
        """The path below our prefix."""
        return self._prefix + path if path.startswith("/") else path

    def read(self, path: str, limit: int = LIMIT) -> bytes:
        """At most ``limit`` bytes of a regular file; never blocks on a pipe or a device."""
        handle = os.open(self._at(path), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(22, "not a regular file")
            return _read(handle, limit)
        finally:
            os.close(handle)

    def records(self, path: str, limit: int = LIMIT) -> bytes:
        """What a device such as ``/dev/kmsg`` has buffered now, one record per ``read``."""
        handle = os.open(self._at(path), os.O_RDONLY | os.O_NONBLOCK)
        try:
            return _drain(handle, limit)
        finally:
            os.close(handle)

    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted."""
        with os.scandir(self._at(path)) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(_ENTRIES), strict=False))

    def link(self, path: str) -> str:
        """What a symbolic link points to, as written."""
        return os.readlink(self._at(path))  # noqa: PTH115 - as below

    def real(self, path: str) -> str:
        """The path with every symbolic link followed."""
        found = os.path.realpath(self._at(path))
        return found.removeprefix(self._prefix) or "/"

    def entry(self, path: str) -> Entry:
        """Kind, mode and owner of what is at ``path``, links followed."""
        found = os.stat(self._at(path))  # noqa: PTH116 - pathlib is an import that this door does without
        return Entry(_kind(found.st_mode), stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, found.st_size)

    def may_open(self, path: str) -> bool:
        """Whether this process may read and write ``path``, as its modes and groups say."""
        return os.access(self._at(path), os.R_OK | os.W_OK)

    def space(self, path: str) -> tuple[int, int]:
        """Size of the file system at ``path`` and what is free to us, in bytes."""
        import shutil

        usage = shutil.disk_usage(self._at(path))
        return usage.total, usage.free

    def environ(self) -> Mapping[str, str]:
        """The environment variables."""
        return dict(os.environ)

    def folder(self) -> str:
        """The working folder."""
        return os.getcwd()  # noqa: PTH109 - as above

    def user(self) -> tuple[int, tuple[int, ...]]:
        """Numeric user id and all group ids of this process; raises :class:`OSError` where there are none (Windows)."""
        if sys.platform == "win32":
            raise OSError(38, "this system has no numeric user ids")
        return os.geteuid(), tuple(dict.fromkeys((os.getegid(), *os.getgroups())))

    def memlock(self) -> int:
        """Soft limit of locked memory in bytes; -1 for unlimited."""
        import resource

        soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
        return -1 if soft == resource.RLIM_INFINITY else soft

    def system(self) -> System:
        """Kernel and architecture."""
        if sys.platform == "win32":
            import platform

            return System("windows", platform.version(), platform.machine(), _windows_edition())
        named = os.uname()
        return System(named.sysname.lower(), named.release, named.machine)

    def libc(self) -> str:
        """The C library in its own words, ``glibc 2.36``; raises :class:`OSError` where it does not say."""
        try:
            return os.confstr("CS_GNU_LIBC_VERSION") or ""
        except (AttributeError, ValueError) as error:
            raise OSError(38, "this C library does not tell its version") from error

    def interpreter(self) -> Interpreter:
        """The Python that runs us."""
        version = ".".join(map(str, sys.version_info[:3]))
        return Interpreter(sys.executable or "", sys.prefix, sys.base_prefix, version, tuple(sys.path))

    def registry(self, key: str) -> Mapping[str, str | int]:
        """Texts and numbers of one key below Windows' ``HKEY_LOCAL_MACHINE``; an :class:`OSError` elsewhere."""
        return _registry(key)

    def ask(self, socket: str, url: str, timeout: float) -> bytes:
        """Body of ``GET url`` over a local socket, HTTP/1.0 by hand: the one question the doctor has for an engine."""
        from compat.detect.sockets import get

        return get(self._at(socket), url, timeout)


def _kind(mode: int) -> str:
    """Kind of a path by its mode."""
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFCHR: "device", stat.S_IFSOCK: "socket"}
    return kinds.get(stat.S_IFMT(mode), "other")


def _read(handle: int, limit: int) -> bytes:
    """Read to the end or the limit, whichever comes first."""
    parts = []
    while limit > 0 and (part := os.read(handle, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _drain(handle: int, limit: int) -> bytes:
    """Read records until none is waiting."""
    parts: list[bytes] = []
    taken = 0
    while taken < limit:
        try:
            part = os.read(handle, 8192)
        except BlockingIOError:
            break
        except BrokenPipeError:
            continue  # the kernel overwrote records while we read: go on with the oldest that is left
        if not part:
            break
        parts.append(part)
        taken += len(part)
    return b"".join(parts)


def _registry(key: str) -> dict[str, str | int]:
    """Values of a key; those that are neither text nor number (blobs, lists) are left out."""
    if sys.platform != "win32":
        raise OSError(38, "this system has no registry")
    import winreg

    found: dict[str, str | int] = {}
    with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as handle:
        for index in range(winreg.QueryInfoKey(handle)[1]):
            name, value, _ = winreg.EnumValue(handle, index)
            if isinstance(value, (str, int)):
                found[name] = value
    return found


def _windows_edition() -> str:
    """``windows11`` from build 22000 on (Microsoft, "Windows 11 release information"), else ``windows10``."""
    if sys.platform != "win32":
        return ""
    return "windows11" if sys.getwindowsversion().build >= 22000 else "windows10"
