"""Images on disk: the two archive formats, layers that remove, and what the doctor says of running one here."""

import gzip
import io
import json
import sys
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import cli
from compat.detect import image, layers, unpacking
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
    assert host.os == "ubuntu22.04"
    assert host.glibc == "2.35"
    assert host.python == "3.10.12"
    assert host.packages["torch"] == "2.9.1"
    assert host.packages["numpy"] == "1.26.4"
    assert host.builds["torch"].runtime == "cuda12.8"
    assert host.image_env["NVIDIA_REQUIRE_CUDA"] == "cuda>=12.8"
    assert "1.0" not in host.packages.values()


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
    assert any("blobs/sha256/z could not be read" in why for why in found.unread)
    assert found.tree


TREE = {
    "/etc/os-release": layers.Node("file", 0o644, 3, data=b"ID=x"),
    "/usr/lib/big.so": layers.Node("file", 0o755, 1 << 30),
    "/lib": layers.Node("link", target="usr/lib"),
    "/usr/local/release": layers.Node("link", target="/etc/os-release"),
    "/usr/up": layers.Node("link", target="../../../etc/os-release"),
    "/loop": layers.Node("link", target="loop"),
    "/gone": layers.Node("link", target="nowhere"),
    "/dev/null": layers.Node("other"),
}


@pytest.mark.parametrize(
    ("path", "read", "link", "real", "kind"),
    [
        ("/etc/os-release", b"ID=x", None, "/etc/os-release", "file"),
        ("/usr/local/release", b"ID=x", "/etc/os-release", "/etc/os-release", "file"),
        ("/usr/up", b"ID=x", "../../../etc/os-release", "/etc/os-release", "file"),
        ("/lib/big.so", "not kept from the image", None, "/usr/lib/big.so", "file"),
        ("/lib", "not a regular file", "usr/lib", "/usr/lib", "folder"),
        ("/lib/..", "not a regular file", None, "/usr", "folder"),
        ("/dev/null", "not a regular file", None, "/dev/null", "other"),
        ("/", "not a regular file", None, "/", "folder"),
        ("/gone", "No such file or directory", "nowhere", "/nowhere", None),
        ("/etc/os-release/x", "No such file or directory", None, "/etc/os-release/x", None),
        ("/loop", "Too many levels of symbolic links", "loop", None, None),
    ],
)
def test_an_images_tree_answers_as_a_file_system_does(path, read, link, real, kind):
    root = image.ImageRoot(layers.Image({}, TREE))

    def told(question):
        try:
            return question()
        except OSError as error:
            return error.strerror

    assert told(lambda: root.read(path)) == read
    assert told(lambda: root.link(path)) == (link or "Invalid argument")
    assert told(lambda: root.real(path)) == (real or "Too many levels of symbolic links")
    found = told(lambda: root.entry(path))
    assert getattr(found, "kind", None) == kind
    assert root._exists(path) is (kind is not None)


def test_folders_of_an_image_are_listed_whether_or_not_a_layer_names_them():
    root = image.ImageRoot(layers.Image({}, TREE))
    assert root.names("/") == ["dev", "etc", "gone", "lib", "loop", "usr"]
    assert root.names("/lib") == ["big.so"]
    for path in ("/etc/os-release", "/nowhere", "/loop"):
        with pytest.raises(OSError, match=r"No such file|Too many levels"):
            root.names(path)


def test_links_in_a_circle_do_not_hang(tmp_path):
    tree = {"/a": layers.Node("link", target="/b"), "/b": layers.Node("link", target="a")}
    root = image.ImageRoot(layers.Image({}, tree))
    with pytest.raises(OSError, match="symbolic links"):
        root.read("/a")


def test_absence_is_not_claimed_while_a_layer_is_unread(tmp_path):
    manifest = [{"Config": "config.json", "Layers": ["b0/layer.tar", "blobs/sha256/z"]}]
    path = docker_save(
        tmp_path / "image.tar",
        {"blobs/sha256/z": b"\x28\xb5\x2f\xfd" + b"x" * 1000, "manifest.json": json.dumps(manifest).encode()},
    )
    host = image.facts(layers.read(path), path)
    assert host.packages["numpy"] == "1.26.4"
    assert "blobs/sha256/z" in host.reading("cuda_toolkits").why
    assert not host.known("cuda_toolkit")
    assert not host.known("conda_packages")


