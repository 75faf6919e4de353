"""The target as the search sees it: constraints with a bit each, devices, drivers, place, and what was assumed.

A soft constraint is something that the person may change: a wish, an option, a fact of the host. Each has one bit; a
set of violated constraints is one integer. What the matrix says is background; no bit stands for it. How hosts and
wishes become a situation stands in :mod:`compat.resolve.read_situation`.

Violations are alternatives: machine code that only a newer driver can compile breaks with *this driver or this GPU*;
to drop either one is enough. Only the smallest alternatives are kept; a larger one says nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.facts import Host
    from compat.resolve.wish import Wish


# Bit sets, any one of which dropped makes the thing fit; ``(0,)`` fits as it is, ``()`` never does.
Alternatives = tuple[int, ...]

# Violations, level of the kernels, strain on the drivers.
Felt = tuple[Alternatives, int, int]

FITS: Final[Alternatives] = (0,)


def either(*choices: Iterable[int]) -> Alternatives:
    """The smallest bit sets among several alternatives."""
    found = sorted({bits for choice in choices for bits in choice}, key=lambda bits: (bits.bit_count(), bits))
    kept: list[int] = []
    for bits in found:
        if not any(small & bits == small for small in kept):
            kept.append(bits)
    return tuple(kept)


def both(left: Alternatives, right: Alternatives) -> Alternatives:
    """What must be dropped so that two things hold."""
    if left == FITS:
        return right
    if right == FITS:
        return left
    return either(one | other for one in left for other in right)


DEFAULT_ARCH: Final = "x86_64"


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
class Device:
    """One GPU of the target, with what the matrix knows of the product; ``machine`` numbers the host that has it.

    ``arch`` is the machine architecture where the product comes with its processor (Grace, DGX Spark, Jetson);
    ``part`` says in words that a program sees only a part of it.
    """

    name: str
    vendor: str
    target: str
    brand: str = ""
    segment: str = ""
    machine: int = 0
    bit: int = 0
    idle: str = ""
    arch: str = ""
    part: str = ""

    @property
    def label(self) -> str:
        """How messages name it: ``NVIDIA A100 (sm_80)``."""
        return (
            f"{self.name} ({self.target})"
            if self.name and self.target and self.name != self.target
            else self.name or self.target
        )


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine: its NVIDIA ``driver`` (empty if not known) and the ``cuda`` it reports, its bit, its GPUs' vendors.

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
    cuda: str = ""

    @property
    def version(self) -> str:
        """The NVIDIA driver as it is compared: that of a bare branch (``570``) is above all releases of the branch."""
        return ".".join(map(str, self.number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Everything a plan must fit, one bit per soft constraint; a bit of 0 means the target says nothing about it.

    Attributes:
        wishes: requirements, with the bit of each.
        devices: GPUs to be served; several of one machine that are alike are one, with one bit: what speaks against one
            speaks against all.
        fleet: the bit of each GPU to be served, in the order of the hosts.
        idle: GPUs that need not be served, with the reason.
        places: platform tags a plan may be for, with the bits that leaving the target's own place costs.
        nothing: bit of "there is no GPU", which only a CPU build satisfies.
        musl_bit: bit of "the C library is musl"; 0 where it is another, or not known.
        flags: processor features, or ``None`` if not known.
        runtime: runtime asked for by option, ``cuda11.8``.
        unknowns: why no verdict is possible at all.
        wsl: whether it is Windows' subsystem for Linux: a Linux with the NVIDIA driver of Windows, and its numbers.
        bare: whether nothing is said of GPUs and drivers, so that any may be there.
    """

    wishes: tuple[tuple[Wish, int], ...] = ()
    softs: tuple[Soft, ...] = ()
    devices: tuple[Device, ...] = ()
    fleet: tuple[int, ...] = ()
    idle: tuple[Device, ...] = ()
    machines: tuple[Machine, ...] = ()
    places: tuple[tuple[str, int], ...] = ((f"linux_{DEFAULT_ARCH}", 0),)
    python: str = ""
    python_bit: int = 0
    os: str = ""
    os_bit: int = 0
    glibc: str = ""
    glibc_bit: int = 0
    musl_bit: int = 0
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


def may_share(machines: Iterable[Situation]) -> bool:
    """Whether one plan can be for all these machines: builds and a Python are for one platform and one minor version.

    Machines that do not say which Python they have take the plan's. One driver floor speaks for all machines, so that
    WSL, whose drivers have the numbers of Windows, is apart from other Linux.
    """
    machines = tuple(machines)
    places = {(machine.place, machine.wsl) for machine in machines}
    return len(places) == 1 and len({machine.python for machine in machines if machine.python}) <= 1


class Constraints:
    """Soft constraints so far, what had to be assumed (``conditions``), and why nothing can be said (``unknowns``)."""

    __slots__ = ("conditions", "softs", "unknowns")

    def __init__(self) -> None:
        self.softs: list[Soft] = []
        self.conditions: list[str] = []
        self.unknowns: list[str] = []

    def add(
        self, kind: Literal["wish", "host", "option"], subject: str, value: str, text: str, source: str = ""
    ) -> int:
        """A new soft constraint; its bit."""
        bit = 1 << len(self.softs)
        self.softs.append(Soft(bit, kind, subject, value, text, source))
        return bit

    def fact(self, subject: str, value: str, text: str, host: Host, name: str) -> int:
        """A soft constraint from the fact ``name`` of a host, which an option may have stated."""
        return self.add("option" if host.is_option(name) else "host", subject, value, text, host.source(name))
