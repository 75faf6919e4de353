"""One environment as its steps leave it: base, Python, what each request gets, what is compiled."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import compat.lint.bases as bases
from compat import markers
from compat.lazy import dataclass
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from compat.facts import Host
    from compat.lint.bases import Base
    from compat.lint.walk import Taken
    from compat.markers import Environment
    from compat.matrix import Matrix
    from compat.matrix.rows import Application, Build
    from compat.sources.values import Ask, Command, Request, Stage

_COMPILERS: Final = re.compile(
    r"\b(nvcc|hipcc|cmake|ninja|setup\.py|make|TORCH_CUDA_ARCH_LIST|cpp_extension)\b|--no-build-isolation|"
    r"(?:^|\s)(?:\./|(?:ba)?sh )\S*install\.sh|"
    r"\bgcc\b|\bg\+\+|pip\S* (install|wheel) .*(-e\s|\.\s*$|git\+)"
)
SCRIPT: Final = re.compile(
    r"(?:^|\s)[\w./-]*\.(?:sh|bash)\b|^(?:\./|/(?!usr/|bin/))\S+|^\S*python[\d.]* (?:-\w+ )*(?!\S*get-pip)\S+\.py\b"
)
_MINICONDA: Final = re.compile(r"\S*miniconda\S*", re.IGNORECASE)
# Packages that compile against a toolkit when installed from source, or that use one at run time.
_BUILT_HERE: Final = re.compile(
    r"flash-attn|apex|detectron2|mmcv-full|torch-scatter|torch-sparse|torch-cluster|xformers|"
    r"transformer-engine|pytorch3d|nvidia-dali|auto-gptq|causal-conv1d|mamba-ssm|tiny-cuda-nn|pycuda|cupy|"
    r"cupy-cuda11x|cupy-cuda12x|cupy-cuda13x|numba|vllm|bitsandbytes|triton|llama-cpp-python"
)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What lint knows of one environment; what follows from it is found once, as rules ask for it at every request.

    Attributes:
        ask: the file; ``stage`` the stage judged (the last of ``chain``).
        base: the base image, or ``None`` outside Dockerfiles.
        python: minor version in use, empty if not known.
        has_python: whether something provides a Python at all; ``None`` if it cannot be told.
        worlds: environments that the stage may be, for markers.
        taken: pip and uv requests in order, ``own`` those of this stage's steps, what later steps replace included.
        env: what is there in the end: the base's packages, what was taken and not replaced, what was pulled along, and
            what was copied from another stage.
        replaced: packages with what a later step puts in their place.
        built: extensions compiled here, with the framework that was there by then.
        conda: conda requests in order; ``apt``: names of system packages.
        commands: all commands of the chain.
        final: whether this stage is shipped.
        machine: facts of the machine that the files are meant for, if one was named.
        device: ``cuda`` or ``rocm``, the one runtime that this machine's GPUs have; empty if none or several.
        place: wheel platform that some lines are for by their markers; empty for the one of all others.
        trial: whether the file shows no error with an image in the place of the stage's base that it has not today.
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
    own: tuple[Taken, ...] = ()
    env: tuple[Taken, ...] = ()
    replaced: tuple[tuple[Taken, Taken], ...] = ()
    built: tuple[tuple[Taken, Taken], ...] = ()
    worlds: tuple[Environment, ...] = ()
    machine: Host | None = None
    device: str = ""
    place: str = ""
    trial: Callable[[str], bool] = bool

    @cached_property
    def platform(self) -> str:
        """The platform whose wheels are installed here."""
        if self.place:
            return self.place
        if self.base is None and self.machine is not None and self.machine.platform:
            return markers.place_of(self.machine.platform, self.arch)
        windows = self.base and re.search(r"(^|/)windows(/|$)|windowsservercore|nanoserver", self.base.reference)
        return "win_amd64" if windows else f"linux_{self.arch}"

    @cached_property
    def nearest(self) -> dict[tuple[str, tuple[str, ...]], str]:
        """A pin and those beside it -> what to ask for instead; filled by :mod:`compat.lint.nearest`."""
        return {}

    @cached_property
    def left(self) -> list[str]:
        """What was left out of what there is to weigh, as it is too much; filled by the rules that stop there."""
        return []

    @cached_property
    def builds(self) -> tuple[Taken, ...]:
        """What is there in the end and of which the build is known, one per package; the base's own left out."""
        latest = {item.request.name: item for item in self.env if item.build and not item.base}
        return tuple(latest.values())

    @cached_property
    def shipped(self) -> tuple[Taken, ...]:
        """What this stage's steps put into the environment and leave there, and what came along with it."""
        return tuple(item for item in self.lasting if item.mine) + tuple(
            item for item in self.env if item.by and item.mine
        )

    @cached_property
    def lasting(self) -> tuple[Taken, ...]:
        """What the steps of this stage, and of those that it continues, put into the environment and leave there."""
        there = {id(item) for item in self.env}
        return tuple(item for item in self.taken if id(item) in there)

    @cached_property
    def asked(self) -> tuple[Taken, ...]:
        """What pip and uv are asked for, and what of conda is there, by pip's names, and no pin is put over."""
        pins = {item.request.name: item.request.exact for item in self.taken if not item.request.marker}
        kept = (item for item in self.env if item.of_conda and pins.get(item.request.name, "") in {"", item.version})
        return (*self.taken, *kept)

    @cached_property
    def compiles(self) -> bool:
        """Whether something may be compiled here, or use a compiler at run time; of a script that is not known."""
        sources = [item.request.name for item in self.taken if not item.request.url.endswith(".whl")]
        late = {row.name for row in self.matrix.table("packages") if row.late}
        used = any(late & {item.request.name, *item.request.extras} for item in self.env)  # an extra is named for it
        built = used or any(_BUILT_HERE.fullmatch(name) for name in sources)
        scripts = any(command.build and SCRIPT.search(command.text) for command in self.commands)
        linked = any(item.build and item.build.cuda_from == "system" for item in self.env)
        return built or scripts or linked or any(_COMPILERS.search(command.text) for command in self.commands)

    @cached_property
    def gpu(self) -> str:
        """What the image is meant for: ``cuda``, ``rocm``, ``jetson``, or empty if nothing tells."""
        if self.base and self.base.kind in {"cuda", "rocm", "jetson"}:
            return self.base.kind
        if self.stage.vendor:
            return RUNTIMES.get(self.stage.vendor, "")
        if self.base is not None and self.base.kind not in {"python", "plain"}:
            return ""
        return self.device or ("cuda" if self.ask.gpu and self.base else "")

    @cached_property
    def named(self) -> str:
        """The device that the file's own name says: ``gpu``, ``cpu`` or empty (``environment_gpu.yml``)."""
        words = {*re.split(r"[-_.]", self.ask.file.rpartition("/")[2].lower())}
        return "gpu" if words & {"gpu", "cuda"} and "cpu" not in words else "cpu" if "cpu" in words else ""

    @cached_property
    def pythons(self) -> frozenset[str]:
        """Pythons that the environment can have; empty if nothing limits them."""
        if self.python:
            return frozenset({self.python})
        if self.base is None and self.ask.python:
            return frozenset(world.python for world in self.worlds)
        if self.base is None or self.conda or brings_pythons(self.commands):
            return self._pythons_of_conda()
        named, own = pythons_of_apt(self.apt), bases.python_of(self.base, self.matrix)
        return named | {own} if named and own else frozenset() if named else bases.pythons_of(self.base, self.matrix)

    def _pythons_of_conda(self) -> frozenset[str]:
        """Pythons that the newest Miniconda's own environment can have, where nothing else brings one; else none."""
        texts = [one.text for one in self.commands]
        newest = any("Miniconda3-latest-" in one for one in texts) and "conda" in self.stage.env.get("PATH", "")
        rest = tuple(replace(one, words=tuple(_MINICONDA.sub("", word) for word in one.words)) for one in self.commands)
        if not newest or self.conda or brings_pythons(rest):
            return frozenset()
        known = [row.python for row in self.matrix.table("pythons") if row.python[-1].isdigit()]
        return frozenset(known[known.index(self.matrix.turn("miniconda-python").version) :])

    @cached_property
    def rocm(self) -> str:
        """ROCm of the image, its base's or what AMD's installer brought; empty if not known."""
        if self.base and self.base.rocm:
            return self.base.rocm
        found = [
            re.search(r"amdgpu-install/(\d+\.\d+)|/rocm/apt/(\d+\.\d+)", command.text) for command in self.commands
        ]
        return next((each[1] or each[2] for each in reversed(found) if each), "")

    @cached_property
    def applications(self) -> tuple[tuple[Request, Application], ...]:
        """Requests for packages that bring a framework, pip's and uv's, without those whose extra is not asked for."""
        known = self.matrix.applications
        found = ((item.request, known[item.request.name]) for item in self.taken if item.request.name in known)
        return tuple((each, row) for each, row in found if not row.extras or _extras(each) & {*row.extras})

    def rows(self, name: str) -> list[Build]:
        """The builds that a name installs; several distributions of one package have names of their own."""
        package = self.matrix.package(name)
        return [row for row in self.matrix.builds(package.name) if row.install_name == name] if package else []

    def there(self, name: str, line: int) -> Taken | None:
        """What is there of a package at a line, whatever a later step puts in its place."""
        known = (*(old for old, _ in self.replaced), *self.env)
        before = [item for item in known if item.request.name == name and item.request.line <= line]
        return max(before, key=lambda item: item.request.line, default=None)


