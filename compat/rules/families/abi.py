"""Compiled packages against the interpreter and the framework they load into."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.rules.knowledge import is_version
from compat.rules.rule import Found, Outcome, Rule, family
from compat.rules.stack import named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Build
    from compat.rules.stack import Installed


def _one_series(version: str, built: str) -> bool:
    """Whether two releases agree in major and minor, as far as both say: torch keeps its ABI within a minor at most."""
    parts = (text.partition("+")[0].split(".")[:2] for text in (version, built))
    return all(left == right for left, right in zip(*parts, strict=False))


class AbiMismatch(Rule):
    """An extension was compiled against another framework ABI.

    Why:
        C++ symbols change with the framework's release and with libstdc++'s string ABI, which torch changed
        between releases, per build.
    Fix:
        Install the wheel for exactly this framework, or rebuild it here. CUDA major, Python and ABI count too.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
        - https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
    """

    area = "abi"
    requires = ("framework-pair-mismatch", "python-tag-mismatch")
    asks = ("packages",)
    commands = ("pip install --no-build-isolation --no-cache-dir --force-reinstall <package>",)
    _EXTENSIONS: Final = (
        "flash-attn",
        "xformers",
        "vllm",
        "mmcv-full",
        "mmcv",
        "detectron2",
        "apex",
        "deepspeed",
        "torch-scatter",
        "torch-sparse",
        "causal-conv1d",
        "mamba-ssm",
    )

    def check(self, installed: tuple[Installed, ...], builds: Mapping[str, Build]) -> Outcome:
        """A compiled package asks for a symbol that the installed framework does not have."""
        torch = named(installed, "torch")
        for name, build in builds.items():
            if torch and build.torch and torch.version and not _one_series(torch.version, build.torch):
                return Found(
                    detail=f"{name} was built for torch {build.torch}; torch {torch.version} is installed.",
                    facts=(f"builds.{name}", torch.fact),
                )
            own = builds.get("torch")
            if (
                own
                and name != "torch"
                and None not in {own.cxx11_abi, build.cxx11_abi}
                and own.cxx11_abi != build.cxx11_abi
            ):
                return Found(
                    detail=f"{name} and torch use different string ABIs of libstdc++.",
                    facts=(f"builds.{name}", "builds.torch"),
                )
        return None


class PythonTagMismatch(Rule):
    """A compiled extension is for another Python version.

    Why:
        Extension modules are tied to one minor version unless they use the stable ABI.
    Fix:
        Reinstall the package with this interpreter; never copy site-packages between versions.
    Sources:
        - https://peps.python.org/pep-3149/
    """

    area = "python"
    commands = ("python -m pip install --force-reinstall <package>",)

    def check(self, python: str, builds: Mapping[str, Build]) -> Outcome:
        """An installed build carries the tag of another interpreter."""
        if not is_version(python):
            return None
        own = "cp" + "".join(python.split(".")[:2])
        for name, build in builds.items():
            tag = getattr(build, "python_tag", "")
            if re.fullmatch(r"cp\d{2,3}", tag) and tag != own:
                return Found(
                    detail=f"{name} is built for {tag}; this is Python {python}.", facts=("python", f"builds.{name}")
                )
        return None


RULES = family(PythonTagMismatch, AbiMismatch)
