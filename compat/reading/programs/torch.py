"""PyTorch's ``torch.utils.collect_env`` and what grew from it: vLLM's (flat and in sections), docTR's, TorchServe's.

The script prints one label per line, GPUs and library lists on lines of their own::

    PyTorch version: 2.6.0+cu124
    CUDA used to build PyTorch: 12.4
    ROCM used to build PyTorch: N/A
    OS: Ubuntu 22.04.5 LTS (x86_64)
    Libc version: glibc-2.35
    Python platform: Linux-5.15.0-134-generic-x86_64-with-glibc2.35
    CUDA runtime version: Could not collect
    GPU models and configuration: GPU 0: NVIDIA H100 PCIe
    Nvidia driver version: 535.230.02
    cuDNN version: Probably one of the following:
    /usr/lib/x86_64-linux-gnu/libcudnn.so.8.2.0
    [pip3] numpy==1.26.4
    [conda] mkl                       2023.1.0         h213fc3f_46344

Generations differ: before 1.7 there is no ROCm line and flags are Yes or No; before 1.12 no Libc line and no platform;
since 2.15 HIP and the ROCm SDK have a line each. vLLM sets the same labels in sections with aligned colons. On AMD the
GPU line names one device and its gfx target: ``AMD Instinct MI300X (gfx942:sramecc+:xnack-)``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Build
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair

_MARKS: Final = (
    "is debug build", "cuda used to build pytorch", "rocm used to build pytorch",
    "rocm sdk used to build pytorch", "hip used to build pytorch", "libc version", "python platform",
    "is cuda available", "cuda_module_loading set to", "hip runtime version", "miopen runtime version",
    "is xnnpack available", "is xpu available", "versions of relevant libraries",
    "vllm build flags", "gpu topology",
)  # fmt: skip
_NEEDLES: Final = (
    "[pip3] ",
    "[conda] ",
    "[pip] ",
    "Collecting environment information",
    "Nvidia driver version",
    "configuration: GPU 0:",
)

_LISTED = re.compile(r"\[(pip3?|conda)\]\s+([A-Za-z][\w.\-]*)\s*(?:==|\s)\s*\(?([\w.+!-]+)\)?")
_CUDNN_FILE = re.compile(r"libcudnn(?:_\w+)?\.so\.(\d+\.\d+(?:\.\d+)?)|cudnn(?:_\w+?)?64_(\d+)\.dll")
_TORCHVISION = re.compile(r"\(torchvision:\s*([\w.+]+)\)")
# Lines below "Is CUDA available" among which GPUs and driver are told.
_GPUS: Final = 24
# Lines read below "Probably one of the following"; cuDNN 8 and 9 ship eight libraries.
FILES: Final = 8


def _torch(pair: Pair) -> Iterator[Claim]:
    """Version of torch; docTR puts torchvision's behind it."""
    yield from values.package("torch")(pair)
    if "+cpu" in pair.value:
        yield Claim("builds", Build(runtime="cpu"), key="torch", weight=Weight.LISTED)
    elif "+xpu" in pair.value:
        yield Claim("builds", Build(runtime="xpu"), key="torch")
    if found := _TORCHVISION.search(pair.value):
        yield Claim("packages", found.group(1), key="torchvision")


def _built_with_cuda(pair: Pair) -> Iterator[Claim]:
    """``None`` means a build without CUDA; whether it is one for ROCm the next line tells, which weighs more."""
    if pair.value.lower() == "none":
        yield Claim("builds", Build(runtime="cpu"), key="torch", weight=Weight.LISTED)
    elif claim := values.build_claim("cuda", pair.value):
        yield claim


def _built_with_xpu(pair: Pair) -> Iterator[Claim]:
    """The release of Intel's SYCL runtime as a date (``20250302``); such a build has no CUDA and is none for CPUs."""
    if re.match(r"\d{4,8}\b", pair.value):
        yield Claim("builds", Build(runtime="xpu"), key="torch")


def _cudnn(pair: Pair) -> Iterator[Claim]:
    """A version, one library file, or a list of files under "Probably one of the following"."""
    if "following" in pair.value.lower():
        texts = pair.below(FILES)
    elif "cudnn" in pair.value:
        texts = [pair.value, *pair.below(FILES)]
    else:
        yield from values.number("cudnn")(pair)
        return
    found = {match.group(1) or match.group(2) for match in map(_CUDNN_FILE.search, texts) if match}
    if len(found) == 1:
        yield Claim("cudnn", found.pop())
    elif found:
        yield Claim("cudnn", None, key=", ".join(sorted(found)))


def _started(pair: Pair) -> Iterator[Claim]:
    """That CUDA starts, or does not where a driver answered for GPUs: where torch is one for ROCm, HIP does."""
    above = "\n".join(pair.page.text_at(pair.index - back) for back in range(1, 16))
    if not re.search(r"CUDA used to build PyTorch: \d", above):
        return
    if pair.value.lower() in {"true", "yes"}:
        yield Claim("cuda_init", "ok")
    elif re.search(r"GPU 0: \w(?s:.*)Nvidia driver version: \d", "\n".join(pair.below(_GPUS))):
        yield Claim("cuda_init", f"CUDA available: {pair.value}")


def _driver(pair: Pair) -> Iterator[Claim]:
    """The driver as nvidia-smi told the script; what the script could not collect nvidia-smi did not answer."""
    if not values.empty(pair.value) and (version := values.dotted(pair.value)):
        yield Claim("driver", version)
    elif pair.value.startswith("Could not collect"):
        yield Claim("nvml", "no answer", weight=Weight.HINT)


def _listed(line: str) -> Iterator[Claim]:
    """One line of the library lists."""
    tool, name, version = found.groups() if (found := _LISTED.search(line)) else ("", "", "")
    if version[:1].isdigit() and (clean := values.package_version(version)):
        fact = "conda_packages" if tool == "conda" else "packages"
        yield Claim(fact, clean, key=name, weight=Weight.LISTED)


PROGRAM: Final = Program(
    name="collect_env",
    labels={
        "pytorch version": _torch,
        "torch version": _torch,
        "tensorflow version": values.package("tensorflow"),
        "vllm version": values.package("vllm"),
        "cuda used to build pytorch": _built_with_cuda,
        "rocm used to build pytorch": values.hip_build,
        "xpu used to build pytorch": _built_with_xpu,
        "rocm sdk used to build pytorch": values.runtime("rocm"),
        "hip used to build pytorch": values.hip_version,
        "rocm version": values.silent,  # vLLM prints HIP's number under this label
        "hip compiler version": values.silent,
        "os": values.system,
        "gcc version": values.number("gcc"),
        "clang version": values.number("clang"),
        "cmake version": values.number("cmake"),
        "libc version": values.libc,
        "python version": values.python,
        "python platform": values.platform_string,
        "is cuda available": _started,
        "cuda runtime version": values.first("cuda_toolkit"),
        "cuda_module_loading set to": values.env,
        "gpu models and configuration": devices.named,
        "gpu #": devices.indexed,
        "nvidia driver version": _driver,
        "cudnn version": _cudnn,
        "hip runtime version": values.hip_version,
        "intel gpu driver version": values.text("intel_runtime"),
    },
    marks=_MARKS,
    phrases=_NEEDLES,
    lines={
        "[pip": _listed,
        "[conda]": _listed,
        # What build scripts print first.
        "torch.__version__": said("packages", r"^\s*torch\.__version__ {1,4}= {1,4}(\d[\w.+]{2,40})\s*$", key="torch"),
    },
    alone=True,
)
