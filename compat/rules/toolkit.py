"""The CUDA toolkit on disk: does it fit the framework, the device and the host's compiler when something is compiled."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.findings import Fix
from compat.rules import commands as told
from compat.rules import remedies
from compat.rules.knowledge import cite, is_version, knows
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import framework, installed, packages_of
from compat.targets import sm

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing

_COMPILING: Final = ("toolkit-mismatch-extension", "toolkit-too-old-for-arch", "host-compiler-unsupported", "toolkit-missing", "build-tools-missing")


def compiling(signals: Hearing, commands: tuple[str, ...]) -> bool:
    """Whether GPU code is compiled here: a command does it, or a message is a compiler's."""
    return told.compiles(commands) or any(signals.pointing(code) for code in _COMPILING)


class ToolkitMismatchExtension(Rule):
    """nvcc and the framework are of different CUDA majors.

    What:
        An extension is compiled with a toolkit whose CUDA major is not that of the installed torch.
    Why:
        The extension would link one runtime and torch another; torch's build helper refuses that.
    Fix:
        Point CUDA_HOME to a toolkit of the same major, or take the matching devel image.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    vendors = ("nvidia",)
    asks = ("cuda_toolkit", "builds")
    remedy = Fix("Point CUDA_HOME to a toolkit of torch's CUDA major.", ("export CUDA_HOME=/usr/local/cuda-<version>",))

    def check(self, cuda_toolkit: str, host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        torch = framework(host, matrix, "torch")
        if not torch or not is_version(torch.cuda) or not is_version(cuda_toolkit):
            return None
        if versions.major(cuda_toolkit) == versions.major(torch.cuda):
            return Fits(f"CUDA toolkit {cuda_toolkit} is of torch's CUDA major") if not signals.get("detected-cuda-mismatch", "detected-cuda-mismatch-short") else self._minor(cuda_toolkit, torch.cuda)
        fix = Fix(f"Build with CUDA {torch.cuda}.", (f"export CUDA_HOME=/usr/local/cuda-{torch.cuda}",))
        detail = f"nvcc is CUDA {cuda_toolkit}, torch is built with CUDA {torch.cuda}."
        told_so = compiling(signals, commands)
        return Found(detail=detail, facts=("cuda_toolkit", torch.fact), fix=fix, severity=None if told_so else "info")

    @staticmethod
    def _minor(toolkit: str, cuda: str) -> Outcome:
        if versions.same_series(toolkit, cuda):
            return None
        return Found(detail=f"nvcc is CUDA {toolkit}, torch is built with CUDA {cuda}, and this program wants them alike.")


class ToolkitTooOldForArch(Rule):
    """nvcc does not know the GPU's architecture.

    What:
        The toolkit is older than the device's architecture, or so new that it dropped it.
    Why:
        Each toolkit compiles for a fixed list of targets; new ones come and old ones go.
    Fix:
        Install a toolkit that has the target, or name a lower one with PTX in TORCH_CUDA_ARCH_LIST.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#gpu-feature-list
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    vendors = ("nvidia",)
    asks = ("cuda_toolkit", "gpus")
    remedy = Fix("Install a toolkit that has the target, or name a lower one with PTX.", ('export TORCH_CUDA_ARCH_LIST="8.0+PTX"',))

    def check(
        self,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        cuda_toolkit: str,
        gpus: tuple[Gpu, ...] = (),
        env: dict[str, str] | None = None,
    ) -> Outcome:
        if not is_version(cuda_toolkit):
            return None
        at_work = compiling(signals, commands) or bool(signals.pointing("toolkit-too-old-for-arch"))
        named = [signals.value("arch"), *re.split(r"[\s;,]+", (env or {}).get("TORCH_CUDA_ARCH_LIST", ""))]
        asked = {str(device).replace("compute", "sm") for text in named if (device := sm(text))}
        for target in (*asked, *(gpu.target for gpu in gpus if gpu.target)):
            stand = knows(matrix, cuda_toolkit, target)
            if stand in {"too new", "too old"}:
                device = sm(target)
                row = matrix.capability(device.capability) if device else None
                verb = f"first compiled by CUDA {row.first_cuda}" if row and stand == "too new" else f"last compiled by CUDA {row.last_cuda if row else ''}"
                detail = f"CUDA toolkit {cuda_toolkit} has no target {target}, which is {verb}."
                facts = ("cuda_toolkit", *(("gpus",) if gpus else ()))
                return Found(detail=detail, facts=facts, sources=cite(matrix, row), severity=None if at_work else "info")
        return None


