"""AMD code: offload bundles plain and compressed, code objects by their flags, data files by their names."""

import json
from pathlib import Path

import pytest

from compat.kernels import amdgpu, bundle, contents, inspect_package, judge, names
from compat.kernels.window import Problems
from compat.targets import Families, is_gfx

HOST = "host-x86_64-unknown-linux--"
HIP = "hipv4-amdgcn-amd-amdhsa--"
DATA = Path(__file__).parent / "data"


def read(make, data):
    """(targets of each bundle, complaints)."""
    problems = Problems()
    return [*bundle.targets(make.window(data), problems)], problems.texts()


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (HIP + "gfx90a", "gfx90a"),
        (HIP + "gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
        (HIP + "gfx942:xnack+", "gfx942:xnack+"),
        (HIP + "gfx9-generic", "gfx9-generic"),
        (HIP + "gfx9-4-generic:xnack-", "gfx9-4-generic:xnack-"),
        (HIP + "gfx10-3-generic", "gfx10-3-generic"),
        (HIP + "gfx12-generic", "gfx12-generic"),
        ("hip-amdgcn-amd-amdhsa-gfx906", "gfx906"),
        ("hip-amdgcn-amd-amdhsa-unknown-gfx1030", "gfx1030"),
        ("openmp-amdgcn-amd-amdhsa--gfx908", "gfx908"),
    ],
)
def test_an_id_gives_its_target(make, name, target):
    assert read(make, make.bundle(HOST, name)) == ([[target]], ())
    assert is_gfx(target)


def test_bundles_lie_page_after_page(make):
    data = make.bundle(HOST, HIP + "gfx90a", HIP + "gfx942") + make.bundle(HOST, HIP + "gfx1100")
    assert read(make, data + bytes(4096)) == ([["gfx90a", "gfx942"], ["gfx1100"]], ())


@pytest.mark.parametrize("version", [1, 2, 3])
def test_compressed_bundles_of_every_version(make, version):
    first = make.compressed(make.bundle(HOST, HIP + "gfx90a"), version=version)
    second = make.compressed(make.bundle(HOST, HIP + "gfx1201"), version=version)
    assert read(make, first.ljust(8192, b"\0") + second) == ([["gfx90a"], ["gfx1201"]], ())


def test_compressed_bundles_need_not_start_on_a_page(make):
    one, two = (make.compressed(make.bundle(HOST, HIP + name)) for name in ("gfx908", "gfx950"))
    assert read(make, one + bytes(7) + two)[0] == [["gfx908"], ["gfx950"]]


def test_a_bundle_that_a_real_compiler_compressed(make):
    """Head of the ``.hip_fatbin`` of jax-rocm7-plugin 0.10.2's ``_prng.so``; the ids were listed with the zstd program."""
    recorded = json.loads((DATA / "ccob.json").read_text())
    data = bytes.fromhex(recorded["head"])
    found, _ = read(make, data.ljust(int.from_bytes(data[8:16], "little"), b"\0"))
    assert found == [recorded["targets"]]


def test_spirv_is_not_taken_for_any_gpu(make):
    found, problems = read(make, make.bundle(HOST, "hip-spirv64-amd-amdhsa--amdgcnspirv", HIP + "gfx942"))
    assert found == [["gfx942"]]
    assert "SPIR-V" in problems[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"CCOB\x09\0\0\0" + bytes(40), "version 9"),
        (b"CCOB\2\0\7\0" + bytes(40), "method 7"),
        (b"CCOB\2\0\0\0" + bytes(8), "could not be read"),
        (b"CCOB\2\0\0\0\x40\0\0\0\0\0\0\0" + bytes(48), "could not be read"),
        (b"__CLANG_OFFLOAD_BUNDLE__\xff\xff\xff\xff\xff\xff\xff\x7f", "entries claimed"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + (1).to_bytes(8, "little") + bytes(16) + b"\xff" * 8, "an id of"),
    ],
)
def test_a_broken_bundle_is_told_and_the_next_one_read(make, data, said):
    good = make.bundle(HOST, HIP + "gfx1100")
    found, problems = read(make, data.ljust(4096, b"\0") + good)
    assert found == [["gfx1100"]]
    assert said in problems[0]


def test_a_body_that_is_no_bundle_is_told(make):
    assert "no bundle" in read(make, make.compressed(b"something else" * 9))[1][0]


def test_a_compressed_bomb_costs_its_first_kilobytes_only(make):
    bomb = make.compressed(make.bundle(HOST, HIP + "gfx90a") + bytes(20 << 20))
    assert read(make, bomb) == ([["gfx90a"]], ())


