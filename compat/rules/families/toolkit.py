"""The CUDA toolkit: where it is, whether it knows the device and the framework, and the host's compilers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.toolkit as joint
import compat.reading.commands as commanded
from compat import versions
from compat.changes import Example, System, Variable, install
from compat.findings import Fix, Severity
from compat.joints.verdict import FITS, Clash
from compat.rules.families.arch_age import dropped
from compat.rules.lookups import cite, is_version, knows
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, Rule, assumed, told
from compat.rules.stack import Installed, named
from compat.sentences import Sentence
from compat.targets import sm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case


class ToolkitMissing(Rule):
    """No CUDA toolkit is found for building extensions.

    Why: Running needs the runtime libraries only, which wheels bring; compiling needs headers and nvcc.
    Fix: Use a devel image, or install the CUDA toolkit of the framework's CUDA release.
    Sources: https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    requires = ("image-runtime-not-devel",)
    asks = ("cuda_toolkit", "env")
    changes = (System("cuda-toolkit"),)

    def check(self, case: Case) -> Outcome:
        """Something is compiled and there is neither nvcc on PATH nor CUDA_HOME."""
        if not case.host.absent("cuda_toolkit") or not compiling(case.signals, case.commands):
            return None
        torch = next((item for item in case.installed if item.cuda), None)
        return Found(detail="No nvcc is on PATH.", facts=("cuda_toolkit",), fix=_toolkit(torch))


def _toolkit(torch: Installed | None) -> Fix:
    """The toolkit of torch's own CUDA release, whose package is named after it; any toolkit where that is unknown."""
    if torch is None or "." not in torch.cuda:
        return Fix("Install a CUDA toolkit.", changes=(System("cuda-toolkit-any"),))
    release = torch.cuda.replace(".", "-")
    return Fix(f"Install cuda-toolkit-{release}.", changes=(System("cuda-toolkit", release=release),))


class CudaHomeBroken(Rule):
    """CUDA_HOME or a sibling names a folder that holds no toolkit.

    Why: It takes precedence over PATH when extensions are built.
    Fix: Correct or unset CUDA_HOME.
    Sources: https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    severity = "warning"
    area = "env"
    requires = ("toolkit-missing", "toolkit-mismatch-extension")
    changes = (Variable("CUDA_HOME"),)

    def check(self, env: Mapping[str, str], cuda_toolkits: Mapping[str, str]) -> Outcome:
        """The variable is set, and no toolkit was found in that folder."""
        for name in ("CUDA_HOME", "CUDA_PATH"):
            folder = _plain(env.get(name, ""))
            if folder and folder not in {_plain(known) for known in cuda_toolkits}:
                fix = Fix(f"Correct or unset {name}.", changes=(Variable(name),))
                detail = f"{name} is {folder}, where no toolkit was found."
                return Found(detail=detail, facts=(f"env.{name}", "cuda_toolkits"), fix=fix)
        return None


def _plain(folder: str) -> str:
    """A folder in one spelling: Windows writes either slash, and does not tell capitals from small letters."""
    slashed = folder.replace("\\", "/").rstrip("/")
    return slashed.lower() if slashed[1:2] == ":" else slashed


_COMPILING: Final = (
    "toolkit-mismatch-extension", "toolkit-too-old-for-arch", "host-compiler-unsupported", "toolkit-missing",
    "build-tools-missing",
)  # fmt: skip


def compiling(signals: Hearing, commands: tuple[str, ...]) -> bool:
    """Whether GPU code is compiled here: a command does it, or a message is a compiler's."""
    return commanded.compiles(commands) or any(signals.pointing(code) for code in _COMPILING)


