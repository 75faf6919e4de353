"""Which Python is meant, what its files tell of it, and which folders its packages are imported from."""

from __future__ import annotations

import time

import pytest

from compat.detect.interpreter import _ASK, at, choose
from compat.detect.machine import Machine

OWN = {"executable": "/opt/envcheck/bin/python", "prefix": "/opt/envcheck", "version": "3.11.7"}


@pytest.fixture
def chosen(replay):
    """The environment that is meant on a recorded machine."""

    def choose_on(said, python=""):
        recording = replay.Recording(said)
        return choose(Machine(recording, recording.run, time.monotonic() + 5, python))

    return choose_on


def packages(prefix, version="3.11", *names):
    """An environment's package folder with these names in it."""
    return {f"{prefix}/lib/python{version}/site-packages/{name}": "" for name in (*names, "README.txt")}


def asked(path, version, prefix, *sites):
    """The answer of an interpreter that is run to tell about itself."""
    return {f"{path.rpartition('/')[2]} -c {_ASK}": "\n".join((version, prefix, *sites)) + "\n"}


@pytest.mark.parametrize(
    ("python", "path"),
    [
        ("/ml/bin/python", "/ml/bin/python"),
        ("~/ml/bin/python", "/home/ann/ml/bin/python"),
        ("ml/bin/python", "{here}/ml/bin/python"),
        ("./ml/bin/python", "{here}/ml/bin/python"),
        ("C:/ml/python.exe", "C:/ml/python.exe"),
        ("C:\\ml\\python.exe", "C:\\ml\\python.exe"),
        ("python3", "/usr/bin/python3"),
        ("python9", "{here}/python9"),
        ("~", "{here}/~"),
    ],
)
def test_a_path_that_somebody_typed_is_made_full(chosen, replay, python, path):
    found = chosen({"env": {"HOME": "/home/ann"}, "files": {"/usr/bin/python3": ""}}, python)
    assert found.python == path.format(here=replay.Recording({}).folder())
    assert found.chosen == "chosen with --python"


@pytest.mark.parametrize(
    ("files", "kind", "version"),
    [
        ({"/e/pyvenv.cfg": "version = 3.12.4\n"}, "venv", "3.12.4"),
        ({"/e/pyvenv.cfg": "Version_Info = 3.12.4.final.0\n"}, "venv", "3.12.4"),
        ({"/e/pyvenv.cfg": "version = 3.9\nversion_info = 3.12.4\nuv = 0.4.1\n"}, "uv", "3.12.4"),
        ({"/e/pyvenv.cfg": "version = unknown\n", **packages("/e", "3.10")}, "venv", "3.10"),
        ({"/e/pyvenv.cfg": "", **packages("/e", "3.13t")}, "system", "3.13"),
        ({"/e/pyvenv.cfg": "home = /usr/bin\n"}, "venv", ""),
        ({"/e/conda-meta/python-3.10.14-h955ad1f_1.json": ""}, "conda", "3.10.14"),
        ({"/e/conda-meta/python-dateutil-2.9.0-py_0.json": "", **packages("/e", "3.9")}, "conda", "3.9"),
        ({"/e/conda-meta/history": ""}, "conda", ""),
    ],
)
def test_kind_and_version_come_from_the_makers_own_files(replay, files, kind, version):
    recording = replay.Recording({"files": {"/e/bin/python": "", **files}})
    found = at(Machine(recording, recording.run, time.monotonic() + 5), "/e", "")
    assert (found.kind, found.version, found.python) == (kind, version, "/e/bin/python")


@pytest.mark.parametrize(
    ("prefix", "kind"),
    [
        ("/home/a/.local/share/pipx/venvs/envcheck", "pipx"),
        ("/home/a/.local/pipx/venvs/envcheck", "pipx"),
        ("/home/a/.local/share/uv/tools/envcheck", "uv tool"),
        ("/home/a/.cache/pypoetry/virtualenvs/x-py3.11", "poetry"),
        ("/home/a/pipx", "venv"),
    ],
)
def test_tools_that_keep_environments_are_known_by_the_place(replay, prefix, kind):
    recording = replay.Recording({"files": {f"{prefix}/bin/python": "", f"{prefix}/pyvenv.cfg": "version = 3.11.1"}})
    assert at(Machine(recording, recording.run, 0), prefix, "").kind == kind


