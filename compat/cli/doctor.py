"""``envcheck doctor``: what is broken on this machine, why, and what to type."""

from dataclasses import fields
from typing import Annotated, Any

import typer

from compat.cli import completion
from compat.cli.options import Detail, Formats, Knowledge, Speech, Texts, WishOptions, finite, level, typed
from compat.lazy import dataclass
from compat.render import NODE_FORMATS, REPORT_FORMATS, STAMPED


@dataclass(frozen=True, slots=True)
class Patient:
    """Which machine is meant, and what is said of it; nothing named means this one."""

    python: Annotated[str, typer.Option(metavar="PATH", help="Another interpreter or virtual environment.")] = ""
    host: Annotated[
        str, typer.Option(metavar="FILE", help="Facts of another machine, as `envcheck host` prints them.")
    ] = ""
    report: Annotated[
        str, typer.Option(metavar="FILE|-", help="A pasted collect_env, nvidia-smi, rocminfo, ... or issue.")
    ] = ""
    error: Annotated[str, typer.Option(metavar="TEXT", help="An error text to explain with the facts.")] = ""
    log: Annotated[str, typer.Option(metavar="FILE|-", help="A log that holds the error.")] = ""
    image: Annotated[str, typer.Option(metavar="IMAGE", help="Will this image run here?")] = ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Which findings count, and when the exit code says so."""

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
    require: Annotated[
        Texts, typer.Option(metavar="WHAT", help="Fail unless gpu, driver, framework, ... were checked and are there.")
    ] = None
    expect_gpus: Annotated[int, typer.Option(metavar="N", min=0, help="Fail unless N GPUs are there.")] = 0

    def settings(self) -> dict[str, Any]:
        """The same as arguments of :class:`compat.app.doctor.Question`."""
        return {
            "select": tuple(self.select or ()),
            "ignore": tuple(self.ignore or ()),
            "require": tuple(self.require or ()),
            "gpus": self.expect_gpus,
        }


def command(
    requirements: Annotated[
        Texts,
        typer.Argument(
            metavar="REQ", help="What should run here, such as torch==2.9.1.", autocompletion=completion.requirements
        ),
    ] = None,
    *,
    node: Annotated[str, typer.Option("--node", metavar="NAME", help="Name of this machine in the answer.")] = "",
    script: Annotated[
        bool, typer.Option("--script", help="Print the checked steps as a script to review, instead of the report.")
    ] = False,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, callback=finite, help="Deadline of all detectors together."),
    ] = 5.0,
    patient: Patient,
    verdicts: Verdicts,
    wishing: WishOptions,
    speech: Annotated[Speech, Formats(*REPORT_FORMATS, *NODE_FORMATS)],
    detail: Detail,
    knowledge: Knowledge,
) -> int:
    """Find what does not fit on this machine, and what mends it.

    Example: envcheck doctor torch==2.9.1

    Example: envcheck doctor --report issue.md --format markdown

    Example: envcheck doctor --require gpu,driver --expect-gpus 8

    Example: envcheck doctor --format jsonl --node n7
    """
    from compat import render
    from compat.app.doctor import Question, examine
    from compat.app.knowledge import load, stamp
    from compat.cli.progress import waiting

    threshold, matrix = level(verdicts.fail_on), load(knowledge.matrix)
    question = Question(
        wishes=wishing.wanted(requirements, matrix).known,
        timeout=timeout,
        words=typed(knowledge),
        **verdicts.settings(),
        **{item.name: getattr(patient, item.name) for item in fields(patient)},
    )
    with waiting("looking at the machine", quiet=speech.quiet):
        found, machine = examine(question, matrix)
    if script:
        from compat.render.script import script as steps

        speech.say(steps(found, machine))
        return found.exit_code(threshold)
    speech.say(
        render.report(
            found,
            machine,
            speech.format,
            colored=speech.colored,
            verbose=detail.verbose,
            quiet=speech.quiet,
            stamp=stamp(matrix, node) if speech.format in STAMPED else None,
        )
    )
    return found.exit_code(threshold)
