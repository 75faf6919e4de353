"""Releases as scripts measured them in the published wheels: what is told of those that no row is for.

``observed/<package>.json`` beside the tables has every release of a distribution, previews and old ones too. A row says
more (which runtime, which libraries of the system), so this is for ``envcheck matrix show``, and for plans with a
package that has no row at all (:mod:`compat.app.unlisted`).
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from compat import resources, versions
from compat.lazy import dataclass
from compat.matrix.rows import Build
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.matrix import Matrix

SOURCE: Final = "wheel-metadata"
_EXTRA: Final = re.compile(r"""extra == ["']([\w.-]+)""")
MACS: Final = {"macosx_universal2": ("macosx_x86_64", "macosx_arm64"), "macosx_intel": ("macosx_x86_64",)}


@dataclass(frozen=True, slots=True)
class Measured:
    """One release of a distribution.

    Attributes:
        name: the distribution. ``version``: the release as the index spells it.
        facts: what ``scripts/refresh.py`` wrote of it.
    """

    name: str
    version: str
    facts: dict[str, Any]

    @property
    def date(self) -> str:
        """The day of its first file; empty if the index tells none."""
        return str(self.facts.get("date", ""))

    @property
    def lines(self) -> tuple[str, ...]:
        """Requirements of its wheels that can decide something, with their markers."""
        return tuple(dict.fromkeys(line for group in self.facts.get("wheels", ()) for line in group["requires"]))

    def builds(self, matrix: Matrix) -> tuple[Build, ...]:
        """Its wheels as rows: one for platforms that are alike in floor, Pythons and what they carry.

        The runtime is told only where a member of the wheel names it. Pythons of pure wheels and of the stable ABI are
        those that the matrix knows and that Requires-Python takes.
        """
        found: dict[tuple[Any, ...], list[str]] = {}
        for group in self.facts.get("wheels", ()):
            for key, listed in group["for"].items():
                platform, _, tag = key.partition(" ")
                pythons = tuple(_spelled_out(listed.split(), self.facts.get("python", ""), matrix))
                for name in MACS.get(platform, (platform,)):
                    carried = self.facts.get("carried", {}).get(name, {})
                    floor = floor_of(tag, carried)
                    told = (carried.get(what, "") for what in ("cuda", "targets", "cudnn", "nccl"))
                    cells = (floor, name[:5], pythons, tuple(group["requires"]), *told)
                    found.setdefault(cells, []).append(name)
        return tuple(self._build(platforms, *cells) for cells, platforms in found.items())

    def _build(
        self,
        platforms: list[str],
        floor: str,
        kind: str,
        pythons: tuple[str, ...],
        requires: tuple[str, ...],
        *carried: str,
    ) -> Build:
        cuda, targets, cudnn, nccl = carried
        return Build(
            package=self.name,
            versions=(self.version,),
            runtime=cuda if cuda in {"", "cpu"} else f"cuda{cuda}",
            python=pythons,
            platforms=tuple(dict.fromkeys(platforms)),
            glibc=floor if kind == "linux" else "",
            macos=floor if kind == "macos" else "",
            kernels=tuple(targets.split()) or (("-",) if platforms[0] == "any" else ()),
            cudnn=cudnn,
            nccl=nccl,
            requires=requires,
            date=self.date,
            yanked=bool(self.facts.get("yanked")),
            source=(SOURCE,),
            how="measured",
        )

    def serves(self, python: str, platform: str, matrix: Matrix) -> bool:
        """Whether an installer finds a file for a Python: a wheel, or the source where Requires-Python admits it."""
        if not versions.meets(self.facts.get("python", ""), f"{python}.99"):
            return False
        here = [one for one in self.builds(matrix) if {"any", platform} & {*one.platforms}]
        return "source" in self.facts or not here or any(python in one.python for one in here)

    def is_static(self, platform: str) -> bool:
        """Whether a wheel with GPU code needs no library but the driver's, and brings none.

        What a part for PyTorch needs, of a wheel that does not require it, nobody else loads.
        """
        facts = self.facts.get("carried", {}).get(platform, {})
        needed = {*facts.get("needs", "").split()} - {"libcuda.so.1"}
        added = "libtorch.so" in needed and "torch" not in names(self.name)
        apart = bool(facts.get("bundles") or (needed and not added))
        return bool(facts.get("deep")) and facts.get("targets", "-") != "-" and not apart

    def objects(self) -> Iterator[tuple[str, ...]]:
        """Of each wheel that was looked into: platform, file, glibc, libraries needed and bundled, stray targets."""
        for platform, facts in self.facts.get("carried", {}).items():
            floors = {"objects": facts.get("glibc", "-"), "tag": facts.get("tag", "-"), **facts.get("glibc_by", {})}
            told = ", ".join(f"{word} {floor}" for word, floor in floors.items() if floor != "-")
            yield platform, facts.get("file", ""), told, *(facts.get(key, "") for key in ("needs", "bundles", "stray"))


