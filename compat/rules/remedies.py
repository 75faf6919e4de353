"""Deeds that depend on the system: what to type on this distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.joints.driver as joint
from compat.findings import Fix
from compat.joints.verdict import Clash
from compat.matrix.drivers import board_cudas
from compat.rules.knowledge import is_version
from compat.rules.stack import on_platform
from compat.targets import sm
from compat.versions import minor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Build, Command

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


def distribution(host: Host) -> str:
    """``ubuntu``, ``debian``, ``rhel``, ... without its release; empty if unknown."""
    return _parted(host.os or "")[0]


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
    """A fix in the words of this distribution: each command ``@deed`` becomes what is typed for it here.

    ``@host-compiler major=13`` gives values; the driver's are known from the host. Where nothing is known for the
    distribution the command is left out. The repository that has the packages joins the sentence.
    """
    commands, notes = typed_here(fix, host, matrix)
    text = f"{fix.text.rstrip('.')} ({'; '.join(notes)})." if notes else fix.text
    return Fix(text, commands)


def typed_here(fix: Fix, host: Host, matrix: Matrix) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The commands of a fix on this distribution, and what its rows note about them (a repository to be added)."""
    commands: list[str] = []
    notes: list[str] = []
    for line in fix.commands:
        if not line.startswith("@"):
            commands.append(line)
        elif row := _row(host, matrix, line[1:].partition(" ")[0]):
            typed = _typed(row, host, line)
            commands += typed
            notes += [row.note] if row.note and typed else []
    return tuple(commands), tuple(dict.fromkeys(notes))


def _typed(row: Command, host: Host, line: str) -> list[str]:
    """The commands of a row with its values filled in; one whose value is unknown is left out.

    Root in a container needs no sudo, which slim images do not have.
    """
    values = {"branch": branch(host), "driver": host.driver or "", "release": "", "major": "", "option": ""}
    for pair in line.split()[1:]:
        name, _, value = pair.partition("=")
        values[name] = value
    bare = bool(host.container) and host.user_id == 0
    filled = [_filled(command, values) for command in row.commands]
    return [command.removeprefix("sudo ") if bare else command for command in filled if command]


def _filled(command: str, values: Mapping[str, str]) -> str:
    """A command with values in place of their names in braces; empty if it needs one that is unknown."""
    for name, value in values.items():
        if f"{{{name}}}" in command:
            command = command.replace(f"{{{name}}}", value) if value else ""
    return command


def _row(host: Host, matrix: Matrix, deed: str) -> Command | None:
    """The row of a deed for the nearest system that has one; none for the host's side of a container."""
    if host.container and deed not in _INSIDE:
        return None
    found = {row.system: row for row in matrix.table("commands") if row.deed == deed}
    return next((found[name] for name in _lineage(host.os or "") if name in found), None)


def install_driver(
    host: Host, matrix: Matrix, why: str = "Install an NVIDIA driver that covers the CUDA build, then restart."
) -> Fix:
    """Install or upgrade the NVIDIA driver, in the flavour that serves the cards that are there."""
    if host.platform in {"wsl1", "wsl2"}:
        return Fix(
            "Install the NVIDIA driver on the Windows side; WSL gets it from there.", ("wsl --update", "wsl --shutdown")
        )
    if host.platform == "windows":
        return Fix(f"{why} On Windows: download it from https://www.nvidia.com/drivers.")
    if host.l4t:
        return Fix(
            f"{why} On a Jetson the driver comes with JetPack: flash a newer one, or take the build for this one."
        )
    if host.container:
        return Fix(f"{why} The driver belongs to the host, not into the image.")
    if last := last_branch(host, matrix):
        return Fix(f"{why} R{last} is the last branch for this GPU.", (f"@driver-proprietary branch={last}",))
    return Fix(why, ("@driver-newer" if host.driver else "@driver",))


def last_branch(host: Host, matrix: Matrix) -> str:
    """Number of the last driver branch where it serves no GPU that is here any longer; empty if one is served still."""
    rows = [row for gpu in host.gpus or () if sm(gpu.target) and (row := matrix.capability(gpu.target))]
    ends = [row.last_driver.removeprefix("R") for row in rows]
    return min(ends, key=int) if ends and all(ends) else ""


def branch(host: Host) -> str:
    """Number of the driver's branch, ``550``; empty if unknown."""
    return (host.driver or host.driver_library or "").partition(".")[0]


def published_for(host: Host, matrix: Matrix, name: str) -> list[Build]:
    """Builds of a package on other indexes than the default one that suit the machine, oldest first.

    A Jetson gets builds for the CUDA that its system brings, any other machine none that are for Jetsons alone. Those
    for its system, its Python and its driver are taken, each as far as there are any.
    """
    integrated = matrix.families.integrated
    board = any(gpu.target in integrated for gpu in host.gpus or ())
    cudas = board_cudas(matrix, host.l4t or "")
    found = [
        build
        for build in matrix.builds(name)
        if build.index
        and (bool(build.kernels) and integrated.issuperset(build.kernels)) == board
        and (not board or not cudas or build.runtime.removeprefix("cuda") in cudas)
    ]
    for suits in (_for_system, _for_python, _for_driver):
        found = [build for build in found if suits(build, host, matrix)] or found
    return found


def _for_system(build: Build, host: Host, matrix: Matrix) -> bool:  # noqa: ARG001 - the shape of its siblings
    return on_platform(build, host)


def _for_python(build: Build, host: Host, matrix: Matrix) -> bool:  # noqa: ARG001
    """Whether a build has a wheel for this interpreter, as far as both are known."""
    python = host.python or ""
    return not build.python or not is_version(python) or minor(python) in build.python


def _for_driver(build: Build, host: Host, matrix: Matrix) -> bool:
    """Whether the driver that is loaded runs the build's CUDA: a remedy must not call for the next one."""
    cuda = build.runtime.removeprefix("cuda")
    return (
        cuda == build.runtime
        or not (is_version(host.driver) and is_version(cuda))
        or not isinstance(joint.verdict(matrix, cuda, host.driver or "", host.platform in {"windows", "wsl2"}), Clash)
    )


def run_with_gpu(host: Host) -> tuple[str, ...]:
    """How to hand GPUs to a container, for the GPUs that are known."""
    vendors = {gpu.vendor for gpu in host.gpus or ()}
    image = host.image or "IMAGE"
    if vendors == {"amd"}:
        return (
            f"docker run --device /dev/kfd --device /dev/dri --group-add $(getent group render | cut -d: -f3) {image}",
        )
    return (f"docker run --gpus all {image}",)
