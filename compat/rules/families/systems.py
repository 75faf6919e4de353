"""Systems of their own: the Windows Subsystem for Linux, native Windows, macOS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat import versions
from compat.changes import Command, Example, System
from compat.findings import Fix
from compat.lazy import pattern
from compat.rules.deeds import gpu_in_wsl, of_windows
from compat.rules.rule import Fits, Found, Outcome, Rule

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.findings import Severity
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


class Wsl1(Rule):
    """WSL version 1 has no GPU.

    Why: WSL1 translates system calls and hands over no devices.
    Fix: Convert the distribution to version 2 of WSL.
    Sources: https://learn.microsoft.com/windows/wsl/compare-versions
    """

    area = "wsl"
    platforms = ("wsl1",)
    changes = (Command("wsl --list --verbose"), Example("wsl --set-version <distribution> 2"))

    def mend(self, host: Host, matrix: Matrix) -> Fix:
        """The conversion, after a newer Windows where this one gives WSL 2 no GPU."""
        here = of_windows(host)
        if not here or versions.at_least(here, matrix.turn("wsl-gpu").version):
            return Fix("Convert the distribution to WSL 2: wsl --set-version, its name, 2.", changes=self.changes)
        return Fix(f"Update Windows, then convert to WSL 2, which {gpu_in_wsl(here, matrix)}.")

    def check(self, platform: str) -> Outcome:
        """The system is WSL of version 1."""
        return Found(detail="This is WSL 1.") if platform == "wsl1" else None


class WslNoGpuDevice(Rule):
    """WSL2 without a GPU.

    Why: GPU access in WSL goes through the dxg device of a WSL2 kernel, and the driver comes from Windows.
    Fix: Update the Windows driver and WSL, then restart WSL.
    Sources: https://docs.nvidia.com/cuda/wsl-user-guide/
    """

    area = "wsl"
    platforms = ("wsl2",)
    asks = ("driver_library",)
    changes = (Command("wsl --update"), Command("wsl --shutdown"))

    def check(self, host: Host, device_nodes: tuple[str, ...], signals: Hearing) -> Outcome:
        """The system is WSL2, and /dev/dxg or the driver library of Windows is missing."""
        if "/dev/dxg" in device_nodes:
            return Fits("WSL2 shows its GPU device")
        return Found(detail="There is no /dev/dxg.", severity="error" if signals.harmful or host.gpus else "warning")


class WslLinuxDriverInstalled(Rule):
    """A Linux NVIDIA driver is installed inside WSL2.

    Why: In WSL the driver comes from Windows through /usr/lib/wsl/lib; a second one hides it.
    Fix: Remove the driver packages. Keep toolkit packages only.
    Sources: https://docs.nvidia.com/cuda/wsl-user-guide/
    """

    area = "wsl"
    platforms = ("wsl2",)
    asks = ("driver_packages", "libraries")
    changes = (System("driver-remove"),)

    def check(self, host: Host, platform: str, signals: Hearing) -> Outcome:
        """The system is WSL2, and it has a Linux driver of its own.

        Driver packages of the distribution are installed, or their libcuda is loaded first. Where neither is known, a
        driver that answers and shows no device suggests it.
        """
        if platform != "wsl2":
            return None
        if host.driver_packages is None and host.libraries is None:
            detail = "A libcuda answers and finds no device: mostly it is one of a Linux driver, which knows no WSL."
            possible = Found(detail=detail, facts=("platform",), confidence="possible", severity="warning")
            return possible if "no-device-100" in signals and not host.container else None
        drivers = ("nvidia-driver", "libnvidia-compute", "cuda-drivers")
        package = next((name for name in host.driver_packages or () if name.startswith(drivers)), "")
        loaded = (item.path for item in host.libraries or () if item.name.startswith("libcuda.so") and item.loaded)
        path = next(loaded, "")
        if package or (path and "/wsl/" not in path):
            facts = ("driver_packages",) if package else ("libraries",)
            return Found(detail=f"{package or path} hides the driver of Windows.", facts=facts)
        return None


class WindowsVcRuntimeMissing(Rule):
    """Microsoft's Visual C++ runtime is missing.

    Why: The DLLs need the shared C++ runtime, which Windows does not ship.
    Fix: Install the Visual C++ redistributable.
    Sources: https://learn.microsoft.com/cpp/windows/latest-supported-vc-redist
    """

    area = "windows"
    platforms = ("windows",)
    asks = ("msvc",)
    changes = (Command("winget install Microsoft.VCRedist.2015+.x64"),)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """A framework's DLL does not load, and the runtime is not installed."""
        if not host.absent("msvc"):
            return Fits("") if host.msvc else None
        severity: Severity = "error" if "win-dll" in signals else "warning"
        return Found(detail="The runtime is not installed.", facts=("msvc",), severity=severity)


class WindowsLongPaths(Rule):
    """Long paths are switched off on Windows.

    Why: Wheels hold deep trees of headers, which pass the limit of 260 characters.
    Fix: Switch LongPathsEnabled on, or use a short path.
    Sources: https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation
    """

    severity = "warning"
    area = "windows"
    platforms = ("windows",)
    changes = (
        Command(r"reg add HKLM\SYSTEM\CurrentControlSet\Control\FileSystem /v LongPathsEnabled /t REG_DWORD /d 1"),
    )

    def check(self, host: Host, platform: str, signals: Hearing) -> Outcome:
        """Pip reports a path that is too long; or the switch is off, as Windows sets it, which is told as advice."""
        heard = signals.get("tdr-paths")
        if platform != "windows" or host.long_paths:
            return Fits("Windows allows long paths") if host.long_paths else None
        if heard:
            return Found(detail=heard.signal.meaning, severity="error")
        if host.long_paths is None:
            return None
        return Found(detail="Paths are limited to 260 characters.", facts=("long_paths",), severity="info")


