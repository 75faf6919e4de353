"""From a plan and settings to the values that the templates fill in; whatever a plan holds is checked on the way."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import compat.dockerfile.extensions as extensions
import compat.dockerfile.servers as servers
import compat.dockerfile.steps as steps
import compat.dockerfile.system as system
from compat import resources, versions
from compat.dockerfile.commands import Commands
from compat.dockerfile.plain import plain, served
from compat.dockerfile.settings import SECRETS, Settings, demand, demand_requirement
from compat.errors import InputError, InputErrors
from compat.plan import DIGEST_LABEL, PLAN_LABEL, RUNTIME_LABEL, VERSIONS_LABEL, Answer, BaseImage, Plan, digest, dump

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.dockerfile.servers import Server

# Where a step sees the files of the build context that steer it; with BuildKit they are never part of a layer.
LOCK: Final = "/opt/tools-lock.txt"
REQUIREMENTS: Final = "/opt/tools-requirements.txt"

# What a package manager keeps between runs, by the name of its cache.
_CACHES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "apt": (("apt-archives", "/var/cache/apt"), ("apt-lists", "/var/lib/apt/lists")),
    "dnf": (("dnf", "/var/cache/dnf"),),
}
# How a container of each family gets its devices, and why variables stand above it.
_RUN: Final[Mapping[str, str]] = {
    "cpu": "--network none --read-only --tmpfs /tmp",
    "cuda": "--gpus all",
    "jetson": "--runtime nvidia",
    "rocm": '--device /dev/kfd --device /dev/dri --group-add video --group-add "$(stat -c %g /dev/kfd)"',
    "tpu": "--privileged --network host --user 0",  # /dev/accel* and /dev/vfio/* may be root's alone
    "xpu": '--device /dev/dri --group-add "$(stat -c %g /dev/dri/renderD128)"',
}
_ENV_REASONS: Final[Mapping[str, str]] = {
    "cuda": "What the container runtime is asked for: computing and nvidia-smi, no graphics and no video.",
    "jetson": "JetPack's runtime brings the driver's libraries of the board itself into the container.",
}
_KERNELS: Final[Mapping[str, str]] = {
    "native": "native kernels",
    "ptx": "kernels that the driver compiles at first use",
    "none": "no kernels",
    "unknown": "kernels not known",
}
_DRIVER_ENV: Final[Mapping[str, str]] = {
    # What NVIDIA's container runtime is asked for: compute and nvidia-smi; no graphics, no video, no display
    # (NVIDIA container toolkit, "Specialized Configurations with Docker", driver capabilities).
    "NVIDIA_VISIBLE_DEVICES": "all",
    "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
}


def context(plan: Plan, settings: Settings) -> dict[str, Any]:
    """Names and values for the templates.

    Raises:
        InputError: if the plan has no base image, or a value of it cannot be written safely.
    """
    base = replace(_base(plan), python_from="conda") if settings.conda else _base(plan)
    compiled = tuple(build.requirement for build in plan.builds if build.compile)
    # A plan may itself say that something has to be compiled; that joins what the person asked for.
    settings = replace(
        settings,
        compile=tuple(dict.fromkeys((*compiled, *settings.compile))),
        compiler=settings.compiler or system.compiles_at_run_time(plan),
    )
    faults = list(_faults(plan, base, settings))
    if faults:
        raise InputErrors(faults)
    server = servers.server_of(plan, settings)
    settings = servers.serving(settings, server) if server else settings
    known = _facts(plan, base, settings, server) | _packages(plan, base, settings)
    known |= _program(plan, base, settings, known)
    known |= {"form": "factory" if settings.form == "factory" or settings.compile else "plain"}
    known |= {"labels": _labels(plan, base, settings, known["form"])}
    return {**known, "plain": plain(plan, base, settings, known)}


def _facts(plan: Plan, base: BaseImage, settings: Settings, server: Server | None) -> dict[str, Any]:
    """What comments, arguments and labels say."""
    # a server needs its port, its models, and shared memory between its processes
    serving = f" --ipc host -p {server.port}:{server.port} -v models:{servers.MODELS}" if server else ""
    return {
        "plan": plan,
        "base": base,
        "settings": settings,
        "server": server,
        "models": servers.MODELS,
        "run_options": _RUN[family(plan)] + serving,
        "env_reason": _ENV_REASONS.get(family(plan), ""),
        "served": served(plan, dict(_KERNELS)),
        "title": _title(plan),
        "image": f"{base.image.partition('@')[0]}@{settings.digest}" if settings.digest else base.image,
        "devel": extensions.devel_image(base, settings),
        "platform": ",".join(plan.platforms),
        "several": bool(plan.also),
        "python": plan.python,
        "kernels": _KERNELS,
        "environment": _environment(plan, settings),
        "buildkit": settings.builder == "buildkit",
        "lock_path": LOCK,
        "requirements_path": REQUIREMENTS,
    }


def _packages(plan: Plan, base: BaseImage, settings: Settings) -> dict[str, Any]:
    """What the distribution provides; refused where something is to be installed and nobody knows with what."""
    loose = system.loose(plan, base, settings)
    uses_uv = _uses_uv(plan, base, settings)
    needs_manager = bool(loose) or base.python_from == "distribution"
    if needs_manager and not system.manager(base):
        raise InputError(
            f"no known package manager on {base.os or 'an unnamed system'}",
            where="base_image.os",
            expected=", ".join(system.SYSTEMS),
        )
    return {
        "manager": system.manager(base),
        "packages": system.pinned(plan, base) + loose,
        "loose": loose,
        "venv_packages": [] if uses_uv else system.venv(plan, base),
        "compile_packages": system.compilers(plan, base),
        "uses_uv": uses_uv,
        "needs_uv": uses_uv or base.python_from == "uv",
        "conda": base.python_from == "conda",
        "interpreter": _interpreter(plan, base),
        "forget_vendor": _forgets_vendor(base, loose),
        "source": system.vendor_source(plan, base),
        "key": system.INTEL_KEY,
        "key_url": system.INTEL_KEY_URL,
    }


def _program(plan: Plan, base: BaseImage, settings: Settings, known: dict[str, Any]) -> dict[str, Any]:
    """Commands, mounts and reasons of the ``RUN`` steps; ``known`` is what the others gave."""
    commands = Commands(settings, uses_uv=known["uses_uv"], forget_vendor=known["forget_vendor"])
    installs = steps.installs(plan, compiler=settings.compiler)
    expected = json.dumps(steps.expectations(plan, imports=settings.import_check), sort_keys=True)
    uid = str(settings.user)
    return {
        "commands": commands,
        "installs": installs,
        "reasons": [steps.reason(step, plan) for step in installs],
        "constraints": steps.constraints(plan),
        "requirements": tuple(dict.fromkeys((*plan.asked, *plan.unjudged, *settings.requirements))),
        "install_packages": _install(commands, base, known["packages"], known["source"]),
        "install_compilers": _install(commands, base, known["compile_packages"]),
        "arch_lists": extensions.arguments(plan, settings),
        "default_index": "UV_DEFAULT_INDEX" if known["uses_uv"] else "PIP_INDEX_URL",
        "check": commands.check(_check_lines(), expected),
        "trim": commands.trim(steps.gpu_targets(plan)) if settings.trim and family(plan) == "rocm" else [],
        **_mounts(plan, base, settings, "uv" if known["uses_uv"] else "pip"),
        "add_user": [
            f"groupadd --gid {uid} app",
            f"useradd --no-log-init --uid {uid} --gid {uid} --home-dir /app --no-create-home app",
            f"install --directory --owner=app --group=app /app{' ' + servers.MODELS if known['server'] else ''}",
        ],
    }


def _mounts(plan: Plan, base: BaseImage, settings: Settings, tool: str) -> dict[str, list[str]]:
    """What steps may see beyond the image: caches that outlive a build, the tools, and secrets; none of it stays.

    The classic builder has no mounts: the templates copy there what is bound here. Caches of apt are locked, because
    apt refuses to share its own (Dockerfile reference, ``RUN --mount=type=cache``); those of pip and uv are shared.
    """
    secrets = [f"type=secret,id={name},target={SECRETS[name]}" for name in settings.secrets]
    arch = "${TARGETARCH}" if plan.also else plan.arch  # the builder tells each platform its own
    own = [f"type=cache,target=/root/.cache/{tool}", *secrets]
    found = {
        "apt_mounts": [
            f"type=cache,id={name}-{base.os}-{arch},target={place},sharing=locked"
            for name, place in _CACHES.get(system.manager(base), ())
        ],
        "secret_mounts": secrets,
        "tool_mounts": own,
        "compile_mounts": ["type=cache,target=/root/.cache/ccache", *own],
        "install_mounts": ["type=bind,from=tools,source=/opt/tools,target=/opt/tools", *own],
        "lock_mounts": _file_mount(settings.lock, LOCK),
        "requirements_mounts": _file_mount(settings.requirements_file, REQUIREMENTS),
    }
    return {name: mounts if settings.builder == "buildkit" else [] for name, mounts in found.items()}


def _file_mount(source: str, target: str) -> list[str]:
    return [f"type=bind,source={source},target={target}"] if source else []


def _install(commands: Commands, base: BaseImage, packages: list[str], source: str = "") -> list[str]:
    """The distribution's own way to install packages."""
    if not packages:
        return []
    return commands.apt_install(packages, source) if system.manager(base) == "apt" else commands.dnf_install(packages)


