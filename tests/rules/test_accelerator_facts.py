"""The same message on different machines, and what the programs of accelerators print at their very start or end."""

from __future__ import annotations

import pytest

RX_7900 = [{"name": "AMD Radeon RX 7900 XTX", "vendor": "amd", "target": "gfx1100"}]
ARC = [{"name": "Intel Arc B580", "vendor": "intel"}]
ORIN = [{"name": "NVIDIA Jetson AGX Orin", "vendor": "nvidia", "target": "sm_87"}]
AMD_LINUX = {"platform": "linux", "gpus": RX_7900}
AMD_WSL = {"platform": "wsl2", "gpus": RX_7900}
BLIND = "torch.cuda.is_available() is False"
ROCM_TORCH = {"packages": {"torch": "2.4.0+rocm6.1"}}
SMI = "ERROR:root:Driver not initialized (amdgpu not found in modules)"
COLLECTIVE = "RuntimeError: Distributed package doesn't have NCCL built in"
TF_WHEEL = "ERROR: tensorflow-1.14.0-cp36-cp36m-manylinux1_x86_64.whl is not a supported wheel on this platform."
STUB = "failed call to cuInit: UNKNOWN ERROR ({})"

CONTRASTS = [
    # https://github.com/ROCm/legacy-rocm-build/issues/3072 and 3470: under WSL torch's own copy of the runtime
    (BLIND, AMD_LINUX | ROCM_TORCH, "device-permission"),
    (BLIND, AMD_WSL | ROCM_TORCH, "library-mismatch"),
    (BLIND, AMD_LINUX | {"packages": {"torch": "2.4.0+cu121"}}, "wrong-vendor-build"),
    (BLIND, AMD_LINUX | {"packages": {"torch": "2.4.0+cpu"}}, "cpu-only-build"),
    (COLLECTIVE, {"platform": "windows"}, "platform-unsupported"),
    (COLLECTIVE, {"platform": "darwin"}, "platform-unsupported"),
    (COLLECTIVE, {"platform": "linux"}, "cpu-only-build"),
    # https://github.com/tensorflow/tensorflow/issues/31058: the tag of the file name that does not fit
    (TF_WHEEL, {"platform": "linux", "arch": "aarch64", "python": "3.6.8"}, "platform-unsupported"),
    (TF_WHEEL, {"platform": "linux", "arch": "x86_64", "python": "3.8.1"}, "python-unsupported"),
    (TF_WHEEL, {"platform": "windows", "arch": "x86_64", "python": "3.6.8"}, "platform-unsupported"),
    # https://github.com/microsoft/onnxruntime/issues/24380: all fits, so pip belongs to another Python
    (
        "ERROR: onnxruntime_gpu-1.22.0-cp312-cp312-manylinux2014_aarch64.whl is not a supported wheel on this platform.",
        {"platform": "linux", "arch": "aarch64", "python": "3.12.9", "os": "ubuntu22.04"},
        "python-unsupported",
    ),
    # https://github.com/jax-ml/jax/issues/7600
    (STUB.format(34), {}, "driver-stub-loaded"),
    (STUB.format(303), {}, "no-driver"),
    # kernel modules built for another kernel: whose
    ("nvidia_uvm: Unknown symbol nvUvmInterfaceDisableAccessCntr (err -2)", {}, "no-driver"),
    ("amdgpu: disagrees about version of symbol ttm_bo_init", AMD_LINUX, "rocm-no-driver"),
    ("i915_compat: Unknown symbol drm_dp_dpcd_read (err -2)", {"gpus": ARC}, "platform-unsupported"),
    # a crash of jaxlib names the copy of TensorFlow's sources in it
    (
        "F external/org_tensorflow/tensorflow/core/tpu/tpu_executor_init_fns.inc:110] TpuTransferManager_ReadDynamicShapes not available in this library.\nAborted (core dumped)",
        {"packages": {"jax": "0.2.12"}},
        "framework-pair-mismatch",
    ),
    ("ROCk module is NOT loaded, possibly no GPU devices", AMD_LINUX, "rocm-no-driver"),
    # https://github.com/ROCm/legacy-rocm-build/issues/1794: WSL has no such module
    ("ROCk module is NOT loaded, possibly no GPU devices", AMD_WSL, "platform-unsupported"),
    ("hipErrorNoDevice", AMD_LINUX, "device-permission"),
    ("hipErrorNoDevice", {"platform": "wsl2", "rocm": "6.1.3"} | ROCM_TORCH, "library-mismatch"),
    # https://github.com/xorbitsai/xllamacpp/issues/23: no wheel brings a runtime of its own here
    ("hipErrorNoDevice", {"platform": "wsl2", "rocm": "6.1.3"}, "platform-unsupported"),
    # https://github.com/lemonade-sdk/llamacpp-rocm/issues/83: neither groups nor nodes, half of the runtime is the driver's
    ("hipErrorNoDevice", {"platform": "windows", "gpus": RX_7900}, "rocm-version-mismatch"),
    # https://github.com/NVIDIA/cuml/issues/6218: a Linux driver inside WSL answers, and knows no device
    ("Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)", {"platform": "linux"}, "devices-hidden"),
    ("Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)", {"platform": "wsl2"}, "wsl-linux-driver-installed"),
    # https://github.com/tensorflow/tensorflow/issues/61401: tensorflow has files for arm64, tensorflow-cpu had none
    (
        "ERROR: No matching distribution found for tensorflow-cpu==2.13.0",
        {"platform": "darwin", "arch": "arm64", "python": "3.10"},
        "platform-unsupported",
    ),
    (
        "ERROR: No matching distribution found for tensorflow-cpu==2.13.0",
        {"platform": "linux", "arch": "x86_64", "python": "3.12"},
        "python-unsupported",
    ),
    ("CUDA error: unknown error", {"platform": "wsl2"}, "wsl-no-gpu-device"),
    ("CUDA error: unknown error", {"platform": "linux"}, "uvm-not-ready"),
    ("CUDA error: unknown error", {"platform": "linux", "container": "docker"}, "uvm-not-ready"),
]


