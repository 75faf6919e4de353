"""What the steps will install, on the machine that it is meant for: the doctor's rules, asked before anything is built.

Only verdicts that rest on both are told here. What is wrong with the machine by itself, the doctor says; what is wrong
with the file on any machine, the other rules of lint say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.lint.cpu_builds as cpu_builds
import compat.lint.nearest as nearest
import compat.lint.vendors as vendors
from compat.facts import Build, Fact, Host
from compat.findings import Confidence, Evidence, Finding, Fix, Place, Unchecked
from compat.joints import platform, toolkit
from compat.joints.build import is_maker_unseen, is_unseen, vendor_of
from compat.joints.verdict import Clash, clash_of
from compat.lint.finding import finding, of_base, of_request
from compat.lint.scene import RUNTIMES, Scene

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat import facts
    from compat.lint.bases import Base
    from compat.lint.finding import Said
    from compat.lint.walk import Taken
    from compat.matrix import rows

# What a file that is installed into the machine itself finds of it.
INTERPRETER: Final = ("python", "glibc", "libc")
# A GPU that the driver does not serve runs nothing of what is installed.
_DRIVEN: Final = frozenset({"gpus", "driver"})
# What another release mends.
_MOVED: Final = frozenset({"arch-too-new-for-build", "arch-too-old-for-build", "driver-too-old-for-runtime"})
_OURS: Final = frozenset({"builds", "packages", "image", "image_env", "rocm"})


def judged(scene: Scene) -> Iterator[Finding]:
    """Findings about each build that the shipped environment gets, and about its base image, on the scene's machine."""
    if scene.machine is None or not scene.final:
        return
    names = (*nearest.DEVICES, *(() if scene.base or scene.ask.kind == "dockerfile" else INTERPRETER))
    seen = {name: scene.machine.reading(name) for name in names if name in scene.machine}
    said = {
        (one.place, "cpu-only-build" if one.code == "accidental-cpu-wheel" else one.code)
        for rule in (cpu_builds.cpu_by_accident, vendors.wrong_vendor)
        for one in rule(scene)
    }
    beside = {one.request.name for one in scene.env}
    for item in (*scene.builds, *_unbuilt(scene)):
        if item.build and item.build.runtime == "cpu" and cpu_builds.has_plugin(item, beside):
            continue  # its devices are the plug-in's
        if _is_sure(item) and not item.by:
            if item.build:
                yield from _unserved(item, scene)
            if item.outcome.why == "platform" and item.outcome.build:
                yield from _unpublished(item, item.outcome.build, scene)
                continue
            yield from (one for one in _build(item, Host(seen), scene) if (one.place, one.code) not in said)
    brought = [one for item in scene.env if item.base and item.build for one in _build(item, Host(seen), scene)]
    yield from (one for one in (*brought, *_base(Host(seen), scene)) if (one.place, one.code) not in said)


def _unbuilt(scene: Scene) -> Iterator[Taken]:
    """Exact pins of the file that no named place has a build of; of several of one package the last."""
    last = {item.request.name: item for item in scene.taken}
    yield from (item for item in last.values() if item.build is None and item.request.exact and not item.by)


def not_judged(scene: Scene) -> Iterator[Unchecked]:
    """What it is not known of what it installs here, or which GPUs that has code for.

    A package beside the framework leaves the GPUs to the builds whose code is known, and a range of a package leaves
    its build to the line that pins it.
    """
    if scene.machine is None or not scene.final:
        return
    for item in scene.env:
        package = scene.matrix.package(item.request.name)
        if item.base and item.build is None and package is not None and package.kind == "framework":
            what = f"{item.text} ({scene.ask.file}:{item.request.line}) on the machine it is meant for"
            yield Unchecked(what, "which GPUs that build has code for is not known")
    telling = any(item.build and item.build.kernels not in {(), ("-",)} for item in scene.taken)
    settled = {item.request.name for item in scene.taken if item.build and _is_sure(item)}
    for item in scene.asked:
        what = f"{item.request.text} ({scene.ask.file}:{item.request.line}) on the machine it is meant for"
        package = scene.matrix.package(item.request.name)
        if package is None or item.outcome.why == "kept" or (not item.build and item.request.name in settled):
            continue
        is_framework = package.kind == "framework"
        if item.build is None or not _is_sure(item):
            if is_framework:
                yield Unchecked(what, "which build it gets here is not known")
        elif (
            not item.build.kernels
            and vendor_of(item.build.runtime) not in {"", "cpu"}
            and (is_framework or not telling)
        ):
            yield Unchecked(what, "which GPUs that build has code for is not known")


def _is_sure(item: Taken) -> bool:
    """Whether the request is made on every way through the file."""
    return not item.request.marker and not item.step.branch


def _unserved(item: Taken, scene: Scene) -> Iterator[Finding]:
    """wrong-vendor-build: on a machine with NVIDIA's and AMD's GPUs, those that a build is not for; they may idle."""
    assert item.build is not None
    assert scene.machine is not None
    runtime = item.build.runtime
    kind = next((name for name in RUNTIMES.values() if runtime.startswith(name)), "")
    gpus = scene.machine.gpus or ()
    others = [gpu.name or gpu.target for gpu in gpus if RUNTIMES.get(gpu.vendor, kind) != kind]
    if kind and others and not scene.device:
        detail = f"{item.request.text} is a {runtime} build, which {', '.join(others)} cannot use."
        evidence = (Evidence("gpus", ", ".join(others), scene.machine.source("gpus")),)
        cited, line = (scene.matrix.cite(item.build),), item.request.line
        sure: Confidence = "likely" if is_maker_unseen(scene.matrix, item.build) else "certain"
        said: Said = {"severity": "warning", "evidence": evidence, "sources": cited, "confidence": sure}
        yield finding("wrong-vendor-build", scene, line, detail, **said)


