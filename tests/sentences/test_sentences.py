"""The words that people read are those that were reviewed: a swapped name, a lost number or another command fails.

`pytest tests/sentences --update` writes ``expected/`` anew; its diff is what changes for the reader.
"""

from __future__ import annotations

import difflib

import pytest
import sentences


@pytest.fixture(scope="session")
def pages(request):
    made = sentences.pages()
    if request.config.getoption("--update", default=False):
        for path in sentences.EXPECTED.glob("*.txt"):
            path.unlink()
        sentences.EXPECTED.mkdir(exist_ok=True)
        for name, text in made.items():
            (sentences.EXPECTED / name).write_text(text, "utf-8")
    return made


def names():
    return sorted(path.name for path in sentences.EXPECTED.glob("*.txt"))


@pytest.mark.parametrize("name", names())
def test_the_sentences_are_those_reviewed(name, pages):
    path = sentences.EXPECTED / name
    before = path.read_text("utf-8").splitlines() if path.exists() else []
    after = pages.get(name, "").splitlines()
    diff = "\n".join(difflib.unified_diff(before, after, f"expected/{name}", "now", lineterm="", n=2))
    assert not diff, f"\n{diff}\nwrite them anew with: pytest tests/sentences --update"


def test_no_page_is_missing(pages):
    assert {*pages} == {*names()}


def test_every_code_has_its_page():
    assert not {code for code in sentences.codes() if f"{code}.txt" not in names()}
