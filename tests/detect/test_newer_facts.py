"""What joins GPUs, NVIDIA's services, the toolkit's settings, Windows and Intel Macs: each from its own files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.detect import DETECTORS, look, pci, services
from compat.facts import Fact, Unknown

PCI = "/sys/bus/pci/devices"
ACS, AER = 0x000D, 0x0001
SV, RR = 0x01, 0x04


def space(*capabilities, size=4096):
    """A configuration space with extended capabilities: (place, id, next place, control)."""
    data = bytearray(size)
    for place, number, following, control in capabilities:
        data[place : place + 4] = (number | 1 << 16 | following << 20).to_bytes(4, "little")
        data[place + 6 : place + 8] = control.to_bytes(2, "little")
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "control"),
    [
        (space((0x100, ACS, 0, 0x1D)), 0x1D),
        (space((0x100, AER, 0x148, 0xFFFF), (0x148, ACS, 0, RR)), RR),
        (space((0x100, AER, 0, 0xFFFF)), 0),
        (space((0x100, AER, 0x100, 0)), 0),
        (space((0x100, AER, 0x200, 0), (0x200, AER, 0x100, 0)), 0),
        (space((0x100, AER, 0xFFC, 0)), 0),
        (space((0x100, ACS, 0, 0x1D), size=0x104 + 4), 0x1D),
        (b"\0" * 64, 0),
        (b"", 0),
        (b"\xff" * 4096, 0),
    ],
    ids=["alone", "second", "none", "itself", "circle", "at the end", "short", "unprivileged", "empty", "lost device"],
)
def test_access_control_is_found_in_the_list_of_capabilities(data, control):
    assert pci._acs_control(data) == control


@given(st.binary(max_size=4096))
@settings(max_examples=200)
def test_no_configuration_space_makes_it_fail(data):
    assert 0 <= pci._acs_control(data) <= 0xFFFF


def two_cards(config, **files):
    """Two cards below one root port each, whose configuration spaces are given."""
    said = {"files": {}, "binary": {}, "links": {}}
    for number in (1, 2):
        place = f"/sys/devices/pci0000:00/0000:00:0{number}.0/0000:0{number}:00.0"
        said["links"][f"{PCI}/0000:0{number}:00.0"] = place
        said["binary"][f"{PCI}/0000:00:0{number}.0/config"] = config.hex()
        for name, text in {"vendor": "0x10de", "device": "0x2230", "class": "0x030000", **files}.items():
            said["files"][f"{place}/{name}"] = f"{text}\n"
    return said


@pytest.mark.parametrize(
    ("control", "told"),
    [(SV, 2), (RR, 2), (SV | RR | 0x18, 2), (0x10, 0), (0, 0)],
    ids=["validation", "redirect", "as Linux sets it", "forwarding alone", "off"],
)
def test_bridges_above_cards_that_redirect_are_named(seen, control, told):
    reading = seen("pci", **two_cards(space((0x100, ACS, 0, control))))["pcie_acs"]
    assert reading.value == ("0000:00:01.0", "0000:00:02.0")[:told]


def test_what_only_root_may_read_is_unknown_and_not_off(seen):
    reading = seen("pci", **two_cards(b"\x86\x80" + bytes(62)))["pcie_acs"]
    assert isinstance(reading, Unknown)
    assert "root" in reading.why


def test_one_card_has_nobody_to_talk_to(seen):
    files = {
        f"{PCI}/0000:01:00.0/{name}": text
        for name, text in (("vendor", "0x10de"), ("device", "0x2230"), ("class", "0x030000"))
    }
    assert seen("pci", files=files)["pcie_acs"].value == ()


@pytest.mark.parametrize(("text", "node"), [("0", 0), ("-1", -1), ("7", 7), ("", None), ("none", None), ("-2", None)])
def test_numa_node_is_a_number_or_not_told(seen, text, node):
    gpus = seen("pci", **two_cards(b"", numa_node=text))["gpus"].value
    assert {gpu.numa for gpu in gpus} == {node}


@pytest.mark.parametrize(
    ("kind", "told"), [("identity", "pt"), ("DMA", "translated"), ("DMA-FQ", "translated"), ("unmanaged", None)]
)
def test_translation_is_known_from_the_domains_of_cards(seen, kind, told):
    said = two_cards(b"")
    said["files"]["/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/iommu_group/type"] = f"{kind}\n"
    found = seen("pci", **said)
    assert ("iommu" in found) == (told is not None)
    assert told is None or found["iommu"].value == told


MPS = "/tmp/nvidia-mps/nvidia-cuda-mps-control.pid"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, None),
        ({"/tmp/nvidia-mps/log": ""}, None),
        ({MPS: "12\n", "/proc/12/comm": "nvidia-cuda-mps\n"}, "running"),
        ({MPS: "12\n", "/proc/12/comm": "python\n"}, "stopped"),
        ({MPS: "12\n"}, "stopped"),
        ({MPS: "../../etc\n"}, None),
        ({MPS: "12\n", "/.dockerenv": ""}, "unknown"),
    ],
)
def test_mps_runs_if_its_process_lives(seen, files, told):
    reading = seen("services", files=files)["mps"]
    assert ("unknown" if isinstance(reading, Unknown) else reading.value) == told


def test_mps_pipes_of_the_environment_count_and_relative_ones_do_not(seen):
    files = {"/run/mps/nvidia-cuda-mps-control.pid": "9", "/proc/9/comm": "nvidia-cuda-mps-s\n"}
    assert seen("services", files=files, env={"CUDA_MPS_PIPE_DIRECTORY": "/run/mps/"})["mps"].value == "running"
    assert seen("services", files=files, env={"CUDA_MPS_PIPE_DIRECTORY": "run/mps"})["mps"].value is None


@pytest.mark.parametrize(
    ("files", "folders", "told"),
    [
        ({"/proc/1/comm": "systemd\n"}, ["/run/systemd/system"], "systemd"),
        ({"/proc/1/comm": "init\n"}, ["/run/openrc"], "openrc"),
        ({"/proc/1/comm": "init\n"}, [], "init"),  # WSL without systemd, SysV
        ({"/proc/1/comm": "bash\n", "/.dockerenv": ""}, [], "unknown"),
        ({"/proc/1/comm": "a; b\n"}, [], "unknown"),
        ({}, [], "unknown"),
    ],
)
def test_manager_of_services_is_told_by_what_it_keeps_while_it_runs(seen, files, folders, told):
    reading = seen("services", files=files, folders=folders)["init"]
    assert ("unknown" if isinstance(reading, Unknown) else reading.value) == told


def test_a_container_does_not_know_whether_its_host_has_a_service(seen):
    found = seen("services", files={"/.dockerenv": ""}, folders=["/sys/fs/cgroup/system.slice"])
    assert isinstance(found["fabric_manager"], Unknown)
    assert isinstance(found["imex"], Unknown)


CONFIG = "/etc/nvidia-container-runtime/config.toml"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[nvidia-container-runtime]\nmode = "cdi"\n', {"nvidia-container-runtime.mode": "cdi"}),
        ("#no-cgroups = true\n", {}),
        ("  no-cgroups   =   true   # why not\n", {"no-cgroups": "true"}),
        ('[a.b]\nlist = ["x"]\nnumber = 12\n', {"a.b.number": "12"}),
        ('[nvidia-container-cli]\nldconfig = "/sbin/ldconfig"\n', {"nvidia-container-cli.ldconfig": "/sbin/ldconfig"}),
        (
            '[nvidia-container-cli]\nldconfig = "@/sbin/ldconfig.real"\n',
            {"nvidia-container-cli.ldconfig": "@/sbin/ldconfig.real", "missing": "/sbin/ldconfig.real"},
        ),
        ("", {}),
    ],
)
def test_settings_of_the_toolkit_are_told_by_dotted_names(seen, text, told):
    assert seen("services", files={CONFIG: text})["toolkit_config"].value == told


def test_program_that_the_toolkit_starts_and_that_is_there_is_not_missing(seen):
    files = {CONFIG: '[nvidia-container-cli]\nldconfig = "@/sbin/ldconfig"\n', "/sbin/ldconfig": ""}
    assert "missing" not in seen("services", files=files)["toolkit_config"].value


def test_no_toolkit_is_an_absence_and_a_closed_file_a_reason(seen):
    assert seen("services")["toolkit_config"] == Fact(None, CONFIG)
    assert "denied" in seen("services", denied=[CONFIG])["toolkit_config"].why


@given(st.text(alphabet='[]="@#\n ab.-\\1', max_size=300))
def test_no_text_of_settings_makes_it_fail(text):
    import time

    from compat.detect.machine import Machine
    from compat.detect.root import Root

    class One(Root):
        def read(self, path, limit=0):  # noqa: ARG002
            return text.encode()

        def entry(self, path):  # noqa: ARG002
            raise FileNotFoundError

    found = services.facts(Machine(One(), None, time.monotonic() + 5))["toolkit_config"].value
    assert all(isinstance(value, str) for value in found.values())


LINES = [
    "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x56:1474)",
    "NVRM: API mismatch: the client has the version 550.54.15, but this kernel module has the version 550.54.14.",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.14",
    "NVRM: Xid (PCI:0000:01:00): 119, pid=7, name=secret-job, Timeout waiting for RPC from GSP!",
]


def test_refusals_in_the_kernel_log_are_told_once_and_name_no_process(seen):
    log = "".join(f"4,{number},1,-;{line}\n" for number, line in enumerate(LINES * 3))
    found = seen("modules", files={"/dev/kmsg": log, "/proc/modules": "nvidia 1 0 - Live 0x0\n"})
    assert found["driver_log"].value == (LINES[0], LINES[1])
    assert found["xids"].value == ("119",)
    assert "secret-job" not in str(found)


def test_closed_kernel_log_is_a_reason_for_both(seen):
    found = seen("modules", denied=["/dev/kmsg"], files={"/proc/modules": "nvidia 1 0 - Live 0x0\n"})
    assert "may not be read" in found["driver_log"].why
    assert "may not be read" in found["xids"].why


DEP = "/lib/modules/6.8.0-45-generic/modules.dep"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({DEP: "updates/dkms/nvidia.ko.zst: kernel/x.ko\n"}, "updates/dkms/nvidia.ko.zst"),
        ({DEP: "kernel/drivers/video/nvidia.ko:\n"}, "kernel/drivers/video/nvidia.ko"),
        ({DEP: "updates/dkms/nvidia-drm.ko: updates/dkms/nvidia.ko\n"}, None),
        ({DEP: ""}, None),
        ({}, "unknown"),
        ({DEP: "", "/.dockerenv": ""}, "not asked"),
        ({DEP: "", "/proc/modules": "nvidia 1 0 - Live 0x0\n"}, "not asked"),
    ],
)
def test_module_of_the_running_kernel_is_looked_for_where_libraries_wait_for_it(seen, files, told):
    found = seen("modules", files={"/proc/modules": "\n", **files}, loader={"libcuda.so.1": "/usr/lib/libcuda.so.1"})
    reading = found.get("module_file", "not asked")
    assert (getattr(reading, "value", "unknown") if reading != "not asked" else reading) == told


ADAPTER = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"


def adapter(number=0, **values):
    said = {"DriverDesc": "Card", "DriverVersion": "32.0.15.6094", "MatchingDeviceId": r"PCI\VEN_10DE&DEV_2503"}
    return {f"{ADAPTER}\\{number:04d}": {**said, **values}}


@pytest.mark.parametrize(
    ("values", "driver"),
    [
        ({}, "560.94"),
        ({"DriverVersion": "31.0.15.3623"}, "536.23"),
        ({"DriverVersion": "27.21.14.5671"}, "456.71"),
        ({"DriverVersion": "1"}, None),
        ({"DriverVersion": 7}, None),
        ({"MatchingDeviceId": r"PCI\VEN_1002&DEV_747E"}, None),
    ],
)
def test_release_is_in_the_last_five_digits_of_windows_number(seen, values, driver):
    found = seen("windows", system="windows", registry=adapter(**values))
    assert (found["driver"].value if "driver" in found else None) == driver


def test_adapters_keep_their_numbers_and_virtual_ones_are_none(seen):
    registry = {
        **adapter(0, DriverDesc="Remote", MatchingDeviceId="rdpidd_indirectdisplay"),
        **adapter(3, **{"HardwareInformation.qwMemorySize": 12884901888}),
        **adapter(4, DriverDesc="", MatchingDeviceId=r"PCI\VEN_8086&DEV_4680"),
        **adapter(5, **{"HardwareInformation.qwMemorySize": -1, "MatchingDeviceId": r"pci\ven_8086&dev_4680"}),
    }
    found = seen("windows", system="windows", registry=registry)["gpus"].value
    assert [(gpu.pci, gpu.memory_mib) for gpu in found] == [("10de:2503", 12288), ("8086:4680", None)]


GRAPHICS = r"SYSTEM\CurrentControlSet\Control\GraphicsDrivers"


@pytest.mark.parametrize(
    ("values", "seconds"),
    [(None, 2), ({}, 2), ({"TdrDelay": 60}, 60), ({"TdrLevel": 0}, 0), ({"TdrLevel": 3}, 2), ({"TdrDelay": "x"}, 2)],
)
def test_display_watchdog_is_told_in_seconds(seen, values, seconds):
    registry = {} if values is None else {GRAPHICS: values}
    assert seen("windows", system="windows", registry=registry)["tdr_delay"].value == seconds


def test_other_systems_have_no_registry(replay):
    from compat.detect.machine import Machine

    machine = Machine(replay.Recording({}), None, 0)
    assert look(DETECTORS["windows"], machine) == {}
    assert "no registry" in machine.registry("x").why


SYSCTL = "sysctl machdep.cpu.brand_string hw.memsize hw.optional.arm64 machdep.cpu.features"
PROFILER = "system_profiler -json SPDisplaysDataType"


@pytest.mark.parametrize(
    "answer",
    ["", "not json", "[]", "{}", '{"SPDisplaysDataType": 7}', '{"SPDisplaysDataType": [1, {}]}', "[" * 5000],
)
def test_odd_answers_of_the_profiler_are_reasons_or_gaps(seen, answer):
    commands = {SYSCTL: "machdep.cpu.brand_string: Intel\nhw.memsize: 1073741824\n", PROFILER: answer}
    reading = seen("macos", system="darwin", arch="x86_64", commands=commands)["gpus"]
    assert isinstance(reading, Unknown) or all(gpu.name == "" for gpu in reading.value)


def test_apple_silicon_is_not_asked_what_only_intel_macs_know(seen):
    commands = {SYSCTL: "machdep.cpu.brand_string: Apple M3\nhw.memsize: 8589934592\nhw.optional.arm64: 1\n"}
    found = seen("macos", system="darwin", arch="arm64", commands=commands)["gpus"].value
    assert [(gpu.name, gpu.memory_mib) for gpu in found] == [("Apple M3", 8192)]


NODE = "/sys/class/kfd/kfd/topology/nodes/1"
CARD = "cpu_cores_count 0\nsimd_count 192\ngfx_target_version 110000\nvendor_id 4098\ndevice_id 29772\nlocation_id 768\ndomain 0\n"
LEVELS = "0: 500Mhz \n1: 1435Mhz *\n2: 2482Mhz \n"


def amd(seen, **files):
    """The one AMD card whose files are given, by their last part below its device or its node."""
    said = {f"{PCI}/0000:03:00.0/{name}": text for name, text in files.items() if name.startswith("pp_")}
    (gpu,) = seen("amd", files={f"{NODE}/properties": CARD, **said, **files.get("kfd", {})})["gpus"].value
    return gpu


@pytest.mark.parametrize(
    ("text", "now", "most"),
    [
        (LEVELS, 1435, 2482),
        ("S: 19Mhz *\n0: 500Mhz \n1: 2482Mhz \n", None, 2482),
        ("0: 96Mhz\n", None, 96),
        ("", None, None),
        ("garbage *\n0: 99999999Mhz *\n", None, None),
    ],
)
def test_clocks_of_amd_cards_are_those_with_the_star_and_the_highest(seen, text, now, most):
    gpu = amd(seen, pp_dpm_sclk=text)
    assert (gpu.clock_mhz, gpu.clock_max_mhz) == (now, most)
    assert (gpu.memory_clock_mhz, gpu.memory_clock_max_mhz) == (None, None)
    assert amd(seen, pp_dpm_mclk=text).memory_clock_max_mhz == most


PROC = "/sys/class/kfd/kfd/proc"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({f"{NODE}/gpu_id": "51230\n", f"{PROC}/7/vram_51230": "4096\n", f"{PROC}/8/vram_51230": "0\n"}, 1),
        ({f"{NODE}/gpu_id": "51230\n", f"{PROC}/7/vram_1": "4096\n"}, 0),
        ({f"{NODE}/gpu_id": "x\n", f"{PROC}/7/vram_x": "4096\n"}, None),
        ({f"{NODE}/gpu_id": "51230\n"}, None),
        ({f"{NODE}/gpu_id": "51230\n", f"{PROC}/7/vram_51230": "rubbish"}, 0),
    ],
)
def test_processes_on_amd_cards_are_those_that_hold_memory(seen, files, told):
    assert amd(seen, kfd=files).processes == told