def _unpublished(item: Taken, build: rows.Build, scene: Scene) -> Iterator[Finding]:
    """platform-unsupported: a release whose wheels are all for other systems or processors than the machine's."""
    judged = platform.verdict(build, scene.platform)
    found = clash_of(judged)
    if found is not None and scene.machine is not None:
        evidence = (Evidence("platform", scene.platform, scene.machine.source("platform")),)
        sure: Confidence = "certain" if found is judged else "likely"
        detail = f"{found.why}; this is {scene.platform}."
        yield of_request(
            "platform-unsupported", item, scene, detail, evidence=evidence, rows=found.rows, confidence=sure
        )


def _build(item: Taken, machine: Host, scene: Scene) -> Iterator[Finding]:
    """One pin on the machine, as if it were installed there; which build it is counts as far as it is known.

    Nothing is surer than that somebody saw the build's runtime, which the doctor takes for read.
    """
    place, build, name = Place(scene.ask.file, item.request.line), item.build, item.request.name
    source = f"{place.file}:{place.line}"
    version = build.full_version if build else item.request.exact
    stated: dict[str, facts.Reading] = {"packages": Fact({name: version}, source)}
    if build is not None and build.runtime:
        package = scene.matrix.package(name)
        is_framework = package is not None and package.kind == "framework"
        is_seen = is_framework and not is_unseen(scene.matrix, build, "kernels")  # else its row is asked
        kernels = tuple(target for target in build.kernels if target != "-") if is_seen else ()
        stated["builds"] = Fact({name: Build(runtime=build.runtime, kernels=kernels)}, source)
    guessed = build is not None and is_unseen(scene.matrix, build, "runtime")
    for one in _by_the_doctor(machine, stated, place, scene):
        told = (
            nearest.together(f"{name}=={version}", machine, scene) if one.code in _MOVED and not item.of_conda else ""
        )
        other = " Or upgrade the NVIDIA driver." if told and one.code.startswith("driver-") else ""
        by_build = any(each.fact.startswith("builds") for each in one.evidence)
        sure: Confidence = "likely" if guessed and by_build and one.confidence == "certain" else one.confidence
        yield replace(one, confidence=sure, fix=Fix(told + other) if told else one.fix)


def _base(machine: Host, scene: Scene) -> Iterator[Finding]:
    """The base image on the machine: what its NVIDIA_REQUIRE_CUDA demands, its processor, its ROCm or L4T."""
    if scene.base is None or scene.base.variable:
        return
    place = Place(scene.ask.file, scene.chain[0].line)
    source = f"{place.file}:{place.line}"
    stated: dict[str, facts.Reading] = {"image": Fact(scene.base.reference, source)}
    if scene.base.row and scene.base.row.require:
        stated["image_env"] = Fact({"NVIDIA_REQUIRE_CUDA": scene.base.row.require}, f"{source}, as published")
    if scene.rocm:
        stated["rocm"] = Fact(scene.rocm, source)
    yield from _by_the_doctor(machine, stated, place, scene)
    if any(item.outcome.why == "vendor" for item in scene.env):
        yield from _older_toolkit(machine, scene.base, scene)


def _older_toolkit(machine: Host, base: Base, scene: Scene) -> Iterator[Finding]:
    """arch-too-new-for-build: an image with a framework of its maker's own build, by a toolkit from before the GPU."""
    for gpu in machine.gpus or ():
        judged = toolkit.verdict(scene.matrix, base.cuda, gpu.target or "") if gpu.target and base.cuda else None
        if isinstance(judged, Clash) and judged.wants.startswith(">"):
            shown = gpu.name or gpu.target or ""
            own = f"{base.reference} is compiled with CUDA {base.cuda}"
            detail = f"{own}; {judged.why}: on {shown} it runs from PTX at best."
            evidence = (Evidence("gpus", shown, machine.source("gpus")),)
            yield of_base(
                "arch-too-new-for-build", scene, scene.chain[0].line, detail, severity="warning", confidence="likely",
                fix=f"Take a tag whose CUDA is {judged.wants.removeprefix('>=')} or later.", rows=judged.rows,
                evidence=evidence,
            )  # fmt: skip


def _by_the_doctor(machine: Host, stated: dict[str, facts.Reading], place: Place, scene: Scene) -> Iterator[Finding]:
    """The doctor's findings that rest on the machine and on what the file states; his commands mend no file."""
    from compat import rules

    report = rules.judge(Host({**machine.readings, **stated}), scene.matrix)
    for one in report.findings:
        rests = {item.fact.partition(".")[0] for item in one.evidence}
        if (rests & _OURS & set(stated) and rests & set(machine.readings)) or rests == _DRIVEN:
            yield replace(one, place=place, fix=Fix(one.fix.text), consequences=())


RULES: Final = (judged,)
