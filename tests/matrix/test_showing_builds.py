"""``matrix show PACKAGE==VERSION``: everything that decides, under the name that was typed, with near releases named."""

from __future__ import annotations

import pytest

from compat.app.showing import show
from compat.errors import InputError
from compat.matrix import matrix
from compat.matrix.listing import plain


def shown(text):
    return plain(show(matrix(), text)[0])["rows"]


def test_all_that_decides_is_told_in_json():
    row = next(row for row in shown("torch==2.9.1") if row["version"] == "2.9.1" and row["platforms"] == "linux_x86_64")
    assert (row["cuDNN"], row["NCCL"], row["date"]) == ("9.10.2.21", "2.27.5", "2025-11-12")


def test_variants_that_an_extra_or_a_distribution_tells_apart_look_different():
    rows = [tuple(sorted((key, str(value)) for key, value in row.items())) for row in shown("tensorflow==2.15.0")]
    assert len(rows) == len(set(rows))


def test_a_distribution_is_shown_by_its_own_releases():
    assert {row["runtime"] for row in shown("tensorflow-rocm==2.14.0.600")} == {"rocm6.0"}


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [("torch==2.4.2", "2.4.1", "2.15.0"), ("tensorflow-rocm==2.9.0", "2.9.1", "cuda")],
)
def test_a_release_that_is_not_there_is_told_with_those_next_to_it(text, near, far):
    with pytest.raises(InputError) as caught:
        show(matrix(), text)
    assert near in caught.value.expected
    assert far not in caught.value.expected


def test_a_preview_is_not_the_final_release_of_its_number():
    with pytest.raises(InputError):
        show(matrix(), "torch==2.14.0.dev20260701")


def test_a_library_with_a_package_is_shown_as_both():
    titles = [found.title for found in show(matrix(), "tensorrt==10.9.0")]
    assert titles[0].startswith("tensorrt 10.9.0")
    assert any(title.startswith("TensorRT 10.9.0") for title in titles[1:])
