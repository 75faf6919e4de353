"""Builds the Typer application out of the commands asked for."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, get_annotations, signature
from types import ModuleType
from typing import Annotated, Any, Final, get_args, get_type_hints

import typer

from compat.cli import COMMANDS
from compat.cli.conversion import Command, Group
from compat.cli.options import LANG, Formats, Speech, format_option
from compat.render.language import spoken

# What each command does, in the few words that the overview has room for.
IN_SHORT: Final = {
    "doctor": "What is broken on this machine, why, and what to type.",
    "host": "The facts of this machine.",
    "fleet": "What many machines have in common, and what they cannot run.",
    "resolve": "Builds that fit together, or why there are none.",
    "dockerfile": "The Dockerfile of a plan.",
    "build": "The image of a plan.",
    "verify": "The probes, run in a container of an image.",
    "probe": "The probes, run right here.",
    "lint": "Conflicts in existing files.",
    "inspect": "Which GPU code a library, wheel or package carries.",
    "ci": "The valid cells of a matrix of images.",
    "matrix": "Look at the compatibility matrix and check it.",
    "gpu": "GPU products, and which of them run what.",
    "fit": "Whether a model can lie in the memory of a GPU.",
    "explain": "A finding's page, or what an error text means.",
    "mcp": "A server for coding assistants.",
}


def overview() -> typer.Typer:
    """A Typer application that lists the commands and loads none of them: for ``--help`` and for slips in names."""
    app = application(())
    for name, summary in IN_SHORT.items():
        app.command(name, short_help=spoken().said(summary))(_unloaded)
    return app


def _unloaded() -> None:
    """Stands for a command in the overview."""


def application(names: Iterable[str]) -> typer.Typer:
    """A Typer application with the commands named.

    Markup, tracebacks and completion of Rich are off: importing it would cost more than most commands do.
    """
    said = spoken().said
    app = typer.Typer(
        name="envcheck",
        cls=Group,
        help=said("Find what does not fit between GPU, driver, CUDA or ROCm, framework, Python and container."),
        epilog=said("Exit codes: 0 fine, 1 findings or no plan, 2 bad input, 3 could not be checked, 130 interrupted."),
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in names:
        module = importlib.import_module(COMMANDS[name])
        if hasattr(module, "COMMANDS"):
            app.add_typer(_group(module), name=name)
        else:
            page = _page(module.command)
            app.command(name, cls=Command, help=page, short_help=said(IN_SHORT[name]))(expanded(module.command))
    return app


def _group(module: ModuleType) -> typer.Typer:
    """A command that has commands of its own."""
    group = typer.Typer(cls=Group, help=spoken().said(module.TITLE), no_args_is_help=True, rich_markup_mode=None)
    for name, function in module.COMMANDS.items():
        group.command(name, cls=Command, help=_page(function))(expanded(function))
    return group


def _page(function: Callable[..., Any]) -> str:
    """The help of a command: its docstring, each paragraph in the language of the process."""
    said = spoken().said
    paragraphs = (" ".join(text.split()) for text in (function.__doc__ or "").split("\n\n"))
    return "\n\n".join(
        said("Example") + text[7:] if text.startswith("Example: ") else said(text) for text in paragraphs
    )


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version and exit.", is_eager=True)
    ] = False,
    lang: Annotated[str, typer.Option("--lang", metavar="LANG", help=LANG)] = "",  # noqa: ARG001 - read before all else
) -> None:
    """Options before any command."""
    if version:
        from compat import __version__

        typer.echo(f"envcheck {__version__}")
        raise typer.Exit


def expanded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its option groups spelled out.

    A parameter annotated with a dataclass stands for one option per field, so that commands share groups of options
    (:mod:`compat.cli.options`) instead of repeating them. The formats beside a :class:`Speech` stand in the help, and
    no other format reaches the command.
    """
    hints = get_annotations(function, eval_str=True)  # typing's hints of 3.10 wrap them where the default is None
    formats = next((item for hint in hints.values() for item in get_args(hint) if isinstance(item, Formats)), Formats())
    kinds = {name: next(iter(get_args(hint)), hint) for name, hint in hints.items()}
    groups: dict[str, Any] = {name: kind for name, kind in kinds.items() if is_dataclass(kind)}
    plain = [
        item.replace(annotation=hints[name])
        for name, item in signature(function).parameters.items()
        if name not in groups
    ]
    spread = [parameter for group in groups.values() for parameter in _parameters(group, formats)]

    @wraps(function)
    def command(**values: Any) -> Any:
        made = {name: group(**{f.name: values.pop(f.name) for f in fields(group)}) for name, group in groups.items()}
        for group in made.values():
            if isinstance(group, Speech):
                formats.demand(group.format)
        return function(**values, **made)

    parameters = [item.replace(kind=Parameter.KEYWORD_ONLY) for item in (*plain, *spread)]
    command.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {item.name: item.annotation for item in parameters} | {"return": hints.get("return")}
    return command


def _parameters(group: Any, formats: Formats) -> Iterable[Parameter]:
    """One keyword parameter per field of a group of options, with the field's default."""
    hints = get_type_hints(group, include_extras=True)
    if group is Speech:
        hints["format"] = format_option(formats)
    for item in fields(group):
        default = Parameter.empty if item.default is MISSING else item.default
        yield Parameter(item.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[item.name])
