"""A remote file read by HTTP ranges: a wheel of gigabytes is inspected for the price of the members that matter.

The only place that uses ``requests``; its own configuration (proxies, certificates) counts. Reads are gathered into
blocks, because a wheel's directory is read in many small pieces.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from compat.errors import CannotCheckError, InputError

if TYPE_CHECKING:
    from compat.kernels import Inspection

_BLOCK: Final = 1 << 20
_KEPT: Final = 64  # blocks in memory
_TIMEOUT: Final = (10.0, 60.0)  # seconds to connect, and between two answers


class Remote:
    """Bytes of a file behind an address: ``size`` and ``read_at``, as :mod:`compat.kernels` reads.

    Raises:
        InputError: if the address is none, or its server does not serve parts of files.
        CannotCheckError: if the server cannot be reached.
    """

    def __init__(self, url: str) -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise InputError("not an http address", where=url, expected="https://.../name.whl")
        import requests

        self._url, self._session = url, requests.Session()
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        answer = self._ask(0, 0)
        total = answer.headers.get("Content-Range", "").rpartition("/")[2]
        if answer.status_code != requests.codes.partial_content or not total.isdigit():
            raise InputError("its server does not serve parts of files", where=url, hint="download it first")
        self.size = int(total)

    def _ask(self, first: int, last: int) -> Any:
        import requests

        try:
            headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
            answer = self._session.get(self._url, headers=headers, timeout=_TIMEOUT, stream=first == last == 0)
            answer.raise_for_status()
        except requests.HTTPError as error:
            raise InputError(f"answered {error.response.status_code}", where=self._url) from None
        except requests.RequestException as error:
            raise CannotCheckError(
                f"{urlsplit(self._url).netloc} could not be reached: {type(error).__name__}"
            ) from None
        return answer

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``."""
        parts = [self._block(number) for number in range(offset // _BLOCK, (offset + max(count, 1) - 1) // _BLOCK + 1)]
        start = offset % _BLOCK
        return b"".join(parts)[start : start + count]

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            last = min((number + 1) * _BLOCK, self.size) - 1
            self._blocks[number] = self._ask(number * _BLOCK, last).content[:_BLOCK]
            if len(self._blocks) > _KEPT:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return self._blocks[number]


def inspect(url: str) -> Inspection:
    """Inspect a remote wheel or library.

    Raises:
        InputError: if there is nothing that can be read in parts.
        CannotCheckError: if the server cannot be reached.
    """
    from compat.kernels.places import inspect_file
    from compat.kernels.window import Window

    name = unquote(urlsplit(url).path.rpartition("/")[2])
    return inspect_file(Window(Remote(url)), name, where=name)
