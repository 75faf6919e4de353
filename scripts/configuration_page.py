"""The keys of ``[tool.envcheck]``, as the classes that hold them have them: the page of all, and its JSON Schema."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from inspect import cleandoc
from typing import Any, Final

from compat.app import lint
from compat.app.ci import Axes
from compat.app.configuration import TABLES
from compat.ci import Jobs
from compat.dockerfile import Settings


@dataclass(frozen=True, slots=True)
class Key:
    """One key: its ``kind`` in the words of JSON Schema, its default as TOML, and what it means."""

    name: str
    kind: str
    default: str
    meaning: str


def keys() -> dict[str, tuple[Key, ...]]:
    """Table -> its keys, read from the classes that hold them."""
    return {
        "image": _keys(Settings, Settings()),
        "matrix": _keys(Axes, Axes(frameworks=())),
        "lint": _keys(lint.Settings, lint.Settings()),
        "ci": _keys(Jobs, Jobs()),
    }


_OBJECTS: Final = frozenset({"env", "labels", "files", "per_file"})


def _keys(kind: type[Any], default: Any) -> tuple[Key, ...]:
    """The fields of a settings class with the meanings that its docstring tells."""
    told = _meanings(kind.__doc__ or "")
    return tuple(
        Key(
            item.name,
            _kind(item.name, getattr(default, item.name)),
            "{}" if item.name in _OBJECTS else _toml(getattr(default, item.name)),
            told.get(item.name, ""),
        )
        for item in fields(kind)
    )


def _meanings(text: str) -> dict[str, str]:
    """Name -> meaning of the section *Attributes* of a docstring; one line may name several."""
    body = cleandoc(text).partition("Attributes:")[2]
    entries = re.split(r"^ {4}(\w+(?:, \w+)*): ", body, flags=re.MULTILINE)[1:]
    pairs = zip(entries[::2], entries[1::2], strict=True)
    return {name: " ".join(meaning.split()) for names, meaning in pairs for name in names.split(", ")}


def _kind(name: str, default: Any) -> str:
    """The kind of a value as a JSON Schema has it."""
    if name in _OBJECTS:
        return "object"
    if isinstance(default, bool):
        return "boolean"
    return {int: "integer", str: "string"}.get(type(default), "array")


def _toml(value: Any) -> str:
    """A default as it would be written."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, list)):
        shown = [item for item in value if item]
        return "[" + ", ".join(f'"{item}"' for item in shown) + "]"
    if isinstance(value, int):
        return str(value)
    return f'"{value}"' if isinstance(value, str) else "{}"


def schema() -> dict[str, Any]:
    """The JSON Schema of ``[tool.envcheck]``, for editors that complete and check a ``pyproject.toml``."""
    shapes: dict[str, dict[str, Any]] = {
        "array": {"type": "array", "items": {"type": "string"}},
        "object": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    body: dict[str, Any] = {
        name: {
            "type": "object",
            "description": TABLES[name],
            "additionalProperties": False,
            "properties": {
                key.name: {"description": key.meaning, **shapes.get(key.kind, {"type": key.kind})} for key in rows
            },
        }
        for name, rows in keys().items()
    }
    sets = {"type": "array", "items": {"anyOf": [{"type": "string"}, shapes["array"]]}}
    body["matrix"]["properties"]["frameworks"] |= sets
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "[tool.envcheck] of pyproject.toml",
        "type": "object",
        "additionalProperties": False,
        "properties": body,
    }


def page() -> str:
    """The page of all keys, a table each."""
    lines = [
        "# Configuration",
        "",
        "Made from the code by `scripts/generate_docs.py`. All of it stands under `[tool.envcheck]` of a",
        "`pyproject.toml`; an unknown table or key is refused. The JSON Schema is",
        "[envcheck.config-1.json](schemas/envcheck.config-1.json).",
    ]
    for name, rows in keys().items():
        lines += ["", f"## `[tool.envcheck.{name}]`", "", f"{TABLES[name][0].upper()}{TABLES[name][1:]}.", ""]
        lines += ["| key | kind | default | meaning |", "| --- | --- | --- | --- |", *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(key: Key) -> str:
    meaning = key.meaning.replace("``", "`").replace("|", "\\|")
    meaning = re.sub(r":[a-z]+:`(?:~?[\w.]*\.)?(\w+)`", r"`\1`", meaning)
    return f"| `{key.name}` | {key.kind} | `{key.default}` | {meaning[:1].upper()}{meaning[1:]} |"
