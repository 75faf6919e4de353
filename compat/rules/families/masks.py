"""Masks that hide devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.rules.signals import Hearing


_MASKS: Final = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "GPU_DEVICE_ORDINAL",
)


_BLIND: Final = (
    "no-cuda-gpus",
    "no-device-100",
    "invalid-ordinal",
    "hip-no-device",
    "torch-no-gpu-generic",
    "jax-no-gpu",
    "found-no-driver",
)


class DevicesHidden(Rule):
    """Environment variables hide every GPU.

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
        """A mask such as CUDA_VISIBLE_DEVICES is empty, -1, or names a GPU that does not exist."""
        for name in _MASKS:
            if name not in env:
                continue
            value = env[name].strip()
            fix = Fix(f"Unset {name}, or give a list of GPUs that exist.", (f"unset {name}",))
            why = self._hides(value, len(gpus) if gpus else None)
            if why and (gpus or signals.harmful):
                return Found(detail=f"{name} is {value!r}, which {why}.", facts=(f"env.{name}",), fix=fix)
            if value and (signals.get("invalid-ordinal") or (not value.startswith("0") and signals.get(*_BLIND))):
                return Found(
                    detail=f"{name} is {value!r}, and no GPU is seen.",
                    facts=(f"env.{name}",),
                    fix=fix,
                    confidence="likely",
                )
        return Fits("")

    @staticmethod
    def _hides(value: str, count: int | None) -> str:
        """Why a mask hides all GPUs; empty if it need not."""
        first = value.split(",", maxsplit=1)[0].strip()
        if value in {"", "-1", "NoDevFiles", "void", "none"}:
            return "hides every GPU"
        if count and re.fullmatch(r"\d{1,4}", first) and int(first) >= count:
            return f"begins with a GPU that does not exist (there are {count})"
        return ""


class VisibleDevicesConflict(Rule):
    """Two layers of device masks disagree.

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
        """ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES are both set, and do not nest.

        On ROCm CUDA_VISIBLE_DEVICES counts as the latter.
        """
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


RULES = family(DevicesHidden, VisibleDevicesConflict)
