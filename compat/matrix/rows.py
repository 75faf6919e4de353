"""The matrix's rows as frozen values: this module is the schema of ``matrix/*.toml``.

Every row has ``source`` (ids of the file's ``[sources]`` table), ``how`` it is known, and perhaps a ``note``. A field
annotated ``tuple[str, ...]`` is spelled in TOML as one text with spaces between its items (or as a list, where
an item may contain a space: the fields in :data:`LISTS`), so that a row stays on one line and diffs stay readable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from compat.plan import CudaFrom, How

LISTS: Final = frozenset({"requires", "pins", "examples"})
"""Fields whose items may hold spaces; they are TOML lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row has.

    Attributes:
        source: ids of the citations that the row rests on.
        how: how it is known; where several fields differ in strength, the strength of those that decide.
        inferred: fields of this row that are weaker than ``how`` says: nobody saw them in a document.
        exempt: laws that this row is known to break (:mod:`compat.matrix.laws`); ``note`` says why the world does.
        note: what a reader should know, exceptions to a law included.
        origin: file it came from, set by the loader (overlays differ from our own).
    """

    source: tuple[str, ...]
    how: How
    inferred: tuple[str, ...] = ()
    exempt: tuple[str, ...] = ()
    note: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package(Row):
    """A framework or a companion (table ``packages``).

    Attributes:
        name: distribution name in normalised spelling, ``tensorflow``.
        title: the name its makers write, ``TensorFlow``.
        kind: ``framework``, ``companion`` (belongs to a framework), ``library`` (CUDA library with a Python package).
        module: name to import.
        aliases: other names people type or other distributions of the same thing (``pytorch``).
        follows: package whose build it must match in runtime and variant (``torch`` for torchvision); empty if none.
        cpu_name: distribution to take where a CPU build is asked and it has another name (``tensorflow-cpu``).
    """

    name: str
    title: str
    kind: str
    module: str = ""
    aliases: tuple[str, ...] = ()
    follows: str = ""
    cpu_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Row):
    """A package index other than the default one (table ``indexes``); ``url`` may hold ``{variant}``.

    Attributes:
        links: whether the address is a page of links (``pip --find-links``) rather than a simple index.
    """

    name: str
    url: str
    links: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Build(Row):
    """One published variant of one or more releases (table ``builds.<package>``); the loader gives one per version.

    Attributes:
        versions: releases that share everything below, newest last.
        runtime: ``cuda11.8``, ``rocm6.2``, ``cpu``, ``xpu``, ``metal``, ``tpu``, ``cann8.0``; empty if no GPU code.
        variant: name of the variant in its index (``cu118``); empty for the default index.
        local: local version tag of its wheels (``cu118``); empty if they have none.
        index: name of a row of ``indexes``; empty for the default index.
        python: minor versions with a wheel, ``3.11``; ``3.13t`` is the free-threaded one.
        platforms: ``linux_x86_64``, ``linux_aarch64``, ``win_amd64``, ``macosx_arm64``, ``macosx_x86_64``, ``any``.
        glibc: lowest glibc its wheels load on; empty outside Linux.
        kernels: GPU targets it carries; empty if not known, ``-`` if it takes its kernels from elsewhere.
        cuda_from: see :class:`compat.plan.PlannedBuild`.
        cudnn: cuDNN it bundles or needs, as exact as known.
        nccl: NCCL it bundles or pins.
        driver: driver floor that the project itself states, where it is above CUDA's.
        requires: Requires-Dist lines that decide (frameworks, triton, numpy, protobuf, nvidia-*), PEP 508 with markers.
        extras: extras to ask for to get this variant (``cuda12``, ``and-cuda``).
        pins: requirements installed beside it to get this variant (``jax-cuda12-plugin==0.4.30``).
        cpu: processor features it needs (``avx``).
        abi: ``1`` or ``0``, libstdc++'s new string ABI, where it matters to extensions.
        system: what must come from the system for this variant (``cuda11.8 cudnn8``), where not in the wheel.
        macos: lowest macOS.
        date: day of release, ``2023-05-08``.
        yanked: whether it was withdrawn.
        distribution: what to install where it has another name than the package (``tensorflow-cpu``,
            ``paddlepaddle-gpu``, ``cupy-cuda12x``); empty if it has not.
        published: version to ask of that distribution where it differs from the release (``2.14.0.600`` of
            tensorflow-rocm for TensorFlow 2.14.0).
    """

    versions: tuple[str, ...]
    runtime: str
    variant: str = ""
    local: str = ""
    index: str = ""
    python: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    glibc: str = ""
    kernels: tuple[str, ...] = ()
    cuda_from: CudaFrom = ""
    cudnn: str = ""
    nccl: str = ""
    driver: str = ""
    requires: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    cpu: tuple[str, ...] = ()
    abi: str = ""
    system: tuple[str, ...] = ()
    macos: str = ""
    date: str = ""
    yanked: bool = False
    distribution: str = ""
    published: str = ""
    package: str = ""

    @property
    def version(self) -> str:
        """The release, of a build that the loader expanded."""
        return self.versions[0]

    @property
    def full_version(self) -> str:
        """The version to install, with its local tag: ``2.0.1+cu118``."""
        plain = self.published or self.version
        return f"{plain}+{self.local}" if self.local else plain

    @property
    def install_name(self) -> str:
        """The distribution to install."""
        return self.distribution or self.package

    def each(self) -> tuple[Build, ...]:
        """One build per release."""
        return tuple(replace(self, versions=(version,)) for version in self.versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaRelease(Row):
    """A CUDA toolkit release (table ``cuda``).

    Attributes:
        cuda: ``12.8.1``; a driver-only value such as 12.7 has ``toolkit = false``, a preview ``preview = true``.
        driver_linux: lowest Linux driver of NVIDIA's release table; ``driver_windows`` likewise.
        family_linux: lowest driver of the major's minor-version compatibility; empty before CUDA 11.
        targets: ``sm_`` targets its ptxas accepts.
        ptx: PTX ISA version its compiler writes.
        gcc: highest gcc major its headers accept; ``clang`` likewise.
        cudart: version of its runtime library.
        branch: driver branch that ships with it, ``R570``.
    """

    cuda: str
    toolkit: bool = True
    preview: bool = False
    driver_linux: str = ""
    driver_windows: str = ""
    family_linux: str = ""
    family_windows: str = ""
    branch: str = ""
    targets: tuple[str, ...] = ()
    ptx: str = ""
    gcc: str = ""
    clang: str = ""
    cudart: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability(Row):
    """An NVIDIA compute capability (table ``capabilities``).

    Attributes:
        cc: ``8.9``.
        first_cuda: first toolkit that can target it; ``last_cuda`` the last, empty if still current.
        last_driver: last driver branch that serves it, ``R580``; empty if still current.
        integrated: Jetson-class: code for it and desktop code do not mix.
        features: ``tensor fp16 bf16 tf32 fp8 fp4 int8`` that its hardware has.
    """

    cc: str
    architecture: str
    first_cuda: str
    last_cuda: str = ""
    last_driver: str = ""
    integrated: bool = False
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gfx(Row):
    """An AMD target (table ``gfx``).

    Attributes:
        gfx: ``gfx1100``.
        first_rocm: first release that supports it officially; ``last_rocm`` the last; empty if never, or still current.
        override: ``HSA_OVERRIDE_GFX_VERSION`` value by which it can borrow a sibling's code, ``10.3.0``.
        borrows: the sibling, ``gfx1030``.
        generic: LLVM's generic target that covers it.
        features: ``fp16 bf16 fp8 int8 xnack``.
    """

    gfx: str
    architecture: str
    first_rocm: str = ""
    last_rocm: str = ""
    override: str = ""
    borrows: str = ""
    generic: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RocmRelease(Row):
    """A ROCm release (table ``rocm``).

    Attributes:
        rocm: ``6.4.1``.
        stream: ``classic``, ``preview`` or ``core-sdk``: two numberings that overlap.
        drivers: lowest and highest amdgpu driver it accepts; a coarse highest (``6.2``) takes in
            all its releases, and one number alone is the only one known.
        targets: gfx targets its libraries are built for, officially supported.
        glibc: lowest glibc.
        os: systems it supports, ``ubuntu22.04 rhel9.4``; empty if not known.
    """

    rocm: str
    stream: str
    drivers: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    glibc: str = ""
    os: tuple[str, ...] = ()
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product(Row):
    """A GPU one can buy (table ``gpus``).

    Attributes:
        name: as its driver prints it, ``NVIDIA GeForce RTX 4090``.
        vendor: ``nvidia``, ``amd``, ``intel``.
        target: ``sm_89``, ``gfx1100``; ``xpu`` family name for Intel.
        aliases: other spellings; a TOML list is not needed, items are joined by ``;``.
        pci: ids, ``10de:2684``.
        brand: NVIDIA's brand word in NVIDIA_REQUIRE_CUDA: ``geforce``, ``tesla``, ``quadrortx``, ...
        segment: ``datacenter``, ``workstation``, ``consumer``, ``laptop``, ``jetson``, ``apu``.
        memory_gib: memory; ``bandwidth_gbs`` its peak; peak rates in dense TFLOP/s.
    """

    name: str
    vendor: str
    target: str
    aliases: str = ""
    pci: tuple[str, ...] = ()
    chip: str = ""
    brand: str = ""
    segment: str = ""
    year: int = 0
    memory_gib: float = 0
    bandwidth_gbs: float = 0
    fp32_tflops: float = 0
    tf32_tflops: float = 0
    fp16_tflops: float = 0
    bf16_tflops: float = 0
    fp8_tflops: float = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(Row):
    """A base image tag, or a family of tags that differ in flavour only (table ``images``).

    Attributes:
        repository: ``nvidia/cuda``.
        tag: ``11.8.0-{flavour}-ubuntu22.04``; ``{flavour}`` stands for each of ``flavours``.
        flavours: ``base runtime devel``, or with cuDNN ``cudnn8-runtime cudnn8-devel``; empty for a plain tag.
        runtime: ``cuda11.8``, ``rocm6.2``, ``cpu``.
        cuda: full toolkit version inside, ``11.8.0``; ``rocm`` likewise.
        os: ``ubuntu22.04``.
        arch: ``x86_64 aarch64``.
        status: ``active``, ``eol`` (still there, no rebuilds), ``gone``.
        python: Python minor that the image itself provides; empty if none.
        framework: ``torch==2.0.1`` for framework images.
        require: the NVIDIA_REQUIRE_CUDA expression it carries; in TOML the name of a row of ``requires``.
        seen: day on which the tag was last seen to exist.
    """

    repository: str
    tag: str
    flavours: tuple[str, ...] = ()
    runtime: str = ""
    cuda: str = ""
    rocm: str = ""
    cudnn: str = ""
    nccl: str = ""
    os: str = ""
    arch: tuple[str, ...] = ("x86_64",)
    status: str = "active"
    python: str = ""
    framework: str = ""
    require: str = ""
    seen: str = ""

    def references(self) -> tuple[str, ...]:
        """Full references, one per flavour: ``nvidia/cuda:11.8.0-base-ubuntu22.04``."""
        tags = [self.tag.replace("{flavour}", flavour) for flavour in self.flavours] or [self.tag]
        return tuple(f"{self.repository}:{tag}" for tag in tags)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement(Row):
    """A driver condition that images share (table ``requires``); see :mod:`compat.matrix.require` for its grammar.

    Attributes:
        name: what ``Image.require`` calls it in TOML, ``12.9.1``.
        expression: value of NVIDIA_REQUIRE_CUDA.
    """

    name: str
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBranch(Row):
    """An NVIDIA driver branch (table ``drivers``).

    Attributes:
        branch: ``R535``.
        kind: ``production``, ``lts``, ``new-feature``, ``legacy``; empty if not known.
        cuda: CUDA version its driver reports, ``12.2``.
        first: first Linux version; ``latest`` the newest seen; ``windows`` the newest for Windows.
        eol: end of life.
        drops: architectures that it no longer serves.
    """

    branch: str
    cuda: str
    kind: str = ""
    first: str = ""
    latest: str = ""
    windows: str = ""
    date: str = ""
    eol: str = ""
    drops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class System(Row):
    """An operating-system release (table ``systems``).

    Attributes:
        os: ``ubuntu22.04``.
        glibc: its C library; ``libstdcxx`` its highest GLIBCXX symbol version.
        python: minor version of its ``python3``; ``pythons`` those it packages.
        manager: ``apt``, ``dnf``, ``zypper``, ``apk``, ``tdnf``, ``yum``.
        aliases: other spellings, as os-release makes them (``rocky9``); a minor release that has no row of its own
            (``rhel9.4``) takes the row of its major.
        image: plain base image, ``ubuntu:22.04``.
        eol: end of standard support.
    """

    os: str
    aliases: tuple[str, ...] = ()
    glibc: str = ""
    libstdcxx: str = ""
    python: str = ""
    pythons: tuple[str, ...] = ()
    manager: str = ""
    image: str = ""
    eol: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryRelease(Row):
    """A release of cuDNN, NCCL or TensorRT (tables ``cudnn``, ``nccl``, ``tensorrt``).

    Attributes:
        version: ``9.1.0.70``.
        cuda: CUDA releases it is built for: majors (``12``) or minors (``10.2``).
        first_cc: lowest compute capability it serves; ``last_cc`` the highest listed when it came out.
        driver_linux: lowest driver it states.
    """

    version: str
    cuda: tuple[str, ...] = ()
    first_cc: str = ""
    last_cc: str = ""
    driver_linux: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Jetpack(Row):
    """A JetPack release (table ``jetpack``): ``l4t``, the versions that it brings, and the modules it runs on.

    Attributes:
        jetpack: ``6.2``; ``preview`` marks a developer preview.
        modules: Jetson modules in words.
        sbsa: whether ordinary arm64 images run on it, rather than l4t images only.
    """

    jetpack: str
    l4t: str
    cuda: str = ""
    cudnn: str = ""
    tensorrt: str = ""
    os: str = ""
    capabilities: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    modules: str = ""
    preview: bool = False
    sbsa: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator(Row):
    """What one release of an accelerator's package needs, outside CUDA and ROCm (table ``accelerators``).

    Attributes:
        accelerator: ``intel``, ``apple``, ``tpu``, ``ascend``, ``mlu``, ``musa``, ``xpu`` (Kunlunxin), ``dcu``, ...
        package: distribution that brings it, ``torch-npu``, ``jax``, ``intel-extension-for-pytorch``.
        versions: its releases that share the row; ``a..b`` spans published releases from a to b.
        framework: framework release that it is for, ``torch==2.9.0``; empty if the package is the framework.
        stack: vendor's software, ``cann8.5.0``, ``oneapi2025.1``, ``libtpu0.0.50``, ``macos14``.
        python: minor versions; empty if not known.
        devices: devices it serves, in words.
        os: systems it is stated for, in words.
        index: address or name of the index that has it; empty for the default index.
        image: container image that carries it.
        driver: driver or firmware it states.
    """

    accelerator: str
    package: str
    versions: tuple[str, ...] = ()
    framework: str = ""
    stack: str = ""
    python: tuple[str, ...] = ()
    devices: str = ""
    os: str = ""
    index: str = ""
    image: str = ""
    driver: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal(Row):
    """A message that programs print in general (table ``signals``): what it is, never what caused it in one report.

    Attributes:
        signal: short id, ``no-kernel-image``.
        pattern: regular expression (case-insensitive, linear-time: no nested repeats) with named groups for facts.
        program: who prints it: ``cuda``, ``torch``, ``docker``, ...
        candidates: codes of the rules that it may point to, likeliest first when no fact decides.
        benign: whether it is noise that harms nothing.
        meaning: what the message says, in our words.
    """

    signal: str
    pattern: str
    program: str = ""
    candidates: tuple[str, ...] = ()
    benign: bool = False
    meaning: str = ""
    examples: tuple[str, ...] = ()


TABLES: Final[dict[str, type[Row]]] = {
    "packages": Package,
    "indexes": Index,
    "cuda": CudaRelease,
    "capabilities": Capability,
    "gfx": Gfx,
    "rocm": RocmRelease,
    "gpus": Product,
    "images": Image,
    "requires": Requirement,
    "drivers": DriverBranch,
    "systems": System,
    "cudnn": LibraryRelease,
    "nccl": LibraryRelease,
    "tensorrt": LibraryRelease,
    "jetpack": Jetpack,
    "accelerators": Accelerator,
    "signals": Signal,
}
"""Table name -> row type; ``builds.<package>`` tables hold :class:`Build` rows."""

KEYS: Final[dict[type[Row], tuple[str, ...]]] = {
    Package: ("name",),
    Index: ("name",),
    Build: ("version", "runtime", "index", "local", "platforms", "python", "extras", "distribution", "published"),
    CudaRelease: ("cuda",),
    Capability: ("cc",),
    Gfx: ("gfx",),
    RocmRelease: ("rocm",),
    Product: ("name", "vendor", "target"),
    Image: ("repository", "tag", "flavours"),
    Requirement: ("name",),
    DriverBranch: ("branch",),
    System: ("os",),
    LibraryRelease: ("version", "cuda"),
    Jetpack: ("jetpack", "l4t"),
    Accelerator: ("accelerator", "package", "versions", "framework", "stack", "image"),
    Signal: ("signal",),
}
"""Fields that tell two rows of a table apart; an overlay's row with the same key replaces ours."""


def row_type(table: str) -> type[Row]:
    """The row type of a table.

    Raises:
        KeyError: if there is no such table.
    """
    return Build if table.startswith("builds.") else TABLES[table]
