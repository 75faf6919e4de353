"""The scripts for Slurm, with slurmctld and four slurmd on this machine: drain, refused job, repair, resume."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from shutil import which

import pytest

from compat.fleet import Node, read

DEPLOY = Path(__file__).resolve().parents[2] / "scripts" / "deploy" / "slurm"
NEEDED = ("slurmctld", "slurmd", "munged", "srun")
MISSING = [name for name in NEEDED if not which(name, path=f"{os.environ['PATH']}:/usr/sbin")]
HEALTHY = 'driver = "550.144.03"\ngpus = [{name = "NVIDIA H100 80GB HBM3", vendor = "nvidia", target = "sm_90"}]\n'
BROKEN = 'driver = "470.82.01"\ngpus = [{name = "NVIDIA H100 80GB HBM3", vendor = "nvidia", target = "sm_90"}]\n'
EMPTY = 'os = "ubuntu22.04"\n'
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
AuthInfo=socket={at}/munge.socket
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/%n
SlurmdPidFile={at}/slurmd.%n.pid
SlurmctldPidFile={at}/slurmctld.pid
ReturnToService=2
HealthCheckProgram={at}/health
HealthCheckInterval=3
HealthCheckNodeState=ANY
PartitionName=all Nodes=ALL Default=YES State=UP
"""
NODE = "NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=1000\n"


@pytest.mark.parametrize("name", ["healthcheck.sh", "prolog.sh"])
def test_a_script_is_short_and_clean(name):
    assert len((DEPLOY / name).read_text().splitlines()) <= 15
    if which("shellcheck"):
        done = subprocess.run(["shellcheck", str(DEPLOY / name)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def node(tmp_path):
    """What a script runs with: this envcheck, and options that name a host file; returns a way to write that file."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "envcheck").write_text(f'#!/bin/sh\nexec {sys.executable} -m compat "$@"\n')
    (tools / "envcheck").chmod(0o755)
    conf = tmp_path / "conf"
    conf.write_text(f'PATH={tools}:$PATH\nset -- --host "{tmp_path}/${{SLURMD_NODENAME:-n1}}.toml"\n')
    return {"at": tmp_path, "env": {**os.environ, "ENVCHECK_CONF": str(conf), "PYTHONPATH": str(DEPLOY.parents[2])}}


@pytest.mark.parametrize(("facts", "code"), [(HEALTHY, 0), (BROKEN, 1), (EMPTY, 0)])
def test_the_prolog_refuses_for_certain_errors_alone(node, facts, code):
    (node["at"] / "n1.toml").write_text(facts)
    done = subprocess.run([DEPLOY / "prolog.sh"], env=node["env"], capture_output=True, text=True)
    assert done.returncode == code
    assert ("driver-gpu-unsupported-by-branch" in done.stderr) is bool(code)


class Cluster:
    """A controller and four nodes, each an own process of this machine, ended with it."""

    def __init__(self, at, env):
        self.at, self.started = at, []
        host, (port, *ports) = socket.gethostname().partition(".")[0], self._ports(5)
        nodes = (NODE.format(number=number, host=host, port=own) for number, own in enumerate(ports, 1))
        (at / "slurm.conf").write_text(CONF.format(host=host, at=at, port=port) + "".join(nodes))
        (at / "state").mkdir()
        (at / "key").write_bytes(os.urandom(128))
        (at / "key").chmod(0o400)
        self.env = {**env, "SLURM_CONF": str(at / "slurm.conf"), "PATH": f"{env['PATH']}:/usr/sbin"}
        health = f"#!/bin/sh\nexport ENVCHECK_CONF={env['ENVCHECK_CONF']} PYTHONPATH={env['PYTHONPATH']}\n"
        (at / "health").write_text(
            f"{health}export SLURM_CONF={at}/slurm.conf\nexec {DEPLOY}/healthcheck.sh >>{at}/health.out 2>&1\n"
        )
        (at / "health").chmod(0o755)

    @staticmethod
    def _ports(count):
        """So many ports that nobody else has, for another run of these tests may be under way."""
        held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        try:
            return [one.getsockname()[1] for one in held]
        finally:
            for one in held:
                one.close()

    def start(self):
        files = [
            f"--{name}-file={self.at}/{file}"
            for name, file in (("key", "key"), ("pid", "munge.pid"), ("log", "munge.log"), ("seed", "seed"))
        ]
        self._run("munged", "--foreground", "--force", f"--socket={self.at}/munge.socket", *files)
        self.until((self.at / "munge.socket").exists, "munged")
        self._run("slurmctld", "-D")
        for number in range(1, 5):
            self._run("slurmd", "-D", "-N", f"n{number}")

    def _run(self, *words):
        with (self.at / f"{words[0]}.{len(self.started)}.out").open("w") as log:
            self.started.append(subprocess.Popen(words, env=self.env, stdout=log, stderr=log, start_new_session=True))

    def stop(self):
        for one in reversed(self.started):
            one.send_signal(signal.SIGTERM)
        for one in reversed(self.started):
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()

    def ask(self, *words):
        return subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=60)

    def state(self, name):
        return self.ask("sinfo", "-h", "-N", "-n", name, "-o", "%T").stdout.strip()

    def reason(self, name):
        return self.ask("sinfo", "-h", "-N", "-n", name, "-o", "%E").stdout.strip()

    def until(self, holds, what):
        """Wait for something that daemons do in their own time."""
        end = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < end, (
                what,
                {path.name: path.read_text()[-900:] for path in self.at.glob("*.out")},
            )
            time.sleep(0.2)


@pytest.fixture
def cluster(node):
    if MISSING or os.geteuid():
        pytest.skip(f"needs root and {', '.join(NEEDED)} (Debian: slurmctld slurmd slurm-client munge)")
    for number in range(1, 5):
        (node["at"] / f"n{number}.toml").write_text(HEALTHY)
    made = Cluster(node["at"], node["env"])
    try:
        made.start()
        made.until(lambda: all(made.state(f"n{n}") == "idle" for n in range(1, 5)), "four idle nodes")
        yield made
    finally:
        made.stop()


def test_a_broken_node_is_drained_with_the_code_and_resumed_after_the_repair(cluster):
    assert cluster.ask("srun", "-N4", "hostname").returncode == 0
    told = cluster.ask("sinfo", "--json").stdout
    assert {one.name for one in read(told, "slurm.json") if isinstance(one, Node)} == {"n1", "n2", "n3", "n4"}
    cluster.ask("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=disk")  # somebody else's
    (cluster.at / "n2.toml").write_text(EMPTY)  # nobody knows: no reason to drain
    (cluster.at / "n3.toml").write_text(BROKEN)
    cluster.until(lambda: cluster.state("n3") == "drained", "the drain of n3")
    assert cluster.reason("n3").startswith("driver-gpu-unsupported-by-branch: ")
    refused = cluster.ask("srun", "-N1", "-w", "n3", "--immediate=2", "hostname")
    assert refused.returncode != 0
    assert cluster.ask("srun", "-N2", "-w", "n1,n2", "hostname").returncode == 0
    (cluster.at / "n3.toml").write_text(HEALTHY)
    cluster.until(lambda: cluster.state("n3") == "idle", "the return of n3")
    assert (cluster.state("n2"), cluster.state("n4"), cluster.reason("n4")) == ("idle", "drained", "disk")
