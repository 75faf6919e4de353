"""What model files say of their weights: whole ones to the byte, hostile ones refused and never believed."""

import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.errors import InputError
from compat.sources.weights import read_config, weigh

WIDTHS = {"F32": 4, "BF16": 2, "F16": 2, "I8": 1, "F8_E4M3": 1}


def safetensors(tensors, *, cut=0, length=None, metadata=True):
    """The bytes of a safetensors file with tensors of (dtype, shape)."""
    header, place = {"__metadata__": {"format": "pt"}} if metadata else {}, 0
    for number, (kind, shape) in enumerate(tensors):
        size = WIDTHS[kind]
        for one in shape:
            size *= one
        header[f"t{number}"] = {"dtype": kind, "shape": list(shape), "data_offsets": [place, place + size]}
        place += size
    text = json.dumps(header).encode()
    raw = struct.pack("<Q", len(text) if length is None else length) + text + bytes(place)
    return raw[: len(raw) - cut]


BLOCKS = {0: (1, 4), 1: (1, 2), 8: (32, 34), 12: (256, 144)}  # F32, F16, Q8_0, Q4_K


def gguf(values, tensors, *, version=3, cut=0, names=None, shift=0, align=32):
    """The bytes of a GGUF file: values of (kind, packed), tensors of (shape, kind); the last of them moved."""

    def text(word):
        return struct.pack("<Q", len(word)) + word.encode()

    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    for key, (kind, packed) in values.items():
        head += text(key) + struct.pack("<I", kind) + packed
    place = end = 0
    for number, (shape, kind) in enumerate(tensors):
        head += text((names or {}).get(number, f"t{number}"))
        head += struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        head += struct.pack("<IQ", kind, place + (shift if number + 1 == len(tensors) else 0))
        elements, size = BLOCKS.get(kind, (1, 1))
        end = place + math.prod(shape) // elements * size
        place = -(-end // align) * align
    raw = head + bytes(-len(head) % align) + bytes(end)
    return raw[: len(raw) - cut]


@pytest.fixture
def file(tmp_path):
    """A file with some bytes; returns its path."""

    def write(raw, name="model.safetensors"):
        path = tmp_path / name
        path.write_bytes(raw if isinstance(raw, bytes) else json.dumps(raw).encode())
        return str(path)

    return write


shapes = st.lists(st.integers(1, 6), max_size=3).map(tuple)
models = st.lists(st.tuples(st.sampled_from(sorted(WIDTHS)), shapes), min_size=1, max_size=6)


@given(models)
def test_a_whole_file_weighs_what_its_tensors_do(tmp_path_factory, tensors):
    path = tmp_path_factory.mktemp("m") / "model.safetensors"
    path.write_bytes(safetensors(tensors))
    counts = [(WIDTHS[kind], math.prod(shape)) for kind, shape in tensors]
    count, total = sum(one for _, one in counts), sum(width * one for width, one in counts)
    found = weigh(str(path))
    assert (found.bytes, found.parameters) == (total, count)


@given(models, st.integers(1, 40))
def test_a_file_that_is_cut_off_is_refused(tmp_path_factory, tensors, cut):
    raw = safetensors(tensors)
    path = tmp_path_factory.mktemp("m") / "model.safetensors"
    path.write_bytes(raw[: max(len(raw) - cut, 0)])
    with pytest.raises(InputError):
        weigh(str(path))


@given(st.binary(max_size=300), st.sampled_from([b"", b"GGUF", b"GGUF\3\0\0\0", struct.pack("<Q", 40) + b'{"t":']))
def test_bytes_of_any_kind_end_in_an_answer_or_a_refusal(tmp_path_factory, raw, head):
    path = tmp_path_factory.mktemp("m") / "model"
    path.write_bytes(head + raw)
    try:
        found = weigh(str(path))
    except InputError:
        return
    assert 0 < found.bytes <= len(head + raw)


def tensor(**more):
    return {"t": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4], **more}}


