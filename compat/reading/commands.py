"""Command lines: those that stand in a pasted text, and what one says of the case.

A line counts behind a prompt, or where it begins with a program that only a shell calls; a line that merely names a
program is none. What it says: whether it starts a container, what it installs and from which index.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

from compat.lazy import pattern
from compat.versions import wheel

# Command lines of one text that are read.
MOST: Final = 200

_PROMPT: Final = pattern(
    r"\s{0,8}(?:(?:\([\w.-]{1,40}\) ?)?(?:[\w.-]{1,40}@[\w.-]{1,60}[:\s][^\s$#>]{0,80}(?:[$#]| %)|\$) "
    r"|(?:\([\w.-]{1,40}\) ?)?(?:PS )?[A-Z]:\\[^<>|\n]{0,120}> ?)(\S.{0,2000})"
)
_CALLED: Final = pattern(
    r"\s{0,8}(?:(?:[-*+]|\d{1,2}[.)])\s{1,3}(?=pip3? install [\w. \[\]=<>~!+:/-]{1,400}$)|"
    r"[\w./~-]{1,60}\s{1,2}\$ )?(?:```|\")?[!%]?(?:sudo )?"
    r"((?:(?:nvidia-)?docker|podman|nerdctl) (?:run|build|compose|exec)\b.{0,2000}"
    r"|(?:(?:(?:Command: )?\"[^\"\n]{1,200}\"|[\w.:/\\-]{0,120}python[\w.]*) -m )?pip3? install .{1,2000}"
    r"|uv (?:sync\b.{0,2000}|(?:pip install|add|run|remove) .{1,2000})"
    r"|(?:poetry|pdm|pixi) (?:add|install|run|remove) .{1,2000}"
    r"|(?:conda|mamba|micromamba) (?:install|create) .{1,2000}"
    r"|(?:(?:singularity|apptainer) (?:run|exec|shell)|srun|kubectl (?:exec|run|apply|logs|describe)) .{1,2000})"
)
_INLINE: Final = pattern(r"(?<!`)`([^`\n]{6,400})`(?!`)")  # code inside a line of Markdown


def typed(text: str) -> tuple[str, ...]:
    r"""The command lines of a text, continued lines joined, the first :data:`MOST`; and those that its files stand for.

    >>> typed("$ docker run --rm \\\n  --gpus all IMAGE\\nit fails")
    ('docker run --rm --gpus all IMAGE',)
    """
    if not text:
        return ()
    found: list[str] = []
    for line in re.sub(r" ?\\\n\s{0,40}", " ", text).split("\n"):
        spans = _INLINE.findall(line[:2200]) if "`" in line else []
        whole = _PROMPT.match(line[:2200])
        inline = [one for span in spans if not whole and (one := _CALLED.match(span))]
        matches = inline or filter(None, [whole or _CALLED.match(line[:2200])])
        found += [match[1].strip().strip("`").removesuffix('"' * (match[1].count('"') % 2)) for match in matches]
        if len(found) >= MOST:
            break
    from compat.sources.pasted import commands

    return tuple(dict.fromkeys((*found, *commands(text))))


# --- what a line says ---

_ENGINES: Final = pattern(r"\b(docker|podman|nerdctl)(?:[ -]compose)?\b[^\n|;&]{0,40}?\b(?:run|exec|build|up|start)\b")
_KUBERNETES: Final = pattern(r"\bkubectl\b|\bhelm\b")
_SNUG: Final = pattern(
    r"\b(singularity|apptainer|enroot)\b[^\n|;&]{0,40}\b(?:run|exec|shell|start)\b|\bsrun\b[^\n|;&]{0,300} --container-"
)
_STARTS: Final = pattern(
    r"\b(?:docker|podman|nerdctl)\b[^\n|;&]{0,12}?\b(?:container )?run\b|"
    r"\b(?:singularity|apptainer)\b[^\n|;&]{0,40}?\b(?:run|exec|shell)\b"
)
_RUN: Final = pattern(r"\b(?:docker|podman|nerdctl)(?: container)? run\b")
_FLAG: Final = pattern(
    r"-[ditP]{1,4}|--(?:rm|privileged|init|tty|interactive|detach|read-only|publish-all|no-healthcheck|oom-kill-disable|quiet)"
)
_REFERENCE: Final = pattern(
    r"[a-z0-9][a-z0-9._-]{0,80}(?::\d{2,5})?(?:/[a-z0-9._-]{1,80}){0,5}(?::[\w.-]{1,80})?(?:@sha256:[0-9a-f]{64})?"
)
_SHORTENED: Final = ("...", "\u2026", " [", " compose", "-compose", "$ARGS", "$@")
_AMD_NODES: Final = ("/dev/kfd", "/dev/dri")
_JOINED: Final = pattern(
    r"--privileged|--group-add[ =](?!video\b)\S|keep-groups|--user[ =](?:0|root)\b|-u[ =](?:0|root)\b"
)
_GPU: Final = pattern(r"--gpus|--runtime[= ]nvidia|nvidia\.com/gpu|/dev/kfd|NVIDIA_VISIBLE_DEVICES|--nv|--rocm")
_CAPABILITIES: Final = pattern(r"(?:NVIDIA_DRIVER_CAPABILITIES|--gpus[ =]\S{0,80}?\bcapabilities)=([a-z0-9,]{1,60})")
_USER: Final = pattern(r"(?:--user|-u)[ =](?!0\b|root\b)[\w$(]")
_COMPILES: Final = pattern(
    r"setup\.py|\bmake\b|\bcmake\b|(?<![\w-])(?:nvcc|hipcc)\b(?!\s*$|\s{1,4}(?:-V\b|--version))|--no-build-isolation|--no-binary|make\.sh|build_ext|"
    r"pip3? install[^\n]{0,80}(?:git\+|\s-e\s|\s\.(?:\s|$)|flash[-_]attn|apex|detectron2|deepspeed)"
)
_INDEX: Final = pattern(r"/whl/(?:nightly/|test/)?(cu\d{2,3}|rocm\d+\.\d+(?:\.\d+)?|cpu|xpu)\b")
_REQUIREMENT: Final = pattern(r"([A-Za-z][\w.-]{1,40}?)(?:\[([\w,-]{0,40})\])?\s*(={1,3}|~=|>=)\s*([\d][\w.+*-]{0,24})")
_INSTALLED: Final = pattern(
    r"\b(?:pip3?|uv pip|(?:micro)?mamba|conda|uv|poetry)\s+(?:install|add|create)\b([^\n|;&]{0,400})"
)
_VALUED: Final = pattern(
    r"(?<!\S)(?:-[cnpfrit]|--(?:channel|name|prefix|file|requirement|target|python|find-links|"
    r"(?:extra-)?index(?:-url)?))[ =]\S+"
)  # options of the installers that take a value
_FOR_CUDA: Final = pattern(r"\b(?:cudatoolkit|pytorch-cuda|cuda-version|pytorch-gpu)\b")  # of conda's channels


# Substitutions that only say where somebody is, and who.
_OWN: Final = pattern(r"\$\((?:pwd|id -[ug])\)|\$\{?(?:PWD|HOME|USER|UID|GID|DISPLAY)\b\}?")


def is_plain(command: str) -> bool:
    """Whether a line is one command that substitutes nothing, so that it may be said again: a text may have more."""
    rest = _OWN.sub("", command)
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        return "`" not in rest and "$(" not in rest and not any({*word} <= {*"();<>|&"} for word in lexer if word)
    except ValueError:  # quotes that do not close
        return False


def container_of(commands: Sequence[str]) -> str:
    """The engine whose container a command runs in or builds; empty if none does."""
    for command in commands:
        if found := _ENGINES.search(command) or _SNUG.search(command):
            return found[1] or "enroot"  # by which Slurm starts containers
        if _KUBERNETES.search(command):
            return "kubernetes"
    return ""


def asks_for_gpu(command: str) -> bool:
    """Whether a container command hands over a GPU."""
    return bool(_GPU.search(command))


def image_of(commands: Sequence[str]) -> str:
    """The image that a container command names: the first word of ``run`` that is no option; empty if none is named.

    Source: docker, docs/reference/commandline/container_run.md, for the options without a value.
    """
    for command in commands:
        words = iter(command.partition(found[0])[2].split() if (found := _RUN.search(command)) else ())
        for word in words:
            if not word.startswith("-"):
                name = word.strip("\"'")
                return name if _REFERENCE.fullmatch(name) and name != "IMAGE" else ""
            if "=" not in word and not _FLAG.fullmatch(word):
                next(words, "")
    return ""


def starts_blind(commands: Sequence[str]) -> bool:
    """Whether a whole command line starts a container and hands over nothing that could be a GPU.

    A line that its writer shortened says nothing of what it left out, and a compose file stands elsewhere.
    """
    return any(
        _STARTS.search(command)
        and not asks_for_gpu(command)
        and not any(mark in command for mark in (*_SHORTENED, "--device", "--privileged", "--nvccli"))
        for command in commands
    )


def lacks_group(commands: Sequence[str]) -> bool:
    """Whether a container gets AMD's device nodes, but not the group render, to which they belong on newer systems."""
    return any(
        _ENGINES.search(command) and any(node in command for node in _AMD_NODES) and not _JOINED.search(command)
        for command in commands
    )


