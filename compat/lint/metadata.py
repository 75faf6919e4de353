"""Lint of releases whose own metadata today's pip does not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lint.finding import of_request
from compat.sources.values import IMAGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.findings import Finding, Severity
    from compat.lint.scene import Scene
    from compat.matrix.rows import Misspelt
    from compat.sources.values import Request

_OLDEST: Final = "3.8"  # Python of the first pip that is strict (its Requires-Python)


def misspelt(scene: Scene) -> Iterator[Finding]:
    """version-does-not-exist: a pinned release that pip passes over, as its metadata has a requirement that is none.

    uv reads such a line as it was meant. Which pip an image has is known once a step puts another in its place; of who
    installs a list it is not.
    """
    turn, image = scene.matrix.turn("pip-strict"), scene.ask.kind in IMAGED
    rows = scene.matrix.table("misspelt")
    if scene.ask.kind not in {*IMAGED, "requirements", "conda"} or _is_old(scene):
        return
    newer: bool | None = False if image else None
    for request in scene.conda:
        newer = _after(request, turn.version, upgrade=True) if request.name == "pip" else newer
    for item in scene.taken:
        request = item.request
        if item.step.manager != "pip":
            continue
        if request.name == "pip":
            newer = _after(request, turn.version, upgrade=item.replaces, before=newer)
        elif newer is not False and item.mine and (row := _row(request, rows)):
            what = f"{request.text} requires {row.line}, which is no specifier: pip {turn.version} and later"
            level: Severity = "error" if newer and not item.step.branch else "warning"
            yield of_request(
                "version-does-not-exist", item, scene, f"{what} pass over this release.", severity=level,
                confidence="likely", fix=f"Install it with 'pip<{turn.version}', or take a later release.",
                rows=(row, turn),
            )  # fmt: skip


def _row(request: Request, rows: Iterable[Misspelt]) -> Misspelt | None:
    named = (row for row in rows if row.name == request.name and request.exact)
    return next((row for row in named if versions.admits(row.versions, request.exact)), None)


def _is_old(scene: Scene) -> bool:
    """Whether the Python has no such pip."""
    return bool(scene.python) and not versions.at_least(scene.python, _OLDEST)


def _after(request: Request, first: str, *, upgrade: bool, before: bool | None = None) -> bool | None:
    """Whether pip reaches a release after a step that asks for it; as before where that step leaves it alone."""
    if request.exact:
        return versions.at_least(request.exact, first)
    if versions.admits(request.spec, "1000") is False:
        return not versions.clashes(request.spec, f">={first}")
    return True if upgrade or versions.clashes(request.spec, f"<{first}") else before


RULES: Final = (misspelt,)
