"""The catalogue of facts: every name there is, the kind of its value, and what it means.

Detectors fill them, reports state them, rules name them as parameters, host files spell them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["text", "version", "number", "flag", "texts", "table", "tables", "gpus", "builds", "libraries"]


@dataclass(frozen=True, slots=True)
class Spec:
    """One entry of the catalogue: the kind of value and what it means."""

    kind: Kind
    meaning: str


# Every fact there is: detectors fill them, reports state them, rules name them as parameters.
CATALOGUE: Final[Mapping[str, Spec]] = {
    # the machine
    "os": Spec(
        "text", "distribution and release in image-tag spelling: ubuntu22.04, debian12, rhel9.4, windows11, macos14.5"
    ),
    "os_name": Spec("text", "the operating system as it calls itself"),
    "platform": Spec("text", "linux, windows, darwin, wsl1 or wsl2"),
    "kernel": Spec("text", "kernel release, as uname -r prints it"),
    "arch": Spec("text", "x86_64, aarch64, arm64 (macOS), ppc64le, ..."),
    "libc": Spec("text", "glibc or musl"),
    "glibc": Spec("version", "version of the GNU C library"),
    "libstdcxx": Spec("version", "highest GLIBCXX symbol version of the libstdc++ that would be loaded, 3.4.30"),
    "cpu": Spec("text", "processor model"),
    "cpu_flags": Spec("texts", "processor features that builds ask for: avx, avx2, avx512f, fma, sse4_2, neon, ..."),
    "memory_mib": Spec("number", "main memory in MiB"),
    "memory_available_mib": Spec("number", "main memory that a new process could use, in MiB"),
    "shm_mib": Spec("number", "size of /dev/shm in MiB"),
    "disk_free_mib": Spec("number", "free space of the working file system in MiB"),
    "memlock_kib": Spec("number", "limit of locked memory in KiB; -1 for unlimited"),
    "container": Spec("text", "docker, podman, kubernetes, lxc, apptainer, ...; absent outside a container"),
    "image": Spec("text", "reference of the container image in question"),
    "image_env": Spec("table", "environment baked into that image"),
    "user_id": Spec("number", "numeric user id that runs this"),
    "groups": Spec("texts", "groups of that user, by name where a name exists"),
    "secure_boot": Spec("flag", "whether the firmware enforces signed kernel modules"),
    "selinux": Spec("text", "enforcing, permissive or disabled"),
    "scheduler": Spec("text", "slurm, kubernetes, ... when the process runs under one"),
    "iommu": Spec("text", "address translation: as the kernel command line names it, else pt or translated"),
    "virtual_machine": Spec("flag", "whether the processor says that a hypervisor runs it"),
    "long_paths": Spec("flag", "whether Windows lets programs use paths of more than 260 characters"),
    "tdr_delay": Spec("number", "seconds after which Windows resets a GPU that does not answer; 0 for never"),
    "hung": Spec("table", "what did not answer within the deadline -> the reason"),
    "jetpack": Spec("version", "JetPack release of a Jetson"),
    "l4t": Spec("version", "Linux for Tegra release of a Jetson"),
    # GPUs and their drivers
    "gpus": Spec("gpus", "every accelerator, seen through a driver or by its PCI id"),
    "driver": Spec("version", "NVIDIA kernel-module version"),
    "driver_library": Spec("version", "version of the NVIDIA user-mode driver that the loader picks (libcuda)"),
    "driver_branch": Spec("text", "open or proprietary NVIDIA kernel module"),
    "driver_cuda": Spec("version", "highest CUDA version the NVIDIA driver supports by itself"),
    "driver_packages": Spec("texts", "distribution packages of NVIDIA or AMD drivers that are installed"),
    "nvml": Spec("text", "what initialising NVML answers: ok, or the error's name"),
    "cuda_init": Spec("text", "what cuInit answered where a probe called it: ok, or the error's name"),
    "modules": Spec("texts", "loaded kernel modules that concern GPUs: nvidia, nvidia_uvm, nouveau, amdgpu, ..."),
    "module_file": Spec("text", "file of NVIDIA's module for the running kernel, where the module is not loaded"),
    "device_nodes": Spec(
        "texts", "GPU device nodes that exist: /dev/nvidia0, /dev/nvidia-uvm, /dev/kfd, /dev/dri/renderD128"
    ),
    "device_nodes_denied": Spec("texts", "GPU device nodes that exist but may not be opened"),
    "device_groups": Spec("table", "device node -> group that owns it"),
    "fabric_manager": Spec("text", "version and state of NVIDIA's fabric manager; absent if not installed"),
    "nvswitch": Spec("number", "number of NVSwitch devices"),
    "xids": Spec("texts", "NVIDIA Xid numbers found in the kernel log"),
    "driver_log": Spec("texts", "lines of the kernel log that say why NVIDIA's module could not start a GPU"),
    "mps": Spec("text", "NVIDIA's multi-process service: running, or stopped with its pipes left behind; else absent"),
    "imex": Spec("text", "version and state of NVIDIA's IMEX service; absent if not installed"),
    "peer_access": Spec("flag", "whether every pair of CUDA devices can address each other's memory"),
    "pcie_acs": Spec("texts", "PCIe bridges above GPUs whose access control redirects traffic between devices"),
    "infiniband": Spec("number", "number of InfiniBand or RoCE devices"),
    "amdgpu": Spec("text", "version of the amdgpu kernel driver, or inbox"),
    "rocm": Spec("version", "installed ROCm release"),
    "hip": Spec("version", "HIP runtime version"),
    "intel_runtime": Spec("text", "version of Intel's Level Zero compute runtime"),
    "cann": Spec("text", "version of Huawei's CANN toolkit"),
    # toolkits and libraries
    "cuda_toolkit": Spec("version", "version of the CUDA toolkit first on PATH (nvcc)"),
    "cuda_toolkits": Spec("table", "folder -> version of each CUDA toolkit on disk"),
    "rocm_installs": Spec("table", "folder -> version of each ROCm on disk"),
    "cudnn": Spec("version", "cuDNN that the loader picks"),
    "nccl": Spec("version", "NCCL that the loader picks"),
    "tensorrt": Spec("version", "TensorRT that the loader picks"),
    "libraries": Spec("libraries", "GPU libraries that can be loaded"),
    "gcc": Spec("version", "version of gcc on PATH"),
    "clang": Spec("version", "version of clang on PATH"),
    "msvc": Spec("text", "version of Microsoft's compiler or runtime"),
    "cmake": Spec("version", "version of cmake on PATH"),
    "ninja": Spec("version", "version of ninja on PATH"),
    # Python
    "python": Spec("version", "version of the interpreter in question"),
    "python_path": Spec("text", "path of that interpreter"),
    "python_environment": Spec("text", "venv, conda, system, pipx, poetry, uv"),
    "python_arch": Spec("text", "architecture the interpreter was built for, when it may differ from the machine's"),
    "packages": Spec("table", "distribution -> version in that interpreter"),
    "package_requires": Spec("tables", "distribution -> its Requires-Dist lines, for those that matter here"),
    "duplicate_packages": Spec("tables", "distribution -> versions, where more than one copy is importable"),
    "builds": Spec("builds", "package -> what its build says of itself"),
    "conda_packages": Spec("table", "conda package -> version (and build)"),
    # containers
    "engine": Spec("text", "container engine and version: docker 28.3.0, podman 5.2; absent if there is none"),
    "engine_status": Spec("text", "running, stopped, denied, unreachable"),
    "engine_flavour": Spec("text", "native, snap, rootless, desktop"),
    "gpu_runtime": Spec("text", "how the engine gives GPUs to containers: nvidia, cdi, amd; absent if it cannot"),
    "container_toolkit": Spec("text", "version of the NVIDIA container toolkit"),
    "toolkit_config": Spec("table", "settings of the NVIDIA container toolkit, by their dotted names"),
    "cdi_devices": Spec("texts", "devices named by CDI specifications"),
    "cdi_driver": Spec("text", "driver version that the CDI specification was written for"),
    "cgroup": Spec("text", "v1 or v2, and the engine's driver: v2 systemd"),
    # environment
    "env": Spec("table", "environment variables that steer GPU software"),
}
