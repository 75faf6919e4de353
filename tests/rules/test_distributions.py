"""What is typed to mend a fault, on each distribution: the very commands, and none where nothing is known."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import compat.rules.deeds as deeds
from compat.app.explain import commands_of
from compat.changes import System
from compat.commands import Place, typed
from compat.facts import host as facts
from compat.findings import Fix
from compat.rules import RULES

RTX = {"name": "NVIDIA GeForce RTX 3090", "vendor": "nvidia", "target": "sm_86", "driver": "nvidia"}
GTX = {"name": "NVIDIA GeForce GTX 1080", "vendor": "nvidia", "target": "sm_61", "driver": "nvidia"}
KEPLER = {"name": "Tesla K80", "vendor": "nvidia", "target": "sm_37", "driver": "nvidia"}
B200 = {"name": "NVIDIA B200", "vendor": "nvidia", "target": "sm_100", "driver": "nvidia"}
BARE = {**RTX, "driver": "none"}
NOUVEAU = {**RTX, "driver": "nouveau"}
RADEON = {"name": "AMD Radeon RX 7900 XTX", "vendor": "amd", "target": "gfx1100"}
ARC = {"name": "Intel Arc A770", "vendor": "intel", "target": "xpu"}


def lines(fix):
    """What is typed for a fix, where nothing else is known of the place."""
    return typed(fix.changes, Place())


NO_DRIVER = {"gpus": [BARE], "driver": None, "platform": "linux"}
TOO_OLD = {"gpus": [RTX], "driver": "550.54.14", "packages": {"torch": "2.9.1+cu130"}, "platform": "linux"}
RELOAD = "sudo modprobe -r nvidia_uvm nvidia_drm && sudo modprobe nvidia"
MISMATCH = {"gpus": [RTX], "driver": "550.54.14", "driver_library": "550.90.07"}
NOT_LOADED = {"driver_library": "550.54.14", "gpus": [RTX], "modules": [], "driver": None, "platform": "linux"}
SECURE = {**NOT_LOADED, "secure_boot": True, "module_file": "updates/dkms/nvidia.ko"}
FABRIC = {"nvswitch": 4, "fabric_manager": None, "driver": "550.54.15", "gpus": [RTX]}
COMPILER = {"gcc": "15.1", "cuda_toolkit": "12.4", "gpus": [RTX]}
HUNGRY = {"packages": {"triton": "3.1.0"}, "gcc": None, "clang": None}
HANGS = {"gpus": [RADEON, RADEON], "iommu": "translated", "platform": "linux"}

TYPED = [
    ("no-driver", "ubuntu24.04", NO_DRIVER, ["sudo ubuntu-drivers install", "sudo reboot"]),
    ("no-driver", "pop22.04", NO_DRIVER, ["sudo ubuntu-drivers install", "sudo reboot"]),
    ("no-driver", "debian12", NO_DRIVER, ["sudo apt install nvidia-driver linux-headers-$(uname -r)", "sudo reboot"]),
    (
        "no-driver",
        "rocky9.3",
        NO_DRIVER,
        ["sudo dnf module enable nvidia-driver:open-dkms", "sudo dnf install nvidia-open", "sudo reboot"],
    ),
    ("no-driver", "rhel10.0", NO_DRIVER, ["sudo dnf install nvidia-open", "sudo reboot"]),
    ("no-driver", "almalinux10", NO_DRIVER, ["sudo dnf install nvidia-open", "sudo reboot"]),
    ("no-driver", "arch", NO_DRIVER, ["sudo pacman -S nvidia-open nvidia-utils", "sudo reboot"]),
    ("no-driver", "alpine3.20.3", NO_DRIVER, []),
    ("no-driver", "gentoo", NO_DRIVER, []),
    # a card that newer branches dropped gets its last one, in the flavour that serves it
    (
        "no-driver",
        "ubuntu22.04",
        {**NO_DRIVER, "gpus": [{**GTX, "driver": "none"}]},
        ["sudo apt install nvidia-driver-580", "sudo reboot"],
    ),
    (
        "driver-gpu-unsupported-by-branch",
        "ubuntu22.04",
        {"driver": "550.54", "gpus": [KEPLER]},
        ["sudo apt install nvidia-driver-470", "sudo reboot"],
    ),
    # beside a card that is served still, there is no last branch to go back to
    (
        "no-driver",
        "ubuntu22.04",
        {**NO_DRIVER, "gpus": [{**GTX, "driver": "none"}, BARE]},
        ["sudo ubuntu-drivers install", "sudo reboot"],
    ),
    (
        "driver-open-module-required",
        "ubuntu24.04",
        {"driver_branch": "proprietary", "driver": "570.86.16", "gpus": [B200], "platform": "linux"},
        ["sudo apt install nvidia-driver-570-open", "sudo reboot"],
    ),
    (
        "driver-open-module-unsupported-gpu",
        "opensuse-tumbleweed20250101",
        {"driver_branch": "open", "driver": "570.86.16", "gpus": [GTX], "platform": "linux"},
        ["sudo zypper install nvidia-driver-G06 nvidia-compute-utils-G06", "sudo reboot"],
    ),
    # upgrading is another deed than installing: Debian's own package has one branch per release
    ("driver-too-old-for-runtime", "ubuntu22.04", TOO_OLD, ["sudo ubuntu-drivers install", "sudo reboot"]),
    ("driver-too-old-for-runtime", "debian12", TOO_OLD, ["sudo apt install nvidia-open", "sudo reboot"]),
    ("driver-too-old-for-runtime", "arch", TOO_OLD, ["sudo pacman -Syu", "sudo reboot"]),
    (
        "driver-library-mismatch",
        "ubuntu22.04",
        MISMATCH,
        [RELOAD, 'sudo apt-mark hold "nvidia-*-[0-9]*" "libnvidia-*-[0-9]*"'],
    ),
    ("driver-library-mismatch", "fedora42", MISMATCH, [RELOAD, 'sudo dnf versionlock add "*nvidia*"']),
    ("driver-library-mismatch", "arch", MISMATCH, [RELOAD]),
    # built and not loaded, or never built: two deeds
    (
        "driver-module-not-loaded",
        "debian12",
        {**NOT_LOADED, "module_file": None},
        ["sudo apt install linux-headers-$(uname -r)", "sudo dkms autoinstall", "sudo modprobe nvidia"],
    ),
    (
        "driver-module-not-loaded",
        "fedora42",
        {**NOT_LOADED, "module_file": None},
        ["sudo dnf install kernel-devel-$(uname -r)", "sudo akmods --force", "sudo modprobe nvidia"],
    ),
    (
        "driver-module-not-loaded",
        "fedora42",
        {**NOT_LOADED, "module_file": "extra/nvidia.ko"},
        ["sudo modprobe nvidia", "sudo dmesg | grep -iE 'nvidia|nvrm'"],
    ),
    (
        "driver-secure-boot-unsigned",
        "ubuntu24.04",
        SECURE,
        ["sudo mokutil --import /var/lib/shim-signed/mok/MOK.der", "sudo reboot"],
    ),
    (
        "driver-secure-boot-unsigned",
        "fedora42",
        SECURE,
        ["sudo mokutil --import /etc/pki/akmods/certs/public_key.der", "sudo reboot"],
    ),
    (
        "driver-nouveau-bound",
        "rhel9.4",
        {"gpus": [NOUVEAU], "driver": None, "platform": "linux"},
        [
            'echo "blacklist nouveau" | sudo tee /etc/modprobe.d/blacklist-nouveau.conf',
            "sudo dracut --force",
            "sudo reboot",
        ],
    ),
    (
        "wsl-linux-driver-installed",
        "ubuntu22.04",
        {"platform": "wsl2", "driver_packages": ["nvidia-driver-550"]},
        ['sudo apt purge "nvidia-driver*" "nvidia-utils*" "libnvidia-compute*" "cuda-drivers*"', "sudo ldconfig"],
    ),
    (
        "fabric-manager-down",
        "ubuntu22.04",
        FABRIC,
        ["sudo apt install nvidia-fabricmanager-550=550.54.15*", "sudo systemctl enable --now nvidia-fabricmanager"],
    ),
    (
        "fabric-manager-down",
        "rhel9.4",
        FABRIC,
        ["sudo dnf install nvidia-fabricmanager-550.54.15", "sudo systemctl enable --now nvidia-fabricmanager"],
    ),
    (
        "fabric-manager-down",
        "rhel9.4",
        {**FABRIC, "fabric_manager": "550.54.15 stopped"},
        ["sudo systemctl enable --now nvidia-fabricmanager"],
    ),
    (
        "host-compiler-unsupported",
        "ubuntu24.04",
        COMPILER,
        ["sudo apt install g++-13", "export CC=gcc-13 CXX=g++-13 CUDAHOSTCXX=g++-13"],
    ),
    (
        "host-compiler-unsupported",
        "rhel9.4",
        COMPILER,
        ["sudo dnf install gcc-toolset-13", "source /opt/rh/gcc-toolset-13/enable"],
    ),
    ("build-tools-missing", "alpine3.20", HUNGRY, ["pip install ninja", "sudo apk add build-base python3-dev"]),
    (
        "build-tools-missing",
        "opensuse-leap15.6",
        HUNGRY,
        ["pip install ninja", "sudo zypper install gcc-c++ make python3-devel"],
    ),
    ("rocm-no-driver", "fedora42", {"gpus": [RADEON], "modules": [], "container": None}, ["sudo modprobe amdgpu"]),
    (
        "rocm-no-driver",
        "sles15.6",
        {"gpus": [RADEON], "modules": [], "container": None},
        ["sudo modprobe amdgpu", "sudo zypper install amdgpu-dkms"],
    ),
    (
        "iommu-multi-gpu-hang",
        "fedora42",
        HANGS,
        ["sudo grubby --update-kernel=ALL --args=iommu=pt", "sudo reboot"],
    ),
    (
        "intel-no-compute-runtime",
        "arch",
        {"gpus": [ARC], "intel_runtime": None},
        ["sudo pacman -S intel-compute-runtime level-zero-loader"],
    ),
    ("docker-missing", "alpine3.20", {"engine": None, "container": None}, ["sudo apk add docker"]),
    ("docker-missing", "amzn2023", {"engine": None, "container": None}, ["sudo dnf install podman"]),
    (
        "docker-no-gpu-runtime",
        "ubuntu22.04",
        {"engine": "podman 5.2", "gpu_runtime": None, "gpus": [RTX], "engine_status": "running"},
        [
            "sudo apt install nvidia-container-toolkit",
            "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        ],
    ),
]


@pytest.mark.parametrize(
    ("code", "system", "values", "commands"), TYPED, ids=[f"{row[0]}-{row[1]}-{n}" for n, row in enumerate(TYPED)]
)
def test_the_very_commands_of_this_distribution(doctor, code, system, values, commands):
    report = doctor(os=system, **values)
    told = {item.code: item for root in report.findings for item in (root, *root.consequences)}
    assert list(lines(told[code].fix)) == commands


@pytest.mark.parametrize(
    ("derived", "parent"),
    [
        ("linuxmint21.3", "ubuntu22.04"),
        ("kali2024.1", "debian13"),
        ("ol8.9", "rhel8.9"),
        ("amzn2023", "rhel9"),
        ("centos-stream9", "rhel9.4"),
        ("sles15.6", "opensuse-leap15.6"),
        ("endeavouros", "arch"),
        ("nobara41", "fedora41"),
    ],
)
def test_a_derived_distribution_takes_the_commands_of_its_parent(derived, parent, matrix):
    for row in matrix.table("commands"):
        task = System(row.deed, branch="550", release="12-4", major="13", option="x")
        fix = Fix("Do it.", changes=(task,))
        mine, theirs = (deeds.spelled(fix, facts("t", os=name), matrix) for name in (derived, parent))
        assert mine == theirs, row.deed


def test_no_command_is_invented_for_a_system_that_is_not_known(matrix):
    tasks = {row.deed for row in matrix.table("commands")}
    for values in ({}, {"os": "plan9"}, {"os": "voidlinux24.05"}, {"os": ""}):
        fix = deeds.spelled(Fix("Do it.", changes=tuple(map(System, tasks))), facts("t", **values), matrix)
        assert fix == Fix("Do it.")


def test_a_command_whose_value_is_unknown_is_left_out(matrix):
    fix = deeds.spelled(Fix("Do it.", changes=(System("fabric-manager"),)), facts("t", os="debian12"), matrix)
    assert lines(fix) == ("sudo systemctl enable --now nvidia-fabricmanager",)


def test_a_container_is_not_told_to_change_its_host_in_the_words_of_its_image(doctor):
    """The image is Ubuntu; what the host is, nobody can see from inside."""
    inside = {"container": "docker", "os": "ubuntu22.04", "user_id": 0}
    report = doctor(**MISMATCH, **inside)
    assert not [line for line in lines(report.findings[0].fix) if "apt" in line]
    tools = doctor(**HUNGRY, **inside)
    assert lines(tools.findings[0].fix) == ("pip install ninja", "apt install build-essential python3-dev")


def test_where_packages_come_from_is_said(doctor):
    report = doctor(os="rhel9.4", **NO_DRIVER)
    assert report.findings[0].fix.text.endswith("(NVIDIA's repository).")


def test_a_driver_is_never_removed_with_the_container_toolkit(matrix):
    """``libnvidia-*`` would take libnvidia-container1 along."""
    for row in matrix.table("commands"):
        if row.deed == "driver-remove":
            assert not any("libnvidia-*" in line or "container" in line for line in row.commands), row.system


def test_every_deed_that_a_rule_names_is_known_for_the_great_distributions(matrix):
    rules = Path(deeds.__file__).parent
    named = {deed for path in rules.rglob("*.py") for deed in re.findall(r'System\("([a-z-]+)"', path.read_text())}
    known = {(row.deed, row.system) for row in matrix.table("commands")}
    assert named
    for deed in named:
        assert (deed, "rhel") in known, deed
        assert (deed, "debian") in known or (deed, "ubuntu") in known, deed


@pytest.mark.parametrize("code", RULES)
def test_no_page_shows_an_unspelled_command(code, matrix):
    for block in commands_of(RULES[code], matrix):
        assert not any(re.search(r"\{[a-z]+\}", line) for line in block.commands)
