"""How the probe scripts travel into a container, and what is asked before they do."""

from __future__ import annotations

import base64
import io
import sys
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from compat.build import clients, engine, images, parcel, verification
from compat.errors import CannotCheckError, InputError

SCRIPTS = parcel.FOLDER


@pytest.fixture
def script(monkeypatch):
    """A probe's module by its name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return __import__


@pytest.mark.parametrize("level", verification.LEVELS)
@pytest.mark.parametrize("expect", ["", "cuda12.6", "cpu"])
@pytest.mark.parametrize("frameworks", [(), ("torch",), ("torch", "jax")])
def test_the_scripts_read_the_options_that_they_are_given(script, level, expect, frameworks):
    words = parcel.options(level, expect=expect, frameworks=frameworks, timeout=600, seconds=45)
    read = script("run")._options(words)
    assert (read.level, read.expect, read.seconds, read.plan) == (level, expect, 45.0, "")
    assert [name for name in read.frameworks.split(",") if name] == list(frameworks)
    assert 0 < read.timeout < 600  # their own verdict comes before the caller's


def test_a_plan_travels_with_the_scripts(script, plan):
    bare = parcel.words("driver", expect="cpu", frameworks=(), timeout=60, seconds=1)
    told = parcel.words("driver", expect="cpu", frameworks=(), timeout=60, seconds=1, plan=plan)
    assert script("run")._options(bare[3:]).plan == ""
    assert script("run")._options(told[3:]).plan == parcel.agreed(plan)


def test_the_parcel_holds_every_script_as_it_is_and_no_other_file():
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(parcel.packed()))) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {path.name: path.read_bytes() for path in SCRIPTS.glob("*.py") if path.name != "__init__.py"}
    assert "run.py" in found


@given(st.text(max_size=400), st.integers(8, 60))
@example("x" * 20, 20)
def test_a_long_message_keeps_its_beginning_and_its_end(text, limit):
    sys.path.insert(0, str(SCRIPTS))
    try:
        from reporting import brief
    finally:
        sys.path.remove(str(SCRIPTS))
    flat, short = " ".join(text.split()), brief(text, limit)
    assert len(short) <= limit + 5
    assert "\n" not in short
    if len(flat) <= limit:
        assert short == flat
    else:
        assert short.startswith(flat[: limit // 2])
        assert short.endswith(flat[-(limit // 2) :])
        assert " ... " in short


def test_only_what_can_be_started_is_a_docker(tmp_path, monkeypatch):
    for name in ("folder", "text", "real"):
        (tmp_path / name).mkdir()
    (tmp_path / "folder" / "docker").mkdir()
    (tmp_path / "text" / "docker").write_text("not a program")
    (tmp_path / "real" / "docker").write_text("#!/bin/sh\n")
    (tmp_path / "real" / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", ":".join(str(tmp_path / name) for name in ("folder", "text", "none", "real", "real")))
    assert list(clients._executables()) == [str(tmp_path / "real" / "docker")]


def test_the_lines_of_the_failing_step_are_told_from_those_of_steps_beside_it():
    log = (
        "#10 [a 2/3] RUN make\n#11 [b 2/3] RUN fetch\n#10 1.2 cc: fatal error\n#11 0.4 fetched\n"
        "#1 note\n#10 ERROR: process did not complete\n#11 CANCELED\n"
    )
    told = images.failure(log)
    assert any("cc: fatal error" in line for line in told)
    assert not any(word in line for line in told for word in ("fetched", "note", "CANCELED"))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[Errno 13] Permission denied", "group docker"),
        ("permission was denied", "group docker"),
        ("Permission needed", "group docker"),
        ("[Errno 2] No such file or directory", "envcheck doctor tells how"),
        ("[Errno 111] Connection refused", "DOCKER_HOST"),
    ],
)
def test_what_to_do_about_an_engine_follows_from_what_its_socket_says(text, hint):
    assert hint in engine._hint(text)


@pytest.mark.parametrize(
    "label",
    ["{", "[]", "7", "null", '{"plan": 1}', '{"status": "plan"}', "[" * 100_000, '{"a": "' + "x" * 100_000],
    ids=["open", "list", "number", "null", "wrong", "no-plan", "deep", "long"],
)
def test_a_label_that_holds_no_plan_is_said_and_not_passed_over(label):
    with pytest.raises(CannotCheckError, match="holds no plan"):
        verification.planned({verification.PLAN_LABEL: label})


def test_an_image_without_a_plan_in_its_label_has_none():
    assert verification.planned({verification.PLAN_LABEL: ""}) is None
    assert verification.planned({}) is None


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("echo 3.11; exit 1", "no Python"),  # it knows the answer and cannot run programs
        ("echo hello", "no Python"),
        ("echo 3.5", "this is Python 3.5"),
        ("echo 2.7", "this is Python 2.7"),
        ("exit 0", "no Python"),
    ],
)
def test_what_is_no_fitting_python_gets_no_scripts(tmp_path, program, says):
    stub = tmp_path / "python"
    stub.write_text(f"#!/bin/sh\n{program}\n")
    stub.chmod(0o755)
    with pytest.raises(InputError, match=says) as refused:
        verification.probe(python=str(stub))
    assert refused.value.where == f"--python {stub}"


@pytest.mark.parametrize("answer", ["3.6", "3.11", "3.14", "4.0"])
def test_a_python_may_chatter_before_it_answers(tmp_path, answer):
    stub = tmp_path / "python"
    stub.write_text(f"#!/bin/sh\necho 'startup file loaded'\necho {answer}\n")
    stub.chmod(0o755)
    verification._demand_python(str(stub), str(stub), 30)
