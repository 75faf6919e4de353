"""Fixes of builds without code for the GPU: a build or an image that has it, or a package compiled for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import compat.fixes.boards as boards
import compat.joints.driver as joint
from compat import versions
from compat.changes import Command, Container, Python, Toolkit, Variable
from compat.facts import Fact, Host
from compat.findings import Fix
from compat.fixes.extensions import extended
from compat.fixes.packages import gpu_build
from compat.fixes.plans import requires, usual
from compat.fixes.subject import Subject, continued, last_cuda
from compat.reading.commands import image_of, is_plain
from compat.rules.lookups import recompiled
from compat.rules.stack import platform_tag
from compat.targets import kernels_for, sm

_LONGEST: Final = 110  # characters of a command that is repeated whole


def code_for_gpu(subject: Subject) -> Fix | None:
    """A build for a GPU that the installed one has no code for; of a compiled extension, its rebuild for that GPU."""
    return _tritons_own(subject) or _unlisted(subject) or _coded(subject)


def _tritons_own(subject: Subject) -> Fix | None:
    """The ptxas that Triton brings is older than the GPU: a toolkit's own one in its place (Triton, knobs.py)."""
    signals = subject.case.signals
    target = signals.value("sm") if "torch-arch-flags" in signals and "ptxas-not-defined" in signals else ""
    row = subject.matrix.capability(target)
    if row is None or not row.first_cuda:
        return None
    first = versions.minor(row.first_cuda)
    text = f"Let Triton take the ptxas of a CUDA toolkit {first} or newer: its own one does not know {sm(target)}."
    return Fix(text, changes=(Variable("TRITON_PTXAS_PATH", f"/usr/local/cuda-{first}/bin/ptxas"),))


def _coded(subject: Subject) -> Fix | None:
    """The same where it is not the compiler that refuses a target."""
    extension = subject.compiled()
    if subject.finding.code == "extension-arch-missing" and (fix := extended(extension, subject)):
        return fix
    targets = [gpu.target for gpu in subject.gpus if gpu.target.startswith("sm_")]
    number = f"{targets[0][3:-1]}.{targets[0][-1]}" if targets and targets[0][3:].isdigit() else ""
    listed = (subject.host.env or {}).get("TORCH_CUDA_ARCH_LIST", "")
    if number and listed and number not in listed:
        return Fix(f"Compile it again for {targets[0]}.", changes=(Variable("TORCH_CUDA_ARCH_LIST", number),))
    unnamed = not subject.gpus and subject.host.platform != "darwin" and not boards.is_one(subject)
    newer = unnamed and subject.finding.code == "arch-too-new-for-build"
    covered = _is_covered(targets, subject)
    built = None if newer or covered else _in_image(subject) or gpu_build(subject)
    fix = None if covered else built or _newer_image(subject) or _for_newer(subject)
    return fix if fix is not None or not number else _recompiled(targets[0], number, extension, subject)


def _recompiled(target: str, number: str, extension: str, subject: Subject) -> Fix | None:
    """The package that failed, compiled for the GPU: by a CUDA that has it, and with torch's list of targets."""
    if last := last_cuda(target, subject):
        families, known = subject.matrix.families, map(subject.matrix.package, (extension, *subject.packages))
        framework = subject.framework_name()
        beside = [(row.name, "do without it") for row in known if row and row.follows == "torch"]
        for name, way in ((framework, "compute on the CPU"), *beside):
            codes = [row.kernels for row in subject.matrix.builds(name) if row.kernels not in {(), ("-",)}]
            if codes and all(kernels_for(target, code, families) == "none" for code in codes):
                return Fix(f"No published {name} has code for {target}: {way}, or take another GPU.")
        if subject.finding.code != "extension-arch-missing":
            text = (
                f"CUDA {last} is the last with code for {target}: use a toolkit and builds of CUDA {last}, or the CPU."
            )
            return Fix(text, changes=(Toolkit(last),))
    package = subject.matrix.package(extension) if extension else None
    if package and not requires(package.name, "", "torch", subject.matrix):
        return None  # torch's list of targets is nothing to it
    if not extension and subject.framework_name() != "torch":
        return None
    again = recompiled(subject.matrix, extension) if extension else ()
    text = f"Compile {extension or 'the package that failed'} again for {target}{f' by CUDA {last}' if last else ''}."
    return Fix(text, changes=(Variable("TORCH_CUDA_ARCH_LIST", number), *again))


def _is_covered(targets: list[str], subject: Subject) -> bool:
    """Whether the torch in use serves the card, by its code or that of every build for its CUDA: another fails."""
    item, families = subject.framework(), subject.matrix.families
    if item is None or item.name != "torch" or not targets or subject.finding.confidence != "possible":
        return False
    places = {platform_tag(subject.host) or "linux_x86_64", "win_amd64"}
    same = [row for row in subject.matrix.builds("torch") if row.runtime == item.runtime]
    rows = [row.kernels for row in same if places & set(row.platforms)]
    codes = [item.kernels] if item.kernels else rows
    return bool(codes) and all(kernels_for(targets[0], code, families) != "none" for code in codes)


