"""Lint of conda packages: what no channel has, pairs that do not belong together, a framework from pip too, and more.

Conda's own solver decides, and its channels are not in the matrix but for the packages that have an end (table
``conda``); only what these rows rule out is an error.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.libraries as libraries
import compat.lint.origins as origins
import compat.lint.walk as walk
from compat import versions
from compat.joints.python import in_order
from compat.joints.verdict import Clash
from compat.lint.finding import finding, of_request
from compat.sources.values import BUILT, Install, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding, Severity
    from compat.lint.scene import Scene
    from compat.matrix import Matrix
    from compat.matrix.rows import Row

# Channels that hold what their makers built, so that what one of them lacks no other mirrors; any other may hold all.
_PUBLIC: Final = frozenset(
    ["pytorch", "conda-forge", "defaults", "nodefaults", "nvidia", "anaconda", "main", "bioconda", "r", "free", "msys2",
     "pyg", "dglteam", "rapidsai"]
)  # fmt: skip
# Conda's packages that say which CUDA a framework is built for.
_CONDA_CUDA: Final = frozenset({"pytorch-cuda", "cudatoolkit"})
_FAMILY: Final = frozenset({"torch", "torchvision", "torchaudio"})
# What computes on the GPU beside a PyTorch that does not.
_OTHERS: Final = frozenset(
    {"tensorflow", "tensorflow-gpu", "jaxlib", "cupy", "faiss-gpu", "cudatoolkit", "cuda-version"}
)
_BUILT_BOTH: Final = frozenset({"pytorch", "tensorflow", "jaxlib", "jax"})
_GPU_ONLY: Final = frozenset({"pytorch-gpu", "tensorflow-gpu"})
_MEANS_CUDA: Final = frozenset({"cuda-version", "cuda-toolkit", "cuda", "cudatoolkit", "cudnn", "cuda-nvcc"})
CHOOSE_CUDA: Final = _MEANS_CUDA | _CONDA_CUDA


def of_conda(step: Install, matrix: Matrix, python: str, *, mine: bool) -> Iterator[walk.Taken]:
    """What conda is asked for, by pip's names; a framework with its build where the CUDA beside it tells that one.

    A lock or an export names what conda's solver has put together: only its own builds are known to fit.
    """
    cuda = {one.name: _plain(one.spec) for one in step.requests if one.name in _CONDA_CUDA}
    series = next((f"cuda{versions.minor(number)}" for number in cuda.values() if "." in number), "")
    for one in step.requests if "--locked" not in step.options else ():
        name, number = piped(one.name, matrix), _plain(one.spec)
        request = replace(one, name=name, spec=f"=={number}" if number.count(".") > 1 else one.spec)
        own = [row for row in matrix.builds_of(name, number) if row.runtime == series] if series and number else []
        found = origins.Outcome("build", own[0]) if own else origins.Outcome("unknown", why="conda")
        yield walk.Taken(request, step, found, python=python, spec=request.spec, mine=mine)


def piped(name: str, matrix: Matrix) -> str:
    """What the package index calls a package of conda's."""
    package = matrix.package(name)
    return package.name if package else name


def _plain(spec: str) -> str:
    """The release that a conda specification means, without the pattern: ``==2.3.1.*`` -> ``2.3.1``."""
    found = re.fullmatch(r"==(\d+(?:\.\d+)*)(?:\.\*)?", spec)
    return found[1] if found else ""


