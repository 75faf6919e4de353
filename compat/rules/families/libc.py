"""The C and C++ libraries of the system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat import versions
from compat.findings import Fix
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family
from compat.rules.stack import installed

if TYPE_CHECKING:
    from compat.facts import Gpu, Host
    from compat.matrix import Matrix, rows
    from compat.rules.signals import Hearing


from compat.rules.families.platforms import candidates, wanted


class GlibcTooOld(Rule):
    """The C library is older than the build requires.

    Why:
        Wheels state their floor in the tag (manylinux_2_28 is glibc 2.28); a C library cannot be added to a system.
    Fix:
        Use a newer system or base image, or the last release whose wheels load here.
    Sources:
        - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
        - https://github.com/pytorch/pytorch/issues/123649
    """

    area = "platform"
    platforms = ("linux", "wsl2", "wsl1")
    requires = ("musl-libc",)
    asks = ("glibc", "os", "packages")
    remedy = Fix(
        "Use a newer system or base image, or the last release whose wheels load here.",
        ("docker run --rm -it ubuntu:22.04",),
    )

    def check(
        self,
        host: Host,
        matrix: Matrix,
        signals: Hearing,
        commands: tuple[str, ...],
        wishes: tuple[str, ...],
        glibc: str | None = None,
    ) -> Outcome:
        """Glibc on the machine, or in the image, is below the floor of the wheel."""
        have = glibc or self._of_system(host, matrix)
        need = signals.value("glibc_need") or self._of_wheel(signals)
        unknown = not is_version(have) and bool(signals.value("glibc_need"))
        if need and (unknown or (is_version(have) and versions.release(have) < versions.release(need))):
            shown = f"this system has {have}" if have else "this system is older"
            return Found(
                detail=f"A library asks for glibc {need}; {shown}.",
                facts=("glibc",) if glibc else ("os",) if host.os else (),
            )
        if not is_version(have):
            return None
        floors = self._floors(host, matrix, signals, commands, wishes)
        for name, floor, row in floors:
            if versions.release(have) < versions.release(floor):
                detail = f"{name} needs glibc {floor}; this system has {have}."
                return Found(detail=detail, facts=("glibc",) if glibc else ("os",), sources=cite(matrix, row))
        return Fits(f"glibc {have} is new enough for {floors[0][0]}") if floors else None

    @staticmethod
    def _of_wheel(signals: Hearing) -> str:
        """The floor in the file name of a refused wheel: ``manylinux_2_28`` is glibc 2.28."""
        found = re.search(r"manylinux_(\d)_(\d+)", signals.value("wheel"))
        return f"{found[1]}.{found[2]}" if found else ""

    @staticmethod
    def _of_system(host: Host, matrix: Matrix) -> str:
        """The C library that the system's release came with, where none was read."""
        system = matrix.system(host.os or "")
        return system.glibc if system else ""

    @staticmethod
    def _floors(
        host: Host, matrix: Matrix, signals: Hearing, commands: tuple[str, ...], wishes: tuple[str, ...]
    ) -> list[tuple[str, str, rows.Build]]:
        """Lowest floor of what is asked for, and the floor of what is installed."""
        found = []
        for name, specifier in wanted(host, matrix, signals, commands, wishes).items():
            rows = [row for row in candidates(matrix, name, specifier) if is_version(row.glibc)]
            if rows:
                lowest = min(rows, key=lambda row: versions.release(row.glibc))
                found.append((f"{name}{specifier}", lowest.glibc, lowest))
        own = [(item.label, item.row) for item in installed(host, matrix) if item.row and not item.inferred]
        return found + [(label, row.glibc, row) for label, row in own if is_version(row.glibc)]


class LibstdcxxTooOld(Rule):
    """libstdc++ lacks symbols that the build needs.

    Why:
        A conda environment or an old base image often shadows a newer copy of the system.
    Fix:
        Update libstdc++, or put the newer copy first.
    Sources:
        - https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
    """

    area = "libraries"
    asks = ("libstdcxx",)
    remedy = Fix("Update libstdc++, or put the newer copy first.", ("@libstdcxx",))

    def check(self, signals: Hearing, libstdcxx: str | None = None) -> Outcome:
        """The libstdc++ that is loaded does not define a GLIBCXX or CXXABI version that a library asks for."""
        need = signals.value("glibcxx_need")
        if not need:
            return None
        have = f"; the loaded one ends at {libstdcxx}" if libstdcxx else ""
        return Found(detail=f"A library asks for {need} of libstdc++{have}.", facts=("libstdcxx",) if libstdcxx else ())


class MuslLibc(Rule):
    """The C library is musl, for which frameworks publish no wheels.

    Why:
        A glibc binary cannot be loaded by musl's loader.
    Fix:
        Use a glibc base image, such as debian:12-slim or ubuntu:22.04.
    Sources:
        - https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
    """

    area = "platform"
    asks = ("libc",)
    remedy = Fix("Use a glibc base image, such as debian:12-slim or ubuntu:22.04.", ("FROM debian:12-slim",))

    def check(
        self, libc: str, signals: Hearing, wishes: tuple[str, ...], gpus: tuple[Gpu, ...] | None = None
    ) -> Outcome:
        """The system uses musl (Alpine), and a framework has wheels for glibc only."""
        if libc != "musl":
            return None
        needed = wishes or signals.harmful or gpus
        return Found(detail="musl loads no glibc wheels.", facts=("libc",), severity="error" if needed else "warning")


RULES = family(MuslLibc, GlibcTooOld, LibstdcxxTooOld)
