"""Laws of naming: what a row names exists, what exists can be reached, and nothing stands twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product
from typing import Final

import compat.matrix.require as require
from compat import targets, versions
from compat.errors import InputError
from compat.matrix import key_of
from compat.matrix.laws.view import Breach, Placed, View


def one_row_per_key(view: View) -> Iterator[Breach]:
    """No two rows of a table have one key, no two images one reference, no two names of a package one meaning."""
    for table in view.names():
        yield from _repeated(view.of(table), lambda item: (key_of(item.row),), "key")
    yield from _repeated(view.of("images"), lambda item: item.row.references(), "tag")
    yield from _repeated(view.of("packages"), lambda item: (item.row.name, *item.row.aliases), "aliases")
    yield from _repeated(view.of("systems"), lambda item: (item.row.os, *item.row.aliases), "aliases")


def _repeated(items: Iterable[Placed], names: Callable[[Placed], Iterable[object]], key: str) -> Iterator[Breach]:
    """Rows whose names an earlier row has."""
    seen: dict[object, Placed] = {}
    for item in items:
        for name in names(item):
            other = seen.setdefault(name, item)
            if other is not item:
                yield Breach(item, key, f"stands in {other.file}:{other.line} already", "one row")
                break


def names_exist(view: View) -> Iterator[Breach]:
    """Every index, package, toolkit, system, target, library version and term that a row names has a row."""
    yield from _referring(view, _REFERENCES)
    for table, naming in _NAMING.items():
        for item in view.of(table):
            yield from naming(view, item)
    for items in view.builds().values():
        for item in items:
            yield from _build_names(view, item)


# Table, fields, and the table that has a row for each of their values.
_REFERENCES: Final = (
    ("packages", "follows plugs needs same", "packages"),
    ("instances", "gpu", "gpus"),
    ("processors", "accelerator", "accelerators"),
    ("capabilities", "last_driver", "drivers"),
    ("cudnn", "first_cc last_cc", "capabilities"),
    ("nccl", "first_cc last_cc", "capabilities"),
    ("tensorrt", "first_cc last_cc", "capabilities"),
    ("jetpack", "capabilities", "capabilities"),
    ("images", "os", "systems"),
    ("rocm", "os", "systems"),
    ("jetpack", "os", "systems"),
)


def _referring(view: View, references: Iterable[tuple[str, str, str]]) -> Iterator[Breach]:
    """Values of fields that no row of another table has; a system counts by its major too (``rhel9`` for rhel9.4)."""
    for table, names, other in references:
        known = view.keys(other)
        for item, key in product(view.of(table), names.split()):
            stated = getattr(item.row, key)
            for name in stated if isinstance(stated, tuple) else (stated,):
                major = name.partition(".")[0] if other == "systems" else name
                if name and known.isdisjoint((name, major)):
                    yield Breach(item, key, f"{name} is not in {other}", f"a name of {other}")


def _build_names(view: View, item: Placed) -> Iterator[Breach]:
    """Index, package, kernels and runtime of a build."""
    row = item.row
    for key, table in (("index", "indexes"), ("package", "packages")):
        if (name := getattr(row, key)) and name not in view.keys(table):
            yield Breach(item, key, f"{name} is not in {table}", f"a name of {table}")
    for name in row.kernels:
        if name != "-" and not _is_known_code(view, name):
            yield Breach(
                item, "kernels", f"{name} is no known target", "a target of capabilities, gfx or intel, or its variant"
            )
    yield from _runtime(view, item, row.runtime)


def _is_known_code(view: View, name: str) -> bool:
    """Whether the device that a piece of code is for has a row."""
    found = targets.sm(name)
    if name.startswith(tuple(targets.AT_RUN_TIME.values())):
        return name in {product.row.target for product in view.of("gpus")}
    known = view.capabilities if found else view.gfx if targets.is_gfx(name) else view.intel
    return not known or (f"sm_{found.major}{found.minor}" if found else name.partition(":")[0]) in known


def _runtime(view: View, item: Placed, runtime: str) -> Iterator[Breach]:
    """A CUDA or ROCm version must have a release; below the first release of the table it is silent, not wrong."""
    for prefix, known in (("cuda", view.toolkit_versions), ("rocm", view.keys("rocm"))):
        version = runtime.removeprefix(prefix)
        if runtime.startswith(prefix) and known and not _is_released(version, known):
            yield Breach(item, "runtime", f"{prefix} has no release {version}", f"a release of {prefix}")


def _is_released(version: str, known: Collection[str]) -> bool:
    """Whether a version has a row, or lies before the first that the table holds."""
    return any(_same_release(version, release) for release in known) or _below(version, known)


def _below(minor: str, known: Collection[str]) -> bool:
    """Whether a version lies before every known one: outside what the table covers, nothing is said."""
    return versions.release(minor) < min(map(versions.release, known))


def _image_names(view: View, item: Placed) -> Iterator[Breach]:
    """System, toolkit, libraries, condition and framework of an image, and the place of its flavours."""
    row = item.row
    if row.cuda and not _is_released(row.cuda, view.keys("cuda")):
        yield Breach(item, "cuda", f"{row.cuda} is not in cuda", "a release of cuda")
    if "{flavour}" in row.tag and not row.flavours:
        yield Breach(item, "flavours", "is missing", "what {flavour} stands for")
    if row.flavours and "{flavour}" not in row.tag:
        yield Breach(item, "tag", f"{row.tag} has no {{flavour}}", "a place for its flavours")
    if item.raw.get("require", "") not in {"", *view.keys("requires")}:
        yield Breach(item, "require", f"{item.raw['require']:.40} is not in requires", "a name of requires")
    yield from _library(view, item, "cudnn", row.cudnn)
    framework = row.framework.partition("==")[0]
    if framework and view.keys("packages") and framework not in view.keys("packages"):
        yield Breach(item, "framework", f"{framework} is not in packages", "a name of packages")
    yield from _runtime(view, item, row.runtime)


def _library(view: View, item: Placed, table: str, version: str) -> Iterator[Breach]:
    """A library version that an image states, as exact as it states it."""
    known = view.keys(table)
    if version and known and not any(_same_release(version, release) for release in known):
        yield Breach(item, table, f"{version} is not in {table}", f"a version of {table}, or the beginning of one")


def _same_release(stated: str, known: str) -> bool:
    """Whether ``stated`` is ``known`` or a coarser way to write it (``8`` or ``8.9`` for 8.9.2.26)."""
    return known == stated or known.startswith(f"{stated}.") or versions.release(known) == versions.release(stated)


def _product_names(view: View, item: Placed) -> Iterator[Breach]:
    """The target of a product; generations of TPU and series of Ascend have no table of their own."""
    prefix = targets.AT_RUN_TIME.get(item.row.vendor, "")
    if prefix and not item.row.target.startswith(prefix):
        yield Breach(item, "target", f"{item.row.target} is not of {item.row.vendor}", f"a target such as {prefix}1")
    elif not prefix and item.row.target not in view.capabilities | view.gfx | view.intel:
        yield Breach(item, "target", f"{item.row.target} is not known", "a target of capabilities, gfx or intel")


def _intel_names(_view: View, item: Placed) -> Iterator[Breach]:
    """A device runs what is compiled for itself."""
    if item.row.intel not in item.row.runs:
        yield Breach(item, "runs", f"lacks {item.row.intel}", "the target itself among the code that it runs")


def _system_names(_view: View, item: Placed) -> Iterator[Breach]:
    """A system packages its own python3."""
    row = item.row
    if row.python and row.pythons and row.python not in row.pythons:
        yield Breach(item, "pythons", f"lacks {row.python}", "its own python3 among those it packages")


def _rocm_names(_view: View, item: Placed) -> Iterator[Breach]:
    """The kernels that a ROCm release states are those of its systems."""
    for text in item.row.linux:
        os = text.partition(":")[0]
        if item.row.os and os not in item.row.os:
            yield Breach(item, "linux", f"{os} is not in its systems", f"one of {' '.join(item.row.os)}")


def _library_names(view: View, item: Placed) -> Iterator[Breach]:
    """CUDA releases of a library release."""
    minors, majors = set(view.toolkits), {name.partition(".")[0] for name in view.toolkits}
    for cuda in item.row.cuda:
        if cuda not in minors | majors and not _below(cuda, minors):
            yield Breach(item, "cuda", f"{cuda} is not in cuda", "a major or minor of cuda")


def _jetpack_names(view: View, item: Placed) -> Iterator[Breach]:
    """The toolkit of a JetPack."""
    if item.row.cuda and item.row.cuda not in view.toolkits:
        yield Breach(item, "cuda", f"{item.row.cuda} is not in cuda", "a minor of cuda")


_NAMING: Final[dict[str, Callable[[View, Placed], Iterator[Breach]]]] = {
    "images": _image_names,
    "gpus": _product_names,
    "intel": _intel_names,
    "systems": _system_names,
    "rocm": _rocm_names,
    "cudnn": _library_names,
    "nccl": _library_names,
    "tensorrt": _library_names,
    "jetpack": _jetpack_names,
}


def images_exist(view: View) -> Iterator[Breach]:
    """Every image that a system or a JetPack names exists in images."""
    yield from _referring(view, (("systems", "image", "images"), ("jetpack", "images", "images")))


def requirements_parse(view: View) -> Iterator[Breach]:
    """Every NVIDIA_REQUIRE_CUDA expression is one that the container toolkit accepts."""
    for item in view.of("requires"):
        try:
            require.parse(item.row.expression)
        except InputError as fault:
            yield Breach(item, "expression", fault.what, fault.expected)


def rows_are_reachable(view: View) -> Iterator[Breach]:
    """Every row can be reached: no index or condition that nothing names, no framework without builds."""
    indexes = {item.row.index for items in view.builds().values() for item in items}
    required = {item.raw.get("require", "") for item in view.of("images")}
    for table, used in (("indexes", indexes), ("requires", required), ("packages", set(view.builds()))):
        for item in view.of(table):
            needless = item.row.name not in used and getattr(item.row, "kind", "framework") == "framework"
            if needless and not getattr(item.row, "apart", False):
                yield Breach(item, "name", f"{item.row.name} is used by no row", "a row that names it")


def needless_exemptions(
    view: View, used: Collection[tuple[int, str]], laws: Collection[str]
) -> Iterator[tuple[str, Breach]]:
    """An exemption names a law that its row breaks, and a note says why."""
    seen: set[int] = set()
    for table in view.names():
        for item in view.of(table):
            if not item.row.exempt or id(item.raw) in seen:
                continue
            seen.add(id(item.raw))
            for name in item.row.exempt:
                if name not in laws:
                    yield "exemptions", Breach(item, "exempt", f"{name} is not a law", f"one of {', '.join(laws)}")
                elif (id(item.raw), name) not in used:
                    yield "exemptions", Breach(item, "exempt", f"the row keeps {name}", "no exemption")
            if not item.row.note:
                yield "exemptions", Breach(item, "note", "is missing", "why the law does not hold here")
