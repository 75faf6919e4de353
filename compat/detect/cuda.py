"""What the CUDA driver library answers to its first call, asked in a process of its own.

NVML tells what the kernel driver manages; only libcuda tells whether a CUDA program would start, and why not:
``CUDA_ERROR_NO_DEVICE`` (hidden or missing), ``SYSTEM_DRIVER_MISMATCH`` (library and module differ),
``SYSTEM_NOT_READY`` (fabric manager), ``COMPAT_NOT_SUPPORTED_ON_DEVICE``, ``STUB_LIBRARY``, ``UNKNOWN``. It is also
the only source on Jetson modules without NVML, and it honours ``CUDA_VISIBLE_DEVICES`` as any program would.

Source: CUDA driver API reference, "Initialization" and "Version Management".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import compat.detect.loader as loader
from compat import versions
from compat.detect.answers import FAILED, ask, count, faults, text
from compat.detect.base import ANYWHERE
from compat.detect.nvml import bus, target
from compat.facts import Fact, Gpu, Reading, Unknown
from compat.untrusted import rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "CUDA driver library"
FACTS: Final = ("cuda_init", "driver_cuda", "peer_access")
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "libcuda.so.1 on the loader's path"

_MODES: Final = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}  # CUcomputemode


def facts(machine: Machine) -> Mapping[str, Reading]:
    """What cuInit answers; CUDA's version of the library; GPUs, for places without NVML (Jetson, slim images)."""
    library = loader.driver_library(machine, "libcuda.so.1", "C:/Windows/System32/nvcuda.dll")
    if not library:
        return dict.fromkeys(FACTS, Fact(None, SOUGHT))
    answer = ask(machine, "cuda.py", library)
    if isinstance(answer, Unknown):
        return {"cuda_init": answer, "peer_access": answer, "gpus": answer, **faults(answer.why, library)}
    if "missing" in answer:
        why = Unknown(f"libcuda.so.1 cannot be loaded: {text(answer['missing'], 200)}", NAME)
        return {"cuda_init": why, "peer_access": why}
    # no answer although the process printed something: it hung or crashed inside cuInit
    state, failed = text(answer.get("init"), 80), text(answer[FAILED], 300)
    gpus = tuple(_gpu(each) for each in rows(answer.get("gpus")))
    return {
        "cuda_init": Fact(state, "cuInit") if state else Unknown(failed or "cuInit told nothing", NAME),
        **_version(machine, answer),
        "peer_access": _peers(answer.get("peers"), len(gpus)),
        **({"gpus": Fact(gpus, NAME)} if gpus else {"gpus": Unknown(failed, NAME)} if failed else {}),
        **faults(failed, library),
    }


def _peers(said: Any, devices: int) -> Reading:
    """Whether every pair has peer access; a known absence where there is no pair."""
    if isinstance(said, bool):
        return Fact(said, "cuDeviceCanAccessPeer")
    if devices < 2:
        return Fact(None, "fewer than two CUDA devices")
    return Unknown("cuDeviceCanAccessPeer did not tell it for every pair", NAME)


def _version(machine: Machine, answer: dict[str, Any]) -> dict[str, Reading]:
    """cuDriverGetVersion, unless the library is a forward-compatibility copy, which answers for itself."""
    number = count(answer.get("version"), 100_000)
    if not number or loader.compat_libcuda(machine):
        return {}
    return {"driver_cuda": Fact(versions.unpacked_cuda(number), "cuDriverGetVersion")}


def _gpu(said: dict[str, Any]) -> Gpu:
    """One GPU; an integrated one (Jetson) has no PCI address worth the name."""
    flag = count(said.get("integrated"), 1)
    integrated = None if flag is None else flag == 1
    memory = count(said.get("memory"), 1 << 50)
    return Gpu(
        name=text(said.get("name"), 120),
        vendor="nvidia",
        target=target([said.get("major"), said.get("minor")]),
        bus="" if integrated else bus(text(said.get("bus"), 40)),
        memory_mib=memory >> 20 if memory else None,
        integrated=integrated,
        compute_mode=_MODES.get(said.get("compute_mode", -1), "") if type(said.get("compute_mode")) is int else "",
    )
