"""What a plan says is said once: GPUs alike on one line, and no condition that stands above already."""

from __future__ import annotations

from compat import plan
from compat.render.plan import answer as as_text

CARD = plan.GpuVerdict(name="NVIDIA A100", target="sm_80", kernels="native")
OTHER = plan.GpuVerdict(name="RTX 5090", target="sm_120", kernels="ptx", why="PTX is compiled at first use")
NOTE = "driver 535.54.03 runs it by minor-version compatibility"
CONDITIONS = (NOTE, f"{OTHER.name}: {OTHER.why}", "the machine's architecture is assumed to be x86_64")


def told(*gpus: plan.GpuVerdict) -> str:
    made = plan.Plan(
        runtime="cuda12.8",
        python="3.12",
        driver=plan.DriverNeed(minimum="525.60.13", note=NOTE),
        gpus=gpus,
        conditions=CONDITIONS,
    )
    return as_text(plan.Answer(status="plan", plan=made, conditions=CONDITIONS))


def test_gpus_alike_share_a_line() -> None:
    text = told(*[CARD] * 8, OTHER)
    assert text.count("NVIDIA A100") == 1
    assert "8 x NVIDIA A100 (sm_80): native kernels" in text
    assert "GPU             RTX 5090 (sm_120): PTX" in text


def test_a_condition_that_stands_above_is_not_repeated() -> None:
    text = told(CARD, OTHER)
    assert text.count("by minor-version compatibility") == 1
    assert text.count("PTX is compiled at first use") == 1
    assert "? the machine's architecture is assumed to be x86_64" in text


def test_a_conflict_without_a_way_out_says_so() -> None:
    clash = plan.Conflict((plan.Member("wish", "flash-attn"), plan.Member("matrix", "GPU code alone", "a source")))
    assert "No change near to what was asked was found to work." in as_text(
        plan.Answer(status="conflict", conflicts=(clash,))
    )
    fixed = plan.Answer(status="conflict", conflicts=(clash,), fixes=(plan.Remedy(text="take another", changes={}),))
    assert "No change near" not in as_text(fixed)
