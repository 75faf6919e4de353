"""One reading of versions, specifiers and requirement lines; nothing else in the program parses them.

Numbers of drivers, toolkits and C libraries (535.86.10, CUDA 12.8.1, ROCm 6.4, glibc 2.35) are plain dotted numbers: a
tuple of integers compares them rightly. Versions of packages follow PEP 440, requirement lines PEP 508;
``packaging`` reads those. To import it takes as long as to start a bare interpreter: it is imported inside functions,
and plain releases with plain bounds (``2.9.1``, ``>=1.26,<3``) are compared here, to the same answer.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat.lazy import dataclass, pattern
from compat.names import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from packaging.ranges import VersionRange
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

_DOTTED: Final = pattern(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,5}")
_LOCAL: Final = pattern(r"\+[\w.]+")
_NAME: Final = pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SIGN: Final = pattern(r"(?=[=!<>])")
# A marker that compares texts alone, in the spelling of ``packaging``: no import is needed to read it.
_PLAIN: Final = r'(?:sys_platform|platform_system|platform_machine|os_name|implementation_name) == "[A-Za-z]\w*"'
PLAIN_MARKER: Final = pattern(rf"{_PLAIN}(?: and {_PLAIN})*")
_PRE: Final = pattern(r"\d(?:a|b|rc|\.dev)\d")  # a pre-release
_BOUND: Final = pattern(r"([=!<>]=|[<>])([0-9]{1,9}(?:\.[0-9]{1,9}){0,5})")
_SIGNS: Final[dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@lru_cache(maxsize=4096)
def release(text: str) -> tuple[int, ...]:
    """The leading dotted number of ``text`` as integers, trailing zeros dropped: ``"12.8.0"`` -> ``(12, 8)``.

    Trailing zeros go because ``12.8`` and ``12.8.0`` name one release in every vendor table.

    Raises:
        ValueError: if ``text`` does not start with a number.
    """
    parts = _numbers(text)
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def _numbers(text: str) -> list[int]:
    """The leading dotted number, every part of it."""
    found = _DOTTED.match(text.strip().removeprefix("v"))
    if found is None:
        raise ValueError(f"{text!r} is not a dotted version number")
    return [int(part) for part in found.group().split(".")]


@lru_cache(maxsize=8192)
def same_release(left: str, right: str) -> bool:
    """Whether two texts name one release of a package; a local tag (``+cu118``) is no part of a release.

    >>> same_release("2.1", "2.1.0"), same_release("0.0.32.post1", "0.0.32"), same_release("2.1.0+cu118", "2.1")
    (True, False, True)
    """
    if left == right:
        return True
    try:
        if release(left) != release(right):
            return False
    except ValueError:
        return False
    if is_release(left) and is_release(right):
        return True
    one, other = public(left), public(right)
    return one is not None and one == other


@lru_cache(maxsize=8192)
def public(text: str) -> Version | None:
    """A version of a package without its local tag; ``None`` if PEP 440 does not know it."""
    try:
        return parsed(text.partition("+")[0])
    except ValueError:  # no version, or a number too long to be one
        return None


def is_release(text: str) -> bool:
    """Whether the whole of ``text`` is a dotted number."""
    return _DOTTED.fullmatch(text.strip()) is not None


def at_least(version: str, floor: str) -> bool:
    """Whether ``version`` reaches ``floor``; a coarser version counts as its first release (``525`` < ``525.60``).

    >>> at_least("535.54.03", "525.60.13"), at_least("525", "525.60.13")
    (True, False)
    """
    return release(version) >= release(floor)


def up_to(version: str, last: str) -> bool:
    """Whether ``version`` comes no later than ``last`` and its own patch releases: 6.0.2, but not 6.1, for ``6.0``.

    ``last`` counts as exactly as it is written, its zeros too.
    """
    bound = tuple(_numbers(last))
    return release(version)[: len(bound)] <= bound


def major(version: str) -> int:
    """The first number: ``"12.8"`` -> ``12``."""
    return release(version)[0]


def unpacked_cuda(number: int) -> str:
    """CUDA's one-number version: ``12040`` -> ``"12.4"`` (``CUDA_VERSION`` is 1000 * major + 10 * minor, cuda.h)."""
    return f"{number // 1000}.{number % 1000 // 10}"


