"""Using the GPU: memory, number formats, and masks that hide devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.targets import sm

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing

_MASKS: Final = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL")
_BLIND: Final = ("no-cuda-gpus", "no-device-100", "invalid-ordinal", "hip-no-device", "torch-no-gpu-generic", "jax-no-gpu", "found-no-driver")


class OutOfMemory(Rule):
    """GPU memory is not sufficient, or already in use.

    What:
        An allocation on the device failed, or almost all of its memory is in use.
    Why:
        The model, its batch or its cache do not fit, or another process holds the memory; JAX and TensorFlow take most of
        it at start, so that libraries like cuDNN fail inside for want of it.
    Fix:
        End the processes that hold it, choose another GPU, or use a smaller batch or precision.
    Sources:
        - https://pytorch.org/docs/stable/notes/cuda.html#memory-management
        - https://docs.jax.dev/en/latest/gpu_memory_allocation.html
    """

    area = "memory"
    asks = ("gpus",)
    remedy = Fix(
        "End the processes that hold the memory, choose another GPU, or use a smaller batch or precision.",
        ("nvidia-smi", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "export XLA_PYTHON_CLIENT_PREALLOCATE=false"),
    )
    _FULL: Final = 0.95  # of the memory in use: what is left holds no context of a framework

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        full = [gpu for gpu in gpus if gpu.memory_mib and gpu.memory_used_mib and gpu.memory_used_mib > self._FULL * gpu.memory_mib]
        heard = signals.get("cuda-oom")
        if heard:
            shown = f" {full[0].name or 'A GPU'} has {full[0].memory_used_mib} of {full[0].memory_mib} MiB in use." if full else ""
            return Found(detail=f"{heard.signal.meaning}{shown}", facts=("gpus",) if gpus else ())
        if not full or len(full) < len(gpus):
            return None
        detail = f"{full[0].memory_used_mib} of {full[0].memory_mib} MiB are in use on every GPU."
        return Found(detail=detail, facts=("gpus",), severity="warning")


class GpuBusyOtherProcesses(Rule):
    """Other processes use the GPU.

    What:
        Compute processes run on the device.
    Why:
        Measurements mean something on an idle device only.
    Fix:
        Expect lower numbers, or wait.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "info"
    area = "memory"
    requires = ("out-of-memory",)
    asks = ("gpus",)
    remedy = Fix("Expect lower numbers, or wait.", ("nvidia-smi",))

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        busy = [gpu for gpu in gpus if gpu.processes]
        return Found(detail=f"{busy[0].processes} processes run on {busy[0].name or 'a GPU'}.", facts=("gpus",)) if busy else None


class HostMemoryLow(Rule):
    """Main memory is small compared with GPU memory.

    What:
        The machine has less memory than its GPUs together, or the kernel ended a process for want of it.
    Why:
        Weights are normally staged through main memory; a process that ends with 137 and no text was killed by the kernel or
        by the memory limit of its container.
    Fix:
        Raise the container's limit, or add memory or swap.
    Sources:
        - https://docs.kernel.org/admin-guide/mm/concepts.html
    """

    severity = "warning"
    area = "memory"
    asks = ("memory_mib", "memory_available_mib")
    remedy = Fix("Raise the container's memory limit, or add memory or swap.", ("sudo dmesg | grep -i oom",))

    def check(self, memory_mib: int, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        total = sum(gpu.memory_mib or 0 for gpu in gpus if not gpu.integrated)
        if "killed" in signals:
            return Found(detail=f"A process was ended for want of memory; the machine has {memory_mib} MiB.", facts=("memory_mib",), severity="error")
        if total and memory_mib < total:
            return Found(detail=f"{memory_mib} MiB of main memory for {total} MiB on GPUs.", facts=("memory_mib", "gpus"))
        return None


class UmaCarveoutSmall(Rule):
    """An integrated GPU has a small share of memory of its own.

    What:
        The GPU is integrated, and its dedicated memory is below 4 GiB.
    Why:
        Frameworks look at the dedicated pool first, although the GPU can use much more of the main memory.
    Fix:
        Raise the share in the firmware setup, or use a framework that takes shared memory into account.
    Sources:
        - https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/
    """

    severity = "info"
    area = "memory"
    vendors = ("amd",)
    requires = ("out-of-memory",)
    asks = ("gpus",)
    remedy = Fix("Raise the GPU's share of memory in the firmware setup.")
    _SMALL: Final = 4096  # MiB

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        small = next((gpu for gpu in gpus if gpu.vendor == "amd" and gpu.integrated and gpu.memory_mib and gpu.memory_mib < self._SMALL), None)
        return Found(detail=f"{small.name or small.target} has {small.memory_mib} MiB of its own.", facts=("gpus",)) if small else None


class PrecisionUnsupported(Rule):
    """The number format has no hardware support on this GPU.

    What:
        A program asks for bfloat16, FP8 or another format that the device has no units for.
    Why:
        bfloat16 came with capability 8.0, FP8 with 8.9, FP4 with 10.0; emulated formats are slow or have no kernels.
    Fix:
        Choose a format that the device has: float16 below 8.0, bfloat16 from 8.0.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#features-and-technical-specifications
    """

    area = "precision"
    asks = ("gpus",)
    remedy = Fix("Choose a format that the device has: float16 below capability 8.0.", ("--dtype half",))
    _TOLD: Final = {"bf16": "bf16", "fp8": "fp8"}

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix, signals: Hearing) -> Outcome:
        heard = signals.get("bf16", "fp8", "half-not-implemented")
        if not heard:
            return None
        wanted = self._TOLD.get(heard.signal.signal, "")
        for gpu in gpus:
            device = sm(gpu.target)
            row = matrix.capability(device.capability) if device else matrix.gfx(gpu.target) if gpu.target else None
            if row and wanted and wanted not in row.features:
                return Found(detail=f"{gpu.name or gpu.target} has no {wanted}.", facts=("gpus",), sources=(matrix.cite(row),))
        return Found(detail=heard.signal.meaning, facts=("gpus",) if gpus else (), confidence="likely")


