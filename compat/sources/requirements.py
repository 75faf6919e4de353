"""Requirement lines as pip reads them: one parser for files, command lines and conda's pip section.

Sources: pip documentation, "Requirements File Format"; PEP 508 (the names, extras, specifiers and markers).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from compat import markers, versions
from compat.names import normalise
from compat.sources.values import Install, Manager, Request

# With one hash in a file pip installs nothing that has none (pip documentation, "Secure installs").
HASHED: Final = "--require-hashes"
_REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,200})\s*(?:\[(?P<extras>[^\]]{0,300})\])?\s*"
    r"(?:@\s*(?P<url>[^\s;]+)|(?P<spec>\(?[~=!<>][^;#]{0,300})?)\s*(?:;\s*(?P<marker>.{0,500}))?$"
)
_ELSEWHERE: Final = re.compile(r"^\s*[./~]|^[\w+]+:|[$%{]|\.(?:whl|zip|tar\.gz)\b|^[\w.-]*[/\\\\]")
_IN_SHELL: Final = re.compile(r"[`'\"()\\*?]")  # what a shell may yet make something else of
_WHEEL: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_.]{1,100})-(?P<version>[^-/]{1,100})-(?:[^-/]{1,100}-){2,3}[^-/]{1,200}\.whl"
)
# Options that name places, behind a requirement: pip passes over them there (see ``_without_options``).
BEHIND: Final = re.compile(r"(?<=\S)\s+(-f|-i|--find-links|--index-url|--extra-index-url)[\s=]\s*(\S+)")
_HERE: Final = markers.Environment("linux_x86_64")
# Markers under which constraints bound one package: a file with more is nobody's, and costs their product.
_MARKERS: Final = 16
# Options that take a value, and what the value is.
_VALUED: Final = {
    **dict.fromkeys(("-i", "--index-url", "--default-index", "--pypi-url"), "index"),
    **dict.fromkeys(("--extra-index-url", "--index"), "extra"),
    **dict.fromkeys(("-f", "--find-links"), "links"),
    **dict.fromkeys(("-r", "--requirement", "--requirements"), "file"),
    **dict.fromkeys(("-c", "--constraint", "--constraints"), "constraint"),
    **dict.fromkeys(("-e", "--editable"), "editable"),
    **dict.fromkeys(("-p", "--python", "--python-version"), "python"),
    **dict.fromkeys(("--torch-backend", "--index-strategy"), "kept"),
    **dict.fromkeys(
        (
            "-t", "--target", "--root", "--prefix", "--progress-bar", "--timeout",
            "--retries", "--trusted-host", "--proxy", "--cache-dir", "--platform", "--abi", "--only-binary",
            "--no-binary", "--config-settings", "--global-option", "--install-option",
            "--root-user-action", "--use-feature", "--exists-action", "--cert", "--log", "--src",
            "--upgrade-strategy", "--python-preference", "--link-mode", "--extra", "--group",
        ),
        "skip",
    ),
}  # fmt: skip


@dataclass(slots=True)
class _Gathered:
    """What the words of one command or file add up to."""

    requests: list[Request] = field(default_factory=list)
    index: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    file: list[str] = field(default_factory=list)
    constraint: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)

    def install(self, manager: Manager, line: int, python: str = "") -> Install:
        """The finished step."""
        return Install(
            manager=manager,
            requests=tuple(self.requests),
            index=(self.index or [""])[-1],
            extra_indexes=tuple(self.extra),
            find_links=tuple(self.links),
            files=tuple(self.file),
            constraints=tuple(self.constraint),
            options=tuple(self.options),
            refused=tuple(self.refused),
            python=(self.python or [python])[-1],
            line=line,
        )


def request(text: str, line: int = 0) -> Request | None:
    """One requirement, wheel address or wheel file; ``None`` for anything else (folders, repositories, noise).

    >>> request("torch==2.0.1+cu118 ; python_version > '3.8'").exact
    '2.0.1+cu118'
    """
    text = text.strip()
    if text.startswith(("'", '"')):  # a quote at the end alone belongs to a marker
        text = text.strip(text[0])
    if found := _WHEEL.search(text.replace("%2B", "+").replace("%2b", "+")):
        name, version = normalise(found["name"]), found["version"]
        address, _, marker = text.partition("; ")
        url = re.sub(r"^[\w.\[\],-]+\s*@\s*", "", address.strip())
        return Request(name=name, spec=f"=={version}", url=url, marker=marker.strip(), line=line)
    found = _REQUIREMENT.fullmatch(text)
    if found is None:  # an address may name what it holds
        named = re.search(r"^\w+\+.*#(?:.*&)?egg=([\w.-]+)", text)
        return Request(name=normalise(named[1]), url=text, line=line) if named else None
    extras = tuple(item.strip() for item in (found["extras"] or "").split(",") if item.strip())
    spec = (found["spec"] or "").strip().strip("()").replace(" ", "")
    return Request(
        name=normalise(found["name"]),
        spec=spec,
        extras=extras,
        url=found["url"] or "",
        marker=(found["marker"] or "").strip(),
        line=line,
    )


def constrained(requests: Sequence[Request], limits: Sequence[Request]) -> list[Request]:
    """The requests, bounded by what a constraints file says of them; it asks for nothing by itself.

    A limit with a marker counts where that holds; elsewhere nothing is asked of the request. Those for other systems
    than Linux are left out.

    Source: pip documentation, "Constraints Files".
    """
    bounds: dict[str, dict[str, list[str]]] = {}
    for limit in limits:
        if limit.spec and (not limit.marker or markers.holds(limit.marker, _HERE) is not False):
            bounds.setdefault(limit.name, {}).setdefault(limit.marker, []).append(limit.spec)
    found: list[Request] = []
    for each in requests:
        own = {} if each.url else bounds.get(each.name, {})
        common, marked = own.get("", []), [marker for marker in own if marker]
        for marker in marked if 0 < len(marked) <= _MARKERS else [""]:
            specs = dict.fromkeys(filter(None, (each.spec, *common, *(own[marker] if marker else ()))))
            joined = " and ".join(f"({one})" for one in (each.marker, marker) if one) if marker else each.marker
            found.append(replace(each, spec=",".join(specs), marker=joined))
    return found


def from_words(words: Sequence[str], line: int, *, manager: Manager = "pip", python: str = "") -> Install:
    """The install step of a ``pip install`` (or ``uv pip install``) command's words after ``install``."""
    gathered = _Gathered()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("-"):
            _option(word, rest, gathered, line)
            continue
        own = getattr(word, "line", 0) or line  # a shell's word knows its line
        if found := request(word, own):
            gathered.requests.append(found)
        if not _IN_SHELL.search(word) and _is_refused(word):
            gathered.refused.append((own, word))
    return gathered.install(manager, line, python)


