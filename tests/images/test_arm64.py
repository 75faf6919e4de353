"""Plans for arm64: what they install was published for that processor, that Python and a glibc as old as the base's."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest

from compat.matrix import matrix

ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("torch", "tensorflow", "jax", "paddlepaddle")


@lru_cache
def published(name):
    """The measured file lists of a package of the default index, by release."""
    path = ROOT / "matrix" / "observed" / f"{name}.json"
    return json.loads(path.read_text())["releases"] if path.exists() else {}


def fits(platform, pythons, python, glibc):
    """Whether files of a platform (``linux_aarch64 2.28``, ``any``) install on arm64 under this Python and glibc."""
    name, _, needed = platform.partition(" ")
    if name not in {"any", "linux_aarch64"} or (needed and tuple(map(int, needed.split("."))) > glibc):
        return False
    return pythons in {"", "any"} or bool({python, "3", "any"} & set(pythons.split()))


@pytest.fixture(scope="module")
def planned():
    """Every build that was made for arm64, planned as scripts/lint_images.py asks for it."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import lint_images
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    known = matrix()
    asked = [item for item in lint_images.builds(FRAMEWORKS, known) if item[3] == "aarch64"]
    return list(lint_images.plans(asked, known, Counter()))


def test_every_wheel_of_an_arm64_plan_was_published(planned):
    libc = {row.os: tuple(map(int, row.glibc.split("."))) for row in matrix().table("systems") if row.glibc}
    checked = Counter()
    for plan in planned:
        for build in plan.builds:
            if build.index or "+" in build.version:
                continue  # an index of its own, whose files were not measured
            wheels = published(build.name)[build.version]["wheels"]
            offered = [entry for wheel in wheels for entry in wheel["for"].items()]
            assert any(fits(*entry, plan.python, libc[plan.base_image.os]) for entry in offered), build.requirement
            checked[build.name] += 1
    assert set(checked) == set(FRAMEWORKS)
    assert min(checked.values()) > 5


def test_every_arm64_plan_is_one_throughout(planned):
    assert planned
    for plan in planned:
        assert plan.arch == "aarch64"
        assert not any("x86_64" in value for build in plan.builds for value in (build.index, build.version))


@pytest.mark.parametrize(
    ("platform", "pythons", "python", "glibc", "holds"),
    [
        ("linux_aarch64 2.28", "3.10 3.11", "3.11", (2, 31), True),
        ("linux_aarch64 2.28", "3.10 3.11", "3.12", (2, 31), False),
        ("linux_aarch64 2.28", "3.11", "3.11", (2, 27), False),
        ("linux_x86_64 2.17", "3.11", "3.11", (2, 31), False),
        ("any", "3", "3.13", (2, 17), True),
    ],
)
def test_files_are_read_by_processor_python_and_glibc(platform, pythons, python, glibc, holds):
    assert fits(platform, pythons, python, glibc) is holds
