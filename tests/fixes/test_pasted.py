"""Prescriptions for pasted texts: what to type for the program, the place and the numbers that the text prints."""

from __future__ import annotations

import pytest

from compat.app.doctor import Question, examine
from compat.matrix import matrix

MATRIX = matrix()
TOO_OLD = "RuntimeError: The NVIDIA driver on your system is too old (found version {}). Please update your GPU driver."
UNTAGGED = (
    "Looking in indexes: https://mirror.example/simple, https://download.pytorch.org/whl/cu117\nERROR: Could not find a "
    "version that satisfies the requirement torch==1.13.1+cu117 (from versions: 2.0.0, 2.0.1)"
)
HOOK = "nvidia-container-cli: initialization error: "
SYMBOL = "torchvision/image.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSsb"

# A text as people paste it -> the first finding, what its fix holds, and what it never holds.
PASTED = {
    "llama.cpp's code for ROCm has spoken": (
        (
            "PS C:\\Users\\me> llama-server -ngl 99\nggml_cuda_init: failed to initialize ROCm: no ROCm-capable device is detected\n"
            "warning: no usable GPU found, --gpu-layers option will be ignored"
        ),
        ("rocm-version-mismatch", "Adrenalin", "compile"),
    ),
    "the bounds that a package above mmcv states": (
        "AssertionError: MMCV==1.3.9 is used but incompatible. Please install mmcv>=1.3.17, <=1.5.0.",
        ("framework-pair-mismatch", 'mim install "mmcv-full>=1.3.17, <=1.5.0"', "no-build-isolation"),
    ),
    "and those of its second generation": (
        "AssertionError: MMCV==2.2.0 is used but incompatible. Please install mmcv>=2.0.0rc4, <2.2.0.",
        ("framework-pair-mismatch", 'mim install "mmcv>=2.0.0rc4, <2.2.0"', "mmcv-full"),
    ),
    "the folder of a CUDA that is gone": (
        (
            "FileNotFoundError: [WinError 3] The system cannot find the path specified: "
            "'C:\\\\Program Files\\\\NVIDIA GPU Computing Toolkit\\\\CUDA\\\\11.2\\\\bin'"
        ),
        ("cuda-home-broken", "Let CUDA_PATH name the folder", "sudo"),
    ),
    "what llama-cpp-python is linked with": (
        (
            "FileNotFoundError: Could not find module 'C:\\x\\site-packages\\llama_cpp\\lib\\ggml.dll' (or one of its "
            "dependencies). Try using the full path with constructor syntax."
        ),
        ("library-missing", "Install the CUDA that its wheel names", "package that ships"),
    ),
    "TensorFlow.js has a TensorFlow of its own": (
        (
            "Error: The specified module could not be found.\n\\\\?\\C:\\app\\node_modules\\@tensorflow\\tfjs-node-gpu\\build\\"
            "Release\\tfjs_binding.node\n    at Module.load (internal/modules/cjs/loader.js:628:32)"
        ),
        ("library-missing", "npm rebuild @tensorflow/tfjs-node-gpu", "pip"),
    ),
    "and so on Linux": (
        (
            "Error: libtensorflow.so.2: cannot open shared object file: No such file or directory\n    at Object.<anonymous> "
            "(/home/me/app/node_modules/@tensorflow/tfjs-node/dist/index.js:72:16)"
        ),
        ("library-missing", "npm rebuild @tensorflow/tfjs-node ", "system package"),
    ),
    "a wheel of torch without its OpenMP": (
        'OSError: [WinError 126] Error loading "C:\\py\\Lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies.',
        ("library-missing", "torch 2.4.1 or newer", "PATH"),
    ),
    "onnxruntime's part for CUDA is there and does not load": (
        (
            "Applied providers: ['CPUExecutionProvider'], with options: {}\n[ONNXRuntimeError] : 1 : FAIL : LoadLibrary failed with "
            "error 126 when trying to load C:\\x\\onnxruntime\\capi\\onnxruntime_providers_cuda.dll"
        ),
        ("library-missing", "CUDA and cuDNN", "uninstall"),
    ),
    "torch for the CPU says nothing of whose GPU is there": (
        'File "C:\\x\\venv\\Lib\\site-packages\\torch\\cuda\\__init__.py", line 363\nAssertionError: Torch not compiled with CUDA enabled',
        ("cpu-only-build", "If its GPU is NVIDIA's: install torch", "rocm"),
    ),
    "DirectML computes beside torch for the CPU": (
        (
            "W:\\x>python_embeded\\python.exe main.py --directml\nUsing directml with device:\nDevice: privateuseone\n"
            "AssertionError: Torch not compiled with CUDA enabled"
        ),
        ("cpu-only-build", "DirectML computes beside torch's CPU build", "whl/cu"),
    ),
    "a kernel of a Jetson in what conda tells of itself": (
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\n\n"
            "          conda version : 24.9.2\n       virtual packages : __glibc=2.35=0\n               platform : linux-aarch64\n"
            "             user-agent : conda/24.9.2 requests/2.32.3 CPython/3.12.8 Linux/5.15.148-tegra ubuntu/22.04.5"
        ),
        ("arch-too-new-for-build", "for this JetPack", "download.pytorch.org"),
    ),
    "the last TensorFlow with a GPU on Windows, and what that needs": (
        "### OS\n\nWindows 11\n\n### Python version\n\n3.12\n\n### TensorFlow version\n\n2.17.0\n\nGPU: RTX 4050\n>>> tf.config.list_physical_devices('GPU')\n[]",
        ("cpu-only-build", "use WSL2, or 2.10.1, the last that has one, with Python 3.10 and numpy<2", "and-cuda"),
    ),
    "an older release is told with its last Python": (
        "### OS\n\nWindows 11\n\n### TensorFlow version\n\n2.17.0\n\nGPU: RTX 4050\n>>> tf.config.list_physical_devices('GPU')\n[]",
        (
            "cpu-only-build",
            "an older release, for Python up to 3.10; or keep tensorflow[and-cuda] 2.17.0 in WSL2.",
            "tensorflow[and-cuda]==",
        ),
    ),
    "a release before NumPy 2 is held to the NumPy before it": (
        (
            "C:\\x>pip install tensorflow==2.10\nERROR: Could not find a version that satisfies the requirement tensorflow==2.10"
            " (from versions: 2.16.1, 2.17.0)\nPython 3.12.4 (tags/v3.12.4:8e8a4ba) [MSC v.1940 64 bit (AMD64)] on win32"
        ),
        ("python-unsupported", 'uv pip install tensorflow==2.10.0 "numpy<2"', "2.16.1"),
    ),
    "what Windows lacks is told without Linux": (
        "rocBLAS error: Cannot read C:\\Program Files\\AMD\\ROCm\\6.2\\bin\\/rocblas/library/TensileLibrary.dat: No such file or directory for GPU arch : gfx1201",
        ("rocm-gfx-unsupported", "a HIP SDK or a build for it", "Linux"),
    ),
    "a form whose headings are bold words": (
        "**Which operating system?**\nWindows\n\nrocBLAS error: Cannot read TensileLibrary.dat: Illegal seek for GPU arch : gfx1150",
        ("rocm-gfx-unsupported", "a HIP SDK or a build for it", "kernel"),
    ),
    "Windows beside WSL is its host": (
        "Microsoft Windows [Version 10.0.20348.2582]\n\n- [X] WSL 2\n\nFailed to initialize NVML: GPU access blocked by the operating system",
        ("wsl-no-gpu-device", "wsl --update", "reload"),
    ),
    "the list item of a form states a release": (
        "- jax = 0.4.30\n- CUDA Version = 12.4\nNo GPU/TPU found, falling back to CPU.",
        ("cpu-only-build", "==0.4.30", "0.9"),
    ),
    "a list that names a Mac": (
        f"- macOS 13.4.1\n- python 3.11\n{UNTAGGED}",
        ("platform-unsupported", "pip install torch==2.0.1", "cu117"),
    ),
    "a Mac that nobody names": (UNTAGGED, ("python-unsupported", "pip install torch==2.0.1", "venv")),
    "a tag that is not among what pip lists": (
        UNTAGGED.replace("2.0.0, ", "1.13.1, 2.0.0, ").partition("\n")[2],
        ("python-unsupported", "torch==1.13.1+cu117 --index-url https://download.pytorch.org/whl/cu117", "venv"),
    ),
    "a tag that no index has for the release": (
        (
            "ERROR: No matching distribution found for torch==2.3.0+cu126\nERROR: Could not find a version that satisfies "
            "the requirement torch==2.3.0+cu126 (from versions: 2.2.0, 2.3.0)"
        ),
        ("python-unsupported", "pip install torch==2.3.0+cu121 --index-url", "glibc"),
    ),
    "an older Python, and the tag that was asked for": (
        "ERROR: Could not find a version that satisfies the requirement torch==1.13.1+cu116 (from versions: 2.0.0, 2.1.0)",
        ("python-unsupported", "uv pip install torch==1.13.1+cu116", "cu117"),
    ),
    "the release that a command pins": (
        "`conda install pytorch==1.9.1 cudatoolkit=11.3` on an RTX 3090\nAssertionError: Torch not compiled with CUDA enabled",
        ("cpu-only-build", "pytorch=1.9.1 cudatoolkit=11.1", "2.1"),
    ),
    "a container with the part of the driver that does not compute": (
        '`docker run --gpus \'"device=0","capabilities=utility"\' me/app:1 python app.py`\ntorch.cuda.is_available() False',
        ("container-driver-capabilities", '--gpus \'"device=0","capabilities=compute,utility"\' me/app:1', "whl"),
    ),
    "a variable of the container asks for no compute": (
        "$ podman run -e NVIDIA_DRIVER_CAPABILITIES=graphics me/app:1\ntorch.cuda.is_available() False",
        ("container-driver-capabilities", "NVIDIA_DRIVER_CAPABILITIES=compute,graphics,utility me/app:1", "whl"),
    ),
    "a user of an image that may not open AMD's nodes": (
        "FROM rocm/pytorch:latest\nUSER worker\n\nand then\n\n$ docker run --device /dev/kfd --device /dev/dri me/app:1",
        ("device-permission", "--group-add $(stat -c %g /dev/kfd)", "chmod"),
    ),
    "a node whose driver nothing tells Kubernetes of": (
        (
            "Allocatable:\n  cpu:     4\n  memory:  16000000Ki\n  pods:    110\n\n"
            "NVIDIA-SMI 535.183.01   Driver Version: 535.183.01   CUDA Version: 12.2"
        ),
        ("container-no-gpu", "k8s-device-plugin", "docker run"),
    ),
    "poetry's release, of which no Python is told": (
        "Unable to find installation candidates for torch (1.12.1)",
        ("python-unsupported", "Python 3.7 to 3.10", "3.12"),
    ),
    "the index of one CUDA has no release of today": (
        (
            "pip install torch --index-url https://download.pytorch.org/whl/cu117\nERROR: Could not find a version that "
            "satisfies the requirement torch (from versions: none)"
        ),
        ("python-unsupported", "torch 2.0.1 has files for those at cu117", "3.13"),
    ),
    "wheels from a page of another torch": (
        (
            "!pip install torch-scatter -f https://data.pyg.org/whl/torch-1.12.0+cu113.html\n"
            "!pip install torch-cluster -f https://data.pyg.org/whl/torch-1.12.0+cu113.html\n"
            "OSError: /usr/lib/python3.8/site-packages/torch_scatter/_scatter_cuda.so: undefined symbol: _ZN2at6Tensor5zero_Ev"
        ),
        (
            "abi-mismatch",
            "torch-scatter torch-cluster -f https://data.pyg.org/whl/torch-$(python -c",
            "no-build-isolation",
        ),
    ),
    "Paddle of another CUDA, which no list states": (
        (
            'CUDA Version = 11.7\nPython 3.9\n  File "/opt/e/lib/python3.9/site-packages/paddle/base/core.py", line 2\n'
            "ImportError: libcudart.so.10.2: cannot open shared object file: No such file or directory"
        ),
        ("library-missing", "paddlepaddle-gpu==2.6.2.post117", "the package that asks"),
    ),
    "what ONNX Runtime on Windows says that it was built for": (
        (
            'LoadLibrary failed with error 126 when trying to load "C:\\e\\onnxruntime_providers_cuda.dll"\n'
            "Failed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*, and the latest MSVC runtime."
        ),
        (
            "library-missing",
            "CUDA 12 and cuDNN 9, and put their bin folders on PATH; for CUDA 11",
            "this onnxruntime was",
        ),
    ),
    "a toolkit of another major than torch's": (
        "The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.1).",
        (
            "toolkit-mismatch-extension",
            "or take torch==2.5.1+cu118 from https://download.pytorch.org/whl/cu118",
            "cu121",
        ),
    ),
    "no torch of a CUDA that its releases have no build for": (
        "The detected CUDA version (10.2) mismatches the version that was used to compile PyTorch (12.1).",
        ("toolkit-mismatch-extension", "Install CUDA toolkit 12.1, that of torch, and put it first on PATH", "or take"),
    ),
    "an extension beside the CUDA packages of torch": (
        (
            "site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c105ErrorC2ENS_14Source"
            "LocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE\ntorch==2.1.0\nnvidia-cuda-nvrtc-cu12==12.1.105\n"
        ),
        ("abi-mismatch", "+cu12", "cu118"),
    ),
    "what conda is asked for is not there": (
        "ResolvePackageNotFound: \n  - pytorch=2.7.0\n  - cudatoolkit=11.3",
        ("platform-unsupported", "by pip", "2.7.0"),
    ),
    "neither Python nor system, and nothing listed": (
        "ERROR: Could not find a version that satisfies the requirement tensorflow==2.10.1 (from versions: none)",
        ("python-unsupported", "Python 3.7 to 3.10 of 64 bits", "venv"),
    ),
    "a Mac of either processor": (
        "Operating System: macOS 12.6.3\nERROR: No matching distribution found for torch",
        ("python-unsupported", "torch 2.2.2 is the last for Intel's Macs", "WSL"),
    ),
    "a Python that nobody states": (
        "ERROR: Could not find a version that satisfies the requirement tensorflow (from versions: none)",
        ("python-unsupported", "Take a Python of 64 bits from 3.", "this one"),
    ),
    "Linux, whose pip lists tags": (
        UNTAGGED.replace("2.0.1)", "2.0.1, 2.0.1+cu117)"),
        ("python-unsupported", "venv --python 3.10", "without"),
    ),
    "conda was typed, conda is answered": (
        (
            "1. `conda install -y pytorch=2.1.0 torchvision=0.16.0 -c pytorch`\n"
            "PyTorch version: 2.1.0\nCUDA used to build PyTorch: Could not collect\n"
            "OS: Ubuntu 22.04.3 LTS (x86_64)\nPython version: 3.10.9 (64-bit runtime)\n"
            "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 3090\nNvidia driver version: 535.98\n"
            "AssertionError: Torch not compiled with CUDA enabled"
        ),
        ("cpu-only-build", "conda install pytorch=2.1.0", "pip install"),
    ),
    "an image with a newer CUDA than the driver": (
        f"~/models $ docker run --gpus all -v /data:/data llm/server:latest\n{TOO_OLD.format(11080)}",
        ("driver-too-old-for-runtime", "525.60.13 or newer, or take an image for CUDA 11.8", "pip install"),
    ),
    "a build with a newer CUDA than the driver": (
        TOO_OLD.format(11080),
        ("driver-too-old-for-runtime", "CUDA 11.8, or upgrade the NVIDIA driver to 525.60.13", "cu12"),
    ),
    "compat libraries inside an image are not the host's": (
        "$ docker run --gpus all llm/server:latest\nError 804: forward compatibility was attempted on non supported HW",
        ("forward-compat-conflict", "Upgrade the NVIDIA driver of the host", "sudo rm"),
    ),
    "WSL without a GPU": (
        f"{HOOK}WSL environment detected but no adapters were found: unknown",
        ("container-no-gpu", "wsl --update", "nvidia-ctk"),
    ),
    "no node offers a GPU": (
        "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
        ("container-no-gpu", "device plugin", "docker run"),
    ),
    "no node offers an AMD GPU": (
        "0/3 nodes are available: 3 Insufficient amd.com/gpu.",
        ("container-no-gpu", "AMD's device plugin", "nvidia"),
    ),
    "a card that nothing names": (
        '"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"',
        ("rocm-gfx-unsupported", "rocminfo | grep gfx", "HIP_VISIBLE_DEVICES"),
    ),
    "a Windows library in Linux": (
        (
            "CUDA SETUP: Loading binary /home/me/env/lib/python3.10/site-packages/bitsandbytes/libbitsandbytes_cuda116.dll..."
            "\nlibbitsandbytes_cuda116.dll: invalid ELF header\nCUDA Setup failed despite GPU being available"
        ),
        ("library-missing", "--upgrade bitsandbytes", "torch"),
    ),
    "an onnxruntime for a CUDA of the past": (
        (
            "[E:onnxruntime:Default] Failed to load library libonnxruntime_providers_cuda.so with error: "
            "libcublasLt.so.11: cannot open shared object file: No such file or directory"
        ),
        ("library-missing", '"onnxruntime-gpu[cuda,cudnn]<1.27.0"', "nvidia-cublas"),  # no driver of CUDA 13 is told
    ),
    "an onnxruntime for a CUDA of the past and a Python that is known": (
        (
            "/usr/lib/python3.12/site-packages/onnxruntime/capi/onnxruntime_inference_collection.py:69\nFailed to load "
            "library libonnxruntime_providers_cuda.so with error: libcublasLt.so.11: cannot open shared object file"
        ),
        ("library-missing", "call onnxruntime.preload_dlls() first", "<1.27"),
    ),
    "a torch for Intel's GPUs that the Python can have": (
        "AssertionError: Torch not compiled with XPU enabled\nC:\\app\\venv\\lib\\site-packages\\torch\\xpu\\__init__.py\nPython 3.10.11",
        ("cpu-only-build", "torch==2.13.0+xpu", "2.15"),
    ),
    "a cuDNN of another major than the torch beside it pins": (
        (
            "python: 3.10.14 | torch: 2.4.0+cu121\nCould not load library libcudnn_ops_infer.so.8. Error: "
            "libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory"
        ),
        ("library-missing", "built for cuDNN 9, which torch 2.4.0 brings", "nvidia-cudnn-cu12"),
    ),
    "a package for the cuDNN before the one that torch pins": (
        (
            "Package       Version\n------------- -----------\nctranslate2   4.4.0\ntorch         2.4.0+cu121\nCould not load library "
            "libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file"
        ),
        ("library-missing", "ctranslate2==4.5.0", "nvidia-cudnn-cu12"),
    ),
    "an extension of one's own, which no index need have": (
        (
            'File "/root/miniconda3/lib/python3.11/site-packages/my_kernels/__init__.py", line 2, in <module>\nImportError: '
            "/root/miniconda3/lib/python3.11/site-packages/my_kernels/_C.cpython-311-x86_64-linux-gnu.so: undefined "
            "symbol: _ZN5torch3jit11parseSchemaERKSsb"
        ),
        ("abi-mismatch", "--force-reinstall .", "my-kernels\n"),
    ),
    "what is compiled again keeps its release": (
        (
            "ImportError: /env/lib/python3.7/site-packages/mmcv/_ext.cpython-37m-x86_64-linux-gnu.so: undefined symbol: "
            "_ZN2at5emptyEN3c108ArrayRefIlEERKNS0_13TensorOptionsE\nmmcv-full          1.2.3\ntorch              1.5.1"
        ),
        ("abi-mismatch", "--no-cache-dir mmcv-full==1.2.3", "or newer"),
    ),
    "the companions that were typed with a torch for the CPU": (
        (
            "(x) C:\\Users\\me>pip install torch==2.3.1 torchvision==0.18.1\nCollecting torch==2.3.1\n  Using cached "
            "torch-2.3.1-cp310-cp310-win_amd64.whl (159.8 MB)\nAssertionError: Torch not compiled with CUDA enabled"
        ),
        ("cpu-only-build", "torch==2.3.1+cu121 torchvision==0.18.1+cu121", "torchaudio"),
    ),
    "a driver of CUDA 11 and a torch that nobody names": (
        (
            "/usr/local/lib/python3.10/dist-packages/torch/cuda/__init__.py:124: UserWarning: CUDA initialization: The "
            "NVIDIA driver on your system is too old (found version 11000). Please update your GPU driver"
        ),
        ("driver-too-old-for-runtime", "or take the build for CUDA 11", "1.12"),
    ),
    "a fabric manager on a system that has no dnf": (
        (
            "OS: CentOS 7\nNVIDIA-SMI 545.23.08    Driver Version: 545.23.08    CUDA Version: 12.3\n"
            "GPU 0: NVIDIA H100 80GB HBM3\nCUDA error: system not yet initialized"
        ),
        ("fabric-manager-down", "sudo yum install nvidia-fabricmanager-545.23.08", "dnf"),
    ),
    "the same where the driver is of CUDA 13": (
        (
            "NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0\n"
            "[E:onnxruntime:Default] Failed to load library libonnxruntime_providers_cuda.so with error: "
            "libcublasLt.so.11: cannot open shared object file: No such file or directory"
        ),
        ("library-missing", "with its CUDA 13", "CUDA 12"),
    ),
    "what ctranslate2 was built for decides the CUDA of its cuDNN": (
        "Unable to load any of {libcudnn_cnn.so.9.1.0, libcudnn_cnn.so.9}\nctranslate2==4.5.0",
        ("library-missing", "pip install nvidia-cudnn-cu12", "cu11"),
    ),
    "a Python that NVIDIA's builds for the board are not made for": (
        "# R35 (release), REVISION: 4.1, GCID: 33958178\n$ python --version\nPython 3.10.12\n$ pip install torch",
        ("python-unsupported", "uv venv --python 3.8\nuv pip install torch==2.1.0a0+41361538.nv23.06", "whl/"),
    ),
    "a name that llama.cpp's option no longer has": (
        (
            "CMake Error at vendor/llama.cpp/CMakeLists.txt:95 (message):\n  LLAMA_CUBLAS is deprecated and will be removed in"
            " the future.\n\n  Use GGML_CUDA instead\n\nERROR: Failed building wheel for llama-cpp-python"
        ),
        ("build-tools-missing", "export CMAKE_ARGS=-DGGML_CUDA=on", "CUDA_HOME"),
    ),
    "a DLL of cuDNN, of the CUDA of the package that asks": (
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!\nctranslate2==4.5.0\ntorch==2.0.1+cu118",
        ("library-missing", "pip install nvidia-cudnn-cu12", "cu11"),
    ),
    "the newest cuDNN of the major for the CUDA of the build": (
        (
            "device: 0, GPU Compute Capability: 7.5, Driver API Version: 11.4, Runtime API Version: 10.2\n"
            "The third-party dynamic library (cudnn64_7.dll) that Paddle depends on is not configured correctly."
        ),
        ("library-missing", "cuDNN 7.6.5 for CUDA 10.2, which brings cudnn64_7.dll", "cuDNN 8"),
    ),
    "a DLL of cuDNN": (
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!",
        ("library-missing", "cuDNN 9, which brings cudnn_ops64_9.dll, and put its bin folder on PATH", "export"),
    ),
    "a torch of NVIDIA's": (
        f"/usr/lib/python3.8/site-packages/{SYMBOL}\ntorch==2.1.0a0+41361538.nv23.06",
        ("framework-pair-mismatch", "git+https://github.com/pytorch/vision@v0.16.0", "--index-url"),
    ),
    "a build script that imports torch": (
        (
            "$ uv pip install flash-attn\nFailed to build `flash-attn==2.8.2`\nThe build backend returned an error\n"
            "ModuleNotFoundError: No module named 'torch'"
        ),
        ("build-tools-missing", "uv pip install --no-build-isolation flash-attn==2.8.2", "sudo"),
    ),
    "a cuDNN that was made for one CUDA": (
        "Loaded runtime CuDNN library: 8.5.0 but source was compiled with: 8.6.0.",
        ("library-mismatch", 'pip install "nvidia-cudnn-cu11>=8.6,<9"', "cu12"),
    ),
    "a cuDNN that was made for two": (
        "Loaded runtime CuDNN library: 9.10.1 but source was compiled with: 9.13.1.",
        ("library-mismatch", '"nvidia-cudnn-cu12>=9.13,<10" or "nvidia-cudnn-cu13>=9.13,<10"', "pip install"),
    ),
    "two packages of one module, by the tool that was typed": (
        (
            "$ uv add onnxruntime-gpu onnxruntime\n + onnxruntime==1.20.1\n + onnxruntime-gpu==1.20.1\n"
            "|   0  NVIDIA GeForce RTX 4090        Off | 00000000:00:07.0 Off |                  Off |"
        ),
        ("framework-duplicate-install", "uv remove onnxruntime onnxruntime-gpu", "uv pip"),
    ),
    "the requirement ends at its comma": (
        (
            "ERROR: No matching distribution found for torch==2.6.0, on macOS\n"
            "ERROR: Could not find a version that satisfies the requirement torch==2.6.0 (from versions: 2.2.1, 2.2.2)\n"
            "/Library/Frameworks/Python.framework/Versions/3.11/lib/python3.11/site-packages"
        ),
        ("platform-unsupported", "torch 2.6.0 is not made for this Mac's", "2.6.0,"),
    ),
    "a Python of 32 bits": (
        (
            "Python 3.9.1 (tags/v3.9.1:1e5d33e, Dec  7 2020) [MSC v.1927 32 bit (Intel)]\n"
            "ERROR: Could not find a version that satisfies the requirement torch==2.0.1 (from versions: none)"
        ),
        ("platform-unsupported", "64-bit Python", "uv venv"),
    ),
    "an index that never was, asked by pip's own line": (
        (
            "Looking in indexes: https://download.pytorch.org/whl/cu131\n"
            "ERROR: Could not find a version that satisfies the requirement torch==2.10.0 (from versions: none)"
        ),
        ("python-unsupported", "https://download.pytorch.org/whl/cu130", "uv venv"),
    ),
    "a release for Intel's Macs, on a Python that it served": (
        (
            ">>> sys.version\n3.8.9 (default, Apr 13 2022, 08:48:07)\n[Clang 13.1.6 (clang-1316.0.21.2.5)]\n"
            "ERROR: Could not find a version that satisfies the requirement tensorflow==2.3.0 (from versions: none)"
        ),
        ("python-unsupported", "pip install tensorflow==2.13.0", "uv venv"),
    ),
    "no node of AMD's in a container": (
        (
            "root@0a1b2c3d4e5f:/# rocminfo\nUnable to open /dev/kfd read-write: No such file or directory\n"
            "Failed to get user name to check for video group membership"
        ),
        ("container-no-gpu", "--device /dev/kfd", "usermod"),
    ),
    "the image that was typed, without its devices": (
        (
            "$ docker run -it --group-add video rocm/dev-ubuntu-22.04 rocminfo\n"
            "Unable to open /dev/kfd read-write: No such file or directory"
        ),
        ("container-no-gpu", "--device /dev/dri -it --group-add video rocm/dev-ubuntu-22.04", "--gpus"),
    ),
    "an engine that was asked by CDI": (
        'docker: Error response from daemon: could not select device driver "cdi" with capabilities: [].',
        ("container-no-gpu", "--cdi.enabled", "apt"),
    ),
    "the device plugin under another runtime": (
        (
            "$ kubectl logs nvidia-device-plugin-daemonset-abcde\nE0716 10:05:22.119867 1 factory.go:116] "
            "If this is a GPU node, did you configure the NVIDIA Container Toolkit?"
        ),
        ("container-no-gpu", "--set-as-default", "docker run"),
    ),
    "two CUDA builds, of which the message tells one": (
        (
            '  File "/opt/conda/envs/g/lib/python3.9/site-packages/torch_cluster/__init__.py", line 1\n'
            "RuntimeError: Detected that PyTorch and torch_cluster were compiled with different CUDA versions. "
            "PyTorch has CUDA version 11.7 and torch_cluster has CUDA version 11.3."
        ),
        ("framework-pair-mismatch", "--force-reinstall --no-cache-dir torch-cluster", "torchvision"),
    ),
    "a module whose name begins like the framework's": (
        (
            "PyTorch version: 2.3.1\nPython version: 3.10.9 (64-bit runtime)\n[pip3] torch==2.3.1\n\n"
            "OSError: /x/site-packages/torch_cluster/_knn_cpu.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"
        ),
        ("abi-mismatch", "torch-cluster", "torchvision"),
    ),
    "a binding of llama.cpp, typed at the prompt of Windows": (
        "C:\\work> pip install llama-cpp-python\nAVX = 1 | AVX2 = 1 | FMA = 1 | BLAS = 0 | SSE3 = 1 |",
        ("cpu-only-build", "set CMAKE_ARGS=-DGGML_CUDA=on", "torch"),
    ),
    "an image with a driver's libraries of its own": (
        (
            "$ docker run --gpus all team/video:6 nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\n"
            "NVML library version: 565.57\n\n| NVIDIA-SMI 535.183.01   Driver Version: 535.183.01   CUDA Version: 12.2     |"
        ),
        ("driver-library-mismatch", "out of the image", "reboot"),
    ),
    "a build that takes cuDNN from a system without one": (
        (
            "Cuda compilation tools, release 11.2, V11.2.152\npaddlepaddle-gpu==2.2.0\n"
            "The third-party dynamic library (libcudnn.so) that Paddle depends on is not configured correctly. (error code "
            "is /usr/local/cuda/lib64/libcudnn.so: cannot open shared object file: No such file or directory)"
        ),
        ("library-missing", "cuDNN 8 and paddlepaddle-gpu", "torch"),
    ),
    "a message that PTX does not explain": (
        (
            "GPU 0: NVIDIA GeForce RTX 5080\ntensorflow==2.21.0\nCannot dlopen some GPU libraries. Please make sure the "
            "missing libraries mentioned above are installed properly if you would like to use GPU.\n"
            "Skipping registering GPU devices..."
        ),
        ("library-missing", "tensorflow[and-cuda]==2.21.0", "CUDA_CACHE"),
    ),
    "a line that TensorFlow logs as an error": (
        (
            "2023-01-02 03:04:05.678901: E tensorflow/stream_executor/cuda/cuda_dnn.cc:389] Loaded runtime CuDNN library: "
            "8.4.0 but source was compiled with: 8.6.0."
        ),
        ("library-mismatch", "cuDNN 8.6", "torch"),
    ),
    "a DLL of CuPy's": (
        "RuntimeError: CuPy failed to load nvrtc64_120_0.dll: FileNotFoundError: Could not find module",
        ("library-missing", "CUDA 12", "LD_LIBRARY_PATH"),
    ),
    "a target that nvcc forgot": (
        "Cuda compilation tools, release 12.2, V12.2.140\nnvcc fatal   : Unsupported gpu architecture 'compute_35'",
        ("arch-too-old-for-build", "CUDA 11.8, the last that has it", "pip install"),
    ),
    "a NumPy that is older than what was compiled for it": (
        "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xe",
        ("numpy-abi-mismatch", '"numpy>=1.23"', "<2"),
    ),
    "a TPU without its library": (
        (
            "A Google TPU may be present on this machine, but either a TPU-enabled jaxlib or libtpu is not installed. "
            "Falling back to cpu."
        ),
        ("cpu-only-build", '"jax[tpu]"', "cuda"),
    ),
    "a torch that was asked for Intel's GPU": (
        "torch 2.7.1\nRuntimeError: PyTorch is not linked with support for xpu devices",
        ("cpu-only-build", "whl/xpu", "whl/cu"),
    ),
    "the driver that nvidia-smi names is there": (
        (
            "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\n"
            "RuntimeError: Found no NVIDIA driver on your system.\n"
            "Error 803: system has unsupported display driver / cuda driver combination\n"
        ),
        ("driver-library-mismatch", "reload the kernel modules", "reboot"),
    ),
    "a service of a compose file that asks for no GPU": (
        (
            "services:\n  worker:\n    image: pytorch/pytorch:2.4.0-cuda12.1-cudnn9-runtime\n\n"
            "RuntimeError: Found no NVIDIA driver on your system.\nOn the host:\n"
            "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |\n"
        ),
        ("container-no-gpu", "the service worker the GPU in the compose file", "docker run"),
    ),
    "a Compose that is too old for devices": (
        "services.a.deploy.resources.reservations value Additional properties are not allowed ('devices' was unexpected)",
        ("container-no-gpu", "Docker Compose 1.28", "IMAGE"),
    ),
    "singularity was typed": (
        "$ singularity exec tf.sif python t.py\nRuntimeError: Found no NVIDIA driver on your system.\n",
        ("container-no-gpu", "singularity exec --nv tf.sif python t.py", "docker"),
    ),
    "nerdctl was typed": (
        "$ nerdctl run --rm my/app python t.py\nRuntimeError: Found no NVIDIA driver on your system.\n",
        ("container-no-gpu", "nerdctl run --gpus all --rm my/app", "docker"),
    ),
    "podman on a machine with SELinux": (
        "$ podman run --gpus all my/app nvidia-smi\nFailed to initialize NVML: Insufficient Permissions\n",
        ("device-permission", "podman run --security-opt=label=disable --gpus all my/app", "render"),
    ),
    "podman without root keeps the caller's groups": (
        (
            "$ podman run --device /dev/kfd --device /dev/dri rocm/pytorch rocminfo\n"
            "Unable to open /dev/kfd read-write: Permission denied\n"
        ),
        (
            "device-permission",
            "podman run --device /dev/kfd --device /dev/dri --group-add keep-groups rocm/pytorch",
            "getent",
        ),
    ),
    "podman as root takes a number": (
        (
            "$ sudo podman run --device /dev/kfd --device /dev/dri rocm/pytorch rocminfo\n"
            "Unable to open /dev/kfd read-write: Permission denied\n"
        ),
        (
            "device-permission",
            "podman run --device /dev/kfd --device /dev/dri --group-add $(getent group render | cut -d: -f3)",
            "keep-groups",
        ),
    ),
    "an image that nobody names": (
        "root@0123456789ab:/# rocminfo\nUnable to open /dev/kfd read-write: No such file or directory\n",
        ("container-no-gpu", "/dev/kfd", "IMAGE"),
    ),
    "a member of the group": (
        (
            "$ id\nuid=1000(me) gid=1000(me) groups=1000(me),27(sudo),44(video),109(render)\n"
            "Unable to open /dev/kfd read-write: Permission denied\n"
        ),
        ("device-permission", "log in again", "usermod"),
    ),
    "the user's own packages in a conda environment": (
        (
            'File "/home/me/miniconda3/envs/lab/lib/python3.10/site-packages/torchvision/__init__.py", line 10\n'
            'File "/home/me/.local/lib/python3.10/site-packages/torch/library.py", line 467, in inner\n'
            "RuntimeError: operator torchvision::nms does not exist"
        ),
        ("framework-pair-mismatch", "export PYTHONNOUSERSITE=1", "pip install"),
    ),
    "a release older than all that pip lists": (
        (
            "Python 3.9.13\nERROR: Could not find a version that satisfies the requirement tensorflow-gpu==1.10.1 "
            "(from versions: 2.5.0, 2.5.1, 2.6.0)\n"
        ),
        ("python-unsupported", "pip install tensorflow-gpu==2.5.0", "uv venv"),
    ),
    "a release of a package without rows, whose wheels were measured": (
        (
            "Python 3.12.3\nERROR: Could not find a version that satisfies the requirement mediapipe==0.10.5 "
            "(from versions: 0.10.13, 0.10.14)\n"
        ),
        ("python-unsupported", "pip install mediapipe==0.10.13", "uv venv"),
    ),
    "the release of another major is no remedy": (
        (
            "ERROR: Could not find a version that satisfies the requirement tensorflow==1.15.3 "
            "(from versions: 2.5.0, 2.5.1, 2.6.0)\n"
        ),
        ("python-unsupported", "Python 3.7 for 1.15.3", "pip install tensorflow"),
    ),
    "an older Python, or the first release that pip has": (
        (
            "Python 3.10.6\nERROR: Could not find a version that satisfies the requirement tensorflow==2.5.0 "
            "(from versions: 2.8.0rc0, 2.8.0, 2.9.0)\n"
        ),
        ("python-unsupported", "an environment of 3.8, or take 2.8.0", "2.8.0rc0"),
    ),
    "the index that was asked, for an older Python": (
        (
            "ERROR: Could not find a version that satisfies the requirement torch==2.1.2 "
            "(from versions: 2.2.0+cu118, 2.2.1+cu118)\n"
            "pip install torch==2.1.2 --index-url https://download.pytorch.org/whl/cu118\n"
        ),
        ("python-unsupported", "torch==2.1.2+cu118 --index-url https://download.pytorch.org/whl/cu118", "cu121"),
    ),
    "a package that the asked index does not have": (
        (
            "Looking in indexes: https://download.pytorch.org/whl/rocm5.7\n"
            "ERROR: Could not find a version that satisfies the requirement onnxruntime-gpu==1.18.0 (from versions: none)\n"
        ),
        ("python-unsupported", "pip install onnxruntime-gpu==1.18.0", "uv venv"),
    ),
    "a Python under Rosetta": (
        "ImportError: dlopen(/Users/me/a.so, 6): mach-o, but wrong architecture",
        ("platform-unsupported", "arm64", "Linux"),
    ),
    "a card that the kernel's driver does not serve": (
        "[    3.548555] kfd kfd: amdgpu: PITCAIRN  not supported in kfd",
        ("rocm-gfx-unsupported", "compute on the CPU", "rocminfo"),
    ),
    "MKL lost a symbol that conda's torch links to": (
        "ImportError: /opt/conda/lib/python3.9/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent",
        ("library-mismatch", 'conda install "mkl<2024.1"', "unset"),
    ),
    "cuda-python under WSL": (
        "5.10.60.1-microsoft-standard-WSL2\nRuntimeError: Failed to dlopen libcuda.so",
        ("library-missing", "/usr/lib/wsl/lib", "apt"),
    ),
    "the first WSL by its kernel": (
        (
            "Linux version 4.4.0-20150-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0 (GCC) )\n"
            "RuntimeError: Found no NVIDIA driver on your system."
        ),
        ("wsl1", "WSL", "Install"),
    ),
    "two names of one DLL": (
        (
            "C:\\Users\\me>python a.py\nPreconditionNotMetError: The third-party dynamic library "
            "(cublas64_118.dll;cublas64_11.dll) that Paddle depends on is not configured correctly."
        ),
        ("library-missing", "CUDA 11", "LD_LIBRARY_PATH"),
    ),
    "a DLL that another one depends on": (
        (
            'FAIL : Error loading "E:\\app\\lib\\onnxruntime_providers_cuda.dll" which depends on "cublasLt64_12.dll" '
            "which is missing. (Error 126)"
        ),
        ("library-missing", "CUDA 12, which brings cublasLt64_12.dll", "LD_LIBRARY_PATH"),
    ),
    "a library for one CUDA in Windows": (
        (
            "bin c:\\Users\\me\\envs\\py310\\lib\\site-packages\\bitsandbytes\\libbitsandbytes_cuda123.dll\n"
            "CUDA SETUP: Required library version not found: libbitsandbytes_cuda123.dll. Maybe you need to compile it?"
        ),
        ("library-missing", "bitsandbytes", "ldconfig"),
    ),
    "Visual Studio without CUDA's rules": (
        (
            '-- Found CUDAToolkit: C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.8/include (found version "11.8")\n'
            "CMake Error at CMakeDetermineCompilerId.cmake:503 (message):\nNo CUDA toolset found."
        ),
        ("toolkit-missing", "Visual Studio integration", "PATH"),
    ),
    "a folder of CUDA_HOME without nvcc": (
        "FileNotFoundError: [Errno 2] No such file or directory: ':/usr/local/cuda-11.7/bin/nvcc'",
        ("cuda-home-broken", "CUDA_HOME", "pip"),
    ),
    "what a Paddle without cuDNN was built for": (
        "PreconditionNotMetError: Cannot load cudnn shared library.\n>>> print(paddle.__version__)\n2.5.0",
        ("library-missing", "cuDNN 8, which paddlepaddle 2.5.0 was built for", "torch"),
    ),
    "a release of onnxruntime whose CUDA is past": (
        (
            "onnxruntime-gpu==1.16.3\nFAIL : Failed to load library libonnxruntime_providers_cuda.so with error: "
            "libcublasLt.so.11: cannot open shared object file: No such file or directory"
        ),
        ("library-missing", "onnxruntime-gpu[cuda,cudnn]", "cu11"),
    ),
    "an image without code for the GPU": (
        (
            "$ docker run --gpus all llm/server:1\nRuntimeError: CUDA error: no kernel image is available for execution on "
            "the device"
        ),
        ("arch-too-new-for-build", "newer image than llm/server:1", "TORCH_CUDA"),
    ),
    "nvidia-smi did not answer collect_env": (
        (
            "torch.cuda.is_available() is False\nCollecting environment information...\nPyTorch version: 2.5.1+cu124\n"
            "CUDA used to build PyTorch: 12.4\nOS: Ubuntu 22.04.5 LTS (x86_64)\nIs CUDA available: False\n"
            "GPU models and configuration: Could not collect\nNvidia driver version: Could not collect\n"
        ),
        ("no-driver", "driver", "rocm"),
    ),
    "a platform that nothing tells": (
        "AssertionError: Torch not compiled with CUDA enabled\ntorch==2.9.1+cpu",
        ("cpu-only-build", "torch==2.9.1+cu1", "torch==2.9.1 "),
    ),
    "a kernel whose name holds the word amdgpu, for which NVIDIA's module does not build": (
        (
            "env NV_VERBOSE=1 'make' KERNEL_UNAME=6.1.9-amdgpu.custom modules....(bad exit status: 2)\n"
            "Error! Bad return status for module build on kernel: 6.1.9-amdgpu.custom (x86_64)\n"
        ),
        ("no-driver", "newer driver", "dkms autoinstall"),
    ),
    "a toolkit beside a build that only its bare release suggests": (
        "nvcc fatal : Unsupported gpu architecture 'compute_89'\nGPU: RTX 4080\nCUDA Version: 11.4\npytorch: 1.10\n",
        ("toolkit-too-old-for-arch", "11.8", "10.2"),
    ),
    "a Windows that gives WSL no GPU yet": (
        (
            "Microsoft Windows [Version 10.0.18362.30]\n(c) Microsoft Corporation\n\nme@pc:~$ nvidia-smi\n"
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
        ),
        ("no-driver", "Windows 10 21H2 (build 19044) or Windows 11 on, and this is build 18362", "modprobe"),
    ),
    "a Windows that gives WSL a GPU": (
        (
            "Microsoft Windows [Versi\u00f3n 10.0.19045.3803]\n\nme@pc:~$ nvidia-smi\n"
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
        ),
        ("no-driver", "On Windows", "19044"),
    ),
    "a node of K3s, whose containerd it configures itself": (
        (
            "NAME    STATUS   ROLES    VERSION\nnode1   Ready    master   v1.30.2+k3s1\n"
            "Warning  FailedScheduling  0/1 nodes are available: 1 Insufficient nvidia.com/gpu.\n"
        ),
        ("container-no-gpu", "sudo systemctl restart k3s", "containerd"),
    ),
    "the device plugin on a node of K3s": (
        "E0402 22:17:31 factory.go:112] Incompatible strategy detected auto\n/var/lib/rancher/k3s/agent/etc\n",
        ("container-no-gpu", "sudo systemctl restart k3s", "containerd"),
    ),
    "a node whose name holds k3s": (
        (
            "NAME    STATUS   ROLES    VERSION\nk3s-1   Ready    master   v1.30.2\n"
            "Warning  FailedScheduling  0/1 nodes are available: 1 Insufficient nvidia.com/gpu.\n"
        ),
        ("container-no-gpu", "kubectl describe nodes", "restart k3s"),
    ),
    "the driver that XLA finds too old, by the next CUDA's first": (
        (
            "E external/xla/xla/stream_executor/cuda/cuda_dnn.cc:488] Possibly insufficient driver version: 470.57.2\n"
            "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.\n"
        ),
        ("driver-too-old-for-runtime", "525.60.13", "tensorflow"),
    ),
    "a wheel of one CUDA's page that is built for another": (
        (
            "$ pip install mmcv-full -f https://wheels.example/dist/cu113/torch1.10.0/index.html\n"
            'File "/opt/conda/lib/python3.8/site-packages/mmcv/ops/__init__.py", line 1\n'
            "ImportError: libcudart.so.10.2: cannot open shared object file: No such file or directory\n"
        ),
        ("library-missing", "another release of mmcv from the page of cu113", "Reinstall"),
    ),
    "a wheel of the page for the CUDA that it asks for": (
        (
            "$ pip install mmcv-full -f https://wheels.example/dist/cu102/torch1.10.0/index.html\n"
            'File "/opt/conda/lib/python3.8/site-packages/mmcv/ops/__init__.py", line 1\n'
            "ImportError: libcudart.so.10.2: cannot open shared object file: No such file or directory\n"
        ),
        ("library-missing", "Reinstall mmcv for the CUDA in use", "another release"),
    ),
    "what was typed already is no remedy": (
        (
            "### TensorFlow version\n\n2.17.0\n\n### Python version\n\n3.11\n\nGPU: RTX 3070\n"
            "```\n$ pip install 'tensorflow[and-cuda]'\n```\n"
            "W0000 00:00:1.2 1 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Skipping registering GPU devices...\n"
        ),
        ("library-missing", "loader's path", "pip install"),
    ),
    "what was typed of another form is one": (
        (
            "### TensorFlow version\n\n2.17.0\n\n### Python version\n\n3.11\n\nGPU: RTX 3070\n"
            "```\n$ pip install tensorflow\n```\n"
            "W0000 00:00:1.2 1 gpu_device.cc:2344] Cannot dlopen some GPU libraries. Skipping registering GPU devices...\n"
        ),
        ("library-missing", 'pip install "tensorflow[and-cuda]==2.17.0"', "uninstall"),
    ),
    "the group that the user lacks": (
        "$ rocminfo\nUnable to open /dev/kfd read-write: Permission denied\n$ groups\nme adm sudo video\n",
        ("device-permission", "usermod -aG render $USER", "video"),
    ),
}


