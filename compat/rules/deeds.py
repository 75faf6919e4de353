"""Deeds that depend on the system: what to type on this distribution."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.changes import Change, Command, Container, System
from compat.findings import Fix
from compat.lazy import pattern
from compat.versions import at_least

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Command as Row

# How the engines learn to hand out GPUs: a list of devices for CDI, NVIDIA's runtime for Docker.
LIST_DEVICES: Final = Command("sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml", "linux")
CONFIGURE_DOCKER: Final = Command("sudo nvidia-ctk runtime configure --runtime=docker", "linux")

RELOAD: Final = Command("sudo modprobe -r nvidia_uvm nvidia_drm && sudo modprobe nvidia", "host")

# A container with AMD's device nodes, and the group that may open them.
AMD_NODES: Final = "--device /dev/kfd --device /dev/dri"
WITH_AMD: Final = Container(AMD_NODES, where="linux", group="$(getent group render | cut -d: -f3)")

# Distribution -> those that are built from it and take its commands (``ID`` and ``ID_LIKE`` of os-release(5)).
_KIN: Final = {
    "ubuntu": "pop linuxmint zorin elementary neon tuxedo",
    "debian": "ubuntu raspbian kali devuan mx",
    "fedora": "nobara ultramarine",
    "rhel": "rocky rockylinux alma almalinux centos centos-stream ol oraclelinux ubi amzn amazonlinux scientific",
    "suse": "opensuse opensuse-leap opensuse-tumbleweed opensuse-slowroll sles sled sle sle_hpc",
    "arch": "manjaro endeavouros cachyos garuda artix",
}
_PARENT: Final = {child: parent for parent, children in _KIN.items() for child in children.split()}
# The end of a virtual GPU's name, which is its profile: GRID A100D-4C (NVIDIA, Virtual GPU Types).
_PROFILE: Final = pattern(r"-\d{1,2}[ABCQ](?:ME)?$")
# Deeds that change an image; all others change the host, whose distribution a container does not show.
_INSIDE: Final = frozenset(
    {"intel-runtime", "cuda-toolkit", "cuda-toolkit-any", "host-compiler", "build-tools", "libstdcxx", "driver-remove"}
)

# One system of each family of distributions -> the family's name for people; pages show the commands of each.
FAMILIES: Final = {
    "ubuntu24.04": "Ubuntu",
    "debian12": "Debian",
    "fedora42": "Fedora",
    "rhel9": "Red Hat",
    "opensuse-leap15.6": "SUSE",
    "arch": "Arch",
    "alpine3.20": "Alpine",
}


def _parted(system: str) -> tuple[str, str]:
    """Name and release of a system: ``("rhel", "9.4")``."""
    name = system.lower().rstrip("0123456789.")
    return name, system[len(name) :]


def _lineage(system: str) -> Iterator[str]:
    """A system and those whose commands it takes, the nearest first: rocky9.3, rocky9, rocky, rhel9.3, rhel9."""
    name, release = _parted(system)
    while name:
        yield from dict.fromkeys((name + release, name + release.partition(".")[0], name))
        name = _PARENT.get(name, "")


def spelled(fix: Fix, host: Host, matrix: Matrix) -> Fix:
    """A fix in the words of this distribution; the repository that has its packages joins the sentence."""
    changes, notes = of_system(fix.changes, host, matrix)
    text = f"{fix.text.rstrip('.')} ({'; '.join(notes)})." if notes else fix.text
    return replace(fix, text=text, changes=changes)


def of_system(
    changes: Sequence[Change], host: Host, matrix: Matrix, *, example: bool = False
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """Changes with each task of the system as the commands of this distribution, and what its rows note about them.

    Where nothing is known for the distribution the task is left out. With ``example``, the name of a value that is not
    known stands in its place, in angle brackets.
    """
    found: list[Change] = []
    notes: list[str] = []
    for change in changes:
        if not isinstance(change, System):
            found.append(change)
        elif row := _row(host, matrix, change.task):
            values = _values(host, change, example=example)
            typed = _typed(row, host, values)
            found += typed
            notes += [filled(row.note, values)] if typed else []
    return tuple(found), tuple(dict.fromkeys(filter(None, notes)))


def _values(host: Host, task: System, *, example: bool) -> dict[str, str]:
    """What stands for the names in braces of a row; one that is not known is empty, or its name in angle brackets."""
    values = {"branch": task.branch or branch(host), "driver": host.driver or ""}
    values |= {"release": task.release, "major": task.major, "option": task.option}
    return {name: value or f"<{name}>" for name, value in values.items()} if example else values


def _typed(row: Row, host: Host, values: Mapping[str, str]) -> list[Command]:
    """The commands of a row with its values filled in; one whose value is unknown is left out.

    Root in a container needs no sudo, which slim images do not have.
    """
    bare = bool(host.container) and host.user_id == 0
    lines = [filled(command, values) for command in row.commands]
    return [Command(command.removeprefix("sudo ") if bare else command) for command in lines if command]


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with values in place of their names in braces; empty if it needs one that is unknown."""
    for name, value in values.items():
        if f"{{{name}}}" in text:
            text = text.replace(f"{{{name}}}", value) if value else ""
    return text


