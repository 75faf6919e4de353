"""Machines that differ from a recorded one in a single fault: exactly that fault is told, and the sound twin is left alone.

Each file of ``variants`` holds tables, one machine each. ``like`` names the recording or the variant it differs from,
``without`` what is taken out, every other key is laid over it (``replay.variant``). ``findings`` are the codes of all
errors and warnings in their order, those folded under a cause behind it; ``advice`` are codes of findings that are only
worth knowing. ``wishes`` and ``runs`` are what the person asks for and types.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
import replay

from compat import facts, matrix, rules
from compat.app.hosts import named
from compat.commands import Place, typed
from compat.detect import detect

HERE = Path(__file__).parent
EFI = "8be4df61-93ca-11d2-aa0d-00e098032b8c"  # the same on every machine: EFI's own


VARIANTS = {
    name: said for path in sorted((HERE / "variants").glob("*.toml")) for name, said in replay.document(path).items()
}


def recording(name):
    """A machine by the name of its file, or of its table."""
    if name not in VARIANTS:
        return replay.load(HERE / f"{name}.toml")
    return replay.variant(recording(VARIANTS[name]["like"]).said, {**VARIANTS[name], "expect": expected(name)})


def expected(name):
    return VARIANTS[name].get("expect", {})


@cache
def told(name):
    """The facts of a machine, and every finding with those folded under it, given what the person wants to run."""
    machine, known = recording(name), matrix.matrix()
    report = replay.judged(machine, known)
    return replay.asked(machine, known), [item for root in report.findings for item in (root, *root.consequences)]


@pytest.mark.parametrize("name", VARIANTS)
def test_exactly_the_fault_is_told(name):
    found = [each.code for each in told(name)[1] if each.severity != "info"]
    assert found == VARIANTS[name].get("findings", [])


@pytest.mark.parametrize("name", [name for name, said in VARIANTS.items() if "advice" in said])
def test_what_is_worth_knowing_is_told(name):
    assert set(VARIANTS[name]["advice"]) <= {each.code for each in told(name)[1] if each.severity == "info"}


@pytest.mark.parametrize("name", [name for name, said in VARIANTS.items() if {"findings", "advice"} & said.keys()])
def test_the_sound_twin_raises_none_of_it(name):
    said = VARIANTS[name]
    mine = {*said.get("findings", ()), *said.get("advice", ())} - set(said.get("shared", ()))
    assert mine & {each.code for each in told(said["like"])[1]} == set()


@pytest.mark.parametrize("name", [name for name, said in VARIANTS.items() if "expect" in said])
def test_facts_are_those_it_was_made_for(name):
    document = facts.dump(told(name)[0])
    for key, want in expected(name).items():
        got = document.get(key)
        if key == "gpus":
            assert [{each: gpu.get(each) for each in row} for row, gpu in zip(want, got, strict=True)] == want
        elif isinstance(want, dict):
            assert {each: got.get(each) for each in want} == want
        else:
            assert got == (None if want == "absent" else want), key
            assert want != "absent" or key in document


@pytest.mark.parametrize("name", VARIANTS)
def test_every_finding_rests_on_facts_that_were_read(name):
    for finding in told(name)[1]:
        assert finding.evidence, finding.code
        assert all(item.source for item in finding.evidence), finding.code


EVERY = [*(path.stem for path in sorted(HERE.glob("*.toml"))), *VARIANTS]
"""All recordings and all variants, by name."""


@pytest.mark.parametrize("name", EVERY)
def test_printed_facts_are_judged_as_the_machine_itself(name):
    """What ``envcheck host`` prints, read back by ``--host``, loses nothing that a rule looks at."""
    machine, known = recording(name), matrix.matrix()
    seen = detect(root=machine, run=machine.run)
    read_back = facts.load(json.loads(json.dumps(facts.dump(seen))), "host.json")
    assert rules.judge(named(read_back, known), known) == rules.judge(named(seen, known), known)
    assert facts.dump(read_back) == facts.dump(seen)


@pytest.mark.parametrize("name", EVERY)
def test_printed_facts_name_nobody_and_no_card(name):
    machine = recording(name)
    home = machine.said.get("env", {}).get("HOME", "")
    text = json.dumps(facts.dump(detect(root=machine, run=machine.run)))
    assert not re.search(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", text.replace(EFI, "")), "a UUID"
    assert not re.search(r"(?:/home|/Users|Users\\\\)/?(?!\(user\))\w", text.replace("/home/(user)", "")), "a home"
    assert "secret-host" not in text
    assert not home or home in {"/", "/root"} or home not in text


def test_full_facts_keep_what_the_others_hide():
    machine = recording("two-torches")
    full = json.dumps(facts.dump(detect(root=machine, run=machine.run, full=True), full=True))
    assert "/home/anna/" in full


@pytest.mark.parametrize("name", [name for name, said in VARIANTS.items() if said.get("like", "").startswith("jetson")])
def test_no_board_is_told_to_install_the_driver_of_a_desktop(name):
    """A Jetson's driver comes with its whole system; packages of the desktop's driver would break it."""
    commands = [command for item in told(name)[1] for command in typed(item.fix.changes, Place())]
    assert not [command for command in commands if "ubuntu-drivers" in command or "nvidia-driver" in command]


def test_every_code_is_told_on_a_recorded_machine():
    """A rule that no recording shows is one that nobody has seen at work on a whole machine."""
    assert rules.RULES.keys() - {each.code for name in EVERY for each in told(name)[1]} == set()
