"""Limits of a container: shared and locked memory, NUMA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.rule import Fits, Found, Outcome, Rule, family, told

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.reading.messages import Hearing


class ShmTooSmall(Rule):
    """Shared memory (/dev/shm) is too small for data loaders or collectives.

    Why:
        Worker processes and NCCL keep their buffers there, and die with a bus error when it is full.
    Fix:
        Start the container with more shared memory. That is --shm-size=8g or --ipc=host; in Compose shm_size; in
        Kubernetes an emptyDir in memory.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
        - https://pytorch.org/docs/stable/data.html
    """

    severity = "warning"
    area = "container"
    asks = ("shm_mib", "container")
    commands = ("docker run --shm-size=8g IMAGE", "docker run --ipc=host IMAGE")
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
        return Fits(f"shared memory has {host.shm_mib} MiB") if host.shm_mib and host.container else None


class ContainerMemlockLimit(Rule):
    """The limit of locked memory is low for RDMA.

    Why:
        RDMA pins its buffers; NCCL's documentation asks for the limit to be lifted.
    Fix:
        Start with --ulimit memlock=-1.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """

    severity = "warning"
    area = "container"
    commands = ("docker run --ulimit memlock=-1 IMAGE",)

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

    Why:
        Newer NCCL places host buffers by NUMA node, which the default profile of Docker denies.
    Fix:
        Add the capability SYS_NICE. Or set NCCL_CUMEM_HOST_ENABLE=0.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """

    severity = "info"
    area = "container"
    commands = ("docker run --cap-add SYS_NICE IMAGE",)

    def check(self, container: str, signals: Hearing) -> Outcome:
        """NCCL reports that host buffers through cuMem are not possible."""
        if "numa-blocked" in signals:
            return Found(detail=f"NCCL met a blocked NUMA call in {container}.")
        return None


RULES = family(ShmTooSmall, ContainerMemlockLimit, ContainerNumaBlocked)
