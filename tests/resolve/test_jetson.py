"""Plans for Jetson boards: NVIDIA's own wheels and images, and a word on the JetPack instead of a driver number."""

import pytest

from compat import facts
from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

MATRIX = matrix()


def plan(requirements, gpu, **options):
    answer = resolve(requirements, from_options(MATRIX, gpus=(gpu,), **options), MATRIX)
    assert answer.status == "plan", [member.text for conflict in answer.conflicts for member in conflict.members]
    return answer.plan


@pytest.mark.parametrize(
    ("requirement", "gpu", "runtime", "python", "image"),
    [
        ("torch", "Jetson AGX Orin 64GB", "cuda12.6", "3.10", "nvcr.io/nvidia/l4t-jetpack:r36.4.0"),
        ("torch", "Jetson Orin Nano 8GB", "cuda12.6", "3.10", "nvcr.io/nvidia/l4t-jetpack:r36.4.0"),
        ("torch==2.5.0", "sm_87", "cuda12.6", "3.10", "nvcr.io/nvidia/l4t-jetpack:r36.4.0"),
        ("torch", "Jetson AGX Xavier", "cuda11.4", "3.8", "nvcr.io/nvidia/l4t-jetpack:r35.4.1"),
        ("torch==2.0.0", "Jetson Orin NX 16GB", "cuda11.4", "3.8", "nvcr.io/nvidia/l4t-jetpack:r35.4.1"),
        ("tensorflow", "Jetson Nano", "cuda10.2", "3.6", "nvcr.io/nvidia/l4t-base:r32.7.1"),
        ("tensorflow==2.12.0", "Jetson Xavier NX", "cuda11.4", "3.8", "nvcr.io/nvidia/l4t-jetpack:r35.4.1"),
        ("tensorflow", "Jetson Orin NX 8GB", "cuda12.2", "3.10", "nvcr.io/nvidia/l4t-jetpack:r36.3.0"),
    ],
)
def test_a_board_gets_the_wheels_and_the_image_of_its_jetpack(requirement, gpu, runtime, python, image):
    found = plan([requirement], gpu, arch="aarch64")
    assert (found.runtime, found.python, found.arch) == (runtime, python, "aarch64")
    assert found.base_image.image == image
    assert [gpu.kernels for gpu in found.gpus] == ["native"]
    assert all("jetson" in build.index or "redist/jp" in build.index for build in found.builds)


def test_a_board_is_told_its_jetpack_and_no_driver_number():
    found = plan(["torch"], "Jetson AGX Orin 64GB")
    assert not found.driver.minimum
    assert "the board runs JetPack 6.1, 6.2, 6.2.1, 6.2.2, whose CUDA is 12.6" in found.conditions


def orin(l4t, **more):
    gpu = {"name": "Orin (nvgpu)", "vendor": "nvidia", "target": "sm_87", "integrated": True}
    return facts.load({"gpus": [gpu], "arch": "aarch64", "l4t": l4t, **more}, "a board")


@pytest.mark.parametrize(
    ("l4t", "runtime"),
    [
        ("36.4.0", "cuda12.6"),
        ("36.4.9", "cuda12.6"),  # not in the matrix: as the others of 36.4
        ("35.3.1", "cuda11.4"),
        ("35", "cuda11.4"),
    ],
)
def test_the_system_that_is_there_decides_the_cuda(l4t, runtime):
    answer = resolve(["torch"], orin(l4t, driver="540.4.0"), MATRIX)
    assert (answer.status, answer.plan.runtime) == ("plan", runtime)


@pytest.mark.parametrize("l4t", ["35.4.1", "39.2.1"])
def test_a_wheel_for_another_jetpack_clashes_with_the_system(l4t):
    answer = resolve(["torch==2.9.1"], orin(l4t), MATRIX)
    assert answer.status == "conflict"
    assert any(f"L4T {l4t}" in member.text for conflict in answer.conflicts for member in conflict.members)


def test_a_clash_with_the_system_cites_its_cuda_and_names_the_jetpack_to_install():
    answer = resolve(["torch==2.9.1"], orin("35.4.1"), MATRIX)
    texts = [member.text for conflict in answer.conflicts for member in conflict.members if member.kind == "matrix"]
    assert "L4T 35.4.1 brings CUDA 11.4, and torch ==2.9.1 for boards is built for CUDA 12.6" in texts
    fix = next(fix for fix in answer.fixes if "l4t" in fix.changes)
    assert fix.text == "install JetPack 6.2.2 (L4T 36.5.0), whose CUDA is 12.6"
    assert [plan.runtime for plan in fix.plans] == ["cuda12.6"]
    assert resolve(["torch==2.9.1"], orin(fix.changes["l4t"]), MATRIX).status == "plan"
    assert not fix.asks  # no option states it
    assert not fix.command


def test_a_board_is_never_told_a_jetpack_that_is_not_for_it():
    xavier = {"name": "Xavier (nvgpu)", "vendor": "nvidia", "target": "sm_72", "integrated": True}
    machine = facts.load({"gpus": [xavier], "arch": "aarch64", "l4t": "32.7.1"}, "a board")
    fixes = [fix for fix in resolve(["torch==2.0.0"], machine, MATRIX).fixes if "l4t" in fix.changes]
    assert [fix.changes["l4t"] for fix in fixes] == ["35.6.4"]
    assert not any("l4t" in fix.changes for fix in resolve(["torch==2.9.1"], machine, MATRIX).fixes)


def test_companions_come_from_the_index_of_their_framework():
    found = plan(["torch", "torchvision", "torchaudio"], "Jetson Orin Nano 8GB")
    assert {build.index for build in found.builds} == {"https://pypi.jetson-ai-lab.io/jp6/cu126"}
    assert [build.requirement for build in found.builds] == ["torch==2.9.1", "torchvision==0.24.1", "torchaudio==2.9.1"]


def test_thor_takes_ordinary_arm_wheels_and_images():
    """From JetPack 7 on a board is an ordinary arm64 machine (sbsa)."""
    found = plan(["torch"], "NVIDIA Thor")
    assert found.builds[0].index == ""
    assert found.base_image.image.startswith("nvidia/cuda:13.")
    assert found.driver.minimum == "580.65.06"


@pytest.mark.parametrize("gpu", ["GH200", "sm_90", "sm_80"])
def test_a_server_never_gets_a_wheel_for_boards(gpu):
    found = plan(["torch", "torchvision"], gpu, arch="aarch64")
    assert not any("jetson" in build.index for build in found.builds)


def test_where_nobody_publishes_wheels_there_is_no_plan():
    """PyTorch for the first Jetson Nano exists in images only, which a plan of wheels cannot name."""
    answer = resolve(["torch"], from_options(MATRIX, gpus=("Jetson Nano",)), MATRIX)
    assert answer.status == "conflict"
