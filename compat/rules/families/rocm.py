"""AMD GPUs: kernel driver and device nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.changes import Command, Container, System
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.findings import Severity


def amd_cards(gpus: tuple[Gpu, ...]) -> list[Gpu]:
    """GPUs of AMD, by vendor or target."""
    return [gpu for gpu in gpus if gpu.vendor == "amd" or gpu.target.startswith("gfx")]


class RocmNoDriver(Rule):
    """There is an AMD GPU, but amdgpu is not live.

    Why:
        The compute driver inside amdgpu is what ROCm talks to.
    Fix:
        Load amdgpu; where the kernel has no driver for this GPU, install amdgpu-dkms and restart.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/
    """

    area = "rocm"
    vendors = ("amd",)
    platforms = ("linux",)
    requires = ("rocm-container-flags", "driver-vfio-bound")
    asks = ("device_nodes",)
    changes = (System("amdgpu"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], modules: tuple[str, ...]) -> Outcome:
        """The PCI bus shows an AMD GPU and the amdgpu kernel driver is not loaded."""
        cards = [gpu for gpu in amd_cards(gpus) if gpu.driver != "vfio-pci"]
        if not cards or host.container:
            return None
        if "amdgpu" in modules:
            return Fits("the amdgpu kernel driver is loaded")
        return Found(
            detail=f"{cards[0].name or cards[0].pci or 'An AMD GPU'} is there, amdgpu is not loaded.",
            severity=_wanted(amd_cards(gpus)),
        )


def _wanted(cards: list[Gpu]) -> Severity | None:
    """An integrated GPU that nobody computes on is no error."""
    return None if any(gpu.integrated is not True for gpu in cards) else "warning"


class RocmKfdMissing(Rule):
    """amdgpu is loaded, but /dev/kfd is absent.

    Why:
        Graphics works through /dev/dri alone, compute does not. The kernel may be built without HSA_AMD.
    Fix:
        Use a kernel with CONFIG_HSA_AMD; in containers add --device /dev/kfd.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/
    """

    area = "rocm"
    vendors = ("amd",)
    platforms = ("linux",)
    requires = ("rocm-no-driver", "rocm-container-flags")
    changes = (Command("grep HSA_AMD /boot/config-$(uname -r)", "linux"),)

    def check(
        self, host: Host, gpus: tuple[Gpu, ...], device_nodes: tuple[str, ...], modules: tuple[str, ...]
    ) -> Outcome:
        """The compute node of the AMD driver does not exist."""
        if not amd_cards(gpus) or "/dev/kfd" in device_nodes or "amdgpu" not in modules or host.container:
            return None
        return Found(detail="amdgpu is loaded and /dev/kfd does not exist.", facts=("device_nodes", "modules"))


class RocmContainerFlags(Rule):
    """A ROCm container was started without the devices it needs.

    Why:
        AMD containers need plain device nodes; NVIDIA's flags such as --gpus do nothing here.
    Fix:
        Start the container with AMD's device nodes. Those are /dev/kfd and /dev/dri, with the numeric id of the group
        render.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
    """

    area = "rocm"
    vendors = ("amd",)
    platforms = ("linux",)
    requires = ("container-no-gpu",)
    changes = (
        Container(
            "--device /dev/kfd --device /dev/dri --group-add $(getent group render | cut -d: -f3)", where="linux"
        ),
    )

    def check(self, container: str, gpus: tuple[Gpu, ...], device_nodes: tuple[str, ...]) -> Outcome:
        """Inside a container an AMD GPU is known, but /dev/kfd or every /dev/dri/renderD* is missing."""
        if not amd_cards(gpus):
            return None
        missing = [
            name
            for name, sign in (("/dev/kfd", "/dev/kfd"), ("/dev/dri/renderD*", "/dev/dri/renderD"))
            if not any(node.startswith(sign) for node in device_nodes)
        ]
        if missing:
            return Found(
                detail=f"{' and '.join(missing)} is missing in this {container} container.",
                facts=("container", "device_nodes"),
            )
        return None


RULES = family(RocmNoDriver, RocmContainerFlags, RocmKfdMissing)
