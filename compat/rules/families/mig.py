"""GPUs cut into instances (MIG)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.families.forward import consumer
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


from compat.rules.families.health import RESET


class MigEnabledNoInstance(Rule):
    """MIG is on, but no instance exists.

    Why:
        A GPU in MIG mode without compute instances offers nothing to CUDA.
    Fix:
        Create instances, or switch MIG off.
    Sources:
        - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """

    area = "mig"
    vendors = ("nvidia",)
    asks = ("gpus",)
    commands = ("sudo nvidia-smi mig -cgi <profile> -C", "sudo nvidia-smi -mig 0")

    def check(self, matrix: Matrix, gpus: tuple[Gpu, ...], container: str | None = None) -> Outcome:
        """MIG mode is enabled on a GPU and it has no MIG device."""
        empty = next((gpu for gpu in gpus if gpu.mig == "enabled" and gpu.mig_devices == 0), None)
        if empty is None:
            # no card of the consumer line can be cut into instances (MIG user guide, "Supported GPUs")
            never = bool(gpus) and all(consumer(gpu, matrix) for gpu in gpus if gpu.vendor == "nvidia")
            return Fits("") if never or any(gpu.mig for gpu in gpus) else None
        where = " (seen from this container)" if container else ""
        return Found(detail=f"{empty.name or 'A GPU'} is in MIG mode without an instance{where}.", facts=("gpus",))


class MigSingleVisible(Rule):
    """Only one MIG instance is usable per process.

    Why:
        CUDA enumerates a single compute instance per process, and MIG switches peer access off.
    Fix:
        Give each process one MIG device.
    Sources:
        - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """

    severity = "warning"
    area = "mig"
    vendors = ("nvidia",)
    asks = ("gpus",)
    commands = ("export CUDA_VISIBLE_DEVICES=MIG-<uuid>",)

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """Several MIG devices are visible."""
        count = sum(gpu.mig_devices or 0 for gpu in gpus)
        heard = signals.get("duplicate-gpu", "invalid-ordinal")
        if count < 2:
            return None
        return Found(
            detail=f"{count} MIG devices are visible.", facts=("gpus",), severity="warning" if heard else "info"
        )


class MigPendingMode(Rule):
    """A change of MIG mode waits for a reset.

    Why:
        The switch takes effect at a reset only.
    Fix:
        Reset the GPU or restart.
    Sources:
        - https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """

    severity = "warning"
    area = "mig"
    vendors = ("nvidia",)
    asks = ("gpus",)
    commands = RESET

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The pending MIG mode is not the current one."""
        waits = next((gpu for gpu in gpus if gpu.mig_pending and gpu.mig and gpu.mig_pending != gpu.mig), None)
        return (
            Found(
                detail=f"{waits.name or 'A GPU'}: MIG is {waits.mig}, and will be {waits.mig_pending}.", facts=("gpus",)
            )
            if waits
            else None
        )


RULES = family(MigEnabledNoInstance, MigPendingMode, MigSingleVisible)
