"""Lint of what an image holds twice: CUDA of the base and of wheels, a framework of the base and of a step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.lint.images as images
from compat.joints import packages
from compat.joints.verdict import Clash
from compat.lint.finding import finding, of_request
from compat.lint.origins import GPU_EXTRA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.sources.values import Request

# A build for one CUDA of which the matrix knows nothing: it may link the image's.
_LOCAL_CUDA: Final = re.compile(r"\+cu(?:da)?\d+")
_CONDA_NVCC: Final = frozenset({"cuda", "cuda-toolkit"})
_CONDA_CUDA: Final = _CONDA_NVCC | {"cudatoolkit", "pytorch-cuda", "cuda-runtime"}
_LEAVE: Final = "Leave {} as the image brings it, or start from an image without it."


def double_cuda(scene: Scene) -> Iterator[Finding]:
    """double-cuda: libraries in the base, and the same again from wheels or conda packages."""
    base = scene.base
    if base is None or not base.has_cuda_libraries or not scene.final:
        return
    carriers = [item for item in scene.builds if item.build and item.build.cuda_from in {"wheel", "packages"}]
    carriers = [item for item in carriers if not item.of_conda]
    if base.installed:  # whose own framework needs the CUDA that is there: only what takes its place makes it idle
        stays = {*base.installed} - _cleared(scene)
        carriers = [item for item in carriers if item.request.name in stays]
    needy = [item for item in scene.builds if (item.build and item.build.cuda_from == "system")]
    needy += [item for item in scene.env if item.build is None and _LOCAL_CUDA.search(item.request.exact)]
    carried = {"pytorch-cuda"} if base.installed else _CONDA_CUDA  # a toolkit compiles for a framework that stays
    conda = [item for item in scene.conda if item.name in carried]
    names = [item.text if item.by else f"{item.request.name} {item.version}" for item in carriers]
    names += [f"conda's {item.name}" for item in conda]
    brought = [] if base.installed else _brought_along(scene)
    names += [f"{request.name}'s {package}" for request, package in brought if not carriers]
    nvcc = any(item.name in _CONDA_NVCC for item in conda)  # else what is compiled needs the base's
    if names and (conda or not needy) and not (base.flavour == "devel" and scene.compiles and not nvcc):
        line = (carriers[0].request if carriers else conda[0] if conda else brought[0][0]).line
        bring, they = ("brings its", "it") if len(names) == 1 else ("bring their", "them")
        unused = f"the one of {base.reference} is never loaded by {they}"
        detail = f"{' and '.join(names)} {bring} own CUDA; {unused}."
        bare = base.reference.replace(f"-{base.flavour}", "-base")
        fix = (
            f"Start from {bare} or a plain image."
            if base.flavour and not base.cudnn and images.stands(bare, scene.matrix)
            else ""
        )
        yield finding("double-cuda", scene, line, detail, severity="warning", fix=fix)


def _brought_along(scene: Scene) -> list[tuple[Request, str]]:
    """Applications with the framework that they bring in its default build, where that build brings CUDA."""
    found = []
    for request, row in scene.applications:
        for package in row.pulls:
            newest = next((b for b in reversed(scene.matrix.builds(package)) if not b.index and not b.yanked), None)
            if newest and any(
                build.cuda_from in {"wheel", "packages"} and not build.index and not build.extras
                for build in scene.matrix.builds(package)
                if build.version == newest.version
            ):
                found.append((request, package))
    return found


def replaced(scene: Scene) -> Iterator[Finding]:
    """framework-duplicate-install: a framework image whose framework a step replaces."""
    base, there, cleared = scene.base, {id(item) for item in scene.env}, _cleared(scene)
    for old, new in scene.replaced:
        package = scene.matrix.package(new.request.name)
        if base is None or not old.base or not new.mine or package is None or package.kind != "framework":
            continue
        if re.search(r"\+(?:\w+\.)?nv\d", new.request.exact):
            continue  # made for this JetPack or container, and put there on purpose
        if old.request.name not in base.installed and new.version:
            continue  # what the image is made for requires the old one: told as a pair
        if id(new) not in there or old.version.partition("+")[0] == new.version.partition("+")[0] != "":
            continue
        what = new.text if new.by else f"{new.request.name} {new.version}".rstrip()
        brought = f"{old.request.name} {old.version}".rstrip()
        left = _left_behind(old, new, scene)
        if not left and old.request.name in cleared:
            continue
        detail = f"{base.reference} brings {brought}; this step puts {what} over it."
        detail += f" Its own {' and '.join(left)} cannot load with that." if left else ""
        code, fix = "framework-duplicate-install", _LEAVE.format(old.request.name)
        yield finding(code, scene, new.request.line, detail, severity="warning", fix=fix)
        return


def extras(scene: Scene) -> Iterator[Finding]:
    """framework-duplicate-install: an extra for GPUs of the framework that NVIDIA's image has in a build of its own.

    pip leaves the framework where it is, and installs what that extra requires: the index's plug-ins and libraries.
    """
    for item in scene.own:
        base, asked = scene.base, [extra for extra in item.request.extras if GPU_EXTRA.match(extra)]
        if base and asked and item.outcome.why == "kept" and base.repository.startswith("nvcr.io/nvidia/"):
            what = f"[{asked[0]}] puts the index's own libraries beside it"
            detail, fix = f"{base.reference} brings {item.request.name}; {what}.", _LEAVE.format(item.request.name)
            code = "framework-duplicate-install"
            yield of_request(code, item, scene, detail, severity="warning", confidence="likely", fix=fix)
            return


def _cleared(scene: Scene) -> set[str]:
    """What steps uninstall, mostly of the base, to put another in its place on purpose."""
    steps = (step for part in scene.chain for step in part.installs if step.action == "uninstall")
    return {one.name for step in steps for one in step.requests}


def _left_behind(old: Taken, new: Taken, scene: Scene) -> list[str]:
    """What follows a base's framework release by release and stays where another takes its place.

    Of NVIDIA's images it is not known which of PyTorch's companions they bring.
    """
    if old.outcome.why == "vendor" or not old.version:
        return []
    if new.version and not isinstance(packages.loads(old.version, new.version), Clash):
        return []
    brought = {one.request.name for one in scene.env if one.base}
    known = (scene.matrix.package(name) for name in brought)
    return sorted(one.name for one in known if one and one.follows == old.request.name)


RULES: Final = (replaced, extras, double_cuda)