def _uses_uv(plan: Plan, base: BaseImage, settings: Settings) -> bool:
    """Whether uv installs: it makes no wheels to hand over, so a stage that compiles is pip's.

    Into a Python too old for a pip that fills other environments uv alone installs: ``pip --python`` came with 22.3,
    which wants Python 3.7 (pip's news), and uv works with 3.6 too (uv's "Python support").
    """
    if settings.compile:
        return False
    if not versions.at_least(plan.python.rstrip("t"), "3.7"):
        return True
    return settings.installer == "uv" or (settings.installer == "auto" and base.python_from == "uv")


def _forgets_vendor(base: BaseImage, loose: list[str]) -> bool:
    """Whether NVIDIA's package source is dropped before the index is read.

    Nothing is taken from it then, and its signing key was replaced once, which broke every older image
    (https://developer.nvidia.com/blog/updating-the-cuda-linux-gpg-repository-key/).
    """
    return base.image.startswith("nvidia/cuda") and not any(map(system.VENDOR.fullmatch, loose))


def _environment(plan: Plan, settings: Settings) -> dict[str, str]:
    """Variables of the final image; the plan's win over ours and the person's over both."""
    path = system.loader_path(plan, "/opt/venv")
    driver = _DRIVER_ENV if family(plan) in {"cuda", "jetson"} else {}
    return {"PYTHONUNBUFFERED": "1", **driver, **dict(sorted((plan.env or {}).items())), **path, **settings.env}


