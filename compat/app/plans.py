"""Plans: resolved for a target, or read back from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.app import hosts
from compat.app.elsewhere import with_another_gpu
from compat.app.files import only_once
from compat.asking import ASKING, Asking, written
from compat.errors import InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Answer, Plan

PREFERENCES: Final = ("proven", "newest", "smallest", "oldest-driver", "stable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The machine a plan is for, in the words of the command line.

    Attributes:
        hosts: host files.
        gpus: names, PCI ids or kernel targets.
        driver: driver version; ``cuda``, ``rocm``: runtime asked for; ``python``, ``os``, ``arch`` likewise.
        cpu: a CPU build is wanted.
        prefer: one of :data:`PREFERENCES`.
        anywhere: whether the plan is for no machine in particular where none is named, rather than for this one.
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
    anywhere: bool = False

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

    ``image``: whether the plan is for a container, which brings its own Python and C library.

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
        if not target.hosts and not target.cpu:
            answer = with_another_gpu(answer, requirements, machines[0], matrix)
        return (Reply(_repeatable(answer, target, target.hosts)),)
    found = resolve.resolve_many(requirements, machines, matrix, cpu=target.cpu, prefer=target.prefer)
    groups = ((tuple(target.hosts[place] for place in places), answer) for places, answer in found)
    return tuple(Reply(_repeatable(answer, target, names), names) for names, answer in groups)


def _repeatable(answer: Answer, target: Target, names: tuple[str, ...]) -> Answer:
    """The answer with the rest of the question in the commands of its fixes."""
    prefer = "" if target.prefer == PREFERENCES[0] else target.prefer
    return written(answer, target.asking, hosts=names, cpu=target.cpu, prefer=prefer)


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
        return tuple(driver_settled(options.over(hosts.called(name, matrix)), matrix) for name in target.hosts)
    return (options if target.described or target.anywhere else options.over(hosts.this_machine(matrix)),)


def _stored(requirements: Sequence[str], target: Target) -> Answer:
    """A stored answer that holds a plan; whatever is asked beside it would not count, and is refused."""
    if requirements or target.hosts or target.described or target.cpu or target.python:
        raise InputError(
            "--plan replays a stored answer", hint="drop the requirements and target options, or drop --plan"
        )
    from compat.app.stored import stored

    return stored(target.stored)
