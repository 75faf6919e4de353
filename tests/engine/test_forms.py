"""Forms that need more of an engine: a compiling stage, a registry of one's own with a digest, plans with large wheels."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from factory import Settings, write

from compat import resources
from compat.build import build_image, engine, verify
from compat.matrix import matrix
from compat.plan import GpuVerdict, load
from compat.resolve import resolve
from compat.resolve.target import from_options

GOOD = "import types\nversion = types.SimpleNamespace(cuda='12.6', hip=None)\n"
SETUP = """
import os, subprocess
from setuptools import setup
import torch
open("code.c", "w").write("int main(void) { return 0; }")
subprocess.run(["g++", "-c", "code.c"], check=True)
said = subprocess.run(["sh", "-c", "command -v g++; ccache --print-stats | grep -E '(cache_miss|direct_cache_hit)\\t[1-9]' | tail -n 1"], stdout=-1)
told = (os.environ["TORCH_CUDA_ARCH_LIST"], torch.version.cuda, said.stdout.decode())
open("built.py", "w").write("ARCHES, TORCH, CACHED = %r\\n" % (told,))
setup(name="ext", version="1.0", py_modules=["built"])
"""
large = pytest.mark.large("gigabytes of wheels, or minutes")


@pytest.fixture
def cuda(slim, torch):
    image = replace(slim().base_image, image="nvidia/cuda:12.6.3-base-ubuntu22.04", python_from="distribution")
    gpus = (
        GpuVerdict(name="A100", target="sm_80", kernels="native"),
        GpuVerdict(name="H100", target="sm_90", kernels="native"),
    )
    return slim(replace(torch, runtime="cuda12.6"), runtime="cuda12.6", gpus=gpus, base_image=image)


def source(folder, text):
    """A source distribution in an index."""
    with tarfile.open(folder / "ext-1.0.tar.gz", "w:gz") as archive:
        for name, content in (("setup.py", text), ("PKG-INFO", "Metadata-Version: 2.1\nName: ext\nVersion: 1.0\n")):
            entry = tarfile.TarInfo(f"ext-1.0/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))


@pytest.mark.parametrize("builder", ["buildkit", pytest.param("classic", marks=large)])
def test_what_is_compiled_is_compiled_against_the_plan_and_leaves_no_compiler(
    made, cuda, shelf, default_index, builder, base, client
):
    base("nvidia/cuda:12.6.3-devel-ubuntu22.04")
    shelf.add("torch", "2.0.1+cu118", GOOD)
    source(default_index.files, SETUP)
    default_index.fetch("ninja", "packaging", "psutil", "setuptools", "wheel")
    default_index.publish()
    wish = Settings(builder=builder, compile=("ext==1.0",))
    args = {"TORCH_INDEX": shelf.open(), "PIP_INDEX_URL": default_index.url}
    built = made(cuda, "compiled", wish=wish, build_args=args)
    assert built.ok, built.why
    words = [
        "sh",
        "-c",
        'python -c "import built; print(built.ARCHES, built.TORCH, *built.CACHED.split())"; command -v g++ || echo lean',
    ]
    out = client.containers.run(built.tag, words, remove=True, network_mode="none").decode().splitlines()
    assert out[1] == "lean"
    assert out[0].split()[:2] == ["8.0;9.0", "12.6"]
    assert ("/usr/lib/ccache/g++ " in out[0] and out[0].split()[-1].isdigit()) == (builder == "buildkit")


LAUNCHER = "int Py_BytesMain(int, char **); int main(int count, char **words) { return Py_BytesMain(count, words); }"


@pytest.fixture(scope="module")
def standalone(tmp_path_factory, serving):
    """This very Python as an archive that runs from wherever it is unpacked, behind the list of it that uv reads.

    Returns its series and the address of the list.
    """
    series, prefix = "{}.{}".format(*sys.version_info[:2]), Path(sys.base_prefix)
    home, library = prefix / "lib" / f"python{series}", prefix / "lib" / f"libpython{series}.so.1.0"
    if prefix == Path("/usr") or not library.is_file() or shutil.which("gcc") is None:
        pytest.skip("this Python is not one that could be packed (needs its own prefix, a shared library, gcc)")
    folder = tmp_path_factory.mktemp("pythons")
    root = folder / "python"
    (root / "bin").mkdir(parents=True)
    leave = shutil.ignore_patterns("site-packages", "test", "tests", "config-*", "__pycache__", "idlelib", "lib2to3")
    shutil.copytree(home, root / "lib" / home.name, ignore=leave)
    shutil.copy(library, root / "lib" / library.name)
    (folder / "main.c").write_text(LAUNCHER)
    words = ["gcc", "-o", str(root / "bin" / f"python{series}"), str(folder / "main.c"), str(library)]
    subprocess.run([*words, "-Wl,-rpath,$ORIGIN/../lib"], check=True)
    for name in ("python", "python3"):
        (root / "bin" / name).symlink_to(f"python{series}")
    with tarfile.open(folder / "cpython.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(root, "python")
    url = serving(folder).removesuffix("/simple")
    entry = {
        "name": "cpython", "arch": {"family": platform.machine(), "variant": None}, "os": "linux", "libc": "gnu",
        "major": sys.version_info[0], "minor": sys.version_info[1], "patch": sys.version_info[2], "prerelease": "",
        "url": f"{url}/cpython.tar.gz", "sha256": None, "variant": None, "build": "1",
    }  # fmt: skip
    (folder / "list.json").write_text(json.dumps({f"cpython-{platform.python_version()}": entry}))
    return series, f"{url}/list.json"


@pytest.mark.parametrize("builder", ["buildkit", "classic"])
def test_uv_brings_the_python_that_the_distribution_has_not(
    made, slim, torch, shelf, base, standalone, builder, client
):
    base("debian:12")
    series, listed = standalone
    shelf.add("torch", "2.0.1+cu118", GOOD.replace("12.6", "11.8"))
    image = replace(slim().base_image, image="debian:12", python=series, python_from="uv")
    plan = slim(torch, runtime="cuda11.8", python=series, base_image=image)
    args = {"TORCH_INDEX": shelf.open(), "UV_PYTHON_DOWNLOADS_JSON_URL": listed}
    built = made(plan, "uv-python", wish=Settings(builder=builder), build_args=args)
    assert built.ok, built.why
    program = "import shutil, sys, torch; print(sys.version_info[:3], sys.base_prefix, shutil.which('uv'))"
    out = client.containers.run(built.tag, ["python", "-c", program], remove=True, network_mode="none").decode()
    assert out.startswith(f"{sys.version_info[:3]} /opt/python/")
    assert out.endswith(" None\n")


MICROMAMBA = """#!/bin/sh
set -eu
test -s /etc/ssl/certs/ca-certificates.crt
echo "$@" >"$MAMBA_ROOT_PREFIX"
python3 -m venv /opt/venv
mv "$MAMBA_ROOT_PREFIX" /opt/venv/asked
mkdir "$MAMBA_ROOT_PREFIX"
"""
"""What plays micromamba where no channel can be reached: the base's own Python, and what was asked for in a file."""


