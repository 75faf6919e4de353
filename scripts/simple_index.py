"""Reads a Python package index politely: its simple pages, the metadata beside its wheels, and single wheel members.

Whole wheels are never downloaded. The index is the one the machine's client is configured for. What cannot change (a
file is named by its hash) is cached on disk for ever; pages are asked for anew. Interrupting loses nothing.
"""

from __future__ import annotations

import hashlib
import html.parser
import io
import os
import re
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import requests

_AGENT = "envcheck-refresh (measures wheel metadata; cached; a few requests at a time)"
_TRIES = 4
_BLOCK = 1 << 20  # bytes asked for at once when reading inside a wheel


@dataclass(frozen=True, slots=True)
class File:
    """One file of a package page; ``uploaded`` is the day, where the index tells it."""

    name: str
    url: str
    digest: str
    requires_python: str = ""
    uploaded: str = ""
    yanked: bool = False


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


class _Page(html.parser.HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self.files: list[File] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        if tag != "a" or "href" not in found:
            return
        url, _, fragment = urljoin(self._address, found["href"]).partition("#")
        self.files.append(
            File(
                name=unquote(urlsplit(url).path.rpartition("/")[2]),
                url=url,
                digest=fragment.partition("=")[2] or hashlib.sha256(url.encode()).hexdigest(),
                requires_python=found.get("data-requires-python", ""),
                uploaded=found.get("data-upload-time", "")[:10],
                yanked="data-yanked" in found,
            )
        )


class Index:
    """An index with a cache; safe to use from a few threads."""

    def __init__(self, url: str, cache: Path, *, pause: float = 0.0) -> None:
        self._url = url.rstrip("/")
        self._cache = cache
        self._pause = pause
        self._local = threading.local()
        self.requests = 0

    def files(self, package: str) -> list[File]:
        """All files of a package, in the page's order.

        Raises:
            LookupError: if the index does not have it.
        """
        address = f"{self._url}/{package}/"
        reply = self._get(address, accept="application/vnd.pypi.simple.v1+html, text/html;q=0.5")
        if reply.status_code == 404:
            raise LookupError(f"the index has no {package}")
        page = _Page(address)
        page.feed(reply.text)
        return page.files

    def metadata(self, file: File) -> str:
        """Core metadata of a wheel: the text beside it, or the member inside it where the index has none beside it."""

        def ask() -> bytes:
            reply = self._get(file.url + ".metadata")
            if reply.status_code == 200:
                return reply.content
            wheel = self.wheel(file)
            inside = [name for name in wheel.namelist() if re.fullmatch(r"(\./)?[^/]+\.dist-info/METADATA", name)]
            return wheel.read(inside[0]) if inside else b""

        return self._cached(file, "METADATA", ask).decode("utf-8", "replace")

    def names(self, file: File) -> list[str]:
        """Names of the members of a wheel."""
        listing = self._cached(file, "names", lambda: "\n".join(self.wheel(file).namelist()).encode())
        return listing.decode("utf-8", "replace").splitlines()

    def member(self, file: File, name: str) -> bytes:
        """One member of a wheel, read by ranges."""
        return self._cached(file, name, lambda: self.wheel(file).read(name))

    def open(self, file: File) -> io.BufferedReader:
        """The wheel as a file whose bytes are fetched as they are read."""
        return io.BufferedReader(_Remote(self, file.url), _BLOCK)

    def wheel(self, file: File) -> zipfile.ZipFile:
        """The wheel as an archive whose bytes are fetched as they are read."""
        return zipfile.ZipFile(self.open(file))

    def derived(self, file: File, name: str, make: Callable[[], bytes]) -> bytes:
        """What was worked out from a wheel once, kept beside its members."""
        return self._cached(file, name, make)

    def _cached(self, file: File, name: str, ask: Callable[[], bytes]) -> bytes:
        path = self._cache / file.digest[:2] / file.digest / re.sub(r"[^\w.-]", "_", name)[-120:]
        if path.is_file():
            return path.read_bytes()
        body = ask()
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{threading.get_ident()}.part")
        part.write_bytes(body)
        part.replace(path)
        return body

    def _get(self, url: str, *, accept: str = "*/*", span: str = "") -> requests.Response:
        import requests

        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
            self._local.session.headers["User-Agent"] = _AGENT
        headers = {"Accept": accept} | ({"Range": f"bytes={span}"} if span else {})
        for attempt in range(_TRIES):
            time.sleep(self._pause if attempt == 0 else 2.0**attempt)
            self.requests += 1
            try:
                reply: requests.Response = self._local.session.get(url, headers=headers, timeout=60)
            except requests.RequestException:
                if attempt == _TRIES - 1:
                    raise
                continue
            if reply.status_code not in {429, 500, 502, 503, 504}:
                return reply
        return reply


class _Remote(io.RawIOBase):
    """A file at an address that answers range requests."""

    def __init__(self, index: Index, url: str) -> None:
        self._index = index
        self._url = url
        self._at = 0
        reply = index._get(url, span="0-0")  # noqa: SLF001 - one reader in two classes
        if reply.status_code != 206:
            raise OSError(f"{url}: answers ranges with {reply.status_code}")
        self._size = int(reply.headers["Content-Range"].rpartition("/")[2])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        last = min(self._at + len(buffer), self._size) - 1
        if last < self._at:
            return 0
        body = self._index._get(self._url, span=f"{self._at}-{last}").content  # noqa: SLF001
        buffer[: len(body)] = body
        self._at += len(body)
        return len(body)
