"""The stage that compiles extensions: its image, and what their builders read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compat.dockerfile.steps as steps
from compat import versions
from compat.errors import InputError
from compat.names import normalise
from compat.targets import sm

if TYPE_CHECKING:
    from compat.dockerfile.settings import Settings
    from compat.plan import BaseImage, Plan


def arguments(plan: Plan, settings: Settings) -> dict[str, str]:
    """What the builders of extensions read, to compile for the plan's devices and within a builder's memory.

    torch's own asks the devices of the building machine otherwise, which a build does not have
    (torch/utils/cpp_extension.py, ``_get_cuda_arch_flags`` and ``_get_rocm_arch_flags``); flash-attn has lists of its
    own, for CUDA one entry for each major, and fetches a wheel unless told to build (its setup.py). Four jobs are what
    its README advises below 96 GB of memory.

    Raises:
        InputError: if something is to be compiled and the plan names no device.
    """
    if not settings.compile:
        return {}
    targets = steps.gpu_targets(plan)
    if not targets:
        raise InputError("the plan names no GPU to compile for", where="compile", hint="resolve with --gpu NAME")
    jobs = {"MAX_JOBS": "4"}
    if any(normalise(versions.read_requirement(text).name) == "flash-attn" for text in settings.compile):
        jobs["FLASH_ATTENTION_FORCE_BUILD"] = "TRUE"
    if plan.runtime.startswith("rocm"):
        return dict.fromkeys(("PYTORCH_ROCM_ARCH", "GPU_ARCHS"), ";".join(targets)) | jobs
    found = [number for text in targets if (number := sm(text))]
    lists = {"TORCH_CUDA_ARCH_LIST": ";".join(one.capability for one in found)}
    if "FLASH_ATTENTION_FORCE_BUILD" in jobs:
        majors = sorted({int(one.capability.partition(".")[0]) * 10 for one in found})
        lists["FLASH_ATTN_CUDA_ARCHS"] = ";".join(map(str, majors))
    return {**lists, **jobs, "NVCC_THREADS": "2"}


def devel_image(base: BaseImage, settings: Settings) -> str:
    """The image with compilers: what was asked for, or the ``devel`` sibling of an NVIDIA tag.

    NVIDIA publishes every tag in the flavours base, runtime and devel of one toolkit release
    (https://hub.docker.com/r/nvidia/cuda, "Overview of Images").

    Raises:
        InputError: if something is to be compiled and there is no such sibling.
    """
    if not settings.compile:
        return ""
    if base.python_from == "image":
        raise InputError(
            "nothing can be compiled beside a base that brings its own Python",
            where="compile",
            hint="resolve for a system whose Python the distribution or uv provides",
        )
    if settings.devel_image:
        return settings.devel_image
    sibling = base.image.replace("-runtime-", "-devel-").replace("-base-", "-devel-")
    if base.image.startswith("nvidia/cuda:") and "-devel-" in sibling:
        return sibling
    raise InputError(
        f"no image with compilers is known beside {base.image}",
        where="compile",
        expected="a devel image of the same toolkit",
        hint="name one as devel_image in [tool.envcheck.image]",
    )
