"""``envcheck gpu``: products with their numbers, bounds on them, and which of them run a requirement."""

import json

import pytest

from compat.app import hardware
from compat.app.matrices import load
from compat.matrix.rows import Product


@pytest.fixture
def asked(envcheck):
    """The products of a question in JSON."""

    def ask(*words):
        code, out, err = envcheck("gpu", *words, "--format", "json")
        assert code == 0, err
        return json.loads(out)["gpus"]

    return ask


# words -> products that must be there, and such that must not
BOUNDS = {
    ("--memory", ">=24", "--vendor", "amd"): (["AMD Radeon RX 7900 XTX"], ["AMD Radeon RX 7900 XT", "NVIDIA L4"]),
    ("--memory", "24", "--vendor", "AMD"): (["AMD Radeon RX 7900 XTX"], ["AMD Radeon RX 7900 XT"]),
    ("--memory", "<8", "--vendor", "nvidia"): (["Tesla M4"], ["NVIDIA L4"]),
    ("--memory", "==16", "--precision", "fp8"): (["NVIDIA GeForce RTX 5080"], ["Tesla T4", "NVIDIA L4"]),
    ("--precision", "fp8"): (["NVIDIA L4", "AMD Instinct MI300X"], ["NVIDIA GeForce RTX 3090", "AMD Instinct MI250X"]),
    ("--precision", "bf16"): (["NVIDIA GeForce RTX 3090"], ["NVIDIA GeForce RTX 2080 Ti", "Tesla V100-SXM2-32GB"]),
    ("--precision", "fp4"): (["NVIDIA B200"], ["NVIDIA H100 80GB HBM3"]),
}


@pytest.mark.parametrize(("words", "named"), BOUNDS.items(), ids=str)
def test_a_bound_lets_through_what_meets_it(asked, words, named):
    names = {row["name"] for row in asked("list", *words)}
    assert [name for name in named[0] if name not in names] == []
    assert [name for name in named[1] if name in names] == []


def test_what_is_not_known_of_a_gpu_passes_no_bound(asked):
    known = {(row["name"], row["target"]) for row in asked("list", "--memory", ">=1")}
    rest = {(row.name, row.target) for row in load(None).table("gpus") if not row.memory_gib}
    assert rest
    assert not known & rest


@pytest.mark.parametrize("requirement", ["torch==2.9.1", "vllm==0.11.0", "tensorflow==2.16.1"])
def test_a_gpu_that_serves_a_requirement_has_a_plan_for_it_and_one_that_does_not_has_none(envcheck, asked, requirement):
    served = {row["target"] for row in asked("list", "--serves", requirement)}
    for name in ("GTX 1080 Ti", "RTX 2080 Ti", "RTX 4090", "MI300X", "RX 5700 XT"):
        _, out, _ = envcheck("resolve", requirement, "--gpu", name, "--format", "json")
        answer = json.loads(out)
        (target,) = {row["target"] for row in asked("show", name)}
        native = answer["status"] == "plan" and {gpu["kernels"] for gpu in answer["plan"]["gpus"]} == {"native"}
        assert (target in served) == native, name


def test_the_best_come_first_and_the_unknown_last(asked):
    for order, field, sign in (("memory", "memory_gib", -1), ("watts", "watts", 1), ("bandwidth", "bandwidth_gbs", -1)):
        values = [row[field] for row in asked("list", "--vendor", "nvidia", "--sort", order)]
        known = [value for value in values if value]
        assert known == sorted(known, key=lambda value: sign * value)
        assert not any(values[len(known) :])
    rates = [row["rates"].get("bf16", 0) for row in asked("list", "--memory", ">=80", "--sort", "bf16")]
    assert rates == sorted(rates, reverse=True)


def test_one_product_is_told_as_the_matrix_shows_it(envcheck):
    assert envcheck("gpu", "show", "RTX 4090")[1] == envcheck("matrix", "show", "RTX 4090")[1]


FACTS = {
    "Tesla V100-SXM2-32GB": {"architecture": "Volta", "memory_gib": 32, "unified_memory": False, "target": "sm_70"},
    "GTX 1080 Ti": {"cuda": {"first": "8.0", "last": "12.9"}, "architecture": "Pascal"},
    "Jetson AGX Orin": {"unified_memory": True, "arch": "aarch64", "target": "sm_87"},
    "MI300X": {"vendor": "amd", "memory_gib": 192, "rocm": {"first": "6.0"}},
    "p5.48xlarge": {"name": "NVIDIA H100 80GB HBM3"},
    "Arc B580": {"target": "bmg", "vendor": "intel"},
    "NVIDIA H100 80GB HBM3": {"form": "SXM", "pcie": "gen5 x16", "links": 18, "links_gbs": 900, "watts": 700},
    "A800": {"name": "NVIDIA A800-SXM4-80GB", "links_gbs": 400, "watts": 400},
    "L20": {"rates": {"fp32": 59.8, "fp16": 119, "bf16": 119, "fp8": 237}, "pcie": "gen4 x16"},
    "TPU v6e": {"memory_gib": 32, "bandwidth_gbs": 1638, "rates": {"bf16": 918}},
    "NVIDIA A100-SXM4-80GB": {"rates": {"fp32": 19.5, "tf32": 156, "fp16": 312, "bf16": 312}},
}