def floor_of(tag: str, carried: dict[str, Any], runtime: str = "") -> str:
    """The glibc that wheels of a tag need: what their objects ask for, where one was read that asks for more.

    ``runtime``: of the libraries for several, of which one is loaded, the one that counts.
    """
    facts = carried if carried.get("tag", "") == tag else {}
    asked = facts.get("glibc_by", {}).get(runtime, facts.get("glibc", "-"))
    return max(tag or "0", asked, key=versions.release) if asked != "-" else tag


def release(name: str, version: str) -> Measured | None:
    """A release of a distribution as it was measured; None if it was not."""
    known = releases(name)
    spelled = version if version in known else next((one for one in known if versions.same_release(one, version)), "")
    return Measured(name, spelled, known[spelled]) if spelled else None


def releases(name: str) -> dict[str, Any]:
    """All releases of a distribution that were measured, in the order of their numbers; none if nobody looked."""
    found: dict[str, Any] = _document(name)["releases"]
    return found


def gone(name: str, version: str) -> tuple[str, str]:
    """The day of a whole list of the index without a release, and the next one there; empty where that is no proof.

    A later day may add a patch to a series that has not ended: one behind all of its series counts only where what
    follows is two years old.
    """
    day, known = _document(name).get("whole", ""), releases(name)
    wanted = versions.public(version)
    if not day or wanted is None or "+" in version or release(name, version):
        return "", ""
    later = next((one for one in known if versions.parsed(one) > wanted), "")
    ended = later and f"{int(known[later]['date'][:4] or day[:4]) + 2}{known[later]['date'][4:]}" < day
    return (day, later) if later and (ended or versions.same_series(later, versions.minor(version))) else ("", "")


@lru_cache(maxsize=1024)
def names(name: str) -> frozenset[str]:
    """The distributions that some release of a measured one requires, whatever the machine."""
    wheels = (wheel for facts in releases(name).values() for wheel in facts.get("wheels", ()))
    texts = {text for wheel in wheels for text in wheel["requires"]}
    return frozenset(map(versions.name_of, texts))


def extras(name: str, version: str) -> frozenset[str]:
    """The extras that some recorded requirement of a release is for."""
    wheels = releases(name).get(version, {}).get("wheels", ())
    return frozenset(normalise(one) for wheel in wheels for text in wheel["requires"] for one in _EXTRA.findall(text))


@lru_cache(maxsize=64)  # a file may pin one package in thousands of lines
def _document(name: str) -> dict[str, Any]:
    path = resources.matrix_dir() / "observed" / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.is_file() else {"releases": {}}
    return found


def _spelled_out(listed: list[str], requires_python: str, matrix: Matrix) -> Iterator[str]:
    """Pythons of a wheel, open ends (``3.9+``, ``3``) as far as the matrix knows Pythons."""
    floors = [python.rstrip("+") for python in listed if python.endswith("+") or "." not in python]
    yield from (python for python in listed if python.rstrip("+") not in floors)
    for row in matrix.table("pythons") if floors else ():
        python = row.python
        above = any(versions.release(python) >= versions.release(floor) for floor in floors)
        if (
            above
            and python not in listed
            and not python.endswith("t")
            and versions.meets(requires_python, f"{python}.99")
        ):
            yield python
