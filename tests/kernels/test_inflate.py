"""Random access to deflated streams, against decompressing them whole."""

import gzip
import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.kernels import inflate
from compat.kernels.inflate import CHUNK, GZIP, Inflater
from compat.kernels.window import CutShortError, Window


@pytest.fixture(scope="module")
def plain():
    """Nine chunks of bytes that compress by half, so that states of the decompressor matter."""
    rnd = random.Random(4)
    return b"".join(rnd.randbytes(512) + bytes(rnd.randrange(1024)) for _ in range(2400))[: 9 * CHUNK + 1234]


def raw(data):
    """A raw deflate stream, as zip files have them."""
    engine = zlib.compressobj(6, zlib.DEFLATED, -15)
    return engine.compress(data) + engine.flush()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few chunks between states and few kept, so that small streams take every path."""
    monkeypatch.setattr(inflate, "_STATES", 2)
    monkeypatch.setattr(inflate, "_KEPT", 3)


def test_any_order_of_reading_gives_the_same_bytes(make, plain):
    source = Inflater(make.window(raw(plain)), len(plain), limit=1 << 30)
    rnd = random.Random(5)
    for _ in range(60):
        offset = rnd.randrange(len(plain))
        count = min(rnd.choice([1, 64, 5000, CHUNK, 2 * CHUNK + 3]), len(plain) - offset)
        assert source.read_at(offset, count) == plain[offset : offset + count]


def test_the_size_of_a_gzip_file_is_found_by_reading_it(make, plain):
    source = Inflater(make.window(gzip.compress(plain)), None, limit=1 << 30, form=GZIP)
    assert source.size == len(plain)
    assert source.read_at(len(plain) - 9, 9) == plain[-9:]
    assert source.read_at(0, 9) == plain[:9]


@given(data=st.binary(max_size=2000), places=st.lists(st.integers(0, 2100), max_size=5))
@settings(max_examples=60)
def test_small_streams(make, data, places):
    source = Inflater(make.window(raw(data)), len(data), limit=1 << 20)
    for place in places:
        assert source.read_at(place, 10) == data[place : place + 10]


def test_going_back_resumes_from_a_state_and_does_not_start_over(make, plain):
    guard = make.guard(raw(plain))
    source = Inflater(Window(guard), len(plain), limit=1 << 30)
    source.read_at(len(plain) - 10, 10)
    once = guard.bytes
    source.read_at(4 * CHUNK, 10)
    assert guard.bytes - once < once / 2


def test_a_stream_may_not_become_more_than_its_limit(make):
    bomb = raw(bytes(8 * CHUNK))
    with pytest.raises(CutShortError, match="claims to inflate"):
        Inflater(make.window(bomb), 8 * CHUNK, limit=CHUNK)
    with pytest.raises(CutShortError, match="more than"):
        Inflater(make.window(gzip.compress(bytes(8 * CHUNK))), None, limit=CHUNK, form=GZIP)


def test_a_stream_that_claims_too_much_is_short_and_no_hang(make, plain):
    source = Inflater(make.window(raw(plain[:1000])), 5 * CHUNK, limit=1 << 30)
    assert source.read_at(900, 200) == plain[900:1000]
    with pytest.raises(CutShortError, match="ended while"):
        Window(source).read(4 * CHUNK, 10)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damage_is_told(make, plain, damage):
    packed = bytearray(raw(plain))
    if damage == "cut":
        del packed[len(packed) // 2 :]
    else:
        packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    source = Inflater(make.window(bytes(packed)), len(plain), limit=1 << 30)
    assert source.read_at(0, 100) == plain[:100]
    with pytest.raises(CutShortError):
        Window(source).read(len(plain) - 100, 100)