@pytest.mark.parametrize(("name", "facts"), FACTS.items())
def test_what_is_told_of_a_product(asked, name, facts):
    (row,) = asked("show", name)
    assert {key: row.get(key) for key in facts} == facts


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("p5.48xlarge", "has 8 NVIDIA H100 80GB HBM3"),
        ("GN7.LARGE20", "has 1/4 of one Tesla T4"),
        ("ecs.gn8v-8x.48xlarge", "has 8 NVIDIA H20: the page says 96 GB"),
    ],
)
def test_an_instance_type_tells_how_many_it_has_and_what_its_cloud_leaves_open(envcheck, name, told):
    assert f"note: {name} {told}" in envcheck("gpu", "show", name)[2]


def test_the_end_of_a_card_is_told(asked):
    (row,) = asked("show", "GTX 1080 Ti")
    assert row["driver"]["last"] == "R580"
    assert row["driver"]["end of life"].startswith("20")
    newest = row["frameworks"]["torch"].partition(" ")[0]
    assert asked("list", "--serves", f"torch=={newest}", "--vendor", "nvidia")
    assert "GTX 1080 Ti" in " ".join(one["name"] for one in asked("list", "--serves", f"torch=={newest}"))


def test_sparse_rates_are_told_apart_and_only_of_hardware_that_has_them(asked):
    sparse = {
        name
        for name in ("A100-SXM4-80GB", "RTX 4090", "MI300X", "T4", "MI250X")
        if "sparsity" in asked("show", name)[0]
    }
    assert sparse == {"A100-SXM4-80GB", "RTX 4090", "MI300X"}


def test_every_rate_of_tensor_cores_has_a_document():
    rows = load(None).table("gpus")
    rates = {f"{rate}_tflops" for rate in hardware.RATES} - {"fp32_tflops"}
    assert [row.name for row in rows if rates & set(row.inferred)] == []
    assert [row.name for row in rows if "year" in row.inferred] == []


def test_what_a_person_reads_has_names_of_things_and_not_of_fields(envcheck):
    _, out, _ = envcheck("gpu", "show", "RTX 4090")
    assert "_" not in "".join(line[:24] for line in out.splitlines())
    assert "inferred" not in out
    assert "memory bandwidth (GB/s)  1008" in out


RECOMMENDED = ("torch==2.9.1", "--memory", "24", "--precision", "fp8", "--power", "300", "--limit", "0")


def test_those_that_lack_least_are_recommended_first_and_each_says_what_it_lacks(asked):
    rows = asked("recommend", *RECOMMENDED)
    counts = [len(row["lacks"]) for row in rows]
    assert counts == sorted(counts)
    told = {row["name"]: row["lacks"] for row in rows}
    assert told["NVIDIA L4"] == []
    assert told["NVIDIA GeForce RTX 4090"] == ["450 W, not <=300"]
    assert told["Tesla T4"] == ["16 GiB, not >=24", "no fp8"]
    assert "watts is not known" in told["NVIDIA H800 NVL"]
    best = [row["memory_gib"] for row in rows if not row["lacks"]]
    assert best == sorted(best, reverse=True)
    assert {row["name"] for row in rows} == {row["name"] for row in asked("list", "--serves", "torch==2.9.1")}


def test_a_recommendation_shows_twenty_and_says_how_many_more_there_are(envcheck):
    code, out, err = envcheck("gpu", "recommend", "torch==2.9.1", "--sort", "watts", "--precision", "bf16")
    assert code == 0
    assert len(out.splitlines()) == 23
    assert "more run it: --limit 0 shows all" in err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("vllm", "--vendor", "amd"), "vLLM for amd GPUs is published elsewhere"),
        (("nosuchpackage",), "the matrix has no builds of nosuchpackage"),
        (("tensorrt==10.12.0.36",), "tensorrt 10.12.0.36 (cuda12.0) names no code for"),
        (("lightgbm",), "nothing in this plan has GPU code of its own"),
    ],
)
def test_where_nothing_is_recommended_the_reason_is_said(envcheck, words, why):
    code, out, err = envcheck("gpu", "recommend", *words)
    assert (code, out) == (1, "")
    assert why in err


def test_gpus_are_shown_as_a_page_that_escapes_and_cites(envcheck):
    code, out, _ = envcheck("gpu", "compare", "RTX 4090", "MI300X", "--format", "html")
    assert code == 0
    assert out.startswith("<!doctype html>")
    assert '<th scope="row">memory (GiB)</th><td>24</td><td>192</td>' in out
    assert "ml-engineering" in out
    assert "https://" not in out.split("<h2>Sources</h2>")[0]


