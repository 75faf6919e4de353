"""AMD GPUs: releases of user space and driver."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import compat.joints.driver as joint
import compat.joints.libraries as libraries
from compat import versions
from compat.changes import Variable
from compat.findings import Fix
from compat.joints.verdict import FITS, Clash, Unknown
from compat.rules.lookups import cite, is_version
from compat.rules.rule import AmdRule, Fits, Found, Outcome, Unsure
from compat.rules.together import clashing
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.joints.build import Part
    from compat.joints.verdict import Verdict
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.stack import Installed
    from compat.rules.together import Here

# Messages that have other causes more often, so that two releases near each other are no reason to suspect them.
_OPEN = ("hsa-out-of-resources", "hip-no-device")


def _newer_driver(lowest: str = "") -> Fix:
    """A kernel driver that the ROCm release accepts, or a build for one that accepts the driver."""
    least = f" to {lowest} or newer" if lowest else ""
    return Fix(f"Upgrade the amdgpu driver{least}, or install a build for an older ROCm.")


class RocmLibsMixed(AmdRule):
    """System ROCm libraries shadow the ones in the wheel.

    Why: HIP and HSA must come from one release; the path decides which copy is loaded.
    Fix: Take /opt/rocm out of LD_LIBRARY_PATH.
    Sources: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/3rd-party/pytorch-install.html
    """

    severity = "warning"
    area = "rocm"
    platforms = ("linux", "wsl2")
    asks = ("builds",)
    changes = (Variable("LD_LIBRARY_PATH"),)

    def check(self, env: Mapping[str, str], host: Host, installed: tuple[Installed, ...]) -> Outcome:
        """LD_LIBRARY_PATH names /opt/rocm and the installed wheel brings its own ROCm, of another release if known."""
        item = next((item for item in installed if item.rocm and item.name == "torch"), None)
        path = env.get("LD_LIBRARY_PATH", "")
        if item is None or "/rocm" not in path:
            return None
        if libraries.rocm(item.label, item.rocm, host.rocm or "") == FITS:
            return Fits(Sentence("the system's ROCm {version} is that of {build}", version=host.rocm, build=item.label))
        detail = f"LD_LIBRARY_PATH puts the system's ROCm before that of {item.label}."
        return Found(detail=detail, facts=("env.LD_LIBRARY_PATH", item.fact))


class RocmVersionMismatch(AmdRule):
    """ROCm user space and kernel driver, or two ROCm copies, are too far apart.

    Why: AMD tests each kernel driver with a few releases before and after; HIP and HSA must come from one release.
    Fix: Use the ROCm release that the build was made for, or a build for the installed one. A newer amdgpu serves more
        releases.
    Sources:
        - https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/user-kernel-space-compat-matrix.html
    """

    area = "rocm"
    requires = ("rocm-libs-mixed",)
    asks = ("rocm", "amdgpu", "builds")

    def check(
        self, host: Host, matrix: Matrix, signals: Hearing, installed: tuple[Installed, ...], here: tuple[Here, ...]
    ) -> Outcome:
        """The ROCm of the framework and that of the system are of different majors.

        Or the kernel driver is outside the range that the release accepts.
        """
        item = next((item for item in installed if item.rocm), None)
        heard = signals.pointing("rocm-version-mismatch")
        if found := self._soname(host.rocm, signals):
            return found
        if item and is_version(host.rocm) and is_version(item.rocm):
            other = libraries.rocm(item.label, item.rocm, host.rocm or "") != FITS
            apart = other and versions.major(host.rocm or "") != versions.major(item.rocm)
            shadowed = apart and "/opt/rocm" in signals.text and bool(signals.get("tensile-missing", "tensile-host"))
            if shadowed or (heard and other and heard.signal.signal not in _OPEN):
                detail = f"{item.label} brings ROCm {item.rocm}; ROCm {host.rocm} is on the system."
                return Found(detail=detail, facts=("rocm", item.fact), confidence="certain" if apart else "likely")
        if host.platform == "windows" and "hip-no-device" in signals:
            return self._of_windows()
        releases = [(host.rocm or "", "rocm"), (item.rocm, item.fact) if item else ("", "")]
        if not is_version(host.amdgpu):
            return None
        judged = [self._driver(one, fact, host.amdgpu or "", matrix) for one, fact in releases if is_version(one)]
        if item is None:
            judged.append(self._published(here, host.amdgpu or "", matrix))
        first = [Found, Unsure, Fits]  # a fault, then what is not known
        return min((one for one in judged if one), key=lambda one: first.index(type(one)), default=None)

    @staticmethod
    def _published(here: tuple[Here, ...], amdgpu: str, matrix: Matrix) -> Outcome:
        """Any other installed package that was built for ROCm, such as a plug-in of JAX."""

        def judge(part: Part) -> Verdict:
            return joint.amdgpu(matrix, part.number, amdgpu) if part.kind == "rocm" else FITS

        found = clashing(here, judge, matrix, this=f"amdgpu is {amdgpu}", facts=("amdgpu",))
        return replace(found, severity="warning", fix=_newer_driver()) if found else None

    @staticmethod
    def _of_windows() -> Outcome:
        """On Windows the driver brings half of the HIP runtime: one that is older shows no device to the other half."""
        detail = "The HIP runtime sees no GPU; on Windows mostly AMD's driver is older than what the program brings."
        fix = Fix("Install AMD's newest driver for Windows (Adrenalin) and restart.")
        return Found(detail=detail, facts=("platform",), confidence="possible", severity="warning", fix=fix)

    @staticmethod
    def _soname(rocm: str | None, signals: Hearing) -> Outcome:
        """A HIP library of another major than the system's ROCm is looked for: its number is ROCm's major."""
        found = re.fullmatch(r"libamdhip64\.so\.(\d+)", signals.value("library"))
        if not found or not is_version(rocm) or versions.major(rocm or "") == int(found[1]):
            return None
        return Found(detail=f"{found[0]} is of ROCm {found[1]}; ROCm {rocm} is on the system.", facts=("rocm",))

    @staticmethod
    def _driver(rocm: str, fact: str, amdgpu: str, matrix: Matrix) -> Outcome:
        """The amdgpu driver against the range of a ROCm release."""
        found = joint.amdgpu(matrix, rocm, amdgpu)
        match found:
            case Clash():
                detail, sources = f"{found.why}; amdgpu is {amdgpu}.", cite(matrix, *found.rows)
                fix = _newer_driver(found.wants.removeprefix(">="))
                return Found(detail=detail, facts=("amdgpu", fact), sources=sources, severity="warning", fix=fix)
            case Unknown():
                return Unsure(found.why) if found.rows and len(getattr(found.rows[0], "drivers", ())) == 2 else None
            case _:
                return Fits(Sentence("amdgpu {version} is inside the range of ROCm {rocm}", version=amdgpu, rocm=rocm))
