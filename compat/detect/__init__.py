"""From a machine to facts: every detector at once, each with a deadline, none with an opinion.

A detector is a module of the shape of :class:`compat.detect.base.Detector`, registered in :data:`DETECTORS`.

How a reading comes to be: every detector runs in a thread of its own against one :class:`Machine`; what has not
answered by the deadline becomes :class:`compat.facts.Unknown` with that reason; where two detectors tell one fact, a
value beats a reason and a reason beats an absence. GPUs are the exception: each detector tells what it sees of them and
:mod:`compat.detect.gpus` joins the sights by PCI address.

What this layer does not do: it looks nothing up in the matrix (a card without a driver keeps its PCI id and no name)
and it does not open the kernels inside binaries (:mod:`compat.kernels` does, for whoever asks).
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from compat import run as programs
from compat.detect import (
    accelerators,
    amd,
    boot,
    builds,
    context,
    cuda,
    engine,
    environment,
    jetson,
    kernel_modules,
    libraries,
    limits,
    macos,
    nodes,
    nvidia,
    nvml,
    packages,
    pci,
    processor,
    services,
    system,
    system_packages,
    toolkits,
    tools,
    windows,
)
from compat.detect.gpus import given, merge
from compat.detect.machine import Machine
from compat.detect.privacy import veil
from compat.detect.root import Root
from compat.detect.threads import answered
from compat.facts import CATALOGUE, Fact, Host, Reading, Unknown, checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compat.detect.base import Detector
    from compat.run import Runner

# Every detector by a short name.
DETECTORS: Final[Mapping[str, Detector]] = {
    # what may be slow starts first; of two that tell one fact, the earlier wins
    "nvidia": nvidia,
    "jetson": jetson,
    "nvml": nvml,
    "cuda": cuda,
    "tools": tools,
    "engine": engine,
    "packages": packages,
    "builds": builds,
    "libraries": libraries,
    "toolkits": toolkits,
    "amd": amd,
    "macos": macos,
    "windows": windows,
    "accelerators": accelerators,
    "pci": pci,
    "system": system,
    "processor": processor,
    "limits": limits,
    "services": services,
    "boot": boot,
    "context": context,
    "modules": kernel_modules,
    "nodes": nodes,
    "system_packages": system_packages,
    "environment": environment,
}


def detect(
    *,
    root: Root | None = None,
    run: Runner = programs.run,
    python: str | None = None,
    timeout: float = 5.0,
    full: bool = False,
) -> Host:
    """The facts of a machine, within ``timeout`` seconds whatever hangs.

    Args:
        root: the machine's surface; the machine that runs us by default.
        run: what starts programs, or replays them.
        python: an interpreter or environment folder to look into instead of the obvious one.
        timeout: seconds for everything; what has not answered by then is unknown, with that reason.
        full: whether UUIDs and people's folder names may stay.
    """
    start = time.monotonic()
    # Programs get a little less than the whole, so that their own deadline speaks first and says what hung.
    machine = Machine(root or Root(), run, start + 0.9 * timeout, python or "", full)
    questions = {name: partial(look, detector, machine) for name, detector in DETECTORS.items()}
    readings = dict(answered(questions, start + timeout))
    # a detector that hangs leaves its facts unknown; the names it would have told are in its FACTS
    for name, detector in DETECTORS.items():
        if name not in readings:
            why = Unknown(f"{detector.NAME} did not answer within {timeout:g} s", detector.SOUGHT)
            readings[name] = dict.fromkeys(detector.FACTS, why)
    found = checked(combined([readings[name] for name in DETECTORS]))
    if isinstance(found["container"], Fact) and found["container"].value:
        found["gpus"] = given(found["gpus"])
    found["hung"] = Fact(_hung(found), "this command's deadline")
    found["driver_faults"] = _faults(readings.values())
    host = Host(found)
    return veil(host, machine)


def _hung(readings: Mapping[str, Reading]) -> dict[str, str]:
    """Facts whose source did not answer in time, with the reason: a hang is a fact of its own."""
    return {
        name: reading.why
        for name, reading in readings.items()
        if isinstance(reading, Unknown) and "did not answer within" in reading.why
    }


def _faults(sights: Iterable[Mapping[str, Reading]]) -> Reading:
    """The faulty driver libraries of all detectors in one table."""
    told = [sight["driver_faults"] for sight in sights if "driver_faults" in sight]
    table = {path: what for one in told if isinstance(one, Fact) for path, what in one.value.items()}
    return Fact(table, "each asked in a process of its own")


def look(detector: Detector, machine: Machine) -> Mapping[str, Reading]:
    """One detector's readings: its own, or reasons if it failed."""
    # on a system that it does not know a detector is silent: no absence may be concluded from that
    if machine.system.name not in detector.SYSTEMS:
        return {}
    try:
        return detector.facts(machine)
    except Exception as error:  # noqa: BLE001 - a slip in one detector must not hide what the others saw
        why = Unknown(f"{detector.NAME} could not be read: {type(error).__name__}: {error}", detector.SOUGHT)
        return dict.fromkeys(detector.FACTS, why)


def combined(sights: list[Mapping[str, Reading]]) -> dict[str, Reading]:
    """One reading per catalogue name: a value beats a reason, and a reason beats an absence."""
    found: dict[str, Reading] = {}
    for name in CATALOGUE:
        told = [sight[name] for sight in sights if name in sight]
        best = min(told, key=_rank, default=Unknown("not read on this system"))
        found[name] = merge(told) if name == "gpus" else best
    return found


def _rank(reading: Reading) -> int:
    """Order of trust: a value, a reason why there is none, a known absence."""
    if isinstance(reading, Unknown):
        return 1
    return 2 if reading.value is None else 0
