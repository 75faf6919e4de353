"""Taking out what names a person or a machine before a host leaves the detectors.

Home folders hold names of people, UUIDs and serials identify a card; neither helps a diagnosis. Paths keep their shape,
so that commands made from them still work for the person who runs them (``~/venv/bin/python``).
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from compat import redaction
from compat.facts import Fact, Host, Reading, Unknown

if TYPE_CHECKING:
    from compat.detect.machine import Machine


def veil(host: Host, machine: Machine) -> Host:
    """The host with the home folder as ``~``, other people's as ``/home/(user)``, and UUIDs by their kind alone.

    Where all may be told (``machine.full``), secrets are taken out and nothing else.
    """
    # root's home names nobody and is left as it is; None: names and UUIDs stay
    home = None if machine.full else machine.env.get("HOME", "").rstrip("/")
    return Host({name: _reading(host.reading(name), home) for name in host})


def _reading(reading: Reading, home: str | None) -> Reading:
    """One reading without names."""
    source = _text(reading.source, home)
    if isinstance(reading, Unknown):
        return Unknown(_text(reading.why, home), source)
    return Fact(_value(reading.value, home), source)


def _value(value: Any, home: str | None) -> Any:
    """A value of any of the catalogue's kinds without names."""
    match value:
        case str():
            return _text(value, home)
        case tuple():
            return tuple(_value(item, home) for item in value)
        case dict():
            return {_text(key, home): _value(item, home) for key, item in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{item.name: _value(getattr(value, item.name), home) for item in fields(value)})
        case _:
            return value


def _text(text: str, home: str | None) -> str:
    """A text without secrets, with homes and UUIDs replaced; nearly every text has none and is returned at once."""
    text = redaction.secrets(text)
    if home is None:
        return text
    if home and home not in {"/", "/root"} and home in text:
        text = re.sub(re.escape(home) + r"(?=[/:\s,;\"']|$)", "~", text)
    return redaction.homes(text)
