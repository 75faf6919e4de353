"""Dockerfiles: stages, their bases with build arguments filled in, the commands they run, the settings they leave.

Source: Docker documentation, "Dockerfile reference" (escapes, here-documents, scope of ARG and ENV).
"""

from __future__ import annotations

import re
import shlex
from collections import ChainMap
from copy import deepcopy
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import compat.sources.pairs as pairs_of
from compat.errors import InputError
from compat.lazy import dataclass
from compat.sources import files, heredocs, installers, requirements, settings, shell
from compat.sources.values import PROJECT_FILE, Ask, Command, Install, Stage
from compat.untrusted import json_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from compat.sources.heredocs import Document, Written

# Source: Moby, layer/layer_store.go, "maxLayerDepth represents the maximum number of layers which can be chained".
_DEEPEST: Final = 125
# Source: Dockerfile reference; MAINTAINER is deprecated, and still read.
_KEYWORDS: Final = frozenset(
    ["FROM", "RUN", "CMD", "LABEL", "MAINTAINER", "EXPOSE", "ENV", "ADD", "COPY", "ENTRYPOINT", "VOLUME", "USER",
     "WORKDIR", "ARG", "ONBUILD", "STOPSIGNAL", "HEALTHCHECK", "SHELL"]
)  # fmt: skip
# A file that something else fills in first, or that a frontend of its own reads.
_FOREIGN: Final = re.compile(r"\{\{|\{%|<%|(?im:^#\s*syntax\s*=(?!\s*docker\S*/dockerfile))")
# Another shell than Bourne's may read the steps: its quotes are its own.
_FOREIGN_SHELL: Final = re.compile(r"(?im)^SHELL\b(?!.*\b(?:ba|da)?sh\b)|^#\s*escape\s*=\s*`")
_HERE: Final = re.compile(r"\./?(?:\[([\w.,-]+)\])?")  # the folder that a step works in, as a package with extras
# What a stage has of the one that it stands upon.
_INHERITED: Final = ("written_files", "env", "settings", "env_lines", "placed", "edits", "places", "clones", "away",
                     "folder", "whole")  # fmt: skip
