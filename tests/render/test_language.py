"""Simplified Chinese is complete, says the same as the English, fits the terminal, and is nowhere where programs read."""

import ast
import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

from compat import cli
from compat.cli.application import IN_SHORT
from compat.lint import RULES as LINT
from compat.lint.finding import page
from compat.render import language
from compat.render.ink import columns
from compat.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "docs/howto/files"
CODES = [*RULES, *LINT]
SOURCES = [*(ROOT / "compat/render").glob("*.py"), *(ROOT / "compat/cli").glob("*.py")]
# Where a report's own sentences are made: what fits, what was not checked, why a fix was not tried.
JUDGES = [
    *(ROOT / "compat/rules").rglob("*.py"),
    *(ROOT / "compat/fixes").glob("*.py"),
    *(ROOT / "compat/app").glob("*.py"),
    ROOT / "compat/changes.py",
]
PLAN = ROOT / "compat/plan.py"
TEMPLATES = [*(ROOT / "compat/render/page").glob("*.j2")]
# What Typer says of itself.
TYPERS = {
    "Options",
    "Arguments",
    "Commands",
    "Show this message and exit.",
    "Install completion for the current shell.",
    "Show completion for the current shell, to copy it or customize the installation.",
}
WIDE = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")


@pytest.fixture(scope="module")
def chinese():
    return language._loaded("zh-CN")


@pytest.fixture
def told(capsys, monkeypatch):
    """What a command line says, in the folder of the how-to pages."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(FILES)

    def call(*words):
        cli.run(list(words))
        return capsys.readouterr().out

    yield call
    language.speak((), {})


def spelled(node):
    """The texts that an expression may be: a literal, or either side of a condition."""
    if isinstance(node, ast.IfExp):
        return [*spelled(node.body), *spelled(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value else []


def handed(source):
    """Texts that a judge hands over whole: of a sentence with values, of what fits, of what was not checked and why."""
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
        if name in {"Sentence", "Fits", "Unchecked", "Unsure"}:
            yield from (text for argument in node.args for text in spelled(argument))
        if isinstance(node, ast.keyword) and node.arg == "unchecked":
            yield from spelled(node.value)


def literals(source):
    """Texts that a module holds, and those among them that are said or are help."""
    everything, said = set(), set()
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            everything.add(node.value)
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "said":
            said.update(spelled(node.args[0]))
        if isinstance(node, ast.keyword) and node.arg in {"help", "epilog"}:
            said.update(spelled(node.value))
    return everything, said


def paragraphs():
    """Paragraphs of the commands' own pages."""
    from importlib import import_module

    for name in cli.COMMANDS.values():
        module = import_module(name)
        commands = getattr(module, "COMMANDS", None) or {"": module.command}
        yield from ([module.TITLE] if hasattr(module, "TITLE") else [])
        for function in commands.values():
            texts = (" ".join(text.split()) for text in function.__doc__.split("\n\n"))
            yield from (text for text in texts if not text.startswith("Example: "))


def test_every_sentence_that_is_said_has_a_translation(chinese):
    wanted = {text for source in SOURCES for text in literals(source)[1]} | {*IN_SHORT.values(), *paragraphs()} | TYPERS
    wanted |= {text for source in JUDGES for text in handed(source)}
    wanted |= {text for page in TEMPLATES for text in re.findall(r'said\("([^"]*)"\)', page.read_text("utf-8"))}
    assert not sorted(wanted - set(chinese.sentences))


def test_no_translation_is_of_a_sentence_that_nobody_says(chinese):
    known = {text for source in (*SOURCES, *JUDGES, PLAN) for text in literals(source)[0]} | {*paragraphs()} | TYPERS
    known |= {text for page in TEMPLATES for text in re.findall(r'said\("([^"]*)"\)', page.read_text("utf-8"))}
    remedies = {"gpu", "python", "os", "arch", "platform", "cpu", "runtime", "driver"}  # names of what a remedy changes
    kinds = {"wish", "option", "matrix", "fact", "machine", "likely", "possible"}  # words of a verdict
    assert not sorted(set(chinese.sentences) - known - remedies - kinds)


def test_every_finding_has_a_page_that_was_made_from_its_english(chinese):
    made = {code: sha256(f"{page(code).title}\n{page(code).why}\n{page(code).fix}".encode()) for code in CODES}
    digests = {code: digest.hexdigest()[:8] for code, digest in made.items()}
    stale = {code: digests[code] for code in CODES if chinese.pages.get(code, {}).get("of") != digests[code]}
    assert not stale, "translate these anew, and write this digest behind `of`"
    assert not set(chinese.pages) - set(CODES)
    assert not [
        code for code in CODES for name in ("title", "why", "fix") if not WIDE.search(chinese.pages[code][name])
    ]


def kept(english):
    """What stands in both languages: names in braces, code, and numbers."""
    return sorted({*re.findall(r"\{\w+\}|`+[^`]+`+", english), *re.findall(r"\d+(?:\.\d+)*", english)})


