"""The matrix as pages: one to search, one per GPU, one per release. Each stands alone and loads nothing.

The judgements are made before (:mod:`compat.app.browsing`); the pages and their script only look them up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from compat.lazy import dataclass
from compat.render.html import filled

MARK: Final = "envcheck matrix html"
# State of a cell -> what it says, and how it is marked where there is no room for words.
STATES: Final = {
    "native": ("runs", "✓"),
    "ptx": ("runs through PTX, which the driver compiles", "~"),
    "none": ("does not run", "✗"),
    "unknown": ("not known", "?"),
    "cpu": ("leaves the GPU idle", "–"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """How a GPU runs a build: a key of :data:`STATES`, the reason, and ids of the sources beyond the build's own.

    ``{build}``, ``{gpu}`` and ``{driver}`` in the reason stand for those in question.
    """

    state: str
    why: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One build of a release.

    Attributes:
        name: ``torch 2.9.1+cu128``; ``label`` adds the runtime.
        runtime: ``cuda12.8``; empty if it has no GPU code.
        vendor: maker of the GPUs that it is for.
        words: what ``envcheck resolve`` is asked for it.
        python: minor versions; ``platforms``: those of the wheels.
        kernels: targets that it carries; empty if not known.
        driver: lowest NVIDIA driver of its runtime on Linux.
        how: how its row is known; ``sources``: ids of its sources.
        kind: place in :attr:`Atlas.kinds`.
    """

    name: str
    runtime: str
    vendor: str
    words: str
    python: tuple[str, ...]
    platforms: tuple[str, ...]
    kernels: tuple[str, ...]
    driver: str
    how: str
    sources: tuple[str, ...]
    kind: int

    @property
    def label(self) -> str:
        """Name and runtime, as reasons say it."""
        return f"{self.name} ({self.runtime})"


@dataclass(frozen=True, slots=True)
class Release:
    """A release of a framework, and its builds."""

    package: str
    version: str
    date: str
    builds: tuple[Build, ...]

    @property
    def slug(self) -> str:
        """Name of its page."""
        return _slug(f"{self.package}-{self.version}")


@dataclass(frozen=True, slots=True)
class Device:
    """A kernel target and its products."""

    vendor: str
    target: str
    products: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Atlas:
    """All that the pages say.

    Attributes:
        titles: package -> title.
        releases: newest first within a package.
        devices: kernel targets with their products.
        drivers: versions of the NVIDIA driver on Linux, newest first.
        cells: each judgement once.
        rows: each row of judgements once: without a driver, then with each of ``drivers``, as places in ``cells``.
        kinds: builds that are judged alike -> place in ``rows`` for each of ``devices``.
        citations: id of a source -> citation.
        made: release and matrix that the pages are made from.
    """

    titles: Mapping[str, str]
    releases: tuple[Release, ...]
    devices: tuple[Device, ...]
    drivers: tuple[str, ...]
    cells: tuple[Cell, ...]
    rows: tuple[tuple[int, ...], ...]
    kinds: tuple[tuple[int, ...], ...]
    citations: Mapping[str, str]
    made: str

    def cell(self, build: Build, device: int, driver: int = 0) -> Cell:
        """How a device (by place) runs a build with a driver (by place from 1; 0 for none in particular)."""
        row = self.rows[self.kinds[build.kind][device]]
        return self.cells[row[driver] if driver < len(row) else row[0]]


def pages(atlas: Atlas) -> Iterator[tuple[str, str]]:
    """Path below the folder -> text of each page."""

    def page(template: str, script: str = "", **said: Any) -> str:
        said |= {"states": STATES, "made": atlas.made, "mark": MARK, "titles": atlas.titles}
        return filled(template, script=script, style="browser.css", **said)

    gpus = [(name, place) for place, device in enumerate(atlas.devices) for name in device.products]
    data = json.dumps(_data(atlas), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    yield "index.html", page("browser.html.j2", "browser.js", data=data)
    listed = {
        "GPUs": [(f"gpus/{_slug(name)}.html", f"{name} ({atlas.devices[place].target})") for name, place in gpus],
        "Releases": [(f"releases/{one.slug}.html", f"{one.package} {one.version}") for one in atlas.releases],
    }
    for title, links in listed.items():
        yield f"{title.lower()}.html", page("links.html.j2", title=title, links=links)
    for name, place in gpus:
        device, found = atlas.devices[place], list(_frameworks(atlas, place))
        text = page("gpu.html.j2", "report.js", name=name, target=device.target, frameworks=found)
        yield f"gpus/{_slug(name)}.html", text
    for one in atlas.releases:
        builds = [(build, list(_served(atlas, build))) for build in one.builds]
        text = page("release.html.j2", "report.js", release=one, builds=builds, citations=atlas.citations)
        yield f"releases/{one.slug}.html", text


def _slug(name: str) -> str:
    """A name as a file is called."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def _frameworks(atlas: Atlas, place: int) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """For each package the spans of releases that a device runs alike, by runtime."""
    for package, title in atlas.titles.items():
        found: dict[str, list[tuple[str, Cell]]] = {}
        for release in atlas.releases:
            for build in release.builds if release.package == package else ():
                if build.vendor == atlas.devices[place].vendor:
                    found.setdefault(build.runtime, []).append((release.version, atlas.cell(build, place)))
        rows = [
            {"runtime": runtime, "state": state, "releases": _span([version for version, _ in part])}
            for runtime, cells in found.items()
            for state, part in ((key, list(group)) for key, group in groupby(cells, lambda item: item[1].state))
        ]
        if rows:
            yield title, rows


def _span(versions: Sequence[str]) -> str:
    """Versions, newest first, as a span: ``2.7.0 to 2.9.1``."""
    return versions[0] if versions[0] == versions[-1] else f"{versions[-1]} to {versions[0]}"


def _served(atlas: Atlas, build: Build) -> Iterator[tuple[str, str, list[str]]]:
    """For each judgement on a build its state, the reason, and the devices that it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for place, device in enumerate(atlas.devices):
        cell = atlas.cell(build, place)
        why = cell.why.replace("{build}", build.label).replace("{gpu}", "it").replace("{driver}", "")
        found.setdefault((cell.state, why), []).append(device.target)
    order = list(STATES)
    yield from sorted(((*key, names) for key, names in found.items()), key=lambda item: order.index(item[0]))


def _data(atlas: Atlas) -> dict[str, Any]:
    """What the script looks up; places instead of names, for the page is read at once."""
    texts: dict[Any, int] = {}

    def known(value: Any) -> int:
        return texts.setdefault(value, len(texts))

    releases = [
        [
            known(one.package),
            one.version,
            one.date,
            [
                [
                    build.name.partition(" ")[2],
                    known(build.runtime),
                    build.words,
                    known(" ".join(build.python)),
                    known(" ".join(build.platforms)),
                    build.driver,
                    build.how,
                    [known(atlas.citations.get(key, key)) for key in build.sources],
                    build.kind,
                    known(build.vendor),
                ]
                for build in one.builds
            ],
        ]
        for one in atlas.releases
    ]
    cells = [
        [cell.state, cell.why, [known(atlas.citations.get(key, key)) for key in cell.sources]] for cell in atlas.cells
    ]
    return {
        "releases": releases,
        "devices": [[device.vendor, device.target, list(device.products)] for device in atlas.devices],
        "drivers": atlas.drivers,
        "cells": cells,
        "rows": atlas.rows,
        "kinds": atlas.kinds,
        "texts": list(texts),
        "states": STATES,
    }
