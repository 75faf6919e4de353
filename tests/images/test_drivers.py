"""Drivers as they really come: older ones that lack names, and ones whose parts are not all there.

The differences were seen in NVIDIA's own libraries 340.108, 390.157, 418.226, 470.256, 535.274 and 550.163.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys

import pytest

from compat.build import parcel

SCRIPTS = parcel.FOLDER
RELEASE = """
int released = -1;
int cuDevicePrimaryCtxRelease%s(int device) { released = device; return 0; }
"""
NVML = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int nvmlInit_v2(void) { return getenv("NVML_INIT") ? atoi(getenv("NVML_INIT")) : 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned n, void **h) { *h = (void *)(uintptr_t)(0x7e0000000000ull + n); return n > 1 ? 2 : 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **h) {
  *h = (void *)(uintptr_t)0x7e0000000001ull;
  return strcmp(bus, "0000:41:00.0") ? 6 : 0; /* 6: not found */
}
static int known(void *h) { return h == (void *)(uintptr_t)0x7e0000000001ull ? 0 : 2; }
int nvmlDeviceGetPowerUsage(void *h, unsigned *mw) { *mw = 71234; return known(h); }
int nvmlDeviceGetTemperature(void *h, int sensor, unsigned *t) { *t = 56; return sensor ? 2 : known(h); }
int nvmlDeviceGetClockInfo(void *h, int domain, unsigned *mhz) { *mhz = domain == 1 ? 1980 : 405; return known(h); }
int nvmlDeviceGetTotalEccErrors(void *h, int kind, int counter, uint64_t *n) {
  *n = 1ull << 33;
  return kind == 1 && counter == 0 && getenv("NVML_ECC") ? known(h) : 3; /* 3: not supported, as on consumer cards */
}
int NVML_REASONS(void *h, uint64_t *bits) { *bits = 0x4 | 0x40 | 0x1; return known(h); }
"""


@pytest.fixture
def script(monkeypatch):
    """A probe's module by its name."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return __import__


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """C source -> the library built of it, in a folder of its own."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")

    def build(name, source, *options):
        folder = tmp_path_factory.mktemp("lib")
        (folder / "source.c").write_text(source)
        words = [compiler, "-shared", "-fPIC", "-o", str(folder / name), str(folder / "source.c"), *options]
        subprocess.run(words, check=True)
        return folder / name

    return build


@pytest.mark.parametrize("ending", ["_v2", ""])
def test_a_context_is_given_back_to_older_drivers_too(script, built, ending):
    """Drivers before CUDA 11.0 know the call by its first name."""
    driver = script("cuda_driver").Driver.__new__(script("cuda_driver").Driver)
    driver.lib = ctypes.CDLL(str(built("libcuda.so.1", RELEASE % ending)))
    device = script("cuda_driver").Device.__new__(script("cuda_driver").Device)
    device.api, device.handle = driver, 5
    device.close()
    assert ctypes.c_int.in_dll(driver.lib, "released").value == 5


def test_a_driver_without_a_primary_context_is_passed_over_with_its_name(script, built):
    driver = script("cuda_driver").Driver.__new__(script("cuda_driver").Driver)
    driver.lib = ctypes.CDLL(str(built("libcuda.so.1", RELEASE % "")))
    with pytest.raises(script("reporting").Skipped, match="no cuDevicePrimaryCtxRetain"):
        driver.call("cuDevicePrimaryCtxRetain")


LOAD = """
import sys; sys.path.insert(0, sys.argv[1])
import cuda_driver, reporting
try:
    cuda_driver.Driver()
except reporting.Failed as failure:
    print(failure.code, failure.why)
"""


def test_a_driver_whose_own_library_is_missing_is_not_called_absent(built):
    """libcuda 390 and 418 need libnvidia-fatbinaryloader, which comes in a package of its own."""
    loader = built("libnvidia-fatbinaryloader.so.390.157", "int loaded = 1;")
    library = built("libcuda.so.1", "extern int loaded; int *it = &loaded;", str(loader))
    words = [sys.executable, "-c", LOAD, str(SCRIPTS)]
    env = {"LD_LIBRARY_PATH": str(library.parent)}
    whole = subprocess.run(words, capture_output=True, text=True, env=env, check=True)
    loader.unlink()
    broken = subprocess.run(words, capture_output=True, text=True, env=env, check=True)
    assert whole.stdout == ""
    assert broken.stdout.startswith("library-missing libcuda cannot be loaded: ")
    assert "libnvidia-fatbinaryloader.so.390.157" in broken.stdout


@pytest.mark.parametrize(
    "name", ["nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"]
)
def test_sensors_are_read_under_the_new_and_the_old_name(script, built, monkeypatch, name):
    library = built("libnvidia-ml.so.1", NVML, f"-DNVML_REASONS={name}")
    monkeypatch.setattr(script("nvml"), "open_first", lambda names: ctypes.CDLL(str(library)))
    assert script("nvml").Monitor(1).read() == {
        "watts": 71,
        "celsius": 56,
        "sm_mhz": 1980,
        "slowed_by": ["power cap", "hardware thermal slowdown"],
    }
    monkeypatch.setenv("NVML_ECC", "1")
    assert script("nvml").Monitor(1).read()["ecc_uncorrected"] == 1 << 33
    # a device that answers nothing, one that is not there, a library that does not start
    assert script("nvml").Monitor(0).read() == {}
    assert script("nvml").Monitor(2).lib is None
    monkeypatch.setenv("NVML_INIT", "9")
    assert script("nvml").Monitor(1).read() == {}


def test_a_device_is_found_by_its_place_on_the_bus_whatever_its_number(script, built, monkeypatch):
    """CUDA's device 0 may be NVML's device 1: variables hide and reorder devices for CUDA alone."""
    library = built("libnvidia-ml.so.1", NVML, "-DNVML_REASONS=nvmlDeviceGetCurrentClocksEventReasons")
    monkeypatch.setattr(script("nvml"), "open_first", lambda names: ctypes.CDLL(str(library)))
    assert script("nvml").Monitor(0, "0000:41:00.0").read()["celsius"] == 56
    assert script("nvml").Monitor(1, "0000:99:00.0").read() == {}


def test_sensors_are_sampled_while_the_load_runs(script, built, monkeypatch):
    library = built("libnvidia-ml.so.1", NVML, "-DNVML_REASONS=nvmlDeviceGetCurrentClocksEventReasons")
    monkeypatch.setattr(script("nvml"), "open_first", lambda names: ctypes.CDLL(str(library)))
    with script("nvml").Sampler(script("nvml").Monitor(1)) as sampler:
        pass
    assert sampler.figures() == {
        "celsius": 56,
        "watts": 71,
        "sm_mhz": 1980,
        "slowed_by": ["hardware thermal slowdown", "power cap"],
        "samples": 1,
    }
    with script("nvml").Sampler(script("nvml").Monitor(2)) as silent:
        pass
    assert silent.figures() == {}


def test_without_the_management_library_there_are_no_readings(script, monkeypatch):
    def absent(names):
        raise OSError(f"{names[0]}: cannot open shared object file")

    monkeypatch.setattr(script("nvml"), "open_first", absent)
    assert script("nvml").Monitor(0).read() == {}
