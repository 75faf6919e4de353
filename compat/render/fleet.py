"""Many machines told to people: groups, what differs, findings by code, what cannot run where, plans."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Final

from compat.render.ink import Ink, one_line
from compat.render.language import ENGLISH
from compat.render.markdown import escape
from compat.render.monitoring import gauges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from compat.findings import Stamp
    from compat.render.monitoring import Sample
    from compat.survey import Fleet

_STYLES: Final = {"fits": ("green", "fits"), "clashes": ("red bold", "error"), "unknown": ("yellow", "unknown")}
_CLASSES: Final = {"fits": "mark info", "clashes": "mark error", "unknown": "mark warning"}
_SAID: Final = {"fits": "can run it", "clashes": "cannot run it", "unknown": "not known"}
_STATE: Final = {"fits": "in order", "clashes": "in error", "unknown": "not checked"}


def told(found: Fleet, wishes: Sequence[str], form: str, *, stamp: Stamp, pen: Ink) -> str:
    """A fleet in one of text, markdown, html and prometheus."""
    if form == "prometheus":
        return _prometheus(found, stamp)
    sections = list(_sections(found, wishes))
    if form == "html":
        return _page(found, sections, _SAID if wishes else _STATE, stamp)
    if form == "markdown":
        return "\n\n".join(
            "\n".join([f"### {escape(head)}", "", *(f"- {escape(text)}" for _, text in lines)])
            for head, lines in sections
        )
    return "\n\n".join(
        "\n".join([pen("bold", one_line(head)), *(part for style, text in lines for part in _drawn(style, text, pen))])
        for head, lines in sections
    )


def _page(found: Fleet, sections: list[tuple[str, list[Line]]], said: Mapping[str, str], stamp: Stamp) -> str:
    """A page that stands alone: the counts of verdicts on top, then the sections; their words tell without colours."""
    from compat.render.html import filled

    counts = Counter(node.verdict for node in found.nodes)
    parts = [f"{count} {said[verdict]}" for verdict, count in counts.most_common()]
    parts += [f"{len(found.errors)} not read"] * bool(found.errors)
    drawn = [(head, [(_CLASSES.get(style, ""), text) for style, text in lines]) for head, lines in sections]
    return filled("fleet.html.j2", verdict=", ".join(parts) or "No node", sections=drawn, told=stamp.plain())


def _drawn(style: str, text: str, pen: Ink) -> list[str]:
    """A line of a section behind its mark, folded to the paper."""
    first, *rest = pen.wrap(one_line(text), "  ", "      ")
    if style not in _STYLES:
        return [first, *rest]
    color, kind = _STYLES[style]
    return [f"{pen(color, pen.mark(kind))} {first.lstrip()}", *rest]


Line = tuple[str, str]  # style, text


def _sections(found: Fleet, wishes: Sequence[str]) -> Iterator[tuple[str, list[Line]]]:
    """Heads with their lines."""
    yield (
        ENGLISH.counted(len(found.nodes), "node") + ", " + ENGLISH.counted(len(found.groups), "group"),
        [*_groups(found)],
    )
    said = _SAID if wishes else _STATE
    head = f"To run {', '.join(wishes)}" if wishes else "Verdicts"
    kinds: dict[tuple[str, str], list[str]] = {}
    for node in found.nodes:
        kinds.setdefault((node.verdict, node.why), []).append(node.name)
    if kinds:
        lines = [
            (verdict, f"{_some(names)} {said[verdict]}" + (f": {why}" if why else ""))
            for (verdict, why), names in kinds.items()
        ]
        yield head, lines
    if codes := _codes(found):
        yield "Findings", [("", f"{code}: {_some(names)}") for code, names in codes.items()]
    if wishes and (plans := [*_plans(found)]):
        for_all = len(found.plans) == 1 and len(found.plans[0].nodes) == len(found.nodes)
        yield "One plan for all" if for_all else ENGLISH.counted(len(found.plans), "plan"), plans
    if found.errors:
        yield "Not read", [("unknown", f"{item.record}: {item.why}") for item in found.errors]


def _groups(found: Fleet) -> Iterator[Line]:
    """Each group with what its nodes have in common, or with what differs from a larger one."""
    for group in found.groups:
        names = _some(group.nodes)
        if group.differs:
            differs = (f"{fact} {here}, not {there}" for fact, (here, there) in group.differs.items())
            yield "unknown", f"{names} differs: {'; '.join(differs)}"
        else:
            facts = (text if fact == "gpus" else f"{fact} {text}" for fact, text in group.facts.items() if text)
            yield "", f"{names}: {'; '.join(facts) or 'nothing is known'}"


def _codes(found: Fleet) -> dict[str, list[str]]:
    """Code -> names of the nodes that have it, the most frequent first."""
    codes: dict[str, list[str]] = {}
    for node in found.nodes:
        for code in node.findings:
            codes.setdefault(code, []).append(node.name)
    return dict(sorted(codes.items(), key=lambda item: -len(item[1])))


def _plans(found: Fleet) -> Iterator[Line]:
    """Each plan with its nodes and what it needs of their driver; then the driver with which one would do."""
    for item in found.plans:
        builds = ", ".join(build.requirement for build in item.plan.builds)
        need = item.plan.driver
        driver = f", driver >= {need.minimum}" if need.minimum else ""
        if need.package:
            driver = f", in an image with {need.package} (forward compatibility)"
        yield "fits", f"{_some(item.nodes)}: {item.plan.runtime}, Python {item.plan.python}, {builds}{driver}"
    if found.upgrade:
        builds = ", ".join(build.requirement for build in found.upgrade.plan.builds)
        yield (
            "",
            f"with driver >= {found.upgrade.driver} on {_some(found.upgrade.nodes)} one plan serves all: {builds}",
        )


def _prometheus(found: Fleet, stamp: Stamp) -> str:
    """Gauges for each node, and how many records could not be read."""
    verdicts: list[Sample] = [({"node": node.name, "verdict": node.verdict}, 1) for node in found.nodes]
    findings: list[Sample] = [({"node": node.name, "code": code}, 1) for node in found.nodes for code in node.findings]
    return gauges(
        (
            ("fleet_node", "1 for each node, by its verdict.", verdicts),
            ("fleet_finding", "1 for each finding of a node.", findings),
            ("fleet_groups", "Groups of alike nodes.", [({}, len(found.groups))]),
            ("fleet_unread", "Records that could not be read.", [({}, len(found.errors))]),
            ("fleet_last_run_timestamp_seconds", "When this was written, since 1970.", [({}, stamp.seconds)]),
        )
    )


_LONGEST_NUMBER: Final = 18  # digits; a serial number is no number of a node
_MOST_SHOWN: Final = 100  # characters of a list of nodes; JSON has them all
_NUMBERED: Final = re.compile(r"(.*?)(\d+)(\D*)")


def _some(names: Sequence[str]) -> str:
    """The names, folded and cut where they are too many to read, and their number."""
    text = folded(names)
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN].rpartition(',')[0]},..."
    return f"{shown} ({len(names)})" if len(names) > 1 else shown


def folded(names: Iterable[str]) -> str:
    """Names as cluster tools write them: n1, n2, n3 -> ``n[1-3]``; the order is that of the names.

    >>> folded(["n01", "n02", "n04", "login"])
    'login,n[01-02,04]'
    """
    plain: list[str] = []
    series: dict[tuple[str, str, int], list[int]] = {}
    parts = {name: _NUMBERED.fullmatch(name) for name in names}
    filled = {(one[1], one[3]) for one in parts.values() if one and one[2].startswith("0")}
    for name, one in parts.items():
        if one and len(one[2]) < _LONGEST_NUMBER:
            width = len(one[2]) if (one[1], one[3]) in filled else 0
            series.setdefault((one[1], one[3], width), []).append(int(one[2]))
        else:
            plain.append(name)
    for (head, tail, width), numbers in series.items():
        ranges = _ranges(sorted(set(numbers)), width)
        plain.append(f"{head}[{ranges}]{tail}" if len(numbers) > 1 else f"{head}{ranges}{tail}")
    return ",".join(sorted(plain))


def _ranges(numbers: Sequence[int], width: int) -> str:
    """Numbers as ranges, ``1-3,7``, filled with zeros to the width."""
    runs = [[one for _, one in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
    ends = (f"{run[0]:0{width}d}" + (f"-{run[-1]:0{width}d}" if len(run) > 1 else "") for run in runs)
    return ",".join(ends)
