"""Where GPU code is looked for: files, directories, wheels, image layers, installed packages."""

import gzip
import io
import json
import tarfile
import zipfile

import pytest

from compat.errors import InputError
from compat.kernels import build_kernels, dump, inspect, inspect_file, inspect_package
from compat.kernels.window import Stream, Window


@pytest.fixture(scope="session")
def cuda(make):
    """A library with sm_80 and PTX for 9.0, padded so that it is no toy for a decompressor."""
    fat = make.container(make.entry(2, 80), make.entry(1, 90, version=(8, 7), payload=bytes(range(256)) * 2000))
    return make.elf([(".text", b"\x90" * 300_000), (".nv_fatbin", fat)], needed=["libcudart.so.12"])


@pytest.fixture(scope="session")
def plain(make):
    """A library without GPU code."""
    return make.elf([(".text", b"\x90")], needed=["libc.so.6"])


def wheel(path, members, method=zipfile.ZIP_DEFLATED):
    """Write a zip file; returns its path."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def layer(members, mode="w:"):
    """A tar file as bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, data in members.items():
            item = tarfile.TarInfo(name)
            item.size, item.mode = len(data), 0o755
            archive.addfile(item, io.BytesIO(data))
    return out.getvalue()


def targets(inspection):
    """Path -> targets."""
    return {code.path: code.targets for code in inspection.objects}


def test_a_directory_tells_what_has_something_to_say(tmp_path, cuda, plain, make):
    (tmp_path / "pkg" / "lib").mkdir(parents=True)
    (tmp_path / "pkg" / "lib" / "libk.so").write_bytes(cuda)
    (tmp_path / "pkg" / "lib" / "libk.so.12").write_bytes(cuda)
    (tmp_path / "pkg" / "libhost.so").write_bytes(plain)
    (tmp_path / "pkg" / "notes.txt").write_bytes(cuda)  # not a name that is loaded
    (tmp_path / "pkg" / "TensileLibrary_gfx942.co").write_bytes(b"not looked into")
    (tmp_path / "pkg" / "lib" / "link.so").symlink_to("libk.so")
    (tmp_path / "pkg" / "loop").symlink_to(tmp_path)
    (tmp_path / "k.cubin").write_bytes(make.elf(kind=2, machine=190, flags=0x5A0D5A, abi=7))
    found = inspect(tmp_path)
    assert targets(found) == {
        "k.cubin": ("sm_90a",),
        "pkg/TensileLibrary_gfx942.co": ("gfx942",),
        "pkg/lib/libk.so": ("sm_80", "compute_90"),
        "pkg/lib/libk.so.12": ("sm_80", "compute_90"),
    }
    assert (found.sass, found.ptx, found.gfx) == (("sm_80", "sm_90a"), ("compute_90",), ("gfx942",))
    assert found.scanned == 5
    assert found.complete


def test_programs_without_a_suffix_are_read(tmp_path, cuda):
    (tmp_path / "nvrun").write_bytes(cuda)
    assert targets(inspect(tmp_path)) == {}
    (tmp_path / "nvrun").chmod(0o755)
    assert targets(inspect(tmp_path)) == {"nvrun": ("sm_80", "compute_90")}


def test_a_single_file_always_answers(tmp_path, plain):
    (tmp_path / "libhost.so").write_bytes(plain)
    (found,) = inspect(tmp_path / "libhost.so").objects
    assert (found.targets, found.needed, found.unread) == ((), ("libc.so.6",), ())
    (tmp_path / "readme").write_text("hello")
    (found,) = inspect(tmp_path / "readme").objects
    assert "not a kind of file" in found.unread[0]
    (tmp_path / "empty.so").write_bytes(b"")
    assert not inspect(tmp_path / "empty.so").complete


