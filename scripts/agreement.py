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
from functools import partial
from itertools import combinations, product
from operator import ne
from typing import TYPE_CHECKING, Final

from packaging.specifiers import SpecifierSet

from compat import sources, versions
from compat.errors import InputError, InputErrors
from compat.joints import kernels
from compat.joints.base import starts
from compat.joints.build import fixes_minor, part, split_runtime
from compat.joints.packages import apart, disputes
from compat.joints.platform import is_at
from compat.joints.verdict import Clash
from compat.lint import lint
from compat.markers import Environment
from compat.matrix.products import find_gpu
from compat.resolve import resolve
from compat.rules import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding, Report, Unchecked
    from compat.matrix.rows import Build, Image
    from compat.plan import Answer, PlannedBuild


from agreement_questions import JOINTS, MATRIX, Question, every_pair, pin_of, question, told_apart

_TRIES: Final = 40  # draws for one question; a joint of which none is sound is passed over


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
        self.reasons += other.reasons
        for key, found in other.examples.items():
            self.examples[key] = (self.examples[key] + found)[:3]

    reasons: Counter[str] = field(default_factory=Counter)

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
    if question.image:
        return _by_findings(question, judge(question.host(**_started(question.image)), MATRIX))
    packages = dict(question.plain)
    stated = {}
    for build in question.builds:
        packages[build.install_name] = build.full_version
        packages |= dict(pin.split("==") for pin in build.pins if pin.count("==") == 1 and ";" not in pin)
        kernels = [target for target in build.kernels if target != "-"]
        if build.runtime:
            stated[build.package] = {"runtime": build.runtime, "kernels": kernels}
    packages = _disputed(question) | packages
    report = judge(question.host(packages=packages, builds=stated), MATRIX)
    return _by_findings(question, report)


def _started(image: str) -> dict[str, object]:
    """The facts of an image that is to be started, as the doctor reads them of it."""
    return {"image": image, "image_env": {"NVIDIA_REQUIRE_CUDA": _row_of(image).require}}


def _row_of(image: str) -> Image:
    """The row of a base image."""
    rows = MATRIX.select("images", repository=image.partition(":")[0])
    return next(row for row in rows if image in row.references())


def _disputed(question: Question) -> dict[str, str]:
    """Third packages that two builds require in other versions: a machine has them in one, that of the first."""
    found = {}
    parts = [part(MATRIX, build, build.package) for build in question.builds]
    world = Environment(question.place, dict(question.machine).get("python", ""))
    for left, right in combinations(parts, 2):
        for one in (each.objection for each in disputes(MATRIX, left, right, world) if each.objection.kind == "shared"):
            pins = SpecifierSet(one.left)
            found[one.name] = next((pin.version for pin in pins if pin.version in pins), "")
    return found


def linted(question: Question) -> Verdict:
    """Lint's word on a file of exactly these pins, for that machine.

    It is one that lists all that is installed, as a lock does: what an installer would add is another question.
    """
    if question.image:
        started = sources.read(f"FROM {question.image}\n", "Dockerfile")
        return _by_findings(question, lint(started, MATRIX, on=question.host()))
    python = dict(question.machine).get("python", "")
    files = [
        MATRIX.address(one, python if python in one.python else one.python[-1] if one.python else "")
        for one in question.builds
    ]
    pages = [build for build, file in zip(question.builds, files, strict=True) if build.index and not file]
    indexes = {MATRIX.index_url(build): MATRIX.is_page(build) for build in pages}
    lines = [f"{'--find-links' if links else '--extra-index-url'} {url}" for url, links in indexes.items()]
    for build, file in zip(question.builds, files, strict=True):
        extras = f"[{','.join(build.extras)}]" if build.extras else ""
        asked = f" @ {file}" if file else f"=={build.full_version}"
        lines += [f"{build.install_name}{extras}{asked}", *build.pins]
    lines += [f"{name}=={version}" for name, version in question.plain]
    ask = sources.read("\n".join(lines) + "\n", "requirements.txt")
    arch = dict(question.machine).get("arch", "")
    return _by_findings(question, lint(replace(ask, arch=arch, kind="lock"), MATRIX, on=question.host()))


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
    unchecked = [one for one in report.unchecked if main & {*one.names} or one.what in main or _is_about(one, question)]
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
    if question.image:
        broken = dict(_weighed(answer))[question.image].startswith("breaks")
        return (
            Verdict("clashes", frozenset(MATRIX.cite(_row_of(question.image)).split("; ")))
            if broken
            else Verdict("fits")
        )
    if answer.status == "conflict":
        members = [member for conflict in answer.conflicts for member in conflict.members if member.kind == "matrix"]
        cited = frozenset(part for member in members for part in member.source.split("; ") if part in known)
        told = [conflict.why + ": " + "; ".join(m.text for m in conflict.members if m.kind == "matrix")[:200]
                for conflict in answer.conflicts]  # fmt: skip
        return Verdict("clashes", cited, " | ".join(told[:2]))
    if answer.status == "unknown" and not (answer.plan and question.joint != "kernels"):  # GPU code is not its matter
        return Verdict("unknown", said="; ".join(answer.conditions))
    if answer.plan and answer.plan.driver.package:
        cited = frozenset(one for one in known if one in answer.plan.driver.source)
        return Verdict("clashes", cited, f"with {answer.plan.driver.package}")
    return Verdict("fits")


