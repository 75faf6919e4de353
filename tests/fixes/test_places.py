"""Prescriptions that fit the machine: its last driver, its guest, its conda, its C library, and who names the package."""

from __future__ import annotations

import pytest

from compat.app.doctor import Question, examine, judged
from compat.facts import host
from compat.matrix import matrix

LINUX = {"platform": "linux", "arch": "x86_64", "python": "3.11"}
OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version {})."
NEWER_LIBC = "ImportError: /lib64/libm.so.6: version `GLIBC_{}' not found (required by /home/me/.venv/lib/python3.9/site-packages/{})"
OUTDATED = (
    "Outdated {} installation found.\nVersion JAX was built against: {}\nMinimum supported: {}\n"
    "Installed version: 1\nThe local installation version must be no lower than {}."
)
MISSING = "ImportError: {}: cannot open shared object file: No such file or directory"
NVRTC = "{}: NVRTC_ERROR_INVALID_OPTION (5)\nnvrtc: error: invalid value for --gpu-architecture (-arch)"
DLL = 'LoadLibrary failed with error 126 "" when trying to load "C:\\app\\onnxruntime_providers_cuda.dll"'
PTX = "the provided PTX was compiled with an unsupported toolchain."
WANTS_KFD = ("docker run -it --device /dev/kfd --device /dev/dri rocm/pytorch",)
NO_NODE = (
    'Error response from daemon: error gathering device information while adding custom device "/dev/dri": no such'
)