def test_what_is_not_there_is_the_persons_mistake(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        inspect(tmp_path / "missing.so")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_wheel_is_read_without_extraction(tmp_path, cuda, plain, method):
    path = wheel(
        tmp_path / "k-1.0-cp311-cp311-linux_x86_64.whl",
        {
            "k/__init__.py": b"pass",
            "k/_C.cpython-311-x86_64-linux-gnu.so": cuda,
            "k/libhost.so": plain,
            "k/data_gfx90a.co": b"",
        },
        method,
    )
    found = inspect(path)
    assert targets(found) == {
        "k/_C.cpython-311-x86_64-linux-gnu.so": ("sm_80", "compute_90"),
        "k/data_gfx90a.co": ("gfx90a",),
    }
    assert found.objects[0].python_tag == "cp311"
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_files_that_tell_a_target_by_name_are_told_wherever_they_lie(tmp_path):
    name = "rocblas/library/TensileLibrary_Type_HH_gfx90a.dat"
    wheel(tmp_path / "k.whl", {name: b"data", "rocblas/readme.dat": b"data"})
    (tmp_path / "layer.tar").write_bytes(layer({name: b"data", "rocblas/readme.dat": b"data"}))
    for file in ("k.whl", "layer.tar"):
        (code,) = inspect(tmp_path / file).objects
        assert (code.path, code.form, code.gfx) == (name, "name", ("gfx90a",)), file


def test_a_wheel_behind_any_seekable_file(tmp_path, cuda):
    """As a registry passes one: only the directory and the binaries' bytes are asked for."""
    path = wheel(tmp_path / "k.whl", {"k/big.txt": b"\0" * 3_000_000, "k/_C.so": cuda}, zipfile.ZIP_STORED)

    class Remote(io.BytesIO):
        fetched = 0

        def read(self, size=-1):
            data = super().read(size)
            Remote.fetched += len(data)
            return data

    found = inspect_file(Window(Stream(Remote(path.read_bytes()))), "k.whl", where="index")
    assert (found.path, targets(found)) == ("index", {"k/_C.so": ("sm_80", "compute_90")})
    assert Remote.fetched < 200_000


def test_a_member_that_lies_about_its_size_is_told(tmp_path, cuda):
    raw = bytearray(wheel(tmp_path / "k.whl", {"k/_C.so": cuda}).read_bytes())
    directory = raw.rindex(b"PK\1\2")
    for size in (1 << 30, 10):
        raw[directory + 24 : directory + 28] = size.to_bytes(4, "little")
        (tmp_path / "lie.whl").write_bytes(raw)
        found = inspect(tmp_path / "lie.whl")
        assert not found.complete


@pytest.mark.parametrize("change", [b"PK\3\4", b"PK\1\2"])
def test_a_wheel_without_one_of_its_headers_is_told(tmp_path, cuda, change):
    raw = wheel(tmp_path / "k.whl", {"a.so": cuda, "b.so": cuda}).read_bytes()
    (tmp_path / "bad.whl").write_bytes(raw[:4] + raw[4:].replace(change, b"XXXX"))
    found = inspect(tmp_path / "bad.whl")
    assert not found.complete


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [(6, 1, "an encrypted member"), (8, 99, "compression method 99"), (42, 1 << 20, "could not be read")],
)
def test_a_member_that_cannot_be_unpacked_says_why(tmp_path, cuda, place, value, said):
    """The fields of the directory's record, APPNOTE.TXT 4.3.12: flags, method, offset of the local header."""
    raw = bytearray(wheel(tmp_path / "k.whl", {"k/_C.so": cuda}).read_bytes())
    at = raw.rindex(b"PK\1\2") + place + 2 * (place < 40)
    raw[at : at + 2 + 2 * (place > 40)] = value.to_bytes(2 + 2 * (place > 40), "little")
    (tmp_path / "odd.whl").write_bytes(raw)
    (code,) = inspect(tmp_path / "odd.whl").objects
    assert (code.path, code.targets) == ("k/_C.so", ())
    assert said in code.unread[0]


@pytest.mark.parametrize(("mode", "read"), [(0o755, True), (0o100, True), (0o010, True), (0o001, True), (0o644, False)])
def test_a_program_in_a_layer_is_known_by_any_right_to_run_it(tmp_path, cuda, mode, read):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        member = tarfile.TarInfo("usr/bin/tool")
        member.size, member.mode = len(cuda), mode
        archive.addfile(member, io.BytesIO(cuda))
    (tmp_path / "layer.tar").write_bytes(out.getvalue())
    assert bool(inspect(tmp_path / "layer.tar").targets) is read


