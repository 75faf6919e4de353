"""Lint of what pip does not read: what is no requirement in a list, a command, or the metadata of a release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.lint.finding import finding, of_request
from compat.sources.requirements import BEHIND
from compat.sources.values import IMAGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from compat.findings import Finding, Severity
    from compat.lint.scene import Scene
    from compat.matrix.rows import Misspelt
    from compat.sources.values import Request

_OWN_LINE: Final = "Write the option on a line of its own."
_ONE_WORD: Final = "Write each requirement as one word: a name, `==`, a version."
_LEGACY: Final = re.compile(r"[\w.\[\]-]+==[\w.+-]+")  # pips of before 24.1, as images have them, take any version
_EACH: Final = 3  # lines of one step that are told each
_OLDEST: Final = "3.8"  # Python of the first pip that is strict (its Requires-Python)


def misspelt(scene: Scene) -> Iterator[Finding]:
    """version-does-not-exist: a pinned release that pip passes over, as its metadata has a requirement that is none.

    uv reads such a line as it was meant. Which pip an image has is known once a step puts another in its place; of who
    installs a list it is not.
    """
    turn, image = scene.matrix.turn("pip-strict"), scene.ask.kind in IMAGED
    rows = scene.matrix.table("misspelt")
    has_no_such_pip = bool(scene.python) and not versions.at_least(scene.python, _OLDEST)
    if scene.ask.kind not in {*IMAGED, "requirements", "conda"} or has_no_such_pip:
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
            which = f"{row.by}, each release of which requires {row.line}" if row.by else row.line
            what = f"{request.text} requires {which}, which is no specifier: pip {turn.version} and later"
            level: Severity = "error" if newer and not item.step.branch else "warning"
            passed, other = ("these", "") if row.by else ("this release", ", or take a later release")
            yield of_request(
                "version-does-not-exist", item, scene, f"{what} pass over {passed}.", severity=level,
                confidence="likely", fix=f"Install it with 'pip<{turn.version}'{other}.", rows=(row, turn),
            )  # fmt: skip


def _row(request: Request, rows: Iterable[Misspelt]) -> Misspelt | None:
    named = (row for row in rows if row.name == request.name and request.exact)
    return next((row for row in named if versions.admits(row.versions, request.exact)), None)


def _after(request: Request, first: str, *, upgrade: bool, before: bool | None = None) -> bool | None:
    """Whether pip reaches a release after a step that asks for it; as before where that step leaves it alone."""
    if request.exact:
        return versions.at_least(request.exact, first)
    if versions.admits(request.spec, "1000") is False:
        return not versions.clashes(request.spec, f">={first}")
    return True if upgrade or versions.clashes(request.spec, f"<{first}") else before


def refused(scene: Scene) -> Iterator[Finding]:
    """requirement-unreadable: what pip's own parser refuses; a file of mostly other text is no file of requirements."""
    loose = {each.line for each in scene.stage.commands if each.guarded}
    for step in scene.stage.installs:
        lines = step.refused if scene.ask.kind == "requirements" or step.files else ()
        prose = [text for _, text in lines if not re.match(r"-|['\"]?[\w.\[\]-]+\s*(?:[=<>~!'\"]|-)", text)]
        if step.manager not in {"pip", "uv"} or len(step.requests) + len(step.refused) <= 3 * len(prose):
            continue
        if any(re.search(r"^(?:python=[\d.]+|[\w.-]+=[^=\s]+=[^=\s]+)$", text) for _, text in step.refused):
            continue  # a list for `conda create --file`, as `conda list --export` writes it
        plain = [text for _, text in step.refused if text[0] != "-" and not BEHIND.search(text)]
        places = (step.index, *step.extra_indexes, *step.find_links)
        for line, text in step.refused:
            behind = BEHIND.search(text)
            if behind and ("+" in text[: behind.start()] or behind[2] in places):
                continue  # without that place it is on none: told as such
            if text in plain[1:] and len(plain) > _EACH:
                continue
            more = f"and {len(plain) - 1} more are no requirements" if len(plain) > _EACH else "is no requirement"
            then, mild = _passed_over(text) or (f"{more}: the install stops", False)
            mild |= scene.base is not None and _LEGACY.fullmatch(text) is not None
            fix = _OWN_LINE if behind else "" if lines else f"Leave {text} out." if text[0] == "-" else _ONE_WORD
            yield finding(
                "requirement-unreadable", scene, line, f"`{text[:80]}` {then}.", fix=fix,
                severity="warning" if mild or step.branch or step.line in loose else "error",
            )  # fmt: skip


def _passed_over(text: str) -> tuple[str, bool] | None:
    """What pip does with options that it does not read as such, and whether it goes on; ``None`` of other texts."""
    if behind := BEHIND.search(text):
        return f"has {behind[1]} behind a requirement: pip passes over it", True
    if re.match(r"-\S+\s", text):  # pip's req_file.py: of a line that begins with an option only options count
        return "begins with an option: pip passes over the rest", True
    return ("is no option of pip: the command does not run", False) if text[0] == "-" else None


RULES: Final = (misspelt, refused)
