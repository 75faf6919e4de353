"""The head of a ZSTD frame: only the beginning is read and kept, and damage is told in words."""

import random
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.kernels import bundle, zstd
from compat.kernels.window import CutShortError, Problems, Window

library = zstd.library()
assert library, "backports.zstd is a requirement of the package"

NOISE = random.Random(7).randbytes(600_000)  # what cannot be made smaller: as many bytes packed as plain
FRAME = library.compress(NOISE)


def words(seed, size):
    """Repetitive text that a seed determines."""
    rnd = random.Random(seed)
    some = [rnd.randbytes(rnd.randrange(1, 30)) for _ in range(20)]
    return b"".join(rnd.choice(some) for _ in range(size // 15))


@settings(max_examples=40)
@given(
    st.one_of(st.binary(max_size=600), st.builds(words, st.integers(0, 50), st.integers(0, 150_000))),
    st.sampled_from([-5, 1, 3, 9, 19]),
    st.sampled_from([1, 100, 16384, 1 << 20]),
    st.booleans(),
)
def test_the_head_is_what_went_in(make, plain, level, limit, more):
    behind = b"what lies behind the frame" * 50 if more else b""
    assert zstd.head(make.window(library.compress(plain, level) + behind), limit) == plain[:limit]


@pytest.mark.skipif(not shutil.which("zstd"), reason="the zstd program is not installed")
@pytest.mark.parametrize(
    "options", [["--fast=5"], ["-19", "--check"], ["-1", "--long=27"], ["-1", "--no-content-size"]]
)
def test_frames_of_the_program(make, options):
    plain = words(3, 300_000)
    packed = subprocess.run(["zstd", *options, "-c", "-q"], input=plain, check=True, capture_output=True).stdout
    assert zstd.head(make.window(packed), 20_000) == plain[:20_000]


def test_only_the_beginning_of_a_frame_is_read(make):
    guard = make.guard(FRAME)
    assert zstd.head(Window(guard), 16384) == NOISE[:16384]
    assert guard.bytes <= 160 << 10  # a block is unpacked as one, and is 128 KiB at most
    assert len(FRAME) > 3 * guard.bytes


def test_a_small_frame_that_unpacks_to_gigabytes_costs_its_head(make):
    """What it holds is 2 GiB of one byte: kilobytes packed, and nobody has the memory for it."""
    run = (0xFFFF * 2 << 3 | 1 << 1).to_bytes(3, "little") + b"z"  # a block: one byte, 131070 times
    frame = zstd.MAGIC + bytes([0, 17 << 3]) + run * 16384
    assert zstd.head(make.window(frame), 1 << 14) == b"z" * (1 << 14)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "breaks off after 0 bytes"),
        (FRAME[:3], "breaks off after 3 bytes"),
        (library.compress(words(1, 90_000))[:900], "breaks off after 900 bytes"),
        (b"not a frame", "damaged: .*frame"),
        (zstd.MAGIC + bytes([0, 31 << 3]) + bytes(30), "too much memory"),
        (zstd.MAGIC + b"\x01" + bytes([17 << 3]) + b"\x07" + bytes(30), "damaged: .*[Dd]ictionary"),
    ],
    ids=["empty", "magic", "block", "other", "window", "dictionary"],
)
def test_what_cannot_be_read_is_told(make, data, said):
    with pytest.raises(CutShortError, match=said):
        zstd.head(make.window(data), 1 << 14)


def test_damage_behind_the_head_does_not_matter_and_damage_in_it_is_told(make):
    broken = bytearray(library.compress(words(1, 900_000)))
    broken[-2000:-1500] = bytes(500)
    assert zstd.head(make.window(bytes(broken)), 1 << 14) == words(1, 900_000)[: 1 << 14]
    broken[20:500] = b"\xff" * 480
    with pytest.raises(CutShortError, match="damaged"):
        zstd.head(make.window(bytes(broken)), 1 << 14)


@given(st.binary(max_size=400), st.lists(st.tuples(st.integers(0, 999), st.integers(0, 255)), max_size=4))
def test_noise_and_flipped_bytes_are_an_error_or_other_bytes(make, noise, flips):
    flipped = bytearray(library.compress(words(2, 30_000)))
    for at, value in flips:
        flipped[at % len(flipped)] = value
    for data in (zstd.MAGIC + noise, bytes(flipped)):
        try:
            assert len(zstd.head(make.window(data), 4096)) <= 4096
        except CutShortError as error:
            assert "ZSTD" in str(error)


def test_a_bundle_says_what_to_install_where_nothing_unpacks_it(make, monkeypatch):
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    problems = Problems()
    plain = make.bundle("hipv4-amdgcn-amd-amdhsa--gfx90a")
    data = make.compressed(plain, method=1, packed=library.compress(plain))
    assert [*bundle.targets(make.window(data), problems)] == []
    assert "pip install backports.zstd" in problems.texts()[0]
