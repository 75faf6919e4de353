"""Lays what was measured in wheels into the build rows: kernel targets and a runtime that they guess, and the glibc.

    python scripts/refresh.py --deep onnxruntime-gpu
    python scripts/lay_targets.py onnxruntime-gpu

Rows of the default index only, each release and platform by its own wheel; a row is split where they differ. A row
whose runtime the wheel shows becomes a measured one (:mod:`wheel_runtime`); an inferred runtime that it contradicts is
replaced. Its glibc is what the tag says, or what the objects ask for where that is more. Where a wheel has a library
for each of several runtimes, the known ones without a row get one. A row that states other targets than were measured
is left alone: that is a disagreement, which ``scripts/crosscheck.py`` tells. So is, without ``--mixed``, a wheel with
stray kernels: NVIDIA's libraries, where linked into it, outnumber its own.
"""

from __future__ import annotations

import argparse
import re
import sys
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

import wheel_runtime  # noqa: E402 - found through the line above
from gpu_code import targets_of  # noqa: E402
from observed_file import read  # noqa: E402
from settlements import Difference, load  # noqa: E402
from simple_index import write_whole  # noqa: E402

from compat.matrix import canonical, matrix, store  # noqa: E402
from compat.matrix.measured import floor_of  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = dict[str, Any]

GUESSED = "kernels as read in "
"""How the note of a row begins whose targets are those of a neighbouring release."""


def main(argv: list[str] | None = None) -> int:
    """Rewrite the tables of the packages named; exit 1 if one has no table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--matrix", type=Path, default=ROOT / "matrix")
    parser.add_argument("--source", default="gpu-code", help="id of the source of what was measured")
    parser.add_argument("--mixed", action="store_true", help="also wheels in which some kernels have other targets")
    options = parser.parse_args(argv)
    left = set(options.packages)
    for path in sorted(options.matrix.glob("*.toml")):
        text = path.read_text("utf-8")
        document, comments = store.parse_toml(text, path.name), canonical.layout(text).comments
        for package in sorted(left & set(document.get("builds", {}))):
            table = f"builds.{package}"
            before = [canonical.cells(table, row) for row in document["builds"][package]]
            rows, moved = lay(before, package, options)
            comments = {_moved(anchor, table, moved): lines for anchor, lines in comments.items()}
            told = sum(row not in before for row in rows)
            print(f"{package}: {told} of {len(rows)} rows say more than before")
            document["builds"][package] = rows
            left.discard(package)
        write_whole(path, canonical.dump(document, comments).encode())
    for package in sorted(left):
        print(f"{package}: no table builds.{package}", file=sys.stderr)
    return 1 if left else 0


def _moved(anchor: canonical.Anchor, table: str, moved: dict[int, int]) -> canonical.Anchor:
    return ("row", table, moved[anchor[2]]) if anchor[:2] == ("row", table) else anchor


def lay(rows: list[Row], package: str, options: argparse.Namespace) -> tuple[list[Row], dict[int, int]]:
    """The rows with what was measured, and where each old row begins among the new ones."""
    found: list[Row] = []
    begins: dict[int, int] = {}
    for number, row in enumerate(rows):
        begins[number] = len(found)
        name = row.get("distribution") or package
        measured = {} if row.get("index") else _measured(name, options)
        found += _split(row, measured, options.source, settled=_settled(name))
    own = [row for row in found if not row.get("index") and not row.get("distribution")]
    found += _unnamed(own, _measured(package, options), options.source)
    return found, begins


def _measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Release -> platform -> what its wheel carries, as far as it may be laid into rows."""
    releases = read(options.matrix / "observed" / f"{canonicalize_name(name)}.json")["releases"]
    return {
        version: {
            platform: _laid(facts, mixed=options.mixed) | _floor(platform, facts, release.get("wheels", ()))
            for platform, facts in release.get("carried", {}).items()
        }
        for version, release in releases.items()
    }


def _laid(facts: dict[str, Any], *, mixed: bool) -> dict[str, Any]:
    """What may be laid into rows: of a wheel with stray kernels its glibc alone, unless they are wanted."""
    return facts if mixed or "stray" not in facts else {key: facts[key] for key in _FLOORS if key in facts}


