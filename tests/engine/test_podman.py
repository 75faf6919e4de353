"""Devices that Podman hands in by a CDI specification, here of a stand-in for NVIDIA's driver."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from compat.build import verify
from compat.build.podman import is_podman
from compat.errors import CannotCheckError

SOURCE = Path(__file__).parents[1] / "images" / "libcuda.c"
SPECIFICATIONS = Path("/var/run/cdi")


@pytest.fixture
def cdi(client, tmp_path):
    """The name of a device whose specification brings a driver's library."""
    if not is_podman(client):
        pytest.skip("this engine is not Podman")
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lm", "-lpthread"], check=True)
    mount = {"hostPath": str(library), "containerPath": f"/usr/lib/{library.name}", "options": ["ro", "bind"]}
    edits = {"mounts": [mount], "env": ["LD_LIBRARY_PATH=/usr/lib"]}
    written = {"cdiVersion": "0.5.0", "kind": "envcheck.test/gpu", "devices": [{"name": "0", "containerEdits": edits}]}
    place = SPECIFICATIONS / f"envcheck-{tmp_path.name}.json"
    try:
        SPECIFICATIONS.mkdir(exist_ok=True)
        place.write_text(json.dumps(written))
    except OSError as error:
        pytest.skip(f"no CDI specification can be written here: {error}")
    yield "envcheck.test/gpu=0"
    place.unlink()


def test_a_device_of_a_cdi_specification_is_computed_with(cdi, impostor):
    image = impostor("")
    found = verify(image, expect="cuda12.6", frameworks=("none",), level="driver", gpus=cdi)
    passed = {probe.name for probe in found.probes if probe.status == "pass"}
    assert {"cuda.load", "cuda.init"} <= passed, found
    assert found.ok, found.findings
    without = verify(image, expect="cuda12.6", frameworks=("none",), level="driver", gpus="none")
    assert "container-no-gpu" in {finding.code for finding in without.findings}


def test_a_device_without_a_specification_is_no_fault_of_the_image(cdi, impostor):
    with pytest.raises(CannotCheckError, match="no CDI specification has the device"):
        verify(impostor(""), expect="cuda12.6", level="driver", gpus="envcheck.test/gpu=none")


CONFINED = """
import os
kept = open("/proc/self/status").read()
held = ["CapEff:\\t0000000000000000" in kept, "NoNewPrivs:\\t1" in kept, os.getuid() == 10001]
held += [not os.access("/opt", os.W_OK), os.listdir("/sys/class/net") == ["lo"]]
raise RuntimeError("held: %s" % held)
"""


def test_it_is_confined_as_without_a_device(cdi, impostor):
    found = verify(impostor(CONFINED), expect="cuda12.6", timeout=60, gpus=cdi)
    assert "held: [True, True, True, True, True]" in str(found)
    assert "probe-memory-short" in {
        finding.code
        for finding in verify(
            impostor("held = b'1' * 10**9"), expect="cuda12.6", timeout=60, memory=256 * 1024**2, gpus=cdi
        ).findings
    }
