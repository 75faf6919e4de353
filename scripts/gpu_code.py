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
    from collections.abc import Iterable

    from index_pages import File
    from simple_index import Index

sys.path.insert(0, str(Path(__file__).parent.parent))

from compat.kernels.places import contained, gather
from compat.kernels.values import ordered
from compat.kernels.window import Stream, Window
from compat.versions import release

_GPU_LIBRARY = re.compile(
    r"(?:lib)?(?:cu(?!rl|ps)|nv|nccl|amd(?!64)|hip|roc|rccl|miopen|opencl|torch|c10|tensorflow|sycl|ze_|ur_|ascend|paddle)"
    r"[\w-]*(?:\.so\b|\.dll$)|(?:Metal\w*|OpenCL)$",
    re.IGNORECASE,
)
"""Names of libraries of a GPU's runtime, and of the frameworks that bring one."""
_MANGLED = re.compile(r"-[0-9a-f]{8}(?=\.so)")
"""What auditwheel puts into the name of a library that it copies into a wheel."""

_MACHINE_CODE, _PTX = 0.5, 0.89
"""Share of the common number of images above which a target counts; below it is a stray kernel of some library.

PTX helps a newer device only where nearly every kernel has it.
"""

_SMALL = 0.05
"""Share of the kernels of a wheel's greatest library below which another tells nothing of the wheel."""


def counted(index: Index, file: File) -> bytes:
    """What the objects of a wheel tell, as JSON: ``{"complete", "scanned", "objects": {path: {target: images}}, ...}``.

    ``isa`` is the highest PTX ISA of any image, ``needed`` the GPU libraries that the loader looks for, by soname.
    """
    codes = list(contained(Window(Stream(index.open(file))), file.name, whole=True))
    found = gather(file.name, codes)
    isa = {version for code in codes for versions in code.isa.values() for version in versions}
    return json.dumps(
        {
            "complete": found.complete,
            "scanned": sum(bool(code.form) for code in codes),
            "objects": {code.path: dict(code.images) for code in found.objects if code.images},
            "isa": max(isa, key=release, default=""),
            "needed": sorted({name for code in codes for name in code.needed if _GPU_LIBRARY.match(name)}),
        }
    ).encode()


def assembled(index: Index, file: File, counts: dict[str, Any]) -> str:
    """CUDA release whose assembler wrote nearly all machine code of a wheel's greatest library, ``10.2``.

    Empty where the code does not tell it: it must be uncompressed and of ABI 7 (CUDA 10 to 12), whose ``e_version`` is
    ten times the release. NVIDIA documents it nowhere; so it is in wheels that tell their CUDA otherwise too (XGBoost
    1.5, Paddle 2.2 to 2.6).
    """
    greatest = max(counts["objects"].items(), key=lambda item: sum(item[1].values()), default=("", {}))[0]
    found: Counter[int] = Counter()
    rest = b""
    for block in index.blocks(file, greatest) if greatest else ():
        found.update(int.from_bytes(number, "little") for number in _CUBIN.findall(rest + block))
        rest = block[-_CUBIN_HEADER:]
    number, count = max(found.items(), key=lambda item: item[1], default=(0, 0))
    return f"{number // 10}.{number % 10}" if count > 0.9 * found.total() else ""


_CUBIN_HEADER = 23
_CUBIN = re.compile(rb"\x7fELF\x02\x01\x01[\x33\x41]\x07.{9}\xbe\0([\x50-\x81]\0\0)(?=\0)", re.DOTALL)
"""Beginning of a 64-bit cubin: NVIDIA's ABI 7, machine 190, and the release as ``e_version``."""


