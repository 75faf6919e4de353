"""Dockerfiles as Docker reads them: stages, arguments, continuations, here-documents, the forms people write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import sources
from compat.sources import dockerfile, shell


def stage(text):
    return sources.read(text, "Dockerfile").stages[-1]


def requests(text, manager="pip"):
    return [
        request.text for step in stage(text).installs if step.manager in {manager, "uv"} for request in step.requests
    ]


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("FROM ubuntu:22.04", "ubuntu:22.04"),
        ("ARG V=12.2.2\nFROM nvidia/cuda:${V}-base-ubuntu22.04", "nvidia/cuda:12.2.2-base-ubuntu22.04"),
        ("ARG V\nFROM x:${V:-1}", "x:1"),
        ('ARG A="1.8.1"\nARG B="$A-x"\nFROM p:${B}', "p:1.8.1-x"),
        ("from --platform=linux/arm64 python:3.11 as base", "python:3.11"),
        ("FROM $UNSET", "$UNSET"),
        ("# syntax=docker/dockerfile:1\n\nFROM a:1\nFROM b:2 AS last", "b:2"),
    ],
)
def test_the_base_has_its_arguments_filled_in(text, base):
    assert stage(text).base == base


def test_a_stage_that_continues_another_has_its_settings():
    ask = sources.read("FROM a:1 AS one\nENV X=1\nFROM one AS two\nENV Y=$X\n", "Dockerfile")
    assert ask.stages[1].parent == 0
    assert [part.name for part in ask.chain(ask.stages[1])] == ["one", "two"]
    assert ask.stages[1].env == {"X": "1", "Y": "1"}


@pytest.mark.parametrize(
    "run",
    [
        "pip install torch==2.0.1",
        "pip3 install --no-cache-dir torch==2.0.1",
        "python3 -m pip install torch==2.0.1",
        "/opt/venv/bin/pip install torch==2.0.1",
        "apt-get update && apt-get install -y x && pip install torch==2.0.1 && rm -rf y",
        "set -ex; pip install \\\n      torch==2.0.1 \\\n  # a comment inside\n  && true",
        "--mount=type=cache,target=/root/.cache pip install torch==2.0.1",
        '["pip", "install", "torch==2.0.1"]',
        '["/bin/bash", "-c", "pip install torch==2.0.1"]',
        "<<EOF\npip install torch==2.0.1\nEOF",
        "uv pip install --system torch==2.0.1",
        "python3.11 -m uv pip install torch==2.0.1",
        "VAR=1 sudo pip install torch==2.0.1",
        "if true; then pip install torch==2.0.1; fi",
    ],
)
def test_an_install_is_found_in_every_form(run):
    assert requests(f"FROM a:1\nRUN {run}\n") == ["torch==2.0.1"]


@pytest.mark.parametrize(
    "run",
    ["echo 'pip install torch==2.0.1'", "pip download torch==2.0.1", "echo pip && echo install", "pip list"],
)
def test_what_installs_nothing_is_no_install(run):
    assert requests(f"FROM a:1\nRUN {run}\n") == []


def test_variables_reach_the_install():
    text = 'FROM a:1\nARG TORCH=2.0.1\nENV INDEX=https://download.pytorch.org/whl/cu118\nRUN pip install torch==${TORCH} --index-url "$INDEX"\n'
    step = stage(text).installs[0]
    assert step.requests[0].exact == "2.0.1"
    assert step.index == "https://download.pytorch.org/whl/cu118"


def test_lines_point_at_the_instruction():
    ask = sources.read("FROM a:1\n\n# comment\nRUN true\n\nRUN pip install \\\n  torch\n", "Dockerfile")
    assert [command.line for command in ask.stages[0].commands] == [4, 6]


def test_cmd_and_entrypoint_run_later():
    commands = stage('FROM a:1\nRUN one\nCMD ["two", "x"]\nENTRYPOINT three\n').commands
    assert [(command.words[0], command.build) for command in commands] == [
        ("one", True),
        ("two", False),
        ("three", False),
    ]


def test_other_managers():
    text = "FROM a:1\nRUN apt-get update && apt-get install -y python3.11 libfoo=1.2 && conda install -y -c pytorch pytorch::pytorch=1.12 cudatoolkit=11.3.*\n"
    steps = {step.manager: step for step in stage(text).installs}
    assert [request.text for request in steps["apt"].requests] == ["python3.11", "libfoo==1.2"]
    assert [request.text for request in steps["conda"].requests] == ["pytorch==1.12.*", "cudatoolkit==11.3.*"]
    assert steps["conda"].channels == ("pytorch",)


def test_the_old_form_of_env_and_the_new_one():
    env = stage("FROM a:1\nENV A one two\nENV B=1 C='x y' D=\"q\"\n").env
    assert env == {"A": "one two", "B": "1", "C": "x y", "D": "q"}


def test_instructions_before_from_are_said():
    (found,) = sources.read("RUN x\nFROM a:1\n", "Dockerfile").refused
    assert found[:2] == (1, "`RUN` stands before the first FROM")


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("a${X}b", {"X": "1"}, "a1b"),
        ("${X:-d}", {}, "d"),
        ("${X:+y}", {"X": "1"}, "y"),
        ("${X:+y}", {}, ""),
        ("$NO", {}, "$NO"),
        ("${A:-${B}}", {"B": "2"}, "2"),
    ],
)
def test_variables_are_filled_as_a_shell_would(text, values, filled):
    assert shell.fill(text, values) == filled


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text):
    ask = dockerfile.read("FROM a\nRUN " + text, "Dockerfile")
    assert ask.stages[0].base == "a"


@given(
    st.lists(
        st.sampled_from(
            [
                "FROM a:1 AS x",
                "FROM x",
                "ARG A=1",
                "ENV A=$A$A",
                "RUN <<E",
                "E",
                "RUN pip install \\",
                "COPY --from=x a b",
                "#",
                "USER $A",
                '["',
            ]
        ),
        max_size=12,
    )
)
def test_no_order_of_instructions_breaks_the_reader(lines):
    dockerfile.read("\n".join(lines), "Dockerfile")
