"""What a remedy changes: the target without a constraint or with another value, and how that value is read off a plan.

A plan that was found without a constraint shows what would have to be true instead: the plan's Python, its driver
floor, its release of the package. Each kind of constraint reads its value off another part of the plan. A kind whose
value cannot be read (a processor without a feature) is told in general words.

Bits are kept when values are replaced: a device or driver without a bit would violate nothing, and a remedy checked
with it would always seem to work.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from compat.joints.driver import amdgpu_floor
from compat.joints.kernels import runs
from compat.lazy import dataclass
from compat.matrix.drivers import forward_package
from compat.resolve.devices import driver_number, vendor_of
from compat.resolve.situation import Device
from compat.targets import is_target, sm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.plan import BaseImage, Plan, PlannedBuild
    from compat.resolve.search import Search
    from compat.resolve.situation import Machine, Situation, Soft
    from compat.resolve.wish import Wish


@dataclass(frozen=True, slots=True)
class NewValue:
    """What to do (``text``), to what of the question (``key``), and its new ``value``."""

    text: str
    key: str
    value: str


def subject(soft: Soft) -> str:
    """What kind of thing a constraint is about: ``wish``, ``gpu``, or the fact's name."""
    if soft.kind == "wish":
        return "wish"
    return "gpu" if soft.subject.startswith(("gpu", "no-gpu")) else soft.subject


def change(search: Search, soft: Soft, plan: Plan) -> NewValue | None:
    """How a constraint must change for ``plan`` to hold; ``None`` if that cannot be said."""
    image, runtime = plan.base_image, plan.runtime
    match subject(soft):
        case "wish":
            return _wish(search, soft, plan)
        case "driver" | "l4t" as name:
            return _driver(search, soft, plan) if name == "driver" else _jetpack(search, plan)
        case "amdgpu":
            floor = amdgpu_floor(search.known.matrix, runtime.removeprefix("rocm"))
            known = floor and runtime.startswith("rocm")
            return NewValue(f"update the AMD driver to {floor} or later", "amdgpu", floor) if known else None
        case "gpu":
            return _gpus(search, [device for device in search.target.devices if device.bit == soft.bit], plan)
        case "os" | "glibc" | "libc" as name:
            return _image(name, image) if image else None
    return _plain(soft, plan)


def _jetpack(search: Search, plan: Plan) -> NewValue | None:
    """The newest JetPack for the target's boards whose CUDA is the plan's."""
    boards = {target.capability for device in search.target.devices if (target := sm(device.target))}
    rows = [row for row in search.known.matrix.table("jetpack") if f"cuda{row.cuda}" == plan.runtime]
    row = next((one for one in reversed(rows) if not one.preview and boards <= {*one.capabilities}), None)
    text = f"install JetPack {row.jetpack} (L4T {row.l4t}), whose CUDA is {row.cuda}" if row else ""
    return NewValue(text, "l4t", row.l4t) if row else None


def _plain(soft: Soft, plan: Plan) -> NewValue:
    """The plan's own value of a fact; a fact without a better value, such as a processor's features, is told alone."""
    match soft.subject:
        case "runtime":
            return _runtime(soft, plan)
        case "python":
            return NewValue(f"use Python {plan.python}", "python", plan.python)
        case "arch":
            return NewValue(f"use a machine of architecture {plan.arch}", "arch", plan.arch)
        case "platform":
            return NewValue("use Linux", "platform", "linux")
    return NewValue(f"use a machine without this limit: {soft.text}", soft.subject, "another")


def _image(name: str, image: BaseImage) -> NewValue:
    """The plan's image: its system, or its C library, which is the one that counts inside it."""
    if name == "os":
        return NewValue(f"use an image on {image.os}", "os", image.os)
    brings = "has a newer glibc than the host" if name == "glibc" else "has glibc"
    return NewValue(f"run it in {image.image}, which {brings}", name, image.image)


def changes_of(search: Search, softs: Sequence[Soft], plan: Plan) -> list[NewValue] | None:
    """How some constraints must change for ``plan`` to hold, GPUs together; ``None`` if part of it cannot be said."""
    gone = [device for device in search.target.devices if any(soft.bit == device.bit for soft in softs)]
    others = [soft for soft in softs if not (len(gone) > 1 and subject(soft) == "gpu")]
    said = [change(search, soft, plan) for soft in others]
    said += [_gpus(search, gone, plan)] if len(gone) > 1 else []
    told = [one for one in said if one is not None]
    return told if len(told) == len(said) else None


