"""Lists of installed packages: pip, uv, conda, dpkg; and what installers say they have just installed.

::

    Package            Version                  # Name        Version     Build            Channel
    ------------------ -------                  cudnn         7.6.5       cuda10.1_0
    torch              2.3.0                    pytorch       2.1.0       py3.10_cuda11.8  pytorch

    torch==2.2.0+cu121                          numpy @ file:///build/numpy-1.26.4-cp310-cp310-linux_x86_64.whl
     + jax==0.6.1                               Successfully installed torch-1.13.1

    Requirement already satisfied: torch in /venv/lib/python3.10/site-packages (from timm) (2.4.0+cu124)

Rows without a head, as ``grep`` leaves them, are taken when the name is one that matters here or the third column is a
conda build string. ``conda info`` adds the virtual packages ``__cuda`` (what the driver supports) and ``__glibc``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import compat.reading.values as values
from compat.facts import Build
from compat.reading.claims import Claim, Weight
from compat.reading.page import Page, Pair, ends
from compat.reading.program import Program, View, said

_FROZEN = re.compile(r"^\s*(?:[+*-]\s+)?([A-Za-z][\w.\-]{0,80})==(\d[\w.+!-]*)\s*(?:;.*|#.*)?$")
_DIRECT = re.compile(r"^\s*([A-Za-z][\w.\-]{0,80}) @ \S*?/\1-(\d[\w.+%]*?)-(?:cp|py)\d", re.IGNORECASE)
_ROW = re.compile(r"^\s*([A-Za-z_][\w.\-]{0,80})\s+v?(\d[\w.+!-]*)(?:\s+(\S+))?(?:\s+(\S+))?\s*$")
_COLUMNS = re.compile(r"^\s*([A-Za-z][\w.\-]{0,80})\s{2,}(\d[\w.+!-]*)\s*$")
_OLD = re.compile(r"^\s*([A-Za-z][\w.\-]{0,80}) \((\d[\w.+!-]*)\)\s*$")
_CONDA_ROW = re.compile(
    r"^\s*(?:[+*-]\s)?([a-z_][\w.\-]{1,60})\s+(\d[\w.+!]*)\s+((?:\w+_)?(?:py\d\w*|h[0-9a-f]{6,8}|cuda[\w.]*|cpu[\w.]*|mkl|main|pypi)\w*(?:_\d+)?"
    r"|pyh?d[0-9a-f]{6}\w*|\d)(?:\s+([\w./-]+))?\s*$"
)
_KNOWN_ROW = re.compile(
    r"^\s*((?:torch|torchvision|torchaudio|tensorflow|tensorflow-gpu|tensorflow-cpu|tf-nightly|jax|jaxlib|numpy|triton|xformers|"
    r"transformers|accelerate|vllm|flash-attn|deepspeed|bitsandbytes|onnxruntime(?:-gpu)?|paddlepaddle(?:-gpu)?|keras|cupy[\w-]*|"
    r"nvidia-[a-z-]+(?:-cu\d\d)?|pytorch-triton(?:-rocm)?|jax-cuda\d\d-\w+|mmcv(?:-full)?|numba|llvmlite|scipy|safetensors|"
    r"pytorch-lightning|torchmetrics|tensorrt|sglang|flashinfer(?:-python)?|intel-extension-for-pytorch))\s+\(?(\d[\w.+!-]*)\)?"
    r"(?:\s+(\S+))?\s*$",
    re.IGNORECASE,
)
_PIP_HEAD = re.compile(r"^\s*Package\s+Version\b")
_CONDA_HEAD = re.compile(r"^\s*#\s*Name\s+Version\s+Build\b|^\s*#? ?packages in environment at ")
_SATISFIED = re.compile(r"Requirement already satisfied: ([A-Za-z][\w.\-]{0,80})")
_AT_END = re.compile(r"\((\d[\w.+!]{0,60})\)\s*$")
_WHEEL = re.compile(r"([A-Za-z][\w.]*(?:-[A-Za-z][\w.]*)*)-(\d[\w.+!]*)")
_DPKG = re.compile(r"^\s*i[iHU]\s+(\S+?)(?::\w+)?\s+(\S+)\s+(?:amd64|arm64|all|ppc64el|i386)\b")
_OF_DRIVER = re.compile(r"nvidia-(?:driver|dkms|kernel|headless|open|(?:compute-)?utils)|libnvidia-compute|amdgpu-dkms")
_OF_SYSTEM: Final = (
    (r"libcudnn\d+(?:-cuda-\d+)?", "cudnn", Weight.HINT),
    ("libc6", "glibc", Weight.LISTED),
    (
        r"nvidia-smi|libnvidia-ml1|libcuda1|(?:nvidia-utils|libnvidia-compute)-\d{3}(?:-server)?",
        "driver_library",
        Weight.LISTED,
    ),
    ("nvidia-container-toolkit", "container_toolkit", Weight.LISTED),
)
_OF_UBUNTU = re.compile(r"ubuntu0\.(\d\d\.\d\d)\.\d")  # updates of a release: 535.113.01-0ubuntu0.22.04.1
_FOR = re.compile(r"(?:^|_)(?:cuda(\d\d?)\.?(\d)(?=[._p])|cpu)")  # cuda118_py312h3690e1b_301, py3.7_cuda10.0.130_0
_VIRTUAL = re.compile(r"__(cuda|glibc)=(\d[\d.]*)")
# A branch that ``uv pip tree`` and ``uv tree`` draw, after the lines of a box have become dashes.
_BRANCH = re.compile(r"^[|\s]{0,60}-{3}\s([A-Za-z][\w.\-]{0,80}) v(\d[\w.+!-]{0,60})(?: \(\*\))?\s*$")
_JSON = re.compile(r'\{"name": "([A-Za-z][\w.\-]{0,80})", "version": "(\d[\w.+!-]{0,60})"')
# What ``dotnet list package`` and a project's file say of NuGet's packages.
_NUGET = re.compile(
    r"(?:^[\s>]*|Include=\")(Microsoft\.ML\.OnnxRuntime[\w.]*)"
    r"(?:\" Version=\"(?=[\w.]+\")| +(?:\d\S* +)?(?=[\w.]+\s*$))(\d[\w.]*)\b"
)
_SHOWN = re.compile(r"^\s*Name:\s*([A-Za-z][\w.\-]*)\s*$")
_VERSION = re.compile(r"^\s*Version:\s*(\d[\w.+!-]*)\s*$")
# What installers say of what they did or found.
_INSTALLERS: Final = (
    "Successfully installed ", "packages in environment at", "Uninstalling ", "Using CPython", "already satisfied: ",
)  # fmt: skip
# Rows of one list at most.
LONGEST: Final = 1500

# Lines in which ``pip debug`` lists the libraries that it brings itself, which are not installed.
PIPS_OWN: Final = 40

# Rows without a head that are taken at most.
LOOSE: Final = 4000

# Rows one after another that make a list of any names.
_RUN: Final = 8


def _virtual(pair: Pair) -> Iterator[Claim]:
    """Virtual packages of conda state the driver's CUDA and the C library."""
    for text in (pair.value, *pair.below(5)):
        for name, version in _VIRTUAL.findall(text):
            if name == "cuda":
                yield Claim("driver_cuda", version)
            elif name == "glibc":
                yield Claim("glibc", version)


