"""The compatibility matrix: what is true of frameworks, toolkits, drivers, devices and images.

It knows no host and no request. :func:`matrix` gives the one that ships; :class:`Matrix` answers questions about it
and builds rows only for what is asked.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from compat import resources, versions
from compat.errors import InputError
from compat.matrix import rows, store
from compat.names import normalise
from compat.targets import Families, sm

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

R = TypeVar("R", bound=rows.Row)


class Store(Protocol):
    """Where raw rows come from."""

    def names(self) -> tuple[str, ...]: ...  # noqa: D102 - see compat.matrix.store
    def rows(self, table: str) -> list[store.Raw]: ...  # noqa: D102
    def sources(self) -> dict[str, str]: ...  # noqa: D102
    def digest(self) -> str: ...  # noqa: D102


class Citation(str):
    """The sources of a row, written out, with what a measured build rests on."""

    evidence: str = ""


class Matrix:
    """Typed questions over a stack of stores: the shipped one, and overlays whose rows win."""

    def __init__(self, base: Store, *overlays: Store) -> None:
        self._stores = (base, *overlays)
        self._cache: dict[str, tuple[Any, ...]] = {}
        self._raw: dict[str, list[store.Raw]] = {}
        self._installable: dict[str, tuple[rows.Build, ...]] = {}
        self._releases: dict[tuple[str, str], tuple[rows.Build, ...]] = {}

    def beneath(self, *overlays: Store) -> Matrix:
        """This matrix with more rows laid over it."""
        return Matrix(*self._stores, *overlays)

    def table(self, name: str) -> tuple[Any, ...]:
        """All rows of a table, overlays merged in by key."""
        if name not in self._cache:
            found: list[rows.Row] = []
            for source in self._stores:
                found = _laid_over(self._typed(name, source.rows(name)), found)
            self._cache[name] = tuple(found)
        return self._cache[name]

    def _typed(self, name: str, raw: list[store.Raw]) -> list[rows.Row]:
        shape = rows.row_type(name)
        spelled = self._spelled_out(name, raw)
        days = self._days(spelled, name.removeprefix("builds.")) if shape is rows.Build else {}
        return [row for item in spelled for row in typed(shape, item, name, days)]

    def _days(self, builds: list[store.Raw], package: str) -> dict[str, str]:
        """Day of ``torch 2.9.1`` for the distributions of these builds, and for what they were compiled beside."""
        undated = [row for row in builds if "date" not in row]
        names = {row.get("distribution", package) for row in undated}.union(*(dict(_beside(row)) for row in undated))
        return {f"{name} {release}": day for name in names for release, day in self.days(name).items()}

    def days(self, distribution: str) -> dict[str, str]:
        """Releases of a distribution with the day of each, ``2025-11-12``, as far as they were read."""
        told = (word.rpartition(":") for word in self._days_told.get(distribution, "").split())
        return {release: day for release, _, day in told}

    def day(self, distribution: str, version: str) -> str:
        """The day of a release of a distribution; empty if it was not read."""
        return self.days(distribution).get(version, "")

    @cached_property
    def _days_told(self) -> dict[str, str]:
        """Distribution -> its releases with their days, as the rows have them; overlays come last and win."""
        found: dict[str, str] = {}
        for source in self._stores:
            for row in source.rows("dates"):
                found[row["package"]] = f"{found.get(row['package'], '')} {row['days']}"
        return found

    def select(self, name: str, **wanted: str) -> tuple[Any, ...]:
        """Rows of a table whose fields have these plain values; no other row is built (a large table costs)."""
        if len(self._stores) > 1 or name in self._cache:  # an overlay may change the very field that is asked for
            return tuple(row for row in self.table(name) if all(getattr(row, key) == wanted[key] for key in wanted))
        raw = [row for row in self._stores[0].rows(name) if all(row.get(key, "") == wanted[key] for key in wanted)]
        return tuple(self._typed(name, raw))

    def likely(self, name: str, wanted: Callable[[store.Raw], bool]) -> tuple[Any, ...]:
        """Rows of a table, at least all those whose raw form is ``wanted``: the others are built only if need be."""
        if len(self._stores) > 1 or name in self._cache:
            return self.table(name)
        if name not in self._raw:
            self._raw[name] = self._stores[0].rows(name)
        return tuple(self._typed(name, [row for row in self._raw[name] if wanted(row)]))

    def _spelled_out(self, name: str, raw: list[store.Raw]) -> list[store.Raw]:
        """Image rows with the condition they name written out: it is long and shared by dozens of tags."""
        if name != "images":
            return raw
        named = {row.name: row.expression for row in self.table("requires")}
        return [
            {**row, "require": named.get(row["require"], row["require"])} if "require" in row else row for row in raw
        ]

    def names(self) -> tuple[str, ...]:
        """All table names."""
        return tuple(sorted({name for source in self._stores for name in source.names()}))

    @cached_property
    def citations(self) -> dict[str, str]:
        """Source id -> citation."""
        return {key: text for source in self._stores for key, text in source.sources().items()}

    @cached_property
    def digest(self) -> str:
        """What tells this matrix, overlays included, from another one or from an earlier state of it.

        ``sha256:`` and 64 hexadecimal digits; equal for a checkout and the wheel made from it.
        """
        found = [source.digest() for source in self._stores]
        layers = ((f"{place:04}", one) for place, one in enumerate(found))
        return found[0] if len(found) == 1 else store.digest(layers)

    def cite(self, row: rows.Row) -> Citation:
        """The sources of a row, written out."""
        told = Citation("; ".join(self.citations.get(key, key) for key in row.source))
        told.evidence = getattr(row, "proof", "")
        return told

    # --- packages -------------------------------------------------------------------------------------------------

    @cached_property
    def packages(self) -> dict[str, rows.Package]:
        """Package by normalised name."""
        return {row.name: row for row in self.table("packages")}

    @cached_property
    def _aliases(self) -> dict[str, str]:
        """Other names of packages -> the name that their rows go by."""
        return {alias: row.name for row in self.packages.values() for alias in row.aliases}

    def package(self, name: str) -> rows.Package | None:
        """A package by any of its names."""
        plain = normalise(name)
        return self.packages.get(plain) or self.packages.get(self._aliases.get(plain, ""))

    def builds(self, package: str) -> tuple[rows.Build, ...]:
        """All builds of a package that can be installed, one per release and variant, in the files' order."""
        if package not in self._installable:
            self._installable[package] = tuple(row for row in self.table(f"builds.{package}") if not row.fails)
        return self._installable[package]

    def builds_of(self, package: str, version: str) -> tuple[rows.Build, ...]:
        """The builds of one release, ``2.1`` for ``2.1.0``; those of the other releases are not made into rows."""
        key = package, version
        if key not in self._releases:
            found = self._release(package, version)
            self._releases[key] = tuple(row for row in found if not row.fails)
        return self._releases[key]

    def _release(self, package: str, version: str) -> Iterable[rows.Build]:
        """Rows of one release: picked from the table where that was read, else from the texts of our own store."""
        table = f"builds.{package}"
        if len(self._stores) > 1 or table in self._cache:  # an overlay may replace any of them
            return (row for row in self.table(table) if _is_named(version, row.version, row.published))
        raw: list[store.Raw] = []
        for row in self._stores[0].rows(table):
            named = row.get("published", "")
            wanted = [each for each in _items(row.get("versions", ())) if _is_named(version, each, named)]
            if wanted:
                raw.append({**row, "versions": wanted})
        return cast("list[rows.Build]", self._typed(table, raw))

    def failing(self, package: str) -> tuple[rows.Build, ...]:
        """What an index lists of a package although installing it fails; the rows say why."""
        return tuple(row for row in self.table(f"builds.{package}") if row.fails)

    @cached_property
    def applications(self) -> dict[str, rows.Application]:
        """Packages that bring a framework, by normalised name."""
        return {row.name: row for row in self.table("applications")}

    def repository(self, name: str) -> str:
        """Address of the repository that alone has a package; empty for all others."""
        return next((row.address for row in self.table("repositories") if row.name == name), "")

    def index_url(self, build: rows.Build) -> str:
        """Address of the index that has a build; empty for the default index."""
        index = self._index(build)
        return index.url.replace("{variant}", build.variant) if index else ""

    def address(self, build: rows.Build, python: str) -> str:
        """Address of a build's one wheel for a Python, where an installer cannot ask for it by name; else empty.

        It ends in ``#sha256=...`` where the sum of the file is known: pip and uv refuse another file then.
        """
        index, tag = self._index(build), "cp" + python.replace(".", "")
        if not (index and index.file):
            return ""
        text, platform = index.file, next(iter(build.platforms), "")
        known = {"variant": build.variant, "version": build.full_version, "python": f"{tag.removesuffix('t')}-{tag}"}
        for name, value in {**known, "platform": platform}.items():  # an overlay's text is data, and no format to run
            text = text.replace(f"{{{name}}}", value)
        sums = dict(one.split("=") for one in build.sums)
        return f"{text}#sha256={sums[python]}" if python in sums else text

    def is_page(self, build: rows.Build) -> bool:
        """Whether the index that has a build is a page of links, which pip reads by ``--find-links``."""
        index = self._index(build)
        return index is not None and index.links

    def _index(self, build: rows.Build) -> rows.Index | None:
        """The row of the index that has a build; ``None`` for the default index.

        Raises:
            InputError: if there is no such row.
        """
        if not build.index:
            return None
        found: rows.Index | None = next((row for row in self.table("indexes") if row.name == build.index), None)
        if found is not None:
            return found
        where = f"{build.origin or 'matrix'}, builds.{build.package} {build.version}"
        raise InputError(f"index is {build.index!r}", where=where, expected="the name of a row of indexes")

    # --- toolkits and drivers -------------------------------------------------------------------------------------

    def cuda(self, version: str) -> rows.CudaRelease | None:
        """The release of exactly this version, or the first of its minor (``12.8`` -> 12.8.0)."""
        return cast("rows.CudaRelease | None", self._toolkit("cuda", version))

    def rocm(self, version: str) -> rows.RocmRelease | None:
        """The ROCm release of exactly this version, or the first of its minor."""
        return cast("rows.RocmRelease | None", self._toolkit("rocm", version))

    def _toolkit(self, table: str, version: str) -> rows.Row | None:
        numbered = {getattr(row, table): row for row in self.table(table)}
        exact = [one for one in numbered if versions.release(one) == versions.release(version)]
        series = [one for one in numbered if versions.same_series(one, version)]
        found = next(iter(exact or sorted(series, key=versions.release)), None)
        return numbered[found] if found else None

    def turn(self, name: str) -> rows.Turn:
        """The first release with something: ``cgroup-v2``."""
        table: Sequence[rows.Turn] = self.table("turns")
        return next(row for row in table if row.turn == name)

    def capability(self, target: str) -> rows.Capability | None:
        """Facts about ``8.9``, ``sm_89`` or ``compute_89``; ``None`` for targets of other vendors too."""
        device = sm(target)
        return next((row for row in self.table("capabilities") if device and row.cc == device.capability), None)

    def gfx(self, target: str) -> rows.Gfx | None:
        """Facts about ``gfx1100``; features are ignored."""
        return next((row for row in self.table("gfx") if row.gfx == target.partition(":")[0]), None)

    def intel(self, target: str) -> rows.Intel | None:
        """Facts about ``dg2``."""
        return next((row for row in self.table("intel") if row.intel == target), None)

    def system(self, os: str) -> rows.System | None:
        """Facts about an operating-system release: ``ubuntu22.04``, ``rhel9.4`` (of whose major there is a row)."""
        table: Sequence[rows.System] = self.table("systems")
        wanted = (os, os.partition(".")[0])
        return next((row for name in wanted for row in table if name == row.os or name in row.aliases), None)

    @cached_property
    def families(self) -> Families:
        """Kinship of kernel targets, for :func:`compat.targets.kernels_for`."""
        integrated = frozenset(f"sm_{row.cc.replace('.', '')}" for row in self.table("capabilities") if row.integrated)
        generic = {row.gfx: row.generic for row in self.table("gfx") if row.generic}
        return Families(integrated, generic, {row.intel: row.runs for row in self.table("intel")})


