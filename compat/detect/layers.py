"""Image archives and layouts: their configuration, and the file tree that their layers add up to.

Read are what ``docker save`` and ``podman save`` write (a tar with ``manifest.json``) and OCI layouts
(``index.json``), as a folder or a tar. Layers are walked once, front to back: names of all files are kept, contents
only of small ones that tell versions. Nothing is unpacked to disk.

Source: OCI image specification 1.1 (layout, manifest, configuration, layer change sets with ``.wh.`` whiteouts).
"""

from __future__ import annotations

import posixpath
import tarfile
import zlib
from dataclasses import field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import compat.detect.history as history
from compat.detect.unpacking import unpacked
from compat.errors import InputError
from compat.inputs import opened
from compat.lazy import dataclass, pattern
from compat.untrusted import items, json_of, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from typing_extensions import Self

_TELLING: Final = pattern(
    r"etc/(os-release|ld\.so\.(cache|conf)|ld\.so\.conf\.d/.*|alpine-release)|usr/lib/os-release|.*/pyvenv\.cfg|"
    r".*-packages/[^/]+\.(dist|egg)-info/(METADATA|PKG-INFO|direct_url\.json)|"
    r".*-packages/(torch|torchvision|torchaudio)/version\.py|.*-packages/tensorflow/python/platform/build_info\.py|"
    r".*-packages/(jaxlib|jax)/version\.py|.*-packages/paddle/version/__init__\.py|.*-packages/xformers/cpp_lib\.json|"
    r".*-packages/onnxruntime/capi/build_and_package_info\.py|.*/conda-meta/[^/]+\.json|"
    r"usr/local/cuda[^/]*/version\.(json|txt)|opt/rocm[^/]*/(core/)?\.info/version|"
    r"(usr/)?lib(64)?/([^/]+/)?libc\.so\.6|(usr/)?lib(64)?/([^/]+/)?libc-[\d.]+\.so|"
    r"(usr/)?lib(64)?/([^/]+/)?libstdc\+\+\.so\.6[\d.]*|usr/include/cudnn_version\.h"
)
# tarfile answers damaged gzip heads with TypeError, damaged numbers with ValueError
_DAMAGE: Final = (
    tarfile.TarError, EOFError, OSError, OverflowError, RecursionError, TypeError, ValueError, zlib.error
)  # fmt: skip
_EXTENDED: Final = (
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK
)  # fmt: skip
_LARGEST: Final = 8 << 20  # bytes of one file that is kept
_DOCUMENT: Final = 2 << 20  # bytes of one JSON document; a manifest may have 4 MiB at most, and has some kilobytes
_HEADER: Final = 128 << 10  # bytes of one extended header of a tar: names, and attributes of 64 KiB at most (Linux)
# What is kept of one image in all, in bytes: documents; contents of telling files; names of files with their nodes (a
# large image has some three hundred thousand files).
_DOCUMENTS: Final = 16 << 20
_CONTENTS: Final = 64 << 20
_NAMES: Final = 192 << 20
_LAYERS: Final = 512  # of one image; the engine's storage driver ends at 128
_NODE: Final = 300  # bytes that a node costs beside its name


@dataclass(frozen=True, slots=True)
class Node:
    """One path of the tree: ``kind`` is file, folder, link or other; ``data`` is kept for telling files only."""

    kind: str
    mode: int = 0
    size: int = 0
    target: str = ""
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """An image as files.

    Attributes:
        config: its configuration, untrusted: ``architecture``; ``Env``, ``Labels``, ``WorkingDir`` under ``config``.
        tree: absolute path -> what is there once all layers are laid over each other.
        unread: why parts of it are missing here; what is not in the tree may then be in the image all the same.
        beside: places whose layers were not fetched, with their sizes: no detector looks there.
    """

    config: Mapping[str, Any]
    tree: Mapping[str, Node] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def read(name: str, arch: str = "") -> Image:
    """Read an archive or layout from disk.

    ``arch``: the machine's architecture as ``uname -m`` prints it: which one to take of an image for several.

    Raises:
        InputError: if it is neither, or is damaged.
    """
    path = Path(name)
    try:
        if path.is_dir():
            return _assembled(_folder_blobs(path), name, arch)
        with opened(path) as stream:
            return from_stream(stream, name, arch)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=name) from None


def from_stream(stream: IO[bytes], name: str, arch: str = "") -> Image:
    """Read what ``docker save`` writes, as it comes.

    Raises:
        InputError: if it is no such archive, or is damaged.
    """
    try:
        plain = unpacked(stream.read(4), stream)
        with tarfile.open(fileobj=plain, mode="r|*", tarinfo=_Member) as outer:
            return _assembled(_stream_blobs(outer), name, arch)
    except _DAMAGE as error:
        raise InputError(
            f"not an image archive: {error}", where=name, expected="docker save or an OCI layout"
        ) from None