def unpacked_cudnn(number: int) -> str:
    """8005 -> 8.0.5, 90100 -> 9.1.0: cudnn_version.h multiplies the major by 1000 before release 9, by 10000 since."""
    major, rest = divmod(number, 10000 if number >= 90000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def minor(version: str) -> str:
    """Major and minor as the field writes them: ``"12.8.1"`` -> ``"12.8"``, ``"12"`` -> ``"12.0"``."""
    parts = release(version)
    return f"{parts[0]}.{parts[1] if len(parts) > 1 else 0}"


def same_series(left: str, right: str) -> bool:
    """Whether two versions share major and minor."""
    return minor(left) == minor(right)


# --- specifiers (PEP 440) ---


@lru_cache(maxsize=4096)
def specifier(spec: str) -> SpecifierSet | None:
    """A specifier set, ``">=2,<3"``; ``None`` if it is not one, or holds a variable."""
    from packaging.specifiers import SpecifierSet

    try:
        return SpecifierSet(spec)
    except ValueError:
        return None


def meets(spec: str, version: str) -> bool:
    """Whether an installer may choose a version for a specifier: pre-releases only where the specifier names one."""
    return not spec or _contains(spec, version if "+" in spec else version.partition("+")[0])


@lru_cache(maxsize=4096)
def _bounds(spec: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Sign and release of each bound of a specifier of plain releases; none of any other specifier."""
    found = [_BOUND.fullmatch(part) for part in spec.split(",")]
    return tuple((one[1], release(one[2])) for one in found if one) if all(found) else ()


@lru_cache(maxsize=65536)
def _contains(spec: str, version: str) -> bool:
    bounds = _bounds(spec)
    if bounds and is_release(version):
        return all(_SIGNS[sign](release(version), bound) for sign, bound in bounds)
    if bounds and _PRE.search(version):
        return False  # none of the bounds names one
    wanted = specifier(spec)
    return wanted is not None and wanted.contains(version, prereleases=bool(wanted.prereleases))


@lru_cache(maxsize=4096)
def admits(spec: str, version: str) -> bool | None:
    """Whether a version that is there satisfies a specifier; ``None`` where that is not known.

    It is not known of texts that PEP 440 does not know; of a specifier with a local tag and a version without one,
    since an index may offer that tag for the plain version; and of a maker's own build of a pre-release
    (``2.1.0a0+32f93b1``), which may stand for the release.
    """
    if _bounds(spec) and is_release(version):
        return _contains(spec, version)
    plain, wanted = public(version), specifier(spec)
    if plain is None or wanted is None:
        return None
    if "+" in spec and "+" in version:
        return wanted.contains(version, prereleases=True)
    if "+" in spec:
        return None if admits(_LOCAL.sub("", spec), version) else False
    met = wanted.contains(plain, prereleases=True)
    return None if not met and plain.is_prerelease and "+" in version else met


def wheel(file: str) -> tuple[str, str] | None:
    """The distribution and the version that a wheel's file is of, by its name; none for any other file."""
    if not file.endswith(".whl"):
        return None
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        name, version, _, _ = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    return name, str(version)


def wheel_pythons(file: str) -> list[str]:
    """The Pythons that a wheel is for alone, by its file's name, ``3.10``; none for one of many, or any other file."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    try:
        tags = parse_wheel_filename(file)[3]
    except InvalidWheelFilename:
        return []
    made = [tag.interpreter[2:] for tag in tags if tag.interpreter.startswith("cp") and tag.abi.startswith("cp")]
    return sorted({f"{each[0]}.{each[1:]}" for each in made})


def newest_first(texts: Iterable[str]) -> list[str]:
    """Versions of a package, each of which PEP 440 knows, in order."""
    found = set(texts)
    return sorted(found, key=release if all(map(is_release, found)) else parsed, reverse=True)


@lru_cache(maxsize=8192)
def parsed(text: str) -> Version:
    """A version of a package that is known to be one, with its local tag, to sort by.

    Raises:
        ValueError: if PEP 440 does not know it.
    """
    from packaging.version import Version

    return Version(text)


def both(specs: tuple[str, ...]) -> VersionRange:
    """The versions that all of ``specs`` accept; a specifier that cannot be read bounds nothing."""
    found = specifier(",".join(sorted({spec for spec in specs if spec and specifier(spec) is not None})))
    assert found is not None  # each of its parts is one
    return found.to_range()


@lru_cache(maxsize=16384)
def is_void(specs: tuple[str, ...]) -> bool:
    """Whether no version satisfies all of ``specs``."""
    return both(specs).is_empty


def clashes(left: str, right: str) -> bool:
    """Whether no version satisfies both specifiers; one that cannot be read clashes with nothing."""
    return bool(left and right and left != right) and is_void((left, right) if left < right else (right, left))


@lru_cache(maxsize=4096)
def tightened(specs: tuple[str, ...]) -> str:
    """Several specifiers as one, without those that the others imply."""
    parts = list(dict.fromkeys(part for spec in specs for part in spec.split(",") if part))
    whole = both(tuple(parts)) if len(parts) > 1 else None
    for part in tuple(parts):
        rest = tuple(other for other in parts if other != part)
        if rest and both(rest) == whole:
            parts.remove(part)
    return ",".join(sorted(parts, key=lambda part: (part.lstrip("<>=!~"), part)))


# --- requirement lines (PEP 508) ---


@dataclass(frozen=True, slots=True)
class Line:
    """One requirement.

    Attributes:
        name: package in normalised spelling.
        spec: its specifiers, sorted and without spaces, ``<5,>=4.25``; empty if any version will do.
        marker: its environment marker; empty if it has none.
        extras: extras asked for.
        url: address, of a requirement that names one.
        text: the line as it was given.
        via: the requirement that brings it, ``vllm<=0.7.2``; empty of one's own.
    """

    name: str
    spec: str = ""
    marker: str = ""
    extras: tuple[str, ...] = ()
    url: str = ""
    text: str = ""
    via: str = ""


@lru_cache(maxsize=16384)
def read_requirement(line: str) -> Line:
    """A requirement line: ``Requires-Dist``, a line of a requirements file, an argument.

    Raises:
        ValueError: if it is no requirement by name; the message says what is wrong with it.

    >>> read_requirement("protobuf (>=4.25,<5) ; python_version > '3.8'").spec
    '<5,>=4.25'
    """
    plain, _, marker = (part.strip() for part in line.partition(";"))
    name, *rest = _SIGN.split(plain, maxsplit=1)
    spec = plain[len(name) :]
    if _NAME.fullmatch(name) and (not rest or _bounds(spec)) and (not marker or PLAIN_MARKER.fullmatch(marker)):
        return Line(normalise(name), ",".join(sorted(spec.split(","))), marker, text=line)
    from packaging.requirements import Requirement

    found = Requirement(line.strip())
    marker = str(found.marker) if found.marker else ""
    spec = ",".join(sorted(str(part) for part in found.specifier))
    return Line(normalise(found.name), spec, marker, tuple(sorted(map(normalise, found.extras))), found.url or "", line)


@lru_cache(maxsize=16384)
def name_of(line: str) -> str:
    """The name in a requirement line, which is not read any further."""
    found = _NAME.match(line.strip())
    return normalise(found[0]) if found else ""


def requirement(line: str) -> Line | None:
    """A requirement line as :func:`read_requirement` reads it; ``None`` where it is no requirement by name."""
    try:
        return read_requirement(line)
    except ValueError:
        return None