def test_overlapping_members_are_not_read_over_and_over(tmp_path, cuda):
    raw = wheel(tmp_path / "k.whl", {"a.so": cuda}).read_bytes()
    start = raw.rindex(b"PK\1\2")
    record, end = raw[start : raw.rindex(b"PK\5\6")], bytearray(raw[raw.rindex(b"PK\5\6") :])
    count = 500
    end[8:12] = count.to_bytes(2, "little") * 2
    end[12:16] = (count * len(record)).to_bytes(4, "little")
    (tmp_path / "bomb.whl").write_bytes(raw[:start] + record * count + end)
    found = inspect(tmp_path / "bomb.whl")
    assert found.scanned < 20
    assert any("claim more bytes" in text for code in found.objects for text in code.unread)


def test_archives_within_archives_have_an_end(tmp_path, cuda):
    data, name = cuda, "k.so"
    for depth in range(6):
        data, name = wheel(tmp_path / f"{depth}.whl", {name: data}).read_bytes(), f"{depth}.so"
    found = inspect(tmp_path / "5.whl")
    assert not found.complete
    assert "archives deep" in found.objects[0].unread[0]
    assert inspect(tmp_path / "2.whl").targets == ("sm_80", "compute_90")


@pytest.mark.parametrize("name", ["usr/lib/libk.so", "opt/venv/lib/python3.11/site-packages/k/_C.abi3.so"])
def test_a_layer_plain_and_zipped(tmp_path, cuda, plain, name):
    members = {name: cuda, "usr/lib/libhost.so": plain, "etc/motd": b"hello"}
    for file, data in (("layer.tar", layer(members)), ("layer.tar.gz", layer(members, "w:gz"))):
        (tmp_path / file).write_bytes(data)
        assert targets(inspect(tmp_path / file)) == {name: ("sm_80", "compute_90")}


def test_a_saved_image_has_layers_within(tmp_path, cuda):
    digest = "ab" * 32
    saved = layer({f"blobs/sha256/{digest}": layer({"lib/libk.so": cuda}, "w:gz"), "manifest.json": b"[]"})
    (tmp_path / "image.tar").write_bytes(saved)
    assert targets(inspect(tmp_path / "image.tar")) == {"lib/libk.so": ("sm_80", "compute_90")}
    folder = tmp_path / "oci" / "blobs" / "sha256"
    folder.mkdir(parents=True)
    (folder / digest).write_bytes(layer({"lib/libk.so": cuda}))
    assert [*targets(inspect(tmp_path / "oci")).values()] == [("sm_80", "compute_90")]


