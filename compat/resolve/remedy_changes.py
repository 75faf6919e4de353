"""What a remedy changes: the new value of each constraint, and the question that asks for it.

A plan that was found without a constraint shows what would have to be true instead: the plan's Python, its driver
floor, its release of the package. Each kind of constraint reads its value off another part of the plan. A kind whose
value cannot be read (a processor without a feature) is told in general words.

A question made of options stays one: a question that describes no machine any more would be about the machine that it
is asked on. A question about a machine's own facts is asked about the same machine, or with the same host file, which
the caller adds; options overrule what was read there.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from compat.joints.driver import amdgpu_floor, compat_package
from compat.joints.kernels import runs
from compat.lazy import dataclass
from compat.plan import Ask
from compat.resolve.devices import typed_name, vendor_of
from compat.targets import is_target, sm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from compat.plan import Plan, PlannedBuild
    from compat.resolve.devices import Device
    from compat.resolve.request import Wish
    from compat.resolve.search import Search
    from compat.resolve.situation import Soft


@dataclass(frozen=True, slots=True)
class NewValue:
    """What to do (``text``), to what of the question (``key``), and its new ``value``."""

    text: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Case:
    """A constraint that was dropped, and the plan found without it."""

    search: Search
    soft: Soft
    plan: Plan


def subject(soft: Soft) -> str:
    """What kind of thing a constraint is about: ``wish``, ``gpu``, or the fact's name."""
    if soft.kind == "wish":
        return "wish"
    return "gpu" if soft.subject.startswith(("gpu", "no-gpu")) else soft.subject


def change(search: Search, soft: Soft, plan: Plan) -> NewValue | None:
    """How a constraint must change for ``plan`` to hold; ``None`` if that cannot be said."""
    return _TELLERS.get(subject(soft), _other)(Case(search, soft, plan))


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
    owners = (package for package in search.known.matrix.packages if _distributes(search, package, name))
    return next(owners, name)


def _distributes(search: Search, package: str, name: str) -> bool:
    """Whether a package that was asked for publishes builds under this distribution name."""
    asked = {variable.package for variable in search.variables}
    return package in asked and any(one.build.install_name == name for one in search.known.packages.options(package))


def _wish(case: Case) -> NewValue:
    """Another version of the package, or of a shared dependency what the other builds leave room for.

    A package that the plan does without is left out; that is said, since it is what the person must accept.
    """
    name = case.soft.subject
    for constraint in case.plan.constraints:
        if re.match(rf"{re.escape(name)}(?![\w.-])", constraint):
            return NewValue(f"take {constraint} instead of {case.soft.text}", name, constraint)
    for build in case.plan.builds:
        if package_of(case.search, build.name) == name:
            kind = build.runtime or ("compiled at installation" if build.compile else "no GPU code")
            return NewValue(f"ask for {build.requirement} ({kind})", name, build.version)
    return NewValue(f"leave {case.soft.text} out", name, "left out")


def branch_ended(search: Search, soft: Soft) -> str:
    """The last driver branch, ``R580``, of a GPU that a machine's driver is too new for; empty if none is."""
    for device in search.target.devices:
        last = search.scale.past_branch(device, search.target.place)
        if soft.bit & search.target.machines[device.machine].bit and last:
            return f"R{last}"
    return ""


def _driver(case: Case) -> NewValue | None:
    """The lowest driver of the plan; on workstation GPUs, of which NVIDIA supports some, cuda-compat is named too."""
    version, runtime, target = case.plan.driver.minimum, case.plan.runtime, case.search.target
    is_windows = case.search.scale.is_windows(target.place)
    side = " of Windows" if is_windows else ""
    if ended := branch_ended(case.search, case.soft):
        row = next((row for row in case.search.known.matrix.table("drivers") if row.branch == ended), None)
        newest = row and (row.windows if is_windows else row.latest or row.first)
        text = f"go back to an NVIDIA driver{side} of branch {ended}, the last that serves this GPU"
        return NewValue(text, "driver", newest) if newest else None
    if not version:
        return None
    fits = "cuda" in runtime and {one.segment for one in target.devices if one.vendor == "nvidia"} == {"workstation"}
    old = next((machine.driver for machine in target.machines if machine.bit & case.soft.bit), "")
    package = compat_package(case.search.known.matrix, runtime.removeprefix("cuda"), old) if fits else ""
    forward = f" (or, on a workstation that NVIDIA certifies for it, put {package} into the image)" if package else ""
    return NewValue(f"update the NVIDIA driver{side} to {version} or later{forward}", "driver", version)


