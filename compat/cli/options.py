"""Groups of options that commands share."""

import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from compat.cli import completion
from compat.errors import InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from compat.app.plans import Target
    from compat.app.wishes import Wishes
    from compat.findings import Threshold
    from compat.matrix import Matrix
    from compat.render.ink import Ink

Texts = list[str] | None


class Formats:
    """The formats of a command's answer, the default first; stands beside :class:`Speech` in its annotation."""

    def __init__(self, *names: str) -> None:
        self.names = names or ("text",)

    def demand(self, name: str) -> None:
        """Let a format pass.

        Raises:
            InputError: naming the formats there are, if it is none of them.
        """
        if name not in self.names:
            raise InputError(f"format {name!r} is not known here", where="--format", expected=", ".join(self.names))


_CHOICES: Final = {"form": "plain or factory", "builder": "buildkit or classic", "installer": "pip, uv or auto"}
LANG: Final = "Language of text: en or zh-CN. [default: that of the locale]"


def format_option(formats: Formats) -> Any:
    """The annotation of ``--format`` for a command that has these formats."""
    return Annotated[
        str,
        typer.Option(
            "--format", "-f", metavar="FORMAT", help=f"{', '.join(formats.names)}.", autocompletion=completion.formats
        ),
    ]


def requested(text: str) -> Any:
    """The argument REQ of a command, with its help."""
    return typer.Argument(metavar="REQ", help=text, autocompletion=completion.requirements)


def gpu_option(text: str) -> Any:
    """The option ``--gpu`` of a command, with its help."""
    return typer.Option("--gpu", metavar="NAME", help=text, autocompletion=completion.gpus)


_LONGEST_WAIT: Final = 30 * 24 * 3600  # seconds; longer ones overflow the clocks of some systems


def finite(option: typer.CallbackParam, seconds: float) -> float:
    """A number of seconds to wait.

    Raises:
        InputError: for infinity, for what is no number, and for months: none of them is a deadline.
    """
    if not seconds <= _LONGEST_WAIT:
        raise InputError(f"{seconds:g} seconds", where=f"--{option.name}", expected="at most 30 days, such as 30")
    return seconds


Deadline = Annotated[
    float, typer.Option(metavar="SECONDS", min=0.1, callback=finite, help="Deadline of all detectors together.")
]


@dataclass(frozen=True, slots=True)
class Speech:
    """Where and how an answer is said."""

    format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORMAT", help="How to say it; text is for people.")
    ] = "text"
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write the answer to FILE, whole or not at all.")
    ] = ""
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the answer.")] = False
    lang: Annotated[str, typer.Option("--lang", metavar="LANG", help=LANG)] = ""
    no_color: Annotated[
        bool, typer.Option("--no-color", help="No colours (NO_COLOR works too); TERM=dumb: words for marks.")
    ] = False

    @property
    def colored(self) -> bool:
        """Whether colours help: a terminal reads standard output, or FORCE_COLOR is set, and nobody objects.

        An option outweighs the environment, and NO_COLOR outweighs FORCE_COLOR (https://no-color.org,
        https://force-color.org).
        """
        from os import environ

        if self.no_color or self.output not in {"", "-"} or environ.get("NO_COLOR"):
            return False
        return bool(environ.get("FORCE_COLOR")) or (environ.get("TERM") != "dumb" and sys.stdout.isatty())

    def say(self, text: str) -> None:
        """Print the answer, or write it to ``--output``; no line at all for an answer without words."""
        ended = text if text.endswith("\n") or not text else text + "\n"
        if self.output not in {"", "-"}:
            from compat.app.files import write_atomically

            write_atomically(self.output, ended)
        else:
            sys.stdout.write(ended)

    def pen(self) -> "Ink":
        """What words for people are written with."""
        from compat.render import ink

        return ink.ink(colored=self.colored)

    def tell(self, body: "Mapping[str, Any] | Sequence[Mapping[str, Any]]", text: "Callable[[Ink], str]") -> None:
        """Say a document, or the same in words, whichever was asked for."""
        from compat.render import document

        self.say(document.encode(body) if self.format == "json" else text(self.pen()))

    def note(self, text: str) -> None:
        """Say something beside the answer, on standard error."""
        if not self.quiet:
            sys.stderr.write(text + "\n")


