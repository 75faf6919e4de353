#!/usr/bin/env python3
"""Runs the probes of a level, each group in a child process with a deadline, and prints JSON lines.

Usage: ``python3 run.py --level driver|framework|bench|stress [--expect cuda12.6] [--frameworks torch,jax]
[--timeout 300] [--seconds 60] [--plan JSON]``. Exit status: 0 all passed or were skipped with a reason, 1 something failed.
"""

import argparse
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional

from kernel_files import PCI, value
from memory_watch import crowded
from reporting import Report, say, tell

_ADAPTERS = {"torch": "Torch", "tensorflow": "TensorFlow", "jax": "Jax", "paddle": "Paddle"}
FRAMEWORKS = tuple(_ADAPTERS)
LEVELS = ("driver", "framework", "bench", "stress")

_TEXTS = (
    ("DefaultCPUAllocator", "probe-memory-short"),
    ("out of memory", "out-of-memory"),  # before the next: torch's own exception is an OutOfMemoryError
    ("MemoryError", "probe-memory-short"),
    ("bad_alloc", "probe-memory-short"),
    ("Cannot allocate memory", "probe-memory-short"),
    ("no kernel image is available", "arch-too-new-for-build"),
    ("invalid device function", "arch-too-new-for-build"),
    ("No space left on device", "disk-space-low"),
    ("driver version is insufficient", "driver-too-old-for-runtime"),
    ("driver on your system is too old", "driver-too-old-for-runtime"),
    ("Found no NVIDIA driver", "container-no-gpu"),
    ("no CUDA-capable device", "container-no-gpu"),
    ("GLIBC_", "glibc-too-old"),
    ("GLIBCXX_", "libstdcxx-too-old"),
    ("cannot open shared object file", "library-missing"),
    ("undefined symbol", "library-mismatch"),
    ("No module named", "probe-failed"),
    ("numpy.core", "numpy-abi-mismatch"),
    ("_ARRAY_API", "numpy-abi-mismatch"),
)
# What errors say and the finding that each points to; the first that fits wins.

_SIGNALS = {
    "SIGILL": ("cpu-instructions-missing", "the processor lacks an instruction that the build uses"),
    "SIGBUS": ("shm-too-small", "shared memory ran out"),
    "SIGKILL": ("probe-memory-short", "the process was killed, as a rule because memory ran out"),
    "SIGSEGV": ("library-mismatch", "a library crashed"),
    "SIGABRT": ("library-mismatch", "a library gave up"),
}


def guess(text: str) -> str:
    """The finding that an error's text points to."""
    return next((code for part, code in _TEXTS if part in text), "probe-failed")


def groups(level: str, expect: str, chosen: List[str]) -> List[str]:
    """What to run, in order: the drivers of the plan or of the devices that are there, then the frameworks."""
    drivers = drivers_of(expect)
    if level == "driver":
        return drivers
    if level in ("bench", "stress"):
        return drivers + ["%s-%s" % (level, name) for name in drivers + (["torch"] if "torch" in chosen else [])]
    return drivers + list(chosen)


def drivers_of(expect: str) -> List[str]:
    """Driver probes that make sense: by the plan, or without one by what is on the PCI bus and in /dev."""
    if expect:
        return ["cuda"] * expect.startswith("cuda") + ["hip"] * expect.startswith("rocm")
    nvidia = _has_vendor("0x10de") or any(
        os.path.exists(name) for name in ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu")
    )
    amd = os.path.exists("/dev/kfd") or (_has_vendor("0x1002") and not nvidia)
    return ["cuda"] * bool(nvidia) + ["hip"] * bool(amd)


def _has_vendor(vendor: str) -> bool:
    """Whether a display or accelerator of this PCI vendor is on the bus (classes 0x03 and 0x12, PCI code list)."""
    return any(
        value(PCI, name, "vendor") == vendor and value(PCI, name, "class")[:4] in ("0x03", "0x12")
        for name in (os.listdir(PCI) if os.path.isdir(PCI) else ())
    )


def installed() -> List[str]:
    """Frameworks that this Python could import."""
    from importlib.util import find_spec

    return [name for name in FRAMEWORKS if find_spec(name) is not None]


def main(argv: List[str]) -> int:
    """Run the groups; 1 if any probe failed."""
    options = _options(argv)
    if options.group:
        return child(options)
    chosen = [name for name in options.frameworks.split(",") if name] or installed()
    names = ["plan"] * bool(options.plan) + groups(options.level, options.expect, chosen)
    options.seconds /= max(1, sum(name.startswith("stress-") for name in names))
    say({"event": "begin", "level": options.level, "python": sys.version.split()[0], "groups": names})
    if not drivers_of(options.expect):
        why = "the plan needs no GPU" if options.expect else "there is no GPU on this machine"
        Report("driver", guess).skip("load", why)
    if options.level in ("bench", "stress") and not any(name.startswith(options.level + "-") for name in names):
        Report(options.level, guess).skip("load", "no %s is known for what is installed here" % options.level)
    failed = 0
    for name in names:
        failed |= supervise(name, options)
    say({"event": "end", "failed": bool(failed)})
    return 1 if failed else 0


