"""What several detectors saw becomes one list of GPUs, what a child process printed becomes values, and names go."""

from __future__ import annotations

import json
import time
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import untrusted
from compat.detect import answers, threads
from compat.detect.gpus import given as handed
from compat.detect.gpus import merge
from compat.detect.machine import Machine
from compat.detect.privacy import veil
from compat.facts import Build, Fact, Gpu, Host, Library, Unknown
from compat.run import Outcome

cards = st.builds(
    Gpu,
    name=st.sampled_from(["", "A", "B"]),
    vendor=st.sampled_from(["nvidia", "amd"]),
    bus=st.sampled_from(["", "0000:01:00.0", "0000:02:00.0", "0001:01:00.0"]),
    driver=st.sampled_from(["", "none", "nvidia"]),
    memory_mib=st.sampled_from([None, 1024, 2048]),
    lost=st.booleans(),
)


@st.composite
def sights(draw):
    """What one detector saw: one card per address, as a bus has them."""
    seen = draw(st.lists(cards, max_size=4, unique_by=lambda gpu: gpu.bus or id(gpu)))
    return Fact(tuple(seen), draw(st.sampled_from(["PCI", "NVML", "KFD"])))


@settings(max_examples=40)
@given(st.lists(sights(), min_size=1, max_size=4))
def test_joining_loses_no_address_and_makes_none_up(seen):
    joined = merge(seen).value
    addresses = [gpu.bus for gpu in joined if gpu.bus]
    assert addresses == sorted({gpu.bus for sight in seen for gpu in sight.value if gpu.bus})
    bare = [gpu for gpu in joined if not gpu.bus]
    assert joined[len(addresses) :] == tuple(bare)
    for vendor in ("nvidia", "amd"):
        most = max(sum(gpu.vendor == vendor and not gpu.bus for gpu in sight.value) for sight in seen)
        assert sum(gpu.vendor == vendor for gpu in bare) <= most


@settings(max_examples=40)
@given(st.lists(sights(), min_size=1, max_size=4))
def test_the_first_who_tells_a_thing_of_a_card_is_believed(seen):
    blank = {part.name: part.default for part in fields(Gpu)}
    for gpu in merge(seen).value:
        told = [each for sight in seen for each in sight.value if each.bus == gpu.bus]
        if not gpu.bus:
            continue
        for name, default in blank.items():
            words = [getattr(each, name) for each in told if getattr(each, name) != default]
            if name == "driver":  # that no driver is bound gives way to one that answered
                words = [word for word in words if word != "none"] or words
            assert getattr(gpu, name) == (words[0] if words else default), name


@settings(max_examples=40)
@given(sights())
def test_what_was_joined_already_stays_as_it_is(seen):
    once = merge([seen])
    assert merge([once, once]).value == once.value


def test_a_card_of_the_registry_is_that_of_nvml_by_its_name():
    nvml = Fact((Gpu(name="RTX 3060", vendor="nvidia", bus="0000:01:00.0", memory_mib=1),), "NVML")
    registry = Fact((Gpu(name="RTX 3060", vendor="nvidia"), Gpu(name="UHD", vendor="intel")), "registry")
    assert [gpu.name for gpu in merge([nvml, registry]).value] == ["RTX 3060", "UHD"]
    assert len(merge([nvml, Fact((Gpu(name="RTX 3060", vendor="amd"),), "registry")]).value) == 2


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        ([], "no detector saw the machine"),
        ([Unknown("/sys is not mounted"), Unknown("other")], "/sys is not mounted"),
        ([Fact((), "KFD"), Unknown("/sys is not mounted")], "/sys is not mounted"),
    ],
)
def test_no_card_is_no_answer_while_a_place_was_not_looked_at(seen, why):
    assert merge(seen).why == why


def test_a_card_that_was_seen_counts_although_another_place_is_closed():
    seen = merge([Unknown("closed"), Fact((Gpu(vendor="amd", bus="0000:03:00.0"),), "PCI")])
    assert (len(seen.value), seen.source) == (1, "PCI")


CARD = Gpu(vendor="nvidia", bus="0000:01:00.0")


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        ((replace(CARD, memory_mib=1), replace(CARD, bus="0000:02:00.0")), 1),
        ((replace(CARD, lost=True), replace(CARD, bus="0000:02:00.0")), 1),
        ((CARD, replace(CARD, bus="0000:02:00.0")), 2),
        ((replace(CARD, memory_mib=1), Gpu(vendor="amd", bus="0000:03:00.0")), 2),
        ((CARD, Gpu(vendor="amd", bus="0000:03:00.0")), 2),
        ((), 0),
    ],
)
def test_a_container_keeps_the_cards_that_the_driver_lists(listed, kept):
    assert len(handed(Fact(listed, "x")).value) == kept
    assert handed(Unknown("closed")) == Unknown("closed")


