"""The doctor: facts of a machine, a report or an image, an error text, wishes -> findings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.app import gate, hosts
from compat.app.files import is_text, only_once, read_log, shown
from compat.errors import InputError
from compat.findings import Evidence, Finding, Fix, Report, Unchecked, ranked
from compat.lazy import dataclass, pattern
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Unpack

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.plan import Answer
    from compat.rules.engine import Given


_NODE: Final = pattern(r'"kind": ?"Node"')  # as kubectl prints each of its nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the doctor is asked.

    Attributes:
        wishes: requirements that should run on the machine.
        python: another interpreter or environment of this machine.
        host: host file, or ``report``: pasted report, or ``pasted``: its text; none of them means this machine.
        image: container image (an archive on disk, of the engine, or of a registry) that is to run on it.
        error: error text; ``log``: file that holds one.
        select: only these codes; ``ignore``: not these.
        timeout: seconds for all detectors.
        words: words of the command line that a fix must repeat, such as ``--matrix rows.toml``.
        require: subjects that must have been checked and be there, by :data:`compat.app.gate.SUBJECTS`.
        gpus: number of GPUs that must be there.
    """

    wishes: tuple[str, ...] = ()
    python: str = ""
    host: str = ""
    report: str = ""
    pasted: str = ""
    image: str = ""
    error: str = ""
    log: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    timeout: float = 5.0
    words: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    gpus: int = 0


def examine(question: Question, matrix: Matrix) -> tuple[Report, Host]:
    """Findings, and the facts they rest on.

    Raises:
        InputError: if the question contradicts itself or names what cannot be read.
    """
    from compat import rules
    from compat.reading.commands import typed

    _demand_sense(question)
    select, ignore = codes(question.select, rules.RULES), codes(question.ignore, rules.RULES)
    require = gate.required(question.require)
    host, text, length = _patient(question, matrix)
    log, size = read_log(question.log) if question.log else ("", 0)
    error = "\n".join(part for part in (question.error, log if is_text(log) else "", text) if part)
    given: Given = {
        "error": error, "wishes": question.wishes, "commands": typed(error), "select": select, "ignore": ignore
    }  # fmt: skip
    found = judged(host, matrix, asks=length > 0, **given)
    found = _with_files(found, error, matrix, chosen=(select, ignore))
    found = _with_gaps(_with_nodes(found, text), max(length, size, len(error)))
    if question.image and (source := host.reading("image").source).startswith("without "):
        why = Sentence(
            "they were not fetched, for no fact is read there: {names}", names=source.removeprefix("without ")
        )
        found = replace(found, unchecked=(*found.unchecked, Unchecked("layers of the image with other files", why)))
    found = _with_wishes(_with_silence(found, question, log, length), question, host, matrix)
    return gate.demanded(found, host, require=require, gpus=question.gpus), host


def _with_files(found: Report, text: str, matrix: Matrix, *, chosen: tuple[tuple[str, ...], tuple[str, ...]]) -> Report:
    """The report with the errors of the Dockerfiles that its text holds, of codes that are to be told: lint's."""
    from compat.sources.pasted import asks, refused

    missing = tuple(refused(text))
    if "FROM " not in text and not missing:
        return found
    from compat.lint import lint
    from compat.rules import RULES

    sure = {one.code for one in found.findings if one.confidence != "possible"}
    files = (*(ask for ask in asks(text) if ask.kind == "dockerfile"), *missing)
    reports = (lint(ask, matrix, select=chosen[0], ignore=chosen[1]) for ask in files)
    told = ({*RULES, "base-tag-gone"} if missing else {*RULES}) - sure  # of the image's steps parts may be left out
    new = [one for each in reports for one in each.findings if one.severity == "error" and one.code in told]
    rest = [one for one in found.findings if one.code not in {each.code for each in new}]
    return replace(found, findings=ranked((*rest, *new)), questions=()) if new else found


