"""Where the CUDA toolkit is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.findings import Fix
from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


from compat.rules.families.toolkit import compiling


class ToolkitMissing(Rule):
    """No CUDA toolkit is found for building extensions.

    Why:
        Running needs the runtime libraries only, which wheels bring; compiling needs headers and nvcc.
    Fix:
        Use a devel image, or install the CUDA toolkit of the framework's CUDA release.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    severity = "error"
    requires = ("image-runtime-not-devel",)
    asks = ("cuda_toolkit", "env")
    commands = ("@cuda-toolkit release=<major>-<minor>",)

    def check(
        self, signals: Hearing, commands: tuple[str, ...], no_cuda_toolkit: bool, installed: tuple[Installed, ...]
    ) -> Outcome:
        """Something is compiled and there is neither nvcc on PATH nor CUDA_HOME."""
        if not no_cuda_toolkit or not compiling(signals, commands):
            return None
        torch = next((item for item in installed if item.cuda), None)
        return Found(detail="No nvcc is on PATH.", facts=("cuda_toolkit",), fix=_toolkit(torch))


def _toolkit(torch: Installed | None) -> Fix:
    """The toolkit of torch's own CUDA release, whose package is named after it; any toolkit where that is unknown."""
    if torch is None or "." not in torch.cuda:
        return Fix("Install a CUDA toolkit.", ("@cuda-toolkit-any",))
    release = torch.cuda.replace(".", "-")
    return Fix(f"Install cuda-toolkit-{release}.", (f"@cuda-toolkit release={release}",))


class CudaHomeBroken(Rule):
    """CUDA_HOME or a sibling names a folder that holds no toolkit.

    Why:
        It takes precedence over PATH when extensions are built.
    Fix:
        Correct or unset CUDA_HOME.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    severity = "warning"
    area = "env"
    requires = ("toolkit-missing", "toolkit-mismatch-extension")
    asks = ("env", "cuda_toolkits")
    commands = ("unset CUDA_HOME",)

    def check(self, env: Mapping[str, str], cuda_toolkits: Mapping[str, str]) -> Outcome:
        """The variable is set, and no toolkit was found in that folder."""
        for name in ("CUDA_HOME", "CUDA_PATH"):
            folder = _plain(env.get(name, ""))
            if folder and folder not in {_plain(known) for known in cuda_toolkits}:
                fix = Fix(f"Correct or unset {name}.", (f"unset {name}",))
                return Found(
                    detail=f"{name} is {folder}, where no toolkit was found.",
                    facts=(f"env.{name}", "cuda_toolkits"),
                    fix=fix,
                )
        return None


def _plain(folder: str) -> str:
    """A folder in one spelling: Windows writes either slash, and does not tell capitals from small letters."""
    slashed = folder.replace("\\", "/").rstrip("/")
    return slashed.lower() if slashed[1:2] == ":" else slashed


RULES = family(ToolkitMissing, CudaHomeBroken)
