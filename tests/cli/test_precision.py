"""``resolve --dtype``: a plan only where each GPU has kernels of the number format."""

import json

import pytest

from compat.app.matrices import load
from compat.app.precision import weighed
from compat.plan import Answer

MATRIX = load(None)
FP8, WEIGHTS, HALF = "capability 8.9 on", "--quantization fp8", "--dtype half"
# requirement, GPU, format -> status, and words of the answer
CASES = {
    ("vllm==0.11.0", "RTX 4090", "fp8"): ("plan", []),
    ("vllm==0.11.0", "H100", "float8"): ("plan", []),
    ("vllm==0.11.0", "RTX 3090", "fp8"): ("conflict", [FP8, WEIGHTS, "W8A16"]),
    ("vllm==0.11.0", "A100", "fp8"): ("conflict", [FP8, WEIGHTS]),
    ("vllm==0.11.0", "T4", "fp8"): ("conflict", [FP8]),
    ("vllm==0.11.0", "T4", "bfloat16"): ("conflict", ["capability 8.0 on", HALF]),
    ("vllm==0.11.0", "RTX 3090", "bf16"): ("plan", []),
    ("vllm==0.11.0", "T4", "awq"): ("plan", []),
    ("vllm==0.11.0", "V100", "awq"): ("conflict", ["capability 7.5 on"]),
    ("vllm==0.11.0", "V100", "gptq"): ("plan", []),
    ("vllm==0.11.0", "T4", "int8"): ("plan", []),
    ("vllm==0.32.0", "B200", "nvfp4"): ("plan", []),
    ("vllm==0.32.0", "H100", "nvfp4"): ("conflict", ["capability 10.0 on", "W4A16"]),
    ("vllm==0.32.0", "RTX 3090", "mxfp4"): ("plan", []),
    ("vllm==0.32.0", "T4", "mxfp4"): ("conflict", ["capability 8.0 on"]),
    ("vllm==0.32.0", "H100", "fa3"): ("plan", []),
    ("vllm==0.32.0", "B200", "fa3"): ("conflict", ["9.0 to 9.0"]),
    ("vllm==0.32.0", "A100", "fa3"): ("conflict", ["9.0 to 9.0"]),
    ("vllm==0.32.0", "A100", "fa4"): ("conflict", ["9.0 to 11.0"]),
    ("vllm==0.32.0", "RTX 5090", "fa4"): ("conflict", ["9.0 to 11.0"]),
    ("torch==2.9.1", "A100", "float8_e5m2"): ("conflict", [FP8]),
    ("torch==2.9.1", "MI300X", "float8_e4m3fnuz"): ("plan", []),
    ("torch==2.9.1", "MI300X", "float8_e4m3fn"): ("unknown", ["is not known"]),
    ("vllm==0.11.0", "T4", "marlin"): ("conflict", ["capability 8.0 on"]),
    ("vllm==0.13.0", "T4", "marlin"): ("conflict", ["capability 8.0 on"]),
    ("vllm==0.32.0", "T4", "marlin"): ("plan", []),
    ("vllm==0.11.0", "H100", "nvfp4"): ("conflict", ["capability 10.0 on", "W4A16"]),
    ("vllm==0.8.5", "H100", "nvfp4"): ("conflict", ["capability 10.0 on"]),
    ("transformers==5.23.0", "T4", "fp8"): ("conflict", [FP8, "bfloat16"]),
    ("torch==2.9.1", "A100", "tf32"): ("plan", []),
    ("torch==2.9.1", "T4", "tf32"): ("conflict", ["capability 8.0 on"]),
    ("torch==2.9.1", "MI300X", "fp8"): ("plan", []),
    ("torch==2.9.1", "RX 7900 XTX", "fp8"): ("unknown", ["is not known"]),
    ("torch==2.9.1", "RTX 3090", "fp8"): ("conflict", [FP8]),
    ("transformer-engine==2.5.0", "A100", "fp8"): ("conflict", [FP8]),  # whose wheels have another name
    ("transformer-engine", "H100", "fp8"): ("plan", []),
    ("transformer-engine==2.5.0", "H100", "nvfp4"): ("conflict", ["capability 10.0 on"]),
    ("bitsandbytes", "V100", "int8"): ("conflict", ["capability 7.5 on"]),
    ("bitsandbytes", "T4", "int8"): ("plan", []),
    ("flash-attn==2.8.3", "A100", "fa2"): ("plan", []),
    ("jax==0.6.0", "RTX 3090", "fp8"): ("unknown", ["no row tells"]),
    ("torch==2.6.0", "RTX 5090", "fp8"): ("conflict", ["sm_120"]),  # no plan to begin with
}


@pytest.mark.parametrize(("asked", "expected"), CASES.items(), ids=lambda value: " ".join(map(str, value)))
def test_what_a_gpu_computes_in(envcheck, asked, expected):
    requirement, gpu, dtype = asked
    words = ("resolve", requirement, "--gpu", gpu, "--dtype", dtype)
    code, out, err = envcheck(*words, "--format", "json")
    body = json.loads(out)
    assert (body["status"], code) == (expected[0], {"plan": 0, "conflict": 1, "unknown": 3}[expected[0]]), err
    text = json.dumps(body)
    assert [word for word in expected[1] if word not in text] == []
    plain = " ".join(envcheck(*words)[1].split())
    assert [word for word in expected[1] if word not in plain] == []


def test_a_way_that_needs_a_release_is_told_from_that_release_on(envcheck):
    """Marlin's kernels for FP8 came with vLLM 0.5.1."""
    old = envcheck("resolve", "vllm==0.5.0", "--gpu", "RTX 3090", "--dtype", "fp8")[1]
    new = envcheck("resolve", "vllm==0.5.1", "--gpu", "RTX 3090", "--dtype", "fp8")[1]
    assert FP8 in " ".join(old.split())
    assert WEIGHTS not in old
    assert WEIGHTS in new


def test_several_gpus_are_weighed_each(envcheck):
    code, out, _ = envcheck("resolve", "vllm==0.11.0", "--gpu", "RTX 4090", "--gpu", "RTX 3090", "--dtype", "fp8")
    assert code == 1
    assert "RTX 3090 does not compute in fp8" in " ".join(out.split())
    assert "RTX 4090 does not" not in " ".join(out.split())


def test_no_lock_is_written_where_the_format_does_not_run(envcheck):
    words = ("resolve", "vllm==0.11.0", "--gpu", "RTX 3090", "--dtype", "fp8", "--format", "requirements")
    code, out, err = envcheck(*words)
    assert (code, out) == (1, "")
    assert "8.9" in err


def test_a_format_of_which_nothing_is_known_is_refused(envcheck):
    code, out, err = envcheck("resolve", "vllm", "--gpu", "RTX 3090", "--dtype", "fp7")
    assert (code, out) == (2, "")
    assert "expected awq, bf16, fa2, fa3, fa4, fp8, fp8_e4m3fn, fp8_e4m3fnuz, fp8_e5m2, gptq, int8, marlin" in err


def test_an_answer_without_a_plan_stays_as_it_is():
    answer = Answer(status="unknown", conditions=("why",))
    assert weighed(answer, ("vllm",), "fp8", MATRIX) is answer


def test_native_kernels_are_for_gpus_that_have_units_for_the_format():
    """The rows against the table of capabilities, which other sources fill."""
    for row in MATRIX.table("formats"):
        if row.weights or row.format not in {"fp8", "bf16", "int8"}:
            continue
        first = MATRIX.capability(row.first_cc)
        assert row.format in first.features, row
        assert all(row.format in MATRIX.gfx(target).features for target in row.gfx), row
