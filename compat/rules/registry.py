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

# Code -> rule.
RULES: Final[dict[str, type[Rule]]] = {
    **health.RULES,
    **kernel_module.RULES,
    **device_support.RULES,
    **modes.RULES,
    **fabric.RULES,
    **interconnect.RULES,
    **driver.RULES,
    **forward.RULES,
    **runtimes.RULES,
    **rocm.RULES,
    **rocm_targets.RULES,
    **rocm_versions.RULES,
    **other_gpus.RULES,
    **container_gpu.RULES,
    **container_image.RULES,
    **docker.RULES,
    **container_toolkit.RULES,
    **platforms.RULES,
    **libc.RULES,
    **pythons.RULES,
    **systems.RULES,
    **arch_age.RULES,
    **arch_targets.RULES,
    **arch_libraries.RULES,
    **builds.RULES,
    **installations.RULES,
    **libraries.RULES,
    **pairs.RULES,
    **toolkit.RULES,
    **environment.RULES,
    **memory.RULES,
}
