"""An interactive session: what Python answers at its prompt and what short commands answer at the shell's.

::

    >>> torch.__version__                       $ python -c "import torch; print(torch.version.cuda)"
    '1.12.1'                                    11.3

    print(torch.__version__)                    In [1]: torch.__version__
    print(torch.cuda.is_available())            Out[1]: '2.0.1+cpu'

    1.12.1
    False

Answers are matched with questions in order. ``torch.version.cuda`` prints nothing at a prompt when it is None, so only
a printed None states a build without CUDA.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reports.devices as devices
import compat.reports.values as values
from compat.facts import Build, Gpu
from compat.reports.claims import Claim, Weight
from compat.reports.page import betrayed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from compat.reports.page import Page, Pair, View

NAME: Final = "session"

LABELS: Final[Mapping[str, values.Reader]] = {}

_BANNER = re.compile(r"^\W*Python (\d\.\d{1,2}\.\d{1,2}\+?)(?:rc\d+)?(?=\s|$|\|)")
_SYS_VERSION = re.compile(r"^\W{0,3}(\d\.\d{1,2}\.\d{1,2})\+? (?:\||\().{10,}\[(?:GCC|Clang|MSC)")
_STATEMENT = re.compile(r";\s*|(?<=\))\s+(?=print)")
_CODE = re.compile(r"\s*(?:import |from \w|print ?\()")
_BESIDE = re.compile(r"python3? -c .{0,100}\)[\"'\s.:]{1,6}(\d+\.\d[\w.+]*)\s*$")
_GCC = re.compile(r"^\W*(?:gcc|g\+\+|c\+\+) \(.{0,80}\) (\d+(?:\.\d+)+)")


def _version(name: str) -> Callable[[str], Iterator[Claim]]:
    """A reader of one module's ``__version__``."""

    def read(answer: str) -> Iterator[Claim]:
        version = values.package_version(answer.strip("'\""))
        if "." in version:
            yield Claim("packages", version, key=name)

    return read


def _cuda(answer: str) -> Iterator[Claim]:
    """``torch.version.cuda``."""
    if claim := values.build_claim("cuda", answer.strip("'\"")):
        yield claim
    elif answer.strip() == "None":
        yield Claim("builds", Build(runtime="cpu"), key="torch", weight=Weight.LISTED)


def _hip(answer: str) -> Iterator[Claim]:
    """``torch.version.hip``."""
    if claim := values.build_claim("rocm", answer.strip("'\"")):
        yield claim


def _cudnn(answer: str) -> Iterator[Claim]:
    """``torch.backends.cudnn.version()``, a packed number."""
    if re.fullmatch(r"\d{4,6}", answer.strip()):
        yield Claim("cudnn", values.unpacked_cudnn(int(answer)))


def _name(answer: str) -> Iterator[Claim]:
    """``torch.cuda.get_device_name()``."""
    if gpu := devices.device(answer):
        yield Claim("gpus", gpu)


def _capability(answer: str) -> Iterator[Claim]:
    """``torch.cuda.get_device_capability()``, a tuple."""
    if target := devices.capability(answer):
        yield Claim("gpus", Gpu(target=target, vendor="nvidia"), weight=Weight.LISTED)


def _platform(answer: str) -> Iterator[Claim]:
    """``platform.platform()``."""
    return values.platform_claims(answer)


_ANSWERS: Final[Mapping[str, Callable[[str], Iterator[Claim]]]] = {
    **{f"{name}.__version__": _version(key) for name, key in (
        ("torch", "torch"), ("tf", "tensorflow"), ("tensorflow", "tensorflow"), ("jax", "jax"), ("jaxlib", "jaxlib"),
        ("numpy", "numpy"), ("np", "numpy"), ("torchvision", "torchvision"), ("transformers", "transformers"),
        ("paddle", "paddlepaddle"), ("triton", "triton"), ("xformers", "xformers"), ("mmcv", "mmcv"), ("vllm", "vllm"),
        ("onnxruntime", "onnxruntime"), ("cupy", "cupy"), ("numba", "numba"), ("keras", "keras"),
    )},
    "torch.version.cuda": _cuda,
    "torch.version.hip": _hip,
    "torch.backends.cudnn.version": _cudnn,
    "torch.cuda.get_device_name": _name,
    "torch.cuda.get_device_capability": _capability,
    "platform.platform": _platform,
}  # fmt: skip


