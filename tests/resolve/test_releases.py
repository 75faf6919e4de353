"""Every release of every framework that the matrix holds: asked for alone, it gets a plan that can be made, or a reason."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest
from review import of_python, real, row_of

from compat.errors import InputError
from compat.facts import Fact, Host
from compat.resolve import resolve
from compat.resolve.target import from_options

if TYPE_CHECKING:
    from compat.plan import Answer

FRAMEWORKS = sorted(name for name, row in real().packages.items() if row.kind == "framework")
LINUX = Host({"arch": Fact("x86_64", "--arch", option=True)})


def releases(package: str) -> list[str]:
    return list(dict.fromkeys(row.version for row in real().builds(package)))


@cache
def answers(package: str, cpu: bool) -> dict[str, Answer]:
    """Each release that has a build of the kind, asked for by its version."""
    found = {}
    for version in releases(package):
        try:
            found[version] = resolve([f"{package}=={version}"], LINUX, real(), cpu=cpu)
        except InputError as error:  # pragma: no cover - would be the fault that the test is for
            pytest.fail(f"{package}=={version}: {error}")
    return found


@pytest.mark.parametrize("package", FRAMEWORKS)
@pytest.mark.parametrize("cpu", [False, True], ids=["gpu", "cpu"])
def test_each_release_has_a_plan_or_a_reason(package: str, cpu: bool) -> None:
    for version, answer in answers(package, cpu).items():
        if answer.plan is None:
            rows = [member for conflict in answer.conflicts for member in conflict.members if member.kind == "matrix"]
            assert rows, version
            assert all(row.source for row in rows), version
        else:
            assert re.match(rf"{re.escape(version)}(\+|\.post|$)", answer.plan.builds[0].version), version
            assert all(row_of(build, answer.plan, LINUX) for build in answer.plan.builds), version


@pytest.mark.parametrize("package", FRAMEWORKS)
@pytest.mark.parametrize("cpu", [False, True], ids=["gpu", "cpu"])
def test_the_python_of_each_plan_can_be_had_on_its_image(package: str, cpu: bool) -> None:
    plans = {version: answer.plan for version, answer in answers(package, cpu).items() if answer.plan}
    assert {version: told for version, plan in plans.items() if (told := list(of_python(plan, LINUX)))} == {}


@pytest.mark.parametrize("cpu", [False, True], ids=["gpu", "cpu"])
def test_a_reason_never_says_that_the_target_is_what_it_is(cpu: bool) -> None:
    """ "Published for linux_x86_64, and the plan is for linux_x86_64" explains nothing."""
    told = [
        member.text
        for package in FRAMEWORKS
        for answer in answers(package, cpu).values()
        for conflict in answer.conflicts
        for member in conflict.members
    ]
    places = [re.search(r"is published as .* for (.*), and the plan is for (\S+)$", text) for text in told]
    assert [one[0] for one in places if one and one[2] in one[1].split(", ")] == []


@pytest.mark.parametrize(
    ("wishes", "options", "python"),
    [
        (["tensorflow==2.0.0"], {"cpu": True, "os": "debian12"}, "3.7"),
        (["tensorflow==2.0.0"], {"cpu": True, "python": "3.6"}, "3.6"),
        (["torch==1.0.0"], {"gpus": ["V100"]}, "3.6"),
        (["torch==1.4.0"], {"cpu": True, "os": "macos13", "arch": "x86_64"}, "3.5"),
        (["torch==1.4.0"], {"cpu": True, "os": "macos13", "arch": "x86_64", "python": "2.7"}, "2.7"),
    ],
)
def test_python_2_is_taken_only_where_it_is_asked_for(wishes: list[str], options: dict, python: str) -> None:
    host = from_options(real(), **options)
    answer = resolve(wishes, host, real(), cpu=bool(options.get("cpu")))
    assert answer.plan is not None
    assert answer.plan.python == python
    assert list(of_python(answer.plan, host)) == []


@pytest.mark.parametrize(
    ("wishes", "options", "reason"),
    [
        (["tensorflow==2.0.0"], {"python": "2.7"}, "no image can be made with Python 2.7: the oldest that one"),
        (["tensorflow==2.0.0"], {"python": "3.5"}, "no image can be made with Python 3.5: the oldest that one"),
        (["tensorflow==2.12.0"], {"python": "3.7"}, "tensorflow ==2.12.0 has wheels for Python 3.8, 3.9, 3.10, 3.11"),
        (["tensorflow==2.1.0"], {"gpus": ["T4"]}, "the images that held cuda10.1 were removed"),
        (["paddlepaddle==2.0.0"], {"gpus": ["T4"], "cuda": "10.2"}, "the images that held cuda10.2 were removed"),
    ],
)
def test_what_no_image_can_bring_is_told_so(wishes: list[str], options: dict, reason: str) -> None:
    host = from_options(real(), **options)
    answer = resolve(wishes, host, real(), cpu=not options.get("gpus"))
    told = [member.text for conflict in answer.conflicts for member in conflict.members]
    assert any(reason in text for text in told), told
    assert all(fix.plans for fix in answer.fixes)
