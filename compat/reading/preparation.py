"""The host as the rules see it: what a message states is laid under what was read, and names are completed.

Four things are added, each with its own source: facts that the error text states, kernel targets of GPUs that are
known by name alone, "inside a container" and its image where the command that failed is a container's own, and the
release of a Jetson that the system's name tells.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import compat.reading.commands as told
from compat import versions
from compat.facts import Build, Fact, Gpu, Host, Reading
from compat.matrix.drivers import INTEGRATED
from compat.matrix.products import find_gpu
from compat.reading.jetson_release import board

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.matrix import Matrix
    from compat.reading.messages import Hearing

T = TypeVar("T", Build, Gpu)


def prepared(host: Host, signals: Hearing, matrix: Matrix, commands: tuple[str, ...]) -> Host:
    """The host with what the message and the commands state laid under it."""
    readings: dict[str, Reading] = {**host.readings}
    stated = signals.host.readings
    merged = {**stated, **{name: reading for name, reading in readings.items() if isinstance(reading, Fact)}}
    unknown = {name: reading for name, reading in readings.items() if name not in merged}
    merged.update(unknown)
    for name, merge in (
        ("builds", _builds),
        ("gpus", lambda ours, theirs: _gpus(ours, theirs, matrix)),
        ("libraries", _libraries),
        ("packages", lambda ours, theirs: {**theirs, **ours}),
    ):
        ours, theirs = readings.get(name), stated.get(name)
        if isinstance(ours, Fact) and isinstance(theirs, Fact) and ours.value:
            merged[name] = Fact(merge(ours.value, theirs.value), f"{ours.source}; {theirs.source}")
    logs = {"compose": "docker", "cluster": "kubernetes"}  # by Compose, under its service's name; of kubectl
    logged = next((kind for name, kind in logs.items() if signals.said.get(name)), "")
    if "container" not in merged and (kind := told.container_of(commands) or logged):
        merged["container"] = Fact(kind, "error text" if kind is logged else "command")
    if "image" not in merged and (image := told.image_of(commands)):
        merged["image"] = Fact(image, "command")
    merged.update(board(Host(merged), signals.text, matrix))
    return _with_targets(Host(merged), matrix)


def _filled(ours: T, theirs: T) -> T:
    """A record with its blanks filled from another's."""
    blanks = {
        item.name: getattr(theirs, item.name) for item in fields(ours) if getattr(ours, item.name) in ("", None, ())
    }
    return replace(ours, **blanks)


def _builds(ours: Mapping[str, Build], theirs: Mapping[str, Build]) -> dict[str, Build]:
    both = {name: _filled(build, theirs[name]) for name, build in ours.items() if name in theirs}
    return {**theirs, **ours, **both}


def _gpus(ours: tuple[Gpu, ...], theirs: tuple[Gpu, ...], matrix: Matrix) -> tuple[Gpu, ...]:
    """Our GPUs, with the targets that the text states for a GPU of that name, or for the only one.

    A target of processors alone that is not ours is the GPU of the processor, beside ours.
    """
    named = {gpu.name: gpu for gpu in theirs}
    stated = theirs[0] if len(theirs) == 1 and not theirs[0].name else None
    products = {gpu.name: find_gpu(matrix, gpu.name) for gpu in ours if gpu.name}
    known = {row.target for rows in products.values() for row in rows}
    if stated and known and stated.target not in known and _is_integrated(stated.target, matrix):
        small = next((gpu for gpu in ours if not products.get(gpu.name)), None)
        told = replace(small or stated, target=stated.target, integrated=True)
        return (*(gpu for gpu in ours if gpu is not small), told)
    only = stated if len({gpu.name for gpu in ours}) == 1 else None
    return tuple(_filled(gpu, found) if (found := named.get(gpu.name) or only) else gpu for gpu in ours)


def _is_integrated(target: str, matrix: Matrix) -> bool:
    """Whether a target is of GPUs alone that are a part of the processor."""
    rows = tuple(matrix.select("gpus", target=target)) if target else ()
    return bool(rows) and all(row.segment in INTEGRATED for row in rows)


def _libraries(ours: tuple[Any, ...], theirs: tuple[Any, ...]) -> tuple[Any, ...]:
    known = {library.name for library in ours}
    return (*ours, *(library for library in theirs if library.name not in known))


def _with_targets(host: Host, matrix: Matrix) -> Host:
    """The host with vendor and target of GPUs that are known by name alone."""
    gpus = host.gpus
    if not gpus or all(gpu.target and gpu.vendor for gpu in gpus):
        return host
    driver = host.driver if host.driver and versions.is_release(host.driver) else "0"
    done = tuple(_completed(gpu, matrix, driver) for gpu in gpus)
    return Host({**host.readings, "gpus": Fact(done, host.source("gpus"))})


def _completed(gpu: Gpu, matrix: Matrix, driver: str) -> Gpu:
    """A GPU with vendor and target of the product of its name, where the name and the driver's branch tell them."""
    products = find_gpu(matrix, gpu.pci or gpu.name) if (gpu.pci or gpu.name) and not gpu.target else ()
    rows = {one.target: matrix.capability(one.target) for one in products}
    last = {target: int(row.last_driver[1:]) for target, row in rows.items() if row and row.last_driver}
    past = {target for target, branch in last.items() if versions.major(driver) > branch}
    products = tuple(one for one in products if one.target not in past) or products
    targets = {product.target for product in products}
    vendors = {product.vendor for product in products}
    vendor = gpu.vendor or (vendors.pop() if len(vendors) == 1 else "") or _vendor(gpu)
    return replace(gpu, vendor=vendor, target=gpu.target or (targets.pop() if len(targets) == 1 else ""))


def _vendor(gpu: Gpu) -> str:
    """The vendor that a target or a name tells."""
    from compat.reading import devices

    if gpu.target.startswith(("sm_", "gfx")):
        return "nvidia" if gpu.target.startswith("sm_") else "amd"
    return devices.vendor(gpu.name)
