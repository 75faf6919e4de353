"""Every recorded machine replays to the facts it is known to have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat import facts
from compat.detect import detect

MACHINES = sorted((Path(__file__).parent.parent / "machines").glob("*.toml"))


@pytest.fixture(params=MACHINES, ids=lambda path: path.stem)
def machine(request, replay):
    return replay.load(request.param)


@pytest.fixture
def host(machine):
    return detect(root=machine, run=machine.run)


def subset(part, whole):
    """Whether the tables of a list agree, one by one, in the keys that the expectation names."""
    return len(part) == len(whole) and all(
        {key: row.get(key, "(none)") for key in want} == want for want, row in zip(part, whole, strict=True)
    )


def test_machine_has_the_facts_it_is_known_for(machine, host):
    document = facts.dump(host)
    for name, want in machine.said.get("expect", {}).items():
        got = document.get(name)
        if name == "gpus":
            assert subset(want, got), (name, got)
        elif name == "libraries":
            assert all(any({key: row.get(key) for key in each} == each for row in got) for each in want), got
        elif isinstance(want, dict):
            assert {key: got.get(key) for key in want} == want, name
        elif want == "absent":
            assert host.absent(name), (name, host.reading(name))
        else:
            assert got == want, (name, host.reading(name))


def test_machine_says_why_it_does_not_know_the_rest(machine, host):
    for name, words in machine.said.get("unknown", {}).items():
        reading = host.reading(name)
        assert isinstance(reading, facts.Unknown), (name, reading)
        assert words in reading.why


def test_every_catalogue_name_has_a_reading(host):
    assert set(host) == set(facts.CATALOGUE)


def test_no_detector_failed(host):
    assert [
        host.reading(name).why for name in host if "could not be read: " in getattr(host.reading(name), "why", "")
    ] == []


def test_each_fact_says_where_it_was_read(host):
    assert [name for name in host if host.known(name) and not host.source(name)] == []


def test_document_reads_back_to_the_same_facts(host):
    document = json.loads(json.dumps(facts.dump(host)))
    assert facts.dump(facts.load(document, "replay")) == document


def test_every_recording_names_its_sources():
    import sys

    module = sys.modules["tomllib" if sys.version_info >= (3, 11) else "tomli"]
    for path in MACHINES:
        said = module.loads(path.read_text())
        assert said["title"], path
        assert said["sources"], path
        assert "expect" in said, path


def test_there_are_at_least_twenty_five_machines():
    assert len(MACHINES) >= 25
