"""The NVIDIA driver against the CUDA runtime of the builds: is it new enough."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import compat.joints.driver as joint
import compat.rules.deeds as deeds
from compat.changes import Container, Variable
from compat.findings import Fix, Severity
from compat.joints.verdict import FITS, Clash, Verdict
from compat.joints.verdict import Fits as JointFits
from compat.rules.lookups import cite, cuda_of_driver, is_older, is_version, of_board
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, told
from compat.rules.together import clashing
from compat.sentences import Sentence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host
    from compat.joints.build import Part
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing
    from compat.rules.case import Case
    from compat.rules.stack import Installed


def _build(item: Installed, case: Case, windows: bool) -> Found | None:
    """One build against the driver: by its own version where that is known, else by the CUDA that it reports."""
    driver, driver_cuda = case.host.driver, case.host.driver_cuda
    if not is_version(item.cuda):
        return None
    board = of_board(case.matrix, case.host, item)
    if isinstance(board, (Clash, JointFits)):  # the numbers of a Jetson's driver are no branch of the desktop's
        if not isinstance(board, Clash) or not is_older(board, item):
            return None
        return Found(
            detail=f"{board.why}; {item.label} is for boards with CUDA {item.cuda}.",
            facts=("l4t", item.fact),
            sources=cite(case.matrix, item.row, *board.rows),
        )
    floor = joint.floor(case.matrix, item.cuda, windows)
    need, rows = (floor.family or floor.exact, (floor.row,)) if floor else ("", ())
    own = item.row.driver if item.row else ""
    if is_version(driver):
        found = joint.verdict(case.matrix, item.cuda, driver or "", windows, own if is_version(own) else "")
        need = found.wants.removeprefix(">=") if isinstance(found, Clash) else need
        is_old = isinstance(found, Clash)
    else:
        is_old = is_version(driver_cuda) and isinstance(joint.by_cuda(case.matrix, item.cuda, driver_cuda or ""), Clash)
    if not is_old:
        return None
    have = f"Driver {driver}" if driver else f"A driver that supports CUDA {driver_cuda}"
    why = f"Upgrade the NVIDIA driver{f' to {need} or newer' if need else ''}, or install the build for an older CUDA."
    return Found(
        detail=f"{have} is too old for {item.label}" + (f", which needs {need} or newer." if need else "."),
        facts=(*told(driver=driver, driver_cuda=driver_cuda), item.fact),
        sources=cite(case.matrix, *rows),
        confidence="likely" if item.inferred else "certain",
        fix=partial(deeds.install_driver, why=why),
    )


def _published(case: Case, driver: str, windows: bool) -> Outcome:
    """Any other installed package that was built for CUDA."""

    def judge(part: Part) -> Verdict:
        return joint.of_build(case.matrix, part.build, driver, windows)

    return clashing(case.here, judge, case.matrix, this=f"driver {driver} is loaded", facts=("driver",))


class DriverTooOldForRuntime(NvidiaRule):
    """The NVIDIA driver is older than the CUDA build needs.

    Why: Within one CUDA major, precompiled code runs on any driver of that major (minor-version compatibility); a newer
        major needs a newer driver. PTX is compiled by the driver, which reads no PTX newer than itself.
    Fix: Upgrade the NVIDIA driver, or install the build for an older CUDA. On data-center GPUs cuda-compat may help.
    Sources:
        - https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
        - https://docs.nvidia.com/deploy/cuda-compatibility/frequently-asked-questions.html
    """

    area = "driver"
    # a newer driver would not help: it may not even serve the GPU, or is part of a board's system
    requires = ("arch-too-old-for-build", "jetson-generic-wheel")
    asks = ("driver", "driver_cuda", "builds", "cuda_toolkit")

    def mend(self, host: Host, matrix: Matrix) -> Fix:
        """Driver packages of this distribution."""
        return deeds.install_driver(host, matrix, self.remedy().text)

    def check(self, case: Case) -> Outcome:
        """The driver is below the lowest version on which programs of that CUDA release start.

        Or it must compile PTX that a newer toolkit wrote.
        """
        host = case.host
        if host.absent("driver") or host.platform == "darwin":
            return None
        if any(item.origin == "compat" and item.loaded for item in host.libraries or ()):
            return None  # that libcuda's CUDA counts, of which the rule about forward compatibility tells
        builds = [item for item in case.installed if item.cuda]
        windows = host.platform in {"windows", "wsl2"}
        supports = host.driver_cuda or cuda_of_driver(case.matrix, host.driver or "")
        return (
            next((found for item in builds if (found := _build(item, case, windows))), None)
            or (_published(case, host.driver or "", windows) if is_version(host.driver) else None)
            or self._jit(case, supports)
            or self._lacks(case, builds, supports)
            or (None if builds else self._toolkit(case, windows))
            or self._enough(case, [item for item in builds if not item.supposed])
            or self._unread(case)
        )

    @staticmethod
    def _enough(case: Case, builds: list[Installed]) -> Outcome:
        """The driver reaches what every build needs, and no message says otherwise."""
        driver, driver_cuda, signals = case.host.driver, case.host.driver_cuda, case.signals
        another = "insufficient-35" in signals and all(item.inferred for item in builds)  # a runtime that is not known
        if not (driver or driver_cuda) or not builds or another or "driver-too-old" in signals:
            return None
        version = driver or f"with CUDA {driver_cuda}"
        return Fits(Sentence("driver {version} is new enough for {build}", version=version, build=builds[0].label))

    @staticmethod
    def _jit(case: Case, supports: str) -> Outcome:
        """PTX of a newer toolkit met this driver."""
        signals, driver, toolkit = case.signals, case.host.driver, case.host.cuda_toolkit
        said = signals.get("ptx-toolchain", "ptx-version", "no-kernel-image", "triton-invalid-image")
        # Numba always writes PTX
        if not said and not ("numba" in case.distributions and signals.pointing("driver-too-old-for-runtime")):
            return None
        if "ptx-version" in signals and "ptx-version-file" not in signals:
            have, need = signals.value("ptx_have"), signals.value("ptx_need")
            detail = f"The driver compiles PTX up to {have}; the code is PTX {need}, from a newer toolkit."
            return Found(detail=detail, facts=told(driver=driver, cuda_toolkit=toolkit))
        jits = {"jax", "jaxlib", "numba", "cupy", "tensorflow"} & case.distributions.keys()
        if not is_version(toolkit) or not is_version(supports):
            return None
        if joint.by_cuda(case.matrix, toolkit or "", supports) == FITS:
            return None
        if not jits and not signals.get("ptx-toolchain", "triton-invalid-image"):
            return None
        which = f"Driver {driver}" if driver else "Driver"
        return Found(
            detail=f"{which} supports CUDA {supports}; toolkit {toolkit} writes code that it cannot load.",
            facts=("cuda_toolkit", *told(driver=driver)),
            confidence="likely",
            severity=None if said else "warning",
        )

    @staticmethod
    def _lacks(case: Case, builds: list[Installed], supports: str) -> Outcome:
        """A function was not found, and the build is of a later CUDA minor than the driver: it may call newer ones."""
        if not case.signals.saying("driver-lacks") or not is_version(supports):
            return None
        ahead = (item for item in builds if "." in item.cuda and is_version(item.cuda))
        late = next((item for item in ahead if joint.by_cuda(case.matrix, item.cuda, supports) != FITS), None)
        if late is None:
            return None
        detail = f"The driver supports CUDA {supports}; {late.label} asks it for more."
        return Found(detail=detail, facts=(late.fact,), confidence="likely")

    @staticmethod
    def _toolkit(case: Case, windows: bool) -> Outcome:
        """No build is known, something is said of the driver, and the toolkit beside it is newer than the driver."""
        driver, toolkit = case.host.driver or "", case.host.cuda_toolkit or ""
        said = case.signals.pointing("driver-too-old-for-runtime")
        if not said or not is_version(toolkit) or not is_version(driver):
            return None
        if not isinstance(joint.verdict(case.matrix, toolkit, driver, windows), Clash):
            return None
        detail = f"Driver {driver} is too old for programs of CUDA {toolkit}, the toolkit that is installed."
        return Found(detail=detail, facts=("driver", "cuda_toolkit"), confidence="likely")

    @staticmethod
    def _unread(case: Case) -> Outcome:
        """The message itself says that the driver is too old."""
        if not case.signals.get("driver-too-old", "ptx-version") or "ptx-version-file" in case.signals:
            return None
        host = case.host
        which = host.driver or (f"of CUDA {host.driver_cuda}" if host.driver_cuda else "in use")
        return Found(detail=f"CUDA itself says that the driver {which} is too old.")


class DriverMinorVersionLimited(NvidiaRule):
    """The build is newer than the driver, inside the same CUDA major.

    Why: Precompiled code works; what the driver itself must compile (PTX, some new interfaces) does not.
    Fix: Nothing, unless a run-time compiler fails: then upgrade the driver.
    Sources: https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    """

    severity = "info"
    area = "driver"
    requires = ("driver-too-old-for-runtime",)

    def check(self, driver_cuda: str, installed: tuple[Installed, ...], matrix: Matrix) -> Outcome:
        """The build's CUDA minor is above what the driver reports, and the driver reaches the floor of the major."""
        for item in installed:
            if "." not in item.cuda or not is_version(driver_cuda) or not is_version(item.cuda):
                continue
            if joint.by_cuda(matrix, item.cuda, driver_cuda) == joint.MINOR:
                detail = f"{item.label} on a driver of CUDA {driver_cuda}: precompiled code runs, PTX may not."
                return Found(detail=detail, facts=("driver_cuda", item.fact))
        return None


