"""Which targets a wheel's GPU code is built for, from how many images of it there are for each.

:mod:`compat.kernels` counts them, library by library, and fetches no other member. The counts are kept as they are, so
that judging them anew costs nothing.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from index_pages import File
    from simple_index import Index

sys.path.insert(0, str(Path(__file__).parent.parent))

from compat.kernels import inspect_file
from compat.kernels.values import ordered
from compat.kernels.window import Stream, Window

_MACHINE_CODE, _PTX = 0.5, 0.89
"""Share of the common number of images above which a target counts; below it is a stray kernel of some library.

PTX helps a newer device only where nearly every kernel has it.
"""


def counted(index: Index, file: File) -> bytes:
    """How many images for each target each library of a wheel has, as JSON: ``{"complete", "objects": {path: {}}}``."""
    found = inspect_file(Window(Stream(index.open(file))), file.name)
    objects = {code.path: dict(code.images) for code in found.objects if code.images}
    return json.dumps({"complete": found.complete, "objects": objects}).encode()


def judge(counts: dict[str, Any]) -> dict[str, Any]:
    """Targets of counted images; nothing where there are none, or where some of the code could not be read.

    Where a wheel has a library for each of several toolkits, of which one is loaded, ``variants`` instead: the targets
    of each, by runtime.
    """
    every: Counter[str] = Counter()
    by_runtime: dict[str, Counter[str]] = defaultdict(Counter)
    for path, images in counts["objects"].items():
        code = {target: count for target, count in images.items() if not target.startswith("lto_")}
        every.update(code)
        if code:
            by_runtime[_runtime(path)].update(code)
    if not every or not counts["complete"]:
        return {}
    if len(by_runtime) > 1 and "" not in by_runtime:
        return {"variants": {name: _told(images)["targets"] for name, images in by_runtime.items()}}
    return _told(every)


def targets_of(carried: dict[str, Any], runtime: str) -> str:
    """Recorded targets of the library that serves a runtime; empty if none was measured."""
    variants = carried.get("variants")
    found: str = variants.get(runtime, "") if variants else carried.get("targets", "")
    return found


def _runtime(path: str) -> str:
    """Runtime in the name of a library: ``cuda12.8`` of ``libexample_cuda128.so``; empty where there is none.

    CUDA's minor is one digit there, ROCm's major is one digit below 10: ``rocm72`` and ``rocm714`` are 7.2 and 7.14.
    """
    found = re.search(r"_(?:(cuda)(\d\d)(\d)|(rocm)(1\d|[2-9])(\d{1,2}))(?=[_.])", path.rpartition("/")[2])
    name, major, minor = [part for part in found.groups() if part] if found else ("", "", "")
    return f"{name}{major}.{minor}" if found else ""


def _told(images: Counter[str]) -> dict[str, str]:
    """Targets that the kernels are built for in general, and the ``stray`` ones that a few are; machine code first."""
    main = ordered(target for target, count in images.items() if count > _level(images, target))
    stray = ordered(images.keys() - set(main))
    facts = {
        kind: " ".join(sorted(names, key=lambda name: name.startswith("compute_")))
        for kind, names in (("targets", main), ("stray", stray))
    }
    return {kind: text for kind, text in facts.items() if text}


def _level(images: Counter[str], target: str) -> float:
    """Number of images that a target must exceed: a share of how many kernels there are for several targets alike.

    Of all ways to say "k targets have n images or more" that is the n of the greatest k * n. Targets of one device
    alone (``sm_90a``) have kernels of their own besides, often more than all others, so they are no measure where there
    are others.
    """
    kind = "gfx" if target.startswith("gfx") else "sm"
    counts = {name: count for name, count in images.items() if name.startswith(kind)} or dict(images)
    plain = [count for name, count in counts.items() if kind == "sm" and name[-1].isdigit()]
    ranked = sorted(plain or counts.values(), reverse=True)
    common = max((place * count, count) for place, count in enumerate(ranked, 1))[1]
    return common * (_PTX if target.startswith("compute") else _MACHINE_CODE)
