"""Python, operating system, C library and processor: does a build exist for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.findings import Fix
from compat.rules import commands as told
from compat.rules import requirements
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import installed, on_platform, packages_of, plain, platform_tag, row_of, same_version

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.matrix import Matrix, rows
    from compat.rules.signals import Hearing

_ALIAS: Final = {"pytorch": "torch", "paddlepaddle-gpu": "paddlepaddle", "tensorflow-cpu": "tensorflow"}
_REFUSED: Final = (
    "pip-none-found", "unsupported-wheel", "requires-python", "uv-no-wheel", "no-version-of", "windows-only-linux", "resolver-conflict-frameworks",
)  # fmt: skip
"""Messages of an installer that found nothing which fits."""


def wanted(host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]) -> dict[str, str]:
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
    return {name: spec for name, spec in found.items() if matrix.builds(name)}


def candidates(matrix: Matrix, name: str, specifier: str) -> list[rows.Build]:
    """Rows of the releases that a specifier admits."""
    return [row for row in matrix.builds(name) if not specifier or admitted(specifier, row.version)]


def admitted(specifier: str, version: str) -> bool:
    """Whether a specifier admits a release; ``==2.8`` stands for any 2.8.x only when 2.8.0 is not published."""
    return requirements.admits(specifier, version) is True or (specifier.startswith("==") and same_version(version, specifier[2:]))


def short(python: str) -> str:
    """``3.11.9`` -> ``3.11``."""
    return ".".join(python.split(".")[:2])


class PythonUnsupported(Rule):
    """No build of this framework exists for this Python.

    What:
        None of the releases that are asked for was published for the interpreter's minor version.
    Why:
        pip hides the reason: it says that no version was found, although the project exists.
    Fix:
        Use a Python that the release was published for, or a release for this Python.
    Sources:
        - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    area = "python"
    asks = ("python", "packages")
    remedy = Fix("Use a Python that the release was published for.", ("uv venv --python 3.12",))

    def check(
        self, python: str, host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
    ) -> Outcome:
        asked = wanted(host, matrix, signals, commands, wishes)
        for name, specifier in asked.items():
            rows = candidates(matrix, name, specifier)
            offered = sorted({item for row in rows for item in row.python}, key=_python_key)
            if rows and offered and short(python) not in offered:
                fix = Fix(f"Use Python {offered[-1]}.", (f"uv venv --python {offered[-1]}",))
                detail = f"{name}{specifier} was published for Python {', '.join(offered)}; this is {short(python)}."
                return Found(detail=detail, facts=("python",), fix=fix, sources=cite(matrix, rows[-1]))
        return self._variant(python, matrix, commands) or (Fits(f"{next(iter(asked))} is published for Python {short(python)}") if asked else None)

    @staticmethod
    def _variant(python: str, matrix: Matrix, commands: tuple[str, ...]) -> Outcome:
        """The index that a command names has no wheel for this Python."""
        variant = told.index_variant(commands)
        rows = [row for row in matrix.builds("torch") if variant and row.variant == variant]
        offered = sorted({item for row in rows for item in row.python}, key=_python_key)
        if not offered or short(python) in offered:
            return None
        detail = f"The index {variant} has torch for Python {', '.join(offered)}; this is {short(python)}."
        return Found(detail=detail, facts=("python",), sources=cite(matrix, rows[-1]))


def _python_key(text: str) -> tuple[int, ...]:
    return versions.release(text.rstrip("t")) if is_version(text.rstrip("t")) else (0,)


class PlatformUnsupported(Rule):
    """There is no build for this operating system and processor architecture.

    What:
        The release that is asked for was published for other systems only.
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
        self, platform: str, host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
    ) -> Outcome:
        asked = wanted(host, matrix, signals, commands, wishes)
        gone = "no-version-of" in signals
        for name, specifier in asked.items():
            rows = candidates(matrix, name, specifier)
            if not rows and gone and platform in {"windows", "darwin"}:
                return Found(detail=f"There is no {name}{specifier} for {platform}.", facts=("platform",))
            if rows and not any(on_platform(row, host) for row in rows):
                platforms = sorted({item for row in rows for item in row.platforms})
                detail = f"{name}{specifier} was published for {', '.join(platforms)}; this is {platform_tag(host)}."
                return Found(detail=detail, facts=tuple(item for item in ("platform", "arch") if host[item]), sources=cite(matrix, rows[-1]))
        return self._macos(host, matrix, signals) or (Fits(f"{next(iter(asked))} is published for {platform}") if asked else None)

    @staticmethod
    def _macos(host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """macOS below what the build's GPU backend needs."""
        found = re.fullmatch(r"macos(\d[\d.]*)", host["os"] or "")
        heard = signals.get("mps-macos")
        if not heard:
            return None
        here = f"macOS {found[1]}" if found else "this macOS"
        item = next((item for item in installed(host, matrix) if item.name == "torch"), None)
        build = item.label if item else "this PyTorch"
        return Found(detail=f"The Metal backend of {build} needs a newer release than {here}.", facts=("os",) if found else ("platform",))