@pytest.mark.parametrize(("text", "told"), PASTED.values(), ids=PASTED)
def test_the_first_fix_of_a_pasted_text(prescribes, text, told):
    prescribes(text, *told)


# Printed by machines where all is well: nothing above a note.
HEALTHY = {
    "a package that some other index has for Windows": (
        "** Platform: Windows\n** Python version: 3.10.9 (tags/v3.10.9) [MSC v.1934 64 bit (AMD64)]\n"
        "pytorch version: 2.5.0+cu124\nxformers version: 0.0.28.post2\nPrestartup times for custom nodes:\nwhat is the reason?\n"
    ),
    "a kernel's own assertion, with what NCCL says of it": (
        "RuntimeError: CUDA error: device-side assert triggered\n"
        "what():  NCCL error in: ../c10d/NCCLUtils.hpp:181, unhandled cuda error, NCCL version 21.0.3\n"
    ),
    "a toolkit of the same major on the loader's path": (
        "PyTorch version: 2.4.0+cu121\nCUDA used to build PyTorch: 12.1\nOS: Ubuntu 22.04.2 LTS (x86_64)\n"
        "Python version: 3.12.3 (64-bit runtime)\nIs CUDA available: True\n"
        "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4070\nNvidia driver version: 551.88\n"
        "LD_LIBRARY_PATH=/usr/local/cuda-12.4/lib64:\n"
    ),
    "the C library that a Python of 3.8 was linked with": (
        "- `transformers` version: 4.36.2\n- Platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.10\n"
        "- Python version: 3.8.18\n- PyTorch version (GPU?): 2.1.0+cu121 (True)\n"
    ),
    "a package of conda's for a Python that its wheels are not for": (
        "PyTorch version: 1.10.2\nCUDA used to build PyTorch: 11.3\nLibc version: glibc-2.17\n"
        "Python version: 3.6.13 |Anaconda, Inc.| (64-bit runtime)\nIs CUDA available: True\n[pip3] torchaudio==0.10.2\n"
    ),
    "conda's builds for a CUDA that only tagged wheels have": (
        "PyTorch version: 1.10.2\nCUDA used to build PyTorch: 11.3\nOS: Ubuntu 20.04.3 LTS (x86_64)\n"
        "Python version: 3.8.13 (64-bit runtime)\n[pip3] torch==1.10.2\n[pip3] torchaudio==0.10.2\n"
        "[pip3] torchvision==0.11.3\n"
    ),
    "a Mac's plain build, which names no CUDA": (
        "PyTorch version: 2.7.1\nCUDA used to build PyTorch: None\nOS: macOS 15.5 (arm64)\n"
        "Python version: 3.12.11 (64-bit runtime)\nIs CUDA available: False\n[pip3] torch==2.7.1\n"
    ),
    "collect_env on a machine without a GPU": (
        "PyTorch version: 2.5.1+cu124\nCUDA used to build PyTorch: 12.4\nOS: Ubuntu 22.04.5 LTS (x86_64)\n"
        "Is CUDA available: False\nGPU models and configuration: Could not collect\n"
        "Nvidia driver version: Could not collect\n[pip3] torch==2.5.1+cu124\n"
    ),
    "packages from the sources, each with its own commit": (
        "PyTorch version: 1.7.0a0+9ddd3df\nROCM used to build PyTorch: 3.7.20315\nOS: Ubuntu 18.04.4 LTS (x86_64)\n"
        "[pip3] torch==1.7.0a0+a9603c7\n[pip3] torchvision==0.8.0a0+a4736ea\n"
    ),
}


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY)
def test_a_healthy_machine_is_not_blamed(tmp_path, text):
    path = tmp_path / "report.txt"
    path.write_text(text)
    assert [one for one in examine(Question(report=str(path)), MATRIX)[0].findings if one.severity != "info"] == []