def _options(argv: List[str]) -> Any:
    parser = argparse.ArgumentParser(description="Prove that the device computes.")
    parser.add_argument("--level", choices=LEVELS, default="driver")
    parser.add_argument("--expect", default="", help="the planned runtime: cuda12.6, rocm6.2, xpu, cpu")
    parser.add_argument("--frameworks", default="", help="names with commas; those that are installed if not given")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for each group")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the stress level")
    parser.add_argument("--plan", default="", help="what should be installed, as JSON")
    parser.add_argument("--group", default="", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def child(options: Any) -> int:
    """Run one group in this process; 1 if any of its probes failed.

    What a framework raises outside a probe (a broken install of a group's own modules) becomes a failed probe too.
    """
    report = Report(options.group, guess)
    try:
        _group(options.group, report, options)
    except Exception as error:
        report.check("run", _raise, error)
    return 1 if report.failed else 0


def _raise(error: Exception) -> Dict[str, Any]:
    """As a check, so that the report guesses the cause from the text as it does for every other."""
    raise error


def _group(name: str, report: Report, options: Any) -> None:
    """Import the group's module only now: a framework that crashes on import takes its own process along, no other."""
    kind, _, subject = name.partition("-")
    if kind in ("bench", "stress"):
        importlib.import_module(kind).run(report, subject, options.seconds)
    elif kind == "plan":
        importlib.import_module("plan_checks").run(report, options.plan)
    elif kind in ("cuda", "hip"):
        vendor = importlib.import_module(kind + "_driver")
        if kind == "hip":
            report.check("nodes", vendor.device_nodes)
        importlib.import_module("devices").run(report, vendor)
    else:
        adapter = getattr(importlib.import_module(kind + "_checks"), _ADAPTERS[kind])
        importlib.import_module("array_checks").run(report, options.expect, adapter())


def supervise(name: str, options: Any) -> int:
    """Run one group in a child, pass its lines on, and tell what became of it; 1 if anything failed.

    A session of its own lets one signal reach whatever the framework started (compiler workers, data loaders).
    """
    words = [sys.executable, os.path.abspath(__file__), "--group", name, "--expect", options.expect]
    words += ["--seconds", str(options.seconds), "--plan", options.plan]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    limit = options.timeout + (options.seconds if options.level == "stress" else 0)
    hurry, starved, verdict = True, "", []  # type: bool, str, List[str]
    try:
        state = _follow(process, time.time() + limit)
        hurry = state["late"]
        starved = crowded() if hurry else ""  # now: with the child goes the memory that it holds
    finally:
        _end(process, hurry)
    if state["late"]:
        code = "probe-memory-short" if starved else "probe-timeout"
        verdict = [code, "no answer within %g s%s" % (limit, starved and ": " + starved)]
    elif process.returncode not in (0, 1) or state["open"] or (process.returncode and not state["failed"]):
        verdict = _crash(process.returncode)
    if verdict:  # the line that the child could not print itself, for the probe that it had begun
        tell(state["open"] or name + ".run", "fail", verdict[1], verdict[0], {"stderr": _last_words(state)})
    return 1 if state["failed"] or state["late"] or process.returncode else 0


def _follow(process: Any, deadline: float) -> Dict[str, Any]:
    """Pass complete lines on until the child closes its output or the deadline passes."""
    state = {"open": "", "failed": False, "late": False, "noise": b""}  # type: Dict[str, Any]
    rest, sources = b"", [process.stdout, process.stderr]
    while sources and not state["late"]:
        ready = select.select(sources, [], [], max(0.0, deadline - time.time()))[0]
        state["late"] = not ready and time.time() >= deadline
        for source in sorted(ready, key=lambda item: item is process.stdout):  # what was said before a verdict, first
            data = os.read(source.fileno(), 65536)
            if not data:
                sources.remove(source)
            elif source is process.stderr:
                # The last words before a crash; a framework's chatter may have no end, memory has.
                state["noise"] = (state["noise"] + data)[-4000:]
            else:
                lines = (rest + data).split(b"\n")
                rest = lines.pop()[-100000:]
                for line in lines:
                    _pass_on(line, state)
    return state


def _pass_on(line: bytes, state: Dict[str, Any]) -> None:
    """Forward a line of ours; whatever a framework prints beside it is dropped."""
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return
    if not isinstance(event, dict) or event.get("event") not in ("start", "probe"):
        return
    state["open"] = event.get("probe", "") if event["event"] == "start" else ""
    state["failed"] = state["failed"] or event.get("status") == "fail"
    if event.get("code") == "probe-cpu-fallback":  # frameworks do not raise why they see no device, they only warn
        event["figures"] = dict(event.get("figures") or {}, stderr=_last_words(state))
    say(event)


def _end(process: Any, hurry: bool) -> None:
    """Leave no child behind, nor what it started; one that has closed its output gets a moment to leave by itself."""
    for patience, last in ((0.0 if hurry else 20.0, signal.SIGKILL), (5.0, signal.SIGKILL)):
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, last)
        except OSError:
            return


def _crash(status: Optional[int]) -> List[str]:
    """Code and reason of an end without an answer: by the signal, which ``subprocess`` gives as a negative status."""
    names = {item.value: item.name for item in signal.Signals}
    name = names.get(-(status or 0), "")
    code, why = _SIGNALS.get(name, ("probe-failed", "it ended without an answer"))
    return [code, "%s (%s)" % (why, name or "exit status %s" % status)]


def _last_words(state: Dict[str, Any]) -> List[str]:
    """The last lines that the child wrote to standard error."""
    return list(state["noise"].decode("utf-8", "replace").strip().split("\n")[-8:])


if __name__ == "__main__":
    # An engine stops a container with SIGTERM: leave by an exception, so that the child is ended on the way.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    sys.exit(main(sys.argv[1:]))
