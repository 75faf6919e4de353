"""What a code means that only a probe can see; the pages of all others are those of the rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from compat.changes import Command
from compat.rules.rule import Rule, family


class ProbeRule(Rule):
    """Base of the pages of probes: what failed is told by the probe itself, not by the facts of a machine."""

    area = "probes"


class ProbeKernelWrongResult(ProbeRule):
    """The device computed a wrong result.

    A result differs from the same computation on the processor by more than rounding explains, a block of memory came
    back changed, or the same product gave different bits twice.

    Why:
        Nothing fails when a device computes wrongly: a training run just goes astray. Faulty memory, an unstable card
        and a library that does not fit the device all show like this.
    Fix:
        Run the probes again with other programs stopped; if the result stays wrong, test another GPU with the same
        image to tell the card from the software, and look for Xid messages in the kernel log.
    Sources:
        - https://docs.nvidia.com/deploy/xid-errors/
    """


class ProbeCpuFallback(ProbeRule):
    """The framework would run on the processor.

    The plan is for a GPU; the framework sees none, or a result that was asked for on the GPU lies elsewhere.

    Why:
        Frameworks go on with the processor instead of stopping, tens of times slower, and a test that only looks for
        errors passes.
    Fix:
        Give the container its GPU, then verify again.
    Sources:
    """

    changes = (Command("envcheck doctor"),)


class ProbeCompileFailed(ProbeRule):
    """The framework's compiler path does not work.

    A function that was handed to the framework's compiler (torch.compile, jax.jit, tf.function, hipRTC) did not
    compile, while plain operations work.

    Why:
        Compilers need programs that a small image lacks, and they are first called in the middle of a run.
    Fix:
        Install what the message names: a C compiler, Python's headers and setuptools for torch.compile (an older one
        where pkg_resources is missing, which newer ones dropped), ptxas and libdevice for XLA.
    Sources:
        - https://setuptools.pypa.io/en/latest/history.html
    """


class ProbeBandwidthLow(ProbeRule):
    """The device is far slower than its kind should be.

    A measured copy reached less than half, or a measured matrix product less than three tenths, of the peak that the
    vendor states for the device.

    Why:
        It computes correctly, only slowly: clocks, heat, a power limit, another program or a slice of the device can be
        the reason, so this is a warning.
    Fix:
        Look at clocks, temperature and the PCIe link, and for other programs on the device.
    Sources:
    """

    severity = "warning"


class ProbeCollectiveFailed(ProbeRule):
    """The devices cannot work together.

    A sum over all devices by the framework's collective library (NCCL, RCCL) failed, or was wrong.

    Why:
        Each device works alone, so the fault lies between them: the link, the shared memory of the container, an IOMMU
        in the way of direct access, or mixed library versions.
    Fix:
        NCCL_DEBUG=INFO shows where it stops; NCCL_P2P_DISABLE=1 tells a fault of the link from others.
    Sources:
        - https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
    """


class ProbeTimeout(ProbeRule):
    """A probe did not end in time.

    A probe that had begun gave no answer before its deadline, and was ended.

    Why:
        A device that hangs does not say so. The first start of a framework can also be slow where kernels are compiled
        for the device, or where the disk is.
    Fix:
        See which probe was under way; give it longer with --timeout if the device is merely slow.
    Sources:
    """


class ProbeMemoryShort(ProbeRule):
    """The probes have too little memory.

    A probe was killed, could not get main memory, or made no way because a memory limit left no room for its program,
    which then is read from the disk again and again.

    Why:
        What does not fit the memory limit of a container is killed by the kernel, or stands still; the limit counts the
        program's own files as well as its data.
    Fix:
        Give the container more (`envcheck verify --memory MIB`); outside one, end what holds the memory, or add memory
        or swap.
    Sources:
        - https://docs.kernel.org/admin-guide/cgroup-v2.html
    """


class ProbeFailed(ProbeRule):
    """A probe failed.

    A probe ended with an error that points to no cause we know, or without a word.

    Why:
        What the framework cannot do in a probe it cannot do in your program either.
    Fix:
        The message is the program's own; `envcheck explain` may know its text.
    Sources:
    """


class ImageNotAsPlanned(ProbeRule):
    """The image does not hold what its plan says.

    The Python, the processor or a version of a package in the image is another than the plan's.

    Why:
        What was checked to fit together is what the plan names. A later step, an install on top, or the plan of another
        image: what is tested then is not what was planned.
    Fix:
        Build the image from this plan (later steps must respect its constraints), or verify it with the plan that it
        was built from.
    Sources:
        - https://packaging.python.org/en/latest/specifications/recording-installed-packages/
    """


class ImageWithoutPython(ProbeRule):
    """The image has no Python that can be started.

    Neither the virtual environment that our images have, nor python3, nor python could be started in it.

    Why:
        The probes and the frameworks need one; a base of NVIDIA's or AMD's has none.
    Fix:
        Install Python in the image with its package manager, or start from an image that has it.
    Sources:
    """


# Code -> its page.
CODES: Final[Mapping[str, type[Rule]]] = family(
    ProbeKernelWrongResult, ProbeCpuFallback, ProbeCompileFailed, ProbeBandwidthLow, ProbeCollectiveFailed,
    ProbeTimeout, ProbeMemoryShort, ProbeFailed, ImageNotAsPlanned, ImageWithoutPython,
)  # fmt: skip


def rule_of(code: str) -> type[Rule]:
    """The rule whose page tells of a code. An image may print anything: an unknown one is a probe that failed."""
    from compat import rules

    return rules.RULES.get(code) or CODES.get(code, ProbeFailed)
