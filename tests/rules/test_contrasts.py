"""Near misses: a message, or facts, that look like another fault's and must not be taken for it."""

from __future__ import annotations

import pytest

AMD = [{"name": "AMD Radeon RX 6700 XT", "vendor": "amd", "target": "gfx1031"}]
PASCAL = [{"name": "NVIDIA GeForce GTX 1080 Ti", "vendor": "nvidia", "target": "sm_61"}]
LOVELACE = [{"name": "NVIDIA GeForce RTX 4090", "vendor": "nvidia", "target": "sm_89"}]
KEPLER = [{"name": "Tesla K40m", "vendor": "nvidia", "target": "sm_35"}]
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system."
NO_KFD = "ROCk module is loaded\nUnable to open /dev/kfd read-write: No such file or directory"
NO_WHEEL = "ERROR: No matching distribution found for torch"
LISTED = "{} is not compatible with the current PyTorch installation.\nThe current PyTorch install supports CUDA capabilities {}."

CASES = [
    # who is blind: the container or its host
    (NO_DRIVER, {"container": "docker"}, "container-no-gpu"),
    (NO_DRIVER, {"gpus": AMD}, "wrong-vendor-build"),
    (NO_DRIVER, {"gpus": LOVELACE}, "no-driver"),
    (NO_KFD, {"container": "docker", "gpus": AMD}, "container-no-gpu"),
    (NO_KFD, {"gpus": AMD, "platform": "linux"}, "rocm-kfd-missing"),
    (f"{NO_KFD}\nFailed to get user name to check for video group", {"container": "podman"}, "container-no-gpu"),
    (
        "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown",
        {"container": "docker"},
        "no-driver",
    ),
    ("failed call to cuInit: UNKNOWN ERROR (-1)", {"container": "docker"}, "container-no-gpu"),
    ("failed call to cuInit: UNKNOWN ERROR (-1)", {}, "driver-stub-loaded"),
    ('msg="no compatible GPUs were discovered"', {"container": "docker", "driver": "550.54.14"}, "container-no-gpu"),
    (
        'Error response from daemon : could not select device driver "nvidia" with capabilities : [[gpu]]',
        {},
        "container-no-gpu",
    ),
    ("Error: stat nvidia.com/gpu=all: no such file or directory", {}, "container-no-gpu"),
    ("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.", {}, "container-no-gpu"),
    ("Error: unsupported CUDA version: driver 7.5 < image 8.0.61", {}, "container-requires-newer-driver"),
    ("Error: unsupported CUDA version: driver 0.0 < image 8.0.61", {}, "no-driver"),
    # ROCm: no kernels, or no device at all
    ("rocBLAS error: Could not initialize Tensile host: No devices found", {}, "device-permission"),
    ("rocBLAS error: Could not initialize Tensile library", {}, "rocm-gfx-unsupported"),
    ("kfd kfd: amdgpu: HAWAII  not supported in kfd", {}, "rocm-gfx-unsupported"),
    ("fork: Cannot allocate memory", {}, "host-memory-low"),
    # libraries: absent, or of two releases
    (
        "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file",
        {},
        "library-missing",
    ),
    (
        "Could not load library libcudnn_cnn_infer.so.8. Error: /opt/lib/libcudnn_cnn_infer.so.8: undefined symbol: _ZN5cudnn",
        {},
        "library-mismatch",
    ),
    (
        "libcublas.so.12: symbol cublasLtGetVersion version libcublasLt.so.12 not defined in file libcublasLt.so.12",
        {},
        "library-mismatch",
    ),
    (
        "Unable to use CUDA because of the following issues with CUDA components:\nOutdated cuBLAS installation found.",
        {},
        "library-mismatch",
    ),
    ("Unable to load cuDNN. Is it installed?", {}, "library-missing"),
    ("Unable to load cuSPARSE. Is it installed?", {}, "library-mismatch"),  # JAX has loaded cuDNN before it
    ("ImportError: libcuda.so.1: cannot open shared object file", {"container": "docker"}, "container-no-gpu"),
    ("ImportError: libcuda.so.1: cannot open shared object file", {}, "no-driver"),
    (
        "Cannot dlopen some GPU libraries.\nFound cuSOLVER version 11002, but JAX was built against version 11401",
        {},
        "library-mismatch",
    ),
    ("[ze_driver.cpp:186] The name of extension is unknown: zexDriverImportExternalPointer", {}, "library-mismatch"),
    # compiled parts: absent, never built for this torch, or refused by nvcc
    ("ImportError: cannot import name '_C'", {}, "abi-mismatch"),
    ("ModuleNotFoundError: No module named '_C_neuron'", {}, "abi-mismatch"),
    ("ModuleNotFoundError: No module named 'mmcv._ext'", {}, "framework-pair-mismatch"),
    (
        "No module named 'detectron2._C'",
        {"cuda_toolkit": "9.1.85", "builds": {"torch": {"runtime": "cuda10.2"}}, "packages": {"torch": "1.8.0"}},
        "toolkit-mismatch-extension",
    ),
    (  # whichever of its builds: none is of CUDA 9
        "No module named 'detectron2._C'",
        {"cuda_toolkit": "9.1.85", "packages": {"torch": "1.8.0"}},
        "toolkit-mismatch-extension",
    ),
    (  # one of its builds is of CUDA 11
        "No module named 'detectron2._C'",
        {"cuda_toolkit": "11.1.105", "packages": {"torch": "1.8.0"}},
        "abi-mismatch",
    ),
    # drivers: too old in the words of others
    (
        "ERROR: CUDA driver 8.0.0 is not compatible with any supported CUDA toolkit",
        {},
        "driver-too-old-for-runtime",
    ),
    ("### HCC RUNTIME ERROR: Fail to find compatible kernel ###", {}, "rocm-gfx-unsupported"),
    ("NVIDIA kernel module missing. Falling back to nouveau.", {}, "driver-module-not-loaded"),
    (
        "RuntimeError: Found NVIDIA GeForce GTX 1080 Ti which is too old to be supported by the triton GPU compiler",
        {"gpus": PASCAL, "packages": {"torch": "2.3.0", "triton": "2.3.0"}},
        "arch-too-old-for-build",
    ),
    # kernels: the device is newer than the build, or was left out of it
    (
        LISTED.format("GTX 1080 Ti with CUDA capability sm_61", "sm_50 sm_70 sm_80"),
        {"gpus": PASCAL},
        "arch-too-old-for-build",
    ),
    (
        LISTED.format("RTX 4090 with CUDA capability sm_89", "sm_37 sm_50 sm_60 sm_70"),
        {"gpus": LOVELACE},
        "arch-too-new-for-build",
    ),
    (
        "cupy.cuda.compiler.CompileException: kernel compilation failed",
        {"gpus": KEPLER, "cuda_toolkit": "12.4", "packages": {"cupy-cuda12x": "13.0.0", "cupy": "13.0.0"}},
        "extension-arch-missing",
    ),
    # wheels
    (NO_WHEEL, {"python": "3.11.1", "platform": "linux"}, "python-unsupported"),
    (NO_WHEEL, {"python": "3.13.0", "platform": "darwin"}, "python-unsupported"),
    (
        NO_WHEEL,
        {
            "python": "3.12.1",
            "platform": "darwin",
            "commands": ["pip install torch --index-url https://download.pytorch.org/whl/cu124"],
        },
        "platform-unsupported",
    ),
    # builds
    (
        "['AzureExecutionProvider', 'CPUExecutionProvider']",
        {"packages": {"onnxruntime": "1.20.1", "onnxruntime-gpu": "1.20.1"}},
        "cpu-only-build",
    ),
    ("['AzureExecutionProvider', 'CPUExecutionProvider']", {"packages": {"onnxruntime": "1.20.1"}}, "cpu-only-build"),
    ("AVX = 1 | AVX2 = 1 | F16C = 1 | BLAS = 0 | SSE3 = 1 |", {}, "cpu-only-build"),
    (
        "torch.cuda.is_available() returns False",
        {"driver": "390.48", "cuda_toolkit": "9.2", "platform": "linux"},
        "driver-too-old-for-runtime",
    ),
    (
        "torch_extensions/py310_cu117/fused_adam/fused_adam.so: cannot open shared object file",
        {},
        "host-compiler-unsupported",
    ),
    ("traps: python3[213941] trap invalid opcode ip:7f4aa44a4e94", {}, "cpu-instructions-missing"),
]


@pytest.mark.parametrize(
    ("error", "given", "code"), CASES, ids=[f"{code}-{number}" for number, (*_, code) in enumerate(CASES)]
)
def test_neighbours_are_told_apart(doctor, error, given, code):
    facts = dict(given)
    report = doctor(error=error, **facts)
    assert [finding.code for finding in report.findings][:1] == [code], [finding.code for finding in report.findings]


@pytest.mark.parametrize("platform", ["darwin", "windows"])
def test_the_c_library_is_no_matter_where_there_is_none(doctor, platform):
    report = doctor(error=NO_WHEEL, platform=platform, python="3.12.1")
    assert "glibc-too-old" not in {finding.code for finding in report.findings}


def test_a_second_distribution_of_one_module_is_a_warning_while_nothing_fails(doctor):
    report = doctor(packages={"onnxruntime": "1.20.1", "onnxruntime-gpu": "1.20.1"})
    assert {(item.code, item.severity) for item in report.findings} == {("framework-duplicate-install", "warning")}