def machine_that_says(**outcome):
    return Machine(None, lambda argv, **_: Outcome(**{"code": 0, **outcome}), time.monotonic() + 5)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ({"out": '{"init": "ok"}\n'}, {"init": "ok", "failed": ""}),
        ({"out": 'noise\n{"init": "ok"}\n{"init": "late"}\nmore noise\n'}, {"init": "late", "failed": ""}),
        (
            {"out": '{"init": "ok"}\n', "code": -11},
            {"init": "ok", "failed": "the driver's library /d/libx.so crashed (signal 11)"},
        ),
        (
            {"out": '{"init": "ok"}\n', "code": 124, "why": "it did not answer within 4 s"},
            {"init": "ok", "failed": "the driver's library /d/libx.so did not answer within 4 s"},
        ),
        ({"out": "", "code": -6}, "the driver's library /d/libx.so crashed (signal 6)"),
        ({"out": "", "code": 1}, "the driver's library /d/libx.so ended the program that asked it (status 1)"),
        ({"out": "", "code": 0}, "the driver's library /d/libx.so ended the program that asked it (status 0)"),
        (
            {"out": '{"more": true}\n', "code": 0},
            {"more": True, "failed": "the driver's library /d/libx.so ended the program that asked it (status 0)"},
        ),
        ({"out": "[1]\n"}, "the answer is not JSON"),
        ({"out": '{"init": \n'}, "the answer is not JSON"),
        ({"out": '{"a": ' * 5000 + "\n"}, "the answer is not JSON"),
    ],
)
def test_answer_of_a_question_that_may_hang_or_crash(outcome, told):
    found = answers.ask(machine_that_says(**outcome), "nvml.py", "/d/libx.so")
    assert (found.why if isinstance(found, Unknown) else found) == told


@pytest.mark.parametrize(
    ("value", "text", "count", "items"),
    [
        ("NVIDIA A100", "NVIDIA A100", None, []),
        ("  a\nb\x1b[0m\x00 ", "ab[0m", None, []),
        ("x" * 100, "x" * 20, None, []),
        (7, "", 7, []),
        (0, "", 0, []),
        (64, "", 64, []),
        (65, "", None, []),
        (-1, "", None, []),
        (True, "", None, []),
        (7.0, "", None, []),
        (None, "", None, []),
        ([1, "a"], "", None, [1, "a"]),
        ({"a": 1}, "", None, []),
    ],
)
def test_values_of_an_answer_count_only_as_what_they_should_be(value, text, count, items):
    assert (answers.text(value, 20), answers.count(value, 64), untrusted.items(value)) == (text, count, items)


def test_questions_side_by_side_take_as_long_as_the_longest_and_all_answer():
    assert threads.gather({name: lambda name=name: name * 2 for name in "abc"}) == {"a": "aa", "b": "bb", "c": "cc"}


def test_a_slip_in_a_question_is_raised_where_it_was_asked():
    with pytest.raises(ZeroDivisionError):
        threads.gather({"good": lambda: 1, "bad": lambda: 1 // 0})


UUID = "8f1e2c3d-1111-2222-3333-444455556666"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ann/venv/bin/python", "~/venv/bin/python"),
        ("/home/ann", "~"),
        ("/home/anna/venv", "/home/(user)/venv"),
        ("/home/bob:/home/ann/lib:/opt", "/home/(user):~/lib:/opt"),
        ("/Users/bob/Library", "/Users/(user)/Library"),
        ("/data/home/x", "/data/home/x"),
        ("/mnt/Users/x", "/mnt/Users/x"),
        ("C:\\Users\\Ann Lee\\venv", "C:\\Users\\(user)\\venv"),
        ("d:/users/ann", "d:/users/ann"),
        ("D:/Users/ann/venv;C:/x", "D:/Users/(user)/venv;C:/x"),
        ("file '/home/bob/a.py', line 3", "file '/home/(user)/a.py', line 3"),
        (f"GPU-{UUID},MIG-{UUID}", "GPU-(uuid),MIG-(uuid)"),
        (f"MIG-GPU-{UUID}/1/0", "MIG-GPU-(uuid)"),
        (f"x{UUID}", f"x{UUID}"),
        ("535.183.01", "535.183.01"),
        ("", ""),
    ],
)
def test_what_names_a_person_or_a_card_is_veiled(replay, text, shown):
    recording = replay.Recording({"env": {"HOME": "/home/ann/"}})
    host = Host(
        {
            "driver": Fact(text, text),
            "packages": Fact({text: text}, ""),
            "libraries": Fact((Library(name="x", path=text),), ""),
            "builds": Fact({"torch": Build(path=text)}, ""),
            "image": Unknown(text, text),
        }
    )
    veiled = veil(host, Machine(recording, recording.run, 0))
    assert veiled.reading("driver") == Fact(shown, shown)
    assert veiled.packages == {shown: shown}
    assert veiled.libraries[0].path == veiled.builds["torch"].path == shown
    assert veiled.reading("image") == Unknown(shown, shown)
    assert veil(veiled, Machine(recording, recording.run, 0)).readings == veiled.readings


@pytest.mark.parametrize("home", ["", "/", "/root"])
def test_a_home_that_names_nobody_is_no_reason_to_change_a_path(replay, home):
    recording = replay.Recording({"env": {"HOME": home}})
    host = Host({"driver": Fact("/root/venv:/", "x")})
    assert veil(host, Machine(recording, recording.run, 0)).driver == "/root/venv:/"


def test_a_hang_is_told_with_the_facts_that_it_hides(recorded):
    said = {"files": {"/usr/bin/gcc": ""}, "commands": {"gcc -dumpfullversion -dumpversion": {"code": 124, "why": "gcc did not answer within 4.5 s"}}}  # fmt: skip
    host = recorded(said)
    assert host.hung == {"gcc": "gcc did not answer within 4.5 s"}
    assert recorded({}).hung == {}
    assert json.dumps(host.hung)