@dataclass(frozen=True, slots=True)
class Choice:
    """Which findings are told, and from which level the exit code says so."""

    select: Annotated[
        Texts,
        typer.Option(
            metavar="CODE", help="Only these findings (code or its beginning).", autocompletion=completion.codes
        ),
    ] = None
    ignore: Annotated[
        Texts, typer.Option(metavar="CODE", help="Not these findings.", autocompletion=completion.codes)
    ] = None
    fail_on: Annotated[
        str, typer.Option(metavar="LEVEL", help="Exit 1 from this level: certain (error), error, warning, info, never.")
    ] = "error"


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a report is told."""

    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="All evidence with its places, and the sources.")] = (
        False
    )


@dataclass(frozen=True, slots=True)
class Overlay:
    """Which matrix answers."""

    matrix: Annotated[
        Texts, typer.Option("--matrix", metavar="FILE", help="Lay your own rows over the matrix (repeatable).")
    ] = None


@dataclass(frozen=True, slots=True)
class WishOptions:
    """What is wanted beside the requirements that stand alone."""

    framework: Annotated[
        Texts,
        typer.Option(
            "--framework", metavar="REQ", help="The same as REQ (repeatable).", autocompletion=completion.requirements
        ),
    ] = None
    requirements_file: Annotated[
        Texts, typer.Option("-r", "--requirements", metavar="FILE", help="Requirements of a file (repeatable).")
    ] = None

    def wanted(self, typed: Texts, matrix: "Matrix", *, conda: bool = False) -> "Wishes":
        """All that is wanted, in the order: typed alone, behind ``--framework``, in files."""
        from compat.app.wishes import wanted

        return wanted((*(typed or ()), *(self.framework or ())), self.requirements_file or (), matrix, conda=conda)


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """Whether the index tells of packages that the matrix has no rows of."""

    online: Annotated[
        bool, typer.Option("--online", help="Judge packages without rows by what the index publishes of them.")
    ] = False

    def laid_over(self, requirements: "Iterable[str]", matrix: "Matrix", speech: "Speech") -> "Matrix":
        """The matrix with rows of the packages that it has none of; a note says what the index does not tell."""
        from compat.app.unlisted import laid_over
        from compat.cli.progress import waiting

        with waiting("reading the index", quiet=speech.quiet or not self.online):
            matrix, failed = laid_over(requirements, matrix, online=self.online)
        for text in failed:
            speech.note(f"note: {text}")
        return matrix

    def wanted(
        self, wishing: WishOptions, typed: Texts, matrix: "Matrix", speech: "Speech", *, conda: bool = False
    ) -> "tuple[Matrix, Wishes]":
        """The matrix with rows of the packages that it has none of, and what is wanted as that matrix weighs it."""
        wishes = wishing.wanted(typed, matrix, conda=conda)
        for python in wishes.pythons:
            speech.note(f"note: conda's file names Python {python}, which only --python asks for")
        fuller = self.laid_over((*wishes.known, *wishes.beside), matrix, speech)
        return fuller, wishes if fuller is matrix else wishing.wanted(typed, fuller, conda=conda)


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The machine that a plan is for; see :meth:`target` for what counts where nothing is given."""

    host: Annotated[
        Texts, typer.Option("--host", metavar="FILE", help="Facts of a machine (JSON, TOML, or this; repeatable).")
    ] = None
    gpu: Annotated[Texts, gpu_option("GPU by name, PCI id, sm_XX, gfxNNN or instance type (repeatable).")] = None
    driver: Annotated[str, typer.Option("--driver", metavar="V", help="NVIDIA or amdgpu driver version.")] = ""
    cuda: Annotated[str, typer.Option("--cuda", metavar="X.Y", help="Only this CUDA runtime.")] = ""
    rocm: Annotated[str, typer.Option("--rocm", metavar="X.Y", help="Only this ROCm runtime.")] = ""
    cpu: Annotated[bool, typer.Option("--cpu", help="A CPU build, on purpose.")] = False
    python: Annotated[str, typer.Option("--python", metavar="X.Y", help="Only this Python.")] = ""
    os: Annotated[
        str, typer.Option("--os", metavar="OS", help="System, as in ubuntu22.04; or wsl2, windows, macos.")
    ] = ""
    arch: Annotated[str, typer.Option("--arch", metavar="ARCH", help="x86_64 or aarch64.")] = ""
    prefer: Annotated[
        str, typer.Option("--prefer", metavar="RULE", help="proven, newest, smallest, oldest-driver or stable.")
    ] = "proven"
    plan: Annotated[str, typer.Option("--plan", metavar="FILE", help="A stored plan instead of resolving.")] = ""

    def target(self, command: str = "resolve", *rest: object) -> "Target":
        """The same in the words of the use cases; the command and its other groups of options go into its fixes.

        An image runs elsewhere: what the machine that writes it has counts only where ``--host this`` says so.
        """
        from compat.app.plans import Target
        from compat.asking import Asking

        words = tuple(word for group in rest for word in (group if isinstance(group, tuple) else typed(group)))
        same = ("driver", "cuda", "rocm", "cpu", "python", "os", "arch", "prefer")
        return Target(
            **{name: getattr(self, name) for name in same},
            hosts=tuple(self.host or ()),
            gpus=tuple(self.gpu or ()),
            stored=self.plan,
            asking=Asking(command, words),
            anywhere=command in {"dockerfile", "build"},
        )


