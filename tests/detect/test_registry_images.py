"""Images in a registry, read without an engine: Debian's own registry, and one that lies, leads astray and drips."""

import base64
import contextlib
import gzip
import hashlib
import http.server
import json
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
import requests
from test_image import BASE, CONFIG, UPPER, layer

from compat.app import hosts
from compat.errors import CannotCheckError, InputError
from compat.registry import images, logins

ACCOUNT = ("bob", "hunter2")
HASHED = "bob:$2b$04$Ko5zWpjF5zyCSJeuuNqxQO6tzPnA3b0ThY0DS/8w3lJAlodiVSDvW"  # the same for the registry (bcrypt)
TOKEN = "Bearer secret-token"
KIND = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
PACKAGES = {"numpy": "1.26.4", "torch": "2.9.1"}


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def described(data, **more):
    return {"digest": digest(data), "size": len(data), "mediaType": more.pop("kind", KIND), **more}


CONFIGURATION = json.dumps(CONFIG).encode()
LAYERS = [gzip.compress(layer(BASE), mtime=0), gzip.compress(layer(UPPER), mtime=0)]
MANIFEST = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": KIND,
        "config": described(CONFIGURATION, kind="application/vnd.oci.image.config.v1+json"),
        "layers": [described(one, kind="application/vnd.oci.image.layer.v1.tar+gzip") for one in LAYERS],
    }
).encode()
FOREIGN = json.dumps({**json.loads(MANIFEST), "layers": json.loads(MANIFEST)["layers"][:1]}).encode()
PLATFORMS = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": INDEX,
        "manifests": [
            described(FOREIGN, platform={"os": "linux", "architecture": "arm64"}),
            described(MANIFEST, platform={"os": "linux", "architecture": "amd64"}),
        ],
    }
).encode()


