"""The framework's build: does it have GPU code at all, and for the right vendor."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.kernels as joint
from compat.changes import Command, Uninstall, install
from compat.findings import Fix
from compat.joints.build import is_maker_unseen
from compat.joints.platform import is_at
from compat.joints.verdict import FITS, Clash, Unknown, Verdict, any_of
from compat.rules.lookups import cite
from compat.rules.rule import Fits, Found, Outcome, Rule, Unsure, assumed, told
from compat.rules.stack import FRAMEWORKS, PLUGIN, Installed, canonical, is_unnamed, is_whole
from compat.rules.together import clashing
from compat.sentences import Sentence

if TYPE_CHECKING:
    from compat.facts import Gpu
    from compat.joints.build import Part
    from compat.reading.messages import Heard, Hearing
    from compat.rules.case import Case

# Programs with GPU builds of their own, which say nothing about another one's build.
_OTHERS: Final = (
    "tensorflow", "keras", "jax", "onnx", "paddle", "bitsandbytes", "llama", "faiss", "dgl", "mxnet", "cupy", "numba",
    "xgboost", "lightgbm", "opencv", "ctranslate", "whisper", "decord", "ffmpeg",
)  # fmt: skip


_BNB: Final = Fix(
    "Install a bitsandbytes with ROCm libraries, or compile it for this GPU.",
    changes=(install("bitsandbytes", upgrade=True), Command("cmake -DCOMPUTE_BACKEND=hip -S . && make")),
)


_GPU_VENDORS: Final = ("nvidia", "amd", "intel")


def usable(gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """GPUs that a framework could use: a vendor's discrete or integrated GPU, virtual and unknown ones left out."""
    return tuple(gpu for gpu in gpus if gpu.vendor in _GPU_VENDORS and not _is_display_only(gpu))


def _is_display_only(gpu: Gpu) -> bool:
    """Whether it is one of Intel's integrated GPUs, which frameworks use on request only."""
    return gpu.vendor == "intel" and not re.search(r"arc|max|flex|battlemage|b[56]\d\d", gpu.name.lower())


class WrongVendorBuild(Rule):
    """The framework was built for another vendor than the GPU in the machine.

    Why: The default index gives the CUDA build on Linux, so AMD users get it unless they name the index; and installers
        that see an integrated AMD GPU pick ROCm although an NVIDIA card is present.
    Fix: Reinstall the framework from the index of the GPU's vendor: whl/cuNNN, whl/rocmX.Y or whl/xpu.
    Sources: https://pytorch.org/get-started/locally/
    """

    area = "framework"
    asks = ("gpus", "packages", "builds")
    _SPEAKS: Final = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}

    def check(self, case: Case) -> Outcome:
        """The GPU is NVIDIA's and the build is for ROCm or XPU, or the GPU is AMD's and the build is for CUDA."""
        host, signals = case.host, case.signals
        if case.device_free:
            return Fits("")
        cards = usable(host.gpus or ())
        makers = {gpu.vendor for gpu in cards}
        open_: Outcome = None
        for item in case.installed:
            speaks = next((vendor for kind, vendor in self._SPEAKS.items() if item.runtime.startswith(kind)), "")
            if speaks and makers and speaks not in makers:
                shown = cards[0].name or cards[0].vendor
                detail = f"{item.label} is built for {speaks}, the GPU is {shown}."
                found = Found(detail=detail, facts=("gpus", item.fact), sources=cite(case.matrix, item.row))
                if not item.inferred or self._blind(signals):
                    return found
                # what an extra brings is not there for sure, and HIP's errors are those of a ROCm build
                if item.row and not (item.row.extras or (speaks == "nvidia" and _is_hip(signals))):
                    open_ = open_ or assumed(found)
            if (
                speaks == "amd"
                and not makers
                and signals.saying("no-gpu-seen", "no-gpu-vague")
                and not (host.rocm or host.amdgpu or host.hip)
            ):
                detail = f"{item.label} is built for AMD, and nothing on the machine is known to be AMD's."
                return Found(detail=detail, facts=(item.fact,), confidence="likely")
            if speaks and not item.inferred and (speaks in makers or (speaks == "nvidia" and host.driver)):
                return self._beside(case, cards) or Fits("")
        return self._beside(case, cards) or self._by_message(case, cards) or open_

    @staticmethod
    def _beside(case: Case, cards: tuple[Gpu, ...]) -> Outcome:
        """A package beside the framework, all of whose builds are for GPUs of another vendor; it may be unused."""

        def judge(part: Part) -> Verdict:
            strange = part.vendor in _GPU_VENDORS and cards
            found = any_of(joint.verdict(case.matrix, gpu.vendor, "", part.build) for gpu in cards) if strange else FITS
            if isinstance(found, Clash) and is_maker_unseen(case.matrix, part.build):
                return Unknown(found.why, found.rows, found)
            return found

        shown = f"the GPU is {cards[0].name or cards[0].vendor}" if cards else ""
        rest = (item for item in case.here if canonical(item.release.name) not in FRAMEWORKS)
        found = clashing(rest, judge, case.matrix, this=shown, facts=("gpus",))
        return replace(found, severity="warning") if found else None

    @staticmethod
    def _by_message(case: Case, cards: tuple[Gpu, ...]) -> Outcome:
        """A message that only CUDA builds print, on a machine whose GPUs are all of other vendors."""
        if case.vendors == {"amd"} and case.signals.saying("cuda-alone"):
            detail = "bitsandbytes loaded no library for ROCm: this release looks for CUDA, and the GPU is AMD's."
            return Found(detail=detail, facts=("gpus",) if cards else ("rocm",), confidence="likely", fix=_BNB)
        ours = not cards or "nvidia" in {gpu.vendor for gpu in cards} or case.host.driver
        if ours or not case.signals.get("found-no-driver", "count-not-supported"):
            return None
        shown = cards[0].name or cards[0].vendor
        detail = f"The build asks for an NVIDIA driver, so it is a CUDA build; the GPU is {shown}."
        return Found(detail=detail, facts=("gpus",), confidence="likely")

    @staticmethod
    def _blind(signals: Hearing) -> bool:
        """Whether the framework merely sees no GPU, and no ROCm program has spoken."""
        return not _is_hip(signals) and bool(signals.saying("no-gpu-seen") or "vllm-no-device" in signals)


