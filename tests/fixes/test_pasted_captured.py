"""Prescriptions that rest on what a message captures: its own program, its numbers, the releases that it lists."""

from __future__ import annotations

import pytest

BITSANDBYTES = (
    "D:\\py\\envs\\x\\lib\\site-packages\\bitsandbytes\\cextension.py:34: UserWarning: The installed version of bitsandbytes "
    "was compiled without GPU support. 8-bit optimizers, 8-bit multiplication, and GPU quantization are unavailable."
)
NONE = "ERROR: Could not find a version that satisfies the requirement torch=={} (from versions: {})"
OUTDATED = (
    "Outdated cuSPARSE installation found.\nVersion JAX was built against: {}\nMinimum supported: {}\n"
    "Installed version: 12002\nThe local installation version must be no lower than 12100."
)
NO_CODE = (
    "{}\nCUDA error: no kernel image is available for execution on the device\n"
    "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
)
OLD_TORCH = NONE.format("1.3.1+cpu", "1.4.0, 1.4.0+cpu, 1.5.0")
WINDOWS = "C:\\Users\\me> docker run --gpus 1 nvidia/cuda:12.2.0-base nvidia-smi\n"
CONDA = "/home/me/miniconda3/envs/x/lib/python3.12/site-packages/pip/__main__.py\n"

