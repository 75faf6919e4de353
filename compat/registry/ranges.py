"""A remote file read by HTTP ranges: a wheel of gigabytes is inspected for the price of the members that matter.

The only place that uses ``requests``; its own configuration (proxies, certificates) counts. Reads are gathered into
blocks, because a wheel's directory is read in many small pieces; a compressed member is gone through twice (its section
table is at its end), so what was read is kept in a file without a name.
"""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from compat.errors import CannotCheckError, InputError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from compat.kernels import Inspection

_BLOCK: Final = 1 << 20
_PART: Final = 8  # blocks in one question, at the most
_STREAMS: Final = 12  # questions at once
_AHEAD: Final = _PART * _STREAMS
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
        self._session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=_STREAMS))
        self._pool = ThreadPoolExecutor(_STREAMS)
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - it has no name, and is gone when close() was called
        self._here: set[int] = set()
        self._coming: dict[int, tuple[Future[tuple[Any, bytes]], int]] = {}
        self._ahead, self._last = 1, -2
        answer, _ = self._ask(0, 0)
        total = re.fullmatch(r"bytes 0-\d+/([0-9]{1,18})", answer.headers.get("Content-Range", ""))
        if answer.status_code != requests.codes.partial_content or total is None:
            raise InputError("its server does not serve parts of files", where=url, hint="download it first")
        self.size = self._end = int(total[1])

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
        """``count`` bytes from ``offset``; fewer if the file ends before its size."""
        for number in range(offset // _BLOCK, (offset + max(count, 1) - 1) // _BLOCK + 1):
            self._want(number)
            self._take(number)
        self._spool.seek(offset)
        return self._spool.read(max(min(count, self._end - offset), 0))

    def close(self) -> None:
        """Wait for no more answers, and give the disk back."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._spool.close()

    def _want(self, number: int) -> None:
        """Ask for a block and, where it follows on the one before, for more and more of those behind it.

        A member that is compressed is read from its start, and one question for each block would cost more in waiting
        than in bytes; several questions at once use the link better than one.
        """
        if number != self._last:
            self._ahead = min(2 * self._ahead, _AHEAD) if number == self._last + 1 else 1
            self._last = number
        last = min(number + self._ahead, -(-self.size // _BLOCK))
        missing = [one for one in range(number, last) if one not in self._here and one not in self._coming]
        for start in range(0, len(missing), _PART):
            part = missing[start : start + _PART]
            if part[0] == number or len(part) == _PART:
                self._ask_for(part)

    def _ask_for(self, part: list[int]) -> None:
        """Ask for blocks, as far as they lie side by side, in one question."""
        side_by_side = [one for place, one in enumerate(part) if one == part[0] + place]
        first, last = part[0] * _BLOCK, min((side_by_side[-1] + 1) * _BLOCK, self.size) - 1
        answer = self._pool.submit(self._ask, first, last)
        self._coming.update(dict.fromkeys(side_by_side, (answer, part[0])))

    def _take(self, number: int) -> None:
        """Lay down the answer that a block is in; a block that was cut short on its way is asked for once more."""
        if number in self._coming:
            answer, first = self._coming[number]
            data = answer.result()[1]
            self._lay(first, data)
            self._coming = {one: held for one, held in self._coming.items() if held[0] is not answer}
        if number not in self._here and number * _BLOCK < self._end:
            data = self._ask(number * _BLOCK, min((number + 1) * _BLOCK, self.size) - 1)[1]
            self._lay(number, data)
            if number not in self._here:
                self._end = number * _BLOCK + len(data)

    def _lay(self, first: int, data: bytes) -> None:
        """Keep the blocks that came whole."""
        at = first * _BLOCK
        self._spool.seek(at)
        self._spool.write(data)
        whole = -(-len(data) // _BLOCK) if at + len(data) == self.size else len(data) // _BLOCK
        self._here.update(range(first, first + whole))


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
    try:
        return inspect_file(Window(remote), name, where=name)
    except OSError as error:
        raise CannotCheckError(f"the temporary folder does not take what was read: {error.strerror}") from None
    finally:
        remote.close()
