"""Files that were made to hurt: no crash, no byte beyond the end, no work beyond the number of headers."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.kernels import contents, inspect, inspect_file
from compat.kernels.window import CutShortError, Memory, Stream, Window

HIP = "hipv4-amdgcn-amd-amdhsa--"


def samples(make):
    """One well-formed file of each kind."""
    fat = make.container(make.entry(2, 80), make.entry(1, 90, header=80, version=(8, 7))) * 3
    hip = make.bundle(HIP + "gfx90a", HIP + "gfx1100", align=64)
    return {
        "lib.so": make.elf(
            [(".nv_fatbin", fat), (".hip_fatbin", hip)], needed=["libcudart.so.12", "libc10.so"], runpath=["$ORIGIN"],
            needs=[("libc.so.6", ["GLIBC_2.28", "GLIBC_2.2.5"])], symbols=[("_ZN3c105ErrorC2ESs", False)],
        ),
        "big-endian.so": make.elf([(".nv_fatbin", fat)], bits=32, endian=">", needed=["libc.so.6"]),
        "k.cubin": make.elf([(".nv.compat", bytes.fromhex("02090100"))], machine=190, flags=0x6005A04, abi=8),
        "k.hsaco": make.elf(machine=224, flags=0x53F, abi=2),
        "k.dll": make.pe([(".nv_fatb", fat)], imports=["cudart64_12.dll", "KERNEL32.dll"]),
        "k.fatbin": fat,
        "k.hipfb": hip,
        "k.co": make.compressed(hip, version=3) + make.compressed(hip, version=1),
        "lib.a": make.archive(("a.o", make.elf([("__nv_relfatbin", fat)], kind=1)), ("a_longer_name_than_16.o", hip)),
        "k.ptx": b".version 8.7\n.target sm_90a\n",
    }  # fmt: skip


def read(make, data, name):
    """Read through a source that watches every access; returns it."""
    guard = make.guard(data)
    for code in contents.read(Window(guard), name):
        assert all(isinstance(text, str) for text in (*code.targets, *code.needed, *code.unread))
    return guard


@given(data=st.data())
@settings(max_examples=400)
def test_any_damage_to_any_kind_of_file(make, data):
    files = samples(make)
    name = data.draw(st.sampled_from(sorted(files)))
    raw = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        value = data.draw(
            st.sampled_from(
                [b"\0", b"\xff", b"\x7f", b"\1", b"\0" * 8, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\x10\0\0\0"]
            )
        )
        raw[at : at + len(value)] = value
    cut = data.draw(st.one_of(st.just(len(raw)), st.integers(0, len(raw))))
    guard = read(make, bytes(raw[:cut]), name)
    assert guard.reads < 200 + 4 * len(raw)  # a file of n bytes has fewer than n headers


@given(st.sampled_from([b"\x7fELF\2\1\1", b"\x7fELF\1\2\1", b"MZ", b"\x50\xed\x55\xba", b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__",
                        b"!<arch>\n", b"PK\3\4", b"\x1f\x8b\x08", b""]), st.binary(max_size=600))  # fmt: skip
@settings(max_examples=300)
def test_noise_behind_any_magic(make, magic, noise):
    inspect_file(Window(make.guard(magic + noise)), "x")


@pytest.mark.parametrize("name", ["lib.so", "k.dll", "lib.a", "k.fatbin", "k.co", "k.hipfb"])
def test_every_cut_of_a_file_is_survived_and_told(make, name):
    whole = samples(make)[name]
    for size in range(0, len(whole), 7):
        read(make, whole[:size], name)


def test_only_headers_of_a_huge_library_are_read(make, tmp_path):
    """Five gigabytes, sparse on disk: two fat binaries with payloads of gigabytes, the section table at the very end."""
    big = 1 << 31
    first = make.container(make.entry(2, 80, claim=big, payload=b""), claim=64 + big)
    second = make.container(make.entry(2, 90, claim=big, payload=b""), claim=64 + big)
    size = 2 * (16 + 64 + big)
    head = bytearray(make.elf([(".nv_fatbin", b"")]))
    table_at = struct.unpack_from("<Q", head, 40)[0]
    tail = bytearray(head[64:])
    shift = size
    struct.pack_into("<Q", head, 40, table_at + shift)
    for number in range((len(tail) - (table_at - 64)) // 64):
        at = table_at - 64 + number * 64 + 24
        struct.pack_into("<Q", tail, at, struct.unpack_from("<Q", tail, at)[0] + (shift if number != 1 else 0))
    struct.pack_into("<QQ", tail, table_at - 64 + 64 + 24, 64, size)
    path = tmp_path / "libhuge.so"
    with path.open("wb") as file:
        file.write(head[:64] + first)
        file.seek(64 + 16 + 64 + big)
        file.write(second)
        file.seek(64 + size)
        file.write(tail)
    assert inspect(path).sass == ("sm_80", "sm_90")

    class Watched(Stream):
        total = 0

        def read_at(self, offset, count):
            Watched.total += count
            return super().read_at(offset, count)

    with path.open("rb") as file:
        found = inspect_file(Window(Watched(file)), "libhuge.so")
    assert found.sass == ("sm_80", "sm_90")
    assert Watched.total < 20_000


@pytest.mark.parametrize("count", [1000, 4000])
def test_work_grows_with_the_number_of_headers(make, count):
    whole = make.elf([(".nv_fatbin", make.container(make.entry(2, 80), make.entry(2, 90)) * count)])
    assert read(make, whole, "lib.so").reads < 8 * count + 100


def test_an_endless_supply_of_empty_images_ends(make, monkeypatch):
    monkeypatch.setattr(contents, "_MOST_IMAGES", 1000)
    entry = make.entry(2, 80, payload=b"")
    for data in (make.container(entry * 5000), make.container(entry) * 5000):
        (code,) = contents.read(make.window(data), "k.fatbin")
        assert sum(code.images.values()) <= 1000
        assert "more than 1000 images" in code.unread[0]


def test_headers_of_size_zero_do_not_turn_in_circles(make):
    zero = make.container(struct.pack("<HHIQ", 2, 0x101, 0, 0) + bytes(48)) * 50
    bundles = (b"CCOB\2\0\0\0" + bytes(8)) * 500
    members = b"!<arch>\n" + f"{'a/':<48}{'0':<10}`\n".encode() * 500
    for data, name in ((zero, "k.fatbin"), (bundles, "k.co"), (members, "lib.a")):
        assert read(make, data, name).reads < 100 * 500


def test_a_file_of_magics_is_searched_once(make):
    """Each place looks like a bundle and is none; searching on from each must not start over."""
    for data in ((b"CCOB" + b"\xee" * 57) * 4000, (b"__CLANG_OFFLOAD_BUNDLE__" + b"\xee" * 37) * 4000):
        guard = make.guard(data)
        (code,) = contents.read(Window(guard), "k.co")
        assert "more such places" in code.unread[-1]
        assert len(code.unread) < 12
        assert guard.bytes < 100 * len(data)


def test_a_window_cannot_be_left(make):
    inner = Window(Memory(b"0123456789")).part(2, 5)
    assert inner.read(0, 5) == b"23456"
    assert inner.head(99, 3) == b"56"
    assert inner.head(1, 99) == b""
    assert inner.part(3, 99).read(0, 2) == b"56"
    assert inner.part(-5, 2).read(0, 2) == b"23"
    assert (inner.find(b"6"), inner.find(b"7"), inner.find(b"1")) == (4, -1, -1)
    for offset, count in ((0, 6), (-1, 1), (5, 1), (0, -1), (1 << 70, 1)):
        with pytest.raises(CutShortError):
            inner.read(offset, count)


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=3), st.integers(0, 70))
def test_searching_a_stream_finds_what_searching_memory_finds(make, data, needle, start):
    assert Window(make.guard(data)).find(needle, start) == data.find(needle, start)


def test_a_file_that_shrinks_while_it_is_read_is_told(make):
    class Shrunk(Memory):
        def read_at(self, offset, count):
            return super().read_at(offset, min(count, 8))

    found = inspect_file(Window(Shrunk(samples(make)["lib.so"])), "lib.so")
    assert "ended while" in found.objects[0].unread[0]
