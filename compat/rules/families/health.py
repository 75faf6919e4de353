"""Faults of the GPU that its driver logged or counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.changes import REBOOT, Command, Example
from compat.findings import Fix
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing

RESET: Final = (Example("sudo nvidia-smi --gpu-reset -i <index>"), REBOOT)


_OFF_THE_BUS: Final = Fix(
    "Restart the machine: a GPU that fell off the bus cannot be reset. Then check power, cooling and contact.",
    changes=(REBOOT,),
)


def _from_outside(host: Host, _: Matrix) -> Fix | None:
    """How a GPU is reset that is passed into a virtual machine; ``None`` for one of the machine's own."""
    if not host.virtual_machine and all(gpu.virtual != "passthrough" for gpu in host.gpus or ()):
        return None
    return Fix(
        "Stop the virtual machine and start it again from its host, which resets the GPU; a restart inside does not."
    )


def _on_the_bus(host: Host, matrix: Matrix) -> Fix:
    """The same for a GPU that fell off the bus."""
    return _from_outside(host, matrix) or _OFF_THE_BUS


class GpuXidFatal(NvidiaRule):
    """A fatal Xid was logged for a GPU.

    Why: Xids are the driver's own fault reports; several leave the device unusable until it is reset. 79 is a GPU that
        has fallen off the bus, often because power, cooling or contact fail.
    Fix: Drain the GPU and reset it, or restart the machine. A card that does it again needs hardware triage.
    Sources: https://docs.nvidia.com/deploy/xid-errors/
    """

    area = "health"
    asks = ("xids",)
    changes = RESET
    # Xids whose immediate action is a reset or restart (NVIDIA, "Xid Errors", catalogue).
    FATAL: Final = frozenset(
        {"46", "48", "61", "62", "64", "79", "95", "109", "110", "119", "120", "136", "140", "143", "155", "158", "167"}
    )

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The kernel log holds an Xid after which the GPU must be reset or the machine restarted."""
        heard = signals.value("xid")
        fatal = [xid for xid in (*(host.xids or ()), *([heard] if heard else [])) if xid in self.FATAL]
        if fatal:
            fix = _on_the_bus if "79" in fatal else _from_outside
            return Found(detail=f"Xid {fatal[0]} was logged.", facts=("xids",) if host.xids else (), fix=fix)
        return Fits("no fatal Xid was logged") if host.xids is not None or heard else None


class GpuEccUncorrectable(NvidiaRule):
    """A GPU has uncorrectable memory errors.

    Why: Data on this device can no longer be trusted until it is reset.
    Fix: Reset the GPU; run a field diagnostic if it returns.
    Sources: https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """

    area = "health"
    changes = (Command("nvidia-smi -q -d ECC"), *RESET)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The count of uncorrected ECC errors since the last reset is not zero."""
        bad = next((gpu for gpu in gpus if gpu.ecc_uncorrected), None)
        if bad:
            return Found(
                detail=f"{bad.name or 'A GPU'} has {bad.ecc_uncorrected} uncorrected errors.", fix=_from_outside
            )
        return None


class GpuResetRequired(NvidiaRule):
    """The driver says that the GPU needs a reset.

    Why: The driver withholds the device after a fault until it is reset.
    Fix: Stop all users of the GPU and reset it. Restart if that is refused.
    Sources: https://docs.nvidia.com/deploy/nvml-api/
    """

    area = "health"
    requires = ("gpu-xid-fatal", "gpu-ecc-uncorrectable", "driver-device-count-mismatch")
    asks = ("xids",)
    changes = RESET

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """NVML reports the device as lost or needing a reset."""
        bad = next((gpu for gpu in gpus if gpu.lost), None)
        return Found(detail=f"{bad.name or 'A GPU'} must be reset.", fix=_from_outside) if bad else None


class GpuRowRemapPending(NvidiaRule):
    """Row remapping or page retirement waits for a reset.

    Why: Spare rows are swapped in at reset only.
    Fix: Reset the GPU or restart.
    Sources: https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """

    severity = "warning"
    area = "health"
    requires = ("gpu-ecc-uncorrectable",)
    changes = RESET

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPU has set aside faulty memory, and the change takes effect at the next reset."""
        bad = next((gpu for gpu in gpus if gpu.remap_pending), None)
        return Found(detail=f"{bad.name or 'A GPU'} waits for a reset.", fix=_from_outside) if bad else None


class GpuXidApplication(NvidiaRule):
    """Application-level Xids are in the log.

    Why: These codes (13, 31, 43, 45 ...) usually point to the program, not to the device.
    Fix: Debug the program. The tool compute-sanitizer shows where it goes wrong; the machine needs nothing.
    Sources: https://docs.nvidia.com/deploy/xid-errors/
    """

    severity = "info"
    area = "health"
    requires = ("gpu-xid-fatal",)
    asks = ("xids",)
    changes = (Example("compute-sanitizer python <script>"),)
    MILD: Final = frozenset({"8", "13", "31", "32", "43", "45", "68", "69", "94"})

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The kernel log holds Xids that a program caused, and no fatal one."""
        heard = signals.value("xid")
        mild = [xid for xid in (*(host.xids or ()), *([heard] if heard else [])) if xid in self.MILD]
        return Found(detail=f"Xid {mild[0]} was logged.", facts=("xids",) if host.xids else ()) if mild else None
