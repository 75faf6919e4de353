"""Random questions on the real matrix: every plan is checked again, row by row, by code of its own."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from compat import versions
from compat.errors import InputError
from compat.facts import load as load_host
from compat.matrix import Matrix, matrix
from compat.matrix.drivers import serves
from compat.resolve import resolve
from compat.resolve.target import from_options
from compat.rules import judge
from compat.targets import kernels_for

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.matrix.rows import Build
    from compat.plan import Answer, Plan, PlannedBuild

GROUPS = (
    ["torch"],
    ["torch", "torchvision"],
    ["tensorflow"],
    ["jax"],
    ["paddlepaddle"],
    ["torch", "tensorflow"],
    ["torch", "jax"],
)
SEEDS = range(120)


@cache
def real() -> Matrix:
    return matrix()


@cache
def question(seed: int) -> tuple[list[str], Host, Answer | None]:
    """A random request, its target, and the answer; none where the request names a version that does not exist."""
    rng = random.Random(seed)
    wishes = [name + rng.choice(["", "", _pin(rng, name)]) for name in rng.choice(GROUPS)]
    products = [row for row in real().table("gpus") if row.vendor in {"nvidia", "amd"} and row.segment != "jetson"]
    product = rng.choice(products)
    options: dict[str, Any] = {"gpus": [product.name if seed % 2 else product.target]}
    if product.vendor == "nvidia" and rng.random() < 0.8:
        options["driver"] = rng.choice([row for row in real().table("drivers") if row.first]).first
    if rng.random() < 0.3:
        options["python"] = rng.choice(("3.9", "3.10", "3.11", "3.12"))
    host = from_options(real(), **options)
    try:
        return wishes, host, resolve(wishes, host, real())
    except InputError:
        return wishes, host, None


def _pin(rng: random.Random, name: str) -> str:
    return f"=={rng.choice(sorted({build.version for build in real().builds(name)}))}"


def plan_of(seed: int) -> tuple[Host, Plan]:
    _, host, answer = question(seed)
    if answer is None or answer.status != "plan" or answer.plan is None:
        pytest.skip("no plan for this question")
    return host, answer.plan


def row_of(build: PlannedBuild, plan: Plan) -> Build:
    """The matrix row of a planned build."""
    place = f"linux_{plan.arch}"
    for package in real().packages:
        for row in real().builds(package):
            names = (row.install_name, row.full_version, row.runtime, real().index_url(row))
            is_it = names == (build.name, build.version, build.runtime, build.index)
            is_here = {place, "any"} & {*row.platforms} and plan.python in row.python
            if is_it and is_here and set(row.extras) <= set(build.extras):
                return row
    raise AssertionError(f"no row for {build}")


@pytest.mark.parametrize("seed", SEEDS)
def test_every_build_is_published_for_the_plans_python_and_runs_on_its_gpu(seed: int) -> None:
    host, plan = plan_of(seed)
    for build in plan.builds:
        row = row_of(build, plan)
        if row.kernels not in {(), ("-",)}:
            how = {kernels_for(gpu.target, row.kernels, real().families) for gpu in host["gpus"]}
            assert "none" not in how
        assert row.runtime != "cpu"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hosts_driver_reaches_what_the_plan_asks_for(seed: int) -> None:
    host, plan = plan_of(seed)
    if host["driver"] and plan.driver.minimum:
        assert versions.at_least(host["driver"], plan.driver.minimum)
    if plan.driver.package:
        check_forward(host, plan)
    elif plan.runtime.startswith("cuda"):
        floor = real().cuda(plan.runtime.removeprefix("cuda"))
        lowest = floor and (floor.family_linux or floor.driver_linux)
        assert not lowest or versions.at_least(plan.driver.minimum, lowest)


def check_forward(host: Host, plan: Plan) -> None:
    """A newer user-space driver: of the plan's CUDA, in an image of it, on a branch and GPUs that NVIDIA allows."""
    cuda = plan.runtime.removeprefix("cuda")
    (row,) = [row for row in real().table("forward") if row.cuda == cuda]
    assert f"R{host['driver'].partition('.')[0]}" in row.branches
    assert plan.driver.package == f"cuda-compat-{cuda.replace('.', '-')}"
    assert plan.base_image is not None
    assert re.match(rf"nvidia/cuda:{re.escape(cuda)}[.-]", plan.base_image.image)
    assert (plan.env or {})["LD_LIBRARY_PATH"].startswith(f"/usr/local/cuda-{cuda}/compat:")
    assert plan.arch == "x86_64"
    for gpu in host["gpus"]:
        assert {row.segment for row in real().table("gpus") if row.name == gpu.name} == {"datacenter"}
        assert serves(real(), host["driver"], gpu.target)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_base_image_exists_and_carries_what_the_builds_need(seed: int) -> None:
    _, plan = plan_of(seed)
    assert plan.base_image is not None
    found = [row for row in real().table("images") if plan.base_image.image in row.references()]
    assert found
    assert found[0].status != "gone"
    system = real().system(plan.base_image.os)
    for build in plan.builds:
        floor = row_of(build, plan).glibc
        assert not floor or system is None or versions.at_least(system.glibc, floor)
    for need in plan.system:
        name = need.rstrip("0123456789.")
        held = f"cudnn{found[0].cudnn}" if name == "cudnn" else found[0].runtime
        assert held == need or held.startswith(f"{need}.")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_constraints_accept_some_version(seed: int) -> None:
    from packaging.requirements import Requirement

    _, plan = plan_of(seed)
    for text in plan.constraints:
        assert not Requirement(text).specifier.to_range().is_empty


