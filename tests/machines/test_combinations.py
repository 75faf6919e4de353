"""Several faults at once: the first finding is the one to mend first, with the commands of that machine.

Each row lays changes over a recorded machine or a variant (``replay.variant``) and states the errors and warnings in
their order, a finding's consequences in brackets behind it, and what the first finding has people type.
"""

from __future__ import annotations

import re

import pytest
import replay
from test_variants import recording

from compat import matrix
from compat.app import doctor
from compat.commands import Place, typed

OS = {
    "fedora": 'ID=fedora\nVERSION_ID=42\nPRETTY_NAME="Fedora 42"\n',
    "rocky": 'ID="rocky"\nVERSION_ID="9.3"\nPRETTY_NAME="Rocky Linux 9.3"\n',
    "suse": 'ID="opensuse-leap"\nVERSION_ID="15.6"\nPRETTY_NAME="openSUSE Leap 15.6"\n',
    "arch": 'ID=arch\nPRETTY_NAME="Arch Linux"\n',
}
CPU = {"torch": "2.5.1+cpu"}
CARDS = {
    "Blackwell and Pascal": [
        {"name": "NVIDIA GeForce RTX 5090", "capability": [12, 0], "bus": "00000000:01:00.0"},
        {"name": "NVIDIA GeForce GTX 1080", "capability": [6, 1], "bus": "00000000:02:00.0"},
    ]
}
XID = "3,1,2,-;NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', GPU has fallen off the bus.\n"

ROWS = [
    (
        "after an update: old module in memory, a build for a newer driver, a foreign CUDA in front",
        ("driver-library-mismatch", "fedora"),
        {"packages": {"torch": "2.9.1+cu130"}, "env": {"LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64"}},
        ["driver-library-mismatch", "driver-too-old-for-runtime", "ld-library-path-shadow"],
        ["sudo modprobe -r nvidia_uvm nvidia_drm && sudo modprobe nvidia", 'sudo dnf versionlock add "*nvidia*"'],
    ),
    (
        "nouveau and no driver at all: to blacklist it alone would leave nothing that drives the card",
        ("nouveau-bound", "rocky"),
        {"packages": CPU},
        ["driver-nouveau-bound", "cpu-only-build"],
        [
            "sudo dnf module reset nvidia-driver",
            "sudo dnf module enable nvidia-driver:580-dkms",
            "sudo dnf install cuda-drivers",
            "sudo reboot",
        ],
    ),
    (
        "a kernel without its module, and a CPU build",
        ("module-not-built", "suse"),
        {"packages": CPU},
        ["driver-module-not-loaded", "cpu-only-build"],
        ["sudo zypper install kernel-default-devel", "sudo dkms autoinstall", "sudo modprobe nvidia"],
    ),
    (
        "Secure Boot",
        ("secure-boot", ""),
        {"packages": {"torch": "2.5.1+cu124"}},
        ["driver-secure-boot-unsigned", ["driver-module-not-loaded"]],
        ["sudo mokutil --import /var/lib/shim-signed/mok/MOK.der", "sudo reboot"],
    ),
    (
        "a container without a GPU, with a CPU build for another NumPy and little shared memory",
        ("container-without-gpu", ""),
        {
            "packages": {"torch": "2.2.2+cpu", "numpy": "2.1.0"},
            "folders": ["/dev/shm"],
            "space": {"/dev/shm": [64, 64]},
        },
        ["container-no-gpu", "cpu-only-build", "framework-pair-mismatch", ["numpy-abi-mismatch"], "shm-too-small"],
        ["docker run --gpus all IMAGE"],
    ),
    (
        "a GPU that fell off the bus takes the fabric along: a restart comes before the service",
        ("dgx-fabric-stopped", ""),
        {"files": {"/dev/kmsg": XID}, "packages": {"torch": "2.5.1+cu124"}},
        ["gpu-xid-fatal", ["fabric-manager-down"]],
        ["sudo reboot"],
    ),
    (
        "a card that no branch of today serves, on a distribution whose packages are of today",
        ("kepler", "arch"),
        {"packages": {"torch": "2.7.1+cu128"}},
        ["driver-gpu-unsupported-by-branch", "arch-too-old-for-build"],
        [],
    ),
    (
        "WSL with a driver of its own, a CPU build and a mask",
        ("wsl-own-driver", ""),
        {"packages": CPU, "env": {"CUDA_VISIBLE_DEVICES": "-1"}},
        ["wsl-linux-driver-installed", "cpu-only-build", "devices-hidden"],
        ['sudo apt purge "nvidia-driver*" "nvidia-utils*" "libnvidia-compute*" "cuda-drivers*"', "sudo ldconfig"],
    ),
    (
        "AMD: no permission, and a build for NVIDIA",
        ("amd-no-permission", ""),
        {"packages": {"torch": "2.5.1+cu124"}},
        ["device-permission", "wrong-vendor-build"],
        ["sudo usermod -aG render $USER"],
    ),
    (
        "Blackwell with the wrong flavour and a build without code for it",
        ("blackwell-proprietary", ""),
        {"packages": {"torch": "2.5.1+cu124"}},
        ["driver-open-module-required", "arch-too-new-for-build"],
        ["sudo apt install nvidia-driver-570-open", "sudo reboot"],
    ),
    (
        "two cards that no flavour of the driver serves together",
        ("card-new-enough", ""),
        {"answers": {"nvml": {"gpus": CARDS["Blackwell and Pascal"]}}},
        ["driver-open-module-unsupported-gpu", "arch-too-old-for-build"],
        [],
    ),
    (
        "a stub for a driver; the path that brings it is the same fault",
        ("stub-first", ""),
        {"packages": {"torch": "2.5.1+cu124"}},
        ["driver-stub-loaded", ["ld-library-path-shadow"]],
        ["unset LD_LIBRARY_PATH", "sudo ldconfig"],
    ),
    (
        "a vague message, and the node that explains it",
        ("no-uvm", ""),
        {"packages": {"torch": "2.5.1+cu124"}, "text": "RuntimeError: CUDA unknown error - incorrectly set up"},
        ["uvm-not-ready"],
        ["sudo nvidia-modprobe -u -c=0", "sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm"],
    ),
    (
        "a pod whose image is too new for the node",
        ("kubernetes-pod", ""),
        {"packages": {"torch": "2.9.1+cu130"}, "env": {"CUDA_VISIBLE_DEVICES": "0"}},
        ["driver-too-old-for-runtime"],
        [],
    ),
]


