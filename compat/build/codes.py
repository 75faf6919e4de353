"""What a probe's code means: the rule's own page where a rule has the code, ours for what only a probe can see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.findings import Severity


@dataclass(frozen=True, slots=True)
class Advice:
    """Everything there is to say about a code when no machine is at hand.

    Attributes:
        code: the code.
        title: one line.
        severity: how bad it is where a probe failed with it.
        what: what was tried and what was seen.
        why: why that matters.
        fix: the remedy.
        sources: where this knowledge comes from.
    """

    code: str
    title: str
    severity: Severity
    what: str
    why: str
    fix: Fix
    sources: tuple[str, ...] = ()


def advice(code: str) -> Advice:
    """What to say about a code. An unknown one (an image may print anything) is told as a probe that failed."""
    from compat import rules

    if code in CODES or code not in rules.RULES:
        return CODES.get(code, CODES["probe-failed"])
    page = rules.page(code)
    return Advice(page.code, page.title, page.severity, page.what, page.why, Fix(page.fix), page.sources)


# Codes that no rule has, because only a probe can see them; ``envcheck explain`` tells them like a rule's page.
CODES: Final[Mapping[str, Advice]] = {
    item.code: item
    for item in (
        Advice(
            "probe-kernel-wrong-result",
            "The device computed a wrong result",
            "error",
            "A result differs from the same computation on the processor by more than rounding explains, a block of "
            "memory came back changed, or the same product gave different bits twice.",
            "Nothing fails when a device computes wrongly: a training run just goes astray. Faulty memory, an unstable "
            "card and a library that does not fit the device all show like this.",
            Fix(
                "Run the probes again with other programs stopped; if the result stays wrong, test another GPU with "
                "the same image to tell the card from the software, and look for Xid messages in the kernel log."
            ),
            ("https://docs.nvidia.com/deploy/xid-errors/",),
        ),
        Advice(
            "probe-cpu-fallback",
            "The framework would run on the processor",
            "error",
            "The plan is for a GPU; the framework sees none, or a result that was asked for on the GPU lies elsewhere.",
            "Frameworks go on with the processor instead of stopping, tens of times slower, and a test that only looks "
            "for errors passes.",
            Fix("Give the container its GPU, then verify again.", ("envcheck doctor",)),
        ),
        Advice(
            "probe-compile-failed",
            "The framework's compiler path does not work",
            "error",
            "A function that was handed to the framework's compiler (torch.compile, jax.jit, tf.function, hipRTC) did "
            "not compile, while plain operations work.",
            "Compilers need programs that a small image lacks, and they are first called in the middle of a run.",
            Fix(
                "Install what the message names: a C compiler, Python's headers and setuptools for torch.compile (an "
                "older one where pkg_resources is missing, which newer ones dropped), ptxas and libdevice for XLA."
            ),
            ("https://setuptools.pypa.io/en/latest/history.html",),
        ),
        Advice(
            "probe-bandwidth-low",
            "The device is far slower than its kind should be",
            "warning",
            "A measured copy reached less than half, or a measured matrix product less than three tenths, of the peak "
            "that the vendor states for the device.",
            "It computes correctly, only slowly: clocks, heat, a power limit, another program or a slice of the device "
            "can be the reason, so this is a warning.",
            Fix("Look at clocks, temperature and the PCIe link, and for other programs on the device."),
        ),
        Advice(
            "probe-collective-failed",
            "The devices cannot work together",
            "error",
            "A sum over all devices by the framework's collective library (NCCL, RCCL) failed, or was wrong.",
            "Each device works alone, so the fault lies between them: the link, the shared memory of the container, "
            "an IOMMU in the way of direct access, or mixed library versions.",
            Fix("NCCL_DEBUG=INFO shows where it stops; NCCL_P2P_DISABLE=1 tells a fault of the link from others."),
            ("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",),
        ),
        Advice(
            "probe-timeout",
            "A probe did not end in time",
            "error",
            "A probe that had begun gave no answer before its deadline, and was ended.",
            "A device that hangs does not say so. The first start of a framework can also be slow where kernels are "
            "compiled for the device, or where the disk is.",
            Fix("See which probe was under way; give it longer with --timeout if the device is merely slow."),
        ),
        Advice(
            "probe-memory-short",
            "The probes have too little memory",
            "error",
            "A probe was killed, could not get main memory, or made no way because a memory limit left no room for its "
            "program, which then is read from the disk again and again.",
            "What does not fit the memory limit of a container is killed by the kernel, or stands still; the limit "
            "counts the program's own files as well as its data.",
            Fix(
                "Give the container more (`envcheck verify --memory MIB`); outside one, end what holds the memory, or "
                "add memory or swap."
            ),
            ("https://docs.kernel.org/admin-guide/cgroup-v2.html",),
        ),
        Advice(
            "probe-failed",
            "A probe failed",
            "error",
            "A probe ended with an error that points to no cause we know, or without a word.",
            "What the framework cannot do in a probe it cannot do in your program either.",
            Fix("The message is the program's own; `envcheck explain` may know its text."),
        ),
        Advice(
            "image-not-as-planned",
            "The image does not hold what its plan says",
            "error",
            "The Python, the processor or a version of a package in the image is another than the plan's.",
            "What was checked to fit together is what the plan names. A later step, an install on top, or "
            "the plan of another image: what is tested then is not what was planned.",
            Fix(
                "Build the image from this plan (later steps must respect its constraints), or verify "
                "it with the plan that it was built from."
            ),
            ("https://packaging.python.org/en/latest/specifications/recording-installed-packages/",),
        ),
        Advice(
            "image-without-python",
            "The image has no Python that can be started",
            "error",
            "Neither the virtual environment that our images have, nor python3, nor python could be started in it.",
            "The probes and the frameworks need one; a base of NVIDIA's or AMD's has none.",
            Fix("Install Python in the image with its package manager, or start from an image that has it."),
        ),
    )
}
