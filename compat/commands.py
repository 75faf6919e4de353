"""What to type: the only writer of command lines that mend something.

Changes become the lines of a platform and of the installer that owns the packages.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.changes import (
    REBOOT,
    Change,
    Command,
    Container,
    Driver,
    Example,
    Install,
    Package,
    Python,
    Service,
    Uninstall,
    Variable,
)
from compat.installation import Installation, by_installation, keeper
from compat.lazy import dataclass, pattern
from compat.versions import requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.plan import PlannedBuild

_USES: Final = {
    "uv project": pattern(r"uv (?:add|sync|run|lock|remove)\b"),
    "uv": pattern(r"uv (?:pip|venv)\b"),
    **{name: pattern(rf"{name} (?:add|install|sync|run|remove)\b") for name in ("poetry", "pdm", "pixi")},
}
# Tools whose next run restores what the project's lock says: how they take packages out and add them, and how from
# another index. Sources: the pages of uv, Poetry, PDM and pixi on their commands.
_PROJECTS: Final = {
    "uv project": ("uv remove", "uv add", ("uv add --index {source}={address} {names}",)),
    "poetry": (
        "poetry remove",
        "poetry add",
        ("poetry source add --priority explicit {source} {address}", "poetry add --source {source} {names}"),
    ),
    "pdm": ("pdm remove", "pdm add", ("pdm config --local pypi.{source}.url {address}", "pdm add {names}")),
    "pixi": ("pixi remove --pypi", "pixi add --pypi", ("pixi add --pypi --index {address} {names}",)),
}
# How each tool runs pip in its environment, and what that takes first.
_PIPS: Final = {"uv": "uv pip", "uv project": "uv pip", "venv": ".venv/bin/pip", "poetry": "poetry run pip"} | {
    name: f"{name} run python -m pip" for name in ("pdm", "pixi")
}
_FIRST: Final = {"venv": "python3 -m venv .venv"} | {
    name: f"{name} run python -m ensurepip" for name in ("pdm", "pixi")
}
# How an environment of another Python is made: a tool's own is made again.
_MADE: Final = {
    "conda": "conda create -y -n {name} python={version}",
    "pipx": "pipx reinstall {name} --python {version}",
    "uv tool": "uv tool install --reinstall --python {version} {name}",
}
# Distributions whose conda package has another name.
_FROM_CONDA: Final = {"pytorch": "torch"}
_CONDA_HAS: Final = frozenset({"pytorch", "torchvision", "torchaudio", "numpy", "tensorflow", "jax"})
_NAMES: Final = pattern(r" (?:-[cn]|--channel|--name)[ =]\S+")  # of channels and environments
_CONDA: Final = pattern(r"(?:conda|mamba|micromamba) (?:install|create)\b")
_TO_CONDA: Final = {"torch": "pytorch"}

# What compiles an extension against the framework that is installed, where pip makes no build environment of its own.
_TOOLS: Final = ("ninja", "packaging", "psutil", "setuptools", "wheel")
_BUILD_TOOLS: Final = Install(packages=tuple(Package(name=name) for name in _TOOLS))
_SUDO: Final = pattern(r"(?:^|(?<=&& )|(?<=\| ))sudo ")
# How engines are told to give a container all NVIDIA GPUs, where not as Docker is.
_GPUS: Final = {"podman": "--device nvidia.com/gpu=all", "singularity": "--nv", "apptainer": "--nv"}
# The Python that a program brings with it, in the program's own folder.
_BROUGHT: Final = pattern(r"[\w.-]+/(?:Scripts/)?python\.exe")
_SPECIAL: Final = frozenset("[]<>!~;* ")  # characters that a shell reads as its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a command is typed, and what owns the packages there.

    Attributes:
        platform: as in the facts.
        manager: what installs packages: ``pip``, ``uv``, ``nix`` (an expression, and no command), or whose project it
            is (``uv project``, ``poetry``, ``pdm``, ``pixi``); ``venv`` where the system owns its Python, so that an
            environment has to be made first; or how pip is run in the environment of conda that was just made.
        fresh: whether the environment was just made, and has no packages.
        conda: distributions that conda installed, by the names of the Python index.
        environment: kind of the environment, ``conda``: another Python is taken by the same tool, else by uv.
        dialect: ``powershell`` where that is meant; else it is the platform's usual one, ``sh`` or Windows' ``cmd``.
        init: what manages services, as in the facts; empty where that is not known.
        tool: name of the program whose own environment it is, as pipx and ``uv tool`` make them.
        script: whether the lines are those of a script, however long.
        root: whether root types there: a machine of root's need not have sudo.
    """

    platform: str = "linux"
    manager: str = "pip"
    fresh: bool = False
    conda: tuple[str, ...] = ()
    environment: str = ""
    dialect: str = ""
    init: str = ""
    tool: str = ""
    script: bool = False
    root: bool = False


