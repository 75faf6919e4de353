"""``matrix check``: one slip each in a matrix that is otherwise sound, and what the person is told."""

import re

import pytest

from compat import resources
from compat.errors import InputError
from compat.matrix import canonical
from compat.matrix.check import check, fix
from compat.matrix.laws import LAWS
from compat.matrix.rows import TABLES


def told(tmp_path, text, name="small.toml"):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return [str(fault).replace(f"{tmp_path}/", "") for fault in check([path], beneath=[])]


def line_of(text, fragment):
    return text[: text.index(fragment)].count("\n") + 1


def test_the_small_matrix_keeps_every_law(small, tmp_path):
    assert told(tmp_path, small) == []


SHAPE = {
    "unknown key": ('title = "PyTorch"', 'title = "PyTorch", colour = "red"', "packages torch: colour is not a key"),
    "missing key": ('title = "PyTorch", ', "", "packages torch: title is missing"),
    "missing source": (
        'capabilities = "8.0", images = "ubuntu:22.04", source = "doc"',
        'capabilities = "8.0", images = "ubuntu:22.04"',
        "jetpack 6.2 36.4.3: source is missing",
    ),
    "wrong type": ("toolkit = false", 'toolkit = "no"', "cuda 12.7.0: toolkit is 'no'; expected true or false"),
    "flag for number": (
        'pci = "10de:20b0"',
        "memory_gib = true",
        "gpus NVIDIA A100 nvidia: memory_gib is True; expected a number",
    ),
    "number for text": ('glibc = "2.35"', "glibc = 2.35", "systems ubuntu22.04: glibc is 2.35; expected a text"),
    "bad version": (
        'driver_linux = "570.26"',
        'driver_linux = ">=570.26"',
        "driver_linux is '>=570.26'; expected a dotted",
    ),
    "bad release": ('cuda = "12.8.0", driver', 'cuda = "12.8", driver', "cuda is '12.8'; expected a full release"),
    **{
        f"bad specifier in {table}": (
            "jetpack = [",
            f'{table} = [\n  {{ name = "x", versions = "3 and later", {more}source = "doc", how = "measured" }},\n]\n\njetpack = [',
            "versions is '3 and later'; expected a specifier",
        )
        for table, more in (("scripts", ""), ("misspelt", 'line = "a>=1.*", '), ("compiled", 'forced = "F", '))
    },
    "bad target": ("sm_90a sm_120", "sm_90a 12.0", "targets is '12.0'; expected sm_90"),
    "bad gfx": ('targets = "gfx1030", os = "ubuntu', 'targets = "1030", os = "ubuntu', "targets is '1030'"),
    "bad python": ('python = "3.8 3.9"', 'python = "3.8 39"', "python is '39'; expected a Python minor"),
    "bad date": ('date = "2022-10-12"', 'date = "12.10.2022"', "date is '12.10.2022'; expected a day"),
    "bad month": ('date = "2022-10"', 'date = "2022-13"', "date is '2022-13'"),
    "bad os": ('os = "rhel9.4"', 'os = "RHEL 9.4"', "os is 'RHEL'"),
    "bad how": ('how = "inferred"', 'how = "guessed"', "how is 'guessed'; expected measured or documented or inferred"),
    "bad kind": ('kind = "companion"', 'kind = "friend"', "kind is 'friend'; expected framework or companion"),
    "bad pci": ("10de:20b0", "10DE:20B0", "pci is '10DE:20B0'"),
    "bad platform": ('"linux_x86_64", kernels = "gfx1030"', '"linux", kernels = "gfx1030"', "platforms is 'linux'"),
    "item twice": ('targets = "sm_80 sm_90"', 'targets = "sm_80 sm_90 sm_80"', "targets names sm_80 twice"),
    "text for list": (
        'requires = ["torch==2.0.0"]',
        'requires = "torch==2.0.0"',
        "requires is 'torch==2.0.0'; expected a list",
    ),
    "uncited id": (
        'packages = [\n  { name = "torch", title = "PyTorch", kind = "framework", module = "torch", aliases = "pytorch", source = "doc"',
        'packages = [\n  { name = "torch", title = "PyTorch", kind = "framework", module = "torch", aliases = "pytorch", source = "doc web"',
        "source web has no citation",
    ),
    "unused source": ('doc = "A document"', 'doc = "A document"\nold = "Another"', "source old is cited by no row"),
    "empty citation": ('doc = "A document"', 'doc = ""', "source doc is ''; expected a citation"),
    "two in one citation": ('doc = "A document"', 'doc = "A document; another"', "source doc holds a semicolon"),
    "unknown table": ("jetpack = [", "jetpacks = [", "jetpacks is not a table"),
    "bad schema": ("envcheck.matrix/1", "envcheck.matrix/9", "schema is 'envcheck.matrix/9'"),
    "row not a table": ("jetpack = [\n", "jetpack = [\n  7,\n", "jetpack: a row is 7"),
    "table not a list": (
        "cudnn = [\n  { version",
        "cudnn = 5\nnccl = [\n  { version",
        "cudnn is 5; expected a list of rows",
    ),
}


