"""NVIDIA without any framework: libcuda through ctypes, from initialisation to a checked kernel.

Signatures are those of ``cuda.h`` (CUDA driver API reference); the names with ``_v2`` are the 64-bit ones. The primary
context is used because ``cuCtxCreate`` changed its signature in CUDA 13.
"""

import ctypes
import os
import random
import struct
from typing import Any, Dict, List, Optional

from libraries import loaded, open_first
from numerics import mixed, uniform
from reporting import Failed, Report, Skipped

# Two kernels as PTX 3.2 for sm_30, the form of CUDA 5.5: every driver that has a primary context compiles it, and the
# assemblers of CUDA 11.8 to 13.5 do for every device that they know.
PTX = r"""
.version 3.2
.target sm_30
.address_size 64

.visible .entry mix(.param .u64 out, .param .u32 count, .param .u32 seed)
{
  .reg .pred %p<2>;
  .reg .b32 %r<16>;
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [out];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [seed];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r1;
  @%p1 bra done;
  xor.b32 %r7, %r6, %r2;
  mul.lo.u32 %r8, %r7, 0x9E3779B1;
  shr.u32 %r9, %r8, 15;
  xor.b32 %r10, %r8, %r9;
  mul.lo.u32 %r11, %r10, 0x85EBCA77;
  shr.u32 %r12, %r11, 13;
  xor.b32 %r13, %r11, %r12;
  cvta.to.global.u64 %d2, %d1;
  mul.wide.u32 %d3, %r6, 4;
  add.u64 %d4, %d2, %d3;
  st.global.u32 [%d4], %r13;
done:
  ret;
}

.visible .entry fused(.param .u64 data, .param .u32 count, .param .f32 factor)
{
  .reg .pred %p<2>;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %d<5>;
  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [count];
  ld.param.f32 %f1, [factor];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra over;
  cvta.to.global.u64 %d2, %d1;
  mul.wide.u32 %d3, %r5, 4;
  add.u64 %d4, %d2, %d3;
  ld.global.f32 %f2, [%d4];
  fma.rn.f32 %f3, %f2, %f1, %f2;
  st.global.f32 [%d4], %f3;
over:
  ret;
}
"""

# Bytes that are copied to the device and back.
BLOCK = 64 * 1024 * 1024

_FINDINGS = {
    1: "probe-failed",
    2: "out-of-memory",
    3: "driver-library-mismatch",
    34: "driver-stub-loaded",
    35: "driver-too-old-for-runtime",
    36: "driver-minor-version-limited",
    46: "gpu-compute-mode-exclusive",
    98: "arch-too-new-for-build",
    100: "container-no-gpu",
    101: "devices-hidden",
    102: "vgpu-unlicensed",
    200: "library-mismatch",
    209: "arch-too-new-for-build",
    214: "gpu-ecc-uncorrectable",
    217: "p2p-unsupported",
    218: "ptx-jit-too-new-for-driver",
    220: "nvlink-down",
    221: "ptx-jit-disabled",
    222: "ptx-jit-too-new-for-driver",
    223: "ptx-jit-disabled",
    226: "gpu-xid-fatal",
    302: "driver-duplicate-libraries",
    303: "driver-duplicate-libraries",
    304: "device-permission",
    700: "probe-kernel-wrong-result",
    714: "probe-kernel-wrong-result",
    715: "probe-kernel-wrong-result",
    716: "probe-kernel-wrong-result",
    717: "probe-kernel-wrong-result",
    718: "probe-kernel-wrong-result",
    719: "probe-kernel-wrong-result",
    802: "fabric-manager-down",
    803: "driver-library-mismatch",
    804: "forward-compat-conflict",
    805: "mps-broken",
    806: "mps-broken",
    807: "mps-broken",
    808: "mps-broken",
    809: "mps-broken",
    810: "mps-broken",
    919: "fabric-manager-down",
    999: "uvm-not-ready",
}  # type: Dict[int, str]
# The result codes of the CUDA driver API reference, each with the likeliest finding; facts of the host decide further.

_ATTRIBUTES = {
    "multiprocessors": 16,
    "clock_khz": 13,
    "memory_clock_khz": 36,
    "bus_bits": 37,
    "l2_bytes": 38,
    "compute_mode": 20,
    "ecc": 32,
    "integrated": 18,
}  # type: Dict[str, int]
# Values of enum CUdevice_attribute (CUDA driver API reference).


