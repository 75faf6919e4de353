"""The engine's command line: which client is taken, and what a failed build is told as."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from compat import run as runner
from compat.build import build_image, images, verify
from compat.build.clients import client
from compat.build.engine import _nodes, confinement, devices
from compat.build.images import failing_step, failure
from compat.build.podman import _specification
from compat.build.verification import planned
from compat.errors import CannotCheckError, InputError

LOGS = Path(__file__).parent / "logs"


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A PATH of our own; ``put`` lays a docker into the next folder of it."""
    folders = []

    def put(version, *, buildx=False, build="exit 0"):
        folder = tmp_path / f"bin{len(folders)}"
        folder.mkdir()
        folders.append(str(folder))
        (folder / "docker").write_text(
            '#!/bin/sh\ncase "$1 $2" in\n'
            f"  'buildx version') exit {0 if buildx else 1} ;;\n"
            f"  '--version '*) echo 'Docker version {version}, build abc' ;;\n"
            f"  *) {build} ;;\nesac\n"
        )
        (folder / "docker").chmod(0o755)
        monkeypatch.setenv("PATH", ":".join([*folders, "/usr/bin", "/bin"]))
        return str(folder / "docker")

    monkeypatch.setenv("PATH", str(tmp_path))
    return put


def test_the_plugin_is_used_where_it_is(path):
    docker = path("28.2.2", buildx=True)
    assert client(runner.run, buildkit=True) == (docker, "buildx", "build", "--load")
    assert client(runner.run, buildkit=True, buildx=True) == (docker, "buildx", "build")


def test_an_old_client_has_buildkit_inside(path):
    docker = path("20.10.24+dfsg1")
    assert client(runner.run, buildkit=True) == (docker, "build")


def test_a_second_client_on_path_helps_out(path):
    path("28.2.2")
    old = path("20.10.24")
    assert client(runner.run, buildkit=True) == (old, "build")


def test_the_classic_builder_takes_any_client(path):
    docker = path("28.2.2")
    assert client(runner.run, buildkit=False) == (docker, "build")


def test_a_new_client_without_the_plugin_is_told_what_to_install(path, monkeypatch):
    docker = path("28.2.2")
    monkeypatch.setenv("PATH", str(Path(docker).parent))
    with pytest.raises(CannotCheckError, match="docker-buildx"):
        client(runner.run, buildkit=True)


def test_attestations_need_the_plugin(path, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(Path(path("20.10.24")).parent))
    with pytest.raises(CannotCheckError, match="buildx plugin"):
        build_image("FROM x\n", tag="t", context=tmp_path, sbom=True)


def test_options_reach_the_builder_as_they_were_given(path, tmp_path):
    path("28.2.2", buildx=True, build=f'printf "%s\\n" "$@" > {tmp_path}/words; cat > {tmp_path}/text')
    built = build_image(
        "FROM x\n",
        tag="a/b:1",
        context=tmp_path,
        platforms=("linux/amd64", "linux/arm64"),
        push=True,
        labels={"k": "v w"},
        build_args={"A": "1"},
        secrets={"ca": "/ca.pem"},
        network="host",
        sbom=True,
        provenance=True,
        attestations=("type=sbom,generator=mirror/scanner:1",),
        cache_from=("type=gha",),
        cache_to=("type=inline",),
        no_cache=True,
    )
    assert built.ok
    words = (tmp_path / "words").read_text().splitlines()
    assert (tmp_path / "text").read_text() == "FROM x\n"
    for pair in (
        ("--platform", "linux/amd64,linux/arm64"),
        ("--label", "k=v w"),
        ("--build-arg", "A=1"),
        ("--secret", "id=ca,src=/ca.pem"),
        ("--network", "host"),
        ("--cache-from", "type=gha"),
        ("--cache-to", "type=inline"),
        ("--attest", "type=sbom,generator=mirror/scanner:1"),
        ("--tag", "a/b:1"),
    ):
        assert words[words.index(pair[0]) + 1] == pair[1]
    assert {"--no-cache", "--sbom=true", "--provenance=true", "--push"} <= set(words)
    assert words[-1] == str(tmp_path)


@pytest.mark.parametrize(
    ("builder", "word", "never", "switch"),
    [("buildkit", "--progress=plain", "--force-rm", "1"), ("classic", "--force-rm", "--progress=plain", "0")],
)
def test_each_builder_gets_the_words_that_it_knows(path, tmp_path, builder, word, never, switch):
    """The classic builder refuses --progress; BuildKit has no --force-rm, and draws bars unless told to be plain."""
    path("22.0.0", build=f'printf "%s\\n" "$@" "$DOCKER_BUILDKIT" > {tmp_path}/words; cat > /dev/null')
    assert build_image("FROM x\n", tag="a:1", context=tmp_path, builder=builder).ok
    *words, kit = (tmp_path / "words").read_text().splitlines()
    assert word in words
    assert never not in words
    assert kit == switch
    assert not {"--push", "--load", "--platform", "--no-cache", "--sbom=true", "--provenance=true"} & set(words)


