"""One plan for several platforms: what it installs was published for each, and one Dockerfile builds them all."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest
from factory import Settings, write

from compat.app.plans import Target
from compat.app.platforms import foreign, named, planned_for
from compat.asking import Asking, written
from compat.build import outcome, parcel
from compat.errors import InputError, InputErrors, NoPlanError
from compat.matrix import matrix
from compat.plan import Answer, Ask, Remedy, dump, load

OBSERVED = Path(__file__).parents[2] / "matrix" / "observed"
BOTH = ("linux/amd64", "linux/arm64")
ARCHS = ("x86_64", "aarch64")
CPU = Target(cpu=True, python="3.11", os="debian12")
H100 = Target(gpus=("H100",), driver="580.95.05", os="ubuntu24.04")


@lru_cache
def files(name, version):
    path = OBSERVED / f"{name}.json"
    return json.loads(path.read_text())["releases"][version]["wheels"] if path.exists() else None


def has_file(build, python, arch):
    """Whether the measured lists hold a wheel for a Linux machine and a Python; ``None`` where nobody measured."""
    wheels = None if build.index or "+" in build.version else files(build.name, build.version)
    if wheels is None:
        return None
    places = [entry for wheel in wheels for entry in wheel["for"].items()]
    fits = lambda tags: tags in {"", "any"} or bool({python, "3", "any"} & set(tags.split()))  # noqa: E731
    return any(place.split(" ")[0] in {"any", f"linux_{arch}"} and fits(tags) for place, tags in places)


@lru_cache
def both(*wishes, target=CPU):
    return planned_for(BOTH, wishes, target, matrix())


@pytest.mark.parametrize(
    ("wishes", "target"),
    [
        (("jax",), CPU),
        (("paddlepaddle",), CPU),  # its newest release has no file for arm64
        (("torch",), CPU),  # the processors' builds of torch lie on different indexes unless one is asked for
        (("torch",), H100),
        (("jax[cuda12]",), H100),
    ],
)
def test_everything_that_a_plan_for_both_installs_was_published_for_both(wishes, target):
    plan = both(*wishes, target=target)
    assert plan.platforms == BOTH
    assert plan.archs == ARCHS
    for build in plan.builds:
        assert {has_file(build, plan.python, arch) for arch in ARCHS} <= {True, None}


@pytest.mark.parametrize("wish", ["jax", "paddlepaddle", "torch"])
def test_each_platform_alone_gets_the_same_from_the_version_that_was_chosen(wish):
    plan = both(wish)
    for name, arch in zip(BOTH, ARCHS, strict=True):
        alone = planned_for((name,), [build.requirement for build in plan.builds], CPU, matrix())
        assert (alone.arch, alone.also) == (arch, ())
        assert [(build.requirement, build.index) for build in alone.builds] == [
            (build.requirement, build.index) for build in plan.builds
        ]


def test_platforms_for_which_different_packages_are_published_are_told_apart():
    """TensorFlow's build without GPU code is a package of its own on x86-64 and no such package on arm64."""
    with pytest.raises(NoPlanError) as caught:
        both("tensorflow")
    said = str(caught.value)
    assert re.search(r"linux/amd64: tensorflow-cpu==\S+\n +linux/arm64: tensorflow==\S+\n", said)
    assert "imagetools create" in said


def test_a_wish_that_one_platform_cannot_have_is_explained_by_that_platform():
    with pytest.raises(NoPlanError) as caught:
        both("tensorflow-cpu==2.21.0")
    said = str(caught.value)
    assert "aarch64" in said
    assert "--platform linux/amd64,linux/arm64" in said or "--arch x86_64" in said


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["linux/amd64,linux/arm64"], BOTH),
        (["linux/amd64", "linux/arm64"], BOTH),
        (["linux/arm64, linux/arm64"], ("linux/arm64",)),
        ([], ()),
    ],
)
def test_platforms_may_stand_behind_commas(given, found):
    assert named(given) == found


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("linux/amd64", "x86_64"),
        ("linux/x86_64", "x86_64"),
        ("linux/amd64/v3", "x86_64"),
        ("linux/arm64", "aarch64"),
        ("linux/aarch64", "aarch64"),
        ("linux/arm64/v8", "aarch64"),
    ],
)
def test_a_platform_by_any_of_its_names_decides_the_processor(name, arch):
    assert planned_for((name,), ("jax",), CPU, matrix()).arch == arch


@pytest.mark.parametrize(
    "name", ["windows/amd64", "linux/arm/v7", "linux", "", "linux/amd64/v5", "linux/ppc64le", "a\nb"]
)
def test_a_platform_that_nothing_is_planned_for_is_refused(name):
    with pytest.raises(InputError, match=r"--platform.*expected linux/amd64 or linux/arm64"):
        planned_for((name,), ("jax",), CPU, matrix())


def test_an_architecture_that_contradicts_the_platforms_is_refused():
    with pytest.raises(InputError, match="--arch x86_64 is not for linux/arm64"):
        planned_for(("linux/arm64",), ("jax",), replace(CPU, arch="x86_64"), matrix())
    assert planned_for(("linux/arm64",), ("jax",), replace(CPU, arch="arm64"), matrix()).arch == "aarch64"


