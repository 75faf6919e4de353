"""What an answer says of builds that lost or clashed, on small matrices where each reason can be seen by eye."""

from __future__ import annotations

import random
from copy import deepcopy
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from review import ask
from worlds import DEVICES, PYTHONS, Question, Rows, build, common_tables, package, random_question

from compat.errors import InputError
from compat.matrix import Matrix
from compat.render.plan import answer as shown
from compat.resolve import resolve

if TYPE_CHECKING:
    from compat.plan import Answer


def small(**builds: list[dict]) -> Matrix:
    tables = common_tables()
    tables["packages"] = [package("alpha"), package("beta"), package("gamma", kind="companion", follows="alpha")]
    for name in ("alpha", "beta", "gamma"):
        tables[f"builds.{name}"] = builds.get(name, [])
    return Matrix(Rows(tables))


def asked(world: Matrix, *requirements: str, **facts: object) -> Answer:
    host = Question({}, [], gpus=["sm_80"], facts=facts).host()
    return resolve(list(requirements), host, world)


CUDA = {"kernels": "sm_80", "cuda_from": "wheel"}


def test_two_packages_without_a_python_in_common() -> None:
    world = small(
        alpha=[build("1.0", "cuda11.8", **{**CUDA, "python": "3.9"})],
        beta=[build("1.0", "cuda11.8", **{**CUDA, "python": "3.10 3.11"})],
    )
    answer = asked(world, "alpha", "beta")
    told = [member.text for member in answer.conflicts[0].members]
    assert answer.status == "conflict"
    assert "alpha 1.0 has wheels for Python 3.9, beta 1.0 for 3.10, 3.11" in told


def test_a_newer_build_that_lost_to_its_neighbour_is_said_to_not_fit_it() -> None:
    world = small(
        alpha=[build("1.0", "cuda11.8", **CUDA)],
        beta=[build("2.0", "cuda12.1", **CUDA), build("1.0", "cuda11.8", **CUDA)],
    )
    plan = asked(world, "alpha", "beta").plan
    assert plan is not None
    (choice,) = [one for one in plan.choices if one.subject == "beta"]
    assert choice.rejected == ("2.0 cuda12.1: does not fit alpha 1.0",)


@pytest.mark.parametrize(
    ("question", "is_offered"),
    [
        ("torch --gpu 'GTX 1080 Ti' --gpu 'RTX 5090'", True),
        (
            "torch --gpu 'GTX 1080 Ti' --gpu 'RTX 5090' --gpu T4",
            False,
        ),  # T4 goes with either: three images would be no help
    ],
)
def test_one_image_per_gpu_only_where_each_gpu_is_apart_from_the_rest(question: str, is_offered: bool) -> None:
    (reply,) = ask(f"envcheck resolve {question}")
    assert reply.answer.status == "conflict"
    assert any("images" in fix.changes for fix in reply.answer.fixes) is is_offered


@pytest.mark.parametrize(
    "rows", list(product(["measured", "inferred", "inferred kernels", "inferred glibc"], repeat=2))
)
def test_a_refusal_is_called_likely_exactly_where_a_row_that_decides_is_only_inferred(rows: tuple[str, str]) -> None:
    """Two runtimes without code for the GPU: one that nobody saw is enough to leave the refusal without proof."""
    told = {
        "measured": {"how": "measured"},
        "inferred": {"how": "inferred"},
        "inferred kernels": {"how": "documented", "inferred": "kernels"},
        "inferred glibc": {"how": "documented", "inferred": "glibc"},
    }
    lacking = {**CUDA, "kernels": "sm_90"}
    runtimes = zip(("cuda11.8", "cuda12.1"), rows, strict=True)
    answer = asked(
        small(alpha=[build("1.0", runtime, **lacking, **told[how]) for runtime, how in runtimes]), "alpha==1.0"
    )
    assert answer.status == "conflict"
    likely = any(how in {"inferred", "inferred kernels"} for how in rows)
    assert answer.conflicts[0].likely == likely
    assert ("This is likely and not proven" in shown(answer)) == likely
    assert any("this is only inferred" in member.text for member in answer.conflicts[0].members) == likely


