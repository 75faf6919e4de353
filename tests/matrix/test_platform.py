"""The platform half of the matrix: known truths, and laws that tie its tables to each other and to the code."""

import re
from collections import Counter

import pytest

from compat import targets, versions
from compat.joints.kernels import rocm_targets
from compat.matrix import matrix
from compat.matrix.products import find_gpu
from compat.matrix.rows import TABLES

MATRIX = matrix()


def by(table, key):
    return {getattr(row, key): row for row in MATRIX.table(table)}


def test_the_breadth_that_is_promised():
    counts = {name: len(MATRIX.table(name)) for name in TABLES}
    promised = {"cuda": 70, "capabilities": 24, "rocm": 55, "gfx": 35, "gpus": 650, "drivers": 30, "systems": 45}
    promised |= {"cudnn": 70, "nccl": 40, "tensorrt": 40, "jetpack": 30, "accelerators": 150, "images": 1000}
    assert {name for name, floor in promised.items() if counts[name] < floor} == set()


def test_most_products_have_ids_memory_bandwidth_and_a_rate_with_a_source():
    whole = [
        row
        for row in MATRIX.table("gpus")
        if row.pci and row.memory_gib and row.bandwidth_gbs and (row.fp32_tflops or row.fp16_tflops)
    ]
    assert len(whole) >= 300
    assert {row.vendor for row in whole} == {"nvidia", "amd", "intel"}
    assert sum(len(image.references()) for image in MATRIX.select("images", repository="nvidia/cuda")) > 1500


# ptxas of the toolkit's wheel, asked with a one-line PTX (2026-11-21); what it refuses matters as much
TARGETS = [
    ("11.8.0", {"sm_35", "sm_90"}, {"sm_90a", "sm_100"}),
    ("12.0.0", {"sm_50", "sm_90a"}, {"sm_35", "sm_100"}),
    ("12.6.3", {"sm_50", "sm_90"}, {"sm_100", "sm_120"}),
    ("12.8.0", {"sm_100", "sm_101", "sm_120a"}, {"sm_103", "sm_100f", "sm_121"}),
    ("12.9.1", {"sm_103", "sm_120f", "sm_50"}, {"sm_110"}),
    ("13.0.0", {"sm_75", "sm_110", "sm_88"}, {"sm_50", "sm_70", "sm_72", "sm_101"}),
]


@pytest.mark.parametrize(("cuda", "accepted", "refused"), TARGETS)
def test_targets_of_toolkits(cuda, accepted, refused):
    have = set(MATRIX.cuda(cuda).targets)
    assert accepted <= have
    assert not refused & have


def test_cuda_12_7_is_a_value_of_drivers_and_no_toolkit():
    row = MATRIX.cuda("12.7")
    assert not row.toolkit
    assert row.targets == ()
    assert "565" in row.driver_linux
    assert not [image for image in MATRIX.table("images") if image.runtime == "cuda12.7"]


def test_13_4_0_is_a_preview_and_13_4_1_is_not():
    assert MATRIX.cuda("13.4.0").preview
    assert not MATRIX.cuda("13.4.1").preview


def test_jetson_code_and_desktop_code_do_not_mix():
    assert {"sm_53", "sm_62", "sm_72", "sm_87", "sm_101", "sm_110"} <= MATRIX.families.integrated
    assert not {"sm_80", "sm_90", "sm_100", "sm_120", "sm_121"} & MATRIX.families.integrated
    assert targets.kernels_for("sm_87", ("sm_80",), MATRIX.families) == "none"
    assert targets.kernels_for("sm_86", ("sm_80",), MATRIX.families) == "native"


def test_generic_targets_are_llvms():
    generic = MATRIX.families.generic
    assert generic["gfx1151"] == generic["gfx1100"] == "gfx11-generic"
    assert generic["gfx942"] == generic["gfx950"] == "gfx9-4-generic"
    assert generic["gfx1036"] == "gfx10-3-generic"
    assert "gfx90a" not in generic
    assert "gfx908" not in generic
    assert targets.kernels_for("gfx1151", ("gfx11-generic",), MATRIX.families) == "native"


def test_rocm_has_two_numberings():
    rocm = by("rocm", "rocm")
    assert rocm["7.2.4"].stream == "classic"
    assert rocm["7.9.0"].stream == "preview"
    assert rocm["7.14.0"].stream == rocm["10.0.0"].stream == "core-sdk"
    classic = [versions.release(row.rocm) for row in rocm.values() if row.stream == "classic"]
    assert max(classic) == (7, 2, 4)


@pytest.mark.parametrize("minor", sorted({versions.minor(row.rocm) for row in MATRIX.table("rocm") if row.targets}))
def test_libraries_of_a_rocm_minor_are_those_of_its_last_patch_and_of_no_later_minor(minor):
    """``6.0`` is no shorter way to write ``6``: code for cards that 6.4 came to serve is not in it."""
    patches = [row for row in MATRIX.table("rocm") if versions.minor(row.rocm) == minor and row.targets]
    newest = max(patches, key=lambda row: versions.release(row.rocm))
    assert rocm_targets(MATRIX, minor) == newest.targets


