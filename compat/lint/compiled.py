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

    from compat.findings import Finding, Severity
    from compat.lint.scene import Scene
    from compat.lint.walk import Taken
    from compat.matrix.rows import Build

# The torch that a wheel's local version names (``+cu12torch2.4cxx11abiFALSE``, ``+pt24cu124``, ``+torch211cu121``), or
# the page that it is on (``cu113/torch1.12.0/index.html``, ``torch-2.1.0+cu121``).
_OF_TORCH: Final = re.compile(
    r"\+(?:cu\d+)?(?:torch|pt)(?:(\d+\.\d+)|(?<=pt)(\d)(\d{1,2})|(\d)(\d{1,2})\d)(?=[.\d]*(?:cu|cpu|cxx|$))"
)
_PAGE_OF_TORCH: Final = re.compile(r"(?:^|/)torch-?(\d+\.\d+)")
_PUBLISHED: Final = re.compile(r"cpu|cu\d|rocm|$")  # tags of PyTorch's own wheels, for which others are made
_OF_CUDA: Final = re.compile(r"cu(\d\d)\d?(?!\d)")


def told_by_name(scene: Scene) -> Iterator[Finding]:
    """framework-build-tag-mismatch: an extension whose name tells another torch than the one that is there.

    Or another major of CUDA, whose runtime it loads by that. Source: the names of the wheels of flash-attn,
    causal-conv1d and mamba-ssm (``+cu12torch2.4cxx11abiFALSE``), of PyTorch Geometric (``+pt24cu124``), NATTEN and
    stable-fast (``+torch211cu121``); the pages of OpenMMLab, DGL and Detectron2.
    """
    torches = [item for item in scene.env if item.request.name == "torch" and item.version]
    for item in scene.env:
        (wanted, cuda), cpu = _told(item, scene), _is_for_cpu(item)
        if not (wanted or cpu):
            continue
        listed = any(one.full == item.version for one in parts_of(item.request, item.build, scene.matrix))
        for torch in torches:
            told = listed and not torch.base  # its rows say it: see fits
            apart = told or alternatives(torch, item) or not alike(torch.step, item.step) or not item.mine
            if apart or not together((torch.request.marker, item.request.marker), scene.worlds):
                continue
            gpu = torch.build is not None and torch.build.runtime != "cpu"
            has = _other_cuda(torch.build, cuda) if torch.build and (cuda or (cpu and gpu)) else ""
            if wanted and isinstance(joint.loads(wanted, torch.version), Clash):
                public, _, tag = torch.version.partition("+")
                detail = f"{nearest.pin(item)} is compiled for torch {wanted}, and {torch.label} is there."
                fix = f"Take the wheel for torch {versions.minor(public)}, or torch=={wanted}.*."
                fix = fix if _PUBLISHED.match(tag) else "Build it from source, with --no-build-isolation."
                yield of_request("framework-build-tag-mismatch", item, scene, detail, fix=fix)
            elif has and torch.build:
                level: Severity = "error" if cuda else "warning"
                made = f"CUDA {cuda}" if cuda else "the CPU"
                name = nearest.pin(item) if item.version else item.request.name
                detail = f"{name} is compiled for {made}, and {torch.label} is built for {has}."
                yield of_request(
                    "framework-build-tag-mismatch", item, scene, detail, severity=level, confidence="likely",
                    fix=f"Take the wheel for {has}.", rows=(torch.build,),
                )  # fmt: skip
                if cpu:
                    return


def _other_cuda(torch: Build, major: int) -> str:
    """What a torch is built for, where an extension of a CUDA major does not load with it; empty where it may."""
    kind, number = builds.split_runtime(torch.runtime)
    if kind == "cuda":
        return "" if versions.major(number) == major else f"CUDA {number}"
    return "the CPU" if kind == "cpu" else ""


def _is_for_cpu(item: Taken) -> bool:
    """Whether an extension is the build without GPU code: by its row, or by the page that it is looked for on."""
    pages = [place.variant for place in item.origins if place.apart and place.variant]
    alone = bool(pages) and all(page.endswith(("+cpu", "/cpu")) for page in pages)
    return alone and not (item.build.runtime != "cpu" if item.build else item.request.exact or item.request.url)


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