@pytest.mark.parametrize(
    ("text", "code", "holds", "never"),
    [
        # a library of the distribution, by its package
        (
            "ImportError: libGL.so.1: cannot open shared object file: No such file",
            "library-missing",
            "libgl1",
            "ldconfig",
        ),
        # a node whose group has a number here and no name: mostly in a container
        (
            "RuntimeError: No HIP GPUs are available\ncrw-rw---- 1 root 109 235, 0 Jan  3 10:00 /dev/kfd",
            "device-permission",
            "--group-add 109",
            "usermod",
        ),
        (
            "$ prime-select query\nintel\n$ nvidia-smi\nbash: nvidia-smi: command not found",
            "driver-module-not-loaded",
            "sudo prime-select nvidia",
            "apt",
        ),
        (
            'GPU: Radeon RX 580\nlevel=INFO msg="inference compute" id=0 library=cpu variant=avx2 compute=""',
            "rocm-gfx-unsupported",
            "OLLAMA_VULKAN=1",
            "HSA_OVERRIDE",
        ),
        (
            (
                "# R36 (release), REVISION: 3.0, GCID: 1, BOARD: generic, EABI: aarch64\nPython 3.11.9\n"
                "ModuleNotFoundError: No module named 'tensorrt'"
            ),
            "python-tag-mismatch",
            "Python 3.10",
            "pip install",
        ),
        (
            "Board with JetPack 5.1.2: torch.cuda.is_available() gives False",
            "cpu-only-build",
            "developer.download.nvidia.com",
            "whl/cu",
        ),
    ],
)
def test_each_is_answered_by_what_mends_it_there(text, code, holds, never, prescribes):
    prescribes(text, code, holds, never)


