"""What happens to a report on its way into an issue must not change what is read from it."""

from __future__ import annotations

import html
import textwrap
from pathlib import Path

import pytest

from compat import facts, reading
from compat.reading.damage import clean

HERE = Path(__file__).parent
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*/*.txt"))}


def prefixed(prefix: str):
    return lambda text: "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True))


def stamped(form: str):
    """A logger's prefix with a running clock."""
    return lambda text: "".join(
        form.format(n=number % 60) + line for number, line in enumerate(text.splitlines(keepends=True))
    )


DAMAGES = {
    "quoted": prefixed("> "),
    "quoted twice": prefixed("> > "),
    "indented as code": prefixed("    "),
    "fenced": lambda text: f"Hello,\n\n```shell\n{text}\n```\n\nThanks!",
    "fence never closed": lambda text: f"It fails.\n```\n{text}",
    "indented fence in a list": lambda text: "1. run it\n   ```text\n" + textwrap.indent(text, "   ") + "   ```\n",
    "details": lambda text: f"<details>\n<summary>The output of `x`</summary>\n\n{text}\n\n</details>",
    "details without lines": lambda text: f"<details><summary>environment</summary><pre>{text}</pre></details>",
    "windows line ends": lambda text: text.replace("\n", "\r\n"),
    "entities": lambda text: html.escape(text, quote=True),
    "no-break spaces": lambda text: text.replace("  ", "\xa0 "),
    "padded by a terminal": lambda text: "\n".join(line.ljust(170) for line in text.splitlines()),
    "coloured": lambda text: "\n".join(f"\x1b[32m{line}\x1b[0m" for line in text.splitlines()),
    "zero-width": lambda text: "\u200b" + text + "\ufeff",
    "python logger": stamped("2023-08-03 05:56:{n:02d},714 - mmdet - INFO - "),
    "mmengine logger": stamped("08/03 05:56:{n:02d} - mmengine - INFO - "),
    "vllm logger": stamped("INFO 04-11 09:49:{n:02d} [__init__.py:239] "),
    "comfyui logger": stamped("2025-03-21T19:14:{n:02d}.837017 - "),
    "compose": prefixed("worker-1  | "),
    "kubectl": stamped("2024-05-01T10:00:{n:02d}.123456789Z stdout F "),
    "syslog": stamped("Mar  3 12:00:{n:02d} box app[123]: "),
    "syslog in German": stamped("Dez 13 12:00:{n:02d} box app[123]: "),
    "bracketed clock": stamped("[2024-05-01 12:00:{n:02d}.123] "),
}


PREFIXES = ("logger", "compose", "kubectl", "syslog", "clock")
UNLOGGED = (
    "nvidia_smi",
    "npu_smi",
    "cnmon",
    "ixsmi",
    "hl_smi",
    "mx_smi",
    "xpu_smi",
    "mthreads_gmi",
    "pip_",
    "conda",
    "lspci",
    "numba",
    "container_cli",
    "docker",
    "rocm_smi",
    "mmdeploy",
    "comfyui_manager",
    "webui",
    "template",
    "fastai",
    "jax_devices",
    "wsl",
    "hand_table",
    "uv_pip_tree",
)
"""Tables and lists that no program logs line by line, and logs that have prefixes of their own."""


def read(text: str) -> dict:
    document = facts.dump(reading.read(text).host)
    return {key: value for key, value in document.items() if key not in {"read", "unknown"}}


CASES = [
    (name, damage)
    for name in TEXTS
    for damage in DAMAGES
    if not (name.startswith(UNLOGGED) and any(word in damage for word in PREFIXES))
]


@pytest.mark.parametrize(("name", "damage"), CASES, ids=lambda word: word.replace(" ", "-"))
def test_reads_the_same_through_damage(name, damage):
    assert read(DAMAGES[damage](TEXTS[name])) == read(TEXTS[name])


CLEANED = {
    "> > Driver: 535": "Driver: 535",
    ">>> import torch": ">>> import torch",
    "> >>> import torch": ">>> import torch",
    "`torch` version: 2.0": "torch version: 2.0",
    "**OS:** posix": "OS: posix",
    "驱动：430.64": "驱动:430.64",
    "CUDA\\_HOME: /usr": "CUDA_HOME: /usr",
    "torch version .................... 1.10": "torch version: 1.10",
    "** Python version: [2024-07-09 17:54:23.484] 3.11.8": " Python version: 3.11.8",
    "2024-01-01 00:00:00 [INFO] root: GPU: x": "root: GPU: x",
    "| 0  Tesla T4 Off |": "| 0  Tesla T4 Off |",
}


@pytest.mark.parametrize("line", CLEANED)
def test_cleans_a_line(line):
    assert clean(line)[0].text == CLEANED[line]


def test_joins_what_a_terminal_broke():
    whole = TEXTS["torch_collect_env_cuda"]
    lines = (line[at : at + 80] for line in whole.splitlines() for at in range(0, max(len(line), 1), 80))
    got, expected = read("\n".join(lines)), read(whole)
    # A break at a blank loses it, so words of the longest line may grow together.
    assert {**got, "cpu_flags": ()} == {**expected, "cpu_flags": ()}


def test_joins_what_a_mail_program_wrapped():
    text = "GPU models and configuration: GPU 0: NVIDIA GeForce RTX 2080 with Max-Q\nDesign\nIs debug build: False\n"
    assert [gpu.name for gpu in reading.read(text).host.gpus] == ["NVIDIA GeForce RTX 2080 with Max-Q Design"]


PRINTED = {
    "dict": "{'sys.platform': 'linux',\n 'Python': '3.8.10 (default) [GCC 9.4.0]',\n 'PyTorch': '1.12.1+cu113'}",
    "ordered": "OrderedDict([('Python', '3.8.10 (default) [GCC 9.4.0]'), ('PyTorch', '1.12.1+cu113'), ('GCC', 'n/a')])",
}


@pytest.mark.parametrize("form", PRINTED)
def test_reads_a_printed_dictionary(form):
    host = reading.read(PRINTED[form]).host
    assert (host.python, host.packages["torch"]) == ("3.8.10", "1.12.1+cu113")


def test_takes_a_value_that_a_wrap_moved_to_the_next_line():
    text = "Is debug build: False\nPython platform:\nLinux-5.15.153.1-microsoft-standard-WSL2-x86_64-with-glibc2.35\n"
    assert reading.read(text).host.platform == "wsl2"


def test_leaves_the_next_question_alone():
    host = reading.read("- OS:\n- Python version:\nIt fails since Python 2.7 or so\n").host
    assert host.os is None


def test_joins_hard_wraps_inside_labels_and_values():
    width = 62
    lines = [
        "Python version: 3.11.7 (main, Dec  4 2023, 18:10:11) [GCC 11.4.0] (64-bit runtime) and more",
        "Python platform: Linux-5.15.0-134-generic-with-a-very-long-suffix-x86_64-with-glibc2.35",
        "Is debug build: False",
    ]
    text = "\n".join(line[at : at + width] for line in lines for at in range(0, len(line), width))
    host = reading.read(text).host
    assert (host.kernel, host.glibc) == ("5.15.0-134-generic-with-a-very-long-suffix", "2.35")
