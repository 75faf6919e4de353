"""Forms that programs and people print beside the usual one, each as it was met in a public thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat import reading

NEW_HEAD = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 610.43.03              KMD Version: 610.43.03     CUDA UMD Version: 13.3     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 4060        Off |   00000000:01:00.0 Off |                  N/A |
"""

DETECTRON = """\
-------------------------------  -----------------------------------
sys.platform                     linux
PyTorch                          1.10.0 @/opt/conda/lib/python3.8/site-packages/torch
GPU available                    Yes
CUDA_HOME                        /usr/local/cuda
TORCH_CUDA_ARCH_LIST             7.5 8.0 8.6+PTX
-------------------------------  -----------------------------------
"""

SATISFIED = """\
Requirement already satisfied: torch in /venv/lib/python3.10/site-packages (from timm==1.0) (2.4.0+cu124)
Requirement already satisfied: numpy>=1.17 in /venv/lib/python3.10/site-packages (from timm==1.0) (1.26.0)
Requirement already satisfied: torchvision in /venv/lib/python3.10/site-packages (from timm
"""

CLI_DEVICES = """\
NVRM version:   535.104.05
CUDA version:   12.2

Device Index:   0
Device Minor:   0
Model:          Tesla V100-SXM2-16GB
Architecture:   7.0

Device Index:   1
Device Minor:   1
Model:          NVIDIA A100-PCIE-40GB
Architecture:   8.0

Linux box 5.15.0-91-generic #101-Ubuntu SMP Tue Nov 14 2023 x86_64 x86_64 x86_64 GNU/Linux
"""

OLLAMA = """\
calling cuDriverGetVersion
CUDA driver version: 12.8
time=2025-02-28T12:38:08.949Z level=DEBUG msg="detected GPUs" count=1 library=/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.16
[GPU-0aa928c0-0000-0000-0000-ac130bfe47b7] Compute Capability 12.0
"""

WARNING = """\
lib/python3.8/site-packages/torch/cuda/__init__.py:104: UserWarning:
GeForce RTX 3090 with CUDA capability sm_86 is not compatible with the current PyTorch installation.
The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70 sm_75.
"""

FACTORY = """\
- `llamafactory` version: 0.9.3.dev0
- PyTorch version: 2.3.0+cu121 (GPU)
- Transformers version: 4.49.0
- GPU type: NVIDIA A100-SXM4-80GB
- GPU number: 4
- GPU memory: 79.25GB
"""

FORM = """\
Operating System: windows 7

Installed version of CUDA and cuDNN: CUDA 8.0 cuDNN 6.0

Output from `python -c "import tensorflow; print(tensorflow.__version__)"`. 1.0.1
"""

NCCL = """\
worker-2:429:429 [3] NCCL INFO cudaDriverVersion 12040
worker-2:429:429 [3] NCCL INFO Bootstrap : Using net1:192.0.2.12<0>
NCCL version 2.21.5+cuda12.4
"""


HF = "- `transformers` version: 4.36.2\n- Platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35\n- Python version: "
OLD_ENV = "PyTorch version: 1.7.0+cu110\nIs debug build: False\nLibc version: glibc-2.2.5\n\nPython version: "
DIFFUSERS = """\
- Diffusers version: 0.28.0.dev0
- Platform: Ubuntu 24.04 LTS - Linux-6.8.0-31-generic-x86_64-with-glibc2.39
- Running on a notebook?: No
"""

REFUSED = (
    "Exception: >- DeepSpeed Op Builder: Installed CUDA version 12.0 does not match the version torch was compiled "
    "with 11.7, unable to compile cuda/cpp extensions\n"
)

KDE = """\
Operating System: Ubuntu Studio 24.04
Kernel Version: 6.17.0-19-generic (64-bit)
Graphics Platform: X11
Graphics Processor: NVIDIA GeForce RTX 4060 Ti/PCIe/SSE2
"""

SPECS = """\
|Spec|Value|
|---|---|
|Kernel|5.15.0-91-generic|
|GPU (2x)|NVIDIA A100 PCIe 40GB|
"""

