"""What ``lint --fix`` may change: edits that make a file do what it already says, and nothing else.

Two kinds. An extra index that the default one overrides becomes the only index of its step, where that index has a
build of everything the step asks for. A local version without an index gets the index that has it: without one the
install fails, so nothing that works can break.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import compat.rules.lint.requests as requests
from compat.rules.lint.scene import scenes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.matrix import Matrix
    from compat.rules.lint.scene import Scene, Taken
    from compat.sources.values import Ask


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in one logical line of a file.

    Attributes:
        code: the finding that it mends.
        line: first line of the instruction or requirement, from 1.
        old: text to replace, which must stand there exactly once; empty to put ``new`` on a line before it.
        new: what to write instead.
    """

    code: str
    line: int
    old: str
    new: str


def repairs(ask: Ask, matrix: Matrix) -> tuple[Edit, ...]:
    """Edits for one file, each once."""
    found: dict[tuple[int, str], Edit] = {}
    for scene in scenes(ask, matrix):
        for edit in (*_only_index(scene), *_named_index(scene)):
            found.setdefault((edit.line, edit.old), edit)
    return tuple(found.values())


def _only_index(scene: Scene) -> Iterator[Edit]:
    """extra-index-shadowed: ``--extra-index-url`` -> ``--index-url``."""
    for finding in requests.shadowed(scene):
        line = finding.place.line if finding.place else 0
        items = [item for item in scene.own if line in {item.step.line, item.request.line}]
        step = items[0].step if items else None
        if step is None or step.files or step.index or step.find_links or len(step.extra_indexes) != 1:
            continue
        mine = [item for item in scene.own if item.step is step]
        if all(requests.has_match(item, item.origins[1], scene) for item in mine):
            yield Edit("extra-index-shadowed", step.line, "--extra-index-url", "--index-url")


def _named_index(scene: Scene) -> Iterator[Edit]:
    """index-missing: the address of the index that has the local version."""
    for finding in requests.unmet(scene):
        item = _asked_at(finding.place.line if finding.place else 0, scene)
        url, option = requests.index_of(item, scene) if item else ("", "")
        if finding.code != "index-missing" or item is None or not url:
            continue
        address = f"{option} {url}"
        if scene.ask.kind == "requirements":
            yield Edit("index-missing", 1, "", address)
        elif scene.ask.kind == "dockerfile" and not item.step.files:
            text = item.request.text
            yield Edit("index-missing", item.step.line, text, f"{text} {address}")


def _asked_at(line: int, scene: Scene) -> Taken | None:
    return next((item for item in scene.own if item.request.line == line and "+" in item.request.spec), None)
