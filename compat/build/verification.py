"""Running the probes: in a container of an image, or right here; the same scripts, the same answers."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import compat.build.engine as engine
import compat.build.parcel as parcel
from compat import run as runner
from compat.build.outcome import Probe, Verification, findings, is_complete, read
from compat.build.peaks import weighed
from compat.errors import CannotCheckError, InputError
from compat.plan import NO_CODE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from compat.plan import Plan

LEVELS: Final = ("driver", "framework", "bench", "stress")
PLAN_LABEL: Final = "dev.envcheck.plan"
_MODULES: Final = ("torch", "tensorflow", "jax", "paddle")
_PYTHONS: Final = ("/opt/venv/bin/python", "python3", "python")
# Where our images have it, then as a distribution calls it, then as images of the python family do.
_MISSING: Final = (126, 127)
# POSIX shell, "Exit Status for Commands": found but not executable, and not found.
_FOREIGN: Final = "exec format error"
# The C library's words for ENOEXEC, as engines pass them on.
_GRACE: Final = 30.0
# Seconds beyond the deadline until the engine's own answers count as lost.
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
    client = engine.connect(timeout=timeout + 2 * _GRACE)
    try:
        found = engine.image_of(client, image)
        plan = plan or planned(found.labels or {})
        runtime = expect or (plan.runtime.replace(NO_CODE, "") if plan else "")
        modules = tuple(frameworks) or _modules(plan)
        words = parcel.words(level, expect=runtime, frameworks=modules, timeout=timeout, seconds=seconds, plan=plan)
        limits = {**engine.confinement(memory), **engine.devices(client, runtime, gpus)}
        limits |= {"platform": platform} if platform else {}
        ending = _in_container(client, found, words, limits, timeout + seconds * (level == "stress"))
        probes = _concluded(*ending[:2], timeout, ending[2])
        return _verification(image, level, probes, f"container of {image}")
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
    """
    _demand(level)
    if python:
        _demand_python(python)
    interpreter = python or sys.executable
    words = parcel.options(level, expect=expect, frameworks=frameworks, timeout=timeout, seconds=seconds)
    limit = 5 * timeout + seconds
    lines: list[str] = []
    outcome = runner.stream([interpreter, str(parcel.FOLDER / "run.py"), *words], lines.append, timeout=limit)
    if outcome.code in _MISSING and not lines:
        raise InputError(outcome.why or "cannot be started", where=interpreter, expected="a Python interpreter")
    return _verification("", level, tuple(map(_outside, _concluded(lines, outcome.code, limit))), "this machine")


def planned(labels: Mapping[str, str]) -> Plan | None:
    """The plan that an image's label holds; ``None`` if there is none or it cannot be read."""
    from compat.plan import load

    try:
        return load(json.loads(labels.get(PLAN_LABEL, "")), PLAN_LABEL).plan
    except (ValueError, RecursionError, InputError):
        return None


def _demand(level: str) -> None:
    if level not in LEVELS:
        raise InputError(f"level {level!r} is not known", where="--level", expected=", ".join(LEVELS))


def _demand_python(path: str) -> None:
    """Refuse what is no Python before it is handed our scripts: nobody knows what else it would do with them."""
    outcome = runner.run([path, "-c", _ASK], timeout=20)
    answer = re.search(r"^(\d{1,2})\.(\d{1,3})$", outcome.out.strip().rpartition("\n")[2])
    expected = "a Python interpreter, {}.{} or newer".format(*_OLDEST)
    if not outcome.ok or answer is None:
        why = outcome.why.removeprefix(f"{path} ")
        raise InputError(why or "this is no Python interpreter", where=f"--python {path}", expected=expected)
    if (int(answer[1]), int(answer[2])) < _OLDEST:
        raise InputError(f"this is Python {answer[0]}", where=f"--python {path}", expected=expected)


def _modules(plan: Plan | None) -> tuple[str, ...]:
    """Frameworks of the plan that there are probes for; a companion (torchvision) is proved by none."""
    builds = plan.builds if plan else ()
    return tuple(build.module for build in builds if build.module in _MODULES)


