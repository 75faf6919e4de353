"""A few readings of NVIDIA's management library, by ctypes; what it does not offer is left out.

Function names and enumerators are those of ``nvml.h`` (NVML API reference).
"""

import ctypes
from typing import Any, Callable, Dict, Optional

from libraries import open_first

_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}  # type: Dict[int, str]


class Monitor:
    """One device, watched; every reading is ``None`` where there is no NVML."""

    def __init__(self, ordinal: int) -> None:
        self.lib = None  # type: Any
        self.handle = ctypes.c_void_p()
        try:
            lib = open_first(["libnvidia-ml.so.1"])
        except OSError:
            return
        if lib.nvmlInit_v2() == 0 and lib.nvmlDeviceGetHandleByIndex_v2(ordinal, ctypes.byref(self.handle)) == 0:
            self.lib = lib

    def read(self) -> Dict[str, Any]:
        """Temperature in Celsius, SM clock in MHz, power in watts, uncorrected ECC errors, reasons for low clocks."""
        power = self._number("nvmlDeviceGetPowerUsage")
        # the same under the name that replaced the older one
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        reasons = next(filter(None, (self._number(name, wide=True) for name in names)), None)
        found = {
            "celsius": self._number("nvmlDeviceGetTemperature", 0),
            "sm_mhz": self._number("nvmlDeviceGetClockInfo", 1),
            "watts": None if power is None else power // 1000,
            "ecc_uncorrected": self._number("nvmlDeviceGetTotalEccErrors", 1, 0, wide=True),
            "slowed_by": [text for bit, text in sorted(_REASONS.items()) if (reasons or 0) & bit] or None,
        }
        return {key: value for key, value in found.items() if value is not None}

    def _number(self, name: str, *args: int, wide: bool = False) -> Optional[int]:
        function = getattr(self.lib, name, None) if self.lib else None  # type: Optional[Callable[..., int]]
        if function is None:
            return None
        out = ctypes.c_ulonglong(0) if wide else ctypes.c_uint(0)
        return out.value if function(self.handle, *args, ctypes.byref(out)) == 0 else None
