"""Hosts and wishes become a situation: each thing that binds is a soft constraint with a bit of its own.

What binds: wishes, options, GPUs, drivers, architecture; of a host's own user space its Python and C library, if the
caller leaves them in (see :func:`compat.resolve.target.for_image`). What does not bind: the system that a host runs, as
an image brings its own, and a CUDA or ROCm toolkit that merely lies on the disk. Where nothing is known, the most
common case is assumed, and the assumption becomes a condition of the answer.

Places are platform tags (``linux_x86_64``, ``win_amd64``, ``macosx_arm64``), each with what it costs to leave for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.errors import InputError
from compat.facts import Fact, Host
from compat.markers import place_of
from compat.resolve.devices import is_wsl, no_gpu, read_machines
from compat.resolve.situation import DEFAULT_ARCH, Constraints, Device, Situation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.resolve.knowledge import Knowledge
    from compat.resolve.wish import Wish


_MACHINES: Final = {"arm64": "aarch64", "amd64": "x86_64"}

# Platforms of hosts that are no Linux; WSL is one.
FOREIGN: Final = frozenset({"windows", "darwin"})


def read_places(hosts: Sequence[Host], devices: Sequence[Device], into: Constraints) -> tuple[tuple[str, int], ...]:
    """The platform tag of the target, then those that a change of machine would open.

    Leaving the machine for another architecture, or its platform for Linux, costs the bits of those facts; an unstated
    architecture is assumed and cannot be left, nor that of a Jetson.
    """
    host, stated = telling(hosts, "arch"), telling(hosts, "platform")
    platform = stated.platform if stated.platform in FOREIGN else "linux"
    implied = next((device.arch for device in devices if device.arch), "")
    usual = "aarch64" if platform == "darwin" else DEFAULT_ARCH  # Apple builds no other since 2020
    arch = _MACHINES.get(host.arch or "", host.arch or implied or usual)
    if not host.arch and not implied:
        said = "arm64" if platform == "darwin" else usual  # Apple's word for it
        into.conditions.append(f"the machine's architecture is assumed to be {said}")
    is_jetson = any(device.segment == "jetson" and device.arch == arch for device in devices)
    arch_bit = into.fact("arch", arch, f"architecture {arch}", host, "arch") if host.arch and not is_jetson else 0
    platform_bit = 0
    if is_wsl(stated) and stated.is_option("platform"):
        into.fact("platform", "wsl2", "platform wsl2", stated, "platform")  # only ever repeated, never broken
    elif platform != "linux":
        platform_bit = into.fact("platform", platform, f"platform {platform}", stated, "platform")
    tags = {place_of(platform, arch): 0}
    other_arch = "aarch64" if arch == DEFAULT_ARCH else DEFAULT_ARCH
    for other, cost in (
        (arch, platform_bit),
        *((other_arch, bits) for bits in {arch_bit, arch_bit | platform_bit} if arch_bit),
    ):
        if cost:
            tags.setdefault(place_of("linux" if cost & platform_bit else platform, other), cost)
    return tuple(tags.items())


def telling(hosts: Sequence[Host], name: str) -> Host:
    """The first machine that states a fact; the first of all where none does."""
    return next((host for host in hosts if host.value(name)), hosts[0])


def situation(wishes: Sequence[Wish], hosts: Sequence[Host], known: Knowledge, *, cpu: bool = False) -> Situation:
    """Weigh what is asked and what is known of one or more machines that one plan must serve.

    Raises:
        InputError: if a fact that decides cannot be read, such as a driver that is not a number.
    """
    into = Constraints()
    numbered = tuple((wish, into.add("wish", wish.package, wish.spec, wish.text)) for wish in wishes)
    first = hosts[0]
    runtime, runtime_bit = _runtime(first, into)
    python, python_bit = _python(telling(hosts, "python"), into)
    os, os_bit = _os(first, into)
    machines, devices, fleet, idle = read_machines(hosts, known, into, cpu)
    glibc, glibc_bit = _glibc(hosts, into)
    musl_bit = _musl(hosts, into)
    flags, flags_bit = _flags(hosts, into)
    places = read_places(hosts, devices, into)
    nothing = 0 if cpu or devices else no_gpu(hosts, into)
    return Situation(
        wishes=numbered,
        softs=tuple(into.softs),
        devices=devices,
        fleet=fleet,
        idle=idle,
        machines=machines,
        places=places,
        python=python,
        python_bit=python_bit,
        os=os,
        os_bit=os_bit,
        glibc=glibc,
        glibc_bit=glibc_bit,
        musl_bit=musl_bit,
        flags=flags,
        flags_bit=flags_bit,
        runtime=runtime,
        runtime_bit=runtime_bit,
        nothing=nothing,
        cpu=cpu,
        conditions=tuple(dict.fromkeys(into.conditions)),
        unknowns=tuple(dict.fromkeys(into.unknowns)),
        wsl=is_wsl(first),
        bare=not any(isinstance(host.reading(name), Fact) for host in hosts for name in ("gpus", "driver", "amdgpu")),
    )


def _runtime(host: Host, into: Constraints) -> tuple[str, int]:
    """The runtime asked for by ``--cuda`` or ``--rocm``; a toolkit that merely lies on the host asks for nothing."""
    for fact, kind, title in (("cuda_toolkit", "cuda", "CUDA"), ("rocm", "rocm", "ROCm")):
        if host.value(fact) and host.is_option(fact):
            value = versions.minor(host.value(fact)) if "." in host.value(fact) else host.value(fact)
            return f"{kind}{value}", into.fact("runtime", f"{kind}{value}", f"{title} {value}", host, fact)
    return "", 0


def _python(host: Host, into: Constraints) -> tuple[str, int]:
    """The Python that a plan must be for, as a minor version, free-threaded (``3.13t``) or not."""
    if not host.python:
        return "", 0
    stated = str(host.python)
    threads = "t" if stated.endswith("t") else ""
    minor = versions.minor(_dotted("python", stated, "3.11").removesuffix("t")) + threads
    return minor, into.fact("python", minor, f"Python {minor}", host, "python")


def _dotted(name: str, value: str, example: str) -> str:
    """A fact that must be a version, as it is; host files are written by hand."""
    try:
        versions.release(value)
    except ValueError:
        raise InputError(f"{name} {value[:40]!r}", where=name, expected=f"a version such as {example}") from None
    return value


def _os(host: Host, into: Constraints) -> tuple[str, int]:
    """The system of the image, where an option asks for one: an image brings its own, whatever the host runs."""
    if not host.os or not host.is_option("os"):
        return "", 0
    if host.platform in FOREIGN:
        if any(letter.isdigit() for letter in host.os):
            into.conditions.append(f"the matrix tells no releases of {host.os.rstrip('0123456789. ')} apart")
        return "", 0
    return host.os, into.fact("os", host.os, f"system {host.os}", host, "os")


def _glibc(hosts: Sequence[Host], into: Constraints) -> tuple[str, int]:
    """The lowest glibc among several machines, which all of them must reach."""
    given = [(versions.release(_dotted("glibc", host.glibc, "2.35")), host.glibc, host) for host in hosts if host.glibc]
    if not given:
        return "", 0
    _, glibc, host = min(given, key=lambda item: item[0])
    return glibc, into.fact("glibc", glibc, f"glibc {glibc}", host, "glibc")


def _musl(hosts: Sequence[Host], into: Constraints) -> int:
    """The bit of the fact that the C library of some machine is musl; 0 where none is known to be."""
    host = next((host for host in hosts if host.libc == "musl"), None)
    return into.fact("libc", "musl", "C library musl", host, "libc") if host else 0


def _flags(hosts: Sequence[Host], into: Constraints) -> tuple[frozenset[str] | None, int]:
    """Processor features that all machines have, and the bit of that fact."""
    given = [host for host in hosts if host.cpu_flags]
    if not given:
        return None, 0
    flags = frozenset.intersection(*(frozenset(host.cpu_flags or ()) for host in given))
    name = given[0].cpu or "this processor"
    return flags, into.fact("cpu_flags", name, f"features of {name}", given[0], "cpu_flags")
