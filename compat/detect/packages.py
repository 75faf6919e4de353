"""Distributions of the chosen Python: names, versions, requirements, copies. Read from metadata, nothing imported.

The names of ``*.dist-info`` and ``*.egg-info`` folders carry name and version, so hundreds of distributions cost one
listing. Metadata is opened only for distributions whose pins decide whether a GPU stack fits.

Sources: PEP 376 and "Recording installed projects" (dist-info), PEP 503 (normalised names), PEP 566 (headers).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final

from compat.detect.base import ANYWHERE
from compat.detect.interpreter import Environment, choose
from compat.detect.machine import Machine, once
from compat.detect.system import architecture
from compat.facts import Fact, Reading, Unknown
from compat.lazy import dataclass, pattern
from compat.names import normalise

NAME: Final = "Python packages"
FACTS: Final = (
    "python", "python_path", "python_environment", "python_arch", "packages", "package_requires",
    "duplicate_packages", "conda_packages", "installers",
)  # fmt: skip
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "site-packages"

_HEAD: Final = 16 << 10  # metadata headers end before the description; this much holds them nearly always
_WHOLE: Final = 512 << 10
_MOST: Final = 5_000
# torch-2.1.0+cu118.dist-info, numpy-1.26.4.dist-info, torch-2.1.2-py3.10.egg-info
_FOLDER: Final = pattern(r"([A-Za-z0-9][\w.]*(?:-[A-Za-z_][\w.]*)*)-(\d[^-]*)(?:-py\d[\d.]*\S*)?\.(dist-info|egg-info)")
_HEADER: Final = pattern(r"^(Name|Version|Requires-Dist):[ \t]*(.+?)[ \t]*\r?$", re.MULTILINE)

# Whose pins decide whether a GPU stack fits: frameworks, their compiled companions, NVIDIA's and AMD's wheels
_STACK: Final = pattern(
    r"torch\S*|tensorflow\S*|tf-keras|keras|jax\S*|flax|paddlepaddle\S*|nvidia-\S+|cuda-\S+|cupy\S*|triton\S*|pytorch-\S+"
    r"|xformers|flash-attn\S*|vllm\S*|bitsandbytes|deepspeed|onnxruntime\S*|tensorrt\S*|rocm\S*|intel-extension-\S+"
    r"|numpy|ml-dtypes|protobuf|xgboost|lightgbm|mxnet\S*|mmcv\S*|detectron2|dgl|numba\S*|sglang\S*|transformers|accelerate"
    r"|auto-gptq|autoawq|exllamav2|llama-cpp-python|ctranslate2|faiss\S*|spconv\S*|tinycudann|apex|fbgemm\S*|lightning"
)
_MOST_LINES: Final = 200
# ELF e_machine values (System V ABI): what an interpreter was built for
_MACHINES: Final = {0x3E: "x86_64", 0xB7: "aarch64", 0x15: "ppc64le", 0x03: "i686", 0x28: "armv7l", 0xF3: "riscv64"}


@dataclass(frozen=True, slots=True)
class Installed:
    """What is installed in the chosen environment.

    Attributes:
        versions: normalised name -> version of the copy that is imported.
        folders: normalised name -> its metadata folder.
        copies: normalised name -> every version found, for names with more than one.
    """

    versions: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)


def facts(machine: Machine) -> Mapping[str, Reading]:
    """The chosen interpreter and what its metadata folders say.

    If the interpreter that the person named is not there, every one of these facts is unknown for that one reason.
    """
    chosen = environment(machine)
    if chosen.why:
        return dict.fromkeys(FACTS, Unknown(chosen.why, chosen.python))
    found, where = installed(machine), ", ".join(chosen.sites) or chosen.prefix
    stack = {name: folder for name, folder in found.folders.items() if _STACK.fullmatch(name)}
    return {
        "python": Fact(chosen.version, chosen.chosen) if chosen.version else Unknown("no file tells it", chosen.prefix),
        "python_path": Fact(chosen.python or None, chosen.chosen),
        "python_environment": Fact(chosen.kind, chosen.prefix),
        "python_arch": _arch(machine, chosen),
        "packages": Fact(found.versions, where),
        "package_requires": Fact(_requires(machine, stack), where),
        "duplicate_packages": Fact(found.copies, where),
        "conda_packages": _conda(machine, chosen),
        "installers": Fact(_installers(machine, stack), where),
    }


@once
def environment(machine: Machine) -> Environment:
    """The environment in question."""
    return choose(machine)


@once
def installed(machine: Machine) -> Installed:
    """Its distributions; the first copy of a name on the import path is the one that is imported."""
    found = Installed()
    every: dict[str, list[str]] = {}
    # PYTHONPATH, then the environment's own folders, then the person's (site.py's order, user before system)
    for site in dict.fromkeys((*machine.folders("PYTHONPATH"), *environment(machine).sites)):
        for name, version, folder in _distributions(machine, site):
            found.versions.setdefault(name, version)
            found.folders.setdefault(name, folder)
            every.setdefault(name, []).append(version)
    found.copies.update({name: tuple(versions) for name, versions in every.items() if len(set(versions)) > 1})
    return found


def _distributions(machine: Machine, site: str) -> Iterator[tuple[str, str, str]]:
    """Name, version and metadata folder of each distribution in one folder."""
    for entry in machine.names(site)[:_MOST]:
        if entry.startswith("~") or not entry.endswith((".dist-info", ".egg-info")):
            continue  # pip renames what it could not remove to ~name: no import finds it
        folder = f"{site}/{entry}"
        # the folder's name is the record; a name out of the ordinary (old tools, hand-made) is looked up inside
        if (found := _FOLDER.fullmatch(entry)) is not None:
            yield normalise(found[1]), found[2].replace("_", "-"), folder
        elif {"Name", "Version"} <= (said := dict(_headers(machine, folder))).keys():
            yield normalise(said["Name"]), said["Version"], folder


def _headers(machine: Machine, folder: str) -> list[tuple[str, str]]:
    """The headers of METADATA (PKG-INFO in an egg-info folder): everything before the first empty line."""
    for path in (f"{folder}/METADATA", f"{folder}/PKG-INFO", folder):
        # a first look at the beginning; some distributions list hundreds of requirements and need a second
        for limit in (_HEAD, _WHOLE):
            text = machine.text(path, limit)
            head, blank, _ = text.replace("\r\n", "\n").partition("\n\n")
            if blank or len(text) < _HEAD - 4:
                break
        if text:
            return _HEADER.findall(head)
    return []


def _requires(machine: Machine, stack: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Requirement lines of distributions in the stack, those behind extras left out: nobody asked for them."""
    required = {}
    for name, folder in stack.items():
        lines = (value for key, value in _headers(machine, folder) if key == "Requires-Dist")
        if kept := tuple(line for line in lines if "extra ==" not in line):
            required[name] = kept[:_MOST_LINES]
    return required


