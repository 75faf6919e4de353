"""The target as the search sees it: soft constraints with a bit each, devices, drivers, place, and what was assumed.

A soft constraint is something the person may change: a wish, an option, a fact of the host. Each has one bit; a set
of violated constraints is an integer, and what the matrix says is background that no bit stands for.

What binds: wishes, options, GPUs, drivers, architecture, and of a host's own user space its Python and C library where
the caller leaves them in (see :func:`compat.resolve.target.for_image`). What does not bind: the system a host runs,
since an image brings its own, and a CUDA or ROCm toolkit that merely lies on the disk. Where nothing is known, the most
common case is assumed and the assumption becomes a condition of the answer.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final, Literal

from compat import versions
from compat.errors import InputError
from compat.facts import Fact, Unknown
from compat.lazy import dataclass
from compat.matrix.drivers import FORWARD_SEGMENTS
from compat.resolve.devices import Device, read_devices, typed_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.resolve.knowledge import Knowledge
    from compat.resolve.wishes import Wish

# Stands for the newest release of a driver branch that is named by its number alone (``525``).
ENDLESS: Final = 10**9

DEFAULT_ARCH: Final = "x86_64"
_MACHINES: Final = {"arm64": "aarch64", "amd64": "x86_64"}
_SYSTEMS: Final = {"windows": "windows", "darwin": "darwin"}


@dataclass(frozen=True, slots=True)
class Soft:
    """A constraint that may be dropped: its ``bit``, ``kind``, what it is about, its value, wording and source."""

    bit: int
    kind: Literal["wish", "host", "option"]
    subject: str
    value: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine: its NVIDIA ``driver`` (empty if not known), the bit of that fact, and its GPUs' vendors.

    ``vendors`` is what the machine has, whatever constraint is dropped: a driver alone speaks for a GPU of its maker.
    ``amdgpu`` is AMD's kernel driver where it has a version of its own; the kernel's inbox driver has none.
    ``l4t`` is the release of a Jetson's system, which brings its driver and its CUDA. ``forward`` is whether NVIDIA
    supports forward compatibility on the machine: on Linux itself, on data-center GPUs alone; this too is what the
    machine has, whatever constraint is dropped.
    """

    driver: str = ""
    number: tuple[int, ...] = ()
    bit: int = 0
    vendors: frozenset[str] = frozenset()
    amdgpu: tuple[int, ...] = ()
    amdgpu_bit: int = 0
    l4t: str = ""
    l4t_bit: int = 0
    forward: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything a plan must fit, one bit per soft constraint; a bit of 0 means the target says nothing about it.

    Attributes:
        wishes: requirements, with the bit of each.
        places: platform tags a plan may be for, with the bits that leaving the target's own place costs.
        nothing: bit of "there is no GPU", which only a CPU build satisfies.
        flags: processor features, or ``None`` if not known.
        runtime: runtime asked for by option, ``cuda11.8``.
        unknowns: why no verdict is possible at all.
        wsl: whether it is Windows' subsystem for Linux: a Linux with the NVIDIA driver of Windows, and its numbers.
        bare: whether nothing is said of GPUs and drivers, so that any may be there.
    """

    wishes: tuple[tuple[Wish, int], ...] = ()
    softs: tuple[Soft, ...] = ()
    devices: tuple[Device, ...] = ()
    idle: tuple[Device, ...] = ()
    machines: tuple[Machine, ...] = ()
    places: tuple[tuple[str, int], ...] = ((f"linux_{DEFAULT_ARCH}", 0),)
    python: str = ""
    python_bit: int = 0
    os: str = ""
    os_bit: int = 0
    glibc: str = ""
    glibc_bit: int = 0
    flags: frozenset[str] | None = None
    flags_bit: int = 0
    runtime: str = ""
    runtime_bit: int = 0
    nothing: int = 0
    cpu: bool = False
    conditions: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    wsl: bool = False
    bare: bool = False

    @property
    def place(self) -> str:
        """The target's own place, ``linux_x86_64``."""
        return self.places[0][0]

    @property
    def vendors(self) -> frozenset[str]:
        """Vendors of the devices that a plan must serve."""
        return frozenset(device.vendor for device in self.devices)


