"""What a text says beside its reports: there alone is a fault looked for, since labels name everything that can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat import reading
from compat.matrix import matrix
from compat.reading.messages import recognise
from compat.rules import judge

HERE = Path(__file__).parent
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((HERE / "real").glob("*.txt"))}
TALKING = {"bitsandbytes"}
"""Programs that add sentences about what they found."""

ENVIRONMENT = TEXTS["torch_collect_env_cuda"]


def rest(text):
    return reading.read(text).rest(text)


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - TALKING))
def test_a_report_alone_names_no_fault(name):
    heard = recognise(rest(TEXTS[name]), matrix())
    assert [item.line for item in heard if len(item.signal.candidates) == 1] == []


OTHER_TORCH = ["abi-mismatch"]
"""xFormers says itself there that it was built for another torch than the one that loads it."""


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("torch_collect_env", []),
        ("transformers_env", []),
        ("xformers_info", OTHER_TORCH),
        ("diffusers_env", OTHER_TORCH),
    ],
)
def test_a_cpu_build_on_a_machine_without_a_known_gpu_is_no_error(name, faults):
    host, text = reading.read(TEXTS[name]).host, TEXTS[name]
    found = judge(host, matrix(), error=rest(text)).findings
    assert [item.code for item in found if item.severity == "error"] == faults


MESSAGES = [
    "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    "/lib64/libc.so.6: version `GLIBC_2.27' not found (required by torch/lib/libtorch.so)",
    "OS: error while loading shared libraries: libcudart.so.12: cannot open shared object file",
    "Since the update my second card is never used by it, why?",
    "升级之后显卡不能使用了",
    ">>> print(torch.cuda.is_available())",
    "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions.",
]


@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("form", ["{environment}\n{message}\n", "{message}\n\n{environment}", "{message}"])
def test_a_message_is_kept(message, form):
    assert message in rest(form.format(environment=ENVIRONMENT, message=message)).split("\n")


@pytest.mark.parametrize(
    "line",
    [
        "OS: Ubuntu 22.04.5 LTS (x86_64)",
        "Is CUDA available: False",
        "[pip3] torch==2.4.0",
        "|   0  Tesla T4            On  | 00000000:00:1E.0 Off |                    0 |",
        "Flags:                           fpu vme de pse",
        "flashinfer: Module Not Found",
    ],
)
def test_what_a_program_lists_is_left_out(line):
    assert line not in rest(f"{ENVIRONMENT}\n{line}\n")


def test_a_text_without_a_report_is_kept_whole():
    text = "torch does not see my GPU.\r\nWhat now?\n"
    assert rest(text) == text


def test_the_same_words_beside_the_report_are_a_fault():
    line = "AttributeError: module 'tensorflow' has no attribute 'Session'. Did you mean: 'version'?"
    heard = recognise(rest(TEXTS["tensorflow_env_collect"] + "\n" + line + "\n"), matrix())
    assert [item.line for item in heard if len(item.signal.candidates) == 1] == [line]