def from_parts(parts: Iterable[tuple[str, IO[bytes], int]], name: str, arch: str = "") -> Image:
    """Put an image together from the parts of an OCI layout as they come: name, stream and size of each.

    A layer that :mod:`compat.detect.history` tells to hold nothing that is looked for is not read.

    Raises:
        InputError: if there is no manifest among them.
    """
    blobs = _Blobs()
    for part, stream, size in parts:
        known = size >= history.WORTH and len(blobs.documents) > 2  # index, manifest and configuration come first
        if known and (place := history.apart(*_manifest(blobs, name, arch), part)):
            blobs.beside[place] = f"{place} ({size >> 20:,} MiB)"
            blobs.layers[part] = {}
            continue
        try:
            _take(blobs, part, stream, size)
        except OSError as error:
            blobs.unread.append(f"blob {part[-16:]} could not be read: {error}")
    return _assembled(blobs, name, arch)


class _Member(tarfile.TarInfo):
    """A member whose headers are bounded: tarfile reads each of them, and maps of sparse files, into memory as a whole.

    Engines write no sparse files into layers (Go, ``archive/tar``).
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """A header block.

        Raises:
            OSError: if it announces an extended header of more than :data:`_HEADER` bytes, or a map.
        """
        found = super().frombuf(buf, encoding, errors)
        if found.type in _EXTENDED and found.size > _HEADER:
            raise OSError(f"a header of {found.size >> 10} KiB")
        if found.type == tarfile.GNUTYPE_SPARSE:
            raise OSError("a sparse file")
        return found

    def _proc_gnusparse_10(self, *_: object) -> None:
        """The map of a sparse file in the form that stands before the data, as long as the data themselves.

        Raises:
            OSError: always.
        """
        raise OSError("a sparse file")


@dataclass(slots=True)
class _Blobs:
    """What an archive holds: JSON documents, not parsed yet, and layer trees, by name; and what may still be kept."""

    documents: dict[str, bytes] = field(default_factory=dict)
    layers: dict[str, dict[str, Node]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)
    left: dict[str, int] = field(
        default_factory=lambda: {"documents": _DOCUMENTS, "contents of files": _CONTENTS, "names of files": _NAMES}
    )

    def take(self, kind: str, size: int) -> bool:
        """Whether so many bytes of that kind may still be kept; that some may not is said once."""
        if self.left[kind] < 0:
            return False
        self.left[kind] -= size
        if self.left[kind] < 0:
            self.unread.append(f"there are more {kind} than are read of one image")
        return self.left[kind] >= 0

    def document(self, name: str) -> Any:
        """A document of the image, or ``None`` where it is none; the caller says what was missing."""
        return json_of(self.documents.get(name, b""))


def _folder_blobs(path: Path) -> _Blobs:
    """Documents and layers of an OCI layout on disk; links in it are not followed, for they may lead anywhere."""
    blobs = _Blobs()
    for file in sorted(path.rglob("*")):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as stream:
                _take(blobs, file.relative_to(path).as_posix(), stream, file.stat().st_size)
    return blobs


def _stream_blobs(outer: tarfile.TarFile) -> _Blobs:
    """Documents and layers of an archive, read in one pass: a stream cannot go back."""
    blobs = _Blobs()
    for member in _members(outer):
        stream = outer.extractfile(member) if member.isfile() else None
        if stream is not None and blobs.take("names of files", _NODE + len(member.name)):
            _take(blobs, member.name.removeprefix("./"), stream, member.size)
    return blobs


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members one by one; tarfile would keep them all."""
    while (member := archive.next()) is not None:
        archive.members = []  # type: ignore[attr-defined]
        yield member


def _take(blobs: _Blobs, name: str, stream: IO[bytes], size: int) -> None:
    """Sort one blob in: JSON if it looks like it and is small, else a layer."""
    head = stream.read(4)
    if head[:1] in {b"{", b"["}:
        if size > _DOCUMENT:
            blobs.unread.append(f"document {name[-16:]} has more than {_DOCUMENT >> 20} MiB")
        elif blobs.take("documents", size):
            blobs.documents[name] = head + stream.read(_DOCUMENT)
    elif size > len(head):
        try:
            with tarfile.open(fileobj=unpacked(head, stream), mode="r|*", tarinfo=_Member) as layer:
                blobs.layers[name] = _tree(layer, blobs)
        except _DAMAGE as error:
            if "blobs/" in name or name.endswith(".tar"):
                blobs.unread.append(f"layer {name[-16:]} could not be read: {error}")


def _tree(layer: tarfile.TarFile, blobs: _Blobs) -> dict[str, Node]:
    """Paths of a layer with what lies there, up to a bound: an image may hold any number of empty files."""
    tree: dict[str, Node] = {}
    for member in _members(layer):
        if not blobs.take("names of files", _NODE + len(member.name) + len(member.linkname)):
            break
        path = posixpath.normpath("/" + member.name.strip("/"))
        tree[path] = _node(layer, member, path, blobs)
    return tree


