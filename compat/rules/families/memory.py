"""Memory of the GPU and of the machine, and its disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu
    from compat.reading.messages import Hearing


class OutOfMemory(Rule):
    """GPU memory is not sufficient, or already in use.

    Why:
        The model, its batch or its cache do not fit, or another process holds the memory; JAX and TensorFlow take most
        of it at start, so that libraries like cuDNN fail inside for want of it.
    Fix:
        End the processes that hold the memory, choose another GPU, or use a smaller batch or precision.
    Sources:
        - https://pytorch.org/docs/stable/notes/cuda.html#memory-management
        - https://docs.jax.dev/en/latest/gpu_memory_allocation.html
    """

    area = "memory"
    commands = (
        "nvidia-smi",
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "export XLA_PYTHON_CLIENT_PREALLOCATE=false",
    )
    _FULL: Final = 0.95  # of the memory in use: what is left holds no context of a framework

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """An allocation on the device failed, or almost all of its memory is in use."""
        full = [
            gpu
            for gpu in gpus
            if gpu.memory_mib and gpu.memory_used_mib and gpu.memory_used_mib > self._FULL * gpu.memory_mib
        ]
        heard = signals.get("cuda-oom")
        if heard:
            shown = (
                f" {full[0].name or 'A GPU'} has {full[0].memory_used_mib} of {full[0].memory_mib} MiB in use."
                if full
                else ""
            )
            return Found(detail=f"{heard.signal.meaning}{shown}", facts=("gpus",) if gpus else ())
        if not full or len(full) < len(gpus):
            return None
        detail = f"{full[0].memory_used_mib} of {full[0].memory_mib} MiB are in use on every GPU."
        return Found(detail=detail, severity="warning")


class GpuBusyOtherProcesses(Rule):
    """Other processes use the GPU.

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
    commands = ("nvidia-smi",)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """Compute processes run on the device."""
        busy = [gpu for gpu in gpus if gpu.processes]
        return Found(detail=f"Compute processes on {busy[0].name or 'a GPU'}: {busy[0].processes}.") if busy else None


class HostMemoryLow(Rule):
    """Main memory is small compared with GPU memory.

    Why:
        Weights are normally staged through main memory; a process that ends with 137 and no text was killed by the
        kernel or by the memory limit of its container.
    Fix:
        Raise the container's memory limit, or add memory or swap.
    Sources:
        - https://docs.kernel.org/admin-guide/mm/concepts.html
    """

    severity = "warning"
    area = "memory"
    asks = ("memory_available_mib",)
    commands = ("sudo dmesg | grep -i oom",)

    def check(self, memory_mib: int, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """The machine has less memory than its GPUs together, or the kernel ended a process for want of it."""
        total = sum(gpu.memory_mib or 0 for gpu in gpus if not gpu.integrated)
        if "killed" in signals:
            return Found(
                detail=f"A process was ended for want of memory; the machine has {memory_mib} MiB.",
                facts=("memory_mib",),
                severity="error",
            )
        if total and memory_mib < total:
            return Found(detail=f"{memory_mib} MiB of main memory for {total} MiB on GPUs.")
        return None


class UmaCarveoutSmall(Rule):
    """An integrated GPU has a small share of memory of its own.

    Why:
        Frameworks look at the dedicated pool first, although the GPU can use much more of the main memory.
    Fix:
        Raise the GPU's share of memory in the firmware setup. Or use a framework that takes shared memory into account.
    Sources:
        - https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/
    """

    severity = "info"
    area = "memory"
    vendors = ("amd",)
    requires = ("out-of-memory",)
    _SMALL: Final = 4096  # MiB

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPU is integrated, and its dedicated memory is below 4 GiB."""
        for gpu in gpus:
            if gpu.vendor == "amd" and gpu.integrated and gpu.memory_mib and gpu.memory_mib < self._SMALL:
                return Found(detail=f"{gpu.name or gpu.target} has {gpu.memory_mib} MiB of its own.")
        return None


class DiskSpaceLow(Rule):
    """There is little disk space for images and wheels.

    Why:
        GPU images take 5 to 25 GiB, and a pull needs the compressed and the unpacked form at once.
    Fix:
        Remove what is unused, or move it to a larger disk. The engine's data and TMPDIR can be moved.
    Sources:
        - https://docs.docker.com/engine/manage-resources/pruning/
    """

    severity = "warning"
    area = "resources"
    commands = ("docker system prune", "pip cache purge")
    _SMALL: Final = 5 * 1024  # MiB: the smallest GPU images

    def check(self, disk_free_mib: int, signals: Hearing) -> Outcome:
        """A write failed for want of space, or less is free than a GPU image takes."""
        told = "no-space" in signals
        if not told and disk_free_mib >= self._SMALL:
            return Fits(f"{disk_free_mib // 1024} GiB of disk are free")
        return Found(detail=f"{disk_free_mib} MiB are free.", severity="error" if told else None)


RULES = family(OutOfMemory, GpuBusyOtherProcesses, HostMemoryLow, UmaCarveoutSmall, DiskSpaceLow)
