"""What other pickers of GPU builds answer on a simulated machine: stub programs, their commands, and reading answers.

The machine is shown to them as a real one shows itself: ``nvidia-smi``, ``rocm_agent_enumerator`` and ``lspci`` first
on ``PATH``. envcheck has the same facts in a file, since it also reads the kernel's own files, which cannot be staged.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: Final = ("envcheck", "uv", "light-the-torch", "torchruntime", "env-doctor")
REFUSES: Final = "refuses"
UNKNOWN: Final = "unknown"
UNCLEAR: Final = "no answer"
GRADES: Final = ("right", "poor", "wrong")

VARIANT: Final = r"(cu\d+|rocm[\d.]*\d|xpu|cpu)"

# The public functions behind their install commands, called alone: the commands go on to run pip over the network.
_TORCHRUNTIME: Final = """
import sys
from torchruntime.device_db import get_gpus
from torchruntime.platform_detection import get_torch_platform
print("platform", get_torch_platform(get_gpus(), packages=sys.argv[1:]))
"""
_LIGHT_THE_TORCH: Final = """
from light_the_torch._cb import detect_compatible_computation_backends
print("order", *sorted(detect_compatible_computation_backends(), reverse=True))
"""
PROBES: Final = {"light-the-torch": "import light_the_torch._cb", "torchruntime": "import torchruntime.device_db"}
"""Modules that must be importable where a tool is asked through Python."""


def write_stubs(folder: Path, request: dict[str, Any], cards: list[dict[str, Any]]) -> None:
    """Write the programs by which the machine of a request shows itself."""
    nvidia = [card for card in cards if card["vendor"] == "nvidia"]
    if nvidia and (broken := request.get("broken")):
        _program(folder / "nvidia-smi", f"echo {shlex.quote(broken)}\nexit 18\n")
    elif nvidia:
        _program(folder / "nvidia-smi", _nvidia_smi(request["driver"], nvidia))
    targets = [card["target"] for card in cards if card["vendor"] == "amd" and "target" in card]
    if targets:
        lines = "\n".join(["gfx000", *targets])  # the program names the processor first
        _program(folder / "rocm_agent_enumerator", f"echo {shlex.quote(lines)}\n")
    rows = [
        f"0{slot}:00.0 VGA compatible controller [0300]: {card.get('name', 'Device')} [{card['pci']}] (rev a1)"
        for slot, card in enumerate(cards, 1)
        if "pci" in card
    ]
    bridge = "00:00.0 Host bridge [0600]: Intel Corporation 440FX [8086:1237] (rev 02)"
    _program(folder / "lspci", f"echo {shlex.quote(chr(10).join([bridge, *rows]))}\n")


def _nvidia_smi(driver: str, cards: list[dict[str, Any]]) -> str:
    queried = [f"{at}, {card['name']}, {card['memory']} MiB, {_capability(card)}" for at, card in enumerate(cards)]
    drivers = "\n".join([driver] * len(cards))
    banner = f"| NVIDIA-SMI {driver}    Driver Version: {driver}    CUDA Version: N/A |"
    cases = {
        "*index,name*": "\n".join(queried),
        "*driver_version*noheader*": drivers,
        "*driver_version*": f"driver_version\n{drivers}",
        "*": banner,
    }
    body = "".join(f"{pattern}) echo {shlex.quote(text)};;\n" for pattern, text in cases.items())
    return f'case "$*" in\n{body}esac\n'


def _capability(card: dict[str, Any]) -> str:
    digits = str(card["target"]).removeprefix("sm_")
    return f"{digits[:-1]}.{digits[-1]}"


def _program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}", "utf-8")
    path.chmod(0o755)


def describe(request: dict[str, Any], cards: list[dict[str, Any]]) -> dict[str, Any]:
    """The same machine as envcheck's facts."""
    keys = ("vendor", "name", "target", "pci", "integrated")
    facts: dict[str, Any] = {key: request[key] for key in ("python", "arch", "l4t") if key in request}
    if broken := request.get("broken"):
        return {**facts, "unknown": {"gpus": broken}}
    facts["gpus"] = [{key: card[key] for key in keys if key in card} for card in cards]
    return facts | ({"driver": request["driver"]} if "driver" in request else {})


