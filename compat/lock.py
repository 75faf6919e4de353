"""A plan as files that installers read: requirements, a uv project fragment, a conda environment.

Pure text; ``pylock`` needs hashes and therefore the network: see :mod:`compat.registry`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from compat.plan import Plan

FORMATS: Final = ("requirements", "uv", "conda")


def requirements(plan: Plan) -> str:
    """A requirements file: exact pins, and the index of each group of packages.

    pip has one set of indexes per file, so an extra index is named once; the local version tag (``+cu118``) is what
    keeps the default index from answering with its own build.
    """
    lines = [f"# {plan.runtime}, Python {plan.python}, {plan.arch}; made by envcheck"]
    lines += [f"{_option(url)} {url}" for url in _indexes(plan)]
    for build in plan.builds:
        lines += [build.requirement, *build.pins]
    return "\n".join([*lines, *plan.constraints]) + "\n"


def uv(plan: Plan) -> str:
    """A ``pyproject.toml`` fragment for uv: dependencies, explicit indexes, and which package comes from which."""
    names = {url: _name(url) for url in _indexes(plan)}
    wanted = [pin for build in plan.builds for pin in (build.requirement, *build.pins)]
    lines = ["[project]", 'name = "app"', 'version = "0"', f'requires-python = "=={plan.python}.*"', "dependencies = ["]
    lines += [f"  {json.dumps(item)}," for item in (*wanted, *plan.constraints)]
    lines.append("]")
    if names:
        lines += ["", "[tool.uv.sources]"]
        lines += [
            f"{build.name} = {{ index = {json.dumps(names[build.index])} }}" for build in plan.builds if build.index
        ]
    for url, name in names.items():
        lines += ["", "[[tool.uv.index]]", f"name = {json.dumps(name)}", f"url = {json.dumps(url)}", "explicit = true"]
        lines += ['format = "flat"'] if _option(url) == "--find-links" else []
    return "\n".join(lines) + "\n"


def conda(plan: Plan) -> str:
    """A conda environment that takes Python from conda-forge and the planned wheels through pip.

    Conda's own builds of the frameworks are other builds than the planned ones, so the wheels are asked for by pip.
    """
    lines = [
        "name: app",
        "channels:",
        "  - conda-forge",
        "dependencies:",
        f"  - python={plan.python}",
        "  - pip",
        "  - pip:",
    ]
    lines += [f"      - {_option(url)} {url}" for url in _indexes(plan)]
    lines += [f"      - {json.dumps(item)}" for build in plan.builds for item in (build.requirement, *build.pins)]
    return "\n".join([*lines, *(f"      - {json.dumps(item)}" for item in plan.constraints)]) + "\n"


def write(plan: Plan, format: str) -> str:  # noqa: A002
    """The plan in one of :data:`FORMATS`."""
    return {"requirements": requirements, "uv": uv, "conda": conda}[format](plan)


def _indexes(plan: Plan) -> list[str]:
    return list(dict.fromkeys(build.index for build in plan.builds if build.index))


def _option(url: str) -> str:
    """``--find-links`` for a page of files, ``--extra-index-url`` for an index (PEP 503)."""
    return "--find-links" if url.endswith(".html") else "--extra-index-url"


def _name(url: str) -> str:
    """A readable index name: host and last step, ``download-pytorch-org-cu118``."""
    parts = urlsplit(url)
    last = [step for step in parts.path.split("/") if step][-1:]
    return (
        "-".join([parts.netloc.replace(".", "-").replace(":", "-"), *last]).replace(".", "-").replace("_", "-").lower()
    )
