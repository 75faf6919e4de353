"""What is shipped for Kubernetes, Prometheus, Ansible and ClusterShell: checked by their own tools, run where it can be."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from shutil import which

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "scripts" / "deploy"
ENVCHECK = [sys.executable, "-m", "compat"]
HEALTHY = {
    "arch": "x86_64",
    "driver": "550.144.03",
    "gpus": [{"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia", "target": "sm_90"}],
}
BROKEN = {**HEALTHY, "driver": "470.82.01"}
MANIFESTS = ["kubernetes/base/namespace.yaml", "kubernetes/base/daemonset.yaml", "kubernetes/preflight.yaml"]


@pytest.fixture
def host_file(tmp_path):
    def write(facts, name="host"):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(facts))
        return str(path)

    return write


def ran(*words, **more):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, env=env, **more)


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.34"])
@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_what_the_schema_of_kubernetes_says(name, release):
    checker = pytest.importorskip("kubernetes_validate")
    checker.validate(yaml.safe_load((DEPLOY / name).read_text()), release, strict=True)


def test_the_base_names_every_file_and_its_image_is_set_in_one_place():
    base = DEPLOY / "kubernetes" / "base"
    kustomization = yaml.safe_load((base / "kustomization.yaml").read_text())
    assert {path.name for path in base.iterdir()} == {"kustomization.yaml", *kustomization["resources"]}
    pod = yaml.safe_load((base / "daemonset.yaml").read_text())["spec"]["template"]["spec"]
    assert [one["image"] for one in pod["containers"]] == [image["name"] for image in kustomization["images"]]


@pytest.mark.parametrize("name", MANIFESTS[1:])
def test_containers_hold_no_token_no_capability_and_write_only_what_is_mounted(name):
    document = yaml.safe_load((DEPLOY / name).read_text())
    pod = document["spec"]["template"]["spec"] if document["kind"] == "DaemonSet" else document["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    for one in (*pod.get("initContainers", ()), *pod["containers"]):
        context = one["securityContext"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
        assert "privileged" not in context


def test_the_preflight_blocks_with_the_reason_in_the_termination_message(host_file, tmp_path):
    pod = yaml.safe_load((DEPLOY / "kubernetes" / "preflight.yaml").read_text())["spec"]
    log = tmp_path / "termination-log"
    log.touch()
    words = [word.replace("/dev/termination-log", str(log)) for word in pod["initContainers"][0]["command"][1:]]
    for facts, code, said in (
        (HEALTHY, 0, "ok: "),
        (BROKEN, 1, "driver-gpu-unsupported-by-branch: "),
        ({}, 3, "unchecked: "),
    ):
        done = ran(*ENVCHECK, *words, "--host", host_file(facts))
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        assert log.read_text().startswith(said)


def test_a_loop_of_the_daemon_set_writes_both_files(host_file, tmp_path):
    pod = yaml.safe_load((DEPLOY / "kubernetes" / "base" / "daemonset.yaml").read_text())["spec"]["template"]["spec"]
    script = pod["containers"][0]["args"][0]
    for folder in ("features", "textfile"):
        (tmp_path / folder).mkdir()
        script = script.replace(f"/{folder}/", f"{tmp_path}/{folder}/")
    command = f"{sys.executable} -m compat doctor --host {host_file(BROKEN)}"
    script = script.replace("envcheck doctor", command).replace("sleep 600 & wait", "exit 7")
    done = ran("sh", "-c", f"NODE_NAME=n1; {script}")
    assert (done.returncode, done.stderr) == (7, "")
    assert "envcheck.ok=false" in (tmp_path / "features" / "envcheck").read_text()
    assert 'envcheck_ok{node="n1"} 0' in (tmp_path / "textfile" / "envcheck.prom").read_text()


@pytest.mark.parametrize(("facts", "code"), [(HEALTHY, 0), (BROKEN, 1), ({}, 3)])
def test_the_node_problem_detector_gets_its_codes_and_its_80_characters(host_file, facts, code):
    config = json.loads((DEPLOY / "kubernetes" / "node-problem-detector.json").read_text())
    (rule,) = config["rules"]
    assert rule["condition"] in {one["type"] for one in config["conditions"]}
    done = ran(*ENVCHECK, *rule["args"], "--host", host_file(facts))
    assert (done.returncode, done.stderr) == (code, "")
    assert len(done.stdout.strip()) <= config["pluginConfig"]["max_output_length"]


@pytest.mark.skipif(not which("promtool"), reason="promtool is not installed (Debian: prometheus)")
@pytest.mark.parametrize(
    "words", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts.test.yml")], ids=" ".join
)
def test_alerts_fire_as_they_should(words):
    done = ran("promtool", *words, cwd=DEPLOY / "prometheus")
    assert done.returncode == 0, done.stdout + done.stderr


DASHBOARD = json.loads((DEPLOY / "prometheus" / "dashboard.json").read_text())
ASKED = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_the_dashboard_has_no_key_that_grafana_does_not_know():
    dashboard = pytest.importorskip("grafana_foundation_sdk.models.dashboard")
    encoder = pytest.importorskip("grafana_foundation_sdk.cog.encoder").JSONEncoder
    known = json.loads(encoder().encode(dashboard.Dashboard.from_json(DASHBOARD)))
    assert set(DASHBOARD) <= set(known)
    for panel, read in zip(DASHBOARD["panels"], known["panels"], strict=True):
        assert {**read, **panel} == read


def test_the_dashboard_asks_for_series_and_labels_that_the_doctor_writes(host_file):
    text = ran(*ENVCHECK, "doctor", "--node", "n1", "--format", "prometheus", "--host", host_file(BROKEN)).stdout
    written = {
        name: set(re.findall(r'(\w+)="', labels))
        for name, labels in re.findall(r"^(envcheck_\w+)(\{.*)?", text, re.MULTILINE)
    }
    elsewhere = {"instance", "amdgpu", "driver_cuda", "os"}  # the scrape's own label; facts that this host has not
    for expression in ASKED:
        (name,) = re.findall(r"envcheck_\w+", expression)
        grouped = [word for group in re.findall(r"by \(([^)]*)\)", expression) for word in group.split(", ")]
        chosen = re.findall(r'(\w+)="', expression)
        assert {*grouped, *chosen} - elsewhere <= written[name], expression
    places = [(p["gridPos"]["x"] + p["gridPos"]["w"], p["gridPos"]["y"]) for p in DASHBOARD["panels"]]
    assert len(set(places)) == len(places)
    assert max(right for right, _ in places) <= 24  # columns of Grafana's grid


@pytest.mark.skipif(not which("promtool"), reason="promtool is not installed (Debian: prometheus)")
def test_what_the_dashboard_asks_is_promql(tmp_path):
    rules = [{"record": f"panel:{number}", "expr": expression} for number, expression in enumerate(ASKED)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = ran("promtool", "check", "rules", tmp_path / "rules.yml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_role_of_ansible_keeps_results_and_stops_where_something_does_not_fit(host_file, tmp_path):
    pytest.importorskip("ansible")
    host_file(HEALTHY, "n1"), host_file(BROKEN, "n2")
    given = {
        "envcheck_command": ENVCHECK,
        "envcheck_options": ["--host", f"{tmp_path}/{{{{ inventory_hostname }}}}.json"],
        "envcheck_results": str(tmp_path / "results"),
        "ansible_python_interpreter": sys.executable,
    }
    play = [sys.executable, "-m", "ansible", "playbook", "-i", "n1,n2,", "-c", "local", "-e", json.dumps(given)]
    done = ran(*play, DEPLOY / "ansible" / "site.yml")
    assert done.returncode == 2, done.stdout + done.stderr  # Ansible's code for hosts that failed
    assert "driver-gpu-unsupported-by-branch" in done.stdout
    fleet = json.loads(ran(*ENVCHECK, "fleet", tmp_path / "results", "--format", "json").stdout)
    assert {node["name"]: node["verdict"] for node in fleet["nodes"]} == {"n1": "fits", "n2": "clashes"}


@pytest.mark.parametrize("shell", [("clush", "-L", "-R", "exec"), ("pdsh", "-R", "exec")], ids=lambda words: words[0])
def test_a_parallel_shell_feeds_the_fleet(host_file, tmp_path, shell):
    if not which(shell[0]):
        pytest.skip(f"{shell[0]} is not installed (Debian: clustershell, pdsh)")
    host_file(HEALTHY, "n1"), host_file(BROKEN, "n2")
    # the script names its interpreter: pdsh gives a program its bare name, by which Python looks for its home on PATH
    program = Path(sys.executable).with_name("envcheck")
    asked = [program, "doctor", "-f", "jsonl", "--host", f"{tmp_path}/%h.json"]
    lines = ran(*shell, "-w", "n[1-2]", *asked)
    done = ran(*ENVCHECK, "fleet", "-", "torch==2.9.1", "--format", "json", input=lines.stdout)
    fleet = json.loads(done.stdout)
    assert {node["name"]: node["verdict"] for node in fleet["nodes"]} == {"n1": "fits", "n2": "clashes"}, lines.stderr


EXPORTER = which("prometheus-node-exporter") or which("node_exporter")


@pytest.mark.skipif(not EXPORTER, reason="node_exporter is not installed (Debian: prometheus-node-exporter)")
def test_a_scrape_of_node_exporter_has_our_series(host_file, tmp_path):
    target = tmp_path / "envcheck.prom"
    words = ("--node", "n1", "--format", "prometheus", "--output", target, "--host", host_file(BROKEN))
    assert ran(*ENVCHECK, "doctor", *words).returncode == 1
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{one.getsockname()[1]}"
    options = ["--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={tmp_path}"]
    exporter = subprocess.Popen([EXPORTER, *options, f"--web.listen-address={address}"], stderr=subprocess.DEVNULL)
    try:
        text = scraped(f"http://{address}/metrics")
    finally:
        exporter.terminate()
        exporter.wait(20)
    assert re.search(r'envcheck_finding\{code="driver-gpu-unsupported-by-branch",.*severity="error"\} 1', text)
    assert "node_textfile_scrape_error 0" in text


def scraped(address):
    """What an exporter answers, once it does."""
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)
