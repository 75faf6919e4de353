"""Plans: resolved for a target, or read back from a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from compat import plan as plans
from compat.app import hosts
from compat.app.files import only_once, read_document, shown
from compat.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Answer, Remedy

PREFERENCES: Final = ("newest", "smallest", "oldest-driver", "stable")


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
    prefer: str = "newest"
    stored: str = ""

    @property
    def described(self) -> bool:
        """Whether options describe the machine, so that this one does not count."""
        return bool(self.gpus or self.driver or self.cuda or self.rocm or self.os or self.arch)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and the machines (names of host files) that it serves; none where there is but one machine."""

    answer: Answer
    hosts: tuple[str, ...] = ()


def replies(requirements: Sequence[str], target: Target, matrix: Matrix) -> tuple[Reply, ...]:
    """The answer for the target's machine; for several, one for all or the fewest that cover them.

    Raises:
        InputError: for anything in the requirements or the target that is malformed, unknown or contradictory.
    """
    from compat import resolve

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
    if len(machines) == 1:
        answer = resolve.resolve(requirements, machines[0], matrix, cpu=target.cpu, prefer=target.prefer)
        return (Reply(_repeatable(answer, target)),)
    found = resolve.resolve_many(requirements, machines, matrix, cpu=target.cpu, prefer=target.prefer)
    return tuple(Reply(answer, tuple(target.hosts[place] for place in places)) for places, answer in found)


def _repeatable(answer: Answer, target: Target) -> Answer:
    """The answer with the rest of the question in the commands of its fixes: which machine, and that the CPU will do.

    The solver knows facts and not where they came from; without the host file, a fix would be tried on this machine.
    """
    words = ["--host", *target.hosts] if target.hosts else []
    return replace(answer, fixes=tuple(_completed(fix, words, cpu=target.cpu) for fix in answer.fixes))


def _completed(fix: Remedy, words: Sequence[str], *, cpu: bool) -> Remedy:
    from shlex import join

    if not fix.command:
        return fix
    more = [*words, *(["--cpu"] if cpu and "--cpu" not in fix.command.split() else [])]
    return replace(fix, command=f"{fix.command} {join(more)}") if more else fix


def machines_of(target: Target, matrix: Matrix) -> tuple[Host, ...]:
    """The machines meant: each host file with the options laid over it, the options alone, or this machine."""
    from compat.resolve.target import from_options

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
        return tuple(options.over(hosts.from_file(name, matrix)) for name in target.hosts)
    return (options if target.described else options.over(hosts.this_machine(matrix)),)


def _stored(requirements: Sequence[str], target: Target) -> Answer:
    if requirements or target.hosts or target.described or target.cpu or target.python:
        raise InputError(
            "--plan replays a stored answer", hint="drop the requirements and target options, or drop --plan"
        )
    answer = plans.load(read_document(target.stored), shown(target.stored))
    if answer.plan is None or answer.status != "plan":
        raise InputError(f"holds no plan but a {answer.status}", where=shown(target.stored))
    return answer
