"""What environment variables and configuration add to an install step: pip's and uv's indexes.

Sources: pip documentation, "Configuration" (PIP_<OPTION>); uv documentation, "Environment variables".
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compat.sources.values import Command, Install

_INDEX: Final = {"pip": ("PIP_INDEX_URL",), "uv": ("UV_DEFAULT_INDEX", "UV_INDEX_URL")}
_EXTRA: Final = {"pip": ("PIP_EXTRA_INDEX_URL",), "uv": ("UV_INDEX", "UV_EXTRA_INDEX_URL")}
_LINKS: Final = {"pip": ("PIP_FIND_LINKS",), "uv": ("UV_FIND_LINKS",)}
_FLAGS: Final = {
    "PIP_PRE": "--pre",
    "PIP_NO_DEPS": "--no-deps",
    "UV_TORCH_BACKEND": "--torch-backend",
    "UV_INDEX_STRATEGY": "--index-strategy",
}
_CONFIGURED: Final = {
    "index-url": "PIP_INDEX_URL",
    "extra-index-url": "PIP_EXTRA_INDEX_URL",
    "find-links": "PIP_FIND_LINKS",
}
# Stands for the index where a pip.conf that nobody can see decides.
UNSEEN: Final = "a configuration file that is not at hand"


def applied(step: Install, values: Mapping[str, str]) -> Install:
    """The step with what variables say where the command itself does not."""
    if step.manager not in _INDEX:
        return step
    asked = {option.partition("=")[0] for option in step.options}
    flags = tuple(
        f"{flag}={values[name]}" if name.startswith("UV_") else flag
        for name, flag in _FLAGS.items()
        if name.lower().startswith(step.manager)
        and values.get(name, "") not in {"", "0", "false"}
        and flag not in asked
    )
    named = re.match(r"3\.\d{1,2}", values.get("UV_PYTHON", "")) if step.manager == "uv" else None
    return replace(
        step,
        python=step.python or (named.group() if named else ""),
        index=step.index or next((values[name] for name in _INDEX[step.manager] if values.get(name)), ""),
        extra_indexes=step.extra_indexes or _urls(_EXTRA[step.manager], values),
        find_links=step.find_links or _urls(_LINKS[step.manager], values),
        options=(*step.options, *flags),
    )


def _urls(names: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Addresses of the first variable that is set; uv's may be written NAME=URL."""
    text = next((values[name] for name in names if values.get(name)), "")
    return tuple(word.partition("=")[2] if "=http" in word.partition("/")[0] else word for word in text.split())


def configured(command: Command) -> dict[str, str]:
    """What ``pip config set global.index-url URL`` leaves for later commands, as variables; ``unset`` leaves none."""
    words = [word for word in command.words if not word.startswith("-")]
    match words[words.index("config") + 1 :] if "config" in words and "pip" in command.text else []:
        case ["set", key, value] if name := _CONFIGURED.get(key.rpartition(".")[2]):
            return {name: value}
        case ["unset", key] if name := _CONFIGURED.get(key.rpartition(".")[2]):
            return {name: ""}
    return {}


def written(path: str, text: str) -> dict[str, str]:
    """What a pip.conf that a step writes says, as variables; one that the parser refuses stops pip too."""
    if PurePosixPath(path).name not in {"pip.conf", "pip.ini"}:
        return {}
    from configparser import Error, RawConfigParser  # as pip reads it

    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except Error:
        return {}
    told = {name: value for part in ("global", "install") if part in parser for name, value in parser.items(part)}
    return {_CONFIGURED[name]: " ".join(value.split()) for name, value in told.items() if name in _CONFIGURED and value}
