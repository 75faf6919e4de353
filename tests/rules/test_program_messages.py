"""Messages that frameworks and build tools print for faults of an environment, each as its source has it.

Beside each stands the cause that a reader would name first; below are the lines of sound runs that look like them.
"""

from __future__ import annotations

import pytest

from compat.facts import host as host_of
from compat.matrix import matrix as shipped
from compat.rules import judge
from tests.rules.conftest import all_findings

RTX_5090 = {"gpus": [{"name": "NVIDIA GeForce RTX 5090", "vendor": "nvidia", "target": "sm_120"}]}
K80 = {"gpus": [{"name": "Tesla K80", "vendor": "nvidia", "target": "sm_37"}]}

MEANT = [
    # compilers and toolkits
    (
        "cupti_tracer.cc:60: error: 'CUPTI_ACTIVITY_KIND_MEMORY_POOL' was not declared in this scope",
        "toolkit-mismatch-extension",
    ),
    ("a.cu(12): error: ‘cudaGraphAddNode_v2’ was not declared in this scope", "toolkit-mismatch-extension"),
    ('t.cu(9): error: identifier "CUDA_R_8F_E4M3" is undefined', "toolkit-mismatch-extension"),
    ("nvcc error   : 'cudafe++' died with status 0xC0000005 (ACCESS_VIOLATION)", "host-compiler-unsupported"),
    ('error: namespace "std" has no member "is_same_v"', "host-compiler-unsupported"),
    ('error: namespace "std" has no member "__is_nothrow_invocable"', "host-compiler-unsupported"),
    ("gcc: fatal error: Killed signal terminated program cc1plus", "host-memory-low"),
    ("nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "host-memory-low"),
    ("RuntimeError: SM 12.x requires CUDA >= 12.9", "toolkit-too-old-for-arch"),
    ("b12x unified MoE requires CUDA 13 or later.", "toolkit-too-old-for-arch"),
    ("No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')", "build-tools-missing"),
    ("RuntimeError: Compiler: cl is not found.", "build-tools-missing"),
    ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "build-tools-missing"),
    ("CUDA was not found on the system, please set the CUDA_HOME or the CUDA_PATH", "toolkit-missing"),
    ("Your compiler (c++ 4.8.5) may be ABI-incompatible with PyTorch!", "host-compiler-unsupported"),
    # the driver
    ("Driver missing function: cuMemAddressReserve", "driver-too-old-for-runtime"),
    ("Check failed: s.ok() could not find cuDevicePrimaryCtxSetFlags", "driver-too-old-for-runtime"),
    ("NCCL WARN CUDA Driver version is 11020. It must be at least 11040", "driver-too-old-for-runtime"),
    # releases of torch
    ("ImportError: FSDP2 requires PyTorch >= 2.6.0", "framework-pair-mismatch"),
    ("ModelParallelStrategy requires PyTorch 2.4 or higher.", "framework-pair-mismatch"),
    ("Disabling PyTorch because PyTorch >= 2.1 is required but found 1.13.1", "framework-pair-mismatch"),
    ("we now require users to upgrade torch to at least v2.6 in order to use the function", "framework-pair-mismatch"),
    ("AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'", "abi-mismatch"),
    ("PyTorch version mismatch! DeepSpeed ops were compiled and installed with a different version", "abi-mismatch"),
    ("RuntimeError: torch.compile is not supported on Python 3.14+", "python-unsupported"),
    ("RuntimeError: Python 3.11+ not yet supported for torch.compile", "python-unsupported"),
    ("RuntimeError: Windows not yet supported for torch.compile", "platform-unsupported"),
    ("ValueError: invalid literal for int() with base 10: '90a'", "framework-pair-mismatch"),
    # parts that were left out
    ("libbitsandbytes_cpu.so: undefined symbol: cquantize_blockwise_fp16_nf4", "library-missing"),
    ("AttributeError: 'NoneType' object has no attribute 'cadam32bit_grad_fp32'", "library-missing"),
    ("NameError: name 'str2optimizer8bit_blockwise' is not defined", "library-missing"),
    ("RuntimeError: apex.optimizers.FusedAdam requires cuda extensions", "cpu-only-build"),
    ("RuntimeError: Device string must not be empty", "cpu-only-build"),
    ("AttributeError: 'DeepSpeedCPUAdam' object has no attribute 'ds_opt_adam'", "host-compiler-unsupported"),
    (
        "Unable to find an entry point named 'OrtSessionOptionsAppendExecutionProvider_CUDA' in DLL 'onnxruntime'.",
        "cpu-only-build",
    ),
    ("please make sure that you have installed `bitsandbytes>=0.37.0`", "framework-pair-mismatch"),
    # GPUs that are not served
    (
        "Unable to load transformer_inference op due to no compute capabilities remaining after filtering",
        "arch-too-old",
    ),
    ("Error named symbol not found at line 74 in file /git/bitsandbytes/csrc/ops.cu", "arch-too-old"),
    ("ValueError: AWQ Gemm does not support for cuda arch < 7.5", "arch-too-old"),
    ("Reasons: {FLASHMLA: [compute capability not supported, head size]}", "arch-too-old"),
    ("'cuLaunchKernel(function, gridX, gridY)' failed with 'CUDA_ERROR_INVALID_HANDLE'", "arch-too-new"),
    ("SM80 kernel is not available. make sure you GPUs with compute capability 8.0 or higher.", "arch-too-new"),
    ("GPU:0 failed. Status: device kernel image is invalid", "arch-too-new"),
    ("Requested int8_float16 compute type, but do not support efficient int8_float16 computation.", "precision-unsup"),
    (
        "`cutlassF` is not supported because:\n    device=cpu (supported: {'cuda'})\nNo operator found for `memory_efficient`",
        "cpu-only-build",
    ),
    # several GPUs
    ("transport/p2p.cc:136 NCCL WARN P2P not supported between GPU0 and GPU1", "p2p-unsupported"),
    ("NCCL WARN The application was compiled with too old version of NCCL.", "library-mismatch"),
    ("NCCL WARN Cuda failure 209 'no kernel image is available for execution on the device'", "arch-too-new"),
    ("World size (4) is larger than the number of available GPUs (1) in this node.", "devices-hidden"),
]


