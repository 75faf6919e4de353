"""Fixes on Jetson boards: the system brings CUDA and its libraries, and wheels of the usual indexes have no code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from compat.changes import Command, Python
from compat.findings import Fix
from compat.fixes.subject import Subject, series
from compat.joints import driver
from compat.joints import python as wheel
from compat.joints.verdict import FITS
from compat.lazy import pattern
from compat.rules.lookups import is_version

if TYPE_CHECKING:
    from compat.matrix.rows import Build, Jetpack

# Libraries of JetPack -> what they are of, and the column of its row.
_JETPACK: Final = pattern(r"lib(nv(?=infer|onnxparser|parsers)|cudnn|cudart|cublas)\w*\.so(?:\.([\d.]+))?$")
_OF_JETPACK: Final = {
    "nv": ("TensorRT", "tensorrt"),
    "cudnn": ("cuDNN", "cudnn"),
    "cudart": ("CUDA", "cuda"),
    "cublas": ("CUDA", "cuda"),
}


def is_one(subject: Subject) -> bool:
    """Whether the machine is a board, by its system, its GPU or its own programs; none has an x86-64 processor."""
    targets = subject.matrix.families.integrated
    told = subject.said("board") or any(gpu.target in targets for gpu in subject.gpus)
    return bool(subject.host.l4t or (told and subject.host.arch != "x86_64"))


def framework(name: str, subject: Subject) -> Fix | None:
    """NVIDIA's build for the JetPack that is there, and the Python that it is made for."""
    if not subject.host.l4t and not _systems(subject):  # its Python may be any environment's
        text = f"Install NVIDIA's {name} for this board's JetPack. This command shows its release:"
        return Fix(text, changes=(Command("cat /etc/nv_tegra_release"),))
    rows = _for_board(name, subject)
    if not rows:
        return Fix(f"Install NVIDIA's {name} for this JetPack: wheels of the usual indexes have no code for a Jetson.")
    same = [row for row in rows if row.version == subject.release(name)]
    best, have = (same or rows)[-1], subject.host.python or ""
    install = subject.install(best, again=bool(same))
    other = best.python and is_version(have) and not wheel.is_for(best, have)
    changes = (Python(best.python[-1]), install) if other else (install,)
    made = f", made for Python {best.python[-1]}" if other else ""
    return Fix(f"Install NVIDIA's {name} {best.version} for this JetPack{made}.", changes=changes)


def _for_board(name: str, subject: Subject) -> list[Build]:
    """NVIDIA's builds for Jetson boards whose CUDA the system brings, oldest first; for its Python where there are."""
    matrix, host = subject.matrix, subject.host
    systems = (host.l4t,) if host.l4t else _systems(subject)
    fitting = [row for one in systems for row in driver.of_boards(matrix, matrix.builds(name), one)]
    rows = [row for row in matrix.builds(name) if row in fitting]
    return [row for row in rows if is_version(host.python) and wheel.verdict(row, host.python or "") == FITS] or rows


def _systems(subject: Subject) -> tuple[str, ...]:
    """Releases of L4T that are made of the system that is there, ``ubuntu20.04``; none where that is unknown."""
    rows = subject.matrix.table("jetpack")
    return tuple(row.l4t for row in rows if row.os and row.os == subject.host.os and not row.preview)


def bindings(subject: Subject) -> Fix | None:
    """JetPack's bindings for Python, which are in the system's packages: an environment that sees those."""
    if not is_one(subject):
        return None
    systems = {row.os: row.python for row in subject.matrix.table("systems")}
    pythons = {systems.get(row.os, "") for row in _jetpacks(subject)}
    python = f"Python {pythons.pop()}" if len(pythons) == 1 else "Python"
    text = f"JetPack's TensorRT is for the system's {python}: make an environment of that which sees it."
    venv = Command("/usr/bin/python3 -m venv --system-site-packages .venv")
    return Fix(text, changes=(Command("sudo apt install nvidia-jetpack python3-venv"), venv))


def _jetpacks(subject: Subject) -> list[Jetpack]:
    """The releases of JetPack that the board may have; none where its L4T is unknown."""
    l4t = subject.host.l4t or ""
    return [row for row in subject.matrix.table("jetpack") if l4t and f"{row.l4t}.".startswith(f"{l4t}.")]


def library(name: str, subject: Subject) -> Fix | None:
    """A library that JetPack brings to a Jetson, in one release: what asks for another was built for another one."""
    l4t, found = subject.host.l4t or "", _JETPACK.match(name)
    rows = _jetpacks(subject)
    if not rows or not found:
        return None
    what, column = _OF_JETPACK[found[1]]
    here = {series(getattr(row, column)) for row in rows}
    of = f"JetPack {rows[-1].jetpack}" if len(rows) == 1 else f"this JetPack (L4T {l4t})"
    if len(here) == 1 and series(found[2] or "") not in {"", *here}:
        asks = subject.compiled() or "what asks for it"
        return Fix(f"Build {asks} again on {of}, whose {what} is {here.pop()}, or take its release for that.")
    if subject.host.container or subject.said("board"):
        return Fix(f"Start the container by --runtime nvidia: {of} brings {name}.")
    return Fix(f"Install {of}'s own {what}.", changes=(Command("sudo apt install nvidia-jetpack"),))
