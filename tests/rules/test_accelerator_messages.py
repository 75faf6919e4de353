"""Messages of GPUs that are not NVIDIA's and of systems other than plain Linux, each with the cause a reader would name.

Where a row cites a thread, the message was printed there; its wording is the program's own.
"""

from __future__ import annotations

import pytest

RX_7900 = [{"name": "AMD Radeon RX 7900 XTX", "vendor": "amd", "target": "gfx1100"}]
RX_580 = [{"name": "AMD Radeon RX 580", "vendor": "amd", "target": "gfx803"}]
MI250 = [{"name": "AMD Instinct MI250X", "vendor": "amd", "target": "gfx90a"}]
ARC = [{"name": "Intel Arc A770", "vendor": "intel"}]
SO = "cannot open shared object file: No such file or directory"
WSL_INFO = "WSL environment detected.\nhsa api call failure at: src/rocminfo/rocminfo.cc:1306\n{}Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES"
KFD = "ROCk module is loaded\nUnable to open /dev/kfd read-write: {}"

CASES = [
    # the compute driver: refused, absent, not built
    ("kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0", {"gpus": RX_580}, "platform-unsupported"),
    (KFD.format("Operation not permitted"), {"gpus": RX_7900}, "device-permission"),
    ('joe is not member of "render" group, the default DRM access group', {"gpus": RX_7900}, "device-permission"),
    ('root is not member of "nogroup" group, the default DRM access group', {}, "device-permission"),
    (
        "Radeon card detected, but permissions not set up properly.  Either run ollama as root, or add you user account to the render group.",
        {},
        "device-permission",
    ),
    ('msg="amdgpu is not supported" gpu=0 gpu_type=gfx1031 library=C:\\Ollama\\rocm', {}, "rocm-gfx-unsupported"),
    (
        "Loading new amdgpu-6.8.5-2041575.24.04 DKMS files...\nBuilding for 6.11.0-8-generic\nError! Bad return status for module build on kernel: 6.11.0-8-generic (x86_64)",
        {"gpus": RX_7900},
        "rocm-no-driver",
    ),
    ("Error! Bad return status for module build on kernel: 6.11.0-8-generic (x86_64)", {}, "no-driver"),
    ("amdgpu 0000:03:00.0: amdgpu: Fatal error during GPU init", {"gpus": RX_7900}, "rocm-no-driver"),
    # HIP and its libraries
    ("RuntimeError: HW Exception by GPU node-1 reason :GPU Hang", {"gpus": RX_580}, "rocm-gfx-unsupported"),
    ("ImportError: /opt/rocm/lib/libMIOpen.so.1: undefined symbol: _ZN2ck16tensor_operation", {}, "library-mismatch"),
    (f"ImportError: libMIOpen.so.1: {SO}", {"gpus": RX_7900}, "library-missing"),
    (f"ImportError: libmcwamp.so.3: {SO}", {"rocm": "3.5"}, "library-missing"),
    ("Attempting to call a CK SDPA kernel on unsupported hardware", {"gpus": RX_7900}, "rocm-gfx-unsupported"),
    (
        "RuntimeError: DeviceGroupedMultiheadAttentionForward_Xdl_CShuffle_V2<256, 128, 32> does not support this problem",
        {},
        "rocm-gfx-unsupported",
    ),
    ("FlashAttention currently only supports MI100 and RX7000 and above", {}, "rocm-gfx-unsupported"),
    (
        "MIOpen(HIP): Warning [BuildHip] /tmp/comgr/input/naive_conv.cpp:39:10: fatal error: 'limits' file not found\n1 error generated when compiling for gfx908.",
        {"gpus": MI250},
        "library-missing",
    ),
    (
        "ck_tile/core.hpp:66:19: error: static assertion failed\n1 error generated when compiling for gfx1100.",
        {},
        "rocm-gfx-unsupported",
    ),
    ("RuntimeError: Configured ROCm binary not found at libbitsandbytes_rocm84.so", {}, "library-missing"),
    (
        "RuntimeError: Unknown backend rocm. Available backends are ['cpu']",
        {"packages": {"jax": "0.9.1"}},
        "cpu-only-build",
    ),
    (
        "ModuleNotFoundError: No module named 'amdsmi'",
        {"packages": {"vllm": "0.8.0"}, "gpus": MI250},
        "library-missing",
    ),
    (
        "RuntimeError: Failed to infer device type",
        {"packages": {"torch": "2.7.0"}, "gpus": RX_7900},
        "wrong-vendor-build",
    ),
    ("libamdhip64.so: segmentation fault in the container", {"gpus": RX_7900, "rocm": "5.5"}, "rocm-gfx-unsupported"),
    ("XLA: can't find ld.lld", {"gpus": RX_7900, "packages": {"jaxlib": "0.4.28"}}, "toolkit-missing"),
    (
        "Intel MKL FATAL ERROR: This system does not meet the minimum requirements for use of the Intel(R) Math Kernel Library.",
        {"platform": "darwin"},
        "cpu-instructions-missing",
    ),
    # bitsandbytes: a release without ROCm libraries beside AMD's card, and no library for torch's CUDA beside NVIDIA's
    (
        "Could not load bitsandbytes native library: 'NoneType' object has no attribute 'split'",
        {"gpus": RX_7900},
        "wrong-vendor-build",
    ),
    (
        "CUDA VERSION MISMATCH\nRequested CUDA version:          13.0\nDetected PyTorch CUDA version:   13.0",
        {"driver": "580.65.06"},
        "library-missing",
    ),
    # ROCm beside Windows
    (WSL_INFO.format(""), {"platform": "wsl2", "gpus": RX_7900}, "platform-unsupported"),
    ("ROCR: unsupported GPU\n" + WSL_INFO.format(""), {"platform": "wsl2", "gpus": RX_7900}, "rocm-gfx-unsupported"),
    # Intel
    ("AssertionError: Torch not compiled with XPU enabled", {"gpus": ARC}, "cpu-only-build"),
    ("RuntimeError: PyTorch is not linked with support for xpu devices", {}, "cpu-only-build"),
    ("RuntimeError: No XPU devices are available.", {"packages": {"torch": "2.7.1+cpu"}}, "cpu-only-build"),
    (
        f"ZE_LOADER_DEBUG_TRACE:Load Library of libze_intel_gpu.so.1 failed with libze_intel_gpu.so.1: {SO}",
        {},
        "library-missing",
    ),
    (f"ImportError: libmkl_sycl_blas.so.4: {SO}", {}, "library-missing"),
    ("libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", {}, "library-mismatch"),
    (
        "ERROR! Intel® Extension for PyTorch* needs to work with PyTorch 2.3.*, but PyTorch 2.1.0 is found.",
        {},
        "framework-pair-mismatch",
    ),
    # Windows
    (
        "ImportError: DLL load failed: The specified module could not be found.",
        {"platform": "windows"},
        "library-missing",
    ),
    ("error loading fbgemm.dll", {"platform": "windows"}, "library-missing"),
    ("OSError: [WinError 193] %1 is not a valid Win32 application", {"platform": "windows"}, "platform-unsupported"),
    ("tfdml_plugin.dll not found", {"packages": {"tensorflow-cpu": "2.12.0"}}, "framework-pair-mismatch"),
    # WSL
    (
        "Failed to initialize NVML: GPU access blocked by the operating system",
        {"platform": "wsl2"},
        "wsl-no-gpu-device",
    ),
    ("ls: cannot access '/dev/dxg': No such file or directory", {"platform": "wsl2"}, "wsl-no-gpu-device"),
    # Apple
    (
        "NotFoundError: dlopen(libmetal_plugin.dylib, 0x0006): Symbol not found: __ZN3tsl8internal10LogMessageC1EPKcii",
        {"platform": "darwin"},
        "framework-pair-mismatch",
    ),
    (
        "dlopen(libmetal_plugin.dylib, 6): Symbol not found: _OBJC_CLASS_$_MPSGraph\n  Referenced from: libmetal_plugin.dylib (which was built for Mac OS X 12.0)",
        {"platform": "darwin"},
        "platform-unsupported",
    ),
    (
        "(mach-o file, but is an incompatible architecture (have (x86_64), need (arm64e)))",
        {"platform": "darwin", "arch": "arm64"},
        "platform-unsupported",
    ),
    ("Is MPS available? False", {"platform": "darwin", "os": "macos12.2.1"}, "platform-unsupported"),
    # Jetson
    ("NvRmMemInitNvmap failed with Permission denied", {"arch": "aarch64"}, "device-permission"),
    ("NvRmMemInitNvmap failed with No such file or directory", {"container": "docker"}, "container-no-gpu"),
    # Ascend, Gaudi, TPU, others
    ("torch_npu/lib/libtorch_npu.so: undefined symbol: _ZN3atb15CreateOperationINS_5infer", {}, "library-mismatch"),
    (f"OSError: libascendcl.so: {SO}", {}, "library-missing"),
    ("dcmi module initialize failed. ret is -8005", {"container": "docker"}, "device-permission"),
    ("RuntimeError: synStatus=26 [Generic failure] Device acquire failed.", {}, "device-permission"),
    ("TPU initialization failed: open(/dev/accel0): Operation not permitted", {}, "device-permission"),
    (f"ImportError: libmusart.so.4: {SO}", {}, "library-missing"),
]


