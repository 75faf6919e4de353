"""Operating system, processor, C and C++ libraries: does a build exist for them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.reading.commands as commanded
from compat.changes import System
from compat.joints import libc as clib
from compat.joints import platform as joint
from compat.joints import processor
from compat.joints.platform import is_at
from compat.joints.verdict import Clash, any_of
from compat.lazy import pattern
from compat.markers import place_of
from compat.rules.lookups import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, told
from compat.rules.stack import named
from compat.rules.together import Here, clashing
from compat.rules.wanted import candidates, left_behind
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case


# Processors that GPU packages are seldom published for.
_RARE: Final = frozenset({"aarch64", "arm64", "ppc64le", "riscv64", "s390x", "i686"})


# Packages of NVIDIA's own libraries, which conda's channels do not have for macOS.
_OF_CUDA: Final = pattern(r"\b(?:cudatoolkit|pytorch-cuda|cuda-(?:nvcc|toolkit|version)|nvidia-[a-z]{2,12}-cu\d\d)\b")


def _told(place: str) -> str:
    """A platform with its processor, or by its name alone where that is not known."""
    return {"macosx_": "macOS", "win_": "Windows", "linux_": "Linux"}.get(place, place.rstrip("_"))


class PlatformUnsupported(Rule):
    """There is no build for this operating system and processor architecture.

    Why: Vendors drop platforms silently; pip then takes an old release, a CPU build, or nothing.
    Fix: Use WSL2 or a Linux container, or the last release that had the platform.
    Sources:
        - https://www.tensorflow.org/install/pip
        - https://docs.jax.dev/en/latest/installation.html
    """

    area = "platform"
    asks = ("os", "arch")

    def check(self, case: Case, platform: str) -> Outcome:
        """The release that is asked for, or is installed, was published for other systems only."""
        cited = told(platform=platform, arch=case.host.arch)
        gone = "no-version-of" in case.signals
        for name, specifier in case.wanted.items():
            rows = candidates(case.matrix, name, specifier)
            if not rows and gone and platform in {"windows", "darwin"}:
                return Found(detail=f"There is no {name}{specifier} for {platform}.")
            if rows and not any(is_at(row, case.world.place) for row in rows):
                platforms = sorted({item for row in rows for item in row.platforms})
                here = _told(case.world.place)
                detail = f"{name}{specifier} was published for {', '.join(platforms)}; this is {here}."
                return Found(detail=detail, facts=cited, sources=cite(case.matrix, rows[-1]))
        if "no-nccl-built" in case.signals and platform in {"windows", "darwin"}:
            return Found(detail=f"torch has no collective library for GPUs on {platform}.")
        found = clashing(
            case.here,
            lambda part: joint.verdict(part.build, case.world.place),
            case.matrix,
            this=f"this is {case.world.place.rstrip('_')}",
            facts=cited,
            among=lambda item: item.published,
        )
        heard = case.signals.pointing("platform-unsupported")
        if heard and heard.signal.candidates[0] != "platform-unsupported":
            found = None  # compiled here, perhaps: the message's first cause is likelier
        if found:  # or of another index, where a whole text complains of nothing
            silent = case.signals.text.strip() and not case.signals.harmful
            found = replace(found, severity="info" if silent else "warning", confidence="likely")
        return (
            self._macos(case)
            or self._wheel(case.world.place, cited, case.signals)
            or self._variant(case)
            or self._nvidia_only(platform, case.signals)
            or self._wsl(case)
            or found
            or self._refused(case, platform)
        )

    @staticmethod
    def _wheel(here: str, cited: tuple[str, ...], signals: Hearing) -> Outcome:
        """The file name of a refused wheel names another system or processor."""
        wheel = signals.value("wheel")
        tag = wheel.removesuffix(".whl").rpartition("-")[2]
        system = next((name for name in ("linux", "win", "macosx") if name in tag), "")
        if not system or not here or tag.startswith("any"):
            return None
        processor = here.partition("_")[2] if "arch" in cited else ""
        other = processor and not tag.endswith((processor, "universal2"))
        if here.startswith(system) and not other:
            return Fits(Sentence("the wheel that was refused is for {tag}", tag=tag)) if processor else None
        return Found(detail=f"The wheel is for {tag}; this is {here.rstrip('_')}.", facts=cited)

    @staticmethod
    def _variant(case: Case) -> Outcome:
        """The index that a command names has nothing for this system."""
        variant, place = commanded.index_variant(case.commands), case.world.place
        if variant in {"", "cpu"}:
            return None  # before the builds are read: there are hundreds of them
        rows = [row for row in case.matrix.builds("torch") if row.variant == variant]
        if not rows or any(is_at(row, place) for row in rows):
            return None
        platforms = sorted({item for row in rows for item in row.platforms})
        detail = f"The index {variant} has torch for {', '.join(platforms)}; this is {place}."
        return Found(detail=detail, facts=("platform",), sources=cite(case.matrix, rows[-1]))

    @staticmethod
    def _nvidia_only(platform: str, signals: Hearing) -> Outcome:
        """A package whose name says that it is made for CUDA is not found on macOS, which has none."""
        if platform != "darwin":
            return None
        name = next((text for item in signals if (text := item.values.get("requirement", ""))), "")
        if not re.search(r"^[\w-]+-(?:gpu|cu\d+|cuda\w*)(?![\w-])", name):
            refused = signals.get("conda-unsatisfiable", "conda-not-found", "no-version-of")
            found = _OF_CUDA.search(signals.text) if refused else None
            name = found[0] if found else ""
        if not name:
            return None
        return Found(detail=f"{name} is made for CUDA, which macOS does not have.", facts=("platform",))

    @staticmethod
    def _wsl(case: Case) -> Outcome:
        """ROCm's usual packages look for a kernel module and /dev/kfd, which WSL has not; a wheel has its own fault."""
        wheel = any(item.rocm for item in case.installed)
        told = case.signals.get("rock-not-loaded", "kfd-no-file", "" if wheel else "hip-no-device")
        asked = any("/dev/kfd" in line for line in case.commands)
        if case.host.platform != "wsl2" or not (told or asked):
            return None
        detail = "WSL has neither the amdgpu module nor /dev/kfd; ROCm's packages for WSL serve a few GPUs only."
        page = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-pytorch.html"
        return Found(detail=detail, facts=("platform",), confidence="likely", sources=(page,))

    @staticmethod
    def _refused(case: Case, platform: str) -> Outcome:
        """Nothing fits, for a package that the matrix does not know on this platform; or all that is asked for fits."""
        arch, python, matrix, signals = case.host.arch, case.host.python, case.matrix, case.signals
        asked = case.wanted
        usual = platform in {"linux", "wsl2"} and arch in {None, "x86_64", "amd64"}
        place = place_of(platform, arch or "")
        here = _told(place)
        if left_behind(python or "", matrix, signals):
            detail = f"Other releases are offered for {here}, the one that is asked for is not."
            return Fits("") if usual else Found(detail=detail, facts=("platform",), confidence="likely")
        known = [candidates(matrix, name, specifier) for name, specifier in asked.items()]
        open_ended = "pip-none-found" in signals and not all(asked.values())
        if known and all(any(is_at(row, place) for row in rows) for rows in known):
            if open_ended and arch in _RARE and not python:
                detail = f"Nothing is offered for {here}."
                return Found(detail=detail, facts=("arch",), confidence="possible", severity="warning")
            if open_ended:
                return None
            return Fits(
                Sentence("there are builds of {names} for {platform}", platform=platform, names=", ".join(asked))
            )
        refused = signals.value("wheel").removesuffix(".whl").rpartition("-")[2]  # for this very system: not its fault
        if usual or not signals.saying("nothing-fits") or (here and refused.startswith(here)):
            return None
        detail = f"The installer finds nothing for {here}, which few GPU packages are published for."
        return Found(detail=detail, facts=("platform",), confidence="possible", severity="warning")

    @staticmethod
    def _macos(case: Case) -> Outcome:
        """MacOS below what the build's GPU backend needs."""
        if "mps-macos" not in case.signals:
            return None
        found = re.fullmatch(r"macos(\d[\d.]*)", case.host.os or "")
        here = f"macOS {found[1]}" if found else "this macOS"
        item = named(case.installed, "torch")
        detail = f"The Metal backend of {item.label if item else 'this PyTorch'} needs a newer release than {here}."
        return Found(detail=detail, facts=("os",) if found else ("platform",))


