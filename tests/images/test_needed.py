"""Every shared library that the wheels of a planned image name as needed is in it, or is mounted into it.

``needed.json`` is what scripts/image_libraries.py read from the wheels' ELF headers: of each plan its wheels, of each
wheel the libraries that it lacks and the objects that name them. What the system brings is read from the Dockerfile.
"""

import json
import re
import shlex
from pathlib import Path

import pytest

from compat.app.matrices import load
from compat.dockerfile import write
from compat.dockerfile.settings import Settings
from compat.resolve import resolve
from compat.resolve.target import from_options

RECORD = json.loads((Path(__file__).parent / "needed.json").read_text())
WHEELS = RECORD["wheels"]
READ = {name: told for name, told in RECORD["plans"].items() if "wheels" in told}

MOUNTED = {"libcuda.so.1", "libnvidia-ml.so.1"}
"""What the NVIDIA Container Toolkit mounts for ``compute,utility`` (its "Docker Specialized Configurations")."""

DISTRIBUTION = {"libz.so.1", "liblzma.so.5", "libbz2.so.1"}
"""What dpkg and rpm themselves are linked with, so that every base has it."""

PACKAGES = {
    "libgomp1": r"libgomp\.so\.1",
    # depends on libglx0, and that on libx11-6 and libxcb1
    "libgl1": r"libGL\.so\.1|libX11\.so\.6|libxcb\.so\.1",
    "libglib2.0-0": r"lib(glib|gthread)-2\.0\.so\.0",
    # Ubuntu 24.04 has FFmpeg 6, Debian 13 has FFmpeg 7, Ubuntu 22.04 FFmpeg 4: of torchcodec's libraries one set serves
    "ffmpeg": r"lib(av(codec|device|filter|format|util)|sw(resample|scale))\.so\.\d+",
}
"""Packages of the distribution, and what they bring."""

BASES = {
    # packages cuda-libraries, libnccl2 of the runtime flavour's Dockerfile (gitlab.com/nvidia/container-images/cuda)
    r"nvidia/cuda:[\d.]+-(cudnn-)?runtime-.*": r"lib(cublas|cublasLt|cufft|curand|cusolver|cusparse|nvrtc|nccl)\.so\.\d+",
    # all of ROCm is in the full flavour, and the libnuma that its libhsakmt needs; no registry was reached to list it
    r"rocm/dev-ubuntu-[\d.]+:[\d.]+-(complete|full)": r"lib(roc|hip|hsa|MIOpen|amd|rccl|numa).*\.so\.\d+",
}
"""Base images, and what they bring beside the distribution."""

OPTIONAL = {
    r"nvidia-nvshmem-cu\d+:.*/nvshmem_(bootstrap|transport)_.*": "opened by name where that fabric or launcher is there",
    r"nvidia-cufile.*:.*/libcufile_rdma\.so.*": "opened where storage is reached by RDMA",
    r"torch:torch/lib/libgfortran\.so.*": "no object of the wheel names it",
    r"numba:numba/np/ufunc/(omppool|tbbpool)\..*": "one of three ways to run threads; the third needs nothing",
    r"bitsandbytes:bitsandbytes/libbitsandbytes_(cuda1[12]\d|rocm\d+|xpu\d+)\.so": "one for each runtime: torch's is taken",
    r"onnxruntime-gpu:.*/libonnxruntime_providers_tensorrt\.so": "opened where that provider is asked for",
    r"cupy-cuda1\dx:cupy_backends/cuda/libs/(cutensor|nccl)\..*": "opened where it is installed and asked for",
    r"mindspore:mindspore/lib/(plugin/.*|libmpi_collective\.so)": "opened where that device or launcher is asked for",
    r"opencv-python:.*/lib(qxcb|Qt5XcbQpa.*)\.so.*": "opened where a window is shown",
    r"torch-memory-saver:torch_memory_saver_hook_mode_.*": "one for each CUDA: torch's is taken",
    r"torchcodec:torchcodec/libtorchcodec_heic\.so": "opened where a HEIC picture is decoded",
}
"""Objects that a program runs without, and why: their own libraries are no fault of the image."""


@pytest.fixture(scope="module")
def matrix():
    return load([])


