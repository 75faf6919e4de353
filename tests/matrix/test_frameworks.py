"""What users know of frameworks, checked against the matrix: truths from documents and reports, not from its own sources."""

from __future__ import annotations

from functools import cache

import pytest
from packaging.requirements import Requirement

from compat import targets
from compat.matrix import matrix

M = matrix()


@cache
def builds(package, version):
    return tuple(build for build in M.builds(package) if build.version == version)


def find(package, version, *, local="", platform="linux_x86_64", extras=(), runtime="", distribution="", index=None):
    """The builds of a release that a person would name so; an empty local tag means the default index."""
    return [
        build
        for build in builds(package, version)
        if build.local == local
        and platform in build.platforms
        and build.extras == extras
        and build.distribution == distribution
        and (not runtime or build.runtime == runtime)
        and (index is None or build.index == index)
    ]


def one(package, version, **named):
    found = find(package, version, **named)
    assert found, f"no build of {package} {version} with {named}"
    return found[0]


def runs(build, device):
    return targets.kernels_for(device, build.kernels, M.families)


def allows(build, name, version):
    """Whether the build's own requirements let ``name`` be at ``version``."""
    wanted = [Requirement(line) for line in build.requires]
    return all(
        wish.specifier.contains(version, prereleases=True)
        for wish in wanted
        if wish.name == name and (wish.marker is None or wish.marker.evaluate({"python_version": "3.11"}))
    )


DEFAULT_CUDA = {
    # what `pip install torch==X` brings on Linux x86_64 (release notes, and torch.version.cuda in users' reports)
    "1.4.0": "cuda10.1", "1.5.1": "cuda10.2", "1.7.1": "cuda10.2", "1.12.1": "cuda10.2", "1.13.1": "cuda11.7",
    "2.0.1": "cuda11.7", "2.1.2": "cuda12.1", "2.4.1": "cuda12.1", "2.5.1": "cuda12.4", "2.6.0": "cuda12.4",
    "2.7.1": "cuda12.6", "2.8.0": "cuda12.8", "2.9.1": "cuda12.8", "2.10.0": "cuda12.8", "2.11.0": "cuda13.0",
    "2.14.1": "cuda13.0", "2.15.0": "cuda13.2",
}  # fmt: skip


@pytest.mark.parametrize(("version", "runtime"), DEFAULT_CUDA.items())
def test_default_torch_wheel_carries_the_cuda_that_users_see(version, runtime):
    assert one("torch", version).runtime == runtime


KERNELS = [
    # (release, local tag, GPU, how it runs): reports of "no kernel image" and get_arch_list() printed in public
    ("2.0.1", "", "sm_86", "native"),  # RTX 3090 on the default wheel
    ("2.0.1", "", "sm_89", "native"),  # RTX 4090 runs the sm_86 code
    ("2.0.1", "", "sm_90", "none"),  # H100 on cu117: pytorch issue threads
    ("2.0.1", "cu118", "sm_90", "native"),
    ("2.0.1", "", "sm_37", "native"),  # K80
    ("2.1.2", "", "sm_37", "none"),
    ("1.12.1", "", "sm_86", "none"),  # RTX 30 with the cu102 default: the classic sm_86 warning
    ("1.12.1", "cu116", "sm_86", "native"),
    ("1.12.1", "", "sm_75", "native"),  # runs sm_70 code
    ("2.6.0", "", "sm_120", "none"),  # RTX 5090: "sm_120 is not compatible with the current PyTorch installation"
    ("2.7.1", "", "sm_120", "none"),
    ("2.7.1", "cu128", "sm_120", "native"),
    ("2.8.0", "", "sm_120", "native"),
    ("2.7.1", "", "sm_61", "native"),  # GTX 10 on the last default that serves it
    ("2.8.0", "", "sm_61", "none"),
    ("2.8.0", "cu126", "sm_61", "native"),
    ("2.11.0", "cu126", "sm_70", "native"),  # V100: only cu126 keeps it from 2.11 on
    ("2.11.0", "cu128", "sm_70", "none"),
    ("2.11.0", "", "sm_70", "none"),
    ("2.10.0", "", "sm_70", "native"),
]


@pytest.mark.parametrize(("version", "local", "device", "how"), KERNELS)
def test_torch_runs_on_a_gpu_as_its_owners_report(version, local, device, how):
    assert runs(one("torch", version, local=local), device) == how


