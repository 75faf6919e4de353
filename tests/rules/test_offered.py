"""Where a wanted release lies among those an installer offers, against an independent reading of the same list."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from compat.matrix import matrix as shipped
from compat.reading.messages import recognise
from compat.rules.wanted import modern, standing

MATRIX = shipped()
RELEASES = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30)).map(
    lambda parts: ".".join(map(str, parts))
)


def heard(wanted, offered, sign="=="):
    said = ", ".join(offered) or "none"
    return recognise(
        f"ERROR: Could not find a version that satisfies the requirement demo{sign}{wanted} (from versions: {said})",
        MATRIX,
    )


@given(RELEASES, st.lists(RELEASES, min_size=1, max_size=20))
def test_the_place_is_what_comparing_versions_says(wanted, offered):
    there = sorted(map(Version, offered))
    expected = "newer" if Version(wanted) > there[-1] else "older" if Version(wanted) < there[0] else "between"
    assert standing(heard(wanted, offered)) == expected


@given(RELEASES, st.lists(RELEASES, min_size=1, max_size=20), st.randoms())
def test_the_order_of_the_list_does_not_matter(wanted, offered, random):
    shuffled = list(offered)
    random.shuffle(shuffled)
    assert standing(heard(wanted, offered)) == standing(heard(wanted, shuffled))


@pytest.mark.parametrize("offered", [[], ["none"]])
def test_nothing_offered_has_no_order(offered):
    assert standing(heard("1.0", offered)) == ""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("satisfies the requirement torch==1.13.1+cu117 (from versions: 2.0.0, 2.0.0+cu117)", "older"),
        ("satisfies the requirement torch[opt]==2.6.0 (from versions: 2.0.0, 2.2.2)", "newer"),
        ("satisfies the requirement bitsandbytes<0.45,>=0.44 (from versions: 0.42.0, 0.46.0)", "between"),
        ("satisfies the requirement torch (from versions: 2.0.0, 2.2.2)", ""),
        ("satisfies the requirement torch==2.0.0rc1.dev (from versions: 1.0)", "newer"),
    ],
)
def test_pips_spellings(text, place):
    assert standing(recognise(f"Could not find a version that {text}", MATRIX)) == place


def test_a_modern_python_is_one_that_the_newest_torch_serves():
    served = sorted({Version(text) for row in MATRIX.builds("torch") for text in row.python if text[-1].isdigit()})
    assert modern(str(served[-1]), MATRIX)
    assert not modern("3.6", MATRIX)
    assert not modern("", MATRIX)
    assert modern(f"{served[-1]}.7", MATRIX), "a patch release changes nothing"