class Driver:
    """libcuda with return codes turned into :class:`Failed`."""

    def __init__(self) -> None:
        try:
            self.lib = open_first(["libcuda.so.1", "libcuda.so"])
        except OSError as error:
            nodes = [name for name in ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu") if os.path.exists(name)]
            code = "container-driver-capabilities" if nodes else "container-no-gpu"
            if not str(error).startswith("libcuda.so"):  # it is there, and what it needs itself is not
                code = "library-missing"
            raise Failed(code, "libcuda cannot be loaded: %s" % error, nodes=nodes)

    def call(self, name: str, *args: Any) -> None:
        """Call a function; what it returns must be success.

        Raises:
            Failed: with the driver's own name for the error and the finding that it points to.
        """
        function = getattr(self.lib, name, None)
        if function is None:
            raise Skipped("this driver has no %s" % name)
        result = function(*args)
        if result:
            code = _FINDINGS.get(result, "probe-failed")
            raise Failed(code, "%s returned %d (%s)" % (name, result, self.text(result)), result=result)

    def text(self, result: int) -> str:
        """The driver's name and sentence for a result."""
        found = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            out = ctypes.c_char_p()
            if getattr(self.lib, name)(result, ctypes.byref(out)) == 0 and out.value:
                found.append(out.value.decode("utf-8", "replace"))
        return ": ".join(found) or "no text"

    def number(self, name: str, *args: Any) -> int:
        """The int that a function writes through its first argument."""
        out = ctypes.c_int(0)
        self.call(name, ctypes.byref(out), *args)
        return out.value


class Device:
    """One GPU with its primary context current."""

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver, self.ordinal = driver, ordinal
        self.handle = driver.number("cuDeviceGet", ordinal)
        self.context = ctypes.c_void_p()
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.handle)
        driver.call("cuCtxSetCurrent", self.context)

    def close(self) -> None:
        """Give the context back; a device that failed before cannot do even that, which is no news.

        The drivers before CUDA 11.0 have the name without ``_v2`` alone (seen in 390.157 and 418.226).
        """
        name = "cuDevicePrimaryCtxRelease_v2"
        try:
            self.driver.call(name if hasattr(self.driver.lib, name) else name[:-3], self.handle)
        except (Failed, Skipped):
            return

    def allocate(self, size: int) -> ctypes.c_uint64:
        """Device memory of ``size`` bytes."""
        pointer = ctypes.c_uint64()
        self.driver.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def free(self, pointer: ctypes.c_uint64) -> None:
        """Give device memory back."""
        self.driver.call("cuMemFree_v2", pointer)

    def upload(self, pointer: ctypes.c_uint64, data: bytes) -> None:
        """Copy bytes to the device."""
        self.driver.call("cuMemcpyHtoD_v2", pointer, data, ctypes.c_size_t(len(data)))

    def download(self, pointer: ctypes.c_uint64, size: int) -> bytes:
        """Copy bytes from the device."""
        buffer = ctypes.create_string_buffer(size)
        self.driver.call("cuMemcpyDtoH_v2", buffer, pointer, ctypes.c_size_t(size))
        return buffer.raw

    def load(self, source: str) -> ctypes.c_void_p:
        """Compile PTX; a failure carries the compiler's own log.

        Raises:
            Failed: if the driver refuses the text.
        """
        log, module = ctypes.create_string_buffer(8192), ctypes.c_void_p()
        # CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES of enum CUjit_option
        options = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        try:
            self.driver.call("cuModuleLoadDataEx", ctypes.byref(module), source.encode(), 2, options, values)
        except Failed as failure:
            failure.figures["log"] = log.value.decode("utf-8", "replace")[:2000]
            raise
        return module

    def launch(self, module: ctypes.c_void_p, name: str, count: int, *args: Any) -> None:
        """Run a kernel over ``count`` items and wait for it, so that its faults surface here."""
        function = ctypes.c_void_p()
        self.driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        pointers = (ctypes.c_void_p * len(args))(*[ctypes.addressof(arg) for arg in args])
        blocks = (count + 255) // 256
        self.driver.call("cuLaunchKernel", function, blocks, 1, 1, 256, 1, 1, 0, None, pointers, None)
        self.driver.call("cuCtxSynchronize")


def run(report: Report) -> None:
    """All checks of the driver level, for every device."""
    state = {}  # type: Dict[str, Any]
    if not report.check("load", _load, state):
        return
    if not report.check("init", _init, state["driver"]):
        return
    for ordinal in range(state["driver"].number("cuDeviceGetCount")):
        _device(report, state["driver"], ordinal)


def _device(report: Report, driver: Driver, ordinal: int) -> None:
    """One device's probes; without a context none of the others could even begin, and one failure says it all."""
    report.check("device%d" % ordinal, describe, driver, ordinal)
    held = {}  # type: Dict[str, Device]
    if not report.check("context%d" % ordinal, _context, driver, ordinal, held):
        return
    device = held["device"]
    for name, check in (("memory", _memory), ("kernel", _kernel), ("float", _float)):
        report.check("%s%d" % (name, ordinal), check, device)
    device.close()


