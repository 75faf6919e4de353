"""A few readings of AMD's kernel driver, from files under ``/sys``; what it does not offer is left out.

Files and units are those of the kernel's documentation of amdgpu: "GPU Power/Thermal Controls and Monitoring" (hwmon)
and "AMDGPU RAS Support" (error counters). Why clocks are low is told there only in a binary table whose layout changes,
so the one reason that is known here is the temperature itself.
"""

import os
import re
from glob import glob
from typing import Any, Dict, Optional

from kernel_files import PCI, value


class Monitor:
    """One device, watched, by its PCI address."""

    def __init__(self, address: str) -> None:
        self.folder = os.path.join(PCI, address) if address else ""
        self.sensors = next(iter(sorted(glob(os.path.join(self.folder, "hwmon", "hwmon*")))), "") if address else ""

    @property
    def works(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.sensors)

    def read(self) -> Dict[str, Any]:
        """Junction temperature in Celsius, core clock in MHz, power in watts, uncorrected memory errors, and heat."""
        heat = self._number("temp2_input") or self._number("temp1_input")
        mark = self._number("temp2_crit") or self._number("temp1_crit")
        found = {
            "celsius": _part(heat, 1000),
            "sm_mhz": _part(self._number("freq1_input"), 1000000),
            "watts": _part(self._number("power1_average") or self._number("power1_input"), 1000000),
            "ecc_uncorrected": self._errors(),
            "slowed_by": ["critical temperature"] if heat and mark and heat >= mark else None,
        }
        return {key: value for key, value in found.items() if value is not None}

    def _number(self, name: str) -> Optional[int]:
        text = value(os.path.join(self.sensors, name)) if self.sensors else ""
        return int(text) if text.lstrip("-").isdigit() else None

    def _errors(self) -> Optional[int]:
        """Uncorrected errors of all blocks that count any; ``None`` where the device counts none."""
        texts = [value(path) for path in glob(os.path.join(self.folder, "ras", "*_err_count"))] if self.folder else []
        counts = [int(count) for text in texts for count in re.findall(r"^ue: *(\d+)", text, re.M)]
        return sum(counts) if counts else None


def _part(value: Optional[int], unit: int) -> Optional[int]:
    return None if value is None else value // unit
