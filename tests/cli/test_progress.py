"""Whoever waits at a terminal is told; nobody else is."""

import io
import sys
import threading

import pytest

from compat.cli.progress import waiting


class Terminal(io.StringIO):
    """A stream that says it is a terminal, and when it was written to."""

    def __init__(self, *, reads=True):
        super().__init__()
        self.reads, self.written = reads, threading.Event()

    def isatty(self):
        return self.reads

    def write(self, text):
        self.written.set()
        return super().write(text)


def test_long_work_is_told_and_the_line_is_taken_away(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("reading torch", patience=0):
        assert stream.written.wait(10)
    assert stream.getvalue() == "reading torch ...\r\x1b[K"


@pytest.mark.parametrize(("reads", "quiet", "patience"), [(False, False, 0), (True, True, 0), (True, False, 600)])
def test_nothing_is_said_to_a_pipe_to_who_wants_quiet_or_of_short_work(monkeypatch, reads, quiet, patience):
    stream = Terminal(reads=reads)
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("reading torch", quiet=quiet, patience=patience):
        pass
    assert stream.getvalue() == ""


def test_the_line_is_taken_away_after_a_failure_too(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)

    def fail():
        with waiting("looking", patience=0):
            assert stream.written.wait(10)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_how_far_it_is_stands_in_the_same_line(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("reading torch", patience=0) as say:
        assert stream.written.wait(10)
        say(", 3 of 9 MiB")
        say(", 3 of 9 MiB")
    say(", 4 of 9 MiB")
    assert stream.getvalue() == "reading torch ...\r\x1b[Kreading torch, 3 of 9 MiB ...\r\x1b[K"


def test_progress_of_short_work_is_not_told(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with waiting("reading torch", patience=600) as say:
        say(", 3 of 9 MiB")
    assert stream.getvalue() == ""
