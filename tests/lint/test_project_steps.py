"""Steps that install what a project's own file says, and requirement lines that no installer reads."""

import pytest

from compat.app.lint import lint_files
from compat.matrix import matrix

MATRIX = matrix()
CPU = "https://download.pytorch.org/whl/cpu"
BASE = (
    "FROM nvidia/cuda:12.4.1-cudnn-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3 python3-pip\n"
)
POETRY = f"""[tool.poetry.dependencies]
python = "^3.10"
torch = {{ version = "^2.4.0", source = "cpu" }}
[[tool.poetry.source]]
name = "cpu"
url = "{CPU}"
priority = "explicit"
"""
UV = f"""[project]
name = "x"
version = "1"
dependencies = ["torch>=2.4"]
[project.optional-dependencies]
notebook = ["torchvision>=0.19"]
[tool.uv.sources]
torch = {{ index = "cpu" }}
torchvision = {{ index = "cpu" }}
[[tool.uv.index]]
name = "cpu"
url = "{CPU}"
explicit = true
"""

EXTRA = f"""[project]
name = "x"
version = "1"
requires-python = ">=3.10"
dependencies = ["torch==2.8.0", "torchaudio==2.8.0"]
[project.optional-dependencies]
cpu = ["torch==2.8.0", "{{}}"]
[tool.uv.sources]
torch = {{{{ index = "cpu", extra = "cpu" }}}}
torchaudio = {{{{ index = "cpu", extra = "cpu" }}}}
[[tool.uv.index]]
name = "cpu"
url = "{CPU}"
explicit = true
"""


@pytest.mark.parametrize(("beside", "found"), [("numpy", True), ("torchaudio", False)])
def test_what_an_extra_asks_for_itself_comes_from_the_extras_own_index(tmp_path, beside, found):
    (tmp_path / "pyproject.toml").write_text(EXTRA.format(beside))
    report = lint_files([str(tmp_path / "pyproject.toml")], MATRIX)
    assert ("framework-build-tag-mismatch" in {one.code for one in report.findings}) is found


def told(folder, dockerfile, project):
    (folder / "Dockerfile").write_text(dockerfile)
    (folder / "pyproject.toml").write_text(project)
    report = lint_files([str(folder / "Dockerfile")], MATRIX)
    return {(one.code, one.severity, one.place.line) for one in report.findings if one.severity != "info"}


@pytest.mark.parametrize(
    ("step", "project"),
    [
        ("RUN poetry install --no-root --without dev", POETRY),
        ("RUN pip install poetry && poetry install", POETRY),
        ("RUN uv sync --frozen --no-dev", UV),
        ("RUN uv sync --extra notebook", UV),
        ("RUN pdm sync --prod", UV),
    ],
)
def test_a_projects_cpu_index_on_a_base_with_cuda_is_an_error_at_the_step(tmp_path, monkeypatch, step, project):
    monkeypatch.chdir(tmp_path)
    assert ("accidental-cpu-wheel", "error", 3) in told(tmp_path, f"{BASE}{step}\n", project)


@pytest.mark.parametrize(
    ("dockerfile", "project"),
    [
        ("FROM python:3.10-slim\nRUN poetry install\n", POETRY),
        (f"{BASE}RUN poetry install\n", POETRY.replace("/cpu", "/cu124")),
        (f"{BASE}RUN uv sync\n", UV.replace("/cpu", "/cu124")),
        (f"{BASE}RUN poetry install\nRUN poetry run pip install torch==2.6.0\n", POETRY),
        (f"{BASE}RUN uv sync && uv pip uninstall torch\n", UV),
        (f"{BASE}RUN poetry add torch==2.6.0\n", POETRY),
        (f'{BASE}RUN if [ -n "$CPU" ]; then poetry install; fi\n', POETRY),
    ],
)
def test_a_project_that_may_get_another_build_is_left_alone(tmp_path, monkeypatch, dockerfile, project):
    monkeypatch.chdir(tmp_path)
    assert not {code for code, *_ in told(tmp_path, dockerfile, project)} & {"accidental-cpu-wheel"}


