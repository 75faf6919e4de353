"""Lint of what drifts: nightlies that move or are gone, frameworks and what brings them without a version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints.python import is_for
from compat.lint.finding import finding, of_request
from compat.lint.walk import has_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding, Severity
    from compat.lint.origins import Origin
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken

_NIGHTLY: Final = re.compile(r"(tf-nightly.*|.*-nightly(-.*)?|jax-nightly)")


def floating(scene: Scene) -> Iterator[Finding]:
    """pin-missing and nightly-unpinned."""
    for item in (*scene.own, *(one for one in scene.env if one.of_conda and one.mine)):
        package = scene.matrix.package(item.request.name)
        open_ = not (item.settled or item.request.url or has_end(item.request.spec))
        channels, of_torch = item.step.channels, package and "torch" in {package.name, package.follows}
        lone = of_torch and "pytorch-nightly" in channels and "pytorch" not in channels  # it holds nothing else
        if item.of_conda and not lone and (not package or package.kind != "framework" or "nightly" in str(channels)):
            continue
        named = _NIGHTLY.fullmatch(item.request.name) is not None
        nightly = lone or named or any(place.nightly for place in item.origins)
        if nightly and package and _takes_releases(item):
            detail = f"Without --pre pip takes the newest release for {item.request.text}, not a nightly."
            fix = "Make the nightly index the only one (--index-url), or add --pre."
            yield of_request("extra-index-shadowed", item, scene, detail, severity="warning", fix=fix)
        elif nightly and (package or named):
            if not item.request.exact:
                detail = f"{item.request.text} is a moving nightly."
                level: Severity = "warning" if package or item.request.name.startswith(("tf-", "jax")) else "info"
                yield of_request("nightly-unpinned", item, scene, detail, severity=level)
        elif package and open_ and "--locked" not in item.step.options:
            how = f"{item.request.spec} leaves it open" if item.request.spec else "no version is named"
            yield finding("pin-missing", scene, item.request.line, f"{package.title}: {how}.", severity="info")


def _takes_releases(item: Taken) -> bool:
    """Whether pip leaves nightlies alone: beside an index with releases it takes none unless it is told to.

    Source: pip documentation, "pip install", section "Pre-release Versions".
    """
    pre = "--pre" in item.step.options or re.search(r"dev|a\d|b\d|rc\d", item.request.spec)
    return item.step.manager == "pip" and not pre and not any(place.nightly for place in item.origins[:1])


def gone_nightly(scene: Scene) -> Iterator[Finding]:
    """version-does-not-exist: an index of nightlies that gets none any more, told once, or a nightly that is gone."""
    told = False
    for item in scene.own:
        place = next((place for place in item.origins if place.nightly), None)
        if place is None:
            continue
        stale = None if told else _stale(item, place, scene)
        told |= stale is not None
        if found := stale or _purged(item, place, scene):
            yield found


def _stale(item: Taken, place: Origin, scene: Scene) -> Finding | None:
    """A nightly index of a variant that recent releases no longer have."""
    variant = re.search(r"/nightly/((?:cu|rocm)[\d.]+)", place.url)
    listed = [build for build in scene.matrix.builds(item.request.name) if build.variant]
    recent = sorted({build.version for build in listed}, key=versions.parsed)[-8:]
    mine = [build for build in listed if variant and build.variant == variant[1]]
    if variant is None or not mine or {build.version for build in mine} & {*recent}:
        return None
    detail = f"{place.url} is stale: releases since {recent[0]} have no {variant[1]} build."
    level: Severity = "error" if place is item.origins[0] else "warning"  # where the default index answers
    last = next((build for build in reversed(mine) if is_for(build, item.python)), None)
    fix = "name the nightly index of a newer variant."
    fix = f"Ask for {last.package}=={last.full_version}, or {fix}" if last else fix.capitalize()
    code, rows = "version-does-not-exist", mine[-1:]
    return of_request(code, item, scene, detail, severity=level, confidence="likely", fix=fix, rows=rows)


def _purged(item: Taken, place: Origin, scene: Scene) -> Finding | None:
    """A dated nightly of a release that has long come out.

    Source: pytorch/test-infra, s3_management/manage.py: the index shows the 60 newest nightlies of a package.
    """
    dated = re.fullmatch(r"(\d+(?:\.\d+)*)\.?dev\d{8}(?:\+[\w.]+)?", item.request.exact)
    if dated is None or "download.pytorch.org" not in place.url or item.request.marker:
        return None
    builds = scene.matrix.builds(item.request.name)
    released = [build for build in builds if versions.same_release(build.version, dated[1])]
    if not released:
        return None
    detail = f"{item.request.text} is a nightly from before {dated[1]} came out; {place.url} keeps recent ones."
    code, fix = "version-does-not-exist", f"Take the release {dated[1]}."
    return of_request(code, item, scene, detail, confidence="likely", fix=fix, rows=released[:1])


def applications(scene: Scene) -> Iterator[Finding]:
    """pin-missing: a package that brings a framework, with neither pinned."""
    own = {item.request.name for item in scene.own}
    pinned = {item.request.name for item in scene.taken if has_end(item.request.spec)}
    for request, row in scene.applications:
        if request.name in own and not request.url and not has_end(request.spec) and not pinned & {*row.pulls}:
            brought = f" It brings {' and '.join(row.pulls)}." if row.pulls else ""
            detail = f"{request.text}: no version is named.{brought}"
            yield finding("pin-missing", scene, request.line, detail, severity="info")


RULES: Final = (floating, gone_nightly, applications)
