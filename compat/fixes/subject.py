"""What a finding is about: the framework and the packages that its facts, its message or the installed tables name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat import versions
from compat.changes import Command, Install, Package
from compat.commands import place_of
from compat.facts import Gpu
from compat.lazy import dataclass
from compat.matrix.products import find_gpu
from compat.names import normalise
from compat.reading.commands import index_variant, requirements
from compat.rules.stack import FRAMEWORKS, Installed, canonical, installed, named, packages_of, plain
from compat.versions import requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Host
    from compat.findings import Finding
    from compat.matrix import Matrix
    from compat.matrix.rows import Build
    from compat.rules.case import Case
    from compat.versions import Line


@dataclass(frozen=True, slots=True)
class Subject:
    """A finding with the case that it was found in."""

    finding: Finding
    case: Case

    @property
    def host(self) -> Host:
        """Facts of the machine, with what messages state."""
        return self.case.host

    @property
    def matrix(self) -> Matrix:
        """What is true."""
        return self.case.matrix

    def said(self, name: str) -> tuple[str, ...]:
        """What programs printed beside their messages; see :mod:`compat.reading.said`."""
        return self.case.signals.said.get(name, ())

    @property
    def wish(self) -> Line | None:
        """The requirement that the message names."""
        return requirement(self.case.signals.value("requirement"))

    @property
    def wished(self) -> str:
        """The package of that requirement, if the matrix knows it; else empty."""
        return self.wish.name if self.wish and self.matrix.package(self.wish.name) else ""

    @property
    def listed(self) -> list[str]:
        """The releases that pip lists, in its order; none where it lists none."""
        return [one.strip() for text in self.said("listed")[:1] for one in text.split(",")]

    @property
    def index(self) -> str:
        """The variant of the index that was asked, by the command or by pip's own line; empty if none is named."""
        return index_variant((*self.case.commands, *self.said("index")))

    def install(self, row: Build, *, again: bool = False, settles: tuple[str, ...] = ()) -> Install:
        """A build of the matrix from its own index; the rest as in :class:`compat.changes.Install`."""
        item = Package(
            name=row.install_name, version=row.full_version, extras=row.extras, runtime=row.runtime, settles=settles
        )
        index, links = self.matrix.index_url(row), self.matrix.is_page(row)
        return Install(packages=(item,), index=index, links=links, again=again)

    @property
    def packages(self) -> dict[str, str]:
        """Distribution -> version that is installed."""
        return packages_of(self.host)

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the libraries that were asked for and not found."""
        gone = (item for item in self.host.libraries or () if not item.path and not item.version)
        return tuple(item.name.strip(".'\"") for item in gone)

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        """GPUs that builds are made for: NVIDIA's where there are any, else those of the vendors that have builds.

        Where no fact states one, the one that the text names, if it names one alone.
        """
        known = tuple(gpu for gpu in self.host.gpus or () if gpu.vendor in {"nvidia", "amd", "intel"})
        nvidia = tuple(gpu for gpu in known if gpu.vendor == "nvidia")
        amd = tuple(gpu for gpu in known if gpu.vendor == "amd")
        return nvidia or amd or known or self.named

    @property
    def named(self) -> tuple[Gpu, ...]:
        """The one card or target that a text names where no fact states a GPU: what is prescribed is for that."""
        names = dict.fromkeys(self.said("card")) if not self.host.known("gpus") else ()
        found = {name: find_gpu(self.matrix, name) for name in names}
        targets = {(row.target, row.vendor) for rows in found.values() for row in rows}
        if len(targets) != 1 or not all(found.values()):
            return ()
        ((target, vendor),) = targets
        return (Gpu(name=next(iter(found)), vendor=vendor, target=target),)

    @property
    def by_amd(self) -> bool:
        """Whether AMD's runtime has spoken, on a machine whose GPUs nobody names."""
        return not self.gpus and any(item.signal.program in {"hip", "hsa", "rocminfo"} for item in self.case.signals)

    @property
    def typed_cuda(self) -> str:
        """The CUDA that a command pinned by one of conda's names for it; empty if none did."""
        typed = requirements(self.case.commands)
        return next(filter(None, map(typed.get, ("pytorch-cuda", "cudatoolkit", "cuda-version"))), "")

    @property
    def by_conda(self) -> bool:
        """Whether conda installed a framework, which then loads conda's libraries and no wheel's."""
        return any(canonical(name) in FRAMEWORKS for name in place_of(self.host, self.case.commands).conda)

    @property
    def program(self) -> str:
        """The program whose message points to the finding; empty if none does, or no program by name."""
        heard = self.case.signals.pointing(self.finding.code)
        return canonical(self._speakers().get(heard.line, "")) if heard else ""

    def _speakers(self) -> dict[str, str]:
        """Line -> the program that it is of: general patterns of others fit the same line, and stand after its own."""
        lines: dict[str, str] = {}
        for item in self.case.signals:
            if item.signal.program != "programs":
                lines.setdefault(item.line, item.signal.program)
        return lines

    def framework(self) -> Installed | None:
        """The framework in question, where it is known to be installed."""
        items = {item.name: item for item in installed(self.host, self.matrix)}
        cited = [canonical(name) for name in self.cited()]
        every = [*cited, self.program, *items]
        return next((items[name] for name in every if name in items), None)

    def framework_name(self) -> str:
        """The framework in question by name, by what is installed, by its message or the commands; empty if unknown."""
        if (item := self.framework()) is not None:
            return item.name
        asked = [canonical(name) for name in requirements(self.case.commands)]
        return next(
            (
                name
                for name in (self.program, *asked, *self._speakers().values(), *self.said("called"))
                if name in FRAMEWORKS
            ),
            "torch" if self.host.source("python").startswith("collect_env") else "",  # which is torch's own report
        )

    def release(self, name: str) -> str:
        """The release of a package that is installed, of a framework under any of its names; empty if unknown.

        Where nothing tells what is installed, the one that a command pinned.
        """
        item = named(installed(self.host, self.matrix), name)
        return plain(self.packages.get(name, "")) or (item.version if item else "") or plain(self.typed.get(name, ""))

    @property
    def typed(self) -> dict[str, str]:
        """What the commands asked for, with the releases that they pinned."""
        return {canonical(asked): version for asked, version in requirements(self.case.commands).items()}

    def cited(self) -> tuple[str, ...]:
        """Packages that the finding's facts name."""
        facts = (item.fact.partition(".") for item in self.finding.evidence)
        return tuple(name for table, _, name in facts if table in {"packages", "builds", "conda_packages"} and name)

    def compiled(self) -> str:
        """The compiled package that a loader or a traceback names; empty if none."""
        return next(self._compiled(), "")

    def _compiled(self) -> Iterator[str]:
        beside = normalise(self.case.signals.value("beside"))
        row = self.matrix.package(beside) if beside else None
        yield from filter(None, [row.name if row else beside])
        yield from (name for name in self.cited() if canonical(name) not in {*FRAMEWORKS, "numpy"})
        names, bare = self.said("frame"), {*self.said("bare")}
        last = [name for name in reversed(names) if name in bare and not self.owner(name, guess=False)]
        for name in (one for one in reversed(names) if one not in last):  # the last frame is what failed
            known = self.owner(name)
            if known and canonical(known) not in {*FRAMEWORKS, "numpy"} and not self.is_pure(known):
                yield known

    def is_pure(self, name: str) -> bool:
        """Whether every wheel of a package that the matrix knows is for any system: nothing in it is compiled."""
        package = self.matrix.package(name)
        rows = self.matrix.builds(package.name) if package else ()
        return bool(rows) and all(row.platforms == ("any",) and not row.compiled for row in rows)

    def owner(self, module: str, *, guess: bool = True) -> str:
        """The distribution that a module belongs to: installed, known to the matrix, or a ``guess``: of its name."""
        plain = normalise(module)
        stems = [
            name
            for name in self.packages
            if plain == name or (plain.startswith(f"{name}-") and canonical(name) not in FRAMEWORKS)
        ]
        if own := [
            name for name in self.packages if name.startswith(f"{plain}-") and name.endswith(("-full", "-lite"))
        ]:
            return own[0]
        stems = stems or [row.name for row in self.matrix.packages.values() if self._is_of(plain, row.name, row.module)]
        return max(stems, key=len) if stems else plain if guess and not plain.startswith("-") else ""

    @staticmethod
    def _is_of(plain: str, name: str, module: str) -> bool:
        return any(plain == stem or plain.startswith(f"{stem}-") for stem in {name, normalise(module)} if stem)


def continued(text: str) -> str:
    """A sentence as it stands after a colon: its first letter is small, but for a name in capitals."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def series(version: str, parts: int = 1) -> str:
    """The first numbers of a version: ``8.9.2`` -> ``8``."""
    return ".".join(re.findall(r"\d+", version)[:parts])


def with_conda(package: str, spec: str) -> Command:
    """One of NVIDIA's libraries by conda-forge's name of it: nvidia-cusparse-cu12 is libcusparse there."""
    stem = re.sub(r"-cu\d+$", "", package).removeprefix("nvidia-")
    name = stem if stem.startswith(("cuda-", "cudnn", "nccl")) else f"lib{stem}"
    name = name.replace("cuda-runtime", "cuda-cudart")
    wish = f'"{name}{spec}"' if spec else f"{name} cuda-version={package.rpartition('-cu')[2]}"
    return Command(f"conda install -c conda-forge {wish}")


def last_cuda(target: str, subject: Subject) -> str:
    """The last CUDA that compiles for a target; empty if current ones do."""
    row = subject.matrix.capability(target)
    return versions.minor(row.last_cuda) if row and row.last_cuda else ""
