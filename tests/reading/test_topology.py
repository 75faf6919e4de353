"""Links between GPUs as recorded outputs tell them, against those of the product that the record names."""

from pathlib import Path

import pytest

from compat import reading
from compat.api import diagnose
from compat.matrix import matrix
from compat.matrix.products import find_gpu

SAMPLES = Path(__file__).parent / "samples"
MATRIX = matrix()


def gpus(sample):
    return reading.read((SAMPLES / f"{sample}.txt").read_text(encoding="utf-8")).host.gpus


@pytest.mark.parametrize(
    ("sample", "product"),
    [
        ("topo_a100", "NVIDIA A100-SXM4-40GB"),
        ("topo_h100", "NVIDIA H100 80GB HBM3"),
        ("topo_h800", "NVIDIA H800"),
        ("topo_4090", "NVIDIA GeForce RTX 4090"),
        ("topo_mixed", "NVIDIA GeForce RTX 4090"),
    ],
)
def test_every_recorded_card_has_the_links_of_its_product(sample, product):
    (row,) = find_gpu(MATRIX, product)
    assert {gpu.nvlinks for gpu in gpus(sample)} == {row.links}


@pytest.mark.parametrize(("product", "told"), [("NVIDIA H800", False), ("NVIDIA H100 80GB HBM3", True)])
def test_a_card_with_fewer_links_than_its_product_is_told(product, told):
    listed = "".join(f"GPU {number}: {product} (UUID: GPU-0000000{number})\n" for number in range(8))
    found = diagnose(pasted=listed + (SAMPLES / "topo_h800.txt").read_text(encoding="utf-8")).report.findings
    assert ["has 8 NVLinks, and the product has 18" in one.detail for one in found] == [True] * told


@pytest.mark.parametrize(
    ("tail", "node"),
    [
        ("0-31\t0", 0),
        ("0-31\t0\t\tN/A", 0),
        ("0-71\t0\t\t1", 0),
        ("0,64\t0-3", None),
        ("\t1\t\tN/A", None),
        ("N/A", None),
    ],
)
def test_a_node_is_read_only_where_one_is_named(tail, node):
    text = f"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\t{tail}\nGPU1\tNV4\t X \t{tail}\n"
    assert {gpu.numa for gpu in reading.read(text).host.gpus} == {node}