class PtxJitDisabled(NvidiaRule):
    """Compiling PTX is switched off, or its library is missing.

    Why: A build without machine code for the GPU depends on the driver's PTX compiler. Containers get that library only
        with the compute capability of the driver.
    Fix: Unset CUDA_DISABLE_PTX_JIT; in containers set NVIDIA_DRIVER_CAPABILITIES=compute,utility.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html
        - https://github.com/NVIDIA/libnvidia-container/blob/HEAD/src/nvc_info.c
    """

    area = "driver"
    requires = ("container-driver-capabilities",)
    asks = ("libraries",)
    changes = (Variable("CUDA_DISABLE_PTX_JIT"), Container("-e NVIDIA_DRIVER_CAPABILITIES=compute,utility", gpus=True))
    _OFF: Final = ("CUDA_DISABLE_PTX_JIT", "CUDA_DISABLE_JIT")

    def check(self, env: Mapping[str, str], signals: Hearing) -> Outcome:
        """CUDA_DISABLE_PTX_JIT is set, or libnvidia-ptxjitcompiler cannot be loaded."""
        name = next((name for name in self._OFF if env.get(name) == "1"), "")
        if not name:
            return None
        severity: Severity = "error" if signals.pointing("ptx-jit-disabled") else "warning"
        fix = Fix(f"Unset {name}.", changes=(Variable(name),))
        detail = f"{name}=1 stops the driver from compiling PTX."
        return Found(detail=detail, facts=(f"env.{name}",), fix=fix, severity=severity)
