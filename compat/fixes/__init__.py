"""Prescriptions: what to do about a finding on this machine, tried before it is told.

A rule names the cause and the general deed. Here the facts make it exact: packages come from the resolver, libraries
from what wheels were seen to bring, and commands in the words of the place. Then the changes are applied to the facts
and judged again: the finding must be gone and no new error there, or the fix is told as not checked.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat.changes import Change, Command, Container, Install, Service, System, Variable, applied, deed, install
from compat.commands import options_of, place_of, suited, typed
from compat.findings import Finding, Fix, Report
from compat.fixes import amd, containers, copies, drivers, extensions, gpu_code, libraries, packages, pythons, toolkits
from compat.fixes.questions import questions
from compat.fixes.subject import Subject, continued
from compat.rules.deeds import filled, spelled
from compat.rules.stack import packages_of, plain
from compat.sentences import Sentence
from compat.versions import admits, requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.rules.case import Case

_LONGEST: Final = 206  # characters of a fix, text and commands: what is longer nobody types


_ABOVE: Final = Fix("The steps above mend this too.")
# Codes of findings -> what mends them.
_FIXES: Final[Mapping[str, Callable[[Subject], Fix | None]]] = {
    "abi-mismatch": extensions.rebuilt,
    "arch-too-new-for-build": gpu_code.code_for_gpu,
    "arch-too-old-for-build": gpu_code.code_for_gpu,
    "build-tools-missing": extensions.unisolated,
    "container-driver-capabilities": containers.computing,
    "container-no-gpu": containers.no_gpu,
    "container-requires-newer-driver": drivers.for_image,
    "cpu-only-build": packages.gpu_build,
    "device-permission": containers.permission,
    "driver-gpu-unsupported-by-branch": drivers.newer,
    "driver-library-mismatch": drivers.own_libraries,
    "driver-too-old-for-runtime": drivers.older_cuda,
    "extension-arch-missing": gpu_code.code_for_gpu,
    "forward-compat-conflict": drivers.compat_libcuda,
    "framework-build-tag-mismatch": packages.companions,
    "framework-pair-mismatch": packages.companions,
    "glibc-too-old": extensions.older_libc,
    "host-compiler-unsupported": toolkits.compiler,
    "jetson-generic-wheel": packages.gpu_build,
    "library-mismatch": copies.mismatched,
    "library-missing": libraries.missing,
    "libstdcxx-too-old": copies.libstdcxx,
    "no-driver": toolkits.no_driver,
    "numpy-abi-mismatch": extensions.numpy,
    "out-of-memory": drivers.memory,
    "platform-unsupported": pythons.metal,
    "python-tag-mismatch": extensions.rebuilt,
    "python-unsupported": pythons.python,
    "rocm-gfx-unsupported": amd.build,
    "rocm-version-mismatch": copies.rocm,
    "toolkit-mismatch-extension": toolkits.matching,
    "toolkit-missing": toolkits.missing,
    "toolkit-too-old-for-arch": toolkits.newer,
    "wrong-vendor-build": packages.gpu_build,
}


def prescribed(report: Report, case: Case, judge: Callable[[Host], Report]) -> Report:
    """The report with a fix of this machine's own in each error and warning, tried where facts tell, and what to ask.

    ``case``: the facts, messages and commands that it was found in. ``judge``: judges a machine by its facts alone.
    """
    said = [one for one in report.findings if one.severity != "info"] or list(report.findings)
    chosen = {id(one) for one in said}
    judge = _once(judge)
    findings: list[Finding] = []
    later = case  # the machine as it is after the fixes above
    for one in report.findings:
        if later is not case and _about(one) in _told(judge(case.host)) - _told(judge(later.host)):
            fix = replace(_ABOVE, checked=True)
        else:
            sharp = _drafted(one, later) if id(one) in chosen else None
            fix = _tried(sharp, one, later.host, judge, later.matrix) if sharp else _unreplayed(one, later)
            same = (before.fix for before in findings if before.fix.commands == fix.commands)
            if fix.commands and any(before.checked == fix.checked for before in same):
                fix = replace(_ABOVE, checked=fix.checked, unchecked=fix.unchecked)
        follow = tuple(replace(item, fix=_unreplayed(item, later)) for item in one.consequences)
        findings.append(replace(one, fix=fix, consequences=follow))
        if fix.checked:
            later = replace(later, host=replayed(later.host, fix.changes, case.matrix) or later.host, derived={})
    return replace(report, findings=tuple(findings), questions=questions(report, case))


def _unreplayed(finding: Finding, case: Case) -> Fix:
    """The rule's own fix of a finding that is not to be tried."""
    return replace(_general(finding, case), changes=())