# What is known -> the code of a finding, what its fix holds, and what it never holds.
FACTS = {
    "a virtual GPU takes no driver of the distribution": (
        {
            "gpus": [{"name": "GRID T4-8Q", "vendor": "nvidia"}],
            "driver": "470.63.01",
            "os": "ubuntu22.04",
            "error": PTX,
        },
        ("driver-too-old-for-runtime", "guest driver", "apt"),
    ),
    "a whole card of the same kind does": (
        {"gpus": [{"name": "Tesla T4", "vendor": "nvidia"}], "driver": "470.63.01", "os": "ubuntu22.04", "error": PTX},
        ("driver-too-old-for-runtime", "sudo", "guest"),
    ),
    "a card of no published build": (
        {
            "gpus": [{"name": "GeForce GTX 680", "vendor": "nvidia", "target": "sm_30"}],
            "packages": {"torch": "1.7.1+cu101"},
            **LINUX,
        },
        ("arch-too-old-for-build", "No published torch has code for sm_30", "ARCH_LIST"),
    ),
    "Fermi is older than what is compiled again": (
        {
            "gpus": [{"name": "GeForce GTX 560", "vendor": "nvidia", "target": "sm_21"}],
            "packages": {"torch": "1.7.1+cu101"},
            **LINUX,
        },
        ("arch-too-old-for-build", "another GPU", "ARCH_LIST"),
    ),
    "a toolkit that nobody states has an upper end": (
        {"gpus": [{"name": "NVIDIA GeForce GTX 1080"}], "error": NVRTC.format("NVRTCError")},
        ("toolkit-too-old-for-arch", "12.9, the last for sm_61", "or newer"),
    ),
    "CuPy's own CUDA brings NVRTC": (
        {
            "gpus": [{"name": "NVIDIA GeForce GTX 1070"}],
            "error": NVRTC.format("cupy_backends.cuda.libs.nvrtc.NVRTCError"),
        },
        ("toolkit-too-old-for-arch", "cupy-cuda12x", "PATH"),
    ),
    "conda's JAX loads conda's cuDNN": (
        {
            "packages": {"jax": "0.4.38", "jaxlib": "0.4.38"},
            "installers": {"jax": "conda", "jaxlib": "conda"},
            "error": OUTDATED.format("cuDNN", 8907, 9100, 9100),
            **LINUX,
        },
        ("library-mismatch", 'conda install -c conda-forge "cudnn>=9.1,<10"', "pip"),
    ),
    "and conda's cuSPARSE": (
        {
            "packages": {"jax": "0.4.38", "jaxlib": "0.4.38"},
            "installers": {"jax": "conda", "jaxlib": "conda"},
            "error": OUTDATED.format("cuSPARSE", 12500, 12100, 12100),
            **LINUX,
        },
        ("library-mismatch", '"libcusparse>=12.1,<13"', "nvidia-"),
    ),
    "pip's takes pip's": (
        {
            "packages": {"jax": "0.4.38", "jaxlib": "0.4.38"},
            "installers": {"jax": "pip", "jaxlib": "pip"},
            "error": OUTDATED.format("cuSPARSE", 12500, 12100, 12100),
            **LINUX,
        },
        ("library-mismatch", "nvidia-cusparse-cu12", "conda"),
    ),
    "a library of the toolkit for conda's torch": (
        {"conda_packages": {"pytorch": "2.4.0"}, "error": MISSING.format("libnvrtc.so.12"), **LINUX},
        ("library-missing", "conda install -c conda-forge cuda-nvrtc cuda-version=12", "pip"),
    ),
    "the last wheels for an old C library": (
        {
            "os": "centos7",
            "glibc": "2.17",
            "packages": {"onnxruntime-gpu": "1.18.0"},
            "error": NEWER_LIBC.format("2.27", "onnxruntime/capi/onnxruntime_pybind11_state.so"),
            **LINUX,
            "python": "3.9",
        },
        ("glibc-too-old", "pip install onnxruntime-gpu==1.16.3", "docker run"),
    ),
    "a package that is compiled is compiled there, in its release": (
        {
            "packages": {"flash-attn": "2.8.1"},
            "error": NEWER_LIBC.format("2.32", "flash_attn_2_cuda.cpython-39-x86_64-linux-gnu.so"),
            "platform": "linux",
        },
        ("glibc-too-old", "flash-attn==2.8.1", "docker run"),
    ),
    ".NET's package of ONNX Runtime": (
        {
            "platform": "windows",
            "packages": {"Microsoft.ML.OnnxRuntime.Gpu": "1.16.0"},
            "cuda_toolkit": "12.2",
            "error": DLL,
        },
        ("library-missing", "CUDA 11 and cuDNN 8", "pip"),
    ),
    "WSL has no node of AMD's driver": (
        {"platform": "wsl2", "gpus": [{"name": "AMD Radeon RX 7900 XTX"}], "commands": WANTS_KFD},
        ("platform-unsupported", "/dev/dxg", "Use WSL2"),
    ),
    "a board's engine hands it over by its own runtime": (
        {
            "l4t": "36.4.0",
            "arch": "aarch64",
            "platform": "linux",
            "commands": ("docker run -it nvcr.io/nvidia/l4t-jetpack:r36.4.0",),
            "error": 'could not select device driver "nvidia" with capabilities: [[gpu]]',
        },
        ("container-no-gpu", "nvidia-ctk", "--gpus"),
    ),
    "a companion that asks for another torch's library": (
        {
            "packages": {"torch": "2.6.0+cu124", "torchaudio": "2.6.0+rocm6.2.4"},
            "error": (
                'File "/home/me/.venv/lib/python3.10/site-packages/torchaudio/_extension/utils.py", line 3\n'
                "OSError: libtorch_hip.so: cannot open shared object file: No such file or directory"
            ),
            **LINUX,
        },
        ("library-missing", "torchaudio==2.6.0", "Import torch before"),
    ),
    "the linker looks in its own path": (
        {"error": "/usr/bin/ld: cannot find -lcuda", **LINUX},
        ("library-missing", "LIBRARY_PATH=/usr/local/cuda/lib64/stubs", "LD_LIBRARY_PATH"),
    ),
    "a source file names the package that has no code": (
        {
            "gpus": [{"name": "AMD Radeon RX 7900 XTX"}],
            "error": "Error invalid device function at line 9 in file /src/bitsandbytes/csrc/ops.hip",
        },
        ("rocm-gfx-unsupported", "bitsandbytes", "build of ROCm"),
    ),
    "torch's own words name torch": (
        {
            "gpus": [{"name": "NVIDIA GeForce RTX 5080"}],
            "driver": "570.124.06",
            "error": "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            **LINUX,
        },
        ("arch-too-new-for-build", "/whl/cu128", "ARCH_LIST"),
    ),
}

