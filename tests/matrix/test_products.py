"""Finding GPUs by whatever people and programs call them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.matrix import matrix
from compat.matrix.products import find_gpu, names_of, nearest_gpus

MATRIX = matrix()

# Targets as NVIDIA's CUDA GPU list, AMD's GPU specification page and the LLVM AMDGPU guide have them.
KNOWN = {
    "Tesla K80": "sm_37",
    "GTX 980 Ti": "sm_52",
    "Tesla P100-PCIE-16GB": "sm_60",
    "NVIDIA GeForce GTX 1080 Ti": "sm_61",
    "Tesla V100-SXM2-32GB": "sm_70",
    "TITAN V": "sm_70",
    "Tesla T4": "sm_75",
    "NVIDIA GeForce RTX 2080 Ti": "sm_75",
    "GTX 1660": "sm_75",
    "NVIDIA A100-SXM4-80GB": "sm_80",
    "A30": "sm_80",
    "NVIDIA GeForce RTX 3090": "sm_86",
    "NVIDIA A10G": "sm_86",
    "NVIDIA RTX A6000": "sm_86",
    "NVIDIA L4": "sm_89",
    "NVIDIA L40S": "sm_89",
    "NVIDIA GeForce RTX 4090": "sm_89",
    "NVIDIA H100 80GB HBM3": "sm_90",
    "NVIDIA H200": "sm_90",
    "NVIDIA GH200 480GB": "sm_90",
    "NVIDIA B200": "sm_100",
    "NVIDIA GB10": "sm_121",
    "NVIDIA GeForce RTX 5090": "sm_120",
    "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "sm_120",
    "Jetson AGX Xavier": "sm_72",
    "Jetson Orin Nano 8GB": "sm_87",
    "AMD Instinct MI300X": "gfx942",
    "MI250X": "gfx90a",
    "MI100": "gfx908",
    "AMD Radeon RX 7900 XTX": "gfx1100",
    "RX 7600": "gfx1102",
    "RX 6800 XT": "gfx1030",
    "RX 9070 XT": "gfx1201",
    "RX 9060 XT": "gfx1200",
    "Radeon VII": "gfx906",
    "Intel Arc B580": "bmg",
    "Intel Arc A770": "dg2",
    "Intel(R) Data Center GPU Max 1550": "pvc",
    "Intel Corporation Lunar Lake [Intel Arc Graphics 140V]": "lnl-m",
    "Panther Lake": "ptl-h",
    "dg2": "dg2",
}


@pytest.mark.parametrize(("name", "target"), KNOWN.items())
def test_well_known_products_have_their_target(name, target):
    found = find_gpu(MATRIX, name)
    assert found, name
    assert found[0].target == target


SPELLINGS = [
    "NVIDIA GeForce RTX 4090",
    "nvidia geforce rtx 4090",
    "GeForce RTX 4090",
    "RTX 4090",
    "rtx4090",
    "RTX-4090",
    "  RTX 4090 ",
    "NVIDIA RTX 4090",
    "NVIDIA Corporation AD102 [GeForce RTX 4090] (rev a1)",
    "10de:2684",
    "10DE:2684",
    "0x10de2684",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_one_card_in_many_spellings(text):
    assert [product.name for product in find_gpu(MATRIX, text)] == ["NVIDIA GeForce RTX 4090"]


def test_a_bare_number_brings_the_plain_card_first_and_its_kin_after():
    names = [product.name for product in find_gpu(MATRIX, "4090")]
    assert names[0] == "NVIDIA GeForce RTX 4090"
    assert "NVIDIA GeForce RTX 4090 Laptop GPU" in names


def test_a_name_that_several_generations_share_is_not_decided_silently():
    assert {product.target for product in find_gpu(MATRIX, "RTX 6000")} == {"sm_75", "sm_89", "sm_120"}
    assert {product.target for product in find_gpu(MATRIX, "GeForce GT 720M")} == {"sm_21", "sm_35"}
    assert {product.target for product in find_gpu(MATRIX, "Radeon 840M")} == {"gfx1152", "gfx1153"}


@pytest.mark.parametrize(("text", "target"), [("sm_89", "sm_89"), ("8.9", "sm_89"), ("gfx90a:xnack-", "gfx90a")])
def test_a_target_brings_all_its_products(text, target):
    found = find_gpu(MATRIX, text)
    assert found
    assert {product.target for product in found} == {target}


def test_mig_slices_are_their_gpu():
    assert find_gpu(MATRIX, "NVIDIA A100-SXM4-40GB MIG 1g.5gb")[0].name == "NVIDIA A100-SXM4-40GB"


@pytest.mark.parametrize("product", MATRIX.table("gpus"), ids=lambda product: f"{product.name}-{product.target}")
def test_every_product_is_found_by_each_of_its_names_and_ids(product):
    for name in (*names_of(product), *product.pci):
        assert product in find_gpu(MATRIX, name), name


@pytest.mark.parametrize(
    "text", ["", " ", "NVIDIA", "GeForce", "[]", "no such card", "gfx", "sm_", "GPU", "\x00", "٣٠٩٠"]
)
def test_what_names_no_product_finds_none(text):
    assert find_gpu(MATRIX, text) == ()


def test_a_slip_of_the_pen_is_answered_with_near_names():
    assert "NVIDIA GeForce RTX 4090" in nearest_gpus(MATRIX, "RTX 4O90")
    assert nearest_gpus(MATRIX, "zzzzzzzzzzzz") == ()


@given(st.text(max_size=400))
def test_no_text_breaks_the_search(text):
    assert isinstance(find_gpu(MATRIX, text), tuple)


def test_the_closest_name_comes_first_whatever_the_order_of_the_table():
    assert find_gpu(MATRIX, "4500")[0].name == "NVIDIA RTX 4500 Ada Generation"
    names = [product.name for product in find_gpu(MATRIX, "1650")]
    assert names.index("NVIDIA GeForce GTX 1650 Ti") < names.index("NVIDIA GeForce GTX 1650 with Max-Q Design")


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_no_more_near_names_are_offered_than_asked_for(limit):
    assert 1 <= len(nearest_gpus(MATRIX, "GeForce RTX 309O", limit=limit)) <= limit


def test_near_names_are_different_products():
    names = nearest_gpus(MATRIX, "geforce rtx 40900")
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("suffixed", ["sm_90a", "sm_100f", "compute_90a"])
def test_code_for_an_architecture_is_no_product(suffixed):
    assert find_gpu(MATRIX, suffixed) == ()


@pytest.mark.parametrize("text", ["10de:2684", "10DE:2684", "0x10de 0x2684", "10de-2684", "10de2684", "0x10de:0x2684"])
def test_a_pci_id_in_every_spelling_of_the_tools(text):
    assert {product.name for product in find_gpu(MATRIX, text)} == {"NVIDIA GeForce RTX 4090"}


@pytest.mark.parametrize("text", ["compute_89", "8.9", "sm_89", " SM_89 "])
def test_a_capability_and_its_target_name_the_same_products(text):
    assert find_gpu(MATRIX, text) == find_gpu(MATRIX, "sm_89") != ()


def test_features_of_a_gfx_target_do_not_hide_its_products():
    assert find_gpu(MATRIX, "gfx90a:sramecc+:xnack-") == find_gpu(MATRIX, "gfx90a") != ()


@given(st.sampled_from(MATRIX.table("gpus")), st.data())
def test_case_and_blanks_around_a_name_do_not_matter(product, data):
    name = product.name
    blurred = "".join(data.draw(st.sampled_from([letter.lower(), letter.upper()])) for letter in name)
    assert find_gpu(MATRIX, f"  {blurred} ") == find_gpu(MATRIX, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("RX7800XT", "AMD Radeon RX 7800 XT"),
        ("rx7900xtx", "AMD Radeon RX 7900 XTX"),
        ("GTX1660Ti", "NVIDIA GeForce GTX 1660 Ti"),
        ("RTX4070SUPER", "NVIDIA GeForce RTX 4070 SUPER"),
    ],
)
def test_names_run_together_are_found(text, name):
    assert {product.name for product in find_gpu(MATRIX, text)} == {name}


@pytest.mark.parametrize(
    ("name", "units", "operations", "gigahertz"),
    [
        # streaming multiprocessors, operations that the tensor cores of one do per clock in float16 with sums in
        # float32 and without sparsity, boost clock: the vendors' architecture papers
        ("Tesla V100-SXM2-16GB", 80, 1024, 1.53),
        ("Tesla T4", 40, 1024, 1.59),
        ("NVIDIA A100-SXM4-80GB", 108, 2048, 1.41),
        ("NVIDIA GeForce RTX 3090", 82, 512, 1.695),
        ("NVIDIA GeForce RTX 4090", 128, 512, 2.52),
        ("NVIDIA L4", 58, 1024, 2.04),
        ("NVIDIA H200", 132, 4096, 1.83),
        ("NVIDIA B200", 148, 8192, 1.85),
        ("NVIDIA GeForce RTX 5090", 170, 512, 2.407),
        # compute units of one device: a card of the MI250 kind is two
        ("AMD Instinct MI210", 104, 1024, 1.7),
        ("AMD Instinct MI250", 104, 1024, 1.7),
        ("AMD Instinct MI250X", 110, 1024, 1.7),
        ("AMD Instinct MI300X", 304, 2048, 2.1),
        ("AMD Radeon RX 7900 XTX", 96, 512, 2.5),
    ],
)
def test_a_peak_is_what_the_matrix_units_of_one_device_can_do_without_sparsity(name, units, operations, gigahertz):
    """Vendors print the figure with sparsity first: a share of it would say half of what a device reached."""
    product = next(row for row in matrix().table("gpus") if row.name == name)
    assert product.fp16_tflops == pytest.approx(units * operations * gigahertz / 1000, rel=0.01)
    assert product.bf16_tflops in (0, product.fp16_tflops)
    assert product.fp8_tflops == 0 or product.fp8_tflops == pytest.approx(2 * product.fp16_tflops, rel=0.01)
    assert product.tf32_tflops == 0 or product.tf32_tflops == pytest.approx(product.fp16_tflops / 2, rel=0.01)
    assert product.fp32_tflops <= 0.51 * product.fp16_tflops


def test_rows_made_for_the_numbers_alone_answer_as_the_whole_table() -> None:
    """A search makes rows of the names that have its numbers; a matrix whose table was read already has them all."""
    few, whole = matrix(), matrix()
    names = sorted({name for product in whole.table("gpus") for name in (*names_of(product), *product.pci)})
    for name in names[::5]:
        for text in (name, name.lower().replace(" ", ""), f"vendor [{name}]"):
            told = [(row.name, row.target) for row in find_gpu(few, text)]
            assert told == [(row.name, row.target) for row in find_gpu(whole, text)], text
