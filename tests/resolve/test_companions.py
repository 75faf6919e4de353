"""What holds for every package of the real matrix when it is asked for alone: no silent CPU, nothing required left out."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from review import ask

from compat.errors import InputError
from compat.matrix import Matrix, matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

if TYPE_CHECKING:
    from compat.matrix.rows import Build
    from compat.plan import Answer, Plan


@cache
def real() -> Matrix:
    return matrix()


PACKAGES = [name for name in real().packages if real().builds(name)]
FRAMEWORKS = frozenset(row.name for row in real().packages.values() if row.kind == "framework")


@cache
def alone(name: str, *, cpu: bool = False) -> Answer:
    """The answer to one package on an A100 with a driver that carries CUDA 12 and 13."""
    return resolve([name], from_options(real(), gpus=["A100"], driver="580.65.06"), real(), cpu=cpu)


def row_of(plan: Plan, package: str) -> Build | None:
    """The matrix's row of the planned build of a package."""
    planned = {(build.name, build.version, build.runtime) for build in plan.builds}
    rows = (row for row in real().builds(package) if (row.install_name, row.full_version, row.runtime) in planned)
    return next((row for row in rows if f"{plan.arch}" in " ".join(row.platforms) or "any" in row.platforms), None)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_gpu_gets_no_cpu_plan_unasked(name: str) -> None:
    answer = alone(name)
    if answer.plan is None:
        return
    assert answer.plan.runtime != "cpu"
    assert all(build.runtime != "cpu" for build in answer.plan.builds)
    if answer.plan.runtime == "none":
        assert all(gpu.kernels in {"none", "unknown"} for gpu in answer.plan.gpus)
        assert any("GPU code" in text for text in answer.conditions)
    else:
        assert any(build.runtime == answer.plan.runtime for build in answer.plan.builds)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_cpu_plan_has_no_gpu_code_for_nvidia(name: str) -> None:
    answer = alone(name, cpu=True)
    if answer.plan is not None:
        assert answer.plan.runtime == "cpu"
        assert not any(build.runtime.startswith(("cuda", "rocm")) for build in answer.plan.builds)


@pytest.mark.parametrize("name", PACKAGES)
def test_a_framework_that_a_planned_build_requires_is_in_the_plan_and_fits(name: str) -> None:
    plan = alone(name).plan
    row = row_of(plan, name) if plan else None
    if plan is None or row is None or name in FRAMEWORKS:
        return
    builds = {real().package(build.name).name: build for build in plan.builds}  # type: ignore[union-attr]
    environment = {"python_version": plan.python, "platform_machine": plan.arch, "extra": ""}
    for line in map(Requirement, row.requires):
        if line.name in FRAMEWORKS and (line.marker is None or line.marker.evaluate(environment)):
            if line.name in builds:
                assert line.specifier.contains(builds[line.name].version, prereleases=True)
            else:  # a plug-in of a device that the framework has no builds for (Ascend, TPU)
                vendors = {build.runtime.rstrip("0123456789.RC") for build in real().builds(name)}
                assert vendors & {"cann", "tpu", "metal"}


@pytest.mark.parametrize(
    "name", ["sglang", "vllm", "xformers", "deepspeed", "torchvision", "torchaudio", "bitsandbytes"]
)
def test_beside_an_unpinned_torch_a_companion_is_of_its_time(name: str) -> None:
    """An open pin of an old release never beats the release that was made for a recent torch."""
    host = from_options(real(), gpus=["A100"], driver="580.65.06")
    plan = resolve(["torch", name], host, real()).plan
    assert plan is not None
    row = row_of(plan, name)
    assert row is not None
    assert any(Requirement(line).name == "torch" for line in (*row.requires, *row.pins))


