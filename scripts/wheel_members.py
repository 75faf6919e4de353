"""What a wheel of a framework carries, read from the few archive members that tell it, or from its GPU code.

Where each fact lies: ``torch/version.py`` (CUDA), ``torch/lib/libtorch_python.so`` (the text that
``torch.cuda.get_arch_list`` splits), ``tensorflow/python/platform/build_info.py`` (CUDA, cuDNN, compute capabilities),
``paddle/version/__init__.py`` (CUDA, cuDNN). Where no member tells the targets, the GPU code itself is read by
:mod:`compat.kernels`, which fetches no other member.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from glibc_floor import asked
from gpu_code import assembled, counted, judge, linked
from wheel_facts import platforms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from index_pages import File
    from simple_index import Index

PLATFORMS = ("linux_x86_64", "linux_aarch64", "win_amd64", "macosx_arm64", "macosx_x86_64")
"""Platforms whose wheels are looked into."""
_ARCH_LIST = re.compile(rb"(?:sm_\d{2,3}[af]?|compute_\d{2,3}[af]?)(?: (?:sm_\d{2,3}[af]?|compute_\d{2,3}[af]?))+\0")


def measure(
    index: Index, wheels: list[File], old: dict[str, Any], wanted: Iterable[str] = PLATFORMS, *, deep: bool = False
) -> dict[str, Any]:
    """Facts of one wheel per platform: ``{"linux_x86_64": {"cuda", "cudnn", "targets", "glibc", "tag", "file"}}``.

    ``glibc`` is what its objects ask for, ``tag`` what its file name says. With ``deep`` the GPU code is read where no
    member tells the targets; then also ``stray``: targets of a few kernels only, which do not make the build run on
    that device. Windows and macOS are read only then: no member tells. What is in ``old`` of a wheel that is still
    there is not read again, as a published file does not change.

    Raises:
        UnreadableError: a wheel is broken.
    """
    found: dict[str, Any] = {}
    for platform in wanted:
        fitting = {file.name: file for file in wheels if platform in _platforms(file)}
        before = old.get(platform, {})
        linux = platform.startswith("linux")
        if not fitting or not (deep or linux):
            continue
        file = _preferred(fitting, before)
        facts = dict(before) if _enough(before, fitting, deep=deep) else _look(index, file, deep=deep)
        if linux and "glibc" not in facts:
            facts |= _floors(index, file, platform)
        if len(facts) > 1 and facts != before:
            found[platform] = facts
    return found


def _floors(index: Index, file: File, platform: str) -> dict[str, Any]:
    """The glibc that the objects of a wheel ask for, and that of its tag."""
    told: dict[str, Any] = json.loads(index.derived(file, f"floors {platform}", lambda: asked(index, file, platform)))
    tags = dict(place.split() for place in platforms(file.name) if " " in place)
    return told | ({"tag": tags[platform]} if platform in tags else {})


def _platforms(file: File) -> set[str]:
    return {platform.partition(" ")[0] for platform in platforms(file.name)}


def _enough(before: dict[str, Any], fitting: dict[str, File], *, deep: bool) -> bool:
    """Whether what was recorded is all that this look would find."""
    return before.get("file") in fitting and (bool(before.get("deep")) or not deep)


def _preferred(fitting: dict[str, File], before: dict[str, str]) -> File:
    """The wheel to look into: that of the last time, one for Python 3.11, or the last by name."""
    kept = fitting.get(before.get("file", ""))
    return kept or next((file for name, file in fitting.items() if "-cp311-cp311-" in name), fitting[max(fitting)])


def _look(index: Index, file: File, *, deep: bool) -> dict[str, Any]:
    facts: dict[str, Any] = dict(_facts(index, file))
    if deep:
        told = json.loads(index.derived(file, "objects.json", lambda: counted(index, file)))
        if not facts.get("targets"):
            facts |= judge(told)
        facts |= linked(told, index.names(file))
        facts |= {"ptx_isa": told["isa"]} if told["isa"] else {}
        if facts.get("targets", "").startswith("sm_") and not (facts.get("cuda") or told["isa"]):
            release = index.derived(file, "assembled", lambda: assembled(index, file, told).encode()).decode()
            facts |= {"cuda": release} if release else {}
        facts["deep"] = True
    return facts | {"file": file.name}


def _facts(index: Index, file: File) -> dict[str, str]:
    facts: dict[str, str] = {}
    names = set(index.names(file))
    for member, read in _READERS.items():
        if member in names:
            facts |= {key: value for key, value in read(index.member(file, member)).items() if value}
    return facts


def _torch_version(body: bytes) -> dict[str, str]:
    found = re.search(rb"^cuda[^=\n]*= *['\"]([\d.]+)['\"]", body, re.MULTILINE)
    return {"cuda": found[1].decode() if found else "cpu"}


def _torch_library(body: bytes) -> dict[str, str]:
    found = _ARCH_LIST.search(body)
    return {"targets": found.group()[:-1].decode() if found else ""}


def _build_info(body: bytes) -> dict[str, str]:
    text = body.decode("utf-8", "replace")

    def value(key: str) -> str:
        found = re.search(rf"['\"]{key}['\"]\s*[:,]\s*['\"]?([^'\"}}\n]*?)['\"]?[,)}}\n]", text)
        return found[1] if found else ""

    listed = re.search(r"['\"]cuda_compute_capabilities['\"]\s*[:,]\s*\[([^\]]*)\]", text)
    targets = re.findall(r"(?:sm|compute)_\d+[af]?", listed[1]) if listed else []
    # TensorFlow's configure.py compiles a capability that is listed as compute_XY both to PTX and to code for sm_XY.
    code = [target.replace("compute_", "sm_") for target in targets]
    ptx = [target for target in targets if target.startswith("compute_")]
    return {"cuda": value("cuda_version"), "cudnn": value("cudnn_version"), "targets": " ".join([*code, *ptx])}


def _paddle_version(body: bytes) -> dict[str, str]:
    text = body.decode("utf-8", "replace")
    found = {
        key: re.search(rf"^{key}_version\s*=\s*['\"]([^'\"]*)['\"]", text, re.MULTILINE) for key in ("cuda", "cudnn")
    }
    return {key: "cpu" if match[1] == "False" else match[1] for key, match in found.items() if match}


_READERS: dict[str, Callable[[bytes], dict[str, str]]] = {
    "torch/version.py": _torch_version,
    "torch/lib/libtorch_python.so": _torch_library,
    "tensorflow/python/platform/build_info.py": _build_info,
    "paddle/version/__init__.py": _paddle_version,
}
