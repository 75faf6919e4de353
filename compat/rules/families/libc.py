"""The C and C++ libraries of the system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import compat.joints.libc as joint
from compat import versions
from compat.changes import Container, System
from compat.joints.verdict import Clash, any_of
from compat.rules.knowledge import cite, is_version
from compat.rules.rule import Fits, Found, Outcome, Rule, family, told
from compat.rules.together import clashing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.together import Here


from compat.rules.wanted import candidates


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
    changes = (Container("--rm -it", image="ubuntu:22.04"),)

    def check(
        self, host: Host, matrix: Matrix, signals: Hearing, wanted: Mapping[str, str], here: tuple[Here, ...]
    ) -> Outcome:
        """Glibc on the machine, or in the image, is below the floor of the wheel."""
        system = matrix.system(host.os or "")
        have = host.glibc or (system.glibc if system else "")
        facts = told(glibc=host.glibc) or told(os=host.os)
        need = signals.value("glibc_need") or self._of_wheel(signals)
        unknown = not is_version(have) and bool(signals.value("glibc_need"))
        if need and (unknown or (is_version(have) and versions.release(have) < versions.release(need))):
            shown = f"this system has {have}" if have else "this system is older"
            return Found(
                detail=f"A library asks for glibc {need}; {shown}.",
                facts=facts,
            )
        if not is_version(have):
            return None
        this = f"this system has {have}"
        for name, specifier in wanted.items():
            found = any_of(joint.verdict(row, have) for row in candidates(matrix, name, specifier))
            if isinstance(found, Clash):
                return Found(
                    detail=f"{found.why}; this system has {have}.", facts=facts, sources=cite(matrix, *found.rows)
                )
        this = f"this system has {have}"
        found_here = clashing(here, lambda part: joint.verdict(part.build, have), matrix, this=this, facts=facts)
        floors = [item.label for item in here if any(part.build.glibc for part in item.parts)]
        return found_here or (Fits(f"glibc {have} is new enough for {floors[0]}") if floors else None)

    @staticmethod
    def _of_wheel(signals: Hearing) -> str:
        """The floor in the file name of a refused wheel: ``manylinux_2_28`` is glibc 2.28."""
        found = re.search(r"manylinux_(\d)_(\d+)", signals.value("wheel"))
        return f"{found[1]}.{found[2]}" if found else ""


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
    changes = (System("libstdcxx"),)

    def check(self, host: Host, signals: Hearing) -> Outcome:
        """The libstdc++ that is loaded does not define a GLIBCXX or CXXABI version that a library asks for."""
        need = signals.value("glibcxx_need")
        if not need:
            return None
        have = f"; the loaded one ends at {host.libstdcxx}" if host.libstdcxx else ""
        return Found(
            detail=f"A library asks for {need} of libstdc++{have}.", facts=("libstdcxx",) if host.libstdcxx else ()
        )


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

    def check(
        self, host: Host, libc: str, matrix: Matrix, signals: Hearing, wanted: Mapping[str, str], here: tuple[Here, ...]
    ) -> Outcome:
        """The system uses musl (Alpine), and a package that is asked for or installed has wheels for glibc only."""
        if libc != "musl":
            return None
        for name, specifier in wanted.items():
            asked = any_of(joint.verdict(row, "", is_musl=True) for row in candidates(matrix, name, specifier))
            if isinstance(asked, Clash):
                return Found(detail=f"{asked.why}.", sources=cite(matrix, *asked.rows))
        this, facts = "this system has musl", ("libc",)
        found = clashing(here, lambda part: joint.verdict(part.build, "", is_musl=True), matrix, this=this, facts=facts)
        if found or (here and not signals.harmful):
            return found
        needed = signals.harmful or host.gpus
        return Found(detail="musl loads no glibc wheels.", facts=facts, severity="error" if needed else "warning")


RULES = family(MuslLibc, GlibcTooOld, LibstdcxxTooOld)