_FLAG: Final = re.compile(r"(?<!\S)--([a-z-]+)=(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: upper-case keyword, the rest with continuations joined by newlines, its first line.

    A RUN's continued lines are joined by carriage returns instead (:data:`shell.CONTINUED`), one for each line of the
    file, for there a newline ends a command. ``begins`` is the line on which the rest begins. ``documents`` are its
    here-documents; what a RUN runs of them stands in ``rest`` too.
    """

    keyword: str
    rest: str
    line: int
    documents: tuple[Document, ...] = ()
    begins: int = 0


@dataclass(slots=True)
class _Draft:
    """A stage while it is being read."""

    name: str
    base: str
    written: str
    arg: str
    parent: int
    line: int
    platform: str
    args: dict[str, str]
    depth: int = 0  # how many stages it stands upon
    env: dict[str, str] = field(default_factory=dict)
    env_lines: dict[str, int] = field(default_factory=dict)
    installs: list[Install] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    carried: list[tuple[str, str]] = field(default_factory=list)
    placed: dict[str, str] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    edits: list[tuple[str, str]] = field(default_factory=list)
    clones: set[str] = field(default_factory=set)
    away: bool = False  # whether it works in a folder that a clone has made
    folder: str = "/"
    whole: str = ""  # where a COPY has put the whole folder of the build
    settings: dict[str, str] = field(default_factory=dict)
    written_files: dict[str, list[Written]] = field(default_factory=dict)
    user: str = ""
    starts: dict[str, list[str]] = field(default_factory=dict)
    inherited: dict[str, list[str]] = field(default_factory=dict)

    def values(self) -> Mapping[str, str]:
        """What a variable stands for now: ENV wins over ARG."""
        return ChainMap(self.env, self.args)

    def stage(self) -> Stage:
        """The finished stage."""
        return Stage(
            name=self.name,
            base=self.base,
            written=self.written,
            arg=self.arg,
            parent=self.parent,
            line=self.line,
            platform=self.platform,
            installs=tuple(self.installs),
            commands=tuple(self.commands),
            env=self.args | self.env,
            env_lines=self.env_lines,
            carried=tuple(self.carried),
            user=self.user,
            starts=shell.started(*self.started().values()),
        )

    def started(self) -> dict[str, list[str]]:
        """The words of ENTRYPOINT and of CMD; an ENTRYPOINT of its own drops the CMD that a stage inherits."""
        above = {} if "ENTRYPOINT" in self.starts else self.inherited
        return {name: self.starts.get(name, above.get(name, [])) for name in ("ENTRYPOINT", "CMD")}


def read(text: str, file: str) -> Ask:
    """What a Dockerfile asks for.

    Raises:
        InputError: if more stages stand upon each other than can be built.
    """
    outer: dict[str, str] = {}
    drafts: list[_Draft] = []
    named: dict[str, int] = {}
    refused: list[tuple[int, str, str]] = []
    plain = not _FOREIGN_SHELL.search(text)
    for item in instructions(text):
        if item.keyword in {"COPY", "ADD"} and re.fullmatch(r"(?:--\S+\s+)*[^\s\[]\S*", item.rest.strip()):
            only = f"{item.keyword} {item.rest.strip()}"
            refused.append((item.line, f"`{only}` names no destination", f"Name the place in the image: `{only} .`."))
        elif item.keyword not in _KEYWORDS or not (drafts or item.keyword in {"ARG", "FROM"}):
            early = item.keyword in _KEYWORDS
            why, fix = ("stands before the first FROM", "Move it below.") if early else ("is no instruction", "")
            refused.append((item.line, f"`{item.keyword}` {why}", fix))
        elif item.keyword == "RUN" and plain and shell.is_open(item.rest):
            refused.append((item.line, "`RUN` opens a quotation that nothing closes", "Close it."))
        if item.keyword == "FROM":
            drafts.append(_from(item, outer, drafts, named, file))
            named[drafts[-1].name.lower()] = len(drafts) - 1
        elif not drafts:
            outer.update(pairs_of.read(item.rest, outer) if item.keyword == "ARG" else {})
        else:
            _apply(item, drafts[-1], outer)
        if mark := heredocs.unended(item.rest, item.documents):
            why, fix = f"`<<{mark}` opens a document that nothing ends", f"End it by a line of {mark} alone."
            refused.append((item.line, why, fix))
    return Ask(
        file=file, kind="dockerfile", stages=tuple(draft.stage() for draft in drafts),
        refused=tuple(refused) if drafts and not _FOREIGN.search(text) else (),
    )  # fmt: skip


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile; comments and parser directives are left out."""
    lines = text.splitlines()
    escape = "`" if re.match(r"#\s*escape\s*=\s*`", text) else "\\"
    index = 0
    while index < len(lines):
        start = index
        parts: list[str] = []
        while index < len(lines):
            line = lines[index]
            index += 1
            if line.lstrip().startswith("#") or (parts and not line.strip()):
                parts += [""] if parts else []  # holds the line's place
                continue
            stripped = line.rstrip()
            parts.append(stripped.removesuffix(escape))
            if not stripped.endswith(escape):
                break
        first = parts[0].lstrip()[:4].upper() if parts else ""
        body = (shell.CONTINUED if first.rstrip() == "RUN" else "\n").join(parts).strip()
        keyword, rest = ([*re.split(r"[ \t\r\n]", body, maxsplit=1), ""])[:2]
        documents: list[Document] = []
        for mark in heredocs.MARK.findall(rest) if keyword.upper() in {"RUN", "COPY", "ADD"} else ():
            document, index = heredocs.document(lines, index, mark)
            documents.append(document)
        if keyword.upper() == "RUN":
            rest += "".join(heredocs.run(rest, documents))
        if keyword:
            place = start + 1 + _skipped(lines, start)
            lead = rest[: len(rest) - len(rest.lstrip())]
            begins = place + lead.count("\n") + lead.count(shell.CONTINUED)
            yield Instruction(keyword.upper(), rest.strip(), place, tuple(documents), begins)


def _skipped(lines: list[str], start: int) -> int:
    """Comment lines between ``start`` and the instruction itself."""
    for place in range(start, len(lines)):
        if lines[place].strip() and not lines[place].lstrip().startswith("#"):
            return place - start
    return 0


def _from(
    item: Instruction, outer: dict[str, str], drafts: list[_Draft], named: Mapping[str, int], file: str
) -> _Draft:
    """A new stage; one that starts from another (the last of its name) inherits its variables, settings and files.

    Source: the Dockerfile reference: ``FROM [--platform=...] IMAGE [AS NAME]``, with ``ARG`` values from before the
    first.
    """
    flags = dict(_FLAG.findall(item.rest))
    words = _FLAG.sub("", item.rest).split()
    written = words[0] if words else ""
    base = re.sub("[\"']", "", shell.fill(written, outer))  # an argument's default may quote a part of the name
    name = words[2] if len(words) > 2 and words[1].lower() == "as" else ""
    parent = named.get(base.lower(), -1) if base else -1
    depth = drafts[parent].depth + 1 if parent >= 0 else 0
    if depth > _DEEPEST:
        raise InputError(
            "more stages stand upon each other than an image has layers",
            where=f"{file}:{item.line}",
            expected=f"at most {_DEEPEST}",
        )
    arg = next(iter(re.findall(r"\$\{?(\w+)", written)), "")
    draft = _Draft(name, base, written, arg, parent, item.line, flags.get("platform", ""), {}, depth=depth)
    for key in _INHERITED if parent >= 0 else ():
        setattr(draft, key, deepcopy(getattr(drafts[parent], key)))
    draft.inherited = drafts[parent].started() if parent >= 0 else {}
    return draft


def _apply(item: Instruction, draft: _Draft, outer: dict[str, str]) -> None:
    """What an instruction does to its stage; those that do not matter to installs are passed over.

    ``ONBUILD`` counts as if it ran here: it will, in the image that is built on this one.
    """
    if item.keyword == "ONBUILD":
        keyword, _, rest = item.rest.partition(" ")
        item = Instruction(keyword.upper(), rest.strip(), item.line, (), item.begins)
    match item.keyword:
        case "ARG":
            named = pairs_of.read(item.rest, draft.values())
            name = next(iter(item.rest.split()), "")
            draft.args |= named or ({name: outer[name]} if name in outer else {})  # without a value it stays unknown
            draft.env_lines |= dict.fromkeys(named, item.line)
        case "ENV":
            pairs = pairs_of.read(item.rest, draft.values()) or pairs_of.old(item.rest, draft.values())
            draft.env |= pairs
            lines = dict.fromkeys(pairs, item.line) | pairs_of.lines(item.rest, item.begins)
            for name, value in pairs.items():  # a command kept for later (TORCH_COMMAND='pip install ...') installs too
                kept = installers.installs(shell.commands(value, lines[name])) if " install " in value else ()
                draft.installs += (replace(step, home=f"${name}") for step in kept)
            draft.env_lines |= lines
        case "RUN":
            _run(item, draft)
        case "CMD" | "ENTRYPOINT":
            draft.commands += _later(item)
            draft.starts[item.keyword] = _words(item)
        case "COPY" | "ADD":
            _keep(draft, heredocs.copied(item.rest.partition("\n")[0], item.documents))
            _copy(item, draft)
            _configuration(item.rest, draft)
        case "WORKDIR":
            draft.away = bool({*item.rest.strip().split("/")} & draft.clones)
            draft.folder = str(PurePosixPath(draft.folder, shell.fill(item.rest.strip().strip("\"'"), draft.values())))
        case "USER":
            draft.user = shell.fill(item.rest.strip(), draft.values())


def _copy(item: Instruction, draft: _Draft) -> None:
    """What a COPY brings from another stage, or from the folder of the build."""
    origin, sources, target = files.copied(shell.fill(item.rest.partition("\n")[0], draft.values()))
    if origin:
        draft.carried += [(origin, source) for source in sources]
    else:
        draft.placed |= files.placed(sources, target)
        draft.places += files.folders(sources)
        draft.whole = str(PurePosixPath(draft.folder, target)) if {".", "./"} & {*sources} else draft.whole


def _configuration(text: str, draft: _Draft) -> None:
    """A pip.conf or uv.toml that is brought in decides the index, and cannot be seen."""
    if re.search(r"pip\.conf|pip\.ini|\.netrc", text):
        draft.settings.setdefault("PIP_INDEX_URL", settings.UNSEEN)
    if "uv.toml" in text:
        draft.settings.setdefault("UV_DEFAULT_INDEX", settings.UNSEEN)


def _run(item: Instruction, draft: _Draft) -> None:
    """A RUN step: its commands, what they install, the settings they make and the files they write."""
    mounts = re.match(r"(?:--\w+=\S+\s+)+", item.rest)
    flags = mounts.group() if mounts else ""
    _configuration(flags, draft)
    script, begins = item.rest[len(flags) :], item.begins + flags.count(shell.CONTINUED)
    listed = _exec_form(script)
    script = shell.fill(script if listed is None else shlex.join(listed), draft.values())
    found = shell.commands(script, begins)
    kept = [Command(("mount", "/var/lib/apt"), item.line)] if "/var/lib/apt" in flags else []
    draft.commands += (*kept, *found)
    _keep(draft, heredocs.saved(item.rest, item.documents))
    _keep(draft, heredocs.echoed(item.rest, item.line))
    draft.placed |= files.mounted(flags)
    away = draft.away
    for command in found:
        draft.settings |= settings.configured(command)
        draft.edits += files.edits([command])
        if made := files.derived(command):
            old, new = (PurePosixPath(name).name for name in made[:2])
            draft.placed[new] = draft.placed.get(old, made[0])
            draft.edits += [(new, script) for name, script in [*draft.edits] if fnmatchcase(old, name)]
            draft.edits.append((new, made[2]))
        draft.clones |= files.cloned(command)
        away |= command.words[0] == "cd" and bool({*command.words[-1].split("/")} & draft.clones)
        for step in installers.installs([command]):
            if away:  # what lies in a clone is not at hand
                known = replace(step, files=(), heeds="" if step.manager == "uv" else None)
            else:
                known = _with_project(_placed(_merged(step, draft), draft), command, draft)
            draft.installs.append(settings.applied(known, {**draft.settings, **draft.values()}))


def _placed(step: Install, draft: _Draft) -> Install:
    """The step with its files as the folder of the build has them, and with what was done to them since."""
    found: list[str] = []
    changes: list[tuple[str, str]] = []
    for name in step.files:
        if draft.clones & {*PurePosixPath(name).parts[:-1]}:
            continue
        bare = PurePosixPath(name).name
        source = draft.placed.get(bare, name)
        found.append(source)
        changes += [(source, script) for target, script in draft.edits if fnmatchcase(bare, PurePosixPath(target).name)]
    inner = ((PurePosixPath(target).name, script) for target, script in draft.edits)  # of files that these name
    places = tuple(dict.fromkeys(draft.places)) if found else ()
    return replace(step, files=tuple(found), edits=tuple(dict.fromkeys((*changes, *inner))), places=places)


def _with_project(step: Install, command: Command, draft: _Draft) -> Install:
    """The step with the file of the project that it installs (``pip install .[dev]``), where a COPY brings it."""
    own = next((found for word in command.words if (found := _HERE.fullmatch(word))), None)
    whole = draft.whole == draft.folder
    paths = tuple(draft.placed.get(name, name) for name in (PROJECT_FILE, "setup.py") if whole or name in draft.placed)
    if step.action != "install" or not paths:
        return step
    if step.manager == "uv" and paths[0].endswith(PROJECT_FILE):
        step = replace(step, heeds=paths[0])
    if own is None:
        return step
    extras = tuple(f"--extra={name}" for name in (own[1] or "").split(",") if name)
    return replace(step, files=(*step.files, *paths), options=(*step.options, *extras))


def _keep(draft: _Draft, files: Iterable[Written]) -> None:
    """Remember the files that a step writes, by their bare names, as images move them around; a pip.conf counts."""
    for file in files:
        draft.settings |= settings.written(file.path, file.text)
        draft.written_files.setdefault(PurePosixPath(file.path).name, []).append(file)


def _merged(step: Install, draft: _Draft) -> Install:
    """The step with what the requirement files list that the Dockerfile itself has written, each at its own line."""
    for name in step.files if step.manager in {"pip", "uv"} else ():
        bare = PurePosixPath(name).name
        changes = [script for target, script in draft.edits if fnmatchcase(bare, PurePosixPath(target).name)]
        for file in draft.written_files.get(bare, ()):
            text = files.edited(file.text, changes)
            listed = requirements.from_text(text or "", file.line)[0]
            step = replace(
                step, requests=(*step.requests, *listed.requests), index=step.index or listed.index,
                extra_indexes=(*step.extra_indexes, *listed.extra_indexes),
                find_links=(*step.find_links, *listed.find_links), refused=(*step.refused, *listed.refused),
                files=tuple(item for item in step.files if item != name),
            )  # fmt: skip
    return step


def _later(item: Instruction) -> list[Command]:
    """Commands of CMD and ENTRYPOINT: they run in the container, not while it is built."""
    listed = _exec_form(item.rest)
    if listed:
        return [Command(tuple(listed), item.line, build=False)]
    return list(shell.commands(item.rest, item.line, build=False))


def _words(item: Instruction) -> list[str]:
    """The words of CMD and ENTRYPOINT; those in shell form are a script of a shell."""
    listed = _exec_form(item.rest)
    if listed is not None:
        return [shell.Word.placed(word, item.line) for word in listed]
    script = item.rest.replace("\n", shell.CONTINUED)
    return ["/bin/sh", "-c", shell.Word.placed(script, item.begins)]


def _exec_form(text: str) -> list[str] | None:
    """The words of an instruction in JSON form, or ``None`` where it is in shell form."""
    if not text.startswith("["):
        return None
    listed = json_of(text)
    return [str(item) for item in listed] if isinstance(listed, list) else None