def _with_silence(found: Report, question: Question, log: str, length: int) -> Report:
    """The report with the texts that hold nothing to judge: an empty one, or one that is no text at all."""
    report = question.report or (question.pasted and "the report")
    sizes = {question.log: len(log.strip()) if is_text(log) else -1, report: length}
    why = {0: Sentence("it is empty"), -1: Sentence("it is no text")}
    gaps = tuple(Unchecked(shown(name), why[size]) for name, size in sizes.items() if name and size in why)
    return replace(found, unchecked=(*found.unchecked, *gaps), unanswered=tuple(gap.what for gap in gaps))


def judged(host: Host, matrix: Matrix, *, asks: bool = False, **given: Unpack[Given]) -> Report:
    """The findings about a machine, the first with a fix made for it and tried; see :func:`compat.rules.judge`.

    ``asks``: whether to ask what to run on it where nothing is found, also without an error text.
    """
    from compat.rules.engine import case_of, weighed
    from compat.rules.registry import RULES

    case = case_of(host, matrix, given)
    found = weighed(RULES, case, given)
    if not found.findings and (found.checked or not (asks or given.get("error"))):
        return found
    from compat import fixes
    from compat.app.typeable import typeable

    return typeable(fixes.prescribed(found, case, lambda after: weighed(RULES, case_of(after, matrix, {}), {})), host)


def _with_gaps(found: Report, length: int) -> Report:
    """The report of a text of so many characters that not all of it was read; see :mod:`compat.excerpts`."""
    from compat import excerpts
    from compat.app.files import ENDS, LIMIT

    if length <= excerpts.LONG:
        return found
    why = [Sentence("of lines that differ in numbers only, the first {count} were read", count=excerpts.ALIKE)]
    if length > excerpts.MOST:
        most = f"{excerpts.MOST:,}"
        why.append(Sentence("of over {most} other characters the ends and what tells of a fault were read", most=most))
    if length > LIMIT:
        ends = {"limit": LIMIT >> 20, "size": ENDS >> 20}
        why.append(Sentence("of a file over {limit} MiB no more was read than its first and last {size}", **ends))
    return replace(found, unchecked=(*found.unchecked, *(Unchecked("the rest of the text", one) for one in why)))


def _with_nodes(found: Report, text: str) -> Report:
    """The report of what kubectl prints of several nodes, of which only what all of them say was taken."""
    count = len(_NODE.findall(text))
    why = Sentence("of {count} nodes only what they agree on was taken: `envcheck fleet` tells each", count=count)
    return found if count < 2 else replace(found, unchecked=(*found.unchecked, Unchecked("each node by itself", why)))


def _demand_sense(question: Question) -> None:
    """Refuse options that name two machines, for one of them would be passed over in silence."""
    given = [name for name in ("python", "host", "report", "pasted", "image") if getattr(question, name)]
    if len(given) > 1 and given != ["host", "image"]:
        said = " and ".join(f"--{name}" for name in given)
        raise InputError(f"{said} name two machines", expected="one of them", hint="--host goes with --image alone")
    only_once((question.host, question.report, question.log))


