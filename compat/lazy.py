"""What is made when it is first used, because making all of it takes a third of a command's time.

A command loads some eighty value classes and a hundred patterns and uses a part of them. :func:`dataclass` is the
standard one, but writes and compiles ``__init__`` at the first object; :func:`pattern` is :func:`re.compile`, but
compiles at the first question. Neither changes what a class or a pattern can do.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, FrozenInstanceError, fields
from dataclasses import dataclass as _standard
from typing import TYPE_CHECKING, Any, AnyStr, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import dataclass  # so that a type checker knows the classes for what they are

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


def _lazy(*, kw_only: bool = False, eq: bool = True, **others: bool) -> Callable[[type], type]:
    """The decorator ``dataclass(frozen=True, slots=True)``; every other kind is left to the standard library."""
    if others != {"frozen": True, "slots": True}:
        return _standard(kw_only=kw_only, eq=eq, **others)

    def made(kind: type) -> type:
        kind = _standard(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(kind)
        own = {"__init__": _later(kind, "__init__", _init)}
        if eq:
            own |= {"__eq__": _later(kind, "__eq__", _eq), "__hash__": _later(kind, "__hash__", _hash)}
        for name, method in (own | _SHARED).items():
            if vars(kind).get(name) is None:  # a class that says what is equal is given `__hash__ = None` by Python
                setattr(kind, name, method)
        return kind

    return made


if not TYPE_CHECKING:
    dataclass = _lazy


def _later(kind: type, name: str, write: Callable[[type, dict[str, Any]], str]) -> Callable[..., Any]:
    """A method that, when it is first called, writes the true one and puts it in its own place."""

    def method(*given: Any, **named: Any) -> Any:
        known: dict[str, Any] = {}
        exec(write(kind, known), known)  # noqa: S102 - as the standard library does it: of our own fields' names alone
        setattr(kind, name, known[name])
        return known[name](*given, **named)

    return method


def _init(kind: type, known: dict[str, Any]) -> str:
    """The text of ``__init__``; slots are set by their descriptors, past the ``__setattr__`` that refuses."""
    known["_MISSING"] = MISSING
    words, named, lines = ["self"], ["*"], ["pass"]
    for part in fields(cast("Any", kind)):
        name, word, value = part.name, part.name, part.name
        known[f"_set_{name}"] = getattr(kind, name).__set__
        if part.default is not MISSING:
            known[f"_default_{name}"], word = part.default, f"{name}=_default_{name}"
        elif part.default_factory is not MISSING:
            known[f"_make_{name}"], word = part.default_factory, f"{name}=_MISSING"
            value = f"_make_{name}() if {name} is _MISSING else {name}"
        (named if part.kw_only else words).append(word)
        lines.append(f"_set_{name}(self, {value})")
    return f"def __init__({', '.join(words + named * (len(named) > 1))}):\n " + "\n ".join(lines)


def _eq(kind: type, _: dict[str, Any]) -> str:
    """The text of ``__eq__``: objects of one class with equal fields."""
    same = f"{_values(kind, 'self')} == {_values(kind, 'other')}"
    return f"def __eq__(self, other):\n return {same} if other.__class__ is self.__class__ else NotImplemented"


def _hash(kind: type, _: dict[str, Any]) -> str:
    """The text of ``__hash__``."""
    return f"def __hash__(self):\n return hash({_values(kind, 'self')})"


def _values(kind: type, owner: str) -> str:
    """An expression for the tuple of the fields that are compared."""
    return f"({''.join(f'{owner}.{part.name}, ' for part in fields(cast('Any', kind)) if part.compare)})"


def _repr(self: Any) -> str:
    told = ", ".join(f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({told})"


def _refuse(_: object, name: str, *__: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, part.name) for part in fields(self)]


def _restore(self: Any, state: Sequence[Any]) -> None:
    for part, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, part.name, value)


_SHARED: Final[dict[str, Callable[..., Any]]] = {
    "__repr__": _repr,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _state,  # copies and pickles set slots, which __setattr__ refuses
    "__setstate__": _restore,
}
