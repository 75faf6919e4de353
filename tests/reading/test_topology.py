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
    assert {gpu.nvlinks for gpu in gpus(sample)} <= {row.links, None}
    assert {gpu.nvlinks for gpu in gpus(sample)} == {row.links} or len(gpus(sample)) < 4


@pytest.mark.parametrize(
    ("product", "cells"),
    [
        ("NVIDIA H100 80GB HBM3", [" X "]),
        ("NVIDIA H100 80GB HBM3", [" X \tNV18", "NV18\t X "]),
        ("Tesla V100-SXM2-16GB", [" X \tNV2", "NV2\t X "]),
        ("Tesla V100-SXM2-16GB", [" X \tSYS", "SYS\t X "]),
    ],
)
def test_links_to_cards_that_a_container_does_not_see_are_not_missed(product, cells):
    listed = "".join(f"GPU {number}: {product} (UUID: GPU-0000000{number})\n" for number in range(len(cells)))
    head = "\t".join(f"GPU{number}" for number in range(len(cells)))
    table = "".join(f"GPU{number}\t{row}\tSYS\tSYS\t0-47\t0\t\tN/A\n" for number, row in enumerate(cells))
    text = f"{listed}\t{head}\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n{table}"
    found = diagnose(pasted=text).report.findings
    assert not [one for one in found if "NVLinks" in one.detail]
    assert {gpu.numa for gpu in reading.read(text).host.gpus} == {0}


def test_a_board_without_any_link_is_told():
    rows = "\n".join(
        f"GPU{number}\t" + "\t".join(" X " if other == number else "SYS" for other in range(4)) + "\t0-47\t0"
        for number in range(4)
    )
    listed = "".join(f"GPU {number}: NVIDIA H100 80GB HBM3 (UUID: GPU-0000000{number})\n" for number in range(4))
    text = f"{listed}\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n{rows}\n"
    details = [one.detail for one in diagnose(pasted=text).report.findings]
    assert "NVIDIA H100 80GB HBM3 has 0 NVLinks, and the product has 18." in details


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


@pytest.mark.parametrize(
    ("cap", "held"), [("400W", []), ("250W", ["is held to 250 W, and the product is rated for 400 W"])]
)
def test_the_limit_of_the_table_is_held_against_the_product(cap, held):
    text = f"""\
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                    0 |
| N/A   34C    P0             60W /  {cap} |      4MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
"""
    details = [one.detail for one in diagnose(pasted=text).report.findings if one.code == "gpu-power-capped"]
    assert [text in detail for text, detail in zip(held, details, strict=True)] == [True] * len(held)
