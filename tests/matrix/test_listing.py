"""``matrix list``, ``show`` and ``diff``: every table can be read, every name leads somewhere, changes are told."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.app.showing import show
from compat.errors import InputError
from compat.matrix import Matrix, matrix, store
from compat.matrix.diff import diff
from compat.matrix.listing import by_release, list_table, subjects
from compat.matrix.rows import Build
from compat.tables import plain

MATRIX = matrix()


@pytest.mark.parametrize("subject", subjects())
def test_each_subject_is_a_full_table_with_citations(subject):
    table = list_table(MATRIX, subject)
    assert table.lines
    assert all(len(line.cells) == len(table.columns) for line in table.lines)
    assert all(key in table.sources for line in table.lines for key in line.source)
    assert all(line.origin.endswith(".toml") for line in table.lines)
    document = json.loads(json.dumps(plain(table)))
    assert len(document["rows"]) == len(table.lines)
    assert set(document["rows"][0]) >= set(table.columns) | {"how", "source"}


def test_a_table_has_a_line_per_row():
    for subject in ("cuda", "drivers", "gpus", "images", "rocm", "systems", "accelerators"):
        assert len(list_table(MATRIX, subject).lines) == len(MATRIX.table(subject))


@pytest.mark.parametrize(
    ("releases", "order"),
    [
        ("2.0.0 1.13.1 2.0.0rc1 10.0", "1.13.1 2.0.0rc1 2.0.0 10.0"),
        ("1.0.post1 1.0 1.0.1", "1.0 1.0.post1 1.0.1"),
        ("2.0 r1.7 24.05-py3 1.0", "24.05-py3 r1.7 1.0 2.0"),
        ("", ""),
    ],
)
def test_releases_are_in_the_order_of_pep440_behind_what_is_no_version(releases, order):
    builds = [
        Build(package="x", versions=(release,), runtime="cpu", source=(), how="measured")
        for release in releases.split()
    ]
    assert " ".join(by_release(builds)) == order
    assert sum(map(len, by_release(builds + builds).values())) == 2 * len(builds)


def test_an_unknown_subject_is_answered_with_those_there_are():
    with pytest.raises(InputError, match="frameworks, companions"):
        list_table(MATRIX, "colours")


def text_of(tables):
    return "\n".join(" | ".join(line.cells) for table in tables for line in table.lines)


SHOWN = {
    "cuda 12.8": ("driver_linux | 570.26", "driver_linux | 570.124.06"),
    "CUDA12.8.1": ("family_linux | 525.60.13",),
    "rocm 6.4.1": ("stream | classic",),
    "dg2": ("architecture | Xe-HPG", "Intel Arc A770", "torch | 2.5.0 (xpu)"),
    "Arc B580": ("target | bmg", "computes in | fp64"),
    "ascend": ("ascend | torch-npu",),
    "torch-musa": ("musa | torch-musa | 2.5.0",),
    "tensorflow 2.15": ("2.15.1 |", "2.15.0.post1 |", "2.15.0 |"),
    "tensorflow==2.15": ("cuda12.2 | 2.15.0 |",),
    "torch 2.9": ("2.9.1 |", "2.9.0 |"),
    "sm_120": ("architecture | Blackwell", "NVIDIA GeForce RTX 5090"),
    "12.0": ("first_cuda | 12.8",),
    "gfx1100": ("generic | gfx11-generic", "AMD Radeon RX 7900 XTX"),
    "RTX 4090": ("target | sm_89", "memory (GiB) | 24"),
    "10de:2684": ("name | NVIDIA GeForce RTX 4090",),
    "driver 535": ("cuda | 12.2", "kind | lts"),
    "R535": ("eol | 2026-06-01",),
    "535.104.05": (
        "branch | R535",
        "12.2.0 | yes",
        "12.9.1 | by minor-version compatibility",
        "13.0.0 | no",
        "11.8.0 | yes",
    ),
    "driver 580.65.06": ("branch | R580", "13.0.0 | yes", "13.2.0 | by minor-version compatibility"),
    "566.36": ("branch | R565", "12.6.0 | yes"),  # no Linux branch has this number: Windows
    "nvidia/cuda:12.9.1-base-ubuntu22.04": ("cuda | 12.9.1", "driver>=570 and driver<571", "tesla"),
    "nvidia/cuda": ("nvidia/cuda:12.4.1-{flavour}-ubuntu22.04",),
    "ubuntu22.04": ("glibc | 2.35", "nvidia/cuda:12.4.1-{flavour}-ubuntu22.04"),
    "rhel9.4": ("glibc | 2.34",),
    "cudnn 9.1.0": ("version | 9.1.0.70",),
    "jetpack 6.2": ("l4t | 36.4.3",),
    "l4t 36.4.3": ("jetpack | 6.2",),
    "torch==2.0.1": ("2.0.1+cu118",),
    "torch 2.0.1": ("2.0.1+cu118",),
    "PyTorch": ("2.0.1",),
}


@pytest.mark.parametrize(("name", "expected"), [item for item in SHOWN.items() if item[1]])
def test_what_is_shown(name, expected):
    shown = text_of(show(MATRIX, name))
    assert [words for words in expected if words not in shown] == []


def test_what_is_not_known_is_answered_with_what_is_near():
    with pytest.raises(InputError, match="RTX 4090"):
        show(MATRIX, "RTX 4O90")
    with pytest.raises(InputError, match="torch"):
        show(MATRIX, "torhc")
    with pytest.raises(InputError, match=r"one of .*2\.15\.0"):
        show(MATRIX, "torch==99.0")


@given(st.text(max_size=60))
def test_no_name_breaks_show(name):
    try:
        assert show(MATRIX, name)
    except InputError as error:
        assert str(error)


BEFORE = """\
schema = "envcheck.matrix/1"
builds.torch = [
  { versions = "2.15.0", runtime = "cuda12.6", python = "3.10 3.11", platforms = "linux_x86_64", kernels = "sm_70 sm_80", glibc = "2.17", source = "s", how = "measured" },
  { versions = "2.15.0", runtime = "cpu", python = "3.10 3.11", platforms = "linux_x86_64", source = "s", how = "measured" },
]
cuda = [ { cuda = "13.0.0", driver_linux = "580.65.06", source = "s", how = "documented" } ]
requires = [ { name = "x", expression = "cuda>=13.0", source = "s", how = "measured" } ]
[sources]
s = "a source"
"""


def of(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    return Matrix(store.Live([path]))


def told(tmp_path, after):
    return [str(change) for change in diff(of(tmp_path, BEFORE, "a.toml"), of(tmp_path, after, "b.toml"))]


def test_nothing_new_is_no_change(tmp_path):
    assert told(tmp_path, BEFORE.replace("a source", "a better citation")) == []
    assert diff(MATRIX, matrix()) == ()


def test_a_new_release_is_told_with_what_it_brings_and_drops(tmp_path):
    new = '  { versions = "2.16.0", runtime = "cuda13.0", python = "3.11 3.12", platforms = "linux_x86_64", kernels = "sm_80", source = "s", how = "measured" },\n'
    new += new.replace("cuda13.0", "cuda13.2")
    changes = told(tmp_path, BEFORE.replace("]\ncuda", f"{new}]\ncuda"))
    assert changes == ["torch 2.16.0 added: cuda13.0, cuda13.2; drops sm_70; drops Python 3.10; brings Python 3.12"]


def test_changes_within_a_release(tmp_path):
    changes = told(tmp_path, BEFORE.replace('glibc = "2.17"', 'glibc = "2.28"').replace("sm_70 sm_80", "sm_80 sm_120"))
    assert changes == ["torch 2.15.0 cuda12.6 linux_x86_64 glibc 2.17 -> 2.28; kernels: drops sm_70, adds sm_120"]


def test_builds_and_releases_that_go(tmp_path):
    lines = BEFORE.splitlines(keepends=True)
    assert told(tmp_path, "".join(line for line in lines if '"cpu"' not in line)) == [
        "torch 2.15.0 cpu linux_x86_64 build removed"
    ]
    assert told(tmp_path, "".join(line for line in lines if "2.15.0" not in line)) == ["torch 2.15.0 removed"]


def test_rows_of_other_tables(tmp_path):
    after = BEFORE.replace("580.65.06", "580.82.07").replace(
        '"x", expression = "cuda>=13.0"', '"y", expression = "cuda>=13.1"'
    )
    assert told(tmp_path, after) == [
        "cuda 13.0.0 driver_linux 580.65.06 -> 580.82.07",
        "requires x removed",
        "requires y added: expression cuda>=13.1",
    ]


@pytest.mark.parametrize(
    "text",
    ["cuda = [ { cuda = 1 } ]", "cuda = [ { colour = 'red' } ]", "cuda = 5", "cuda = [ 1 ]", "builds.torch = [ {} ]"],
)
def test_comparing_what_is_no_matrix_is_one_clear_error(tmp_path, text):
    with pytest.raises(InputError, match="matrix check"):
        diff(of(tmp_path, text, "bad.toml"), MATRIX)


def test_what_is_shown_says_which_file_it_stands_in():
    assert "file | toolkits.toml" in text_of(show(MATRIX, "cuda 12.8.0"))


def test_a_toolkit_is_shown_with_the_older_drivers_that_cuda_compat_serves():
    last = show(MATRIX, "cuda 12.8")[-1]
    assert last.title == "cuda-compat 12.8 on older drivers"
    branches = {line.cells[1] for line in last.lines if line.cells[0] == "branches"}
    assert branches == {" ".join(row.branches) for row in MATRIX.table("forward") if row.cuda == "12.8"}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("torch 2.99", "2.15.0"),
        ("torch==2.9.7", "2.9.1, 2.10.0"),
        ("torch 1.99", "1.13.1, 2.0.0"),
        ("torch==9.9", "2.15.0"),
        ("nvidia-cufile==1.19.7", "1.20.0.107"),  # a package whose libraries alone have rows
        ("tensorflow-macos==2.13.13", "2.14.0"),  # a distribution without rows
    ],
)
def test_a_release_that_is_not_there_is_answered_with_its_neighbours(asked, expected):
    with pytest.raises(InputError) as told:
        show(MATRIX, asked)
    assert f", {expected}" in told.value.expected
    assert "is not in the matrix" in told.value.what


@pytest.mark.parametrize("tag", ["12.8.1-base-ubuntu22.04", "11.8.0-base-ubuntu22.04", "12.1.1-devel-rockylinux8"])
def test_conditions_of_an_image_are_told_once_per_driver_range_with_the_brands_they_hold_for(tag):
    """Against the expression itself, taken apart by hand: a space parts alternatives, a comma their terms."""
    (row,) = [row for row in MATRIX.table("images") if f"nvidia/cuda:{tag}" in row.references()]
    expected = {}
    for option in row.require.split():
        terms = option.split(",")
        rest = " and ".join(term for term in terms if not term.startswith("brand="))
        expected.setdefault(rest, []).extend(term[6:] for term in terms if term.startswith("brand="))
    (told,) = [each for each in show(MATRIX, f"nvidia/cuda:{tag}") if "NVIDIA_REQUIRE_CUDA" in each.title]
    assert [line.cells for line in told.lines] == [
        (rest, " ".join(brands) if brands else "any") for rest, brands in expected.items()
    ]
    assert told.lines[0].cells[1] == "any"
