"""The probe scripts at the C interface: the real client code against a driver that we can break at will."""

from __future__ import annotations

import ast
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import build
from compat.build import outcome, parcel
from compat.errors import InputError

SCRIPTS = parcel.FOLDER


@pytest.fixture
def probe(driver):
    def run(fault="", *, level="driver", timeout="30", expect="cuda12.8", folder=driver, **env):
        words = [sys.executable, str(SCRIPTS / "run.py"), "--level", level, "--expect", expect, "--timeout", timeout]
        settings = {**os.environ, "LD_LIBRARY_PATH": str(folder), "ENVCHECK_FAULT": fault, **env}
        done = subprocess.run(
            [*words, "--frameworks", "none"], capture_output=True, text=True, env=settings, check=False
        )
        assert "Traceback" not in done.stderr
        found, begun = outcome.read(done.stdout.splitlines())
        assert begun == ""
        assert done.returncode == any(item.status == "fail" for item in found)
        return {item.name: item for item in found}

    return run


def test_a_working_driver_passes_on_every_device(probe):
    found = probe()
    assert {item.status for item in found.values()} == {"pass"}
    assert found["cuda.load"].figures["cuda"] == "12.8"
    assert found["cuda.device1"].figures["target"] == "sm_89"
    assert found["cuda.device1"].figures["name"] == "NVIDIA Test"
    assert found["cuda.device1"].figures["memory_clock_khz"] is None
    assert found["cuda.kernel0"].figures["checked"] == 1 << 16
    assert found["cuda.float0"].figures["worst_ulp"] <= 1


@pytest.mark.parametrize(
    ("fault", "name", "code"),
    [
        ("init=100", "cuda.init", "container-no-gpu"),
        ("init=803", "cuda.init", "driver-library-mismatch"),
        ("init=999", "cuda.init", "uvm-not-ready"),
        ("init=802", "cuda.init", "fabric-manager-down"),
        ("init=919", "cuda.init", "fabric-manager-down"),
        ("init=12345", "cuda.init", "probe-failed"),
        ("none", "cuda.init", "devices-hidden"),
        ("context=46", "cuda.context0", "gpu-compute-mode-exclusive"),
        ("full", "cuda.memory0", "out-of-memory"),
        ("memory", "cuda.memory0", "probe-kernel-wrong-result"),
        ("jit=222", "cuda.kernel0", "ptx-jit-too-new-for-driver"),
        ("jit=221", "cuda.kernel1", "ptx-jit-disabled"),
        ("launch=209", "cuda.kernel0", "arch-too-new-for-build"),
        ("sync=700", "cuda.kernel0", "probe-kernel-wrong-result"),
        ("sync=716", "cuda.kernel0", "probe-kernel-wrong-result"),
        ("sync=718", "cuda.kernel0", "probe-kernel-wrong-result"),
        ("sync=214", "cuda.float1", "gpu-ecc-uncorrectable"),
        ("integer", "cuda.kernel0", "probe-kernel-wrong-result"),
        ("float", "cuda.float0", "probe-kernel-wrong-result"),
        ("crash", "cuda.init", "library-mismatch"),
    ],
)
def test_each_fault_has_its_finding(probe, fault, name, code):
    found = probe(fault)
    assert (found[name].status, found[name].code) == ("fail", code)
    assert found[name].why


def test_the_compilers_own_log_is_kept(probe):
    assert probe("jit=218")["cuda.kernel0"].figures["log"] == "ptxas fatal: too new"


def test_a_hanging_driver_is_named(probe):
    found = probe("hang", timeout="1")
    assert (found["cuda.init"].status, found["cuda.init"].code) == ("fail", "probe-timeout")


def test_without_a_driver_the_container_lacks_its_gpu(probe, tmp_path):
    if shutil.which("nvidia-smi") or Path("/dev/nvidiactl").exists():
        pytest.skip("there is a driver here")
    found = probe(folder=tmp_path)
    assert found["cuda.load"].code == "container-no-gpu"


