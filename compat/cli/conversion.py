"""Commands that spare Typer its conversions of values that need none.

Newer releases of Typer convert every value, defaults too, by Pydantic, and importing that takes longer than Typer
itself. Here Typer's own conversion is made for such values only as are neither defaults nor texts.
"""

from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

from compat.errors import InputError
from compat.render.ink import Ink, columns
from compat.render.language import ENGLISH, Catalogue, spoken


class _Spoken:
    """What commands and their groups share: parameters that convert late, and help in the language of the process."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, that of ``--help`` included."""
        found = [_late(parameter) for parameter in super().get_params(ctx)]  # type: ignore[misc]
        for parameter in found:
            parameter.help = spoken().said(getattr(parameter, "help", None) or "")
        return found

    def get_help(self, ctx: Any) -> str:
        """The page of ``--help``."""
        formatter = ctx.make_formatter()
        if spoken() is not ENGLISH:
            _translate(formatter, spoken())
        self.format_help(ctx, formatter)  # type: ignore[attr-defined]
        return str(formatter.getvalue()).rstrip("\n")


class Command(_Spoken, TyperCommand):
    """A command whose parameters convert late, and which drops no value in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words; an option that takes one value and is given two would lose the first.

        Raises:
            InputError: naming such an option.
        """
        _demand_once(args, self.params)
        return super().parse_args(ctx, args)


class Group(_Spoken, TyperGroup):
    """A group of commands whose own parameters convert late."""


def _translate(formatter: Any, words: Catalogue) -> None:
    """Let a formatter of help say headings in another language, and fold lines whose characters are wide."""
    section, usage = formatter.section, formatter.write_usage

    def lines(text: str, indent: int) -> list[str]:
        return Ink(width=formatter.width).wrap(text, " " * indent)

    def rows(pairs: list[tuple[str, str]], most: int = 30) -> None:
        room = min(most, max(columns(left) for left, _ in pairs)) + formatter.current_indent + 2
        for left, right in pairs:
            head = " " * formatter.current_indent + left
            first, *rest = lines(right, room)
            told = [head, first, *rest] if columns(head) > room - 2 else [head + first[columns(head) :], *rest]
            formatter.write("".join(f"{line}\n" for line in told))

    formatter.section = lambda name: section(words.said(name))
    formatter.write_usage = lambda prog, args="": usage(prog, args, prefix=f"{words.said('Usage')}: ")
    formatter.write_text = lambda text: formatter.write("\n".join(lines(text, formatter.current_indent)) + "\n")
    formatter.write_dl = rows


def _demand_once(args: list[str], parameters: list[Any]) -> None:
    """Refuse a second value of an option that takes one."""
    single = {
        name: parameter.name
        for parameter in parameters
        if not getattr(parameter, "is_flag", True) and not parameter.multiple
        for name in parameter.opts
    }
    words = args[: args.index("--")] if "--" in args else args
    seen: set[str] = set()
    for before, word in zip(("", *words), words, strict=False):
        name = word.partition("=")[0]
        if name in single and before not in single:  # a value may look like an option
            if single[name] in seen:
                raise InputError("given twice", where=name, expected="one value", hint="ask for each by itself")
            seen.add(single[name])


def _late(parameter: Any) -> Any:
    """The parameter itself with its conversion put off; older releases of Typer have none and are left as they are."""
    make = getattr(parameter, "get_runtime_param", None)
    if make is not None and hasattr(parameter, "type_descriptor") and not isinstance(make, partial):
        parameter.get_runtime_param = partial(_Conversion, make)
    return parameter


class _Conversion:
    """Converts one parameter's values in Typer's place; ``make`` gives Typer's own conversion."""

    def __init__(self, make: Any) -> None:
        self._make = make

    def coerce(self, value: Any, *, param: Any, ctx: Any) -> Any:
        """The value in its parameter's type: a default has it already, and so has a text where texts are wanted."""
        kind = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if kind == list[str]:
            return list(value)
        if kind is str or isinstance(value, bool) or value is param.default:
            return value
        return self._make().coerce(value, param=param, ctx=ctx)