def package_of(search: Search, name: str) -> str:
    """The matrix's name of the package that a distribution belongs to."""
    row = search.known.matrix.package(name)
    if row is not None:
        return row.name
    asked = {variable.package for variable in search.variables}
    owners = (one for one in search.known.matrix.packages if one in asked)
    return next(
        (one for one in owners if any(name == each.build.install_name for each in search.known.options(one))), name
    )


def _wish(search: Search, soft: Soft, plan: Plan) -> NewValue:
    """Another version of the package, or of a shared dependency what the other builds leave room for.

    A package that the plan does without is left out; that is said, since it is what the person must accept.
    """
    name = soft.subject
    for constraint in plan.constraints:
        if re.match(rf"{re.escape(name)}(?![\w.-])", constraint):
            return NewValue(f"take {constraint} instead of {soft.text}", name, constraint)
    for build in plan.builds:
        if package_of(search, build.name) == name:
            kind = build.kind + ", through PTX" * (build.name in plan.by_ptx())
            return NewValue(f"ask for {build.requirement} ({kind})", name, build.version)
    return NewValue(f"leave {soft.text} out", name, "left out")


def branch_ended(search: Search, soft: Soft) -> str:
    """The last driver branch, ``R580``, of a GPU that a machine's driver is too new for; empty if none is."""
    for device in search.target.devices:
        last = search.scale.past_branch(device, search.target.place)
        if soft.bit & search.target.machines[device.machine].bit and last:
            return f"R{last}"
    return ""


def _driver(search: Search, soft: Soft, plan: Plan) -> NewValue | None:
    """The lowest driver of the plan; on workstation GPUs, of which NVIDIA supports some, cuda-compat is named too."""
    version, runtime, target = plan.driver.minimum, plan.runtime, search.target
    is_windows = search.scale.is_windows(target.place)
    side = " of Windows" if is_windows else ""
    if ended := branch_ended(search, soft):
        row = next((row for row in search.known.matrix.table("drivers") if row.branch == ended), None)
        newest = row and (row.windows if is_windows else row.latest or row.first)
        text = f"go back to an NVIDIA driver{side} of branch {ended}, the last that serves this GPU"
        return NewValue(text, "driver", newest) if newest else None
    if not version:
        return None
    fits = "cuda" in runtime and {one.segment for one in target.devices if one.vendor == "nvidia"} == {"workstation"}
    old = next((machine.driver for machine in target.machines if machine.bit & soft.bit), "")
    package = forward_package(search.known.matrix, runtime.removeprefix("cuda"), old) if fits else ""
    forward = f" (or, on a workstation that NVIDIA certifies for it, put {package} into the image)" if package else ""
    return NewValue(f"update the NVIDIA driver{side} to {version} or later{forward}", "driver", version)


def _gpus(search: Search, gone: Sequence[Device], plan: Plan) -> NewValue | None:
    """Leave some of several GPUs out, or use another GPU instead of all that there are."""
    if not gone:
        return None
    names = " and ".join(device.label for device in gone)
    if len(gone) < len(search.target.devices):
        served = ", ".join(dict.fromkeys(verdict.name for verdict in plan.gpus if verdict.kernels != "none"))
        return NewValue(f"leave {names} out: the plan serves {served}", "gpu", f"without {names}")
    near = _nearest_target(search, plan, gone[0])
    instead = f", instead of {names}" if len(gone) > 1 else ""
    return (
        NewValue(f"use a GPU that these builds have code for, such as {near}{instead}", "gpu", near) if near else None
    )


def _nearest_target(search: Search, plan: Plan, device: Device) -> str:
    """The nearest device target for which all of a plan's GPU builds carry machine code; empty if there is none.

    Where none is comparable (another maker's), it is the one that most products have.
    """
    codes = [code for code in (_code(search, build) for build in plan.builds) if code]
    made = Counter(row.target for row in search.known.matrix.table("gpus"))
    targets = {text for code in codes for text in code}
    near = sorted(targets, key=lambda text: (_gap(device.target, text), -made[text], text))
    matrix = search.known.matrix
    return next((text for text in near if all(runs(matrix, text, code) == "native" for code in codes)), "")