@pytest.mark.parametrize(
    ("version", "local", "device", "how"),
    [
        ("2.6.0", "rocm6.2.4", "gfx1201", "none"),  # RX 9070 came with 2.7
        ("2.7.1", "rocm6.3", "gfx1201", "native"),
        ("2.0.1", "rocm5.4.2", "gfx1100", "none"),  # RX 7900 came with 2.1
        ("2.1.0", "rocm5.6", "gfx1100", "native"),
        ("2.3.0", "rocm5.7", "gfx942", "none"),  # MI300X needs the rocm6 build
        ("2.3.0", "rocm6.0", "gfx942", "native"),
        ("2.14.0", "rocm7.2", "gfx906", "native"),
    ],
)
def test_torch_rocm_builds_serve_amd_gpus_as_reported(version, local, device, how):
    assert runs(one("torch", version, local=local), device) == how


PYTHONS = [
    ("torch", "2.0.1", {}, "3.11", True),
    ("torch", "2.0.1", {}, "3.12", False),  # "Could not find a version that satisfies" on Python 3.12
    ("torch", "2.2.0", {}, "3.12", True),
    ("torch", "2.5.1", {}, "3.8", False),  # Requires-Python says >=3.8, yet there is no such wheel
    ("torch", "2.9.1", {}, "3.14", True),
    ("torch", "2.15.0", {}, "3.10", False),
    ("tensorflow", "2.12.0", {}, "3.11", True),
    ("tensorflow", "2.12.0", {}, "3.12", False),
    ("tensorflow", "2.16.1", {}, "3.12", True),
    ("tensorflow", "2.19.0", {}, "3.13", False),
    ("tensorflow", "2.20.0", {}, "3.13", True),
    ("jax", "0.4.30", {"runtime": "cpu"}, "3.9", True),
    ("jax", "0.4.31", {"runtime": "cpu"}, "3.9", False),
    ("jax", "0.12.0", {"runtime": "cpu"}, "3.11", False),
    ("paddlepaddle", "2.6.2", {"runtime": "cpu"}, "3.12", True),
    ("paddlepaddle", "3.3.1", {"runtime": "cpu"}, "3.14", False),
]


@pytest.mark.parametrize(("package", "version", "named", "python", "there"), PYTHONS)
def test_wheels_exist_for_the_pythons_that_users_find(package, version, named, python, there):
    assert (python in one(package, version, **named).python) is there


TENSORFLOW = [
    # tensorflow.org/install/source, tested build configurations for GPU: release, CUDA, cuDNN
    ("2.4.0", "cuda11.0", "8.0"), ("2.5.0", "cuda11.2", "8.1"), ("2.8.0", "cuda11.2", "8.1"), ("2.10.0", "cuda11.2", "8.1"),
    ("2.11.0", "cuda11.2", "8.1"), ("2.12.0", "cuda11.8", "8.6"), ("2.13.0", "cuda11.8", "8.6"), ("2.14.0", "cuda11.8", "8.7"),
    ("2.15.0", "cuda12.2", "8.9"), ("2.16.1", "cuda12.3", "8.9"), ("2.17.0", "cuda12.3", "8.9"), ("2.18.0", "cuda12.5", "9.3"),
    ("2.19.0", "cuda12.5", "9.3"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "runtime", "cudnn"), TENSORFLOW)
def test_tensorflow_takes_the_documented_cuda_and_cudnn_from_the_system(version, runtime, cudnn):
    build = one("tensorflow", version)
    assert (build.runtime, build.cudnn, build.cuda_from) == (runtime, cudnn, "system")
    assert build.system == (runtime, f"cudnn{cudnn.partition('.')[0]}")


def test_tensorflow_brings_its_own_cuda_only_through_and_cuda():
    build = one("tensorflow", "2.19.0", extras=("and-cuda",))
    assert build.cuda_from == "packages"
    assert build.system == ()
    assert any(line.startswith("nvidia-cudnn-cu12==9.3.") for line in build.requires)
    assert not find("tensorflow", "2.13.1", extras=("and-cuda",))  # the extra came with 2.14


def test_and_cuda_is_offered_only_where_its_pins_can_be_met():
    """tensorrt 8.5.3.1 (pinned by 2.14) has no wheel for 3.11; tensorrt-libs 8.6.1 (by 2.15.0) is not on the index."""
    assert one("tensorflow", "2.14.1", extras=("and-cuda",)).python == ("3.9", "3.10")
    assert not find("tensorflow", "2.15.0", extras=("and-cuda",))
    assert find("tensorflow", "2.15.1", extras=("and-cuda",))


