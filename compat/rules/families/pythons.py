"""The interpreter: does a build exist for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.findings import Fix
from compat.rules import commands as told
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing


from compat.rules.families.platforms import candidates, wanted


def short(python: str) -> str:
    """``3.11.9`` -> ``3.11``."""
    return ".".join(python.split(".")[:2])


class PythonUnsupported(Rule):
    """No build of this framework exists for this Python.

    Why:
        pip hides the reason: it says that no version was found, although the project exists.
    Fix:
        Use a Python that the release was published for, or a release for this Python.
    Sources:
        - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    area = "python"
    asks = ("python", "packages")
    remedy = Fix("Use a Python that the release was published for.", ("uv venv --python 3.12",))

    def check(
        self,
        python: str,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        wishes: tuple[str, ...],
    ) -> Outcome:
        """None of the releases that are asked for was published for the interpreter's minor version."""
        asked = wanted(host, matrix, signals, commands, wishes)
        for name, specifier in asked.items():
            rows = candidates(matrix, name, specifier)
            offered = sorted({item for row in rows for item in row.python}, key=_python_key)
            if rows and offered and short(python) not in offered:
                fix = Fix(f"Use Python {offered[-1]}.", (f"uv venv --python {offered[-1]}",))
                detail = f"{name}{specifier} was published for Python {', '.join(offered)}; this is {short(python)}."
                return Found(detail=detail, facts=("python",), fix=fix, sources=cite(matrix, rows[-1]))
        return self._variant(python, matrix, commands) or (
            Fits(f"{next(iter(asked))} is published for Python {short(python)}") if asked else None
        )

    @staticmethod
    def _variant(python: str, matrix: Matrix, commands: tuple[str, ...]) -> Outcome:
        """The index that a command names has no wheel for this Python."""
        variant = told.index_variant(commands)
        rows = [row for row in matrix.builds("torch") if variant and row.variant == variant]
        offered = sorted({item for row in rows for item in row.python}, key=_python_key)
        if not offered or short(python) in offered:
            return None
        detail = f"The index {variant} has torch for Python {', '.join(offered)}; this is {short(python)}."
        return Found(detail=detail, facts=("python",), sources=cite(matrix, rows[-1]))


def _python_key(text: str) -> tuple[int, ...]:
    return versions.release(text.rstrip("t")) if is_version(text.rstrip("t")) else (0,)


RULES = family(PythonUnsupported)
