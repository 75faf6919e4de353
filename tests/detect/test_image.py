"""Images on disk: the two archive formats, layers that remove, and what the doctor says of running one here."""

import io
import json
import tarfile

import pytest

from compat import cli
from compat.detect import image, layers
from compat.errors import InputError

OS_RELEASE = 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n'
BASE = {
    "usr/lib/os-release": OS_RELEASE,
    "usr/lib/x86_64-linux-gnu/libc.so.6": "GNU C Library (Ubuntu GLIBC 2.35-0ubuntu3) stable release version 2.35.\n",
    "opt/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.10.12\n",
    "opt/venv/bin/python3": "",
    "opt/venv/lib/python3.10/site-packages/numpy-1.26.4.dist-info/METADATA": "Name: numpy\nVersion: 1.26.4\n",
    "opt/venv/lib/python3.10/site-packages/torch-1.0.dist-info/METADATA": "Name: torch\nVersion: 1.0\n",
}
UPPER = {
    "opt/venv/lib/python3.10/site-packages/.wh.torch-1.0.dist-info": "",
    "opt/venv/lib/python3.10/site-packages/torch-2.9.1.dist-info/METADATA": "Name: torch\nVersion: 2.9.1\n",
    "opt/venv/lib/python3.10/site-packages/torch/version.py": "__version__ = '2.9.1+cu128'\ncuda: str = '12.8'\nhip = None\n",
}
CONFIG = {
    "architecture": "amd64",
    "config": {
        "Env": [
            "PATH=/opt/venv/bin:/usr/bin",
            "VIRTUAL_ENV=/opt/venv",
            "NVIDIA_REQUIRE_CUDA=cuda>=12.8",
            "CUDA_VERSION=12.8.0",
        ],
        "Labels": {"a": "b"},
    },
}


def layer(files, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def docker_save(path, blobs=None):
    with tarfile.open(path, "w") as tar:
        entries = {
            "b1/layer.tar": layer(UPPER),
            "b0/layer.tar": layer(BASE),
            "config.json": json.dumps(CONFIG).encode(),
            "manifest.json": json.dumps(
                [{"Config": "config.json", "RepoTags": ["x:1"], "Layers": ["b0/layer.tar", "b1/layer.tar"]}]
            ).encode(),
            **(blobs or {}),
        }
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return str(path)


def oci_layout(folder):
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    (blobs / "l0").write_bytes(layer(BASE, "w:gz"))
    (blobs / "l1").write_bytes(layer(UPPER, "w:gz"))
    (blobs / "c").write_text(json.dumps(CONFIG))
    (blobs / "m").write_text(
        json.dumps({"config": {"digest": "sha256:c"}, "layers": [{"digest": "sha256:l0"}, {"digest": "sha256:l1"}]})
    )
    (folder / "index.json").write_text(json.dumps({"manifests": [{"digest": "sha256:m"}]}))
    return str(folder)


@pytest.fixture(params=["docker save", "OCI layout"])
def archive(request, tmp_path):
    return docker_save(tmp_path / "image.tar") if request.param == "docker save" else oci_layout(tmp_path / "layout")


def test_facts_come_from_the_tree_that_the_layers_add_up_to(archive):
    host = image.facts(layers.read(archive), archive)
    assert host["os"] == "ubuntu22.04"
    assert host["glibc"] == "2.35"
    assert host["python"] == "3.10.12"
    assert host["packages"]["torch"] == "2.9.1"
    assert host["packages"]["numpy"] == "1.26.4"
    assert host["builds"]["torch"].runtime == "cuda12.8"
    assert host["image_env"]["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.8"
    assert "1.0" not in host["packages"].values()


def test_the_host_keeps_its_devices_and_the_image_brings_its_software(archive, tmp_path, capsys):
    host = tmp_path / "host.toml"
    host.write_text(
        'driver="470.82.01"\ndriver_cuda="11.4"\nos="debian12"\ngpus=[{name="NVIDIA A100-SXM4-40GB",vendor="nvidia",target="sm_80"}]\npackages={torch="1.0"}\n'
    )
    code = cli.run(["doctor", "--image", archive, "--host", str(host), "--format", "json"])
    document = json.loads(capsys.readouterr().out)
    assert code == 1
    codes = {finding["code"] for finding in document["findings"]}
    codes |= {inner["code"] for finding in document["findings"] for inner in finding["consequences"]}
    assert codes & {"container-requires-newer-driver", "driver-too-old-for-runtime"}
    assert document["facts"]["packages"]["torch"] == "2.9.1"
    assert document["facts"]["driver"] == "470.82.01"


@pytest.mark.parametrize("data", [b"", b"not a tar", b"\x1f\x8b\x08garbage", layer({"a": "b"})])
def test_what_is_no_image_is_refused_by_name(tmp_path, data):
    path = tmp_path / "x.tar"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        layers.read(str(path))
    assert str(path) in str(caught.value)


def test_a_layer_that_cannot_be_unpacked_is_said_and_the_rest_is_read(tmp_path):
    path = docker_save(tmp_path / "image.tar", {"blobs/sha256/z": b"\x28\xb5\x2f\xfd" + b"x" * 1000})
    found = layers.read(path)
    assert any("ZSTD" in why for why in found.unread)
    assert found.tree


def test_links_in_a_circle_do_not_hang(tmp_path):
    tree = {"/a": layers.Node("link", target="/b"), "/b": layers.Node("link", target="a")}
    root = image.ImageRoot(layers.Image({}, tree))
    with pytest.raises(OSError, match="symbolic links"):
        root.read("/a")