def _once(judge: Callable[[Host], Report]) -> Callable[[Host], Report]:
    """The same judge, which judges a machine that several fixes start from once."""
    known: list[tuple[Host, Report]] = []

    def remembered(machine: Host) -> Report:
        found = next((report for one, report in known if one is machine), None)
        if found is None:
            found = judge(machine)
            known.append((machine, found))
        return found

    return remembered


def _drafted(finding: Finding, case: Case) -> Fix:
    """The first fix that was not typed already: the message's, the one by the facts, or the rule's own.

    The last of them is told in words where all were; the rule's own is left out where it types nothing and facts tell.
    """
    drafts, own = [*_sharp(finding, case)], _general(finding, case)
    bare = drafts and finding.confidence == "certain" and not own.commands
    every = drafts if bare else [*drafts, own]
    new = next((one for one in every if not _repeats(one, case)), None)
    return new or replace(every[-1], commands=(), changes=())


def _sharp(finding: Finding, case: Case) -> Iterator[Fix]:
    """The fixes by the message and by the facts, where they tell; their changes as commands of the place.

    Those by the facts come first where packages are what the finding rests on.
    """
    subject, ways = Subject(finding, case), [_of_message, _FIXES.get(finding.code)]
    by_packages = any(one.fact.startswith("packages") for one in finding.evidence[:1])
    for prescribe in filter(None, reversed(ways) if by_packages else ways):
        if (fix := prescribe(subject)) is not None:
            told = f"If {subject.named[0].name} is its GPU: {continued(fix.text)}" if subject.named else ""
            moving = (one for one in fix.changes if not isinstance(one, Command | Service))
            moves = any(not getattr(one, "compile", False) for one in moving)
            yield _written(replace(fix, text=told) if told and moves else fix, case)


def _repeats(fix: Fix, case: Case) -> bool:
    """Whether all that a fix types was typed, the release that it gave left out or not, or would move no package."""
    there = packages_of(case.host)
    if fix.changes and all(isinstance(one, Install) and not one.moves(there) for one in fix.changes):
        return True
    done, have = {*map(_bare, case.commands)}, {*there.values()}
    lines = [{_bare(line), *(_bare(line.replace(f"=={one}", "")) for one in have)} for line in fix.commands]
    return bool(lines) and all(line & done for line in lines)


def _bare(line: str) -> str:
    """A command without what changes nothing in it: quotes, the prompt, blanks and whose rights it has."""
    return " ".join(re.sub(r"[\"']", "", line).split()).removeprefix("$ ").removeprefix("sudo ")


def _of_message(subject: Subject) -> Fix | None:
    """What the row of a message says to do, where the message names this cause before any other."""
    code = subject.finding.code
    mended = (one for one in subject.case.signals.telling if one.signal.mends and one.signal.candidates[0] == code)
    mended = (one for one in mended if not (one.signal.installs and extensions.is_isolated(subject)))
    if (heard := next(mended, None)) is None:
        return None
    told = (filled(line, heard.values) for line in heard.signal.types)
    lines = [Command(line, "linux" if line.startswith("sudo ") else "") for line in told]
    tasks = [System(heard.signal.deed)] if heard.signal.deed else []
    name, _, value = heard.signal.sets.partition("=")
    wish = requirement(filled(heard.signal.installs, heard.values))
    changes: list[Change] = [*tasks, *lines, *([Variable(name, value)] if name else [])]
    changes += [install(wish.name, wish.spec)] if wish else []
    fix = Fix(filled(heard.signal.mends, heard.values), changes=suited(changes, subject.host))
    return spelled(fix, subject.host, subject.matrix) if "{" not in fix.text else None


def _general(finding: Finding, case: Case) -> Fix:
    """The rule's own fix of a finding, without what cannot be typed here and what another framework reads."""
    fix, name = finding.fix, Subject(finding, case).framework_name()
    others = {one.of for one in fix.changes if isinstance(one, Variable)} - {"", name}
    changes = tuple(one for one in fix.changes if not (isinstance(one, Variable) and one.of in others))
    return _written(replace(fix, changes=suited(changes, case.host)), case)