def test_copies_are_measured_on_every_device(probe, tmp_path):
    """Blocks, modules and events are given back before the context is; the driver of the test writes what is not."""
    found = probe(level="bench", ENVCHECK_LEFT=str(tmp_path / "left"))
    assert not (tmp_path / "left").exists()
    # the driver of the test says that each copy of 512 MiB took a millisecond
    assert found["bench-cuda.device_copy1"].figures["gb_per_s"] == pytest.approx(2 * 512 * 2**20 / 1e-3 / 1e9, rel=1e-3)
    assert found["bench-cuda.to_device0"].status == found["bench-cuda.from_device0"].status == "pass"


def test_a_fault_of_the_device_stays_with_its_context(probe):
    """As with a real driver, whatever follows an illegal access fails too, until the context is made anew."""
    found = probe("sync=700")
    assert [found[f"cuda.{name}0"].status for name in ("memory", "kernel", "float")] == ["pass", "fail", "fail"]
    assert "cuModuleLoadDataEx returned 700" in found["cuda.float0"].why
    assert found["cuda.memory1"].status == "pass"


def test_a_code_without_a_name_is_told_by_its_number(probe):
    assert "cuInit returned 12345 (no text)" in probe("init=12345")["cuda.init"].why


LATER = {"importlib.metadata", "importlib.resources", "zoneinfo", "graphlib", "tomllib"}
LATER_NAMES = {
    "removeprefix",
    "removesuffix",
    "prod",
    "dist",
    "isqrt",
    "perm",
    "comb",
    "cached_property",
    "cache",
    "bit_count",
}
"""Modules and names that the standard library got after Python 3.7."""


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.name)
def test_scripts_use_nothing_that_came_after_python_3_7(path):
    for node in ast.walk(ast.parse(path.read_text())):
        modules = [item.name for item in node.names] if isinstance(node, ast.Import) else []
        modules += [f"{node.module}.{item.name}" for item in node.names] if isinstance(node, ast.ImportFrom) else []
        modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not {*modules} & LATER
        assert not (isinstance(node, ast.Attribute) and node.attr in LATER_NAMES), node.attr