OLLAMA_NVML = "dlsym: nvmlDeviceGetName\nCUDA driver version: 546.01\n[0] CUDA device name: NVIDIA GeForce RTX 3060\n"

FORMED = (
    "- Nvidia driver version: [e.g. 410.48] 535.146.02\n- OS: [e.g. Ubuntu 18.04] Ubuntu 22.04\n"
    '- Python version: [Output of "python -V", e.g., 3.8.x]\n'
)
OTHERS = "{0}\n\n- Python 3.6\n- PyTorch 0.4.1\n- CUDA 9.0.176\n"

FACTS = {
    "the answer behind a form's example: driver": (FORMED, "driver", "535.146.02"),
    "the answer behind a form's example: system": (FORMED, "os", "ubuntu22.04"),
    "a form's example alone": (FORMED, "python", None),
    "a list of the maintainers' machine": (OTHERS.format("I saw your software environment is:"), "cuda_toolkit", None),
    "a list of requirements": (OTHERS.format("Requirements:"), "cuda_toolkit", None),
    "the greeting of a login": ("OS: Ubuntu 20.04.3 LTS (GNU/Linux 5.11.0-41-generic x86_64)\n", "kernel", "5.11.0-41-generic"),
    "a dash for a colon": ("OS - Windows 11\nPython 3.10.9\n", "os", "windows11"),
    "a dash for a colon, in a bullet": ("- GPU – RTX 3060\n- Python – 3.10.9\n", "python", "3.10.9"),
    "a dash in a sentence": ("The system - a dusty Ubuntu 18.04 box - is gone\n", "os", None),
    "Windows by two fields of a form": ("### Platform\n\nWindows\n\n### OS Version\n\n11\n", "os", "windows11"),
    "a number of another platform": ("### Platform\n\nMac\n\n### OS Version\n\n11\n", "os", None),
    "a form's architecture": ("### Platform\n\nLinux\n\n### Architecture\n\nX64\n", "arch", "x86_64"),
    "a provider's CUDA": ("### Execution Provider Library Version\n\nCUDA12.4\n", "cuda_toolkit", "12.4"),
    "two of a provider's": ("### Execution Provider Library Version\n\nCUDA 12.2/12.6\n", "cuda_toolkit", None),
    "a sentence behind a list": ("CUDA 11.8, python 3.10.6, torch 2.0, is recommended\n", "cuda_toolkit", None),
    "DeepSpeed's refusal: nvcc": (REFUSED, "cuda_toolkit", "12.0"),
    "the driver's CUDA in NCCL's log": (NCCL, "driver_cuda", "12.4"),
    "NCCL's version without the driver's": (NCCL.split("\n", 1)[1], "nccl", "2.21.5"),
    "KDE's kernel": (KDE, "kernel", "6.17.0-19-generic"),
    "a field of nvidia-smi alone": ("CUDA Version: 12.3\n", "driver_cuda", "12.3"),
    "a field of nvidia-smi below another": ("Driver Version: 545.29.06\nCUDA Version: 12.3\n", "driver_cuda", "12.3"),
    "the same words in a person's list": ("GPU: RTX 3080\nCUDA Version: 12.3\n", "cuda_toolkit", "12.3"),
    "two fields of nvidia-smi side by side": ("Driver Version: 545.29.06    CUDA Version: 12.3\n", "driver_cuda", "12.3"),
    "NCCL's own version": (NCCL, "nccl", "2.21.5"),
    "another's sentence": ("It was tested with python3.9, cuda 11.3, torch 1.10.0\n", "python", None),
    "one thing in one's own sentence": ("I want to use python 3.9 for it\n", "python", None),
    "the distribution before the platform": (DIFFUSERS, "os", "ubuntu24.04"),
    "the platform behind the distribution": (DIFFUSERS, "kernel", "6.8.0-31-generic"),
    "the C library of a Python that asks the system": (f"{HF}3.11.4\n", "glibc", "2.35"),
    "the C library that an old Python was linked with": (f"{HF}3.8.18\n", "glibc", None),
    "the C library beside a Python of before 3.8": (f"{OLD_ENV}3.6.4 (64-bit runtime)\n", "glibc", None),
    "a form's platform typed by hand": ("OS Platform: win11 home edition\n", "os", "windows11"),
    "the driver behind the card": ("GPU: NVIDIA GeForce RTX 5070 Ti (572.83)\n", "driver", "572.83"),
    "the library that ollama loaded": (OLLAMA, "driver_library", "570.86.16"),
    "the driver's CUDA in ollama's early log": (OLLAMA, "driver_cuda", "12.8"),
    "CUDA beside the system": ("- 系统环境/System Environment：ubuntu22.04, python3.7, CUDA11.7\n", "cuda_toolkit", "11.7"),
    "cuDNN beside the system": ("- 系统环境/System Environment：windows，cuda 10.2 cudnn7.3\n", "cudnn", "7.3"),
    "system before CUDA": ("OS: Ubuntu 20.04, CUDA 11.3\n", "os", "ubuntu20.04"),
    "CUDA in an old form": (FORM, "cuda_toolkit", "8.0"),
    "cuDNN in an old form": (FORM, "cudnn", "6.0"),
    "a Python that was not tested with": (
        "INCOMPATIBLE PYTHON VERSION\n\nThis program is tested with 3.10.6 Python, but you have 3.11.2.\n",
        "python", "3.11.2",
    ),
    "the driver under its new name": (NEW_HEAD, "driver", "610.43.03"),
    "the driver's CUDA under its new name": (NEW_HEAD, "driver_cuda", "13.3"),
    "ver for version, with a colon": ("GPU: RTX 4090\nPython ver: 3.11.5\n", "python", "3.11.5"),
    "ver for version, glued": ("python ver:3.11.5\ntorch ver:2.4.0\n", "python", "3.11.5"),
    "a distribution's release is no kernel's": ("OS: Red Hat Enterprise Linux release 8.3 (Ootpa) (x86_64)\n", "kernel", None),
    "conda's own name of a platform": ("    conda version : 24.9.2\n         platform : win-64\n", "platform", "windows"),
    "a kernel's": ("Linux box 4.18.0-240.el8 #1 SMP Wed x86_64 x86_64 GNU/Linux\n", "kernel", "4.18.0-240.el8"),
}  # fmt: skip