class GlibcTooOld(Rule):
    """The C library is older than the build requires.

    What:
        glibc on the machine, or in the image, is below the floor of the wheel.
    Why:
        Wheels state their floor in the tag (manylinux_2_28 is glibc 2.28); a C library cannot be added to a system.
    Fix:
        Use a newer system or base image, or the last release whose wheels load here.
    Sources:
        - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
        - https://github.com/pytorch/pytorch/issues/123649
    """

    area = "platform"
    requires = ("musl-libc",)
    asks = ("glibc", "os", "packages")
    remedy = Fix("Use a newer system or base image, or the last release whose wheels load here.", ("docker run --rm -it ubuntu:22.04",))

    def check(
        self,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        wishes: tuple[str, ...],
        glibc: str | None = None,
    ) -> Outcome:
        have = glibc or self._of_system(host, matrix)
        need = signals.value("glibc_need")
        if need and (not is_version(have) or versions.release(have) < versions.release(need)):
            shown = f"this system has {have}" if have else "this system is older"
            return Found(detail=f"A library asks for glibc {need}; {shown}.", facts=("glibc",) if glibc else ("os",) if host["os"] else ())
        if not is_version(have):
            return None
        floors = self._floors(host, matrix, signals, commands, wishes)
        for name, floor, row in floors:
            if versions.release(have) < versions.release(floor):
                detail = f"{name} needs glibc {floor}; this system has {have}."
                return Found(detail=detail, facts=("glibc",) if glibc else ("os",), sources=cite(matrix, row))
        return Fits(f"glibc {have} is new enough for {floors[0][0]}") if floors else None

    @staticmethod
    def _of_system(host: Host, matrix: Matrix) -> str:
        system = matrix.system(host["os"] or "")
        return system.glibc if system else ""

    @staticmethod
    def _floors(
        host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
    ) -> list[tuple[str, str, rows.Build]]:
        """Lowest floor of what is asked for, and the floor of what is installed."""
        found = []
        for name, specifier in wanted(host, matrix, signals, commands, wishes).items():
            rows = [row for row in candidates(matrix, name, specifier) if is_version(row.glibc)]
            if rows:
                lowest = min(rows, key=lambda row: versions.release(row.glibc))
                found.append((f"{name}{specifier}", lowest.glibc, lowest))
        own = [(item.label, item.row) for item in installed(host, matrix) if item.row and not item.inferred]
        return found + [(label, row.glibc, row) for label, row in own if is_version(row.glibc)]


class LibstdcxxTooOld(Rule):
    """libstdc++ lacks symbols that the build needs.

    What:
        The libstdc++ that is loaded does not define a GLIBCXX or CXXABI version that a library asks for.
    Why:
        A conda environment or an old base image often shadows a newer copy of the system.
    Fix:
        Update libstdc++, or put the newer copy first.
    Sources:
        - https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
    """

    area = "libraries"
    asks = ("libstdcxx",)
    remedy = Fix("Update libstdc++, or put the newer copy first.", ("conda install -c conda-forge libstdcxx-ng",))

    def check(self, signals: Hearing, libstdcxx: str | None = None) -> Outcome:
        need = signals.value("glibcxx_need")
        if not need:
            return None
        have = f"; the loaded one ends at {libstdcxx}" if libstdcxx else ""
        return Found(detail=f"A library asks for {need} of libstdc++{have}.", facts=("libstdcxx",) if libstdcxx else ())


class MuslLibc(Rule):
    """The C library is musl, for which frameworks publish no wheels.

    What:
        The system uses musl (Alpine), and a framework has wheels for glibc only.
    Why:
        A glibc binary cannot be loaded by musl's loader.
    Fix:
        Use a glibc base image, such as debian:12-slim or ubuntu:22.04.
    Sources:
        - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    area = "platform"
    asks = ("libc",)
    remedy = Fix("Use a glibc base image, such as debian:12-slim or ubuntu:22.04.")

    def check(self, libc: str, host: Host, signals: Hearing, wishes: tuple[str, ...]) -> Outcome:
        if libc != "musl":
            return None
        needed = wishes or signals.harmful or host["gpus"]
        return Found(detail="musl loads no glibc wheels.", facts=("libc",), severity="error" if needed else "warning")


class CpuInstructionsMissing(Rule):
    """The processor lacks instructions that the build was compiled for.

    What:
        A feature that the build needs (AVX for TensorFlow and jaxlib) is not among the processor's.
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
    remedy = Fix("Expose the instructions to the virtual machine (processor model host), or use another host or a build without them.")

    def check(self, host: Host, matrix: Matrix, cpu_flags: tuple[str, ...]) -> Outcome:
        if host["arch"] not in {None, "x86_64", "amd64"}:
            return None
        for item in installed(host, matrix):
            row = item.row or row_of(matrix, item.name, item.version, "", host)
            missing = [flag for flag in (row.cpu if row else ()) if flag not in cpu_flags]
            if missing:
                return Found(detail=f"{item.label} needs {', '.join(missing)}.", facts=("cpu_flags", item.fact), sources=cite(matrix, row))
        return Fits("the processor has what the builds need") if any(item.row and item.row.cpu for item in installed(host, matrix)) else None


RULES = family(PlatformUnsupported, CpuInstructionsMissing, MuslLibc, GlibcTooOld, LibstdcxxTooOld, PythonUnsupported)
