"""What a person reads about two states of the matrix: each way in which rows can differ, in words."""

import pytest

from compat.matrix import Matrix, store
from compat.matrix.diff import diff

ROW = 'cuda = "13.0.0", driver_linux = "580.65.06", source = "s", how = "documented"'
BUILD = 'versions = "2.15.0", runtime = "cuda12.6", python = "3.10", platforms = "linux_x86_64", source = "s", how = "measured"'


def of(path, text):
    path.write_text(f'schema = "envcheck.matrix/1"\n{text}\n[sources]\ns = "a source"\n')
    return Matrix(store.Live([path]))


@pytest.fixture
def told(tmp_path):
    def compare(before, after):
        changes = diff(of(tmp_path / "a.toml", before), of(tmp_path / "b.toml", after))
        return [(change.table, str(change)) for change in changes]

    return compare


def cuda(*rows):
    return "cuda = [\n" + "".join(f"  {{ {row} }},\n" for row in rows) + "]"


def torch(*rows):
    return "builds.torch = [\n" + "".join(f"  {{ {row} }},\n" for row in rows) + "]"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (ROW, f'{ROW}, branch = "R580"', "branch not stated -> R580"),
        (f'{ROW}, branch = "R580"', ROW, "branch R580 -> not stated"),
        (ROW, f'{ROW}, targets = "sm_80 sm_90"', "targets: adds sm_80 sm_90"),
        (f'{ROW}, targets = "sm_80 sm_90"', f'{ROW}, targets = "sm_90"', "targets: drops sm_80"),
        (f'{ROW}, targets = "sm_80 sm_90"', f'{ROW}, targets = "sm_90 sm_80"', "targets: another order"),
        (ROW, f'{ROW}, note = "{"x" * 91}"', "note changed"),
        (ROW, f'{ROW}, note = "{"x" * 90}"', f"note not stated -> {'x' * 90}"),
        (ROW, ROW.replace("documented", "measured"), "how documented -> measured"),
    ],
)
def test_how_one_field_changed(told, old, new, words):
    assert told(cuda(old), cuda(new)) == [("cuda", f"cuda 13.0.0 {words}")]


def test_several_fields_of_a_row_are_one_line(told):
    (change,) = told(cuda(ROW), cuda(f'{ROW.replace("580.65.06", "580.82.07")}, branch = "R580"'))
    assert change[1] == "cuda 13.0.0 driver_linux 580.65.06 -> 580.82.07; branch not stated -> R580"


def test_a_row_that_comes_is_told_with_its_first_facts_and_without_how_it_is_known(told):
    row = f'{ROW}, branch = "R580", targets = "sm_80", ptx = "9.0"'
    ((_, words),) = told("", cuda(row))
    assert words.startswith("cuda 13.0.0 added: ")
    assert words.count(",") == 2
    assert "580.65.06" in words
    assert "documented" not in words


def test_a_row_that_goes_is_told_before_those_that_come(told):
    other = ROW.replace("13.0.0", "13.1.0")
    assert [words.split(":")[0] for _, words in told(cuda(ROW), cuda(other))] == [
        "cuda 13.0.0 removed",
        "cuda 13.1.0 added",
    ]


def test_long_lists_are_cut_and_counted(told):
    names = [f"sm_{number}" for number in range(100, 160)]
    ((_, words),) = told(cuda(ROW), cuda(f'{ROW}, targets = "{" ".join(names)}"'))
    assert words.endswith(" ... (60)")
    assert len(words) < 140


def test_frameworks_come_before_all_other_tables(told):
    found = told("", f"{cuda(ROW)}\n{torch(BUILD)}")
    assert [table for table, _ in found] == ["builds.torch", "cuda"]


def test_a_build_without_gpu_code_says_so(told):
    bare = BUILD.replace('runtime = "cuda12.6", ', 'runtime = "-", ')
    ((_, words),) = told("", torch(bare))
    assert words == "torch 2.15.0 added: no GPU code"


def test_a_build_that_comes_to_a_release_says_for_which_platforms(told):
    arm = BUILD.replace("linux_x86_64", "linux_aarch64")
    assert told(torch(BUILD), torch(BUILD, arm)) == [
        ("builds.torch", "torch 2.15.0 cuda12.6 linux_aarch64 build added for linux_aarch64")
    ]


def test_a_release_is_compared_with_the_one_before_it(told):
    newer = (
        BUILD.replace("2.15.0", "2.16.0").replace("3.10", "3.11").replace("linux_x86_64", "linux_x86_64 linux_aarch64")
    )
    assert told(torch(BUILD), torch(BUILD, newer)) == [
        ("builds.torch", "torch 2.16.0 added: cuda12.6; drops Python 3.10; brings Python 3.11; brings linux_aarch64")
    ]


def test_the_first_release_of_a_package_brings_nothing_to_compare(told):
    assert told("", torch(BUILD)) == [("builds.torch", "torch 2.15.0 added: cuda12.6")]


def test_the_order_of_rows_and_what_sources_say_is_no_change(told):
    other = ROW.replace("13.0.0", "13.1.0")
    assert told(cuda(ROW, other), cuda(other, ROW)) == []
