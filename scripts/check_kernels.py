"""Compare ``compat.kernels`` with the vendors' own tools on real binaries, and list every difference.

    python scripts/check_kernels.py WHEEL_OR_LIBRARY... [--cuobjdump PATH]

Oracles, each asked object by object:

- NVIDIA: ``cuobjdump --list-elf --list-ptx`` (of the CUDA toolkit or the nvidia-cuda-cuobjdump wheel): the number of
  cubins and PTX texts for each target. It calls family-specific machine code (``sm_100f``) by its base name
  (``sm_100``), so both are counted together.
- AMD: ``objcopy`` cuts ``.hip_fatbin`` out, the ``zstd`` program decompresses each bundle whole, and ids are counted in
  the plain text of the result. Bundles compressed with zlib go through Python's own.
- Linkage: ``readelf --dynamic --version-info``: NEEDED, RPATH, RUNPATH and version floors.

Exit status: 0 if all agree, 1 if anything differs, 2 if an oracle is missing.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from compat.kernels import inspect
from compat.kernels.linkage import floors
from compat.kernels.names import is_binary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.kernels import Code


class OracleError(Exception):
    """A tool gave up on a binary, so that there is nothing to compare with."""


def main() -> int:
    """Compare all that the command line names; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--cuobjdump", default=shutil.which("cuobjdump"))
    options = parser.parse_args()
    missing = [tool for tool in ("readelf", "objcopy", "zstd") if not shutil.which(tool)]
    if missing or not options.cuobjdump:
        print(f"missing: {', '.join([*missing, *([] if options.cuobjdump else ['cuobjdump'])])}", file=sys.stderr)
        return 2
    checked, differing, silent = 0, 0, 0
    for path in options.paths:
        for name, file in binaries(path):
            for line in compare(name, file, options.cuobjdump):
                checked += line.startswith("agrees")
                differing += line.startswith("DIFFERS")
                silent += line.startswith("NO ORACLE")
                print(line, flush=True)
    print(f"{checked} comparisons agree, {differing} differ, {silent} that an oracle gave up on")
    return 1 if differing else 0


def binaries(path: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of each binary; members of a wheel are unpacked for the oracles, one at a time."""
    if not zipfile.is_zipfile(path):
        yield from (
            (str(item), item) for item in ([path] if path.is_file() else sorted(path.rglob("*"))) if is_file(item)
        )
        return
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        for item in wheel.infolist():
            if is_binary(item.filename):
                file = Path(wheel.extract(item, folder))
                yield f"{path.name.partition('-')[0]}: {item.filename}", file
                file.unlink()


def is_file(path: Path) -> bool:
    """Whether a path is a binary of its own, not a link to one."""
    return is_binary(path.name) and path.is_file() and not path.is_symlink()


def compare(name: str, file: Path, cuobjdump: str) -> Iterator[str]:
    """One line per question asked about an object."""
    (code, *_) = inspect(file).objects
    yield from verdict(name, "unread", Counter(), Counter(code.unread), quiet=True)
    try:
        yield from verdict(name, "NVIDIA", by_cuobjdump(file, cuobjdump), folded(code), quiet=not folded(code))
    except OracleError as error:
        yield f"NO ORACLE NVIDIA  {name}: {error}; ours {dict(folded(code))}"
    if code.form == "elf":
        amd = Counter({target: count for target, count in code.images.items() if target.startswith("gfx")})
        yield from verdict(name, "AMD", by_zstd(file), amd, quiet=not amd)
        yield from verdict(name, "linkage", by_readelf(file), linked(code), quiet=False)


def verdict(name: str, what: str, theirs: Counter[str], ours: Counter[str], *, quiet: bool) -> Iterator[str]:
    """What differs, item by item; agreement about nothing stays unsaid."""
    if theirs != ours:
        yield f"DIFFERS {what:8} {name}: oracle only {dict(theirs - ours)}, ours only {dict(ours - theirs)}"
    elif not quiet:
        yield f"agrees  {what:8} {name}: {' '.join(f'{key} ({count})' for key, count in ours.items())[:150]}"


def folded(code: Code) -> Counter[str]:
    """Our NVIDIA images, named as cuobjdump does."""
    found: Counter[str] = Counter()
    for target, count in code.images.items():
        if target.startswith(("sm_", "compute_")):
            found[target.removesuffix("f") if target.startswith("sm_") else target] += count
    return found


def by_cuobjdump(file: Path, cuobjdump: str) -> Counter[str]:
    """Images by the toolkit's own listing."""
    found: Counter[str] = Counter()
    for option, prefix in (("--list-elf", "sm"), ("--list-ptx", "compute")):
        done = subprocess.run([cuobjdump, option, str(file)], capture_output=True, text=True, check=False)
        if "fatal" in done.stderr:
            raise OracleError(done.stderr.strip()[:150])
        listing = done.stdout
        found.update(
            f"{prefix}_{target}" for target in re.findall(r"\.sm_(\w+)\.(?:cubin|ptx)\s*$", listing, re.MULTILINE)
        )
    return found


def by_zstd(file: Path) -> Counter[str]:
    """AMD targets by decompressing every bundle whole."""
    with tempfile.TemporaryDirectory() as folder:
        section = Path(folder) / "section"
        run(["objcopy", "-O", "binary", f"--dump-section=.hip_fatbin={section}", str(file), "/dev/null"])
        data = section.read_bytes() if section.exists() else b""
    found: Counter[str] = Counter()
    starts = [match.start() for match in re.finditer(rb"CCOB[\1-\3]\0[\0\1]\0|__CLANG_OFFLOAD_BUNDLE__", data)]
    for start, end in zip(starts, [*starts[1:], len(data)], strict=False):
        head = plain(data[start:end])[: 64 << 10]
        found.update(
            name.decode()
            for name in re.findall(
                rb"(?:hip|hipv4)-amdgcn-amd-amdhsa-[\w.]*-(gfx[0-9a-f]+(?:-\w+)*(?::\w+[+-])*)", head
            )
        )
    return found


def plain(bundle: bytes) -> bytes:
    """A bundle, decompressed by others' code."""
    if not bundle.startswith(b"CCOB"):
        return bundle
    body = bundle[{1: 20, 2: 24, 3: 32}[bundle[4]] :]
    if bundle[6] == 0:
        return zlib.decompressobj().decompress(body)
    done = subprocess.run(["zstd", "-dcq"], input=body, capture_output=True, check=False)
    return done.stdout  # the padding behind the frame is reported as an error, after the output


def linked(code: Code) -> Counter[str]:
    """Our linkage as a set of words."""
    floor = [f"{family}_{version}" for family, version in code.linkage.floors.items()]
    return Counter([*code.needed, *floor, *(f"path={item}" for item in code.linkage.rpath)])


def by_readelf(file: Path) -> Counter[str]:
    """The same words from readelf."""
    listing = run(["readelf", "--dynamic", "--version-info", "--wide", str(file)])
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", listing)
    paths = re.findall(r"\(RUNPATH\).*\[(.*)\]", listing) or re.findall(r"\(RPATH\).*\[(.*)\]", listing)
    needs = listing.partition("Version needs section")[2]
    floor = floors(re.findall(r"Name: (\w+_[\d.]+)", needs))
    words = [f"path={item}" for path in paths for item in path.split(":") if item]
    return Counter([*needed, *(f"{family}_{version}" for family, version in floor.items()), *words])


def run(command: list[str]) -> str:
    """A tool's standard output."""
    return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace").stdout


if __name__ == "__main__":
    raise SystemExit(main())
