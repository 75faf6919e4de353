"""What frameworks, their companions and installers say, and what it means; the same words beside other facts."""

from __future__ import annotations

import pytest

A100 = [{"name": "NVIDIA A100-SXM4-40GB", "vendor": "nvidia", "target": "sm_80"}]
SO = "cannot open shared object file: No such file or directory"

MEANT = [
    # NumPy 2 and its elders
    ("RuntimeError: Could not infer dtype of numpy.float32", "numpy-abi-mismatch"),  # ai2cm/ace#378
    ("TypeError: expected np.ndarray (got numpy.ndarray)", "numpy-abi-mismatch"),
    ("AttributeError: module 'numpy' has no attribute 'bool'", "framework-pair-mismatch"),
    ("AttributeError: `np.float_` was removed in the NumPy 2.0 release.", "framework-pair-mismatch"),
    ("ImportError: Numba needs NumPy 1.24 or less", "framework-pair-mismatch"),
    # companions of another release
    (
        "ERROR! Intel® Extension for PyTorch* needs to work with PyTorch 2.2.*, but PyTorch 2.1.0+cu121 is found.",
        "framework-pair-mismatch",
    ),  # intel/intel-extension-for-transformers#1278
    (
        "Unable to initialize backend 'xpu': INVALID_ARGUMENT: Mismatched PJRT plugin PJRT API version (0.38) and framework PJRT API version 0.40).",
        "framework-pair-mismatch",
    ),  # intel/intel-extension-for-openxla#27
    ("AssertionError: MMCV==1.7.0 is used but incompatible. Please install mmcv>=2.0.0rc4.", "framework-pair-mismatch"),
    ("ModuleNotFoundError: No module named 'mmcv.runner'", "framework-pair-mismatch"),
    ("ModuleNotFoundError: No module named 'triton.common'", "framework-pair-mismatch"),  # woct0rdho/triton-windows#4
    ("ValueError: infer_schema(func): Parameter q has unsupported type torch.Tensor.", "framework-pair-mismatch"),
    ("FileNotFoundError: Cannot find DGL C++ graphbolt library at /x/dgl/graphbolt", "framework-pair-mismatch"),
    ("can't find c++ library graphbolt", "framework-pair-mismatch"),  # dmlc/dgl#7157
    (
        "ValueError: /io/include/tensorview/tensor.h(171)\ndon't compiled with cuda",
        "cpu-only-build",
    ),  # traveller59/spconv#423
    (
        "E0102 03:04:05.678901  2345 analysis_config.cc:91] Please compile with gpu to EnableGpu()",
        "cpu-only-build",
    ),  # PaddlePaddle/Paddle, paddle/fluid/inference/api/analysis_config.cc
    ("Failed to find Python libs", "build-tools-missing"),  # woct0rdho/triton-windows#83
    ("TypeError: Error when deserializing class 'InputLayer' using config={'batch_shape'", "framework-pair-mismatch"),
    ("ValueError: A KerasTensor cannot be used as input to a TensorFlow function.", "framework-pair-mismatch"),
    (
        "ImportError: _XLAC.cpython-310.so: undefined symbol: _ZN5torch4lazy13MetricFnValueEd",
        "framework-pair-mismatch",
    ),  # pytorch/xla#8813
    ("xFormers wasn't build with CUDA support", "framework-pair-mismatch"),
    ("[sgl_kernel] CRITICAL: Could not load any common_ops library!", "abi-mismatch"),  # sgl-project/sglang#17460
    (
        "libtorchcodec_core7.so: undefined symbol: _ZNK3c106Device3strB5cxx11Ev",
        "framework-pair-mismatch",
    ),
    (
        "entry point ?decref_pyobject@TensorImpl@c10@@UEBAXXZ could not be located in libtorchcodec_core8.dll",
        "framework-pair-mismatch",
    ),  # ace-step/ACE-Step-1.5#1171
    ("ModuleNotFoundError: No module named 'fused_layer_norm_cuda'", "abi-mismatch"),
    # packages without GPU code
    ("AttributeError: module 'faiss' has no attribute 'StandardGpuResources'", "cpu-only-build"),
    ("ImportError: cannot import name '_swigfaiss_gpu' from 'faiss'", "cpu-only-build"),  # facebookresearch/faiss#988
    ("LightGBMError: CUDA Tree Learner was not enabled in this build.", "cpu-only-build"),
    ("None of the available devices `available_devices = None` are supported by the bitsandbytes", "cpu-only-build"),
    (
        "pytorch            1.11.0         py3.8_cpu_0    pytorch\npytorch-mutex      1.0            cpu    pytorch",
        "cpu-only-build",
    ),  # meta-pytorch/data#315
    ("pytorch            pytorch/win-64::pytorch-1.10.0-py3.6_cpu_0", "cpu-only-build"),  # conda/conda#11001
    ("Cuda execution provider is not available", "cpu-only-build"),  # microsoft/onnxruntime#23833
    # libraries: none, or two
    ("undefined symbol ncclCommResume", "library-mismatch"),  # pytorch/pytorch#186591
    ("ImportError: libtorch_cuda.so: undefined symbol `ncclCommRegister'", "library-mismatch"),
    ("libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent", "library-mismatch"),
    ("OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.", "library-mismatch"),
    ("ImportError: libgomp-d22c30c5.so.1.0.0: cannot allocate memory in static TLS block", "library-mismatch"),
    ("Intel MKL FATAL ERROR: Cannot load libmkl_avx2.so or libmkl_def.so.", "library-missing"),
    ("Require cuDNN 9.* and CUDA 12.*, and the latest MSVC runtime.", "library-missing"),
    (f"Could not load libtorchcodec. Likely causes: libavutil.so.59: {SO}", "library-missing"),
    ("ptxas fatal   : Unresolved extern function '__nv_expf'", "library-missing"),
    ("FAILED_PRECONDITION: No visible GPU devices.", "devices-hidden"),
    ("device >= 0 && device < num_gpus INTERNAL ASSERT FAILED at CUDAContext.cpp", "devices-hidden"),
    # Windows
    (
        "DLL load failed while importing _pywrap_tensorflow_internal: A dynamic link library (DLL) initialization routine failed.",
        "cpu-instructions-missing",
    ),  # tensorflow/tensorflow#39855
    (
        "DLL load failed while importing _pywrap_tensorflow_internal: The specified module could not be found.",
        "windows-vc-runtime-missing",
    ),  # tensorflow/tensorflow#39502
    # binaries of another system
    ("tried: '/x/libbitsandbytes_cpu.so' (not a mach-o file)", "platform-unsupported"),
    ("mach-o file, but is an incompatible architecture (have 'x86_64', need 'arm64')", "macos-rosetta-python"),
    ("OSError: /opt/lib/libfoo_cuda.so: invalid ELF header", "platform-unsupported"),
    # compiling
    ('nvrtc: catastrophic error: cannot open source file "cuda_fp16.h"', "toolkit-missing"),
    ("fatal error: cusparse.h: No such file or directory", "toolkit-missing"),
    ("fatal error: cudnn.h: No such file or directory", "library-missing"),
    ("fatal error: ATen/cuda/CUDAContextLight.h: No such file or directory", "framework-pair-mismatch"),
    ("MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)", "toolkit-missing"),
    ("nvcc fatal   : Value 'c++17' is not defined for option 'std'", "toolkit-mismatch-extension"),
    ("Getting requirements to build wheel ... error\nNo module named 'torch'", "build-tools-missing"),
    # number formats
    ("ValueError: type fp8e4nv not supported in this architecture.", "precision-unsupported"),
    # resolvers
    ("Because torch==2.4.0 has no wheels with a matching Python version tag (e.g., `cp313`)", "python-unsupported"),
    ("requires python >=3.9,<3.10.0a0, but none of the providers can be installed", "python-unsupported"),
    ("decord (v0.6.0) only has wheels for the following platforms: `win_amd64`", "platform-unsupported"),
    (
        "6 wheel(s) were skipped as your project's environment does not support the identified abi tags",
        "python-unsupported",
    ),
    (
        "2 wheel(s) were skipped as your project's environment does not support the identified platform tags",
        "platform-unsupported",
    ),
    ("Unable to find installation candidates for torch (2.0.1+cu118)", "platform-unsupported"),
    ("vllm 0.6.0 requires torch==2.4.0, but you have torch 2.5.1 which is incompatible.", "framework-pair-mismatch"),
    (
        "The conflict is caused by:\n    torchvision 0.15.1+cu118 depends on torch==2.0.0\n    xformers 0.0.26 depends on torch==2.3.0",
        "framework-pair-mismatch",
    ),  # bytedance/MVDream-threestudio#29
    (
        "torch 2.5.1 requires nvidia-cudnn-cu12==9.1.0.70, but you have nvidia-cudnn-cu12 9.5.1.17 which is incompatible.",
        "frameworks-conflict",
    ),
]


