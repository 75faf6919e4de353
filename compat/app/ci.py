"""Expands the axes of ``[tool.envcheck.matrix]`` into cells that resolve, and tells why the others do not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from compat.app.configuration import table_of
from compat.app.files import read_document
from compat.app.plans import Target, replies
from compat.app.stored import stored_lists
from compat.ci import slug
from compat.errors import InputError, InputErrors
from compat.lazy import dataclass
from compat.survey import Cell, Excluded, Grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.matrix import Matrix
    from compat.plan import Answer

_KEYS: Final = ("frameworks", "runtime", "python", "os", "arch", "gpu", "driver")
_LIMIT: Final = 2000  # cells; GitHub allows 256 jobs per matrix, so more than this is a slip in the axes


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The axes of a matrix; an empty axis leaves that choice to the resolver.

    Attributes:
        frameworks: sets of requirements that share an image.
        runtime: ``cuda12.6``, ``cuda``, ``rocm6.4``, ``cpu``.
        python, os, arch: lists of what the target options take.
        gpu: GPUs with an image each; names joined by commas share one.
        driver: driver that every image must run on.

    The value ``newest`` of an axis takes the newest that fits.
    """

    frameworks: tuple[tuple[str, ...], ...]
    runtime: tuple[str, ...] = ("",)
    python: tuple[str, ...] = ("",)
    os: tuple[str, ...] = ("",)
    arch: tuple[str, ...] = ("",)
    gpu: tuple[str, ...] = ("",)
    driver: str = ""

    def over(self, **given: Any) -> Axes:
        """The axes with the options that were given in their place."""
        changed: dict[str, Any] = {
            key: value if key == "driver" else tuple(value) for key, value in given.items() if value
        }
        return replace(self, **changed)


def axes_of(requirements: Sequence[str]) -> Axes:
    """The axes of requirements that each get an image of their own."""
    return Axes(frameworks=tuple((item,) for item in requirements))


def axes_from(config: str) -> Axes:
    """The axes written in a ``pyproject.toml`` (or a TOML file of just that table); the one here if none is named.

    Raises:
        InputErrors: naming each key that is unknown or of the wrong kind.
    """
    name = config or "pyproject.toml"
    if not config and not Path(name).is_file():
        raise InputError(
            "nothing was asked for", expected="requirements, or a pyproject.toml with [tool.envcheck.matrix]"
        )
    document = read_document(name)
    raw = document if "frameworks" in document else table_of("matrix", config)
    if not isinstance(raw, dict):
        raise InputError("has no [tool.envcheck.matrix]", where=name, expected='frameworks = ["torch==2.9.1"]')
    where = f"{name}: [tool.envcheck.matrix]"
    faults = [
        InputError(f"unknown key {key!r}", where=where, expected=", ".join(_KEYS)) for key in raw if key not in _KEYS
    ]
    faults += [
        InputError(f"{key} is {raw[key]!r}", where=where, expected="a text" if key == "driver" else "a list of texts")
        for key in _KEYS
        if key in raw and not _is_axis(key, raw[key])
    ]
    if "frameworks" not in raw:
        faults.append(InputError("frameworks is missing", where=where, expected='frameworks = ["torch==2.9.1"]'))
    if faults:
        raise InputErrors(faults)
    sets = tuple((item,) if isinstance(item, str) else tuple(item) for item in raw["frameworks"])
    return Axes(frameworks=sets).over(**{key: value for key, value in raw.items() if key != "frameworks"})


