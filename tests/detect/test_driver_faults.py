"""Faults at the C ABI: the real client code meets real return codes of stand-in driver libraries."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from compat import facts
from compat.detect import detect, loader, nvml
from compat.detect.machine import Machine
from compat.detect.root import Root

STUBS = Path(__file__).parent / "stubs"
SONAMES = {"nvml": "libnvidia-ml.so.1", "cuda": "libcuda.so.1"}

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc to build stand-in driver libraries")


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Builds stand-ins with the given definitions and puts them first on the loader's path; returns the facts."""

    def build(timeout=10.0, **stubs):
        for name, definitions in stubs.items():
            flags = [f"-D{each}" for each in definitions.split()]
            target = tmp_path / SONAMES[name]
            subprocess.run(["gcc", "-shared", "-fPIC", "-w", *flags, "-o", target, STUBS / f"{name}.c"], check=True)
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
        return detect(timeout=timeout)

    return build


def nvidia(host):
    """The GPUs that the stand-in listed: the machine that runs the tests may have its own."""
    return [gpu for gpu in host.gpus if gpu.vendor == "nvidia" and gpu.bus in {"0000:07:00.0", "0000:0f:00.0"}]


def test_healthy_driver_is_read_in_full(driver):
    host = driver(nvml="")
    first, second = nvidia(host)
    assert host.nvml == "ok"
    assert host.driver_cuda == "12.2"
    assert (first.name, first.target, first.pci) == ("NVIDIA A100-SXM4-40GB", "sm_80", "10de:20b0")
    assert (first.memory_mib, first.memory_used_mib, first.persistence) == (40960, 1024, True)
    assert (first.mig, first.mig_pending, first.mig_devices) == ("enabled", "disabled", 3)
    assert (first.compute_mode, second.compute_mode) == ("default", "exclusive_process")
    assert (first.remap_pending, first.processes, first.lost) == (True, 0, False)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (18, "NVML_ERROR_LIB_RM_VERSION_MISMATCH"),
        (9, "NVML_ERROR_DRIVER_NOT_LOADED"),
        (4, "NVML_ERROR_NO_PERMISSION"),
        (999, "NVML_ERROR_UNKNOWN"),
        (4242, "NVML error 4242"),
    ],
)
def test_state_of_nvml_is_told_by_the_name_of_its_error(driver, code, name):
    host = driver(nvml=f"INIT={code}")
    assert host.nvml == name
    assert name in host.reading("driver_cuda").why


def test_calls_that_an_old_driver_lacks_leave_gaps_only(driver):
    first, _ = nvidia(driver(nvml="OLD"))
    assert (first.target, first.memory_mib, first.processes) == ("sm_80", 40960, 0)
    assert (first.mig, first.remap_pending, first.ecc_uncorrected) == ("", None, None)


def test_lost_gpu_is_told_and_does_not_hide_the_other(driver):
    first, second = nvidia(driver(nvml="LOST"))
    assert (first.lost, first.target) == (False, "sm_80")
    assert (second.lost, second.name, second.target) == (True, "NVIDIA A100-SXM4-40GB", "")


def test_garbage_becomes_gaps_and_never_an_error(driver):
    host = driver(nvml="GARBAGE", cuda="VERSION=-1 INIT=-7")
    assert host.nvml == "ok"
    assert not host.known("driver_cuda")
    assert host.cuda_init == "CUDA error -7"
    assert all(gpu.bus or gpu.name for gpu in host.gpus)
    assert facts.load(facts.dump(host), "dump").nvml == "ok"


@pytest.mark.parametrize("fault", ["HANG", "CRASH"])
def test_hang_and_crash_are_reasons_and_the_rest_is_told(driver, fault):
    host = driver(timeout=2.0, nvml=fault, cuda=fault)
    words = "did not answer" if fault == "HANG" else "crashed (signal"
    assert words in host.reading("nvml").why
    assert words in host.reading("cuda_init").why
    assert host.known("kernel")
    assert host.known("env")


def test_what_nvml_said_before_it_hung_counts(driver):
    host = driver(timeout=2.0, nvml="HANG_LATER")
    assert "did not answer" in host.reading("nvml").why
    assert host.driver_cuda == "12.2"


def test_version_that_libcuda_tells_before_it_hangs_counts(driver):
    host = driver(timeout=2.0, cuda="HANG VERSION=11040")
    assert host.driver_cuda == "11.4"
    assert not host.known("cuda_init")