def test_progress_is_heard_line_by_line(path, tmp_path):
    path("20.10.0", build="cat > /dev/null; echo one; printf 'two\\r\\n'; echo three >&2; exit 4")
    heard = []
    built = build_image("FROM x\n", tag="t", context=tmp_path, hear=heard.append)
    assert heard == ["one", "two", "three"]
    assert not built.ok
    assert built.log.splitlines()[-1] == "three"


def test_of_a_long_line_the_beginning_is_heard_and_all_is_kept(path, tmp_path):
    path("20.10.0", build="cat > /dev/null; head -c 5000 /dev/zero | tr '\\0' x; echo; exit 4")
    heard = []
    built = build_image("FROM x\n", tag="t", context=tmp_path, hear=heard.append)
    assert heard == ["x" * 400 + " ..."]
    assert "x" * 5000 in built.log


def test_a_build_that_hangs_is_ended(path, tmp_path):
    path("20.10.0", build="sleep 600")
    built = build_image("FROM x\n", tag="t", context=tmp_path, timeout=0.3)
    assert not built.ok
    assert "did not end within 0.3 s" in built.why


def test_an_engine_that_does_not_answer_cannot_be_asked(path, tmp_path):
    path("20.10.0", build="echo 'Cannot connect to the Docker daemon at unix:///x. Is it running?'; exit 1")
    with pytest.raises(CannotCheckError, match="start the engine"):
        build_image("FROM x\n", tag="t", context=tmp_path)


def test_an_engine_without_buildkit_cannot_do_this_and_the_other_builder_is_named(path, tmp_path):
    path("20.10.0", build="echo 'failed to dial gRPC: unable to upgrade to h2c, received 404'; exit 1")  # Podman 4.3
    with pytest.raises(CannotCheckError, match=r"no BuildKit.*--builder classic"):
        build_image("FROM x\n", tag="t", context=tmp_path)


@pytest.mark.parametrize(
    "said",
    [
        "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
        "ERROR: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?",
        "failed to dial gRPC: cannot connect to the Docker daemon. Is 'docker daemon' running on this host?: dial unix",
        "Got permission denied while trying to connect to the Docker daemon socket at unix:///x: dial unix",
        "error during connect: Post http://x: EOF",
    ],
)
def test_no_engine_is_told_once_and_not_among_the_progress(path, tmp_path, said):
    path("20.10.0", build=f'cat > /dev/null; echo begun; echo "{said}"; exit 1')
    heard = []
    with pytest.raises(CannotCheckError) as caught:
        build_image("FROM x\n", tag="t", context=tmp_path, hear=heard.append)
    assert heard == ["begun"]
    assert str(caught.value).lower().count("connect") == 1


def test_a_step_that_finds_no_engine_of_its_own_is_heard_and_is_the_builds_failure(path, tmp_path):
    line = "#7 0.123 Cannot connect to the Docker daemon at unix:///x."
    path("20.10.0", build=f"cat > /dev/null; echo '{line}'; exit 1")
    heard = []
    assert not build_image("FROM x\n", tag="t", context=tmp_path, hear=heard.append).ok
    assert heard == [line]


def test_a_push_that_fails_is_told_as_the_step(path, tmp_path):
    path("20.10.0", build='cat > /dev/null; [ "$1" != push ] || { echo "denied: no right"; exit 1; }')
    built = build_image("FROM x\n", tag="a:1", context=tmp_path, push=True)
    assert (built.ok, built.step, built.why) == (False, "push a:1", "denied: no right")


@pytest.mark.parametrize(
    ("log", "step", "why"),
    [
        (
            "buildkit-20.10.log",
            "[packages 1/3] RUN --mount=type=bind",
            "/bin/sh: 1: /opt/tools/bin/uv: Permission denied",
        ),
        (
            "buildkit-buildx.log",
            "[packages 2/3] RUN pip install torch==9.9",
            "ERROR: No matching distribution found for torch==9.9",
        ),
        (
            "podman.log",
            "[2/3] STEP 3/3: RUN python3 -m venv /opt/tools",
            "ERROR: No matching distribution found for torch==9.9",
        ),
        ("classic.log", "Step 6/25 : RUN python3 -m venv /opt/tools", "No matching distribution found for pip==26.3"),
    ],
)
def test_recorded_logs_give_up_their_step_and_reason(log, step, why):
    text = (LOGS / log).read_text()
    assert failing_step(text).startswith(step)
    assert any(why in line for line in failure(text))
    assert len(failing_step(text)) < 200
    assert not any(word in "\n".join(failure(text)) for word in ("DEPRECATED", "Sending build context", "missing"))


