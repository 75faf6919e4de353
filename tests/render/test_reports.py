"""Reports in every format: what a person or a program reads must be there, and hostile values must stay values."""

import json
import re
import xml.etree.ElementTree as ET

import pytest

from compat import facts, render
from compat.findings import Evidence, Finding, Fix, Place, Report, Unchecked, ranked

HOSTILE = "</td><script>alert(1)</script> `rm -rf` | %0A ::error:: ]]> & \x1b[31m *bold* @team"

FINDING = Finding(
    code="driver-too-old-for-runtime",
    severity="error",
    title="The driver is too old for this CUDA build",
    detail="torch 2.9.1 was built for CUDA 12.8, which needs driver 525.60.13; this host has 470.82.01.",
    evidence=(Evidence("driver", "470.82.01", "/proc/driver/nvidia/version"), Evidence("gpus", ("a", "b"), "NVML")),
    fix=Fix("Install a newer driver.", ("sudo apt install nvidia-driver-580",)),
    sources=("CUDA release notes",),
    consequences=(Finding(code="cpu-fallback", severity="warning", title="Runs on the CPU", detail=""),),
)
HINT = Finding(
    code="gpu-persistence-off",
    severity="info",
    title="Persistence mode is off",
    detail="Slower start.",
    confidence="likely",
)
WARNING = Finding(
    code="shm-too-small",
    severity="warning",
    title="Little shared memory",
    detail="64 MiB",
    place=Place("Dockerfile", 3),
)
REPORT = Report(
    (FINDING, WARNING, HINT), ("glibc 2.36 is new enough",), (Unchecked("driver branch", "kernel log is not readable"),)
)
HOST = facts.host(
    "t", os_name="Debian 12", python="3.11.7", driver="470.82.01", gpus=["NVIDIA A100", "NVIDIA A100", "Tesla T4"]
)


def hostile_report():
    finding = Finding(
        code="x",
        severity="error",
        title=HOSTILE,
        detail=HOSTILE,
        evidence=(Evidence("gpu", HOSTILE, HOSTILE),),
        place=Place(HOSTILE, 1),
    )
    return Report((finding,), (HOSTILE,), (Unchecked(HOSTILE, HOSTILE),))


def test_text_tells_what_why_where_and_what_to_type():
    text = render.report(REPORT, HOST, "text", verbose=True)
    for words in (
        "2 x NVIDIA A100, Tesla T4", "✗ The driver is too old", "driver = 470.82.01  (/proc/driver/nvidia/version)", "$ sudo apt install nvidia-driver-580",
        "Runs on the CPU (cpu-fallback)", "(likely)", "✓ glibc 2.36 is new enough", "? driver branch: kernel log is not readable", "1 error, 1 warning.",
    ):  # fmt: skip
        assert words in text
    assert "\x1b" not in text


def test_a_short_text_has_a_line_of_evidence_and_the_command_and_no_sources():
    long, short = render.report(REPORT, HOST, "text", verbose=True), render.report(REPORT, HOST, "text")
    root = REPORT.findings[0]
    assert root.sources[0] in long
    assert root.sources[0] not in short
    assert "/proc/driver/nvidia/version" not in short
    seen = [line for line in short.splitlines() if line.startswith("    seen  ")]
    assert len(seen) == sum(bool(finding.evidence) for finding in REPORT.findings)
    assert "driver = 470.82.01" in seen[0]
    assert all(command in short for finding in REPORT.findings for command in finding.fix.commands)


def meant(code, severity, confidence, message="E: no such symbol"):
    seen = (Evidence("error", message),) if message else ()
    return Finding(
        code=code, severity=severity, title=f"T {code}", detail=f"D {code}.", confidence=confidence, evidence=seen
    )


FIRST = meant("first", "warning", "possible")
OTHER = meant("other", "info", "possible")


@pytest.mark.parametrize(
    ("other", "folds"),
    [
        (OTHER, True),
        (meant("other", "info", "possible", "E: another message"), False),
        (meant("other", "info", "possible", ""), False),
        (meant("other", "info", "certain"), False),  # a fact speaks for it, too
        (meant("other", "error", "possible"), False),
    ],
)
def test_what_one_message_may_mean_instead_is_a_line_below_what_it_means_first(other, folds):
    report = Report((FIRST, other))
    short, long = render.report(report, HOST, "text"), render.report(report, HOST, "text", verbose=True)
    assert ("    or    T other (other)" in short) is folds
    assert ("D other." in short) is (not folds)
    assert "D other." in long
    markdown = render.report(report, HOST, "markdown")
    assert ("\n- or: T other (`other`)\n\n<details>" in markdown) is folds
    assert ("D other." in markdown) is (not folds)


def test_a_quiet_text_is_findings_alone():
    said = render.report(REPORT, HOST, "text", quiet=True)
    assert said.startswith("✗ The driver is too old")
    assert not any(words in said for words in ("envcheck doctor", "✓", "Not checked", "1 error"))
    assert render.report(Report((), ("a fits",)), HOST, "text", quiet=True) == ""


