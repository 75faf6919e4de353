"""Messages of NVIDIA's driver, its installers and its container tools, each as its source prints it.

Beside each message stand the facts around it and the cause that a reader would name first.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.detect import detect
from compat.matrix import matrix as shipped
from compat.reading.messages import recognise
from compat.rules import judge
from tests.rules.conftest import all_findings

POD = {"container": "kubernetes"}
BOX = {"container": "docker"}
RTX_5090 = {"gpus": [{"name": "NVIDIA GeForce RTX 5090"}]}
RTX_3090 = {"gpus": [{"name": "NVIDIA GeForce RTX 3090"}]}
K80 = {"gpus": [{"name": "Tesla K80"}]}

KERNEL = [
    ("nvidia: version magic '5.4.0-42-generic SMP mod_unload ' should be '5.4.0-45-generic SMP mod_unload '", {}),
    ("nvidia: disagrees about version of symbol module_layout", {}),
    ("nvidia_drm: Unknown symbol drm_gem_object_put_unlocked (err -2)", {}),
    ("modprobe: ERROR: could not insert 'nvidia': Exec format error", {}),
    ("Error! Bad return status for module build on kernel: 6.5.0-14-generic (x86_64)", {}),
    ("Error! Your kernel headers for kernel 6.1.0-13-amd64 cannot be found at /lib/modules/6.1.0-13-amd64/build", {}),
    ("ERROR: Unable to find the kernel source tree for the currently running kernel.", {}),
    ("ERROR: Unable to load the kernel module 'nvidia.ko'.  This happens most frequently when", {}),
    ("[ERROR]: Install of driver component failed. Consult the driver log", {}),
    ("NVRM: No NVIDIA GPU found.", {}),
    ("NVRM: No NVIDIA devices probed.", {}),
    ("nvidia driver modules are not yet loaded, invoking runc directly", {}),
    ("INFO:    Could not find any nv files on this host!", {}),
]
"""What leaves a machine without a driver: the module fits no kernel, could not be built, or took no GPU."""

UVM = [
    ("nvidia-docker | Error: Could not load UVM kernel module. Is nvidia-modprobe installed?", {"driver": "375.66"}),
    ("modprobe: FATAL: Module nvidia-uvm not found.", {"driver": "331.113"}),
    ("modprobe: ERROR: could not insert 'nvidia_331_uvm': Function not implemented", {}),
    ("modprobe: ERROR: could not insert 'nvidia_331_updates_uvm': No such device", {}),
    ('custom device "/dev/nvidia-uvm": no such file or directory', {}),
    ("cuda driver library init failure: 999. see the documentation for more information", {"driver": "575.64.03"}),
    ("cuInit err: 999", {}),
    ("cudaGetDeviceCount returned 30\n-> unknown error", {}),
    ("CUDA failure 999: unknown error ; GPU=0", {}),
]
"""nvidia-uvm is not there, by name or by CUDA's "unknown error"."""

BLIND = [
    ("Failed to initialize NVML: could not load NVML library.", POD | {"driver": "390.25"}),
    (
        "Failed to initialize NVML: could not load NVML library.\ndid you set the docker default runtime to `nvidia`?",
        {},
    ),
    ("Incompatible strategy detected auto\nIf this is a GPU node, did you configure the NVIDIA Container Toolkit?", {}),
    ('failed to get sandbox runtime: no runtime for "nvidia" is configured', {}),
    ('Error: default OCI runtime "nvidia" not found: invalid argument', {}),
    ("resources.reservations value Additional properties are not allowed ('devices' was unexpected)", {}),
    ("unknown flag: --gpus\nSee 'docker run --help'.", {}),
    ("requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0", {}),
    ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", BOX),
    ("No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'", BOX),
]
"""A container without a GPU, or an engine that has none to give."""