@pytest.mark.parametrize(("error", "facts", "code"), CASES)
def test_a_message_has_its_cause_first(doctor, error, facts, code):
    found = [finding.code for finding in doctor(error=error, **facts).findings]
    assert found[:1] == [code], found


QUIET = [
    "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link",
    "/opt/amdgpu/share/libdrm/amdgpu.ids: No such file or directory",
    'level=WARN msg="ollama recommends" error="amdgpu version file missing: /sys/module/amdgpu/version stat: no such file or directory"',
    "NCCL INFO NET/Plugin : dlerror=librccl-net.so: cannot open shared object file No plugin found (librccl-net.so), using internal implementation",
    "MIOpen(HIP): Warning [IsEnoughWorkspace] [GetSolutionsFallback WTI] Solver <GemmFwdRest>, workspace required: 1280",
    "UserWarning: Attempting to use hipBLASLt on a unsupported architecture! Overriding blas backend to hipblas",
    "UserWarning: Flash Efficient attention on Current AMD GPU is still experimental.",
    "misc dxg: dxgk: dxgkio_is_feature_enabled: Ioctl failed: -22",
    # words of the field in prose, advice and quoted commands
    "To use ROCm add yourself to the groups that your distribution names and reboot, then run rocminfo.",
    "Please consult the documentation of JetPack and of L4T before you flash the board.",
    "docker run --device /dev/kfd --device /dev/dri --group-add video rocm/pytorch:latest",
    "We tested on MI250, MI300X and RX 7900 XTX; results for gfx1100 are in the table.",
    "The NPU and the TPU are described in chapter 4; DirectML is described in chapter 5.",
    "export HSA_ENABLE_SDMA=0 PYTORCH_ENABLE_MPS_FALLBACK=1",
    "DirectML device enumeration: found 1 compatible adapters.",
    "Level Zero and oneAPI are installed, XPU available: True",
]


