"""Native Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.rules.rule import Fits, Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.facts import Host
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed


class WindowsVcRuntimeMissing(Rule):
    """Microsoft's Visual C++ runtime is missing.

    Why:
        The DLLs need the shared C++ runtime, which Windows does not ship.
    Fix:
        Install the Visual C++ redistributable.
    Sources:
        - https://learn.microsoft.com/cpp/windows/latest-supported-vc-redist
    """

    area = "windows"
    platforms = ("windows",)
    asks = ("msvc",)
    commands = ("winget install Microsoft.VCRedist.2015+.x64",)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """A framework's DLL does not load, and the runtime is not installed."""
        if not host.absent("msvc"):
            return Fits("") if host.msvc else None
        return Found(
            detail="The runtime is not installed.",
            facts=("msvc",),
            severity="error" if "win-dll" in signals else "warning",
        )


class WindowsLongPaths(Rule):
    """Long paths are switched off on Windows.

    Why:
        Wheels hold deep trees of headers, which pass the limit of 260 characters.
    Fix:
        Switch LongPathsEnabled on, or use a short path.
    Sources:
        - https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation
    """

    severity = "warning"
    area = "windows"
    platforms = ("windows",)
    commands = (r"reg add HKLM\SYSTEM\CurrentControlSet\Control\FileSystem /v LongPathsEnabled /t REG_DWORD /d 1",)

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

    Why:
        Windows (and X servers) reset a GPU that does not answer within seconds.
    Fix:
        Raise TdrDelay and restart, or use a GPU without a display. Or use the TCC mode on supported cards, or shorter
        kernels.
    Sources:
        - https://learn.microsoft.com/windows-hardware/drivers/display/tdr-registry-keys
    """

    severity = "warning"
    area = "windows"
    asks = ("tdr_delay",)
    commands = (r"reg add HKLM\SYSTEM\CurrentControlSet\Control\GraphicsDrivers /v TdrDelay /t REG_DWORD /d 60",)

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


RULES = family(WindowsVcRuntimeMissing, WindowsLongPaths, WindowsTdrTimeout)
