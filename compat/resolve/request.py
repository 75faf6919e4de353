"""What the person asks for: PEP 508 requirements read into wishes about packages that the matrix knows.

Three names count: those of the matrix's packages, their aliases and distributions, and dependencies that some package
requires (numpy, protobuf), which may be bounded beside a framework. Anything else is refused with the nearest name: a
plan that silently left a requirement out would be a wrong answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.errors import InputError
from compat.names import normalise
from compat.resolve.wishes import Wish
from compat.versions import is_void, meets, read_requirement, same_release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.resolve.knowledge import Knowledge
    from compat.versions import Line

# Characters of one requirement that are read; real ones stay far below it.
_LONGEST = 500


def read(requirements: Sequence[str], known: Knowledge) -> tuple[Wish, ...]:
    """Wishes in the order asked, repeats dropped.

    Raises:
        InputError: if one is malformed, names nothing the matrix knows, or asks for a version that does not exist.
    """
    parsed = {text: _parse(text) for text in dict.fromkeys(requirements)}
    rows = [known.matrix.package(one.name) for one in parsed.values()]
    beside = tuple(row.name for row in rows if row is not None)
    wishes = tuple(dict.fromkeys(_wish(text, one, known, beside) for text, one in parsed.items()))
    if not any(not wish.shared for wish in wishes):
        raise InputError("no framework is asked for", where="argument", expected="a requirement such as torch==2.9.1")
    return wishes


def _wish(text: str, parsed: Line, known: Knowledge, beside: tuple[str, ...]) -> Wish:
    """One wish; a name without builds must be a dependency, of the packages asked for ``beside`` it or of any other.

    A distribution's name asks for that distribution where builds are published under it (``tensorflow-cpu``), and is a
    mere alias elsewhere (``pytorch``).
    """
    name = parsed.name
    row = known.matrix.package(name)
    bare = Wish(text.strip(), name, parsed.spec, parsed.extras, parsed.marker)
    if row is None:
        if (
            not any(name in known.packages.line_names(package) for package in beside)
            and name not in known.packages.shared_names
        ):
            raise _unknown(parsed.name, known)
        return replace(bare, shared=True)
    named = (
        [option for option in known.packages.options(row.name) if option.build.install_name == name]
        if name != row.name
        else []
    )
    is_cpu = all(option.kind == "cpu" for option in named) if named else name == row.cpu_name != row.name
    distribution = name if named else ""
    wish = replace(bare, package=row.name, cpu=is_cpu or bare.spec.endswith("+cpu"), distribution=distribution)
    _demand_version(wish, known)
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


def _unknown(name: str, known: Knowledge) -> InputError:
    """The refusal of a name, with names that look like it: most are a slip of the pen."""
    from difflib import get_close_matches

    names = sorted(
        {*known.matrix.packages, *(alias for row in known.matrix.packages.values() for alias in row.aliases)}
    )
    near = get_close_matches(normalise(name), names, 3, 0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "`envcheck matrix list packages` shows them all"
    frameworks = sorted(row.name for row in known.matrix.packages.values() if row.kind == "framework")
    return InputError(
        f"unknown framework {name!r}",
        where="argument",
        expected=f"one of {', '.join(frameworks)}, or a companion",
        hint=hint,
    )


def _demand_version(wish: Wish, known: Knowledge) -> None:
    """Refuse a version that does not exist; a version older than the matrix reaches is left to the answer *unknown*.

    The releases shown are those that the person most likely meant: other builds of the same release if the local tag is
    wrong, else the newest.
    """
    options = known.packages.options(wish.package)
    if known.named(wish.package, (wish,)) or is_beyond(wish, known):
        return
    if is_void((wish.spec,)):
        raise InputError(
            f"no version can meet {wish.spec}", where=f"argument {wish.text!r}", expected="a range that holds one"
        )
    pinned = wish.spec[2:] if wish.spec.startswith("==") else ""
    releases = sorted({option.full for option in options if pinned and same_release(pinned, option.version)})
    shown = releases or list(dict.fromkeys(option.version for option in options))[:12]
    more = "" if releases else " and older" if len(known.packages.versions(wish.package)) > len(shown) else ""
    raise InputError(
        f"no {wish.package} {wish.spec} exists, as far as the matrix knows",
        where=f"argument {wish.text!r}",
        expected=f"{', '.join(shown)}{more}",
        hint=f"`envcheck matrix show {wish.package}` lists them",
    )


def is_beyond(wish: Wish, known: Knowledge) -> bool:
    """Whether the wish can only mean releases older than the oldest the matrix holds."""
    versions = known.packages.versions(wish.package)
    if not versions:
        return True
    if any(meets(wish.spec, version) for version in versions) or "+" in wish.spec:
        return False
    return not is_void((wish.spec, f"<{versions[-1]}"))
