"""Published wheels found on an index's page, in both of its forms, and every way that this fails."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from compat.errors import CannotCheckError, InputError
from compat.registry import indexes
from compat.run import Outcome

FILES = [
    "thing-1.0-cp311-cp311-manylinux_2_28_x86_64.whl",
    "thing-1.0-cp311-cp311-manylinux_2_28_aarch64.whl",
    "thing-1.0-cp311-cp311-win_amd64.whl",
    "thing-2.0%2Bcu128-cp311-cp311-manylinux_2_28_x86_64.whl",
    "thing-3.0-py3-none-any.whl",
    "thing-4.0-cp311-cp311-manylinux1_x86_64.whl",
    "thing-4.0-cp311-none-any.whl",
    "thing-1.0.tar.gz",
    "not a wheel.whl",
]
HTML = "<html>" + "".join(f'<a href="../files/{name}#sha256=0">{name}</a>' for name in FILES)
JSON = '{"files": [' + ",".join(f'{{"url": "../files/{name}"}}' for name in FILES) + "]}"


GOOD = '<a href="thing-1.0-cp311-cp311-manylinux_2_28_x86_64.whl">'
RUBBISH = {
    "json-none": b"",
    "json-cut": b'{"files": [{"url": "thing-1.0',
    "json-list": b"[1]",
    "json-number": b'{"files": 7}',
    "json-rows": b'{"files": [null, 7, {}, {"url": null}, {"url": ["x"]}]}',
    "json-deep": b"[" * 100_000,
    "html-none": b"",
    "html-bytes": bytes(range(256)),
    "html-unclosed": b'<a href="' * 5000,
}
ODD = {
    "html-address": f'<a href="http://[">{GOOD}',
    "html-latin": f'<a href="caf\xe9.whl">{GOOD}',
    "json-address": '{"files": [{"url": "http://[::1/x.whl"}, {"url": "thing-1.0-py3-none-any.whl"}]}',
}


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        kind, name = self.path.strip("/").split("/")
        if name != "thing":
            self.send_error(404)
            return
        odd = RUBBISH | {key: text.encode("latin-1") for key, text in ODD.items()}
        body = odd.get(kind, (JSON if kind == "json" else HTML).encode())
        self.send_response(200)
        json_kind = "application/vnd.pypi.simple.v1+json"
        self.send_header("Content-Type", json_kind if kind.startswith("json") else "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        return


@pytest.fixture(scope="module")
def server():
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


@pytest.mark.parametrize("form", ["html", "json"])
@pytest.mark.parametrize(
    ("version", "arch", "end"),
    [
        ("1.0", "x86_64", "28_x86_64.whl"),
        ("1.0", "aarch64", "aarch64.whl"),
        ("2.0+cu128", "x86_64", "x86_64.whl"),
        ("2.0", "x86_64", "x86_64.whl"),
        ("3.0", "x86_64", "any.whl"),
        ("4.0", "x86_64", "manylinux1_x86_64.whl"),
    ],
)
def test_the_wheel_for_the_platform_is_found(server, form, version, arch, end):
    url = indexes.wheel("Thing", version, index=f"{server}/{form}", arch=arch)
    assert url.partition("#")[0].endswith(end)
    assert f"thing-{version.partition('+')[0]}" in url


@pytest.mark.parametrize(
    ("name", "version", "words"),
    [
        ("thing", "9.9", "no wheel of thing 9.9"),
        ("other", "1.0", "answered 404"),
        ("thing", "not a version", "no wheel"),
    ],
)
def test_what_is_not_there_is_said(server, name, version, words):
    with pytest.raises(InputError, match=words):
        indexes.wheel(name, version, index=f"{server}/html")


@pytest.mark.parametrize("kind", RUBBISH)
def test_a_page_of_rubbish_lists_nothing(server, kind):
    with pytest.raises(InputError, match=r"no wheel of thing 1\.0"):
        indexes.wheel("thing", "1.0", index=f"{server}/{kind}")


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_link_does_not_hide_the_others(server, kind):
    assert "/thing-1.0-" in indexes.wheel("thing", "1.0", index=f"{server}/{kind}")


@pytest.mark.parametrize("index", ["http://[", "no address", "file:///etc", "ftp://mirror.example/simple"])
def test_an_address_that_is_none_is_told(index):
    with pytest.raises(CannotCheckError, match="could not be reached"):
        indexes.wheel("thing", "1.0", index=index)


def test_no_more_of_a_page_is_read_than_the_largest_has(server, monkeypatch):
    monkeypatch.setattr(indexes, "_LARGEST", 400)
    monkeypatch.setattr(indexes, "_PART", 50)
    with pytest.raises(InputError, match="no wheel"):
        indexes.wheel("thing", "3.0", index=f"{server}/html")  # it stands behind the first 400 bytes
    assert indexes.wheel("thing", "1.0", index=f"{server}/html")


def test_an_unreachable_index_is_no_fault_of_the_input():
    with pytest.raises(CannotCheckError, match="could not be reached"):
        indexes.wheel("thing", "1.0", index="http://127.0.0.1:9/simple")


def test_the_index_is_the_installers_own(monkeypatch):
    for name in ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    assert (
        indexes.configured(lambda argv, **_: Outcome(0, "https://mirror.example/simple\n"))
        == "https://mirror.example/simple"
    )
    with pytest.raises(CannotCheckError, match="--index"):
        indexes.configured(lambda argv, **_: Outcome(1, why="no pip"))
    monkeypatch.setenv("UV_INDEX_URL", "https://uv.example/simple")
    assert indexes.configured() == "https://uv.example/simple"
