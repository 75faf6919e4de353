"""Modes and limits of a GPU, its instances (MIG), its neighbours; a card against the product that its name says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.changes import Command, Example
from compat.rules.families.health import RESET
from compat.rules.lookups import cite, consumer, data_center, products_of
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Product
    from compat.reading.messages import Hearing

_PROFILE: Final = re.compile(r"(?:GRID|NVIDIA) [\w-]{2,12}-\d{1,2}[ABCQ]$")  # a virtual GPU, by its profile


class GpuThermalThrottle(NvidiaRule):
    """The GPU is slowed down by heat or power.

    Why: Benchmarks and timings mean nothing while it lasts.
    Fix: Check airflow, fans and power cables. Else lower the power limit or the load.
    Sources: https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "warning"
    area = "health"
    changes = (Command("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER"),)
    _BAD: Final = ("hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal", "thermal", "power_brake")

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The driver gives hardware slowdown, heat or a power brake as reasons for lowered clocks."""
        for gpu in gpus:
            plain = {reason: reason.lower().replace(" ", "_") for reason in gpu.throttle}
            reasons = [reason for reason, text in plain.items() if any(word in text for word in self._BAD)]
            if reasons:
                return Found(detail=f"{gpu.name or 'A GPU'} is slowed down: {', '.join(reasons)}.")
        return None


class GpuComputeModeExclusive(NvidiaRule):
    """The compute mode restricts who may use the GPU.

    Why: "Busy or unavailable" (error 46) is usually this setting, or another process that holds the card.
    Fix: Set the default compute mode. Unless MPS or a scheduler needs the other.
    Sources: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-modes
    """

    severity = "warning"
    area = "health"
    changes = (Command("sudo nvidia-smi -c 0", "linux"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """The mode is prohibited, or exclusive to one process that is not the MPS server."""
        modes = {"prohibited", "exclusive_process", "exclusive_thread", "exclusive"}
        bound = next((gpu for gpu in gpus if gpu.compute_mode in modes), None)
        if bound is None:
            return Fits("") if any(gpu.compute_mode == "default" for gpu in gpus) else None
        if host.mps == "running" and bound.compute_mode == "exclusive_process" and "busy" not in signals:
            return Fits("the exclusive compute mode leaves the GPU to MPS")
        severe = bound.compute_mode == "prohibited" or "busy" in signals
        detail = f"{bound.name or 'A GPU'} is in mode {bound.compute_mode}."
        return Found(detail=detail, severity="error" if severe else None)


class GpuPersistenceOff(NvidiaRule):
    """Persistence mode is off on a data-center GPU.

    Why: The driver then unloads its state after the last client, which makes the next start slow and drops settings.
    Fix: Enable the persistence daemon.
    Sources: https://docs.nvidia.com/deploy/driver-persistence/
    """

    severity = "info"
    area = "health"
    platforms = ("linux",)
    changes = (Command("sudo systemctl enable --now nvidia-persistenced", "linux"),)

    def check(self, host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """The mode is off on a machine with data-center GPUs."""
        off = next((gpu for gpu in gpus if gpu.persistence is False and data_center(gpu, matrix)), None)
        return Found(detail=f"It is off on {off.name}.") if off and not host.container else None


class MigEnabledNoInstance(NvidiaRule):
    """MIG is on, but no instance exists.

    Why: A GPU in MIG mode without compute instances offers nothing to CUDA.
    Fix: Create instances, or switch MIG off.
    Sources: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """

    area = "mig"
    changes = (Example("sudo nvidia-smi mig -cgi <profile> -C"), Command("sudo nvidia-smi -mig 0", "linux"))

    def check(self, host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        """MIG mode is enabled on a GPU and it has no MIG device."""
        empty = next((gpu for gpu in gpus if gpu.mig == "enabled" and gpu.mig_devices == 0), None)
        if empty is None:
            # no card of the consumer line can be cut into instances (MIG user guide, "Supported GPUs")
            never = bool(gpus) and all(consumer(gpu, matrix) for gpu in gpus if gpu.vendor == "nvidia")
            return Fits("") if never or any(gpu.mig for gpu in gpus) else None
        where = " (seen from this container)" if host.container else ""
        return Found(detail=f"{empty.name or 'A GPU'} is in MIG mode without an instance{where}.")


class MigPendingMode(NvidiaRule):
    """A change of MIG mode waits for a reset.

    Why: The switch takes effect at a reset only.
    Fix: Reset the GPU or restart.
    Sources: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """

    severity = "warning"
    area = "mig"
    changes = RESET

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The pending MIG mode is not the current one."""
        waits = next((gpu for gpu in gpus if gpu.mig_pending and gpu.mig and gpu.mig_pending != gpu.mig), None)
        if waits:
            return Found(detail=f"{waits.name or 'A GPU'}: MIG is {waits.mig}, and will be {waits.mig_pending}.")
        return None