# A text as people paste it -> the first finding, what its fix holds, and what it never holds.
CAPTURED = {
    "of a page that pip lists it is a tag that is there": (
        NONE.format("1.8.0+cu102", "1.7.1, 1.7.1+cu101, 1.7.1+cu110, 1.8.0, 1.8.0+cpu, 1.8.0+cu101, 1.8.0+cu111"),
        ("python-unsupported", "torch==1.8.0+cu101", "own index"),
    ),
    "a build beside torch is for any card": (
        (
            "  x Failed to build `flash-attn==2.8.2`\n  The build backend returned an error\n  Call to "
            "`setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)\n  ModuleNotFoundError: No module named "
            "'torch'\n\nI have RTX 5060 card."
        ),
        ("build-tools-missing", "uv pip install --no-build-isolation", "RTX 5060"),
    ),
    "what pip or uv knows decides which of its packages lacks, and no card does": (
        (
            "$ uv sync --extra gpu\n$ python -c 'import torch'\nImportError: libcudnn.so.9: cannot open shared object file: No "
            "such file or directory\n\nLinux, NVIDIA GPU (RTX A6000), Python 3.13"
        ),
        ("library-missing", "uv pip check", "If RTX A6000"),
    ),
    "a ROCm from before the card's own code has that of its sibling": (
        "rocBLAS error: Cannot read /opt/rocm-5.7.0/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1103",
        ("rocm-gfx-unsupported", "HSA_OVERRIDE_GFX_VERSION=11.0.0", "10.3.0"),
    ),
    "a CUDA of a driver that knows none of the cards is no ceiling": (
        (
            "PyTorch Version: 2.5.0+cu121\n\nCUDA Version: 12.1\n\nNVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not "
            "compatible with the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities "
            "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\nRuntimeError: CUDA error: no kernel image is available"
        ),
        ("arch-too-new-for-build", "torch==2.7.0+cu128", "ARCH_LIST"),
    ),
    "the targets of a build tell the first release that it can be": (
        (
            "NVIDIA GeForce RTX 5080 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
            "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90."
        ),
        ("arch-too-new-for-build", "torch==2.7.0+cu128", "2.11"),
    ),
    "of such releases it is one with a CUDA that compiles for the card": (
        (
            "NVIDIA GeForce RTX 3060 with CUDA capability sm_86 is not compatible with the current PyTorch installation.\n"
            "The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_61 sm_70 sm_75 compute_37."
        ),
        ("arch-too-new-for-build", "torch==1.8.0+cu111", "cu110"),
    ),
    "a library of CUDA that pip lists no release of is not for a Mac": (
        NONE.format("2", "0.0.1.dev5").replace("torch", "nvidia-cublas-cu12"),
        ("python-unsupported", "on a Mac install without it", "Take a Python"),
    ),
    "uv's own words are answered by uv": (
        (
            "  x Failed to build `flash-attn==2.8.2`\n  hint: This error likely indicates that `flash-attn@2.8.2` depends on "
            "`torch`, but doesn't declare it as a build dependency."
        ),
        ("build-tools-missing", "uv pip install --no-build-isolation", "\npip install"),
    ),
    "the first WSL on a Windows whose second one gets no GPU": (
        (
            "Linux box 4.4.0-18362-Microsoft #1-Microsoft Mon Mar 18 2019 x86_64 x86_64 x86_64 GNU/Linux\nNVIDIA-SMI has "
            "failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is "
            "installed and running."
        ),
        ("wsl1", "build 18362", "dkms"),
    ),
    "a driver that the kernel has lacks its library alone": (
        (
            "Could not load dynamic library 'libcuda.so.1'; dlerror: libcuda.so.1: cannot open shared object file: No such "
            "file or directory\n2022-07-07 15:53:15.984409: I tensorflow/stream_executor/cuda/cuda_diagnostics.cc:204] kernel reported version is: 460.91.3"
        ),
        ("no-driver", "libraries of that release", "covers the CUDA build"),
    ),
    "the groups of the user lack that of the node": (
        (
            "$ id\nuid=1000(me) gid=1000(me) groups=1000(me),27(sudo)\n$ ls -l /dev/kfd\n"
            "crw-rw---- 1 root render 236, 0 May  1 10:00 /dev/kfd"
        ),
        ("device-permission", "usermod -aG render $USER", "video"),
    ),
    "a wheel that pip downloads for a Mac tells a Mac": (
        "Downloading torch-2.1.0-cp310-none-macosx_11_0_arm64.whl (59.5 MB)\nAssertionError: Torch not compiled with CUDA enabled",
        ("macos-no-cuda", "mps", "whl/cu"),
    ),
    "uname of a Mac tells a Mac": (
        (
            "Darwin box 22.5.0 Darwin Kernel Version 22.5.0: Mon Apr 24 20:52:24 PDT 2023; root:xnu-8796.121.2~5/"
            "RELEASE_ARM64_T6000 arm64\nAssertionError: Torch not compiled with CUDA enabled"
        ),
        ("macos-no-cuda", "mps", "whl/cu"),
    ),
    "AMD's own torch for Windows is what its guide has": (
        "C:\\Users\\me>python x.py\nGPU: AMD Radeon RX 9070 XT\ncudaGetDeviceCount() returned cudaErrorNotSupported",
        ("wrong-vendor-build", "radeon-ryzen", "nvidia.com"),
    ),
    "ROCm's name of a card that is of another generation is an override": (
        (
            "ROCk module version 6.12.12 is loaded\n*******\nAgent 2\n*******\n  Name:                    gfx1030\n"
            "  Marketing Name:          AMD Instinct MI210\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
            "Memory access fault by GPU node-2 (Agent handle: 0x5581c5a0d8d0) on address (nil). Reason: Unknown."
        ),
        ("rocm-gfx-override", "unset HSA_OVERRIDE_GFX_VERSION", "pip install"),
    ),
    "clinfo finds no platform though dpkg lists the driver: the user may not open the node": (
        "Number of platforms                               0\nii  intel-opencl-icd   21.42.021270   amd64   Intel graphics",
        ("intel-render-permission", "usermod -aG render", "NVIDIA"),
    ),
    "OpenVINO's plug-in speaks of Intel's driver alone": (
        "RuntimeError: [CLDNN ERROR]. clGetPlatformIDs error -1001",
        ("intel-no-compute-runtime", "intel-opencl-icd", "NVIDIA"),
    ),
    "a driver that does not compile for this kernel wants another kernel or driver": (
        "make[1]: *** [Makefile:224: /var/lib/dkms/nvidia/470.239.06/build] Error 2",
        ("driver-module-not-loaded", "newer driver", "apt"),
    ),
    "Docker that was typed to come from snap is replaced": (
        "$ sudo snap install docker\n$ sudo docker run --gpus all x\nunknown or invalid runtime name: nvidia",
        ("container-no-gpu", "snap remove docker", "nvidia-ctk"),
    ),
    "JetPack's driver lies in a folder that the loader has to know": (
        (
            "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1\ndriver.c:196] could not start driver service: load library failed: libcuda.so.1: cannot open "
            "shared object file: no such file or directory"
        ),
        ("container-no-gpu", "ldconfig", "ubuntu-drivers"),
    ),
    "a compose file's image of ROCm gets AMD's nodes, of which one is not enough": (
        'services:\n  llm:\n    image: ollama/ollama:rocm\n    devices:\n      - /dev/dri\n\nmsg="no GPU detected"',
        ("container-no-gpu", "service llm the GPU in the compose file: devices: /dev/kfd and /dev/dri", "--gpus"),
    ),
    "an image of ROCm is started with AMD's nodes": (
        '$ docker run ollama/ollama:rocm\nmsg="no GPU detected"',
        ("container-no-gpu", "--device /dev/kfd --device /dev/dri", "--gpus"),
    ),
    "nova is named where it holds the GPU": (
        "NVRM: GPU 0000:01:00.0 is already bound to NovaCore.\nNVRM: No NVIDIA devices probed.",
        ("driver-nouveau-bound", "nova_core", "nvidia.com"),
    ),
    "a group that the image does not know is given by its number": (
        "Error response from daemon: Unable to find group render: no matching entries in group file",
        ("device-permission", "getent group", "usermod"),
    ),
    "Windows knows no override of a GPU's target": (
        (
            "rocBLAS error: Cannot read C:\\Program Files\\AMD\\ROCm\\6.1\\bin\\/rocblas/library/TensileLibrary.dat: "
            "No such file or directory for GPU arch : gfx1036"
        ),
        ("rocm-gfx-unsupported", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE"),
    ),
    "CANN's own Python code lacks packages": (
        "EH9999  [Init][Env]init env failed![FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]\nAborted (core dumped)",
        ("library-missing", "pip install numpy decorator", "LD_LIBRARY_PATH"),
    ),
    "the line's own program is meant, not each whose general words fit it": (
        BITSANDBYTES,
        ("cpu-only-build", "pip install --upgrade bitsandbytes", "paddle"),
    ),
    "the companion that a message names is compiled again, and not one that is not there": (
        (
            "RuntimeError: Detected that PyTorch and torch_scatter were compiled with different CUDA versions. "
            "PyTorch has CUDA version 12.1 and torch_scatter has CUDA version 11.8."
        ),
        (
            "framework-pair-mismatch",
            "--no-build-isolation --no-deps --force-reinstall --no-cache-dir torch-scatter",
            "torchvision",
        ),
    ),
    "a sentence in small letters is no table of TensorFlow's": (
        "my GPU is not available anymore: torch.cuda.is_available() is False",
        ("cpu-only-build", "torch", "tensorflow"),
    ),
    "a title holds the message without its values": (
        (
            "xFormers can't load C++/CUDA extensions\nWARNING: xFormers can't load C++/CUDA extensions. xFormers was built "
            "for:\n    PyTorch 2.2.0+cu121 with CUDA 1201 (you have 2.3.0+cu121)\n"
        ),
        ("abi-mismatch", "xformers==0.0.26.post1", "torch=="),
    ),
    "the next release that pip lists, past older archives": (
        NONE.format("0.3.1", "0.1.2, 0.1.2.post1, 1.7.0, 1.7.1, 1.8.0"),
        ("python-unsupported", "torch==1.7.0", "0.1.2"),
    ),
    "a release that pip lists no more, and the Python that it was made for": (
        OLD_TORCH,
        ("python-unsupported", "take that, or Python 3.7 for 1.3.1", "--index-url"),
    ),
    "a name that NumPy 2 took away asks for the NumPy before it, and no other framework": (
        "AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.",
        ("framework-pair-mismatch", 'pip install "numpy<2"', "torch"),
    ),
    "what Apple GPUs have no code for runs beside them, and not under Windows or Linux": (
        "NotImplementedError: The operator 'aten::_fft_r2c' is not currently implemented for the MPS device.",
        ("platform-unsupported", "PYTORCH_ENABLE_MPS_FALLBACK=1", "WSL2"),
    ),
    "memory that ran out in torch gets torch's variable alone": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        ("out-of-memory", "PYTORCH_CUDA_ALLOC_CONF", "XLA"),
    ),
    "memory that ran out in JAX gets JAX's variable alone": (
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.",
        ("out-of-memory", "XLA_PYTHON_CLIENT_PREALLOCATE", "PYTORCH"),
    ),
    "memory that ran out in a program that nobody names gets no framework's variable": (
        "CUDA error: out of memory",
        ("out-of-memory", "nvidia-smi", "export"),
    ),
    "a paging file that is too small, before the DLL that was loaded then": (
        'OSError: [WinError 1455] The paging file is too small. Error loading "C:\\x\\torch\\lib\\cudnn64_8.dll"',
        ("host-memory-low", "paging file", "LD_LIBRARY_PATH"),
    ),
    "a container that is short of memory is started as it was, with more of it": (
        "$ docker run --gpus all --shm-size 1g -it team/train:3\nError while creating shared memory segment /dev/shm/nccl-9",
        ("shm-too-small", "docker run --shm-size=8g --gpus all -it team/train:3", "IMAGE"),
    ),
    "a release and its missing GPU on one line of a session, on a board": (
        (
            '$ python3 -c "import torch; print(torch.__version__, torch.cuda.is_available())"\n2.1.0 False\n'
            "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64"
        ),
        ("cpu-only-build", "torch==2.1.0a0+41361538.nv23.06 --find-links", "--index-url"),
    ),
    "a segment that may not be made is no lack of memory": (
        "NCCL WARN Call to shm_open failed : Permission denied",
        ("shm-too-small", "chmod 1777 /dev/shm", "--shm-size"),
    ),
    "a release that a message asks for by number": (
        "sglang-kernel is installed with version 0.3.20, which is less than the minimum required version 0.4.1.",
        ("framework-pair-mismatch", 'pip install "sglang-kernel>=0.4.1"', "torch"),
    ),
    "a page of links is no index": (
        f"{OLD_TORCH}\nOS: Windows 10\nPython version: 3.8.10 (64-bit runtime)",
        ("python-unsupported", "--find-links https://download.pytorch.org/whl/torch_stable.html", "--index-url"),
    ),
    "conda makes the environment of another Python where it made the present one": (
        f"{CONDA}{NONE.format('2.0.1', '2.2.0, 2.2.1')}\nPython 3.12.1",
        ("python-unsupported", "conda run -n py310 pip install torch==2.0.1", "uv "),
    ),
    "the CUDA of the build, as TensorFlow prints it": (
        (
            "OrderedDict({'cpu_compiler': 'clang 18', 'cuda_version': '12.5.1', 'is_cuda_build': True, 'is_rocm_build': False})\n"
            "Could not load dynamic library 'libcusolver.so.11'; dlerror: libcusolver.so.11: cannot open shared object file"
        ),
        ("library-missing", "pip install nvidia-cusolver-cu12", "cu11"),
    ),
    "a line of TensorFlow's log without its stamp is no report's": (
        (
            "E0000 00:00:1741242567.262839  263744 cuda_dnn.cc:522] Loaded runtime CuDNN library: 9.1.0 but source was "
            "compiled with: 9.3.0.  CuDNN library needs to have matching major version"
        ),
        ("library-mismatch", "nvidia-cudnn-cu12>=9.3,<10", "cu11"),
    ),
    "a library that a board's image takes from the board": (
        (
            "FROM dustynv/l4t-ml:r32.6.1-py3\nImportError: libcublas.so.10: cannot open shared object file: No such file or "
            "directory"
        ),
        ("library-missing", "--runtime nvidia", "apt install"),
    ),
    "a driver of Windows by its model": (
        (
            "|   0  GeForce RTX 3050   WDDM  |   00000000:01:00.0 Off |    N/A |\n| NVIDIA-SMI 526.98       Driver Version: "
            '526.98       CUDA Version: 12.0     |\ndocker: could not select device driver "" with capabilities: [[gpu]].'
        ),
        ("container-no-gpu", "WSL 2 engine", "sudo"),
    ),
    "a library of oneAPI, by its number": (
        "ImportError: libsycl.so.7: cannot open shared object file: No such file or directory",
        ("library-missing", "oneAPI 2024", "system package"),
    ),
    "AMD's names for CDI": (
        "docker: Error response from daemon: CDI device injection failed: unresolvable CDI devices amd.com/gpu=all",
        ("container-no-gpu", "amd-ctk cdi generate", "nvidia"),
    ),
    "another maker's runtime": (
        "docker: Error response from daemon: Unknown runtime specified habana.",
        ("container-no-gpu", "habanalabs-container-runtime", "nvidia"),
    ),
    "a mount that a node keeps to itself": (
        'failed to generate spec: path "/run/nvidia/validations" is mounted on "/run" but it is not a shared mount',
        ("container-no-gpu", "mount --make-rshared /run", "nvidia-ctk"),
    ),
    "a node that the list of CDI names": (
        'failed to inject devices: failed to stat CDI host device "/dev/dri/card1": no such file or directory',
        ("cdi-spec-stale", "/dev/dri/card1, which it names", "docker"),
    ),
    "a kernel without the card's firmware": (
        "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/gc_12_0_1_pfp.bin failed with error -2",
        ("rocm-no-driver", "linux-firmware", "NVIDIA"),
    ),
    "whose GPU it is nobody tells": (
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
        ("no-driver", "Tell which GPU it is", "Install an NVIDIA"),
    ),
    "enroot's hook without its program": (
        "slurmstepd: error: pyxis:     [ERROR] Command not found: nvidia-container-cli, see https://github.com/NVIDIA/",
        ("container-no-gpu", "libnvidia-container-tools", "docker"),
    ),
    "a container of Slurm's": (
        (
            "srun --ntasks=1 --container-image=./out.squashfs nvidia-smi\nNVIDIA-SMI couldn't find libnvidia-ml.so library in "
            "your system. Please make sure that the NVIDIA Display Driver is properly installed"
        ),
        ("container-no-gpu", "container", "docker restart"),
    ),
    "a oneAPI before the wheel's own": (
        (
            "ImportError: /opt/intel/compiler/2025.1/lib/libur_loader.so.0: version `LIBUR_LOADER_0.10' not found (required "
            "by /usr/lib/libsycl.so.8)"
        ),
        ("library-mismatch", "Take /opt/intel/compiler/2025.1/lib off", "nvidia"),
    ),
    "a library of another oneAPI": (
        "ImportError: libmkl_sycl.so.3: cannot open shared object file: No such file or directory",
        ("library-missing", "setvars.sh", "system package"),
    ),
    "a list of TensorFlow's without a GPU, where cuDNN was Windows'": (
        (
            'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: 268435456\n]\n[name: "/device:CPU:0"\ndevice_type: "CPU"\n'
            "memory_limit: 268435456\nlocality {\n}\n]\ntensorflow==2.12.0\ncudnn-windows-x86_64-8.8.1.3_cuda12-archive.zip"
        ),
        ("cpu-only-build", "tensorflow==2.10", "and-cuda"),
    ),
    "a log of Compose is a container's": (
        "app-1  | Traceback (most recent call last):\napp-1  | RuntimeError: Found no NVIDIA driver on your system. Please check",
        ("container-no-gpu", "--gpus all", "dkms"),
    ),
    "a CUDA major that no build for this Python has": (
        (
            "/usr/lib/python3.7/dist-packages/x.py\nW tensorflow/stream_executor/platform/default/dso_loader.cc:64] Could not "
            "load dynamic library 'libcusolver.so.11'; dlerror: libcusolver.so.11: cannot open shared object file"
        ),
        ("library-missing", "pip install nvidia-cusolver-cu11", "cu12"),
    ),
    "a library whose name has no lib": (
        "ImportError: ascend_transport.so: cannot open shared object file: No such file or directory",
        ("library-missing", "loader's path", "nvidia"),
    ),
    "a toolkit that answers and is not named": (
        (
            "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\n# nvcc -V\n"
            "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.4, V11.4.315\n"
        ),
        ("toolkit-missing", "CUDA_HOME=$(dirname", "nstall"),
    ),
    "a node that the host does not have": (
        (
            'docker: Error response from daemon: error gathering device information while adding custom device "/dev/dri": '
            "no such file or directory"
        ),
        ("container-no-gpu", "/dev/dxg", "nvidia-ctk"),
    ),
    "AMD's node on a Windows, whose driver makes none": (
        (
            "OS + Distro and Version: Windows 11\nError response from daemon: error gathering device information while adding "
            'custom device "/dev/kfd": no such file or directory'
        ),
        ("platform-unsupported", "WSL2", "modprobe"),
    ),
    "a file of a CDI specification that is gone": (
        'Error: setting up CDI devices: failed to inject devices: failed to stat CDI host device "/dev/dri/renderD129"',
        ("cdi-spec-stale", "nvidia-ctk cdi generate", "apt"),
    ),
    "devices that JAX's plug-in could not open": (
        "RuntimeError: Unable to initialize backend 'cuda': INTERNAL: no supported devices found for platform CUDA",
        ("devices-hidden", "GPUs that exist", "pip install"),
    ),
    "the library that keeps JAX's plug-in from starting, before what JAX then says": (
        (
            "WARNING: An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed. Falling back to "
            "cpu.\nRuntimeError: Unable to load cuSPARSE. Is it installed?"
        ),
        ("library-mismatch", "env -u LD_LIBRARY_PATH", "jax[cpu]"),
    ),
    "the release that the text names beside its framework": (
        (
            "NVIDIA A100-SXM4-40GB with CUDA capability sm_80 is not compatible with the current PyTorch installation.\n"
            "The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70.\nPyTorch version: v1.9.1?"
        ),
        ("arch-too-new-for-build", "torch==1.9.1+cu111", "1.7"),
    ),
    "a CUDA that has no code for the GPU beside it": (
        (
            "W0101 10:00:00.000001 77 device_context.cc:447] Please NOTE: device: 0, GPU Compute Capability: 8.9, Driver API "
            "Version: 12.2, Runtime API Version: 10.2\nThe third-party dynamic library (libcudnn.so) that Paddle depends on is "
            "not configured correctly. (error code is /usr/local/cuda/lib64/libcudnn.so: cannot open shared object file"
        ),
        ("library-missing", "/cu12", "10.2"),
    ),
    "a package for which a Mac has another": (
        (
            "(tools) ann@studio Downloads % pip install onnxruntime-gpu\n"
            "ERROR: No matching distribution found for onnxruntime-gpu"
        ),
        ("platform-unsupported", "pip install onnxruntime", "WSL"),
    ),
    "a pod, where Docker's own container has the GPU": (
        (
            '"docker run --runtime nvidia trainer"\n$ kubectl logs trainer-0\n'
            "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory"
        ),
        ("container-no-gpu", "runtimeClassName", "--gpus"),
    ),
    "a rootless container, past SELinux": (
        (
            "$ podman run --rm --security-opt=label=disable docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi\n"
            "Failed to initialize NVML: Insufficient Permissions"
        ),
        ("device-permission", "no-cgroups=true", "usermod"),
    ),
    "every library that one message names, of what the build takes from the system": (
        (
            "tensorflow version: 2.8.0\nCould not load dynamic library 'libcudart.so.11.0'; dlerror: none\n"
            "Could not load dynamic library 'libcublas.so.11'; dlerror: none\n"
            "Could not load dynamic library 'libcudnn.so.8'; dlerror: none"
        ),
        ("library-missing", "CUDA 11.2 and cuDNN 8", "nvidia-cudnn"),
    ),
    "every library that one message names, in one command": (
        (
            "  File \"/opt/v/lib/python3.7/site-packages/x.py\"\nCould not load dynamic library 'libcusolver.so.11'; dlerror: none\n"
            "Could not load dynamic library 'libcudnn.so.8'; dlerror: none"
        ),
        ("library-missing", 'pip install nvidia-cusolver-cu11 "nvidia-cudnn-cu11', "cu12"),
    ),
    "an image for Jetson boards names the machine": (
        (
            "with nvcr.io/nvidia/l4t-pytorch:r34.1.0-pth1.12-py3 it works\n>>> torch.__version__\n'1.12.0'\n"
            ">>> torch.cuda.is_available()\nFalse\n"
        ),
        ("cpu-only-build", "redist/jp", "whl/cu"),
    ),
    "a list of SYCL's without a GPU": (
        "# sycl-ls\n[opencl:cpu][opencl:0] Intel(R) OpenCL, Intel(R) Core(TM) i7-1165G7 OpenCL 3.0 (Build 0)\n",
        ("intel-no-compute-runtime", "Level Zero", "nvidia"),
    ),
    "containers of a Windows run in Docker Desktop": (
        f'{WINDOWS}docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        ("container-no-gpu", "WSL 2 engine", "systemctl"),
    ),
    "a plug-in of another release than the jaxlib that was typed": (
        (
            "$ pip install jaxlib==0.4.28+cuda12.cudnn89\nRuntimeError: Unable to initialize backend 'cuda': "
            "INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.54) and framework PJRT API version 0.51)."
        ),
        ("framework-pair-mismatch", "jax[cuda12]==0.4.28", "torch"),
    ),
    "a CUDA library by the number of its header": (
        OUTDATED.format(12200, 12100),
        ("library-mismatch", "nvidia-cusparse-cu12>=12.1,<13", "cu13"),
    ),
    "a library of the toolkit without a number": (
        "Error: Failed to find dynamic library: libcublas.so ( libcublas.so: cannot open shared object file: No such file )",
        ("library-missing", "CUDA toolkit, which has libcublas.so", "pip"),
    ),
    "a GPU that nobody names, newer than the build": (
        NO_CODE.format("torch==2.1.2+cu121"),
        ("arch-too-new-for-build", "torch==2.7.0+cu128", "TORCH_CUDA_ARCH_LIST"),
    ),
    "a GPU that nobody names, and no release": (
        NO_CODE.format(""),
        ("arch-too-new-for-build", "pip install torch==", "TORCH_CUDA_ARCH_LIST"),
    ),
    "a library of Windows that lies in torch's own folder, in any language": (
        'OSError: [WinError 1114] 动态链接库(DLL)初始化例程失败。 Error loading "D:\\x\\lib\\site-packages\\torch\\lib\\c10.dll"',
        ("library-missing", "torch's libraries", "LD_LIBRARY_PATH"),
    ),
    "a module of Windows that nothing names further": (
        "ImportError: DLL load failed while importing _C: 找不到指定的模块。",
        ("library-missing", "_C's libraries", "LD_LIBRARY_PATH"),
    ),
    "Visual Studio's newest compiler and an older toolkit": (
        (
            "crt/host_config.h(153): fatal error C1189: #error: -- unsupported Microsoft Visual Studio version! Only the "
            "versions between 2017 and 2022 (inclusive) are supported!"
        ),
        ("host-compiler-unsupported", "MSVC 14.39 of Visual Studio 2022", "gcc"),
    ),
    "a module for a newer NumPy than is there": (
        (
            "RuntimeError: module compiled against ABI version 0x1000009 but this version of numpy is 0x1000009\n"
            "module compiled against API version 0x10 but this version of numpy is 0xf"
        ),
        ("numpy-abi-mismatch", "numpy>=1.23", "<2"),
    ),
    "a module for a newer NumPy than an old one": (
        "RuntimeError: module compiled against API version 0xa but this version of numpy is 0x9",
        ("numpy-abi-mismatch", "numpy>=1.10", "<2"),
    ),
    "a target older than any that is known": (
        "nvcc fatal   : Unsupported gpu architecture 'compute_20'",
        ("arch-too-old-for-build", "Take compute_20 out of the list of targets", "ARCH_LIST"),
    ),
    "a target that nvcc names by its option": (
        "nvcc fatal   : Value 'compute_30' is not defined for option 'gpu-architecture'",
        ("arch-too-old-for-build", "compile with CUDA 10.2, the last that has it", "ARCH_LIST"),
    ),
    "the heading of a form in the plural": (
        "### Operating systems\n\nWindows\n\n### Log\n\nnvcc fatal : Unsupported gpu architecture 'compute_120'",
        ("toolkit-too-old-for-arch", "let CUDA_PATH name it", "export"),
    ),
    "a symbol that MKL dropped": (
        "ImportError: libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
        ("library-mismatch", "mkl<2024.1", "LD_LIBRARY_PATH"),
    ),
    "a list of a card, a system and a build": (
        (
            "- NVIDIA GeForce GTX 1080 Ti\n- Windows 10\n- 2.8.0+cu128\n"
            "CUDA error: no kernel image is available for execution on the device"
        ),
        ("arch-too-old-for-build", "cu126", "cu128"),
    ),
    "CDI without its list, for any engine": (
        (
            "$ podman run --device=nvidia.com/gpu=0 ubuntu nvidia-smi -L\n"
            "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=0"
        ),
        ("container-no-gpu", "nvidia-ctk cdi generate", "--runtime=docker"),
    ),
    "a pod is given its GPU by the cluster": (
        "kubectl exec -it gpu-pod -- nvidia-smi\nsh: 1: nvidia-smi: not found",
        ("container-no-gpu", "nvidia.com/gpu: 1", "docker"),
    ),
    "a number of a DLL with its CUDA's minor": (
        "W dso_loader.cc:55] Could not load dynamic library 'cudart64_100.dll'; dlerror: cudart64_100.dll not found",
        ("library-missing", "CUDA 10.0", "bitsandbytes"),
    ),
    "a library of TensorRT that no wheel brings": (
        "ImportError: libnvinfer.so.9: cannot open shared object file: No such file or directory",
        ("library-missing", "TensorRT 9", "LD_LIBRARY_PATH=/usr/local/cuda"),
    ),
    "a module of which no package is known": (
        (
            "ImportError: /venv/lib/python3.10/site-packages/exllamav2_ext.cpython-310-x86_64-linux-gnu.so: "
            "undefined symbol: _ZN3c104cuda14ExchangeDeviceEa"
        ),
        ("abi-mismatch", "the package that exllamav2_ext is of", "pip "),
    ),
    "a package that the index does not have": (
        "ImportError: /v/lib/python3.8/site-packages/detectron2/_C.cpython-38-x86_64-linux-gnu.so: undefined symbol: _Zx",
        ("abi-mismatch", "git+https://github.com/facebookresearch/detectron2", "cache-dir detectron2"),
    ),
    "a DLL of what is compiled against torch": (
        (
            "C:\\Users\\me\\Anaconda3\\lib\\site-packages\\torch_scatter\\utils\\ext.py in <module>()\n"
            "ImportError: DLL load failed: The specified module could not be found."
        ),
        ("library-missing", "Compile torch-scatter", "ldconfig"),
    ),
    "a module right in the folder of all packages": (
        (
            "PyTorch version: 1.4.0a0+013ca32\nimport torchaudio\n"
            'File "/home/me/lib/python3.7/site-packages/torchaudio/__init__.py", line 5\n    import _torch_sox\n'
            "ImportError: /home/me/lib/python3.7/site-packages/_torch_sox.cpython-37m-x86_64-linux-gnu.so: undefined "
            "symbol: _ZN3c1011CPUTensorIdEv"
        ),
        ("abi-mismatch", "torchaudio", "cache-dir packages"),
    ),
    "a C++ library that the distribution has not": (
        (
            "Python version: 3.10.2 | packaged by conda-forge | (main, Feb  1 2022, 19:28:35) [GCC 9.4.0]\n"
            "ImportError: /usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.30' not found"
        ),
        ("libstdcxx-too-old", "libstdcxx-ng", "apt"),
    ),
    "ollama, which brings its own ROCm": (
        'level=WARN source=amd_linux.go:116 msg="amdgpu [0] gfx1103 is not supported by /tmp/ollama21/rocm [gfx1030]"',
        ("rocm-gfx-unsupported", "HSA_OVERRIDE_GFX_VERSION=11.0.0", "torch"),
    ),
    "a package without a build for Windows": (
        (
            "C:\\Users\\me\\x.py\nNo module named 'vllm._C'\nPyTorch version: 2.4.0+cpu\n"
            "CUDA used to build PyTorch: None\nOS: Microsoft Windows 10 Enterprise\nRuntimeError: Failed to infer device type"
        ),
        ("cpu-only-build", "WSL2", "index-url"),
    ),
    "memory that lacks at CUDA's very start": (
        (
            "uname -r: 5.15.153.1-microsoft-standard-WSL2\nUserWarning: CUDA initialization: Unexpected error from "
            "cudaGetDeviceCount(). Error 2: out of memory"
        ),
        ("out-of-memory", "wsl --shutdown", "expandable_segments"),
    ),
    "a Mac by the table of its displays": (
        "AssertionError: Torch not compiled with CUDA enabled\n      Chipset Model: Apple M2",
        ("macos-no-cuda", "mps", "whl/cu"),
    ),
    "nothing but the message: a Mac would say the same": (
        "AssertionError: Torch not compiled with CUDA enabled",
        ("cpu-only-build", "Tell which machine", "pip install"),
    ),
    "a GPU whose driver nobody names gets no CUDA that needs the newest one": (
        (
            "C:\\work> python a.py\nNVIDIA GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the current "
            "PyTorch installation. The current PyTorch install supports CUDA capabilities sm_75 sm_80 sm_90."
        ),
        ("arch-too-new-for-build", "cu128", "cu13"),
    ),
    "an older GPU gets no framework of its own age either": (
        (
            "- OS: Ubuntu 22.04\n- GPU: NVIDIA Quadro RTX 5000\n"
            "RuntimeError: Torch is not able to use GPU; add --skip-torch-cuda-test to COMMANDLINE_ARGS variable"
        ),
        ("cpu-only-build", "torch==2", "torch==1"),
    ),
    "xFormers for the CUDA build of the very torch": (
        (
            "xFormers was built for:\n    PyTorch 2.1.0+cu121 with CUDA 1201 (you have 2.1.0+cpu)\n"
            "    Python  3.10.11 (you have 3.10.6)"
        ),
        ("cpu-only-build", "torch==2.1.0+cu121", "cu13"),
    ),
    "a release of xFormers belongs to the torch that it was linked to": (
        "xFormers was built for:\n    PyTorch 2.0.1+cu118 with CUDA 1108 (you have 2.1.0+cu118)\n",
        ("abi-mismatch", "xformers==0.0.22.post7", "0.0.13"),
    ),
    "what a driver supports is no complaint": (
        "My driver supports CUDA 12.9.\nWARNING[XFORMERS]: Need to compile C++ extensions to use all xFormers features.",
        ("framework-pair-mismatch", "xformers", "driver"),
    ),
    "the driver's library that cuDNN asks for": (
        "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file",
        ("library-missing", "/usr/lib/wsl/lib", "nvidia-cudnn"),
    ),
    "a DLL's own package, not the one that imported it": (
        (
            'C:\\x> python a.py\nFile "C:\\py\\Lib\\site-packages\\transformers\\utils.py", line 3\n'
            "ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure could not be found."
        ),
        ("abi-mismatch", "flash-attn", "transformers"),
    ),
    "a package for Linux alone": (
        "ERROR: Could not find a version that satisfies the requirement triton==2.1.0 (from versions: none)",
        ("python-unsupported", "triton-windows", "torch=="),
    ),
    "several indexes, of which the default one is one": (
        (
            "Looking in indexes: https://host.example/simple, https://download.pytorch.org/whl/cu117\n"
            "Obtaining file:///C:/src/x\n"
            "ERROR: Could not find a version that satisfies the requirement triton==2.0.0 (from versions: none)"
        ),
        ("platform-unsupported", "triton-windows", "default one"),
    ),
    "the CUDA of a torch whose release nobody names": (
        (
            "Detected that PyTorch and torchvision were compiled with different\nCUDA versions. PyTorch has CUDA "
            "Version=11.7 and torchvision has CUDA Version=11.8."
        ),
        ("framework-pair-mismatch", "torchvision==0.15.2+cu117", "cu118"),
    ),
    "a torch of a CUDA whose builds have no tag of their own": (
        (
            "Detected that PyTorch and torchvision were compiled with different CUDA major versions. "
            "PyTorch has CUDA Version=9.0 and torchvision has CUDA Version=10.0."
        ),
        ("framework-pair-mismatch", "torchvision in one command", "cu100"),
    ),
    "the command that a launcher ran": (
        (
            "Python 3.11.0 (main, Oct 24 2022) [MSC v.1933 64 bit (AMD64)]\nRuntimeError: Couldn't install torch.\n"
            'Command: "C:\\web ui\\venv\\python.exe" -m pip install torch==1.12.1+cu113 torchvision==0.13.1+cu113\n'
        ),
        ("python-unsupported", "uv venv --python 3.10", "3.12"),
    ),
    "an old card, and no torch that anybody names": (
        (
            "NVIDIA GeForce GTX 1080 Ti with CUDA capability sm_61 is not compatible with the current PyTorch "
            "installation. The current PyTorch install supports CUDA capabilities sm_75 sm_80 sm_90 sm_120."
        ),
        ("arch-too-old-for-build", "whl/cu126", "torch==1"),
    ),
    "a companion, and no release of anything": (
        "RuntimeError: operator torchvision::nms does not exist",
        ("framework-pair-mismatch", "torch and torchvision", "=="),
    ),
    "a system that pip has no later release for": (
        (
            "ERROR: Could not find a version that satisfies the requirement torch~=2.3 (from medaka) "
            "(from versions: 2.1.2, 2.2.0, 2.2.1, 2.2.2)"
        ),
        ("python-unsupported", "torch==2.2.2", "cu1"),
    ),
    "a number format of CTranslate2": (
        "Requested float16 compute type, but the target device do not support efficient float16 computation.",
        ("precision-unsupported", "float32", "--dtype"),
    ),
    "two builds of onnxruntime in a list": (
        "- pip install onnxruntime-directml onnxruntime\nprint(providers)\n['CPUExecutionProvider']",
        ("cpu-only-build", "pip uninstall -y onnxruntime onnxruntime-directml", "onnxruntime-gpu"),
    ),
    "Paddle's list of kernels before a comma": (
        (
            "Mismatched GPU Architecture: The installed PaddlePaddle package was compiled for 75 80 86 89 ,but your "
            "current GPU is 120 Solution: Install the correct wheel package built for your GPU"
        ),
        ("arch-too-new-for-build", "cu129", "torch"),
    ),
    "cuDNN's least release, in pytest's lines": (
        "\n".join(f"E   {line}" for line in OUTDATED.format(8907, 9100).replace("cuSPARSE", "cuDNN").splitlines()),
        ("library-mismatch", "cudnn-cu12>=9.1", "LD_LIBRARY_PATH"),
    ),
    "a toolkit that compiles nothing is not the cause": (
        (
            "PreconditionNotMetError: Cannot load cudnn shared library. Cannot invoke method cudnnGetVersion.\n"
            "me@box:~$ nvcc --version\nCuda compilation tools, release 11.7, V11.7.64\nme@box:~$ nvidia-smi -L\n"
            "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-0)"
        ),
        ("library-missing", "cuDNN 8.9.7 for CUDA 11.7", "toolkit"),
    ),
    "a device plugin without NVIDIA's runtime": (
        "Loading NVML\nFailed to start nvml with error: could not load NVML library.",
        ("container-no-gpu", "nvidia-ctk", "Install an NVIDIA driver"),
    ),
    "a board whose kernel stands behind a form's label": (
        (
            "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Linux board 4.9.140-tegra #1 SMP PREEMPT Tue "
            "Oct 27 21:02:37 PDT 2020 aarch64 aarch64 aarch64 GNU/Linux\n- Python version: 3.6.9\n"
            "ERROR: Could not find a version that satisfies the requirement onnxruntime-gpu\n"
            "ERROR: No matching distribution found for onnxruntime-gpu"
        ),
        ("python-unsupported", "for this JetPack", "uv venv"),
    ),
    "a newer GPU that nothing names gets no older CUDA": (
        "pytorch version: 2.7.1+cu128\nno kernel image is available for execution on the device",
        ("arch-too-new-for-build", "TORCH_CUDA_ARCH_LIST", "cu126"),
    ),
    "a library of CANN": (
        "ImportError: libatb.so: cannot open shared object file: No such file or directory",
        ("library-missing", "nnal/atb/set_env.sh", "system package"),
    ),
    "PTX that TensorFlow's own compiler cannot write for the GPU": (
        "TensorFlow: 2.20.0\nLLVM ERROR: PTX version 8.5 does not support target 'sm_120'. Minimum is 8.7",
        ("arch-too-new-for-build", "nvcr.io/nvidia/tensorflow", "TORCH_CUDA_ARCH_LIST"),
    ),
    "a wheel's own Python": (
        "ERROR: tensorflow-2.3.1-cp36-cp36m-linux_aarch64.whl is not a supported wheel on this platform.",
        ("python-unsupported", "Python 3.6", "3.12"),
    ),
    "cuDNN that did not start, and no path that is known": (
        "UNIMPLEMENTED: DNN library is not found.",
        ("library-mismatch", "cuDNN", "LD_LIBRARY_PATH"),
    ),
    "Intel's driver is what Level Zero lacks": (
        "RuntimeError: ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE",
        ("intel-no-compute-runtime", "compute runtime", "ldconfig"),
    ),
    "a package that others publish for Windows": (
        "PS C:\\work\\x> python a.py\nModuleNotFoundError: No module named 'triton'",
        ("platform-unsupported", "pip install triton-windows", "WSL"),
    ),
    "Python's own shared library": (
        "ImportError: libpython3.10.so.1.0: cannot open shared object file: No such file or directory",
        ("library-missing", "Install Python 3.10 with its shared library", "ldconfig"),
    ),
    "the ticked box of a form": (
        (
            "- [ ] WSL 1\n- [x] WSL 2\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running."
        ),
        ("no-driver", "wsl --update", "dkms"),
    ),
    "a release that is there already is not installed: another copy is before it": (
        (
            "Found cuSPARSE version 12103, but JAX was built against version 12200, which is newer. The copy of cuSPARSE that "
            "is installed must be at least as new as the version against which JAX was built.\n"
            "$ pip list | grep cusparse\nnvidia-cusparse-cu12     12.2.0.103"
        ),
        ("library-mismatch", "unset LD_LIBRARY_PATH", "pip install"),
    ),
    "a runtime of the CUDA that conda was told": (
        (
            "$ conda install pytorch==2.0.0 pytorch-cuda=11.7 -c pytorch -c nvidia\nPython: 3.10\n"
            "onnxruntime::ProviderLibrary::Get() [ONNXRuntimeError] : 1 : FAIL : Failed to load library "
            "libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: cannot open shared object file: No such file"
        ),
        ("library-missing", "pip install onnxruntime-gpu==1.18.1", "conda install"),
    ),
    "a Python of the Nix store takes no packages": (
        (
            "/nix/store/a1jmpf3hja9g4rx7lwxza4gwng9vscj5-python3-3.11.13-env/lib/python3.11/site-packages/torch/cuda/"
            "__init__.py:209: UserWarning:\nNVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the "
            "current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_90."
        ),
        ("arch-too-new-for-build", "for CUDA 12.8, in the Nix expression", "pip install"),
    ),
    "a driver from before CUDA 11, and no release of torch": (
        (
            'File "/home/me/anaconda3/envs/x/lib/python3.7/site-packages/torch/cuda/__init__.py", line 63, in _check_driver\n'
            "The NVIDIA driver on your system is too old (found version 10010). Please update your GPU driver."
        ),
        ("driver-too-old-for-runtime", "pip install torch==1.8.1+cu101", "cu102"),
    ),
    "an update of Ubuntu's names its release": (
        (
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"
            "ii  libnvidia-compute-535:amd64   535.113.01-0ubuntu0.22.04.1   amd64   NVIDIA libcompute package"
        ),
        ("driver-secure-boot-unsigned", "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der", "dkms/mok"),
    ),
    "apex wants nvcc and torch of one release, and names torch's": (
        (
            "torch.__version__  = 1.6.0\nCuda compilation tools, release 9.0, V9.0.176\nRuntimeError: Cuda extensions are "
            "being compiled with a version of Cuda that does not match the version used to compile Pytorch binaries.  "
            "Pytorch binaries were compiled with Cuda 10.2.\n"
        ),
        ("toolkit-mismatch-extension", "PATH=/usr/local/cuda-10.2/bin", "torch.version.cuda"),
    ),
    "bitsandbytes' own library for the processor": (
        "CUDA SETUP: Required library version not found: libbitsandbytes_cpu.so. Maybe you need to compile it from source?",
        ("library-missing", "pip install --upgrade bitsandbytes", "system package"),
    ),
    "a wheel at an address is of one Python, which nobody tells": (
        (
            "torch==2.3.0\nImportError: /opt/x/flash_attn_2_cuda.abi3.so: undefined symbol: "
            "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
        ),
        ("abi-mismatch", "FLASH_ATTENTION_FORCE_BUILD", "cp310"),
    ),
    "a compiled package whose index has no compiled one": (
        (
            "ValueError: Can't import SageAttention: DLL load failed while importing _fused: The specified procedure could "
            "not be found."
        ),
        ("abi-mismatch", "sageattention that was built for this torch", "pip install"),
    ),
    "a fabric manager on a system that nobody names": (
        "NVIDIA-SMI 545.23.06    Driver Version: 545.23.06    CUDA Version: 12.3\n[[ System not yet initialized (error 802) ]]",
        ("fabric-manager-down", "fabric manager 545.23.06 on the host", "<"),
    ),
    "an image that asks for more than a card's last driver shows": (
        "GPU: V100\nnvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.4, please update your driver",
        ("container-requires-newer-driver", "an image for a CUDA before 12.4", "13.0"),
    ),
    "collect_env sees neither GPU nor driver": (
        (
            "PyTorch version: 1.10.2\nIs debug build: False\nCUDA used to build PyTorch: 11.3\nOS: Ubuntu 20.04.3 LTS (x86_64)\n"
            "Python version: 3.9.12 (64-bit runtime)\nIs CUDA available: False\n"
            "GPU models and configuration: Could not collect\nNvidia driver version: Could not collect\n"
        ),
        ("no-driver", "ubuntu-drivers install", "pip install"),
    ),
    "a library of a CUDA that the driver does not run": (
        (
            "$ pip install transformer-engine[pytorch]\nOSError: libcublas.so.13: cannot open shared object file: No such "
            "file or directory\nNVIDIA-SMI 570.86.10    Driver Version: 570.86.10    CUDA Version: 12.8"
        ),
        ("library-missing", "reinstall transformer-engine, built for CUDA 12", "pip install nvidia-cublas"),
    ),
    "a library of another CUDA than torch's": (
        (
            "Name: vllm\nVersion: 0.21.0\n---\nName: torch\nVersion: 2.11.0+cu126\nImportError: libcudart.so.13: cannot open "
            "shared object file: No such file or directory"
        ),
        ("library-missing", "pip install torch==2.11.0+cu130", "nvidia-cuda-runtime"),
    ),
    "no node offers a GPU, whatever the driver here is": (
        (
            "0/1 nodes are available: 1 Insufficient nvidia.com/gpu\n"
            "NVIDIA-SMI 535.129.03    Driver Version: 535.129.03    CUDA Version: 12.2"
        ),
        ("container-no-gpu", "run NVIDIA's device plugin", "limits"),
    ),
    "a fabric manager that names both releases": (
        (
            "nv-fabricmanager[1507]: fabric manager NVIDIA GPU driver interface version 535.183.01 don't match with driver "
            "version 535.216.03. Please update with matching NVIDIA driver package."
        ),
        ("fabric-manager-version-mismatch", "fabric manager 535.216.03", "535.183"),
    ),
    "a logger names the package whose library it is": (
        (
            "INFO:faster_whisper:Processing audio with duration 00:02.520\n"
            "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}"
        ),
        ("library-missing", "pip install nvidia-cudnn-cu12", "cu11"),
    ),
    "a device that is to be cut and is not": (
        (
            "| NVIDIA-SMI 530.41.03    Driver Version: 530.41.03    CUDA Version: 12.1     |\n"
            "|   0  NVIDIA A100-SXM4-80GB   Off  | 00000000:40:00.0 Off |                   On |\n"
            "| N/A   27C    P0    31W / 400W |      0MiB / 81920MiB |     N/A      Default |\n"
            "|                               |                      |              Enabled |\n"
            "| MIG devices:                                                                |\n"
            "|  No MIG devices found                                                       |\n\n"
            "UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu."
        ),
        ("mig-enabled-no-instance", "sudo nvidia-smi -mig 0", "Upgrade"),
    ),
    "a CUDA that bitsandbytes no longer has a library for": (
        (
            "CUDA SETUP: Detected CUDA version 110\nCUDA SETUP: Loading binary /home/me/x/lib/python3.9/site-packages/"
            "bitsandbytes/libbitsandbytes_cuda110.so...\n"
            "/home/me/x/lib/python3.9/site-packages/bitsandbytes/libbitsandbytes_cpu.so: undefined symbol: cget_col_row_stats"
        ),
        ("library-missing", "pip install bitsandbytes==0.42.0", "--upgrade"),
    ),
    "an image with a driver of its own is the cause of the mismatch": (
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183\n"
            "root@3f2a1b4c5d6e:/# cat /proc/driver/nvidia/version\n"
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
            "ii  libnvidia-compute-535:amd64   535.183.01-0ubuntu0.22.04.1   amd64   NVIDIA libcompute package"
        ),
        ("image-ships-driver", "Remove the driver packages from the Dockerfile", "modprobe"),
    ),
    "the engine's hook finds the driver's file in the image": (
        (
            "root@3f2a1b4c5d6e:/# nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\n"
            "docker: Error response from daemon: OCI runtime create failed: nvidia-container-cli: mount error: file creation "
            "failed: /var/lib/docker/overlay2/7/merged/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1: file exists: unknown."
        ),
        ("image-ships-driver", "Remove the driver packages", "modprobe"),
    ),
}


@pytest.mark.parametrize(("text", "told"), CAPTURED.values(), ids=CAPTURED)
def test_the_first_fix_rests_on_what_the_message_captures(prescribes, text, told):
    prescribes(text, *told)
