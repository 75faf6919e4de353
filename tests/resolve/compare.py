"""Small random questions answered by the resolver, by brute force, and by z3 where it is installed.

The suite compares a sample; thousands are one command, which prints what it compared and every difference:

    python tests/resolve/compare.py 5000
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from oracle import ORDERS, Oracle, Row, Soft
from smt import Encoding
from worlds import Question, forward_question, random_question

from compat.errors import InputError
from compat.resolve.build_fit import FORWARD
from compat.resolve.corrections import conflicts, corrections
from compat.resolve.knowledge import knowledge
from compat.resolve.read_situation import situation
from compat.resolve.request import read
from compat.resolve.search import Search

if TYPE_CHECKING:
    from collections.abc import Iterator

Maker = Callable[[int], Question]


def ask(seed: int, prefer: str = "proven", make: Maker = random_question) -> tuple[Question, Search] | None:
    """A random question and the resolver's own search for it; none where it names a version that does not exist."""
    question = make(seed)
    known = knowledge(question.matrix())
    try:
        wishes = read(question.requirements, known)
    except InputError:
        return None
    return question, Search(situation(wishes, [question.host()], known), known, prefer)


def rows_of(oracle: Oracle, found: Search) -> tuple[tuple[Row, ...], bool]:
    """The oracle's rows of the builds that the resolver chose, and whether the image must bring a newer driver."""
    best = found.best()
    assert best is not None
    rows = (next(row for row in oracle.rows[w.option.package] if is_row(row, w.option.build)) for w in best.chosen)
    return tuple(rows), any(weighed.strain == FORWARD for weighed in best.chosen)


def is_row(row: Row, build: Any) -> bool:
    names = ("kernels", "python", "platforms", "system")
    return (
        row.versions == build.version
        and row.runtime == build.runtime
        and row.cuda_from == build.cuda_from
        and tuple(row.raw.get("requires", ())) == build.requires
        and all(getattr(row, name) == " ".join(getattr(build, name)) for name in names)
    )


def named(question: Question, found: Search, bits: int) -> frozenset[Soft]:
    """A bit set of the resolver in the oracle's words."""
    softs = [soft for soft in found.target.softs if soft.bit & bits]
    return frozenset(
        ("wish", soft.text)
        if soft.kind == "wish"
        else ("gpu", soft.subject[3:])
        if soft.subject.startswith("gpu")
        else (soft.subject, str(question.facts[soft.subject]))
        for soft in softs
    )


def by_brute_force(question: Question, found: Search) -> Iterator[str]:
    """Where verdict, cores or optimum are other than those of trying everything."""
    oracle = Oracle(question)
    wanted, best = oracle.best(found.prefer), found.best()
    if (wanted is None) != (best is None):
        yield f"brute force: {'a' if wanted else 'no'} plan exists"
    elif best is not None and oracle.key(*rows_of(oracle, found), found.prefer) != wanted:
        yield "brute force: another plan is preferred"
    elif best is None:
        cores = {named(question, found, bits) for bits in conflicts(corrections(found))}
        if cores != oracle.conflicts():
            yield "brute force: other cores"


def by_z3(question: Question, found: Search, z3: Any) -> Iterator[str]:
    """Where verdict, cores or optimum are other than z3's.

    Cores that are unsatisfiable, irreducible, and the hitting sets of corrections that all help are all cores there are:
    what is unsatisfiable must meet every correction, whose complement is satisfiable.
    """
    oracle = Oracle(question)
    encoding = Encoding(question, oracle, z3)
    everything, best = frozenset(oracle.softs), found.best()
    if encoding.satisfiable(everything) != (best is not None):
        yield f"z3: {'no' if best else 'a'} plan exists"
    elif best is not None:
        if oracle.key(*rows_of(oracle, found), found.prefer) != encoding.best(found.prefer):
            yield "z3: another plan is preferred"
    else:
        yield from _cores(question, found, encoding, everything)


def _cores(question: Question, found: Search, encoding: Encoding, everything: frozenset[Soft]) -> Iterator[str]:
    sets = corrections(found)
    for bits in conflicts(sets):
        core = named(question, found, bits)
        if encoding.satisfiable(core):
            yield "z3: a conflict that can be satisfied"
        if not all(encoding.satisfiable(core - {member}) for member in core):
            yield "z3: a member that is not needed"
    if not all(encoding.satisfiable(everything - named(question, found, bits)) for bits in sets):
        yield "z3: a correction that does not help"


def main(count: int, first: int = 0) -> int:
    """Compare ``count`` questions, every second one about forward compatibility, over all orders; 1 if any differ."""
    try:
        import z3
    except ImportError:
        z3 = None
    counts: Counter[str] = Counter()
    for seed in range(first, first + count):
        prefer = list(ORDERS)[seed // 2 % len(ORDERS)]
        case = ask(seed, prefer, forward_question if seed % 2 else random_question)
        if case is None:
            counts["refused"] += 1
            continue
        counts["plans" if case[1].best() else "conflicts"] += 1
        for fault in (*by_brute_force(*case), *(by_z3(*case, z3) if z3 else ())):
            counts["differences"] += 1
            print(f"seed {seed}, {prefer}: {fault}")
    told = ", ".join(f"{counts[name]} {name}" for name in ("plans", "conflicts", "refused", "differences"))
    print(f"{count} questions from seed {first}: {told}; compared with brute force{' and z3' if z3 else ' alone'}")
    return int(counts["differences"] > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:3])) if len(sys.argv) > 1 else main(1000))
