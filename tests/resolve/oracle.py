"""An independent, slow answer: every combination of builds, Python, place and image is tried, on the plain tables.

Nothing of ``compat.resolve`` is used, and no cleverness: a set of wishes and facts is satisfiable if some combination
passes every check below; a conflict is minimal if it is not satisfiable and each of its subsets one smaller is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from worlds import FORWARD, PYTHONS, Question

if TYPE_CHECKING:
    from collections.abc import Iterator

Soft = tuple[str, str]
"""("wish", requirement), ("gpu", "0") for a kind of GPU, or (fact, value)."""

VENDORS = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel", "cpu": "cpu"}
VENDOR_ORDER = ["nvidia", "amd", "intel"]
ORDERS = {
    "proven": "vendor forward kernels how release companions strain runtime weight",
    "newest": "vendor forward kernels release how companions strain runtime weight",
    "smallest": "vendor forward kernels how weight release companions strain runtime",
    "oldest-driver": "vendor forward kernels how driver release companions strain runtime weight",
    "stable": "vendor forward kernels how strain settled release companions runtime weight",
}
"""The order of each preference as its documentation states it."""


def number(text: str) -> tuple[int, ...]:
    parts = [int(part) for part in text.split(".")]
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def satisfies(version: str, spec: str) -> bool:
    tests = {"==": lambda a, b: a == b, ">=": lambda a, b: a >= b, "<=": lambda a, b: a <= b, "<": lambda a, b: a < b}
    for part in filter(None, spec.split(",")):
        operator = next(sign for sign in ("==", ">=", "<=", "<") if part.startswith(sign))
        if not tests[operator](number(version), number(part[len(operator) :])):
            return False
    return True


def split(line: str) -> tuple[str, str, str]:
    plain, _, marker = line.partition(";")
    found = re.match(r"([a-z]+)(.*)", plain.strip())
    return found[1], found[2].strip(), marker.strip()


def marker_holds(marker: str, python: str) -> bool:
    if not marker:
        return True
    operator, bound = re.match(r'python_version (<|>=) "(.*)"', marker).groups()
    return number(python) < number(bound) if operator == "<" else number(python) >= number(bound)


@dataclass(frozen=True)
class Row:
    """One build of the tables."""

    package: str
    raw: Any

    def __getattr__(self, name: str) -> str:
        return self.raw.get(name, "")

    def __hash__(self) -> int:
        return id(self.raw)

    @property
    def kind(self) -> str:
        return self.raw["runtime"].rstrip("0123456789.")

    @property
    def series(self) -> str:
        return self.raw["runtime"][len(self.kind) :]

    @property
    def vendor(self) -> str:
        return VENDORS[self.kind]


class Oracle:
    """Verdicts on one question."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.tables = question.tables
        self.side = "windows" if question.wsl else "linux"
        self.rows = {
            name: [Row(name, raw) for raw in self.tables[f"builds.{name}"]] for name in ("alpha", "beta", "gamma")
        }

    @cached_property
    def softs(self) -> list[Soft]:
        wishes = [("wish", text) for text in self.question.requirements]
        gpus = [("gpu", str(place)) for place in range(len(self.question.kinds))]
        facts = [(name, str(value)) for name, value in self.question.facts.items()]
        return [*wishes, *facts, *gpus]

    # --- satisfiability ---

    def satisfiable(self, kept: frozenset[Soft]) -> bool:
        return next(self.combinations(kept), None) is not None

    def combinations(self, kept: frozenset[Soft]) -> Iterator[tuple[tuple[Row, ...], bool]]:
        """Every combination of builds that passes with the kept constraints; the empty one where nothing is wished.

        The flag is whether a newer user-space driver in the image is made use of.
        """
        wishes = [text for kind, text in kept if kind == "wish"]
        if not wishes:
            yield (), False
            return
        facts = {name: self.question.facts[name] for name, _ in kept if name in self.question.facts}
        gpus = [
            (place, self.question.kinds[int(text)]) for place, (kind, text) in enumerate(sorted(kept)) if kind == "gpu"
        ]
        devices = [target for _, target in gpus]
        asked = {split(text)[0] for text in wishes}
        present = sorted(asked | ({"alpha"} if "gamma" in asked else set()))
        places = [f"linux_{facts['arch']}"] if "arch" in facts else self._places()
        pythons = [facts["python"]] if "python" in facts else PYTHONS
        for place, forward in product(places, (False, True)):
            choices = [
                [row for row in self.rows[name] if self._alone(row, place, wishes, facts, devices, forward)]
                for name in present
            ]
            for rows in product(*choices):
                if self._together(rows) and any(
                    self._stands(rows, python, place, facts, devices, forward) for python in pythons
                ):
                    yield rows, forward

    def _places(self) -> list[str]:
        """Without a known architecture a machine is x86_64; where it is known and dropped, either will do."""
        return ["linux_x86_64", "linux_aarch64"] if "arch" in self.question.facts else ["linux_x86_64"]

    def _alone(
        self,
        row: Row,
        place: str,
        wishes: list[str],
        facts: dict[str, Any],
        devices: list[str],
        forward: bool = False,
    ) -> bool:
        named = [split(text)[1] for text in wishes if split(text)[0] == row.package]
        driver = facts.get("driver")
        newer = forward and place == "linux_x86_64" and row.kind == "cuda" and self.forwards(row.series, driver)
        return (
            row.kind != "cpu"
            and place in row.platforms.split()
            and all(satisfies(row.versions, spec) for spec in named)
            and ("glibc" not in facts or not row.glibc or number(facts["glibc"]) >= number(row.glibc))
            and ("cpu_flags" not in facts or not row.cpu or row.cpu in facts["cpu_flags"])
            and (newer or self._driver(row, driver))
            and all(self._runs(row, device, driver, newer) for device in devices)
        )

    def forwards(self, series: str, driver: str | None) -> bool:
        """Whether the cuda-compat package of a release runs on the driver of this question's machine."""
        if driver is None:
            return True
        kin = [target for target in self.question.kinds if target.startswith("sm_")]
        allowed = self.question.servers and not self.question.wsl
        return allowed and bool(kin) and f"R{number(driver)[0]}" in FORWARD.get(series, ())

    def cuda(self, series: str) -> dict[str, str]:
        return next(row for row in self.tables["cuda"] if row["cuda"].startswith(f"{series}."))

    def _driver(self, row: Row, driver: str | None) -> bool:
        if driver is None:
            return True
        if row.kind != "cuda":
            return any(self._vendor(target) == row.vendor for target in self.question.kinds)
        release = self.cuda(row.series)
        floors = [release[f"driver_{self.side}"], release[f"family_{self.side}"]]
        return any(floor and number(driver) >= number(floor) for floor in floors)

    @staticmethod
    def _vendor(target: str) -> str:
        return "nvidia" if target.startswith("sm_") else "amd"

    def level(self, row: Row, device: str) -> int:
        """0 native, 1 PTX, 2 unknown, 3 none."""
        if self._vendor(device) != row.vendor:
            return 3
        if not row.kernels:
            return 3 if device.startswith("sm_") and number(row.series) < self._first(device) else 2
        code = row.kernels.split()
        if device.startswith("gfx"):
            return 0 if device in code else 3
        major, minor = device[3], device[4]
        native = any(one.startswith("sm_") and one[3] == major and one[4] <= minor for one in code)
        ptx = any(one.startswith("compute_") and one[8:] <= device[3:] for one in code)
        return 0 if native else 1 if ptx else 3

    def _first(self, device: str) -> tuple[int, ...]:
        """The first CUDA that could make machine code for a device or an older one of its major."""
        kin = [row for row in self.tables["capabilities"] if row["cc"][0] == device[3] and row["cc"][2] <= device[4]]
        return min(number(row["first_cuda"]) for row in kin)

    def _runs(self, row: Row, device: str, driver: str | None, newer: bool = False) -> bool:
        level = self.level(row, device)
        if level == 3:
            return False
        if driver is None or device.startswith("gfx"):
            return True
        if level == 1 and not newer and number(driver) < number(self.cuda(row.series)[f"driver_{self.side}"]):
            return False
        known = next(one for one in self.tables["capabilities"] if one["cc"] == f"{device[3]}.{device[4]}")
        first = self.cuda(known["first_cuda"])[f"driver_{self.side}"]
        last = known.get("last_driver", "R999")[1:]
        return number(driver) >= number(first) and self._branch(driver) <= int(last)

    def _branch(self, driver: str) -> int:
        """The branch of a driver: the first number on Linux, on Windows the highest branch that is not above it."""
        own = number(driver)[0]
        branches = [int(row["branch"][1:]) for row in self.tables["drivers"]]
        return max(one for one in branches if one <= own) if self.question.wsl else own

    def _together(self, rows: tuple[Row, ...]) -> bool:
        versions = {row.package: row.versions for row in rows}
        for row in rows:
            for line in row.raw.get("requires", ()):
                name, spec, _ = split(line)
                if name in versions and not satisfies(versions[name], spec):
                    return False
        return all(self._pair(left, right) for left, right in combinations(rows, 2))

    def _pair(self, left: Row, right: Row) -> bool:
        theirs = {item.rstrip("0123456789."): item for item in right.system.split()}
        if any(theirs.get(item.rstrip("0123456789."), item) != item for item in left.system.split()):
            return False
        if left.runtime == right.runtime:
            return True
        if self._twins(left, right) or self._twins(right, left) or left.kind != right.kind:
            return False
        if left.series.split(".")[0] != right.series.split(".")[0]:
            return False
        return all(self._serves(*two) for two in ((left, right), (right, left)))

    @staticmethod
    def _serves(one: Row, other: Row) -> bool:
        """Whether the CUDA of the system, in the minor that one build takes, is none too old for the other."""
        if one.cuda_from != "system" or one.series == other.series:
            return True
        return other.cuda_from != "system" and number(one.series) > number(other.series)

    def _twins(self, companion: Row, leader: Row) -> bool:
        if (companion.package, leader.package) != ("gamma", "alpha"):
            return False
        indexes = [{row.index for row in self.rows[name] if row.variant} for name in ("gamma", "alpha")]
        siblings = {
            row.series
            for row in self.rows["gamma"]
            if (row.versions, row.kind, row.series.split(".")[0])
            == (companion.versions, companion.kind, companion.series.split(".")[0])
        }
        return bool(indexes[0] & indexes[1]) or len(siblings) > 1

    def _stands(
        self, rows: tuple[Row, ...], python: str, place: str, facts: dict[str, Any], devices: list[str], forward: bool
    ) -> bool:
        if not all(python in row.python.split() for row in rows):
            return False
        for shared in ("shared", "common"):
            specs = [
                spec
                for row in rows
                for name, spec, marker in map(split, row.raw.get("requires", ()))
                if name == shared and marker_holds(marker, python)
            ]
            if not any(all(satisfies(version, spec) for spec in specs) for version in "1234"):
                return False
        images = self.tables["images"]
        if forward:
            images = [image for image in images if self._holds_driver(image, rows, place, facts)]
        return any(self._image(image, rows, place, facts, devices) for image in images)

    def _holds_driver(self, image: dict[str, str], rows: tuple[Row, ...], place: str, facts: dict[str, Any]) -> bool:
        """Whether an image is NVIDIA's for the newest runtime of the builds, whose package runs on the driver."""
        newest = max((number(row.series) for row in rows if row.kind == "cuda"), default=())
        own = number(image["runtime"].removeprefix("cuda")) if image["repository"] == "nvidia/cuda" else None
        return (
            place == "linux_x86_64"
            and own == newest
            and self.forwards(image["runtime"].removeprefix("cuda"), facts.get("driver"))
        )

    def _image(
        self, image: dict[str, str], rows: tuple[Row, ...], place: str, facts: dict[str, Any], devices: list[str]
    ) -> bool:
        system = next(one for one in self.tables["systems"] if one["os"] == image["os"])
        if (
            place.removeprefix("linux_") not in image.get("arch", "x86_64").split()
            or facts.get("os", image["os"]) != image["os"]
        ):
            return False
        if any(row.glibc and number(system["glibc"]) < number(row.glibc) for row in rows):
            return False
        needed = {item for row in rows for item in row.system.split()}
        nvidia = [device for device in devices if device.startswith("sm_")]
        if image.get("require") and "driver" in facts and nvidia and not self._admits(facts["driver"]):
            return False
        if not needed:
            return image["repository"] == "ubuntu" or "base" in image["flavours"]
        cudnn = next((item[5:] for item in needed if item.startswith("cudnn")), "")
        has_cudnn = not cudnn or (
            image.get("cudnn", "").startswith(f"{cudnn}.") and f"cudnn{cudnn}-runtime" in image["flavours"]
        )
        return image["runtime"] == next(item for item in needed if item.startswith("cuda1")) and has_cudnn

    def _admits(self, driver: str) -> bool:
        """The one condition of these tables: ``cuda>=11.8``, which the driver reports, or a driver of the number 460."""
        return self._branch(driver) >= 520 or number(driver)[0] == 460

    # --- conflicts and optimum ---

    def conflicts(self) -> set[frozenset[Soft]]:
        """All minimal sets that cannot be satisfied, by trying every set."""
        cores: set[frozenset[Soft]] = set()
        for size in range(1, len(self.softs) + 1):
            for chosen in combinations(self.softs, size):
                kept = frozenset(chosen)
                if not any(core <= kept for core in cores) and not self.satisfiable(kept):
                    cores.add(kept)
        return cores

    def best(self, prefer: str = "proven") -> tuple[Any, ...] | None:
        """The key of the preferred combination; ``None`` if there is none."""
        found = self.combinations(frozenset(self.softs))
        return min((self.key(rows, forward, prefer) for rows, forward in found), default=None)

    def key(self, rows: tuple[Row, ...], forward: bool, prefer: str = "proven") -> tuple[Any, ...]:
        """A combination's measures in the order of a preference."""
        measures = self._measures(rows, forward)
        return tuple(measures[name] for name in ORDERS[prefer].split())

    def _measures(self, rows: tuple[Row, ...], forward: bool) -> dict[str, Any]:
        asked = list(dict.fromkeys(split(text)[0] for text in self.question.requirements))
        order = [*asked, *(["alpha"] if "gamma" in asked and "alpha" not in asked else [])]
        by_name = {row.package: row for row in rows}
        chosen = [by_name[name] for name in order]
        known = [row for row in chosen if row.package != "gamma"]
        driver = self.question.facts.get("driver")
        levels = [max([self.level(row, device) for device in self.question.kinds], default=0) for row in chosen]
        levels = [
            0 if level == 2 and row.package == "gamma" else level for level, row in zip(levels, chosen, strict=True)
        ]
        releases = [
            sorted({row.versions for row in self.rows[one.package]}, reverse=True).index(one.versions) for one in chosen
        ]
        return {
            "vendor": max(VENDOR_ORDER.index(row.vendor) for row in chosen),
            "forward": forward,
            "kernels": max(levels),
            "how": max((row.how == "inferred" for row in known), default=False),
            "release": releases,
            "companions": max(row.how == "inferred" and row.package == "gamma" for row in chosen),
            "strain": 2 if forward else max(self._strain(row, driver) for row in chosen),
            "runtime": [-self._series(row) for row in chosen],
            "weight": max(row.cuda_from == "system" for row in chosen),
            "driver": max(self._floor(row) for row in chosen),
            "settled": 1,  # no release of these tables has a third number
        }

    def _floor(self, row: Row) -> tuple[int, ...]:
        """The lowest driver of a build, padded so that numbers of two and three parts compare."""
        if row.kind != "cuda":
            return (0, 0, 0)
        release = self.cuda(row.series)
        return (*number(release[f"family_{self.side}"] or release[f"driver_{self.side}"]), 0, 0)[:3]

    def _strain(self, row: Row, driver: str | None) -> bool:
        if driver is None or row.kind != "cuda":
            return False
        return number(driver) < number(self.cuda(row.series)[f"driver_{self.side}"])

    @staticmethod
    def _series(row: Row) -> int:
        parts = [int(part) for part in (row.series or "0").split(".")]
        return parts[0] * 1000 + (parts[1] if len(parts) > 1 else 0)
