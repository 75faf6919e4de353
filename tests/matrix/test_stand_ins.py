"""What stands for GPUs without being one: instance types, MIG slices, and accelerators that have no builds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.app.hostfile import read
from compat.app.showing import show
from compat.errors import InputError
from compat.matrix import matrix
from compat.matrix.instances import find_instance, is_instance
from compat.matrix.processors import find_processor
from compat.matrix.products import find_gpu, names_of
from compat.resolve import resolve
from compat.resolve.target import arch_of, from_options, named

MATRIX = matrix()
ROWS = [row for row in MATRIX.table("instances") if row.gpu]

# What the clouds' own pages tell of a type: EC2 instance types, Azure sizes, Compute Engine machine types, Alibaba Cloud's
# instance families, Tencent Cloud's computing instances, Open Telekom Cloud's GPU-accelerated ECSs.
KNOWN = {
    "p5.48xlarge": (8, "sm_90", "x86_64"),
    "p4d.24xlarge": (8, "sm_80", "x86_64"),
    "p2.16xlarge": (16, "sm_37", "x86_64"),
    "g5.12xlarge": (4, "sm_86", "x86_64"),
    "g7e.2xlarge": (1, "sm_120", "x86_64"),
    "g5g.xlarge": (1, "sm_75", "aarch64"),
    "g4ad.16xlarge": (4, "gfx1011", "x86_64"),
    "a2-highgpu-1g": (1, "sm_80", "x86_64"),
    "a2-megagpu-16g": (16, "sm_80", "x86_64"),
    "a4x-highgpu-4g": (4, "sm_100", "aarch64"),
    "g2-standard-24": (2, "sm_89", "x86_64"),
    "Standard_NC24ads_A100_v4": (1, "sm_80", "x86_64"),
    "NC40ads_H100_v5": (1, "sm_90", "x86_64"),
    "standard_nd96isr_mi300x_v5": (8, "gfx942", "x86_64"),
    "ecs.gn7i-c8g1.2xlarge": (1, "sm_86", "x86_64"),
    "ecs.gn8is-4x.16xlarge": (4, "sm_89", "x86_64"),
    "ecs.ebmgn8v.48xlarge": (8, "sm_90", "x86_64"),
    "ecs.gn7e-c16g1.32xlarge": (8, "sm_80", "x86_64"),
    "ecs.gn5-c4g1.2xlarge": (2, "sm_60", "x86_64"),
    "GN10Xp.20XLARGE320": (8, "sm_70", "x86_64"),
    "pnv4.14xlarge232": (2, "sm_86", "x86_64"),
    "p2s.2xlarge.8": (1, "sm_70", "x86_64"),
}


@pytest.mark.parametrize(("name", "machine"), KNOWN.items())
def test_a_type_stands_for_its_gpus_and_its_architecture(name, machine):
    host = from_options(MATRIX, gpus=[name])
    assert (len(host.gpus), host.gpus[0].target, host.arch) == machine
    assert host.is_option("arch")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_type_is_found_in_any_case_and_its_gpu_means_one_target(row):
    assert is_instance(row.name)
    assert not find_gpu(MATRIX, row.name)
    assert find_instance(MATRIX, row.name.upper()) == row
    found = named(MATRIX, row.name)
    assert len(found.gpus) == row.count
    assert {gpu.target for gpu in found.gpus} == {
        one.target for one in find_gpu(MATRIX, row.gpu) if one.name == row.gpu
    }


def test_no_gpu_is_spelled_as_an_instance_type():
    assert not [
        name for row in MATRIX.table("gpus") for name in (*names_of(row), *row.pci, row.target) if is_instance(name)
    ]


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("p5.49xlarge", "p5.4xlarge"),
        ("a2-highgpu-3g", "a2-highgpu-2g"),
        ("Standard_NC24ads_A100_v5", "Standard_NC24ads_A100_v4"),
        ("n1-standard-8", "name that GPU"),
        ("m7i.large", "name of its GPU"),
        ("ecs.gn7i-c8g1.3xlarge", "ecs.gn7i-c8g1.2xlarge"),
        ("GN10Xp.2XLARGE41", "GN10Xp.2XLARGE40"),
        ("ecs.pni2.28xlarge", "names A100 or A800"),
        ("ecs.hpcpni2.28xlarge", "by its API alone (gpu_devices)"),
        ("ecs.ebmhpcpni2l.32xlarge", "by its API alone (gpu_devices)"),
        ("bcc.lgn1.c12m40.1p4", "by its API alone (gpu_card_type"),
        ("ebc.lgn7ty", "by its API alone (gpu_card_type"),
        ("p2vs.2xlarge.8", "names Tesla V100 for its P2vs"),
        ("pi1.2xlarge.4", "names Tesla P4 for its Pi1"),
        ("ai1s.large.4", "name of its GPU"),
        # families, and names that begin as types do and have no known size
        ("ecs.gn99", "ecs.gn8v"),
        ("p5", "p5.48xlarge"),
        ("GN10Xp", "GN10Xp.2XLARGE40"),
        ("a3-foo", "name of its GPU"),
    ],
)
def test_an_unknown_type_is_told_as_one_with_those_near_it(wrong, near):
    with pytest.raises(InputError, match="unknown instance type") as caught:
        named(MATRIX, wrong)
    assert near in f"{caught.value.expected} {caught.value.hint}"


def test_a_part_of_a_card_is_no_whole_one():
    (part,) = named(MATRIX, "Standard_NV6ads_A10_v5").gpus
    (whole,) = named(MATRIX, "Standard_NV36ads_A10_v5").gpus
    assert part.target == whole.target
    assert "1/6" in part.name
    assert part.virtual == "vgpu"
    assert not whole.virtual


def test_architectures_that_contradict_each_other_are_refused():
    with pytest.raises(InputError, match="aarch64"):
        from_options(MATRIX, gpus=["g5g.xlarge"], arch="x86_64")
    with pytest.raises(InputError, match="aarch64"):
        from_options(MATRIX, gpus=["g5g.xlarge,p5.48xlarge"])
    with pytest.raises(InputError, match="aarch64"):
        from_options(MATRIX, gpus=["Orin Nano"], arch="x86_64")
    assert arch_of([], "") == ""
    assert from_options(MATRIX, gpus=["p5.48xlarge"], arch="amd64").arch == "x86_64"


@pytest.mark.parametrize(
    ("name", "maker"), [("trn2.48xlarge", "AWS"), ("inf2.xlarge", "AWS"), ("dl1.24xlarge", "Habana")]
)
def test_a_type_of_another_makers_accelerators_is_told_as_that(name, maker):
    with pytest.raises(InputError, match=f"accelerator of .*{maker}"):
        named(MATRIX, name)


@given(st.text(max_size=300))
def test_any_text_is_a_type_or_is_none(text):
    if is_instance(text):
        try:
            assert named(MATRIX, text).gpus
        except InputError as error:
            assert error.where == "--gpu"


@pytest.mark.parametrize(
    ("text", "name", "target"),
    [
        ("H100:1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "sm_90"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "sm_90"),
        ("a100:1G.5GB", "NVIDIA A100-SXM4-40GB MIG 1g.5gb", "sm_80"),
        ("A30:2g.12gb+me", "NVIDIA A30 MIG 2g.12gb+me", "sm_80"),
        ("10de:2330:3g.40gb", "NVIDIA H100 80GB HBM3 MIG 3g.40gb", "sm_90"),
    ],
)
def test_a_slice_is_named_as_cuda_names_it_and_the_plan_says_that_it_is_one(text, name, target):
    (gpu,) = named(MATRIX, text).gpus
    assert (gpu.name, gpu.target, gpu.mig) == (name, target, "enabled")
    plan = resolve(["torch"], from_options(MATRIX, gpus=[text]), MATRIX).plan
    assert plan.gpus[0].name == name
    assert "one slice" in plan.gpus[0].why


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("H100:1g.11gb", "3g.40gb"),
        ("A30:1g.5gb", "1g.6gb"),
        ("T4:1g.5gb", "has MIG profiles"),
        ("Nonesuch:1g.5gb", "a product"),
    ],
)
def test_a_profile_that_a_card_lacks_is_answered_with_those_it_has(text, told):
    with pytest.raises(InputError) as caught:
        named(MATRIX, text)
    assert told in caught.value.expected


def test_the_slices_of_a_card_fit_into_its_memory():
    """A profile is named by its memory in GB; usable memory may be a GB or two less than what is sold."""
    for row in MATRIX.table("gpus"):
        for word in row.mig:
            memory, most = re.fullmatch(r"[1-7]g\.(\d+)gb\S*:(\d)", word).groups()
            assert int(memory) * int(most) <= row.memory_gib * 1.02 + 2, (row.name, word)


@pytest.mark.parametrize(
    ("text", "maker", "plugin"),
    [
        ("MLU370", "Cambricon", "torch-mlu"),
        ("Cambricon MLU590-M9", "Cambricon", "paddle-custom-mlu"),
        ("K100_AI", "Hygon", "paddlepaddle-dcu"),
        ("Kunlunxin P800", "Kunlunxin", "paddlepaddle-xpu"),
        ("MetaX C550", "MetaX", "paddle-metax-gpu"),
        ("MTT S4000", "Moore Threads", "torch-musa"),
        ("BI-V150", "Iluvatar", "torch"),
        ("Gaudi3", "Habana", "habana-torch-plugin"),
        ("Qualcomm AI100", "Qualcomm", "qefficient"),
        ("AI100", "Qualcomm", "qefficient"),
        ("Rebellions ATOM", "Rebellions", "vllm-rbln"),
        ("Tenstorrent Wormhole", "Tenstorrent", "ttnn"),
    ],
)
def test_an_accelerator_without_builds_is_known_as_one_and_no_other_card_is_suggested(text, maker, plugin, tmp_path):
    with pytest.raises(InputError) as caught:
        named(MATRIX, text)
    told = str(caught.value)
    assert maker in told
    assert plugin in told
    assert "did you mean" not in told
    (tmp_path / "host.toml").write_text(f'[[gpus]]\nname = "{text}"\n')
    with pytest.raises(InputError) as read_too:
        read(str(tmp_path / "host.toml"), MATRIX)
    assert maker in str(read_too.value)


@pytest.mark.parametrize("text", ["Sambanova SN40", "Foobar X9000", "Cerebras A100", "Groq RTX 4099"])
def test_a_word_of_no_known_makers_brings_no_card_of_another(text):
    with pytest.raises(InputError, match="unknown GPU") as caught:
        named(MATRIX, text)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("8xH100", "NVIDIA H100 80GB HBM3", 8),
        ("2 x RTX 4090", "NVIDIA GeForce RTX 4090", 2),
        ("H100x8", "NVIDIA H100 80GB HBM3", 8),
        ("H100:8", "NVIDIA H100 80GB HBM3", 8),
        ("4xH100:1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", 4),
        ("A100X", "NVIDIA A100X", 1),  # a product's own name
        ("T4", "Tesla T4", 1),
    ],
)
def test_several_of_a_card_are_as_many(text, name, count):
    assert [one.name for one in named(MATRIX, text).gpus] == [name] * count


@pytest.mark.parametrize("text", ["H100:3g", "H100 MIG 9g", "H100:9g.10gb"])
def test_a_slice_that_a_card_has_not_is_refused_with_those_that_it_has(text):
    with pytest.raises(InputError, match="no MIG profile") as caught:
        named(MATRIX, text)
    assert "3g.40gb" in caught.value.expected


def test_what_nobody_named_the_code_of_is_no_proof_on_a_jetson():
    answer = resolve(["tensorrt"], from_options(MATRIX, gpus=["Jetson AGX Orin 32GB"], arch="aarch64"), MATRIX)
    members = [one for conflict in answer.conflicts for one in conflict.members if one.kind == "matrix"]
    assert members
    assert all(one.likely and ("not known" in one.text or "only inferred" in one.text) for one in members)
    assert not any("x86_64" in fix.text for fix in answer.fixes)


def test_a_chip_of_apples_is_told_with_the_target_that_plans_for_it():
    with pytest.raises(InputError, match="macos14"):
        named(MATRIX, "Apple M2")


@pytest.mark.parametrize(
    ("accelerator", "package", "version", "stack"),
    [
        ("ascend", "paddle-custom-npu", "3.0.0", "cann8.0.0"),
        ("metax", "torch", None, "maca3.7.2.0"),
        ("gaudi", "habana-torch-plugin", "1.22.0", "synapse1.22.0"),
    ],
)
def test_a_plug_in_stands_with_the_stack_it_belongs_to(accelerator, package, version, stack):
    told = [
        (row.versions, row.stack)
        for row in MATRIX.table("accelerators")
        if row.accelerator == accelerator and row.package == package
    ]
    assert any(version in (versions or (None,)) and stack in stacks for versions, stacks in told), told


def test_no_gpu_is_taken_for_an_accelerator_without_builds():
    rows = MATRIX.table("gpus")
    assert [name for row in rows for name in names_of(row) if find_processor(MATRIX, name)] == []


def test_a_type_is_shown_with_its_gpu():
    told = "\n".join(" ".join(line.cells) for table in show(MATRIX, "p5.48xlarge") for line in table.lines)
    assert "count 8" in told
    assert "1g.10gb:7" in told


def test_a_makers_plug_in_alone_is_told_where_its_releases_stand():
    told = resolve(["paddle-custom-mlu==3.2.0"], from_options(MATRIX), MATRIX).conditions
    assert "which releases belong to paddle-custom-mlu: `envcheck matrix show mlu` tells" in told
