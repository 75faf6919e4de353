"""What ``envcheck lint`` tells and how: hints, edits as a diff and in SARIF, statistics, a baseline."""

import json
import stat
import subprocess
from urllib.parse import unquote

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
    page = json.loads(envcheck("explain", "base-tag-eol", "-f", "json")[1])["topics"][0]
    assert rule["helpUri"] in page["sources"]
    assert page["why"] in rule["help"]["text"]
    assert rule["helpUri"] in rule["help"]["markdown"]
    (change,) = result["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    deleted = replacement["deletedRegion"]
    assert BASE[deleted["startColumn"] - 1 : deleted["endColumn"] - 1] == ":12.4.0-runtime-ubuntu22.04"
    assert replacement["insertedContent"] == {"text": ":12.4.1-runtime-ubuntu22.04"}


def applied(text, result):
    """A text after the fixes of SARIF results, as a reader makes them: each once, the last ones first."""
    changes = (change for one in result for fix in one.get("fixes", ()) for change in fix["artifactChanges"])
    edits = {json.dumps(one): one for change in changes for one in change["replacements"]}.values()
    lines = text.split("\n")
    for one in sorted(
        edits, key=lambda one: (-one["deletedRegion"]["startLine"], -one["deletedRegion"]["startColumn"])
    ):
        deleted = one["deletedRegion"]
        line = lines[deleted["startLine"] - 1]
        new = one["insertedContent"]["text"]
        lines[deleted["startLine"] - 1] = line[: deleted["startColumn"] - 1] + new + line[deleted["endColumn"] - 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Dockerfile", "# a\x0cb\u2028c \U0001f680\nFROM\tnvidia/cuda:12.4-devel-ubuntu22.04\tAS x"),
        ("Dockerfile", "FROM python:3.10\r\nRUN echo \U0001f680 && pip install \\\r\n\ttorch==1.13.1+cu117 \\\r\n\ttorchvision==0.14.1+cu117"),
        ("requirements.txt", "numpy<2\n\ntorch==1.13.1+cu117  # why"),
        ("compose.yaml", "services:\n  a: &a\n    image: 'nvidia/cuda:12.4-base-ubuntu22.04'\n  b: *a\n"),
    ],
)  # fmt: skip
def test_a_diff_that_is_applied_and_the_fixes_of_sarif_give_what_fix_writes(envcheck, written, tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode())
    results = sarif(envcheck, name)["results"]
    (tmp_path / "edits.diff").write_bytes(envcheck("lint", name, "--diff")[1].encode())
    subprocess.run(["git", "apply", "-p0", "edits.diff"], cwd=tmp_path, check=True, capture_output=True)
    patched = path.read_bytes()
    path.write_bytes(text.encode())
    envcheck("lint", name, "--fix")
    assert path.read_bytes() == patched == applied(text, results).encode()
    assert patched != text.encode()
    assert envcheck("lint", name, "--fix")[2] == ""


@pytest.mark.parametrize("raw", [b"# caf\xe9\ntorch==1.13.1+cu117\n", "torch==1.13.1+cu117\n".encode("utf-16")])
def test_a_file_in_another_encoding_gets_no_edit_from_anybody(envcheck, written, tmp_path, raw):
    (tmp_path / "requirements.txt").write_bytes(raw)
    (result,) = [one for one in sarif(envcheck, "requirements.txt")["results"] if one["ruleId"] == "index-missing"]
    assert "fixes" not in result
    envcheck("lint", "requirements.txt", "--fix")
    assert (tmp_path / "requirements.txt").read_bytes() == raw


def test_a_name_ends_no_line_of_a_diff_and_steers_no_terminal(envcheck, written):
    name = "a\n+b\x1b[31m.Dockerfile"
    written(BASE, name)
    out = envcheck("lint", name, "--diff")[1]
    assert [line[:4] for line in out.splitlines()][:3] == ["--- ", "+++ ", "@@ -"]
    assert "\x1b" not in out


def test_more_packages_than_a_file_may_hold_are_refused(envcheck, written):
    written("torch==2.1.0\n" * 20_001, "requirements.txt")
    code, _, err = envcheck("lint", "requirements.txt")
    assert (code, "requirements.txt: names 20,001 packages" in err) == (2, True)


def test_a_file_that_is_mended_keeps_its_mode_and_a_link_stays_one(envcheck, written, tmp_path):
    path = written(GONE.replace("10.1-cudnn7-devel-ubuntu18.04", "12.4-devel-ubuntu22.04"), "real.Dockerfile")
    path.chmod(0o750)
    (tmp_path / "Dockerfile").symlink_to(path.name)
    envcheck("lint", "Dockerfile", "--fix")
    assert (tmp_path / "Dockerfile").is_symlink()
    assert ("12.4.1" in path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (True, 0o750)


def test_where_one_file_is_read_only_none_is_changed(envcheck, written, tmp_path, monkeypatch):
    paths = [written(BASE, name) for name in ("a.Dockerfile", "b.Dockerfile")]
    monkeypatch.setattr("os.access", lambda name, mode: not str(name).endswith("b.Dockerfile"))
    code, _, err = envcheck("lint", "a.Dockerfile", "b.Dockerfile", "--fix")
    assert (code, "b.Dockerfile: cannot be written" in err, "--output" in err) == (2, True, False)
    assert [path.read_text() for path in paths] == [BASE, BASE]


@pytest.mark.parametrize("format_", ["sarif", "gitlab"])
def test_no_two_findings_have_one_fingerprint_and_lines_above_change_none(envcheck, written, format_):
    def marks():
        told = json.loads(envcheck("lint", "Dockerfile", "-f", format_)[1])
        results = told if format_ == "gitlab" else told["runs"][0]["results"]
        return [
            one["fingerprint"] if "fingerprint" in one else one["partialFingerprints"]["envcheck/1"] for one in results
        ]

    text = "FROM nvidia/cuda:12.4-devel-ubuntu22.04 AS a\nRUN true\n" * 2
    written(text)
    before = marks()
    assert len({*before}) == len(before)
    written("# one\n# two\n" + text)
    assert marks() == before


@pytest.mark.parametrize("given", ["./Dockerfile", "sub/../Dockerfile", "{}/Dockerfile"])
def test_a_file_has_one_name_however_it_is_given(envcheck, written, tmp_path, given):
    written(GONE)
    (tmp_path / "sub").mkdir()
    envcheck("lint", "Dockerfile", "-f", "json", "-o", "known.json")
    name = given.format(tmp_path)
    assert envcheck("lint", name, "--baseline", "known.json")[0] == 0
    place = sarif(envcheck, name)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "Dockerfile"
    assert json.loads(envcheck("lint", name, "-f", "gitlab")[1])[0]["location"]["path"] == "Dockerfile"
    assert envcheck("lint", name, "-f", "github")[1].startswith("::error file=Dockerfile,")


def test_a_file_of_elsewhere_has_its_whole_address(envcheck, written, tmp_path, monkeypatch):
    path = written(GONE, "a b.Dockerfile")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    place = sarif(envcheck, "../a b.Dockerfile")["results"][0]["locations"][0]["physicalLocation"]
    assert unquote(place["artifactLocation"]["uri"]) == f"file://{path}"


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
