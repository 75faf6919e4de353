"""Rows of base images and the conditions they carry."""

from __future__ import annotations

from compat.matrix.rows.base import Row, row


@row("images", key="repository tag flavours")
class Image(Row):
    """A base image tag, or a family of tags that differ in flavour only (table ``images``).

    Attributes:
        repository: ``nvidia/cuda``.
        tag: ``11.8.0-{flavour}-ubuntu22.04``; ``{flavour}`` stands for each of ``flavours``.
        flavours: ``base runtime devel``, or with cuDNN ``cudnn8-runtime cudnn8-devel``; empty for a plain tag.
        runtime: ``cuda11.8``, ``rocm6.2``, ``cann8.5.0``, ``cpu``.
        cuda: full toolkit version inside, ``11.8.0``; ``rocm`` likewise.
        os: ``ubuntu22.04``.
        arch: ``x86_64 aarch64``.
        status: ``active`` (rebuilt, or not known to have ended), ``eol`` (there when last seen, no rebuilds), ``gone``.
        python: Python minor that the image itself provides; empty if none.
        framework: ``torch==2.0.1`` for framework images.
        devices: targets of the devices that it holds kernels for (``ascend-910b``); empty if for any.
        require: the NVIDIA_REQUIRE_CUDA expression it carries; in TOML the name of a row of ``requires``.
        seen: day on which the tag was last seen to exist.
    """

    repository: str
    tag: str
    flavours: tuple[str, ...] = ()
    runtime: str = ""
    cuda: str = ""
    rocm: str = ""
    cudnn: str = ""
    nccl: str = ""
    os: str = ""
    arch: tuple[str, ...] = ("x86_64",)
    status: str = "active"
    python: str = ""
    framework: str = ""
    devices: tuple[str, ...] = ()
    require: str = ""
    seen: str = ""

    def references(self) -> tuple[str, ...]:
        """Full references, one per flavour: ``nvidia/cuda:11.8.0-base-ubuntu22.04``."""
        tags = [self.tag.replace("{flavour}", flavour) for flavour in self.flavours] or [self.tag]
        return tuple(f"{self.repository}:{tag}" for tag in tags)


@row("requires", key="name")
class Requirement(Row):
    """A driver condition that images share (table ``requires``); see :mod:`compat.matrix.require` for its grammar.

    Attributes:
        name: what ``Image.require`` calls it in TOML, ``12.9.1``.
        expression: value of NVIDIA_REQUIRE_CUDA.
    """

    name: str
    expression: str
