"""What is made when it is first used, because making all of it takes a fifth of a command's time.

A command loads some eighty value classes and a hundred patterns and uses a part of them. :func:`dataclass` is the
standard one, but writes and compiles ``__init__`` at the first object; :func:`pattern` is :func:`re.compile`, but
compiles at the first question. Neither changes what a class or a pattern can do.

What it is worth, in instructions of an installed ``doctor --host FILE --format json`` (valgrind's cachegrind, CPython
3.11): with the standard decorator a run takes 59 % more of them, with patterns compiled at once another 9 %.
``resolve torch==2.9.1`` takes 56 % and 2 % more. Much of it is the making of rows, which :func:`_new` does fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from dataclasses import dataclass as _standard
from typing import TYPE_CHECKING, Any, AnyStr, Final, cast

__all__ = ["dataclass", "pattern"]


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As :func:`re.compile`, but errors and costs come with the first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


class _Pattern:
    """Stands for a compiled pattern; each of its methods is fetched once."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._given), name)  # re remembers what it compiled
        setattr(self, name, found)
        return found


def _lazy(*, kw_only: bool = False, eq: bool = True, order: bool = False, **others: bool) -> Callable[[type], type]:
    """The decorator ``dataclass(frozen=True, slots=True)``; every other kind is left to the standard library."""
    if others != {"frozen": True, "slots": True}:
        return _standard(kw_only=kw_only, eq=eq, order=order, **others)
    written = _METHODS if order else _METHODS[:3] if eq else _METHODS[:1]

    def made(kind: type) -> type:
        kind = _standard(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(kind)
        own = {name: _later(kind, name) for name in written}
        for name, method in (own | _SHARED).items():
            if vars(kind).get(name) is None:  # a class that says what is equal is given `__hash__ = None` by Python
                setattr(kind, name, method)
        return kind

    return made


if not TYPE_CHECKING:
    dataclass = _lazy


def _later(kind: type, name: str) -> Any:
    """A method that, when it is first called, writes the true one and puts it in its own place."""

    def method(*given: Any, **named: Any) -> Any:
        text, known = _method(kind, name)
        exec(text, known)  # noqa: S102 - as the standard library does it: of our own fields' names alone
        setattr(kind, name, known[name])
        return known[name](*given, **named)

    method.__name__ = name
    return method


# What is written late; all of it for ordered classes, the first three for those that are compared.
_METHODS: Final = ("__new__", "__hash__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__")

_SIGNS: Final = {"__eq__": "==", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}


def _method(kind: type, name: str) -> tuple[str, dict[str, Any]]:
    """The text of a method, and the values that the names in it stand for."""
    if name == "__new__":
        return _new(kind)
    ours, theirs = _values(kind, "self"), _values(kind, "other")
    if name == "__hash__":
        return f"def __hash__(self):\n return hash({ours})", {}
    same = f"{ours} {_SIGNS[name]} {theirs}"  # objects of two classes are never equal, and have no order
    return f"def {name}(self, other):\n return {same} if other.__class__ is self.__class__ else NotImplemented", {}


def _new(kind: type) -> tuple[str, dict[str, Any]]:
    """``__new__``, which fills an object while it is of an open class and closes it by making it one of ``kind``.

    Setting slots past a ``__setattr__`` that refuses, as the standard library does, takes ten times as long.
    """
    opened = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}  # one slot of the type has both
    likeness = type(kind.__name__, kind.__bases__, {"__slots__": vars(kind)["__slots__"], **opened})
    known = {"_blank": object.__new__, "_open": likeness, "_MISSING": MISSING}
    words, named, lines = ["_kind"], ["*"], ["_made = _blank(_open)"]
    for part in fields(cast("Any", kind)):
        name, word, value = part.name, part.name, part.name
        if part.default is not MISSING:
            known[f"_default_{name}"], word = part.default, f"{name}=_default_{name}"
        elif part.default_factory is not MISSING:
            known[f"_make_{name}"], word = part.default_factory, f"{name}=_MISSING"
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        (named if part.kw_only else words).append(word)
        lines.append(f"_made.{name} = {value}")
    lines += ["_made.__class__ = _kind", "return _made"]
    return f"def __new__({', '.join(words + named * (len(named) > 1))}):\n " + "\n ".join(lines), known


def _values(kind: type, owner: str) -> str:
    """An expression for the tuple of the fields that are compared."""
    return f"({''.join(f'{owner}.{part.name}, ' for part in fields(cast('Any', kind)) if part.compare)})"


def _repr(self: Any) -> str:
    told = ", ".join(f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({told})"


def _refuse(_: object, name: str, *__: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _arguments(self: Any) -> tuple[tuple[()], dict[str, Any]]:
    """What a copy is made from: slots of a made object cannot be set."""
    return (), {part.name: getattr(self, part.name) for part in fields(self)}


def _nothing(_: object) -> None:
    """What is left to be set in a copy."""


_SHARED: Final[dict[str, Callable[..., Any]]] = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getnewargs_ex__": _arguments,
    "__getstate__": _nothing,
}
