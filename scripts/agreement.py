"""Ask doctor, lint and resolve the same questions, and print where their verdicts differ.

A question is about one joint: pins of one package or of two, and a machine that is sound in all else. The doctor judges
the machine that has exactly these installed, lint a requirements file of exactly these pins for that machine, resolve
exactly these pins for it. Each verdict is ``fits``, ``clashes`` (with the matrix rows that it cites) or ``unknown``; a
fault at another joint does not count. Questions are random and the same for the same seed.

    python scripts/agreement.py --count 20000 --jobs 2
    python scripts/agreement.py --joint packages --all        # every companion release x framework release

Exit code 1 where verdicts differ more often than ``--most`` (0).
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from compat import sources, versions
from compat.errors import InputError, InputErrors
from compat.facts import Fact, Host
from compat.facts import host as machine_of
from compat.lint import lint
from compat.matrix import matrix
from compat.names import normalise
from compat.resolve import resolve
from compat.rules import judge
from compat.targets import kernels_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding, Report, Unchecked
    from compat.matrix.rows import Build

MATRIX = matrix()


@dataclass(frozen=True)
class Joint:
    """A joint: what speaks of it. A fault of another code or another fact is no verdict about it.

    Attributes:
        facts: facts that are asked about; without them all else must fit, or the question is not put.
        main: codes of doctor and lint whose business it is: where one could not be checked, the verdict is unknown.
        also: further codes that are a verdict about it.
    """

    facts: frozenset[str]
    main: frozenset[str]
    also: frozenset[str] = frozenset()

    @property
    def codes(self) -> frozenset[str]:
        """Every code that is a verdict about it."""
        return self.main | self.also


def _joint(facts: str, main: str, also: str = "") -> Joint:
    return Joint(frozenset(facts.split()), frozenset(main.split()), frozenset(also.split()))


JOINTS: Final = {
    "packages": _joint(
        "",
        "framework-pair-mismatch framework-build-tag-mismatch",
        "numpy-abi-mismatch frameworks-conflict cuda-major-mixed-in-env abi-mismatch rocm-libs-mixed "
        "wrong-vendor-build",
    ),
    "libraries": _joint(
        "",
        "framework-pair-mismatch",
        "numpy-abi-mismatch frameworks-conflict cuda-major-mixed-in-env library-mismatch library-missing",
    ),
    "driver": _joint(
        "driver driver_cuda",
        "driver-too-old-for-runtime",
        "ptx-jit-too-new-for-driver driver-gpu-unsupported-by-branch",
    ),
    "amdgpu": _joint("amdgpu", "", "rocm-version-mismatch rocm-no-driver"),
    "kernels": _joint(
        "gpus",
        "arch-too-new-for-build arch-too-old-for-build rocm-gfx-unsupported",
        "extension-arch-missing arch-integrated-vs-discrete arch-specific-target wrong-vendor-build cudnn-drops-gpu "
        "triton-gpu-too-old platform-unsupported jetson-generic-wheel driver-gpu-unsupported-by-branch",
    ),
    "python": _joint("python", "python-unsupported", "python-tag-mismatch version-does-not-exist"),
    "glibc": _joint("glibc libc", "glibc-too-old musl-libc", "libstdcxx-too-old version-does-not-exist"),
    "platform": _joint(
        "platform arch glibc libc",
        "platform-unsupported",
        "macos-no-cuda version-does-not-exist accidental-cpu-wheel cpu-only-build wrong-vendor-build",
    ),
    "processor": _joint("cpu_flags cpu", "cpu-instructions-missing"),
}
"""Joint -> what speaks of it. The one place where codes are mapped to joints."""

# What a whole machine has looked for and does not have, so that no check is open for want of it.
_ABSENT: Final = ("l4t", "jetpack", "image", "image_env", "container", "rocm", "hip", "cann", "scheduler")

_TRIES: Final = 40  # draws for one question; a joint of which none is sound is passed over
SHARED: Final = ("numpy", "protobuf", "nvidia-cudnn-cu12", "nvidia-cudnn-cu11", "nvidia-nccl-cu12", "ml-dtypes")


@dataclass(frozen=True)
class Question:
    """Pins of builds (and of ``plain`` packages, name -> version) on a machine, about one joint."""

    joint: str
    builds: tuple[Build, ...]
    machine: tuple[tuple[str, Any], ...]
    plain: tuple[tuple[str, str], ...] = ()

    @property
    def pins(self) -> list[str]:
        """What is asked of resolve."""
        return [*map(_pin, self.builds), *(f"{name}=={version}" for name, version in self.plain)]

    def host(self, *without: str, **more: Any) -> Host:
        """The machine; each fact's source is its own name, by which resolve's members are told apart."""
        values = {name: value for name, value in self.machine if name not in without}
        made = machine_of("machine", **values, **more)
        return Host({name: Fact(one.value, name) for name, one in made.readings.items() if isinstance(one, Fact)})

    def __str__(self) -> str:
        told = {name: value for name, value in self.machine if name in {*JOINTS[self.joint].facts, "platform"}}
        return f"{' '.join(self.pins)} on {told} Python {dict(self.machine).get('python')}"


@dataclass(frozen=True)
class Verdict:
    """``fits``, ``clashes`` or ``unknown``, the citations of matrix rows it rests on, and its words."""

    word: str
    rows: frozenset[str] = frozenset()
    said: str = ""


@dataclass
class Tally:
    """Questions asked by joint, and the differences by joint and class with the first examples of each."""

    asked: Counter[str] = field(default_factory=Counter)
    classes: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, joint: str, kind: str, example: str) -> None:
        """Count one question; ``kind`` is empty where all agree."""
        self.asked[joint] += 1
        if kind:
            self.classes[joint, kind] += 1
            if len(self.examples[joint, kind]) < 3:
                self.examples[joint, kind].append(example)

    def merge(self, other: Tally) -> None:
        """Add another tally."""
        self.asked += other.asked
        self.classes += other.classes
        for key, found in other.examples.items():
            self.examples[key] = (self.examples[key] + found)[:3]

    @property
    def differing(self) -> Counter[str]:
        """Differences by joint."""
        found: Counter[str] = Counter()
        for (joint, _), number in self.classes.items():
            found[joint] += number
        return found


# --- the three judges ---


def doctor(question: Question) -> Verdict:
    """The doctor's word on a machine that has exactly these installed."""
    packages = dict(question.plain)
    stated = {}
    for build in question.builds:
        packages[build.install_name] = build.full_version
        packages |= dict(pin.split("==") for pin in build.pins if pin.count("==") == 1 and ";" not in pin)
        kernels = [target for target in build.kernels if target != "-"]
        if build.runtime:
            stated[build.package] = {"runtime": build.runtime, "kernels": kernels}
    report = judge(question.host(packages=packages, builds=stated), MATRIX)
    return _by_findings(question, report)


