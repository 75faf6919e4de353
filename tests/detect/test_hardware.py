"""GPUs, their drivers and nodes: PCI, NVIDIA, AMD, Jetson, others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.detect import amd, nvml
from compat.facts import Fact, Gpu, Unknown
from compat.targets import is_target

BUS = "/sys/bus/pci/devices/0000:01:00.0"


def device(vendor, number, kind, **files):
    """Files of one device on the PCI bus."""
    said = {"vendor": f"0x{vendor}\n", "device": f"0x{number}\n", "class": f"{kind}\n", **files}
    return {f"{BUS}/{name}": text for name, text in said.items()}


@pytest.mark.parametrize(
    ("vendor", "number", "kind", "name"),
    [
        ("10de", "2684", "0x030000", "nvidia"),
        ("10de", "20b0", "0x030200", "nvidia"),
        ("1002", "74a1", "0x120000", "amd"),
        ("1002", "744c", "0x038000", "amd"),
        ("8086", "56a0", "0x030000", "intel"),
        ("8086", "7d1d", "0x120000", "intel"),
        ("19e5", "d802", "0x120000", "huawei"),
        ("1ae0", "0063", "0x120000", "google"),
        ("10de", "22ba", "0x040300", None),
        ("1a03", "2000", "0x030000", None),
        ("1234", "1111", "0x030000", None),
        ("8086", "1533", "0x020000", None),
    ],
)
def test_accelerators_are_told_from_other_devices(seen, vendor, number, kind, name):
    found = seen("pci", files=device(vendor, number, kind))["gpus"].value
    assert [(gpu.vendor, gpu.pci) for gpu in found] == ([] if name is None else [(name, f"{vendor}:{number}")])


@pytest.mark.parametrize("driver", ["nvidia", "nouveau", "vfio-pci", "nova_core", None])
def test_bound_driver_is_told(seen, driver):
    links = {f"{BUS}/driver": f"../../../bus/pci/drivers/{driver}"} if driver else {}
    (gpu,) = seen("pci", files=device("10de", "2684", "0x030000"), links=links)["gpus"].value
    assert gpu.driver == (driver or "none")


@pytest.mark.parametrize(
    ("speed", "width", "told"),
    [
        ("16.0 GT/s PCIe\n", "16\n", "gen4 x16"),
        ("2.5 GT/s PCIe", "1", "gen1 x1"),
        ("32.0 GT/s PCIe", "8", "gen5 x8"),
        ("8 GT/s", "4", "gen3 x4"),
        ("Unknown", "16", ""),
        ("16.0 GT/s PCIe", "0", ""),
        ("16.0 GT/s PCIe", "255", ""),
        ("", "", ""),
    ],
)
def test_link_is_told_by_generation_and_width(seen, speed, width, told):
    files = device("10de", "2684", "0x030000", current_link_speed=speed, current_link_width=width)
    (gpu,) = seen("pci", files=files)["gpus"].value
    assert gpu.pcie == told
    assert gpu.pcie_max == ""


def test_no_bus_is_a_reason_and_an_empty_bus_an_answer(seen):
    assert isinstance(seen("pci")["gpus"], Unknown)
    assert seen("pci", folders=["/sys/bus/pci/devices"])["gpus"].value == ()


NVRM = "NVRM version: NVIDIA UNIX {}x86_64 {} {}  Sun May 12 19:39:15 UTC 2024\nGCC version:  gcc version 12.3.0\n"


@pytest.mark.parametrize(
    ("text", "driver", "branch"),
    [
        (NVRM.format("", "Kernel Module ", "535.183.01"), "535.183.01", "proprietary"),
        (NVRM.format("", "Kernel Module ", "390.157"), "390.157", "proprietary"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release Build  (u@h)  Thu Feb 22\n",
            "550.54.14",
            "open",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.3.0  Release Build", "540.3.0", "open"),
    ],
)
def test_kernel_module_tells_its_release_and_flavour(seen, text, driver, branch):
    told = seen("nvidia", files={"/proc/driver/nvidia/version": text})
    assert (told["driver"].value, told["driver_branch"].value) == (driver, branch)


@pytest.mark.parametrize(
    "text",
    [
        "something else",
        "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  35.3.1  Release Build  (b@m)  Sun Mar 19\n",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550  Sun Mar 19\n",
    ],
)
def test_kernel_module_with_odd_text_is_unknown_not_absent(seen, text):
    """Jetson's module is numbered as L4T is up to release 35: compared with a driver's floors it would be far too old."""
    told = seen("nvidia", files={"/proc/driver/nvidia/version": text})
    assert told["driver"] == told["driver_branch"]
    assert told["driver"].why == "the text does not name a driver release"


def test_module_without_proc_is_read_from_sys(seen):
    told = seen("nvidia", files={"/sys/module/nvidia/version": "535.183.01\n"})
    assert told["driver"] == Fact("535.183.01", "/sys/module/nvidia/version")
    assert isinstance(told["driver_branch"], Unknown)


def test_gpus_are_named_by_proc_without_any_library(seen):
    folder = "/proc/driver/nvidia/gpus"
    files = {
        f"{folder}/0000:01:00.0/information": "Model: \t\t NVIDIA A2\nIRQ: 1\n",
        f"{folder}/0000:02:00.0/information": "Model: \t\t Unknown\n",
    }
    told = seen("nvidia", files=files)["gpus"].value
    assert told == (Gpu(name="NVIDIA A2", vendor="nvidia", bus="0000:01:00.0", driver="nvidia"),)


DPKG = "Package: {}\nStatus: {}\nVersion: {}\n\n"
FABRIC = DPKG.format("nvidia-fabricmanager-550", "install ok installed", "550.90.07-1")
SLICE = "/sys/fs/cgroup/system.slice"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, None),
        ({"/var/lib/dpkg/status": FABRIC, f"{SLICE}/nvidia-fabricmanager.service/x": ""}, "550.90.07 running"),
        ({"/var/lib/dpkg/status": FABRIC, f"{SLICE}/ssh.service/x": ""}, "550.90.07 stopped"),
        ({"/usr/bin/nv-fabricmanager": "", f"{SLICE}/ssh.service/x": ""}, "stopped"),
        ({"/var/lib/dpkg/status": FABRIC}, "unknown"),
    ],
)
def test_fabric_manager_is_absent_running_stopped_or_unknown(seen, files, told):
    reading = seen("services", files=files)["fabric_manager"]
    assert (reading.value if isinstance(reading, Fact) else "unknown") == told


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (90402, "gfx942"),
        (90500, "gfx950"),
        (90010, "gfx90a"),
        (90012, "gfx90c"),
        (90008, "gfx908"),
        (100300, "gfx1030"),
        (100306, "gfx1036"),
        (110000, "gfx1100"),
        (110003, "gfx1103"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
        (80003, "gfx803"),
        (70000, "gfx700"),
    ],
)
def test_gfx_number_of_the_kernel_is_the_compilers_name(number, name):
    assert amd.gfx(number) == name


@given(st.integers(7, 15), st.integers(0, 15), st.integers(0, 15))
def test_every_gfx_number_gives_a_target(high, minor, step):
    assert is_target(amd.gfx(high * 10000 + minor * 100 + step))


@pytest.mark.parametrize(
    ("domain", "location", "address"),
    [(0, 768, "0000:03:00.0"), (0, 0xC500, "0000:c5:00.0"), (1, 0x0C0B, "0001:0c:01.3"), (0, 0, "0000:00:00.0")],
)
def test_location_of_a_node_is_its_pci_address(domain, location, address):
    assert amd.address(domain, location) == address


NODE = "/sys/class/kfd/kfd/topology/nodes/1"


def kfd(**values):
    """Properties of one GPU node; the defaults are a discrete card."""
    said = {
        "cpu_cores_count": 0,
        "simd_count": 96,
        "gfx_target_version": 110000,
        "device_id": 29772,
        "location_id": 768,
    }
    return {f"{NODE}/properties": "".join(f"{key} {value}\n" for key, value in (said | values).items())}


@pytest.mark.parametrize(
    ("values", "integrated"),
    [
        ({"family_id": 145}, False),
        ({"family_id": 148}, True),
        ({"family_id": 150}, True),
        ({"family_id": 141}, False),
        ({}, None),
        ({"cpu_cores_count": 8}, True),
    ],
)
def test_apu_is_known_by_its_family(seen, values, integrated):
    (gpu,) = seen("amd", files=kfd(**values))["gpus"].value
    assert gpu.integrated is integrated


def test_processor_nodes_are_no_gpus(seen):
    assert seen("amd", files=kfd(simd_count=0, gfx_target_version=0))["gpus"].value == ()


@pytest.mark.parametrize(
    "rubbish", ["", "\0\0", "simd_count many\n", "simd_count 99999999999999999999999\n", "x" * 5000]
)
def test_rubbish_in_a_node_is_no_gpu(seen, rubbish):
    assert seen("amd", files={f"{NODE}/properties": rubbish})["gpus"].value == ()


def test_memory_of_a_card_comes_from_its_banks_without_amdgpus_file(seen):
    banks = {
        f"{NODE}/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 1073741824\n",
        f"{NODE}/mem_banks/1/properties": "heap_type 0\nsize_in_bytes 5\n",
    }
    (gpu,) = seen("amd", files=kfd() | banks)["gpus"].value
    assert gpu.memory_mib == 1024


IDS = "744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tCC,\tAMD Radeon RX 7900 XT\n744C,\t00,\tplain\n"


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"/usr/share/libdrm/amdgpu.ids": IDS, "revision": "0xc8\n"}, "AMD Radeon RX 7900 XTX"),
        ({"/usr/share/libdrm/amdgpu.ids": IDS, "revision": "0xcc\n"}, "AMD Radeon RX 7900 XT"),
        ({"/opt/amdgpu/share/libdrm/amdgpu.ids": IDS, "revision": "0xff\n"}, ""),
        ({"product_name": "AMD Instinct MI300X\n", "revision": "0x00\n"}, "AMD Instinct MI300X"),
        ({}, ""),
    ],
)
def test_name_of_a_card_is_the_boards_or_libdrms(seen, files, name):
    placed = {
        path if path.startswith("/") else f"/sys/bus/pci/devices/0000:03:00.0/{path}": text
        for path, text in files.items()
    }
    (gpu,) = seen("amd", files=kfd() | placed)["gpus"].value
    assert gpu.name == name


@pytest.mark.parametrize(
    ("said", "rocm"),
    [
        ({"files": {"/opt/rocm/.info/version": "6.2.4-139\n"}}, "6.2.4"),
        ({"files": {"/opt/rocm-5.7.1/.info/version": "5.7.1-98"}, "links": {"/opt/rocm": "rocm-5.7.1"}}, "5.7.1"),
        ({"files": {"/opt/rocm-5.7.1/.info/version": "5.7.1-98"}}, "5.7.1"),
        ({"files": {"/opt/rocm-5.7.1/.info/version": "5.7.1", "/opt/rocm-6.0.0/.info/version": "6.0.0"}}, "unknown"),
        (
            {
                "files": {"/opt/rocm-5.7.1/.info/version": "5.7.1", "/opt/rocm-6.0.0/.info/version": "6.0.0"},
                "env": {"ROCM_PATH": "/opt/rocm-6.0.0"},
            },
            "6.0.0",
        ),
        (
            {"files": {"/opt/rocm/core-7.14/.info/version": "7.14.0"}, "links": {"/opt/rocm/core": "core-7.14"}},
            "7.14.0",
        ),
        ({"files": {"/opt/rocm/bin/hipcc": ""}}, "unknown"),
        ({}, None),
    ],
)
def test_rocm_release_is_the_default_one_or_unknown(seen, said, rocm):
    reading = seen("amd", **said)["rocm"]
    assert (reading.value if isinstance(reading, Fact) else "unknown") == rocm


def test_driver_of_the_kernel_is_called_inbox(seen):
    assert seen("amd", folders=["/sys/module/amdgpu"])["amdgpu"].value == "inbox"
    assert seen("amd", files={"/sys/module/amdgpu/version": "6.10.5\n"})["amdgpu"].value == "6.10.5"
    assert seen("amd")["amdgpu"].value is None


@pytest.mark.parametrize(
    ("line", "l4t"),
    [
        ("# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64, DATE: Tue\n", "35.4.1"),
        ("# R36 (release), REVISION: 3.0, GCID: 36191598, BOARD: generic, EABI: aarch64\n", "36.3.0"),
        ("# R32 (release), REVISION: 7.1, GCID: 29818004\n", "32.7.1"),
        ("rubbish", None),
    ],
)
def test_l4t_is_read_from_its_release_file(seen, line, l4t):
    reading = seen("jetson", files={"/etc/nv_tegra_release": line})["l4t"]
    assert (reading.value if isinstance(reading, Fact) else None) == l4t


def test_l4t_package_counts_where_the_release_file_is_missing(seen):
    files = {
        "/proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234\0",
        "/var/lib/dpkg/status": DPKG.format("nvidia-l4t-core", "install ok installed", "36.4.0-20240912212859"),
    }
    assert seen("jetson", files=files)["l4t"].value == "36.4.0"


@pytest.mark.parametrize(("status", "jetpack"), [("install ok installed", "6.1"), ("deinstall ok config-files", None)])
def test_jetpack_that_was_removed_is_not_told(seen, status, jetpack):
    """dpkg keeps the paragraph of a package whose configuration files are left, with its version."""
    files = {
        "/etc/nv_tegra_release": "# R36 (release), REVISION: 4.0, GCID: 1\n",
        "/var/lib/dpkg/status": DPKG.format("nvidia-jetpack", status, "6.1+b123-1"),
    }
    reading = seen("jetson", files=files)["jetpack"]
    assert (reading.value.partition("+")[0] if isinstance(reading, Fact) else None) == jetpack


@pytest.mark.parametrize("text", ["9" * 60, "-1", "max", "1e9", "0x10", "٣", "18446744073709551616"])
def test_memory_that_no_card_has_is_not_told(seen, text):
    """The kernel's numbers have 64 bits; a document with others could not be read back."""
    node = "/sys/class/kfd/kfd/topology/nodes/1/properties"
    files = {node: "simd_count 4\ngfx_target_version 110000\nlocation_id 256\n", f"{BUS}/mem_info_vram_total": text}
    (gpu,) = seen("amd", files=files)["gpus"].value
    assert gpu.memory_mib is None


