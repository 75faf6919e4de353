"""Whether a conflict is proven: no build that might escape it is kept out by what is only inferred of it.

A conflict's members show a few rows; the refusal rests on every build that meets the wishes. Each of them must break
some fact of the core by a field that somebody saw, else the conflict is likely and no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.joints.build import is_unseen
from compat.versions import release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from compat.resolve.build_fit import Weighed
    from compat.resolve.devices import Device
    from compat.resolve.request import Variable
    from compat.resolve.search import Search
    from compat.resolve.situation import Soft

# What a fact is about -> the fields of a build by which the two do not fit.
_FIELDS: Final = {
    "gpu": ("kernels",),
    "driver": ("runtime", "driver"),
    "amdgpu": ("runtime",),
    "no-gpu": ("runtime",),
    "runtime": ("runtime",),
    "python": ("python",),
    "glibc": ("glibc",),
    "libc": ("platforms",),
    "os": ("glibc", "system"),
    "cpu_flags": ("cpu",),
    "arch": ("platforms",),
    "platform": ("platforms",),
}


def is_open(search: Search, softs: Iterable[Soft], packages: Iterable[Variable], place: str) -> bool:
    """Whether some build of the packages of a core might do without breaking it, were it known better.

    Args:
        search: the question.
        softs: the members of the core.
        packages: those that it is about.
        place: where builds are looked for, ``linux_x86_64``.
    """
    facts = [soft for soft in softs if soft.kind != "wish"]
    if any(
        _is_unserved(search, device, place)
        for device in search.target.devices
        for soft in facts
        if device.bit == soft.bit
    ):
        return False
    wishes = sum(soft.bit for soft in softs if soft.kind == "wish")
    return any(
        not _is_out(search, weighed, facts, wishes)
        for variable in packages
        for weighed in search.domain(variable, place)
        if weighed.option.build.how == "inferred" or weighed.option.build.inferred
    )


def _is_unserved(search: Search, device: Device, place: str) -> bool:
    """Whether a device is none of those that its driver serves: no build changes that."""
    driver = search.target.machines[device.machine].number
    first, _ = search.scale.driver_span(device, place)
    return bool(driver and first and driver < release(first)) or bool(search.scale.past_branch(device, place))


def _is_out(search: Search, weighed: Weighed, facts: list[Soft], wishes: int) -> bool:
    """Whether a build is surely refused: each way to have it breaks a wish, or a fact by a field that was seen.

    A build that breaks nothing of the core by itself is refused by the other packages, which are judged as pairs; one
    for the GPUs of another maker is no candidate.
    """
    vendors, build = search.target.vendors, weighed.option.build
    if vendors and weighed.option.vendor not in {*vendors, "", "cpu"}:
        return True
    core = wishes + sum(soft.bit for soft in facts)
    ways = [way & core for way in weighed.violations]
    seen = sum(soft.bit for soft in facts if _is_seen(search, weighed, soft))
    if not all(ways):
        return not any(is_unseen(search.known.matrix, build, name) for name in ("python", "glibc", "system"))
    return all(way & (wishes | seen) for way in ways)


def _is_seen(search: Search, weighed: Weighed, soft: Soft) -> bool:
    """Whether somebody saw what decides of a build on a fact; a local tag (``+cu118``) names the runtime."""
    subject = "gpu" if soft.subject.startswith("gpu") else soft.subject
    build = weighed.option.build
    device = next((one for one in search.target.devices if one.bit == soft.bit), None)
    if device and weighed.option.vendor != device.vendor:
        return True
    if _FIELDS.get(subject, ())[:1] == ("runtime",) and build.local:
        return True
    fields = _FIELDS.get(subject, ())
    return not any(is_unseen(search.known.matrix, build, *_kin(name)) for name in fields)


def _kin(field: str) -> tuple[str, ...]:
    """A field with those on which it depends: other runtimes of a release carry other code and need other drivers."""
    return (field, "runtime") if field in {"kernels", "driver", "system"} else (field,)
