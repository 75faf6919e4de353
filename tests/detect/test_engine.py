"""The container engine, asked over a real local socket, and what is concluded from its answers."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.detect import cdi, sockets
from compat.detect.root import Root
from compat.facts import Unknown

INFO = {"Runtimes": {"runc": {}}, "CgroupDriver": "systemd", "SecurityOptions": [], "DockerRootDir": "/var/lib/docker"}


@pytest.fixture
def serve(tmp_path):
    """A server on a local socket that sends the given bytes to whoever connects, and closes (or stays silent)."""
    listeners = []

    def start(answer, *, silent=False):
        path = str(tmp_path / "engine.sock")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        listeners.append(listener)

        def work():
            kept = []
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                if silent:
                    kept.append(peer)
                    continue
                peer.recv(4096)
                peer.sendall(answer)
                peer.close()

        threading.Thread(target=work, daemon=True).start()
        return path

    yield start
    for listener in listeners:
        listener.close()


def test_body_of_an_answer_is_read_to_its_end(serve):
    body = json.dumps(INFO).encode() * 2000
    path = serve(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body)
    assert Root().ask(path, "/info", 5.0) == body


@pytest.mark.parametrize(
    "head", [b"HTTP/1.0 200 OK", b"HTTP/1.1 200", b"HTTP/1.0 200 \xff\xfe", b"HTTP/1.0 200 OK\r\nA: 500"]
)
def test_success_is_told_by_the_number_of_the_first_line(head):
    assert sockets.body(head + b"\r\nServer: x\r\n\r\n{}\r\n\r\n{}") == b"{}\r\n\r\n{}"


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 500 Internal\r\n\r\noops", b"SSH-2.0-OpenSSH\r\n", b"", b"HTTP/1.0\r\n\r\n"]
)
def test_answer_that_is_no_success_is_an_error(serve, answer):
    with pytest.raises(OSError, match="HTTP"):
        Root().ask(serve(answer), "/info", 5.0)


def test_silence_ends_with_the_deadline(serve):
    with pytest.raises(TimeoutError):
        Root().ask(serve(b"", silent=True), "/info", 0.05)


def test_nobody_behind_a_socket_is_refused(tmp_path):
    path = str(tmp_path / "dead.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with pytest.raises(ConnectionRefusedError):
        Root().ask(path, "/info", 1.0)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_body_or_an_error(raw):
    try:
        assert isinstance(sockets.body(raw), bytes)
    except OSError:
        return


def docker(info, version="27.3.1", **said):
    """A recording with a Docker daemon that answers."""
    answers = {"/version": json.dumps({"Version": version}), "/info": json.dumps(INFO | info)}
    return {"sockets": {"/var/run/docker.sock": answers}, **said}


@pytest.mark.parametrize(
    ("info", "flavour"),
    [
        ({}, "native"),
        ({"SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"]}, "rootless"),
        ({"DockerRootDir": "/var/snap/docker/common/var-lib-docker"}, "snap"),
        ({"OperatingSystem": "Docker Desktop"}, "desktop"),
    ],
)
def test_flavour_is_told_by_the_daemon_itself(recorded, info, flavour):
    assert recorded(docker(info)).engine_flavour == flavour


@pytest.mark.parametrize(
    ("info", "files", "runtime"),
    [
        ({}, {}, None),
        ({"Runtimes": {"runc": {}, "nvidia": {}}}, {}, "nvidia"),
        ({"Runtimes": {"runc": {}, "amd": {}}}, {}, "amd"),
        ({}, {"/etc/cdi/nvidia.yaml": 'kind: nvidia.com/gpu\ndevices:\n- name: "0"\n'}, "cdi"),
        ({}, {"/etc/cdi/other.yaml": 'kind: vendor.com/nic\ndevices:\n- name: "0"\n'}, None),
        ({}, {"/usr/bin/nvidia-container-runtime-hook": ""}, "nvidia"),
    ],
)
def test_way_to_a_gpu_is_found(recorded, info, files, runtime):
    assert recorded(docker(info, files=files)).gpu_runtime == runtime


NVIDIA_YAML = 'kind: nvidia.com/gpu\ndevices:\n- name: "0"\n  libcuda.so.550.54.14\n'
NO_RUNTIME = {"/etc/docker/daemon.json": "{}"}


@pytest.mark.parametrize(
    ("said", "fact", "told"),
    [
        ({"sockets": {"/var/run/docker.sock": "refused"}, "files": NO_RUNTIME}, "gpu_runtime", None),
        ({"sockets": {"/var/run/docker.sock": "refused"}, "files": {}}, "gpu_runtime", None),
        (
            {"sockets": {"/var/run/docker.sock": "refused"}, "denied": ["/etc/docker/daemon.json"]},
            "gpu_runtime",
            "/etc/docker/daemon.json: Permission denied",
        ),
        (docker({}, denied=["/etc/cdi/x.yaml"]), "gpu_runtime", "/etc/cdi/x.yaml: Permission denied"),
        (docker({}, denied=["/etc/cdi/x.yaml"]), "cdi_devices", "/etc/cdi/x.yaml: Permission denied"),
        (docker({}, denied=["/var/run/cdi/x.json"]), "cdi_driver", "/var/run/cdi/x.json: Permission denied"),
        (docker({}, denied=["/etc/cdi/x.yaml"], files={"/etc/cdi/y.yaml": NVIDIA_YAML}), "gpu_runtime", "cdi"),
        (docker({}, denied=["/etc/cdi/x.yaml"], files={"/etc/cdi/y.yaml": NVIDIA_YAML}), "cdi_driver", "550.54.14"),
        (docker({"Runtimes": {"nvidia": {}}}, denied=["/etc/cdi/x.yaml"]), "gpu_runtime", "nvidia"),
        ({"denied": ["/etc/cdi/x.yaml"]}, "cdi_devices", "/etc/cdi/x.yaml: Permission denied"),
    ],
)
def test_a_file_that_may_not_be_read_is_a_reason_and_no_absence(recorded, said, fact, told):
    """Told as absent, it would have somebody set up again what is set up: a file of root's is common there."""
    reading = recorded(said).reading(fact)
    assert (reading.why if isinstance(reading, Unknown) else reading.value) == told