NODES = {"/dev/nvidia0": "0 666", "/dev/nvidiactl": "44 660", "/dev/kfd": "109 660", "/dev/dri/card0": "44 660"}


@pytest.mark.parametrize(
    ("user", "denied"),
    [
        ([0, 0], ()),
        ([1000, 1000], ("/dev/kfd", "/dev/nvidiactl")),
        ([1000, 1000, 44], ("/dev/kfd",)),
        ([1000, 1000, 44, 109], ()),
    ],
)
def test_denied_nodes_follow_from_modes_and_groups(seen, user, denied):
    told = seen("nodes", devices=NODES, user=user, files={"/etc/group": "video:x:44:\n"})
    assert told["device_nodes_denied"].value == denied
    assert told["device_groups"].value["/dev/nvidiactl"] == "video"
    assert told["device_groups"].value["/dev/kfd"] == "109"


def test_other_nodes_are_left_out(seen):
    told = seen(
        "nodes", devices={"/dev/null": "0 666", "/dev/sda": "6 660", "/dev/nvme0": "0 600", "/dev/nvidia-uvm": "0 666"}
    )
    assert told["device_nodes"].value == ("/dev/nvidia-uvm",)


XID = "4,1,1,-;NVRM: Xid (PCI:0000:41:00): {}, pid=77, name=python, Ch 1\n"


