"""A grid told to people: what can work, what was left out and why, and how many of either."""

import pytest

from compat import plan, survey
from compat.render.grid import text
from compat.render.ink import Ink


def cell(name="one", runtime="cuda12.8"):
    made = plan.Plan(runtime=runtime, python="3.12")
    return survey.Cell(name=name, requirements=("torch==2.9.1",), plan=made, dockerfile="")


LEFT = survey.Excluded("three", ("jax==0.1",), "no build for it")


@pytest.mark.parametrize(
    ("cells", "excluded", "last"),
    [
        ((), (), "0 cells, 0 left out"),
        ((cell(),), (), "1 cell, 0 left out"),
        ((cell(), cell("two", "cpu")), (LEFT,), "2 cells, 1 left out"),
        ((), (LEFT, LEFT), "0 cells, 2 left out"),
    ],
)
def test_the_last_line_counts(cells, excluded, last):
    assert text(cells, excluded).splitlines()[-1] == last


def test_each_cell_and_each_reason_has_its_line():
    assert text((cell(), cell("two", "cpu")), (LEFT,)).splitlines() == [
        "✓ one: cuda12.8, Python 3.12",
        "✓ two: cpu, Python 3.12",
        "- three: left out: no build for it",
        "2 cells, 1 left out",
    ]


def test_a_long_reason_stays_on_the_paper_and_under_its_cell():
    long = survey.Excluded("three", (), " ".join(["reason"] * 40))
    lines = text((), (long,), pen=Ink(width=60)).splitlines()
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("    reason") for line in lines[1:-1])


def test_a_reason_from_elsewhere_is_one_line_and_no_command():
    hostile = survey.Excluded("x", (), "a\n::error::b\x1b[31m")
    said = text((), (hostile,))
    assert len(said.splitlines()) == 2
    assert "\x1b" not in said