def test_a_library_with_both_vendors_code(make):
    sections = [(".hip_fatbin", make.bundle(HOST, HIP + "gfx90a", HIP + "gfx1030"))]
    (code,) = contents.read(make.window(make.elf(sections, needed=["libamdhip64.so.6"])), "lib.so")
    assert (code.gfx, code.sass, code.implied) == (("gfx90a", "gfx1030"), (), {"rocm": "6"})


# e_flags numbers, LLVM's test elf-header-flags-mach.ll
MACH = {
    0x20: "gfx600", 0x26: "gfx704", 0x2A: "gfx803", 0x2C: "gfx900", 0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909",
    0x32: "gfx90c", 0x33: "gfx1010", 0x35: "gfx1012", 0x36: "gfx1030", 0x39: "gfx1033", 0x3A: "gfx602", 0x3C: "gfx805",
    0x3D: "gfx1035", 0x3E: "gfx1034", 0x3F: "gfx90a", 0x41: "gfx1100", 0x42: "gfx1013", 0x43: "gfx1150", 0x44: "gfx1103",
    0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102", 0x48: "gfx1200", 0x49: "gfx1250", 0x4A: "gfx1151", 0x4C: "gfx942",
    0x4E: "gfx1201", 0x4F: "gfx950", 0x50: "gfx1310", 0x51: "gfx9-generic", 0x52: "gfx10-1-generic",
    0x53: "gfx10-3-generic", 0x54: "gfx11-generic", 0x55: "gfx1152", 0x57: "gfx1154", 0x58: "gfx1153",
    0x59: "gfx12-generic", 0x5A: "gfx1251", 0x5B: "gfx12-5-generic", 0x5C: "gfx1172", 0x5D: "gfx1170", 0x5E: "gfx1171",
    0x5F: "gfx9-4-generic", 0x62: "gfx11-7-generic", 0x63: "gfx13-generic",
}  # fmt: skip


@pytest.mark.parametrize(("number", "target"), MACH.items())
def test_a_code_object_is_named_by_its_flags(make, number, target):
    (code,) = contents.read(make.window(make.elf(machine=224, flags=number, abi=2)), "k.hsaco")
    assert (code.form, code.gfx, code.unread) == ("hsaco", (target,), ())


@pytest.mark.parametrize(
    ("abi", "flags", "target"),
    [
        (1, 0x3F, "gfx90a"),
        (1, 0x13F, "gfx90a:xnack+"),
        (1, 0x330, "gfx908:sramecc+:xnack+"),
        (2, 0x53F, "gfx90a"),  # any, any
        (2, 0xE3F, "gfx90a:sramecc+:xnack-"),
        (3, 0xB3F, "gfx90a:sramecc-:xnack+"),
        (4, 0x0100054C, "gfx942"),  # V6: the generic version in the top byte
    ],
)
def test_features_by_code_object_version(make, abi, flags, target):
    (code,) = contents.read(make.window(make.elf(machine=224, flags=flags, abi=abi)), "k.co")
    assert code.gfx == (target,)


@pytest.mark.parametrize(("abi", "flags"), [(2, 0x27), (2, 0xFF), (0, 0x3F), (2, 0)])
def test_unknown_flags_are_unknown(make, abi, flags):
    (code,) = contents.read(make.window(make.elf(machine=224, flags=flags, abi=abi)), "k.co")
    assert code.gfx == ()
    assert "name no known target" in code.unread[0]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("TensileLibrary_Type_HH_Contraction_l_Ailk_Bjlk_Cijk_Dijk_gfx90a.co", "gfx90a"),
        ("Kernels.so-000-gfx90a-xnack+.hsaco", "gfx90a:xnack+"),
        ("Kernels.so-000-gfx1030.hsaco", "gfx1030"),
        ("TensileLibrary_lazy_gfx942.dat", "gfx942"),
        ("TensileLibrary_gfx906-xnack-.co", "gfx906:xnack-"),
        ("extop_gfx1201.co", "gfx1201"),
        ("hipblasltExtOpLibrary_gfx11-generic.dat", "gfx11-generic"),
        ("gfx90a6e.kdb", "gfx90a"),
        ("gfx94298.db.txt", "gfx942"),
        ("gfx942130.kdb", "gfx942"),
        ("gfx103036.kdb", "gfx1030"),
        ("gfx90640.HIP.fdb.txt", "gfx906"),
        ("gfx1100.kdb", "gfx1100"),
        ("gfx9061.kdb", ""),  # one digit is no number of compute units
        ("TensileManifest.txt", ""),
        ("gfx90a.py", ""),
        ("libgfx90a.so", ""),
        ("gfxfff.kdb", ""),
        ("gfxstrand.co", ""),
    ],
)
def test_data_files_tell_their_target_by_name(name, target):
    assert names.target(name) == target


