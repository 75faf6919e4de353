"""Running the probes: in a container of an image, or right here; the same scripts, the same answers."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import compat.build.container as container
import compat.build.engine as engine
import compat.build.parcel as parcel
from compat import run as runner
from compat.build.heard import explained
from compat.build.outcome import Probe, Verification, findings, is_begun, is_complete, read
from compat.build.peaks import weighed
from compat.errors import CannotCheckError, InputError
from compat.plan import NO_CODE, PLAN_LABEL, RUNTIME_LABEL, VERSIONS_LABEL, Plan
from compat.reading.systems import architecture

LEVELS: Final = ("driver", "framework", "bench", "stress")
_MODULES: Final = ("torch", "tensorflow", "jax", "paddle")
_PYTHONS: Final = ("/opt/venv/bin/python", "python3", "python")
# Where our images have it, then as a distribution calls it, then as images of the python family do.
_GRACE: Final = 30.0
# Seconds beyond the deadline until the engine's own answers count as lost.
_ANSWER: Final = 20.0
# Seconds in which an interpreter has told its version, on any disk.
_OLDEST: Final = (3, 6)
# The probes' own syntax; images of that age are still run.
_ASK: Final = "print('%d.%d' % __import__('sys').version_info[:2])"
# Asked instead of starting the scripts at once: to a shell this is a syntax error, where `import os` is a program.


def verify(
    image: str,
    *,
    level: str = "framework",
    gpus: str = "all",
    timeout: float = 600.0,
    memory: int = 8 * 1024**3,
    seconds: float = 60.0,
    expect: str = "",
    frameworks: Sequence[str] = (),
    plan: Plan | None = None,
    platform: str = "",
) -> Verification:
    """Run the probes in a fresh container of an image, and leave nothing of it behind.

    What the image should be is the ``plan``, else that of its label: its Python, processor and versions are compared
    with it, whatever the level. ``expect`` and ``frameworks`` win over both where it comes to what is computed.

    Args:
        image: name or id of a local image.
        level: one of :data:`LEVELS`.
        gpus: ``all``, ``none`` or device ids with commas.
        timeout: deadline in seconds for the whole run.
        memory: limit in bytes.
        seconds: length of the stress level.
        expect: planned runtime, ``cuda12.6``.
        frameworks: modules to test; those installed if empty.
        plan: what it was built from, where that is known otherwise than by its label.
        platform: which image of a name that has several, ``linux/arm64``; the engine's own if empty.

    Raises:
        InputError: if the level is unknown, or the devices or the memory can be no engine's.
        CannotCheckError: if no engine answers, or the image is not there.
    """
    _demand(level)
    engine.demand(gpus, memory)
    client = engine.connect(timeout=timeout + 2 * _GRACE, patience=min(10.0, timeout))
    try:
        found = engine.image_of(client, image)
        plan = plan or planned(found.labels or {}, found.attrs.get("Architecture", ""))
        runtime = expect or (plan.runtime.replace(NO_CODE, "") if plan else "")
        modules = tuple(frameworks) or _modules(plan)
        words = parcel.words(level, expect=runtime, frameworks=modules, timeout=timeout, seconds=seconds, plan=plan)
        limits = {**engine.confinement(memory), **engine.devices(client, runtime, gpus)}
        limits |= {"platform": platform} if platform else {}
        limit = timeout + seconds * (level == "stress")
        ended = _in_container(client, found, words, limits, limit)
        probes = (*_unbounded(client), *_concluded(ended.lines, ended.status, timeout, ended.said))
        return _verification(image, level, probes, f"container of {image}")
    finally:
        client.close()


def clean() -> tuple[str, ...]:
    """Remove the containers that killed runs of :func:`verify` have left; their names.

    Raises:
        CannotCheckError: if no engine answers, or one of them stays.
    """
    client = engine.connect(timeout=_GRACE)
    try:
        return container.clean(client)
    finally:
        client.close()


def probe(
    level: str = "driver",
    *,
    python: str = "",
    expect: str = "",
    frameworks: Sequence[str] = (),
    timeout: float = 600.0,
    seconds: float = 60.0,
) -> Verification:
    """Run the probes on this machine, under this Python or another one.

    Raises:
        InputError: if the level or the interpreter cannot be used.
        CannotCheckError: if no program can be started here.
    """
    _demand(level)
    interpreter = _full(python) if python else sys.executable
    if python:
        _demand_python(python, interpreter, timeout)
    words = parcel.options(level, expect=expect, frameworks=frameworks, timeout=timeout, seconds=seconds)
    limit = timeout + seconds * (level == "stress")
    lines: list[str] = []
    outcome = runner.stream([interpreter, str(parcel.FOLDER / "run.py"), *words], lines.append, timeout=limit)
    if outcome.lacking:
        raise CannotCheckError(outcome.why)
    if outcome.code in container.MISSING and not lines:
        raise InputError(outcome.why or "cannot be started", where=interpreter, expected="a Python interpreter")
    return _verification("", level, tuple(map(_outside, _concluded(lines, outcome.code, limit))), "this machine")


def planned(labels: Mapping[str, str], arch: str = "") -> Plan | None:
    """The plan that an image's label holds, or what its labels tell of it; ``None`` if it has none of ours.

    ``arch``: its processor as engines name it, ``amd64``; the versions alone do not tell it.

    Raises:
        CannotCheckError: if the label of the plan cannot be read, and no other one tells what was planned.
    """
    from compat.plan import load

    told = _told(labels, architecture(arch) or arch)
    if not (text := labels.get(PLAN_LABEL, "")):
        return told
    try:
        found, why = load(json.loads(text), PLAN_LABEL).plan, "it is an answer without one"
    except InputError as fault:
        found, why = None, str(fault)
    except (ValueError, RecursionError):
        found, why = None, "it is not valid JSON"
    if not (found or told):
        hint = "build the image again, or name its plan: --plan FILE"
        raise CannotCheckError(f"the label {PLAN_LABEL} of the image holds no plan: {why}", hint=hint)
    return found or told


def _told(labels: Mapping[str, str], arch: str) -> Plan | None:
    """The plan as far as the labels of a plain Dockerfile tell it: Python, versions and their runtime."""
    from compat.plan import Plan, PlannedBuild

    runtime = labels.get(RUNTIME_LABEL, "")
    told = [word.split("==", 1) for word in labels.get(VERSIONS_LABEL, "").split()]
    if not runtime or not all(len(pair) == 2 for pair in told) or [pair[0] for pair in told[:1]] != ["python"]:
        return None
    builds = tuple(
        PlannedBuild(name=name, version=version, runtime=runtime, module=_module(name)) for name, version in told[1:]
    )
    return Plan(runtime=runtime, python=told[0][1], arch=arch, builds=builds)


def _module(name: str) -> str:
    """The module that a probe tests, by the distribution that brings it (``tensorflow-cpu``, ``paddlepaddle-gpu``)."""
    first = name.partition("-")[0].replace("paddlepaddle", "paddle")
    return first if first in _MODULES and name.partition("-")[2] in {"", "cpu", "gpu", "rocm"} else ""


def _unbounded(client: Any) -> tuple[Probe, ...]:
    """That the engine holds no limit of memory: rootless it may not, with version 1 of cgroups, and says it nowhere."""
    info = client.info()
    rootless = info.get("Rootless") or "name=rootless" in (info.get("SecurityOptions") or ())
    if not rootless or info.get("CgroupVersion") != "1":
        return ()
    return (
        Probe("container.memory", "skip", "a rootless engine holds no memory limit by version 1 of cgroups", {}, ""),
    )


def _demand(level: str) -> None:
    if level not in LEVELS:
        raise InputError(f"level {level!r} is not known", where="--level", expected=", ".join(LEVELS))


def _full(python: str) -> str:
    """A path from the current folder, in full: programs do not run there. A bare name is looked for on PATH."""
    has_folder = os.sep in python or (os.altsep or os.sep) in python
    return os.path.abspath(python) if has_folder else runner.which(python) or python  # noqa: PTH100 - links stay


def _demand_python(path: str, program: str, timeout: float) -> None:
    """Refuse what is no Python before it is handed our scripts: nobody knows what else it would do with them."""
    outcome = runner.run([program, "-c", _ASK], timeout=min(_ANSWER, timeout))
    answer = re.search(r"^(\d{1,2})\.(\d{1,3})$", outcome.out.strip().rpartition("\n")[2])
    if outcome.lacking:
        raise CannotCheckError(outcome.why)
    expected = "a Python interpreter, {}.{} or newer".format(*_OLDEST)
    if not outcome.ok or answer is None:
        why = outcome.why.removeprefix(f"{program} ")
        raise InputError(why or "this is no Python interpreter", where=f"--python {path}", expected=expected)
    if (int(answer[1]), int(answer[2])) < _OLDEST:
        raise InputError(f"this is Python {answer[0]}", where=f"--python {path}", expected=expected)


def _modules(plan: Plan | None) -> tuple[str, ...]:
    """Frameworks of the plan that there are probes for; a companion (torchvision) is proved by none."""
    builds = plan.builds if plan else ()
    return tuple(build.module for build in builds if build.module in _MODULES)


def _verification(image: str, level: str, probes: tuple[Probe, ...], where: str) -> Verification:
    """The results with what follows from them."""
    probes = explained(weighed(probes))
    return Verification(image=image, level=level, probes=probes, findings=findings(probes, where))


def _outside(item: Probe) -> Probe:
    """Outside a container, a missing driver is the machine's and not the container's."""
    if item.code == "container-no-gpu" and not any(
        Path(mark).exists() for mark in ("/.dockerenv", "/run/.containerenv")
    ):
        return replace(item, code="no-driver")
    return item


def _in_container(
    client: Any, image: Any, words: Sequence[str], limits: Mapping[str, Any], timeout: float
) -> container.Ended:
    """Run the scripts under the first of :data:`_PYTHONS` that the image has."""
    for python in _PYTHONS:
        ended = container.run(client, image, [python, *words], limits, timeout)
        if ended is not None:
            return ended
    return container.Ended(container.MISSING[1])


def _concluded(lines: Sequence[str], status: int, timeout: float, said: str = "") -> tuple[Probe, ...]:
    """All results, with one more where the scripts did not come to their own end.

    The kernel refuses a program for another processor, which the container's own program then says.
    """
    probes, begun = read(lines)
    if is_complete(lines):
        return probes
    endings = {
        container.LATE: ("probe-timeout", f"no end within {timeout:g} s"),
        container.MISSING[1]: ("image-without-python", "none of " + ", ".join(_PYTHONS) + " can be started"),
        container.KILLED: ("probe-memory-short", "it was killed: the memory limit was reached, or somebody stopped it"),
        container.REMOVED: ("probe-failed", "the container was removed by somebody else before its end"),
    }
    unknown = ("probe-failed", f"the scripts ended with status {status}{said and ': ' + said}")
    if status == 0 and not is_begun(lines):
        unknown = ("image-without-python", "its python3 ended without having run anything: it is no Python")
    foreign = ("container-image-arch", "its programs are for another processor than this machine's")
    code, why = foreign if container.FOREIGN in said.lower() else endings.get(status, unknown)
    return (*probes, Probe(begun or "container", "fail", why, {}, code))
