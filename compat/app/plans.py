"""Plans: resolved for a target, or read back from a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import plan as plans
from compat.app import hosts
from compat.app.files import only_once, read_document, shown
from compat.app.retyping import ASKING, Asking, retyped
from compat.errors import InputError, InputErrors
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Answer, Plan

PREFERENCES: Final = ("proven", "newest", "smallest", "oldest-driver", "stable")
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_VERSION: Final = r"[0-9A-Za-z.!+_-]{1,99}"
# a requirement of the shapes that the resolver writes, PEP 508 without address and marker
_WANTED: Final = rf"{_NAME}(\[[A-Za-z0-9._,-]{{1,99}}\])?([<>=!~]{{1,3}}[0-9A-Za-z.!+_*-]{{1,99}}(,|$))*"
_SOUND: Final = {
    "plan.runtime": (r"[a-z]{2,10}[0-9.]{0,12}", "cuda12.6, rocm6.4 or cpu"),
    "plan.python": (r"[0-9]\.[0-9]{1,2}t?", "a minor version such as 3.11"),
    "plan.arch": (r"[a-z0-9_]{2,20}", "x86_64 or aarch64"),
    "plan.builds.name": (_NAME, "the name of a package"),
    "plan.builds.version": (_VERSION, "a version"),
    "plan.builds.runtime": (r"[a-z]{2,10}[0-9.]{0,12}", "cuda12.6, rocm6.4 or cpu"),
    "plan.builds.index": (r"https?://[A-Za-z0-9._~:/@%+-]{1,300}", "an http address"),
    "plan.builds.extras": (_NAME, "names of extras"),
    "plan.builds.module": (r"[A-Za-z_][A-Za-z0-9_.]{0,99}", "a module"),
    "plan.builds.pins": (_WANTED, "requirements"),
    "plan.constraints": (_WANTED, "requirements"),
    "plan.system": (r"[a-z]{2,20}[0-9.]{0,12}", "libraries such as cuda11.8"),
    "plan.base_image.python_from": (r"image|distribution|uv", "image, distribution or uv"),
    "plan.driver.package": (r"cuda-compat-[0-9]{1,3}-[0-9]{1,3}", "a package such as cuda-compat-12-8"),
    "plan.matrix": (r"[A-Za-z0-9:._-]{1,200}", "a digest"),
}
"""What the values of a stored plan look like, by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The machine a plan is for, in the words of the command line; nothing given means this machine.

    Attributes:
        hosts: host files.
        gpus: names, PCI ids or kernel targets.
        driver: driver version; ``cuda``, ``rocm``: runtime asked for; ``python``, ``os``, ``arch`` likewise.
        cpu: a CPU build is wanted.
        prefer: one of :data:`PREFERENCES`.
        stored: a stored answer or plan to replay instead of resolving.
        asking: how it was typed, so that fixes can be typed likewise.
    """

    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    driver: str = ""
    cuda: str = ""
    rocm: str = ""
    cpu: bool = False
    python: str = ""
    os: str = ""
    arch: str = ""
    prefer: str = "proven"
    stored: str = ""
    asking: Asking = ASKING

    @property
    def described(self) -> bool:
        """Whether options describe the machine, so that this one does not count."""
        return bool(self.gpus or self.driver or self.cuda or self.rocm or self.os or self.arch)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and the machines (names of host files) that it serves; none where there is but one machine."""

    answer: Answer
    hosts: tuple[str, ...] = ()


def replies(requirements: Sequence[str], target: Target, matrix: Matrix, *, image: bool = False) -> tuple[Reply, ...]:
    """The answer for the target's machine; for several, one for all or the fewest that cover them.

    Args:
        requirements: what is wanted.
        target: the machine or machines.
        matrix: what is true.
        image: whether the plan is for a container, which brings its own Python and C library.

    Raises:
        InputError: for anything in the requirements or the target that is malformed, unknown or contradictory.
    """
    from compat import resolve
    from compat.resolve.target import for_image

    if target.prefer not in PREFERENCES:
        raise InputError(
            f"preference {target.prefer!r} is not known", where="--prefer", expected=", ".join(PREFERENCES)
        )
    only_once(target.hosts)
    if target.stored:
        return (Reply(_stored(requirements, target)),)
    if not requirements:
        raise InputError("nothing was asked for", expected="a requirement such as torch==2.9.1")
    machines = machines_of(target, matrix)
    if image:
        machines = tuple(for_image(machine) for machine in machines)
    if len(machines) == 1:
        answer = resolve.resolve(requirements, machines[0], matrix, cpu=target.cpu, prefer=target.prefer)
        return (Reply(_repeatable(answer, target, target.hosts)),)
    found = resolve.resolve_many(requirements, machines, matrix, cpu=target.cpu, prefer=target.prefer)
    groups = ((tuple(target.hosts[place] for place in places), answer) for places, answer in found)
    return tuple(Reply(_repeatable(answer, target, names), names) for names, answer in groups)