def command(tool: str, programs: dict[str, str], request: dict[str, Any], folder: Path) -> list[str]:
    """The command line by which a tool is asked.

    Args:
        tool: one of :data:`TOOLS`.
        programs: the executable of each tool, the interpreter for those that are asked through Python.
        request: the row of the table.
        folder: where ``host.json`` and ``requirements.in`` of the request lie.
    """
    asked, program = request["ask"], programs[tool]
    match tool:
        case "envcheck":
            options = [] if "python" not in request else ["--python", request["python"]]
            return [program, "resolve", *asked, "--host", str(folder / "host.json"), *options, "--format", "json"]
        case "uv":
            where = str(folder / "requirements.in")
            offline = ["--offline", "--no-cache", "--python", programs["python"], "--torch-backend=auto", "-vv"]
            return [program, "pip", "compile", *offline, where]
        case "light-the-torch":
            return [program, "-c", _LIGHT_THE_TORCH]
        case "torchruntime":
            return [program, "-c", _TORCHRUNTIME, *asked]
        case _:
            return [program, "install", asked[0]]


def read(tool: str, text: str, release: dict[str, Any]) -> str:
    """The variant that a tool would install, ``refuses``, ``unknown`` if it says that it cannot tell, or ``no answer``.

    Args:
        tool: one of :data:`TOOLS`.
        text: what it printed.
        release: ``variants`` that the asked release has and its ``default``, see the table.
    """
    match tool:
        case "envcheck":
            return _read_envcheck(text)
        case "uv":
            return _first(re.findall(rf"Fetching metadata for `torch` from `\S*/whl/{VARIANT}/", text), release)
        case "light-the-torch":
            order = re.search(r"^order (.+)$", text, re.MULTILINE)
            return _first(order.group(1).split() if order else [], release)
        case "torchruntime":
            platform = re.search(rf"^platform {VARIANT}$", text, re.MULTILINE)
            return _first([platform.group(1)] if platform else [], release)
        case _:
            return _read_env_doctor(text, release)


def _read_envcheck(text: str) -> str:
    try:
        answer = json.loads(text[text.index("{") : text.rindex("}") + 1])
    except ValueError:
        return UNCLEAR
    if answer.get("status") != "plan":  # the nearest plan may stand beside an answer that is not known
        return {"conflict": REFUSES, "unknown": UNKNOWN}.get(answer.get("status"), UNCLEAR)
    runtime = str(answer["plan"]["runtime"])
    return f"cu{runtime[4:].replace('.', '')}" if runtime.startswith("cuda") else runtime


def _first(order: list[str], release: dict[str, Any]) -> str:
    """The first index that has the release: of one that has not, uv and light-the-torch go on to the next."""
    return next((one for one in order if one in release["variants"]), REFUSES if order else UNCLEAR)


def _read_env_doctor(text: str, release: dict[str, Any]) -> str:
    line = re.search(r"^\s*pip install .*$", text, re.MULTILINE)
    if not line:
        return UNCLEAR
    named = re.search(rf"(?:whl/|\+){VARIANT}", line.group())
    if named:
        return named.group(1)
    # A plain install: PyPI's build of the release, which it calls CPU-only where it saw no driver.
    return "cpu" if "CPU-only" in text else str(release["default"])


def judge(answer: str, text: str, request: dict[str, Any]) -> str:
    """Whether an answer is right, poor or wrong, by the row of the table."""
    if re.fullmatch(request["right"], answer):
        return "right" if re.search(request.get("says", ""), text) else "poor"
    return "poor" if re.fullmatch(request.get("poor", r"(?!)"), answer) else "wrong"
