"""Lint of conda packages: pairs that do not belong together, the same framework from pip too, builds without a device.

Conda's own solver decides, and its channels are not in the matrix; so nothing here is more than a warning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.rules.lint.origins as origins
from compat.rules.lint.finding import finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.findings import Finding
    from compat.rules.lint.scene import Scene
    from compat.sources.values import Request

_NAMES: Final[Mapping[str, str]] = {"pytorch": "torch", "pytorch-gpu": "torch", "tensorflow-gpu": "tensorflow"}
_TORCH: Final = re.compile(r"torch(?:[=<>!~ ].*|$)")


def pairs(scene: Scene) -> Iterator[Finding]:
    """framework-pair-mismatch: a companion whose every wheel requires another torch than conda is asked for."""
    named = {_NAMES.get(request.name, request.name): request for request in scene.conda}
    torch = named.get("torch")
    for name in ("torchvision", "torchaudio"):
        other = named.get(name)
        if torch is None or other is None or not _release(torch) or not _release(other):
            continue
        lines = [
            re.sub(r"\+[\w.]+", "", line.partition(";")[0].strip().removeprefix("torch"))
            for build in scene.matrix.builds(name)
            if build.version == _release(other)
            for line in build.requires
            if _TORCH.match(line)
        ]
        specs = [found for line in lines if (found := origins.specifiers(line)) is not None]
        if specs and not any(found.contains(_release(torch)) for found in specs):
            detail = f"{other.text} requires torch{specs[0]}, and {torch.text} is asked for."
            yield _warning("framework-pair-mismatch", scene, other, detail)


def _release(request: Request) -> str:
    """The one release that a conda specification of three numbers means; empty for anything looser."""
    found = re.fullmatch(r"==(\d+\.\d+\.\d+)(?:\.\*)?", request.spec)
    return found[1] if found else ""


def twice(scene: Scene) -> Iterator[Finding]:
    """framework-duplicate-install: a framework from conda, and once more from pip."""
    named = {_NAMES.get(request.name, request.name) for request in scene.conda}
    for item in scene.own:
        package = scene.matrix.package(item.request.name)
        if item.request.name in named and package and package.kind == "framework":
            detail = f"{item.request.text} of pip is laid over conda's."
            yield _warning("framework-duplicate-install", scene, item.request, detail)


def deviceless(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel: conda-forge's GPU builds need a driver in sight, and an image build has none.

    Source: conda-forge documentation, "CUDA" (the virtual package __cuda, CONDA_OVERRIDE_CUDA).
    """
    if scene.gpu != "cuda" or scene.base is None or scene.base.installed:
        return
    overridden = "CONDA_OVERRIDE_CUDA" in scene.stage.env or any(
        "CONDA_OVERRIDE_CUDA" in dict(command.settings) for command in scene.commands
    )
    for step in scene.stage.installs:
        forged = step.manager == "conda" and step.channels[:1] == ("conda-forge",)
        if not forged or overridden or {"pytorch", "nvidia"} & {*step.channels}:
            continue
        for request in step.requests:
            if request.name in {"pytorch", "tensorflow", "jaxlib", "jax"}:
                detail = (
                    f"{request.text} of conda-forge becomes the CPU build: while an image is built no driver is seen."
                )
                yield _warning(
                    "accidental-cpu-wheel", scene, request, detail, fix="Set CONDA_OVERRIDE_CUDA for the step."
                )


def _warning(code: str, scene: Scene, request: Request, detail: str, *, fix: str = "") -> Finding:
    return finding(code, scene, request.line, detail, severity="warning", confidence="likely", fix=fix)


RULES: Final = (pairs, twice, deviceless)