def _weighed(answer: Answer) -> Iterator[tuple[str, str]]:
    """NVIDIA's images that resolve weighed for a plan, each with what speaks against it."""
    for choice in answer.plan.choices if answer.plan else ():
        if choice.subject == "base image":
            found = [(choice.chosen, ""), *(each.split(": ", 1) for each in choice.rejected)]
            yield from ((name, why) for name, why in found if name.startswith("nvidia/cuda:") and _row_of(name).require)


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
    if len({verdict.word for verdict in answers.values()}) > 1 and (reason := _another_question(one, answers)):
        tally.reasons[reason] += 1
        answers = {}
    words = " ".join(f"{name} {verdict.word}" for name, verdict in answers.items())
    kind = words if len({verdict.word for verdict in answers.values()}) > 1 else _cited_apart(answers)
    said = "".join(f"\n        {name}: {verdict.said[:220]}" for name, verdict in answers.items() if verdict.said)
    tally.add(one.joint, kind, f"{one}{said}")
    return True


EXTRAS = "which extras were asked for is not recorded on a machine: with others, resolve says what the doctor says"

IMAGES = "no base image holds what all builds and the Python need: resolve plans an image, the others' machine is none"

COPIES = "a build takes its CUDA from the system: an image, which resolve plans, holds one release, a machine several"


def _another_question(one: Question, answers: dict[str, Verdict]) -> str:
    """Why the three were not asked the same, where that explains all of the difference; else empty."""
    doctor, resolve, lint = (answers[name].word for name in ("doctor", "resolve", "lint"))
    if doctor == lint == "fits" and resolve == "clashes" and _blames_images(one):
        return IMAGES
    if lint == "fits" and resolve == "clashes" and _share_a_copy(one):
        by_extras = any(resolved(other).word == doctor for other in _other_extras(one))
        return COPIES if doctor == "fits" or by_extras else ""
    for other in _other_extras(one) if resolve == lint else ():
        if resolved(other).word == doctor or (doctor == "fits" and _blames_images(other)):
            return EXTRAS
    return ""


def _share_a_copy(one: Question) -> bool:
    """Whether nothing stands between two builds but a minor of CUDA, which one of them takes from the system."""
    if not any(build.cuda_from == "system" for build in one.builds):
        return False
    parts = [part(MATRIX, build, build.package) for build in one.builds]
    world = Environment(one.place, dict(one.machine).get("python", ""))
    found = [each for two in combinations(parts, 2) for each in disputes(MATRIX, *two, world)]
    near = (each.objection.kind == "runtime" and not apart(each.left.runtime, each.right.runtime) for each in found)
    return bool(found) and all(near)


def _blames_images(one: Question) -> bool:
    """Whether every conflict that resolve finds rests on rows of base images."""
    cited = {part for row in MATRIX.table("images") for part in MATRIX.cite(row).split("; ")}
    conflicts = resolve(one.pins, one.host(), MATRIX).conflicts
    sources = [{part for each in conflict.members for part in each.source.split("; ")} for conflict in conflicts]
    return bool(sources) and not any(map(cited.isdisjoint, sources))


def _other_extras(one: Question) -> Iterator[Question]:
    """The question with other extras of its releases, of one before of several."""
    choices = [_by_extras(build) for build in one.builds]
    changed = [tuple(builds) for builds in product(*choices) if list(builds) != [first for first, *_ in choices]]
    for builds in sorted(changed, key=lambda builds: sum(map(ne, builds, one.builds))):
        yield replace(one, builds=builds)


