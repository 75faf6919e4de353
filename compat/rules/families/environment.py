"""Environment variables that steer GPU software, and masks that hide devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.changes import Variable
from compat.findings import Fix
from compat.lazy import pattern
from compat.rules.rule import Fits, Found, Outcome, Rule
from compat.rules.stack import Installed, named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu, Host
    from compat.reading.messages import Hearing


class CudaEnvHarmful(Rule):
    """Debugging variables slow the GPU down.

    Why: It makes launches synchronous, writes core dumps, or loads a profiler into every program.
    Fix: Unset the variable outside debugging.
    Sources: https://github.com/NVIDIA/DCGM/blob/HEAD/nvvs/src/Software.cpp
    """

    severity = "warning"
    area = "env"
    _FLAGS: Final = (
        "CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "CUDA_DEVICE_WAITS_ON_EXCEPTION",
        "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
    )  # fmt: skip
    _PATHS: Final = (
        "CUDA_INJECTION64_PATH", "NSIGHT_CUDA_DEBUGGER", "CUDA_PROFILE", "COMPUTE_PROFILE", "OPENCL_PROFILE"
    )  # fmt: skip

    def check(self, env: Mapping[str, str]) -> Outcome:
        """A variable meant for debugging CUDA or HIP is set."""
        on = [name for name in self._FLAGS if env.get(name, "0") not in {"", "0"}]
        on += [name for name in self._PATHS if env.get(name)]
        if not on:
            return None
        return Found(
            detail=f"{', '.join(on)} is set.",
            facts=tuple(f"env.{name}" for name in on),
            fix=Fix("Unset it outside debugging.", changes=tuple(map(Variable, on))),
        )


# XLA's flag for the toolkit whose libdevice it reads (openxla, debug options).
_DATA_DIR: Final = pattern(r"--xla_gpu_cuda_data_dir=[\"']?([^\s\"']{1,400})")


class XlaFlagsInvalid(Rule):
    """XLA_FLAGS holds a flag that XLA does not accept.

    Why: XLA ends the process on unknown flags; flags come and go with its releases. A folder of CUDA that is not there
        fails later, when libdevice is looked for.
    Fix: Remove the flag. Or name the folder of a toolkit that has nvvm/libdevice.
    Sources: https://openxla.org/xla/flags_guidance
    """

    area = "env"
    changes = (Variable("XLA_FLAGS"),)

    def check(self, host: Host, env: Mapping[str, str], signals: Hearing) -> Outcome:
        """XLA reports a flag that it does not know; or a flag names a folder of CUDA where no toolkit is."""
        name = next((name for name in ("XLA_FLAGS", "TF_XLA_FLAGS") if env.get(name)), "")
        named = _DATA_DIR.search(env.get("XLA_FLAGS", ""))
        folder = named[1].rstrip("/") if named else ""
        known = host.cuda_toolkits
        if folder and known is not None and folder not in {one.rstrip("/") for one in known}:
            return Found(
                detail=f"XLA_FLAGS names {folder}, where no CUDA toolkit was found.",
                facts=("env.XLA_FLAGS", "cuda_toolkits"),
                confidence="likely",
                severity="warning",
            )
        if name and "xla-flags" in signals:
            return Found(detail=f"{name} is {env[name]!r}.", facts=(f"env.{name}",))
        return None


class BnbCudaOverride(Rule):
    """BNB_CUDA_VERSION forces another library of bitsandbytes.

    Why: The override switches off the search for the nearest library of the same major.
    Fix: Unset BNB_CUDA_VERSION.
    Sources: https://github.com/bitsandbytes-foundation/bitsandbytes/blob/HEAD/bitsandbytes/cextension.py
    """

    severity = "warning"
    area = "env"
    asks = ("builds",)
    changes = (Variable("BNB_CUDA_VERSION"),)

    def check(self, env: Mapping[str, str], installed: tuple[Installed, ...]) -> Outcome:
        """The variable names another CUDA major than the framework's."""
        value = env.get("BNB_CUDA_VERSION", "")
        torch = named(installed, "torch")
        own = torch.cuda.partition(".")[0] if torch else ""
        if not torch or not value or not own or value[:2] == own:
            return None
        detail = f"BNB_CUDA_VERSION is {value}, torch is built with CUDA {torch.cuda}."
        return Found(detail=detail, facts=("env.BNB_CUDA_VERSION",))


class JaxPlatformsMismatch(Rule):
    """JAX_PLATFORMS forces a platform that is not there.

    Why: The setting is strict: JAX does not fall back to other platforms.
    Fix: Unset JAX_PLATFORMS, or install the plug-in.
    Sources: https://docs.jax.dev/en/latest/config_options.html
    """

    severity = "warning"
    area = "env"
    changes = (Variable("JAX_PLATFORMS"),)

    def check(self, env: Mapping[str, str], gpus: tuple[Gpu, ...]) -> Outcome:
        """The variable names a platform without plug-in or hardware.

        Or it keeps JAX on the CPU although there is a GPU.
        """
        value = env.get("JAX_PLATFORMS") or env.get("JAX_PLATFORM_NAME") or ""
        vendors = {gpu.vendor for gpu in gpus}
        wants = {"cuda": "nvidia", "rocm": "amd", "gpu": ""}
        first = value.split(",")[0].strip()
        alone = first in wants and (not vendors or (wants[first] and wants[first] not in vendors))
        if not value or not (alone or (first == "cpu" and vendors)):
            return None
        detail = f"JAX_PLATFORMS is {value!r}; the GPUs are {', '.join(sorted(vendors)) or 'none'}."
        return Found(detail=detail, facts=("env.JAX_PLATFORMS", "gpus"))