class MigSingleVisible(NvidiaRule):
    """Only one MIG instance is usable per process.

    Why: CUDA enumerates a single compute instance per process, and MIG switches peer access off.
    Fix: Give each process one MIG device.
    Sources: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
    """

    severity = "warning"
    area = "mig"
    changes = (Example("export CUDA_VISIBLE_DEVICES=MIG-<uuid>"),)

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """Several MIG devices are visible."""
        count = sum(gpu.mig_devices or 0 for gpu in gpus)
        heard = signals.get("duplicate-gpu", "invalid-ordinal")
        if count < 2:
            return None
        return Found(detail=f"{count} MIG devices are visible.", severity="warning" if heard else "info")


class MixedGpuArchitectures(Rule):
    """GPUs of different architectures are in one machine.

    Why: One build must carry code for every visible device, and collectives run at the pace of the slowest.
    Fix: Show one kind of GPU to a program. Or pick a build that covers all.
    Sources: https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
    """

    severity = "info"
    area = "hardware"
    requires = ("arch-too-new-for-build", "arch-too-old-for-build", "rocm-gfx-unsupported", "rocm-igpu-interferes")
    changes = (Example("export CUDA_VISIBLE_DEVICES=<index>"),)

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPUs of one vendor have different targets."""
        for vendor in ("nvidia", "amd"):
            targets = sorted({gpu.target for gpu in gpus if gpu.vendor == vendor and gpu.target})
            if len(targets) > 1:
                mask = "CUDA_VISIBLE_DEVICES" if vendor == "nvidia" else "HIP_VISIBLE_DEVICES"
                fix = self.remedy(Example(f"export {mask}=<index>"))
                return Found(detail=f"The GPUs are {' and '.join(targets)}.", fix=fix)
        return None


class VgpuUnlicensed(NvidiaRule):
    """A virtual GPU without a licence.

    Why: Unlicensed virtual GPUs are slowed down and may refuse CUDA.
    Fix: Configure the licence and restart its daemon.
    Sources: https://docs.nvidia.com/vgpu/
    """

    area = "vgpu"
    asks = ("gpus",)
    changes = (Command("sudo systemctl restart nvidia-gridd", "linux"),)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """CUDA reports that the device has no licence, or NVML says so of a guest's virtual GPU.

        Without a licence CUDA still works at first and is slowed down later, so that the state alone is a warning.
        """
        if heard := signals.get("not-licensed"):
            return Found(detail=heard.signal.meaning)
        if heard := signals.get("license-status"):
            return Found(detail=heard.signal.meaning, severity="warning")
        gpus = host.gpus or ()
        virtual = next((gpu for gpu in gpus if _PROFILE.search(gpu.name) and gpu.licensed is None), None)
        if virtual and "busy" in signals and virtual.compute_mode == "default":
            detail = f"{virtual.name} is virtual and refuses CUDA in its default mode; its licence is not told."
            return Found(detail=detail, facts=("gpus",), confidence="likely")
        bare = next((gpu for gpu in gpus if gpu.licensed is False), None)
        if bare is None:
            return Fits("") if any(gpu.licensed for gpu in host.gpus or ()) else None
        return Found(detail=f"{bare.name or 'A virtual GPU'} has no licence.", facts=("gpus",), severity="warning")


class VgpuComputeDisabled(NvidiaRule):
    """The virtual GPU's profile has no CUDA.

    Why: Only the profile classes Q and C offer CUDA; A and B are for applications and desktops.
    Fix: Ask for a Q or C profile. The hypervisor's operator gives it.
    Sources: https://docs.nvidia.com/vgpu/
    """

    area = "vgpu"

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPU's name ends in a profile of class A or B, as in ``GRID T4-2B``."""
        plain = next((gpu for gpu in gpus if _PROFILE.search(gpu.name) and gpu.name[-1] in "AB"), None)
        return Found(detail=f"{plain.name} is a profile without CUDA.") if plain else None