def from_text(text: str, first_line: int = 1) -> tuple[Install, tuple[str, ...]]:
    """The install step that a requirements file amounts to, and the lines that could not be read."""
    gathered, unread = _Gathered(), []
    for number, line in _logical_lines(text, first_line):
        content = re.sub(r"(^|\s)#.*$", "", line).strip()
        if re.search(r"\s--hash[= ]", content) and HASHED not in gathered.options:
            gathered.options.append(HASHED)
        content = re.sub(r"\s--hash[= ]\S+|\s*;$", "", content)  # pip takes an empty marker for none
        if not content:
            continue
        if content.startswith("-"):
            rest, places = content.split(), {"index", "extra", "links"}
            while rest and rest[0].startswith("-"):
                places &= {_VALUED.get(rest[0], "")}  # of which it is known what belongs to the option
                _option(rest.pop(0), rest, gathered, number)
            named = (word for word in rest if places or "==" in word)
            if any(versions.requirement(word.strip("'\"")) is not None for word in named):
                gathered.refused.append((number, content))
        elif _is_refused(_without_options(content)):
            gathered.refused.append((number, content))
            unread.append(f"line {number}: {content[:60]!r} is no requirement")
        elif found := request(_without_options(content), number):
            gathered.requests.append(found)
            gathered.refused += [(number, content)] if BEHIND.search(content) else []
        elif not re.match(r"[./]|\w+\+|https?:|file:", content):
            unread.append(f"line {number}: {content[:60]!r} is no requirement")
    return gathered.install("pip", first_line), tuple(unread)


def _is_refused(line: str) -> bool:
    """Whether a line is no requirement by pip's own parser, and no path, address or template that it may be instead."""
    return not _ELSEWHERE.search(line) and versions.requirement(line) is None


def _without_options(line: str) -> str:
    """A requirement line up to its first option: pip takes no index from such a line, it is silently ignored.

    Source: pip's own ``req_file.py`` (``break_args_options``; of a requirement line only hashes, build settings and
    global options count).
    """
    return re.split(r"\s-{1,2}[a-zA-Z]", line, maxsplit=1)[0]


def _logical_lines(text: str, first_line: int) -> list[tuple[int, str]]:
    """Lines with their numbers, those that end in a backslash joined to the next, as pip joins them."""
    lines: list[tuple[int, str]] = []
    held, start = "", 0
    for number, line in enumerate(text.splitlines(), first_line):
        start = start or number
        if line.endswith("\\") and not line.lstrip().startswith("#"):  # a comment ends with its line
            held += line[:-1] + " "
            continue
        lines.append((start, held + line))
        held, start = "", 0
    return [*lines, (start, held)] if held else lines


def _option(word: str, rest: list[str], gathered: _Gathered, line: int) -> None:
    """File one option of an install: its value may follow an equals sign, stand in the next word, or be glued to it."""
    name, equals, value = word.partition("=")
    if not equals and name[:2] in {"-i", "-f", "-r", "-c", "-e"} and len(name) > 2 and not name.startswith("--"):
        name, equals, value = name[:2], "=", name[2:]
    kind = _VALUED.get(name)
    if kind is None:
        gathered.options.append(name)
        return
    value = value if equals else (rest.pop(0) if rest else "")
    value = value.strip("'\"")
    if kind in {"index", "extra", "links", "file", "constraint"} and value:
        getattr(gathered, kind).append(re.sub(r"^[\w-]{1,60}=(?=https?:)", "", value))  # uv's NAME=URL
    elif kind == "python":
        found = re.search(r"\d\.\d{1,2}", value)
        gathered.python += [found.group()] if found else []
    elif kind == "kept":
        gathered.options.append(f"{name}={value}")
    elif kind == "editable" and (asked := request(value, line)):
        gathered.requests += [asked] if asked.url else []
