"""Every fix that is printed as tried mends a random machine: random hardware with builds that the matrix has."""

from __future__ import annotations

import re

from hypothesis import given, note, settings
from hypothesis import strategies as st

from compat import versions
from compat.app.doctor import judged
from compat.changes import Install
from compat.facts import Build, Fact, Gpu, Host
from compat.fixes import replayed
from compat.matrix import matrix
from compat.rules import judge

MATRIX = matrix()
FRAMEWORKS = ("torch", "tensorflow", "jax", "jaxlib", "onnxruntime", "paddlepaddle", "cupy")
BESIDE = ("torchvision", "torchaudio", "xformers", "vllm", "bitsandbytes", "flash-attn", "triton", "numpy")
GPUS = [row for row in MATRIX.table("gpus") if row.vendor in {"nvidia", "amd"}]
DRIVERS = sorted({row.first for row in MATRIX.table("drivers") if row.first}, key=versions.release)
PLACES = ("linux", "wsl2", "windows")
ANY = (None, "docker")


def rows(names):
    return st.sampled_from(names).flatmap(
        lambda name: st.sampled_from(
            [row for row in MATRIX.builds(name) if versions.is_release(row.version.partition("+")[0])] or [None]
        )
    )


@st.composite
def machines(draw):
    """Facts of a machine: one kind of GPU, a driver or none, a Python, and a framework with packages beside it."""
    card, count = draw(st.sampled_from(GPUS)), draw(st.integers(1, 2))
    installed = [draw(rows(FRAMEWORKS)), *draw(st.lists(rows(BESIDE), max_size=3))]
    packages, builds = {}, {}
    for row in filter(None, installed):
        packages.setdefault(row.install_name, row.full_version)
        if row.runtime and draw(st.booleans()):
            builds.setdefault(row.install_name, Build(runtime=row.runtime))
    facts = {
        "gpus": (Gpu(name=card.name, vendor=card.vendor, target=card.target),) * count,
        "driver": draw(st.sampled_from([None, *DRIVERS])) if card.vendor == "nvidia" else None,
        "platform": draw(st.sampled_from(PLACES)),
        "arch": "x86_64",
        "python": f"3.{draw(st.integers(8, 14))}",
        "glibc": draw(st.sampled_from(("2.27", "2.31", "2.35", "2.39"))),
        "container": draw(st.sampled_from(ANY)),
        "packages": packages,
        "builds": builds,
    }
    return Host({name: Fact(value, "drawn") for name, value in facts.items() if value is not None})


@settings(max_examples=12, deadline=None)
@given(machines())
def test_each_fix_that_was_tried_mends_a_random_machine_and_harms_nothing(machine):
    note({name: one.value for name, one in machine.readings.items()})
    known = machine
    for found in judged(machine, MATRIX).findings:
        said = "\n".join([found.fix.text, *found.fix.commands])
        assert len(re.sub(r"https://\S+/(?=\S+\.whl)", "", said)) <= 206  # of a wheel's address its name counts
        after = replayed(known, found.fix.changes, MATRIX) if found.fix.checked else None
        if after is None:
            continue
        now = judge(after, MATRIX)
        note((found.code, found.fix))
        assert about(found) not in {about(one) for one in told(now)}
        assert errors(now) <= errors(judge(known, MATRIX))
        assert all(map(is_published, found.fix.changes))
        known = after


def told(report):
    """Findings above a note, with those told under another."""
    every = (one for root in report.findings for one in (root, *root.consequences))
    return [one for one in every if one.severity != "info"]


def about(finding):
    """A finding's code, and what it rests on."""
    return finding.code, frozenset(item.fact.rpartition(".")[2] for item in finding.evidence)


def errors(report):
    return {one.code for one in told(report) if one.severity == "error"}


def is_published(change):
    """Whether each exact release that a change installs is one that the matrix knows, if it knows the package."""
    if not isinstance(change, Install):
        return True
    known = [item for item in change.packages if item.version and MATRIX.package(item.name)]
    return all(
        any(item.version in {row.version, row.full_version} for row in MATRIX.builds(MATRIX.package(item.name).name))
        for item in known
    )
