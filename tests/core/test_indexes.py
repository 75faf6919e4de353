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
    "thing-1.0.tar.gz",
    "not a wheel.whl",
]
HTML = "<html>" + "".join(f'<a href="../files/{name}#sha256=0">{name}</a>' for name in FILES)
JSON = '{"files": [' + ",".join(f'{{"url": "../files/{name}"}}' for name in FILES) + "]}"


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        kind, name = self.path.strip("/").split("/")
        if name != "thing":
            self.send_error(404)
            return
        body = (JSON if kind == "json" else HTML).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json" if kind == "json" else "text/html")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        return


@pytest.fixture(scope="module")
def server():
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
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