@pytest.mark.parametrize("text", QUIET)
def test_noise_and_prose_raise_no_error(doctor, text):
    worst = [finding.code for finding in doctor(error=text).findings if finding.severity == "error"]
    assert not worst


ORIN = [{"name": "NVIDIA Jetson AGX Orin", "vendor": "nvidia", "target": "sm_87"}]
NEWER = "nvcr.io/nvidia/l4t-ml:r34.1.0-py3"


@pytest.mark.parametrize(
    ("system", "image", "code"),
    [
        ("L4T r32.6 (JetPack 4.6)", NEWER, "container-requires-newer-driver"),
        ("JetPack 4.6", NEWER, "container-requires-newer-driver"),
        ("L4T 36.4.0 (JetPack 6.1)", "dustynv/l4t-ml:r35.4.1", "jetson-jetpack-mismatch"),
        ("JetPack 5.1.2", "dustynv/l4t-ml:r35.4.1", None),
        ("Ubuntu 20.04", "dustynv/l4t-ml:r35.4.1", None),
    ],
)
def test_a_jetson_is_known_by_the_name_of_its_system(doctor, system, image, code):
    report = doctor(platform="linux", arch="aarch64", os_name=system, image=image, container="docker", gpus=ORIN)
    errors = [finding.code for finding in report.findings if finding.severity == "error"]
    assert errors[:1] == ([code] if code else [])


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("my Nano (Jetpack 4.4 [L4T 32.4.3])", "32.4.3"),
        ("it works on JetPack 6.1 and not on JetPack 5.1.2", ""),
        ("both JetPack 6.1 and JetPack 6.2 fail", "36.4"),
        ("Linux for Tegra R36.4.0", "36.4.0"),
        ("JetPack 99.9", ""),
        ("a jet pack is a device", ""),
    ],
)
def test_a_release_is_read_only_where_it_is_one(matrix, text, release):
    from compat.reading.jetson_release import stated_l4t

    assert stated_l4t(text, matrix) == release


@pytest.mark.parametrize(
    ("kernel", "release"),
    [
        ("5.15.148-tegra", "36"),
        ("5.10.192-tegra", "35"),
        ("4.9.253-tegra", "32"),
        ("4.4.38-tegra", None),  # older than the documents that were read
        ("5.15.148-generic", None),
        ("5.15.0-tegra-something-else-is-written-here", "36"),
        ("", None),
    ],
)
def test_a_jetson_is_known_by_its_kernel(matrix, kernel, release):
    from compat.facts import host
    from compat.reading.messages import Hearing
    from compat.reading.preparation import prepared

    assert prepared(host(kernel=kernel), Hearing(), matrix, ()).l4t == release


def test_the_name_of_the_system_stands_before_its_kernel(matrix):
    from compat.facts import host
    from compat.reading.messages import Hearing
    from compat.reading.preparation import prepared

    facts = host(kernel="5.15.148-tegra", os_name="Jetson Linux, L4T R36.4.0", platform="linux")
    assert prepared(facts, Hearing(), matrix, ()).l4t == "36.4.0"