class WindowsTdrTimeout(Rule):
    """The display watchdog ended a kernel.

    Why: Windows (and X servers) reset a GPU that does not answer within seconds.
    Fix: Raise TdrDelay and restart, or use a GPU without a display. Or use the TCC mode on supported cards, or shorter
        kernels.
    Sources: https://learn.microsoft.com/windows-hardware/drivers/display/tdr-registry-keys
    """

    severity = "warning"
    area = "windows"
    asks = ("tdr_delay",)
    changes = (
        Command(r"reg add HKLM\SYSTEM\CurrentControlSet\Control\GraphicsDrivers /v TdrDelay /t REG_DWORD /d 60"),
    )

    _SHORT: Final = 2  # seconds; what Windows takes unless it is told otherwise (Microsoft, "TDR Registry Keys")

    def check(self, host: Host, platform: str, signals: Hearing, installed: tuple[Installed, ...]) -> Outcome:
        """A kernel ran past the time that a GPU with a display may take.

        Where none did yet, a delay as short as Windows sets it is told as advice to those who compute on the GPU.
        """
        heard = signals.get("launch-timeout")
        if not platform:
            return None
        if not heard:
            computes = any(item.cuda for item in installed)
            if not computes or host.tdr_delay is None or not 0 < host.tdr_delay <= self._SHORT:
                return None
            detail = f"Windows resets a GPU whose kernel runs for more than {host.tdr_delay} s."
            return Found(detail=detail, facts=("platform", "tdr_delay"), severity="info")
        if host.tdr_delay is None:
            return Found(detail=heard.signal.meaning, severity="error")
        limit = f" Windows allows {host.tdr_delay} s." if host.tdr_delay else " The watchdog is switched off."
        return Found(detail=f"{heard.signal.meaning}{limit}", facts=("platform", "tdr_delay"), severity="error")


# Spellings of a wish for CUDA or ROCm: an extra, a package of one CUDA, an index, a local version.
_ASKED: Final = pattern(
    r"[\w-]{1,40}\[(?:and-)?cuda\d*\]|(?:nvidia|jax|cupy|torch)[\w-]{0,40}-cu(?:da)?\d{2}x?\b"
    r"|/whl/(?:cu\d{2,3}|rocm[\d.]{1,8})|\+(?:cu|rocm)\d[\d.]{0,6}"
)


class MacosNoCuda(Rule):
    """CUDA or ROCm is asked for on macOS.

    Why: Apple's systems have no current NVIDIA or ROCm support; the wheels for macOS hold no such code.
    Fix: Use device "mps", or a Linux machine with a GPU. TensorFlow has tensorflow-metal.
    Sources: https://pytorch.org/docs/stable/notes/mps.html
    """

    area = "macos"
    platforms = ("darwin",)
    requires = ("platform-unsupported",)

    def check(
        self, host: Host, platform: str, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
    ) -> Outcome:
        """The system is macOS, and a program, a command, a wish or an installed build asks for CUDA or ROCm.

        To note that there is none is no asking.
        """
        if platform != "darwin":
            return None
        wanted = next((found[0] for text in (*wishes, *commands) if (found := _ASKED.search(text))), "")
        if wanted and not signals.harmful:  # what an installer said of it tells more
            return Found(detail=f"{wanted} is asked for, and there is no CUDA or ROCm on macOS.")
        builds = host.builds or {}
        foreign = next((name for name in builds if builds[name].runtime.startswith(("cuda", "rocm"))), "")
        if foreign and not signals.harmful:
            detail = f"{foreign} is a build for {builds[foreign].runtime}, which macOS does not have."
            return Found(detail=detail, facts=("platform", f"builds.{foreign}"))
        noted = signals.get("torch-no-gpu-generic")
        line = noted.line.lower() if noted else ""
        asked = "cuda" in line and "is cuda available" not in line
        if not asked and not signals.get("torch-cpu-build", "cuda-home-unset"):
            return None
        return Found(detail="There is no CUDA on macOS.")


class MacosRosettaPython(Rule):
    """An Intel Python runs on Apple silicon.

    Why: An emulated Python cannot use the GPU and finds only old wheels.
    Fix: Install a Python for arm64.
    Sources: https://developer.apple.com/metal/pytorch/
    """

    area = "macos"
    platforms = ("darwin",)
    changes = (Command("uv python install"),)

    def check(self, host: Host, arch: str, signals: Hearing) -> Outcome:
        """The machine is arm64, and the interpreter was built for x86_64, or a build asks for what x86_64 has."""
        if arch not in {"arm64", "aarch64"}:
            return None
        if host.python_arch in {"x86_64", "amd64"}:
            facts = ("arch", "python_arch")
            return Found(detail=f"The machine is {arch}, Python is {host.python_arch}.", facts=facts)
        if host.python_arch or not signals.pointing("cpu-instructions-missing"):
            return None
        detail = f"The machine is {arch}, and what fails asks for instructions of x86_64."
        return Found(detail=detail, facts=("arch",), confidence="likely")
