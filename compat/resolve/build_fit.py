"""One build against the target: which soft constraints it violates, and how well it runs where it runs.

What it violates is told as :mod:`compat.resolve.situation`: this driver *or* this GPU.

A build is weighed alone: whether two builds go together is another module's question. The verdict depends only on the
properties in its *kit* (runtime, kernels, driver and cuDNN, C library, processor features), so that the hundreds of
builds of a framework need a few dozen verdicts.

Sources of the rules: CUDA C++ Programming Guide for machine code and PTX (see :mod:`compat.targets`); CUDA
Compatibility for floors, minor-version compatibility and its limit; the matrix rows for every number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.joints import driver, kernels, libc, processor
from compat.joints.verdict import Clash, Fits, Unknown, Verdict, clash_of
from compat.matrix.drivers import forward_package
from compat.resolve.situation import FITS, Alternatives, Device, Felt, Machine, Situation, both, either

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.joints.driver import Floor
    from compat.resolve.knowledge import Knowledge
    from compat.resolve.options import Option

# Levels of kernels: native code, PTX, not known, none.
PTX, UNKNOWN, NEVER = 1, 2, 3
# The strain of a build that runs on its driver only by forward compatibility.
FORWARD: Final = 2
# Where NVIDIA's base images hold the cuda-compat package; those for arm64 do not (Dockerfiles of nvidia/cuda).
FORWARD_PLACE: Final = "linux_x86_64"


@dataclass(slots=True, eq=False)  # not frozen: thousands are made per answer, and freezing triples the price
class Weighed:
    """A build with its verdict.

    ``level`` tells of its kernels (0 native, 1 PTX, 2 unknown), ``strain`` is 0 where the drivers are comfortable, 1 by
    minor-version compatibility, and :data:`FORWARD` where a newer user-space driver has to come with the image.
    """

    option: Option
    violations: Alternatives
    level: int
    strain: int


def _models(devices: tuple[Device, ...]) -> tuple[Device, ...]:
    """GPUs as far as a verdict rests on them: those of one machine, vendor and target are one, with all their bits.

    What speaks against one of them speaks against all, so that a machine of a thousand names is judged at once.
    """
    if len(devices) < 2:
        return devices
    bits: dict[tuple[str, str, int], int] = {}
    for one in devices:
        key = (one.vendor, one.target, one.machine)
        bits[key] = bits.get(key, 0) | one.bit
    return tuple(
        Device(name="", vendor=vendor, target=target, machine=machine, bit=bit)
        for (vendor, target, machine), bit in bits.items()
    )


def level_of(found: Verdict) -> int:
    """The level of kernels that a joint's verdict stands for."""
    if isinstance(found, Fits):
        return PTX if found == kernels.PTX else 0
    return NEVER if clash_of(found) else UNKNOWN