@pytest.mark.parametrize(("before", "after", "words"), SHAPE.values(), ids=SHAPE)
def test_a_slip_in_the_shape_is_told_with_its_place(small, tmp_path, before, after, words):
    assert before in small
    broken = small.replace(before, after, 1)
    faults = told(tmp_path, broken)
    assert any(words in fault for fault in faults), faults
    assert all(fault.startswith("small.toml") for fault in faults)


def test_every_fault_is_told_at_once_with_file_line_row_and_key(small, tmp_path):
    broken = small.replace('glibc = "2.35"', 'glibc = "new"').replace('stream = "classic"', 'stream = "jazz"', 1)
    broken = broken.replace('driver_linux = "520.61.05"', 'driver_linux = "580.61.05"')
    faults = told(tmp_path, broken)
    assert [fault for fault in faults if "systems ubuntu22.04: glibc is 'new'" in fault]
    assert [fault for fault in faults if "rocm 6.0.0: stream is 'jazz'" in fault]
    assert [fault for fault in faults if "driver-floors" in fault]
    lines = [int(fault.split(":")[1]) for fault in faults]
    assert lines == sorted(lines)
    line = line_of(broken, 'stream = "jazz"')
    assert f"small.toml:{line}: rocm 6.0.0" in "\n".join(faults)


def test_an_index_whose_only_build_is_malformed_is_not_called_unused(small, tmp_path):
    rows = small.replace('index = "wheels", python = "3.8 3.9"', 'index = "wheels", python = "38"')
    faults = told(tmp_path, rows)
    assert any("python is '38'" in fault for fault in faults)
    assert not any("[reachable]" in fault for fault in faults)


def test_two_images_of_one_tag_are_told(small, tmp_path):
    row = next(line for line in small.splitlines() if "12.8.0-{flavour}" in line)
    twin = row.replace("-{flavour}-", "-base-").replace('flavours = "base devel", ', "")
    faults = told(tmp_path, small.replace(row, f"{row}\n{twin}"))
    assert any("stands in small.toml" in fault and "one-row-per-key" in fault for fault in faults), faults


def test_a_python_that_comes_back_is_told_and_a_backport_is_not(small, tmp_path):
    row = next(line for line in small.splitlines() if 'versions = "2.7.0", runtime = "cuda12.8"' in line)
    newer = row.replace("2.7.0", "2.8.0").replace('"3.9 3.10"', '"3.8 3.9 3.10"').replace("2025-04-23", "2025-08-06")
    faults = told(tmp_path, small.replace(row, f"{row}\n{newer}"))
    assert any("builds.torch 2.8.0 cuda12.8: python 3.8 is back [python-dropped]" in fault for fault in faults), faults
    backport = row.replace("2.7.0", "2.0.2").replace("12.8", "11.8").replace(" sm_120", "").replace("3.9 3.10", "3.9")
    assert told(tmp_path, small.replace(row, f"{backport.replace('2025-04-23', '2025-08-06')}\n{row}")) == []


def test_an_exemption_silences_its_law_and_needs_a_reason(small, tmp_path):
    broken = small.replace('kernels = "sm_80 sm_90", date = "2023-05-08", source = "doc", how = "documented" }',
                           'kernels = "sm_80 sm_120", date = "2023-05-08", source = "doc", how = "documented"EXTRA }')  # fmt: skip
    excused = broken.replace("EXTRA", ', exempt = "kernels-possible", note = "a backport"')
    assert told(tmp_path, canonical.canonical(excused)) == []
    without = told(tmp_path, broken.replace("EXTRA", ', exempt = "kernels-possible"'))
    assert any("note is missing" in fault for fault in without)


