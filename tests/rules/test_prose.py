"""What people write where no program speaks: sentences suggest, facts decide, and nothing of it is ever an error."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.errors import InputError
from compat.facts import host
from compat.matrix import matrix as shipped
from compat.rules import RULES, judge
from compat.rules.prose import LONGEST, heeded
from compat.rules.signals import recognise

PHRASES = shipped().table("phrases")

WRITTEN = [
    ("GPU is not used, everything runs on the processor", {}, "cpu-only-build"),
    ("Не используется gpu", {}, "cpu-only-build"),
    ("只跑CPU，显卡没有使用", {}, "cpu-only-build"),
    ("pytorch went back to the CPU after the update", {}, "cpu-only-build"),
    ("Why does my pod not see the graphics card?", {}, "container-no-gpu"),
    ("the GPU is gone from the container after a few days", {}, "container-cgroup-lost"),
    ("Hope this will support the T4 one day", {}, "arch-too-old-for-build"),
    ("nvidia-smi gives an error, a reboot helps", {}, "driver-library-mismatch"),
    ("the driver is lost after each reboot", {}, "no-driver"),
    ("the driver needs a reboot", {}, "driver-library-mismatch"),
    ("侦测不到 RTX 50 Series Cuda", {}, "cpu-only-build"),
    ("torch answers cpu on my Mac", {"platform": "darwin"}, "platform-unsupported"),
    ("torch answers cpu on my Linux machine", {"platform": "linux"}, "cpu-only-build"),
    (
        "On this GPU there is a PyTorch unsupport problem",
        {"gpus": [{"name": "NVIDIA GeForce RTX 5080"}], "packages": {"torch": "2.6.0"}},
        "arch-too-new-for-build",
    ),
    ("where should tensorflow look, which LD_LIBRARY_PATH?", {}, "library-missing"),
    ("flash attn和vllm，torch版本不兼容", {}, "framework-pair-mismatch"),
    ("no wheels for arm, only for x86_64", {}, "platform-unsupported"),
    ("Will the RX 6700 XT be supported?", {}, "rocm-gfx-unsupported"),
    ("is there support for the GPU of M2 machines?", {}, "platform-unsupported"),
    ("Apple Silicon has no CUDA, what now?", {}, "platform-unsupported"),
    ("昇腾310不支持cuda", {}, "wrong-vendor-build"),
    ("the GPU is not recognized since the last Windows update", {}, "no-driver"),
    ("GPU ops fail when torch is imported after tensorflow", {}, "library-mismatch"),
    ("ROCm does not work in WSL", {}, "platform-unsupported"),
    ("my graphics card is not by nvidia, what about CUDA?", {}, "wrong-vendor-build"),
    ("I have intel graphics 520 hd and the program asks for drivers of nvidia", {}, "no-driver"),
    ("How to replace the CUDA driver on my RX 580?", {}, "wrong-vendor-build"),
    ("为什么用的是CPU？GPU版本", {}, "cpu-only-build"),
    ("the NPU is not detected", {}, "no-driver"),
    ("torch sees the card only as root", {}, "device-permission"),
    ("Does it support AMD GPUs?", {}, "rocm-gfx-unsupported"),
    ("cuda.is_available() is False in the devcontainer, the GPU is there", {"container": "docker"}, "container-no-gpu"),
    (
        "the driver is not supported by CUDA v10.0 in containers",
        {"driver": "396.26"},
        "container-requires-newer-driver",
    ),
    # the same words beside other facts
    (
        "will this GPU be supported?",
        {"gpus": [{"name": "AMD Radeon RX 6800M", "vendor": "amd"}]},
        "rocm-gfx-unsupported",
    ),
    ("No GPU found", {"container": "docker"}, "container-no-gpu"),
    ("the GPU is not found", {"packages": {"tensorflow": "2.9.1"}}, "library-missing"),
    ("the GPU is not found", {"packages": {"tensorflow": "2.17.0"}, "platform": "windows"}, "cpu-only-build"),
    (
        "question about NVIDIA drivers and CUDA",
        {"driver": "384.81", "cuda_toolkit": "10.2", "platform": "linux"},
        "driver-too-old-for-runtime",
    ),
]


@pytest.mark.parametrize(("text", "facts", "code"), WRITTEN, ids=[row[0][:40] for row in WRITTEN])
def test_the_first_finding_is_what_such_a_sentence_mostly_means(text, facts, code):
    found = [item.code for item in judge(host(**facts), shipped(), error=text).findings]
    assert found[:1] == [code], found


WORDS = ("GPU", "not", "container", "docker", "driver", "CUDA", "torch", "CPU", "support", "cuDNN", "Python", "wheel",
         "显卡", "видеокарта", "mismatch", "update", "Windows", "compile", "0", "3090", "12.4", "?", ".\n")  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=30))
def test_words_alone_are_a_possible_warning_at_most(words):
    findings = judge(host(), shipped(), error=" ".join(words)).findings
    assert {item.severity for item in findings} <= {"warning", "info"}
    assert {item.confidence for item in findings} <= {"possible"}


@given(st.permutations(["container", "GPU", "cannot", "see"]))
def test_the_order_of_the_words_does_not_matter(words):
    assert judge(host(), shipped(), error=" ".join(words)).findings[0].code == "container-no-gpu"


def test_words_of_one_sentence_mean_more_than_words_that_are_far_apart():
    apart = "My GPU is supported. But it seems that I can't run on cuda."
    assert judge(host(), shipped(), error=apart).findings[0].code == "cpu-only-build"


def test_prose_is_silent_where_a_program_spoke():
    said = "docker container, the GPU is not seen\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    heard = recognise(said, shipped())
    assert heeded(heard, host(container="docker"), shipped()) is heard


def test_a_log_is_not_read_as_prose():
    line = "my GPU is not used\n"
    heard = recognise(line * (LONGEST // len(line) + 2), shipped())
    assert heeded(heard, host(), shipped()) is heard


@pytest.mark.parametrize("row", PHRASES, ids=lambda row: row.phrase)
def test_a_phrase_points_to_rules_that_exist_and_can_be_made(row):
    assert set(row.candidates) <= set(RULES)
    assert not set(row.terms) & set(row.unless)


def test_no_phrase_is_hidden_by_an_earlier_one_of_the_same_terms():
    made = [frozenset(row.terms) for row in PHRASES]
    assert len(set(made)) == len(made)


def test_an_unusable_term_of_an_overlay_is_named(tmp_path):
    overlay = tmp_path / "mine.toml"
    row = '{ term = "mine", pattern = "(", source = "x", how = "documented" }'
    overlay.write_text(f'schema = "envcheck.matrix/1"\nterms = [\n  {row},\n]\n[sources]\nx = "mine"\n', "utf-8")
    with pytest.raises(InputError, match="pattern"):
        judge(host(), shipped(overlay), error="my GPU is odd")


def test_noise_around_a_sentence_changes_nothing():
    order = random.Random(7)
    letters = "".join(order.choice("abcdefghij klmnop") for _ in range(2000))
    text = f"{letters}.\nWhy does my pod not see the GPU?\n{letters}."
    assert judge(host(), shipped(), error=text).findings[0].code == "container-no-gpu"