def test_markdown_shows_the_cause_and_folds_what_it_rests_on():
    said = render.report(REPORT, HOST, "markdown")
    shown = re.sub(r"<details>.*?</details>", "", said, flags=re.DOTALL)
    assert "nvidia-driver-580" in shown
    assert "read from" in said
    assert "read from" not in shown
    assert REPORT.findings[0].code in said


def test_text_has_colour_only_when_asked():
    assert "\x1b[31;1m" in render.report(REPORT, HOST, "text", colored=True)


def test_a_fact_from_elsewhere_cannot_steer_the_terminal():
    assert "\x1b" not in render.report(hostile_report(), HOST, "text")


def test_a_clean_report_says_so_and_counts_what_was_not_checked():
    text = render.report(
        Report((), ("c fits",), (Unchecked("a", "b"), Unchecked("d, e", "x is unknown"))),
        facts.host("t", gpus=[]),
        "text",
    )
    assert "no GPU" in text
    assert "Nothing found that does not fit. 3 could not be checked." in text
    assert "2 checks: `envcheck host` reads the missing facts" in text


def test_where_nothing_was_checked_nothing_is_said_to_fit():
    text = render.report(Report((), (), (Unchecked("a", "gpus is unknown"),)), facts.host("t"), "text")
    assert "Nothing could be checked" in text
    assert "does not fit" not in text


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_where_nothing_was_checked_no_format_calls_it_fine(format_):
    nothing = Report((), (), (Unchecked("driver.load", "there is no GPU on this machine"),))
    said = render.report(nothing, facts.Host(), format_)
    assert "Nothing could be checked: too little is known." in said
    assert "does not fit" not in said
    for known in (Report(judged=True), Report((), ("a fits",), nothing.unchecked)):
        assert "Nothing found that does not fit." in render.report(known, facts.Host(), format_)


WANTING = Report((), ("a",), (Unchecked.wanting("env", ["one", "two"]), Unchecked.wanting("gpus", ["three"])))


@pytest.mark.parametrize("format_", ["text", "html"])
def test_facts_that_are_wanting_are_told_in_one_entry(format_):
    said = " ".join(render.report(WANTING, facts.Host(), format_, verbose=True).split())
    assert "3 checks without env, gpus" in said
    assert "is unknown" not in said


def test_an_answer_under_an_issue_names_what_gives_the_wanting_facts_and_not_each():
    said = render.report(WANTING, facts.Host(), "markdown")
    assert "3 checks: `envcheck host` reads the missing facts" in said.replace("\\", "")
    assert "gpus" not in said


def test_junit_skips_each_check_by_its_own_name():
    suite = ET.fromstring(render.report(WANTING, facts.Host(), "junit"))
    skipped = {case.get("name"): case[0].get("message") for case in suite.findall("testcase") if len(case)}
    assert skipped == {"one": "env is unknown", "two": "env is unknown", "three": "gpus is unknown"}
    assert suite.get("skipped") == "3"
    assert suite.get("tests") == "4"


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("see https://example.org/a_b#part, or c_d", "see https://example.org/a_b#part, or c\\_d"),
        ("(https://example.org/a_(b))", "(https://example.org/a\\_(b))"),
        ("https://example.org/<b>", "https://example.org/&#60;b&#62;"),
        ("https://a.b/`x`", "https://a.b/\\`x\\`"),
        ("*https://a.b/c*", "\\*https://a.b/c\\*"),
        ("no_link #1 @team", "no\\_link \\#1 &#64;team"),
    ],
)
def test_addresses_stay_links_and_all_else_is_text(text, markdown):
    from compat.render.markdown import escape

    assert escape(text) == markdown


def test_a_finding_without_sources_tells_its_code_in_what_is_folded():
    finding = Finding(code="root-user", severity="info", title="t", detail="d")
    said = render.report(Report((finding,)), facts.Host(), "markdown")
    assert "<code>root-user</code>" in said
    assert said.endswith("</details>")


def test_a_bare_machine_is_told_what_to_ask_next():
    text = render.report(Report((), ("a",)), facts.host("t", gpus=[], packages={"pip": "24.0"}), "text")
    assert "--python PATH" in text
    assert "envcheck resolve torch --cpu" in text
    known = render.report(Report((), ("a",)), facts.host("t", packages={"torch": "2.9.1"}), "text")
    assert "--python PATH" not in known
    assert "--cpu" not in known


def test_evidence_keeps_to_the_paper():
    finding = Finding(
        code="c",
        severity="error",
        title="t",
        detail="d",
        evidence=(Evidence("gpus", "none", ", ".join(["/sys/bus/pci/devices"] * 9)), Evidence("driver", "1", "nvml")),
    )
    text = render.report(Report((finding,)), facts.host("t"), "text", verbose=True)
    assert max(map(len, text.splitlines())) <= 110
    assert "driver = 1  (nvml)" in text
    assert "no GPU" not in render.report(Report(), facts.host("t"), "text")