def _amdgpu(case: Case) -> NewValue | None:
    """The lowest AMD driver that the plan's ROCm accepts."""
    floor = amdgpu_floor(case.search.known.matrix, case.plan.runtime.removeprefix("rocm"))
    if not floor or not case.plan.runtime.startswith("rocm"):
        return None
    return NewValue(f"update the AMD driver to {floor} or later", "amdgpu", floor)


def _gpu(case: Case) -> NewValue | None:
    """Leave one of several GPUs out, or use another GPU instead of the only one."""
    device = next((device for device in case.search.target.devices if device.bit == case.soft.bit), None)
    return _gpus(case.search, [device], case.plan) if device else None


def _gpus(search: Search, gone: Sequence[Device], plan: Plan) -> NewValue | None:
    """Leave some of several GPUs out, or use another GPU instead of all that there are."""
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
    options = search.known.packages.options(package_of(search, build.name))
    same = (one.build.kernels for one in options if one.full == build.version and one.runtime == build.runtime)
    return tuple(filter(is_target, next(same, ())))


def _gap(left: str, right: str) -> int:
    """How far two capabilities are apart; targets that are no numbers are all equally far."""
    one, two = sm(left), sm(right)
    return abs((one.major - two.major) * 10 + one.minor - two.minor) if one and two else 1000


def _python(case: Case) -> NewValue:
    """The Python that the plan found."""
    return NewValue(f"use Python {case.plan.python}", "python", case.plan.python)


def _runtime(case: Case) -> NewValue:
    """The runtime that the plan found, in place of the one an option asked for; or those that its builds mix.

    An option asks one runtime of every build, so that a plan of several minors is one without the option.
    """
    found = tuple(dict.fromkeys(build.runtime for build in case.plan.builds if build.runtime not in {"", "cpu"}))
    if len(found) > 1:
        return NewValue(f"do not ask for {case.soft.text}: these builds mix {' and '.join(found)}", "runtime", "any")
    return NewValue(f"use {case.plan.runtime}", "runtime", case.plan.runtime)


def _arch(case: Case) -> NewValue:
    """The architecture that the plan found; a change of machine, hence late in the order of remedies."""
    return NewValue(f"use a machine of architecture {case.plan.arch}", "arch", case.plan.arch)


def _platform(case: Case) -> NewValue:
    """Linux, the platform that everything is published for."""
    return NewValue("use Linux", case.soft.subject, "linux")


def _os(case: Case) -> NewValue | None:
    """The system of the plan's image."""
    image = case.plan.base_image
    return NewValue(f"use an image on {image.os}", "os", image.os) if image else None


def _glibc(case: Case) -> NewValue | None:
    """The plan's image, whose C library is the one that counts inside it."""
    image = case.plan.base_image
    if image is None:
        return None
    return NewValue(f"run it in {image.image}, which has a newer glibc than the host", "glibc", image.image)


def _libc(case: Case) -> NewValue | None:
    """The plan's image, which has glibc."""
    image = case.plan.base_image
    return NewValue(f"run it in {image.image}, which has glibc", "libc", image.image) if image else None


def _other(case: Case) -> NewValue:
    """A fact that has no better value to name, such as the features of a processor."""
    return NewValue(f"use a machine without this limit: {case.soft.text}", case.soft.subject, "another")


