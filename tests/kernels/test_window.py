"""Windows and their sources: the ground that every reader stands on."""

import io
import os
import subprocess
import sys
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.kernels import window
from compat.kernels.window import CutShortError, Memory, Problems, Stream, Window, opened


class Dripping(io.BytesIO):
    """A raw file that gives three bytes at a time."""

    def read(self, size=-1):
        return super().read(min(size, 3) if size >= 0 else 3)


@given(st.binary(max_size=50), st.integers(-5, 60), st.integers(-5, 60))
def test_every_source_gives_the_same_or_refuses(data, offset, count):
    expected = data[offset : offset + count] if offset >= 0 and count >= 0 and offset + count <= len(data) else None
    for source in (Memory(data), Stream(io.BytesIO(data)), Stream(Dripping(data))):
        try:
            assert Window(source).read(offset, count) == expected
        except CutShortError:
            assert expected is None


@given(st.binary(max_size=50), st.integers(-5, 60), st.integers(-5, 60), st.integers(-5, 60), st.integers(-5, 60))
def test_parts_of_parts_stay_within(data, a, b, c, d):
    inner = Window(Memory(data)).part(a, b).part(c, d)
    start = min(max(a, 0), len(data))
    outer = data[start : start + max(b, 0)]
    begin = min(max(c, 0), len(outer))
    assert inner.head(99) == outer[begin : begin + max(d, 0)]
    assert inner.size == len(inner.head(99))


def test_a_file_on_disk_and_an_empty_one(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "empty").write_bytes(b"")
    with opened(tmp_path / "a") as found:
        assert (found.size, found.read(2, 3), found.find(b"78"), found.text(7)) == (10, b"234", 7, "789")
    with opened(tmp_path / "empty") as found:
        assert (found.size, found.head(5), found.find(b"x")) == (0, b"", -1)


def test_where_there_is_no_reading_at_offsets_files_are_mapped(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "pread")
    (tmp_path / "a").write_bytes(b"0123456789")
    (tmp_path / "empty").write_bytes(b"")
    with opened(tmp_path / "a") as found:
        assert (found.read(2, 3), found.find(b"78")) == (b"234", 7)
    with opened(tmp_path / "empty") as found:
        assert found.size == 0


def test_a_file_that_shrinks_while_open_is_an_error_and_no_crash(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(bytes(100_000))
    with opened(path) as found:
        os.truncate(path, 10)
        with pytest.raises(CutShortError, match="ended while"):
            found.read(50_000, 8)


def test_searching_in_steps_finds_what_lies_across_them(monkeypatch):
    monkeypatch.setattr(window, "_CHUNK", 4)
    monkeypatch.setattr(window, "_FIRST_STEP", 2)
    data = b"abcdefghijklmnop"
    for start in range(len(data)):
        for size in (1, 2, 5):
            needle = data[start : start + size]
            assert Window(Stream(io.BytesIO(data))).find(needle) == start
    assert Window(Stream(io.BytesIO(data))).part(2, 6).find(b"hi") == -1


def test_structures_are_unpacked_or_refused():
    found = Window(Memory(b"\1\0\2\0\0\0"))
    assert found.unpack(Struct("<HI"), 0) == (1, 2)
    with pytest.raises(CutShortError, match="6 bytes at 0x1"):
        found.unpack(Struct("<HI"), 1)


def test_text_ends_with_nul_or_with_the_window():
    found = Window(Memory(b"abc\0def\xff"))
    assert [found.text(0), found.text(4), found.text(1, 1), found.text(99)] == ["abc", "def\ufffd", "b", ""]


def test_complaints_are_kept_short():
    problems = Problems()
    for number in range(1000):
        problems.add(f"place {number}")
        problems.add("place 0")
    texts = problems.texts()
    assert texts[:2] == ("place 0", "place 1")
    assert len(texts) == 9
    assert "more such places" in texts[-1]
    assert Problems().texts() == ()


def test_importing_the_package_loads_no_reader_of_archives():
    code = "import compat.kernels, sys; print([m for m in ('zipfile', 'tarfile', 'requests', 'packaging') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
