"""Claims weighed against each other: who is believed, what two programs that disagree make of a fact, what is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.facts import Build, Fact, Gpu, Unknown
from compat.reading import merge
from compat.reading import read as read_text
from compat.reading.claims import Claim, Weight


def claim(fact, value, line=1, program="p", **more):
    return Claim(fact, value, line=line, program=program, **more)


def read(*claims, fact="driver"):
    """(value, source) of a fact, or why it is unknown."""
    reading = merge.merge(claims)[0].reading(fact)
    return (reading.value, reading.source) if isinstance(reading, Fact) else reading.why


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ("3.8", "3.8", True),
        ("3.8", "3.8.10", True),
        ("3.8.10", "3.8", True),
        ("2.1.0", "2.1.0+cu121", True),
        ("5.15", "5.15-generic", True),
        ("3.8", "3.80", False),
        ("3.8", "3.9", False),
        (True, False, False),
        (3, 3, True),
    ],
)
def test_a_coarser_value_does_not_contradict_a_finer_one(left, right, both):
    assert merge.agree(left, right) is both


@given(st.lists(st.integers(0, 99), min_size=1, max_size=4), st.integers(1, 3))
def test_what_continues_a_number_refines_it_and_never_the_other_way_round(parts, cut):
    whole = ".".join(map(str, parts))
    coarse = ".".join(map(str, parts[:cut]))
    assert merge.refines(whole, coarse) is (cut < len(parts))
    assert not merge.refines(coarse, whole)


@pytest.mark.parametrize(
    ("claims", "answer"),
    [
        # heavier wins
        (
            [claim("driver", "1.0", weight=Weight.HAND), claim("driver", "2.0", 2, weight=Weight.LISTED)],
            ("2.0", "p line 2"),
        ),
        # a lighter one may only make it finer
        ([claim("driver", "2.0", 1), claim("driver", "2.0.5", 2, weight=Weight.HINT)], ("2.0.5", "p line 2")),
        ([claim("driver", "2.0", 1), claim("driver", "3.0.5", 2, weight=Weight.HINT)], ("2.0", "p line 1")),
        # one program that contradicts itself is not believed; of two programs the first is
        ([claim("driver", "1.0", 1), claim("driver", "2.0", 2)], "p line 1 says 1.0, p line 2 says 2.0"),
        ([claim("driver", "1.0", 1), claim("driver", "2.0", 2, program="q")], ("1.0", "p line 1")),
        ([claim("driver", "1.0", 1), claim("driver", "1.0.7", 2)], ("1.0.7", "p line 2")),
        ([claim("driver", None), claim("driver", "1.0", 3)], ("1.0", "p line 3")),
    ],
)
def test_one_fact_from_all_its_claims(claims, answer):
    assert read(*claims) == answer


def test_no_claim_is_no_fact():
    host, notes = merge.merge([claim("driver", None)])
    assert not host.known("driver")
    assert notes == []


@pytest.mark.parametrize(
    ("claims", "packages", "note"),
    [
        ([claim("packages", "2.1.0", key="Torch")], {"torch": "2.1.0"}, ""),
        ([claim("packages", "1", key="a.b_c"), claim("packages", "1.0", 2, key="A-B-C")], {"a-b-c": "1.0"}, ""),
        (
            [
                claim("packages", "1.0", key="a", weight=Weight.LISTED),
                claim("packages", "2.0", 2, key="a", weight=Weight.LISTED),
            ],
            {},
            "a: p line 1 says 1.0, p line 2 says 2.0",
        ),
        # what the running interpreter says of itself outweighs any list
        (
            [claim("packages", "1.0", key="a"), claim("packages", "2.0", 2, key="a", weight=Weight.LISTED)],
            {"a": "1.0"},
            "",
        ),
    ],
)
def test_a_table_has_one_entry_per_name(claims, packages, note):
    host, notes = merge.merge(claims)
    assert host.packages == packages
    assert notes == ([note] if note else [])


@pytest.mark.parametrize(
    ("name", "known_as"),
    [
        ("pytorch", "torch"),
        ("pytorch-gpu", "torch"),
        ("numpy", "numpy"),
        ("Some_Package", "some-package"),
        ("cudatoolkit", None),
        ("pytorch-cuda", None),
        ("libgcc", None),
        ("python", None),
        ("_openmp_mutex", None),
    ],
)
def test_a_conda_package_counts_under_the_name_that_pip_knows(name, known_as):
    host, _ = merge.merge([claim("conda_packages", "1.0", key=name)])
    assert (host.packages if host.known("packages") else {}) == ({known_as: "1.0"} if known_as else {})
    assert host.conda_packages == {name: "1.0"}


@pytest.mark.parametrize(
    ("version", "runtime"),
    [
        ("2.1.0+cu121", "cuda12.1"),
        ("2.1.0+cu118", "cuda11.8"),
        ("1.4.0+cu92", "cuda9.2"),
        ("2.3.0+rocm6.0", "rocm6.0"),
        ("2.1.0+cpu", "cpu"),
        ("2.6.0+xpu", "xpu"),
        ("2.1.0", None),
        ("2.1.0+git123", None),
    ],
)
def test_the_local_tag_of_torch_names_its_runtime(version, runtime):
    host, _ = merge.merge([claim("packages", version, key="torch")])
    builds = host.builds if host.known("builds") else {}
    assert (builds["torch"].runtime if builds else None) == runtime


def test_a_runtime_that_was_said_is_not_overwritten_by_a_tag():
    said = claim("builds", Build(runtime="cuda12.4"), 2, key="torch")
    host, _ = merge.merge([claim("packages", "2.1.0+cu121", key="torch"), said])
    assert host.builds["torch"].runtime == "cuda12.4"


def test_each_field_of_a_build_is_from_the_heaviest_that_has_it():
    host, _ = merge.merge(
        [
            claim("builds", Build(runtime="cuda12.1", cudnn="9.1"), 1, key="torch"),
            claim("builds", Build(runtime="cuda11.8", kernels=("sm_80",)), 2, key="torch", weight=Weight.HAND),
        ]
    )
    assert host.builds["torch"] == Build(runtime="cuda12.1", cudnn="9.1", kernels=("sm_80",))
    assert host.source("builds") == "p lines 1-2"


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        (["a line 3"], "a line 3"),
        (["a line 3", "a line 3"], "a line 3"),
        (["a line 40", "a line 3", "b line 5"], "a lines 3-40, b line 5"),
        ([], ""),
    ],
)
def test_lines_of_a_program_are_cited_together(sources, told):
    assert merge._together(sources) == told


def long_report(value, **more):
    fine = [
        claim(fact, "1", at, program="collect_env") for at, fact in enumerate(("os_name", "kernel", "glibc", "python"))
    ]
    return [*fine, claim("driver", value, 9, program="collect_env", last=True, **more)]


def test_what_stands_where_a_long_report_was_cut_is_not_believed():
    host, notes = merge.merge(long_report("535.1"))
    assert not host.known("driver")
    assert notes == ["collect_env line 9: the text ends inside this line, so its value may be cut"]
    few = [claim("driver", "535.1", 9, program="collect_env", last=True)]
    assert merge.merge(few)[0].driver == "535.1"
    short = [
        item if item.program != "collect_env" else claim(item.fact, item.value, last=item.last)
        for item in long_report("535.1")
    ]
    assert merge.merge(short)[0].driver == "535.1"


def gpu(name="", key="", line=1, program="p", target="", vendor="nvidia", **more):
    return claim("gpus", Gpu(name=name, target=target, vendor=vendor), line, program, key=key, **more)


@pytest.mark.parametrize(
    ("claims", "names"),
    [
        # numbered devices count each, though they are alike
        ([gpu("A100", "0"), gpu("A100", "1", 2)], ["A100", "A100"]),
        # another program names the same ones
        ([gpu("NVIDIA A100", "0"), gpu("A100", "0", 2, "q")], ["NVIDIA A100"]),
        (
            [gpu("GeForce GTX 106...", "0"), gpu("NVIDIA GeForce GTX 1060 6GB", "0", 2, "q")],
            ["NVIDIA GeForce GTX 1060 6GB"],
        ),
        ([gpu("A100", "0"), gpu("T4", "1", 2, "q")], ["A100", "T4"]),
        # what only a person names counts where no program names any
        ([gpu("A100", weight=Weight.HAND)], ["A100"]),
        ([gpu("T4", "0"), gpu("A100", line=2, program="q", weight=Weight.HAND)], ["T4"]),
        ([gpu("T4", weight=Weight.HINT), gpu("A100", line=2, program="q", weight=Weight.HAND)], ["A100"]),
    ],
)
def test_every_device_once(claims, names):
    host, _ = merge.merge(claims)
    assert [item.name for item in host.gpus] == names


@pytest.mark.parametrize(
    ("claims", "targets"),
    [
        (
            [gpu("A", "0"), gpu("B", "1"), gpu("", "0", target="sm_80"), gpu("", "1", target="sm_75")],
            ["sm_80", "sm_75"],
        ),
        ([gpu("A", "0"), gpu("A", "1"), gpu("", target="sm_80")], ["sm_80", "sm_80"]),
        ([gpu("A", "0"), gpu("B", "1"), gpu("", target="sm_80")], ["", ""]),  # whose it is cannot be told
        ([gpu("", target="sm_80"), gpu("", line=2, target="sm_80")], ["sm_80"]),
        ([gpu("", target="gfx1030", vendor="amd")], ["gfx1030"]),
    ],
)
def test_a_target_goes_to_the_device_that_it_can_only_belong_to(claims, targets):
    host, _ = merge.merge(claims)
    assert [item.target for item in host.gpus] == targets


def test_a_maker_that_another_program_denies_adds_nothing():
    amd = gpu("Radeon VII", "0", vendor="amd", target="gfx906")
    host, _ = merge.merge([amd, gpu("Radeon VII", "0", 2, "q", target="sm_90")])
    assert host.gpus == (Gpu(name="Radeon VII", target="gfx906", vendor="amd"),)


def test_a_thousand_devices_are_a_slip_and_are_cut():
    host, _ = merge.merge([gpu(f"Card {at}", str(at), at) for at in range(1000)])
    assert len(host.gpus) == 128


@given(st.lists(st.sampled_from(["1.0", "1.0.1", "2.0", "3"]), min_size=1, max_size=5))
def test_one_program_is_believed_only_if_all_it_says_can_be_true(values):
    reading = merge.merge([claim("driver", value, at) for at, value in enumerate(values)])[0].reading("driver")
    consistent = all(merge.agree(a, b) for a in values for b in values)
    assert isinstance(reading, Unknown) is not consistent
    if consistent:
        assert reading.value == max(values, key=len)


TWO = """Is debug build: False
Python version: 3.10.12 (main)
GPU models and configuration: GPU 0: {0}
Nvidia driver version: {1}
cuDNN version: Could not collect
"""


@pytest.mark.parametrize(
    ("second", "gpus", "driver"),
    [
        (("NVIDIA A100-SXM4-80GB", "535.54.03"), 1, "535.54.03"),  # one machine, pasted twice
        (("Tesla T4", "535.54.03"), None, "535.54.03"),
        (("Tesla T4", "550.54.14"), None, None),
    ],
)
def test_reports_of_two_machines_state_only_what_they_share(second, gpus, driver):
    page = read_text(TWO.format("NVIDIA A100-SXM4-80GB", "535.54.03") + "\n" + TWO.format(*second))
    found = page.host.gpus
    assert (found and len(found), page.host.driver, page.host.python) == (gpus, driver, "3.10.12")
