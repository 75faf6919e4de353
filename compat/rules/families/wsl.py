"""The Windows Subsystem for Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Host, Library
    from compat.reading.messages import Hearing


class WslNoGpuDevice(Rule):
    """WSL2 without a GPU.

    Why:
        GPU access in WSL goes through the dxg device of a WSL2 kernel, and the driver comes from Windows.
    Fix:
        Update the Windows driver and WSL, then restart WSL.
    Sources:
        - https://docs.nvidia.com/cuda/wsl-user-guide/
    """

    area = "wsl"
    platforms = ("wsl2",)
    asks = ("driver_library",)
    commands = ("wsl --update", "wsl --shutdown")

    def check(self, host: Host, device_nodes: tuple[str, ...], signals: Hearing) -> Outcome:
        """The system is WSL2, and /dev/dxg or the driver library of Windows is missing."""
        if "/dev/dxg" in device_nodes:
            return Fits("WSL2 shows its GPU device")
        return Found(detail="There is no /dev/dxg.", severity="error" if signals.harmful or host.gpus else "warning")


class Wsl1(Rule):
    """WSL version 1 has no GPU.

    Why:
        WSL1 translates system calls and hands over no devices.
    Fix:
        Convert the distribution to version 2.
    Sources:
        - https://learn.microsoft.com/windows/wsl/compare-versions
    """

    area = "wsl"
    platforms = ("wsl1",)
    commands = ("wsl --set-version <distribution> 2",)

    def check(self, platform: str) -> Outcome:
        """The system is WSL of version 1."""
        return Found(detail="This is WSL 1.") if platform == "wsl1" else None


class WslLinuxDriverInstalled(Rule):
    """A Linux NVIDIA driver is installed inside WSL2.

    Why:
        In WSL the driver comes from Windows through /usr/lib/wsl/lib; a second one hides it.
    Fix:
        Remove the driver packages. Keep toolkit packages only.
    Sources:
        - https://docs.nvidia.com/cuda/wsl-user-guide/
    """

    area = "wsl"
    platforms = ("wsl2",)
    asks = ("driver_packages", "libraries")
    commands = ("@driver-remove",)

    def check(self, host: Host, platform: str, signals: Hearing) -> Outcome:
        """The system is WSL2, and it has a Linux driver of its own.

        Driver packages of the distribution are installed, or their libcuda is loaded first. Where neither is known, a
        driver that answers and shows no device suggests it.
        """
        if host.driver_packages is None and host.libraries is None:
            return None if host.container else self._suspected(platform, signals)
        return self._seen(platform, host.driver_packages or (), host.libraries or ())

    @staticmethod
    def _suspected(platform: str, signals: Hearing) -> Outcome:
        """Nothing was seen on disk, but libcuda found no device on a WSL2: possible, no more."""
        if platform != "wsl2" or "no-device-100" not in signals:
            return None
        detail = "A libcuda answers and finds no device: mostly it is one of a Linux driver, which knows no WSL."
        return Found(detail=detail, facts=("platform",), confidence="possible", severity="warning")

    @staticmethod
    def _seen(platform: str, driver_packages: tuple[str, ...], libraries: tuple[Library, ...]) -> Outcome:
        """A Linux driver's package, or a libcuda that is loaded from outside /usr/lib/wsl."""
        packages = [
            name for name in driver_packages if name.startswith(("nvidia-driver", "libnvidia-compute", "cuda-drivers"))
        ]
        first = next((item for item in libraries if item.name.startswith("libcuda.so") and item.loaded), None)
        if platform == "wsl2" and (packages or (first and first.path and "/wsl/" not in first.path)):
            shown = packages[0] if packages else first.path if first else ""
            return Found(
                detail=f"{shown} hides the driver of Windows.",
                facts=("driver_packages",) if packages else ("libraries",),
            )
        return None


RULES = family(Wsl1, WslNoGpuDevice, WslLinuxDriverInstalled)
