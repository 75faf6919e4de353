"""Every JSON document that the commands print, against its published schema; SARIF against its standard's."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from published_schemas import schemas

jsonschema = pytest.importorskip("jsonschema")
ROOT = Path(__file__).resolve().parents[2]
PTX = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n"
HOST = """
os = "ubuntu22.04"
platform = "linux"
driver = "470.82.01"
gpus = [{name = "NVIDIA A100-SXM4-40GB", vendor = "nvidia", target = "sm_80", driver = "nvidia"}]
packages = {torch = "2.9.1"}
builds = {torch = {runtime = "cuda12.8", kernels = ["sm_80"]}}
"""
# exit code (None where it is this machine's to say), words
ASKED = [
    (0, ["host"]),
    (1, ["doctor", "--host", "HOST"]),
    (1, ["doctor", "torch==2.9.1", "--host", "HOST"]),
    (None, ["doctor", "--error", "no kernel image is available for execution on the device"]),
    (1, ["lint", "DOCKERFILE"]),
    (0, ["resolve", "torch==2.9.1", "--gpu", "A100", "--driver", "570.26"]),
    (1, ["resolve", "torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26"]),
    (1, ["resolve", "torch==2.11.0", "--gpu", "GTX 1080 Ti", "--gpu", "RTX 5090", "--driver", "580.65.06"]),
    (1, ["inspect", "PTX", "--gpu", "V100"]),
    (0, ["inspect", "HOST"]),
    (3, ["probe", "--level", "driver", "--expect", "cpu"]),
    (None, ["probe", "--level", "driver", "--expect", "cuda12.6"]),
    (0, ["ci", "torch==2.9.1", "tensorflow==2.12.0", "--runtime", "cpu", "--runtime", "rocm6.4", "--python", "3.11"]),
    (0, ["explain"]),
    (0, ["explain", "no kernel image is available for execution on the device"]),
    (0, ["matrix", "list"]),
    (0, ["matrix", "list", "gpus"]),
    (0, ["matrix", "show", "torch==2.9.1"]),
    (0, ["gpu", "list", "--memory", ">=96"]),
    (0, ["fit", "15GiB", "--gpu", "RTX 3090"]),
    (3, ["fit", "15GiB", "--gpu", "RTX 3090", "--context", "4096"]),
    (0, ["gpu", "compare", "RTX 4090", "MI300X", "Arc B580", "Jetson AGX Orin"]),
    (0, ["matrix", "check"]),
    (0, ["matrix", "diff", "MATRIX", "MATRIX/drivers.toml"]),
]


@pytest.fixture
def named(tmp_path):
    """Words with the names of files in capitals replaced by real ones."""
    files = {
        "HOST": (tmp_path / "host.toml", HOST),
        "PTX": (tmp_path / "kernel.ptx", PTX),
        "DOCKERFILE": (tmp_path / "Dockerfile", "FROM nvidia/cuda:11.8.0-base-ubuntu22.04\nRUN pip install torch\n"),
    }
    for path, text in files.values():
        path.write_text(text)
    places = {name: str(path) for name, (path, _) in files.items()} | {"MATRIX": str(ROOT / "matrix")}
    return lambda words: [
        str(Path(places[word.partition("/")[0]], *word.split("/")[1:])) if word.partition("/")[0] in places else word
        for word in words
    ]


@pytest.mark.parametrize(
    ("expected", "words"), ASKED, ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_a_document_is_what_its_schema_says(envcheck, named, expected, words):
    code, out, err = envcheck(*named(words), "--format", "json")
    assert code == expected or (expected is None and code in {0, 1, 3}), err
    document = json.loads(out)
    schema = schemas()[document["schema"]]
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)


def test_the_schemas_name_every_key_that_is_printed(envcheck, named):
    """Keys are only ever added, so an unnamed one would be a promise that nobody wrote down."""
    for words in (ASKED[4][1], ASKED[5][1], ASKED[8][1], ASKED[12][1], ASKED[14][1], ASKED[16][1]):
        document = json.loads(envcheck(*named(words), "--format", "json")[1])
        assert set(document) <= set(schemas()[document["schema"]]["properties"]), words
    inspected = json.loads(envcheck(*named(ASKED[8][1]), "--format", "json")[1])
    known = schemas()["envcheck.inspect/1"]["properties"]
    assert set(inspected["objects"][0]) == set(known["objects"]["items"]["properties"])
    assert set(inspected["verdicts"][0]) == set(known["verdicts"]["items"]["properties"])
    grid = json.loads(envcheck(*ASKED[12][1], "--format", "json")[1])
    assert set(grid["cells"][0]) == set(schemas()["envcheck.ci/1"]["properties"]["cells"]["items"]["properties"])


@pytest.mark.parametrize("words", [["doctor", "--host", "HOST"], ["lint", "DOCKERFILE"]], ids=" ".join)
def test_sarif_is_what_its_own_rules_ask(envcheck, named, words):
    """Without the standard's schema at hand, the demands of it that a reader of code scanning relies on."""
    document = json.loads(envcheck(*named(words), "--format", "sarif")[1])
    run = document["runs"][0]
    assert document["version"] == "2.1.0"
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    assert run["results"]
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert result["message"]["text"]


def test_the_published_files_are_those_of_the_code():
    done = subprocess.run([sys.executable, str(ROOT / "scripts" / "generate_docs.py"), "--check"], capture_output=True)
    assert b"docs/schemas" not in done.stdout
