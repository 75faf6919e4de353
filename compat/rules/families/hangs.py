"""Drivers that do not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
from compat.findings import Fix
from compat.rules.rule import Found, Outcome, Rule, family


class DriverHangs(Rule):
    """The NVIDIA driver does not answer.

    Why:
        A call into the driver that never returns hangs every program that makes it, nvidia-smi included. A GPU that
        fell off the bus or firmware that stopped does this; so, for some seconds, does a driver without persistence
        mode that has many GPUs to wake.
    Fix:
        Ask again with more time. If it still hangs, look at the kernel log for Xids and restart the machine: processes
        inside such a call cannot be killed.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
        - https://docs.nvidia.com/deploy/driver-persistence/
    """

    severity = "warning"
    area = "health"
    requires = ("gpu-xid-fatal", "gpu-reset-required", "fabric-manager-down")
    asks = ("hung", "xids")
    remedy = Fix(
        "Ask again with more time, then look at the kernel log.",
        ("envcheck doctor --timeout 60", "sudo dmesg | grep -i nvrm"),
    )
    _ASKED = ("nvml", "cuda_init")

    def check(self, hung: Mapping[str, str]) -> Outcome:
        """NVML or libcuda was asked and gave no answer within the deadline."""
        why = next((hung[name] for name in self._ASKED if name in hung), "")
        return Found(detail=f"{why[:1].upper()}{why[1:]}.", facts=("hung",), confidence="likely") if why else None


RULES = family(DriverHangs)
