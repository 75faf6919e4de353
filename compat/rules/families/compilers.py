"""The host's compilers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.findings import Fix
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.findings import Severity
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


from compat.rules.families.toolkit import compiling


class HostCompilerUnsupported(Rule):
    """The host compiler is outside the range that nvcc accepts.

    Why:
        The limit is compiled into crt/host_config.h, because nvcc must parse the compiler's own headers.
    Fix:
        Install an older g++ and name it to nvcc. CC, CXX and CUDAHOSTCXX name it, or nvcc -ccbin.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
    """

    area = "toolkit"
    vendors = ("nvidia",)
    asks = ("gcc", "cuda_toolkit")
    commands = ("@host-compiler major=<major>",)

    def check(
        self,
        gcc: str,
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        cuda_toolkit: str | None = None,
    ) -> Outcome:
        """Gcc or clang is above the highest version that the toolkit's headers accept, or below the lowest."""
        if not is_version(gcc):
            return None
        limit, row = signals.value("gcc_max"), None
        if not limit and is_version(cuda_toolkit):
            row = matrix.cuda(cuda_toolkit or "")
            limit = row.gcc if row else ""
        if not is_version(limit):
            return None
        if versions.major(gcc) <= versions.major(limit):
            return Fits(f"gcc {gcc} is accepted by the CUDA toolkit")
        best = versions.major(limit)
        detail = f"gcc is {gcc}; the toolkit accepts gcc up to {best}."
        return Found(
            detail=detail,
            facts=("gcc", *(("cuda_toolkit",) if cuda_toolkit else ())),
            fix=Fix(f"Use g++ {best}.", (f"@host-compiler major={best}",)),
            sources=cite(matrix, row),
            severity=_weight(signals, commands),
        )


def _weight(signals: Hearing, commands: tuple[str, ...]) -> Severity | None:
    """How bad a refused compiler is: an error where GPU code is compiled, a warning where some build failed."""
    if compiling(signals, commands):
        return None
    return "warning" if "extension-build-failed" in signals else "info"


class BuildToolsMissing(Rule):
    """Tools for just-in-time builds of extensions are missing.

    Why:
        Triton and DeepSpeed compile small host programs at first use, even in inference images.
    Fix:
        Install ninja, a compiler and the headers of Python.
    Sources:
        - https://github.com/deepspeedai/DeepSpeed/blob/HEAD/deepspeed/env_report.py
    """

    severity = "info"
    area = "toolkit"
    asks = ("gcc", "ninja")
    commands = ("pip install ninja", "@build-tools")

    def check(
        self, signals: Hearing, distributions: Mapping[str, str], no_gcc: bool, no_clang: bool, gcc: str | None = None
    ) -> Outcome:
        """No compiler or no ninja is on PATH, and a package that compiles at run time is installed."""
        heard = signals.get("build-tools")
        compilers = sorted({"triton", "deepspeed"} & distributions.keys())
        if not heard and not (no_gcc and no_clang and compilers):
            return None
        who = f"{compilers[0]} compiles at first use, and no" if compilers else "No"
        return Found(
            detail=f"{who} compiler is found.",
            facts=("gcc",) if gcc or no_gcc else (),
            severity="error" if heard else None,
        )


RULES = family(HostCompilerUnsupported, BuildToolsMissing)
