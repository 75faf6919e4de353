import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from compat import versions
from compat.names import normalise

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


@pytest.mark.parametrize(
    ("left", "right", "one"),
    [
        ("2.1", "2.1.0", True),
        ("2.1.0", "2.1", True),
        ("2.1", "2.1.1", False),
        ("2.1", "2.1rc1", False),  # a pre-release is no other spelling of its release
        ("2.1", "2.10", False),
        ("nightly", "nightly", True),
        ("nightly", "stable", False),
        ("2.1", "nightly", False),
        ("0.0.32.post1", "0.0.32.post1", True),
        ("0.0.32.post1", "0.0.32", False),
        ("0.0.32", "0.0.32.post1", False),
        ("2.7.post1", "2.7.0-1", True),
        ("2.1rc1", "2.1.0rc1", True),
        ("2.1.0+cu118", "2.1", True),
        ("2.1.0+cu118", "2.1.0+cu121", True),
        ("1!2.0", "2.0", False),
    ],
)
def test_two_texts_name_one_release_or_do_not(left, right, one):
    assert versions.same_release(left, right) is one


@given(dotted, dotted)
def test_final_releases_are_the_same_where_pep440_says_so(left, right):
    from packaging.version import Version

    assert versions.same_release(left, right) == (Version(left) == Version(right))
    assert versions.same_release(left, left + ".0.0")


@pytest.mark.parametrize(
    ("text", "whole"),
    [("12.8", True), (" 12.8\n", True), ("12", True), ("12.8-1", False), ("12.", False), ("v12.8", False), ("", False)],
)
def test_the_whole_text_must_be_a_dotted_number(text, whole):
    assert versions.is_release(text) is whole


@pytest.mark.parametrize(
    ("version", "last", "holds"),
    [
        ("6.0.2", "6.0", True),
        ("6.0", "6.0", True),
        ("6.1.0", "6.0", False),
        ("5.7.1", "6.0", True),
        ("6.4", "6", True),
        ("7.0", "6", False),
        ("6.2.4", "6.2", True),
        ("6.2.4", "6.2.0", False),
        ("6", "6.0.0", True),
        ("10.0.0", "7.0", False),
    ],
)
def test_a_bound_takes_in_its_own_patch_releases_and_no_more(version, last, holds):
    assert versions.up_to(version, last) is holds


@given(dotted, dotted)
def test_what_is_no_later_than_a_bound_is_below_it_or_begins_with_it(version, last):
    written = [*map(int, version.split(".")), *[0] * 9][: last.count(".") + 1]
    below = versions.release(version) < versions.release(last)
    assert versions.up_to(version, last) == (below or written == [*map(int, last.split("."))])


def test_release_zero_is_a_release():
    assert versions.release("0.0.0") == (0,)
    assert versions.release("0") == (0,)


@given(dotted)
def test_major_and_minor_are_the_first_two_numbers(text):
    numbers = [*map(int, text.split(".")), 0]
    assert versions.major(text) == numbers[0]
    assert versions.minor(text) == f"{numbers[0]}.{numbers[1]}"


@given(dotted, dotted, dotted)
def test_reaching_a_floor_is_transitive(low, middle, high):
    if versions.at_least(high, middle) and versions.at_least(middle, low):
        assert versions.at_least(high, low)


# --- plain releases, which are compared without packaging ---

NUMBERS = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
BOUNDS = st.lists(st.tuples(st.sampled_from(["==", "!=", "<=", ">=", "<", ">"]), NUMBERS).map("".join), max_size=3)


@given(bounds=BOUNDS, version=NUMBERS)
def test_plain_bounds_admit_what_packaging_admits(bounds, version):
    spec = ",".join(bounds)
    assert versions.meets(spec, version) == SpecifierSet(spec).contains(version)
    assert versions.admits(spec, version) == SpecifierSet(spec).contains(version, prereleases=True)


@given(
    name=st.from_regex(r"[A-Za-z0-9._-]{1,8}", fullmatch=True),
    bounds=BOUNDS,
    tail=st.sampled_from(["", ".*", "a1", ","]),
)
def test_a_plain_requirement_is_read_as_packaging_reads_it(name, bounds, tail):
    text = name + ",".join(bounds) + tail
    try:
        wanted = Requirement(text)
    except ValueError:
        assert versions.requirement(text) is None
        return
    found = versions.read_requirement(text)
    assert (found.name, found.spec) == (normalise(wanted.name), ",".join(sorted(map(str, wanted.specifier))))


@given(texts=st.lists(NUMBERS | st.sampled_from(["1.0rc1", "2.0.post1", "3.0+cu118"]), max_size=6))
def test_versions_are_put_in_the_order_of_packaging(texts):
    assert [Version(one) for one in versions.newest_first(texts)] == sorted(map(Version, {*texts}), reverse=True)
