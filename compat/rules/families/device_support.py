"""Does the NVIDIA driver that is loaded serve the GPU that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.joints.driver as joint
import compat.rules.deeds as deeds
from compat.changes import Command, System
from compat.findings import Fix
from compat.joints.verdict import Clash
from compat.rules.lookups import cite, is_version
from compat.rules.rule import Found, NvidiaRule, Outcome
from compat.targets import sm

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing

# From Blackwell on only the open kernel modules serve a GPU; they need the GSP, which Turing brought
# (open-gpu-kernel-modules, README).
_OPEN_ONLY: Final = (10, 0)
_OPEN_FROM: Final = (7, 5)
_APART: Final = Fix("No flavour of the driver serves both cards: take one out, or hand it to a virtual machine.")


def _capabilities(gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, tuple[int, int]]]:
    """NVIDIA's cards, each with its capability."""
    return [(gpu, (device.major, device.minor)) for gpu in gpus if (device := sm(gpu.target))]


def _unlike(gpus: tuple[Gpu, ...]) -> bool:
    """Whether one card needs the open modules and another one the proprietary ones."""
    at = [each for _, each in _capabilities(gpus)]
    return any(each >= _OPEN_ONLY for each in at) and any(each < _OPEN_FROM for each in at)


class DriverOpenModuleRequired(NvidiaRule):
    """This GPU needs the open kernel modules.

    Why: Recent GPUs are handled by the open modules only; with the other flavour the driver loads but finds no device.
    Fix: Install the open flavour of the driver and restart.
    Sources: https://github.com/NVIDIA/open-gpu-kernel-modules
    """

    area = "kernel-module"
    platforms = ("linux",)
    changes = (System("driver-open"),)

    def check(self, driver_branch: str, gpus: tuple[Gpu, ...]) -> Outcome:
        """The GPU is of Blackwell or newer, and the proprietary flavour of the module is loaded."""
        new = next((gpu for gpu, at in _capabilities(gpus) if at >= _OPEN_ONLY), None)
        if new is None or driver_branch == "open":
            return None
        detail = f"{new.name or new.target} with the {driver_branch} modules."
        return Found(detail=detail, fix=_APART if _unlike(gpus) else None)


class DriverOpenModuleUnsupportedGpu(NvidiaRule):
    """The GPU is too old for the open kernel modules.

    Why: The open modules depend on a co-processor of the GPU (GSP) that came with Turing.
    Fix: Install the proprietary flavour of a branch that still serves the card, then restart.
    Sources: https://github.com/NVIDIA/open-gpu-kernel-modules
    """

    area = "kernel-module"
    platforms = ("linux",)

    def mend(self, host: Host, matrix: Matrix) -> Fix:
        """The same branch, or the last one that serves the card."""
        branch = deeds.last_branch(host, matrix) or deeds.branch(host)
        return self.remedy(System("driver-proprietary", branch=branch))

    def check(self, driver_branch: str, gpus: tuple[Gpu, ...]) -> Outcome:
        """The open flavour is loaded and the GPU is older than Turing."""
        old = next((gpu for gpu, at in _capabilities(gpus) if at < _OPEN_FROM), None)
        if old is None or driver_branch != "open":
            return None
        return Found(detail=f"{old.name or old.target} with the open modules.", fix=_APART if _unlike(gpus) else None)


class DriverGpuUnsupportedByBranch(NvidiaRule):
    """The installed driver branch does not serve this GPU.

    Why: Each driver release has a list of devices; legacy cards stay on their last branch.
    Fix: Move to a driver branch that lists the card. A newer one for new GPUs, the legacy branch for dropped ones.
    Sources: https://www.nvidia.com/en-us/drivers/unix/legacy-gpu/
    """

    area = "driver"

    def mend(self, host: Host, matrix: Matrix) -> Fix:
        """The last branch that serves the card, in the words of this distribution."""
        if deeds.last_branch(host, matrix):
            return deeds.install_driver(host, matrix, self.remedy().text)
        return self.remedy()

    def check(self, host: Host, driver: str, gpus: tuple[Gpu, ...], matrix: Matrix, signals: Hearing) -> Outcome:
        """The branch has dropped the GPU's architecture, or is older than it."""
        windows = host.platform in {"windows", "wsl2"}
        judged = ((gpu, joint.serves(matrix, gpu.target, driver, windows)) for gpu in gpus if is_version(driver))
        gpu, clash = next(((gpu, found) for gpu, found in judged if isinstance(found, Clash)), (None, None))
        if gpu is None or clash is None:
            return None
        mild = not signals.pointing("driver-gpu-unsupported-by-branch") and len(gpus) > 1
        detail = f"{f'{gpu.name}: ' if gpu.name else ''}{clash.why}; the driver is {driver}."
        return Found(detail=detail, sources=cite(matrix, *clash.rows), severity="warning" if mild else None)


class DriverDeviceCountMismatch(NvidiaRule):
    """The driver shows fewer GPUs than the PCI bus.

    Why: A lost or half-initialised card disappears from the driver's list while the bus still shows it.
    Fix: Look at the kernel log for that bus id; reset or reseat the card. It says RmInitAdapter, Xid 79 or an error of
        the BARs.
    Sources: https://docs.nvidia.com/deploy/xid-errors/
    """

    area = "driver"
    requires = ("gpu-xid-fatal", "driver-open-module-required", "driver-gsp-init-failed")
    asks = ("xids",)
    changes = (Command("sudo dmesg | grep -iE 'nvrm|xid'", "linux"),)

    def check(self, gpus: tuple[Gpu, ...], driver: str) -> Outcome:
        """A GPU on the bus has the NVIDIA driver bound, and NVML does not list it or reports it as lost."""
        lost = [gpu for gpu in gpus if gpu.vendor == "nvidia" and gpu.lost]
        if lost:
            return Found(detail=f"{lost[0].name or 'A GPU'} at {lost[0].bus or 'the bus'} is lost to driver {driver}.")
        return None
