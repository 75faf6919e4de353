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
