"""Many machines: groups, odd ones out, verdicts that the resolver gives for each alone, and the driver that unifies."""

import io
import json
import re
import subprocess
import tarfile
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as some
from published_schemas import schemas

from compat import cli, resolve
from compat.app import fleet
from compat.app.hosts import from_file
from compat.app.matrices import load
from compat.findings import Stamp
from compat.render.fleet import folded, told
from compat.render.ink import Ink
from compat.survey import dump

H100 = [{"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia", "target": "sm_90"}]
T4 = [{"name": "Tesla T4", "vendor": "nvidia", "target": "sm_75"}]
B200 = [{"name": "NVIDIA B200", "vendor": "nvidia", "target": "sm_100"}]


STAMP = Stamp(version="1", matrix="", seconds=0)


def machine(gpus, driver, **more):
    return {
        "os": "ubuntu22.04",
        "platform": "linux",
        "arch": "x86_64",
        "python": "3.11",
        "driver": driver,
        "gpus": gpus,
    } | more


@pytest.fixture
def folder(tmp_path):
    """A folder of host files by name."""

    def write(**hosts):
        path = tmp_path / "hosts"
        path.mkdir()
        for name, document in hosts.items():
            (path / f"{name}.json").write_text(document if isinstance(document, str) else json.dumps(document))
        return str(path)

    return write


