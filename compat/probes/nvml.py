"""A few readings of NVIDIA's management library, by ctypes; what it does not offer is left out.

Function names and enumerators are those of ``nvml.h`` (NVML API reference).
"""

import ctypes
import threading
from statistics import median_high
from typing import Any, Callable, Dict, List, Optional

from libraries import open_first

_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
}  # type: Dict[int, str]


class Monitor:
    """One device, watched; every reading is ``None`` where there is no NVML.

    NVML counts all devices of the machine by their place on the bus, CUDA only those that it was shown, fastest first or
    as a variable says: the two are joined by the PCI bus id. An ``ordinal`` without a ``bus`` is NVML's own.
    """

    def __init__(self, ordinal: int, bus: str = "") -> None:
        self.lib = None  # type: Any
        self.handle = ctypes.c_void_p()
        try:
            lib = open_first(["libnvidia-ml.so.1"])
        except OSError:
            return
        way = "nvmlDeviceGetHandleByPciBusId_v2" if bus else "nvmlDeviceGetHandleByIndex_v2"
        if lib.nvmlInit_v2() == 0 and getattr(lib, way)(bus.encode() or ordinal, ctypes.byref(self.handle)) == 0:
            self.lib = lib

    @property
    def works(self) -> bool:
        """Whether there is anything to read."""
        return self.lib is not None

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


# Seconds between two readings under load: clocks and heat change within tenths of a second, and a reading is cheap.
EVERY = 0.25


class Sampler:
    """Reads a device's sensors while a load runs: before it and after it they are those of an idle device.

    Use it as a context; ``figures`` then has the highest temperature and power, the median clock, all reasons for low
    clocks, and the number of samples.
    """

    def __init__(self, monitor: Any) -> None:
        self.monitor, self.samples = monitor, []  # type: Any, List[Dict[str, Any]]
        self._done = threading.Event()
        self._thread = None  # type: Optional[threading.Thread]

    def __enter__(self) -> "Sampler":
        if self.monitor.works:
            self._thread = threading.Thread(target=self._sample)
            self._thread.daemon = True
            self._thread.start()
        return self

    def __exit__(self, *_what: Any) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()

    def _sample(self) -> None:
        while True:
            self.samples.append(self.monitor.read())
            if self._done.wait(EVERY):
                return

    def figures(self) -> Dict[str, Any]:
        """What the samples come to; empty where there are no sensors."""
        found = {}  # type: Dict[str, Any]
        for key, pick in (("celsius", max), ("watts", max), ("sm_mhz", median_high), ("ecc_uncorrected", max)):
            values = [item[key] for item in self.samples if key in item]
            if values:
                found[key] = pick(values)
        reasons = {reason for item in self.samples for reason in item.get("slowed_by", ())}
        if reasons:
            found["slowed_by"] = sorted(reasons)
        return dict(found, samples=len(self.samples)) if found else {}
