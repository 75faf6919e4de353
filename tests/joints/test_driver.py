"""Drivers against CUDA releases and devices: floors, minor-version compatibility, the last branch of a device."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import versions
from compat.joints.driver import MINOR, floor, past_branch, ptx_floor, serves, verdict
from compat.joints.verdict import FITS, Clash, Unknown
from compat.matrix import matrix
from compat.matrix.drivers import driver_cuda

MATRIX = matrix()


def runs(cuda, driver, platform="linux"):
    found = verdict(MATRIX, cuda, driver, platform != "linux")
    return "full" if found == FITS else "minor" if found == MINOR else {Clash: "none", Unknown: "unknown"}[type(found)]


# NVIDIA, CUDA Toolkit release notes, tables 2 and 3 (minimum versions; minor-version compatibility)
FLOORS = [
    ("10.2", "440.33", "", "441.22"),
    ("11.0.3", "450.51.06", "450.80.02", "451.82"),
    ("11.8", "520.61.05", "450.80.02", "520.06"),
    ("12.0", "525.60.13", "525.60.13", "527.41"),
    ("12.1.1", "530.30.02", "525.60.13", "531.14"),
    ("12.4.1", "550.54.15", "525.60.13", "551.78"),
    ("12.8.1", "570.124.06", "525.60.13", "572.61"),
    ("12.9.1", "575.57.08", "525.60.13", "576.57"),
    ("13.0.0", "580.65.06", "580.65.06", ""),
]


SUPPORT = [
    ("12.8", "570.124.06", "full"),
    ("12.8", "535.104.05", "minor"),
    ("12.8", "525.60.13", "minor"),
    ("12.8", "525.60.11", "none"),
    ("12.8", "520.61.05", "none"),
    ("11.8", "470.256.02", "minor"),
    ("10.2", "440.33.01", "full"),
    ("10.2", "418.39", "none"),
    ("13.4.1", "615.71.09", "full"),
    ("13.4.1", "595.45.04", "minor"),
    ("13.4.1", "570.124.06", "none"),
]


ORDER = {"none": 0, "minor": 1, "full": 2}
RELEASES = [row.cuda for row in MATRIX.table("cuda")]
DRIVERS = st.tuples(st.integers(384, 620), st.integers(0, 250), st.integers(0, 20)).map(
    lambda parts: ".".join(map(str, parts))
)


@pytest.mark.parametrize(("cuda", "driver", "expected"), SUPPORT)
def test_how_a_driver_runs_a_release(cuda, driver, expected):
    assert runs(cuda, driver) == expected


@given(cuda=st.sampled_from(RELEASES), left=DRIVERS, right=DRIVERS)
def test_a_newer_driver_never_runs_less(cuda, left, right):
    older, newer = sorted((left, right), key=lambda text: tuple(map(int, text.split("."))))
    if MATRIX.cuda(cuda).driver_linux:
        assert ORDER[runs(cuda, older)] <= ORDER[runs(cuda, newer)]


@given(st.sampled_from([row for row in MATRIX.table("cuda") if row.driver_linux]))
def test_the_driver_of_a_release_runs_it_in_full_and_reports_it(row):
    assert runs(row.cuda, row.driver_linux) == "full"
    if "driver-branch" not in row.exempt:
        assert row.cuda.startswith(driver_cuda(MATRIX, row.driver_linux))


@pytest.mark.parametrize(
    ("cuda", "driver", "platform", "expected"),
    [
        ("12.8", "572.61", "windows", "full"),
        ("12.8", "537.13", "windows", "minor"),
        ("12.8", "537.13", "wsl2", "minor"),
        ("12.8", "512.0", "windows", "none"),
        ("13.5.0", "999.1", "linux", "minor"),  # a driver that is not known reports no CUDA version
        ("13.5.0", "579.1", "linux", "none"),
        ("12.8", "999.1", "linux", "full"),
    ],
)
def test_how_a_driver_runs_a_release_elsewhere_and_beyond_what_is_known(cuda, driver, platform, expected):
    assert runs(cuda, driver, platform) == expected


@pytest.mark.parametrize(("cuda", "exact", "family", "windows"), FLOORS)
def test_floors_are_those_of_the_release_notes(cuda, exact, family, windows):
    linux = floor(MATRIX, cuda)
    assert (linux.exact, linux.family) == (exact, family)
    assert floor(MATRIX, cuda, True).exact == windows
    assert "docs.nvidia.com" in MATRIX.cite(linux.row)


@pytest.mark.parametrize("cuda", ["99.9", "not a version", "", "12.8.1-1"])
def test_an_unknown_release_has_no_floor_and_no_verdict(cuda):
    assert floor(MATRIX, cuda) is None
    assert runs(cuda, "580.65.06") == "unknown"


@pytest.mark.parametrize(
    ("driver", "target", "wants"),
    [
        ("470.256.02", "sm_35", ""),
        ("495.46", "sm_35", "<471"),
        ("580.65.06", "sm_70", ""),
        ("590.44.01", "sm_70", "<581"),
        ("610.43.02", "sm_75", ""),
        ("535.104.05", "sm_120", ">=570.26"),
    ],
)
def test_devices_that_drivers_dropped_or_do_not_know_yet(driver, target, wants):
    found = serves(MATRIX, target, driver)
    assert found == FITS if not wants else (isinstance(found, Clash) and found.wants == wants)


@pytest.mark.parametrize("target", ["sm_99", "gfx90a", "", "8.9", "compute_80"])
def test_an_unknown_device_is_served_neither_yes_nor_no(target):
    assert isinstance(serves(MATRIX, target, "580.65.06"), Unknown)


@pytest.mark.parametrize(
    ("driver", "windows", "last"),
    [
        ("580.95.05", False, 0),
        ("582.28", False, 580),  # no such driver on Linux; one numbered so would be of a later branch
        ("581.57", True, 0),
        ("582.28", True, 0),
        ("591.59", True, 580),
    ],
)
def test_on_windows_a_branch_goes_over_several_numbers(driver, windows, last):
    assert past_branch(MATRIX, "sm_61", driver, windows) == last


@given(st.sampled_from([row.cc.replace(".", "") for row in MATRIX.table("capabilities")]), DRIVERS, DRIVERS)
def test_a_device_once_dropped_never_returns(cc, left, right):
    older, newer = sorted((left, right), key=versions.release)
    if not past_branch(MATRIX, f"sm_{cc}", newer):
        assert not past_branch(MATRIX, f"sm_{cc}", older)


# PTX ISA, "Release Notes": the ISA that each toolkit brought
@pytest.mark.parametrize(
    ("isa", "first"),
    [
        ("6.0", "9.0"),
        ("7.0", "11.0"),
        ("7.8", "11.8"),
        ("8.0", "12.0"),
        ("8.5", "12.5"),
        ("8.6", "12.8"),
        ("9.0", "13.0"),
    ],
)
@pytest.mark.parametrize("windows", [False, True])
def test_ptx_needs_the_driver_of_the_first_release_that_has_it(isa, first, windows):
    assert ptx_floor(MATRIX, isa, windows).exact == floor(MATRIX, first, windows).exact


def test_ptx_that_no_release_has_is_unknown():
    assert ptx_floor(MATRIX, "99.0") is None


@given(st.sampled_from([row for row in MATRIX.table("cuda") if row.ptx and row.driver_linux]))
def test_no_release_needs_a_newer_driver_for_its_ptx_than_for_itself(row):
    assert versions.at_least(row.driver_linux, ptx_floor(MATRIX, row.ptx).exact)
