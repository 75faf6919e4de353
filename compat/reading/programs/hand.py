"""Issue templates and lists typed by hand: the labels people are asked for, in English and Chinese.

A label alone decides here, so what it says weighs less than any program's word.

::

    - OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Linux Ubuntu 18.04.3 LTS
    - CUDA/cuDNN version: CUDA 10.0 / cuDNN 7.6.2
    - GPU model and memory: 2x NVIDIA GeForce RTX 2080 Ti, 11GB
    - 显卡：RTX 3060，驱动版本：528.24

    ### Python version

    3.10

Examples that the template gives are taken out before a value is read, and a count before a card's name is heeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat import versions
from compat.reading.claims import Claim, Weight
from compat.reading.page import Pair, hint, label_of
from compat.reading.program import Program, View, said
from compat.reading.systems import architecture, platform, spelling

_COUNT = re.compile(
    r"^\s*(\d{1,2})\s*[x×*]\s*(?=[A-Za-z]|\d{4})|\s*[x×*]\s*(\d{1,2})\s*$|\s*\((\d{1,2})x\)\s*$", re.IGNORECASE
)
# A count that stands with the label, ``GPU (2x)``.
_COUNTED = re.compile(r"\((\d{1,2}) ?[x×*]\)")
_MEMORY = re.compile(
    r"\.\s+(?:Num GPUs|Max memory)\b.*$"
    r"|(?:\s*[,;(/|:]\s*|\s+-\s+)\d+(?:\.\d+)?\s*(?:GB?|GiB|MiB|MB)\b.*$|\s+(?:with|and)\s+\d+.*$"
    r"|\s+\d{3,6}\s*(?:MB|MiB)\s*$|\s+\d+\s*(?:GB?|GiB)(?:\s*(?:of\s+)?(?:memory|VRAM|RAM|GDDR\d\w?))?\s*$",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"[,;]\s*(?:nvidia |[^\x00-\x7f]{1,8})?(?:(?:driver|cuda|cudnn|memory|vram)(?![a-z])|驱动|显存).*$"
    r"|\s*\((?:driver|laptop|single).*$|\s*[/,;+]\s*CPU\b.*$",
    re.IGNORECASE,
)
_PROCESSOR = re.compile(r"ryzen|epyc|threadripper|xeon|\bcore\b|\bi[3579]-|processor|\bcpu\b", re.IGNORECASE)
_EXAMPLE = re.compile(r"^[^\w\[(<]*e\.?g\b.*", re.IGNORECASE)
_DRIVER = re.compile(r"(?:\bdriver(?: version)?|驱动(?:版本)?)\s*:?\s*v?(\d{3}\.\d+(?:\.\d+)?)", re.IGNORECASE)
# A driver, and the CUDA that it supports: ``NVidia driver v450.66 CUDA 11.0``.
_DRIVEN = re.compile(r"\W*(?:nvidia )?driver (?:version )?v?\d{3}\.\d+(?:\.\d+)? cuda\b", re.IGNORECASE)
_BEHIND = re.compile(r"\s*\((\d{3}\.\d{2,3}(?:\.\d{2})?)\)\s*$")
_CUDA = re.compile(r"\bcuda(?: toolkit| version|-toolkit)?\s*[:=]?\s*v?(\d{1,2}\.\d+(?:\.\d+)?)", re.IGNORECASE)
# A field of nvidia-smi's head that stands alone, in its own spelling: what the driver supports, no toolkit.
_CEILING = re.compile(r"\s*\|?\s*CUDA Version: \d{1,2}\.\d{1,2}\s*\|?\s*")
# The other fields of that head.
_HEAD: Final = frozenset({"nvidia-smi", "driver version"})
_CUDNN = re.compile(r"\bcudnn(?: version)?\s*[:=]?\s*v?(\d{1,2}(?:\.\d+){1,3})", re.IGNORECASE)
_BOTH = re.compile(r"^\W*v?(\d{1,2}\.\d+(?:\.\d+)?)\s*(?:/|,|and|&|;|\s)\s*v?(\d{1,2}\.\d+(?:\.\d+){0,2})\W*$")
_BOUND = re.compile(r"\W*[<>]=? ?\d")  # what is asked for, not what is there
_KIND = re.compile(r"^(?:(?:GPU\b|显卡)\s*(?=[a-z型]))?(?:(?:型号|model)\s*:?\s*)?", re.IGNORECASE)
# What people add to the system's name in its own field.
_BESIDE: Final = (
    ("python", re.compile(r"[,、;/ ]\s*python\s*:?\s*([23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w.])", re.IGNORECASE)),
    ("kernel", re.compile(r"\bkernel:?\s+(\d+\.\d+\.\d+\S*?)(?=[\s,;)]|$)", re.IGNORECASE)),
    ("glibc", re.compile(r"(?<!with-)\bglibc[ -]?(\d\.\d+)\b", re.IGNORECASE)),
    ("cuda_toolkit", re.compile(r"[,、;/ ]\s*cuda\s*:?\s*v?(\d{1,2}\.\d{1,2}(?:\.\d{1,3})?)(?![\w.])", re.IGNORECASE)),
    ("cudnn", re.compile(r"[,、;/ ]\s*cudnn\s*:?\s*v?(\d{1,2}(?:\.\d{1,3}){1,3})(?![\w.])", re.IGNORECASE)),
)

_TF = re.compile(r"^\W*(?:v[\w.\-]+|unknown)['\",\s]+(\d+\.\d+(?:\.\d+)?[\w.]*)")


def _plain(fact: str, pattern: str, key: str = "") -> values.Reader:
    """A reader of the first such value in a field."""
    reader = said(fact, pattern, key, Weight.HAND)
    return lambda pair: iter(reader(_answer(pair)))


_python: Final = _plain("python", r"(?<![\w.])([23]\.\d{1,2}(?:\.\d{1,2})?)(?![\d])")
_driver: Final = _plain("driver", r"(?<![\d.])(\d{3}(?:\.\d+){1,2})")  # NVIDIA's: three digits before the first dot
_rocm: Final = _plain("rocm", r"^\D{0,12}(\d\.\d+(?:\.\d+)?)(?![\d])")  # with its name before it, or not
# Paddle's projects ask for several versions in one field: ``Paddle: 2.4.2  PaddleOCR: 2.6.1``.
_paddle: Final = _plain("packages", r"(?i)\bPaddle(?:Paddle)?(?:-gpu)?\s*[:=]?\s*v?(\d+\.\d+[\w.]*)", "paddlepaddle")


def _os(pair: Pair) -> Iterator[Claim]:
    """A distribution with its release, and what stands beside it; the word Linux before it says nothing more."""
    answer = value = _answer(pair)
    for fact, pattern in _BESIDE:
        if found := pattern.search(answer):
            yield Claim(fact, found.group(1), weight=Weight.HAND)
            value = value[: found.start()].rstrip(" ,;、") or value
    trimmed = re.sub(r"^linux[ /,:-]+(?=[A-Za-z])", "", value, flags=re.IGNORECASE)
    if "Linux-" in value or "uname_result" in value:
        yield from values.platform_claims(value)
    elif spelling(trimmed) or platform(trimmed):
        yield from hint(values.system_claims(trimmed), Weight.HAND)


def _cuda(pair: Pair) -> Iterator[Claim]:
    """CUDA and cuDNN often share a field: ``CUDA 11.0, cuDNN 8.0.5``, ``8.0/6.0``."""
    value = _answer(pair)
    if values.empty(value) or _BOUND.match(value):
        return
    if _is_ceiling(pair):
        yield from _smi(value)
        return
    told = f"{pair.head} {value}".lower()
    if ("nvidia-smi" in told or "driver" in pair.head.lower() or _DRIVEN.match(value)) and "nvcc" not in told:
        yield from _smi(value)
        return
    if re.match(r"\W*\d{3}\.\d", value):  # no CUDA has three digits: the answer is the driver's version
        yield from _driver(pair)
        return
    cuda, cudnn = _CUDA.search(value), _CUDNN.search(value)
    both = _BOTH.match(value) if "cudnn" in pair.label and not (cuda or cudnn) else None
    if both:
        yield Claim("cuda_toolkit", both.group(1), weight=Weight.HAND)
        yield Claim("cudnn", both.group(2), weight=Weight.HAND)
        return
    plain = re.match(r"\W*v?(\d{1,2}\.\d+(?:\.\d+)?)(?![\d.])", value)
    if found := cuda or plain:
        yield Claim("cuda_toolkit", found.group(1), weight=Weight.HAND)
    if cudnn:
        yield Claim("cudnn", cudnn.group(1), weight=Weight.HAND)


def _is_ceiling(pair: Pair) -> bool:
    """Whether a line is nvidia-smi's own; below a person's label or beside a cuDNN it is a person's."""
    if not _CEILING.fullmatch(pair.page.text_at(pair.index)):
        return False
    above = label_of(pair.page.text_at(pair.index - 1).partition(":")[0])
    near = [pair.page.text_at(at).lower() for at in range(pair.index - 3, pair.index + 4)]
    return above not in LABELS.keys() - _HEAD and not any("cudnn" in text for text in near)


