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
    assert machine["driver"] == "535.54.03"
    assert machine["gpus"] == (Gpu(name="NVIDIA A100-SXM4-40GB"),)
    assert machine["python"] == "3.11"
    assert machine.source("driver") == "node.toml"


def test_absent_unknown_and_present_are_three_things():
    machine = facts.load({"driver": None, "glibc": "2.35", "unknown": {"rocm": "permission denied"}}, "h")
    assert machine.absent("driver")
    assert machine.known("driver")
    assert not machine.known("rocm")
    assert machine.reading("rocm") == Unknown("permission denied", "h")
    assert not machine.absent("rocm")
    assert machine.reading("kernel") == Unknown("not given")
    assert machine["kernel"] is None


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
        Host()["drvier"]


def test_facts_laid_over_others_win_unless_unknown():
    base = Host({"driver": Fact("535.1", "nvml"), "os": Unknown("denied"), "python": Fact("3.10")})
    over = Host({"driver": Fact("470.1", "option"), "os": Fact("debian12"), "python": Unknown("not asked")}).over(base)
    assert (over["driver"], over.source("driver")) == ("470.1", "option")
    assert over["os"] == "debian12"
    assert over["python"] == "3.10"


def test_targets_are_listed_once_in_order():
    machine = facts.host(gpus=[{"target": "sm_89"}, {"target": "sm_75"}, {"target": "sm_89"}, {"name": "unknown"}])
    assert machine.targets() == ("sm_89", "sm_75")


def test_records_keep_their_types():
    machine = facts.host(
        builds={"torch": {"runtime": "cuda12.8", "kernels": ["sm_80"], "cxx11_abi": True}},
        libraries=[{"name": "libcudnn.so.9", "loaded": None}],
        gpus=[{"name": "x", "memory_mib": 1024.0, "lost": False}],
    )
    assert machine["builds"]["torch"].kernels == ("sm_80",)
    assert machine["builds"]["torch"].cxx11_abi is True
    assert machine["libraries"][0].loaded is None
    assert machine["gpus"][0].memory_mib == 1024


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
    again = facts.load(json.loads(json.dumps(facts.dump(machine))), "other")
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
