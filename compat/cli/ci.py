"""``envcheck ci``: the valid cells of a matrix of images."""

from typing import Annotated

import typer

from compat.ci import FORMATS
from compat.cli import completion
from compat.cli.options import Formats, Knowledge, Speech, Texts, WishOptions


def command(
    requirements: Annotated[
        Texts,
        typer.Argument(
            metavar="REQ", help="Frameworks, one image each (or --config).", autocompletion=completion.requirements
        ),
    ] = None,
    *,
    config: Annotated[
        str, typer.Option(metavar="FILE", help="File with [tool.envcheck.matrix]; pyproject.toml if no REQ.")
    ] = "",
    runtime: Annotated[Texts, typer.Option(metavar="RUNTIME", help="cuda12.6, rocm6.4 or cpu (repeatable).")] = None,
    python: Annotated[Texts, typer.Option(metavar="X.Y", help="Python (repeatable).")] = None,
    os: Annotated[Texts, typer.Option(metavar="OS", help="Base system, ubuntu22.04 (repeatable).")] = None,
    arch: Annotated[Texts, typer.Option(metavar="ARCH", help="x86_64 or aarch64 (repeatable).")] = None,
    gpu: Annotated[Texts, typer.Option(metavar="NAME", help="GPU that every image must serve (repeatable).")] = None,
    driver: Annotated[str, typer.Option(metavar="V", help="Driver that every image must run on.")] = "",
    plan: Annotated[Texts, typer.Option(metavar="FILE", help="Stored plans, a cell each (repeatable).")] = None,
    wishing: WishOptions,
    speech: Annotated[Speech, Formats("text", *FORMATS)],
    knowledge: Knowledge,
) -> int:
    """Expand a matrix of images into the cells that can work, with the reason for each that cannot.

    Example: envcheck ci torch==2.9.1 jax --runtime cuda12.6 --runtime cpu --python 3.12 --format github

    Example: envcheck ci --plan plan.json --format bake-hcl --output docker-bake.hcl
    """
    from compat import ci
    from compat.app.ci import axes_from, axes_of, grid_from, grid_of
    from compat.app.configuration import install_source
    from compat.app.knowledge import load
    from compat.errors import InputError

    matrix = load(knowledge.matrix)
    wishes = wishing.wanted(requirements, matrix).known
    if wishes and config:
        raise InputError("requirements and --config both name frameworks", expected="one of them")
    given = {"runtime": runtime, "python": python, "os": os, "arch": arch, "gpu": gpu, "driver": driver}
    if plan:
        if wishes or config or any(given.values()):
            raise InputError("--plan replays stored plans", hint="drop the requirements and axes, or drop --plan")
        grid = grid_from(plan)
    else:
        base = axes_of(wishes) if wishes else axes_from(config)
        grid = grid_of(base.over(**given), matrix)
    if speech.format == "text":
        from compat.render import ink
        from compat.render.grid import text

        speech.say(text(grid.cells, grid.excluded, pen=ink.ink(colored=speech.colored)))
    else:
        for left in grid.excluded:  # a pipeline has no room for what is not in it
            speech.note(f"left out {left.name}: {left.why}")
        speech.say(ci.write(grid, speech.format, install_source(config) if speech.format == "workflow" else ""))
    return 0 if grid.cells else 1
