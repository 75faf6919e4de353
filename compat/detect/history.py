"""Layers that hold nothing that is looked for, by the history in an image's configuration.

A layer is one compressed stream: to look for one file, all of it is fetched. A layer that ``COPY`` or ``ADD`` made
holds its destination alone; where that is a folder of data, such as ``/models``, no detector looks there.

Sources: OCI image specification 1.1 (``history``, ``empty_layer``); Docker's builder writes ``#(nop) COPY dir:... in
/models``, BuildKit ``COPY models /models # buildkit``.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any, Final

from compat.untrusted import items, table

WORTH: Final = 1 << 20  # bytes of a layer, packed, below which it is read whatever it holds
# Where detectors look in every image, beside the places that its variables name.
_SYSTEM: Final = ("/bin", "/etc", "/lib", "/lib32", "/lib64", "/opt", "/root", "/sbin", "/usr", "/var")


def apart(config: Mapping[str, Any], layers: Sequence[str], layer: str) -> str:
    """The folder or file that alone a layer holds, if no detector looks there; else, or where untold, empty."""
    made = [step for step in items(config.get("history")) if isinstance(step, dict) and not step.get("empty_layer")]
    if len(made) != len(layers) or layers.count(layer) != 1:
        return ""
    place = _destination(str(made[layers.index(layer)].get("created_by", "")))
    return place if place and not any(_meet(place, watched) for watched in _watched(config)) else ""


def _destination(step: str) -> str:
    """The absolute path that a step copies to; empty for any other step."""
    words = step.rpartition("#(nop)")[2].partition("# buildkit")[0].split()
    plain = words[:1] in (["COPY"], ["ADD"]) and words[-1].startswith("/") and "$" not in words[-1]
    return posixpath.normpath(words[-1]) if plain else ""


def _watched(config: Mapping[str, Any]) -> set[str]:
    """Folders of the system, the working folder, and those that variables name, with the folder around each ``bin``."""
    settings = table(config.get("config"))
    named = [part for text in items(settings.get("Env")) for part in str(text).partition("=")[2].split(":")]
    named.append(str(settings.get("WorkingDir") or "/root"))
    found = {posixpath.normpath(part) for part in named if part.startswith("/")} - {"/"}
    return {*_SYSTEM, *found, *(posixpath.dirname(part) for part in found if posixpath.basename(part) == "bin")}


def _meet(one: str, other: str) -> bool:
    """Whether one of two paths lies in the other, or they are the same."""
    return posixpath.commonpath((one, other)) in (one, other)
