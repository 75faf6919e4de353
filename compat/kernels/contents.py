"""One window of bytes -> what GPU code it is or holds, by its magic.

The one place that knows which sections of which format hold what. Readers raise for what breaks a structure as a
whole and note what breaks a part of it; either way the answer has what was read until then, and says that it is not
complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

import compat.kernels.amdgpu as amdgpu
import compat.kernels.archive as archive
import compat.kernels.bundle as bundle
import compat.kernels.cubin as cubin
import compat.kernels.elf as elf
import compat.kernels.fatbin as fatbin
import compat.kernels.kpack as kpack
import compat.kernels.linkage as linkage
import compat.kernels.macho as macho
import compat.kernels.pe as pe
import compat.kernels.symbols as symbols
from compat.kernels.values import Code, ordered
from compat.kernels.window import CutShortError, Problems, Window
from compat.versions import release

# Where nvcc puts containers; the second is the name as PE cuts it.
CUDA_SECTIONS: Final = (".nv_fatbin", ".nv_fatb")
# Device code that is still to be linked. The device linker puts its result into ``.nv_fatbin`` and leaves this behind:
# in a linked library no runtime looks at it, and any PTX in it is lost (cuobjdump skips it too, without ``-all``).
RELOCATABLE: Final = "__nv_relfatbin"
HIP_SECTIONS: Final = (".hip_fatbin", ".hip_fat")

_MOST_IMAGES: Final = 1 << 20  # a hundred times what the largest published library has
_MOST_GROUPS: Final = 1 << 12
_MOST_CARVED: Final = 1 << 10
_MOST_MEMBERS: Final = 1 << 16
_SONAME_TORCH: Final = ("libc10", "libtorch")


class _Tally:
    """Images as they are counted, one fat binary after another."""

    def __init__(self) -> None:
        self.images: dict[str, int] = {}
        self.isa: dict[str, set[str]] = {}
        self.groups: dict[frozenset[str], int] = {}
        self.problems = Problems()
        self._left = _MOST_IMAGES

    def add(self, binaries: Iterable[Iterable[fatbin.Image]]) -> None:
        """Count fat binaries and their images; an endless supply is cut off, and that is said."""
        for binary in binaries:
            self._add(islice(binary, self._left))
            if self._left <= 0 or len(self.groups) >= _MOST_GROUPS:
                self.problems.add(f"it holds more than {_MOST_IMAGES} images; the rest is unread")
                return

    def _add(self, binary: Iterable[fatbin.Image]) -> None:
        """Count one fat binary: its images, and the set of targets that it has."""
        group = set()
        for image in binary:
            group.add(image.target)
            self.images[image.target] = self.images.get(image.target, 0) + 1
            if image.isa:
                self.isa.setdefault(image.target, set()).add(image.isa)
            self._left -= 1
        self._left -= 1  # an empty one takes time too
        if group:
            self.groups[frozenset(group)] = self.groups.get(frozenset(group), 0) + 1

    def code(self, path: str, form: str, **more: object) -> Code:
        """What was counted, as a value."""
        isa = {target: tuple(sorted(found, key=release)) for target, found in self.isa.items()}
        groups = {ordered(group): count for group, count in self.groups.items()}
        unread = self.problems.texts()
        return Code(path=path, form=form, images=self.images, isa=isa, binaries=groups, unread=unread, **more)  # type: ignore[arg-type]


def read(window: Window, path: str) -> Iterator[Code]:
    """Objects in a file's bytes: one, or for an archive one for each member with something to say.

    Never raises for anything the bytes say: what contradicts itself becomes a sentence in ``unread``.
    """
    head = window.head(len(bundle.MAGIC))
    if head.startswith(archive.MAGIC):
        yield from _archive(window, path)
        return
    for magic, reader in _READERS.items():
        if head.startswith(magic):
            yield _guarded(reader, window, path)
            return
    yield from _carved(window, path) if path.endswith(".nbc") else _text(window, path)


def _guarded(reader: Callable[[Window, str, _Tally], Code], window: Window, path: str) -> Code:
    """A reader's answer, or what had been counted when the file contradicted itself, and the reason."""
    tally = _Tally()
    try:
        return reader(window, path, tally)
    except CutShortError as error:
        tally.problems.add(str(error))
        return tally.code(path, "")


def _elf(whole: Window, path: str, tally: _Tally) -> Code:
    """A host binary, a cubin or a code object, as the machine in the header says.

    Kernels come first: a dynamic section that cannot be followed must not hide them.
    """
    file = elf.read(whole)
    match file.machine:
        case elf.EM_CUDA:
            if image := cubin.image(file):
                tally.add([[image]])
            return tally.code(path, "cubin")
        case elf.EM_AMDGPU:
            return _code_object(file, path, tally)
    relocatable = file.kind == elf.ET_REL and any(True for _ in file.named(RELOCATABLE))
    for section in file.named(*CUDA_SECTIONS, *HIP_SECTIONS, *([RELOCATABLE] if relocatable else [])):
        window = section.window
        if window.size < section.size and section.kind != elf.SHT_NOBITS:
            tally.problems.add(f"{section.name} claims {section.size} bytes, of which {window.size} are there")
        _section(section.name, window, tally)
    links, abi = linkage.Linkage(), None
    try:
        links = linkage.read(file)
        abi = _abi(file, path, links.needed)
    except CutShortError as error:
        tally.problems.add(f"its dynamic section cannot be followed: {error}")
    tag = linkage.python_tag(PurePosixPath(path).name)
    packs = tuple(name for section in file.named(kpack.MARKER) for name in kpack.archives(section.window))
    more = {"relocatable": relocatable, "python_tag": tag, "cxx11_abi": abi, "packs": packs}
    return tally.code(path, "elf", linkage=links, **more)


