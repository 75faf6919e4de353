"""Lint of builds that take CUDA and cuDNN from the system: whether the base image has them, and the right ones."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.libraries as joint
import compat.lint.bases as bases
import compat.lint.images as images
import compat.lint.origins as origins
from compat import versions
from compat.joints.python import in_order
from compat.joints.verdict import FITS, Clash, Fits
from compat.lint.finding import finding, of_base, of_request
from compat.lint.walk import Taken, alike
from compat.lint.worlds import needs
from compat.matrix.rows import Build
from compat.sources.values import Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Confidence, Finding, Severity
    from compat.lint.bases import Base
    from compat.lint.scene import Scene

_BROUGHT: Final = re.compile(
    r"^(?=.*cud(?:a|nn)).*(?:dpkg|tar |wget|curl|\.run|\.deb|cp |mv )", re.IGNORECASE | re.MULTILINE
)
_LEVEL_ZERO: Final = re.compile(r"level-zero|libze|intel-(?:opencl|compute|graphics|i915)|oneapi|repositories\.intel")
# The end of jaxlib 0.3.7+cuda11.cudnn805, 0.4.20+cuda12.cudnn89, 0.1.69+cuda111: majors of CUDA and cuDNN.
_LOCAL: Final = re.compile(r"\+cuda(?P<cuda>\d\d)\d?(?:\.cudnn(?P<cudnn>\d)\d*)?$")


def system_libraries(scene: Scene) -> Iterator[Finding]:
    """library-missing, base-runtime-mismatch: builds that take CUDA or cuDNN from the base."""
    base = scene.base
    if base is None:
        yield from _unloaded(scene)
    if base is None or not scene.final or base.variable or (_unknown(base) and not base.major) or _brought(scene):
        return
    if base.major:
        yield from _other_major(base, scene)
        return
    packaged = _packaged(scene)
    for item in map(_by_tag, scene.lasting):
        if item.request.name != "jaxlib" or not packaged:
            yield from _judged(_at_least(item, scene), base, scene)
    for application, found in _brought_along(scene):
        judged = [[(item, each) for each in _judged(item, base, scene)] for item in found]
        # an older minor mostly serves, and nobody chose the newest on purpose
        faults = [[one for one in each if one[1].severity == "error"] for each in judged]
        for item, each in faults[-1] if all(faults) else ():
            yield replace(each, detail=f"{application} brings {item.request.name}: {each.detail}", confidence="likely")


def _other_major(base: Base, scene: Scene) -> Iterator[Finding]:
    """base-runtime-mismatch: builds of another CUDA major than that of the months around an image."""
    for item in map(_by_tag, scene.lasting):
        build = item.build
        wanted = build.runtime.removeprefix("cuda") if build and build.cuda_from == "system" else ""
        if wanted and versions.major(wanted) != base.major:
            what = f"{item.request.text} is built for CUDA {wanted}, from the system"
            detail = f"{what}; {base.reference} has CUDA {base.major}, as the months around it."
            yield replace(_mismatch(item, detail, scene, certain=True), confidence="likely")


def _unloaded(scene: Scene) -> Iterator[Finding]:
    """A batch script on a GPU whose builds take CUDA from the system, and that loads no module of it."""
    modules = any(
        re.search(r"cu(?:da|dnn)|nvhpc|conda|tensorflow|torch", name, re.IGNORECASE) for name in scene.stage.modules
    )
    if scene.ask.kind != "job" or not scene.ask.gpu or modules or scene.conda:
        return
    for item in scene.shipped:
        if item.build and item.build.cuda_from == "system" and item.build.runtime.startswith("cuda"):
            wanted = item.build.runtime.removeprefix("cuda")
            detail = f"{item.request.text} takes CUDA {wanted} from the system, and the script loads no module of it."
            yield finding(
                "library-missing", scene, item.request.line, detail, severity="warning", confidence="likely",
                fix=f"Add `module load cuda/{wanted}`, by the name that `module avail cuda` shows.",
            )  # fmt: skip
            return


def _judged(item: Taken, base: Base, scene: Scene) -> Iterator[Finding]:
    """One build that takes CUDA from the system, against the base."""
    build = item.build
    if build is None or build.cuda_from != "system" or not build.runtime.startswith("cuda"):
        return
    wanted = build.runtime.removeprefix("cuda")
    if not base.flavour and not base.installed and base.kind == "cuda":  # another maker's: its tag names CUDA alone
        yield from _other_runtime(item, wanted, scene)
    elif not base.has_cuda_libraries and not base.installed:
        yield _missing(item, f"CUDA {wanted}", scene)
    elif joint.needs_cudnn(build.system) and not base.cudnn:
        yield _missing(item, f"cuDNN {build.cudnn or joint.cudnn_of(build.system)}".strip(), scene)
    else:
        yield from _other_runtime(item, wanted, scene)


def _brought_along(scene: Scene) -> Iterator[tuple[str, list[Taken]]]:
    """What applications without a version bring, in the newest build that fits, where the file does not ask for it.

    Of several Pythons that the environment may have, each with the build for it.

    A release of an application from before may bound what it brings, so one with a version is left alone.
    """
    asked = {item.request.name for item in scene.taken}
    rows = {request.name: row for request, row in scene.applications}
    for item in scene.shipped:
        if item.request.name not in rows or item.request.spec or item.request.url:
            continue
        for name in rows[item.request.name].pulls:
            if name not in asked:
                request = Request(name=name, line=item.request.line)
                pythons = [item.python] if item.python else in_order(scene.pythons) or [""]
                places = [origins.Place(python, scene.platform, scene.glibc) for python in pythons]
                found = [(one.python, origins.outcome(request, item.step, scene.matrix, one)) for one in places]
                yield item.request.text, [replace(item, request=request, outcome=o, python=p) for p, o in found]


def _at_least(item: Taken, scene: Scene) -> Taken:
    """An open request as the newest of the default index for the oldest Python that the base can have.

    What the places beside that index have is not known, and pip takes nothing older.
    """
    request, why = item.request, item.outcome.why
    if item.step.manager != "pip" or request.spec or request.url or item.step.index or item.base or item.by:
        return item
    if why != "place" and (item.python or not scene.pythons or item.build is None):
        return item
    python = item.python or next(iter(in_order(scene.pythons)), "")
    alone = replace(item.step, extra_indexes=(), find_links=())
    found = origins.outcome(request, alone, scene.matrix, origins.Place(python, scene.platform, scene.glibc))
    return replace(item, outcome=found, python="")


def _by_tag(item: Taken) -> Taken:
    """A jaxlib with CUDA inside as a build that finds CUDA and cuDNN in the system.

    Source: setup.py of jax up to 0.4.29: so it does, unless an extra or a request of one's own adds NVIDIA's packages.
    Of one without a row the local version tells their majors.
    """
    build = item.build
    found = _LOCAL.search(item.request.exact) if item.request.name == "jaxlib" else None
    if found is None or (build and build.cuda_from):
        return item
    release, _, local = item.request.exact.partition("+")
    cuda = f"cuda{found['cuda']}"
    blank = Build(source=(), how="documented", package="jaxlib", versions=(release,), local=local, runtime=cuda)
    parts = (cuda, f"cudnn{found['cudnn'] or ''}")
    return replace(item, outcome=origins.Outcome("build", replace(build or blank, cuda_from="system", system=parts)))


def level_zero(scene: Scene) -> Iterator[Finding]:
    """intel-no-compute-runtime: a build for Intel's GPUs in an image without Level Zero's loader and driver.

    Source: PyTorch documentation, "Getting Started on Intel GPU" (the wheels carry oneAPI, not the driver's user part).
    """
    base = scene.base
    item = next((one for one in scene.builds if one.build and one.build.runtime.startswith("xpu")), None)
    texts = (*(one.text for one in scene.commands), *(one.name for one in scene.apt))
    if base is None or item is None or not scene.final or base.variable or base.kind not in {"python", "plain"}:
        return
    if not any(_LEVEL_ZERO.search(text) for text in texts) and not any(part.copies for part in scene.chain):
        yield finding(
            "intel-no-compute-runtime", scene, item.request.line,
            f"{item.request.text} needs Level Zero's loader and Intel's compute runtime, and nothing in "
            f"{base.reference} or its steps brings them: it sees no GPU.",
            severity="warning", confidence="likely", fix="Install libze1 and libze-intel-gpu1 of Intel's repository.",
        )  # fmt: skip


def uninstalled(scene: Scene) -> Iterator[Finding]:
    """library-missing: a step takes away NVIDIA's library of a framework that stays, and nothing else brings it."""
    base = scene.base
    for step in scene.stage.installs:
        if step.action != "uninstall" or step.branch or (base and base.has_cuda_libraries):
            continue
        for name in (one.name for one in step.requests if one.name.startswith("nvidia-")):
            again = any(one.request.name == name and one.request.line > step.line for one in scene.own)
            left = (
                one for one in scene.lasting if one.build and one.request.line <= step.line and alike(one.step, step)
            )
            held = (one for one in left if name in needs(one.request, one.build, scene.matrix, scene.worlds))
            if not again and (item := next(held, None)):
                detail = f"{item.request.name} {item.version} loads {name}, and this step uninstalls it."
                fix = f"Leave {name} where it is."
                yield finding("library-missing", scene, step.line, detail, confidence="likely", fix=fix)
                return


def _packaged(scene: Scene) -> bool:
    """Whether NVIDIA's libraries are asked for as packages, or a framework that brings them."""
    names = [item.request.name for item in scene.taken]
    extras = [extra for item in scene.taken for extra in item.request.extras]
    carried = any(item.build and item.build.cuda_from == "packages" for item in scene.taken)
    return (
        carried
        or any(re.match(r"nvidia-(cudnn|cuda|cublas)", name) for name in names)
        or any(re.search(r"cuda\d*[-_]pip", extra) for extra in extras)
    )


def _unknown(base: Base) -> bool:
    """Whether what the base holds cannot be told: neither plain nor of a maker whose tags say it."""
    if base.kind in {"python", "plain"}:
        return False
    named = base.cuda and (base.flavour or not base.installed)
    return not (base.kind == "cuda" and named and (not base.installed or base.cuda))


def _brought(scene: Scene) -> bool:
    """Whether CUDA or cuDNN may come from elsewhere: system or conda packages, a download, another image or stage."""
    named = any(re.search(r"cuda|cudnn|nvidia", request.name) for request in (*scene.apt, *scene.conda))
    copied = any(_has_cuda(name, scene) for part in scene.chain for name in part.copies)
    return named or copied or any(_BROUGHT.search(command.text) for command in scene.commands)


def _has_cuda(name: str, scene: Scene) -> bool:
    """Whether a stage or image that files are copied from may hold CUDA; an unknown image may."""
    stage = next((part for part in scene.ask.stages if part.name.lower() == name.lower()), None)
    image = scene.ask.chain(stage)[0].base if stage else name
    return bases.read(image, scene.matrix).kind in {"cuda", ""}


def _missing(item: Taken, what: str, scene: Scene) -> Finding:
    """A library that neither the base nor a package brings; softer where packages hold one that may be found."""
    base, build = scene.base, item.build
    assert base is not None
    beside = _carrier(item, scene)
    detail = f"{item.request.text} takes {what} from the system, and {base.reference} has none."
    if beside:
        detail += f" {beside} brings it as packages, which may or may not be found."
    rows = (build,) if build and build.source else ()
    level: Severity = "warning" if beside or base.kind != "cuda" else "error"
    sure: Confidence = "likely" if beside else "certain"
    return of_base(
        "library-missing", scene, item.request.line, detail, severity=level, confidence=sure, rows=rows,
        fix=_image_for(build, scene),
    )  # fmt: skip


def _image_for(build: Build | None, scene: Scene) -> str:
    """The tag of nvidia/cuda with the CUDA and cuDNN that a build takes from the system: its minor, or the next one.

    It is of the base's own family of systems, whose package manager the steps call.
    """
    base = scene.base
    if build is None or base is None or not base.flavour or scene.stage.parent >= 0:
        return ""
    if bases.home(base.repository) != "nvidia/cuda":  # in another one's place it would bring no framework
        return ""
    wanted = (build.cudnn or joint.cudnn_of(build.system)) if joint.needs_cudnn(build.system) else ""
    rows = scene.matrix.select("images", repository=bases.home(base.repository), status="active")
    named = [bases.read(name, scene.matrix) for row in rows for name in row.references()]
    named = [one for one in named if images.stands(one.reference, scene.matrix)]
    flavour, cuda = "devel" if base.flavour == "devel" else "runtime", origins.number(build.runtime)
    digits = "0123456789."
    named = [one for one in named if one.os.rstrip(digits) == base.os.rstrip(digits)]
    fits = [one for one in named if one.flavour == flavour and bool(one.cudnn) is bool(wanted)]
    fits = [one for one in fits if not wanted or _cudnn(one).partition(".")[0] == wanted.partition(".")[0]]
    minors = [(origins.number(bases.cuda_minor(one)), one) for one in fits]
    minors = [(minor, one) for minor, one in minors if minor[:1] == cuda[:1] and minor >= cuda]  # a later one serves it
    minors = [(minor, one) for minor, one in minors if minor == min(each[0] for each in minors)]
    near = [(one.os == base.os, origins.number(one.os), one) for _, one in minors]
    best = max(near, key=lambda each: each[:2], default=(None,))[-1]
    return f"Start from {best.reference}." if best else ""


def _carrier(item: Taken, scene: Scene) -> str:
    """Another build of the same CUDA major that brings the libraries as packages."""
    if item.build is None:
        return ""
    series = item.build.runtime.partition(".")[0]
    carriers = (
        other.request.text
        for other in scene.builds
        if other.build and other.build.cuda_from == "packages" and other.build.runtime.partition(".")[0] == series
    )
    return next(carriers, "")


def _other_runtime(item: Taken, wanted: str, scene: Scene) -> Iterator[Finding]:
    """A base with another CUDA or cuDNN than a build takes from the system, by their joint."""
    base, build = scene.base, item.build
    assert base is not None
    assert build is not None
    cudnn = _cudnn(base)
    if _is_other_cudnn(build, cudnn, scene):
        named = build.cudnn or joint.cudnn_of(build.system)
        detail = f"{item.request.text} is built for cuDNN {named}, from the system; {base.reference} has {cudnn}."
        yield _mismatch(item, detail, scene, certain=True)
    have = bases.cuda_minor(base)
    judged = joint.cuda(scene.matrix, build, have) if have else FITS
    if not isinstance(judged, Fits):
        detail = f"{item.request.text} is built for CUDA {wanted}, from the system; {base.reference} has {base.cuda}."
        yield _mismatch(item, detail, scene, certain=isinstance(judged, Clash))


def _is_other_cudnn(build: Build, cudnn: str, scene: Scene) -> bool:
    """Whether a cuDNN is not the one that a build loads, or older than the one that it was made with and insists on."""
    package = scene.matrix.package(build.package)
    strict = package is not None and package.strict_cudnn and bool(cudnn and build.cudnn)
    older = strict and isinstance(joint.stands_in(cudnn, build.cudnn), Clash)
    return older or isinstance(joint.cudnn(build, cudnn), Clash)


def packaged_cudnn(scene: Scene) -> Iterator[Finding]:
    """library-mismatch: a package of cuDNN that is pinned for a build which takes cuDNN from the system, and older."""
    asked = {item.request.name for item in scene.shipped}
    for item in scene.shipped:
        build = item.build
        if build is None or build.cuda_from != "system" or not build.runtime.startswith("cuda"):
            continue
        name = f"nvidia-cudnn-cu{versions.major(build.runtime.removeprefix('cuda'))}"
        pins = [one for one in scene.shipped if one.request.name == name and one.request.exact] if name in asked else []
        held = any(name in needs(one.request, one.build, scene.matrix, scene.worlds) for one in scene.env)
        for pin in pins if not held else ():
            if alike(pin.step, item.step) and _is_other_cudnn(build, pin.request.exact, scene):
                detail = f"{item.request.text} was made with cuDNN {build.cudnn}, and {pin.text} does not serve it."
                fix = f"Ask for {name}>={build.cudnn},<{versions.major(build.cudnn) + 1}."
                yield of_request(
                    "library-mismatch", pin, scene, detail, severity="warning", confidence="likely", fix=fix,
                    rows=(build,),
                )  # fmt: skip


def _cudnn(base: Base) -> str:
    """The release of cuDNN in a base, or its major; empty if there is none, or it is not known."""
    return base.cudnn_release or (base.cudnn if base.cudnn != "yes" else "")


def _mismatch(item: Taken, detail: str, scene: Scene, *, certain: bool) -> Finding:
    """A base that has the library, in a release that the build was not made for."""
    open_ = not (item.python or item.request.spec)  # which release an unknown Python gets is not known
    level: Severity = "error" if certain and not open_ and not _carrier(item, scene) else "warning"
    rows = (item.build,) if item.build and item.build.source else ()
    fix = _image_for(item.build, scene)
    return of_base("base-runtime-mismatch", scene, item.request.line, detail, severity=level, rows=rows, fix=fix)


RULES: Final = (system_libraries, packaged_cudnn, level_zero, uninstalled)
