"""What ``envcheck lint`` tells and how: hints, edits as a diff and in SARIF, statistics, a baseline."""

import json

import pytest

BASE = "FROM nvidia/cuda:12.4.0-runtime-ubuntu22.04\nCMD true\n"
GONE = "FROM nvidia/cuda:10.1-cudnn7-devel-ubuntu18.04\nCMD true\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda text, name="Dockerfile": (tmp_path / name).write_text(text) and tmp_path / name


def sarif(envcheck, *words):
    return json.loads(envcheck("lint", *words, "-f", "sarif")[1])["runs"][0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], False),
        (["--verbose"], True),
        (["--fail-on", "info"], True),
        (["--select", "root-user"], True),
        (["--format", "json"], True),
    ],
)
def test_text_leaves_hints_out_and_says_how_many(envcheck, written, words, told):
    written(BASE)
    out = envcheck("lint", "Dockerfile", *words)[1]
    assert ("root-user" in out) is told
    assert ("2 hints not shown: --verbose" in out) is not told


def test_a_file_with_hints_alone_is_fine(envcheck, written):
    written("FROM python:3.12-slim\nCMD true\n")
    code, out, _ = envcheck("lint", "Dockerfile")
    assert (code, "Nothing found that does not fit." in out) == (0, True)


def test_a_diff_shows_the_edits_and_changes_nothing(envcheck, written):
    path = written(BASE)
    code, out, _ = envcheck("lint", "Dockerfile", "--diff")
    assert code == 1
    assert {"-FROM nvidia/cuda:12.4.0-runtime-ubuntu22.04", "+FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04"} <= {
        *out.splitlines()
    }
    assert path.read_text() == BASE
    assert envcheck("lint", "Dockerfile", "--fix")[2] == out
    assert envcheck("lint", "Dockerfile", "--diff")[:2] == (0, "")


def test_a_fix_that_was_tried_says_what_to_write(envcheck, written):
    written(BASE)
    (found,) = [
        one
        for one in json.loads(envcheck("lint", "Dockerfile", "-f", "json")[1])["findings"]
        if one["code"] == "base-tag-eol"
    ]
    assert found["fix"]["checked"] is True
    assert found["fix"]["changes"] == [
        {
            "kind": "edit", "file": "Dockerfile", "line": 1, "column": 17,
            "old": ":12.4.0-runtime-ubuntu22.04", "new": ":12.4.1-runtime-ubuntu22.04",
        }
    ]  # fmt: skip


def test_a_repair_that_brings_another_error_is_not_told(envcheck, written):
    # the index has torch 1.13.1 for Python 3.7 to 3.11 alone
    written("FROM python:3.12-slim\nRUN pip install torch==1.13.1+cu117\n")
    found = json.loads(envcheck("lint", "Dockerfile", "-f", "json")[1])["findings"]
    missing = next(one for one in found if one["code"] == "index-missing")
    assert (missing["fix"]["checked"], missing["fix"]["changes"]) == (False, [])
    assert envcheck("lint", "Dockerfile", "--diff")[:2] == (0, "")


def test_sarif_has_columns_links_and_edits(envcheck, written):
    written(BASE)
    run = sarif(envcheck, "Dockerfile", "--select", "base-tag-eol")
    (result,), (rule,) = run["results"], run["tool"]["driver"]["rules"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert BASE[region["startColumn"] - 1 : region["endColumn"] - 1] == "nvidia/cuda:12.4.0-runtime-ubuntu22.04"
    assert rule["helpUri"].startswith("https://")
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    deleted = replacement["deletedRegion"]
    assert BASE[deleted["startColumn"] - 1 : deleted["endColumn"] - 1] == ":12.4.0-runtime-ubuntu22.04"
    assert replacement["insertedContent"] == {"text": ":12.4.1-runtime-ubuntu22.04"}


def test_statistics_count_each_code(envcheck, written):
    written(BASE)
    written(BASE, "Dockerfile.b")
    code, out, _ = envcheck("lint", "Dockerfile", "Dockerfile.b", "--statistics")
    rows = [line.split()[:3] for line in out.splitlines()]
    assert (code, rows) == (0, [["2", "info", "base-tag-eol"], ["2", "info", "root-user"], ["4", "in", "all"]])


def test_a_baseline_leaves_out_what_it_knows_and_as_often(envcheck, written):
    written(GONE)
    assert envcheck("lint", "Dockerfile", "-f", "json", "-o", "known.json")[0] == 1
    code, out, _ = envcheck("lint", "Dockerfile", "--baseline", "known.json")
    assert (code, out.splitlines()[-1]) == (0, "Nothing new. 3 findings in the baseline.")
    written("# moved down\n" + GONE)
    assert envcheck("lint", "Dockerfile", "--baseline", "known.json")[0] == 0
    written(GONE.replace("\nCMD true", " AS one") + GONE + "COPY --from=one /opt /opt\n")
    code, out, _ = envcheck("lint", "Dockerfile", "--baseline", "known.json", "-f", "json")
    assert (code, json.loads(out)["summary"]["errors"]) == (1, 1)


@pytest.mark.parametrize("text", ["", "[]", '{"findings": [1]}', "x"])
def test_a_baseline_that_is_none_is_named(envcheck, written, text):
    written(BASE)
    written(text or " ", "known.json")
    code, _, err = envcheck("lint", "Dockerfile", "--baseline", "known.json")
    assert (code, "known.json" in err, "--format json" in err) == (2, True, True)


def test_a_file_of_no_known_kind_is_not_judged_and_is_never_fine(envcheck, tmp_path):
    (tmp_path / "README.md").write_text("# A project\n\nIt trains a model.\n")
    (tmp_path / "requirements.txt").write_text("requests==2.32.3\n")
    for files in (["README.md"], ["README.md", "requirements.txt"]):
        code, out, _ = envcheck("lint", *(str(tmp_path / name) for name in files), "--format", "json")
        report = json.loads(out)
        assert (code, report["summary"]["ok"]) == (3, None)
        assert any("what kind of file this is cannot be told" in gap["why"] for gap in report["unchecked"])
