"""The Python API: what the commands answer, as typed and frozen values.

Each function answers as the command of its name does (``diagnose`` is ``doctor``, ``show`` is ``matrix show``), and
reads no ``pyproject.toml``. :func:`document` gives a value as the JSON of its published schema (``docs/schemas``).
``docs/api.md`` shows each function and says what is stable.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypedDict

from compat.errors import CannotCheckError, EnvcheckError, InputError, NoPlanError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Unpack

    from compat.app.inspection import Inspected
    from compat.app.plans import Target
    from compat.facts import Host
    from compat.findings import Report, Stamp
    from compat.matrix import Matrix
    from compat.plan import Answer, Plan
    from compat.render.explanation import Explanation
    from compat.tables import Table

__all__ = [
    "CannotCheckError",
    "Diagnosis",
    "Dockerfile",
    "EnvcheckError",
    "InputError",
    "Machine",
    "NoPlanError",
    "diagnose",
    "dockerfile",
    "document",
    "explain",
    "inspect",
    "lint",
    "resolve",
    "show",
]


class Machine(TypedDict, total=False):
    """The machine that a plan or a file is for. Every key may be left out.

    Attributes:
        host: file with the facts of a machine, or ``this``.
        gpus: GPUs by name, PCI id, ``sm_XX`` or ``gfxNNN``.
        driver: version of the NVIDIA or amdgpu driver.
        cuda: only this CUDA runtime, ``X.Y``; ``rocm`` likewise.
        cpu: whether a CPU build is wanted; none is chosen otherwise.
        python: only this Python, ``X.Y``.
        os: such as ``ubuntu22.04``.
        arch: ``x86_64`` or ``aarch64``.
        prefer: ``proven`` (the default), ``newest``, ``smallest``, ``oldest-driver`` or ``stable``.
    """

    host: str
    gpus: Sequence[str]
    driver: str
    cuda: str
    rocm: str
    cpu: bool
    python: str
    os: str
    arch: str
    prefer: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the doctor found: the ``report``, the ``host`` that was judged, and who says it and when (``stamp``)."""

    report: Report
    host: Host
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """The ``text`` of a Dockerfile, its ``plan``, and ``notes``: what was assumed, what the image cannot do."""

    text: str
    plan: Plan
    notes: tuple[str, ...]


def diagnose(
    *requirements: str,
    host: str = "",
    report: str = "",
    pasted: str = "",
    image: str = "",
    error: str = "",
    log: str = "",
    python: str = "",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    require: Sequence[str] = (),
    expect_gpus: int = 0,
    timeout: float = 5.0,
    matrix: Sequence[str] = (),
) -> Diagnosis:
    """Find what does not fit on this machine, or on the one that is described, and what mends it.

    Args:
        *requirements: what should run there, such as ``torch==2.9.1``.
        host: file with the facts of another machine.
        report: file with a pasted report or issue.
        pasted: text of a report or issue.
        image: container image that is to run there.
        error: error text to explain.
        log: file with an error text.
        python: another interpreter or environment of this machine.
        select: only these codes, or their beginnings.
        ignore: not these codes.
        require: subjects that must have been checked and be there, such as ``gpu``.
        expect_gpus: number of GPUs that must be there.
        timeout: seconds for all detectors together.
        matrix: files of rows to lay over the matrix.

    Raises:
        InputError: for what contradicts itself or cannot be read.
        CannotCheckError: if no engine has the image.
    """
    from compat.app.doctor import Question, examine
    from compat.app.matrices import stamp

    known = _matrix(tuple(matrix))
    question = Question(
        wishes=_wanted(requirements),
        host=host,
        report=report,
        pasted=pasted,
        image=image,
        error=error,
        log=log,
        python=python,
        select=tuple(select),
        ignore=tuple(ignore),
        require=tuple(require),
        gpus=expect_gpus,
        timeout=timeout,
    )
    return Diagnosis(*examine(question, known), stamp(known))


def resolve(*requirements: str, matrix: Sequence[str] = (), **machine: Unpack[Machine]) -> Answer:
    """Find builds that fit together and the machine, or the smallest sets of wishes that clash.

    Args:
        *requirements: what is wanted, such as ``torch==2.9.1``.
        matrix: files of rows to lay over the matrix.
        **machine: see :class:`Machine`; this machine where nothing describes one.

    Raises:
        InputError: for what is malformed, unknown or contradictory. That no plan exists is an answer, not an error.
    """
    from compat.app.plans import replies

    (reply,) = replies(_wanted(requirements), _target(machine), _matrix(tuple(matrix)))
    return reply.answer


