"""An inspection told: which files carry code for which GPUs, and which devices run it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from compat.render.ink import Ink, printable, table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STYLES: Final = {"native": "green", "ptx": "yellow", "none": "red", "unknown": "yellow"}


def text(document: Mapping[str, Any], verdicts: Sequence[Mapping[str, Any]] = (), *, pen: Ink | None = None) -> str:
    """The inspection as a table of files with their targets, then a line per device.

    Args:
        document: the ``envcheck.inspect/1`` document.
        verdicts: ``{"gpu", "target", "kernels", "why"}`` per device.
        pen: how to draw.
    """
    pen = pen or Ink()
    rows = [(printable(item["path"]), _targets(item)) for item in document["objects"] if _targets(item)]
    lines = table(rows, pen, head=("file", "code for")) if rows else ["No GPU code was found."]
    if len(rows) > 1:
        lines += ["", pen("bold", "all together: ") + _targets(document["targets"])]
    lines += [_verdict(item, pen) for item in verdicts]
    lines += [pen("yellow", f"? {printable(why)}") for why in document.get("unread", ())]
    return "\n".join(lines)


def _targets(item: Mapping[str, Any]) -> str:
    """SM, PTX and gfx targets of one object, in that order: ``sm_80 sm_90 compute_90``."""
    return " ".join((*item["sass"], *item["ptx"], *item["gfx"]))


def _verdict(item: Mapping[str, Any], pen: Ink) -> str:
    """Whether a GPU can run what was found, and by which of its targets."""
    name = item["gpu"] if item["gpu"] == item["target"] else f"{item['gpu']} ({item['target']})"
    return f"{printable(name)}: {pen(_STYLES[item['kernels']], item['kernels'])}  {printable(item['why'])}"
