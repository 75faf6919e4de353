"""``envcheck lint`` of folders, and what ``[tool.envcheck.lint]`` says of it."""

import json
import shutil
import subprocess

import pytest

BAD = "torch==2.1.0\ntorchvision==0.20.0\nnumpy<2\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_txt", ".txt").replace("_toml", ".toml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def places(envcheck, *words):
    code, out, err = envcheck("lint", *words, "--format", "json")
    assert code in {0, 1}, err
    return sorted(item["place"]["file"] for item in json.loads(out)["findings"])


def test_without_a_name_the_folder_here_is_read(envcheck, project):
    project(requirements_txt=BAD, docker__gpu__Dockerfile="FROM python:3.11-slim\nRUN pip install torch==1.9.0\n")
    project(README_txt=BAD, node_modules__x__requirements_txt=BAD, Dockerfile_py="FROM nothing\n")
    assert set(places(envcheck)) == {"requirements.txt", "docker/gpu/Dockerfile"}


def test_a_folder_beside_files_is_read_too(envcheck, project):
    project(a__requirements_txt=BAD, b__requirements__gpu_txt=BAD, notes_txt=BAD)
    assert places(envcheck, "a", "notes.txt") == ["a/requirements.txt", "notes.txt"]
    assert places(envcheck, "b") == ["b/requirements/gpu.txt"]


def test_workflows_are_read_and_other_files_beside_them_are_not(envcheck, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "on: push\njobs:\n  t:\n    steps:\n      - run: pip install torch==2.6.0 torchvision==0.20.0\n"
    for name in (".github/workflows/ci.yml", ".github/labels.yml", ".cache/ci.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert set(places(envcheck)) == {".github/workflows/ci.yml"}


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_what_a_file_of_requirements_has_is_told_there_and_not_where_it_is_installed(envcheck, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("torch==2.4.0\ntorchvision==0.18.0\n")
    (tmp_path / "Dockerfile").write_text("FROM python:3.11\nCOPY . .\nRUN pip install -r requirements.txt\n")
    told = [
        (each["code"], each["place"]["file"])
        for each in json.loads(envcheck("lint", "--format", "json")[1])["findings"]
    ]
    assert [file for code, file in told if code == "framework-pair-mismatch"] == ["requirements.txt"]
    alone = json.loads(envcheck("lint", "Dockerfile", "--format", "json")[1])["findings"]
    assert "framework-pair-mismatch" in {each["code"] for each in alone}


def test_what_git_ignores_is_not_read(envcheck, project, tmp_path):
    project(requirements_txt=BAD, out__requirements_txt=BAD)
    (tmp_path / ".gitignore").write_text("out/\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert places(envcheck) == ["requirements.txt"]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_no_program_that_a_repository_names_is_run(envcheck, project, tmp_path):
    project(requirements_txt=BAD)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monitor = tmp_path / "monitor.sh"
    monitor.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    monitor.chmod(0o755)
    subprocess.run(["git", "-C", str(tmp_path), "config", "core.fsmonitor", str(monitor)], check=True)
    places(envcheck)
    assert not (tmp_path / "was-run").exists()


def test_a_folder_without_a_known_file_cannot_be_checked(envcheck, project):
    project(notes_txt=BAD)
    code, out, err = envcheck("lint")
    assert (code, out) == (3, "")
    assert "no Dockerfile, requirements" in err


def test_a_file_of_a_folder_that_is_none_is_told_and_the_others_are_read(envcheck, project, tmp_path):
    project(requirements_txt=BAD)
    (tmp_path / "environment.yml").write_text("hello: 1\n")
    code, out, _ = envcheck("lint", "--format", "json")
    assert code == 1
    assert [item["what"] for item in json.loads(out)["unchecked"]] == ["environment.yml"]


def test_fix_of_a_folder_changes_its_files(envcheck, project, tmp_path):
    project(requirements_txt=BAD)
    envcheck("lint", "--fix")
    assert envcheck("lint", "requirements.txt")[0] == envcheck("lint")[0]
    assert (tmp_path / "requirements.txt").read_text().count("==") == 2


@pytest.mark.parametrize(
    ("table", "left"),
    [
        ("", ["a/requirements.txt", "requirements.txt"]),
        ('ignore = ["CODE"]', []),
        ('select = ["base-tag"]', []),
        ('per_file = {"a/*" = "CODE"}', ["requirements.txt"]),
        ('per_file = {"*" = "CODE, base-tag"}', []),
    ],
)
def test_the_project_says_what_is_looked_for(envcheck, project, table, left):
    project(requirements_txt=BAD, a__requirements_txt=BAD)
    code = json.loads(envcheck("lint", "--format", "json")[1])["findings"][0]["code"]
    project(pyproject_toml=f"[tool.envcheck.lint]\n{table.replace('CODE', code)}\n")
    assert places(envcheck, "a", "requirements.txt") == left


def test_options_win_over_the_table(envcheck, project):
    project(requirements_txt=BAD, pyproject_toml='[tool.envcheck.lint]\nselect = ["base-tag"]\n')
    assert places(envcheck) == []
    assert places(envcheck, "--select", "f") == ["requirements.txt"]


def test_the_project_says_for_which_gpu_files_are_meant(envcheck, project):
    project(requirements_txt="torch==2.0.1\n")
    assert places(envcheck) == []
    project(pyproject_toml='[tool.envcheck.lint]\ngpu = ["RTX 5090"]\n')
    assert places(envcheck) == ["requirements.txt"]
    assert places(envcheck, "--gpu", "A100") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('ignor = ["x"]', "unknown key 'ignor'"),
        ('ignore = "x"', "a list of texts"),
        ("per_file = {a = 3}", "a table of texts"),
        ("driver = 570", "a text"),
        ('ignore = ["no-such-code"]', "no finding 'no-such-code'"),
        ('per_file = {"*" = "no-such-code"}', "no finding 'no-such-code'"),
    ],
)
def test_a_slip_in_the_table_is_refused(envcheck, project, text, said):
    project(requirements_txt=BAD, pyproject_toml=f"[tool.envcheck.lint]\n{text}\n")
    code, out, err = envcheck("lint")
    assert (code, out) == (2, "")
    assert said in err


def test_a_dockerfile_that_a_person_wrote_is_not_replaced(envcheck, project, tmp_path):
    ours = tmp_path / "Dockerfile"
    ours.write_text("FROM scratch\n")
    code, _, err = envcheck("dockerfile", "jax", "--cpu", "--output", "Dockerfile")
    assert (code, ours.read_text()) == (2, "FROM scratch\n")
    assert "envcheck did not write it" in err
    for form in ("plain", "factory", "plain"):
        ours.unlink(missing_ok=form == "plain")
        assert envcheck("dockerfile", "jax", "--cpu", "--form", form, "--output", "Dockerfile")[0] == 0
        assert envcheck("dockerfile", "jax", "--cpu", "--output", "Dockerfile")[0] == 0
