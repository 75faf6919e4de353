"""Doctor, lint and resolve give one verdict on the same pins and the same machine; what still differs is counted."""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import agreement
import agreement_questions as questions

from compat import rules
from compat.findings import Finding, Report, Unchecked
from compat.lint import RULES as LINT
from compat.matrix.store import Held, stated
from compat.resolve import resolve
from compat.rules import judge

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KNOWN = tomllib.loads((Path(__file__).parent / "known.toml").read_text("utf-8"))["differences"]


MATRIX = questions.MATRIX


@pytest.fixture(scope="module")
def tally():
    return agreement.run(0, 300, tuple(agreement.JOINTS))


@pytest.mark.parametrize("joint", agreement.JOINTS)
def test_no_more_differences_than_are_known(joint, tally):
    assert tally.asked[joint] >= 10
    assert tally.differing[joint] <= KNOWN[joint], agreement.told(tally)


def test_every_code_of_a_joint_is_one():
    named = {code for joint in agreement.JOINTS.values() for code in joint.codes}
    assert named <= {*rules.RULES, *LINT}


@pytest.fixture(scope="module")
def guessed():
    """The matrix with every build as nobody would have seen it."""
    names = [name for name in MATRIX.names() if name.startswith("builds.")]
    rows = {name: [told(stated(replace(row, how="inferred"))) for row in MATRIX.builds(name[7:])] for name in names}
    return MATRIX.beneath(Held(rows, {}))


def told(row):
    """A stated row without what it leaves open."""
    return {name: value for name, value in row.items() if value or name in {"runtime", "source"}}


def certain(one, matrix):
    """What resolve, the doctor and lint call certain by this matrix."""
    codes = agreement.JOINTS[one.joint].codes
    installed = dict(one.plain) | {build.install_name: build.full_version for build in one.builds}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "MATRIX", matrix)
        patch.setattr(agreement, "_by_findings", lambda _, report: report)
        reports = judge(one.host(packages=installed), matrix), agreement.linted(one)
    found = [each for report in reports for top in report.findings for each in (top, *top.consequences)]
    found = [each for each in found if each.severity != "info" and each.confidence == "certain"]
    sure = [each.code for each in found if each.code in codes]
    return [*sure, *(each for each in resolve(one.pins, one.host(), matrix).conflicts if not each.likely)]


NAMED = ("cu", "rocm", "gpu", "xpu")  # a name, an extra or a local tag that says the runtime needs no row
NAMELESS = {"processor", "python", "glibc", "platform", "libraries"}  # the runtime decides nothing there


@pytest.mark.parametrize("joint", sorted({*agreement.JOINTS} - {"image", "amdgpu"}))
def test_nobody_proves_by_rows_that_nobody_saw(joint, guessed):
    """Rows that were seen and refuse something, turned into inferred ones: all three then say likely or nothing."""
    dice, asked = random.Random(joint), 0
    for _ in range(2000):
        one = questions.question(joint, dice)
        if one is None or (joint not in NAMELESS and any(name in pin for name in NAMED for pin in installs(one))):
            continue
        if not certain(one, MATRIX) or judge(one.host(), MATRIX).findings:
            continue  # the machine by itself is at fault
        assert not certain(one, guessed), one
        asked += 1
        if asked == 6:
            break
    assert asked


def installs(one):
    """What the builds of a question are asked for and installed by."""
    return (*one.pins, *(build.install_name for build in one.builds))


def finding(code, severity="error", confidence="certain"):
    return Finding(code=code, severity=severity, confidence=confidence, title="", detail="")


@pytest.mark.parametrize(
    ("report", "word"),
    [
        (Report((finding("driver-too-old-for-runtime"),)), "clashes"),
        (Report((finding("driver-too-old-for-runtime", confidence="possible"),)), "unknown"),
        (Report((finding("driver-too-old-for-runtime", severity="info"),)), "fits"),
        (Report((finding("glibc-too-old"),)), "fits"),  # a fault of another joint is no verdict about this one
        (Report((), (), (Unchecked.wanting("driver", ["driver-too-old-for-runtime"]),)), "unknown"),
        (Report((), (), (Unchecked.wanting("env", ["devices-hidden"]),)), "fits"),
    ],
)
def test_findings_of_the_joint_alone_decide(report, word):
    asked = agreement.Question("driver", (), ())
    assert agreement._by_findings(asked, report).word == word