def _conda_platform(pair: Pair) -> Iterator[Claim]:
    """The name conda has for a platform, ``linux-64``."""
    system, _, number = pair.value.partition("-")
    arch = {"64": "x86_64", "aarch64": "aarch64", "arm64": "arm64"}.get(number)
    if arch and (kind := {"linux": "linux", "win": "windows", "osx": "darwin"}.get(system)):
        yield Claim("arch", arch, weight=Weight.LISTED)
        yield Claim("platform", kind, weight=Weight.HINT)


def _agent(pair: Pair) -> Iterator[Claim]:
    """How conda names itself to servers, with the kernel: ``conda/24.9.2 CPython/3.12.8 Linux/5.15.148-tegra``."""
    if found := re.search(r"\bconda/.{1,120} Linux/(\d+\.\d+\.\S+)", pair.value):
        yield from values.kernel_claims(found[1], Weight.LISTED)


def _marked(page: Page, _found: Mapping[str, list[Pair]]) -> Iterator[int]:
    """Heads of lists and rows in a shape of their own; other rows could be anything."""
    for needle in ("Package ", "# Name", "Name"):
        yield from (index for index in page.find(needle) if _head(page.lines[index].text))
    shown = (index + 1 for index in page.find("Name:") if _SHOWN.match(page.lines[index].text))
    yield from (index for index in shown if _VERSION.match(page.text_at(index)))
    yield from (index for index in page.find("==") if _FROZEN.match(page.lines[index].text))
    yield from (index for index in page.find("ii  ") if _DPKG.match(page.lines[index].text))


