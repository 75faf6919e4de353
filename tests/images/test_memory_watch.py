"""Too little memory is told while it happens, and reading much is not taken for it: by figures of real containers."""

from __future__ import annotations

import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.build import outcome, parcel

MIB = 2**20
PAGE = os.sysconf("SC_PAGE_SIZE")
COLUMNS = ("at", "used", "room", "again", "faults", "own", "kernel")  # seconds, MiB three times, number, ticks twice

# jax 0.10.2 in 108 MiB: it never ended.
STUCK = [
    (5, 108, 83, 143, 48, 17, 15), (7, 106, 45, 236, 95, 45, 27), (9, 107, 46, 281, 129, 72, 32),
    (11, 107, 39, 317, 144, 115, 37), (13, 107, 26, 352, 166, 164, 43), (15, 107, 24, 550, 228, 189, 61),
    (17, 108, 10, 852, 369, 204, 86), (19, 108, 10, 1210, 498, 216, 109), (21, 108, 10, 1612, 641, 223, 135),
    (23, 108, 10, 2119, 806, 229, 170), (25, 107, 10, 2781, 1010, 229, 221), (27, 107, 10, 3182, 1145, 237, 251),
]  # fmt: skip
# The same in 160 MiB: a run of seconds took three minutes, or did not end in four.
CRAWLING = [
    (6, 159, 94, 219, 94, 106, 26), (8, 159, 80, 232, 98, 173, 31), (10, 159, 61, 331, 144, 219, 45),
    (12, 159, 56, 974, 546, 231, 119), (14, 159, 53, 1388, 758, 248, 156), (16, 159, 53, 1822, 982, 256, 200),
    (18, 160, 51, 2176, 1213, 286, 246), (20, 160, 48, 2567, 1445, 296, 293), (22, 159, 45, 3054, 1719, 307, 347),
    (24, 160, 43, 3447, 1896, 312, 385), (26, 159, 41, 3789, 2100, 323, 414), (28, 159, 41, 4009, 2273, 332, 440),
]  # fmt: skip
# A file of 600 MiB read in a circle in 256 MiB: by read(), searched through a mapping, one byte of each page of it.
READING = [
    (6, 250, 232, 0, 8, 14, 48), (8, 254, 236, 1696, 8, 17, 75), (10, 254, 236, 4015, 8, 19, 98),
    (12, 254, 236, 6447, 8, 20, 120), (14, 254, 236, 8638, 8, 23, 142), (16, 254, 236, 10958, 8, 24, 167),
    (18, 255, 236, 13233, 8, 27, 188), (20, 255, 236, 15632, 8, 28, 212), (22, 255, 236, 17532, 8, 29, 239),
    (24, 254, 236, 19507, 8, 30, 271), (26, 254, 236, 21810, 8, 30, 297), (28, 255, 236, 23842, 8, 32, 319),
]  # fmt: skip
SEARCHING = [
    (11, 255, 238, 12, 6, 105, 10), (13, 255, 238, 290, 11, 148, 18), (15, 255, 238, 596, 15, 190, 22),
    (17, 255, 237, 882, 16, 224, 30), (19, 255, 238, 1222, 24, 262, 37), (21, 255, 237, 1620, 27, 303, 49),
    (23, 254, 237, 2014, 31, 348, 58), (25, 255, 238, 2462, 34, 390, 66), (27, 255, 238, 2987, 42, 433, 71),
    (29, 251, 234, 3540, 53, 465, 83),
]  # fmt: skip
TOUCHING = [
    (8, 254, 236, 432, 21, 87, 24), (10, 254, 236, 1530, 37, 104, 52), (12, 255, 237, 2423, 51, 128, 75),
    (14, 255, 237, 3398, 67, 151, 103), (16, 255, 238, 4306, 75, 183, 122), (18, 256, 238, 5342, 94, 208, 146),
    (20, 255, 238, 6720, 118, 239, 186), (22, 255, 238, 7470, 129, 260, 207), (24, 254, 237, 8523, 137, 294, 221),
    (26, 255, 237, 9220, 150, 318, 239), (28, 255, 239, 9917, 153, 352, 249),
]  # fmt: skip


@pytest.fixture(scope="module")
def watching():
    sys.path.insert(0, str(parcel.FOLDER))
    try:
        import memory_watch
    finally:
        sys.path.remove(str(parcel.FOLDER))
    return memory_watch


def version2(root, limit, row):
    """The files as version 2 of the kernel's control groups has them."""
    (root / "memory.max").write_text(f"{limit * MIB}\n")
    (root / "memory.current").write_text(f"{row['used'] * MIB}\n")
    half = row["room"] * MIB // 2
    (root / "memory.stat").write_text(
        f"anon 1\nfile 2\ninactive_file {half}\nactive_file {half}\npgmajfault {row['faults']}\n"
        f"workingset_refault_anon 9\nworkingset_refault_file {row['again'] * MIB // PAGE}\n"
    )
    (root / "cpu.stat").write_text(f"usage_usec 1\nuser_usec {row['own']}0000\nsystem_usec {row['kernel']}0000\n")


