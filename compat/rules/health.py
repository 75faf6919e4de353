"""The state of the GPU itself: faults that the driver logged, memory errors, modes, heat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.rules.signals import Hearing

_RESET: Final = ("sudo nvidia-smi --gpu-reset -i <index>", "sudo reboot")


class GpuXidFatal(Rule):
    """A fatal Xid was logged for a GPU.

    What:
        The kernel log holds an Xid after which the GPU must be reset or the machine restarted.
    Why:
        Xids are the driver's own fault reports; several leave the device unusable until it is reset. 79 is a GPU that has
        fallen off the bus, often for want of power, cooling or contact.
    Fix:
        Drain the GPU and reset it, or restart; a card that does it again needs hardware triage.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
    """

    area = "health"
    vendors = ("nvidia",)
    asks = ("xids",)
    remedy = Fix("Drain the GPU and reset it, or restart the machine.", _RESET)
    FATAL: Final = frozenset({"46", "48", "61", "62", "64", "79", "95", "109", "110", "119", "120", "136", "140", "143", "155", "158", "167"})
    """Xids whose immediate action is a reset or restart (NVIDIA, "Xid Errors", catalogue)."""

    def check(self, signals: Hearing, xids: tuple[str, ...] | None = None) -> Outcome:
        heard = signals.value("xid")
        fatal = [xid for xid in (*(xids or ()), *([heard] if heard else [])) if xid in self.FATAL]
        if fatal:
            return Found(detail=f"Xid {fatal[0]} was logged.", facts=("xids",) if xids else ())
        return Fits("no fatal Xid was logged") if xids is not None or heard else None


class GpuXidApplication(Rule):
    """Application-level Xids are in the log.

    What:
        The kernel log holds Xids that a program caused, and no fatal one.
    Why:
        These codes (13, 31, 43, 45 ...) usually point to the program, not to the device.
    Fix:
        Debug the program with compute-sanitizer; the machine needs nothing.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
    """

    severity = "info"
    area = "health"
    vendors = ("nvidia",)
    requires = ("gpu-xid-fatal",)
    asks = ("xids",)
    remedy = Fix("Debug the program.", ("compute-sanitizer python <script>",))
    MILD: Final = frozenset({"8", "13", "31", "32", "43", "45", "68", "69", "94"})

    def check(self, signals: Hearing, xids: tuple[str, ...] | None = None) -> Outcome:
        heard = signals.value("xid")
        mild = [xid for xid in (*(xids or ()), *([heard] if heard else [])) if xid in self.MILD]
        return Found(detail=f"Xid {mild[0]} was logged.", facts=("xids",) if xids else ()) if mild else None


class GpuEccUncorrectable(Rule):
    """A GPU has uncorrectable memory errors.

    What:
        The count of uncorrected ECC errors since the last reset is not zero.
    Why:
        Data on this device can no longer be trusted until it is reset.
    Fix:
        Reset the GPU; run a field diagnostic if it returns.
    Sources:
        - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """

    area = "health"
    vendors = ("nvidia",)
    asks = ("gpus",)
    remedy = Fix("Reset the GPU; run a field diagnostic if it returns.", ("nvidia-smi -q -d ECC", *_RESET))

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        bad = next((gpu for gpu in gpus if gpu.ecc_uncorrected), None)
        return Found(detail=f"{bad.name or 'A GPU'} has {bad.ecc_uncorrected} uncorrected errors.", facts=("gpus",)) if bad else None


class GpuRowRemapPending(Rule):
    """Row remapping or page retirement waits for a reset.

    What:
        The GPU has set aside faulty memory, and the change takes effect at the next reset.
    Why:
        Spare rows are swapped in at reset only.
    Fix:
        Reset the GPU or restart.
    Sources:
        - https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
    """

    severity = "warning"
    area = "health"
    vendors = ("nvidia",)
    requires = ("gpu-ecc-uncorrectable",)
    asks = ("gpus",)
    remedy = Fix("Reset the GPU or restart.", _RESET)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        bad = next((gpu for gpu in gpus if gpu.remap_pending), None)
        return Found(detail=f"{bad.name or 'A GPU'} waits for a reset.", facts=("gpus",)) if bad else None


class GpuResetRequired(Rule):
    """The driver says that the GPU needs a reset.

    What:
        NVML reports the device as lost or needing a reset.
    Why:
        The driver withholds the device after a fault until it is reset.
    Fix:
        Stop all users of the GPU and reset it; restart if that is refused.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    area = "health"
    vendors = ("nvidia",)
    requires = ("gpu-xid-fatal", "gpu-ecc-uncorrectable", "driver-device-count-mismatch")
    asks = ("gpus", "xids")
    remedy = Fix("Stop all users of the GPU and reset it.", _RESET)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        bad = next((gpu for gpu in gpus if gpu.lost), None)
        return Found(detail=f"{bad.name or 'A GPU'} must be reset.", facts=("gpus",)) if bad else None