def _lists(view: View) -> Iterator[Claim]:
    """Every package of every list."""
    yield from _frozen(view)
    yield from _tables(view)
    yield from _rows(view)
    yield from _headless(view)
    yield from _shown(view)
    yield from _debian(view)


def _installed(line: str) -> Iterator[Claim]:
    """What pip says it installed."""
    words = line.partition("Successfully installed ")[2].split()[:LONGEST]
    return (_package(*pair.groups()) for word in words if (pair := _WHEEL.fullmatch(word)))


def _satisfied(line: str) -> Iterator[Claim]:
    """What pip found installed, with the version behind who asks for it."""
    found, version = _SATISFIED.search(line), _AT_END.match(line, max(0, line.rfind("(")))
    if found and version:
        yield _package(found.group(1), version.group(1))


def _branch(line: str) -> Iterator[Claim]:
    """A branch of uv's tree."""
    if found := _BRANCH.match(line):
        yield _package(*found.groups())


def _package(name: str, version: str, fact: str = "packages") -> Claim:
    """A claim for one listed package."""
    return Claim(fact, values.package_version(version) or version, key=name, weight=Weight.LISTED)


def _head(text: str) -> bool:
    """Whether a line is the head of a list."""
    return bool(_PIP_HEAD.match(text) or _CONDA_HEAD.match(text))


def _frozen(view: View) -> Iterator[Claim]:
    """``name==version`` and ``name @ file`` lines, wherever they stand."""
    own = {near for at, _ in view.lines("vendored library versions") for near in range(at, at + PIPS_OWN)}
    for index, line in view.lines("=="):
        if index not in own and (found := _FROZEN.match(line)):
            yield from view.stamp(index, [_package(*found.groups())])
    for index, line in view.lines(" @ "):
        if found := _DIRECT.match(line):
            version = found.group(2).replace("%2B", "+").replace("%2b", "+")
            yield from view.stamp(index, [_package(found.group(1), version)])


def _tables(view: View) -> Iterator[Claim]:
    """Rows below a head, until lines stop looking like rows."""
    for mark in ends(view.own):
        text = view.page.lines[mark].text
        if not _head(text):
            continue
        conda = _CONDA_HEAD.match(text) is not None
        misses = 0
        for index, line in view.span(mark + 1, mark + 1 + LONGEST):
            if found := _ROW.match(line) or _OLD.match(line):
                misses = 0
                yield from view.stamp(index, _listed(found, conda=conda))
            elif misses > 2 or _head(line):
                break
            else:
                misses += 1


def _rows(view: View) -> Iterator[Claim]:
    """Rows without a head, as ``pip list | grep torch`` leaves them: known names, or conda's build strings."""
    taken = 0
    for index, line in enumerate(view.page.lines):
        text = line.text
        if taken >= LOOSE:
            break
        # Short, with a blank and no label: cheap to see, and true of every row.
        if not 5 < len(text) < 140 or ":" in text or "=" in text or " " not in text:
            continue
        if found := _KNOWN_ROW.match(text):
            taken += 1
            yield from view.stamp(index, [_package(found.group(1), found.group(2))])
        elif found := _CONDA_ROW.match(text):
            taken += 1
            yield from view.stamp(index, _conda(*found.groups()))