def another_python(scene: Scene) -> Iterator[Finding]:
    """python-unsupported: a release that nobody built for the Python beside it.

    PyTorch's own channel has the Pythons of the wheels. Of conda-forge's rebuilds for a Python that came out meanwhile
    nothing is known, so that the next one is a warning there.
    """
    for item in scene.env:
        rows = scene.matrix.builds_of(item.request.name, item.request.exact) if item.of_conda and item.python else ()
        pythons = in_order(python for row in rows for python in row.python if python[-1:].isdigit())
        if not pythons or item.python in pythons or item.request.build:
            continue
        near = versions.release(item.python)[1] - versions.release(pythons[-1])[1] == 1
        detail = (
            f"{item.request.text} was built for Python {pythons[0]} to {pythons[-1]}, and {item.python} is asked for."
        )
        level: Severity = "warning" if near and "conda-forge" in item.step.channels else "error"
        last = pythons[-1] if versions.release(item.python) > versions.release(pythons[-1]) else pythons[0]
        code, fix = "python-unsupported", f"Ask for python={last}."
        yield of_request(code, item, scene, detail, fix=fix, severity=level, confidence="likely", rows=rows[:1])


def variants(scene: Scene) -> Iterator[Finding]:
    """framework-build-tag-mismatch, accidental-cpu-wheel: builds by name that are for several devices, or for another.

    Source: build scripts of PyTorch's conda packages (``py3.9_cuda11.3_cudnn8.2.0_0``, ``py39_cu113``).
    """
    named = {name: one for one in scene.conda if (name := piped(one.name, scene.matrix)) in _FAMILY}
    torch = named.get("torch")
    device = {name: _device(request.build) for name, request in named.items()}
    for name, request in named.items():
        if torch is None or not device[name] or not device["torch"] or device[name] == device["torch"]:
            continue
        detail = f"{request.name} is the build {request.build}, and {torch.name} the build {torch.build}."
        fix = "Take both of one device and CUDA release."
        yield finding("framework-build-tag-mismatch", scene, request.line, detail, fix=fix)
    alone = next((request for request in scene.conda if request.name == "cpuonly"), None)
    cpu = torch if torch and device["torch"] == "cpu" else alone
    if cpu and scene.named == "gpu" and not any(request.name in _OTHERS for request in scene.conda):
        detail = f"{f'{cpu.name} {cpu.build}'.rstrip()} is for the CPU, and the file's name says GPU."
        fix = "Name the CUDA build, or give the file another name."
        yield finding("accidental-cpu-wheel", scene, cpu.line, detail, confidence="likely", fix=fix)


def _device(build: str) -> str:
    """What a build is for by its name: ``cpu``, or CUDA's release without dots; empty if it does not say."""
    found = re.search(r"(?:^|_)(?:(cpu)|cu(?:da)?([\d.]+))(?=_|$)", build)
    return (found[1] or "".join(found[2].split(".")[:2])) if found else ""


def absent(scene: Scene) -> Iterator[Finding]:
    """version-does-not-exist: a package or version that none of the named channels has, or ever will.

    Source: conda documentation, "Managing channels" (a package comes from the channels that are named, no other).
    """
    if any("channels" in command.text and "config" in command.text for command in scene.commands):
        return
    rows = {row.name: row for row in scene.matrix.table("conda")}
    for step in scene.stage.installs:
        for request in step.requests if step.manager == "conda" else ():
            row = rows.get(request.name)
            if re.fullmatch(r"==[A-Za-z_]+(?:\.\*)?", request.spec):  # a variable's name without its sign
                detail = f"{request.text}: no release has a version without a number."
                yield finding("version-does-not-exist", scene, request.line, detail)
                continue
            asked = {_channel(request.channel)} if request.channel else {*map(_channel, step.channels)}
            if row is None or not asked <= _PUBLIC:
                continue
            named = asked if request.channel or "nodefaults" in asked else asked | {"defaults"}
            if row.alone and not named & {*row.channels}:
                yield _absent(scene, request, f"{request.name} is a package of the channel {row.channels[0]}", row)
                continue
            closed = row.alone or not row.channels or named - {"nodefaults"} <= {*row.channels}
            if row.newest and closed and not _reaches(request.spec, row.newest):
                yield _absent(scene, request, f"{request.text} is not there, {row.newest} is the last one", row)
            elif request.name in _CONDA_CUDA:
                yield from _other_cuda(scene, step, request)


