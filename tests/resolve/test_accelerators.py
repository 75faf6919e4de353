"""Plans for TPUs and Ascend: by name, PCI id or host file; plug-ins beside the framework's CPU build; their images."""

import pytest
from factory import Settings, write

from compat import facts
from compat.app.plans import Target, machines_of
from compat.errors import InputError
from compat.matrix import matrix
from compat.resolve import resolve

MATRIX = matrix()


def answer(*wishes, cpu=False, **target):
    (host,) = machines_of(Target(**target), MATRIX)
    return resolve(wishes, host, MATRIX, cpu=cpu)


def builds(found):
    assert found.status == "plan", found
    return {build.name: build.version for build in found.plan.builds}


@pytest.mark.parametrize(
    ("gpu", "wish", "version"),
    [
        ("TPU v5e", "jax==0.4.30", "0.4.30"),
        ("1ae0:0063", "jax==0.4.30", "0.4.30"),
        ("v5litepod", "jax[tpu]==0.6.2", "0.6.2"),
        ("TPU v6e", "jax==0.4.33", "0.4.33"),
        ("Ironwood", "jax==0.7.0", "0.7.0"),
    ],
)
def test_jax_brings_its_tpu_build_without_being_told(gpu, wish, version):
    found = answer(wish, gpus=(gpu,))
    assert builds(found) == {"jax": version}
    assert (found.plan.runtime, found.plan.gpus[0].kernels) == ("tpu", "native")


@pytest.mark.parametrize(
    ("gpu", "wish", "first"), [("Trillium", "jax==0.4.31", "0.4.33"), ("TPU7x", "jax==0.6.2", "0.7.0")]
)
def test_a_release_that_does_not_know_the_generation_is_refused_with_the_first_that_does(gpu, wish, first):
    found = answer(wish, gpus=(gpu,))
    assert found.status == "conflict"
    assert any(member.text.endswith(f"cannot run on {MATRIX.table('gpus') and _target(gpu)}")
               for conflict in found.conflicts for member in conflict.members)  # fmt: skip
    assert first in found.fixes[0].text


def _target(gpu):
    from compat.matrix.products import find_gpu

    return find_gpu(MATRIX, gpu)[0].target


@pytest.mark.parametrize(
    ("wishes", "target", "expected"),
    [
        (("torch_xla==2.9.0",), {"gpus": ("TPU v4",)}, {"torch": "2.9.1+cpu", "torch-xla": "2.9.0"}),
        (("torch", "torch_xla==2.9.0"), {"gpus": ("TPU v4",)}, {"torch": "2.9.1+cpu", "torch-xla": "2.9.0"}),
        (("torch-npu==2.9.0",), {"gpus": ("910B3",)}, {"torch": "2.9.0+cpu", "torch-npu": "2.9.0"}),
        (("torch==2.7.1", "torch-npu", "torchvision"), {"gpus": ("Ascend 310P3",), "arch": "aarch64"},
         {"torch": "2.7.1", "torch-npu": "2.7.1.post4", "torchvision": "0.22.1"}),
    ],
)  # fmt: skip
def test_a_plug_in_brings_the_device_to_the_frameworks_cpu_build_and_says_so(wishes, target, expected):
    found = answer(*wishes, **target)
    assert builds(found) == expected
    said = [text for text in found.conditions if "is a CPU build" in text]
    assert len(said) == len(expected) - 1
    assert all("torch-npu" in text or "torch-xla" in text for text in said)


@pytest.mark.parametrize("gpu", ["TPU v5p", "Ascend 910A"])
def test_without_its_plug_in_a_framework_has_nothing_for_the_device_and_no_cpu_build_is_slipped_in(gpu):
    assert answer("torch==2.9.0", gpus=(gpu,)).status == "conflict"


def test_a_plug_in_serves_no_other_vendors_gpu():
    assert answer("torch-npu==2.9.0", gpus=("A100",)).status == "conflict"
    assert answer("torch_xla==2.9.0", gpus=("TPU v5e", "A100")).status == "conflict"


@pytest.mark.parametrize(
    ("gpu", "chip"), [("310P3", "310p"), ("910B2C", "910b"), ("Ascend910_9392", "a3"), ("910A", "910")]
)
def test_the_image_has_the_cann_of_the_plug_in_and_the_kernels_of_the_series(gpu, chip):
    found = answer("torch-npu==2.7.1.post2", gpus=(gpu,))
    assert found.plan.base_image.image.startswith(f"quay.io/ascend/cann:8.5.0-{chip}-ubuntu22.04-py3.")
    assert found.plan.runtime == "cann8.5.0"


def test_a_plug_in_whose_cann_is_not_known_is_not_planned_with():
    found = answer("torch-npu==2.13.0", gpus=("910B3",))
    assert found.status == "conflict"
    assert "no image with cann is known" in found.conflicts[0].members[1].text


def test_two_series_share_no_image():
    assert answer("torch-npu==2.7.1.post2", gpus=("910B3", "310P3")).status == "conflict"


def test_what_a_machine_reads_of_its_tpu_is_planned_for():
    host = facts.load(
        {"platform": "linux", "arch": "x86_64", "gpus": [{"vendor": "google", "pci": "1ae0:006f"}]}, "host"
    )
    found = resolve(["jax==0.6.2"], host, MATRIX)
    assert found.plan.gpus[0].target == "tpu-v6e"


@pytest.mark.parametrize(
    ("vendor", "name", "target"),
    [
        ("google", "TPU v2-8", "tpu-v2"),
        ("google", "TPU v5litepod-8", "tpu-v5e"),
        ("google", "TPU v5p-128", "tpu-v5p"),
        ("google", "TPU tpu7x-4", "tpu-7x"),
        ("huawei", "Ascend910B4-1", "ascend-910b"),
        ("huawei", "910B3", "ascend-910b"),
        ("huawei", "Ascend910", ""),  # npu-smi calls the first series so, and the third: which is meant is not known
    ],
)
def test_a_devices_own_tool_names_it(vendor, name, target):
    host = facts.load({"platform": "linux", "arch": "x86_64", "gpus": [{"vendor": vendor, "name": name}]}, "host")
    found = resolve(["jax==0.7.0" if vendor == "google" else "torch-npu==2.7.1.post2"], host, MATRIX)
    assert [gpu.target for gpu in found.plan.gpus] == [target] if target else found.status == "unknown"


def test_a_tpu_image_is_started_as_its_vendor_says():
    text = write(answer("jax==0.6.2", gpus=("TPU v5e",)).plan, Settings())
    assert "docker run --rm --privileged --network host --user 0 IMAGE" in text
    assert "jax[tpu]==0.6.2" in text


def test_no_image_is_written_for_ascend_and_the_base_to_start_from_is_named():
    with pytest.raises(InputError, match="Ascend") as refused:
        write(answer("torch-npu==2.9.0", gpus=("910B3",)).plan, Settings())
    assert "quay.io/ascend/cann:8.5.1-910b" in str(refused.value)
