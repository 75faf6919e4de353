"""Intel GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


class IntelNoComputeRuntime(Rule):
    """An Intel GPU lacks its compute runtime.

    Why:
        PyTorch's XPU device talks to the GPU through Level Zero.
    Fix:
        Install Intel's compute runtime. It is in the distribution or in Intel's repository.
    Sources:
        - https://dgpu-docs.intel.com/
    """

    area = "intel"
    vendors = ("intel",)
    asks = ("intel_runtime",)
    commands = ("@intel-runtime",)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing, installed: tuple[Installed, ...]) -> Outcome:
        """An Intel GPU is there, and Level Zero cannot be loaded."""
        cards = [gpu for gpu in gpus if gpu.vendor == "intel"]
        if not cards or not host.absent("intel_runtime"):
            return Fits("Intel's compute runtime is there") if cards and host.intel_runtime else None
        wanted = any(item.runtime == "xpu" for item in installed) or bool(signals.get("intel-level-zero"))
        return Found(
            detail=f"{cards[0].name or 'An Intel GPU'} is there, Level Zero is not.",
            facts=("gpus", "intel_runtime"),
            severity="error" if wanted else "info",
        )


class IntelRenderPermission(Rule):
    """The user may not open the Intel render node.

    Why:
        The node belongs to the group render.
    Fix:
        Join the group render and log in again.
    Sources:
        - https://dgpu-docs.intel.com/
    """

    area = "intel"
    vendors = ("intel",)
    requires = ("device-permission",)
    commands = ("sudo usermod -aG render $USER",)

    def check(self, device_nodes_denied: tuple[str, ...], gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        """An Intel GPU is there, and its render node may not be opened."""
        denied = [node for node in device_nodes_denied if "renderD" in node]
        if not denied or {gpu.vendor for gpu in gpus} != {"intel"}:
            return None
        return Found(
            detail=f"{denied[0]} may not be opened.",
            facts=("device_nodes_denied",),
            severity="error" if signals.harmful else "warning",
        )


RULES = family(IntelNoComputeRuntime, IntelRenderPermission)
