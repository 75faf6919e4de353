"""Asks a server politely and never trusts its answers: deadlines, retries, bounds, and ranges that are checked.

A server may be slow, gone, wrong or hostile. So each request has a deadline as a whole (not only between two bytes),
what is read is bounded, an answer that was cut short is asked for again, and a range is taken only if it is the range
that was asked for (RFC 9110, 14). A server that says when to come back (429 and 503 with Retry-After) is obeyed.
"""

from __future__ import annotations

import io
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

if TYPE_CHECKING:
    import requests

_AGENT = "envcheck-refresh (measures wheel metadata; cached; a few requests at a time)"
_BUSY = frozenset({429, 500, 502, 503, 504})
_PIECE = 1 << 16
_FIRST, _MOST = 1 << 17, 1 << 23
"""Bytes of a file asked for at once: after a jump, and when it has long been read straight on."""
_TAIL = 1 << 16
"""Bytes asked for from the end of a file: they hold the directory of most wheels, and their metadata, at once."""


class UnreachableError(OSError):
    """The server did not give what was asked for; says which address, and what it answered."""


class UnreadableError(Exception):
    """What the server gave is not what it claims to be: a broken archive, or one made to exhaust its reader."""


class StoppedError(Exception):
    """The person interrupted; no further request is made."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its status, its media type, its bytes, and the size of the whole file where a part was asked for."""

    status: int
    kind: str = ""
    body: bytes = b""
    whole: int = 0


class Client:
    """Makes requests; safe to use from a few threads.

    Args:
        pause: seconds before each request of a thread.
        wait: seconds before the second try; doubled for each further one.
        deadline: seconds that one try may take from the first byte sent to the last received.
    """

    def __init__(self, *, pause: float = 0.0, wait: float = 2.0, deadline: float = 90.0, tries: int = 4) -> None:
        self._pause, self._wait, self._deadline, self._tries = pause, wait, deadline, tries
        self._local = threading.local()
        self._stopped = threading.Event()
        self.requests = 0

    def stop(self) -> None:
        """Make every request that is under way or still to come end with :class:`StoppedError`."""
        self._stopped.set()

    def get(self, url: str, *, limit: int, accept: str = "*/*", span: str = "") -> Reply:
        """The answer of an address; with ``span`` (``0-99``, ``-100``) a part of it.

        A whole file that comes where a part was asked for is not read: the reply then has its status and no body.

        Raises:
            UnreachableError: no good answer after some tries, or one longer than ``limit`` bytes.
            StoppedError: the person interrupted.
        """
        if urlsplit(url).scheme not in {"http", "https"}:
            raise UnreachableError(f"{shown(url)}: not an address of the web")
        why, wait = "", self._pause
        for attempt in range(self._tries):
            if self._stopped.wait(wait):
                raise StoppedError
            wait = self._wait * 2.0**attempt
            try:
                reply, asked = self._once(url, accept, span, limit)
            except (
                OSError,
                ValueError,
                OverflowError,
            ) as error:  # all of requests' own are OSError; an address may be no address
                why = f"{type(error).__name__}: {error}"
                if not isinstance(error, _again()):
                    break
                continue
            if reply.status not in _BUSY:
                return reply
            why, wait = f"answered {reply.status}", max(wait, asked)
        raise UnreachableError(f"{shown(url)}: {why[:200]}")

    def _once(self, url: str, accept: str, span: str, limit: int) -> tuple[Reply, float]:
        """One try, and the seconds that the server asks to wait before the next."""
        headers = {"Accept": accept} | ({"Range": f"bytes={span}", "Accept-Encoding": "identity"} if span else {})
        self.requests += 1
        end = time.monotonic() + self._deadline
        with self._session().get(url, headers=headers, timeout=(10, 30), stream=True) as answer:
            kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
            whole = answer.status_code == 200 and bool(span)
            body = b"" if whole or answer.status_code in _BUSY else self._body(answer, limit, end)
            told = answer.headers.get("Content-Range", "")
            size = _whole(told, span, len(body)) if answer.status_code == 206 else 0
            after = re.fullmatch(r"\d{1,4}", answer.headers.get("Retry-After", ""))
            return Reply(answer.status_code, kind, body, size), min(float(after[0]) if after else 0.0, 60.0)

    def _body(self, answer: requests.Response, limit: int, end: float) -> bytes:
        pieces, count = [], 0
        for piece in answer.iter_content(_PIECE):
            count += len(piece)
            if count > limit:
                raise OverflowError(f"longer than {limit} bytes")
            if time.monotonic() > end:
                raise TimeoutError(f"not answered within {self._deadline:g} s")
            if self._stopped.is_set():
                raise StoppedError
            pieces.append(piece)
        return b"".join(pieces)

    def _session(self) -> requests.Session:
        import requests

        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
            self._local.session.headers["User-Agent"] = _AGENT
            self._local.session.max_redirects = 5
        session: requests.Session = self._local.session
        return session


