"""Here-documents of a Dockerfile: the files that it writes itself, such as a requirements file in a COPY or RUN step.

Source: Docker documentation, "Dockerfile reference", section "Here-documents".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from compat.lazy import dataclass
from compat.sources import shell

MARK: Final = re.compile(r"<<-?\s*['\"]?([A-Za-z_][\w.-]{0,60})['\"]?")
_TARGET: Final = re.compile(r">>?\s*([^\s;&|<>]{1,300})")
_TEE: Final = re.compile(r"\btee\s+(?:-a\s+)?([^\s;&|<>]{1,300})")
_ECHO: Final = re.compile(
    r"\b(?:echo|printf)\s+(?:-[ne]+\s+)?(?:'(?P<one>[^']{1,4000})'|\"(?P<two>[^\"]{1,4000})\")\s*>>?\s*(?P<file>[^\s;&|<>]{1,300})"
)
# Programs whose input is run rather than kept.
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ash"})


@dataclass(frozen=True, slots=True)
class Document:
    """One here-document: its mark, its lines, the line (from 1) of the file on which it begins, whether it ends."""

    mark: str
    text: str
    line: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A file that a step writes: its path in the image, its content, and the line on which the content begins."""

    path: str
    text: str
    line: int


def document(lines: Sequence[str], index: int, mark: str, first_line: int = 1) -> tuple[Document, int]:
    """The document of ``mark`` that begins at ``lines[index]``, and the index after its end.

    ``first_line`` is the number of ``lines[0]`` in the file. A document that nothing ends reaches to the last line.
    """
    ends = (place for place in range(index, len(lines)) if lines[place].strip() == mark)
    end = next(ends, len(lines))
    return Document(mark, "\n".join(lines[index:end]), index + first_line, end == len(lines)), end + 1


def unended(rest: str, documents: Sequence[Document]) -> str:
    """The mark of a document that nothing ends; inside quotes, or apart from its ``<<``, it opens none.

    Source: BuildKit, frontend/dockerfile/parser/parser.go, ``heredocsFromLine`` (a word of its own, ``<<EOF``).
    """
    marks = (one.mark for one in documents if one.open and not shell.is_open(rest.partition("<<")[0]))
    return next((each for each in marks if re.search(rf"(?<!\S)<<-?['\"]?{re.escape(each)}", rest)), "")


def copied(rest: str, documents: Sequence[Document]) -> Iterator[Written]:
    """The files of ``COPY <<EOF /path``: one document goes to the path, several by their names into the folder."""
    words = [word for word in rest.split() if not word.startswith("--")]
    target = words[-1] if words else ""
    for found in documents:
        folder = target.endswith("/") or len(documents) > 1
        yield Written(f"{target.rstrip('/')}/{found.mark}" if folder else target, found.text, found.line)


def saved(rest: str, documents: Sequence[Document]) -> Iterator[Written]:
    """The files of ``RUN cat <<EOF > /path`` and ``RUN tee /path <<EOF``."""
    for one in documents:
        line = next(
            (line for line in rest.splitlines() if re.search(rf"<<-?\s*['\"]?{re.escape(one.mark)}(?![\w.-])", line)),
            "",
        )
        found = _TARGET.search(MARK.sub("", line)) or _TEE.search(line)
        if found:
            yield Written(found[1], one.text, one.line)
        else:  # the document is a script, which may write documents of its own
            yield from _of_script(one)


def run(rest: str, documents: Sequence[Document]) -> Iterator[str]:
    """What a RUN runs of its documents, to be put behind it: a script as it is, Python as one quoted argument.

    A document that goes to any other program (``cat``, ``tee``) is only written; blank lines hold its place.
    """
    for one in documents:
        before, _, after = _around(rest, one.mark)
        head = re.split(r"&&|\|\|?|;|\r|\n", before)[-1].strip()
        program = re.sub(r"^(?:sudo|exec|env|then|do|else|\(|\{)\s+", "", head).partition(" ")[0].rpartition("/")[2]
        if not program or program in _SHELLS or re.search(r"\|\s*(?:sudo\s+)?(?:ba|da|z)?sh\b", after):
            yield "\n" + one.text
        elif re.fullmatch(r"(?:python|pypy)[\d.]*", program):
            yield f"\n{program} -c {shlex.quote(one.text)}{' || true' if '||' in after else ''}\n"
        else:
            yield "\n" * (one.text.count("\n") + 2)


def _around(rest: str, mark: str) -> tuple[str, str, str]:
    """What stands on the line before a document's mark, the mark, and what stands behind it."""
    found = re.search(rf"<<-?\s*['\"]?{re.escape(mark)}['\"]?(?![\w.-])", rest)
    if found is None:
        return rest, "", ""
    return rest[: found.start()], found.group(), rest[found.end() :].partition("\r")[0]


def _of_script(script: Document) -> Iterator[Written]:
    """Files that a script writes by here-documents of its own."""
    lines = script.text.splitlines()
    index = 0
    while index < len(lines):
        head, mark = lines[index], MARK.search(lines[index])
        index += 1
        if mark:
            inner, index = document(lines, index, mark[1], script.line)
            found = _TARGET.search(MARK.sub("", head)) or _TEE.search(head)
            yield from [Written(found[1], inner.text, inner.line)] if found else []


def echoed(script: str, line: int) -> Iterator[Written]:
    """The files of ``RUN echo 'torch==2.6.0' > /path``; each appended line counts as a file of its own."""
    for found in _ECHO.finditer(script):
        text = (found["one"] or found["two"] or "").replace("\\n", "\n")
        yield Written(found["file"], text, line)
