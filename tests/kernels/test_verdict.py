"""Whether a device runs what a file carries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.kernels import Code, Inspection, judge
from compat.targets import Families, kernels_for

FAMILIES = Families(frozenset({"sm_87", "sm_110"}), {"gfx1100": "gfx11-generic", "gfx1151": "gfx11-generic"})


def carrying(*groups, isa=None, path="lib.so", unread=()):
    """An inspection of one library; each group is the targets of a fat binary, times a number."""
    binaries = {tuple(targets.split()): count for targets, count in groups}
    images = {}
    for targets, count in binaries.items():
        for target in targets:
            images[target] = images.get(target, 0) + count
    return Inspection(
        path=path, objects=(Code(path=path, images=images, binaries=binaries, isa=isa or {}, unread=unread),)
    )


@pytest.mark.parametrize(
    ("code", "device", "kernels"),
    [
        ("sm_80 sm_90", "sm_90", "native"),
        ("sm_80 sm_90", "sm_89", "native"),  # same major, higher minor
        ("sm_86 sm_90", "sm_80", "none"),
        ("sm_80", "sm_90", "none"),
        ("sm_80 compute_80", "sm_120", "ptx"),
        ("sm_80 compute_90", "sm_89", "native"),
        ("sm_90a", "sm_90", "native"),
        ("compute_90a", "sm_100", "none"),
        ("sm_100f", "sm_103", "native"),
        ("sm_100a", "sm_103", "none"),
        ("sm_80", "sm_87", "none"),  # Jetson
        ("gfx90a gfx942", "gfx942", "native"),
        ("gfx90a:xnack+", "gfx90a:xnack-", "none"),
        ("gfx11-generic", "gfx1151", "native"),
        ("gfx1030", "gfx1031", "none"),
        ("gfx942 sm_90", "gfx1100", "none"),
    ],
)
def test_one_fat_binary_on_one_device(code, device, kernels):
    verdict = judge(carrying((code, 1)), device, FAMILIES)
    assert verdict.kernels == kernels
    assert device in verdict.why
    assert verdict.lacking == (("lib.so",) if kernels == "none" else ())


TARGETS = ["sm_75", "sm_80", "sm_86", "sm_87", "sm_90", "sm_90a", "sm_100f", "sm_120", "compute_75", "compute_90", "compute_90a",
           "gfx90a", "gfx90a:xnack+", "gfx942", "gfx1100", "gfx11-generic"]  # fmt: skip
DEVICES = ["sm_75", "sm_80", "sm_87", "sm_89", "sm_90", "sm_103", "sm_120", "gfx90a:xnack-", "gfx942", "gfx1151"]


@given(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=5, unique=True), st.sampled_from(DEVICES))
def test_a_single_fat_binary_is_judged_as_the_targets_say(code, device):
    """The shares and cores of many fat binaries must not change what one of them means."""
    same = [name for name in code if name.startswith("gfx") == device.startswith("gfx")]
    assert judge(carrying((" ".join(code), 1)), device, FAMILIES).kernels == kernels_for(device, same, FAMILIES)


@given(
    st.lists(st.tuples(st.sampled_from(TARGETS), st.integers(1, 50)), min_size=1, max_size=6), st.sampled_from(DEVICES)
)
def test_more_code_never_takes_support_away(groups, device):
    """A library that serves a device still does with every fat binary it has doubled."""
    once = judge(carrying(*groups), device, FAMILIES)
    twice = judge(carrying(*((targets, 2 * count) for targets, count in groups)), device, FAMILIES)
    assert (once.kernels, once.lacking) == (twice.kernels, twice.lacking)
    assert once.served <= once.total
    assert once.kernels != "none" or once.served < max(once.total, 1)


def test_the_isa_that_the_driver_must_know_is_told():
    found = carrying(("sm_75 compute_75 compute_90", 1), isa={"compute_75": ("8.0", "8.7"), "compute_90": ("9.0",)})
    verdict = judge(found, "sm_120", FAMILIES)
    assert (verdict.kernels, verdict.isa) == ("ptx", "8.0")
    assert "8.0" not in verdict.why or verdict.isa in verdict.why


def test_most_of_it_decides():
    """A build whose kernels nearly all lack the device does not run there, whatever a single one does."""
    torch = carrying(("sm_80 sm_90", 475), ("sm_80 sm_90 sm_121a", 1))
    verdict = judge(torch, "sm_121", FAMILIES)
    assert (verdict.kernels, verdict.served, verdict.total) == ("none", 1, 476)
    assert "only 1 of 476" in verdict.why
    assert judge(torch, "sm_90", FAMILIES).why == "it carries machine code that sm_90 runs"


def test_kernels_for_one_generation_only_do_not_hide_the_rest():
    mixed = carrying(("sm_80 sm_86", 300), ("sm_90a", 60))
    assert (judge(mixed, "sm_80", FAMILIES).kernels, judge(mixed, "sm_80", FAMILIES).served) == ("native", 300)
    assert "300 of 360" in judge(mixed, "sm_80", FAMILIES).why


def test_a_library_built_architecture_by_architecture_serves_all_of_them():
    """As cuBLASLt 13: hardly a fat binary is for more than two targets, so that none is in most of them."""
    blas = carrying(
        ("sm_90a sm_120f", 868), ("sm_100", 614), ("sm_90a", 273), ("sm_75 sm_80 sm_86 compute_120", 63), ("sm_75", 34)
    )
    assert [judge(blas, device, FAMILIES).kernels for device in ("sm_75", "sm_86", "sm_100", "sm_120")] == [
        "native"
    ] * 4


def test_a_library_that_nearly_leaves_a_device_out_is_named():
    """As torch 2.15's linear algebra on sm_75: one fat binary of 33 has code for it."""
    main = carrying(("sm_75 sm_80 sm_90", 476)).objects
    algebra = carrying(("sm_80 sm_90", 32), ("sm_75 sm_80 sm_90", 1), path="linalg.so").objects
    verdict = judge(Inspection(path="torch", objects=main + algebra), "sm_75", FAMILIES)
    assert (verdict.kernels, verdict.lacking) == ("native", ("linalg.so",))


