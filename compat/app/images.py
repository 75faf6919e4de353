"""Dockerfiles: a plan and the person's own wishes about the image, from options and from ``[tool.envcheck]``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from compat.app.configuration import PROJECT, table_of
from compat.app.plans import Target, machines_of, replies
from compat.errors import InputError, InputErrors, NoPlanError, UnknownPlanError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compat.dockerfile import Settings
    from compat.matrix import Matrix
    from compat.plan import Answer, Plan

_TABLES = {"env", "labels"}


def planned(requirements: Sequence[str], target: Target, matrix: Matrix) -> Plan:
    """The one plan for an image.

    Raises:
        InputError: for a target that runs no containers.
        NoPlanError: with the explanation, if there is none or more than one image would be needed.
    """
    given = [reply.answer for reply in replies(requirements, target, matrix, image=True)]
    plans = [item.plan for item in given if item.plan and item.status == "plan"]
    elsewhere = InputError("this target has no containers", expected="a Linux target", hint="give --os ubuntu22.04")
    if len(given) != 1 or not plans:
        if not target.stored and any(host.platform in {"windows", "darwin"} for host in machines_of(target, matrix)):
            raise elsewhere  # whatever else clashes: no fix could end in a Dockerfile
        from compat.render.plan import answer

        raise refusal(given, "\n\n".join(map(answer, given)))
    if plans[0].base_image is None:
        raise elsewhere
    return plans[0]


def refusal(given: Sequence[Answer], explained: str) -> NoPlanError:
    """The error for answers without the one plan that is wanted; it tells what is not known from what cannot be."""
    unknown = any(answer.status == "unknown" for answer in given)
    refused = any(answer.status == "conflict" for answer in given)
    return UnknownPlanError(explained) if unknown and not refused else NoPlanError(explained)


def settings(options: Mapping[str, Any], *, config: str = "") -> Settings:
    """Image settings: ``[tool.envcheck.image]`` of a pyproject.toml, options over it.

    ``options``: values that were given; empty ones do not count. ``config``: file to read; ``pyproject.toml`` here, if
    there is one, by default.

    Raises:
        InputErrors: naming each key that is unknown or of the wrong kind.
    """
    return settings_from(_configured(config), f"{config or PROJECT}: [tool.envcheck.image]", options)


def settings_from(table: Mapping[str, Any], where: str, options: Mapping[str, Any] | None = None) -> Settings:
    """Image settings of a table with the keys of ``[tool.envcheck.image]``, options over it.

    Raises:
        InputErrors: naming each key that is unknown or of the wrong kind, and ``where`` it stands.
    """
    from compat.dockerfile import Settings

    known = {item.name for item in fields(Settings)}
    if unknown := sorted(set(table) - known):
        expected = ", ".join(sorted(known))
        raise InputErrors([InputError(f"unknown key {key!r}", where=where, expected=expected) for key in unknown])
    values = {key: _shaped(key, value) for key, value in table.items()}
    given = {key: value for key, value in (options or {}).items() if value not in (None, "", ())}
    return Settings(**{**values, **given})


def _configured(config: str) -> dict[str, Any]:
    """The table ``[tool.envcheck.image]``; empty where no file was named and none here has it.

    A file that was named and has none is refused: its wishes would be lost in silence.
    """
    where = config or PROJECT
    table = table_of("image", config)
    if table is None and not config:
        return {}
    if not isinstance(table, dict):
        raise InputError("has no table [tool.envcheck.image]", where=where, expected='such as apt = ["git"] under it')
    return table


def _shaped(key: str, value: Any) -> Any:
    """TOML lists as tuples, ``{source = place}`` as pairs; everything else as it is, for the settings' own check."""
    if key == "files" and isinstance(value, dict):
        return tuple((str(source), str(place)) for source, place in value.items())
    if key in _TABLES:
        return value
    return tuple(value) if isinstance(value, list) else value


def pairs(given: Sequence[str] | None, where: str, expected: str = "NAME=VALUE") -> dict[str, str]:
    """``NAME=VALUE`` options as a table; ``expected`` is how the help of ``where`` calls them.

    Raises:
        InputError: for one without an equals sign.
    """
    table: dict[str, str] = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise InputError(f"{item!r}", where=where, expected=expected)
        table[name] = value
    return table
