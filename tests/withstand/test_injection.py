"""Values from other people's machines in every format that is read by a program: a parser of its own finds no markup.

The oracles are not ours: markdown-it reads the Markdown, the standard library the JSON.
"""

import json
import re
import string
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import facts, render
from compat.findings import Evidence, Finding, Fix, Place, Report, Unchecked
from compat.render.ink import printable

HOST = facts.host("t", os_name="Debian 12", driver="470.82.01")
MARKUP = "`*_[]()<>|#!-+=~\\&;:/@. \t\n\r{}$%'\"0aZé\x1b\x00\x9b\u202e\u2028"
PIECES = [
    "```",
    "~~~",
    "- [ ] ",
    "<!--",
    "-->",
    "</details>",
    "<b>",
    "[x](y)",
    "![x](y)",
    "https://a.b/c",
    "{0}",
    "::error::",
]
hostile = st.lists(st.one_of(st.sampled_from(PIECES), st.text(MARKUP, max_size=6)), min_size=1, max_size=6).map("".join)


def report(text):
    finding = Finding(
        code="x",
        severity="error",
        title=text,
        detail=text,
        evidence=(Evidence("gpu", text, text),),
        place=Place(text, 1),
        fix=Fix(text, ("pip install x",)),
        sources=(text,),
        consequences=(Finding(code="y", severity="info", title=text, detail=text),),
    )
    return Report((finding,), (text,), (Unchecked(text, text),))


def shape(tokens):
    """The elements of a page, in order, without the text between them."""
    found = []
    for token in tokens:
        if token.type not in {"text", "softbreak", "text_special", "html_inline", "html_block"}:
            found.append(token.type)
        elif token.type.startswith("html"):
            found += re.findall(r"<[^>]*>", token.content)
        found += shape(token.children or ())
    return found


@settings(deadline=None)
@given(hostile)
def test_markdown_has_the_same_elements_whatever_a_value_says(text):
    markdown = pytest.importorskip("markdown_it")
    reader = markdown.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    plain, seen = (shape(reader.parse(render.report(report(each), HOST, "markdown"))) for each in ("a", f"a{text}a"))
    assert seen == plain


@given(hostile)
def test_sarif_messages_hold_no_placeholder_and_no_link(text):
    document = json.loads(render.report(report(text), HOST, "sarif"))
    result = document["runs"][0]["results"][0]
    said = result["message"]["text"].replace("{{", "").replace("}}", "").replace("\\[", "").replace("\\]", "")
    assert not re.search(r"\{\d+\}|\[[^\]]*\]\([^)]*\)", said)  # SARIF 2.1.0, 3.11.5 and 3.11.6
    assert printable(said) == said
    assert not set(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) - URI


URI = set(string.ascii_letters + string.digits + "-._~:/?#[]@!$&'()*+,;=%")


@pytest.mark.parametrize("form", ["text", "github", "line", "markdown"])
@given(text=hostile)
def test_what_a_terminal_or_a_runner_reads_obeys_no_value(form, text):
    told = render.report(report(text), HOST, form)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told)
    commands = [
        line
        for line in re.split(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", told)
        if line.lstrip().startswith(("::", "##["))
    ]
    assert len(commands) == (form == "github")


def laid(value, payload):
    """A fact with a payload behind every text in it, those of its keys too."""
    if isinstance(value, dict):
        return {key + payload: laid(each, payload) for key, each in value.items()}, {
            key: laid(each, payload)[-1] for key, each in value.items()
        }
    if isinstance(value, list):
        return ([laid(each, payload)[-1] for each in value],)
    return (value + payload,) if isinstance(value, str) else (value,)


def commands(findings):
    for finding in findings:
        yield from finding.fix.commands
        yield from commands(finding.consequences)


@pytest.mark.parametrize("payload", ["$(>RUN)", "`>RUN`", ";>RUN;", "\";>RUN;'", "\n>RUN\n"])
def test_no_printed_command_runs_what_a_machine_says_of_itself(payload, tmp_path):
    from rule_cases import FAULTY

    from compat.app.doctor import judged
    from compat.errors import InputError
    from compat.matrix import matrix

    told = set()
    for _, stated in FAULTY:
        for key, value in stated.items():
            for hostile_value in laid(value, payload):
                try:
                    host = facts.load({**stated, key: hostile_value}, "host.json")
                except InputError:
                    continue
                told.update(line for line in commands(judged(host, matrix()).findings) if "RUN" in line)
    for line in told:  # no program is found; a shell that opens a file for writing has obeyed the value
        subprocess.run(["bash", "--norc", "-c", line], cwd=tmp_path, env={"PATH": "/none"}, capture_output=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("inert", ["cu128", "/usr/lib/x86_64-linux-gnu", "$LD_LIBRARY_PATH:/opt/x", "${HOME}/lib"])
def test_a_command_is_kept_whatever_harmless_text_a_machine_has(inert):
    from compat.app.doctor import judged
    from compat.matrix import matrix

    stated = {"gpus": [], "packages": {"torch": "2.9.1"}, "builds": {"torch": {"runtime": "cuda12.8"}}}
    host = facts.load({**stated, "env": {"LD_LIBRARY_PATH": inert}}, "host.json")
    assert "envcheck resolve torch==2.9.1 --cpu" in commands(judged(host, matrix()).findings)
