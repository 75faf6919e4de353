"""Lines that look like facts and are none, and templates nobody filled in."""

from __future__ import annotations

import pytest

from compat import reading

EMPTY = {
    "transformers": "- `transformers` version:\n- Platform:\n- Python version:\n- PyTorch version (GPU?):\n- Using GPU in script?:\n",
    "tensorflow": "- **OS Platform and Distribution (e.g., Linux Ubuntu 16.04)**:\n- **TensorFlow version (use command below)**:\n"
    "- **Python version**:\n- **CUDA/cuDNN version**:\n- **GPU model and memory**:\n",
    "pytorch": "- PyTorch Version (e.g., 1.0):\n- OS (e.g., Linux):\n- Python version:\n- CUDA/cuDNN version:\n- GPU models and configuration:\n",
    "form": "### OS platform and distribution\n\n_No response_\n\n### Python version\n\n_No response_\n\n### CUDA/cuDNN version\n\n_No response_\n",
    "nothing collected": "CUDA runtime version: Could not collect\nGPU models and configuration: Could not collect\nNvidia driver version: Could not collect\ncuDNN version: N/A\nHIP runtime version: N/A\n",
    "no cuda": "GPU models and configuration: No CUDA\nNvidia driver version: No CUDA\ncuDNN version: No CUDA\n",
    "operators": "op name ................ installed .. compatible\nasync_io ............... [NO] ....... [OKAY]\nninja .................. [OKAY]\n",
    "hip and cuda 0.0": "deepspeed info ................... unknown\ntorch cuda version ............... None\nnvcc version ..................... 0.0\n",
    "topology": "\tGPU0\tNIC0\tCPU Affinity\nGPU0\t X \tNODE\t0-15\nNIC0\tNODE\t X \n",
    "prose": "Python 3.8 is required and PyTorch 1.7 works. I think GPU 0 is a beast: it flies. CUDA is great.\n",
    "arch flags": "detectron2 arch flags   7.5, 8.0\nsys.platform            sunos5\n",
    "cpu agent": "Agent 1\n  Name:                    AMD Ryzen 5 1600X\n  Marketing Name:          AMD Ryzen 5 1600X\n  Device Type:             CPU\n",
    "wanted versions": " [WARNING]  please install triton==1.0.0 if you want to use sparse attention\n",
    "supported targets": 'level=WARN msg="amdgpu is not supported" gpu=0 supported_types="[gfx1010 gfx1030]"\n',
    "cpu of ollama": 'msg="inference compute" id=0 library=cpu variant=avx2 compute="" driver=0.0 name="" total="31.8 GiB"\n',
    "limits in warnings": "UserWarning: WARNING: Compute capability < 7.5 detected! Only slow 8-bit matmul is supported for your GPU!\n",
    "no nvcc": "CUDA_HOME: None\nNVCC: Not Available\nMMCV: 1.7\nsys.platform: other\n",
    "repository package": "ii  cudnn-local-repo-ubuntu2004-8.9.2.26  1.0-1  amd64  cudnn-local repository configuration files\n",
    "windows architecture": "hello [MSC v.1929 64 bit (AMD64)] on win\n",
    "virtual package names": "__archspec=1=zen3\n",
}  # fmt: skip

GPU_FACTS = {
    "gpus",
    "driver",
    "driver_cuda",
    "cuda_toolkit",
    "cudnn",
    "python",
    "os",
    "arch",
    "glibc",
    "kernel",
    "amdgpu",
    "rocm",
}


@pytest.mark.parametrize("case", EMPTY)
def test_states_no_fact(case):
    host = reading.read(EMPTY[case]).host
    assert {name: host.value(name) for name in host if name in GPU_FACTS} == {}
    assert not host.packages or case == "no nvcc"


def test_a_topology_behind_a_list_of_devices_adds_to_what_it_says():
    text = (
        "Python: 3.12.4 (main) [GCC 11.4.0]\nCUDA available: True\nGPU 0: NVIDIA L40S\nGPU 0 Compute Capability: 8.9\n"
        "sglang: 0.4.9\nNVIDIA Topology:\n\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tSYS\t0-31\t1\t\tN/A\nNIC0\tSYS\t X\n"
    )
    (gpu,) = reading.read(text).host.gpus
    assert (gpu.name, gpu.target, gpu.numa) == ("NVIDIA L40S", "sm_89", 1)