# Kind of constraint -> how its new value is read off a plan.
_TELLERS: Final[dict[str, Callable[[Case], NewValue | None]]] = {
    "wish": _wish,
    "driver": _driver,
    "amdgpu": _amdgpu,
    "gpu": _gpu,
    "python": _python,
    "runtime": _runtime,
    "arch": _arch,
    "platform": _platform,
    "os": _os,
    "glibc": _glibc,
    "libc": _libc,
}


# Name of an option without its dashes, and the value stated.
Option = tuple[str, str]

# Facts that an option states, by name; the driver of a machine whose GPUs are all AMD's is AMD's.
_STATED: Final = {"driver": "driver", "amdgpu": "driver", "python": "python", "os": "os", "arch": "arch"}

# What speaks for GPUs of one maker only.
_OWN: Final = {"driver": "nvidia", "cuda": "nvidia", "amdgpu": "amd", "rocm": "amd"}

# Options that describe a machine, so that the one at hand does not count.
_DESCRIBING: Final = frozenset({"gpu", "driver", "cuda", "rocm", "os", "arch"})


def mended(search: Search, softs: Sequence[Soft], changes: Mapping[str, str], plan: Plan) -> tuple[Ask, ...]:
    """The question with the constraints in ``softs`` changed; none where a change cannot be asked for.

    A driver or a Python read from a machine is overruled by the option that states the new one, and so are GPUs of
    which some are left out; that a GPU read from a machine is another one cannot be asked for.
    """
    if not all(_is_typed(search, soft, changes) for soft in softs):
        return ()
    dropped = {soft.bit for soft in softs}
    wishes = []
    for wish, bit in search.target.wishes:
        version = changes.get(wish.package, "") if bit in dropped else ""
        if version != "left out":
            wishes.append(_requirement(wish, version, plan) if version else wish.text)
    left = [device for device in search.target.devices if device.bit not in dropped]
    if any(soft.kind == "host" and _is_gpu(soft) for soft in softs):
        options = [*_restated(search, left, dropped)]
    else:
        options = [*_repeated(search, dropped, _vendors(search, left, changes))]
    return (_whole(search, wishes, [*options, *_new_options(changes, plan)]),)


def without(search: Search, dropped: int) -> Ask:
    """The question without the wishes in ``dropped``: one of several images for the same machine."""
    wishes = [wish.text for wish, bit in search.target.wishes if not bit & dropped]
    return _whole(search, wishes, [*_repeated(search, set(), search.target.vendors)])


def for_gpus(search: Search, devices: Mapping[Device, str]) -> Ask:
    """The question for some of the target's GPUs alone; a text in place of a device stands for another one."""
    wishes = [wish.text for wish, _ in search.target.wishes]
    named = {device: text for device, text in devices.items() if text}
    options = [*_restated(search, [device for device in devices if device not in named], set(), named)]
    return _whole(search, wishes, options)


def for_cpu(search: Search) -> Ask:
    """The question once more for a CPU build: without GPUs, drivers and GPU runtimes, which it would contradict."""
    kept = {"python", "os", "arch", "platform"}
    softs = [soft for soft in search.target.softs if soft.kind == "option" and soft.subject in kept]
    options = [_stated(soft) for soft in softs]
    if search.target.place == "linux_aarch64" and "arch" not in dict(options):
        options.append(("arch", "aarch64"))  # a GPU may have implied it
    return _whole(search, [wish.text for wish, _ in search.target.wishes], options, cpu=True)


def _whole(search: Search, wishes: Sequence[str], options: Sequence[Option], *, cpu: bool = False) -> Ask:
    """The whole question; where nothing else describes the machine any more, its architecture does."""
    described = _DESCRIBING.intersection(dict(options)) or any(soft.kind == "host" for soft in search.target.softs)
    place = search.target.place.partition("_")[2]
    arch = [] if described else [("arch", "aarch64" if place in {"aarch64", "arm64"} else "x86_64")]
    return Ask(tuple(wishes), (*options, *arch), cpu)


