"""A person's own rows over the shipped matrix: they add, they correct, they are checked, they say where they are from."""

import pytest

from compat.app.showing import show
from compat.errors import InputError, InputErrors
from compat.matrix import matrix
from compat.matrix.check import check
from compat.matrix.diff import diff
from compat.matrix.listing import list_table
from compat.matrix.overlays import load, user_files

HEAD = 'schema = "envcheck.matrix/1"\n\n'
TAIL = '\n[sources]\nus = "Our pipeline"\n'


def overlay(tmp_path, table, row, name="mine.toml"):
    path = tmp_path / name
    path.write_text(f'{HEAD}{table} = [\n  {{ {row}, source = "us", how = "measured" }},\n]\n{TAIL}')
    return path


def test_a_row_is_added_and_says_where_it_is_from(tmp_path):
    path = overlay(tmp_path, "gpus", 'name = "Corp X1", vendor = "nvidia", target = "sm_90"')
    both = load([path], {})
    added = [row for row in both.table("gpus") if row.name == "Corp X1"]
    assert [row.origin for row in added] == [str(path)]
    assert both.cite(added[0]) == "Our pipeline"
    assert len(both.table("gpus")) == len(matrix().table("gpus")) + 1
    assert {row.origin for row in both.table("gpus")} == {"gpus.toml", str(path)}


def test_a_row_of_the_same_key_takes_the_place_of_ours(tmp_path):
    path = overlay(tmp_path, "cuda", 'cuda = "12.8.0", driver_linux = "999.1"')
    both = load([path], {})
    assert both.cuda("12.8.0").driver_linux == "999.1"
    assert both.select("cuda", cuda="12.8.0")[0].driver_linux == "999.1"
    assert both.select("cuda", driver_linux="570.26") == ()
    assert len(both.table("cuda")) == len(matrix().table("cuda"))


def test_a_build_is_corrected_even_where_python_was_wrong(tmp_path):
    ours = next(build for build in matrix().builds("torch") if build.runtime.startswith("cuda") and build.python)
    row = f'versions = "{ours.version}", runtime = "{ours.runtime}", local = "{ours.local}", index = "{ours.index}", '
    row += f'platforms = "{" ".join(ours.platforms)}", python = "3.99"'
    both = load([overlay(tmp_path, "builds.torch", row)], {})
    same = [
        build
        for build in both.builds("torch")
        if (build.version, build.runtime, build.local, build.index, build.platforms)
        == (ours.version, ours.runtime, ours.local, ours.index, ours.platforms)
    ]
    assert [build.python for build in same] == [("3.99",)]


def test_a_build_of_an_index_that_has_no_row_is_no_build_of_the_default_one(tmp_path):
    row = 'versions = "9.9.9", runtime = "cuda12.6", index = "nowhere", platforms = "linux_x86_64"'
    both = load([overlay(tmp_path, "builds.xformers", row)], {})
    with pytest.raises(InputError, match="index is 'nowhere'"):
        both.index_url(both.builds_of("xformers", "9.9.9")[0])


def test_later_files_win(tmp_path):
    first = overlay(tmp_path, "cuda", 'cuda = "12.8.0", driver_linux = "1.1"', "a.toml")
    second = overlay(tmp_path, "cuda", 'cuda = "12.8.0", driver_linux = "2.2"', "b.toml")
    assert load([first, second], {}).cuda("12.8.0").driver_linux == "2.2"
    assert load([second, first], {}).cuda("12.8.0").driver_linux == "1.1"


def test_the_configuration_folder_is_read_in_order_and_files_given_win(tmp_path):
    folder = tmp_path / "config" / "envcheck" / "matrix"
    folder.mkdir(parents=True)
    overlay(folder, "cuda", 'cuda = "12.8.0", driver_linux = "1.1"', "10.toml")
    overlay(folder, "cuda", 'cuda = "12.8.1", driver_linux = "1.1"', "20.toml")
    (folder / "notes.txt").write_text("not a matrix")
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HOME": "/nowhere"}
    assert [path.name for path in user_files(environment)] == ["10.toml", "20.toml"]
    given = overlay(tmp_path, "cuda", 'cuda = "12.8.0", driver_linux = "3.3"')
    both = load([given], environment)
    assert (both.cuda("12.8.0").driver_linux, both.cuda("12.8.1").driver_linux) == ("3.3", "1.1")


@pytest.mark.parametrize(
    "environment", [{"XDG_CONFIG_HOME": "."}, {"HOME": "."}, {}, {"XDG_CONFIG_HOME": "", "HOME": ""}]
)
def test_rows_that_happen_to_lie_in_the_working_folder_are_not_taken(tmp_path, monkeypatch, environment):
    for place in (tmp_path, tmp_path / ".config"):
        folder = place / "envcheck" / "matrix"
        folder.mkdir(parents=True)
        overlay(folder, "cuda", 'cuda = "12.8.0", driver_linux = "1.1"')
    monkeypatch.chdir(tmp_path)
    assert user_files(environment) == ()


def test_overlays_are_laid_in_the_order_of_their_names(tmp_path):
    folder = tmp_path / "envcheck" / "matrix"
    folder.mkdir(parents=True)
    for name in ("30.toml", "10.toml", "20.toml"):
        overlay(folder, "cuda", f'cuda = "12.8.0", driver_linux = "{name[:2]}.1"', name)
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert [path.name for path in user_files(environment)] == ["10.toml", "20.toml", "30.toml"]
    assert load([], environment).cuda("12.8.0").driver_linux == "30.1"


