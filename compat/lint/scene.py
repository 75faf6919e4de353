"""One environment as its steps leave it: base, Python, what each request gets, what is compiled."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

import compat.lint.bases as bases
import compat.lint.origins as origins
from compat.lazy import dataclass
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Host
    from compat.lint.bases import Base
    from compat.lint.origins import Origin, Outcome
    from compat.matrix import Matrix
    from compat.matrix.rows import Application, Build
    from compat.sources.values import Ask, Command, Install, Request, Stage

_COMPILERS: Final = re.compile(
    r"\b(nvcc|hipcc|cmake|ninja|setup\.py|make|TORCH_CUDA_ARCH_LIST|cpp_extension)\b|--no-build-isolation|"
    r"(?:^|\s)(?:\./|(?:ba)?sh )\S*install\.sh|"
    r"\bgcc\b|\bg\+\+|pip\S* (install|wheel) .*(-e\s|\.\s*$|git\+)"
)
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
# A variable of an environment marker, once its quoted texts are gone.
_VARIABLE: Final = re.compile(r"\b(?!and\b|or\b|in\b|not\b)[a-z_]+\b")

_REPLACING: Final = (
    "-U",
    "--upgrade",
    "--force-reinstall",
    "-I",
    "--ignore-installed",
    "--reinstall",
    "--target",
    "-t",
)
# Packages that compile against a toolkit when installed from source, or that use one at run time.
_BUILT_HERE: Final = re.compile(
    r"flash-attn|deepspeed|apex|detectron2|mmcv-full|torch-scatter|torch-sparse|torch-cluster|xformers|"
    r"transformer-engine|pytorch3d|nvidia-dali|auto-gptq|causal-conv1d|mamba-ssm|tiny-cuda-nn|pycuda|cupy|"
    r"cupy-cuda11x|cupy-cuda12x|cupy-cuda13x|numba|vllm|bitsandbytes|triton|llama-cpp-python"
)


@dataclass(frozen=True, slots=True)
class Taken:
    """A request and what the installer takes for it."""

    request: Request
    step: Install
    outcome: Outcome
    origins: tuple[Origin, ...]
    python: str = ""

    @property
    def build(self) -> Build | None:
        """The build, if it is known."""
        return self.outcome.build

    @property
    def replaces(self) -> bool:
        """Whether its step puts even what is installed already anew: an upgrade or a forced install."""
        return bool({*_REPLACING} & {*self.step.options})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What lint knows of one environment.

    Attributes:
        ask: the file; ``stage`` the stage judged (the last of ``chain``).
        base: the base image, or ``None`` outside Dockerfiles.
        python: minor version in use, empty if not known.
        has_python: whether something provides a Python at all; ``None`` if it cannot be told.
        taken: pip and uv requests in order.
        conda: conda requests in order; ``apt``: names of system packages.
        commands: all commands of the chain.
        final: whether this stage is shipped.
        machine: facts of the machine that the files are meant for, if one was named.
        device: ``cuda`` or ``rocm``, the one runtime that this machine's GPUs have; empty if none or several.
    """

    ask: Ask
    stage: Stage
    chain: tuple[Stage, ...]
    matrix: Matrix
    base: Base | None = None
    python: str = ""
    has_python: bool | None = None
    taken: tuple[Taken, ...] = ()
    conda: tuple[Request, ...] = ()
    apt: tuple[Request, ...] = ()
    commands: tuple[Command, ...] = ()
    final: bool = True
    arch: str = "x86_64"
    glibc: str = ""
    own: tuple[Taken, ...] = field(default=())
    machine: Host | None = None
    device: str = ""

    @property
    def platform(self) -> str:
        """The platform whose wheels are installed here."""
        return _platform(self.base, self.arch)

    @property
    def builds(self) -> tuple[Taken, ...]:
        """Requests whose build is known, the last one per package: a later install replaces an earlier one."""
        latest = {item.request.name: item for item in self.taken if item.build}
        return tuple(latest.values())

    @property
    def compiles(self) -> bool:
        """Whether something is compiled here, or uses a compiler at run time."""
        sources = [item.request.name for item in self.taken if not item.request.url.endswith(".whl")]
        built = any(_BUILT_HERE.fullmatch(name) for name in sources)
        return built or any(_COMPILERS.search(command.text) for command in self.commands)

    @property
    def gpu(self) -> str:
        """What the image is meant for: ``cuda``, ``rocm``, ``jetson``, or empty if nothing tells."""
        if self.base and self.base.kind in {"cuda", "rocm", "jetson"}:
            return self.base.kind
        if self.base is not None and self.base.kind not in {"python", "plain"}:
            return ""
        return self.device or ("cuda" if self.ask.gpu and self.base else "")

    @property
    def pythons(self) -> frozenset[str]:
        """Pythons that the environment can have; empty if nothing limits them."""
        if self.python:
            return frozenset({self.python})
        others = any(re.fullmatch(r"python3\.\d+", request.name) for request in self.apt)
        untouched = self.base is not None and not self.conda and not others and not _brings_pythons(self.commands)
        return bases.pythons_of(self.base, self.matrix) if self.base and untouched else frozenset()

    @property
    def rocm(self) -> str:
        """ROCm of the image, its base's or what AMD's installer brought; empty if not known."""
        if self.base and self.base.rocm:
            return self.base.rocm
        found = [
            re.search(r"amdgpu-install/(\d+\.\d+)|/rocm/apt/(\d+\.\d+)", command.text) for command in self.commands
        ]
        return next((each[1] or each[2] for each in reversed(found) if each), "")

    @property
    def applications(self) -> tuple[tuple[Request, Application], ...]:
        """Requests for packages that bring a framework, pip's and uv's, without those whose extra is not asked for."""
        known = self.matrix.applications
        found = ((item.request, known[item.request.name]) for item in self.taken if item.request.name in known)
        return tuple((each, row) for each, row in found if not row.extras or _extras(each) & {*row.extras})

    def rows(self, name: str) -> list[Build]:
        """The builds that a name installs; several distributions of one package have names of their own."""
        package = self.matrix.package(name)
        return [row for row in self.matrix.builds(package.name) if row.install_name == name] if package else []

    def build_of(self, name: str) -> Taken | None:
        """The last request for a package whose build is known."""
        return next((item for item in self.builds if item.request.name == name), None)


