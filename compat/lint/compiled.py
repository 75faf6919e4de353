"""Lint of extensions whose wheels' names tell what they are compiled for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.joints.build as builds
import compat.joints.packages as joint
import compat.lint.nearest as nearest
import compat.lint.origins as origins
from compat import versions
from compat.joints.verdict import Clash
from compat.lint.disputes import alternatives
from compat.lint.finding import of_request
from compat.lint.walk import alike
from compat.lint.worlds import parts_of, together

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix.rows import Build

# The torch that a wheel's local version names (``+cu12torch2.4cxx11abiFALSE``, ``+pt24cu124``, ``+torch211cu121``), or
# the page that it is on (``cu113/torch1.12.0/index.html``, ``torch-2.1.0+cu121``).
_OF_TORCH: Final = re.compile(
    r"\+(?:cu\d+)?(?:torch|pt)(?:(\d+\.\d+)|(?<=pt)(\d)(\d{1,2})|(\d)(\d{1,2})\d)(?=[.\d]*(?:cu|cpu|cxx|$))"
)
_PAGE_OF_TORCH: Final = re.compile(r"(?:^|/)torch-?(\d+\.\d+)")
_OF_CUDA: Final = re.compile(r"cu(\d\d)\d?(?!\d)")


def told_by_name(scene: Scene) -> Iterator[Finding]:
    """framework-build-tag-mismatch: an extension whose name tells another torch than the one that is there.

    Or another major of CUDA, whose runtime it loads by that. Source: the names of the wheels of flash-attn,
    causal-conv1d and mamba-ssm (``+cu12torch2.4cxx11abiFALSE``), of PyTorch Geometric (``+pt24cu124``), NATTEN and
    stable-fast (``+torch211cu121``); the pages of OpenMMLab, DGL and Detectron2.
    """
    torches = [item for item in scene.env if item.request.name == "torch" and item.version]
    for item in scene.env:
        wanted, cuda = _told(item, scene)
        if not wanted:
            continue
        listed = any(one.full == item.version for one in parts_of(item.request, item.build, scene.matrix))
        for torch in torches:
            told = listed and not torch.base  # its rows say it: see fits
            apart = told or alternatives(torch, item) or not alike(torch.step, item.step) or not item.mine
            if apart or not together((torch.request.marker, item.request.marker), scene.worlds):
                continue
            has = _other_cuda(torch.build, cuda) if torch.build and cuda else ""
            if isinstance(joint.loads(wanted, torch.version), Clash):
                there = versions.minor(torch.version.partition("+")[0])
                detail = f"{nearest.pin(item)} is compiled for torch {wanted}, and {torch.label} is there."
                fix = f"Take the wheel for torch {there}, or torch=={wanted}.*."
                yield of_request("framework-build-tag-mismatch", item, scene, detail, fix=fix)
            elif has and torch.build:
                detail = f"{nearest.pin(item)} is compiled for CUDA {cuda}, and {torch.label} is built for {has}."
                code, rows, fix = "framework-build-tag-mismatch", (torch.build,), f"Take the wheel for {has}."
                yield of_request(code, item, scene, detail, fix=fix, rows=rows, confidence="likely")


def _other_cuda(torch: Build, major: int) -> str:
    """What a torch is built for, where an extension of a CUDA major does not load with it; empty where it may."""
    kind, number = builds.split_runtime(torch.runtime)
    if kind == "cuda":
        return "" if versions.major(number) == major else f"CUDA {number}"
    return "the CPU" if kind == "cpu" else ""


def _told(item: Taken, scene: Scene) -> tuple[str, int]:
    """The torch and the CUDA major in the name of a wheel, or of the page of a pinned extension; empty if in none."""
    if found := _OF_TORCH.search(item.version):
        return ".".join(filter(None, found.groups())), _cuda_of(item.version)
    own = (origins.origin(item.request.url, scene.matrix),) if item.request.url else item.origins
    pages = [place for place in own if item.request.exact and place.apart and item.request.name in place.beside]
    told = ((found[1], _cuda_of(place.variant)) for place in pages if (found := _PAGE_OF_TORCH.search(place.variant)))
    return next(told, ("", 0))


def _cuda_of(text: str) -> int:
    """The CUDA major in a name, ``cu12`` or ``cu118``; 0 if it says none."""
    found = _OF_CUDA.search(text)
    return int(found[1]) if found else 0


RULES: Final = (told_by_name,)