def test_tensorflow_holds_code_as_well_as_ptx_for_its_highest_capability():
    """Read from libtensorflow_cc of 2.12.0, which lists compute_80 and holds 265 sm_80 images beside 264 of PTX."""
    build = one("tensorflow", "2.12.0")
    assert runs(build, "sm_80") == "native"
    assert runs(build, "sm_86") == "native"
    assert runs(build, "sm_90") == "ptx"


def test_native_windows_gpu_of_tensorflow_ends_with_2_10():
    assert one("tensorflow", "2.10.1", platform="win_amd64").runtime == "cuda11.2"
    assert {build.runtime for build in find("tensorflow", "2.11.0", platform="win_amd64")} == {"cpu"}


def test_early_tensorflow_2_has_cuda_only_under_another_name():
    assert one("tensorflow", "2.0.0").runtime == "cpu"
    build = one("tensorflow", "2.0.0", distribution="tensorflow-gpu")
    assert (build.runtime, build.install_name, build.full_version) == ("cuda10.0", "tensorflow-gpu", "2.0.0")


def test_tensorflow_rocm_is_installed_by_its_own_version():
    build = one("tensorflow", "2.14.0", distribution="tensorflow-rocm", index="")
    assert (build.full_version, build.runtime) == ("2.14.0.600", "rocm6.0")


PINS = [
    # (what, the package it is about, a version it refuses, a version it accepts)
    (("tensorflow", "2.12.0", {}), "numpy", "1.24.0", "1.23.5"),
    (("tensorflow", "2.13.0", {}), "typing-extensions", "4.6.0", "4.5.0"),
    (("tensorflow", "2.15.0", {}), "keras", "3.0.0", "2.15.0"),
    (("tensorflow", "2.18.0", {}), "numpy", "2.1.0", "2.0.2"),
    (("torch", "2.2.2", {}), "numpy", "2.0.0", "1.26.4"),
    (("torch", "2.4.0", {"platform": "win_amd64"}), "numpy", "2.0.0", "1.26.4"),
    (("torch", "2.5.1", {}), "triton", "3.2.0", "3.1.0"),
    (("torch", "2.5.1", {}), "nvidia-cudnn-cu12", "9.5.1.17", "9.1.0.70"),
    (("torchvision", "0.15.2", {}), "torch", "2.1.0", "2.0.1"),
    (("torchaudio", "2.5.1", {}), "torch", "2.5.0", "2.5.1"),
    (("vllm", "0.6.0", {}), "torch", "2.3.1", "2.4.0"),
    (("jax", "0.7.2", {"extras": ("cuda13",)}), "nvidia-cudnn-cu13", "9.10.0.56", "9.12.0.46"),
    (("jax", "0.4.28", {"extras": ("cuda12",)}), "nvidia-cudnn-cu12", "9.1.0.70", "8.9.7.29"),
    (("paddlepaddle", "2.4.2", {"distribution": "paddlepaddle-gpu"}), "protobuf", "3.20.3", "3.20.0"),
]


@pytest.mark.parametrize(("what", "name", "refused", "accepted"), PINS, ids=str)
def test_builds_pin_shared_packages_as_their_metadata_does(what, name, refused, accepted):
    package, version, named = what
    build = one(package, version, **named)
    assert not allows(build, name, refused)
    assert allows(build, name, accepted)


def test_numpy_2_works_from_torch_2_3_on():
    assert allows(one("torch", "2.3.0"), "numpy", "2.0.0")
    assert allows(one("torch", "2.4.1", platform="win_amd64"), "numpy", "2.0.0")


def test_torch_2_0_1_cu118_and_tensorflow_2_12_share_an_environment():
    left, right = one("torch", "2.0.1", local="cu118"), one("tensorflow", "2.12.0")
    assert left.runtime == right.runtime == "cuda11.8"
    assert {"3.8", "3.9", "3.10", "3.11"} <= set(left.python) & set(right.python)
    shared = {Requirement(line).name for line in left.requires} & {Requirement(line).name for line in right.requires}
    assert shared <= {"numpy"}
    assert allows(left, "numpy", "1.23.5")
    assert allows(right, "numpy", "1.23.5")


PAIRS = {
    "1.11.0": "0.12.0",
    "1.13.1": "0.14.1",
    "2.0.1": "0.15.2",
    "2.2.2": "0.17.2",
    "2.5.1": "0.20.1",
    "2.9.1": "0.24.1",
}