@pytest.mark.parametrize(("text", "code"), MEANT)
def test_the_first_cause_is_the_one_that_the_message_means(text, code):
    assert judge(host_of(), shipped(), error=text).findings[0].code.startswith(code)


SOUND = [
    "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 22134 MB memory",
    "os.fork() was called. os.fork() is incompatible with multithreaded code, and JAX is multithreaded",
    "NVIDIA Inference is only supported on Ampere and newer architectures",
    "sparse_attn requires a torch version >= 1.5 and < 2.0 but detected 2.4",
    "[rank0] NCCL INFO Channel 00 : 0[0] -> 1[1] via P2P/CUMEM",
    "accelerate 1.2 requires torch>=2.0.0, which is satisfied",
    "fp16 mixed precision with MPS device requires a Pytorch >= 2.5.0",
    "error: 'cudastf' was not declared in this scope",
    "libcudart.so.12 not found in cache, downloading; cuGetting started not found",
]
"""Lines of runs in which nothing is wrong with the machine, or nothing that the tool could name."""


@pytest.mark.parametrize("text", SOUND)
@pytest.mark.parametrize("machine", [{}, RTX_5090, K80], ids=["bare", "new", "old"])
def test_no_error_is_raised_over_what_sound_runs_print(text, machine):
    report = judge(host_of(**machine), shipped(), error=text)
    assert [item.code for item in all_findings(report) if item.severity == "error"] == []


@pytest.mark.parametrize(("here", "code"), [("120", "arch-too-new-for-build"), ("37", "arch-too-old-for-build")])
def test_paddle_lists_what_it_was_compiled_for(here, code):
    text = f"The installed PaddlePaddle package was compiled for 60 70 75 80 86, but your current GPU is {here}."
    first = judge(host_of(), shipped(), error=f"Mismatched GPU Architecture: {text}").findings[0]
    assert (first.code, first.severity) == (code, "error")
    assert f"sm_{here}" in first.detail


@pytest.mark.parametrize(
    ("driver", "first"),
    [("525.85.12", "driver-too-old-for-runtime"), ("570.86.10", "driver-library-mismatch")],
)
def test_a_function_that_came_after_the_driver(driver, first):
    """The same message means an old driver where the build is of a later CUDA, and a torn one where it is not."""
    machine = host_of(driver=driver, builds={"torch": {"runtime": "cuda12.6"}})
    report = judge(machine, shipped(), error="CUDA error: named symbol not found")
    assert report.findings[0].code == first


def test_the_processors_library_of_bitsandbytes_is_no_foreign_abi():
    alone = judge(host_of(), shipped(), error="libbitsandbytes_cpu.so: undefined symbol: cget_managed_ptr")
    other = judge(host_of(), shipped(), error="libbitsandbytes_cuda118.so: undefined symbol: cget_managed_ptr")
    assert "abi-mismatch" not in {item.code for item in all_findings(alone)}
    assert "abi-mismatch" in {item.code for item in all_findings(other)}


@pytest.mark.parametrize(
    ("driver_cuda", "first"), [("11.4", "driver-too-old-for-runtime"), ("12.4", "arch-too-new-for-build")]
)
def test_what_triton_compiled_is_refused_by_a_driver_that_is_older(driver_cuda, first):
    """Triton compiles for the GPU that is there: only where the driver is not behind may its target be what is wrong."""
    machine = host_of(driver_cuda=driver_cuda, cuda_toolkit="11.8", **RTX_5090)
    report = judge(machine, shipped(), error="RuntimeError: Triton Error [CUDA]: device kernel image is invalid")
    assert report.findings[0].code == first


@pytest.mark.parametrize(("gcc", "named"), [("8.2.0", True), ("6.5.0", False)])
def test_a_compiler_that_the_toolkit_refuses_comes_before_guesses_at_a_failed_build(gcc, named):
    machine = host_of(gcc=gcc, cuda_toolkit="9.0")
    report = judge(machine, shipped(), error="error: command '/usr/local/cuda-9.0/bin/nvcc' failed with exit status 1")
    assert (report.findings[0].code == "host-compiler-unsupported") is named


def test_no_container_loses_its_gpus_on_windows():
    said = judge(host_of(platform="windows"), shipped(), error="cuda runtime error (30) : unknown error")
    assert "container-cgroup-lost" not in {item.code for item in all_findings(said)}


@pytest.mark.parametrize(("package", "code"), [("tensorflow", ""), ("tensorflow-gpu", "driver-too-old-for-runtime")])
def test_a_build_for_the_processor_asks_for_no_driver(package, code):
    """Of TensorFlow 2.0 the GPU build is a distribution of its own: beside the plain one any driver will do."""
    machine = host_of(driver="390.48", platform="linux", packages={package: "2.0.0"})
    raised = [item.code for item in all_findings(judge(machine, shipped())) if item.severity == "error"]
    assert raised == ([code] if code else [])


@pytest.mark.parametrize(("cudnn", "bad"), [("9.10.0", True), ("9", False), ("9.10", False)])
def test_a_number_cut_short_names_no_single_release_as_bad(cudnn, bad):
    found = {item.code for item in all_findings(judge(host_of(cudnn=cudnn), shipped()))}
    assert ("library-known-bad" in found) is bad