def key_of(row: rows.Row) -> tuple[Any, ...]:
    """What tells a row apart from its table's other rows."""
    return tuple(getattr(row, name) for name in rows.KEYS[type(row)])


def _laid_over(upper: list[rows.Row], lower: list[rows.Row]) -> list[rows.Row]:
    """Two stores' rows as one table; within one store no key stands twice (a law), so that nothing is compared."""
    if not upper or not lower:
        return upper or lower
    replaced = {_overlay_key(row) for row in upper}
    kept = [row for row in lower if _overlay_key(row) not in replaced]
    return [*kept, *{key_of(row): row for row in upper}.values()]


def _overlay_key(row: rows.Row) -> tuple[Any, ...]:
    """What an overlay's row replaces: the row of its key; for a build, every row for that variant and platform."""
    if isinstance(row, rows.Build):
        return (row.version, row.runtime, row.local, row.index, row.platforms, row.distribution, row.extras)
    return key_of(row)


def typed(shape: type[R], raw: store.Raw, table: str, days: Mapping[str, str] | None = None) -> Sequence[R]:
    """A raw row as a value of its type; for a build one value per release.

    ``raw``: the row as the file has it. ``days``: day of a release, ``torch 2.9.1``, for builds that state none.

    Raises:
        InputError: if the row does not have the shape of its type; :mod:`compat.matrix.schema` would say why.
    """
    readers = _readers(cast("Hashable", shape))
    try:
        values: store.Raw = {}
        for key, item in raw.items():
            name, several = readers[key]
            values[name] = _items(item) if several else item
        if shape is not rows.Build:
            return (shape(**values),)
        releases = values["versions"]
        values["package"] = table[len("builds.") :]
        if not days or "date" in values:
            return [shape(**{**values, "versions": (release,)}) for release in releases]
        name = values.get("distribution") or values["package"]
        later = max((days.get(f"{other} {series}.0", "") for other, series in _beside(raw)), default="")
        dated = [(release, days.get(f"{name} {values.get('published') or release}", "")) for release in releases]
        dated = [(release, day if day >= later else "") for release, day in dated]
        return [shape(**{**values, "versions": (release,), "date": day}) for release, day in dated]
    except (TypeError, KeyError):
        where = f"{raw.get('origin', 'matrix')}: {table}"
        hint = "`envcheck matrix check` tells each fault"
        raise InputError("has a row with unknown or missing keys", where=where, hint=hint) from None