@pytest.mark.parametrize(
    "answer",
    [
        "[]",
        "null",
        "{",
        "",
        '{"Version": 5, "Components": [7, null]}',
        '{"Version": "1.2", "Components": 5, "SecurityOptions": 7, "Runtimes": [1]}',
        "[" * 100_000,
    ],
)
def test_rubbish_from_the_daemon_is_no_error(recorded, answer):
    host = recorded({"sockets": {"/var/run/docker.sock": {"/version": answer, "/info": answer}}})
    assert host.engine_status in {"running", "unreachable"}


@pytest.mark.parametrize(
    ("files", "engine"),
    [
        ({"/var/lib/dpkg/status": "Package: docker.io\nStatus: install ok installed\nVersion: 20.10.24+dfsg1-1\n\n"}, "docker 20.10.24"),
        ({"/var/lib/dpkg/status": "Package: docker-ce\nStatus: install ok installed\nVersion: 5:27.3.1-1~ubuntu\n\n"}, "docker 27.3.1"),
        ({"/lib/apk/db/installed": "P:musl\nV:1.2.4\n\nP:docker\nV:25.0.5-r1\n\n"}, "docker 25.0.5"),
        ({"/var/lib/pacman/local/docker-1:27.1.1-1/desc": ""}, "docker 27.1.1"),
        ({}, "docker"),
    ],
)  # fmt: skip
def test_version_of_a_silent_engine_is_that_of_its_package(recorded, files, engine):
    host = recorded({"sockets": {"/var/run/docker.sock": "refused"}, "files": files})
    assert (host.engine, host.engine_status) == (engine, "stopped")


@pytest.mark.parametrize(
    ("answer", "engine"),
    [
        ("Docker version 24.0.7, build afdd53b\n", "docker 24.0.7"),
        ("nonsense", "docker"),
        ({"code": 124, "why": "docker did not answer"}, "docker"),
    ],
)
def test_version_of_a_silent_engine_without_a_package_is_its_clients(recorded, answer, engine):
    host = recorded({"files": {"/usr/bin/docker": ""}, "commands": {"docker --version": answer}})
    assert (host.engine, host.engine_status) == (engine, "stopped")


def test_docker_host_is_asked_first(recorded):
    said = docker({}) | {"env": {"DOCKER_HOST": "unix:///run/other.sock"}}
    said["sockets"]["/run/other.sock"] = {"/version": '{"Version": "20.10.0"}', "/info": "{}"}
    assert recorded(said).engine == "docker 20.10.0"


def test_podman_behind_dockers_socket_is_called_podman(recorded):
    version = json.dumps({"Version": "5.2.2", "Components": [{"Name": "Podman Engine"}]})
    host = recorded({"sockets": {"/var/run/docker.sock": {"/version": version, "/info": "{}"}}})
    assert host.engine == "podman 5.2.2"


def test_host_name_that_the_daemon_tells_is_not_kept(recorded):
    from compat import facts

    assert "secret-host" not in json.dumps(facts.dump(recorded(docker({"Name": "secret-host"}))))


YAML_BY_CTK = """---
cdiVersion: 0.5.0
containerEdits:
  hooks:
  - hookName: createContainer
    name: not-a-device
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      name: not-a-device-either
  name: "0"
- name: mig1:0
  containerEdits: {}
kind: nvidia.com/gpu
"""
YAML_BY_HAND = """
kind: "amd.com/gpu"
devices:
  - name: all
    containerEdits:
      deviceNodes:
        - path: /dev/kfd
"""


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        (YAML_BY_CTK, ("nvidia.com/gpu=0", "nvidia.com/gpu=mig1:0")),
        (YAML_BY_HAND, ("amd.com/gpu=all",)),
        ('{"kind": "nvidia.com/gpu", "devices": [{"name": "0"}, {"no": 1}, 7]}', ("nvidia.com/gpu=0",)),
        ('{"kind": 7, "devices": {}}', None),
        ("devices:\n- name: x\n", None),
        ("{", None),
    ],
)
def test_devices_of_a_specification(replay, text, devices):
    from compat.detect.machine import Machine

    recording = replay.Recording({"files": {"/etc/cdi/x.yaml": text}})
    found = cdi.specifications(Machine(recording, recording.run, 0))
    assert [each.devices for each in found] == ([] if devices is None else [devices])