@pytest.mark.parametrize("environment", [{}, {"XDG_CONFIG_HOME": "relative"}, {"HOME": "/does/not/exist"}])
def test_no_configuration_is_no_overlay(environment):
    assert user_files(environment) == ()


def test_home_stands_in_for_the_configuration_folder(tmp_path):
    folder = tmp_path / ".config" / "envcheck" / "matrix"
    folder.mkdir(parents=True)
    overlay(folder, "cuda", 'cuda = "12.8.0", driver_linux = "1.1"')
    assert [path.name for path in user_files({"HOME": str(tmp_path)})] == ["mine.toml"]


def test_every_fault_of_every_overlay_is_told_before_anything_is_used(tmp_path):
    one = overlay(tmp_path, "cuda", 'cuda = "new", colour = "red"', "one.toml")
    two = overlay(tmp_path, "clouds", 'cuda = "12.8.0"', "two.toml")
    with pytest.raises(InputErrors) as caught:
        load([one, two, tmp_path / "three.toml"], {})
    text = str(caught.value)
    assert "one.toml:4: cuda new: cuda is 'new'" in text
    assert "colour is not a key" in text
    assert "two.toml:3: clouds is not a table" in text
    assert "three.toml: cannot be read" in text
    assert caught.value.exit_code == 2


def test_a_new_release_is_one_row_and_known_everywhere_at_once(tmp_path):
    """What CONTRIBUTING promises: adding a release takes minutes. Here from row to check, list, show and diff."""
    row = 'versions = "99.1.0", runtime = "cuda12.8", local = "cu128", '
    row += 'python = "3.12 3.13", platforms = "linux_x86_64", glibc = "2.28", kernels = "sm_90 sm_120", '
    row += 'cuda_from = "packages", date = "2030-01-01"'
    path = overlay(tmp_path, "builds.torch", row)
    assert [str(fault) for fault in check([path])] == []
    both = load([path], {})
    assert both.builds("torch")[-1].full_version == "99.1.0+cu128"
    newest = next(line for line in list_table(both, "frameworks").lines if line.cells[0] == "torch")
    assert newest.cells[3:] == ("99.1.0", "cuda12.8")
    assert show(both, "torch==99.1.0")[0].lines[0].cells[1] == "99.1.0+cu128"
    added = [str(change) for change in diff(matrix(), both)]
    assert len(added) == 1
    assert added[0].startswith("torch 99.1.0 added: cuda12.8; drops ")


@pytest.mark.parametrize(
    ("table", "row", "fault"),
    [
        ("gpus", 'name = "X", vendor = "intel", target = "arc"', "target arc is not known [names-exist]"),
        (
            "builds.torch",
            'versions = "9.9", runtime = "xpu", python = "3.12", platforms = "linux_x86_64", kernels = "pvc cuda"',
            "kernels cuda is no known target [names-exist]",
        ),
        (
            "builds.torch",
            'versions = "9.9", runtime = "xpu", python = "3.12", platforms = "linux_x86_64", kernels = "pvc sm_90"',
            "kernels has sm_90 in a xpu build [kernels-possible]",
        ),
        ("intel", 'intel = "pvc2", architecture = "Xe", runs = "pvc"', "runs lacks pvc2 [names-exist]"),
        (
            "rocm",
            'rocm = "99.0.0", stream = "classic", os = "rhel9.4", linux = "rhel9.6:5.14"',
            "rhel9.6 is not in its",
        ),
    ],
)
def test_a_row_that_names_what_is_not_there_is_told_with_file_line_row_and_key(tmp_path, table, row, fault):
    path = overlay(tmp_path, table, row)
    told = [str(error) for error in check([path])]
    assert any(error.startswith(f"{path}:4: {table}") and fault in error for error in told), told


def test_own_builds_for_intel_are_taken_where_their_code_runs(tmp_path):
    row = 'versions = "2.9.1", runtime = "xpu", local = "xpu", index = "pytorch", python = "3.12", '
    both = load([overlay(tmp_path, "builds.torch", row + 'platforms = "linux_x86_64", kernels = "bmg"')], {})
    from compat.targets import kernels_for

    ours = next(build for build in both.builds_of("torch", "2.9.1") if build.origin.endswith("mine.toml"))
    assert kernels_for("lnl-m", ours.kernels, both.families) == "native"
    assert kernels_for("pvc", ours.kernels, both.families) == "none"


def test_a_table_that_is_merged_from_files_says_for_each_row_which(tmp_path):
    from compat.render.tables import text

    row = 'versions = "2.9.1", runtime = "cuda12.8", local = "cu128.corp1", python = "3.12", platforms = "linux_x86_64"'
    path = overlay(tmp_path, "builds.torch", row)
    lines = text(show(load([path], {}), "torch==2.9.1")[:1]).splitlines()
    assert [line for line in lines if line.endswith(str(path))] == [line for line in lines if "corp1" in line] != []
    assert all(line.endswith("builds.torch.toml") for line in lines if "2.9.1+cu126" in line)
    assert "builds.torch.toml" not in text(show(matrix(), "torch==2.9.1")[:1])


def test_the_address_of_a_file_is_text_and_no_format(tmp_path):
    page, file = "https://h/{variant}", "https://h/{version.__class__}/{nosuch}/a-{version}-{python}.whl"
    row = f'name = "flash-attn", url = "{page}", links = true, file = "{file}"'
    both = load([overlay(tmp_path, "indexes", row)], {})
    build = next(one for one in both.builds("flash-attn") if one.index)
    address = f"https://h/{{version.__class__}}/{{nosuch}}/a-{build.full_version}-cp313-cp313t.whl"
    assert both.address(build, "3.13t") == address
