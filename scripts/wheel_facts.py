"""What the name and the core metadata of a wheel say: platforms, Pythons, and the requirements that decide."""

from __future__ import annotations

import re
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from compat.registry.wheels import platforms, pythons

__all__ = ["is_wheel", "platforms", "python_key", "pythons", "requirements", "spell"]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index_pages import File

_EXTRAS = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
_GPU_EXTRA = re.compile(
    r"and-cuda|cuda.*|srt|cu1\d|rocm.*|tpu|with.cuda|minimum-jaxlib|device-.*|xpu|pytorch|jax|core_cu1\d"
)
_GPU_PACKAGE = re.compile(r"nvidia-.*|cuda-.*|tensorrt.*|rocm.*|cupy.*")
_ALWAYS = re.compile(
    r"torch.*|triton.*|pytorch-triton.*|tensorflow.*|jax.*|numpy|keras|tf-keras|nvidia-.*|cuda-.*|rocm.*|libtpu.*"
    r"|tensorrt.*|vllm|flashinfer.*|xformers|cupy.*"
)


def is_wheel(file: File) -> bool:
    """Whether a file of a page is a wheel."""
    return file.name.endswith(".whl")


def requirements(text: str) -> tuple[str, ...]:
    """Requirements of the wheel; of its extras those of a GPU that can decide: with a version, or on a framework."""
    headers = HeaderParser().parsestr(text)
    lines = headers.get_all("Requires-Dist") or []
    every = (*lines, *_inherited(lines, canonicalize_name(headers.get("Name") or "")))
    return tuple(sorted({line for raw in every if (line := _decisive(raw))}))


def _inherited(lines: list[str], own: str) -> Iterator[str]:
    """What an extra takes from others of its own package: ``sglang[runtime_common]; extra == "srt"``."""
    for named in (line for line in lines if canonicalize_name(re.split(r"[^\w.-]", line, maxsplit=1)[0]) == own):
        listed, by = re.search(r"\[([^\]]+)\]", named), _EXTRAS.search(named)
        inner = {canonicalize_name(extra.strip()) for extra in (listed[1].split(",") if listed and by else ())}
        for line in lines:
            asked = _EXTRAS.findall(line)
            if by and len(asked) == 1 and canonicalize_name(asked[0]) in inner:
                yield line.replace(asked[0], by[1])


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
    if extras and not (requirement.specifier or requirement.url or _ALWAYS.fullmatch(name)):
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
