"""``envcheck matrix show``: everything the matrix says of one thing, whatever kind of thing its name is."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

import compat.joints.driver as joint
import compat.matrix.drivers as drivers
import compat.matrix.instances as instances
import compat.matrix.products as products
import compat.matrix.require as require
from compat import targets, versions
from compat.app import hardware
from compat.app.variants import besides, measured_release, measured_releases, requirements, variants
from compat.errors import InputError
from compat.joints.verdict import Clash, Fits, Verdict
from compat.lazy import pattern
from compat.matrix import Matrix, measured
from compat.matrix.listing import by_release, cell, line, subjects, table
from compat.matrix.processors import find_processor
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from compat.matrix.rows import Build, Image, Row
    from compat.tables import Table

_RELEASE: Final = pattern(r"(cuda|rocm|cudnn|nccl|tensorrt|jetpack|l4t)[ =]{0,3}v?(\d[\d.]{0,30})", re.IGNORECASE)
_PACKAGE: Final = pattern(r"([A-Za-z0-9][A-Za-z0-9._-]{0,60})(?:\s{0,3}(?:==|\s)\s{0,3}([0-9][0-9A-Za-z.!+]{0,40}))?")
_BRANCH: Final = pattern(r"(?:driver\s{0,3}|R)(\d{3})(?:\.[\d.]{1,20})?", re.IGNORECASE)
_DRIVER: Final = pattern(r"(?:driver\s{0,3})?(\d{3}\.\d{1,3}(?:\.\d{1,3})?)", re.IGNORECASE)
_PREVIEW: Final = pattern(r"\d(?:a|b|rc|\.dev)\d")
_NEAR: Final = 4  # releases that are named on either side of one that is not there
_LAST: Final = ("inferred", "note", "exempt", "origin")
_HEADINGS: Final = {"origin": "file"}


def show(matrix: Matrix, text: str) -> tuple[Table, ...]:
    """Tables about ``torch==2.9.1``, ``sm_120``, ``RTX 4090``, ``cuda 12.8``, ``nvidia/cuda:12.8.1-base-ubuntu22.04``.

    Raises:
        InputError: if the matrix knows nothing by that name, with names that come near.
    """
    wanted = text.strip()[:200]
    for kind in _KINDS:
        found = tuple(kind(matrix, wanted))
        if found:
            return found
    near = (*products.nearest_gpus(matrix, wanted), *_near_packages(matrix, wanted))
    raise InputError(
        f"nothing is known by the name {wanted!r}",
        expected="a package, a release, a target, a GPU, an accelerator, an image or a system",
        hint=f"near it: {', '.join(near[:4])}"
        if near
        else f"`envcheck matrix list` shows {', '.join([*subjects()][:4])}, ...",
    )


def _near_packages(matrix: Matrix, wanted: str) -> list[str]:
    """Packages whose name looks like what was asked for."""
    import difflib

    return difflib.get_close_matches(normalise(wanted.partition("==")[0]), list(matrix.packages), n=2, cutoff=0.6)


def detail(matrix: Matrix, title: str, row: Row) -> Table:
    """One row as a table of its fields; what it does not state is left out."""
    names = [item.name for item in fields(row) if item.name not in {"source", "how", *_LAST}]
    cells = [(name, cell(getattr(row, name))) for name in (*names, *_LAST)]
    lines = [line(row, _HEADINGS.get(name, name), value) for name, value in cells if value]
    return table(matrix, title, ("field", "value"), lines)


def _release(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``cuda 12.8``: every release of that number; ``12.8`` takes in its patch releases."""
    found = _RELEASE.fullmatch(wanted)
    if found is None:
        return
    kind, version = found[1].lower(), found[2].rstrip(".")
    name = "jetpack" if kind == "l4t" else kind
    key = {"cuda": "cuda", "rocm": "rocm", "jetpack": "jetpack", "l4t": "l4t"}.get(kind, "version")
    for row in matrix.table(name):
        stated = getattr(row, key)
        if (
            stated == version
            or stated.startswith(f"{version}.")
            or versions.release(stated) == versions.release(version)
        ):
            yield detail(matrix, f"{kind} {stated}", row)
    for row in matrix.table("forward") if kind == "cuda" else ():
        if versions.same_series(row.cuda, version):
            yield detail(matrix, f"cuda-compat {row.cuda} on older drivers", row)
    if matrix.package(kind) is not None and _of_version(
        (build.version for build in matrix.builds(kind)), version, exact=False
    ):
        yield from _package(matrix, f"{kind} {version}")


