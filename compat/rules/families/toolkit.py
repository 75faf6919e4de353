"""The CUDA toolkit on disk against the device and the framework."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.joints.toolkit as joint
import compat.reading.commands as told
from compat import versions
from compat.findings import Fix
from compat.joints.verdict import Clash
from compat.rules.families.arch_floors import dropped
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import named
from compat.targets import sm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


_COMPILING: Final = (
    "toolkit-mismatch-extension",
    "toolkit-too-old-for-arch",
    "host-compiler-unsupported",
    "toolkit-missing",
    "build-tools-missing",
)


def compiling(signals: Hearing, commands: tuple[str, ...]) -> bool:
    """Whether GPU code is compiled here: a command does it, or a message is a compiler's."""
    return told.compiles(commands) or any(signals.pointing(code) for code in _COMPILING)


class ToolkitMismatchExtension(Rule):
    """nvcc and the framework are of different CUDA majors.

    Why:
        The extension would link one runtime and torch another; torch's build helper refuses that.
    Fix:
        Point CUDA_HOME to a toolkit of torch's CUDA major. Or take the matching devel image.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    vendors = ("nvidia",)
    asks = ("cuda_toolkit", "builds")
    commands = ("export CUDA_HOME=/usr/local/cuda-<version>",)

    def check(
        self, cuda_toolkit: str, signals: Hearing, commands: tuple[str, ...], installed: tuple[Installed, ...]
    ) -> Outcome:
        """An extension is compiled with a toolkit whose CUDA major is not that of the installed torch."""
        torch = named(installed, "torch")
        if not torch or not is_version(torch.cuda) or not is_version(cuda_toolkit):
            return None
        if versions.major(cuda_toolkit) == versions.major(torch.cuda):
            return (
                Fits(f"CUDA toolkit {cuda_toolkit} is of torch's CUDA major")
                if not signals.get("detected-cuda-mismatch", "detected-cuda-mismatch-short")
                else self._minor(cuda_toolkit, torch.cuda)
            )
        fix = Fix(f"Build with CUDA {torch.cuda}.", (f"export CUDA_HOME=/usr/local/cuda-{torch.cuda}",))
        detail = f"nvcc is CUDA {cuda_toolkit}, torch is built with CUDA {torch.cuda}."
        loading = "pair-undefined-torch" in signals and torch.inferred  # a ready-made extension that does not load
        told_so = (compiling(signals, commands) and not loading) or bool(signals.get("detected-mismatch-ext"))
        return Found(detail=detail, facts=("cuda_toolkit", torch.fact), fix=fix, severity=None if told_so else "info")

    @staticmethod
    def _minor(toolkit: str, cuda: str) -> Outcome:
        """Majors agree and a program still complained: it wants the minors alike."""
        if versions.same_series(toolkit, cuda):
            return None
        return Found(
            detail=f"nvcc is CUDA {toolkit}, torch is built with CUDA {cuda}, and this program wants them alike."
        )


class ToolkitTooOldForArch(Rule):
    """nvcc does not know the GPU's architecture.

    Why:
        Each toolkit compiles for a fixed list of targets; new ones come and old ones go.
    Fix:
        Install a toolkit that has the target, or name a lower one with PTX. TORCH_CUDA_ARCH_LIST names it.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-feature-list
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    vendors = ("nvidia",)
    asks = ("cuda_toolkit", "gpus")
    commands = ('export TORCH_CUDA_ARCH_LIST="8.0+PTX"',)

    def check(
        self,
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        cuda_toolkit: str | None = None,
        gpus: tuple[Gpu, ...] = (),
        env: Mapping[str, str] | None = None,
    ) -> Outcome:
        """The toolkit is older than the device's architecture, or so new that it dropped it.

        A target that a message names and that toolkits gave up is the target's fault: it is too old.
        """
        if "nvcc-unsupported-arch" in signals and dropped(matrix, signals.value("arch"), cuda_toolkit):
            return Fits("")
        if cuda_toolkit is None or not is_version(cuda_toolkit):
            return None
        at_work = compiling(signals, commands) or bool(signals.pointing("toolkit-too-old-for-arch"))
        named = [signals.value("arch"), *re.split(r"[\s;,]+", (env or {}).get("TORCH_CUDA_ARCH_LIST", ""))]
        asked = {str(device).replace("compute", "sm") for text in named if (device := sm(text))}
        for target in (*asked, *(gpu.target for gpu in gpus if gpu.target)):
            found = joint.verdict(matrix, cuda_toolkit, target)
            if isinstance(found, Clash):
                return Found(
                    detail=f"{found.why}; the toolkit here is {cuda_toolkit}.",
                    facts=("cuda_toolkit", *(("gpus",) if gpus else ())),
                    sources=cite(matrix, *found.rows),
                    severity=None if at_work else "info",
                )
        return None


RULES = family(ToolkitTooOldForArch, ToolkitMismatchExtension)
