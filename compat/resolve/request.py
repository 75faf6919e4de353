"""What the person asks for: PEP 508 requirements read into wishes, and the packages that a search has to choose.

Three kinds of names count: those of the matrix's packages, their aliases and distributions, and dependencies that some
package requires (numpy, protobuf), which may be bounded beside a framework. A name that looks like a slip of one of the
matrix's is asked back. Any other rides along: it is installed with the plan, which says that nothing judged it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.errors import InputError
from compat.lazy import dataclass
from compat.names import is_slip, normalise
from compat.resolve.wish import Wish
from compat.versions import Line, is_void, meets, newest_first, read_requirement, release, same_release

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.resolve.knowledge import Knowledge
    from compat.resolve.situation import Situation


# Releases that a refusal shows.
_SHOWN = 12

# Characters of one requirement that are read; real ones stay far below it.
_LONGEST = 500


def read(requirements: Sequence[str], known: Knowledge) -> tuple[Wish, ...]:
    """Wishes in the order asked, repeats dropped.

    Raises:
        InputError: if one is malformed, is a slip of a name that the matrix knows, or asks for a version that does not
            exist.
    """
    parsed = {text: _parse(text) for text in dict.fromkeys(requirements)}
    beside = tuple(row.name for one in parsed.values() if (row := known.matrix.package(one.name)))
    wishes = tuple(dict.fromkeys(_wish(text, one, known, beside) for text, one in parsed.items()))
    if all(wish.shared and not wish.unjudged and not known.matrix.days(wish.package) for wish in wishes):
        raise InputError("no framework is asked for", where="argument", expected="a requirement such as torch==2.9.1")
    return wishes


def _wish(text: str, parsed: Line, known: Knowledge, beside: tuple[str, ...]) -> Wish:
    """One wish; a name without builds is a dependency (of packages asked for ``beside`` it, or of any), or rides along.

    A distribution's name asks for that distribution where builds are published under it (``tensorflow-cpu``), and is a
    mere alias elsewhere (``pytorch``).
    """
    name = parsed.name
    row = known.matrix.package(name)
    bare = Wish(text.strip(), name, parsed.spec, parsed.extras, parsed.marker)
    if row is None or not known.options(row.name):
        is_required = any(name in known.line_names(package) for package in beside)
        releases = newest_first(known.matrix.days(name)) if bare.spec else ()
        if releases and not any(meets(bare.spec, one) for one in releases):
            raise _missing(bare, releases)
        if is_required or name in known.shared_names:
            return replace(bare, shared=True)
        return replace(_riding(bare, known), shared=True, unjudged=True)
    named = (
        [option for option in known.options(row.name) if option.build.install_name == name] if name != row.name else []
    )
    is_cpu = all(option.kind == "cpu" for option in named) if named else name == row.cpu_name != row.name
    distribution = name if named else ""
    wish = replace(bare, package=row.name, cpu=is_cpu or bare.spec.endswith("+cpu"), distribution=distribution)
    if not (known.named(row.name, (wish,)) or is_beyond(wish, known) or unseen_variant(wish, known)):
        raise _missing(wish, known.versions(row.name), [option.full for option in known.options(row.name)])
    return wish


def _parse(text: str) -> Line:
    """A requirement by PEP 508; whatever is refused says what would have been accepted."""
    where = f"argument {text[:60]!r}"
    expected = 'a requirement such as "torch==2.0.1" or "tensorflow[and-cuda]>=2.15,<2.17"'
    if len(text) > _LONGEST:
        raise InputError(f"a requirement of {len(text)} characters", where=where, expected=expected)
    try:
        parsed = read_requirement(text)
    except ValueError as error:
        raise InputError(f"not a requirement: {str(error).splitlines()[0]}", where=where, expected=expected) from None
    if parsed.url:
        raise InputError(
            "a requirement with an address", where=where, expected="a version; what an address holds is unknown"
        )
    return parsed


def _riding(wish: Wish, known: Knowledge) -> Wish:
    """A wish of whose name nothing is known; refused if it is a slip of a known one, or no version can meet it.

    A real package whose name is that close can be listed in a requirements file, where names are copied, not typed.
    """
    names = {*known.matrix.packages, *(alias for row in known.matrix.packages.values() for alias in row.aliases)}
    real = wish.package in names or any(row.name == wish.package for row in known.matrix.table("applications"))
    near = [] if real else sorted(name for name in names if is_slip(wish.package, normalise(name)))
    if near:
        likely = " or ".join(near[:3])
        raise InputError(
            f"no package {wish.package!r} is known",
            where="argument",
            expected=f"a name such as {likely}",
            hint=f"did you mean {likely}? A package really called {wish.package} goes into a file, given with -r",
        )
    if is_void((wish.spec,)):
        raise _missing(wish, ())
    return wish


def _missing(wish: Wish, versions: Sequence[str], builds: Sequence[str] = ()) -> InputError:
    """That no release meets a wish, with those that were most likely meant: with another local tag, next to it, newest.

    ``versions``: all that there are, newest first; ``builds``: with their local tags.
    """
    where = f"argument {wish.text!r}"
    if is_void((wish.spec,)):
        return InputError(f"no version can meet {wish.spec}", where=where, expected="a range that holds one")
    shown = versions[:_SHOWN]
    if is_pinned := wish.spec.startswith("=="):
        pinned = wish.spec[2:].partition("+")[0]
        place = sum(meets(f">{pinned}", version) for version in versions)
        near = [*versions[max(place - _SHOWN // 4, 0) : place + _SHOWN // 4], *versions[:1]]
        shown = sorted({one for one in builds if same_release(pinned, one)}) or list(dict.fromkeys(near))
    more = "" if is_pinned or len(versions) <= _SHOWN else " and older"
    return InputError(
        f"no {wish.package} {wish.spec} exists, as far as the matrix knows",
        where=where,
        expected=f"{', '.join(shown)}{more}",
        hint=f"`envcheck matrix show {wish.package}` lists them",
    )


def unseen_variant(wish: Wish, known: Knowledge) -> str:
    """Why nothing is said about a variant that is pinned by its local tag, ``torch==2.9.1+cu129``; empty otherwise.

    That no row names it is no proof where its index has the variant for an earlier and for a later release, and nobody
    saw all of them in a document.
    """
    pinned, _, local = wish.spec.removeprefix("==").partition("+")
    if not local or not wish.spec.startswith("=="):
        return ""
    options = known.options(wish.package)
    alike = [one.build for one in options if one.build.local == local and one.build.index]
    found = sorted(release(build.version) for build in alike)
    exists = any(same_release(pinned, one.version) for one in options)
    between = found and found[0] < release(pinned) < found[-1] and release(pinned) not in found
    if not exists or not between or all(build.how != "inferred" for build in alike):
        return ""
    why = f"no row names {local} of {wish.package} {pinned}, but its index has it for releases before and after"
    return f"{wish.text}: {why}, and not all of these were seen"


def is_beyond(wish: Wish, known: Knowledge) -> bool:
    """Whether the wish can only mean releases older than the oldest the matrix holds."""
    versions = known.versions(wish.package)
    if not versions:
        return True
    if any(meets(wish.spec, version) for version in versions) or "+" in wish.spec:
        return False
    return not is_void((wish.spec, f"<{versions[-1]}"))


@dataclass(frozen=True, slots=True)
class Variable:
    """A package: its wishes with their bits, companions that bring it in, and whether a CPU build of it was asked for.

    A wish about a shared dependency is a variable too, with one value that carries nothing but its requirement.
    """

    package: str
    wishes: tuple[tuple[Wish, int], ...]
    followers: tuple[str, ...] = ()
    cpu: bool = False
    bits: int = 0

    @property
    def shared(self) -> bool:
        """Whether it is a dependency such as numpy, which has no builds to choose from."""
        return bool(self.wishes) and self.wishes[0][0].shared


def variables(target: Situation, known: Knowledge) -> tuple[Variable, ...]:
    """The packages asked for in order, then the frameworks that their companions need, then shared dependencies.

    Frameworks that only companions bring in come after what was asked, so that preference compares them last; but one
    that a package needs without saying so comes first, since it is the framework that pins the package (triton).
    """
    asked: dict[str, list[tuple[Wish, int]]] = {}
    for wish, bit in target.wishes:
        if not wish.shared:
            asked.setdefault(wish.package, []).append((wish, bit))
    leaders: dict[str, list[str]] = {}
    for package, numbered in asked.items():
        for leader in _leaders(package, numbered[0][0], target, known):
            leaders.setdefault(leader, []).append(package)
    on_cpu = _on_cpu(target, asked, leaders) | set(_plugged(target, leaders, known))
    found = []
    brought = [leader for leader in leaders if leader not in asked]
    rows = known.matrix.packages
    first = [one for one in brought if any(one in rows[name].needs for name in leaders[one])]
    for name in (*first, *asked, *(leader for leader in brought if leader not in first)):
        wishes = tuple(asked.get(name, ()))
        bits = sum({bit for _, bit in wishes})
        found.append(Variable(name, wishes, tuple(leaders.get(name, ())), name in on_cpu, bits))
    asks = [(wish, bit) for wish, bit in target.wishes if wish.shared and not wish.unjudged]
    shared = [Variable(wish.text, ((wish, bit),), bits=bit) for wish, bit in asks]
    return (*found, *shared)


def _leaders(package: str, wish: Wish, target: Situation, known: Knowledge) -> Iterator[str]:
    """The frameworks that a package brings: the one it follows, and those that its newest release asked for requires.

    A framework that has no build for a vendor whose devices the package drives is left out, unless the package is a
    plug-in of it (Ascend, TPU) and the target has such a device.
    """
    row = known.matrix.packages[package]
    if row.follows:
        yield row.follows
    if row.plugs and (target.cpu or target.vendors & _makers(package, known)):
        yield row.plugs
    if row.kind == "framework":
        return
    lone = row.needs if len(row.needs) == 1 else ()
    yield from lone
    for name in known.frameworks_of(wish, target.place):
        if name not in {row.follows, row.plugs, *lone} and _makers(package, known) <= _makers(name, known):
            yield name


def _on_cpu(target: Situation, asked: dict[str, list[tuple[Wish, int]]], leaders: dict[str, list[str]]) -> set[str]:
    """Packages of which a CPU build was asked for, by option or by name; a companion goes with its framework."""
    names = {*asked, *leaders}
    named = {package for package, wishes in asked.items() if any(wish.cpu for wish, _ in wishes)}
    if target.cpu:
        return names
    for leader, followers in leaders.items():
        if named.intersection((leader, *followers)):
            named.update((leader, *followers))
    return named


def _plugged(target: Situation, leaders: dict[str, list[str]], known: Knowledge) -> Iterator[str]:
    """Frameworks to which a plug-in brings the devices of the target, with what follows them: they are CPU builds.

    Sources: Ascend/pytorch README (torch is the CPU build, torch_npu brings the device), pytorch/xla README.
    """
    for leader, followers in leaders.items():
        plugins = [name for name in followers if known.matrix.packages[name].plugs == leader]
        driven = {vendor for name in plugins for vendor in _makers(name, known)}
        if plugins and target.vendors and target.vendors <= driven:
            yield from (leader, *(name for name in followers if name not in plugins))


def _makers(package: str, known: Knowledge) -> set[str]:
    """Vendors whose devices some build of a package is for."""
    return {option.vendor for option in known.options(package)} - {"", "cpu"}