def family(plan: Plan) -> str:
    """Which template writes the plan: ``cuda``, ``rocm``, ``xpu``, ``tpu``, ``jetson`` or ``cpu``."""
    image = plan.base_image.image if plan.base_image else ""
    if "l4t" in image or "jetson" in image or "tegra" in image:
        return "jetson"
    return next((name for name in ("cuda", "rocm", "xpu", "tpu") if plan.runtime.startswith(name)), "cpu")


def _base(plan: Plan) -> BaseImage:
    """The base, without which there is nothing to write."""
    if plan.base_image is None:
        raise InputError(
            f"the plan for {plan.runtime} has no base image: its system does not run in Linux containers",
            hint="resolve for a Linux target, for example with --os ubuntu22.04",
        )
    if plan.runtime.startswith("cann"):
        # Its driver's libraries are mounted at run time alone: no build here can prove that what was installed imports.
        raise InputError(
            f"no Dockerfile is written for Ascend ({plan.runtime})",
            hint=f"start from {plan.base_image.image}; `envcheck resolve REQ --format requirements` has the packages",
        )
    return plan.base_image


def _faults(plan: Plan, base: BaseImage, settings: Settings) -> Iterator[InputError]:
    """Faults of a plan that came from a file or a label rather than from our resolver.

    Every text that reaches a shell line or an instruction is held to its pattern here, before any template sees it.
    """
    yield from demand("image", base.image, "base_image.image")
    yield from demand("python", plan.python, "python")
    for arch in plan.archs:
        yield from demand("version", arch, "arch")
    yield from _form_faults(plan, settings)
    for build in plan.builds:
        for text in (build.requirement, *build.pins):
            yield from demand_requirement(text, f"builds.{build.name}")
        for key, address in (("index", build.index), ("address", build.address)):
            if address:
                yield from demand(key, address, f"builds.{build.name}.{key}")
    for key, texts in (("constraints", plan.constraints), ("asked", plan.asked), ("unjudged", plan.unjudged)):
        for text in texts:
            yield from demand_requirement(text, key)
    for key, text in (plan.env or {}).items():
        yield from demand("env", key, "env")
        yield from demand("line", text, f"env.{key}")
    for target in steps.gpu_targets(plan):
        yield from demand("version", target, "gpus.target")


