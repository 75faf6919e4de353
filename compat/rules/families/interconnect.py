"""Between GPUs: NVSwitch fabric, NVLink, PCIe and peer access."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat import versions
from compat.changes import Command, Example, System, Variable
from compat.findings import Fix
from compat.rules.lookups import data_center, is_version, products_of
from compat.rules.rule import AmdRule, Fits, Found, NvidiaRule, Outcome, Rule, told

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


class FabricManagerVersionMismatch(NvidiaRule):
    """The fabric manager and the driver are of different versions.

    Why: The daemon speaks a private interface to the kernel driver that changes with each version.
    Fix: Install the fabric manager of exactly the driver's version.
    Sources: https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """

    area = "fabric"
    changes = (System("fabric-manager"),)

    def check(self, fabric_manager: str, driver: str) -> Outcome:
        """The version of the fabric manager is not the kernel driver's."""
        found = re.search(r"\d+\.\d+(?:\.\d+)?", fabric_manager)
        if not found or not is_version(driver) or versions.release(found[0]) == versions.release(driver):
            return None
        fix = Fix(f"Install fabric manager {driver}, exactly the driver's version.", changes=self.changes)
        return Found(detail=f"The fabric manager is {found[0]}, the driver is {driver}.", fix=fix)


class FabricManagerDown(NvidiaRule):
    """An NVSwitch system runs without its fabric manager.

    Why: On NVSwitch machines CUDA refuses to initialise until the fabric is configured, although nvidia-smi works.
    Fix: Install the fabric manager of exactly the driver's version and start it.
    Sources:
        - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
        - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
    """

    area = "fabric"
    requires = ("fabric-manager-version-mismatch", "gpu-xid-fatal")
    asks = ("fabric_manager", "nvswitch", "driver")
    changes = (System("fabric-manager"),)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """NVSwitch devices are there, and the fabric manager is not installed or not running, or CUDA answers 802.

        Where the manager cannot be seen (in a container), a GPU that is not registered with the fabric tells it.
        """
        if "fabric-nothing" in signals and not host.nvswitch:
            return Fits("there is no NVSwitch, so that no fabric manager is needed")
        heard = signals.get("fabric-802", "fabric-named")
        manager = host.fabric_manager or ""
        running = re.search(r"\b(active|running)\b", manager) is not None and "inactive" not in manager
        start = Command("sudo systemctl enable --now nvidia-fabricmanager", "linux")
        # one that is installed need only be started; else the package of the driver's version comes first
        fix = Fix("Start the fabric manager.", changes=(start,)) if manager else None
        if not manager and not host.os:  # whose package it is depends on the system
            which = host.driver or "of exactly the driver's version"
            fix = Fix(f"Install the fabric manager {which} on the host, then start it.", changes=(start,))
        if host.nvswitch and (host.absent("fabric_manager") or (manager and not running)):
            detail = f"{host.nvswitch} NVSwitch devices, fabric manager {manager or 'not installed'}."
            return Found(detail=detail, facts=("nvswitch", "fabric_manager"), fix=fix)
        waits = next((gpu for gpu in host.gpus or () if gpu.fabric in {"not_started", "in_progress"}), None)
        if host.nvswitch and waits and not host.known("fabric_manager"):
            state = waits.fabric.replace("_", " ")
            detail = f"{host.nvswitch} NVSwitch devices; registration with the fabric: {state}."
            return Found(detail=detail, facts=("nvswitch", "gpus"), confidence="likely")
        if heard and host.nvswitch is None:
            facts = told(driver=host.driver, gpus=host.gpus)
            return Found(detail=heard.signal.meaning, facts=facts, confidence="likely", fix=fix)
        return Fits("the fabric manager runs") if host.nvswitch and running else None


class ImexNotReady(NvidiaRule):
    """A multi-node NVLink system has no channel of the IMEX service.

    Why: Sharing memory across NVLink trays (GB200 and GB300 NVL72) goes through the IMEX daemon and its channels.
    Fix: Start the IMEX service. Fill in /etc/nvidia-imex/nodes_config.cfg before; pass channels into containers.
    Sources: https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/
    """

    severity = "info"
    area = "fabric"
    platforms = ("linux",)
    asks = ("imex",)
    changes = (Command("sudo systemctl enable --now nvidia-imex", "linux"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], device_nodes: tuple[str, ...]) -> Outcome:
        """GPUs of a rack-scale system are there, and no IMEX channel node is, or its service does not run."""
        rack = next((gpu for gpu in gpus if re.search(r"\bGB[23]00\b", gpu.name)), None)
        if rack is None:
            return None
        if host.imex and "stopped" in host.imex:
            return Found(detail=f"{rack.name}: IMEX {host.imex}.", facts=("gpus", "imex"), severity="warning")
        if any("imex" in node for node in device_nodes):
            return None
        return Found(detail=f"{rack.name} without an IMEX channel.")


