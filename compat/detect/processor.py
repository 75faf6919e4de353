"""Processor features and main memory.

The first processor stands for all: machines with unlike sockets do not exist in this field. Memory is what a process
here may have: the control group's limit where that is lower than the machine's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "processor"
FACTS: Final = ("cpu", "cpu_flags", "virtual_machine", "memory_mib", "memory_available_mib")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/proc"

# Fields by kernel: x86 "model name" and "flags", Arm "Features", POWER "cpu" (proc(5))
_CPUINFO: Final = "/proc/cpuinfo"
_MEMINFO: Final = "/proc/meminfo"
_FIELD: Final = pattern(r"^(model name|Processor|cpu model|cpu|flags|Features)\s*:\s*(.*)$", re.MULTILINE)
_MODEL: Final = ("model name", "Processor", "cpu model", "cpu")

# What wheels and their libraries ask for: x86-64-v2..v4 levels, AVX-512 and AMX parts, and Arm's names for theirs.
_FLAGS: Final = pattern(
    r"sse4_[12]|ssse3|popcnt|avx\w*|fma|f16c|bmi[12]|amx_\w+|asimd\w*|neon|sve2?|bf16|i8mm|cx16|movbe"
)

# Where a cgroup states its memory limit (Linux, admin-guide: cgroup-v2 and cgroup-v1 memory)
_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_USED: Final = ("/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Model and features of the first processor; memory in MiB, a cgroup's limit included."""
    if not machine.exists("/proc"):
        return dict.fromkeys(FACTS, Fact(None, SOUGHT))
    return {**_processor(machine), **_memory(machine)}


def _processor(machine: Machine) -> dict[str, Reading]:
    """Model and features; Arm kernels write ``Features`` where x86 ones write ``flags``."""
    reading = machine.read(_CPUINFO)
    if not isinstance(reading, Fact) or not reading.value:
        why = reading.why if isinstance(reading, Unknown) else f"{_CPUINFO} is empty or missing"
        return dict.fromkeys(("cpu", "cpu_flags", "virtual_machine"), Unknown(why, _CPUINFO))
    said: dict[str, str] = {}
    for key, value in _FIELD.findall(reading.value.split("\n\n", 1)[0]):
        said.setdefault(key, value.strip())
    # Arm and POWER kernels name the model under other keys, or not at all
    model = next((said[key] for key in _MODEL if said.get(key)), None)
    # x86 hypervisors announce themselves in the flags (CPUID leaf 1, ECX bit 31); other processors have no such bit
    virtual: Reading = Unknown("this processor has no flag for it", _CPUINFO)
    if "flags" in said:
        virtual = Fact("hypervisor" in said["flags"].split(), _CPUINFO)
    flags = _flags(said.get("flags") or said.get("Features"))
    return {"cpu": Fact(model, _CPUINFO), "cpu_flags": flags, "virtual_machine": virtual}


def _flags(line: str | None) -> Reading:
    """The features that builds ask for, sorted."""
    if line is None:
        return Unknown("the processor's features are not listed", _CPUINFO)
    found = {flag for flag in line.lower().split() if _FLAGS.fullmatch(flag)}
    if "asimd" in found:
        found.add("neon")  # AArch64's name for what builds call NEON
    return Fact(tuple(sorted(found)), _CPUINFO)


def _memory(machine: Machine) -> dict[str, Reading]:
    """Total and available memory, the group's limit included."""
    text = machine.text(_MEMINFO)
    sizes = re.findall(r"^(MemTotal|MemAvailable):\s+(\d{1,15}) kB", text, re.MULTILINE)
    said = {key: int(kib) * 1024 for key, kib in sizes}
    if "MemTotal" not in said:
        missing = Unknown(f"{_MEMINFO} does not state the memory", _MEMINFO)
        return {"memory_mib": missing, "memory_available_mib": missing}
    total, free, source = said["MemTotal"], said.get("MemAvailable"), _MEMINFO
    # a container's group states its limit; a machine's root group has none
    limit, used = _number(machine, _LIMITS), _number(machine, _USED)
    if limit is not None and limit < total:  # the group's limit is what a process here can have
        total, source = limit, f"{_MEMINFO} and the cgroup's limit"
        free = min(free or limit, max(0, limit - (used or 0)))
    available = Unknown("not stated", _MEMINFO) if free is None else Fact(free >> 20, source)
    return {"memory_mib": Fact(total >> 20, source), "memory_available_mib": available}


def _number(machine: Machine, paths: tuple[str, ...]) -> int | None:
    """The first of several files that holds a plain number; a group without a limit has none."""
    return next((number for path in paths if (number := machine.number(path)) is not None), None)