@pytest.mark.parametrize("minor", range(7, 17))
def test_the_driver_is_proved_by_each_python_that_is_here(driver, minor):
    python = shutil.which(f"python3.{minor}")
    if python is None or subprocess.run([python, "-V"], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no python3.{minor} here")
    words = [
        python,
        str(SCRIPTS / "run.py"),
        "--level",
        "driver",
        "--expect",
        "cuda12.8",
        "--timeout",
        "60",
    ]
    settings = {**os.environ, "LD_LIBRARY_PATH": str(driver)}
    done = subprocess.run([*words, "--frameworks", "none"], capture_output=True, text=True, env=settings, check=False)
    assert "Traceback" not in done.stderr
    found, begun = outcome.read(done.stdout.splitlines())
    assert begun == ""
    assert "pass" in {item.status for item in found}
    assert [item.name for item in found if item.status == "fail"] == []


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.name)
def test_scripts_are_for_old_pythons_and_need_nothing_but_themselves(path):
    tree = ast.parse(path.read_text(), feature_version=(3, 6))
    own = {item.stem for item in SCRIPTS.glob("*.py")}
    frameworks = {"torch", "tensorflow", "jax", "paddle", "numpy"}
    for node in ast.walk(tree):
        names = [item.name for item in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            root = (name or "").partition(".")[0]
            assert root in own | frameworks | set(sys.stdlib_module_names), f"{path.name} imports {name}"
            assert root not in frameworks or node.col_offset > 0, f"{path.name} imports {name} at once"


def load(name):
    sys.path.insert(0, str(SCRIPTS))
    try:
        return __import__(name)
    finally:
        sys.path.remove(str(SCRIPTS))


def test_references_are_right_by_exact_arithmetic():
    from fractions import Fraction

    numerics = load("numerics")
    left = [numerics.uniform(30, seed) for seed in range(30)]
    right = [numerics.uniform(30, seed + 99) for seed in range(30)]
    exact = sum(Fraction(left[3][k]) * Fraction(right[k][7]) for k in range(30))
    assert numerics.entry(left, right, 3, 7) == pytest.approx(float(exact), abs=1e-15)
    assert all(-1 <= value <= 1 for value in left[0])
    assert all(0 <= place < 256 for spot in numerics.spots(256, 1) for place in spot)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_the_integer_kernels_reference_is_a_permutation_in_32_bits(index, seed):
    """Undo it step by step: multiplication by an odd number and a shifted xor can both be undone."""
    value = load("numerics").mixed(index, seed)
    value ^= (value >> 13) ^ (value >> 26)
    value = (value * pow(0x85EBCA77, -1, 2**32)) & 0xFFFFFFFF
    value ^= (value >> 15) ^ (value >> 30)
    assert (value * pow(0x9E3779B1, -1, 2**32)) & 0xFFFFFFFF ^ seed == index


FAKES = [
    ("raise ImportError('libcudnn.so.9: cannot open shared object file')", "library-missing"),
    ("raise ImportError('numpy.core.multiarray failed to import')", "numpy-abi-mismatch"),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGILL)", "cpu-instructions-missing"),
    ("import os, signal\nos.kill(os.getpid(), signal.SIGBUS)", "shm-too-small"),
    ("import os\nos._exit(0)", "probe-failed"),
    ("import sys\nsys.exit(0)", "probe-failed"),
    ("print('{\"event\": 3}')\nraise RuntimeError('CUDA error: out of memory')", "out-of-memory"),
]


@pytest.mark.parametrize(("code", "expected"), FAKES, ids=[f"{code!r:.50}" for code, _ in FAKES])
def test_a_framework_that_cannot_start_is_told_by_its_cause(tmp_path, monkeypatch, code, expected):
    (tmp_path / "torch.py").write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = build.probe("framework", expect="cpu", frameworks=("torch",), timeout=60)
    assert [finding.code for finding in result.findings] == [expected]
    assert result.findings[0].severity == "error"


def test_results_are_the_published_document(tmp_path, monkeypatch):
    import jsonschema
    import published_schemas as schemas

    (tmp_path / "torch.py").write_text("raise ValueError('no')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    document = outcome.dump(build.probe("framework", expect="cpu", frameworks=("torch",), timeout=60))
    jsonschema.validate(json.loads(json.dumps(document)), schemas.verify())
    assert [item["status"] for item in document["probes"]] == ["skip", "fail"]


def test_another_interpreter_that_is_none_is_refused(tmp_path):
    with pytest.raises(InputError, match="interpreter"):
        build.probe("driver", python=str(tmp_path / "nothing"))


@pytest.mark.parametrize("path", ["/bin/true", "/bin/cat", "/bin/sh", "/etc/passwd", "/"])
def test_a_program_that_is_no_python_is_refused_before_it_gets_the_scripts(path):
    with pytest.raises(InputError, match="expected a Python interpreter"):
        build.probe("driver", python=path)


@pytest.mark.parametrize(("answer", "told"), [("2.7", "this is Python 2.7"), ("3.5", "Python 3.5"), ("x", "no Python")])
def test_a_python_that_the_scripts_do_not_know_is_refused(tmp_path, answer, told):
    (tmp_path / "python").write_text(f"#!/bin/sh\necho {answer}\n")
    (tmp_path / "python").chmod(0o755)
    with pytest.raises(InputError, match=told):
        build.probe("driver", python=str(tmp_path / "python"))


def test_another_python_is_used_even_if_it_greets(tmp_path):
    (tmp_path / "python").write_text(f'#!/bin/sh\necho hello\nexec {sys.executable} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    assert build.probe("driver", python=str(tmp_path / "python"), expect="cpu").ok


def test_an_unknown_level_is_refused():
    with pytest.raises(InputError, match="driver, framework"):
        build.probe("turbo")


@given(
    st.lists(st.one_of(st.text(max_size=80), st.from_regex(r'\{"event": "(start|probe|end)".{0,40}', fullmatch=True)))
)
def test_whatever_an_image_prints_is_read_without_harm(lines):
    found, begun = outcome.read(lines)
    assert isinstance(begun, str)
    outcome.findings(found, "x")


@given(
    st.dictionaries(
        st.sampled_from(["name", "why", "code", "figures", "seconds"]),
        st.recursive(st.none() | st.floats() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)),
    )
)
def test_no_field_is_trusted_to_be_of_its_kind(fields):
    line = json.dumps({**fields, "event": "probe", "status": "fail"})
    found, _ = outcome.read([line])
    assert outcome.findings(found, "x")[0].severity == "error"


def test_deep_nesting_is_passed_over():
    assert outcome.read(['{"event": ' + "[" * 100_000]) == ((), "")


def test_the_parcel_fits_one_word_of_a_command_and_is_the_same_each_time():
    assert parcel.packed() == parcel.packed()
    assert len(parcel.packed()) < 128 * 1024


def test_the_parcel_unpacks_and_runs(tmp_path):
    words = parcel.words("driver", expect="cpu", frameworks=(), timeout=30, seconds=1)
    done = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env={"TMPDIR": str(tmp_path)}, check=False
    )
    assert outcome.is_complete(done.stdout.splitlines())
    assert math.isclose(done.returncode, 0)