@pytest.fixture(scope="module")
def told():
    known = matrix.matrix()

    def of(base, system, change):
        files = {"files": {**change.get("files", {}), "/etc/os-release": OS[system]}} if system else {}
        return replay.judged(replay.variant(recording(base).said, {**change, **files}), known)

    return of


@pytest.mark.parametrize(
    ("machine", "change", "codes", "commands"), [row[1:] for row in ROWS], ids=[r[0] for r in ROWS]
)
def test_the_first_finding_is_the_one_to_mend_first(told, machine, change, codes, commands):
    said = []
    report = told(*machine, change)
    for finding in report.findings:
        if finding.severity != "info":
            said.append(finding.code)
            grave = [each.code for each in finding.consequences if each.severity != "info"]
            said += [grave] if grave else []
    assert said == codes
    assert list(typed(report.findings[0].fix.changes, Place())) == commands


def prescribed(base, change):
    """What ``doctor`` says of a machine, with the fix made for it."""
    known = matrix.matrix()
    return doctor.judged(replay.asked(replay.variant(recording(base).said, change), known), known)


def test_a_build_that_is_offered_runs_with_the_driver_that_is_there():
    """Driver 570 does not run CUDA 13: the way out of a missing kernel must not lead into an old driver."""
    report = prescribed("card-too-new", {"title": "as it is"})
    assert report.findings[0].code == "arch-too-new-for-build"
    offered = report.findings[0].fix.commands[0]
    assert "/cu12" in offered


def test_a_build_that_is_offered_has_a_wheel_for_the_python_that_is_there():
    report = prescribed("card-too-new", {"venv": "3.9.18", "packages": {"torch": "2.5.1+cu124"}})
    assert report.findings[0].code == "arch-too-new-for-build"
    version = re.search(r"torch==([\d.]+)\+cu128", report.findings[0].fix.commands[0])[1]
    offered = [row for row in matrix.matrix().builds("torch") if row.full_version == f"{version}+cu128"]
    assert any("3.9" in row.python for row in offered)
    assert report.findings[0].fix.checked


def test_where_no_flavour_of_the_driver_serves_both_cards_none_is_offered(told):
    report = told("card-new-enough", "", {"answers": {"nvml": {"gpus": CARDS["Blackwell and Pascal"]}}})
    assert "No flavour" in report.findings[0].fix.text