@pytest.mark.parametrize(("said", "code"), MEANT, ids=[f"{code}-{at}" for at, (_, code) in enumerate(MEANT)])
def test_what_is_said_alone_points_to_its_likeliest_cause(doctor, said, code):
    report = doctor(error=said)
    assert [finding.code for finding in report.findings][:1] == [code], [finding.code for finding in report.findings]
    assert not report.findings[0].detail.startswith("The text speaks of"), "only a mere word was recognised"


def pip(wanted, *offered):
    """pip's refusal, in the two lines that it prints."""
    return (
        f"ERROR: Could not find a version that satisfies the requirement {wanted} (from versions: {', '.join(offered) or 'none'})\n"
        f"ERROR: No matching distribution found for {wanted}"
    )


CONTRASTS = [
    # a release that others have: whose fault it is, the offered ones tell
    (pip("onnxruntime==1.20.1", "1.15.0", "1.16.3"), {"platform": "linux", "os": "rhel7", "python": "3.11"}, "glibc-too-old"),
    (pip("onnxruntime==1.20.1", "1.15.0", "1.16.3"), {"platform": "darwin", "arch": "x86_64", "python": "3.11"}, "platform-unsupported"),
    (pip("onnxruntime==1.20.1", "1.23.0", "1.23.2"), {"platform": "linux", "arch": "x86_64", "python": "3.14"}, "python-unsupported"),
    (pip("torch==2.6.0", "2.0.0", "2.2.2"), {"platform": "darwin", "python": "3.11"}, "platform-unsupported"),
    (pip("bitsandbytes<0.45,>=0.44", "0.42.0", "0.46.0"), {"platform": "linux", "arch": "aarch64", "python": "3.12"}, "platform-unsupported"),
    (pip("triton"), {"platform": "linux", "arch": "aarch64"}, "platform-unsupported"),
    (pip("triton"), {"platform": "linux", "arch": "x86_64", "python": "3.15"}, "python-unsupported"),
    # one variant, three systems
    (pip("torch==1.13.1+cu117", "2.0.0"), {"platform": "windows", "python": "3.11.2"}, "python-unsupported"),
    (pip("torch==1.13.1+cu117"), {"platform": "darwin", "arch": "arm64", "python": "3.9"}, "platform-unsupported"),
    (
        "Distribution `torch==2.8.0+cpu @ registry+index` can't be installed because it doesn't have a source distribution or wheel for the current platform",
        {"platform": "darwin", "arch": "arm64"},
        "platform-unsupported",
    ),
    # a wheel of the stable ABI serves later Pythons, so that the C library is what is too old
    ("vllm-0.30.0-cp38-abi3-manylinux_2_39_x86_64.whl is not a supported wheel on this platform", {"glibc": "2.35", "python": "3.10"}, "glibc-too-old"),
    ("vllm-0.30.0-cp38-cp38-manylinux_2_17_x86_64.whl is not a supported wheel on this platform", {"glibc": "2.35", "python": "3.10"}, "python-unsupported"),
    # a symbol of torch's is no matter of nvcc; an extension that is compiled here is
    ("flash_attn_2_cuda.so: undefined symbol: _ZN3c104impl3cow11cow_deleterEPv", {"packages": {"torch": "2.1.2"}, "cuda_toolkit": "11.7"}, "abi-mismatch"),
    ("The detected CUDA version (11.7) mismatches the version that was used to compile\nPyTorch (12.1)", {"packages": {"torch": "2.1.2"}, "cuda_toolkit": "11.7"}, "toolkit-mismatch-extension"),
    # a library that names another's version was found
    ("Cudnn error, CUDNN_STATUS_VERSION_MISMATCH", {"packages": {"paddlepaddle-gpu": "2.1.2"}, "cuda_toolkit": "11.1"}, "library-mismatch"),
    (f"ImportError: libcudart.so.10.2: {SO}", {"packages": {"paddlepaddle-gpu": "2.1.2"}, "cuda_toolkit": "11.1"}, "library-missing"),
    # one of two packages with one name
    ("onnxruntime.get_device() prints CPU", {"packages": {"onnxruntime": "1.22.0", "onnxruntime-gpu": "1.22.0"}}, "framework-duplicate-install"),
    ("`onnxruntime-gpu` is installed, but GPU dependencies are not loaded.", {"packages": {"onnxruntime-gpu": "1.16.0"}}, "library-missing"),
    # a driver that is there is not missing; InternLM/lmdeploy#1108
    ("NCCL WARN Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'", {"driver": "515.86.01", "packages": {"torch": "2.0.0"}}, "driver-too-old-for-runtime"),
    ("CUDA driver version is insufficient for CUDA runtime version", {"driver": None, "gpus": A100, "packages": {"torch": "2.0.0"}}, "no-driver"),
    # the string ABI in a symbol that is missing, and in the name of a wheel
    ("undefined reference to `c10::detail::torchCheckFail(char const*, std::__cxx11::basic_string<char> const&)'", {}, "abi-mismatch"),
    ("flash_attn-2.7.2+cu12torch2.5cxx11abiFALSE-cp310-cp310-linux_x86_64.whl is not a supported wheel on this platform.", {"python": "3.12", "platform": "linux"}, "python-unsupported"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "given", "code"), CONTRASTS, ids=[f"{code}-{at}" for at, (*_, code) in enumerate(CONTRASTS)]
)
def test_the_same_words_beside_other_facts(doctor, said, given, code):
    report = doctor(error=said, **given)
    assert [finding.code for finding in report.findings][:1] == [code], [finding.code for finding in report.findings]