class CpuInstructionsMissing(Rule):
    """The processor lacks instructions that the build was compiled for.

    Why: The process dies at import with an illegal instruction, so no message of the framework appears. Virtual
        machines with a generic processor model are the usual case.
    Fix: Give the virtual machine the processor model "host", or use another host, or a build without these
        instructions.
    Sources:
        - https://github.com/jax-ml/jax/blob/HEAD/jax/_src/lib/__init__.py
        - https://github.com/tensorflow/tensorflow/blob/HEAD/tensorflow/python/platform/self_check.py
    """

    area = "platform"
    requires = ("macos-rosetta-python",)
    asks = ("cpu", "packages")

    def check(self, host: Host, here: tuple[Here, ...], matrix: Matrix, cpu_flags: tuple[str, ...]) -> Outcome:
        """A feature that the build needs (AVX for TensorFlow and jaxlib) is not among the processor's."""
        if host.arch not in {None, "x86_64", "amd64"}:
            return None
        flags = frozenset(cpu_flags)
        this, facts = "this one lacks them", ("cpu_flags",)
        found = clashing(here, lambda part: processor.verdict(part.build, flags), matrix, this=this, facts=facts)
        needing = any(part.build.cpu for item in here for part in item.parts)
        return found or (Fits("the processor has what the builds need") if needing else None)


