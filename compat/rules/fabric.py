"""Links between GPUs: NVSwitch fabric, NVLink, PCIe and peer access."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat import versions
from compat.findings import Fix
from compat.rules.knowledge import is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.rules.signals import Hearing


class FabricManagerDown(Rule):
    """An NVSwitch system runs without its fabric manager.

    What:
        NVSwitch devices are there, and the fabric manager is not installed or not running, or CUDA answers 802.
    Why:
        On NVSwitch machines CUDA refuses to initialise until the fabric is configured, although nvidia-smi works.
    Fix:
        Install the fabric manager of exactly the driver's version and start it.
    Sources:
        - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
        - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """

    area = "fabric"
    vendors = ("nvidia",)
    requires = ("fabric-manager-version-mismatch",)
    asks = ("fabric_manager", "nvswitch", "driver")
    remedy = Fix("Install the fabric manager of exactly the driver's version and start it.", ("sudo systemctl enable --now nvidia-fabricmanager",))

    def check(self, host: Host, signals: Hearing, nvswitch: int | None = None, fabric_manager: str | None = None) -> Outcome:
        heard = signals.get("fabric-802", "fabric-named")
        running = bool(fabric_manager and re.search(r"\b(active|running)\b", fabric_manager) and "inactive" not in fabric_manager)
        if nvswitch and (host.absent("fabric_manager") or (fabric_manager and not running)):
            return Found(detail=f"{nvswitch} NVSwitch devices, fabric manager {fabric_manager or 'not installed'}.", facts=("nvswitch", "fabric_manager"), fix=self._fix(host))
        if heard and nvswitch is None:
            facts = tuple(name for name in ("driver", "gpus") if host[name])
            return Found(detail=heard.signal.meaning, facts=facts, confidence="likely", fix=self._fix(host))
        return Fits("the fabric manager runs") if nvswitch and running else None

    @staticmethod
    def _fix(host: Host) -> Fix:
        driver = host["driver"] or ""
        branch = versions.major(driver) if is_version(driver) else None
        package = f"sudo apt install nvidia-fabricmanager-{branch}={driver}*" if branch and "." in driver else ""
        start = "sudo systemctl enable --now nvidia-fabricmanager"
        return Fix(f"Start the fabric manager of driver {driver}." if driver else FabricManagerDown.remedy.text, (package, start) if package else (start,))


class FabricManagerVersionMismatch(Rule):
    """The fabric manager and the driver are of different versions.

    What:
        The version of the fabric manager is not the kernel driver's.
    Why:
        The daemon speaks a private interface to the kernel driver that changes with each version.
    Fix:
        Install the package with the identical version.
    Sources:
        - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """

    area = "fabric"
    vendors = ("nvidia",)
    asks = ("fabric_manager", "driver")
    remedy = Fix("Install the fabric manager of exactly the driver's version.")

    def check(self, fabric_manager: str, driver: str) -> Outcome:
        found = re.search(r"\d+\.\d+(?:\.\d+)?", fabric_manager)
        if not found or not is_version(driver) or versions.release(found[0]) == versions.release(driver):
            return None
        return Found(detail=f"The fabric manager is {found[0]}, the driver is {driver}.", facts=("fabric_manager", "driver"))


class NvlinkDown(Rule):
    """NVLink lanes are down.

    What:
        A message or an Xid reports a failed NVLink.
    Why:
        Collectives silently take slower paths when links are missing.
    Fix:
        Check the bridges and the fabric manager's log, and reset the GPUs.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
    """

    severity = "warning"
    area = "fabric"
    vendors = ("nvidia",)
    requires = ("fabric-manager-down",)
    asks = ("xids",)
    remedy = Fix("Check the bridges and the fabric manager's log, and reset the GPUs.", ("nvidia-smi nvlink --status",))
    _XIDS = frozenset({"74", "144", "145", "146", "147", "148", "149", "150"})  # NVLINK_ERROR and its successors

    def check(self, xids: tuple[str, ...]) -> Outcome:
        found = [xid for xid in xids if xid in self._XIDS]
        return Found(detail=f"Xid {found[0]} was logged: an NVLink error.", facts=("xids",)) if found else None


class PcieLinkDegraded(Rule):
    """The PCIe link runs narrower than the slot and card allow.

    What:
        The current width is below the highest that card and slot have in common.
    Why:
        Transfers between host and device scale with the link. The generation falls when idle and is no evidence; the width
        is.
    Fix:
        Reseat the card, or use a slot of full width.
    Sources:
        - https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "warning"
    area = "interconnect"
    asks = ("gpus",)
    remedy = Fix("Reseat the card, or use a slot of full width.", ("nvidia-smi -q -d PERFORMANCE",))

    def check(self, gpus: tuple[Gpu, ...]) -> Outcome:
        for gpu in gpus:
            now, best = re.search(r"x(\d{1,2})", gpu.pcie), re.search(r"x(\d{1,2})", gpu.pcie_max)
            if now and best and 0 < int(now[1]) < int(best[1]):
                return Found(detail=f"{gpu.name or 'A GPU'} runs at x{now[1]} of x{best[1]}.", facts=("gpus",))
        return None


