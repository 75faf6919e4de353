"""Fixes of builds that take CUDA and cuDNN from the system: a release for what is there, or what is wanted of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.fixes.boards as boards
import compat.joints.libraries as joint
from compat import versions
from compat.changes import Install, Package, Toolkit, Variable
from compat.findings import Fix
from compat.fixes.subject import Subject, series
from compat.joints.platform import is_at
from compat.joints.python import is_for
from compat.joints.verdict import Clash
from compat.reading.commands import requirements
from compat.rules.lookups import is_version
from compat.rules.stack import FRAMEWORKS, canonical, plain, platform_tag
from compat.targets import kernels_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.matrix.rows import Build, Soname


_OF_NUGET: Final = "microsoft-ml-onnxruntime-gpu"  # ONNX Runtime's package of .NET, of the same releases
_ALIKE: Final = {"onnxruntime": "onnxruntime-gpu", "tensorflow-cpu": "tensorflow", _OF_NUGET: "onnxruntime-gpu"}


def on_windows(subject: Subject) -> bool:
    """Whether the machine runs Windows, by its facts, by its loader's words or by the library that it misses."""
    if subject.case.signals.value("dll_module") or subject.case.signals.value("dll_package"):
        return True
    return subject.host.platform == "windows" or any(name.endswith(".dll") for name in subject.missing)


def for_system(subject: Subject) -> Fix | None:
    """A build that takes CUDA and cuDNN from the system: a release for what is there, or what it was built for."""
    taken = taker(subject)
    if taken is None:
        return None
    name, row = taken
    there = {"cuda": subject.host.cuda_toolkit, "cudnn": subject.host.cudnn}
    have = {name: text if text and is_version(text) else "" for name, text in there.items()}
    if not _is_other(row, have, subject):
        return None
    if better := _release_for(name, row, have, subject):
        lacks = not have["cudnn"] and any("cudnn" in one for one in subject.missing)
        first = f"cuDNN {series(better.cudnn)} and " if lacks and better.cudnn else ""
        made = f"built for CUDA {series(have['cuda'] or better.runtime)}"
        made += f" and cuDNN {series(have['cudnn'])}" if have["cudnn"] else ""
        text = f"Install {first}{better.install_name} {better.version}, {made}."
        return Fix(text, changes=(subject.install(better, settles=subject.missing),))
    return wanted(name, row, subject)


def _asked(row: Build) -> dict[str, str]:
    """The CUDA and cuDNN that a build takes from the system."""
    parts = (re.fullmatch(r"([a-z]+)([\d.]+)", part) for part in row.system)
    return {"cuda": row.runtime.removeprefix("cuda"), "cudnn": row.cudnn, **{one[1]: one[2] for one in parts if one}}


def wanted(name: str, row: Build, subject: Subject) -> Fix:
    """What a build takes from the system, to be installed, and where the loader looks for it."""
    whole = [one for one in subject.matrix.builds_of(name, row.version) if one.extras and one.runtime == row.runtime]
    if name == "tensorflow" and any(one.platforms == row.platforms for one in whole):
        item = Package(name=name, version=row.version, extras=whole[0].extras, settles=subject.missing)
        text = f"Install {name} {row.version} with its own CUDA and cuDNN, whatever toolkit is there."
        return Fix(text, changes=(Install(packages=(item,), again=True),))
    wanted = _asked(row)
    told = f"CUDA {wanted['cuda']}" + (f" and cuDNN {series(wanted['cudnn'])}" if wanted.get("cudnn") else "")
    if not on_windows(subject) and (subject.host.cuda_toolkit or "0").startswith(wanted["cuda"]):
        folder = Variable("LD_LIBRARY_PATH", f"/usr/local/cuda-{wanted['cuda']}/lib64:$LD_LIBRARY_PATH")
        return Fix(
            f"Put the lib64 of {told} on the loader's path, which {name} {row.version} was built for.",
            changes=(folder,),
        )
    first = "put it first on PATH" if on_windows(subject) else "put its lib64 on the loader's path"
    return Fix(
        f"Install {told}, which {name} {row.version} was built for, and {first}.", changes=(Toolkit(wanted["cuda"]),)
    )


