#!/usr/bin/env python3
"""Measures which shared libraries the wheels of planned images need from elsewhere, by their ELF headers.

Each plan's Dockerfile says what is installed; uv says which wheels that comes to; of each wheel the dynamic sections of
its objects are read through ranges. The record tells of each plan its wheels, and of each wheel the libraries that it
lacks, with the objects that name them, and those that it has of the ones that others lack. tests/images/test_needed.py
holds it against what the image installs. A plan whose index is not reached is recorded with the reason. A wheel that
the record has is not read again, for a published file does not change; one without libraries is told by its directory.

    python scripts/image_libraries.py              # measure what is recorded, as it is planned today
    python scripts/image_libraries.py vllm@sm_90   # one more, or again: framework@target, or framework@cpu
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from packaging.tags import Tag, compatible_tags, cpython_tags  # noqa: E402 - found through the line above
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename  # noqa: E402
from polite import Client  # noqa: E402
from simple_index import Index, configured_index, write_whole  # noqa: E402
from wheel_facts import is_wheel  # noqa: E402

from compat.dockerfile.steps import constraints, installs  # noqa: E402
from compat.kernels import elf, linkage, packed  # noqa: E402
from compat.kernels.values import Code  # noqa: E402
from compat.kernels.window import CutShortError, Stream, Window  # noqa: E402
from compat.matrix import matrix  # noqa: E402
from compat.resolve import resolve  # noqa: E402
from compat.resolve.target import from_options  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index_pages import File

    from compat.plan import Plan

TABLE = ROOT / "tests" / "images" / "needed.json"
SCHEMA = "envcheck.needed/1"
_GLIBC = 39
"""Minor of the newest glibc 2 that uv knows by name; no base of a default plan has an older one."""
_CORE = re.compile(r"(?:ld-linux[\w-]*|lib(?:c|m|mvec|dl|rt|pthread|util|resolv|gcc_s|stdc\+\+))\.so[.\d]*")
"""The C library, and the compiler's two libraries that each base has beside it."""