HOSTILE = {
    "a length beyond the file": safetensors([("F16", (2,))], length=2**63),
    "a length of nothing": safetensors([("F16", (2,))], length=0),
    "no JSON": struct.pack("<Q", 8) + b"not json" + bytes(8),
    "JSON that nests for ever": struct.pack("<Q", 20000) + b"[" * 20000,
    "a list": struct.pack("<Q", 2) + b"[]" + bytes(8),
    "no tensors": struct.pack("<Q", 2) + b"{}" + bytes(8),
    "a tensor behind the end": tensor(data_offsets=[0, 2**40]),
    "a tensor that ends before it begins": tensor(data_offsets=[4, 0]),
    "a negative offset": tensor(data_offsets=[-4, 4]),
    "offsets that are no numbers": tensor(data_offsets=["0", True]),
    "a tensor that is a text": {"t": "x"},
    "tensors that overlap": {f"t{n}": tensor()["t"] for n in range(9)},
    "a name twice": b'{"t": %(t)s, "t": %(t)s}'
    % {b"t": json.dumps(tensor(shape=[8], data_offsets=[0, 16])["t"]).encode()},
    "a field twice": b'{"t": {"dtype": "F16", "shape": [8], "data_offsets": [0, 16], "shape": [8]}}',
    "a shape that its place contradicts": tensor(shape=[7], data_offsets=[0, 16]),
    "a type that its place contradicts": tensor(shape=[8], data_offsets=[0, 16], dtype="F32"),
    "a type of no size": tensor(shape=[8], data_offsets=[0, 16], dtype="half"),
    "bytes before the first tensor": tensor(shape=[4], data_offsets=[8, 16]),
    "bytes behind the last tensor": tensor(shape=[4], data_offsets=[0, 8]),
    "GGUF of another version": gguf({}, [((8,), 0)], version=9),
    "GGUF cut off": gguf({}, [((8,), 0), ((8,), 0)], cut=9),
    "GGUF with a name twice": gguf({}, [((8,), 0), ((8,), 0)], names={1: "t0"}),
    "GGUF with tensors that overlap": gguf({}, [((16,), 0), ((8,), 0)], shift=-32),
    "GGUF with a tensor behind the end": gguf({}, [((8,), 0), ((8,), 0)], shift=32),
    "GGUF with a tensor far behind the end": gguf({}, [((8,), 99)], shift=2**62),
    "GGUF without a tensor": gguf({}, []),
    "GGUF with a key twice": gguf({"aa": (4, bytes(4)), "zz": (4, bytes(4))}, [((8,), 0)]).replace(b"zz", b"aa"),
    "GGUF that aligns to nothing": gguf({"general.alignment": (4, bytes(4))}, [((8,), 0)]),
    "GGUF that claims many values": b"GGUF" + struct.pack("<IQQ", 3, 1, 2**60),
    "GGUF with a text of all memory": b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 2**62) + b"k",
    "GGUF with an array of all memory": gguf({"a": (9, struct.pack("<IQ", 4, 2**60))}, []),
    "GGUF with a value of no kind": gguf({"a": (99, b"")}, []),
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_a_header_that_lies_is_refused(file, raw):
    if isinstance(raw, dict):
        raw = json.dumps(raw).encode()
    if raw.startswith(b'{"'):
        raw = struct.pack("<Q", len(raw)) + raw + bytes(16)
    with pytest.raises(InputError):
        weigh(file(raw))


def word(text):
    return 8, struct.pack("<Q", len(text)) + text.encode()


def number(value):
    return 4, struct.pack("<I", value)


def test_gguf_tells_its_weights_and_the_fields_of_a_config(file):
    values = {
        "general.architecture": word("llama"),
        "tokenizer.ggml.tokens": (
            9,
            struct.pack("<IQ", 8, 2) + struct.pack("<Q", 1) + b"a" + struct.pack("<Q", 2) + b"bc",
        ),
        "tokenizer.ggml.scores": (9, struct.pack("<IQ2f", 6, 2, 0.5, 1.5)),
        "llama.block_count": number(32),
        "llama.embedding_length": number(4096),
        "llama.attention.head_count": number(32),
        "llama.attention.head_count_kv": number(8),
    }
    found = weigh(file(gguf(values, [((4, 8), 8), ((3,), 1), ((256,), 12)]), "model.gguf"))
    assert (found.bytes, found.parameters, found.note) == (34 + 6 + 144, 291, "")
    assert found.config == {
        "model_type": "llama",
        "num_hidden_layers": 32,
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    }


def test_one_of_several_gguf_files_says_so(file):
    raw = gguf({"split.count": (2, struct.pack("<H", 3))}, [((2,), 1)])
    assert weigh(file(raw, "model-00001-of-00003.gguf")).note == "one of several files"


def test_a_gguf_file_with_a_type_that_nobody_knew_is_as_large_as_what_it_holds(file):
    found = weigh(file(gguf({"general.alignment": (4, struct.pack("<I", 64))}, [((64,), 99)], align=64), "model.gguf"))
    assert (found.bytes, found.parameters) == (64, 64)
    assert "not known" in found.note


def test_an_index_is_the_sum_of_its_shards_or_what_it_states(file):
    index = {"metadata": {"total_size": 999}, "weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}
    path = file(index, "model.safetensors.index.json")
    assert (weigh(path).bytes, weigh(path).note) == (
        999,
        "the index states the size, and not all of its files are here",
    )
    file(safetensors([("F16", (4,))]), "one.safetensors")
    file(safetensors([("F32", (3,))]), "two.safetensors")
    assert (weigh(path).bytes, weigh(path).parameters, weigh(path).note) == (20, 7, "")


@pytest.mark.parametrize(
    "index",
    [
        {},
        {"metadata": {"total_size": "9"}},
        {"metadata": {"total_size": -1}},
        {"metadata": {"total_size": True}},
        {"metadata": [], "weight_map": {"a": "../../etc/passwd"}},
        {"weight_map": {"a": 3}},
        {"weight_map": {"a": "model.safetensors.index.json"}},
    ],
)
def test_an_index_that_states_nothing_is_refused(file, index):
    with pytest.raises(InputError, match="total_size"):
        weigh(file(index, "model.safetensors.index.json"))


SIZES = {"13.5GiB": 13.5 * 2**30, "8 gb": 8e9, "24": 24 * 2**30, "512MiB": 2**29, "1TB": 1e12}


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_a_size_is_read(text, size):
    assert weigh(text).bytes == size


@pytest.mark.parametrize("text", ["0", "no-such-file", "GiB", "-3GiB", "."])
def test_what_is_neither_a_file_nor_a_size_is_refused(text):
    with pytest.raises(InputError):
        weigh(text)


def test_the_fields_of_a_language_model_come_before_those_around_it(file):
    body = {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 5}}
    assert read_config(file(body, "config.json"))["model_type"] == "gemma3_text"
    with pytest.raises(InputError, match="no JSON object"):
        read_config(file(b"[1]", "config.json"))