class Remote(io.RawIOBase):
    """A file at an address that answers range requests; its last bytes come with the first request.

    Args:
        budget: bytes that may be fetched in all, against a directory or member that claims to be huge.

    Raises:
        UnreachableError: the address does not answer ranges, or not with what was asked for.
        UnreadableError: the file is empty, or more than ``budget`` bytes were asked for.
    """

    def __init__(self, client: Client, url: str, budget: int) -> None:
        self._client, self._url, self._left, self._at = client, url, budget, 0
        reply = client.get(url, span=f"-{_TAIL}", limit=_TAIL)
        if reply.status != 206:  # some servers know no ranges counted from the end
            reply = client.get(url, span="0-0", limit=1)
        if reply.status == 416:
            raise UnreadableError(f"{shown(url)}: an empty file")
        if reply.status != 206:
            raise UnreachableError(f"{shown(url)}: answers ranges with {reply.status}")
        self._size = reply.whole
        self._tail = reply.body if len(reply.body) > 1 else b""
        self._held, self._held_at, self._next = b"", 0, _FIRST

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes, at no cost."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go somewhere; before the beginning is an OSError."""
        at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence] + offset
        if at < 0:
            raise OSError("before the beginning")
        self._at = at
        return at

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as what is held goes; the number of bytes."""
        if self._at >= self._size:
            return 0
        from_end = self._size - self._at
        if from_end <= len(self._tail):
            body = self._tail[len(self._tail) - from_end :][: len(buffer)]
        else:
            if not 0 <= self._at - self._held_at < len(self._held):
                self._fetch()
            start = self._at - self._held_at
            body = self._held[start : start + len(buffer)]
        buffer[: len(body)] = body
        self._at += len(body)
        return len(body)

    def _fetch(self) -> None:
        """Hold the bytes from here on: few after a jump, twice as many each time that reading goes straight on."""
        straight_on = self._held and self._at == self._held_at + len(self._held)
        self._next = min(self._next * 2, _MOST) if straight_on else _FIRST
        count = min(self._next, self._size - self._at)
        self._left -= count
        if self._left < 0:
            raise UnreadableError("asks for more bytes than such a file needs")
        reply = self._client.get(self._url, span=f"{self._at}-{self._at + count - 1}", limit=count)
        if reply.status != 206 or reply.whole != self._size:
            raise UnreachableError(f"{shown(self._url)}: answers a range with {reply.status}, or changed meanwhile")
        self._held, self._held_at = reply.body, self._at


def shown(url: str) -> str:
    """An address without user and password, and without control characters, to be told to people."""
    parts = urlsplit(url)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return re.sub(r"[^\x20-\x7e]", "?", bare)[:300]


def _again() -> tuple[type[Exception], ...]:
    import requests

    return (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError, TimeoutError)


def _whole(told: str, span: str, length: int) -> int:
    """Size of the whole file, from a Content-Range that answers the span that was asked for.

    Raises:
        TimeoutError: it answers another, or the bytes are not all there; worth another try.
    """
    found = re.fullmatch(r"bytes (\d{1,15})-(\d{1,15})/(\d{1,15})", told.strip())
    if not found:
        raise TimeoutError("a part without its place")
    first, last, whole = map(int, found.groups())
    start, _, stop = span.partition("-")
    wanted = (int(start), min(int(stop), whole - 1)) if start else (max(whole - int(stop), 0), whole - 1)
    if (first, last) != wanted or length != last - first + 1:
        raise TimeoutError(f"{length} bytes of {told[:80]} for {span}")
    return whole
