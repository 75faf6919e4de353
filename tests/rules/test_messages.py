"""Whole cases: a message as programs print it, the facts around it, and the cause that a reader would name."""

from __future__ import annotations

import pytest

RTX_3090 = [{"name": "NVIDIA GeForce RTX 3090"}]
RTX_5090 = [{"name": "NVIDIA GeForce RTX 5090"}]
H100 = [{"name": "NVIDIA H100 80GB HBM3"}]
T4 = [{"name": "Tesla T4"}]
K80 = [{"name": "Tesla K80"}]
GTX_1080 = [{"name": "NVIDIA GeForce GTX 1080"}]
RX_6700 = [{"name": "AMD Radeon RX 6700 XT"}]
SO = "cannot open shared object file: No such file or directory"

CASES = [
    # the driver
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", {"gpus": RTX_3090}, "no-driver"),
    ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic", {}, "no-driver"),
    ("pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded", {}, "no-driver"),
    ("modprobe: ERROR: could not insert 'nvidia': Required key not available", {}, "driver-secure-boot-unsigned"),
    (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.183",
        {"driver": "535.171.04"},
        "driver-library-mismatch",
    ),
    (
        "E tensorflow/compiler/xla/stream_executor/cuda/cuda_diagnostics.cc:312] kernel version 510.108.3 does not match DSO version 515.65.1",
        {},
        "driver-library-mismatch",
    ),
    (
        "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11070).",
        {},
        "driver-too-old-for-runtime",
    ),
    (
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
        {"driver": "535.54.03"},
        "driver-too-old-for-runtime",
    ),
    (
        "CUDA error: API call is not supported in the installed CUDA driver",
        {"driver": "450.80"},
        "driver-too-old-for-runtime",
    ),
    ("CUDA error 34: CUDA driver is a stub library", {}, "driver-stub-loaded"),
    (
        "CUDA error 804: forward compatibility was attempted on non supported HW",
        {"gpus": RTX_3090},
        "forward-compat-conflict",
    ),
    (
        "system has unsupported display driver / cuda driver combination",
        {"packages": {"cuda-compat-12-4": "550.54"}},
        "forward-compat-conflict",
    ),
    (
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        {"gpus": H100},
        "fabric-manager-down",
    ),
    (
        "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment",
        {"driver": "535.54"},
        "uvm-not-ready",
    ),
    ("failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error", {}, "uvm-not-ready"),
    ("failed call to cuInit: UNKNOWN ERROR (303)", {}, "no-driver"),
    (
        "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85) requires use of the NVIDIA open kernel modules",
        {},
        "driver-open-module-required",
    ),
    (
        "all CUDA-capable devices are busy or unavailable",
        {"gpus": [{"vendor": "nvidia", "compute_mode": "exclusive_process"}]},
        "gpu-compute-mode-exclusive",
    ),
    # containers
    (
        'docker: Error response from daemon: could not select device driver "nvidia" with capabilities: [[gpu]].',
        {},
        "container-no-gpu",
    ),
    ("docker: Error response from daemon: Unknown runtime specified nvidia.", {}, "container-no-gpu"),
    ("failed to discover GPU vendor from CDI: no known GPU vendor found", {}, "container-no-gpu"),
    ("WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.", {}, "container-no-gpu"),
    (
        f"nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: {SO}: unknown",
        {},
        "container-no-gpu",
    ),
    (
        f"nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: {SO}: unknown",
        {"driver": None, "gpus": [{"vendor": "nvidia", "driver": "none"}]},
        "no-driver",
    ),
    (
        "requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version",
        {"driver": "535.54"},
        "container-requires-newer-driver",
    ),
    (
        "Failed to initialize NVML: Insufficient Permissions",
        {"device_nodes_denied": ["/dev/nvidia0"]},
        "device-permission",
    ),
    (
        "RuntimeError: unable to write to file </torch_29_1234_0>: No space left on device (28)",
        {"container": "docker"},
        "shm-too-small",
    ),
    (
        "NCCL WARN Call to posix_fallocate failed : No space left on device",
        {"container": "docker", "shm_mib": 64},
        "shm-too-small",
    ),
    ("exec /usr/bin/python: exec format error", {"arch": "aarch64"}, "container-image-arch"),
    (
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        {"engine_status": "stopped"},
        "docker-daemon-down",
    ),
    # AMD
    ("Unable to open /dev/kfd read-write: Permission denied", {}, "device-permission"),
    ("ROCk module is NOT loaded, possibly no GPU devices", {}, "rocm-no-driver"),
    ("HIP error: invalid device function", {"gpus": RX_6700, "packages": {"torch": "2.3.0"}}, "rocm-gfx-unsupported"),
    (
        "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!",
        {"gpus": RX_6700},
        "rocm-gfx-unsupported",
    ),
    (
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: No such file for GPU arch : gfx1035",
        {},
        "rocm-gfx-unsupported",
    ),
    (
        f"ImportError: libamdhip64.so.6: {SO}",
        {"packages": {"torch": "2.4.0+rocm6.1"}, "gpus": RX_6700},
        "library-missing",
    ),
    # kernel targets
    (
        (
            "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
            "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90."
        ),
        {},
        "arch-too-new-for-build",
    ),
    (
        "Found GPU0 Quadro K4000 which is of cuda capability 3.0.\nPyTorch no longer supports this GPU because it is too old.",
        {},
        "arch-too-old-for-build",
    ),
    (
        "CUDA error: no kernel image is available for execution on the device",
        {"gpus": GTX_1080, "packages": {"torch": "2.8.0+cu128"}},
        "arch-too-old-for-build",
    ),
    (
        "CUDA error: no kernel image is available for execution on the device",
        {"gpus": H100, "packages": {"torch": "1.12.1+cu113"}},
        "arch-too-new-for-build",
    ),
    (
        "Triton only supports devices of CUDA Capability >= 7.0, but your device is of CUDA capability 6.1",
        {"gpus": GTX_1080},
        "arch-too-old-for-build",
    ),
    ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", {"gpus": T4}, "arch-too-old-for-build"),
    (
        "Ignoring visible gpu device (device: 0, name: GeForce 840M, compute capability: 3.0) with Cuda compute capability 3.0.",
        {},
        "arch-too-old-for-build",
    ),
    (
        "ptxas fatal   : Value 'sm_121' is not defined for option 'gpu-name'",
        {"gpus": [{"name": "NVIDIA GB10"}]},
        "arch-too-new-for-build",
    ),
    (
        "training does not start",
        {"gpus": K80, "driver": "470.161", "packages": {"torch": "2.1.0+cu121"}},
        "arch-too-old-for-build",
    ),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5.",
        {"gpus": T4},
        "precision-unsupported",
    ),
    ("ValueError: type fp8e4nv not supported in this architecture.", {"gpus": RTX_3090}, "precision-unsupported"),
    (
        "CUDA driver version is insufficient for CUDA runtime version",
        {"gpus": K80, "driver": "470.256.02"},
        "arch-too-old-for-build",
    ),
    (
        "CUDA Setup failed: libbitsandbytes_cuda117_nocublaslt.so not found",
        {"gpus": GTX_1080},
        "arch-too-old-for-build",
    ),
    # builds
    (
        "AssertionError: Torch not compiled with CUDA enabled",
        {"gpus": RTX_3090, "packages": {"torch": "2.1.0"}},
        "cpu-only-build",
    ),
    ("AssertionError: Torch not compiled with CUDA enabled", {"platform": "darwin", "arch": "arm64"}, "macos-no-cuda"),
    (
        "WARNING: No GPU/TPU found, falling back to CPU.",
        {"packages": {"jax": "0.3.25", "jaxlib": "0.3.25"}},
        "cpu-only-build",
    ),
    ("The installed version of bitsandbytes was compiled without GPU support.", {}, "cpu-only-build"),
    (
        "torch.cuda.is_available() -> False",
        {"gpus": RTX_3090, "packages": {"torch": "2.5.1+rocm6.2"}},
        "wrong-vendor-build",
    ),
    (
        "torch.cuda.is_available() -> False",
        {"gpus": RTX_3090, "driver": "470.57.02", "packages": {"torch": "2.5.1+cu124"}},
        "driver-too-old-for-runtime",
    ),
    # pairs and conflicts
    (
        "RuntimeError: operator torchvision::nms does not exist",
        {"packages": {"torch": "2.4.0", "torchvision": "0.18.0"}},
        "framework-pair-mismatch",
    ),
    (
        "RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA major versions.",
        {"packages": {"torch": "2.4.0+cu121", "torchvision": "0.19.0+cu118"}},
        "framework-pair-mismatch",
    ),
    (
        "jaxlib version 0.4.30 is newer than and incompatible with jax version 0.4.20. Please update",
        {"packages": {"jax": "0.4.20", "jaxlib": "0.4.30"}},
        "framework-pair-mismatch",
    ),
    (
        "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1",
        {"packages": {"numpy": "2.0.1", "torch": "2.1.0"}},
        "framework-pair-mismatch",
    ),
    ("ModuleNotFoundError: No module named 'torch._six'", {"packages": {"torch": "2.0.0"}}, "framework-pair-mismatch"),
    (
        "ImportError: flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
        {"packages": {"torch": "2.3.1"}},
        "abi-mismatch",
    ),
    (
        "ImportError: libtorchaudio.so: undefined symbol: _ZNK3c107SymBool10guard_boolEPKcl",
        {"packages": {"torch": "1.13.1"}},
        "framework-pair-mismatch",
    ),
    (
        (
            "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. "
            "torch 2.4.0 requires nvidia-cudnn-cu12==9.1.0.70, but you have nvidia-cudnn-cu12 8.9.2.26; jax is installed."
        ),
        {},
        "frameworks-conflict",
    ),
    # libraries
    (
        f"Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: {SO}",
        {"cuda_toolkit": "12.2"},
        "library-missing",
    ),
    (f"ImportError: libcublas.so.11: {SO}", {}, "library-missing"),
    (f"OSError: libcuda.so.1: {SO}", {"container": "docker", "device_nodes": []}, "container-no-gpu"),
    (
        "RuntimeError: Library cublas64_12.dll is not found or cannot be loaded",
        {"platform": "windows"},
        "library-missing",
    ),
    (
        "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: " + SO,
        {"cudnn": "9.1.0"},
        "library-missing",
    ),
    ("Loaded runtime CuDNN library: 8.0.5 but source was compiled with: 8.1.0.", {}, "library-mismatch"),
    (
        "Loaded runtime CuDNN library: 7301 (compatibility version 7300) but source was compiled with 7003 (compatibility version 7000).",
        {},
        "library-mismatch",
    ),
    (
        "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12",
        {},
        "library-mismatch",
    ),
    ("tensorflow.python.framework.errors_impl.NotFoundError: No algorithm worked!", {}, "library-mismatch"),
    (f"libnvidia-opencl.so.1: {SO}", {"container": "docker"}, "container-no-gpu"),
    ("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", {}, "library-mismatch"),
    (
        "ImportError: /lib64/libm.so.6: version `GLIBC_2.29' not found (required by x)",
        {"glibc": "2.17"},
        "glibc-too-old",
    ),
    (
        "Illegal instruction (core dumped)",
        {"cpu_flags": ["sse4_2"], "packages": {"tensorflow": "2.12.0"}, "arch": "x86_64"},
        "cpu-instructions-missing",
    ),
    # installing
    (
        "ERROR: No matching distribution found for torch==1.7.0",
        {"python": "3.12.1", "platform": "linux"},
        "python-unsupported",
    ),
    (
        "ERROR: torch-1.13.1+cu117-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.",
        {"python": "3.8.10"},
        "python-unsupported",
    ),
    (
        "ERROR: torch-2.6.0-cp310-cp310-manylinux_2_28_x86_64.whl is not a supported wheel on this platform.",
        {"python": "3.10.2", "glibc": "2.17"},
        "glibc-too-old",
    ),
    (
        "ERROR: Could not find a version that satisfies the requirement triton==2.1.0 (from versions: none)",
        {"platform": "windows", "python": "3.10"},
        "platform-unsupported",
    ),
    (
        "RuntimeError: The MPS backend is supported on MacOS 13.0+.",
        {"platform": "darwin", "os": "macos12.7"},
        "platform-unsupported",
    ),
    # toolkits
    ("nvcc fatal   : Unsupported gpu architecture 'compute_89'", {"cuda_toolkit": "11.5"}, "toolkit-too-old-for-arch"),
    (
        "The detected CUDA version (12.4) mismatches the version that was used to compile\nPyTorch (11.8).",
        {},
        "toolkit-mismatch-extension",
    ),
    (
        "#error -- unsupported GNU version! gcc versions later than 11 are not supported!",
        {"gcc": "13.2.0"},
        "host-compiler-unsupported",
    ),
    (
        "OSError: CUDA_HOME environment variable is not set.",
        {"cuda_toolkit": None, "commands": ["pip install flash-attn"]},
        "toolkit-missing",
    ),
    # use
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB.", {}, "out-of-memory"),
    ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1073741824 bytes.", {}, "out-of-memory"),
    (
        "RuntimeError: No CUDA GPUs are available",
        {"env": {"CUDA_VISIBLE_DEVICES": "3"}, "gpus": RTX_3090},
        "devices-hidden",
    ),
    (
        "CUDA error: invalid device ordinal",
        {"env": {"CUDA_VISIBLE_DEVICES": "0"}, "gpus": RTX_3090 * 4},
        "devices-hidden",
    ),
    ("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", {}, "gpu-xid-fatal"),
    ("CUDA error: uncorrectable ECC error encountered", {}, "gpu-ecc-uncorrectable"),
]