def codes(prefixes: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """The known codes that begin with one of the prefixes.

    Raises:
        InputError: naming the nearest code, for a prefix of none.
    """
    known = tuple(known)
    for prefix in prefixes:
        if not any(code.startswith(prefix) for code in known):
            expected = nearest(prefix, known) or "a code, or its beginning"
            hint = "`envcheck explain` lists them"
            raise InputError(f"no finding {prefix!r}", where="--select/--ignore", expected=expected, hint=hint)
    return tuple(code for code in known if code.startswith(tuple(prefixes))) if prefixes else ()


def nearest(typed: str, known: Iterable[str]) -> str:
    """The code whose beginning comes nearest to what was typed; empty if none comes near."""
    from difflib import SequenceMatcher

    rated = [(SequenceMatcher(None, typed, code[: len(typed) + 1]).ratio(), code) for code in known]
    best = max(rated, default=(0.0, ""))
    return best[1] if best[0] > 0.7 else ""


def _patient(question: Question, matrix: Matrix) -> tuple[Host, str, int]:
    """The machine in question, what a pasted report says beside its facts, and how long it is."""
    if question.pasted:
        return hosts.from_text(question.pasted, matrix)
    if question.report:
        return hosts.from_report(question.report, matrix)
    if question.image:
        return hosts.with_image(question.image, question.host, matrix, timeout=question.timeout), "", 0
    if question.host:
        return hosts.from_file(question.host, matrix), "", 0
    return hosts.this_machine(matrix, python=question.python, timeout=question.timeout), "", 0


def _with_wishes(found: Report, question: Question, host: Host, matrix: Matrix) -> Report:
    """The report with a finding for wishes that this machine cannot meet, or a line that says they fit."""
    if not question.wishes:
        return found
    from compat import resolve

    answer = resolve.resolve(question.wishes, host, matrix)
    if not (question.host or question.report or question.pasted or question.image):
        from compat.app.elsewhere import with_another_gpu

        answer = with_another_gpu(answer, question.wishes, host, matrix)
    text = ", ".join(question.wishes)
    if answer.plan and answer.plan.unjudged:
        gaps = tuple(Unchecked(one, "the matrix has no rows of it") for one in answer.plan.unjudged)
        found = replace(found, unchecked=(*found.unchecked, *gaps))
    match answer.status:
        case "plan" if bool(answer.conditions) and not (host.gpus and host.known("arch")):
            conditions = "; ".join(answer.conditions)
            why = Sentence("{plan} would fit, if: {conditions}", plan=_summary(answer), conditions=conditions)
            return _unanswered(found, Unchecked(Sentence("whether {names} can run", names=text), why))
        case "plan":
            return replace(
                found, fine=(*found.fine, Sentence("{names} can run here: {plan}", names=text, plan=_summary(answer)))
            )
        case "unknown":
            return _unanswered(found, Unchecked(text, "; ".join(answer.conditions)))
        case _:
            return replace(found, findings=ranked((*found.findings, _clash(text, answer, question))))


def _unanswered(found: Report, gap: Unchecked) -> Report:
    """The report with something that was asked for and could not be judged."""
    return replace(found, unchecked=(*found.unchecked, gap), unanswered=(*found.unanswered, gap.what))


def _summary(answer: Answer) -> str:
    """A plan in a line: its runtime and what to install."""
    assert answer.plan is not None
    package = answer.plan.driver.package  # nothing is said to run that needs what the machine does not have by itself
    more = [f"in an image with {package} (forward compatibility)"] if package else []
    return ", ".join([answer.plan.runtime, *(build.requirement for build in answer.plan.builds), *more])


def _clash(text: str, answer: Answer, question: Question) -> Finding:
    """A wish that nothing fulfils, as a finding: the clash as its evidence, the nearest way out as its fix."""
    members = answer.conflicts[0].members if answer.conflicts else ()
    best = answer.fixes[0] if answer.fixes else None
    return Finding(
        code="wish-unsatisfiable",
        severity="error",
        title="What was asked for cannot run on this machine",
        detail=f"{text}: " + "; ".join(member.text for member in members if member.kind != "wish"),
        evidence=tuple(Evidence(member.kind, member.text, member.source) for member in members),
        fix=Fix(best.text, _commands(answer, question)) if best else Fix("See envcheck resolve."),
    )


def _commands(answer: Answer, question: Question) -> tuple[str, ...]:
    """The command of the first fix, if it can be typed for the machine in question: a report or an image is no target.

    Neither is another interpreter of this machine: ``resolve`` takes the release of a Python and not its place.
    """
    if question.report or question.pasted or question.image or question.python:
        return ()
    from compat.asking import Asking, written

    hosts = (question.host,) if question.host else ()
    command = written(answer, Asking(words=question.words), hosts=hosts).fixes[0].command
    return (command,) if command else ()