@dataclass(slots=True)
class _Builder:
    softs: list[Soft] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    unknowns: list[str] = field(default_factory=list)

    def add(
        self, kind: Literal["wish", "host", "option"], subject: str, value: str, text: str, source: str = ""
    ) -> int:
        """A new soft constraint; its bit."""
        bit = 1 << len(self.softs)
        self.softs.append(Soft(bit, kind, subject, value, text, source))
        return bit

    def fact(self, subject: str, value: str, text: str, source: str) -> int:
        """A soft constraint from a fact of the host or from an option, told apart by where it was read."""
        return self.add("option" if source.startswith("--") else "host", subject, value, text, source)


def situation(wishes: Sequence[Wish], hosts: Sequence[Host], known: Knowledge, *, cpu: bool = False) -> Situation:
    """Weigh what is asked and what is known of one or more machines that one plan must serve.

    Raises:
        InputError: if a fact that decides cannot be read, such as a driver that is not a number.
    """
    builder = _Builder()
    numbered = tuple((wish, builder.add("wish", wish.package, wish.spec, wish.text)) for wish in wishes)
    first = hosts[0]
    runtime, runtime_bit = _runtime(first, builder)
    python, python_bit = _text(_telling(hosts, "python"), "python", "Python {}", builder, versions.minor)
    os, os_bit = _os(first, builder)
    machines, devices, idle = _machines(hosts, known, builder, cpu)
    glibc, glibc_bit = _lowest(hosts, "glibc", "glibc {}", builder)
    flags, flags_bit = _flags(hosts, builder)
    places = _places(hosts, devices, builder)
    nothing = 0 if cpu or devices else _nothing(hosts, builder)
    return Situation(
        wishes=numbered,
        softs=tuple(builder.softs),
        devices=devices,
        idle=idle,
        machines=machines,
        places=places,
        python=python,
        python_bit=python_bit,
        os=os,
        os_bit=os_bit,
        glibc=glibc,
        glibc_bit=glibc_bit,
        flags=flags,
        flags_bit=flags_bit,
        runtime=runtime,
        runtime_bit=runtime_bit,
        nothing=nothing,
        cpu=cpu,
        conditions=tuple(dict.fromkeys(builder.conditions)),
        unknowns=tuple(dict.fromkeys(builder.unknowns)),
        wsl=_is_wsl(first),
        bare=not any(isinstance(host.reading(name), Fact) for host in hosts for name in ("gpus", "driver", "amdgpu")),
    )


def may_share(one: Situation, other: Situation) -> bool:
    """Whether one plan can be for two machines at all: builds and a Python are for one platform and one minor version.

    Machines that do not say which Python they have take the plan's. One driver floor speaks for all machines, so that
    WSL, whose drivers have the numbers of Windows, is apart from other Linux.
    """
    pythons = one.python == other.python or not (one.python and other.python)
    return one.place == other.place and one.wsl == other.wsl and pythons


def _is_wsl(host: Host) -> bool:
    """Whether a host is Windows' subsystem for Linux in the version that has GPUs."""
    return bool(host["platform"] == "wsl2")


def _telling(hosts: Sequence[Host], name: str) -> Host:
    """The first machine that states a fact; the first of all where none does."""
    return next((host for host in hosts if host[name]), hosts[0])


def driver_number(text: str) -> tuple[int, ...]:
    """A driver as integers; a bare branch (``525``) counts as the newest release of that branch.

    Raises:
        InputError: if it is not a dotted number.
    """
    try:
        number = versions.release(text)
    except ValueError:
        raise InputError(f"driver {text[:40]!r}", where="driver", expected="a version such as 535.54.03") from None
    return (*number, ENDLESS) if len(number) == 1 else number


def _runtime(host: Host, builder: _Builder) -> tuple[str, int]:
    """The runtime asked for by ``--cuda`` or ``--rocm``; a toolkit that merely lies on the host asks for nothing."""
    for fact, option, kind, title in (("cuda_toolkit", "--cuda", "cuda", "CUDA"), ("rocm", "--rocm", "rocm", "ROCm")):
        if host[fact] and host.source(fact) == option:
            value = versions.minor(host[fact]) if "." in host[fact] else host[fact]
            return f"{kind}{value}", builder.fact("runtime", f"{kind}{value}", f"{title} {value}", option)
    return "", 0


