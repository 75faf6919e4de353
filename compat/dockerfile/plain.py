"""The plain form: what an engineer writes by hand. Base, Python, one step that installs, a check, user, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import compat.dockerfile.steps as steps
import compat.dockerfile.system as system
from compat.dockerfile.commands import BREAK, Commands, by_name, further
from compat.dockerfile.quoting import shell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.dockerfile.settings import Settings
    from compat.plan import BaseImage, GpuVerdict, Plan, PlannedBuild

_CONSTRAINTS: Final = "/opt/constraints.txt"
_WIDTH: Final = 100  # columns of a line of requirements

# What a framework says of its own build: an expression that holds where the runtime is the planned one.
_BUILT: Final = {
    ("torch", "cuda"): "torch.version.cuda == '{}'",
    ("torch", "rocm"): "torch.version.hip.startswith('{}')",
    ("torch", "xpu"): "torch.version.xpu",
    ("torch", "cpu"): "not torch.version.cuda and not torch.version.hip",
    ("tensorflow", "cuda"): "tensorflow.sysconfig.get_build_info()['cuda_version'].startswith('{}')",
    ("tensorflow", "rocm"): "tensorflow.sysconfig.get_build_info()['is_rocm_build']",
    ("tensorflow", "cpu"): "not tensorflow.sysconfig.get_build_info()['is_cuda_build']",
    ("paddle", "cuda"): "paddle.version.cuda().startswith('{}')",
    ("jax", "cuda"): "",  # it has no word for the runtime of its plug-in (see _imported), which the installer pinned
    ("jax", "rocm"): "",
    ("jax", "cpu"): "",
    ("paddle", "cpu"): "not paddle.is_compiled_with_cuda()",
}


class PlainCommands(Commands):
    """Commands that install into the one stage there is, with the installer of the environment itself."""

    UV, PIP = "uv pip install", "pip install"

    def __init__(self, settings: Settings, *, uses_uv: bool, forget_vendor: bool) -> None:
        super().__init__(settings, uses_uv=uses_uv, forget_vendor=forget_vendor)
        self._buildkit = False  # no cache mounts: what a manager keeps is deleted, or never written

    def apt_install(self, packages: Sequence[str], source: str = "") -> list[str]:
        """Install packages of Debian or Ubuntu, leaving no lists in the layer."""
        words = ["apt-get install --yes --no-install-recommends", *map(shell, sorted(packages, key=by_name))]
        lines = [*([self.FORGET] if self._forget else []), "apt-get update", *further(source), *_filled(words)]
        return [*lines, "rm -rf /var/lib/apt/lists/*"]

    def installed(self, words: Sequence[str], *, held: bool) -> str:
        """One call of the installer with its words, several to a line."""
        hold = [f"--constraint {_CONSTRAINTS}"] if held else []
        (call,) = _filled([self._installer(), *hold, *words])
        return call

    def option(self, step: steps.Install) -> list[str]:
        """The words that name a step's index."""
        return [f"{self._option(step)} {step.index}"] if step.index else []


def _filled(words: Sequence[str]) -> list[str]:
    """One command, its words filled into lines."""
    lines, line = [], words[0]
    for word in words[1:]:
        if len(line) + len(word) + 1 > _WIDTH:
            lines.append(line)
            line = word
        else:
            line += f" {word}"
    return [BREAK.join([*lines, line])]


def plain(plan: Plan, base: BaseImage, settings: Settings, known: dict[str, Any]) -> dict[str, Any]:
    """What the template of the plain form fills in, beyond what both forms know."""
    uses_uv: bool = known["uses_uv"]
    commands = PlainCommands(settings, uses_uv=uses_uv, forget_vendor=known["forget_vendor"])
    apart = base.python_from != "image"
    secrets = known["secret_mounts"]
    files = [(settings.lock, known["lock_path"]), (settings.requirements_file, known["requirements_path"])]
    copied = [(source, place) for source, place in files if source]
    return {
        "system": list(_system(commands, plan, base, settings, known)),
        "system_mounts": base.python_from in {"uv", "conda"} and known["buildkit"],
        "apart": apart,
        "environment": _environment(plan, base, settings, apart=apart, uses_uv=uses_uv),
        "files": copied,
        "copied": [] if known["buildkit"] else copied,
        "install": [*_installs(commands, plan, settings, known), *known["trim"], *_check(plan, settings)],
        "install_mounts": [*secrets, *known["lock_mounts"], *known["requirements_mounts"]],
        "unpinned": any(step.loose for step in known["installs"]) or bool(known["requirements"]),
    }


def _environment(plan: Plan, base: BaseImage, settings: Settings, *, apart: bool, uses_uv: bool) -> dict[str, str]:
    """Variables of the image, with those that tell uv where to install; NVIDIA's bases set the driver's themselves."""
    own = {} if not uses_uv else {"VIRTUAL_ENV": "/opt/venv"} if apart else {"UV_SYSTEM_PYTHON": "1"}
    wanted = dict(sorted((plan.env or {}).items())) | system.loader_path(plan, "/opt/venv" if apart else "/usr/local")
    if base.image.startswith("nvidia/cuda"):
        wanted = {key: text for key, text in wanted.items() if not key.startswith("NVIDIA_")}
    return {**own, "PYTHONUNBUFFERED": "1", **wanted, **settings.env}


