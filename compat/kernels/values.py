"""What an inspection finds: frozen values, and the document ``envcheck.inspect/1``.

Targets are kept apart by fat binary, not only summed up: a runtime looks for code in the one that holds the kernel,
so "somewhere in this library there is sm_121a" does not make the library run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from compat.kernels.linkage import Linkage, implied
from compat.lazy import dataclass

SCHEMA: Final = "envcheck.inspect/1"
_AMD_LAST: Final = 100
_NEARLY_ALL: Final = 0.9

# A target that fewer fat binaries have is not supported: single kernels are built for others besides.
FEW: Final = 0.1


class _Targets:
    """What carries GPU code, by the kinds of its targets."""

    __slots__ = ()

    def of(self, kind: str) -> tuple[str, ...]:
        """The targets whose names begin so."""
        raise NotImplementedError

    @property
    def sass(self) -> tuple[str, ...]:
        """Machine code targets, ``sm_80 sm_90a``."""
        return self.of("sm_")

    @property
    def ptx(self) -> tuple[str, ...]:
        """PTX targets, ``compute_90``."""
        return self.of("compute_")

    @property
    def gfx(self) -> tuple[str, ...]:
        """AMD targets, ``gfx90a:xnack-``."""
        return self.of("gfx")

    @property
    def targets(self) -> tuple[str, ...]:
        """All of these, as ``compat.targets.kernels_for`` takes them."""
        return (*self.sass, *self.ptx, *self.gfx)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code(_Targets):
    """One object: a file, a member of a wheel or archive, or a file that tells its target by its name alone.

    Attributes:
        path: where it is, relative to what was inspected; members of archives in brackets: ``lib.a(kernel.o)``.
        form: ``elf``, ``pe``, ``macho``, ``cubin``, ``ptx``, ``fatbin``, ``hsaco``, ``bundle``, ``kpack``, ``archive``,
            ``name``.
        images: target (``sm_90a``, ``compute_90``, ``lto_80``, ``gfx90a:xnack-``) -> number of images for it.
        binaries: targets of a fat binary or bundle -> number of fat binaries with just these.
        isa: PTX target -> ISA versions of its images, ascending (``{"compute_90": ("8.7",)}``).
        linkage: what the loader needs, for host binaries.
        relocatable: whether it is an object file whose device code is still to be linked (``nvcc -dc``).
        python_tag: ``cp311``, ``abi3``; empty for a plain library.
        cxx11_abi: string ABI of its imports from torch; ``None`` if it imports none.
        packs: archives that its AMD code was moved to, relative to its folder: ``../.kpack/torch_@GFXARCH@.kpack``.
        unread: what could not be read of it, and why.
    """

    path: str
    form: str = ""
    images: Mapping[str, int] = field(default_factory=dict)
    binaries: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    isa: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    linkage: Linkage = field(default_factory=Linkage)
    relocatable: bool = False
    python_tag: str = ""
    cxx11_abi: bool | None = None
    packs: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    def of(self, kind: str) -> tuple[str, ...]:
        """The targets whose names begin so."""
        return ordered(target for target in self.images if target.startswith(kind))

    @property
    def shares(self) -> dict[str, float]:
        """Target -> the part of the fat binaries that have code for it."""
        total = sum(self.binaries.values())
        found: dict[str, float] = {}
        for group, count in self.binaries.items():
            for target in group:
                found[target] = found.get(target, 0) + count / total
        return found

    @property
    def has_core(self) -> bool:
        """Whether some target is in nearly every fat binary.

        So it is in what one compiler call after another made for one list of architectures (torch, an extension). A
        library assembled architecture by architecture, as cuBLASLt is, has none, and there a small share says nothing.
        """
        return max(self.shares.values(), default=0) >= _NEARLY_ALL

    @property
    def needed(self) -> tuple[str, ...]:
        """Libraries it is linked with."""
        return self.linkage.needed

    @property
    def implied(self) -> dict[str, str]:
        """Runtimes its libraries commit it to: ``{"cuda": "12"}``."""
        return implied(self.linkage.needed)

    @property
    def matters(self) -> bool:
        """Whether it says anything about GPUs: code, a GPU runtime among its libraries, or something unread."""
        return bool(self.images or self.unread or self.implied or self.packs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection(_Targets):
    """What a path carries.

    Attributes:
        path: what was inspected.
        objects: every object with something to say, by path.
        scanned: number of binaries that were opened, those without GPU code included.
        unread: what could not be opened at all, and why.
    """

    path: str
    objects: tuple[Code, ...] = ()
    scanned: int = 0
    unread: tuple[str, ...] = ()

    def of(self, kind: str) -> tuple[str, ...]:
        """The targets of all objects whose names begin so."""
        return ordered(target for item in self.objects for target in item.of(kind))

    @property
    def complete(self) -> bool:
        """Whether everything could be read: only then is an absence a fact."""
        missing = any(item.packs for item in self.objects) and not any(item.form == "kpack" for item in self.objects)
        return not self.unread and not missing and not any(item.unread for item in self.objects)


def ordered(targets: Iterable[str]) -> tuple[str, ...]:
    """Targets without repeats in natural order: ``sm_90`` before ``sm_100``, ``gfx906`` before ``gfx1030``."""
    return tuple(sorted(set(targets), key=_rank))


def _rank(target: str) -> tuple[int, str]:
    """Vendor, then length of the number, then the text."""
    if target.startswith("gfx"):
        return len(target.partition(":")[0]) + _AMD_LAST, target
    return len(target.rstrip("af")), target


def dump(inspection: Inspection) -> dict[str, Any]:
    """The ``envcheck.inspect/1`` document; JSON-ready."""
    return {
        "schema": SCHEMA,
        "path": inspection.path,
        "objects": [_plain(item) for item in inspection.objects],
        "targets": {"sass": list(inspection.sass), "ptx": list(inspection.ptx), "gfx": list(inspection.gfx)},
        "scanned": inspection.scanned,
        "complete": inspection.complete,
        "unread": list(inspection.unread),
    }


def _plain(item: Code) -> dict[str, Any]:
    """One object of the document; keys are only ever added."""
    return {
        "path": item.path,
        "form": item.form,
        "sass": list(item.sass),
        "ptx": list(item.ptx),
        "gfx": list(item.gfx),
        "needed": list(item.needed),
        "images": dict(item.images),
        "binaries": [{"targets": list(group), "count": count} for group, count in item.binaries.items()],
        "isa": {target: list(versions) for target, versions in item.isa.items()},
        "implied": item.implied,
        "floors": dict(item.linkage.floors),
        "rpath": list(item.linkage.rpath),
        "machine": item.linkage.machine,
        "relocatable": item.relocatable,
        "python_tag": item.python_tag,
        "cxx11_abi": item.cxx11_abi,
        "packs": list(item.packs),
        "unread": list(item.unread),
    }