def test_differing_words_and_rows_are_told_apart():
    fits, clashes = agreement.Verdict("fits"), agreement.Verdict("clashes", frozenset({"a"}))
    assert agreement._cited_apart({"doctor": clashes, "lint": clashes}) == ""
    assert "by other rows" in agreement._cited_apart(
        {"d": clashes, "l": agreement.Verdict("clashes", frozenset({"b"}))}
    )
    assert "no row cited by l" in agreement._cited_apart({"d": clashes, "l": agreement.Verdict("clashes")})
    tally = agreement.Tally()
    tally.add("driver", "", "same")
    tally.add("driver", "doctor fits lint clashes", "other")
    assert tally.differing == {"driver": 1}
    assert "1 differ of 2" in agreement.told(tally)
    assert fits.rows == frozenset()


def asked(joint, *pins):
    builds = []
    for name, version, extras in pins:
        rows = [row for row in agreement.MATRIX.builds(name) if row.version == version and row.extras == extras]
        builds.append(next(row for row in rows if "linux_x86_64" in row.platforms))
    machine = {"platform": "linux", "arch": "x86_64", "python": "3.10", "libc": "glibc", "glibc": "2.43"}
    return agreement.Question(joint, tuple(builds), tuple(machine.items()))


def test_a_reason_is_given_only_where_it_explains_all_of_a_difference():
    fits, clashes = agreement.Verdict("fits"), agreement.Verdict("clashes")
    plugin = asked("libraries", ("jax-cuda12-plugin", "0.4.31", ("with-cuda",)))
    with_cudnn = agreement.replace(plugin, plain=(("nvidia-cudnn-cu12", "8.9.7.29"),))
    answers = {"doctor": fits, "resolve": clashes, "lint": clashes}
    assert agreement._another_question(with_cudnn, answers) == agreement.EXTRAS
    torch = asked("driver", ("torch", "2.6.0", ()))
    assert agreement._another_question(torch, answers) == ""
    assert agreement._another_question(torch, {"doctor": fits, "resolve": clashes, "lint": fits}) == ""


def test_a_conflict_that_rests_on_base_images_is_of_another_joint():
    fits, clashes = agreement.Verdict("fits"), agreement.Verdict("clashes")
    answers = {"doctor": fits, "resolve": clashes, "lint": fits}
    both = asked("packages", ("jax", "0.3.10", ("cuda",)), ("libtpu", "0.0.11", ()))
    seven = tuple({**dict(both.machine), "python": "3.7"}.items())
    assert agreement._another_question(agreement.replace(both, machine=seven), answers) == agreement.IMAGES
    assert agreement._another_question(both, answers) == ""


@pytest.mark.parametrize(("driver", "about"), [("495.10", True), ("470.82.01", False), ("570.86.10", False)])
def test_a_driver_with_which_no_image_starts_is_asked_about_at_another_joint(driver, about):
    card = {"name": "Quadro M5500", "vendor": "nvidia", "target": "sm_52", "driver": "nvidia"}
    machine = (("platform", "wsl2"), ("arch", "x86_64"), ("driver", driver), ("gpus", (card,)))
    plain = asked("driver", ("onnxruntime-gpu", "1.17.0", ()))
    one = agreement.replace(plain, machine=machine)
    assert agreement._is_about_image(one, one.builds[0]) is about


def test_a_machine_has_what_two_packages_dispute_in_the_version_of_the_first():
    both = asked("packages", ("tensorflow", "2.18.0", ("and-cuda",)), ("jax", "0.7.2", ("cuda12",)))
    assert agreement._disputed(both)["ml-dtypes"].startswith("0.4.")
    assert agreement.doctor(both).word == "clashes"