def _by_extras(build: Build) -> list[Build]:
    """A build, then one for each other choice of extras of its release."""
    same = [each for each in MATRIX.builds(build.package) if each.full_version == build.full_version]
    return list({build.extras: build, **{each.extras: each for each in same if each.extras != build.extras}}.values())


def _is_about_gpus(one: Question) -> bool:
    """Whether a build of the question has, for the place that is asked about, no code for the GPU: another joint."""
    cards = [gpu for gpu in dict(one.machine).get("gpus") or () if gpu.get("target")]
    for build in one.builds if one.joint != "kernels" else ():
        rows = [row for row in MATRIX.builds(build.package) if row.full_version == build.full_version]
        told = [kernels.verdict(MATRIX, gpu["vendor"], gpu["target"], row) for gpu in cards
                for row in rows if is_at(row, one.place) and row.runtime == build.runtime]  # fmt: skip
        if told and all(isinstance(each, Clash) for each in told):
            return True
    return False


def _is_about_image(one: Question, build: Build) -> bool:
    """Whether no image that holds what a build takes from it starts with the driver: that is the joint ``image``.

    Which Pythons an image brings is asked of resolve alone: lint knows what the steps install, and the doctor the
    Python that is there, so that such a question is passed over.
    """
    machine = dict(one.machine)
    platform, driver, cards = machine["platform"], machine.get("driver"), machine.get("gpus") or ()
    if build.system and platform == "linux" and one.joint == "python":
        return True
    if not (build.system and driver and cards) or platform not in {"linux", "wsl2"}:
        return False
    kind, number = split_runtime(build.runtime)
    wanted = build.runtime if fixes_minor(build) else f"{kind}{number.partition('.')[0]}"
    images = [
        row for row in MATRIX.select("images", repository="nvidia/cuda") if f"{row.runtime}.".startswith(f"{wanted}.")
    ]
    images = [row for row in images if row.status != "gone" and versions.at_least(row.cuda or "0", number)]
    brands = {row.brand for row in find_gpu(MATRIX, cards[0]["name"])}
    brand = brands.pop() if len(brands) == 1 else ""
    asked = (driver, brand, cards[0]["target"], platform == "wsl2")
    return all(isinstance(starts(MATRIX, row.require, *asked), Clash) for row in images)


def _fair(one: Question) -> Question | None:
    """The question, if all but the joint asked about fits: the machine without its facts, or each pin by itself.

    A framework that a package needs and that is not asked about joins the pins: nobody has the one without the other.
    """
    if one.joint == "image":
        answer = resolve(one.pins, one.host(), MATRIX)
        names = sorted(name for name, _ in _weighed(answer))
        which = sum(map(ord, dict(one.machine)["driver"]))  # one of them, the same in each run
        return replace(one, image=names[which % len(names)]) if names else None
    facts = JOINTS[one.joint].facts
    if facts and resolved(one, *facts).word != "fits":
        return None
    builds = list(one.builds)
    for build in one.builds:
        plan = resolve([pin_of(build)], one.host(*facts), MATRIX).plan
        if plan is None:
            return None
        missing = [brought for brought in plan.builds if brought.name not in {each.package for each in builds}]
        for brought in missing:
            rows = [row for row in told_apart(brought.name) if row.full_version == brought.version]
            rows = [row for row in rows if is_at(row, one.place)]
            rows = [row for row in rows if row.runtime == brought.runtime and {*row.extras} == {*brought.extras}]
            if not rows:
                return None
            builds.append(rows[0])
    if any(_is_about_image(one, build) for build in builds):
        return None
    found = _with_extras(replace(one, builds=tuple(builds)))
    return None if _is_about_gpus(found) else found


def _with_extras(one: Question) -> Question:
    """The question with the extras that resolve takes by itself, without which a release computes nothing there."""
    plan = resolve(one.pins, one.host(), MATRIX).plan
    taken = {build.name: build for build in plan.builds} if plan else {}
    return replace(one, builds=tuple(_as_taken(build, taken.get(build.package), one.place) for build in one.builds))


def _as_taken(build: Build, taken: PlannedBuild | None, place: str) -> Build:
    if taken is None or not {*taken.extras} > {*build.extras}:
        return build
    rows = (row for row in MATRIX.builds(build.package) if row.full_version == taken.version and is_at(row, place))
    return next((row for row in rows if row.runtime == taken.runtime and {*row.extras} == {*taken.extras}), build)


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
    lines += [f"{number} x another question: {reason}" for reason, number in tally.reasons.most_common()]
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
