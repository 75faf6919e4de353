"""Score the report readers against texts whose facts are known.

Usage: score_reports.py DIR [--half written|unseen] [--quiet]

DIR holds ``NAME.txt`` and ``NAME.toml`` pairs; ``[facts]`` of the latter lists what the text states. Per format and key
it prints what was read, missed and misread, and last ``read 0.970 wrong 0.005``: the share of the stated facts read
right, and the share of the compared facts that contradict the text.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from compat import reading
from compat.facts import Build
from compat.names import normalise as canonical
from compat.reading.systems import architecture, spelling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.facts import Host

READ, MISSED, WRONG = "read", "missed", "misread"


def main() -> int:
    """Score a folder; exit status 0 whatever the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--half", choices=["written", "unseen"], help="only the half used, or not used, while writing")
    parser.add_argument("--quiet", action="store_true", help="no line per miss")
    given = parser.parse_args()
    tables: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    total: Counter[str] = Counter()
    for path in sorted(given.folder.glob("*.toml")):
        if given.half and half(path.stem) != given.half:
            continue
        score(path, tables, total, quiet=given.quiet)
    show(tables)
    stated, compared = sum(total.values()), total[READ] + total[WRONG]
    print(f"read {total[READ] / max(stated, 1):.3f} wrong {total[WRONG] / max(compared, 1):.3f}")
    return 0


def half(name: str) -> str:
    """Which half a file falls into: decided by its name alone, so that it never changes."""
    return "unseen" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 else "written"


def score(path: Path, tables: dict[str, Counter[tuple[str, str]]], total: Counter[str], *, quiet: bool) -> None:
    """Compare one pair and add it to the tables."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    text = path.with_suffix(".txt").read_text(encoding="utf-8", errors="replace")
    host = reading.read(text).host
    label = "+".join(document.get("formats", [document.get("format", "?")]))
    for key, stated, got, outcome in compare(document.get("facts", {}), host):
        tables[label][key.partition(".")[0], outcome] += 1
        total[outcome] += 1
        if outcome != READ and not quiet:
            print(f"{outcome:8}{path.stem}: {key} is {stated!r}, got {got!r}")


def compare(facts: dict[str, Any], host: Host) -> Iterator[tuple[str, Any, Any, str]]:
    """Each stated fact with what was read and the outcome; tables count one fact per entry."""
    for key, stated in facts.items():
        if isinstance(stated, dict):
            read = host.value(key) or {}
            for name, value in stated.items():
                got = _entry(key, name, read, host)
                yield (
                    f"{key}.{name}",
                    value,
                    got,
                    _outcome(got, str(value), _same_version if key == "packages" else _same),
                )
        elif key in {"gpus", "compute_capabilities", "gfx"}:
            yield from _devices(key, stated, host)
        else:
            yield _scalar(key, str(stated), host)


def _entry(key: str, name: str, read: dict[str, str], host: Host) -> str | None:
    if key != "packages":
        return read.get(name)
    known = {canonical(other): value for other, value in (host.conda_packages or {}).items()}
    known.update((canonical(other), value) for other, value in read.items())
    return known.get(canonical(name))


def _scalar(key: str, stated: str, host: Host) -> tuple[str, Any, Any, str]:
    build: Build = (host.builds or {}).get("torch", Build())
    match key:
        case "os":
            names = [name for name in (host.os_name, host.os) if name]
            outcome = READ if any(_same_system(stated, name) for name in names) else WRONG if names else MISSED
            return key, stated, names, outcome
        case "driver":
            got = host.driver or host.amdgpu
            return key, stated, got, _outcome(got, stated, _same)
        case "torch_cuda" | "torch_hip":
            kind = "cuda" if key == "torch_cuda" else "rocm"
            got = build.runtime.removeprefix(kind) if build.runtime.startswith(kind) else build.runtime or None
            return key, stated, got, _outcome(got, stated, _same_series)
        case "note":
            got = f"{build.runtime}-build" if build.runtime else None
            return key, stated, got, _outcome(got, stated, _same)
        case "arch":
            got = host.arch
            return key, stated, got, _outcome(got, stated, lambda a, b: a == b or architecture(a) == architecture(b))
        case _:
            got = host.value(key)
            return key, stated, got, _outcome(got, stated, _same)


def _devices(key: str, stated: list[Any], host: Host) -> Iterator[tuple[str, Any, Any, str]]:
    """Lists of devices count one fact: every stated device must be there, and as many."""
    gpus = host.gpus or ()
    if key == "gpus":
        got: list[str] = [gpu.name for gpu in gpus if gpu.name]
        right = len(got) == len(stated) and _matched(stated, got)
    elif key == "gfx":
        got = [gpu.target for gpu in gpus if gpu.target.startswith("gfx")]
        right = set(got) == {str(item) for item in stated}
    else:
        got = [f"{gpu.target[3:-1]}.{gpu.target[-1]}" for gpu in gpus if gpu.target.startswith("sm_")]
        right = set(got) == {str(item) for item in stated}
    yield key, stated, got, READ if right else WRONG if got else MISSED


def _matched(stated: list[str], got: list[str]) -> bool:
    """Whether the names are the same ones, as printed; case, blanks and a memory size behind them do not count."""
    return sorted(map(_folded, stated)) == sorted(map(_folded, got))


def _folded(name: str) -> str:
    return re.sub(r"[ ,(]+\d+ ?gi?b\)?$", "", " ".join(str(name).lower().split()))


def _outcome(got: Any, stated: str, alike: Any) -> str:
    if got is None:
        return MISSED
    return READ if alike(str(got), stated) else WRONG


def _same(got: str, stated: str) -> bool:
    return got.strip().lower() == stated.strip().lower()


def _same_version(got: str, stated: str) -> bool:
    return got == stated or got.replace("-", "").replace("_", ".") == stated.replace("-", "").replace("_", ".")


def _same_series(got: str, stated: str) -> bool:
    """A build's runtime is kept to its minor series, which is what its kernels and libraries promise."""
    parts = re.match(r"(\d+)\.(\d+)", stated)
    return got == stated or (parts is not None and got == f"{parts[1]}.{parts[2]}")


def _same_system(stated: str, got: str) -> bool:
    return _same(got, stated) or (spelling(stated) != "" and spelling(stated) in {spelling(got), got})


def show(tables: dict[str, Counter[tuple[str, str]]]) -> None:
    """Per format and key: read, missed, misread."""
    print(f"{'format':44}{'key':22}{'read':>6}{'missed':>8}{'misread':>9}")
    for label, counts in sorted(tables.items()):
        for key in sorted({key for key, _ in counts}):
            row = [counts[key, outcome] for outcome in (READ, MISSED, WRONG)]
            print(f"{label[:42]:44}{key:22}{row[0]:>6}{row[1]:>8}{row[2]:>9}")


if __name__ == "__main__":
    sys.exit(main())