def _is_hip(signals: Hearing) -> bool:
    """Whether a program of ROCm has spoken."""
    return any(item.signal.program in {"hip", "hsa", "rocblas", "rocminfo", "rccl"} for item in signals)


class CpuOnlyBuild(Rule):
    """A CPU-only framework build on a machine with a GPU.

    Why: The package imports and computes, only slowly, and no framework's own check fails for it. Resolvers fall back
        to CPU wheels when the index has nothing that fits the Python or platform.
    Fix: Reinstall the framework from the accelerator's index.
    Sources:
        - https://pytorch.org/get-started/locally/
        - https://docs.jax.dev/en/latest/installation.html
    """

    area = "framework"
    requires = ("wrong-vendor-build", "python-unsupported")
    asks = ("packages", "builds", "gpus")

    def check(self, case: Case) -> Outcome:
        """A usable GPU is there and the installed build has no accelerator in it."""
        host, signals = case.host, case.signals
        if case.device_free:
            return Fits("")
        heard = signals.pointing("cpu-only-build")
        if host.platform == "darwin":
            return Fits("a Mac has no build with CUDA or ROCm") if heard is None else None
        if heard and (own := _of_program(heard.signal.program, case)):
            return own
        place, cards = case.world.place if host.platform else "", usable(host.gpus or ())
        meant = bool(heard) or _beside_cuda(case)
        cpu = _without_gpu(case, place, heard=meant) or _bare_jax(case, heard=meant)
        if cpu and (cards or meant):
            gpu = f"{cards[0].name or 'a GPU'} is there, but " if cards else ""
            facts = (*(("gpus",) if cards else ()), *((cpu.fact,) if cpu.fact else ()))
            plain = f"{cpu.name} {cpu.version} is a CPU build"
            unused = cpu.name == "jax" and any(map(PLUGIN.fullmatch, case.distributions))  # of another release
            under = ("framework-pair-mismatch",) if unused else ()
            if cpu.inferred and not meant:  # somebody may have compiled it, or taken it from elsewhere
                detail = f"{gpu}{plain} on the default index for {place}."
                facts = (*facts, *told(platform=host.platform))
                return Found(detail=detail, facts=facts, confidence="likely", under=under)
            unsure = is_unnamed(host) or bool(signals.said.get("directml"))
            known = bool(cards or host.driver or host.l4t)
            return Found(
                detail=" ".join(f"{gpu}{plain}.".split()),
                facts=facts,
                under=under,
                severity="warning" if unsure and not known else None,
                confidence="certain" if known else "possible" if unsure else "likely",
            )
        is_open = bool(heard) or (bool(host.packages or host.builds) and host.gpus is None and not host.absent("gpus"))
        built = [item for item in case.installed if item.runtime and item.runtime != "cpu" and not item.inferred]
        why = "whether a GPU is there is not known" if cpu else "neither the framework's build nor a message tells"
        outcome: Outcome = Unsure(why) if is_open and not built else None
        if built and _about(built[0], heard, signals, case.installed):  # without a GPU there is nothing to be glad of
            outcome = Fits("" if host.gpus == () else Sentence("{build} is a GPU build", build=built[0].label))
        return outcome