def main(argv: list[str] | None = None) -> int:
    """Measure the plans and write the record; 1 if one could not be planned any more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("asked", nargs="*", metavar="FRAMEWORK@TARGET")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "envcheck-refresh")
    parser.add_argument("--jobs", type=int, default=8)
    options = parser.parse_args(argv)
    index = Index(configured_index(), options.cache, Client())
    before = json.loads(TABLE.read_text()) if TABLE.is_file() else {"plans": {}, "wheels": {}}
    plans, faults = dict(before["plans"]), 0
    made = {asked: planned(*asked.split("@")) for asked in options.asked or list(plans)}
    with ThreadPoolExecutor(options.jobs) as pool:
        for asked, told in zip(made, pool.map(lambda plan: plan and _listed(plan), made.values()), strict=True):
            if told:
                plans[asked] = told
            else:
                print(f"{asked}: no plan", file=sys.stderr)
                faults += 1
        plans = dict(sorted(plans.items()))  # which names the Python of a wheel that several have
        pins = sorted({pin for told in plans.values() for pin in told.get("wheels", ())})
        wheels = dict(zip(pins, pool.map(lambda pin: _links(index, pin, plans, before["wheels"]), pins), strict=True))
    lacked = {name for links in wheels.values() for name in links["needs"]}
    for links in wheels.values():
        links["has"] = sorted(lacked.intersection(links["has"]))
    body = {"schema": SCHEMA, "plans": plans, "wheels": wheels}
    write_whole(TABLE, (json.dumps(body, indent=1) + "\n").encode())
    print(f"{len(plans)} plans, {len(wheels)} wheels")
    return 1 if faults else 0


def planned(wish: str, target: str) -> Plan | None:
    """The plan of an image for a framework on a GPU, or on none (``cpu``)."""
    known = matrix()
    host = from_options(known, gpus=[] if target == "cpu" else [target])
    answer = resolve([wish], host, known, cpu=target == "cpu")
    return answer.plan if answer.plan and answer.plan.base_image else None


def _listed(plan: Plan) -> dict[str, Any]:
    """What is recorded of a plan: the releases that it holds, and its wheels or why they are not known."""
    found: dict[str, Any] = {
        "builds": [build.requirement for build in plan.builds],
        "base": plan.base_image.image if plan.base_image else "",
        "python": plan.python,
    }
    if made := [build.requirement for build in plan.builds if build.compile]:
        return found | {"unread": f"{' '.join(made)} is compiled from source"}
    calls = installs(plan)
    if elsewhere := sorted({call.index for call in calls if call.index}):
        return found | {"unread": f"{' '.join(elsewhere)} was not read"}
    lines = [line for call in calls for line in (*call.requirements, *call.loose)]
    words = ["uv", "pip", "compile", "-q", "--no-header", "--no-annotate", "--python-version", plan.python]
    words += ["--python-platform", f"x86_64-manylinux_2_{_GLIBC}", "--only-binary", ":all:", "-"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as held:
        held.write("\n".join(constraints(plan)))
        held.flush()
        words += ["--constraint", held.name]
        told = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True, check=False)
    if told.returncode:
        return found | {"unread": " ".join(told.stderr.split())[:300]}
    return found | {"wheels": [line for line in told.stdout.splitlines() if "==" in line]}


def _links(index: Index, pin: str, plans: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What a wheel needs from elsewhere, and all libraries that it has; read once for each file."""
    python = next(told["python"] for told in plans.values() if pin in told.get("wheels", ()))
    name, _, version = pin.partition("==")
    file = _wheel(index, name, version, python)
    if file is None:
        return dict(before.get(pin, {"needs": {}, "has": [], "unread": "no wheel fits"}))
    members = {name.rpartition("/")[2] for name in index.names(file)}
    own = {name for name in members if ".so" in name}
    if not own:
        return {"file": file.name, "needs": {}, "has": []}
    found: dict[str, Any] = before.get(pin, {})
    if found.get("file") != file.name:
        found = json.loads(index.derived(file, "linkage.json", lambda: _read(index, file)))
        print(f"{pin}: read", file=sys.stderr, flush=True)
    left = {name: paths for name, paths in found["needs"].items() if name not in own and not _CORE.fullmatch(name)}
    return {"file": file.name, "needs": left, "has": sorted(own.union(found["has"]))}


def _wheel(index: Index, name: str, version: str, python: str) -> File | None:
    """The wheel that an installer takes on x86_64 for a Python."""
    series = tuple(map(int, python.split(".")))
    systems = [f"manylinux_2_{minor}_x86_64" for minor in range(_GLIBC, 4, -1)]
    systems += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64", "linux_x86_64"]
    order: list[Tag] = [*cpython_tags(series, platforms=systems), *compatible_tags(series, "cp" + python, systems)]
    ranks = {tag: rank for rank, tag in enumerate(order)}
    fitting: list[tuple[int, File]] = []
    for file in filter(is_wheel, index.files(canonicalize_name(name))):
        try:
            _, release, _, tags = parse_wheel_filename(file.name)
        except InvalidWheelFilename:  # an old release, which no installer takes any more
            continue
        if str(release) == version and (found := [ranks[tag] for tag in tags if tag in ranks]):
            fitting.append((min(found), file))
    return min(fitting, key=lambda one: one[0])[1] if fitting else None


def _read(index: Index, file: File) -> bytes:
    """The record of one wheel as JSON."""
    has, lacks = set(), dict[str, set[str]]()

    def read(window: Window, path: str) -> Iterator[Code]:
        has.add(path.rpartition("/")[2])
        try:
            opened = elf.read(window)
            names = [text for tag, text in elf.dynamic(opened) if tag == elf.DT_SONAME]
        except CutShortError:
            return
        has.update(names)
        if opened.machine == elf.EM_X86_64:
            yield Code(path=path, linkage=linkage.read(opened))

    for code in packed.members(Window(Stream(index.open(file))), file.name, "zip", read):
        for name in code.linkage.needed:
            lacks.setdefault(name, set()).add(code.path)
    needs = {name: sorted(paths) for name, paths in sorted(lacks.items()) if name not in has}
    return json.dumps({"needs": needs, "has": sorted(name for name in has if ".so" in name)}).encode()


if __name__ == "__main__":
    sys.exit(main())
