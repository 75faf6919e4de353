"""Formats that can be read: one :class:`~compat.reading.program.Program` for each family of programs."""

from __future__ import annotations

from typing import Final

from compat.reading.programs import (
    accelerators,
    applications,
    arrays,
    containers,
    dcgm,
    deepspeed,
    extensions,
    hand,
    huggingface,
    intel,
    jax,
    kubernetes,
    lerobot,
    machine,
    nvcc,
    nvidia_smi,
    openmmlab,
    packages,
    paddle,
    rocm,
    session,
    tensorflow,
    torch,
    unsloth,
    variables,
)

_FORMATS: Final = (
    torch, huggingface, lerobot, openmmlab, deepspeed, paddle, jax, tensorflow, extensions,
    arrays, applications, unsloth, nvidia_smi, dcgm, rocm, intel, accelerators, nvcc, packages,
    machine, containers, kubernetes, session, variables, hand,
)  # fmt: skip

# Every format, programs before people: where two read a line the same, the first is cited.
PROGRAMS: Final = tuple(each.PROGRAM for each in _FORMATS)

# Labels that blanks alone may part from their values, the longest first.
_TABULAR: Final = sorted((label for program in PROGRAMS for label in program.columns), key=len, reverse=True)

# Their first word -> labels.
COLUMNS: Final = {
    word: tuple(label for label in _TABULAR if label.split()[0] == word)
    for word in {label.split()[0] for label in _TABULAR}
}