def test_layer_that_the_archive_lacks_is_said(tmp_path):
    manifest = [{"Config": "config.json", "Layers": ["b0/layer.tar", "b9/layer.tar"]}]
    found = layers.read(docker_save(tmp_path / "image.tar", {"manifest.json": json.dumps(manifest).encode()}))
    assert found.unread == ("layer b9/layer.tar is not in the archive",)
    assert "/usr/lib/os-release" in found.tree


def test_missing_configuration_is_said(tmp_path):
    found = layers.read(docker_save(tmp_path / "image.tar", {"config.json": b"not json"}))
    assert any("configuration" in why for why in found.unread)


def platforms(folder):
    """A layout for two architectures, with BuildKit's attestation between them."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    entries = []
    for arch in ("arm64", "unknown", "amd64"):
        text = OS_RELEASE.replace("22.04", {"arm64": "20.04", "amd64": "24.04"}.get(arch, "0"))
        (blobs / f"l-{arch}").write_bytes(layer({"usr/lib/os-release": text}))
        (blobs / f"c-{arch}").write_text(json.dumps({"architecture": arch, "config": {}}))
        said = {"config": {"digest": f"sha256:c-{arch}"}, "layers": [{"digest": f"sha256:l-{arch}"}]}
        (blobs / f"m-{arch}").write_text(json.dumps(said))
        entries.append({"digest": f"sha256:m-{arch}", "platform": {"os": "linux", "architecture": arch}})
    (blobs / "all").write_text(json.dumps({"manifests": entries[::-1] if folder.name == "turned" else entries}))
    (folder / "index.json").write_text(json.dumps({"manifests": [{"digest": "sha256:all"}]}))
    return str(folder)


@pytest.mark.parametrize("order", ["as written", "turned"])
@pytest.mark.parametrize(("arch", "system"), [("x86_64", "ubuntu24.04"), ("aarch64", "ubuntu20.04")])
def test_image_for_several_machines_is_read_for_this_one(tmp_path, order, arch, system):
    found = layers.read(platforms(tmp_path / order.split()[0]), arch)
    assert image.facts(found, "x").os == system
    assert image.architecture(found) == arch


def test_attestation_is_no_image(tmp_path):
    assert image.architecture(layers.read(platforms(tmp_path / "layout"), "riscv64")) in {"x86_64", "aarch64"}


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2"])
def test_compressed_archive_is_read_like_a_plain_one(tmp_path, ending):
    import bz2
    import gzip
    import lzma
    from pathlib import Path

    plain = Path(docker_save(tmp_path / "image.tar"))
    packed = tmp_path / f"image.tar.{ending}"
    pack = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}[ending]
    packed.write_bytes(pack(plain.read_bytes()))
    assert layers.read(str(packed)) == layers.read(str(plain))


def laid(*changes):
    """Paths that remain after change sets were laid over each other."""
    tree = {}
    for change in changes:
        files = {path: layers.Node("folder" if path.endswith("/") else "file") for path in change}
        layers._lay(tree, {path.rstrip("/"): node for path, node in files.items()})
    return set(tree)


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ((["/a/b", "/a/c"], ["/a/.wh.b"]), {"/a/c"}),
        ((["/a/b/c/d", "/a/bc"], ["/a/.wh.b"]), {"/a/bc"}),
        ((["/a/", "/a/b", "/x"], ["/a/.wh..wh..opq", "/a/n"]), {"/a", "/a/n", "/x"}),
        ((["/a/b", "/a/c"], ["/a"]), {"/a"}),
        ((["/a/b"], ["/a/"]), {"/a", "/a/b"}),
        ((["/a"], ["/a/.wh.a"]), {"/a"}),
        ((["/a/b"], ["/.wh.a", "/a/n"]), {"/a/n"}),
        ((["/a/b"], ["/.wh.a"], ["/a/b"]), {"/a/b"}),
    ],
)
def test_layers_remove_and_replace_as_the_specification_says(changes, left):
    assert laid(*changes) == left


def test_whiteouts_cost_one_walk_and_not_one_each():
    """Counted, not timed: how often a path of the tree below is looked at must not grow with the whiteouts."""

    class Counting(dict):
        walks = 0

        def __iter__(self):
            Counting.walks += 1
            return super().__iter__()

    tree = Counting({f"/f{number}": layers.Node("file") for number in range(200)})
    layers._lay(tree, {f"/.wh.f{number}": layers.Node("file") for number in range(150)})
    assert len(tree) == 50
    assert Counting.walks == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["b0/layer.tar", "config.json"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["Config", "Layers", "manifests", "digest", "layers", "config", "Env", "Labels", "platform"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(manifest=JSON, index=JSON, config=JSON)
@settings(deadline=None, max_examples=150)
def test_no_document_of_an_archive_makes_it_fail(manifest, index, config):
    """Whatever stands in an archive's documents: facts, or a refusal that names the archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        documents = {"manifest.json": manifest, "index.json": index, "config.json": config}
        entries = {name: json.dumps(said).encode() for name, said in documents.items()}
        for name, data in {**entries, "b0/layer.tar": layer(BASE)}.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    out.seek(0)
    try:
        found = layers.from_stream(out, "x.tar")
    except InputError as error:
        assert "x.tar" in str(error)
    else:
        assert image.facts(found, "x.tar").image == "x.tar"


