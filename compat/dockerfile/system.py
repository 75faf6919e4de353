"""What the distribution must provide: Python, the few libraries that wheels leave out, compilers where asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.dockerfile.settings import Settings
    from compat.plan import BaseImage, Plan

_MANAGERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("ubuntu", "debian"), "apt"),
    **dict.fromkeys(("rhel", "ubi", "rockylinux", "almalinux", "oraclelinux", "fedora"), "dnf"),
}
# Names of systems, without their release, whose package manager we can write for.
SYSTEMS: Final = tuple(_MANAGERS)

_OPENMP: Final = {"apt": ("libgomp1",), "dnf": ("libgomp",)}
# RHEL and its like have no FFmpeg of their own.
_FFMPEG: Final = {"apt": ("ffmpeg",)}
_QT: Final = {"apt": ("libgl1", "libglib2.0-0"), "dnf": ("mesa-libGL", "glib2")}
_LIBRARIES: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    # What wheels name as needed, do not carry, and slim images lack: measured by scripts/image_libraries.py.
    "lightgbm": _OPENMP,
    "mindspore": _OPENMP,
    "paddlepaddle": _OPENMP,
    "paddlepaddle-gpu": _OPENMP,
    "sglang": _FFMPEG,  # which requires torchcodec
    "torchcodec": _FFMPEG,
    # which require opencv-python, whose module is linked with Qt
    "insightface": _QT,
    "ultralytics": _QT,
}
# Where the key of Intel's repository lies in the image.
INTEL_KEY: Final = "/etc/apt/keyrings/intel-graphics.asc"
INTEL_KEY_URL: Final = "https://repositories.intel.com/gpu/intel-graphics.key"
_INTEL: Final = ("libze1", "libze-intel-gpu1")
# The Level Zero loader and the driver behind it, which the wheels for XPUs open and do not carry: Intel's own packages
# for these Ubuntus, and later Ubuntu's own (PyTorch's .ci/docker/common/install_xpu.sh; Ubuntu's policy for updates of
# the Intel graphics stack). Debian 13 has the loader without the driver.
_INTEL_SUITES: Final[Mapping[str, str]] = {"ubuntu22.04": "jammy", "ubuntu24.04": "noble"}
_INTEL_OWN: Final = ("ubuntu26.04",)
# Packages of NVIDIA's own repository.
VENDOR: Final = re.compile(r"(cuda|libcu|libnv|libnccl|libnpp|tensorrt|nsight).*")
# Folders below site-packages in which NVIDIA's packages lay the libraries, by CUDA major (ONNX Runtime's
# ``preload_dlls``): one each up to CUDA 12, one for all but cuDNN since.
_CUDA_FOLDERS: Final[Mapping[str, tuple[str, ...]]] = {
    "12": ("cublas", "cuda_nvrtc", "cuda_runtime", "cudnn", "cufft", "curand", "nvjitlink"),
    "13": ("cu13", "cudnn"),
}
# What NVIDIA's own images put on the loader's path: where a cluster lays the host's driver.
_DRIVER_PATH: Final = "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"


def loader_path(plan: Plan, prefix: str) -> dict[str, str]:
    """``LD_LIBRARY_PATH`` for builds that do not find CUDA's packages by themselves; nothing for any other plan.

    ``prefix``: root of the environment that it goes into, ``/opt/venv``.
    """
    majors = {build.runtime.removeprefix("cuda").partition(".")[0] for build in plan.builds if build.preload}
    names = [name for major in sorted(majors) for name in _CUDA_FOLDERS.get(major, ())]
    if not names:
        return {}
    own = [f"{prefix}/lib/python{plan.python}/site-packages/nvidia/{name}/lib" for name in names]
    return {"LD_LIBRARY_PATH": ":".join([*own, (plan.env or {}).get("LD_LIBRARY_PATH", _DRIVER_PATH)])}


def manager(base: BaseImage) -> str:
    """``apt`` or ``dnf`` by the system's name; empty if unknown."""
    return next((tool for name, tool in _MANAGERS.items() if base.os.startswith(name)), "")


