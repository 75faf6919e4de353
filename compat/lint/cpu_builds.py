"""Lint of CPU builds that nobody meant to install."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.joints.libraries as libraries
import compat.lint.origins as origins
from compat import versions
from compat.joints.verdict import Clash
from compat.lint.finding import finding, of_request, seen
from compat.lint.walk import Taken, alike
from compat.lint.worlds import together
from compat.matrix import measured
from compat.names import normalise
from compat.sources.values import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.findings import Finding, Severity
    from compat.lint.scene import Scene


# A wheel for a GPU, by its local version or by the folder that it lies in: ``+cuda112``, ``/cuda101/``.
_BUILT_FOR: Final = re.compile(r"\+(?:cuda|rocm)|/(?:cuda|rocm)\d+/")
_GPU: Final = "-gpu"
# Framework -> names of what brings its CPU build a device.
_PLUGINS: Final = {
    **dict.fromkeys(("jax", "jaxlib"), r"jax-(?:cuda|rocm)\d+-(?:plugin|pjrt)|libtpu|jaxlib\W"),  # with a local tag
    **dict.fromkeys(("torch", "torchvision", "torchaudio"), "torch-npu|torch-xla|libtpu|torch-neuronx"),
}


def backend_by_device(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel: uv chooses the build by the device it sees, and an image build sees none.

    The choice holds for torch wherever it comes from: asked for, or brought along by what is asked for.
    """
    torch = {"torch"} | {request.name for request, row in scene.applications if "torch" in row.pulls}
    torch |= {name for name, package in scene.matrix.packages.items() if package.follows == "torch"}
    for item in scene.own:
        if scene.base and "--torch-backend=auto" in item.step.options and item.request.name in torch:
            detail = "--torch-backend=auto looks for a driver; an image build has none: the CPU build is taken."
            package, rows = scene.matrix.package(item.request.name), scene.rows(item.request.name)
            ours = package is not None and package.kind != "framework"  # a package that has builds for GPUs alone
            made = {row.runtime.rstrip("0123456789.") for row in rows if not row.index and row.runtime}
            gpu = scene.gpu in {"cuda", "rocm"} or (ours and made == {"cuda"})
            level: Severity = "error" if gpu else "warning"
            yield finding("accidental-cpu-wheel", scene, item.step.line, detail, severity=level, confidence="likely")
            return


