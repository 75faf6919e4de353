"""AMD without any framework: libamdhip64 through ctypes, and kernels that hipRTC compiles for the very device.

AMD has no portable intermediate form: a code object is bound to its target, so the kernel's source travels. Where
hipRTC is not in the image, memory is still proven and the kernel is skipped with that reason. The result codes and
attribute numbers are those of ``hip_runtime_api.h``.
"""

import ctypes
import os
import re
import threading
from glob import glob
from typing import Any, Dict, List, Tuple

import devices
from amdgpu import Monitor
from devices import Interface
from libraries import loaded, names, open_first
from reporting import Failed, Skipped

SOURCE = r"""
__device__ unsigned int mixed(unsigned int i, unsigned int seed) {
  unsigned int x = (i ^ seed) * 0x9E3779B1u;
  x ^= x >> 15;
  x *= 0x85EBCA77u;
  return x ^ (x >> 13);
}
extern "C" __global__ void mix(unsigned int* out, unsigned int count, unsigned int seed, unsigned int flip) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = mixed(i, seed) ^ flip;
}
extern "C" __global__ void differ(unsigned int* data, unsigned int count, unsigned int seed, unsigned int flip,
                                  unsigned int* wrong) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && data[i] != (mixed(i, seed) ^ flip)) __atomic_fetch_add(wrong, 1u, __ATOMIC_RELAXED);
}
extern "C" __global__ void fused(float* data, unsigned int count, float factor) {
  unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = __builtin_fmaf(data[i], factor, data[i]);
}
"""

# Values of enum hipError_t (hip_runtime_api.h) by their likeliest finding.
_FINDINGS = {
    code: finding
    for finding, codes in {
        "out-of-memory": [2],
        "rocm-version-mismatch": [3, 35],
        "rocm-gfx-unsupported": [98, 200, 209],
        "rocm-container-flags": [100],
        "devices-hidden": [101],
        "gpu-ecc-uncorrectable": [214],
        "library-mismatch": [302, 303],
        "device-permission": [304],
        "probe-kernel-wrong-result": [700, 719],
    }.items()
    for code in codes
}  # type: Dict[int, str]

_ELSEWHERE = ("/opt/rocm/lib", "/opt/rocm-*/lib", "/opt/rocm/core*/lib")
# Where AMD's packages put libraries when nobody told the loader (ROCm installation guide, "Post-installation"; the core
# SDK's transition guide for the last).


# One compilation at a time: each loads the same manager of code objects.
_COMPILING = threading.Lock()


class Driver(Interface):
    """libamdhip64 with return codes turned into :class:`Failed`."""

    FINDINGS = _FINDINGS
    NAMES = {
        "init": "hipInit",
        "count": "hipGetDeviceCount",
        "name": "hipDeviceGetName",
        "total": "hipDeviceTotalMem",
        "bus": "hipDeviceGetPCIBusId",
        "allocate": "hipMalloc",
        "free": "hipFree",
        "upload": "hipMemcpyHtoD",
        "download": "hipMemcpyDtoH",
        "copy": "hipMemcpyDtoD",
        "set": "hipMemsetD32",
        "room": "hipMemGetInfo",
        "pin": "hipHostMalloc",
        "unpin": "hipHostFree",
        "event": "hipEventCreateWithFlags",
        "record": "hipEventRecord",
        "wait": "hipEventSynchronize",
        "elapsed": "hipEventElapsedTime",
        "forget": "hipEventDestroy",
        "function": "hipModuleGetFunction",
        "launch": "hipModuleLaunchKernel",
        "synchronize": "hipDeviceSynchronize",
        "unload": "hipModuleUnload",
    }

    def __init__(self) -> None:
        try:
            self.lib = open_first(_places("libamdhip64"))
        except OSError as error:
            raise Failed("library-missing", "libamdhip64 cannot be loaded: %s" % error)
        self.lib.hipGetErrorString.restype = ctypes.c_char_p

    def text(self, result: int) -> str:
        """HIP's own words for a result."""
        return (self.lib.hipGetErrorString(result) or b"").decode("utf-8", "replace")

    def loaded(self) -> Dict[str, Any]:
        """HIP's version and files."""
        return {"runtime": self.number("hipRuntimeGetVersion"), "libraries": loaded().get("libamdhip64", [])}

    def target(self, ordinal: int) -> str:
        """The gfx target of one of HIP's devices; empty where it cannot be told apart from others.

        HIP numbers what ``HIP_VISIBLE_DEVICES`` and its like leave, the kernel driver all that there are: the PCI
        address is what both state.
        """
        known, place = nodes(), self.bus(ordinal)
        same = [name for node, name in known if place and node.split(".")[0] == place.split(".")[0]]
        names = {name for _, name in known}
        return same[0] if same else names.pop() if len(names) == 1 else ""

    def monitor(self, ordinal: int) -> Monitor:
        """By the kernel driver's files."""
        return Monitor(self.bus(ordinal))


