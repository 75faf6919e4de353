"""Remote wheels: only the parts that matter travel, and servers that cannot do that are told apart."""

import io
import random
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from compat.errors import CannotCheckError, InputError
from compat.registry import ranges

PTX = b".version 8.0\n.target sm_90\n.address_size 64\n"


def wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("thing/padding.bin", bytes(8 << 20))
        archive.writestr("thing/kernel.ptx", PTX)
    return out.getvalue()


ODD = {"/star": "bytes 0-0/*", "/two": "bytes 0-0/\xb2", "/digits": f"bytes 0-0/{'9' * 5000}", "/items": "items 0-0/9"}


class Ranged(BaseHTTPRequestHandler):
    data = wheel()
    asked = questions = 0
    # First byte of a question -> how often its answer breaks off: from 5 on at once, below that in the middle.
    torn: ClassVar[dict[int, int]] = {}

    def do_GET(self):
        wanted = self.headers.get("Range")
        if self.path.startswith("/missing"):
            self.send_error(404)
            return
        first, last = map(int, wanted.removeprefix("bytes=").split("-"))
        body = self.data if self.path.startswith("/whole") else self.data[first : last + 1]
        type(self).asked += len(body)
        type(self).questions += 1
        self.send_response(200 if self.path.startswith("/whole") else 206)
        self.send_header("Content-Length", str(len(body)))
        if not self.path.startswith("/whole"):
            told = f"bytes {first}-{last}/{len(self.data)}"
            self.send_header("Content-Range", ODD.get(self.path.partition("/x")[0], told))
        self.end_headers()
        if self.torn.get(first, 0) > 0:
            self.torn[first] -= 1
            body = body[: len(body) // 2] if self.torn[first] < 5 else b""
            self.close_connection = True
        try:
            self.wfile.write(body)
        except ConnectionError:
            return

    def log_message(self, *_args):
        return


@pytest.fixture
def server():
    Ranged.asked, Ranged.questions, Ranged.torn = 0, 0, {}
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Ranged)
    threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


def test_only_the_members_that_matter_travel(server):
    found = ranges.inspect(f"{server}/thing-1.0-py3-none-any.whl")
    assert found.ptx == ("compute_90",)
    assert Ranged.asked < len(Ranged.data) / 2


@pytest.mark.parametrize(
    ("path", "words"), [("/whole/x.whl", "does not serve parts"), ("/missing.whl", "answered 404")]
)
def test_a_server_that_cannot_help_is_named(server, path, words):
    with pytest.raises(InputError, match=words):
        ranges.inspect(server + path)


@pytest.mark.parametrize("path", ODD)
def test_a_size_that_is_none_is_no_size(server, path):
    with pytest.raises(InputError, match="does not serve parts"):
        ranges.inspect(f"{server}{path}/x.whl")


def test_a_file_that_ends_before_its_size_is_told(server, monkeypatch):
    """The server promises more than it has: what is missing is said, and nothing hangs."""
    monkeypatch.setattr(Ranged, "data", wheel()[:-30])
    found = ranges.inspect(f"{server}/thing-1.0-py3-none-any.whl")
    assert found.targets == ()
    assert not found.complete


def test_a_block_is_asked_for_once(server):
    remote = ranges.Remote(f"{server}/x.whl")
    data, block = Ranged.data, ranges._BLOCK
    for offset, count in ((0, 10), (5, block), (block, 1), (0, 0), (2 * block - 1, 2), (len(data) - 3, 3)):
        assert remote.read_at(offset, count) == data[offset : offset + count]
    before = Ranged.asked
    for offset in (len(data) - 9, 0, block + 7):
        assert remote.read_at(offset, 9) == data[offset : offset + 9]
    assert Ranged.asked == before
    remote.close()


def test_an_unreachable_server_is_not_a_fault_of_the_input():
    with pytest.raises(CannotCheckError, match="could not be reached"):
        ranges.inspect("http://127.0.0.1:9/x.whl")


def test_other_schemes_are_refused():
    with pytest.raises(InputError, match="not an http address"):
        ranges.Remote("file:///etc/passwd")


@pytest.fixture
def noise(monkeypatch):
    """A file of forty megabytes and a bit, no two places alike."""
    data = random.Random(5).randbytes((40 << 20) + 123)
    monkeypatch.setattr(Ranged, "data", data)
    return data


def test_a_file_read_from_end_to_end_takes_few_questions_and_each_byte_once(server, noise):
    remote, step = ranges.Remote(f"{server}/x"), 300_000
    read = b"".join(remote.read_at(at, min(step, remote.size - at)) for at in range(0, remote.size, step))
    assert read == noise
    assert Ranged.asked <= len(noise) + 1  # one for its size
    assert Ranged.questions <= 10


def test_scattered_reads_fetch_what_they_need_alone(server, noise):
    remote, places = ranges.Remote(f"{server}/x"), [39 << 20, 3 << 20, 21 << 20, 9 << 20]
    for at in places:
        assert remote.read_at(at + 5, 1000) == noise[at + 5 : at + 1005]
    assert Ranged.asked <= len(places) * (1 << 20) + 1


def test_no_byte_travels_twice_whatever_the_order(server, noise):
    remote = ranges.Remote(f"{server}/x")
    places = [*range(0, len(noise), 1 << 20), 0, 17 << 20, 5 << 20, *range(len(noise) - 50, 0, -(3 << 20))]
    for at in places:
        assert remote.read_at(at, 100) == noise[at : at + 100]
    assert Ranged.asked <= len(noise) + 1
    remote.close()


def test_what_is_expected_comes_in_few_questions_and_is_told_as_it_comes(server, noise):
    told = []
    remote = ranges.Remote(f"{server}/x", lambda here, asked: told.append((here, asked)))
    remote.expect(2 << 20, 36 << 20)
    remote.expect(0, 10 << 20)  # what is on its way is not asked for again
    assert remote.read_at(30 << 20, 5000) == noise[30 << 20 :][:5000]
    assert remote.read_at(0, len(noise)) == noise
    assert Ranged.questions <= 8
    assert Ranged.asked <= len(noise) + 1
    assert max(told) == (41, 41)
    remote.close()


def test_closing_lets_go_of_who_waits_for_a_block(server, noise):
    """Ctrl-C while members are read by threads: the process must not wait for an answer that was called off."""
    remote = ranges.Remote(f"{server}/x")
    remote._coming.add(3)  # asked for, and the answer never comes
    left = []

    def wait():
        with pytest.raises(ValueError, match="closed"):
            remote.read_at(3 << 20, 100)
        left.append(True)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    remote.close()
    thread.join(10)
    assert left


@pytest.mark.parametrize(("times", "whole"), [(1, True), (9, False)])
def test_an_answer_that_breaks_off_is_asked_for_again_and_not_for_ever(server, noise, times, whole):
    remote = ranges.Remote(f"{server}/x")
    Ranged.torn = {at << 20: times for at in range(40)}
    remote.expect(0, 20 << 20)
    try:
        assert whole == (remote.read_at(0, 20 << 20) == noise[: 20 << 20])
    except CannotCheckError as error:
        assert not whole
        assert "could not be reached" in str(error)
    remote.close()


@pytest.mark.parametrize("size", [1, 1000, (1 << 20) + 1])
def test_a_server_may_send_pieces_of_any_size(size):
    data = random.Random(3).randbytes(3 << 20) if size > 1 else bytes(5000)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    blocks = list(ranges._blocks([*pieces, b"more than was asked for"], len(data)))
    assert b"".join(blocks) == data
    assert all(len(block) == ranges._BLOCK for block in blocks[:-1])
