"""The image of envcheck itself: built from the shipped plan by our own path, verified, and run as the manifests run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from compat import cli
from compat.build import verify

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "scripts" / "deploy" / "image"
MANIFESTS = ROOT / "scripts" / "deploy" / "kubernetes"
TAG = "envcheck-test/own:1"
HEALTHY = {"arch": "x86_64", "driver": "550.144.03", "gpus": [{"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia"}]}
BROKEN = {**HEALTHY, "driver": "470.82.01"}
# What the manifests allow: no capability, nothing written but what is mounted, no more rights than at the start.
LEAST = {
    "cap_drop": ["ALL"],
    "read_only": True,
    "security_opt": ["no-new-privileges"],
    "network_mode": "none",
    "tmpfs": {"/tmp": "size=64m"},
}


@pytest.fixture(scope="module")
def own(client, package_index, default_index, tmp_path_factory, usual_builder):
    """The image, from a wheel of this checkout and the wheels that it requires, served on loopback."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    made = subprocess.run([sys.executable, "-m", "pip", *words], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    (wheel,) = folder.iterdir()
    default_index.bring(str(wheel))
    given = ["--plan", str(IMAGE / "plan.json"), "--config", str(IMAGE / "image.toml"), "--platform", "linux/amd64"]
    place = ["--context", str(folder), "--network", "host", "--build-arg", f"PIP_INDEX_URL={default_index.url}"]
    assert cli.run(["build", *given, *place, "--tag", TAG, "--builder", usual_builder]) == 0
    yield TAG
    client.images.remove(TAG, force=True, noprune=True)


@pytest.fixture
def run(client, own):
    """Run the image as a pod would; returns exit code and standard output."""

    def start(words=(), *, command=None, **more):
        box = client.containers.run(own, list(words), entrypoint=command, detach=True, **{**LEAST, **more})
        try:
            code = box.wait(timeout=120)["StatusCode"]
            return code, box.logs(stdout=True, stderr=False).decode(), box.logs(stdout=False, stderr=True).decode()
        finally:
            box.remove(force=True)

    return start


def test_it_is_small_not_root_and_holds_no_installer(client, own, run):
    image = client.images.get(own)
    base = client.images.get("python:3.11-slim-trixie")
    assert image.attrs["Config"]["User"] == "65532:65532"
    assert image.attrs["Size"] - base.attrs["Size"] < 110e6
    code, out, _ = run(["-c", "import importlib.util as u; print(u.find_spec('pip') is None)"], command=["python"])
    assert (code, out) == (0, "True\n")


def test_it_is_verified_by_the_plan_in_its_label(own):
    found = verify(own, gpus="none")
    assert not found.findings, found
    assert "fail" not in {probe.status for probe in found.probes}, found


def test_without_words_it_is_the_doctor_and_writes_nothing(run):
    code, out, err = run()
    assert (code, err) == (0, ""), out + err


@pytest.mark.parametrize(
    ("facts", "code", "said"), [(HEALTHY, 0, "ok: "), (BROKEN, 1, "driver-gpu"), ({}, 3, "unchecked: ")]
)
def test_the_init_container_ends_with_its_code_and_its_reason_in_the_termination_message(
    tmp_path, run, facts, code, said
):
    (pod,) = yaml.safe_load_all((MANIFESTS / "preflight" / "pod.yaml").read_text())
    (container,) = pod["spec"]["initContainers"]
    (tmp_path / "host.json").write_text(json.dumps(facts))
    log = tmp_path / "termination-log"
    log.touch()
    log.chmod(0o666)  # as the kubelet makes it
    volumes = [f"{tmp_path}/host.json:/host.json:ro", f"{log}:/dev/termination-log"]
    words = container["command"]
    found = run([*words[1:], "--host", "/host.json"], command=words[:1], volumes=volumes, user="65532")
    assert found == (code, "", "")
    assert log.read_text().startswith(said)


def test_a_node_of_amd_is_looked_at_without_a_right_to_its_devices(tmp_path, run):
    """The daemon set's mounts: paths of devices, two folders of root's."""
    pod = yaml.safe_load((MANIFESTS / "base" / "daemonset.yaml").read_text())["spec"]["template"]["spec"]
    script = pod["containers"][0]["args"][0].replace("sleep 600 & wait", "exit 7")
    folders = {name: tmp_path / name for name in ("features", "textfile", "dri")}
    for folder in folders.values():
        folder.mkdir()
    os.mknod(folders["dri"] / "renderD128", 0o600 | 0o020000, os.makedev(226, 128))
    volumes = [f"{folders[name]}:/{name}" for name in ("features", "textfile")]
    volumes += ["/dev/null:/dev/kfd:ro", f"{folders['dri']}:/dev/dri:ro"]
    more = {"command": ["/bin/sh", "-c"], "user": "0", "volumes": volumes, "environment": {"NODE_NAME": "n1"}}
    assert run([script], **more)[::2] == (7, "")
    assert "envcheck.ok=" in (folders["features"] / "envcheck").read_text()
    assert 'envcheck_checked{node="n1"}' in (folders["textfile"] / "envcheck.prom").read_text()
    facts = json.loads(run(["envcheck host"], **more)[1])
    assert {"/dev/kfd", "/dev/dri/renderD128"} <= set(facts["device_nodes"])