@pytest.mark.parametrize(("lock", "kind"), [("uv.lock", "uv project"), ("pdm.lock", "pdm"), ("poetry.lock", "poetry")])
def test_an_environment_in_a_project_is_of_the_tool_that_locks_it(replay, lock, kind):
    files = {"/p/.venv/bin/python": "", "/p/.venv/pyvenv.cfg": "uv = 0.4.1\nversion_info = 3.12.4", f"/p/{lock}": ""}
    recording = replay.Recording({"files": files})
    assert at(Machine(recording, recording.run, 0), "/p/.venv", "").kind == kind


@pytest.mark.parametrize(
    ("config", "sites"),
    [
        ("home = /usr/bin\nversion = 3.11.2\n", ["/e"]),
        ("home = /usr/bin\nversion = 3.11.2\ninclude-system-site-packages = false\n", ["/e"]),
        ("home = /usr/bin\nversion = 3.11.2\ninclude-system-site-packages = True\n", ["/e", "/usr"]),
        ("version = 3.11.2\ninclude-system-site-packages = true\n", ["/e"]),
        ("home = /gone/bin\nversion = 3.11.2\ninclude-system-site-packages = true\n", ["/e"]),
    ],
)
def test_packages_of_the_system_count_where_the_environment_lets_them_in(replay, config, sites):
    debian = {"/usr/lib/python3/dist-packages/numpy/x": "", "/usr/local/lib/python3.11/dist-packages/torch/x": ""}
    files = {"/e/bin/python": "", "/e/pyvenv.cfg": config, **packages("/e"), **debian}
    recording = replay.Recording({"files": files})
    folders = {
        "/e": ["/e/lib/python3.11/site-packages"],
        "/usr": ["/usr/local/lib/python3.11/dist-packages", "/usr/lib/python3/dist-packages"],
    }
    found = at(Machine(recording, recording.run, time.monotonic() + 5), "/e", "")
    assert list(found.sites) == [folder for name in sites for folder in folders[name]]


def test_lib64_counts_once_where_it_is_a_link_and_by_itself_where_it_is_a_folder(replay):
    files = {"/e/bin/python": "", "/e/pyvenv.cfg": "version = 3.11.2", **packages("/e")}
    linked = replay.Recording({"files": files, "links": {"/e/lib64": "lib"}})
    apart = replay.Recording({"files": files | {"/e/lib64/python3.11/site-packages/torch/x": ""}})
    one, two = (at(Machine(each, each.run, 0), "/e", "").sites for each in (linked, apart))
    assert one == ("/e/lib/python3.11/site-packages",)
    assert two == ("/e/lib/python3.11/site-packages", "/e/lib64/python3.11/site-packages")


SHIM = {
    "/pyenv/shims/python": "",
    "/pyenv/versions/3.10.4/bin/python": "",
    "/pyenv/versions/3.12.1/bin/python": "",
    "/pyenv/versions/3.10.4/pyvenv.cfg": "version = 3.10.4",
    "/pyenv/versions/3.12.1/pyvenv.cfg": "version = 3.12.1",
}


@pytest.mark.parametrize(
    ("variable", "file", "version"),
    [
        ("3.12.1", "3.10.4\n", "3.12.1"),
        ("", "3.10.4\n3.12.1\n", "3.10.4"),
        ("3.10.4:3.12.1", "", "3.10.4"),
        ("9.9", "3.10.4\n", ""),
        ("", "", ""),
    ],
)
def test_behind_a_shim_of_pyenv_is_the_version_that_it_would_start(chosen, variable, file, version):
    env = {"PYENV_VERSION": variable} if variable else {}
    files = SHIM | {"/pyenv/version": file}
    found = chosen({"env": env, "files": files}, "/pyenv/shims/python")
    assert found.version == version
    assert (found.prefix == f"/pyenv/versions/{version}") is bool(version)