def pinned(plan: Plan, base: BaseImage) -> list[str]:
    """Packages held to the planned Python series: the interpreter, and distutils where Debian splits it off.

    Python lost distutils in 3.12 (PEP 632); before that, Debian and Ubuntu package it apart, in one package numbered
    after the default Python.
    """
    if base.python_from != "distribution":
        return []
    if manager(base) == "dnf":
        # By the file: packages are named python36 on RHEL 8, python3 where it is the default, python3.11 elsewhere.
        return [f"/usr/bin/python{plan.python}"]
    split = [] if versions.at_least(plan.python.rstrip("t"), "3.12") else ["python3-distutils=3.*"]
    return [f"python{plan.python}={plan.python}.*", *split]


def venv(plan: Plan, base: BaseImage) -> list[str]:
    """What ``python -m venv`` needs to bring pip; Debian and Ubuntu package ensurepip apart."""
    apart = base.python_from == "distribution" and manager(base) == "apt"
    return [f"python{plan.python}-venv={plan.python}.*"] if apart else []


def loose(plan: Plan, base: BaseImage, settings: Settings) -> list[str]:
    """Packages that carry no version: libraries the wheels need, a compiler where asked, the person's own."""
    tool = manager(base)
    found = [name for build in plan.builds for name in _LIBRARIES.get(build.name, {}).get(tool, ())]
    if plan.runtime.startswith("xpu"):
        found += _INTEL
    if base.python_from == "conda":
        found.append("ca-certificates")  # which micromamba reads of the system
    if settings.compiler:
        # a processor's code of torch.compile is C++, a GPU's launcher is C (torch's inductor; triton/runtime/build.py)
        cpu = plan.runtime == "cpu"
        found += {"apt": ["g++"] if cpu else ["gcc", "libc6-dev"], "dnf": ["gcc-c++" if cpu else "gcc"]}.get(tool, [])
        found += _headers(plan, base, tool)
    return sorted({*found, *settings.apt})


def vendor_source(plan: Plan, base: BaseImage) -> str:
    """The line of apt for Intel's repository, where an image for XPUs needs it; its key lies in :data:`INTEL_KEY`.

    Raises:
        InputError: for a system for which no packages of Intel's compute runtime are known.
    """
    if not plan.runtime.startswith("xpu") or base.os in _INTEL_OWN:
        return ""
    if base.os not in _INTEL_SUITES:
        raise InputError(
            f"no packages of Intel's compute runtime are known for {base.os or 'an unnamed system'}",
            where="base_image.os",
            expected=", ".join([*_INTEL_SUITES, *_INTEL_OWN]),
            hint="without them no Intel GPU is seen; resolve with --os ubuntu24.04",
        )
    where = f"https://repositories.intel.com/gpu/ubuntu {_INTEL_SUITES[base.os]} unified"
    return f"deb [arch=amd64 signed-by={INTEL_KEY}] {where}"


def compiles_at_run_time(plan: Plan) -> bool:
    """Whether a build needs a C compiler to start at all, rather than only where the person's program asks for one.

    They run Triton kernels from the first request or training step on, and Triton compiles its launcher with the
    system's compiler: vllm-project/vllm issue 2997, sgl-project/sglang issue 1067, unslothai/unsloth issue 1772, and
    SageAttention in lllyasviel/FramePack issue 513, all on GitHub.
    """
    return any(build.name in {"sageattention", "sglang", "unsloth", "vllm"} for build in plan.builds)


def lacks_compiler(plan: Plan, settings: Settings) -> bool:
    """Whether ``torch.compile``, which torch has from 2.0 on, would find no compiler in the image."""
    has = settings.compiler or compiles_at_run_time(plan)
    return not has and any(
        build.module == "torch" and versions.at_least(build.version.partition("+")[0], "2.0") for build in plan.builds
    )


def _headers(plan: Plan, base: BaseImage, tool: str) -> list[str]:
    """Python.h, where the distribution's Python has it in a package of its own."""
    if base.python_from != "distribution":
        return []
    return [f"python{plan.python}-dev" if tool == "apt" else f"pkgconfig(python-{plan.python})"]


def compilers(plan: Plan, base: BaseImage) -> list[str]:
    """What a stage that compiles adds to the toolkit's image: the planned Python with its headers, a C++ compiler.

    Debian and Ubuntu have a cache of what compilers made; of the others only further repositories have it.
    """
    tool = manager(base)
    compiler = {"apt": ["ccache", "g++"], "dnf": ["gcc-c++"]}.get(tool, [])
    return [*pinned(plan, base), *_headers(plan, base, tool), *compiler]