class DevicesHidden(Rule):
    """Environment variables hide every GPU.

    What:
        A mask such as CUDA_VISIBLE_DEVICES is empty, -1, or names a GPU that does not exist.
    Why:
        An entry that does not exist ends the list: all after it is invisible, and an empty value hides everything.
    Fix:
        Unset the variable, or give a list of GPUs that exist.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
        - https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
    """

    area = "env"
    asks = ("env", "gpus")
    remedy = Fix("Unset the mask, or give a list of GPUs that exist.", ("unset CUDA_VISIBLE_DEVICES",))

    def check(self, env: dict[str, str], signals: Hearing, gpus: tuple[Gpu, ...] | None = None) -> Outcome:
        for name in _MASKS:
            if name not in env:
                continue
            value = env[name].strip()
            fix = Fix(f"Unset {name}, or give a list of GPUs that exist.", (f"unset {name}",))
            why = self._hides(value, len(gpus) if gpus else None)
            if why and (gpus or signals.harmful):
                return Found(detail=f"{name} is {value!r}, which {why}.", facts=(f"env.{name}",), fix=fix)
            if value and not value.startswith("0") and signals.get(*_BLIND):
                return Found(detail=f"{name} is {value!r}, and no GPU is seen.", facts=(f"env.{name}",), fix=fix, confidence="likely")
        return Fits("")

    @staticmethod
    def _hides(value: str, count: int | None) -> str:
        """Why a mask hides all GPUs; empty if it need not."""
        first = value.split(",")[0].strip()
        if value in {"", "-1", "NoDevFiles", "void", "none"}:
            return "hides every GPU"
        if count and re.fullmatch(r"\d{1,4}", first) and int(first) >= count:
            return f"begins with a GPU that does not exist (there are {count})"
        return ""


class VisibleDevicesConflict(Rule):
    """Two layers of device masks disagree.

    What:
        ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES (or CUDA_VISIBLE_DEVICES on ROCm) are both set and do not nest.
    Why:
        ROCR filters first and renumbers, HIP then filters the renumbered list.
    Fix:
        Set one of them.
    Sources:
        - https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
    """

    severity = "warning"
    area = "env"
    requires = ("devices-hidden",)
    asks = ("env",)
    remedy = Fix("Set one of the masks only.", ("unset HIP_VISIBLE_DEVICES",))

    def check(self, env: dict[str, str], host: Host) -> Outcome:
        outer = env.get("ROCR_VISIBLE_DEVICES", "")
        inner = next((name for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if env.get(name)), "")
        if not outer or not inner or not any(gpu.vendor == "amd" for gpu in host["gpus"] or ()):
            return None
        left = len(outer.split(","))
        beyond = [part for part in env[inner].split(",") if part.strip().isdigit() and int(part.strip()[:6]) >= left]
        if not beyond:
            return None
        detail = f"{inner} names GPU {beyond[0]}, but ROCR_VISIBLE_DEVICES leaves {left}."
        return Found(detail=detail, facts=("env.ROCR_VISIBLE_DEVICES", f"env.{inner}"))


RULES = family(
    DevicesHidden, VisibleDevicesConflict, PrecisionUnsupported, OutOfMemory, GpuBusyOtherProcesses, HostMemoryLow, UmaCarveoutSmall
)
