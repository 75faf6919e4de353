"""The resolver against brute force and against z3, on random matrices small enough for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, Row, Soft, split
from worlds import DEVICES, PYTHONS, Question, Rows, forward_question, random_question

from compat.errors import InputError
from compat.matrix import Matrix
from compat.plan import dump
from compat.resolve import resolve, resolve_many
from compat.resolve.answering import answer
from compat.resolve.corrections import conflicts
from compat.resolve.knowledge import knowledge
from compat.resolve.request import read
from compat.resolve.search import Search
from compat.resolve.situation import situation
from compat.resolve.weighing import FORWARD

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from compat.facts import Host

SEEDS = st.integers(0, 10**9)
Maker = Callable[[int], Question]


def ask(seed: int, prefer: str = "proven", make: Maker = random_question) -> tuple[Question, Search] | None:
    """A random question and the resolver's own search for it; none where it names a version that does not exist."""
    question = make(seed)
    known = knowledge(question.matrix())
    try:
        wishes = read(question.requirements, known)
    except InputError:
        return None
    return question, Search(situation(wishes, [question.host()], known), known, prefer)


def rows_of(oracle: Oracle, found: Search) -> tuple[tuple[Row, ...], bool]:
    """The oracle's rows of the builds that the resolver chose, and whether the image must bring a newer driver."""
    best = found.best()
    assert best is not None
    rows = (next(row for row in oracle.rows[w.option.package] if is_row(row, w.option.build)) for w in best.chosen)
    return tuple(rows), any(weighed.strain == FORWARD for weighed in best.chosen)


def is_row(row: Row, build: Any) -> bool:
    names = ("kernels", "python", "platforms", "system")
    return (
        row.versions == build.version
        and row.runtime == build.runtime
        and row.cuda_from == build.cuda_from
        and tuple(row.raw.get("requires", ())) == build.requires
        and all(getattr(row, name) == " ".join(getattr(build, name)) for name in names)
    )


def named(question: Question, found: Search, bits: int) -> frozenset[Soft]:
    """A bit set of the resolver in the oracle's words."""
    softs = [soft for soft in found.target.softs if soft.bit & bits]
    return frozenset(
        ("wish", soft.text)
        if soft.kind == "wish"
        else ("gpu", soft.subject[3:])
        if soft.subject.startswith("gpu")
        else (soft.subject, str(question.facts[soft.subject]))
        for soft in softs
    )


@settings(max_examples=250, deadline=None)
@given(SEEDS)
def test_verdict_cores_and_optimum_are_those_of_brute_force(seed: int) -> None:
    case = ask(seed)
    if case is None:
        return
    question, found = case
    oracle = Oracle(question)
    wanted = oracle.best()
    if wanted is None:
        assert found.best() is None
        cores = {named(question, found, bits) for bits in conflicts(found.corrections())}
        assert cores == oracle.conflicts()
    else:
        assert oracle.key(*rows_of(oracle, found)) == wanted


@settings(max_examples=250, deadline=None)
@given(SEEDS)
def test_forward_compatibility_is_weighed_as_brute_force_weighs_it(seed: int) -> None:
    """Old drivers, data-center GPUs and builds for a newer CUDA: verdict, every core, and the optimum."""
    case = ask(seed, make=forward_question)
    if case is None:
        return
    question, found = case
    oracle = Oracle(question)
    wanted = oracle.best()
    if wanted is None:
        assert found.best() is None
        assert {named(question, found, bits) for bits in conflicts(found.corrections())} == oracle.conflicts()
    else:
        assert oracle.key(*rows_of(oracle, found)) == wanted


def test_the_questions_about_forward_compatibility_need_it_often_enough() -> None:
    """Guards the test above: many plans that need a newer user-space driver, and many that a class of GPU decides."""
    cases = [case for case in (ask(seed, make=forward_question) for seed in range(150)) if case]
    best = [(question, found.best()) for question, found in cases]
    needing = [question for question, one in best if one and any(build.strain == FORWARD for build in one.chosen)]
    assert len(needing) > 15
    plain = [replace(question, servers=False) for question in needing]
    ends = {resolve(question.requirements, question.host(), question.matrix()).status for question in plain}
    assert "plan" not in ends  # what needs it has no plan on a GPU of another class


