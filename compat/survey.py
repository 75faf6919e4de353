"""What is known of many machines or images together: verdicts, the plans that cover them, and what has no plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, Final, Literal

from compat import plan
from compat.lazy import dataclass

SCHEMA: Final = "envcheck.fleet/1"

Verdict = Literal["fits", "clashes", "unknown"]


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that cannot be read, and why."""

    record: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One node: whether it can run what is asked (without that: whether it is in order), and what was found on it."""

    name: str
    verdict: Verdict
    why: str = ""
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """A group of nodes that are alike.

    Attributes:
        nodes: their names.
        facts: what they have in common.
        differs: where a larger group has the same GPUs, each fact that differs: here, and there.
    """

    nodes: tuple[str, ...]
    facts: Mapping[str, str]
    differs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Covered:
    """Nodes, and the plan that serves all of them."""

    nodes: tuple[str, ...]
    plan: plan.Plan


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The driver with which one plan would serve all: what has to be at least ``driver``, on which nodes."""

    driver: str
    nodes: tuple[str, ...]
    plan: plan.Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What is known of all nodes together."""

    nodes: tuple[Member, ...] = ()
    groups: tuple[Alike, ...] = ()
    plans: tuple[Covered, ...] = ()
    upgrade: Upgrade | None = None
    errors: tuple[Broken, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if a node cannot run it or is in error, else 3 where something could not be told, else 0."""
        verdicts = {node.verdict for node in self.nodes}
        return 1 if "clashes" in verdicts else 3 if self.errors or verdicts != {"fits"} else 0


def dump(fleet: Fleet) -> dict[str, Any]:
    """The ``envcheck.fleet/1`` document."""
    return {
        "schema": SCHEMA,
        "nodes": [asdict(node) for node in fleet.nodes],
        "groups": [asdict(group) for group in fleet.groups],
        "plans": [_planned(item) for item in fleet.plans],
        "upgrade": {"driver": fleet.upgrade.driver, **_planned(fleet.upgrade)} if fleet.upgrade else None,
        "errors": [asdict(item) for item in fleet.errors],
    }


def _planned(item: Covered | Upgrade) -> dict[str, Any]:
    return {"nodes": list(item.nodes), "plan": plan.dump(plan.Answer(status="plan", plan=item.plan))["plan"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One image to build: a name fit for tags and job names, what was asked, the plan, its Dockerfile."""

    name: str
    requirements: tuple[str, ...]
    plan: plan.Plan
    dockerfile: str

    @property
    def platform(self) -> str:
        """Docker's name of the architecture."""
        return self.plan.platforms[0]

    @property
    def answer(self) -> dict[str, Any]:
        """The plan as the document of ``resolve``."""
        return plan.dump(plan.Answer(status="plan", plan=self.plan))

    @property
    def needs_gpu(self) -> bool:
        """Whether verifying it fully needs a device."""
        return self.plan.runtime not in {"cpu", plan.NO_CODE}


@dataclass(frozen=True, slots=True)
class Excluded:
    """A cell that has no plan, and why."""

    name: str
    requirements: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True)
class Grid:
    """All cells of a matrix, in the order of its axes."""

    cells: tuple[Cell, ...]
    excluded: tuple[Excluded, ...] = ()
