"""An inspection told: which files carry code for which GPUs, and which devices run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from compat.render.ink import Ink, one_line, table

_STYLES: Final = {"native": "green", "ptx": "yellow", "none": "red", "unknown": "yellow"}


def text(document: Mapping[str, Any], verdicts: Sequence[Mapping[str, Any]] = (), *, pen: Ink | None = None) -> str:
    """The inspection as a table of files with their targets, then a line per device."""
    pen = pen or Ink()
    rows = [(one_line(item["path"]), _targets(item)) for item in document["objects"] if _targets(item)]
    lines = table(rows, pen, head=("file", "code for")) if rows else ["No GPU code was found."]
    if len(rows) > 1:
        lines += ["", pen("bold", "all together: ") + _targets(document["targets"])]
    lines += [line for item in verdicts for line in _verdict(item, pen)]
    lines += [
        pen("yellow", line)
        for why in document.get("unread", ())
        for line in pen.wrap(why, f"{pen.mark('unknown')} ", "  ")
    ]
    return "\n".join(lines)


def _targets(item: Mapping[str, Any]) -> str:
    """SM, PTX and gfx targets of one object, in that order: ``sm_80 sm_90 compute_90``."""
    return " ".join((*item["sass"], *item["ptx"], *item["gfx"]))


def _verdict(item: Mapping[str, Any], pen: Ink) -> list[str]:
    """Whether a GPU can run what was found, and by which of its targets: behind it where there is room, else below."""
    name = item["gpu"] if item["gpu"] == item["target"] else f"{item['gpu']} ({item['target']})"
    name, kernels, why = one_line(name), item["kernels"], one_line(item["why"])
    head = f"{name}: {pen(_STYLES[kernels], kernels)}"
    if len(f"{name}: {kernels}  {why}") <= pen.width:
        return [f"{head}  {why}"]
    return [head, *pen.wrap(why, "    ")]
