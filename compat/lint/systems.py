"""Lint of a base's own system: package lists that cannot be read any more, and Pythons that it does not package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import compat.lint.bases as bases
import compat.lint.images as images
import compat.lint.interpreters as interpreters
from compat import versions
from compat.lint.finding import finding, of_base, of_request
from compat.lint.scene import SCRIPT, Scene, brings_pythons
from compat.sources import installers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding
    from compat.lint.bases import Base
    from compat.lint.walk import Taken
    from compat.matrix import Matrix
    from compat.sources.values import Command

_TWO: Final = re.compile(r"(?:.*/)?python(?:2(?:\.7)?)?(?:-dev)?")  # Python 2, its program and its packages

# Where conda-build unpacks a source: its folders are named by the package and the moment; and where Homebrew does, in
# the folders of macOS for what is temporary. A home is one person's.
_WORK: Final = re.compile(
    r"file:/.*(?:_\d{9,13}/work\b|/croots?/|/feedstock_root/|/conda-bld/)|file:///?private/(?:tmp|var/folders)/"
)
_HOME: Final = re.compile(r"file:///(?:[A-Za-z]:/|home/|Users/)")
# What puts another Python in the place of the system's, or lifts the mark of this one.
_UNMANAGED: Final = re.compile(
    r"venv|virtualenv|pipx|get-pip|deadsnakes|break.system.packages|EXTERNALLY-MANAGED|python3\.\d+|pip\.conf",
    re.IGNORECASE,
)
_LISTS: Final = re.compile(r"(?:sudo )?apt(?:-get)? (?:\S+ )*?install ")  # names of packages run nothing
_GETS: Final = frozenset({"wget", "curl"})
_FETCHES: Final = re.compile(
    r"git (?:\S+ )*?(?:clone|fetch|pull|submodule) |(?:\S+ -m )?\S*pip\S* (?:\S+ )*?install |(?:wget|curl) "
)
# A wheel's address without variables, and how its name has to be made (PEP 427, "File name convention").
_FILE: Final = re.compile(r"https?://[^?#${}]*/([^/?#${}]+\.whl)(?=[?#]|$)")
_WHEEL: Final = re.compile(r"[^-]+-[^-]+(?:-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl")
_MAY_BRING_GIT: Final = re.compile(
    rf"^(?!.*\bpip\S* (?:\S+ )*?install ).*\bgit\b|conda|mamba|xargs|\binstall .*\$|\bmake\b|{SCRIPT.pattern}"
)
_OWN_PIP: Final = "Take the get-pip.py of the image's own Python, from https://bootstrap.pypa.io/pip/, or use its pip."
_UNLISTED: Final = "rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list"
_TRUSTED: Final = "Have apt trust NVIDIA's new key before it: a step installs packages of these lists."
_FETCHED: Final = (
    "apt-key adv --fetch-keys https://developer.download.nvidia.com/compute/cuda/repos/"
    "$(. /etc/os-release; echo $ID$VERSION_ID | tr -d .)/x86_64/3bf863cc.pub"
)
# Packages that NVIDIA's lists alone have, or have in other releases.
_OF_NVIDIA: Final = re.compile(r"cuda|tensorrt|lib(?:cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|npp|nv)")
# What leaves apt without its lists, and what may fetch them anew.
_EMPTIED: Final = re.compile(
    r"(?:sudo )?(?:rm (?:-\S+ )+(?:\S+ )*?/var/lib/apt(?:/lists)?(?:/\*)?/?(?: |$)|apt-get distclean)"
)
_RELISTED: Final = re.compile(rf"\bapt\S* .*\bupdate\b|\baptitude\b|^mount |{images.ARCHIVES.pattern}", re.IGNORECASE)
_PACKAGE: Final = re.compile(r"[a-z0-9][a-z0-9+.-]+(?:[=/]\S+)?")
# What such images bring themselves: apt leaves it as it is.
_HELD: Final = re.compile(
    r"(?:apt|bash|adduser|ca-certificates|coreutils|curl|debconf|dpkg|findutils|gnupg\d?|grep|gzip|hostname|login|"
    r"lsb-base|mount|netbase|passwd|perl-base|procps|sed|tar|tzdata|util-linux|zlib1g|build-essential|g\+\+|gcc|make|"
    r"cuda|lib(?:c6|stdc|cu|nccl|npp|nv|ssl|sqlite|ffi|expat|ncurses|readline|bz2|lzma|db|uuid))\S*"
)
# Options of pip that install elsewhere, or nothing.
_ELSEWHERE: Final = frozenset({"--target", "-t", "--prefix", "--root", "--dry-run"})


def key_rotated(scene: Scene) -> Iterator[Finding]:
    """base-apt-key-rotated: a framework image of before the new key, whose lists a step reads as they are."""
    base, command = scene.base, _first_update(scene)
    if base is None or command is None or not _has_nvidia_list(base):
        return
    name, version = next(iter(base.installed.items()))
    new_key = scene.matrix.turn("cuda-apt-key").version
    day = _published(name, version, f"cuda{bases.cuda_minor(base)}", scene.matrix)
    if day and day < new_key:
        stops = f"`{command.text[:40]}` stops with NO_PUBKEY A4B469963BF863CC"
        detail = f"{base.reference} is from before NVIDIA's new apt key ({new_key}): {stops}."
        asked = any(_OF_NVIDIA.match(one.name) for one in scene.apt)  # which the lists are needed for
        fix, lines = (_TRUSTED, (f"RUN {_FETCHED}",)) if asked else (f"Before it: RUN {_UNLISTED}", ())
        code, line = "base-apt-key-rotated", command.line
        yield of_base(code, scene, line, detail, confidence="likely", fix=fix, commands=lines)


def _published(name: str, version: str, runtime: str, matrix: Matrix) -> str:
    """The day of a framework's release; of one from before the matrix, that of the oldest there, which came later.

    Of a nightly it is not later than the last release for its CUDA.
    """
    rows = [row for row in matrix.builds(name) if row.date]
    if not version:
        return max((row.date for row in rows if row.runtime == runtime), default="")
    oldest = min(rows, key=lambda row: versions.parsed(row.version), default=None)
    version = version.partition("rc")[0]  # a candidate came before its release
    asked = versions.parsed(version) if versions.is_release(version) else None  # a tag may leave out a last zero
    days = [row.date for row in rows if asked and versions.parsed(row.version) == asked]
    before = oldest and asked and asked < versions.parsed(oldest.version)
    return min(days) if days else oldest.date if oldest and before else ""


def _has_nvidia_list(base: Base) -> bool:
    """Whether a framework image is made from one of nvidia/cuda with apt lists, as its maker's Dockerfiles say.

    Sources: tensorflow, tools/dockerfiles/partials/ubuntu/nvidia.partial.Dockerfile; pytorch, Dockerfile (its runtime
    images are made from Ubuntu's own).
    """
    tensorflow = base.repository == "tensorflow/tensorflow" and "gpu" in base.tag
    return bool(base.installed) and (tensorflow or (base.repository == "pytorch/pytorch" and base.flavour == "devel"))


def _first_update(scene: Scene) -> Command | None:
    """The first step that reads the package lists as the base has them; none if they are repaired before."""
    for command in scene.commands:
        if not command.build:
            continue
        if images.REPAIRED.search(command.text):
            return None
        if images.UPDATES.match(command.text):
            return None if command.guarded or command.branch else command
    return None


def departed(scene: Scene) -> Iterator[Finding]:
    """source-gone: packages that left the system of the base."""
    row = bases.archive_of(scene.base, scene.matrix) if scene.base else None
    if row is None or any(images.ARCHIVES.search(command.text) for command in scene.commands):
        return
    gone = dict(name.partition("=")[::2] for name in row.gone)
    for command in filter(images.stops, scene.stage.commands):
        for name in sorted({*command.words} & {*gone}) if _LISTS.match(command.text) else ():
            fix = f"Take {gone[name]}." if gone[name] else "Leave it out, or take a base whose system has it."
            detail = f"{row.os} has no package {name} any more, and no other archive is added."
            yield of_base("source-gone", scene, command.line, detail, fix=fix, rows=(row,))


def unlisted(scene: Scene) -> Iterator[Finding]:
    """apt-lists-missing: packages are asked for where the image has no lists of them, or a step has removed these."""
    base = scene.base
    bare = base and (base.repository in {"ubuntu", "debian"} or (base.repository == "python" and "slim" in base.tag))
    cuda = base and bases.home(base.repository) == "nvidia/cuda" and images.is_debian(base)
    if base is None or not (bare or cuda) or scene.ask.kind != "dockerfile":
        return
    lists, why, there = False, f"{base.reference} ships none", set[str]()
    for command in scene.commands:
        if _EMPTIED.match(command.text):
            lists, why = (False, f"line {command.line} removes them") if images.stops(command) else (lists, why)
        elif _LISTS.match(command.text):
            words = command.words[command.words.index("install") + 1 :]
            names = {word for word in words if _PACKAGE.fullmatch(word) and not word.endswith(".deb")} - there
            lacks = not (lists or {"-t", "-o"} & {*words}) and not all(map(_HELD.fullmatch, names))
            if lacks and images.stops(command) and command in scene.stage.commands:
                detail = f"`{command.text[:60]}`: apt has no lists of packages here ({why}), and finds none of them."
                yield of_base("apt-lists-missing", scene, command.line, detail)
                return
            there |= names
        else:
            lists = lists or (command.build and _RELISTED.search(command.text) is not None)


def switched_off(scene: Scene) -> Iterator[Finding]:
    """source-gone: an address that its host has switched off, unless git is told another one, or that no file has."""
    told = any("insteadof" in command.text.lower() for command in scene.commands)
    off = scene.matrix.turn("git-protocol")
    steps = [one for one in scene.stage.commands if images.stops(one) and _FETCHES.match(one.text)]
    asked = {one: step.line for step in steps for one in step.words if step.words[0] not in _GETS or "*" in one}
    words = {word for one in scene.commands for word in one.words}  # of which each step's own fate is known
    own = (one.request for one in scene.own if not (one.request.marker or one.step.branch or one.request.url in words))
    for address, line in {**asked, **{one.url: one.line for one in own}}.items():
        if off.name in address and not told:
            detail = f"`{address[:80]}`: {off.name} has not answered since {off.version}."
            yield finding("source-gone", scene, line, detail, fix="Write https:// in its place.")
        elif (file := _FILE.match(address)) and ("*" in file[1] or not _WHEEL.fullmatch(unquote(file[1]))):
            why = "nothing fills in a `*` of an address" if "*" in file[1] else "a wheel's name has five parts, or six"
            detail = f"`{file[1][:80]}`: {why}, and the step stops."
            yield finding("source-gone", scene, line, detail, fix="Write the whole name, as its page has it.")


def frozen(scene: Scene) -> Iterator[Finding]:
    """source-gone: addresses of a builder's machine, which ``pip freeze`` writes of what conda or Homebrew installed.

    Source: PEP 610, "Recording the Direct URL Origin of installed distributions"; pip documentation, "pip freeze".
    """
    steps: dict[tuple[int, bool], list[Taken]] = {}
    for one in scene.own:
        built, listed = _WORK.match(one.request.url), scene.ask.kind == "requirements"
        if (built or (listed and _HOME.match(one.request.url))) and not (one.request.marker or one.step.branch):
            steps.setdefault((id(one.step), built is None), []).append(one)
    for (_, kept), found in steps.items():
        more = f" and {len(found) - 1} more name folders" if len(found) > 1 else " names a folder"
        where = "one person's machine: elsewhere" if kept else "the machine where its package was built:"
        detail = f"{found[0].request.name}{more} of {where} the install stops."
        fix = "Write the list with `pip list --format=freeze`, which names versions."
        yield of_request("source-gone", found[0], scene, detail, severity="warning" if kept else "error", fix=fix)


def installer_too_new(scene: Scene) -> Iterator[Finding]:
    """python-unsupported: pip's own installer as it is today, run by a Python that it has left behind."""
    oldest, base, names = scene.matrix.turn("pip-python").version, scene.base, {one.name for one in scene.apt}
    two = base is not None and not (base.python or scene.conda) and any(map(_TWO.fullmatch, names))
    moved = tuple(one for one in scene.commands if not interpreters.moves(one))
    known = base is not None and not scene.conda and not brings_pythons(moved)
    own = bases.python_of(base, scene.matrix) if base and known else ""
    for command, python, piped in interpreters.meanings(scene.commands, own, names):
        if "get-pip.py" not in piped + command.text or not images.stops(command) or command not in scene.stage.commands:
            continue
        runs = python or ("2.7" if two and _TWO.fullmatch(command.words[0]) else "")
        every = {runs} if runs else scene.pythons if command.words[0].endswith("python3") else frozenset()
        if every and not any(versions.at_least(one, oldest) for one in every) and not _of_old_python(scene):
            most = runs or f"{max(every, key=versions.parsed)} at most"
            detail = f"get-pip.py of today needs Python {oldest}, and Python {most} runs it: the step stops."
            fix = f"Take https://bootstrap.pypa.io/pip/{runs}/get-pip.py." if runs else _OWN_PIP
            yield of_base("python-unsupported", scene, command.line, detail, confidence="likely", fix=fix)


def replaces_itself(scene: Scene) -> Iterator[Finding]:
    """python-unsupported: a pip of before Requires-Python puts the newest pip in its place, and is called again."""
    base, matrix = scene.base, scene.matrix
    row = matrix.system(base.os) if base and base.os and not base.python else None
    heeds, last = matrix.turn("pip-heeds"), matrix.turn("pip-three")
    if row is None or not row.pip or versions.at_least(row.pip, heeds.version) or scene.conda:
        return
    if brings_pythons(scene.commands) or any("get-pip" in one.text for one in scene.commands):
        return
    steps = [one for one in scene.stage.installs if one.manager == "pip" and not (one.branch or one.home or one.python)]
    for number, step in enumerate(steps[:-1]):
        newest = [one for one in step.requests if one.name == "pip" and not one.spec]
        if newest and {"-U", "--upgrade"} & {*step.options}:
            detail = (
                f"pip {row.pip} of {row.os} does not heed which Pythons a release is for: it puts the newest pip in "
                f"its place, which does not run there, and the install on line {steps[number + 1].line} stops."
            )
            fix = f"Write 'pip<{last.version}' in its place."
            rows = (row, heeds, last)
            yield of_base("python-unsupported", scene, newest[0].line, detail, confidence="likely", fix=fix, rows=rows)
            return


def _of_old_python(scene: Scene) -> bool:
    """Whether the script may be one that was kept for older Pythons: its address says so, or it is not known."""
    fetched = [one.text for one in scene.commands if "get-pip.py" in one.text]
    addresses = [found[1] for text in fetched for found in re.finditer(r"(https?://\S*get-pip\.py)", text)]
    return not addresses or any("/pip/" in address or "bootstrap.pypa.io" not in address for address in addresses)


def managed(scene: Scene) -> Iterator[Finding]:
    """python-externally-managed: pip of a system that leaves its Python to its own package manager.

    Source: PEP 668; pip documentation, "pip install" (``--break-system-packages``; ``--target``, ``--prefix`` and
    ``--root`` install elsewhere).
    """
    rows = bases.systems_of(scene.base, scene.matrix) if scene.base else []
    steps = (one.text for one in scene.commands if not _LISTS.match(one.text))
    texts = (*steps, *scene.stage.env.values(), *scene.stage.env)
    if not (rows and all(row.managed for row in rows)) or scene.conda or any(part.copies for part in scene.chain):
        return
    if brings_pythons(scene.commands) or any(map(_UNMANAGED.search, texts)):
        return
    for command in scene.stage.commands:
        own = any(
            step.manager == "pip" and step.action == "install" and not (step.home or step.python)
            for step in installers.installs([command])
        )
        elsewhere = _ELSEWHERE & {word.partition("=")[0] for word in command.words}
        if own and not (elsewhere or command.guarded or command.branch):
            named = " and ".join(row.os for row in rows)
            detail = f"`{command.text[:60]}`: pip of {named} refuses to install into the system's own Python."
            yield of_base("python-externally-managed", scene, command.line, detail, rows=rows)
            return


def runners(scene: Scene) -> Iterator[Finding]:
    """source-gone, python-unsupported: GitHub's machines that are no more, and the Pythons that they have not."""
    machines = [one for one in scene.stage.commands if one.words[0] == "runs-on" and scene.ask.kind == "workflow"]
    gone = {row.name: row for row in scene.matrix.table("turns") if row.turn.startswith("runner-gone-")}
    for machine in machines:
        if row := gone.get(machine.words[1]):
            detail = f"GitHub has no machine {row.name} since {row.version}: the job waits for one, and never starts."
            fix = f"Name one that is there, as {row.name.partition('-')[0]}-latest."
            sources = (scene.matrix.cite(row),)
            yield finding("source-gone", scene, machine.line, detail, confidence="likely", fix=fix, sources=sources)
        elif machine.build and not scene.stage.base:
            yield from _pythonless(machine.words[1], scene)


def _pythonless(machine: str, scene: Scene) -> Iterator[Finding]:
    """A Python that the action setup-python has not for the system of a machine."""
    found = re.fullmatch(r"ubuntu-(latest|\d\d\.\d\d)(?:-arm)?", machine)
    rows = [row for row in scene.matrix.table("systems") if row.runner and not images.ended(row.os, scene.matrix)]
    rows = [row for row in rows if found and (row.os == f"ubuntu{found[1]}" or found[1] == "latest")][-2:]
    for command in scene.commands if rows else ():
        head, _, *asked = *command.words[:3], ""
        known = [python for python in asked if re.fullmatch(r"\d\.\d{1,2}(?:\.(?:x|\d+))?", python)]
        for python in known if head == "feature" and command.build else ():
            if not any(versions.at_least(versions.minor(python.rstrip(".x")), row.runner) for row in rows):
                detail = f"The action setup-python has no Python {python} for {' and '.join(row.os for row in rows)}."
                later = f"Use Python {rows[0].runner} or later, or a container with python:{versions.minor(python)}."
                later = (
                    'Put the number into quotes, as "3.10": without them YAML reads 3.1.' if python == "3.1" else later
                )
                sources = tuple(map(scene.matrix.cite, rows))
                yield finding("python-unsupported", scene, command.line, detail, fix=later, sources=sources)


def without_git(scene: Scene) -> Iterator[Finding]:
    """build-tools-missing: a requirement of a git repository, in an image that has no git and gets none.

    Source: docker-library/python (its slim and alpine images are made from the distribution's own, the others from
    buildpack-deps, which has git); pip documentation, "VCS Support".
    """
    base, named = scene.base, {one.name.partition("-")[0] for one in scene.apt}
    plain = base is not None and (base.kind == "plain" or bases.home(base.repository) == "nvidia/cuda")
    lean = base is not None and base.kind == "python" and re.search("slim|alpine", base.tag)
    if not (plain or lean) or scene.conda or "git" in named or any(part.copies for part in scene.chain):
        return
    if any(_MAY_BRING_GIT.search(command.text) for command in scene.commands if command.build):
        return
    asked = [(one.request.line, one.request.url) for one in scene.own if not (one.request.marker or one.step.branch)]
    fetched = [one for one in scene.stage.commands if images.stops(one) and _FETCHES.match(one.text)]
    asked += [(one.line, word) for one in fetched for word in one.words]
    for line, address in sorted(asked):
        if address.startswith("git+"):
            detail, fix = f"`{address[:60]}` is fetched by git, and no step brings it.", "Install git first."
            yield of_base("build-tools-missing", scene, line, detail, confidence="likely", fix=fix)
            return


RULES: Final = (
    key_rotated,
    departed,
    unlisted,
    switched_off,
    frozen,
    installer_too_new,
    replaces_itself,
    managed,
    runners,
    without_git,
)