def test_a_step_that_the_engine_could_not_start_is_told_by_the_engines_words():
    log = "#5 [2/4] RUN useradd app\n#5 ERROR: executor failed running [/bin/sh -c useradd app]: network bridge not found\n"
    assert failure(log)[-1].endswith("network bridge not found")
    assert failure(log.replace("network bridge not found", "exit code: 1")) == ["[2/4] RUN useradd app"]


def test_a_log_without_a_step_names_none():
    assert failing_step("something else\n") == ""


def test_no_engine_is_an_answer_with_a_deed(monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(CannotCheckError, match=r"no container engine answers.*DOCKER_HOST"):
        verify("x:1")


def test_a_silent_address_is_named_without_an_errno(monkeypatch, tmp_path):
    """A missing socket, one that nobody serves, and a port that nobody listens on."""
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(tmp_path / "dead.sock"))
    dead.close()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for host, why in (
        (f"unix://{tmp_path}/none.sock", "there is no socket at"),
        (f"unix://{tmp_path}/dead.sock", "nobody listens at"),
        (f"tcp://127.0.0.1:{port}", "nobody listens at"),
    ):
        monkeypatch.setenv("DOCKER_HOST", host)
        with pytest.raises(CannotCheckError) as caught:
            verify("x:1", timeout=2)
        assert f"{why} {host};" in str(caught.value)
        assert "Errno" not in str(caught.value)


@pytest.mark.parametrize(
    "gpus", ["all", "none", "0", "0,2", "0:1", "GPU-1a2b3c4d", "MIG-GPU-1a/7/0", "nvidia.com/gpu=0"]
)
def test_devices_that_an_engine_could_have_are_let_through(monkeypatch, tmp_path, gpus):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(CannotCheckError):
        verify("x:1", gpus=gpus)


@pytest.mark.parametrize("gpus", ["bogus", "", "0,", "0,,1", "-1", "0 1", "\u0663", "all,none", "0\n", "a" * 10_000])
def test_devices_that_no_engine_has_are_refused_without_one(monkeypatch, tmp_path, gpus):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(InputError, match="--gpus") as caught:
        verify("x:1", gpus=gpus)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("memory", [-1, 0, 6 * 1024**2 - 1, 4 * 1024**5 + 1, 10**30])
def test_a_memory_limit_that_no_engine_takes_is_refused_without_one(monkeypatch, tmp_path, memory):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(InputError, match="--memory"):
        verify("x:1", memory=memory)


@pytest.mark.parametrize("host", ["tcp://256.1.1.1:99999", "nonsense", "ssh://"])
def test_an_odd_engine_address_is_no_traceback(monkeypatch, host):
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(CannotCheckError):
        verify("x:1", timeout=1)


class Client:
    def __init__(self, name="Engine", **info):
        self.name, self.told = name, info

    def info(self):
        return self.told

    def version(self):
        return {"Components": [{"Name": self.name}]}


NVIDIA = {"Runtimes": {"runc": {}, "nvidia": {}}}
CDI = {"Runtimes": {"runc": {}}, "DiscoveredDevices": [{"ID": "nvidia.com/gpu=0"}]}
PODMAN = {"name": "Podman Engine", **NVIDIA}


@pytest.mark.parametrize(
    ("info", "runtime", "gpus", "expected"),
    [
        (NVIDIA, "cuda12.6", "all", {"Count": -1, "Driver": "", "DeviceIDs": []}),
        (NVIDIA, "cuda12.6", "0,2", {"Count": 0, "Driver": "", "DeviceIDs": ["0", "2"]}),
        (CDI, "cuda12.6", "all", {"Count": 0, "Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}),
        (CDI, "cuda12.6", "1,x.org/gpu=2", {"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=1", "x.org/gpu=2"]}),
        (PODMAN, "cuda12.6", "all", {"Count": 0, "Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=all"]}),
        ({}, "cuda12.6", "x.org/gpu=2", {"Driver": "cdi", "DeviceIDs": ["x.org/gpu=2"]}),  # whoever names it has it
        (NVIDIA, "cpu", "all", None),
        (NVIDIA, "cuda12.6", "none", None),
    ],
)
def test_devices_are_asked_for_as_the_engine_knows_them(info, runtime, gpus, expected):
    given = devices(Client(**info), runtime, gpus)
    if expected is None:
        assert given == {}
    else:
        assert expected.items() <= dict(given["device_requests"][0]).items()


