"""Pixi projects: pixi.toml, or the tables of a pyproject.toml: conda's packages, pip's, and features that add to them.

Source: Pixi documentation, "Pixi manifest" (``dependencies``, ``pypi-dependencies``, ``feature``, ``environments``,
``system-requirements``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat import tomls
from compat.names import normalise
from compat.sources import installers
from compat.sources.toml import Finder
from compat.sources.values import Ask, Install, Request, Stage
from compat.untrusted import strings, table, word

_LINUX: Final = ("linux-64", "linux", "unix")


def read(text: str, file: str) -> Ask:
    """What a pixi.toml asks for, its default feature first and the others as groups.

    Raises:
        InputError: if it is not TOML.
    """
    return of_tables(tomls.parsed(text, file), text, file)


def of_tables(document: dict[str, Any], text: str, file: str, prefix: str = "") -> Ask:
    """The same of tables that are read already; ``prefix`` stands before their names in the text (``tool.pixi.``)."""
    workspace = table(document.get("workspace")) or table(document.get("project"))
    channels = _channels(workspace.get("channels"))
    installs = list(_feature(document, "", channels, text, prefix))
    cuda = bool(table(document.get("system-requirements")).get("cuda"))
    for name, body in table(document.get("feature")).items():
        feature = table(body)
        own = (*_channels(feature.get("channels")), *channels)
        installs += _feature(feature, name, own, text, f"{prefix}feature.{name}.")
        cuda = cuda or bool(table(feature.get("system-requirements")).get("cuda"))
    pythons = {each.spec for step in installs for each in step.requests if each.name == "python"}
    python = pythons.pop() if len(pythons) == 1 else ""  # features with one each are for environments of their own
    stage = Stage(installs=tuple(installs), env={"CONDA_OVERRIDE_CUDA": "declared"} if cuda else {})
    return Ask(file=file, kind="pixi", stages=(stage,), python=python.removeprefix("==").removesuffix(".*"))


def _channels(raw: Any) -> tuple[str, ...]:
    """Channels, each a name or a table with its priority."""
    listed = raw if isinstance(raw, list) else []
    return tuple(item if isinstance(item, str) else word(table(item), "channel") for item in listed)


def _feature(body: dict[str, Any], name: str, channels: tuple[str, ...], text: str, prefix: str) -> Iterator[Install]:
    """The steps of a feature: conda's packages, and pip's, those for Linux alone included."""
    branch = f"+{name}" if name else ""
    places = [("", body)]
    places += [(f"target.{key}.", table(table(body.get("target")).get(key))) for key in _LINUX]
    for inner, part in places:
        finder = Finder(text).after(f"[{prefix}{inner}dependencies]")
        conda = tuple(_conda(part.get("dependencies"), finder))
        if conda:
            yield Install(manager="conda", requests=conda, channels=channels, branch=branch, line=conda[0].line)
        finder = Finder(text).after(f"[{prefix}{inner}pypi-dependencies]")
        for index, requests in _pip(part.get("pypi-dependencies"), finder).items():
            extra = tuple(strings(table(body.get("pypi-options")).get("extra-index-urls")))
            found = tuple(requests)
            yield Install(
                manager="uv", requests=found, index=index, extra_indexes=extra, branch=branch, line=found[0].line
            )


def _conda(raw: Any, finder: Finder) -> Iterator[Request]:
    """Packages of conda: name to a version specification, or to a table with ``version`` and ``channel``."""
    for name, value in table(raw).items():
        row = table(value)
        spec = value if isinstance(value, str) else word(row, "version")
        written = f"{name} {'' if spec == '*' else _written(spec)}"
        found = installers.conda_request(written, finder.line(name))
        if found is not None:
            channel = word(row, "channel")
            yield Request(name=found.name, spec=found.spec, line=found.line, channel=channel)


def _written(spec: str) -> str:
    """A specification as conda has it on a command line: a bare ``3.10.*`` is an exact pattern."""
    return f"=={spec}" if spec[:1].isdigit() else spec


def _pip(raw: Any, finder: Finder) -> dict[str, list[Request]]:
    """Packages of pip by the index that they name."""
    found: dict[str, list[Request]] = {}
    for name, value in table(raw).items():
        row = table(value)
        spec = value if isinstance(value, str) else word(row, "version")
        url = next((word(row, key) for key in ("git", "url", "path") if word(row, key)), "")
        spec = "" if spec == "*" else f"=={spec}" if spec[:1].isdigit() else spec
        extras = tuple(strings(row.get("extras")))
        request = Request(name=normalise(name), spec=spec, extras=extras, url=url, line=finder.line(name))
        found.setdefault(word(row, "index"), []).append(request)
    return found
