"""The ZSTD decoder against frames that the reference encoder wrote."""

import json
import random
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.kernels import zstd
from compat.kernels.window import CutShortError

FRAMES = json.loads((Path(__file__).parent / "data" / "zstd.json").read_text())["frames"]


def text(seed, size, alphabet):
    """Repetitive text that a seed determines."""
    rnd = random.Random(seed)
    words = [bytes(rnd.randrange(alphabet) for _ in range(rnd.randrange(1, 30))) for _ in range(20)]
    return b"".join(rnd.choice(words) for _ in range(size // 15))


@pytest.mark.parametrize("frame", FRAMES, ids=[f"{f['seed']}-level{f['level']}" for f in FRAMES])
@pytest.mark.parametrize("limit", [1, 100, 4096, 1 << 20])
def test_recorded_frames_come_out_as_they_went_in(make, frame, limit):
    plain = text(frame["seed"], frame["size"], frame["alphabet"])
    assert zstd.head(make.window(bytes.fromhex(frame["frame"])), limit) == plain[:limit]


@pytest.mark.skipif(not shutil.which("zstd"), reason="the zstd program is not installed")
@settings(max_examples=25)
@given(
    pieces=st.lists(
        st.one_of(st.binary(max_size=300), st.tuples(st.binary(min_size=1, max_size=9), st.integers(1, 5000))),
        max_size=8,
    ),
    level=st.sampled_from(["--fast=5", "-1", "-3", "-9", "-19"]),
    limit=st.sampled_from([1, 64, 16384, 1 << 20]),
)
def test_any_frame_of_the_reference_encoder(make, pieces, level, limit):
    plain = b"".join(piece if isinstance(piece, bytes) else piece[0] * piece[1] for piece in pieces)
    packed = subprocess.run(
        ["zstd", level, "-c", "-q", "--no-check"], input=plain, check=True, capture_output=True
    ).stdout
    assert zstd.head(make.window(packed), limit) == plain[:limit]


def test_only_the_beginning_of_a_frame_is_read(make):
    frame = max(FRAMES, key=lambda frame: len(frame["frame"]))
    guard = make.guard(bytes.fromhex(frame["frame"]))
    zstd.head(type(make.window(b""))(guard), 16)
    assert guard.bytes <= guard.size


@given(st.data())
def test_damage_is_an_error_or_other_bytes_never_a_crash(make, data):
    frame = bytearray.fromhex(data.draw(st.sampled_from(FRAMES))["frame"])
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(frame)))
    with suppress(zstd.ZstdError, CutShortError):
        assert len(zstd.head(make.window(bytes(frame[:cut])), 16384)) <= 16384


@given(st.binary(max_size=400))
def test_noise_behind_the_magic_is_an_error_or_other_bytes(make, noise):
    with suppress(zstd.ZstdError, CutShortError):
        zstd.head(make.window(zstd.MAGIC + noise), 4096)


@pytest.mark.parametrize("data", [b"", b"\x28\xb5", b"not a frame"])
def test_what_is_no_frame_is_said(make, data):
    with pytest.raises(zstd.ZstdError, match="no ZSTD frame"):
        zstd.head(make.window(data), 10)