def place_of(machine: Host, commands: Sequence[str] = ()) -> Place:
    """The place that facts tell, or the commands that were typed there; Linux and pip where nothing does."""
    keeps, name, _ = keeper(machine.python_path or "")
    kind, tool = keeps or machine.python_environment or "", name if keeps in _MADE else ""
    owners = {name for name in (machine.installers or {}).values() if name != "conda"}
    manager = kind if kind in {*_USES, "nix"} else "pip"
    if manager == "pip" and len(owners) == 1:
        manager = {"uv": "uv", "poetry": "poetry", "system": "venv"}.get(owners.pop(), "pip")
    if manager in {"pip", "uv"}:
        manager = next((name for name, use in _USES.items() if any(map(use.match, commands))), manager)
    where, own = machine.platform or "linux", machine.python_path or ""
    if manager == "pip" and where == "windows" and not kind and _BROUGHT.fullmatch(own):
        manager = f"{own.replace('/', chr(92))} -m pip"
    if tool:
        manager = "uv" if keeps == "uv tool" else f"pipx runpip {tool}"
    conda, kind = () if tool else _by_conda(machine, commands), kind if tool or kind == "conda" else ""
    root = machine.user_id == 0 and not machine.container  # what a container asks of its host is typed by another user
    return Place(
        platform=where, manager=manager, conda=conda, environment=kind, init=machine.init or "", tool=tool, root=root
    )


def _by_conda(machine: Host, commands: Sequence[str]) -> tuple[str, ...]:
    """Distributions that conda installed; a copy that pip installed over one counts as pip's.

    Where no list tells who installed a package, the command that was typed for it does; where none but conda was
    called in its environment, all are of conda.
    """
    if not machine.installers and not machine.conda_packages:
        own = [_NAMES.sub("", line) for line in commands if _CONDA.match(line)]
        alone = own and machine.python_environment == "conda" and not any("pip install" in line for line in commands)
        words = {word.partition("=")[0] for line in own for word in line.split()}
        return tuple(sorted(_FROM_CONDA.get(name, name) for name in (_CONDA_HAS if alone else words & _CONDA_HAS)))
    told = {name for name, owner in (machine.installers or {}).items() if owner == "conda"}
    listed = {_FROM_CONDA.get(name, name) for name in machine.conda_packages or {}} - set(machine.installers or {})
    return tuple(sorted(told | listed))


def typed(changes: Sequence[Change], place: Place) -> tuple[str, ...]:
    """The lines to type, in order; a change that has no line of its own (a toolkit) has none here."""
    changes = [one for one in changes if place.script or getattr(one, "where", "") != "script"]
    new = next((at for at, one in enumerate(changes) if isinstance(one, Python) and not place.tool), len(changes))
    own = [f"conda run -n {_named(one)} pip" for one in changes[new:] if isinstance(one, Python)]
    made = replace(place, manager=own[0] if own and place.environment == "conda" else "uv", conda=(), fresh=True)
    places = (place if number < new else made for number in range(len(changes)))
    lines = [line for change, here in zip(changes, places, strict=True) for line in _lines(change, here)]
    return tuple(_SUDO.sub("", line) for line in lines) if place.root else tuple(lines)


def installs(builds: Sequence[PlannedBuild], constraints: Sequence[str] = ()) -> tuple[Install, ...]:
    """The builds of a plan as changes, one for each command.

    ``constraints``: requirements that keep shared dependencies within all builds, from the default index.
    """
    more: dict[Installation, tuple[Package, ...]] = {}
    for kept in map(_pinned, constraints):
        key = Installation(compiled=bool(kept.address))
        more[key] = (*more.get(key, ()), kept)
    groups = by_installation(builds, lambda build: build.origin)
    found: list[Install] = []
    for key in sorted([*groups, *more.keys() - groups.keys()], key=lambda one: one[:2]):
        own = groups.get(key, [])
        packages: list[Package] = []
        for one in own:
            packages.append(package_of(one))
            packages += map(_pinned, one.pins)
        pages = tuple(dict.fromkeys(build.index for build in own if build.links))
        index, links = (pages[0], True) if pages else (key.only, False)
        found.append(
            Install(
                packages=(*packages, *more.get(key, ())),
                index=index,
                links=links,
                further=pages[1:],
                compile=key.compiled,
            )
        )
    return tuple(found)


