"""An interactive session: what Python answers at its prompt and what short commands answer at the shell's.

::

    >>> torch.__version__                       $ python -c "import torch; print(torch.version.cuda)"
    '1.12.1'                                    11.3

    print(torch.__version__)                    In [1]: torch.__version__
    print(torch.cuda.is_available())            Out[1]: '2.0.1+cpu'

    1.12.1
    False

Answers are matched with questions in order; where a print begins with words, its answer must begin with them too, and
what is printed and not known here may have any answer. ``torch.version.cuda`` prints nothing at a prompt when it is
None, so only a printed None states a build without CUDA.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

import compat.reading.devices as devices
import compat.reading.values as values
from compat import versions
from compat.facts import Build, Gpu
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program, said

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from compat.reading.program import View

_BANNER = re.compile(r"^\W*Python (\d\.\d{1,2}\.\d{1,2})\+?(?:rc\d+)?(?=\s|$|\|)")
_SYS_VERSION: Final = (  # Py_GetVersion: the compiler stands behind it, or below it where sys.version is printed
    r"^\W{0,3}(\d\.\d{1,2}\.\d{1,2})\+? (?:(?:\||\().{10,}\[(?:GCC|Clang|MSC)"
    r"|\([\w/.:-]{4,40}, [A-Z][a-z]{2} [ \d]\d \d{4}, \d\d:\d\d:\d\d\) ?$)"
)
_STATEMENT = re.compile(r";\s*|(?<=\))\s+(?=print)")
_CODE = re.compile(r"\s*(?:import |from \w|print ?\()")
_BESIDE = re.compile(r"python3? -c .{0,100}\)[\"'\s.:]{1,6}(\d+\.\d[\w.+]*)\s*$")


# Expressions whose answers are no versions: true or false, counts.
_FIGURES: Final = re.compile(r"is_available|device_count|is_built|current_device|bf16|get_available|ones|rand|zeros")
# The words that a print begins with, and its answer too.
_LITERAL: Final = re.compile(r"[fr]?(['\"])([^'\"{}\\]{1,80})")


class Question(NamedTuple):
    """What one statement prints: ``said`` first, then a value for each reader; no reader where none is known."""

    said: str
    readers: list[Callable[[str], Iterator[Claim]] | None]


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
        yield Claim("cudnn", versions.unpacked_cudnn(int(answer)))


def _capability(answer: str) -> Iterator[Claim]:
    """``torch.cuda.get_device_capability()``, a tuple."""
    if target := devices.capability(answer):
        yield Claim("gpus", Gpu(target=target, vendor="nvidia"), weight=Weight.LISTED)


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
    "torch.cuda.get_device_name": devices.card(r"(?P<name>.+)"),
    "torch.cuda.get_device_capability": _capability,
    "platform.platform": values.platform_claims,
}  # fmt: skip


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
    """Answers below a line with questions; another prompt means there was none.

    Several questions in one ``print`` are answered on one line, in several statements on a line each; a script's
    questions may all stand before its answers. Lines taken as questions are added to ``asked``.
    """
    pending = [*_unanswered(view, index), *_asked(line)]
    for row, text in view.span(index + 1, index + 24):
        if _CODE.match(text):
            pending += _asked(text)
            asked.add(row)
            continue
        answer = re.sub(r"^\s*Out\[\d+\]:\s*", "", text).strip()
        if answer.startswith((">>>", "$", "In [", "...")) or not pending:
            return
        for at, question in enumerate(pending):
            claims = _claims(question, answer) if at == 0 or question.said else []
            if claims or (question.said and answer.startswith(question.said)):
                del pending[: at + 1]
                yield from view.stamp(row, claims)
                break
            if not (question.said or question.readers):
                break  # it may be the answer to what we do not know


def _unanswered(view: View, index: int) -> list[Question]:
    """What a script prints right above the line, whose answers come first."""
    above: list[Question] = []
    for _, text in reversed([*view.span(max(0, index - 12), index)]):
        if text.lstrip().startswith((">>>", "$", "In [")):
            break
        if re.match(r"\s*print ?\(", text):
            above[:0] = _asked(text)
    return above


def _asked(line: str) -> list[Question]:
    """The questions of a line, statement for statement."""
    return [question for statement in _STATEMENT.split(line) if (question := _question(statement))]


def _question(statement: str) -> Question | None:
    """What a statement asks; ``None`` if it prints nothing, or nothing that looks like a version."""
    before, printed, shown = statement.partition("print")
    known = any(question in statement for question in _ANSWERS)
    if (not printed and not known) or (not known and _FIGURES.search(shown)):
        return None
    shown = (shown if printed else before).strip(" ()>")
    said = _LITERAL.match(shown)
    if said:
        shown = shown[said.end() :]
    parts = shown.strip(" ()>'\"").strip("\"',: ").split(",") if known else []
    readers = [next((read for question, read in _ANSWERS.items() if question in part), None) for part in parts]
    return Question(said[2].strip() if said else "", readers)


def _claims(question: Question, answer: str) -> list[Claim]:
    """Claims of one answer line; words answer the arguments of one print in order."""
    if not answer.startswith(question.said):
        return []
    rest = answer[len(question.said) :].strip(" :=")
    answers = [rest] if len(question.readers) == 1 else [word.strip("(),'\"") for word in rest.split()]
    pairs = zip(question.readers, answers, strict=False)
    return [claim for read, text in pairs if read is not None for claim in read(text)]


PROGRAM: Final = Program(
    name="session",
    phrases=(">>> ", "__version__", "torch.version.", "torch.cuda.get_device"),
    marked=lambda page, _: (index for index in page.find("Python ") if _BANNER.match(page.lines[index].text)),
    lines={
        "Python ": said("python", _BANNER.pattern, weight=Weight.LISTED),
        "[": said("python", _SYS_VERSION, weight=Weight.LISTED),
        ", ": said("python", _SYS_VERSION, weight=Weight.LISTED),
        "(": said("gcc", r"^\s*(?:gcc|g\+\+) \(.{0,80}\) (\d+(?:\.\d+)+)"),
    },
    beyond=_questions,
    alone=True,
)