def test_without_the_projects_file_nothing_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Dockerfile").write_text(f"{BASE}RUN uv sync\n")
    assert not [one for one in lint_files(["Dockerfile"], MATRIX).findings if one.severity != "info"]


def test_the_lists_of_a_folder_that_an_image_is_given_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "needs").mkdir()
    (tmp_path / "needs" / "gpu.txt").write_text("cupy-cuda111>=8.6.0\n")
    found = told(tmp_path, BASE + "COPY needs/* ./\nRUN pip install -r gpu.txt\n", "")
    assert ("base-runtime-mismatch", "error", 4) in found
    without = told(tmp_path, BASE + "COPY other/* ./\nRUN pip install -r gpu.txt\n", "")
    assert "base-runtime-mismatch" not in {code for code, _, _ in without}


def refused(folder, text):
    (folder / "requirements.txt").write_text(text)
    found = lint_files([str(folder / "requirements.txt")], MATRIX).findings
    return [one.place.line for one in found if one.code == "requirement-unreadable" and one.severity == "error"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("numpy=1.24\ntorch==2.6.0\n", [1]),
        ("torch==2.6.0 torchvision==0.21.0\n", [1]),
        ("pillow\nscipy\ntorch==2.6.*.1  # why\n", [3]),
        ("a\nb\nc\nd\npip install torch\n", [5]),
        ("-e .\n./here\ngit+https://example.org/a.git\nfoo @ https://example.org/foo-1.tar.gz\ntorch==2.6.0\n", []),
        ("requests [security] >= 2.8.1, == 2.8.*\nfoo (>=1.0)\nbar==1 --hash=sha256:aa\n", []),
        ("${NAME}\n{{ cookiecutter.framework }}\ntorch==2.6.0\n", []),
        ("blas=1.0=mkl\nnumpy=1.24.3=py310\ntorch==2.6.0\n", []),  # what conda exports
        ("'torch==2.6.0',\n'numpy',\n", [1, 2]),  # cut from a list of Python's
        ("".join(f'"{name}",\n' for name in ("torch", "numpy", "scipy", "pandas")), [1]),  # one cause, told once
        ("Notes of the week\nwe went to the sea\nand it rained all day\ntorch\n", []),
    ],
)
def test_a_line_that_pip_refuses_is_an_error_in_a_requirements_file(tmp_path, text, lines):
    assert refused(tmp_path, text) == lines


def test_the_same_line_in_a_file_that_a_dockerfile_installs_is_told_at_the_step(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("torch=2.6.0\nnumpy\n")
    text = "FROM python:3.10\nCOPY requirements.txt .\nRUN pip install -r requirements.txt\n"
    (tmp_path / "Dockerfile").write_text(text)
    found = lint_files(["Dockerfile"], MATRIX).findings
    assert [(one.place.line, one.code) for one in found if one.severity == "error"] == [(3, "requirement-unreadable")]


def composed(folder, own, compose):
    (folder / ".devcontainer").mkdir()
    (folder / ".devcontainer" / "devcontainer.json").write_text(own)
    (folder / "compose.yml").write_text(compose)
    found = lint_files([str(folder / ".devcontainer" / "devcontainer.json")], MATRIX).findings
    return {(one.code, one.severity, one.place.line) for one in found if one.place.file.endswith("devcontainer.json")}


OWN = '{"dockerComposeFile": "../compose.yml",\n "service": "%s",\n "runArgs": ["--gpus", "all"]}\n'
DEVICES = "    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}\n"


@pytest.mark.parametrize(
    ("service", "devices", "told"),
    [
        ("dev", "", {("container-no-gpu", "warning", 3)}),  # runArgs is for an image or a Dockerfile
        ("dev", DEVICES, set()),
        ("tool", DEVICES, {("instruction-unknown", "error", 2), ("container-no-gpu", "warning", 3)}),
    ],
)
def test_a_development_container_takes_service_and_gpu_from_its_compose_file(tmp_path, service, devices, told):
    assert composed(tmp_path, OWN % service, "services:\n  dev:\n    image: team/dev:1\n" + devices) == told