@pytest.mark.parametrize(("torch", "torchvision"), PAIRS.items())
def test_torchvision_pairs_with_its_torch_in_every_variant(torch, torchvision):
    variants = {
        build.full_version.partition("+")[2] for build in builds("torch", torch) if "linux_x86_64" in build.platforms
    }
    for local in variants - {"xpu", "rocm7.14.0", "rocm10.0.0"}:
        pair = one("torchvision", torchvision, local=local)
        assert allows(pair, "torch", torch)
        assert pair.runtime == one("torch", torch, local=local).runtime


@pytest.mark.parametrize(
    ("version", "extras", "runtime", "driver"),
    [
        ("0.4.35", ("cuda12",), "cuda12.1", "525.60.13"),
        ("0.7.2", ("cuda13",), "cuda13.0", "580"),
        ("0.4.20", ("cuda11-pip",), "cuda11.8", "450.80.02"),
    ],
)
def test_jax_extras_say_which_cuda_and_driver(version, extras, runtime, driver):
    build = one("jax", version, extras=extras)
    assert (build.runtime, build.driver, build.cuda_from) == (runtime, driver, "packages")


def test_jax_cuda_13_begins_with_0_7_2_and_cuda_11_ends_with_0_4_25():
    assert not find("jax", "0.7.0", extras=("cuda13",))
    assert find("jax", "0.7.2", extras=("cuda13",))
    assert find("jax", "0.4.25", extras=("cuda11-pip",))
    assert not [build for build in builds("jax", "0.4.26") if build.runtime.startswith("cuda11")]


def test_paddle_gpu_lives_on_its_own_index_from_3_0():
    assert one("paddlepaddle", "2.6.2", distribution="paddlepaddle-gpu", index="").runtime == "cuda11.8"
    newer = [build for build in builds("paddlepaddle", "3.2.2") if build.runtime.startswith("cuda")]
    assert {build.index for build in newer} == {"paddle"}
    assert "/cu129/" in M.index_url(next(build for build in newer if build.runtime == "cuda12.9"))


@pytest.mark.parametrize(
    ("device", "how"), [("sm_60", "none"), ("sm_61", "native"), ("sm_89", "native"), ("sm_90", "none")]
)
def test_default_paddle_2_6_2_serves_what_its_libraries_hold(device, how):
    """libphi of the wheel holds 61, 70, 75, 80 and 86 and no PTX; Paddle's pages say 3.5 and up."""
    assert runs(one("paddlepaddle", "2.6.2", distribution="paddlepaddle-gpu", index=""), device) == how


@pytest.mark.parametrize(("version", "device", "how"), [("2.11.0", "gfx1100", "none"), ("2.14.0", "gfx1100", "native")])
def test_tensorflow_rocm_serves_rdna3_only_late(version, device, how):
    found = [
        build for build in builds("tensorflow", version) if build.distribution == "tensorflow-rocm" and build.kernels
    ]
    assert {runs(build, device) for build in found} == {how}


def test_pytorch_index_addresses_carry_the_variant():
    assert M.index_url(one("torch", "2.0.1", local="cu118")) == "https://download.pytorch.org/whl/cu118"
    assert M.index_url(one("torch", "1.9.1", local="cu111")).endswith("/torch_stable.html")


@pytest.mark.parametrize(
    ("version", "local", "platform", "abi"),
    [
        ("2.6.0", "", "linux_x86_64", "0"),
        ("2.6.0", "", "linux_aarch64", "1"),
        ("2.6.0", "cu126", "linux_x86_64", "1"),
        ("2.7.0", "", "linux_x86_64", "1"),
    ],
)
def test_cxx11_abi_flips_where_extension_builders_noticed(version, local, platform, abi):
    assert one("torch", version, local=local, platform=platform).abi == abi


@pytest.mark.parametrize(("version", "glibc"), [("2.0.1", "2.17"), ("2.6.0", "2.17"), ("2.7.0", "2.28")])
def test_glibc_floor_of_torch_is_the_real_one(version, glibc):
    assert one("torch", version).glibc == glibc


@pytest.mark.parametrize(("package", "version"), [("torch", "2.10.0"), ("torch", "2.0.1")])
def test_arm_servers_get_a_cpu_build_by_default_before_2_11(package, version):
    assert one(package, version, platform="linux_aarch64").runtime == "cpu"
    assert one(package, "2.11.0", platform="linux_aarch64").runtime == "cuda13.0"