TRAPS = {
    "example in the label": ("- **OS Platform and Distribution (e.g., Linux Ubuntu 16.04)**: Debian 12\n", "os", "debian12"),
    "both in one field": ("- **CUDA/cuDNN version**:8.0/6.0\n", "cudnn", "6.0"),
    "driver of WSL": ("| NVIDIA-SMI 525.65   Driver Version: 527.41   CUDA Version: 12.0 |\n", "driver", "527.41"),
    "CUDA of the driver": ("- CUDA version (from nvidia-smi): 11.4\n- nvcc: 10.1\n", "cuda_toolkit", "10.1"),
    "a driver, and the CUDA that it supports": ("- CUDA/cuDNN version: NVidia driver v450.66 CUDA 11.0\n", "driver_cuda", "11.0"),
    "a cuDNN behind the driver's CUDA": ("- CUDA (from nvidia-smi): 12.6, cuDNN 9.5.1 by pip\n- Python: 3.11.4\n", "driver_cuda", "12.6"),
    "final.0": ("conda version : 24.9.2\npython version : 3.12.7.final.0\n", "python", "3.12.7"),
    "old platform string": ("- Platform: Linux-5.13.0-35-generic-x86_64-with-Ubuntu-20.04-focal\n- Using GPU in script?: no\n", "os", "ubuntu20.04"),
    "kernel that ends in its architecture": ("Python platform: Linux-6.17.13-200.fc42.x86_64-x86_64-with-glibc2.39\n", "kernel", "6.17.13-200.fc42.x86_64"),
    "kernel with a plus": ("Python platform: Linux-6.6.97+-x86_64-with-glibc2.35\n", "kernel", "6.6.97+"),
    "WSL by its kernel": ("Python platform: Linux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35\n", "platform", "wsl2"),
    "apple keeps arm64": ("OS: macOS 13.7.4 (arm64)\nIs debug build: False\n", "arch", "arm64"),
    "system with aside": ("OS: CentOS Linux 7 (Core) (x86_64)\nIs debug build: False\n", "os_name", "CentOS Linux 7 (Core)"),
    "windows with bits": ("OS: Microsoft Windows 11 Pro (10.0.22631 64-bit)\nIs debug build: False\n", "os", "windows11"),
    "nine as 90.1": ("PyTorch compiling details: PyTorch built with:\n  - CuDNN 90.1\nsys.platform: linux\n", "cudnn", "9.1.0"),
    "header": ("#define CUDNN_MAJOR 7\n#define CUDNN_MINOR 6\n#define CUDNN_PATCHLEVEL 4\n", "cudnn", "7.6.4"),
    "libraries": ("Is debug build: False\ncuDNN version: Probably one of the following:\n/usr/lib/libcudnn.so.8.2.0\n/usr/lib/libcudnn_adv_infer.so.8.2.0\n", "cudnn", "8.2.0"),
    "form": ("### CUDA/cuDNN version\n\n11.8/8.6\n\n### GPU model\n", "cuda_toolkit", "11.8"),
    "full-width colons": ("   cuda  : 10.1\n   cudnn：7.6.5\n   driver：430.64\n", "driver", "430.64"),
    "uname": ("Linux host 3.10.0-957.21.3.el7.x86_64 #1 SMP Tue Jun 18 16:35:19 UTC 2019 x86_64 x86_64 x86_64 GNU/Linux\n", "kernel", "3.10.0-957.21.3.el7.x86_64"),
    "ldd": ("ldd (Ubuntu GLIBC 2.31-0ubuntu9.9) 2.31\n", "glibc", "2.31"),
    "lsb": ("Distributor ID:\tUbuntu\nDescription:\tUbuntu 18.04.6 LTS\nRelease:\t18.04\n", "os", "ubuntu18.04"),
    "tensorflow's kernel line": ("tensorflow/stream_executor/cuda/cuda_diagnostics.cc:310] kernel reported version is: 384.81.0\n", "driver", "384.81.0"),
}  # fmt: skip


@pytest.mark.parametrize("case", TRAPS)
def test_reads_past_the_trap(case):
    text, fact, value = TRAPS[case]
    assert reading.read(text).host.value(fact) == value


SESSIONS = {
    "another module's version first": (
        (
            "print(onnxruntime.__file__)\nprint(mine.__version__)\nprint('TORCH', torch.__version__)\nprint('CUDA:',torch.version.cuda)\n"
            "/usr/lib/x.py\n1.22.1\nTORCH 2.6.0+cu124\nCUDA: 12.4\n"
        ),
        "2.6.0+cu124",
        "cuda12.4",
    ),
    "words within the print": (
        "print(f'torch {torch.__version__}')\nprint(f'built for {torch.version.cuda}')\ntorch 2.1.0\nbuilt for 11.8\n",
        "2.1.0",
        "cuda11.8",
    ),
    "a figure first": (
        "print(torch.cuda.is_available())\nprint(torch.__version__)\nprint(torch.version.cuda)\nTrue\n2.1.0\n12.1\n",
        "2.1.0",
        "cuda12.1",
    ),
    "two prompts": (
        ">>> import torch\n>>> torch.__version__\n'1.12.1'\n>>> torch.version.cuda\n'11.3'\n",
        "1.12.1",
        "cuda11.3",
    ),
    "ipython": ("In [1]: torch.__version__\nOut[1]: '2.0.1+cpu'\n", "2.0.1+cpu", "cpu"),
    "one print": (
        '$ python -c "import torch; print(torch.__version__, torch.version.cuda)"\n2.1.0 12.1\n',
        "2.1.0",
        "cuda12.1",
    ),
    "two prints": (
        'python3 -c "import torch; print(torch.__version__); print(torch.version.cuda)"\n2.1.0\nNone\n',
        "2.1.0",
        "cpu",
    ),
}


@pytest.mark.parametrize("case", SESSIONS)
def test_reads_answers_of_a_session(case):
    text, torch, runtime = SESSIONS[case]
    host = reading.read(text).host
    assert (host.packages["torch"], host.builds["torch"].runtime) == (torch, runtime)


UNCERTAIN = [
    "print(mine.__version__)\nprint(torch.__version__)\n1.22.1\n2.6.0\n",
    "print('CUDA', torch.version.cuda)\n12.4\n",
    "print('torch', torch.__version__)\nprint('ours', mine.__version__)\nours 1.2.3\n",
]


@pytest.mark.parametrize("text", UNCERTAIN)
def test_an_answer_that_may_be_another_questions_states_nothing(text):
    host = reading.read(text).host
    assert not (host.packages or {}).get("torch")
    assert not host.builds


def test_reads_variables_with_a_value_only():
    text = 'LD_LIBRARY_PATH=/usr/local/cuda/lib64\nCUDA_VISIBLE_DEVICES=\nexport NCCL_DEBUG="INFO"\nHOME=/root\nCUDA_MODULE_LOADING set to: LAZY\nIs debug build: False\n'
    assert reading.read(text).host.env == {
        "LD_LIBRARY_PATH": "/usr/local/cuda/lib64",
        "NCCL_DEBUG": "INFO",
        "CUDA_MODULE_LOADING": "LAZY",
    }
