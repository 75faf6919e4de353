"""Documents that others wrote: whatever they hold, a value of the kind that is asked for, and no exception."""

from __future__ import annotations

from typing import Any


def json_of(text: str | bytes) -> Any:
    """What a text in JSON says; ``None`` for anything else, and for what is nested too deep."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def table(raw: Any) -> dict[str, Any]:
    """A table, or an empty one for anything else."""
    return raw if isinstance(raw, dict) else {}


def items(raw: Any) -> list[Any]:
    """The elements of a list; none for anything else."""
    return raw if isinstance(raw, list) else []


def rows(raw: Any) -> list[dict[str, Any]]:
    """The tables of a list; a single table counts as a list of one."""
    return [raw] if isinstance(raw, dict) else [item for item in items(raw) if isinstance(item, dict)]


def strings(raw: Any) -> list[str]:
    """The texts of a list."""
    return [item for item in items(raw) if isinstance(item, str)]


def word(row: dict[str, Any], key: str) -> str:
    """The text under a key, empty for anything else."""
    found = row.get(key)
    return found if isinstance(found, str) else ""