@pytest.mark.parametrize(
    ("definitions", "told"),
    [
        ("", "ok"),
        ('INIT=803 NAME="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"', "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        ('INIT=100 NAME="CUDA_ERROR_NO_DEVICE"', "CUDA_ERROR_NO_DEVICE"),
        ("INIT=802", "CUDA error 802"),
    ],
)
def test_answer_of_cuinit_is_told_by_its_name(driver, definitions, told):
    assert driver(cuda=definitions).cuda_init == told


def test_integrated_gpu_is_known_from_libcuda_alone(driver):
    found = [gpu for gpu in driver(cuda="").gpus if gpu.name == "Orin"]
    assert [(gpu.target, gpu.integrated, gpu.memory_mib, gpu.bus) for gpu in found] == [("sm_87", True, 30720, "")]


def test_lanes_of_nvlink_are_counted_and_a_missing_one_does_not_end_the_count(driver):
    first, second = nvidia(driver(nvml="LINKS=12 DOWN=3 HOLE=5"))
    assert (first.nvlinks, first.nvlinks_down) == (11, 0)
    assert (second.nvlinks, second.nvlinks_down) == (8, 3)


@pytest.mark.parametrize("definitions", ["", "OLD"])
def test_card_without_nvlink_has_no_lanes_rather_than_lanes_that_are_down(driver, definitions):
    assert {(gpu.nvlinks, gpu.nvlinks_down) for gpu in nvidia(driver(nvml=definitions))} == {(None, None)}


def test_clocks_are_told_in_megahertz(driver):
    first, _ = nvidia(driver(nvml=""))
    assert (first.clock_mhz, first.clock_max_mhz) == (210, 1410)
    assert (first.memory_clock_mhz, first.memory_clock_max_mhz) == (1215, 1215)


@pytest.mark.parametrize(
    ("definitions", "virtual", "licensed"),
    [("", "none", None), ("GUEST=1", "vgpu", True), ("GUEST=0", "vgpu", False), ("OLD", "", None)],
)
def test_licence_is_a_matter_of_guests_alone(driver, definitions, virtual, licensed):
    """The second feature is licensed and not switched on: it must not count."""
    assert {(gpu.virtual, gpu.licensed) for gpu in nvidia(driver(nvml=definitions))} == {(virtual, licensed)}


@pytest.mark.parametrize(
    ("definitions", "told"),
    [("", ""), ("FABRIC=0", ""), ("FABRIC=1", "not_started"), ("FABRIC=2", "in_progress"), ("FABRIC=3", "completed")],
)
def test_registration_with_the_fabric_is_told(driver, definitions, told):
    assert nvidia(driver(nvml=definitions))[0].fabric == told


@pytest.mark.parametrize(
    ("mask", "reasons"),
    [
        ("0", ()),
        ("0x49ull", ("gpu_idle", "hw_slowdown", "hw_thermal_slowdown")),
        ("0x1a0ull", ("sw_thermal_slowdown", "hw_power_brake_slowdown", "display_clocks_setting")),
        ("0xff0000000000ull", ()),
    ],
)
def test_what_holds_the_clocks_down_is_told_by_name(driver, mask, reasons):
    assert nvidia(driver(nvml=f"THROTTLE={mask}"))[0].throttle == reasons


def test_reasons_have_the_numbers_that_nvidias_own_module_gives_them():
    import pynvml

    from compat.detect.children.nvml import REASONS

    named = {
        "applications_clocks_setting": "ApplicationsClocksSetting",
        "display_clocks_setting": "DisplayClockSetting",
    }
    for number, name in REASONS.items():
        word = named.get(name) or "".join(part.title() for part in name.split("_"))
        assert getattr(pynvml, f"nvmlClocksThrottleReason{word}") == number


@pytest.mark.parametrize("definitions", ["PROCESSES=3", "PROCESSES=3 OLD"])
def test_compute_processes_are_counted_by_either_release_of_the_call(driver, definitions):
    assert [gpu.processes for gpu in nvidia(driver(nvml=definitions))] == [3, 3]


def test_gpu_without_permission_is_left_out_and_the_other_is_told(driver):
    host = driver(nvml="DENIED LINKS=4")
    assert [(gpu.bus, gpu.nvlinks) for gpu in nvidia(host)] == [("0000:07:00.0", 4)]


def test_uncorrected_errors_since_the_last_reset_are_told(driver):
    assert nvidia(driver(nvml="ECC=7"))[0].ecc_uncorrected == 7


def test_lost_gpu_is_asked_nothing_more(driver):
    first, second = nvidia(driver(nvml="LOST LINKS=4 ECC=1 FABRIC=3"))
    assert (first.nvlinks, first.ecc_uncorrected, first.fabric) == (4, 1, "completed")
    assert (second.lost, second.nvlinks, second.ecc_uncorrected, second.fabric) == (True, None, None, "")


def test_hang_at_a_lane_is_a_fact_with_its_reason(driver):
    host = driver(timeout=2.0, nvml="HANG_LINK LINKS=2")
    assert "did not answer within" in host.hung["nvml"]
    assert host.driver_cuda == "12.2"


def test_garbage_about_a_device_becomes_gaps(driver):
    gpus = [gpu for gpu in driver(nvml="GARBAGE TWO GUEST=1 FABRIC=-1").gpus if gpu.driver == "nvidia"]
    assert len(gpus) >= 2
    for gpu in (gpu for gpu in gpus if not gpu.bus):
        assert (gpu.nvlinks, gpu.clock_mhz, gpu.memory_clock_max_mhz, gpu.fabric, gpu.virtual) == (
            None,
            None,
            None,
            "",
            "",
        )
        assert (gpu.target, gpu.memory_mib, gpu.ecc_uncorrected, gpu.licensed, gpu.compute_mode) == (
            "",
            None,
            None,
            None,
            "",
        )
        assert facts.load({"gpus": [facts.plain(gpu)]}, "dump").gpus == (gpu,)


CODES = {
    3: "CUDA_ERROR_NOT_INITIALIZED",
    34: "CUDA_ERROR_STUB_LIBRARY",
    100: "CUDA_ERROR_NO_DEVICE",
    101: "CUDA_ERROR_INVALID_DEVICE",
    802: "CUDA_ERROR_SYSTEM_NOT_READY",
    803: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    804: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    805: "CUDA_ERROR_MPS_CONNECTION_FAILED",
    999: "CUDA_ERROR_UNKNOWN",
}
"""CUresult (cuda.h)."""


@pytest.mark.parametrize(("code", "name"), CODES.items())
def test_every_refusal_of_cuinit_is_told_and_leaves_no_gpu_of_its_own(driver, code, name):
    host = driver(cuda=f'INIT={code} NAME="{name}"')
    assert host.cuda_init == name
    assert not [gpu for gpu in host.gpus or () if gpu.name == "Orin"]
    assert host.absent("peer_access")


def test_driver_without_names_for_its_errors_is_told_by_number(driver):
    assert [driver(cuda=f"INIT={code}").cuda_init for code in (3, 803)] == ["CUDA error 3", "CUDA error 803"]


def test_garbage_of_libcuda_becomes_gaps(driver):
    (gpu,) = (gpu for gpu in driver(cuda="GARBAGE").gpus if gpu.vendor == "nvidia" and gpu.driver != "nvidia")
    assert (gpu.target, gpu.memory_mib, gpu.integrated, gpu.bus, gpu.compute_mode) == ("", None, None, "", "")


@pytest.mark.parametrize("definitions", ["BARE", "COUNT=-1", "COUNT=0", "COUNT=1000000"])
def test_libcuda_without_devices_or_with_absurdly_many_tells_its_start_alone(driver, definitions):
    host = driver(cuda=definitions)
    assert host.cuda_init == "ok"
    assert not [gpu for gpu in host.gpus or () if gpu.name == "Orin"]


@pytest.mark.parametrize(
    ("definitions", "told"),
    [
        ("COUNT=3 DISCRETE PEERS=1", True),
        ("COUNT=2 DISCRETE PEERS=0", False),
        ("COUNT=2 DISCRETE PEERS=7", "unknown"),
        ("COUNT=2 DISCRETE", "unknown"),
        ("COUNT=1 PEERS=1", None),
    ],
)
def test_peer_access_is_told_for_all_pairs_or_not_at_all(driver, definitions, told):
    host = driver(cuda=definitions)
    assert (host.peer_access if host.known("peer_access") else "unknown") == told


def test_compute_mode_is_known_from_libcuda_where_nvml_is_missing(driver):
    found = [gpu for gpu in driver(cuda="DISCRETE MODE=2").gpus if gpu.name == "Orin"]
    assert [(gpu.compute_mode, gpu.bus) for gpu in found] == [("prohibited", "0000:41:00.0")]


def test_file_that_is_no_library_is_a_reason(tmp_path, monkeypatch):
    (tmp_path / "libcuda.so.1").write_bytes(b"\x7fELF\x02rubbish")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    assert "cannot be loaded" in detect().reading("cuda_init").why


def test_stand_in_without_version_in_its_name_leaves_the_driver_library_unknown(driver):
    assert "names no driver release" in driver(cuda="").reading("driver_library").why


def test_loader_emulation_agrees_with_the_loader(tmp_path, monkeypatch):
    """The oracle is the loader itself: a process that opens the name tells which file it got."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "b" / "libcuda.so.1", STUBS / "cuda.c"], check=True)
    (tmp_path / "a" / "libcuda.so.1").write_bytes(b"\x7fELF\x01" + bytes(100))  # 32-bit: the loader goes on
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{tmp_path}/a:{tmp_path}/b")
    script = "import ctypes; ctypes.CDLL('libcuda.so.1'); print([l.split()[-1] for l in open('/proc/self/maps') if 'libcuda' in l][0])"
    import sys

    opened = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.strip()
    assert loader.find(Machine(Root(), None, 0), "libcuda.so.1") == opened


def test_capability_is_read_only_from_sensible_numbers():
    assert [nvml.target(each) for each in ([8, 9], [12, 0], [0, 0], [8, 10], [-1, 0], "89", [8], None, [8.0, 9])] == [
        "sm_89", "sm_120", "", "", "", "", "", "", "",
    ]  # fmt: skip
