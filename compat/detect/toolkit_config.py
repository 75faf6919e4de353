"""Settings of NVIDIA's container toolkit: how GPUs are put into containers, and which requests are refused.

The file is TOML. Needed are plain settings of one line each, which are read here: importing a TOML reader costs more
than the rest of this detector, and older Pythons have none.

Source: NVIDIA Container Toolkit, config.toml (``nvidia-ctk config default``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.detect.base import LINUX
from compat.facts import Fact, Reading, Unknown
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "container toolkit settings"
FACTS: Final = ("toolkit_config",)
SYSTEMS: Final = LINUX
SOUGHT: Final = "/etc/nvidia-container-runtime/config.toml"

_SECTION: Final = pattern(r"\[([\w.-]{1,80})\]")
_SETTING: Final = pattern(r"([\w-]{1,60})\s*=\s*(\"[^\"]{0,200}\"|true|false|\d{1,9})")
_MOST: Final = 100
# "@" before a path means the host's program, not the container's; it differs between distributions
_LDCONFIG: Final = "nvidia-container-cli.ldconfig"


def facts(machine: Machine) -> Mapping[str, Reading]:
    """Every plain setting under its dotted name (``nvidia-container-runtime.mode``); comments are not settings.

    ``missing`` names a program that the settings start and that is not there.
    """
    reading = machine.read(SOUGHT, 1 << 16)
    if isinstance(reading, Unknown) or reading.value is None:
        return {"toolkit_config": reading}
    section, found = "", dict[str, str]()
    for line in reading.value.splitlines():
        text = line.strip()
        if head := _SECTION.match(text):
            section = f"{head[1]}."
        elif (said := _SETTING.match(text)) and len(found) < _MOST:
            found[f"{section}{said[1]}"] = said[2].strip('"')
    if (program := found.get(_LDCONFIG, "")).startswith("@/") and not machine.exists(program[1:]):
        found["missing"] = program[1:]
    return {"toolkit_config": Fact(found, SOUGHT)}
