"""Labels of Kubernetes' nodes: what they say of one node, and nothing where they are several nodes'."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.reading import read


def labels(**said):
    return "Labels:   " + "\n          ".join(f"nvidia.com/{name.replace('_', '.')}={said[name]}" for name in said)


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("NVIDIA-A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA-A100-80GB-PCIe", "NVIDIA A100 80GB PCIe"),
        ("NVIDIA-A100-PCIE-40GB", "NVIDIA A100-PCIE-40GB"),
        ("NVIDIA-H100-80GB-HBM3", "NVIDIA H100 80GB HBM3"),
        ("Tesla-V100-SXM2-16GB", "Tesla V100-SXM2-16GB"),
        ("NVIDIA-GeForce-RTX-3090", "NVIDIA GeForce RTX 3090"),
        ("Tesla-T4-SHARED", "Tesla T4"),
        ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "NVIDIA A100-SXM4-40GB"),
        ("NVIDIA-A10G", "NVIDIA A10G"),
    ],
)
def test_the_product_has_its_blanks_again(product, name):
    assert [gpu.name for gpu in read(labels(gpu_product=product)).host.gpus] == [name]


@given(st.integers(1, 16))
def test_as_many_cards_as_are_counted(count):
    host = read(labels(gpu_product="Tesla-T4", gpu_count=count, gpu_compute_major=7, gpu_compute_minor=5)).host
    assert [(gpu.name, gpu.target) for gpu in host.gpus] == [("Tesla T4", "sm_75")] * count


def test_slices_are_not_counted_as_cards():
    assert len(read(labels(gpu_product="NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", gpu_count=7)).host.gpus) == 1


@pytest.mark.parametrize("parts", [("535", "104", "05"), ("550", "54", "14"), ("470", "82", "")])
def test_the_drivers_number_is_put_together(parts):
    said = dict(zip(("cuda_driver_major", "cuda_driver_minor", "cuda_driver_rev"), parts, strict=True))
    assert read(labels(**said)).host.driver == ".".join(part for part in parts if part)


def test_two_nodes_that_differ_state_what_they_share():
    one = labels(gpu_product="Tesla-T4", cuda_runtime_major=12, cuda_runtime_minor=2, gpu_count=1)
    other = labels(gpu_product="NVIDIA-A10", cuda_runtime_major=12, cuda_runtime_minor=2, gpu_count=1)
    host = read(f"{one}\n\n{other}\n").host
    assert (host.gpus, host.driver_cuda) == (None, "12.2")


def test_googles_label_names_the_card():
    host = read(
        "  labels:\n    cloud.google.com/gke-accelerator: nvidia-tesla-k80\n    kubernetes.io/arch: amd64\n"
    ).host
    assert ([gpu.name for gpu in host.gpus], host.arch) == (["nvidia tesla k80"], "x86_64")


def test_a_table_with_a_row_of_another_width_states_nothing_of_it():
    head = "NAME   STATUS   VERSION   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME"
    assert read(f"{head}\nn1   Ready   v1.27   Ubuntu 22.04.4 LTS   5.15.0-94-generic\n").host.kernel is None


def test_nodes_of_one_system_and_two_kernels():
    head = "NAME   VERSION   OS-IMAGE   KERNEL-VERSION   CONTAINER-RUNTIME"
    rows = [f"n{at}   v1.27   Ubuntu 22.04.4 LTS   5.15.0-9{at}-generic   containerd://1.7" for at in (4, 5)]
    host = read("\n".join([head, *rows])).host
    assert (host.os, host.kernel) == ("ubuntu22.04", None)


@pytest.mark.parametrize(
    ("said", "way"),
    [
        ("gpu.replicas=4", "time-slicing 4"),
        ("gpu.replicas=10 nvidia.com/gpu.sharing-strategy=mps", "mps 10"),
        ("gpu.replicas=2 nvidia.com/gpu.sharing-strategy=time-slicing", "time-slicing 2"),
        ("gpu.replicas=1 nvidia.com/gpu.sharing-strategy=none", None),
        ("gpu.replicas=0 nvidia.com/gpu.sharing-strategy=time-slicing", None),
        ("gpu.replicas=4 nvidia.com/gpu.sharing-strategy=other", None),
    ],
)
def test_replicas_of_a_gpu_are_shared_in_the_way_that_a_label_names(said, way):
    assert read("Labels:   " + f"nvidia.com/{said}".replace(" ", "\n          ")).host.gpu_sharing == way


def test_drivers_of_two_nodes_that_share_a_minor_state_none():
    rows = [f"nvidia.com/cuda.driver.{key}={value}" for key, value in (("major", 550), ("minor", 144), ("rev", "03"))]
    assert read("\n".join(rows)).host.driver == "550.144.03"
    assert read("\n".join([*rows, "nvidia.com/cuda.driver.major=535"])).host.driver is None
