"""What somebody tries to install, as the matrix knows it, and what the installer said that it could have had.

pip lists every release that has a file for the interpreter and the system at hand. Where the wanted one lies beside
them tells which end fails: the interpreter is too new for old releases, while newer ones have dropped the system.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.joints.build as joint
import compat.reading.commands as told
import compat.versions as versions
from compat.lazy import pattern
from compat.matrix import measured
from compat.rules.lookups import is_version
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
    if signals.saying("nothing-fits", "install-refused") and (not found or any(not spec for spec in found.values())):
        for name, version in packages_of(host).items():
            if not found or (name in found and not found[name]):
                found[_ALIAS.get(name, name)] = f"=={plain(version)}"
    known = {name for name, spec in found.items() if spec[:2] in {"", "=="} or matrix.package(name)}
    return {name: spec for name, spec in found.items() if name in known and published(matrix, name)}


def published(matrix: Matrix, name: str) -> tuple[rows.Build, ...]:
    """All rows of a distribution; of ``tensorflow-cpu`` its own, which has files for other systems.

    Of a package without rows its measured wheels, where no release has sources, which pip compiles for any Python.
    """
    if name in _BESIDE:
        return tuple(row for row in matrix.builds(_BESIDE[name]) if row.distribution == name)
    known = {} if matrix.package(name) else measured.releases(name)
    alone = () if any("source" in facts for facts in known.values()) else known
    return matrix.builds(name) or tuple(part.build for one in alone for part in joint.measured(matrix, name, one))


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


# pip's sentence (pip/_internal/resolution/resolvelib/factory.py): the release wanted and the list of those there.
_SAID: Final = pattern(
    r"satisfies the requirement [A-Za-z][\w.-]{0,60}(?:\[[^\]\n]{0,60}\])?\s?"
    r"(?:==|~=|>=|<=?)?[^(\n]{0,80}?(\d[\w.]{0,30})[^(\n]{0,80}"
    r"(?:\(from (?!versions)[^()\n]{1,200}\)\s?)?\(from versions: ([^)\n]{1,20000})",
    re.IGNORECASE,
)


def standing(signals: Hearing) -> str:
    """Where the release asked for lies among those offered: ``newer`` than all, ``older`` than all, or ``between``.

    Empty if the text names no release, or no release is offered.
    """
    if "pip-none-found" not in signals or not (said := _SAID.search(signals.text[:200_000])):
        return ""
    offered = [text for text in re.findall(r"\d[\w.]*", said[2]) if is_version(text)]
    if not offered or not is_version(said[1]):
        return ""
    wanted = versions.release(said[1])
    there = [versions.release(text) for text in offered]
    return "newer" if wanted > max(there) else "older" if wanted < min(there) else "between"


def modern(python: str, matrix: Matrix) -> bool:
    """Whether an interpreter is new enough for the newest PyTorch, and so for nearly everything published of late."""
    rows = matrix.builds("torch")
    if not rows or not is_version(python):
        return False
    newest = max((row.version for row in rows if is_version(row.version)), key=versions.release, default="")
    served = [text for row in rows if row.version == newest for text in row.python if is_version(text)]
    return bool(served) and versions.release(python)[:2] >= min(versions.release(text)[:2] for text in served)


def left_behind(python: str, matrix: Matrix, signals: Hearing) -> bool:
    """Whether releases are offered, only not the wanted one, to an interpreter that is not what is too old."""
    return standing(signals) in {"newer", "between"} and (not python or modern(python, matrix))
