"""Builds the documentation as a site: the pages of docs, a page per finding, the README as its start.

Usage: docs_site.py [DIR]   (``site`` by default)

Zensical builds it: plain Markdown, and a strict build that ends at a dead link or a missing anchor. Nothing in the
pages may be loaded from elsewhere, which is checked afterwards. Needs the package ``zensical``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import generate_docs
from published_schemas import schemas

from compat.app.explain import known, topic_of

ROOT = Path(__file__).resolve().parent.parent
OTHERS = {"README.md": "index.md", "matrix/README.md": "matrix.md", "CONTRIBUTING.md": "contributing.md"}
MOVED = {"docs/findings.md": "findings/index.md", "docs/schemas": "schemas.md", "schemas": "schemas.md"}
CONFIGURATION = """[project]
site_name = "envcheck"
docs_dir = "docs"
site_dir = "site"
use_directory_urls = false
extra_css = ["extra.css"]
[project.theme]
font = false
[project.extra]
generator = false
[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
[project.markdown_extensions.pymdownx.superfences]
[project.markdown_extensions.pymdownx.highlight]
anchor_linenums = false
"""
# The theme's own colour of the page that one is on has too little contrast (WCAG 2.1, 1.4.3).
STYLE = ".md-nav__link--active, .md-nav__link--active .md-ellipsis { color: inherit !important; font-weight: bold; }\n"
LOADED = re.compile(
    r"<(?:script|img|iframe|source|link(?=[^>]*stylesheet))[^>]*(?:src|href)=[\"']?(?:https?:)?//[^>]*>"
)


def main() -> None:
    """Build the site, and demand that it loads nothing from elsewhere."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "site").resolve()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        gather(work / "docs")
        (work / "docs/extra.css").write_text(STYLE, "utf-8")
        (work / "zensical.toml").write_text(CONFIGURATION, "utf-8")
        program = shutil.which("zensical", path=str(Path(sys.executable).parent)) or "zensical"
        subprocess.run([program, "build", "--strict", "--clean"], cwd=work, check=True)
        pages = list((work / "site").rglob("*.html"))
        if loaded := [
            f"{page.name}: {found[0]}" for page in pages for found in LOADED.finditer(page.read_text("utf-8"))
        ]:
            sys.exit("loaded from elsewhere:\n" + "\n".join(loaded))
        shutil.copytree(work / "site", target, dirs_exist_ok=True)
    print(f"{len(pages)} pages: {target}/index.html")


def gather(folder: Path) -> None:
    """All pages in one folder, each with links that hold there."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("findings.md", "envcheck.1"))
    for name, page in OTHERS.items():
        shutil.copy(ROOT / name, folder / page)
    (folder / "findings").mkdir()
    codes = known()
    for code in codes:
        (folder / f"findings/{code}.md").write_text(finding(code), "utf-8")
    listed = [f"- [{code}]({code}.md): {topic.title}" for code in codes if (topic := topic_of(code))]
    (folder / "findings/index.md").write_text("# Findings\n\n" + "\n".join(listed) + "\n", "utf-8")
    howto = [
        f"- [{path.read_text('utf-8').splitlines()[0][2:]}](howto/{path.name})"
        for path in sorted(folder.glob("howto/*.md"))
    ]
    (folder / "howto/index.md").write_text("# How to\n\n" + "\n".join(howto) + "\n", "utf-8")
    (folder / "schemas.md").write_text(reference(), "utf-8")
    for path in folder.rglob("*.md"):
        path.write_text(linked(path.read_text("utf-8"), path), "utf-8")


def finding(code: str) -> str:
    """The page of a finding."""
    topic = topic_of(code, generate_docs.load())
    assert topic is not None  # the codes are those that are known
    parts = {"Why": topic.why, "Fix": topic.fix}
    body = [f"# {topic.title}", f"`{code}` ({topic.severity})", topic.what]
    body += [text for head, said in parts.items() for text in (f"## {head}", said)]
    for one in topic.commands:
        body += [one.where, "\n".join(["```sh", *one.commands, "```"])]
    if topic.sources:
        body += ["## Sources", "\n".join(f"- {source}" for source in topic.sources)]
    return "\n\n".join(filter(None, body)) + "\n"


def reference() -> str:
    """The JSON documents, each with its schema and the keys of its outermost objects."""
    lines = ["# JSON documents", "Keys are only ever added; those marked are always there."]
    for name, schema in schemas().items():
        lines += [f"## {name}", f"Schema: [{name.replace('/', '-')}.json](schemas/{name.replace('/', '-')}.json)"]
        rows = [(key, *_kind(value), key in schema.get("required", ())) for key, value in schema["properties"].items()]
        table = [f"| `{key}` | {kind} | {means} | {'always' if must else ''} |" for key, kind, means, must in rows]
        lines.append("\n".join(["| key | kind | meaning | |", "| --- | --- | --- | --- |", *table]))
    return "\n\n".join(lines) + "\n"


def _kind(schema: dict[str, Any]) -> tuple[str, str]:
    """A key's kind in the words of JSON Schema with the keys of what it holds, and what it means."""
    first = schema.get("anyOf", [schema])[0]
    item = first.get("items", first)
    inner = ", ".join(f"`{key}`" for key in item.get("properties", ()))
    kind = first.get("type") or ("one of " + ", ".join(map(str, first["enum"])) if "enum" in first else "constant")
    return f"{kind} of {inner}" if inner else str(kind), schema.get("description", "").replace("|", "\\|")


def linked(text: str, path: Path) -> str:
    """The text with links to pages of the site, and without links to what is no page of it."""

    def one(found: re.Match[str]) -> str:
        said, address = found[1], found[2]
        if "://" in address or address.startswith("#"):
            return found[0]
        name, mark, anchor = address.partition("#")
        plain = (OTHERS | MOVED).get(name, name.removeprefix("docs/"))
        there = (path.parent / plain).is_file()
        return f"[{said}]({plain}{mark}{anchor})" if there else said

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", one, text)


if __name__ == "__main__":
    main()
