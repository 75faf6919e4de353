"""Lint of Pixi projects: GPU builds of conda-forge that are not chosen, as no CUDA is declared.

Source: Pixi documentation, "System requirements" (without ``cuda`` the virtual package ``__cuda`` is taken for absent).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.lint.finding import finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding, Severity
    from compat.lint.scene import Scene

_BUILT_BOTH: Final = frozenset({"pytorch", "tensorflow", "jaxlib", "jax"})
_GPU_ONLY: Final = frozenset({"pytorch-gpu", "tensorflow-gpu"})
_MEANS_CUDA: Final = frozenset({"cuda-version", "cuda-toolkit", "cuda", "cudatoolkit", "cudnn", "cuda-nvcc"})


def undeclared(scene: Scene) -> Iterator[Finding]:
    """accidental-cpu-wheel: packages whose GPU builds need a driver in sight, where the project declares none."""
    if scene.ask.kind not in {"pixi", "pyproject"} or "CONDA_OVERRIDE_CUDA" in scene.stage.env:
        return
    named = {request.name for request in scene.conda}
    for step in scene.stage.installs:
        if step.manager != "conda" or step.channels[:1] != ("conda-forge",):
            continue
        for request in step.requests:
            only = request.name in _GPU_ONLY
            if not only and not (request.name in _BUILT_BOTH and named & _MEANS_CUDA):
                continue
            what = "has no build" if only else "becomes the CPU build"
            level: Severity = "error" if only else "warning"
            detail = f"{request.text} {what}: no [system-requirements] says which CUDA the driver serves."
            fix = f'Add cuda = "12.0" under [{"tool.pixi." * (scene.ask.kind != "pixi")}system-requirements].'
            code, line = "accidental-cpu-wheel", request.line
            yield finding(code, scene, line, detail, severity=level, confidence="likely", fix=fix)
            return


RULES: Final = (undeclared,)