@pytest.mark.parametrize(
    ("env", "files", "prefix", "why_chosen"),
    [
        ({"VIRTUAL_ENV": "/e", "CONDA_PREFIX": "/c"}, ("/e/pyvenv.cfg", "/c/conda-meta/x"), "/e", "active (VIRTUAL_ENV)"),
        ({"VIRTUAL_ENV": "/gone", "CONDA_PREFIX": "/c"}, ("/c/conda-meta/x",), "/c", "active (CONDA_PREFIX)"),
        ({"VIRTUAL_ENV": "/gone"}, (), "/opt/envcheck", "runs envcheck"),
        ({}, ("/usr/bin/python3",), "/opt/envcheck", "runs envcheck"),
    ],
)  # fmt: skip
def test_the_active_environment_is_meant_if_it_is_there(chosen, env, files, prefix, why_chosen):
    found = chosen({"env": env, "files": dict.fromkeys(files, "")})
    assert (found.prefix, found.chosen) == (prefix, why_chosen)


@pytest.mark.parametrize(
    ("own", "here", "there", "meant"),
    [
        ("/opt/envcheck", (), ("torch",), "/usr"),
        ("/opt/envcheck", ("jax",), ("torch",), "/opt/envcheck"),
        ("/opt/envcheck", (), ("numpy",), "/opt/envcheck"),
        ("/home/a/.local/share/pipx/venvs/envcheck", (), ("numpy",), "/usr"),
        ("/home/a/.local/share/uv/tools/envcheck", (), (), "/usr"),
        ("/home/a/.cache/uv/archive-v0/x1", (), (), "/usr"),
        ("/home/a/.local/share/pipx/venvs/envcheck", ("torch",), ("numpy",), "/home/a/.local/share/pipx/venvs/envcheck"),
    ],
)  # fmt: skip
def test_python_on_path_is_meant_where_ours_was_made_for_us_alone_or_lacks_the_framework(
    chosen, own, here, there, meant
):
    site, system = f"{own}/lib/python3.11/site-packages", "/usr/lib/python3.11/site-packages"
    found = chosen(
        {
            "python": {
                **OWN,
                "executable": f"{own}/bin/python",
                "prefix": own,
                "paths": [site, f"{own}/lib/python311.zip"],
            },
            "files": {**packages(own, "3.11", *here), **packages("/usr", "3.11", *there), "/usr/bin/python3.11": ""},
            "links": {"/usr/bin/python3": "python3.11"},
            "commands": asked("/usr/bin/python3", "3.11.2", "/usr", system),
        }
    )
    assert (found.prefix, found.sites) == (meant, (system if meant == "/usr" else site,))


@pytest.mark.parametrize(
    ("answer", "version", "why"),
    [
        ("3.11.2\n/usr\n/usr/lib/python3/dist-packages\n/usr/lib/python311.zip\n", "3.11.2", ""),
        ({"code": 1, "out": "3.11.2\n/usr\n"}, "3.11", ""),
        ({"code": 124, "why": "python3 did not answer"}, "3.11", ""),
        ("Welcome!\n3.11.2\n", "3.11", ""),
        ("3.11.2\n", "3.11", ""),
    ],
)
def test_an_interpreter_that_does_not_answer_is_known_by_its_name(chosen, answer, version, why):
    said = {"files": {"/usr/bin/python3.11": ""}, "links": {"/usr/bin/python3": "python3.11"}}
    found = chosen(said | {"commands": {f"python3 -c {_ASK}": answer}}, "python3")
    assert (found.version, found.why) == (version, why)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"code": 124, "why": "pypy did not answer"}, "pypy did not answer"),
        ("nothing of use", "/usr/bin/pypy did not tell its version"),
    ],
)
def test_an_interpreter_without_number_that_does_not_answer_is_a_reason(chosen, answer, why):
    found = chosen({"files": {"/usr/bin/pypy": ""}, "commands": {f"pypy -c {_ASK}": answer}}, "pypy")
    assert (found.version, found.why) == ("", why)


@pytest.mark.parametrize(
    ("files", "python", "why"),
    [
        ({}, "/gone", "nothing is at /gone"),
        ({"/e/README": ""}, "/e", "no interpreter in /e"),
        ({"/e/bin/bash": ""}, "/e/bin/bash", "/e/bin/bash is no Python interpreter or environment"),
        ({"/e/bin/python3-config": ""}, "/e/bin/python3-config", "/e/bin/python3-config is no Python interpreter or environment"),
        ({"/e/bin/python.sh": ""}, "/e/bin/python.sh", "/e/bin/python.sh is no Python interpreter or environment"),
    ],
)  # fmt: skip
def test_what_is_no_environment_says_why(chosen, files, python, why):
    assert chosen({"files": files}, python).why == why