@pytest.fixture
def envcheck(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*words):
        code = cli.run(["fleet", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_the_odd_one_out_is_told_with_what_differs(folder):
    plain = machine(H100 * 8, "550.144.03")
    source = folder(n1=plain, n2=plain, n3=plain, n4={**plain, "driver": "535.104.05"}, n5=machine(T4, "550.144.03"))
    found = fleet.survey([source], (), load())
    assert [group.nodes for group in found.groups] == [("n1", "n2", "n3"), ("n4",), ("n5",)]
    assert found.groups[1].differs == {"driver": ("535.104.05", "550.144.03")}
    assert not found.groups[2].differs  # another GPU is another machine, not an odd one
    assert {node.verdict for node in found.nodes} == {"fits"}


def test_a_lost_card_makes_a_node_odd(folder):
    source = folder(
        n1=machine(H100 * 8, "550.144.03"), n2=machine(H100 * 8, "550.144.03"), n3=machine(H100 * 7, "550.144.03")
    )
    found = fleet.survey([source], (), load())
    assert found.groups[1].differs == {"gpus": ("7 x NVIDIA H100 80GB HBM3", "8 x NVIDIA H100 80GB HBM3")}


FLEET = {
    "a": machine(H100, "550.144.03"),
    "b": machine(T4, "470.82.01"),
    "c": machine(B200, "580.65.06"),
    "d": machine(H100, "470.82.01"),
    "e": machine(T4, "450.80.02"),
}


@pytest.mark.parametrize("wish", ["torch==2.9.1", "torch==2.6.0", "tensorflow==2.18.1"])
def test_each_verdict_is_that_of_the_resolver_for_the_node_alone(folder, wish):
    source = folder(**FLEET)
    found = fleet.survey([source], (wish,), load())
    said = {"plan": "fits", "conflict": "clashes", "unknown": "unknown"}
    for node in found.nodes:
        alone = resolve.resolve((wish,), from_file(f"{source}/{node.name}.json", load()), load())
        assert node.verdict == said[alone.status], node
        assert bool(node.why) is (node.verdict != "fits")
    covered = [name for item in found.plans for name in item.nodes]
    assert sorted(covered) == sorted(node.name for node in found.nodes if node.verdict == "fits")


def test_the_driver_that_unifies_is_one_with_which_the_resolver_finds_one_plan(folder):
    old, new = machine(T4, "450.80.02"), machine(H100, "580.65.06")
    source = folder(a=old, b=new)
    found = fleet.survey([source], ("torch==2.9.1",), load())
    assert [node.verdict for node in found.nodes] == ["clashes", "fits"]
    upgrade = found.upgrade
    assert upgrade
    assert upgrade.nodes == ("a",)
    raised = [fleet.facts.load(document, "t") for document in ({**old, "driver": upgrade.driver}, new)]
    ((_, answer),) = resolve.resolve_many(("torch==2.9.1",), raised, load())
    assert answer.status == "plan"


def test_no_driver_is_named_where_none_helps(folder):
    found = fleet.survey([folder(a=machine(B200, "580.65.06"), b=machine(T4, "580.65.06"))], ("torch==2.0.1",), load())
    assert found.upgrade is None
    assert [node.verdict for node in found.nodes] == ["clashes", "fits"]


def test_findings_of_the_node_itself_count_and_are_not_judged_again(tmp_path, monkeypatch):
    seen = {"code": "driver-library-mismatch", "severity": "error", "detail": "They differ."}
    document = {"schema": "envcheck.doctor/1", "node": "n1", "summary": {"ok": False}, "findings": [seen], "facts": {}}
    unsure = {**document, "node": "n2", "summary": {"ok": None}, "findings": []}
    path = tmp_path / "all.jsonl"
    path.write_text(f"{json.dumps(document)}\n{json.dumps(unsure)}\n")
    monkeypatch.setattr(fleet, "judged", None)
    found = fleet.survey([str(path)], (), load())
    assert [(node.verdict, node.findings) for node in found.nodes] == [
        ("clashes", ("driver-library-mismatch",)),
        ("unknown", ()),
    ]


def test_nodes_that_are_alike_are_judged_once(tmp_path, monkeypatch):
    asked = []
    judged = fleet.judged
    monkeypatch.setattr(fleet, "judged", lambda *given: asked.append(given) or judged(*given))
    items = [
        {"name": f"n{n}", "gres": f"gpu:{'h100' if n % 2 else 't4'}:8", "architecture": "x86_64"} for n in range(500)
    ]
    path = tmp_path / "slurm.json"
    path.write_text(json.dumps({"nodes": items}))
    found = fleet.survey([str(path)], (), load())
    assert (len(found.nodes), len(asked), len(found.groups)) == (500, 2, 2)
    assert found.groups[0].facts["gpus"] == "8 x t4"


def test_a_plan_that_needs_a_driver_proves_nothing_where_nobody_knows_the_driver(folder):
    bare = {key: value for key, value in machine(H100, "").items() if key != "driver"}
    found = fleet.survey([folder(a=bare, b=machine(H100, "550.144.03"))], ("torch==2.9.1",), load())
    assert [node.verdict for node in found.nodes] == ["unknown", "fits"]
    assert "driver is unknown" in found.nodes[0].why
    assert [item.nodes for item in found.plans] == [("b",)]


@pytest.fixture
def image(tmp_path):
    """An archive of ``docker save`` with torch 2.9.1 for CUDA 12.8 in a virtual environment."""
    site = "opt/venv/lib/python3.10/site-packages"
    files = {
        "usr/lib/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\n',
        "opt/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.10.12\n",
        "opt/venv/bin/python3": "",
        f"{site}/torch-2.9.1.dist-info/METADATA": "Name: torch\nVersion: 2.9.1\n",
        f"{site}/torch/version.py": "__version__ = '2.9.1+cu128'\ncuda: str = '12.8'\nhip = None\n",
    }
    config = {"architecture": "amd64", "config": {"Env": ["PATH=/opt/venv/bin:/usr/bin", "VIRTUAL_ENV=/opt/venv"]}}
    manifest = [{"Config": "config.json", "Layers": ["l/layer.tar"]}]
    documents = {"config.json": json.dumps(config), "manifest.json": json.dumps(manifest)}
    path = tmp_path / "image.tar"
    path.write_bytes(archived({**documents, "l/layer.tar": archived(files)}))
    return str(path)


def archived(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            body = data if isinstance(data, bytes) else data.encode()
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return out.getvalue()


def test_whether_an_image_runs_is_known_before_a_node_pulls_it(folder, envcheck, image):
    bare = {key: value for key, value in machine(H100, "").items() if key != "driver"}
    source = folder(new=machine(H100, "550.144.03"), old=machine(T4, "450.80.02"), bare=bare)
    code, out, _ = envcheck(source, "--image", image, "--format", "json")
    nodes = {node["name"]: node for node in json.loads(out)["nodes"]}
    assert code == 1
    assert {name: node["verdict"] for name, node in nodes.items()} == {
        "new": "fits",
        "old": "clashes",
        "bare": "unknown",
    }
    assert "450.80.02" in nodes["old"]["why"]
    assert envcheck(source, "torch", "--image", image)[0] == 2


@pytest.mark.parametrize(
    ("instance", "verdict", "said"),
    [
        ("Standard_NC6s_v3", "clashes", "sm_70"),
        ("Standard_ND96isr_H100_v5", "unknown", "driver is unknown"),
        ("Standard_D4s_v5", "unknown", ""),
    ],
)
def test_an_instance_type_tells_the_gpus_of_a_node_whose_labels_do_not(tmp_path, instance, verdict, said):
    labels = {"kubernetes.io/arch": "amd64", "node.kubernetes.io/instance-type": instance}
    document = {"kind": "Node", "metadata": {"name": "aks-1", "labels": labels}, "status": {}}
    (tmp_path / "nodes.json").write_text(json.dumps({"items": [document]}))
    (node,) = fleet.survey([str(tmp_path / "nodes.json")], ("torch==2.9.1+cu130",), load()).nodes
    assert node.verdict == verdict
    assert said in node.why


def test_of_two_records_of_a_node_the_last_counts(tmp_path):
    path = tmp_path / "all.jsonl"
    lines = [
        {"node": "n1", "schema": "envcheck.doctor/1", "summary": {"ok": ok}, "findings": [], "facts": {}}
        for ok in (None, True)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert [node.verdict for node in fleet.survey([str(path)], (), load()).nodes] == ["fits"]


def test_a_broken_record_is_named_and_the_rest_is_judged(folder, envcheck):
    source = folder(a=machine(H100, "550.144.03"), b='{"driver": "new"}', c="{", d=machine(H100, "550.144.03"))
    code, out, err = envcheck(source, "--format", "json")
    document = json.loads(out)
    assert (code, err) == (3, "")
    assert [node["name"] for node in document["nodes"]] == ["a", "d"]
    assert [("b.json" in item["record"], "c.json" in item["record"]) for item in document["errors"]] == [
        (False, True),
        (True, False),
    ]
    assert "not a version" in document["errors"][1]["why"]


@pytest.mark.parametrize(
    ("wish", "driver", "code"),
    [("torch==2.6.0", "535.104.05", 0), ("torch==2.6.0", "418.40.04", 1), ("torch==0.1.2", "535.104.05", 3)],
)
def test_the_exit_code_tells_whether_all_can_run_it(folder, envcheck, wish, driver, code):
    source = folder(a=machine(H100, "550.144.03"), b=machine(T4, driver))
    found, out, err = envcheck(source, wish)
    assert (found, err) == (code, ""), out


def test_the_document_is_what_its_schema_says(folder, envcheck):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(envcheck(folder(**FLEET, f="{"), "torch==2.9.1", "--format", "json")[1])
    schema = schemas()["envcheck.fleet/1"]
    jsonschema.validate(document, schema)
    assert set(document) <= set(schema["properties"])
    assert document["upgrade"]["plan"]["builds"]
    assert set(document["groups"][0]) == set(schema["properties"]["groups"]["items"]["properties"])


def test_text_and_markdown_tell_who_cannot_and_why(folder, envcheck):
    source = folder(n01=machine(H100, "550.144.03"), n02=machine(H100, "550.144.03"), x=machine(H100, "470.82.01"))
    for format_ in ("text", "markdown"):
        said = " ".join(envcheck(source, "torch==2.9.1", "--format", format_)[1].replace("\\", "").split())
        assert "n[01-02] (2): 1 x NVIDIA H100 80GB HBM3" in said
        assert "x differs: driver 470.82.01, not 550.144.03" in said
        assert "x cannot run it: NVIDIA driver 470.82.01" in said
        assert re.search(r"with driver >?(&#62;)?= [\d.]+ on x one plan serves all: torch==2.9.1", said)


def test_the_page_has_the_counts_on_top_and_loads_nothing(folder, envcheck):
    hosts = {"n01": machine(H100, "550.144.03"), "n02<b>": machine(H100, "470.82.01"), "x": "{"}
    code, page, _ = envcheck(folder(**hosts), "torch==2.9.1", "--format", "html")
    assert code == 1
    assert "<h1>1 can run it, 1 cannot run it, 1 not read</h1>" in page
    assert re.search(r'<li class="mark error">n02&lt;b&gt; cannot run it: NVIDIA driver 470.82.01', page)
    assert "<b>" not in page
    assert not re.search(r"<(script|link|img|iframe)|(src|href)=", page)


@pytest.mark.skipif(not which("promtool"), reason="promtool is not installed")
def test_prometheus_own_checker_takes_it(folder, envcheck):
    text = envcheck(folder(**FLEET), "torch==2.9.1", "--format", "prometheus")[1]
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert 'envcheck_fleet_node{node="a",verdict="fits"} 1' in text


def test_what_doctor_says_to_prometheus_is_read_back_the_same(tmp_path, envcheck, folder):
    source = folder(a=machine(H100, "470.82.01"))
    target = tmp_path / "a.prom"
    cli.run(["doctor", "--host", f"{source}/a.json", "--node", "a", "--format", "prometheus", "--output", str(target)])
    direct, told = (dump(fleet.survey([one], (), load()))["nodes"][0] for one in (source, str(target)))
    assert (told["verdict"], set(told["findings"])) == (direct["verdict"], set(direct["findings"]))


def test_without_a_source_or_with_a_missing_one_it_says_what_is_expected(envcheck):
    for words in ((), ("torch",), ("none.json",)):
        code, out, err = envcheck(*words)
        assert (code, out) == (2, "")
        assert err


def unfolded(text):
    """The names of a folded list, by another way than the folding."""
    names = []
    for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text):
        head, _, rest = part.partition("[")
        if not rest:
            names.append(part)
            continue
        ranges, _, tail = rest.partition("]")
        for run in ranges.split(","):
            first, _, last = run.partition("-")
            width = len(first) if first.startswith("0") or (last and len(first) == len(last)) else 0
            names += [f"{head}{n:0{width}d}{tail}" for n in range(int(first), int(last or first) + 1)]
    return names


@given(some.lists(some.from_regex(r"[a-z]{1,2}-?(?:0?[0-9]{1,3})?[a-z]?", fullmatch=True), unique=True, max_size=30))
def test_folded_names_are_the_same_names(names):
    assert sorted(unfolded(folded(names))) == sorted(names)


SHAPES = [
    {"schema": "envcheck.doctor/1", "summary": {"ok": True}, "findings": [{"code": "a", "severity": "error", "detail": "b"}], "facts": {"driver": "550.1"}},
    {"items": [{"metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "Tesla-T4"}}, "status": {"capacity": {"nvidia.com/gpu": "2"}, "nodeInfo": {"osImage": "Ubuntu 22.04"}}}]},
    {"nodes": [{"name": "n", "gres": "gpu:t4:2", "operating_system": "Linux 6.1.0", "architecture": "x86_64"}]},
    {"data": {"result": [{"metric": {"__name__": "envcheck_gpus", "name": "Tesla T4", "node": "n"}, "value": [1, "2"]}]}},
    {"ansible_facts": {"ansible_distribution": "Ubuntu", "ansible_local": {"envcheck": {"driver": "550.1"}}}},
    {"plays": [{"tasks": [{"hosts": {"n": {"stdout": '{"driver": "550.1"}'}}}]}]},
]  # fmt: skip
JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


def places(document, path=()):
    """Every place in a document."""
    yield path
    parts = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in parts:
        yield from places(value, (*path, key))


@given(some.sampled_from(SHAPES), some.data())
def test_a_damaged_record_is_named_whatever_the_damage(tmp_path_factory, document, data):
    damaged = json.loads(json.dumps(document))
    path = data.draw(some.sampled_from([one for one in places(damaged) if one]))
    target = damaged
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = data.draw(JSON)
    source = tmp_path_factory.mktemp("fleet") / "all.json"
    source.write_text(json.dumps([damaged, {"driver": "550.144.03"}]))
    found = fleet.survey([str(source)], (), load())
    assert dump(found)["nodes"]
    told(found, (), "text", stamp=STAMP, pen=Ink())


@pytest.mark.parametrize("value", [[None], "x", 7, [1, None], [1, "x"]])
def test_a_series_without_a_number_is_no_node(tmp_path, value):
    series = {"metric": {"__name__": "envcheck_gpus", "name": "Tesla T4", "node": "n"}, "value": value}
    source = tmp_path / "all.json"
    source.write_text(json.dumps([{"data": {"result": [series]}}, {"driver": "550.144.03"}]))
    found = dump(fleet.survey([str(source)], (), load()))
    assert [one["why"].partition(":")[0] for one in found["errors"]] == ["not what it looks like"]
    assert len(found["nodes"]) == 1
