"""The published schemas are tight: a value of another type anywhere in a document, or a key that is gone, is refused."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published_schemas import schemas

from compat import ci, facts, findings, plan, survey
from compat.render import document

jsonschema = pytest.importorskip("jsonschema")

HOST = facts.host(
    "test",
    os="ubuntu22.04",
    driver="535.54.03",
    gpus=[{"name": "NVIDIA A100", "vendor": "nvidia", "target": "sm_80", "memory_mib": 40960}],
    packages={"torch": "2.9.1"},
    builds={"torch": {"runtime": "cuda12.8", "kernels": ["sm_80"]}},
    memory_mib=64000,
    secure_boot=False,
)
FINDING = findings.Finding(
    code="driver-too-old-for-runtime",
    severity="error",
    title="t",
    detail="d",
    evidence=(findings.Evidence("driver", "1", "nvml"),),
    fix=findings.Fix("do", ("type",)),
    sources=("s",),
    consequences=(findings.Finding(code="c", severity="info", title="t", detail="d"),),
    place=findings.Place("Dockerfile", 3),
)
REPORT = findings.Report((FINDING,), ("fits",), (findings.Unchecked("a", "b"),))
PLAN = plan.Plan(
    runtime="cuda12.6",
    python="3.12",
    base_image=plan.BaseImage(image="ubuntu:22.04"),
    builds=(plan.PlannedBuild(name="torch", version="2.9.1", runtime="cuda12.6"),),
    constraints=("numpy<2",),
    env={"A": "b"},
    gpus=(plan.GpuVerdict(name="A100", target="sm_80", kernels="native"),),
    conditions=("assumed",),
)
CONFLICT = plan.Answer(
    status="conflict",
    conflicts=(plan.Conflict((plan.Member("wish", "torch", "s"),), "why"),),
    fixes=(plan.Remedy(text="t", changes={"driver": "1"}, command="envcheck resolve", plans=(PLAN,)),),
)
GRID = survey.Grid(
    (survey.Cell(name="one", requirements=("torch",), plan=PLAN, dockerfile=""),),
    (survey.Excluded("two", ("jax",), "why"),),
)
DOCUMENTS = {
    "host": facts.dump(HOST),
    "doctor": document.report(REPORT, HOST),
    "plan": plan.dump(plan.Answer(status="plan", plan=PLAN)),
    "conflict": plan.dump(CONFLICT),
    "ci": json.loads(ci.document(GRID)),
}
FREE = {"value", "figures", "facts"}
"""Keys whose values are as various as facts are."""


def places(value, path=()):
    """Every place in a document, its root first; what is free in shape is one place."""
    yield path
    if path and path[-1] in FREE:
        return
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield from places(item, (*path, key))


def changed(document, path, make):
    """The document with one place made into something else."""
    made = copy.deepcopy(document)
    if not path:
        return make(made)
    parent = made
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = make(parent[path[-1]])
    return made


def accepts(document, name):
    return jsonschema.Draft202012Validator(schemas()[name]).is_valid(document)


def strange(value):
    """A value of a type that none of ours has at the place of this one."""
    return 12.5 if isinstance(value, (str, list, dict, bool)) or value is None else "text"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_our_documents_are_accepted(name):
    assert accepts(DOCUMENTS[name], DOCUMENTS[name]["schema"])


PLACES = [(name, path) for name in ("doctor", "plan", "conflict", "ci") for path in places(DOCUMENTS[name])]


@pytest.mark.parametrize(("name", "path"), PLACES, ids=lambda value: ".".join(map(str, value)) if value else "")
def test_a_value_of_another_type_is_refused_wherever_it_stands(name, path):
    if path and path[-1] == "value":
        pytest.skip("evidence may be any value")
    whole = DOCUMENTS[name]
    assert not accepts(changed(whole, path, strange), whole["schema"])


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_says_which_it_is(name):
    other = {**DOCUMENTS[name], "schema": "envcheck.other/1"}
    assert not accepts(other, DOCUMENTS[name]["schema"])


PROMISED = {
    (): {"summary", "findings", "facts", "unchecked"},
    ("summary",): {"errors", "warnings", "ok"},
    ("findings", 0): {
        "code",
        "severity",
        "confidence",
        "title",
        "detail",
        "evidence",
        "fix",
        "sources",
        "consequences",
    },
    ("findings", 0, "evidence", 0): {"fact", "value", "source"},
    ("findings", 0, "fix"): {"text", "commands"},
    ("unchecked", 0): {"what", "why"},
}


@pytest.mark.parametrize("path", PROMISED, ids=lambda path: ".".join(map(str, path)) or "document")
def test_what_the_contract_names_may_not_be_missing(path):
    whole = DOCUMENTS["doctor"]
    for key in PROMISED[path]:
        without = changed(whole, path, lambda value, key=key: {k: v for k, v in value.items() if k != key})
        assert not accepts(without, "envcheck.doctor/1"), key


@given(st.sampled_from(sorted(schemas())), st.text(max_size=20), st.integers())
def test_keys_of_a_later_release_are_let_through(name, key, value):
    """Keys are only ever added: a reader with this schema must take what a newer envcheck prints."""
    for whole in DOCUMENTS.values():
        if whole["schema"] == name and key not in schemas()[name]["properties"]:
            assert accepts({**whole, key: value}, name)
