"""A machine that is known to have no GPU, and something on it that wants one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.rules.remedies as remedies
from compat.findings import Fix
from compat.rules.rule import Found, Outcome, Rule, family
from compat.rules.stack import has_no_device, installed

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed

# Messages of programs that look for a device and find none.
_BLIND: Final = (
    "found-no-driver",
    "smi-not-found",
    "libcuda-missing",
    "no-device-100",
    "no-cuda-gpus",
    "insufficient-35",
    "smi-failed",
    "torch-no-gpu-generic",
    "tf-no-drivers",
    "kfd-no-file",
)


class NoGpuHere(Rule):
    """Something here wants a GPU, and there is none.

    Why:
        A CUDA or ROCm build on a machine without a GPU computes on the CPU without a word, or fails at its first call
        of the device. No driver mends it: a driver needs a device. In a container the GPU may be on the machine and
        only not handed in.
    Fix:
        Run it on a machine with a GPU, or take the CPU build on purpose. A container is started with the GPU.
    Sources:
        - https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html
        - https://docs.docker.com/engine/containers/gpu/
    """

    area = "framework"
    severity = "warning"
    requires = ("container-no-gpu", "container-visible-devices", "devices-hidden", "wsl-no-gpu-device")

    def check(
        self,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        gpus: tuple[Gpu, ...],
        container: str | None = None,
    ) -> Outcome:
        """No GPU is there by the facts, and a build for one is installed or a program looked for one."""
        if gpus:
            return None
        built = next((item for item in installed(host, matrix) if _wants_gpu(item)), None)
        heard = signals.get(*_BLIND)
        if not (container or has_no_device(host)) or not (built or heard):
            return None
        what = f"{built.label} is a GPU build" if built else "A program looks for a GPU"
        asked = (host.env or {}).get("NVIDIA_VISIBLE_DEVICES", "") not in {"", "void", "none"}
        where = "no GPU is in this container" if container else "this machine has no GPU"
        facts = ("gpus", *((built.fact,) if built and built.fact else ()), *(("container",) if container else ()))
        return Found(
            detail=f"{what}, and {where}: it computes on the CPU, or fails.",
            facts=facts,
            fix=_with_gpu(host) if container else _elsewhere(built),
            severity="error" if container and asked else "warning",
        )


def _wants_gpu(item: Installed) -> bool:
    return item.runtime.startswith(("cuda", "rocm")) and not item.inferred


def _with_gpu(host: Host) -> Fix:
    """The option that is missing where the container was started."""
    return Fix("Start the container with the GPU, from the machine that has it.", remedies.run_with_gpu(host))


def _elsewhere(built: Installed | None) -> Fix:
    """The CPU build, for those who mean it."""
    commands = (f"envcheck resolve {built.name}=={built.version.partition('+')[0]} --cpu",) if built else ()
    return Fix("Run it on a machine with a GPU, or take the CPU build on purpose.", commands)


RULES: Final = family(NoGpuHere)