class GpuThermalThrottle(Rule):
    """The GPU is slowed down by heat or power.

    What:
        The driver gives hardware slowdown, heat or a power brake as reasons for lowered clocks.
    Why:
        Benchmarks and timings mean nothing while it lasts.
    Fix:
        Check airflow, fans and power cables; lower the power limit or the load.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "warning"
    area = "health"
    vendors = ("nvidia",)
    asks = ("gpus",)
    remedy = Fix("Check airflow, fans and power cables.", ("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",))
    _BAD: Final = ("hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal", "thermal", "power_brake")

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        for gpu in gpus:
            reasons = [reason for reason in gpu.throttle if any(word in reason.lower().replace(" ", "_") for word in self._BAD)]
            if reasons:
                return Found(detail=f"{gpu.name or 'A GPU'} is slowed down: {', '.join(reasons)}.", facts=("gpus",))
        return None


class GpuPersistenceOff(Rule):
    """Persistence mode is off on a data-center GPU.

    What:
        The mode is off on a machine with data-center GPUs.
    Why:
        The driver then unloads its state after the last client, which makes the next start slow and drops settings.
    Fix:
        Enable the persistence daemon.
    Sources:
        - https://docs.nvidia.com/deploy/driver-persistence/
    """

    severity = "info"
    area = "health"
    vendors = ("nvidia",)
    platforms = ("linux",)
    asks = ("gpus",)
    remedy = Fix("Enable the persistence daemon.", ("sudo systemctl enable --now nvidia-persistenced",))

    def check(self, gpus: tuple[Gpu, ...], host: Host) -> Outcome:
        from compat.rules.forward import data_center

        off = next((gpu for gpu in gpus if gpu.persistence is False and data_center(gpu)), None)
        return Found(detail=f"It is off on {off.name}.", facts=("gpus",)) if off and not host["container"] else None


class GpuComputeModeExclusive(Rule):
    """The compute mode restricts who may use the GPU.

    What:
        The mode is prohibited, or exclusive to one process.
    Why:
        "Busy or unavailable" (error 46) is usually this setting, or another process that holds the card.
    Fix:
        Set the default mode, unless MPS or a scheduler needs the other.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-modes
    """

    severity = "warning"
    area = "health"
    vendors = ("nvidia",)
    asks = ("gpus",)
    remedy = Fix("Set the default compute mode.", ("sudo nvidia-smi -c 0",))

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        bound = next((gpu for gpu in gpus if gpu.compute_mode in {"prohibited", "exclusive_process", "exclusive"}), None)
        if bound is None:
            return Fits("") if any(gpu.compute_mode == "default" for gpu in gpus) else None
        severe = bound.compute_mode == "prohibited" or "busy" in signals
        return Found(detail=f"{bound.name or 'A GPU'} is in mode {bound.compute_mode}.", facts=("gpus",), severity="error" if severe else None)


class MixedGpuArchitectures(Rule):
    """GPUs of different architectures are in one machine.

    What:
        The GPUs of one vendor have different targets.
    Why:
        One build must carry code for every visible device, and collectives run at the pace of the slowest.
    Fix:
        Show one kind to a program, or pick a build that covers all.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
    """

    severity = "info"
    area = "hardware"
    requires = ("arch-too-new-for-build", "arch-too-old-for-build", "rocm-gfx-unsupported", "rocm-igpu-interferes")
    asks = ("gpus",)
    remedy = Fix("Show one kind of GPU to a program.", ("export CUDA_VISIBLE_DEVICES=<index>",))

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        for vendor in ("nvidia", "amd"):
            targets = sorted({gpu.target for gpu in gpus if gpu.vendor == vendor and gpu.target})
            if len(targets) > 1:
                return Found(detail=f"The GPUs are {' and '.join(targets)}.", facts=("gpus",))
        return None


class DeviceOrderMismatch(Rule):
    """CUDA and nvidia-smi number the GPUs differently.

    What:
        GPUs of different kinds, and CUDA_DEVICE_ORDER is not set.
    Why:
        CUDA puts the fastest first by default, nvidia-smi sorts by bus address.
    Fix:
        Set CUDA_DEVICE_ORDER=PCI_BUS_ID.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
    """

    severity = "info"
    area = "hardware"
    vendors = ("nvidia",)
    requires = ("mixed-gpu-architectures",)
    asks = ("gpus", "env")
    remedy = Fix("Number by bus address everywhere.", ("export CUDA_DEVICE_ORDER=PCI_BUS_ID",))

    def check(self, gpus: tuple[Gpu, ...], env: dict[str, str]) -> Outcome:
        names = {gpu.name for gpu in gpus if gpu.vendor == "nvidia"}
        if len(names) < 2 or "CUDA_DEVICE_ORDER" in env:
            return None
        return Found(detail=f"{len(names)} kinds of GPU, CUDA_DEVICE_ORDER unset.", facts=("gpus",))


class MigEnabledNoInstance(Rule):
    """MIG is on, but no instance exists.

    What:
        MIG mode is enabled on a GPU and it has no MIG device.
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
    remedy = Fix("Create instances, or switch MIG off.", ("sudo nvidia-smi mig -cgi <profile> -C", "sudo nvidia-smi -mig 0"))

    def check(self, gpus: tuple[Gpu, ...], container: str | None = None) -> Outcome:
        empty = next((gpu for gpu in gpus if gpu.mig == "enabled" and gpu.mig_devices == 0), None)
        if empty is None:
            return Fits("") if any(gpu.mig for gpu in gpus) else None
        where = " (seen from this container)" if container else ""
        return Found(detail=f"{empty.name or 'A GPU'} is in MIG mode without an instance{where}.", facts=("gpus",))