@pytest.mark.parametrize(
    ("name", "binary"),
    [
        ("libtorch_cuda.so", True), ("libcudart.so.12", True), ("libcudnn.so.9.1.0", True), ("_C.abi3.so", True),
        ("nvcuda.dll", True), ("_C.pyd", True), ("libcudadevrt.a", True), ("k.cubin", True), ("k.ptx", True),
        ("k.hsaco", True), ("k.fatbin", True), ("lib.so.conf", False), ("a.sov", False), ("readme.md", False),
        ("so", False), (".so", True), ("torch.so.1.py", False), ("notebook.ipynb", False), ("", False),
    ],
)  # fmt: skip
def test_names_that_are_worth_opening(name, binary):
    assert names.is_binary(name) == binary


def test_every_name_is_one_that_the_rest_understands():
    assert all(is_gfx(name) for name in amdgpu.PROCESSORS)
    assert len(amdgpu.PROCESSORS) == 63


@pytest.mark.parametrize("count", [1, 2, 15, 16, 40])
def test_a_kernel_pack_lists_its_targets(make, count):
    wanted = tuple(sorted(amdgpu.PROCESSORS)[:count])
    (code,) = contents.read(make.window(make.kpack(*wanted)), "blas_lib.kpack")
    assert (code.form, set(code.gfx), code.unread) == ("kpack", set(wanted), ())


@pytest.mark.parametrize(
    ("change", "said"), [({"key": b"\xa4none"}, "names no gfx_arches"), ({"at": 1 << 60}, "is not there")]
)
def test_a_kernel_pack_without_its_table_is_told(make, change, said):
    (code,) = contents.read(make.window(make.kpack("gfx942", **change)), "blas_lib.kpack")
    assert said in code.unread[0]


MARKER = b"\x82\xb2kpack_search_paths\x91\xbf../.kpack/torch_@GFXARCH@.kpack\xabkernel_name\xa9libtorch\0"


def install(root, files):
    """torch as ROCm's split packages lay it out: kernel packs belong to other distributions."""
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / "torch-2.9.dist-info").mkdir()
    (root / "torch-2.9.dist-info" / "RECORD").write_text("torch/lib/libtorch_hip.so,,\n")


def test_a_library_finds_its_kernel_packs(make, tmp_path):
    library = make.elf([(".hip_fatbin", bytes(64)), (".rocm_kpack_ref", MARKER)], needed=["libamdhip64.so.7"])
    install(tmp_path, {"torch/lib/libtorch_hip.so": library, "torch/.kpack/torch_gfx942.kpack": make.kpack("gfx942"),
                       "torch/.kpack/torch_gfx1201.kpack": make.kpack("gfx1201"), "torch/.kpack/other.kpack": make.kpack("gfx906")})  # fmt: skip
    found = inspect_package("torch", tmp_path)
    assert (found.gfx, found.complete) == (("gfx942", "gfx1201"), True)
    assert judge(found, "gfx942", Families()).kernels == "native"
    assert judge(found, "gfx1100", Families()).kernels == "none"


def test_a_library_whose_kernel_packs_are_not_installed_is_unknown_and_says_why(make, tmp_path):
    install(tmp_path, {"torch/lib/libtorch_hip.so": make.elf([(".rocm_kpack_ref", MARKER)])})
    found = inspect_package("torch", tmp_path)
    assert (found.complete, found.objects[0].packs) == (False, ("../.kpack/torch_@GFXARCH@.kpack",))
    verdict = judge(found, "gfx942", Families())
    assert verdict.kernels == "unknown"
    assert ".kpack" in verdict.why


def test_a_marker_cannot_lead_outside(make, tmp_path):
    (tmp_path / "secret_gfx942.kpack").write_bytes(make.kpack("gfx942"))
    marker = MARKER.replace(b"../.kpack/torch_", b"../../../secret_")
    install(tmp_path / "site", {"torch/lib/libtorch_hip.so": make.elf([(".rocm_kpack_ref", marker)])})
    assert inspect_package("torch", tmp_path / "site").gfx == ()
