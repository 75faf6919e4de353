"""A driver library that crashes, exits, hangs or babbles is the first finding, and never "no GPU"."""

import json

import pytest

FAULTS = {
    "crash": ("*(volatile int*)0 = 1;", "crashed (signal 11)"),
    "abort": ("abort();", "crashed (signal 6)"),
    "exit": ("_exit(0);", "ended the program that asked it (status 0)"),
    "status": ("_exit(3);", "ended the program that asked it (status 3)"),
    "babble": ("for (;;) puts(LINE);", "printed more than 4 MiB and was ended"),
    "hang": ("for (;;) pause();", "did not answer within"),
}
LINE = '\n#define LINE "x' + 8000 * "x" + '"\n'
HEAD = "#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n" + LINE
# while it is loaded; at the first call of either library
LOADED = "__attribute__((constructor)) static void at_load(void) { %s }\n"
CALLED = "int nvmlInitWithFlags(unsigned f) { %s return 0; }\nint nvmlInit_v2(void) { %s return 0; }\n"
CALLED += "int cuDriverGetVersion(int *v) { *v = 12020; return 0; }\nint cuInit(unsigned f) { %s return 0; }\n"


@pytest.fixture
def faulty(envcheck, compiled, tmp_path):
    """The doctor's JSON and text on a machine whose driver libraries are these."""

    def ask(source, *names):
        for name in names:
            compiled(HEAD + source, tmp_path / name)
        envcheck.env = {**envcheck.env, "LD_LIBRARY_PATH": str(tmp_path)}
        code, out, _ = envcheck("doctor", "--format", "json", "--timeout", "4")
        return code, json.loads(out), envcheck("doctor", "--timeout", "4")[1]

    return ask


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(
    "names", [["libnvidia-ml.so.1"], ["libcuda.so.1"], ["libnvidia-ml.so.1", "libcuda.so.1"]], ids=len
)
def test_a_library_that_fails_while_it_is_loaded_is_told_first(faulty, fault, names, tmp_path):
    act, words = FAULTS[fault]
    code, report, text = faulty(LOADED % act, *names)
    told, expected = report["findings"][0], "driver-hangs" if fault == "hang" else "driver-library-faulty"
    assert (told["code"], told["severity"], code) == (expected, "error", 1)
    assert f"{tmp_path}/{names[0]} {words}" in told["detail"]
    assert "no GPU" not in text
    assert "No GPU" not in text
    assert "can be loaded" not in text
    assert report["facts"].get("gpus") is None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_library_that_fails_when_it_is_called_is_told_first(faulty, fault, tmp_path):
    act, words = FAULTS[fault]
    _, report, text = faulty(CALLED % (act, act, act), "libnvidia-ml.so.1", "libcuda.so.1")
    told = report["findings"][0]
    assert told["code"] == ("driver-hangs" if fault == "hang" else "driver-library-faulty")
    assert f"{tmp_path}/libnvidia-ml.so.1 {words}" in told["detail"]
    assert "no GPU" not in text


def test_an_interrupted_question_leaves_no_child(envcheck, compiled, tmp_path):
    from surroundings import alive, until

    mark = tmp_path / "pid"
    source = f'static void at(void) {{ FILE *f = fopen("{mark}", "w"); fprintf(f, "%d", getpid()); fclose(f); for (;;) pause(); }}\n'
    compiled(HEAD + source + "int cuInit(unsigned f) { at(); return 0; }\n", tmp_path / "libcuda.so.1")
    envcheck.env = {**envcheck.env, "LD_LIBRARY_PATH": str(tmp_path)}
    process = envcheck.start("host", "--timeout", "60")
    assert until(lambda: mark.exists() and mark.read_text())
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert until(lambda: not alive(int(mark.read_text())))
