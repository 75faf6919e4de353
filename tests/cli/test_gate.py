"""The gate: nothing checked is no pass, what is demanded must be there, and a host file is read as options are."""

import json

import pytest

HEALTHY = """
driver = "580.65.06"
gpus = [{name = "NVIDIA A100-SXM4-40GB", vendor = "nvidia", target = "sm_80"}]
python = "3.11"
"""
BARE = 'os = "ubuntu22.04"\ngpus = []\n'


def asked(envcheck, *words):
    code, out, _ = envcheck("doctor", "--format", "json", *words)
    return code, json.loads(out)


@pytest.mark.parametrize("option", ["--report", "--log"])
def test_a_binary_file_is_refused(envcheck, tmp_path, option):
    (tmp_path / "said").write_bytes(bytes(range(256)) * 64)
    code, out, told = envcheck("doctor", option, str(tmp_path / "said"))
    assert (code, out) == (2, "")
    assert "binary file" in told


@pytest.mark.parametrize("body", [b"", b"  \n\n"])
@pytest.mark.parametrize("option", ["--report", "--log"])
def test_an_empty_text_is_no_pass(envcheck, host_file, tmp_path, body, option):
    (tmp_path / "said").write_bytes(body)
    machine = ("--host", host_file(HEALTHY)) if option == "--log" else ()
    code, document = asked(envcheck, option, str(tmp_path / "said"), *machine)
    assert (code, document["summary"]["ok"]) == (3, None)
    assert document["findings"] == []
    assert any("is empty" in item["why"] for item in document["unchecked"])


def test_a_host_file_that_says_nothing_is_no_pass(envcheck, host_file):
    assert asked(envcheck, "--host", host_file(""))[0] == 3
    assert asked(envcheck, "--host", host_file('os = "ubuntu22.04"'))[0] == 3
    code, document = asked(envcheck, "--host", host_file(HEALTHY))
    assert (code, document["summary"]["ok"]) == (0, True)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 3),
        ("We use torch in the lab.\nIt is fine there.\ntorch==2.0.1\nAsk Ann before you change it!\n", 3),
        ("numpy==1.26.4\n", 0),
        ("torch==2.9.1\n", 0),
    ],
)
def test_lint_of_prose_or_of_nothing_is_no_pass(envcheck, tmp_path, text, code):
    (tmp_path / "requirements.txt").write_text(text)
    assert envcheck("lint", str(tmp_path / "requirements.txt"))[0] == code


@pytest.mark.parametrize(
    ("facts", "words", "code"),
    [
        (HEALTHY, ("--require", "gpu,driver"), 0),
        (HEALTHY, ("--require", "gpu", "--require", "python", "--expect-gpus", "1"), 0),
        (HEALTHY, ("--require", "framework"), 3),  # nobody knows
        (HEALTHY, ("--expect-gpus", "2"), 1),
        (BARE, ("--require", "gpu"), 1),  # known to be absent
        (BARE, ("--require", "driver"), 3),
        (BARE, ("--expect-gpus", "1"), 1),
        ('os = "ubuntu22.04"', ("--expect-gpus", "1"), 3),
        (HEALTHY + '[builds.torch]\nruntime = "cuda12.8"\n', ("--require", "framework"), 0),
        (HEALTHY.replace('"sm_80"', '"sm_80", lost = true'), ("--expect-gpus", "1"), 1),
    ],
)
def test_what_a_gate_demands_must_have_been_checked_and_be_there(envcheck, host_file, facts, words, code):
    found, document = asked(envcheck, "--host", host_file(facts), "--ignore", "gpu-reset-required", *words)
    assert found == code
    assert document["summary"]["ok"] is {0: True, 1: False, 3: None}[code]
    assert ("required-missing" in [item["code"] for item in document["findings"]]) is (code == 1)