def cuda_in_use(subject: Subject) -> str:
    """CUDA of the framework, else of the toolkit; empty if unknown."""
    item = subject.framework()
    stated = subject.case.signals.value("ort_cuda") or (item.cuda if item else "")
    if known := stated or subject.typed_cuda or subject.host.cuda_toolkit:
        return known
    taken = taker(subject)
    return taken[1].runtime.removeprefix("cuda") if taken else ""


def cudnn(major: str, subject: Subject) -> str:
    """The newest cuDNN of a major, or of the one that the framework asks for, for the CUDA in use and the GPUs."""
    toolkit = cuda_in_use(subject)
    if not is_version(toolkit):
        return f"cuDNN {major}".strip()
    minor, builds = versions.minor(toolkit), subject.matrix.builds(subject.framework_name() or subject.program)
    asked = {series(row.cudnn) for row in builds if row.runtime == f"cuda{minor}" and is_version(row.cudnn)}
    major = major or (asked.pop() if len(asked) == 1 else "")
    cards = [row.cc for gpu in subject.gpus if (row := subject.matrix.capability(gpu.target))]
    rows = [row for row in subject.matrix.table("cudnn") if {minor, series(minor)} & set(row.cuda)]
    rows = [row for row in rows if not row.first_cc or all(versions.at_least(cc, row.first_cc) for cc in cards)]
    fitting = (row.version for row in rows if major in {"", series(row.version)})
    newest = max(fitting, key=versions.release, default=major)
    return f"{f'cuDNN {series(newest, 3)}'.strip()} for CUDA {minor}"


def _takers(subject: Subject) -> set[str]:
    """Packages beside the frameworks that are there, are asked for or speak, with what they are built upon."""
    said = (subject.owner(one) for kind in ("logger", "frame") for one in subject.said(kind))
    known = map(subject.matrix.package, (*subject.packages, *requirements(subject.case.commands), *said))
    names = {name for one in known if one and one.name not in FRAMEWORKS for name in (one.name, *one.needs)}
    return names - {*FRAMEWORKS}


def _of_system(subject: Subject) -> list[Build]:
    """Builds of such packages that take CUDA and cuDNN from the system."""
    return [row for name in _takers(subject) for row in subject.matrix.builds(name) if row.cuda_from == "system"]


def takes(row: Soname, subject: Subject) -> bool:
    """Whether a package that is there, asked for or speaks has a build that takes this library from the system."""
    major = series(row.soname.partition(".so.")[2]) if row.soname.startswith("libcudnn") else ""
    return any(
        row.cuda == series(build.runtime) and major in {"", series(_asked(build)["cudnn"])}
        for build in _of_system(subject)
    )


def beside_pins(row: Soname, subject: Subject) -> Fix | None:
    """A package that asks for another major of a library than the framework pins: its first release for that one."""
    item = subject.framework()
    pins = (versions.requirement(line.partition(";")[0]) for line in (item.row.requires if item and item.row else ()))
    pin = next((one for one in pins if one and one.name == row.package and one.spec.startswith("==")), None)
    if item is None or pin is None or series(pin.spec[2:]) == series(row.soname.partition(".so.")[2]):
        return None
    major, place = series(pin.spec[2:]), platform_tag(subject.host) or "linux_x86_64"
    rows = [one for one in _of_system(subject) if series(_asked(one)["cudnn"]) == major and is_at(one, place)]
    rows = [one for one in rows if is_for(one, subject.host.python or "") and is_version(one.version)]
    why = f"built for cuDNN {major}, which {item.name} {plain(item.version)} brings"
    if not rows:
        return Fix(f"Take a release of the program that asks for {row.soname} that was {why}.")
    best = min(rows, key=lambda one: versions.release(one.version))
    return Fix(f"Install {best.install_name} {best.version} or newer, {why}.", changes=(subject.install(best),))


def taker(subject: Subject) -> tuple[str, Build] | None:
    """The installed package that takes its CUDA from the system, with its row."""
    for there, version in subject.packages.items():
        package = subject.matrix.package(_ALIKE.get(there, there))
        rows = subject.matrix.builds_of(package.name, plain(version)) if package else ()
        build = (subject.host.builds or {}).get(there)
        ours = {build.runtime} if build and build.runtime else {row.runtime for row in rows if "cuda" in row.runtime}
        rows = tuple(
            row for row in rows if row.runtime in ours and row.cuda_from == "system" and not _of_board(row, subject)
        )
        if package and rows:
            return package.name, rows[0]
    return None


