"""Reading devcontainer.json: comments and trailing commas, what it builds from, what it runs, and hostile texts."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import sources
from compat.app.lint import lint_files
from compat.errors import InputError
from compat.matrix import matrix
from compat.sources.devcontainer import plain

COMMENTED = """// a development container
{
\t"name": "a // name, with /* marks */ and ,]",
\t/* several
\t   lines */
\t"image": "nvcr.io/nvidia/pytorch:25.06-py3", // moved up
\t"runArgs": [
\t\t"--gpus", "all", // all of them
\t],
\t"remoteUser": "dev",
}
"""


def read(text, name="devcontainer.json"):
    return sources.read(text, name)


def test_comments_and_trailing_commas_keep_every_line_in_its_place():
    ask = read(COMMENTED)
    assert ask.kind == "devcontainer"
    assert ask.stages[0].base == "nvcr.io/nvidia/pytorch:25.06-py3"
    assert ask.stages[0].line == 6
    assert ask.stages[0].user == "dev"
    assert ask.services[0].devices == ("all",)
    assert ask.gpu


NVIDIA = "ghcr.io/devcontainers/features/nvidia-cuda:1"


@pytest.mark.parametrize(
    ("document", "installs"),
    [
        ({"features": {NVIDIA: {"cudaVersion": "12.4"}}}, ["cuda-libraries-12-4"]),
        ({"features": {NVIDIA: {"cudaVersion": "12.4", "installCudnn": True}}}, ["cuda-libraries-12-4", "libcudnn"]),
        (
            {"features": {"nvidia-cuda": {"cudaVersion": "11.8", "installToolkit": True, "installCudnn": False}}},
            ["cuda-libraries-11-8", "cuda-toolkit-11-8"],
        ),
        ({"features": {"ghcr.io/devcontainers/features/python:1": {"version": "3.11", "cudaVersion": "9.9"}}}, []),
        ({"features": {"not a feature!": {"cudaVersion": "9.9"}}}, []),
        ({"postCreateCommand": "pip install torch==2.1.0"}, ["torch==2.1.0"]),
        ({"postCreateCommand": ["pip", "install", "torch==2.1.0"]}, ["torch==2.1.0"]),
        ({"postCreateCommand": {"a": "pip install torch==2.1.0", "b": ["uv", "pip", "install", "jax"]}}, ["torch==2.1.0", "jax"]),
        ({"onCreateCommand": "pip install a", "postStartCommand": "pip install d", "updateContentCommand": "pip install b", "postCreateCommand": "pip install c"}, ["a", "b", "c", "d"]),
        ({"initializeCommand": "pip install torch", "postAttachCommand": "pip install torch"}, []),
        ({"postCreateCommand": 7, "onCreateCommand": [[]], "features": []}, []),
    ],
)  # fmt: skip
def test_what_features_and_commands_install_in_their_order(document, installs):
    (stage,) = read(json.dumps({"image": "x", **document})).stages
    assert [request.name + request.spec for step in stage.installs for request in step.requests] == installs


@pytest.mark.parametrize(
    ("document", "gpu", "devices"),
    [
        ({"runArgs": ["--gpus", "all"]}, True, ("all",)),
        ({"runArgs": ["--gpus=all"]}, True, ("all",)),
        ({"runArgs": ["--gpus", '"device=0,2"']}, True, ("0", "2")),
        ({"runArgs": ["--gpus=device=0,2"]}, True, ("0", "2")),
        ({"runArgs": ["--device=/dev/nvidia0:/dev/nvidia0:rw"]}, False, ("/dev/nvidia0",)),
        ({"runArgs": ["--device", "nvidia.com/gpu=all"]}, False, ("nvidia.com/gpu=all",)),
        ({"runArgs": ["--gpus"]}, True, ("",)),
        ({"runArgs": ["--ipc=host"]}, False, ()),
        ({"hostRequirements": {"gpu": True}}, True, ()),
        ({"hostRequirements": {"gpu": "optional"}}, False, ()),
        ({"hostRequirements": {"gpu": {"cores": 1000}}}, True, ()),
        ({"hostRequirements": {"gpu": False}}, False, ()),
        ({}, False, ()),
    ],
)  # fmt: skip
def test_what_asks_for_a_gpu_and_for_which(document, gpu, devices):
    ask = read(json.dumps({"image": "x", **document}))
    assert (ask.gpu, ask.services[0].devices) == (gpu, devices)


@pytest.mark.parametrize(
    ("document", "user", "env"),
    [
        ({}, "root", {}),
        ({"remoteUser": "dev", "containerUser": "other"}, "dev", {}),
        ({"containerUser": "other"}, "other", {}),
        ({"containerEnv": {"A": "1", "B": "1"}, "remoteEnv": {"B": "2"}}, "root", {"A": "1", "B": "2"}),
    ],
)
def test_who_it_runs_as_and_with_which_variables(document, user, env):
    ask = read(json.dumps({"image": "x", **document}))
    assert (ask.stages[0].user, ask.stages[0].env, ask.services[0].env) == (user, env, env)


def test_variables_of_the_container_decide_the_index_of_its_commands():
    document = {"image": "x", "containerEnv": {"PIP_INDEX_URL": "https://mirror.example/simple"}, "postCreateCommand": "pip install torch"}  # fmt: skip
    (step,) = read(json.dumps(document)).stages[0].installs
    assert step.index == "https://mirror.example/simple"


def test_lines_point_at_what_asks():
    text = '{\n "image": "x",\n "runArgs": [\n  "--ipc=host",\n  "--gpus=device=1"\n ],\n "containerEnv": {\n  "NVIDIA_VISIBLE_DEVICES": "0"\n }\n}'
    assert read(text).services[0].device_line == 5
    assert read(text.replace("--gpus=device=1", "--gpus=all")).services[0].device_line == 8


json_text = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(json_text, st.sampled_from([None, 1, "\t"]))
def test_what_has_no_comments_means_the_same_afterwards(document, indent):
    text = json.dumps(document, indent=indent)
    assert json.loads(plain(text)) == document


@given(json_text, st.sampled_from(["// x", "/* x */", "/* x\n y */", "//"]))
def test_a_comment_after_any_line_changes_nothing(document, comment):
    text = json.dumps(document, indent=2)
    commented = "\n".join(f"{line} {comment}" for line in text.splitlines())
    assert json.loads(plain(commented)) == document
    assert plain(commented).count("\n") == commented.count("\n")


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('{"build": {"dockerfile": "a/Dockerfile"}}', ("a/Dockerfile",)),
        ('{"dockerFile": "Dockerfile"}', ("Dockerfile",)),
        ('{"dockerComposeFile": ["a.yml", "b.yml"], "service": "x"}', ("a.yml", "b.yml")),
        ('{"dockerComposeFile": "a.yml"}', ("a.yml",)),
        ('{"image": "x"}', ()),
    ],
)
def test_what_it_builds_from_is_named(text, files):
    assert read(text).files == files


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"image": [1]}', '{"runArgs": {"a": 1}}', '{"features": 3, "postCreateCommand": {"a": [[]]}}'],
)
def test_odd_documents_are_told_or_read_but_never_break(text):
    try:
        ask = read(text)
    except InputError as error:
        assert "devcontainer.json" in str(error)
    else:
        assert ask.kind == "devcontainer"


@pytest.mark.parametrize("text", ["/*" * 50_000, '"' * 50_000, ", " * 50_000, "[" * 500, '{"a": ' * 500])
def test_hostile_texts_are_read_in_no_time_or_refused(text):
    try:
        read("{" + text)
    except InputError as error:
        assert "devcontainer.json" in str(error)


@pytest.fixture
def project(tmp_path):
    """A project with a development container, and a file outside of it."""
    (tmp_path / "outside.Dockerfile").write_text("FROM nvidia/cuda:11.0-base\n")
    root = tmp_path / "project"
    (root / ".devcontainer").mkdir(parents=True)
    (root / "Dockerfile").write_text("FROM python:3.10\nRUN pip install torch==1.13.1+cu117\n")

    def write(dockerfile):
        path = root / ".devcontainer" / "devcontainer.json"
        path.write_text(json.dumps({"build": {"dockerfile": dockerfile, "context": ".."}}))
        return path

    return write


def test_the_dockerfile_that_it_builds_is_judged_too_and_once(project):
    path = project("../Dockerfile")
    found = lint_files([str(path)], matrix()).findings
    assert [(item.code, item.place.line) for item in found if item.severity == "error"] == [("index-missing", 2)]
    assert found[0].place.file.endswith("project/Dockerfile")
    both = lint_files([str(path), str(path.parent.parent / "Dockerfile")], matrix()).findings
    assert [item.code for item in both].count("index-missing") == 1


@pytest.mark.parametrize("named", ["../../outside.Dockerfile", "../missing", "..", "/etc/passwd"])
def test_nothing_outside_the_project_is_read(project, named):
    assert lint_files([str(project(named))], matrix()).findings == ()