def package_of(build: PlannedBuild) -> Package:
    """A planned build as something to install."""
    return Package(
        name=build.name, version=build.version, extras=build.extras, runtime=build.runtime, address=build.address
    )


def _pinned(text: str) -> Package:
    """A requirement of a plan, which has no marker."""
    line = requirement(text)
    assert line is not None  # the laws of the matrix vouch for its grammar
    exact = line.spec.removeprefix("==") if re.fullmatch(r"==[^,*]+", line.spec) else ""
    return Package(name=line.name, version=exact, spec=line.spec, extras=tuple(line.extras), address=line.url)


def suited(changes: Sequence[Change], machine: Host) -> tuple[Change, ...]:
    """Those of a rule's general changes that can be typed on this machine, with the name of its image.

    A container is not the place for what changes the host, a Windows or a Mac not for what Linux alone has; how to
    start a container is said to those who are in one, or where nothing else is said.
    """
    linux = machine.platform not in {"windows", "darwin"}
    open_to = {"", *(("linux",) if linux else ()), *(("host",) if linux and not machine.container else ())}
    fit = [one for one in changes if not isinstance(one, Example) and getattr(one, "where", "") in open_to]
    if not linux:  # whose loaders do not know it
        fit = [one for one in fit if not (isinstance(one, Variable) and one.name == "LD_LIBRARY_PATH")]
    image = machine.image or ""
    if machine.l4t:  # where the engine's own runtime hands over the board
        fit = [Container("--runtime nvidia") if isinstance(one, Container) and one.gpus else one for one in fit]
    left = [replace(one, image=one.image or image) if isinstance(one, Container) else one for one in fit]
    outside = [one for one in left if not (isinstance(one, Container) and one.command == "run")]
    return tuple(outside if outside and not machine.container else left)


def _lines(change: Change, place: Place) -> tuple[str, ...]:
    """The lines of one change."""
    match change:
        case Install() | Uninstall() if place.manager == "nix":
            return ()
        case Install():
            return _installs(change, place)
        case Uninstall(names):
            ours = [name for name in names if name in place.conda]
            rest = [name for name in names if name not in place.conda]
            pip = f"{_pip(place)} uninstall{'' if place.manager == 'uv' else ' -y'} {' '.join(rest)}{_into(place)}"
            pip = f"{_PROJECTS[place.manager][0]} {' '.join(rest)}" if place.manager in _PROJECTS else pip
            return (*([_removed(ours)] if ours else []), *([pip] if rest else []))
        case Driver():
            return tuple(one.line for one in change.commands)
    line = _simple(change, place)
    return (line,) if line else ()


def _simple(change: Change, place: Place) -> str:
    """The line of a change that has one at most."""
    match change:
        case Variable(name, value):
            return _variable(name, value, place)
        case Python(version):
            line = _MADE.get(place.environment, "uv venv --python {version}")
            return line.format(version=version, name=place.tool or _named(change))
        case Command(line) | Example(line):
            return "wsl --shutdown" if line == REBOOT.line and place.platform == "wsl2" else line
        case Service():
            return _service(change, place)
        case Container():
            return f"{change.engine} {change.command} {options_of(change)} {change.image or 'IMAGE'}"
    return ""


def options_of(change: Container) -> str:
    """The options by which an engine starts a container."""
    gpus = _GPUS.get(change.engine, "--gpus all") if change.gpus else ""
    return " ".join(filter(None, (gpus, change.options, change.group and f"--group-add {change.group}")))


def _service(change: Service, place: Place) -> str:
    """How a service is started or restarted: by systemd unless the machine is known to run without it."""
    deed = "start" if change.start else "restart"
    if place.init in {"", "systemd"}:
        return f"sudo systemctl {'enable --now' if change.start else deed} {change.name}"
    return f"sudo {'rc-service' if place.init == 'openrc' else 'service'} {change.name} {deed}"


def _named(change: Python) -> str:
    """The name of conda's environment for another Python: ``py311``."""
    return f"py{change.version.replace('.', '')}"


def _pip(place: Place) -> str:
    return _PIPS.get(place.manager, place.manager)


