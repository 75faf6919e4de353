"""Commands of installers as install steps: pip, uv, conda, pipenv, poetry, pdm, and a system's own package manager."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from compat.names import normalise
from compat.sources import requirements, settings
from compat.sources.values import ENTRYPOINT, PIPFILE, PROJECT, PROJECT_FILE, Action, Command, Install, Request

_REDIRECTION: Final = re.compile(r"(?:\d*|&)(?:>>?|<)\S*")
# MMDetection's ``mim`` hands what it is given to pip (OpenMIM, mim/commands/install.py).
_PIP: Final = re.compile(r"(?:.*/)?(?:pip(?:[23](?:\.\d+)?)?|mim)")
_PYTHON: Final = re.compile(r"(?:.*/)?(?:python|pypy)(\d(?:\.\d+)?)?")
_CONDA: Final = re.compile(r"(?:.*/)?(?:conda|mamba|micromamba)")
UV: Final = re.compile(r"(?:.*/)?uv")
_PROJECT: Final = re.compile(r"(?:.*/)?(?:poetry|pdm)")
_PIPENV: Final = re.compile(r"(?:.*/)?pipenv")
# Those that run a command in an environment: ``conda run -n env python``.
RUNNERS: Final = (_CONDA, _PROJECT, _PIPENV, UV)
# Options that name extras and groups of a project; the first ones add these to what is installed.
ADDING: Final = frozenset({"--extra", "--extras", "-E", "--with", "--only", "--group", "-G", "--only-group"})
GROUPING: Final = ADDING | {"--without", "--no-group", "--directory", "-C", "-p", "--project", "--python"}
_SYSTEM_FOLDERS: Final = frozenset({"/usr/bin", "/usr/local/bin", "/bin"})
# A short option that no pip has for an install (``pip install --help``; ``-b``, ``-d`` and ``-E`` were dropped).
_NO_OPTION: Final = re.compile(r"-[hvqVUI]*[^\W\d_hvqVUIrcetifCbdEw]\w*")
_ACTIONS: Final[Mapping[str, Action]] = {"install": "install", "uninstall": "uninstall", "wheel": "wheel"}
_APT: Final = re.compile(r"(?:.*/)?(?:apt-get|apt|dnf|yum|microdnf|apk|zypper)")


def installs(found: Sequence[Command]) -> tuple[Install, ...]:
    """The install steps among commands; ``uv run`` installs the project first."""
    steps = []
    for command in filter(lambda each: each.build, found):
        home = command.home if command.home != PROJECT else ""
        steps += [(_uv(["sync"], command.line, ""), command, "")] if command.home == PROJECT else []
        steps.append((_install(command), command, home))
    return tuple(
        replace(settings.applied(step, dict(command.settings)), branch=command.branch, home=step.home or home)
        for step, command, home in steps
        if step is not None
    )


def of_container(starts: Sequence[Command]) -> tuple[Install, ...]:
    """The install steps of what a container starts, be it the arguments of the image's own program."""
    return installs([replace(one, words=one.words[one.words[:1] == (ENTRYPOINT,) :]) for one in starts])


def _install(command: Command) -> Install | None:
    """What a command installs, if it is one of an installer's; ``python -m pip`` and paths to pip count."""
    words, python = _unredirected(command.words), ""
    if not words:
        return None
    folder = words[0].rpartition("/")[0]
    home = folder if folder not in _SYSTEM_FOLDERS else ""
    if (named := _PYTHON.fullmatch(words[0])) and words[1:2] == ["-m"] and words[2:3] in (["pip"], ["uv"]):
        python = named[1] or ""
        words = words[2:]
    python = python if "." in python else ""
    if UV.fullmatch(words[0]) and len(words) > 1:
        return _uv(words[1:], command.line, python)
    head, rest = words[0], words[1:]
    for pattern, maker in ((_PIP, _pip), (_CONDA, _conda), (_APT, _apt), (_PROJECT, _project), (_PIPENV, _pipenv)):
        if pattern.fullmatch(head):
            step = maker(rest, command.line, python or _minor_in(head))
            return replace(step, home=step.home or home) if step and pattern is _PIP else step
    return None


def _unredirected(words: Sequence[str]) -> list[str]:
    """The words without what sends output elsewhere: ``2>&1``, ``>/dev/null``, ``> log``."""
    kept, rest = [], iter(words)
    for word in rest:
        if not _REDIRECTION.fullmatch(word):
            kept.append(word)
        elif word[-1] in "<>":
            next(rest, "")
    return kept


def _minor_in(program: str) -> str:
    found = re.search(r"pip(3\.\d+)$", program)
    return found[1] if found else ""


def _pip(words: list[str], line: int, python: str) -> Install | None:
    """The requests of ``pip install``, ``pip wheel`` and ``pip uninstall``."""
    verb = next((word for word in words if word in _ACTIONS), "")
    if not verb:
        return None
    step = requirements.from_words(words[words.index(verb) + 1 :], line, python=python)
    wrong = tuple((line, word) for word in words if _NO_OPTION.fullmatch(word)) if verb == "install" else ()
    return replace(step, action=_ACTIONS[verb], refused=step.refused + wrong)