def _text(host: Host, name: str, wording: str, builder: _Builder, spell: object = None) -> tuple[str, int]:
    """A fact that binds as it is given; its value and its bit, or nothing."""
    if not host[name]:
        return "", 0
    value = str(host[name])
    spelt = _minor(value) if spell else value
    return spelt, builder.fact(name, spelt, wording.format(spelt), host.source(name))


def _minor(value: str) -> str:
    """A Python as minor version, free-threaded or not."""
    threads = "t" if value.endswith("t") else ""
    return versions.minor(_dotted("python", value, "3.11").removesuffix("t")) + threads


def _dotted(name: str, value: str, example: str) -> str:
    """A fact that must be a version, as it is; host files are written by hand.

    Raises:
        InputError: naming the fact, if it is something else.
    """
    try:
        versions.release(value)
    except ValueError:
        raise InputError(f"{name} {value[:40]!r}", where=name, expected=f"a version such as {example}") from None
    return value


def _os(host: Host, builder: _Builder) -> tuple[str, int]:
    """The system of the image, where an option asks for one: an image brings its own, whatever the host runs."""
    if not host["os"] or not host.source("os").startswith("--"):
        return "", 0
    if host["platform"] in _SYSTEMS:
        if any(letter.isdigit() for letter in host["os"]):
            builder.conditions.append(f"the matrix tells no releases of {host['os'].rstrip('0123456789. ')} apart")
        return "", 0
    return host["os"], builder.fact("os", host["os"], f"system {host['os']}", host.source("os"))


def _lowest(hosts: Sequence[Host], name: str, wording: str, builder: _Builder) -> tuple[str, int]:
    """The lowest value of a fact among several machines, which all of them must reach."""
    given = [host for host in hosts if host[name]]
    if not given:
        return "", 0
    host = min(given, key=lambda host: versions.release(_dotted(name, host[name], "2.35")))
    return host[name], builder.fact(name, host[name], wording.format(host[name]), host.source(name))


def _flags(hosts: Sequence[Host], builder: _Builder) -> tuple[frozenset[str] | None, int]:
    """Processor features that all machines have, and the bit of that fact."""
    given = [host for host in hosts if host["cpu_flags"]]
    if not given:
        return None, 0
    flags = frozenset.intersection(*(frozenset(host["cpu_flags"]) for host in given))
    name = given[0]["cpu"] or "this processor"
    return flags, builder.fact("cpu_flags", name, f"features of {name}", given[0].source("cpu_flags"))


def _places(hosts: Sequence[Host], devices: Sequence[Device], builder: _Builder) -> tuple[tuple[str, int], ...]:
    """The platform tag of the target, then those that a change of machine would open.

    Leaving the machine for another architecture, or its platform for Linux, costs the bits of those facts; an unstated
    architecture is assumed and cannot be left.
    """
    host, stated = _telling(hosts, "arch"), _telling(hosts, "platform")
    platform = _SYSTEMS.get(stated["platform"] or "", "linux")
    implied = next((device.arch for device in devices if device.arch), "")
    usual = "aarch64" if platform == "darwin" else DEFAULT_ARCH  # Apple builds no other since 2020
    arch = _MACHINES.get(host["arch"] or "", host["arch"] or implied or usual)
    if not host["arch"] and not implied:
        said = "arm64" if platform == "darwin" else usual  # Apple's word for it
        builder.conditions.append(f"the machine's architecture is assumed to be {said}")
    arch_bit = builder.fact("arch", arch, f"architecture {arch}", host.source("arch")) if host["arch"] else 0
    platform_bit = 0
    if _is_wsl(stated) and stated.source("platform").startswith("--"):
        builder.fact("platform", "wsl2", "platform wsl2", stated.source("platform"))  # only ever repeated, never broken
    elif platform != "linux":
        platform_bit = builder.fact("platform", platform, f"platform {platform}", stated.source("platform"))
    places = {_tag(platform, arch): 0}
    for other, cost in (
        (arch, platform_bit),
        *(((_other(arch)), bits) for bits in {arch_bit, arch_bit | platform_bit} if arch_bit),
    ):
        if cost:
            places.setdefault(_tag("linux" if cost & platform_bit else platform, other), cost)
    return tuple(places.items())