def _headless(view: View) -> Iterator[Claim]:
    """A list cut before its head: many rows of two columns, with three-part versions and a known name among them."""
    run: list[tuple[int, re.Match[str]]] = []
    for index, line in enumerate((*view.page.lines[:LOOSE], None)):
        text = line.text if line else ""
        if found := _COLUMNS.match(text) if 5 < len(text) < 140 else None:
            run.append((index, found))
            continue
        known = any(_KNOWN_ROW.match(row.string) for _, row in run) if len(run) >= _RUN else False
        if known and sum(row.group(2).count(".") >= 2 for _, row in run) * 3 > len(run):
            for at, row in run:
                yield from view.stamp(at, [_package(row.group(1), row.group(2))])
        run = []


def _listed(found: re.Match[str], *, conda: bool) -> Iterator[Claim]:
    """One row of a list under a head; the old pip format has two columns only."""
    name, version, *rest = found.groups()
    if conda:
        build, channel = (*rest, None, None)[:2]
        yield from _conda(name, version, build or "", channel)
    else:
        yield _package(name, version)


def _conda(name: str, version: str, build: str, channel: str | None) -> Iterator[Claim]:
    """One row of conda, which lists what pip installed too, with "pypi" where the channel stands."""
    if name in {"python", "cpython"}:
        yield Claim("python", version, weight=Weight.LISTED)
    elif name == "cudnn":
        yield Claim("cudnn", version, weight=Weight.LISTED)
    elif name == "pytorch" and (found := _FOR.search(build)):
        runtime = f"cuda{found[1]}.{found[2]}" if found[1] else "cpu"
        yield Claim("builds", Build(runtime=runtime, location=channel or ""), key="torch", weight=Weight.HINT)
    yield _package(name, version, "packages" if "pypi" in {build, channel} else "conda_packages")


def _shown(view: View) -> Iterator[Claim]:
    """``pip show``: Name and Version on lines next to each other."""
    for index, line in view.lines("Version:"):
        version = _VERSION.match(line)
        above = [text for _, text in view.span(max(0, index - 2), index)]
        name = next((found for text in reversed(above) if (found := _SHOWN.match(text))), None)
        if version and name:
            yield from view.stamp(index, [_package(name.group(1), version.group(1))])


def _debian(view: View) -> Iterator[Claim]:
    """``dpkg -l``: driver packages, and libraries whose version only the package manager knows."""
    drivers, place = [], -1
    for index, line in view.lines("i"):
        if not line.startswith(("ii ", "iU ", "iH ", " ii")) or not (found := _DPKG.match(line)):
            continue
        name, version = found.groups()
        if release := _OF_UBUNTU.search(version):
            yield from view.stamp(index, [Claim("os", f"ubuntu{release[1]}", weight=Weight.HINT)])
        if _OF_DRIVER.match(name):
            drivers.append(f"{name}={version}")
            place = index
        for shape, fact, weight in _OF_SYSTEM:
            if re.fullmatch(shape, name) and (number := values.dotted(version)):
                yield from view.stamp(index, [Claim(fact, number, weight=weight)])
    if drivers:
        yield from view.stamp(place, [Claim("driver_packages", tuple(drivers))])


PROGRAM: Final = Program(
    name="package list",
    labels={
        "virtual packages": _virtual,
        "conda-build version": values.silent,
        "platform": _conda_platform,
        "user-agent": _agent,
        "python version": values.python,
    },
    marks=("virtual packages", "conda version", "active environment", "base environment"),
    phrases=_INSTALLERS,
    marked=_marked,
    lines={
        '{"name": "': lambda line: (_package(*found) for found in _JSON.findall(line)[:LONGEST]),  # pip list's JSON
        "Microsoft.ML.OnnxRuntime": lambda line: (_package(*found) for found in _NUGET.findall(line)),
        "Successfully installed ": _installed,
        "Requirement already satisfied: ": _satisfied,
        "Using ": said("python", r"\bUsing (?:CPython|Python) (\d\.\d{1,2}(?:\.\d{1,2})?)", weight=Weight.LISTED),
        "--- ": _branch,
    },
    beyond=_lists,
    alone=True,
)
