"""macOS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.lazy import pattern
from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.reading.messages import Hearing

# Spellings of a wish for CUDA or ROCm: an extra, a package of one CUDA, an index, a local version.
_ASKED: Final = pattern(
    r"[\w-]{1,40}\[(?:and-)?cuda\d*\]|(?:nvidia|jax|cupy|torch)[\w-]{0,40}-cu(?:da)?\d{2}x?\b"
    r"|/whl/(?:cu\d{2,3}|rocm[\d.]{1,8})|\+(?:cu|rocm)\d[\d.]{0,6}"
)


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
    commands = ("uv python install",)

    def check(self, arch: str, python_arch: str) -> Outcome:
        """The machine is arm64 and the interpreter was built for x86_64."""
        if arch not in {"arm64", "aarch64"} or python_arch not in {"x86_64", "amd64"}:
            return None
        return Found(detail=f"The machine is {arch}, Python is {python_arch}.")


class MacosNoCuda(Rule):
    """CUDA or ROCm is asked for on macOS.

    Why:
        Apple's systems have no current NVIDIA or ROCm support; the wheels for macOS hold no such code.
    Fix:
        Use device "mps", or a Linux machine with a GPU. TensorFlow has tensorflow-metal.
    Sources:
        - https://pytorch.org/docs/stable/notes/mps.html
    """

    area = "macos"
    platforms = ("darwin",)
    requires = ("platform-unsupported",)

    def check(
        self, host: Host, platform: str, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
    ) -> Outcome:
        """The system is macOS, and a program, a command, a wish or an installed build asks for CUDA or ROCm.

        To note that there is none is no asking.
        """
        builds = host.builds
        if platform != "darwin":
            return None
        wanted = next((found[0] for text in (*wishes, *commands) if (found := _ASKED.search(text))), "")
        if wanted and not signals.harmful:  # what an installer said of it tells more
            return Found(detail=f"{wanted} is asked for, and there is no CUDA or ROCm on macOS.")
        builds = builds or {}
        foreign = next((name for name in builds if builds[name].runtime.startswith(("cuda", "rocm"))), "")
        if foreign and not signals.harmful:
            detail = f"{foreign} is a build for {builds[foreign].runtime}, which macOS does not have."
            return Found(detail=detail, facts=("platform", f"builds.{foreign}"))
        noted = signals.get("torch-no-gpu-generic")
        line = noted.line.lower() if noted else ""
        asked = "cuda" in line and "is cuda available" not in line
        if not asked and not signals.get("torch-cpu-build", "cuda-home-unset"):
            return None
        return Found(detail="There is no CUDA on macOS.")


RULES = family(MacosNoCuda, MacosRosettaPython)