def linted(question: Question) -> Verdict:
    """Lint's word on a file of exactly these pins, for that machine."""
    indexes = {MATRIX.index_url(build): build.index for build in question.builds if build.index}
    links = {row.name for row in MATRIX.table("indexes") if row.links}
    lines = [f"{'--find-links' if name in links else '--extra-index-url'} {url}" for url, name in indexes.items()]
    for build in question.builds:
        extras = f"[{','.join(build.extras)}]" if build.extras else ""
        lines += [f"{build.install_name}{extras}=={build.full_version}", *build.pins]
    lines += [f"{name}=={version}" for name, version in question.plain]
    ask = sources.read("\n".join(lines) + "\n", "requirements.txt")
    arch = dict(question.machine).get("arch", "")
    return _by_findings(question, lint(replace(ask, arch=arch), MATRIX, on=question.host()))


def _by_findings(question: Question, report: Report) -> Verdict:
    """A verdict from findings: a sure error or warning clashes, what is merely possible or not checked is unknown."""
    codes = JOINTS[question.joint].codes
    found = [one for each in report.findings for one in (each, *each.consequences) if one.code in codes]
    faults = [one for one in found if one.severity != "info"]
    if faults:
        sure = [one for one in faults if one.confidence == "certain"] or faults
        word = "clashes" if any(one.confidence != "possible" for one in faults) else "unknown"
        return Verdict(word, _cited(sure), "; ".join(f"{one.code}: {one.detail}" for one in sure))
    main = JOINTS[question.joint].main
    unchecked = [one for one in report.unchecked if main & {*one.names} or _is_about(one, question)]
    if unchecked:
        return Verdict("unknown", said="; ".join(f"{one.what}: {one.why}" for one in unchecked)[:300])
    return Verdict("fits")


