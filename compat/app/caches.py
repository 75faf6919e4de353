"""How much a language model keeps of a sequence while it answers (KV cache), by rows and the fields of ``config.json``.

Sources: https://arxiv.org/abs/2305.13245 (grouped queries), https://arxiv.org/abs/2405.04434 (compressed keys and
values); which model has which rule is told by the rows of ``caches``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.matrix import Matrix
    from compat.matrix.rows import Cache

BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2}


def rule(matrix: Matrix, config: Mapping[str, Any]) -> Cache | None:
    """The row that tells how a model keeps keys and values; ``None`` where its ``model_type`` has none."""
    kind = config.get("model_type")
    return next((row for row in matrix.table("caches") if kind in row.models), None)


def cache_bytes(row: Cache, config: Mapping[str, Any], context: int, cards: int) -> int:
    """The least that one card holds for one sequence of so many tokens; 0 where a field that decides is missing.

    A layer keeps keys and values of each token, or of no more tokens than its window, or a state that does not grow.
    Cards share the heads; what is not per head lies on each of them.
    """
    fields = _fields(config)
    layers = max(fields.get("num_hidden_layers", 0) - fields.get("num_kv_shared_layers", 0), 0)
    whole = _whole(row, config, fields, layers)
    for name in row.split:
        if name in fields:
            fields[name] = -(-fields[name] // cards)
    token, state = _sum(row.token, fields), _sum(row.state, fields)
    if (row.token and not token) or (row.state and not state):
        return 0
    window = min(context, fields.get("sliding_window", 0)) if _slides(config) else 0
    numbers = whole * token * context
    numbers += (layers - whole) * ((_sum(row.window, fields) or token) * window if window else state)
    return numbers * BYTES.get(str(config.get("dtype") or config.get("torch_dtype")), 2)


def _fields(config: Mapping[str, Any]) -> dict[str, int]:
    """The fields that are counts, of a list with a number per layer the least, and what stands for those left out."""
    found = {}
    for name, value in config.items():
        least = min((one for one in value if _is_count(one)), default=0) if isinstance(value, list) else value
        if _is_count(least):
            found[name] = least
    if heads := found.get("num_attention_heads"):
        found.setdefault("num_key_value_heads", heads)
        if width := found.get("hidden_size"):
            found.setdefault("head_dim", width // heads)
    return found


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**31


def _slides(config: Mapping[str, Any]) -> bool:
    """Whether a window that a file names is used."""
    return config.get("use_sliding_window") is not False


def _whole(row: Cache, config: Mapping[str, Any], fields: Mapping[str, int], layers: int) -> int:
    """How many layers keep each token of the context.

    A file tells it by a word or a mark per layer, by the numbers of these layers, or by an interval; else the row does.
    Where a file names a window, and not whose it is, it is each layer's.
    """
    told = next((config[name] for name in row.layers if isinstance(config.get(name), list | str | int)), None)
    if isinstance(told, str) and told:
        return sum(one in row.words for one in told) * (layers // len(told))
    if isinstance(told, list):
        return min(sum(one in row.words or type(one) is int for one in told), layers)
    every = told if _is_count(told) else row.every
    if every or row.state:
        return layers // every if every else 0
    return 0 if "sliding_window" in fields and _slides(config) else layers


def _sum(text: str, fields: Mapping[str, int]) -> int:
    """The value of ``2*a*b + c``, or of the first of several behind ``|`` whose fields are known; 0 if none is."""
    for choice in text.split("|"):
        parts = [[one.strip() for one in part.split("*")] for part in choice.split("+")]
        values = [[int(one) if one.isdigit() else fields.get(one, 0) for one in part] for part in parts]
        if all(number for part in values for number in part):
            return sum(math.prod(part) for part in values)
    return 0
