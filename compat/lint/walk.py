"""The steps of a stage in order: what each request gets, and what is there when the next step begins.

pip and uv leave a package that meets what is asked for, put another release over one that does not, and bring what a
build requires. Source: pip documentation, "pip install" ("Satisfying Requirements", ``--upgrade``).
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

import compat.lint.origins as origins
from compat import versions
from compat.joints.python import is_for
from compat.lazy import dataclass
from compat.lint.worlds import needs, none_fits, together
from compat.sources.values import PROJECT, Install, Request

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from compat.lint.origins import Origin, Outcome
    from compat.markers import Environment
    from compat.matrix import Matrix
    from compat.matrix.rows import Build

_REPLACING: Final = frozenset(
    ("-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed", "--reinstall", "--target", "-t")
)
LOOSE: Final = frozenset({"--no-deps", "--no-dependencies"})


@dataclass(frozen=True, slots=True)
class Taken:
    """A request and what the installer takes for it.

    Attributes:
        spec: what bounds its version, with what others of its step require of it.
        by: the request that brought it along; empty if it was asked for.
        base: whether the base image brought it.
        mine: whether a step of the stage itself installs it.
        named: the newest glibc in the name of a wheel that its pip reads; empty if it reads all, or is not known.
    """

    request: Request
    step: Install
    outcome: Outcome
    origins: tuple[Origin, ...] = ()
    python: str = ""
    spec: str = ""
    by: str = ""
    base: bool = False
    mine: bool = True
    named: str = ""

    @property
    def build(self) -> Build | None:
        """The build, if it is known."""
        return self.outcome.build if self.outcome.status == "build" else None

    @property
    def version(self) -> str:
        """The one version that is installed, its local tag included; empty if it is not known."""
        return self.build.full_version if self.build else self.request.exact

    @property
    def text(self) -> str:
        """What it is called: the request, or the package with what brought it."""
        if self.base:
            return f"the base's {self.request.name} {self.version}".rstrip()
        return f"{self.request.name} {self.version} of {self.by}" if self.by else self.request.text

    @property
    def label(self) -> str:
        """A package with the version that it gets; the request alone where that says it."""
        return self.text if self.base or self.request.exact else f"{self.request.name} {self.version}".rstrip()

    @property
    def settled(self) -> bool:
        """Whether what stands beside the request leaves it no choice of version."""
        return self.spec != self.request.spec or self.outcome.why in {"kept", "led"}

    @property
    def of_conda(self) -> bool:
        """Whether conda installs it, whose builds of a release may require other releases than the index's wheels."""
        return self.step.manager == "conda"

    @property
    def replaces(self) -> bool:
        """Whether its step puts even what is installed already anew: an upgrade or a forced install."""
        return bool(_REPLACING & {*self.step.options})


