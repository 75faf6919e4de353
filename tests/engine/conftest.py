"""A real engine, if one answers; the tests start none. ``scripts/engine.sh start`` brings one up, bases included.

Steps of a build use the machine's own network and package index; a special index is served here on loopback.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
from factory import Settings, write

from compat.build import build_image
from compat.plan import BaseImage, Plan, PlannedBuild

HINT = "start one with scripts/engine.sh start"


@functools.lru_cache
def why_not():
    """Why nothing can be tested here; empty if it can."""
    if shutil.which("docker") is None:
        return f"no docker client is installed; {HINT}"
    done = subprocess.run(["docker", "version"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"no container engine answers ({done.stderr.strip()[:120]}); {HINT}"


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/engine" in str(item.path):
            item.add_marker(pytest.mark.engine)
            large = item.get_closest_marker("large")
            if large and not os.environ.get("ENVCHECK_ENGINE_ALL"):
                item.add_marker(pytest.mark.skip(reason=f"{large.args[0]}; set ENVCHECK_ENGINE_ALL=1 to run it too"))


@pytest.fixture(scope="session")
def client():
    if why_not():
        pytest.skip(why_not())
    import docker

    client = docker.from_env(timeout=600)
    yield client
    client.close()


@pytest.fixture(autouse=True)
def nothing_left(client):
    """Whatever a test does, no container stays."""
    before = {item.id for item in client.containers.list(all=True)}
    yield
    left = [item for item in client.containers.list(all=True) if item.id not in before]
    names = [item.attrs["Config"]["Image"] for item in left]
    for item in left:
        item.remove(force=True)
    assert names == []


@pytest.fixture
def base(client):
    """Demand a base image by name; the test is skipped where it is not."""
    from docker.errors import NotFound

    def demand(name):
        try:
            return client.images.get(name)
        except NotFound:
            pytest.skip(f"no image {name} here; {HINT}")

    return demand


@pytest.fixture(scope="session")
def package_index(client):
    """Demand that a build's steps reach a package index: the templates fetch their installer from the default one."""
    from docker.errors import ContainerError, NotFound

    try:
        client.images.get("python:3.11-slim")
    except NotFound:
        pytest.skip(f"no image python:3.11-slim here; {HINT}")
    words = ["sh", "-c", "python3 -m venv /v && /v/bin/pip download -q --no-deps -d /tmp pip==26.3"]
    try:
        client.containers.run("python:3.11-slim", words, remove=True, network_mode="host", stderr=True)
    except ContainerError as error:
        said = (error.stderr or b"").decode("utf-8", "replace").strip()[-200:]
        pytest.skip(f"no package index can be reached from a container: {said}")


# What was built: test, builder, bytes of the image, seconds.
BUILT = []


def pytest_terminal_summary(terminalreporter):
    """What each image came to; the sum of its layers, those of the base included."""
    if BUILT and os.environ.get("ENVCHECK_ENGINE_ALL"):
        terminalreporter.section("images")
        for test, builder, size, seconds in BUILT:
            terminalreporter.write_line(f"{size / 1e6:9.1f} MB {seconds:7.1f} s  {builder:8}  {test}")


@pytest.fixture(scope="session")
def usual_builder(client):
    """The builder of tests that ask for none: Podman has no BuildKit."""
    parts = client.version().get("Components") or ()
    return "classic" if any(part.get("Name") == "Podman Engine" for part in parts) else "buildkit"


@pytest.fixture
def made(client, package_index, tmp_path, request, usual_builder):
    """Build a plan's image, and remove it in the end."""
    from docker.errors import NotFound

    tags = []

    def make(plan, tag, *, wish=None, context=None, **options):
        settings = wish or Settings(builder=usual_builder)
        if settings.builder != usual_builder == "classic":
            pytest.skip("Podman's API has no BuildKit")
        tags.append(f"envcheck-test/{tag}")
        options.setdefault("network", "host")
        text = write(plan, settings)
        built = build_image(text, tag=tags[-1], context=context or tmp_path, builder=settings.builder, **options)
        if built.ok:
            size = client.images.get(built.tag).attrs["Size"]
            BUILT.append((request.node.name, settings.builder, size, built.seconds))
        return built

    yield make
    for tag in tags:
        with contextlib.suppress(NotFound):
            client.images.remove(tag, force=True, noprune=True)


@pytest.fixture
def slim(base):
    """A CPU plan on a Python image."""
    base("python:3.11-slim")

    def plan(*builds, **changes):
        image = BaseImage(image="python:3.11-slim", os="debian12", python="3.11", python_from="image")
        return replace(Plan(runtime="cpu", python="3.11", base_image=image, builds=builds), **changes)

    return plan


JAX = PlannedBuild(name="jax", version="0.10.2", runtime="cpu", module="jax", pins=("jaxlib==0.10.2",))


@pytest.fixture
def jax():
    return JAX