def _smi(value: str) -> Iterator[Claim]:
    """What somebody copied from nvidia-smi's head: a driver has three digits before its dot, a CUDA release two."""
    for number in values.DOTTED.findall(value)[:4]:
        if re.match(r"\d{3}\.", number):
            yield Claim("driver", number, weight=Weight.HAND)
        elif number.count(".") == 1:  # of three numbers is a cuDNN beside it
            yield Claim("driver_cuda", number, weight=Weight.HAND)


def _release(pair: Pair) -> Iterator[Claim]:
    """A release alone is Windows' where the form's platform is: ``Platform: Windows``, ``OS Version: 11``."""
    value = _answer(pair)
    if not re.fullmatch(r"1[01]|[78](?:\.1)?", value):
        yield from _os(pair)
    elif any("windows" in line.text.lower() for line in pair.page.lines[max(0, pair.index - 8) : pair.index]):
        yield from hint(values.system_claims(f"Windows {value}"), Weight.HAND)


def _provider(pair: Pair) -> Iterator[Claim]:
    """CUDA and cuDNN that a form asks for as one library's version; of two that are named neither is certain."""
    if len(_CUDA.findall(_answer(pair))) == 1 and not re.search(r"\d/\d", _answer(pair)):
        yield from _cuda(pair)