def _code_object(file: elf.Elf, path: str, tally: _Tally) -> Code:
    """One AMD code object; unknown processors are told, since a target left out would read as "not carried"."""
    if name := amdgpu.target(file):
        tally.add([[fatbin.Image(name)]])
    else:
        tally.problems.add(f"an AMD code object whose flags {file.flags:#x} (ABI {file.abi}) name no known target")
    return tally.code(path, "hsaco")


def _section(name: str, window: Window, tally: _Tally) -> None:
    """Count what one section holds."""
    if name in HIP_SECTIONS:
        tally.add(map(fatbin.Image, found) for found in bundle.targets(window, tally.problems))
    else:
        tally.add(fatbin.binaries(window, tally.problems))


def _abi(file: elf.Elf, path: str, needed: tuple[str, ...]) -> bool | None:
    """Only extensions are asked: torch's own libraries have a hundred thousand symbols and one answer."""
    own = PurePosixPath(path).name.startswith(_SONAME_TORCH)
    asks = not own and any(name.startswith(_SONAME_TORCH) for name in needed)
    return symbols.cxx11_abi(symbols.named(file, defined=False)) if asks else None


def _pe(window: Window, path: str, tally: _Tally) -> Code:
    """A Windows library, extension module or program."""
    file = pe.read(window)
    for section in file.sections:
        if section.name in {*CUDA_SECTIONS, *HIP_SECTIONS}:
            _section(section.name, section.window, tally)
    links = linkage.Linkage(needed=file.imports, machine=pe.MACHINES.get(file.machine, ""))
    return tally.code(path, "pe", linkage=links, python_tag=linkage.python_tag(PurePosixPath(path).name))


def _macho(window: Window, path: str, tally: _Tally) -> Code:
    """A macOS library, extension module or program: what it loads tells whether it uses Metal."""
    file = macho.read(window)
    links = linkage.Linkage(needed=file.needed, machine=file.machine)
    return tally.code(path, "macho", linkage=links, python_tag=linkage.python_tag(PurePosixPath(path).name))


def _fatbin(window: Window, path: str, tally: _Tally) -> Code:
    """Bare containers, as ``nvcc -fatbin`` writes them and torch's inductor keeps them."""
    tally.add(fatbin.binaries(window, tally.problems))
    return tally.code(path, "fatbin")


def _bundle(window: Window, path: str, tally: _Tally) -> Code:
    """A bare bundle, plain or compressed, as ``hipcc --genco`` writes it."""
    tally.add(map(fatbin.Image, found) for found in bundle.targets(window, tally.problems))
    return tally.code(path, "bundle")


def _kpack(window: Window, path: str, tally: _Tally) -> Code:
    """An archive of kernels, as one fat binary."""
    tally.add([map(fatbin.Image, kpack.targets(window))])
    return tally.code(path, "kpack")


_READERS: Final[dict[bytes, Callable[[Window, str, _Tally], Code]]] = {
    elf.MAGIC: _elf,
    pe.MAGIC: _pe,
    macho.MAGIC: _macho,
    macho.FAT: _macho,
    fatbin.MAGIC: _fatbin,
    bundle.MAGIC: _bundle,
    bundle.COMPRESSED: _bundle,
    kpack.MAGIC: _kpack,
}


def _archive(window: Window, path: str) -> Iterator[Code]:
    """Members with something to say, then the archive itself with what was broken about it."""
    problems = Problems()
    for count, member in enumerate(archive.members(window, problems)):
        if count == _MOST_MEMBERS:
            problems.add(f"it has more than {_MOST_MEMBERS} members; the rest is unread")
            break
        if member.window.head(len(archive.MAGIC)) != archive.MAGIC:  # no compiler nests them; a bomb would
            yield from (code for code in read(member.window, f"{path}({member.name})") if code.matters)
    yield Code(path=path, form="archive", unread=problems.texts())


def _carved(window: Window, path: str) -> Iterator[Code]:
    """Cubins within a pickle of numba's cache, found by their magic: unpickling a stranger's file would run it."""
    tally, at = _Tally(), window.find(elf.MAGIC)
    for _ in range(_MOST_CARVED):
        if at < 0:
            break
        try:
            file = elf.read(window.part(at, window.size))
            if file.machine == elf.EM_CUDA and (image := cubin.image(file)):
                tally.add([[image]])
        except CutShortError:
            pass  # the magic alone is no cubin
        at = window.find(elf.MAGIC, at + 1)
    if tally.images:
        yield tally.code(path, "cubin")


def _text(window: Window, path: str) -> Iterator[Code]:
    """PTX, or nothing."""
    tally = _Tally()
    tally.add([cubin.ptx(window)])
    if tally.images:
        yield tally.code(path, "ptx")