class NvlinkDown(NvidiaRule):
    """NVLink lanes are down.

    Why: Collectives silently take slower paths when links are missing.
    Fix: Check the bridges and the fabric manager's log, and reset the GPUs.
    Sources: https://docs.nvidia.com/deploy/xid-errors/
    """

    severity = "warning"
    area = "fabric"
    requires = ("fabric-manager-down", "gpu-reset-required")
    asks = ("xids", "gpus")
    changes = (Command("nvidia-smi nvlink --status"),)
    _XIDS = frozenset({"74", "144", "145", "146", "147", "148", "149", "150"})  # NVLINK_ERROR and its successors

    def check(self, host: Host) -> Outcome:
        """An Xid reports a failed NVLink, or lanes of a GPU are down that its fellows have up.

        Lanes that no bridge joins are down on healthy cards too: a card is compared with those of its name that have
        any lane up, and all lanes must be up only where NVSwitches join them.
        """
        if found := [xid for xid in host.xids or () if xid in self._XIDS]:
            return Found(detail=f"Xid {found[0]} was logged: an NVLink error.", facts=("xids",))
        best: dict[str, int] = {}
        for gpu in host.gpus or ():
            best[gpu.name] = max(best.get(gpu.name, 0), gpu.nvlinks or 0)
        for gpu in host.gpus or ():
            most = (gpu.nvlinks or 0) + (gpu.nvlinks_down or 0) if host.nvswitch else best[gpu.name]
            if gpu.nvlinks_down and gpu.nvlinks is not None and (gpu.nvlinks or host.nvswitch) and gpu.nvlinks < most:
                where = f"{gpu.name or 'A GPU'} at {gpu.bus or 'an unknown address'}"
                return Found(detail=f"{where} has {gpu.nvlinks} of {most} NVLink lanes up.", facts=("gpus",))
        return None


class PcieLinkDegraded(Rule):
    """The PCIe link runs narrower than the slot and card allow.

    Why: Transfers between host and device scale with the link. The generation falls when idle and is no evidence; the
        width is.
    Fix: Reseat the card, or use a slot of full width.
    Sources: https://docs.nvidia.com/deploy/nvml-api/
    """

    severity = "warning"
    area = "interconnect"
    changes = (Example("sudo lspci -vv -s <address> | grep -E 'LnkCap|LnkSta'"),)

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """The current width is below the highest that card and slot have in common, and below the product's own.

        A chip can tell more lanes than its board wires: sixteen of an A16's, whose four GPUs have four each.
        """
        for gpu in gpus:
            now, best = _lanes(gpu.pcie), _lanes(gpu.pcie_max)
            own = max((_lanes(row.pcie) for row in products_of(gpu, matrix)), default=0) or best
            if 0 < now < min(best, own):
                return Found(detail=f"{gpu.name or 'A GPU'} runs at x{now} of x{min(best, own)}.")
        return None


def _lanes(link: str) -> int:
    """How many lanes a link has: ``gen4 x16``; 0 if that is not told."""
    found = re.search(r"x(\d{1,2})", link)
    return int(found[1]) if found else 0


class IommuMultiGpuHang(AmdRule):
    """Several AMD GPUs without iommu=pt.

    Why: Translated accesses between GPUs can hang jobs that use several.
    Fix: Add iommu=pt to the kernel's command line and restart.
    Sources: https://rocm.docs.amd.com/projects/rccl/en/latest/how-to/troubleshooting-rccl.html
    """

    severity = "warning"
    area = "interconnect"
    platforms = ("linux",)
    changes = (System("kernel-option", option="iommu=pt"),)

    def check(self, gpus: tuple[Gpu, ...], iommu: str) -> Outcome:
        """More than one AMD GPU, and the kernel translates their accesses."""
        cards = [gpu for gpu in gpus if gpu.vendor == "amd" and not gpu.integrated]
        if len(cards) < 2 or "pt" in iommu or "off" in iommu:
            return None
        return Found(detail=f"{len(cards)} AMD GPUs with the IOMMU mode {iommu}.")