def test_a_dockerfile_in_a_report_is_judged_by_its_own_requests_and_not_by_what_is_left_out(tmp_path):
    path = tmp_path / "report.md"
    path.write_text(
        "The build fails.\n```\nFROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\n"
        "RUN pip install torch==2.1.0 torchvision==0.20.0\n```\nERROR: ResolutionImpossible\n"
    )
    report = examine(Question(report=str(path)), MATRIX)[0]
    assert (report.findings[0].code, report.findings[0].confidence) == ("framework-pair-mismatch", "certain")
    assert "torchvision==0.16.0" in report.findings[0].fix.text
    assert [one.code for one in report.findings].count("framework-pair-mismatch") == 1
    assert "base-python-missing" not in {one.code for one in report.findings}
    left = examine(Question(report=str(path), ignore=["framework-pair"]), MATRIX)[0]
    assert all(one.severity != "error" for one in left.findings)


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        (
            "failed to resolve source metadata for docker.io/{0}: docker.io/{0}: not found",
            "9.2-cudnn7-devel-ubuntu16.04",
        ),
        ("manifest for {0} not found: manifest unknown: manifest unknown", "11.1-base"),
        (
            "initializing source docker://{0}: reading manifest 10.0-base in docker.io/nvidia/cuda: manifest unknown",
            "10.0-base",
        ),
        ("failed to resolve source metadata for ::///: ::///: not found", ""),
        ("manifest for example/own:1 not found: manifest unknown", ""),
    ],
)
def test_an_image_that_its_registry_refuses_is_judged_as_lint_judges_it(said, tag):
    report = examine(Question(pasted=f"ERROR: {said.format(f'nvidia/cuda:{tag}')}\n"), MATRIX)[0]
    assert [one.code for one in report.findings] == (["base-tag-gone"] if tag else [])
    assert all("nvidia/cuda:1" in one.fix.text for one in report.findings)


