"""What the name and the core metadata of a wheel say: platforms, Pythons, and the requirements that decide."""

from __future__ import annotations

import re
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

if TYPE_CHECKING:
    from index_pages import File

_EXTRAS = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_GPU_EXTRA = re.compile(
    r"and-cuda|cuda.*|cu1\d|rocm.*|tpu|with.cuda|minimum-jaxlib|device-.*|xpu|pytorch|jax|core_cu1\d"
)
_GPU_PACKAGE = re.compile(r"nvidia-.*|cuda-.*|tensorrt.*|rocm.*|cupy.*")
_ALWAYS = re.compile(
    r"torch.*|triton.*|pytorch-triton.*|tensorflow.*|jax.*|numpy|keras|tf-keras|nvidia-.*|cuda-.*|rocm.*|libtpu.*"
    r"|tensorrt.*|vllm|flashinfer.*|xformers|cupy.*"
)
_LEGACY = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}  # PEP 513, 571, 599


def is_wheel(file: File) -> bool:
    """Whether a file of a page is a wheel."""
    return file.name.endswith(".whl")


def platforms(name: str) -> list[str]:
    """Platforms of a wheel with its floor: ``linux_x86_64 2.28``, ``macosx_arm64 11.0``, ``win_amd64``, ``any``.

    Of several manylinux tags on one wheel the loosest counts, as for an installer.
    """
    found: dict[str, tuple[int, ...]] = {}
    for tag in parse_wheel_filename(name)[3]:
        platform, floor = _platform(tag.platform)
        found[platform] = min(found.get(platform, floor), floor)
    return [f"{platform} {'.'.join(map(str, floor))}".strip() for platform, floor in sorted(found.items())]


def _platform(tag: str) -> tuple[str, tuple[int, ...]]:
    if found := re.fullmatch(r"manylinux_(\d{1,3})_(\d{1,3})_(\w+)", tag):
        return f"linux_{found[3]}", (int(found[1]), int(found[2]))
    if (found := re.fullmatch(r"(manylinux\d+)_(\w+)", tag)) and found[1] in _LEGACY:
        return f"linux_{found[2]}", _LEGACY[found[1]]
    if found := re.fullmatch(r"macosx_(\d{1,3})_(\d{1,3})_(\w+)", tag):
        return f"macosx_{found[3]}", (int(found[1]), int(found[2]))
    return tag, ()


def pythons(name: str) -> set[str]:
    """Python minors of a wheel: ``3.11``, ``3.13t`` free-threaded, ``3.8+`` for the stable ABI, ``3`` for any."""
    found = set()
    for tag in parse_wheel_filename(name)[3]:
        parts = re.fullmatch(r"(py|cp)(\d)(\d{0,3})", tag.interpreter)
        if not parts:
            continue  # another implementation
        kind, major, minor = parts.groups()
        if kind == "py":
            found.add(f"{major}.{minor}+" if minor else major)
        else:
            suffix = "+" if tag.abi == "abi3" else "t" if tag.abi.endswith("t") else ""
            found.add(f"{major}.{minor}{suffix}")
    return found


def requirements(text: str) -> tuple[str, ...]:
    """Requirements that can decide between releases: with a version, or on a framework; of extras a GPU's alone."""
    lines = HeaderParser().parsestr(text).get_all("Requires-Dist") or []
    return tuple(sorted({line for raw in lines if (line := _decisive(raw))}))


def _decisive(raw: str) -> str:
    """The requirement in canonical spelling; empty if it cannot decide anything."""
    try:
        requirement = Requirement(raw)
    except (InvalidRequirement, RecursionError):  # the second: brackets nested without end
        return ""
    extras = _EXTRAS.findall(str(requirement.marker or ""))
    name = canonicalize_name(requirement.name)
    if extras and not any(_GPU_EXTRA.fullmatch(extra) for extra in extras) and not _GPU_PACKAGE.fullmatch(name):
        return ""
    if not (requirement.specifier or requirement.url or _ALWAYS.fullmatch(name)):
        return ""
    return spell(requirement)


def spell(requirement: Requirement) -> str:
    """One spelling of a requirement: normalised name, specifiers in order, marker with single spaces."""
    name = canonicalize_name(requirement.name)
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    url = f" @ {requirement.url} " if requirement.url else ""
    specifier = ",".join(sorted(str(item) for item in requirement.specifier))
    return f"{name}{extras}{specifier}{url}" + (f"; {requirement.marker}" if requirement.marker else "")


def python_key(python: str) -> tuple[int, ...]:
    """What sorts Pythons as people do: 3.9 before 3.10, 3.13 before 3.13t."""
    return (*map(int, re.findall(r"\d+", python)), python.endswith("t"))
