"""Lint of the GPU's vendor: builds and base images that are made for another one's GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import compat.lint.disputes as disputes
import compat.lint.nearest as nearest
from compat.findings import Evidence, Finding, Severity
from compat.joints.build import carried, is_maker_unseen
from compat.lint.finding import finding, of_base
from compat.lint.origins import number
from compat.lint.scene import RUNTIMES, Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.lint.finding import Said
    from compat.lint.walk import Taken
    from compat.matrix import rows


def wrong_vendor(scene: Scene) -> Iterator[Finding]:
    """wrong-vendor-build: a ROCm build on a CUDA base, or the other way round."""
    for item in scene.shipped:
        kind = re.match(r"cuda|rocm", item.build.runtime) if item.build else None
        if item.build is None or item.step.branch:
            continue  # an arm of an "if" is for one of several bases
        other = kind and scene.gpu in {"cuda", "rocm"} and kind.group() != scene.gpu
        if kind and other and len({row.runtime for row in carried(scene.matrix, item.build)}) == 1:
            package = scene.matrix.package(item.request.name)
            # a base of the other vendor may be there for its Python alone
            level: Severity = "error" if package and package.kind == "framework" else "warning"
            what = f"{item.request.text} is a {item.build.runtime} build"
            fix = nearest.there(item, scene) if scene.machine and item.request.exact and not item.of_conda else ""
            fix = fix or ("" if item.of_conda else _same_release(item, scene))
            yield _vendor(scene, item.request.line, what, level, fix, item.build)
    yield from _by_name(scene)
    yield from _vendor_words(scene)
    yield from _of_cluster(scene)
    if scene.base and scene.machine and scene.final and {scene.base.kind, scene.device} == {"cuda", "rocm"}:
        detail = f"{scene.base.reference} is made for another vendor's GPUs than {devices(scene)}."
        fix = "Start from an image of the GPU's vendor, or from a plain one."
        seen = (Evidence("gpus", devices(scene), scene.machine.source("gpus")),)
        yield finding("wrong-vendor-build", scene, scene.chain[0].line, detail, fix=fix, evidence=seen)


def _same_release(item: Taken, scene: Scene) -> str:
    """Where the same release lies for the vendor of the base: the newest runtime that is not newer than the base's."""
    mine = [row for row in scene.rows(item.request.name) if item.build and row.version == item.build.version]
    mine = [row for row in mine if row.runtime.startswith(scene.gpu) and row.index and scene.platform in row.platforms]
    limit = number(scene.rocm or (scene.base.cuda if scene.base else ""))
    mine = [row for row in mine if not limit or number(row.runtime)[: len(limit)] <= limit]
    best = max(mine, key=lambda row: number(row.runtime), default=None)
    asked = f"{item.request.name}=={best.full_version}" if best else ""
    return f"Ask for {asked} from {scene.matrix.index_url(best)}." if best else ""


def _by_name(scene: Scene) -> Iterator[Finding]:
    """NVIDIA's packages in a list whose own name says AMD's GPUs alone (``requirements-rocm.txt``)."""
    words = {*re.split(r"[-_./]", scene.ask.file.rpartition("/")[2].lower())}
    if scene.base is not None or "rocm" not in words or words & {"cuda", "nvidia"}:
        return
    named = [item for item in scene.own if disputes.NAMED.search(item.request.name) and not item.request.marker]
    if named:
        others = f" and {len(named) - 1} more" if len(named) > 1 else ""
        detail = f"{named[0].request.text}{others} is for NVIDIA's GPUs, and the file's name says AMD's."
        line, fix = named[0].request.line, "Leave it out: the builds for ROCm bring AMD's libraries."
        yield finding("wrong-vendor-build", scene, line, detail, severity="warning", fix=fix)


def _of_cluster(scene: Scene) -> Iterator[Finding]:
    """A container that asks a cluster for GPUs of another vendor than its image is made for."""
    wanted = RUNTIMES.get(scene.stage.vendor, "")
    if scene.base and wanted and scene.base.kind in {"cuda", "rocm"} and scene.base.kind != wanted:
        given = f"{scene.stage.vendor}.com/gpu"
        detail = f"{scene.base.reference} is made for another vendor's GPUs than {given} gives."
        fix = "Take the image of the GPU's vendor, or ask for the resource of the image's."
        yield of_base("wrong-vendor-build", scene, scene.stage.line, detail, fix=fix)


def _vendor_words(scene: Scene) -> Iterator[Finding]:
    """A GPU index of the other vendor named in a command or setting that runs later."""
    other = {"cuda": r"/whl/(?:nightly/)?rocm[\d.]+", "rocm": r"/whl/(?:nightly/)?cu\d{2,3}"}.get(scene.gpu)
    if other is None:
        return
    for name, value in scene.stage.env.items():
        if found := re.search(other, value):
            line = scene.stage.env_lines.get(name, scene.stage.line)
            yield _vendor(scene, line, f"{name} names {found.group()}")


def _vendor(
    scene: Scene, line: int, what: str, severity: Severity = "error", fix: str = "", build: rows.Build | None = None
) -> Finding:
    """A build for another vendor's GPUs than the base is made for, or than the machine has; its row, if one tells."""
    based = scene.base is not None and scene.base.kind == scene.gpu
    base = scene.base.reference if scene.base else ""
    where = f"on {base}" if based else f"and the GPU is {devices(scene)}"
    evidence = (
        () if based or scene.machine is None else (Evidence("gpus", devices(scene), scene.machine.source("gpus")),)
    )
    detail = f"{what}, {where}."
    said: Said = {"severity": severity, "fix": fix, "evidence": evidence}
    if build:
        unseen = is_maker_unseen(scene.matrix, build)
        said |= {"sources": (scene.matrix.cite(build),), "confidence": "likely" if unseen else "certain"}
    return finding("wrong-vendor-build", scene, line, detail, **said)


def devices(scene: Scene) -> str:
    """The GPUs of the machine that the files are meant for, as a person calls them."""
    gpus = scene.machine.gpus if scene.machine else None
    return ", ".join(dict.fromkeys(gpu.name or gpu.target for gpu in gpus or ()))
