"""NVIDIA without any framework: libcuda through ctypes, from initialisation to a checked kernel.

Signatures are those of ``cuda.h`` (CUDA driver API reference); the names with ``_v2`` are the 64-bit ones. The primary
context is used because ``cuCtxCreate`` changed its signature in CUDA 13.
"""

import ctypes
import os
from typing import Any, Dict, Optional

import devices
from devices import Interface
from libraries import loaded, open_first
from nvml import Monitor
from reporting import Failed, Skipped

# What both integer kernels begin with: the place of an item in %d4, and the number that belongs there in %r15.
_MIXED = r"""  ld.param.u64 %d1, [data];
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [seed];
  ld.param.u32 %r14, [flip];
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
  xor.b32 %r15, %r13, %r14;
  cvta.to.global.u64 %d2, %d1;
  mul.wide.u32 %d3, %r6, 4;
  add.u64 %d4, %d2, %d3;"""

# Three kernels as PTX 3.2 for sm_30, the form of CUDA 5.5: every driver that has a primary context compiles it, and the
# assemblers of CUDA 11.8 to 13.5 do for every device that they know.
PTX = r"""
.version 3.2
.target sm_30
.address_size 64

.visible .entry mix(.param .u64 data, .param .u32 count, .param .u32 seed, .param .u32 flip)
{
  .reg .pred %p<2>;
  .reg .b32 %r<16>;
  .reg .b64 %d<5>;
MIXED
  st.global.u32 [%d4], %r15;
done:
  ret;
}

.visible .entry differ(.param .u64 data, .param .u32 count, .param .u32 seed, .param .u32 flip, .param .u64 wrong)
{
  .reg .pred %p<3>;
  .reg .b32 %r<17>;
  .reg .b64 %d<7>;
  ld.param.u64 %d5, [wrong];
MIXED
  ld.global.u32 %r16, [%d4];
  setp.eq.u32 %p2, %r16, %r15;
  @%p2 bra done;
  cvta.to.global.u64 %d6, %d5;
  red.global.add.u32 [%d6], 1;
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
""".replace("MIXED", _MIXED)

# The result codes of the CUDA driver API reference by their likeliest finding; facts of the host decide further.
_FINDINGS = {
    code: finding
    for finding, codes in {
        "probe-failed": [1],
        "out-of-memory": [2],
        "driver-library-mismatch": [3, 803],
        "driver-stub-loaded": [34],
        "driver-too-old-for-runtime": [35],
        "driver-minor-version-limited": [36],
        "gpu-compute-mode-exclusive": [46],
        "arch-too-new-for-build": [98, 209],
        "container-no-gpu": [100],
        "devices-hidden": [101],
        "vgpu-unlicensed": [102],
        "library-mismatch": [200],
        "gpu-ecc-uncorrectable": [214],
        "p2p-unsupported": [217],
        "ptx-jit-too-new-for-driver": [218, 222],
        "nvlink-down": [220],
        "ptx-jit-disabled": [221, 223],
        "gpu-xid-fatal": [226],
        "driver-duplicate-libraries": [302, 303],
        "device-permission": [304],
        "probe-kernel-wrong-result": [700, 714, 715, 716, 717, 718, 719],
        "fabric-manager-down": [802, 919],
        "forward-compat-conflict": [804],
        "mps-broken": [805, 806, 807, 808, 809, 810],
        "uvm-not-ready": [999],
    }.items()
    for code in codes
}  # type: Dict[int, str]

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