def recognise(page: Page, found: Mapping[str, list[Pair]]) -> list[int]:
    """Prompts, Python's banner, version sentences."""
    marks = betrayed(page, found, (), (">>> ", "__version__", "torch.version.", "torch.cuda.get_device"))
    banners = [index for index in page.find("Python ") if _BANNER.match(page.lines[index].text)]
    return sorted({*marks, *banners})


def facts(view: View) -> Iterator[Claim]:
    """Banner, answers below questions, version sentences of compilers."""
    for index, line in view.lines("Python "):
        if found := _BANNER.match(line):
            yield from view.stamp(index, [Claim("python", found.group(1).rstrip("+"), weight=Weight.LISTED)])
    for index, line in view.lines("["):
        if found := _SYS_VERSION.match(line):
            yield from view.stamp(index, [Claim("python", found.group(1), weight=Weight.LISTED)])
    yield from _questions(view)
    for index, line in view.lines("("):
        if line.lstrip().startswith(("gcc ", "g++ ")) and (found := _GCC.match(line)):
            yield from view.stamp(index, [Claim("gcc", found.group(1))])


def _questions(view: View) -> Iterator[Claim]:
    """Answers to the questions that a line asks: behind them in an issue form, else below."""
    asked: set[int] = set()
    for question in _ANSWERS:
        for index, line in view.lines(question):
            if found := _BESIDE.search(line[:500]):  # an issue form's question with its answer behind it
                asked.add(index)
                yield from view.stamp(index, _ANSWERS[question](found.group(1)))
            if index not in asked and len(line) < 500:
                asked.add(index)
                yield from _answered(view, index, line, asked)


def _answered(view: View, index: int, line: str, asked: set[int]) -> Iterator[Claim]:
    """The first line below a question that is not a warning; another prompt means there was no answer.

    Several questions in one ``print`` are answered on one line, in several statements on a line each; a script's
    questions may all stand before its answers. Lines taken as questions are added to ``asked``.
    """
    pending = [_readers(statement) for statement in _STATEMENT.split(line)]
    pending = [readers for readers in pending if readers]
    for row, text in view.span(index + 1, index + 24):
        if _CODE.match(text):
            pending += [readers for readers in map(_readers, _STATEMENT.split(text)) if readers]
            asked.add(row)
            continue
        answer = re.sub(r"^\s*Out\[\d+\]:\s*", "", text).strip()
        if answer.startswith((">>>", "$", "In [", "...")) or not pending:
            return
        claims = _claims(pending[0], answer)
        if claims:
            pending.pop(0)
            yield from view.stamp(row, claims)


def _readers(statement: str) -> list[Callable[[str], Iterator[Claim]] | None]:
    """One reader per expression that the statement shows, ``None`` where it is no question we know."""
    shown = statement.partition("print")[2] or statement
    if not any(question in shown for question in _ANSWERS):
        return []
    parts = shown.strip(" ()>'\"").split(",")
    return [next((read for question, read in _ANSWERS.items() if question in part), None) for part in parts]


def _claims(readers: list[Callable[[str], Iterator[Claim]] | None], answer: str) -> list[Claim]:
    """Claims of one answer line; words answer the arguments of one print in order."""
    answers = [answer] if len(readers) == 1 else [word.strip("(),'\"") for word in answer.split()]
    pairs = zip(readers, answers, strict=False)
    return [claim for read, text in pairs if read is not None for claim in read(text)]
