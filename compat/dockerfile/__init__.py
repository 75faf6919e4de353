"""Dockerfiles from plans: a pure function from values to text.

A plan is complete, so nothing is looked up here. Same plan and settings, same bytes: no clock, no set order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compat.dockerfile.system as system
from compat import resources
from compat.dockerfile.image import context, labels
from compat.dockerfile.settings import Settings, check

if TYPE_CHECKING:
    from compat.plan import Plan

__all__ = ["Settings", "ignore_file", "labels", "notes", "write"]


def write(plan: Plan, settings: Settings = Settings()) -> str:  # noqa: B008 - frozen
    """The Dockerfile of a plan.

    Raises:
        InputError: if the plan is for a system without containers, or a value could not be written safely.
    """
    check(settings)
    values = context(plan, settings)
    text = templates().get_template(f"{values['form']}.Dockerfile.j2").render(values)
    return _tidy(text)


def notes(plan: Plan, settings: Settings) -> tuple[str, ...]:
    """What the image cannot do and its reader may expect, with the option that changes it."""
    lacking = "torch.compile finds no compiler in this image: --compiler adds one"
    return (lacking,) if system.lacks_compiler(plan, settings) else ()


def ignore_file(settings: Settings) -> str:
    """A ``.dockerignore`` that sends the engine the files which the Dockerfile copies, and nothing else."""
    used = [source for source, _ in settings.files]
    used += [path for path in (settings.requirements_file, settings.lock) if path]
    head = "# Written by envcheck: the build reads these files only, and nothing else travels to the engine."
    return "\n".join([head, "*", *(f"!{path.rstrip('/')}" for path in dict.fromkeys(used))]) + "\n"


def templates() -> Any:
    """Templates that fail on a name they do not know, with the quoting that each place needs."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from compat.dockerfile import commands, quoting

    environment = Environment(  # noqa: S701 - not HTML; every value passes a filter made for its place
        loader=FileSystemLoader(resources.templates_dir()),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = {
        "shell": quoting.shell,
        "word": quoting.word,
        "exec_form": quoting.exec_form,
        "comment": quoting.comment,
        "run": commands.run,
        "pairs": commands.pairs,
    }
    environment.filters.update(filters)
    return environment


def _tidy(text: str) -> str:
    """Empty lines where they help: between instructions of different kinds, nowhere doubled, none at the ends."""
    lines: list[str] = []
    notes: list[str] = []
    before, inside = "", False
    for line in (raw.rstrip() for raw in text.split("\n")):
        if inside:
            lines.append(line)
        elif line.startswith("#"):
            notes.append(line)
        elif not line:
            lines += [*notes, ""] if notes and not before else []
            notes = [] if not before else notes
        else:
            keyword = line.split(" ", 1)[0]
            lines += [""] if before and (keyword != before or notes) else []
            lines += [*notes, line]
            before, notes = keyword, []
        inside = line.endswith("\\") and not line.startswith("#")
    return "\n".join(lines) + "\n"
