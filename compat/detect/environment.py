"""Environment variables that steer GPU software. An allow-list: nothing else leaves the machine.

A name is on the list if a driver, a GPU library or a framework reads it. A value is hidden if its name speaks of
credentials, accounts or hosts. Everything else in the environment is nobody's business.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.detect.base import ANYWHERE
from compat.facts import Fact, Reading
from compat.lazy import pattern
from compat.redaction import variable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "environment"
FACTS: Final = ("env",)
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "environment"

# By maker and framework; the names that libraries read, not everything that shares a word with them.
_STEERS: Final = pattern(
    r"(?:CUDA|NVIDIA|NV|NVCC|CUDNN|CUBLAS|NCCL|NVSHMEM|CUPTI|TENSORRT|TCNN|CMAKE_CUDA"
    r"|HIP|ROCR?|ROCM|HSA|AMD|MIOPEN|RCCL|HCC|GPU|MPS"
    r"|ONEAPI|SYCL|ZE|ZES|UR|IPEX|ASCEND|NPU|TPU|LIBTPU|PJRT|HABANA|ACCELERATE"
    r"|TORCH|PYTORCH|TORCHINDUCTOR|TRITON|XFORMERS|FLASH_ATTENTION|FLASH_ATTN|TF|KERAS|XLA|JAX|FLAGS|PADDLE|ORT|BNB"
    r"|VLLM|DS|DEEPSPEED|APEX|MMCV|FORCE|SGL|SGLANG|NUMBA|CUPY|GGML|LLAMA|OLLAMA|UCX|GLOO"
    r"|OMP|MKL|KMP|OPENBLAS|CONDA|DOCKER|APPTAINER|SINGULARITY)_\w{1,80}"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|LD_AUDIT|LIBRARY_PATH|CPATH|PYTHONPATH|PYTHONHOME|PYTHONNOUSERSITE|VIRTUAL_ENV"
    r"|CUDACXX|CUDAHOSTCXX|CXX|CC|KUBERNETES_SERVICE_HOST|WSL_DISTRO_NAME|MAX_JOBS"
    r"|SLURM_(?:JOB_ID|JOB_GPUS|STEP_GPUS|GPUS\w*|NTASKS|LOCALID|PROCID|JOB_PARTITION)|LOCAL_RANK|WORLD_SIZE|RANK|USE_\w{2,20}"
)
# Words in a name whose value may be a credential or name a person, a host or an account
_SECRET: Final = pattern(
    r"TOKEN|SECRET|PASSW|_PASS\b|KEY|CREDENTIAL|AUTH|COOKIE|_USER|_HOST(?:NAME)?\b|_ADDR|_NODELIST|ACCOUNT|UUID|_IP\b|_URL|PROXY"
)
_MEANS_NO_SECRET: Final = frozenset({"KUBERNETES_SERVICE_HOST", "DOCKER_HOST"})
_LONGEST: Final = 4096


def facts(machine: Machine) -> Mapping[str, Reading]:
    """The variables of the allow-list; values that may hold a secret are shown as ``(set)``."""
    steering = sorted((name, value) for name, value in machine.env.items() if _STEERS.fullmatch(name))
    chosen = {name: variable(_value(name, value)[:_LONGEST]) for name, value in steering}
    return {"env": Fact(chosen, SOUGHT)}


def _value(name: str, value: str) -> str:
    """The value, or ``(set)`` where its name says that it may be private."""
    if _SECRET.search(name) is None:
        return value
    return "(set)" if name not in _MEANS_NO_SECRET or "@" in value or name.startswith("KUBERNETES") else value
