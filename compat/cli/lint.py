"""``envcheck lint``: conflicts in existing files."""

from typing import TYPE_CHECKING, Annotated

import typer

from compat.cli import completion
from compat.cli.options import Detail, Formats, Knowledge, Speech, Texts, level
from compat.render import REPORT_FORMATS

if TYPE_CHECKING:
    from compat.findings import Report


def command(
    files: Annotated[
        Texts,
        typer.Argument(
            metavar="FILE",
            help="Dockerfile, requirements, environment, project, lock, compose, manifest, job or a folder.",
        ),
    ] = None,
    *,
    select: Annotated[
        Texts,
        typer.Option(
            metavar="CODE", help="Only these findings (code or its beginning).", autocompletion=completion.codes
        ),
    ] = None,
    ignore: Annotated[
        Texts, typer.Option(metavar="CODE", help="Not these findings.", autocompletion=completion.codes)
    ] = None,
    fail_on: Annotated[
        str, typer.Option(metavar="LEVEL", help="Exit 1 from this level: error, warning, info or never.")
    ] = "error",
    host: Annotated[
        Texts, typer.Option(metavar="FILE", help="Facts of a machine that they are meant for (repeatable).")
    ] = None,
    gpu: Annotated[
        Texts,
        typer.Option(metavar="NAME", help="GPU that they are meant for, as in resolve (repeatable)."),
    ] = None,
    driver: Annotated[str, typer.Option(metavar="V", help="NVIDIA or amdgpu driver that they will run on.")] = "",
    arch: Annotated[
        str, typer.Option(metavar="ARCH", help="Processor of what names none: x86_64 (the default) or aarch64.")
    ] = "",
    fix: Annotated[bool, typer.Option("--fix", help="Make the safe edits first; shown as a diff on stderr.")] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change, and change nothing; exit 1 if there is any.")
    ] = False,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Say how often each code was found, in place of the findings.")
    ] = False,
    baseline: Annotated[
        str, typer.Option(metavar="FILE", help="Tell only what is not in FILE, an earlier answer of --format json.")
    ] = "",
    speech: Annotated[Speech, Formats(*REPORT_FORMATS)],
    detail: Detail,
    knowledge: Knowledge,
) -> int:
    """Find conflicts in an existing Dockerfile, requirements, environment, compose, manifest, project or lock.

    Example: envcheck lint

    Example: envcheck lint Dockerfile requirements.txt --format github

    Example: envcheck lint Dockerfile --gpu "RTX 5090" --driver 570.26
    """
    from compat.app.baseline import new_of
    from compat.app.knowledge import load
    from compat.app.lint import lint_files, settings_of
    from compat.app.plans import Target
    from compat.app.repair import diff as changed

    threshold, matrix = level(fail_on), load(knowledge.matrix)
    names, settings = files or ["."], settings_of()
    if not (gpu or driver or host):  # the machine is told in one place
        gpu, driver = list(settings.gpu), settings.driver
    target = Target(hosts=tuple(host or ()), gpus=tuple(gpu or ()), driver=driver, arch=arch)

    def look() -> "Report":
        found = lint_files(
            names,
            matrix,
            select=_parts(select) or settings.select,
            ignore=_parts(ignore) or settings.ignore,
            target=target,
            settings=settings,
        )
        return new_of(found, baseline) if baseline else found

    found = look()
    if diff:
        shown = changed(found)
        speech.say(shown)
        return int(bool(shown))
    if fix and (made := changed(found, write=True)):
        typer.echo(made, nl=False, err=True)
        found = look()
    if statistics:
        from compat.render import statistics as table

        speech.say(table.report(found))
    else:
        told = detail.verbose or bool(select) or threshold == "info"
        speech.say(_told(found, speech, detail, everything=told))
    return found.exit_code(threshold)


def _told(found: "Report", speech: Speech, detail: Detail, *, everything: bool) -> str:
    """The findings in the format asked for; files have no machine. Text leaves hints out unless they are asked for."""
    from dataclasses import replace

    from compat import facts, render

    hints = 0 if everything or speech.format != "text" else found.count("info")
    if hints:
        kept = tuple(one for one in found.findings if one.severity != "info")
        found = replace(found, findings=kept, judged=True)
    if speech.format == "sarif":
        from compat.app.columns import placed

        found = placed(found)
    text = render.report(
        found,
        facts.Host(),
        speech.format,
        colored=speech.colored,
        title="envcheck lint",
        verbose=detail.verbose,
        quiet=speech.quiet,
    )
    more = f"{hints} hint{'s' if hints > 1 else ''} not shown: --verbose tells them too."
    return f"{text}\n{more}" if hints and not speech.quiet else text


def _parts(values: list[str] | None) -> tuple[str, ...]:
    """Codes of an option that may be repeated, and may hold several between commas."""
    return tuple(part.strip() for value in values or () for part in value.split(",") if part.strip())
