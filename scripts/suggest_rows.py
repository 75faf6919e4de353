"""Writes the matrix rows of a release from what was measured of it, ready to be looked over.

    python scripts/refresh.py --kernels torch
    python scripts/suggest_rows.py torch 2.16.0             # prints them
    python scripts/suggest_rows.py --write torch 2.16.0     # into matrix/builds.torch.toml
    python scripts/suggest_rows.py accelerate --since 1.0   # all from there on that lack rows, alike ones in one row

It knows only what the wheels say: the default index, one row per platform and set of requirements. Builds of other
indexes, the system libraries that a wheel needs and what documents add are for a person.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import wheel_runtime  # noqa: E402
from crosscheck import ENVIRONMENTS, expand  # noqa: E402
from lay_targets import glibc  # noqa: E402
from simple_index import write_whole  # noqa: E402
from wheel_facts import python_key, spell  # noqa: E402

from compat.matrix import canonical, matrix, schema, store  # noqa: E402 - found through the line above
from compat.matrix.measured import MACS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from compat.matrix.rows import Build

FIRST = Version("3.0")
"""Before any Python that matters."""

_MAJOR = re.compile(r"nvidia-[a-z-]+-cu(\d\d)\b")
"""An NVIDIA package of one CUDA major."""

_DECIDING = {"==", "===", "<", "<=", "~=", "!="}
_SHARED = re.compile(
    r"numpy|protobuf|typing-extensions|ml-dtypes|scipy|setuptools|keras|tf-keras|(nvidia|cuda|tensorrt|tensorflow|jax|torch"
    r"|triton|libtpu|flashinfer|xformers|vllm|cupy|rocm)[a-z0-9-]*"
)
"""Requirements kept even without a bound: frameworks, NVIDIA's packages and basics that several frameworks share."""


def main(argv: list[str] | None = None) -> int:
    """Print the rows; exit 1 if no such release was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package")
    parser.add_argument("version", nargs="?", default="")
    parser.add_argument("--since", type=Version, default=FIRST, help="without a version: the first release to take")
    parser.add_argument("--observed", type=Path, default=ROOT / "matrix" / "observed")
    parser.add_argument("--matrix", type=Path, default=ROOT / "matrix", help="folder that --write writes to")
    parser.add_argument("--write", action="store_true", help="lay the rows into the file of the package")
    options = parser.parse_args(argv)
    path = options.observed / f"{canonicalize_name(options.package)}.json"
    releases = json.loads(path.read_text("utf-8"))["releases"] if path.is_file() else {}
    builds = matrix().builds(options.package)
    there = {release for build in builds for release in build.versions}
    wanted = [options.version] if options.version else _since(releases, options.since, there)
    if not wanted or not releases.keys() >= set(wanted):
        name = " ".join([options.package, *filter(None, [options.version])])
        print(f"{name} was not measured; run scripts/refresh.py first", file=sys.stderr)
        return 1
    found = [
        rows(version, releases[version], usual(builds, Version(version)), oldest(builds, Version(version)))
        for version in wanted
    ]
    if options.write:
        lay(options.matrix / f"builds.{options.package}.toml", options.package, joined(found))
        return 0
    for row in joined(found):
        print(f"  {canonical.row_text(f'builds.{options.package}', row)},")
    return 0


def lay(path: Path, package: str, found: list[dict[str, Any]]) -> None:
    """Write rows behind those that a file has of a package, before them if they are older; in canonical spelling."""
    text = path.read_text("utf-8") if path.is_file() else ""
    document = store.parse_toml(text, str(path)) or {"schema": canonical.SCHEMA}
    listed = document.setdefault("builds", {}).setdefault(package, [])
    older = bool(listed) and Version(found[-1]["versions"].split()[-1]) < Version(listed[0]["versions"].split()[0])
    listed[: 0 if older else len(listed)] = found if older else [*listed, *found]
    write_whole(path, canonical.dump(document, canonical.layout(text).comments).encode())


def _since(releases: dict[str, Any], first: Version, there: Collection[str]) -> list[str]:
    """Measured final releases from one on that lack rows, have files and are not withdrawn, oldest first."""
    told = [version for version, release in releases.items() if release["wheels"] and not release.get("yanked")]
    final = [version for version in told if version not in there and not Version(version).is_prerelease]
    return sorted((version for version in final if Version(version) >= first), key=Version)


def joined(releases: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows of several releases; neighbours that differ in nothing but the release are one row."""
    found: list[dict[str, Any]] = []
    latest: dict[str, dict[str, Any]] = {}
    for listed in releases:
        now: dict[str, dict[str, Any]] = {}
        for row in listed:
            same = repr({**row, "versions": ""})
            if same in latest:
                latest[same]["versions"] += f" {row['versions']}"
                now[same] = latest[same]
            else:
                now[same] = row
                found.append(row)
        latest = now
    return found


