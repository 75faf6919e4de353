"""Kernel targets: does the build carry code that this GPU runs. Exact through :func:`compat.targets.kernels_for`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.findings import Evidence, Fix
from compat.rules import remedies
from compat.rules.knowledge import cite, knows, recent, too_old
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import Installed, framework, installed
from compat.targets import Sm, kernels_for, sm

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing

_PLAIN = ("no-kernel-image", "invalid-device-function", "invalid-kernel-image")
"""Messages that say "no code for this GPU" without saying in which program."""


_NAMED = (
    "not-compatible-torch", "torch-supports-list", "torch-cc-list", "ptxas-not-defined", "llvm-unknown-target", "nvrtc-arch",
    "xla-ptxas-arch", "conditional-mma",
)  # fmt: skip
"""Messages that name the device which has no code."""


def _nvidia(gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm]]:
    return [(gpu, device) for gpu in gpus if (device := sm(gpu.target)) is not None]


def _uncovered(host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm, Installed]]:
    """GPUs for which a framework has neither machine code nor PTX."""
    return [
        (gpu, device, item)
        for item in installed(host, matrix)
        if item.kernels and not item.rocm
        for gpu, device in _nvidia(gpus)
        if kernels_for(gpu.target, item.kernels, matrix.families) == "none"
    ]


def _newer(device: Sm, kernels: tuple[str, ...]) -> bool:
    """Whether the device is above the lowest target a build carries: then the build is what is too old."""
    known = [(target.major, target.minor) for text in kernels if (target := sm(text))]
    return not known or (device.major, device.minor) > min(known)


def _span(kernels: tuple[str, ...]) -> str:
    return " ".join(kernels) if len(kernels) <= 12 else f"{kernels[0]} ... {kernels[-1]}"


def _quote(signals: Hearing) -> tuple[Evidence, ...]:
    heard = signals.get(*_PLAIN)
    return (Evidence("error", heard.line, "error text"),) if heard else ()


class ArchTooNewForBuild(Rule):
    """The build has no code for this newer GPU.

    What:
        No machine code of the build runs on the device (same major, minor not above) and no PTX that could be compiled
        for it; the device is newer than what the build was compiled for.
    Why:
        Machine code runs within one major version only; a build without PTX has nothing to run or to translate.
    Fix:
        Install the build made with a CUDA release that knows the GPU, or compile with TORCH_CUDA_ARCH_LIST.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime", "wrong-vendor-build", "jetson-generic-wheel")
    asks = ("gpus", "builds", "packages")
    remedy = Fix("Install a build whose CUDA knows this GPU, or compile it with TORCH_CUDA_ARCH_LIST set to the GPU.")

    def check(self, host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        uncovered = _uncovered(host, matrix, gpus) or _refused(host, matrix, signals, gpus)
        for gpu, device, item in uncovered:
            if _newer(device, item.kernels):
                return self._found(gpu, device, item, host, matrix)
        if uncovered:
            return Fits("")
        if not _nvidia(gpus):
            return None
        return self._by_release(host, matrix, signals, gpus) or self._elsewhere(matrix, signals, gpus) or _all_covered(host, matrix, gpus)

    @staticmethod
    def _found(gpu: Gpu, device: Sm, item: Installed, host: Host, matrix: Matrix) -> Outcome:
        first = matrix.capability(device.capability)
        need = f" CUDA {first.first_cuda} is the first that compiles for {device}." if first else ""
        return Found(
            detail=f"{gpu.name or 'The GPU'} is {device}; {item.label} carries {_span(item.kernels)}.{need}",
            facts=("gpus", item.fact),
            fix=_newer_build(item, device, host, matrix),
            sources=cite(matrix, item.row, first),
        )

    @staticmethod
    def _by_release(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """The CUDA release in use predates the device: certain to lack machine code, and torch carries no PTX for it."""
        told = signals.pointing("arch-too-new-for-build")
        releases = [(item.cuda, item.fact) for item in installed(host, matrix) if item.cuda and not item.kernels and (told or item.name == "torch")]
        releases += [(host["cuda_toolkit"], "cuda_toolkit")] if host["cuda_toolkit"] and told else []
        for cuda, fact in releases:
            for gpu, device in _nvidia(gpus):
                if knows(matrix, cuda, gpu.target) == "too new":
                    detail = f"{gpu.name or 'The GPU'} is {device}, which CUDA {cuda} does not know yet."
                    return Found(detail=detail, facts=("gpus", fact), extra=_quote(signals), confidence="likely")
        return None


    @staticmethod
    def _elsewhere(matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """Code is missing for a GPU that current toolkits compile for: a package is older than the GPU."""
        heard = signals.get(*_PLAIN, *_NAMED)
        new = next(((gpu, device) for gpu, device in _nvidia(gpus) if not too_old(matrix, gpu.target)), None)
        if heard is None and (heard := signals.pointing("arch-too-new-for-build")):
            new = next(((gpu, device) for gpu, device in _nvidia(gpus) if recent(matrix, gpu.target)), None)
        if not heard or not new:
            return None
        gpu, device = new
        detail = f"{heard.signal.meaning} {gpu.name or 'The GPU'} is {device}; a compiled package was made without code for it."
        return Found(detail=detail, facts=("gpus",), confidence="likely")


def _refused(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> list[tuple[Gpu, Sm, Installed]]:
    """GPUs that PyTorch itself names as not covered: it counts machine code only, never PTX."""
    if not signals.get("not-compatible-torch", "torch-supports-list", "torch-cc-list"):
        return []
    torch = framework(host, matrix, "torch")
    if torch is None or not torch.kernels:
        return []
    code = tuple(text for text in torch.kernels if text.startswith("sm_"))
    return [(gpu, device, torch) for gpu, device in _nvidia(gpus) if kernels_for(gpu.target, code, matrix.families) == "none"]


def _newer_build(item: Installed, device: Sm, host: Host, matrix: Matrix) -> Fix:
    """A published build of the same framework that carries code for the device: same release first, then the newest."""
    rows = [row for row in matrix.builds(item.name) if row.runtime.startswith("cuda") and row.local]
    fits = [row for row in rows if kernels_for(f"sm_{device.major}{device.minor}", row.kernels, matrix.families) == "native"]
    same = [row for row in fits if row.version == item.version]
    if not fits or item.name != "torch":
        return ArchTooNewForBuild.remedy
    best = (same or fits)[-1]
    return Fix(
        f"Install {item.name} {best.full_version}, which carries code for {device}.",
        (remedies.torch_index(best.version, best.variant or best.local),),
    )


def _all_covered(host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
    carried = [item for item in installed(host, matrix) if item.kernels and not item.rocm]
    return Fits(f"{carried[0].label} carries code for {', '.join(dict.fromkeys(gpu.target for gpu in gpus))}") if carried else None


class ArchTooOldForBuild(Rule):
    """The build dropped this older GPU.

    What:
        The device is below every target that the build carries, or the program asks for a newer generation.
    Why:
        Vendors remove old architectures: compilers stop targeting them, and wheels drop them to save size.
    Fix:
        Use the build for the oldest CUDA still offered, or an older release of the framework.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#application-compatibility
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime", "wrong-vendor-build")
    asks = ("gpus", "builds", "packages")
    remedy = Fix("Use a build for an older CUDA or an older release of the framework, or a newer GPU.")

    def check(self, host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        uncovered = _uncovered(host, matrix, gpus) or _refused(host, matrix, signals, gpus)
        for gpu, device, item in uncovered:
            if not _newer(device, item.kernels):
                return self._found(gpu, device, item, matrix)
        if uncovered:
            return Fits("")
        return self._by_age(host, matrix, signals, gpus) if _nvidia(gpus) else None

    @staticmethod
    def _found(gpu: Gpu, device: Sm, item: Installed, matrix: Matrix) -> Outcome:
        covering = [
            row
            for row in matrix.builds(item.name)
            if row.local and kernels_for(gpu.target, row.kernels, matrix.families) == "native" and row.runtime.startswith("cuda")
        ]
        same = [row for row in covering if row.version == item.version]
        best = (same or covering)[-1] if covering and item.name == "torch" else None
        fix = None
        if best:
            fix = Fix(f"Install {best.package} {best.full_version}.", (remedies.torch_index(best.version, best.variant or best.local),))
        detail = f"{gpu.name or 'The GPU'} is {device}; {item.label} carries {_span(item.kernels)}."
        return Found(detail=detail, facts=("gpus", item.fact), fix=fix, sources=cite(matrix, item.row, best))

    @staticmethod
    def _by_age(host: Host, matrix: Matrix, signals: Hearing, gpus: tuple[Gpu, ...]) -> Outcome:
        """The CUDA release in use dropped the device, or a message says that code is missing for an old one."""
        for item in installed(host, matrix):
            gone = next((gpu for gpu, _ in _nvidia(gpus) if item.cuda and not item.kernels and knows(matrix, item.cuda, gpu.target) == "too old"), None)
            if gone:
                detail = f"{gone.name or 'The GPU'} is {gone.target}, which CUDA {item.cuda} no longer compiles for."
                return Found(detail=detail, facts=("gpus", item.fact), confidence="likely" if item.inferred else "certain")
        heard = signals.pointing("arch-too-old-for-build")
        if not heard:
            return None
        old = next(((gpu, device) for gpu, device in _nvidia(gpus) if too_old(matrix, gpu.target)), None)
        if all(recent(matrix, gpu.target) for gpu, _ in _nvidia(gpus)) and "arch-too-new-for-build" in heard.signal.candidates:
            return Fits("")
        direct = heard.signal.candidates[0] == "arch-too-old-for-build"
        if not old and not direct:
            return None
        gpu, device = old or _nvidia(gpus)[0]
        item = framework(host, matrix, "torch")
        own = f" {item.label} itself covers it, so the missing code is that of another compiled package." if item and item.kernels else ""
        detail = f"{heard.signal.meaning} {gpu.name or 'The GPU'} is {device}.{own}"
        return Found(detail=detail, facts=("gpus",), confidence="certain" if direct else "likely")


class ExtensionArchMissing(Rule):
    """A compiled extension lacks code for this GPU.

    What:
        A package beside the framework holds machine code, and none of it runs on the device.
    Why:
        The framework may cover the GPU while an add-on, compiled on another machine, does not.
    Fix:
        Reinstall the extension compiled for this GPU.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/utils/cpp_extension.py
    """

    area = "arch"
    vendors = ("nvidia", "amd")
    requires = ("arch-too-new-for-build", "arch-too-old-for-build")
    asks = ("builds", "gpus")
    remedy = Fix("Reinstall the extension compiled for this GPU.", ('TORCH_CUDA_ARCH_LIST="<cc>" pip install --no-build-isolation --force-reinstall <package>',))

    def check(self, builds: dict[str, object], gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        for name, build in builds.items():
            kernels = getattr(build, "kernels", ())
            if name in {"torch", "tensorflow", "jax", "jaxlib", "paddlepaddle-gpu"} or not kernels:
                continue
            for gpu in gpus:
                if gpu.target and kernels_for(gpu.target, kernels, matrix.families) == "none":
                    device = sm(gpu.target)
                    arch = device.capability if device else gpu.target
                    command = f'TORCH_CUDA_ARCH_LIST="{arch}" pip install --no-build-isolation --force-reinstall {name}'
                    return Found(
                        detail=f"{name} carries {_span(kernels)}, none of which runs on {gpu.target}.",
                        facts=(f"builds.{name}", "gpus"),
                        fix=Fix(f"Reinstall {name} compiled for {arch}.", (command,)),
                    )
        return None


class ArchPtxOnly(Rule):
    """The GPU is served by PTX alone: the first start is slow.

    What:
        The build has no machine code for the device, but PTX that the driver compiles at load.
    Why:
        The driver compiles every kernel on first use and keeps the result in a cache, which containers lose.
    Fix:
        Keep the cache on a volume (CUDA_CACHE_PATH), or use a build with native code.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#just-in-time-compilation
    """

    severity = "warning"
    area = "arch"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime",)
    remedy = Fix("Keep the JIT cache, or use a build with native code.", ("export CUDA_CACHE_MAXSIZE=4294967296",))

    def check(self, host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        for item in installed(host, matrix):
            for gpu, device in _nvidia(gpus):
                if item.kernels and not item.rocm and kernels_for(gpu.target, item.kernels, matrix.families) == "ptx":
                    return Found(detail=f"{item.label} has only PTX for {device}.", facts=("gpus", item.fact))
        return None


class ArchSpecificTarget(Rule):
    """Kernels were built for an architecture-specific target that does not match.

    What:
        The only code of the build for this major has the suffix ``a`` (one capability) or ``f`` (one family).
    Why:
        ``sm_90a`` code is bound to exactly that capability; ``f`` targets cover one family.
    Fix:
        Rebuild with the family target, the exact one, or a plain one.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#architecture-specific-features
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("arch-too-new-for-build", "arch-too-old-for-build", "extension-arch-missing")
    asks = ("gpus", "builds")
    remedy = Fix("Rebuild the kernels for this GPU's own target or for a plain one.")

    def check(self, host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        for gpu, device, item in _uncovered(host, matrix, gpus):
            bound = [text for text in item.kernels if (code := sm(text)) and code.suffix and code.major == device.major]
            if bound:
                return Found(detail=f"{item.label} has {_span(tuple(bound))} only, which {gpu.target} does not run.", facts=("gpus", item.fact))
        return None


class ArchIntegratedVsDiscrete(Rule):
    """Code for discrete GPUs does not run on Jetson-class GPUs, nor the reverse.

    What:
        The device is of a Jetson-class capability and the build has only its discrete sibling's code, or the reverse.
    Why:
        Integrated capabilities stand outside the rule that code of one major runs on higher minors.
    Fix:
        Use wheels built for that Jetson, or an arch list that names its capability.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/cuda/__init__.py
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("arch-too-new-for-build", "arch-too-old-for-build", "jetson-generic-wheel")
    asks = ("gpus", "builds")
    remedy = Fix("Use a build that names this GPU's own capability.")

    def check(self, host: Host, matrix: Matrix, gpus: tuple[Gpu, ...]) -> Outcome:
        integrated = matrix.families.integrated
        for gpu, device, item in _uncovered(host, matrix, gpus):
            kin = {text for text in item.kernels if (code := sm(text)) and not code.ptx and code.major == device.major}
            if kin and (gpu.target in integrated) != bool(kin & integrated):
                return Found(detail=f"{gpu.target} and {', '.join(sorted(kin))} are of different classes.", facts=("gpus", item.fact))
        return None


class TritonGpuTooOld(Rule):
    """torch.compile and Triton cannot target this GPU.

    What:
        The device is below compute capability 7.0 and Triton is installed.
    Why:
        Triton generates code for capability 7.0 and later only.
    Fix:
        Run without torch.compile, or with the backend aot_eager.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/_inductor/exc.py
    """

    severity = "warning"
    area = "arch"
    vendors = ("nvidia",)
    requires = ("arch-too-old-for-build",)
    asks = ("gpus", "packages")
    remedy = Fix("Run without torch.compile, or with backend='aot_eager'.")
    _FLOOR = (7, 0)  # torch/_inductor: "too old to be supported by the triton GPU compiler"

    def check(self, packages: dict[str, str], gpus: tuple[Gpu, ...]) -> Outcome:
        old = [gpu for gpu, device in _nvidia(gpus) if (device.major, device.minor) < self._FLOOR]
        if "triton" not in packages or not old:
            return None
        return Found(detail=f"{old[0].name or old[0].target} is below what Triton compiles for.", facts=("gpus", "packages.triton"))


class CudnnDropsGpu(Rule):
    """The bundled cuDNN no longer supports this GPU.

    What:
        The first capability that the cuDNN release serves is above the device's.
    Why:
        cuDNN dropped Maxwell, Pascal and Volta before the frameworks stopped compiling for them.
    Fix:
        Use a framework build whose cuDNN still serves the GPU.
    Sources:
        - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/reference/support-matrix.html
    """

    area = "arch"
    vendors = ("nvidia",)
    requires = ("arch-too-old-for-build",)
    asks = ("cudnn", "gpus")
    remedy = Fix("Use a framework build with an older cuDNN.")

    def check(self, cudnn: str, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        rows = [row for row in matrix.table("cudnn") if row.first_cc and (row.version == cudnn or row.version.startswith(f"{cudnn}."))]
        for row in rows[:1]:
            floor = tuple(int(part) for part in row.first_cc.split("."))
            old = [gpu for gpu, device in _nvidia(gpus) if (device.major, device.minor) < floor]
            if old:
                detail = f"cuDNN {cudnn} starts at capability {row.first_cc}; {old[0].name or 'the GPU'} is {old[0].target}."
                return Found(detail=detail, facts=("cudnn", "gpus"), sources=cite(matrix, row))
        return None


RULES = family(
    ArchTooNewForBuild,
    ArchTooOldForBuild,
    ArchSpecificTarget,
    ArchIntegratedVsDiscrete,
    ArchPtxOnly,
    ExtensionArchMissing,
    CudnnDropsGpu,
    TritonGpuTooOld,
)