def test_a_subject_that_is_none_is_refused(envcheck):
    code, _, err = envcheck("doctor", "--require", "gpus")
    assert code == 2
    assert "gpu, driver, framework" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('os = "ubuntu22.04"\ngpus = [{name = "RTX 4900"}]\n', ":2: gpus[0].name is 'RTX 4900'"),
        ('gpus = [\n  "V100",\n  "V1000",\n]\n', ":3: gpus[1].name is 'V1000'"),
        ('os = "debian12"\n[packages]\nnumpy = "1"\ntorch = 2.9\n', ":4: packages.torch is the number 2.9"),
        ('os = "debian12"\ndrvier = "535.54.03"\n', ":2: unknown fact 'drvier'"),
        ('os = "debian12"\ndriver = "new"\n', ":2: driver: 'new' is not a version"),
        ('{"os": "debian12",\n "gpus": [{"name": "RTX 4900"}]}', ":2: gpus[0].name is 'RTX 4900'"),
    ],
)
def test_a_host_file_is_refused_with_line_key_and_what_was_expected(envcheck, host_file, text, said):
    code, out, err = envcheck("doctor", "--host", host_file(text))
    assert (code, out) == (2, "")
    assert said in err
    assert "expected" in err


def test_a_gpu_that_no_row_knows_passes_where_a_driver_named_it(envcheck, host_file):
    facts = '{"gpus": [{"name": "NVIDIA Tomorrow 1", "vendor": "nvidia", "pci": "10de:ffff"}], "python": "3.11"}'
    assert envcheck("doctor", "--host", host_file(facts))[0] != 2


def test_several_hosts_are_one_section_each_and_the_worst_decides(envcheck, tmp_path):
    faulty = HEALTHY + 'packages = {torch = "2.5.1+cpu"}\n'
    names = [str(tmp_path / name) for name in ("bare.toml", "faulty.toml", "sound.toml")]
    for name, text in zip(names, (BARE, faulty, HEALTHY), strict=True):
        (tmp_path / name).write_text(text)
    hosts = [word for name in names for word in ("--host", name)]
    code, out, _ = envcheck("doctor", *hosts)
    assert code == 1
    assert [line for line in out.splitlines() if line.startswith("== ")] == [f"== {name} ==" for name in names]
    assert out.index(names[1]) < out.index("cpu-only-build") < out.index(names[2])
    code, out, _ = envcheck("doctor", *hosts, "--format", "jsonl")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["node"], bool(line["summary"]["errors"])) for line in lines] == list(
        zip(names, (False, True, False), strict=True)
    )
    assert envcheck("doctor", *hosts[:2], *hosts[4:])[0] == 3  # the first says too little to be checked


@pytest.mark.parametrize("words", [("--format", "json"), ("--script",), ("--report", "x", "--report", "y")])
def test_several_machines_are_refused_where_one_answer_is_one_document(envcheck, host_file, words):
    first = host_file(HEALTHY)
    code, out, told = envcheck("doctor", "--host", first, "--host", first, *words)
    assert (code, out) == (2, "")
    assert "several" in told


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("resolve", "package-without-rows", "--cpu"), 3),
        (("resolve", "package-without-rows", "--cpu", "--format", "requirements"), 3),
        (("dockerfile", "package-without-rows", "--cpu"), 3),
        (("resolve", "torch==2.6.0", "--gpu", "RTX 5090"), 1),
        (("resolve", "torch==2.7.0", "--gpu", "RTX 5090"), 0),
    ],
)
def test_a_wish_of_which_nothing_is_known_is_neither_a_plan_nor_a_conflict(envcheck, words, code):
    assert envcheck(*words)[0] == code


@pytest.mark.parametrize(("count", "told"), [(1, False), (2, True)])
def test_a_list_of_several_nodes_says_that_they_are_not_told_apart(envcheck, tmp_path, count, told):
    nodes = [
        {"kind": "Node", "metadata": {"name": f"n{at}", "labels": {"nvidia.com/gpu.count": "8"}}} for at in range(count)
    ]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": nodes}, indent=4))
    _, body = asked(envcheck, "--report", str(tmp_path / "nodes.json"))
    assert any("`envcheck fleet` tells each" in gap["why"] for gap in body["unchecked"]) is told
