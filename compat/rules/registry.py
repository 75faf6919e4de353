"""All rules in one table, from the hardware up: that order breaks ties between findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.families import (
    arch_age,
    arch_libraries,
    arch_targets,
    builds,
    container_gpu,
    container_image,
    container_toolkit,
    device_support,
    docker,
    driver,
    environment,
    fabric,
    forward,
    health,
    installations,
    interconnect,
    kernel_module,
    libc,
    libraries,
    memory,
    modes,
    other_gpus,
    pairs,
    platforms,
    products,
    pythons,
    rocm,
    rocm_targets,
    rocm_versions,
    runtimes,
    systems,
    toolkit,
)

if TYPE_CHECKING:
    from compat.rules.rule import Rule

# The families, from the hardware up.
_FAMILIES: Final = (
    health, kernel_module, device_support, modes, products, fabric, interconnect, driver, forward, runtimes, rocm,
    rocm_targets, rocm_versions, other_gpus, container_gpu, container_image, docker, container_toolkit,
    platforms, libc, pythons, systems, arch_age, arch_targets, arch_libraries, builds, installations, libraries,
    pairs, toolkit, environment, memory,
)  # fmt: skip

# Code -> rule.
RULES: Final[dict[str, type[Rule]]] = {code: rule for each in _FAMILIES for code, rule in each.RULES.items()}