@pytest.mark.parametrize(("error", "facts", "code"), CONTRASTS)
def test_facts_decide_what_a_message_means(doctor, error, facts, code):
    assert doctor(error=error, **facts).findings[0].code == code


MESSAGES = [
    # amdgpu, KFD and AMD's tools
    ("kfd kfd: amdgpu: TOPAZ  not supported in kfd", AMD_LINUX, "rocm-gfx-unsupported"),
    ("[drm:amdgpu_device_init] *ERROR* early_init of IP block <gfx_v10_0> failed -19", AMD_LINUX, "rocm-no-driver"),
    ("cat: /sys/module/amdgpu/initstate: No such file or directory", AMD_LINUX, "rocm-no-driver"),
    ("AmdSmiLibraryException(34): AMDSMI_STATUS_DRIVER_NOT_LOADED", AMD_LINUX, "rocm-no-driver"),
    ("WARNING: User is missing the following required groups: render, video.", AMD_LINUX, "device-permission"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'rocminfo'", AMD_LINUX, "library-missing"),
    ("E: Unable to locate package rocm-hip-sdk", AMD_LINUX, "platform-unsupported"),
    ("rocm-hip-runtime : Depends: hsa-rocr but it is not installable", AMD_LINUX, "platform-unsupported"),
    # HIP's compiler and libraries
    (
        "clang++: error: cannot find ROCm device library; provide its path via '--rocm-path'",
        AMD_LINUX,
        "library-missing",
    ),
    ("OSError: ROCM_HOME environment variable is not set.", AMD_LINUX, "toolkit-missing"),
    ("error: '__builtin_amdgcn_mfma' needs target feature mai-insts", AMD_LINUX, "rocm-gfx-unsupported"),
    ("RuntimeError: Expected is_navi31 || is_mi to be true, but got false", AMD_LINUX, "rocm-gfx-unsupported"),
    ("NCCL WARN HIP failure 'invalid kernel file'", AMD_LINUX, "rocm-gfx-unsupported"),
    ("hipErrorPeerAccessUnsupported", AMD_LINUX, "p2p-unsupported"),
    ("Please use HIP_VISIBLE_DEVICES instead of ROCR_VISIBLE_DEVICES", AMD_LINUX, "visible-devices-conflict"),
    ('level=WARN msg="amdgpu detected, but no compatible rocm library found."', AMD_LINUX, "library-missing"),
    # Intel
    ("pyopencl.LogicError: clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR", {"gpus": ARC}, "library-missing"),
    ("level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)", {"gpus": ARC}, "out-of-memory"),
    ("ImportError: libsycl.so.8: undefined symbol: urProgramBuildExp", {"gpus": ARC}, "library-mismatch"),
    ("RuntimeError: Required aspect fp64 is not supported on the device", {"gpus": ARC}, "precision-unsupported"),
    ("[GPU] No supported devices found or unexpected error", {"gpus": ARC}, "intel-no-compute-runtime"),
    # plug-ins of torch, Ascend, TPU, MUSA
    ("RuntimeError: Failed to load the backend extension: torch_npu.", {}, "framework-pair-mismatch"),
    ("EE1001: Set device failed, invalid device.", {}, "devices-hidden"),
    ("RuntimeError: Unable to initialize backend 'tpu': INTERNAL: Failed to get global TPU topology.", {}, "no-driver"),
    ("RuntimeError: Found no MUSA driver on your system", {}, "no-driver"),
    # Windows
    ("OSError: [WinError 1455] The paging file is too small for this operation", {}, "host-memory-low"),
    ("Microsoft Visual C++ Redistributable is not installed, this may lead", {}, "windows-vc-runtime-missing"),
    ("The procedure entry point cudaGraphInit could not be located in the DLL", {}, "library-mismatch"),
    ("887A0006 DXGI_ERROR_DEVICE_HUNG", {"platform": "windows"}, "windows-tdr-timeout"),
    ("'nvidia-smi' is not recognized as an internal or external command", {"platform": "windows"}, "no-driver"),
    # macOS and Jetson
    ("RuntimeError: MPS does not support cumsum op with int64 input", {"platform": "darwin"}, "precision-unsupported"),
    ("RuntimeError: Invalid buffer size: 18.00 GB", {"platform": "darwin"}, "out-of-memory"),
    ("zsh: illegal hardware instruction  python", {"platform": "darwin"}, "cpu-instructions-missing"),
    ("NvMapMemAllocInternalTagged: 1075072515 error 12", {"l4t": "36.4.0", "gpus": ORIN}, "out-of-memory"),
]


@pytest.mark.parametrize(("error", "facts", "code"), MESSAGES)
def test_a_message_is_known(doctor, error, facts, code):
    assert doctor(error=error, **facts).findings[0].code == code


QUIET = [
    (SMI, AMD_WSL),  # AMD's tools do not work under WSL, which has no amdgpu module; the GPU does
    ("bash: nvidia-smi: command not found", {"l4t": "35.4.1", "gpus": ORIN}),
    ("SRAT table not found\nVirtual CRAT table created for CPU\nTopology: Add dGPU node [0x744c:0x1002]", AMD_LINUX),
    ("kfd kfd: amdgpu: added device 1002:744c", AMD_LINUX),
    ("Note: float64 is slow on this GPU. Install the Visual C++ Redistributable first.", {}),
    ("We support DirectX 12 devices, TPUs and NPUs; see the page on drivers.", {}),
    ("Set ROCM_HOME if your ROCm is elsewhere.", AMD_LINUX),
    ("The package rocm-hip-runtime depends on hsa-rocr.", AMD_LINUX),
]


@pytest.mark.parametrize(("text", "facts"), QUIET)
def test_what_is_normal_there_raises_no_error(doctor, text, facts):
    assert not [finding.code for finding in doctor(error=text, **facts).findings if finding.severity == "error"]


def test_a_member_of_render_is_not_told_to_join_it(doctor):
    report = doctor(error=BLIND, groups=("render", "video"), **AMD_LINUX, **ROCM_TORCH)
    assert not [finding for finding in report.findings if finding.detail.endswith("groups render and video.")]


def test_no_driver_is_told_by_amds_tools_on_plain_linux(doctor):
    assert doctor(error=SMI, **AMD_LINUX).findings[0].code == "rocm-no-driver"


NOTICE = "WARNING:absl:No GPU/TPU found, falling back to CPU. (Set TF_CPP_MIN_LOG_LEVEL=0 and rerun for more info.)"


def test_jax_on_a_mac_is_no_fault(doctor):
    """Who runs on the processor of a Mac asked for no CUDA; who calls torch.cuda did."""
    mac = {"platform": "darwin", "arch": "arm64"}
    assert not [item for item in doctor(error=NOTICE, **mac).findings if item.severity == "error"]
    assert not [item for item in doctor(error="Is CUDA available: False", **mac).findings if item.severity == "error"]
    assert doctor(error="torch.cuda.is_available() is False", **mac).findings[0].code == "macos-no-cuda"


FORCED = "Unable to initialize backend 'tpu': INTERNAL: Failed to open {}: {}: cannot open shared object file{}"


@pytest.mark.parametrize(
    ("library", "tail", "codes"),
    [
        ("libtpu.so", "", []),  # each platform is tried in turn
        ("/site-packages/libtpu/libtpu.so", " (set JAX_PLATFORMS='' to choose one)", ["library-missing"]),
    ],
)
def test_a_platform_that_was_asked_for_is_missed(doctor, library, tail, codes):
    found = doctor(error=FORCED.format(library, library, tail)).findings
    assert [item.code for item in found if item.severity == "error"] == codes


def test_a_machine_with_rocm_alone_is_not_told_to_install_an_nvidia_driver(doctor):
    def told(**facts):
        found = doctor(error="RuntimeError: Failed to infer device type", **facts).findings
        return {item.code for cause in found for item in (cause, *cause.consequences)}

    assert "no-driver" in told()
    assert "no-driver" not in told(rocm="6.4.2")
    assert "no-driver" in told(rocm="6.4.2", driver_cuda="12.4")