def test_an_exemption_that_nothing_needs_is_a_fault(small, tmp_path):
    row = 'cc = "8.0", architecture = "Ampere", first_cuda = "11.0", source = "doc", how = "documented"'
    for exempt, words in (("driver-floors", "the row keeps driver-floors"), ("gravity", "gravity is not a law")):
        text = small.replace(row, f'{row}, exempt = "{exempt}", note = "because"')
        assert any(words in fault for fault in told(tmp_path, text))


HOSTILE = {
    "not toml": "torch = [",
    "binary": "\x00\x01\x02",
    "empty": "",
    "nested": "a = " + "[" * 3000 + "]" * 3000,
    "sources a list": 'schema = "envcheck.matrix/1"\nsources = [1]\n',
    "huge number": "cuda = 1" + "0" * 5000,
    "rows of rows": 'schema = "envcheck.matrix/1"\nbuilds.torch = [ [ { a = 1 } ] ]\n',
    "builds a list": 'schema = "envcheck.matrix/1"\nbuilds = [ 1 ]\n',
    "dates": "cuda = [ { cuda = 2020-01-01, date = 07:32:00, source = 1979-05-27T07:32:00Z, how = 3 } ]\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_anything_that_is_not_a_matrix_is_one_clear_fault_or_more(tmp_path, text):
    faults = told(tmp_path, text, "hostile.toml")
    assert faults
    assert all("hostile.toml" in fault for fault in faults)


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path):
    assert "cannot be read" in str(check([tmp_path / "none.toml"], beneath=[])[0])
    bad = tmp_path / "latin.toml"
    bad.write_bytes(b'schema = "\xe9"\n')
    assert "not valid TOML" in str(check([bad], beneath=[])[0])


def test_an_overlay_is_checked_against_the_matrix_beneath(small, tmp_path):
    base = tmp_path / "base.toml"
    base.write_text(small)
    overlay = tmp_path / "mine.toml"
    overlay.write_text(
        'schema = "envcheck.matrix/1"\n\nbuilds.torch = [\n'
        '  { versions = "2.7.0", runtime = "cuda12.8", local = "corp", index = "wheels", source = "us", how = "measured" },\n'
        '  { versions = "2.7.0", runtime = "cuda12.8", local = "lost", index = "lost", source = "us", how = "measured" },\n'
        ']\n\n[sources]\nus = "Our pipeline"\n'
    )
    faults = [str(fault) for fault in check([overlay], beneath=[base])]
    assert len(faults) == 1, faults
    assert re.search(r"mine\.toml:5: builds\.torch 2\.7\.0 cuda12\.8: index lost is not in indexes", faults[0])


def test_a_source_id_means_one_thing_across_files(small, tmp_path):
    (tmp_path / "a.toml").write_text(small)
    (tmp_path / "b.toml").write_text(
        'schema = "envcheck.matrix/1"\n\nnccl = [\n  { version = "2.20.5", cuda = "12", source = "doc", how = "measured" },\n]\n\n[sources]\ndoc = "Something else"\n'
    )
    faults = [str(fault) for fault in check(tmp_path.glob("*.toml"), beneath=[])]
    assert len(faults) == 1
    assert "source doc differs from that of" in faults[0]


def test_fix_rewrites_the_spelling_and_nothing_else(small, tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(small.replace('targets = "sm_80 sm_90"', 'targets = [ "sm_80",   "sm_90" ]'))
    assert any("canonical" in str(fault) for fault in check([path], beneath=[]))
    assert fix(path)
    assert path.read_text() == small
    assert not fix(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["small.toml"]


def test_fix_refuses_what_is_not_toml(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text("torch = [")
    with pytest.raises(InputError, match="not valid TOML"):
        fix(path)
    assert path.read_text() == "torch = ["


def test_the_shipped_matrix_has_no_fault():
    faults = check(resources.matrix_dir().glob("*.toml"))
    assert not faults, "\n".join(map(str, faults[:20]))


def test_the_written_page_has_every_table_and_every_law_in_its_own_words():
    page = (resources.matrix_dir() / "README.md").read_text("utf-8")
    for name, law in LAWS.items():
        assert f"| `{name}` | {law.__doc__.strip().splitlines()[0]} |" in page
    assert all(f"`{table}`" in page for table in TABLES)


def test_the_example_overlay_of_the_page_is_fit_for_use(tmp_path):
    page = (resources.matrix_dir() / "README.md").read_text("utf-8")
    example = next(block for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if block.startswith("schema"))
    path = tmp_path / "mine.toml"
    path.write_text(example)
    assert [str(fault) for fault in check([path])] == []
