"""Windows and macOS: every fact that their readers tell, absences and reasons beside it, and what is not to be believed."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.detect import DETECTORS, look
from compat.detect.machine import Machine
from compat.facts import Fact, Gpu, Unknown

CONTROL = r"SYSTEM\CurrentControlSet\Control"
ADAPTERS = rf"{CONTROL}\Class\{{4d36e968-e325-11ce-bfc1-08002be10318}}"
RUNTIME = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\X64"
PROCESSOR = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
TOOLKITS = "/C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA"


def told(reading):
    """The value, or the reason as a text that begins with a question mark."""
    return f"? {reading.why}" if isinstance(reading, Unknown) else reading.value


@pytest.mark.parametrize(
    ("registry", "files", "fact", "value"),
    [
        ({PROCESSOR: {"ProcessorNameString": "AMD Ryzen 9 7950X   "}}, (), "cpu", "AMD Ryzen 9 7950X"),
        ({PROCESSOR: {"ProcessorNameString": ""}}, (), "cpu", None),
        ({PROCESSOR: {"~MHz": 4500}}, (), "cpu", None),
        ({}, (), "cpu", None),
        ({rf"{CONTROL}\FileSystem": {"LongPathsEnabled": 1}}, (), "long_paths", True),
        ({rf"{CONTROL}\FileSystem": {"LongPathsEnabled": 0}}, (), "long_paths", False),
        ({rf"{CONTROL}\FileSystem": {}}, (), "long_paths", False),
        ({rf"{CONTROL}\FileSystem": {"LongPathsEnabled": "1"}}, (), "long_paths", False),
        ({RUNTIME: {"Version": "v14.40.33810.00"}}, (), "msvc", "14.40.33810.00"),
        ({RUNTIME: {"Version": "14.29.30133"}}, (), "msvc", "14.29.30133"),
        ({RUNTIME: {"Major": 14}}, ("/C:/Windows/System32/msvcp140.dll",), "msvc", "14, release not recorded"),
        ({}, ("/C:/Windows/System32/msvcp140.dll",), "msvc", "14, release not recorded"),
        ({}, (), "msvc", None),
        ({rf"{CONTROL}\GraphicsDrivers": {"TdrDelay": 8, "TdrLevel": 0}}, (), "tdr_delay", 0),
        ({rf"{CONTROL}\GraphicsDrivers": {"TdrDelay": 8, "TdrLevel": "0"}}, (), "tdr_delay", 8),
    ],
)
def test_settings_of_windows(seen, registry, files, fact, value):
    found = seen("windows", system="windows", registry=registry, files=dict.fromkeys(files, ""))
    assert told(found[fact]) == value


def test_a_registry_that_may_not_be_read_is_a_reason_for_each_fact(replay):
    class Closed(replay.Recording):
        def registry(self, key):  # noqa: ARG002 - the shape of Root
            raise PermissionError(13, "Access is denied")

    closed = Closed({"system": "windows"})
    found = look(DETECTORS["windows"], Machine(closed, closed.run, 0))
    for fact in ("cpu", "long_paths", "tdr_delay", "msvc"):
        assert told(found[fact]).endswith(": Access is denied"), fact
    assert told(found["gpus"]) == ()


@pytest.mark.parametrize(
    ("files", "env", "toolkits", "first"),
    [
        ((), {}, {}, None),
        ((f"{TOOLKITS}/v12.4/bin/nvcc.exe",), {}, {f"{TOOLKITS[1:]}/v12.4": "12.4"}, None),
        (
            (f"{TOOLKITS}/v12.4/bin/nvcc.exe", f"{TOOLKITS}/v11.8/bin/nvcc.exe"),
            {"PATH": f"C:/Windows;{TOOLKITS[1:]}/v11.8/bin;{TOOLKITS[1:]}/v12.4/bin"},
            {f"{TOOLKITS[1:]}/v11.8": "11.8", f"{TOOLKITS[1:]}/v12.4": "12.4"},
            "11.8",
        ),
        ((f"{TOOLKITS}/v12.4/lib/x64/cudart.lib",), {}, {}, None),
        (("/D:/cuda/v12.6/bin/nvcc.exe",), {"CUDA_PATH": "D:\\cuda\\v12.6\\"}, {"D:/cuda/v12.6": "12.6"}, None),
        (
            ("/D:/cuda/12.6/bin/nvcc.exe",),
            {"CUDA_HOME": "D:\\cuda\\12.6", "PATH": "d:/CUDA/12.6/bin;D:/cuda/12.6/bin"},
            {"D:/cuda/12.6": "12.6"},
            "12.6",
        ),
        (
            ("/D:/mine/bin/nvcc.exe",),
            {"CUDA_HOME": "D:/mine", "PATH": "D:/mine/bin"},
            {"D:/mine": ""},
            "? the folder of nvcc does not name its release",
        ),
        (("/D:/other/nvcc.exe",), {"PATH": "D:/other"}, {}, "? the folder of nvcc does not name its release"),
        (("/D:/v12.6/bin/nvcc.exe",), {"CUDA_PATH": "D:/v12.6", "CUDA_HOME": "D:/v12.6/"}, {"D:/v12.6": "12.6"}, None),
    ],
)
def test_toolkits_of_windows(seen, files, env, toolkits, first):
    found = seen("windows", system="windows", files=dict.fromkeys(files, ""), env={"PATH": "C:/Windows", **env})
    assert (told(found["cuda_toolkits"]), told(found["cuda_toolkit"])) == (toolkits, first)


@pytest.mark.parametrize(
    ("values", "gpu"),
    [
        ({"MatchingDeviceId": r"PCI\VEN_10DE&DEV_2684&SUBSYS_1"}, Gpu(name="Card", vendor="nvidia", pci="10de:2684")),
        ({"MatchingDeviceId": r"pci\ven_1002&dev_744C"}, Gpu(name="Card", vendor="amd", pci="1002:744c")),
        ({"MatchingDeviceId": r"PCI\VEN_8086&DEV_56A0"}, Gpu(name="Card", vendor="intel", pci="8086:56a0")),
        ({"MatchingDeviceId": r"PCI\VEN_15AD&DEV_0405"}, None),
        ({"MatchingDeviceId": r"ROOT\PCI\VEN_10DE&DEV_2684"}, None),
        ({"MatchingDeviceId": 7}, None),
        ({}, None),
    ],
)
def test_adapters_of_windows_are_known_by_their_pci_ids(seen, values, gpu):
    registry = {rf"{ADAPTERS}\0000": {"DriverDesc": "Card", **values}}
    assert seen("windows", system="windows", registry=registry)["gpus"].value == ((gpu,) if gpu else ())


def test_the_driver_is_that_of_the_first_card_of_nvidia_and_numbers_with_gaps_are_read(seen):
    card = {"DriverDesc": "Card", "MatchingDeviceId": r"PCI\VEN_10DE&DEV_2684"}
    registry = {
        rf"{ADAPTERS}\0000": {**card, "MatchingDeviceId": r"PCI\VEN_8086&DEV_56A0", "DriverVersion": "32.0.101.5972"},
        rf"{ADAPTERS}\0007": {**card, "DriverVersion": "32.0.15.6094"},
        rf"{ADAPTERS}\0015": {**card, "DriverVersion": "31.0.15.3623"},
        rf"{ADAPTERS}\0016": card,
    }
    found = seen("windows", system="windows", registry=registry)
    assert (found["driver"].value, len(found["gpus"].value)) == ("560.94", 3)


values = st.none() | st.booleans() | st.integers() | st.text(max_size=20)


@given(st.dictionaries(st.sampled_from(["DriverDesc", "DriverVersion", "MatchingDeviceId", "HardwareInformation.qwMemorySize", "TdrDelay", "TdrLevel", "Version", "ProcessorNameString", "LongPathsEnabled"]), values))  # fmt: skip
def test_no_value_of_the_registry_makes_a_reader_fail(replay, said):
    keys = (rf"{ADAPTERS}\0000", rf"{CONTROL}\FileSystem", rf"{CONTROL}\GraphicsDrivers", RUNTIME, PROCESSOR)
    recording = replay.Recording({"system": "windows", "registry": dict.fromkeys(keys, said)})
    found = look(DETECTORS["windows"], Machine(recording, recording.run, 0))
    assert not [name for name, reading in found.items() if "could not be read: " in getattr(reading, "why", "")]


SYSCTL = "sysctl machdep.cpu.brand_string hw.memsize hw.optional.arm64 machdep.cpu.features"
PROFILER = "system_profiler -json SPDisplaysDataType"
INTEL = (
    "machdep.cpu.brand_string: Intel(R) Core(TM) i9\nhw.memsize: 17179869184\nmachdep.cpu.features: FPU SSE4.2 AVX1.0\n"
)


@pytest.mark.parametrize(
    ("text", "arch", "fact", "value"),
    [
        (INTEL, "x86_64", "cpu", "Intel(R) Core(TM) i9"),
        (INTEL, "x86_64", "cpu_flags", ("avx1_0", "fpu", "sse4_2")),
        (INTEL, "x86_64", "memory_mib", 16384),
        (INTEL, "x86_64", "arch", "x86_64"),
        ("machdep.cpu.brand_string: Apple M2\nhw.optional.arm64: 1\n", "x86_64", "arch", "arm64"),
        ("machdep.cpu.brand_string: Apple M2\nhw.optional.arm64: 1\n", "x86_64", "python_arch", "x86_64"),
        ("machdep.cpu.brand_string: Apple M2\nhw.optional.arm64: 1\n", "arm64", "cpu_flags", ("neon",)),
        ("hw.optional.arm64: 0\n", "x86_64", "arch", "x86_64"),
        ("hw.memsize: -1\n", "arm64", "memory_mib", "? hw.memsize is not told"),
        (f"hw.memsize: {'9' * 40}\n", "arm64", "memory_mib", "? hw.memsize is not told"),
        ("hw.memsize: 0\n", "arm64", "memory_mib", "? hw.memsize is not told"),
        ("hw.memsize: 12 GB\n", "arm64", "memory_mib", "? hw.memsize is not told"),
        ("hw.memsize: 8589934592\n", "arm64", "cpu", None),
        ("", "arm64", "memory_mib", "? sysctl told nothing"),
        ({"code": 124, "why": "sysctl did not answer"}, "arm64", "cpu", "? sysctl did not answer"),
    ],
)
def test_processor_and_memory_of_a_mac(seen, text, arch, fact, value):
    found = seen("macos", system="darwin", arch=arch, commands={SYSCTL: text, PROFILER: "{}"})
    assert told(found[fact]) == value


@pytest.mark.parametrize(
    ("card", "gpu"),
    [
        (
            {"sppci_model": "AMD Radeon Pro 5500M", "spdisplays_vendor": "AMD (0x1002)", "spdisplays_vram": "8 GB", "spdisplays_device-id": "0x7340"},
            Gpu(name="AMD Radeon Pro 5500M", vendor="amd", pci="1002:7340", integrated=False, memory_mib=8192),
        ),
        (
            {"sppci_model": "Intel UHD 630", "spdisplays_vendor": "Intel", "spdisplays_vram_shared": "1536 MB"},
            Gpu(name="Intel UHD 630", integrated=True, memory_mib=1536),
        ),
        (
            {"sppci_model": "UHD", "spdisplays_vendor": "sppci_vendor_intel", "spdisplays_device-id": "0x3e9b"},
            Gpu(name="UHD", vendor="intel", pci="8086:3e9b", integrated=False),
        ),
        (
            {"sppci_model": "GT 750M", "spdisplays_vendor": "NVIDIA (0x10de)", "spdisplays_vram": "lots", "spdisplays_device-id": "0xFFFFF"},
            Gpu(name="GT 750M", vendor="nvidia", integrated=False),
        ),
        ({"sppci_model": ["x"], "spdisplays_vendor": 7, "spdisplays_vram": None}, Gpu(integrated=False)),
        ({"sppci_model": "a\x1b[31mb\x00"}, Gpu(name="a[31mb", integrated=False)),
    ],
)  # fmt: skip
def test_graphics_of_an_intel_mac(seen, card, gpu):
    commands = {SYSCTL: INTEL, PROFILER: json.dumps({"SPDisplaysDataType": [card]})}
    assert seen("macos", system="darwin", arch="x86_64", commands=commands)["gpus"] == Fact((gpu,), "system_profiler")


def test_a_profiler_that_does_not_answer_says_so(seen):
    commands = {SYSCTL: INTEL, PROFILER: {"code": 124, "why": "system_profiler did not answer within 5 s"}}
    found = seen("macos", system="darwin", arch="x86_64", commands=commands)
    assert told(found["gpus"]) == "? system_profiler did not answer within 5 s"
    assert told(found["memory_mib"]) == 16384