NUMBERS = [
    ("cudaGetDeviceCount returned 802", "fabric-manager-down"),
    ("CUDA initialization fails with 802 system error", "fabric-manager-down"),
    ("cuInit failed with error 804", "forward-compat-conflict"),
    ("Check failed: error == cudaSuccess (803 vs. 0)", "driver-library-mismatch"),
    ("CUDA error code=804", "forward-compat-conflict"),
    ("failed call to cuInit: UNKNOWN ERROR (34)", "driver-stub-loaded"),
    ("nvml vram init failure: 18", "driver-library-mismatch"),
    ("nvml vram init failure: 9", "no-driver"),
    ("cudart init failure: 35", "driver-too-old-for-runtime"),
]
"""Programs that print CUDA's and NVML's error numbers and leave out the name (cuda.h, nvml.h)."""

BUILDS = [
    ("nvcc fatal   : Unknown option '-allow-unsupported-compiler'", "toolkit-mismatch-extension"),
    ("nvcc fatal   : Value 'c++17' is not defined for option 'std'", "toolkit-mismatch-extension"),
    ("fatal error: cuda_fp8.h: No such file or directory", "toolkit-mismatch-extension"),
    ('error: identifier "cudaUnbindTexture" is undefined', "toolkit-mismatch-extension"),
    ('error: class "cudaDeviceProp" has no member "clockRate"', "toolkit-mismatch-extension"),
    ("fatal error: cuda_runtime.h: No such file or directory", "toolkit-missing"),
    ("CMake Error: No CUDA toolset found.", "toolkit-missing"),
    ("error STL1002: Unexpected compiler version, expected CUDA 12.4 or newer.", "host-compiler-unsupported"),
    (
        'mathcalls.h(79): error: exception specification is incompatible with that of previous function "cospi"',
        "host-compiler-unsupported",
    ),
    ("nvcc fatal   : Cannot find compiler 'cl.exe' in PATH", "build-tools-missing"),
]

OTHERS = [
    (
        "NVRM: (PCI ID: 10de:26b5) installed in this system has\nNVRM: fallen off the bus and is not responding",
        {},
        "gpu-xid-fatal",
    ),
    ("device < num_gpus INTERNAL ASSERT FAILED on 2 GPU NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", {}, "mig-single-visible"),
    ("device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at CUDAContext.cpp:50", {}, "devices-hidden"),
    ("NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000", {}, "devices-hidden"),
    ("at least one MIG device is enabled but empty", {}, "mig-enabled-no-instance"),
    ("Valid GRID license not found. GPU features and performance will be fully degraded", {}, "vgpu-unlicensed"),
    ("    Fabric\n        State                             : In Progress", {}, "fabric-manager-down"),
    ("model requires more system memory (8.4 GiB) than is available (3.1 GiB)", {}, "host-memory-low"),
    ("CUDA binary kernel for this graphics card compute capability (3.0) not found.", {}, "arch-too-old-for-build"),
]

SAID = [
    ("CUDA device busy or not available when other processes run", {}, "gpu-compute-mode-exclusive"),
    ("the container has an inconsistent cuda version and an 804 error", {}, "forward-compat-conflict"),
    ("Current CUDA Device does not support bfloat16. Please switch dtype to float16.", {}, "precision-unsupported"),
    ("Device does not support fp8", {}, "precision-unsupported"),
    ("CUDA error: no kernel image is available", {"gpus": [{"name": "GeForce GTX 1080"}]}, "arch-too-old-for-build"),
    ("CUDA error: no kernel image is available", RTX_5090, "arch-too-new-for-build"),
    ("Crash with two GPUs in the docker container: ncclShmOpen error", {}, "shm-too-small"),
    ("transport/nvls.cc:165 NCCL WARN Cuda failure 'invalid argument'", {}, "fabric-manager-down"),
    ("CUDA was found but your compiler failed to compile a simple CUDA program", {}, "host-compiler-unsupported"),
    (
        "RTX 3090 Cuda 10.1 Kernal image error",
        {"packages": {"tensorflow": "2.3.0"}} | RTX_3090,
        "arch-too-new-for-build",
    ),
    (
        "ERROR: built for NVIDIA Driver Release 450.51, but 418.87 was detected and compatibility mode is UNAVAILABLE.",
        BOX,
        "driver-too-old-for-runtime",
    ),
    (
        (
            "NVRM: installed in this system is not supported by open\n               NVRM: nvidia.ko because it does not"
            " include the required GPU\n               NVRM: System Processor (GSP).\nNVRM: RmInitAdapter failed!"
        ),
        {},
        "driver-open-module-unsupported-gpu",
    ),
]
"""In people's own words, and messages that a log breaks over lines."""

