"""Weighs claims against each other: one reading per fact.

The running program outweighs lists, lists outweigh people; a coarser value (3.8) does not contradict a finer one
(3.8.10). Where equals contradict each other the fact is unknown, and says which lines disagree.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from compat import versions
from compat.facts import CATALOGUE, Build, Fact, Host, Reading, Unknown
from compat.names import normalise
from compat.reading.claims import Claim, Weight
from compat.reading.gpus import merge_gpus

_LOCAL_RUNTIME = re.compile(r"\+(?:(cpu|xpu|cxx11\.abi)|cu(\d{2,3})|rocm(\d+\.\d+))\b")
_CONDA_NAMES: Final = {"pytorch": "torch", "pytorch-gpu": "torch", "jax-cuda": "jax"}
_NOT_PYTHON = re.compile(
    r"^(?:_|lib|cuda|cudnn|nccl|mkl$|blas$|openssl|python$|pytorch-cuda$|pytorch-mutex$|magma-|gcc|gxx|ld_impl|ca-cert|mkl-|"
    r"intel-openmp|ffmpeg|sqlite|zlib|xz$|tk$|ncurses|readline|nomkl|cpuonly)"
)
# Formats long enough to be cut; what stands on their last line may be half a word.
CUT_PRONE: Final = frozenset({"collect_env", "nvidia-smi", "rocm tools", "mmcv collect_env"})


def merge(claims: Iterable[Claim]) -> tuple[Host, list[str]]:
    """The host that all claims together describe, and what had to be left out, with why."""
    grouped: dict[str, list[Claim]] = defaultdict(list)
    notes: list[str] = []
    claims = list(claims)
    for claim in claims:
        if _cut(claim, claims):
            notes.append(f"{claim.source}: the text ends inside this line, so its value may be cut")
        elif claim.value is not None:
            grouped[claim.fact].append(claim)
    readings: dict[str, Reading] = {}
    grouped["packages"] += _from_conda(grouped.get("conda_packages", ()))
    python = _choose(grouped["python"]) if grouped["python"] else None
    grouped["glibc"] = [one for one in grouped["glibc"] if not _linked(one, python)]
    for fact in CATALOGUE:
        if mine := grouped.get(fact):
            readings[fact] = _reading(fact, mine, notes)
    _add_local_runtime(readings)
    return Host(readings), notes


def _linked(claim: Claim, python: Reading | None) -> bool:
    """Whether a claim tells the C library that Python's own file asks for, and not the one that is there.

    Pythons before 3.8 do so (CPython's bpo-35389), in ``platform.platform()`` those before 3.9.
    """
    known = versions.release(python.value)[:2] if isinstance(python, Fact) else ()
    old = () < known < (3, 8) and claim.program in {"collect_env", "paddle summary_env"}
    return known < (3, 9) if claim.weight is Weight.HINT else old


def _cut(claim: Claim, claims: list[Claim]) -> bool:
    """Whether a value may lack its end: on the last line of a long report, and unlike its siblings."""
    if (
        not claim.last
        or claim.program not in CUT_PRONE
        or claim.fact in {"packages", "conda_packages", "env", "builds"}
    ):
        return False
    others = [other for other in claims if other.program == claim.program and not other.last]
    if claim.fact == "gpus" and any(other.value == claim.value for other in others):
        return False
    return len(others) >= 4


def _reading(fact: str, claims: list[Claim], notes: list[str]) -> Reading:
    """One fact from all its claims, by the kind of value it has."""
    if fact == "gpus":
        return merge_gpus(claims)
    if fact == "builds":
        return _builds(claims)
    if CATALOGUE[fact].kind == "table":
        return _table(claims, notes)
    guest = [claim for claim in claims if fact == "platform" and claim.value.startswith("wsl")]
    hosted = guest and {claim.value for claim in claims} <= {"windows", "linux", guest[0].value}
    return _choose(guest if hosted else claims)  # what is Windows beside WSL is WSL's own host


def _choose(claims: list[Claim]) -> Reading:
    """The heaviest claim, made finer by any claim that agrees with it."""
    heaviest = max(claim.weight for claim in claims)
    first, *rest = [claim for claim in claims if claim.weight == heaviest]
    best = first
    for claim in rest:
        if agree(best.value, claim.value):
            best = max(best, claim, key=lambda item: len(str(item.value)))
        elif claim.program == best.program:
            why = f"{best.source} says {best.value}, {claim.source} says {claim.value}"
            return Unknown(why, best.source)
    finer = [claim for claim in claims if claim.weight < heaviest and refines(claim.value, best.value)]
    best = max([best, *finer], key=lambda item: len(str(item.value)))
    return Fact(best.value, best.source)


def agree(left: Any, right: Any) -> bool:
    """Whether two values can both be true: equal, or one a coarser spelling of the other (``3.8``, ``3.8.10``)."""
    return bool(left == right) or refines(left, right) or refines(right, left)


def refines(fine: Any, coarse: Any) -> bool:
    """Whether ``fine`` continues the dotted number ``coarse``, or spells its local tag out."""
    return (
        isinstance(fine, str)
        and isinstance(coarse, str)
        and fine.startswith((f"{coarse}.", f"{coarse}+", f"{coarse}-"))
    )


def _table(claims: list[Claim], notes: list[str]) -> Reading:
    """One entry per name; a name that equals contradict each other on is left out."""
    named: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        name = normalise(claim.key) if claim.fact == "packages" else claim.key
        named[name].append(claim)
    values: dict[str, str] = {}
    sources: list[str] = []
    for name, mine in named.items():
        match _strict(mine):
            case Fact(value, source):
                values[name] = value
                sources.append(source)
            case Unknown(why):
                notes.append(f"{name}: {why}")
    return Fact(values, _together(sources))


def _strict(claims: list[Claim]) -> Reading:
    """Like :func:`_choose`, but lists of different programs may not contradict each other either."""
    heaviest = max(claim.weight for claim in claims)
    top = [claim for claim in claims if claim.weight == heaviest]
    odd = next((claim for claim in top if not agree(top[0].value, claim.value)), None)
    if odd is not None and heaviest <= Weight.LISTED:
        return Unknown(f"{top[0].source} says {top[0].value}, {odd.source} says {odd.value}", top[0].source)
    best = max((claim for claim in top if agree(top[0].value, claim.value)), key=lambda item: len(str(item.value)))
    return Fact(best.value, best.source)


def _together(sources: list[str]) -> str:
    """``"collect_env lines 3-40, package list line 50"``."""
    lines: dict[str, list[int]] = defaultdict(list)
    for source in sources:
        program, _, number = source.rpartition(" line ")
        lines[program].append(int(number or 0))
    spans = []
    for program, numbers in lines.items():
        low, high = min(numbers), max(numbers)
        spans.append(f"{program} line {low}" if low == high else f"{program} lines {low}-{high}")
    return ", ".join(spans)


def _from_conda(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Conda packages that are Python distributions, under the name pip knows them by."""
    for claim in claims:
        name = normalise(claim.key)
        if not _NOT_PYTHON.match(name) and not claim.key.startswith("_"):
            yield replace(claim, fact="packages", key=_CONDA_NAMES.get(name, name))


def _builds(claims: list[Claim]) -> Reading:
    """One build per package; each field from the heaviest claim that has it."""
    builds: dict[str, Build] = {}
    sources = []
    for claim in sorted(claims, key=lambda item: item.weight):
        stated: Mapping[str, Any] = {
            name: value for name in Build.__slots__ if (value := getattr(claim.value, name)) not in {"", None, ()}
        }
        builds[claim.key] = replace(builds.get(claim.key, Build()), **stated)
        sources.append(claim.source)
    return Fact(builds, _together(sources))


def _add_local_runtime(readings: dict[str, Reading]) -> None:
    """The local version tag of torch names its runtime (``+cu121``) where the report does not."""
    packages, builds = readings.get("packages"), readings.get("builds")
    version = packages.value.get("torch", "") if isinstance(packages, Fact) else ""
    known = dict(builds.value) if isinstance(builds, Fact) else {}
    found = _LOCAL_RUNTIME.search(version)
    if found is None or not isinstance(packages, Fact) or known.get("torch", Build()).runtime:
        return
    cpu, cuda, rocm = found.groups()
    cpu = cpu and cpu.replace("cxx11.abi", "xpu")  # Intel's own build of torch for its extension
    runtime = cpu or (f"cuda{cuda[:-1]}.{cuda[-1]}" if cuda else f"rocm{rocm}")
    known["torch"] = replace(known.get("torch", Build()), runtime=runtime)
    readings["builds"] = Fact(known, builds.source if isinstance(builds, Fact) else packages.source)
