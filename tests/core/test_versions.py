import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import versions

dotted = st.lists(st.integers(0, 999), min_size=1, max_size=5).map(lambda parts: ".".join(map(str, parts)))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("12.8", (12, 8)),
        ("12.8.0", (12, 8)),
        ("535.86.10", (535, 86, 10)),
        ("v1.16.2", (1, 16, 2)),
        ("11.0", (11,)),
        (" 6.4.1-1 ", (6, 4, 1)),
    ],
)
def test_release_reads_the_leading_number(text, parts):
    assert versions.release(text) == parts


@pytest.mark.parametrize("text", ["", "abc", "-1", "cuda12"])
def test_release_refuses_what_is_no_number(text):
    with pytest.raises(ValueError, match="not a dotted version number"):
        versions.release(text)


def test_a_driver_branch_alone_does_not_reach_a_floor_inside_it():
    assert not versions.at_least("525", "525.60.13")
    assert versions.at_least("525.60.13", "525.60.13")
    assert versions.at_least("530", "525.60.13")


@pytest.mark.parametrize(("text", "series"), [("12.8.1", "12.8"), ("12", "12.0"), ("11.0.3", "11.0")])
def test_minor_is_written_as_the_field_writes_it(text, series):
    assert versions.minor(text) == series


def test_series_ignore_the_patch_level():
    assert versions.same_series("12.8.0", "12.8.93")
    assert not versions.same_series("12.8", "12.9")


@given(dotted, dotted)
def test_order_is_total_and_agrees_with_pep440(left, right):
    from packaging.version import Version

    assert versions.at_least(left, right) == (Version(left) >= Version(right))


@given(dotted)
def test_trailing_zeros_never_matter(text):
    assert versions.release(text) == versions.release(text + ".0")
