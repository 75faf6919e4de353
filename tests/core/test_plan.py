"""Stored answers: replayed byte for byte, and refused with the key that is wrong."""

import json

import pytest

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
