"""Lint of two distributions that write one module: the one that pip installs last wins, file by file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.lint.finding import finding
from compat.lint.walk import alike, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken

_GPU: Final = "-gpu"


def doubled(scene: Scene) -> Iterator[Finding]:
    """framework-duplicate-install: a package for the GPU and its CPU form of another name, in one environment.

    Source: packaging specifications, "Recording installed projects" (each distribution owns the files that it writes).
    """
    named = {item.request.name: item for item in scene.env}
    plain = ((one, named.get(one.request.name.removesuffix(_GPU))) for one in named.values())
    for gpu, cpu in plain:
        if cpu is None or cpu is gpu or not _is_cpu(cpu, scene):
            continue
        if gpu.step.branch != cpu.step.branch or not alike(gpu.step, cpu.step):
            continue
        if together((gpu.request.marker, cpu.request.marker), scene.worlds) and (gpu.mine or cpu.mine):
            line = max(gpu.request.line, cpu.request.line)
            what = f"{gpu.request.name} and {cpu.request.name} write the same module"
            detail = f"{what}; where {cpu.request.name} is written last, it runs on the CPU."
            fix = f"Ask for {gpu.request.name} alone."
            yield finding("framework-duplicate-install", scene, line, detail, severity="warning", fix=fix)


def _is_cpu(item: Taken, scene: Scene) -> bool:
    """Whether a distribution has no build for a GPU on the default index, and its GPU form has a name of its own."""
    rows = [row for row in scene.rows(item.request.name) if not row.index]
    return bool(rows) and all(row.runtime == "cpu" or row.runtime.startswith("metal") for row in rows)


RULES: Final = (doubled,)
