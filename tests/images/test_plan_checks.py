"""Held against a plan: what is installed is compared without an import, under whatever Python the image has."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from compat.build import outcome, parcel
from compat.plan import Plan, PlannedBuild

SCRIPTS = parcel.FOLDER
HERE = Plan(
    runtime="cpu",
    python="{}.{}".format(*sys.version_info[:2]),
    arch=platform.machine(),
    builds=(PlannedBuild(name="jax", version="0.6.2", pins=("jaxlib==0.6.2", "ml_dtypes>=0.5", "numpy==2.*")),),
)
CODE = "image-not-as-planned"


def load(name):
    sys.path.insert(0, str(SCRIPTS))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.fixture
def held(tmp_path):
    """What the scripts say of a folder of metadata, held against a plan."""

    def run(plan, *folders):
        for name in folders:
            (tmp_path / name).mkdir()
        words = [sys.executable, str(SCRIPTS / "run.py"), "--level", "driver", "--expect", "cpu"]
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(
            [*words, "--plan", parcel.agreed(plan)], capture_output=True, text=True, env=env, check=False
        )
        assert "Traceback" not in done.stderr
        found = {item.name: item for item in outcome.read(done.stdout.splitlines())[0]}
        assert done.returncode == any(item.status == "fail" for item in found.values())
        return found

    return run


AS_PLANNED = ("jax-0.6.2.dist-info", "jaxlib-0.6.2.dist-info")


def test_what_is_as_planned_passes(held):
    found = held(HERE, *AS_PLANNED)
    assert [found[f"plan.{name}"].status for name in ("python", "machine", "packages")] == ["pass"] * 3
    assert found["plan.packages"].figures == {"checked": 2}


@pytest.mark.parametrize(
    ("change", "probe", "says"),
    [
        ({"python": "3.7"}, "plan.python", "planned 3.7"),
        ({"arch": "riscv64"}, "plan.machine", "planned riscv64"),
        ({"builds": (replace(HERE.builds[0], version="0.6.0"),)}, "plan.packages", "jax is 0.6.2, planned 0.6.0"),
        ({"builds": (replace(HERE.builds[0], pins=("jaxlib==0.6.0",)),)}, "plan.packages", "jaxlib is 0.6.2, planned"),
        ({"builds": (PlannedBuild(name="keras", version="3.1"),)}, "plan.packages", "keras is not there, planned 3.1"),
    ],
)
def test_what_differs_is_named_and_nothing_else(held, change, probe, says):
    found = held(replace(HERE, **change), *AS_PLANNED)
    assert (found[probe].status, found[probe].code) == ("fail", CODE)
    assert says in found[probe].why
    assert {name for name, item in found.items() if item.status == "fail"} == {probe}
    assert outcome.findings(found.values(), "x")[0].title == "The image does not hold what its plan says"


def test_a_free_threaded_python_is_known_by_its_plain_version(held):
    assert held(replace(HERE, python=HERE.python + "t"), *AS_PLANNED)["plan.python"].status == "pass"


@pytest.mark.parametrize(
    ("have", "want", "same"),
    [
        ("2.9.1+cu128", "2.9.1+cu128", True),
        ("2.9.1", "2.9.1+cu128", True),  # an index may leave the tag out; what it is for, the framework says itself
        ("2.9.1+cu128", "2.9.1", True),
        ("2.9.1+cpu", "2.9.1+cu128", False),
        ("2.9.10", "2.9.1", False),
        ("2.9.1.post1", "2.9.1", False),
        ("2.4.0a0+f70bd71a48.nv24.06", "2.4.0a0+f70bd71a48.NV24.6", False),
        ("2.4.0a0+F70bd71a48_nv24.06", "2.4.0a0+f70bd71a48.nv24.06", True),
        ("", "2.9.1", False),
    ],
)
def test_versions_agree_as_pep_440_has_it(have, want, same):
    assert load("plan_checks").agrees(have, want) is same


NUMBERS = st.lists(st.integers(0, 99), min_size=2, max_size=4).map(lambda parts: ".".join(map(str, parts)))


@given(NUMBERS, NUMBERS)
def test_plain_releases_agree_when_they_are_written_alike(have, want):
    """Metadata holds the release as it was published: 1.0 and 1.0.0 are the same by order, and never both published."""
    agrees = load("plan_checks").agrees(have, want)
    assert agrees == (have == want)
    assert not agrees or Version(have) == Version(want)


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["Flask_SQLAlchemy-3.0.dist-info"], {"flask-sqlalchemy": "3.0"}),
        (["torch-2.0.1+cu118.dist-info"], {"torch": "2.0.1+cu118"}),
        (["numpy-1.24.2.egg-info", "six-1.16.0-py3.11.egg-info"], {"numpy": "1.24.2", "six": "1.16.0"}),
        (["zope.interface-5.dist-info"], {"zope-interface": "5"}),
        (["mine.egg-info", "torch", "-1.dist-info.txt"], {}),
    ],
)
def test_metadata_folders_are_read_by_their_names(tmp_path, monkeypatch, entries, found):
    for name in entries:
        (tmp_path / name).mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "nowhere")])
    assert load("plan_checks").releases() == found


def test_the_first_on_the_path_counts(tmp_path, monkeypatch):
    for folder, version in (("a", "1.0"), ("b", "2.0")):
        (tmp_path / folder / f"torch-{version}.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    assert load("plan_checks").releases() == {"torch": "1.0"}


def test_only_exact_pins_can_be_compared():
    assert HERE.versions() == {"jax": "0.6.2", "jaxlib": "0.6.2"}
    assert json.loads(parcel.agreed(HERE))["versions"] == HERE.versions()
