"""Forward compatibility: a libcuda from a cuda-compat package beside the host's driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.changes import Command, Example, Variable
from compat.findings import Fix
from compat.matrix.drivers import FORWARD_SEGMENTS
from compat.matrix.products import find_gpu
from compat.rules.knowledge import cuda_of_driver, is_version
from compat.rules.rule import Found, Outcome, Rule, family, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Gpu, Host
    from compat.matrix import Matrix
    from compat.matrix.rows import Product
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


def consumer(gpu: Gpu, matrix: Matrix) -> bool:
    """Whether a GPU is of the consumer line, for which NVIDIA grants no forward compatibility."""
    return _lines(gpu, matrix) == {False} and any(row.brand in {"geforce", "titan"} for row in products_of(gpu, matrix))


def data_center(gpu: Gpu, matrix: Matrix) -> bool:
    """Whether a GPU is of the data-center line."""
    return _lines(gpu, matrix) == {True}


def _lines(gpu: Gpu, matrix: Matrix) -> set[bool]:
    """Whether the products of a GPU's name or id are of the data-center line; several answers where they differ."""
    return {row.segment in FORWARD_SEGMENTS for row in products_of(gpu, matrix)}


def products_of(gpu: Gpu, matrix: Matrix) -> tuple[Product, ...]:
    """The products that a GPU may be by its name, else by its id."""
    return next((tuple(found) for text in (gpu.name, gpu.pci) if text and (found := find_gpu(matrix, text))), ())


class ForwardCompatConflict(Rule):
    """A cuda-compat libcuda is active where it does not apply.

    Why:
        Forward compatibility is limited to data-center GPUs, some workstation cards and Jetson. Errors 803 and 804 mean
        that two driver generations met in one process.
    Fix:
        Take the compat folder off the loader's path, or upgrade the host's driver. It may stand in LD_LIBRARY_PATH and
        in ld.so.conf.d.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
        - https://github.com/NVIDIA/nvidia-container-toolkit/blob/HEAD/cmd/nvidia-cdi-hook/cudacompat/cudacompat.go
    """

    area = "driver"
    vendors = ("nvidia",)
    asks = ("libraries", "gpus", "driver", "env", "image")
    changes = (
        Variable("LD_LIBRARY_PATH"),
        Command("sudo rm -f /etc/ld.so.conf.d/*compat*.conf && sudo ldconfig", "linux"),
    )

    def check(self, host: Host, matrix: Matrix, signals: Hearing, distributions: Mapping[str, str]) -> Outcome:
        """The loader picks libcuda from a compat folder, where it may not.

        The GPU is of the consumer line, or the host's driver is newer than that libcuda.
        """
        active = next((item for item in host.libraries or () if item.origin == "compat" and item.loaded), None)
        geforce = next((gpu for gpu in host.gpus or () if consumer(gpu, matrix)), None)
        if active and (geforce or _older(active.version, host.driver)):
            where = geforce.name if geforce else f"driver {host.driver}"
            return Found(detail=f"{active.path or active.name} is loaded as the driver, but {where} may not use it.")
        heard = signals.get("compat-804", "combination-803")
        if not heard:
            return None
        compat = next((name for name in distributions if name.startswith("cuda-compat")), "")
        path = (host.env or {}).get("LD_LIBRARY_PATH", "")
        if compat or "compat" in path or heard.signal.signal == "compat-804":
            facts = (*((f"packages.{compat}",) if compat else ()), *told(gpus=host.gpus, image=host.image))
            return Found(detail=f"{heard.signal.meaning} {compat}".strip(), facts=facts)
        if host.image or host.container:
            detail = "The program runs in an image, whose libcuda differs from the driver of the host."
            return Found(detail=detail, facts=("image",) if host.image else ("container",), confidence="likely")
        return None


def _older(compat: str, driver: str | None) -> bool:
    """Whether the compat library is not newer than the host's driver, so that it is of no use."""
    return is_version(compat) and is_version(driver) and versions.release(compat) <= versions.release(driver or "")


class ForwardCompatAvailable(Rule):
    """A cuda-compat package could make this build run.

    Why:
        There, a newer CUDA user space may run on an older kernel driver without touching the host.
    Fix:
        Add the package cuda-compat-<major>-<minor> to the image. The container toolkit enables it.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html
    """

    severity = "info"
    area = "driver"
    vendors = ("nvidia",)
    requires = ("driver-too-old-for-runtime",)
    changes = (Example("apt-get install -y cuda-compat-<major>-<minor>"),)

    def check(
        self, host: Host, matrix: Matrix, driver: str, gpus: tuple[Gpu, ...], installed: tuple[Installed, ...]
    ) -> Outcome:
        """The driver is of an older CUDA major than the build, and the GPU is a data-center part."""
        have = cuda_of_driver(matrix, driver, host.platform)
        if not have or not gpus or not all(data_center(gpu, matrix) for gpu in gpus):
            return None
        for item in installed:
            if item.cuda and versions.major(item.cuda) > versions.major(have):
                name = f"cuda-compat-{item.cuda.replace('.', '-')}"
                fix = Fix(f"Add {name} to the image.", changes=(Command(f"apt-get install -y {name}", "linux"),))
                return Found(
                    detail=f"{gpus[0].name} may run {item.label} with {name}.",
                    facts=("driver", "gpus", item.fact),
                    fix=fix,
                )
        return None


RULES = family(ForwardCompatConflict, ForwardCompatAvailable)
