"""A remote file read by HTTP ranges: a wheel of gigabytes is inspected for the price of the members that matter.

The only place that uses ``requests``; its own configuration (proxies, certificates) counts. Reads are gathered into
blocks, because a wheel's directory is read in many small pieces; a compressed member is gone through from its start to
the section table at its end and some places of it once more, so what was read is kept in a file without a name.
"""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from compat.errors import CannotCheckError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from compat.kernels import Inspection

    Tell = Callable[[int, int], None]

_BLOCK: Final = 1 << 20
_PART: Final = 8  # blocks in one question, at the most: from 16 on a proxy thought for 4 s before it answered most
_STREAMS: Final = 6  # questions at once
_AHEAD: Final = _PART * _STREAMS
_TIMEOUT: Final = (10.0, 60.0)  # seconds to connect, and between two answers
_TRIES: Final = 2  # for a block that was cut short on its way


class Remote:
    """Bytes of a file behind an address: ``size`` and ``read_at``, as :mod:`compat.kernels` reads.

    ``tell``: called with the MiB that are here and those that were asked for, each time that some arrive.

    Raises:
        InputError: if the address is none, or its server does not serve parts of files.
        CannotCheckError: if the server cannot be reached.
    """

    def __init__(self, url: str, tell: Tell | None = None) -> None:
        self._server = _server(url)
        import requests

        self._url, self._session, self._tell = url, requests.Session(), tell
        self._session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=_STREAMS))
        self._pool = ThreadPoolExecutor(_STREAMS)
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - it has no name, and is gone when close() was called
        self._arrived = Condition()  # guards the spool and what is known of its blocks
        self._here: set[int] = set()
        self._coming: set[int] = set()
        self._short: dict[int, int] = {}  # block that was cut short -> bytes of it that came
        self._error: Exception | None = None
        self._ahead, self._last = 1, -2
        with self._ask(0, 0) as answer:
            total = re.fullmatch(r"bytes 0-\d+/([0-9]{1,18})", answer.headers.get("Content-Range", ""))
        if answer.status_code != requests.codes.partial_content or total is None:
            raise InputError("its server does not serve parts of files", where=url, hint="download it first")
        self.size = self._end = int(total[1])

    @contextmanager
    def _ask(self, first: int, last: int) -> Iterator[Any]:
        """The answer to a question for a part of the file, whose body is still to be read."""
        import requests

        try:
            headers = {"Range": f"bytes={first}-{last}", "Accept-Encoding": "identity"}
            with self._session.get(self._url, headers=headers, timeout=_TIMEOUT, stream=True) as answer:
                answer.raise_for_status()
                yield answer
        except requests.HTTPError as error:
            raise InputError(f"answered {error.response.status_code}", where=self._url) from None
        except requests.RequestException as error:
            raise CannotCheckError(f"{self._server} could not be reached: {type(error).__name__}") from None

    def read_at(self, offset: int, count: int) -> bytes:
        """``count`` bytes from ``offset``; fewer if the file ends before its size."""
        for number in range(offset // _BLOCK, (offset + max(count, 1) - 1) // _BLOCK + 1):
            if number != self._last:  # what is read block after block is asked for further and further ahead
                self._ahead = min(2 * self._ahead, _AHEAD) if number == self._last + 1 else 1
                self._last = number
                if self._ahead > 1 and number not in self._here and number not in self._coming:
                    self.expect(number * _BLOCK, self._ahead * _BLOCK)
            self._take(number)
        with self._arrived:
            self._spool.seek(offset)
            return self._spool.read(max(min(count, self._end - offset), 0))

    def expect(self, offset: int, count: int) -> None:
        """Ask for bytes that will be read, by several questions at once; it does not wait for the answers."""
        with self._arrived:
            wanted = range(offset // _BLOCK, -(-min(offset + count, self.size) // _BLOCK))
            missing = [one for one in wanted if one not in self._here and one not in self._coming]
            self._coming.update(missing)
        while missing:
            part = [one for place, one in enumerate(missing[:_PART]) if one == missing[0] + place]
            self._pool.submit(self._bring, part[0], part[-1])
            missing = missing[len(part) :]

    def close(self) -> None:
        """Wait for no more answers, and give the disk back."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._arrived:
            self._spool.close()
            self._end = 0  # who still waits reads no more
            self._coming.clear()
            self._arrived.notify_all()

    def _take(self, number: int) -> None:
        """Wait for a block, or ask for it; one that did not come whole is asked for once more."""
        for tries in range(_TRIES + 1):
            with self._arrived:
                self._arrived.wait_for(lambda: number not in self._coming)
                if number in self._here or number * _BLOCK >= self._end:
                    return
            if tries < _TRIES:
                self._bring(number, number)
        if self._error:
            raise self._error
        self._end = number * _BLOCK + self._short.get(number, 0)

    def _bring(self, first: int, last: int) -> None:
        """Lay down blocks as they arrive; those that do not come stay missing."""
        stop = min((last + 1) * _BLOCK, self.size)
        try:
            with self._ask(first * _BLOCK, stop - 1) as answer:
                for number, data in enumerate(_blocks(answer.iter_content(_BLOCK), stop - first * _BLOCK), first):
                    self._lay(number, data)
        except Exception as error:  # noqa: BLE001 - told by the one who waits for the block
            self._error = error
        with self._arrived:
            self._coming.difference_update(range(first, last + 1))
            self._arrived.notify_all()

    def _lay(self, number: int, data: bytes) -> None:
        """Keep a block, or as much of it as came."""
        at = number * _BLOCK
        with self._arrived:
            self._spool.seek(at)
            self._spool.write(data)
            self._coming.discard(number)
            if len(data) == _BLOCK or at + len(data) == self.size:
                self._here.add(number)
            else:
                self._short[number] = len(data)
            self._arrived.notify_all()
        if self._tell:
            self._tell(len(self._here), len(self._here) + len(self._coming))


def _blocks(pieces: Iterable[bytes], count: int) -> Iterator[bytes]:
    """The first ``count`` bytes of an answer in blocks, whatever pieces the server sends them in."""
    held = b""
    for piece in pieces:
        held += piece[:count]
        count -= len(piece)
        while len(held) >= _BLOCK:
            yield held[:_BLOCK]
            held = held[_BLOCK:]
        if count <= 0:
            break
    if held:
        yield held


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


def inspect(url: str, tell: Tell | None = None) -> Inspection:
    """Inspect a remote wheel or library.

    ``tell``: called with the MiB that are here and those that were asked for, as they arrive.

    Raises:
        InputError: if there is nothing that can be read in parts.
        CannotCheckError: if the server cannot be reached.
    """
    from compat.kernels.places import inspect_file
    from compat.kernels.window import Window

    remote = Remote(url, tell)
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    try:
        return inspect_file(Window(remote), name, where=name)
    except OSError as error:
        raise CannotCheckError(f"the temporary folder does not take what was read: {error.strerror}") from None
    finally:
        remote.close()


def member(url: str, suffix: str) -> bytes:
    """A small member of a remote wheel, the first whose name ends so.

    Raises:
        InputError: if it has no such member of at most a megabyte, or is no wheel.
        CannotCheckError: if the server cannot be reached.
    """
    import io
    import zipfile
    import zlib

    from compat.kernels.packed import Reader
    from compat.kernels.window import CutShortError, Window

    remote = Remote(url)
    try:
        with zipfile.ZipFile(io.BufferedReader(Reader(Window(remote)), 1 << 16)) as archive:
            named = (item for item in archive.infolist() if item.filename.endswith(suffix))
            found = next((item for item in named if item.file_size <= _BLOCK), None)
            if found:
                return archive.read(found)
    except (zipfile.BadZipFile, zlib.error, CutShortError, RuntimeError, NotImplementedError, OSError) as error:
        raise InputError(f"not a wheel that can be read: {error}", where=url) from None
    finally:
        remote.close()
    raise InputError(f"no member *{suffix} in it", where=url)
