"""Floors that programs ask for, targets that toolkits gave up, and mere symptoms beside the message that explains."""

from __future__ import annotations

import pytest

from compat.commands import Place, typed
from compat.matrix import matrix
from compat.reading.messages import recognise
from compat.rules.families.arch_age import asked_floor, dropped


def cards(name: str) -> list[dict[str, str]]:
    return [{"name": name}]


ASKED = [
    ("Device 0 does not have CUDA compute capability 5.0 or greater", (5, 0)),
    ("RuntimeError: Device does not have compute capability 6.0 or greater", (6, 0)),
    ("cutlass: this kernel requires sm80 or above", (8, 0)),
    ("cutlass: this kernel requires SM 90 or newer", (9, 0)),
    ("UserWarning: You will need a GPU with NVIDIA Pascal™ or newer architecture", (6, 0)),
    ("cuML requires a GPU of Turing architecture or better", (7, 5)),
    ("The kernel requires Ampere or newer", (8, 0)),
    ("loss is nan after 100 steps", None),
]


@pytest.mark.parametrize(("said", "floor"), ASKED)
def test_a_floor_is_read_by_number_or_by_generation(said, floor):
    found = asked_floor(recognise(said, matrix()), matrix())
    assert (found and (found.major, found.minor)) == floor


@pytest.mark.parametrize("said", [said for said, floor in ASKED if floor])
@pytest.mark.parametrize(("name", "below"), [("Tesla K20m", True), ("NVIDIA H100 80GB HBM3", False)])
def test_a_floor_accuses_only_a_gpu_below_it(doctor, said, name, below):
    report = doctor(error=said, gpus=cards(name))
    found = [item.code for item in report.findings if item.severity == "error"]
    assert found == (["arch-too-old-for-build"] if below else [])


def test_the_card_named_is_the_one_below_the_floor(doctor):
    report = doctor(
        error="cutlass: this kernel requires sm80 or above",
        gpus=[*cards("NVIDIA A100-SXM4-40GB"), *cards("Tesla T4")],
    )
    assert "Tesla T4" in report.findings[0].detail


@pytest.mark.parametrize(
    ("target", "toolkit", "gone"),
    [
        ("compute_20", "9.0", True),
        ("compute_20", None, True),
        ("compute_35", "12.2", True),
        ("compute_35", None, True),
        ("compute_35", "11.8", False),
        ("compute_61", None, False),  # an old toolkit may not know it yet
        ("compute_61", "13.0", True),
        ("compute_89", "11.5", False),
        ("compute_89", None, False),
        ("compute_N", None, False),
    ],
)
def test_what_toolkits_gave_up_is_told_from_what_they_do_not_know_yet(doctor, target, toolkit, gone):
    assert dropped(matrix(), target, toolkit) is gone
    facts = {"cuda_toolkit": toolkit} if toolkit else {}
    report = doctor(error=f"nvcc fatal   : Unsupported gpu architecture '{target}'", **facts)
    codes = [item.code for item in report.findings]
    known = target != "compute_35" or toolkit != "11.8"  # nvcc 11.8 has it, so that the message is another nvcc's
    if known:
        assert codes[0] == ("arch-too-old-for-build" if gone else "toolkit-too-old-for-arch")


SAID = [
    (
        "ERROR: LoadError: CUDA 10.0 is not supported by\nyour driver (which supports up to 9.0)",
        "driver-too-old-for-runtime",
    ),
    (
        "This version of CUDA.jl only supports NVIDIA drivers for CUDA 11.4 or higher (yours is for CUDA 11.2)",
        "driver-too-old-for-runtime",
    ),
    ("CUDA Toolkit version 11.8 not compatible with installed driver 460.91", "driver-too-old-for-runtime"),
    ("cuInit failed : 35", "driver-too-old-for-runtime"),
    ("cuInit failed: 802", "fabric-manager-down"),
    ("Target GPU SM 61 is not supported by this TensorRT release.", "arch-too-old-for-build"),
    (
        "The GPU architecture in your current machine is Blackwell, which is not compatible with Paddle installation with arch: 60 70",
        "arch-too-new-for-build",
    ),
    (
        "The GPU architecture in your current machine is Pascal, which is not compatible with Paddle installation with arch: 75 80",
        "arch-too-old-for-build",
    ),
    (
        "CustomCall failed: operation cudaGetLastError() failed: cudaGetErrorString symbol not found.",
        "library-mismatch",
    ),
    (
        "Check failed: s.ok() could not find cudnnCreate in cudnn DSO; dlerror: undefined symbol: cudnnCreate",
        "library-missing",
    ),
    ("Couldn't open CUDA library libcudnn.so.5. LD_LIBRARY_PATH: /usr/local/cuda/lib64", "library-missing"),
    ("RuntimeError: Unable to load CUDA. Is it installed?", "library-missing"),
    ("AssertionError: CUDA unavailable, invalid device 0 requested", "cpu-only-build"),
    ("nvidia-smi shows the GPU, but torch.version.cuda is None", "cpu-only-build"),
    ("UserWarning: FP16 is not supported on CPU; using FP32 instead", "cpu-only-build"),
    ("RuntimeError: vLLM only supports Linux platform (including WSL).", "platform-unsupported"),
    ("The operator 'aten::_unique2' is not currently implemented for the MPS device.", "platform-unsupported"),
    (
        "RuntimeError: Cannot install on Python version 3.11.0; only versions >=3.7,<3.11 are supported.",
        "python-unsupported",
    ),
    ("SyntaxError: future feature annotations is not defined", "python-unsupported"),
    ("ImportError: DLL load failed while importing _C: The specified procedure could not be found.", "abi-mismatch"),
    ("/usr/include/bits/floatn.h(83): error: invalid combination of type specifiers", "host-compiler-unsupported"),
    ("OSError: [Errno 28] No space left on device: '/dev/shm/pym-123'", "shm-too-small"),
    ("crw-------   1 root    root    234,   0 kfd", "device-permission"),
    ("nvidia-fabricmanager reports a version mismatch", "fabric-manager-version-mismatch"),
    ("Could not find cuda drivers on your machine, GPU will not be used.", "library-missing"),
    ("BLAS = 0", "cpu-only-build"),
    ("Couldn't init CUDA: No CUDA devices", "devices-hidden"),
    # a symptom beside its cause
    (
        "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error\nNo GPU/TPU found, falling back to CPU.",
        "uvm-not-ready",
    ),
]


