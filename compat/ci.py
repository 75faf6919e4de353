"""A grid of plans as CI systems read it: only cells that resolve, the others beside them with the reason.

A job needs no second resolution: it builds from its cell's plan and verifies. A pipeline is several files, since a plan
is read and reviewed as a file of its own; what comes from people is quoted, or held to its pattern.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from compat import resources
from compat.errors import InputError, InputErrors
from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.survey import Cell, Grid

SCHEMA: Final = "envcheck.ci/1"
FORMATS: Final = ("json", "github", "workflow", "gitlab", "bake", "bake-hcl")
# Format of a pipeline -> where its file stands in a repository; the template has the same name.
PIPELINES: Final = {"workflow": ".github/workflows/gpu-images.yml", "gitlab": "images/gitlab-ci.yml"}
HEAD: Final = "# Written by `envcheck ci"  # how a pipeline of ours begins
_PLANS: Final = "images"  # the folder of the plans, as the templates have it


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """What the jobs of a pipeline do beside the images.

    Attributes:
        install: what a job gives to pip to have envcheck: a requirement, a path or an address. Empty takes what the
            running installation came from (PEP 610), where it says so.
        registry: name before the tags, ``ghcr.io/team/gpu``, to which verified images of the branch are pushed. Empty
            pushes none from GitHub, and takes the project's own registry on GitLab.
        branch: branch whose images are pushed by GitHub; GitLab knows the default branch itself.
        runner: label of runners with a GPU. Without it, images for GPUs are built and told as not verified.
        schedule: when GitHub builds anew, in UTC, as cron has it; empty for never. GitLab keeps schedules elsewhere.
        attest: whether GitHub signs where a pushed image came from, and lists what is in it.
        sign: whether GitHub signs a pushed image with cosign by the job's own identity, without a key.
        scan: whether GitHub looks for known vulnerabilities, and pushes no image that has a critical one with a fix.
    """

    install: str = ""
    registry: str = ""
    branch: str = "main"
    runner: str = ""
    schedule: str = "17 4 * * 1"
    attest: bool = False
    sign: bool = False
    scan: bool = False


_WORDS: Final = {
    "registry": (r"[a-z0-9][a-z0-9.\-]*(:\d+)?(/[a-z0-9][a-z0-9._\-]*)+", "a name such as ghcr.io/team/gpu"),
    "branch": (r"[\w.\-/]+", "a branch"),
    "runner": (r"[\w.\-]+", "a label of runners"),
    "schedule": (r"[\d*,/\-]+( [\d*,/\-A-Za-z]+){4}", "five fields of cron"),
}


def check(jobs: Jobs, where: str) -> None:
    """Refuse what a pipeline could not hold as it is.

    Raises:
        InputErrors: naming each key, which ``where`` stands before.
    """
    faults = []
    for key, (pattern, expected) in _WORDS.items():
        text = getattr(jobs, key)
        if text and not re.fullmatch(pattern, text):
            faults.append(InputError(f"{key} is {text[:80]!r}", where=where, expected=expected))
    for key in ("attest", "sign"):
        if getattr(jobs, key) and not jobs.registry:
            why = f"{key} without a registry"
            faults.append(InputError(why, where=where, expected="registry, where the proof goes"))
    if faults:
        raise InputErrors(faults)


def slug(*words: str) -> str:
    """A name for jobs, tags and targets: lower case, digits, dashes, at most 100 characters.

    >>> slug("torch==2.9.1", "cuda12.6", "py3.11")
    'torch-2-9-1-cuda12-6-py3-11'
    """
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")[:100].rstrip("-")


def write(grid: Grid, format: str) -> str:  # noqa: A002
    """The grid in one of :data:`FORMATS` that is one file.

    Raises:
        InputError: for a pipeline, which :func:`pipeline` writes.
    """
    writers = {"json": document, "github": github, "bake": bake, "bake-hcl": bake_hcl}
    if format not in writers:
        raise InputError(
            "a pipeline is several files: the plan of each image stands beside it",
            where=f"--format {format}",
            expected="--output DIR, the root of the repository, such as --output .",
        )
    return writers[format](grid)


def pipeline(grid: Grid, format: str, jobs: Jobs, *, again: bool = False) -> dict[str, str]:  # noqa: A002
    """Path in the repository -> text: the pipeline in one of :data:`PIPELINES`, and a plan for each cell.

    With ``again``, where the axes are the project's own, a job tells when a newer envcheck plans otherwise.

    Raises:
        InputError: if what the jobs are to install is not known: a name alone may be somebody else's package.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    if not jobs.install:
        raise InputError(
            "where the jobs install envcheck from is not known: this installation came from a folder",
            where=f"--format {format}",
            expected='install = "..." under [tool.envcheck.ci], a requirement or an address',
        )
    place = PIPELINES[format]
    # Other marks than usual: both systems' own expressions are full of braces and brackets.
    environment = Environment(  # noqa: S701 - not HTML; values are quoted or held to their patterns
        loader=FileSystemLoader(resources.templates_dir()),
        undefined=StrictUndefined,
        variable_start_string="<<",
        variable_end_string=">>",
        block_start_string="<%",
        block_end_string="%>",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    install = f"pip install {shlex.quote(jobs.install)}"
    text = environment.get_template(f"{place.rpartition('/')[2]}.j2").render(
        jobs=jobs,
        again=again,
        cells=grid.cells,
        host=jobs.registry.partition("/")[0],
        install=json.dumps(_literal(install) if format == "workflow" else install),
    )
    # a line for each value of a plan, so that a change is read in a diff
    stored = {cell.name: json.dumps(cell.answer, indent=1, ensure_ascii=False) + "\n" for cell in grid.cells}
    return {place: text, **{f"{_PLANS}/{name}.json": plan for name, plan in stored.items()}}


def document(grid: Grid) -> str:
    """The ``envcheck.ci/1`` document: cells with their plans, excluded ones with their reasons."""
    cells = [{**_row(cell), "plan": cell.answer["plan"]} for cell in grid.cells]
    excluded = [{"name": item.name, "requirements": list(item.requirements), "why": item.why} for item in grid.excluded]
    return json.dumps({"schema": SCHEMA, "cells": cells, "excluded": excluded}, indent=2, ensure_ascii=False) + "\n"


def github(grid: Grid) -> str:
    """A GitHub Actions matrix on one line, for ``fromJSON`` of a job's output; each cell carries its plan."""
    return json.dumps({"include": [{**_row(cell), "plan": _compact(cell)} for cell in grid.cells]}) + "\n"


def bake(grid: Grid) -> str:
    """A docker-bake file: one target per cell with its Dockerfile inside, so that any builder can fan out.

    JSON is one of the two spellings that bake reads; :func:`bake_hcl` writes the other. The name before each tag is a
    variable, which bake takes from the environment:
    ``IMAGE=registry.example/team/gpu docker buildx bake -f FILE --push``.
    """
    targets = {
        cell.name: {
            "dockerfile-inline": _uninterpolated(cell.dockerfile),
            "platforms": [cell.platform],
            "tags": [f"${{IMAGE}}:{cell.name}"],
        }
        for cell in grid.cells
    }
    groups = {"default": {"targets": list(targets)}}
    return (
        json.dumps({"variable": {"IMAGE": {"default": "envcheck"}}, "group": groups, "target": targets}, indent=2)
        + "\n"
    )


def bake_hcl(grid: Grid) -> str:
    """The same targets as :func:`bake` in HCL, which people read and edit: a Dockerfile stands there line by line.

    Bake tells the two spellings apart by the file's name: call it ``docker-bake.hcl``.
    """
    names = ", ".join(_quoted(cell.name) for cell in grid.cells)
    blocks = ['variable "IMAGE" {\n  default = "envcheck"\n}\n', f'group "default" {{\n  targets = [{names}]\n}}\n']
    for cell in grid.cells:
        what = " ".join(" ".join([*cell.requirements, cell.plan.runtime, f"Python {cell.plan.python}"]).split())
        blocks.append(
            f"# {what}\n"
            f"target {_quoted(cell.name)} {{\n"
            f"  platforms = [{_quoted(cell.platform)}]\n"
            f'  tags = ["${{IMAGE}}:{_quoted(cell.name)[1:-1]}"]\n'
            f"  dockerfile-inline = {_text(cell.dockerfile)}\n"
            "}\n"
        )
    return "\n".join(blocks)


def _text(dockerfile: str) -> str:
    """A here-document, whose lines are taken as they are; a quoted string for what no line can hold.

    The word that ends it must be on no line of its own (HCL native syntax specification, "Template Expressions").
    """
    lines = dockerfile.split("\n")
    if lines[-1] or not all(line.isprintable() or line.replace("\t", "").isprintable() for line in lines):
        return _quoted(dockerfile)
    mark = "DOCKERFILE"
    while any(line.strip() == mark for line in lines):
        mark += "_"
    return f"<<{mark}\n{_uninterpolated(dockerfile)}{mark}"


def _quoted(text: str) -> str:
    """An HCL string; like JSON's, without its short escapes for backspace and form feed, and with templates undone."""
    found = json.dumps(_uninterpolated(text), ensure_ascii=False)
    return re.sub(r"\\(.)", lambda match: {"b": r"\u0008", "f": r"\u000c"}.get(match[1], match[0]), found)


def _row(cell: Cell) -> dict[str, Any]:
    return {
        "name": cell.name,
        "requirements": " ".join(cell.requirements),
        "runtime": cell.plan.runtime,
        "python": cell.plan.python,
        "platform": cell.platform,
        "base_image": cell.plan.base_image.image if cell.plan.base_image else "",
        "gpu": cell.needs_gpu,
    }


def _compact(cell: Cell) -> str:
    """The plan as JSON without a dollar sign, which GitHub, GitLab and shells would read: JSON has an escape for it."""
    return json.dumps(cell.answer, separators=(",", ":")).replace("$", "\\u0024")


def _literal(text: str) -> str:
    """Text that GitHub leaves as it is: an opening of an expression becomes an expression whose value is that opening.

    Source: GitHub Actions, "Evaluate expressions in workflows and actions", literals.
    """
    return text.replace("${{", "${{ '${{' }}")


def _uninterpolated(dockerfile: str) -> str:
    """Bake interpolates ``${...}`` and ``%{...}`` in its values (HCL templates, JSON files too): doubled marks stay."""
    return dockerfile.replace("${", "$${").replace("%{", "%%{")
