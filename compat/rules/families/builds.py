"""The framework's build: does it have GPU code at all, and for the right vendor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import Installed, has_no_device, installed, on_platform, packages_of, vendors_of

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Heard, Hearing


# Programs with GPU builds of their own, which say nothing about another one's build.
_OTHERS: Final = (
    "tensorflow", "keras", "jax", "onnx", "paddle", "bitsandbytes", "llama", "faiss", "dgl", "mxnet", "cupy", "numba",
    "xgboost", "lightgbm", "opencv", "ctranslate", "whisper", "decord", "ffmpeg",
)  # fmt: skip

# Messages by which a bitsandbytes tells that it knows nothing of ROCm, or has no library for this one.
_CUDA_ALONE: Final = ("bnb-version-absent", "bnb-cpu", "bnb-no-device")

_BNB: Final = Fix(
    "Install a bitsandbytes with ROCm libraries, or compile it for this GPU.",
    ("pip install --upgrade bitsandbytes", "cmake -DCOMPUTE_BACKEND=hip -S . && make"),
)

_GPU_VENDORS: Final = ("nvidia", "amd", "intel")


# Messages of a framework that merely sees no GPU.
_SILENT: Final = (
    "torch-no-gpu-generic",
    "no-cuda-gpus",
    "found-no-driver",
    "hip-no-device",
    "torch-cpu-build",
    "index-out-of-gpus",
)


def usable(host: Host) -> tuple[Gpu, ...]:
    """GPUs that a framework could use: a vendor's discrete or integrated GPU, virtual and unknown ones left out."""
    return tuple(gpu for gpu in host.gpus or () if gpu.vendor in _GPU_VENDORS and not _is_display_only(gpu))


def _is_display_only(gpu: Gpu) -> bool:
    """Whether it is one of Intel's integrated GPUs, which frameworks use on request only."""
    return gpu.vendor == "intel" and not re.search(r"arc|max|flex|battlemage|b[56]\d\d", gpu.name.lower())


