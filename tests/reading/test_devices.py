"""Names of devices and systems as programs and people write them: what is a name, whose it is, what target it has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.facts import Gpu
from compat.matrix import matrix
from compat.reading import devices, read, systems
from compat.reading.gpus import same
from compat.reading.page import Page

MATRIX = matrix()


@pytest.mark.parametrize(
    ("text", "name", "target", "vendor"),
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", "", "nvidia"),
        ("NVIDIA GeForce RTX 3090 (UUID: GPU-1234)", "NVIDIA GeForce RTX 3090", "", "nvidia"),
        ("NVIDIA GeForce RTX 3090 (arch=8.6)", "NVIDIA GeForce RTX 3090", "sm_86", "nvidia"),
        ("Tesla T4 (compute capability: 7.5, 15 GB)", "Tesla T4", "sm_75", "nvidia"),
        ("NVIDIA GeForce RTX 4090 : cudaMallocAsync", "NVIDIA GeForce RTX 4090", "", "nvidia"),
        ("cuda:0 AMD Radeon RX 9070 XT : native", "AMD Radeon RX 9070 XT", "", "amd"),
        ("AMD Radeon RX 7900 XTX : hipMallocAsync", "AMD Radeon RX 7900 XTX", "", "amd"),
        ("NVIDIA A10G, 23028 MiB", "NVIDIA A10G", "", "nvidia"),
        ("b'Tesla V100'", "Tesla V100", "", "nvidia"),
        ("AMD Radeon RX 7900 XTX (gfx1100)", "AMD Radeon RX 7900 XTX", "gfx1100", "amd"),
        ("7900XTX", "7900XTX", "", "amd"),
        ("AMD Instinct MI300X", "AMD Instinct MI300X", "", "amd"),
        ("Intel(R) Arc(TM) A770 Graphics", "Intel(R) Arc(TM) A770 Graphics", "", "intel"),
        ("Apple M2 Max", "Apple M2 Max", "", "apple"),
        ("A100", "A100", "", "nvidia"),
        ("Ascend 910B", "Ascend 910B", "", "huawei"),
        ("  | 'RTX 4080';", "RTX 4080", "", "nvidia"),
        ("Unheard of 9000", "Unheard of 9000", "", ""),
    ],
)
def test_a_device_with_what_stands_behind_its_name(text, name, target, vendor):
    assert devices.device(text) == Gpu(name=name, target=target, vendor=vendor)


@pytest.mark.parametrize(
    "text",
    [
        "", "N/A", "no", "No GPU", "None", "yes", "True", "cpu", "CPU only", "not available", "0x10de", "[1]", "<gpu>", "/dev/nvidia0",
        "$GPU", "error: x", "failed", "nvidia-smi shows it", "Is a GPU there?", "GPU?", "X    NODE", "12", "x" * 90,
        "AssertionError: Invalid device id",
    ],
)  # fmt: skip
def test_what_is_no_name_is_no_device(text):
    assert devices.device(text) is None


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("8.6", "sm_86"),
        ("(8, 6)", "sm_86"),
        ("86", "sm_86"),
        ("120", "sm_120"),
        ("12.0", "sm_120"),
        ("[9, 0]", "sm_90"),
        ("8.60", ""),
        ("0.5", ""),
        ("99.0", ""),
        ("eight", ""),
        ("", ""),
    ],
)
def test_a_compute_capability_in_its_spellings(text, target):
    assert devices.capability(text) == target


@given(st.sampled_from([row.cc for row in MATRIX.table("capabilities")]))
def test_every_capability_that_there_is_is_read(text):
    major, minor = text.split(".")
    expected = f"sm_{major}{minor}"
    assert devices.capability(text) == devices.capability(f"({major}, {minor})") == devices.sm(major, minor) == expected


@pytest.mark.parametrize(
    ("text", "target"),
    [("gfx90a:sramecc+:xnack-", "gfx90a"), ("Name: gfx1100", "gfx1100"), ("gfx000", ""), ("xgfx90a", ""), ("", "")],
)
def test_a_gfx_target_without_its_features(text, target):
    assert devices.gfx(text) == target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", ["0"]),
        ("0,1, 2", ["0", "1", "2"]),
        ("0-3", ["0", "1", "2", "3"]),
        ("5-3", []),
        ("", [""]),
    ],
)
def test_numbers_of_devices(text, expected):
    assert devices.numbers(text) == expected


@given(st.integers(0, 999), st.integers(0, 999))
def test_a_range_is_never_longer_than_a_machine(low, high):
    found = devices.numbers(f"{low}-{high}")
    assert found == [str(at) for at in range(low, high + 1)][: devices.MOST]


def claims(reader, line, label):
    (pair,) = Page.of(line).pairs(frozenset({label}), {})[label]
    return [(claim.key, claim.value.name, claim.value.target) for claim in reader(pair)]


@pytest.mark.parametrize(
    ("reader", "line", "label", "found"),
    [
        (devices.indexed, "GPU 0,1: NVIDIA A100", "gpu #", [("0", "NVIDIA A100", ""), ("1", "NVIDIA A100", "")]),
        (devices.indexed, "GPU 0: none", "gpu #", []),
        (devices.named, "GPU: Tesla T4", "gpu", [("", "Tesla T4", "")]),
        (devices.named, "GPU: GPU 0,2: Tesla T4", "gpu", [("0", "Tesla T4", ""), ("2", "Tesla T4", "")]),
        (devices.named, "GPU: (gfx1201)", "gpu", [("", "", "gfx1201")]),
        (devices.named, "GPU: no", "gpu", []),
        (devices.capabilities, "GPU 0,1: 8.9", "gpu #", [("0", "", "sm_89"), ("1", "", "sm_89")]),
        (devices.capabilities, "GPU 0: fast", "gpu #", []),
        (devices.highest, "GPU 3,4: 7.5", "gpu #", [("3", "", "sm_75")]),
    ],
)
def test_readers_of_lines_about_devices(reader, line, label, found):
    assert claims(reader, line, label) == found


@pytest.mark.parametrize(
    ("left", "right", "one"),
    [
        ("NVIDIA GeForce GTX 1060 6GB", "GeForce GTX 106...", True),
        ("NVIDIA GeForce GTX 1060 6GB", "GeForce GTX 108...", False),
        ("NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB", True),
        ("NVIDIA A100-SXM4-40GB", "A100", True),
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", False),
        ("Tesla T4", "Tesla T40", True),  # one begins the other: programs cut names without a mark
        ("Tesla T4", "Tesla P4", False),
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX", True),
        ("AMD Radeon RX 7900 XTX", "AMD Radeon RX 7800 XT", False),
        ("Intel Arc A770", "NVIDIA A770", False),
    ],
)
def test_two_names_of_one_product(left, right, one):
    assert same(left, right) is one
    assert same(right, left) is one


NAMES = st.sampled_from([row.name for row in MATRIX.table("gpus")])


@given(NAMES, NAMES)
def test_names_are_the_same_either_way_round(left, right):
    assert same(left, right) == same(right, left)
    assert same(left, left)


def test_the_maker_of_every_known_product_is_told_by_its_name_or_by_nothing():
    makers = {}
    for row in MATRIX.table("gpus"):
        makers.setdefault(row.name, {""}).add(row.vendor)
    assert {name for name, vendors in makers.items() if devices.vendor(name) not in vendors} == set()


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("Ubuntu 22.04.5 LTS", "ubuntu22.04"),
        ("Xubuntu 20.04", "ubuntu20.04"),
        ("Rocky Linux 9.3 (Blue Onyx)", "rocky9.3"),
        ("AlmaLinux 8.9", "almalinux8.9"),
        ("Oracle Linux Server 8.9", "ol8.9"),
        ("Amazon Linux release 2023", "amazonlinux2023"),
        ("SUSE Linux Enterprise Server 15 SP5", "sles15.5"),
        ("openSUSE Leap 15.5", "opensuse15.5"),
        ("CentOS Stream 9", "centos9"),
        ("Red Hat Enterprise Linux 8.6 (Ootpa)", "rhel8.6"),
        ("Debian GNU/Linux 12 (bookworm)", "debian12"),
        ("Microsoft Windows 11 Pro", "windows11"),
        ("Windows Server 2022", "windowsserver2022"),
        ("macOS Sonoma 14.2.1", "macos14.2.1"),
        ("Mac OS X 10.15", "macos10.15"),
        ("Arch Linux", "arch"),
        ("my machine", ""),
        ("", ""),
    ],
)
def test_a_system_as_images_spell_it(text, tag):
    assert systems.spelling(text) == tag


@pytest.mark.parametrize(
    "name", ["Rocky Linux 9.3", "AlmaLinux 8.9", "Oracle Linux Server 8.9", "Amazon Linux 2023", "Fedora Linux 41"]
)
def test_the_spelling_of_a_report_leads_to_the_matrixs_row(name):
    assert MATRIX.system(systems.spelling(name)) is not None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("CentOS Linux 7 (Core) (x86_64)", ("CentOS Linux 7 (Core)", "x86_64")),
        ("Ubuntu 22.04.3 LTS x86_64", ("Ubuntu 22.04.3 LTS", "x86_64")),
        ("Windows 10 (64-bit)", ("Windows 10", "")),
        ("macOS 14 (ARM64)", ("macOS 14", "arm64")),
        ("Debian 12 (bookworm)", ("Debian 12 (bookworm)", "")),
        ("x86_64", ("x86_64", "")),
    ],
)
def test_a_system_and_its_processor_part(text, parts):
    assert systems.split_architecture(text) == parts


@pytest.mark.parametrize(
    ("text", "platform"),
    [
        ("Linux-5.15.0-generic", "linux"),
        ("Linux-5.15.90.1-microsoft-standard-WSL2", "wsl2"),
        ("4.4.0-19041-Microsoft", "wsl1"),
        ("Windows-10-10.0.19045", "windows"),
        ("nt", "windows"),
        ("Darwin-23.1", "darwin"),
        ("macOS 14", "darwin"),
        ("Ubuntu 22.04", "linux"),
        ("plan9", ""),
    ],
)
def test_a_platform_by_its_kernel_or_name(text, platform):
    assert systems.platform(text) == platform


@pytest.mark.parametrize(
    ("text", "architecture"),
    [("AMD64", "x86_64"), ("x64", "x86_64"), ("arm64", "aarch64"), (" aarch64 ", "aarch64"), ("vax", ""), ("", "")],
)
def test_a_processor_as_linux_names_it(text, architecture):
    assert systems.architecture(text) == architecture


def test_level_zero_tells_the_release_of_intels_runtime():
    line = "[level_zero:gpu][level_zero:0] Intel(R) Level-Zero, Intel(R) Arc(TM) A770 Graphics 12.55.8 [1.6.31294+20]"
    assert read(line).host.intel_runtime == "1.6.31294"
    assert read(line.replace("level_zero", "opencl").replace("12.55.8", "OpenCL 3.0 NEO ")).host.intel_runtime is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("- GPU: RTX 3080\n- Graphics card: NVIDIA GeForce RTX 3080 10GB", 1),
        ("GPU 0: NVIDIA GeForce RTX 3080\nGPU: # NVIDIA GeForce RTX 3080", 1),
        ("GPU 0: RTX 3080\nGPU 1: RTX 3080", 2),
        ("GPU: 2x RTX 3080", 2),
    ],
)
def test_a_card_under_two_labels_is_one_card(text, count):
    assert len(read(text).host.gpus) == count
