"""Messages in texts: found whatever surrounds them, general, in linear time; facts they state are read right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import rules
from compat.errors import InputError, InputErrors
from compat.matrix import Matrix
from compat.matrix import matrix as shipped
from compat.matrix.overlays import load
from compat.matrix.rows import Signal
from compat.reading.literals import SHORTEST, literals
from compat.reading.message_facts import cudnn_version, dotted, runtime_of
from compat.reading.messages import recognise
from compat.rules import RULES

ROWS = shipped().table("signals")

SAID = [
    ("Failed to initialize NVML: Driver/library version mismatch", "nvml-mismatch"),
    ("Failed to initialize NVML: Unknown Error", "nvml-unknown"),
    (
        "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040).",
        "driver-too-old",
    ),
    ("RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.", "ptx-toolchain"),
    (
        "ptxas application ptx input, line 9; fatal   : Unsupported .version 7.8; current version is '7.4'",
        "ptx-version",
    ),
    ("CUDA error 804: forward compatibility was attempted on non supported HW", "compat-804"),
    ("Error 802: system not yet initialized", "fabric-802"),
    (
        'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].',
        "select-driver",
    ),
    (
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please update your driver",
        "requirement-error",
    ),
    ("docker: Error response from daemon: unknown or invalid runtime name: nvidia.", "unknown-runtime"),
    ("RuntimeError: DataLoader worker (pid 77) is killed by signal: Bus error.", "shm-dataloader"),
    ("Unable to open /dev/kfd read-write: Permission denied", "kfd-denied"),
    ("ROCk module is NOT loaded, possibly no GPU devices", "rock-not-loaded"),
    ('"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"', "hip-no-binary"),
    ("nvcc fatal   : Unsupported gpu architecture 'compute_89'", "nvcc-unsupported-arch"),
    ("#error -- unsupported GNU version! gcc versions later than 11 are not supported!", "unsupported-gnu"),
    ("AssertionError: Torch not compiled with CUDA enabled", "torch-cpu-build"),
    ("RuntimeError: operator torchvision::nms does not exist", "torch-vision-nms"),
    ("ImportError: numpy.core.multiarray failed to import", "numpy-abi"),
    ("ImportError: /lib64/libm.so.6: version `GLIBC_2.29' not found (required by x.so)", "glibc-version"),
    ("ImportError: libstdc++.so.6: version `GLIBCXX_3.4.29' not found", "glibcxx-version"),
    ("Illegal instruction (core dumped)", "illegal-instruction"),
    ("undefined symbol: _ZN3c1021throwNullDataPtrErrorEv", "pair-undefined-torch"),
    ("undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12", "nvjitlink"),
    ("ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory", "missing-so"),
    ("OSError: libcuda.so.1: cannot open shared object file: No such file or directory", "libcuda-missing"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.", "cuda-oom"),
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla T4 GPU has compute capability 7.5.",
        "bf16",
    ),
    ("ERROR: No matching distribution found for torch==1.7.0", "pip-none-found"),
    ("RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment", "unknown-999"),
    ("NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', GPU has fallen off the bus.", "xid"),
]


@pytest.mark.parametrize(("line", "signal"), SAID)
def test_a_message_is_recognised(matrix, line, signal):
    assert signal in recognise(line, matrix)


@pytest.mark.parametrize(("line", "signal"), SAID)
def test_surroundings_case_and_line_ends_do_not_matter(matrix, line, signal):
    text = (
        "Traceback (most recent call last):\r\n  File x\r\n"
        + "noise " * 3000
        + f"\r\n{line.upper()}\r\n"
        + "more\n" * 500
    )
    assert signal in recognise(text, matrix)


@pytest.mark.parametrize(("line", "signal"), SAID)
def test_the_quoted_line_is_the_messages_own(matrix, line, signal):
    heard = recognise(f"first\n{line}\nlast", matrix).get(signal)
    assert heard.line in line
    assert "first" not in heard.line


STATED = [
    ("The NVIDIA driver on your system is too old (found version 11040).", "driver_cuda", "11.4"),
    (
        "NVRM: API mismatch: the client has the version 515.48.07, but\nNVRM: this kernel module has the version 510.73.05.",
        "driver",
        "510.73.05",
    ),
    (
        "NVRM: API mismatch: the client has the version 515.48.07, but\nNVRM: this kernel module has the version 510.73.05.",
        "driver_library",
        "515.48.07",
    ),
    (
        "The detected CUDA version (12.4) mismatches the version that was used to compile\nPyTorch (11.8).",
        "cuda_toolkit",
        "12.4",
    ),
    (
        "cuDNN version incompatibility: PyTorch was compiled  against (8, 7, 0) but found runtime version (8, 2, 4).",
        "cudnn",
        "8.2.4",
    ),
    ("Found cuDNN version 8500, but JAX was built against version 8600, which is newer.", "cudnn", "8.5.0"),
]


@pytest.mark.parametrize(("text", "fact", "value"), STATED)
def test_facts_that_a_text_states(matrix, text, fact, value):
    host = recognise(text, matrix).host
    assert host.value(fact) == value
    assert host.source(fact) == "error text"


def test_the_device_and_the_kernels_of_pytorchs_warning(matrix):
    text = (
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_90."
    )
    host = recognise(text, matrix).host
    assert [(gpu.name, gpu.target) for gpu in host.gpus] == [("NVIDIA GeForce RTX 5090", "sm_120")]
    assert host.builds["torch"].kernels == ("sm_50", "sm_60", "sm_90")


@pytest.mark.parametrize(
    ("tag", "runtime"),
    [
        ("cu118", "cuda11.8"),
        ("cu92", "cuda9.2"),
        ("cu130", "cuda13.0"),
        ("cuda112", "cuda11.2"),
        ("cuda11.cudnn82", "cuda11"),
        ("rocm5.4.2", "rocm5.4.2"),
        ("cpu", "cpu"),
        ("gitabc", ""),
    ],
)
def test_build_tags(tag, runtime):
    assert runtime_of(tag) == runtime


@pytest.mark.parametrize(("packed", "version"), [("10010", "10.1"), ("12080", "12.8"), ("11.4", "11.4")])
def test_packed_cuda_versions(packed, version):
    assert dotted(packed) == version


@pytest.mark.parametrize(
    ("packed", "version"),
    [("8500", "8.5.0"), ("90100", "9.1.0"), ("(8, 7, 0)", "8.7.0"), ("8.0.5", "8.0.5"), ("8902", "8.9.2"), ("7", "7")],
)
def test_cudnn_versions(packed, version):
    assert cudnn_version(packed) == version


# --- the table ---


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.signal)
def test_a_row_points_to_rules_that_exist_or_is_benign_or_tells_of_a_build(row):
    assert set(row.candidates) <= RULES.keys()
    of_a_build = row.signal.startswith("build-") and not row.candidates
    assert [bool(row.candidates), row.benign, of_a_build].count(True) == 1
    assert row.meaning


def test_every_meaning_that_a_rule_asks_for_is_one_that_messages_have():
    asked = {
        meaning
        for path in Path(rules.__file__).parent.rglob("*.py")
        for call in re.findall(r"\.saying\(([^)]+)\)", path.read_text("utf-8"))
        for meaning in re.findall(r'"([\w-]+)"', call)
    }
    assert asked == {meaning for row in ROWS for meaning in row.says} - {"no-gpu-node"}


def test_a_message_is_found_by_its_meaning():
    heard = recognise("CUDA error: no kernel image is available for execution on the device", shipped())
    assert heard.saying("no-code", "no-gpu-seen").signal.signal == "no-kernel-image"
    assert heard.saying("no-gpu-seen") is None


@pytest.mark.parametrize("text", ["toomanyrequests: pull rate limit", "E: Unable to locate package python3.12"])
@pytest.mark.parametrize("error", ["", "CUDA error: no kernel image is available for execution on the device"])
def test_what_tells_of_a_build_changes_no_answer_about_a_machine(text, error):
    """Only the text of a message that a rule may rest on counts."""
    alone, beside = (recognise(words, shipped()) for words in (error, f"{text}\n{error}\n{text}"))
    assert [item.signal.signal for item in beside.telling] == [item.signal.signal for item in alone.telling]
    assert len(beside.harmful) == len(alone.harmful) + 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.signal)
def test_a_pattern_has_a_literal_and_no_nested_repeat(row):
    assert all(len(text) >= SHORTEST for text in literals(row.pattern))
    assert not re.search(r"\([^()]*[*+]\)[*+]", row.pattern), "a repeat inside a repeat"
    assert ".*" not in row.pattern.replace(".*?", "")


def test_signals_are_told_apart():
    assert len({row.signal for row in ROWS}) == len(ROWS)


@given(st.text(max_size=400))
def test_any_text_is_read_without_a_failure(text):
    recognise(text, shipped())


@given(st.sampled_from(ROWS), st.data())
def test_whatever_a_pattern_matches_holds_one_of_its_literals(row, data):
    text = data.draw(st.from_regex(re.compile(row.pattern, re.IGNORECASE | re.MULTILINE | re.ASCII), fullmatch=True))
    assert any(literal in text.lower() for literal in literals(row.pattern)), (text, literals(row.pattern))


def test_ten_megabytes_are_searched_by_windows_not_by_the_whole(matrix, monkeypatch):
    """The regular expressions see bounded windows, however long the text: counted, not timed."""
    from compat.reading import messages as signals

    seen = []
    compiled = signals._compiled

    class Spy:
        def __init__(self, pattern):
            self.pattern = compiled(pattern)

        def finditer(self, text, start, end):
            seen.append(end - start)
            return self.pattern.finditer(text, start, end)

    monkeypatch.setattr(signals, "_compiled", Spy)
    recognise("worker: cuda driver library torch docker GPU memory not found\n" * 160_000, matrix)
    assert max(seen) < 5000
    assert len(seen) < 100 * len(ROWS)


def test_an_overlay_with_a_broken_pattern_is_refused_when_it_is_read(tmp_path):
    row = "{ signal = 'mine', pattern = '(unclosed', source = 'x', how = 'documented' }"
    file = tmp_path / "rows.toml"
    file.write_text(f'schema = "envcheck.matrix/1"\nsources = {{ x = "https://example.org" }}\nsignals = [ {row} ]\n')
    with pytest.raises(InputErrors, match="regular expression"):
        load([file], {})


@pytest.mark.parametrize("pattern", [r"\d+", "abcd|x"])
def test_an_overlay_with_an_unusable_pattern_is_named(pattern):
    class Overlay:
        def names(self):
            return ("signals",)

        def rows(self, table):
            row = {"signal": "mine", "pattern": pattern, "source": "x", "how": "documented", "candidates": "no-driver"}
            return [row] if table == "signals" else []

        def sources(self):
            return {}

    with pytest.raises(InputError, match="mine"):
        recognise("some text", Matrix(Overlay()))


def test_rows_are_signals():
    assert all(isinstance(row, Signal) for row in ROWS)