def _architecture(pair: Pair) -> Iterator[Claim]:
    """The processor's architecture, ``X64``."""
    if arch := architecture(_answer(pair)):
        yield Claim("arch", arch, weight=Weight.HAND)


def _kernel(pair: Pair) -> Iterator[Claim]:
    """A kernel's release, with the command that told it before it or not."""
    if found := re.match(r"(?:uname -r\s+)?(?:Linux )?(\d+\.\d+\.\d+\S*)(?: \(64-bit\))?\s*$", _answer(pair)):
        yield from values.kernel_claims(found.group(1), Weight.HAND)


def _cudnn(pair: Pair) -> Iterator[Claim]:
    """A cuDNN version, or torch's packed number; archives name up to four parts."""
    if _BOUND.match(_answer(pair)):
        return
    if packed := re.fullmatch(r"([5-9]\d{3}|9\d{4})", _answer(pair)):
        yield Claim("cudnn", versions.unpacked_cudnn(int(packed.group(1))), weight=Weight.HAND)
    elif found := re.search(r"(?<![\d.])v?(\d{1,2}(?:\.\d+){1,3})", _answer(pair)):
        yield Claim("cudnn", found.group(1), weight=Weight.HAND)


def _gpu(pair: Pair) -> Iterator[Claim]:
    """A card as people write it, with count, memory and driver around its name."""
    if "[" in pair.head:  # rocm-smi numbers its rows GPU[0]
        return
    value = _answer(pair)
    counted = _COUNTED.search(pair.head)
    count = f"{counted.group(1)} x " if counted else ""
    told = cards(count + re.sub(r"^GPU \d+: ?", "", _KIND.sub("", value)))
    yield from (replace(one, key=pair.devices) if one.fact == "gpus" else one for one in told)
    if not re.search(r"driver|驱动|nvidia-smi", value, re.IGNORECASE):  # beside a driver it would be the driver's CUDA
        for fact, pattern in (("cuda_toolkit", _CUDA), ("cudnn", _CUDNN)):
            if found := pattern.search(value):
                yield Claim(fact, found.group(1), weight=Weight.HAND)


