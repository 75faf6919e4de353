"""Kernel targets against the vendors' compatibility rules, as tables of cases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.targets import Families, Sm, is_gfx, is_intel, is_target, kernels_for, sm

FAMILIES = Families(
    frozenset({"sm_53", "sm_62", "sm_72", "sm_87", "sm_110"}),
    {"gfx1100": "gfx11-generic", "gfx1103": "gfx11-generic", "gfx1201": "gfx12-generic", "gfx90c": "gfx9-generic"},
    {"lnl-m": ("lnl-m", "xe2-lpg", "bmg"), "bmg": ("bmg", "xe2-hpg")},
)


@pytest.mark.parametrize(
    ("device", "code", "expected"),
    [
        # the same-major rule: code for a lower minor runs on a higher one, never across majors
        ("sm_89", "sm_86", "native"),
        ("sm_86", "sm_80", "native"),
        ("sm_61", "sm_60", "native"),
        ("sm_121", "sm_120", "native"),
        ("sm_103", "sm_100", "native"),
        ("sm_80", "sm_86", "none"),
        ("sm_90", "sm_86", "none"),
        ("sm_120", "sm_90", "none"),
        ("sm_120", "sm_100", "none"),
        # architecture-specific code does not travel, family-specific code stays in its family
        ("sm_90", "sm_90a", "native"),
        ("sm_103", "sm_100a", "none"),
        ("sm_103", "sm_100f", "native"),
        ("sm_120", "sm_100f", "none"),
        # Jetson and desktop do not mix, although majors agree
        ("sm_87", "sm_86", "none"),
        ("sm_87", "sm_80", "none"),
        ("sm_89", "sm_87", "none"),
        ("sm_87", "sm_87", "native"),
        ("sm_72", "sm_70", "none"),
        # PTX goes up, not down; compute_90a is for 9.0 alone
        ("sm_120", "compute_90", "ptx"),
        ("sm_80", "compute_90", "none"),
        ("sm_90", "compute_90a", "ptx"),
        ("sm_100", "compute_90a", "none"),
        ("sm_120", "compute_100f", "none"),
        ("sm_103", "compute_100f", "ptx"),
        # AMD: the target itself, its generic, features that must agree
        ("gfx1100", "gfx1100", "native"),
        ("gfx1101", "gfx1100", "none"),
        ("gfx1103", "gfx11-generic", "native"),
        ("gfx1201", "gfx11-generic", "none"),
        ("gfx90a:xnack-", "gfx90a:xnack+", "none"),
        ("gfx90a:xnack+", "gfx90a", "native"),
        ("gfx90a", "gfx90a:sramecc+:xnack-", "native"),
        ("gfx90a", "gfx90a:", "none"),
        # an intermediate for the linker is neither SASS nor PTX: nothing loads it
        ("sm_89", "lto_89", "none"),
        ("sm_90", "lto_80", "none"),
        # Intel: what the compiler calls it or a kin, SPIR-V for every device that is known, and for no other
        ("bmg", "bmg", "native"),
        ("lnl-m", "bmg", "native"),
        ("bmg", "lnl-m", "none"),
        ("bmg", "spir64", "ptx"),
        ("pvc", "spir64", "none"),
        ("pvc", "pvc", "none"),
        # generations of the TPU and series of Ascend, each for itself
        ("tpu-v5e", "tpu-v5e", "native"),
        ("tpu-v6e", "tpu-v5e", "none"),
        ("ascend-910b", "ascend-910b", "native"),
        ("ascend-910b", "ascend-310p", "none"),
        # vendors never mix
        ("sm_89", "spir64", "none"),
        ("gfx1100", "spir64", "none"),
        ("bmg", "compute_80", "none"),
        ("gfx1100", "sm_89", "none"),
        ("sm_89", "gfx1100", "none"),
    ],
)
def test_one_target_against_one_device(device, code, expected):
    assert kernels_for(device, [code], FAMILIES) == expected


def test_native_code_wins_over_ptx_wherever_it_stands_in_the_list():
    assert kernels_for("sm_86", ["compute_80", "sm_80"], FAMILIES) == "native"
    assert kernels_for("sm_120", ["sm_90", "compute_90"], FAMILIES) == "ptx"
    assert kernels_for("sm_89", [], FAMILIES) == "none"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sm_90a", Sm(9, 0, "a")),
        ("compute_120f", Sm(12, 0, "f", ptx=True)),
        ("8.9", Sm(8, 9)),
        ("8.0+PTX", Sm(8, 0, ptx=True)),
        ("sm_121", Sm(12, 1)),
        ("gfx90a", None),
        ("sm_9", None),
        ("lto_89", None),
        ("xsm_89", None),
        ("sm_89x", None),
        ("sm_89 ", None),
        ("v8.9", None),
        ("8.9.1", None),
        ("8.9+", None),
        ("", None),
    ],
)
def test_spelling_of_nvidia_targets(text, value):
    assert sm(text) == value


def test_what_counts_as_a_device():
    assert is_target("sm_89")
    assert is_target("gfx90a:xnack+")
    assert not is_target("sm_90a")
    assert not is_target("compute_90")
    assert not is_target("gfx11-generic")
    assert is_gfx("gfx11-generic")
    assert not is_gfx("gfx")


capability = st.tuples(st.integers(3, 13), st.integers(0, 9)).map(lambda cc: f"sm_{cc[0]}{cc[1]}")


@given(capability)
def test_every_device_runs_its_own_code(device):
    assert kernels_for(device, [device], FAMILIES) == "native"
    assert kernels_for(device, [device + "a"], FAMILIES) == "native"


@given(capability, st.lists(capability, max_size=6), capability)
def test_more_code_never_hurts(device, code, extra):
    order = ["none", "ptx", "native"]
    less, more = kernels_for(device, code, FAMILIES), kernels_for(device, [*code, extra], FAMILIES)
    assert order.index(more) >= order.index(less)


@given(capability)
def test_a_reading_prints_as_it_was_read(target):
    assert str(sm(target)) == target
    assert sm(sm(target).capability) == sm(target)


@pytest.mark.parametrize(
    ("text", "amd"),
    [
        ("gfx906", True),
        ("gfx90a", True),
        ("gfx1100", True),
        ("gfx9-generic", True),
        ("gfx9-4-generic", True),
        ("gfx90a:sramecc+:xnack-", True),
        ("gfx90a:", False),
        ("gfx90a:xnack", False),
        ("GFX90A", False),
        ("xgfx90a", False),
        ("gfx90a gfx908", False),
        ("gfx12345", False),
    ],
)
def test_spelling_of_amd_targets(text, amd):
    assert is_gfx(text) is amd


@pytest.mark.parametrize("nonsense", ["", "cuda", "gpu0", "sm_", "gfx", ":", "8", "Tesla T4"])
def test_a_word_that_is_no_target_runs_nothing_and_is_run_by_nothing(nonsense):
    assert kernels_for("sm_89", [nonsense], FAMILIES) == "none"
    assert kernels_for("gfx90a", [nonsense], FAMILIES) == "none"
    assert kernels_for(nonsense, ["sm_89", "compute_50", "gfx90a"], FAMILIES) == "none"


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=3))
def test_no_text_breaks_the_comparison(device, code):
    assert kernels_for(device, code, FAMILIES) in {"native", "ptx", "none"}


code_of_nvidia = st.builds(
    lambda kind, major, minor, suffix: f"{kind}_{major}{minor}{suffix}",
    st.sampled_from(["sm", "compute"]),
    st.integers(3, 13),
    st.integers(0, 9),
    st.sampled_from(["", "a", "f"]),
)


def programming_guide(device, code):
    """The CUDA C++ Programming Guide's compatibility rules, written once more and by other means."""
    kind, _, rest = code.partition("_")
    suffix = rest[-1] if rest[-1] in "af" else ""
    have = int(rest.rstrip("af"))
    want = int(device.removeprefix("sm_"))
    if suffix == "a":
        fits = want == have
    elif suffix == "f" or kind == "sm":
        fits = have <= want < have - have % 10 + 10
    else:
        fits = want >= have
    return {("sm", True): "native", ("compute", True): "ptx"}.get((kind, fits), "none")


