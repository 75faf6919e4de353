"""Formats that can be read: one module per family of programs, each with the same four names.

``NAME`` is what sources cite, ``LABELS`` maps a label to the reader of its value, ``recognise`` gives the lines that
betray the format, ``facts`` yields its claims from a view of the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from compat.reading.programs import (
    amd_tables,
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
    sdnext,
    session,
    show_versions,
    tensorflow,
    torch,
    unsloth,
    variables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.claims import Claim
    from compat.reading.page import Page, Pair, View
    from compat.reading.values import Reader


class Format(Protocol):
    """What a module of this package offers."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """What sources cite."""

    @property
    def LABELS(self) -> Mapping[str, Reader]:  # noqa: N802
        """Label -> reader of its value."""

    def recognise(self, page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
        """Sorted indexes of the lines that only this format prints."""

    def facts(self, view: View) -> Iterator[Claim]:
        """What the page states in this format."""


# Every format, programs before people: where two read a line the same, the first is cited.
PROGRAMS: Final[Mapping[str, Format]] = {
    "torch": torch,
    "huggingface": huggingface,
    "lerobot": lerobot,
    "openmmlab": openmmlab,
    "deepspeed": deepspeed,
    "paddle": paddle,
    "jax": jax,
    "tensorflow": tensorflow,
    "show_versions": show_versions,
    "extensions": extensions,
    "arrays": arrays,
    "applications": applications,
    "sdnext": sdnext,
    "unsloth": unsloth,
    "nvidia_smi": nvidia_smi,
    "dcgm": dcgm,
    "rocm": rocm,
    "amd_tables": amd_tables,
    "intel": intel,
    "nvcc": nvcc,
    "packages": packages,
    "machine": machine,
    "containers": containers,
    "kubernetes": kubernetes,
    "session": session,
    "variables": variables,
    "hand": hand,
}

# First word -> labels that blanks alone may part from their values, longest first.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    word: tuple(sorted((label for label in openmmlab.COLUMNS if label.split()[0] == word), key=len, reverse=True))
    for word in {label.split()[0] for label in openmmlab.COLUMNS}
}