@dataclass(slots=True)
class Walk:
    """An environment while the steps of a stage are walked.

    Attributes:
        named: the newest glibc in the name of a wheel that the system's pip reads, until a step replaces that.
        at_once: whether all steps are solved together, as those of a project or a lock are.
        worlds: environments that it may be; a request that none of them asks for is left out.
        made: homes of environments that the file makes, in which nothing of the base is; ``hidden``: whether that may
            hold any package, which meets what is asked for without an upper bound.
    """

    matrix: Matrix
    platform: str
    glibc: str
    named: str
    worlds: tuple[Environment, ...]
    at_once: bool
    made: frozenset[str] = frozenset()
    hidden: bool = False
    taken: list[Taken] = field(default_factory=list)
    own: list[Taken] = field(default_factory=list)
    env: list[Taken] = field(default_factory=list)
    replaced: list[tuple[Taken, Taken]] = field(default_factory=list)
    built: list[tuple[Taken, Taken]] = field(default_factory=list)
    # A file may have thousands of lines: ``env`` by name, and what was found for requests that are alike.
    _named: dict[str, list[Taken]] = field(default_factory=dict)
    _outcomes: dict[tuple[object, ...], Outcome] = field(default_factory=dict)
    _gone: dict[str, Taken] = field(default_factory=dict)  # of the base, what a step has uninstalled

    def begin(self, items: Iterable[Taken]) -> None:
        """Put in what is there before any step: of the base, of another stage."""
        for item in items:
            self.env.append(item)
            self._named.setdefault(item.request.name, []).append(item)

    def step(self, step: Install, python: str, *, mine: bool) -> None:
        """Walk one step of pip's or uv's."""
        if step.action == "uninstall":
            gone = {request.name for request in step.requests}
            self._gone |= {item.request.name: item for item in self.env if item.base and item.request.name in gone}
            self.env = [item for item in self.env if item.request.name not in gone or step.branch]
            self._named = {name: there for name, there in self._named.items() if name not in gone or step.branch}
            return
        python = "" if step.pythons and python and versions.admits(step.pythons, f"{python}.9") is False else python
        requests = [each for each in step.requests if _is_read(each.marker) and together((each.marker,), self.worlds)]
        demands = self._demands(requests, step, python) if not LOOSE & {*step.options} else {}
        pinned = {request.name: request for request in requests if has_end(request.spec)}
        pinned |= {name: Request(name=name, spec=",".join(specs)) for name, specs in demands.items() if specs}
        items = [self._take(request, step, python, demands, pinned) for request in requests]
        items = [self._gone_back(item, items) for item in items]
        items = items if mine else [replace(item, mine=False) for item in items]
        self.taken += items
        self.own += items if mine else []
        if step.action == "wheel":
            return
        self.named = "" if any(item.request.name == "pip" for item in items) else self.named
        for item in items:
            if item.outcome.why != "kept":
                self._put(item)
        for item in items:
            self._bring_along(item)
            self._compile(item)

    def _take(
        self, request: Request, step: Install, python: str, demands: dict[str, list[str]], pinned: dict[str, Request]
    ) -> Taken:
        """A request with the build that it takes; one that is met already takes none."""
        place = origins.Place(step.python or python, self.platform, self.glibc)
        spec = _bounded(request, demands.get(request.name, []))
        there = self._there(request.name, step)
        loose = self._unheld(request, step, pinned, place) if spec == request.spec else ""
        spec = loose or spec
        if self._is_met(request, step, there):
            found = origins.Outcome("unknown", why="kept")
        elif (
            self.hidden
            and there is None
            and step.home not in self.made
            and not has_end(spec)
            and not _REPLACING & {*step.options}
        ):
            found = origins.Outcome("unknown", why="back")
        elif spec == request.spec and self._led(request, pinned):
            found = origins.Outcome("unknown", why="beside" if request.spec else "led")
        else:
            found = self._outcome(replace(request, spec=spec), step, place)
        named = self.named if step.manager == "pip" and not (step.home or step.python) else ""
        places = origins.origins(step, self.matrix, request.name)
        return Taken(request, step, found, places, place.python, spec, named=named)

    def _gone_back(self, item: Taken, beside: Sequence[Taken]) -> Taken:
        """The request as not known where the newest release excludes a pin beside it: the installer takes an older one.

        Which one it takes depends on what the releases between them require of all else, unless a single one is left.
        """
        if item.build is None or item.request.exact or item.settled or LOOSE & {*item.step.options}:
            return item
        if not item.python and self._of_another_python(item.build, item.step, beside):
            return replace(item, outcome=origins.Outcome("unknown", why="back"))
        pins = {one.request.name: one.request.exact for one in beside if one.request.exact and not one.request.marker}
        if not self._excludes(item.request, item.build, pins):
            return item
        package = self.matrix.package(item.request.name)
        rows = self.matrix.builds(package.name) if package and package.name in origins.settled(self.matrix) else ()
        here = (row for row in rows if self.platform in row.platforms and any(one.has(row) for one in item.origins))
        asked = (row for row in here if versions.admits(item.request.spec, row.version))
        known = ((row, {name: pin for name, pin in pins.items() if name not in row.undeclared}) for row in asked)
        left = {row.version for row, declared in known if not self._excludes(item.request, row, declared)}
        if len(left) != 1:
            return replace(item, outcome=origins.Outcome("unknown", why="back"))
        spec, place = f"=={left.pop()}", origins.Place(item.python, self.platform, self.glibc)
        found = self._outcome(replace(item.request, spec=spec), item.step, place)
        return replace(item, outcome=found, spec=spec)

    def _excludes(self, request: Request, build: Build, pins: Mapping[str, str]) -> bool:
        """Whether a build requires another release of something that is pinned, as all do that its pin admits."""
        wanted = needs(request, build, self.matrix, self.worlds)
        return any(
            all(versions.admits(spec, pins[name]) is False for spec in specs)
            and not none_fits(request, Request(name=name, spec=f"=={pins[name]}"), self.matrix, self.worlds)
            for name, specs in wanted.items()
            if specs and name in pins
        )

    def _of_another_python(self, build: Build, step: Install, beside: Sequence[Taken]) -> bool:
        """Whether no Python has both a build and what is pinned beside it: of an unknown Python the pin says most."""
        pins = (one for one in (*self.env, *beside) if one.build and one.request.exact and alike(one.step, step))
        known = ({*one.build.python} for one in pins if one.build and one.build.python)
        return bool(build.python) and any(not pythons & {*build.python} for pythons in known)

    def _outcome(self, request: Request, step: Install, place: origins.Place) -> Outcome:
        """What the installer takes, found once for requests that differ in their lines alone."""
        where = (step.manager, step.index, step.extra_indexes, step.find_links, step.options, place)
        key = (request.name, request.spec, request.extras, request.url, *where)
        if key not in self._outcomes:
            found = origins.outcome(request, step, self.matrix, place)
            build = None if place.python or self.at_once else found.build
            here = not build or any(is_for(build, world.python) for world in self.worlds)
            self._outcomes[key] = found if here else origins.Outcome("unknown", why="python")
        return self._outcomes[key]

    def _demands(self, requests: Iterable[Request], step: Install, python: str) -> dict[str, list[str]]:
        """The versions that pins and extras among requests require of other packages, by name, each once."""
        place = origins.Place(step.python or python, self.platform, self.glibc)
        found: dict[str, dict[str, None]] = {
            one.name: {one.spec: None} for one in requests if one.exact and not one.marker
        }
        asking = (one for one in requests if one.exact or (one.extras and one.spec))
        for pin in {(one.name, one.spec, one.extras, one.marker): one for one in asking}.values():
            taken = None if pin.exact else self._outcome(pin, step, place)
            build = taken.build if taken and taken.status == "build" else None
            for name, specs in needs(pin, build, self.matrix, self.worlds).items():
                if name != pin.name and len(specs) == 1:
                    found.setdefault(name, {}).update((spec, None) for spec in specs if spec.startswith("=="))
        return {name: list(specs) for name, specs in found.items()}

    def _led(self, request: Request, pinned: dict[str, Request]) -> bool:
        """Whether a companion stands beside its framework, of which not the newest is asked for: that decides."""
        package = self.matrix.package(request.name)
        lead = pinned.get(package.follows) if package and not (request.exact or request.url) else None
        return lead is not None and not none_fits(request, lead, self.matrix, self.worlds)

    def _unheld(self, request: Request, step: Install, pinned: dict[str, Request], place: origins.Place) -> str:
        """The release of a companion that is taken as its metadata does not name the pinned framework; empty if none.

        An installer takes the newest whose metadata admits what is pinned. Of an unknown Python most of those that the
        framework has must have it.
        """
        package = self.matrix.package(request.name)
        lead = pinned.get(package.follows) if package and not (request.exact or request.url) else None
        places = origins.origins(step, self.matrix, request.name)
        if package is None or lead is None or not lead.exact or any(one.index is None for one in places):
            return ""
        named = {one for row in self.matrix.builds_of(lead.name, lead.exact) for one in row.python}
        pythons = {place.python} if place.python else named
        rows = (row for row in self.matrix.builds(package.name) if any(one.has(row) for one in places))
        rows = (row for row in rows if self.platform in row.platforms and versions.admits(request.spec, row.version))
        releases: dict[str, list[Build]] = {}
        for row in sorted(rows, key=lambda row: versions.parsed(row.version), reverse=True):
            releases.setdefault(row.version, []).append(row)
        for version, every in releases.items():
            if not all(self._excludes(request, row, {lead.name: lead.exact}) for row in every):
                return ""
            if all(lead.name in row.undeclared for row in every):
                here = pythons & {python for row in every for python in row.python}
                return f"=={version}" if 2 * len(here) > len(pythons) else ""
        return ""

    def _there(self, name: str, step: Install) -> Taken | None:
        """What is there of a package, in the environment that a step works in."""
        here = (item for item in reversed(self._named.get(name, ())) if self._meets(item, step))
        return next((item for item in here if item.step.branch in {"", step.branch}), None)

    def _meets(self, there: Taken, step: Install) -> bool:
        """Whether a step may work where something is."""
        return alike(there.step, step) and not (there.base and step.home in self.made)

    def _is_met(self, request: Request, step: Install, there: Taken | None) -> bool:
        """Whether an earlier step has left what meets a request: as asked, or within the bounds of what requires it."""
        if self.at_once or there is not None:
            return not self.at_once and there is not None and _satisfied(request, step, there)
        if request.spec or request.url or _REPLACING & {*step.options} or self.matrix.package(request.name) is None:
            return False
        holding = (one for one in self.env if one.build and request.name not in one.build.undeclared)
        bounds = (needs(one.request, one.build, self.matrix, self.worlds) for one in holding if self._meets(one, step))
        return any(has_end(spec) for found in bounds for spec in found.get(request.name, ()))

    def _put(self, item: Taken) -> None:
        """Put a package into the environment, in place of what is there of it; an arm replaces its own only."""
        named = self._named.setdefault(item.request.name, [])
        for there in () if self.at_once else tuple(named):
            beside = item.step.home == PROJECT and there.step.line == item.step.line
            if not beside and self._meets(there, item.step) and item.step.branch in {"", there.step.branch}:
                self.env.remove(there)
                named.remove(there)
                self.replaced.append((there, item))
        if item.request.name in self._gone:
            self.replaced.append((self._gone.pop(item.request.name), item))
        self.env.append(item)
        named.append(item)

    def _bring_along(self, item: Taken) -> None:
        """What a build requires in one version: it comes along, and replaces what is there in another one."""
        if LOOSE & {*item.step.options} or self.at_once or item.step.home == PROJECT:
            return  # a project is solved as a whole
        asked = {request.name for request in item.step.requests}
        if item.build is None:
            self._leave_open(item, asked)
            return
        for name, specs in needs(item.request, item.build, self.matrix, self.worlds).items():
            package, spec = self.matrix.package(name), max(specs)
            there = self._there(name, item.step)
            if name in item.build.undeclared or package is None or name in asked:
                continue
            if there is None and (len(specs) > 1 or not spec.startswith("==")):
                continue  # of one for each of several Pythons it is not known which
            if there is not None and not all(_displaced(there, one) for one in specs):
                continue
            wanted = Request(name=name, spec=spec, line=item.request.line)
            place = origins.Place(item.python, self.platform, self.glibc)
            found = origins.outcome(wanted, item.step, self.matrix, place)
            self._put(replace(item, request=wanted, outcome=found, spec=spec, by=item.request.text))

    def _leave_open(self, item: Taken, asked: Collection[str]) -> None:
        """Forget which framework is there where a release that is not known may put another one in its place."""
        package = self.matrix.package(item.request.name)
        there = self._there(package.follows, item.step) if package and item.outcome.why == "place" else None
        if package is None or there is None or there.request.name in asked or item.request.exact:
            return
        rows = (row for row in self.matrix.builds(package.name) if versions.admits(item.request.spec, row.version))
        found = (needs(item.request, row, self.matrix, self.worlds).get(package.follows, ()) for row in rows)
        if any(_displaced(there, spec) for specs in found for spec in specs):
            wanted, place = Request(name=package.follows, line=item.request.line), item.outcome
            self._put(replace(item, request=wanted, outcome=place, spec="", by=item.request.text))

    def _compile(self, item: Taken) -> None:
        """Remember which framework an extension was compiled against: the one that is there while it is installed."""
        package = self.matrix.package(item.request.name)
        isolated = "--no-build-isolation" not in item.step.options or item.step.home == PROJECT
        if package is None or not package.follows or isolated or item.outcome.why == "kept":
            return
        framework = self._there(package.follows, item.step)
        if framework is not None:
            self.built.append((item, framework))