def _removed(names: Sequence[str]) -> str:
    """Packages taken out of a conda environment, and nothing that needs them."""
    return f"conda remove --force -y {' '.join(_TO_CONDA.get(name, name) for name in names)}"


def _installs(change: Install, place: Place) -> tuple[str, ...]:
    """The lines of an installation: by the tool that owns the packages, or by pip once they are out of its hands."""
    ours = [package.name for package in change.packages if package.name in place.conda]
    if place.manager in _PROJECTS and not (change.compile or change.links):  # a page of links is no index
        return _to_project(change, place)
    if not ours or change.compile:
        first = [_FIRST[place.manager]] if place.manager in _FIRST else []
        tools = [_install(_BUILD_TOOLS, place)] if change.compile and (place.fresh or not change.again) else []
        return (*first, *tools, *_cleared(change, place), _install(change, place))
    if line := _conda(change):
        return (line,)
    return _removed(ours), _install(change, place)


def _to_project(change: Install, place: Place) -> tuple[str, ...]:
    """Packages as dependencies of the project, which its next run keeps; another index becomes a source of it."""
    names, address = " ".join(package.address or _quoted(package) for package in change.packages), change.index
    _, plain, elsewhere = _PROJECTS[place.manager]
    source = "-".join(re.findall(r"\w[\w.]*", address.partition("://")[2])[-2:]).replace(".", "-")
    lines = elsewhere if address else (f"{plain} {{names}}",)
    return tuple(line.format(names=names, source=source, address=address) for line in lines)


def _cleared(change: Install, place: Place) -> tuple[str, ...]:
    """A copy that satisfies its pin is taken out first: ``--force-reinstall`` replaces all that it requires, too.

    One with a local tag is no other build's equal, and an extra brings what it lacks: neither needs this.
    """
    named = (one for one in change.packages if one.version and not one.extras)
    names = tuple(one.name for one in named if "+" not in one.version)
    stays = not change.again or change.compile or place.fresh or place.manager == "venv"
    return () if stays or not names else _lines(Uninstall(names), place)


def _conda(change: Install) -> str:
    """PyTorch or NumPy by conda's own command; empty where no channel is known to have the release."""
    first = change.packages[0]
    if [package.name for package in change.packages] == ["numpy"]:
        return f"conda install {_quoted(first)}"
    if not change.names_cuda:
        return ""
    names = [f"{_TO_CONDA.get(one.name, one.name)}={one.version.partition('+')[0]}" for one in change.packages]
    channel = "nvidia" if change.names_cuda == "pytorch-cuda" else "conda-forge"
    cuda = f"{change.names_cuda}={first.runtime.removeprefix('cuda')}"
    return " ".join(["conda install", *names, cuda, "-c pytorch -c", channel])


def _install(change: Install, place: Place) -> str:
    """One command that installs all packages of a change."""
    again, uv = change.again and not place.fresh, _pip(place) == "uv pip"
    options = ["--no-build-isolation"] if change.compile else []
    if change.compile and again:
        options += ["--no-deps", *(("--reinstall", "--no-cache") if uv else ("--force-reinstall", "--no-cache-dir"))]
    if change.upgrade or (again and not change.compile and not all(one.version for one in change.packages)):
        options.append("--upgrade")
    names = [package.address or _quoted(package) for package in change.packages]
    option = "--find-links" if change.links else "--index-url"
    where = [f"{option} {address}" for address in (change.index, *change.further) if address]
    return " ".join([_pip(place), "install", *options, *names, *where]) + _into(place)


def _into(place: Place) -> str:
    """Which environment uv installs into, where that is of a tool."""
    home = "$env:APPDATA" if place.dialect == "powershell" else "%APPDATA%"
    folder = f"{home}\\uv\\tools\\{place.tool}" if place.platform == "windows" else f'"$(uv tool dir)/{place.tool}"'
    return f" --python {folder}" if place.environment == "uv tool" and place.tool else ""


def _quoted(package: Package) -> str:
    """A requirement, in double quotes where a shell would read its characters."""
    text = package.requirement
    return f'"{text}"' if _SPECIAL & set(text) else text


def _variable(name: str, value: str | None, place: Place) -> str:
    """How the platform's shell sets or unsets a variable."""
    if place.dialect == "powershell":
        return f"$env:{name} = '{value or ''}'"
    if place.platform == "windows":
        return f"set {name}={value or ''}"
    return f"unset {name}" if value is None else f"export {name}={value}"
