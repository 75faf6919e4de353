"""ELF files of every width and byte order, and what they need from the loader."""

import shutil
import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.kernels import contents, elf, linkage, symbols
from compat.kernels.window import CutShortError, Window

KINDS = [(bits, endian) for bits in (32, 64) for endian in "<>"]


@pytest.mark.parametrize(("bits", "endian"), KINDS)
def test_the_four_kinds_of_elf_read_alike(make, bits, endian):
    data = make.elf(
        [(".nv_fatbin", make.container(make.entry(2, 80)))], bits=bits, endian=endian, needed=["libcudart.so.12", "libc.so.6"],
        runpath=["$ORIGIN/../lib:/opt/lib"], needs=[("libc.so.6", ["GLIBC_2.2.5", "GLIBC_2.28"])],
        symbols=[("_ZN3c105ErrorC2ESs", False), ("mine", True)],
    )  # fmt: skip
    (code,) = contents.read(make.window(data), "lib.so")
    assert (code.sass, code.needed, code.unread) == (("sm_80",), ("libcudart.so.12", "libc.so.6"), ())
    assert code.linkage.rpath == ("$ORIGIN/../lib", "/opt/lib")
    assert code.linkage.floors == {"GLIBC": "2.28"}
    file = elf.read(make.window(data))
    assert [*symbols.named(file, defined=False)] == ["_ZN3c105ErrorC2ESs"]
    assert [*symbols.named(file, defined=True)] == ["mine"]


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\3\1" + bytes(60), b"\x7fELF\2\1" + bytes(20)])
def test_what_is_no_elf_file_says_so(make, data):
    with pytest.raises(CutShortError):
        elf.read(make.window(data))


def test_a_section_table_that_is_not_there_is_told(make):
    whole = make.elf([(".nv_fatbin", make.container(make.entry(2, 80)))])
    (code,) = contents.read(make.window(whole[:-64]), "lib.so")
    assert code.targets == ()
    assert "reach beyond" in code.unread[0]


def test_a_section_that_claims_more_than_the_file_is_read_as_far_as_it_goes(make):
    fat = make.container(make.entry(2, 80))
    data = bytearray(make.elf([(".nv_fatbin", fat)]))
    row = int.from_bytes(data[40:48], "little") + 64
    data[row + 32 : row + 40] = (1 << 50).to_bytes(8, "little")
    (code,) = contents.read(make.window(bytes(data)), "lib.so")
    assert code.sass == ("sm_80",)
    assert f"claims {1 << 50} bytes" in code.unread[0]


def test_more_sections_than_16_bits_count(make):
    """gABI: e_shnum 0 and e_shstrndx 0xffff refer to section 0's size and link."""
    data = bytearray(make.elf([(".nv_fatbin", make.container(make.entry(2, 80)))]))
    table = int.from_bytes(data[40:48], "little")
    count, names = int.from_bytes(data[60:62], "little"), int.from_bytes(data[62:64], "little")
    data[60:64] = b"\0\0\xff\xff"
    data[table + 32 : table + 40] = count.to_bytes(8, "little")
    data[table + 40 : table + 44] = names.to_bytes(4, "little")
    (code,) = contents.read(make.window(bytes(data)), "lib.so")
    assert code.sass == ("sm_80",)


def test_runpath_hides_rpath(make):
    assert linkage.read(elf.read(make.window(make.elf(rpath=["/old"], runpath=["/new"])))).rpath == ("/new",)
    assert linkage.read(elf.read(make.window(make.elf(rpath=["/old"])))).rpath == ("/old",)


def test_search_paths_are_taken_apart_in_the_loaders_order(make):
    data = make.elf(runpath=["$ORIGIN:$ORIGIN/../../nvidia/cudnn/lib:", ":/last"])
    assert linkage.read(elf.read(make.window(data))).rpath == ("$ORIGIN", "$ORIGIN/../../nvidia/cudnn/lib", "/last")


def test_version_needs_that_lead_in_circles_end(make):
    """Every record is a need whose versions are all the records after it: walking them all would take the square."""
    count = 1 << 12
    data = make.elf(needs=[("libc.so.6", ["GLIBC_2.28"] * (count - 1))])
    start = elf.read(make.window(data)).of_kind(elf.SHT_VERNEED).window.start
    data = data[:start] + struct.pack("<HHIII", 1, 0xFFFF, 0, 0, 16) * count + data[start + 16 * count :]
    guard = make.guard(data)
    assert len([*elf.version_needs(elf.read(Window(guard)))]) <= count
    assert guard.reads < 5 * count


def test_broken_links_do_not_hide_the_kernels(make):
    data = make.elf(
        [(".nv_fatbin", make.container(make.entry(2, 80)))],
        needed=["libcudart.so.12"],
        needs=[("libc.so.6", ["GLIBC_2.28"])],
    )
    start = elf.read(make.window(data)).of_kind(elf.SHT_VERNEED).window.start
    data = data[: start + 8] + b"\xff" * 4 + data[start + 12 :]
    (code,) = contents.read(make.window(data), "lib.so")
    assert (code.form, code.sass) == ("elf", ("sm_80",))
    assert "reach beyond" in code.unread[0]


