"""macOS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.findings import Fix
from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.rules.signals import Hearing


class MacosRosettaPython(Rule):
    """An Intel Python runs on Apple silicon.

    Why:
        An emulated Python cannot use the GPU and finds only old wheels.
    Fix:
        Install a Python for arm64.
    Sources:
        - https://developer.apple.com/metal/pytorch/
    """

    severity = "error"
    area = "macos"
    platforms = ("darwin",)
    asks = ("python_arch", "arch")
    remedy = Fix("Install a Python for arm64.", ("uv python install",))

    def check(self, arch: str, python_arch: str) -> Outcome:
        """The machine is arm64 and the interpreter was built for x86_64."""
        if arch not in {"arm64", "aarch64"} or python_arch not in {"x86_64", "amd64"}:
            return None
        return Found(detail=f"The machine is {arch}, Python is {python_arch}.", facts=("arch", "python_arch"))


class MacosNoCuda(Rule):
    """CUDA or ROCm is asked for on macOS.

    Why:
        Apple's systems have no current NVIDIA or ROCm support; the wheels for macOS hold no such code.
    Fix:
        Use the MPS device (torch), tensorflow-metal, or a Linux machine with a GPU.
    Sources:
        - https://pytorch.org/docs/stable/notes/mps.html
    """

    area = "macos"
    platforms = ("darwin",)
    requires = ("platform-unsupported",)
    asks = ("platform",)
    remedy = Fix('Use device "mps", or a Linux machine with a GPU.')

    def check(self, platform: str, signals: Hearing) -> Outcome:
        """The system is macOS, and a program asks for CUDA; to note that there is none is no asking."""
        noted = signals.get("torch-no-gpu-generic")
        line = noted.line.lower() if noted else ""
        asked = "cuda" in line and "is cuda available" not in line
        if platform != "darwin" or not (asked or signals.get("torch-cpu-build", "cuda-home-unset")):
            return None
        return Found(detail="There is no CUDA on macOS.", facts=("platform",))


RULES = family(MacosNoCuda, MacosRosettaPython)
