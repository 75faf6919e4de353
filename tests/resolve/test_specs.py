"""Specifiers and markers against packaging's own answers; tables of their meaning stand in test_algebra.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.resolve import specs

RELEASES = ["1.0", "1.9", "1.10", "2.0", "2.0.1", "2.1"]
spec = st.lists(
    st.tuples(st.sampled_from(["==", "!=", ">=", "<=", "<", ">"]), st.sampled_from(RELEASES)).map("".join), max_size=3
).map(",".join)


@given(spec, st.sampled_from(RELEASES))
def test_meeting_is_what_packaging_says(wanted, version):
    from packaging.specifiers import SpecifierSet

    assert specs.meets(wanted, version) == SpecifierSet(wanted).contains(version)


@given(spec, spec, st.sampled_from(RELEASES))
def test_specifiers_that_clash_have_no_version_in_common(left, right, version):
    assert specs.clashes(left, right) == specs.clashes(right, left)
    if left != right and specs.clashes(left, right):
        assert not (specs.meets(left, version) and specs.meets(right, version))


@given(st.lists(spec, max_size=3), st.sampled_from(RELEASES))
def test_the_range_of_several_is_their_intersection(wanted, version):
    from packaging.version import Version

    assert (Version(version) in specs.both(tuple(wanted))) == all(specs.meets(one, version) for one in wanted)


@pytest.mark.parametrize(
    ("marker", "place", "python", "extras", "true"),
    [
        ("sys_platform == 'linux'", "linux_x86_64", "3.11", (), True),
        ("os_name == 'nt'", "linux_x86_64", "3.11", (), False),
        ("platform_system == 'Windows' and platform_machine == 'AMD64'", "win_amd64", "3.11", (), True),
        ("platform_machine == 'aarch64'", "linux_aarch64", "3.11", (), True),
        ("python_version < '3.9'", "linux_x86_64", "3.8", (), True),
        ("python_version >= '3.13'", "linux_x86_64", "3.13t", (), True),
        ("python_full_version >= '3.9.2'", "linux_x86_64", "3.9", (), True),
        ("implementation_name == 'cpython'", "linux_x86_64", "3.11", (), True),
        ("platform_python_implementation != 'CPython'", "linux_x86_64", "3.11", (), False),
        ("extra == 'gpu'", "linux_x86_64", "3.11", ("dev", "gpu"), True),
        ("extra != 'gpu'", "linux_x86_64", "3.11", ("gpu",), True),  # the plain install counts as well
    ],
)
def test_whether_a_marker_holds(marker, place, python, extras, true):
    assert specs.holds(marker, place, python, extras) is true
