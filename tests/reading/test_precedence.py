"""Where lines disagree: who is believed, and when nobody is."""

from __future__ import annotations

import pytest

from compat import reading
from compat.facts import Unknown


def read(text: str):
    return reading.read(text).host


def test_running_torch_outweighs_lists():
    host = read("PyTorch version: 1.7.0a0+9ddd3df\nIs debug build: False\n[pip3] torch==1.7.0a0+a9603c7\n")
    assert host.packages["torch"] == "1.7.0a0+9ddd3df"


def test_lists_that_disagree_state_nothing():
    page = reading.read("PyTorch version: N/A\nIs debug build: N/A\n[pip3] numpy==1.18.5\n[pip3] numpy==1.21.0\n")
    assert "numpy" not in (page.host.packages or {})
    assert any("1.18.5" in note and "1.21.0" in note for note in page.unread)


def test_libc_line_outweighs_platform_string():
    host = read("Libc version: glibc-2.31\nPython platform: Linux-5.10.120-tegra-aarch64-with-glibc2.29\n")
    assert (host.glibc, host.kernel, host.arch) == ("2.31", "5.10.120-tegra", "aarch64")


def test_nvcc_outweighs_what_a_person_typed():
    text = "Cuda compilation tools, release 11.0, V11.0.221\n\n- CUDA/cuDNN version: CUDA 11.0, cuDNN 8.0.5\n"
    assert (read(text).cuda_toolkit, read(text).cudnn) == ("11.0.221", "8.0.5")


def test_a_finer_value_completes_a_coarser_one():
    host = read("Python version: 3.8 (64-bit runtime)\nIs debug build: False\n>>> import sys\nPython 3.8.10\n")
    assert host.python == "3.8.10"


def test_equals_that_contradict_each_other_are_unknown():
    host = read("Is debug build: False\nNvidia driver version: 470.57.02\nNvidia driver version: 535.54.03\n")
    reading = host.reading("driver")
    assert isinstance(reading, Unknown)
    assert "470.57.02" in reading.why
    assert "535.54.03" in reading.why


def test_a_rocm_build_is_no_cpu_build():
    host = read("CUDA used to build PyTorch: None\nROCM used to build PyTorch: 6.2.41133-dd7f95766\n")
    assert host.builds["torch"].runtime == "rocm6.2"


def test_a_build_without_cuda_is_a_cpu_build():
    host = read("PyTorch version: 2.1.0\nCUDA used to build PyTorch: None\nROCM used to build PyTorch: N/A\n")
    assert host.builds["torch"].runtime == "cpu"


def test_local_tag_names_the_runtime_where_nothing_else_does():
    assert read("torch==2.4.0+rocm6.1\n").builds["torch"].runtime == "rocm6.1"
    assert read("torch==2.4.0+cu118\n").builds["torch"].runtime == "cuda11.8"


GPUS = {
    "one device named by two programs": (
        "GPU 0: NVIDIA A100-PCIE-40GB (UUID: GPU-1)\nIs debug build: False\nGPU models and configuration: GPU 0: NVIDIA A100-PCIE-40GB\n",
        ["NVIDIA A100-PCIE-40GB"],
    ),
    "numbers in one label": ("sys.platform: linux\nCUDA available: True\nGPU 0,1,2: Tesla V100-SXM2-32GB\n", ["Tesla V100-SXM2-32GB"] * 3),
    "a cut name gives way": (
        ("NVIDIA-SMI 440.33.01    Driver Version: 440.33.01    CUDA Version: 10.2\n"
        "|   0  GeForce GTX 106...  Off  | 00000000:01:00.0  On |                  N/A |\n"
        "Is debug build: False\nGPU models and configuration: GPU 0: GeForce GTX 1060 6GB\n"),
        ["GeForce GTX 1060 6GB"],
    ),
    "mixed vendors": (
        ("  Name:                    gfx1100\n  Marketing Name:          AMD Radeon RX 7900 XTX\n  Device Type:             GPU\n\n"
        "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-1)\n"),
        ["AMD Radeon RX 7900 XTX", "NVIDIA GeForce RTX 4090"],
    ),
    "people count where no program does": ("- GPU: 2x RTX 3090 (24GB)\n", ["RTX 3090", "RTX 3090"]),
    "people do not add to what programs name": ("- GPU: RTX 3090\n\nIs debug build: False\nGPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090\n", ["NVIDIA GeForce RTX 3090"]),
}  # fmt: skip


@pytest.mark.parametrize("case", GPUS)
def test_each_device_counts_once(case):
    text, names = GPUS[case]
    assert sorted(gpu.name for gpu in read(text).gpus) == sorted(names)


def test_capability_without_a_name_joins_the_only_device():
    text = "GPU 0: Tesla T4 (UUID: GPU-1)\nCUDA SETUP: Highest compute capability among GPUs detected: 7.5\n"
    assert [(gpu.name, gpu.target) for gpu in read(text).gpus] == [("Tesla T4", "sm_75")]


def test_sglang_capabilities_join_their_devices():
    text = "Python: 3.11.9\nCUDA available: True\nGPU 0,1: NVIDIA L4\nGPU 0,1 Compute Capability: 8.9\nCUDA_HOME: /usr/local/cuda\n"
    assert [(gpu.name, gpu.target) for gpu in read(text).gpus] == [("NVIDIA L4", "sm_89")] * 2


def test_each_fact_cites_program_and_line():
    host = read("hello\n\nIs debug build: False\nNvidia driver version: 470.57.02\n")
    assert host.source("driver") == "collect_env line 4"


def test_says_which_programs_it_recognised():
    text = "Is debug build: False\n\nnvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.0, V11.0.221\n"
    assert reading.read(text).programs == ("collect_env", "nvcc")


def test_says_what_it_could_not_read():
    page = reading.read("NVIDIA-SMI has failed for a reason nobody has seen before\n")
    assert page.programs == ("nvidia-smi",)
    assert "nvidia-smi line 1" in page.unread[0]


TYPED = {
    "GeForce GTX 1080 Ti, 11GB": ["GeForce GTX 1080 Ti"],
    "RTX 3090 24GB": ["RTX 3090"],
    "2 x Tesla V100 (32GB)": ["Tesla V100"] * 2,
    "NVIDIA A100-SXM4-80GB x 2": ["NVIDIA A100-SXM4-80GB"] * 2,
    "NVIDIA H100 80GB HBM3": ["NVIDIA H100 80GB HBM3"],
    "Tesla K80 / 12 GB": ["Tesla K80"],
    "4*2080Ti": ["2080Ti"] * 4,
    "GeForce RTX 2070, driver 450.102.04": ["GeForce RTX 2070"],
    "RX 6600 XT": ["RX 6600 XT"],
    "yes": [],
    "a very good one": [],
}


@pytest.mark.parametrize("value", TYPED)
def test_reads_cards_as_people_write_them(value):
    assert [gpu.name for gpu in read(f"- GPU model and memory: {value}\n").gpus or ()] == TYPED[value]


def test_a_card_somebody_wishes_for_is_not_in_the_machine():
    text = "- GPU: RTX 4090\n\n" + "\n" * 70 + "GPU 0: Tesla T4 (UUID: GPU-1)\n"
    assert [gpu.name for gpu in read(text).gpus] == ["Tesla T4"]


@pytest.mark.parametrize(("packed", "version"), [(8303, "8.3.3"), (7605, "7.6.5"), (90100, "9.1.0"), (91002, "9.10.2")])
def test_unpacks_cudnn_numbers_of_both_schemes(packed, version):
    assert read(f">>> torch.backends.cudnn.version()\n{packed}\n").cudnn == version
