"""Drivers that do not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
from compat.rules.rule import Found, Outcome, Rule, family


class DriverLibraryFaulty(Rule):
    """A library of the GPU driver ends every program that loads it.

    Why:
        A damaged file, a half-finished upgrade, a stand-in or a library of another machine that comes first on the
        loader's path: each framework loads it too and dies, or takes the machine for one without a GPU. What such a
        library would have told is not known.
    Fix:
        Take the library's folder out of LD_LIBRARY_PATH if it came from there, else install the driver again.
    Sources:
        - https://man7.org/linux/man-pages/man8/ld.so.8.html
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    area = "driver"
    commands = ("ldconfig -p | grep -E 'libcuda|libnvidia-ml'",)

    def check(self, driver_faults: Mapping[str, str]) -> Outcome:
        """NVML or libcuda crashed, or ended the process that asked it."""
        told = "; ".join(f"{path} {what}" for path, what in driver_faults.items())
        return Found(detail=f"{told}.") if told else None


class DriverHangs(Rule):
    """The NVIDIA driver does not answer.

    Why:
        A call into the driver that never returns hangs every program that makes it, nvidia-smi included. A GPU that
        fell off the bus or firmware that stopped does this; so, for some seconds, does a driver without persistence
        mode that has many GPUs to wake.
    Fix:
        Ask again with more time, then look at the kernel log. If it still hangs, look there for Xids and restart the
        machine: processes inside such a call cannot be killed.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
        - https://docs.nvidia.com/deploy/driver-persistence/
    """

    area = "health"
    requires = ("gpu-xid-fatal", "gpu-reset-required", "fabric-manager-down")
    asks = ("xids",)
    commands = ("envcheck doctor --timeout 60", "sudo dmesg | grep -i nvrm")
    _ASKED = ("nvml", "cuda_init")

    def check(self, hung: Mapping[str, str]) -> Outcome:
        """NVML or libcuda was asked and gave no answer within the deadline."""
        why = next((hung[name] for name in self._ASKED if name in hung), "")
        return Found(detail=f"{why[:1].upper()}{why[1:]}.", confidence="likely") if why else None


RULES = family(DriverLibraryFaulty, DriverHangs)