def test_a_container_without_its_tpu_proves_nothing():
    with pytest.raises(CannotCheckError, match="no TPU is given"):
        devices(Client(), "tpu", "all")


@pytest.mark.parametrize(
    ("tag", "context", "words"),
    [
        ("a:1", "missing", "there is no such folder"),
        ("a:1", "file", "no such folder"),
        ("UPPER", "", "not an image name"),
    ],
)
def test_what_cannot_be_built_is_refused_before_any_engine_is_asked(monkeypatch, tmp_path, tag, context, words):
    monkeypatch.setenv("PATH", "")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=words):
        build_image("FROM x\n", tag=tag, context=tmp_path / context)


def test_nodes_that_are_there_are_given_with_the_groups_that_own_them(tmp_path):
    (tmp_path / "kfd").touch()
    (tmp_path / "dri").mkdir()
    (tmp_path / "dri" / "renderD128").touch()
    given = _nodes(tuple(str(tmp_path / name) for name in ("kfd", "dri", "missing")))
    assert given["devices"] == [f"{tmp_path / name}:{tmp_path / name}:rwm" for name in ("kfd", "dri")]
    assert given["group_add"] == [str(tmp_path.stat().st_gid)]
    assert _nodes((str(tmp_path / "missing"),)) == {"devices": [], "group_add": []}


@pytest.mark.parametrize(
    ("client", "kept"),
    [
        (Client("Podman Engine", Rootless=True), {"annotations": {"run.oci.keep_original_groups": "1"}}),
        (Client("Podman Engine", Rootless=False), {"group_add": ["44"]}),
        (Client(), {"group_add": ["44"]}),
    ],
)
def test_a_rootless_podman_keeps_the_callers_groups_for_amds_nodes(monkeypatch, client, kept):
    """It maps a group's number to another group of the machine, which owns no device."""
    node = "/dev/kfd:/dev/kfd:rwm"
    monkeypatch.setattr("compat.build.engine._nodes", lambda paths: {"devices": [node], "group_add": ["44"]})
    given = devices(client, "rocm6.4", "all")
    assert given == {"devices": [node], **kept}
    if "annotations" in given:
        told = _specification("x", ["python"], {}, {**confinement(1024**3), **given, "name": "n", "labels": {}})
        assert (told["devices"], told["annotations"]) == ([{"path": node}], given["annotations"])


def test_confinement_leaves_nothing_open():
    limits = confinement(1024**3)
    assert limits["network_mode"] == "none"
    assert limits["read_only"] is True
    assert limits["cap_drop"] == ["ALL"]
    assert limits["security_opt"] == ["no-new-privileges"]
    assert limits["mem_limit"] == limits["memswap_limit"] == 1024**3


def test_a_label_gives_its_plan_back():
    plan = planned({"dev.envcheck.plan": json.dumps({"runtime": "cpu", "python": "3.11"})})
    assert plan is not None
    assert plan.runtime == "cpu"


@pytest.mark.parametrize("code", [0, 1])
def test_what_a_client_leaves_in_its_temporary_folder_is_removed(path, tmp_path, code):
    """Docker's client leaves the Dockerfile that it read from standard input, where the build fails."""
    path(
        "28.2.2", buildx=True, build=f'echo x > "$TMPDIR/dockerfile123"; echo "$TMPDIR" > {tmp_path}/where; exit {code}'
    )
    assert build_image("FROM x\n", tag="a:1", context=tmp_path).ok == (code == 0)
    where = Path((tmp_path / "where").read_text().strip())
    assert where != Path(tempfile.gettempdir())
    assert not where.exists()


def test_nor_does_an_interrupted_build_leave_anything(path, tmp_path):
    docker = path(
        "28.2.2",
        buildx=True,
        build=f'echo x > "$TMPDIR/d"; echo "$TMPDIR" > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/where; sleep 60',
    )
    environment = os.environ | {"PATH": f"{Path(docker).parent}:{os.environ['PATH']}"}
    words = [sys.executable, "-m", "compat", "build", "jax==0.6.2", "--cpu", "--tag", "a:1"]
    process = subprocess.Popen(words, env=environment, cwd=tmp_path, stderr=subprocess.DEVNULL)
    while not (tmp_path / "where").is_file():
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    assert process.wait(60) == 143
    assert not Path((tmp_path / "where").read_text().strip()).exists()


def test_a_client_in_a_snap_keeps_its_own_folder(tmp_path):
    program = tmp_path / "snap" / "bin" / "docker"
    program.parent.mkdir(parents=True)
    program.touch()
    with images._scratch(str(program)) as variables:
        assert variables == {}