def row(**more):
    known = {"name": "D", "vendor": "nvidia", "target": "sm_80", "memory_gib": 24, "bf16_tflops": 100, "year": 2022}
    return Product(**{**known, "source": ("doc",), "how": "documented", "inferred": ("bf16_tflops", "year"), **more})


def test_a_number_that_nobody_saw_is_marked_in_text_and_json():
    one, other = row(), row(name="E", inferred=())
    table = hardware.compared(load(None), (one, other))
    cells = {line.cells[0]: line.cells[1:] for line in table.lines}
    assert cells["dense TFLOP/s, bf16"] == ("100 ?", "100")
    assert cells["year"] == ("2022 ?", "2022")
    assert cells["memory (GiB)"] == ("24", "24")
    hows = {line.cells[0]: line.how for line in hardware.compared(load(None), (one,)).lines}
    assert (hows["dense TFLOP/s, bf16"], hows["memory (GiB)"]) == ("inferred", "documented")
    assert hardware.record(load(None), one)["inferred"] == ["bf16_tflops", "year"]
    assert "2022 ?" in hardware.listing(load(None), (one,)).lines[0].cells


def test_every_product_can_be_told():
    matrix = load(None)
    targets = {}
    for product in matrix.table("gpus"):
        targets.setdefault(product.target, product)
    for product in targets.values():
        told = hardware.record(matrix, product)
        assert told["name"] == product.name
        assert told["source"]


WRONG = [
    (["list", "--memory", "lots"], "'lots' is not a bound"),
    (["list", "--watts", "=>3"], "is not a bound"),
    (["list", "--precision", "fp7"], "expected fp64"),
    (["list", "--vendor", "nvidla"], "expected nvidia"),
    (["list", "--sort", "price"], "expected memory"),
    (["list", "--serves", "torch==99"], "no torch ==99 exists"),
    (["show", "sm_89"], "envcheck matrix show sm_89"),
    (["show", "RTX 6000"], "may be of several kinds"),
    (["show", "RTX 4091"], "did you mean"),
    (["compare", "RTX 4090", "MLU370"], "Cambricon"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_what_cannot_be_read_is_refused_with_what_could(envcheck, words, said):
    code, out, err = envcheck("gpu", *words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_recommendation_marks_what_a_list_marks(envcheck):
    _, out, _ = envcheck("gpu", "recommend", "torch==2.9.1", "--memory", ">=94", "--vendor", "nvidia", "--limit", "0")
    assert "2400 ?" in out  # the bandwidth of the H100 with 94 GiB, as `gpu list` marks it


def test_an_instance_type_is_shown_with_the_driver_of_its_clouds_image(envcheck):
    _, _, err = envcheck("gpu", "show", "p5.48xlarge")
    assert "8 NVIDIA H100 80GB HBM3; Deep Learning OSS Nvidia Driver AMI" in err
    assert "brings driver 580.105.08" in err


def test_a_name_of_several_products_says_which_is_shown(envcheck):
    code, out, err = envcheck("gpu", "show", "A100")
    assert code == 0
    assert out.startswith("NVIDIA A100-SXM4-40GB")
    assert "not NVIDIA A100-SXM4-80GB" in err


def test_a_slice_is_shown_with_what_it_has_and_without_the_rates_of_its_card(envcheck):
    _, out, _ = envcheck("gpu", "show", "H100:1g.10gb", "--format", "json")
    body = json.loads(out)["gpus"][0]
    assert (body["name"], body["memory_gib"]) == ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 10)
    assert (body["bandwidth_gbs"], body["watts"], body["rates"]) == (None, None, {})
    assert not body.keys() & {"links", "mig", "pci"}
    assert "1/7 of the card's processors; a card has at most 7 of them, on one link to the host" in body["notes"]
    code, out, _ = envcheck("gpu", "compare", "H100:1g.10gb", "A100:2g.20gb", "--format", "json")
    assert (code, [gpu["memory_gib"] for gpu in json.loads(out)["gpus"]]) == (0, [10, 20])
    code, _, err = envcheck("gpu", "show", "H100:1g.7gb")
    assert (code, "no MIG profile 1g.7gb" in err) == (2, True)


@pytest.mark.parametrize(
    ("name", "ways"),
    [
        ("H100 PCIe", {"mig", "mps", "time-slicing"}),
        ("Tesla T4", {"mps", "time-slicing"}),
        ("Tesla K10", {"time-slicing"}),
        ("MI300X", set()),
    ],
)
def test_the_ways_to_share_a_gpu_are_those_that_it_has(envcheck, name, ways):
    body = json.loads(envcheck("gpu", "show", name, "--format", "json")[1])["gpus"][0]
    assert set(body.get("sharing", {})) == ways
    if "mig" in ways:
        assert "its own slice alone" in body["sharing"]["mig"]
        assert "all clients" in body["sharing"]["mps"]
