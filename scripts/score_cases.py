#!/usr/bin/env python3
"""Score the doctor on failures that were reported in public.

Each case is a TOML file: what was known of the machine ([host], [packages], [build], [commands]), the error text, and
the cause that was found ([expect]: code, also). The doctor judges it in this process. Printed are precision and recall
per code, confusions, each miss with what was said, controls on which an error was raised, and as the last line

    first 0.953 any 0.980 false_alarms 0/22

first: share of failing cases whose first finding is the expected code or one in ``also``; any: share where any finding
is (consequences included); false_alarms: controls (code ``none``) on which an error was raised.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compat.app.doctor import judged as judge
from compat.facts import Build, Fact, Gpu, Host, plain
from compat.matrix import Matrix, matrix
from compat.reading.message_facts import runtime_of
from compat.targets import is_target, sm

if TYPE_CHECKING:
    from compat.findings import Finding, Report

HEALTHY = "none"
SYSTEMS = (
    (r"ubuntu\D{0,3}(\d\d\.\d\d)", "ubuntu{}"),
    (r"debian\D{0,14}(\d+)", "debian{}"),
    (r"(?:centos|red hat|rhel)\D{0,30}(\d+(?:\.\d+)?)", "rhel{}"),
    (r"(?:rocky|alma)\D{0,10}(\d+(?:\.\d+)?)", "rhel{}"),
    (r"fedora\D{0,10}(\d+)", "fedora{}"),
    (r"mac\s?os\D{0,5}(\d+(?:\.\d+){0,2})", "macos{}"),
    (r"windows\D{0,10}(\d+)", "windows{}"),
    (r"arch", "arch"),
)
NOT_CUDA = {"cudanone", "cudacould not collect"}  # collect_env prints these where torch.version.cuda is None
PLAIN = {"kernel", "arch", "glibc", "gcc", "python", "driver", "driver_cuda", "cuda_toolkit", "cudnn", "rocm", "image"}


@dataclass
class Tally:
    """What came out over all cases."""

    first: int = 0
    any: int = 0
    failing: int = 0
    sure_first: int = 0
    sure: int = 0
    controls: int = 0
    alarms: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    wanted: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)


def host_of(case: dict[str, Any]) -> Host:
    """The facts of a case, under the catalogue's names."""
    given = case.get("host", {})
    values: dict[str, Any] = {name: str(given[name]) for name in PLAIN if given.get(name)}
    if given.get("os"):
        values |= system_of(str(given["os"]))
    if gpus := gpus_of(given):
        values["gpus"] = gpus
    if given.get("env"):
        values["env"] = {name: str(value) for name, value in given["env"].items()}
    for name, key in (("docker", "engine"), ("nvidia_container_toolkit", "container_toolkit")):
        if given.get(name):
            values[key] = f"docker {given[name]}" if name == "docker" else str(given[name])
    if given.get("memory_mib"):
        values["memory_mib"] = int(given["memory_mib"])
    if case.get("kind") == "container":
        values["container"] = "docker"
    if case.get("packages"):
        values["packages"] = {name.lower(): str(version) for name, version in case["packages"].items()}
    if builds := builds_of(case):
        values["builds"] = builds
    return Host({name: Fact(value, "report") for name, value in values.items()})


def system_of(text: str) -> dict[str, str]:
    """``os`` and ``platform`` from the system's own name."""
    low = text.lower()
    found = next(
        (shape.format(*match.groups()) for pattern, shape in SYSTEMS if (match := re.search(pattern, low))), ""
    )
    marks = (("wsl", "wsl2"), ("windows", "windows"), ("mac", "darwin"), ("darwin", "darwin"))
    platform = next((name for mark, name in marks if mark in low), "linux")
    return {"os_name": text, "platform": platform} | ({"os": found} if found else {})


def gpus_of(given: dict[str, Any]) -> tuple[Gpu, ...]:
    """GPUs by name, capability and gfx target, matched by position as far as the lists go together."""
    names, targets = given.get("gpus", []), [*given.get("compute_capabilities", []), *given.get("gfx", [])]
    spelled = [str(device) if (device := sm(text)) else text for text in targets]
    if len(spelled) == 1 and len(set(names)) <= 1:
        spelled *= max(len(names), 1)
    length = max(len(names), len(spelled))
    pairs = zip([*names, *[""] * (length - len(names))], [*spelled, *[""] * (length - len(spelled))], strict=True)
    return tuple(
        Gpu(name=name, target=target if is_target(target) else "", vendor=vendor_of(name, target))
        for name, target in pairs
    )


def vendor_of(name: str, target: str) -> str:
    """The vendor that a GPU's name or target betrays; empty if neither does."""
    marks = (
        ("amd", r"amd|radeon|instinct|^gfx"),
        ("nvidia", r"nvidia|geforce|tesla|quadro|^sm_"),
        ("intel", r"intel|arc"),
    )
    return next((vendor for vendor, mark in marks if re.search(mark, f"{name}\n{target}".lower(), re.MULTILINE)), "")