def _is_about(one: Unchecked, question: Question) -> bool:
    """Whether lint leaves a pin of the question open; which GPUs a build serves is the matter of kernels alone."""
    pins = zip(question.pins, question.builds, strict=False)
    named = any(one.what.startswith((pin, build.install_name)) for pin, build in pins)
    return named and (question.joint == "kernels" or "GPUs" not in one.why)


def _cited(findings: list[Finding]) -> frozenset[str]:
    known = frozenset(MATRIX.citations.values())
    return frozenset(part for one in findings for source in one.sources for part in source.split("; ") if part in known)


def resolved(question: Question, *without: str) -> Verdict:
    """Resolve's word on exactly these pins for that machine; ``without`` some facts, whether all else fits.

    A plan that asks for the cuda-compat package clashes with the driver as it stands.
    """
    known = frozenset(MATRIX.citations.values())
    answer = resolve(question.pins, question.host(*without), MATRIX)
    if answer.status == "conflict":
        members = [member for conflict in answer.conflicts for member in conflict.members if member.kind == "matrix"]
        cited = frozenset(part for member in members for part in member.source.split("; ") if part in known)
        told = [conflict.why + ": " + "; ".join(m.text for m in conflict.members if m.kind == "matrix")[:200]
                for conflict in answer.conflicts]  # fmt: skip
        return Verdict("clashes", cited, " | ".join(told[:2]))
    if answer.status == "unknown" and not (answer.plan and question.joint != "kernels"):  # GPU code is not its matter
        return Verdict("unknown", said="; ".join(answer.conditions))
    if answer.plan and answer.plan.driver.package:
        return Verdict("clashes", said=f"with {answer.plan.driver.package}")
    return Verdict("fits")


def _pin(build: Build) -> str:
    """The requirement that means this build."""
    extras = f"[{','.join(build.extras)}]" if build.extras else ""
    local = f"+{build.local}" if build.local else ""
    return f"{build.package}{extras}=={build.version}{local}"


# --- questions ---


@cache
def _builds(package: str) -> tuple[Build, ...]:
    """Builds that are told apart by their pin and their index: others' verdicts would be about another build."""
    rows = [row for row in MATRIX.builds(package) if not row.yanked and row.runtime != "cpu"]
    return tuple(
        row
        for row in rows
        if not any(
            other is not row and _pin(other) == _pin(row) and other.runtime != row.runtime
            for other in _released(package, row.version)
        )
    )


@cache
def _released(package: str, version: str) -> tuple[Build, ...]:
    return tuple(row for row in MATRIX.builds(package) if row.version == version)


@cache
def _tables() -> tuple[str, ...]:
    return tuple(sorted(name[7:] for name in MATRIX.names() if name.startswith("builds.")))


@cache
def _tied() -> tuple[tuple[str, str], ...]:
    """Packages of which the first's rows name the second."""
    found = set()
    for package in _tables():
        for row in MATRIX.builds(package):
            found |= {(package, name) for line in row.requires if (name := _name(line)) in _tables()}
    return tuple(sorted((one, other) for one, other in found if one != other))


def _name(line: str) -> str:
    from packaging.requirements import Requirement

    return normalise(Requirement(line).name)


@cache
def _gpus(vendor: str) -> tuple[tuple[str, str], ...]:
    """Product and target of a vendor's GPUs, one product per target."""
    rows = [row for row in MATRIX.table("gpus") if (row.vendor or _vendor(row.target)) == vendor]
    return tuple({row.target: (row.name, row.target) for row in rows if row.segment != "jetson"}.values())


def _vendor(target: str) -> str:
    """Vendor of the GPUs of a target."""
    return "nvidia" if target.startswith("sm_") else "amd" if target.startswith("gfx") else "intel"


@cache
def _drivers(platform: str) -> tuple[str, ...]:
    """Driver numbers that decide something: floors, first and last releases of branches, and just below each floor."""
    key = "windows" if platform == "windows" else "linux"
    floors = {getattr(row, f"{kind}_{key}") for row in MATRIX.table("cuda") for kind in ("driver", "family")} - {""}
    told = {row.windows if key == "windows" else row.latest for row in MATRIX.table("drivers")} - {""}
    below = {f"{int(one.partition('.')[0]) - 1}.10" for one in floors}
    return tuple(sorted(floors | told | below, key=versions.release))