def _form_faults(plan: Plan, settings: Settings) -> Iterator[InputError]:
    """Wishes that the builder or the form cannot fulfil."""
    for name, _, address in (text.partition(" @ ") for text in plan.unjudged):
        if address:
            what, expected = "is in its repository alone", "a Dockerfile of yours that compiles it, FROM this image"
            yield InputError(f"{name} {what}", where="unjudged", expected=expected)
    if plan.also and settings.builder == "classic":
        one = "the classic builder makes an image for one platform at a time"
        yield InputError(one, where="builder", expected="buildkit, or one platform")
    other = settings.compile or settings.form == "factory" or settings.installer == "uv" or plan.python.endswith("t")
    if settings.conda and other:
        why = "packages of conda's go into one stage, with the pip beside them"
        yield InputError(why, where="conda", expected="the plain form, pip, a usual Python, nothing to compile")


def _interpreter(plan: Plan, base: BaseImage) -> str:
    """The command that starts the planned Python before the virtual environment exists.

    A standalone Python is called by its real place: an environment made through a link notes the link's folder as its
    home, and Pythons without a later fix then look for their library beside the link, where it is not.
    """
    places = {"image": "python3", "uv": f'"$(readlink -f /opt/python/bin/python{plan.python})"'}
    return places.get(base.python_from, f"python{plan.python}")


def _check_lines() -> list[str]:
    """Lines of the build-time check, without its comments: the builder would take a bare ``#`` line for its own."""
    lines = (resources.templates_dir() / "check.py").read_text("utf-8").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _title(plan: Plan) -> str:
    """What the image is, for labels and the first comment."""
    return ", ".join(f"{build.name} {build.version}" for build in plan.builds) or f"Python {plan.python}"


def _labels(plan: Plan, base: BaseImage, settings: Settings, form: str) -> dict[str, str]:
    """Image labels: OCI's annotation keys (OCI image specification, annotations.md), the plan, the person's own.

    The base's digest is no label: a build argument can replace the base, and the label would then lie.
    """
    names = _title(plan)
    if form == "plain":
        told = [f"python=={plan.python}", *(f"{name}=={version}" for name, version in plan.versions().items())]
        return {
            "org.opencontainers.image.title": names,
            VERSIONS_LABEL: " ".join(told),
            RUNTIME_LABEL: plan.runtime,
            DIGEST_LABEL: digest(plan),
            **settings.labels,
        }
    return {
        "org.opencontainers.image.title": names,
        "org.opencontainers.image.description": f"{names} for {plan.runtime}, Python {plan.python}",
        "org.opencontainers.image.base.name": base.image,
        **labels(plan),
        **({"dev.envcheck.matrix": plan.matrix} if plan.matrix else {}),
        **settings.labels,
    }


def labels(plan: Plan) -> dict[str, str]:
    """The plan as a label, without what only explains it: a builder that has it adds it to the plain form, too."""
    kept = {"choices", "conditions"}
    document = {key: item for key, item in dump(Answer(status="plan", plan=plan))["plan"].items() if key not in kept}
    return {PLAN_LABEL: json.dumps(document, sort_keys=True, separators=(",", ":"))}
