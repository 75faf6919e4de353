"""Where a published wheel lies: one page of a package index, read as PEP 503 and PEP 691 describe it.

The index is the one that the person names, else the one that their installer is configured for.
"""

from __future__ import annotations

import os
import re
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import urljoin, urlsplit

from compat import run
from compat.errors import CannotCheckError, InputError
from compat.names import normalise
from compat.untrusted import json_of, rows, table

_ACCEPT: Final = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_LINK: Final = re.compile(r"<a\s[^>]{0,2000}?href=[\"']([^\"']{1,2000})[\"']([^>]{0,2000})", re.IGNORECASE)
_LARGEST: Final = 64 << 20  # bytes of one page; the largest have some ten
_PART: Final = 1 << 20
_PIP_DEFAULT: Final = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
_VARIABLES: Final = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")


def wheel(name: str, version: str, *, index: str = "", tag: str = "manylinux", arch: str = "x86_64") -> str:
    """Address of the wheel of a release for a platform.

    Args:
        name: distribution name.
        version: exact version; a local tag (``+cu128``) counts where it is given.
        index: address of the index; the configured one if empty.
        tag: word that the platform tag holds; a wheel named for any platform counts where none has it.
        arch: architecture that the platform tag ends with.

    Raises:
        InputError: if the index has no such wheel.
        CannotCheckError: if the index cannot be reached, or none is configured.
    """
    page = _page(name, index)
    found = [url for url, _ in _links(page) if _fits(url, version, tag, arch)]
    if not found:
        raise InputError(f"no wheel of {name} {version} for {arch}", where=page, hint="its versions are on the page")
    return max(reversed(found), key=lambda url: not urlsplit(url).path.endswith("-any.whl"))


def files(name: str, *, index: str = "") -> tuple[str, ...]:
    """Addresses of all files of a distribution that were not withdrawn, in the order of the page.

    Raises:
        InputError: if the index does not have it.
        CannotCheckError: if the index cannot be reached, or none is configured.
    """
    return tuple(url for url, yanked in _links(_page(name, index)) if not yanked)


def metadata(url: str) -> str:
    """The core metadata of a wheel: the file that an index serves beside it (PEP 658), else its member in the wheel.

    Raises:
        InputError: if there is neither.
        CannotCheckError: if the index cannot be reached.
    """
    plain = urlsplit(url)._replace(fragment="").geturl()
    try:
        return _get(plain + ".metadata")[1].decode("utf-8", "replace")
    except InputError:
        from compat.registry import ranges

        return ranges.member(plain, ".dist-info/METADATA").decode("utf-8", "replace")


def _page(name: str, index: str) -> str:
    """The page of a distribution."""
    return _joined((index or configured()).rstrip("/") + "/", normalise(name) + "/")


def configured(runner: run.Runner = run.run) -> str:
    """The index that this machine's installers use.

    Raises:
        CannotCheckError: if nothing names one.
    """
    for variable in _VARIABLES:
        if os.environ.get(variable):
            return os.environ[variable]
    said = runner([*run.isolated(), "-m", "pip", "config", "get", "global.index-url"], timeout=20.0)
    if said.ok and said.out.strip():
        return said.out.strip()
    asked = runner([*run.isolated(), "-c", _PIP_DEFAULT], timeout=20.0)
    if asked.ok and asked.out.strip():
        return asked.out.strip()
    raise CannotCheckError("no package index is configured", hint="name one with --index")


def _joined(page: str, link: str) -> str:
    """Where a link of a page leads; to nothing if it is no address (``http://[``)."""
    try:
        return urljoin(page, link)
    except ValueError:
        return ""


def _links(page: str) -> list[tuple[str, bool]]:
    """Addresses of the files on a page, in either of its forms, and whether each was withdrawn (PEP 592)."""
    kind, body = _get(page)
    html = "" if "json" in kind else body.decode("utf-8", "replace")
    found = [(unescape(link), "data-yanked" in rest) for link, rest in _LINK.findall(html)] if html else _listed(body)
    return [(_joined(page, link), yanked) for link, yanked in found]


def _listed(body: bytes) -> list[tuple[str, bool]]:
    """The links of a page in JSON (PEP 691); none where it is something else."""
    files = rows(table(json_of(body)).get("files"))
    return [(str(row.get("url", "")), bool(row.get("yanked"))) for row in files]


def _get(page: str) -> tuple[str, bytes]:
    """Content type and body of a page, of which no more is read than the largest has; no answer is refused."""
    import requests

    try:
        with requests.get(page, headers={"Accept": _ACCEPT}, timeout=(10.0, 60.0), stream=True) as answer:
            answer.raise_for_status()
            parts = islice(answer.iter_content(_PART), _LARGEST // _PART)
            return answer.headers.get("Content-Type", ""), b"".join(parts)
    except requests.HTTPError as error:
        raise InputError(f"the index answered {error.response.status_code}", where=page) from None
    except (requests.RequestException, ValueError) as error:  # ValueError: an address that is none
        raise CannotCheckError(f"the index could not be reached: {type(error).__name__}") from None


def _fits(url: str, version: str, tag: str, arch: str) -> bool:
    """Whether a file is a wheel of that version for the platform; its tags decide (PEP 425, PEP 440 local versions)."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename
    from packaging.version import Version

    name = urlsplit(url).path.rpartition("/")[2].replace("%2B", "+").replace("%2b", "+")
    try:
        _, found, _, tags = parse_wheel_filename(name)
        wanted = Version(version)
    except (InvalidWheelFilename, ValueError):
        return False
    same = found == wanted or (not wanted.local and found.public == wanted.public)
    platforms = [item.platform for item in tags]
    return same and any((tag in each and each.endswith(arch)) or each == "any" for each in platforms)