_FLOORS = ("glibc", "glibc_by", "tag")


def _floor(platform: str, facts: dict[str, Any], wheels: Iterable[dict[str, Any]]) -> dict[str, str]:
    """The ``floor`` of the file that was read, where the release has wheels of several floors for its platform.

    They may differ in what they carry: XGBoost's wheels for glibc 2.17 have no GPU code, those for 2.28 have.
    """
    floors = {place.partition(" ")[2] for group in wheels for place in group["for"] if place.split()[0] == platform}
    return {"floor": facts["tag"]} if len(floors) > 1 and facts.get("tag") else {}


def _settled(name: str) -> bool:
    """Whether the rows of a distribution follow another source in their glibc than its wheels."""
    return any(item.settles(Difference(name, "", "glibc", "", "")) for item in load())


def _split(row: Row, measured: dict[str, Any], source: str, *, settled: bool = False) -> Iterator[Row]:
    """A row as several: neighbouring releases whose wheels are alike on the same platforms share one."""

    def by_platform(version: str) -> list[tuple[Row, list[str]]]:
        """The row for each kind of wheel of a release, with the platforms that it is of."""
        kinds: list[tuple[Row, list[str]]] = []
        for platform in row["platforms"].split():
            carried = measured.get(row.get("published", version), {}).get(platform, {})
            told = _told(row if settled else _with_glibc(row, carried), carried, source)
            same = next((platforms for other, platforms in kinds if other == told), None)
            if same is None:
                kinds.append((told, [platform]))
            else:
                same.append(platform)
        return kinds

    for kinds, versions in groupby(row["versions"].split(), key=by_platform):
        listed = " ".join(versions)
        yield from (told | {"versions": listed, "platforms": " ".join(platforms)} for told, platforms in kinds)


def _with_glibc(row: Row, carried: dict[str, Any]) -> Row:
    """The row with the glibc that the wheel's tag and its objects ask for, where it is a row of that wheel."""
    now = row.get("glibc", "")
    if not carried.get("glibc") or carried.get("floor", now) != now:
        return row
    inferred = " ".join(field for field in row.get("inferred", "").split() if field != "glibc")
    told = {**row, "tag": "", "inferred": inferred, **glibc(carried.get("tag", ""), carried, row["runtime"])}
    return {key: value for key, value in told.items() if value or key not in {"glibc", "tag", "inferred"}}


def glibc(tag: str, carried: dict[str, Any], runtime: str = "") -> dict[str, str]:
    """The glibc that wheels of a tag need, and that of the tag where their objects ask for more."""
    floor = floor_of(tag, carried, runtime)
    return {"glibc": floor, "tag": tag if tag != floor else ""}


def _told(row: Row, carried: dict[str, Any], source: str) -> Row:
    """The row with what was measured in a wheel of it: its targets, and that its runtime was seen."""
    floor = carried.get("floor", "")
    if floor and row.get("glibc", "") not in {floor, floor_of(floor, carried, row["runtime"])}:
        return row  # what was read is another wheel
    told = _with_targets(_with_runtime(row, carried), carried, guessed=row["how"] == "inferred")
    confirmed = row.get("kernels") == "-" == targets_of(carried, row["runtime"]) and source not in row["source"].split()
    if told == row and not confirmed:
        return row
    left = [name for name in told["source"].split() if name not in _BY_SIZE or told["how"] != "measured"]
    return told | {"source": " ".join([*left, *({source} - set(left))])}


_BY_SIZE = frozenset({"cpu-sizes"})
"""Sources of guesses that reading the objects replaces."""


def _with_targets(row: Row, carried: dict[str, Any], *, guessed: bool = False) -> Row:
    """The row with measured targets, where it states none, a guess, or none although the wheel has some."""
    targets = targets_of(carried, row["runtime"])
    stated = row.get("kernels", "")
    inferred = row.get("inferred", "").split()
    guessed = guessed or row.get("note", "").startswith(GUESSED) or "kernels" in inferred
    if not _of_maker(row["runtime"], targets) or (stated not in {"", "-"} and not guessed):
        return row
    if stated == targets and not guessed:
        return row
    told = row | {"kernels": targets, "inferred": " ".join(field for field in inferred if field != "kernels")}
    if row.get("note", "").startswith(GUESSED):
        told.pop("note")
        told["how"] = "measured"  # nothing but the targets was a guess
    return {key: value for key, value in told.items() if value or key not in {"inferred", "note"}}


