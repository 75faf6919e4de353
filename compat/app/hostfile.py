"""A host file read as strictly as the options are: each fault with its line, its key, and what was expected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from compat import facts
from compat.app.files import document_of, read_text, shown
from compat.errors import InputError, InputErrors
from compat.facts import Fact, Gpu, Host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.matrix import Matrix

GPUS: Final = 1024  # no machine has as many: Linux has 256 minor numbers for the devices of NVIDIA's driver


def read(name: str, matrix: Matrix) -> Host:
    """The facts of a host file (JSON or TOML, partial allowed).

    Raises:
        InputErrors: naming file, line and key of each value that is no fact, has the wrong type, or is a GPU that the
            matrix does not know, by a name that no driver prints.
    """
    text, where = read_text(name), shown(name)
    document = document_of(text, name)
    faults = [*_numbers(document, text, where)]
    try:
        host = facts.load(document, where)
    except InputErrors as error:
        raise InputErrors([*(_placed(fault, text, where) for fault in error.faults), *faults]) from None
    if faults := [*faults, *_products(host, matrix, text, where)]:
        raise InputErrors(faults)
    return host


def line_of(text: str, *words: str) -> int:
    """The first line that holds the last of some words, searched for behind the lines of those before it; 0 if none."""
    lines, at = text.splitlines(), 0
    found = 0
    for word in words:
        pattern = re.compile(rf"(?<![\w.-]){re.escape(word)}(?![\w-])")
        found = next((number for number, line in enumerate(lines[at:], at + 1) if pattern.search(line)), 0)
        at = found - 1 if found else at
    return found


def _placed(fault: InputError, text: str, where: str) -> InputError:
    """A fault with the line of the word that it quotes, or of its key."""
    quoted = re.search(r"'([\w.-]+)'", fault.what) or re.match(r"([\w.-]+):", fault.what)
    line = line_of(text, quoted[1].partition(".")[0]) if quoted else 0
    return InputError(fault.what, where=f"{where}:{line}" if line else where, expected=fault.expected, hint=fault.hint)


def _numbers(document: Any, text: str, where: str) -> Iterator[InputError]:
    """Versions that were written as a number with a point: 2.10 is 2.1 to every reader of TOML and JSON."""
    tables = {"": document, **{key: item for key, item in document.items() if isinstance(item, dict)}}
    for table, values in tables.items():
        for key, value in values.items():
            if isinstance(value, float):
                line = line_of(text, *([table] if table else []), key)
                yield InputError(
                    f"{f'{table}.' if table else ''}{key} is the number {value!r}",
                    where=f"{where}:{line}",
                    expected=f'a text: "{value!r}"',
                    hint="as a number 2.10 would be 2.1",
                )


def _products(host: Host, matrix: Matrix, text: str, where: str) -> Iterator[InputError]:
    """GPUs that a name alone describes and that nobody knows: the same name is refused as ``--gpu``."""
    from compat.matrix.processors import find_processor, hint, why
    from compat.matrix.products import find_gpu, nearest_gpus
    from compat.targets import is_target

    reading = host.reading("gpus")
    gpus: tuple[Gpu, ...] = (reading.value or ()) if isinstance(reading, Fact) else ()
    if len(gpus) > GPUS:
        yield InputError(f"gpus holds {len(gpus)}", where=where, expected=f"those of one machine, at most {GPUS}")
        return
    for number, gpu in enumerate(gpus):
        if gpu.target and not gpu.vendor and not is_target(gpu.target):
            line = line_of(text, gpu.target)
            what = f"gpus[{number}].target is {gpu.target[:40]!r}"
            yield InputError(what, where=f"{where}:{line}", expected="a target such as sm_89 or gfx1100")
        if not gpu.name or gpu.target or gpu.pci or find_gpu(matrix, gpu.name):
            continue
        near = nearest_gpus(matrix, gpu.name)
        if other := find_processor(matrix, gpu.name):
            what = f"gpus[{number}].name {gpu.name[:60]!r} {why(other)}"
            yield InputError(what, where=f"{where}:{line_of(text, gpu.name)}", hint=hint(matrix, other))
            continue
        yield InputError(
            f"gpus[{number}].name is {gpu.name[:60]!r}, which is no known GPU",
            where=f"{where}:{line_of(text, gpu.name)}",
            expected="a product's name, or a target beside it",
            hint=f"did you mean {' or '.join(near)}?" if near else "`envcheck matrix list gpus` lists them",
        )