def builds_of(case: dict[str, Any]) -> dict[str, Build]:
    """What the case says of builds: CUDA or HIP of torch, its kernel list, and the same of others."""
    given, builds = case.get("build", {}), {}
    for name in ("torch", "tensorflow", "jax", "torchaudio", "torchvision", "paddle"):
        runtime = f"cuda{given[f'{name}_cuda']}" if given.get(f"{name}_cuda") else ""
        runtime = "cpu" if runtime.lower() in NOT_CUDA else runtime
        runtime = f"rocm{given[f'{name}_hip']}" if given.get(f"{name}_hip") else runtime
        if runtime:
            builds["paddlepaddle-gpu" if name == "paddle" else name] = {"runtime": runtime}
    if given.get("arch_list"):
        builds.setdefault("torch", {"runtime": runtime_of(_tag(case))})["kernels"] = tuple(given["arch_list"])
    return {name: Build(**values) for name, values in builds.items()}


def _tag(case: dict[str, Any]) -> str:
    return str(case.get("packages", {}).get("torch", "")).partition("+")[2]


def codes(report: Report) -> list[str]:
    """Codes of a report in its order, consequences after their cause."""

    def of(finding: Finding) -> list[str]:
        return [finding.code, *(code for item in finding.consequences for code in of(item))]

    return [code for finding in report.findings for code in of(finding)]


def score(case: dict[str, Any], facts: Matrix, tally: Tally, *, explain: bool) -> None:
    """Judge one case and count it."""
    expect = case["expect"]
    report = judge(host_of(case), facts, error=case.get("error", ""), commands=tuple(case.get("commands", {}).values()))
    found = codes(report)
    accepted = {expect["code"], *expect.get("also", [])}
    if expect["code"] == HEALTHY:
        tally.controls += 1
        wrong = [item for item in report.findings if item.severity == "error"]
        if wrong:
            tally.alarms.append(f"{case['id']}: {', '.join(item.code for item in wrong)}: {wrong[0].detail}")
        return
    tally.failing += 1
    first = found[0] if found else "(nothing)"
    good = first in accepted
    tally.first += good
    tally.any += bool(accepted & set(found))
    sure = expect.get("confirmed_by") in {"maintainer", "reporter"}
    tally.sure += sure
    tally.sure_first += sure and good
    tally.wanted[expect["code"]] += 1
    tally.hit[expect["code"]] += good
    tally.said[first] += 1
    tally.right[first] += good
    if not good:
        tally.confusion[expect["code"], first] += 1
        tally.misses.append(
            miss(case, report, found) if explain else f"{case['id']}: expected {expect['code']}, said {first}"
        )


def miss(case: dict[str, Any], report: Report, found: list[str]) -> str:
    """A miss with what was said and what was known."""
    lines = [f"{case['id']}: expected {case['expect']['code']}, said {', '.join(found) or '(nothing)'}"]
    lines += [f"    said: {finding.detail[:200]}" for finding in report.findings[:2]]
    lines += [f"    cause: {case['expect'].get('cause', '')}", f"    error: {case.get('error', '').strip()[:300]!r}"]
    host = host_of(case)
    return "\n".join([*lines, f"    facts: { {name: plain(host.value(name)) for name in host} }"])


def half_of(name: str, seed: int) -> str:
    """``A`` or ``B`` by a hash of the file's name, so that the halves stay what they are when files are added."""
    digest = hashlib.sha256((f"{seed}:" if seed else "").encode() + name.encode()).digest()
    return "AB"[digest[0] % 2]


def report_tally(tally: Tally, *, quiet: bool) -> None:
    """Print everything; the last line is for programs."""
    print(f"{'code':34} recall            precision")
    for code in sorted({*tally.wanted, *tally.said}):
        recall = f"{tally.hit[code]}/{tally.wanted[code]}" if tally.wanted[code] else "-"
        precision = f"{tally.right[code]}/{tally.said[code]}" if tally.said[code] else "-"
        print(f"{code:34} {recall:17} {precision}")
    if not quiet:
        print("\nconfusions (expected -> said)")
        for (expected, said), count in tally.confusion.most_common():
            print(f"  {count} {expected} -> {said}")
        print("\nmisses")
        print("\n".join(f"  {text}" for text in tally.misses))
    print("\ncontrols with an error raised")
    print("\n".join(f"  {text}" for text in tally.alarms))
    if tally.sure:
        print(f"\nconfirmed by maintainer or reporter: first {tally.sure_first / tally.sure:.3f} of {tally.sure}")
    share = max(tally.failing, 1)
    print(
        f"first {tally.first / share:.3f} any {tally.any / share:.3f} false_alarms {len(tally.alarms)}/{tally.controls}"
    )


def main() -> int:
    """Score a folder of cases."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--half", choices=("A", "B"), help="only the half of the cases whose hashed name falls there")
    options.add_argument("--seed", type=int, default=0, help="another split into halves")
    options.add_argument("--quiet", action="store_true", help="no misses and confusions: scores only")
    options.add_argument("--explain", action="store_true", help="with each miss what was known and said")
    given = options.parse_args()
    facts, tally = matrix(), Tally()
    for path in sorted(given.folder.glob("*.toml")):
        if given.half and half_of(path.name, given.seed) != given.half:
            continue
        score(tomllib.loads(path.read_text("utf-8")), facts, tally, explain=given.explain)
    if not tally.failing + tally.controls:
        print(f"no case in {given.folder}", file=sys.stderr)
        return 2
    report_tally(tally, quiet=given.quiet)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