def _branch(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``driver 535`` or ``R535``."""
    found = _BRANCH.fullmatch(wanted)
    for row in matrix.table("drivers") if found else ():
        if row.branch == f"R{found[1]}":  # type: ignore[index]  # the loop is empty without a match
            yield detail(matrix, f"NVIDIA driver branch {row.branch}", row)


def _driver(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``535.104.05``: the branch it belongs to, and which CUDA releases it runs.

    A number that is no Linux branch's is read as Windows'; the drivers of the two are numbered apart.
    """
    found = _DRIVER.fullmatch(wanted)
    if found is None:
        return
    linux = drivers.driver_branch(matrix, found[1], "linux")
    branch, platform = (linux, "linux") if linux else (drivers.driver_branch(matrix, found[1], "windows"), "windows")
    if branch is None:
        return
    yield detail(matrix, f"NVIDIA driver {found[1]} ({platform}) is of branch {branch.branch}", branch)
    lines = [
        line(row, row.cuda, _runs(joint.verdict(matrix, row.cuda, found[1], windows=linux is None)))
        for row in sorted(matrix.table("cuda"), key=lambda row: versions.release(row.cuda), reverse=True)
        if row.toolkit and not row.preview
    ]
    yield table(matrix, "CUDA that it runs", ("cuda", "runs"), lines)


def _runs(verdict: Verdict) -> str:
    """A verdict as a cell."""
    if verdict == joint.MINOR:
        return f"{joint.MINOR.note}, without compiling its PTX"
    return "yes" if isinstance(verdict, Fits) else "no" if isinstance(verdict, Clash) else "not known"


def _system(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``ubuntu22.04``, and the images that are made of it."""
    row = matrix.system(wanted.lower())
    if row is not None:
        yield detail(matrix, row.os, row)
        images = [image for image in matrix.table("images") if image.os == row.os]
        if images:
            yield _image_table(matrix, f"Images with {row.os}", images)


def _image(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """A full reference with the condition it carries, or all tags of a repository."""
    repository = wanted.partition(":")[0]
    images = matrix.select("images", repository=repository)
    if not images and "/" not in repository:  # ``ollama`` is what people call ``ollama/ollama``
        images = tuple(row for row in matrix.table("images") if row.repository == f"{repository}/{repository}")
    exact = [image for image in images if wanted in image.references()]
    for image in exact:
        yield detail(matrix, wanted, image)
        if image.require:
            yield _condition(matrix, image)
    if images and not exact and ":" not in wanted:
        yield _image_table(matrix, f"Tags of {repository}", images)


def _image_table(matrix: Matrix, title: str, images: Iterable[Image]) -> Table:
    """Images, one line per family of tags."""
    lines = [
        line(image, f"{image.repository}:{image.tag}", cell(image.flavours), image.runtime, image.os, image.status)
        for image in images
    ]
    return table(matrix, title, ("image", "flavours", "runtime", "system", "status"), lines)


def _condition(matrix: Matrix, image: Image) -> Table:
    """The alternatives of NVIDIA_REQUIRE_CUDA, drivers of one range gathered with the brands they hold for."""
    brands: dict[str, list[str]] = {}
    for terms in require.parse(image.require):
        rest = " and ".join(str(term) for term in terms if term.key != "brand")
        brands.setdefault(rest, []).extend(term.value for term in terms if term.key == "brand")
    lines = [line(image, rest, " ".join(names) or "any") for rest, names in brands.items()]
    return table(matrix, "Starts if one of these holds (NVIDIA_REQUIRE_CUDA)", ("condition", "brands"), lines)


def _target(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``sm_120``, ``12.0``, ``gfx1100`` or ``dg2``: the device, its products, and builds that have code for it."""
    sm = targets.sm(wanted)
    name = f"sm_{sm.major}{sm.minor}" if sm else wanted.partition(":")[0].lower()
    row = hardware.device(matrix, name)
    if row is None:
        return
    yield detail(matrix, name, row)
    found = products.find_gpu(matrix, name)
    if found:
        lines = [line(product, product.name, cell(product.memory_gib), product.segment) for product in found]
        yield table(matrix, f"Products with {name}", ("name", "GiB", "segment"), lines)
    yield from _native(matrix, name)


def _native(matrix: Matrix, name: str) -> Iterator[Table]:
    """First and last framework release that runs on a target without compiling PTX."""
    lines = []
    for package in matrix.packages.values():
        if package.kind != "framework":
            continue
        runs = [
            build
            for build in matrix.builds(package.name)
            if targets.kernels_for(name, build.kernels, matrix.families) == "native"
        ]
        if runs:
            found = list(by_release(runs).values())
            lines.append(line(found[0][0], package.name, _variants(found[0]), _variants(found[-1])))
    if lines:
        yield table(matrix, f"Builds with code for {name}", ("package", "first known", "last known"), lines)


def _variants(builds: list[Build]) -> str:
    """A release and the runtimes it comes in."""
    return f"{builds[0].version} ({' '.join(dict.fromkeys(build.runtime for build in builds))})"


def _package(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``torch``, ``torch==2.9.1``, or all releases of ``torch 2.9``."""
    found = _PACKAGE.fullmatch(wanted)
    package = matrix.package(found[1]) if found else None
    if found is None or package is None:
        return
    releases = by_release(_installed_as(matrix, package.name, normalise(found[1])))
    version = (found[2] or "").partition("+")[0]
    if not version:
        yield detail(matrix, package.title, package)
        yield _releases(matrix, releases)
        return
    chosen = {name: releases[name] for name in _of_version(releases, version, "==" in wanted)}
    if not chosen and (named := [one for one in matrix.builds_of(package.name, version) if one.published == version]):
        chosen = {version: named}
    if not chosen:
        seen = tuple(measured_release(matrix, normalise(found[1]), found[2]))
        if not seen:
            raise _no_release(normalise(found[1]), version, releases)
        yield from seen
    if len(chosen) > 1:
        yield _releases(matrix, chosen)
    for name, builds in chosen.items() if len(chosen) == 1 else ():
        if (own := normalise(found[1])) != package.name and all(one.install_name != own for one in builds):
            yield from measured_release(matrix, own, name)  # a part of it, with files of its own: tensorflow-intel
        yield variants(matrix, f"{package.title} {name}", builds)
        yield from requirements(matrix, builds)
        yield from besides(matrix, builds)


def _measured(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``tensorflow==2.21.0rc0``, ``sgl-kernel==0.3.21``, ``sgl-kernel``: what was measured and no row is for."""
    found = _PACKAGE.fullmatch(wanted)
    if found and found[2]:
        name = normalise(found[1])
        seen = tuple(measured_release(matrix, name, found[2]))
        if not seen and "==" in wanted and (known := measured.releases(name)):
            raise _no_release(name, found[2], known)
        yield from seen
    elif found:
        yield from measured_releases(matrix, normalise(found[1]))


def _installed_as(matrix: Matrix, package: str, name: str) -> list[Build]:
    """Builds of a package; where it was asked for by the name of one of its distributions, those of that alone."""
    builds = [replace(build, versions=(build.published or build.version,)) for build in matrix.builds(package)]
    own = [build for build in builds if build.install_name == name]
    return own if name != package and own else list(matrix.builds(package))


def _no_release(package: str, version: str, releases: Iterable[str]) -> InputError:
    """That a package has no such release, with those next to where it would stand."""
    ordered = sorted(releases, key=versions.release)
    place = sum(versions.release(name) < versions.release(version) for name in ordered)
    near = ordered[max(place - _NEAR, 0) : place + _NEAR]
    return InputError(f"{package} {version} is not in the matrix", expected=f"one of {', '.join(near)}")


def _of_version(releases: Iterable[str], version: str, exact: bool) -> list[str]:
    """Releases that a version means: ``2.15`` is 2.15.0 to PEP 440 (``exact``), else its whole series."""
    releases = list(dict.fromkeys(releases))
    plain = _PREVIEW.search(version) is None  # a preview is another release than the final one of its number
    same = [name for name in releases if name == version] or [
        name for name in releases if plain and versions.same_release(version, name)
    ]
    series = [name for name in releases if name.startswith(f"{version}.")]
    return same if exact or version in same else list(dict.fromkeys([*same, *series]))


def _library(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``libcudnn.so.8``: the packages that bring it."""
    lines = [line(row, row.package, row.versions) for row in matrix.select("sonames", soname=wanted)]
    if lines:
        yield table(matrix, f"Packages with {wanted}", ("package", "versions"), lines)


def _library_package(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``nvidia-cudnn-cu12==9.1.0.70``: the libraries that a package of a GPU's vendor brings."""
    found = _PACKAGE.fullmatch(wanted)
    name, version = (normalise(found[1]), found[2] or "") if found else ("", "")
    rows = [row for row in matrix.table("sonames") if row.package == name]
    told = [row for row in rows if not version or (matrix.day(name, version) and versions.meets(row.versions, version))]
    if told:
        lines = [line(row, row.soname, row.versions) for row in told]
        title = f"Libraries of {name} {version}, {matrix.day(name, version)}" if version else f"Libraries of {name}"
        yield table(matrix, title.removesuffix(", "), ("library", "versions"), lines)
        yield from _measured(matrix, wanted)


def _accelerator(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``ascend``, ``MLU370``, ``torch-musa``: packages that drive an accelerator, and what each release needs."""
    name = normalise(wanted)
    table_rows = matrix.table("accelerators")
    rows = [row for row in table_rows if name in {row.accelerator, row.package}]
    if not rows and (maker := find_processor(matrix, wanted)) and not products.find_gpu(matrix, wanted):
        rows = [row for row in table_rows if row.accelerator == maker.accelerator]
    lines = [
        line(
            row,
            row.accelerator,
            row.package,
            *map(cell, (row.versions, row.framework, row.stack, row.python, row.devices, row.driver)),
        )
        for row in rows
    ]
    if lines:
        columns = ("accelerator", "package", "versions", "framework", "stack", "Python", "devices", "driver")
        yield table(matrix, f"What {wanted} needs", columns, lines)


def _releases(matrix: Matrix, releases: dict[str, list[Build]]) -> Table:
    """All releases of a package with their runtimes and Pythons."""
    lines = [
        line(
            builds[0],
            version,
            builds[0].date,
            " ".join(dict.fromkeys(build.runtime for build in builds if build.runtime)),
            pythons(builds),
        )
        for version, builds in reversed(releases.items())
    ]
    return table(matrix, "Releases, newest first", ("release", "date", "runtimes", "Python"), lines)


def pythons(builds: Iterable[Build]) -> str:
    """The Pythons of several builds, oldest first."""
    found = {python for build in builds for python in build.python}
    return " ".join(sorted(found, key=lambda python: (versions.release(python.removesuffix("t")), python)))


def _instance(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """``p5.48xlarge``: its GPUs, and what each of them is."""
    if instances.is_instance(wanted):
        row = instances.find_instance(matrix, wanted)
        yield detail(matrix, row.name, row)
        yield from _gpu(matrix, row.gpu)


def _gpu(matrix: Matrix, wanted: str) -> Iterator[Table]:
    """A product by any of its names, as ``envcheck gpu show`` tells it."""
    found = products.find_gpu(matrix, wanted)
    for product in found[:3]:
        yield hardware.compared(matrix, (product,))
    if len(found) > 3:
        lines = [line(product, product.name, product.target) for product in found[3:]]
        yield table(matrix, "Also of that name", ("name", "target"), lines)


# Tried in this order: what has a form of its own comes before what may be any words.
_KINDS: Final[tuple[Callable[[Matrix, str], Iterator[Table]], ...]] = (
    _release,
    _driver,
    _library,
    _branch,
    _target,
    _package,
    _library_package,
    _accelerator,
    _image,
    _system,
    _instance,
    _gpu,
    _measured,
)
