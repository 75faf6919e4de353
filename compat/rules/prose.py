"""What a person wrote where no program spoke: which things a sentence names, and what such sentences mostly mean.

The table ``terms`` has the field's words (a GPU, a container, a negation) in the languages that reports are written
in; the table ``phrases`` says what a sentence that names several of them may point to. What a fact tells counts as
said: who reports from inside a container does not repeat it. Words of one sentence mean more than words that are far
apart. Phrases suggest, they never prove: a finding that rests on one alone is at most a possible warning.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.matrix.rows import Signal
from compat.rules.signals import MERE, WORDS, Heard, Hearing
from compat.rules.stack import packages_of, vendors_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Phrase, Term

# Characters up to which a text is read as prose: a long issue; what is longer is a log, and logs hold messages.
LONGEST: Final = 20_000

_ANYTHING: Final = 7  # candidates of a message that leaves everything open
_WHOLE: Final = 600  # characters up to which a text is one thought, whatever its sentences
# Terms that a fact says as well as a word does: who states an AMD card need not write so, and no phrase forgets it.
_VENDORS: Final = frozenset({"amd"})

# Processors that a report on a missing package is mostly about, whether it names them or not.
_RARE: Final = frozenset(("aarch64", "arm64", "ppc64le", "riscv64"))

_SENTENCE: Final = re.compile(r"[\n。！？；]+|[.!?;]+(?=\s|$)")


def heeded(signals: Hearing, host: Host, matrix: Matrix) -> Hearing:
    """The hearing with what the prose suggests, where no message was recognised.

    Words that mean one thing only stand first, then sentences of several terms, then words that may mean several.
    """
    if len(signals.text) > LONGEST or any(_tells(item) for item in signals):
        return signals
    found = list(_phrases(signals.text, host, matrix))
    sharp = tuple(_heard(row, line) for row, line in found if len(row.terms) > 1)
    vague = tuple(_heard(row, line) for row, line in found if len(row.terms) == 1)
    plain = tuple(item for item in signals if len(item.signal.candidates) == 1)
    rest = tuple(item for item in signals if len(item.signal.candidates) != 1)
    return replace(signals, heard=(*plain, *sharp, *rest, *vague))


def _tells(item: Heard) -> bool:
    """Whether a program said more than that it sees no GPU, which may mean nearly anything."""
    return item.signal.program not in MERE and len(item.signal.candidates) < _ANYTHING


def _phrases(text: str, host: Host, matrix: Matrix) -> Iterator[tuple[Phrase, str]]:
    """Each phrase that a sentence makes, with that sentence; then those that a short text makes as a whole."""
    given = _given(host)
    sentences = [unit.strip() for unit in _SENTENCE.split(text) if unit.strip()]
    told: set[str] = set()
    for units in (sentences, [text.strip()] if len(text) <= _WHOLE else []):
        named = [(unit, _named(unit, matrix)) for unit in units]
        for row in matrix.table("phrases"):
            unit = next((unit for unit, terms in named if _made(row, terms, given)), "")
            if unit and row.phrase not in told:
                told.add(row.phrase)
                yield row, unit[:400]


def _named(unit: str, matrix: Matrix) -> set[str]:
    """The terms that a sentence names."""
    lowered = unit.lower()
    return {row.term for row in matrix.table("terms") if _compiled(row).search(lowered)}


def _made(row: Phrase, terms: set[str], given: set[str]) -> bool:
    """Whether terms make a phrase: all are there, by word or by fact, at least one by word, and none that it bars."""
    needed = set(row.terms)
    barred = terms | (given & _VENDORS)
    return bool(terms & needed) and needed <= terms | given and not barred & set(row.unless)


def _given(host: Host) -> set[str]:
    """Terms that the facts say already."""
    packages = packages_of(host)
    frameworks = {term for term in ("torch", "tensorflow", "jax", "onnxruntime") for name in packages if term in name}
    vendors = vendors_of(host)
    named = set(vendors) if len(vendors) == 1 else set()
    rare = host.arch in _RARE or host.platform == "darwin"
    told = {"container": bool(host.container), "system": rare, "wsl": host.platform == "wsl2"}
    return frameworks | (named & _VENDORS) | {term for term, stated in told.items() if stated}


def _heard(row: Phrase, line: str) -> Heard:
    """A phrase as the words of the field that it is made of."""
    signal = Signal(
        signal=row.phrase,
        pattern="",
        program=WORDS,
        candidates=row.candidates,
        meaning=row.meaning,
        source=row.source,
        how=row.how,
    )
    return Heard(signal, line)


@lru_cache(maxsize=512)
def _compiled(row: Term) -> re.Pattern[str]:
    """A term's pattern, compiled once; :class:`InputError` names the overlay's row whose pattern is none."""
    try:
        return re.compile(row.pattern, re.IGNORECASE | re.ASCII)  # a word ends where another script begins
    except re.error as error:
        where = f"{row.origin or 'terms'}, term {row.term!r}"
        raise InputError(f"pattern: {error}", where=where, expected="a regular expression") from None