NOISE = [
    "successful NUMA node read from SysFS had negative value (-1), but there must be at least one NUMA node, so returning NUMA node zero",
    "Unable to register cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: cannot open shared object file",
    "Unable to initialize backend 'rocm': NOT_FOUND: Could not find registered platform with name: \"rocm\".",
    "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_40.kdb Performance may degrade.",
    "TF-TRT Warning: Could not find TensorRT",
    "This TensorFlow binary is optimized to use available CPU instructions in performance-critical operations.",
    "oneDNN custom operations are on. You may see slightly different numerical results",
    "Could not load dynamic library 'libnvinfer_plugin.so.7'; dlerror: libnvinfer_plugin.so.7",
]


@pytest.mark.parametrize(
    ("error", "given", "code"), CASES, ids=[f"{code}-{number}" for number, (*_, code) in enumerate(CASES)]
)
def test_the_first_finding_is_the_cause(doctor, error, given, code):
    report = doctor(error=error, **given)
    assert [finding.code for finding in report.findings][:1] == [code], [finding.code for finding in report.findings]


@pytest.mark.parametrize("error", NOISE)
def test_noise_is_recognised_and_raises_no_error(doctor, error):
    report = doctor(error=error, gpus=RTX_3090, driver="550.54.14", packages={"torch": "2.5.1+cu124"})
    assert report.ok
    assert not any(item.what == "the error text" for item in report.unchecked)