class HostCompilerUnsupported(Rule):
    """The host compiler is outside the range that nvcc accepts.

    What:
        gcc or clang is above the highest version that the toolkit's headers accept, or below the lowest.
    Why:
        The limit is compiled into crt/host_config.h, because nvcc must parse the compiler's own headers.
    Fix:
        Install an older g++ and name it: CC, CXX and CUDAHOSTCXX, or nvcc -ccbin.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy
    """

    area = "toolkit"
    vendors = ("nvidia",)
    asks = ("gcc", "cuda_toolkit")
    remedy = Fix("Install an older g++ and name it to nvcc.", ("export CC=gcc-<major> CXX=g++-<major> CUDAHOSTCXX=g++-<major>",))

    def check(self, gcc: str, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], host: Host, cuda_toolkit: str | None = None) -> Outcome:
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
        commands_ = (*remedies.install(host, f"g++-{best}"), f"export CC=gcc-{best} CXX=g++-{best} CUDAHOSTCXX=g++-{best}")
        detail = f"gcc is {gcc}; the toolkit accepts gcc up to {best}."
        return Found(detail=detail, facts=("gcc", *(("cuda_toolkit",) if cuda_toolkit else ())), fix=Fix(f"Use g++ {best}.", commands_), sources=cite(matrix, row), severity=None if compiling(signals, commands) else "info")


class ToolkitMissing(Rule):
    """No CUDA toolkit is found for building extensions.

    What:
        Something is compiled and there is neither nvcc on PATH nor CUDA_HOME.
    Why:
        Running needs the runtime libraries only, which wheels bring; compiling needs headers and nvcc.
    Fix:
        Use a devel image, or install the toolkit of torch's CUDA.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "toolkit"
    severity = "error"
    requires = ("image-runtime-not-devel",)
    asks = ("cuda_toolkit", "env")
    remedy = Fix("Use a devel image, or install the CUDA toolkit of the framework's CUDA release.")

    def check(self, host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...]) -> Outcome:
        if not host.absent("cuda_toolkit") or not compiling(signals, commands):
            return None
        torch = next((item for item in installed(host, matrix) if item.cuda), None)
        name = f"cuda-toolkit-{torch.cuda.replace('.', '-')}" if torch and "." in torch.cuda else "nvidia-cuda-toolkit"
        return Found(detail="No nvcc is on PATH.", facts=("cuda_toolkit",), fix=Fix(f"Install {name}.", remedies.install(host, name)))


class BuildToolsMissing(Rule):
    """Tools for just-in-time builds of extensions are missing.

    What:
        No compiler or no ninja is on PATH, and a package that compiles at run time is installed.
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
    remedy = Fix("Install ninja, a compiler and the headers of Python.", ("pip install ninja", "sudo apt install build-essential python3-dev"))

    def check(self, host: Host, signals: Hearing) -> Outcome:
        heard = signals.get("build-tools")
        compilers = sorted({"triton", "deepspeed"} & packages_of(host).keys())
        if not heard and not (host.absent("gcc") and host.absent("clang") and compilers):
            return None
        who = f"{compilers[0]} compiles at first use, and no" if compilers else "No"
        return Found(detail=f"{who} compiler is found.", facts=("gcc",) if host.known("gcc") else (), severity="error" if heard else None)


class CudaHomeBroken(Rule):
    """CUDA_HOME or a sibling names a folder that holds no toolkit.

    What:
        The variable is set, and no toolkit was found in that folder.
    Why:
        It takes precedence over PATH when extensions are built.
    Fix:
        Correct or unset the variable.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    severity = "warning"
    area = "env"
    requires = ("toolkit-missing", "toolkit-mismatch-extension")
    asks = ("env", "cuda_toolkits")
    remedy = Fix("Correct or unset CUDA_HOME.", ("unset CUDA_HOME",))

    def check(self, env: dict[str, str], cuda_toolkits: dict[str, str]) -> Outcome:
        for name in ("CUDA_HOME", "CUDA_PATH"):
            folder = env.get(name, "").rstrip("/")
            if folder and folder not in {known.rstrip("/") for known in cuda_toolkits}:
                fix = Fix(f"Correct or unset {name}.", (f"unset {name}",))
                return Found(detail=f"{name} is {folder}, where no toolkit was found.", facts=(f"env.{name}", "cuda_toolkits"), fix=fix)
        return None


RULES = family(
    ToolkitMissing, CudaHomeBroken, ToolkitTooOldForArch, ToolkitMismatchExtension, HostCompilerUnsupported, BuildToolsMissing
)