def has_end(spec: str) -> bool:
    """Whether a specifier excludes the newest releases."""
    return any(item.operator not in {">", ">=", "!="} for item in versions.specifier(spec) or ())


def _bounded(request: Request, demands: list[str]) -> str:
    """The specifiers of a request with what the pins of its step require of it; alone if these exclude it."""
    if request.exact or request.url or not demands:
        return request.spec
    found = dict.fromkeys([request.spec, *demands] if request.spec else demands)
    return request.spec if versions.is_void(tuple(found)) else ",".join(found)


def alike(one: Install, two: Install) -> bool:
    """Whether two steps may work in one environment."""
    apart = "$" in one.home + two.home  # what a variable keeps for later runs in an environment of its own
    homes = one.home == two.home or not (apart or (one.home and two.home))
    pythons = not one.python or not two.python or one.python == two.python
    return homes and pythons


def _satisfied(request: Request, step: Install, there: Taken) -> bool:
    """Whether what is there meets a request, so that the installer leaves it as it is."""
    if request.url or _REPLACING & {*step.options}:
        return False
    if not there.version:
        return not request.spec
    return (wanted := versions.specifier(request.spec)) is not None and wanted.contains(there.version, prereleases=True)


def _is_read(marker: str) -> bool:
    """Whether a marker is one; an installer stops at a line with another."""
    return not marker or versions.requirement(f"name ; {marker}") is not None


def _displaced(there: Taken, spec: str) -> bool:
    """Whether a requirement puts another release in the place of what is there.

    No exact pin is met by NVIDIA's own builds, which are of versions between two releases (``2.5.0a0``).
    """
    own = there.outcome.why == "vendor" and spec.startswith("==")
    return own or bool(there.version and versions.admits(spec, there.version) is False)
