"""The packages of a search: those asked for, the frameworks that their companions need, and shared dependencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.resolve.knowledge import Knowledge
    from compat.resolve.situation import Situation
    from compat.resolve.wishes import Wish


@dataclass(frozen=True, slots=True)
class Variable:
    """A package: its wishes with their bits, companions that bring it in, and whether a CPU build of it was asked for.

    A wish about a shared dependency is a variable too, with one value that carries nothing but its requirement.
    """

    package: str
    wishes: tuple[tuple[Wish, int], ...]
    followers: tuple[str, ...] = ()
    cpu: bool = False
    bits: int = 0


def variables(target: Situation, known: Knowledge) -> tuple[Variable, ...]:
    """The packages asked for in order, then the frameworks that their companions need, then shared dependencies.

    Frameworks that only companions bring in come after what was asked, so that preference compares them last.
    """
    asked: dict[str, list[tuple[Wish, int]]] = {}
    for wish, bit in target.wishes:
        if not wish.shared:
            asked.setdefault(wish.package, []).append((wish, bit))
    leaders: dict[str, list[str]] = {}
    for package, numbered in asked.items():
        for leader in _leaders(package, numbered[0][0], target, known):
            leaders.setdefault(leader, []).append(package)
    on_cpu = _on_cpu(target, asked, leaders) | set(_plugged(target, leaders, known))
    found = []
    for name in (*asked, *(leader for leader in leaders if leader not in asked)):
        wishes = tuple(asked.get(name, ()))
        bits = sum({bit for _, bit in wishes})
        found.append(Variable(name, wishes, tuple(leaders.get(name, ())), name in on_cpu, bits))
    shared = [Variable(wish.text, ((wish, bit),), bits=bit) for wish, bit in target.wishes if wish.shared]
    return (*found, *shared)


def _leaders(package: str, wish: Wish, target: Situation, known: Knowledge) -> Iterator[str]:
    """The frameworks that a package brings: the one it follows, and those that its newest release asked for requires.

    A framework that has no build for a vendor whose devices the package drives is left out, unless the package is a
    plug-in of it (Ascend, TPU) and the target has such a device.
    """
    row = known.matrix.packages[package]
    if row.follows:
        yield row.follows
    if row.plugs and target.vendors & _makers(package, known):
        yield row.plugs
    if row.kind == "framework":
        return
    for name in known.frameworks_of(wish, target.place):
        if name not in {row.follows, row.plugs} and _makers(package, known) <= _makers(name, known):
            yield name


def _on_cpu(target: Situation, asked: dict[str, list[tuple[Wish, int]]], leaders: dict[str, list[str]]) -> set[str]:
    """Packages of which a CPU build was asked for, by option or by name; a companion goes with its framework."""
    names = {*asked, *leaders}
    named = {package for package, wishes in asked.items() if any(wish.cpu for wish, _ in wishes)}
    if target.cpu:
        return names
    for leader, followers in leaders.items():
        if named.intersection((leader, *followers)):
            named.update((leader, *followers))
    return named


def _plugged(target: Situation, leaders: dict[str, list[str]], known: Knowledge) -> Iterator[str]:
    """Frameworks to which a plug-in brings the target's devices, and what follows them: CPU builds, for want of others.

    Sources: Ascend/pytorch README (torch is the CPU build, torch_npu brings the device), pytorch/xla README.
    """
    for leader, followers in leaders.items():
        plugins = [name for name in followers if known.matrix.packages[name].plugs == leader]
        driven = {vendor for name in plugins for vendor in _makers(name, known)}
        if plugins and target.vendors and target.vendors <= driven:
            yield from (leader, *(name for name in followers if name not in plugins))


def _makers(package: str, known: Knowledge) -> set[str]:
    """Vendors whose devices some build of a package is for."""
    return {option.vendor for option in known.packages.options(package)} - {"", "cpu"}