@pytest.mark.parametrize(
    ("name", "figures", "status", "share"),
    [
        ("bench-cuda.device_copy0", {"gb_per_s": 1600.0, "device": "D"}, "pass", 0.8),
        ("bench-cuda.device_copy0", {"gb_per_s": 400.0, "device": "D"}, "fail", 0.2),
        ("bench-cuda.device_copy0", {"gb_per_s": 400.0, "device": "E", "peak_gb_per_s": 500.0}, "pass", 0.8),
        ("bench-cuda.device_copy0", {"gb_per_s": 400.0, "device": "E"}, "pass", None),
        ("bench-cuda.device_copy0", {"gb_per_s": "odd", "device": ["D"]}, "pass", None),
        ("bench-torch.matmul_float16", {"tflops": 150.0, "device": "D"}, "pass", 0.5),
        ("bench-torch.matmul_float16", {"tflops": 60.0, "device": "D"}, "fail", 0.2),
        ("bench-torch.matmul_float8", {"tflops": 60.0, "device": "D"}, "pass", None),
        ("bench-cuda.to_device0", {"gb_per_s": 1.0, "device": "D"}, "pass", None),
        ("bench-cuda.to_device0", {"gb_per_s": 25.2, "device": "D", "peak_gb_per_s": 31.5}, "pass", 0.8),
        ("bench-hip.from_device1", {"gb_per_s": 6.3, "device": "E", "peak_gb_per_s": 31.5}, "fail", 0.2),
    ],
)
def test_a_figure_is_weighed_by_the_devices_peak(monkeypatch, name, figures, status, share):

    from compat import matrix
    from compat.build.peaks import weighed
    from compat.matrix.rows import Product

    product = Product(
        source=("s",), how="documented", name="D", vendor="nvidia", target="sm_80", bandwidth_gbs=2000, fp16_tflops=300
    )
    monkeypatch.setattr(matrix, "matrix", lambda: SimpleNamespace(table=lambda _: (product,)))
    found = weighed([outcome.Probe(name, "pass", "", figures)])[0]
    assert (found.status, found.figures.get("share")) == (status, share)
    findings = outcome.findings([found], "x")
    assert [(item.code, item.severity) for item in findings] == (
        [("probe-bandwidth-low", "warning")] if status == "fail" else []
    )