HARMLESS = [
    "WARNING:root:A matching Triton is not available, some optimizations will not be enabled.",
    "no module 'xformers'. Processing without...",
    "UserWarning: 1Torch was not compiled with flash attention. (Triggered internally at sdp_utils.cpp:555.)",
    "NOTE: Redirects are currently not supported in Windows or MacOs.",
    "Cannot use FlashAttention-2 backend for Volta and Turing GPUs.",
    "Using default MoE config. Performance might be sub-optimal!",
    " [WARNING]  async_io requires the dev libaio .so object and headers but these were not found.",
    " [WARNING]  using untested triton version (2.2.0), only 1.0.0 is known to be compatible",
    "NumbaPerformanceWarning: Grid size 1 will likely result in GPU under-utilization",
    "Failed to load GPU Faiss: name 'GpuIndexIVFFlat' is not defined. Will not load constructor refs for GPU indexes.",
    "Skipping import of cpp extensions due to incompatible torch version 2.9.0 for torchao version 0.14.0",
    "The NVIDIA driver's CUDA version is 12.4 which is older than the PTX compiler version (12.6.85).",
    "TORCH_CUDA_ARCH_LIST is not set, all archs for visible cards are included for compilation.",
]


UNSAID = [
    "need a `flash_attn-2.5.8+cu122torch2.3cxx11abiFALSE-cp312-cp312-linux_x86_64.whl` , ty :)",  # Dao-AILab/flash-attention#935
    "gcc -fPIC -DTORCH_API_INCLUDE_EXTENSION_H -D_GLIBCXX_USE_CXX11_ABI=0 -std=c++17 -c csrc/pybind.cpp",
    "_GLIBCXX_USE_CXX11_ABI=1 is what torch._C says",
]