# The runtime that a vendor's GPUs take; lint tells these two apart.
RUNTIMES: Final = {"nvidia": "cuda", "amd": "rocm"}


def vendor_runtime(machine: Host) -> str:
    """``cuda`` or ``rocm`` where a machine has GPUs of NVIDIA or of AMD, and not of both; empty otherwise."""
    found = {RUNTIMES[gpu.vendor] for gpu in machine.gpus or () if gpu.vendor in RUNTIMES}
    return found.pop() if len(found) == 1 else ""


def _extras(request: Request) -> set[str]:
    return {normalise(extra) for extra in request.extras}


def scenes(ask: Ask, matrix: Matrix, machine: Host | None = None) -> Iterator[Scene]:
    """One scene per stage; files that are no Dockerfile have one without a base."""
    for stage in ask.stages:
        chain = ask.chain(stage)
        base = bases.read(chain[0].base, matrix) if ask.kind in {"dockerfile", "devcontainer"} else None
        if base and base.reference.lower() == "scratch":
            continue
        scene = _scene(ask, stage, chain, base, matrix)
        yield replace(scene, machine=machine, device=vendor_runtime(machine)) if machine else scene


def _scene(ask: Ask, stage: Stage, chain: tuple[Stage, ...], base: Base | None, matrix: Matrix) -> Scene:
    """One stage with all that its ancestors left in it: what is installed, by which Python, on which base.

    Steps are walked in the order of the file, because each may change the Python of those that follow.
    """
    steps = [(step, part is stage) for part in chain for step in part.installs]
    arch = _arch(ask, stage, base)
    commands = tuple(command for part in chain for command in part.commands)
    glibc = bases.glibc_of(base, matrix) if base else ""
    others = _brings_pythons(commands)
    python = "" if others else bases.python_of(base, matrix) if base else _asked_python(ask)
    python = _python_of_venv(commands) or python
    taken: list[Taken] = []
    own: list[Taken] = []
    conda: list[Request] = []
    apt: list[Request] = []
    for step, mine in steps:
        python = _python_after(step, python, others=others)
        if step.manager == "conda":
            conda += step.requests
        elif step.manager == "apt":
            apt += step.requests
        else:
            place = origins.Place(step.python or python, _platform(base, arch), glibc)
            requests = [_settled(request, arch, place.platform) for request in step.requests]
            items = [_taken(request, step, matrix, place, base) for request in requests]
            taken += items
            own += items if mine else []
    return Scene(
        ask=ask, stage=stage, chain=chain, matrix=matrix, base=base, python=python, taken=tuple(taken), own=tuple(own),
        has_python=_has_python(chain, base, commands), conda=tuple(conda), apt=tuple(apt), commands=commands,
        final=stage is ask.final, arch=arch, glibc=glibc,
    )  # fmt: skip


def _arch(ask: Ask, stage: Stage, base: Base | None) -> str:
    """The processor of a stage: what the file says, then what the person says, else that of most machines."""
    if (base and base.kind == "jetson") or "arm64" in stage.platform:
        return "aarch64"
    return "x86_64" if "amd64" in stage.platform else ask.arch or "x86_64"


def _platform(base: Base | None, arch: str) -> str:
    """The wheel platform of a base: Linux, unless it is one of Microsoft's Windows images."""
    windows = base is not None and re.search(r"(^|/)windows(/|$)|windowsservercore|nanoserver", base.reference)
    return "win_amd64" if windows else f"linux_{arch}"