def _code(search: Search, build: PlannedBuild) -> tuple[str, ...]:
    """The device targets that a planned build carries machine code for."""
    options = search.known.options(package_of(search, build.name))
    same = (one.build.kernels for one in options if one.full == build.version and one.runtime == build.runtime)
    return tuple(filter(is_target, next(same, ())))


def _gap(left: str, right: str) -> int:
    """How far two capabilities are apart; targets that are no numbers are all equally far."""
    one, two = sm(left), sm(right)
    return abs((one.major - two.major) * 10 + one.minor - two.minor) if one and two else 1000


def _runtime(soft: Soft, plan: Plan) -> NewValue:
    """The runtime that the plan found, in place of the one an option asked for; or those that its builds mix.

    An option asks one runtime of every build, so that a plan of several minors is one without the option.
    """
    found = tuple(dict.fromkeys(build.runtime for build in plan.builds if build.runtime not in {"", "cpu"}))
    if len(found) > 1:
        return NewValue(f"do not ask for {soft.text}: these builds mix {' and '.join(found)}", "runtime", "any")
    return NewValue(f"use {plan.runtime}", "runtime", plan.runtime)


# --- the target with constraints dropped or replaced ---


def relaxed(target: Situation, bits: int) -> Situation:
    """The target without the constraints in ``bits``: their wishes are gone and their facts count as not known.

    Facts become unknown rather than something else, so that the search assumes about them what it assumes about any
    target that does not say; a GPU that is dropped is gone from the target.
    """
    return replace(
        target,
        wishes=tuple((wish, bit) for wish, bit in target.wishes if not bit & bits),
        devices=tuple(device for device in target.devices if not device.bit & bits),
        machines=tuple(_undriven(machine, bits) for machine in target.machines),
        places=tuple((place, cost & ~bits) for place, cost in target.places),
        python="" if target.python_bit & bits else target.python,
        os="" if target.os_bit & bits else target.os,
        glibc="" if target.glibc_bit & bits else target.glibc,
        musl_bit=target.musl_bit & ~bits,
        flags=None if target.flags_bit & bits else target.flags,
        runtime="" if target.runtime_bit & bits else target.runtime,
        nothing=target.nothing & ~bits,
    )


def _undriven(machine: Machine, bits: int) -> Machine:
    """A machine of which those drivers that are in ``bits`` are not known; what GPUs it has is."""
    if machine.bit & bits:
        machine = replace(machine, driver="", number=(), bit=0)
    if machine.l4t_bit & bits:
        machine = replace(machine, l4t="", l4t_bit=0)
    return replace(machine, amdgpu=(), amdgpu_bit=0) if machine.amdgpu_bit & bits else machine


def allowed_places(target: Situation) -> tuple[str, ...]:
    """Places that cost nothing: the target's own, and others once the machine's facts are dropped."""
    return tuple(place for place, cost in target.places if not cost)


def at_place(target: Situation, place: str) -> Situation:
    """The target at one place."""
    return replace(target, places=((place, 0),))


def with_wish(target: Situation, bit: int, wish: Wish) -> Situation:
    """The target with one wish replaced."""
    return replace(target, wishes=tuple((wish, one) if one == bit else (old, one) for old, one in target.wishes))


def with_driver(target: Situation, version: str, bits: int) -> Situation:
    """The target with the drivers in ``bits`` replaced by one version."""
    number = driver_number(version)
    machines = (replace(old, driver=version, number=number) if old.bit & bits else old for old in target.machines)
    return replace(target, machines=tuple(machines))


def with_target(target: Situation, device: str) -> Situation:
    """The target with its one GPU replaced by one of another kernel target."""
    new = Device(name=device, vendor=vendor_of(device), target=device)
    vendors = frozenset({new.vendor})
    machines = tuple(replace(machine, vendors=vendors, forward=False) for machine in target.machines)
    devices = tuple(replace(new, machine=old.machine, bit=old.bit) for old in target.devices)
    return replace(target, devices=devices, machines=machines)


def with_kin(target: Situation, bit: int) -> Situation:
    """The target with one GPU replaced by any GPU of its vendor."""
    kin = (
        Device(name=f"a GPU of {old.vendor}", vendor=old.vendor, target="", machine=old.machine, bit=old.bit)
        if old.bit == bit
        else old
        for old in target.devices
    )
    return replace(target, devices=tuple(kin))