def test_a_clash_of_what_a_package_brings_names_it() -> None:
    """torchrec has no code of its own, and brings fbgemm-gpu beside torch: both must be there for it to be used."""
    answer = resolve(["torchrec"], from_options(real(), gpus=["RTX 5090"]), real())
    assert answer.status == "conflict"
    (clash,) = answer.conflicts
    assert [member.kind for member in clash.members[:2]] == ["wish", "option"]
    assert any(member.text.startswith("fbgemm-gpu") and "sm_120" in member.text for member in clash.members)
    assert not any("torchrec has no build" in member.text for member in clash.members)


PURE_TOO = sorted(
    {
        (build.package, build.version)
        for name in PACKAGES
        for build in real().builds(name)
        if "any" in build.platforms and not build.compiled
    }
    & {
        (build.package, build.version)
        for name in PACKAGES
        for build in real().builds(name)
        if "linux_x86_64" in build.platforms and not build.runtime and not build.yanked
    }
)


@pytest.mark.parametrize(("name", "version"), PURE_TOO)
def test_of_the_wheels_of_a_release_the_one_for_the_platform_is_planned_as_an_installer_takes_it(
    name: str, version: str
) -> None:
    """Whatever GPU code a release can do without: its pure wheel is for other platforms."""
    there = next(one for one in real().builds_of(name, version) if "linux_x86_64" in one.platforms)
    for gpu in ("H100", "RTX 2060"):
        plan = resolve([f"{name}=={version}"], from_options(real(), gpus=[gpu]), real()).plan
        if plan is not None and plan.python in there.python:
            assert [one.kernels for one in plan.builds if one.name == name] == [there.kernels]


def test_a_plan_says_which_gpu_code_of_a_library_its_gpu_cannot_run() -> None:
    told = {
        gpu: resolve(["torchao==0.18.0"], from_options(real(), gpus=[gpu]), real()).conditions
        for gpu in ("RTX 4090", "H100", "RTX 5090")
    }
    does_without = {gpu: [text for text in lines if "does without on" in text] for gpu, lines in told.items()}
    assert [bool(does_without[gpu]) for gpu in told] == [True, False, False]
    assert "sm_90a sm_100 compute_120, and does without on sm_89" in does_without["RTX 4090"][0]


@pytest.mark.parametrize(
    ("asked", "brought"),
    [
        ("transformers", "torch"),
        ("jax-cuda12-plugin", "jax"),
        ("transformers==4.57.0", ""),
        ("transformers==4.57.0 ctranslate2", "ctranslate2"),
    ],
)
def test_what_is_useless_without_its_framework_brings_it_or_asks_for_one(asked: str, brought: str) -> None:
    (reply,) = ask(f"envcheck resolve {asked} --gpu sm_89")
    told = reply.answer
    assert told.plan is not None
    assert (told.status == "plan") is bool(brought)
    assert brought in {"", *(one.name for one in told.plan.builds)}
    assert brought or "transformers computes through ctranslate2, jax, onnx" in told.conditions[0]


@pytest.mark.parametrize(
    ("library", "says"),
    [
        ("nvidia-cudnn-cu12==9.10.2.21", ": both bring nvidia/cudnn/lib/libcudnn.so.9"),
        ("nvidia-nccl-cu12", ": both bring nvidia/nccl/lib/libnccl.so.2"),
        ("nvidia-cuda-nvrtc-cu12", ""),  # into a folder of its own
        ("nvidia-cudnn-cu13", ""),
    ],
)
def test_a_library_that_overwrites_that_of_another_cuda_major_goes_with_no_build_for_it(
    library: str, says: str
) -> None:
    (reply,) = ask(f"envcheck resolve torch==2.11.0 {library} --gpu sm_89 --cuda 13.0")
    told = [member.text for conflict in reply.answer.conflicts for member in conflict.members]
    assert (reply.answer.status == "plan") is (not says)
    assert any(text.endswith(says) for text in told) is bool(says), told


def test_a_release_of_a_library_that_no_index_has_is_refused() -> None:
    with pytest.raises(InputError, match=r"no nvidia-cudnn-cu12 ==99 exists") as refused:
        ask("envcheck resolve torch==2.9.1 nvidia-cudnn-cu12==99 --gpu sm_89")
    assert "9.28.0.42" in refused.value.expected
