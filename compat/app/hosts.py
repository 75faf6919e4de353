"""Which machine is meant: this one, a file, a pasted report, or options; and its devices given their names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from compat.app.files import is_text, read_log
from compat.errors import CannotCheckError, InputError
from compat.facts import Build, Fact, Gpu, Host, Unknown

if TYPE_CHECKING:
    from compat.detect.layers import Image
    from compat.matrix import Matrix
    from compat.matrix.rows import Product


def this_machine(matrix: Matrix, *, python: str = "", timeout: float = 5.0, full: bool = False) -> Host:
    """Facts of the machine that this runs on, devices named by the matrix where no driver names them.

    ``python``: another interpreter or virtual environment to look into.

    Raises:
        InputError: if ``python`` is none.
    """
    from compat.detect import detect

    seen = detect(python=python or None, timeout=timeout, full=full)
    if python and isinstance(reading := seen.reading("packages"), Unknown):
        raise InputError(f"no interpreter to look into: {reading.why}", where=f"--python {python}")
    return named(with_kernels(seen), matrix)


def with_kernels(host: Host) -> Host:
    """The host with the kernel targets of each installed GPU build, read from its files rather than believed."""
    builds = host.builds or {}
    reading = host.reading("builds")
    read = {name: _with_kernels(name, build) for name, build in builds.items()}
    if read == builds:
        return host
    return Host({**host.readings, "builds": Fact(read, reading.source)})


def _with_kernels(name: str, build: Build) -> Build:
    """A build with the targets that its own files carry; a build that could only be read in part stays as it was."""
    from pathlib import Path

    from compat import kernels

    folder, mark, _ = build.path.partition("-packages/")
    if not mark or build.runtime in {"", "cpu"}:
        return build
    found = kernels.build_kernels(Path(f"{folder}-packages").expanduser(), name)
    return replace(build, kernels=found.targets) if found.complete and found.targets else build


def called(name: str, matrix: Matrix) -> Host:
    """A machine by the name of its host file, or ``this`` for the one that this runs on."""
    return this_machine(matrix) if name == "this" else from_file(name, matrix)


def from_file(name: str, matrix: Matrix) -> Host:
    """Facts from a host file (JSON or TOML, partial allowed), devices named.

    Raises:
        InputError: if it cannot be read or holds something that is no fact.
    """
    from compat.app.hostfile import read

    return named(read(name, matrix), matrix)


def from_report(name: str, matrix: Matrix) -> tuple[Host, str, int]:
    """Facts from a pasted report (``-`` for standard input), what its text says beside them, and its length.

    The length of what is no text is -1, that of blanks 0.
    """
    text, size = read_log(name)
    host, rest, length = from_text(text, matrix)
    return host, rest, size if length > 0 else length


def from_text(text: str, matrix: Matrix) -> tuple[Host, str, int]:
    """The same from the text itself."""
    from compat import reading

    if not is_text(text):
        return Host({}), "", -1
    found = reading.read(text)
    return named(found.host, matrix), found.rest(text), len(text) if text.strip() else 0


def with_image(image: str, host: str, matrix: Matrix, *, timeout: float = 5.0) -> Host:
    """A machine as a container of an image would find it: the machine's devices and driver, the image's software.

    ``image``: archive or layout on disk, or else the name of an image of the engine or of a registry. ``timeout``:
    seconds for all detectors of this machine.

    Raises:
        InputError: if the archive or the host file cannot be read.
        CannotCheckError: if it is no file, and no engine has it.
    """
    machine = from_file(host, matrix) if host else this_machine(matrix, timeout=timeout)
    return inside(machine, brought(image, machine.arch or ""))


def brought(image: str, arch: str) -> Host:
    """The facts of an image by itself, for a machine of that architecture.

    Raises:
        InputError: if the archive cannot be read.
        CannotCheckError: if it is no file, and no engine has it.
    """
    from compat.detect import image as images

    return images.facts(_image(image, arch), image)


def inside(machine: Host, image: Host) -> Host:
    """A machine as a container finds it: its software is that of the image."""
    from compat.detect.image import OWN

    return Host({**{name: machine.reading(name) for name in machine if name not in OWN}, **image.readings})


def _image(name: str, arch: str) -> Image:
    """An image on disk, in the engine, or else in the registry that its name begins with.

    Raises:
        CannotCheckError: if it is in none of them, or they do not answer.
    """
    from pathlib import Path

    from compat.detect import layers

    if Path(name).exists():
        return layers.read(name, arch)
    from compat.build.archives import saved

    try:
        with saved(name) as stream:
            return layers.from_stream(stream, name, arch)
    except CannotCheckError as here:
        return _in_registry(name, arch, here)


def _in_registry(name: str, arch: str, here: CannotCheckError) -> Image:
    """An image as its registry has it.

    ``arch``: which one to take of an image for several. ``here``: why it could not be read on this machine.

    Raises:
        InputError: if the registry does not have it.
        CannotCheckError: if the name has no registry, or that does not answer.
    """
    from functools import partial

    from compat.detect import layers
    from compat.registry import images, logins

    where = images.reference(name)
    if where is None:
        raise here
    choose = partial(layers.offered, arch=arch)
    return layers.from_parts(images.blobs(where, choose, logins.login(where.host)), name, arch)


def named(host: Host, matrix: Matrix) -> Host:
    """The host with each GPU's name and kernel target filled in from its PCI id or product name."""
    gpus: tuple[Gpu, ...] = host.gpus or ()
    if all(gpu.target and gpu.name for gpu in gpus):
        return host
    reading = host.reading("gpus")
    known = {key: _product(*key, matrix) for key in dict.fromkeys((gpu.pci, gpu.name) for gpu in gpus)}
    filled = tuple(_completed(gpu, known[gpu.pci, gpu.name]) for gpu in gpus)
    return Host({**host.readings, "gpus": Fact(filled, reading.source)})


def _product(pci: str, name: str, matrix: Matrix) -> Product | None:
    """The product that a PCI id or else a name means, where the matrix knows one target for it."""
    from compat.matrix.products import find_gpu

    for text in (pci, name):
        found = find_gpu(matrix, text) if text else ()
        if len({product.target for product in found}) == 1:
            return found[0]
    return None


def _completed(gpu: Gpu, product: Product | None) -> Gpu:
    """A GPU with what its product tells where the host does not."""
    if product is None:
        return gpu
    return replace(
        gpu, name=gpu.name or product.name, target=gpu.target or product.target, vendor=gpu.vendor or product.vendor
    )