LAST_BRANCH = OLD.format("9010") + "\nNVIDIA Corporation GF119 [NVS 310] (nvidia-legacy-390xx-driver)\n"
FOLDER = (
    "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.0 as it may crash.\n"
    'File "E:\\tools\\app\\{}\\lib\\site-packages\\torch\\__init__.py", line 9, in <module>\n'
)
KEPT = (
    "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.0.0 as it may crash.\n"
    'File "{}", line 9, in <module>\nFile "/home/me/miniconda3/lib/python3.12/importlib/__init__.py", line 90\n'
)
NO_HOOK = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n'
PODS = "NAME             READY   STATUS   RESTARTS   AGE\nworker-9x        0/1     Error    4          9m\n"
BLIND = ">>> import torch\n>>> torch.cuda.is_available()\nFalse\n"
CONDITION = "nvidia-container-cli: requirement error: unsatisfied condition: cuda>={}, please update your driver\n"
SMI = "| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |\n"
REFUSED = (
    "[    9.1] NVRM: API mismatch: the client 'Xorg' (pid 812)\n          NVRM: has the version 570.86.16, but this kernel"
    " module has\n          NVRM: the version 570.86.10.  Please make sure that this\n"
)
ON_DISK = (
    "filename:       /lib/modules/6.8.0-31-generic/updates/dkms/nvidia.ko\nalias:          char-major-195-*\n"
    "version:        570.86.10\n"
)
INSUFFICIENT = "CUDA error: CUDA driver version is insufficient for CUDA runtime version\n"
# A pasted text -> the same of its first finding.
TEXTS = {
    "pipx runs pip in the environment that it keeps": (
        KEPT.format("/home/me/.local/share/pipx/venvs/plot/lib/python3.12/site-packages/plot/a.py"),
        ("numpy-abi-mismatch", 'pipx runpip plot install "numpy<2"', "conda"),
    ),
    "uv names the environment of a tool": (
        KEPT.format("/home/me/.local/share/uv/tools/plot/lib/python3.12/site-packages/plot/a.py"),
        ("numpy-abi-mismatch", 'uv pip install "numpy<2" --python "$(uv tool dir)/plot"', "conda"),
    ),
    "uv names the environment of a tool as Windows does": (
        FOLDER.replace("E:\\tools\\app", "C:\\Users\\me\\AppData\\Roaming\\uv\\tools").format("plot"),
        ("numpy-abi-mismatch", "--python %APPDATA%\\uv\\tools\\plot", "$("),
    ),
    "an environment of Poetry is its project's": (
        KEPT.format("/home/me/.cache/pypoetry/virtualenvs/plot-Xa1-py3.12/lib/python3.12/site-packages/plot/a.py"),
        ("numpy-abi-mismatch", 'poetry add "numpy<2"', "pip"),
    ),
    "a pod without a GPU is mended at its node, not by a driver": (
        f"{PODS}Failed to initialize NVML: N/A\n",
        ("container-no-gpu", "runtimeClassName: nvidia", "driver"),
    ),
    "K3s finds the toolkit when it starts": (
        f"box    Ready    master   9d   v1.19.5-k3s.2\n{PODS}Failed to initialize NVML: N/A\n",
        ("container-no-gpu", "sudo systemctl restart k3s", "docker"),
    ),
    "a device plugin is no pod that asks for a GPU": (
        f"{PODS}NVML not detected: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file\n",
        ("container-no-gpu", "nvidia-ctk runtime configure --runtime=containerd --set-as-default", "resources.limits"),
    ),
    "Intel's GPU has no use for NVIDIA's toolkit": (
        (
            "00:02.0 VGA compatible controller: Intel Corporation Alder Lake-N [UHD Graphics]\n"
            f"$ docker run --rm --gpus all me/image\n{NO_HOOK}"
        ),
        ("container-no-gpu", "docker run --rm --device /dev/dri me/image", "nvidia-ctk"),
    ),
    "clinfo and xpu-smi name Intel's GPUs": (
        f" `-- Device #0: Intel(R) UHD Graphics 630\n{NO_HOOK}",
        ("container-no-gpu", "--device /dev/dri", "nvidia-ctk"),
    ),
    "conda-forge has its CUDA build under a name of its own": (
        f"$ conda create -n plot plotter -c conda-forge\n(plot) me@box:~$ python\n| packaged by conda-forge |\n{BLIND}",
        ("cpu-only-build", "conda install -c conda-forge pytorch-gpu", "pip"),
    ),
    "a channel's name is no package": (
        f"$ conda install something -c pytorch\n{BLIND}",
        ("cpu-only-build", "Tell which machine it is", "conda"),
    ),
    "who installs CUDA by conda has a GPU for it": (
        f"$ conda install -c pytorch pytorch=1.9.0 cudatoolkit=11.3\n{BLIND}",
        ("cpu-only-build", "conda install pytorch=1.9.0 cudatoolkit=11.1", "Tell which"),
    ),
    "an image asks for the driver of its CUDA": (
        f"{CONDITION.format('12.4')}{SMI}",
        (
            "container-requires-newer-driver",
            "550.54.14 or newer, if its GPU has one, or take an image for CUDA 12.0",
            "pip",
        ),
    ),
    "no newer driver is asked for where the branch was the last": (
        f"{CONDITION.format('11.0')}ii  nvidia-legacy-390xx-driver  390.157-1  amd64  metapackage\n",
        ("container-requires-newer-driver", "take an image for CUDA 9.1 or older", "Upgrade"),
    ),
    "a driver that is there is too old by the message": (
        f"{SMI.replace('525.60.13', '470.57.02').replace('12.0', '11.4')}{INSUFFICIENT}",
        ("driver-too-old-for-runtime", "to 525.60.13 or newer, or take the build for CUDA 11", "an older"),
    ),
    "a module of another release than its libraries may be so on the disk": (
        REFUSED,
        ("driver-library-mismatch", "If modinfo tells 570.86.10 after this or a restart", "image"),
    ),
    "a module that modinfo shows is not mended by loading it again": (
        f"{REFUSED}{ON_DISK}",
        ("driver-library-mismatch", "let its package (dkms status) make that of 570.86.16", "modprobe -r"),
    ),
    "dpkg tells the release of the driver's libraries": (
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  520.56.06  Thu Oct  6 21:38:55 UTC 2022\n"
            "ii  libnvidia-ml1:amd64  525.85.12-1  amd64  NVIDIA Management Library\n"
        ),
        ("driver-library-mismatch", "to 525.85.12", "image"),
    ),
    "an engine serves whatever NVIDIA GPU there is": (
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]]\n\nmy RTX 3090\n',
        ("container-no-gpu", "nvidia-ctk", "If RTX 3090"),
    ),
    "a Mac whose processor nobody tells is a macOS": (
        (
            "me@mini src % pip3 install torch==1.13.1+cu117\n"
            "ERROR: Could not find a version that satisfies the requirement torch==1.13.1+cu117 (from versions: 2.0.0, 2.0.1)\n"
        ),
        ("platform-unsupported", "2.0.1", "macosx_"),
    ),
    "a package of a driver branch tells that no newer one serves the card": (
        LAST_BRANCH,
        ("driver-too-old-for-runtime", "R390 is the last driver branch", "Upgrade"),
    ),
    "Docker Desktop has no node of AMD's driver": (
        f"PS C:\\Users\\me> docker run --device /dev/dri IMAGE\n{NO_NODE} file or directory",
        ("container-no-gpu", "/dev/dxg", "amdgpu"),
    ),
    "no GPU is asked for by the number 0": (
        "$ docker run -it --gpus 0 me/image:cu124 python a.py\nRuntimeError: Found no NVIDIA driver on your system.\n",
        ("container-no-gpu", "docker run -it --gpus all me/image:cu124", "nvidia-ctk"),
    ),
    "a kernel that is missing on a card that nobody names": (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
        ("arch-too-new-for-build", "whose CUDA knows this GPU", "pip install"),
    ),
    "an environment of Windows has its Python in Scripts": (
        FOLDER.format(".tool"),
        ("numpy-abi-mismatch", ".tool\\Scripts\\python.exe -m pip", ".tool\\python.exe"),
    ),
    "a Python that a program brings lies in its folder": (
        FOLDER.format("python_embeded"),
        ("numpy-abi-mismatch", "python_embeded\\python.exe -m pip", "Scripts"),
    ),
}


