"""What a wheel carries says the same as the files it is compiled from, and a wheel built here answers elsewhere."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from compat import resources
from compat.matrix import Matrix, store

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / "matrix").glob("*.toml"))


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """A copy of the files, so that both sides of a comparison see one state even while somebody edits."""
    folder = tmp_path_factory.mktemp("matrix")
    return [Path(shutil.copy(path, folder)) for path in PATHS]


@pytest.fixture(scope="module")
def compiled(paths, tmp_path_factory):
    folder = tmp_path_factory.mktemp("compiled")
    for name, text in store.compile_files(paths).items():
        (folder / name).write_text(text, "utf-8")
    return Matrix(store.Compiled(folder))


def test_compiled_equals_parsed(compiled, paths):
    live = Matrix(store.Live(paths))
    assert compiled.names() == live.names()
    assert compiled.citations == live.citations
    for name in live.names():
        assert compiled.table(name) == live.table(name), name


def test_compiling_is_reproducible_whatever_the_order_of_files(paths):
    assert store.compile_files(paths) == store.compile_files(reversed(paths))


def test_select_equals_filtering(compiled, paths):
    whole = Matrix(store.Live(paths))
    wanted = [image for image in whole.table("images") if image.cuda == "12.8.1" and image.os == "ubuntu22.04"]
    assert wanted
    assert list(compiled.select("images", cuda="12.8.1", os="ubuntu22.04")) == wanted
    assert compiled.select("images", cuda="") != ()
    assert compiled.select("images", cuda="0.0") == ()


def test_only_the_tables_asked_for_are_read(compiled, monkeypatch):
    read = []
    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (read.append(path.name), original(path))[1])
    fresh = Matrix(compiled._stores[0])
    fresh.builds("torch")
    fresh.cuda("12.8")
    assert read == ["builds.torch.json", "dates.json", "cuda.json"]


def test_a_checkout_reads_the_live_files():
    if resources.compiled_dir() is not None:
        pytest.skip("the package under test is an installed wheel")
    assert resources.matrix_dir() == ROOT / "matrix"


def test_a_changed_file_counts_at_once(tmp_path):
    path = tmp_path / "x.toml"
    text = 'cuda = [ { cuda = "12.8.0", driver_linux = "1", source = "s", how = "measured" } ]\n'
    path.write_text(text)
    assert Matrix(store.Live([path])).cuda("12.8.0").driver_linux == "1"
    path.write_text(text.replace('"1"', '"22"'))
    assert Matrix(store.Live([path])).cuda("12.8.0").driver_linux == "22"


def hook():
    """The build hook as a module; skips where hatchling is not installed."""
    pytest.importorskip("hatchling", reason="hatchling is needed to run the wheel's build hook")
    found = importlib.util.spec_from_file_location("hatch_build", ROOT / "scripts" / "hatch_build.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_the_hook_compiles_what_the_store_compiles():
    assert hook().compiled(ROOT) == store.compile_files(PATHS)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the sources; no network, no other environment."""
    hook()
    from hatchling.builders.wheel import WheelBuilder

    copy = tmp_path_factory.mktemp("source")
    for name in ("compat", "matrix", "dockerfiles", "scripts", "docs/schemas"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "_data"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for name in ("README.md", "LICENSE"):
        source = ROOT / name
        (copy / name).write_bytes(source.read_bytes() if source.is_file() else b"none\n")
    return next(iter(WheelBuilder(str(copy)).build(directory=str(copy / "out"), versions=["standard"])))


def test_the_wheel_holds_matrix_compiled_form_and_templates(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        torch = json.loads(archive.read("compat/_data/compiled/builds.torch.json"))
    held = {name for name in names if name.startswith("compat/_data/matrix/")}
    measured = {f"observed/{path.name}" for path in (ROOT / "matrix" / "observed").iterdir()}
    assert held == {f"compat/_data/matrix/{name}" for name in {path.name for path in PATHS} | measured}
    assert any(name.startswith("compat/_data/dockerfiles/") for name in names)
    assert "compat/_data/docs/schemas/envcheck.doctor-1.json" in names
    assert torch
    assert {name.partition("/")[0] for name in names if ".dist-info" not in name} == {"compat"}
    leftover = [path for path in Path(wheel).parent.iterdir() if path.suffix != ".whl"]
    assert leftover == []


def test_the_unpacked_wheel_answers_from_another_directory(wheel, tmp_path):
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    code = (
        "import json, sys; from compat.matrix import matrix; m = matrix();"
        "print(json.dumps([m.cuda('12.8.0').driver_linux, len(m.builds('torch')), 'tomllib' in sys.modules]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, check=True)
    floor, builds, parsed = json.loads(done.stdout)
    assert floor == "570.26"
    assert builds == len(Matrix(store.Live(PATHS)).builds("torch"))
    assert parsed is False


FORMS = [
    "builds.torch = [ {ROW} ]\n",
    '"builds"."torch" = [ {ROW} ]\n',
    "[builds]\ntorch = [ {ROW} ]\n",
    "[[builds.torch]]\n{KEYS}\n",
    "[ builds ]\n  torch=[\n{ROW}]\n",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_found_in_whatever_form_it_is_written(tmp_path, form):
    keys = ['versions = "9.9"', 'runtime = "cpu"', 'source = "s"', 'how = "measured"']
    path = tmp_path / "x.toml"
    path.write_text(form.replace("{ROW}", "{ " + ", ".join(keys) + " }").replace("{KEYS}", "\n".join(keys)))
    assert [build.version for build in Matrix(store.Live([path])).builds("torch")] == ["9.9"]


def test_a_wheel_and_its_checkout_have_one_digest_and_any_edit_has_another(compiled, paths, tmp_path):
    digest = Matrix(store.Live(paths)).digest
    assert compiled.digest == digest
    assert len(digest) == len("sha256:") + 64
    assert Matrix(store.Live(reversed(paths))).digest == digest
    edited = [Path(shutil.copy(path, tmp_path)) for path in paths]
    edited[0].write_text(edited[0].read_text("utf-8") + "\n", "utf-8")
    assert Matrix(store.Live(edited)).digest != digest


def test_an_overlay_and_the_order_of_overlays_are_in_the_digest(paths, tmp_path):
    base = store.Live(paths)
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(f'schema = "envcheck.matrix/1"\n\n[sources]\n{name} = "{name}"\n')
    one, other = (store.Live([tmp_path / f"{name}.toml"]) for name in ("a", "b"))
    layers = [(), (one,), (other,), (one, other), (other, one)]
    assert len({Matrix(base, *over).digest for over in layers}) == len(layers)


def test_files_cannot_be_cut_otherwise_into_the_same_digest():
    assert store.digest([("a", "bc")]) != store.digest([("ab", "c")])
    assert store.digest([("a", ""), ("b", "")]) != store.digest([("a", "b")])
