"""Programs that behave badly: missing, hanging, noisy, leaving children behind."""

import os
import sys
import time

import pytest

from compat.run import NEUTRAL, Outcome, run, stream, which


def test_an_answer_comes_with_status_and_both_streams():
    outcome = run([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"])
    assert (outcome.code, outcome.out, outcome.err, outcome.why) == (3, "out\n", "err\n", "")
    assert not outcome.ok


def test_a_missing_program_is_a_fact():
    outcome = run(["/nonexistent/tool"])
    assert outcome.code == 127
    assert "could not be started: No such file" in outcome.why


def test_a_hanging_program_is_ended_with_its_children(tmp_path):
    mark = tmp_path / "child"
    script = f"import subprocess,sys,time; p=subprocess.Popen([sys.executable,'-c','import time; time.sleep(60)']); open({str(mark)!r},'w').write(str(p.pid)); time.sleep(60)"
    outcome = run([sys.executable, "-c", script], timeout=1.0)
    assert outcome.code == 124
    assert "did not answer within 1 s" in outcome.why
    assert ends(int(mark.read_text()))


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def test_undecodable_output_does_not_hurt():
    outcome = run([sys.executable, "-c", "import os; os.write(1, b'\\xff\\xfe ok')"])
    assert outcome.ok
    assert outcome.out.endswith(" ok")


def test_messages_are_english_whatever_the_locale(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    outcome = run([sys.executable, "-c", "import os; print(os.environ['LC_ALL'])"])
    assert outcome.out == "C\n"


@pytest.mark.parametrize(
    ("outcome", "ok"),
    [
        (Outcome(0), True),
        (Outcome(0, "out", "err"), True),
        (Outcome(1), False),
        (Outcome(0, why="it was cut off"), False),
    ],
)
def test_fine_is_to_end_and_to_say_so(outcome, ok):
    assert outcome.ok is ok


@pytest.mark.parametrize("stream_number", [1, 2])
def test_a_program_that_prints_without_end_is_ended(stream_number):
    outcome = run(
        [sys.executable, "-c", f"import os\nwhile True: os.write({stream_number}, b'x' * 65536)"], timeout=600
    )
    assert outcome.code == 124
    assert outcome.why.endswith("printed more than 4 MiB and was ended")
    assert (outcome.out or outcome.err) == "x" * (4 * 1024 * 1024)


def test_a_program_whose_child_keeps_its_output_open_is_done_and_the_child_is_ended(tmp_path):
    mark = tmp_path / "child"
    script = f"import subprocess,sys; p=subprocess.Popen([sys.executable,'-c','import time; time.sleep(600)']); open({str(mark)!r},'w').write(str(p.pid)); print('done')"
    outcome = run([sys.executable, "-c", script], timeout=600)
    assert (outcome.code, outcome.out, outcome.why) == (0, "done\n", "")
    assert ends(int(mark.read_text()))


def test_a_child_in_a_session_of_its_own_is_ended_too(tmp_path):
    mark = tmp_path / "child"
    script = f"import subprocess,sys,time; p=subprocess.Popen(['sleep','600'],start_new_session=True); open({str(mark)!r},'w').write(str(p.pid)); time.sleep(600)"
    assert run([sys.executable, "-c", script], timeout=2.0).code == 124
    assert ends(int(mark.read_text()))


def test_programs_run_where_nobody_else_puts_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('planted')")
    assert run([sys.executable, "-c", "import json, os; print(os.getcwd())"]).out == f"{NEUTRAL}\n"
    assert stream([sys.executable, "-c", "import json"], print).ok


def test_a_relative_folder_of_the_path_holds_no_program(tmp_path, monkeypatch):
    (tmp_path / "uv").write_text("#!/bin/sh\n")
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for folder in ("", ".", "../" + tmp_path.name):
        monkeypatch.setenv("PATH", folder)
        assert which("uv") == ""
    monkeypatch.setenv("PATH", f":{tmp_path}")
    assert which("uv") == str(tmp_path / "uv")


def ends(pid):
    """Whether a process comes to its end soon."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _alive(pid):
        os.sched_yield()
    return not _alive(pid)


def heard(script, **more):
    """(outcome, the lines heard) of a Python script that is streamed."""
    lines = []
    return stream([sys.executable, "-c", script], lines.append, **more), lines


@pytest.mark.parametrize(
    ("script", "lines"),
    [
        ("print('a'); print('b')", ["a", "b"]),
        ("import os; os.write(1, b'one, '); os.write(1, b'still one\\ntwo')", ["one, still one", "two"]),
        ("import sys; print('out', flush=True); print('err', file=sys.stderr)", ["out", "err"]),
        ("import os; os.write(1, b'windows\\r\\n\\r\\n')", ["windows", ""]),
        ("import os; os.write(1, b'\\xff\\n')", ["\N{REPLACEMENT CHARACTER}"]),
        ("print('x' * 200_000 + 'end')", ["x" * 200_000 + "end"]),
        ("import sys; print(sys.stdin.read().upper())", ["GIVEN"]),
        ("pass", []),
    ],
)
def test_every_line_is_heard_whole_and_once(script, lines):
    outcome, said = heard(script, text="given")
    assert said == lines
    assert outcome.ok
    assert outcome.out.split() == " ".join(lines).split()


def test_a_status_and_the_environment_go_through():
    outcome, said = heard(
        "import os, sys; print(os.environ['EXTRA'], os.environ['LC_ALL']); sys.exit(7)", env={"EXTRA": "1"}
    )
    assert (outcome.code, outcome.why, said) == (7, "", ["1 C"])


def test_of_very_much_the_end_is_kept():
    outcome, said = heard("for n in range(90_000): print('x' * 60, n)")
    assert len(said) == 90_000
    assert len(outcome.out) == 4 * 1024 * 1024
    assert outcome.out.endswith("89999\n")


def test_a_program_that_does_not_end_is_ended_and_what_it_said_is_kept():
    outcome, said = heard("import time; print('started', flush=True); time.sleep(60)", timeout=1.5)
    assert (outcome.code, outcome.out, said) == (124, "started\n", ["started"])
    assert "did not end within 1.5 s" in outcome.why


def test_who_hears_may_stop_it_and_nothing_goes_on(tmp_path):
    mark = tmp_path / "pid"

    def stop(_line):
        raise KeyboardInterrupt

    script = f"import os,time; open({str(mark)!r},'w').write(str(os.getpid())); print('x', flush=True); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt):
        stream([sys.executable, "-c", script], stop)
    assert not _alive(int(mark.read_text()))


def test_a_missing_program_streams_nothing():
    outcome = stream(["/nonexistent/tool"], lambda _: pytest.fail("nobody speaks"))
    assert outcome.code == 127
    assert "/nonexistent/tool could not be started: No such file" in outcome.why