def oldest(builds: Iterable[Build], release: Version) -> Version:
    """The oldest Python of the newest release with rows up to this one: one that was dropped does not come back."""
    newest = max((number for build in builds if (number := Version(build.version)) <= release), default=None)
    found = [Version(python.rstrip("t")) for b in builds if Version(b.version) == newest for python in b.python]
    return min(found, default=min(map(Version, pythons())))


def pythons() -> list[str]:
    """The Pythons that the matrix knows, free-threaded ones under their plain number."""
    return sorted({row.python.rstrip("t") for row in matrix().table("pythons")}, key=Version)


def usual(builds: Iterable[Build], release: Version) -> dict[str, str]:
    """Platform -> runtime of its wheels on the default index; platforms that have several left out.

    Those of the newest release with rows up to this one, of the oldest where all are newer.
    """
    found: dict[str, dict[Version, set[str]]] = {}
    for build in builds:
        for platform in build.platforms if not build.index and not build.distribution else ():
            found.setdefault(platform, {}).setdefault(Version(build.version), set()).add(build.runtime)
    near = {
        platform: releases[max((number for number in releases if number <= release), default=min(releases))]
        for platform, releases in found.items()
    }
    return {platform: min(runtimes) for platform, runtimes in near.items() if len(runtimes) == 1}


def rows(
    version: str, release: dict[str, Any], runtimes: dict[str, str], first: Version = FIRST
) -> list[dict[str, Any]]:
    """Raw rows of a release, in the order of its wheels; platforms that are alike share one.

    Where the measurement shows no runtime, the one that is usual on the platform stands there, marked as inferred.
    Pythons of the stable ABI and of pure wheels are those that the matrix knows, from ``first`` on.
    """
    found: list[dict[str, Any]] = []
    runtimes = _of_major(runtimes, release)
    for group in release["wheels"]:
        for platform, floor, listed in _places(group["for"]):
            carried = release.get("carried", {}).get(platform, {})
            row = _row(version, release, platform, floor, _listed(listed, release, first), group["requires"])
            shown = _shown(carried, runtimes.get(platform, ""))
            if shown is None and platform in runtimes:
                row["runtime"] = runtimes[platform]
                row |= {"inferred": "runtime"} if row["runtime"] else {}
            elif shown is not None:
                row["runtime"] = shown
            same = next((other for other in found if {**other, "platforms": ""} == {**row, "platforms": ""}), None)
            if same:
                same["platforms"] += f" {platform}"
            else:
                found.append(row)
    return _loosest(found)