def _other_cuda(scene: Scene, step: Install, cuda: Request) -> Iterator[Finding]:
    """A CUDA for which PyTorch's channel has no build of the release asked for, or of any.

    Each of its builds names its CUDA as one to have beside it; that for the CPU names none, and is what is left.
    Source: PyTorch, "Installing previous versions" (a line for each build of a release); conda documentation, "Managing
    channels" (of a package that several channels have, the first one's builds are taken).
    """
    torch = next((one for one in step.requests if one.name == "pytorch"), None)
    wanted = re.fullmatch(r"==(\d+\.\d+)(?:\.\d+)?(?:\.\*)?", cuda.spec)
    release = re.fullmatch(r"==(\d+\.\d+(?:\.\d+)?)(?:\.\*)?", torch.spec) if torch else None
    named, split = cuda.name == "pytorch-cuda", scene.matrix.turn("pytorch-cuda").version
    order = [one for one in step.channels if one in {"pytorch", "conda-forge", "defaults", "main", "anaconda"}]
    open_ = torch is None or torch.build or torch.channel not in {"", "pytorch"} or order[:1] != ["pytorch"]
    if wanted is None or (not named and (release is None or open_ or versions.at_least(release[1], split))):
        return
    last = next((row.newest for row in scene.matrix.table("conda") if row.name == "pytorch"), "")
    bound = f"=={release[1]}.*" if release else f">={split},<={last}"
    rows = [row for row in scene.matrix.builds("torch") if versions.admits(bound, row.version)]
    built = {row.runtime.removeprefix("cuda") for row in rows if row.runtime.startswith("cuda")}
    known = rows and all(versions.parsed(row.version) <= versions.parsed(last) for row in rows)
    if not known or wanted[1] in built:
        return
    detail = f"{cuda.text}: PyTorch {release[1] if release else 'of that channel'} was built for CUDA "
    detail += ", ".join(sorted(built, key=versions.release))
    if named:
        yield _absent(scene, cuda, detail, rows[0])
        return
    level: Severity = "error" if order == ["pytorch"] else "warning"
    yield finding(
        "accidental-cpu-wheel", scene, cuda.line, f"{detail}: what is left is the build for the CPU.", severity=level,
        confidence="likely", fix="Ask for one of these.", sources=(scene.matrix.cite(rows[0]),),
    )  # fmt: skip


def _reaches(spec: str, newest: str) -> bool:
    """Whether a specification admits a version up to the newest; one that cannot be read admits all."""
    wanted = versions.specifier(spec)
    if wanted is None:
        return True
    floors = [item for item in wanted if item.operator in {"==", ">=", ">", "~="}]
    last = versions.parsed(newest)
    return all(versions.parsed(item.version.removesuffix(".*")) <= last for item in floors)


def _channel(text: str) -> str:
    """A channel's name; of an address (``https://.../cloud/pytorch/linux-64``) the address, which may hold anything."""
    return text.partition("/")[0] if "://" not in text else text


def _absent(scene: Scene, request: Request, what: str, row: Row) -> Finding:
    source = (scene.matrix.cite(row),)
    return finding("version-does-not-exist", scene, request.line, f"{what}.", confidence="likely", sources=source)


def mkl(scene: Scene) -> Iterator[Finding]:
    """framework-pair-mismatch: PyTorch's own conda builds of before 2.3 with the newest MKL of conda-forge.

    Source: pytorch/pytorch issue 123097 (MKL 2024.1 has no ``iJIT_NotifyEvent`` any more; seen with 2.0.1 and before).
    Numpy of the channel ``defaults`` keeps an older MKL.
    """
    named = {request.name for request in scene.conda}
    for step in scene.stage.installs if not {"mkl", "nomkl"} & named else ():
        channels, order = [*step.channels], ("pytorch", "conda-forge")
        torch = next((one for one in step.requests if one.name == "pytorch" and one.channel in {"", "pytorch"}), None)
        known = step.manager == "conda" and [one for one in channels if one in order] == [*order]
        if torch is None or not known or "defaults" in channels[: channels.index("conda-forge")]:
            continue
        judged = libraries.mkl(scene.matrix, torch.spec)
        if isinstance(judged, Clash):
            detail = f"{torch.text} does not load with the newest mkl (undefined symbol: iJIT_NotifyEvent)."
            yield _warning("framework-pair-mismatch", scene, torch, detail, fix=f"Add mkl{judged.wants}.")