# --- several hosts ---


def fewest(count: int, groups: set[frozenset[int]]) -> int:
    """The least number of groups, each of which has a plan, that cover all hosts: every choice is tried."""
    everyone = frozenset(range(count))
    for size in range(1, count + 1):
        if any(frozenset().union(*chosen) == everyone for chosen in combinations(groups, size)):
            return size
    return 0


@settings(max_examples=60, deadline=None)
@given(SEEDS, st.integers(2, 4), st.randoms(use_true_random=False))
def test_several_hosts_are_covered_by_the_fewest_plans(seed: int, count: int, rng: random.Random) -> None:
    """Every subset of the hosts that can be served at all is solved as one; no cover by fewer of them may exist."""
    question = random_question(seed)
    gpus = [rng.choice(DEVICES) for _ in range(count)]
    questions = [replace(question, gpus=[gpu], facts={"driver": "590.10"} if "sm" in gpu else {}) for gpu in gpus]
    hosts, data = [one.host() for one in questions], question.matrix()
    try:
        found = resolve_many(question.requirements, hosts, data)
    except InputError:
        return
    assert sorted(place for group, _ in found for place in group) == list(range(count))
    served = [group for group, answer in found if answer.status == "plan"]
    everyone = sorted(place for group in served for place in group)
    alone = [place for place in range(count) if status(question, [hosts[place]], data) == "plan"]
    assert everyone == alone
    groups = {
        frozenset(range(len(chosen))) if len(chosen) == len(everyone) else frozenset(map(everyone.index, chosen))
        for size in range(1, len(everyone) + 1)
        for chosen in combinations(everyone, size)
        if status(question, [hosts[place] for place in chosen], data) == "plan"
    }
    assert len(served) == (fewest(len(everyone), groups) if everyone else 0)


def status(question: Question, hosts: Sequence[Host], data: Matrix) -> str:
    """The verdict on one plan for all of some hosts."""
    return answer(question.requirements, list(hosts), data, cpu=False, prefer="proven").status


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.sampled_from(["newest", "smallest", "oldest-driver", "stable"]))
def test_every_preference_finds_the_optimum_of_brute_force(seed: int, prefer: str) -> None:
    case = ask(seed, prefer)
    if case is None:
        return
    question, found = case
    oracle = Oracle(question)
    wanted = oracle.best(prefer)
    if wanted is None:
        assert found.best() is None
    else:
        assert oracle.key(*rows_of(oracle, found), prefer) == wanted


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(seed: int, shuffle: random.Random) -> None:
    question = random_question(seed)
    tables = {name: shuffle.sample(rows, len(rows)) for name, rows in question.tables.items()}
    shuffled = replace(question, tables=tables)
    answers = []
    for one in (question, shuffled, question):
        try:
            answers.append(dump(resolve(one.requirements, one.host(), one.matrix())))
        except InputError as error:
            answers.append({"error": str(error)})
    assert answers[0] == answers[1] == answers[2]


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_every_remedy_has_a_plan_that_the_changed_question_gives_too(seed: int) -> None:
    """A remedy that changes one option is applied to the question, which must then have a plan."""
    question = random_question(seed)
    try:
        answer = resolve(question.requirements, question.host(), question.matrix())
    except InputError:
        return
    if answer.status != "conflict":
        return
    for fix in answer.fixes:
        assert fix.status == "plan"
        assert fix.plans
        if set(fix.changes) <= {"driver", "python", "os", "arch"}:
            changed = replace(question, facts={**question.facts, **fix.changes})
            assert resolve(changed.requirements, changed.host(), changed.matrix()).status == "plan", fix


@settings(max_examples=120, deadline=None)
@given(SEEDS, st.sampled_from(["smallest", "oldest-driver", "stable"]))
def test_preference_changes_the_plan_and_never_the_verdict(seed: int, prefer: str) -> None:
    question = random_question(seed)
    try:
        plain = resolve(question.requirements, question.host(), question.matrix())
    except InputError:
        return
    other = resolve(question.requirements, question.host(), question.matrix(), prefer=prefer)
    assert plain.status == other.status
    if plain.plan and other.plan and prefer == "oldest-driver":
        kernels = [sorted({gpu.kernels for gpu in answer.plan.gpus}) for answer in (plain, other) if answer.plan]
        if kernels[0] == kernels[1] and plain.plan.driver.minimum and other.plan.driver.minimum:
            assert all(build.runtime != "cpu" for build in other.plan.builds)


