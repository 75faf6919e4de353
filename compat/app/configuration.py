"""``[tool.envcheck]`` of a ``pyproject.toml``: its tables, whose keys are the fields of the settings."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from compat.app.files import read_document
from compat.errors import InputError, InputErrors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.ci import Jobs

PROJECT: Final = "pyproject.toml"
# Tables and what they are about.
TABLES: Final[Mapping[str, str]] = {
    "image": "the images of `dockerfile` and `build`; options of the command line win",
    "matrix": "the axes of `ci`, a cell for each combination that can work",
    "ci": "what generated CI does beside the images",
    "lint": "what `lint` looks for, and the machine that the files are meant for; options of the command line win",
}


def table_of(name: str, config: str) -> Any:
    """The table ``[tool.envcheck.NAME]`` of a file, or of the ``pyproject.toml`` here; ``None`` if absent.

    Raises:
        InputErrors: naming each table of ``[tool.envcheck]`` that is none: what stands in it would be lost in silence.
    """
    if not config and not Path(PROJECT).is_file():
        return None
    document: Any = read_document(config or PROJECT)
    tool = document.get("tool", {}).get("envcheck", {}) if isinstance(document.get("tool", {}), dict) else {}
    if not isinstance(tool, dict):
        raise InputError("is no table", where=f"{config or PROJECT}: tool.envcheck", expected=", ".join(TABLES))
    unknown = sorted(set(tool) - set(TABLES))
    if unknown:
        where = f"{config or PROJECT}: [tool.envcheck]"
        raise InputErrors(
            [InputError(f"unknown table {key!r}", where=where, expected=", ".join(TABLES)) for key in unknown]
        )
    return tool.get(name)


# What stands for a default of a kind in TOML, and what it is called.
_KINDS: Final[Mapping[type, tuple[type, str]]] = {
    str: (str, "a text"),
    bool: (bool, "true or false"),
    tuple: (list, "a list of texts"),
    dict: (dict, "a table of texts"),
}


def values_of(name: str, config: str, usual: Any, *, expected: str = "") -> dict[str, Any]:
    """The values of ``[tool.envcheck.NAME]``, whose keys are the fields of its settings; none where it is absent.

    ``usual``: settings whose values tell the kinds; ``expected``: an example, where what stands there is no table.

    Raises:
        InputErrors: naming each key that is unknown or holds something else.
    """
    raw, where = table_of(name, config), f"{config or PROJECT}: [tool.envcheck.{name}]"
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise InputError("is no table", where=where, expected=expected)
    known = {item.name: _KINDS[type(getattr(usual, item.name))] for item in fields(usual)}
    faults = [
        InputError(f"unknown key {key!r}", where=where, expected=", ".join(known))
        if key not in known
        else InputError(f"{key} = {value!r:.80} cannot be used", where=where, expected=known[key][1])
        for key, value in raw.items()
        if key not in known or not _is_of(value, known[key][0])
    ]
    if faults:
        raise InputErrors(faults)
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}


def _is_of(value: Any, kind: type) -> bool:
    """Whether a value of a TOML file is of a kind, and all that it holds a text."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return type(value) is kind and all(isinstance(one, str) for one in held)


def jobs_of(config: str = "") -> Jobs:
    """What generated jobs do, by ``[tool.envcheck.ci]``.

    What they install is taken, where nothing is said, from the record of how this installation was made: an address
    with its commit or hash, or the name with its version where an index had it
    (https://packaging.python.org/en/latest/specifications/direct-url/).

    Raises:
        InputErrors: naming each key that is unknown, of the wrong kind or that no pipeline could hold.
    """
    from compat import ci

    found = ci.Jobs(**values_of("ci", config, ci.Jobs(), expected='install = "envcheck-gpu==1.0"'))
    ci.check(found, f"{config or PROJECT}: [tool.envcheck.ci]")
    return found if found.install else replace(found, install=_recorded())


def _recorded() -> str:
    """The source of the running installation, as its installer recorded it."""
    import json
    from importlib import metadata

    from compat import DISTRIBUTION, SOURCE

    try:
        told = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "null")
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    return SOURCE if told is None else _address(told)


def _address(told: Any) -> str:
    """A requirement from a record of PEP 610; empty for a folder, which no runner has."""
    match told:
        case {"url": str(url), "vcs_info": {"vcs": str(vcs), "commit_id": str(commit)}}:
            return f"{vcs}+{url}@{commit}"
        case {"url": str(url), "archive_info": {"hashes": {"sha256": str(digest)}}} if url.startswith("https://"):
            return f"{url}#sha256={digest}"
    return ""
