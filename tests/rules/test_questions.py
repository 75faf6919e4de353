"""Questions and half sentences: what facts beside them decide, and what stays open.

A person asks whether something serves a system or a GPU, or quotes what an installer said. The published files and the
age of the card are known, so that they decide; the words alone never do.
"""

from __future__ import annotations

import pytest

from compat.facts import host
from compat.matrix import matrix as shipped
from compat.rules import judge

NEW = [{"name": "NVIDIA GeForce RTX 5090", "vendor": "nvidia", "target": "sm_120"}]
OLD = [{"name": "Tesla K80", "vendor": "nvidia", "target": "sm_37"}]
TAGS = {"linux": "linux_x86_64", "windows": "win_amd64", "darwin": "macosx_arm64"}
ARCHES = {"linux": "x86_64", "windows": "x86_64", "darwin": "arm64"}
PACKAGES = ("vllm", "triton", "xformers", "flash-attn", "deepspeed", "bitsandbytes", "sglang", "jax", "torch")


def report(text, commands=(), **facts):
    return judge(host(**facts), shipped(), error=text, commands=commands)


def first(text, commands=(), **facts):
    found = report(text, commands, **facts).findings
    return found[0] if found else None


def serves(package, tag):
    """Whether the newest release of a package has a file for a system, read from the rows alone."""
    rows = shipped().builds(package)
    newest = max(tuple(map(int, row.version.split(".")[:2])) for row in rows if row.version[0].isdigit())
    last = [row for row in rows if row.version.split(".")[:2] == [str(part) for part in newest]]
    return any(item == "any" or item.startswith(tag) for row in last for item in row.platforms)


@pytest.mark.parametrize("system", TAGS)
@pytest.mark.parametrize("package", PACKAGES)
def test_an_installation_is_refused_by_system_where_the_newest_release_has_no_file_for_it(package, system):
    found = report("the installation fails", (f"pip install {package}",), platform=system, arch=ARCHES[system])
    refused = any(item.code == "platform-unsupported" and item.severity == "error" for item in found.findings)
    assert refused is not serves(package, TAGS[system])


@pytest.mark.parametrize(
    ("text", "platform", "code"),
    [
        ("Does vllm run on Windows?", "windows", "platform-unsupported"),
        ("是否支持在windows操作系统上安装vllm", "windows", "platform-unsupported"),
        ("how can I have faiss-gpu on macOS?", "darwin", "platform-unsupported"),
    ],
)
def test_a_question_about_a_system_is_answered_by_what_is_published(text, platform, code):
    found = first(text, platform=platform)
    assert (found.code, found.severity, found.confidence) == (code, "warning", "likely")


@pytest.mark.parametrize(
    "text", ["Does torch run on Windows?", "vllm on Windows is slow, " + "it takes minutes. " * 30]
)
def test_no_package_is_accused_that_is_published_or_only_mentioned(text):
    said = [item.detail for item in report(text, platform="windows").findings if item.code == "platform-unsupported"]
    assert not any("is published for" in detail for detail in said)


AGES = [
    ("Does this GPU work, is it supported?", NEW, "arch-too-new-for-build"),
    ("Does this GPU work, is it supported?", OLD, "arch-too-old-for-build"),
    ("nothing of my card's CUDA compute capability can be used", NEW, "arch-too-new-for-build"),
    ("nothing of my card's CUDA compute capability can be used", OLD, "arch-too-old-for-build"),
]


@pytest.mark.parametrize(("text", "gpus", "code"), AGES, ids=[f"{row[2]}: {row[0][:30]}" for row in AGES])
def test_the_age_of_the_card_says_which_end_is_meant(text, gpus, code):
    found = report(text, gpus=gpus).findings
    assert found[0].code == code
    other = {"arch-too-new-for-build", "arch-too-old-for-build"} - {code}
    assert not other & {item.code for item in found}