@pytest.fixture
def stored(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(dump(Answer(status="plan", plan=both("jax")))))
    return Target(stored=str(path))


def test_a_stored_plan_is_replayed_for_its_platforms_or_some_of_them(stored):
    assert planned_for((), (), stored, matrix()) == both("jax")
    alone = planned_for(("linux/arm64",), (), stored, matrix())
    assert (alone.arch, alone.also) == ("aarch64", ())


def test_a_stored_plan_is_not_stretched_to_another_platform(tmp_path):
    path = tmp_path / "plan.json"
    plan = planned_for(("linux/amd64",), ("jax",), CPU, matrix())
    path.write_text(json.dumps(dump(Answer(status="plan", plan=plan))))
    with pytest.raises(InputError, match="the plan is for linux/amd64 and not for linux/arm64"):
        planned_for(BOTH, (), Target(stored=str(path)), matrix())


@pytest.mark.parametrize("also", ["a b", "$(id)", "x86_64\nRUN id", ""])
def test_a_hostile_architecture_in_a_stored_plan_is_refused(also):
    document = dump(Answer(status="plan", plan=both("jax")))
    document["plan"]["also"] = [also]
    with pytest.raises(InputError, match=r"arch|also"):
        write(load(document, "x").plan, Settings())


def stages(text):
    """The lines of each stage, its FROM first."""
    found = [[]]
    for line in text.splitlines():
        if line.startswith("FROM "):
            found.append([])
        found[-1].append(line)
    return found


@pytest.mark.parametrize(
    "wish", [Settings(), Settings(installer="uv"), Settings(apt=("git",)), Settings(compiler=True)]
)
@pytest.mark.parametrize("target", [CPU, H100])
def test_package_caches_are_apart_for_each_platform_in_every_stage(wish, target):
    plan = both("torch", target=target)
    for stage in stages(write(plan, wish)):
        caches = [line for line in stage if "id=apt-" in line]
        assert all("-${TARGETARCH}," in line for line in caches)
        uses = [number for number, line in enumerate(stage) if "${TARGETARCH}" in line]
        assert not uses or "ARG TARGETARCH" in stage[: uses[0]]
    assert "TARGETARCH" not in write(replace(plan, also=()), wish)


def test_the_command_at_the_head_builds_both():
    first = next(line for line in write(both("jax"), Settings()).splitlines() if "  build  " in line)
    assert first.split()[2:] == [
        "docker",
        "buildx",
        "build",
        "--platform",
        "linux/amd64,linux/arm64",
        "-t",
        "IMAGE",
        ".",
    ]


def test_the_classic_builder_is_refused_for_several_platforms():
    with pytest.raises(InputErrors, match="one platform at a time"):
        write(both("jax"), Settings(builder="classic"))
    assert write(replace(both("jax"), also=()), Settings(builder="classic"))


@pytest.mark.parametrize(
    ("archs", "status"),
    [
        ((platform.machine(), "riscv64"), "pass"),
        (("riscv64", platform.machine()), "pass"),
        (("riscv64", "sparc"), "fail"),
    ],
)
def test_an_image_of_either_platform_is_as_planned(archs, status):
    python = "{}.{}".format(*sys.version_info[:2])
    plan = replace(both("jax"), arch=archs[0], also=archs[1:], python=python, builds=())
    words = [sys.executable, str(parcel.FOLDER / "run.py"), "--expect", "cpu", "--plan", parcel.agreed(plan)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    (found,) = (item for item in outcome.read(done.stdout.splitlines())[0] if item.name == "plan.machine")
    assert found.status == status
    assert status == "pass" or "planned riscv64 or sparc" in found.why


@pytest.mark.parametrize(
    ("archs", "found"),
    [
        ((platform.machine(),), ()),
        (("aarch64" if platform.machine() == "x86_64" else "x86_64",), 1),
        ((platform.machine(), "riscv64"), 2),
    ],
)
def test_the_engine_is_told_the_platforms_unless_they_are_its_own(archs, found):
    plan = replace(both("jax"), arch=archs[0], also=archs[1:])
    assert foreign(plan) == (plan.platforms if found else ())


@pytest.mark.parametrize(
    ("ask", "typed"),
    [
        (
            Ask(("jax==1",), (("arch", "aarch64"),)),
            "envcheck build jax==1 --platform linux/amd64,linux/arm64",
        ),
        (Ask(("jax",), (("arch", "x86_64"),)), "envcheck build jax --arch x86_64"),
        (Ask(("jax",), cpu=True), "envcheck build jax --cpu"),
    ],
)
def test_a_fix_keeps_the_platforms_unless_it_leaves_one(ask, typed):
    swap = (("arch", "aarch64"), ("platform", "linux/amd64,linux/arm64"))
    fix = Remedy(text="x", changes={}, asks=(ask,))
    asking = Asking("build", swap=swap)
    assert written(Answer(status="conflict", fixes=(fix,)), asking).fixes[0].command == typed