def test_a_sideline_does_not_make_a_package_support_a_device():
    main = carrying(("sm_80 sm_90", 476)).objects
    side = carrying(("sm_75 sm_80", 6), path="side.so").objects
    verdict = judge(Inspection(path="torch", objects=main + side), "sm_75", FAMILIES)
    assert (verdict.kernels, verdict.lacking) == ("none", ("lib.so",))


@pytest.mark.parametrize("form", ["name", "kpack", "hsaco", "cubin"])
def test_files_for_other_targets_are_no_lack(form):
    """A folder of Tensile or Triton has a file per target: one that fits is enough."""
    files = [
        Code(path=name, form=form, images={name: 1}, binaries={(name,): 1})
        for name in ("gfx906", "gfx942", "gfx1100", "sm_80")
    ]
    verdict = judge(Inspection(path="library", objects=tuple(files)), "gfx942", FAMILIES)
    assert (verdict.kernels, verdict.served, verdict.total, verdict.lacking) == ("native", 1, 1, ())
    assert judge(Inspection(path="library", objects=tuple(files)), "gfx1030", FAMILIES).kernels == "none"


def test_as_much_machine_code_as_ptx_is_native():
    assert judge(carrying(("compute_80", 3), ("sm_120", 3)), "sm_120", FAMILIES).kernels == "native"


def test_mostly_ptx_is_ptx():
    assert judge(carrying(("compute_80", 9), ("sm_120", 1)), "sm_120", FAMILIES).kernels == "ptx"


def test_nothing_found_is_no_verdict():
    verdict = judge(Inspection(path="x", objects=(Code(path="x"),)), "sm_90", FAMILIES)
    assert (verdict.kernels, verdict.lacking) == ("unknown", ())
    assert "no GPU code" in verdict.why


def test_what_could_not_be_read_may_have_held_it():
    assert judge(carrying(("sm_80", 1), unread=("cut",)), "sm_90", FAMILIES).kernels == "unknown"
    assert judge(carrying(("sm_90", 1), unread=("cut",)), "sm_90", FAMILIES).kernels == "native"


def test_the_library_that_lacks_the_device_is_named():
    both = carrying(("sm_80 sm_90", 10)).objects + carrying(("sm_80", 1), path="side.so").objects
    verdict = judge(Inspection(path="pkg", objects=both), "sm_90", FAMILIES)
    assert (verdict.kernels, verdict.lacking) == ("native", ("side.so",))