class MigSingleVisible(Rule):
    """Only one MIG instance is usable per process.

    What:
        Several MIG devices are visible.
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
    remedy = Fix("Give each process one MIG device.", ("export CUDA_VISIBLE_DEVICES=MIG-<uuid>",))

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        count = sum(gpu.mig_devices or 0 for gpu in gpus)
        heard = signals.get("duplicate-gpu", "invalid-ordinal")
        if count < 2:
            return None
        return Found(detail=f"{count} MIG devices are visible.", facts=("gpus",), severity="warning" if heard else "info")


class MigPendingMode(Rule):
    """A change of MIG mode waits for a reset.

    What:
        The pending MIG mode is not the current one.
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
    remedy = Fix("Reset the GPU or restart.", _RESET)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        waits = next((gpu for gpu in gpus if gpu.mig_pending and gpu.mig and gpu.mig_pending != gpu.mig), None)
        return Found(detail=f"{waits.name or 'A GPU'}: MIG is {waits.mig}, and will be {waits.mig_pending}.", facts=("gpus",)) if waits else None


RULES = family(
    GpuXidFatal, GpuEccUncorrectable, GpuResetRequired, GpuRowRemapPending, GpuXidApplication, GpuThermalThrottle, GpuComputeModeExclusive,
    GpuPersistenceOff, MigEnabledNoInstance, MigPendingMode, MigSingleVisible, MixedGpuArchitectures, DeviceOrderMismatch,
)  # fmt: skip
