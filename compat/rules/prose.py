"""What a person wrote where no program spoke: which things a sentence names, and what such sentences mostly mean.

The table ``terms`` has the field's words (a GPU, a container, a negation) in the languages that reports are written in;
the table ``phrases`` says what a sentence that names several of them may point to. What a fact tells counts as said: who
reports from inside a container does not repeat it. Phrases suggest, they never prove: a finding that rests on one
alone is at most a possible warning.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.matrix.rows import Signal
from compat.rules.signals import MERE, WORDS, Heard, Hearing
from compat.rules.stack import packages_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Phrase, Term

LONGEST: Final = 20_000
"""Characters up to which a text is read as prose: a long issue; what is longer is a log, and logs hold messages."""

_WHOLE: Final = 600  # characters up to which a text is one thought, whatever its sentences
_SENTENCE: Final = re.compile(r"[\n。！？；]+|[.!?;]+(?=\s|$)")


def heeded(signals: Hearing, host: Host, matrix: Matrix) -> Hearing:
    """The hearing with what the prose suggests, where no message was recognised.

    Sentences of several terms stand before mere words, those of one after them, each group in the table's order.
    """
    if len(signals.text) > LONGEST or any(item.signal.program not in MERE for item in signals):
        return signals
    found = list(_phrases(signals.text, host, matrix))
    sharp = tuple(_heard(row, line) for row, line in found if len(row.terms) > 1)
    vague = tuple(_heard(row, line) for row, line in found if len(row.terms) == 1)
    return replace(signals, heard=(*sharp, *signals.heard, *vague))


def _phrases(text: str, host: Host, matrix: Matrix) -> Iterator[tuple[Phrase, str]]:
    """Each phrase that a sentence (or a short text as a whole) makes, with that sentence."""
    given = _given(host)
    units = [unit.strip() for unit in _SENTENCE.split(text) if unit.strip()]
    units += [text.strip()] if len(text) <= _WHOLE and len(units) > 1 else []
    named = [
        (unit, {row.term for row in matrix.table("terms") if _compiled(row).search(unit.lower())}) for unit in units
    ]
    for row in matrix.table("phrases"):
        for unit, terms in named:
            said = terms & set(row.terms)
            if said and set(row.terms) <= terms | given and not terms & set(row.unless):
                yield row, unit[:400]
                break


def _given(host: Host) -> set[str]:
    """Terms that the facts say already."""
    packages = packages_of(host)
    frameworks = {term for term in ("torch", "tensorflow", "jax", "onnxruntime") for name in packages if term in name}
    return frameworks | ({"container"} if host["container"] else set())


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
    try:
        return re.compile(row.pattern, re.IGNORECASE | re.ASCII)  # a word ends where another script begins
    except re.error as error:
        where = f"{row.origin or 'terms'}, term {row.term!r}"
        raise InputError(f"pattern: {error}", where=where, expected="a regular expression") from None