class Driver(Interface):
    """libcuda with return codes turned into :class:`Failed`."""

    FINDINGS = _FINDINGS
    NAMES = {
        "init": "cuInit",
        "count": "cuDeviceGetCount",
        "name": "cuDeviceGetName",
        "total": "cuDeviceTotalMem_v2",
        "bus": "cuDeviceGetPCIBusId",
        "allocate": "cuMemAlloc_v2",
        "free": "cuMemFree_v2",
        "upload": "cuMemcpyHtoD_v2",
        "download": "cuMemcpyDtoH_v2",
        "copy": "cuMemcpyDtoD_v2",
        "set": "cuMemsetD32_v2",
        "room": "cuMemGetInfo_v2",
        "pin": "cuMemAllocHost_v2",
        "unpin": "cuMemFreeHost",
        "event": "cuEventCreate",
        "record": "cuEventRecord",
        "wait": "cuEventSynchronize",
        "elapsed": "cuEventElapsedTime",
        "forget": "cuEventDestroy_v2",
        "function": "cuModuleGetFunction",
        "launch": "cuLaunchKernel",
        "synchronize": "cuCtxSynchronize",
        "unload": "cuModuleUnload",
    }

    def __init__(self) -> None:
        try:
            self.lib = open_first(["libcuda.so.1", "libcuda.so"])
        except OSError as error:
            nodes = [name for name in ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu") if os.path.exists(name)]
            code = "container-driver-capabilities" if nodes else "container-no-gpu"
            if not str(error).startswith("libcuda.so"):  # it is there, and what it needs itself is not
                code = "library-missing"
            raise Failed(code, "libcuda cannot be loaded: %s" % error, nodes=nodes)

    def text(self, result: int) -> str:
        """The driver's name and sentence for a result."""
        found = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            out = ctypes.c_char_p()
            if getattr(self.lib, name)(result, ctypes.byref(out)) == 0 and out.value:
                found.append(out.value.decode("utf-8", "replace"))
        return ": ".join(found) or "no text"

    def handle(self, ordinal: int) -> int:
        """CUdevice."""
        return self.number("cuDeviceGet", ordinal)

    def loaded(self) -> Dict[str, Any]:
        """The CUDA version that libcuda serves, and its files.

        The toolkit ships a stub of it under ``stubs/`` to link against; loaded in earnest, it only ever fails.

        Raises:
            Failed: if it is the stub.
        """
        version = self.number("cuDriverGetVersion")
        found = {"cuda": "%d.%d" % (version // 1000, version % 1000 // 10), "libcuda": loaded().get("libcuda", [])}
        if any("/stubs/" in path for path in found["libcuda"]):
            raise Failed("driver-stub-loaded", "the loader picked the toolkit's stub of libcuda", **found)
        return found

    def target(self, ordinal: int) -> str:
        """``sm_89``, by the capability."""
        # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        return "sm_%d%d" % tuple(self.number("cuDeviceGetAttribute", item, self.handle(ordinal)) for item in (75, 76))

    def describe(self, ordinal: int) -> Dict[str, Any]:
        """With :data:`_ATTRIBUTES`."""
        figures, handle = super().describe(ordinal), self.handle(ordinal)
        return dict(figures, **{key: self._attribute(item, handle) for key, item in _ATTRIBUTES.items()})

    def monitor(self, ordinal: int) -> Monitor:
        """By NVML."""
        return Monitor(ordinal, self.bus(ordinal))

    def _attribute(self, item: int, handle: int) -> Optional[int]:
        """One attribute; ``None`` where this driver does not tell it, for it only describes."""
        try:
            return self.number("cuDeviceGetAttribute", item, handle)
        except (Failed, Skipped):
            return None


class Device(devices.Device):
    """One GPU with its primary context current in this thread."""

    KERNELS = "ptx"

    def __init__(self, driver: Driver, ordinal: int) -> None:
        super().__init__(driver, ordinal)
        self.handle = driver.handle(ordinal)
        self.context = ctypes.c_void_p()
        driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.handle)
        driver.call("cuCtxSetCurrent", self.context)

    def close(self) -> None:
        """Give the context back; a device that failed before cannot do even that, which is no news.

        The drivers before CUDA 11.0 have the name without ``_v2`` alone (seen in 390.157 and 418.226).
        """
        name = "cuDevicePrimaryCtxRelease_v2"
        try:
            self.api.call(name if hasattr(self.api.lib, name) else name[:-3], self.handle)
        except (Failed, Skipped):
            return

    def load(self) -> ctypes.c_void_p:
        """Compile the kernels; a failure carries the compiler's own log.

        Raises:
            Failed: if the driver refuses the text.
        """
        log, module = ctypes.create_string_buffer(8192), ctypes.c_void_p()
        # CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES of enum CUjit_option
        options = (ctypes.c_int * 2)(5, 6)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log))
        try:
            self.api.call("cuModuleLoadDataEx", ctypes.byref(module), PTX.encode(), 2, options, values)
        except Failed as failure:
            failure.figures["log"] = log.value.decode("utf-8", "replace")[:2000]
            raise
        return module

    def described(self) -> Dict[str, Any]:
        """With the peak of its memory, where the driver still tells its clock and width.

        Double data rate memory transfers twice a clock (CUDA driver API reference,
        ``CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE``: kHz; the width is in bits).
        """
        found = self.api.describe(self.ordinal)
        clock, bits = found.get("memory_clock_khz"), found.get("bus_bits")
        peak = round(2.0 * clock * 1e3 * bits / 8 / 1e9, 1) if clock and bits else None
        return {"device": found["name"], "target": found["target"], "peak_gb_per_s": peak}
