"""GET over a local socket, by hand: importing an HTTP library would cost more than all detectors together.

One request per connection, HTTP/1.0, no keep-alive, no chunks: that is all an engine needs to be asked.
"""

from __future__ import annotations

import time
from typing import Final

_LIMIT: Final = 4 << 20  # an engine's /info with hundreds of plugins stays far below


def get(path: str, url: str, timeout: float) -> bytes:
    """Body of the answer to ``GET url`` on the socket at ``path``, within ``timeout`` seconds in all.

    Raises:
        OSError: if the socket refuses, the peer is silent too long, or it answers with anything but success.
    """
    import socket

    if not hasattr(socket, "AF_UNIX"):
        raise OSError(97, "this Python has no local sockets")
    end = time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        peer.settimeout(timeout)
        peer.connect(path)
        # HTTP/1.0: the peer closes the connection after one unchunked answer
        peer.sendall(f"GET {url} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        raw = b""
        while len(raw) < _LIMIT:
            peer.settimeout(max(0.001, end - time.monotonic()))
            if time.monotonic() > end:
                raise TimeoutError(110, "no complete answer in time")
            part = peer.recv(65536)
            if not part:
                break
            raw += part
    return body(raw)


def body(raw: bytes) -> bytes:
    """Body of an HTTP answer with status 200.

    Raises:
        OSError: if it is no HTTP answer or has another status.
    """
    head, _, rest = raw.partition(b"\r\n\r\n")
    status = head.split(b"\r\n", 1)[0].split(b" ")
    if len(status) < 2 or not status[0].startswith(b"HTTP/"):
        raise OSError(71, "the answer is not HTTP")
    if status[1] != b"200":
        raise OSError(71, f"HTTP status {status[1].decode('ascii', 'replace')[:3]}")
    return rest
