"""What ``lint --fix`` may change: edits that make a file do what it already says, and nothing else.

Five kinds. An extra index that the default one overrides becomes the only index of its step, where that index has a
build of everything the step asks for. A local version without an index gets the index that has it: without one the
install fails, so nothing that works can break. A tag of nvidia/cuda that cannot be pulled any more, or gets no
rebuilds, becomes the maintained one of the same CUDA minor, cuDNN, flavour and system. An extra that JAX dropped
becomes the one that took its place (``cuda12_pip`` is ``cuda12`` now: JAX's change log). A shared package that nothing
bounds gets the bound that the framework needs to load at all.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.lint.bases as bases
import compat.lint.cpu_builds as cpu_builds
import compat.lint.images as images
import compat.lint.majors as majors
import compat.lint.requests as requests
from compat.lazy import dataclass
from compat.lint.stages import scenes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.lint.bases import Base
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix import Matrix
    from compat.sources.values import Ask


# The findings that some repair mends.
CODES: Final = frozenset(
    [
        "extra-index-shadowed",
        "index-missing",
        "base-tag-gone",
        "base-tag-eol",
        "accidental-cpu-wheel",
        "numpy-abi-mismatch",
        "framework-pair-mismatch",
    ]
)


@dataclass(frozen=True, slots=True)
class Repair:
    """A replacement in one logical line of a file.

    Attributes:
        code: the finding that it mends, and ``at`` the finding's line.
        at: see ``code``.
        line: first line of the instruction or requirement, from 1.
        old: text to replace, which must stand there exactly once; empty to put ``new`` on a line before it.
        new: what to write instead.
        behind: whether ``old`` stays and ``new`` is put behind the word that holds it, quotes included.
    """

    code: str
    at: int
    line: int
    old: str
    new: str
    behind: bool = False


def repairs(ask: Ask, matrix: Matrix) -> tuple[Repair, ...]:
    """Repairs of one file; several findings may have one edit in common."""
    found: dict[Repair, None] = {}
    for scene in scenes(ask, matrix):
        for kind in (_only_index, _named_index, _maintained, _renamed_extra, _bounded):
            found.update(dict.fromkeys(kind(scene)))
    for service in ask.services:
        for repair in _tag(bases.read(service.image, matrix), service.image_line, matrix):
            found.setdefault(repair)
    return tuple(found)


def _only_index(scene: Scene) -> Iterator[Repair]:
    """extra-index-shadowed: ``--extra-index-url`` -> ``--index-url``."""
    for finding in requests.shadowed(scene):
        line = finding.place.line if finding.place else 0
        items = [item for item in scene.own if line in {item.step.line, item.request.line}]
        step = items[0].step if items else None
        if step is None or step.files or step.index or step.find_links or len(step.extra_indexes) != 1:
            continue
        mine = [item for item in scene.own if item.step is step]
        vendor = re.match(r"cu|rocm", items[0].origins[-1].variant)  # what works today on the other vendor's base stays
        if vendor and scene.gpu in {"cuda", "rocm"} and not scene.gpu.startswith(vendor.group()):
            continue
        if all(requests.has_match(item, item.origins[1], scene) for item in mine):
            yield Repair("extra-index-shadowed", line, step.line, "--extra-index-url", "--index-url")


def _named_index(scene: Scene) -> Iterator[Repair]:
    """index-missing: the address of the index that has the local version, once for all of a step that it serves."""
    told: dict[tuple[int, str], str] = {}
    for finding in requests.unmet(scene):
        at = finding.place.line if finding.place else 0
        item = _asked_at(at, scene)
        url, option = requests.index_of(item, scene) if item else ("", "")
        if finding.code != "index-missing" or item is None or not url or item.request.marker:
            continue
        address = f"{option} {url}"
        if scene.ask.kind == "requirements":
            yield Repair("index-missing", at, 1, "", address)
        elif scene.ask.kind == "dockerfile" and not item.step.files:
            first = told.setdefault((id(item.step), address), item.request.text)
            yield Repair("index-missing", at, item.step.line, first, address, behind=True)


def _maintained(scene: Scene) -> Iterator[Repair]:
    """base-tag-gone, base-tag-eol: the tag of the stage's own FROM."""
    if scene.base is not None and scene.stage.parent < 0:
        yield from _tag(scene.base, scene.stage.line, scene.matrix)


def _tag(base: Base, line: int, matrix: Matrix) -> Iterator[Repair]:
    """The maintained tag of the same CUDA minor, cuDNN, flavour and system, where there is exactly one to choose."""
    said = images.status(base, matrix)
    gone = said in {"gone", "absent"}
    if bases.home(base.repository) != "nvidia/cuda" or base.digest or base.variable or not said:
        return
    rows = matrix.select("images", repository="nvidia/cuda", status="active", runtime=f"cuda{bases.cuda_minor(base)}")
    named = (bases.read(name, matrix) for row in rows for name in row.references())
    wanted = bases.cuda_minor(base), base.flavour, base.os, base.cudnn
    alike = [one.tag for one in named if (bases.cuda_minor(one), one.flavour, one.os, one.cudnn) == wanted]
    if not gone and images.ended(base.os, matrix):  # any tag of that system would be told again
        return
    if len(alike) == 1 and base.os and alike[0] != base.tag:
        yield Repair("base-tag-gone" if gone else "base-tag-eol", line, line, f":{base.tag}", f":{alike[0]}")


def _renamed_extra(scene: Scene) -> Iterator[Repair]:
    """accidental-cpu-wheel: ``jax[cuda12_pip]`` -> ``jax[cuda12]``, where the release taken has the latter."""
    for finding in cpu_builds.cpu_by_accident(scene):
        line = finding.place.line if finding.place else 0
        for item in scene.own:
            if item.request.line != line or item.build is None:
                continue
            rows = [row for row in scene.matrix.builds(item.build.package) if row.version == item.build.version]
            offered = {extra for row in rows for extra in row.extras}
            for extra in item.request.extras:
                if extra not in offered and extra.endswith("_pip") and extra.removesuffix("_pip") in offered:
                    yield Repair("accidental-cpu-wheel", line, line, extra, extra.removesuffix("_pip"))


def _bounded(scene: Scene) -> Iterator[Repair]:
    """numpy-abi-mismatch, framework-pair-mismatch: the bound of a shared package that the file does not name."""
    for finding in majors.unbounded(scene):
        at, bound = finding.place.line if finding.place else 0, finding.fix.text.removeprefix("Add ").removesuffix(".")
        item = next((one for one in scene.own if one.request.line == at and finding.detail.startswith(one.text)), None)
        named = any(re.match(re.escape(one.request.name) + r"[<>=!~]", bound) for one in scene.taken)
        if item is None or named or item.step.files:
            continue
        if scene.ask.kind == "requirements":
            yield Repair(finding.code, at, at, "", bound)
        elif scene.ask.kind == "dockerfile":
            plain = re.sub(r"<(\d+)$", lambda found: f"=={int(found[1]) - 1}.*", bound)  # a shell reads < as its own
            if "<" not in plain:
                yield Repair(finding.code, at, item.step.line, item.request.text, plain, behind=True)


def _asked_at(line: int, scene: Scene) -> Taken | None:
    asked = (item for item in scene.own if item.request.line == line and item.request.exact)
    return next((item for item in asked if "+" in item.request.spec or item.outcome.why == "elsewhere"), None)