def test_json_follows_the_contract_and_its_schema():
    import jsonschema
    from published_schemas import schemas

    document = json.loads(render.report(REPORT, HOST, "json"))
    jsonschema.validate(document, schemas()["envcheck.doctor/1"])
    assert document["summary"] == {"errors": 1, "warnings": 1, "ok": False}
    first = document["findings"][0]
    told = {"text": "Install a newer driver.", "commands": ["sudo apt install nvidia-driver-580"]}
    assert first["fix"] == {**told, "changes": [], "checked": False, "unchecked": ""}
    assert first["evidence"][1] == {"fact": "gpus", "value": ["a", "b"], "source": "NVML"}
    assert document["unchecked"] == [{"what": "driver branch", "why": "kernel log is not readable", "code": ""}]


def test_sarif_has_one_rule_per_code_and_a_place_where_there_is_one():
    document = json.loads(render.report(REPORT, HOST, "sarif"))
    run = document["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "driver-too-old-for-runtime",
        "shm-too-small",
        "gpu-persistence-off",
    ]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    assert run["results"][1]["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}


@pytest.mark.parametrize("report", [REPORT, hostile_report(), Report()])
def test_junit_is_well_formed_and_counts_failures(report):
    suite = ET.fromstring(render.report(report, HOST, "junit"))
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    assert int(suite.get("tests")) == len(suite.findall("testcase"))


def test_junit_names_the_place_for_readers_that_link_it_and_for_those_that_do_not():
    (case,) = ET.fromstring(
        render.report(
            Report((Finding(code="x", severity="error", title="t", detail="d", place=Place("a/b", 7)),)), HOST, "junit"
        )
    ).findall("testcase")
    assert (case.get("file"), case.get("line")) == ("a/b", "7")
    assert case[0].text.startswith("a/b:7: d")


def test_html_keeps_hostile_values_as_text():
    page = render.report(hostile_report(), HOST, "html")
    assert page.count("<script>") == 1, "the copy button alone"
    assert "&lt;script&gt;" in page


def test_markdown_keeps_hostile_values_as_text():
    page = render.report(hostile_report(), HOST, "markdown")
    outside_code = re.sub(r"`[^`\n]*`", "", page.replace("\\`", ""))
    assert "<script>" not in outside_code
    assert "@team" not in outside_code
    assert "\\*bold\\*" in page
    row = next(line for line in page.splitlines() if line.startswith("| gpu"))
    assert row.replace("\\|", "").count("|") == 4


def test_markdown_is_an_answer_one_can_post():
    page = render.report(REPORT, HOST, "markdown")
    assert "### Problem: The driver is too old" in page
    assert "```sh\nsudo apt install nvidia-driver-580\n```" in page


def test_github_annotations_cannot_be_forged():
    lines = render.report(hostile_report(), HOST, "github").splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error file=")
    assert "%250A" in lines[0]


def test_findings_are_ranked_by_severity_then_certainty():
    likely = Finding(code="b", severity="error", title="", detail="", confidence="likely")
    assert [item.code for item in ranked([HINT, likely, WARNING, FINDING])] == [
        FINDING.code,
        "b",
        WARNING.code,
        HINT.code,
    ]


@pytest.mark.parametrize(("threshold", "fails"), [("error", True), ("warning", True), ("never", False)])
def test_fail_on(threshold, fails):
    assert REPORT.fails(threshold) is fails
    assert Report((WARNING,)).fails("error") is False
    assert Report((WARNING,)).fails("warning") is True


EVIL = "x\x1b[31m\u202e\n## Head\n<script>alert(1)</script>|a|```\r\n::error file=x::pwn\n✓ all is well\n]]>"


@pytest.mark.parametrize("width", range(60, 111, 5))
@pytest.mark.parametrize("format_", render.REPORT_FORMATS)
def test_what_a_machine_says_of_itself_stays_a_value(format_, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    finding = Finding(
        code="c",
        severity="error",
        title=EVIL,
        detail=EVIL,
        evidence=(Evidence("driver", EVIL, EVIL),),
        fix=Fix(EVIL, (EVIL,)),
        sources=(EVIL,),
    )
    host = facts.host(EVIL, os_name=EVIL, engine=EVIL, packages={"torch": EVIL})
    text = render.report(Report((finding,), (EVIL,), (Unchecked(EVIL, EVIL),)), host, format_)
    assert "\x1b" not in text
    lines = [line.strip() for line in text.splitlines()]
    assert not any(line.startswith("::error file=x") for line in lines)
    if format_ == "text":
        assert sum(line.startswith("✓") for line in text.splitlines()) == 1
    if format_ in {"html", "markdown"}:
        assert "\u202e" not in text
    if format_ == "html":
        assert text.count("<script>") == 1, "the copy button alone"
    if format_ == "markdown":
        assert "## Head" not in lines
        outside = [part for number, part in enumerate(text.split("````")) if number % 2 == 0]
        assert not any("<script>" in part.replace("`", "") and "`" not in part for part in outside)
    if format_ == "github":
        assert len(lines) == 1


def test_sarif_writes_names_of_files_as_addresses():
    finding = Finding(code="c", severity="error", title="t", detail="d", place=Place("a b#c%/Dockerfile", 2))
    document = json.loads(render.report(Report((finding,)), facts.Host(), "sarif"))
    place = document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b%23c%25/Dockerfile"
