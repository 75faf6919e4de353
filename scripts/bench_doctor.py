"""Time ``envcheck doctor`` beside the programs that describe or check a GPU environment, in one interleaved run.

    python scripts/bench_doctor.py --envcheck PATH --python PATH [--runs N]

``--envcheck`` is the command of a wheel install (an editable one reads TOML instead of the compiled matrix and is
slower). ``--python`` is an interpreter whose environment has the peers: ``torch`` for ``torch.utils.collect_env`` and
``env-doctor``; the doctor looks at that same environment. What is not there is said and left out. The bare interpreter
and ``import torch`` stand beside them as floors. Nothing is asserted: ratios are what to compare, and they are medians
of the ratios within each round.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from side_by_side import Run, interleave, median, quiet_environment, ratio, run_once

OURS = "envcheck doctor --format json"


def commands(envcheck: str, python: str) -> dict[str, list[str]]:
    """What to time, by the name to print; ours first."""
    beside = Path(python).with_name("env-doctor")
    return {
        OURS: [envcheck, "doctor", "--python", python, "--format", "json", "--fail-on", "never"],
        "python -m torch.utils.collect_env": [python, "-m", "torch.utils.collect_env"],
        "env-doctor check --json": [str(beside), "check", "--json"],
        "python -c 'import torch'": [python, "-c", "import torch"],
        "python -c pass": [python, "-c", "pass"],
    }


def missing(argv: list[str], env: dict[str, str]) -> str:
    """Why a command cannot be timed, or nothing."""
    if not Path(argv[0]).is_file():
        return f"no {Path(argv[0]).name} in that environment"
    module = "torch" if any("torch" in word for word in argv[1:]) else ""
    if module and run_once([argv[0], "-c", f"import {module}"], env).code:
        return f"no {module} in that environment"
    return ""


def table(runs: dict[str, list[Run]]) -> list[str]:
    """One line per command: median, spread, time as a multiple of ours, exit status."""
    ours = runs[OURS]
    lines = [f"{'command':36}{'median':>10}{'min':>9}{'max':>9}{'x ours':>9}  exit"]
    for name, seen in runs.items():
        seconds = [one.seconds for one in seen]
        figures = f"{median(seen) * 1e3:7.0f} ms{min(seconds) * 1e3:9.0f}{max(seconds) * 1e3:9.0f}"
        lines.append(f"{name:36}{figures}{ratio(ours, seen):9.2f}  {seen[-1].code}")
    return lines


def main() -> int:
    """Time every command that is there and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--envcheck", default=shutil.which("envcheck"), required=shutil.which("envcheck") is None)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--runs", type=int, default=11)
    given = parser.parse_args()
    # Absolute and with its links kept: the folder of a virtual environment's interpreter is what names its packages.
    programs = commands(str(Path(given.envcheck).absolute()), str(Path(given.python).absolute()))
    with tempfile.TemporaryDirectory() as home:
        env = quiet_environment(home, os.environ.get("PATH", os.defpath))
        for name in list(programs):
            if why := missing(programs[name], env):
                print(f"left out: {name}: {why}")
                del programs[name]
        if OURS not in programs:
            return 2
        print(*table(interleave(programs, env, given.runs)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