@pytest.fixture(scope="session")
def index(tmp_path_factory, serving):
    """Serve wheels as an index on loopback; ``serve(requirement)`` fetches it with its dependencies first.

    Skips where pip cannot get the wheels.
    """

    def serve(*requirements):
        folder = tmp_path_factory.mktemp("index")
        fetched(folder / "files", requirements)
        publish(folder)
        return serving(folder)

    return serve


def fetched(folder, words):
    """Fetch wheels, or skip."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot get {words}: {done.stderr.strip()[-200:]}")


@pytest.fixture(scope="session")
def default_index(tmp_path_factory, serving):
    """What plays the default index: one address for all tests, so that builders find the installer in their cache.

    ``add`` a wheel made by hand, or ``fetch`` one; ``url`` serves what is there. Names must not repeat between tests,
    except as the same thing.
    """
    folder = tmp_path_factory.mktemp("default")
    (folder / "files").mkdir()

    class Index:
        url = serving(folder)
        files = folder / "files"

        @staticmethod
        def publish():
            publish(folder)

        @staticmethod
        def add(*args, **more):
            wheel(folder / "files", *args, **more)
            publish(folder)

        @staticmethod
        @functools.lru_cache
        def fetch(*requirements):
            fetched(folder / "files", ["--no-deps", *requirements])
            publish(folder)

        @staticmethod
        def bring(*requirements):
            """Fetch them with all that they require."""
            fetched(folder / "files", requirements)
            publish(folder)

    Index.fetch("pip==26.3")  # the installer itself, which a mirror would have; the templates name its version
    return Index


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def publish(folder):
    """Lay wheels out as PEP 503 has it."""
    for wheel in (folder / "files").iterdir():
        name = wheel.name.partition("-")[0].replace("_", "-").replace(".", "-").lower()
        page = folder / "simple" / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        if not (page.parent / wheel.name).exists():
            os.link(wheel, page.parent / wheel.name)
            with page.open("a") as text:
                text.write(f'<a href="{wheel.name}">{wheel.name}</a>\n')


def wheel(folder, name, version, code="", requires=(), members=()):
    """A wheel of one module, or of the members given, made by hand; returns its SHA-256."""
    import hashlib
    import zipfile

    stem = f"{name}-{version}"
    path = folder / f"{stem}-py3-none-any.whl"
    meta = [
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}",
        *(f"Requires-Dist: {item}" for item in requires),
    ]
    members = {
        **(dict(members) or {f"{name}.py": code}),
        f"{stem}.dist-info/METADATA": "\n".join(meta) + "\n",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{stem}.dist-info/RECORD"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in members.items():
            archive.writestr(member, text)
        archive.writestr(record, "".join(f"{member},,\n" for member in (*members, record)))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def shelf(tmp_path, serving):
    """An index of hand-made wheels: ``add`` them, then ``open`` it."""
    folder = tmp_path / "shelf"
    (folder / "files").mkdir(parents=True)

    class Shelf:
        @staticmethod
        def add(*args, **more):
            return wheel(folder / "files", *args, **more)

        @staticmethod
        def open():
            publish(folder)
            return serving(folder)

    return Shelf


@pytest.fixture(scope="session")
def serving():
    """Serve folders on loopback, each at an address of its own."""
    servers = []

    def serve(folder):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/simple"

    yield serve
    for server in servers:
        server.shutdown()


@pytest.fixture
def torch():
    """torch as it would be planned for CUDA 11.8."""
    url = "https://download.pytorch.org/whl/cu118"
    return PlannedBuild(
        name="torch", version="2.0.1+cu118", runtime="cuda11.8", index=url, cuda_from="wheel", module="torch"
    )


@pytest.fixture
def registry(tmp_path):
    """A private registry on loopback."""
    if shutil.which("docker-registry") is None:
        pytest.skip("no docker-registry is installed")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", int(os.environ.get("ENVCHECK_REGISTRY_PORT", "0"))))
        port = probe.getsockname()[1]
    (tmp_path / "registry.yml").write_text(
        f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {tmp_path}/images\nhttp:\n  addr: 127.0.0.1:{port}\n"
    )
    words = ["docker-registry", "serve", str(tmp_path / "registry.yml")]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        assert process.poll() is None
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait()


@pytest.fixture
def impostor(base, client, tmp_path):
    """An image whose ``torch`` is the given code."""
    base("python:3.11-slim")
    tags = []

    def make(code, labels=None):
        (tmp_path / "torch.py").write_text(code)
        tags.append(f"envcheck-test/impostor:{len(tags)}")
        # By PYTHONPATH, because where the image's own Python looks differs between images of that name.
        text = "FROM python:3.11-slim\nCOPY torch.py /impostor/\nENV PYTHONPATH=/impostor\nUSER 10001:10001\n"
        built = build_image(text, tag=tags[-1], context=tmp_path, builder="classic", labels=labels)
        assert built.ok, built.why
        return built.tag

    yield make
    for tag in tags:
        client.images.remove(tag, force=True, noprune=True)
