"""Locks: what the installer is asked, and what of its words reaches the person when it fails."""

import re

import pytest

from compat.errors import CannotCheckError
from compat.plan import Plan, PlannedBuild
from compat.registry import locking
from compat.run import Outcome

BUILD = PlannedBuild(name="torch", version="2.9.1", runtime="cpu")


def plan(**more):
    return Plan(runtime="cpu", python="3.11", arch="aarch64", builds=(BUILD,), **more)


@pytest.fixture
def uv(tmp_path, monkeypatch):
    program = tmp_path / "uv"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return str(program)


def failing(**said):
    return lambda _command, **_how: Outcome(code=2, **said)


def told(runner):
    with pytest.raises(CannotCheckError) as caught:
        locking.pylock(plan(), runner=runner)
    return re.search(r"could not be made: (.*)", str(caught.value))[1]


@pytest.mark.parametrize(
    ("err", "heard"),
    [
        (
            "warning: old\n\nerror: no version of torch\n  because of numpy\n",
            "error: no version of torch because of numpy",
        ),
        ("ERROR: gone\nhint: look\n", "ERROR: gone hint: look"),
        ("one\ntwo\nthree\n", "two three"),  # nothing is marked: the end tells most
        ("alone\n", "alone"),
        ("\n \n", "the installer said nothing"),
    ],
)
def test_the_installers_own_words_are_told_from_its_first_error_on(uv, err, heard):
    assert told(failing(err=err)).startswith(heard)


def test_a_flood_of_words_is_cut(uv):
    assert len(told(failing(err="error: " + "no " * 5000))) < 800


def test_an_installer_that_did_not_run_is_told_apart(uv):
    assert told(failing(why="no answer within 600 s", err="half a word")).startswith("no answer within 600 s")


def test_an_installer_that_is_content_and_writes_nothing_made_no_lock(uv):
    assert told(lambda _command, **_how: Outcome(code=0)).startswith("the installer said nothing")


@pytest.mark.parametrize(
    ("more", "platform"),
    [({}, ["--python-platform", "aarch64-manylinux_2_28"]), ({"also": ("x86_64",)}, ["--universal"])],
)
def test_a_plan_for_several_platforms_is_locked_for_all(uv, more, platform):
    asked = []

    def runner(command, **_how):
        asked.extend(command)
        made = command[command.index("--output-file") + 1]
        with open(made, "w") as lock:
            lock.write("lock-version = '1.0'\n")
        return Outcome(code=0)

    assert locking.pylock(plan(**more), runner=runner) == "lock-version = '1.0'\n"
    assert asked[0] == uv
    place = asked.index("--python-version")
    assert asked[place : place + 2 + len(platform)] == ["--python-version", "3.11", *platform]
    assert ("--universal" in asked) != ("--python-platform" in asked)
