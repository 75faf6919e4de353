"""Changes: what a remedy or a fix does, as values; and what a machine is like after them.

A change says what is done and not how it is typed: :mod:`compat.commands` writes the command line of a platform.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from compat.facts import Build, Fact, Host
from compat.lazy import dataclass
from compat.names import normalise
from compat.sentences import Sentence

_TOOLKIT: Final = "/usr/local/cuda-{}"  # where NVIDIA's packages put one

# Where a command can be typed: anywhere, on Linux alone, or on a Linux machine itself, outside its containers; in a
# script alone stands what is too long to be read beside a finding.
Where = Literal["", "linux", "host", "script"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A Python distribution to install.

    Attributes:
        name: distribution, ``torch``.
        version: exact version with its local tag; empty where ``spec`` bounds it, or any will do.
        spec: PEP 440 specifier, ``<2``.
        extras: extras to ask for.
        runtime: what the build is for, ``cuda12.8``; empty if unknown or none.
        settles: shared libraries that it brings, or that are no longer asked for with it.
        address: where it is installed from, ``git+https://...``, if the default index has no such package.
    """

    name: str
    version: str = ""
    spec: str = ""
    extras: tuple[str, ...] = ()
    runtime: str = ""
    settles: tuple[str, ...] = ()
    address: str = ""

    @property
    def requirement(self) -> str:
        """The PEP 508 requirement."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}{f'=={self.version}' if self.version else self.spec}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """Install or replace packages, in one command from one index.

    Attributes:
        packages: what to install.
        index: address of the index; empty for the default one.
        links: whether ``index`` is a page of links, which is asked beside the default index.
        further: more pages of links.
        again: whether a copy of the same version is replaced.
        upgrade: whether an older copy is replaced by the newest release.
        compile: whether they are compiled here, against what is installed.
        names_cuda: conda package that names the CUDA of these releases in the channel ``pytorch``; empty where that
            channel has not got them all.
    """

    packages: tuple[Package, ...]
    index: str = ""
    links: bool = False
    further: tuple[str, ...] = ()
    again: bool = False
    upgrade: bool = False
    compile: bool = False
    names_cuda: str = ""

    def moves(self, there: Mapping[str, str]) -> bool:
        """Whether it changes anything beside what is there: a release that it admits stays as it is."""
        from compat.versions import admits

        asked = ((one, there.get(normalise(one.name), "")) for one in self.packages)
        stays = all(
            have and not one.extras and admits(f"=={one.version}" if one.version else one.spec, have)
            for one, have in asked
        )
        return self.again or self.upgrade or self.compile or not stays


def install(
    name: str,
    spec: str = "",
    *,
    extras: tuple[str, ...] = (),
    settles: tuple[str, ...] = (),
    again: bool = False,
    upgrade: bool = False,
) -> Install:
    """One package from the default index; ``spec`` is a PEP 440 specifier, the rest as in :class:`Install`."""
    item = Package(name=name, spec=spec, extras=extras, settles=settles)
    return Install(packages=(item,), again=again, upgrade=upgrade)


@dataclass(frozen=True, slots=True)
class Uninstall:
    """Take packages out of the environment."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Driver:
    """Have an NVIDIA driver of at least ``minimum``; ``commands`` install one where it is known what does."""

    minimum: str
    commands: tuple[Command, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolkit:
    """Have a CUDA toolkit of this release, first on the path."""

    version: str


@dataclass(frozen=True, slots=True)
class Variable:
    """Set an environment variable; ``None`` unsets it. ``of``: the framework that alone reads it."""

    name: str
    value: str | None = None
    of: str = ""


@dataclass(frozen=True, slots=True)
class Python:
    """Take an environment with this minor version of Python."""

    version: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command that is typed as it stands; it changes no fact that a judge can replay."""

    line: str
    where: Where = ""


REBOOT: Final = Command("sudo reboot", "host")


@dataclass(frozen=True, slots=True)
class Service:
    """Restart a service of the system, or start it now and at each boot, by what manages services there."""

    name: str
    start: bool = False
    where: Where = "linux"


@dataclass(frozen=True, slots=True)
class Example:
    """A command with a word in angle brackets for a person to fill in: pages show it, a fix leaves it out."""

    line: str


@dataclass(frozen=True, slots=True)
class Container:
    """Start a container from an image.

    Attributes:
        options: options of the engine, ``--shm-size=8g``.
        image: its name; empty for the image in question.
        command: what the engine does with the image, ``run`` or ``pull``.
        engine: program, ``docker``.
        where: where its options can be typed.
        gpus: whether it is given all NVIDIA GPUs, by the option that the engine has for that.
        group: group of the host that its user joins, as a shell gives its number.
    """

    options: str = ""
    image: str = ""
    command: str = "run"
    engine: str = "docker"
    where: Where = ""
    gpus: bool = False
    group: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """A task of the operating system, which each distribution does by commands of its own (table ``commands``).

    Attributes:
        task: its name, ``driver-hold``.
        branch: branch of the driver, ``550``; empty for the one that is there.
        release: release of the toolkit, ``12-4``.
        major: major version of the compiler.
        option: option of the kernel.
    """

    task: str
    branch: str = ""
    release: str = ""
    major: str = ""
    option: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """Put ``new`` in the place of ``old`` in a file; it changes no fact of a machine.

    Attributes:
        file: its name as given.
        line: line where ``old`` begins, from 1; ``column`` its first character there, from 1.
        column: see ``line``.
        old: text that stands there; empty to insert.
        new: what to write instead.
    """

    file: str
    line: int
    column: int
    old: str
    new: str


Change = (
    Install | Uninstall | Driver | Toolkit | Variable | Python | Command | Service | Example | Container | System | Edit
)


def deed(change: Change) -> str:  # noqa: PLR0911 - one for each kind of change
    """A change in words; empty for one that its command tells."""
    match change:
        case Install(packages=packages, compile=False):
            return Sentence("Install {names}", names=", ".join(package.requirement for package in packages))
        case Install(packages=packages):
            return Sentence("Compile {names} here", names=", ".join(package.requirement for package in packages))
        case Uninstall(names):
            return Sentence("Uninstall {names}", names=", ".join(names))
        case Driver(minimum):
            return Sentence("Install NVIDIA driver {version} or newer", version=minimum)
        case Toolkit(version):
            return Sentence("Put CUDA toolkit {version} first on the path", version=version)
        case Python(version):
            return Sentence("Take an environment with Python {version}", version=version)
        case Variable(name, None):
            return Sentence("Unset {name}", name=name)
        case Variable(name, value):
            return Sentence("Set {name}={value}", name=name, value=value)
    return ""


def applied(machine: Host, changes: Sequence[Change]) -> Host | None:
    """The machine after the changes; ``None`` where one of them changes nothing that facts tell."""
    for change in changes:
        after = _after(machine, change)
        if after is None:
            return None
        machine = after
    return machine if changes else None


def _after(machine: Host, change: Change) -> Host | None:
    """The machine after one change."""
    match change:
        case Install(compile=False, upgrade=False):
            return _installed(machine, change)
        case Uninstall(names):
            gone = {normalise(name) for name in names}
            return _with(machine, **{table: _without(machine, table, gone) for table in ("packages", "builds")})
        case Variable(name, value):
            env = {key: text for key, text in (machine.env or {}).items() if key != name}
            return _with(machine, env={**env, **({name: value} if value is not None else {})})
        case Python(version):
            return _with(machine, python=version, packages={}, builds={})
        case Driver() | Toolkit():
            return _equipped(machine, change)
    return None


def _equipped(machine: Host, change: Driver | Toolkit) -> Host:
    """The machine with a driver or a toolkit."""
    if isinstance(change, Driver):
        return _with(machine, ("driver_cuda",), driver=change.minimum, driver_library=None)
    folders = {**(machine.cuda_toolkits or {}), _TOOLKIT.format(change.version): change.version}
    return _with(machine, cuda_toolkit=change.version, cuda_toolkits=folders)


def _installed(machine: Host, change: Install) -> Host:
    """The machine with packages replaced; what a build said of itself goes with it."""
    names = {normalise(package.name) for package in change.packages}
    packages, builds = _without(machine, "packages", names), _without(machine, "builds", names)
    for package in change.packages:
        packages[package.name] = package.version or _witness(package.spec)
        if package.runtime:
            builds[package.name] = Build(runtime=package.runtime)
    values: dict[str, Any] = {"packages": packages, "builds": builds}
    if machine.duplicate_packages:
        values["duplicate_packages"] = _without(machine, "duplicate_packages", names)
    settled = {name for package in change.packages for name in package.settles}
    if settled and machine.libraries:
        left = tuple(one for one in machine.libraries if one.path or one.version or one.name.strip(".") not in settled)
        values["libraries"] = left
    return _with(machine, **values)


def _witness(spec: str) -> str:
    """A version that a specifier admits: its lower bound, or one below its upper bound; ``0`` where it has none."""
    if found := re.search(r"(?:>=|==|~=)\s*([\d.]+)", spec):
        return found[1].rstrip(".")
    if found := re.search(r"<=\s*([\d.]+)", spec):
        return found[1]
    if found := re.search(r"<\s*(\d+)((?:\.\d+)*)", spec):
        minor = found[2].lstrip(".").partition(".")[0]
        return f"{found[1]}.{int(minor) - 1}.99" if minor and int(minor) else f"{int(found[1]) - 1}.99"
    return "0"


def _without(machine: Host, table: str, names: set[str]) -> dict[str, Any]:
    """A table of the machine without some distributions."""
    return {name: value for name, value in (machine.value(table) or {}).items() if normalise(name) not in names}


def _with(machine: Host, forget: tuple[str, ...] = (), /, **values: Any) -> Host:
    """The machine with other values for some facts, and without those that are to be forgotten."""
    kept = {name: one for name, one in machine.readings.items() if name not in forget}
    told = {name: Fact(value, "after the fix") for name, value in values.items() if name not in forget}
    return Host({**kept, **told})