class Device(devices.Device):
    """One of HIP's devices, current in this thread."""

    KERNELS = "hiprtc"

    def __init__(self, hip: Driver, ordinal: int) -> None:
        super().__init__(hip, ordinal)
        hip.call("hipSetDevice", ordinal)

    def pin(self, size: int) -> ctypes.c_void_p:
        """Page-locked memory of the host, of the default kind."""
        host = ctypes.c_void_p()
        self.call("pin", ctypes.byref(host), ctypes.c_size_t(size), 0)
        return host

    def load(self) -> ctypes.c_void_p:
        """Compile the kernels for the device's own target.

        Raises:
            Skipped: if hipRTC is not installed.
            Failed: if the compiler does not know the target, or refuses the source, with its log.
        """
        with _COMPILING:
            module, code = ctypes.c_void_p(), _compile(self.api, self.ordinal)
        self.api.call("hipModuleLoadData", ctypes.byref(module), code)
        return module


def nodes(root: str = "/sys/class/kfd/kfd/topology/nodes") -> List[Tuple[str, str]]:
    """PCI address and gfx target of the kernel driver's devices, before any override.

    ``gfx_target_version`` is decimal, major * 10000 + minor * 100 + stepping, and is named with the last two parts as
    hexadecimal digits; 0 is a processor (rocm_agent_enumerator of rocminfo). ``location_id`` is bus, device and function
    as PCI packs them (kernel, ``pci_dev_id``). A container sees every node, but may read those only that it was given.
    """
    found = []
    for node in sorted(filter(str.isdigit, os.listdir(root)), key=int) if os.path.isdir(root) else []:
        try:
            with open(os.path.join(root, node, "properties")) as lines:
                known = {key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", lines.read(), re.M)}
        except OSError:
            continue
        version, place = known.get("gfx_target_version", 0), known.get("location_id", 0)
        if version:
            address = (known.get("domain", 0), place >> 8 & 0xFF, place >> 3 & 0x1F, place & 7)
            target = "gfx%d%x%x" % (version // 10000, version // 100 % 100, version % 100)
            found.append(("%04x:%02x:%02x.%x" % address, target))
    return found


def _places(library: str) -> List[str]:
    """Where a library of ROCm may be, in the order of preference, for :func:`open_first`.

    First what a framework in this Python would use: ROCm wheels of torch carry their own, later ones share the core
    SDK's package. Then what the loader finds under any major version, then AMD's folders.
    """
    import sysconfig

    packages = sysconfig.get_paths()["purelib"]
    own = [os.path.join(packages, *parts, library + ".so*") for parts in (("torch", "lib"), ("_rocm_sdk_core", "lib"))]
    folders = [os.path.join(folder, library + ".so*") for folder in _ELSEWHERE]
    mine, others = (
        [path for pattern in found for path in sorted(glob(pattern), reverse=True)] for found in (own, folders)
    )
    return mine + names(library) + others


def device_nodes() -> Dict[str, Any]:
    """The device nodes, and which group would have to be joined to open them."""
    if not os.path.exists("/dev/kfd"):
        raise Failed("rocm-container-flags", "/dev/kfd is not there")
    paths = ["/dev/kfd"] + sorted(glob("/dev/dri/*renderD*"))
    denied = {path: os.stat(path).st_gid for path in paths if not os.access(path, os.R_OK | os.W_OK)}
    if denied:
        raise Failed("device-permission", "no right to open %s" % ", ".join(sorted(denied)), groups=denied)
    return {"targets": [target for _, target in nodes()], "override": os.environ.get("HSA_OVERRIDE_GFX_VERSION", "")}


def _compiler(hip: Interface) -> Any:
    """hipRTC: a library of its own, or in older releases a part of libamdhip64 (both export ``hiprtc.h``'s functions).

    Beside the runtime that is in use before anywhere else: two releases in one process share symbols, and crash.
    """
    beside = [os.path.join(os.path.dirname(path), "libhiprtc.so*") for path in loaded().get("libamdhip64", [])]
    try:
        return open_first([path for pattern in beside for path in sorted(glob(pattern))] + _places("libhiprtc"))
    except OSError as error:
        if hasattr(hip.lib, "hiprtcCompileProgram"):
            return hip.lib
        raise Skipped("hipRTC is not in this image (%s): memory was checked, no kernel was run" % error)


def _compile(hip: Interface, ordinal: int) -> Any:
    """The kernel's code object for the device's effective target; without one, hipRTC takes the current device's."""
    compiler, wanted = _compiler(hip), override(ordinal) or hip.target(ordinal)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    compiler.hiprtcCreateProgram(ctypes.byref(program), SOURCE.encode(), b"mix.hip", 0, None, None)
    known = known_targets()
    if wanted and known and wanted not in known:
        # Asked before, for hipRTC 6.4 answers such a target by aborting the whole process.
        raise Failed("rocm-gfx-unsupported", "the compiler of this ROCm does not know %s" % wanted, known=known)
    options = [b"--offload-arch=" + name.encode() for name in [wanted] if name]
    result = compiler.hiprtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if result:
        compiler.hiprtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        compiler.hiprtcGetProgramLog(program, log)
        text = log.value.decode("utf-8", "replace")[:2000]
        raise Failed("probe-compile-failed", "hipRTC returned %d" % result, log=text)
    compiler.hiprtcGetCodeSize(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    compiler.hiprtcGetCode(program, code)
    compiler.hiprtcDestroyProgram(ctypes.byref(program))
    return code


def known_targets() -> List[str]:
    """The gfx targets that the compiler in this process can make code for; empty where that cannot be asked.

    hipRTC compiles through the code object manager, which it loads for its first program and which lists its instruction
    sets as ``amdgcn-amd-amdhsa--gfx90a`` (``amd_comgr.h``, ``amd_comgr_get_isa_name``).
    """
    for path in loaded().get("libamd_comgr", []):
        manager, count, found = ctypes.CDLL(path), ctypes.c_size_t(), []
        manager.amd_comgr_get_isa_count(ctypes.byref(count))
        for index in range(count.value):
            name = ctypes.c_char_p()
            manager.amd_comgr_get_isa_name(ctypes.c_size_t(index), ctypes.byref(name))
            found.append((name.value or b"").decode().partition("--")[2])
        return found
    return []


def override(ordinal: int) -> str:
    """The target that the runtime is told to believe in; it wins over what the kernel driver says."""
    wanted = os.environ.get("HSA_OVERRIDE_GFX_VERSION_%d" % ordinal) or os.environ.get("HSA_OVERRIDE_GFX_VERSION", "")
    match = re.match(r"^(\d+)\.(\d+)\.(\d+)$", wanted)
    return "gfx%d%x%x" % tuple(int(part) for part in match.groups()) if match else ""