def by_user(commands: Sequence[str]) -> bool:
    """Whether a container command names a user that is not root."""
    options = (command.partition(image_of([command]) or "\n")[0] for command in commands if _ENGINES.search(command))
    return any(map(_USER.search, options))


def capabilities(commands: Sequence[str]) -> set[str]:
    """What of the NVIDIA driver a container command asks for by name: ``utility``; empty if it takes what is usual."""
    found = next((one[1] for line in commands if _ENGINES.search(line) and (one := _CAPABILITIES.search(line))), "")
    return {*found.split(",")} & {"all", "compute", "utility", "graphics", "video", "display"}


def builds_image(commands: Sequence[str]) -> bool:
    """Whether a command builds an image, whose steps get no GPU."""
    return any(re.search(r"\b(?:docker|podman)\b[^\n]{0,40}\bbuild\b", command) for command in commands)


def compiles(commands: Sequence[str]) -> bool:
    """Whether a command compiles GPU code on this machine."""
    return any(_COMPILES.search(command) for command in commands)


def index_variant(commands: Sequence[str]) -> str:
    """The variant of the index that a command installs from: ``cu118``, ``rocm5.4.2``; empty if none is named."""
    return next((found[1] for command in commands if (found := _INDEX.search(command))), "")


def asks_for_cuda(commands: Sequence[str]) -> bool:
    """Whether a command installs something for CUDA: the GPU is to be NVIDIA's."""
    return index_variant(commands).startswith("cu") or any(map(_FOR_CUDA.search, commands))


def requirements(commands: Sequence[str]) -> dict[str, str]:
    """Package -> version (empty if unpinned) that the commands install."""
    found: dict[str, str] = {}
    for command in commands:
        for rest in _INSTALLED.findall(command):
            for word in _VALUED.sub("", rest).split():
                plain = word.strip("\"'")
                if file := wheel(unquote(plain.partition("#")[0].rpartition("/")[2])):
                    found[file[0]] = file[1]
                elif match := _REQUIREMENT.match(plain):
                    found[match[1].lower()] = match[4]
                elif re.fullmatch(r"[A-Za-z][\w.-]*(\[[\w,-]*\])?", plain):
                    found.setdefault(plain.partition("[")[0].lower(), "")
    return found
