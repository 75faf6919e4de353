"""What a package page of an index says: its files, from JSON (PEP 691) or HTML (PEP 503).

A page names addresses, days, hashes and versions, and any of them may be nonsense or an attack: a hash becomes a path
of the cache, a name a key of the recorded facts. What is not of the shape that the standards give is left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import html.parser
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from polite import UnreachableError, shown

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True, slots=True)
class File:
    """One file of a package page; ``uploaded`` is the day, where the index tells it.

    ``beside`` says whether the index has the core metadata beside the file (PEP 658); None where it does not tell.
    """

    name: str
    url: str
    digest: str
    requires_python: str = ""
    uploaded: str = ""
    yanked: bool = False
    beside: bool | None = None


def files(address: str, kind: str, body: bytes) -> list[File]:
    """The files of a page of the media type ``kind``, in its order.

    Raises:
        UnreachableError: it says that it is JSON and is not, or not of that shape.
    """
    if kind.endswith("json"):
        return _from_json(address, body)
    page = _Page(address)
    page.feed(body.decode("utf-8", "replace"))
    return page.files


def _file(address: str, link: str, said: dict[str, Any], digest: str) -> File | None:
    """A file as a page tells it; None if its name is not that of a distribution. Nonsense in the rest is left out."""
    url = urljoin(address, link)
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    if not re.fullmatch(r"[\w.+!-]{1,300}", name, re.ASCII):
        return None
    python, day = str(said.get("requires-python") or ""), str(said.get("upload-time") or "")[:10]
    beside = said.get("core-metadata", said.get("dist-info-metadata"))
    return File(
        name=name,
        url=url,
        digest=digest if re.fullmatch(r"[0-9a-f]{32,128}", digest) else hashlib.sha256(url.encode()).hexdigest(),
        requires_python=python if _is_specifier(python) else "",
        uploaded=day if re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", day) else "",
        yanked="yanked" in said and said["yanked"] is not False,
        beside=None if beside is None else bool(beside),
    )


def _is_specifier(text: str) -> bool:
    try:
        SpecifierSet(text[:500])
    except InvalidSpecifier:
        return False
    return len(text) <= 500


def _from_json(address: str, body: bytes) -> list[File]:
    """The files of a JSON page; entries that are no such thing are passed over."""
    try:
        page = json.loads(body)
        listed = page["files"]
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreachableError(f"{shown(address)}: not a package page: {type(error).__name__}") from error
    if entries is None:
        raise UnreachableError(f"{shown(address)}: not a package page: files is no list")
    found = (_entry(address, entry) for entry in entries)
    return [file for file in found if file]


def _entry(address: str, entry: dict[str, Any]) -> File | None:
    link, hashes = entry.get("url"), entry.get("hashes")
    digest = hashes.get("sha256") if isinstance(hashes, dict) else None
    said = {"core-metadata": False, **entry}  # PEP 714: no key, no metadata
    with contextlib.suppress(ValueError):  # an address that is none
        return _file(address, link, said, digest if isinstance(digest, str) else "") if isinstance(link, str) else None
    return None


class _Page(html.parser.HTMLParser):
    """The files of an HTML page (PEP 503)."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self.files: list[File] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {key.removeprefix("data-"): value or "" for key, value in attrs}
        if tag != "a" or not said.get("href"):
            return
        link, _, fragment = said["href"].partition("#")
        with contextlib.suppress(ValueError):
            file = _file(self._address, link, said, fragment.partition("=")[2])
            self.files += [file] if file else []
