"""The catalogue of facts: every name there is, the kind of its value, and what it means.

Detectors fill them, reports state them, rules name them as parameters, host files spell them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, Literal, TypeVar, overload

from compat.records import Build, Fact, Gpu, Library, Reading

Kind = Literal["text", "version", "number", "flag", "texts", "table", "tables", "gpus", "builds", "libraries"]
T = TypeVar("T")


class Item(Generic[T]):
    """One name of the catalogue. Read from a host it gives the value, or ``None`` if that is absent or unknown.

    Attributes:
        kind: how a host file writes the value.
        meaning: what the fact is, for people.
        name: the name in :class:`Facts`.
    """

    __slots__ = ("kind", "meaning", "name")

    def __init__(self, kind: Kind, meaning: str) -> None:
        self.kind: Final = kind
        self.meaning: Final = meaning
        self.name = ""

    def __set_name__(self, _: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, host: None, _: type) -> Item[T]: ...
    @overload
    def __get__(self, host: Facts, _: type) -> T | None: ...
    def __get__(self, host: Facts | None, _: type) -> Any:
        if host is None:
            return self
        reading = host.readings.get(self.name)
        return reading.value if isinstance(reading, Fact) else None


_text: Final[Callable[[str], Item[str]]] = partial(Item, "text")
_version: Final[Callable[[str], Item[str]]] = partial(Item, "version")
_number: Final[Callable[[str], Item[int]]] = partial(Item, "number")
_flag: Final[Callable[[str], Item[bool]]] = partial(Item, "flag")
_texts: Final[Callable[[str], Item[tuple[str, ...]]]] = partial(Item, "texts")
_table: Final[Callable[[str], Item[Mapping[str, str]]]] = partial(Item, "table")
_tables: Final[Callable[[str], Item[Mapping[str, tuple[str, ...]]]]] = partial(Item, "tables")


class Facts:
    """Every fact there is, as a typed attribute of a host."""

    __slots__ = ()
    readings: Mapping[str, Reading]

    # the machine
    os = _text("distribution and release in image-tag spelling: ubuntu22.04, debian12, rhel9.4, windows11, macos14.5")
    os_name = _text("the operating system as it calls itself")
    platform = _text("linux, windows, darwin, wsl1 or wsl2")
    kernel = _text("kernel release, as uname -r prints it")
    arch = _text("x86_64, aarch64, arm64 (macOS), ppc64le, ...")
    libc = _text("glibc or musl")
    glibc = _version("version of the GNU C library")
    libstdcxx = _version("highest GLIBCXX symbol version of the libstdc++ that would be loaded, 3.4.30")
    cpu = _text("processor model")
    cpu_flags = _texts("processor features that builds ask for: avx, avx2, avx512f, fma, sse4_2, neon, ...")
    memory_mib = _number("main memory in MiB")
    memory_available_mib = _number("main memory that a new process could use, in MiB")
    shm_mib = _number("size of /dev/shm in MiB")
    disk_free_mib = _number("free space of the working file system in MiB")
    memlock_kib = _number("limit of locked memory in KiB; -1 for unlimited")
    container = _text("docker, podman, kubernetes, lxc, apptainer, ...; absent outside a container")
    image = _text("reference of the container image in question")
    image_env = _table("environment baked into that image")
    user_id = _number("numeric user id that runs this")
    groups = _texts("groups of that user, by name where a name exists")
    secure_boot = _flag("whether the firmware enforces signed kernel modules")
    selinux = _text("enforcing, permissive or disabled")
    scheduler = _text("slurm, kubernetes, ... when the process runs under one")
    iommu = _text("address translation: as the kernel command line names it, else pt or translated")
    virtual_machine = _flag("whether the processor says that a hypervisor runs it")
    long_paths = _flag("whether Windows lets programs use paths of more than 260 characters")
    tdr_delay = _number("seconds after which Windows resets a GPU that does not answer; 0 for never")
    hung = _table("what did not answer within the deadline -> the reason")
    driver_faults = _table("path of a driver library -> what it did to the program that asked it: crashed, ended it")
    jetpack = _version("JetPack release of a Jetson")
    l4t = _version("Linux for Tegra release of a Jetson")
    # GPUs and their drivers
    gpus: Item[tuple[Gpu, ...]] = Item("gpus", "every accelerator, seen through a driver or by its PCI id")
    driver = _version("NVIDIA kernel-module version")
    driver_library = _version("version of the NVIDIA user-mode driver that the loader picks (libcuda)")
    driver_branch = _text("open or proprietary NVIDIA kernel module")
    driver_cuda = _version("highest CUDA version the NVIDIA driver supports by itself")
    driver_packages = _texts("distribution packages of NVIDIA or AMD drivers that are installed")
    nvml = _text("what initialising NVML answers: ok, or the error's name")
    cuda_init = _text("what cuInit answered where a probe called it: ok, or the error's name")
    modules = _texts("loaded kernel modules that concern GPUs: nvidia, nvidia_uvm, nouveau, amdgpu, ...")
    module_file = _text("file of NVIDIA's module for the running kernel, where the module is not loaded")
    device_nodes = _texts("GPU device nodes that exist: /dev/nvidia0, /dev/nvidia-uvm, /dev/kfd, /dev/dri/renderD128")
    device_nodes_denied = _texts("GPU device nodes that exist but may not be opened")
    device_groups = _table("device node -> group that owns it")
    init = _text("what manages services: systemd, openrc, or the name of process 1")
    fabric_manager = _text("version and state of NVIDIA's fabric manager; absent if not installed")
    nvswitch = _number("number of NVSwitch devices")
    xids = _texts("NVIDIA Xid numbers found in the kernel log")
    driver_log = _texts("lines of the kernel log that say why NVIDIA's module could not start a GPU")
    mps = _text("NVIDIA's multi-process service: running, or stopped with its pipes left behind; else absent")
    gpu_sharing = _text("how the pods of a Kubernetes node share each GPU, and its replicas: time-slicing 4, mps 10")
    imex = _text("version and state of NVIDIA's IMEX service; absent if not installed")
    peer_access = _flag("whether every pair of CUDA devices can address each other's memory")
    pcie_acs = _texts("PCIe bridges above GPUs whose access control redirects traffic between devices")
    infiniband = _number("number of InfiniBand or RoCE devices")
    amdgpu = _text("version of the amdgpu kernel driver, or inbox")
    rocm = _version("installed ROCm release")
    hip = _version("HIP runtime version")
    intel_runtime = _text("version of Intel's Level Zero compute runtime")
    cann = _text("version of Huawei's CANN toolkit")
    # toolkits and libraries
    cuda_toolkit = _version("version of the CUDA toolkit first on PATH (nvcc)")
    cuda_toolkits = _table("folder -> version of each CUDA toolkit on disk")
    rocm_installs = _table("folder -> version of each ROCm on disk")
    cudnn = _version("cuDNN that the loader picks")
    nccl = _version("NCCL that the loader picks")
    tensorrt = _version("TensorRT that the loader picks")
    libraries: Item[tuple[Library, ...]] = Item("libraries", "GPU libraries that can be loaded")
    gcc = _version("version of gcc on PATH")
    clang = _version("version of clang on PATH")
    msvc = _text("version of Microsoft's compiler or runtime")
    cmake = _version("version of cmake on PATH")
    ninja = _version("version of ninja on PATH")
    # Python
    python = _version("version of the interpreter in question")
    python_path = _text("path of that interpreter")
    python_environment = _text("venv, conda, system, nix, pipx, uv, uv tool; of a project: uv project, poetry, pdm")
    python_arch = _text("architecture the interpreter was built for, when it may differ from the machine's")
    packages = _table("distribution -> version in that interpreter")
    package_requires = _tables("distribution -> its Requires-Dist lines, for those that matter here")
    duplicate_packages = _tables("distribution -> versions, where more than one copy is importable")
    builds: Item[Mapping[str, Build]] = Item("builds", "package -> what its build says of itself")
    conda_packages = _table("conda package -> version (and build)")
    installers = _table("distribution -> who installed it: pip, uv, poetry, conda, system; for those that matter here")
    # containers
    engine = _text("container engine and version: docker 28.3.0, podman 5.2; absent if there is none")
    engine_status = _text("running, stopped, denied, unreachable")
    engine_flavour = _text("native, snap, rootless, desktop")
    gpu_runtime = _text("how the engine gives GPUs to containers: nvidia, cdi, amd; absent if it cannot")
    container_toolkit = _text("version of the NVIDIA container toolkit")
    toolkit_config = _table("settings of the NVIDIA container toolkit, by their dotted names")
    cdi_devices = _texts("devices named by CDI specifications")
    cdi_driver = _text("driver version that the CDI specification was written for")
    cgroup = _text("v1 or v2, and the engine's driver: v2 systemd")
    # environment
    env = _table("environment variables that steer GPU software")


CATALOGUE: Final[Mapping[str, Item[Any]]] = {name: item for name, item in vars(Facts).items() if isinstance(item, Item)}