def typed(group: Any) -> tuple[str, ...]:
    """A group of options as the words that were typed for it; options left at their default need none."""
    words: list[str] = []
    for item in fields(group):
        option, value = f"--{item.name.replace('_', '-')}", getattr(group, item.name)
        if value == item.default:
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, str(one)]
    return tuple(words)


def level(text: str) -> "Threshold":
    """The ``--fail-on`` level.

    Raises:
        InputError: if it is none.
    """
    match text:
        case "certain" | "error" | "warning" | "info" | "never":
            return text
        case _:
            raise InputError(
                f"level {text!r} is not known", where="--fail-on", expected="certain, error, warning, info or never"
            )


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """Wishes about an image, over those of ``[tool.envcheck.image]``."""

    config: Annotated[
        str, typer.Option(metavar="FILE", help="File with [tool.envcheck.image]; ./pyproject.toml if there.")
    ] = ""
    form: Annotated[
        str, typer.Option(metavar="FORM", help="plain, or factory: mirrors, caches, the whole plan and a deep check.")
    ] = ""
    builder: Annotated[str, typer.Option(metavar="KIND", help="buildkit, or classic for engines without it.")] = ""
    installer: Annotated[str, typer.Option(metavar="TOOL", help="pip, uv or auto.")] = ""
    requirement: Annotated[Texts, typer.Option(metavar="REQ", help="Further requirement (repeatable).")] = None
    apt: Annotated[Texts, typer.Option(metavar="PACKAGE", help="Further system package (repeatable).")] = None
    conda: Annotated[
        Texts, typer.Option(metavar="NAME", help="Package of conda-forge, Python then comes from there (repeatable).")
    ] = None
    compiler: Annotated[
        bool, typer.Option("--compiler", help="A C compiler and Python's headers, for torch.compile and Triton.")
    ] = False
    digest: Annotated[str, typer.Option(metavar="SHA256", help="Digest of the base image.")] = ""
    lock: Annotated[str, typer.Option(metavar="FILE", help="Requirements with hashes, in the build context.")] = ""

    def given(self, wishes: "Wishes") -> "dict[str, object]":
        """The wishes that were stated, by the names of the image settings, with those of files that were named.

        Raises:
            InputError: for a form, builder or installer that is none, or a file in place of a requirement.
        """
        from compat.app.wishes import demand_requirement

        for text in self.requirement or ():
            demand_requirement(text, "--requirement")
        words = {name: getattr(self, name) for name in _CHOICES}
        for name, word in words.items():
            if word not in {"", *_CHOICES[name].replace(" or ", ", ").split(", ")}:
                raise InputError(f"{name} {word!r}", where=f"--{name}", expected=_CHOICES[name])
        return {
            **words,
            "requirements": (*(self.requirement or ()), *wishes.beside),
            "apt": tuple(self.apt or ()),
            "conda": (*(self.conda or ()), *wishes.conda),
            "channels": wishes.channels,
            "compiler": self.compiler or None,
            "digest": self.digest,
            "lock": self.lock,
        }


@dataclass(frozen=True, slots=True)
class PlatformOptions:
    """What an image is to run on, as its builder names it."""

    platform: Annotated[
        Texts, typer.Option(metavar="OS/ARCH", help="linux/amd64,linux/arm64: one plan for all (repeatable).")
    ] = None

    def names(self) -> "tuple[str, ...]":
        """Each platform once; none where it is left to the target."""
        from compat.app.platforms import named

        return named(self.platform or ())
