"""How frameworks are installed, alone and side by side, and what wants a GPU on a machine that has none."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING, Final

import compat.reading.commands as commanded
import compat.rules.deeds as deeds
from compat.changes import Command, Example, Uninstall, Variable, install
from compat.findings import Evidence, Fix
from compat.joints.packages import apart
from compat.matrix.processors import find_processor, plugins
from compat.rules.lookups import cite
from compat.rules.rule import Found, Outcome, Rule, told
from compat.rules.stack import has_no_device, named, plain
from compat.versions import admits, requirement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case


# Makers whose devices the matrix knows by more than their names.
PLANNED: Final = frozenset({"nvidia", "amd", "intel", "apple", "huawei", "google"})


class NoGpuHere(Rule):
    """Something here wants a GPU, and there is none.

    Why: A CUDA or ROCm build on a machine without a GPU computes on the CPU without a word, or fails at its first call
        of the device. No driver mends it: a driver needs a device. In a container the GPU may be on the machine and
        only not handed in.
    Fix: Run it on a machine with a GPU, or take the CPU build on purpose. A container is started with the GPU.
    Sources:
        - https://docs.pytorch.org/docs/stable/generated/torch.cuda.is_available.html
        - https://docs.docker.com/engine/containers/gpu/
    """

    area = "framework"
    severity = "warning"
    requires = ("container-no-gpu", "container-visible-devices", "devices-hidden", "wsl-no-gpu-device")

    def check(self, case: Case, host: Host, gpus: tuple[Gpu, ...]) -> Outcome:
        """No GPU is there by the facts, and a build for one is installed or a program looked for one."""
        if gpus:
            return None
        gpu_builds = (item for item in case.installed if item.runtime.startswith(("cuda", "rocm")))
        built = next((item for item in gpu_builds if not item.inferred), None)
        heard = case.signals.saying("no-gpu-seen", "no-gpu-vague")
        if not (host.container or has_no_device(host)) or not (built or heard):
            return None
        what = f"{built.label} is a GPU build" if built else "A program looks for a GPU"
        asked = (host.env or {}).get("NVIDIA_VISIBLE_DEVICES", "") not in {"", "void", "none"}
        where = "no GPU is in this container" if host.container else "this machine has no GPU"
        started = Fix(
            "Start the container with the GPU, from the machine that has it.", changes=(deeds.run_with_gpu(host),)
        )
        own = (Command(f"envcheck resolve {built.name}=={plain(built.version)} --cpu"),) if built else ()
        elsewhere = Fix("Run it on a machine with a GPU, or take the CPU build on purpose.", changes=own)
        return Found(
            detail=f"{what}, and {where}: it computes on the CPU, or fails.",
            facts=("gpus", *((built.fact,) if built else ()), *told(container=host.container)),
            fix=started if host.container else elsewhere,
            severity="error" if host.container and asked else "warning",
        )


class GpuOfAnotherMaker(Rule):
    """An accelerator is driven by its maker's own packages.

    Why: Wheels for NVIDIA, AMD or Intel hold no code for it, and the matrix has no builds that a plan could name.
    Fix: Take framework, plug-in and driver stack of releases that its maker names together.
    Sources: https://www.paddlepaddle.org.cn/documentation/docs/zh/hardware_support/
    """

    area = "framework"
    severity = "info"

    def check(self, gpus: tuple[Gpu, ...], matrix: Matrix) -> Outcome:
        """A device's tool, driver or PCI id names one of the accelerators that the matrix knows by name alone."""
        for gpu in gpus:
            row = None if gpu.vendor in PLANNED else find_processor(matrix, gpu.name or gpu.vendor)
            if row and not row.note:
                detail = (
                    f"{gpu.name or gpu.pci} is of {row.maker}. Packages for it: {', '.join(plugins(matrix, row))}. "
                    f"`envcheck matrix show {row.accelerator}` lists their releases."
                )
                return Found(detail=detail, sources=cite(matrix, row))
        return None


