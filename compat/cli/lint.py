"""``envcheck lint``: conflicts in existing files."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli.options import Choice, Detail, Formats, Overlay, Speech, Texts, level
from compat.lazy import dataclass
from compat.render import REPORT_FORMATS

if TYPE_CHECKING:
    from compat.findings import Report


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine that the files are meant for."""

    host: Annotated[
        Texts, typer.Option(metavar="FILE", help="Facts of a machine that they are meant for (repeatable).")
    ] = None
    gpu: Annotated[
        Texts, typer.Option(metavar="NAME", help="GPU that they are meant for, as in resolve (repeatable).")
    ] = None
    driver: Annotated[str, typer.Option(metavar="V", help="NVIDIA or amdgpu driver that they will run on.")] = ""
    arch: Annotated[
        str, typer.Option(metavar="ARCH", help="Processor of what names none: x86_64 (the default) or aarch64.")
    ] = ""


@dataclass(frozen=True, slots=True)
class Action:
    """What is done with the findings beside telling them."""

    fix: Annotated[bool, typer.Option("--fix", help="Make the safe edits first; shown as a diff on stderr.")] = False
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change, and change nothing; exit 1 if there is any.")
    ] = False
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Say how often each code was found, in place of the findings.")
    ] = False


def command(
    files: Annotated[
        Texts,
        typer.Argument(
            metavar="FILE",
            help="Dockerfile, requirements, environment, project, lock, compose, manifest, job or a folder.",
        ),
    ] = None,
    *,
    baseline: Annotated[
        str, typer.Option(metavar="FILE", help="Tell only what is not in FILE, an earlier answer of --format json.")
    ] = "",
    choice: Choice,
    machine: Machine,
    action: Action,
    speech: Annotated[Speech, Formats(*REPORT_FORMATS)],
    detail: Detail,
    overlay: Overlay,
) -> int:
    """Find conflicts in an existing Dockerfile, requirements, environment, compose, manifest, project or lock.

    Example: envcheck lint

    Example: envcheck lint Dockerfile requirements.txt --format github

    Example: envcheck lint Dockerfile --gpu "RTX 5090" --driver 570.26
    """
    from compat.app.repair import diff

    threshold = level(choice.fail_on)
    found = _found(files or ["."], choice, machine, overlay, baseline)
    if action.diff:
        shown = diff(found)
        speech.say(shown)
        return int(bool(shown))
    if action.fix and (made := diff(found, write=True)):
        typer.echo(made, nl=False, err=True)
        found = _found(files or ["."], choice, machine, overlay, baseline)
    if action.statistics:
        from compat.render import statistics

        speech.say(statistics.report(found))
    else:
        told = detail.verbose or bool(choice.select) or threshold == "info"
        speech.say(_told(found, speech, detail, everything=told))
    return found.exit_code(threshold)


def _found(files: list[str], choice: Choice, machine: Machine, overlay: Overlay, baseline: str) -> "Report":
    """The findings of the files as they are now; the project's settings say what no option says."""
    from compat.app.baseline import new_of
    from compat.app.lint import lint_files, settings_of
    from compat.app.matrices import load
    from compat.app.plans import Target

    settings = settings_of()
    gpus, driver = tuple(machine.gpu or ()), machine.driver
    if not (gpus or driver or machine.host):  # the machine is told in one place
        gpus, driver = tuple(settings.gpu), settings.driver
    found = lint_files(
        files,
        load(overlay.matrix),
        select=_parts(choice.select) or settings.select,
        ignore=_parts(choice.ignore) or settings.ignore,
        target=Target(hosts=tuple(machine.host or ()), gpus=gpus, driver=driver, arch=machine.arch),
        settings=settings,
    )
    return new_of(found, baseline) if baseline else found


def _told(found: "Report", speech: Speech, detail: Detail, *, everything: bool) -> str:
    """The findings in the format asked for; files have no machine. Text leaves hints out unless they are asked for."""
    from dataclasses import replace

    from compat import facts, render
    from compat.render.language import spoken

    hints = 0 if everything or speech.format != "text" else found.count("info")
    if hints:
        kept = tuple(one for one in found.findings if one.severity != "info")
        found = replace(found, findings=kept, judged=True)
    if speech.format == "sarif":
        from compat.app.columns import placed
        from compat.app.explain import topic_of
        from compat.render import document, sarif

        pages = filter(None, map(topic_of, dict.fromkeys(one.code for one in found.findings)))
        return document.encode(sarif.report(placed(found), pages))
    text = render.report(
        found,
        facts.Host(),
        speech.format,
        colored=speech.colored,
        title="envcheck lint",
        verbose=detail.verbose,
        quiet=speech.quiet,
    )
    words = spoken()
    more = words.said("{count} not shown: --verbose tells them too.", count=words.counted(hints, "hint"))
    return f"{text}\n{more}" if hints and not speech.quiet else text


def _parts(values: list[str] | None) -> tuple[str, ...]:
    """Codes of an option that may be repeated, and may hold several between commas."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part.strip())
