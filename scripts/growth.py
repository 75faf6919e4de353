"""How the work of reading long files grows: lines of our code that are executed are counted, so no clock can lie.

Usage: ``python scripts/growth.py [CASE ...]`` prints the exponent of each case: 1 is linear, 2 a square. It is
taken from the growth between three lengths, so that what every run costs does not hide it.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
OURS: Final = str(ROOT / "compat")
LENGTHS: Final = (40, 80, 160)


def _requirements(count: int) -> str:
    return "".join(f"package-{number}==1.{number}\n" for number in range(count))


def _gpus(count: int) -> str:
    rows = (f'[[gpus]]\nname = "GPU {number}"\nvendor = "nvidia"\ntarget = "sm_86"\n' for number in range(count))
    return 'os = "ubuntu22.04"\n' + "".join(rows)


def _nodes(count: int) -> str:
    gpus = '[{"name": "NVIDIA H100", "vendor": "nvidia", "target": "sm_90"}]'
    return "".join(f'{{"os": "ubuntu22.04", "driver": "580.{number}.1", "gpus": {gpus}}}\n' for number in range(count))


def _project(count: int) -> str:
    lines = "".join(f'  "package-{number}==1.{number}",\n' for number in range(count))
    return f'[project]\nname = "x"\nversion = "1"\ndependencies = [\n{lines}]\n'


# name -> (words before the file, its name, its text of a length)
CASES: Final[dict[str, tuple[list[str], str, Any]]] = {
    "requirements": (["lint"], "requirements.txt", _requirements),
    "repeated pins": (["lint"], "requirements.txt", lambda count: "torch==2.9.1\n" * count),
    "companions": (
        ["lint"],
        "requirements.txt",
        lambda count: "".join(f"torch==2.9.{number}\ntorchvision\nxformers\n" for number in range(count // 4)),
    ),
    "stages": (
        ["lint"],
        "Dockerfile",
        lambda count: "".join(f"FROM ubuntu:22.04 AS s{number}\nRUN echo {number}\n" for number in range(count)),
    ),
    "bases": (
        ["lint"],
        "Dockerfile",
        lambda count: "".join(
            f"FROM nvidia/cuda:11.0.3-base-ubuntu18.04 AS s{number}\nRUN pip install torch\n"
            for number in range(count // 20)
        ),
    ),
    "steps": (["lint"], "Dockerfile", lambda count: "FROM ubuntu:22.04\n" + "RUN pip install x\n" * count),
    "branches": (["lint"], "Dockerfile", lambda count: "FROM ubuntu:22.04\nRUN " + "if true; then " * count + "\n"),
    "here-document": (["lint"], "Dockerfile", lambda count: "FROM a\nRUN <<EOF\n" + "echo x\n" * count + "EOF\n"),
    "documents": (["lint"], "Dockerfile", lambda count: "FROM a\n" + "RUN <<EOF\npip install x\nEOF\n" * count),
    "script": (
        ["lint"],
        "Dockerfile",
        lambda count: "FROM a\nRUN <<EOF\n" + "".join(f"pip install x{number}\n" for number in range(count)) + "EOF\n",
    ),
    "chain": (["lint"], "Dockerfile", lambda count: "FROM ubuntu:22.04\nRUN true" + " && echo x" * count + "\n"),
    "services": (
        ["lint"],
        "compose.yaml",
        lambda count: "services:\n" + "".join(f"  s{number}:\n    image: ubuntu:22.04\n" for number in range(count)),
    ),
    "dependencies": (["lint"], "pyproject.toml", _project),
    "GPUs": (["doctor", "--host"], "host.toml", _gpus),
    "nodes": (["fleet", "torch"], "nodes.jsonl", _nodes),
    "log": (
        ["doctor", "--host", "HOST", "--log"],
        "x.log",
        lambda count: "".join(f"{number} a log that says nothing\n" for number in range(count)),
    ),
}


def counted(case: str, length: int) -> int:
    """Lines of our own code that run for a file of this length."""
    from compat import cli
    from compat.matrix import shipped

    words, name, text = CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        path, host = Path(folder, name), Path(folder, "host.json")
        path.write_text(text(length), "utf-8")
        host.write_text('{"os": "ubuntu22.04"}', "utf-8")
        arguments = [str(host) if word == "HOST" else word for word in words] + [str(path)]
        total = 0

        def step(_frame: Any, event: str, _argument: Any) -> Any:
            nonlocal total
            total += event != "exception"
            return step

        def enter(frame: Any, _event: str, _argument: Any) -> Any:
            return step if frame.f_code.co_filename.startswith(OURS) else None

        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            shipped.cache_clear()
            cli.run(arguments)  # what is read once is read now
            shipped.cache_clear()  # what is known of a matrix is asked anew, whatever ran in this process before
            sys.settrace(enter)
            try:
                cli.run(arguments)
            finally:
                sys.settrace(None)
    return total


def exponent(case: str) -> float:
    """The exponent of a case's growth."""
    first, second, third = (counted(case, length) for length in LENGTHS)
    return math.log2(max(third - second, 1) / max(second - first, 1))


def main(names: list[str]) -> int:
    """Print the exponents."""
    for name in names or CASES:
        print(f"{name:16} {exponent(name):5.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
