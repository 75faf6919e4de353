"""The recorded documents, ``matrix/observed/<package>.json``: read, compared, and written in their one spelling."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from packaging.version import Version
from polite import UnreadableError
from simple_index import write_whole

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, body: dict[str, Any]) -> bool:
    """Write the document in its one spelling, whole or not at all; whether any byte changed."""
    text = dump(body).encode()
    if path.is_file() and path.read_bytes() == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)
    return True


def dump(body: dict[str, Any]) -> str:
    """Canonical JSON: releases in version order, one to a line, keys sorted within."""
    lines = [
        f"  {json.dumps(version)}: {json.dumps(release, sort_keys=True, separators=(',', ':'))}"
        for version, release in sorted(body["releases"].items(), key=lambda item: Version(item[0]))
    ]
    whole = f', "whole": "{body["whole"]}"' if body.get("whole") else ""
    head = f'{{"schema": "{body["schema"]}", "package": {json.dumps(body["package"])}{whole}, "releases": {{\n'
    return head + ",\n".join(lines) + "\n}}\n"


def read(path: Path) -> dict[str, Any]:
    """A recorded document; empty if there is none.

    Raises:
        UnreadableError: it is no such document.
    """
    try:
        body: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {"releases": {}}
        complete = isinstance(body["releases"], dict)
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableError(f"{path} is not a recorded document: {error!r}") from error
    if not complete:
        raise UnreadableError(f"{path} is not a recorded document: its releases are no table")
    return body


def changes(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What is new, other or gone, in a few words."""
    added, gone = [version for version in new if version not in old], [version for version in old if version not in new]
    other = sum(old[version] != new[version] for version in new if version in old)
    parts = {f"new {' '.join(added)}": added, f"{other} changed": other, f"gone {' '.join(gone)}": gone}
    return ", ".join(text for text, there in parts.items() if there) or "spelled anew"
