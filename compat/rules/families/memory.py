"""Memory of the GPU and of the machine, its disk, and the limits of a container."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.changes import Command, Container, Variable
from compat.rules.rule import AmdRule, Fits, Found, Outcome, Rule, told
from compat.sentences import Sentence

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing


class ShmTooSmall(Rule):
    """Shared memory (/dev/shm) is too small for data loaders or collectives.

    Why: Worker processes and NCCL keep their buffers there, and die with a bus error when it is full.
    Fix: Start the container with more shared memory. That is --shm-size=8g or --ipc=host; in Compose shm_size; in
        Kubernetes an emptyDir in memory.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
        - https://pytorch.org/docs/stable/data.html
    """

    severity = "warning"
    area = "container"
    asks = ("shm_mib", "container")
    changes = (Container("--shm-size=8g"), Container("--ipc=host"))
    _ENOUGH: Final = 512  # MiB; DeepSpeed's ds_report warns below this

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The shared memory of the container is the engine's default of 64 MiB, or not much more."""
        heard = signals.saying("shm-full")
        small = host.shm_mib is not None and host.shm_mib < self._ENOUGH
        facts = told(shm_mib=host.shm_mib is not None, container=host.container)
        if heard and (small or host.shm_mib is None):
            size = f" It is {host.shm_mib} MiB." if small else ""
            return Found(
                detail=f"{heard.signal.meaning}{size}",
                facts=facts,
                severity="error",
                confidence="certain" if small or heard.signal.signal != "bus-error" else "likely",
            )
        if small and host.container:
            return Found(detail=f"Shared memory has {host.shm_mib} MiB.", facts=facts)
        if not host.shm_mib or not host.container:
            return None
        return Fits(Sentence("shared memory has {size} MiB", size=host.shm_mib))


class ContainerMemlockLimit(Rule):
    """The limit of locked memory is low for RDMA.

    Why: RDMA pins its buffers; NCCL's documentation asks for the limit to be lifted.
    Fix: Start with --ulimit memlock=-1.
    Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """

    severity = "warning"
    area = "container"
    changes = (Container("--ulimit memlock=-1"),)

    def check(self, host: Host, memlock_kib: int, signals: Hearing) -> Outcome:
        """The limit is not unlimited, and memory could not be pinned; or a container has InfiniBand devices."""
        if memlock_kib < 0:
            return Fits("locked memory is not limited") if host.infiniband else None
        if "memlock" in signals:
            return Found(detail=f"Only {memlock_kib} KiB may be locked.")
        if not host.container or not host.infiniband:
            return None
        detail = f"Only {memlock_kib} KiB may be locked, and RDMA pins all its buffers."
        return Found(detail=detail, facts=("memlock_kib", "infiniband", "container"))


class ContainerNumaBlocked(Rule):
    """NUMA calls are blocked in the container.

    Why: Newer NCCL places host buffers by NUMA node, which the default profile of Docker denies.
    Fix: Add the capability SYS_NICE. Or set NCCL_CUMEM_HOST_ENABLE=0.
    Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """

    severity = "info"
    area = "container"
    changes = (Container("--cap-add SYS_NICE"),)

    def check(self, container: str, signals: Hearing) -> Outcome:
        """NCCL reports that host buffers through cuMem are not possible."""
        if "numa-blocked" in signals:
            return Found(detail=f"NCCL met a blocked NUMA call in {container}.")
        return None


