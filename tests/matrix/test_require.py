"""NVIDIA_REQUIRE_*: what the container toolkit refuses, and what we cannot know."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.errors import InputError
from compat.matrix import matrix
from compat.matrix.require import Check, conditions, parse, satisfies_require

MATRIX = matrix()


def of(cuda, os="ubuntu22.04"):
    return next(image.require for image in MATRIX.select("images", cuda=cuda, os=os, repository="nvidia/cuda"))


# Seen in reports and derived from the images' own conditions: see matrix/README.md on refusals.
HOSTS = [
    ("12.9.1", {"driver": "570.124.06", "driver_cuda": "12.8", "brand": "geforce"}, False),
    ("12.9.1", {"driver": "570.124.06", "driver_cuda": "12.8", "brand": "tesla"}, True),
    ("12.9.1", {"driver": "575.57.08", "driver_cuda": "12.9", "brand": "geforce"}, True),
    ("12.8.1", {"driver": "560.94", "driver_cuda": "12.6", "brand": "geforce"}, False),
    ("12.4.1", {"driver": "535.54.03", "driver_cuda": "12.2", "brand": "geforce"}, True),
    ("12.4.1", {"driver": "545.23.06", "driver_cuda": "12.3", "brand": "tesla"}, False),
    ("11.8.0", {"driver": "470.256.02", "driver_cuda": "11.4", "brand": "titan"}, True),
    ("11.8.0", {"driver": "515.65.01", "driver_cuda": "11.7", "brand": "tesla"}, False),
    ("12.9.1", {"driver": "570.124.06", "driver_cuda": "12.8"}, None),
    ("12.9.1", {"driver_cuda": "13.0"}, True),
    ("12.9.1", {}, None),
]


@pytest.mark.parametrize(("cuda", "facts", "expected"), HOSTS)
def test_images_on_hosts(cuda, facts, expected):
    assert satisfies_require(of(cuda), **facts).satisfied is expected


def test_the_reason_names_what_decides():
    assert "brand" in satisfies_require(of("12.9.1"), driver="570.1", driver_cuda="12.8").why
    assert "cuda>=12.9" in satisfies_require(of("12.9.1"), driver="570.1", driver_cuda="12.8", brand="geforce").why
    assert satisfies_require("").satisfied is True


TERMS = [
    ("driver>=535", {"driver": "535"}, True),
    ("driver>=535", {"driver": "535.0.0"}, True),
    ("driver>=535.0.1", {"driver": "535"}, False),
    ("driver<536", {"driver": "535.309.01"}, True),
    ("cuda=12.4", {"driver_cuda": "12.4"}, True),
    ("cuda!=12.4", {"driver_cuda": "12.4"}, False),
    ("cuda<=12.4", {"driver_cuda": "12.10"}, False),
    ("cuda<=12.4", {"driver_cuda": "12.4"}, True),
    ("cuda<12.4", {"driver_cuda": "12.4"}, False),
    ("cuda>12.4", {"driver_cuda": "12.4"}, False),
    ("cuda>=12.4", {"driver_cuda": "12.4.0"}, True),
    ("cuda!=12.4", {"driver_cuda": "12.5"}, True),
    ("cuda=12.4", {"driver_cuda": "12.5"}, False),
    ("CUDA>=12.4", {"driver_cuda": "12.4"}, True),
    ("Brand=TESLA", {"brand": "tesla"}, True),
    ("arch>=8.0", {"arch": "8.9"}, True),
    ("arch>9.0", {"arch": "9.0"}, False),
    ("brand=Tesla", {"brand": "tesla"}, True),
    ("brand!=tesla", {"brand": "Tesla"}, False),
    ("cuda>=99 brand=tesla", {"driver_cuda": "12.4", "brand": "tesla"}, True),
    ("cuda>=99,brand=tesla", {"driver_cuda": "12.4", "brand": "tesla"}, False),
    ("cuda>=99,,brand=tesla,  cuda>=1", {"driver_cuda": "12.4", "brand": "tesla"}, True),
]


@pytest.mark.parametrize(("expression", "facts", "expected"), TERMS)
def test_the_grammar(expression, facts, expected):
    assert satisfies_require(expression, **facts).satisfied is expected


@pytest.mark.parametrize(
    "expression", ["cuda", "cuda>=", ">=12", "colour=red", "brand>tesla", "driver>=new", "cuda=>12", "a" * 9999]
)
def test_what_the_toolkit_refuses_is_refused(expression):
    with pytest.raises(InputError, match="NVIDIA_REQUIRE"):
        parse(expression)


DRIVERS = ("470.1", "535.1", "570.1", "580.1")
CUDAS = ("11.4", "12.2", "12.8", "13.0")
BRANDS = ("tesla", "geforce", "quadro")
terms = st.one_of(
    st.tuples(st.just("driver"), st.sampled_from(("<", ">=", "=")), st.sampled_from(("470", "535.1", "571"))),
    st.tuples(st.just("cuda"), st.sampled_from((">=", "<", "!=")), st.sampled_from(("11.4", "12.5", "13.0"))),
    st.tuples(st.just("brand"), st.sampled_from(("=", "!=")), st.sampled_from(BRANDS)),
).map("".join)
expressions = st.lists(st.lists(terms, min_size=1, max_size=3).map(",".join), min_size=1, max_size=4).map(" ".join)


@given(
    expression=expressions,
    driver=st.sampled_from(("", *DRIVERS)),
    cuda=st.sampled_from(("", *CUDAS)),
    brand=st.sampled_from(("", *BRANDS)),
)
def test_a_verdict_holds_for_whatever_the_unknown_facts_turn_out_to_be(expression, driver, cuda, brand):
    verdict = satisfies_require(expression, driver=driver, driver_cuda=cuda, brand=brand).satisfied
    if verdict is None:
        assert not (driver and cuda and brand)
        return
    for one, two, three in product(
        [driver] if driver else DRIVERS, [cuda] if cuda else CUDAS, [brand] if brand else BRANDS
    ):
        full = satisfies_require(expression, driver=one, driver_cuda=two, brand=three)
        assert full.satisfied is verdict


def test_conditions_of_an_image_environment():
    assert conditions({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_REQUIRE_DRIVER": "driver>=550", "X": "1"}) == (
        "cuda>=12.4",
        "driver>=550",
    )
    assert conditions({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "true"}) == ()
    assert conditions({"NVIDIA_REQUIRE_CUDA": "cuda>=12.4", "NVIDIA_DISABLE_REQUIRE": "0"}) == ("cuda>=12.4",)
    assert conditions({"CUDA_VERSION": "9.0.176"}) == ("cuda>=9.0",)
    assert conditions({"CUDA_VERSION": "9.0.176", "NVIDIA_REQUIRE_CUDA": "cuda>=9.1"}) == ("cuda>=9.1",)
    assert conditions({"NVIDIA_REQUIRE_JETPACK": "csv-mounts=all"}) == ()
    assert conditions({"CUDA_VERSION": "latest"}) == ()


def test_a_check_is_a_plain_value():
    assert Check(True, "x") == Check(True, "x")


@pytest.mark.parametrize(
    ("expression", "facts", "why"),
    [
        ("", {}, "an empty condition holds"),
        ("cuda>=12.4", {"driver_cuda": "12.4"}, "cuda>=12.4 holds"),
        ("cuda>=13,brand=a cuda>=12.4,brand=b", {"driver_cuda": "12.4", "brand": "b"}, "cuda>=12.4,brand=b holds"),
        ("cuda>=12.4", {}, "depends on cuda, not known here"),
        ("cuda>=12.4,brand=a,brand!=b", {}, "depends on brand and cuda, not known here"),
        ("cuda>=12.4,brand=a", {"driver_cuda": "12.4"}, "depends on brand, not known here"),
        ("cuda>=13", {"driver_cuda": "12.4"}, "no alternative holds for cuda 12.4: cuda>=13"),
        (
            "cuda>=13 driver>=580 driver>=590",
            {"driver_cuda": "12.4", "driver": "550.1", "brand": "Tesla"},
            "no alternative holds for driver 550.1, cuda 12.4, brand tesla: cuda>=13 and 2 more",
        ),
    ],
)
def test_the_reason_in_words(expression, facts, why):
    assert satisfies_require(expression, **facts).why == why


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NVIDIA_REQUIRE_B": "cuda>=2", "NVIDIA_REQUIRE_A": "cuda>=1"}, ("cuda>=1", "cuda>=2")),
        ({"NVIDIA_REQUIRE_CUDA": "  "}, ()),
        ({"NVIDIA_REQUIRE_CUDA": "", "CUDA_VERSION": "11.4.2"}, ("cuda>=11.4",)),
        ({"CUDA_VERSION": "12"}, ("cuda>=12.0",)),
        ({"CUDA_VERSION": ""}, ()),
        ({"REQUIRE_CUDA": "cuda>=1", "XNVIDIA_REQUIRE_CUDA": "cuda>=1"}, ()),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=1", "NVIDIA_DISABLE_REQUIRE": "TRUE"}, ()),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=1", "NVIDIA_DISABLE_REQUIRE": "t"}, ()),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=1", "NVIDIA_DISABLE_REQUIRE": "yes"}, ("cuda>=1",)),
        ({"NVIDIA_REQUIRE_CUDA": "cuda>=1", "NVIDIA_DISABLE_REQUIRE": ""}, ("cuda>=1",)),
        ({"NVIDIA_REQUIRE_JETPACK_HOST_MOUNTS": "base"}, ()),
    ],
)
def test_what_of_an_environment_is_a_condition(environment, expected):
    assert conditions(environment) == expected


OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
number = st.lists(st.integers(0, 30), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@given(number, number, st.sampled_from(sorted(OPPOSITE)))
def test_a_comparison_and_its_opposite_never_agree(have, want, operator):
    def holds(sign):
        return satisfies_require(f"driver{sign}{want}", driver=have).satisfied

    assert holds(operator) is not holds(OPPOSITE[operator])
    assert holds("<=") == (holds("<") or holds("="))


@given(expressions)
def test_a_condition_reads_back_as_it_is_spelled(expression):
    spelled = " ".join(",".join(map(str, option)) for option in parse(expression))
    assert parse(spelled) == parse(expression)
