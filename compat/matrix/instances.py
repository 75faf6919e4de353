"""Finding what a cloud's instance type is made of: its GPU, how many, and the architecture of the machine."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from compat.errors import InputError
from compat.lazy import pattern
from compat.matrix.processors import find_processor, hint, why

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.matrix.rows import Instance

# How clouds spell types: ``p5.48xlarge``, ``g4dn.metal``; ``a2-highgpu-1g``; ``Standard_NC24ads_A100_v4``;
# ``ecs.gn7i-c8g1.2xlarge`` (Alibaba Cloud, Volcengine); ``GN10Xp.2XLARGE40`` (Tencent Cloud); ``p2s.2xlarge.8`` (Huawei
# Cloud, Open Telekom Cloud); ``bcc.lgn1.c12m40.1p4`` (Baidu AI Cloud).
_FORMS: Final = pattern(
    r"(?:ecs\.|ml\.)?[a-z]{1,8}[0-9]{1,2}[a-z0-9-]{0,12}\.(?:[0-9]{0,3}x?large(?:[0-9]{1,4}|\.[0-9]{1,2})?"
    r"|metal[a-z0-9-]{0,8}|medium|small|micro|nano)"
    r"|(?:a|g|n|c|e|m)[0-9][a-z]?-[a-z]{3,12}-[0-9]{1,3}g?(?:-[a-z]{2,12})?"
    r"|(?:bcc|bbc|ebc|ehc)\.[a-z0-9]{2,16}\.[a-z0-9.-]{2,24}"
    r"|standard_[a-z0-9_-]{2,50}|n[cdgv][0-9]{1,3}[a-z0-9]{0,8}(?:_[a-z0-9]{1,12}){0,4}_v[0-9]{1,2}"
)
_FAMILY: Final = pattern(r"[a-z]{0,3}\.?[a-z]{1,8}")
_HEAD: Final = pattern(r"[a-z0-9]{1,16}[.-]")  # what all types of a family begin with: ``p5.``, ``ecs.``, ``a3-``


def is_instance(text: str) -> bool:
    """Whether a text is spelled as an instance type, which no GPU is."""
    return _FORMS.fullmatch(text.strip().lower()) is not None


def is_family(matrix: Matrix, text: str) -> bool:
    """Whether a text begins as instance types do, or is the family of some: ``ecs.gn99``, ``p5``, ``GN10Xp``."""
    wanted = _plain(text)
    found = _HEAD.match(wanted)
    heads = (found[0],) if found else (f"{wanted}.", f"{wanted}-")
    return any(_plain(row.name).startswith(heads) for row in matrix.table("instances"))


def find_instance(matrix: Matrix, text: str) -> Instance:
    """The instance type of a name, in any case; Azure's also without ``Standard_``.

    Raises:
        InputError: if the matrix has no such type, with what is told of its family, names near it, or its chip.
    """
    wanted = _plain(text)
    rows: dict[str, Instance] = {_plain(row.name): row for row in matrix.table("instances")}
    if (known := rows.get(wanted)) and known.gpu:
        return known
    if other := find_processor(matrix, wanted):
        raise InputError(f"{text.strip()[:60]!r} {why(other)}", where="--gpu", hint=hint(matrix, other))
    told = next((row.note for name, row in rows.items() if not row.gpu and fnmatchcase(wanted, name)), "")
    raise InputError(
        f"unknown instance type {text.strip()[:60]!r}",
        where="--gpu",
        expected="a type of `envcheck matrix list instances`, or the name of its GPU",
        hint=told or _near(wanted, rows),
    )


def _near(wanted: str, rows: dict[str, Instance]) -> str:
    """What may have been meant."""
    import difflib

    family = _FAMILY.match(wanted)
    like = [name for name, row in rows.items() if row.gpu and family is not None and name.startswith(family[0])]
    own = [name for name in like if name.startswith((f"{wanted}.", f"{wanted}-"))]
    close = difflib.get_close_matches(wanted, own or like, n=3, cutoff=0 if own else 0.4)
    return f"near it: {', '.join(rows[name].name for name in close)}" if close else ""


def _plain(name: str) -> str:
    """A name in lower case, without the word that all of Azure's begin with."""
    return name.strip().lower().removeprefix("standard_")