@pytest.mark.parametrize(("known", "told"), FACTS.values(), ids=FACTS)
def test_a_fix_fits_the_machine(known, told):
    options = {name: one for name, one in known.items() if name in {"error", "commands"}}
    facts = {name: one for name, one in known.items() if name not in options}
    code, holds, never = told
    found = next(one for one in judged(host("test", **facts), matrix(), **options).findings if one.code == code)
    said = "\n".join([found.fix.text, *found.fix.commands])
    assert holds in said, said
    assert never not in said, said


@pytest.mark.parametrize(("text", "told"), TEXTS.values(), ids=TEXTS)
def test_a_fix_fits_what_a_text_shows(prescribes, text, told):
    prescribes(text, *told)


STARTED = {
    "docker run me/image": "RuntimeError: No CUDA GPUs are available\n",
    "docker run --gpus 0 me/image": "RuntimeError: No CUDA GPUs are available\n",
    "docker run --gpus capabilities=utility me/image": "RuntimeError: Found no NVIDIA driver on your system.\n",
    "docker run --rm --gpus all me/image": f"Intel Corporation Alder Lake-N [UHD Graphics]\n{NO_HOOK}",
    "docker run --gpus all pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime": (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
    ),
    "podman run --gpus all me/image": "Failed to initialize NVML: Insufficient Permissions\n",
}


@pytest.mark.parametrize("said", STARTED)
@pytest.mark.parametrize(
    "more", ["; evil", " && evil", " | evil", " & evil", " `evil`", ' "$(evil)"', " > evil", " <(evil)", " 'evil"]
)
def test_nothing_behind_a_typed_command_is_told_to_type(said, more):
    plain, hostile = (examine(Question(pasted=f"$ {said}{end}\n{STARTED[said]}"), matrix())[0] for end in ("", more))
    assert plain.findings
    assert not [line for one in hostile.findings for line in one.fix.commands if "evil" in line]


def test_a_typed_command_may_say_where_one_is_and_who(prescribes):
    line = "docker run --user $(id -u):$(id -g) -v $(pwd):/w -e HOME=$HOME me/image"
    mended = line.replace("run", "run --gpus all", 1)
    prescribes(f"$ {line}\nRuntimeError: No CUDA GPUs are available\n", "container-no-gpu", mended, "evil")
