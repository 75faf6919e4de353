"""What somebody tries to install: the releases that a text, a command or a wish names, as the matrix knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.reading.commands as told
import compat.versions as versions
from compat.lazy import pattern
from compat.rules.knowledge import is_version
from compat.rules.stack import packages_of, plain

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.matrix import Matrix, rows
    from compat.reading.messages import Hearing

_ALIAS: Final = {"pytorch": "torch", "paddlepaddle-gpu": "paddlepaddle"}

# Distributions whose rows stand in the table of another one, marked with their own name.
_BESIDE: Final = {"tensorflow-cpu": "tensorflow"}

# The local part of a version, which a public release never carries (PEP 440).
_LOCAL: Final = pattern(r"\+[\w.]+")

# Messages of an installer that found nothing which fits.
_REFUSED: Final = (
    "pip-none-found",
    "unsupported-wheel",
    "requires-python",
    "uv-no-wheel",
    "uv-no-platform",
    "uv-no-python",
    "uv-not-here",
    "poetry-no-candidates",
    "no-version-of",
    "windows-only-linux",
    "resolver-conflict-frameworks",
)


def wanted(
    host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
) -> dict[str, str]:
    """Package -> specifier that somebody tries to install, as far as the matrix knows the package."""
    found: dict[str, str] = {}
    texts = [*wishes, *(heard.values["requirement"] for heard in signals if heard.values.get("requirement"))]
    for asked in filter(None, map(versions.requirement, texts)):
        found.setdefault(_ALIAS.get(asked.name, asked.name), asked.spec)
    for name, version in told.requirements(commands).items():
        found.setdefault(_ALIAS.get(name, name), f"=={version}" if version else "")
    if signals.get(*_REFUSED) and (not found or any(not spec for spec in found.values())):
        for name, version in packages_of(host).items():
            if not found or (name in found and not found[name]):
                found[_ALIAS.get(name, name)] = f"=={plain(version)}"
    return {name: spec for name, spec in found.items() if published(matrix, name)}


def published(matrix: Matrix, name: str) -> tuple[rows.Build, ...]:
    """All rows of a distribution; of ``tensorflow-cpu`` its own, which has files for other systems."""
    if name not in _BESIDE:
        return matrix.builds(name)
    return tuple(row for row in matrix.builds(_BESIDE[name]) if row.distribution == name)


def candidates(matrix: Matrix, name: str, specifier: str) -> list[rows.Build]:
    """Rows of the releases that a specifier admits, of the variant alone that a local tag such as ``+cu118`` names."""
    plain_specifier = _LOCAL.sub("", specifier)
    known = published(matrix, name)
    rows = [row for row in known if admitted(plain_specifier, row.version)] if specifier else _lately(known)
    tag = specifier.rpartition("+")[2] if specifier.startswith("==") and "+" in specifier else ""
    return [row for row in rows if tag and row.local == tag] or rows


def _lately(rows: tuple[rows.Build, ...]) -> list[rows.Build]:
    """Rows without those for any system, if later series are for certain systems only: old sources serve none."""
    dated = [(versions.release(row.version)[:2], row) for row in rows if is_version(row.version)]
    free = [series for series, row in dated if "any" in row.platforms]
    bound = [(series, row) for series, row in dated if row.platforms and "any" not in row.platforms]
    newest = max((series for series, _ in bound), default=())
    return [row for _, row in bound] if free and newest > max(free) else list(rows)


def admitted(specifier: str, version: str) -> bool:
    """Whether a specifier admits a release; ``==2.8`` stands for any 2.8.x only when 2.8.0 is not published."""
    return versions.admits(specifier, version) is True or (
        specifier.startswith("==") and versions.same_release(version, specifier[2:])
    )