SAID = [
    ("nvidia devices are not accessible by regular users", {}, "device-permission"),
    ("only root can use the GPU, normal users get nothing", {}, "device-permission"),
    ("pip cannot find onnxruntime", {"platform": "windows", "python": "3.10"}, "python-unsupported"),
    ("uv does not find the package", {}, "python-unsupported"),
    ("no wheel for it", {"arch": "aarch64"}, "platform-unsupported"),
    ("上安装，失败了，没有对应的 wheel", {"arch": "aarch64"}, "platform-unsupported"),
    ('"import tensorflow" causes a segfault', {}, "cpu-instructions-missing"),
    ("how to keep docker from mounting the compat libs over libcuda", {}, "forward-compat-conflict"),
    ("Conv1D currently requires the cuDNN library which is not integrated in this build", {}, "library-missing"),
    ("Can not find library: libcublas.so", {}, "library-missing"),
    ("Unable to load DSO libcudnn.so.8", {}, "library-missing"),
    ("CUDAError InsufficientDriver", {}, "driver-too-old-for-runtime"),
    ("CUDA_ERROR_INSUFFICIENT_DRIVER", {}, "driver-too-old-for-runtime"),
    ("Failed to determine best cudnn convolution algorithm", {}, "out-of-memory"),
    ("ResolvePackageNotFound: \n  - cudatoolkit=11.3", {"platform": "darwin"}, "platform-unsupported"),
    (
        "meson.build:1:0: ERROR: Compiler nvcc cannot compile programs.",
        {"gcc": "16.1", "cuda_toolkit": "13.0"},
        "host-compiler-unsupported",
    ),
    (
        'The CUDA compiler\n\n    "/usr/bin/nvcc"\n\n  is not able to compile a simple test program.',
        {},
        "host-compiler-unsupported",
    ),
]


@pytest.mark.parametrize(("text", "facts", "code"), SAID, ids=[row[0][:40] for row in SAID])
def test_the_first_finding_is_what_is_mostly_meant(text, facts, code):
    assert first(text, **facts).code == code


BANNER = "This container was built for NVIDIA Driver Release {} or later, but\n  version {} was detected and {}."


def test_an_image_that_tells_the_driver_it_needs_explains_the_error_number_that_follows():
    text = BANNER.format("525.85", "470.199.02", "compatibility mode is UNAVAILABLE")
    found = first(f"{text}\n\n [[CUDA Driver UNAVAILABLE (cuInit(0) returned 803)]]", container="docker")
    assert (found.code, found.severity) == ("container-requires-newer-driver", "error")
    assert "525.85" in found.detail


def test_an_image_that_brings_the_libraries_it_needs_has_no_fault():
    text = BANNER.format("525.85", "470.199.02", "compatibility mode is ENABLED")
    assert report(f"NOTE: {text}", container="docker").findings == ()


@pytest.mark.parametrize("name", ["numpy", "pandas", "cudatoolkits"])
def test_a_package_that_is_not_made_for_cuda_is_no_fault_of_macos(name):
    found = report(f"ResolvePackageNotFound: \n  - {name}", platform="darwin").findings
    assert not [item for item in found if "macOS does not have" in item.detail]


