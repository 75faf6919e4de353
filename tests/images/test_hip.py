"""AMD's driver level at the C interface: the real client code against a HIP that we can break at will."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat.build import outcome, parcel

SCRIPTS = parcel.FOLDER
HERE = Path(__file__).parent
# the HIP of the tests shows 0000:c3:00.0 first and 0000:83:00.0 second, as HIP_VISIBLE_DEVICES=1,0 would
NODES = {
    "0": "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\nlocation_id 0\ndomain 0\n",
    "1": "simd_count 192\ngfx_target_version 110000\nlocation_id 33536\ndomain 0\n",
    "2": "simd_count 4\ngfx_target_version 100306\nlocation_id 49920\ndomain 0\n",
}
SCRIPT = """
import sys; sys.path.insert(0, sys.argv[1])
import devices, hip_driver, reporting
hip_driver.nodes.__defaults__ = (sys.argv[2],)  # where the kernel driver tells its devices
devices.run(reporting.Report("hip", lambda text: "probe-failed"), hip_driver)
"""


@pytest.fixture
def probe(hip, tmp_path):
    def run(fault="", nodes=NODES, **env):
        for number, text in nodes.items():
            (tmp_path / "nodes" / number).mkdir(parents=True)
            (tmp_path / "nodes" / number / "properties").write_text(text)
        settings = {key: value for key, value in os.environ.items() if not key.startswith("HSA_")}
        settings |= {"LD_LIBRARY_PATH": str(hip), "ENVCHECK_FAULT": fault, **env}
        settings["ENVCHECK_COMPILED"] = str(tmp_path / "compiled")
        words = [sys.executable, "-c", SCRIPT, str(SCRIPTS), str(tmp_path / "nodes")]
        done = subprocess.run(words, capture_output=True, text=True, env=settings, check=False)
        assert "Traceback" not in done.stderr
        compiled = (tmp_path / "compiled").read_text().splitlines() if (tmp_path / "compiled").exists() else []
        return {item.name: item for item in outcome.read(done.stdout.splitlines())[0]}, compiled

    return run


def test_a_working_hip_passes_on_every_device_and_compiles_for_each(probe):
    found, compiled = probe()
    assert {item.status for item in found.values()} == {"pass"}
    assert [found[f"hip.device{number}"].figures["target"] for number in (0, 1)] == ["gfx1036", "gfx1100"]
    assert list(dict.fromkeys(compiled)) == ["0 --offload-arch=gfx1036", "1 --offload-arch=gfx1100"]
    assert found["hip.device1"].figures["memory_mib"] == 16384
    assert found["hip.kernel1"].figures["checked"] == 1 << 16
    assert found["hip.float1"].figures["worst_ulp"] <= 1


@pytest.mark.parametrize(
    ("fault", "name", "code"),
    [
        ("init=100", "hip.init", "rocm-container-flags"),
        ("init=35", "hip.init", "rocm-version-mismatch"),
        ("none", "hip.init", "devices-hidden"),
        ("full", "hip.memory0", "out-of-memory"),
        ("memory", "hip.memory1", "probe-kernel-wrong-result"),
        ("load=209", "hip.kernel0", "rocm-gfx-unsupported"),
        ("load=200", "hip.kernel0", "rocm-gfx-unsupported"),
        ("sync=719", "hip.kernel0", "probe-kernel-wrong-result"),
        ("sync=214", "hip.kernel0", "gpu-ecc-uncorrectable"),
        ("integer", "hip.kernel1", "probe-kernel-wrong-result"),
        ("float", "hip.float1", "probe-kernel-wrong-result"),
        ("compile=6", "hip.kernel0", "probe-compile-failed"),
    ],
)
def test_each_fault_has_its_finding(probe, fault, name, code):
    found, _ = probe(fault)
    assert (found[name].status, found[name].code) == ("fail", code)
    assert found[name].why


def test_a_target_that_the_compiler_does_not_know_is_not_asked_of_it(probe, hip, tmp_path):
    """What knows the targets is loaded beside the compiler, and one release of hipRTC aborts when it is asked for more."""
    manager = shutil.copy(hip / "libamdhip64.so", tmp_path / "libamd_comgr.so.2")
    found, compiled = probe(LD_PRELOAD=str(manager))
    assert (found["hip.kernel0"].status, found["hip.kernel0"].code) == ("fail", "rocm-gfx-unsupported")
    assert "gfx1036" in found["hip.kernel0"].why
    assert found["hip.kernel0"].figures["known"] == ["gfx1100", "gfx11-generic"]
    assert found["hip.kernel1"].status == "pass"
    assert set(compiled) == {"1 --offload-arch=gfx1100"}


def test_the_compilers_own_log_is_kept(probe):
    assert probe("compile=6")[0]["hip.kernel0"].figures["log"] == "no such gfx found"


@pytest.mark.parametrize(
    ("nodes", "fault", "env", "compiled"),
    [
        # an override wins, for all devices or for one
        (NODES, "", {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, ["0 --offload-arch=gfx1100", "1 --offload-arch=gfx1100"]),
        (NODES, "", {"HSA_OVERRIDE_GFX_VERSION_0": "9.0.10"}, ["0 --offload-arch=gfx90a", "1 --offload-arch=gfx1100"]),
        # a HIP that tells no address: one kind of device needs none, of two the compiler takes the current one's
        ({"1": NODES["1"]}, "nobus", {}, ["0 --offload-arch=gfx1100", "1 --offload-arch=gfx1100"]),
        (NODES, "nobus", {}, ["0", "1"]),
        ({}, "", {}, ["0", "1"]),
        (
            {"1": "gfx_target_version odd\n", "2": NODES["2"]},
            "",
            {},
            ["0 --offload-arch=gfx1036", "1 --offload-arch=gfx1036"],
        ),
    ],
)
def test_the_target_is_the_devices_own_whatever_the_order(probe, nodes, fault, env, compiled):
    found, seen = probe(fault, nodes, **env)
    assert {item.status for item in found.values()} == {"pass"}
    assert list(dict.fromkeys(seen)) == compiled


def test_a_node_that_may_not_be_read_is_passed_over(tmp_path, monkeypatch):
    """A container with one of several GPUs sees the other nodes, and is refused when it reads them."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import hip_driver

    (tmp_path / "1" / "properties").mkdir(parents=True)  # opening a folder fails as a refusal does
    (tmp_path / "2").mkdir()
    (tmp_path / "2" / "properties").write_text(NODES["1"])
    (tmp_path / "generation_id").write_text("2\n")
    assert hip_driver.nodes(str(tmp_path)) == [("0000:83:00.0", "gfx1100")]
    assert hip_driver.nodes(str(tmp_path / "none")) == []


