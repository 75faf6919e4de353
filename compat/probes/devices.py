"""What the probes do on a device, whichever vendor's interface reaches it: memory, kernels, times.

CUDA's driver interface and HIP's have the same functions under other names; each vendor's module has the names.
"""

import ctypes
import random
import struct
import time
from typing import Any, Callable, Dict, List, Tuple

from numerics import mixed, uniform
from reporting import Failed, Report, Skipped

# Bytes that are copied to the device and back.
BLOCK = 64 * 1024 * 1024

# Rounds of which the middle one counts.
REPEATS = 10

# Seconds of work before a device that idled may count as settled, and after which it is measured as it is.
WARM, MOST = 0.3, 5.0


def settled(once: Callable[[], float]) -> float:
    """Median seconds of a round, once it falls no more.

    The first rounds pay for a clock that rises, for pages that are touched and for kernels that are loaded. The median
    drops the round that another program disturbed, where a mean would keep it.
    """
    begun, last = time.monotonic(), float("inf")
    while True:
        before, last = last, sorted(once() for _ in range(REPEATS))[REPEATS // 2]
        spent = time.monotonic() - begun
        if spent >= MOST or (spent >= WARM and last >= 0.98 * before):
            return last


class Interface:
    """A vendor's library; its return codes become :class:`Failed`.

    Each vendor's adds what has no common form:

    - ``text(result)``: what the library says of a return code.
    - ``loaded()``: figures of its release and files, told before any device is touched.
    - ``target(ordinal)``: what kernels for a device are compiled for; empty where that is not told.
    - ``monitor(ordinal)``: the sensors of a device.

    Attributes:
        FINDINGS: return code -> the finding that it points to.
        NAMES: what is done -> the function that does it.
    """

    FINDINGS = {}  # type: Dict[int, str]
    NAMES = {}  # type: Dict[str, str]
    lib = None  # type: Any
    text = loaded = target = monitor = None  # type: Any

    def call(self, name: str, *args: Any) -> None:
        """Call a function; what it returns must be success.

        Raises:
            Failed: with the library's own words and the finding that the code points to.
            Skipped: if this release of it has no such function.
        """
        function = getattr(self.lib, name, None)
        if function is None:
            raise Skipped("this driver has no %s" % name)
        result = function(*args)
        if result:
            code = self.FINDINGS.get(result, "probe-failed")
            raise Failed(code, "%s returned %d (%s)" % (name, result, self.text(result)), result=result)

    def number(self, name: str, *args: Any) -> int:
        """The int that a function writes through its first argument."""
        out = ctypes.c_int(0)
        self.call(name, ctypes.byref(out), *args)
        return out.value

    def count(self) -> int:
        """How many devices there are."""
        return self.number(self.NAMES["count"])

    def handle(self, ordinal: int) -> int:
        """What the library's functions take for a device."""
        return ordinal

    def describe(self, ordinal: int) -> Dict[str, Any]:
        """Name, target and size of a device, as its driver states them."""
        handle, name, total = self.handle(ordinal), ctypes.create_string_buffer(256), ctypes.c_size_t()
        self.call(self.NAMES["name"], name, len(name), handle)
        self.call(self.NAMES["total"], ctypes.byref(total), handle)
        figures = {"name": name.value.decode("utf-8", "replace"), "target": self.target(ordinal)}  # type: Dict[str, Any]
        return dict(figures, memory_mib=total.value // 2**20)

    def bus(self, ordinal: int) -> str:
        """The PCI address of a device, ``0000:41:00.0``; empty where this release does not tell it."""
        text = ctypes.create_string_buffer(64)
        try:
            self.call(self.NAMES["bus"], text, len(text), self.handle(ordinal))
        except (Failed, Skipped):
            return ""
        return text.value.decode("ascii", "replace").lower()


def opened(vendor: Any) -> Any:
    """The library of a vendor's module, initialised."""
    driver = vendor.Driver()
    driver.call(driver.NAMES["init"], 0)
    return driver


class Device:
    """One GPU, current in the thread that made this object; addresses on it are 64-bit numbers.

    Attributes:
        KERNELS: what the kernels are compiled from, or by.
    """

    KERNELS = ""

    def __init__(self, api: Interface, ordinal: int) -> None:
        self.api, self.ordinal = api, ordinal

    def call(self, what: str, *args: Any) -> None:
        """Do it by the vendor's function for it."""
        self.api.call(self.api.NAMES[what], *args)

    def close(self) -> None:
        """Give back what the device holds of this program."""

    def load(self) -> ctypes.c_void_p:
        """The module with the kernels ``mix``, ``fused`` and ``differ``."""
        raise NotImplementedError

    def described(self) -> Dict[str, Any]:
        """Which device figures belong to: ``device``, ``target``, and ``peak_gb_per_s`` where its driver tells it."""
        found = self.api.describe(self.ordinal)
        return {"device": found["name"], "target": found["target"]}

    def room(self) -> Tuple[int, int]:
        """Bytes of memory: free, and in all."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("room", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def allocate(self, size: int) -> ctypes.c_uint64:
        """Device memory of ``size`` bytes."""
        pointer = ctypes.c_uint64()
        self.call("allocate", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def pin(self, size: int) -> ctypes.c_void_p:
        """Page-locked memory of the host."""
        host = ctypes.c_void_p()
        self.call("pin", ctypes.byref(host), ctypes.c_size_t(size))
        return host

    def copy(self, what: str, to: Any, source: Any, size: int) -> None:
        """Copy bytes: ``upload``, ``download``, or ``copy`` inside of the device."""
        self.call(what, to, source, ctypes.c_size_t(size))

    def download(self, pointer: ctypes.c_uint64, size: int) -> bytes:
        """Bytes of the device."""
        buffer = ctypes.create_string_buffer(size)
        self.copy("download", buffer, pointer, size)
        return buffer.raw

    def launch(self, module: ctypes.c_void_p, name: str, count: int, *args: Any) -> None:
        """Run a kernel over ``count`` items and wait for it, so that its faults surface here."""
        function = ctypes.c_void_p()
        self.call("function", ctypes.byref(function), module, name.encode())
        pointers = (ctypes.c_void_p * len(args))(*[ctypes.addressof(arg) for arg in args])
        self.call("launch", function, (count + 255) // 256, 1, 1, 256, 1, 1, 0, None, pointers, None)
        self.call("synchronize")

    def seconds(self, work: Callable[[], None]) -> float:
        """Seconds of ``work``, settled, by events that the device stamps: the processor's delays do not count."""
        start, stop, milliseconds = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()

        def once() -> float:
            self.call("record", start, None)
            work()
            self.call("record", stop, None)
            self.call("wait", stop)
            self.call("elapsed", ctypes.byref(milliseconds), start, stop)
            return milliseconds.value / 1000.0

        for event in (start, stop):
            self.call("event", ctypes.byref(event), 0)
        found = settled(once)
        for event in (start, stop):
            self.call("forget", event)
        return found


def memory(device: Device) -> Dict[str, Any]:
    """A random block there and back, beside a second one that must not alias it."""
    data = random.Random(1).getrandbits(8 * 4096).to_bytes(4096, "little") * (BLOCK // 4096)
    first, second = device.allocate(BLOCK), device.allocate(BLOCK)
    device.copy("upload", first, data, BLOCK)
    device.call("set", second, 0xA5A5A5A5, ctypes.c_size_t(BLOCK // 4))
    back, other = device.download(first, BLOCK), device.download(second, BLOCK)
    device.call("free", first)
    device.call("free", second)
    if back != data:
        raise Failed("probe-kernel-wrong-result", "%d MiB came back changed from the device" % (BLOCK // 2**20))
    if other != b"\xa5" * BLOCK:
        raise Failed("probe-kernel-wrong-result", "a block that was set on the device came back changed")
    return {"bytes": BLOCK}


def kernel(device: Device) -> Dict[str, Any]:
    """The integer kernel, every element exact; it is compiled here for the device."""
    count, seed = 1 << 16, 0x1234ABCD
    module, out = device.load(), device.allocate(4 * count)
    device.launch(module, "mix", count, out, ctypes.c_uint32(count), ctypes.c_uint32(seed), ctypes.c_uint32(0))
    got = struct.unpack("<%dI" % count, device.download(out, 4 * count))
    device.call("free", out)
    device.call("unload", module)
    wrong = [index for index in range(count) if got[index] != mixed(index, seed)]
    if wrong:
        raise Failed("probe-kernel-wrong-result", "%d of %d integers are wrong" % (len(wrong), count), first=wrong[0])
    return {"checked": count, "kernels": device.KERNELS}


def floats(device: Device) -> Dict[str, Any]:
    """Fused multiply-add in float32 against float64: one rounding, so within one unit of the last place."""
    count, factor = 1 << 14, 0.7310585975646973
    data = struct.pack("<%df" % count, *uniform(count, 7))
    module, block = device.load(), device.allocate(4 * count)
    device.copy("upload", block, data, len(data))
    device.launch(module, "fused", count, block, ctypes.c_uint32(count), ctypes.c_float(factor))
    got = struct.unpack("<%df" % count, device.download(block, 4 * count))
    device.call("free", block)
    device.call("unload", module)
    rounded = ctypes.c_float(factor).value
    off = worst(got, [item * rounded + item for item in struct.unpack("<%df" % count, data)])
    if not off <= 1.0:
        raise Failed("probe-kernel-wrong-result", "float32 arithmetic is off by %g units of the last place" % off)
    return {"checked": count, "worst_ulp": round(off, 3)}


def worst(got: Any, want: List[float]) -> float:
    """Largest distance in units of the last place of float32 (2**-23 of the magnitude)."""
    return float(max(abs(have - aim) / max(abs(aim) * 2.0**-23, 1e-38) for have, aim in zip(got, want)))


# Names of the checks that each device is put to, in order.
CHECKS = (("memory", memory), ("kernel", kernel), ("float", floats))


def run(report: Report, vendor: Any) -> None:
    """The driver level by a vendor's module: its library, and every device.

    Without a context none of a device's checks could even begin, and one failure says it all.
    """
    state = {}  # type: Dict[str, Any]
    if not report.check("load", _load, vendor, state) or not report.check("init", _init, state["driver"]):
        return
    driver = state["driver"]
    for ordinal in range(driver.count()):
        report.check("device%d" % ordinal, driver.describe, ordinal)
        if report.check("context%d" % ordinal, _context, vendor, ordinal, state):
            for name, check in CHECKS:
                report.check("%s%d" % (name, ordinal), check, state["device"])
            state["device"].close()


def _load(vendor: Any, state: Dict[str, Any]) -> Dict[str, Any]:
    driver = state["driver"] = vendor.Driver()
    return dict(driver.loaded())


def _init(driver: Interface) -> Dict[str, Any]:
    """The first call that reaches the kernel module: version mismatches, permissions and lost devices show here."""
    driver.call(driver.NAMES["init"], 0)
    count = driver.count()
    if count == 0:
        raise Failed("devices-hidden", "the driver works but shows no device")
    return {"devices": count}


def _context(vendor: Any, ordinal: int, state: Dict[str, Any]) -> Dict[str, Any]:
    """What every program needs first; exclusive mode, a full device and a broken MPS refuse it."""
    device = state["device"] = vendor.Device(state["driver"], ordinal)
    free, total = device.room()
    return {"free_mib": free // 2**20, "total_mib": total // 2**20}