def _node(layer: tarfile.TarFile, member: tarfile.TarInfo, path: str, blobs: _Blobs) -> Node:
    """What lies at a path; only files that tell something are read, and only their first part."""
    if member.isdir():
        return Node("folder", member.mode)
    if member.issym():
        return Node("link", member.mode, target=member.linkname)
    if member.islnk():
        return Node("link", member.mode, target="/" + member.linkname.strip("/"))
    if not member.isfile():
        return Node("other", member.mode)
    telling = member.size <= _LARGEST and _TELLING.fullmatch(path[1:]) is not None
    kept = telling and blobs.take("contents of files", member.size)
    stream = layer.extractfile(member) if kept else None
    return Node("file", member.mode, member.size, data=stream.read(_LARGEST) if stream else None)


def _assembled(blobs: _Blobs, name: str, arch: str) -> Image:
    """The image that the manifest describes; parts that it names and the archive lacks are said."""
    config, layers = _manifest(blobs, name, arch)
    if len(layers) > _LAYERS:
        raise InputError(f"its manifest names {len(layers):,} layers", where=name, expected=f"at most {_LAYERS}")
    tree: dict[str, Node] = {}
    unread = [*blobs.unread, *([] if config else ["the image's configuration is missing or damaged"])]
    for layer in layers:
        if layer in blobs.layers:
            _lay(tree, blobs.layers[layer])
        elif not any(layer[-16:] in why for why in unread):
            unread.append(f"layer {layer[-16:]} is not in the archive")
    if any(node.kind == "link" and _leads(path, node.target, blobs.beside) for path, node in tree.items()):
        unread.append(f"links lead to what was not fetched: {', '.join(blobs.beside.values())}")
    return Image(config, tree, tuple(unread), tuple(blobs.beside.values()))


def _leads(path: str, target: str, places: Iterable[str]) -> bool:
    """Whether a link leads into one of some places."""
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return any(end == place or end.startswith(f"{place}/") for place in places)


def _lay(tree: dict[str, Node], layer: Mapping[str, Node]) -> None:
    """Lay one change set over the tree: whiteouts remove, everything else adds or replaces.

    One pass over the tree whatever the number of whiteouts: each path looks for its own folders among those that are
    gone. What is no folder takes the place of a folder with all that was in it.
    """
    gone, emptied = set[str](), {path for path, node in layer.items() if node.kind != "folder"}
    for path in layer:
        folder, _, base = path.rpartition("/")
        if base == ".wh..wh..opq":
            emptied.add(folder)
        elif base.startswith(".wh."):
            gone.add(f"{folder}/{base[4:]}")
    cover = gone | emptied
    if cover:
        for path in [known for known in tree if known in gone or not cover.isdisjoint(_above(known))]:
            del tree[path]
    tree.update((path, node) for path, node in layer.items() if "/.wh." not in path)


def _above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the nearest first."""
    at = path.rfind("/")
    while at > 0:
        yield path[:at]
        at = path.rfind("/", 0, at)


def _manifest(blobs: _Blobs, name: str, arch: str) -> tuple[Mapping[str, Any], list[str]]:
    """Configuration and layer names in order, by either of the two formats."""
    saved = blobs.document("manifest.json")
    if isinstance(saved, list) and saved and isinstance(saved[0], dict):
        layers = [str(layer) for layer in items(saved[0].get("Layers"))]
        return table(blobs.document(str(saved[0].get("Config")))), layers
    index = table(blobs.document("index.json"))
    for _ in range(3):  # an index may point to an index of platforms
        found = [_blob(item) for item in offered(index, arch)]
        document = next((table(blobs.document(blob)) for blob in found if blob in blobs.documents), {})
        if "layers" in document:
            config = blobs.document(_blob(table(document.get("config"))))
            return table(config), [_blob(item) for item in items(document["layers"]) if isinstance(item, dict)]
        index = document
    raise InputError("holds no image manifest", where=name, expected="docker save or an OCI layout")


def offered(index: Mapping[str, Any], arch: str) -> list[Mapping[str, Any]]:
    """Manifests of an index, that of the machine's architecture first; BuildKit's attestations are no images."""
    told = [item for item in items(index.get("manifests")) if isinstance(item, dict)]
    images = [item for item in told if table(item.get("platform")).get("architecture") != "unknown"]
    wanted = {"x86_64": "amd64", "aarch64": "arm64"}.get(arch, arch)
    return sorted(images, key=lambda item: table(item.get("platform")).get("architecture") != wanted)


def _blob(descriptor: Mapping[str, Any]) -> str:
    return "blobs/" + str(descriptor.get("digest", "")).replace(":", "/")
