"""Frozen values from somebody's JSON: each key is checked against the annotated shape before it is believed."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from compat.errors import InputError

_LONGEST: Final = 20_000  # characters; explanations of conflicts cite many sources, nothing else is long


def built(shape: Any, raw: Any, where: str, key: str = "") -> Any:
    """A value of the annotated ``shape`` from JSON.

    Args:
        shape: a frozen dataclass, or what one may hold: texts, numbers, tuples, tables of texts, literals.
        raw: what the JSON has in its place.
        where: the file, for errors.
        key: where in the document ``raw`` stands; empty for the document itself.

    Raises:
        InputError: with the key at fault, if anything is missing, of another type, or longer than a line of text.
    """
    origin, args = get_origin(shape), get_args(shape)
    if is_dataclass(shape) and isinstance(shape, type):
        return _record(shape, raw, where, key)
    if origin is tuple:
        _demand(isinstance(raw, (list, tuple)), raw, where, key, "a list")
        return tuple(built(args[0], item, where, f"{key}[{n}]") for n, item in enumerate(raw))
    if origin is Literal:
        _demand(raw in args, raw, where, key, " or ".join(map(repr, args)))
        return raw
    if type(None) in args:
        return None if raw is None else built(next(a for a in args if a is not type(None)), raw, where, key)
    if origin is not None:
        _demand(
            isinstance(raw, dict) and all(isinstance(v, str) for v in raw.values()), raw, where, key, "a table of texts"
        )
        _demand(all(map(_is_one_line, (*raw, *raw.values()))), raw, where, key, "lines of text")
        return dict(raw)
    _demand(isinstance(raw, shape), raw, where, key, shape.__name__)
    if isinstance(raw, str):
        _demand(_is_one_line(raw), raw, where, key, "one line of text")
    return raw


def _is_one_line(text: str) -> bool:
    """Whether a text stays within the line that it is written to: a stored plan is somebody else's word."""
    return len(text) <= _LONGEST and len(text.splitlines()) <= 1 and not any(ord(m) < 32 or ord(m) == 127 for m in text)


def _record(shape: type[Any], raw: Any, where: str, key: str) -> Any:
    """A frozen value from a stored document."""
    _demand(isinstance(raw, dict), raw, where, key, "an object")
    hints = get_type_hints(shape)
    needed = {f.name for f in fields(shape) if f.default is MISSING and f.default_factory is MISSING}
    missing = sorted(needed - raw.keys())
    _demand(not missing, raw, where, key, f"keys {', '.join(missing)}")
    values = {name: built(hints[name], raw[name], where, f"{key}.{name}".lstrip(".")) for name in hints if name in raw}
    return shape(**values)


def _demand(holds: bool, raw: Any, where: str, key: str, expected: str) -> None:
    if not holds:
        raise InputError(f"{key or 'document'} is {str(raw)[:60]!r}", where=where, expected=expected)
