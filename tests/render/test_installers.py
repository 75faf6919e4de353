"""What plans say to installers, asked of the installers themselves against indexes on loopback."""

import base64
import functools
import hashlib
import http.server
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from compat import lock, plan
from compat.errors import CannotCheckError
from compat.registry import locking

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

UV = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
needs_uv = pytest.mark.skipif(not UV, reason="uv is not installed")
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def wheel(folder, name, version, *requires):
    """A wheel without content; returns its path."""
    stem = f"{name.replace('-', '_')}-{version}"
    metadata = "".join(
        [
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            *(f"Requires-Dist: {item}\n" for item in requires),
        ]
    )
    members = {
        f"{stem}.dist-info/METADATA": metadata,
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for member, text in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{member},sha256={digest},{len(text)}\n"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in (members | {f"{stem}.dist-info/RECORD": record}).items():
            archive.writestr(member, text)
    return path


def publish(root, index, *wheels):
    """A simple index (PEP 503) of wheels under ``root/index``."""
    for path in wheels:
        name = path.name.split("-")[0].replace("_", "-")
        page = root / index / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        with page.open("a") as stream:
            stream.write(f'<a href="../../{path.name}">{path.name}</a>\n')


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_args):
        return


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A default index with a CPU torch and jax, an index of ROCm builds, and a page of links; returns its address."""
    root = tmp_path_factory.mktemp("indexes")
    publish(
        root,
        "default",
        wheel(root, "torch", "2.8.0", "numpy"),
        wheel(root, "jax", "0.4.20", "jaxlib>=0.4.14", "jaxlib==0.4.20+cuda12.cudnn89; extra == 'cuda12-pip'"),
        wheel(root, "jaxlib", "0.4.20"),
        wheel(root, "numpy", "2.2.0"),
        wheel(root, "numpy", "1.26.4"),
    )
    publish(
        root,
        "rocm",
        wheel(root, "torch", "2.8.0+rocm6.4", "numpy", "pytorch-triton-rocm==3.4.0"),
        wheel(root, "pytorch-triton-rocm", "3.4.0"),
        wheel(root, "numpy", "1.24.1"),
    )
    linked = wheel(root, "jaxlib", "0.4.20+cuda12.cudnn89")
    (root / "links.html").write_text(f'<a href="{linked.name}">{linked.name}</a>')
    handler = functools.partial(Quiet, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(autouse=True)
def own_configuration(world, monkeypatch, tmp_path):
    """Installers that know only the indexes of this test."""
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", f"{world}/default")
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{world}/default")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    if UV:
        monkeypatch.setenv("PATH", str(Path(UV).parent), prepend=":")


def rocm(world):
    torch = plan.PlannedBuild(name="torch", version="2.8.0+rocm6.4", runtime="rocm6.4", index=f"{world}/rocm")
    return plan.Plan(runtime="rocm6.4", python=HERE, builds=(torch,), constraints=("numpy<2.1",))


def jax(world):
    build = plan.PlannedBuild(
        name="jax",
        version="0.4.20",
        runtime="cuda12.2",
        extras=("cuda12-pip",),
        index=f"{world}/links.html",
        links=True,
    )
    return plan.Plan(runtime="cuda12.2", python=HERE, builds=(build,))


PLANS = [
    pytest.param(rocm, {"torch": "2.8.0+rocm6.4", "pytorch-triton-rocm": "3.4.0", "numpy": "1.26.4"}, id="rocm"),
    pytest.param(jax, {"jax": "0.4.20", "jaxlib": "0.4.20+cuda12.cudnn89"}, id="links"),
]


def uv(*words, cwd):
    done = subprocess.run([UV, *words], cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_uv
@pytest.mark.parametrize(("made", "versions"), PLANS)
def test_uv_locks_the_planned_builds_and_what_they_need(world, tmp_path, made, versions):
    (tmp_path / "pyproject.toml").write_text(lock.write(made(world), "uv"))
    uv("lock", "--python", sys.executable, cwd=tmp_path)
    locked = tomllib.loads((tmp_path / "uv.lock").read_text())["package"]
    assert {item["name"]: item["version"] for item in locked if item["name"] != "app"} == versions


@needs_uv
@pytest.mark.parametrize(("made", "versions"), PLANS)
def test_a_pylock_has_the_hash_of_each_planned_wheel(world, made, versions):
    document = tomllib.loads(locking.pylock(made(world)))
    assert document["lock-version"] == "1.0"
    assert {item["name"]: item["version"] for item in document["packages"]} == versions
    for item in document["packages"]:
        found = item["wheels"] if "wheels" in item else [item["archive"]]
        assert all(len(file["hashes"]["sha256"]) == 64 for file in found)


@pytest.mark.parametrize(("made", "versions"), PLANS)
def test_pip_takes_the_planned_builds_from_the_requirements(world, tmp_path, made, versions):
    wanted = tmp_path / "requirements.txt"
    wanted.write_text(lock.write(made(world), "requirements"))
    words = ["download", "--quiet", "--dest", str(tmp_path / "wheels"), "--no-cache-dir", "-r", str(wanted)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, timeout=120)
    names = {path.name.rsplit("-", 3)[0].replace("_", "-") for path in (tmp_path / "wheels").iterdir()}
    assert names == {f"{name}-{version}" for name, version in versions.items()}


@needs_uv
def test_a_build_that_no_index_has_is_told_in_the_installers_words(world):
    missing = plan.PlannedBuild(name="torch", version="9.9.9", runtime="cpu")
    with pytest.raises(CannotCheckError, match=r"torch"):
        locking.pylock(plan.Plan(runtime="cpu", python=HERE, builds=(missing,)))


def test_without_an_installer_for_that_python_it_says_so(monkeypatch, world):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotCheckError, match=r"no installer here locks for Python 3\.99"):
        locking.pylock(plan.Plan(runtime="cpu", python="3.99", builds=()))
