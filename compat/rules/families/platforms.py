"""Operating system and processor: does a build exist for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.rules.commands as told
import compat.rules.requirements as requirements
import compat.versions as versions
from compat.findings import Fix
from compat.lazy import pattern
from compat.rules.knowledge import cite, is_version
from compat.rules.offered import left_behind
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import installed, on_platform, packages_of, plain, platform_tag, row_of

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.matrix import Matrix, rows
    from compat.rules.signals import Hearing


# Processors that GPU packages are seldom published for.
_RARE: Final = frozenset({"aarch64", "arm64", "ppc64le", "riscv64", "s390x", "i686"})

_ALIAS: Final = {"pytorch": "torch", "paddlepaddle-gpu": "paddlepaddle"}

# Distributions whose rows stand in the table of another one, marked with their own name.
_BESIDE: Final = {"tensorflow-cpu": "tensorflow"}


# The local part of a version, which a public release never carries (PEP 440).
_LOCAL: Final = pattern(r"\+[\w.]+")

# Packages of NVIDIA's own libraries, which conda's channels do not have for macOS.
_OF_CUDA: Final = pattern(r"\b(?:cudatoolkit|pytorch-cuda|cuda-(?:nvcc|toolkit|version)|nvidia-[a-z]{2,12}-cu\d\d)\b")


# Messages of an installer that found nothing which fits.
_REFUSED: Final = (
    "pip-none-found",
    "unsupported-wheel",
    "requires-python",
    "uv-no-wheel",
    "uv-no-platform",
    "uv-no-python",
    "uv-not-here",
    "poetry-no-candidates",
    "no-version-of",
    "windows-only-linux",
    "resolver-conflict-frameworks",
)

# Those of them that leave open whether the system or the Python is what has no wheel.
_NOTHING_FITS: Final = (
    "pip-none-found",
    "uv-no-wheel",
    "uv-no-platform",
    "uv-not-here",
    "poetry-no-candidates",
    "unsupported-wheel",
    "no-version-of",
)


def wanted(
    host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
) -> dict[str, str]:
    """Package -> specifier that somebody tries to install, as far as the matrix knows the package."""
    found: dict[str, str] = {}
    texts = [*wishes, *(heard.values["requirement"] for heard in signals if heard.values.get("requirement"))]
    for asked in filter(None, map(requirements.read, texts)):
        found.setdefault(_ALIAS.get(asked.name, asked.name), asked.specifier)
    for name, version in told.requirements(commands).items():
        found.setdefault(_ALIAS.get(name, name), f"=={version}" if version else "")
    if signals.get(*_REFUSED) and (not found or any(not spec for spec in found.values())):
        for name, version in packages_of(host).items():
            if not found or (name in found and not found[name]):
                found[_ALIAS.get(name, name)] = f"=={plain(version)}"
    return {name: spec for name, spec in found.items() if published(matrix, name)}


def published(matrix: Matrix, name: str) -> tuple[rows.Build, ...]:
    """All rows of a distribution; of ``tensorflow-cpu`` its own, which has files for other systems."""
    if name not in _BESIDE:
        return matrix.builds(name)
    return tuple(row for row in matrix.builds(_BESIDE[name]) if row.distribution == name)


def candidates(matrix: Matrix, name: str, specifier: str) -> list[rows.Build]:
    """Rows of the releases that a specifier admits, of the variant alone that a local tag such as ``+cu118`` names."""
    plain_specifier = _LOCAL.sub("", specifier)
    known = published(matrix, name)
    rows = [row for row in known if admitted(plain_specifier, row.version)] if specifier else _lately(known)
    tag = specifier.rpartition("+")[2] if specifier.startswith("==") and "+" in specifier else ""
    return [row for row in rows if tag and row.local == tag] or rows


def _lately(rows: tuple[rows.Build, ...]) -> list[rows.Build]:
    """Rows without those for any system, if later series are for certain systems only: old sources serve none."""
    dated = [(versions.release(row.version)[:2], row) for row in rows if is_version(row.version)]
    free = [series for series, row in dated if "any" in row.platforms]
    bound = [(series, row) for series, row in dated if row.platforms and "any" not in row.platforms]
    newest = max((series for series, _ in bound), default=())
    return [row for _, row in bound] if free and newest > max(free) else list(rows)


def admitted(specifier: str, version: str) -> bool:
    """Whether a specifier admits a release; ``==2.8`` stands for any 2.8.x only when 2.8.0 is not published."""
    return requirements.admits(specifier, version) is True or (
        specifier.startswith("==") and versions.same_release(version, specifier[2:])
    )


def _made_for(wheel: str, here: str) -> bool:
    """Whether the file name of a wheel names this very system and processor: then they are not what refuses it."""
    return bool(here) and wheel.removesuffix(".whl").rpartition("-")[2].startswith(here)


class PlatformUnsupported(Rule):
    """There is no build for this operating system and processor architecture.

    Why:
        Vendors drop platforms silently; pip then takes an old release, a CPU build, or nothing.
    Fix:
        Use WSL2 or a Linux container, or the last release that had the platform.
    Sources:
        - https://www.tensorflow.org/install/pip
        - https://docs.jax.dev/en/latest/installation.html
    """

    area = "platform"
    asks = ("platform", "os", "arch")
    remedy = Fix("Use WSL2 or a Linux container, or the last release that had the platform.")

    def check(
        self,
        platform: str,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        wishes: tuple[str, ...],
    ) -> Outcome:
        """The release that is asked for was published for other systems only."""
        asked = wanted(host, matrix, signals, commands, wishes)
        gone = "no-version-of" in signals
        for name, specifier in asked.items():
            rows = candidates(matrix, name, specifier)
            if not rows and gone and platform in {"windows", "darwin"}:
                return Found(detail=f"There is no {name}{specifier} for {platform}.", facts=("platform",))
            if rows and not any(on_platform(row, host) for row in rows):
                platforms = sorted({item for row in rows for item in row.platforms})
                detail = f"{name}{specifier} was published for {', '.join(platforms)}; this is {platform_tag(host)}."
                return Found(
                    detail=detail,
                    facts=tuple(item for item in ("platform", "arch") if host.value(item)),
                    sources=cite(matrix, rows[-1]),
                )
        if "no-nccl-built" in signals and platform in {"windows", "darwin"}:
            return Found(detail=f"torch has no collective library for GPUs on {platform}.", facts=("platform",))
        return (
            self._macos(host, matrix, signals)
            or self._wheel(host, signals)
            or self._variant(host, matrix, commands)
            or self._nvidia_only(platform, signals)
            or self._wsl(platform, signals, wheel=any(item.rocm for item in installed(host, matrix)))
            or self._refused(host, matrix, signals, asked)
        )

    @staticmethod
    def _wheel(host: Host, signals: Hearing) -> Outcome:
        """The file name of a refused wheel names another system or processor."""
        wheel = signals.value("wheel")
        tag = wheel.removesuffix(".whl").rpartition("-")[2]
        here = platform_tag(host)
        system = next((name for name in ("linux", "win", "macosx") if name in tag), "")
        if not system or not here or tag.startswith("any"):
            return None
        processor = here.partition("_")[2] if host.arch else ""
        other = processor and not tag.endswith((processor, "universal2"))
        if here.startswith(system) and not other:
            return Fits(f"the wheel that was refused is for {tag}") if processor else None
        return Found(
            detail=f"The wheel is for {tag}; this is {here.rstrip('_')}.",
            facts=tuple(item for item in ("platform", "arch") if host.value(item)),
        )

    @staticmethod
    def _variant(host: Host, matrix: Matrix, commands: tuple[str, ...]) -> Outcome:
        """The index that a command names has nothing for this system."""
        variant = told.index_variant(commands)
        if variant in {"", "cpu"}:
            return None  # before the builds are read: there are hundreds of them
        rows = [row for row in matrix.builds("torch") if row.variant == variant]
        if not rows or any(on_platform(row, host) for row in rows):
            return None
        platforms = sorted({item for row in rows for item in row.platforms})
        detail = f"The index {variant} has torch for {', '.join(platforms)}; this is {platform_tag(host)}."
        return Found(detail=detail, facts=("platform",), sources=cite(matrix, rows[-1]))

    @staticmethod
    def _nvidia_only(platform: str, signals: Hearing) -> Outcome:
        """A package whose name says that it is made for CUDA is not found on macOS, which has none."""
        if platform != "darwin":
            return None
        name = next((text for item in signals if (text := item.values.get("requirement", ""))), "")
        if not re.search(r"^[\w-]+-(?:gpu|cu\d+|cuda\w*)(?![\w-])", name):
            found = (
                _OF_CUDA.search(signals.text)
                if signals.get("conda-unsatisfiable", "conda-not-found", "no-version-of")
                else None
            )
            name = found[0] if found else ""
        if not name:
            return None
        return Found(detail=f"{name} is made for CUDA, which macOS does not have.", facts=("platform",))

    @staticmethod
    def _wsl(platform: str, signals: Hearing, *, wheel: bool) -> Outcome:
        """ROCm's usual packages look for a kernel module and /dev/kfd, which WSL has not; a wheel has its own fault."""
        told = signals.get("rock-not-loaded", "kfd-no-file", "" if wheel else "hip-no-device")
        if platform != "wsl2" or not told:
            return None
        detail = "WSL has neither the amdgpu module nor /dev/kfd; ROCm's packages for WSL serve a few GPUs only."
        page = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-pytorch.html"
        return Found(detail=detail, facts=("platform",), confidence="likely", sources=(page,))

    @staticmethod
    def _refused(host: Host, matrix: Matrix, signals: Hearing, asked: dict[str, str]) -> Outcome:
        """Nothing fits, for a package that the matrix does not know on this platform; or all that is asked for fits."""
        usual = host.platform in {"linux", "wsl2"} and host.arch in {None, "x86_64", "amd64"}
        here = platform_tag(host).rstrip("_")
        if left_behind(host, matrix, signals):
            detail = f"Other releases are offered for {here}, the one that is asked for is not."
            return Fits("") if usual else Found(detail=detail, facts=("platform",), confidence="likely")
        known = [candidates(matrix, name, specifier) for name, specifier in asked.items()]
        open_ended = "pip-none-found" in signals and not all(asked.values())
        if known and all(any(on_platform(row, host) for row in rows) for rows in known):
            if open_ended and host.arch in _RARE and not host.python:
                detail = f"Nothing is offered for {here}."
                return Found(detail=detail, facts=("arch",), confidence="possible", severity="warning")
            if open_ended:
                return None
            return Fits(f"{', '.join(asked)} {'is' if len(asked) == 1 else 'are'} published for {host.platform}")
        if usual or not signals.get(*_NOTHING_FITS) or _made_for(signals.value("wheel"), here):
            return None
        detail = f"The installer finds nothing for {here}, which few GPU packages are published for."
        return Found(detail=detail, facts=("platform",), confidence="possible", severity="warning")

    @staticmethod
    def _macos(host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """MacOS below what the build's GPU backend needs."""
        found = re.fullmatch(r"macos(\d[\d.]*)", host.os or "")
        heard = signals.get("mps-macos")
        if not heard:
            return None
        here = f"macOS {found[1]}" if found else "this macOS"
        item = next((item for item in installed(host, matrix) if item.name == "torch"), None)
        build = item.label if item else "this PyTorch"
        return Found(
            detail=f"The Metal backend of {build} needs a newer release than {here}.",
            facts=("os",) if found else ("platform",),
        )


class CpuInstructionsMissing(Rule):
    """The processor lacks instructions that the build was compiled for.

    Why:
        The process dies at import with an illegal instruction, so no message of the framework appears. Virtual
        machines with a generic processor model are the usual case.
    Fix:
        Expose the feature to the virtual machine, use another host, or a build without it.
    Sources:
        - https://github.com/jax-ml/jax/blob/HEAD/jax/_src/lib/__init__.py
        - https://github.com/tensorflow/tensorflow/blob/HEAD/tensorflow/python/platform/self_check.py
    """

    area = "platform"
    asks = ("cpu_flags", "cpu", "packages")
    remedy = Fix("Give the virtual machine the processor model host, or use another host or a build without them.")

    def check(self, host: Host, matrix: Matrix, cpu_flags: tuple[str, ...]) -> Outcome:
        """A feature that the build needs (AVX for TensorFlow and jaxlib) is not among the processor's."""
        if host.arch not in {None, "x86_64", "amd64"}:
            return None
        for item in installed(host, matrix):
            row = item.row or row_of(matrix, item.name, item.version, "", host)
            missing = [flag for flag in (row.cpu if row else ()) if flag not in cpu_flags]
            if missing:
                return Found(
                    detail=f"{item.label} needs {', '.join(missing)}.",
                    facts=("cpu_flags", item.fact),
                    sources=cite(matrix, row),
                )
        return (
            Fits("the processor has what the builds need")
            if any(item.row and item.row.cpu for item in installed(host, matrix))
            else None
        )


RULES = family(PlatformUnsupported, CpuInstructionsMissing)