class PcieAcsBlocksP2p(Rule):
    """PCIe access control sends traffic between GPUs through the processor.

    Why: With source validation on, a bridge redirects traffic between devices to the root complex, which slows or hangs
        NCCL. In virtual machines it must stay on.
    Fix: Switch ACS off in the firmware setup. Or switch IO virtualisation off there; to test, set NCCL_P2P_DISABLE=1.
    Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html
    """

    severity = "warning"
    area = "interconnect"
    platforms = ("linux",)
    changes = (Variable("NCCL_P2P_DISABLE", "1"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """A bridge above one of several GPUs validates sources or redirects requests.

        It costs nothing where GPUs have no peer access anyway or are joined by NVLink, and a guest needs it on.
        """
        heard = signals.get("acs-on")
        cards = [gpu for gpu in gpus if not gpu.integrated]
        if len(cards) < 2 or host.virtual_machine or not (heard or host.pcie_acs):
            return None
        if heard:
            return Found(detail=heard.signal.meaning)
        if host.peer_access is False or all(gpu.nvlinks for gpu in cards):
            return None
        bridges = ", ".join((host.pcie_acs or ())[:4])
        return Found(detail=f"Access control is on at {bridges}, above {len(cards)} GPUs.", facts=("pcie_acs",))


class NcclTopologyHidden(Rule):
    """NCCL does not see the PCI topology.

    Why: NCCL plans its rings from /sys; the flat topology of a virtual machine or container gives poor plans.
    Fix: Mount /sys properly, or supply NCCL_TOPO_FILE.
    Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    """

    severity = "info"
    area = "interconnect"
    asks = ("gpus",)
    changes = (Example("export NCCL_TOPO_FILE=<topology.xml>"),)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """NCCL finds no processor close to a GPU, some GPUs have no node named, or a virtual machine names none."""
        if heard := signals.get("nccl-topology"):
            return Found(detail=heard.signal.meaning)
        cards = [gpu for gpu in host.gpus or () if gpu.vendor in {"nvidia", "amd"} and not gpu.integrated]
        hidden = sum(gpu.numa == -1 for gpu in cards)
        if len(cards) < 2 or not hidden or (hidden == len(cards) and not host.virtual_machine):
            return None  # all of them on real hardware: a machine of one node names none
        return Found(
            detail=f"No NUMA node is named for {hidden} of {len(cards)} GPUs.", facts=("gpus", "virtual_machine")
        )


class P2pUnsupported(Rule):
    """GPUs cannot address each other directly.

    Why: Many consumer generations have peer access switched off, so that collectives go through main memory.
    Fix: Set NCCL_P2P_DISABLE=1. Consumer cards have no peer access; some drivers report it wrongly.
    Sources: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    """

    severity = "info"
    area = "interconnect"
    asks = ("peer_access",)
    changes = (Variable("NCCL_P2P_DISABLE", "1"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """A program asked for peer access between two GPUs that do not have it, or the driver denies it."""
        if len(gpus) < 2:
            return None
        if "p2p" in signals:
            return Found(detail=f"{gpus[0].name or 'These GPUs'}: no peer access.", severity="error")
        # what the driver says itself is no fault: frameworks take the way through main memory; and of instances, which
        # never have it, that is told where they are
        denied = host.peer_access is False and not any(gpu.mig == "enabled" for gpu in gpus)
        return (
            Found(detail="The driver denies peer access between the GPUs.", facts=("peer_access",)) if denied else None
        )


class PeermemMissing(NvidiaRule):
    """The GPUDirect RDMA module is not loaded.

    Why: Without nvidia_peermem (or DMA-BUF with the open modules) traffic between nodes goes through main memory.
    Fix: Load nvidia-peermem.
    Sources: https://docs.nvidia.com/cuda/gpudirect-rdma/
    """

    severity = "warning"
    area = "interconnect"
    asks = ("infiniband", "driver_branch")
    changes = (Command("sudo modprobe nvidia-peermem", "host"),)

    def check(self, host: Host, matrix: Matrix, modules: tuple[str, ...], signals: Hearing) -> Outcome:
        """NCCL reports that it cannot use GPUDirect RDMA, or there are adapters for it and no module.

        The open kernel module needs none: it shares memory through DMA-BUF.
        """
        if "nvidia_peermem" in modules or "nvidia" not in modules:
            return None
        if "peermem" in signals:
            return Found(detail="nvidia_peermem is not loaded.")
        served = any(data_center(gpu, matrix) for gpu in host.gpus or ())
        if not host.infiniband or host.driver_branch != "proprietary" or not served:
            return None
        detail = f"{host.infiniband} InfiniBand devices, and nvidia_peermem is not loaded."
        return Found(detail=detail, facts=("infiniband", "modules", "driver_branch"))