@pytest.mark.parametrize("seed", SEEDS)
def test_a_conflict_names_a_wish_and_its_remedies_have_gpu_builds(seed: int) -> None:
    wishes, _, answer = question(seed)
    if answer is None or answer.status != "conflict":
        pytest.skip("no conflict for this question")
    assert answer.conflicts
    for conflict in answer.conflicts:
        named = [member for member in conflict.members if member.kind != "matrix"]
        assert named
        assert any(member.text in wishes for member in named)
        assert conflict.why
    for fix in answer.fixes:
        builds = [build for plan in fix.plans for build in plan.builds]
        assert builds
        assert "cpu" in fix.changes or all(build.runtime != "cpu" for build in builds)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rules_find_nothing_wrong_with_a_machine_as_the_plan_wants_it(seed: int) -> None:
    """A plan that doctor would fault is a bug of one of the two."""
    host, plan = plan_of(seed)
    image = plan.base_image
    assert image is not None
    system = real().system(image.os)
    facts: dict[str, Any] = {
        "platform": "linux",
        "arch": plan.arch,
        "os": image.os,
        "python": plan.python,
        "packages": {build.name: build.version for build in plan.builds},
        "builds": {build.module or build.name: {"runtime": build.runtime} for build in plan.builds if build.runtime},
        **({"glibc": system.glibc} if system else {}),
    }
    if plan.driver.package:
        folder = (plan.env or {})["LD_LIBRARY_PATH"].partition(":")[0]
        compat = {"path": f"{folder}/libcuda.so.1", "origin": "compat", "loaded": True, "version": "999.0"}
        facts["libraries"] = [{"name": "libcuda.so.1", **compat}]
    if plan.driver.minimum and not host["driver"]:
        facts["driver"] = plan.driver.comfortable
    report = judge(host.over(load_host(facts, "plan")), real())
    errors = [finding for finding in report.findings if finding.severity == "error" and finding.confidence == "certain"]
    assert not errors, [(finding.code, finding.detail) for finding in errors]


def test_the_sample_holds_plans_and_conflicts() -> None:
    """Guards against a sample of which everything is skipped."""
    ends = [answer.status for _, _, answer in map(question, SEEDS) if answer is not None]
    assert ends.count("plan") > 20
    assert ends.count("conflict") > 20
