"""Host documents: what is accepted, what is refused with which words, and that nothing is lost on the way."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import facts
from compat.errors import InputErrors
from compat.facts import Fact, Gpu, Host, Unknown


def test_a_partial_file_written_by_hand_is_enough():
    machine = facts.load({"driver": "535.54.03", "gpus": ["NVIDIA A100-SXM4-40GB"], "python": 3.11}, "node.toml")
    assert machine.driver == "535.54.03"
    assert machine.gpus == (Gpu(name="NVIDIA A100-SXM4-40GB"),)
    assert machine.python == "3.11"
    assert machine.source("driver") == "node.toml"


def test_absent_unknown_and_present_are_three_things():
    machine = facts.load({"driver": None, "glibc": "2.35", "unknown": {"rocm": "permission denied"}}, "h")
    assert machine.absent("driver")
    assert machine.known("driver")
    assert not machine.known("rocm")
    assert machine.reading("rocm") == Unknown("permission denied", "h")
    assert not machine.absent("rocm")
    assert machine.reading("kernel") == Unknown("not given")
    assert machine.kernel is None


def test_all_faults_are_named_at_once_with_what_was_expected():
    document = {
        "drvier": "1",
        "python": [3],
        "gpus": [{"nmae": "x"}],
        "memory_mib": "many",
        "secure_boot": 1,
        "env": [],
    }
    with pytest.raises(InputErrors) as caught:
        facts.load(document, "h.json")
    text = str(caught.value)
    assert text.count("h.json") == 6
    for words in (
        "unknown fact 'drvier'; expected 'driver'",
        "python: [3] is not a text",
        "unknown key 'nmae'",
        "memory_mib: 'many'",
        "true or false",
    ):
        assert words in text


@pytest.mark.parametrize("notes", [[], "x", {"driver": 1}])
def test_notes_must_be_tables_of_texts(notes):
    with pytest.raises(InputErrors, match="not a table of texts"):
        facts.load({"read": notes}, "h")


@pytest.mark.parametrize("driver", ["abc", "", "v535", "٥٧٠", "-1"])
def test_what_is_no_version_is_refused_where_one_is_compared(driver):
    with pytest.raises(InputErrors, match="is not a version; expected a version such as"):
        facts.load({"driver": driver}, "h")


def test_a_slip_in_our_own_code_is_an_error_and_no_unknown():
    with pytest.raises(KeyError):
        Host().value("drvier")


def test_facts_laid_over_others_win_unless_unknown():
    base = Host({"driver": Fact("535.1", "nvml"), "os": Unknown("denied"), "python": Fact("3.10")})
    over = Host({"driver": Fact("470.1", "option"), "os": Fact("debian12"), "python": Unknown("not asked")}).over(base)
    assert (over.driver, over.source("driver")) == ("470.1", "option")
    assert over.os == "debian12"
    assert over.python == "3.10"


def test_targets_are_listed_once_in_order():
    machine = facts.host(gpus=[{"target": "sm_89"}, {"target": "sm_75"}, {"target": "sm_89"}, {"name": "unknown"}])
    assert machine.targets() == ("sm_89", "sm_75")


def test_records_keep_their_types():
    machine = facts.host(
        builds={"torch": {"runtime": "cuda12.8", "kernels": ["sm_80"], "cxx11_abi": True}},
        libraries=[{"name": "libcudnn.so.9", "loaded": None}],
        gpus=[{"name": "x", "memory_mib": 1024.0, "lost": False}],
    )
    assert machine.builds["torch"].kernels == ("sm_80",)
    assert machine.builds["torch"].cxx11_abi is True
    assert machine.libraries[0].loaded is None
    assert machine.gpus[0].memory_mib == 1024


text = st.text(max_size=12)
values = {
    "text": text.map(str.strip),
    "number": st.integers(-1, 2**40),
    "flag": st.booleans(),
    "texts": st.lists(text.map(str.strip), max_size=3),
    "table": st.dictionaries(text.map(str.strip), text.map(str.strip), max_size=3),
}
named = st.sampled_from([name for name, spec in facts.CATALOGUE.items() if spec.kind in values])


@st.composite
def documents(draw):
    names = draw(st.lists(named, unique=True, max_size=8))
    return {name: draw(st.none() | values[facts.CATALOGUE[name].kind]) for name in names}


@given(documents())
def test_a_document_survives_reading_and_writing(document):
    machine = facts.load(document, "h")
    again = facts.load(json.loads(json.dumps(facts.dump(machine, full=True))), "other")
    assert again == machine


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*facts.CATALOGUE, "read", "unknown", "schema", "zzz"]), junk, max_size=5))
def test_hostile_documents_are_read_or_refused_but_never_crash(document):
    try:
        machine = facts.load(document, "h")
    except InputErrors as error:
        assert str(error)
    else:
        assert set(machine) <= set(facts.CATALOGUE)


def test_every_entry_of_the_catalogue_says_what_it_means():
    assert all(len(spec.meaning) > 8 for spec in facts.CATALOGUE.values())


STATES = [Fact("535.1", "nvml"), Fact(None, "nvml"), Unknown("denied", "nvml")]


@pytest.mark.parametrize(
    ("ours", "theirs", "wins"),
    [
        (Fact("1"), Fact("2"), "ours"),
        (Fact(None), Fact("2"), "ours"),  # a known absence is knowledge
        (Fact("1"), Unknown("w"), "ours"),
        (Unknown("v"), Fact("2"), "theirs"),
        (Unknown("v"), Fact(None), "theirs"),
        (Unknown("v"), Unknown("w"), "ours"),  # the reason of the nearer source is told
    ],
)
def test_which_of_two_readings_wins(ours, theirs, wins):
    merged = Host({"driver": ours}).over(Host({"driver": theirs})).reading("driver")
    assert merged == {"ours": ours, "theirs": theirs}[wins]


def test_what_only_one_side_read_is_kept():
    merged = Host({"driver": Unknown("v")}).over(Host({"os": Fact("debian12")}))
    assert merged.reading("driver") == Unknown("v")
    assert merged.os == "debian12"


@pytest.mark.parametrize(
    ("reading", "known", "absent", "value"),
    [(Fact("535.1"), True, False, "535.1"), (Fact(None), True, True, None), (Unknown("denied"), False, False, None)],
)
def test_the_three_states_of_a_reading(reading, known, absent, value):
    machine = Host({"driver": reading})
    assert (machine.known("driver"), machine.absent("driver"), machine.driver) == (known, absent, value)


@pytest.mark.parametrize("reading", STATES)
def test_checking_leaves_good_readings_as_they_are(reading):
    assert facts.checked({"driver": reading}) == {"driver": reading}


@pytest.mark.parametrize("value", ["N/A", "[Unknown Error]", "", True, ["535"]])
def test_a_version_that_is_none_is_unknown_with_the_place_that_said_it(value):
    found = facts.checked({"driver": Fact(value, "nvidia-smi")})["driver"]
    assert isinstance(found, Unknown)
    assert found.source == "nvidia-smi"
    assert "is not a" in found.why


def test_only_versions_are_checked_for_being_versions():
    reading = Fact("N/A", "uname")
    assert facts.checked({"os": reading}) == {"os": reading}


def test_targets_of_a_machine_without_gpus():
    assert facts.host(gpus=None).targets() == ()
    assert facts.host(gpus=[]).targets() == ()
    assert Host().targets() == ()


def test_a_document_leaves_out_what_records_do_not_say():
    machine = facts.host(
        gpus=[{"name": "x", "memory_mib": 0, "lost": False}],
        builds={"torch": {"runtime": "cpu"}},
        libraries=[{"name": "libcuda.so.1"}],
    )
    document = facts.dump(machine)
    assert document["gpus"] == [{"name": "x", "memory_mib": 0, "lost": False}]  # "no" and zero are said
    assert document["builds"] == {"torch": {"runtime": "cpu"}}
    assert document["libraries"] == [{"name": "libcuda.so.1"}]
    json.dumps(document)


def test_names_follow_the_catalogue_and_not_the_file():
    names = list(facts.CATALOGUE)[:6]
    assert list(Host({name: Fact(None) for name in reversed(names)})) == names


def test_white_space_around_values_is_no_part_of_them():
    machine = facts.host(os=" ubuntu22.04\n", gpus=[" Tesla T4 "], driver=" 535.1 ")
    assert (machine.os, machine.gpus[0].name, machine.driver) == ("ubuntu22.04", "Tesla T4", "535.1")


def test_records_pass_through_as_they_are():
    card = Gpu(name="x", target="sm_89")
    assert facts.host(gpus=[card]).gpus == (card,)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("memory_mib", True, "True is not a number; expected a whole number"),
        ("memory_mib", "1 GiB", "is not a number"),
        ("memory_mib", float("inf"), "inf is not a number"),
        ("gpus", [{"name": "A", "memory_mib": float("nan")}], "nan is not a number"),
        ("memory_mib", 10**30, "is not a number"),
        ("gpus", "Tesla T4", "is not a list; expected a list of GPU names or tables"),
        ("gpus", {"name": "x"}, "is not a list"),
        ("gpus", [3], "is not a table"),
        ("libraries", "libcuda.so", "is not a list"),
        ("libraries", [["x"]], "is not a table"),
        ("builds", ["torch"], "is not a table"),
        ("builds", {"torch": "2.9"}, "is not a table"),
        ("python", True, "is not a text"),
        ("env", {"A": [1]}, "is not a text"),
    ],
)
def test_each_kind_refuses_the_wrong_shape_in_words(name, value, words):
    with pytest.raises(InputErrors) as caught:
        facts.load({name: value}, "h.json")
    assert f"h.json: {name}: " in str(caught.value)
    assert words in str(caught.value)


def test_where_and_why_are_taken_from_the_document():
    machine = facts.load({"driver": "535.1", "read": {"driver": "nvml"}, "unknown": {"os": "no file", "zzz": "x"}}, "h")
    assert machine.source("driver") == "nvml"
    assert machine.reading("os") == Unknown("no file", "h")
    assert list(machine) == [name for name in facts.CATALOGUE if name in {"driver", "os"}]


def test_a_slip_of_the_pen_is_answered_with_the_nearest_name_or_the_command_that_lists_them():
    with pytest.raises(InputErrors, match="expected 'gpus'"):
        facts.load({"gpu": []}, "h")
    with pytest.raises(InputErrors, match="a name that `envcheck host` prints"):
        facts.load({"qqqqqqqqqq": 1}, "h")


@given(documents(), documents())
def test_laying_over_twice_changes_nothing_more(one, two):
    upper, lower = facts.load(one, "a"), facts.load(two, "b")
    once = upper.over(lower)
    assert upper.over(once) == once
    assert upper.over(upper) == upper
    assert set(once.readings) == set(upper.readings) | set(lower.readings)


def test_each_name_is_an_attribute_that_keeps_the_three_states_apart():
    machine = facts.load({"driver": "535.54.03", "engine": None, "unknown": {"rocm": "no such file"}}, "host.json")
    assert (machine.driver, machine.engine, machine.rocm, machine.python) == ("535.54.03", None, None, None)
    assert [machine.known(name) for name in ("driver", "engine", "rocm", "python")] == [True, True, False, False]
    assert all(machine.value(name) == getattr(machine, name) for name in facts.CATALOGUE)
