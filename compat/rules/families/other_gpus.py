"""Intel GPUs and Jetson boards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.changes import Command, Example, System
from compat.joints.verdict import Clash
from compat.reading.jetson_release import image_l4t
from compat.rules.lookups import cite, is_older, of_board
from compat.rules.rule import Fits, Found, Outcome, Rule
from compat.rules.stack import Installed, named

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing
    from compat.rules.case import Case


class IntelNoComputeRuntime(Rule):
    """An Intel GPU lacks its compute runtime.

    Why: PyTorch's XPU device talks to the GPU through Level Zero.
    Fix: Install Intel's compute runtime with Level Zero: libze-intel-gpu1, libze1 and intel-opencl-icd on Ubuntu,
        intel-compute-runtime on Fedora and Arch. Older systems have it in Intel's repository.
    Sources: https://dgpu-docs.intel.com/
    """

    area = "intel"
    vendors = ("intel",)
    asks = ("intel_runtime",)
    changes = (System("intel-runtime"),)

    def check(self, host: Host, gpus: tuple[Gpu, ...], signals: Hearing, installed: tuple[Installed, ...]) -> Outcome:
        """An Intel GPU is there, and Level Zero cannot be loaded."""
        cards = [gpu for gpu in gpus if gpu.vendor == "intel"]
        if not cards or not host.absent("intel_runtime"):
            return Fits("Intel's compute runtime is there") if cards and host.intel_runtime else None
        wanted = any(item.runtime == "xpu" for item in installed) or bool(signals.get("intel-level-zero"))
        detail = f"{cards[0].name or 'An Intel GPU'} is there, Level Zero is not."
        return Found(detail=detail, facts=("gpus", "intel_runtime"), severity="error" if wanted else "info")


class IntelRenderPermission(Rule):
    """The user may not open the Intel render node.

    Why: The node belongs to the group render.
    Fix: Join the group render and log in again.
    Sources: https://dgpu-docs.intel.com/
    """

    area = "intel"
    vendors = ("intel",)
    requires = ("device-permission",)
    changes = (Command("sudo usermod -aG render $USER", "host"),)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """An Intel GPU is there, and its render node may not be opened; or its installed driver serves no platform."""
        denied = [node for node in host.device_nodes_denied or () if "renderD" in node]
        makers = {gpu.vendor for gpu in host.gpus or ()}
        if signals.said.get("intel_driver") and "opencl-none" in signals and makers <= {"intel"}:
            detail = f"{signals.said['intel_driver'][0]} is installed, and no OpenCL platform is found."
            return Found(detail=detail, facts=(), confidence="likely", severity="error")
        if not denied or makers != {"intel"}:
            return None
        detail = f"{denied[0]} may not be opened."
        return Found(detail=detail, facts=("device_nodes_denied",), severity="error" if signals.harmful else "warning")


class JetsonGenericWheel(Rule):
    """A generic ARM wheel is installed on a Jetson.

    Why: Jetsons have their own capabilities and driver stack; other ARM wheels are for CPUs or servers.
    Fix: Install the wheel that NVIDIA publishes for this JetPack, or use an l4t container.
    Sources: https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/
    """

    area = "jetson"
    requires = ("cpu-only-build",)
    asks = ("jetpack", "builds")
    changes = (Command("cat /etc/nv_tegra_release"), Example("pip install --no-cache <address of the wheel>"))

    def check(self, host: Host, l4t: str, installed: tuple[Installed, ...]) -> Outcome:
        """The machine is a Jetson, and the framework's build is not one for it.

        It is a CPU build, or carries no code for the integrated GPU.
        """
        torch = named(installed, "torch")
        if torch is None or not torch.runtime or torch.inferred:
            return None
        targets = {gpu.target for gpu in host.gpus or () if gpu.target}
        if torch.runtime != "cpu" and (not torch.kernels or not targets or targets & set(torch.kernels)):
            return None
        return Found(detail=f"{torch.label} is not the build for L4T {l4t}.", facts=("l4t", torch.fact))


class JetsonJetpackMismatch(Rule):
    """A container or wheel for another JetPack.

    Why: On a Jetson the driver and its CUDA are part of the board's system and cannot be upgraded alone.
    Fix: Choose the image tag, or the wheel, of the installed L4T release.
    Sources: https://catalog.ngc.nvidia.com/orgs/nvidia/containers/l4t-base
    """

    area = "jetson"
    requires = ("container-requires-newer-driver",)
    asks = ("image", "builds")
    changes = (Command("cat /etc/nv_tegra_release"),)

    def check(self, l4t: str, case: Case) -> Outcome:
        """The L4T release in the image's tag is not of the host's series.

        Or a build for boards was made with an older CUDA than the one that the host's system brings.
        """
        tagged = image_l4t(case.host.image or "")
        if tagged and tagged.partition(".")[0] != l4t.partition(".")[0]:
            detail = f"{case.host.image} is for L4T {tagged}, the host has {l4t}."
            return Found(detail=detail, facts=("l4t", "image"))
        for item in case.installed:
            found = of_board(case.matrix, case.host, item)
            if isinstance(found, Clash) and not is_older(found, item):  # an older system: driver-too-old-for-runtime
                detail = f"{found.why}; {item.label} is for boards with CUDA {item.cuda}."
                return Found(detail=detail, facts=("l4t", item.fact), sources=cite(case.matrix, item.row, *found.rows))
        return None
