"""What the sources of drivers, runtimes and plug-ins print when the environment is at fault, and what only looks so.

Each line of ``SAID`` is a message that a program's source holds; the code is the cause that the source itself names.
"""

from __future__ import annotations

import pytest

SAID = [
    # ROCr, libhsakmt and the HIP runtime
    ("HSA Error:  Incompatible kernel and userspace, Vega 20 disabled. Upgrade amdgpu.", "rocm-version-mismatch"),
    ('Failed to open /dev/dri/renderD128: Permission denied\nCheck user is in "video" group', "device-permission"),
    ("LoaderError: unsupported code object version: 6", "rocm-version-mismatch"),
    (
        "LoaderError: code object's ISA (amdgcn-amd-amdhsa--gfx90a) is not supported by the agent",
        "rocm-gfx-unsupported",
    ),
    ("amdgpu_device_get_fd not available. Please update version of libdrm", "library-mismatch"),
    ("NCCL WARN Failed to load ROCr missing symbol hsa_amd_portable_export_dmabuf", "rocm-version-mismatch"),
    ("NCCL WARN ROCm SMI init failure RSMI_STATUS_INIT_ERROR", "rocm-no-driver"),
    ("Pcie atomics not enabled, hostcall not supported", "platform-unsupported"),
    ("Failed to load COMGR library.", "library-missing"),
    ("Missing CO for these ISAs - gfx1031", "rocm-gfx-unsupported"),
    ("RuntimeError: HIP error: device kernel image is invalid", "rocm-gfx-unsupported"),
    ("Unable to open /dev/kfd read-write: Bad address", "rocm-no-driver"),
    ("AMDSMI_STATUS_INIT_ERROR - Initialization error", "rocm-no-driver"),
    ("AMDSMI_STATUS_FAIL_LOAD_SYMBOL - Fail to load symbol", "library-mismatch"),
    ("AMDSMI_STATUS_FAIL_LOAD_MODULE - Fail to load lib", "library-missing"),
    ("AMDSMI_STATUS_BUSY - Device busy", "gpu-busy-other-processes"),
    ("ERROR: Drivers not loaded (amdgpu and amd_hsmp drivers not found in modules)", "rocm-no-driver"),
    ("MIOpen Error: /MIOpen/src/hip/handlehip.cpp:90: Error getting device count", "rocm-no-driver"),
    (
        "MIOpen(HIP): Error [SetIsaName] 'amd_comgr_action_info_set_isa_name(handle, isa.c_str())' amdgcn--gfx900: INVALID_ARGUMENT (2)",
        "rocm-version-mismatch",
    ),
    ("[drm:amdgpu_init [amdgpu]] *ERROR* VGACON disables amdgpu kernel modesetting.", "rocm-no-driver"),
    ("<inline asm>:1:2: error: instruction not supported on this GPU", "rocm-gfx-unsupported"),
    ("UserWarning: DPCPP Device count is zero! (Triggered internally at Device.cpp:116.)", "intel-no-compute-runtime"),
    ("2.1.10+xpu\ntorch.xpu.device_count() returns 0", "intel-no-compute-runtime"),
    ("use DirectML instead\nUse Language: en_US\nNO GPU DETECTED: falling back to CPU", "platform-unsupported"),
    ("ck_tile/core/amd_buffer_addressing.hpp:234:26: error: invalid operand for instruction", "rocm-gfx-unsupported"),
    ("rocm-dkms depends on rock-dkms; however:\n  Package rock-dkms is not configured yet.", "rocm-no-driver"),
    # torch_npu and CANN
    ("RuntimeError: Two accelerators cannot be used at the same time in PyTorch: npu and cuda.", "wrong-vendor-build"),
    ("RuntimeError: Unsupported soc version: Ascend310P3", "platform-unsupported"),
    ("RuntimeError: Failed to find function aclrtMallocHostWithCfg", "library-mismatch"),
    ("Failed to find function aclrtStreamQuery, Please upgrade CANN version.", "library-mismatch"),
    ("method is not supported, please upgrade the HDK(driver) or CANN package.", "library-mismatch"),
    ("Please run 'source set_env.sh' in the CANN installation path.", "library-missing"),
    ("The 'ASCEND_OPP_PATH' environment variable is not set", "library-missing"),
    ("NPU function error: c10_npu::SetDevice, error code is 107001", "devices-hidden"),
    ("NPU function error: aclrtMalloc, error code is 207018", "out-of-memory"),
    ("NPU function error: aclrtSetDevice, error code is 207006", "device-permission"),
    ("NPU function error: aclrtSetDevice, error code is 207004", "no-driver"),
    ("NPU function error: aclInit, error code is 100039", "library-missing"),
    ("Current device type: A2 does not match the installed version's device type: A3", "framework-pair-mismatch"),
    # Gaudi, MUSA, MLU
    (
        "optimum-habana v1.15.0 has been validated for SynapseAI v1.19.0 but habana-frameworks v1.12.0 was found",
        "library-mismatch",
    ),
    ("habanalabs 0000:19:00.0: failed to load firmware", "no-driver"),
    ("Cannot initialize MUSA without torch_musa library.", "cpu-only-build"),
    ("MUSA driver initialization failed, you might not have a MUSA gpu.", "no-driver"),
    ("RuntimeError: No MLU devices are available", "no-driver"),
    ("OSError: NEUWARE_HOME environment variable is not set.", "toolkit-missing"),
    # TPU
    ("ABORTED: The TPU is already in use by another process", "gpu-busy-other-processes"),
    ("OSError: Failed to get TPU metadata", "no-driver"),
    # Intel
    ("RuntimeError: No XPU devices are available.", "library-missing"),
    ("AssertionError: IPEX not compiled with XPU enabled", "cpu-only-build"),
    ("ImportError: oneccl_bindings_for_pytorch not available!", "library-missing"),
    ("ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS", "device-permission"),
    ("ZE_RESULT_ERROR_UNSUPPORTED_VERSION", "library-mismatch"),
    ("ZE_RESULT_ERROR_DEVICE_LOST", "windows-tdr-timeout"),
    ("Could not load Intel Extension for Tensorflow* GPU backend, GPU will not be used.", "library-missing"),
    ("Initializing the hsa runtime failed.", "device-permission"),
    ("Unable to detect librocdxg.so", "library-missing"),
    # Jetson
    ("OSError: /usr/local/cuda/targets/aarch64-linux/lib/libcublas.so.10: file too short", "container-no-gpu"),
]