def _is_axis(key: str, value: Any) -> bool:
    """Whether a value may be an axis; a list in ``frameworks`` may hold several packages for one cell."""
    if key == "driver":
        return isinstance(value, str)
    if key == "frameworks" and isinstance(value, list):
        return bool(value) and all(_is_axis("", [item] if isinstance(item, str) else item) for item in value)
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def grid_of(axes: Axes, matrix: Matrix) -> Grid:
    """Every combination of the axes, resolved.

    Raises:
        InputError: if the axes multiply to more cells than any CI runs, or a requirement is malformed.
    """
    values = [
        tuple("" if value == "newest" else value for value in axis)
        for axis in (axes.runtime, axes.python, axes.os, axes.arch, axes.gpu)
    ]
    every = product(axes.frameworks, *values)  # one image for the CPU serves all GPUs
    combinations = list(dict.fromkeys((*one[:-1], "") if one[1] == "cpu" else one for one in every))
    if len(combinations) > _LIMIT:
        raise InputError(f"the axes give {len(combinations)} cells", expected=f"at most {_LIMIT}")
    used: dict[str, int] = {}
    cells: list[Cell] = []
    excluded: list[Excluded] = []
    for wishes, target in _targets(combinations, axes.driver):
        name = _name(wishes, target, used, with_arch=any(axes.arch))
        answer = replies(wishes, target, matrix)[0].answer
        if answer.plan and answer.status == "plan":
            cells.append(_cell(name, wishes, answer))
        else:
            excluded.append(Excluded(name, wishes, _why(answer)))
    return Grid(tuple(cells), tuple(excluded))


def grid_from(names: Sequence[str]) -> Grid:
    """A cell for each stored plan, which goes into it unchanged.

    Raises:
        InputError: for a file that is no plan, or a plan without an image.
    """
    used: dict[str, int] = {}
    cells = []
    for answer in stored_lists(names):
        plan = answer.plan
        assert plan is not None
        if plan.base_image is None:
            raise InputError("this plan has no containers", where="--plan", expected="a plan for a Linux target")
        wishes = tuple(build.requirement for build in plan.builds if build.asked)
        name = _numbered(slug(*wishes, plan.runtime, f"py{plan.python}", plan.base_image.os, plan.arch), used)
        cells.append(_cell(name, wishes, answer))
    return Grid(tuple(cells))


def _numbered(name: str, used: dict[str, int]) -> str:
    """A name for a cell, with a number where another cell has it."""
    used[name] = used.get(name, 0) + 1
    return f"{name[:90]}-{used[name]}" if used[name] > 1 else name


def _name(wishes: tuple[str, ...], target: Target, used: dict[str, int], *, with_arch: bool) -> str:
    """A name for the cell; numbered where another cell has it (``torch>=2`` and ``torch==2`` read alike in a tag)."""
    runtime = [target.cuda and f"cuda{target.cuda}", target.rocm and f"rocm{target.rocm}", "cpu" if target.cpu else ""]
    arch = target.arch if with_arch else ""
    python = target.python and f"py{target.python}"
    return _numbered(slug(*wishes, *runtime, *target.gpus, python, target.os, arch), used)


def _targets(combinations: list[tuple[Any, ...]], driver: str) -> Iterator[tuple[tuple[str, ...], Target]]:
    """Wishes with the machine of each combination; a CPU cell has no GPU and no driver."""
    for wishes, runtime, python, os, arch, gpu in combinations:
        kind = {"cu": "cuda"}.get(runtime.rstrip("0123456789."), runtime.rstrip("0123456789."))
        if kind not in {"", "cpu", "cuda", "rocm"}:
            raise InputError(f"runtime {runtime!r}", where="runtime", expected="cuda12.6, rocm6.4 or cpu")
        number = runtime.lstrip("abcdefghijklmnopqrstuvwxyz")
        yield (
            wishes,
            Target(
                gpus=tuple(filter(None, map(str.strip, gpu.split(",")))),
                driver="" if kind == "cpu" else driver,
                cuda=number if kind == "cuda" else "",
                rocm=number if kind == "rocm" else "",
                cpu=kind == "cpu",
                python=python,
                os=os,
                arch=arch or "x86_64",
            ),
        )


def _cell(name: str, wishes: tuple[str, ...], answer: Answer) -> Cell:
    """A cell with the Dockerfile of its plan."""
    from compat import dockerfile

    assert answer.plan is not None
    return Cell(name=name, requirements=wishes, plan=answer.plan, dockerfile=dockerfile.write(answer.plan))


def _why(answer: Answer) -> str:
    """Why a cell has no plan: the first clash in its members' words, else what is not known."""
    if answer.conflicts:
        return "; ".join(member.text for member in answer.conflicts[0].members)
    return "; ".join(answer.conditions) or "not known"