@pytest.mark.parametrize(
    ("log", "xids"),
    [
        ("", ()),
        (XID.format(79) + XID.format(31) + XID.format(79), ("79", "31")),
        ("NVRM: Xid (0000:41:00): 13, Graphics Exception\n", ("13",)),
        ("NVRM: Xid (PCI:0000:41:00) no number\n", ()),
    ],
)
def test_xids_are_numbers_without_repeats(seen, log, xids):
    files = {"/proc/modules": "nvidia 1 0 - Live 0x0\n", "/dev/kmsg": log}
    assert seen("modules", files=files)["xids"].value == xids


def test_log_that_may_not_be_read_is_a_reason(seen):
    told = seen("modules", files={"/proc/modules": "nvidia 1 0 - Live 0x0\n"}, denied=["/dev/kmsg"])
    assert "Permission denied" in told["xids"].why


def test_modules_of_no_concern_are_left_out(seen):
    text = "nvme 1 0 - Live 0x0\nnvidia_peermem 1 0 - Live 0x0\nvideo 1 0 - Live 0x0\nnouveau 1 0 - Live 0x0\n"
    told = seen("modules", files={"/proc/modules": text}, folders=["/sys/module/amdgpu"])
    assert told["modules"].value == ("amdgpu", "nouveau", "nvidia_peermem")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("00000000:01:00.0", "0000:01:00.0"),
        ("0001:0C:00.0", "0001:0c:00.0"),
        ("01:00.0", ""),
        ("", ""),
        ("garbage", ""),
    ],
)
def test_addresses_of_nvml_are_those_of_the_bus(text, address):
    assert nvml.bus(text) == address