def _beside(raw: store.Raw) -> list[tuple[str, str]]:
    """What a build of another index was compiled beside, ``torch`` and ``2.12``: it may be younger than its release."""
    pins = (line.partition("==") for line in (raw.get("requires", ()) if "index" in raw else ()))
    return [(name, series[:-2]) for name, _, series in pins if series.endswith(".*")]


@lru_cache
def _readers(shape: type[Any]) -> dict[str, tuple[str, bool]]:
    """Each field of a row type and whether it holds several items, by name.

    The name is there once more as Python's own copy of it: with a file's copy, a call takes twice as long.
    """
    return {item.name: (item.name, str(item.type).startswith("tuple")) for item in fields(shape)}


def _items(item: Any) -> tuple[str, ...]:
    """The items of such a field, spelled as a list or as words in one text."""
    return _words(item) if isinstance(item, str) else tuple(item)


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    """Words of a text; the same few lists of Pythons and targets stand in hundreds of rows."""
    return tuple(text.split())


def _is_named(asked: str, release: str, published: str) -> bool:
    """Whether a version is that of a release, or the one that it is published under."""
    return versions.same_release(release, asked) or bool(published and versions.same_release(published, asked))


def matrix(*overlays: Path) -> Matrix:
    """The shipped matrix, with overlay files laid over it (later ones win)."""
    return shipped().beneath(*(store.Live([path], origin=str) for path in overlays)) if overlays else shipped()


@lru_cache(maxsize=1)
def shipped() -> Matrix:
    """The shipped matrix; one for a process, because a table is read when it is first asked for and kept."""
    compiled = resources.compiled_dir()
    return Matrix(store.Compiled(compiled) if compiled else store.Live(resources.matrix_dir().glob("*.toml")))