def _newest_driver(target: str, platform: str) -> str:
    """The newest driver that serves a GPU."""
    row = MATRIX.capability(target) if target.startswith("sm_") else None
    last = row.last_driver if row else ""
    branches = [one for one in MATRIX.table("drivers") if not last or int(one.branch[1:]) <= int(last[1:])]
    numbers = [one.windows if platform == "windows" else one.latest for one in branches]
    return max(filter(None, numbers), key=versions.release)


def _sound(build: Build, dice: random.Random) -> dict[str, Any]:
    """A machine on which a build runs, as far as its row tells."""
    tag = dice.choice([one for one in build.platforms if one != "any"] or ["linux_x86_64"])
    if dice.random() < 0.7 and "linux_x86_64" in build.platforms:
        tag = "linux_x86_64"
    system, _, arch = tag.partition("_")
    platform = {"win": "windows", "macosx": "darwin"}.get(system, "linux")
    found: dict[str, Any] = {**dict.fromkeys(_ABSENT), "env": {}, "platform": platform}
    found["arch"] = {"amd64": "x86_64"}.get(arch, arch)
    found["python"] = dice.choice([one for one in build.python if not one.endswith("t")] or ["3.11"])
    if platform == "linux":
        found |= {"libc": "glibc", "glibc": "2.43"}
    vendor = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}.get(build.runtime.rstrip("0123456789."), "")
    cards = [one for one in _gpus(vendor or "nvidia") if _runs(build, one[1])] or [("NVIDIA A100-SXM4-80GB", "sm_80")]
    if platform != "darwin":
        found |= _with_gpu(dice.choice(cards), platform)
    return found


def _runs(build: Build, target: str) -> bool:
    """Whether a build has native code for a target, or carries none of its own."""
    carried = tuple(one for one in build.kernels if one != "-")
    return (
        kernels_for(target, carried, MATRIX.families) == "native" if carried else target in {"sm_80", "gfx90a", "pvc"}
    )


def _with_gpu(card: tuple[str, str], platform: str) -> dict[str, Any]:
    """A GPU and its newest driver, as facts."""
    name, target = card
    vendor = _vendor(target)
    bound = {"nvidia": "nvidia", "amd": "amdgpu", "intel": "xe"}.get(vendor, "")
    found: dict[str, Any] = {"gpus": ({"name": name, "vendor": vendor, "target": target, "driver": bound},)}
    found |= {"modules": (bound,) if bound else (), "driver": None, "amdgpu": "inbox" if vendor == "amd" else None}
    return found | (_with_driver(_newest_driver(target, platform), platform) if vendor == "nvidia" else {})


def _with_driver(number: str, platform: str) -> dict[str, Any]:
    """A driver and the CUDA that nvidia-smi prints for it."""
    key = "windows" if platform in {"windows", "wsl2"} else "latest"
    rows = [row for row in MATRIX.table("drivers") if getattr(row, key)]
    told = [row.cuda for row in rows if versions.release(getattr(row, key)) >= versions.release(number)]
    return {"driver": number, "driver_cuda": told[0] if told else max((row.cuda for row in rows), key=versions.release)}


def question(joint: str, dice: random.Random) -> Question | None:
    """A random question about a joint; ``None`` where the dice made none."""
    if joint in {"packages", "libraries"}:
        return _of_two(joint, dice)
    kind = {"amdgpu": "rocm", "driver": "cuda", "kernels": dice.choice(("cuda", "cuda", "rocm"))}.get(joint, "")
    rows = [row for row in _builds(dice.choice(_tables())) if row.runtime.startswith(kind)]
    rows = [row for row in rows if row.cpu] if joint == "processor" else rows
    if not rows:
        return None
    build = dice.choice(rows)
    machine = _sound(build, dice)
    changed = _CHANGES[joint](machine, dice)
    return Question(joint, (build,), tuple(sorted({**machine, **changed}.items()))) if changed else None