class FrameworkDuplicateInstall(Rule):
    """Two copies of a framework are installed.

    Why: Which copy wins depends on the order of the path and changes between shells.
    Fix: Uninstall every copy, then install once.
    Sources: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """

    area = "framework"
    requires = ("cpu-only-build",)
    changes = (Example("pip uninstall -y <package>"),)
    _WATCHED: Final = frozenset(
        {"torch", "torchvision", "torchaudio", "triton", "tensorflow", "jax", "jaxlib", "onnxruntime", "numpy"}
    )

    # Distributions that write the same module: the one installed last wins, file by file.
    _SHARED: Final = (("onnxruntime", "onnxruntime-gpu"), ("paddlepaddle", "paddlepaddle-gpu"))

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The same distribution is importable from two places, or two distributions write the same module."""
        both = next((pair for pair in self._SHARED if set(pair) <= (host.packages or {}).keys()), ())
        if both:
            pin = install(both[1], f"=={(host.packages or {})[both[1]]}")
            fix = Fix(f"Keep {both[1]} only.", changes=(Uninstall(both), pin))
            return Found(
                detail=f"{both[0]} and {both[1]} write the same module; the last one installed wins.",
                facts=tuple(f"packages.{name}" for name in both),
                fix=fix,
                severity=None if signals.pointing("cpu-only-build") else "warning",
            )
        for name, found in (host.duplicate_packages or {}).items():
            if name in self._WATCHED and len(set(found)) > 1:
                fix = Fix(f"Uninstall every copy of {name}, then install once.", changes=(Uninstall((name,)),) * 2)
                return Found(
                    detail=f"{name} is there as {' and '.join(found)}.",
                    facts=(f"duplicate_packages.{name}",),
                    fix=fix,
                    severity="warning" if name == "numpy" else None,  # one copy of numpy hides the other, and works
                )
        return None


class FrameworkElsewhere(Rule):
    """The framework is installed for another Python than the one that runs.

    Why: Each environment has its own packages, and the pip that is first on PATH need not be that of the Python, or of
        the notebook, that runs the program.
    Fix: Compare the two, then install by the Python that runs the program: python -m pip install.
    Sources: https://packaging.python.org/en/latest/tutorials/installing-packages/
    """

    area = "framework"
    changes = (Command("python -c 'import sys; print(sys.executable)'"), Command("pip --version"))

    def check(self, packages: Mapping[str, str], signals: Hearing, matrix: Matrix) -> Outcome:
        """A program does not find a framework that is listed as installed."""
        absent = next(iter(signals.said.get("absent", ())), "")
        row = matrix.package(absent) if absent else None
        name = next((one for one in packages if row and one in {row.name, *row.aliases}), "")
        if not name or signals.get("build-isolation", "uv-build-isolation"):
            return None
        quote = (Evidence("error", f"No module named '{absent}'", "error text"),)
        detail = f"{name} {packages[name]} is listed, and the Python that runs does not find it."
        return Found(detail=detail, facts=(f"packages.{name}",), extra=quote, confidence="likely")


class JaxPluginInitFailed(Rule):
    """The JAX GPU plug-in is installed but could not start.

    Why: JAX then prints that no CUDA-enabled jaxlib is installed; the true cause stands in the exception above it.
    Fix: Unset LD_LIBRARY_PATH and reinstall JAX with its extra.
    Sources: https://github.com/jax-ml/jax/blob/HEAD/jax_plugins/cuda/__init__.py
    """

    area = "framework"
    platforms = ("linux", "wsl2")
    requires = ("library-mismatch", "library-missing", "driver-too-old-for-runtime", "framework-pair-mismatch")
    asks = ("env", "libraries")
    changes = (Variable("LD_LIBRARY_PATH"), install("jax", extras=("cuda12",), again=True, upgrade=True))

    def check(
        self, host: Host, packages: Mapping[str, str], signals: Hearing, distributions: Mapping[str, str]
    ) -> Outcome:
        """A JAX plug-in is present, and one of the libraries it loads is not fit.

        It is missing, or older than the one the plug-in was built against. Without a message: cuDNN, which the plug-in
        loads first, is neither in the environment nor on the loader's path.
        """
        plugin = next((name for name in packages if re.fullmatch(r"jax-(cuda|rocm)\d+-plugin", name)), "")
        heard = signals.get("jax-no-cuda-jaxlib", "jax-plugin-failed")
        brought = any(name == "cudnn" or name.startswith("nvidia-cudnn") for name in distributions)
        if plugin.startswith("jax-cuda") and not heard and host.absent("cudnn") and not brought:
            again = install("jax", extras=(f"cuda{re.sub(r'[^0-9]', '', plugin)}",), upgrade=True)
            return Found(
                detail=f"{plugin} {packages[plugin]} is installed, and cuDNN is nowhere to be found.",
                facts=(f"packages.{plugin}", "cudnn"),
                fix=Fix("Install JAX with its extra, which brings cuDNN.", changes=(again,)),
                confidence="likely",
                severity="warning",
            )
        if not plugin or not heard:
            return None
        detail = f"{plugin} {packages[plugin]} is installed, but could not start."
        return Found(detail=detail, facts=(f"packages.{plugin}",))


# Frameworks that bring or pin CUDA libraries of their own.
_FRAMEWORKS: Final = frozenset({"torch", "tensorflow", "jax", "paddlepaddle"})


def _installed(case: Case) -> Outcome:
    """Two installed packages that require, or were built for, other libraries."""
    for pair in case.pairs:
        if pair.clash and (not pair.tied or pair.right.name.startswith("nvidia-")):
            there = f"; {pair.right.version} is installed" if pair.tied else ""
            return Found(
                detail=f"{pair.clash.why}{there}.",
                facts=tuple(case.cited[one.name] for one in (pair.left, pair.right)),
                sources=cite(case.matrix, *pair.clash.rows),
                severity=None if pair.tied else "warning",
                confidence=pair.confidence,
            )
    return None


class FrameworksConflict(Rule):
    """Frameworks in one environment need incompatible CUDA libraries.

    Why: torch pins exact versions of the CUDA libraries while jax and TensorFlow ask for a minimum: the last install
        decides who breaks, and in one process the first import does.
    Fix: Use one environment or image per framework, or releases whose ranges overlap; see `envcheck resolve`. Or take
        one of them as a CPU build.
    Sources:
        - https://docs.jax.dev/en/latest/installation.html
        - https://packaging.python.org/en/latest/specifications/dependency-specifiers/
    """

    area = "framework"
    asks = ("packages", "package_requires")

    def check(self, case: Case) -> Outcome:
        """Two frameworks ask for ranges of the same library that exclude each other.

        Or what is installed of NVIDIA's libraries is not what a framework asks for, or two builds need other runtimes.
        """
        wished = {line.name for line in map(requirement, case.wishes) if line}
        asked = commanded.requirements(case.commands).keys() | wished
        together = sorted((asked | case.cited.keys()) & _FRAMEWORKS)
        return _installed(case) or self._pins(case) or self._by_message(together, case.cited, case.signals)

    @staticmethod
    def _by_message(together: list[str], cited: Mapping[str, str], signals: Hearing) -> Outcome:
        """An installer that finds no solution, or a framework that meets another one's libraries."""
        facts = tuple(cited[name] for name in together if name in cited)
        if "resolver-conflict-frameworks" in signals and len(together) > 1:
            return Found(detail=f"{' and '.join(together)} exclude each other's CUDA libraries.", facts=facts)
        if len(together) > 1 and "crashed" in signals:
            detail = f"{' and '.join(together)} load their own CUDA libraries into one process."
            return Found(detail=detail, facts=facts, confidence="possible", severity="warning")
        if signals.get("jax-cudnn", "jax-older", "jax-version-built") and "torch" in together:
            detail = "torch and jax ask for different CUDA libraries in one environment."
            return Found(detail=detail, facts=tuple(cited[name] for name in ("torch", "jax") if name in cited))
        return None

    @staticmethod
    def _pins(case: Case) -> Outcome:
        """Exact pins of torch on NVIDIA's packages that the extra of TensorFlow or JAX excludes."""
        text = " ".join((case.signals.text[:100_000], *case.commands))
        extra = re.search(r"tensorflow\[and-cuda\]|jax\[cuda\w*\]", text)
        torch = named(case.installed, "torch")
        other = named(case.installed, "tensorflow" if extra and extra[0].startswith("tensorflow") else "jax")
        if not extra or not torch or not torch.row or not other:
            return None
        own = filter(None, map(requirement, torch.row.requires))
        pins = {asked.name: asked.spec for asked in own if asked.spec.startswith("==")}
        for row in case.matrix.builds_of(other.name, other.version):
            for asked in filter(None, map(requirement, row.requires if row.extras else ())):
                pin = pins.get(asked.name, "") if asked.name.startswith("nvidia-") else ""
                if pin and asked.spec and admits(asked.spec, pin[2:]) is False:
                    detail = f"{torch.label} asks for {asked.name}{pin}, {extra[0]} {other.version} for {asked.spec}."
                    return Found(
                        detail=detail, facts=(torch.fact, other.fact), sources=cite(case.matrix, torch.row, row)
                    )
        return None


class CudaMajorMixedInEnv(Rule):
    """Libraries of two CUDA majors are in one environment.

    Why: An extension built for one major cannot use the other's runtime in the same process.
    Fix: Reinstall all GPU packages for the same CUDA major.
    Sources: https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#pip-wheels
    """

    severity = "warning"
    area = "framework"
    requires = ("frameworks-conflict", "library-mismatch", "library-missing")
    changes = (Command("pip list | grep -E -- '-cu[0-9]+'"),)

    def check(self, packages: Mapping[str, str]) -> Outcome:
        """nvidia-* packages with the suffixes -cu11, -cu12 or -cu13 are installed side by side."""
        found = {name: re.fullmatch(r"nvidia-[\w-]+-cu(\d\d)", name) for name in packages}
        majors = {f"cuda{number[1]}": name for name, number in found.items() if number}
        if not any(apart(*two) for two in combinations(majors, 2)):
            return None
        names = sorted(majors.values())
        detail = f"{' and '.join(names)} are of different CUDA majors."
        return Found(detail=detail, facts=tuple(f"packages.{name}" for name in names))
