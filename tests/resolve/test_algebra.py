"""The small laws that the search rests on: sets of violations, conflicts and corrections, specifiers, runtimes, orders."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import Rows, build, common_tables, package

from compat.errors import InputError
from compat.joints.build import split_runtime
from compat.joints.packages import fits_runtime
from compat.matrix import Matrix
from compat.resolve.corrections import conflicts, singles
from compat.resolve.knowledge import Knowledge
from compat.resolve.options import ANY_PYTHON
from compat.resolve.preference import MEASURES, ORDERS, order
from compat.resolve.situation import FITS, both, either
from compat.versions import meets, tightened

BITS = st.integers(0, 2**6 - 1)
SETS = st.lists(BITS, min_size=1, max_size=5).map(tuple)


def is_subset(small: int, large: int) -> bool:
    return small & large == small


# --- alternatives ---


@given(SETS)
def test_only_the_smallest_alternatives_are_kept(sets: tuple[int, ...]) -> None:
    kept = either(sets)
    assert all(any(is_subset(one, given) for one in kept) for given in sets)
    assert not any(is_subset(one, other) for one in kept for other in kept if one != other)


@given(SETS, SETS, BITS)
def test_two_things_hold_where_both_do(left: tuple[int, ...], right: tuple[int, ...], dropped: int) -> None:
    def holds_without(sets: tuple[int, ...]) -> bool:
        return any(is_subset(one, dropped) for one in sets)

    assert holds_without(both(left, right)) == (holds_without(left) and holds_without(right))
    assert holds_without(either(left, right)) == (holds_without(left) or holds_without(right))


def test_what_fits_changes_nothing() -> None:
    assert both(FITS, (5, 2)) == (5, 2)
    assert both((5, 2), FITS) == (5, 2)


# --- conflicts are the minimal hitting sets of corrections ---


@given(st.lists(st.integers(1, 2**6 - 1), min_size=1, max_size=6).map(tuple))
def test_conflicts_are_all_minimal_hitting_sets(sets: tuple[int, ...]) -> None:
    hits = [bits for bits in range(2**6) if all(bits & one for one in sets)]
    minimal = {bits for bits in hits if not any(is_subset(other, bits) for other in hits if other != bits)}
    assert set(conflicts(sets)) == minimal


@given(st.lists(st.integers(1, 2**6 - 1), min_size=1, max_size=6).map(tuple))
def test_conflicts_of_conflicts_are_the_corrections(sets: tuple[int, ...]) -> None:
    assert set(conflicts(conflicts(sets))) == set(either(sets))


@given(BITS)
def test_singles_are_the_bits(bits: int) -> None:
    assert sum(singles(bits)) == bits
    assert all(one.bit_count() == 1 for one in singles(bits))


# --- specifiers ---


@given(st.lists(st.sampled_from(["<2", ">=1", ">=0.5", "!=1.5", "<3", "~=1.2"]), min_size=1, max_size=4))
def test_a_tightened_specifier_accepts_the_same_versions(specs: list[str]) -> None:
    tight = tightened(tuple(specs))
    for version in ("0.4", "0.5", "1.0", "1.2", "1.5", "1.9", "2.0", "2.5", "3.0"):
        assert meets(tight, version) == all(meets(spec, version) for spec in specs)
    assert len(tight.split(",")) <= len(specs)


# --- runtimes ---


@pytest.mark.parametrize(
    ("runtime", "parts"),
    [("cuda12.8", ("cuda", "12.8")), ("rocm6.2.4", ("rocm", "6.2.4")), ("cpu", ("cpu", "")), ("", ("", ""))],
)
def test_runtimes_are_split(runtime: str, parts: tuple[str, str]) -> None:
    assert split_runtime(runtime) == parts


def options(*rows: dict[str, Any]) -> list[Any]:
    tables = {**common_tables(), "packages": [package("alpha")], "builds.alpha": list(rows)}
    known = Knowledge(Matrix(Rows(tables)))
    by_runtime = {(one.runtime, one.build.cuda_from): one for one in known.options("alpha")}
    return [by_runtime[row["runtime"], row.get("cuda_from", "")] for row in rows]


@pytest.mark.parametrize(
    ("left", "right", "twins", "expected"),
    [
        (("cuda12.6", "wheel"), ("cuda12.8", "packages"), False, True),
        (("cuda12.6", "wheel"), ("cuda12.8", "packages"), True, False),
        (("cuda12.6", "system"), ("cuda12.8", "packages"), False, False),
        (("cuda12.8", "system"), ("cuda12.6", "packages"), False, True),
        (("cuda12.8", "system"), ("cuda12.6", "system"), False, False),
        (("cuda11.8", "system"), ("cuda11.8", "wheel"), False, True),
        (("cuda11.8", "wheel"), ("cuda12.1", "wheel"), False, False),
        (("cuda11.8", "wheel"), ("rocm6.2", "wheel"), False, False),
        (("cpu", ""), ("cuda12.1", "wheel"), False, True),
        (("cpu", ""), ("cuda12.1", "wheel"), True, False),
        (("", ""), ("cuda12.1", "wheel"), True, True),
    ],
)
def test_which_runtimes_share_a_process(
    left: tuple[str, str], right: tuple[str, str], twins: bool, expected: bool
) -> None:
    def row(runtime: str, source: str) -> dict[str, Any]:
        return build("1.0", runtime, cuda_from=source, **({"system": runtime} if source == "system" else {}))

    one, other = options(row(*left), row(*right))
    assert fits_runtime(one, other, twins) is expected
    assert fits_runtime(other, one, twins) is expected


# --- orders ---


def test_every_order_ranks_kernels_first_and_leaves_no_tie() -> None:
    for name, measures in ORDERS.items():
        wanted = ("vendor", "kernels") if name == "forward" else ("vendor", "forward", "kernels")
        if name == "nearest":  # no advice that asks for a newer driver than its reader is likely to have
            wanted = ("vendor", "forward", "assumed", "kernels")
        assert measures[: len(wanted)] == wanted, name
        assert measures[-1] == "order", name
        assert set(measures) <= MEASURES.keys()
        assert len(set(measures)) == len(measures)


def test_orders_differ_in_more_than_name() -> None:
    assert len(set(ORDERS.values())) == len(ORDERS)


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(InputError):
        order("fanciest")


def test_builds_are_numbered_alike_in_any_order_of_rows() -> None:
    rows = [
        build("1.0 2.0", "cuda11.8", kernels="sm_80"),
        build("1.0", "cuda12.1"),
        build("2.0", "cpu"),
        build("1.0", "cpu"),
    ]
    spelt = []
    for shuffled in combinations(rows * 2, 4):
        if len({id(row) for row in shuffled}) == 4:
            tables = {**common_tables(), "packages": [package("alpha")], "builds.alpha": list(shuffled)}
            known = Knowledge(Matrix(Rows(tables)))
            spelt.append([(one.serial, one.version, one.runtime, one.rank) for one in known.options("alpha")])
    assert len(spelt) > 1
    assert all(one == spelt[0] for one in spelt)
    assert [one[1] for one in spelt[0]] == ["2.0", "2.0", "1.0", "1.0", "1.0"]


def test_a_build_without_python_tags_takes_any() -> None:
    (found,) = options(build("1.0", "cuda11.8", python=""))
    assert found.pythons == ANY_PYTHON