# --- an independent solver ---


class Encoding:
    """A question for z3: one boolean per build, one for each Python, integers for versions of shared dependencies."""

    def __init__(self, question: Question, oracle: Oracle, z3: Any) -> None:
        self.question, self.oracle, self.z3 = question, oracle, z3
        self.solver = z3.Solver()
        self.soft = {soft: z3.Bool(f"keep {soft}") for soft in oracle.softs}
        self.build = {
            row: z3.Bool(f"{row.package} {place}") for rows in oracle.rows.values() for place, row in enumerate(rows)
        }
        self.python = {minor: z3.Bool(f"python {minor}") for minor in PYTHONS}
        self.place = {name: z3.Bool(name) for name in ("linux_x86_64", "linux_aarch64")}
        self.image = [z3.Bool(f"image {number}") for number, _ in enumerate(question.tables["images"])]
        self.shared = {name: z3.Int(name) for name in ("shared", "common")}
        self._encode()

    def _encode(self) -> None:
        z3, add = self.z3, self.solver.add
        for version in self.shared.values():
            add(version >= 1, version <= 4)
        add(z3.PbEq([(one, 1) for one in self.python.values()], 1))
        add(z3.PbEq([(one, 1) for one in self.place.values()], 1))
        if "arch" not in self.question.facts:
            add(self.place["linux_x86_64"])
        for rows in self.oracle.rows.values():
            add(z3.AtMost(*[self.build[row] for row in rows], 1))
        self._facts()
        self._builds()
        self._pairs()
        self._images()

    def present(self, name: str) -> Any:
        return self.z3.Or([self.build[row] for row in self.oracle.rows[name]])

    def kept(self, kind: str) -> Any:
        """Whether the one constraint of a kind is kept; false where the question has none."""
        return next((flag for (name, _), flag in self.soft.items() if name == kind), self.z3.BoolVal(False))

    def _facts(self) -> None:
        z3, add, facts = self.z3, self.solver.add, self.question.facts
        if "python" in facts:
            add(z3.Implies(self.kept("python"), self.python[facts["python"]]))
        if "arch" in facts:
            add(z3.Implies(self.kept("arch"), self.place[f"linux_{facts['arch']}"]))
        for soft, flag in self.soft.items():
            if soft[0] == "wish":
                add(z3.Implies(flag, self.present(split(soft[1])[0])))
        add(z3.Implies(self.present("gamma"), self.present("alpha")))

    def _builds(self) -> None:
        z3, facts = self.z3, self.question.facts
        for row, chosen in self.build.items():
            platforms = row.platforms.split()
            needs = [z3.Or([one for name, one in self.place.items() if name in platforms])]
            needs.append(z3.Or([one for minor, one in self.python.items() if minor in row.python.split()]))
            needs.append(z3.BoolVal(row.kind != "cpu"))
            for (kind, text), flag in self.soft.items():
                if not self._alone(row, kind, text):
                    needs.append(z3.Not(flag))
                if kind == "gpu" and "driver" in facts:
                    device = self.question.gpus[int(text)]
                    if self.oracle.level(row, device) != 3 and not self.oracle._runs(row, device, facts["driver"]):
                        needs.append(z3.Not(z3.And(flag, self.kept("driver"))))
            needs += [self._line(*split(line)) for line in row.raw.get("requires", ())]
            self.solver.add(z3.Implies(chosen, z3.And(needs)))

    def _alone(self, row: Row, kind: str, text: str) -> bool:
        """Whether one build goes with one constraint, nothing else asked."""
        facts = {name: value for name, value in self.question.facts.items() if name == kind and kind != "driver"}
        wishes = [text] if kind == "wish" else []
        if kind == "gpu":
            return self.oracle.level(row, self.question.gpus[int(text)]) != 3
        if kind == "driver":
            return self.oracle._driver(row, text)
        return row.kind == "cpu" or self.oracle._alone(row, row.platforms.split()[0], wishes, facts, [])

    def _line(self, name: str, spec: str, marker: str) -> Any:
        z3 = self.z3
        if name in self.oracle.rows:
            from oracle import satisfies

            fitting = [self.build[row] for row in self.oracle.rows[name] if satisfies(row.versions, spec)]
            return z3.Or(z3.Not(self.present(name)), *fitting)
        from oracle import marker_holds

        signs = {
            "==": lambda n: self.shared[name] == n,
            ">=": lambda n: self.shared[name] >= n,
            "<=": lambda n: self.shared[name] <= n,
        }
        bounds = []
        for part in filter(None, spec.split(",")):
            strict = part.startswith("<") and not part.startswith("<=")
            bounds.append(self.shared[name] < int(part[1:]) if strict else signs[part[:2]](int(part[2:])))
        when = z3.Or([one for minor, one in self.python.items() if marker_holds(marker, minor)])
        return z3.Implies(when, z3.And(bounds))

    def _pairs(self) -> None:
        rows = list(self.build)
        for place, left in enumerate(rows):
            for right in rows[place + 1 :]:
                if left.package != right.package and not self.oracle._pair(left, right):
                    self.solver.add(self.z3.Not(self.z3.And(self.build[left], self.build[right])))

    def _images(self) -> None:
        z3, facts = self.z3, self.question.facts
        self.solver.add(z3.Or(self.image))
        for chosen, image in zip(self.image, self.question.tables["images"], strict=True):
            arches = image.get("arch", "x86_64").split()
            needs = [z3.Or([self.place[f"linux_{arch}"] for arch in arches])]
            if facts.get("os", image["os"]) != image["os"]:
                needs.append(z3.Not(self.kept("os")))
            if image.get("require") and "driver" in facts and not self.oracle._admits(facts["driver"]):
                cards = [
                    flag
                    for (kind, text), flag in self.soft.items()
                    if kind == "gpu" and self.question.gpus[int(text)].startswith("sm_")
                ]
                needs.append(z3.Not(z3.And(self.kept("driver"), z3.Or(cards))))
            needs += [z3.Not(self.build[row]) for row in self.build if not self._carries(image, row)]
            lean = [self.build[row] for row in self.build if row.system]
            if image["repository"] != "ubuntu" and "base" not in image["flavours"]:
                needs.append(z3.Or(lean))
            self.solver.add(z3.Implies(chosen, z3.And(needs)))

    def _carries(self, image: dict[str, str], row: Row) -> bool:
        arch = image.get("arch", "x86_64").split()[0]
        return self.oracle._image({**image, "require": ""}, (row,), f"linux_{arch}", {}, []) or (
            not row.system and self._has_glibc(image, row)
        )

    def _has_glibc(self, image: dict[str, str], row: Row) -> bool:
        from oracle import number

        system = next(one for one in self.question.tables["systems"] if one["os"] == image["os"])
        return not row.glibc or number(system["glibc"]) >= number(row.glibc)

    def satisfiable(self, kept: frozenset[Soft]) -> bool:
        if not any(kind == "wish" for kind, _ in kept):
            return True
        return bool(self.solver.check([self.soft[soft] for soft in sorted(kept)]) == self.z3.sat)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_z3_agrees_on_the_verdict_and_on_every_core(seed: int) -> None:
    z3 = pytest.importorskip("z3", reason="the independent solver is a development dependency")
    case = ask(seed, make=lambda seed: replace(random_question(seed), servers=False))
    if case is None:
        return
    question, found = case
    oracle = Oracle(question)
    encoding = Encoding(question, oracle, z3)
    everything = frozenset(oracle.softs)
    assert encoding.satisfiable(everything) == (found.best() is not None)
    if found.best() is not None:
        return
    sets = found.corrections()
    for bits in conflicts(sets):
        core = named(question, found, bits)
        assert not encoding.satisfiable(core), "a conflict that z3 can satisfy"
        assert all(encoding.satisfiable(core - {member}) for member in core), "a member that is not needed"
    for bits in sets:
        rest = everything - named(question, found, bits)
        assert encoding.satisfiable(rest), "a correction that does not help"


def test_a_store_of_rows_is_a_matrix() -> None:
    """The hand-made store is read as the shipped one is."""
    matrix = Matrix(Rows({"packages": [{"name": "alpha", "title": "Alpha", "kind": "framework"}]}))
    assert matrix.package("Alpha") is not None
