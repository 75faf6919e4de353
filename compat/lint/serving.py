"""Commands that serve a model: number formats and quantisations that the GPU which was named has no kernels for.

Sources: vLLM documentation, "vllm serve" and "Using Docker" (an image whose program is the server); SGLang
documentation, "Server Arguments"; Text Generation Inference documentation, "text-generation-launcher arguments".
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, Final

import compat.lint.bases as bases
from compat.findings import Evidence
from compat.joints import formats
from compat.joints.verdict import Clash
from compat.lint.finding import finding
from compat.matrix.rows import Format
from compat.sources.shell import line_of
from compat.sources.values import ENTRYPOINT, Ask, Command, Service

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from compat.facts import Host
    from compat.findings import Finding
    from compat.lint.bases import Base
    from compat.lint.scene import Scene
    from compat.matrix import Matrix

CODE: Final = "precision-unsupported"
# The beginning of a command -> the package whose server it starts.
_PROGRAMS: Final = (
    (re.compile(r"(?:\S*/)?vllm serve(?= )"), "vllm"),
    (re.compile(r"(?:\S*/)?python[\d.]* (?:-[A-Za-z] )*?-m vllm\.entrypoints\.(?:openai\.)?api_server(?= )"), "vllm"),
    (re.compile(r"(?:\S*/)?sglang serve(?= )"), "sglang"),
    (re.compile(r"(?:\S*/)?python[\d.]* (?:-[A-Za-z] )*?-m sglang\.launch_server(?= )"), "sglang"),
    (re.compile(r"(?:\S*/)?text-generation-launcher(?= )"), "text-generation-inference"),
)
# The end of an image's name -> the package that it holds, and whether its own program is the server.
_IMAGES: Final = {
    "vllm/vllm-openai": ("vllm", True),
    "lmsysorg/sglang": ("sglang", False),
    "huggingface/text-generation-inference": ("text-generation-inference", True),
}
# Kind of file -> the finding of a service without a GPU, and how one is asked for there.
_GIVING: Final = {
    "compose": ("container-no-gpu", {"cuda": "`gpus: all`", "rocm": "`devices: [/dev/kfd, /dev/dri]`"}),
    "kubernetes": (
        "k8s-no-gpu-resource",
        {"cuda": "`resources: {limits: {nvidia.com/gpu: 1}}`", "rocm": "`resources: {limits: {amd.com/gpu: 1}}`"},
    ),
}
DEVICES: Final = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
# Programs that compute, by the first word of what a service starts.
_COMPUTES: Final = re.compile(r"(?:\S*/)?(?:python[\d.]*|torchrun|accelerate|deepspeed)")
_RELEASE: Final = re.compile(r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)(?:-.*)?")
_SHORT: Final = {
    **dict.fromkeys(("-tp", "--tp", "--tp-size"), "--tensor-parallel-size"),
    "-q": "--quantization",
    "-pp": "--pipeline-parallel-size",
}
# Options that divide a model among GPUs, and those of a server that runs on several machines, or brings its own count.
_SPREADS: Final = ("--tensor-parallel-size", "--pipeline-parallel-size", "--num-shard")
_SEVERAL: Final = frozenset(
    {"--nnodes", "--node-rank", "--distributed-executor-backend", "--data-parallel-size", "--dp"}
)


def unsupported(scene: Scene) -> Iterator[Finding]:
    """precision-unsupported: of the steps, and of what the container starts."""
    if scene.machine is None or not scene.final:
        return
    steps = [one for one in scene.commands if one.build]
    known = {item.request.name: item.request.exact for item in scene.env}
    image = scene.base.reference if scene.base else ""
    for command in (*steps, *scene.stage.starts):
        yield from _judged(command, image, known, scene.ask, scene.matrix, scene.machine)


def services(ask: Ask, matrix: Matrix, machine: Host | None) -> Iterator[Finding]:
    """precision-unsupported, gpus-too-few, container-no-gpu, k8s-no-gpu-resource: of what services and pods start."""
    for service in ask.services:
        if ask.kind in _GIVING and not (service.gpu or service.runtime or service.extends):
            yield from _without_gpu(service, ask, matrix)
        for command in service.starts:
            if machine is not None and ask.kind == "compose":
                yield from _judged(command, service.image, {}, ask, matrix, machine)
        if service.given and len(service.starts) == 1:  # beside others it may be one of several machines (ray start)
            yield from _spread(service.starts[0], service, ask, matrix)


def _spread(command: Command, service: Service, ask: Ask, matrix: Matrix) -> Iterator[Finding]:
    """A server that is told to spread a model over more GPUs than its service gets.

    Sources: vLLM, ``vllm/config/parallel.py`` (the world size is the product of the two, and on one machine it is held
    to the number of GPUs); SGLang, "Server Arguments" (``--nnodes``); Text Generation Inference, launcher arguments.
    """
    given, package = _options(command.words), package_of(command, _held(bases.read(service.image, matrix))[0])
    sizes = [given[name] for name in _SPREADS if name in given]
    if not (package and sizes) or _SEVERAL & given.keys() or not all(value.isdecimal() for value, _ in sizes):
        return
    wanted = prod(int(value[:9]) for value, _ in sizes)
    if wanted > service.given:
        line = sizes[0][1] or command.line
        options = " ".join(f"{name} {given[name][0]}" for name in _SPREADS if name in given)
        detail = f"{service.name} asks for {wanted} GPUs by {options}, and is given {service.given}."
        yield finding("gpus-too-few", ask, line, detail)


def _without_gpu(service: Service, ask: Ask, matrix: Matrix) -> Iterator[Finding]:
    """A program of an image that is built for GPUs, in a service that asks for none and does not say that it means so.

    Sources: the Compose specification, ``deploy.resources.reservations.devices`` and ``gpus``; Kubernetes, "Schedule
    GPUs". An engine whose default runtime is NVIDIA's gives one all the same.
    """
    base = bases.read(service.image, matrix)
    made = {"cuda": f"CUDA {base.cuda}".rstrip(), "rocm": f"ROCm {base.rocm}".rstrip()}.get(base.kind, "")
    hidden = any(service.env.get(name, "all") in {"", "-1", "none", "void"} for name in DEVICES)
    named, is_server = _held(base)
    for command in service.starts[:1] if made and not hidden else ():
        words = [word for word in command.words if word != ENTRYPOINT]
        runs = package_of(command, named if is_server else "") or _COMPUTES.fullmatch(words[0] if words else "")
        if runs and not any(word.rpartition("=")[2] == "cpu" for word in words):
            code, ways = _GIVING[ask.kind]
            detail = f"{service.name} runs an image for {made} and asks for no GPU: it gets none, unless the engine"
            yield finding(
                code, ask, service.image_line, f"{detail} gives one unasked.", severity="warning",
                confidence="likely", fix=f"Add {ways[base.kind]} to {service.name}.",
            )  # fmt: skip


def _held(base: Base) -> tuple[str, bool]:
    """The package that an image holds, and whether the image's own program is its server."""
    return next((_IMAGES[end] for end in _IMAGES if base.repository.endswith(end)), ("", False))


