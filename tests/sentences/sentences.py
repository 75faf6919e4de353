"""Every sentence that people read, by code: findings of doctor and lint, conflicts and remedies of resolve, as text.

:func:`pages` makes them from the tables of the other tests. They stand in ``expected/``, one file per code, to be read
and reviewed; ``pytest tests/sentences --update`` writes them anew.
"""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from textwrap import indent

import own_cases
from rule_cases import FAULTY
from rule_neighbours import SOUND

from compat import sources
from compat.app.doctor import Question, examine, judged
from compat.app.plans import Target, machines_of
from compat.asking import written
from compat.facts import host, plain
from compat.lint import RULES as LINT
from compat.lint import lint
from compat.matrix import matrix
from compat.resolve import resolve
from compat.rules import RULES

EXPECTED = Path(__file__).parent / "expected"
TESTS = Path(__file__).parents[1]
OPTIONS = ("error", "wishes", "commands")


def pages() -> dict[str, str]:
    """File name -> text: ``CODE.txt`` for each code, ``fits.txt``, and ``conflicts-TABLE.txt``."""
    blocks: dict[str, list[str]] = defaultdict(list)
    for code, facts in FAULTY:
        _doctor(blocks, code, facts)
    for title, facts in own_cases.DOCTOR:
        _whole(blocks, title, facts)
    for case in lint_cases():
        _lint(blocks, *case)
    found = {f"{code}.txt": "\n".join(dict.fromkeys(each)) for code, each in blocks.items()}
    return {**found, "fits.txt": _fits(), **dict(_conflicts())}


def codes() -> set[str]:
    """Every code there is."""
    return {*RULES, *LINT}


def _doctor(blocks, code, facts):
    """A case of the doctor: the finding of its code in full, the codes of the others in their order."""
    options = {name: facts[name] for name in OPTIONS if name in facts}
    report = judged(
        host("test", **{name: value for name, value in facts.items() if name not in OPTIONS}), MATRIX, **options
    )
    every = [item for root in report.findings for item in (root, *root.consequences)]
    found = next(item for item in every if item.code == code)
    others = [f"{item.code} ({item.severity}, {item.confidence})" for item in every if item is not found]
    blocks[code].append(_block(f"doctor: {_said(facts)}", found, others))


def _whole(blocks, title, facts):
    """A question to the whole doctor, wishes and reports included; the first finding."""
    facts = dict(facts)
    question = {name: facts.pop(name) for name in (*OPTIONS, "require") if name in facts}
    text = facts.pop("report", "")
    report = (_examined(text, question) if text else _examined_host(facts, question)).findings
    others = [f"{item.code} ({item.severity}, {item.confidence})" for item in report[1:]]
    if not report:
        blocks["nothing"].append(f"## doctor, {title}\n")
        return
    blocks[report[0].code].append(_block(f"doctor, {title}: {_said({**facts, **question})}{text}", report[0], others))


def _examined(text, question):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.txt"
        path.write_text(text, "utf-8")
        return examine(Question(report=str(path), **question), MATRIX)[0]


def _examined_host(facts, question):
    import json
    import tempfile

    wishes = {name: tuple(value) if name == "wishes" else value for name, value in question.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.json"
        path.write_text(json.dumps(facts), "utf-8")
        return examine(Question(host=str(path), **wishes), MATRIX)[0]


def lint_cases():
    """Code, file name, text and GPU of each faulty file in the tables of the tests of lint."""
    for code, text, *rest in _table("lint/test_codes.py", "BAD"):
        yield code, rest[0] if rest else "Dockerfile", text, ""
    for text, code, *_ in _table("lint/test_order.py", "FAULTS"):
        yield code, "Dockerfile", text, ""
    for code, text, *_ in _table("lint/test_neighbours.py", "PAIRS"):
        yield code, "Dockerfile", text, ""
    for file, text, gpu, *_ in _table("lint/test_serving.py", "FAULTS"):
        yield "precision-unsupported", file, text, gpu
    for file, text, *_ in _table("lint/test_serving.py", "CROWDED"):
        yield "gpus-too-few", file, text, ""


def _lint(blocks, code, file, text, gpu):
    """A case of lint: the findings of its code."""
    machine = machines_of(Target(gpus=(gpu,)), MATRIX)[0] if gpu else None
    report = lint(sources.read(text, file), MATRIX, on=machine)
    for found in report.findings:
        if found.code == code:
            place = f"{found.place.file}:{found.place.line}" if found.place else file
            blocks[code].append(_block(f"lint, {place}:\n{indent(text.rstrip(), '    ')}", found, []))


def _block(head, found, others):
    """One finding as people read it."""
    lines = [
        f"## {head}",
        f"{found.severity}, {found.confidence}: {found.title}",
        found.detail,
        *(f"  from {item.fact} = {plain(item.value)!r}" for item in found.evidence),
        f"fix: {found.fix.text}",
        *(f"  $ {command}" for command in found.fix.commands),
        *(["beside: " + ", ".join(others)] if others else []),
    ]
    return "\n".join(_without_paths(line) for line in lines) + "\n"


def _without_paths(line):
    """A line without the folder of this run."""
    import re
    import tempfile

    return re.sub(re.escape(tempfile.gettempdir()) + r"/\w+/", "", line)


def _said(facts):
    return ", ".join(f"{name} {value!r}" for name, value in facts.items())


def _fits():
    """What is said to fit on sound facts."""
    told = []
    for _, facts in SOUND:
        options = {name: facts[name] for name in OPTIONS if name in facts}
        rest = {name: value for name, value in facts.items() if name not in OPTIONS}
        fine = [line for line in judged(host("test", **rest), MATRIX, **options).fine if "more checks" not in line]
        if fine:
            told.append("\n".join([f"## {_said(facts)}", *fine]) + "\n")
    return "\n".join(dict.fromkeys(told))


def _conflicts():
    """Conflicts and remedies of the cases of resolve, a page per table."""
    module = _module("resolve/test_cases.py")
    found: dict[str, list[str]] = defaultdict(list)
    for table, case in module.CASES:
        answer = module.answer_to(case)
        asked = f"{' '.join(case['request'])} {case.get('target', '')} {case.get('host', '')}".rstrip()
        found[table].append(_answer(f"{case['name']}: {asked}", answer))
    for request, facts in own_cases.RESOLVE:
        found["own"].append(
            _answer(f"{' '.join(request)} {facts}", written(resolve(request, host("test", **facts), MATRIX)))
        )
    for table, blocks in found.items():
        yield f"conflicts-{table}.txt", "\n".join(filter(None, blocks))


def _answer(head, answer):
    """An answer that is no plan: the reasons, and each way out with its command."""
    if answer.status == "plan":
        return ""
    lines = [f"## {head}", answer.status]
    for conflict in answer.conflicts:
        lines += [f"because {conflict.why}", *(f"  {item.kind}: {item.text}" for item in conflict.members)]
    lines += [f"if {condition}" for condition in answer.conditions]
    for fix in answer.fixes:
        lines += [f"fix: {fix.text}", *(f"  $ {command}" for command in (fix.command, *fix.commands) if command)]
    return "\n".join(lines) + "\n"


@cache
def _module(path):
    """A module of another folder of tests."""
    spec = importlib.util.spec_from_file_location(f"sentences_{Path(path).stem}", TESTS / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _table(path, name):
    return getattr(_module(path), name)


MATRIX = matrix()
