"""Ask envcheck and the other pickers the same questions: what each answers, whether it is right, how long it takes.

    python scripts/bench_peers.py --envcheck PATH --peers FOLDER [--rounds N]

``--envcheck`` is the command of a wheel install, ``--peers`` the ``bin`` folder of an environment with uv,
light-the-torch, torchruntime and env-doctor; those that are not there are said and left out. Machines, requests and
right answers with their reasons are in ``bench_peers.toml``. Nothing reaches the network and no time is asserted. Whole
processes run in turn; a ratio is the median, over the rounds, of a tool's time by envcheck's in the same round.

uv, light-the-torch and torchruntime are asked for the index that they would use, not for the install that follows:
their times leave out all network work. env-doctor asks for newer data at every start and is refused at once.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from peers import GRADES, PROBES, TOOLS, command, describe, judge, read, write_stubs
from side_by_side import Run, interleave, median, quiet_environment, ratio, run_once

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = Path(__file__).with_suffix(".toml")


def present(envcheck: str, peers: Path, env: dict[str, str]) -> dict[str, str]:
    """The executables of the tools that are there; the others are said."""
    python = str(peers / "python")
    programs = {"envcheck": envcheck, "uv": str(peers / "uv"), "env-doctor": str(peers / "env-doctor")}
    found = {name: path for name, path in programs.items() if Path(path).is_file()}
    found |= {name: python for name, probe in PROBES.items() if run_once([python, "-c", probe], env).code == 0}
    for name in TOOLS:
        print(f"{name}: {version(name, found[name], env) if name in found else 'not there, left out'}")
    return {**found, "python": python}


def version(tool: str, program: str, env: dict[str, str]) -> str:
    """The version of a tool, as it or its metadata tells."""
    if tool in {"envcheck", "uv"}:
        return run_once([program, "--version"], env).text.split()[1]
    asked = f"import importlib.metadata as m; print(m.version({tool!r}))"
    return run_once([str(Path(program).with_name("python")), "-c", asked], env).text.strip()


def ask(request: dict[str, Any], data: dict[str, Any], programs: dict[str, str], rounds: int) -> dict[str, list[Run]]:
    """Stage the machine of a request and run every tool that answers it."""
    cards = [data["cards"][name] for name in request["cards"]]
    asked = [tool for tool in TOOLS if tool in programs and tool in ("envcheck", *request.get("peers", TOOLS))]
    with tempfile.TemporaryDirectory() as name:
        folder, stubs = Path(name), Path(name, "bin")
        stubs.mkdir()
        write_stubs(stubs, request, cards)
        (folder / "host.json").write_text(json.dumps(describe(request, cards)), "utf-8")
        (folder / "requirements.in").write_text("\n".join(request["ask"]) + "\n", "utf-8")
        env = quiet_environment(name, f"{stubs}:/usr/bin:/bin")
        return interleave({tool: command(tool, programs, request, folder) for tool in asked}, env, rounds)


def main() -> int:
    """Print every request with every tool's answer, then the totals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--envcheck", default=shutil.which("envcheck"), required=shutil.which("envcheck") is None)
    parser.add_argument("--peers", type=Path, required=True, help="the bin folder of their environment")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    data = tomllib.loads(TABLE.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as home:
        programs = present(given.envcheck, given.peers.absolute(), quiet_environment(home, "/usr/bin:/bin"))
    if "envcheck" not in programs:
        return 2
    marks: dict[str, list[str]] = {tool: [] for tool in TOOLS if tool in programs}
    times: dict[str, list[tuple[float, float]]] = {tool: [] for tool in marks}
    for row in data["request"]:
        request = {"ask": ["torch"], **row}
        runs = ask(request, data, programs, given.rounds)
        print(f"\n{request['name']}: {request['why']}")
        for tool, seen in runs.items():
            answer = read(tool, seen[0].text, data["releases"].get(request["ask"][0], {}))
            marks[tool].append(judge(answer, seen[0].text, request))
            times[tool].append((ratio(runs["envcheck"], seen), median(seen)))
            figures = f"{median(seen) * 1e3:6.0f} ms  x{times[tool][-1][0]:.2f}"
            print(f"  {tool:16}{answer:10}{marks[tool][-1]:7}{figures}")
    print(*summary(marks, times), sep="\n")
    return 0


def summary(marks: dict[str, list[str]], times: dict[str, list[tuple[float, float]]]) -> list[str]:
    """Per tool: how many answers of each grade, of how many asked, and the median time and ratio to envcheck's."""
    lines = [
        "",
        f"{'tool':16}" + "".join(f"{grade:>7}" for grade in GRADES) + f"{'asked':>7}{'median':>10}{'ratio':>7}",
    ]
    for tool, given in marks.items():
        counts = "".join(f"{given.count(grade):7}" for grade in GRADES)
        if not given:
            continue
        ratios, seconds = zip(*times[tool], strict=True)
        taken = f"{statistics.median(seconds) * 1e3:7.0f} ms{statistics.median(ratios):7.2f}"
        lines.append(f"{tool:16}{counts}{len(given):7}{taken}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
