"""Packages that describe their surroundings: bitsandbytes, xFormers, Lightning, MONAI, fastai.

bitsandbytes tells the highest compute capability but no name; "Detected CUDA version 117" is its guess at a library to
load, and a fact of its own build alone::

    CUDA SETUP: Highest compute capability among GPUs detected: 7.0
    CUDA specs: CUDASpecs(highest_compute_capability=(8, 6), cuda_version_string='124', cuda_version_tuple=(12, 4))

xFormers prints dotted keys, of which ``build.*`` describe the machine that built it::

    pytorch.version:                                   2.0.1+cu118
    gpu.compute_capability:                            8.6
    gpu.name:                                          NVIDIA GeForce RTX 3090
    build.cuda_version:                                1108

Lightning prints a nested list with the GPUs as bare items::

    * CUDA:
        - GPU:
            - Tesla V100-SXM2-32GB
        - version:           10.2
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Build, Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.message_facts import runtime_of
from compat.reading.program import Program, said
from compat.reading.systems import architecture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair
    from compat.reading.program import View

_MARKS: Final = (
    "pytorch.version", "pytorch.cuda", "gpu.compute_capability", "gpu.name", "build.cuda_version", "build.info",
    "build.torch_version", "build.python_version", "cuda setup", "pytorch_version", "pytorch_debug", "monai version",
    "torch cuda", "torch cudnn", "nvidia gpus", "torch nvidia driver", "related packages", "has cuda",
)  # fmt: skip
_NEEDLES: Final = (
    "CUDA SETUP", "BUG REPORT INFORMATION", "bitsandbytes v", "COMPUTE_CAPABILITIES_PER_GPU", "CUDA specs:",
    "Highest Compute Capability", "CUDASpecs(", "HIGHEST_COMPUTE_CAPABILITY", "* Packages:", "* Lightning:",
    "xFormers 0", "WARNING[XFORMERS]",
)  # fmt: skip
_HIGHEST: Final = (
    r"(?:[Hh]ighest [Cc]ompute [Cc]apability(?: among GPUs detected)?:\s*\(?|highest_compute_capability=\()"
    r"(?P<major>\d+)(?:\.|, )(?P<minor>\d)"
)
_PER_GPU = re.compile(r"\['(\d+\.\d)'(?:, '(\d+\.\d)')*\]")
_FOUND = re.compile(r"^\s*(PyTorch|Python)\s+(\d\S*) .{0,40}?\(you have (\d[\w.+]*)\)")
_ENTRIES: Final = frozenset({
    "torch", "torchvision", "torchaudio", "torchmetrics", "lightning", "pytorch-lightning", "lightning-utilities",
    "lightning-fabric", "numpy", "tqdm", "tensorboard", "transformers", "deepspeed", "triton", "jax", "tensorflow",
    "accelerate", "nvidia-cudnn-cu12", "nvidia-nccl-cu12", "nvidia-cuda-runtime-cu12", "nvidia-cublas-cu12",
})  # fmt: skip
_BARE_HEADS: Final = ("cuda:", "packages:", "system:")
_PROCESSOR = re.compile(r"^\W*processor:\s+(\w+)\s*$")
_ENTRY = re.compile(r"^\W*([A-Za-z][\w-]+):\s+(\d[\w.+]*)\s*$")


def _built(pair: Pair) -> Iterator[Claim]:
    """The build of xFormers itself, which is not that of torch: 1208 is CUDA 12.8."""
    if found := re.match(r"(\d{1,2})(\d\d)\b", pair.value):
        runtime = f"cuda{found.group(1)}.{int(found.group(2))}"
        yield Claim("builds", Build(runtime=runtime), key="xformers")


def _each(line: str) -> Iterator[Claim]:
    """The compute capability of each device."""
    if found := _PER_GPU.search(line):
        for number, target in enumerate(re.findall(r"\d+\.\d", found.group())[: devices.MOST]):
            gpu = Gpu(target=devices.capability(target), vendor="nvidia")  # a capability that no name goes with
            yield Claim("gpus", gpu, key=str(number), weight=Weight.LISTED)


def _found(line: str) -> Iterator[Claim]:
    """XFormers' warning names what it was built for, and in parentheses what it found."""
    if found := _FOUND.match(line):
        name, built, version = found.groups()
        yield Claim("python", version) if name == "Python" else Claim("packages", version, key="torch")
        if name == "PyTorch":
            yield Claim("builds", Build(torch=built), key="xformers")