def test_a_board_that_was_read_stands_before_what_is_written(doctor):
    report = doctor(error="on JetPack 4.6", l4t="36.4.0", image="dustynv/l4t-ml:r36.2.0", container="docker", gpus=ORIN)
    assert not [finding for finding in report.findings if finding.severity == "error"]


FALSE = "torch.cuda.is_available() is False"


@pytest.mark.parametrize(
    ("env", "hidden"),
    [
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, True),
        ({"ROCR_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "1"}, True),
        ({"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "2"}, True),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, False),
        ({"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "1"}, False),
        ({"ROCR_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0,5"}, False),
    ],
)
def test_two_masks_that_leave_nothing_hide_every_gpu(doctor, env, hidden):
    report = doctor(error=FALSE, env=env, gpus=MI250 * 4)
    told = [finding.severity for finding in report.findings if "renumbers" in finding.detail]
    assert told == (["error"] if hidden else [])


def test_a_message_whose_causes_are_all_refuted_is_told_last(doctor):
    report = doctor(error=WSL_INFO.format(""), platform="wsl2", gpus=RX_7900)
    refuted = [finding for finding in report.findings if finding.code == "device-permission"]
    assert all(finding.severity == "info" for finding in refuted)


CONTRASTS = [
    ("libMIOpen.so.1: cannot open shared object file", "library-missing"),
    ("libMIOpen.so.1: undefined symbol: _ZN2ck6tensor", "library-mismatch"),
    ("/tmp/comgr/input/conv.cpp:9:10: fatal error: 'limits' file not found", "library-missing"),
    ("1 error generated when compiling for gfx1100.", "rocm-gfx-unsupported"),
]


@pytest.mark.parametrize(("error", "code"), CONTRASTS)
def test_the_end_of_a_line_decides(doctor, error, code):
    assert doctor(error=f"ImportError: {error}").findings[0].code == code


@pytest.mark.parametrize(
    ("version", "told"), [("2.5.1", "possible"), ("2.5.1+rocm6.2", ""), ("2.5.1+cu124", "certain")]
)
def test_a_bare_version_beside_an_amd_card_may_be_the_default_indexs_build_for_nvidia(doctor, version, told):
    """It computes on the CPU without a word; a distribution's own build for ROCm has a bare version too."""
    report = doctor(platform="linux", arch="x86_64", python="3.12", gpus=RX_7900, packages={"torch": version})
    found = {one.code: one.confidence for one in report.findings}
    assert found.get("wrong-vendor-build", "") == told


@pytest.mark.parametrize(("plugin", "told"), [({}, "likely"), ({"jax-cuda12-plugin": "0.5.0"}, "")])
def test_jax_without_its_plug_in_computes_on_the_cpu(doctor, plugin, told):
    """Its GPU code is in a package of its own, which a whole list of packages would hold."""
    card = {"name": "NVIDIA A100-SXM4-40GB", "vendor": "nvidia", "target": "sm_80"}
    listed = {"jax": "0.5.0", "jaxlib": "0.5.0", "numpy": "2.1.0", "scipy": "1.14.0", **plugin}
    report = doctor(platform="linux", arch="x86_64", driver="580.65.06", gpus=[card], packages=listed)
    assert {one.code: one.confidence for one in report.findings}.get("cpu-only-build", "") == told
    assert any("carries code for sm_80" in text for text in report.fine) == bool(plugin)


def test_a_plug_in_of_another_release_is_the_cause_of_a_jax_that_computes_on_the_cpu(doctor):
    card = {"name": "NVIDIA A100-SXM4-40GB", "vendor": "nvidia", "target": "sm_80"}
    listed = dict.fromkeys(("jax", "jaxlib"), "0.7.1") | {"jax-cuda12-plugin": "0.7.2", "numpy": "2.1.0"}
    report = doctor(platform="linux", arch="x86_64", driver="580.65.06", gpus=[card], packages=listed)
    assert [one.code for one in report.findings] == ["framework-pair-mismatch"]
    assert [one.code for one in report.findings[0].consequences] == ["cpu-only-build"]


def test_few_packages_without_the_plug_in_tell_nothing_of_jaxs_gpu_code(doctor):
    """A short list may leave the plug-in out, and may be all there is: neither code for the GPU nor its lack is told."""
    card = {"name": "NVIDIA A100-SXM4-40GB", "vendor": "nvidia", "target": "sm_80"}
    listed = {"jax": "0.5.0", "jaxlib": "0.5.0"}
    report = doctor(platform="linux", arch="x86_64", driver="580.65.06", gpus=[card], packages=listed)
    assert not [text for text in report.fine if "carries code" in text or "new enough for jax" in text]
    assert "cpu-only-build" not in {one.code for one in report.findings}
