"""What builds need of an image, and the images that meet such a need, whatever the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.lazy import dataclass

if TYPE_CHECKING:
    from compat.matrix.rows import Image
    from compat.plan import BaseImage


@dataclass(frozen=True, slots=True)
class Need:
    """What builds need of an image.

    Attributes:
        place: ``linux_x86_64``.
        runtime: runtime of the plan, ``cuda11.8``.
        system: what must come from the image (``cuda11.8 cudnn8``); empty if wheels bring everything.
        glibc: lowest C library.
        pythons: bit set of Pythons that suit all builds.
        board: whether the devices are Jetson boards, whose driver and CUDA libraries come from their JetPack.
        forward: whether the image must hold the cuda-compat package of the runtime.
    """

    place: str
    runtime: str
    system: tuple[str, ...]
    glibc: str
    pythons: int
    board: bool = False
    forward: bool = False


@dataclass(frozen=True, slots=True)
class Stand:
    """An image that meets a need, its Python, its row and its rank; whether it suits the target is another question."""

    python: str
    image: BaseImage
    row: Image
    rank: tuple[object, ...] = ()