class MpsBroken(NvidiaRule):
    """The MPS client cannot reach its server.

    Why: With MPS active every CUDA program becomes a client of one daemon.
    Fix: Restart the MPS daemon, or unset its variables. The daemon runs as the same user; in containers share its pipe
        and use --ipc=host.
    Sources: https://docs.nvidia.com/deploy/mps/
    """

    area = "mps"
    asks = ("env", "mps")
    changes = (Command("echo quit | nvidia-cuda-mps-control"), Command("nvidia-cuda-mps-control -d"))

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """CUDA reports an error of MPS.

        Pipes that a dead daemon left behind are no fault: programs then go to the GPU themselves.
        """
        heard = signals.get("mps-errors")
        if heard is None:
            return Fits("the MPS daemon runs") if host.mps == "running" else None
        state = f" The daemon is {host.mps}." if host.mps else ""
        return Found(detail=f"{heard.signal.meaning}{state}", facts=("mps",) if host.mps else ())


class GpuShared(NvidiaRule):
    """Several programs share a GPU.

    Why: What each has of the memory and of the processors, and whom a fault ends, depends on the way it is shared.
    Fix: Give each program a limit on memory of its own. Or use slices (MIG) or whole GPUs where faults must not spread.
    Sources:
        - https://docs.nvidia.com/deploy/mps/
        - https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html
    """

    severity = "info"
    area = "mps"
    asks = ("gpu_sharing", "mps")

    def check(self, host: Host, matrix: Matrix) -> Outcome:
        """The labels of a node name replicas of each GPU, or the daemon of MPS runs."""
        way, _, replicas = (host.gpu_sharing or ("mps" if host.mps == "running" else "")).partition(" ")
        row = next((one for one in matrix.table("sharing") if one.way == way), None)
        if row is None:
            return None
        told = f"By {way}, {replicas} replicas of each GPU." if replicas else f"By {way}."
        return Found(
            detail=f"{told} Memory of a program: {row.memory}. A fault of one ends {row.faults}.",
            facts=("gpu_sharing",) if host.gpu_sharing else ("mps",),
            sources=cite(matrix, row),
        )


