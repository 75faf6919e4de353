"""Driver libraries inside an image."""

from __future__ import annotations

from typing import Final

from compat.rules.rule import Found, Outcome, Rule, family


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
    asks = ("driver_packages", "libraries", "container")
    commands = ("@driver-remove",)
    _MARKS: Final = ("nvidia-driver", "libnvidia-compute", "cuda-drivers", "nvidia-utils", "nvidia-compute-utils")

    def check(self, container: str, driver_packages: tuple[str, ...]) -> Outcome:
        """Inside a container, libcuda or libnvidia-ml comes from the image.

        Its version is not that of the host's driver.
        """
        found = [name for name in driver_packages if name.startswith(self._MARKS)]
        if not found:
            return None
        return Found(
            detail=f"Inside {container}: {', '.join(found[:3])} is installed in the image.",
            facts=("container", "driver_packages"),
        )


RULES = family(ImageShipsDriver)
