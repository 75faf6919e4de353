"""Loaded kernel modules that concern GPUs, and what NVIDIA's module wrote to the kernel log.

Xid numbers are the kernel module's own error reports ("NVRM: Xid (PCI:0000:41:00): 79, ..."). Only the numbers are
kept: the lines also hold process names. Reading the log may need privileges; that is then the reason.

Sources: Linux, proc(5); modules.dep(5); Linux, Documentation/ABI/testing/dev-kmsg; NVIDIA, "Xid errors".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.detect.loader as loader
from compat.detect.base import LINUX
from compat.detect.context import container_kind
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from compat.detect.machine import Machine

NAME: Final = "kernel modules"
FACTS: Final = ("modules", "xids", "driver_log", "module_file")
SYSTEMS: Final = LINUX
SOUGHT: Final = "/proc/modules"

# NVIDIA's and nouveau's, pass-through, AMD's, Intel's, then accelerators by other makers
_CONCERN: Final = pattern(
    r"nvidia\w*|nouveau|nova_core|nvgpu|gdrdrv|vfio_pci|amdgpu|amdkfd|amdxdna|radeon|i915|xe|intel_vpu"
    r"|habanalabs|drv_davinci\w*|drv_devdrv_host|ib_peer_mem|dxgkrnl"
)
_BUILT_IN: Final = ("amdgpu", "nvidia", "nouveau", "i915", "xe")  # may be part of the kernel: then only /sys has them
_XID: Final = pattern(rb"NVRM: Xid \([^)\n]{1,64}\): (\d{1,3})")
# The module's own lines, and the words of those that say why it did not start a GPU; none of these names a process
_LINE: Final = pattern(rb"NVRM: [^\n]{1,400}")
_REFUSAL: Final = pattern(rb"RmInitAdapter|rm_init_adapter|GSP|is not supported by|does not include|API mismatch")
_MOST_LINES: Final = 8
_MODULE: Final = pattern(r"^(\S{1,200}/nvidia\.ko(?:\.\w{2,4})?):", re.MULTILINE)  # modules.dep(5)
_DEP_LIMIT: Final = 8 << 20
_LOG: Final = "/dev/kmsg"
_LOG_LIMIT: Final = 8 << 20  # the kernel's ring buffer is smaller unless someone enlarged it


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Names of modules; Xid numbers, and refusals to start a GPU, that NVIDIA's module wrote to the kernel log."""
    modules = _modules(machine)
    nvidia = isinstance(modules, Fact) and "nvidia" in modules.value
    # without the module nothing reports an Xid; whether it is there may itself be unknown
    without = Unknown(modules.why, _LOG) if isinstance(modules, Unknown) else Fact((), "no nvidia module is loaded")
    log = _log(machine)
    return {
        "modules": modules,
        "xids": _of_log(log, lambda text: (number.decode() for number in _XID.findall(text))) if nvidia else without,
        "driver_log": _of_log(log, _refusals),
        **_file(machine, nvidia),
    }


def _file(machine: Machine, loaded: bool) -> dict[str, Reading]:
    """Whether the running kernel has a module that could be loaded, asked only where libraries wait for one.

    A module that is there and not loaded was refused or never asked for; one that is not there was not built.
    """
    path = f"/lib/modules/{machine.system.release}/modules.dep"
    if loaded or not loader.find(machine, "libcuda.so.1") or container_kind(machine):
        return {}
    reading = machine.read(path, _DEP_LIMIT)
    if isinstance(reading, Unknown) or reading.value is None:
        return {"module_file": Unknown(f"{path} cannot be read", path)}
    found = _MODULE.search(reading.value)
    return {"module_file": Fact(found[1] if found else None, path)}


def _of_log(log: bytes | Unknown, read: Callable[[bytes], Iterable[str]]) -> Reading:
    """What ``read`` finds in the log, each once and in its order, or why there is no log."""
    return log if isinstance(log, Unknown) else Fact(tuple(dict.fromkeys(read(log))), _LOG)


def _modules(machine: Machine) -> Reading:
    """Loaded and built-in modules of our concern."""
    reading = machine.read("/proc/modules")
    if isinstance(reading, Unknown):
        return reading
    loaded = {line.split(" ", 1)[0] for line in (reading.value or "").splitlines()}
    loaded.update(name for name in _BUILT_IN if machine.exists(f"/sys/module/{name}"))
    if reading.value is None and not machine.exists("/sys/module"):
        return Unknown("neither /proc/modules nor /sys/module can be read", "/proc/modules")
    return Fact(tuple(sorted(name for name in loaded if _CONCERN.fullmatch(name))), "/proc/modules, /sys/module")


def _log(machine: Machine) -> bytes | Unknown:
    """The kernel's ring buffer, or why it may not be read (it may name people's programs, so systems restrict it)."""
    try:
        return machine.root.records(_LOG, _LOG_LIMIT)
    except OSError as error:
        return Unknown(f"the kernel log may not be read: {error.strerror}", _LOG)


def _refusals(log: bytes) -> list[str]:
    """The first lines in which the module says why it could not start a GPU."""
    found = (line for line in _LINE.findall(log) if _REFUSAL.search(line) and b"Xid" not in line)
    return [*dict.fromkeys(line.decode("utf-8", "replace").strip() for line in found)][:_MOST_LINES]