def _other(arch: str) -> str:
    """The other architecture that builds are published for."""
    return "aarch64" if arch == DEFAULT_ARCH else DEFAULT_ARCH


def _tag(platform: str, arch: str) -> str:
    """The wheel platform of a system and machine, as the matrix spells it."""
    if platform == "windows":
        return "win_arm64" if arch == "aarch64" else "win_amd64"
    if platform == "darwin":
        return "macosx_arm64" if arch == "aarch64" else "macosx_x86_64"
    return f"linux_{arch}"


def _machines(
    hosts: Sequence[Host], known: Knowledge, builder: _Builder, cpu: bool
) -> tuple[tuple[Machine, ...], tuple[Device, ...], tuple[Device, ...]]:
    """Drivers and GPUs of all machines; GPUs get one bit each, a driver one per machine."""
    machines: list[Machine] = []
    devices: list[Device] = []
    idle: list[Device] = []
    for number, host in enumerate(hosts):
        machine = _machine(host, builder, cpu)
        if cpu:
            machines.append(machine)
            continue
        found = read_devices(host, known, number)
        vendors = frozenset(device.vendor for device in found.used)
        machines.append(replace(machine, vendors=vendors, forward=_forward(host, found.used)))
        builder.conditions.extend(found.conditions)
        builder.unknowns.extend(found.unknowns)
        idle.extend(found.idle)
        for device in found.used:
            text = f"GPU {device.label}"
            bit = builder.fact(f"gpu{len(devices)}", typed_name(device, known), text, host.source("gpus"))
            devices.append(device.with_bit(bit))
    return tuple(machines), tuple(devices), tuple(idle)


def _forward(host: Host, used: Sequence[Device]) -> bool:
    """Whether a cuda-compat package may stand in for a newer driver: every NVIDIA GPU is of the class, on Linux itself.

    WSL has Windows' driver, whose libcuda comes from outside. Source: CUDA Compatibility, "Forward Compatibility".
    """
    segments = {device.segment for device in used if device.vendor == "nvidia"}
    return bool(segments) and segments <= FORWARD_SEGMENTS and (host["platform"] or "linux") == "linux"


def _machine(host: Host, builder: _Builder, cpu: bool) -> Machine:
    """A machine's drivers; a CPU plan needs none, whatever is there."""
    if cpu:
        return Machine()
    text, machine = host["driver"], Machine()
    if text:
        number = driver_number(text)
        if number[-1] == ENDLESS:
            builder.conditions.append(f"driver {text} is read as the newest release of branch {text}")
        side = " of Windows" if _is_wsl(host) else ""
        bit = builder.fact("driver", text, f"NVIDIA driver {text}{side}", host.source("driver"))
        machine = Machine(text, number, bit)
    text = host["amdgpu"]
    if text and versions.is_release(text):
        bit = builder.fact("amdgpu", text, f"AMD driver {text}", host.source("amdgpu"))
        machine = replace(machine, amdgpu=versions.release(text), amdgpu_bit=bit)
    if l4t := host["l4t"]:
        bit = builder.fact("l4t", l4t, f"L4T {l4t}", host.source("l4t"))
        machine = replace(machine, l4t=l4t, l4t_bit=bit)
    return machine


def _nothing(hosts: Sequence[Host], builder: _Builder) -> int:
    """The bit of "no GPU" where that is known; where nothing is known a GPU is assumed, and said to be.

    An empty list of GPUs is a fact and excludes GPU builds; a list that could not be read is none, and must not: the
    commonest reason is a broken driver on a machine that has a GPU.
    """
    host = hosts[0]
    reading = host.reading("gpus")
    if isinstance(reading, Fact):
        names = ", ".join(gpu.name or gpu.pci or gpu.vendor for gpu in reading.value or ())
        seen = f"no GPU that a GPU build can use (only {names})" if names else "no GPU"
        return builder.fact("no-gpu", "none", seen, host.source("gpus"))
    assert isinstance(reading, Unknown)
    why = "" if reading.why == "not given" else f" (its GPUs are unknown: {reading.why})"
    builder.conditions.append(f"the target has a GPU for which the plan carries native code{why}")
    return 0
