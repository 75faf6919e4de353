"""The interpreter: does a build exist for it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.driver as driver
import compat.joints.python as joint
import compat.reading.commands as told
from compat import versions
from compat.changes import Example, Python
from compat.findings import Fix
from compat.joints.platform import is_at
from compat.joints.python import minor_of
from compat.joints.verdict import FITS
from compat.rules.lookups import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule
from compat.rules.together import clashing
from compat.rules.wanted import candidates, left_behind, standing
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix.rows import Build
    from compat.reading.messages import Hearing
    from compat.rules.case import Case

_USUAL: Final = "linux_x86_64"  # what a machine that does not say what it is most likely is


class PythonUnsupported(Rule):
    """No build exists for this Python, or at the index that was asked.

    Why: pip hides the reason: it says that no version was found, although the project exists.
    Fix: Use a Python that the release was published for. Or use a release for this Python, or the index that has it.
    Sources: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    area = "python"
    asks = ("python", "packages")
    changes = (Example("uv venv --python <version>"),)

    def check(self, case: Case) -> Outcome:
        """None of the releases that are asked for was published for the interpreter's minor version, or where asked."""
        python = case.host.python
        return self._not_there(case) or (self._by_python(python, case) if python else None)

    @staticmethod
    def _not_there(case: Case) -> Outcome:
        """Nothing was found, and the index that was asked has no build of the release, or none with its local tag."""
        said, own = case.signals.said, case.signals.value("requirement")
        asked = told.index_variant((*case.commands, *said.get("index", ())))
        listed, by_uv = said.get("listed", ()), "uv-none-found" in case.signals
        plain = not asked and (by_uv or bool(listed)) and not any("+" in one for one in listed)
        pinned = {name: spec for name, spec in case.wanted.items() if spec.startswith("==") and own.startswith(name)}
        for name, spec in pinned.items() if by_uv or "pip-none-found" in case.signals else ():
            rows, tag = candidates(case.matrix, name, spec), spec.partition("+")[2]
            place = f"index {asked}" if asked else "default index" if plain and tag else ""
            if place and rows and not any(row.variant == asked and tag in {"", row.local} for row in rows):
                has = ", ".join(sorted({row.variant for row in rows if row.index and row.variant}))
                detail = f"The {place} has no {name}{spec}: that release is at {has or 'the default one'}."
                return Found(detail=detail, sources=cite(case.matrix, rows[-1]), confidence="likely")
        return None

    def _by_python(self, python: str, case: Case) -> Outcome:
        """What is published, by the interpreter's minor version."""
        tag = re.search(r"-cp(\d)(\d{1,2})-", case.signals.value("wheel"))
        if tag and f"{tag[1]}.{tag[2]}" == minor_of(python):
            return None  # another system's wheel, or the pip of another Python
        for name, specifier in case.wanted.items():
            published = candidates(case.matrix, name, specifier)
            own, l4t = self._of_board(published, case), case.host.l4t or ""
            rows = own or [row for row in published if is_at(row, case.world.place or _USUAL)] or published
            offered = joint.in_order(item for row in rows for item in row.python)
            if rows and offered and not any(joint.verdict(row, python) == FITS for row in rows):
                last = [one for one in offered if not one.endswith("t")][-1]
                fix = Fix(f"Use Python {last}.", changes=(Python(last),))
                made = f"L4T {l4t} and Python" if own else "Python"
                detail = f"{name}{specifier} was published for {made} {', '.join(offered)}; this is {minor_of(python)}."
                none = Found(detail=detail, fix=fix, sources=cite(case.matrix, rows[-1]))
                return replace(none, confidence="likely") if own else none  # others compile for boards, too
        this = f"this is {minor_of(python)}"
        found = clashing(
            case.here,
            lambda part: joint.verdict(part.build, python),
            case.matrix,
            this=this,
            facts=("python",),
            among=lambda item: [one for one in item.published if is_at(one.build, case.world.place)] or item.published,
        )
        if found and " line" not in case.host.source("packages"):  # a program that lists them runs beside them
            return replace(found, severity="warning", confidence="likely")
        if left_behind(python, case.matrix, case.signals) and standing(case.signals) == "newer":
            return Fits("")
        refused = self._wheel(python, case.signals) or self._variant(python, case)
        if refused or ("pip-none-found" in case.signals and not all(case.wanted.values())):
            return refused  # the installer itself found nothing that fits among all releases of its day
        return self._fits(python, case)

    @staticmethod
    def _of_board(rows: Sequence[Build], case: Case) -> list[Build]:
        """The builds that serve the Jetson at hand; none elsewhere, in an image, or where another runs."""
        runs = case.signals.pointing("cpu-only-build") or any(row.package in case.distributions for row in rows)
        bare = case.host.l4t if not runs and not case.host.container else ""
        return driver.of_boards(case.matrix, rows, bare) if bare else []

    def _fits(self, python: str, case: Case) -> Outcome:
        """Everything that is asked for is known, and published for this Python."""
        known = {name: candidates(case.matrix, name, specifier) for name, specifier in case.wanted.items()}
        here = (self._of_board(rows, case) if case.host.l4t else rows for rows in known.values())
        served = [any(row.python and joint.verdict(row, python) == FITS for row in rows) for rows in here]
        if not served or not all(served):
            return None
        names, version = ", ".join(known), minor_of(python)
        return Fits(Sentence("there are builds of {names} for Python {version}", version=version, names=names))

    @staticmethod
    def _wheel(python: str, signals: Hearing) -> Outcome:
        """The file name of a refused wheel names another Python."""
        found = re.search(r"-cp(\d)(\d{1,2})-(abi3)?", signals.value("wheel"))
        if not found or not is_version(python) or f"{found[1]}.{found[2]}" == minor_of(python):
            return None
        if found[3] and versions.release(python)[:2] >= (int(found[1]), int(found[2])):
            return None  # the stable ABI serves every later Python (PEP 384)
        return Found(detail=f"The wheel is for Python {found[1]}.{found[2]}; this is {minor_of(python)}.")

    @staticmethod
    def _variant(python: str, case: Case) -> Outcome:
        """The index that a command names has no wheel for this Python."""
        variant = told.index_variant(case.commands)
        rows = [row for row in case.matrix.builds("torch") if row.variant == variant] if variant else []
        offered = joint.in_order(item for row in rows for item in row.python)
        if not offered or any(joint.verdict(row, python) == FITS for row in rows):
            return None
        detail = f"The index {variant} has torch for Python {', '.join(offered)}; this is {minor_of(python)}."
        return Found(detail=detail, facts=("python",), sources=cite(case.matrix, rows[-1]))