def test_cann_and_tpu_are_told_where_they_are(seen):
    files = {"/usr/local/Ascend/ascend-toolkit/latest/compiler/version.info": "Version=8.0.0\nversion_dir=8.0.0\n"}
    told = seen("accelerators", files=files, env={"TPU_ACCELERATOR_TYPE": "v4-8"})
    assert told["cann"].value == "8.0.0"
    assert told["gpus"].value == (Gpu(name="TPU v4-8", vendor="google"),)


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ({"memory": [2**63 - 1, 5]}, "memory_mib", None),
        ({"memory": [40960 << 20, 2**64 - 1]}, "memory_used_mib", None),
        ({"memory": [40960 << 20, 1 << 20]}, "memory_mib", 40960),
        ({"mig": [1, 0], "mig_devices": 2}, "mig_devices", 2),
        ({"mig": [0, 0], "mig_devices": 2}, "mig_devices", None),
        ({"processes": 2**32 - 1}, "processes", None),
        ({"ecc_uncorrected": 2**64 - 1}, "ecc_uncorrected", None),
        ({"lost": True}, "lost", True),
        ({}, "lost", False),
        ({"persistence": 1}, "persistence", None),
        ({"name": "A\x1b[31mB"}, "name", "A[31mB"),
    ],
)
def test_numbers_of_nvml_count_only_within_reason(said, field, value):
    assert getattr(nvml._gpu(said), field) == value
