"""Ask NVML through nvidia-ml-py and print one JSON object. Runs in its own process: drivers hang and crash.

Each question is asked on its own; what a driver does not know (an old one, WSL, MIG, Jetson) is left out. The names are
those of ``compat.facts.Gpu`` where there is one.

Output: a first line after initialisation, so that it is known if a device hangs later, and a last one with everything.
Exit status 0 means that something was printed. Nothing is changed on any device.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from ctypes import byref
from typing import Any

# nvmlComputeMode_t (nvml.h).
MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}

# No machine has more GPUs; a driver that says so is answering rubbish.
MOST = 64

# Bits of nvmlClocksEventReasons (nvml.h).
REASONS = {
    0x1: "gpu_idle",
    0x2: "applications_clocks_setting",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
    0x100: "display_clocks_setting",
}

# NVML_NVLINK_MAX_LINKS (nvml.h); cards have up to 18 so far.
LINKS = 36

# nvmlGpuVirtualizationMode_t (nvml.h).
VIRTUAL = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host_vgpu", 4: "host_vsga"}

# nvmlGpuFabricState_t (nvml.h); 0 is a GPU that knows no fabric.
FABRIC = {1: "not_started", 2: "in_progress", 3: "completed"}


def main() -> int:
    """Print what NVML answers; the exit status is 0 whenever an answer was printed."""
    try:
        import pynvml
    except ImportError as error:
        sys.stdout.write(json.dumps({"missing": str(error)}) + "\n")
        return 0
    answer: dict[str, Any] = {}
    try:
        pynvml.nvmlInit()
        answer = {"init": "ok", **_system(pynvml)}
        sys.stdout.write(json.dumps({**answer, "more": True}) + "\n")
        sys.stdout.flush()  # told before the calls that reach the devices
        answer["gpus"] = _gpus(pynvml)
    except pynvml.NVMLError as error:
        answer = {"init": _name(pynvml, error)}
    except OSError as error:  # the library is there but cannot be loaded
        answer = {"init": "NVML_ERROR_LIBRARY_NOT_FOUND", "detail": str(error)[:300]}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def _name(nvml: Any, error: Any) -> str:
    """The C name of an error's number: NVML_ERROR_DRIVER_NOT_LOADED."""
    for name in dir(nvml):
        if name.startswith("NVML_ERROR_") and getattr(nvml, name) == error.value:
            return name
    return f"NVML error {error.value}"


def _try(nvml: Any, ask: Callable[[], Any]) -> Any:
    """What a question is answered with, or ``None`` where the driver has no answer.

    Raises:
        LookupError: if the answer is that the device is lost or needs a reset; no further question makes sense then.
    """
    try:
        return ask()
    except nvml.NVMLError as error:
        if error.value in {nvml.NVML_ERROR_GPU_IS_LOST, getattr(nvml, "NVML_ERROR_RESET_REQUIRED", 16)}:
            raise LookupError from error
        return None
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def _text(value: Any) -> str:
    """A text, whichever of bytes and str this release of the bindings returns."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _system(nvml: Any) -> dict[str, Any]:
    """Driver release, library release, and CUDA's version as one number (12040 for 12.4)."""
    return {
        "driver": _text(_try(nvml, nvml.nvmlSystemGetDriverVersion)),
        "library": _text(_try(nvml, nvml.nvmlSystemGetNVMLVersion)),
        "cuda": _try(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2),
    }


def _gpus(nvml: Any) -> list[dict[str, Any]]:
    """Every device that NVML counts."""
    count = _try(nvml, nvml.nvmlDeviceGetCount) or 0
    return [_gpu(nvml, index) for index in range(count if count <= MOST else 0)]


def _gpu(nvml: Any, index: int) -> dict[str, Any]:
    """One GPU; one that fell off the bus is told as lost, with what was read before.

    A handle that cannot be had although the index exists belongs to a GPU that this process may not open (a container
    with some of the GPUs, a node without permission): that is told as ``denied``.
    """
    said: dict[str, Any] = {"index": index}
    try:
        handle = _try(nvml, lambda: nvml.nvmlDeviceGetHandleByIndex(index))
        if handle is None:
            return {**said, "denied": True}
        for name, ask in _QUESTIONS.items():
            found = _try(nvml, lambda ask=ask: ask(nvml, handle))  # type: ignore[misc]
            if found is not None:
                said[name] = found
    except LookupError:
        said["lost"] = True
    return said


def _mig_devices(nvml: Any, handle: Any) -> int:
    """Compute instances that exist: handles up to the device's maximum that can be had."""
    found = 0
    # instances need not be numbered without gaps: each handle up to the maximum (seven so far) is tried
    for index in range(min(nvml.nvmlDeviceGetMaxMigDeviceCount(handle), 16)):
        found += _try(nvml, lambda index=index: nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)) is not None  # type: ignore[misc]
    return found


def _throttle(nvml: Any, handle: Any) -> list[str]:
    """Names of the reasons for which clocks are held down right now."""
    mask = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
    return [name for bit, name in REASONS.items() if mask & bit]


