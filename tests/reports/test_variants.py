"""Forms that programs and people print beside the usual one, each as it was met in a public thread."""

from __future__ import annotations

import pytest

from compat import reports

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

BULLETS = """\
- Ubuntu 16.04 (freshly installed, with all updates)
- Bazel 0.3.1:

```
chmod +x bazel.sh
./bazel.sh --user
```

- CUDA 8.0.44 (for GTX 1070, from the runfile, without its driver)

```
export PATH=/usr/local/cuda-8.0/bin:$PATH
```

- cuDNN 5.1.5 (from the archive)
"""

SATISFIED = """\
Requirement already satisfied: torch in /venv/lib/python3.10/site-packages (from timm==1.0) (2.4.0+cu124)
Requirement already satisfied: numpy>=1.17 in /venv/lib/python3.10/site-packages (from timm==1.0) (1.26.0)
Requirement already satisfied: torchvision in /venv/lib/python3.10/site-packages (from timm
"""

FACTS = {
    "the driver under its new name": (NEW_HEAD, "driver", "610.43.03"),
    "the driver's CUDA under its new name": (NEW_HEAD, "driver_cuda", "13.3"),
    "a list with bullets and commands between: CUDA": (BULLETS, "cuda_toolkit", "8.0.44"),
    "a list with bullets and commands between: cuDNN": (BULLETS, "cudnn", "5.1.5"),
    "a list with bullets and commands between: system": (BULLETS, "os", "ubuntu16.04"),
    "ver for version, with a colon": ("GPU: RTX 4090\nPython ver: 3.11.5\n", "python", "3.11.5"),
    "ver for version, glued": ("python ver:3.11.5\ntorch ver:2.4.0\n", "python", "3.11.5"),
    "a distribution's release is no kernel's": ("OS: Red Hat Enterprise Linux release 8.3 (Ootpa) (x86_64)\n", "kernel", None),
    "a kernel's": ("Linux box 4.18.0-240.el8 #1 SMP Wed x86_64 x86_64 GNU/Linux\n", "kernel", "4.18.0-240.el8"),
}  # fmt: skip


@pytest.mark.parametrize("case", FACTS)
def test_reads(case):
    text, fact, stated = FACTS[case]
    assert reports.read(text).host[fact] == stated


def test_pip_says_what_is_there_already_but_not_on_a_line_that_was_cut():
    assert reports.read(SATISFIED).host["packages"] == {"torch": "2.4.0+cu124", "numpy": "1.26.0"}


def test_version_words_stand_for_package_versions():
    packages = reports.read("torch ver:2.4.0+cu124\nbitsandbytes ver  0.43.2\n").host["packages"]
    assert packages == {"torch": "2.4.0+cu124", "bitsandbytes": "0.43.2"}


def test_detectron2_shows_the_arch_list_among_its_rows():
    assert reports.read(DETECTRON).host["env"] == {"TORCH_CUDA_ARCH_LIST": "7.5 8.0 8.6+PTX"}


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
    assert reports.read(line + "\nnext line\n").host["env"] == read
