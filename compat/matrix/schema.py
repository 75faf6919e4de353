"""Whether a raw row has the shape of :mod:`compat.matrix.rows`: keys, types, spelling of versions and targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from functools import lru_cache
from typing import Any, Final, cast, get_args

import compat.matrix.rows as rows
from compat import plan, targets, versions
from compat.lazy import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one key of one row, and what was expected."""

    key: str
    what: str
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a value is written: a test of one item, and the rule in words."""

    fits: Callable[[str], bool]
    rule: str


def _pattern(pattern: str, rule: str) -> Spelling:
    """A spelling given by a regular expression over the whole item."""
    compiled = re.compile(pattern)
    return Spelling(lambda text: compiled.fullmatch(text) is not None, rule)


def _compiles(text: str) -> bool:
    """Whether a text is a regular expression."""
    try:
        return bool(re.compile(text))
    except re.error:
        return False


def _word(*words: str) -> Spelling:
    """A spelling that is one of a few words."""
    return Spelling(frozenset(words).__contains__, " or ".join(words))


DOTTED: Final = _pattern(r"\d{1,9}(\.\d{1,9}){0,5}", "a dotted number such as 12.8.1")
MINOR: Final = _pattern(r"\d{1,3}\.\d{1,3}", "major.minor such as 12.8")
RELEASE: Final = _pattern(r"\d[0-9A-Za-z.!+-]{0,40}(\.\.\d[0-9A-Za-z.+-]{0,40})?", "a release such as 2.9.1")
SPECIFIER: Final = Spelling(
    lambda text: text[:1] in "<>=!~" and versions.specifier(text) is not None, "a specifier such as >=2,<3"
)
PYTHON: Final = _pattern(r"[23]\.\d{1,2}t?", "a Python minor such as 3.11 or 3.13t")
DATE: Final = _pattern(
    r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?", "a day 2023-05-08, a month 2023-05 or a year"
)
RUNTIME: Final = _pattern(r"((cuda|rocm)\d{1,2}(\.\d{1,2})?|[a-z]+[0-9A-Za-z.]*)?", "cuda11.8, rocm6.2, cpu, xpu, ...")
OS: Final = _pattern(r"[a-z]+\d{1,4}(\.\d{1,2})?", "distribution and release such as ubuntu22.04")
PCI: Final = _pattern(r"[0-9a-f]{4}:[0-9a-f]{4}", "vendor:device in lower case such as 10de:2684")
BRANCH: Final = _pattern(r"R\d{3}", "a branch such as R535")
NAME: Final = _pattern(r"[a-z0-9]+(-[a-z0-9]+)*", "a normalised name such as torch-npu")
LIBRARY: Final = _pattern(r"\d{1,3}(\.\d{1,9}){1,4}(\.post\d+)?", "a version such as 9.1.0.70")
DEVICE: Final = Spelling(targets.is_target, "a device target such as sm_89 or gfx1100")
CODE: Final = Spelling(
    lambda text: text == "-" or targets.sm(text) is not None or targets.is_gfx(text) or targets.is_intel(text),
    "sm_80, compute_90, gfx90a, pvc or -",
)
INTEL: Final = Spelling(targets.is_intel, "a name of Intel's compiler such as arl-h")
PLATFORM: Final = _word(
    "linux_x86_64",
    "linux_aarch64",
    "linux_ppc64le",
    "linux_i686",
    "win_amd64",
    "win_arm64",
    "win32",
    "macosx_arm64",
    "macosx_x86_64",
    "any",
)
ARCH: Final = _word("x86_64", "aarch64", "ppc64le")

# Field -> spelling of each of its items in every table; an empty text states nothing and fits everywhere.
FIELDS: Final[Mapping[str, Spelling]] = {
    "how": _word(*get_args(plan.How)),
    **dict.fromkeys(("accelerator", "channels", "deed", "package", "pulls", "signal"), NAME),
    **dict.fromkeys(("clang", "cudart", "driver_linux", "driver_windows", "family_linux", "family_windows"), DOTTED),
    **dict.fromkeys(("drivers", "first", "first_rocm", "gcc", "jetpack", "l4t", "last_rocm", "latest"), DOTTED),
    **dict.fromkeys(("libstdcxx", "macos", "newest", "windows"), DOTTED),
    **dict.fromkeys(("capabilities", "cc", "first_cc", "first_cuda", "last_cc", "last_cuda"), MINOR),
    **dict.fromkeys(("glibc", "kernel", "ptx"), MINOR),
    **dict.fromkeys(("date", "eol", "seen"), DATE),
    **dict.fromkeys(("python", "pythons"), PYTHON),
    **dict.fromkeys(("branch", "branches", "last_driver"), BRANCH),
    **dict.fromkeys(("borrows", "gfx"), DEVICE),
    **dict.fromkeys(("intel", "runs"), INTEL),
    **dict.fromkeys(("state", "token", "window"), _pattern(r"[a-z0-9_*+| ]*", "a sum of products of fields")),
    "abi": _word("0", "1"),
    "cloud": _pattern("[a-z]{2,20}", "a cloud such as aws"),
    "cuda_from": _word(*get_args(plan.CudaFrom)),
    "days": _pattern(r"\d[\w.!]*:\d{4}-\d\d-\d\d", "a release and its day such as 2.9.1:2025-11-12"),
    "evidence": _word("installed", "imported", "run on a device"),
    "format": _pattern(
        "bf16|tf32|fp8(?:_e4m3fn(?:uz)?|_e5m2)?|int8|nvfp4|mxfp4|awq|gptq|marlin|fa[234]",
        "a number format such as fp8 or awq",
    ),
    "generic": _pattern(r"gfx[0-9-]+-generic", "a generic target such as gfx11-generic"),
    "kernels": CODE,
    "linux": _pattern(
        r"[a-z]+\d{1,4}(\.\d{1,2})?:\d{1,2}(\.\d{1,3}){1,2}(-\d{1,4})?", "a system and its kernel, rhel9.4:5.14"
    ),
    "manager": _word("apt", "dnf", "yum", "zypper", "apk", "tdnf"),
    "mig": _pattern(r"[1-7]g\.\d{1,3}gb([+-][a-z.]{2,8})?:[1-7]", "a profile and its number such as 1g.10gb:7"),
    "models": _pattern(r"[a-z0-9_-]+", "a model_type such as qwen3_moe"),
    "override": _pattern(r"\d{1,2}\.\d{1,2}\.\d{1,2}", "a value such as 10.3.0"),
    "part": _pattern(r"1/[2-9]\d?", "a fraction such as 1/6"),
    "pattern": Spelling(_compiles, "a regular expression"),
    "pci": PCI,
    "platforms": PLATFORM,
    "runtime": RUNTIME,
    "soname": _pattern(
        r"lib[\w+-]+\.so\.\d+(\.\d+)*|[\w-]+\.dll", "a library such as libcudnn.so.9 or cublas64_12.dll"
    ),
    "status": _word("active", "eol", "gone"),
    "sums": _pattern(r"\d\.\d{1,2}t?=[0-9a-f]{64}", "a Python and the SHA-256 of its file such as 3.12=9f86d0..."),
    "stream": _word("classic", "preview", "core-sdk"),
    "url": _pattern(r"https://\S+", "an https address"),
    "vendor": _word("nvidia", "amd", "intel", "google", "huawei"),
    "way": _word("mig", "mps", "time-slicing"),
}
# Row type -> spelling of those of its fields that other tables spell otherwise, or not at all.
SPELLINGS: Final[Mapping[type[rows.Row], Mapping[str, Spelling]]] = {
    rows.Package: {"name": NAME, "kind": _word("framework", "companion", "library")},
    rows.Application: {"name": NAME, "extras": NAME},
    rows.Conda: {"name": NAME},
    rows.Major: {"name": NAME, "version": DOTTED},
    rows.Notice: {"name": NAME, "versions": SPECIFIER},
    rows.Compiled: {"name": NAME, "versions": SPECIFIER},
    rows.Misspelt: {"name": NAME, "versions": SPECIFIER},
    rows.Script: {"name": NAME, "versions": SPECIFIER, "fixed": RELEASE},
    rows.Index: {"name": NAME},
    rows.Build: {"versions": RELEASE, "cudnn": DOTTED, "driver": DOTTED},
    rows.CudaRelease: {
        "cuda": _pattern(r"\d{1,2}\.\d{1,2}\.\d{1,3}", "a full release such as 12.8.1"),
        "targets": Spelling(lambda text: text.startswith("sm_") and targets.sm(text) is not None, "sm_90 or sm_90a"),
    },
    rows.Forward: {"cuda": MINOR},
    rows.RocmRelease: {
        "rocm": _pattern(r"\d{1,2}\.\d{1,2}\.\d{1,2}", "a full release such as 6.4.0"),
        "targets": DEVICE,
        "os": OS,
    },
    rows.Instance: {"name": _pattern(r"[A-Za-z][A-Za-z0-9.*_-]+", "a type such as p5.48xlarge"), "arch": ARCH},
    rows.Image: {**dict.fromkeys(("cuda", "rocm", "cudnn", "nccl"), DOTTED), "os": OS, "arch": ARCH},
    rows.DriverBranch: {"kind": _word("production", "lts", "new-feature", "legacy"), "cuda": MINOR},
    rows.System: {"os": OS},
    rows.Command: {"system": _pattern(r"[a-z]+[0-9]*", "a distribution such as rhel or rhel10")},
    rows.LibraryRelease: {"version": LIBRARY, "cuda": _pattern(r"\d{1,2}(\.\d{1,2})?", "a major 12 or a minor 12.8")},
    rows.Soname: {"versions": _pattern(r">=[\w.!+]+(,<[\w.!+]+)?", "a specifier such as >=8.5.0.96,<9.0.0.312")},
    rows.Jetpack: {"cuda": MINOR, "os": OS},
    rows.Accelerator: {"versions": RELEASE},
}

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "How": (str,),
    "CudaFrom": (str,),
}


def row_faults(table: str, raw: Any) -> Iterator[Fault]:
    """Everything that is wrong with the shape of one raw row of ``table``.

    ``table``: name of the table in the file, such as ``gpus`` or a package's builds. ``raw``: the row as TOML or JSON
    gave it; it may be anything, since overlays come from strangers.

    Yields:
        one fault per wrong key: unknown, missing, of another type, or not in the field's spelling.
    """
    if not isinstance(raw, dict):
        yield Fault("", f"a row is {raw!r:.60}", "a table of keys and values")
        return
    shape = rows.row_type(table)
    parts = _fields(cast("Any", shape))
    for key, part in parts.items():
        if part.default is MISSING and key not in raw:
            spelling = _spelling(key, shape)
            yield Fault(key, "is missing", spelling.rule if spelling else "")
    for key, value in raw.items():
        if key in parts:
            yield from _value_faults(parts[key], value, shape)
        elif key != "origin":
            yield Fault(key, "is not a key of this table", f"one of {', '.join(sorted(parts))}")


@lru_cache
def _fields(shape: type[Any]) -> dict[str, Field[Any]]:
    """Fields that a file may state; what the loader fills in (where a row came from, its package) is hidden."""
    hidden = {"origin", "package"} if shape is rows.Build else {"origin"}
    return {item.name: item for item in fields(shape) if item.name not in hidden}


def _value_faults(part: Field[Any], value: Any, shape: type[rows.Row]) -> Iterator[Fault]:
    """Whether a value has its field's type, is stated where it must be, and is well spelled."""
    kind = str(part.type)
    if kind.startswith("tuple"):
        yield from _list_faults(part.name, value, shape)
    elif not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        yield Fault(part.name, f"is {value!r:.60}", {"str": "a text", "bool": "true or false"}.get(kind, "a number"))
    elif isinstance(value, str) and part.default is MISSING and not value and part.name != "runtime":
        yield Fault(part.name, "is empty", "a value")
    elif isinstance(value, str) and value:
        yield from _spelling_faults(part.name, (value,), shape)


