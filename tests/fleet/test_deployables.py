"""What is shipped for Kubernetes, Prometheus, Ansible and ClusterShell: checked by their own tools, run where it can be."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path
from shutil import which

import pytest
import yaml

from compat import __version__, plan

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "scripts" / "deploy"
ENVCHECK = [sys.executable, "-m", "compat"]
HEALTHY = {
    "arch": "x86_64",
    "driver": "550.144.03",
    "gpus": [{"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia", "target": "sm_90"}],
}
BROKEN = {**HEALTHY, "driver": "470.82.01"}


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


@pytest.fixture(params=["base", "amd", "preflight"])
def manifests(request):
    """The objects of one folder as kubectl would apply them."""
    if not which("kubectl"):
        pytest.skip("kubectl is not installed")
    done = ran("kubectl", "kustomize", DEPLOY / "kubernetes" / request.param)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def pods(documents):
    """The specifications of their pods."""
    specs = [one["spec"] for one in documents if "spec" in one]
    return [spec["template"]["spec"] if "template" in spec else spec for spec in specs]


@pytest.mark.parametrize("release", ["1.35", "1.36", "1.37"])
def test_a_manifest_is_what_the_schema_of_kubernetes_says(manifests, release):
    checker = pytest.importorskip("kubernetes_validate")
    for document in manifests:
        checker.validate(document, release, strict=True)


def test_the_image_is_named_in_one_place_with_the_release_that_its_plan_installs(manifests):
    ours = [one["image"] for pod in pods(manifests) for one in (*pod.get("initContainers", ()), *pod["containers"])]
    assert [name for name in ours if name != "your/image"] == [f"envcheck:{__version__}"]
    answer = plan.load(json.loads((DEPLOY / "image" / "plan.json").read_text()), "plan.json")
    assert answer.plan.versions() == {"envcheck-gpu": __version__}


@pytest.mark.skipif(not which("kubectl"), reason="kubectl is not installed")
def test_a_release_writes_the_digest_into_every_manifest(tmp_path):
    """The step of the workflow, run as it stands."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    (step,) = [one for one in jobs["manifests"]["steps"] if "kustomize" in one.get("run", "")]
    shutil.copytree(DEPLOY, tmp_path / "scripts" / "deploy")
    env = {**os.environ, "NAME": "ghcr.io/team/envcheck", "DIGEST": f"sha256:{'a' * 64}"}
    subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=env, check=True, stdout=subprocess.DEVNULL)
    made = {path.name: path.read_text() for path in tmp_path.rglob("envcheck-*.yaml")}
    assert set(made) == {"envcheck-base.yaml", "envcheck-amd.yaml", "envcheck-preflight.yaml"}
    for text in made.values():
        assert f"image: ghcr.io/team/envcheck@sha256:{'a' * 64}\n" in text
        assert "envcheck:0" not in text


def test_the_image_is_planned_for_both_processors():
    words = ("--plan", DEPLOY / "image" / "plan.json", "--config", DEPLOY / "image" / "image.toml")
    text = ran(*ENVCHECK, "dockerfile", *words).stdout
    assert "docker buildx build --platform linux/amd64,linux/arm64" in text
    assert "\nUSER 65532:65532\n" in text
    for arch in ("amd64", "arm64"):
        assert f"linux/{arch}" in ran(*ENVCHECK, "dockerfile", *words, "--platform", f"linux/{arch}").stdout


def test_containers_hold_no_token_no_capability_and_write_only_what_is_mounted(manifests):
    for pod in pods(manifests):
        assert pod["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        for one in (*pod.get("initContainers", ()), *pod["containers"]):
            context = one["securityContext"]
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
            assert "privileged" not in context


def test_the_daemon_set_for_amd_has_its_nodes_and_devices_and_nothing_of_nvidia(manifests, request):
    (pod,) = pods(manifests)
    (one,) = pod["containers"]
    paths = {mount["mountPath"] for mount in one.get("volumeMounts", ()) if mount.get("readOnly")}
    mine = request.node.callspec.params["manifests"]
    assert paths == ({"/dev/kfd", "/dev/dri"} if mine == "amd" else set())
    assert ("nvidia" in json.dumps(manifests).lower()) is (mine != "amd")


def test_the_preflight_blocks_with_the_reason_in_the_termination_message(host_file, tmp_path):
    pod = yaml.safe_load((DEPLOY / "kubernetes" / "preflight" / "pod.yaml").read_text())["spec"]
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


@pytest.fixture
def service(tmp_path):
    """Start a daemon with ``{address}`` in its words filled in; returns that address. All end with the test."""
    started = []

    def start(*words):
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{one.getsockname()[1]}"
        filled = [str(word).format(address=address) for word in words]
        with (tmp_path / f"{len(started)}.log").open("w") as log:
            started.append(subprocess.Popen(filled, stdout=log, stderr=log))
        return f"http://{address}"

    yield start
    for one in started:
        one.terminate()
        one.wait(20)


@pytest.fixture
def exporter(host_file, tmp_path, service):
    """node_exporter with what the doctor said of a broken node."""
    if not EXPORTER:
        pytest.skip("node_exporter is not installed (Debian: prometheus-node-exporter)")
    target = tmp_path / "envcheck.prom"
    words = ("--node", "n1", "--format", "prometheus", "--output", target, "--host", host_file(BROKEN))
    assert ran(*ENVCHECK, "doctor", *words).returncode == 1
    options = ["--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={tmp_path}"]
    return service(EXPORTER, *options, "--web.listen-address={address}")


def test_a_scrape_of_node_exporter_has_our_series(exporter):
    text = scraped(f"{exporter}/metrics")
    assert re.search(r'envcheck_finding\{code="driver-gpu-unsupported-by-branch",.*severity="error"\} 1', text)
    assert "node_textfile_scrape_error 0" in text


@pytest.mark.skipif(not which("prometheus"), reason="Prometheus is not installed (Debian: prometheus)")
def test_a_prometheus_that_scrapes_answers_each_panel_of_the_dashboard_and_raises_the_alert(
    exporter, service, tmp_path
):
    jobs = [{"job_name": "node", "static_configs": [{"targets": [exporter.removeprefix("http://")]}]}]
    rules = (DEPLOY / "prometheus" / "alerts.yml").read_text().replace("for: 15m", "for: 0s")
    (tmp_path / "alerts.yml").write_text(rules)
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config = {"global": every, "rule_files": ["alerts.yml"], "scrape_configs": jobs}
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    options = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
    server = service("prometheus", *options, "--web.listen-address={address}")

    def asked(expression):
        text = scraped(f"{server}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
        return json.loads(text)["data"]["result"]

    end = time.monotonic() + 60
    while not asked('ALERTS{alertname="EnvcheckFinding",alertstate="firing"}'):
        assert time.monotonic() < end, [path.read_text()[-900:] for path in tmp_path.glob("*.log")]
        time.sleep(0.2)
    answers = {expression: asked(expression) for expression in ASKED}
    assert not [expression for expression, answer in answers.items() if not answer]
    assert {one["metric"]["code"] for one in asked("envcheck_finding")} >= {"driver-gpu-unsupported-by-branch"}


def scraped(address):
    """What a server answers, once it does."""
    end = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            assert time.monotonic() < end
            time.sleep(0.1)
