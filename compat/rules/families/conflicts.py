"""Frameworks side by side in one environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.rules.commands as told
import compat.rules.requirements as requirements
from compat.findings import Fix
from compat.rules.knowledge import cite
from compat.rules.rule import Found, Outcome, Rule, family
from compat.rules.stack import framework, packages_of, world

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing


from compat.rules.families.pairs import cited

# Framework -> how people write it.
_SPELLED: Final = {
    "torch": r"\b(?:py)?torch\b",
    "tensorflow": r"(?<!org_tensorflow/)\btensorflow\b",  # jaxlib holds a copy of its sources
    "jax": r"\bjax\b",
    "paddlepaddle": r"\bpaddle(?:paddle)?\b",
}


class FrameworksConflict(Rule):
    """Frameworks in one environment need incompatible CUDA libraries.

    Why:
        torch pins exact versions of the CUDA libraries while jax and TensorFlow ask for a minimum: the last install
        decides who breaks, and in one process the first import does.
    Fix:
        Use an environment or image per framework, or releases whose ranges overlap, or one of them as a CPU build.
    Sources:
        - https://docs.jax.dev/en/latest/installation.html
        - https://packaging.python.org/en/latest/specifications/dependency-specifiers/
    """

    area = "framework"
    asks = ("packages", "package_requires")
    remedy = Fix(
        "Use one environment or image per framework, or releases whose ranges overlap; see `envcheck resolve`."
    )

    def check(
        self, host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
    ) -> Outcome:
        """Two frameworks ask for ranges of the same NVIDIA library that exclude each other.

        Or they load different copies of it into one process.
        """
        clash = self._clash(host) or self._pins(host, matrix, signals, commands)
        if clash:
            return clash
        asked = {*told.requirements(commands), *(asks.name for wish in wishes if (asks := requirements.read(wish)))}
        named = {
            name for name, spelled in _SPELLED.items() if re.search(spelled, signals.text[:100_000], re.IGNORECASE)
        }
        together = sorted((asked | named | packages_of(host).keys()) & {"torch", "tensorflow", "jax", "paddlepaddle"})
        if "resolver-conflict-frameworks" in signals and len(together) > 1:
            return Found(
                detail=f"{' and '.join(together)} exclude each other's CUDA libraries.",
                facts=("packages",) if host.packages else (),
            )
        if len(together) > 1 and "crashed" in signals:
            return Found(
                detail=f"{' and '.join(together)} load their own CUDA libraries into one process.",
                facts=cited(host, *together),
                confidence="possible",
                severity="warning",
            )
        if signals.get("jax-cudnn", "jax-version-built") and "torch" in together:
            return Found(
                detail="torch and jax ask for different CUDA libraries in one environment.",
                facts=cited(host, "torch", "jax"),
            )
        return None

    @staticmethod
    def _clash(host: Host) -> Outcome:
        """An installed NVIDIA library outside what a framework requires of it."""
        packages = packages_of(host)
        for name, lines in (host.package_requires or {}).items():
            for asked, there in requirements.broken(lines, packages, world(host)):
                if asked.name.startswith("nvidia-"):
                    detail = f"{name} asks for {asked.name}{asked.specifier}; {there} is installed."
                    return Found(detail=detail, facts=(f"package_requires.{name}", *cited(host, asked.name)))
        return None

    @staticmethod
    def _pins(host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """Exact pins of torch on NVIDIA's packages that the extra of TensorFlow or JAX excludes."""
        extra = re.search(r"tensorflow\[and-cuda\]|jax\[cuda\w*\]", " ".join((signals.text[:100_000], *commands)))
        torch = framework(host, matrix, "torch")
        other = framework(host, matrix, "tensorflow" if extra and extra[0].startswith("tensorflow") else "jax")
        if not extra or not torch or not torch.row or not other:
            return None
        pins = {
            asked.name: asked.specifier
            for line in torch.row.requires
            if (asked := requirements.read(line)) and asked.specifier.startswith("==")
        }
        rows = [row for row in matrix.builds_of(other.name, other.version) if row.extras]
        for row in rows:
            for asked in filter(None, map(requirements.read, row.requires)):
                pin = pins.get(asked.name, "") if asked.name.startswith("nvidia-") else ""
                if pin and asked.specifier and requirements.admits(asked.specifier, pin[2:]) is False:
                    detail = (
                        f"{torch.label} asks for {asked.name}{pin}, {extra[0]} {other.version} for {asked.specifier}."
                    )
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
    asks = ("packages",)
    remedy = Fix("Reinstall all GPU packages for the same CUDA major.", ("pip list | grep -E -- '-cu[0-9]+'",))

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
