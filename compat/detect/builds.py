"""What installed frameworks say of their own build, from the files their build left behind; nothing is imported.

Kernel targets inside the binaries are read by :mod:`compat.kernels`, which costs more than all of this: whoever needs
them asks it with the ``path`` told here.

Two kinds of evidence are joined: files that the build wrote (:mod:`compat.detect.build_files`), and labels on the
distribution (PEP 440 local versions such as ``+cu118``, wheel names kept in direct_url.json, names such as
``cupy-cuda12x``). Files win; a label fills their gaps and may be finer (``rocm6.2.4`` where the file has 6.2).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.detect.build_files as build_files
from compat.detect.base import ANYWHERE
from compat.detect.packages import environment, installed
from compat.facts import Build, Fact, Reading
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.detect.machine import Machine

NAME: Final = "builds"
FACTS: Final = ("builds",)
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "site-packages"

# Distributions whose version or wheel name carries the build in a local tag: 0.15.2+cu118, 2.1.2+pt21cu121
_TAGGED: Final = pattern(
    r"torch\S*|torchvision|torchaudio|jaxlib|paddlepaddle\S*|vllm|flash-attn\S*|xformers|mmcv\S*|detectron2|pytorch3d|dgl"
    r"|auto-gptq|autoawq\S*|exllamav2|llama-cpp-python|spconv\S*|cupy\S*|cumm\S*|faiss-gpu\S*|onnxruntime\S*|tinycudann|natten"
    r"|apex|deepspeed|fbgemm-gpu\S*|intel-extension-for-pytorch|kaolin|mamba-ssm|causal-conv1d|flashinfer\S*|sgl-kernel"
)
_CUDA: Final = pattern(r"cu(?:da)?[-_]?(\d{1,2}\.\d|\d{2,3})(?!\d)")
_ROCM: Final = pattern(r"rocm[-_]?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?|\d{2,3})(?!\d)")
_TORCH: Final = pattern(r"(?:pt|torch)(\d\.\d{1,2}(?:\.\d{1,2})?|\d{2,3})(?!\d)")
_ABI: Final = pattern(r"cxx11abi(TRUE|FALSE)", re.IGNORECASE)
_TAG: Final = pattern(r"^Tag:\s*(?:\w+\.)*([a-z]{2}\d[\d_]*)\S*-\S+-\S+", re.MULTILINE)
_LABELLED: Final = {"jax": "jaxlib", "paddle": "paddlepaddle-gpu"}  # package -> distribution that carries its label
_CU_NAME: Final = pattern(r"-cu(?:da)?(\d{2,3})x?$")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """One :class:`compat.facts.Build` per framework or companion that says something."""
    found: dict[str, Build] = {}
    for name in installed(machine).folders:
        said = _from_labels(machine, name) if _TAGGED.fullmatch(name) else Build()
        if said.runtime or said.torch or _is_foreign(machine, said.python_tag):
            found[name] = said
    for name, reader in build_files.READERS.items():
        read = (reader(machine, site) for site in _roots(machine))
        if (build := next((each for each in read if each is not None), None)) is not None:
            label = _LABELLED.get(name, name)
            labels = _from_labels(machine, label) if label in installed(machine).folders else Build()
            found[name] = build_files.merged(build, labels)
    return {"builds": Fact(found, ", ".join(environment(machine).sites) or SOUGHT)}


def _is_foreign(machine: Machine, tag: str) -> bool:
    """Whether a tag (``cp310``) names another CPython than the chosen one: it came by copying or a shared folder."""
    version = environment(machine).version.split(".")
    return tag.startswith("cp3") and len(version) > 1 and tag != f"cp{version[0]}{version[1]}"


def _roots(machine: Machine) -> tuple[str, ...]:
    """Folders that packages are imported from: those that hold a distribution's metadata, and the environment's own."""
    held = (folder.rsplit("/", 1)[0] for folder in installed(machine).folders.values())
    return tuple(dict.fromkeys((*held, *environment(machine).sites)))


def _from_labels(machine: Machine, name: str) -> Build:
    """From version, distribution name, wheel tags and the address it was installed from."""
    known, folder = installed(machine), installed(machine).folders[name]
    label = known.versions[name].partition("+")[2] + " " + _wheel_name(machine, folder)
    wheel = machine.text(f"{folder}/WHEEL", 4096)
    tag = _TAG.search(wheel) if "-abi3-" not in wheel else None  # the stable ABI serves later Pythons too (PEP 384)
    return Build(
        runtime=runtime(label) or _named(name),
        torch=_dotted(_TORCH.search(label)),
        python_tag=tag[1] if tag else "",
        cxx11_abi=_abi(label),
        path=folder,
        location=environment(machine).kind,
    )


def _wheel_name(machine: Machine, folder: str) -> str:
    """File name in direct_url.json (PEP 610): extensions put CUDA, torch and ABI there rather than in the version."""
    found = re.search(r'"url"\s*:\s*"[^"]*/([^"/]+\.whl)', machine.text(f"{folder}/direct_url.json", 8192))
    return found[1] if found else ""


def runtime(label: str) -> str:
    """``cu118`` -> ``cuda11.8``, ``rocm6.2`` -> ``rocm6.2``, ``cpu``, ``xpu``; empty if the label names none."""
    if found := _CUDA.search(label):
        return f"cuda{build_files.dotted(found[1])}"
    if found := _ROCM.search(label):
        return (
            f"rocm{'.'.join(found[1]) if len(found[1]) == 3 and found[1].isdecimal() else build_files.dotted(found[1])}"
        )
    return next((word for word in ("xpu", "cpu") if re.search(rf"\b{word}\b", label)), "")


def _named(name: str) -> str:
    """Runtime in a distribution's name: ``cupy-cuda12x``, ``faiss-gpu-cu12``; the major alone."""
    found = _CU_NAME.search(name)
    return f"cuda{build_files.dotted(found[1])}" if found else ""


def _dotted(found: re.Match[str] | None) -> str:
    """``pt21`` -> ``2.1``, ``torch2.3`` -> ``2.3``, ``pt210`` -> ``2.10``."""
    if found is None:
        return ""
    return found[1] if "." in found[1] else f"{found[1][0]}.{found[1][1:]}"


def _abi(label: str) -> bool | None:
    """The string ABI that a wheel's name states, ``cxx11abiFALSE`` (flash-attn and its kin)."""
    found = _ABI.search(label)
    return None if found is None else found[1].upper() == "TRUE"