def _project(words: list[str], line: int, _python: str) -> Install | None:
    """``pipenv install``, ``poetry add``, ``pdm add``: names with versions after ``==`` or ``@``."""
    if words[:1] in (["install"], ["sync"]) and not _named(words[1:]):
        return Install(manager="pip", files=(PROJECT_FILE,), options=tuple(words[1:]), line=line, home=PROJECT)
    if words[:1] not in (["install"], ["add"]):
        return None
    named = [re.sub(r"@(?=\d)", "==", word) for word in words[1:] if not re.search(r"@[\^~>]", word)]
    return replace(requirements.from_words(named, line), refused=())


def _pipenv(words: list[str], line: int, python: str) -> Install | None:
    """The same of ``pipenv install`` and ``pipenv sync``, whose project is a Pipfile."""
    step = _project(words, line, python)
    return replace(step, files=(PIPFILE,)) if step and step.home == PROJECT else step


def _named(words: Sequence[str]) -> bool:
    """Whether a command names something to install, besides the groups and extras of a project."""
    before = ("", *words)
    return any(not word.startswith("-") and last not in GROUPING for last, word in zip(before, words, strict=False))


def _uv(words: list[str], line: int, python: str) -> Install | None:
    """The requests of uv's ways to install; ``sync`` takes files only."""
    match words:
        case ["pip", "uninstall", *rest]:
            step = requirements.from_words(rest, line, manager="uv", python=python)
            return replace(step, action="uninstall")
        case ["pip", "install", *rest] | ["add", *rest]:
            return requirements.from_words(rest, line, manager="uv", python=python)
        case ["sync", *rest]:
            named = requirements.from_words(rest, line, python=python).python
            return Install(
                manager="uv", files=(PROJECT_FILE,), options=tuple(rest), line=line, home=PROJECT, python=named
            )
        case ["pip", "sync", *rest]:
            files = [part for word in rest for part in ((word,) if word.startswith("-") else ("-r", word))]
            return requirements.from_words(files, line, manager="uv", python=python)
        case _:
            return None


def _conda(words: list[str], line: int, _python: str) -> Install | None:
    """The requests of ``conda install``, ``create`` and ``update``, with channels and environment files."""
    if words[:1] == ["env"]:
        words = words[1:]
    if not words or words[0] not in {"install", "create", "update", "remove", "uninstall"}:
        return None
    action: Action = "uninstall" if words[0] in {"remove", "uninstall"} else "install"
    channels, requests, files, rest, home = [], [], [], words[1:], ""
    while rest:
        word = rest.pop(0)
        if word in {"-c", "--channel", "-n", "--name", "-p", "--prefix", "-f", "--file", "--override-channels"}:
            value = rest.pop(0) if rest and word != "--override-channels" else ""
            channels += [value] if word in {"-c", "--channel"} else []
            home = value if word in {"-n", "--name", "-p", "--prefix"} else home
            files += [value] if word in {"-f", "--file"} else []
        elif word.startswith("--file="):
            files.append(word.partition("=")[2])
        elif not word.startswith("-") and (found := conda_request(word, line)):
            requests.append(found)
    return Install(
        manager="conda", requests=tuple(requests), channels=tuple(channels), files=tuple(files), line=line, home=home,
        action=action,
    )  # fmt: skip


def conda_request(text: str, line: int) -> Request | None:
    """A conda match specification as a request: ``pytorch::pytorch=1.12`` -> ``pytorch==1.12.*``."""
    found = re.fullmatch(r"(?:([\w./:-]+)::)?([\w.-]+)\s*(.*)", text.strip().strip("'\""))
    if found is None:
        return None
    channel, name, spec = found[1] or "", found[2], found[3].strip()
    built = re.fullmatch(r"=?\s*=\s*[\w.+!*]+=(\S+)|\d\S*\s+(\S+)", spec)
    build = (built[1] or built[2]) if built else ""
    if found := re.fullmatch(r"=?\s*=\s*([\w.+!]+(?:\.\*)?)(?:=(\S+))?", spec):
        version = found[1]
        loose = not spec.startswith("==") and not found[2] and not version.endswith(".*")
        spec = f"=={version}{'.*' if loose else ''}"
    elif found := re.match(r"\d[\w.+!*]*", spec):  # "numpy 1.21 py310_0": a bare version is exact, a build may follow
        spec = f"=={found.group()}"
    return Request(
        name=normalise(name), spec=spec.replace(" ", ""), line=line, channel=channel, build=build, written=text.strip()
    )


def _apt(words: list[str], line: int, _python: str) -> Install | None:
    """The packages of apt, apk, dnf and zypper."""
    if not {"install", "add", "in"} & set(words):
        return None
    start = next(index for index, word in enumerate(words) if word in {"install", "add", "in"})
    names = [word for word in words[start + 1 :] if not word.startswith("-")]
    requests = tuple(_package(name, line) for name in names)
    return Install(manager="apt", requests=requests, line=line)


def _package(text: str, line: int) -> Request:
    name, _, version = text.partition("=")
    return Request(name=name.partition(":")[0].lower(), spec=f"=={version}" if version else "", line=line)
