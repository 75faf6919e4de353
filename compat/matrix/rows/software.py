"""Rows of frameworks and their companions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.matrix.rows.base import Row, row

if TYPE_CHECKING:
    from compat.plan import CudaFrom


@row("packages", key="name")
class Package(Row):
    """A framework or a companion (table ``packages``).

    Attributes:
        name: distribution name in normalised spelling, ``tensorflow``.
        title: the name its makers write, ``TensorFlow``.
        kind: ``framework``, ``companion`` (belongs to a framework), ``library`` (CUDA library with a Python package).
        module: name to import.
        aliases: other names people type or other distributions of the same thing (``pytorch``).
        follows: package whose build it must match in runtime and variant (``torch`` for torchvision); empty if none.
        any_minor: whether its code loads beside a build of ``follows`` for another minor of the same CUDA major.
        plugs: framework to which it brings a device that the framework has no build for, so that its CPU build goes
            with it (``torch`` for torch-npu); empty if none.
        on_cpu: releases, as a specifier, whose wheels for a GPU compute on a processor too, where no GPU is.
        cpu_name: distribution to take where a CPU build is asked and it has another name (``tensorflow-cpu``).
        needs: frameworks of which one must be there for it to be of any use, although it requires none by its metadata
            (``torch`` for triton; any of three for keras).
        same: package that must be of its own release, which no metadata says (``jaxlib`` for JAX's CUDA plug-ins).
        preload: call that lets it find CUDA's packages where no path of the loader names them, since its objects have
            no run path to them (``onnxruntime.preload_dlls()``); empty where it finds them itself.
        elsewhere: a maker of GPUs and where builds for those are that no row is for, ``amd: wheels for ...``.
        on_windows: distribution of others that has its wheels for Windows, where it has none (``triton-windows``).
        wheels_alone: whether the default index has wheels of it and no source, and their names tell the glibc that they
            need (those of PyTorch's family say an older one).
        unlisted: releases, as a specifier, that come as source and whose build script imports ``torch`` although no
            pyproject.toml lists it among what the build needs; empty if none.
        force_build: variable of its build script that, set to TRUE, has it compile where a published wheel for the
            torch that is there would be fetched instead, for whose name it asks nvcc first; empty if it fetches none.
        late: whether it brings sources of GPU code and compiles them with nvcc when they are used.
        strict_cudnn: whether it takes no cuDNN that is older by a minor than the one it was built with.
    """

    name: str
    title: str
    kind: str
    module: str = ""
    aliases: tuple[str, ...] = ()
    follows: str = ""
    any_minor: bool = False
    plugs: str = ""
    on_cpu: str = ""
    cpu_name: str = ""
    needs: tuple[str, ...] = ()
    same: str = ""
    preload: str = ""
    elsewhere: tuple[str, ...] = ()
    on_windows: str = ""
    wheels_alone: bool = False
    unlisted: str = ""
    force_build: str = ""
    late: bool = False
    strict_cudnn: bool = False

    def published_for(self, vendor: str) -> list[str]:
        """Where builds for GPUs of a maker are that no row is for."""
        return [text for maker, _, text in (one.partition(": ") for one in self.elsewhere) if maker == vendor]


@row("applications", key="name")
class Application(Row):
    """A package that is no framework and brings one (table ``applications``): whoever asks for it gets GPU code too.

    Attributes:
        name: distribution name in normalised spelling, ``accelerate``.
        pulls: packages of the matrix that its requirements bring; empty if it carries or compiles GPU code of its own.
        extras: extras of which one must be asked for, or it brings none; empty if it always does.
    """

    name: str
    pulls: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()


@row("notices", key="name")
class Notice(Row):
    """A name on the default index that holds nothing but a notice that stops the install (table ``notices``).

    Attributes:
        name: distribution name, ``sklearn``.
        instead: what is meant, ``scikit-learn``.
        versions: releases that are one; empty for all.
        unless: variable with which its maker lets it pass; empty if there is none.
    """

    name: str
    instead: str
    versions: str = ""
    unless: str = ""


@row("confined", key="name")
class Confined(Row):
    """A name on the default index that holds wheels for one system, and no source (table ``confined``).

    Attributes:
        name: distribution name, ``pywin32``.
        system: the system, as the wheels' platforms begin: ``win``, ``macosx``.
    """

    name: str
    system: str


@row("compiled", key="name")
class Compiled(Row):
    """A package without wheels, whose ``setup.py`` makes GPU code where it sees a GPU and nvcc alone (``compiled``).

    Attributes:
        name: distribution name, ``mmcv-full``.
        forced: the variable that has it make GPU code without a GPU in sight.
        versions: the releases for which this holds, as a specifier; empty for all.
    """

    name: str
    forced: str
    versions: str = ""


@row("misspelt", key="name versions")
class Misspelt(Row):
    """Releases whose metadata has a requirement that is none, so that today's pip passes over them (``misspelt``).

    Attributes:
        name: distribution name, ``pytorch-lightning``.
        versions: the releases, as a specifier.
        line: a requirement of theirs, ``torch>=1.9.*``.
        by: what they require of which no other release is, where that has the line; empty if they have it themselves.
    """

    name: str
    versions: str
    line: str
    by: str = ""


@row("scripts", key="name versions")
class Script(Row):
    """Releases that are source alone, and whose ``setup.py`` imports pkg_resources of setuptools (table ``scripts``).

    Attributes:
        name: distribution name, ``mmcv``.
        versions: the releases, as a specifier.
        project: whether they have a ``pyproject.toml``, so that every pip builds them in an environment of its own.
        fixed: the first release that does without; empty if there is none.
    """

    name: str
    versions: str
    project: bool = False
    fixed: str = ""


@row("conda", key="name")
class Conda(Row):
    """A conda package that has an end, or that one maker's channels or conda alone have (table ``conda``).

    Attributes:
        name: package name, ``pytorch-cuda``.
        channels: public channels that have it; empty for all that have it at all.
        alone: whether no other public channel has it.
        newest: last version that these channels have, or will have.
        distribution: its name on the Python index, where that is another.
    """

    name: str
    channels: tuple[str, ...] = ()
    alone: bool = False
    newest: str = ""
    distribution: str = ""


@row("repositories", key="name")
class Repository(Row):
    """A package that the default index lacks, or under whose name it has another project (table ``repositories``).

    Attributes:
        name: distribution name in normalised spelling, ``detectron2``.
        address: what pip installs it from, ``git+https://...``.
        taken: whether the default index has another project of this name.
    """

    name: str
    address: str
    taken: bool = False


@row("turns", key="turn")
class Turn(Row):
    """The first release of a program with something that decides (table ``turns``).

    Attributes:
        turn: what that is, ``cgroup-v2``; ``name`` the program or package, and ``version`` the release.
    """

    turn: str
    name: str
    version: str


@row("majors", key="name python")
class Major(Row):
    """The first release of a shared package that breaks what was built before it (table ``majors``).

    An installer takes it, or a later one, wherever nothing that it installs says not to.

    Attributes:
        name: distribution name in normalised spelling, ``numpy``.
        version: that release, ``2.0.0``.
        python: oldest Python that has it.
        bounded_by: releases of other packages whose metadata keeps it away, ``ray>=1.13.0,<=2.0.1``; a range without an
            end reaches to the newest one.
        breaks: releases of other packages that do not load with it and do not say so, ``opencv-python<4.10.0.84``.
    """

    name: str
    version: str
    python: str
    bounded_by: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()


@row("indexes", key="name")
class Index(Row):
    """A package index other than the default one (table ``indexes``); ``url`` may hold ``{variant}``.

    Attributes:
        beside: all other packages that it has, of those that have no rows; empty where that is not known.
        links: whether the address is a page of links (``pip --find-links``) rather than a simple index.
        boards: whether its wheels are for Jetson boards; the same CUDA elsewhere means a server's.
        apart: whether it holds no framework, nor what follows one release by release, whatever else it holds.
        partial: whether only some of what it holds was ever seen, so that what no row names may still be there.
        file: address of one of its wheels, with ``{variant}``, ``{version}``, ``{python}`` (``cp312-cp312``) and
            ``{platform}``, where these were renamed after the build: asked for by name, pip discards such a wheel, as
            its metadata has another version. Source: pip, "has inconsistent version"; seen with pip 26.3, where uv
            takes it.
    """

    name: str
    url: str
    file: str = ""
    beside: tuple[str, ...] = ()
    links: bool = False
    boards: bool = False
    apart: bool = False
    partial: bool = False


@row("dates", key="package days")
class Days(Row):
    """Days on which releases of a distribution came out (table ``dates``).

    Attributes:
        package: distribution name, ``tensorflow-cpu``.
        days: releases and their days, ``2.9.1:2025-11-12``.
    """

    package: str
    days: tuple[str, ...]


@row("", key="version runtime index local platforms python extras distribution published")
class Build(Row):
    """One published variant of one or more releases (table ``builds.<package>``); the loader gives one per version.

    Attributes:
        versions: releases that share everything below, newest last.
        runtime: ``cuda11.8``, ``rocm6.2``, ``cpu``, ``xpu``, ``metal``, ``tpu``, ``cann8.0``; empty if no GPU code.
        variant: name of the variant in its index (``cu118``); empty for the default index.
        local: local version tag of its wheels (``cu118``); empty if they have none.
        index: name of a row of ``indexes``; empty for the default index.
        python: minor versions with a wheel, ``3.11``; ``3.13t`` is the free-threaded one.
        platforms: ``linux_x86_64``, ``linux_i686``, ``win_amd64``, ``win32``, ``macosx_arm64``, ... or ``any``.
        glibc: lowest glibc on which its wheels are taken and load: of the tag or, where greater, of the objects; empty
            outside Linux.
        tag: glibc that the names of its wheels say, where their objects ask for more; empty where it is the same.
        kernels: GPU targets it carries; empty if not known, ``-`` if it takes its kernels from elsewhere.
        cuda_from: see :class:`compat.plan.PlannedBuild`.
        cudnn: cuDNN it bundles or needs, as exact as known.
        nccl: NCCL it bundles or pins.
        driver: driver floor that the project itself states, where it is above CUDA's.
        requires: Requires-Dist lines that decide (frameworks, triton, numpy, protobuf, nvidia-*), PEP 508 with markers.
        undeclared: packages of ``requires`` whose bound the wheel does not declare, so that an installer does not know
            of it (``numpy`` for torch up to 2.2, which is compiled against NumPy 1).
        extras: extras to ask for to get this variant (``cuda12``, ``and-cuda``).
        also: extras of which each alone asks for the same (``cuda`` beside ``cuda12``).
        pins: requirements installed beside it to get this variant (``jax-cuda12-plugin==0.4.30``).
        cpu: processor features it needs (``avx``).
        abi: ``1`` or ``0``, libstdc++'s new string ABI, where it matters to extensions.
        system: what must come from the system for this variant (``cuda11.8 cudnn8``), where not in the wheel.
        macos: lowest macOS.
        date: day of release, ``2023-05-08``; where the row states none, that of the table ``dates``.
        yanked: whether it was withdrawn.
        distribution: what to install where it has another name than the package (``tensorflow-cpu``,
            ``paddlepaddle-gpu``, ``cupy-cuda12x``); empty if it has not.
        published: version to ask of that distribution where it differs from the release (``2.14.0.600`` of
            tensorflow-rocm for TensorFlow 2.14.0).
        fails: why installing it fails or gives nothing although the index lists it: a removal notice, a placeholder,
            pins that nothing meets. No plan takes such a row; lint says the reason.
        compiled: whether it has no wheel and installing it compiles GPU code, for which an image needs the toolkit's
            compilers.
        evidence: what was done with the build beyond reading its files: ``installed``, ``imported``,
            ``run on a device``; empty for nothing.
        sums: SHA-256 of its files by Python, ``3.12=f25d...`` in 64 digits, where it is asked for by address
            (:attr:`Index.file`).
    """

    versions: tuple[str, ...]
    runtime: str
    variant: str = ""
    local: str = ""
    index: str = ""
    python: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    glibc: str = ""
    tag: str = ""
    kernels: tuple[str, ...] = ()
    cuda_from: CudaFrom = ""
    cudnn: str = ""
    nccl: str = ""
    driver: str = ""
    requires: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    cpu: tuple[str, ...] = ()
    abi: str = ""
    system: tuple[str, ...] = ()
    macos: str = ""
    date: str = ""
    yanked: bool = False
    distribution: str = ""
    published: str = ""
    fails: str = ""
    compiled: bool = False
    evidence: str = ""
    sums: tuple[str, ...] = ()
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

    def is_asked_by(self, extras: frozenset[str]) -> bool:
        """Whether a requirement with these extras, in normalised spelling, brings this variant."""
        return {*self.extras} <= extras or bool({*self.also} & extras)

    @property
    def install_name(self) -> str:
        """The distribution to install."""
        return self.distribution or self.package

    @property
    def proof(self) -> str:
        """What a measured row rests on: files of the wheel alone (``metadata``), or ``evidence``; else nothing."""
        return self.evidence or ("metadata" if self.how == "measured" else "")

    def each(self) -> tuple[Build, ...]:
        """One build per release."""
        return tuple(replace(self, versions=(version,)) for version in self.versions)