def dockerfile(name, told, matrix):
    """The Dockerfile for the releases that were read, whatever the newest ones are by now."""
    _, _, target = name.partition("@")
    pins = [item for item in told["builds"] if "+" not in item]
    host = from_options(matrix, gpus=[] if target == "cpu" else [target])
    answer = resolve(pins, host, matrix, cpu=target == "cpu")
    planned = [build.requirement for build in answer.plan.builds] if answer.plan else answer.conflicts
    again = f"a row moved this plan, run: python scripts/image_libraries.py {shlex.quote(name)}"
    assert planned == told["builds"], again
    return answer.plan.base_image.image, write(answer.plan)


def lacking(told, base, text):
    """Library -> objects that name it, of those that neither a wheel nor the system nor the driver brings."""
    brought = {name for wheel in told["wheels"] for name in WHEELS[wheel]["has"]} | MOUNTED | DISTRIBUTION
    patterns = [found for package, found in PACKAGES.items() if re.search(rf" {package}\b", text)]
    patterns += [found for name, found in BASES.items() if re.fullmatch(name, base)]
    found = {}
    for wheel in told["wheels"]:
        for soname, objects in WHEELS[wheel]["needs"].items():
            named = [f"{wheel.partition('==')[0]}:{path}" for path in objects]
            named = [path for path in named if not any(re.fullmatch(one, path) for one in OPTIONAL)]
            if named and soname not in brought and not any(re.fullmatch(one, soname) for one in patterns):
                found[soname] = named
    return found


@pytest.mark.parametrize("name", RECORD["plans"])
def test_an_image_has_every_library_that_its_wheels_name(matrix, name):
    """Nothing is known of a plan whose wheels were not read: that is told by its name and is no pass."""
    if name not in READ:
        pytest.skip(f"the wheels of {name} were not read: {RECORD['plans'][name]['unread'][:160]}")
    base, text = dockerfile(name, READ[name], matrix)
    assert lacking(READ[name], base, text) == {}


@pytest.mark.parametrize(
    ("name", "package", "soname"),
    [
        ("lightgbm@cpu", "libgomp1", "libgomp.so.1"),
        ("torchcodec@sm_90", "ffmpeg", "libavcodec.so.60"),
        ("ultralytics@sm_90", "libgl1", "libGL.so.1"),
    ],
)
def test_without_its_package_the_library_is_missed(matrix, name, package, soname):
    base, text = dockerfile(name, READ[name], matrix)
    assert soname in lacking(READ[name], base, text.replace(f" {package}", ""))


def test_each_exception_is_still_one():
    """An object that no wheel has any more, or that needs nothing now, is not excused any longer."""
    named = {
        f"{wheel.partition('==')[0]}:{path}"
        for wheel, told in WHEELS.items()
        for objects in told["needs"].values()
        for path in objects
    }
    for pattern in OPTIONAL:
        assert any(re.fullmatch(pattern, path) for path in named), pattern


def test_the_frameworks_of_the_default_index_were_read():
    assert {name.partition("@")[0] for name in READ} >= {
        "torch",
        "jax",
        "tensorflow",
        "paddlepaddle",
        "onnxruntime-gpu",
    }
    for name, told in RECORD["plans"].items():
        assert name in READ or told["unread"], name


@pytest.mark.parametrize("form", ["plain", "factory"])
@pytest.mark.parametrize(
    ("asked", "folders"),
    [
        ("onnxruntime-gpu==1.31.1", "cu13 cudnn"),
        ("onnxruntime-gpu==1.22.0", "cublas cuda_nvrtc cuda_runtime cudnn cufft curand nvjitlink"),
        ("torch==2.9.1", ""),  # its objects have run paths to the packages
    ],
)
def test_packages_that_a_build_does_not_find_by_itself_are_on_the_loaders_path(asked, folders, form):
    """``libonnxruntime_providers_cuda.so`` has no run path: without this ONNX Runtime computes on the CPU."""
    matrix = load()
    plan = resolve([asked], from_options(matrix, gpus=["A100"], python="3.12"), matrix).plan
    text = write(plan, Settings(form=form))
    path = re.search(r'LD_LIBRARY_PATH="([^"]*)"', text)
    place = "/opt/venv/lib/python3.12/site-packages/nvidia"
    wanted = [f"{place}/{name}/lib" for name in folders.split()]
    driver = ["/usr/local/nvidia/lib", "/usr/local/nvidia/lib64"]
    assert (path[1].split(":") if path else []) == (wanted + driver if wanted else [])
    assert any("else it computes on the CPU" in said for said in plan.conditions) is bool(wanted)