def _repeated(search: Search, dropped: set[int], vendors: frozenset[str]) -> Iterator[Option]:
    """The question's own options without those in ``dropped`` and those that speak for GPUs of nobody left."""
    for soft in search.target.softs:
        if soft.kind == "option" and soft.bit not in dropped and _speaks(soft, vendors):
            yield _stated(soft)


def _restated(
    search: Search, devices: Sequence[Device], dropped: set[int], named: Mapping[Device, str] | None = None
) -> Iterator[Option]:
    """Options for some GPUs in place of those that the target has, with all else that options can state."""
    vendors = frozenset(device.vendor for device in (*devices, *(named or ())))
    for soft in search.target.softs:
        told = soft.kind == "option" or soft.subject in _STATED
        if soft.kind != "wish" and told and not _is_gpu(soft) and soft.bit not in dropped and _speaks(soft, vendors):
            yield _stated(soft)
    for device in devices:
        yield "gpu", typed_name(device, search.known)
    for text in (named or {}).values():
        yield "gpu", text


def _vendors(search: Search, left: Sequence[Device], changes: Mapping[str, str]) -> frozenset[str]:
    """Makers whose options still count: those of the GPUs left, or that of the GPU that takes the place of them."""
    own = vendor_of(changes.get("gpu", "")) if search.target.devices and not left else ""
    return frozenset({own} if own else {device.vendor for device in left})


def _speaks(soft: Soft, vendors: frozenset[str]) -> bool:
    """Whether a constraint still says something where GPUs of these makers are left; of none, all do."""
    name = soft.value.rstrip("0123456789.") if soft.subject == "runtime" else soft.subject
    return not vendors or _OWN.get(name, "") in {"", *vendors}


def _is_gpu(soft: Soft) -> bool:
    """Whether a constraint is about a GPU that the target has."""
    return soft.subject.startswith("gpu")


def _is_typed(search: Search, soft: Soft, changes: Mapping[str, str]) -> bool:
    """Whether a constraint's new value can be given on the command line."""
    if soft.subject == "amdgpu" and search.target.vendors != {"amd"}:
        return False  # there --driver means NVIDIA's
    left_out = _is_gpu(soft) and changes.get("gpu", "").startswith("without ")
    return soft.kind in {"wish", "option"} or soft.subject in {*_STATED, "runtime"} or left_out


def _requirement(wish: Wish, version: str, plan: Plan) -> str:
    """A wish with its new version; what a shared dependency leaves room for is a requirement of its own.

    Extras stay as they were asked for, unless the plan's build has others.
    """
    if wish.shared:
        return version
    built = next((set(build.extras) for build in plan.builds if build.version == version), set(wish.extras))
    extras = wish.extras if built.issuperset(wish.extras) else tuple(sorted(built))
    listed = f"[{','.join(extras)}]" if extras else ""
    named = wish.distribution if any(build.name == wish.distribution for build in plan.builds) else wish.package
    return f"{named}{listed}=={version}"


def _stated(soft: Soft) -> Option:
    """The option that states a constraint: a runtime's is named by its kind, a platform by its system."""
    if soft.subject == "runtime":
        kind = soft.value.rstrip("0123456789.")
        return kind, soft.value.removeprefix(kind)
    if _is_gpu(soft):
        return "gpu", soft.value
    return _STATED.get(soft.subject, "os"), soft.value


def _new_options(changes: Mapping[str, str], plan: Plan) -> Iterator[Option]:
    """The options that state the new values; a GPU that is left out needs none, and Linux is named by its release."""
    for name, value in changes.items():
        if name in _STATED:
            yield _STATED[name], value
        elif name == "gpu" and not value.startswith("without "):
            yield "gpu", value
        elif name == "runtime" and value.startswith(("cuda", "rocm")):
            yield value[:4], value[4:]
        elif name == "platform" and plan.base_image:
            yield "os", plan.base_image.os
