"""Wheels that are read where they lie: the same answer as from the files unpacked, each byte decompressed once."""

from __future__ import annotations

import io
import random
import threading
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.errors import CannotCheckError
from compat.kernels import inflate, inspect, inspect_file
from compat.kernels.fatbin import Headers
from compat.kernels.inflate import Inflater
from compat.kernels.window import Window

ARCHES = (70, 75, 80, 86, 89, 90, 100, 120)


class Far:
    """A source that notes what it was told to expect, and what was read before that."""

    def __init__(self, data):
        self.data, self.size, self.expected, self.unforeseen = data, len(data), [], 0

    def expect(self, offset, count):
        self.expected.append((offset, offset + count))

    def read_at(self, offset, count):
        if not any(start <= offset and offset + count <= stop for start, stop in self.expected):
            self.unforeseen += count
        return self.data[offset : offset + count]


def library(make, seed, *, containers=40, size=100_000):
    """A library whose kernels lie far apart, and the targets that were laid into it."""
    rnd, told, section = random.Random(seed), set(), b""
    for _ in range(containers):
        arches = rnd.sample(ARCHES, rnd.randint(1, 4))
        told |= {f"sm_{arch}" for arch in arches} | {f"compute_{arches[0]}"}
        payload = rnd.randbytes(size // 2) + bytes(size // 2)
        entries = [make.entry(2, arch, payload=payload) for arch in arches]
        section += make.container(*entries, make.entry(1, arches[0], version=(8, 0), payload=bytes(8)))
    text = rnd.randbytes(3000) + b"\x50\xed\x55\xba" + rnd.randbytes(5000)  # the magic alone is no container
    return make.elf([(".text", text), (".nv_fatbin", section)], needed=["libcudart.so.12"]), told


@pytest.fixture(scope="module")
def wheel(make):
    """A wheel of three libraries and what is in them: name -> targets."""
    out, told = io.BytesIO(), {}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name in enumerate(("big/lib/libbig.so", "big/_C.cpython-312-x86_64-linux-gnu.so")):
            data, told[name] = library(make, number)
            archive.writestr(name, data)
        archive.writestr("big/lib/libplain.so.1", make.elf([(".text", bytes(9_000_000))]))
        archive.writestr("big/lib/libdata.bin", random.Random(1).randbytes(300_000))
    return out.getvalue(), told


def test_the_answer_is_that_of_the_unpacked_files_and_what_was_laid_in(wheel, tmp_path):
    data, told = wheel
    zipfile.ZipFile(io.BytesIO(data)).extractall(tmp_path)
    found = inspect_file(Window(Far(data)), "big.whl")
    assert found.objects == inspect(tmp_path).objects
    assert {code.path: set(code.images) for code in found.objects if code.images} == told
    assert found.complete


def test_each_byte_is_decompressed_once_and_announced_before_it_is_read(wheel, monkeypatch):
    data, _ = wheel
    monkeypatch.setattr(inflate, "CHUNK", 64 << 10)
    made, plain = [], Inflater._inflate
    monkeypatch.setattr(Inflater, "_inflate", lambda self: made.append(plain(self)) or made[-1])
    source = Far(data)
    inspect_file(Window(source), "big.whl")
    sizes = [item.file_size for item in zipfile.ZipFile(io.BytesIO(data)).infolist() if ".so" in item.filename]
    assert sum(sizes) <= sum(map(len, made)) <= 1.1 * sum(sizes)  # a few places are looked up again
    assert len(source.expected) == 3
    assert source.unforeseen < 1 << 20


def test_two_libraries_are_decompressed_at_once_and_a_fault_of_either_is_told(wheel, monkeypatch):
    data, _ = wheel
    meeting, plain = threading.Barrier(2), Inflater.read_at

    def read_at(self, offset, count):
        if offset == 0 and count > 4:
            meeting.wait(timeout=20)  # each waits here until the other has come
            monkeypatch.setattr(Inflater, "read_at", plain)
        return plain(self, offset, count)

    monkeypatch.setattr(Inflater, "read_at", read_at)
    assert inspect_file(Window(Far(data)), "big.whl").complete
    monkeypatch.setattr(Inflater, "read_at", lambda *_: (_ for _ in ()).throw(CannotCheckError("the link is gone")))
    with pytest.raises(CannotCheckError, match="the link is gone"):
        inspect_file(Window(Far(data)), "big.whl")


def test_what_is_no_library_of_linux_is_not_announced(make):
    """Headers of Windows' and macOS' libraries stand in front: most of such a wheel need not travel."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/_C.abi3.so", b"\xcf\xfa\xed\xfe" + random.Random(2).randbytes(3 << 20))
        archive.writestr("a/_C.pyd", make.pe([(".text", bytes(9000))]))
    source = Far(out.getvalue())
    inspect_file(Window(source), "a.whl")
    assert source.expected == []


pieces = st.lists(
    st.one_of(
        st.binary(max_size=90),
        st.just(b"\x50\xed\x55\xba"),
        st.tuples(st.sampled_from(ARCHES), st.sampled_from([8, 64, 700]), st.sampled_from([None, 0, 10, 1 << 40])),
    ),
    max_size=12,
)


@given(pieces=pieces, cut=st.integers(1, 900))
@settings(max_examples=150)
def test_headers_that_are_kept_are_the_bytes_that_stand_there(make, pieces, cut):
    """Whatever the stream holds and however it is cut, containers that lie about their size included."""
    data = b"".join(
        item if isinstance(item, bytes) else make.container(
            make.entry(2, item[0], payload=bytes(item[1])), make.entry(1, item[0]), claim=item[2]
        )
        for item in pieces
    )  # fmt: skip
    headers = Headers(len(data))
    for at in range(0, len(data), cut):
        headers.pass_by(at, data[at : at + cut])
    assert all(data[at : at + len(kept)] == kept for at, kept in headers.kept.items())
    honest = [item for item in pieces if not isinstance(item, bytes) and item[2] is None]
    if len(honest) == len(pieces):
        assert len(headers.kept) == 3 * len(honest)  # of each container its own header and those of two entries


def test_a_stream_full_of_headers_fills_no_memory():
    headers, data = Headers(1 << 40), b"\x50\xed\x55\xba" * 100_000
    for number in range(20):
        headers.pass_by(number * len(data), data)
    assert len(headers.kept) <= Headers._MOST
