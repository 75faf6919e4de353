"""Extensions compiled in the stage for it by real compilers, and the kernels that the result carries.

NVIDIA's compiler comes as wheels. Of torch there is what builds extensions, from its own wheel, beside
libraries without code: its CUDA builds are gigabytes.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
import zipfile
from dataclasses import replace

import pytest
from factory import Settings

from compat.build import build_image, verify
from compat.kernels import inspect
from compat.plan import GpuVerdict, PlannedBuild

pytestmark = pytest.mark.large("compilers of some 100 MB")

NVCC = ("nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-cuda-runtime==13.0.96")
CUDA = """
FROM nvidia/cuda:12.6.3-devel-ubuntu22.04
COPY nvidia/cu13 /usr/local/cuda
RUN chmod -R a+rx /usr/local/cuda/bin /usr/local/cuda/nvvm/bin && ln -s lib /usr/local/cuda/lib64 \\
 && ln -s libcudart.so.13 /usr/local/cuda/lib/libcudart.so
ENV PATH=/usr/local/cuda/bin:${PATH}
"""
HIP = """
FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends g++ hipcc python3-dev python3-pip python3-venv \\
 && rm -rf /var/lib/apt/lists/*
ENV ROCM_HOME=/usr HIP_PLATFORM=amd
"""
TORCH = """
import types
from . import version
__version__ = version.__version__
_C = types.SimpleNamespace(_GLIBCXX_USE_CXX11_ABI=True)
cuda = types.SimpleNamespace(is_available=lambda: False, _is_compiled=lambda: True, device_count=lambda: 0)
xpu = types.SimpleNamespace(_is_compiled=lambda: False)
backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_built=lambda: False))
"""
BUILDS = r"torch/(_appdirs|torch_version|_vendor/(__init__|packaging/.*)|utils/(\w*cpp_extension\w*|file_baton|hipify/.*))\.py"
LIBRARIES = ("c10", "torch", "torch_cpu", "torch_python", "c10_cuda", "torch_cuda", "c10_hip", "torch_hip")
SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
setup(name="ext", version="1.0", ext_modules=[CUDAExtension("kernels", ["kernels.cu"])], cmdclass={"build_ext": BuildExtension})
"""
KERNEL = """
#include <Python.h>
#include <cuda_runtime.h>
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "kernels", 0, -1, 0};
PyMODINIT_FUNC PyInit_kernels(void) { twice<<<1, 1>>>(0); return PyModule_Create(&module); }
"""


@pytest.fixture
def builder(tmp_path, shelf, default_index):
    """An index with what builds extensions for a CUDA or a ROCm: torch's own code, and libraries without any."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")

    def make(version, **runtime):
        default_index.fetch("torch==2.13.0+cpu")
        told = {"__version__": version, "cuda": None, "hip": None, "debug": False, **runtime}
        members = {"torch/__init__.py": TORCH, "torch/utils/__init__.py": ""}
        members["torch/version.py"] = "".join(f"{name} = {text!r}\n" for name, text in told.items())
        with zipfile.ZipFile(next(default_index.files.glob("torch-*"))) as source:
            members |= {name: source.read(name) for name in source.namelist() if re.fullmatch(BUILDS, name)}
        (tmp_path / "empty.c").touch()
        for name in LIBRARIES:
            library = tmp_path / f"lib{name}.so"
            subprocess.run(["gcc", "-shared", "-o", str(library), str(tmp_path / "empty.c")], check=True)
            members[f"torch/lib/{library.name}"] = library.read_bytes()
        shutil.copy(next(default_index.files.glob("typing_extensions-*")), tmp_path / "shelf" / "files")
        shelf.add("torch", version, requires=("typing-extensions",), members=members)
        return shelf.open()

    return make


def compiled(made, plan, client, tmp_path, default_index, url, devel, **args):
    """The kernels that an image's extension carries."""
    with tarfile.open(default_index.files / "ext-1.0.tar.gz", "w:gz") as archive:
        told = {"setup.py": SETUP, "kernels.cu": KERNEL, "PKG-INFO": "Metadata-Version: 2.1\nName: ext\nVersion: 1.0\n"}
        for name, text in told.items():
            entry = tarfile.TarInfo(f"ext-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    default_index.publish()
    wish = Settings(compile=("ext==1.0",), devel_image=devel, import_check=False)
    args = {"TORCH_INDEX": url, "PIP_INDEX_URL": default_index.url, **args}
    built = made(plan, "kernels", wish=wish, build_args=args)
    assert built.ok, built.log[-3000:]
    container = client.containers.create(built.tag)
    place = "/opt/venv/lib/python3.11/site-packages/kernels.cpython-311-x86_64-linux-gnu.so"
    try:
        (tmp_path / "kernels.tar").write_bytes(b"".join(container.get_archive(place)[0]))
    finally:
        container.remove(force=True)
    with tarfile.open(tmp_path / "kernels.tar") as archive:
        archive.extractall(tmp_path / "out", filter="data")
    (found,) = inspect(tmp_path / "out").objects
    return found


def planned(slim, torch, image, runtime, version, *targets):
    base = replace(slim().base_image, image=image, python_from="distribution")
    gpus = tuple(GpuVerdict(name=target, target=target, kernels="native") for target in targets)
    return slim(replace(torch, version=version, runtime=runtime), runtime=runtime, gpus=gpus, base_image=base)


@pytest.fixture
def devel(client, tmp_path):
    """An image with compilers."""
    tags = []

    def make(text, name):
        tags.append(f"envcheck-test/{name}")
        built = build_image(text, tag=tags[-1], context=tmp_path, builder="classic", network="host")
        assert built.ok, built.log[-2000:]
        return tags[-1]

    yield make
    for tag in tags:
        client.images.remove(tag, force=True, noprune=True)


def test_nvcc_compiles_for_the_plans_gpus_or_for_those_that_are_asked_for(
    made, slim, torch, base, client, tmp_path, default_index, builder, devel
):
    base("nvidia/cuda:12.6.3-devel-ubuntu22.04")
    default_index.bring("ninja", "packaging", "psutil", "setuptools", "wheel", "typing-extensions")
    default_index.fetch(*NVCC)
    for path in default_index.files.glob("nvidia_*"):
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(tmp_path)
    image, url = devel(CUDA, "nvcc"), builder("2.13.0+cu130", cuda="13.0")
    plan = planned(slim, torch, "nvidia/cuda:12.6.3-base-ubuntu22.04", "cuda13.0", "2.13.0+cu130", "sm_80", "sm_90")
    found = compiled(made, plan, client, tmp_path, default_index, url, image)
    assert (set(found.sass), set(found.ptx)) == ({"sm_80", "sm_90"}, set())
    found = compiled(made, plan, client, tmp_path, default_index, url, image, TORCH_CUDA_ARCH_LIST="12.0+PTX")
    assert (set(found.sass), set(found.ptx)) == ({"sm_120"}, {"compute_120"})


def test_hipcc_compiles_for_the_plans_gpus(made, slim, torch, base, client, tmp_path, default_index, builder, devel):
    """By Debian's hipcc 5.2: torch turns CUDA's source into HIP's, and the plan's targets are those that it is built for."""
    base("debian:12")
    default_index.bring("ninja", "packaging", "psutil", "setuptools", "wheel", "typing-extensions")
    image, url = devel(HIP, "hipcc"), builder("2.13.0+rocm7.2", hip="7.2.0")
    plan = planned(slim, torch, "debian:12", "rocm7.2", "2.13.0+rocm7.2", "gfx90a", "gfx1030")
    found = compiled(made, plan, client, tmp_path, default_index, url, image)
    assert set(found.gfx) == {"gfx90a", "gfx1030"}


def test_torch_compiles_in_an_image_with_a_compiler(made, slim, index, base, usual_builder):
    """On a base whose distribution has Python: its headers are a package of their own, which official images have."""
    base("debian:12")
    image = replace(slim().base_image, image="debian:12", python_from="distribution")
    name = "https://download.pytorch.org/whl/cpu"
    torch = PlannedBuild(name="torch", version="2.13.0+cpu", runtime="cpu", index=name, module="torch")
    url = index("torch==2.13.0+cpu", "setuptools")
    wish = Settings(compiler=True, builder=usual_builder)
    built = made(slim(torch, base_image=image), "compiler", wish=wish, build_args={"TORCH_INDEX": url})
    assert built.ok, built.log[-3000:]
    found = {probe.name: probe.status for probe in verify(built.tag, timeout=300).probes}
    assert found["torch.compile"] == "pass"