@pytest.fixture(autouse=True)
def no_engine_and_no_login(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("NO_PROXY", "*")


def logged_in(monkeypatch, tmp_path, host, **config):
    folder = tmp_path / "docker"
    folder.mkdir(exist_ok=True)
    auth = base64.b64encode(":".join(ACCOUNT).encode()).decode()
    (folder / "config.json").write_text(json.dumps(config or {"auths": {host: {"auth": auth}}}))


class Registry(http.server.BaseHTTPRequestHandler):
    """What a registry answers from its table of paths; each test changes it to what it wants."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append((self.path.partition("?")[0], self.headers.get("Authorization")))
        act = self.server.acts.get(self.path.partition("?")[0].removeprefix("/v2/team/torch/"))
        wanted = self.server.wants and self.headers.get("Authorization") != self.server.wants
        if wanted and self.path.startswith("/v2/"):
            return self.answer(401, b"", {"WWW-Authenticate": self.server.challenge})
        if act is None:
            return self.answer(404, b"")
        return act(self) if callable(act) else self.answer(200, act)

    def answer(self, code, body, headers=()):
        self.send_response(code)
        for name, text in {"Content-Length": str(len(body)), **dict(headers)}.items():
            self.send_header(name, text)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def registry():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    server.daemon_threads = True
    server.asked, server.wants, server.challenge = [], "", ""
    server.host = f"127.0.0.1:{server.server_port}"
    server.image = f"{server.host}/team/torch:1"
    server.acts = {"manifests/1": MANIFEST, f"blobs/{digest(CONFIGURATION)}": CONFIGURATION}
    server.acts |= {f"blobs/{digest(one)}": one for one in LAYERS}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("name", "server", "repository", "version"),
    [
        ("ghcr.io/team/torch", "ghcr.io", "team/torch", "latest"),
        ("localhost/x:1", "localhost", "x", "1"),
        ("host:5000/a/b/c:v1.2", "host:5000", "a/b/c", "v1.2"),
        ("docker.io/ubuntu:22.04", "registry-1.docker.io", "library/ubuntu", "22.04"),
        ("docker.io/team/torch", "registry-1.docker.io", "team/torch", "latest"),
        (f"nvcr.io/a/b:1@sha256:{'0' * 64}", "nvcr.io", "a/b", f"sha256:{'0' * 64}"),
        ("[::1]:5000/x", "[::1]:5000", "x", "latest"),
    ],
)
def test_a_name_with_a_registry(name, server, repository, version):
    found = images.reference(name)
    assert (found.server, found.repository, found.version) == (server, repository, version)


@pytest.mark.parametrize("name", ["torch", "team/torch:1", "x.tar", "./x.y/z", "https://a.b/c", "a.b/UPPER", "a.b/x y"])
def test_a_name_without_one_is_the_engines_and_no_network_is_asked(name, monkeypatch):
    monkeypatch.setattr(images, "blobs", lambda *_: pytest.fail("the network was asked"))
    with pytest.raises(CannotCheckError, match="no container engine answers"):
        hosts.brought(name, "x86_64")


def test_an_image_is_read_from_its_registry_without_an_engine(registry):
    host = hosts.brought(registry.image, "x86_64")
    assert host.packages == PACKAGES
    assert (host.os, host.glibc, host.value("image")) == ("ubuntu22.04", "2.35", registry.image)
    assert host.value("image_env")["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.8"


@pytest.mark.parametrize(("arch", "expected"), [("x86_64", PACKAGES), ("aarch64", {**PACKAGES, "torch": "1.0"})])
def test_of_several_platforms_the_machines_is_taken(registry, arch, expected):
    registry.acts |= {"manifests/1": PLATFORMS}
    registry.acts |= {f"manifests/{digest(one)}": one for one in (MANIFEST, FOREIGN)}
    assert hosts.brought(registry.image, arch).packages == expected


@pytest.mark.parametrize("scheme", ["Bearer", "Basic"])
def test_a_login_is_sent_where_the_registry_wants_it(registry, monkeypatch, tmp_path, scheme):
    basic = "Basic " + base64.b64encode(":".join(ACCOUNT).encode()).decode()
    registry.wants = TOKEN if scheme == "Bearer" else basic
    registry.challenge = f'{scheme} realm="http://{registry.host}/token",service="s"'
    registry.acts["/token"] = lambda request: (
        request.answer(200, b'{"token": "secret-token"}')
        if request.headers.get("Authorization") == basic
        else request.answer(403, b"")
    )
    with pytest.raises(CannotCheckError, match=f"does not show team/torch; docker login {registry.host}"):
        hosts.brought(registry.image, "x86_64")
    logged_in(monkeypatch, tmp_path, registry.host)
    assert hosts.brought(registry.image, "x86_64").packages == PACKAGES


def test_a_helper_of_dockers_gives_the_login_and_none_of_the_current_folder_runs(monkeypatch, tmp_path):
    mark = tmp_path / "asked"
    for folder, secret in (("here", "stolen"), ("bin", "hunter2")):
        (tmp_path / folder).mkdir()
        helper = tmp_path / folder / "docker-credential-store"
        helper.write_text(f'#!/bin/sh\ncat > {mark}\necho \'{{"Username": "bob", "Secret": "{secret}"}}\'\n')
        helper.chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PATH", f":.:{tmp_path}/bin:/usr/bin:/bin")
    logged_in(monkeypatch, tmp_path, "x", credsStore="store")
    assert logins.login("ghcr.io") == ACCOUNT
    assert mark.read_text() == "ghcr.io"
    logged_in(monkeypatch, tmp_path, "x", credHelpers={"ghcr.io": "none-such"})
    with pytest.raises(CannotCheckError, match="docker-credential-none-such, which keeps your logins, is not on PATH"):
        logins.login("ghcr.io")


def redirect(url):
    return lambda request: request.answer(307, b"", {"Location": url})


def test_a_redirect_is_followed_without_the_token(registry):
    registry.wants = TOKEN
    registry.challenge = f'Bearer realm="http://{registry.host}/token"'
    registry.acts["/token"] = b'{"access_token": "secret-token"}'
    registry.acts[f"blobs/{digest(LAYERS[1])}"] = redirect(f"http://{registry.host}/elsewhere")
    registry.acts["/elsewhere"] = LAYERS[1]
    assert hosts.brought(registry.image, "x86_64").packages == PACKAGES
    other = registry.server_port
    registry.acts[f"blobs/{digest(LAYERS[1])}"] = redirect(f"http://localhost:{other}/elsewhere")
    with pytest.raises(CannotCheckError, match="leads to an address without TLS"):
        hosts.brought(registry.image, "x86_64")
    assert dict(registry.asked)["/elsewhere"] == TOKEN  # the same server
    assert dict(registry.asked)["/token"] is None


@pytest.mark.parametrize(
    ("path", "act", "said"),
    [
        ("manifests/1", None, "the registry has no such image"),
        ("manifests/1", b"[]", "no JSON object"),
        ("manifests/1", b"[" * 100_000, "no JSON object"),
        ("manifests/1", b'{"layers": 7}', "no manifest of an image"),
        ("manifests/1", b'{"config": {}, "layers": [{"digest": "../../x"}]}', "a part without a digest"),
        ("manifests/1", b'{"manifests": []}', "no image for any platform"),
        ("manifests/1", b'{"manifests": [{"digest": "x"}]}', "no such image"),
        ("manifests/1", b" " * (5 << 20), "a document of more than 4096 KiB"),
        ("manifests/1", lambda one: one.answer(500, b""), "answered 500"),
        ("manifests/1", redirect("/v2/team/torch/manifests/1"), "answered 307"),
        ("manifests/1", redirect("file:///etc/passwd"), "without TLS"),
        (f"blobs/{digest(LAYERS[0])}", LAYERS[1], "a blob that is not sha256:"),
        (f"blobs/{digest(CONFIGURATION)}", b'{"architecture":"amd64"}', "a blob that is not sha256:"),
    ],
)
def test_a_registry_that_lies_is_refused_with_what_it_did(registry, path, act, said):
    registry.acts[path] = act
    with pytest.raises((InputError, CannotCheckError), match=said):
        hosts.brought(registry.image, "x86_64")


def test_an_image_of_an_absurd_size_is_refused_before_a_layer_is_asked_for(registry):
    layers = [{**one, "size": 200 << 30} for one in json.loads(MANIFEST)["layers"]]
    registry.acts["manifests/1"] = json.dumps({**json.loads(MANIFEST), "layers": layers}).encode()
    with pytest.raises(InputError, match="names layers of 400 GiB; expected at most 256 GiB"):
        hosts.brought(registry.image, "x86_64")
    assert not [path for path, _ in registry.asked if "/blobs/" in path]


def test_a_layer_that_breaks_off_is_unread_and_nothing_is_absent_for_it(registry):
    registry.acts[f"blobs/{digest(LAYERS[1])}"] = lambda one: (
        one.answer(200, b"", {"Content-Length": "999"}) or (one.connection.shutdown(socket.SHUT_RDWR))
    )
    host = hosts.brought(registry.image, "x86_64")
    assert "could not be read" in host.reading("conda_packages").why


def test_a_registry_that_drips_is_given_up(registry, monkeypatch):
    monkeypatch.setattr(images, "_PATIENCE", 0.3)

    def drip(request):
        request.answer(200, b"", {"Content-Length": "1000000"})
        with contextlib.suppress(OSError):
            while True:
                request.wfile.write(b" ")
                threading.Event().wait(0.05)

    registry.acts["manifests/1"] = drip
    with pytest.raises(CannotCheckError, match="too little comes"):
        hosts.brought(registry.image, "x86_64")


def test_a_registry_that_packs_a_bomb_is_bounded(registry):
    registry.acts["manifests/1"] = lambda one: one.answer(
        200, gzip.compress(bytes(64 << 20)), {"Content-Encoding": "gzip"}
    )
    with pytest.raises(InputError, match="no JSON object"):
        hosts.brought(registry.image, "x86_64")


def test_nobody_there_is_said_with_both_reasons():
    with pytest.raises(CannotCheckError, match=r"127\.0\.0\.1:9 could not be reached"):
        hosts.brought("127.0.0.1:9/x", "x86_64")


# --- Debian's registry ------------------------------------------------------------------------------------------------


@pytest.fixture(params=["open", "closed"])
def distribution(request, tmp_path):
    """Debian's registry on loopback with the image in it; the closed one wants a login of any kind."""
    program = shutil.which("docker-registry")
    if not program:
        pytest.skip("docker-registry is not installed (Debian: docker-registry)")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{one.getsockname()[1]}"
    auth = (
        {"auth": {"htpasswd": {"realm": "r", "path": str(tmp_path / "htpasswd")}}} if request.param == "closed" else {}
    )
    (tmp_path / "htpasswd").write_text(HASHED + "\n")
    storage = {"filesystem": {"rootdirectory": str(tmp_path / "store")}}
    config = {"version": "0.1", "storage": storage, "http": {"addr": host}, "log": {"level": "error"}, **auth}
    (tmp_path / "registry.yml").write_text(json.dumps(config))
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen([program, "serve", str(tmp_path / "registry.yml")], stdout=log, stderr=log)
    try:
        pushed(host, tmp_path / "log")
        yield host, request.param
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def pushed(host, log):
    session = requests.Session()
    session.headers["Authorization"] = "Basic " + base64.b64encode(b"bob:hunter2").decode()
    end = time.monotonic() + 60
    while True:
        try:
            session.get(f"http://{host}/v2/", timeout=5)
            break
        except requests.ConnectionError:
            assert time.monotonic() < end, Path(log).read_text()
            time.sleep(0.05)
    for blob in (CONFIGURATION, *LAYERS):
        place = session.post(f"http://{host}/v2/team/torch/blobs/uploads/", timeout=20).headers["Location"]
        session.put(place, params={"digest": digest(blob)}, data=blob, timeout=20).raise_for_status()
    for name, body, kind in (
        (digest(FOREIGN), FOREIGN, KIND),
        (digest(MANIFEST), MANIFEST, KIND),
        ("1", PLATFORMS, INDEX),
    ):
        where = f"http://{host}/v2/team/torch/manifests/{name}"
        session.put(where, data=body, headers={"Content-Type": kind}, timeout=20).raise_for_status()


def test_debians_registry_is_read_with_and_without_a_login(distribution, monkeypatch, tmp_path):
    host, kind = distribution
    image = f"{host}/team/torch:1"
    if kind == "closed":
        with pytest.raises(CannotCheckError, match="docker login"):
            hosts.brought(image, "x86_64")
        logged_in(monkeypatch, tmp_path, host)
    assert hosts.brought(image, "x86_64").packages == PACKAGES
    with pytest.raises(InputError, match="no such image"):
        hosts.brought(f"{host}/team/none:1", "x86_64")
