"""Single parts of the probe scripts, called in this process."""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace

import pytest

from compat.build import outcome, parcel

SCRIPTS = parcel.FOLDER


def load(name):
    sys.path.insert(0, str(SCRIPTS))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.mark.parametrize(
    ("program", "says"),
    [("false", "exit status 1"), ("sh -c 'exit 3'", "exit status 3"), ("sh -c 'kill -9 $$'", "SIGKILL")],
)
def test_a_child_that_ends_without_a_word_is_a_finding(tmp_path, monkeypatch, capsys, program, says):
    """A Python that cannot start (a broken prefix, a missing library) ends with status 1, as a failed probe does."""
    stub = tmp_path / "python"
    stub.write_text(f"#!/bin/sh\nexec {program}\n")
    stub.chmod(0o755)
    run = load("run")
    monkeypatch.setattr(sys, "executable", str(stub))
    options = SimpleNamespace(expect="", seconds=1.0, timeout=30.0, level="driver", plan="")
    assert run.supervise("cuda", options) == 1
    found, begun = outcome.read(capsys.readouterr().out.splitlines())
    assert begun == ""
    assert [(item.name, item.status) for item in found] == [("cuda.run", "fail")]
    assert says in found[0].why


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["jax_cuda12_plugin-0.4.30.dist-info", "jaxlib-0.4.30.dist-info"], "cuda12"),
        (["jaxlib-0.3.25+cuda11.cudnn82.dist-info"], "cuda11"),
        (["jax_rocm60_plugin-0.4.35.dist-info"], "rocm6"),
        (["jaxlib-0.4.30.dist-info", "unrelated-1.dist-info", "jax-cuda12-plugin"], "cpu"),
        ([], "cpu"),
    ],
)
def test_the_runtime_of_jax_is_read_from_what_is_installed(tmp_path, monkeypatch, folders, expected):
    for folder in folders:
        (tmp_path / folder).mkdir()
    adapter = load("jax_checks").Jax
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "missing")])
    assert adapter.runtime(None) == expected


LIMIT = 112 * 2**20
V2 = ("", "memory.max", "memory.current", "workingset_refault_file")
V1 = ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_workingset_refault_file")


@pytest.mark.parametrize("names", [V2, V1], ids=["v2", "v1"])
@pytest.mark.parametrize(
    ("limit", "used", "again", "told"),
    [
        (str(LIMIT), LIMIT - 4096, 76634, "112 MiB is reached, and 299 MiB"),  # seen: jax in 108 MiB, killed in the end
        (str(LIMIT), LIMIT - 4096, 9541, ""),  # seen: jax in 160 MiB, which passes
        (str(LIMIT), LIMIT // 2, 76634, ""),
        ("max", LIMIT, 76634, ""),
        ("9223372036854771712", LIMIT, 76634, ""),
        ("", LIMIT, 76634, ""),
        (str(LIMIT), LIMIT, "odd", ""),
    ],
)
def test_memory_that_is_read_again_and_again_explains_a_silence(tmp_path, names, limit, used, again, told):
    folder, most, now, counter = names
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / most).write_text(f"{limit}\n")
    (tmp_path / folder / now).write_text(f"{used}\n")
    (tmp_path / folder / "memory.stat").write_text(f"cache 1\n{counter} {again}\npgmajfault 7\n")
    said = load("memory_watch").crowded(str(tmp_path))
    assert told in said
    assert bool(said) == bool(told)


def test_a_machine_without_limits_explains_nothing(tmp_path):
    assert load("memory_watch").crowded(str(tmp_path / "none")) == ""


def test_the_memory_of_a_silent_child_is_looked_at_before_it_is_ended(tmp_path, monkeypatch, capsys):
    """With the child goes the memory that it holds, and nothing would explain its silence any more."""
    stub, run = tmp_path / "python", load("run")
    stub.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/pid\nexec sleep 60\n")
    stub.chmod(0o755)

    def asked():
        os.kill(int((tmp_path / "pid").read_text()), 0)  # raises if it is gone
        return "the memory limit is reached"

    monkeypatch.setattr(run, "crowded", asked)
    monkeypatch.setattr(sys, "executable", str(stub))
    assert run.supervise("jax", SimpleNamespace(expect="", seconds=1.0, timeout=0.5, level="framework", plan="")) == 1
    found, _ = outcome.read(capsys.readouterr().out.splitlines())
    assert (found[0].code, found[0].why) == (
        "probe-memory-short",
        "no answer within 0.5 s: the memory limit is reached",
    )


