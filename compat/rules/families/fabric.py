"""NVSwitch fabric and NVLink."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat import versions
from compat.changes import Command, System
from compat.findings import Fix
from compat.rules.knowledge import is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family, told

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing


class FabricManagerDown(Rule):
    """An NVSwitch system runs without its fabric manager.

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
        running = bool(
            host.fabric_manager
            and re.search(r"\b(active|running)\b", host.fabric_manager)
            and "inactive" not in host.fabric_manager
        )
        if host.nvswitch and (host.absent("fabric_manager") or (host.fabric_manager and not running)):
            return Found(
                detail=f"{host.nvswitch} NVSwitch devices, fabric manager {host.fabric_manager or 'not installed'}.",
                facts=("nvswitch", "fabric_manager"),
                fix=self._fix(host.fabric_manager),
            )
        waits = next((gpu for gpu in host.gpus or () if gpu.fabric in {"not_started", "in_progress"}), None)
        if host.nvswitch and waits and host.fabric_manager is None and not host.absent("fabric_manager"):
            state = waits.fabric.replace("_", " ")
            return Found(
                detail=f"{host.nvswitch} NVSwitch devices; registration with the fabric: {state}.",
                facts=("nvswitch", "gpus"),
                confidence="likely",
                fix=self._fix(host.fabric_manager),
            )
        if heard and host.nvswitch is None:
            facts = told(driver=host.driver, gpus=host.gpus)
            return Found(
                detail=heard.signal.meaning, facts=facts, confidence="likely", fix=self._fix(host.fabric_manager)
            )
        return Fits("the fabric manager runs") if host.nvswitch and running else None

    @staticmethod
    def _fix(fabric_manager: str | None) -> Fix:
        """One that is installed need only be started; else the package of the driver's version comes first."""
        if fabric_manager:
            return Fix(
                "Start the fabric manager.",
                changes=(Command("sudo systemctl enable --now nvidia-fabricmanager", "linux"),),
            )
        return FabricManagerDown.remedy()


class FabricManagerVersionMismatch(Rule):
    """The fabric manager and the driver are of different versions.

    Why:
        The daemon speaks a private interface to the kernel driver that changes with each version.
    Fix:
        Install the fabric manager of exactly the driver's version.
    Sources:
        - https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    """

    area = "fabric"
    vendors = ("nvidia",)
    changes = (System("fabric-manager"),)

    def check(self, fabric_manager: str, driver: str) -> Outcome:
        """The version of the fabric manager is not the kernel driver's."""
        found = re.search(r"\d+\.\d+(?:\.\d+)?", fabric_manager)
        if not found or not is_version(driver) or versions.release(found[0]) == versions.release(driver):
            return None
        return Found(detail=f"The fabric manager is {found[0]}, the driver is {driver}.")


class ImexNotReady(Rule):
    """A multi-node NVLink system has no channel of the IMEX service.

    Why:
        Sharing memory across NVLink trays (GB200 and GB300 NVL72) goes through the IMEX daemon and its channels.
    Fix:
        Start the IMEX service. Fill in /etc/nvidia-imex/nodes_config.cfg before; pass channels into containers.
    Sources:
        - https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/
    """

    severity = "info"
    area = "fabric"
    vendors = ("nvidia",)
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


class NvlinkDown(Rule):
    """NVLink lanes are down.

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
                return Found(
                    detail=f"{gpu.name or 'A GPU'} at {gpu.bus or 'an unknown address'} has {gpu.nvlinks} of {most}"
                    " NVLink lanes up.",
                    facts=("gpus",),
                )
        return None


RULES = family(FabricManagerVersionMismatch, FabricManagerDown, ImexNotReady, NvlinkDown)
