"""Library copies that will hurt sooner or later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Library
    from compat.matrix import Matrix
    from compat.rules.stack import Installed


class LdLibraryPathShadow(Rule):
    """LD_LIBRARY_PATH has CUDA folders although the wheels bundle CUDA.

    Why:
        Even a compatible copy of today becomes a mismatch after the next upgrade of either side.
    Fix:
        Unset LD_LIBRARY_PATH, or keep only the driver's folders.
    Sources:
        - https://docs.jax.dev/en/latest/installation.html
    """

    severity = "warning"
    area = "libraries"
    vendors = ("nvidia",)
    requires = (
        "library-mismatch",
        "library-missing",
        "jax-plugin-init-failed",
        "frameworks-conflict",
        "driver-stub-loaded",
    )
    commands = ("unset LD_LIBRARY_PATH",)

    def check(self, env: Mapping[str, str], installed: tuple[Installed, ...]) -> Outcome:
        """The variable names a folder of a CUDA toolkit, and an installed framework brings its own CUDA libraries."""
        path = env.get("LD_LIBRARY_PATH", "")
        folders = [
            part for part in path.split(":") if re.search(r"/cuda(?:[-/]|$)|cudnn|nccl", part) and "compat" not in part
        ]
        bundled = [item for item in installed if item.cuda and item.row and item.row.cuda_from in {"wheel", "packages"}]
        if not folders or not bundled:
            return None
        return Found(
            detail=f"{folders[0]} stands before the libraries of {bundled[0].label}.",
            facts=("env.LD_LIBRARY_PATH", bundled[0].fact),
        )


class NcclVersionMixed(Rule):
    """Two NCCL versions can be loaded.

    Why:
        The first library loaded serves everybody in the process.
    Fix:
        Keep one nvidia-nccl package, and remove the system's libnccl2.
    Sources:
        - https://github.com/NVIDIA/nccl/blob/HEAD/src/init.cc
    """

    severity = "warning"
    area = "libraries"
    requires = ("library-mismatch",)
    asks = ("packages",)
    commands = ("pip list | grep nccl", "ldconfig -p | grep libnccl", "unset LD_LIBRARY_PATH")

    def check(self, libraries: tuple[Library, ...]) -> Outcome:
        """libnccl.so.2 of more than one version can be loaded in one environment."""
        found = sorted(
            {item.version for item in libraries if item.name.startswith(("libnccl", "librccl")) and item.version}
        )
        return Found(detail=f"NCCL {' and '.join(found)} can be loaded.") if len(found) > 1 else None


class LibraryKnownBad(Rule):
    """A library version with a known defect is installed.

    Why:
        JAX carries these versions as start-up checks; one of them breaks binary compatibility.
    Fix:
        Upgrade cuDNN.
    Sources:
        - https://github.com/jax-ml/jax/blob/HEAD/jax_plugins/cuda/__init__.py
    """

    severity = "warning"
    area = "libraries"
    vendors = ("nvidia",)
    commands = ("pip install --upgrade nvidia-cudnn-cu12",)

    def check(self, cudnn: str, matrix: Matrix) -> Outcome:
        """The installed cuDNN is one that its users start with a warning about."""
        rows = [row for row in matrix.table("cudnn") if row.version == cudnn or row.version.startswith(f"{cudnn}.")]
        bad = [row for row in rows if "known defect: " in row.note]
        if not bad or len(bad) < len(rows):  # of a number cut short only some releases may be meant
            return None
        defect = bad[0].note.partition("known defect: ")[2]
        return Found(detail=f"cuDNN {cudnn} {defect}.", sources=(matrix.cite(bad[0]),))


RULES = family(LdLibraryPathShadow, NcclVersionMixed, LibraryKnownBad)