def twice(scene: Scene) -> Iterator[Finding]:
    """framework-duplicate-install, accidental-cpu-wheel: a framework from conda, and once more from pip."""
    held = (*scene.env, *(old for old, _ in scene.replaced))
    named = {item.request.name: item.request.exact for item in held if item.of_conda}
    for item in scene.own:
        package, there = scene.matrix.package(item.request.name), named.get(item.request.name, "")
        if there and not (item.replaces or item.request.url) and versions.admits(item.request.spec, there):
            continue  # pip sees conda's, and leaves it
        if item.request.name in named and package and package.kind == "framework":
            detail = f"{item.request.text} of pip is laid over conda's"
            if item.build and item.build.runtime == "cpu" and any(one.name in CHOOSE_CUDA for one in scene.conda):
                detail += ", which is for CUDA, and is for the CPU."
                fix = "Leave it to conda, or take a build for CUDA."
                yield of_request("accidental-cpu-wheel", item, scene, detail, confidence="likely", fix=fix)
            else:
                yield _warning("framework-duplicate-install", scene, item.request, f"{detail}.")


def deviceless(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel: conda-forge's GPU builds need a driver in sight, and an image build has none.

    Source: conda-forge documentation, "CUDA" (the virtual package __cuda, CONDA_OVERRIDE_CUDA).
    """
    if scene.gpu != "cuda" or scene.base is None or scene.base.installed or scene.ask.kind not in BUILT:
        return
    overridden = "CONDA_OVERRIDE_CUDA" in scene.stage.env or any(
        "CONDA_OVERRIDE_CUDA" in dict(command.settings) for command in scene.commands
    )
    for step in scene.stage.installs:
        forged = step.manager == "conda" and step.channels[:1] == ("conda-forge",)
        if not forged or overridden or {"pytorch", "nvidia"} & {*step.channels}:
            continue
        for request in step.requests:
            if request.name in _BUILT_BOTH:
                detail = (
                    f"{request.text} of conda-forge becomes the CPU build: while an image is built no driver is seen."
                )
                yield _warning(
                    "accidental-cpu-wheel", scene, request, detail, fix="Set CONDA_OVERRIDE_CUDA for the step."
                )


def undeclared(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel: packages whose GPU builds need a driver in sight, where a Pixi project declares none.

    Source: Pixi documentation, "System requirements" (without ``cuda`` the virtual package ``__cuda`` is absent).
    """
    if scene.ask.kind not in {"pixi", "pyproject"} or "CONDA_OVERRIDE_CUDA" in scene.stage.env:
        return
    named = {request.name for request in scene.conda}
    for step in scene.stage.installs:
        if step.manager != "conda" or step.channels[:1] != ("conda-forge",):
            continue
        for request in step.requests:
            only = request.name in _GPU_ONLY
            if not only and not (request.name in _BUILT_BOTH and named & _MEANS_CUDA):
                continue
            what = "has no build" if only else "becomes the CPU build"
            level: Severity = "error" if only else "warning"
            detail = f"{request.text} {what}: no [system-requirements] says which CUDA the driver serves."
            fix = f'Add cuda = "12.0" under [{"tool.pixi." * (scene.ask.kind != "pixi")}system-requirements].'
            code, line = "accidental-cpu-wheel", request.line
            yield finding(code, scene, line, detail, severity=level, confidence="likely", fix=fix)
            return


def _warning(code: str, scene: Scene, request: Request, detail: str, *, fix: str = "") -> Finding:
    return finding(code, scene, request.line, detail, severity="warning", confidence="likely", fix=fix)


RULES: Final = (another_python, variants, absent, mkl, twice, deviceless, undeclared)
