"""Deeds that depend on the system: what to type on this distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.matrix.drivers import board_cudas

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Build

_DRIVER: Final = {
    "ubuntu": ("sudo ubuntu-drivers install", "sudo reboot"),
    "debian": ("sudo apt install nvidia-driver linux-headers-$(uname -r)", "sudo reboot"),
    "fedora": ("sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda", "sudo reboot"),
    "rhel": ("sudo dnf module install nvidia-driver:latest-dkms", "sudo reboot"),
    "arch": ("sudo pacman -S nvidia-open", "sudo reboot"),
    "opensuse": ("sudo zypper install nvidia-compute-utils-G06", "sudo reboot"),
}
_KIN: Final = {
    "rocky": "rhel",
    "almalinux": "rhel",
    "centos": "rhel",
    "sles": "opensuse",
    "pop": "ubuntu",
    "linuxmint": "ubuntu",
    "manjaro": "arch",
}
_MANAGERS: Final = {
    "ubuntu": "apt install",
    "debian": "apt install",
    "fedora": "dnf install",
    "rhel": "dnf install",
    "arch": "pacman -S",
    "opensuse": "zypper install",
}


def distribution(host: Host) -> str:
    """``ubuntu``, ``debian``, ``rhel``, ... without its release; empty if unknown."""
    name = (host["os"] or "").lower().rstrip("0123456789.")
    return _KIN.get(name, name)


def install_driver(host: Host, why: str = "Install an NVIDIA driver that covers the CUDA build, then restart.") -> Fix:
    """Install or upgrade the NVIDIA driver."""
    if host["platform"] in {"wsl1", "wsl2"}:
        return Fix(
            "Install the NVIDIA driver on the Windows side; WSL gets it from there.", ("wsl --update", "wsl --shutdown")
        )
    if host["platform"] == "windows":
        return Fix(f"{why} On Windows: download it from https://www.nvidia.com/drivers.")
    if host["container"]:
        return Fix(f"{why} The driver belongs to the host, not into the image.")
    return Fix(why, _DRIVER.get(distribution(host), ()))


def install(host: Host, *packages: str) -> tuple[str, ...]:
    """The command that installs distribution packages; none where the distribution is unknown."""
    manager = _MANAGERS.get(distribution(host), "")
    return (f"sudo {manager} {' '.join(packages)}",) if manager else ()


def published_for(host: Host, matrix: Matrix, name: str) -> list[Build]:
    """Builds of a package on other indexes than the default one that suit the kind of machine, oldest first.

    A Jetson gets builds for the CUDA that its system brings, any other machine none that are for Jetsons alone.
    """
    integrated = matrix.families.integrated
    board = any(gpu.target in integrated for gpu in host["gpus"] or ())
    cudas = board_cudas(matrix, host["l4t"] or "")
    return [
        build
        for build in matrix.builds(name)
        if build.index
        and (bool(build.kernels) and integrated.issuperset(build.kernels)) == board
        and (not board or not cudas or build.runtime.removeprefix("cuda") in cudas)
    ]


def from_index(build: Build, matrix: Matrix) -> str:
    """The command that installs a build from the index that has it, a page of links or a simple one."""
    links = {index.name for index in matrix.table("indexes") if index.links}
    option, version = "--index-url", build.published or build.version
    if build.index in links:  # the default index is asked too: only the whole version tells the builds apart
        option, version = "--find-links", build.full_version
    return f"pip install --force-reinstall {build.install_name}=={version} {option} {matrix.index_url(build)}"


def run_with_gpu(host: Host) -> tuple[str, ...]:
    """How to hand GPUs to a container, for the GPUs that are known."""
    vendors = {gpu.vendor for gpu in host["gpus"] or ()}
    image = host["image"] or "IMAGE"
    if vendors == {"amd"}:
        return (
            f"docker run --device /dev/kfd --device /dev/dri --group-add $(getent group render | cut -d: -f3) {image}",
        )
    return (f"docker run --gpus all {image}",)
