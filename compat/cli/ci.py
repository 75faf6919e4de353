"""``envcheck ci``: the valid cells of a matrix of images."""

from pathlib import Path
from typing import Annotated

import typer

from compat.ci import FORMATS
from compat.cli.options import Formats, IndexOptions, Overlay, Speech, Texts, WishOptions, requested
from compat.survey import Grid


def command(
    requirements: Annotated[Texts, requested("Frameworks, one image each (or --config).")] = None,
    *,
    config: Annotated[
        str, typer.Option(metavar="FILE", help="File with [tool.envcheck.matrix]; pyproject.toml if no REQ.")
    ] = "",
    runtime: Annotated[Texts, typer.Option(metavar="RUNTIME", help="cuda12.6, rocm6.4 or cpu (repeatable).")] = None,
    python: Annotated[Texts, typer.Option(metavar="X.Y", help="Python (repeatable).")] = None,
    os: Annotated[Texts, typer.Option(metavar="OS", help="Base system, ubuntu22.04 (repeatable).")] = None,
    arch: Annotated[Texts, typer.Option(metavar="ARCH", help="x86_64 or aarch64 (repeatable).")] = None,
    gpu: Annotated[
        Texts, typer.Option(metavar="NAME", help="GPU with an image of its own; A100,H100 share one (repeatable).")
    ] = None,
    driver: Annotated[str, typer.Option(metavar="V", help="Driver that every image must run on.")] = "",
    plan: Annotated[Texts, typer.Option(metavar="FILE", help="Stored plans, a cell each (repeatable).")] = None,
    wishing: WishOptions,
    index: IndexOptions,
    speech: Annotated[Speech, Formats("text", *FORMATS)],
    overlay: Overlay,
) -> int:
    """Expand a matrix of images into the cells that can work, with the reason for each that cannot.

    Example: envcheck ci torch==2.9.1 jax --runtime cuda12.6 --runtime cpu --python 3.12 --format github

    Example: envcheck ci torch==2.9.1 --gpu A100 --gpu H100 --format workflow --output .

    Example: envcheck ci --plan plan.json --format bake-hcl --output docker-bake.hcl
    """
    from compat.app.ci import axes_from, axes_of, grid_from, grid_of
    from compat.app.matrices import load
    from compat.errors import InputError

    matrix, wanted = index.wanted(wishing, requirements, load(overlay.matrix), speech)
    wishes = wanted.known
    if wanted.beside:
        speech.note(f"note: in no image, for nothing is known of them: {', '.join(wanted.beside)}")
    if wishes and config:
        raise InputError("requirements and --config both name frameworks", expected="one of them")
    given = {"runtime": runtime, "python": python, "os": os, "arch": arch, "gpu": gpu, "driver": driver}
    if plan:
        if wishes or config or any(given.values()):
            raise InputError("--plan replays stored plans", hint="drop the requirements and axes, or drop --plan")
        grid = grid_from(plan)
    else:
        base = axes_of(wishes) if wishes else axes_from(config)
        if not wishes:
            matrix = index.laid_over((line for each in base.frameworks for line in each), matrix, speech)
        grid = grid_of(base.over(**given), matrix)
    project = not (plan or wishes or config or overlay.matrix or any(given.values()))
    _tell(grid, speech, config, again=project)
    return 0 if grid.cells else 1


def _tell(grid: Grid, speech: Speech, config: str, *, again: bool) -> None:
    """Say the cells in the format asked for; a pipeline that goes into a folder is a file for each plan, too."""
    from compat import ci
    from compat.app.configuration import jobs_of
    from compat.app.files import write_tree

    if speech.format == "text":
        from compat.render.grid import text

        return speech.say(text(grid.cells, grid.excluded, pen=speech.pen()))
    for left in grid.excluded:  # a pipeline has no room for what is not in it
        speech.note(f"left out {left.name}: {left.why}")
    if not (speech.format in ci.PIPELINES and speech.output and Path(speech.output).is_dir()):
        return speech.say(ci.write(grid, speech.format))
    files = ci.pipeline(grid, speech.format, jobs_of(config), again=again)
    for name in write_tree(speech.output, files, ci.HEAD):
        speech.note(f"written: {name}")
    return None