ALL = [
    *SAID,
    *[(text, facts, "no-driver") for text, facts in KERNEL],
    *[(text, facts, "uvm-not-ready") for text, facts in UVM],
    *[(text, facts, "container-no-gpu") for text, facts in BLIND],
    *[(text, {}, code) for text, code in (*NUMBERS, *BUILDS)],
    *OTHERS,
]


@pytest.mark.parametrize(("text", "facts", "code"), ALL, ids=[f"{row[2]}-{at}" for at, row in enumerate(ALL)])
def test_the_first_finding_is_what_the_message_means(doctor, text, facts, code):
    report = doctor(error=text, **facts)
    assert [item.code for item in report.findings][:1] == [code], [item.code for item in report.findings]


CONTRASTS = [
    # one message, other facts, other causes
    ("RuntimeError: No CUDA GPUs are available", BOX, "container-no-gpu"),
    (
        "RuntimeError: No CUDA GPUs are available",
        BOX | RTX_3090 | {"driver": "555.58", "env": {"CUDA_VISIBLE_DEVICES": "all"}},
        "devices-hidden",
    ),
    ("bash: nvidia-smi: command not found", {}, "no-driver"),
    ("bash: nvidia-smi: command not found", BOX, "container-no-gpu"),
    (
        "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'",
        {"packages": {"torch": "2.4.0+cpu"}} | RTX_3090,
        "cpu-only-build",
    ),
    ("No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'", BOX, "container-no-gpu"),
]


@pytest.mark.parametrize(("text", "facts", "code"), CONTRASTS, ids=range(len(CONTRASTS)))
def test_the_same_words_mean_another_thing_on_another_machine(doctor, text, facts, code):
    report = doctor(error=text, **facts)
    assert [item.code for item in report.findings][:1] == [code], [item.code for item in report.findings]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "driver-secure-boot-unsigned"),
        ("insmod: ERROR: could not insert module nvidia.ko: Required key not available", "driver-secure-boot-unsigned"),
        ("-> Kernel module load error: Required key not available", "driver-secure-boot-unsigned"),
        (
            "nvidia-open module keys rejected with module.sig_enforce=1",
            "driver-secure-boot-unsigned",
        ),  # secureblue 1043
        ("modprobe: ERROR: could not insert 'r8125': Key was rejected by service", None),  # realtek-r8125-dkms 69
        ("modprobe: ERROR: could not insert 'vboxdrv': Required key not available", None),
    ],
)
def test_a_rejected_key_is_the_gpus_matter_only_for_its_own_module(doctor, text, code):
    report = doctor(error=text)
    assert [item.code for item in report.findings][:1] == ([code] if code else [])


def test_the_line_in_which_torch_asks_the_driver_is_no_build_for_the_processor(doctor):
    """A build for the processor has no `_cuda_getDeviceCount`: is_available() returns before that line."""
    report = doctor(error="return torch._C._cuda_getDeviceCount() > 0 CUDA is not available")  # pytorch 49325
    assert report.findings[0].code == "no-driver"
    assert doctor(error="CUDA is not available").findings[0].code != "no-driver"


def test_a_common_card_is_not_suspected_for_its_age(doctor):
    report = doctor(error="the program does not use my GPU", **RTX_3090)
    assert not {"arch-too-old-for-build", "arch-too-new-for-build"} & {item.code for item in all_findings(report)}


def test_a_suspicion_by_age_never_outweighs_a_build_that_carries_the_card(doctor):
    report = doctor(error="it does not work", packages={"torch": "2.8.0+cu128"}, **RTX_5090)
    assert "arch-too-new-for-build" not in {item.code for item in all_findings(report)}


