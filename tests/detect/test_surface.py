"""The surface of a machine: files that are gone, closed, no files, in circles or endless; programs, links and numbers."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.detect import root as surface
from compat.detect.machine import Machine
from compat.detect.root import Entry, Root
from compat.facts import Fact, Unknown
from compat.run import Outcome


def no_program(argv, **options):
    return Outcome(127)


@pytest.fixture
def tree(tmp_path):
    """A folder with one path of each kind."""
    (tmp_path / "file").write_bytes(b" text \n")
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b").touch()
    (tmp_path / "folder" / "a").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "gone").symlink_to("nothing")
    (tmp_path / "there").symlink_to("file")
    (tmp_path / "odd").symlink_to(os.fsdecode(b"\xff\xfe"))
    with socket.socket(socket.AF_UNIX) as peer:
        peer.bind(str(tmp_path / "socket"))
    return tmp_path


@pytest.fixture
def machine(tree):
    """A machine that is only that folder."""
    return Machine(Root(str(tree)), no_program, time.monotonic() + 5)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/file", " text \n"),
        ("/there", " text \n"),
        ("/latin", "caf\ufffd\n"),
        ("/empty", ""),
        ("/nothing", None),
        ("/gone", None),
        ("/file/below", None),
        ("/folder", "? not a regular file"),
        ("/pipe", "? not a regular file"),
        ("/socket", "? No such device or address"),
        ("/loop", "? Too many levels of symbolic links"),
        ("/one", "? Too many levels of symbolic links"),
        ("/" + "x" * 300, "? File name too long"),
    ],
)
def test_what_reading_a_path_tells(machine, path, told):
    reading = machine.read(path)
    if isinstance(reading, Unknown):
        assert f"? {reading.why}" == told.replace("? ", f"? {path}: ", 1)
    else:
        assert reading == Fact(told, path)
    assert machine.text(path) == ((told or "").strip() if not (told or "").startswith("?") else "")
    assert machine.data(path).decode("utf-8", "replace") == (told if told and told[0] != "?" else "")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/file", "file"),
        ("/there", "file"),
        ("/folder", "folder"),
        ("/pipe", "other"),
        ("/socket", "socket"),
        ("/loop", None),
        ("/gone", None),
        ("/nothing", None),
    ],
)
def test_kind_of_a_path_is_that_behind_its_links(machine, path, kind):
    entry = machine.entry(path)
    assert (entry.kind if entry else None) == kind
    assert machine.exists(path) is (kind is not None)


def test_devices_are_told_from_files():
    assert Root().entry("/dev/null") == Entry("device", 0o666, 0, 0, 0)


@pytest.mark.parametrize(
    ("path", "last", "real"),
    [
        ("/there", "file", "/file"),
        ("/gone", "nothing", "/nothing"),
        ("/loop", "loop", "/loop"),
        ("/odd", "\udcff\udcfe", "/\udcff\udcfe"),
        ("/file", "", "/file"),
        ("/nothing", "", "/nothing"),
        ("/folder/../file", "", "/file"),
        ("/", "", "/"),
    ],
)
def test_links_are_told_by_their_last_part_and_followed_to_their_end(machine, path, last, real):
    assert machine.link(path) == last
    assert machine.real(path) == real


@pytest.mark.parametrize(("path", "names"), [("/folder", ("a", "b")), ("/file", ()), ("/nothing", ()), ("/loop", ())])
def test_names_of_a_folder_are_sorted_and_none_where_there_is_none(machine, path, names):
    assert machine.names(path) == names


def test_a_folder_of_millions_is_not_listed_to_its_end(tmp_path, monkeypatch):
    for number in range(9):
        (tmp_path / str(number)).touch()
    monkeypatch.setattr(surface, "_ENTRIES", 4)
    assert len(Root().names(str(tmp_path))) == 4


def test_names_that_are_no_text_are_listed(tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9")).touch()
    assert Machine(Root(), no_program, 0).names(str(tmp_path)) == ("caf\udce9",)


def test_no_more_is_read_than_asked_for_and_a_file_that_grows_ends(tmp_path):
    (tmp_path / "big").write_bytes(bytes(range(256)) * 20_000)
    whole = (tmp_path / "big").read_bytes()
    for limit in (0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 1 << 30):
        assert Root().read(str(tmp_path / "big"), limit) == whole[:limit]


def test_records_of_a_device_are_those_that_wait_now(tmp_path):
    """As /dev/kmsg gives them: one record a read, EAGAIN after the last; and no more than the limit asks for."""
    os.mkfifo(tmp_path / "kmsg")
    reader = os.open(tmp_path / "kmsg", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(tmp_path / "kmsg", os.O_WRONLY)
    os.write(writer, b"6,1,0;one\n6,2,0;two\n")
    assert Root().records(str(tmp_path / "kmsg")) == b"6,1,0;one\n6,2,0;two\n"
    assert Root().records(str(tmp_path / "kmsg")) == b""
    os.write(writer, b"x" * 20_000)
    assert len(Root().records(str(tmp_path / "kmsg"), 9000)) < 20_000
    for handle in (reader, writer):
        os.close(handle)
    with pytest.raises(FileNotFoundError):
        Root().records(str(tmp_path / "none"))


def test_records_that_the_kernel_overwrites_meanwhile_are_passed_over(monkeypatch):
    answers = [b"one", BrokenPipeError(errno.EPIPE, "overwritten"), b"three", BlockingIOError(errno.EAGAIN, "none")]

    def read(handle, count):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(os, "read", read)
    assert surface._drain(0, 1000) == b"onethree"
    assert answers == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0\n", 0),
        (" 42 ", 42),
        ("18446744073709551615", (1 << 64) - 1),
        ("18446744073709551616", None),
        ("9" * 63, None),
        ("-1", None),
        ("1.5", None),
        ("max", None),
        ("0x1f", None),
        ("\u0663", None),
        ("\u00b2", None),
        ("", None),
        ("1\n2", None),
    ],
)
def test_number_of_a_file(replay, text, number):
    recording = replay.Recording({"files": {"/n": text}})
    assert Machine(recording, recording.run, 0).number("/n") == number


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/a:/b", "/a/tool"),
        ("/b:/a", "/b/tool"),
        ("/none:/b/", "/b/tool"),
        ("/folder:/b", "/b/tool"),
        ("", ""),
        (":::", ""),
        (".:b", ""),
        ("/loop:/plain:/b", "/b/tool"),
    ],
)
def test_program_is_the_first_on_path_that_may_be_run(tmp_path, path, found):
    for name in ("a", "b", "folder/tool", "plain"):
        (tmp_path / name).mkdir(parents=True)
    for name, mode in (("a/tool", 0o755), ("b/tool", 0o100), ("plain/tool", 0o644)):
        (tmp_path / name).touch(mode=mode)
        (tmp_path / name).chmod(mode)
    (tmp_path / "loop").symlink_to("loop")

    class Bare(Root):
        def environ(self):
            return {"PATH": path}

    assert Machine(Bare(str(tmp_path)), no_program, 0).which("tool") == found


def test_what_was_asked_once_is_remembered_and_what_failed_is_asked_again(machine):
    calls = []

    def once(value):
        calls.append(value)
        if value is None:
            raise OSError(5, "not now")
        return value

    with pytest.raises(OSError, match="not now"):
        machine.once("key", lambda: once(None))
    assert machine.once("key", lambda: once("first")) == "first"
    assert machine.once("key", lambda: once("second")) == "first"
    assert machine.once("other", lambda: once("third")) == "third"
    assert calls == [None, "first", "third"]


def test_many_who_ask_at_once_get_one_answer(machine):
    made, gate, answers = [], threading.Barrier(8), []

    def make():
        made.append(1)
        time.sleep(0.01)
        return object()

    def work():
        gate.wait()
        answers.append(machine.once("slow", make))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(set(map(id, answers)))) == (1, 1)


def test_time_that_is_left_never_reaches_zero(replay):
    recording = replay.Recording({})
    assert Machine(recording, recording.run, time.monotonic() - 9).left() == 0.005
    assert 50 < Machine(recording, recording.run, time.monotonic() + 60).left() <= 60


def test_own_identity_and_limits_are_those_of_the_process():
    import resource

    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    assert Root().memlock() == (-1 if soft == resource.RLIM_INFINITY else soft)
    assert Root().user() == (os.geteuid(), tuple(dict.fromkeys((os.getegid(), *os.getgroups()))))
    assert Root().folder() == str(Path.cwd())
    assert Root().interpreter().executable == sys.executable
    total, free = Root().space("/")
    assert 0 < free <= total


def test_other_systems_questions_are_refused_in_words(monkeypatch):
    with pytest.raises(OSError, match="no registry"):
        Root().registry("x")
    monkeypatch.delattr(os, "confstr")
    with pytest.raises(OSError, match="does not tell its version"):
        Root().libc()


@given(st.binary(max_size=60), st.integers(0, 40))
def test_a_read_gives_the_beginning_of_the_file(tmp_path_factory, data, limit):
    path = tmp_path_factory.mktemp("read") / "file"
    path.write_bytes(data)
    assert Root().read(str(path), limit) == data[:limit]
    assert Machine(Root(), no_program, 0).text(str(path)) == data.decode("utf-8", "replace").strip()