def as_kind_as_may_be(question: Question) -> Question:
    """The question with every row that is only inferred as one that fits as much as it can, and is seen to.

    What a build of the same release was seen to say of Pythons, C library, processor or packages stays: that is no guess.
    Where only the runtime is one, it may be any that the local tag leaves.
    """
    better = deepcopy(question)
    for rows in (rows for table, rows in better.tables.items() if table.startswith("builds.")):
        seen = [dict(row) for row in rows if row["how"] != "inferred"]
        for row in [row for row in rows if row.get("inferred") == "runtime"]:
            row["inferred"] = ""
            rows += [as_of(row, cuda) for cuda in CUDAS if cuda.startswith(row["local"].partition(".")[0])]
        for row in (row for row in rows if row["how"] == "inferred"):
            kind = {"cuda": "sm_", "rocm": "gfx"}.get(row["runtime"].rstrip(".0123456789"))
            own = " ".join(sorted({one for one in DEVICES if kind and one.startswith(kind)}))
            alike = [one for one in seen if one["versions"] == row["versions"]]
            asked = {line for one in alike for line in one.get("requires") or ()}
            kept = [line for line in row.get("requires") or () if line in asked]
            best = {"python": " ".join(PYTHONS), "glibc": "", "cpu": "", "requires": kept, "kernels": own}
            for name in ("python", "glibc", "cpu"):
                if any(one.get(name) == row.get(name) for one in alike):
                    del best[name]
            row.update(best, how="measured")
    return better


CUDAS = ("cuda10.2", "cuda11.0", "cuda11.8", "cuda12.1")


def tagged(question: Question, seed: int) -> Question:
    """The question with CUDA builds whose minor is only inferred: their local tag says the major, or nothing."""
    rng = random.Random(seed)
    for rows in (rows for table, rows in question.tables.items() if table.startswith("builds.")):
        for row in rows:
            if row["runtime"] in CUDAS and row["how"] == "documented" and not row.get("variant"):
                major = row["runtime"].partition(".")[0]
                row.update(inferred="runtime", local=rng.choice((f"{major}.cudnn8", "cuda")))
    return question


def as_of(row: dict, cuda: str) -> dict:
    """A build as it would be, had it been made with another CUDA."""
    return {**row, "runtime": cuda, "system": row.get("system", "").replace(row["runtime"], cuda)}


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**9))
@example(66561)  # no two runtimes go together, and of one build the CUDA is a guess
def test_a_proven_refusal_stays_one_whatever_is_true_of_the_rows_that_nobody_saw(seed: int) -> None:
    question = tagged(random_question(seed), seed)
    try:
        answer = resolve(question.requirements, question.host(), question.matrix())
    except InputError:
        return
    if answer.status == "conflict" and not all(one.likely for one in answer.conflicts):
        kind = as_kind_as_may_be(question)
        assert resolve(kind.requirements, kind.host(), kind.matrix()).status == "conflict"


def test_a_clash_of_runtimes_is_likely_where_an_index_has_files_that_nobody_read() -> None:
    (unread,) = ask("envcheck resolve torch==2.6.0+cu118 torch-tensorrt==2.6.0 --gpu 3090 --arch x86_64")
    (read,) = ask("envcheck resolve torch==2.6.0+cu118 torchvision==0.21.0+cu126 --gpu 3090 --arch x86_64")
    assert [one.likely for one in unread.answer.conflicts] == [True]
    assert [one.likely for one in read.answer.conflicts] == [False]


def test_a_clash_over_kernels_that_nobody_knows_is_called_likely() -> None:
    question = random_question(49024)
    answer = resolve(question.requirements, question.host(), question.matrix())
    unknown = [one for one in answer.conflicts if any("carries is not known" in member.text for member in one.members)]
    assert unknown
    assert all(one.likely for one in unknown)


def test_pythons_that_nobody_saw_prove_nothing_where_all_builds_are_for_other_gpus() -> None:
    (reply,) = ask("envcheck resolve jaxlib==0.4.1 --gpu MI250X --python 3.13")
    assert reply.answer.status == "conflict"
    by_python = [one for one in reply.answer.conflicts if any("Python" in member.text for member in one.members)]
    assert by_python
    assert all(one.likely for one in by_python)


@pytest.mark.parametrize("gpu", ["sm_86", "gfx1201"])
def test_a_cuda_minor_that_only_its_major_names_proves_no_clash_with_another_package(gpu: str) -> None:
    (reply,) = ask(f"envcheck resolve jaxlib==0.3.2+cuda11.cudnn805 torch==2.7.1+cu118 --gpu {gpu}")
    pair = [one for one in reply.answer.conflicts if [member.kind for member in one.members][:2] == ["wish"] * 2]
    assert pair
    assert all(one.likely for one in pair)