class GpuUnlikeItsKind(NvidiaRule):
    """A GPU has less, or other, than its product.

    Why: A share of a card, an altered card or an older slot gives less than the data sheet says; several cards together
        are as slow as the slowest.
    Fix: Expect what the card shows, not its data sheet. A link of fewer generations comes from the slot or a riser.
    Sources: https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "info"
    area = "health"
    requires = ("pcie-link-degraded", "gpu-reset-required", "nvlink-down")
    # Memory that a driver shows of what is sold: error correction takes a sixteenth of GDDR, the driver some hundred
    # MiB (a T4 shows 15109 of 16384 MiB).
    _SHOWN: Final = 0.85
    _CLOCKS: Final = {"clock_max_mhz": "processor clock", "memory_clock_max_mhz": "memory clock"}
    _LINES: Final = frozenset(
        {"datacenter", "workstation"}
    )  # makers sell one name of other lines with several memories

    def check(self, host: Host, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """Memory, link or NVLinks differ from those of every product of that name, or clocks from those of its fellows.

        A link's generation falls when a card is idle: only the highest that card and slot allow is compared.
        """
        highest = self._highest(gpus)
        for gpu in gpus:
            if gpu.integrated or gpu.lost or gpu.mig == "enabled" or gpu.virtual not in {"", "none", "passthrough"}:
                continue
            rows = products_of(gpu, matrix)
            odd = [*self._memory(gpu, rows), *self._clocks(gpu, highest)]
            if not host.virtual_machine and gpu.virtual != "passthrough" and host.platform in {None, "linux"}:
                odd += [*self._link(gpu, rows), *self._lanes(gpu, rows)]
            if odd:
                return Found(
                    detail=f"{gpu.name} {'; '.join(odd)}.", sources=cite(matrix, *rows[:1]), confidence="likely"
                )
        return None

    def _memory(self, gpu: Gpu, rows: tuple[Product, ...]) -> Iterator[str]:
        """That a card shows much less than the smallest, or more than the largest, of its products has."""
        sizes = [row.memory_gib for row in rows if row.segment in self._LINES and "memory_gib" not in row.inferred]
        if not gpu.memory_mib or not sizes or len(sizes) < len(rows) or not all(sizes):
            return
        shown = gpu.memory_mib / 1024
        if shown < self._SHOWN * min(sizes) or shown * self._SHOWN > max(sizes):
            yield f"shows {gpu.memory_mib} MiB of memory, and the product has {max(sizes):g} GiB"

    @staticmethod
    def _link(gpu: Gpu, rows: tuple[Product, ...]) -> Iterator[str]:
        """That the highest generation or width of its link is lower than the product's own."""
        own = {row.pcie for row in rows if row.segment != "laptop" and "pcie" not in row.inferred}
        if not gpu.pcie_max or len(own) != 1 or not (best := own.pop()) or "laptop" in gpu.name.lower():
            return
        here, its = (re.findall(r"\d+", text) for text in (gpu.pcie_max, best))
        if any(int(mine) < int(other) for mine, other in zip(here, its, strict=False)):
            yield f"has a link of {gpu.pcie_max} at most here, and the product's is {best}"

    @staticmethod
    def _lanes(gpu: Gpu, rows: tuple[Product, ...]) -> Iterator[str]:
        """That it has fewer NVLinks, up and down, than the product."""
        lanes = {row.links for row in rows}
        if gpu.nvlinks is None or len(lanes) != 1 or gpu.nvlinks + (gpu.nvlinks_down or 0) >= max(lanes):
            return
        yield f"has {gpu.nvlinks} NVLinks, and the product has {max(lanes)}"

    def _highest(self, gpus: tuple[Gpu, ...]) -> dict[tuple[str, str], int]:
        """Name of a card and of a clock -> the highest that any card of that name may take, in MHz."""
        found: dict[tuple[str, str], int] = {}
        for gpu in gpus:
            for clock in self._CLOCKS:
                found[gpu.name, clock] = max(found.get((gpu.name, clock), 0), getattr(gpu, clock) or 0)
        return found

    def _clocks(self, gpu: Gpu, highest: dict[tuple[str, str], int]) -> Iterator[str]:
        """That the highest clock it may take is lower than that of a card of its name beside it."""
        for clock, what in self._CLOCKS.items():
            own, best = getattr(gpu, clock), highest[gpu.name, clock]
            if own and own < best:
                yield f"has a highest {what} of {own} MHz, and another one of that name {best} MHz"


class GpuPowerCapped(NvidiaRule):
    """A GPU is held to less power than it comes with.

    Why: Somebody lowered the limit: under load the clocks stay below what the card can do, which may be meant so.
    Fix: Leave it if it is meant so. Else set the limit to the default that nvidia-smi names.
    Sources: https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "info"
    area = "health"
    _SLACK: Final = 0.98  # limits are rounded to whole watts
    _RATED: Final = frozenset({"datacenter", "workstation"})

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """The enforced limit is below the default one; a laptop's card shares its power with the processor.

        Where no default is told, or it is itself a lower one, the least of the products of that name counts; of cards
        for games, which have many makers, it does not.
        """
        for gpu in gpus:
            rows = products_of(gpu, matrix)
            lines = {row.segment for row in rows}
            if not (limit := gpu.power_limit_w) or not rows or not lines <= {*self._RATED, "consumer"}:
                continue
            rated = min((row.watts for row in rows), default=0) if lines <= self._RATED else 0
            if limit < self._SLACK * (gpu.power_default_w or 0):
                return Found(detail=f"{gpu.name} is held to {limit} W of {gpu.power_default_w} W.")
            if limit < self._SLACK * rated and not any(
                "watts" in row.inferred or row.how == "inferred" for row in rows
            ):
                detail = f"{gpu.name} is held to {limit} W, and the product is rated for {rated:g} W."
                return Found(detail=detail, sources=cite(matrix, *rows[:1]), confidence="likely")
        return None
