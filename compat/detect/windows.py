"""Windows: display adapters, processor, C++ runtime, two settings and CUDA toolkits, from the registry and disk.

The registry is read directly: asking WMI starts a service and takes a second. Adapters are listed whether or not a
vendor's library answers, so that a card without a working driver is seen here too.

Sources: Microsoft, "System-Defined Device Setup Classes" (the GUID of display adapters), "TDR Registry Keys", "Maximum
Path Length Limitation", "Redistributing Visual C++ Files" (the runtime's key); NVIDIA names its releases by the last
five digits of the Windows version (31.0.15.3623 is 536.23).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from compat.facts import Fact, Gpu, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.detect.machine import Machine

NAME: Final = "Windows"
FACTS: Final = ("msvc", "long_paths", "tdr_delay", "cpu", "cuda_toolkits", "cuda_toolkit")
SYSTEMS: Final = frozenset({"windows"})
SOUGHT: Final = "registry, C:/Windows/System32"

_ADAPTERS: Final = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
_FILES: Final = r"SYSTEM\CurrentControlSet\Control\FileSystem"
_DRIVERS: Final = r"SYSTEM\CurrentControlSet\Control\GraphicsDrivers"
_RUNTIME: Final = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\X64"
_PROCESSOR: Final = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
_TOOLKITS: Final = "C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA"  # where NVIDIA's installer puts them: v12.4
_RELEASE: Final = pattern(r"/v?([0-9]{1,2}\.[0-9]{1,2})$")
_LIBRARY: Final = "C:/Windows/System32/msvcp140.dll"
_VENDORS: Final = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
_IDS: Final = pattern(r"PCI\\VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", re.IGNORECASE)
_MOST: Final = 16  # keys of adapters are numbered from 0000; uninstalled ones leave gaps
_DEFAULT_DELAY: Final = 2  # seconds of TdrDelay where no value is set (Microsoft, "TDR Registry Keys")
_TDR_OFF: Final = 0  # TdrLevelOff


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Adapters, NVIDIA's driver by its Windows version, the C++ runtime, and two settings of the system."""
    adapters = [each for each in _adapters(machine) if each.get("DriverDesc")]
    driver = next((found for each in adapters if (found := _driver(each))), "")
    return {
        "gpus": Fact(tuple(gpu for each in adapters if (gpu := _gpu(each)) is not None), "registry, display adapters"),
        **({"driver": Fact(driver, "registry, DriverVersion")} if driver else {}),
        "msvc": _runtime(machine),
        "long_paths": _setting(machine, _FILES, "LongPathsEnabled", lambda value: value == 1),
        "tdr_delay": _watchdog(machine),
        "cpu": _setting(machine, _PROCESSOR, "ProcessorNameString", lambda value: str(value or "").strip() or None),
        **_toolkits(machine),
    }


def _toolkits(machine: Machine) -> dict[str, Reading]:
    """CUDA toolkits where the installer puts them and where CUDA_PATH says; the one whose nvcc comes first on PATH."""
    named = [
        machine.env[name].replace("\\", "/").rstrip("/") for name in ("CUDA_PATH", "CUDA_HOME") if name in machine.env
    ]
    places = dict.fromkeys((*(f"{_TOOLKITS}/{name}" for name in machine.names(_TOOLKITS)), *named))
    folders = [folder for folder in places if machine.exists(f"{folder}/bin/nvcc.exe")]
    found = {folder: version[1] if (version := _RELEASE.search(folder)) else "" for folder in folders}
    compiler = machine.which("nvcc").replace("\\", "/")
    holding = (folder for folder in folders if compiler.lower().startswith(f"{folder.lower()}/"))
    first = found.get(next(holding, ""), "")
    seen: Reading = Fact(first or None, compiler or "PATH")
    if compiler and not first:
        seen = Unknown("the folder of nvcc does not name its release", compiler)
    return {"cuda_toolkits": Fact(found, _TOOLKITS), "cuda_toolkit": seen}


def _adapters(machine: Machine) -> Iterator[Mapping[str, Any]]:
    """The registry's record of each display adapter."""
    for index in range(_MOST):
        reading = machine.registry(f"{_ADAPTERS}\\{index:04d}")
        if isinstance(reading, Fact) and reading.value:
            yield reading.value


def _gpu(said: Mapping[str, Any]) -> Gpu | None:
    """One adapter; ``None`` for those that are no GPU (remote desktops, virtual displays)."""
    found = _IDS.match(str(said.get("MatchingDeviceId", "")))
    if found is None or (vendor := _VENDORS.get(found[1].lower())) is None:
        return None
    size = said.get("HardwareInformation.qwMemorySize")
    return Gpu(
        name=str(said["DriverDesc"])[:120],
        vendor=vendor,
        pci=f"{found[1]}:{found[2]}".lower(),
        memory_mib=size >> 20 if isinstance(size, int) and 0 < size < 1 << 50 else None,
    )


def _driver(said: Mapping[str, Any]) -> str:
    """NVIDIA's release from Windows' number for it; empty for other vendors' adapters."""
    digits = str(said.get("DriverVersion", "")).replace(".", "")[-5:]
    ours = "VEN_10DE" in str(said.get("MatchingDeviceId", "")).upper()
    return f"{digits[:3]}.{digits[3:]}" if ours and re.fullmatch(r"[1-9][0-9]{4}", digits) else ""


def _runtime(machine: Machine) -> Reading:
    """Release of the C++ runtime that its installer recorded; else by its library, which programs may bring along."""
    reading = machine.registry(_RUNTIME)
    version = str((reading.value or {}).get("Version", "")) if isinstance(reading, Fact) else ""
    if version:
        return Fact(version.lstrip("v"), _RUNTIME)
    if machine.exists(_LIBRARY):
        return Fact("14, release not recorded", _LIBRARY)
    return reading if isinstance(reading, Unknown) else Fact(None, f"{_RUNTIME}, {_LIBRARY}")


def _setting(machine: Machine, key: str, name: str, read: Any) -> Reading:
    """One value of a key, read by ``read`` (which gets ``None`` where the value is not set)."""
    reading = machine.registry(key)
    return reading if isinstance(reading, Unknown) else Fact(read((reading.value or {}).get(name)), f"{key}\\{name}")


def _watchdog(machine: Machine) -> Reading:
    """Seconds that a GPU may be silent; 0 where the watchdog is switched off."""
    level = _setting(machine, _DRIVERS, "TdrLevel", lambda value: value)
    if isinstance(level, Fact) and level.value == _TDR_OFF and level.value is not None:
        return Fact(0, level.source)
    return _setting(machine, _DRIVERS, "TdrDelay", lambda value: value if isinstance(value, int) else _DEFAULT_DELAY)