def _verification(image: str, level: str, probes: tuple[Probe, ...], where: str) -> Verification:
    """The results with what follows from them."""
    probes = weighed(probes)
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
) -> tuple[list[str], int, str]:
    """Start, wait, read and remove; whatever happens in between, a Ctrl-C too, the container goes.

    Returns:
        The lines that the scripts printed, the exit status (124 past the deadline, 127 without a Python), and the last
        words to standard error where the scripts never began.
    """
    for python in _PYTHONS:
        container = _created(client, image, [python, *words], limits)
        try:
            outcome = _waited(container, timeout)
        finally:
            container.remove(force=True, v=True)
        if outcome is not None:
            return outcome
    return [], 127, ""


def _created(client: Any, image: Any, command: Sequence[str], limits: Mapping[str, Any]) -> Any:
    """A container that is not started yet.

    Its file system is read-only, so a home, caches and bytecode are sent to ``/tmp`` or not written. The label lets
    whoever finds one left over (the machine lost power) know where it came from.
    """
    from docker.errors import APIError

    try:
        return client.containers.create(
            image.id,
            command[1:],
            entrypoint=[command[0]],
            environment={"HOME": "/tmp", "XDG_CACHE_HOME": "/tmp/cache", "PYTHONDONTWRITEBYTECODE": "1"},  # noqa: S108
            labels={"dev.envcheck.probe": "1"},
            **limits,
        )
    except APIError as error:
        raise CannotCheckError(f"the engine refused the container: {error.explanation or error}") from None


def _waited(container: Any, timeout: float) -> tuple[list[str], int, str] | None:
    """The outcome of one container; ``None`` if it has not the Python that was asked for."""
    from docker.errors import APIError

    try:
        container.start()
    except APIError as error:
        if _is_absent(str(error)):
            return None
        if _FOREIGN in str(error).lower():  # runc's releases differ in who tells it: the engine, or the container
            return [], 1, _FOREIGN
        raise CannotCheckError(_refusal(str(error)), hint="see `envcheck doctor`") from None
    try:
        status = int(container.wait(timeout=timeout)["StatusCode"])
    except OSError:  # the SDK passes its transport's timeouts on, which are all OSErrors
        with suppress(APIError):  # it may have come to its end just now
            container.kill()
        status = 124
    lines = container.logs(stdout=True, stderr=False).decode("utf-8", "replace").splitlines()
    if status in _MISSING and not lines:
        return None
    container.reload()
    if container.attrs.get("State", {}).get("OOMKilled"):
        status = 137
    said = "" if lines else container.logs(stdout=False, stderr=True, tail=3).decode("utf-8", "replace")
    return lines, status, " ".join(said[-400:].split())


def _is_absent(text: str) -> bool:
    return "executable file not found" in text or "no such file or directory" in text.lower()


def _refusal(text: str) -> str:
    """Why the engine could not start the container; the commonest reason in plain words."""
    if "could not select device driver" in text:
        return "the engine has no GPU runtime: it cannot give a container its GPU"
    return f"the engine could not start the container: {' '.join(text.split())[:400]}"


def _concluded(lines: Sequence[str], status: int, timeout: float, said: str = "") -> tuple[Probe, ...]:
    """All results, with one more where the scripts did not come to their own end.

    The kernel refuses a program for another processor, which the container's own program then says.
    """
    probes, begun = read(lines)
    if is_complete(lines):
        return probes
    endings = {
        124: ("probe-timeout", f"no end within {timeout:g} s"),
        127: ("image-without-python", "none of " + ", ".join(_PYTHONS) + " can be started"),
        137: ("probe-memory-short", "it was killed: the memory limit was reached, or somebody stopped it"),
    }
    unknown = ("probe-failed", f"the scripts ended with status {status}{said and ': ' + said}")
    foreign = ("container-image-arch", "its programs are for another processor than this machine's")
    code, why = foreign if _FOREIGN in said.lower() else endings.get(status, unknown)
    return (*probes, Probe(begun or "container", "fail", why, {}, code))
