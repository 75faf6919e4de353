"""Applications that print their surroundings at start: ComfyUI, A1111 and Forge, Ultralytics, Ollama, llama.cpp.

::

    Device: cuda:0 NVIDIA GeForce RTX 4070 : cudaMallocAsync                                        (ComfyUI)
    version: v1.7.0  •  python: 3.10.6  •  torch: 2.0.1+cu118  •  xformers: 0.0.20                  (A1111)
    Ultralytics YOLOv8.0.20 Python-3.10.9 torch-1.13.1+cu117 CUDA:0 (NVIDIA GeForce RTX 3060, 12288MiB)
    msg="inference compute" library=rocm compute=gfx900:xnack- driver=0.0 name="Radeon RX Vega"     (Ollama)
    Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes                             (llama.cpp)

Ollama's ``driver=`` is the CUDA version that the driver offers, 0.0 where it does not know. It also lists the gfx
targets it supports beside the one it found; only the one found is a fact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.facts import Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said
from compat.reading.programs.variables import STEERING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Pair

_MARKS: Final = (
    "comfyui version", "embedded python", "vram total", "set vram state to", "comfyui startup time",
    "python executable",
    "torch vram total", "comfyui path", "total vram", "vae dtype", "amd arch", "user directory",
)  # fmt: skip
_NEEDLES: Final = (
    "Total VRAM ", "Set vram state to", "cudaMallocAsync", "inference compute", "ggml_cuda_init", "ggml_init_cublas",
    "Ultralytics ", "YOLOv", "• torch: ", "amdgpu is supported", "gpu_type=gfx", "VMM: ", "using device CUDA",
    "using device ROCm", "You are running torch", "map[", "ComputeMajor:",
    "with CUDA capability sm_", "INCOMPATIBLE PYTHON VERSION", "cudaDriverVersion ", "NCCL INFO ",
    "calling cuDriverGetVersion",
    "] CUDA device name: ", 'msg="detected GPUs"',
)  # fmt: skip
_FIELD = re.compile(r"\b(library|compute|driver|variant|name|description)=(\"[^\"]*\"|[^\s\"]+)")
_LLAMA: Final = (
    r"^\W*Device (?P<key>\d+): (?P<name>.+?), "
    r"(?:compute capability (?P<major>\d+)\.(?P<minor>\d+)|(?P<target>gfx[0-9a-f]{3,5}))"
)
_ENUMERATED = re.compile(
    r"Library:(\w+)\} Name:\S* Description:(.+?) FilterID:.{0,300}?ComputeMajor:(\d+) ComputeMinor:(\d+)"
    r" DriverMajor:(\d+) DriverMinor:(\d+)"
)
_MAP = re.compile(r'env="?map\[([^\]]*)(\]?)')
_MAPPED = re.compile(r"([A-Z][A-Z0-9_]+):(\S*)")
_YOLO = re.compile(r"Python-(\d+\.\d+\.\d+)\S* torch-(\d[\w.+]*)(.*)")
_YOLO_GPU = re.compile(r"CUDA:(\d+) \(([^,()]+), \d+MiB\)")
_WEBUI = re.compile(r"python: (\d+\.\d+\.\d+).{0,6}torch: (\d[\w.+]*)(?:.{0,6}xformers: (\d[\w.+]*))?")
_WARNED = re.compile(r"([^:\"'“‘`>\n]{3,60}?) with CUDA capability (sm_\d{2,3})[af]? is not compatible")
_NAMED = re.compile(r"(?:cuda|xpu|privateuseone|mps|npu):?(\d+)?\s+:?\s*(.+)")


def _device(pair: Pair) -> Iterator[Claim]:
    """``cuda:0 NVIDIA GeForce RTX 4090 : cudaMallocAsync``; ZLUDA adds itself to AMD's names."""
    found = _NAMED.match(pair.value)
    if found and (gpu := devices.device(found.group(2).replace("[ZLUDA]", ""))):
        yield Claim("gpus", gpu, key=found.group(1) or "0")


def _os(pair: Pair) -> Iterator[Claim]:
    """ComfyUI prints Python's os.name, older releases the platform."""
    kinds = {"nt": "windows", "posix": "", "win32": "windows", "linux": "linux", "darwin": "darwin"}
    if pair.value.lower() in kinds:
        if kind := kinds[pair.value.lower()]:
            yield Claim("platform", kind, weight=Weight.HINT)
    else:
        yield from values.system_claims(pair.value)


def _platform(pair: Pair) -> Iterator[Claim]:
    """ComfyUI-Manager's line at start: the system's bare name."""
    if pair.value in {"Windows", "Linux", "Darwin"}:
        yield Claim("platform", pair.value.lower(), weight=Weight.HINT)


def _arch(pair: Pair) -> Iterator[Claim]:
    """``AMD arch: gfx1100``: a target without a name."""
    if target := devices.gfx(pair.value):
        yield Claim("gpus", Gpu(target=target, vendor="amd"), weight=Weight.LISTED)


