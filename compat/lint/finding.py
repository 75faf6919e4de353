"""What every lint finding has: code, severity, place, evidence, fix. The catalogue of lint's codes with their pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.findings import Confidence, Evidence, Finding, Fix, Place, Severity
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.lint.scene import Scene


@dataclass(frozen=True, slots=True)
class Rule:
    """A lint code: its title, why it matters, and how it is mended in general."""

    title: str
    why: str
    fix: str


# Codes that only lint (and resolving for the doctor) gives; all others are documented with the doctor's rules.
RULES: Final[Mapping[str, Rule]] = {
    "base-tag-gone": Rule(
        "The base image's tag was removed from its registry",
        "Docker cannot pull it: the build fails at its first line.",
        "Take a tag that exists.",
    ),
    "base-tag-eol": Rule(
        "The base image gets no rebuilds any more",
        "Security fixes no longer reach it, and its maker may remove it.",
        "Move to a maintained tag of the same family.",
    ),
    "base-runtime-mismatch": Rule(
        "The framework takes CUDA, cuDNN or ROCm from the base, and the base has another one",
        "A wheel that does not bring these libraries loads whatever the system has, or nothing.",
        "Take the base image of the framework's own runtime.",
    ),
    "base-python-missing": Rule(
        "Python or pip is used before anything provides it",
        "Images of CUDA and of distributions ship without Python: the first pip fails.",
        "Install Python first, or start from an image that has it.",
    ),
    "library-missing": Rule(
        "A library that the framework takes from the system is not in the base image",
        "The framework falls back to the CPU with a log line, or does not import.",
        "Take the flavour of the base image that has it, or a build that brings it.",
    ),
    "double-cuda": Rule(
        "CUDA is in the image twice",
        "The wheels bring their own CUDA libraries; those of the base image are never loaded, yet pulled and stored.",
        "Start from the `base` flavour, or from a plain image: the driver is mounted at run time.",
    ),
    "devel-in-final-stage": Rule(
        "The compiler image is shipped although nothing in it is compiled",
        "The devel flavour adds gigabytes of headers and compilers.",
        "Compile in an earlier stage and copy the result, or use the runtime or base flavour.",
    ),
    "extra-index-shadowed": Rule(
        "An extra index names a build that the default index overrides",
        "pip takes the highest version of all indexes: an unpinned name escapes to the default index's newer build.",
        "Make the index the only one for this step (`--index-url`), or pin the version with its local tag.",
    ),
    "index-missing": Rule(
        "A local version is asked for without any index that has it",
        "Local versions such as +cu113 are not on the default index: the install fails.",
        "Name the index of that build.",
    ),
    "accidental-cpu-wheel": Rule(
        "The request falls back to a CPU build although a GPU is meant",
        "Nothing fails: the program just runs on the CPU.",
        "Ask for the GPU build by its extra, its index or its own package.",
    ),
    "version-does-not-exist": Rule(
        "The pinned version or variant does not exist where it is asked for",
        "The install fails, or falls back to something else.",
        "Pin a release that the index has.",
    ),
    "nightly-unpinned": Rule(
        "A moving nightly build is installed",
        "Each build gives another result, and the index drops old nightlies.",
        "Pin a date, or take a release.",
    ),
    "pin-missing": Rule(
        "A framework, a companion or a base tag is left to float",
        "Tomorrow's build is another one: versions that must match drift apart.",
        "Pin exact versions.",
    ),
    "gpu-query-at-build": Rule(
        "A build step asks for a GPU",
        "No device is visible while an image is built: the step fails, or bakes in a wrong answer.",
        "Ask at run time, or state what is wanted (TORCH_CUDA_ARCH_LIST, CONDA_OVERRIDE_CUDA).",
    ),
    "devices-hardcoded": Rule(
        "A fixed device index is written into the image or service",
        "It hides the other devices, and is wrong on the next machine.",
        "Leave the choice to the one who runs it.",
    ),
    "apt-key-deprecated": Rule(
        "apt-key is used",
        "It is deprecated, absent from current releases, and trusts the key for every repository.",
        "Store the key in /usr/share/keyrings and name it with signed-by.",
    ),
    "container-runtime-in-image": Rule(
        "Host software for GPU containers is installed inside an image",
        "The container toolkit belongs to the host; inside an image it has no effect on GPU access.",
        "Remove it from the image and install it on the host.",
    ),
    "root-user": Rule(
        "The container runs as root",
        "A process that escapes, or a volume that is written to, does so as root.",
        "Set a numeric USER in the final stage.",
    ),
    "wish-unsatisfiable": Rule(
        "What was asked for cannot run on this machine",
        "Some wishes, facts of the machine and rows of the matrix exclude each other.",
        "Follow one of the fixes; each was checked to work.",
    ),
}


def finding(
    code: str,
    scene: Scene,
    line: int,
    detail: str,
    *,
    severity: Severity,
    fix: str = "",
    commands: tuple[str, ...] = (),
    evidence: tuple[Evidence, ...] = (),
    sources: tuple[str, ...] = (),
    confidence: Confidence = "certain",
) -> Finding:
    """A finding at a line of the scene's file, with the code's own title and fix where none is given."""
    from compat import rules

    page = RULES[code] if code in RULES else rules.page(code)
    return Finding(
        code=code,
        severity=severity,
        confidence=confidence,
        title=page.title,
        detail=detail,
        evidence=evidence,
        fix=Fix(fix or page.fix, commands),
        sources=sources,
        place=Place(scene.ask.file, line),
    )
