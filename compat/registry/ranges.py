"""A remote file read by HTTP ranges: a wheel of gigabytes is inspected for the price of the members that matter.

The only place that uses ``requests``; its own configuration (proxies, certificates) counts. Reads are gathered into
blocks, because a wheel's directory is read in many small pieces.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from compat.errors import CannotCheckError, InputError

if TYPE_CHECKING:
    from compat.kernels import Inspection

_BLOCK: Final = 1 << 20
_KEPT: Final = 64  # blocks in memory
_AHEAD: Final = 16  # blocks that are asked for at once, at the most
_TIMEOUT: Final = (10.0, 60.0)  # seconds to connect, and between two answers


class Remote:
    """Bytes of a file behind an address: ``size`` and ``read_at``, as :mod:`compat.kernels` reads.

    Raises:
        InputError: if the address is none, or its server does not serve parts of files.
        CannotCheckError: if the server cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self._server = _server(url)
        import requests

        self._url, self._session = url, requests.Session()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._ahead = 1
        answer, _ = self._ask(0, 0)
        total = re.fullmatch(r"bytes 0-\d+/([0-9]{1,18})", answer.headers.get("Content-Range", ""))
        if answer.status_code != requests.codes.partial_content or total is None:
            raise InputError("its server does not serve parts of files", where=url, hint="download it first")
        self.size = int(total[1])

    def _ask(self, first: int, last: int) -> tuple[Any, bytes]:
        """A part of the file, never more than was asked for, whatever the server sends."""
        import requests

        try:
            headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
            answer = self._session.get(self._url, headers=headers, timeout=_TIMEOUT, stream=True)
            answer.raise_for_status()
            with answer:
                return answer, next(answer.iter_content(last - first + 1), b"")
        except requests.HTTPError as error:
            raise InputError(f"answered {error.response.status_code}", where=self._url) from None
        except requests.RequestException as error:
            raise CannotCheckError(f"{self._server} could not be reached: {type(error).__name__}") from None

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``."""
        parts = [self._block(number) for number in range(offset // _BLOCK, (offset + max(count, 1) - 1) // _BLOCK + 1)]
        start = offset % _BLOCK
        return b"".join(parts)[start : start + count]

    def _block(self, number: int) -> bytes:
        """A block of the file, asked for once while it is among those kept.

        Where one follows on another, more are asked for at once each time: a member that is compressed is read from its
        start, and a question for every block would cost more in waiting than in bytes.
        """
        if number not in self._blocks:
            self._ahead = min(2 * self._ahead, _AHEAD) if number - 1 in self._blocks else 1
            self._fetch(number, self._ahead)
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def _fetch(self, number: int, count: int) -> None:
        """Ask for some blocks in one question, and forget those that were longest not used."""
        first = number * _BLOCK
        data = self._ask(first, min(first + count * _BLOCK, self.size) - 1)[1]
        whole = -(-len(data) // _BLOCK) if first + len(data) == self.size else len(data) // _BLOCK
        for place in range(max(1, whole)):  # a block that was cut short on its way is asked for by itself
            self._blocks[number + place] = data[place * _BLOCK : (place + 1) * _BLOCK]
            self._blocks.move_to_end(number + place)
        while len(self._blocks) > _KEPT:
            self._blocks.popitem(last=False)


def _server(url: str) -> str:
    """The server of an address, without the password that it may hold."""
    try:
        parts = urlsplit(url)
        server = parts.hostname or ""
    except ValueError:
        parts, server = urlsplit(""), ""
    if parts.scheme not in {"http", "https"} or not server:
        raise InputError("not an http address", where=url, expected="https://.../name.whl")
    return server


def inspect(url: str) -> Inspection:
    """Inspect a remote wheel or library.

    Raises:
        InputError: if there is nothing that can be read in parts.
        CannotCheckError: if the server cannot be reached.
    """
    from compat.kernels.places import inspect_file
    from compat.kernels.window import Window

    remote = Remote(url)
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    return inspect_file(Window(remote), name, where=name)
