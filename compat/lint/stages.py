"""The stages of a file as scenes: each with what its steps, its ancestors and the stages it copies from leave in it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.lint.bases as bases
import compat.lint.conda as condas
import compat.lint.contents as contents
import compat.lint.interpreters as interpreters
import compat.lint.walk as walk
from compat.lint.scene import SCRIPT, Scene, brings_pythons, pythons_of_apt, vendor_runtime
from compat.lint.worlds import worlds_of
from compat.sources import installers
from compat.sources.values import BUILT, IMAGED, ORDERED, Ask, Command, Install, Request, Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Host
    from compat.lint.bases import Base
    from compat.matrix import Matrix

# Paths of a Python environment: one that is copied brings what was installed into it.
_ENVIRONMENT: Final = re.compile(
    r"venv|site-packages|dist-packages|conda|\.local\b|/envs/|python3\.\d+/?$|^/usr/local(?:/lib)?/?$"
)
_MAKES: Final = re.compile(
    r"(?:conda|mamba) (?:env )?create (?!.*--clone).*?(?:-n|--name|-p|--prefix)[ =](\S+)|"
    r"(?:-m venv|virtualenv|uv venv) (?!.*--system-site-packages)(?:.* )?(/\S+)"
)
# What brings another pip than the system's.
_PIP: Final = re.compile(r"get-pip|easy_install|ensurepip|virtualenv|\.whl")
_BRINGS: Final = re.compile(rf"venv|ensurepip|easy_install|\balias\b|{SCRIPT.pattern}")
# Programs that need a Python, and those that only move files about, whatever these are called.
_BRING_NOTHING: Final = frozenset(
    ["pip", "pip3", "python", "python3", "chmod", "chown", "cp", "mv", "rm", "mkdir", "touch", "sed", "echo", "printf",
     "useradd", "adduser", "groupadd", "cd"]
)  # fmt: skip


def scenes(ask: Ask, matrix: Matrix, machine: Host | None = None, place: str = "") -> Iterator[Scene]:
    """One scene per stage that can be built; files that are no Dockerfile have one without a base.

    ``place``: wheel platform to judge them on, where it is not that of the file or the machine.
    """
    made: dict[str, Scene] = {}
    taken = {name for other in ask.stages for name in (str(other.parent), *other.copies)}  # by other stages
    for number, stage in enumerate(ask.stages):
        chain = ask.chain(stage)
        imaged = ask.kind in IMAGED and (chain[0].base or ask.kind != "workflow")
        base = bases.read(chain[0].base, matrix) if imaged else bases.of_modules(stage.modules)
        scene = _scene(ask, stage, chain, base, matrix, made, machine, place)
        made |= {name: scene for name in (stage.name.lower(), str(number)) if name}
        scratch = base is not None and base.reference.lower() == "scratch"
        if not scratch and (stage.name or stage is ask.final or str(number) in taken):  # else nobody can build it
            yield scene


def _scene(
    ask: Ask,
    stage: Stage,
    chain: tuple[Stage, ...],
    base: Base | None,
    matrix: Matrix,
    made: dict[str, Scene],
    machine: Host | None,
    place: str,
) -> Scene:
    """One stage with all that its ancestors left in it: what is installed, by which Python, on which base.

    Steps are walked in the order of the file, because each may change the Python of those that follow. Without a base
    image the machine that the file is meant for says the system, its C library and its Python.
    """
    bare = machine if base is None else None
    commands = tuple(command for part in chain for command in part.commands)
    own = bases.python_of(base, matrix) if base else ""
    others = brings_pythons(commands, own)
    python = "" if others else own if base else _asked_python(ask)
    python = _python_of_venv(commands) or python or _minor(bare.python if bare else None)
    named = _of_names(base, chain, own) if base else {}
    python = next(iter(named.values())) if len({*named.values()}) == 1 else python
    conda, apt = list[Request](), list[Request]()
    listed = tuple(one for part in chain for step in part.installs if step.manager == "apt" for one in step.requests)
    beside = base is not None and not named and bool(pythons_of_apt(listed) - {python})
    glibc = bases.glibc_of(base, matrix) if base else (bare.glibc or "") if bare else ""
    known = Scene(
        ask=ask, stage=stage, chain=chain, matrix=matrix, base=base, commands=commands, arch=_arch(ask, stage, base),
        python="" if beside else python, apt=listed, glibc=glibc, final=stage is ask.final or ask.kind not in BUILT,
        machine=machine, has_python=_has_python(chain, base, commands),
        device=vendor_runtime(machine) if machine else "", place=place,
    )  # fmt: skip
    worlds = worlds_of(known.platform, known.pythons, ask.python)
    another = others or any(part.copies for part in chain) or any(_PIP.search(command.text) for command in commands)
    newest = bases.named_of(base, matrix) if base and not another else ""
    steps = walk.Walk(
        matrix, known.platform, glibc, newest, worlds, at_once=ask.kind not in ORDERED,
        made=_made(commands), hidden=base is not None and base.hidden,
    )  # fmt: skip
    steps.begin(contents.of_base(base, matrix, chain[0].line) if base else ())
    for part in chain:
        steps.begin(_carried(part, made))
        for step in part.installs:
            python = python if step.branch.startswith("+") else _python_after(step, python, others=others)
            if step.manager in {"conda", "apt"}:
                requests = conda if step.manager == "conda" else apt
                requests += step.requests if step.action == "install" else ()
                if requests is conda and step.action == "install":
                    steps.begin(condas.of_conda(step, matrix, python, mine=part is stage))
            else:
                steps.step(_of_wheels(step, part, ask), named.get(step.line, python), mine=part is stage)
    return replace(
        known, python=python, taken=tuple(steps.taken), own=tuple(steps.own), env=tuple(steps.env), worlds=worlds,
        replaced=tuple(steps.replaced), built=tuple(steps.built), conda=tuple(conda), apt=tuple(apt),
    )  # fmt: skip


def _made(commands: tuple[Command, ...]) -> frozenset[str]:
    """The homes of environments that commands make empty, as a step that works in one names it."""
    found = (_MAKES.search(command.text) for command in commands)
    return frozenset(one[1] or f"{one[2]}/bin" for one in found if one)


def _carried(stage: Stage, made: dict[str, Scene]) -> Iterator[walk.Taken]:
    """What comes along with the Python environments that a stage copies from earlier ones."""
    for name, path in stage.carried:
        source = made.get(name.lower())
        if source and _ENVIRONMENT.search(path):
            yield from (replace(item, mine=False) for item in source.env if not item.base)


def _of_wheels(step: Install, part: Stage, ask: Ask) -> Install:
    """A step that installs a folder of wheels, with what they were made of in the stages that files are copied from."""
    if step.action != "install" or not part.copies:
        return step
    stages = [each for number, each in enumerate(ask.stages) if {each.name, str(number)} & {*part.copies}]
    made = [one for each in stages for one in each.installs if one.action == "wheel"]
    if not made:
        return step
    words = (word for command in part.commands if command.line == step.line for word in command.words)
    if "--no-index" not in step.options and not any(word.endswith(("/*", "*.whl")) for word in words):
        return step
    requests = step.requests or tuple(request for one in made for request in one.requests)
    options = tuple(option for option in step.options if option != "--no-index")
    return replace(made[0], requests=requests, options=options, action="install", line=step.line, branch=step.branch)


def _arch(ask: Ask, stage: Stage, base: Base | None) -> str:
    """The processor of a stage: what the file says, then what the person says, else that of most machines."""
    if (base and base.kind == "jetson") or "arm64" in stage.platform:
        return "aarch64"
    return "x86_64" if "amd64" in stage.platform else ask.arch or "x86_64"


def _python_of_venv(commands: tuple[Command, ...]) -> str:
    """The Python of the virtual environment, where every one is made by an interpreter whose name says its version."""
    found = [re.search(r"(?:^|/)python(3\.\d{1,2})\)? -m (?:venv|virtualenv)\b", command.text) for command in commands]
    made = {one[1] for one in found if one}
    return made.pop() if len(made) == 1 else ""


def _of_names(base: Base, chain: tuple[Stage, ...], own: str) -> dict[int, str]:
    """The Python of the pip steps at each line, where apt brings several, or a link moves the name of the system's own.

    Empty where something else may have brought one. ``own``: that of the system.
    """
    commands = tuple(command for part in chain for command in part.commands if command.build)
    packages = {one.name for part in chain for step in part.installs if step.manager == "apt" for one in step.requests}
    linked = tuple(filter(interpreters.moves, commands))
    rest = tuple(one for one in commands if one not in linked and not re.match(r"apt(?:-get)? ", one.text))
    others = brings_pythons(rest) or any(part.copies or "venv" in part.env.get("PATH", "") for part in chain)
    others = others or any(_BRINGS.search(one.text) for one in rest)
    if base.kind not in {"plain", "cuda"} or base.python or not base.os.startswith(("ubuntu", "debian")) or others:
        return {}
    if not own or not (pythons_of_apt(Request(name=name) for name in packages) - {own} or brings_pythons(linked)):
        return {}
    found: dict[int, set[str]] = {}
    for command, python, _ in interpreters.meanings(commands, own, packages):
        if any(step.manager == "pip" and not step.python for step in installers.installs([command])):
            found.setdefault(command.line, set()).add(python)
    return {line: next(iter(pythons)) for line, pythons in found.items() if len(pythons) == 1 and pythons != {""}}


def _minor(python: str | None) -> str:
    """The minor version of an interpreter."""
    found = re.match(r"3\.\d{1,2}", python or "")
    return found.group() if found else ""


def _asked_python(ask: Ask) -> str:
    found = re.fullmatch(r"(?:==|=|~=|\^)?(3\.\d{1,2})(?:\.[\d*]+)?", ask.python)
    return found[1] if found else ""


def _python_after(step: Install, python: str, *, others: bool) -> str:
    """The Python in use after a step that installs one."""
    for request in step.requests:
        if step.manager == "conda" and request.name == "python":
            worlds = worlds_of("", frozenset(), request.spec)
            return _minor(request.exact) or (worlds[0].python if len(worlds) == 1 else "")
        if step.manager == "apt" and not others and (found := re.fullmatch(r"python(3\.\d{1,2})", request.name)):
            return found[1] if python in {"", found[1]} else ""  # beside the system's own which one counts is unknown
    return python


def _has_python(chain: tuple[Stage, ...], base: Base | None, commands: tuple[Command, ...]) -> bool | None:
    """Whether some earlier step could have brought a Python; any doubt counts for the file."""
    if base is None or base.python:
        return True
    if base.kind not in {"cuda", "plain"} or base.variable:
        return None  # AMD's images for development bring python3-pip (ROCm-docker, dev/Dockerfile-ubuntu-22.04)
    if any(command.words[0] == "feature" for command in commands):
        return None  # features of a development container bring what they like
    brings = re.compile(
        r"python|\bpy3-|conda|mamba|pyenv|\buv\b|get-pip|rye|pip3?\b.*/|\.sh\b|^(?:dnf|yum)\b.* install\b|"
        r"\bapt\b.*\spip\b|\.(?:deb|rpm)\b"  # Debian's python3-pip provides it since 20.0.2; a file may need it
    )
    installing = [command.text for command in commands if command.build and command.words[0] not in _BRING_NOTHING]
    copied = any(part.copies for part in chain)
    return copied or any(brings.search(text) for text in installing)