PROSE = [
    "The error 'Required key not available' comes from Secure Boot; sign the nvidia module or switch it off.",
    "Before you file an issue: make sure that Secure Boot is off and that nvidia-smi works inside the container.",
    "Reboot after the driver was updated; then install the kernel headers with apt install linux-headers-$(uname -r).",
    "We use docker compose with GPUs and nvcc 12.4; torch was built with CUDA 12.4. All works.",
    "The docs say: run nvidia-modprobe -u, or reload nvidia_uvm after suspend.",
    "See the list of error codes: 3, 35, 100, 802, 803 and 804.",
    "Error 404: page not found",
    "The CUDA error codes are documented in cuda.h.",
    "cuda 12.4 returned 100 results in 35 ms",
    "Support for the RTX 5090 is planned; other cards are served.",
    "GPU 0: NVIDIA H100, Fabric State : Completed",
    "If this does not work, use --gpus all.",
    "INFO:    Could not find any nv files on this host!",
    "Performance inside the container is not as good as outside of it.",
    "Run nvidia-smi with sudo if you want to set the clocks; see chapter 999 for errors.",
    "We built it with gcc-13 and nvcc 12.8 in Visual Studio Code.",
    "NOTE: CUDA Forward Compatibility mode ENABLED.",
    "Found 802 errors and 804 warnings in 12 files.",
    "Our CUDA lectures: 34 slides, 35 exercises, 100 pages, code on page 803.",
]


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize(
    "machine",
    [{}, {"driver": "570.124.06", **RTX_3090}, {"driver": "570.124.06", **K80}],
    ids=["unknown", "modern", "old"],
)
def test_texts_that_only_mention_the_words_raise_no_error(doctor, text, machine):
    facts = {"driver": "470.256.02", **K80} if machine.get("gpus") == K80["gpus"] else machine
    report = doctor(error=text, **facts)
    assert [item.code for item in all_findings(report) if item.severity == "error"] == []


@pytest.mark.parametrize("name", ["nvidia-desktop", "dgx-h100", "wsl2", "mig-two-slices", "bare-cpu", "kubernetes-pod"])
def test_prose_raises_no_error_on_a_sound_machine(replay, matrix, name):
    machine = replay.load(Path(__file__).parent.parent / "machines" / f"{name}.toml")
    facts = detect(root=machine, run=machine.run)
    for text in PROSE:
        told = all_findings(judge(facts, matrix, error=text))
        assert [(text, item.code) for item in told if item.severity == "error"] == []


@pytest.mark.parametrize("value", ["all", "gpu0", "cuda:0", "none", "-1", ""])
def test_a_mask_that_names_no_gpu_hides_all(doctor, value):
    report = doctor(env={"CUDA_VISIBLE_DEVICES": value}, **RTX_3090)
    assert report.findings[0].code == "devices-hidden"


@pytest.mark.parametrize(
    "value", ["0", "0,1", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "MIG-c6d4f1ef", "gpu-8932f937"]
)
def test_a_mask_that_names_a_gpu_is_left_alone(doctor, value):
    report = doctor(env={"CUDA_VISIBLE_DEVICES": value}, **RTX_3090)
    assert "devices-hidden" not in {item.code for item in all_findings(report)}


@given(st.integers(0, 999), st.sampled_from(["cudaGetDeviceCount returned {}", "CUDA error {}", "cuInit err: {}"]))
def test_a_number_is_read_whole(number, shape):
    """802 is 802, and neither 1802 nor 80.2 nor 8020."""
    signals = {"802": "number-802", "803": "number-803", "804": "number-804", "34": "number-34"}
    heard = {item.signal.signal for item in recognise(shape.format(number), shipped())} & set(signals.values())
    assert heard == ({signals[str(number)]} if str(number) in signals else set())
    longer = recognise(shape.format(f"{number}7"), shipped())
    assert {item.signal.signal for item in longer} & set(signals.values()) <= {signals.get(f"{number}7", "")}