def _machine(pair: Pair) -> Iterator[Claim]:
    """A server as people name it by its cards, ``A100 x 8``; a processor or a laptop is no card."""
    if not _PROCESSOR.search(pair.value):
        yield from (claim for claim in _gpu(pair) if claim.fact != "gpus" or claim.value.vendor in {"nvidia", "amd"})


def cards(value: str) -> Iterator[Claim]:
    """The cards that somebody wrote down: ``2x RTX 3090 (24GB), driver 535.54``; nothing if it names none."""
    if found := _DRIVER.search(value) or _BEHIND.search(value):
        yield Claim("driver", found.group(1), weight=Weight.HAND)
    name = _MEMORY.sub("", _ASIDE.sub("", _BEHIND.sub("", value)))
    count = _COUNT.search(name)
    name = _COUNT.sub("", name)
    gpu = devices.device(name)
    if gpu and gpu.vendor and len(name.split()) <= 8 and re.search(r"\d|titan", name, re.IGNORECASE):
        number = next((int(part) for part in count.groups() if part), 1) if count else 1
        for _ in range(min(max(number, 1), devices.MOST)):
            yield Claim("gpus", gpu, weight=Weight.HAND)


def _framework(name: str) -> values.Reader:
    """A reader of one framework's version; TensorFlow's own command prints the Git tag first."""

    def read(pair: Pair) -> Iterator[Claim]:
        value = _answer(pair)
        if "=" not in value and f"{pair.head}={value}" in pair.page.text_at(pair.index):
            return  # what conda is asked for
        found = _TF.match(value) if name == "tensorflow" else None
        text = found.group(1) if found else re.sub(r"^[A-Za-z_\- ]{0,24}={0,2}(?=[v\d])", "", value)
        version = values.package_version(text)
        if re.match(r"\d+\.\d", version):
            yield Claim("packages", version, key=name, weight=Weight.HAND)

    return read


def _answer(pair: Pair) -> str:
    """The value, or the first line below when the label stands alone as a form's heading."""
    value = _EXAMPLE.sub("", pair.value).strip()
    if value or not pair.page.text_at(pair.index).lstrip().startswith("#"):
        return value
    below = next((text.strip() for text in pair.below(4) if text.strip()), "")
    return "" if below.startswith("#") else below


def _labels(reader: values.Reader, *labels: str) -> dict[str, values.Reader]:
    """The same reader under several labels, each with "version" shortened as people do it too."""
    return dict.fromkeys((*labels, *(label.replace("version", "ver") for label in labels)), reader)


# Packages whose label is the name or "NAME version", and those that are named with "version" alone.
_NAMED: Final = (
    "jax", "jaxlib", "torchvision", "torchaudio", "numpy", "ctranslate2", "onnxruntime-gpu", "bitsandbytes", "xformers",
    "mmcv-full",
)  # fmt: skip
_VERSIONED: Final = ["transformers", "vllm", "keras", "mmcv", "cupy", "deepspeed", "accelerate", "tensorrt"]
_FRAMEWORKS: Final = {
    **{name: (name, f"{name} version") for name in _NAMED},
    **{name: (f"{name} version",) for name in _VERSIONED},
    "torch": (
        "pytorch", "torch", "pytorch version", "torch version", "pytorch版本", "pytorch 版本", "version of pytorch",
    ),
    "tensorflow": ("tensorflow", "tensorflow version", "tf version", "tensorflow-gpu", "tensorflow-gpu version"),
    "flash-attn": ("flash-attn", "flash_attn", "flash attention", "flash-attn version"),
    "triton-xpu": ("triton-xpu",),
    "onnxruntime": ("onnx runtime version", "onnx runtime version or commit id", "onnxruntime version"),
    "paddlepaddle": (
        "paddle", "paddle version", "paddlepaddle", "paddlepaddle version", "paddle版本", "paddlepaddle版本",
    ),
}  # fmt: skip

