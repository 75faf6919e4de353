"""What model files say of themselves: bytes of weights, parameters, and the fields that tell the size of a cache.

Only headers are read, and of those no more than a limit; nothing that a header claims is believed beyond the size of
its file.

Sources: https://huggingface.co/docs/safetensors (8 bytes of length, then JSON with ``data_offsets``; the header is
limited to 100 MB), https://github.com/ggml-org/ggml/blob/master/docs/gguf.md (versions 2 and 3).
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from dataclasses import field
from pathlib import Path
from typing import Any, BinaryIO, Final

from compat.errors import InputError
from compat.inputs import opened
from compat.lazy import dataclass, pattern
from compat.untrusted import items, strings, table, word

GIB: Final = 1024**3
_LIMIT: Final = 100_000_000  # bytes of one header, as the safetensors library has it
_SHARDS: Final = 2000
_SIZE: Final = pattern(r"([0-9]{1,7}(?:\.[0-9]{1,4})?)\s?(GiB|GB|MiB|MB|TiB|TB)?", flags=2)
_UNITS: Final = {"": GIB, "gib": GIB, "mib": 1024**2, "tib": 1024**4, "gb": 10**9, "mb": 10**6, "tb": 10**12}
# GGUF's plain value types by number, as struct has them; 8 is text and 9 an array.
_PLAIN: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_DIMENSIONS: Final = 8
_BITS: Final = pattern(r"[A-Z]{1,2}([0-9]{1,2})(?:_[A-Z0-9]{1,12})?")  # what types of safetensors are named after
# GGML's tensor types by number, with the elements and the bytes of one block, as gguf's ``GGML_QUANT_SIZES`` has them.
_BLOCKS: Final = {
    kind: (elements, size)
    for elements, sizes in (
        (1, {0: 4, 1: 2, 24: 1, 25: 2, 26: 4, 27: 8, 28: 8, 30: 2}),
        (32, {2: 18, 3: 20, 6: 22, 7: 24, 8: 34, 9: 40, 20: 18, 39: 17}),
        (64, {40: 36}),
        (128, {41: 18}),
        (256, {10: 84, 11: 110, 12: 144, 13: 176, 14: 210, 15: 292, 16: 66, 17: 74, 18: 98, 19: 50, 21: 110, 22: 82}),
        (256, {23: 136, 29: 56, 34: 54, 35: 66}),
    )
    for kind, size in sizes.items()
}


@dataclass(frozen=True, slots=True)
class Weights:
    """What a model weighs.

    Attributes:
        bytes: of all tensors.
        parameters: how many numbers these are; 0 if not known.
        config: fields as in a ``config.json``, where the file has them.
        note: what the sum rests on, if not on the headers of all files.
    """

    bytes: int
    parameters: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def weigh(text: str) -> Weights:
    """The weights of a safetensors or GGUF file, of an index of shards, or of a size such as ``13.5GiB``.

    Raises:
        InputError: for a file that cannot be read, is none of these, or contradicts itself.
    """
    if found := _SIZE.fullmatch(text.strip()):
        size = int(float(found[1]) * _UNITS[(found[2] or "").lower()])
        if not size:
            raise InputError("a model without weights", where=text, expected="a size such as 13.5GiB")
        return Weights(size)
    path = Path(text)
    if path.name.endswith(".index.json"):
        return _indexed(path)
    try:
        with opened(path) as stream:
            head = stream.read(4)
            stream.seek(0)
            size = path.stat().st_size
            return _gguf(stream, size, text) if head == b"GGUF" else _safetensors(stream, size, text)
    except (OSError, struct.error) as error:
        what = getattr(error, "strerror", None) or "ends within its header"
        raise InputError(f"cannot be read: {what}", where=text[:200], expected=_EXPECTED) from None


_EXPECTED: Final = "a .safetensors, .gguf or .index.json file, or a size such as 13.5GiB"
_WHOLE: Final = "a whole file, as it was published"


def read_config(name: str) -> dict[str, Any]:
    """The fields of a ``config.json``; of a model of several parts those of its language model.

    Raises:
        InputError: if it is no JSON object.
    """
    body = _json(_all(Path(name)), name)
    inner = body.get("text_config")
    return {**body, **inner} if isinstance(inner, dict) else body


def _all(path: Path) -> bytes:
    try:
        with opened(path) as stream:
            raw = stream.read(_LIMIT + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)[:200]) from None
    if len(raw) > _LIMIT:
        raise InputError(f"is larger than {_LIMIT // 10**6} MB", where=str(path)[:200])
    return raw


def _json(raw: bytes, where: str, *, once: bool = False) -> dict[str, Any]:
    """A JSON object; with ``once`` none in it may name a key twice."""

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        body = dict(pairs)
        if once and len(body) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"names {twice[:60]!r} twice", where=where[:200], expected=_WHOLE)
        return body

    try:
        body = json.loads(raw, object_pairs_hook=read)
    except (ValueError, RecursionError):
        raise InputError("is not JSON", where=where[:200], expected=_EXPECTED) from None
    if not isinstance(body, dict):
        raise InputError("is no JSON object", where=where[:200], expected=_EXPECTED)
    return body


def _end(spans: list[tuple[int, int, str]], where: str, step: int = 1) -> int:
    """The end of tensors (begin, bytes, name) that lie one behind the other, each at a multiple of ``step``."""
    end = 0
    for begin, size, name in sorted(spans):
        if begin != (free := -(-end // step) * step):
            what = f"tensor {name[:60]!r} begins at byte {begin} of the data, where {free} is free"
            raise InputError(what, where=where[:200], expected=_WHOLE)
        end = begin + size
    return end


def _safetensors(stream: BinaryIO, size: int, where: str) -> Weights:
    (length,) = struct.unpack("<Q", stream.read(8))
    if not 2 <= length <= min(_LIMIT, size - 8):
        raise InputError("is no safetensors file", where=where[:200], expected=_EXPECTED)
    tensors = _json(stream.read(length), where, once=True)
    spans, parameters = [], 0
    for name, tensor in tensors.items():
        if name == "__metadata__":
            continue
        bits, shape, span = _described(tensor)
        if len(span) != 2 or math.prod(shape) * bits != (span[1] - span[0]) * 8:
            what = f"shape, type and data_offsets of tensor {name[:60]!r} contradict each other"
            raise InputError(what, where=where[:200], expected=_WHOLE)
        spans.append((span[0], span[1] - span[0], name))
        parameters += math.prod(shape)
    if not 0 < (end := _end(spans, where)) == size - 8 - length:
        what = f"its tensors end at byte {end} of the data, which has {size - 8 - length}"
        raise InputError(what, where=where[:200], expected=_WHOLE)
    return Weights(end, parameters)


def _described(tensor: Any) -> tuple[int, list[int], list[int]]:
    """Bits of one number, shape and place of a tensor; an empty place for what is none."""
    told = table(tensor)
    shape, span = told.get("shape"), told.get("data_offsets")
    plain = [
        isinstance(one, list) and len(one) <= _DIMENSIONS and all(type(n) is int and 0 <= n < 2**48 for n in one)
        for one in (shape, span)
    ]
    kind = word(told, "dtype")
    sized = _BITS.fullmatch(kind)
    if not all(plain) or not (sized or kind == "BOOL"):
        return 0, [], []
    return int(sized[1]) if sized else 8, items(shape), items(span)


def _indexed(path: Path) -> Weights:
    """The shards that an index names, where all lie beside it; else the sum that it states."""
    body = _json(_all(path), str(path))
    names = sorted(set(strings([*table(body.get("weight_map")).values()])))
    shards = [path.parent / name for name in names if Path(name).name == name and not name.endswith(".index.json")]
    if shards and len(shards) == len(names) <= _SHARDS and all(shard.is_file() for shard in shards):
        found = [weigh(str(shard)) for shard in shards]
        return Weights(sum(one.bytes for one in found), sum(one.parameters for one in found))
    stated = table(body.get("metadata")).get("total_size")
    if type(stated) is not int or not 0 < stated < 2**60:
        raise InputError("states no total_size, and not all shards are beside it", where=str(path)[:200])
    return Weights(stated, note="the index states the size, and not all of its files are here")


class _Header:
    """Reads GGUF's values one after the other, up to a limit."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._left = stream, _LIMIT

    def take(self, count: int) -> bytes:
        """The next bytes.

        Raises:
            struct.error: where the file or the limit ends before.
        """
        raw = self._stream.read(count) if 0 <= count <= self._left else b""
        if len(raw) != count:
            raise struct.error
        self._left -= count
        return raw

    def number(self, form: str) -> Any:
        """A plain value."""
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def text(self) -> str:
        """A text."""
        return self.take(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """A value of a kind; of an array of texts, which only a tokenizer has, nothing is kept."""
        if kind == 8:
            return self.text()
        if kind != 9:
            return self.number(self._form(kind))
        inner, count = self.number("I"), self.number("Q")
        if inner != 8:
            form = self._form(inner)
            return list(struct.unpack(f"<{count}{form}", self.take(count * struct.calcsize(f"<{form}"))))
        for _ in range(min(count, _LIMIT)):
            self.take(self.number("Q"))
        return None

    def tensor(self) -> tuple[int, int, int]:
        """What is told of a tensor: its elements, type and offset."""
        dimensions = self.number("I")
        if dimensions > _DIMENSIONS:
            raise struct.error
        count = math.prod(self.number("Q") for _ in range(dimensions))
        return count, self.number("I"), self.number("Q")

    def _form(self, kind: int) -> str:
        if kind not in _PLAIN:
            raise struct.error
        return _PLAIN[kind]


def _gguf(stream: BinaryIO, size: int, where: str) -> Weights:
    head = _Header(stream)
    head.take(4)
    version, tensors, pairs = head.number("I"), head.number("Q"), head.number("Q")
    if version not in {2, 3}:
        raise InputError(f"is GGUF of version {version}", where=where[:200], expected="version 2 or 3")
    values: dict[str, Any] = {}
    for _ in range(min(pairs, _LIMIT)):
        _put(values, head.text(), lambda: head.value(head.number("I")), where)
    step = values.get("general.alignment", 32)
    if type(step) is not int or not 0 < step < 2**20:
        raise InputError("its alignment is no number of bytes", where=where[:200], expected=_WHOLE)
    placed: dict[str, tuple[int, int, int]] = {}  # elements, type, offset
    for _ in range(min(tensors, _LIMIT)):
        _put(placed, head.text(), head.tensor, where)
    blocks = [(*placed[name], name, _BLOCKS.get(placed[name][1])) for name in placed]
    spans = [(begin, -(-count // block[0]) * block[1], name) for count, _, begin, name, block in blocks if block]
    room = size - -(-stream.tell() // step) * step
    known = len(spans) == len(placed)
    end = _end(spans, where, step) if known else max(begin for _, _, begin, *_ in blocks) + 1
    if not 0 < end <= room:
        what = f"its tensors end at byte {end} of the data, which has {max(room, 0)}"
        raise InputError(what, where=where[:200], expected=_WHOLE)
    notes = ["one of several files"] if values.get("split.count", 1) != 1 else []
    notes += [] if known else ["types of its tensors are not known: the size of the file was taken"]
    total = sum(length for _, length, _ in spans) if known else room
    return Weights(total, min(sum(count for count, *_ in blocks), 2**60), _as_config(values), "; ".join(notes))


def _put(into: dict[str, Any], name: str, read: Callable[[], Any], where: str) -> None:
    """What is read of a name, which no file may have twice."""
    if name in into:
        raise InputError(f"names {name[:60]!r} twice", where=where[:200], expected=_WHOLE)
    into[name] = read()


_FIELDS: Final = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.shared_kv_layers": "num_kv_shared_layers",
    "attention.kv_lora_rank": "kv_lora_rank",
    "rope.dimension_count": "qk_rope_head_dim",
    "full_attention_interval": "full_attention_interval",
    "ssm.inner_size": "ssm_inner_size",
    "ssm.state_size": "ssm_state_size",
}


def _as_config(values: dict[str, Any]) -> dict[str, Any]:
    """The fields of a GGUF file by the names that ``config.json`` has for them."""
    kind = values.get("general.architecture")
    found = {"model_type": kind, **{name: values.get(f"{kind}.{key}") for key, name in _FIELDS.items()}}
    heads, slides = found["num_key_value_heads"], values.get(f"{kind}.attention.sliding_window_pattern")
    if isinstance(heads, list):  # a number per layer, 0 where it is no attention
        found["layer_types"] = ["full_attention" if one else "linear_attention" for one in heads]
    if isinstance(slides, list):
        found["layer_types"] = ["sliding_attention" if one else "full_attention" for one in slides]
        if isinstance(heads, list):
            pairs = list(zip(heads, slides, strict=False))
            found["num_key_value_heads"] = [count for count, one in pairs if one]
            found["num_global_key_value_heads"] = [count for count, one in pairs if not one]
    if width := values.get(f"{kind}.attention.key_length_swa"):
        found |= {"global_head_dim": found["head_dim"], "head_dim": width}
    return {name: value for name, value in found.items() if value is not None}