def test_a_layer_that_breaks_off_is_told(tmp_path, cuda):
    data = gzip.compress(layer({"a/libk.so": cuda}))
    (tmp_path / "layer.tar.gz").write_bytes(data[: len(data) // 2])
    assert not inspect(tmp_path / "layer.tar.gz").complete


def install(root, name, version, files):
    """Lay a distribution out as pip does."""
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    info = root / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text(
        "".join(f"{path},sha256=x,{len(data)}\n" for path, data in files.items()) + "../../../bin/k,,\n"
    )


def test_an_installed_package_is_what_its_record_lists(tmp_path, cuda, plain):
    install(
        tmp_path,
        "my_ext",
        "1.0",
        {"my_ext/_C.so": cuda, "my_ext/__init__.py": b"", "my_ext.libs/libhost-12345678.so.1": plain},
    )
    install(tmp_path, "other", "2.0", {"other/_C.so": cuda})
    for name in ("my-ext", "My.Ext", "my_ext"):
        found = inspect_package(name, tmp_path)
        assert targets(found) == {"my_ext/_C.so": ("sm_80", "compute_90")}
        assert found.scanned == 2


def test_a_folder_without_a_record_serves_too(tmp_path, cuda):
    (tmp_path / "torch" / "lib").mkdir(parents=True)
    (tmp_path / "torch" / "lib" / "libtorch_cuda.so").write_bytes(cuda)
    assert targets(inspect_package("torch", tmp_path)) == {"lib/libtorch_cuda.so": ("sm_80", "compute_90")}
    with pytest.raises(InputError, match="not installed"):
        inspect_package("jax", tmp_path)


def test_a_record_may_have_empty_lines_and_names_files_that_are_no_binaries(tmp_path, cuda):
    install(
        tmp_path, "k", "1", {"k/_C.so": cuda, "k/notes.txt": cuda, "k/kernel.ptx": b".version 8.0\n.target sm_90\n"}
    )
    record = tmp_path / "k-1.dist-info" / "RECORD"
    record.write_text("\n\n" + record.read_text().replace("\n", "\n\n"))
    found = inspect_package("k", tmp_path)
    assert (targets(found), found.scanned) == (
        {"k/_C.so": ("sm_80", "compute_90"), "k/kernel.ptx": ("compute_90",)},
        2,
    )


def test_a_record_cannot_lead_outside(tmp_path, cuda):
    (tmp_path / "secret.so").write_bytes(cuda)
    site = tmp_path / "site"
    install(site, "evil", "1", {})
    (site / "evil-1.dist-info" / "RECORD").write_text(f'../secret.so,,\n{tmp_path}/secret.so,,\n,,\n"unbalanced,,\n')
    assert inspect_package("evil", site).scanned == 0


def test_the_doctor_gets_what_the_main_library_supports(tmp_path, make):
    """Single kernels for other targets do not make a build support them."""
    usual = make.container(make.entry(2, 80), make.entry(2, 90))
    main = make.elf(
        [(".nv_fatbin", usual * 30 + make.container(make.entry(2, 80), make.entry(2, 121, flags=0x100000)))]
    )
    side = make.elf([(".nv_fatbin", make.container(make.entry(2, 75)))])
    install(tmp_path, "torch", "2.9", {"torch/lib/libtorch_cuda.so": main, "torch/lib/libside.so": side})
    found = build_kernels(tmp_path, "torch")
    assert found.targets == ("sm_80", "sm_90")
    assert found.path == str(tmp_path / "torch/lib/libtorch_cuda.so")
    assert found.complete


def test_the_doctor_is_told_when_there_is_nothing(tmp_path, plain):
    install(tmp_path, "numpy", "2", {"numpy/core.so": plain})
    assert (build_kernels(tmp_path, "numpy").targets, build_kernels(tmp_path, "numpy").complete) == ((), True)
    assert (build_kernels(tmp_path, "torch").targets, build_kernels(tmp_path, "torch").complete) == ((), False)


def test_the_document_holds_what_the_contract_names(tmp_path, cuda):
    (tmp_path / "libk.so").write_bytes(cuda)
    document = json.loads(json.dumps(dump(inspect(tmp_path))))
    assert document["schema"] == "envcheck.inspect/1"
    assert document["targets"] == {"sass": ["sm_80"], "ptx": ["compute_90"], "gfx": []}
    (item,) = document["objects"]
    assert {key: item[key] for key in ("path", "sass", "ptx", "gfx", "needed")} == {
        "path": "libk.so", "sass": ["sm_80"], "ptx": ["compute_90"], "gfx": [], "needed": ["libcudart.so.12"],
    }  # fmt: skip
    assert (item["isa"], item["implied"]) == ({"compute_90": ["8.7"]}, {"cuda": "12"})


def test_targets_are_in_natural_order(make, tmp_path):
    fat = make.container(*(make.entry(2, arch) for arch in (120, 75, 100, 90)), make.entry(2, 90, flags=0x100000))
    (tmp_path / "a.fatbin").write_bytes(fat)
    assert inspect(tmp_path / "a.fatbin").sass == ("sm_75", "sm_90", "sm_90a", "sm_100", "sm_120")
    hip = make.bundle(
        *(f"hipv4-amdgcn-amd-amdhsa--{name}" for name in ("gfx1030", "gfx90a", "gfx906", "gfx11-generic"))
    )
    (tmp_path / "a.hipfb").write_bytes(hip)
    assert inspect(tmp_path / "a.hipfb").gfx == ("gfx906", "gfx90a", "gfx1030", "gfx11-generic")