@pytest.mark.parametrize(("text", "code"), SAID, ids=[row[0][:48] for row in SAID])
def test_a_message_of_a_source_has_the_cause_that_the_source_names(doctor, text, code):
    found = [finding.code for finding in doctor(error=text).findings]
    assert found[:1] == [code], found


# The same words where nothing is wrong: advice, other numbers, another program, a check that passed.
SOUND = [
    "Upgrade amdgpu when a new release of ROCm is out.",
    'The user is in the "video" group and in the group "render".',
    "LoaderError is a class of Jinja2.",
    "amdgpu_device_get_fd is available 0x7f00",
    "PCIe atomics are enabled on this slot.",
    "AMDSMI_STATUS_SUCCESS AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported",
    "amdgpu and amd_hsmp drivers found in modules",
    "error: invalid operand for instruction in my own assembler for the Z80",
    "Package rock-dkms is configured.",
    "It falls back to the processor if PyTorch not compiled with CUDA support is found.",
    "The device count is 2. XPU devices found: 2. Intel Extension for Tensorflow* GPU backend is loaded.",
    "librocdxg.so was found in /opt/rocm/lib",
    "Could not find a CUDA toolkit; the fallback of the fonts is serif.",
    "Upgrade your CANN when you like; the newest is 9.0.",
    "NPU function error: aclrtSynchronizeStream, error code is 507015",
    "NPU function error: aclrtMemcpy, error code is 107002",
    "HTTP error code is 107001 in our own numbering of tickets: 2070060",
    "ASCEND_HOME_PATH=/usr/local/Ascend/ascend-toolkit/latest",
    "optimum-habana v1.15.0 has been validated for SynapseAI v1.19.0.",
    "habanalabs 0000:19:00.0: Loaded firmware 1.19.0",
    "MUSA driver version: 2.7.0, MUSA available: True",
    "MLU devices are available: 8",
    "NEUWARE_HOME=/usr/local/neuware",
    "The TPU is in use: 8 chips, 95 % duty cycle",
    "XPU devices are available: 2",
    "ZE_RESULT_SUCCESS",
    "ls /usr/local/cuda/targets/aarch64-linux/lib/libcublas.so.10",
    "DPCPP Device count is 2",
    "2.1.10+xpu\ntorch.xpu.device_count() returns 2",
    "We build CUDA PyTorch and XPU PyTorch in two images.",
    "No supported Nvidia GPU found\nuse DirectML instead\nUse Language: en_US",
    "Ollama is using my AMD Radeon RX 9070 XT for inference.",
    "ComfyUI runs well on my RX 7900 XTX",
    "The AI of this game does not use AMD FSR",
]


@pytest.mark.parametrize("text", SOUND)
def test_the_same_words_on_a_sound_machine_raise_no_error(doctor, text):
    findings = doctor(error=text).findings
    assert not [finding.code for finding in findings if finding.severity == "error"]
    assert not [finding.code for finding in findings if finding.confidence != "possible"]