def _system(
    commands: PlainCommands, plan: Plan, base: BaseImage, settings: Settings, known: dict[str, Any]
) -> Iterator[str]:
    """What the distribution provides, the environment, the user."""
    pip = [] if known["uses_uv"] else system.venv(plan, base)
    if packages := [*known["packages"], *pip]:
        apt = known["manager"] == "apt"
        yield from commands.apt_install(packages, known["source"]) if apt else commands.dnf_install(packages)
    if base.python_from == "uv":
        seed = "" if known["uses_uv"] else " --seed"
        yield f"UV_PYTHON_INSTALL_DIR=/opt/python uv venv --no-cache{seed} --python {plan.python} /opt/venv"
    elif base.python_from == "conda":
        channels = [f"--channel {shell(name)}" for name in settings.channels]
        asked = map(shell, (f"python={plan.python}", "pip", *sorted(settings.conda)))
        create = "MAMBA_ROOT_PREFIX=/tmp/mamba micromamba create --yes --prefix /opt/venv"
        yield from (*_filled([create, *channels, *asked]), "rm -rf /tmp/mamba")
    elif base.python_from == "distribution":
        yield f"python{plan.python} -m venv{' --without-pip' if known['uses_uv'] else ''} /opt/venv"
    uid = settings.user
    yield f"useradd --no-log-init --user-group --uid {uid} --home-dir /app --create-home app"
    if known["server"]:
        yield f"install --directory --owner=app --group=app {known['models']}"


def _installs(commands: PlainCommands, plan: Plan, settings: Settings, known: dict[str, Any]) -> Iterator[str]:
    """The calls of the installer: one for each index, for several in one call let a build of another runtime in."""
    steps_: tuple[steps.Install, ...] = known["installs"]
    if settings.lock:
        (call,) = commands.install_lock(steps_, known["lock_path"])
        yield call
    else:
        if plan.constraints:
            words = _filled(["printf '%s\\n'", *map(shell, plan.constraints), f"> {_CONSTRAINTS}"])
            yield words[0]
        for step in steps_:
            asked = map(shell, sorted((*step.requirements, *step.loose), key=by_name))
            yield commands.installed([*commands.option(step), *asked], held=bool(plan.constraints))
    if known["requirements"] or settings.requirements_file:
        path = [f"--requirement {known['requirements_path']}"] if settings.requirements_file else []
        pins = [f"{name}=={version}" for name, version in plan.versions().items()]  # as they are: nothing moves them
        wanted = [*path, *map(shell, sorted((*known["requirements"], *pins), key=by_name))]
        yield commands.installed(wanted, held=bool(plan.constraints) and not settings.lock)


def _check(plan: Plan, settings: Settings) -> Iterator[str]:
    """A line of Python that fails where another build came than the planned one."""
    builds = [build for build in plan.builds if build.module and settings.import_check]
    for build in builds:
        kind = _kind(build)
        claims = [_version(build), _BUILT.get((build.module, kind), "").format(build.runtime.removeprefix(kind))]
        claim = " and ".join(filter(None, claims))
        text = f"import {_imported(build)}; assert {claim}" if claim else f"import {_imported(build)}"
        yield f'python -c "{text}"'


def _imported(build: PlannedBuild) -> str:
    """The module, and that of jax's plug-in for the GPU where the plan names it: without it jax takes the CPU unasked.

    Source: Requires-Dist of jax: ``jax[cuda12]`` brings ``jax-cuda12-plugin``, with the module ``jax_cuda12_plugin``.
    """
    brought = [f"jax-{extra}-plugin" for extra in build.extras if extra in {"cuda12", "cuda13"}]
    named = [pin.partition("==")[0] for pin in build.pins]
    plugins = [name.replace("-", "_") for name in (*named, *brought) if name.endswith("-plugin")]
    return ", ".join([build.module, *plugins[:1]]) if build.module == "jax" else build.module


def _version(build: PlannedBuild) -> str:
    """The version that the module states of itself, its local tag left out: metadata and module differ in it."""
    public = build.version.partition("+")[0]
    return (
        f"{build.module}.__version__.partition('+')[0] == '{public}'" if (build.module, _kind(build)) in _BUILT else ""
    )


def _kind(build: PlannedBuild) -> str:
    return build.runtime.rstrip("0123456789.")


def served(plan: Plan, kernels: dict[str, str]) -> str:
    """The GPUs that an image is for: those named, or the targets that its builds carry code for."""
    if plan.gpus:
        return ", ".join(dict.fromkeys(_named(gpu, kernels[gpu.kernels]) for gpu in plan.gpus))
    named = [item for item in plan.serves if not item.startswith("compute_")]
    ptx = ", later ones through PTX" if len(named) < len(plan.serves) else ""
    return f"those that run code for {' '.join(sorted(named, key=_order))}{ptx}"


def _named(gpu: GpuVerdict, how: str) -> str:
    """A GPU with its target, where its name is not that, and how it runs the builds."""
    return f"{gpu.name} ({how})" if gpu.target in gpu.name else f"{gpu.name} ({gpu.target}, {how})"


def _order(target: str) -> tuple[int, str]:
    """Targets by their number, sm_90 before sm_120."""
    digits = "".join(mark for mark in target if mark.isdigit())
    return (int(digits or 0) if target.startswith("sm_") else 0, target)
