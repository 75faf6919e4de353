"""A grid of plans as CI systems read it: only cells that resolve, the others beside them with the reason.

Each cell carries its plan, so that a job needs no second resolution: it writes the Dockerfile from the plan, builds,
and verifies. YAML is written as its JSON subset where values come from people, so nothing can break out of a value.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from compat import plan as plans
from compat.errors import InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.plan import Plan

SCHEMA: Final = "envcheck.ci/1"
FORMATS: Final = ("json", "github", "workflow", "gitlab", "bake", "bake-hcl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One image to build: a name fit for tags and job names, what was asked, the plan, its Dockerfile."""

    name: str
    requirements: tuple[str, ...]
    plan: Plan
    dockerfile: str

    @property
    def platform(self) -> str:
        """Docker's name of the architecture."""
        return self.plan.platforms[0]

    @property
    def needs_gpu(self) -> bool:
        """Whether verifying it fully needs a device."""
        return self.plan.runtime not in {"cpu", plans.NO_CODE}


@dataclass(frozen=True, slots=True)
class Excluded:
    """A cell that has no plan, and why."""

    name: str
    requirements: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Grid:
    """All cells of a matrix, in the order of its axes."""

    cells: tuple[Cell, ...]
    excluded: tuple[Excluded, ...] = ()


def slug(*words: str) -> str:
    """A name for jobs, tags and targets: lower case, digits, dashes, at most 100 characters.

    >>> slug("torch==2.9.1", "cuda12.6", "py3.11")
    'torch-2-9-1-cuda12-6-py3-11'
    """
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")[:100].rstrip("-")


def write(grid: Grid, format: str, install: str = "") -> str:  # noqa: A002
    """The grid in one of :data:`FORMATS`.

    Args:
        grid: the cells.
        format: one of :data:`FORMATS`.
        install: what pip is given in a job that installs envcheck.

    Raises:
        InputError: for a format whose jobs install envcheck, where nothing says from where: a name alone may be
            somebody else's package.
    """
    writers = {
        "json": document,
        "github": github,
        "gitlab": gitlab,
        "bake": bake,
        "bake-hcl": bake_hcl,
    }
    if format == "workflow":
        return workflow(grid, install)
    return writers[format](grid)


def document(grid: Grid) -> str:
    """The ``envcheck.ci/1`` document: cells with their plans, excluded ones with their reasons."""
    cells = [
        {**_row(cell), "plan": plans.dump(plans.Answer(status="plan", plan=cell.plan))["plan"]} for cell in grid.cells
    ]
    excluded = [{"name": item.name, "requirements": list(item.requirements), "why": item.why} for item in grid.excluded]
    return json.dumps({"schema": SCHEMA, "cells": cells, "excluded": excluded}, indent=2, ensure_ascii=False) + "\n"


def github(grid: Grid) -> str:
    """A GitHub Actions matrix on one line, for ``fromJSON`` of a job's output; each cell carries its plan."""
    return json.dumps({"include": [{**_row(cell), "plan": _compact(cell)} for cell in grid.cells]}) + "\n"


def workflow(grid: Grid, install: str) -> str:
    """A whole GitHub Actions workflow: write, build and verify each image, keep the reports.

    Raises:
        InputError: if what is to be installed is not known.
    """
    if not install:
        raise InputError(
            "where the jobs install envcheck from is not known: this installation came from a folder",
            where="--format workflow",
            expected='install = "..." under [tool.envcheck.ci], a requirement or an address',
        )
    rows = (_literal(json.dumps({**_row(cell), "plan": _compact(cell)})) for cell in grid.cells)
    include = "\n".join(f"          - {row}" for row in rows)
    return _WORKFLOW.replace("@SOURCE@", _step(install)).replace("@INCLUDE@", include)


def _step(install: str) -> str:
    """The command of the step that installs, as a string of YAML that no runner expands."""
    return json.dumps(_literal(f"pip install {shlex.quote(install)}"))


def gitlab(grid: Grid) -> str:
    """A GitLab child pipeline: one job per cell."""
    jobs: dict[str, Any] = {"stages": ["images"]}
    for cell in grid.cells:
        script = ['printf "%s" "$ENVCHECK_PLAN" > plan.json', 'envcheck build --plan plan.json --tag "$ENVCHECK_TAG"']
        script.append('envcheck verify "$ENVCHECK_TAG" --format junit --output verify.xml')
        jobs[cell.name] = {
            "stage": "images",
            "tags": ["gpu" if cell.needs_gpu else "docker"],
            "variables": {"ENVCHECK_TAG": f"envcheck:{cell.name}", "ENVCHECK_PLAN": _compact(cell)},
            "script": script,
            "artifacts": {"when": "always", "reports": {"junit": "verify.xml"}},
        }
    return json.dumps(jobs, indent=2, ensure_ascii=False) + "\n"


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
    text = json.dumps(plans.dump(plans.Answer(status="plan", plan=cell.plan)), separators=(",", ":"))
    return text.replace("$", "\\u0024")


def _literal(text: str) -> str:
    """Text that GitHub leaves as it is: an opening of an expression becomes an expression whose value is that opening.

    Source: GitHub Actions, "Evaluate expressions in workflows and actions", literals.
    """
    return text.replace("${{", "${{ '${{' }}")


def _uninterpolated(dockerfile: str) -> str:
    """Bake interpolates ``${...}`` and ``%{...}`` in its values (HCL templates, JSON files too): doubled marks stay."""
    return dockerfile.replace("${", "$${").replace("%{", "%%{")


_WORKFLOW: Final = """\
# Made by `envcheck ci --format workflow`: each cell was resolved beforehand and carries its plan.
name: images
on:
  push:
  workflow_dispatch:
permissions:
  contents: read
jobs:
  image:
    name: ${{ matrix.name }}
    runs-on: ${{ matrix.gpu && vars.GPU_RUNNER || 'ubuntu-latest' }}
    timeout-minutes: 90
    strategy:
      fail-fast: false
      matrix:
        include:
@INCLUDE@
    env:
      IMAGE: envcheck:${{ matrix.name }}
      PLAN: ${{ matrix.plan }}
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2
      - uses: actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0
        with:
          python-version: '3.12'
      - run: @SOURCE@
      - run: printf '%s' "$PLAN" > plan.json
      - run: envcheck build --plan plan.json --tag "$IMAGE"
      - name: verify
        if: ${{ !matrix.gpu || vars.GPU_RUNNER }}
        run: envcheck verify "$IMAGE" --format junit --output verify.xml
      - name: not verified
        if: ${{ matrix.gpu && !vars.GPU_RUNNER }}
        run: echo '::warning::built and not verified, for the variable GPU_RUNNER names no runner with a GPU'
      - uses: actions/upload-artifact@ea165f8d65b6e75b540449e92b4886f43607fa02 # v4.6.2
        if: always()
        with:
          name: report-${{ matrix.name }}
          path: |
            plan.json
            verify.xml
          if-no-files-found: ignore
"""
