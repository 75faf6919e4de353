"""Frameworks side by side in one environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.commands as told
from compat.rules.knowledge import cite
from compat.rules.rule import Found, Outcome, Rule, family
from compat.rules.stack import named
from compat.versions import admits, requirement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed
    from compat.rules.together import Pair


# Frameworks that bring or pin CUDA libraries of their own.
_FRAMEWORKS: Final = frozenset({"torch", "tensorflow", "jax", "paddlepaddle"})


def _installed(pairs: tuple[Pair, ...], cited: Mapping[str, str], matrix: Matrix) -> Outcome:
    """Two installed packages that require, or were built for, other libraries."""
    for pair in pairs:
        if pair.clash and (not pair.tied or pair.right.name.startswith("nvidia-")):
            there = f"; {pair.right.version} is installed" if pair.tied else ""
            return Found(
                detail=f"{pair.clash.why}{there}.",
                facts=tuple(cited[one.name] for one in (pair.left, pair.right)),
                sources=cite(matrix, *pair.clash.rows),
                severity=None if pair.tied else "warning",
                confidence=pair.confidence,
            )
    return None


class FrameworksConflict(Rule):
    """Frameworks in one environment need incompatible CUDA libraries.

    Why:
        torch pins exact versions of the CUDA libraries while jax and TensorFlow ask for a minimum: the last install
        decides who breaks, and in one process the first import does.
    Fix:
        Use one environment or image per framework, or releases whose ranges overlap; see `envcheck resolve`. Or take
        one of them as a CPU build.
    Sources:
        - https://docs.jax.dev/en/latest/installation.html
        - https://packaging.python.org/en/latest/specifications/dependency-specifiers/
    """

    area = "framework"
    asks = ("packages", "package_requires")

    def check(
        self,
        pairs: tuple[Pair, ...],
        cited: Mapping[str, str],
        installed: tuple[Installed, ...],
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        wishes: tuple[str, ...],
    ) -> Outcome:
        """Two frameworks ask for ranges of the same library that exclude each other.

        Or what is installed of NVIDIA's libraries is not what a framework asks for, or two builds need other runtimes.
        """
        asked = told.requirements(commands).keys() | {line.name for wish in wishes if (line := requirement(wish))}
        together = sorted((asked | cited.keys()) & _FRAMEWORKS)
        return (
            _installed(pairs, cited, matrix)
            or self._pins(installed, matrix, signals, commands)
            or self._by_message(together, cited, signals)
        )

    @staticmethod
    def _by_message(together: list[str], cited: Mapping[str, str], signals: Hearing) -> Outcome:
        """An installer that finds no solution, or a framework that meets another one's libraries."""
        facts = tuple(cited[name] for name in together if name in cited)
        if "resolver-conflict-frameworks" in signals and len(together) > 1:
            return Found(detail=f"{' and '.join(together)} exclude each other's CUDA libraries.", facts=facts)
        if len(together) > 1 and "crashed" in signals:
            detail = f"{' and '.join(together)} load their own CUDA libraries into one process."
            return Found(detail=detail, facts=facts, confidence="possible", severity="warning")
        if signals.get("jax-cudnn", "jax-version-built") and "torch" in together:
            detail = "torch and jax ask for different CUDA libraries in one environment."
            return Found(detail=detail, facts=tuple(cited[name] for name in ("torch", "jax") if name in cited))
        return None

    @staticmethod
    def _pins(installed: tuple[Installed, ...], matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """Exact pins of torch on NVIDIA's packages that the extra of TensorFlow or JAX excludes."""
        extra = re.search(r"tensorflow\[and-cuda\]|jax\[cuda\w*\]", " ".join((signals.text[:100_000], *commands)))
        torch = named(installed, "torch")
        other = named(installed, "tensorflow" if extra and extra[0].startswith("tensorflow") else "jax")
        if not extra or not torch or not torch.row or not other:
            return None
        pins = {
            asked.name: asked.spec
            for line in torch.row.requires
            if (asked := requirement(line)) and asked.spec.startswith("==")
        }
        rows = [row for row in matrix.builds_of(other.name, other.version) if row.extras]
        for row in rows:
            for asked in filter(None, map(requirement, row.requires)):
                pin = pins.get(asked.name, "") if asked.name.startswith("nvidia-") else ""
                if pin and asked.spec and admits(asked.spec, pin[2:]) is False:
                    detail = f"{torch.label} asks for {asked.name}{pin}, {extra[0]} {other.version} for {asked.spec}."
                    return Found(detail=detail, facts=(torch.fact, other.fact), sources=cite(matrix, torch.row, row))
        return None


class CudaMajorMixedInEnv(Rule):
    """Libraries of two CUDA majors are in one environment.

    Why:
        An extension built for one major cannot use the other's runtime in the same process.
    Fix:
        Reinstall all GPU packages for the same CUDA major.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#pip-wheels
    """

    severity = "warning"
    area = "framework"
    requires = ("frameworks-conflict", "library-mismatch", "library-missing")
    commands = ("pip list | grep -E -- '-cu[0-9]+'",)

    def check(self, packages: Mapping[str, str]) -> Outcome:
        """nvidia-* packages with the suffixes -cu11, -cu12 or -cu13 are installed side by side."""
        majors = {found[1]: name for name in packages if (found := re.fullmatch(r"nvidia-[\w-]+-cu(\d\d)", name))}
        if len(majors) < 2:
            return None
        names = sorted(majors.values())
        return Found(
            detail=f"{' and '.join(names)} are of different CUDA majors.",
            facts=tuple(f"packages.{name}" for name in names),
        )


RULES = family(FrameworksConflict, CudaMajorMixedInEnv)