class CpuOnlyBuild(Rule):
    """A CPU-only framework build on a machine with a GPU.

    Why:
        The package imports and computes, only slowly, and no framework's own check fails for it. Resolvers fall back
        to CPU wheels when the index has nothing that fits the Python or platform.
    Fix:
        Reinstall from the accelerator's index.
    Sources:
        - https://pytorch.org/get-started/locally/
        - https://docs.jax.dev/en/latest/installation.html
    """

    area = "framework"
    requires = ("wrong-vendor-build", "python-unsupported")
    asks = ("packages", "builds", "gpus")
    remedy = Fix("Reinstall the framework from the accelerator's index.")

    def check(self, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """A usable GPU is there and the installed build has no accelerator in it."""
        if has_no_device(host):
            return Fits("")
        heard = signals.pointing("cpu-only-build")
        if host.platform == "darwin":
            return Fits("a Mac has no build with CUDA or ROCm") if heard is None else None
        items = installed(host, matrix)
        cpu = next((item for item in items if item.runtime == "cpu" and (not item.inferred or heard)), None)
        never = next((item for item in items if _never_gpu(item, host, matrix)), None)
        cpu = cpu or (never if heard else None)
        cpu = cpu or _bare_jax(host, items, heard=bool(heard))
        both = {"onnxruntime", "onnxruntime-gpu"} <= packages_of(host).keys()
        if both and heard and heard.signal.program == "onnxruntime":
            return _overwritten()
        if cpu and (usable(host) or heard):
            gpu = f"{usable(host)[0].name or 'a GPU'} is there, but " if usable(host) else ""
            facts = (*(("gpus",) if usable(host) else ()), *((cpu.fact,) if cpu.fact else ()))
            detail = " ".join(f"{gpu}{cpu.name} {cpu.version} is a CPU build.".split())
            return Found(detail=detail, facts=facts)
        built = [item for item in items if item.runtime and item.runtime != "cpu" and not item.inferred]
        if built and _about(built[0], heard, signals, items):
            return Fits(f"{built[0].label} is a GPU build")
        return None if built else self._by_message(host, heard is not None)

    @staticmethod
    def _by_message(host: Host, heard: bool) -> Outcome:
        """No finding: messages are weighed elsewhere, and without known GPUs a CPU build may be right."""
        from compat.rules.rule import Unsure

        silent = not heard and (host.packages or host.builds) and not host.known("gpus")
        return Unsure("neither the framework's build nor a message tells") if heard or silent else None


def _never_gpu(item: Installed, host: Host, matrix: Matrix) -> bool:
    """Whether a release has CPU builds alone on this platform, so that whichever was installed is one."""
    here = [row for row in matrix.builds_of(item.name, item.version) if on_platform(row, host)] if item.version else []
    return bool(here) and bool(host.platform) and all(row.runtime == "cpu" for row in here)


def _overwritten() -> Found:
    """The module that loads has no CUDA provider: of two distributions that write it, the CPU build came last."""
    facts = ("packages.onnxruntime", "packages.onnxruntime-gpu")
    detail = "onnxruntime was installed over onnxruntime-gpu: the module that loads is the CPU build."
    commands = ("pip uninstall -y onnxruntime onnxruntime-gpu", "pip install onnxruntime-gpu")
    return Found(detail=detail, facts=facts, fix=Fix("Keep onnxruntime-gpu only.", commands))


def _about(built: Installed, heard: Heard | None, signals: Hearing, items: tuple[Installed, ...]) -> bool:
    """Whether a GPU build settles what a message leaves open: the message is about that framework."""
    if heard is None:
        return True
    if len(heard.signal.candidates) == 1:
        return False
    text = signals.text[:100_000].lower()
    if heard.signal.program == built.name or built.name in text:
        return True
    return (
        len(items) == 1 and heard.signal.program in {"torch", "programs"} and not any(name in text for name in _OTHERS)
    )


def _bare_jax(host: Host, items: tuple[Installed, ...], *, heard: bool) -> Installed | None:
    """A jaxlib without plug-in and without CUDA tag; from the release on at which GPU code moved to plug-ins."""
    packages = packages_of(host)
    item = next((item for item in items if item.name == "jax" and not item.cuda and not item.rocm), None)
    if item is None or any(
        re.fullmatch(r"jax-(cuda|rocm)\d+-(plugin|pjrt)|libtpu.*|jax-metal", name) for name in packages
    ):
        return None
    return item if heard or ("jaxlib" in packages and host.packages is not None and len(packages) > 3) else None


class WrongVendorBuild(Rule):
    """The framework was built for another vendor than the GPU in the machine.

    Why:
        The default index gives the CUDA build on Linux, so AMD users get it unless they name the index; and
        installers that see an integrated AMD GPU pick ROCm although an NVIDIA card is present.
    Fix:
        Reinstall from the index of the right vendor.
    Sources:
        - https://pytorch.org/get-started/locally/
    """

    area = "framework"
    asks = ("gpus", "packages", "builds")
    remedy = Fix("Reinstall the framework from the index of the GPU's vendor: whl/cuNNN, whl/rocmX.Y or whl/xpu.")
    _SPEAKS: Final = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}

    def check(self, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """The GPU is NVIDIA's and the build is for ROCm or XPU, or the GPU is AMD's and the build is for CUDA."""
        if has_no_device(host):
            return Fits("")
        vendors = {gpu.vendor for gpu in usable(host)}
        for item in installed(host, matrix):
            speaks = next((vendor for kind, vendor in self._SPEAKS.items() if item.runtime.startswith(kind)), "")
            if speaks and vendors and speaks not in vendors and (not item.inferred or self._blind(signals)):
                shown = usable(host)[0].name or usable(host)[0].vendor
                detail = f"{item.label} is built for {speaks}, the GPU is {shown}."
                return Found(detail=detail, facts=("gpus", item.fact))
            if speaks == "amd" and not vendors and signals.get(*_SILENT) and not self._amd(host):
                detail = f"{item.label} is built for AMD, and nothing on the machine is known to be AMD's."
                return Found(detail=detail, facts=(item.fact,), confidence="likely")
            if speaks and not item.inferred and (speaks in vendors or (speaks == "nvidia" and host.driver)):
                return Fits("")
        return self._by_message(host, vendors, signals)

    @staticmethod
    def _by_message(host: Host, vendors: set[str], signals: Hearing) -> Outcome:
        """A message that only CUDA builds print, on a machine whose GPUs are all of other vendors."""
        if vendors_of(host) == {"amd"} and signals.get(*_CUDA_ALONE):
            detail = "bitsandbytes loaded no library for ROCm: this release looks for CUDA, and the GPU is AMD's."
            return Found(detail=detail, facts=("gpus",) if vendors else ("rocm",), confidence="likely", fix=_BNB)
        if not vendors or "nvidia" in vendors or "found-no-driver" not in signals or host.driver:
            return None
        shown = usable(host)[0].name or usable(host)[0].vendor
        detail = f"The build asks for an NVIDIA driver, so it is a CUDA build; the GPU is {shown}."
        return Found(detail=detail, facts=("gpus",), confidence="likely")

    @staticmethod
    def _blind(signals: Hearing) -> bool:
        """Whether the framework merely sees no GPU, and no ROCm program has spoken."""
        spoken = any(item.signal.program in {"hip", "hsa", "rocblas", "rocminfo", "rccl"} for item in signals)
        return not spoken and bool(signals.get("found-no-driver", "no-cuda-gpus", "insufficient-35", "vllm-no-device"))

    @staticmethod
    def _amd(host: Host) -> bool:
        return bool(host.rocm or host.amdgpu or host.hip)


RULES = family(WrongVendorBuild, CpuOnlyBuild)
