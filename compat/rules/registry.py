"""All rules in one table, from the hardware up: that order breaks ties between findings."""

from __future__ import annotations

from typing import Final

from compat.rules.families import (
    arch_age,
    arch_targets,
    builds,
    container,
    device_support,
    docker,
    driver,
    environment,
    health,
    installations,
    interconnect,
    kernel_module,
    libraries,
    memory,
    modes,
    other_gpus,
    pairs,
    platforms,
    pythons,
    rocm,
    rocm_versions,
    runtimes,
    systems,
    toolkit,
)
from compat.rules.rule import Rule, family

# The families, from the hardware up; in each, its rules in the order in which they are written.
_FAMILIES: Final = (
    health, kernel_module, device_support, modes, interconnect, driver, runtimes, rocm, rocm_versions,
    other_gpus, container, docker, platforms, pythons, systems, arch_age, arch_targets, builds,
    installations, libraries, pairs, toolkit, environment, memory,
)  # fmt: skip

# Code -> rule.
RULES: Final[dict[str, type[Rule]]] = family(
    *(
        each
        for module in _FAMILIES
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Rule) and each.__module__ == module.__name__
    )
)