@pytest.mark.parametrize("builder", ["buildkit", "classic"])
def test_python_and_packages_come_by_micromamba_and_the_wheels_after_them(made, slim, torch, shelf, builder, client):
    (name,) = re.findall(r'conda_image = "(.*)"', (resources.templates_dir() / "_uv.j2").read_text())
    if client.images.list(name=name):
        pytest.skip(f"{name} is here: it would be replaced")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        item = tarfile.TarInfo("bin/micromamba")
        item.size, item.mode = len(MICROMAMBA), 0o755
        archive.addfile(item, io.BytesIO(MICROMAMBA.encode()))
    client.api.import_image_from_data(packed.getvalue(), repository=name)
    shelf.add("torch", "2.0.1+cu118", GOOD.replace("12.6", "11.8"))
    wish = Settings(form="plain", builder=builder, conda=("gdal>=3.8",), import_check=False)
    plan = slim(replace(torch, index=shelf.open()), runtime="cuda11.8")
    try:
        built = made(plan, "conda", wish=wish)
    finally:
        client.images.remove(engine.image_of(client, name).id, force=True)
    assert built.ok, built.why
    program = (
        "import os, sys, torch; print(sys.prefix, torch.version.cuda, os.listdir('/tmp'), *open('/opt/venv/asked'))"
    )
    out = client.containers.run(built.tag, ["python", "-c", program], remove=True, network_mode="none").decode()
    asked = "create --yes --prefix /opt/venv --channel conda-forge python=3.11 pip gdal>=3.8"
    assert out.strip() == f"/opt/venv 11.8 [] {asked}"


