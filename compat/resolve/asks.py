"""The question that asks for a remedy: the same wishes and options with new values, to be typed as they stand.

A question made of options stays one: a question that describes no machine any more would be about the machine that it
is asked on. A question about a machine's own facts is asked about the same machine, or with the same host file, which
the caller adds; options overrule what was read there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.plan import Ask, Plan
from compat.resolve.devices import typed_name, vendor_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from compat.resolve.search import Search
    from compat.resolve.situation import Device, Soft
    from compat.resolve.wish import Wish

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
    vendors = frozenset(device.vendor for device in left)
    if any(soft.kind == "host" and _is_gpu(soft) for soft in softs):
        options = _options(search, dropped, vendors, [typed_name(device, search.known) for device in left])
    else:
        own = vendor_of(changes.get("gpu", "")) if search.target.devices and not left else ""
        options = _options(search, dropped, frozenset({own}) if own else vendors)
    return (_whole(search, wishes, [*options, *_new_options(changes, plan)]),)


def without(search: Search, dropped: int, *instead: str) -> Ask:
    """The question without the wishes in ``dropped``, or with others instead: one of several images for one machine."""
    wishes = [wish.text for wish, bit in search.target.wishes if not bit & dropped]
    return _whole(search, [*wishes, *instead], [*_options(search, set(), search.target.vendors)])


def for_gpus(search: Search, devices: Mapping[Device, str]) -> Ask:
    """The question for some of the target's GPUs alone; a text in place of a device stands for another one."""
    wishes = [wish.text for wish, _ in search.target.wishes]
    names = [text or typed_name(device, search.known) for device, text in devices.items()]
    return _whole(search, wishes, [*_options(search, set(), frozenset(one.vendor for one in devices), names)])


def for_cpu(search: Search, requirements: Sequence[str] = ()) -> Ask:
    """The question for a CPU build, of others than it asks for if they are given.

    It is without GPUs, drivers and GPU runtimes, which ``--cpu`` would contradict.
    """
    kept = {"python", "os", "arch", "platform"}
    softs = [soft for soft in search.target.softs if soft.kind == "option" and soft.subject in kept]
    options = [_stated(soft) for soft in softs]
    if search.target.place == "linux_aarch64" and "arch" not in dict(options):
        options.append(("arch", "aarch64"))  # a GPU may have implied it
    return _whole(search, requirements or [wish.text for wish, _ in search.target.wishes], options, cpu=True)


def _whole(search: Search, wishes: Sequence[str], options: Sequence[Option], *, cpu: bool = False) -> Ask:
    """The whole question; where nothing else describes the machine any more, its architecture does."""
    described = _DESCRIBING.intersection(dict(options)) or any(soft.kind == "host" for soft in search.target.softs)
    place = search.target.place.partition("_")[2]
    arch = [] if described else [("arch", "aarch64" if place in {"aarch64", "arm64"} else "x86_64")]
    return Ask(tuple(wishes), (*options, *arch), cpu)


def _options(
    search: Search, dropped: set[int], vendors: frozenset[str], gpus: Sequence[str] | None = None
) -> Iterator[Option]:
    """The question's options without those in ``dropped`` and those that speak for GPUs of makers that are not left.

    With ``gpus`` they are for these, in place of those that the target has, with all else that options can state.
    """
    for soft in search.target.softs:
        told = soft.kind == "option" or (gpus is not None and soft.kind == "host" and soft.subject in _STATED)
        is_kept = soft.bit not in dropped and not (gpus is not None and _is_gpu(soft))
        if told and is_kept and _speaks(soft, vendors):
            yield _stated(soft)
    yield from (("gpu", name) for name in gpus or ())


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
