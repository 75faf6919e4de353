"""Driver floors, branches and what they serve."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.matrix import matrix
from compat.matrix.drivers import driver_branch, driver_cuda, driver_floor, serves, support

MATRIX = matrix()

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


@pytest.mark.parametrize(("cuda", "exact", "family", "windows"), FLOORS)
def test_floors_are_those_of_the_release_notes(cuda, exact, family, windows):
    linux = driver_floor(MATRIX, cuda)
    assert (linux.exact, linux.family) == (exact, family)
    assert driver_floor(MATRIX, cuda, "windows").exact == windows
    assert "docs.nvidia.com" in linux.source


def test_a_release_without_a_floor_says_so():
    floor = driver_floor(MATRIX, "13.4.1")
    assert floor.exact == ""
    assert "no Linux driver for CUDA 13.4.1" in floor.why
    assert floor.lowest == "580.65.06"


@pytest.mark.parametrize("cuda", ["99.9", "not a version", "", "12.8.1-1"])
def test_an_unknown_release_has_no_floor_and_no_verdict(cuda):
    assert "the matrix has no CUDA" in driver_floor(MATRIX, cuda).why
    assert support(MATRIX, cuda, "580.65.06") == "unknown"


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


@pytest.mark.parametrize(("cuda", "driver", "expected"), SUPPORT)
def test_how_a_driver_runs_a_release(cuda, driver, expected):
    assert support(MATRIX, cuda, driver) == expected


ORDER = {"none": 0, "minor": 1, "full": 2}
RELEASES = [row.cuda for row in MATRIX.table("cuda")]
DRIVERS = st.tuples(st.integers(384, 620), st.integers(0, 250), st.integers(0, 20)).map(
    lambda parts: ".".join(map(str, parts))
)


@given(cuda=st.sampled_from(RELEASES), left=DRIVERS, right=DRIVERS)
def test_a_newer_driver_never_runs_less(cuda, left, right):
    older, newer = sorted((left, right), key=lambda text: tuple(map(int, text.split("."))))
    if MATRIX.cuda(cuda).driver_linux:
        assert ORDER[support(MATRIX, cuda, older)] <= ORDER[support(MATRIX, cuda, newer)]


@given(st.sampled_from([row for row in MATRIX.table("cuda") if row.driver_linux]))
def test_the_driver_of_a_release_runs_it_in_full_and_reports_it(row):
    assert support(MATRIX, row.cuda, row.driver_linux) == "full"
    if "driver-branch" not in row.exempt:
        assert row.cuda.startswith(driver_cuda(MATRIX, row.driver_linux))


def test_branches_by_version():
    assert driver_branch(MATRIX, "535.309.01").branch == "R535"
    assert driver_branch(MATRIX, "537.13", "windows").branch == "R535"
    assert driver_branch(MATRIX, "537.13") is None
    assert driver_cuda(MATRIX, "565.57.01") == "12.7"
    assert driver_cuda(MATRIX, "999.1") == ""


def test_devices_that_newer_drivers_dropped():
    assert serves(MATRIX, "470.256.02", "sm_35") is True
    assert serves(MATRIX, "495.46", "sm_35") is False
    assert serves(MATRIX, "580.65.06", "sm_70") is True
    assert serves(MATRIX, "590.44.01", "sm_70") is False
    assert serves(MATRIX, "610.43.02", "sm_75") is True
    assert serves(MATRIX, "610.43.02", "gfx1100") is None