def test_a_private_mirror_of_the_base_by_digest(made, slim, torch, shelf, registry, client, usual_builder):
    name = f"{registry}/mirror/python"
    client.images.get("python:3.11-slim").tag(name, "3.11-slim")
    client.images.push(name, tag="3.11-slim")
    kinds = "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json"
    asked = Request(f"http://{registry}/v2/mirror/python/manifests/3.11-slim", headers={"Accept": kinds})
    with urlopen(asked) as answer:
        digest = answer.headers["Docker-Content-Digest"]
    client.images.remove(f"{name}:3.11-slim")
    shelf.add("torch", "2.0.1+cu118", GOOD.replace("12.6", "11.8"))
    plan = slim(torch, runtime="cuda11.8")
    args = {"BASE": f"{name}@{digest}", "TORCH_INDEX": shelf.open()}
    built = made(plan, "mirror", wish=Settings(builder=usual_builder, digest=digest), build_args=args)
    assert built.ok, built.why
    wrong = {**args, "BASE": f"{name}@sha256:{'0' * 64}"}
    assert not made(plan, "mirror", build_args=wrong).ok


def standing_in(plan):
    """The plan on a stand-in: a Debian of another name, whose distribution has the Python that the real one lacks."""
    image = replace(plan.base_image, os="debian12", python_from="distribution")
    return replace(plan, base_image=image)


@large
def test_a_cuda_plan_of_the_resolver_builds_and_is_not_taken_for_working(made, base):
    """TensorFlow 2.12 loads the system's CUDA; without a GPU it must be told, not passed."""
    known = matrix()
    plan = resolve(["tensorflow==2.12.0"], from_options(known, gpus=["sm_80"], python="3.11"), known).plan
    base(plan.base_image.image)
    built = made(standing_in(plan), "large-cuda")
    assert built.ok, built.why
    result = verify(built.tag)
    assert {finding.code for finding in result.findings} == {"container-no-gpu", "probe-cpu-fallback"}
    print(f"{built.tag}: {built.seconds:.0f} s")