LABELS: Final[Mapping[str, values.Reader]] = {
    **_labels(
        _os, "os", "os platform and distribution", "operating system", "operating systems", "os/platform",
        "system", "platform", "distribution", "linux distribution", "host os", "系统环境", "操作系统", "系统",
        "运行系统", "系统环境/system environment", "os platform", "operating system version", "os & version",
        "operating system + version", "os and version", "os + distro and version", "环境/系统",
        "linux version", "操作系统版本", "系统版本", "os distribution", "操作系统/os", "your os",
        "which operating system?", "what platforms do you use to access the ui ?", "host operating system",
    ),
    **_labels(
        _python, "python", "python version", "python版本", "python 版本", "version of python",
        "python version + bitness", "python版本号", "python version/python版本", "your python version",
    ),
    **_labels(
        _driver, "driver", "nvidia driver", "nvidia driver version", "gpu driver", "driver version",
        "gpu driver version", "显卡驱动", "驱动", "驱动版本", "显卡驱动版本", "nvidia driver版本", "graphics driver",
    ),
    **_labels(
        _cuda, "cuda", "cuda version", "cuda/cudnn version", "cuda/cudnn", "cuda & cudnn version",
        "cuda toolkit", "cuda版本", "cuda 版本", "cuda toolkit version", "cuda and cudnn version",
        "cuda version/cudnn version", "cuda/cudnn versions", "installed version of cuda and cudnn", "cuda, cudnn",
        "cuda / cudnn version", "cuda/cudnn 版本", "cuda/cudnn版本", "cuda/rocm version",
    ),
    **_labels(
        _cuda, "cuda driver version", "nvidia-smi", "driver cuda version", "nvcc", "nvcc version",
        "nvcc --version", "nvcc -v", "cuda runtime version", "cuda driver",
    ),
    **_labels(_release, "os version"),
    **_labels(values.first("jetpack", Weight.HAND), "jetpack version"),
    **_labels(_provider, "execution provider library version"),
    **_labels(_architecture, "architecture"),
    **_labels(_paddle, "版本号/version", "版本号", "版本/version"),
    **_labels(_kernel, "kernel", "kernel version", "kernel release", "linux kernel", "linux kernel version"),
    **_labels(_rocm, "rocm version", "rocm", "rocm版本"),
    **_labels(_cudnn, "cudnn", "cudnn version", "cudnn版本", "cudnn 版本"),
    **_labels(
        _gpu, "gpu", "gpus", "gpu model", "gpu model and memory", "gpu models and configuration",
        "graphics card", "显卡", "显卡型号", "gpu型号", "gpu 型号", "nvidia gpu", "gpu type", "gpu name", "video card",
        "graphics processor", "graphics processors", "nvidia gpu or cpu", "hardware",
        "gpu card", "gpu device", "gpu info", "gpu/cpu", "gpu model & memory", "graphics", "device", "gpu #",
        "显卡/gpu", "gpu hardware", "gpu used", "hardware spec", "gpus used", "your gpu",
    ),
    **_labels(_machine, "machine", "server"),
    **{
        label: reader
        for name, labels in _FRAMEWORKS.items()
        for label, reader in _labels(_framework(name), *labels).items()
    },
}  # fmt: skip


_ITEM = re.compile(r"\s{0,4}[-*•]\s+([^\s:][^:]{1,60}?)\s*")  # one with a colon is a label with its value
_PYTHON = re.compile(r"python ([23]\.\d{1,2}(?:\.\d{1,2})?)", re.IGNORECASE)
_BUILD = re.compile(r"(?:(?:py)?torch )?(\d\.\d{1,2}\.\d\+(?:cu\d{2,3}|cpu|rocm\d[\d.]*))", re.IGNORECASE)


def _listed(view: View) -> Iterator[Claim]:
    """A list that holds nothing but a card, a system, a Python or a build of torch, where it holds two of these."""
    items = [(index, found[1]) for index, text in view.span(0, 400) if (found := _ITEM.fullmatch(text))]
    told = [claim for index, text in items for claim in view.stamp(index, _item(text))]
    if len({claim.fact for claim in told} & {"gpus", "os", "packages", "python"}) > 1:
        yield from told


def _item(text: str) -> Iterator[Claim]:
    """What one item says, if that is all it says."""
    if found := _BUILD.fullmatch(text):
        yield Claim("packages", found[1], key="torch", weight=Weight.HAND)
    elif found := _PYTHON.fullmatch(text):
        yield Claim("python", found[1], weight=Weight.HAND)
    elif len(text.split()) <= 3 and spelling(text):
        yield from hint(values.system_claims(text), Weight.HAND)
    else:
        yield from cards(text)


PROGRAM: Final = Program(name="issue template", labels=LABELS, fallback=True, alone=True, beyond=_listed)