@pytest.mark.parametrize(("said", "code"), SAID, ids=range(len(SAID)))
def test_what_is_said_alone_points_to_its_likeliest_cause(doctor, said, code):
    found = [item.code for item in doctor(error=said).findings]
    assert found[:1] == [code], found


NOTHING = "request to query NVSwitch device information from NVSwitch driver failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]"


@pytest.mark.parametrize("said", [NOTHING, f"nvidia-fabricmanager.service: Failed with result 'exit-code'.\n{NOTHING}"])
@pytest.mark.parametrize("name", ["NVIDIA A40", "NVIDIA GeForce RTX 4090"])
def test_a_fabric_manager_without_a_fabric_is_no_fault(doctor, said, name):
    report = doctor(error=said, gpus=cards(name))
    assert not [item.code for item in report.findings if item.severity == "error"]


def test_a_fabric_manager_that_fails_beside_switches_is_one(doctor):
    report = doctor(error=NOTHING, nvswitch=6, fabric_manager="failed")
    assert report.findings[0].code == "fabric-manager-down"


@pytest.mark.parametrize(
    ("library", "rocm", "code"),
    [("libamdhip64.so.5", "6.0.0", "rocm-version-mismatch"), ("libamdhip64.so.6", "6.0.0", "library-missing")],
)
def test_the_number_of_the_hip_library_is_the_major_of_its_rocm(doctor, library, rocm, code):
    said = f"ImportError: {library}: cannot open shared object file: No such file or directory"
    assert doctor(error=said, rocm=rocm).findings[0].code == code


def test_a_cpu_runtime_installed_over_the_gpu_one_is_told_with_its_cause(doctor):
    said = "Specified provider 'CUDAExecutionProvider' is not in available provider names."
    report = doctor(error=said, packages={"onnxruntime": "1.19.0", "onnxruntime-gpu": "1.19.0"})
    root = report.findings[0]
    assert root.code == "cpu-only-build"
    assert [item.code for item in root.consequences] == ["framework-duplicate-install"]
    assert "pip install onnxruntime-gpu==1.19.0" in typed(root.fix.changes, Place())


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("AMD Radeon RX 6650 XT", "rocm-gfx-unsupported"),
        ("AMD Radeon RX 7900 XT", "rocm-gfx-unsupported"),
        ("AMD Instinct MI300X", "library-mismatch"),
        ("NVIDIA A100-SXM4-40GB", "library-mismatch"),
    ],
)
def test_a_crash_without_a_word_is_suspected_of_a_gpu_that_rocm_does_not_serve(doctor, name, code):
    first = doctor(error="Segmentation fault (core dumped)", gpus=cards(name)).findings[0]
    assert (first.code, first.severity) == (code, "warning")


QUIET = [
    "Ampere or newer GPUs are recommended",
    "The docs say that after a suspend nvidia_uvm may have to be loaded anew",
    "after the kernel update everything works again",
    "this example requires Pascal or newer",
    "kernel optimized for compute capability 8.9 and above",
    "we no longer support Windows 7",
]


@pytest.mark.parametrize("said", QUIET)
@pytest.mark.parametrize("machine", [{}, {"gpus": cards("NVIDIA GeForce RTX 4090"), "driver": "570.124.06"}])
def test_prose_near_these_words_accuses_nobody(doctor, said, machine):
    report = doctor(error=said, **machine)
    assert not [item.code for item in report.findings if item.severity == "error"]


def test_a_reason_in_prose_is_no_word_of_a_resolver(doctor):
    assert not doctor(error="I moved to conda because my Python was old and the tag of the image had changed.").findings


NO_DEVICE = "RuntimeError: No HIP GPUs are available"


@pytest.mark.parametrize(("platform", "blamed"), [("wsl2", True), ("linux", False)])
def test_a_wheels_own_copy_of_amds_runtime_is_to_blame_in_wsl_alone(doctor, platform, blamed):
    report = doctor(platform=platform, error=NO_DEVICE, packages={"torch": "2.4.0+rocm6.1"})
    found = [one for each in report.findings for one in (each, *each.consequences)]
    assert any("libhsa-runtime64" in one.detail for one in found) is blamed


@pytest.mark.parametrize(("platform", "told"), [("darwin", True), ("windows", True), ("linux", False)])
def test_a_release_that_nobody_has_is_told_of_systems_with_few_builds(doctor, platform, told):
    said = "No version 99.0 of the torch was found"
    report = doctor(platform=platform, error=said, wishes=["torch==99.0"])
    details = [one.detail for each in report.findings for one in (each, *each.consequences)]
    assert (f"There is no torch==99.0 for {platform}." in details) is told


@pytest.mark.parametrize(("platform", "fine"), [("linux", True), ("windows", False)])
def test_a_release_that_is_published_for_a_system_is_told_as_fine_there(doctor, platform, fine):
    report = doctor(platform=platform, arch="x86_64", wishes=["triton==3.0.0"])
    assert any("there are builds of triton" in one and platform in one for one in report.fine) is fine
