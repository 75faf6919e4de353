"""NVIDIA fat binaries: what a section of containers says it carries."""

import pytest

from compat.kernels import contents, fatbin
from compat.kernels.window import Problems

PTX, SASS, NVVM = 1, 2, 8


def read(make, data):
    """(targets of each container, complaints)."""
    problems = Problems()
    found = [[image.target for image in binary] for binary in fatbin.binaries(make.window(data), problems)]
    return found, problems.texts()


# kind, architecture and flags as nvcc 13.0 and 13.5 write them (measured), and cuobjdump's name for them
TARGETS = [
    (SASS, 75, 0x11, "sm_75"),
    (SASS, 90, 0x100011, "sm_90a"),
    (SASS, 100, 0x1000011, "sm_100"),
    (SASS, 100, 0x1100011, "sm_100a"),
    (SASS, 100, 0x1208011, "sm_100f"),
    (SASS, 120, 0x1000011, "sm_120"),
    (SASS, 121, 0x1108011, "sm_121a"),
    (16, 103, 0x1200011, "sm_103f"),
    (PTX, 80, 0x8011, "compute_80"),
    (PTX, 90, 0x108011, "compute_90a"),
    (PTX, 100, 0x200011, "compute_100f"),
    (NVVM, 80, 0x18011, "lto_80"),
]


@pytest.mark.parametrize(("kind", "arch", "flags", "target"), TARGETS)
def test_every_kind_of_entry_has_its_target(make, kind, arch, flags, target):
    assert read(make, make.container(make.entry(kind, arch, flags=flags))) == ([[target]], ())


@pytest.mark.parametrize("flags", [0x11, 0x2011, 0x8011])
def test_compression_does_not_hide_the_target(make, flags):
    data = make.container(make.entry(PTX, 80, flags=flags, version=(8, 7)))
    ((image,),) = ([*binary] for binary in fatbin.binaries(make.window(data), Problems()))
    assert image == ("compute_80", "8.7")


def test_longer_entry_headers_are_stepped_over(make):
    data = make.container(
        make.entry(SASS, 100, header=120), make.entry(PTX, 100, header=80), make.entry(SASS, 120, header=112)
    )
    assert read(make, data) == ([["sm_100", "compute_100", "sm_120"]], ())


@pytest.mark.parametrize("gap", [0, 8, 40, 4000, 4088])
def test_containers_follow_one_another_with_padding(make, gap):
    first = make.container(make.entry(SASS, 80, payload=b"\1" * 24), make.entry(SASS, 90))
    second = make.container(make.entry(SASS, 120))
    assert read(make, first + bytes(gap) + second + bytes(gap)) == ([["sm_80", "sm_90"], ["sm_120"]], ())


def test_an_unaligned_payload_does_not_shift_the_next_container(make):
    first = make.container(make.entry(SASS, 80, payload=b"\1" * 13))
    assert read(make, first.ljust(96, b"\0") + make.container(make.entry(SASS, 90)))[0] == [["sm_80"], ["sm_90"]]


def test_foreign_bytes_between_containers_are_searched(make):
    data = make.container(make.entry(SASS, 80)) + b"junkjunk" * 2000 + make.container(make.entry(SASS, 90))
    assert read(make, data)[0] == [["sm_80"], ["sm_90"]]


def test_unknown_kinds_are_passed_by(make):
    assert read(make, make.container(make.entry(64, 80), make.entry(SASS, 90))) == ([["sm_90"]], ())


def test_no_container_no_image(make):
    assert read(make, b"") == ([], ())
    assert read(make, bytes(5000)) == ([], ())
    assert read(make, b"\x50\xed\x55\xba") == ([], ())


def test_a_payload_that_is_not_there_is_told(make):
    found, problems = read(
        make, make.container(make.entry(SASS, 80), make.entry(SASS, 90, claim=1 << 40), claim=1 << 41)
    )
    assert found == [["sm_80", "sm_90"]]
    assert len(problems) == 2
    assert str(1 << 40) in problems[1]