def _row(host: Host, matrix: Matrix, task: str) -> Row | None:
    """The row of a task for the nearest system that has one; none for the host's side of a container."""
    if host.container and task not in _INSIDE and not task.startswith("library"):
        return None
    found = {row.system: row for row in matrix.table("commands") if row.deed == task}
    return next((found[name] for name in _lineage(host.os or "") if name in found), None)


def install_driver(
    host: Host, matrix: Matrix, why: str = "Install an NVIDIA driver that covers the CUDA build, then restart."
) -> Fix:
    """Install or upgrade the NVIDIA driver, in the flavour that serves the cards that are there."""
    if host.platform in {"wsl1", "wsl2"}:
        text = "Install the NVIDIA driver on the Windows side; WSL gets it from there."
        return Fix(text, changes=(Command("wsl --update"), Command("wsl --shutdown")))
    if host.platform == "windows" or of_windows(host):
        return _for_windows(host, matrix, why)
    if whose := _of_others(host):
        return Fix(f"{why} {whose}")
    if last := last_branch(host, matrix):
        task = System("driver-proprietary", branch=last)
        return Fix(f"{why} R{last} is the last branch for this GPU.", changes=(task,))
    return Fix(why, changes=(System("driver-newer" if host.driver else "driver"),))


def _of_others(host: Host) -> str:
    """Whose the driver is, where it is not this system's own; empty where it is."""
    if host.l4t:
        return "On a Jetson the driver comes with JetPack: flash a newer one, or take the build for this one."
    if host.container:
        return "The driver belongs to the host, not into the image."
    if any(_PROFILE.search(gpu.name) for gpu in host.gpus or ()):
        return "A vGPU takes the guest driver of its host's branch, from whoever runs that, and no other."
    return ""


def _for_windows(host: Host, matrix: Matrix, why: str) -> Fix:
    """The driver of Windows, and what WSL lacks where its build gives WSL no GPU."""
    page, here, first = "https://www.nvidia.com/drivers", of_windows(host), matrix.turn("wsl-gpu")
    if not here or at_least(here, first.version):
        return Fix(f"{why} On Windows: download it from {page}.")
    return Fix(f"Install the NVIDIA driver of Windows, {page}; WSL, where none belongs, {gpu_in_wsl(here, matrix)}.")


def gpu_in_wsl(here: str, matrix: Matrix) -> str:
    """From which Windows on WSL 2 has a GPU, beside the one that is here."""
    first = matrix.turn("wsl-gpu")
    return f"has a GPU from {first.name} (build {first.version[5:]}) or Windows 11 on, and this is build {here[5:]}"


def of_windows(host: Host) -> str:
    """The release of Windows by its own kernel or by that of WSL 1, ``10.0.19045``; empty where it is another's."""
    found = re.fullmatch(r"(?:10\.0\.|4\.4\.0-)(\d{5})(?:-Microsoft)?", host.kernel or "")
    return f"10.0.{found[1]}" if found else ""


def last_branch(host: Host, matrix: Matrix) -> str:
    """Number of the last driver branch where it serves no GPU that is here any longer; empty if one is served still."""
    rows = [row for gpu in host.gpus or () if (row := matrix.capability(gpu.target))]
    ends = [row.last_driver.removeprefix("R") for row in rows]
    return min(ends, key=int) if ends and all(ends) else ""


def branch(host: Host) -> str:
    """Number of the driver's branch, ``550``; empty if unknown."""
    return (host.driver or host.driver_library or "").partition(".")[0]


def run_with_gpu(host: Host) -> Container:
    """How to hand GPUs to a container, for the GPUs that are known."""
    if {gpu.vendor for gpu in host.gpus or ()} == {"amd"}:
        return WITH_AMD
    return Container(gpus=True)
