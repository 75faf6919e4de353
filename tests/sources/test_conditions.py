"""Which arm of an ``if`` the defaults of a file take, and what no default takes."""

import pytest

from compat.sources import conditions, read

DECIDED = [
    ('[ "a" = "a" ]', True),
    ("[ a != a ]", False),
    ("[[ torch==1.12.1+cu116 == torch-nightly* ]]", False),
    ("[[ torch-nightly-cu118 == torch-nightly* ]]", True),
    ('[ -z "" ]', True),
    ('[ -n "x" ] && [ 1 -eq 2 ]', False),
    ('[ -n "" ] || [ 3 -ge 2 ]', True),
    ("! [ a = b ]", True),
    ("[ ! a = b ]", True),
    ("test x = y", False),
    ("true", True),
    ("[[ a == b || c == c ]]", True),
    ("[ 12 -lt 9 ]", False),
]
OPEN = ["[ -f /etc/passwd ]", '[ "$X" = a ]', "command -v nvcc", "[ `uname` = Linux ]", "grep -q x y", '[ "a = b ]', ""]


@pytest.mark.parametrize(("text", "expected"), DECIDED)
def test_a_test_of_known_words_is_decided(text, expected):
    assert conditions.holds(text) is expected


@pytest.mark.parametrize("text", OPEN)
def test_what_a_machine_or_a_variable_decides_stays_open(text):
    assert conditions.holds(text) is None


def steps(run: str, before: str = "ARG GPU=1") -> list[tuple[str, str]]:
    """Package and arm of each step of a RUN."""
    ask = read(f"FROM a:1\n{before}\nRUN {run}\n", "Dockerfile")
    return [(request.name, step.branch) for step in ask.stages[0].installs for request in step.requests]


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ('if [ "$GPU" = 1 ]; then pip install a; else pip install b; fi; pip install c', [("a", ""), ("c", "")]),
        ('if [ "$GPU" = 0 ]; then pip install a; elif [ "$GPU" = 1 ]; then pip install b; fi', [("b", "")]),
        ('if [ "$GPU" = 0 ]; then pip install a; else pip install b; fi', [("b", "")]),
        ("if [ -f x ]; then pip install a; else pip install b; fi", [("a", "1.0"), ("b", "1.1")]),
        ("case $GPU in 0) pip install a;; 1|2) pip install b;; *) pip install c;; esac", [("b", "")]),
        ('[ "$GPU" = 0 ] && pip install a; pip install b', [("b", "")]),
        ('[ "$GPU" = 1 ] && pip install a', [("a", "")]),
        ('[ "$GPU" = 1 ] || pip install a', []),
        ('if [ "$GPU" = 1 ] && [ "$GPU" != 2 ]; then pip install a; fi', [("a", "")]),
        ('if [ "$GPU" = 0 ]; then if [ -f x ]; then pip install a; fi; fi', []),
    ],
)
def test_the_defaults_choose_the_arm(run, expected):
    assert steps(run) == expected


def test_a_test_of_what_is_not_known_makes_the_step_an_arm():
    ((name, branch),) = steps("[ -f x ] && pip install a")
    assert name == "a"
    assert branch


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${X##*+}", "cu116"),
        ("${X%%+*}", "torch==1.12.1"),
        ("${X#torch==}", "1.12.1+cu116"),
        ("${X%6}", "torch==1.12.1+cu11"),
    ],
)
def test_a_value_is_cut_as_the_shell_cuts_it(written, value):
    ask = read(f"FROM a:1\nARG X=torch==1.12.1+cu116\nRUN echo {written}\n", "Dockerfile")
    assert ask.stages[0].commands[0].words[1] == value