@pytest.mark.parametrize("said", UNSAID)
def test_the_string_abi_in_a_name_or_a_compiler_line_is_no_fault(doctor, said):
    assert [finding.code for finding in doctor(error=said).findings if finding.severity == "error"] == []


@pytest.mark.parametrize("said", HARMLESS)
def test_what_harms_nothing_is_known_as_such(doctor, said):
    report = doctor(error=said, platform="linux", gpus=A100, driver="550.54.14", packages={"torch": "2.5.1+cu124"})
    assert [finding.code for finding in report.findings if finding.severity != "info"] == []
    assert not any(item.what == "the error text" for item in report.unchecked), "the note was not recognised"


PROSE = [
    "Which versions of numpy, torch and torchvision belong together?",
    "You can pick the GPU with CUDA_VISIBLE_DEVICES=2, or leave it unset.",
    "pip install flash-attn --no-build-isolation compiles for about an hour; that is normal.",
    "We pin keras<3 and protobuf<5 for now, as the readme says.",
    "The wheel on the index is for manylinux_2_28, so older systems build from source.",
    "bf16 needs Ampere, and fp8 Ada or Hopper, so choose the dtype by the card.",
    "I use conda on Windows and would like to know how to use the GPU.",
    "Successfully installed torch-2.7.0+cu128 torchaudio-2.7.0+cu128 torchvision-0.22.0+cu128",
    "Does the poetry lock file work on macOS arm64 and on Linux?",
    "onnxruntime and onnxruntime-gpu share one import name.",
]


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("packages", [{}, {"torch": "2.7.0+cu128", "numpy": "2.2.0"}])
def test_prose_about_the_field_is_no_fault(doctor, text, packages):
    report = doctor(error=text, platform="linux", gpus=A100, driver="570.86.15", packages=packages)
    assert [finding.code for finding in report.findings if finding.severity == "error"] == []


# --- what a bare version leaves open ---


@pytest.mark.parametrize(
    ("version", "error", "severity"),
    [
        ("1.12.1", "", "warning"),  # conda's and NGC's builds for CUDA 11 write the same
        ("1.12.1+cu102", "", "error"),
        ("1.12.1", "RuntimeError: CUDA error: no kernel image is available for execution on the device", "error"),
    ],
)
def test_a_build_that_is_only_assumed_accuses_nobody(doctor, version, error, severity):
    report = doctor(error=error, gpus=A100, packages={"torch": version}, platform="linux", driver="550.54.14")
    found = next(item for item in report.findings if item.code == "arch-too-new-for-build")
    assert found.severity == severity
    assert ("bare version" in found.detail) == (severity == "warning")