def test_a_package_that_condas_channels_lack_is_asked_of_the_channel_that_has_it(prescribes):
    text = "PackagesNotFoundError: The following packages are not available from current channels:\n\n  - cudatoolkit=10.1\n"
    prescribes(text, "platform-unsupported", "conda install cudatoolkit=10.1 -c conda-forge", "WSL2")


def test_a_build_that_is_only_assumed_is_no_error_and_asks_for_no_toolkit(tmp_path):
    path = tmp_path / "report.md"
    path.write_text(
        "nvcc fatal : Unsupported gpu architecture 'compute_89'\nGPU: RTX 4080\nCUDA Version: 11.4\npytorch: 1.10\n"
    )
    found = {one.code: one for one in examine(Question(report=str(path)), MATRIX)[0].findings}
    assumed = found["toolkit-mismatch-extension"]
    assert (assumed.severity, assumed.confidence) == ("warning", "possible")
    assert "torch.version.cuda" in "".join(assumed.fix.commands)
    assert not any("cuda-10.2" in line for one in found.values() for line in one.fix.commands)


@pytest.mark.parametrize(("rocm", "here"), [("5.7.0", True), ("10.0.0", False)])
def test_support_by_rocm_is_told_with_the_release_it_starts_at(tmp_path, rocm, here):
    path = tmp_path / "report.md"
    path.write_text(
        f"rocBLAS error: Cannot read /opt/rocm-{rocm}/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : "
        "gfx1103\n"
    )
    first = examine(Question(report=str(path)), MATRIX)[0].findings[0]
    assert "officially from 7.14.1 on" in first.detail
    assert (f"ROCm {rocm} is here" in first.detail) is here


