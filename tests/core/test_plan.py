"""Stored answers: replayed byte for byte, and refused with the key that is wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import plan
from compat.errors import InputError

FULL = plan.Answer(
    status="plan",
    plan=plan.Plan(
        runtime="cuda11.8",
        python="3.10",
        base_image=plan.BaseImage(image="nvidia/cuda:11.8.0-base-ubuntu22.04", os="ubuntu22.04"),
        builds=(
            plan.PlannedBuild(name="torch", version="2.0.1+cu118", runtime="cuda11.8", cuda_from="wheel"),
            plan.PlannedBuild(name="jax", version="0.4.30", extras=("cuda12",), pins=("jax-cuda12-plugin==0.4.30",)),
        ),
        gpus=(plan.GpuVerdict(name="A100", target="sm_80", kernels="native"),),
        env={"B": "2", "A": "1"},
    ),
    conflicts=(plan.Conflict((plan.Member("wish", "torch==2.0.1", "argument"),)),),
    fixes=(plan.Remedy(text="driver 525", changes={"driver": "525.60.13"}),),
    conditions=("driver not given",),
)


def test_an_answer_is_replayed_byte_for_byte():
    text = json.dumps(plan.dump(FULL))
    again = plan.load(json.loads(text), "plan.json")
    assert again == FULL
    assert json.dumps(plan.dump(again)) == text


def test_a_bare_plan_is_accepted():
    bare = plan.dump(FULL)["plan"]
    assert plan.load(bare, "p").plan == FULL.plan


def test_requirements_are_spelled_as_pep_508():
    torch, jax = FULL.plan.builds
    assert torch.requirement == "torch==2.0.1+cu118"
    assert jax.requirement == "jax[cuda12]==0.4.30"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda d: d.update(schema="envcheck.resolve/9"), "schema 'envcheck.resolve/9'"),
        (lambda d: d.update(status="maybe"), "status is 'maybe'"),
        (lambda d: d["plan"].pop("runtime"), "keys runtime"),
        (lambda d: d["plan"].update(builds={}), "plan.builds"),
        (lambda d: d["plan"]["builds"].append({"name": 1, "version": "2"}), "plan.builds[2].name"),
        (lambda d: d["plan"]["gpus"][0].update(kernels="maybe"), "plan.gpus[0].kernels"),
        (lambda d: d["plan"].update(env={"A": 1}), "plan.env"),
        (lambda d: d["plan"].update(env={"A": "1", "B": 2}), "plan.env"),
        (lambda d: d["plan"].update(env=["A"]), "plan.env"),
        (lambda d: d["plan"].update(env={"A": "x", "B": "1\nRUN evil"}), "plan.env"),
        (lambda d: d["plan"].update(env={"A\nRUN evil": "1", "B": "x"}), "plan.env"),
        (lambda d: d["plan"]["builds"][0].update(asked="yes"), "plan.builds[0].asked"),
        (lambda d: d["plan"].update(base_image=3), "plan.base_image"),
        (lambda d: d["plan"]["base_image"].pop("image"), "keys image"),
        (lambda d: d["plan"].update(builds=[{}]), "keys name, version"),
        (lambda d: d["conflicts"][0]["members"][0].update(kind="guess"), "conflicts[0].members[0].kind"),
    ],
)
def test_a_spoilt_document_is_refused_by_key(spoil, words):
    document = json.loads(json.dumps(plan.dump(FULL)))
    spoil(document)
    with pytest.raises(InputError) as caught:
        plan.load(document, "plan.json")
    assert words in str(caught.value)
    assert "plan.json" in str(caught.value)


@pytest.mark.parametrize("document", [None, [], "x", 3, {"status": "plan", "plan": 3}])
def test_what_is_no_answer_at_all_is_refused(document):
    with pytest.raises(InputError):
        plan.load(document, "p")


@pytest.mark.parametrize("mark", ["\n", "\r", "\x00", "\x1b[31m", "\x7f", "\x85", "\u2028", "\x1f", "\t"])
def test_no_stored_text_leaves_its_line(mark):
    document = plan.dump(FULL)
    document["plan"]["runtime"] = f"cuda11.8{mark}x"
    with pytest.raises(InputError, match=r"plan\.runtime .*expected one line of text"):
        plan.load(document, "p")


def test_a_text_may_be_long_but_not_without_end():
    document = plan.dump(FULL)
    document["conditions"] = ["é" * 20_000]
    assert plan.load(document, "p").conditions == ("é" * 20_000,)
    document["conditions"] = ["x" * 20_001]
    with pytest.raises(InputError, match=r"conditions\[0\]"):
        plan.load(document, "p")


def test_what_a_fault_quotes_is_short():
    with pytest.raises(InputError) as caught:
        plan.load({"status": "x" * 500}, "p")
    assert len(str(caught.value)) < 160


def test_the_hosts_that_a_fleet_answer_lists_are_not_part_of_the_answer():
    assert plan.load({**plan.dump(FULL), "hosts": [{"file": "a.json"}]}, "p") == FULL


@pytest.mark.parametrize("wrong", ["envcheck.host/1", "", None, 1])
def test_another_schema_is_refused_with_the_way_to_make_the_right_one(wrong):
    with pytest.raises(InputError, match="envcheck resolve REQ --format json"):
        plan.load({**plan.dump(FULL), "schema": wrong}, "p")


def test_the_key_of_a_fault_is_written_from_the_top():
    with pytest.raises(InputError, match=r"^p: plan\.driver\.minimum is '3'; expected str"):
        plan.load({"status": "plan", "plan": {"runtime": "cpu", "python": "3", "driver": {"minimum": 3}}}, "p")


def test_a_plan_without_an_image_has_none_after_replay():
    bare = plan.Answer(status="plan", plan=plan.Plan(runtime="metal", python="3.12"))
    document = plan.dump(bare)
    assert document["plan"]["base_image"] is None
    assert document["plan"]["env"] is None
    assert plan.load(document, "p") == bare


def test_what_a_stored_plan_leaves_out_is_as_the_shortest_plan_has_it():
    loaded = plan.load({"runtime": "cpu", "python": "3.11", "builds": [{"name": "torch", "version": "2.9.1"}]}, "p")
    build = loaded.plan.builds[0]
    assert (build.asked, build.links, build.compile, build.index, build.how) == (True, False, False, "", "measured")
    assert (loaded.plan.arch, loaded.plan.driver.minimum, loaded.plan.gpus) == ("x86_64", "", ())


def test_environment_is_stored_in_one_order():
    two = plan.Answer(status="plan", plan=plan.Plan(runtime="cpu", python="3.11", env={"A": "1", "B": "2"}))
    swapped = plan.Answer(status="plan", plan=plan.Plan(runtime="cpu", python="3.11", env={"B": "2", "A": "1"}))
    assert json.dumps(plan.dump(two)) == json.dumps(plan.dump(swapped))


line = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=20)
plans = st.builds(
    plan.Plan,
    runtime=line,
    python=line,
    base_image=st.none() | st.builds(plan.BaseImage, image=line, os=line),
    builds=st.lists(
        st.builds(
            plan.PlannedBuild,
            name=line,
            version=line,
            extras=st.lists(line, max_size=2).map(tuple),
            pins=st.lists(line, max_size=2).map(tuple),
            cuda_from=st.sampled_from(["wheel", "packages", "system", ""]),
            asked=st.booleans(),
            links=st.booleans(),
            compile=st.booleans(),
            how=st.sampled_from(["measured", "documented", "inferred"]),
        ),
        max_size=2,
    ).map(tuple),
    driver=st.builds(plan.DriverNeed, minimum=line, package=line),
    gpus=st.lists(
        st.builds(
            plan.GpuVerdict,
            name=line,
            target=line,
            kernels=st.sampled_from(["native", "ptx", "none", "unknown"]),
        ),
        max_size=2,
    ).map(tuple),
    env=st.none() | st.dictionaries(line, line, max_size=3),
    choices=st.lists(st.builds(plan.Choice, subject=line, chosen=line), max_size=2).map(tuple),
)


@given(plans)
def test_every_plan_survives_its_document(made):
    answer = plan.Answer(status="plan", plan=made)
    assert plan.load(json.loads(json.dumps(plan.dump(answer))), "p") == answer
