"""From the values that a message names to facts: ``found version 10010`` states the driver's CUDA, 10.1.

A named group of a signal's pattern is either read here or merely kept for the rule that knows it. What a text states is
weaker than what was read on the machine, so these facts are laid *under* the host's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from compat import versions
from compat.facts import Build, Fact, Gpu, Host, Library, Reading

SOURCE: Final = "error text"


def dotted(code: str) -> str:
    """A packed version as CUDA prints it: ``10010`` -> ``10.1``, ``12080`` -> ``12.8``; dotted text stays as it is."""
    return versions.unpacked_cuda(int(code)) if code.isdigit() else code


def cudnn_version(text: str) -> str:
    """A cuDNN version in any of its spellings: ``8500``, ``90100``, ``(8, 7, 0)``, ``8.0.5`` -> dotted."""
    if not text.isdigit():
        return ".".join(re.findall(r"\d+", text))
    return versions.unpacked_cudnn(int(text)) if len(text) > 3 else text


def runtime_of(tag: str) -> str:
    """The runtime that a build tag names: ``cu118`` -> ``cuda11.8``, ``rocm5.4.2``, ``cpu``; empty if none.

    jaxlib writes ``cuda11.cudnn82`` (major only) and ``cuda112``.
    """
    if found := re.fullmatch(r"(?:cu|cuda)(\d{1,2})(?:\.cudnn\d+)?|(?:cu|cuda)(\d{1,2})(\d)(?:\.cudnn\d+)?", tag):
        if found[1] and not (tag.startswith("cu") and not tag.startswith("cuda") and len(found[1]) == 2):
            return f"cuda{found[1]}"
        digits = found[1] or found[2] + found[3]
        return f"cuda{digits[:-1]}.{digits[-1]}"
    if found := re.match(r"rocm(\d+(?:\.\d+){0,2})", tag):
        return f"rocm{found[1]}"
    return tag if tag in {"cpu", "xpu"} else ""


def _target(text: str) -> str:
    """``8.6``, ``86``, ``sm_86`` -> ``sm_86``."""
    digits = text.lower().removeprefix("sm_").removeprefix("compute_").replace(".", "")
    return f"sm_{digits}" if digits[:-1].isdigit() or digits.isdigit() else ""


def _plain(name: str) -> Callable[[str], dict[str, Any]]:
    return lambda text: {name: text}


def _torch(**given: str) -> dict[str, Any]:
    return {"builds": {"torch": given}}


# Group name -> the facts it states. Other groups (``need``, ``symbol``, ``requirement``) are for the rules alone.
_READERS: Final[Mapping[str, Callable[[str], dict[str, Any]]]] = {
    "driver": _plain("driver"),
    "driver_library": _plain("driver_library"),
    "fabric_manager": _plain("fabric_manager"),
    "driver_cuda": lambda text: {"driver_cuda": dotted(text)},
    "toolkit": _plain("cuda_toolkit"),
    "cudnn": lambda text: {"cudnn": cudnn_version(text)},
    "torch_cuda": lambda text: _torch(runtime=f"cuda{text}"),
    "torch_cudnn": lambda text: _torch(cudnn=cudnn_version(text)),
    "torch_cpu": lambda _: _torch(runtime="cpu"),
    "jax_cudnn": lambda text: {"builds": {"jax": {"cudnn": cudnn_version(text)}}},
    "paddle_kernels": lambda text: {"builds": {"paddlepaddle": {"kernels": tuple(map(_target, text.split()))}}},
    "kernels": lambda text: {"kernels": re.findall(r"(?:sm|compute)_\d{2,3}[af]?|gfx[0-9a-f]{3,4}", text)},
    **dict.fromkeys(("library", "dll"), lambda text: {"libraries": [Library(name=text.strip("'\"."))]}),
    "torch": lambda text: {"packages": {"torch": text}},
    "numpy": lambda text: {"packages": {"numpy": text}},
    "xformers_torch": lambda text: {"builds": {"xformers": {"torch": text}}},
    "gcc": _plain("gcc"),
    "glibc": _plain("glibc"),
    "python_version": _plain("python"),
}


def facts_of(captured: Sequence[Mapping[str, str]]) -> Host:
    """The facts that captured values state together."""
    stated: dict[str, Any] = {"builds": {}, "libraries": []}
    for values in captured:
        _gpu(values, stated)
        for name, value in values.items():
            if reader := _READERS.get(name):
                _merge(stated, reader(value))
    return Host(_readings(stated))


def _gpu(values: Mapping[str, str], stated: dict[str, Any]) -> None:
    """Add a GPU that a message names, or complete the one that another message named."""
    target = _target(values.get("sm", "")) if values.get("sm") else values.get("gfx", "").lower()
    name = values.get("gpu", "").strip()
    if not target and not name:
        return
    vendor = "amd" if target.startswith("gfx") else "nvidia"
    gpus = stated.setdefault("gpus", [])
    same = next((gpu for gpu in gpus if not name or not gpu.name or gpu.name == name), None)
    if same:
        gpus.remove(same)
        name, target = name or same.name, target or same.target
    gpus.append(Gpu(name=name, vendor=vendor, target=target))


def _merge(stated: dict[str, Any], news: dict[str, Any]) -> None:
    """Lay what one message states over what others did: the first word on a fact stands."""
    for name, value in news.items():
        if name == "builds":
            for package, given in value.items():
                stated["builds"][package] = {**given, **stated["builds"].get(package, {})}
        elif name == "libraries":
            stated["libraries"].extend(value)
        elif name == "packages":
            stated["packages"] = {**value, **stated.get("packages", {})}
        elif name == "kernels":
            stated["builds"].setdefault("torch", {}).setdefault("kernels", tuple(value))
        else:
            stated.setdefault(name, value)


def _readings(stated: dict[str, Any]) -> dict[str, Reading]:
    """What was stated, as facts that say they come from the message."""
    builds = {package: Build(**given) for package, given in stated.pop("builds").items()}
    libraries = tuple(dict.fromkeys(stated.pop("libraries")))
    if builds:
        stated["builds"] = builds
    if libraries:
        stated["libraries"] = libraries
    if "gpus" in stated:
        stated["gpus"] = tuple(stated["gpus"])
    return {name: Fact(value, SOURCE) for name, value in stated.items()}