class Scale:
    """Weighs the builds of one situation; verdicts that many builds share are computed once."""

    def __init__(
        self, target: Situation, known: Knowledge, anchors: Mapping[str, int], *, certain: bool = False
    ) -> None:
        self._target, self._matrix, self.anchors, self._certain = target, known.matrix, anchors, certain
        self._models = _models(target.devices)
        # targets equal in all of this share their verdicts: a question without a plan is solved some ten times
        system = (target.glibc, target.glibc_bit, target.musl_bit, target.flags, target.flags_bit)
        asked = (target.machines, target.nothing, target.wsl, target.runtime, target.runtime_bit)
        self._verdicts = known.verdicts((self._models, *system, *asked, certain))

    def verdict(self, option: Option, place: str, *, forward: bool = False) -> Felt:
        """What a build violates of the target, the level of its kernels, and the strain on drivers; one per kit.

        With ``forward`` the image brings a newer user-space driver; then only that one's own limits count.
        """
        key = (option.kit, place, forward)
        if key not in self._verdicts:
            violations, level, strain = self._device_part(option, place, forward=forward)
            self._verdicts[key] = (both(violations, (self._machine_bits(option, place),)), level, strain)
        return self._verdicts[key]

    def verdicts(self, option: Option, place: str) -> Iterator[Felt]:
        """The verdict on a build as the host is, and, where its driver falls short and it may, with cuda-compat."""
        plain = self.verdict(option, place)
        yield plain
        if plain[0] != FITS and self.may_forward and option.kind == "cuda" and place == FORWARD_PLACE:
            forward = self.verdict(option, place, forward=True)
            if forward[0] != plain[0]:
                yield forward

    def served(self, option: Option, place: str) -> tuple[int, int] | None:
        """Level of the kernels and strain of a build that violates nothing, by cuda-compat if not without; or None."""
        found = (felt[1:] for felt in self.verdicts(option, place) if felt[0] == FITS)
        return next(found, None)

    @cached_property
    def may_forward(self) -> bool:
        """Whether some machine's driver is known and may have a newer user-space driver beside it."""
        return any(machine.number and machine.forward for machine in self._target.machines)

    def weigh(self, option: Option, place: str, wish_bits: int) -> Iterator[Weighed]:
        """The verdicts on one build at a place; ``wish_bits`` are those of its own wishes that it does not meet."""
        for violations, level, strain in self.verdicts(option, place):
            yield Weighed(option, both(violations, (wish_bits,)), level, strain)

    def _machine_bits(self, option: Option, place: str) -> int:
        """Facts of the machine that a build violates: C library, processor, runtime asked for.

        These are conjunctive: each fact that a build breaks must be dropped, so that one set of bits tells them all.
        """
        target, build = self._target, option.build
        bits = 0
        if place.startswith("linux") and clash_of(libc.verdict(build, target.glibc)):
            bits |= target.glibc_bit
        if target.musl_bit and place.startswith("linux") and clash_of(libc.verdict(build, "", is_musl=True)):
            bits |= target.musl_bit
        if build.cpu and clash_of(processor.verdict(build, target.flags)):
            bits |= target.flags_bit
        if target.runtime and option.vendor and not self._is_runtime(option):
            bits |= target.runtime_bit
        return bits

    def _is_runtime(self, option: Option) -> bool:
        """Whether a build's runtime is the one that an option asks for; ``rocm6.2`` takes in 6.2.4."""
        wanted = self._target.runtime
        return option.runtime == wanted or (
            option.kind == wanted.rstrip("0123456789.") and option.number.startswith(f"{wanted[len(option.kind) :]}.")
        )

    def _device_part(self, option: Option, place: str, *, forward: bool) -> Felt:
        """Violations by devices and drivers, the weakest kernel level, and the strain on drivers.

        Every device and every machine must be satisfied, so that their alternatives are combined; the level is that
        of the device that is served worst.
        """
        target = self._target
        if option.vendor in {"", "cpu"}:
            unfit = (one.bit for one in self._models if isinstance(self.runs(option, one), Clash))
            return (sum(unfit),), 0, 0
        violations: Alternatives = (target.nothing,)
        level = 0
        for device in self._models:
            one, how = self._device(option, device, place, forward=forward)
            violations, level = both(violations, one), max(level, how)
        strain = 0
        for machine in target.machines:
            one, tight = self._driver(option, machine, place, forward=forward)
            violations, strain = both(violations, one), max(strain, tight)
        return violations, level, strain

    def _device(self, option: Option, device: Device, place: str, *, forward: bool) -> tuple[Alternatives, int]:
        """How one device runs a build's kernels, and whether its driver lets it."""
        level = level_of(self.runs(option, device))
        if level == NEVER:
            return (device.bit,), NEVER
        machine = self._target.machines[device.machine]
        by_driver = level == PTX and device.vendor == "nvidia" and machine.number and not forward
        windows = self.is_windows(place)
        if by_driver and not driver.compiles(self._matrix, option.number, machine.version, windows):
            return either((device.bit,), (machine.bit,)), PTX
        return self.unserved(device, place), level

    def runs(self, option: Option, device: Device) -> Verdict:
        """Whether a device runs a build's code; a framework's unknown code counts as none where that is asked for."""
        found = kernels.verdict(self._matrix, device.vendor, device.target, option.build)
        if self._certain and option.is_framework and isinstance(found, Unknown):
            return Clash(found.why, found.rows)
        return found

    def unserved(self, device: Device, place: str) -> Alternatives:
        """What is violated where the driver is none that serves the device, as their joint says; fits otherwise."""
        machine = self._target.machines[device.machine]
        if not machine.number or device.vendor != "nvidia":
            return FITS
        found = driver.serves(self._matrix, device.target, machine.version, self.is_windows(place))
        return either((device.bit,), (machine.bit,)) if isinstance(found, Clash) else FITS

    def past_branch(self, device: Device, place: str) -> int:
        """The last driver branch that serves a device, where its machine's driver is of a later one; else 0."""
        machine = self._target.machines[device.machine]
        if not machine.number:
            return 0
        return driver.past_branch(self._matrix, device.target, machine.version, self.is_windows(place))

    def is_windows(self, place: str) -> bool:
        """Whether the numbers of NVIDIA's drivers are those of Windows: there, and in WSL, whose driver is Windows'.

        Source: NVIDIA, "CUDA on WSL": the driver of Windows is the only one, and reports its own version inside.
        """
        return place.startswith("win") or self._target.wsl

    def driver_span(self, device: Device, place: str) -> tuple[str, int]:
        """The first driver version and the last driver branch that serve a device; empty and 0 where unbounded."""
        return driver.span(self._matrix, device.target, self.is_windows(place))

    def _driver(self, option: Option, machine: Machine, place: str, *, forward: bool) -> tuple[Alternatives, int]:
        """Whether a machine's drivers carry a build, and the strain on them.

        A driver speaks for a GPU of its maker: builds for another vendor violate it, unless the machine has both.
        """
        violations: Alternatives = FITS
        if machine.amdgpu and option.vendor != "amd" and option.vendor not in machine.vendors:
            violations = (machine.amdgpu_bit,)
        if machine.number and option.vendor != "nvidia" and option.vendor not in machine.vendors:
            violations = both(violations, (machine.bit,))
        if option.kind == "rocm" and machine.amdgpu:
            stated = ".".join(map(str, machine.amdgpu))
            if isinstance(driver.amdgpu(self._matrix, option.number, stated), Clash):
                violations = both(violations, (machine.amdgpu_bit,))
        if option.on_board:  # the numbers of a Jetson's driver are no branch of the desktop's
            carried = driver.board(self._matrix, option.number, machine.l4t)
            return both(violations, (machine.l4t_bit,)) if isinstance(carried, Clash) else violations, 0
        if option.kind != "cuda" or not machine.number:
            return violations, 0
        if forward:
            return both(violations, self.forwards(option.number, machine)), FORWARD
        own = option.build.driver
        found = driver.verdict(self._matrix, option.number, machine.version, self.is_windows(place), own)
        if isinstance(found, Clash):
            return both(violations, (machine.bit,)), 0
        return violations, int(found != Fits())

    def forwards(self, cuda: str, machine: Machine) -> Alternatives:
        """Whether the cuda-compat package of a CUDA release runs on a machine's driver, be it needed there or not.

        The image's loader path puts it before the host's own, so that it must run on every machine of the target.
        """
        if not machine.number or (machine.forward and forward_package(self._matrix, cuda, machine.driver)):
            return FITS
        return (machine.bit,)

    def is_beyond_custom(self, option: Option, place: str) -> bool:
        """Whether a CUDA build needs a newer driver than may be taken for granted on a machine that tells none."""
        if option.kind != "cuda" or option.on_board or any(machine.number for machine in self._target.machines):
            return False
        told = [driver.customary(self._matrix, self.is_windows(place))]
        told += [self.driver_span(one, place)[0] for one in self._models if one.target]
        least = self.floor(option, place)
        wanted = option.build.driver or (least and (least.family or least.exact)) or "0"
        return not any(versions.at_least(one, wanted) for one in told if one)

    def floor(self, option: Option, place: str) -> Floor | None:
        """Driver floors of a CUDA build's runtime."""
        if option.kind != "cuda":
            return None
        return driver.floor(self._matrix, option.number, self.is_windows(place))