TOLD = [
    ("NVML reports a mismatch after apt upgrade", {}, "driver-library-mismatch"),
    ("the rocm wheel ended up on an NVIDIA workstation", {}, "wrong-vendor-build"),
    ("CUDA 11.8 is installed and the package expects CUDA 12", {}, "library-mismatch"),
    ("installing it replaced my CUDA torch with the CPU one", {}, "cpu-only-build"),
    # libraries, by any word for their absence
    ("libcudnn_ops_infer.so.8 is not present", {}, "library-missing"),
    ("nvrtc cannot be located at run time", {}, "library-missing"),
    ("libnccl is not on the loader path", {}, "library-missing"),
    ("libcublas of the system is newer than the wheel's", {}, "library-mismatch"),
    # builds
    ("poetry resolves torch to the CPU wheel", {}, "cpu-only-build"),
    ("jax.devices() only lists CpuDevice", {}, "cpu-only-build"),
    ("conda picked the cpu_0 build string of pytorch", {}, "cpu-only-build"),
    (
        "Keras does not use the GPU",
        {"platform": "windows", "packages": {"tensorflow": "2.11.0"}},
        "cpu-only-build",
    ),
    ("the installer put CUDA wheels on a machine with a Radeon", {}, "wrong-vendor-build"),
    ("CUDA torch was installed although the card is an RX 7900 XTX", {}, "wrong-vendor-build"),
    # companions
    ("flash-attn import breaks after torch was upgraded", {}, "framework-pair-mismatch"),
    ("the extension must be recompiled after every torch update", {}, "abi-mismatch"),
    ("jax and torch cannot be installed together", {}, "frameworks-conflict"),
    (
        "jaxlib is older than jax demands",
        {"packages": {"jax": "0.4.30", "jaxlib": "0.4.10"}},
        "framework-pair-mismatch",
    ),
    # drivers
    ("the program does not start with this driver", {"driver": "520.61.05"}, "driver-too-old-for-runtime"),
    ("the driver lags behind the toolkit", {}, "driver-too-old-for-runtime"),
    ("this image will not run with driver 470", {"container": "docker"}, "container-requires-newer-driver"),
    ("kernel module 535.129 and user space 535.154 differ", {}, "driver-library-mismatch"),
    (
        "kernels of numba fail after upgrading the CUDA toolkit, is the CUDA version wrong?",
        {"driver": "525.85.12", "cuda_toolkit": "12.4", "packages": {"numba": "0.59"}},
        "driver-too-old-for-runtime",
    ),
    ("WSL2 and CUDA do not work", {}, "no-driver"),
    ("CUDA does not work", {"platform": "wsl2"}, "no-driver"),
    (
        "my computer does not support this CUDA, is there support for an older version?",
        {},
        "driver-too-old-for-runtime",
    ),
    # containers, memory, processors, masks
    ("DataLoader workers die", {"container": "docker"}, "shm-too-small"),
    ("CUDA is not used", {"container": "docker"}, "container-no-gpu"),
    ("the model does not fit into 8 GB of VRAM", {}, "out-of-memory"),
    ("importing it kills the interpreter on a Celeron", {}, "cpu-instructions-missing"),
    ("CUDA_VISIBLE_DEVICES is set to an index that does not exist", {}, "devices-hidden"),
    ("the render group lacks the user, so CUDA is not there", {}, "device-permission"),
    # compilers
    ("Ubuntu's nvidia-cuda-toolkit cannot target sm_89", {}, "toolkit-too-old-for-arch"),
    ("CUDA_HOME points to another toolkit than torch's", {}, "toolkit-mismatch-extension"),
    ("the NCCL backend is absent on Windows", {"platform": "windows"}, "platform-unsupported"),
]


@pytest.mark.parametrize(("text", "facts", "code"), TOLD, ids=[row[0][:40] for row in TOLD])
def test_what_a_person_tells_in_a_sentence(text, facts, code):
    found = report(text, **facts).findings
    assert found[0].code == code
    assert {item.severity for item in found} <= {"warning", "info"}


@pytest.mark.parametrize(
    "packages",
    [
        {"jax": "0.4.30", "jaxlib": "0.4.10"},
        {"torch": "2.1.0", "mmcv": "2.1.0"},
        {"torchvision": "0.16.0"},
    ],
)
def test_a_companion_of_which_nothing_is_known_is_not_called_fitting(packages):
    assert not any("belong" in text for text in report("", packages=packages).fine)


@pytest.mark.parametrize(
    "packages",
    [
        {"torch": "2.1.0", "torchvision": "0.16.0"},
        {"jax": "0.4.30", "jaxlib": "0.4.30"},
        {"jax": "0.4.30", "jaxlib": "0.4.30", "jax-cuda12-plugin": "0.4.30"},
    ],
)
def test_companions_that_belong_are_said_to(packages):
    assert any("belong" in text for text in report("", packages=packages).fine)


PASCAL = [{"name": "Quadro P2000", "vendor": "nvidia", "target": "sm_61"}]
BLIND = "the list of GPUs is empty, the card does not work"


@pytest.mark.parametrize(
    "facts",
    [
        {"cuda_toolkit": "10.1.243"},
        {"python": "3.5"},
        {"packages": {"torch": "1.7.1"}, "builds": {"torch": {"runtime": "cuda11.0"}}},
    ],
    ids=["its toolkit", "its Python", "its build"],
)
def test_an_old_card_beside_software_of_its_day_is_not_suspected_for_its_age(facts):
    assert not any("no longer served" in item.detail for item in report(BLIND, gpus=PASCAL, **facts).findings)


@pytest.mark.parametrize("facts", [{}, {"cuda_toolkit": "13.0"}, {"python": "3.13"}])
def test_an_old_card_beside_new_software_is_suspected(facts):
    assert first(BLIND, gpus=PASCAL, **facts).code == "arch-too-old-for-build"
