"""detectron2's table and the reports that took its labels: mmcv, mmengine, SGLang, LMDeploy.

The same labels come as a table (two columns), as ``label: value`` lines, in a log, and as a printed dictionary.

The labels are detectron2's, in two columns::

    sys.platform            linux
    Python                  3.9.16 | packaged by conda-forge
    PyTorch                 1.10.0 @/envs/d/lib/python3.9/site-packages/torch
    GPU 0,1                 NVIDIA A100-PCIE-40GB (arch=8.0)
    Driver version          515.65.01

or behind colons, with what torch says of its own build below them::

    GPU 0,1,2,3: Tesla V100-SXM2-32GB
    NVCC: Cuda compilation tools, release 11.1, V11.1.105
    PyTorch: 1.9.1+cu111
    PyTorch compiling details: PyTorch built with:
      - CUDA Runtime 11.1
      - CuDNN 8.0.5

"CUDA compiler" and the arch flags describe how an extension was built, not this machine, and are no facts. SGLang adds
``GPU 0,1 Compute Capability: 8.9`` and ``CUDA Driver Version``, by which it means the driver's own version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Build
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair

_MARKS: Final = (
    "sys.platform", "pytorch compiling details", "mmcv compiler", "mmcv cuda compiler", "detectron2 arch flags",
    "detectron2_env_module", "pytorch debug build", "numpy_random_seed", "nvidia topology", "cuda driver version",
    "gpu # compute capability", "pytorch _debug build", "cuda compiler", "gpu available", "rocm available", "hipcc",
    "musa available", "rocm driver version", "detectron2", "mmengine", "lmdeploy", "sglang", "hypervisor vendor",
    "ulimit soft", "cuda available", "cuda_home", "nvcc", "cuda runtime", "hip runtime",
)  # fmt: skip
_LISTED: Final = (
    "torchvision", "numpy", "mmcv", "mmengine", "mmdet", "sglang", "flashinfer", "flashinfer_python", "triton",
    "transformers", "torchao", "vllm", "xgrammar", "sgl_kernel", "sgl-kernel", "lmdeploy", "pillow", "fvcore",
    "tensorflow", "deepspeed", "xtuner", "flash_attn", "xformers", "aiter", "nvidia-ml-py", "cuda-python",
)  # fmt: skip
_NAMES: Final = {
    "mmdetection": "mmdet", "mmsegmentation": "mmsegmentation", "mmdetection3d": "mmdet3d", "mmpose": "mmpose",
    "opencv": "opencv-python",
}  # fmt: skip
_RELEASE = re.compile(r"release (\d+\.\d+)(?:, V(\d+\.\d+(?:\.\d+)?))?|Build cuda_(\d+\.\d+)|\bV(\d+\.\d+\.\d+)")
_DETAIL = re.compile(r"(CUDA|HIP) Runtime (\d+(?:\.\d+)*)|CuDNN (\d+(?:\.\d+)+)")


def _nvcc(pair: Pair) -> Iterator[Claim]:
    """The sentence of nvcc, or only its Build line in old mmcv."""
    found = _RELEASE.search(pair.value)
    if found:
        release, full, build, bare = found.groups()
        yield Claim("cuda_toolkit", full or bare or release or build)


def _platform(pair: Pair) -> Iterator[Claim]:
    """Python's sys.platform."""
    names = {"linux": "linux", "linux2": "linux", "win32": "windows", "darwin": "darwin"}
    if kind := names.get(pair.value.lower()):
        yield Claim("platform", kind, weight=Weight.HINT)


# Labels of detectron2's table, which only blanks part from their values.
_COLUMNS: Final = (
    "sys.platform", "python", "numpy", "detectron2", "detectron2 arch flags", "detectron2_env_module", "pytorch",
    "pytorch debug build", "gpu available", "gpu #", "driver version", "cuda_home", "torchvision", "pillow",
    "cuda compiler", "compiler", "fvcore", "torch_cuda_arch_list",
)  # fmt: skip


def _detail(line: str) -> Iterator[Claim]:
    """One line of torch's build configuration: ``- CUDA Runtime 11.1``, ``- CuDNN 8.0.5``."""
    found = _DETAIL.match(line.strip(" -|"))
    kind, version, cudnn = found.groups() if found else ("", "", "")
    if kind:
        prefix = "cuda" if kind == "CUDA" else "rocm"
        yield Claim("builds", Build(runtime=prefix + ".".join(version.split(".")[:2])), key="torch")
        if kind == "HIP":
            yield Claim("hip", version)
    elif cudnn:
        yield Claim("cudnn", _true_cudnn(cudnn), weight=Weight.LISTED)


def _true_cudnn(printed: str) -> str:
    """The number behind the one torch prints: it divides 90100 by 1000, as was right before cuDNN 9: 90.1."""
    parts = [int(part) for part in printed.split(".")]
    if parts[0] < 80:
        return printed
    return f"{parts[0] // 10}.{parts[1]}.{parts[2] if len(parts) > 2 else 0}"


PROGRAM: Final = Program(
    name="mmcv collect_env",
    labels={
        **{name: values.package(name) for name in _LISTED},
        **{label: values.package(name) for label, name in _NAMES.items()},
        "sys.platform": _platform,
        "python": values.python,
        "pytorch": values.package("torch"),
        "nvcc": _nvcc,
        "hipcc": values.hip_version,
        "gpu #": devices.indexed,
        "gpu # compute capability": devices.capabilities,
        "gcc": values.number("gcc"),
        "driver version": values.number("driver"),
        "cuda driver version": values.number("driver"),
        "rocm driver version": values.number("amdgpu"),
        "torch_cuda_arch_list": values.env,
    },
    marks=_MARKS,
    phrases=("PyTorch built with",),
    least=2,
    lines=dict.fromkeys(("CUDA Runtime ", "HIP Runtime ", "CuDNN "), _detail),
    alone=True,
    columns=_COLUMNS,
)