def test_the_rocm_of_this_pythons_packages_comes_before_the_systems(tmp_path, monkeypatch):
    """A framework loads the copy that its wheel brings; another release in the same process would not be what it uses."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import hip_driver

    monkeypatch.setattr("sysconfig.get_paths", lambda: {"purelib": str(tmp_path)})
    monkeypatch.setattr(hip_driver, "_ELSEWHERE", (str(tmp_path / "opt" / "rocm-*" / "lib"),))
    for parts in (
        "_rocm_sdk_core/lib/libamdhip64.so.7",
        "torch/lib/libamdhip64.so",
        "opt/rocm-9.1/lib/libamdhip64.so.9",
    ):
        path = tmp_path / parts
        path.parent.mkdir(parents=True)
        path.touch()
    found = hip_driver._places("libamdhip64")
    assert [found[0], found[1], found[-1]] == [
        str(tmp_path / "torch/lib/libamdhip64.so"),
        str(tmp_path / "_rocm_sdk_core/lib/libamdhip64.so.7"),
        str(tmp_path / "opt/rocm-9.1/lib/libamdhip64.so.9"),
    ]
    assert hip_driver._places("libhiprtc")[0] == "libhiprtc.so"


@pytest.mark.parametrize("root", ["/opt/rocm/include", "/usr/include", os.environ.get("HIP_INCLUDE", "/nowhere")])
def test_the_hip_of_the_tests_has_the_signatures_of_amds_headers(root):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not (Path(root) / "hip" / "hiprtc.h").exists():
        pytest.skip(f"no HIP headers in {root}")
    words = [compiler, "-fsyntax-only", "-DHIP_H", "-I", root, str(HERE / "libamdhip64.c")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "error" not in done.stderr