class MuslLibc(Rule):
    """The C library is musl, for which frameworks publish no wheels.

    Why: A glibc binary cannot be loaded by musl's loader.
    Fix: Use a glibc base image, such as debian:12-slim or ubuntu:22.04.
    Sources: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    area = "platform"

    def check(
        self, host: Host, libc: str, matrix: Matrix, signals: Hearing, wanted: Mapping[str, str], here: tuple[Here, ...]
    ) -> Outcome:
        """The system uses musl (Alpine), and a package that is asked for or installed has wheels for glibc only."""
        if libc != "musl":
            return None
        for name, specifier in wanted.items():
            asked = any_of(clib.verdict(row, "", is_musl=True) for row in candidates(matrix, name, specifier))
            if isinstance(asked, Clash):
                return Found(detail=f"{asked.why}.", sources=cite(matrix, *asked.rows))
        this, facts = "this system has musl", ("libc",)
        found = clashing(here, lambda part: clib.verdict(part.build, "", is_musl=True), matrix, this=this, facts=facts)
        if found or (here and not signals.harmful):
            return found
        needed = signals.harmful or host.gpus
        return Found(detail="musl loads no glibc wheels.", facts=facts, severity="error" if needed else "warning")


class GlibcTooOld(Rule):
    """The C library is older than the build requires.

    Why: Wheels state their floor in the tag (manylinux_2_28 is glibc 2.28); a C library cannot be added to a system.
    Fix: Use a newer system or base image, or the last release whose wheels load here.
    Sources:
        - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
        - https://github.com/pytorch/pytorch/issues/123649
    """

    area = "platform"
    platforms = ("linux", "wsl2", "wsl1")
    requires = ("musl-libc",)
    asks = ("glibc", "os", "packages")

    def check(
        self, host: Host, matrix: Matrix, signals: Hearing, wanted: Mapping[str, str], here: tuple[Here, ...]
    ) -> Outcome:
        """Glibc on the machine, or in the image, is below the floor of the wheel."""
        system = matrix.system(host.os or "")
        have = host.glibc or (system.glibc if system else "")
        this = f"this system has {have}"
        facts = told(glibc=host.glibc) or told(os=host.os)
        need = signals.value("glibc_need") or self._of_wheel(signals)
        unknown = not is_version(have) and bool(signals.value("glibc_need"))
        if need and (unknown or (is_version(have) and not clib.reaches(have, need))):
            shown = this if have else "this system is older"
            return Found(detail=f"A library asks for glibc {need}; {shown}.", facts=facts)
        if not is_version(have):
            return None
        for name, specifier in wanted.items():
            found = any_of(clib.verdict(row, have) for row in candidates(matrix, name, specifier))
            if isinstance(found, Clash):
                return Found(detail=f"{found.why}; {this}.", facts=facts, sources=cite(matrix, *found.rows))
        found_here = clashing(here, lambda part: clib.verdict(part.build, have), matrix, this=this, facts=facts)
        floors = [item.label for item in here if any(part.build.glibc for part in item.parts)]
        if found_here or not floors:
            return found_here or (Fits("") if need else None)
        return Fits(Sentence("glibc {version} is new enough for {build}", version=have, build=floors[0]))

    @staticmethod
    def _of_wheel(signals: Hearing) -> str:
        """The floor in the file name of a refused wheel: ``manylinux_2_28`` is glibc 2.28."""
        found = re.search(r"manylinux_(\d)_(\d+)", signals.value("wheel"))
        return f"{found[1]}.{found[2]}" if found else ""


class LibstdcxxTooOld(Rule):
    """libstdc++ lacks symbols that the build needs.

    Why: A conda environment or an old base image often shadows a newer copy of the system.
    Fix: Update libstdc++, or put the newer copy first.
    Sources: https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
    """

    area = "libraries"
    asks = ("libstdcxx",)
    changes = (System("libstdcxx"),)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The libstdc++ that is loaded does not define a GLIBCXX or CXXABI version that a library asks for."""
        need = signals.value("glibcxx_need")
        if not need:
            return None
        have = f"; the loaded one ends at {host.libstdcxx}" if host.libstdcxx else ""
        return Found(detail=f"A library asks for {need} of libstdc++{have}.", facts=told(libstdcxx=host.libstdcxx))
