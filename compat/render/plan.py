"""A resolver's answer as a person reads it: the plan and its driver, or the clash and the nearest ways out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from compat.plan import NO_CODE, Answer, Conflict, GpuVerdict, Member, Plan, Remedy
from compat.render.ink import Ink, columns, one_line, printable, table
from compat.render.language import ENGLISH
from compat.targets import sm

_KERNELS: Final = {
    "native": ("green", "native kernels"),
    "ptx": ("yellow", "{code}, compiled by the driver at first use"),
    "none": ("red", "no kernels"),
    "unknown": ("yellow", "not known"),
}


def answer(given: Answer, *, pen: Ink | None = None, explain: bool = False) -> str:
    """The whole answer.

    ``given``: a plan, a conflict with its ways out, or that what decides is not known. ``explain``: whether to tell for
    each choice of the plan what lost to it and why, and the sources of a clash.
    """
    pen = pen or Ink()
    lines: list[str] = []
    said = pen.words.said
    if given.status == "unknown":
        lines += [pen("yellow bold", f"{pen.mark('unknown')} {said('No answer: what decides is not known.')}"), ""]
    if given.plan:
        lines += plan(given.plan, pen=pen, explain=explain, settled=given.status == "plan")
    if given.status == "conflict":
        lines += _conflicts(given.conflicts, pen, explain=explain)
    told = _told(given.plan) if given.plan else frozenset()
    for condition in given.conditions or (given.plan.conditions if given.plan else ()):
        lines += pen.wrap(condition, f"  {pen.mark('unknown')} ", "    ") if condition not in told else []
    if given.fixes:
        lines += ["", pen("bold", said("Each of these works (checked):"))]
        for number, fix in enumerate(given.fixes, 1):
            lines += _fix(number, fix, pen)
    elif given.status == "conflict":
        lines += ["", said("No change near to what was asked was found to work.")]
    lines += _citations(given.conflicts, pen) if explain else []
    return "\n".join(lines)


def _told(chosen: Plan) -> frozenset[str]:
    """Conditions that stand above already, beside the driver or a GPU; a document lists them all in one place."""
    return frozenset((chosen.driver.note, *(f"{one.name}: {one.why}" for one in chosen.gpus)))


def plan(chosen: Plan, *, pen: Ink, explain: bool = False, settled: bool = True) -> list[str]:
    """The plan: what to install on what, what it needs of the host.

    ``settled``: false where the plan is only the nearest one, because a fact that decides is not known.
    """
    said = pen.words.said
    runtime = said("no GPU code") if chosen.runtime == NO_CODE else chosen.runtime
    head = printable(f"{runtime}, Python {chosen.python}, {', '.join(chosen.archs)}")
    rows = [
        (
            printable(f"{build.full_name}=={build.version}"),
            printable(build.runtime) or said(build.kind),
            printable(build.address.partition("#")[0] or build.index) or said("default index"),
        )
        for build in chosen.builds
    ]
    lines = [
        pen("green bold", f"{pen.mark('fits')} {head}")
        if settled
        else pen("yellow bold", f"{pen.mark('unknown')} {said('nearest: ')}{head}"),
        "",
        *table(rows, pen, indent="  "),
        "",
    ]
    facts = [
        ("with it", pin, f"{build.name} needs exactly this" if "==" in pin else f"{build.name} needs it")
        for build in chosen.builds
        for pin in build.pins
    ]
    if chosen.base_image:
        facts.append(("base image", chosen.base_image.image, chosen.base_image.why))
    if chosen.system:
        facts.append(("from the system", " ".join(chosen.system), ""))
    if chosen.driver.minimum:
        facts.append(("driver", f">= {chosen.driver.minimum}", chosen.driver.note))
    if chosen.driver.package:
        facts.append(("forward", chosen.driver.package, (chosen.env or {}).get("LD_LIBRARY_PATH", "")))
    facts += [("install" if text in chosen.asked else "keep", text, "") for text in chosen.constraints]
    facts += [("install", text, "not judged") for text in chosen.unjudged]
    for label, value, why in facts:
        lines += _fact(label, value, why, pen)
    for verdict, count in Counter(chosen.gpus).items():
        lines += _gpu(verdict, pen, count)
    if explain:
        lines += ["", *_choices(chosen, pen)]
    return lines


def _fact(label: str, value: str, why: str, pen: Ink, *, style: str = "") -> list[str]:
    """A labelled value, and its reason behind it where there is room, else below."""
    value, why = one_line(value), one_line(why)
    first, *rest = [pen(style, line[18:]) if style else line[18:] for line in pen.wrap(value, " " * 18)]
    label = pen.words.said(label)
    told = [f"  {pen('bold', label + ' ' * (16 - columns(label)))}{first}", *(" " * 18 + line for line in rest)]
    if not why or 18 + columns(f"{value}  {why}") <= pen.width:
        return [told[0] + (pen("dim", f"  {why}") if why else ""), *told[1:]]
    return [*told, *(pen("dim", line) for line in pen.wrap(why, " " * 20))]


def _gpu(verdict: GpuVerdict, pen: Ink, count: int = 1) -> list[str]:
    """How one device, or each of several alike, runs the plan: natively, through the driver's compiler, or not."""
    style, words = _KERNELS[verdict.kernels]
    name = f"{verdict.name} ({verdict.target})" if verdict.name != verdict.target else verdict.target
    name = f"{count} x {name}" if count > 1 else name
    told = pen.words.said(words, code="PTX" if sm(verdict.target) else "SPIR-V")
    return _fact("GPU", f"{name}: {told}", verdict.why, pen, style=style)


