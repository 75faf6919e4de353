"""Batch scripts of Slurm: the GPUs asked for, the modules loaded, and what is installed before the program starts.

Sources: Slurm documentation, sbatch (``--gres``, ``--gpus``, ``--constraint``; the first line that is neither a comment
nor blank ends the directives), and its source (``has_shebang`` of sbatch's main program: a script whose first two
characters are not ``#!`` is refused); Environment Modules and Lmod (``module load NAME/VERSION``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from compat.sources import installers, shell
from compat.sources.values import Ask, Command, Stage

_DIRECTIVE: Final = re.compile(r"^#SBATCH\s+(?P<words>[^#]*)", re.MULTILINE)
_GPU: Final = re.compile(r"(?:--gres[= ]gpu:|--gpus(?:-per-(?:node|task))?[= ])(?P<type>[A-Za-z][\w.-]*)(?::\d+)?")
_COUNT: Final = re.compile(r"--gres[= ]gpu\b|--gpus(?:-per-(?:node|task))?[= ]|-G ?\d")
_MODULE: Final = frozenset({"module", "ml"})
_TOOLKIT: Final = re.compile(
    r"(?:.*/)?(?:cuda|cudatoolkit|cuda-toolkit|nvidia-cuda)/(\d+\.\d+(?:\.\d+)?).*", re.IGNORECASE
)
_CUDNN: Final = re.compile(r"(?:.*/)?cudnn/(\d+).*", re.IGNORECASE)
_CUDA: Final = re.compile(r"(?:cuda|cudnn|cudatoolkit)(?:/.*)?", re.IGNORECASE)
_NO_PROGRAM: Final = (1, "The first line does not begin with `#!`", "Begin the file with #!/bin/bash, before all else.")
_PYTHON: Final = re.compile(r"(?:.*/)?python3?/(3\.\d{1,2}).*", re.IGNORECASE)


def read(text: str, file: str) -> Ask:
    """What a batch script asks for: its commands as one stage, on the GPU that it names."""
    words = [found["words"] for found in _DIRECTIVE.finditer(text)]
    lines = text.splitlines()
    end = next((at for at, line in enumerate(lines) if line.strip() and line[0] != "#"), len(lines))
    read_, behind = ([one for one in part if _is_of_gpu(one)] for part in (lines[:end], lines[end:]))
    types = dict.fromkeys(found["type"] for line in words if (found := _GPU.search(line)))
    commands = shell.commands(text.replace("\r", ""), 1)
    modules = tuple(_modules(commands))
    env = {name: value for command in commands for name, value in command.settings}
    why = f"`{lines[end][:60]}` ends what sbatch reads, and `{behind[0]}` stands behind it" if behind else ""
    refused = ((end + 1, why, "Put all lines of #SBATCH above the first command."),) if behind and not read_ else ()
    if not text.startswith("#!"):  # a text without directives at its head is no job: a shell may write one from it
        refused = (_NO_PROGRAM,) if commands and any(map(_DIRECTIVE.match, lines[:end])) else ()
    stage = Stage(installs=installers.installs(commands), commands=tuple(commands), env=env, modules=modules)
    python = next((found[1] for name in modules if (found := _PYTHON.fullmatch(name))), "")
    return Ask(
        file=file, kind="job", stages=(stage,), python=python, gpus=tuple(types) if len(types) == 1 else (),
        gpu=any(_COUNT.search(line) for line in words), refused=refused, unused=_gpuless(words, commands, text),
    )  # fmt: skip


def _gpuless(directives: list[str], commands: tuple[Command, ...], text: str) -> int:
    """The line of a module for CUDA, where a program runs and nothing asks for a GPU or chooses the nodes; else 0.

    A partition, a feature or a list of nodes may stand for GPUs, and what compiles or installs needs none.
    """
    chosen = any(
        re.search(r"(?:^|\s)(?:-[pwCA]\b|--(?!(?:mem|time|job|ou|err|nt|mail|cpu|no))\w)", one) for one in directives
    )
    builds = any(re.search(r"\b(?:nvcc|c?make|gcc|install|create|build)\b", one.text) for one in commands)
    runs = any(re.match(r"(?:\S*/)?(?:python3?|torchrun|srun|bash|sh) ", one.text) for one in commands)
    asks = re.search(r"gres|gpu|partition", text.lower())
    loaded = [
        one.line for one in commands if one.words[0] in _MODULE and any(_CUDA.fullmatch(word) for word in one.words)
    ]
    return loaded[0] if loaded and directives and runs and not (chosen or builds or asks) else 0


def _is_of_gpu(line: str) -> bool:
    """Whether a line is a directive that asks for a GPU."""
    found = _DIRECTIVE.match(line)
    return found is not None and _COUNT.search(found["words"]) is not None


def _modules(commands: tuple[Command, ...]) -> Iterator[str]:
    """The modules that are loaded for sure, in order."""
    for command in commands:
        words = list(command.words)
        if words[0] not in _MODULE or command.branch:
            continue
        rest = words[1:]
        if words[0] == "module" and rest[:1] not in (["load"], ["add"]):
            continue
        yield from (word for word in rest if not word.startswith("-") and word not in {"load", "add"})


def toolkit(modules: tuple[str, ...]) -> tuple[str, str]:
    """CUDA's release and cuDNN's major among modules; empty where none says it."""
    cuda = next((found[1] for name in reversed(modules) if (found := _TOOLKIT.fullmatch(name))), "")
    cudnn = next((found[1] for name in reversed(modules) if (found := _CUDNN.fullmatch(name))), "")
    return cuda, cudnn