def test_rocm_targets_by_release():
    rocm = by("rocm", "rocm")
    assert "gfx1100" not in rocm["5.7.0"].targets
    assert "gfx1100" in rocm["5.7.1"].targets
    assert "gfx1201" not in rocm["6.4.0"].targets
    assert "gfx1201" in rocm["6.4.1"].targets
    assert "gfx906" in rocm["6.2.4"].targets
    assert "gfx906" not in rocm["6.3.0"].targets


# glibc and python3 of the releases' own packages (libc6 / glibc, python3)
SYSTEMS = [
    ("ubuntu18.04", "2.27", "3.6"),
    ("ubuntu20.04", "2.31", "3.8"),
    ("ubuntu22.04", "2.35", "3.10"),
    ("ubuntu24.04", "2.39", "3.12"),
    ("debian10", "2.28", "3.7"),
    ("debian11", "2.31", "3.9"),
    ("debian12", "2.36", "3.11"),
    ("debian13", "2.41", "3.13"),
    ("centos7", "2.17", "3.6"),
    ("rockylinux8", "2.28", "3.6"),
    ("rhel9.4", "2.34", "3.9"),
    ("ol9", "2.34", "3.9"),
    ("rocky9.3", "2.34", "3.9"),
    ("ubi10", "2.39", "3.12"),
    ("amzn2023", "2.34", "3.9"),
    ("alpine3.20", "", "3.12"),
]


@pytest.mark.parametrize(("os", "glibc", "python"), SYSTEMS)
def test_systems(os, glibc, python):
    row = MATRIX.system(os)
    assert (row.glibc, row.python) == (glibc, python)


def test_an_unknown_system_is_none():
    assert MATRIX.system("plan9") is None
    assert MATRIX.system("ubuntu33.04") is None


# Tags seen on the hub or in NVIDIA's and AMD's own files
IMAGES = [
    ("nvidia/cuda:11.8.0-base-ubuntu22.04", "cuda11.8", "active"),
    ("nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04", "cuda11.8", "active"),
    ("nvidia/cuda:12.4.1-cudnn-devel-ubuntu22.04", "cuda12.4", "active"),
    ("nvidia/cuda:12.0.0-base-ubuntu20.04", "cuda12.0", "eol"),
    ("nvidia/cuda:13.0.2-base-ubuntu24.04", "cuda13.0", "active"),
    ("rocm/dev-ubuntu-22.04:5.7-complete", "rocm5.7", "active"),
    ("pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime", "cuda12.4", "active"),
    ("nvcr.io/nvidia/l4t-jetpack:r36.4.0", "cuda12.6", "active"),
    ("debian:bookworm-slim", "cpu", "active"),
    ("python:3.12-slim-bookworm", "cpu", "active"),
]


@pytest.mark.parametrize(("reference", "runtime", "status"), IMAGES)
def test_images(reference, runtime, status):
    found = [image for image in MATRIX.table("images") if reference in image.references()]
    assert [(image.runtime, image.status) for image in found] == [(runtime, status)]


def test_images_that_never_were_are_not_listed():
    references = {reference for image in MATRIX.table("images") for reference in image.references()}
    assert "nvidia/cuda:11.8-base-ubuntu22.04" not in references
    assert "nvidia/cuda:12.8.0-base-centos7" not in references
    assert "pytorch/pytorch:2.8.0-cuda12.4-cudnn9-devel" not in references


def test_an_image_tells_its_cuda_in_its_tag():
    for image in MATRIX.select("images", repository="nvidia/cuda"):
        if image.tag == "latest":  # removed, and it never told
            assert image.status == "gone"
            continue
        stated = re.match(r"\d+\.\d+", image.tag)[0]
        assert image.runtime == f"cuda{stated}", image.tag
        assert versions.minor(image.cuda) == stated


def test_images_carry_their_condition_written_out():
    for image in MATRIX.select("images", repository="nvidia/cuda", cuda="12.9.1"):
        assert image.require.startswith("cuda>=12.9 "), image.tag
    assert all("=" in image.require for image in MATRIX.table("images") if image.require)


def test_a_condition_asks_for_the_cuda_of_its_image():
    for image in MATRIX.table("images"):
        asked = re.match(r"cuda>=(\d+\.\d+)", image.require)
        if asked:
            assert asked[1] == versions.minor(image.cuda), image.tag


def test_cudnn_floors_measured_in_the_libraries():
    cudnn = by("cudnn", "version")
    assert cudnn["8.7.0.84"].first_cc == "3.5"
    assert cudnn["8.9.6.50"].first_cc == "5.0"
    assert cudnn["9.10.2.21"].first_cc == "5.0"
    assert cudnn["9.11.0.98"].first_cc == "7.5"
    order = sorted(cudnn.values(), key=lambda row: versions.release(row.version))
    floors = [versions.release(row.first_cc) for row in order if row.first_cc]
    assert floors == sorted(floors)


