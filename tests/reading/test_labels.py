"""The tables of labels: each is spelled as pages spell labels, and those of other languages mean what they mean."""

import pytest

from compat.reading import read
from compat.reading.page import label_of
from compat.reading.programs import PROGRAMS

TABLES = {program.name: program.vocabulary for program in PROGRAMS}


@pytest.mark.parametrize("name", TABLES)
def test_a_label_is_spelled_as_a_page_spells_it(name):
    """Another spelling could never be found: its reader would be dead."""
    assert [label for label in TABLES[name] if label_of(label.replace("#", "0")) != label] == []


# lscpu prints its labels in the language of the machine (util-linux, po/*.po)
ARCHITECTURE = [
    "Architecture", "架构", "架構", "Architektur", "Arquitectura", "Arquitetura", "アーキテクチャ", "アーキテクチャー", "Архитектура",
    "아키텍처", "Architettura", "Architectuur", "Arkitektur", "Mimari", "Architektura",
]  # fmt: skip
MODEL = [
    "Model name", "型号名称", "型號名稱", "Modellname", "Nombre del modelo", "Nom de modèle", "Nome do modelo", "モデル名",
    "Имя модели", "모델명", "Nome modello", "Modelnaam", "Modellnamn", "Nazwa modelu",
]  # fmt: skip


@pytest.mark.parametrize("label", ARCHITECTURE)
@pytest.mark.parametrize(("printed", "arch"), [("x86_64", "x86_64"), ("aarch64", "aarch64")])
def test_the_processors_architecture_in_the_machines_language(label, printed, arch):
    host = read(f"{label}:          {printed}\nCPU(s):   8\n").host
    assert host.arch == arch


@pytest.mark.parametrize("label", MODEL)
def test_the_processors_name_in_the_machines_language(label):
    host = read(f"Architecture: x86_64\n{label}:   AMD EPYC 7763 64-Core Processor\n").host
    assert host.cpu == "AMD EPYC 7763 64-Core Processor"


@pytest.mark.parametrize(
    "sentence", ["It needs torch 2.1.0.", "It worked with torch 2.1.0.", "I have an RTX 3090 and torch 2.1.0."]
)
def test_a_sentence_states_nothing(sentence):
    assert read(sentence).host.readings == {}


DEEPSPEED = """op name ................ installed .. compatible
cpu_adam ............... [{0}] ....... [OKAY]
fused_adam ............. [NO] ....... [OKAY]
torch version .................... 2.1.0+cu121
deepspeed info ................... 0.12.3, unknown, unknown
deepspeed wheel compiled w. ...... {1}
"""


@pytest.mark.parametrize(
    ("installed", "compiled", "build"),
    [
        ("YES", "torch 2.1, cuda 12.1", ("2.1", "cuda12.1")),
        ("YES", "torch 1.10, hip 5.1", ("1.10", "rocm5.1")),
        ("YES", "torch 1.12, cuda 0.0", ("1.12", "")),
        ("YES", "torch 0.0, cuda 0.0", None),
        ("YES", "unknown", None),
        ("NO", "torch 2.1, cuda 12.1", None),  # nothing came compiled, so nothing is bound to that torch
    ],
)
def test_what_deepspeeds_operators_were_compiled_with(installed, compiled, build):
    host = read(DEEPSPEED.format(installed, compiled)).host
    found = (host.builds or {}).get("deepspeed")
    assert (found and (found.torch, found.runtime)) == build


@pytest.mark.parametrize(
    ("line", "fact", "value"),
    [
        ("GCC: gcc (Ubuntu 11.4.0-1ubuntu1) 11.4.0", "gcc", "11.4.0"),
        ("sys.platform: linux", "platform", "linux"),
        ("GPU 0,1: NVIDIA A100-SXM4-40GB", "gpus", 2),
        ("Driver version: 535.104.05", "driver", "535.104.05"),
    ],
)
def test_lines_of_openmmlabs_environment(line, fact, value):
    host = read(
        f"sys.platform: linux\nPython: 3.8.10\n{line}\nMMCV: 2.1.0\nMMCV Compiler: GCC 9.3\nMMDetection: 3.3.0+\n"
    ).host
    assert (len(host.value(fact)) if fact == "gpus" else host.value(fact)) == value


@pytest.mark.parametrize(
    "line",
    [
        "| Hardware spec | GPU Quadro P400 / CPU Intel i5-4590 @ 3.30 GHz |",
        "**GPU:**\nQuadro P400",
        "**GPU model**\n\nQuadro P400",
    ],
)
def test_a_card_stands_in_the_field_of_a_form(line):
    assert [gpu.name for gpu in read(f"{line}\n").host.gpus or ()] == ["Quadro P400"]
