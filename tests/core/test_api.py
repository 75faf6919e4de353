"""The Python API: its documented examples, its documents, its errors, and what importing it costs."""

import doctest
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from published_schemas import schemas

from compat import api

ROOT = Path(__file__).resolve().parents[2]
MACHINE = {"gpus": ["A100"], "driver": "570.26", "python": "3.11"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/example-host.toml", tmp_path / "docs")
    (tmp_path / "requirements.txt").write_text("torch==2.4.0\ntorchvision==0.18.0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_documented_examples_answer_as_the_page_says():
    failed, tried = doctest.testfile(str(ROOT / "docs/api.md"), module_relative=False)
    assert not failed
    assert tried >= 15


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "ask",
    [
        lambda: api.diagnose("torch==2.9.1", host="docs/example-host.toml"),
        lambda: api.resolve("torch==2.9.1", **MACHINE),
        lambda: api.resolve("torch==2.6.0", gpus=["RTX 5090"], python="3.12"),
        lambda: api.lint("requirements.txt"),
        lambda: api.inspect("requirements.txt", gpus=["V100"]),
        lambda: api.explain("no kernel image is available for execution on the device"),
        api.explain,
        lambda: api.show("torch==2.9.1"),
    ],
)
def test_every_value_gives_the_document_of_its_published_schema(ask):
    made = api.document(ask())
    jsonschema.validate(made, schemas()[made["schema"]])


def test_a_value_without_a_published_document_is_refused():
    with pytest.raises(TypeError, match="Dockerfile"):
        api.document(api.dockerfile("torch==2.0.1", cpu=True))


def test_a_pasted_report_is_judged_as_its_file_is(tmp_path):
    text = "NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4\n"
    (tmp_path / "report.txt").write_text(text)
    from_text, from_file = api.diagnose(pasted=text), api.diagnose(report=str(tmp_path / "report.txt"))
    assert from_text.host.driver == from_file.host.driver == "470.82.01"
    assert from_text.report == from_file.report


def test_an_empty_report_is_told_and_not_taken_for_a_healthy_machine():
    found = api.diagnose(pasted="  \n").report
    assert found.ok is None
    assert "it is empty" in [item.why for item in found.unchecked]


def test_a_file_meant_for_a_gpu_is_judged_on_it(tmp_path):
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.6.0\n")
    assert not [item for item in api.lint(str(file)).findings if item.severity == "error"]
    assert [item for item in api.lint(str(file), gpus=["RTX 5090"]).findings if item.severity == "error"]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: api.resolve("torch=2.9.1", cpu=True), "torch==2.9.1"),
        (api.resolve, "nothing was asked for"),
        (lambda: api.diagnose(report="a", pasted="b"), "two machines"),
        (lambda: api.dockerfile("torch", image={"apps": ["git"]}), "unknown key 'apps'"),
        (lambda: api.inspect("no-such-package-anywhere"), "neither a path"),
    ],
)
def test_what_was_asked_wrongly_is_an_error_that_says_what(ask, said):
    with pytest.raises(api.EnvcheckError, match=said):
        ask()


def test_a_dockerfile_without_a_plan_is_an_error_with_the_explanation():
    with pytest.raises(api.NoPlanError, match="do not fit together"):
        api.dockerfile("torch==2.6.0", gpus=["RTX 5090"])


def test_the_doctor_and_the_resolver_start_without_the_api():
    code = (
        "import sys, compat.cli as c; c.run(['resolve', 'torch==2.9.1', '--cpu']); print('compat.api' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == "False"
