"""CUDA toolkits on disk, and the one that ``nvcc`` on PATH belongs to.

A toolkit on disk matters to who compiles extensions and to frameworks that do not bundle CUDA. Wheels that bundle it do
not look here, which is why this version is so often mistaken for theirs.

Sources: CUDA installation guide; cuda.h (``CUDA_VERSION`` is 1000 * major + 10 * minor).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from compat import versions
from compat.detect.base import LINUX
from compat.detect.machine import Machine, once
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

NAME: Final = "CUDA toolkits"
FACTS: Final = ("cuda_toolkit", "cuda_toolkits")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/usr/local/cuda*, CUDA_HOME, nvcc on PATH"

_VARIABLES: Final = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
_PARENTS: Final = ("/usr/local", "/opt", "/opt/nvidia", "/usr/lib")
_FOLDER: Final = pattern(r"cuda(?:-\d{1,2}(?:\.\d{1,2}){0,2})?|nvidia-cuda-toolkit")
# Version in a header (any release), and in the compiler's own words
_DEFINED: Final = pattern(r"#define\s+CUDA_VERSION\s+(\d{4,6})")
_RELEASE: Final = pattern(r"release (\d{1,2}\.\d{1,2})(?:, V(\d{1,2}(?:\.\d{1,4}){1,3}))?")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Folder -> version for every toolkit, read from its own files; ``nvcc`` is run only if no file tells."""
    found: dict[str, str] = {}
    for folder in cuda_folders(machine):
        if version := toolkit_version(machine, folder):
            found.setdefault(machine.real(folder), version)
    return {"cuda_toolkits": Fact(found, SOUGHT), "cuda_toolkit": _first(machine)}


@once
def cuda_folders(machine: Machine) -> tuple[str, ...]:
    """Folders that may hold a toolkit: by environment, by nvcc on PATH, by the usual places; each real folder once."""
    named = [machine.env[name].rstrip("/") for name in _VARIABLES if machine.env.get(name, "").startswith("/")]
    held = [f"{parent}/{name}" for parent in _PARENTS for name in machine.names(parent) if _FOLDER.fullmatch(name)]
    # Debian's own package has its nvcc in /usr/bin: that folder is no toolkit
    nvcc = machine.real(machine.which("nvcc"))
    beside = [nvcc.rsplit("/bin/", 1)[0]] if "/bin/nvcc" in nvcc and not nvcc.startswith("/usr/bin/") else []
    seen: dict[str, str] = {}
    for folder in (*named, *beside, *held):
        if machine.exists(folder):
            seen.setdefault(machine.real(folder), folder)
    return tuple(seen.values())


def toolkit_version(machine: Machine, folder: str) -> str:
    """Version that a toolkit's own files state: version.json (11.1 on), version.txt (before), cuda.h (any)."""
    text = machine.text(f"{folder}/version.json")
    if found := re.search(r'"cuda"\s*:\s*\{[^}]*"version"\s*:\s*"([\d.]{3,20})"', text):
        return found[1]
    if found := re.match(r"CUDA Version (\d[\d.]{1,20})", machine.text(f"{folder}/version.txt")):
        return found[1]
    for header in (f"{folder}/include/cuda.h", f"{folder}/targets/{machine.system.machine}-linux/include/cuda.h"):
        if found := _DEFINED.search(machine.text(header)):
            return versions.unpacked_cuda(int(found[1]))
    return ""


def _first(machine: Machine) -> Reading:
    """The toolkit that ``nvcc`` on PATH belongs to, by its files, else by its own word."""
    nvcc = machine.which("nvcc")
    if not nvcc:
        return Fact(None, "nvcc is not on PATH")
    real = machine.real(nvcc)
    if version := toolkit_version(machine, real.rsplit("/bin/", 1)[0]) if "/bin/" in real else "":
        return Fact(version, real)
    outcome = machine.ask([nvcc, "--version"])
    if not (found := _RELEASE.search(outcome.out)):
        return Unknown(outcome.why or f"{nvcc} --version does not name a release", nvcc)
    return Fact(found[2] or found[1], f"{nvcc} --version")
