"""The glibc that a wheel's objects ask for is told beside that of its tag, and decides where it is greater."""

from __future__ import annotations

import json
import struct

import pytest

pytest.importorskip("requests")

import glibc_floor
import lay_targets

X86_64, AARCH64 = 62, 183
NAME = "demo-1.0-cp311-cp311-manylinux1_x86_64.whl"
HASHES = {"2.2.5": 0x09691A75, "2.14": 0x06969194, "2.17": 0x06969197}


def needs(*versions):
    """Records of one library's versions as linkers write them."""
    head = struct.pack("<HHIII", 1, len(versions), 7, 16, 0)
    last = len(versions) - 1
    return head + b"".join(
        struct.pack("<IHHII", HASHES[version], 0, number + 2, 9, 16 if number < last else 0)
        for number, version in enumerate(versions)
    )


def library(*versions, machine=X86_64, before=64):
    return b"\x7fELF\x02\x01\x01".ljust(18, b"\0") + struct.pack("<H", machine) + bytes(before) + needs(*versions)


def pieces(body, size=1 << 18):
    return (body[at : at + size] for at in range(0, len(body), size))


@pytest.mark.parametrize("size", [1 << 18, 97])
def test_versions_are_found_however_the_bytes_come(size):
    assert glibc_floor.of_object(pieces(library("2.2.5", "2.14"), size)) == {"GLIBC_2.2.5", "GLIBC_2.14"}


def test_a_number_that_looks_like_a_version_is_none():
    symbols = struct.pack("<IIQ", HASHES["2.17"], 0, 0) * 3
    assert glibc_floor.of_object(pieces(library("2.2.5") + symbols)) == {"GLIBC_2.2.5"}


def test_no_more_is_read_than_the_records_and_what_may_follow_them():
    body = library("2.2.5") + bytes(8 << 20)
    taken = []
    glibc_floor.of_object(taken.append(piece) or piece for piece in pieces(body))
    assert sum(map(len, taken)) < 1 << 20


@pytest.mark.parametrize("body", [library("2.17", machine=AARCH64), b"# text", b""])
def test_what_is_no_object_of_the_platform_asks_for_nothing(body):
    assert glibc_floor.of_object(pieces(body), X86_64) == set()


def test_a_wheel_is_told_with_what_its_objects_ask_for_and_its_tag(site, run, wheel):
    members = {"demo/a.so": library("2.2.5"), "demo/b.so.1": library("2.2.5", "2.14"), "demo/c.py": library("2.17")}
    site.add(NAME, wheel((), members))
    run("--kernels", "demo")
    assert run.read()["1.0"]["carried"]["linux_x86_64"] == {"file": NAME, "glibc": "2.14", "tag": "2.5"}
    site.served.clear()
    run("--kernels", "demo")
    assert set(site.served) == {"/simple/demo/"}


def test_what_was_recorded_before_gets_its_glibc_and_keeps_the_rest(site, run, wheel):
    site.add(NAME, wheel((), {"demo/a.so": library("2.14")}))
    run("--deep", "demo")
    body = json.loads(run.path.read_text())
    body["releases"]["1.0"]["carried"]["linux_x86_64"] = {"file": NAME, "deep": True, "targets": "sm_80"}
    run.path.write_text(json.dumps(body))
    run("--deep", "demo")
    told = run.read()["1.0"]["carried"]["linux_x86_64"]
    assert told == {"file": NAME, "deep": True, "targets": "sm_80", "glibc": "2.14", "tag": "2.5"}


def test_of_libraries_for_several_runtimes_each_counts_for_its_own():
    objects = {"a/lib_cpu.so": {"GLIBC_2.4"}, "a/lib_cuda118.so": {"GLIBC_2.2.5"}, "a/lib_cuda126.so": {"GLIBC_2.34"}}
    assert glibc_floor.told(objects) == {"glibc": "2.4", "glibc_by": {"cuda12.6": "2.34"}}
    assert glibc_floor.told({"a/lib_cuda126.so": {"GLIBC_2.34"}, "a/b.so": set()}) == {"glibc": "2.34"}


ROW = '{ versions = "1.0", runtime = "cuda12.8", platforms = "linux_x86_64", glibc = "%s", kernels = "sm_80", source = "s", how = "measured" }'


@pytest.mark.parametrize(
    ("stated", "objects", "tag", "told"),
    [
        ("2.5", "2.14", "2.5", "2.14"),
        ("2.17", "2.14", "2.5", "2.14"),
        ("2.17", "2.14", "2.17", "2.17"),
        ("2.5", "-", "2.5", "2.5"),
    ],
)
def test_a_row_gets_what_the_tag_or_the_objects_ask_for(tmp_path, stated, objects, tag, told):
    carried = {"linux_x86_64": {"glibc": objects, "tag": tag, "file": NAME}}
    releases = {"1.0": {"carried": carried, "wheels": [{"for": {f"linux_x86_64 {tag}": "3.11"}, "requires": []}]}}
    (tmp_path / "observed").mkdir()
    (tmp_path / "observed" / "demo.json").write_text(json.dumps({"releases": releases}))
    path = tmp_path / "demo.toml"
    path.write_text(f'schema = "envcheck.matrix/1"\n\nbuilds.demo = [\n  {ROW % stated},\n]\n\n[sources]\ns = "a"\n')
    assert lay_targets.main(["demo", "--matrix", str(tmp_path)]) == 0
    text = path.read_text()
    assert f'glibc = "{told}"' in text
    assert ('tag = "2.5"' in text) is (told != tag)