def _loosest(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without places that a row alike serves with a lower floor: an installer takes that wheel."""
    served: set[tuple[str, str]] = set()
    for row in sorted(found, key=lambda row: Version(row.get("glibc") or row.get("macos") or "0")):
        alike = repr({key: value for key, value in row.items() if key not in {"platforms", "glibc", "macos"}})
        left = [platform for platform in row["platforms"].split() if (alike, platform) not in served]
        served.update((alike, platform) for platform in left)
        row["platforms"] = " ".join(left)
    return [row for row in found if row["platforms"]]


def _of_major(runtimes: dict[str, str], release: dict[str, Any]) -> dict[str, str]:
    """The usual runtimes; where NVIDIA's packages that a release requires are all of another CUDA major, that one."""
    majors = {found[1] for group in release["wheels"] for raw in group["requires"] if (found := _MAJOR.match(raw))}
    named = f"cuda{majors.pop()}" if len(majors) == 1 else ""
    return {
        platform: named if named and runtime.startswith("cuda") and runtime.partition(".")[0] != named else runtime
        for platform, runtime in runtimes.items()
    }


def _places(group: dict[str, str]) -> Iterator[tuple[str, str, list[str]]]:
    """Platform, floor and Pythons of a group's wheels; those for both kinds of Mac as two, unknown ones left out."""
    for key, listed in group.items():
        told, _, floor = key.partition(" ")
        for platform in MACS.get(told, (told,)):
            if schema.PLATFORM.fits(platform):
                yield platform, floor, listed.split()


def _shown(carried: dict[str, Any], usual_one: str) -> str | None:
    """The runtime that a wheel shows; None where it shows none, or no more of it than the usual one's major."""
    if carried.get("cuda") == "cpu":
        return "cpu"
    if wheel_runtime.without_gpu(carried):
        return "cpu" if usual_one else ""
    exact = wheel_runtime.minors(carried)
    if usual_one in exact:
        return usual_one
    if exact:
        return max(exact, key=lambda runtime: Version(re.sub(r"^[a-z]+", "", runtime)))
    major = wheel_runtime.major(carried)
    return major if major and usual_one.partition(".")[0] != major else None


def _listed(listed: list[str], release: dict[str, Any], first: Version) -> list[str]:
    """Pythons of a group; open ends only as far as the matrix knows Pythons."""
    known = set(pythons())
    exact = {python for python in listed if not python.endswith("+") and "." in python}
    spans = [python for python in listed if python not in exact]
    reached = {python for python in expand(spans, release["python"]) if python in known and Version(python) >= first}
    return sorted(exact | reached, key=python_key)


def _row(
    version: str, release: dict[str, Any], platform: str, floor: str, listed: list[str], requires: list[str]
) -> dict[str, Any]:
    carried = release.get("carried", {}).get(platform, {})
    cuda = carried.get("cuda", "")
    held = [line for raw in requires if (line := held_on(raw, platform))]
    row = {
        "versions": version,
        "runtime": "cuda" + ".".join(cuda.split(".")[:2]) if cuda not in {"", "cpu"} else cuda,
        "python": " ".join(listed),
        "platforms": platform,
        **(glibc(floor, carried) if platform.startswith("linux") else {}),
        "macos": floor if platform.startswith("macosx") else "",
        "kernels": carried.get("targets", "") or ("-" if platform == "any" else ""),
        "cuda_from": _cuda_from(held) if cuda not in {"", "cpu"} else "",
        "cudnn": _pin(held, "cudnn") or carried.get("cudnn", ""),
        "nccl": _pin(held, "nccl"),
        "requires": held,
        "yanked": bool(release.get("yanked")),
        "source": "wheel-metadata gpu-code" if carried.get("deep") else "wheel-metadata",
        "how": "measured",
    }
    return {key: value for key, value in row.items() if value or key in {"versions", "runtime", "source", "how"}}


def _cuda_from(held: list[str]) -> str:
    return "packages" if any(line.startswith(("nvidia-", "cuda-toolkit")) for line in held) else "system"


def _pin(held: list[str], library: str) -> str:
    pins = [re.match(rf"nvidia-{library}-cu\d+==([\d.]+)", line) for line in held]
    return next((pin[1] for pin in pins if pin), "")


def held_on(raw: str, platform: str) -> str:
    """A requirement as it holds on a platform, without the parts of its marker that this settles; empty if it does not.

    Requirements of extras, and those that can decide nothing (no upper bound, and no floor of a package with rows, nor
    a framework), are left out too.
    """
    requirement = Requirement(raw)
    name = canonicalize_name(requirement.name)
    deciding = any(item.operator in _DECIDING or name in matrix().packages for item in requirement.specifier)
    if not deciding and not _SHARED.fullmatch(name):
        return ""
    rest: bool | str = True
    if requirement.marker is not None:
        rest = _settle(requirement.marker._markers, platform)  # noqa: SLF001 - packaging shows no other way to its parts
        requirement.marker = None
    return "" if rest is False else spell(requirement) + ("" if rest is True else f"; {rest}")


def _settle(node: Any, platform: str) -> bool | str:
    """What is left of a marker once the platform is known: decided, or the text of the undecided rest."""
    if isinstance(node, tuple):
        text = " ".join(part.serialize() for part in node)
        if re.search(r"\bpython_(full_)?version\b", text):
            return text
        fixed = {"platform_release": "", "implementation_name": "cpython", "platform_python_implementation": "CPython"}
        places = [ENVIRONMENTS[platform]] if platform in ENVIRONMENTS else ENVIRONMENTS.values()  # "any" is all
        found = {Marker(text).evaluate({**place, **fixed, "extra": ""}) for place in places}
        return found.pop() if len(found) == 1 else text
    wholes: list[str] = []
    for parts in _alternatives(node):
        settled = [_settle(part, platform) for part in parts]
        if False in settled:
            continue
        open_ones = [f"({text})" if " or " in text else text for text in settled if isinstance(text, str)]
        if not open_ones:
            return True
        wholes.append(" and ".join(open_ones))
    return " or ".join(wholes) or False


def _alternatives(node: list[Any]) -> list[list[Any]]:
    """The parts between ``or``, each a list of what is joined by ``and``."""
    found: list[list[Any]] = [[]]
    for part in node:
        if part == "or":
            found.append([])
        elif part != "and":
            found[-1].append(part)
    return found


if __name__ == "__main__":
    sys.exit(main())