def test_jetpack_by_l4t():
    jetpack = by("jetpack", "l4t")
    assert (jetpack["35.4.1"].jetpack, jetpack["35.4.1"].cuda) == ("5.1.2", "11.4")
    assert (jetpack["36.4.3"].jetpack, jetpack["36.4.3"].cuda) == ("6.2", "12.6")
    assert not jetpack["36.4.3"].sbsa
    assert jetpack["38.2.0"].sbsa


def test_every_row_has_a_source_that_is_cited_and_a_known_strength():
    for name in TABLES:
        for row in MATRIX.table(name):
            assert row.source, row
            assert all(key in MATRIX.citations for key in row.source), row
            assert all(hasattr(row, field) for field in row.inferred), row


def test_what_nobody_saw_is_not_called_documented():
    for name in TABLES:
        for row in MATRIX.table(name):
            if row.source == ("general",):
                assert row.how == "inferred", row
    assert [key for key, text in MATRIX.citations.items() if "remembered" in text] == []
    remembered = {"general", "nvml-brand", "pciids", "nv-gpus", "open-kernel-readme", "chip-cc"}
    rated = [row for row in MATRIX.table("gpus") if row.fp16_tflops and "fp16_tflops" not in row.inferred]
    assert rated
    assert [row.name for row in rated if set(row.source) <= remembered] == []


def test_products_do_not_claim_the_same_id_for_different_chips():
    """One id may serve several products (memory sizes, laptop names), but they are one target."""
    owners = {}
    for product in MATRIX.table("gpus"):
        for pci in product.pci:
            owners.setdefault(pci, set()).add(product.target)
    shared = {pci: found for pci, found in owners.items() if len(found) > 1}
    assert shared == {}


def test_one_name_is_one_chip_but_for_known_twins():
    counts = Counter(name for name, _ in {(row.name, row.target) for row in MATRIX.table("gpus")})
    assert {name for name, count in counts.items() if count > 1} == {
        "AMD Radeon 840M",
        *(
            f"NVIDIA GeForce {name}"
            for name in (
                *("710M", "810M", "820M", "GT 630", "GT 640", "GT 720"),
                *("GT 720M", "GT 730", "GT 730M", "GT 740M", "GTX 860M"),
            )
        ),
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("GTX 860M", {"sm_30", "sm_50"}),  # sold with a Kepler and with a Maxwell chip
        ("10de:1392", {"sm_50"}),  # its id tells
        ("GeForce GTX 1080 Mobile", {"sm_61"}),
        ("GeForce GTX 1080 Laptop GPU", {"sm_61"}),
        ("GTX 750 Ti", {"sm_50"}),  # the GK106 edition has a name of its own here
        ("GeForce MX150", {"sm_61"}),
        ("GeForce MX110", {"sm_50"}),
        ("Quadro M2200 Mobile", {"sm_52"}),
        ("Quadro K5100M", {"sm_30"}),
        ("Quadro P5200 Mobile", {"sm_61"}),
        ("Tesla K40d", {"sm_35"}),
        ("CMP 170HX", {"sm_80"}),
        ("RTX PRO 6000D Blackwell Workstation Edition", {"sm_120"}),
        ("Radeon RX 550", {"gfx803"}),
        ("Radeon Pro Vega II", {"gfx906"}),
        ("Radeon Pro 5700 XT", {"gfx1010"}),
        ("1002:7483", {"gfx1102"}),
    ],
)
def test_older_and_mobile_products_are_known_by_name_and_id(text, found):
    assert {product.target for product in find_gpu(MATRIX, text)} == found


def test_accelerators_name_their_framework_and_stack():
    rows = MATRIX.table("accelerators")
    kinds = Counter(row.accelerator for row in rows)
    assert {"intel", "apple", "tpu", "ascend", "mlu", "dcu", "gcu", "musa", "gaudi"} <= set(kinds)
    npu = [row for row in rows if row.package == "torch-npu" and row.versions == ("2.9.0",) and row.stack]
    assert {row.stack for row in npu} >= {"cann8.5.0"}
    assert all(row.framework == "torch==2.9.0" for row in npu)


def test_kernels_that_amd_states_are_of_the_systems_it_supports():
    """Read off AMD's tables of 5.7.1, 6.2.0 and 7.2.4; each release names a kernel once per system and kind."""
    stated = {row.rocm: row.linux for row in MATRIX.table("rocm")}
    assert {"ubuntu22.04:5.19", "ubuntu22.04:6.2", "centos7:3.10"} <= set(stated["5.7.1"])
    assert {"ubuntu24.04:6.8", "ubuntu22.04:5.15", "sles15.6:6.4"} <= set(stated["6.2.0"])
    assert {"ubuntu24.04:6.17", "rhel10.1:6.12.0-124"} <= set(stated["7.2.4"])
    assert sum(map(bool, stated.values())) >= 35
