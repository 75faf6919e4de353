"""macOS: processor, memory and Apple's GPU, from sysctl.

There is no CUDA or ROCm to look for; what matters is the processor, the memory it shares with its GPU, and whether the
interpreter runs natively.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.facts import Fact, Gpu, Reading, Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "macOS"
FACTS: Final = ("cpu", "cpu_flags", "memory_mib", "gpus", "python_arch", "arch")
SYSTEMS: Final = frozenset({"darwin"})
SOUGHT: Final = "sysctl"

_KEYS: Final = ("machdep.cpu.brand_string", "hw.memsize", "hw.optional.arm64", "machdep.cpu.features")


def present(machine: Machine) -> bool:
    """Whether this is macOS."""
    return machine.system.name == "darwin"


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
    flags = (
        ("neon",) if apple else tuple(sorted(said.get("machdep.cpu.features", "").lower().replace(".", "_").split()))
    )
    # Apple's GPU has the processor's name and uses its memory
    gpu = Gpu(name=model or "", vendor="apple", integrated=True, memory_mib=memory)
    return {
        "arch": Fact("arm64" if apple else machine.system.machine, "sysctl hw.optional.arm64"),
        "python_arch": Fact(machine.system.machine, "uname of this process"),
        "cpu": Fact(model, SOUGHT),
        "cpu_flags": Fact(flags, SOUGHT),
        "memory_mib": Fact(memory, SOUGHT) if memory else Unknown("hw.memsize is not told", SOUGHT),
        "gpus": Fact((gpu,), SOUGHT) if apple else Unknown("GPUs of Intel Macs are not read", SOUGHT),
    }
