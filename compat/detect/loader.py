"""Which file the dynamic loader would pick for a library, without loading anything (ld.so(8)).

Order: ``LD_LIBRARY_PATH``, the cache of ``ldconfig``, the built-in folders. A program's own RPATH comes before all of
these and is the business of the package that carries it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.ldcache import entries
from compat.lazy import dataclass, pattern

if TYPE_CHECKING:
    from compat.detect.machine import Machine

CACHE: Final = "/etc/ld.so.cache"
_CACHE_LIMIT: Final = 16 << 20

# Built-in folders: upstream's two, their 64-bit forms, and Debian's multiarch folders
_FOLDERS: Final = ("/lib64", "/usr/lib64", "/lib/{arch}-linux-gnu", "/usr/lib/{arch}-linux-gnu", "/lib", "/usr/lib")
_MUSL_FOLDERS: Final = ("/lib", "/usr/local/lib", "/usr/lib")  # musl, ldso/dynlink.c, unless its path file says else

_SUFFIX: Final = pattern(r"\.so\.(\d[\d.]*)$")


@dataclass(frozen=True, slots=True)
class Found:
    """A library file: its ``path`` as the loader sees it and ``how`` it got there (``LD_LIBRARY_PATH``, ``system``)."""

    path: str
    how: str


def find(machine: Machine, soname: str) -> Found | None:
    """The file that the loader would open for ``soname``, or ``None``."""
    for folder in library_path(machine):
        if _usable(machine, f"{folder}/{soname}"):
            return Found(f"{folder}/{soname}", "LD_LIBRARY_PATH")
    for path in cache(machine).get(soname, ()):
        if machine.exists(path):
            return Found(path, "system")
    for folder in folders(machine):
        if _usable(machine, f"{folder}/{soname}"):
            return Found(f"{folder}/{soname}", "system")
    return None


def cache(machine: Machine) -> dict[str, list[str]]:
    """Soname -> paths of the loader's cache, in its order; empty where there is none (musl, slim images)."""
    return machine.once("ldcache", lambda: _cache(machine))


def _cache(machine: Machine) -> dict[str, list[str]]:
    """Read the cache file once."""
    found: dict[str, list[str]] = {}
    for soname, path in entries(machine.data(CACHE, _CACHE_LIMIT), machine.system.machine):
        found.setdefault(soname, []).append(path)
    return found


def library_path(machine: Machine) -> tuple[str, ...]:
    """Folders of ``LD_LIBRARY_PATH``, in order; an empty part means the working folder, as ld.so(8) says."""
    value = machine.env.get("LD_LIBRARY_PATH", "")
    if not value:
        return ()
    parts = re.split("[:;]", value)[:200]
    return tuple(dict.fromkeys(part.rstrip("/") or ("/" if part else machine.root.folder()) for part in parts))


def folders(machine: Machine) -> tuple[str, ...]:
    """Folders searched without being told."""
    arch = machine.system.machine
    musl = machine.text(f"/etc/ld-musl-{arch}.path")
    if machine.exists(f"/lib/ld-musl-{arch}.so.1"):
        return tuple(re.split(r"[:\n]", musl)) if musl else _MUSL_FOLDERS
    return tuple(folder.format(arch=arch) for folder in _FOLDERS)


def version_of(machine: Machine, path: str) -> str:
    """Version in the name of the real file, ``libcuda.so.535.54.03`` -> ``535.54.03``; empty if it has none."""
    suffix = _SUFFIX.search(machine.real(path))
    return suffix[1] if suffix else ""


def _usable(machine: Machine, path: str) -> bool:
    """Whether the loader would take the file: it skips ELF files of another word size and goes on (ld.so(8))."""
    if not machine.exists(path):
        return False
    head = machine.data(path, 5)
    return not head.startswith(b"\x7fELF") or len(head) < 5 or (head[4] == 2) == ("64" in machine.system.machine)
