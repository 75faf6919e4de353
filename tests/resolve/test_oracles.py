"""The resolver against brute force and against z3, on random matrices small enough for both."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from compare import Maker, ask, by_brute_force, by_z3
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import ORDERS
from worlds import DEVICES, Question, Rows, forward_question, random_question

from compat.errors import InputError
from compat.matrix import Matrix
from compat.plan import dump
from compat.resolve import resolve, resolve_many
from compat.resolve.answering import answer
from compat.resolve.build_fit import FORWARD

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from compat.facts import Host

SEEDS = st.integers(0, 10**9)


@settings(max_examples=250, deadline=None)
@given(SEEDS, st.sampled_from(list(ORDERS)))
def test_verdict_cores_and_optimum_are_those_of_brute_force(seed: int, prefer: str) -> None:
    case = ask(seed, prefer)
    assert case is None or not list(by_brute_force(*case))


@settings(max_examples=250, deadline=None)
@given(SEEDS, st.sampled_from(list(ORDERS)))
def test_forward_compatibility_is_weighed_as_brute_force_weighs_it(seed: int, prefer: str) -> None:
    """Old drivers, data-center GPUs and builds for a newer CUDA: verdict, every core, and the optimum."""
    case = ask(seed, prefer, forward_question)
    assert case is None or not list(by_brute_force(*case))


@settings(max_examples=80, deadline=None)
@given(SEEDS, st.sampled_from([random_question, forward_question]), st.sampled_from(list(ORDERS)))
def test_z3_agrees_on_verdict_cores_and_optimum(seed: int, make: Maker, prefer: str) -> None:
    z3 = pytest.importorskip("z3", reason="the independent solver is a development dependency")
    case = ask(seed, prefer, make)
    assert case is None or not list(by_z3(*case, z3))


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


def test_a_store_of_rows_is_a_matrix() -> None:
    """The hand-made store is read as the shipped one is."""
    matrix = Matrix(Rows({"packages": [{"name": "alpha", "title": "Alpha", "kind": "framework"}]}))
    assert matrix.package("Alpha") is not None
