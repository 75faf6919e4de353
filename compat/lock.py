"""A plan as files that installers read: requirements, a uv project fragment, a conda environment.

Pure text; ``pylock`` needs hashes and therefore the network: see :mod:`compat.registry`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from compat.plan import Plan, PlannedBuild

FORMATS: Final = ("requirements", "uv", "conda")


def requirements(plan: Plan) -> str:
    """A requirements file: exact pins, and the index of each group of packages.

    pip has one set of indexes per file, so that each is named once; see :func:`_options`.
    """
    lines = [f"# {plan.runtime}, Python {plan.python}, {', '.join(plan.archs)}; made by envcheck"]
    lines += _options(plan)
    for build in plan.builds:
        lines += [build.requirement, *build.pins]
    return "\n".join([*lines, *plan.constraints, *plan.unjudged]) + "\n"


def uv(plan: Plan) -> str:
    """A ``pyproject.toml`` fragment for uv: dependencies, indexes, and which package comes from which.

    An index is ``explicit``, so that nothing but the planned build comes from it, except where a dependency of that
    build lies there too; see :func:`_shared`. Source: docs.astral.sh/uv, "Using uv with PyTorch" and "Indexes".
    """
    indexes = {build.index: build for build in plan.builds if build.index}
    wanted = [pin for build in plan.builds for pin in (build.requirement, *build.pins)]
    lines = ["[project]", 'name = "app"', 'version = "0"', f'requires-python = "=={plan.python}.*"', "dependencies = ["]
    lines += [f"  {json.dumps(item)}," for item in (*wanted, *plan.constraints, *plan.unjudged)]
    lines.append("]")
    if any(_shared(build) and not build.links for build in indexes.values()):
        lines += ["", "[tool.uv]", "# a dependency of the GPU build lies on its index alone, all others on both"]
        lines += ['index-strategy = "unsafe-best-match"']
    sources = [build for build in plan.builds if build.index and not build.links]
    if sources:
        lines += ["", "[tool.uv.sources]"]
        lines += [f"{build.name} = {{ index = {json.dumps(_name(build.index))} }}" for build in sources]
    for url, build in indexes.items():
        lines += ["", "[[tool.uv.index]]", f"name = {json.dumps(_name(url))}", f"url = {json.dumps(url)}"]
        lines += [] if _shared(build) else ["explicit = true"]
        lines += ['format = "flat"'] if build.links else []
    return "\n".join(lines) + "\n"


def _shared(build: PlannedBuild) -> bool:
    """Whether dependencies of a build come from its index too, which an explicit index would hide from uv.

    A page of links holds JAX's jaxlib but not jax itself. PyTorch's ROCm builds pin a Triton that only their own index
    has, under a name that changed between releases (github.com/astral-sh/uv issue 10712).
    """
    return build.links or build.runtime.startswith("rocm")


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
    lines += [f"      - {option}" for option in _options(plan)]
    lines += [f"      - {json.dumps(item)}" for build in plan.builds for item in (build.requirement, *build.pins)]
    return "\n".join([*lines, *(f"      - {json.dumps(item)}" for item in (*plan.constraints, *plan.unjudged))]) + "\n"


def write(plan: Plan, format: str) -> str:  # noqa: A002
    """The plan in one of :data:`FORMATS`."""
    return {"requirements": requirements, "uv": uv, "conda": conda}[format](plan)


def _options(plan: Plan) -> list[str]:
    """The indexes as options of pip, each once: ``--find-links`` for a page of links, else an index (PEP 503).

    An index is an extra one: the local version tag tells its builds from those of the default index. For a build
    without a tag pip would take the file of either index, so that then, if all builds come from one index, that one
    stands in the place of the default. Source: pip's documentation of ``--extra-index-url``: all indexes are searched.
    """
    found = {build.index: build.links for build in plan.builds if build.index}
    alone = len(found) == 1 and all(build.index for build in plan.builds)
    untagged = any(build.index and "+" not in build.version for build in plan.builds)
    option = "--index-url" if alone and untagged else "--extra-index-url"
    return [f"{'--find-links' if links else option} {url}" for url, links in found.items()]


def _name(url: str) -> str:
    """A readable index name: host and last step, ``download-pytorch-org-cu118``."""
    parts = urlsplit(url)
    last = [step for step in parts.path.split("/") if step][-1:]
    return (
        "-".join([parts.netloc.replace(".", "-").replace(":", "-"), *last]).replace(".", "-").replace("_", "-").lower()
    )