@pytest.mark.parametrize(
    "error",
    [
        "TypeError: unsupported operand type(s)",
        "loss became nan after 300 steps",
        "I read that bfloat16 is only supported on GPUs with compute capability of at least 8.0, but here it runs",
        "x" * 5000,
    ],
)
def test_a_message_that_is_none_of_ours_is_not_explained_away(doctor, error):
    report = doctor(error=error)
    assert report.findings == ()
    assert any("no message in it is known" in item.why for item in report.unchecked)


def test_that_nvcc_failed_adds_no_guess_to_nvcc_s_own_error(doctor):
    failed = "error: command '/usr/local/cuda/bin/nvcc' failed with exit code 1"
    report = doctor(error=f"nvcc fatal   : Unsupported gpu architecture 'compute_120'\n{failed}", cuda_toolkit="12.4")
    assert [finding.code for finding in report.findings] == ["toolkit-too-old-for-arch"]
    assert doctor(error=failed).findings


def test_that_no_gpu_is_seen_adds_no_guess_to_a_certain_cause(doctor):
    blind = "return torch._C._cuda_getDeviceCount() > 0"
    mac = "sys.platform           darwin\nGPU available          No: torch.cuda.is_available() == False"
    codes = [finding.code for finding in doctor(error=mac, platform="darwin").findings]
    assert codes == ["macos-no-cuda"]
    codes = [finding.code for finding in doctor(error=blind, driver="535.216.03", fabric_manager="535.183.01").findings]
    assert codes == ["fabric-manager-version-mismatch"]
    assert [finding.code for finding in doctor(error=blind).findings][:1] == ["no-driver"]


def test_what_only_a_rocm_build_prints_makes_no_torch_one_for_cuda(doctor):
    card = [{"name": "AMD Radeon RX 6800M", "vendor": "amd", "target": "gfx1031"}]
    facts = {"platform": "linux", "arch": "x86_64", "python": "3.11", "packages": {"torch": "2.4.1"}, "gpus": card}
    assert "wrong-vendor-build" in {one.code for one in doctor(**facts).findings}
    found = doctor(error="RuntimeError: HIP error: invalid device function", **facts).findings
    assert [one.code for one in found] == ["rocm-gfx-unsupported"]
