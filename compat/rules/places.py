"""Particular places: Jetson, Windows, Intel, virtual GPUs, MPS, environment variables, disks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.findings import Fix
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import framework, installed, packages_of

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.rules.signals import Hearing


class JetsonGenericWheel(Rule):
    """A generic ARM wheel is installed on a Jetson.

    What:
        The machine is a Jetson, and the framework's build is a CPU build or carries no code for its integrated GPU.
    Why:
        Jetsons have their own capabilities and driver stack; other ARM wheels are for CPUs or servers.
    Fix:
        Install the wheel for this JetPack, or use a container for it.
    Sources:
        - https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/
    """

    area = "jetson"
    asks = ("jetpack", "l4t", "builds")
    remedy = Fix("Install the wheel that NVIDIA publishes for this JetPack, or use an l4t container.")

    def check(self, l4t: str, host: Host, matrix: Matrix) -> Outcome:
        torch = framework(host, matrix, "torch")
        if torch is None or not torch.runtime or torch.inferred:
            return None
        targets = {gpu.target for gpu in host["gpus"] or () if gpu.target}
        if torch.runtime != "cpu" and (not torch.kernels or not targets or targets & set(torch.kernels)):
            return None
        return Found(detail=f"{torch.label} is not the build for L4T {l4t}.", facts=("l4t", torch.fact))


class JetsonJetpackMismatch(Rule):
    """A container for another JetPack.

    What:
        The L4T release in the image's tag is not of the host's series.
    Why:
        On a Jetson the driver is part of the board's system and cannot be upgraded alone.
    Fix:
        Choose the image tag of the installed L4T release.
    Sources:
        - https://catalog.ngc.nvidia.com/orgs/nvidia/containers/l4t-base
    """

    area = "jetson"
    asks = ("l4t", "image")
    remedy = Fix("Choose the image tag of the installed L4T release.")

    def check(self, l4t: str, image: str) -> Outcome:
        tagged = re.search(r"[:-]r(\d{2})\.", image)
        own = re.search(r"\d{2}", l4t)
        if not tagged or not own or tagged[1] == own[0]:
            return None
        return Found(detail=f"{image} is for L4T {tagged[1]}, the host has {l4t}.", facts=("l4t", "image"))


class WindowsVcRuntimeMissing(Rule):
    """Microsoft's Visual C++ runtime is missing.

    What:
        A framework's DLL does not load, and the runtime is not installed.
    Why:
        The DLLs need the shared C++ runtime, which Windows does not ship.
    Fix:
        Install the Visual C++ redistributable.
    Sources:
        - https://learn.microsoft.com/cpp/windows/latest-supported-vc-redist
    """

    area = "windows"
    platforms = ("windows",)
    asks = ("msvc",)
    remedy = Fix("Install the Visual C++ redistributable.", ("winget install Microsoft.VCRedist.2015+.x64",))

    def check(self, host: Host, signals: Hearing) -> Outcome:
        if not host.absent("msvc"):
            return Fits("") if host["msvc"] else None
        return Found(detail="The runtime is not installed.", facts=("msvc",), severity="error" if "win-dll" in signals else "warning")


class WindowsLongPaths(Rule):
    """Long paths are switched off on Windows.

    What:
        pip reports a path that is too long.
    Why:
        Wheels hold deep trees of headers, which pass the limit of 260 characters.
    Fix:
        Switch LongPathsEnabled on, or use a short path.
    Sources:
        - https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation
    """

    severity = "warning"
    area = "windows"
    platforms = ("windows",)
    remedy = Fix(
        "Switch LongPathsEnabled on, or use a short path.",
        (r"reg add HKLM\SYSTEM\CurrentControlSet\Control\FileSystem /v LongPathsEnabled /t REG_DWORD /d 1",),
    )

    def check(self, platform: str, signals: Hearing) -> Outcome:
        heard = signals.get("tdr-paths")
        return Found(detail=heard.signal.meaning, facts=("platform",), severity="error") if heard and platform == "windows" else None


class WindowsTdrTimeout(Rule):
    """The display watchdog ended a kernel.

    What:
        A kernel ran past the time that a GPU with a display may take.
    Why:
        Windows (and X servers) reset a GPU that does not answer within seconds.
    Fix:
        Raise TdrDelay, use the TCC mode on supported cards, or shorter kernels.
    Sources:
        - https://learn.microsoft.com/windows-hardware/drivers/display/tdr-registry-keys
    """

    severity = "warning"
    area = "windows"
    asks = ("platform",)
    remedy = Fix("Raise TdrDelay, or use a GPU without a display.")

    def check(self, platform: str, signals: Hearing) -> Outcome:
        heard = signals.get("launch-timeout")
        return Found(detail=heard.signal.meaning, facts=("platform",), severity="error") if heard else None


class MacosRosettaPython(Rule):
    """An Intel Python runs on Apple silicon.

    What:
        The machine is arm64 and the interpreter was built for x86_64.
    Why:
        An emulated Python cannot use the GPU and finds only old wheels.
    Fix:
        Install a Python for arm64.
    Sources:
        - https://developer.apple.com/metal/pytorch/
    """

    severity = "error"
    area = "macos"
    platforms = ("darwin",)
    asks = ("python_arch", "arch")
    remedy = Fix("Install a Python for arm64.", ("uv python install",))

    def check(self, arch: str, python_arch: str) -> Outcome:
        if arch not in {"arm64", "aarch64"} or python_arch not in {"x86_64", "amd64"}:
            return None
        return Found(detail=f"The machine is {arch}, Python is {python_arch}.", facts=("arch", "python_arch"))


class IntelNoComputeRuntime(Rule):
    """An Intel GPU lacks its compute runtime.

    What:
        An Intel GPU is there, and Level Zero cannot be loaded.
    Why:
        PyTorch's XPU device talks to the GPU through Level Zero.
    Fix:
        Install the compute runtime of the distribution or Intel's repository.
    Sources:
        - https://dgpu-docs.intel.com/
    """

    area = "intel"
    vendors = ("intel",)
    asks = ("intel_runtime", "gpus")
    remedy = Fix("Install Intel's compute runtime.", ("sudo apt install libze1 libze-intel-gpu1 intel-opencl-icd",))

    def check(self, gpus: tuple[Gpu, ...], host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        cards = [gpu for gpu in gpus if gpu.vendor == "intel"]
        if not cards or not host.absent("intel_runtime"):
            return Fits("Intel's compute runtime is there") if cards and host["intel_runtime"] else None
        wanted = any(item.runtime == "xpu" for item in installed(host, matrix)) or bool(signals.get("intel-level-zero"))
        return Found(detail=f"{cards[0].name or 'An Intel GPU'} is there, Level Zero is not.", facts=("gpus", "intel_runtime"), severity="error" if wanted else "info")


class IntelRenderPermission(Rule):
    """The user may not open the Intel render node.

    What:
        An Intel GPU is there, and its render node may not be opened.
    Why:
        The node belongs to the group render.
    Fix:
        Join the group and log in again.
    Sources:
        - https://dgpu-docs.intel.com/
    """

    area = "intel"
    vendors = ("intel",)
    requires = ("device-permission",)
    asks = ("device_nodes_denied",)
    remedy = Fix("Join the group render and log in again.", ("sudo usermod -aG render $USER",))

    def check(self, device_nodes_denied: tuple[str, ...], gpus: tuple[Gpu, ...], signals: Hearing) -> Outcome:
        denied = [node for node in device_nodes_denied if "renderD" in node]
        if not denied or {gpu.vendor for gpu in gpus} != {"intel"}:
            return None
        return Found(detail=f"{denied[0]} may not be opened.", facts=("device_nodes_denied",), severity="error" if signals.harmful else "warning")


class VgpuUnlicensed(Rule):
    """A virtual GPU without a licence.

    What:
        CUDA reports that the device has no licence.
    Why:
        Unlicensed virtual GPUs are slowed down and may refuse CUDA.
    Fix:
        Configure the licence and restart the licence daemon.
    Sources:
        - https://docs.nvidia.com/vgpu/
    """

    area = "vgpu"
    vendors = ("nvidia",)
    asks = ("gpus",)
    remedy = Fix("Configure the licence and restart its daemon.", ("sudo systemctl restart nvidia-gridd",))

    def check(self, signals: Hearing) -> Outcome:
        heard = signals.get("not-licensed")
        return Found(detail=heard.signal.meaning) if heard else None


class MpsBroken(Rule):
    """The MPS client cannot reach its server.

    What:
        CUDA reports an error of MPS, or the variable of its pipe is set and no daemon answers.
    Why:
        With MPS active every CUDA program becomes a client of one daemon.
    Fix:
        Restart the daemon as the same user, or unset the variables; in containers share the pipe and use --ipc=host.
    Sources:
        - https://docs.nvidia.com/deploy/mps/
    """

    area = "mps"
    vendors = ("nvidia",)
    asks = ("env",)
    remedy = Fix("Restart the MPS daemon, or unset its variables.", ("echo quit | nvidia-cuda-mps-control", "nvidia-cuda-mps-control -d"))

    def check(self, signals: Hearing) -> Outcome:
        heard = signals.get("mps-errors")
        return Found(detail=heard.signal.meaning) if heard else None


class CudaEnvHarmful(Rule):
    """Debugging variables slow the GPU down.

    What:
        A variable meant for debugging CUDA or HIP is set.
    Why:
        It makes launches synchronous, writes core dumps, or loads a profiler into every program.
    Fix:
        Unset it outside debugging.
    Sources:
        - https://github.com/NVIDIA/DCGM/blob/HEAD/nvvs/src/Software.cpp
    """

    severity = "warning"
    area = "env"
    asks = ("env",)
    remedy = Fix("Unset the variable outside debugging.")
    _FLAGS: Final = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "CUDA_DEVICE_WAITS_ON_EXCEPTION", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION")
    _PATHS: Final = ("CUDA_INJECTION64_PATH", "NSIGHT_CUDA_DEBUGGER", "CUDA_PROFILE", "COMPUTE_PROFILE", "OPENCL_PROFILE")

    def check(self, env: dict[str, str]) -> Outcome:
        on = [name for name in self._FLAGS if env.get(name, "0") not in {"", "0"}] + [name for name in self._PATHS if env.get(name)]
        if not on:
            return None
        return Found(detail=f"{', '.join(on)} is set.", facts=tuple(f"env.{name}" for name in on), fix=Fix("Unset it outside debugging.", (f"unset {' '.join(on)}",)))


class XlaFlagsInvalid(Rule):
    """XLA_FLAGS holds an unknown flag.

    What:
        XLA reports a flag that it does not know.
    Why:
        XLA ends the process on unknown flags; flags come and go with its releases.
    Fix:
        Remove the flag.
    Sources:
        - https://openxla.org/xla/flags_guidance
    """

    area = "env"
    asks = ("env",)
    remedy = Fix("Remove the flag.", ("unset XLA_FLAGS",))

    def check(self, env: dict[str, str], signals: Hearing) -> Outcome:
        name = next((name for name in ("XLA_FLAGS", "TF_XLA_FLAGS") if env.get(name)), "")
        return Found(detail=f"{name} is {env[name]!r}.", facts=(f"env.{name}",)) if name and "xla-flags" in signals else None


class TfMemoryEnv(Rule):
    """TensorFlow or JAX will take most of the GPU's memory.

    What:
        Two frameworks share an environment, and the one that takes memory at start is not told otherwise.
    Why:
        Both take a large share at start, so that a second process finds none.
    Fix:
        Set TF_FORCE_GPU_ALLOW_GROWTH=true or XLA_PYTHON_CLIENT_PREALLOCATE=false.
    Sources:
        - https://docs.jax.dev/en/latest/gpu_memory_allocation.html
        - https://www.tensorflow.org/guide/gpu
    """

    severity = "info"
    area = "env"
    requires = ("out-of-memory",)
    asks = ("env", "packages")
    remedy = Fix("Let the memory grow on demand.", ("export TF_FORCE_GPU_ALLOW_GROWTH=true", "export XLA_PYTHON_CLIENT_PREALLOCATE=false"))

    def check(self, env: dict[str, str], host: Host, gpus: tuple[Gpu, ...]) -> Outcome:
        here = packages_of(host).keys() & {"torch", "tensorflow", "jax"}
        quiet = env.get("TF_FORCE_GPU_ALLOW_GROWTH") or env.get("XLA_PYTHON_CLIENT_PREALLOCATE")
        if len(here) < 2 or quiet or not gpus:
            return None
        return Found(detail=f"{' and '.join(sorted(here))} share the GPUs.", facts=tuple(f"packages.{name}" for name in sorted(here)))


class BnbCudaOverride(Rule):
    """BNB_CUDA_VERSION forces another library of bitsandbytes.

    What:
        The variable names another CUDA major than the framework's.
    Why:
        The override switches off the search for the nearest library of the same major.
    Fix:
        Unset it.
    Sources:
        - https://github.com/bitsandbytes-foundation/bitsandbytes/blob/HEAD/bitsandbytes/cextension.py
    """

    severity = "warning"
    area = "env"
    asks = ("env", "builds")
    remedy = Fix("Unset BNB_CUDA_VERSION.", ("unset BNB_CUDA_VERSION",))

    def check(self, env: dict[str, str], host: Host, matrix: Matrix) -> Outcome:
        value = env.get("BNB_CUDA_VERSION", "")
        torch = framework(host, matrix, "torch")
        own = torch.cuda.partition(".")[0] if torch else ""
        if not value or not own or value[:2] == own:
            return None
        return Found(detail=f"BNB_CUDA_VERSION is {value}, torch is built with CUDA {torch.cuda if torch else ''}.", facts=("env.BNB_CUDA_VERSION",))


class JaxPlatformsMismatch(Rule):
    """JAX_PLATFORMS forces a platform that is not there.

    What:
        The variable names a platform without plug-in or hardware, or keeps JAX on the CPU although there is a GPU.
    Why:
        The setting is strict: JAX does not fall back to other platforms.
    Fix:
        Unset it, or install the plug-in.
    Sources:
        - https://docs.jax.dev/en/latest/config_options.html
    """

    severity = "warning"
    area = "env"
    asks = ("env", "gpus")
    remedy = Fix("Unset JAX_PLATFORMS, or install the plug-in.", ("unset JAX_PLATFORMS",))

    def check(self, env: dict[str, str], gpus: tuple[Gpu, ...]) -> Outcome:
        value = env.get("JAX_PLATFORMS") or env.get("JAX_PLATFORM_NAME") or ""
        vendors = {gpu.vendor for gpu in gpus}
        wants = {"cuda": "nvidia", "rocm": "amd", "gpu": ""}
        first = value.split(",")[0].strip()
        alone = first in wants and (not vendors or (wants[first] and wants[first] not in vendors))
        if not value or not (alone or (first == "cpu" and vendors)):
            return None
        return Found(detail=f"JAX_PLATFORMS is {value!r}; the GPUs are {', '.join(sorted(vendors)) or 'none'}.", facts=("env.JAX_PLATFORMS", "gpus"))


class DiskSpaceLow(Rule):
    """There is little disk space for images and wheels.

    What:
        A write failed for want of space, or less is free than a GPU image takes.
    Why:
        GPU images take 5 to 25 GiB, and a pull needs the compressed and the unpacked form at once.
    Fix:
        Remove what is unused, or move the engine's data and TMPDIR to a larger disk.
    Sources:
        - https://docs.docker.com/engine/manage-resources/pruning/
    """

    severity = "warning"
    area = "resources"
    asks = ("disk_free_mib",)
    remedy = Fix("Remove what is unused, or move it to a larger disk.", ("docker system prune", "pip cache purge"))
    _SMALL: Final = 5 * 1024  # MiB: the smallest GPU images

    def check(self, disk_free_mib: int, signals: Hearing) -> Outcome:
        told = "no-space" in signals
        if not told and disk_free_mib >= self._SMALL:
            return Fits(f"{disk_free_mib // 1024} GiB of disk are free")
        return Found(detail=f"{disk_free_mib} MiB are free.", facts=("disk_free_mib",), severity="error" if told else None)


RULES = family(
    JetsonGenericWheel, JetsonJetpackMismatch, IntelNoComputeRuntime, IntelRenderPermission, VgpuUnlicensed, MpsBroken, WindowsVcRuntimeMissing,
    WindowsLongPaths, WindowsTdrTimeout, MacosRosettaPython, CudaEnvHarmful, XlaFlagsInvalid, TfMemoryEnv, BnbCudaOverride,
    JaxPlatformsMismatch, DiskSpaceLow,
)  # fmt: skip
