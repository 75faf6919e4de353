"""From an assignment to a plan: what to install from where, on which image, and what the host must bring.

Everything a later step needs is written into the plan: whoever writes the Dockerfile, the lock or the CI grid reads
neither the matrix nor the target. Two numbers tell of drivers. The *minimum* is the lowest on which every build runs on
every GPU of the target: the family floor of minor-version compatibility where the code is native, the toolkit's own
driver where PTX has to be compiled, the first driver that knows the device in any case. The *comfortable* one is the
driver that was released for the runtime, with which nothing is restricted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.plan import NO_CODE, BaseImage, Plan, PlannedBuild
from compat.resolve.caveats import conditions
from compat.resolve.driving import driver_need, forward_env
from compat.resolve.pins import asked, constraints
from compat.resolve.search import runtime_of
from compat.resolve.serving import is_bare, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.resolve.build_fit import Weighed
    from compat.resolve.search import Assignment, Search
    from compat.resolve.variables import Variable


# What NVIDIA's own images set so that the container runtime hands the GPU in; a plain system must set it itself.
_NVIDIA_ENV: Final = {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility", "NVIDIA_VISIBLE_DEVICES": "all"}


def plan_of(search: Search, found: Assignment) -> Plan:
    """The complete plan of an assignment, its choices left to :mod:`compat.resolve.choices`.

    The builds are those of the assignment; wishes about shared dependencies end as constraints.
    """
    chosen = [weighed for weighed in found.chosen if weighed.option.version]
    runtime = _told_runtime(search, chosen)
    driver = driver_need(search, chosen, found.place)
    gpus = tuple(verdicts(search, chosen))
    kept = constraints(found.chosen, found.footing.python, found.place, search.known)
    return Plan(
        runtime=runtime,
        python=found.footing.python,
        arch=found.place.partition("_")[2].replace("amd64", "x86_64"),
        base_image=found.footing.image,
        builds=tuple(_in_order(search, chosen)),
        system=tuple(sorted({item for weighed in chosen for item in weighed.option.build.system})),
        constraints=tuple(kept.values()),
        asked=tuple(kept[name] for name in asked(found.chosen) if name in kept),
        driver=driver,
        gpus=gpus,
        serves=() if search.target.devices else _serves(chosen),
        env={**_env(runtime, found.footing.image), **forward_env(driver)} or None,
        conditions=tuple(conditions(search, found, chosen, driver, gpus)),
        matrix=search.known.matrix.digest,
    )


def _serves(chosen: Sequence[Weighed]) -> tuple[str, ...]:
    """The GPU targets that every build carries code for, as far as its code is known."""
    builds = [weighed.option for weighed in chosen if weighed.option.vendor not in {"", "cpu"}]
    lists = [option.build.kernels for option in builds if option.build.kernels not in {(), ("-",)}]
    return tuple(target for target in lists[0] if all(target in each for each in lists)) if lists else ()


def _told_runtime(search: Search, chosen: Sequence[Weighed]) -> str:
    """The plan's runtime; :data:`NO_CODE` where no build has GPU code although nobody asked for the CPU.

    With the CPU asked for, a wheel that drives Apple's GPU too counts as what it is wanted for.
    """
    if search.target.cpu:
        return "cpu"
    return NO_CODE if is_bare(search, chosen) else runtime_of(chosen)


def _in_order(search: Search, chosen: Sequence[Weighed]) -> Iterator[PlannedBuild]:
    """Builds in the order asked; a framework that a companion brought in goes before its companions."""
    by_name = {weighed.option.package: weighed for weighed in chosen}
    told = [variable for variable in search.variables if variable.package in by_name]
    for variable in sorted(told, key=lambda variable: bool(variable.wishes)):
        yield planned(search, variable, by_name[variable.package])


def planned(search: Search, variable: Variable, weighed: Weighed) -> PlannedBuild:
    """One build as the plan tells it."""
    option, build, matrix = weighed.option, weighed.option.build, search.known.matrix
    row = matrix.packages[option.package]
    indexes = {index.name: index for index in matrix.table("indexes")}
    extra = {extra for wish, _ in variable.wishes for extra in wish.extras}
    return PlannedBuild(
        name=build.install_name or row.name,
        version=option.full,
        runtime=option.runtime,
        index=matrix.index_url(build),
        links=bool(build.index) and indexes[build.index].links,
        extras=tuple(sorted({*build.extras, *extra}.difference(build.also))),
        pins=build.pins,
        cuda_from=build.cuda_from,
        module=row.module,
        asked=bool(variable.wishes),
        source=f"builds.{option.package} {option.full} {option.runtime}".strip() + f" ({matrix.cite(build)})",
        how=build.how,
        compile=build.compiled,
    )


def _env(runtime: str, image: BaseImage | None) -> dict[str, str]:
    """Environment that the plan needs beyond what its image sets."""
    if runtime.startswith("cuda") and image is not None and not image.image.startswith("nv"):
        return dict(_NVIDIA_ENV)
    return {}
