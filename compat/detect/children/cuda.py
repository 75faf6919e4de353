"""Ask the CUDA driver library what it is and whether it starts; print one JSON object. Runs in its own process.

``cuDriverGetVersion`` answers before initialisation; ``cuInit`` is the first call that reaches the kernel driver, and
its return code is the most telling fact of all. No context is made and no memory is taken.

Output: a first line with the library's version, and a last one with cuInit's answer and the devices it shows.
"""

from __future__ import annotations

import ctypes
import json
import sys
from typing import Any

# No machine has more GPUs; a driver that says so is answering rubbish.
MOST = 64

# CUdevice_attribute (cuda.h).
ATTRIBUTES = {"major": 75, "minor": 76, "integrated": 18, "compute_mode": 20}

# Devices whose pairs are asked for peer access: a node has no more, and pairs grow with the square.
PAIRED = 16


def main() -> int:
    """Print what libcuda answers; the exit status is 0 whenever an answer was printed."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        cuda = ctypes.CDLL(name)
    except OSError as error:
        sys.stdout.write(json.dumps({"missing": str(error)[:300]}) + "\n")
        return 0
    # 0 or nothing here with a library in place is a stub
    answer: dict[str, Any] = {"version": _number(cuda, "cuDriverGetVersion")}
    sys.stdout.write(json.dumps({**answer, "more": True}) + "\n")
    sys.stdout.flush()  # told before the call that may hang
    # flags must be 0 (cuda.h); on a machine whose module is not loaded yet the driver may load it, as for any program
    code = _call(cuda, "cuInit", ctypes.c_uint(0))
    answer["init"] = "ok" if code == 0 else _error(cuda, code)
    if code == 0:
        count = _number(cuda, "cuDeviceGetCount") or 0
        answer["gpus"] = [_gpu(cuda, index) for index in range(count if 0 < count <= MOST else 0)]
        answer["peers"] = _peers(cuda, count if 1 < count <= PAIRED else 0)
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def _call(cuda: Any, name: str, *arguments: Any) -> int | None:
    """Return code of a driver call; ``None`` if this driver has no such call."""
    try:
        return int(getattr(cuda, name)(*arguments))
    except AttributeError:
        return None


def _number(cuda: Any, name: str, *arguments: Any) -> int | None:
    """An integer that a call writes through its first argument; ``None`` if it fails."""
    value = ctypes.c_int(-1)
    return value.value if _call(cuda, name, ctypes.byref(value), *arguments) == 0 else None


def _peers(cuda: Any, count: int) -> bool | None:
    """Whether each device can address the memory of each other one; ``None`` if a pair is not answered for.

    ``cuDeviceCanAccessPeer`` looks at the hardware and the driver alone: no context is made for it.
    """
    pairs = [(one, other) for one in range(count) for other in range(count) if one != other]
    found = [_number(cuda, "cuDeviceCanAccessPeer", *map(ctypes.c_int, pair)) for pair in pairs]
    return None if not found or any(each not in {0, 1} for each in found) else all(found)


def _error(cuda: Any, code: int | None) -> str:
    """The driver's own name for a code, CUDA_ERROR_NO_DEVICE; the number where it has none."""
    if code is None:
        return "cuInit is missing"
    text = ctypes.c_char_p()
    named = _call(cuda, "cuGetErrorName", ctypes.c_int(code), ctypes.byref(text)) == 0 and text.value
    return named.decode("utf-8", "replace")[:80] if named else f"CUDA error {code}"


def _gpu(cuda: Any, index: int) -> dict[str, Any]:
    """Name, memory, address, capability and kind of one device, as far as they are answered."""
    said: dict[str, Any] = {"index": index}
    device = _number(cuda, "cuDeviceGet", ctypes.c_int(index))
    if device is None:
        return said
    # each answer on its own: an old driver may know one and not the other
    label = ctypes.create_string_buffer(128)
    if _call(cuda, "cuDeviceGetName", label, ctypes.c_int(127), ctypes.c_int(device)) == 0:
        said["name"] = label.value.decode("utf-8", "replace")
    size = ctypes.c_size_t(0)
    if _call(cuda, "cuDeviceTotalMem_v2", ctypes.byref(size), ctypes.c_int(device)) == 0:
        said["memory"] = size.value
    bus = ctypes.create_string_buffer(32)
    if _call(cuda, "cuDeviceGetPCIBusId", bus, ctypes.c_int(31), ctypes.c_int(device)) == 0:
        said["bus"] = bus.value.decode("ascii", "replace").lower()
    for name, number in ATTRIBUTES.items():
        said[name] = _number(cuda, "cuDeviceGetAttribute", ctypes.c_int(number), ctypes.c_int(device))
    return said


if __name__ == "__main__":
    sys.exit(main())