def _judged(
    command: Command, image: str, known: dict[str, str], ask: Ask, matrix: Matrix, machine: Host
) -> Iterator[Finding]:
    """The options of a server that a GPU of the machine has no kernels for.

    ``image``: that it runs in; empty if not known. ``known``: packages that are there -> their versions.
    """
    base = bases.read(image, matrix)
    name, is_server = _held(base)
    package = package_of(command, name if is_server else "")
    if not package:
        return
    tag = _RELEASE.fullmatch(base.tag)
    version = known.get(package, "").partition("+")[0] or (tag[1] if tag and name == package else "")
    rows = formats.of_release(matrix, package, version)
    build = f"{package} {version}".rstrip()
    given = _options(command.words)
    for option, (value, line) in given.items() if given.get("--device", ("", 0))[0] != "cpu" else ():
        asked = _asked(rows, option, value)
        for gpu in machine.gpus or () if _is_whole(asked, matrix, package, option, value) else ():
            found = formats.verdict(asked, build, gpu.target or "")
            if isinstance(found, Clash):
                shown = gpu.name or gpu.target or ""
                yield finding(
                    CODE,
                    ask,
                    line or command.line,
                    f"{shown} ({gpu.target}) does not run {option} {value}: {found.why}.",
                    evidence=(Evidence("gpus", shown, machine.source("gpus")),),
                    fix=_nearest(rows, found, option, gpu.target or ""),
                    sources=tuple(map(matrix.cite, found.rows)),
                )


def package_of(command: Command, server: str = "") -> str:
    """The package whose server a command surely starts; ``server`` is that of the image's own program."""
    if command.branch:
        return ""
    own = command.words[:1] == (ENTRYPOINT,)
    words = command.words[1:] if own else command.words
    text = " ".join(words) + " "
    return next((package for program, package in _PROGRAMS if program.match(text)), server if own else "")


def _options(words: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Option -> its value and line; of one given twice the last counts."""
    found = {}
    for number, word in enumerate(words):
        name, equals, value = word.partition("=")
        name = _SHORT.get(name, name if "." in name else name.replace("_", "-"))
        if name.startswith("--"):
            following = words[number + 1] if number + 1 < len(words) else ""
            found[name] = (value if equals else following, line_of(word, 0))
    return found


def _asked(rows: Sequence[Format], option: str, value: str) -> tuple[Format, ...]:
    """The kernels that an option asks for; ``--dtype`` asks for arithmetic in a format."""
    if option == "--dtype":
        return formats.computing(row for row in rows if row.format == formats.named(value))
    return tuple(row for row in rows if value in _values(row, option))


def _values(row: Format, option: str) -> tuple[str, ...]:
    """The values of an option that ask for a row's kernels: ``--quantization awq_marlin, gptq_marlin`` has two."""
    name, _, values = row.options.replace("=", " ").partition(" ")
    return tuple(values.split(", ")) if name == option else ()


def _is_whole(asked: Sequence[Format], matrix: Matrix, package: str, option: str, value: str) -> bool:
    """Whether the rows of a release tell of weights alone too, where those of other releases do."""
    every = _asked(formats.of_release(matrix, package, ""), option, value)
    return any(row.weights for row in asked) or not any(row.weights for row in every)


def _nearest(rows: Sequence[Format], clash: Clash, option: str, target: str) -> str:
    """What the GPU runs instead: weights alone in the format, what the row names, or other values of the option."""
    row = next(one for one in clash.rows if isinstance(one, Format))
    others = [f"{option} {value}" for one in rows if formats.runs(one, target) for value in _values(one, option)]
    text = formats.weights_alone(rows, row.format, target) or row.instead
    if not text and others:
        text = f"take a model whose weights are in a format that runs there: {', '.join(dict.fromkeys(others))}"
    return f"{text[:1].upper()}{text[1:]}." if text else ""


RULES: Final = (unsupported,)
