r"""What paths, prompts and names of compiled files tell of the machine that printed them.

::

    File "/home/me/venv/lib/python3.10/site-packages/torch/__init__.py", line 6    Linux, Python 3.10, a venv
    PS C:\Users\me>                                                                Windows
    flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol            Linux, x86_64, Python 3.11
    5.15.153.1-microsoft-standard-WSL2                                              WSL 2
    Python 3.10.6 (tags/v3.10.6:9c7b4bd) [MSC v.1932 32 bit (Intel)]                Windows, 32 bits (sys.version)
    root@101acc334128:/#                                                            a container, named by its engine

Each is a by-product, so any program's own word outweighs it. Where two paths disagree, nothing is stated.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.reading.values as values
from compat.installation import keeper
from compat.reading.claims import Claim, Weight
from compat.reading.page import hint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.page import Page

NAME: Final = "path"

# Lines that are looked into, from the beginning; a text with more is a log that repeats its paths.
MOST: Final = 5000

# Characters of a line that are looked into.
LONGEST: Final = 600

# A line of a program's code, a comment of a form, a step of a recipe: its paths are examples.
_CODE: Final = re.compile(
    r"\s*(?:import |from \S+ import\b|sys\.|os\.|#|//|<!--|(?:RUN|COPY|ADD|FROM|ENV|WORKDIR) |\w+ ?= ?[\"'\[(])"
)

# What every mark below has in its line.
_TELLING: Final = re.compile(r"[-/\\@]|DLL load|conda activate")

_TAKEN: Final = r"^\s*(?:Downloading|Using cached|[$%>]? ?pip3? install) \S{1,300}-macosx_\d+_\d+"  # of a Mac's wheels
_ADVICE: Final = r"(?<!copy it into C:\\Program Files\\)"  # of Paddle's dynamic_loader.cc, whose release is an example
# Fact -> pattern -> value; ``{}`` is what the pattern captured. The patterns are those of CPython's layout
# (sysconfig, PEP 3149), of conda, and of the kernels that WSL names.
_MARKS: Final = tuple(
    (fact, re.compile(pattern), value)
    for fact, pattern, value in (
        ("platform", r"microsoft-standard(?:-WSL2)?\b|/usr/lib/wsl/|(?<![\w.:])/mnt/c/", "wsl2"),
        (
            "platform",
            r"(?<![\w/])[A-Za-z]:\\{1,2}(?:[\w.() -]{1,60}\\{1,2}|[\w.-]+(?:>|$))|\.cp3\d{1,2}-win",
            "windows",
        ),
        ("platform", r"-win_amd64\b|^\W*(?:\w{1,30}Error: )?DLL load failed while |file:///[A-Z]:/", "windows"),
        ("platform", r"^\s*set [A-Z_]{3,30}=|\bcudnn-windows-x86_64-\d|\bcuda_[\d._]{5,30}_win\w{2,8}\.exe", "windows"),
        ("platform", r"^\s*[-*] \[[xX]\] WSL ?2\b", "wsl2"),  # the form of microsoft/WSL, as it was ticked
        ("platform", rf"{_TAKEN}_\w+\.whl\b", "darwin"),
        ("arch", rf"{_TAKEN}_(arm64|x86_64)\.whl\b", "{}"),
        # the prompt of Apple's /etc/zshrc, "%n@%m %1~ %# "
        ("platform", r"^\s*(?:\([\w.-]{1,40}\) )?[\w.-]{1,40}@[\w.-]{1,60} [^\s%$#]{1,60} % (?=\w)", "darwin"),
        ("platform", r"You're on macOS \(", "darwin"),  # uv's hint, with the platform of its tags
        ("arch", r"You're on macOS \(`?macosx_\d+_\d+_(x86_64)", "{}"),
        ("platform", r"(?<![\w/])[A-Za-z]:/(?:Program Files|Users|Windows)[ /]", "windows"),
        ("platform", r"(?<![\w.:])/(?:Users/[\w.-]+|opt/homebrew)/|/Python\.framework/|-darwin\.so\b", "darwin"),
        ("platform", r"(?<![\w.:])/(?:Applications/[\w .-]{1,60}\.app|Volumes/[\w .-]{1,60})/", "darwin"),
        ("platform", r"(?<![\w.:~])/(?:home/[\w.-]+|root|usr/(?:local/)?lib\w*|opt/conda)/|-linux-gnu\.so", "linux"),
        ("platform", r"\[MSC v\.\d{3,4} \d\d bit \(", "windows"),
        ("platform", r"\[Clang [\d.]{3,12} \(clang-\d", "darwin"),  # Apple's own compiler
        ("arch", r"\[MSC v\.\d{3,4} 32 bit \(Intel\)", "i686"),
        ("arch", r"[/\\]Python3\d{1,2}-32[/\\]", "i686"),  # the folder that python.org's installer makes
        ("cuda_toolkit", rf"{_ADVICE}NVIDIA GPU Computing Toolkit[/\\]{{1,2}}CUDA[/\\]{{1,2}}v(\d{{1,2}}\.\d)\b", "{}"),
        ("rocm", r"/opt/rocm-(\d{1,2}\.\d\.\d)/", "{}"),
        ("container", r"^\W{0,3}(?:\([\w.-]{1,40}\) )?\[?root@[0-9a-f]{12}[: ]", "docker"),
        ("arch", r"-(x86_64|aarch64)-linux-gnu\.so", "{}"),
        ("arch", r"-win_(amd64)\b", "x86_64"),
        ("python", r"[/\\]lib[/\\]python(3\.\d{1,2})[/\\]", "{}"),
        ("python", r"/Python\.framework/Versions/(3\.\d{1,2})/", "{}"),
        ("python", r"(?:\.cpython-|[/\\]Python|\.cp)3(\d{1,2})(?=[-/\\])", "3.{}"),
        (
            "python_environment",
            r"(?i)(?:ana|mini)conda3?[/\\]|miniforge3?[/\\]|[/\\]envs[/\\][\w.-]+[/\\]lib\b",
            "conda",
        ),
        ("python_environment", r"\| packaged by conda-forge \||^\s*(?:[$>%] )?conda activate [\w./\\-]+\s*$", "conda"),
        ("python_environment", r"/nix/store/[0-9a-z]{32}-[^/\s]{1,80}/lib/python3\.\d{1,2}/site-packages", "nix"),
        ("python_environment", r"[/\\]\.?v?env[\w.-]{0,20}[/\\][Ll]ib[/\\](?:python3|site-packages)", "venv"),
    )
)
# The folder of a Python that a program brings with it, on Windows: neither an environment's nor an installed one's.
_BROUGHT: Final = re.compile(
    r"(?i)[\\/.:](?!envs[\\/])[^\\/\"'\n]{0,60}[\\/]"
    r"((?!scripts[\\/]|[\w.-]*(?:env|conda|forge)|python\d)[\w.-]{2,40})[\\/](?:lib[\\/]site-packages[\\/]|python\.exe\b)"
)
_KERNEL: Final = re.compile(r"(?<![\w.])(\d+\.\d+\.\d+[\w.]*-microsoft-standard(?:-WSL2)?)(?!\w)")


def facts(page: Page) -> Iterator[Claim]:
    """What all paths of a text agree on, each fact with the first line that tells it."""
    found: dict[str, dict[str, int]] = {}
    for line in page.lines[:MOST]:
        text = line.text[:LONGEST]
        if not _TELLING.search(text) or _CODE.match(text):
            continue
        for fact, value in _told(text):
            found.setdefault(fact, {}).setdefault(value, line.number)
        if kernel := _KERNEL.search(text):
            yield from _at(line.number, hint(values.kernel_claims(kernel[1])))
    if len(kept := found.pop("kept", {})) == 1:  # beside frames of the interpreter that it was made from
        ((folder, number),) = kept.items()
        found |= {"python_environment": {keeper(folder)[0]: number}, "python_path": {f"{folder}/bin/python": number}}
    for fact, told in found.items():
        if len(told) == 1 or "wsl2" in told:  # both of its systems' paths are WSL's
            value = "wsl2" if "wsl2" in told else next(iter(told))
            yield from _at(told[value], [Claim(fact, value, weight=Weight.HINT)])


def _told(text: str) -> Iterator[tuple[str, str]]:
    """What a line tells, as facts and their values; ``kept``: the folder of an environment that a tool keeps."""
    for fact, pattern, value in _MARKS:
        yield from ((fact, value.format(*match.groups())) for match in pattern.finditer(text))
    for match in _BROUGHT.finditer(text) if "\\" in text else ():
        inside = "Scripts/" * match[1].startswith(".")  # as environments are called, which keep theirs there
        yield "python_path", f"{match[1]}/{inside}python.exe"
    if folder := keeper(text)[2]:
        yield "kept", folder


def _at(number: int, claims: Iterator[Claim] | list[Claim]) -> Iterator[Claim]:
    """The claims with their line and where they come from."""
    return (replace(claim, line=number, program=NAME) for claim in claims)
