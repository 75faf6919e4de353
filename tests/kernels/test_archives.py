"""Static archives: against the program ``ar`` itself, and members whose headers lie."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.kernels import archive, contents
from compat.kernels.window import Problems

AR = shutil.which("ar")
needs_ar = pytest.mark.skipif(AR is None, reason="the program ar is not installed")
HEADER = "{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n"


def read(make, data):
    """Names and contents of the members, and what was broken."""
    problems = Problems()
    found = [(item.name, item.window.head(item.window.size)) for item in archive.members(make.window(data), problems)]
    return found, problems.texts()


def packed(folder, members, *options):
    """An archive that ``ar`` makes of these files."""
    for name, data in members.items():
        (folder / name).write_bytes(data)
    subprocess.run([AR, "rcD", *options, "lib.a", *members], cwd=folder, check=True, capture_output=True)
    return (folder / "lib.a").read_bytes()


@needs_ar
@settings(max_examples=15)
@given(
    st.dictionaries(
        st.text("abcXYZ019._-+", min_size=1, max_size=40).filter(lambda name: name[0] not in ".-"),
        st.binary(max_size=90),
        max_size=5,
    )
)
def test_members_are_those_that_ar_lists_with_their_bytes(make, tmp_path_factory, members):
    members.pop("lib.a", None)
    folder = tmp_path_factory.mktemp("ar")
    data = packed(folder, members)
    listed = subprocess.run([AR, "t", "lib.a"], cwd=folder, check=True, capture_output=True, text=True).stdout.split()
    found, broken = read(make, data)
    assert [name for name, _ in found] == listed
    assert dict(found) == members
    assert broken == ()


@needs_ar
def test_the_table_of_symbols_is_no_member(make, tmp_path):
    library = make.elf([(".nv_fatbin", make.container(make.entry(2, 80)))], kind=1, symbols=[("kernel", True)])
    data = packed(tmp_path, {"a_kernel_with_a_very_long_name.o": library, "b.o": b"odd"}, "-s")
    assert [name for name, _ in read(make, data)[0]] == ["a_kernel_with_a_very_long_name.o", "b.o"]
    codes = {code.path: code.sass for code in contents.read(make.window(data), "lib.a")}
    assert codes["lib.a(a_kernel_with_a_very_long_name.o)"] == ("sm_80",)


def member(name, data, *, size=None, end="`\n"):
    """One member, whose header may lie about its size or its end."""
    head = HEADER.format(name, 0, 0, 0, 644, len(data) if size is None else size)
    return head.replace("`\n", end).encode() + data + b"\n" * (len(data) % 2)


GOOD = member("good.o/", b"GOOD")


@pytest.mark.parametrize(
    ("data", "names", "said"),
    [
        (GOOD + GOOD, ["good.o", "good.o"], ""),
        (GOOD + b"\n", ["good.o"], ""),
        (GOOD + GOOD[:59], ["good.o"], "breaks off within the header at 0x48"),
        (GOOD + member("bad.o/", b"BAD!", end="xx") + GOOD, ["good.o"], "header at 0x48 is broken"),
        (GOOD + member("bad.o/", b"BAD!", size="-4") + GOOD, ["good.o"], "header at 0x48 is broken"),
        (GOOD + member("bad.o/", b"BAD!", size="4x") + GOOD, ["good.o"], "header at 0x48 is broken"),
        (GOOD + member("bad.o/", b"BAD!", size="") + GOOD, ["good.o"], "header at 0x48 is broken"),
        (GOOD + member("big.o/", b"BIG!", size="9999999999"), ["good.o", "big.o"], "claims 9999999999 bytes"),
        (member("/7", b"x") + GOOD, ["", "good.o"], ""),
        (member("//", b"long_name.o/\nother.o/\n") + member("/13", b"x") + member("/99", b"y"), ["other.o", ""], ""),
        (member("/SYM64/", b"\0" * 8) + member("/", b"\0" * 4) + member("__.SYMDEF", b"") + GOOD, ["good.o"], ""),
        (member("#1/8", b"inner.o\0rest"), ["inner.o"], ""),
        (member("#1/9999", b"inner.o\0rest"), ["inner.o"], ""),
        (member("#1/x", b"data"), ["#1/x"], ""),
        (b"", [], ""),
    ],
)
def test_headers_that_lie_end_the_chain_and_say_so(make, data, names, said):
    found, broken = read(make, archive.MAGIC + data)
    assert [name for name, _ in found] == names
    assert said in " ".join(broken)
    assert bool(broken) is bool(said)


def test_an_archive_within_an_archive_is_not_walked(make):
    inner = archive.MAGIC + member("k.ptx/", b".version 8.0\n.target sm_90\n")
    codes = list(contents.read(make.window(archive.MAGIC + member("inner.a/", inner)), "outer.a"))
    assert [code.path for code in codes] == ["outer.a"]
    (kernel, whole) = contents.read(make.window(inner), "inner.a")
    assert (kernel.path, kernel.ptx, whole.form) == ("inner.a(k.ptx)", ("compute_90",), "archive")