def _beside_cuda(case: Case) -> bool:
    """Whether a package is there that was built for the CUDA build of the very torch."""
    release, _, tag = case.distributions.get("torch", "").partition("+")
    built = (build.torch.partition("+") for build in (case.host.builds or {}).values())
    return tag == "cpu" and any(one == release and cuda.startswith("cu") for one, _, cuda in built)


def _without_gpu(case: Case, place: str, *, heard: bool) -> Installed | None:
    """A CPU build: one that says so, or that a message suspects and whose release has no other for this system.

    Where pip listed a plain version, it is what the default index has for this system, as far as anybody knows.
    """
    items, listed = case.installed, case.host.packages is not None
    stated = next((item for item in items if item.runtime == "cpu" and (not item.inferred or heard)), None)
    if stated or not place:
        return stated
    if not heard:
        likely = (item for item in items if item.runtime == "cpu" and item.fact.startswith("packages."))
        return next(likely, None) if listed else None
    for item in items:
        rows = case.matrix.builds_of(item.name, item.version) if item.version else ()
        here = [row for row in rows if is_at(row, place)]
        if here and all(row.runtime == "cpu" for row in here):
            return item
    return None


def _of_program(program: str, case: Case) -> Outcome:
    """Of onnxruntime's two distributions, which write one module, the CPU build came last.

    GPU code that was loaded in vain, or that says that it finds no GPU, is there, whatever the program says after it.
    """
    spoken = any(item.signal.program in {"hip", "hsa", "cuda"} for item in case.signals)
    loaded = case.signals.get("ort-loadlibrary", "ort-provider-load")
    if (program == "llama.cpp" and spoken) or (program == "onnxruntime" and loaded):
        return Fits("")
    if program != "onnxruntime" or not {"onnxruntime", "onnxruntime-gpu"} <= case.distributions.keys():
        return None
    facts, version = ("packages.onnxruntime", "packages.onnxruntime-gpu"), case.distributions["onnxruntime-gpu"]
    detail = "onnxruntime was installed over onnxruntime-gpu: the module that loads is the CPU build."
    changes = (Uninstall(("onnxruntime", "onnxruntime-gpu")), install("onnxruntime-gpu", f"=={version}"))
    return Found(detail=detail, facts=facts, fix=Fix("Keep onnxruntime-gpu only.", changes=changes))


def _about(built: Installed, heard: Heard | None, signals: Hearing, items: tuple[Installed, ...]) -> bool:
    """Whether a GPU build settles what a message leaves open: the message is about that framework."""
    if heard is None:
        return True
    if len(heard.signal.candidates) == 1:
        return False
    text = signals.text[:100_000].lower()
    if heard.signal.program == built.name or built.name in text:
        return True
    return (
        len(items) == 1 and heard.signal.program in {"torch", "programs"} and not any(name in text for name in _OTHERS)
    )


def _bare_jax(case: Case, *, heard: bool) -> Installed | None:
    """A jaxlib without plug-in and without CUDA tag; from the release on at which GPU code moved to plug-ins."""
    names = case.distributions.keys()
    item = next((item for item in case.installed if item.name == "jax" and not item.cuda and not item.rocm), None)
    if any(re.fullmatch(r"jax-(cuda|rocm)\d+-(plugin|pjrt)|libtpu.*|jax-metal", name) for name in names):
        return None
    listed = "jaxlib" in names and case.host.packages is not None and is_whole(case.distributions)
    return item if heard or listed else None
