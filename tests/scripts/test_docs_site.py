"""The pages of the site before they are built: one for each finding, and no link that leads nowhere."""

import re
import sys
from pathlib import Path

import pytest
from published_schemas import schemas

from compat.app.explain import known


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    scripts = str(Path(__file__).resolve().parents[2] / "scripts")
    sys.path.insert(0, scripts)
    try:
        import docs_site
    finally:
        sys.path.remove(scripts)
    folder = tmp_path_factory.mktemp("site") / "docs"
    docs_site.gather(folder)
    return folder


def test_each_finding_has_a_page_that_the_list_names(pages):
    listed = (pages / "findings/index.md").read_text()
    for code in known():
        assert f"({code}.md)" in listed
        assert f"`{code}`" in (pages / f"findings/{code}.md").read_text()


def test_each_document_is_described(pages):
    told = (pages / "schemas.md").read_text()
    assert all(f"## {name}\n" in told for name in schemas())
    assert "| `status` | one of plan, conflict, unknown |" in told


def test_no_link_leads_nowhere(pages):
    seen = 0
    for path in pages.rglob("*.md"):
        for address in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
            if "://" not in address and not address.startswith("#"):
                seen += 1
                assert (path.parent / address.partition("#")[0]).is_file(), (path.name, address)
    assert seen > len(known())
