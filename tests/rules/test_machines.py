"""Recorded machines through the detectors and the rules: the broken ones are told by their cause, the sound ones pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.detect import detect
from compat.rules import judge

MACHINES = {path.stem: path for path in (Path(__file__).parent.parent / "machines").glob("*.toml")}

BROKEN = {
    "amd-no-permission": "device-permission",
    "apple-m2": "macos-rosetta-python",
    "container-without-gpu": "container-no-gpu",
    "denied-nodes": "device-permission",
    "dgx-fabric-stopped": "fabric-manager-down",
    "driver-hangs": "driver-hangs",
    "driver-library-mismatch": "driver-library-mismatch",
    "forward-compat-container": "forward-compat-conflict",
    "garbage-driver": "driver-library-faulty",
    "gpu-lost": "gpu-xid-fatal",
    "gpu-without-driver": "no-driver",
    "intel-arc": "device-permission",
    "mig-no-instance": "mig-enabled-no-instance",
    "module-not-loaded": "driver-module-not-loaded",
    "nouveau-bound": "driver-nouveau-bound",
    "nvidia-old-driver": "gpu-xid-fatal",
    "rocm-container-without-kfd": "container-no-gpu",
    "stub-first": "driver-stub-loaded",
    "windows-desktop": "cpu-only-build",
    "wsl1": "wsl1",
}
"""Recording -> code of the first finding."""

WARNED = {
    "docker-denied": "docker-permission",
    "docker-hangs": "docker-daemon-down",
    "docker-stopped": "docker-daemon-down",
    "amd-apu-beside-card": "rocm-igpu-interferes",
    "alpine-musl": "musl-libc",
    "laptop-hybrid": "gpu-thermal-throttle",
    "vfio-bound": "driver-vfio-bound",
    "conda-environment": "framework-duplicate-install",
}
"""Recording -> code of the first warning of a machine that works."""


@pytest.fixture
def told(replay, matrix):
    def of(name):
        machine = replay.load(MACHINES[name])
        return judge(detect(root=machine, run=machine.run), matrix)

    return of


@pytest.mark.parametrize(("name", "code"), BROKEN.items())
def test_a_broken_machine_is_told_by_its_cause(told, name, code):
    report = told(name)
    assert report.findings[0].code == code, [finding.code for finding in report.findings]
    assert report.findings[0].severity == "error"


@pytest.mark.parametrize(("name", "code"), WARNED.items())
def test_a_machine_with_a_weakness_is_warned_and_passes(told, name, code):
    report = told(name)
    assert report.findings[0].code == code, [finding.code for finding in report.findings]
    assert report.ok


@pytest.mark.parametrize("name", sorted(MACHINES.keys() - BROKEN.keys()))
def test_a_sound_machine_has_no_error(told, name):
    report = told(name)
    assert report.ok, [(finding.code, finding.detail) for finding in report.findings if finding.severity == "error"]


@pytest.mark.parametrize("name", sorted(MACHINES))
def test_what_could_not_be_read_is_never_shown_as_fine(told, name):
    report = told(name)
    assert all(line.strip() for line in report.fine)
    assert all(item.what and item.why for item in report.unchecked)


def test_consequences_of_a_lost_gpu_stand_under_their_cause(told):
    report = told("gpu-lost")
    assert {"gpu-reset-required", "driver-device-count-mismatch"} <= {
        item.code for item in report.findings[0].consequences
    }
