"""Prescriptions for pasted texts about compilers, compiled packages, and libraries that the place itself brings."""

from __future__ import annotations

import pytest

from compat.matrix import matrix

MATRIX = matrix()
STUDIO = (
    r"c:\program files\NVIDIA GPU Computing Toolkit\CUDA\v{}\include\crt/host_config.h(149): fatal error C1189: #error:  -- "
    "unsupported Microsoft Visual Studio version! Only the versions between 2017 and {} (inclusive) are supported!"
)
PTX = (
    "tensorflow==2.20.0\nGPU 0: {}\n'cuModuleLoadData(&module, data)' failed with 'CUDA_ERROR_INVALID_PTX'\n"
    'File "/home/me/venv/lib/python3.12/site-packages/tensorflow/python/ops.py", line 1, in <module>'
)
NVVM = (
    "{}/lib/python3.10/site-packages/numba/cuda/nvvm.py\n"
    "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`:\nlibrary nvvm not found"
)

# A text as people paste it -> the first finding, what its fix holds, and what it never holds.
PASTED = {
    "a wheel of PyG beside conda-forge's torch": (
        (
            "$ conda list torch\npytorch      2.1.2     cuda120_py311h25b6552_301    conda-forge\n"
            "OSError: site-packages/torch_sparse/_version_cuda.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"
        ),
        ("abi-mismatch", "pip install --no-build-isolation --no-deps", "data.pyg.org"),
    ),
    "a wheel of PyG beside the torch of an image of NVIDIA's, in a text with a title": (
        (
            "# undefined symbol with cuda12.3\nin nvcr.io/nvidia/pytorch:24.01-py3\n"
            "OSError: dist-packages/torch_cluster/_version_cuda.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"
        ),
        ("abi-mismatch", "no wheel is made for NVIDIA's own torch", "LD_LIBRARY_PATH"),
    ),
    "a torch that NVIDIA built": (
        (
            "torch==2.3.0a0+40ec155e58.nv24.03\n"
            "ImportError: dist-packages/torch_scatter/_version_cuda.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"
        ),
        ("abi-mismatch", "--no-build-isolation", "data.pyg.org"),
    ),
    "a wheel for a Mac, by its address": (
        (
            "pip install https://example.org/v2.16/tensorflow-2.16.1-cp310-cp310-macosx_13_0_arm64.whl\n"
            '>>> tf.config.list_physical_devices("GPU")\n[]'
        ),
        ("cpu-only-build", "pip install tensorflow-metal", "nvidia-smi"),
    ),
    "a library of ROCm without code for a target that the text names": (
        "HIP error: invalid device function\nFile: /src/hypre/hip_blas.cpp; line: 12\nIs it made for my gfx1032?",
        ("rocm-gfx-unsupported", "HSA_OVERRIDE_GFX_VERSION=10.3.0", "torch"),
    ),
    "a driver that answered": (
        (
            "NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4\ntorch==1.9.0+cu111\n"
            ">>> torch.cuda.is_available()\nFalse"
        ),
        ("uvm-not-ready", "modprobe nvidia_uvm", "driver"),
    ),
    "collect_env with a driver and a GPU, and no CUDA": (
        (
            "Collecting environment information...\nPyTorch version: 1.7.1\nIs debug build: False\n"
            "CUDA used to build PyTorch: 10.2\nIs CUDA available: False\n"
            "GPU models and configuration: GPU 0: Tesla V100-PCIE-16GB\nNvidia driver version: 450.80.02\n"
        ),
        ("uvm-not-ready", "modprobe nvidia_uvm", "driver"),
    ),
    "Triton's own ptxas is older than the GPU": (
        (
            "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
            "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'\ntorch 2.10.0+cu130"
        ),
        ("arch-too-new-for-build", "TRITON_PTXAS_PATH=/usr/local/cuda-12.9/bin/ptxas", "pip install"),
    ),
    "a toolkit that a variable names stands last on PATH": (
        (
            "GPU: RTX 5080\nexport PATH=${PATH}:/usr/local/cuda-13.0/bin\n"
            "export LD_LIBRARY_PATH=${LD_LIBRARY_PATH}:/usr/local/cuda-13.0/lib64\n"
            "nvcc fatal   : Unsupported gpu architecture 'compute_120a'"
        ),
        ("toolkit-too-old-for-arch", "export PATH=/usr/local/cuda-13.0/bin:$PATH", "apt"),
    ),
    "the nodes of AMD's GPU in a rootless container": (
        (
            "GPU: Radeon RX 7600\nUnable to open /dev/kfd read-write: Permission denied\n"
            'me is not member of "nogroup" group, the default DRM access group.'
        ),
        ("device-permission", "keep-groups", "nvidia-ctk"),
    ),
    "a kernel of flash-attn that its own source file names": (
        (
            "docker run --gpus all nvidia/cuda:12.8.1-devel-ubuntu22.04\nflash-attn 2.8.3\n"
            "CUDA error (/src/flash-attention/flash_fwd_launch_template.h:180): no kernel image is available for "
            "execution on the device"
        ),
        ("extension-arch-missing", "flash-attn", "torch=="),
    ),
    "a DLL of torch that no runtime of Visual C++ completes": (
        'OSError: [WinError 126] Error loading "C:\\py\\Lib\\site-packages\\torch\\lib\\fbgemm.dll" or one of its dependencies.',
        ("library-missing", "2.4.1", "winget"),
    ),
    "the cuDNN of a conda environment": (
        (
            "$ conda create -n jaxes jax\n>>> import jax; jax.devices()\ncuda_dnn.cc:456] Loaded runtime CuDNN library: "
            "9.10.1 but source was compiled with: 9.13.1."
        ),
        ("library-mismatch", 'conda install -c conda-forge "cudnn>=9.13,<10"', "pip"),
    ),
    "an Intel card by lshw": (
        (
            "  *-display\n       product: DG2 [Arc A770]\n       vendor: Intel Corporation\n"
            "AssertionError: Torch not compiled with CUDA enabled"
        ),
        ("cpu-only-build", "whl/xpu", "whl/cu"),
    ),
    "a board, by collect_env and its kernel": (
        (
            "pytorch: cuda is not available\nCMake version: version 3.31.6\nLibc version: glibc-2.35\n\nPython version: 3.10.12 (main) (64-bit runtime)\n"
            "Python platform: Linux-5.15.136-tegra-aarch64-with-glibc2.35\nIs CUDA available: False\n"
            "CUDA runtime version: 12.2.140\nGPU models and configuration: GPU 0: Orin (nvgpu)\n"
        ),
        ("cpu-only-build", "NVIDIA's torch", "download.pytorch.org"),
    ),
    "TensorFlow beside a toolkit of another CUDA": (
        (
            "Ubuntu 22.04.4 LTS\nPython 3.11.9\n### TensorFlow version\n\n2.15.1\n\nCuda compilation tools, release 11.4, V11.4.152\n"
            "external/local_tsl/tsl/cuda/cudart_stub.cc:31] Could not find cuda drivers on your machine"
        ),
        ("library-missing", 'pip install "tensorflow[and-cuda]==2.15.1"', "cuda-toolkit"),
    ),
    "the Python that a program brings": (
        (
            'File "D:\\app_portable\\python_embeded\\Lib\\site-packages\\torch\\__init__.py", line 1\n'
            "NVIDIA GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the current PyTorch "
            "installation.\nThe current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_80 sm_90."
        ),
        ("arch-too-new-for-build", "python_embeded\\python.exe -m pip install torch==", "2 x"),
    ),
    "a key that Secure Boot does not know": (
        (
            "nvidia-smi has failed because it couldn't communicate with the NVIDIA driver.\n"
            "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service"
        ),
        ("driver-secure-boot-unsigned", "Enrol the key", "dkms"),
    ),
    "a library of the environment's own that is loaded already needs no path": (
        (
            "ImportError: /home/me/miniconda3/envs/x/bin/../lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required "
            "by /home/me/miniconda3/envs/x/lib/python3.10/site-packages/x.so)"
        ),
        ("libstdcxx-too-old", "conda install -c conda-forge libstdcxx-ng", "LD_LIBRARY_PATH"),
    ),
    "an environment of conda that was entered": (
        (
            "(base) $ x\nconda activate sim\nUbuntu 20.04\nImportError: /lib/libstdc++.so.6: version "
            "`GLIBCXX_3.4.32' not found (required by /x/gymtorch.so)"
        ),
        ("libstdcxx-too-old", "conda install -c conda-forge libstdcxx-ng", "apt"),
    ),
    "a Visual Studio that is newer than the toolkit": (
        STUDIO.format("12.1", "2022"),
        ("host-compiler-unsupported", "MSVC 14.39", "g++"),
    ),
    "a Visual Studio that no toolkit of its time knew": (
        STUDIO.format("11.2", "2019"),
        ("host-compiler-unsupported", "build tools of Visual Studio 2019", "MSVC 14.39"),
    ),
    "the C++ library of Visual Studio asks for a toolkit": (
        r"D:\VC\Tools\MSVC\14.41.34120\include\yvals_core.h(902): error STL1002: Unexpected compiler version, expected CUDA 12.4 or newer.",
        ("host-compiler-unsupported", "CUDA toolkit 12.4", "gcc"),
    ),
    "the gcc that nvcc names, in a person's own line": (
        "nvcc says: gcc versions later than 11 are not supported",
        ("host-compiler-unsupported", "g++-11", "Visual Studio"),
    ),
    "a module in no folder is of the package that imports it": (
        (
            '  File "/opt/conda/lib/python3.11/site-packages/lietorch_tools/__init__.py", line 2, in <module>\n'
            "    import lie_kernels\n"
            "ImportError: /opt/conda/lib/python3.11/site-packages/lie_kernels.cpython-311-x86_64-linux-gnu.so: undefined "
            "symbol: _ZN3c104cuda9SetDeviceEi\n>>> torch.__version__\n'2.5.1+cu124'"
        ),
        ("abi-mismatch", "lietorch-tools here again, for the installed torch 2.5.1", "lie-kernels"),
    ),
    "a module in no folder that the matrix knows": (
        (
            '  File "/opt/conda/lib/python3.11/site-packages/transformers/utils.py", line 2, in <module>\n'
            "ImportError: /opt/conda/lib/python3.11/site-packages/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: "
            "undefined symbol: _ZN3c104cuda9SetDeviceEi\n"
        ),
        ("abi-mismatch", "flash-attn", "transformers"),
    ),
    "a part for each torch": (
        r"FileNotFoundError: Cannot find DGL C++ sparse library at C:\py\Lib\site-packages\dgl\dgl_sparse\dgl_sparse_pytorch_2.7.1.dll",
        ("framework-pair-mismatch", "dgl with a part for torch 2.7.1", "pip install"),
    ),
    "a package that was named when it was installed": (
        "$ pip install dgl==2.1.0\nImportError: Cannot load Graphbolt C++ library",
        ("framework-pair-mismatch", "release of dgl", "torchvision"),
    ),
    "the AMD GPU that rocBLAS names": (
        "rocBLAS error: Cannot read /opt/rocm-6.2.0/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1031",
        ("rocm-gfx-unsupported", "gfx1031", "rocminfo"),
    ),
    "PTX that the driver refused is no cure": (
        PTX.format("NVIDIA GeForce RTX 5090"),
        ("arch-too-new-for-build", "nvcr.io/nvidia/tensorflow", "pip install"),
    ),
    "Numba's compiler by conda": (
        NVVM.format("/opt/miniconda3/envs/x"),
        ("library-missing", "conda install -c conda-forge cuda-nvcc", "pip"),
    ),
    "Numba's compiler by pip": (
        NVVM.format("/srv/app/.venv"),
        ("library-missing", 'pip install "numba-cuda[cu12]"', "conda"),
    ),
    "Numba's compiler for a driver of CUDA 13": (
        f"NVIDIA-SMI 580.65.06    Driver Version: 580.65.06    CUDA Version: 13.0\n{NVVM.format('/srv/app/.venv')}",
        ("library-missing", "numba-cuda[cu13]", "cu12"),
    ),
    "a program made for another JetPack": (
        "JetPack version: 6.1\nImportError: libnvinfer.so.8: cannot open shared object file: No such file or directory",
        ("library-missing", "TensorRT is 10", "pip install"),
    ),
    "a library that this JetPack brings": (
        "JetPack 5.1.2\nOSError: libcudnn.so.8: cannot open shared object file: No such file or directory",
        ("library-missing", "sudo apt install nvidia-jetpack", "pip install"),
    ),
    "a provider of onnxruntime that names no library": (
        (
            "[W:onnxruntime:Default, onnxruntime_pybind_state.cc:747 CreateExecutionProviderInstance] Failed to create "
            "CUDAExecutionProvider. Please reference the documentation to ensure all dependencies are met."
        ),
        ("library-missing", 'pip install "onnxruntime-gpu[cuda,cudnn]<1.27.0"', "torch"),
    ),
    "Windows says in its own language why it does not load a module": (
        (
            "PS D:\\app> python run.py\n"
            "ImportError: DLL load failed while importing _imaging_ft: La procédure d'initialisation a échoué."
        ),
        ("library-missing", "Microsoft.VCRedist", "ldconfig"),
    ),
    "a module of a package that belongs to no framework": (
        (
            r'  File "E:\app\venv\Lib\site-packages\ctranslate2\__init__.py", line 9, in <module>'
            "\n"
            "ImportError: DLL load failed while importing _ext: The specified procedure could not be found."
        ),
        ("abi-mismatch", "newest ctranslate2", "for torch"),
    ),
    "a release that pip no longer lists, on a system that nobody names": (
        (
            "ERROR: Could not find a version that satisfies the requirement torch==1.2.0 (from versions: 1.7.0, 1.7.1, 1.8.0)\n"
            "ERROR: No matching distribution found for torch==1.2.0"
        ),
        ("python-unsupported", "torch==1.7.0", "uv venv"),
    ),
    "a GPU that RAPIDS no longer serves": (
        (
            "UserWarning: A GPU with NVIDIA Volta™ (Compute Capability 7.0) or newer architecture is required.\n"
            "Detected GPU 0: Tesla P40 \nDetected Compute Capability: 6.1\n"
        ),
        ("arch-too-old-for-build", "older release of cudf, which served GPUs below capability 7.0", "torch"),
    ),
    "a virtual GPU that is busy in the default mode": (
        (
            "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n"
            "| NVIDIA-SMI 535.161.07   Driver Version: 535.161.07   CUDA Version: 12.2     |\n"
            "|===============================+======================+======================|\n"
            "|   0  GRID V100D-16Q      On   | 00000000:02:00.0 Off |                  N/A |\n"
            "| N/A   N/A    P0    N/A /  N/A |   1040MiB / 16384MiB |      0%      Default |\n"
        ),
        ("vgpu-unlicensed", "licence", "nvidia-smi -c"),
    ),
    "a GPU that is busy in an exclusive mode": (
        (
            "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable\n"
            "| NVIDIA-SMI 535.161.07   Driver Version: 535.161.07   CUDA Version: 12.2     |\n"
            "|===============================+======================+======================|\n"
            "|   0  Tesla V100-SXM2...  On   | 00000000:02:00.0 Off |                    0 |\n"
            "| N/A   33C    P0    41W / 300W |   1040MiB / 16384MiB |      0%   E. Process |\n"
        ),
        ("gpu-compute-mode-exclusive", "default compute mode", "licence"),
    ),
    "a Python of 32 bits by its folder": (
        (
            "ERROR: Could not find a version that satisfies the requirement tensorflow (from versions: none)\n"
            r"pip 24.0 from C:\Users\me\AppData\Local\Programs\Python\Python311-32\Lib\site-packages\pip (python 3.11)"
        ),
        ("platform-unsupported", "64-bit Python", "tensorflow=="),
    ),
    "a package without CUDA has wheels on a page of its own": (
        (
            'PyTorch version: 2.3.1+cu121\nFile "/v/site-packages/torch_scatter/scatter.py", line 72, in scatter_max\n'
            "RuntimeError: Not compiled with CUDA support"
        ),
        (
            "cpu-only-build",
            "torch-scatter==2.1.2+pt23cu121 --find-links https://data.pyg.org/whl/torch-2.3.0+cu121.html",
            "torch==",
        ),
    ),
    "a package that requires one torch brings it": (
        "ImportError: /v/lib/python3.10/site-packages/vllm/_C.abi3.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        ("abi-mismatch", "pip install vllm", "isolation"),
    ),
    "the build for the CUDA of torch, at PyTorch's index": (
        (
            "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
            "    PyTorch 2.0.1+cu118 with CUDA 1108 (you have 2.1.0+cu118)\n    Python  3.10.11 (you have 3.10.12)"
        ),
        ("abi-mismatch", "xformers==0.0.22.post7+cu118 --index-url", "torch=="),
    ),
    "torch has the code, and no release of the package beside it ever had it": (
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
            "GPU: Quadro P6000\ntorch==2.6.0+cu124\nvllm==0.8.5"
        ),
        ("arch-too-old-for-build", "No published vllm has code for sm_61: do without it", "CUDA 12.9"),
    ),
    "the very torch that xFormers is for": (
        (
            "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
            "    PyTorch 2.0.1 with CUDA 1106 (you have 2.0.1)\n    Python  3.9.16 (you have 3.9.16)"
        ),
        ("framework-pair-mismatch", "torch.version.cuda", "pip install"),
    ),
    "a build that pdm isolates": (
        (
            "pdm.exceptions.BuildError: Build backend raised error: Module 'torch' is missing, please make sure it is "
            "specified in the 'build-system.requires' section. If it is not possible, add it to the project and use "
            "'--no-isolation' option."
        ),
        ("build-tools-missing", "by pdm --no-isolation", "ninja"),
    ),
    "a build that uv isolates": (
        (
            "  x Failed to build `gsplat==1.4.0`\nhint: This error likely indicates that `gsplat@1.4.0` depends on `torch`, "
            "but doesn't declare it as a build dependency."
        ),
        ("build-tools-missing", "--no-build-isolation gsplat==1.4.0", "pdm"),
    ),
    "a build that setuptools runs in a place of its own": (
        (
            "Failed to download and build `torch-scatter==2.1.2`\n    exec(code, locals())\n"
            "  File \"<string>\", line 8, in <module>\nModuleNotFoundError: No module named 'torch'"
        ),
        ("build-tools-missing", "--no-build-isolation torch-scatter==2.1.2", "pdm"),
    ),
    "a build that pip isolates, with the newest setuptools and a long traceback": (
        (
            "$ pip install openai-whisper==20240930\n  × Getting requirements to build wheel did not run successfully.\n"
            + "".join(f'        File "/x/_in_process.py", line {line}, in get_requires\n' for line in range(1, 20))
            + "      ModuleNotFoundError: No module named 'pkg_resources'\n"
            "ERROR: Failed to build 'openai-whisper' when getting requirements to build wheel"
        ),
        ("build-tools-missing", '"setuptools<82"\npip install ninja', "beside the torch"),
    ),
    "an nvcc that is there, on Windows": (
        (
            "C:\\x>nvcc --version\nCuda compilation tools, release 12.3, V12.3.107\nOSError: CUDA_HOME environment "
            "variable is not set. Please set it to your CUDA install root."
        ),
        ("toolkit-missing", "where nvcc", "Install"),
    ),
    "the compiled one of two packages in a traceback": (
        (
            '  File "/opt/conda/lib/python3.8/site-packages/torch_sparse/__init__.py", line 19, in <module>\n'
            '  File "/opt/conda/lib/python3.8/site-packages/torch_geometric/__init__.py", line 2, in <module>\n'
            "OSError: _version_cpu.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"
        ),
        ("abi-mismatch", "Compile torch-sparse", "geometric"),
    ),
    "a cuDNN older than the release in the form was built with": (
        (
            "### OS Platform and Distribution\n\nWindows 11 + WSL2\n\n### Tensorflow Version\n\n2.12.0\n\n"
            "### CUDA/cuDNN version\n\n11.8/8.4.1.50\n\ntf.config.list_physical_devices('GPU') returns []"
        ),
        ("library-mismatch", "nvidia-cudnn-cu11>=8.6,<9", "unset"),
    ),
    "a card and its memory in one field": (
        (
            "### Tensorflow Version\n\ntf 2.2\n\n### OS Platform and Distribution\n\nwindows 10\n\n"
            "### GPU model and memory\n\nrtx 3070 and 8 gb memory\n"
        ),
        ("arch-too-new-for-build", "tensorflow==2.4.0", "torch"),
    ),
    "TensorFlow's DLL gives up": (
        (
            "ImportError: DLL load failed while importing _pywrap_tensorflow_internal: A dynamic link library (DLL) "
            "initialization routine failed."
        ),
        ("cpu-instructions-missing", "winget install Microsoft.VCRedist", "virtual machine"),
    ),
    "a Paddle for another CUDA, on Windows, for which the page of Linux has nothing": (
        (
            "paddlepaddle-gpu                  2.1.1\npaddleslim                        2.1.0\n\n"
            "Cuda compilation tools, release 11.2, V11.2.67\n"
            'File "D:\\x\\lib\\site-packages\\paddle\\fluid\\core.py", line 1\n'
            "W0818 09:34:14.796905  2812 device_context.cc:404] Please NOTE: device: 0, GPU Compute Capability: 7.5, "
            "Driver API Version: 11.3, Runtime API Version: 10.2\n"
        ),
        ("library-missing", "paddlepaddle-gpu==2.5.0", "linux"),
    ),
    "a DLL of the toolkit, and nothing else": (
        "Could not load dynamic library 'cusparse64_11.dll'; dlerror: cusparse64_11.dll not found",
        ("library-missing", "Install CUDA 11, which brings cusparse64_11.dll", "pip install"),
    ),
    "a DLL of the toolkit that the release in the form takes from the system": (
        (
            "- OS Platform and Distribution (e.g., Linux Ubuntu 16.04): Windows 10\n- TensorFlow version: tensorflow-gpu=2.4.0\n"
            "- CUDA/cuDNN version: CUDA 11.1\nCould not load dynamic library 'cusparse64_11.dll'; dlerror: cusparse64_11.dll not found"
        ),
        ("library-missing", "Install CUDA 11.0 and cuDNN 8", "pip install"),
    ),
    "mmcv over mmcv-full": (
        "torch: 1.10.1+cu111\nmmcv-full: 1.4.0\nModuleNotFoundError: No module named 'mmcv._ext'",
        (
            "framework-pair-mismatch",
            "mmcv-full==1.4.0 --find-links https://download.openmmlab.com/mmcv/dist/cu111/torch1.10/index.html",
            "mim install",
        ),
    ),
    "mmcv over mmcv-full, beside a torch that nobody names": (
        "mmcv-full: 1.4.0\nModuleNotFoundError: No module named 'mmcv._ext'",
        (
            "framework-pair-mismatch",
            "pip uninstall -y mmcv mmcv-full\npip install openmim\nmim install",
            "--find-links",
        ),
    ),
    "a warning of torch in a build that ends without the toolkit": (
        (
            "Getting requirements to build wheel ... error\n"
            "  C:\\tmp\\build\\torch\\functional.py:1: UserWarning: Failed to initialize NumPy: No module named 'numpy'\n"
            "  OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\n"
        ),
        ("toolkit-missing", "CUDA_PATH", "--no-build-isolation"),
    ),
    "conda's C++ library, of which a text speaks before the system's C library": (
        (
            "/home/me/miniconda3/envs/a/bin/../lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found\n"
            "/lib64/libc.so.6: version `GLIBC_2.29' not found\n"
        ),
        ("libstdcxx-too-old", "libstdcxx-ng", "newer system"),
    ),
    "a program of .NET whose packages are listed": (
        (
            "   > Microsoft.ML.OnnxRuntime.Gpu    1.16.0    1.16.0\n"
            'LoadLibrary failed with error 126 "" when trying to load "C:\\a\\onnxruntime_providers_cuda.dll"\n'
        ),
        ("library-missing", "CUDA 11 and cuDNN 8", "pip install"),
    ),
    "jax and jaxlib of one release, and a plug-in that is not listed": (
        (
            "AttributeError: module 'jaxlib.xla_client' has no attribute 'register_custom_type_id_handler'\n"
            "jax:    0.4.35\njaxlib: 0.4.35\n"
        ),
        ("framework-pair-mismatch", 'pip install "jax[cuda12]==0.4.35"', "jaxlib=="),
    ),
    "mmcv without its ops": (
        "ModuleNotFoundError: No module named 'mmcv._ext'",
        ("framework-pair-mismatch", "mmcv-full", "pip install"),
    ),
    "one of the packages that a notebook installs": (
        (
            "!pip install torch-scatter -f https://data.pyg.org/whl/torch-1.9.0+cu111.html\n!pip install torch-sparse\n"
            '!python -c "import torch; print(torch.__version__)"\n1.9.0+cu111\n'
            "OSError: libcudart.so.10.2: cannot open shared object file: No such file or directory"
        ),
        ("library-missing", "reinstall torch-scatter or torch-sparse, built for CUDA 11.1", "cuda-runtime"),
    ),
    "a GPU that nobody names, and a build too old for its Python": (
        (
            "Python 3.7.4 (default, Dec 13 2019, 16:56:17)\npip install torch==1.3.1+cu92\n"
            "RuntimeError: CUDA error: no kernel image is available for execution on the device"
        ),
        ("arch-too-new-for-build", "TORCH_CUDA_ARCH_LIST", "install torch"),
    ),
    "onnxruntime for the processor alone": (
        "providers: ['AzureExecutionProvider', 'CPUExecutionProvider']",
        ("cpu-only-build", "pip install onnxruntime-gpu", "torch"),
    ),
    "a library of torch itself": (
        "ImportError: libc10.so: cannot open shared object file: No such file or directory",
        ("library-missing", "Import torch before", "system package"),
    ),
}


@pytest.mark.parametrize(("text", "told"), PASTED.values(), ids=PASTED)
def test_the_first_fix_of_a_pasted_text(prescribes, text, told):
    prescribes(text, *told)