def _of_board(row: Build, subject: Subject) -> bool:
    """Whether a build is for a Jetson, which this machine is not."""
    return (
        not boards.is_one(subject) and bool(row.kernels) and subject.matrix.families.integrated.issuperset(row.kernels)
    )


def _is_other(row: Build, have: Mapping[str, str], subject: Subject) -> bool:
    """Whether another CUDA or cuDNN is there than a build takes from the system, as their joint says."""
    judged = joint.cuda(subject.matrix, row, have["cuda"]), joint.cudnn(row, have["cudnn"])
    return any(isinstance(one, Clash) for one in judged)


def _release_for(name: str, row: Build, have: Mapping[str, str], subject: Subject) -> Build | None:
    """The nearest later release of a package that was built for the CUDA and cuDNN that are installed, and for here."""
    machine, place = subject.host.python or "", platform_tag(subject.host) or "linux_x86_64"
    found: list[Build] = []
    for other in subject.matrix.builds(name) if _OF_NUGET not in subject.packages else ():
        if other.yanked or not other.runtime.startswith("cuda") or not is_version(other.version):
            continue
        later = versions.release(other.version) > versions.release(row.version)
        if any(kernels_for(gpu.target, other.kernels, subject.matrix.families) == "none" for gpu in subject.gpus):
            continue
        suits = not _is_other(other, have, subject) and bool(other.cudnn or not have["cudnn"])
        here = is_for(other, machine) and is_at(other, place)
        if later and suits and here and (other.cuda_from == "system" or not have["cuda"]):
            found.append(other)
    own = f"cuda{versions.minor(have['cuda'])}" if have["cuda"] else ""
    return min(found, key=lambda one: (versions.release(one.version), one.runtime != own), default=None)


def for_cuda(name: str, number: str, here: str, subject: Subject) -> Fix | None:
    """A framework, its release unstated, that itself lacks a library of another CUDA: its newest for this one."""
    modules = (canonical(subject.owner(one)) for one in reversed(subject.said("frame")))
    framework = next((one for one in (_ALIKE.get(subject.program, ""), *modules) if one in FRAMEWORKS), "")
    if not here or not framework or subject.release(framework):
        return None
    python, place = subject.host.python or "", platform_tag(subject.host) or "linux_x86_64"
    rows = [row for row in subject.matrix.builds(framework) if is_for(row, python) and _serves(row, here)]
    rows.sort(key=lambda row: versions.release(row.version))
    best = next((row for row in reversed(rows) if is_at(row, place)), None)
    if best is None:
        return None
    made = best.runtime.removeprefix("cuda")
    text = f"{name} is of CUDA {number}: install {framework} {best.version}, built for CUDA {made}."
    return Fix(text, changes=(subject.install(best, settles=subject.missing),))


def _serves(row: Build, cuda: str) -> bool:
    """Whether a build is of this CUDA, or takes it from the system and is of its major, from 11 on."""
    parts = 1 if row.cuda_from == "system" and int(series(cuda)) > 10 else 2
    return series(row.runtime, parts) == series(cuda, parts)


def of_onnxruntime(subject: Subject) -> Fix:
    """The CUDA and cuDNN that ONNX Runtime says it was built for, on Windows, or its last release for an older CUDA."""
    cuda, cudnn = (subject.case.signals.value(one) for one in ("ort_cuda", "ort_cudnn"))
    if not cudnn:
        return Fix("Install the CUDA and cuDNN that this onnxruntime was built for, and put their bin folders on PATH.")
    rows = [row for row in subject.matrix.builds("onnxruntime-gpu") if "win_amd64" in row.platforms]
    older = [row for row in rows if 0 < int(series(row.runtime) or 0) < int(cuda)]
    last = max(older, key=lambda row: versions.release(row.version), default=None)
    other = f"; for CUDA {series(last.runtime)} take {last.install_name}=={last.version}" if last else ""
    return Fix(f"Install CUDA {cuda} and cuDNN {cudnn}, and put their bin folders on PATH{other}.")
