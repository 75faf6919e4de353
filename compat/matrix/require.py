"""NVIDIA_REQUIRE_*: conditions baked into an image that the container toolkit checks before it starts a container.

Grammar and semantics after libnvidia-container (``src/cli/dsl.c`` and ``configure.c``): a space means OR, a comma AND;
keys are ``cuda`` (CUDA version of the driver), ``driver``, ``arch`` (compute capability) and ``brand``; a fact that
the toolkit cannot read counts as satisfied. Here such a fact makes the answer unknown instead, unless the other
terms decide alone: we may know less than the toolkit will.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from compat import versions
from compat.errors import InputError
from compat.lazy import dataclass, pattern

_TERM: Final = pattern(r"(cuda|driver|arch|brand)(=|!=|<=|>=|<|>)([A-Za-z0-9.]{1,40})", re.IGNORECASE)
_TRUE: Final = frozenset({"1", "t", "true"})
_NOT_CHECKED: Final = "NVIDIA_REQUIRE_JETPACK"  # read by the toolkit's CSV mode, never evaluated as a condition


@dataclass(frozen=True, slots=True)
class Term:
    """One comparison: ``driver>=535``."""

    key: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}{self.operator}{self.value}"


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a condition holds: ``satisfied`` is ``None`` if that depends on a fact not known; ``why`` says it."""

    satisfied: bool | None
    why: str


def parse(expression: str) -> tuple[tuple[Term, ...], ...]:
    """The alternatives of an expression, each a tuple of terms that must all hold.

    Raises:
        InputError: naming the first term that is not one; the toolkit refuses such an image too.
    """
    return tuple(tuple(_term(text) for text in option.split(",") if text) for option in expression.split())


def _term(text: str) -> Term:
    """One comparison; the toolkit refuses an image whose condition has another form."""
    found = _TERM.fullmatch(text)
    if found is None:
        raise InputError(f"{text[:60]!r} is not a condition", where="NVIDIA_REQUIRE", expected="such as cuda>=12.4")
    key, operator, value = found[1].lower(), found[2], found[3]
    if key == "brand" and operator not in {"=", "!="}:
        raise InputError(f"{text[:60]!r} orders brands", where="NVIDIA_REQUIRE", expected="brand= or brand!=")
    if key != "brand" and not versions.is_release(value):
        raise InputError(f"{text[:60]!r} names no version", where="NVIDIA_REQUIRE", expected="such as driver>=535")
    return Term(key, operator, value)


def satisfies_require(
    expression: str, *, driver: str = "", driver_cuda: str = "", brand: str = "", arch: str = ""
) -> Check:
    """Whether a host may start an image with this condition; an empty argument is a fact that is not known.

    ``driver_cuda``: CUDA version that the driver reports, ``12.2``. ``brand``: the device's brand word, ``tesla``,
    ``geforce``, ``nvidiartx``.

    Raises:
        InputError: if the expression is not one.
    """
    options = parse(expression)
    facts = {"driver": driver, "cuda": driver_cuda, "brand": brand.lower(), "arch": arch}
    verdicts = [_all_hold(option, facts) for option in options]
    if not options or True in verdicts:
        decided = ",".join(map(str, options[verdicts.index(True)])) if options else "an empty condition"
        return Check(True, f"{decided} holds")
    if None in verdicts:
        option = options[verdicts.index(None)]
        missing = sorted({term.key for term in option if not facts[term.key]})
        return Check(None, f"depends on {' and '.join(missing)}, not known here")
    known = ", ".join(f"{key} {value}" for key, value in facts.items() if value)
    more = f" and {len(options) - 1} more" if len(options) > 1 else ""
    return Check(False, f"no alternative holds for {known}: {expression.split(maxsplit=1)[0]}{more}")


def _all_hold(terms: tuple[Term, ...], facts: Mapping[str, str]) -> bool | None:
    """Kleene's AND: one term that fails decides, whatever is not known."""
    verdicts = [_holds(term, facts[term.key]) for term in terms]
    if False in verdicts:
        return False
    return None if None in verdicts else True


def _holds(term: Term, fact: str) -> bool | None:
    """Whether one term holds; ``None`` if its fact is not known."""
    if not fact:
        return None
    if term.key == "brand":
        return (fact == term.value.lower()) == (term.operator == "=")
    have, want = versions.release(fact), versions.release(term.value)
    return {
        "=": have == want,
        "!=": have != want,
        "<": have < want,
        "<=": have <= want,
        ">": have > want,
        ">=": have >= want,
    }[term.operator]


def conditions(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The conditions of an image's environment, all of which must hold; none if it switches the check off.

    An image that states CUDA_VERSION alone is of the old kind: the toolkit reads it as ``cuda>=major.minor``.
    """
    if environment.get("NVIDIA_DISABLE_REQUIRE", "").lower() in _TRUE:
        return ()
    stated = {key: value for key, value in environment.items() if key.startswith("NVIDIA_REQUIRE_") and value.strip()}
    found = {key: stated[key] for key in sorted(stated) if not key.startswith(_NOT_CHECKED)}
    legacy = environment.get("CUDA_VERSION", "")
    if "NVIDIA_REQUIRE_CUDA" not in found and legacy[:1].isdigit():
        found["NVIDIA_REQUIRE_CUDA"] = f"cuda>={versions.minor(legacy)}"
    return tuple(found.values())
