"""Reads a Python package index: its simple pages, the metadata beside its wheels, and single wheel members.

Whole wheels are never downloaded. The index is the one the machine's client is configured for; its pages are taken as
JSON (which has the day of each file: PEP 700) or as HTML. What cannot change (a file is named by its hash) is cached on
disk for ever; pages are asked for anew. Interrupting loses nothing.
"""

from __future__ import annotations

import contextlib
import io
import lzma
import os
import re
import struct
import subprocess
import sys
import threading
import zipfile
import zlib
from typing import TYPE_CHECKING

import index_pages
from index_pages import File
from polite import Client, Remote, UnreachableError, UnreadableError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_PAGE = 64 << 20
_METADATA = 4 << 20
_DIRECTORY = 64 << 20
_MEMBER = 1 << 30
"""Most bytes of a page, of core metadata, of what an archive's directory may cost, and of a member: far above what is
needed, and an end to what was made to exhaust its reader."""
_FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    KeyError,
    OSError,
)
"""What the standard library raises about archives that are broken, encrypted, or of an unknown kind."""


def configured_index() -> str:
    """Address of the simple index that this machine's client uses: environment, pip's configuration, pip's own."""
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        if os.environ.get(name):
            return os.environ[name]
    told = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    if told.returncode == 0 and told.stdout.strip():
        return told.stdout.strip()
    from pip._internal.models.index import PyPI  # where pip keeps the address it falls back on

    return str(PyPI.simple_url)


class Index:
    """An index with a cache; safe to use from a few threads."""

    def __init__(self, url: str, cache: Path, client: Client | None = None) -> None:
        self._url = url.rstrip("/")
        self._cache = cache
        self.client = client or Client()

    def files(self, package: str) -> list[File]:
        """All files of a package, in the page's order.

        Raises:
            LookupError: if the index does not have it.
            UnreachableError: if the index did not answer, or not with a package page.
        """
        address = f"{self._url}/{package}/"
        reply = self.client.get(address, accept=index_pages.ACCEPT, limit=_PAGE)
        if reply.status == 404:
            raise LookupError(f"the index has no {package}")
        if reply.status != 200:
            raise UnreachableError(f"{shown(address)}: answered {reply.status}")
        return index_pages.files(address, reply.kind, reply.body)

    def metadata(self, file: File) -> str:
        """Core metadata of a wheel: the text beside it, or the member inside it where the index has none beside it.

        Raises:
            UnreachableError, UnreadableError: there is none to be had.
        """
        return self._cached(file, "METADATA", lambda: self._beside(file) or self._inside(file)).decode(
            "utf-8", "replace"
        )

    def _beside(self, file: File) -> bytes:
        """The text beside a wheel; empty if there is none, or if something else is served for it."""
        if file.beside is False:
            return b""
        reply = self.client.get(file.url + ".metadata", limit=_METADATA)
        return reply.body if reply.status == 200 and b"Metadata-Version:" in reply.body[:4096] else b""

    def _inside(self, file: File) -> bytes:
        with self.archive(file, _DIRECTORY) as wheel:
            inside = [name for name in wheel.namelist() if re.fullmatch(r"(\./)?[^/]+\.dist-info/METADATA", name)]
            if not inside:
                raise UnreadableError("no metadata in it")
            return _read(wheel, inside[0], _METADATA)

    def names(self, file: File) -> list[str]:
        """Names of the members of a wheel."""

        def ask() -> bytes:
            with self.archive(file, _DIRECTORY) as wheel:
                return "\n".join(wheel.namelist()).encode("utf-8", "replace")

        return self._cached(file, "names", ask).decode("utf-8", "replace").splitlines()

    def member(self, file: File, name: str) -> bytes:
        """One member of a wheel, read by ranges."""

        def ask() -> bytes:
            with self.archive(file, _MEMBER) as wheel:
                return _read(wheel, name, _MEMBER)

        return self._cached(file, name, ask)

    def blocks(self, file: File, name: str) -> Iterator[bytes]:
        """A member of a wheel, however large, piece by piece; nothing of it is kept."""
        with self.archive(file) as wheel, wheel.open(name) as member:
            while block := member.read(4 << 20):
                yield block

    def open(self, file: File, budget: int = 1 << 40) -> io.BufferedReader:
        """The wheel as a file whose bytes are fetched as they are read."""
        return io.BufferedReader(Remote(self.client, file.url, budget))

    @contextlib.contextmanager
    def archive(self, file: File, budget: int = 1 << 40) -> Iterator[zipfile.ZipFile]:
        """The wheel as an archive; what is wrong with it is told in one way."""
        try:
            with zipfile.ZipFile(self.open(file, budget)) as wheel:
                yield wheel
        except UnreachableError:
            raise
        except UnreadableError as error:
            raise UnreadableError(f"{file.name}: {error}") from error
        except _FAULTS as error:
            raise UnreadableError(f"{file.name}: {type(error).__name__}: {error}"[:300]) from error

    def derived(self, file: File, name: str, make: Callable[[], bytes]) -> bytes:
        """What was worked out from a wheel once, kept beside its members."""
        return self._cached(file, name, make)

    def _cached(self, file: File, name: str, ask: Callable[[], bytes]) -> bytes:
        path = self._cache / file.digest[:2] / file.digest / re.sub(r"[^\w.-]", "_", name)[-120:]
        if path.is_file():
            return path.read_bytes()
        body = ask()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, body)
        return body


def write_whole(path: Path, body: bytes) -> None:
    """Write a file so that it is there whole or not at all, however the program ends.

    Raises:
        OSError: there is no room, or no permission; it names the file, which write errors do not.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        part.write_bytes(body)
        part.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        part.unlink(missing_ok=True)


def _read(wheel: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member, however long it claims to be."""
    with wheel.open(name) as member:
        body = member.read(most + 1)
    if len(body) > most:
        raise UnreadableError(f"{name[:80]} is longer than {most} bytes")
    return body
