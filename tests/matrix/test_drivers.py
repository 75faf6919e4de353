"""Driver floors, branches and what they serve."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import versions
from compat.matrix import matrix
from compat.matrix.drivers import (
    Floor,
    board_cudas,
    driver_branch,
    driver_cuda,
    driver_floor,
    forward_package,
    ptx_floor,
    serves,
    support,
)

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


@pytest.mark.parametrize(
    ("driver", "platform", "served"),
    [
        ("580.95.05", "linux", True),
        ("582.28", "linux", False),  # no such driver on Linux; one numbered so would be of a later branch
        ("581.57", "windows", True),
        ("582.28", "wsl2", True),
        ("591.59", "windows", False),
        ("591.59", "wsl2", False),
    ],
)
def test_on_windows_a_branch_goes_over_several_numbers(driver, platform, served):
    assert serves(MATRIX, driver, "sm_61", platform) is served


@pytest.mark.parametrize(
    ("exact", "family", "lowest"),
    [
        ("570.26", "525.60.13", "525.60.13"),
        ("520.61.05", "", "520.61.05"),
        ("", "580.65.06", "580.65.06"),
        ("99.1", "100.1", "99.1"),  # by number, not by letter
        ("", "", ""),
    ],
)
def test_the_lowest_driver_of_a_release(exact, family, lowest):
    assert Floor(cuda="x", exact=exact, family=family).lowest == lowest


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
def test_ptx_needs_the_driver_of_the_first_release_that_has_it(isa, first):
    assert ptx_floor(MATRIX, isa).exact == driver_floor(MATRIX, first).exact
    assert ptx_floor(MATRIX, isa, "windows").exact == driver_floor(MATRIX, first, "windows").exact


def test_ptx_that_no_release_has_is_unknown():
    floor = ptx_floor(MATRIX, "99.0")
    assert (floor.exact, floor.lowest) == ("", "")
    assert "no CUDA release with PTX 99.0" in floor.why


@given(st.sampled_from([row for row in MATRIX.table("cuda") if row.ptx and row.driver_linux]))
def test_no_release_needs_a_newer_driver_for_its_ptx_than_for_itself(row):
    assert versions.at_least(row.driver_linux, ptx_floor(MATRIX, row.ptx).exact)


@pytest.mark.parametrize(
    ("driver", "platform", "branch"),
    [
        ("535.104.05", "linux", "R535"),
        ("535", "linux", "R535"),
        ("536.99", "linux", None),
        ("536.99", "windows", "R535"),
        ("536.99", "wsl2", "R535"),
        ("572.61", "windows", "R570"),
        ("339.0", "windows", None),
        ("999.0", "windows", None),  # newer than all that is known: no guess
        ("999.0", "linux", None),
    ],
)
def test_the_branch_of_a_version(driver, platform, branch):
    found = driver_branch(MATRIX, driver, platform)
    assert (found.branch if found else None) == branch


@pytest.mark.parametrize("driver", ["", "N/A", "driver"])
def test_a_branch_is_asked_of_numbers_only(driver):
    with pytest.raises(ValueError, match="not a dotted version number"):
        driver_branch(MATRIX, driver)


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
    assert support(MATRIX, cuda, driver, platform) == expected


# NVIDIA, CUDA Compatibility, "Forward Compatibility": which branches take which cuda-compat package
@pytest.mark.parametrize(
    ("cuda", "driver", "package"),
    [
        ("12.8", "535.104.05", "cuda-compat-12-8"),
        ("12.8.1", "535.104.05", "cuda-compat-12-8"),
        ("11.8", "470.256.02", "cuda-compat-11-8"),
        ("12.8", "418.39", ""),
        ("12.8", "999.1", ""),
        ("10.2", "535.104.05", ""),
        ("99.9", "535.104.05", ""),
        ("", "535.104.05", ""),
    ],
)
def test_the_package_that_runs_a_release_on_an_older_driver(cuda, driver, package):
    assert forward_package(MATRIX, cuda, driver) == package


@given(st.sampled_from([(row, branch) for row in MATRIX.table("forward") for branch in row.branches]))
def test_forward_packages_serve_drivers_that_report_less(pair):
    row, branch = pair
    driver = f"{branch.removeprefix('R')}.1"
    assert forward_package(MATRIX, row.cuda, driver) == f"cuda-compat-{row.cuda.replace('.', '-')}"
    assert not versions.at_least(driver_cuda(MATRIX, driver), row.cuda)


# NVIDIA, "JetPack Archive": CUDA of each Jetson Linux release
@pytest.mark.parametrize(
    ("l4t", "cudas"),
    [
        ("36.4.3", {"12.6"}),
        ("36.4.9", {"12.6"}),  # the nearest kin of a release that is not listed
        ("36", {"12.2", "12.6"}),
        ("35.99.1", {"11.4"}),
        ("32.7.6", {"10.2"}),
        ("38.2.0", set()),  # an ordinary machine from there on
        ("99.1", set()),
        ("", set()),
    ],
)
def test_the_cuda_that_a_jetson_system_brings(l4t, cudas):
    assert board_cudas(MATRIX, l4t) == cudas


@pytest.mark.parametrize("target", ["sm_99", "gfx90a", "", "8.9", "compute_80"])
def test_an_unknown_device_is_served_neither_yes_nor_no(target):
    assert serves(MATRIX, "580.65.06", target) is None


@given(st.sampled_from([row.cc.replace(".", "") for row in MATRIX.table("capabilities")]), DRIVERS, DRIVERS)
def test_a_device_once_dropped_never_returns(cc, left, right):
    older, newer = sorted((left, right), key=versions.release)
    if serves(MATRIX, newer, f"sm_{cc}"):
        assert serves(MATRIX, older, f"sm_{cc}")
