"""What requirements ask in their turn: bounds on frameworks and CUDA libraries that no row of the package states."""

from __future__ import annotations

import pytest

from compat.joints.build import Part, release
from compat.joints.packages import nearest
from compat.joints.reach import brought
from compat.markers import Environment, holds, marker_of
from compat.matrix import matrix

LINUX = "linux_x86_64"
MATRIX = matrix()


def asked(name: str, version: str, *extras: str, place: str = LINUX) -> dict[str, set[str]]:
    """What a release brings at a place: by name the specifiers."""
    found: dict[str, set[str]] = {}
    for line in brought(MATRIX, name, version, (place,), extras, frozenset()):
        found.setdefault(line.name, set()).add(line.spec)
    return found


def test_what_every_release_that_may_come_asks_is_asked() -> None:
    """All vLLMs that sglang 0.4.3 may take are built for one torch; without the extra it takes none."""
    assert "==2.5.1" in asked("sglang", "0.4.3", "srt")["torch"]
    assert "torch" not in asked("sglang", "0.4.3")


def test_releases_that_differ_ask_the_range_that_holds_them_all() -> None:
    """Any xFormers may come with an unbounded requirement, so that no torch is named by it."""
    found = asked("unsloth", "2026.10.9")["torch"]
    assert any("<2.15.0" in spec for spec in found)  # by its companion of the same day
    assert not any(spec.startswith("==") for spec in found)


def test_libraries_are_asked_steps_away() -> None:
    """CuDF's code is in libcudf, which requires a linker that torch 2.5 for CUDA 12.4 pins older."""
    assert ">=12.9,<13" in asked("cudf-cu12", "26.10.2")["nvidia-nvjitlink-cu12"]


def test_a_framework_brings_no_libraries_of_one_index() -> None:
    """What requires torch does not ask for the CUDA packages of the wheel on the default index."""
    assert not any(name.startswith("nvidia-cu") for name in asked("vllm", "0.7.2"))


def test_what_nobody_measured_brings_nothing() -> None:
    """A name and a release that were never recorded."""
    assert not asked("no-such-package", "1.0")
    assert not asked("sglang", "999.0", "srt")


@pytest.mark.parametrize(("torch", "fits"), [("2.5.1+cu124", False), ("2.5.1+cu121", True), ("2.9.1", True)])
def test_builds_are_judged_by_it(torch: str, fits: bool) -> None:
    """The clash names the requirement that brings it."""
    ours, theirs = release(MATRIX, "torch", torch), release(MATRIX, "cudf-cu12", "26.10.2")
    found = nearest(MATRIX, _at(ours), _at(theirs), Environment(LINUX, "3.12"))
    assert (not found) == fits
    assert all("requires libcudf-cu12==26.10.*, which requires" in one.verdict.why for one in found)  # type: ignore[union-attr]


def _at(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(one for one in parts if LINUX in one.build.platforms)


@pytest.mark.parametrize("place", ["linux_x86_64", "linux_aarch64", "win_amd64", "win32", "macosx_arm64"])
def test_a_place_has_a_marker_of_its_own(place: str) -> None:
    """It holds there and, as far as machines are told apart, at no other place."""
    marker = marker_of(place)
    assert holds(marker, Environment(place, "3.12"))
    assert holds(marker, Environment("linux_i686" if place != "linux_i686" else "win32", "3.12")) is False
