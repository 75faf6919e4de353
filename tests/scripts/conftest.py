"""A package index on loopback that counts what it gives out, and misbehaves where a test says so."""

from __future__ import annotations

import functools
import html
import http.server
import io
import json
import re
import sys
import threading
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, site, *args):
        self.site = site
        super().__init__(*args)

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.site.asked.append(self.path)
        faults = self.site.faults[self.path]
        if faults and (fault := faults[0]) is not None:
            if fault is not faults[-1] or len(faults) > 1:
                faults.pop(0)
            return fault(self)
        if faults:
            faults.pop(0)
        return self.good()

    def good(self):
        body, kind = self.site.answer(self.path)
        if body is None:
            return self.send(404, b"")
        span = self.span(len(body))
        if span and not body:
            return self.send(416, b"")
        if span is None:
            return self.send(200, body, {"Content-Type": kind})
        return self.send(206, body[slice(*span)], {"Content-Range": f"bytes {span[0]}-{span[1] - 1}/{len(body)}"})

    def span(self, size):
        """First byte and the one behind the last of the range that is asked for; None if none is."""
        found = re.fullmatch(r"bytes=(\d*)-(\d+)", self.headers.get("Range", ""))
        if not found:
            return None
        if not found[1]:
            return max(size - int(found[2]), 0), size
        return int(found[1]), min(int(found[2]) + 1, size)

    def send(self, status, body, headers=None, *, claims=None):
        """An answer; with ``claims`` its length is said to be another than it is, and the connection ends."""
        self.site.served[self.path] = self.site.served.get(self.path, 0) + len(body)
        self.send_response(status)
        for key, value in {"Content-Length": str(claims or len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = bool(claims)


class Site:
    """An index of one package, ``demo``.

    ``served`` counts the bytes given out by path, ``asked`` lists the paths in order. ``faults[path]`` is what to do
    instead of answering, once each, the last for ever; None in it answers well once.
    """

    def __init__(self):
        self.files, self.attributes, self.beside = {}, {}, set()
        self.served, self.asked, self.faults = {}, [], defaultdict(list)
        self.page = self.html

    def add(self, name, body, *, beside=True, **attributes):
        self.files[name] = body
        self.attributes[name] = {key.replace("_", "-"): value for key, value in attributes.items()}
        if beside:
            self.beside.add(name)

    def answer(self, path):
        name = path.rpartition("/")[2]
        if path == "/simple/demo/":
            return self.page()
        if name.endswith(".metadata") and name.removesuffix(".metadata") in self.beside:
            with zipfile.ZipFile(io.BytesIO(self.files[name.removesuffix(".metadata")])) as archive:
                return archive.read("demo-1.dist-info/METADATA"), "text/plain"
        return self.files.get(name), "application/octet-stream"

    def html(self):
        links = []
        for number, name in enumerate(self.files):
            words = "".join(f' data-{key}="{value}"' for key, value in self.attributes[name].items())
            links.append(f'<a href="/files/{name}#sha256={number:064x}"{words}>{name}</a><br/>')
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode(), "text/html"

    def entries(self):
        """The files as PEP 691 writes them."""
        for number, name in enumerate(self.files):
            said = {key: html.unescape(value) if value else value for key, value in self.attributes[name].items()}
            yield {
                "filename": name,
                "url": f"/files/{name}",
                "hashes": {"sha256": f"{number:064x}"},
                "core-metadata": name in self.beside,
                **said,
            }

    def json(self):
        page = {"meta": {"api-version": "1.1"}, "name": "demo", "files": list(self.entries())}
        return json.dumps(page).encode(), "application/vnd.pypi.simple.v1+json"


@pytest.fixture(autouse=True)
def _direct(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def site():
    site = Site()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, site))
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a client that hangs up is what some tests are about
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}/simple"
    yield site
    server.shutdown()
    server.server_close()


@pytest.fixture
def wheel():
    """Makes a wheel with metadata and, stored uncompressed, other members."""

    def make(requires=(), members=None, metadata=True):
        body = io.BytesIO()
        with zipfile.ZipFile(body, "w", zipfile.ZIP_STORED) as archive:
            for name, content in (members or {}).items():
                archive.writestr(name, content)
            lines = ["Metadata-Version: 2.1", "Name: demo", "Version: 1"]
            text = "\n".join([*lines, *(f"Requires-Dist: {line}" for line in requires)]) + "\n\nwords\n"
            if metadata:
                archive.writestr("demo-1.dist-info/METADATA", text)
        return body.getvalue()

    return make


@pytest.fixture
def run(site, tmp_path):
    pytest.importorskip("requests")
    import refresh

    def run(*options):
        return refresh.main([*run.arguments, *options])

    run.path = tmp_path / "out" / "demo.json"
    run.cache = tmp_path / "cache"
    run.arguments = ["--index", site.url, "--cache", str(run.cache), "--output", str(tmp_path / "out"), "--wait", "0"]
    run.read = lambda: json.loads(run.path.read_text())["releases"]
    return run