def _enumerated(line: str) -> Iterator[Claim]:
    """Devices in Ollama's printed list; the compute numbers of AMD cards are hexadecimal parts of their gfx target."""
    for library, name, major, minor, *driver in _ENUMERATED.findall(line)[: devices.MOST]:
        cuda = library.lower() == "cuda"
        if gpu := devices.device(name, target=devices.sm(major, minor) if cuda else ""):
            yield Claim("gpus", gpu)
        if cuda:
            yield Claim("driver_cuda", ".".join(driver))


def _warned(line: str) -> Iterator[Claim]:
    """Torch's warning about a card that its build has no code for."""
    if (found := _WARNED.search(line)) and (gpu := devices.device(found.group(1), target=found.group(2))):
        yield Claim("gpus", gpu, key=gpu.name, weight=Weight.LISTED)  # once: a title repeats it


def _ollama(line: str) -> Iterator[Claim]:
    """Fields of Ollama's "inference compute"; ``driver`` is the CUDA version the driver offers, 0.0 if unknown."""
    fields = dict(_FIELD.findall(line))
    library, compute, driver, name, description = (
        fields.get(key, "").strip('"') for key in ("library", "compute", "driver", "name", "description")
    )
    name = description or name
    if library.lower() in {"cpu", ""}:
        return
    amd = library.lower() == "rocm"
    target = devices.gfx(compute) if amd else devices.capability(compute)
    # An AMD card without a product name is named by its PCI id.
    gpu = None if ":" in name else devices.device(name, target=target, vendor="amd" if amd else "nvidia")
    if gpu or target:
        yield Claim("gpus", gpu or Gpu(target=target, vendor="amd" if amd else "nvidia"))
    if not amd and values.dotted(driver) not in {"", "0.0"}:
        yield Claim("driver_cuda", values.dotted(driver))


def _mapped(line: str) -> Iterator[Claim]:
    """Ollama prints its configuration as a Go map; only variables with a value count, and none that a cut touched."""
    found = _MAP.search(line)
    if found is None:
        return
    inside, closed = found.groups()
    for name, value in _MAPPED.findall(inside if closed else inside.rpartition(" ")[0]):
        if value and name.startswith(STEERING):
            yield Claim("env", value, key=name)


def _yolo(line: str) -> Iterator[Claim]:
    """The banner of YOLOv5 and Ultralytics: Python, torch and each CUDA device."""
    found = _YOLO.search(line)
    if found is None:
        return
    python, torch, rest = found.groups()
    yield Claim("python", python)
    yield Claim("packages", values.package_version(torch), key="torch")
    for number, name in _YOLO_GPU.findall(rest):
        if gpu := devices.device(name):
            yield Claim("gpus", gpu, key=number)


def _webui(line: str) -> Iterator[Claim]:
    """The footer of the web interface, parted by bullets."""
    found = _WEBUI.search(line)
    if found is None:
        return
    python, torch, xformers = found.groups()
    yield Claim("python", python)
    yield Claim("packages", values.package_version(torch), key="torch")
    if xformers:
        yield Claim("packages", values.package_version(xformers), key="xformers")


PROGRAM: Final = Program(
    name="application log",
    labels={
        "os": _os,
        "platform": _platform,
        "python version": values.python,
        "pytorch version": values.package("torch"),
        "xformers version": values.package("xformers"),
        "comfyui version": values.package("comfyui"),
        "name": _device,
        "device": _device,
        "amd arch": _arch,
    },
    marks=_MARKS,
    phrases=_NEEDLES,
    marked=lambda page, _: (at for at in page.find("torch: ") if _WEBUI.search(page.lines[at].text)),  # its footer
    lines={
        "inference compute": _ollama,
        "using device ": devices.card(r"using device (?:CUDA|ROCm|Vulkan|SYCL)(?P<key>\d+) \((?P<name>.+?)\)(?: |$)"),
        "map[": _mapped,
        "Description:": _enumerated,
        "Device ": devices.card(_LLAMA),
        "torch-": _yolo,
        "torch: ": _webui,
        "You are running torch ": said("packages", r"You are running torch (\d[\w.+]*)", "torch"),
        "gpu_type=": devices.card(r"gpu_type=(?P<target>gfx[0-9a-f]{3,5})", maker="amd", weight=Weight.LISTED),
        "Python, but you have ": said("python", r"Python, but you have (\d\.\d{1,2}\.\d{1,2})\b"),
        "NCCL INFO cudaDriverVersion ": said("driver_cuda", r"cudaDriverVersion (\d{4,5})\b", weight=Weight.LISTED),
        "NCCL version ": said("nccl", r"NCCL version (\d{1,2}\.\d{1,3}\.\d{1,3})\+cuda\d", weight=Weight.LISTED),
        "with CUDA capability sm_": _warned,
        "] Compute Capability ": devices.card(
            r"\[(?P<key>GPU-[0-9a-f-]{8,36})\] Compute Capability (?P<major>\d{1,2})\.(?P<minor>\d)\b",
            maker="nvidia",
            weight=Weight.LISTED,
        ),
        "] CUDA device name: ": devices.card(r"\[(?P<key>\d{1,2})\] CUDA device name: (?P<name>.{3,60})$"),
        'msg="detected GPUs"': said(
            "driver_library", r"\blibrary=\S{0,300}/libcuda\.so\.(\d{3}(?:\.\d+)+)", weight=Weight.LISTED
        ),
    },
)