def _repeatable(answer: Answer, target: Target, names: tuple[str, ...]) -> Answer:
    """The answer with the rest of the question in the commands of its fixes."""
    prefer = "" if target.prefer == PREFERENCES[0] else target.prefer
    return retyped(answer, target.asking, hosts=names, cpu=target.cpu, prefer=prefer)


def outdated(plan: Plan, matrix: Matrix) -> str:
    """That a stored plan was made from another state of the matrix, in words; empty if it was not, or does not say."""
    if plan.matrix in {"", matrix.digest}:
        return ""
    return "this plan was made from another state of the matrix, and is replayed as it is: resolve again to see more"


def machines_of(target: Target, matrix: Matrix) -> tuple[Host, ...]:
    """The machines meant: each host file with the options laid over it, the options alone, or this machine."""
    from compat.resolve.target import driver_settled, from_options

    options = from_options(
        matrix,
        gpus=target.gpus,
        driver=target.driver or None,
        cuda=target.cuda or None,
        rocm=target.rocm or None,
        cpu=target.cpu,
        python=target.python or None,
        os=target.os or None,
        arch=target.arch or None,
    )
    if target.hosts:
        return tuple(driver_settled(options.over(hosts.from_file(name, matrix)), matrix) for name in target.hosts)
    return (options if target.described else options.over(hosts.this_machine(matrix)),)


def _stored(requirements: Sequence[str], target: Target) -> Answer:
    if requirements or target.hosts or target.described or target.cpu or target.python:
        raise InputError(
            "--plan replays a stored answer", hint="drop the requirements and target options, or drop --plan"
        )
    answer = plans.load(read_document(target.stored), shown(target.stored))
    if answer.plan is None or answer.status != "plan":
        raise InputError(f"holds no plan but a {answer.status}", where=shown(target.stored))
    _demand_sound(answer.plan, shown(target.stored))
    return answer


def _demand_sound(plan: Plan, where: str) -> None:
    """Refuse a stored plan whose values are not what they are called: they end in Dockerfiles and in commands.

    Raises:
        InputErrors: naming each key.
    """
    base, builds = plan.base_image, plan.builds
    found = {
        "plan.runtime": (plan.runtime,),
        "plan.python": (plan.python, *((base.python,) if base and base.python else ())),
        "plan.arch": (plan.arch,),
        "plan.builds.name": tuple(build.name for build in builds),
        "plan.builds.version": tuple(build.version for build in builds),
        "plan.builds.runtime": tuple(build.runtime for build in builds if build.runtime),
        "plan.builds.index": tuple(build.index for build in builds if build.index),
        "plan.builds.extras": tuple(extra for build in builds for extra in build.extras),
        "plan.builds.module": tuple(build.module for build in builds if build.module),
        "plan.builds.pins": tuple(pin for build in builds for pin in build.pins),
        "plan.constraints": plan.constraints,
        "plan.system": plan.system,
        "plan.base_image.python_from": (base.python_from,) if base else (),
        "plan.driver.package": (plan.driver.package,) if plan.driver.package else (),
        "plan.matrix": (plan.matrix,) if plan.matrix else (),
    }
    faults = [
        InputError(f"{key} is {value[:60]!r}", where=where, expected=expected)
        for key, (pattern, expected) in _SOUND.items()
        for value in found[key]
        if not re.fullmatch(pattern, value, re.ASCII)
    ]
    if not builds:
        faults.append(InputError("plan.builds is empty", where=where, expected="what to install"))
    if faults:
        raise InputErrors(faults)
