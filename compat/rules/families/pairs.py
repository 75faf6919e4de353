"""Companions of a framework: do they belong to it, and to the interpreter that loads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import compat.joints.packages as joint
from compat.changes import Example, install
from compat.findings import SURENESS
from compat.joints.verdict import FITS, Clash
from compat.reading.message_facts import runtime_of
from compat.rules.lookups import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, Unsure
from compat.rules.stack import Installed, named
from compat.sentences import Sentence
from compat.versions import release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Build, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case
    from compat.rules.together import Pair


class FrameworkPairMismatch(Rule):
    """A companion package does not belong to this framework version.

    Why: Companions link against one exact framework and register their operators when they are imported.
    Fix: Reinstall the framework and its companions in one command, from one index.
    Sources:
        - https://github.com/pytorch/vision#installation
        - https://docs.jax.dev/en/latest/installation.html
    """

    area = "framework"
    requires = ("wrong-vendor-build",)
    asks = ("packages",)
    changes = (Example("pip install --force-reinstall torch torchvision torchaudio --index-url <index of torch>"),)

    def check(
        self, host: Host, pairs: tuple[Pair, ...], cited: Mapping[str, str], matrix: Matrix, signals: Hearing
    ) -> Outcome:
        """One installed package requires another release of a second one, by the matrix or by its own metadata.

        A companion of its framework, a framework of NumPy, or any other two of which one names the other. What itself
        says which torch it was compiled against is judged by that.
        """
        stated = {name for name, build in (host.builds or {}).items() if build.torch}
        tied = [pair for pair in pairs if pair.tied and not pair.right.name.startswith("nvidia-")]
        tied = [pair for pair in tied if pair.right.name != "torch" or pair.left.name not in stated]
        found = min((pair for pair in tied if pair.clash), key=lambda pair: SURENESS[pair.confidence], default=None)
        if found and found.clash:
            left, right = found.left, found.right
            return Found(
                detail=f"{found.clash.why}; {right.name} {right.version} is installed.",
                facts=tuple(cited[one.name] for one in (left, right)),
                confidence=found.confidence,
                sources=cite(matrix, *found.clash.rows),
            )
        open_ = next((pair.open for pair in tied if pair.open), "")
        if not tied or signals.pointing("framework-pair-mismatch"):
            return None
        if open_:
            return Unsure(open_)
        names = list(dict.fromkeys(pair.left.name for pair in tied if matrix.package(pair.right.name)))
        return Fits(Sentence("the installed framework fits {names}", names=", ".join(names[:4])) if names else "")


class FrameworkBuildTagMismatch(Rule):
    """Companions carry different accelerator tags.

    Why: Resolvers ignore local tags when a plain version satisfies the pin, so mixed installs come easily.
    Fix: Reinstall the companions from the index of torch.
    Sources: https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers
    """

    area = "framework"
    requires = ("framework-pair-mismatch", "cpu-only-build")

    def check(self, packages: Mapping[str, str], pairs: tuple[Pair, ...], matrix: Matrix) -> Outcome:
        """The local version tags of torch and its companions differ, as +cu126 and +cpu."""
        own = packages.get("torch", "").partition("+")[2]
        for name, version in packages.items():
            tag = version.partition("+")[2]
            runtime, theirs = runtime_of(tag), runtime_of(own) or own  # the commit of a build from the sources is none
            if own and runtime and isinstance(joint.one_variant(matrix, name, "torch", runtime, theirs), Clash):
                detail = f"torch is +{own}, {name} is +{tag}."
                beside = [pair.clash for pair in pairs if {pair.left.name, pair.right.name} == {"torch", name}]
                sources = tuple(source for one in beside if one for source in cite(matrix, *one.rows))
                return Found(detail=detail, facts=("packages.torch", f"packages.{name}"), sources=sources)
        return None


class NumpyAbiMismatch(Rule):
    """A module was compiled for NumPy 1 and NumPy 2 is installed, or the reverse.

    Why: NumPy's C interface changed incompatibly at 2.0.
    Fix: Install numpy<2, or newer releases of the packages that complain.
    Sources: https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
    """

    area = "python"
    requires = ("framework-pair-mismatch",)
    changes = (install("numpy", "<2"),)

    def check(self, case: Case, packages: Mapping[str, str]) -> Outcome:
        """A compiled package was made against the other NumPy major: a message says so, or what is known of it.

        A framework that asks for the other major is told as framework-pair-mismatch, and this under it.
        """
        asker = next((pair for pair in case.pairs if pair.right.name == "numpy" and pair.clash), None)
        if asker and asker.clash:
            detail = f"{asker.clash.why}; numpy {asker.right.version} is installed."
            facts = (case.cited[asker.left.name], case.cited["numpy"])
            sources = cite(case.matrix, *asker.clash.rows)
            return Found(detail=detail, facts=facts, sources=sources, confidence=asker.confidence)
        version = packages.get("numpy", "")
        if "numpy-abi" not in case.signals or not is_version(version) or release(version)[0] < 2:
            return None
        detail = f"numpy {version} is installed, and a module was compiled for NumPy 1."
        return Found(detail=detail, facts=("packages.numpy",))


class PythonTagMismatch(Rule):
    """A compiled extension is not there for this Python.

    Why: Extension modules are tied to one minor version unless they use the stable ABI.
    Fix: Reinstall the package with this interpreter; never copy site-packages between versions.
    Sources: https://peps.python.org/pep-3149/
    """

    area = "python"
    changes = (Example("python -m pip install --force-reinstall <package>"),)

    def check(self, python: str, builds: Mapping[str, Build]) -> Outcome:
        """An installed build carries the tag of another interpreter."""
        if not is_version(python):
            return None
        own = "cp" + "".join(python.split(".")[:2])
        for name, build in builds.items():
            if re.fullmatch(r"cp\d{2,3}", build.python_tag) and build.python_tag != own:
                detail = f"{name} is built for {build.python_tag}; this is Python {python}."
                return Found(detail=detail, facts=("python", f"builds.{name}"))
        return None


class AbiMismatch(Rule):
    """An extension was compiled against another framework ABI.

    Why: C++ symbols change with the framework's release and with libstdc++'s string ABI, which torch changed between
        releases, per build.
    Fix: Install the wheel for exactly this framework, or rebuild it here. CUDA major, Python and ABI count too.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
        - https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html
    """

    area = "abi"
    requires = ("framework-pair-mismatch", "python-tag-mismatch")
    asks = ("packages",)
    changes = (Example("pip install --no-build-isolation --no-cache-dir --force-reinstall <package>"),)

    def check(self, installed: tuple[Installed, ...], builds: Mapping[str, Build]) -> Outcome:
        """A compiled package asks for a symbol that the installed framework does not have."""
        torch = named(installed, "torch")
        for name, build in builds.items():
            told = torch and is_version(build.torch) and is_version(torch.version)
            if told and torch and joint.loads(build.torch, torch.version) != FITS:
                detail = f"{name} was built for torch {build.torch}; torch {torch.version} is installed."
                return Found(detail=detail, facts=(f"builds.{name}", torch.fact))
            own = builds.get("torch", build)
            if None not in {own.cxx11_abi, build.cxx11_abi} and own.cxx11_abi != build.cxx11_abi:
                detail = f"{name} and torch use different string ABIs of libstdc++."
                return Found(detail=detail, facts=(f"builds.{name}", "builds.torch"))
        return None
