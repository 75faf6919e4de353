"""Modes and limits under which a GPU works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


class GpuThermalThrottle(Rule):
    """The GPU is slowed down by heat or power.

    Why:
        Benchmarks and timings mean nothing while it lasts.
    Fix:
        Check airflow, fans and power cables. Else lower the power limit or the load.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "warning"
    area = "health"
    vendors = ("nvidia",)
    asks = ("gpus",)
    commands = ("nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER",)
    _BAD: Final = ("hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal", "thermal", "power_brake")

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        """The driver gives hardware slowdown, heat or a power brake as reasons for lowered clocks."""
        for gpu in gpus:
            reasons = [
                reason for reason in gpu.throttle if any(word in reason.lower().replace(" ", "_") for word in self._BAD)
            ]
            if reasons:
                return Found(detail=f"{gpu.name or 'A GPU'} is slowed down: {', '.join(reasons)}.", facts=("gpus",))
        return None


class GpuPersistenceOff(Rule):
    """Persistence mode is off on a data-center GPU.

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
    commands = ("sudo systemctl enable --now nvidia-persistenced",)

    def check(self, matrix: Matrix, gpus: tuple[Gpu, ...], container: str | None = None) -> Outcome:
        """The mode is off on a machine with data-center GPUs."""
        from compat.rules.families.forward import data_center

        off = next((gpu for gpu in gpus if gpu.persistence is False and data_center(gpu, matrix)), None)
        return Found(detail=f"It is off on {off.name}.", facts=("gpus",)) if off and not container else None


class GpuComputeModeExclusive(Rule):
    """The compute mode restricts who may use the GPU.

    Why:
        "Busy or unavailable" (error 46) is usually this setting, or another process that holds the card.
    Fix:
        Set the default compute mode. Unless MPS or a scheduler needs the other.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#compute-modes
    """

    severity = "warning"
    area = "health"
    vendors = ("nvidia",)
    asks = ("gpus",)
    commands = ("sudo nvidia-smi -c 0",)

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing, mps: str | None = None) -> Outcome:
        """The mode is prohibited, or exclusive to one process that is not the MPS server."""
        bound = next(
            (
                gpu
                for gpu in gpus
                if gpu.compute_mode in {"prohibited", "exclusive_process", "exclusive_thread", "exclusive"}
            ),
            None,
        )
        if bound is None:
            return Fits("") if any(gpu.compute_mode == "default" for gpu in gpus) else None
        if mps == "running" and bound.compute_mode == "exclusive_process" and "busy" not in signals:
            return Fits("the exclusive compute mode leaves the GPU to MPS")
        severe = bound.compute_mode == "prohibited" or "busy" in signals
        return Found(
            detail=f"{bound.name or 'A GPU'} is in mode {bound.compute_mode}.",
            facts=("gpus",),
            severity="error" if severe else None,
        )


RULES = family(GpuThermalThrottle, GpuComputeModeExclusive, GpuPersistenceOff)