def _load(state: Dict[str, Any]) -> Dict[str, Any]:
    """libcuda and the CUDA version that it serves, which it tells before any device is touched.

    The toolkit ships a stub of it under ``stubs/`` to link against; loaded in earnest, it only ever fails.
    """
    driver = state["driver"] = Driver()
    version = driver.number("cuDriverGetVersion")
    found = {"cuda": "%d.%d" % (version // 1000, version % 1000 // 10), "libcuda": loaded().get("libcuda", [])}
    if any("/stubs/" in path for path in found["libcuda"]):
        raise Failed("driver-stub-loaded", "the loader picked the toolkit's stub of libcuda", **found)
    return found


def _init(driver: Driver) -> Dict[str, Any]:
    """The first call that reaches the kernel module: version mismatches, permissions and lost devices show here."""
    driver.call("cuInit", 0)
    count = driver.number("cuDeviceGetCount")
    if count == 0:
        raise Failed("devices-hidden", "the driver works but shows no device")
    return {"devices": count}


def describe(driver: Driver, ordinal: int) -> Dict[str, Any]:
    """Name, capability and size of a device, as the driver states them."""
    handle, name, total = driver.number("cuDeviceGet", ordinal), ctypes.create_string_buffer(256), ctypes.c_size_t()
    driver.call("cuDeviceGetName", name, len(name), handle)
    driver.call("cuDeviceTotalMem_v2", ctypes.byref(total), handle)
    # 75 and 76: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
    major, minor = (driver.number("cuDeviceGetAttribute", item, handle) for item in (75, 76))
    figures = {"name": name.value.decode("utf-8", "replace"), "target": "sm_%d%d" % (major, minor)}  # type: Dict[str, Any]
    figures["memory_mib"] = total.value // 2**20
    for key, item in sorted(_ATTRIBUTES.items()):
        figures[key] = _attribute(driver, item, handle)
    return figures


def bus_id(driver: Driver, ordinal: int) -> str:
    """The PCI bus id of a device, ``0000:41:00.0``; empty where this driver does not tell it."""
    text = ctypes.create_string_buffer(32)
    try:
        driver.call("cuDeviceGetPCIBusId", text, len(text), driver.number("cuDeviceGet", ordinal))
    except (Failed, Skipped):
        return ""
    return text.value.decode("ascii", "replace")


def _attribute(driver: Driver, item: int, handle: int) -> Optional[int]:
    """One attribute; ``None`` where this driver does not tell it, for it only describes."""
    try:
        return driver.number("cuDeviceGetAttribute", item, handle)
    except (Failed, Skipped):
        return None


def _context(driver: Driver, ordinal: int, held: Dict[str, Device]) -> Dict[str, Any]:
    """What every program needs first; exclusive mode, a full device and a broken MPS refuse it."""
    device = held["device"] = Device(driver, ordinal)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    device.driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return {"free_mib": free.value // 2**20, "total_mib": total.value // 2**20}


def _memory(device: Device) -> Dict[str, Any]:
    """A random block there and back, beside a second one that must not alias it."""
    data = random.Random(1).getrandbits(8 * 4096).to_bytes(4096, "little") * (BLOCK // 4096)
    first, second = device.allocate(BLOCK), device.allocate(BLOCK)
    device.upload(first, data)
    device.driver.call("cuMemsetD32_v2", second, 0xA5A5A5A5, ctypes.c_size_t(BLOCK // 4))
    back, other = device.download(first, BLOCK), device.download(second, BLOCK)
    device.free(first)
    device.free(second)
    if back != data:
        raise Failed("probe-kernel-wrong-result", "%d MiB came back changed from the device" % (BLOCK // 2**20))
    if other != b"\xa5" * BLOCK:
        raise Failed("probe-kernel-wrong-result", "a block that was set on the device came back changed")
    return {"bytes": BLOCK}


def _kernel(device: Device) -> Dict[str, Any]:
    """The integer kernel, every element exact; the driver compiles it from PTX."""
    count, seed = 1 << 16, 0x1234ABCD
    module, out = device.load(PTX), device.allocate(4 * count)
    device.launch(module, "mix", count, out, ctypes.c_uint32(count), ctypes.c_uint32(seed))
    got = struct.unpack("<%dI" % count, device.download(out, 4 * count))
    device.free(out)
    device.driver.call("cuModuleUnload", module)
    wrong = [index for index in range(count) if got[index] != mixed(index, seed)]
    if wrong:
        raise Failed("probe-kernel-wrong-result", "%d of %d integers are wrong" % (len(wrong), count), first=wrong[0])
    return {"checked": count, "kernels": "ptx"}


def _float(device: Device) -> Dict[str, Any]:
    """Fused multiply-add in float32 against float64: one rounding, so within one unit of the last place."""
    count, factor = 1 << 14, 0.7310585975646973
    data = list(struct.unpack("<%df" % count, struct.pack("<%df" % count, *uniform(count, 7))))
    module, block = device.load(PTX), device.allocate(4 * count)
    device.upload(block, struct.pack("<%df" % count, *data))
    device.launch(module, "fused", count, block, ctypes.c_uint32(count), ctypes.c_float(factor))
    got = struct.unpack("<%df" % count, device.download(block, 4 * count))
    device.free(block)
    device.driver.call("cuModuleUnload", module)
    rounded = ctypes.c_float(factor).value
    worst = _worst(got, [item * rounded + item for item in data])
    if not worst <= 1.0:
        raise Failed("probe-kernel-wrong-result", "float32 arithmetic is off by %g units of the last place" % worst)
    return {"checked": count, "worst_ulp": round(worst, 3)}


def _worst(got: Any, want: List[float]) -> float:
    """Largest distance in units of the last place of float32 (2**-23 of the magnitude)."""
    return max(abs(have - aim) / max(abs(aim) * 2.0**-23, 1e-38) for have, aim in zip(got, want))