def test_a_header_too_short_to_be_one_ends_its_container_only(make):
    bad = make.container(make.entry(SASS, 80), make.entry(SASS, 90, header=8), make.entry(SASS, 86))
    found, problems = read(make, bad + make.container(make.entry(SASS, 120)))
    assert found[0] == ["sm_80"]
    assert found[-1] == ["sm_120"]
    assert "header of 8 bytes" in problems[0]


@pytest.mark.parametrize("arch", [0, 9, 1000, 0xFFFFFFFF])
def test_an_architecture_that_cannot_be_is_not_repeated(make, arch):
    found, problems = read(make, make.container(make.entry(SASS, arch), make.entry(SASS, 90)))
    assert found == [["sm_90"]]
    assert "which is none" in problems[0]


def test_every_cut_of_a_file_is_read_as_far_as_it_goes(make):
    whole = make.container(make.entry(SASS, 80), make.entry(PTX, 90, header=80))
    targets = [read(make, whole[:size])[0] for size in range(len(whole) + 1)]
    assert targets[-1] == [["sm_80", "compute_90"]]
    assert all(found in ([], [[]], [["sm_80"]], [["sm_80", "compute_90"]]) for found in targets)
    assert all(read(make, whole[:size])[1] for size in range(16, len(whole)))


def test_images_and_isa_are_counted_per_object(make):
    fat = make.container(make.entry(SASS, 80), make.entry(PTX, 90, version=(8, 10))) + make.container(
        make.entry(SASS, 80), make.entry(PTX, 90, version=(8, 7))
    )
    (code,) = contents.read(make.window(make.elf([(".nv_fatbin", fat), (".text", b"x")])), "lib.so")
    assert code.images == {"sm_80": 2, "compute_90": 2}
    assert code.isa == {"compute_90": ("8.7", "8.10")}
    assert code.binaries == {("sm_80", "compute_90"): 2}
    assert (code.sass, code.ptx, code.form, code.relocatable) == (("sm_80",), ("compute_90",), "elf", False)


def test_relocatable_device_code_counts_in_an_object_file_only(make):
    """As in bitsandbytes: the linked code has no PTX, what the device linker left behind has, and nothing can use it."""
    left = make.container(make.entry(SASS, 80), make.entry(PTX, 90))
    linked = [("__nv_relfatbin", left), (".nv_fatbin", make.container(make.entry(SASS, 80)))]
    (library,) = contents.read(make.window(make.elf(linked)), "lib.so")
    assert (library.targets, library.relocatable) == (("sm_80",), False)
    (part,) = contents.read(make.window(make.elf([("__nv_relfatbin", left)], kind=1)), "kernel.o")
    assert (part.targets, part.relocatable) == (("sm_80", "compute_90"), True)


def test_several_sections_of_one_name_are_all_read(make):
    parts = [(".nv_fatbin", make.container(make.entry(SASS, arch))) for arch in (80, 90)]
    (code,) = contents.read(make.window(make.elf(parts)), "kernel.o")
    assert code.sass == ("sm_80", "sm_90")


def test_a_windows_library_is_read_by_its_cut_section_name(make):
    data = make.pe([(".nv_fatb", make.container(make.entry(SASS, 86)))], imports=["cudart64_12.dll", "KERNEL32.dll"])
    (code,) = contents.read(make.window(data), "_C.cp311-win_amd64.pyd")
    assert (code.sass, code.needed) == (("sm_86",), ("cudart64_12.dll", "KERNEL32.dll"))
    assert (code.form, code.python_tag, code.linkage.machine, code.implied) == ("pe", "cp311", "x86_64", {"cuda": "12"})


def test_a_bare_fat_binary_file(make):
    (code,) = contents.read(make.window(make.container(make.entry(SASS, 90, flags=0x100000))), "a.fatbin")
    assert (code.form, code.sass) == ("fatbin", ("sm_90a",))
