"""``matrix show PACKAGE==VERSION``: everything that decides, under the name that was typed, with near releases named."""

from __future__ import annotations

import pytest

from compat.app.showing import show
from compat.errors import InputError
from compat.matrix import matrix
from compat.tables import plain


def shown(text):
    return plain(show(matrix(), text)[0])["rows"]


def test_all_that_decides_is_told_in_json():
    row = next(row for row in shown("torch==2.9.1") if row["version"] == "2.9.1" and row["platforms"] == "linux_x86_64")
    assert (row["cuDNN"], row["NCCL"], row["date"]) == ("9.10.2.21", "2.27.5", "2025-11-12")


@pytest.mark.parametrize(
    ("text", "runtime", "platform", "drivers"),
    [
        ("torch==2.9.1", "cuda12.8", "linux_x86_64", ("525.60.13", "570.26")),
        ("torch==2.9.1", "cuda12.8", "win_amd64", ("527.41", "570.65")),
        ("torch==2.9.1", "rocm6.4", "linux_x86_64", ("6.1.0 to 6.4", "")),
        ("torch==2.9.1", "cpu", "linux_x86_64", ("", "")),
        ("lmdeploy==0.0.10", "cuda11", "linux_x86_64", ("450.80.02", "")),  # of a major alone no toolkit is known
    ],
)
def test_the_lowest_driver_is_told_and_which_compiles_ptx(text, runtime, platform, drivers):
    row = next(row for row in shown(text) if row["runtime"] == runtime and row["platforms"] == platform)
    assert (row["driver"], row.get("driver for PTX", "")) == drivers


def test_variants_that_an_extra_or_a_distribution_tells_apart_look_different():
    rows = [tuple(sorted((key, str(value)) for key, value in row.items())) for row in shown("tensorflow==2.15.0")]
    assert len(rows) == len(set(rows))


def test_a_build_is_shown_by_the_version_it_is_published_under():
    assert {row["runtime"] for row in shown("paddlepaddle==2.2.2.post112")} == {"cuda11.2"}


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


def tables(text):
    return {table.title: plain(table)["rows"] for table in show(matrix(), text)}


@pytest.mark.parametrize(
    ("text", "platforms", "glibc", "date"),
    [
        ("tensorflow==1.2.0", "linux_x86_64", "2.17", "2017-06-15"),  # older than the first row
        ("tensorflow==2.16.0rc0", "linux_x86_64", "2.17", "2024-02-23"),  # a preview
        ("torch-memory-saver==0.0.10", "linux_x86_64", "2.17", "2026-09-12"),  # a distribution without rows
        ("nvidia-cublas-cu12==12.4.5.8", "linux_x86_64", "2.17", "2024-04-03"),  # libraries of a toolkit
    ],
)
def test_a_release_without_rows_is_shown_as_it_was_measured(text, platforms, glibc, date):
    title, rows = next((title, rows) for title, rows in tables(text).items() if "as measured" in title)
    assert "without rows to judge by" in title
    linux = next(row for row in rows if platforms in row["platforms"].split())
    assert (linux["glibc"], linux["date"], linux["how"]) == (glibc, date, "measured")
    assert linux["Python"]


def test_pythons_of_the_stable_abi_are_spelled_out_and_free_threaded_ones_are_not_among_them():
    (row,) = tables("torch-memory-saver==0.0.10")["torch-memory-saver 0.0.10 as measured, without rows to judge by"]
    pythons = row["Python"].split()
    assert pythons[:3] == ["3.9", "3.10", "3.11"]
    assert not [python for python in pythons if python.endswith("t")]


def test_a_release_with_rows_tells_what_its_wheels_say_besides():
    found = tables("cupy-cuda13x==14.0.1")
    lines = [row["requirement"] for row in found["What their metadata says besides"]]
    assert any(line.startswith("cuda-toolkit[") and 'extra == "ctk"' in line for line in lines)
    assert not [line for line in lines if line.startswith("numpy")]  # which a row has


@pytest.mark.parametrize(
    ("text", "unsaid", "how"),
    [
        ("transformers==5.20.2", "torch>=2.6", "documented"),
        ("torch==2.2.0", "numpy<2", "documented"),
        ("sgl-kernel==0.3.21", "torch==2.9.1", "inferred"),  # by the symbols that its objects ask for
    ],
)
def test_a_bound_that_no_wheel_says_is_not_told_as_measured_in_it(text, unsaid, how):
    found = tables(text)
    hidden = found["What they need and their metadata does not say"]
    assert [(row["requirement"], row["how"]) for row in hidden] == [(unsaid, how)]
    assert unsaid not in [row["requirement"] for row in found.get("What they require", ())]


def test_the_wheels_that_were_read_and_the_libraries_they_load_are_named():
    read = tables("sgl-kernel==0.3.21")["What was read in the wheels"]
    linux = next(row for row in read if row["platform"] == "linux_x86_64")
    assert linux["wheel"].startswith("sgl_kernel-0.3.21-")
    assert "libcudart.so.12" in linux["needs"].split()


def test_releases_of_a_distribution_without_rows_are_listed_newest_first():
    (rows,) = tables("torch-memory-saver").values()
    assert [row["release"] for row in rows].index("0.0.10") < [row["release"] for row in rows].index("0.0.9")


def test_a_release_that_was_never_published_is_not_shown():
    with pytest.raises(InputError):
        show(matrix(), "torch-memory-saver==77.0")
