"""Compilers and build tools on PATH. Their names do not tell their versions, so each one found is asked.

Compilers limit which CUDA toolkit can be used with them; cmake and ninja are what building an extension fails without.
Starting cmake costs as much as half of the other detectors, and its folder tells its release (CMake's installation
keeps its modules in ``share/cmake-X.Y``, ``CMAKE_DATA_DIR``): it is asked only where that folder is not found.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import ANYWHERE
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "build tools"
FACTS: Final = ("gcc", "clang", "cmake", "ninja")
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "PATH"

# fact -> programs that may be it, how each is asked, where its answer has the version
_TOOLS: Final = {
    "gcc": (("gcc",), ("-dumpfullversion", "-dumpversion"), pattern(r"^(\d+(?:\.\d+){0,2})\s*$", re.MULTILINE)),
    "clang": (("clang",), ("--version",), pattern(r"clang version (\d+\.\d+(?:\.\d+)?)")),
    "cmake": (("cmake",), ("--version",), pattern(r"cmake version (\d+\.\d+(?:\.\d+)?)")),
    "ninja": (("ninja", "ninja-build"), ("--version",), pattern(r"^(\d+\.\d+(?:\.\d+)?)", re.MULTILINE)),
}

_CMAKE: Final = pattern(r"cmake-(\d+\.\d+)")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Version of each tool, asked side by side because every one costs the start of a program."""
    from compat.detect.threads import gather

    # Windows' own detector tells Microsoft's
    msvc: dict[str, Reading] = {} if machine.system.name == "windows" else {"msvc": Fact(None, "not Windows")}
    return {**gather({fact: lambda fact=fact: _version(machine, fact) for fact in _TOOLS}), **msvc}  # type: ignore[misc]


def _version(machine: Machine, fact: str) -> Reading:
    """Version of the first program of its kind on PATH.

    A tool that is there and does not tell its version is unknown, which is not the same as missing.
    """
    programs, arguments, pattern = _TOOLS[fact]
    path = next((place for program in programs if (place := machine.which(program))), "")
    if not path:
        return Fact(None, f"{programs[0]} is not on PATH")
    if fact == "cmake":
        folder = f"{machine.real(path).rpartition('/bin/')[0]}/share"
        if len(found := [told[1] for name in machine.names(folder) if (told := _CMAKE.fullmatch(name))]) == 1:
            return Fact(found[0], f"{folder}/cmake-{found[0]}")
    outcome = machine.ask([path, *arguments])
    if told := pattern.search(outcome.out):
        return Fact(told[1], path)
    return Unknown(outcome.why or f"{path} does not tell its version", path)