def version1(root, limit, row):
    """The same as version 1 has them: the plain names count this group alone, without those inside it."""
    for name in ("memory", "cpuacct"):
        (root / name).mkdir(exist_ok=True)
    (root / "memory" / "memory.limit_in_bytes").write_text(f"{limit * MIB}\n")
    (root / "memory" / "memory.usage_in_bytes").write_text(f"{row['used'] * MIB}\n")
    (root / "memory" / "memory.stat").write_text(
        f"inactive_file 0\npgmajfault 0\nworkingset_refault_file 0\ntotal_inactive_file {row['room'] * MIB}\n"
        f"total_active_file 0\ntotal_pgmajfault {row['faults']}\n"
        f"total_workingset_refault_file {row['again'] * MIB // PAGE}\n"
    )
    (root / "cpuacct" / "cpuacct.stat").write_text(f"user {row['own']}\nsystem {row['kernel']}\n")


def told(watching, root, write, limit, rows, capsys):
    """When the watch spoke, and what it said."""
    watch, when = watching.Watch(str(root)), []
    for values in rows:
        row = dict(zip(COLUMNS, values, strict=True))
        write(root, limit, row)
        watch.look(float(row["at"]))
        when += [(row["at"], json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    return when


@pytest.mark.parametrize("write", [version1, version2])
@pytest.mark.parametrize(("limit", "rows", "by"), [(108, STUCK, 27), (160, CRAWLING, 28)])
def test_a_program_that_memory_keeps_from_making_way_is_told_once_and_within_seconds(
    watching, tmp_path, capsys, write, limit, rows, by
):
    ((at, event),) = told(watching, tmp_path, write, limit, rows, capsys)
    assert at <= by
    assert event["event"] == "note"
    assert f"the memory limit of {limit} MiB is reached" in event["text"]


@pytest.mark.parametrize("write", [version1, version2])
@pytest.mark.parametrize("rows", [READING, SEARCHING, TOUCHING], ids=["read", "search", "touch"])
def test_a_program_that_reads_more_than_fits_is_left_in_peace(watching, tmp_path, capsys, write, rows):
    assert told(watching, tmp_path, write, 256, rows, capsys) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [("used", 90), ("again", 400), ("faults", 200), ("own", None), ("room", 100)],
)
def test_every_one_of_the_signs_is_needed(watching, tmp_path, capsys, column, value):
    """With room left, nothing read again, no standing still, time for itself, or few pages of many: no word."""
    place = COLUMNS.index(column)
    rows = [
        (
            *row[:place],
            row[6] if value is None else min(row[place], value) if column != "room" else value,
            *row[place + 1 :],
        )
        for row in STUCK
    ]
    assert told(watching, tmp_path, version2, 108, rows, capsys) == []


@pytest.mark.parametrize("missing", ["cpu.stat", "memory.stat", "memory.max", "memory.current"])
def test_where_the_kernel_does_not_tell_nothing_is_said(watching, tmp_path, missing):
    watch = watching.Watch(str(tmp_path))
    for values in STUCK:
        version2(tmp_path, 108, dict(zip(COLUMNS, values, strict=True)))
        (tmp_path / missing).unlink()
        assert watch.weighed(watching.reading(str(tmp_path)), float(values[0])) == ""


readings = st.lists(st.tuples(*(st.integers(0, 4000) for _ in COLUMNS[1:])).map(sorted), min_size=1, max_size=30)


@given(readings)
def test_whatever_is_counted_a_short_time_says_nothing(watching, rows):
    watch = watching.Watch("/nowhere")
    names = ("limit", "used", "room", "again", "faults", "own", "kernel")
    for second, row in enumerate(rows[:10]):
        seen = dict(zip(names, (row[-1], row[-1], *row[:5]), strict=True))
        assert watch.weighed(seen, float(second)) == ""


NOTE = '{"event": "note", "text": "the memory limit of 108 MiB is reached"}'


@pytest.mark.parametrize(
    ("lines", "heard"),
    [
        ([NOTE], ["the memory limit of 108 MiB is reached"]),
        ([NOTE, NOTE, NOTE], ["the memory limit of 108 MiB is reached"]),
        (["x", "", '{"event": "note"}', '{"event": "note", "text": 3}', '["note"]', "{" * 5000], []),
        (['{"event": "note", "text": "' + "a" * 9000 + '"}'], ["a" * 400]),
        (['{"event": "probe", "name": "note", "status": "pass"}'], []),
    ],
)
def test_an_image_may_note_what_it_likes_and_is_heard_once(lines, heard):
    said = []
    listen = outcome.noted(said.append)
    for line in lines:
        listen(line)
    assert said == heard


def test_a_note_is_no_result():
    assert outcome.read([NOTE]) == ((), "")
