"""Loader emulation: against ldconfig and the loader themselves, and over damaged caches."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.detect import loader
from compat.detect.machine import Machine
from compat.detect.root import Root
from compat.facts import Unknown

CACHE = Path(loader.CACHE)


@pytest.fixture
def machine(replay):
    def make(**said):
        recording = replay.Recording(said)
        return Machine(recording, recording.run, time.monotonic() + 5)

    return make


@pytest.mark.skipif(shutil.which("ldconfig", path="/sbin:/usr/sbin:/usr/bin") is None, reason="needs ldconfig")
@pytest.mark.skipif(not CACHE.exists(), reason="this system has no loader cache")
def test_cache_reads_as_ldconfig_prints_it():
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin:/usr/bin")
    printed = subprocess.run([ldconfig, "-p"], check=True, capture_output=True, text=True).stdout
    arch = Root().system().machine
    word = {"x86_64": "x86-64", "aarch64": "AArch64"}.get(arch, "")
    lines = re.findall(r"^\t(\S+) \((.*?)\) => (.+)$", printed, re.MULTILINE)
    expected = [(name, path) for name, kind, path in lines if word in kind]
    assert list(loader.entries(CACHE.read_bytes(), arch)) == expected


def test_old_table_in_front_is_skipped(replay):
    new = replay.ld_so_cache({"libcuda.so.1": "/usr/lib64/libcuda.so.1"})
    old = b"ld.so-1.7.0\0" + struct.pack("=I", 3) + bytes(3 * 12)
    padded = old + bytes(-len(old) % 8) + new
    assert list(loader.entries(padded, "x86_64")) == [("libcuda.so.1", "/usr/lib64/libcuda.so.1")]


def test_entries_of_another_word_size_are_left_out(replay):
    assert list(loader.entries(replay.ld_so_cache({"libcuda.so.1": "/x"}, "aarch64"), "x86_64")) == []


def test_entries_of_each_architecture_are_told_apart():
    """The flags of dl-cache.h (FLAG_X8664_LIB64 and so on, with FLAG_ELF_LIBC6): a cache may hold all of them."""
    flags = {"x86_64": 0x0303, "aarch64": 0x0A03, "ppc64le": 0x0503, "s390x": 0x0403, "riscv64": 0x1003, "i686": 0x0003}
    texts = [f"lib{arch}.so\0/lib/lib{arch}.so\0".encode() for arch in flags]
    base = 48 + 24 * len(flags)
    rows, at = b"", base
    for (arch, flag), text in zip(flags.items(), texts, strict=True):
        rows += struct.pack("=iIIIQ", flag, at, at + len(arch) + 7, 0, 0)
        at += len(text)
    head = b"glibc-ld.so.cache1.1" + struct.pack("=II", len(flags), at - base) + bytes(20)
    data = head + rows + b"".join(texts)
    for arch in flags.keys() - {"i686"}:
        assert list(loader.entries(data, arch)) == [(f"lib{arch}.so", f"/lib/lib{arch}.so")]
    assert len(list(loader.entries(data, "loongarch64"))) == len(flags)  # its flag is not known: nothing is left out


@given(data=st.binary(max_size=300), cut=st.integers(0, 400))
def test_damaged_cache_is_never_an_error(replay, data, cut):
    whole = replay.ld_so_cache({"libcuda.so.1": "/usr/lib/libcuda.so.1", "libm.so.6": "/lib/libm.so.6"})
    damaged = (whole[: len(whole) // 2] + data + whole[len(whole) // 2 :])[: cut or None]
    for name, path in loader.entries(damaged, "x86_64"):
        assert isinstance(name, str)
        assert isinstance(path, str)


LIBC = {"libx.so.1": "/usr/lib/libx.so.1"}


def test_library_path_comes_before_the_cache(machine):
    found = loader.find(
        machine(loader=LIBC, env={"LD_LIBRARY_PATH": "/none:/opt/x/"}, files={"/opt/x/libx.so.1": ""}), "libx.so.1"
    )
    assert found == "/opt/x/libx.so.1"


def test_cache_comes_before_the_built_in_folders(machine):
    said = machine(loader={"libx.so.1": "/opt/y/libx.so.1"}, files={"/usr/lib/libx.so.1": ""})
    assert loader.find(said, "libx.so.1") == "/opt/y/libx.so.1"


def test_stale_line_of_the_cache_is_skipped(machine):
    said = machine(files={"/usr/lib/libx.so.1": ""}, binary={"/etc/ld.so.cache": ""}, links={})
    assert loader.find(said, "libx.so.1") == "/usr/lib/libx.so.1"
    assert loader.find(said, "liby.so.1") == ""


def test_musl_searches_its_own_folders(machine):
    said = machine(files={"/lib/ld-musl-x86_64.so.1": "", "/usr/local/lib/libx.so.1": ""})
    assert loader.find(said, "libx.so.1") == "/usr/local/lib/libx.so.1"


def test_version_is_that_of_the_real_file(machine):
    said = machine(
        files={"/usr/lib/libcuda.so.535.54.03": ""},
        links={"/usr/lib/libcuda.so.1": "libcuda.so", "/usr/lib/libcuda.so": "libcuda.so.535.54.03"},
    )
    assert loader.version_of(said, "/usr/lib/libcuda.so.1") == "535.54.03"


@pytest.mark.parametrize(
    ("files", "env", "want"),
    [
        ({"/usr/lib/libcudnn.so.9.1.0": ""}, {}, "9.1.0"),
        ({"/usr/lib/libcudnn.so.9.1.0": "", "/opt/c/libcudnn.so.9": ""}, {"LD_LIBRARY_PATH": "/opt/c"}, None),
        ({}, {}, None),
    ],
)
def test_cudnn_is_the_copy_that_the_loader_picks(recorded, files, env, want):
    links = {"/usr/lib/libcudnn.so.9": "libcudnn.so.9.1.0"} if "/usr/lib/libcudnn.so.9.1.0" in files else {}
    host = recorded({"files": files, "links": links, "env": env})
    assert host.cudnn == (want or ("9" if env else None))


@pytest.mark.parametrize(
    ("links", "told"),
    [
        ({"libcuda.so.1": "libcuda.so.535.183.01"}, "535.183.01"),
        ({"libcuda.so.1": "libcuda.so.390.157"}, "390.157"),
        ({"libcuda.so.1": "libcuda.so.1.1"}, "? the file that the loader picks names no driver release"),
        ({}, "? the file that the loader picks names no driver release"),
        ({"libcuda.so.1": "stubs/libcuda.so"}, "? the file that the loader picks names no driver release"),
    ],
)
def test_driver_library_is_known_by_the_name_of_its_file(recorded, links, told):
    folder = "/usr/lib/x86_64-linux-gnu"
    files = {f"{folder}/{name}": "" for name in (links.values() or ("libcuda.so.1",))}
    said = {"files": files, "links": {f"{folder}/{name}": target for name, target in links.items()}}
    reading = recorded(said).reading("driver_library")
    assert (f"? {reading.why}" if isinstance(reading, Unknown) else reading.value) == told


@pytest.mark.parametrize(
    ("folder", "origin"),
    [
        ("/usr/local/cuda/lib64/stubs", "stubs"),
        ("/usr/local/cuda/compat", "compat"),
        ("/usr/local/cuda-12.4/compat/orin", "compat"),
        ("/opt/lib", "LD_LIBRARY_PATH"),
        ("/opt/stubs-of-mine", "LD_LIBRARY_PATH"),
    ],
)
def test_a_copy_is_called_what_it_is_however_it_was_found(recorded, folder, origin):
    host = recorded({"files": {f"{folder}/libcuda.so.1": ""}, "env": {"LD_LIBRARY_PATH": folder}})
    assert [(copy.origin, copy.loaded) for copy in host.libraries] == [(origin, True)]
    assert isinstance(host.reading("driver_library"), Unknown)


@pytest.mark.parametrize(
    ("owner", "soname", "version"),
    [
        ("nvidia_cudnn_cu12-9.1.0.70", "libcudnn.so.9", "9.1.0.70"),
        ("nvidia_cuda_runtime_cu12-12.4.127", "libcudart.so.12", "12.4.127"),
        ("nvidia_cublas-13.0.0.19", "libcublasLt.so.13", "13.0.0.19"),
        ("nvidia_cuda_nvrtc_cu11-11.8.89", "libnvrtc.so.11.2", "11.8.89"),
        ("nvidia_cudnn_frontend-1.5", "libcudnn.so.9", "9"),
        ("nvidia_nccl_cuda-2.20", "libnccl.so.2", "2"),
    ],
)
def test_version_of_a_wheels_library_is_that_of_the_wheel_that_ships_it(recorded, owner, soname, version):
    site = "/ml/lib/python3.11/site-packages"
    files = {f"{site}/{owner}.dist-info/METADATA": "", f"{site}/nvidia/part/lib/{soname}": "", "/ml/bin/python": ""}
    host = recorded({"files": files | {"/ml/pyvenv.cfg": "version = 3.11.9"}}, python="/ml")
    assert [(copy.name, copy.version, copy.origin) for copy in host.libraries] == [(soname, version, "wheel")]


def test_copies_are_listed_once_and_only_one_wins(recorded):
    host = recorded(
        {
            "files": {"/usr/lib/libnccl.so.2.18.3": "", "/opt/n/libnccl.so.2.20.5": ""},
            "links": {
                "/usr/lib/libnccl.so.2": "libnccl.so.2.18.3",
                "/opt/n/libnccl.so.2": "libnccl.so.2.20.5",
                "/opt/m": "n",
            },
            "env": {"LD_LIBRARY_PATH": "/opt/m:/opt/n"},
        }
    )
    found = [(each.version, each.loaded, each.origin) for each in host.libraries]
    assert found == [("2.20.5", True, "LD_LIBRARY_PATH"), ("2.18.3", False, "system")]


def test_libstdcxx_is_measured_from_its_symbols(recorded):
    text = b"\x7fELF\x02" + b"\0".join([b"GLIBCXX_3.4", b"GLIBCXX_3.4.9", b"GLIBCXX_3.4.30", b"GLIBCXX_3.4.21", b""])
    host = recorded({"binary": {"/usr/lib/libstdc++.so.6": text.hex()}})
    assert host.libstdcxx == "3.4.30"