class IommuMultiGpuHang(Rule):
    """Several AMD GPUs without iommu=pt.

    What:
        More than one AMD GPU, and the kernel translates their accesses.
    Why:
        Translated accesses between GPUs can hang jobs that use several.
    Fix:
        Add iommu=pt to the kernel's command line and restart.
    Sources:
        - https://rocm.docs.amd.com/projects/rccl/en/latest/how-to/troubleshooting-rccl.html
    """

    severity = "warning"
    area = "interconnect"
    vendors = ("amd",)
    platforms = ("linux",)
    asks = ("iommu",)
    remedy = Fix("Add iommu=pt to the kernel's command line.", ("sudo sed -i 's/GRUB_CMDLINE_LINUX_DEFAULT=\"/&iommu=pt /' /etc/default/grub", "sudo update-grub"))

    def check(self, gpus: tuple[Gpu, ...], iommu: str) -> Outcome:
        cards = [gpu for gpu in gpus if gpu.vendor == "amd" and not gpu.integrated]
        if len(cards) < 2 or "pt" in iommu or "off" in iommu:
            return None
        return Found(detail=f"{len(cards)} AMD GPUs with the IOMMU mode {iommu}.", facts=("gpus", "iommu"))


class P2pUnsupported(Rule):
    """GPUs cannot address each other directly.

    What:
        A program asked for peer access between two GPUs that do not have it.
    Why:
        Many consumer generations have peer access switched off, so that collectives go through main memory.
    Fix:
        Nothing on consumer cards; set NCCL_P2P_DISABLE=1 where a driver reports it wrongly.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    """

    severity = "info"
    area = "interconnect"
    asks = ("gpus",)
    remedy = Fix("Set NCCL_P2P_DISABLE=1.", ("export NCCL_P2P_DISABLE=1",))

    def check(self, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        if len(gpus) < 2 or "p2p" not in signals:
            return None
        return Found(detail=f"{gpus[0].name or 'These GPUs'}: no peer access.", facts=("gpus",), severity="error")


class PeermemMissing(Rule):
    """The GPUDirect RDMA module is not loaded.

    What:
        NCCL reports that it cannot use GPUDirect RDMA.
    Why:
        Without nvidia_peermem (or DMA-BUF with the open modules) traffic between nodes goes through main memory.
    Fix:
        Load nvidia-peermem.
    Sources:
        - https://docs.nvidia.com/cuda/gpudirect-rdma/
    """

    severity = "warning"
    area = "interconnect"
    vendors = ("nvidia",)
    asks = ("modules",)
    remedy = Fix("Load nvidia-peermem.", ("sudo modprobe nvidia-peermem",))

    def check(self, modules: tuple[str, ...], signals: Hearing) -> Outcome:
        if "peermem" not in signals or "nvidia_peermem" in modules:
            return None
        return Found(detail="nvidia_peermem is not loaded.", facts=("modules",))


RULES = family(
    FabricManagerVersionMismatch, FabricManagerDown, NvlinkDown, PcieLinkDegraded, IommuMultiGpuHang, P2pUnsupported, PeermemMissing
)