def test_a_library_is_found_under_whatever_major_version_it_has(tmp_path):
    """`libc.so` is a text for the linker where there is one at all, and `libc.so.6` the library."""
    libraries = load("libraries")
    assert libraries.open_first(libraries.names("libc")).getpid() == os.getpid()
    numbers = [int(name.rpartition(".")[2]) for name in libraries.names("libx")[1:]]
    assert libraries.names("libx")[0] == "libx.so"
    assert numbers == sorted(numbers, reverse=True)
    assert {0, 5, 6, 7, 10} <= set(numbers)


def test_what_is_wrong_with_a_library_that_is_there_tells_more_than_that_others_are_not(tmp_path):
    libraries, broken = load("libraries"), tmp_path / "libbroken.so"
    broken.write_text("no library")
    absent = [str(tmp_path / "libabsent.so.2"), str(tmp_path / "libabsent.so.1")]
    for order in ([*absent, str(broken)], [str(broken), *absent]):
        with pytest.raises(OSError, match=r"libbroken\.so"):
            libraries.open_first(order)
    with pytest.raises(OSError, match=r"libabsent\.so\.2: cannot open"):
        libraries.open_first(absent)
    with pytest.raises(OSError, match="no name"):
        libraries.open_first([])


def test_what_a_framework_warned_of_is_kept_with_its_fallback_alone(tmp_path, monkeypatch, capsys):
    """Frameworks do not raise why they see no device: they write it to standard error, and go on with the processor."""
    stub = tmp_path / "python"
    lines = [
        {"event": "start", "probe": "jax.device"},
        {
            "event": "probe",
            "name": "jax.device",
            "status": "fail",
            "code": "probe-cpu-fallback",
            "figures": {"device": "cpu"},
        },
        {"event": "probe", "name": "jax.exact", "status": "fail", "code": "probe-failed", "figures": {}},
    ]
    said = "".join(f"echo '{json.dumps(line)}'\n" for line in lines)
    stub.write_text(f'#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8 9; do echo "word $n" >&2; done\n{said}exit 1\n')
    stub.chmod(0o755)
    run = load("run")
    monkeypatch.setattr(sys, "executable", str(stub))
    options = SimpleNamespace(expect="", seconds=1.0, timeout=30.0, level="framework", plan="")
    assert run.supervise("jax", options) == 1
    device, exact = outcome.read(capsys.readouterr().out.splitlines())[0]
    assert device.figures == {"device": "cpu", "stderr": [f"word {number}" for number in range(2, 10)]}
    assert exact.figures == {}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory",
            "probe-memory-short",
        ),
        ("MemoryError: Unable to allocate 8.00 GiB for an array with shape (32768, 32768)", "probe-memory-short"),
        ("OSError: [Errno 12] Cannot allocate memory", "probe-memory-short"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "out-of-memory"),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device",
            "arch-too-new-for-build",
        ),
        ("RuntimeError: HIP error: invalid device function", "arch-too-new-for-build"),
        ("OSError: [Errno 28] No space left on device", "disk-space-low"),
        ("CUDA driver version is insufficient for CUDA runtime version", "driver-too-old-for-runtime"),
        (
            "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
            "driver-too-old-for-runtime",
        ),
        ("RuntimeError: Found no NVIDIA driver on your system.", "container-no-gpu"),
        ("RuntimeError: No CUDA GPUs: no CUDA-capable device is detected", "container-no-gpu"),
        ("ImportError: libc.so.6: version `GLIBC_2.34' not found (required by x.so)", "glibc-too-old"),
        ("ImportError: libstdc++.so.6: version `GLIBCXX_3.4.30' not found", "libstdcxx-too-old"),
        ("ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory", "library-missing"),
        ("ImportError: x.so: undefined symbol: __nvJitLinkComplete_12_4", "library-mismatch"),
        ("AttributeError: _ARRAY_API not found", "numpy-abi-mismatch"),
        ("ImportError: numpy.core.multiarray failed to import", "numpy-abi-mismatch"),
        ("ModuleNotFoundError: No module named 'setuptools'", "probe-failed"),
        ("AssertionError: x", "probe-failed"),
        ("", "probe-failed"),
    ],
)
def test_what_frameworks_raise_points_to_a_finding(text, code):
    assert load("run").guess(text) == code
    if code != "probe-failed":
        from compat import rules
        from compat.build.codes import CODES

        assert code in rules.RULES or code in CODES