@large
def test_a_rocm_plan_of_the_resolver_imports_and_carries_kernels_of_its_target(made, base, client, tmp_path):
    """JAX imports without ROCm: the build's own check imports it, and the image's plug-in holds the planned kernels."""
    from compat.kernels import inspect

    known = matrix()
    plan = resolve(["jax==0.5.0"], from_options(known, gpus=["gfx90a"], python="3.11"), known).plan
    assert plan.runtime.startswith("rocm")
    base(plan.base_image.image)
    built = made(standing_in(plan), "large-rocm")
    assert built.ok, built.why
    assert "installed as planned" in built.log
    said = client.containers.run(
        built.tag, ["python", "-c", "import jax; print(jax.__version__)"], remove=True, network_mode="none"
    )
    assert said == b"0.5.0\n"
    container = client.containers.create(built.tag)
    try:
        with (tmp_path / "plugin.tar").open("wb") as out:
            out.writelines(container.get_archive("/opt/venv/lib/python3.11/site-packages/jax_rocm60_plugin")[0])
    finally:
        container.remove(force=True)
    with tarfile.open(tmp_path / "plugin.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    carried = [set(item.gfx) for item in inspect(tmp_path / "jax_rocm60_plugin").objects if item.gfx]
    assert carried
    assert all("gfx90a" in targets for targets in carried)
    found = {finding.code for finding in verify(built.tag).findings}
    assert "probe-cpu-fallback" in found


def repository(folder):
    """Intel's repository in small: its key, and a signed list of two packages that hold nothing."""
    if not (shutil.which("gpg") and shutil.which("dpkg-deb")):
        pytest.skip("needs gpg and dpkg-deb")
    home, place = folder / "keys", folder / "simple" / "gpu"
    home.mkdir(mode=0o700)
    lists = place / "ubuntu" / "dists" / "noble" / "unified" / "binary-amd64"
    lists.mkdir(parents=True)
    sign = ["gpg", "--homedir", str(home), "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]
    subprocess.run([*sign, "--quick-generate-key", "stand-in <a@example.org>", "rsa2048"], check=True)
    subprocess.run([*sign, "--armor", "--output", str(place / "intel-graphics.key"), "--export"], check=True)
    listed = ""
    for name in ("libze1", "libze-intel-gpu1"):
        control = (
            f"Package: {name}\nVersion: 1.0\nArchitecture: amd64\nMaintainer: a <a@example.org>\nDescription: none\n"
        )
        (folder / name / "DEBIAN").mkdir(parents=True)
        (folder / name / "DEBIAN" / "control").write_text(control)
        made = place / "ubuntu" / f"{name}.deb"
        subprocess.run(["dpkg-deb", "--build", str(folder / name), str(made)], check=True, capture_output=True)
        listed += f"{control}Filename: {made.name}\nSize: {made.stat().st_size}\nSHA256: {sha256(made)}\n\n"
    (lists / "Packages").write_text(listed)
    told = "Suite: noble\nCodename: noble\nComponents: unified\nArchitectures: amd64\nDate: Mon, 01 Jan 2024 00:00:00 UTC\n"
    told += f"SHA256:\n {sha256(lists / 'Packages')} {len(listed)} unified/binary-amd64/Packages\n"
    release = lists.parents[1] / "InRelease"
    subprocess.run([*sign, "--clearsign", "--output", str(release)], input=told.encode(), check=True)
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "gpg-agent"], check=True)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("form", "builder"),
    [
        ("plain", "classic"),
        pytest.param("factory", "classic", marks=large),
        pytest.param("plain", "buildkit", marks=large),
        pytest.param("factory", "buildkit", marks=large),
    ],
)
def test_an_image_for_intels_gpus_has_their_driver_from_a_signed_repository(
    client, base, shelf, serving, tmp_path, builder, form, usual_builder
):
    """Each builder lays the key where apt may read it, which runs its check as a user of its own."""
    base("debian:12")
    if builder != usual_builder == "classic":
        pytest.skip("Podman's API has no BuildKit")
    repository(tmp_path)
    plan = load(json.loads((Path(__file__).parents[1] / "images/plans/torch_xpu.json").read_text()), "x").plan
    image = replace(plan.base_image, image="debian:12", python="3.11", python_from="distribution")
    build = replace(plan.builds[0], pins=())
    code = f"import types\n__version__ = {build.version!r}\nversion = types.SimpleNamespace(cuda=None, hip=None, xpu='1')\n"
    shelf.add("torch", build.version, code)
    plan = replace(plan, python="3.11", base_image=image, builds=(build,))
    text = write(plan, Settings(builder=builder, form=form)).replace(build.index, shelf.open())
    text = text.replace("https://repositories.intel.com", serving(tmp_path))
    built = build_image(text, tag="envcheck-test/xpu", context=tmp_path, builder=builder, network="host")
    assert built.ok, built.why
    words = ["dpkg-query", "--show", "--showformat", "${Package}\\n", "libze1", "libze-intel-gpu1"]
    said = client.containers.run(built.tag, words, remove=True, network_mode="none")
    client.images.remove(built.tag, force=True)
    assert said.split() == [b"libze-intel-gpu1", b"libze1"]