class ToolkitTooOldForArch(NvidiaRule):
    """nvcc does not know the GPU's architecture.

    Why: Each toolkit compiles for a fixed list of targets; new ones come and old ones go.
    Fix: Install a toolkit that has the target, or name a lower one with PTX. TORCH_CUDA_ARCH_LIST names it.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-feature-list
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    asks = ("cuda_toolkit", "gpus")
    changes = (Variable("TORCH_CUDA_ARCH_LIST", "8.0+PTX"),)

    def check(self, case: Case, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """The toolkit is older than the device's architecture, or so new that it dropped it.

        A target that a message names and that toolkits gave up is the target's fault: it is too old.
        """
        if "nvcc-unsupported-arch" in signals and dropped(matrix, signals.value("arch"), host.cuda_toolkit):
            return Fits("")
        if host.cuda_toolkit is None or not is_version(host.cuda_toolkit):
            return None
        at_work = compiling(signals, case.commands) or bool(signals.pointing("toolkit-too-old-for-arch"))
        torch = {"torch"} >= {item.name for item in case.installed}  # whose build helper alone reads the list
        own = torch and knows(matrix, host.cuda_toolkit, "sm_80") == "known"
        named = [signals.value("arch"), *re.split(r"[\s;,]+", (host.env or {}).get("TORCH_CUDA_ARCH_LIST", ""))]
        asked = {str(device).replace("compute", "sm") for text in named if (device := sm(text))}
        for target in (*asked, *(gpu.target for gpu in (host.gpus or ()) if gpu.target)):
            found = joint.verdict(matrix, host.cuda_toolkit, target)
            if isinstance(found, Clash):
                return Found(
                    detail=f"{found.why}; the toolkit here is {host.cuda_toolkit}.",
                    facts=("cuda_toolkit", *(("gpus",) if (host.gpus or ()) else ())),
                    sources=cite(matrix, *found.rows),
                    severity=None if at_work else "info",
                    fix=None if own else Fix("Take a toolkit that has the target, where you compile for it."),
                )
        return None


class ToolkitMismatchExtension(NvidiaRule):
    """nvcc and the framework are of different CUDA majors.

    Why: The extension would link one runtime and torch another; torch's build helper refuses that.
    Fix: Point CUDA_HOME to a toolkit of torch's CUDA major. Or take the matching devel image.
    Sources: https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    asks = ("builds",)
    changes = (Example("export CUDA_HOME=/usr/local/cuda-<version>"),)

    def check(self, case: Case, cuda_toolkit: str) -> Outcome:
        """An extension is compiled with a toolkit whose CUDA major is not that of the installed torch.

        Of a torch whose build is not known it is likely where no build of its release is of that major.
        """
        signals = case.signals
        torch = named(case.installed, "torch")
        if not torch or not is_version(torch.cuda) or not is_version(cuda_toolkit):
            return None
        judged = joint.extends(torch.label, f"cuda{torch.cuda}", cuda_toolkit, *([torch.row] if torch.row else []))
        if not isinstance(judged, Clash):
            if not signals.get("detected-cuda-mismatch", "detected-cuda-mismatch-short"):
                return Fits(Sentence("CUDA toolkit {version} is of torch's CUDA major", version=cuda_toolkit))
            # majors agree and a program still complained: it wants the minors alike
            built = f"torch is built with CUDA {torch.cuda}, and this program wants them alike"
            found = Found(detail=f"nvcc is CUDA {cuda_toolkit}, {built}.", facts=("cuda_toolkit", "builds"))
            return None if versions.same_series(cuda_toolkit, torch.cuda) else found
        fix = Fix(f"Build with CUDA {torch.cuda}.", changes=(Variable("CUDA_HOME", f"/usr/local/cuda-{torch.cuda}"),))
        detail = f"nvcc is CUDA {cuda_toolkit}, torch is built with CUDA {torch.cuda}."
        loading = "pair-undefined-torch" in signals and torch.inferred  # a ready-made extension that does not load
        told_so = (compiling(signals, case.commands) and not loading) or bool(signals.get("detected-mismatch-ext"))
        sources = cite(case.matrix, *judged.rows)
        found = Found(detail=detail, facts=("cuda_toolkit", torch.fact), fix=fix, sources=sources)
        if torch.inferred:
            runtimes = {one.runtime for one in case.matrix.builds_of("torch", torch.version)}
            cudas = [one for one in runtimes if one.startswith("cuda")]
            if not cudas or any(joint.extends("", one, cuda_toolkit) == FITS for one in cudas):
                found = assumed(found)
            else:
                detail = f"nvcc is CUDA {cuda_toolkit}, and no build of torch {torch.version} is of that major."
                found = replace(found, detail=detail, confidence="likely")
        return found if told_so else replace(found, severity="info")


class HostCompilerUnsupported(NvidiaRule):
    """The host compiler is outside the range that nvcc accepts.

    Why: The limit is compiled into crt/host_config.h, because nvcc must parse the compiler's own headers.
    Fix: Install an older g++ and name it to nvcc. CC, CXX and CUDAHOSTCXX name it, or nvcc -ccbin.
    Sources: https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
    """

    area = "toolkit"
    asks = ("cuda_toolkit",)
    changes = (System("host-compiler"),)

    def check(self, host: Host, gcc: str, matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        """Gcc or clang is above the highest version that the toolkit's headers accept, or below the lowest."""
        if not is_version(gcc):
            return None
        limit = signals.value("gcc_max")
        found = joint.host_compiler(matrix, host.cuda_toolkit or "", gcc, limit if is_version(limit) else "")
        if found == FITS:
            return Fits(Sentence("gcc {version} is accepted by the CUDA toolkit", version=gcc))
        if not isinstance(found, Clash):
            return None
        # an error where GPU code is compiled, a warning where some build failed
        mild: Severity = "warning" if "extension-build-failed" in signals else "info"
        return Found(
            detail=f"{found.why}.",
            facts=told(gcc=gcc, cuda_toolkit=host.cuda_toolkit),
            fix=Fix(f"Use g++ {found.wants}.", changes=(System("host-compiler", major=found.wants),)),
            sources=cite(matrix, *found.rows),
            severity=None if compiling(signals, commands) else mild,
        )


class BuildToolsMissing(Rule):
    """What the build of an extension needs is missing.

    Why: Triton and DeepSpeed compile small host programs at first use, even in inference images.
    Fix: Install ninja, a compiler and the headers of Python.
    Sources: https://github.com/deepspeedai/DeepSpeed/blob/HEAD/deepspeed/env_report.py
    """

    severity = "info"
    area = "toolkit"
    asks = ("gcc", "ninja")
    changes = (install("ninja"), System("build-tools"))

    def check(self, host: Host, signals: Hearing, distributions: Mapping[str, str]) -> Outcome:
        """A build stopped because a tool is missing, or nothing compiles for a package that does so at run time."""
        told = signals.get("build-isolation", "uv-build-isolation") or signals.pointing("build-tools-missing")
        if told and told.signal.signal != "build-tools" and len(told.signal.candidates) == 1:
            return Found(detail=told.signal.meaning, severity="error")
        heard = signals.get("build-tools")
        compilers = sorted({"triton", "deepspeed"} & distributions.keys())
        if not heard and not (host.absent("gcc") and host.absent("clang") and compilers):
            return None
        who = f"{compilers[0]} compiles at first use, and no" if compilers else "No"
        return Found(
            detail=f"{who} compiler is found.",
            facts=("gcc",) if host.gcc or host.absent("gcc") else (),
            severity="error" if heard else None,
        )