def _list_faults(key: str, value: Any, shape: type[rows.Row]) -> Iterator[Fault]:
    """A field of words is one text or a list of texts; a field whose items may hold spaces is a list."""
    is_list = isinstance(value, list) and all(isinstance(item, str) and item for item in value)
    if key in rows.LISTS:
        if not is_list:
            yield Fault(key, f"is {value!r:.60}", "a list of texts")
    elif isinstance(value, str) or is_list:
        items = tuple(value.split()) if isinstance(value, str) else tuple(value)
        repeated = sorted({item for item in items if items.count(item) > 1})
        if repeated:
            yield Fault(key, f"names {' '.join(repeated)} twice", "each item once")
        yield from _spelling_faults(key, items, shape)
    else:
        yield Fault(key, f"is {value!r:.60}", "words in one text")


def _spelling(key: str, shape: type[rows.Row]) -> Spelling | None:
    """How the values of a field are written; None where anything goes."""
    return SPELLINGS.get(shape, {}).get(key) or FIELDS.get(key)


def _spelling_faults(key: str, items: tuple[str, ...], shape: type[rows.Row]) -> Iterator[Fault]:
    """Items that do not fit the spelling of their field."""
    spelling = _spelling(key, shape)
    for item in items:
        if spelling is not None and not spelling.fits(item):
            yield Fault(key, f"is {item!r:.60}", spelling.rule)
