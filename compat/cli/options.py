"""Groups of options that commands share."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from compat.errors import InputError

if TYPE_CHECKING:
    from compat.app.plans import Target
    from compat.findings import Threshold

Texts = list[str] | None


@dataclass(frozen=True)
class Speech:
    """Where and how an answer is said."""

    format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORMAT", help="How to say it; text is for people.")
    ] = "text"
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write the answer to FILE, atomically.")
    ] = ""
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the answer.")] = False
    no_color: Annotated[bool, typer.Option("--no-color", help="Plain text (NO_COLOR works too).")] = False

    def one_of(self, formats: "tuple[str, ...]") -> str:
        """The format, if the command has it.

        Raises:
            InputError: naming the formats there are.
        """
        if self.format not in formats:
            raise InputError(f"format {self.format!r} is not known here", where="--format", expected=", ".join(formats))
        return self.format

    @property
    def colored(self) -> bool:
        """Whether colours help: a terminal reads standard output and nobody objects."""
        from os import environ

        plain = self.no_color or self.output or environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
        return not plain and sys.stdout.isatty()

    def say(self, text: str) -> None:
        """Print the answer, or write it to ``--output``."""
        ended = text if text.endswith("\n") else text + "\n"
        if self.output:
            from compat.app.files import write_atomically

            write_atomically(self.output, ended)
        else:
            sys.stdout.write(ended)

    def note(self, text: str) -> None:
        """Say something beside the answer, on standard error."""
        if not self.quiet:
            sys.stderr.write(text + "\n")


@dataclass(frozen=True)
class Knowledge:
    """Which matrix answers."""

    matrix: Annotated[
        Texts, typer.Option("--matrix", metavar="FILE", help="Lay your own rows over the matrix (repeatable).")
    ] = None


@dataclass(frozen=True)
class TargetOptions:
    """The machine that a plan is for; nothing given means this one."""

    host: Annotated[
        Texts, typer.Option("--host", metavar="FILE", help="Facts of another machine (JSON or TOML; repeatable).")
    ] = None
    gpu: Annotated[
        Texts, typer.Option("--gpu", metavar="NAME", help="GPU by name, PCI id, sm_XX or gfxNNN (repeatable).")
    ] = None
    driver: Annotated[str, typer.Option("--driver", metavar="V", help="NVIDIA or amdgpu driver version.")] = ""
    cuda: Annotated[str, typer.Option("--cuda", metavar="X.Y", help="Only this CUDA runtime.")] = ""
    rocm: Annotated[str, typer.Option("--rocm", metavar="X.Y", help="Only this ROCm runtime.")] = ""
    cpu: Annotated[bool, typer.Option("--cpu", help="A CPU build, on purpose.")] = False
    python: Annotated[str, typer.Option("--python", metavar="X.Y", help="Only this Python.")] = ""
    os: Annotated[str, typer.Option("--os", metavar="OS", help="Operating system, as in ubuntu22.04.")] = ""
    arch: Annotated[str, typer.Option("--arch", metavar="ARCH", help="x86_64 or aarch64.")] = ""
    prefer: Annotated[
        str, typer.Option("--prefer", metavar="RULE", help="newest, smallest, oldest-driver or stable.")
    ] = "newest"
    plan: Annotated[str, typer.Option("--plan", metavar="FILE", help="A stored plan instead of resolving.")] = ""

    def target(self) -> "Target":
        """The same in the words of the use cases."""
        from compat.app.plans import Target

        return Target(
            hosts=tuple(self.host or ()),
            gpus=tuple(self.gpu or ()),
            driver=self.driver,
            cuda=self.cuda,
            rocm=self.rocm,
            cpu=self.cpu,
            python=self.python,
            os=self.os,
            arch=self.arch,
            prefer=self.prefer,
            stored=self.plan,
        )


def level(text: str) -> "Threshold":
    """The ``--fail-on`` level.

    Raises:
        InputError: if it is none.
    """
    match text:
        case "error" | "warning" | "info" | "never":
            return text
        case _:
            raise InputError(
                f"level {text!r} is not known", where="--fail-on", expected="error, warning, info or never"
            )


@dataclass(frozen=True)
class ImageOptions:
    """Wishes about an image, over those of ``[tool.envcheck.image]``."""

    config: Annotated[
        str, typer.Option(metavar="FILE", help="File with [tool.envcheck.image]; ./pyproject.toml if there.")
    ] = ""
    builder: Annotated[str, typer.Option(metavar="KIND", help="buildkit, or classic for engines without it.")] = ""
    installer: Annotated[str, typer.Option(metavar="TOOL", help="pip, uv or auto.")] = ""
    requirement: Annotated[Texts, typer.Option(metavar="REQ", help="Further requirement (repeatable).")] = None
    apt: Annotated[Texts, typer.Option(metavar="PACKAGE", help="Further system package (repeatable).")] = None
    digest: Annotated[str, typer.Option(metavar="SHA256", help="Digest of the base image.")] = ""
    lock: Annotated[str, typer.Option(metavar="FILE", help="Requirements with hashes, in the build context.")] = ""

    def given(self) -> "dict[str, object]":
        """The wishes that were stated, by the names of the image settings.

        Raises:
            InputError: for a builder or installer that is none.
        """
        if self.builder not in {"", "buildkit", "classic"}:
            raise InputError(f"builder {self.builder!r}", where="--builder", expected="buildkit or classic")
        if self.installer not in {"", "pip", "uv", "auto"}:
            raise InputError(f"installer {self.installer!r}", where="--installer", expected="pip, uv or auto")
        return {
            "builder": self.builder,
            "installer": self.installer,
            "requirements": tuple(self.requirement or ()),
            "apt": tuple(self.apt or ()),
            "digest": self.digest,
            "lock": self.lock,
        }


@dataclass(frozen=True)
class ProbeOptions:
    """What to probe, and for how long."""

    level: Annotated[str, typer.Option(metavar="LEVEL", help="driver, framework, bench or stress.")] = "framework"
    framework: Annotated[
        Texts, typer.Option("--framework", metavar="MODULE", help="torch, tensorflow, jax or paddle; those installed.")
    ] = None
    expect: Annotated[str, typer.Option(metavar="RUNTIME", help="Planned runtime, such as cuda12.6 or cpu.")] = ""
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=1, help="Deadline of the whole run.")] = 600.0
    seconds: Annotated[float, typer.Option(metavar="SECONDS", min=1, help="Length of the stress level.")] = 60.0