def _of_maker(runtime: str, targets: str) -> bool:
    """Whether there are targets and they may be those of a runtime: AMD's are not CUDA's, a CPU's build has none."""
    kind = runtime.rstrip(".0123456789")
    own = {"cuda": ("sm_", "compute_", "-"), "rocm": ("gfx", "-"), "": ("",)}.get(kind, ("-",))
    return bool(targets) and kind != "cpu" and all(target.startswith(own) for target in targets.split())


def _with_runtime(row: Row, carried: dict[str, Any]) -> Row:
    """The row as a measured one where the wheel shows its runtime; an inferred one that it contradicts, corrected."""
    if row["how"] == "measured" or not carried:
        return row
    runtime, inferred = row["runtime"], row.get("inferred", "").split()
    exact = wheel_runtime.minors(carried)
    if row["how"] == "inferred" and exact and runtime not in exact and runtime not in {"", "cpu"}:
        runtime = max(exact, key=lambda name: [int(part) for part in re.findall(r"\d+", name)])
    if runtime in {"", "cpu"}:
        seen = wheel_runtime.without_gpu(carried) or (runtime == carried.get("cuda"))
    else:
        seen = runtime in exact or wheel_runtime.major(carried) == runtime.partition(".")[0]
    if not seen:
        return row
    if runtime not in {"", "cpu", *exact} and row["how"] == "inferred":
        inferred.append("runtime")
    told = row | {"runtime": runtime, "how": "measured", "inferred": " ".join(dict.fromkeys(inferred))}
    if _GUESS.search(row.get("note", "")):
        told["note"] = ""
    return {key: value for key, value in told.items() if value or key not in {"inferred", "note"}}


_GUESS = re.compile(r"that of the torch it pins|too small for GPU code|no CUDA code in the published")
"""Notes that say how a runtime was guessed."""


def _unnamed(rows: list[Row], measured: dict[str, Any], source: str) -> Iterator[Row]:
    """Rows for runtimes that a wheel has a library for and no row: like the neighbour of another runtime."""
    known = {
        (version, platform, row["runtime"]): row
        for row in rows
        for version in row["versions"].split()
        for platform in row["platforms"].split()
    }
    found: list[Row] = []
    for (version, platform, runtime), row in known.items():
        variants = measured.get(version, {}).get(platform, {}).get("variants", {})
        if runtime != next((name for name in variants if (version, platform, name) in known), None):
            continue
        for name in (name for name in variants if (version, platform, name) not in known and _is_release(name)):
            like = row | {"runtime": name, "kernels": variants[name], "how": "measured"}
            like["source"] = " ".join(dict.fromkeys([*like["source"].split(), source]))
            found.append(like | {"versions": version, "platforms": platform})
    yield from _joined(found)


@lru_cache
def _is_release(runtime: str) -> bool:
    """Whether the matrix knows the toolkit of a runtime: a library may be there for one that nobody published."""
    tables = {
        "cuda": [row.cuda for row in matrix().table("cuda")],
        "rocm": [row.rocm for row in matrix().table("rocm")],
    }
    return any(f"{kind}{release}.".startswith(f"{runtime}.") for kind, listed in tables.items() for release in listed)


def _joined(rows: list[Row]) -> Iterator[Row]:
    """Rows that differ in nothing but the release as one."""
    kinds: list[tuple[Row, list[str]]] = []
    for row in rows:
        same = next(
            (versions for other, versions in kinds if {**other, "versions": ""} == {**row, "versions": ""}), None
        )
        if same is None:
            kinds.append((row, [row["versions"]]))
        else:
            same.append(row["versions"])
    yield from (row | {"versions": " ".join(versions)} for row, versions in kinds)


if __name__ == "__main__":
    sys.exit(main())
