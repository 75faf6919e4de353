"""The probe scripts as one command-line word.

They travel inside the command because that works with every engine: a mount needs the engine's own disk, and a copy
into a read-only container is refused. Linux takes 128 KiB a word (``MAX_ARG_STRLEN``); compressed they are far below.
"""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.plan import Plan

# Where the scripts are, in a checkout and in a wheel.
FOLDER: Final = Path(__file__).resolve().parent.parent / "probes"

_START: Final = (
    "import base64, io, os, sys, tempfile, zipfile\n"
    "place = tempfile.mkdtemp(prefix='envcheck-')\n"
    "zipfile.ZipFile(io.BytesIO(base64.b64decode(sys.argv[1]))).extractall(place)\n"
    "os.execv(sys.executable, [sys.executable, os.path.join(place, 'run.py')] + sys.argv[2:])\n"
)


def words(
    level: str, *, expect: str, frameworks: Sequence[str], timeout: float, seconds: float, plan: Plan | None = None
) -> list[str]:
    """What follows the interpreter: unpack the scripts into the temporary folder and become ``run.py``."""
    rest = options(level, expect=expect, frameworks=frameworks, timeout=timeout, seconds=seconds)
    return ["-c", _START, packed(), *rest, *(["--plan", agreed(plan)] if plan else [])]


def agreed(plan: Plan) -> str:
    """What an image must agree with, as ``plan_checks.py`` reads it; free-threaded Pythons state a plain version."""
    python = plan.python.removesuffix("t")
    return json.dumps({"python": python, "machines": plan.archs, "versions": plan.versions()}, sort_keys=True)


def options(level: str, *, expect: str, frameworks: Sequence[str], timeout: float, seconds: float) -> list[str]:
    """The options of ``run.py``; a group gets most of the time, so that its own verdict comes before ours."""
    found = ["--level", level, "--timeout", f"{timeout * 0.9:g}", "--seconds", f"{seconds:g}"]
    found += ["--expect", expect] if expect else []
    return [*found, "--frameworks", ",".join(frameworks)] if frameworks else found


def packed() -> str:
    """The scripts, compressed, as text; equal scripts give equal text."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(FOLDER.glob("*.py")):
            if path.name != "__init__.py":
                entry = zipfile.ZipInfo(path.name, date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())
    return base64.b64encode(buffer.getvalue()).decode("ascii")