def lifted(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel: what needs a newer jax takes the place of a jaxlib with CUDA inside.

    The newest release of a library for jax needs a jax of its own time; its jaxlib of the default index is a CPU build.
    """
    local = next(
        (item for item in scene.taken if item.request.name == "jaxlib" and "+cuda" in item.request.exact), None
    )
    rows = [row for row in scene.matrix.builds("jax") if not scene.python or scene.python in row.python]
    if local is None or not rows or versions.same_series(rows[-1].version, local.request.exact.partition("+")[0]):
        return
    later = {id(item.request) for item in scene.taken[scene.taken.index(local) + 1 :]}
    for request, row in scene.applications:
        newest = id(request) in later and not request.spec and not request.url
        if newest and {"jax", "jaxlib"} & {*row.pulls}:
            newer = f"{request.text} of today needs a newer jax than {local.request.text} belongs to"
            yield finding(
                "accidental-cpu-wheel", scene, request.line, confidence="likely",
                detail=f"{newer}: pip puts the default index's jax there, with a CPU build of jaxlib.",
                fix=f"Pin the release of {request.name} that was made for this jax.", evidence=(seen(local, scene),),
            )  # fmt: skip
            return


def half_installed(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel, base-runtime-mismatch: AMD's jaxlib without its plugin, or of another ROCm."""
    plugin = any(re.match(r"jax-rocm\d+-(plugin|pjrt)", item.request.name) for item in scene.taken)
    for item in scene.own:
        place = origins.origin(item.request.url.rpartition("/")[0] + "/", scene.matrix) if item.request.url else None
        if place is None or place.index != "amd-manylinux" or "+" in item.request.exact:
            continue
        if item.request.name == "jaxlib" and not plugin:
            detail = (
                f"jaxlib {item.request.exact} holds no GPU code; jax-rocm*-plugin and jax-rocm*-pjrt are not installed."
            )
            yield of_request("accidental-cpu-wheel", item, scene, detail, confidence="likely")
        if isinstance(libraries.rocm(item.request.name, place.variant, scene.rocm), Clash):
            detail = f"{item.request.name} is of ROCm {place.variant}; the image has {scene.rocm}."
            yield finding("base-runtime-mismatch", scene, item.request.line, detail, severity="warning")


def cpu_by_accident(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel: a CPU build where the base or another request says GPU, and nobody asked for CPU."""
    plugins = {item.request.name for item in scene.taken}
    plugins |= {item.request.text for item in scene.taken if _BUILT_FOR.search(item.request.spec + item.request.url)}
    for item in scene.shipped:
        asked = [extra for extra in item.request.extras if _is_dropped(extra, item, scene)]
        if asked and _may_be_older(item, scene):
            continue
        if item.build is None or item.build.runtime != "cpu" or item.step.branch:
            continue  # an arm of an "if" is for one of several kinds of machine
        if _wanted_cpu(item, plugins) and not _is_projects(item, scene):
            continue
        if scene.gpu not in {"cuda", "rocm"} and not asked and scene.named != "gpu":
            continue
        package = scene.matrix.package(item.request.name)
        if package is None or package.kind != "framework":
            continue
        why = ", and the file's name says GPU" if scene.named == "gpu" else ""
        if asked:
            why = f": it has no extra {', '.join(asked)}"
        elif scene.base and scene.gpu:
            why = f" on {scene.base.reference}"
        detail = f"{item.request.text} installs a CPU build ({item.build.full_version}){why}."
        fix = _with_extra(item, asked, scene) if asked else ""
        yield of_request("accidental-cpu-wheel", item, scene, detail, fix=fix, rows=(item.build,))


def without_extra(scene: Scene) -> Iterator[Finding]:
    """version-does-not-exist: a pinned release without an extra that others of its package have; pip only warns.

    Only what decides is recorded of an extra, so that one of which no release has a line may be there.
    """
    for item in scene.own if scene.ask.kind != "lock" else ():
        name, record = item.request.name, measured.release(item.request.name, item.request.exact.partition("+")[0])
        if not item.request.exact or item.request.url or record is None or not record.lines or item.step.branch:
            continue
        for extra in set(map(normalise, item.request.extras)) - measured.extras(name, record.version):
            if not any(extra in measured.extras(name, version) for version in measured.releases(name)):
                continue
            detail = f"{item.request.text}: {name} {record.version} has no extra {extra}, and pip goes on without it."
            written = [one for one in item.request.extras if normalise(one) == extra]
            first = next((row.version for row in scene.rows(name) if extra in map(normalise, row.extras)), "")
            older = f"Ask for {name}[{written[0]}]=={first}, or leave it out." if first else "Leave it out."
            fix = _with_extra(item, written, scene) or older
            yield of_request("version-does-not-exist", item, scene, detail, severity="warning", fix=fix)


def _with_extra(item: Taken, dropped: list[str], scene: Scene) -> str:
    """The request with the extras that its release has in the place of dropped ones: the same CUDA, else the next."""
    build = item.build
    same = [row for row in scene.rows(item.request.name) if build and row.version == build.version and not row.index]
    offered = {extra for row in same for extra in row.extras}
    kept = [extra for extra in item.request.extras if extra not in dropped]
    for extra in dropped:
        kind = re.match(r"cuda|rocm|", extra).group()  # type: ignore[union-attr]
        alike = [one for one in offered if kind and re.fullmatch(rf"{kind}\d+", one)]
        newer = [one for one in alike if origins.number(one)[:1] >= origins.number(extra)[:1]]
        plain = extra.removesuffix("_pip")
        kept += [plain] if plain in offered else [min(newer, key=origins.number)] if newer else []
    return f"Ask for {item.request.name}[{','.join(kept)}]." if len(kept) == len(item.request.extras) else ""


def _is_projects(item: Taken, scene: Scene) -> bool:
    """Whether a project's own source says CPU, on a base with CUDA, and no other step may put another build there.

    The one file serves all machines; who writes such a base means this one.
    """
    others = [one for one in scene.own if one.request.name == item.request.name and one.step.home != PROJECT]
    replacing = any(one.replaces or one.request.spec or one.request.url for one in others)
    removed = any(
        step.action == "uninstall" and any(one.name == item.request.name for one in step.requests)
        for step in scene.stage.installs
    )
    based = scene.base is not None and scene.base.kind == "cuda"
    return item.step.home == PROJECT and based and scene.final and not replacing and not removed


def _may_be_older(item: Taken, scene: Scene) -> bool:
    """Whether an image with a Python of its own, which nobody knows, may get a release that still has the extra."""
    own = scene.base is not None and scene.base.python == "unknown" and not scene.pythons
    return own and not item.python and not item.request.exact


def _is_dropped(extra: str, item: Taken, scene: Scene) -> bool:
    """Whether a release has no such GPU extra; of releases before the default index had them not all are known."""
    if item.build is None or not re.match(r"cuda|rocm|gpu", extra):
        return False
    builds = scene.matrix.builds(item.build.package)
    complete = [versions.parsed(build.version) for build in builds if build.extras and not build.index]
    return bool(complete) and versions.parsed(item.build.version) >= min(complete)


def _wanted_cpu(item: Taken, names: set[str]) -> bool:
    """A CPU index, a CPU package or a device plugin beside it is intent, not accident."""
    by_index = any(place.variant == "cpu" or "/cpu" in place.url for place in item.origins)
    by_name = item.request.name.endswith(("-cpu", "-intel")) or "+cpu" in item.request.spec
    return by_index or by_name or has_plugin(item, names)


def has_plugin(item: Taken, names: Iterable[str]) -> bool:
    """Whether one of some requests brings a framework the device that its own build lacks."""
    devices = _PLUGINS.get(item.request.name, "$.")
    return any(re.match(devices, name) for name in names)


def doubled(scene: Scene) -> Iterator[Finding]:
    """framework-duplicate-install: a package for the GPU and its CPU form of another name, in one environment.

    Source: packaging specifications, "Recording installed projects" (each distribution owns the files that it writes).
    """
    named = {item.request.name: item for item in scene.env}
    plain = ((one, named.get(one.request.name.removesuffix(_GPU))) for one in named.values())
    for gpu, cpu in plain:
        if cpu is None or cpu is gpu or not _is_cpu(cpu, scene):
            continue
        if gpu.step.branch != cpu.step.branch or not alike(gpu.step, cpu.step):
            continue
        if together((gpu.request.marker, cpu.request.marker), scene.worlds) and (gpu.mine or cpu.mine):
            line = max(gpu.request.line, cpu.request.line)
            what = f"{gpu.request.name} and {cpu.request.name} write the same module"
            detail = f"{what}; where {cpu.request.name} is written last, it runs on the CPU."
            fix = f"Ask for {gpu.request.name} alone."
            yield finding("framework-duplicate-install", scene, line, detail, severity="warning", fix=fix)


def _is_cpu(item: Taken, scene: Scene) -> bool:
    """Whether a distribution has no build for a GPU on the default index, and its GPU form has a name of its own."""
    rows = [row for row in scene.rows(item.request.name) if not row.index]
    return bool(rows) and all(row.runtime == "cpu" or row.runtime.startswith("metal") for row in rows)


RULES: Final = (without_extra, cpu_by_accident, backend_by_device, half_installed, lifted, doubled)
