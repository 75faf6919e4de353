"""``envcheck fit``: whether a model's weights can lie in the memory of a GPU; a bound, and never a promise.

A proof that it cannot rests on the memory as the product is sold, of which a driver always shows less. That weights fit
is no promise that a server starts: activations, graphs and the context of each process come on top.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from compat.app.caches import BYTES, cache_bytes
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Cache
    from compat.sources.weights import Weights

GIB: Final = 1024**3
# Least share of the memory as sold that programs are shown: error correction takes a sixteenth of GDDR, the driver some
# hundred MiB (of a T4's 16 GiB torch's messages tell 14.56).
_SHOWN: Final = 0.9
_ADAM: Final = 8  # bytes per parameter of two moments in float32: https://arxiv.org/abs/1412.6980, algorithm 1


@dataclass(frozen=True, slots=True)
class Room:
    """Memory that a model may have: of one card, or of one slice of a card.

    Attributes:
        name: of the card.
        gib: its memory as sold; 0 if not known. Of several products with one name the most that one has.
        least: and the least.
        sure: whether a document was seen for it.
        unified: whether the machine's other programs use it too.
        source: ids of the sources of that.
    """

    name: str
    gib: float
    least: float
    sure: bool
    unified: bool
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """An answer, as ``envcheck.fit/1`` has it; memory of one card in GiB, ``None`` where it is not known.

    Attributes:
        verdict: ``cannot``, ``weights fit`` or ``unknown``.
        gpu: the card that was weighed: the one with most room, or with least where all have to share.
        weights_gib: least that one card holds of the weights; ``cache_gib`` of the cache, ``training_gib`` of gradients
            and optimizer.
        usable_gib: most that the card has; ``left_gib`` what is left of it at most.
        why: the reason in one sentence.
        conditions: what the answer supposes.
        source: ids of the sources of the card's memory, and of the rule for the cache.
    """

    verdict: str
    gpu: str
    why: str
    weights_gib: float
    cache_gib: float | None = None
    training_gib: float | None = None
    usable_gib: float | None = None
    left_gib: float | None = None
    conditions: tuple[str, ...] = ()
    source: tuple[str, ...] = ()


def rooms(matrix: Matrix, names: Sequence[str]) -> tuple[Room, ...]:
    """The memory of each card or slice of a card that ``--gpu`` names.

    Raises:
        InputError: for a name that is not known, or is of several kinds.
    """
    return tuple(_room(matrix, one) for text in names for one in text.split(","))


def _room(matrix: Matrix, text: str) -> Room:
    """The memory of what one name stands for: of a slice and of a part of a card no more than that."""
    from fractions import Fraction

    from compat.app.hardware import named as products
    from compat.app.hardware import record
    from compat.matrix.instances import find_instance, is_instance
    from compat.matrix.products import find_gpu
    from compat.resolve.target import counted, named

    text = counted(matrix, text)[0]
    asked = named(matrix, text).gpus[0]
    (row, *_), _ = products(matrix, (text,))
    part = Fraction(find_instance(matrix, text).part or 1) if is_instance(text) else Fraction(1)
    exact = row.name.lower() == text.strip().lower()
    alike = [one for one in find_gpu(matrix, text) if one.memory_gib and (one.name == row.name or not exact)]
    most = max((row, *alike), key=lambda other: other.memory_gib)
    least = min((other.memory_gib for other in alike), default=most.memory_gib) * float(part)
    gib = most.memory_gib * float(part)
    sure = "memory_gib" not in most.inferred and most.how != "inferred"
    name = asked.name if part != 1 else most.name
    return Room(name, gib, least, sure, bool(record(matrix, most)["unified_memory"]), most.source)


def fit(
    model: Weights,
    places: Sequence[Room],
    config: Mapping[str, Any],
    *,
    context: int = 0,
    cards: int = 1,
    train: bool = False,
    rule: Cache | None = None,
) -> Fit:
    """Whether a model's weights can lie in the memory of a card.

    Args:
        model: what it weighs.
        places: the cards; one of them has to hold it, or each an equal share where ``cards`` is above 1.
        config: fields of its ``config.json``.
        context: tokens of one sequence that a cache is wanted for.
        cards: cards that share the weights (tensor parallel); without it memory of several cards is not summed.
        train: whether gradients and Adam's two moments lie there too.
        rule: the row that tells how the model keeps keys and values.
    """
    room = (min if cards > 1 else max)(places, key=lambda place: place.gib)
    share = model.bytes / cards
    cache = cache_bytes(rule, config, context, cards) if context and rule else 0
    more = (model.bytes + _ADAM * model.parameters) / cards if train else 0
    needs = share + cache + more
    answer = Fit(
        verdict="unknown",
        gpu=room.name,
        why=f"how much memory {room.name} has is not known",
        weights_gib=round(share / GIB, 2),
        cache_gib=round(cache / GIB, 2) if cache else None,
        training_gib=round(more / GIB, 2) if train else None,
        conditions=tuple(_conditions(model, room, config, context=context, cards=cards, train=train, cache=cache)),
        source=room.source + (rule.source if rule and cache else ()),
    )
    if not room.gib:
        return answer
    left = room.gib - needs / GIB
    parts = _parts(share, cache, more, context)
    verdict, why = "weights fit", f"{parts} fit, with {left:.2f} GiB left at most"
    if left < 0:
        verdict, why = "cannot", f"{parts} take {needs / GIB:.2f} GiB at least, and {room.name} has {room.gib:g} GiB"
        if not room.sure:
            verdict, why = "unknown", f"{why}, which fewer than two sources tell"
    elif needs / GIB > room.least:
        other = f"of the products of that name one has {room.least:g} GiB: give its full name, or its PCI id"
        verdict, why = "unknown", f"{parts} fit {room.name} of {room.gib:g} GiB, and {other}"
    elif needs / GIB > _SHOWN * room.least:
        shows = f"error correction and its driver may leave {_SHOWN * room.least:.2f} GiB of {room.least:g} GiB"
        verdict, why = "unknown", f"{parts} take {needs / GIB:.2f} GiB, and {shows}"
    elif context and not cache:
        what = f"model_type {config['model_type']}" if config.get("model_type") else "a model without a config.json"
        verdict, why = "unknown", f"{parts} fit, and the size of a cache is not known for {what}"
    return replace(answer, verdict=verdict, why=why, usable_gib=room.gib, left_gib=round(left, 2))


def _parts(share: float, cache: float, more: float, context: int) -> str:
    """What was summed, in words."""
    words = [f"weights ({share / GIB:.2f} GiB)"]
    words += [f"a cache of {context} tokens ({cache / GIB:.2f} GiB)"] if cache else []
    words += [f"gradients and optimizer ({more / GIB:.2f} GiB)"] if more else []
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _conditions(
    model: Weights, room: Room, config: Mapping[str, Any], *, context: int, cards: int, train: bool, cache: int
) -> list[str]:
    """What an answer supposes."""
    told = [model.note] if model.note else []
    told.append("nothing is offloaded to main memory")
    shared = f"each of {cards} cards holds an equal part of the weights"
    told.append(shared if cards > 1 else "one card holds all: memory of several counts with --tensor-parallel alone")
    told += ["the memory is the machine's, and the system takes its part"] if room.unified else []
    if cache:
        dtype = config.get("dtype") or config.get("torch_dtype")
        told.append(f"one sequence of {context} tokens, its cache in {dtype if dtype in BYTES else '2 bytes'}")
    if train:
        known = (
            "Adam with two moments in float32" if model.parameters else "gradients alone: the parameters are not known"
        )
        told.append(f"all weights are trained, with {known}, and activations come on top")
    else:
        told.append("activations, graphs and each process's context come on top")
    return told
