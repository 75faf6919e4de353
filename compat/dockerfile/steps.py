"""What is installed in which order, from where, and what the image must then hold."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from compat import versions
from compat.installation import by_installation
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.plan import Plan, PlannedBuild


@dataclass(frozen=True, slots=True)
class Install:
    """One call of the installer.

    Attributes:
        requirements: exact requirements, in the plan's order.
        index: address of the index; empty for the default one.
        argument: name of the build argument that can replace ``index``.
        option: how the installer is told: ``--index-url``, or ``--find-links`` for a page of files.
        loose: names without a version that these builds import but do not declare.
    """

    requirements: tuple[str, ...]
    index: str = ""
    argument: str = ""
    option: str = ""
    loose: tuple[str, ...] = ()


def installs(plan: Plan, *, compiler: bool = False) -> tuple[Install, ...]:
    """One step per index, special indexes first; a page of links is asked beside the default one.

    Never two indexes in one call: pip takes the highest version that any index offers, so a second index lets an
    unpinned dependency (or somebody else's package of the same name) escape the first. What a special index has
    installed is then held by the constraints while the default index adds the rest.
    """
    ready = [build for build in plan.builds if not build.compile]  # the rest comes as wheels from a stage of its own
    found = list(_steps(ready))
    loose = _undeclared(plan, compiler=compiler)
    if loose and (not found or found[-1].option == "--index-url"):
        found.append(Install(()))
    return (*found[:-1], replace(found[-1], loose=loose)) if loose else tuple(found)


def _undeclared(plan: Plan, *, compiler: bool) -> tuple[str, ...]:
    """What the planned builds import without requiring it; pip used to bring it along, and is not in the image.

    ``import paddle`` imports setuptools (paddle/utils/cpp_extension/cpp_extension.py, seen when an image was built);
    Triton's launcher is compiled through setuptools (triton/runtime/build.py and, earlier, triton/common/build.py).
    """
    names = {build.name for build in plan.builds}
    needs = names & {"paddlepaddle", "paddlepaddle-gpu"} or (compiler and "torch" in names)
    return ("setuptools",) if needs else ()


def _steps(builds: Sequence[PlannedBuild]) -> Iterator[Install]:
    """The steps of builds that are not compiled; each page of links has its own, the first with the default index."""
    for key, own in by_installation(builds, lambda build: build.origin).items():
        pages = list(dict.fromkeys(build.index for build in own if build.links)) if key.shared else []
        for number, index in enumerate(pages or [key.only]):
            mine = [build for build in own if build.index == index or (number == 0 and not build.index)]
            wanted = tuple(text for build in mine for text in (build.requirement, *build.pins))
            first = next((build.name for build in mine if build.index), "")
            name = re.sub(r"\W+", "_", first).upper() + "_INDEX"
            option = "--find-links" if pages else "--index-url"
            yield Install(wanted, index, name, option) if index else Install(wanted)


def reason(step: Install, plan: Plan) -> str:
    """Why a step is as it is, for the comment above it."""
    if step.loose:
        return f"The default index; {', '.join(step.loose)} is imported by these builds and not declared."
    if step.option == "--find-links":
        return "The local version tag names one file of this page: the default index cannot answer in its place."
    if step.index:
        return "This index alone, so that no other one can answer with a build for another runtime."
    if any(build.cuda_from == "packages" for build in plan.builds if not build.index):
        return "The default index; the GPU libraries come as packages that these builds pin."
    return "The default index."


def constraints(plan: Plan) -> tuple[str, ...]:
    """Lines of the constraints file: every planned version, then what keeps shared dependencies within all builds."""
    return (*(f"{name}=={version}" for name, version in plan.versions().items()), *plan.constraints)


def toolkit_copies(plan: Plan) -> int:
    """How many copies of the GPU libraries the plan itself cannot do without.

    A wheel that bundles them and a framework that loads the system's are two; every further one is waste that the
    build refuses.
    """
    bundled = sum(build.cuda_from == "wheel" for build in plan.builds if build.runtime not in {"", "cpu"})
    shared = any(build.cuda_from == "packages" for build in plan.builds)
    system = any(item.startswith(("cuda", "rocm")) for item in plan.system)
    system = system or any(build.cuda_from == "system" for build in plan.builds)
    return bundled + shared + system


def gpu_targets(plan: Plan) -> tuple[str, ...]:
    """Targets that kernels are needed for; with ROCm, also the sibling that an override borrows from."""
    found = [gpu.target.partition(":")[0] for gpu in plan.gpus if gpu.target]
    override = (plan.env or {}).get("HSA_OVERRIDE_GFX_VERSION", "")
    if versions.is_release(override) and len(override.split(".")) == 3:
        high, middle, low = (int(part) for part in override.split("."))
        found.append(f"gfx{high}{middle:x}{low:x}")
    return tuple(dict.fromkeys(found))


def expectations(plan: Plan, *, imports: bool) -> dict[str, Any]:
    """What the build-time check is told; keys as ``dockerfiles/check.py`` reads them."""
    return {
        "python": plan.python.removesuffix("t"),
        "machines": list(plan.archs),
        "versions": plan.versions(),
        "copies": toolkit_copies(plan),
        "builds": {build.module: build.runtime for build in plan.builds if build.module and imports},
        **({"files": files} if (files := _files(plan)) else {}),
    }


def _files(plan: Plan) -> list[str]:
    """Files that the base must hold: the user-space driver of a plan that runs by forward compatibility.

    The folder is the first on the plan's loader path; the name is the soname that every CUDA program asks for.
    """
    folder = (plan.env or {}).get("LD_LIBRARY_PATH", "").partition(":")[0]
    return [f"{folder}/libcuda.so.1"] if plan.driver.package and folder else []
