"""Masks that hide devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu
    from compat.reading.messages import Hearing


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
        Unset the mask, or give a list of GPUs that exist.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
        - https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
    """

    area = "env"
    asks = ("env", "gpus")
    commands = ("unset CUDA_VISIBLE_DEVICES",)

    def check(self, env: Mapping[str, str], signals: Hearing, gpus: tuple[Gpu, ...] | None = None) -> Outcome:
        """A mask such as CUDA_VISIBLE_DEVICES is empty, -1, or names a GPU that does not exist."""
        if nested := self._nested(env, gpus, signals):
            return nested
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
    def _nested(env: Mapping[str, str], gpus: tuple[Gpu, ...] | None, signals: Hearing) -> Outcome:
        """Two masks on AMD GPUs, of which the second begins beyond what the first leaves: then none is left."""
        inner, beyond = beyond_outer(env)
        amd = any(gpu.vendor == "amd" for gpu in gpus or ())
        if not inner or not amd or not signals.harmful or env[inner].split(",")[0].strip() != beyond:
            return None
        left = len(env["ROCR_VISIBLE_DEVICES"].split(","))
        return Found(
            detail=f"ROCR_VISIBLE_DEVICES leaves {left} and renumbers from 0; {inner} then asks for GPU {beyond}.",
            facts=("env.ROCR_VISIBLE_DEVICES", f"env.{inner}"),
            fix=Fix("Set one of the masks only.", (f"unset {inner}",)),
        )

    @staticmethod
    def _hides(value: str, count: int | None) -> str:
        """Why a mask hides all GPUs; empty if it need not."""
        first = value.split(",", maxsplit=1)[0].strip()
        if value in {"", "-1", "NoDevFiles", "void", "none"}:
            return "hides every GPU"
        if not re.match(r"\d|GPU-|MIG-", first, re.IGNORECASE):
            return "begins with what is no number and no id of a GPU, so that it hides every GPU"
        if count and re.fullmatch(r"\d{1,4}", first) and int(first) >= count:
            return f"begins with a GPU that does not exist (there are {count})"
        return ""


def beyond_outer(env: Mapping[str, str]) -> tuple[str, str]:
    """The mask that is applied after ROCR_VISIBLE_DEVICES and the first index in it that the latter does not leave.

    On ROCm CUDA_VISIBLE_DEVICES counts as HIP_VISIBLE_DEVICES. Two empty texts if there is no such index.

    >>> beyond_outer({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"})
    ('HIP_VISIBLE_DEVICES', '1')
    """
    outer = env.get("ROCR_VISIBLE_DEVICES", "")
    inner = next((name for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if env.get(name)), "")
    if not outer or not inner:
        return "", ""
    left = len(outer.split(","))
    parts = (part.strip() for part in env[inner].split(","))
    beyond = next((part for part in parts if part.isdecimal() and int(part[:6]) >= left), "")
    return (inner, beyond) if beyond else ("", "")


class VisibleDevicesConflict(Rule):
    """Two layers of device masks disagree.

    Why:
        ROCR filters first and renumbers, HIP then filters the renumbered list.
    Fix:
        Set one of the masks only.
    Sources:
        - https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
    """

    severity = "warning"
    area = "env"
    requires = ("devices-hidden",)
    asks = ("env",)
    commands = ("unset HIP_VISIBLE_DEVICES",)

    def check(self, env: Mapping[str, str], gpus: tuple[Gpu, ...] | None = None) -> Outcome:
        """ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES are both set, and do not nest.

        On ROCm CUDA_VISIBLE_DEVICES counts as the latter.
        """
        inner, beyond = beyond_outer(env)
        if not inner or not any(gpu.vendor == "amd" for gpu in gpus or ()):
            return None
        left = len(env["ROCR_VISIBLE_DEVICES"].split(","))
        detail = f"{inner} names GPU {beyond}, but ROCR_VISIBLE_DEVICES leaves {left}."
        return Found(detail=detail, facts=("env.ROCR_VISIBLE_DEVICES", f"env.{inner}"))


RULES = family(DevicesHidden, VisibleDevicesConflict)
