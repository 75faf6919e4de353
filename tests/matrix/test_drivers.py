"""Branches of drivers, and what they bring."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import versions
from compat.matrix import matrix
from compat.matrix.drivers import board_cudas, driver_branch, driver_cuda, forward_package

MATRIX = matrix()


def test_branches_by_version():
    assert driver_branch(MATRIX, "535.309.01").branch == "R535"
    assert driver_branch(MATRIX, "537.13", "windows").branch == "R535"
    assert driver_branch(MATRIX, "537.13") is None
    assert driver_cuda(MATRIX, "565.57.01") == "12.7"
    assert driver_cuda(MATRIX, "999.1") == ""


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
        ("38.2.0", {"13.0"}),
        ("39.2.1", {"13.2"}),
        ("99.1", set()),
        ("", set()),
    ],
)
def test_the_cuda_that_a_jetson_system_brings(l4t, cudas):
    assert board_cudas(MATRIX, l4t) == cudas
