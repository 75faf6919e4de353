"""The how-to pages: short, and each command prints what the page shows."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

HOWTO = Path(__file__).resolve().parents[2] / "docs/howto"
PAGES = sorted(HOWTO.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(envcheck, tmp_path, monkeypatch, page):
    monkeypatch.setenv("COLUMNS", "100")
    shutil.copytree(HOWTO / "files", tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    text = page.read_text("utf-8")
    assert len(text.splitlines()) <= 40
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    assert blocks
    for block in blocks:
        for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            typed, _, shown = session.partition("\n")
            code, out, err = envcheck(*shlex.split(typed)[1:])
            assert code in {0, 1, 3}, err  # 3: the page shows what is not known
            printed = [line.rstrip() for line in out.rstrip().splitlines()]
            assert printed == shown.rstrip().splitlines(), f"{typed}: scripts/generate_docs.py writes the page anew"


def test_there_is_a_page_for_each_task():
    tasks = "no-gpu old-gpu two-frameworks dockerfile ci-matrix air-gapped slurm kubernetes triage amd jetson intel"
    assert {*tasks.split(), "chinese-accelerators"} <= {page.stem for page in PAGES}