# The runtime that a vendor's GPUs take; lint tells these two apart.
RUNTIMES: Final = {"nvidia": "cuda", "amd": "rocm"}


def vendor_runtime(machine: Host) -> str:
    """``cuda`` or ``rocm`` where a machine has GPUs of NVIDIA or of AMD, and not of both; empty otherwise."""
    found = {RUNTIMES[gpu.vendor] for gpu in machine.gpus or () if gpu.vendor in RUNTIMES}
    return found.pop() if len(found) == 1 else ""


def _extras(request: Request) -> set[str]:
    return {normalise(extra) for extra in request.extras}


def pythons_of_apt(requests: Iterable[Request]) -> frozenset[str]:
    """Pythons that packages of the system bring by their names: ``python3.9``."""
    found = (re.fullmatch(r"python(3\.\d{1,2})", request.name) for request in requests)
    return frozenset(one[1] for one in found if one)


def brings_pythons(commands: tuple[Command, ...], own: str = "") -> bool:
    """Whether some command brings Pythons of its own, so that which one a bare ``pip`` serves is not known.

    A link to that of the system (``own``, its minor version) brings no other.
    """
    brings = re.compile(
        r"pyenv|\buv (venv|python)|(mini|ana)conda|mini(forge)|mambaforge|micromamba|altinstall|"
        r"(conda|mamba) (env )?create|Python-3|asdf|\bmise\b|update-alternatives.*python3\.\d|\bln .*python3\.\d|"
        r"feature \S*/(?:python|(?:ana|mini|micro)?(?:conda|forge|mamba))\b",
        re.IGNORECASE,
    )
    texts = (command.text.replace(f"python{own}", "python3") if own else command.text for command in commands)
    return any(map(brings.search, texts))
