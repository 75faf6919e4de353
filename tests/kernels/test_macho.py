"""macOS binaries: what they load, one architecture or several, and files that only begin like one."""

import struct

import pytest

from compat.kernels import contents, macho
from compat.kernels.window import CutShortError

ARM, INTEL = 0x0100000C, 0x01000007
LOAD, WEAK, UUID = 0xC, 0x80000018, 0x1B


def thin(machine, *commands, claim=None):
    """A binary with load commands ``(kind, path)``; a path is what the loader looks for."""
    body = b""
    for kind, path in commands:
        text = path.encode() + b"\0" * (8 - len(path) % 8)
        body += struct.pack("<IIIIII", kind, 24 + len(text), 24, 0, 0, 0) + text
    return struct.pack("<4sIIIIIII", macho.MAGIC, machine, 0, 6, claim or len(commands), len(body), 0, 0) + body


def fat(*slices):
    """A universal file of several binaries."""
    at, table, body = 8 + 20 * len(slices), b"", b""
    for one in slices:
        table += struct.pack(">IIIII", 0, 0, at + len(body), len(one), 0)
        body += one
    return macho.FAT + struct.pack(">I", len(slices)) + table + body


METAL = "/System/Library/Frameworks/Metal.framework/Versions/A/Metal"


def test_libraries_are_told_by_file_name_and_other_commands_are_not(make):
    data = thin(ARM, (UUID, "nothing"), (WEAK, METAL), (LOAD, "@rpath/libomp.dylib"))
    (code,) = contents.read(make.window(data), "libtorch_cpu.dylib")
    assert (code.form, code.linkage.machine, code.unread) == ("macho", "aarch64", ())
    assert code.needed == ("Metal", "libomp.dylib")
    assert not code.targets


def test_a_universal_file_loads_what_any_of_its_binaries_loads(make):
    data = fat(
        thin(INTEL, (LOAD, "/usr/lib/libc++.1.dylib")), thin(ARM, (LOAD, "/usr/lib/libc++.1.dylib"), (LOAD, METAL))
    )
    assert macho.read(make.window(data)) == macho.MachO("x86_64", ("libc++.1.dylib", "Metal"))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(macho.FAT + struct.pack(">I", 52) + bytes(400), id="a Java class"),
        pytest.param(macho.FAT + struct.pack(">I", 1) + struct.pack(">IIIII", 0, 0, 28, 8, 0) + bytes(8), id="not of 64 bits"),
        pytest.param(thin(ARM, (LOAD, "/a"), claim=2), id="fewer commands than it counts"),
        pytest.param(thin(ARM, (LOAD, "/a"))[:40], id="cut short"),
        pytest.param(macho.MAGIC + struct.pack("<IIIIIII", ARM, 0, 6, 1, 8, 0, 0) + struct.pack("<II", 1, 0), id="a command of no size"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_and_not_taken_for_none(make, data):
    (code,) = contents.read(make.window(data), "x.dylib")
    assert (code.form, bool(code.unread)) == ("", True)
    with pytest.raises(CutShortError):
        macho.read(make.window(data))
