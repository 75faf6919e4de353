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
    """version-does-not-exist: a dated nightly of a release that has long come out, or an index that gets none any more.

    Source: pytorch/test-infra, s3_management/manage.py: the index shows the 60 newest nightlies of a package.
    """
    stale = False
    for item in scene.own:
        place = next((place for place in item.origins if place.nightly), None)
        variant = re.search(r"/nightly/((?:cu|rocm)[\d.]+)", place.url) if place else None
        builds = scene.matrix.builds(item.request.name)
        listed = [b for b in builds if b.variant]
        recent = sorted({b.version for b in listed}, key=versions.parsed)[-8:]
        mine = [b for b in listed if variant and b.variant == variant[1]]
        dated = re.fullmatch(r"(\d+(?:\.\d+)*)\.?dev\d{8}(?:\+[\w.]+)?", item.request.exact)
        code = "version-does-not-exist"
        if place and variant and mine and not ({b.version for b in mine} & {*recent} or stale):
            stale = True
            detail = f"{place.url} is stale: releases since {recent[0]} have no {variant[1]} build."
            level: Severity = "error" if place is item.origins[0] else "warning"  # where the default index answers
            last = next((b for b in reversed(mine) if is_for(b, item.python)), None)
            fix = "name the nightly index of a newer variant."
            fix = f"Ask for {last.package}=={last.full_version}, or {fix}" if last else fix.capitalize()
            yield of_request(code, item, scene, detail, severity=level, confidence="likely", fix=fix, rows=mine[-1:])
        elif dated and place and "download.pytorch.org" in place.url and not item.request.marker:
            released = [build for build in builds if versions.same_release(build.version, dated[1])]
            what = f"{item.request.text} is a nightly from before {dated[1]} came out"
            detail, fix = f"{what}; {place.url} keeps recent ones.", f"Take the release {dated[1]}."
            told = of_request(code, item, scene, detail, confidence="likely", fix=fix, rows=released[:1])
            yield from (told,) if released else ()


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