@given(capability, code_of_nvidia)
def test_desktop_devices_follow_the_programming_guide(device, code):
    assert kernels_for(device, [code], Families()) == programming_guide(device, code)


@given(capability, st.lists(code_of_nvidia, max_size=5))
def test_a_list_is_as_good_as_its_best_member(device, code):
    order = ["none", "ptx", "native"]
    best = max((kernels_for(device, [one], FAMILIES) for one in code), key=order.index, default="none")
    assert kernels_for(device, code, FAMILIES) == best
    assert kernels_for(device, code[::-1], FAMILIES) == best


@given(st.sampled_from(sorted(FAMILIES.integrated)), code_of_nvidia)
def test_a_jetson_runs_machine_code_for_itself_alone(device, code):
    if kernels_for(device, [code], FAMILIES) == "native":
        assert code.rstrip("af") == device


@pytest.mark.parametrize("text", ["pvc", "arl-h", "spir64", "xe2-lpg", "dg2-g10", "ats-m150"])
def test_names_of_intel_code(text):
    assert is_intel(text)
    assert not is_target(text)
    assert sm(text) is None


@pytest.mark.parametrize(
    "text", ["sm80", "sm_80", "compute_90", "gfx1100", "gfx11-generic", "", "-", "PVC", "pvc ", "a"]
)
def test_a_slip_in_another_vendors_target_is_no_intel_name(text):
    assert not is_intel(text)
