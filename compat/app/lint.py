"""Lint: reads the files, follows the requirement files that they name, judges each."""

from __future__ import annotations

import re
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from compat import sources, tomls
from compat.app.configuration import values_of
from compat.app.files import only_once, read_text, shown
from compat.app.folders import expanded
from compat.app.plans import Target, machines_of
from compat.app.repair import LIMIT, repaired
from compat.errors import InputError, UnknownKindError
from compat.findings import Finding, Report, Unchecked, ranked
from compat.lazy import dataclass
from compat.sources import environment, origins, requirements
from compat.sources.files import edited
from compat.sources.installers import ADDING
from compat.sources.values import ORDERED, PROJECT, PROJECT_FILE, Ask, Install
from compat.untrusted import table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from compat.facts import Host
    from compat.matrix import Matrix

_FILES: Final = 100  # requirement files that are followed from one step
ANY: Final = Target()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """``[tool.envcheck.lint]``.

    Attributes:
        select: codes to look for, or their beginnings; empty for all.
        ignore: codes to leave out, likewise.
        per_file: pattern of a path, such as ``"tests/*"`` -> codes to leave out there, between commas.
        gpu: GPUs that the files are meant for.
        driver: driver that they will run on.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file: Mapping[str, str] = field(default_factory=dict)
    gpu: tuple[str, ...] = ()
    driver: str = ""

    @property
    def exceptions(self) -> dict[str, tuple[str, ...]]:
        """Pattern of a path -> the codes that are left out there."""
        return {
            path: tuple(part.strip() for part in text.split(",") if part.strip())
            for path, text in self.per_file.items()
        }

    def left_out(self, file: str) -> tuple[str, ...]:
        """The codes that are left out of a file."""
        path = PurePath(file).as_posix().removeprefix("./")
        return tuple(code for wanted, given in self.exceptions.items() if fnmatchcase(path, wanted) for code in given)


def settings_of() -> Settings:
    """The settings of the ``pyproject.toml`` here.

    Raises:
        InputErrors: naming each key that is unknown or holds something else.
    """
    return Settings(**values_of("lint", "", Settings()))


def lint_files(
    names: Sequence[str],
    matrix: Matrix,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    target: Target = ANY,
    settings: Settings | None = None,
) -> Report:
    """Findings of all files together, worst first.

    Args:
        names: the files, and folders of files; ``-`` is standard input.
        matrix: what is true.
        select: codes to keep, or their beginnings; empty for all.
        ignore: codes to leave out, likewise.
        target: the machines that the files are meant for. A processor alone says which wheels are taken where a file
            does not say it; GPUs, drivers and host files are weighed too.
        settings: what the project leaves out of single files.

    Raises:
        CannotCheckError: if a folder holds no file that is known.
        InputError: if a file cannot be read, its kind cannot be told, a code to select or ignore is none, or the target
            holds something unknown.
    """
    from compat.app.doctor import codes
    from compat.lint import RULES, lint
    from compat.rules import RULES as OTHERS

    known = {**RULES, **OTHERS}
    only_once(names)
    settings = settings or Settings()
    for prefixes in (select, ignore, *settings.exceptions.values()):
        codes(prefixes, known)
    files, walked = expanded(names)
    asks, unread = _asks(files, walked)
    machines = machines_of(target, matrix) if target.described or target.hosts else ()
    named = bool(target.hosts or target.gpus or target.driver)

    def judged(ask: Ask, machine: Host | None, gpu: str, on: Host | None) -> Report:
        part = ask if named else ask.on(gpu)
        return lint(
            replace(part, arch=machine.arch or "" if machine else ""),
            matrix,
            on=machine if named else on,
            select=select,
            ignore=(*ignore, *settings.left_out(ask.file)),
        )

    reports = [
        repaired(ask, matrix, partial(judged, machine=machine, gpu=gpu, on=own), partial(ask_of, ask.file))
        for machine in machines or (None,)
        for ask in asks
        for gpu, own in ((("", None),) if named else _own_machines(ask, matrix))
    ]
    found = {(each.code, each.place, each.detail): each for report in reports for each in report.findings}
    return Report(
        ranked(_once(found.values(), asks)),
        (),
        tuple(dict.fromkeys((*unread, *(item for report in reports for item in report.unchecked)))),
        judged=any(map(_is_read, asks)),
        unanswered=tuple(gap.what for gap in unread if gap.what not in walked),
    )


def _once(findings: Collection[Finding], asks: Sequence[Ask]) -> list[Finding]:
    """Findings without those that a file of requirements has itself, said again where a step of another installs it."""
    steps = ((ask.file, step) for ask in asks for stage in ask.stages for step in stage.installs)
    read = {(file, step.line): {Path(name).name for name in step.files} for file, step in steps}
    told = {(each.code, each.severity, each.detail, Path(each.place.file).name) for each in findings if each.place}
    return [
        each
        for each in findings
        if each.place is None
        or not any(
            (each.code, each.severity, each.detail, name) in told and name != Path(each.place.file).name
            for name in read.get((each.place.file, each.place.line), ())
        )
    ]


def _own_machines(ask: Ask, matrix: Matrix) -> Iterator[tuple[str, Host | None]]:
    """The GPUs that a file itself names, and the machines with them; ``None`` in place of one that is not known.

    What is left to any machine, or all of it, comes last.
    """
    for gpu in ask.gpus:
        try:
            yield gpu, machines_of(Target(gpus=(gpu,)), matrix)[0]
        except InputError:
            yield gpu, None
    if not ask.gpus or any(not part.gpus for part in ask.stages if ask.kind == "kubernetes"):
        yield "", None


def _is_read(ask: Ask) -> bool:
    """Whether a file is what it was read as: prose that is taken for requirements has more lines that are none."""
    steps = [step for stage in ask.stages for step in stage.installs]
    asked = sum(len(step.requests) + len(step.files) for step in steps) + sum(bool(stage.base) for stage in ask.stages)
    named = ask.kind in ORDERED - {"dockerfile"}  # by its place or its keys, so that what asks for nothing is read
    return asked + len(ask.services) + len(ask.files) + bool(ask.python) + ask.gpu + named > len(ask.unread)


def _asks(names: Sequence[str], walked: Collection[str]) -> tuple[list[Ask], list[Unchecked]]:
    """What the files ask for, and those that they build from (a devcontainer's Dockerfile), each file once.

    A file that nobody named is left out with the reason where it cannot be read, and any file of no known kind.
    """
    given: dict[str, Ask] = {}
    unread = []
    for name in names:
        try:
            given[name] = ask_of(name)
        except InputError as error:
            if name not in walked and not isinstance(error, UnknownKindError):
                raise
            unread.append(Unchecked(name, str(error).removeprefix(f"{name}: ")))
    asks = list(given.values())
    seen = {Path(name).resolve() for name in names}
    for place, (name, ask) in enumerate(given.items()):
        paths = [_built_from(file, Path(name).resolve().parent) for file in ask.files]
        built = {path: ask_of(_as_given(path, name)) for path in paths if path is not None}
        if ask.kind == "devcontainer":
            asks[place] = sources.joined(ask, list(built.values()) if None not in paths else ())
        asks += (one for path, one in built.items() if path not in seen)
        seen |= {*built}
    return asks, unread


def _built_from(file: str, folder: Path) -> Path | None:
    """A file of the project that the folder of a devcontainer.json belongs to; nothing outside of it."""
    parts = folder.parts
    root = Path(*parts[: parts.index(".devcontainer")]) if ".devcontainer" in parts else folder
    path = (folder / file).resolve()
    return path if path.is_file() and path.is_relative_to(root) else None


def _as_given(path: Path, beside: str) -> str:
    """A path the way the file was named that led to it: relative if that was."""
    from os.path import relpath

    return str(path) if Path(beside).is_absolute() else relpath(path)


def ask_of(name: str, text: str | None = None) -> Ask:
    """What a file asks for, the requirement files beside it that it names included; ``text`` stands for its own.

    Only files below the file's own folder are followed, for a Dockerfile those below the working folder that holds it,
    as the context of its build, and for a workflow those of its repository: one from elsewhere must not make us read
    others.

    Raises:
        InputError: if it cannot be read, holds a null byte, or is of no known kind.
    """
    text = read_text(name, limit=LIMIT) if text is None else text
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise InputError("holds a null byte", where=f"{shown(name)}:{line}", expected="a text file")
    ask = sources.read(text, shown(name))
    own = Path(name).resolve().parent
    here = Path.cwd().resolve()
    around = (own, *own.parents) if ask.kind == "dockerfile" and own.is_relative_to(here) else (own,)
    folders = tuple(folder for folder in around if folder == own or folder.is_relative_to(here))
    if own.parts[-2:] == (".github", "workflows"):
        folders = (own.parents[1],)
    stages = tuple(
        replace(
            stage,
            installs=tuple(
                _heeding(_followed(inner, folders, {Path(name).resolve()}), folders)
                for step in stage.installs
                for part in (step, *_of_conda(step, folders))
                for inner in _projected(part, folders)
            ),
        )
        for stage in ask.stages
    )
    return replace(ask, stages=stages)


def _projected(step: Install, folders: tuple[Path, ...]) -> tuple[Install, ...]:
    """A step that installs a project as what this asks for; what it leaves open is held by the lock beside it."""
    if step.home != PROJECT:
        return (step,)
    path = _named(step.files[0], folders) if step.files else None
    if path is None:
        return ()
    locked = _locked(path.parent)
    project = sources.read(read_text(str(path), limit=LIMIT), path.name)
    words = [part for word in step.options for part in word.split("=", 1)]
    asked = {one for last, word in pairwise(words) if last in ADDING for one in re.split(r"[\s,]+", word)}
    return tuple(
        replace(
            one, line=step.line, branch=step.branch, home=PROJECT, python=step.python, pythons=project.python,
            requests=tuple(
                replace(request, line=step.line, spec=locked.get(request.name, request.spec))
                for request in one.requests
                if not locked or request.name in locked or request.exact or one.index or request.url
            ),
        )
        for one in project.stages[0].installs
        if not one.branch or one.branch.removeprefix("+") in asked or "--all-extras" in words
    )  # fmt: skip


def _heeding(step: Install, folders: tuple[Path, ...]) -> Install:
    """A step of uv with what the file of its project says of builds; what cannot be read stays open."""
    path = _named(step.heeds, folders) if step.heeds else None
    if path is None:
        return step
    try:
        tool = table(tomls.parsed(read_text(str(path), limit=LIMIT), path.name).get("tool"))
    except InputError:
        return step
    open_ = origins.of_project(tool).unisolated & {"*", *(request.name for request in step.requests)}
    return replace(step, heeds=None, options=(*step.options, "--no-build-isolation") if open_ else step.options)


def _locked(folder: Path) -> dict[str, str]:
    """The version that the lock of a project holds of each package, as a specifier; empty where there is no lock."""
    lock = next((path for name in sources.LOCKS if (path := folder / name).is_file()), None)
    if lock is None or lock.stat().st_size > LIMIT:
        return {} if lock is None else {"": ""}
    steps = sources.read(read_text(str(lock), limit=LIMIT), lock.name.lower()).stages[0].installs
    return {request.name: request.spec for step in steps for request in step.requests}


def _of_conda(step: Install, folders: tuple[Path, ...]) -> tuple[Install, ...]:
    """What pip installs as part of a conda step: the pip sections of its environment files."""
    names = (file for file in step.files if step.manager == "conda" and file.endswith((".yml", ".yaml")))
    paths = (path for name in names if (path := _named(name, folders)))
    return tuple(
        replace(
            one, line=step.line, branch=step.branch, home=step.home,
            requests=tuple(replace(request, line=step.line) for request in one.requests),
        )
        for path in paths
        for one in environment.read(read_text(str(path), limit=LIMIT), str(path)).stages[0].installs[1:]
    )  # fmt: skip


def _followed(step: Install, folders: tuple[Path, ...], read: set[Path]) -> Install:
    """The step with the requests of the files that it names, each ``read`` once; they keep the step's line."""
    requests, extra_indexes, find_links = [*step.requests], [*step.extra_indexes], [*step.find_links]
    for file in dict.fromkeys(step.files):
        inner = _named(file, folders, step.places) if len(read) < _FILES else None
        if inner is None or inner in read:
            continue
        read.add(inner)
        scripts = dict.fromkeys(script for name, script in step.edits if name in {file, inner.name})
        listed = replace(_listed(inner, step, tuple(scripts)), edits=step.edits)
        found = _followed(listed, folders, read)
        requests += (replace(request, line=step.line) for request in found.requests)
        step = replace(step, refused=(*step.refused, *((step.line, text) for _, text in found.refused)))
        extra_indexes += found.extra_indexes
        find_links += found.find_links
        step = replace(
            step, index=step.index or found.index, options=tuple(dict.fromkeys((*step.options, *found.options)))
        )
    step = replace(step, requests=tuple(requests), extra_indexes=tuple(extra_indexes), find_links=tuple(find_links))
    limits = dict.fromkeys(_named(file, folders) for file in dict.fromkeys(step.constraints))
    bounds = [request for path in limits if path for request in _listed(path, replace(step, manager="pip")).requests]
    return replace(step, requests=tuple(requirements.constrained(step.requests, bounds))) if bounds else step


def _listed(path: Path, step: Install, scripts: Sequence[str] = ()) -> Install:
    """What a requirements file lists, changed first as earlier steps do.

    Of a conda environment these are the packages of the step's own manager.
    """
    text = edited(read_text(str(path), limit=LIMIT), scripts) or ""
    if path.name in {PROJECT_FILE, "setup.py"}:
        wanted = {"", *(option.replace("--extra=", "+") for option in step.options if option.startswith("--extra="))}
        parts = _project(text, path.name)
        return Install(
            manager="pip", requests=tuple(one for part in parts if part.branch in wanted for one in part.requests)
        )
    if step.manager != "conda":
        return requirements.from_text(text)[0]
    if path.suffix not in {".yml", ".yaml"}:
        return replace(step, requests=(), files=())
    return environment.read(text, str(path)).stages[0].installs[0]


def _project(text: str, name: str) -> tuple[Install, ...]:
    """The steps that a project's own file amounts to; none where it is not what its name says, for another Python."""
    try:
        return sources.read(text, name).stages[0].installs
    except InputError:
        return ()


def _named(file: str, folders: tuple[Path, ...], places: tuple[str, ...] = ()) -> Path | None:
    """A file of the folders: by its path, or by the end of its path, as images move files around.

    ``places``: folders below them that an image was given; one of their files counts where they themselves have none.
    """
    parts = [part for part in Path(file).parts if part not in {"/", "."}]
    for place in ("", *places):
        for folder in folders:
            for start in range(len(parts)):
                path = folder.joinpath(place.lstrip("/"), *parts[start:]).resolve()
                if path.is_file() and path.is_relative_to(folder):
                    return path
    return None