@pytest.mark.parametrize("case", FACTS)
def test_reads(case):
    text, fact, stated = FACTS[case]
    assert reading.read(text).host.value(fact) == stated


def test_pip_says_what_is_there_already_but_not_on_a_line_that_was_cut():
    assert reading.read(SATISFIED).host.packages == {"torch": "2.4.0+cu124", "numpy": "1.26.0"}


def test_deepspeeds_refusal_names_the_build_too():
    assert reading.read(REFUSED).host.builds["torch"].runtime == "cuda11.7"


def test_detectron2_shows_the_arch_list_among_its_rows():
    assert reading.read(DETECTRON).host.env == {"TORCH_CUDA_ARCH_LIST": "7.5 8.0 8.6+PTX"}


@pytest.mark.parametrize(
    ("tail", "read"),
    [
        ("]", {"CUDA_VISIBLE_DEVICES": "0", "HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        (" HTTPS_PROXY: OLLAMA_DE", {"CUDA_VISIBLE_DEVICES": "0", "HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        ("", {"CUDA_VISIBLE_DEVICES": "0"}),
    ],
    ids=["whole", "cut behind", "cut in the value"],
)
def test_a_map_of_variables_may_be_cut(tail, read):
    line = 'level=INFO msg="server config" env="map[CUDA_VISIBLE_DEVICES:0 HSA_OVERRIDE_GFX_VERSION:10.3.0' + tail
    assert reading.read(line + "\nnext line\n").host.env == read


UNSLOTH = (Path(__file__).parent / "samples" / "unsloth_old.txt").read_text(encoding="utf-8")

OLD_LOG = """\
name: GeForce GTX 1080
major: 6 minor: 1 memoryClockRate (GHz) 1.7335
pciBusID 0000:02:00.0
I tensorflow/core/common_runtime/gpu/gpu_device.cc:838] Creating (/gpu:0) -> (device: 0, name: GeForce GTX 1080, pci bus id: 0000:02:00.0)
I tensorflow/core/common_runtime/gpu/gpu_device.cc:838] Creating (/gpu:1) -> (device: 1, name: GeForce GTX 1080, pci bus id: 0000:01:00.0)
"""

DEVICES = {
    "KDE's information centre": (KDE, [("NVIDIA GeForce RTX 4060 Ti", "")]),
    "a count with the label": (SPECS, [("NVIDIA A100 PCIe", "")] * 2),
    "the architecture behind the name": ("GPU: GTX 1080 Ti (SM 6.1 Pascal)\n", [("GTX 1080 Ti", "sm_61")]),
    "ollama's log by NVML": (OLLAMA_NVML, [("NVIDIA GeForce RTX 3060", "")]),
    "TensorFlow's oldest log": (OLD_LOG, [("GeForce GTX 1080", "sm_61")] * 2),
    "a bare number behind an example": ("- GPU Model: [e.g. GTX 1070] 1080 Ti\n", [("1080 Ti", "")]),
    "a CUDA behind a card, in Chinese": ("GPU：RTX 2080，裸机CUDA11.2和CUDNN7.6.1\n", [("RTX 2080", "")]),
    "an example alone": ("- GPU Model: [e.g. GTX 1070]\n", []),
    "Unsloth's card": (UNSLOTH, [("Tesla P40", "sm_61")]),
    "torch's warning within a sentence": (
        f'There is also a warning saying that "{WARNING.splitlines()[1]}"\n', [("GeForce RTX 3090", "sm_86")]
    ),
    "a card with its driver behind it": ("GPU: RTX 5070 Ti (572.83)\n", [("RTX 5070 Ti", "")]),
    "nvidia-container-cli's list": (CLI_DEVICES, [("Tesla V100-SXM2-16GB", "sm_70"), ("NVIDIA A100-PCIE-40GB", "sm_80")]),
    "ollama's early log": (OLLAMA, [("", "sm_120")]),
    "torch's warning": (WARNING, [("GeForce RTX 3090", "sm_86")]),
    "a count on the next line": (FACTORY, [("NVIDIA A100-SXM4-80GB", "")] * 4),
    "a server by its cards": ("machine: A100 x 8\n", [("A100", "")] * 8),
    "a server by its processor": ("machine: AMD Ryzen 7 5800X\nserver: Intel Xeon 6248\n", []),
}  # fmt: skip


@pytest.mark.parametrize("case", DEVICES)
def test_reads_the_devices(case):
    text, stated = DEVICES[case]
    assert [(gpu.name, gpu.target) for gpu in reading.read(text).host.gpus or ()] == stated


def test_instances_are_counted_by_device_and_only_where_they_are_listed():
    head = "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\n"
    cut = "|   {0}  NVIDIA A100  Off | 00000000:0{0}:00.0 Off |  On |\n| N/A |  0MiB / 40960MiB | N/A  Default |\n|  | Enabled |\n"
    devices = head + cut.format(0) + cut.format(1)
    listed = "| MIG devices: |\n|  0    3   0   0  |  12MiB |\n|       | 2MiB |\n|  0    4   0   1  |  12MiB |\n"
    assert [gpu.mig_devices for gpu in reading.read(devices + listed).host.gpus] == [2, 0]
    assert [gpu.mig_devices for gpu in reading.read(devices).host.gpus] == [None, None]


def test_a_compute_capability_is_no_processor():
    assert reading.read(CLI_DEVICES).host.arch == "x86_64"


def test_a_form_asks_for_a_version_and_has_it_behind_the_question():
    assert reading.read(FORM).host.packages == {"tensorflow": "1.0.1"}
