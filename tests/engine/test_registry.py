"""What a build hands on to real services: a registry, a cache in it, attestations, and ``docker buildx bake``.

These need the buildx plugin and an engine that keeps images in containerd's store (a feature of dockerd from 24 on:
``ENVCHECK_ENGINE_STORE=containerd scripts/engine.sh start``); elsewhere they skip and say so.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from factory import write

from compat import ci, survey
from compat.build import build_image, verify
from compat.plan import PlannedBuild

pytestmark = pytest.mark.large("pushes whole images")
GOOD = "import types\nversion = types.SimpleNamespace(cuda='11.8', hip=None)\n"
SCANNER = """
import json, os, pathlib
source, place = (pathlib.Path(os.environ["BUILDKIT_SCAN_" + name]) for name in ("SOURCE", "DESTINATION"))
names = sorted(item.name[: -len(".dist-info")] for item in source.rglob("*.dist-info"))
packages = [{"name": name.partition("-")[0], "versionInfo": name.partition("-")[2]} for name in names]
body = {"spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "name": "image", "packages": packages}
statement = {"_type": "https://in-toto.io/Statement/v0.1", "predicateType": "https://spdx.dev/Document", "predicate": body}
(place / "image.spdx.json").write_text(json.dumps(statement))
"""


def docker(*words, **variables):
    done = subprocess.run(
        ["docker", *words], capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def store(client):
    """Demand the plugin and the store, for attestations are part of an index that the older store cannot hold."""
    if subprocess.run(["docker", "buildx", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no docker buildx here")
    if "containerd.snapshotter" not in str(client.info().get("DriverStatus")):
        pytest.skip("the engine does not keep its images in containerd's store")


@pytest.fixture
def cuda(slim, torch):
    return slim(torch, runtime="cuda11.8")


def attestation(image, kind):
    """What is attested of an image in its registry."""
    return json.loads(docker("buildx", "imagetools", "inspect", image, "--format", f"{{{{json .{kind}}}}}"))


def test_an_image_is_pushed_with_its_origin_and_its_cache_serves_the_next_build(
    store, made, cuda, shelf, registry, client, tmp_path
):
    shelf.add("torch", "2.0.1+cu118", GOOD)
    cache, args = f"type=registry,ref={registry}/cache", {"TORCH_INDEX": shelf.open()}
    options = {"context": tmp_path, "network": "host", "build_args": args}
    image = f"{registry}/mine/torch:1"
    built = build_image(write(cuda), tag=image, push=True, provenance=True, cache_to=(f"{cache},mode=max",), **options)
    assert built.ok, built.why
    assert "python:3.11-slim" in json.dumps(attestation(image, "Provenance"))
    client.images.remove(image, force=True)
    docker("builder", "prune", "--all", "--force")
    kept = f"type=local,dest={tmp_path}/cache"
    again = build_image(write(cuda), tag=image, cache_from=(cache,), cache_to=(kept,), **options)
    client.images.remove(image, force=True)
    assert again.ok, again.why
    assert "importing cache manifest" in again.log
    assert "Successfully installed" not in again.log
    assert (tmp_path / "cache" / "index.json").is_file()


def test_a_bill_of_materials_is_made_by_the_scanner_that_is_named(store, made, cuda, shelf, registry, client, tmp_path):
    from docker.errors import NotFound

    (tmp_path / "scan.py").write_text(SCANNER)
    text = 'FROM python:3.11-slim\nCOPY scan.py /scan.py\nENTRYPOINT ["python3", "/scan.py"]\n'
    scanner = f"{registry}/tools/scanner:1"
    assert build_image(text, tag=scanner, context=tmp_path, push=True).ok
    shelf.add("torch", "2.0.1+cu118", GOOD)
    image = f"{registry}/mine/listed:1"
    built = build_image(
        write(cuda),
        tag=image,
        push=True,
        attestations=(f"type=sbom,generator={scanner}",),
        context=tmp_path,
        network="host",
        build_args={"TORCH_INDEX": shelf.open()},
    )
    for name in (scanner, image):
        with contextlib.suppress(NotFound):
            client.images.remove(name, force=True)
    if "network bridge not found" in built.log:
        pytest.skip("the scanner runs on the engine's bridge, and this engine has none")
    assert built.ok, built.why
    listed = attestation(image, "SBOM")["SPDX"]["packages"]
    assert {"name": "torch", "versionInfo": "2.0.1+cu118"} in listed


def test_bake_builds_every_cell_under_the_name_that_is_given(store, base, slim, cuda, shelf, client, tmp_path):
    """The plan's index is replaced and the steps' network set as users do: in a second file that bake merges."""
    base("python:3.11-slim")
    shelf.add("torch", "2.0.1+cu118", GOOD)
    other = replace(cuda, builds=(PlannedBuild(name="torch", version="2.1.0+cu118", runtime="cuda11.8",
        index="https://download.pytorch.org/whl/cu118", cuda_from="wheel", module="torch"),))  # fmt: skip
    shelf.add("torch", "2.1.0+cu118", GOOD)
    cells = [
        survey.Cell(name=name, requirements=("torch",), plan=plan, dockerfile=write(plan))
        for name, plan in (("one", cuda), ("two", other))
    ]
    (tmp_path / "bake.json").write_text(ci.bake(survey.Grid(tuple(cells))))
    here = {"network": "host", "args": {"TORCH_INDEX": shelf.open()}}
    (tmp_path / "here.json").write_text(json.dumps({"target": {cell.name: here for cell in cells}}))
    files = ("-f", str(tmp_path / "bake.json"), "-f", str(tmp_path / "here.json"))
    docker("buildx", "bake", *files, "--allow=network.host", "--progress=plain", IMAGE="envcheck-test/baked")
    for name, version in (("one", b"2.0.1+cu118\n"), ("two", b"2.1.0+cu118\n")):
        code = "from importlib.metadata import version; print(version('torch'))"
        image = f"envcheck-test/baked:{name}"
        said = client.containers.run(image, ["python", "-c", code], remove=True, network_mode="none")
        client.images.remove(image, force=True)
        assert said == version


def test_one_build_makes_an_image_for_each_platform(store, base, made, cuda, shelf, client):
    """The base must be there for both, and the kernel have an emulator for the other one."""
    base("python:3.11-slim")
    places = {"linux/amd64": b"x86_64\n", "linux/arm64": b"aarch64\n"}
    for place in places:
        words = ["docker", "image", "inspect", "--platform", place, "python:3.11-slim"]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip(f"python:3.11-slim is not here for {place}")
    if not any(Path("/proc/sys/fs/binfmt_misc").glob("qemu-aarch64")):
        pytest.skip("the kernel has no emulator for arm64")
    shelf.add("torch", "2.0.1+cu118", GOOD)
    plan = replace(cuda, also=("aarch64",))
    built = made(plan, "both", platforms=tuple(places), build_args={"TORCH_INDEX": shelf.open()})
    assert built.ok, built.why
    for place, said in places.items():
        code = "import platform, torch; print(platform.machine())"
        words = {"remove": True, "network_mode": "none", "platform": place}
        assert client.containers.run(built.tag, ["python", "-c", code], **words) == said
        result = verify(built.tag, expect="cpu", frameworks=("none",), platform=place, level="driver")
        assert {probe.name: probe.status for probe in result.probes}["plan.machine"] == "pass"


def test_what_the_engine_cannot_do_is_said_with_what_to_turn_on(client, slim, base, tmp_path):
    from compat.app.logs import cause
    from compat.matrix import matrix

    if subprocess.run(["docker", "buildx", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no docker buildx here")
    if "containerd.snapshotter" in str(client.info().get("DriverStatus")):
        pytest.skip("this engine can attest")
    base("python:3.11-slim")
    built = build_image("FROM python:3.11-slim\n", tag="envcheck-test/none", context=tmp_path, provenance=True)
    assert not built.ok
    assert any("containerd image store" in line for line in cause(built.log, matrix()))