class OutOfMemory(Rule):
    """GPU memory is not sufficient, or already in use.

    Why: The model, its batch or its cache do not fit, or another process holds the memory; JAX and TensorFlow take most
        of it at start, so that libraries like cuDNN find none left.
    Fix: End the processes that hold the memory, choose another GPU, or use a smaller batch or precision.
    Sources:
        - https://pytorch.org/docs/stable/notes/cuda.html#memory-management
        - https://docs.jax.dev/en/latest/gpu_memory_allocation.html
    """

    area = "memory"
    changes = (
        Command("nvidia-smi"),
        Variable("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", of="torch"),
        Variable("XLA_PYTHON_CLIENT_PREALLOCATE", "false", of="jax"),
    )
    _FULL: Final = 0.95  # of the memory in use: what is left holds no context of a framework

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """An allocation on the device failed, or almost all of its memory is in use."""
        full = [gpu for gpu in gpus if gpu.memory_mib and (gpu.memory_used_mib or 0) > self._FULL * gpu.memory_mib]
        used = f"{full[0].memory_used_mib} of {full[0].memory_mib} MiB" if full else ""
        if heard := signals.get("cuda-oom"):
            shown = f" {full[0].name or 'A GPU'} has {used} in use." if full else ""
            return Found(detail=f"{heard.signal.meaning}{shown}", facts=("gpus",) if gpus else ())
        if not full or len(full) < len(gpus):
            return None
        return Found(detail=f"{used} are in use on every GPU.", severity="warning")


class GpuBusyOtherProcesses(Rule):
    """Other processes use the GPU.

    Why: Measurements mean something on an idle device only.
    Fix: Expect lower numbers, or wait.
    Sources: https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "info"
    area = "memory"
    requires = ("out-of-memory",)
    changes = (Command("nvidia-smi"),)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """Compute processes run on the device."""
        busy = [gpu for gpu in gpus if gpu.processes]
        return Found(detail=f"Compute processes on {busy[0].name or 'a GPU'}: {busy[0].processes}.") if busy else None


class HostMemoryLow(Rule):
    """Main memory is small compared with GPU memory.

    Why: Weights are normally staged through main memory; a process that ends with 137 and no text was killed by the
        kernel or by the memory limit of its container.
    Fix: Raise the container's memory limit, or add memory or swap.
    Sources: https://docs.kernel.org/admin-guide/mm/concepts.html
    """

    severity = "warning"
    area = "memory"
    asks = ("memory_available_mib",)
    changes = (Command("sudo dmesg | grep -i oom", "linux"),)

    def check(self, memory_mib: int, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """The machine has less memory than its GPUs together, or the kernel ended a process because none was left."""
        total = sum(gpu.memory_mib or 0 for gpu in gpus if not gpu.integrated)
        if "killed" in signals:
            detail = f"A process was ended because memory ran out; the machine has {memory_mib} MiB."
            return Found(detail=detail, facts=("memory_mib",), severity="error")
        if total and memory_mib < total:
            return Found(detail=f"{memory_mib} MiB of main memory for {total} MiB on GPUs.")
        return None


class UmaCarveoutSmall(AmdRule):
    """An integrated GPU has a small share of memory of its own.

    Why: Frameworks look at the dedicated pool first, although the GPU can use much more of the main memory.
    Fix: Raise the GPU's share of memory in the firmware setup. Or use a framework that takes shared memory into
        account.
    Sources: https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/
    """

    severity = "info"
    area = "memory"
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

    Why: GPU images take 5 to 25 GiB, and a pull needs the compressed and the unpacked form at once.
    Fix: Remove what is unused, or move it to a larger disk. The engine's data and TMPDIR can be moved.
    Sources: https://docs.docker.com/engine/manage-resources/pruning/
    """

    severity = "warning"
    area = "resources"
    changes = (Command("docker system prune"), Command("pip cache purge"))
    _SMALL: Final = 5 * 1024  # MiB: the smallest GPU images

    def check(self, disk_free_mib: int, signals: Hearing) -> Outcome:
        """A write failed because the disk was full, or less is free than a GPU image takes."""
        told = "no-space" in signals
        if not told and disk_free_mib >= self._SMALL:
            return Fits(Sentence("{size} GiB of disk are free", size=disk_free_mib // 1024))
        return Found(detail=f"{disk_free_mib} MiB are free.", severity="error" if told else None)
