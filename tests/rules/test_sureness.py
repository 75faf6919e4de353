"""No verdict of the doctor or of lint is surer than the row it rests on; what was read on the machine is sure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compat import sources
from compat.facts import Build, Gpu
from compat.facts import host as facts
from compat.joints.build import is_unseen
from compat.lint import lint
from compat.matrix import matrix as shipped

CARDS = {
    "cuda": Gpu(name="a new GPU", vendor="nvidia", target="sm_121", driver="nvidia"),
    "rocm": Gpu(name="an old GPU", vendor="amd", target="gfx803", driver="amdgpu"),
}
CODES = {"arch-too-new-for-build", "arch-integrated-vs-discrete", "rocm-gfx-unsupported"}


def guesses(field, packages, here=lambda _: True):
    """One build for each package and kind of runtime of which nobody saw what a field says, where there is one."""
    matrix, found = shipped(), {}
    for package in packages:
        for build in matrix.builds(package):
            key = package, build.runtime[:4]
            if key[1] in CARDS and key not in found and is_unseen(matrix, build, field) and here(build):
                found[key] = build
    return [pytest.param(build, id=f"{build.package}-{build.full_version}") for build in found.values()]


def surest(report, codes):
    found = [one for each in report.findings for one in (each, *each.consequences) if one.code in codes]
    return {one.confidence for one in found}


def alone(build):
    """Whether a release on Linux has this build alone, so that its version tells the build."""
    return "linux_x86_64" in build.platforms and "sm_121" not in build.kernels and bool(build.kernels)


@pytest.mark.parametrize("build", guesses("kernels", ["torch", "tensorflow", "paddlepaddle"], alone))
def test_kernels_that_nobody_saw_prove_nothing(build, doctor):
    card = CARDS[build.runtime[:4]]
    machine = {"gpus": (card,), "python": build.python[-1], "platform": "linux", "arch": "x86_64", "glibc": "2.40"}
    pin = {build.install_name: build.full_version}
    seen = surest(doctor(packages=pin, builds={build.install_name: Build(runtime=build.runtime)}, **machine), CODES)
    assert "certain" not in seen
    page = shipped().index_url(build)
    ask = sources.read(
        f"--extra-index-url {page}\n{build.install_name}=={build.full_version}\n"
        if page
        else f"{build.install_name}=={build.full_version}\n",
        "requirements.txt",
    )
    assert "certain" not in surest(lint(replace(ask, arch="x86_64"), shipped(), on=facts("test", **machine)), CODES)


def test_kernels_read_on_the_machine_are_sure(doctor):
    read = Build(runtime="cuda11.8", kernels=("sm_70", "sm_80"))
    found = doctor(
        packages={"paddlepaddle-gpu": "2.6.1.post118"}, builds={"paddlepaddle-gpu": read}, gpus=(CARDS["cuda"],)
    )
    assert surest(found, CODES) == {"certain"}


@pytest.mark.parametrize("package", ["sglang-kernel", "fbgemm-gpu", "lmdeploy"])
def test_a_cuda_that_nobody_saw_makes_no_driver_surely_too_old(package, doctor):
    build = next(one for one in shipped().builds(package) if is_unseen(shipped(), one, "runtime"))
    machine = {"python": build.python[-1], "platform": "linux", "arch": "x86_64", "driver": "410.48"}
    assert surest(doctor(packages={package: build.version}, **machine), {"driver-too-old-for-runtime"}) == {"likely"}