def _links(nvml: Any, handle: Any) -> list[int] | None:
    """Number of NVLink lanes that are up and that are down; a card without NVLink knows no lane at all.

    Lanes are asked until the first that the card does not have. Two unknown lanes end the search, because a GPU cut
    by its maker may lack one in the middle.
    """
    states: list[int] = []
    unknown = 0
    for lane in range(LINKS):
        state = _try(nvml, lambda lane=lane: nvml.nvmlDeviceGetNvLinkState(handle, lane))  # type: ignore[misc]
        if state in {0, 1}:
            states.append(state)
            continue
        unknown += 1
        if unknown > 1:
            break
    return [sum(states), len(states) - sum(states)] if states else None


def _fabric(nvml: Any, handle: Any) -> str | None:
    """How far the GPU's registration with the NVSwitch fabric is (Hopper on)."""
    info = nvml.c_nvmlGpuFabricInfoV_t()
    nvml.nvmlDeviceGetGpuFabricInfoV(handle, byref(info))
    return FABRIC.get(int(info.state))


def _licensed(nvml: Any, handle: Any) -> bool | None:
    """Whether a guest's virtual GPU has a licence: any enabled feature that is licensed will do."""
    if nvml.nvmlDeviceGetVirtualizationMode(handle) != nvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU:
        return None
    features = nvml.nvmlDeviceGetGridLicensableFeatures_v4(handle)
    if not features.isGridLicenseSupported:
        return None
    known = features.gridLicensableFeatures[: min(features.licensableFeaturesCount, 3)]
    return any(each.featureState and each.featureEnabled for each in known)


def _clocks(nvml: Any, handle: Any, kind: int) -> list[int | None]:
    """Clock now and the highest one, in MHz, each as far as it is answered."""
    ways = (nvml.nvmlDeviceGetClockInfo, nvml.nvmlDeviceGetMaxClockInfo)
    return [_try(nvml, lambda way=way: way(handle, kind)) for way in ways]  # type: ignore[misc]


def _remap_pending(nvml: Any, handle: Any) -> bool | None:
    """Row remapping (Ampere on) or page retirement (before) that waits for a reset."""
    rows = _try(nvml, lambda: nvml.nvmlDeviceGetRemappedRows(handle))
    if rows is not None:
        return bool(rows[2] or rows[3])
    pages = _try(nvml, lambda: nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle))
    return None if pages is None else bool(pages)


def _processes(nvml: Any, handle: Any) -> int | None:
    """Number of compute processes; the call changed its name twice."""
    for name in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"):
        found = _try(nvml, lambda name=name: getattr(nvml, name)(handle))  # type: ignore[misc]
        if found is not None:
            return len(found)
    return None


# One question per key; a driver that cannot answer one still answers the others. Units are NVML's own: bytes, counts.
_QUESTIONS: dict[str, Any] = {
    "name": lambda n, h: _text(n.nvmlDeviceGetName(h)),
    "bus": lambda n, h: _text(n.nvmlDeviceGetPciInfo(h).busId),
    "pci": lambda n, h: n.nvmlDeviceGetPciInfo(h).pciDeviceId,
    "capability": lambda n, h: list(n.nvmlDeviceGetCudaComputeCapability(h)),
    "memory": lambda n, h: [n.nvmlDeviceGetMemoryInfo(h).total, n.nvmlDeviceGetMemoryInfo(h).used],
    # [current, pending]: a change of mode waits for a reset
    "mig": lambda n, h: list(n.nvmlDeviceGetMigMode(h)),
    "mig_devices": _mig_devices,
    "compute_mode": lambda n, h: MODES.get(n.nvmlDeviceGetComputeMode(h), ""),
    "persistence": lambda n, h: bool(n.nvmlDeviceGetPersistenceMode(h)),
    # since the last reset ("volatile"): errors of the past do not matter to whoever asks today
    "ecc_uncorrected": lambda n, h: n.nvmlDeviceGetTotalEccErrors(
        h, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, n.NVML_VOLATILE_ECC
    ),
    "remap_pending": _remap_pending,
    # an idle card lowers its link: only the width, or the maximum, tells of a bad slot
    "link": lambda n, h: [n.nvmlDeviceGetCurrPcieLinkGeneration(h), n.nvmlDeviceGetCurrPcieLinkWidth(h)],
    "link_max": lambda n, h: [n.nvmlDeviceGetMaxPcieLinkGeneration(h), n.nvmlDeviceGetMaxPcieLinkWidth(h)],
    "throttle": _throttle,
    # [held to, comes with], in mW
    "power": lambda n, h: [n.nvmlDeviceGetEnforcedPowerLimit(h), n.nvmlDeviceGetPowerManagementDefaultLimit(h)],
    "clocks": lambda n, h: _clocks(n, h, n.NVML_CLOCK_SM),
    "memory_clocks": lambda n, h: _clocks(n, h, n.NVML_CLOCK_MEM),
    "nvlinks": _links,
    "fabric": _fabric,
    "virtual": lambda n, h: VIRTUAL.get(n.nvmlDeviceGetVirtualizationMode(h)),
    "licensed": _licensed,
    "processes": _processes,
}


if __name__ == "__main__":
    sys.exit(main())
