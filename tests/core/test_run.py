"""Programs that behave badly: missing, hanging, noisy, leaving children behind."""

import os
import sys
import time

from compat.run import run


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
    child = int(mark.read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _alive(child):
        os.sched_yield()
    assert not _alive(child)


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