_MASKS: Final = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK", "GPU_DEVICE_ORDINAL"
)  # fmt: skip


_ID: Final = pattern(r"(?i)GPU-|MIG-")  # how the id of a GPU, or of a slice of one, begins


class DevicesHidden(Rule):
    """Environment variables hide every GPU.

    Why: An entry that does not exist ends the list: all after it is invisible, and an empty value hides everything.
    Fix: Unset the mask, or give a list of GPUs that exist.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cuda-environment-variables
        - https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
    """

    area = "env"
    asks = ("gpus",)
    changes = (Variable("CUDA_VISIBLE_DEVICES"),)

    def check(self, host: Host, env: Mapping[str, str], signals: Hearing) -> Outcome:
        """A mask such as CUDA_VISIBLE_DEVICES is empty, -1, or names a GPU that does not exist."""
        if nested := self._nested(env, host.gpus, signals):
            return nested
        for name in _MASKS:
            if name not in env:
                continue
            value = env[name].strip()
            fix = Fix(f"Unset {name}, or give a list of GPUs that exist.", changes=(Variable(name),))
            why = self._hides(value, len(host.gpus) if host.gpus else None)
            if why and (host.gpus or signals.harmful):
                return Found(detail=f"{name} is {value!r}, which {why}.", facts=(f"env.{name}",), fix=fix)
            blind = not value.startswith("0") and signals.saying("no-gpu-seen", "no-gpu-vague")
            if value and (blind or signals.get("invalid-ordinal")):
                detail, facts = f"{name} is {value!r}, and no GPU is seen.", (f"env.{name}",)
                if not _ID.match(value):
                    return Found(detail=detail, facts=facts, fix=fix, confidence="likely")
                listed = Fix("Give ids that this lists.", ("rocminfo" if name[0] == "R" else "nvidia-smi -L",))
                return Found(detail=detail, facts=facts, fix=listed, confidence="possible", severity="warning")
        return Fits("")

    @staticmethod
    def _nested(env: Mapping[str, str], gpus: tuple[Gpu, ...] | None, signals: Hearing) -> Outcome:
        """Two masks on AMD GPUs, of which the second begins beyond what the first leaves: then none is left."""
        inner, beyond = beyond_outer(env)
        amd = any(gpu.vendor == "amd" for gpu in gpus or ())
        if not inner or not amd or not signals.harmful or env[inner].split(",")[0].strip() != beyond:
            return None
        left = len(env["ROCR_VISIBLE_DEVICES"].split(","))
        return Found(
            detail=f"ROCR_VISIBLE_DEVICES leaves {left} and renumbers from 0; {inner} then asks for GPU {beyond}.",
            facts=("env.ROCR_VISIBLE_DEVICES", f"env.{inner}"),
            fix=Fix("Set one of the masks only.", changes=(Variable(inner),)),
        )

    @staticmethod
    def _hides(value: str, count: int | None) -> str:
        """Why a mask hides all GPUs; empty if it need not."""
        first = value.split(",", maxsplit=1)[0].strip()
        if value in {"", "-1", "NoDevFiles", "void", "none"}:
            return "hides every GPU"
        if not (first[:1].isdecimal() or _ID.match(first)):
            return "begins with what is no number and no id of a GPU, so that it hides every GPU"
        if count and re.fullmatch(r"\d{1,4}", first) and int(first) >= count:
            return f"begins with a GPU that does not exist (there are {count})"
        return ""


def beyond_outer(env: Mapping[str, str]) -> tuple[str, str]:
    """The mask that is applied after ROCR_VISIBLE_DEVICES and the first index in it that the latter does not leave.

    On ROCm CUDA_VISIBLE_DEVICES counts as HIP_VISIBLE_DEVICES. Two empty texts if there is no such index.

    >>> beyond_outer({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"})
    ('HIP_VISIBLE_DEVICES', '1')
    """
    outer = env.get("ROCR_VISIBLE_DEVICES", "")
    inner = next((name for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if env.get(name)), "")
    if not outer or not inner:
        return "", ""
    left = len(outer.split(","))
    parts = (part.strip() for part in env[inner].split(","))
    beyond = next((part for part in parts if part.isdecimal() and int(part[:6]) >= left), "")
    return (inner, beyond) if beyond else ("", "")


class VisibleDevicesConflict(Rule):
    """Two layers of device masks disagree.

    Why: ROCR filters first and renumbers, HIP then filters the renumbered list.
    Fix: Set one of the masks only.
    Sources: https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
    """

    severity = "warning"
    area = "env"
    requires = ("devices-hidden",)
    changes = (Variable("HIP_VISIBLE_DEVICES"),)

    def check(self, host: Host, env: Mapping[str, str]) -> Outcome:
        """ROCR_VISIBLE_DEVICES and HIP_VISIBLE_DEVICES are both set, and do not nest.

        On ROCm CUDA_VISIBLE_DEVICES counts as the latter.
        """
        inner, beyond = beyond_outer(env)
        if not inner or not any(gpu.vendor == "amd" for gpu in host.gpus or ()):
            return None
        left = len(env["ROCR_VISIBLE_DEVICES"].split(","))
        detail = f"{inner} names GPU {beyond}, but ROCR_VISIBLE_DEVICES leaves {left}."
        return Found(detail=detail, facts=("env.ROCR_VISIBLE_DEVICES", f"env.{inner}"))
