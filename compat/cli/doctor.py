"""``envcheck doctor``: what is broken on this machine, why, and what to type."""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from compat.cli.options import (
    Choice,
    Deadline,
    Detail,
    Formats,
    Overlay,
    Speech,
    Texts,
    WishOptions,
    level,
    requested,
    typed,
)
from compat.errors import InputError
from compat.lazy import dataclass
from compat.render import NODE_FORMATS, REPORT_FORMATS, STAMPED

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Report
    from compat.matrix import Matrix


@dataclass(frozen=True, slots=True)
class Patient:
    """Which machine is meant, and what is said of it; nothing named means this one."""

    python: Annotated[str, typer.Option(metavar="PATH", help="Another interpreter or virtual environment.")] = ""
    host: Annotated[
        Texts, typer.Option(metavar="FILE", help="Facts of another machine, as `envcheck host` prints them.")
    ] = None
    report: Annotated[
        Texts, typer.Option(metavar="FILE|-", help="A pasted collect_env, nvidia-smi, rocminfo, ... or issue.")
    ] = None
    error: Annotated[str, typer.Option(metavar="TEXT", help="An error text to explain with the facts.")] = ""
    log: Annotated[str, typer.Option(metavar="FILE|-", help="A log that holds the error.")] = ""
    image: Annotated[str, typer.Option(metavar="IMAGE", help="Will this image run here?")] = ""

    def each(self) -> list[tuple[str, dict[str, Any]]]:
        """Each machine's name, and what says which it is, as arguments of :class:`compat.app.doctor.Question`.

        Raises:
            InputError: for several hosts with several reports, and for standard input twice.
        """
        said = {item.name: getattr(self, item.name) for item in fields(self)}
        hosts, reports = self.host or [""], self.report or [""]
        if len(hosts) > 1 and len(reports) > 1:
            raise InputError("several hosts and several reports", where="--report", hint="ask for each by itself")
        if (*hosts, *reports).count("-") > 1:
            raise InputError("standard input can be read only once", where="--report -")
        return [(host or one, {**said, "host": host, "report": one}) for host in hosts for one in reports]


@dataclass(frozen=True, slots=True)
class Demands:
    """What must have been checked, and be there."""

    require: Annotated[
        Texts, typer.Option(metavar="WHAT", help="Fail unless gpu, driver, framework, ... were checked and are there.")
    ] = None
    expect_gpus: Annotated[int, typer.Option(metavar="N", min=0, help="Fail unless N GPUs are there.")] = 0


def command(
    requirements: Annotated[Texts, requested("What should run here, such as torch==2.9.1.")] = None,
    *,
    node: Annotated[str, typer.Option("--node", metavar="NAME", help="Name of this machine in the answer.")] = "",
    script: Annotated[
        bool, typer.Option("--script", help="Print the checked steps as a script to review, instead of the report.")
    ] = False,
    timeout: Deadline = 5.0,
    patient: Patient,
    choice: Choice,
    demands: Demands,
    wishing: WishOptions,
    speech: Annotated[Speech, Formats(*REPORT_FORMATS, *NODE_FORMATS)],
    detail: Detail,
    overlay: Overlay,
) -> int:
    """Find what does not fit on this machine, and what mends it.

    Example: envcheck doctor torch==2.9.1

    Example: envcheck doctor --report issue.md --format markdown

    Example: envcheck doctor --require gpu,driver --expect-gpus 8

    Example: envcheck doctor --format jsonl --node n7
    """
    from compat.app.doctor import Question, examine
    from compat.app.matrices import load
    from compat.cli.progress import waiting

    threshold, matrix = level(choice.fail_on), load(overlay.matrix)
    wishes = wishing.wanted(requirements, matrix).known
    machines = patient.each()
    if len(machines) > 1 and (script or speech.format not in _SECTIONS):
        what = "--script" if script else f"--format {speech.format}"
        raise InputError("several machines", where=what, expected="one machine, or --format jsonl for all")
    told, codes = [], []
    for name, given in machines:
        asked = Question(
            wishes=wishes,
            select=tuple(choice.select or ()),
            ignore=tuple(choice.ignore or ()),
            timeout=timeout,
            words=typed(overlay),
            require=tuple(demands.require or ()),
            gpus=demands.expect_gpus,
            **given,
        )
        with waiting("looking at the machine", quiet=speech.quiet):
            found, machine = examine(asked, matrix)
        said = _told(found, machine, speech, detail, matrix, node or (name if len(machines) > 1 else ""), script)
        heading = f"{_SECTIONS[speech.format].format(name)}\n" if len(machines) > 1 and _SECTIONS[speech.format] else ""
        told.append(heading + said)
        codes.append(found.exit_code(threshold))
    speech.say("\n".join(text.rstrip("\n") for text in told) if len(told) > 1 else told[0])
    return max(codes, key=(0, 3, 1).index)


# How answers about several machines stand in one text: the heading of each; none where each line names its node.
_SECTIONS = {"text": "== {} ==", "markdown": "## {}", "jsonl": "", "line": "== {} =="}


def _told(
    found: "Report", machine: "Host", speech: Speech, detail: Detail, matrix: "Matrix", node: str, script: bool
) -> str:
    """The report in the format that was asked for, or its checked steps as a script."""
    from compat import render
    from compat.app.matrices import stamp

    if script:
        from compat.render.script import script as steps

        return steps(found, machine)
    return render.report(
        found,
        machine,
        speech.format,
        colored=speech.colored,
        verbose=detail.verbose,
        quiet=speech.quiet,
        stamp=stamp(matrix, node) if speech.format in STAMPED else None,
    )