def linked(told: dict[str, Any], names: Iterable[str]) -> dict[str, str]:
    """GPU libraries that a wheel ``bundles`` and those that it ``needs`` from elsewhere, by soname."""
    own = {name.rpartition("/")[2] for name in names}
    within = {_MANGLED.sub("", name) for name in own if _GPU_LIBRARY.match(name)}
    plain = {name: _MANGLED.sub("", name) for name in told["needed"]}
    needs = {short for name, short in plain.items() if name not in own and short not in within}
    # what a wheel brings of a vendor counts by its soname: ``libcudart.so.12`` of ``libcudart-d0da41ae.so.12.1.105``
    bundles = within & {*plain.values()} | {short for name, short in plain.items() if name in own}
    facts = {"bundles": " ".join(sorted(bundles - _own_names(own))), "needs": " ".join(sorted(needs))}
    return {key: text for key, text in facts.items() if text}


def _own_names(own: set[str]) -> set[str]:
    """Libraries without a number are the project's own (``libtorch.so``): no other package has them."""
    return {name for name in own if not re.search(r"\d", name.partition(".")[2] + name.partition("64_")[2])}


def judge(counts: dict[str, Any]) -> dict[str, Any]:
    """Targets of counted images: ``-`` where all was read and there are none, nothing where some could not be read.

    Libraries of others that auditwheel copied into the wheel (``.libs/``) do not count beside its own.
    Where a wheel has a library for each of several toolkits, of which one is loaded, ``variants`` instead: the targets
    of each, by runtime.
    """
    every: Counter[str] = Counter()
    by_runtime: dict[str, Counter[str]] = defaultdict(Counter)
    objects = counts["objects"]
    own = {path: images for path, images in objects.items() if ".libs/" not in path}
    for path, images in (own or objects).items():
        code = {target: count for target, count in images.items() if not target.startswith("lto_")}
        every.update(code)
        if code:
            by_runtime[runtime_of(path)].update(code)
    if not counts["complete"]:
        return {}
    if not every:
        return {"targets": "-"} if counts.get("scanned") else {}
    if len(by_runtime) > 1 and "" not in by_runtime:
        return {"variants": {name: _told(images)["targets"] for name, images in by_runtime.items()}}
    told = _told(every)
    return _of_widest([images for images in (own or objects).values() if images], told) if "stray" in told else told


def _of_widest(objects: list[dict[str, int]], pooled: dict[str, str]) -> dict[str, str]:
    """Targets of the library that serves most devices, where others with kernels for a few outnumber its own.

    A framework's common operations are in one library for all devices; what is for one generation (FlashAttention 3)
    is in a library of its own, which the framework does without elsewhere. A small library for every device (CTC loss
    in Paddle's wheels) is no measure of the framework.
    """
    counts = [Counter({name: n for name, n in one.items() if not name.startswith("lto_")}) for one in objects]
    judged = [(_told(images).get("targets", "").split(), images) for images in counts]
    common = [min((images[name] for name in names), default=0) for names, images in judged]
    names = max((names for (names, _), n in zip(judged, common, strict=True) if n > max(common) * _SMALL), key=len)
    rest = ordered({*pooled["targets"].split(), *pooled["stray"].split()} - {*names})
    return {"targets": " ".join(names)} | ({"stray": " ".join(rest)} if rest else {})


def targets_of(carried: dict[str, Any], runtime: str) -> str:
    """Recorded targets of the library that serves a runtime; empty if none was measured."""
    variants = carried.get("variants")
    found: str = variants.get(runtime, "") if variants else carried.get("targets", "")
    return found


def runtime_of(path: str) -> str:
    """Runtime in the name of a library: ``cuda12.8`` of ``libexample_cuda128.so``; empty where there is none.

    CUDA's minor is one digit there, ROCm's major is one digit below 10: ``rocm72`` and ``rocm714`` are 7.2 and 7.14.
    """
    found = re.search(r"_(?:(cuda)(\d\d)(\d)|(rocm)(1\d|[2-9])(\d{1,2})|(xpu)\d{0,4})(?=[_.])", path.rpartition("/")[2])
    name, *numbers = [part for part in found.groups() if part] if found else [""]
    return name + ".".join(numbers)


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
