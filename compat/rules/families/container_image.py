"""Does the image fit the host and the work, and does it leave the driver to the host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.commands as commanded
from compat.changes import Container, System
from compat.errors import InputError
from compat.findings import Fix
from compat.reading.jetson_release import image_l4t
from compat.rules.knowledge import cuda_of_driver
from compat.rules.rule import Fits, Found, Outcome, Rule, Unsure, told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing


class ImageShipsDriver(Rule):
    """The image contains NVIDIA driver libraries.

    Why:
        The driver's libraries must be injected from the host, so that they match the kernel module.
    Fix:
        Remove the driver packages from the Dockerfile. Install cuda-toolkit or cuda-libraries, never the cuda or
        cuda-drivers meta packages.
    Sources:
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_info.c
    """

    area = "container"
    vendors = ("nvidia",)
    asks = ("libraries",)
    changes = (System("driver-remove"),)
    _MARKS: Final = ("nvidia-driver", "libnvidia-compute", "cuda-drivers", "nvidia-utils", "nvidia-compute-utils")

    def check(self, container: str, driver_packages: tuple[str, ...]) -> Outcome:
        """Inside a container, libcuda or libnvidia-ml comes from the image.

        Its version is not that of the host's driver.
        """
        found = [name for name in driver_packages if name.startswith(self._MARKS)]
        if not found:
            return None
        return Found(detail=f"Inside {container}: {', '.join(found[:3])} is installed in the image.")


class ContainerRequiresNewerDriver(Rule):
    """The image demands a newer driver than the host has.

    Why:
        The container runtime compares the image's CUDA with that of the driver before it starts anything; it knows
        minor-version compatibility only where the image states driver and brand terms for it.
    Fix:
        Upgrade the host's driver, or choose an image for an older CUDA. Where minor-version compatibility covers it,
        NVIDIA_DISABLE_REQUIRE=1 does.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/cli/libnvc.c
    """

    area = "docker"
    vendors = ("nvidia",)
    asks = ("driver", "driver_cuda", "image")

    def check(self, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """A condition in the image's NVIDIA_REQUIRE_CUDA is not met by the host's driver."""
        image_env = host.image_env
        asked = signals.value("require") or signals.value("require2")
        facts = told(driver=host.driver, driver_cuda=host.driver_cuda, image=host.image)
        if asked or "requirement-error" in signals:
            return Found(
                detail=f"The image demands {asked or 'a newer driver'}, which the host's driver does not meet.",
                facts=facts,
            )
        if release := signals.value("release"):
            return Found(detail=f"The image was built for driver {release} or later.", facts=facts)
        have = host.driver_cuda or cuda_of_driver(matrix, host.driver, host.platform)
        if not image_env and have and signals.text:
            image_env = _published(host.image or "", matrix)
        if not image_env or not have:
            return _newer_board(host.image or "", host.l4t or "")
        return self._judged(image_env, {"driver_cuda": have, "driver": host.driver or ""}, facts)

    @staticmethod
    def _judged(image_env: Mapping[str, str], have: dict[str, str], facts: tuple[str, ...]) -> Outcome:
        """Every condition of the image against the driver: the first that fails is the finding."""
        from compat.matrix.require import conditions, satisfies_require

        stated = conditions(image_env)
        for condition in stated:
            try:
                verdict = satisfies_require(condition, **have)
            except InputError as fault:
                return Unsure(str(fault))
            if verdict.satisfied is False:
                return Found(detail=f"The image's condition is not met: {verdict.why}.", facts=(*facts, "image_env"))
        return Fits("the host's driver meets the image's condition") if stated else None


def _published(image: str, matrix: Matrix) -> dict[str, str]:
    """The environment that a published image is known to state, where only its name was told."""
    repository = image.partition(":")[0].removeprefix("docker.io/")
    rows = matrix.select("images", repository=repository) if repository else ()
    wanted = f"{repository}:{image.partition(':')[2]}"
    row = next((row for row in rows if row.require and _is_tag(wanted, row.references())), None)
    return {"NVIDIA_REQUIRE_CUDA": row.require} if row else {}


def _is_tag(wanted: str, references: tuple[str, ...]) -> bool:
    """Whether a reference is one of these, or the short form of one without its system."""
    return any(name == wanted or name.startswith(f"{wanted}-ubuntu") for name in references)


def _newer_board(image: str, own: str) -> Outcome:
    """An image for a newer L4T than the Jetson has, whose driver is part of its system."""
    tagged = image_l4t(image)
    if not tagged or not own or int(tagged[:2]) <= int(own[:2]):
        return None
    return Found(
        detail=f"{image} needs the driver of L4T {tagged}; this board has L4T {own}.",
        facts=("l4t", "image"),
        fix=Fix(f"Choose an image for L4T {own}, or flash the board with a newer JetPack."),
    )


class ContainerImageArch(Rule):
    """The image is for another processor architecture than the host.

    Why:
        Emulated containers cannot use the GPU driver's libraries.
    Fix:
        Pick the image variant for the host's architecture.
    Sources:
        - https://docs.docker.com/build/building/multi-platform/
    """

    area = "container"
    changes = (Container("--platform linux/$(uname -m)", command="pull", where="linux"),)

    def check(self, arch: str, image: str) -> Outcome:
        """An image for amd64 was started on arm64, or the reverse."""
        tagged = re.search(r"[:-](amd64|x86_64|arm64|aarch64)(?:$|[-.])", image)
        same = {"amd64": "x86_64", "arm64": "aarch64"}
        if not tagged or same.get(tagged[1], tagged[1]) == same.get(arch, arch):
            return None
        return Found(detail=f"{image} is for {tagged[1]}, the host is {arch}.")


# Packages whose wheels bring CUDA sources and compile them with nvcc when they are used (DeepSpeed, op_builder).
_COMPILE_LATE: Final = frozenset({"deepspeed"})


class ImageRuntimeNotDevel(Rule):
    """The image lacks the compiler that the workload needs.

    Why:
        These images carry libraries only; nvcc and headers are in the devel flavour.
    Fix:
        Build in a devel stage and copy the wheels into the runtime stage.
    Sources:
        - https://gitlab.com/nvidia/container-images/cuda
    """

    area = "container"
    severity = "error"

    def check(
        self, host: Host, image: str, signals: Hearing, commands: tuple[str, ...], distributions: Mapping[str, str]
    ) -> Outcome:
        """Something is compiled in an image of the base or runtime flavour.

        Or a package is installed there that compiles GPU code at its first use.
        """
        flavour = re.search(r"nvidia/cuda:\S*?-(base|runtime)-", image)
        late = sorted(_COMPILE_LATE & distributions.keys())
        heard = bool(signals.pointing("toolkit-missing")) or commanded.compiles(commands)
        if not flavour or not (heard or (late and host.absent("cuda_toolkit"))):
            return None
        who = "" if heard else f" {late[0]} compiles its operators at first use."
        return Found(
            detail=f"{image} is of the {flavour[1]} flavour, without nvcc.{who}",
            facts=("image", *(() if heard else (f"packages.{late[0]}", "cuda_toolkit"))),
            severity=None if heard else "warning",
            fix=Fix(f"Use the devel flavour: {image.replace(f'-{flavour[1]}-', '-devel-')}."),
        )