def dockerfile(
    *requirements: str,
    platforms: Sequence[str] = (),
    image: Mapping[str, Any] | None = None,
    matrix: Sequence[str] = (),
    **machine: Unpack[Machine],
) -> Dockerfile:
    """Write a Dockerfile that fits.

    Args:
        *requirements: what to install, such as ``torch==2.9.1``.
        platforms: such as ``linux/arm64``; one plan for all of them.
        image: wishes by the keys of ``[tool.envcheck.image]``, such as ``{"apt": ["git"]}``.
        matrix: files of rows to lay over the matrix.
        **machine: see :class:`Machine`; the default GPU build where nothing describes one.

    Raises:
        InputError: for what is malformed, unknown or contradictory, and for a target without containers.
        NoPlanError: with the explanation, if there is no plan.
    """
    from compat import dockerfile as writer
    from compat.app.images import settings_from
    from compat.app.platforms import named, planned_for

    settings = settings_from(image or {}, "image")
    target = _target(machine, anywhere=True)
    plan = planned_for(named(platforms), _wanted(requirements), target, _matrix(tuple(matrix)))
    return Dockerfile(writer.write(plan, settings), plan, (*plan.conditions, *writer.notes(plan, settings)))


def lint(
    *files: str,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    matrix: Sequence[str] = (),
    **machine: Unpack[Machine],
) -> Report:
    """Find conflicts in files, or in the files of folders.

    Args:
        *files: Dockerfile, requirements, environment, compose, project or lock files, or folders of them.
        select: only these codes, or their beginnings.
        ignore: not these codes.
        matrix: files of rows to lay over the matrix.
        **machine: what they are meant for; see :class:`Machine`.

    Raises:
        InputError: if a file cannot be read or its kind cannot be told.
        CannotCheckError: if a folder holds no file that is known.
    """
    from compat.app.lint import lint_files

    known = _matrix(tuple(matrix))
    return lint_files(files, known, select=tuple(select), ignore=tuple(ignore), target=_target(machine))


def inspect(
    subject: str,
    *,
    gpus: Sequence[str] = (),
    host: str = "",
    python: str = "",
    index: str = "",
    matrix: Sequence[str] = (),
) -> Inspected:
    """Show which SM, PTX and gfx targets a library, wheel or package carries, and which GPUs run it.

    Args:
        subject: file, folder, wheel or installed package; a wheel's address or ``name==version`` is read from afar.
        gpus: GPUs to judge, by name, ``sm_XX`` or ``gfxNNN``.
        host: host file whose GPUs are to be judged.
        python: interpreter or environment that has the package.
        index: index of a published wheel.
        matrix: files of rows to lay over the matrix.

    Raises:
        InputError: if it is neither a path nor a package, or a GPU is not known.
    """
    from compat.app.inspection import inspected

    return inspected(subject, _matrix(tuple(matrix)), gpus=gpus, host=host, python=python, index=index)


def explain(subject: str = "", *, matrix: Sequence[str] = ()) -> Explanation:
    """Explain a finding's code or an error text; without one, list the codes.

    Raises:
        InputError: if it is no code and no message in it is known.
    """
    from compat.app import explain as pages

    return pages.explain(subject, _matrix(tuple(matrix))) if subject else pages.codes()


def show(subject: str, *, matrix: Sequence[str] = ()) -> tuple[Table, ...]:
    """Tables of all that the matrix knows of one thing: ``torch==2.9.1``, ``sm_120``, ``RTX 4090``, ``cuda 12.8``.

    Raises:
        InputError: if nothing is known by that name.
    """
    from compat.app.showing import show as tables

    return tables(_matrix(tuple(matrix)), subject)


def document(value: Diagnosis | Report | Answer | Inspected | Explanation | tuple[Table, ...]) -> dict[str, Any]:
    """A value that these functions return as the JSON document of its schema.

    Raises:
        TypeError: if it is none of them.
    """
    from compat import facts, plan, tables
    from compat.app.inspection import Inspected
    from compat.findings import Report
    from compat.render import document as told
    from compat.render.explanation import Explanation

    match value:
        case Diagnosis():
            made = told.report(value.report, value.host, value.stamp)
        case Report():
            made = told.report(value, facts.Host())
        case plan.Answer():
            made = plan.dump(value)
        case Inspected() | Explanation():
            made = value.plain()
        case tuple():
            made = tables.document(value)
        case _:
            raise TypeError(f"no document is published for a {type(value).__name__}")
    return {key: facts.plain(item) for key, item in made.items()}


@lru_cache(maxsize=8)
def _matrix(files: tuple[str, ...]) -> Matrix:
    """The matrix under some files of rows; read once in a process, because reading costs more than most answers."""
    from compat.app.matrices import load

    return load(files)


def _wanted(requirements: Sequence[str]) -> tuple[str, ...]:
    """The requirements, if they are such."""
    from compat.app.wishes import demand_requirement

    for text in requirements:
        demand_requirement(text)
    return tuple(dict.fromkeys(requirements))


def _target(machine: Machine, *, anywhere: bool = False) -> Target:
    """The machine in the words of the use cases."""
    from compat.app.plans import Target

    given: dict[str, Any] = {**machine}
    host = given.pop("host", "")
    gpus = tuple(given.pop("gpus", ()))
    return Target(hosts=(host,) if host else (), gpus=gpus, anywhere=anywhere, **given)