def _written(fix: Fix, case: Case) -> Fix:
    """A fix with what is typed for its changes; how to start a container whose image nobody names is told in words."""
    used = (one for change in fix.changes for one in containers.in_use(change, case))
    changes = tuple(packages.with_sources(one, case.matrix) if isinstance(one, Install) else one for one in used)
    bare = [one for one in changes if isinstance(one, Container) and not one.image]
    spoken = ("uv pip",) * any(one.signal.program == "uv" for one in case.signals)
    place = place_of(case.host, (*case.commands, *spoken))
    commands = typed([one for one in changes if one not in bare], place)
    how = next(
        (
            f": {one.engine} {one.command} {said}"
            for one in bare
            if (said := options_of(one)).split()[-1] not in fix.text
        ),
        "",
    )
    text = f"{fix.text.rstrip('.')}{how}." if how and not commands else fix.text
    if place.manager == "nix" and any(isinstance(one, Install) for one in changes):
        text = f"{text.rstrip('.')}, in the Nix expression that makes this Python."
    text = _shortened(text, commands)
    if len(commands) > 2 and _is_long(text, commands) and all(map(deed, changes)):
        text, commands = f"{'; '.join(map(deed, changes))}.", ()  # many long lines are told in words
    return replace(fix, text=text, commands=commands, changes=changes)


def _shortened(text: str, commands: tuple[str, ...]) -> str:
    """The text without its second half where the commands are long: nobody reads both."""
    lead, of, deed = text.rpartition(" is its GPU: ")
    half = f"{lead}{of}{re.split(r'[,:;] ', deed, maxsplit=1)[0].rstrip('.')}."
    shorter = (text, half, "Install this release." if "install" in "".join(commands) else half)
    return next((one for one in shorter if not _is_long(one, commands)), half)


def _is_long(text: str, commands: tuple[str, ...]) -> bool:
    return len("\n".join([text, *commands])) > _LONGEST


def replayed(machine: Host, changes: Sequence[Change], matrix: Matrix) -> Host | None:
    """The machine after the changes, with what the new packages require: pip moves that along, and nothing else.

    ``None`` where one of the changes changes nothing that facts tell.
    """
    after = applied(machine, changes)
    new = [one for change in changes if isinstance(change, Install) and not change.compile for one in change.packages]
    for package in new if after else ():
        rows = matrix.builds_of(package.name, plain(package.version)) if package.version else ()
        mine = [row for row in rows if row.runtime == package.runtime] or rows
        for item in filter(None, (requirement(line) for row in mine[-1:] for line in row.requires)):
            have = packages_of(after).get(item.name, "") if after else ""
            if after and have and not item.marker and admits(item.spec, plain(have)) is False:
                after = applied(after, [install(item.name, item.spec)])
    return after


def _tried(fix: Fix, finding: Finding, host: Host, judge: Callable[[Host], Report], matrix: Matrix) -> Fix:
    """The fix with the outcome of its replay: whether the finding is gone and nothing new is wrong."""
    after = replayed(host, fix.changes, matrix)
    if after is None:
        return replace(fix, checked=False, unchecked="it changes what envcheck cannot read" if fix.changes else "")
    before, now = judge(host), judge(after)
    if _about(finding) not in _told(before):
        return replace(fix, checked=False, unchecked="only the program itself can show that its message is gone")
    codes = {code for code, _ in _told(now)} if any(isinstance(one, Variable) for one in fix.changes) else set()
    if _about(finding) in _told(now) or finding.code in codes:  # without the variable it rests on other facts
        return replace(fix, checked=False, unchecked="the facts would still show the fault")
    if new := {one.code for one in now.findings if one.severity == "error"} - {one.code for one in before.findings}:
        return replace(
            fix, checked=False, unchecked=Sentence("{codes} would be found then", codes=", ".join(sorted(new)))
        )
    return replace(fix, checked=True)


def _about(finding: Finding) -> tuple[str, frozenset[str]]:
    """What a finding is and what it is about: its code, and the packages and facts it rests on, messages left out."""
    return finding.code, frozenset(item.fact.rpartition(".")[2] for item in finding.evidence) - {"error"}


def _told(report: Report) -> set[tuple[str, frozenset[str]]]:
    """A report's findings but information, with those told under another."""
    every = (one for root in report.findings for one in (root, *root.consequences))
    return {_about(one) for one in every if one.severity != "info"}