@pytest.mark.parametrize("code", CODES)
def test_code_and_numbers_of_a_page_are_kept(chinese, code):
    for name in ("title", "why", "fix"):
        translated = chinese.pages[code][name]
        assert not [part for part in kept(getattr(page(code), name)) if part.replace("``", "`") not in translated]


def test_code_numbers_and_places_of_a_sentence_are_kept(chinese):
    assert not [
        (english, part) for english, text in chinese.sentences.items() for part in kept(english) if part not in text
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"LANG": "zh_CN.UTF-8"}, True),
        ({"LANG": "zh_Hans_CN.UTF-8"}, True),
        ({"LANG": "zh_TW.UTF-8"}, False),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "zh_SG"}, True),
        ({}, False),
    ],
)
def test_the_language_is_that_of_the_locale(told, monkeypatch, given, words):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(name, given.get(name, ""))
    assert bool(WIDE.search(told("doctor", "--host", "workstation.toml"))) == words


def test_an_option_outweighs_the_locale_and_an_unknown_language_is_refused(told, monkeypatch, capsys):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert not WIDE.search(told("doctor", "--host", "workstation.toml", "--lang", "en"))
    assert cli.run(["doctor", "--lang", "tlh"]) == 2
    assert "expected en or zh-CN" in capsys.readouterr().err


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize(
    "words",
    [
        ["doctor", "--host", "workstation.toml"],
        ["doctor", "--report", "issue.md"],
        ["doctor", "--help"],
        ["resolve", "torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26", "--python", "3.12"],
        ["explain", "driver-too-old-for-runtime"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_wide_characters_fit_the_terminal(told, monkeypatch, words, width):
    monkeypatch.setenv("COLUMNS", str(width))
    lines = told(*words, "--lang", "zh-CN").splitlines()
    assert any(map(WIDE.search, lines))
    wide = [line for line in lines if columns(line) > width and WIDE.search(line)]
    assert not [
        line for line in wide if max(columns(word) for word in re.split(rf"\s|{WIDE.pattern}", line)) < width / 2
    ]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_help_is_chinese_throughout(told, name):
    body = told(name, "--help", "--lang", "zh-CN")
    left = [line for line in body.splitlines() if re.search(r"[a-z]{3,} [a-z]{2,} [a-z]{3,} [a-z]{2,}", line)]
    assert not [line for line in left if "Example" not in line and "示例" not in line and "|" not in line]


def test_what_programs_read_is_the_same_in_all_languages(told):
    for form in ("json", "sarif", "junit", "line", "markdown"):
        words = ("doctor", "--host", "workstation.toml", "--format", form, "--node", "n7")
        english, chinese = told(*words, "--lang", "en"), told(*words, "--lang", "zh-CN")
        if form == "json":
            english, chinese = ({**json.loads(text), "checked_at": ""} for text in (english, chinese))
        assert english == chinese


def test_a_fix_says_its_change_with_the_machines_values(told, tmp_path):
    machine = tmp_path / "host.toml"
    machine.write_text(
        'os = "ubuntu22.04"\narch = "x86_64"\ndriver = "470.57.02"\npython = "3.11"\n'
        '[[gpus]]\nname = "Tesla T4"\n[builds.torch]\nruntime = "cuda12.1"\n[packages]\ntorch = "2.5.1+cu121"\n'
    )
    body = told("doctor", "--host", str(machine), "--lang", "zh-CN")
    assert "处理" in body
    assert re.search(r"(安装|NVIDIA 驱动).*\d", body)
    assert "470.57.02" in body


def test_the_page_of_a_report_is_chinese_throughout(told):
    page = told("doctor", "torch==2.0.1", "--host", "workstation.toml", "--format", "html", "--lang", "zh-CN")
    assert '<html lang="zh-CN">' in page
    body = re.sub(r"<(details|script|pre|small|code|style|title)\b.*?</\1>|<[^>]*>", "\n", page, flags=re.DOTALL)
    left = [line for line in body.splitlines() if re.search(r"[A-Za-z]{2,}", line) and not WIDE.search(line)]
    assert left == [
        "windows, x86_64",
        "GPU",
        "NVIDIA GeForce RTX 4070",
        "NVIDIA 581.57",
        "Python",
        "3.11.9, torch 2.9.1 (cpu)",
    ]


def test_what_was_not_checked_and_not_tried_is_told_in_chinese(told):
    body = told("doctor", "--require", "framework", "--expect-gpus", "2", "--host", "offline.toml", "--lang", "zh-CN")
    body += told("doctor", "--error", "CUDA error: out of luck", "--host", "workstation.toml", "--lang", "zh-CN")
    left = [line for line in body.splitlines() if line.startswith(("  ?", "          ")) and not WIDE.search(line)]
    assert not [line for line in left if "$ " not in line]