def _brings_pythons(commands: tuple[Command, ...]) -> bool:
    """Whether some command brings Pythons of its own, so that which one a bare ``pip`` serves is not known."""
    brings = re.compile(
        r"pyenv|\buv (venv|python)|(mini|ana)conda|mini(forge)|mambaforge|micromamba|(conda|mamba) create|altinstall|"
        r"Python-3|asdf|\bmise\b|update-alternatives.*python3\.\d|\bln .*python3\.\d",
        re.IGNORECASE,
    )
    return any(brings.search(command.text) for command in commands)


def _python_of_venv(commands: tuple[Command, ...]) -> str:
    """The Python of the virtual environment, where every one is made by an interpreter whose name says its version."""
    found = [re.search(r"(?:^|/)python(3\.\d{1,2})\)? -m (?:venv|virtualenv)\b", command.text) for command in commands]
    made = {one[1] for one in found if one}
    return made.pop() if len(made) == 1 else ""


def marked(arch: str, platform: str) -> dict[str, str]:
    """What environment markers are weighed by, as far as the platform decides it."""
    windows = platform.startswith("win")
    return {
        "sys_platform": "win32" if windows else "linux",
        "platform_system": "Windows" if windows else "Linux",
        "os_name": "nt" if windows else "posix",
        "platform_machine": "AMD64" if windows else arch,
    }


def _settled(request: Request, arch: str, platform: str) -> Request:
    """A request whose marker the platform alone makes true is one without a marker."""
    if not request.marker:
        return request
    from packaging.markers import InvalidMarker, Marker

    known = marked(arch, platform)
    named = set(_VARIABLE.findall(_QUOTED.sub("", request.marker)))
    try:
        holds = named <= set(known) and Marker(request.marker).evaluate(known)
    except InvalidMarker:
        return request
    return replace(request, marker="") if holds else request


def _taken(request: Request, step: Install, matrix: Matrix, place: origins.Place, base: Base | None) -> Taken:
    """A request with the build that it takes here; one that the base already satisfies takes none."""
    if base is not None and _satisfied(request, step, base):
        found = origins.Outcome("unknown", why="kept")
    elif _led(request, step, matrix):
        found = origins.Outcome("unknown", why="led")
    else:
        found = origins.outcome(request, step, matrix, place)
    return Taken(request, step, found, origins.origins(step, matrix, request.name), place.python)


def _led(request: Request, step: Install, matrix: Matrix) -> bool:
    """Whether a companion without a version stands beside its framework with one: which it gets, that one decides."""
    package = matrix.package(request.name)
    return (
        package is not None
        and bool(package.follows)
        and not request.spec
        and any(other.name == package.follows and other.exact for other in step.requests)
    )


def _satisfied(request: Request, step: Install, base: Base) -> bool:
    """Whether the image's own framework meets a request, so that the installer leaves it as it is.

    Source: pip documentation, "pip install" (what is installed already is kept unless an upgrade is asked for).
    """
    version = base.installed.get(request.name)
    if version is None or request.url or {*_REPLACING} & {*step.options}:
        return False
    wanted = origins.specifiers(request.spec) if request.spec and version else None
    return not request.spec or (wanted is not None and wanted.contains(version, prereleases=True))


def _asked_python(ask: Ask) -> str:
    found = re.fullmatch(r"(?:==|=|~=|\^)?(3\.\d{1,2})(?:\.[\d*]+)?", ask.python)
    return found[1] if found else ""


def _python_after(step: Install, python: str, *, others: bool) -> str:
    """The Python in use after a step that installs one."""
    for request in step.requests:
        if step.manager == "conda" and request.name == "python":
            found = re.search(r"3\.\d{1,2}", request.spec)
            return found.group() if found else ""
        if step.manager == "apt" and not others and (found := re.fullmatch(r"python(3\.\d{1,2})", request.name)):
            return (
                found[1] if python in {"", found[1]} else ""
            )  # beside the system's own: which one is used is not known
    return python


def _has_python(chain: tuple[Stage, ...], base: Base | None, commands: tuple[Command, ...]) -> bool | None:
    """Whether some earlier step could have brought a Python; any doubt counts for the file."""
    if base is None or base.python:
        return True
    if base.kind not in {"cuda", "plain"} or base.variable:
        return None  # AMD's images for development bring python3-pip (ROCm-docker, dev/Dockerfile-ubuntu-22.04)
    if any(command.words[0] == "feature" for command in commands):
        return None  # features of a development container bring what they like
    brings = re.compile(r"python|conda|mamba|pyenv|\buv\b|get-pip|rye|pip3?\b.*/|\.sh\b")
    installing = [command.text for command in commands if command.words[0] not in {"pip", "pip3", "python", "python3"}]
    copied = any(part.copies for part in chain)
    return copied or any(brings.search(text) for text in installing)
