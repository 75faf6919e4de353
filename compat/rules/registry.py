"""All rules in one table, from the hardware up: that order breaks ties between findings."""

from __future__ import annotations

from typing import Final

from compat.rules import (
    arch,
    builds,
    containers,
    devices,
    driver,
    engines,
    fabric,
    forward,
    health,
    libraries,
    pairs,
    places,
    platforms,
    rocm,
    toolkit,
    use,
)
from compat.rules.rule import Rule

RULES: Final[dict[str, type[Rule]]] = {
    **health.RULES,
    **devices.RULES,
    **fabric.RULES,
    **driver.RULES,
    **forward.RULES,
    **rocm.RULES,
    **containers.RULES,
    **engines.RULES,
    **platforms.RULES,
    **arch.RULES,
    **builds.RULES,
    **pairs.RULES,
    **libraries.RULES,
    **toolkit.RULES,
    **places.RULES,
    **use.RULES,
}
"""Code -> rule."""
