"""Writes the parts of the documentation that code already says: README blocks, pages of findings, JSON Schemas.

Usage: generate_docs.py [--check]

With ``--check`` nothing is written; a file that is not fresh is named and the exit status is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import configuration_page as configuration
from published_schemas import schemas

from compat import cli, rules
from compat.app.explain import advice
from compat.app.matrices import load
from compat.build.codes import CODES
from compat.lint import RULES as LINT
from compat.rules.pages import page_of

ROOT = Path(__file__).resolve().parent.parent
HOWTO = ROOT / "docs/howto"
EXAMPLES = {
    "doctor": ["doctor", "--host", "docs/example-host.toml"],
    "conflict": ["resolve", "torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26", "--python", "3.12"],
}


def main() -> None:
    """Write or check every generated file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    os.environ["COLUMNS"] = "100"  # the width of whoever generates must not show
    os.environ["LC_ALL"] = "C.UTF-8"  # nor their language
    stale = [path for path, text in files().items() if not _fresh(ROOT / path, text, write=not given.check)]
    for path in stale:
        print(f"{'not fresh' if given.check else 'written'}: {path}")
    sys.exit(1 if given.check and stale else 0)


def _fresh(path: Path, text: str, *, write: bool) -> bool:
    if path.is_file() and path.read_text("utf-8") == text:
        return True
    if write:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return False


def files() -> dict[str, str]:
    """Path from the root -> what it should hold."""
    made = {"README.md": readme(), "docs/findings.md": findings(), "docs/configuration.md": configuration.page()}
    made["docs/envcheck.1"] = manual()
    made["docs/assistants.md"] = advice()
    made["docs/schemas/envcheck.config-1.json"] = json.dumps(configuration.schema(), indent=2) + "\n"
    made |= {f"docs/howto/{path.name}": replayed(path.read_text("utf-8")) for path in sorted(HOWTO.glob("*.md"))}
    for name, schema in schemas().items():
        made[f"docs/schemas/{name.replace('/', '-')}.json"] = json.dumps(schema, indent=2) + "\n"
    return made


def readme() -> str:
    """The README with its generated blocks filled in."""
    text = (ROOT / "README.md").read_text("utf-8")
    blocks = {"commands": commands(), "matrix": breadth(), **{name: example(argv) for name, argv in EXAMPLES.items()}}
    for name, block in blocks.items():
        pattern = rf"(<!-- generated: {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda found, block=block: found[1] + block + found[2], text, flags=re.DOTALL)
    return text


def manual() -> str:
    """The manual page, in the macros that every man understands."""
    lines = ['.TH ENVCHECK 1 "" "envcheck" "User Commands"', ".SH NAME"]
    lines += ["envcheck \\- find what does not fit between GPU, driver, CUDA or ROCm, framework, Python and container"]
    lines += [".SH SYNOPSIS", ".B envcheck", r"\fICOMMAND\fR [\fIARGUMENT\fR...]", ".SH COMMANDS"]
    for name, path in cli.COMMANDS.items():
        module = import_module(path)
        said = getattr(module, "TITLE", "") or (module.command.__doc__ or "").strip().splitlines()[0]
        lines += [".TP", rf"\fBenvcheck {name}\fR", said.replace("-", r"\-")]
    lines += [".PP", r"\fBenvcheck \fICOMMAND\fB \-\-help\fR tells the options of a command.", ".SH EXIT STATUS"]
    lines += ["0 fine; 1 findings or no plan; 2 bad input; 3 could not be checked; 130 interrupted."]
    lines += [".SH ENVIRONMENT", "NO_COLOR, FORCE_COLOR, XDG_CONFIG_HOME", ".SH FILES"]
    lines += [r"\fBpyproject.toml\fR, tables under [tool.envcheck]"]
    return "\n".join(lines) + "\n"


def commands() -> str:
    """A table of the commands: the first line of each one's help."""
    rows = []
    for name, path in cli.COMMANDS.items():
        module = import_module(path)
        said = getattr(module, "TITLE", "") or module.command.__doc__.strip().splitlines()[0]
        rows.append(f"| `envcheck {name}` | {said} |")
    return "\n".join(["| command | does |", "| --- | --- |", *rows]) + "\n"


def example(argv: list[str]) -> str:
    """What a command prints, as a fenced block."""
    shown = " ".join(f"'{word}'" if " " in word else word for word in argv)
    out = io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.chdir(ROOT) if sys.version_info >= (3, 11) else contextlib.nullcontext(),
    ):
        cli.run(argv)
    return f"```console\n$ envcheck {shown}\n{out.getvalue().rstrip()}\n```\n"


def replayed(text: str) -> str:
    """A page with what its commands print on standard output, all run in a copy of the pages' files."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HOWTO / "files", folder, dirs_exist_ok=True)
        before = Path.cwd()
        os.chdir(folder)
        try:
            return re.sub(r"(?<=```console\n).*?(?=```)", lambda found: _session(found[0]), text, flags=re.DOTALL)
        finally:
            os.chdir(before)


def _session(block: str) -> str:
    """The commands of a block, each with what it prints."""
    lines = []
    for line in block.splitlines():
        if line.startswith("$ envcheck "):
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                cli.run(shlex.split(line)[2:])
            lines += [line, *out.getvalue().rstrip().splitlines()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


_COUNTED = {"cuda": "CUDA releases", "rocm": "ROCm releases", "gpus": "GPU products", "signals": "Messages"}
"""Table of the matrix -> what a row of it is."""


def breadth() -> str:
    """How much the matrix holds, counted."""
    matrix = load()
    packages = {row.name: matrix.builds(row.name) for row in matrix.packages.values()}
    frameworks = {row.name: row.title for row in matrix.packages.values() if row.kind == "framework"}
    others = [len(builds) for name, builds in packages.items() if name not in frameworks]
    rows = []
    for name, title in frameworks.items():
        releases = {build.version for build in packages[name]}
        rows.append((title, f"{len(releases)} releases, {len(packages[name])} builds"))
    rows.append(("Companions", f"{len(others)} packages, {sum(others)} builds"))
    rows += [(title, str(len(matrix.table(table)))) for table, title in _COUNTED.items()]
    rows.append(("Image tags", str(sum(len(row.references()) for row in matrix.table("images")))))
    rows.append(("Findings", str(len({*rules.RULES, *LINT}))))
    lines = ["| subject | known |", "| --- | --- |", *(f"| {name} | {count} |" for name, count in rows)]
    return "\n".join(lines) + "\n"


def findings() -> str:
    """One section per code, from the rules' own docstrings."""
    lines = [
        "# Findings",
        "",
        "Made from the rules by `scripts/generate_docs.py`; `envcheck explain CODE` says the same.",
        "",
    ]
    pages = {code: page_of(rule) for code, rule in sorted({**LINT, **rules.RULES, **CODES}.items())}
    for area in sorted({page.area for page in pages.values()}):
        lines += [f"## {area}", ""]
        for code, page in pages.items():
            if page.area == area:
                lines += [
                    f"### {code}",
                    "",
                    f"**{page.title}** ({page.severity})",
                    "",
                    page.what,
                    "",
                    f"*Why.* {page.why}",
                    "",
                ]
                lines += [f"*Fix.* {page.fix}", "", *(f"- {source}" for source in page.sources), ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    main()
