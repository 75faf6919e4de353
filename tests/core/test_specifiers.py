"""Specifiers and markers against packaging's own answers; tables of their meaning stand below."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import markers, versions
from compat.markers import Environment

RELEASES = ["1.0", "1.9", "1.10", "2.0", "2.0.1", "2.1"]
spec = st.lists(
    st.tuples(st.sampled_from(["==", "!=", ">=", "<=", "<", ">"]), st.sampled_from(RELEASES)).map("".join), max_size=3
).map(",".join)


@given(spec, st.sampled_from(RELEASES))
def test_meeting_is_what_packaging_says(wanted, version):
    from packaging.specifiers import SpecifierSet

    assert versions.meets(wanted, version) == SpecifierSet(wanted).contains(version)


@given(spec, spec, st.sampled_from(RELEASES))
def test_specifiers_that_clash_have_no_version_in_common(left, right, version):
    assert versions.clashes(left, right) == versions.clashes(right, left)
    if left != right and versions.clashes(left, right):
        assert not (versions.meets(left, version) and versions.meets(right, version))


@given(st.lists(spec, max_size=3), st.sampled_from(RELEASES))
def test_the_range_of_several_is_their_intersection(wanted, version):
    from packaging.version import Version

    assert (Version(version) in versions.both(tuple(wanted))) == all(versions.meets(one, version) for one in wanted)


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
    assert markers.holds(marker, Environment(place, python, extras)) is true


@pytest.mark.parametrize(
    ("spec", "version", "expected"),
    [
        ("==2.0.1", "2.0.1+cu118", True),
        ("==2.0.1+cu118", "2.0.1+cu118", True),
        ("==2.0.1+cu118", "2.0.1", False),
        ("<2.1", "2.0.1+cu118", True),
        (">=2,<3", "3.0.0", False),
        ("~=2.9.0", "2.9.1", True),
        (">=1.0", "2.0.0rc1", False),
        ("==2.0.0rc1", "2.0.0rc1", True),
        ("", "1.0.post1", True),
    ],
)
def test_meeting_a_specifier(spec, version, expected):
    assert versions.meets(spec, version) is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("==8.9.2.26", "==9.1.0.70", True),
        ("==8.9.2.26", ">=8.6", False),
        ("<1.24", ">=1.26", True),
        ("<=1.24.3,>=1.22", ">=1.24", False),
        ("", "<1", False),
        ("<5.0.0dev", ">=4.25", False),
    ],
)
def test_clashing_specifiers(left, right, expected):
    assert versions.clashes(left, right) is expected
    assert versions.clashes(right, left) is expected


@pytest.mark.parametrize(
    ("marker", "place", "python", "expected"),
    [
        ('python_version < "3.15"', "linux_x86_64", "3.14t", True),
        ('python_version < "3.9"', "linux_x86_64", "3.10", False),
        ('platform_machine == "x86_64" and platform_system == "Linux"', "linux_x86_64", "3.11", True),
        ('platform_machine == "x86_64"', "linux_aarch64", "3.11", False),
        ('sys_platform == "win32"', "win_amd64", "3.11", True),
        ('sys_platform == "darwin"', "macosx_arm64", "3.11", True),
        ('extra == "and-cuda"', "linux_x86_64", "3.11", True),
        ("this is no marker", "linux_x86_64", "3.11", None),
    ],
)
def test_markers(marker, place, python, expected):
    assert markers.holds(marker, Environment(place, python, ("and-cuda",))) is expected


def test_an_extra_that_was_not_asked_for_does_not_count():
    assert markers.holds('extra == "and-cuda"', Environment("linux_x86_64", "3.11")) is False


def test_the_environment_has_every_name_of_pep_508():
    from packaging.markers import default_environment

    assert markers.environment("linux_x86_64", "3.11").keys() == default_environment().keys()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("nvidia-cudnn-cu12==9.1.0.70", ("nvidia-cudnn-cu12", "==9.1.0.70", "")),
        ("Typing_Extensions >= 4.8 , < 5", ("typing-extensions", "<5,>=4.8", "")),
        ("jax-cuda12-plugin[with-cuda]<=0.9,>=0.9", ("jax-cuda12-plugin", "<=0.9,>=0.9", "")),
        ('numpy>=1.26; python_version >= "3.12"', ("numpy", ">=1.26", 'python_version >= "3.12"')),
        ("protobuf (>=3.20.3,<5)", ("protobuf", "<5,>=3.20.3", "")),
        ("triton", ("triton", "", "")),
        ("torch (==2.1.0)", ("torch", "==2.1.0", "")),
        ("numpy<2; python_version < '3.9'", ("numpy", "<2", 'python_version < "3.9"')),
    ],
)
def test_requirement_lines(text, parts):
    found = versions.requirement(text)
    assert (found.name, found.spec, found.marker) == parts


# --- what is there, whose environment, what is not known ---


@pytest.mark.parametrize(
    ("spec", "version", "expected"),
    [
        ("==2.1.0", "2.1.0+cu118", True),
        ("==2.1.0+cu118", "2.1.0+cu121", False),
        ("==2.1.0+cu118", "2.1.0", None),  # an index may offer that tag for the plain version
        (">=2.0", "2.1.0rc1", True),  # it is there, so it counts
        ("==2.1.0", "2.1.0a0+32f93b1", None),  # a maker's own build
        ("==2.1.0", "2.1.0rc1", False),
        ("==0.0.32.post1", "0.0.32.post1", True),
        ("==1", "junk", None),
        ("=2.1", "2.1", None),
    ],
)
def test_whether_what_is_there_satisfies_a_specifier(spec, version, expected):
    assert versions.admits(spec, version) is expected


@pytest.mark.parametrize(
    ("marker", "place", "python", "expected"),
    [
        ('sys_platform == "linux"', "win_amd64", "3.11", False),
        ('sys_platform == "win32"', "win_amd64", "", True),
        ('platform_machine == "x86_64"', "linux_", "3.11", None),
        ('platform_system == "Linux"', "linux_", "", True),
        ('python_version < "3.9"', "linux_x86_64", "", None),
        ('python_version < "3.9" and sys_platform == "win32"', "linux_x86_64", "", False),
        ('python_version < "3.9" or python_version >= "3.9"', "linux_x86_64", "", True),
        ('python_full_version < "3.11.5"', "linux_x86_64", "3.11.4", True),
        ('sys_platform == "linux"', "", "3.11", None),
        ('"cu" in extra', "linux_x86_64", "3.11", False),
        ("", "", "", True),
    ],
)
def test_a_marker_is_judged_by_the_environment_given_or_not_at_all(marker, place, python, expected):
    assert markers.holds(marker, Environment(place, python)) is expected


def test_the_machine_that_asks_decides_no_marker(monkeypatch):
    """A recorded Windows machine replays on Linux: ``packaging`` would fill in what it is not given."""
    import packaging.markers

    marker = 'sys_platform == "win32" and platform_release == "" and python_version >= "3.12"'
    monkeypatch.setattr(packaging.markers, "default_environment", dict)
    assert markers.holds(marker, Environment("win_amd64", "3.12")) is True
    assert markers.holds(marker, Environment("win_amd64", "3.11")) is False


@pytest.mark.parametrize(
    ("platform", "arch", "place"),
    [
        ("linux", "x86_64", "linux_x86_64"),
        ("wsl2", "amd64", "linux_x86_64"),
        ("linux", "", "linux_"),
        ("windows", "", "win_amd64"),
        ("windows", "arm64", "win_arm64"),
        ("darwin", "arm64", "macosx_arm64"),
        ("", "x86_64", ""),
    ],
)
def test_the_wheel_platform_of_a_system_and_machine(platform, arch, place):
    assert markers.place_of(platform, arch) == place


@pytest.mark.parametrize("text", ["", "???", "==", "git+https://example.org/x", "./here", "torch=2.1"])
def test_what_is_no_requirement_by_name_is_none(text):
    assert versions.requirement(text) is None


def test_an_address_and_extras_are_read():
    found = versions.requirement("jax[cuda12, K8s] @ https://example.org/jax.whl ; python_version > '3.8'")
    assert (found.name, found.extras, found.url) == ("jax", ("cuda12", "k8s"), "https://example.org/jax.whl")
    assert found.marker == 'python_version > "3.8"'