@given(
    st.lists(
        st.tuples(st.sampled_from(["GLIBC", "GLIBCXX", "CXXABI"]), st.lists(st.integers(0, 40), min_size=2, max_size=3))
    )
)
def test_a_floor_is_the_highest_version_needed(needs):
    texts = [f"{family}_{'.'.join(map(str, parts))}" for family, parts in needs]
    for family, floor in linkage.floors([*texts, "GLIBC_PRIVATE", "CXXABI_TM_1", "OPENSSL_3.0.0"]).items():
        asked = [parts for name, parts in needs if name == family]
        trimmed = [parts[:2] if parts[2:] == [0] else parts for parts in asked]
        assert [int(part) for part in floor.split(".")] in list(asked)
        assert max([*trimmed, [0]])[:2] == [int(part) for part in floor.split(".")][:2]


@pytest.mark.parametrize(
    ("needed", "implied"),
    [
        (["libcudart.so.12", "libcudnn.so.9", "libc.so.6"], {"cuda": "12", "cudnn": "9"}),
        (["libcudart.so.11.0", "libcublasLt.so.11"], {"cuda": "11"}),
        (["libcudart-d0da41ae.so.11.8.89"], {"cuda": "11"}),
        (["libcufft.so.12", "libnccl.so.2", "libcudart.so.13"], {"cufft": "12", "nccl": "2", "cuda": "13"}),
        (["libamdhip64.so.7", "libhipblas.so.3"], {"rocm": "7"}),
        (["cudart64_110.dll", "cudnn64_8.dll"], {"cuda": "11", "cudnn": "8"}),
        (["nvrtc64_120_0.dll", "KERNEL32.dll"], {"cuda": "12"}),
        (["libcuda.so.1", "libtorch.so", "libm.so.6"], {}),
    ],
)
def test_sonames_commit_to_runtimes(needed, implied):
    assert linkage.implied(needed) == implied


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("_C.cpython-311-x86_64-linux-gnu.so", "cp311"),
        ("_C.cpython-313t-aarch64-linux-gnu.so", "cp313t"),
        ("_C.cp312-win_amd64.pyd", "cp312"),
        ("_C.pypy310-pp73-x86_64-linux-gnu.so", "pp310"),
        ("_C.abi3.so", "abi3"),
        ("libtorch_cuda.so", ""),
        ("libcudart.so.12", ""),
    ],
)
def test_python_tags_of_extension_modules(name, tag):
    assert linkage.python_tag(name) == tag


# Imports of real extensions built for one and the other (c++filt -n reads them)
NEW_ABI = "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD_ABI = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"


@pytest.mark.parametrize(
    ("names", "abi"),
    [
        ([NEW_ABI, "_ZN2at4_ops5zeros4callEv"], True),
        ([OLD_ABI], False),
        (["_ZN3c105ErrorC2ENS_14SourceLocationESs"], False),
        (["_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"], True),
        (["_ZN2at4_ops5zeros4callEv"], None),
        (["_ZN2at9ClassSsenE", "_ZN3c108SsSsSsSsEv"], None),  # letters of a name mean nothing
        (["_ZN3c103fooILi128EEEvRKSs"], False),  # nor do the digits of a literal
        (["_ZNSt7__cxx1112basic_stringIcE6appendEPKc", "_ZNSs6appendEPKc"], None),  # not torch's
        ([], None),
    ],
)
def test_the_string_abi_shows_in_what_is_imported_from_torch(names, abi):
    assert symbols.cxx11_abi(names) is abi


def test_an_extension_tells_its_abi_and_torch_itself_is_not_asked(make):
    data = make.elf(needed=["libtorch_cpu.so", "libc10.so"], symbols=[(OLD_ABI, False), (NEW_ABI, True)])
    assert [next(contents.read(make.window(data), name)).cxx11_abi for name in ("_C.so", "x/libtorch_python.so")] == [
        False,
        None,
    ]
    assert next(contents.read(make.window(make.elf(symbols=[(OLD_ABI, False)])), "_C.so")).cxx11_abi is None


@pytest.mark.skipif(not (shutil.which("gcc") and shutil.which("readelf")), reason="needs gcc and readelf")
@pytest.mark.parametrize("flag", ["--enable-new-dtags", "--disable-new-dtags"])
def test_a_real_library_reads_as_readelf_reads_it(make, tmp_path, flag):
    source = tmp_path / "a.c"
    source.write_text('#include <math.h>\n#include <stdio.h>\ndouble f(double x){printf("%g",x);return pow(x,2.5);}\n')
    library = tmp_path / "a.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", f"-Wl,{flag},-rpath,$ORIGIN/deps", source, "-o", library, "-lm"], check=True
    )
    listing = subprocess.run(["readelf", "-dVW", library], check=True, capture_output=True, text=True).stdout
    (code,) = contents.read(make.window(library.read_bytes()), "a.so")
    assert code.needed == tuple(line.split("[")[1].rstrip("]") for line in listing.splitlines() if "(NEEDED)" in line)
    assert code.linkage.rpath == ("$ORIGIN/deps",)
    versions = {line.split("Name: ")[1].split()[0] for line in listing.splitlines() if "Name: GLIBC" in line}
    assert code.linkage.floors == linkage.floors(versions)
    assert code.linkage.floors["GLIBC"]
