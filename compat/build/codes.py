"""What a probe's code means: the rule's own page where a rule has the code, ours for what only a probe can see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from compat.findings import Fix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.findings import Severity


@dataclass(frozen=True, slots=True)
class Advice:
    """Title, severity and remedy of a code."""

    code: str
    title: str
    severity: Severity
    fix: Fix
    sources: tuple[str, ...] = ()


def advice(code: str) -> Advice:
    """What to say about a code. An unknown one (an image may print anything) is told as a probe that failed."""
    if code in _OURS:
        return _OURS[code]
    from compat import rules

    try:
        page = rules.page(code)
    except (KeyError, LookupError):
        return _OURS["probe-failed"]
    return Advice(page.code, page.title, page.severity, Fix(page.fix), page.sources)


_OURS: Final[Mapping[str, Advice]] = {
    item.code: item
    for item in (
        Advice(
            "probe-kernel-wrong-result",
            "The device computed a wrong result",
            "error",
            Fix(
                "Run the probes again with other programs stopped; if the result stays wrong, test another GPU with "
                "the same image to tell the card from the software, and look for Xid messages in the kernel log."
            ),
        ),
        Advice(
            "probe-cpu-fallback",
            "The framework would run on the processor",
            "error",
            Fix("Give the container its GPU, then verify again.", ("envcheck doctor",)),
        ),
        Advice(
            "probe-compile-failed",
            "The framework's compiler path does not work",
            "error",
            Fix(
                "Plain operations work and compiled ones do not: install what the message names (a C compiler and "
                "Python's headers for torch.compile, ptxas and libdevice for XLA)."
            ),
        ),
        Advice(
            "probe-bandwidth-low",
            "The device is far slower than its kind should be",
            "warning",
            Fix("Look at clocks, temperature and the PCIe link, and for other programs on the device."),
        ),
        Advice(
            "probe-collective-failed",
            "The devices cannot work together",
            "error",
            Fix("NCCL_DEBUG=INFO shows where it stops; NCCL_P2P_DISABLE=1 tells a fault of the link from others."),
        ),
        Advice(
            "probe-timeout",
            "A probe did not end in time",
            "error",
            Fix("See which probe was under way; give it longer with --timeout if the device is merely slow."),
        ),
        Advice(
            "probe-failed",
            "A probe failed",
            "error",
            Fix("The message is the program's own; `envcheck explain` may know its text."),
        ),
        Advice(
            "image-without-python",
            "The image has no Python that can be started",
            "error",
            Fix("Install Python in the image: NVIDIA's and AMD's bases have none, and pip alone cannot help."),
        ),
    )
}
