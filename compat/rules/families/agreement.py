"""Where the files that are installed and the matrix say different things, the files are believed and it is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.facts import Build
from compat.rules.rule import Found, Outcome, Rule, family
from compat.targets import kernels_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu
    from compat.matrix import Matrix
    from compat.rules.stack import Installed


class KernelsUnlikeMatrix(Rule):
    """The installed files carry other GPU code than the published build of this version.

    Why:
        The package was compiled by somebody else, patched, or the matrix is wrong. Verdicts on this machine rest on the
        files themselves; what a reinstall from the index would bring may differ.
    Fix:
        Reinstall the package if the build is not your own; else report the matrix row.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    """

    severity = "warning"
    area = "arch"

    def check(
        self, matrix: Matrix, gpus: tuple[Gpu, ...], builds: Mapping[str, Build], installed: tuple[Installed, ...]
    ) -> Outcome:
        """What was read from the installed files and the matrix row lead to different verdicts for a GPU here."""
        for item in installed:
            build = builds.get(item.fact.removeprefix("builds."), Build())
            stated = tuple(target for target in item.row.kernels if target != "-") if item.row else ()
            if not build.path or not build.kernels or not stated:
                continue
            for gpu in gpus:
                seen = kernels_for(gpu.target, build.kernels, matrix.families) if gpu.target else ""
                said = kernels_for(gpu.target, stated, matrix.families) if gpu.target else ""
                if seen != said:
                    detail = f"{item.label}: its files have {seen} code for {gpu.target}, the matrix says {said}."
                    sources = (matrix.cite(item.row),) if item.row else ()
                    return Found(detail=detail, facts=("gpus", item.fact), sources=sources)
        return None


RULES = family(KernelsUnlikeMatrix)