def _for_newer(subject: Subject) -> Fix | None:
    """A build for the GPUs that came after the installed one, where no facts name the GPU that it has no code for."""
    item, matrix, name = subject.framework(), subject.matrix, subject.framework_name()
    spoken = any(one.signal.program == "torch" and "no-code" not in one.signal.says for one in subject.case.signals)
    known = item or subject.release(name) or spoken or name != "torch"
    told = subject.gpus or subject.by_amd or not known
    if told or subject.finding.code != "arch-too-new-for-build" or not name:
        return None
    kernels = (item.kernels or (item.row.kernels if item.row else ())) if item else ()
    last = usual(name, matrix)[-1:]
    newer = [one for one in last if not kernels or kernels_for(one.target, kernels, matrix.families) == "none"]
    host = Host({**subject.host.readings, "gpus": Fact(tuple(newer), "machine")})
    fix = gpu_build(replace(subject, case=replace(subject.case, host=host, derived={}))) if newer else None
    far = fix is not None and any(isinstance(one, Python) for one in fix.changes)  # too much for a GPU that is guessed
    return None if far else fix


def _image(subject: Subject) -> str:
    """The image that runs; empty if none is named."""
    return subject.host.image or image_of(subject.case.commands)


def _in_image(subject: Subject) -> Fix | None:
    """The build of an image: the nearest later image of its series that has code for the GPUs, or its recipe."""
    image = _image(subject)
    if not image or not subject.gpus:
        return None
    if better := _next_image(image, subject):
        lines = (line for line in subject.case.commands if image in line.split())
        typed = next((line.replace(image, better) for line in lines if len(line) < _LONGEST and is_plain(line)), "")
        start = Command(typed.lstrip("$# ")) if typed else Container(image=better, gpus=True)
        return Fix(f"Take the image {better}, which has code for {subject.gpus[0].target}.", changes=(start,))
    built = gpu_build(subject) if subject.host.container else None
    return replace(built, text=f"In the Dockerfile of {image}: {continued(built.text)}") if built else None


def _next_image(image: str, subject: Subject) -> str:
    """The first image of a series, from this one's release on, whose framework has code for all GPUs; empty if none."""
    repository, matrix = image.partition(":")[0], subject.matrix
    series = [row for row in matrix.table("images") if row.repository == repository and "==" in row.framework]
    have = next((row.framework.partition("==")[2] for row in series if image in row.references()), "0")
    windows, driver = subject.host.platform in {"windows", "wsl2"}, subject.host.driver or ""
    found: list[tuple[str, str]] = []
    for row in series:
        name, _, release = row.framework.partition("==")
        floor = (
            joint.floor(matrix, row.runtime.removeprefix("cuda"), windows) if row.runtime.startswith("cuda") else None
        )
        least = (floor.family or floor.exact) if floor else ""
        old = versions.is_release(driver) and least and not versions.at_least(driver, least)
        builds = [one for one in matrix.builds_of(name, release) if one.runtime == row.runtime]
        served = all(
            any(kernels_for(gpu.target, one.kernels, matrix.families) == "native" for one in builds)
            for gpu in subject.gpus
        )
        alike = [one for one in row.references() if one.rpartition("-")[2] == image.rpartition("-")[2]]
        if row.status != "gone" and served and not old and versions.at_least(release, have):
            found.append((release, (alike or row.references())[0]))
    return min(found, key=lambda one: versions.release(one[0]))[1] if found else ""


def _newer_image(subject: Subject) -> Fix | None:
    """Another image, where a container runs what has no code for the GPU and nothing tells its packages."""
    image = _image(subject)
    if not image or subject.finding.code != "arch-too-new-for-build":
        return None
    return Fix(f"Take a newer image than {image}, whose builds have no code for this GPU.")


def _unlisted(subject: Subject) -> Fix | None:
    """A target that the compiler no longer knows: what is compiled need not be for it."""
    heard = subject.case.signals.get("nvcc-unsupported-arch")
    asked = heard.values.get("arch", "") if heard else ""
    device = sm(asked.replace("compute_", "sm_"))
    if device is None or not asked.startswith("compute_"):
        return None
    first = subject.matrix.table("capabilities")[0]
    if versions.release(device.capability) < versions.release(first.cc):
        return Fix(f"Take {asked} out of the list of targets: current toolkits do not have it.")
    last = last_cuda(asked.replace("compute_", "sm_"), subject)
    text = f"Take {asked} out of the list of targets, or compile with CUDA {last}, the last that has it."
    return Fix(text) if last else None