def _choices(chosen: Plan, pen: Ink) -> list[str]:
    """What was chosen, what lost to it, and why; an order of measures that several choices share is told once."""
    lines, told = [pen("bold", "Why")], ""
    for choice in chosen.choices:
        is_order = "; " in choice.why
        why = "by the order at the end" if is_order else choice.why
        told = choice.why if is_order else told
        lines += pen.wrap(f"{choice.subject}: {choice.chosen}, {why}", "  ", "    ")
        lines += [line for lost in choice.rejected for line in pen.wrap(f"not {lost}", "    - ", "      ")]
    if told:
        lines += ["", pen("bold", "The order, most important first")]
        lines += [line for number, one in enumerate(told.split("; "), 1) for line in pen.wrap(one, f"  {number}. ")]
    return lines


def _conflicts(conflicts: Sequence[Conflict], pen: Ink, *, explain: bool) -> list[str]:
    """Each clash with its members; what explains has a citation as a number, written out once in :func:`_citations`."""
    numbers = _numbered(conflicts) if explain else {}
    proven = any(not conflict.likely for conflict in conflicts)
    said = pen.words.said
    unsure = "" if proven else said(" This is likely and not proven: a row that decides is only inferred.")
    lines = pen.headed("red bold", f"{pen.mark('error')} {said('These do not fit together.')}{unsure}")
    told = _alike(conflicts)
    for number, (conflict, others) in enumerate(told, 1):
        head = said("Clash {number} of {all}", number=number, all=len(told)) if len(told) > 1 else said("The clash")
        lines += ["", pen("bold", head)]
        for member in conflict.members:
            lines += pen.wrap(f"{said(member.kind)}: {member.text}{_marks(member, numbers)}", "  - ", "    ")
        lines += pen.wrap(conflict.why, "  ") if conflict.why else []
        lines += pen.wrap(said("The same holds for {others}.", others=", ".join(others)), "  ") if others else []
    return lines


def _alike(conflicts: Sequence[Conflict]) -> list[tuple[Conflict, list[str]]]:
    """The clashes, each with the wishes of those that say the same of another package."""
    told: dict[tuple[str, ...], tuple[Conflict, list[str]]] = {}
    for conflict in conflicts:
        wishes = [member.text for member in conflict.members if member.kind == "wish"]
        name = re.split(r"[^\w.-]", wishes[0], maxsplit=1)[0] if len(wishes) == 1 else ""
        rest = (f"{one.kind} {one.text}" for one in conflict.members if one.kind != "wish" or not name)
        key = tuple(re.sub(rf"\b{re.escape(name)}\b", "*", text) if name else text for text in rest)
        if key in told:
            told[key][1].append(wishes[0])
        else:
            told[key] = (conflict, [])
    return list(told.values())


def _cited(member: Member) -> list[str]:
    """The citations of a matrix row; what else has a source names its option or file, which is short."""
    return member.source.split("; ") if member.kind == "matrix" and member.source else []


def _numbered(conflicts: Sequence[Conflict]) -> dict[str, int]:
    """Every citation with its number, in the order in which they are met."""
    cited = [text for conflict in conflicts for member in conflict.members for text in _cited(member)]
    return {text: number for number, text in enumerate(dict.fromkeys(cited), 1)}


def _marks(member: Member, numbers: dict[str, int]) -> str:
    """What stands behind a member: its citations' numbers, or the place it was read."""
    cited = _cited(member)
    if cited:
        marks = ", ".join(str(number) for number in sorted({numbers[text] for text in cited if text in numbers}))
    else:
        marks = member.source
    return f"  [{marks}]" if marks else ""


def _citations(conflicts: Sequence[Conflict], pen: Ink) -> list[str]:
    """The citations written out, one to an entry."""
    entries = [pen.wrap(one_line(text), f"  [{number}] ", "      ") for text, number in _numbered(conflicts).items()]
    head = ["", pen("dim", pen.words.said("Sources"))] if entries else []
    return [*head, *(pen("dim", line) for entry in entries for line in entry)]


def _fix(number: int, fix: Remedy, pen: Ink) -> list[str]:
    """A change that was checked to work, with the command that asks for it; several where it leads to several plans."""
    commands = [one_line(command) for command in (fix.command, *fix.commands) if command]
    return [
        *pen.wrap(_deed(fix, pen), f"  {number}. ", "     "),
        *(pen("cyan", f"     {pen.mark('command')} {text}") for text in commands),
    ]


def _deed(fix: Remedy, pen: Ink) -> str:
    """A remedy in words: its own, or in another language what it changes."""
    said = pen.words.said
    if pen.words is ENGLISH or not fix.changes:
        return fix.text
    changes = fix.changes.items()
    told = (
        said(name) if value == "true" else said("{name} becomes {value}", name=said(name), value=value)
        for name, value in changes
    )
    return said("; ").join(told)
