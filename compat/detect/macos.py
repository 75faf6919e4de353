"""macOS: processor, memory and Apple's GPU, from sysctl; the graphics cards of Intel Macs, from system_profiler.

There is no CUDA or ROCm to look for; what matters is the processor, the memory it shares with its GPU, and whether the
interpreter runs natively. ``system_profiler`` takes most of a second and is started on Intel Macs only.

Sources: Apple, sysctl(3) and "About the Rosetta translation environment"; system_profiler(8), ``-json``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.detect.answers import text
from compat.facts import Fact, Gpu, Reading, Unknown
from compat.untrusted import json_of, rows, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "macOS"
FACTS: Final = ("cpu", "cpu_flags", "memory_mib", "gpus", "python_arch", "arch")
SYSTEMS: Final = frozenset({"darwin"})
SOUGHT: Final = "sysctl"

_PROFILER: Final = ("/usr/sbin/system_profiler", "-json", "SPDisplaysDataType")
_VENDORS: Final = {"amd": "1002", "nvidia": "10de", "intel": "8086"}
_KEYS: Final = ("machdep.cpu.brand_string", "hw.memsize", "hw.optional.arm64", "machdep.cpu.features")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """A Python under Rosetta sees an Intel machine; ``hw.optional.arm64`` tells the truth (Apple, Rosetta notes)."""
    outcome = machine.ask(["/usr/sbin/sysctl", *_KEYS])  # a key that this processor lacks makes the status non-zero
    said = dict(re.findall(r"^([\w.]+): (.*)$", outcome.out, re.MULTILINE))
    # a key that does not exist is reported on standard error and the others are printed all the same
    if not said:
        return dict.fromkeys(FACTS, Unknown(outcome.why or "sysctl told nothing", SOUGHT))
    apple = said.get("hw.optional.arm64") == "1"
    model = said.get("machdep.cpu.brand_string")
    memory = int(said["hw.memsize"]) >> 20 if re.fullmatch(r"[0-9]{1,18}", said.get("hw.memsize", "")) else None
    features = said.get("machdep.cpu.features", "").lower().replace(".", "_").split()
    flags = ("neon",) if apple else tuple(sorted(features))
    # Apple's GPU has the processor's name and uses its memory
    gpu = Gpu(name=model or "", vendor="apple", integrated=True, memory_mib=memory)
    return {
        "arch": Fact("arm64" if apple else machine.system.machine, "sysctl hw.optional.arm64"),
        "python_arch": Fact(machine.system.machine, "uname of this process"),
        "cpu": Fact(model, SOUGHT),
        "cpu_flags": Fact(flags, SOUGHT),
        "memory_mib": Fact(memory, SOUGHT) if memory else Unknown("hw.memsize is not told", SOUGHT),
        "gpus": Fact((gpu,), SOUGHT) if apple else _cards(machine),
    }


def _cards(machine: Machine) -> Reading:
    """Graphics of an Intel Mac, as system_profiler lists them."""
    outcome = machine.ask(_PROFILER)
    if (listed := table(json_of(outcome.out)).get("SPDisplaysDataType")) is None:
        return Unknown(outcome.why or "system_profiler lists no graphics", "system_profiler")
    return Fact(tuple(_card(each) for each in rows(listed)), "system_profiler")


def _card(said: dict[str, object]) -> Gpu:
    """One card: vendors are told as ``AMD (0x1002)`` or by a key such as ``sppci_vendor_amd``."""
    maker = str(said.get("spdisplays_vendor", "")).lower()
    vendor = next((name for name, id_ in _VENDORS.items() if f"0x{id_}" in maker or maker.endswith(f"_{name}")), "")
    shared = "spdisplays_vram_shared" in said
    memory = str(said.get("spdisplays_vram_shared" if shared else "spdisplays_vram", ""))
    size = re.match(r"([0-9]{1,6}) (MB|GB)", memory)
    number = str(said.get("spdisplays_device-id", "")).removeprefix("0x")
    return Gpu(
        name=text(said.get("sppci_model"), 120),
        vendor=vendor,
        pci=f"{_VENDORS[vendor]}:{number}" if vendor and re.fullmatch(r"[0-9a-f]{4}", number) else "",
        integrated=shared,
        memory_mib=int(size[1]) * (1024 if size[2] == "GB" else 1) if size else None,
    )
