"""What a file asks for: base images, packages with the indexes they may come from, commands, settings; with lines.

These values hold no verdict: whether a request can be met is for the rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Final, Literal

from compat.lazy import dataclass

Kind = Literal[
    "dockerfile", "requirements", "conda", "compose", "devcontainer", "pyproject", "pipfile", "lock",
    "kubernetes", "job", "workflow", "pixi", "cog",
]  # fmt: skip
# Files whose steps build an image, where no device is in sight.
BUILT: Final[frozenset[Kind]] = frozenset({"dockerfile", "devcontainer"})
# Files whose steps run one after the other, and those whose stages stand upon an image.
IMAGED: Final[frozenset[Kind]] = frozenset({"dockerfile", "devcontainer", "kubernetes", "workflow", "compose"})
ORDERED: Final[frozenset[Kind]] = IMAGED | {"job"}
Manager = Literal["pip", "uv", "conda", "apt"]
# The environment that uv, Poetry, PDM and Pipenv keep for a project, and the files that say what goes into it.
PROJECT: Final = "$project"
PROJECT_FILE: Final = "pyproject.toml"
PIPFILE: Final = "Pipfile"
# Stands before the words that a container starts with where these are arguments of the image's own program.
ENTRYPOINT: Final = "$entrypoint"
# What a step does with its packages: ``wheel`` builds or fetches them and installs nothing.
Action = Literal["install", "uninstall", "wheel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One package that is asked for.

    Attributes:
        name: normalised distribution (or conda, or apt package) name.
        spec: version specifiers as written, ``==2.0.1+cu118``, ``>=2,<3``; conda's ``=1.12`` becomes ``==1.12.*``.
        extras: extras in brackets.
        url: address of a wheel or repository, where it is given instead of a version.
        marker: environment marker as written.
        line: line in the file, from 1.
        channel: conda channel that it must come from (``pytorch::pytorch``), empty for any.
        build: conda's name of a build, ``py3.9_cuda11.3_cudnn8.2.0_0``; empty for any.
        written: what a file of conda's has, for conda's names are not normalised.
    """

    name: str
    spec: str = ""
    extras: tuple[str, ...] = ()
    url: str = ""
    marker: str = ""
    line: int = 0
    channel: str = ""
    build: str = ""
    written: str = field(default="", compare=False)

    @property
    def exact(self) -> str:
        """The one version it admits (local tag included), or empty."""
        text = self.spec.strip()
        pinned = text.removeprefix("===" if text.startswith("===") else "==").strip()
        return pinned if text.startswith("==") and "," not in text and "*" not in pinned else ""

    @property
    def text(self) -> str:
        """The request as a requirement."""
        extras = f"[{','.join(self.extras)}]" if self.extras else ""
        return f"{self.name}{extras}{self.spec}" if not self.url else f"{self.name}{extras} @ {self.url}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """One install step: packages asked for together, and where they may come from.

    Attributes:
        manager: program that installs.
        requests: packages.
        index: address that replaces the default index; empty if the default counts.
        extra_indexes: further indexes; ``find_links``: pages of files.
        files: requirement files that it names; ``constraints`` files that only bound what is asked for elsewhere.
        options: flags as typed; ``--no-deps``, ``--pre`` and ``--no-build-isolation`` change the outcome.
        python: minor version of the interpreter where the command names one (``python3.11 -m pip``).
        pythons: Pythons that the project admits; of any other one its tool takes what it likes.
        channels: conda channels.
        line: line of the command.
        branch: arm of an ``if`` that may run, empty if the command always runs; ``+name`` is an extra or a group of a
            project, which is installed together with what has no branch.
        action: what is done with the packages.
        home: environment that it works in, as the command names it; empty for the one of the stage.
        edits: what earlier steps did to its files: the name of a file (``*`` for any) and a script of sed.
        refused: lines of a requirements file that are no requirement, at which an installer stops.
        places: folders of the build whose files an image has been given, so that its own may lie there.
        heeds: file of the project whose settings its tool heeds for builds, empty for one that is not at hand; ``None``
            where there is none, or it was read.
    """

    manager: Manager
    requests: tuple[Request, ...] = ()
    index: str = ""
    extra_indexes: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    python: str = ""
    pythons: str = ""
    channels: tuple[str, ...] = ()
    line: int = 0
    branch: str = ""
    action: Action = "install"
    home: str = ""
    edits: tuple[tuple[str, str], ...] = ()
    refused: tuple[tuple[int, str], ...] = ()
    places: tuple[str, ...] = ()
    heeds: str | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command.

    Attributes:
        words: its words; ``line`` where it starts.
        build: whether it runs at build time (RUN) or later (CMD, ENTRYPOINT).
        settings: variables that the command itself, or an ``export`` before it, sets.
        guarded: whether its failure stops nothing (``|| true``, the condition of an ``if``, not the end of a pipe).
        branch: which arm of an ``if`` or ``case`` it stands in, ``2.1``; empty where it runs for sure.
        home: environment that a runner puts it into (``conda run -n NAME``).
    """

    words: tuple[str, ...]
    line: int
    build: bool = True
    settings: tuple[tuple[str, str], ...] = ()
    guarded: bool = False
    branch: str = ""
    home: str = ""

    @property
    def text(self) -> str:
        """The words again."""
        return " ".join(self.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One build stage of a Dockerfile, or the one environment of any other file.

    Attributes:
        name: stage name; ``base``: image or earlier stage, variables filled in; ``written``: as written.
        arg: build argument that decides the base, if one does.
        parent: index of the earlier stage that it continues, or -1.
        line: line of FROM.
        installs: install steps in order; ``commands``: all simple commands in order.
        env: ENV and ARG values in force at the end, and ``env_lines`` where each was set.
        copies: stages and images that it copies from, and ``carried`` these with the path copied.
        user: last USER, empty if none.
        vendor: whose GPUs a container of a cluster asks for, ``nvidia`` or ``amd``; empty if none.
        gpus: the GPUs that the node of a container may have, by name; empty where nothing names one.
        modules: environment modules that a batch script loads, ``cuda/12.1``.
        starts: what its container starts; :data:`ENTRYPOINT` stands for the image's own program.
    """

    name: str = ""
    base: str = ""
    written: str = ""
    arg: str = ""
    parent: int = -1
    line: int = 0
    platform: str = ""
    installs: tuple[Install, ...] = ()
    commands: tuple[Command, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    env_lines: Mapping[str, int] = field(default_factory=dict)
    carried: tuple[tuple[str, str], ...] = ()
    user: str = ""
    vendor: str = ""
    gpus: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    starts: tuple[Command, ...] = ()

    @property
    def copies(self) -> tuple[str, ...]:
        """The stages and images without the paths."""
        return tuple(name for name, _ in self.carried)


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One service of a compose file: its image, the devices it asks for, its environment, and their lines.

    ``gpu`` says whether it gets a GPU by any of Compose's ways but the runtime, of which ``devices`` are those fixed;
    ``given`` is how many it gets where that is a number, else 0. ``withdrawn`` is a resource that a pod asks for and no
    cluster has any more, and ``resource_line`` its line.
    ``starts`` is what its container starts, and ``gpus`` what its node may have, as a stage has them. ``extends`` says
    whether another service, of which nothing is known here, adds to it.
    """

    name: str
    image: str = ""
    devices: tuple[str, ...] = ()
    gpu: bool = False
    runtime: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    image_line: int = 0
    device_line: int = 0
    env_lines: Mapping[str, int] = field(default_factory=dict)
    starts: tuple[Command, ...] = ()
    given: int = 0
    withdrawn: str = ""
    resource_line: int = 0
    gpus: tuple[str, ...] = ()
    extends: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """All that one file asks for.

    Attributes:
        file: its name as given.
        kind: what it is.
        python: Python that it asks for, as written (``3.10``, ``>=3.9``).
        arch: processor that it is built for where somebody said so: ``x86_64`` or ``aarch64``.
        files: other files that it builds from, relative to its folder.
        gpu: whether it says by itself that a GPU is meant, and ``gpus`` which ones where it names them.
        gpus: see ``gpu``.
        unread: parts that could not be understood, with the reason.
        refused: lines that the builder or a shell cannot read, with the reason, and the way out if it is a special
            one.
        service: line and name of the service of its compose files that it is; an empty name if it is none.
        unused: line at which it means a GPU, or asks for one where nothing reads that, and gets none; 0 without such.
        silenced: lines with the codes that a comment of the file silences there; no code stands for all.
    """

    file: str
    kind: Kind
    stages: tuple[Stage, ...] = ()
    services: tuple[Service, ...] = ()
    python: str = ""
    arch: str = ""
    files: tuple[str, ...] = ()
    gpu: bool = False
    gpus: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    refused: tuple[tuple[int, str, str], ...] = ()
    service: tuple[int, str] = (0, "")
    unused: int = 0
    silenced: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @property
    def final(self) -> Stage | None:
        """The stage that is shipped."""
        return self.stages[-1] if self.stages else None

    def on(self, gpu: str) -> Ask:
        """What the file asks for on nodes with one GPU; with none named, what may run on any node."""
        if not any(part.gpus for part in self.stages):
            return self

        def runs(part: Stage | Service) -> bool:
            return gpu in part.gpus if gpu else not part.gpus

        return replace(self, stages=tuple(filter(runs, self.stages)), services=tuple(filter(runs, self.services)))

    def chain(self, stage: Stage) -> tuple[Stage, ...]:
        """A stage with those it continues, first one first."""
        found = [stage]
        while found[0].parent >= 0:
            found.insert(0, self.stages[found[0].parent])
        return tuple(found)


def number_of_gpus(text: str) -> int:
    """The GPUs that a file reserves by number; 0 for ``all``, a variable, or more than four digits."""
    return int(text) if re.fullmatch(r"[1-9]\d{0,3}", text) else 0