def test_a_finding_told_for_information_names_no_variable_of_another_framework(tmp_path):
    path = tmp_path / "report.md"
    path.write_text(
        "E external/xla/xla/stream_executor/cuda/cuda_dnn.cc:488] Possibly insufficient driver version: 470.57.2\n"
        "jaxlib.xla_extension.XlaRuntimeError: FAILED_PRECONDITION: DNN library initialization failed.\n"
        "jax.numpy.zeros(0)\n"
    )
    found = {one.code: one for one in examine(Question(report=str(path)), MATRIX)[0].findings}
    text = "".join(found["out-of-memory"].fix.commands)
    assert "PYTORCH" not in text
    assert "nvidia-smi" in text


def test_rocm_without_a_named_build_leaves_the_group_among_the_causes_and_its_release_alone(tmp_path):
    path = tmp_path / "report.md"
    path.write_text(
        "### Operating System\n\nUbuntu 22.04.4 LTS\n\n### ROCm Version\n\nROCm 6.2.0\n\n### GPU\n\n"
        "Radeon RX 7900 XT\n\n$ python -c 'import torch; print(torch.cuda.is_available())'\nFalse\n"
    )
    found = {one.code: one for one in examine(Question(report=str(path)), MATRIX)[0].findings}
    assert next(iter(found)) == "cpu-only-build"
    assert "+rocm6.2" in "".join(found["cpu-only-build"].fix.commands)
    assert (found["device-permission"].severity, found["device-permission"].confidence) == ("info", "possible")
