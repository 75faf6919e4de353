"""Development containers: image, features, run arguments, environment and the commands that run once it stands.

Sources: Development Containers specification, "devcontainer.json reference" (keys; comments and trailing commas are
allowed; ``hostRequirements.gpu``); devcontainers/features, src/nvidia-cuda/install.sh (the packages it installs).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from compat.sources import installers, settings, shell
from compat.sources.documents import Located, read_yaml
from compat.sources.values import Ask, Command, Install, Request, Service, Stage

_TOKEN: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|\t')
_TRAILING: Final = re.compile(r'("(?:\\.|[^"\\\n])*")|,(?=\s*[}\]])')
# Commands of the created container, in the order in which they run; ``initializeCommand`` runs on the host.
_LATER: Final = ("onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand")
_FEATURE: Final = re.compile(r"(?:.*/)?(?P<name>[\w-]+)(?::[\w.-]+)?")


def read(text: str, file: str) -> Ask:
    """What a devcontainer.json asks for.

    With ``image`` it has one stage; a Dockerfile or compose file that it builds from is named in ``files``.

    Raises:
        InputError: if it is not JSON with comments.
    """
    document = read_yaml(plain(text), file)
    image, env = document.get("image"), _environment(document)
    files = tuple(item.text for item in _files(document) if item.text)
    arguments = tuple(document.get("runArgs").items())
    gpus = _requested(arguments)
    composed, named = bool(document.get("dockerComposeFile").items()), document.get("service")
    service = Service(
        name="the container",
        devices=tuple(device for _, device in gpus),
        env={name: item.text for name, item in env.items()},
        line=document.line,
        device_line=next((line for line, device in gpus if device != "all"), _device_line(env, document)),
    )
    stages = (_stage(document, image),) if image.text else ()
    wants = any(item.text.startswith("--gpus") for item in arguments) or _needs_gpu(document)
    host, run = document.get("hostRequirements").get("gpu"), " ".join(item.text for item in arguments)
    given = bool(host.text or host.table()) or re.search(r"gpu|nvidia|/dev/dri", run) is not None
    brings = [item.line for name, item in document.get("features").table().items() if "/nvidia-cuda" in name]
    unused = [line for line, _ in gpus] if composed else brings if stages and not given else []
    return Ask(
        file=file, kind="devcontainer", stages=stages, services=(service,), files=files, gpu=wants,
        service=(named.line, named.text) if composed else (0, ""),
        unused=next(iter(unused), 0),
    )  # fmt: skip


def joined(ask: Ask, files: Sequence[Ask]) -> Ask:
    """What it asks for with what its compose files say of its service; they may include others, which add to them.

    Source: "devcontainer.json reference": ``service`` names one of ``dockerComposeFile``, beside which ``runArgs`` is
    not used.
    """
    line, name = ask.service
    if not line:
        return ask
    there = [one for file in files for one in file.services]
    found = [one for one in there if one.name == name]
    gives = any(one.gpu or one.runtime for one in found)
    names = ", ".join(dict.fromkeys(one.name for one in there))
    why = (line, f"Its compose files have no service {name}", f"Name one of theirs: {names}.")
    unused = ask.unused if there and not gives else 0
    return replace(ask, unused=unused, refused=(why,) if names and name and not found else ())


def plain(text: str) -> str:
    """JSON with comments as JSON: comments, trailing commas and tabs become blanks; every line keeps its place.

    >>> plain('{"a": 1, /* one */}')
    '{"a": 1           }'
    """
    text = _TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text)
    return _TRAILING.sub(lambda found: found[1] or " ", text)


def _files(document: Located) -> Iterator[Located]:
    """Dockerfiles and compose files that it builds from; paths are relative to the file's own folder."""
    yield document.get("dockerFile")
    yield document.get("build").get("dockerfile")
    yield from document.get("dockerComposeFile").items()


def _environment(document: Located) -> dict[str, Located]:
    return {**document.get("containerEnv").table(), **document.get("remoteEnv").table()}


def _device_line(env: dict[str, Located], document: Located) -> int:
    return next((item.line for name, item in env.items() if name.endswith("VISIBLE_DEVICES")), document.line)


def _needs_gpu(document: Located) -> bool:
    gpu = document.get("hostRequirements").get("gpu")
    return bool(gpu.table()) or gpu.text == "true"  # "optional" is content without one


def _requested(arguments: tuple[Located, ...]) -> list[tuple[int, str]]:
    """Devices that the run arguments name, each with its line: ``--gpus=device=0``, ``--gpus`` ``all``."""
    found = []
    for place, item in enumerate(arguments):
        word, equals, value = item.text.partition("=")
        following = arguments[place + 1].text if place + 1 < len(arguments) else ""
        if word in {"--gpus", "--device"}:
            asked = (value if equals else following).strip("'\" ")
            devices = asked.removeprefix("device=").split(",") if asked.startswith("device=") else [asked]
            found += [(item.line, device.strip("'\" ").partition(":")[0]) for device in devices]
    return found


def _stage(document: Located, image: Located) -> Stage:
    """The container as one stage: the image, what its features install, and the commands that follow."""
    features = document.get("features").table().items()
    pythons = {version for name, item in features if (version := _python(name, item))}
    python = pythons.pop() if len(pythons) == 1 else ""
    commands = [Command(("feature", name), item.line, build=False) for name, item in features]
    installs = [step for name, item in features for step in _feature(name, item)]
    for key in _LATER:
        for item in _scripts(document.get(key)):
            found = shell.commands(item.text, item.line)
            installs += (replace(step, python=step.python or python) for step in installers.installs(found))
            commands += (replace(command, build=False) for command in found)  # the device is there by then
    env = {name: item.text for name, item in _environment(document).items()}
    return Stage(
        base=image.text,
        written=image.text,
        line=image.line,
        installs=tuple(settings.applied(step, env) for step in installs),
        commands=tuple(commands),
        env=env,
        user=document.get("remoteUser").text or document.get("containerUser").text or "root",
    )


def _scripts(command: Located) -> Iterator[Located]:
    """A command as one script: a text, a list of words, or a table of either that run beside each other."""
    if command.table():
        for item in command.table().values():
            yield from _scripts(item)
    elif isinstance(command.value, list):
        yield Located(" ".join(item.text for item in command.items()), command.line)
    elif command.text:
        yield command


def _python(name: str, options: Located) -> str:
    """The minor version of the Python that a feature puts first on the path; empty if it brings none, or any."""
    found = _FEATURE.fullmatch(name)
    asked = re.match(r"3\.\d{1,2}(?![\d])", options.get("version").text or options.text)
    return asked[0] if asked and found and found["name"] == "python" else ""


def _feature(name: str, options: Located) -> Iterator[Install]:
    """What a feature installs, as far as it is about GPUs: nvidia-cuda brings CUDA, cuDNN and the toolkit."""
    found = _FEATURE.fullmatch(name)
    if found is None or found["name"] != "nvidia-cuda":
        return
    dashed = options.get("cudaVersion").text.replace(".", "-")
    names = [f"cuda-libraries-{dashed}"]
    names += ["libcudnn"] if options.get("installCudnn").text == "true" else []
    names += [f"cuda-toolkit-{dashed}"] if options.get("installToolkit").text == "true" else []
    requests = tuple(Request(name=item, line=options.line) for item in names)
    yield Install(manager="apt", requests=requests, line=options.line)