def _installers(machine: Machine, stack: Mapping[str, str]) -> dict[str, str]:
    """Who installed each distribution of the stack, by its INSTALLER file (PEP 376).

    Debian's packages have none and lie below ``/usr/lib``; those of RPM say ``rpm``.
    """
    told = {}
    for name, folder in stack.items():
        said = machine.text(f"{folder}/INSTALLER", 64).strip().lower().partition(" ")[0]
        system = said in {"rpm", "debian"} or (not said and folder.startswith("/usr/lib"))
        if owner := "system" if system else said:
            told[name] = owner
    return told


def _arch(machine: Machine, chosen: Environment) -> Reading:
    """From the interpreter's ELF header: word 9 is the machine it was built for."""
    # elsewhere only our own process is sure to be of the architecture that uname tells
    if machine.system.name != "linux":
        if chosen.chosen == "runs envcheck":
            return Fact(architecture(machine.system), "uname")
        return Unknown("not read here")
    head = machine.data(machine.real(chosen.python), 20) if chosen.python else b""
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        return Unknown("the interpreter is no ELF file", chosen.python)
    number = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    return Fact(_MACHINES.get(number, f"machine {number}"), chosen.python)


def _conda(machine: Machine, chosen: Environment) -> Reading:
    """conda-meta's file names are name-version-build.json; neither version nor build holds a dash."""
    if chosen.kind != "conda":
        return Fact(None, "not a conda environment")
    found = {}
    for name in machine.names(f"{chosen.prefix}/conda-meta"):
        parts = name.removesuffix(".json").rsplit("-", 2)
        if name.endswith(".json") and len(parts) == 3:
            found[parts[0]] = f"{parts[1]} {parts[2]}"
    return Fact(found, f"{chosen.prefix}/conda-meta")