def _driver(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    if not machine.get("driver"):
        return {}
    platform = "wsl2" if machine["platform"] == "linux" and dice.random() < 0.1 else machine["platform"]
    number = dice.choice(_drivers("windows" if platform == "wsl2" else platform))
    return {"platform": platform, **_with_driver(number, platform)}


def _amdgpu(_: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    return {"amdgpu": dice.choice(sorted({one for row in MATRIX.table("rocm") for one in row.drivers}))}


def _card(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    if "gpus" not in machine:
        return {}
    own = machine["gpus"][0]["vendor"]
    vendor = own if dice.random() < 0.9 else dice.choice(("nvidia", "amd"))
    return _with_gpu(dice.choice(_gpus(vendor)), machine["platform"])


def _python(_: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    return {"python": dice.choice([row.python for row in MATRIX.table("pythons") if not row.python.endswith("t")])}


def _glibc(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    if machine["platform"] != "linux":
        return {}
    if dice.random() < 0.1:
        machine.pop("glibc")
        return {"libc": "musl"}
    return {"glibc": dice.choice(sorted({row.glibc for row in MATRIX.table("systems") if row.glibc}))}


def _platform(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    place = dice.choice((("linux", "x86_64"), ("linux", "aarch64"), ("windows", "x86_64"), ("darwin", "aarch64")))
    for name in ("libc", "glibc"):
        machine.pop(name, None)
    if place[0] == "darwin":
        apple = ({"name": "Apple M2", "vendor": "apple"},)
        return {
            "platform": "darwin",
            "arch": "arm64",
            "gpus": apple,
            "driver": None,
            "driver_cuda": None,
            "modules": (),
        }
    more = {"libc": "glibc", "glibc": "2.43"} if place[0] == "linux" else {}
    return {"platform": place[0], "arch": place[1], **more}


def _processor(_: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    flags = sorted({flag for package in _tables() for row in MATRIX.builds(package) for flag in row.cpu})
    return {"cpu": "a processor", "cpu_flags": tuple(flag for flag in flags if dice.random() < 0.7) or ("sse2",)}


_NO_DRIVER: Final = {"driver": None, "driver_cuda": None, "modules": ()}
_CHANGES: Final = {
    "driver": _driver,
    "amdgpu": _amdgpu,
    "kernels": _card,
    "python": _python,
    "glibc": _glibc,
    "platform": _platform,
    "processor": _processor,
}


def _of_two(joint: str, dice: random.Random) -> Question | None:
    """Two packages of which one's rows name the other, or a package and a dependency that is no build of a table."""
    if joint == "libraries":
        package = dice.choice(_tables())
        rows = [row for row in _builds(package) if any(_name(line) in SHARED for line in row.requires)]
        if not rows:
            return None
        build = dice.choice(rows)
        line = dice.choice([line for line in build.requires if _name(line) in SHARED])
        return _with_plain(build, line, dice)
    one, other = dice.choice(_tied())
    rows, others = _builds(one), _builds(other)
    return _pair(dice.choice(rows), dice.choice(others), dice) if rows and others else None


def _pair(build: Build, beside: Build, dice: random.Random) -> Question | None:
    """Two builds on a machine on which each of them alone can be installed; ``None`` where there is none."""
    pythons = [one for one in build.python if one in beside.python and not one.endswith("t")]
    if "linux_x86_64" not in build.platforms and "any" not in build.platforms:
        return None
    if "linux_x86_64" not in beside.platforms and "any" not in beside.platforms:
        return None
    if not pythons and build.python and beside.python:
        return None
    machine = _sound(beside, dice)
    machine |= {"platform": "linux", "arch": "x86_64", "libc": "glibc", "glibc": "2.43"}
    machine["python"] = dice.choice(pythons or [*build.python, *beside.python] or ["3.11"])
    return Question("packages", (build, beside), tuple(sorted(machine.items())))


def _with_plain(build: Build, line: str, dice: random.Random) -> Question | None:
    """A build and a version of what it requires: one that its specifier names, or one beside it."""
    from packaging.requirements import Requirement

    wanted = Requirement(line)
    named = sorted(one.version for one in wanted.specifier if "*" not in one.version)
    if not named:
        return None
    version = dice.choice(named)
    first, _, rest = version.partition(".")
    near = dice.choice((version, f"{int(first) + 1}.0.0", f"{max(int(first) - 1, 0)}.{rest or 0}"))
    return Question(
        "libraries", (build,), tuple(sorted(_sound(build, dice).items())), ((normalise(wanted.name), near),)
    )


def every_pair(dice: random.Random) -> Iterator[Question]:
    """Every companion release x framework release whose rows name each other: one build of each release."""
    for one, other in _tied():
        rows = {row.version: row for row in _builds(one)}
        for beside in {row.version: row for row in _builds(other)}.values():
            yield from filter(None, (_pair(row, beside, dice) for row in rows.values()))


# --- asking ---


def ask(one: Question, tally: Tally) -> bool:
    """Put a question to all three, and count where they differ; ``False`` for one that is unsound in all else."""
    try:
        fair = _fair(one)
        if fair is None:
            return False
        one = fair
        answers = {"doctor": doctor(one), "resolve": resolved(one), "lint": linted(one)}
    except (InputError, InputErrors):
        return False  # asks for what one of them refuses to read
    words = " ".join(f"{name} {verdict.word}" for name, verdict in answers.items())
    kind = words if len({verdict.word for verdict in answers.values()}) > 1 else _cited_apart(answers)
    said = "".join(f"\n        {name}: {verdict.said[:220]}" for name, verdict in answers.items() if verdict.said)
    tally.add(one.joint, kind, f"{one}{said}")
    return True


def _fair(one: Question) -> Question | None:
    """The question, if all but the joint asked about fits: the machine without its facts, or each pin by itself.

    A framework that a package needs and that is not asked about joins the pins: nobody has the one without the other.
    """
    facts = JOINTS[one.joint].facts
    if facts and resolved(one, *facts).word != "fits":
        return None
    builds = list(one.builds)
    for build in one.builds:
        plan = resolve([_pin(build)], one.host(*facts), MATRIX).plan
        if plan is None:
            return None
        missing = [brought for brought in plan.builds if brought.name not in {each.package for each in builds}]
        for brought in missing:
            rows = [row for row in _builds(brought.name) if row.full_version == brought.version]
            if not any(row.runtime == brought.runtime for row in rows):
                return None
            builds.append(next(row for row in rows if row.runtime == brought.runtime))
    return replace(one, builds=tuple(builds))


def _cited_apart(answers: dict[str, Verdict]) -> str:
    """Names those that cite no row in common with the others where all clash; empty if all do."""
    rows = {name: verdict.rows for name, verdict in answers.items() if verdict.word == "clashes"}
    missing = [name for name, found in rows.items() if not found]
    if missing:
        return f"all clash, no row cited by {' and '.join(missing)}"
    return "" if not rows or frozenset.intersection(*rows.values()) else "all clash, by other rows"


def run(seed: int, count: int, joints: tuple[str, ...]) -> Tally:
    """Ask ``count`` random questions, the joints in turn."""
    dice, tally = random.Random(seed), Tally()
    for number in range(count):
        joint = joints[number % len(joints)]
        drawn = (question(joint, dice) for _ in range(_TRIES))
        any(found is not None and ask(found, tally) for found in drawn)
    return tally


def _share(questions: list[Question]) -> Tally:
    tally = Tally()
    for one in questions:
        ask(one, tally)
    return tally


def told(tally: Tally, *, examples: int = 3) -> str:
    """The tally as text: joints, then the classes of difference, the most frequent first."""
    lines = []
    for joint, asked in sorted(tally.asked.items()):
        lines.append(f"{joint}: {tally.differing[joint]} differ of {asked}")
        for (place, kind), number in tally.classes.most_common():
            if place == joint:
                lines.append(f"  {number} x {kind}")
                lines += [f"      {example}" for example in tally.examples[place, kind][:examples]]
    lines.append(f"{sum(tally.differing.values())} of {sum(tally.asked.values())} questions answered differently")
    return "\n".join(lines)


def main() -> int:
    """Ask, print the differences."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=2000, help="how many questions are drawn")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--joint", action="append", choices=tuple(JOINTS), help="only this joint; repeatable")
    options.add_argument("--all", action="store_true", help="every pair of releases instead of random questions")
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--most", type=int, default=0, help="differences that are let pass")
    options.add_argument("--examples", type=int, default=3, help="examples of each class")
    given = options.parse_args()
    joints = tuple(given.joint or JOINTS)
    tally = Tally()
    with ProcessPoolExecutor(given.jobs) as pool:
        if given.all:
            questions = list(every_pair(random.Random(given.seed)))
            random.Random(given.seed).shuffle(questions)
            shares = [questions[start : start + 200] for start in range(0, len(questions), 200)]
            parts = pool.map(_share, shares)
        else:
            sizes = [200] * (given.count // 200) + [given.count % 200]
            parts = pool.map(partial(run, joints=joints), range(given.seed, given.seed + len(sizes)), sizes)
        for part in parts:
            tally.merge(part)
    print(told(tally, examples=given.examples))
    return int(sum(tally.differing.values()) > given.most)


if __name__ == "__main__":
    sys.exit(main())