@given(st.lists(st.tuples(st.text("ab/.wh", min_size=1, max_size=12), st.sampled_from(["file", "link", "folder"]))))
@settings(deadline=None, max_examples=150)
def test_no_tree_of_names_makes_it_fail(entries):
    """Names with dots, empty parts and whiteouts of nothing; links that lead anywhere."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind in entries:
            info = tarfile.TarInfo(name)
            info.type = {"file": tarfile.REGTYPE, "link": tarfile.SYMTYPE, "folder": tarfile.DIRTYPE}[kind]
            info.linkname = "../" + name if kind == "link" else ""
            tar.addfile(info)
    out.seek(0)
    with tarfile.open(fileobj=out) as tar:
        tree = layers._tree(tar, layers._Blobs())
    assert all(path.startswith("/") and "//" not in path and ".." not in path.split("/") for path in tree)
    image.facts(layers.Image(CONFIG, tree), "x")


def packed(kind, raw):
    """A layer as engines compress it; ZSTD by the package that this project depends on below Python 3.14."""
    if kind == "gzip":
        return gzip.compress(raw, 1)
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return pytest.importorskip(name, reason="a dependency of this project that is not installed here").compress(raw)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_compressed_layers_are_read(tmp_path, kind):
    blobs = {"b0/layer.tar": packed(kind, layer(BASE)), "b1/layer.tar": packed(kind, layer(UPPER))}
    host = image.facts(layers.read(docker_save(tmp_path / "image.tar", blobs)), "x")
    assert host.packages == {"numpy": "1.26.4", "torch": "2.9.1"}
    assert host.builds["torch"].runtime == "cuda12.8"


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
@pytest.mark.parametrize("cut", [5, 40, -30])
def test_a_compressed_layer_cut_short_is_said(tmp_path, kind, cut):
    path = docker_save(tmp_path / "image.tar", {"b0/layer.tar": packed(kind, layer(BASE))[:cut]})
    assert any("b0/layer.tar could not be read" in why for why in layers.read(path).unread)


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_few_bytes_do_not_become_terabytes(tmp_path, kind, monkeypatch):
    """The bounds are lowered, so that the test takes milliseconds: a mebibyte of zeros, of which a hundredth is allowed."""
    monkeypatch.setattr(unpacking, "_FREE", 1 << 16)
    monkeypatch.setattr(unpacking, "_RATIO", 20)
    bomb = packed(kind, layer({"big": "\0" * (4 << 20)}))
    found = layers.read(docker_save(tmp_path / "image.tar", {"b0/layer.tar": bomb}))
    assert any("more than 20 times its size" in why for why in found.unread)


def test_zstd_without_its_package_is_said_with_what_to_install(tmp_path, monkeypatch):
    for name in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, name, None)
    found = layers.read(docker_save(tmp_path / "image.tar", {"b0/layer.tar": b"\x28\xb5\x2f\xfd" + bytes(600)}))
    assert any("pip install backports.zstd" in why for why in found.unread)