def _lists(view: View) -> Iterator[Claim]:
    """The packages of bitsandbytes, and Lightning's nested list."""
    yield from _related(view)
    yield from _lightning(view)


def _related(view: View) -> Iterator[Claim]:
    """The list that bitsandbytes prints of the packages it works with under a title."""
    for start, _ in view.lines("Related packages:"):
        for index, line in view.span(start + 1, start + 20):
            found = _ENTRY.match(line)
            if found is None and ":" not in line:
                break
            if found:
                claim = Claim("packages", found.group(2), key=found.group(1), weight=Weight.LISTED)
                yield from view.stamp(index, [claim])


def _library(line: str) -> Iterator[Claim]:
    """The CUDA whose library bitsandbytes loads of its own (before 0.43, cuda_setup/main.py)."""
    if runtime := runtime_of(f"cu{line.rpartition(' ')[2]}"):
        yield Claim("builds", Build(runtime=runtime), key="bitsandbytes", weight=Weight.LISTED)


def _lightning(view: View) -> Iterator[Claim]:
    """``* CUDA:`` with GPUs as bare items below, ``* Packages:``, ``* System:``; in old releases without the star."""
    starred = ("* Packages", "* Lightning", "* CUDA:", "* System:")
    heads = [index for needle in starred for index, _ in view.lines(needle)]
    heads += [index for word in _BARE_HEADS for index, line in view.lines(word) if line.strip() == word]
    for start, stop in view.sections(heads, 400):
        inside_gpus = False
        for index, line in view.span(start, stop):
            text = line.strip(" -*\t")
            if found := _ENTRY.match(line):
                name, version = found.groups()
                if name.lower() in _ENTRIES:
                    claim = Claim("packages", version, key=name.lower(), weight=Weight.LISTED)
                    yield from view.stamp(index, [claim])
                elif name == "version" and "CUDA" in view.page.lines[start].text.upper():
                    yield from view.stamp(index, (claim for claim in [values.build_claim("cuda", version)] if claim))
            if (found := _PROCESSOR.match(line)) and (arch := architecture(found.group(1))):
                yield from view.stamp(index, [Claim("arch", arch, weight=Weight.LISTED)])
            if inside_gpus and ":" not in text and (gpu := devices.device(text)):
                yield from view.stamp(index, [Claim("gpus", gpu)])
            inside_gpus = text == "GPU:" or (inside_gpus and ":" not in text and bool(text))


PROGRAM: Final = Program(
    name="extension report",
    labels={
        "pytorch.version": values.package("torch"),
        "pytorch_version": values.package("torch"),
        "pytorch": values.package("torch"),
        "pytorch version": values.package("torch"),
        "torch": values.package("torch"),
        "monai version": values.package("monai"),
        "numpy version": values.package("numpy"),
        "gpu.compute_capability": devices.highest,
        "gpu.name": devices.named,
        "gpu # name": devices.indexed,
        "gpu #": devices.indexed,
        "build.cuda_version": _built,
        "python": values.python,
        "platform": values.platform_string,
        "libc": values.libc,
        "cuda": values.runtime("cuda"),
        "torch cuda": values.runtime("cuda"),
        "torch cudnn": values.cudnn_packed,
        "nvidia driver": values.first("driver"),
        "hip": values.runtime("rocm"),
        "python version": values.python,
    },
    marks=_MARKS,
    phrases=_NEEDLES,
    lines={
        **dict.fromkeys(("ompute ", "highest_compute"), devices.card(_HIGHEST, maker="nvidia", weight=Weight.LISTED)),
        "['": _each,
        "SETUP: Detected CUDA version ": _library,
        "bitsandbytes v": said("packages", r"\bbitsandbytes v(\d+\.\d+(?:\.\d+)?[\w.+]*)", "bitsandbytes"),
        "xFormers 0": said("packages", r"\bxFormers v?(\d+\.\d+(?:\.\d+)?[\w.+]*)", "xformers"),
        "(you have ": _found,
    },
    beyond=_lists,
)
