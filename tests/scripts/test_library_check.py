"""What CUDA's own wheels say of library rows, and whether what a build pins is there to be installed."""

from __future__ import annotations

from types import SimpleNamespace

import library_check
import pytest


def build(*requires, fails=""):
    return SimpleNamespace(install_name="jax", version="1.0", requires=requires, fails=fails)


@pytest.mark.parametrize(
    ("line", "there", "missing"),
    [
        ("jaxlib==0.4.22", ["0.4.21", "0.4.23"], "jaxlib==0.4.22"),
        ("jaxlib==0.4.22", ["0.4.22"], None),
        ("jaxlib==0.4.22", ["0.4.22.0"], None),  # the same number
        ("jaxlib==0.4.*", ["0.4.23"], None),
        ("jaxlib==0.5.*", ["0.4.23"], "jaxlib==0.5.*"),
        ("jaxlib>=0.5", ["0.4.23"], None),  # no exact pin
        ("jaxlib==0.4.22+cuda11.cudnn86", ["0.4.22"], None),  # of another index
        ("jaxlib==0.5.0rc1", ["0.4.22"], None),  # nothing is said of pins on previews
        ("jaxlib==0.4.22", [], None),  # not measured at all
        ('jaxlib[cuda]==0.4.22; python_version < "3.9"', ["0.4.23"], "jaxlib==0.4.22"),
    ],
)
def test_a_pin_on_what_the_index_lacks_is_told(line, there, missing):
    found = list(library_check.pins(build(line), lambda _: {key: {} for key in there}))
    assert [(one.field, one.ours) for one in found] == ([("pin", missing)] if missing else [])


def test_a_row_that_says_itself_that_it_cannot_be_installed_is_right():
    assert list(library_check.pins(build("jaxlib==0.4.22", fails="there is none"), lambda _: {"0.1": {}})) == []


@pytest.mark.parametrize(
    ("rows", "wheels", "told"),
    [
        ({"2.20.5": "11 12"}, {"11": ["2.20.5"], "12": ["2.20.5"]}, []),
        ({"2.20.5": "12"}, {"12": ["2.20.3", "2.20.5"]}, [("2.20.3", "release", "CUDA 12")]),
        ({"2.20.5": "12"}, {"11": ["2.20.5"], "12": ["2.20.5"]}, [("2.20.5", "cuda", "11")]),
        ({"2.20.5": "12.4"}, {"12": ["2.20.5"]}, []),
        ({"2.4.8": "10.1"}, {"12": []}, []),  # older than any wheel
        ({}, {"12": ["2.9", "2.10"]}, [("2.9", "release", "CUDA 12"), ("2.10", "release", "CUDA 12")]),
    ],
)
def test_library_rows_are_laid_beside_the_wheels_of_each_major(rows, wheels, told):
    table = [SimpleNamespace(version=version, cuda=tuple(cuda.split())) for version, cuda in rows.items()]
    published = {f"nvidia-nccl-cu{major}": {key: {} for key in versions} for major, versions in wheels.items()}
    matrix = SimpleNamespace(table=lambda _: table)
    found = library_check.libraries(matrix, "nccl", lambda name: published.get(name, {}))
    assert [(one.version, one.field, one.theirs) for one in found] == told


def test_a_withdrawn_release_of_a_library_is_not_missed():
    published = {"nvidia-cudnn-cu12": {"9.0": {"yanked": True}}}
    matrix = SimpleNamespace(table=lambda _: [])
    assert list(library_check.libraries(matrix, "cudnn", lambda name: published.get(name, {}))) == []
