"""What engines of clusters print, in the shapes that their documentation gives, read as facts of nodes."""

import json
from collections import Counter
from pathlib import Path

import pytest

from compat.app.fleet import survey
from compat.app.matrices import load
from compat.fleet import Node, Seen, read
from compat.survey import Broken


def nodes(text, place="source.json"):
    found = list(read(text if isinstance(text, str) else json.dumps(text), place))
    assert all(isinstance(one, Node) for one in found), found
    return {one.name: one for one in found}


def kubernetes(labels, capacity=(), info=()):
    info = {"osImage": "Ubuntu 22.04.4 LTS", "kernelVersion": "5.15.0-105-generic", **dict(info)}
    status = {"capacity": dict(capacity), "nodeInfo": info}
    return {"kind": "Node", "metadata": {"name": "n1", "labels": labels}, "status": status}


GFD = {
    "kubernetes.io/arch": "amd64",
    "nvidia.com/cuda.driver.major": "550",
    "nvidia.com/cuda.driver.minor": "144",
    "nvidia.com/cuda.driver.rev": "03",
    "nvidia.com/gpu.count": "2",
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/gpu.compute.major": "9",
    "nvidia.com/gpu.compute.minor": "0",
    "nvidia.com/gfd.timestamp": "1700000000",
}
H100 = {"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia", "target": "sm_90"}
GKE = {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4", "kubernetes.io/arch": "amd64"}
KARPENTER = {"karpenter.k8s.aws/instance-gpu-name": "a10g", "karpenter.k8s.aws/instance-gpu-count": "4"}
AMD = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.device-id": "74a1"}
MI300X = {"name": "AMD Instinct MI300X OAM", "vendor": "amd", "pci": "1002:74a1"}


@pytest.mark.parametrize(
    ("labels", "capacity", "facts"),
    [
        (GFD, {"nvidia.com/gpu": "20"}, {"gpus": [H100] * 2, "driver": "550.144.03", "arch": "x86_64"}),
        (GKE, {"nvidia.com/gpu": "4"}, {"gpus": [{"name": "nvidia tesla t4", "vendor": "nvidia"}] * 4}),
        (KARPENTER, {}, {"gpus": [{"name": "a10g", "vendor": "nvidia"}] * 4}),
        (
            {**AMD, "amd.com/gpu.driver-version": "6.8.5"},
            {"amd.com/gpu": "8"},
            {"gpus": [MI300X] * 8, "amdgpu": "6.8.5"},
        ),
        ({"kubernetes.azure.com/accelerator": "nvidia"}, {"nvidia.com/gpu": "1"}, {"os": "ubuntu22.04"}),
    ],
)
def test_a_node_of_kubernetes(labels, capacity, facts):
    node = nodes({"items": [kubernetes(labels, capacity)]})["n1"]
    assert facts.items() <= node.facts.items()
    assert node.facts["kernel"] == "5.15.0-105-generic"
    assert ("gpus" in node.facts) is ("gpus" in facts)  # a card that no label names stays unknown
    assert node.findings is None


EKS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
T4_OF_KARPENTER = {"karpenter.k8s.aws/instance-gpu-count": "1", "karpenter.k8s.aws/instance-gpu-name": "t4"}
L4_OF_KARPENTER = {"karpenter.k8s.aws/instance-gpu-count": "1", "karpenter.k8s.aws/instance-gpu-name": "l4"}
# Nodes as people published them: labels, what there is of GPUs, system and kernel as far as they were printed.
RECORDED = {
    # awslabs/kubeflow-manifests, pull request 396: EKS, a managed group with NVIDIA's device plugin
    "eks p3.2xlarge": (
        {**EKS, "node.kubernetes.io/instance-type": "p3.2xlarge", "eks.amazonaws.com/capacityType": "ON_DEMAND"},
        {"nvidia.com/gpu": "1"},
        {},
        {"gpus": ["Tesla V100-SXM2-16GB"], "arch": "x86_64"},
    ),
    # bottlerocket-os/bottlerocket, issue 4087: EKS by Karpenter; the device plugin shows no GPU
    "eks g4dn.2xlarge": (
        {**EKS, **T4_OF_KARPENTER, "node.kubernetes.io/instance-type": "g4dn.2xlarge"},
        {},
        {},
        {"gpus": ["t4"], "arch": "x86_64"},
    ),
    # aws/amazon-vpc-cni-k8s, issue 3104: EKS by Karpenter, before a device plugin ran
    "eks g6.xlarge": (
        {**EKS, **L4_OF_KARPENTER, "node.kubernetes.io/instance-type": "g6.xlarge"},
        {},
        {},
        {"gpus": ["l4"], "arch": "x86_64"},
    ),
    # TensorWorks/DirectX-Device-Plugins, pull request 2: EKS, Windows
    "eks windows": (
        {**EKS, "kubernetes.io/os": "windows", "node.kubernetes.io/instance-type": "g4dn.2xlarge"},
        {},
        {"kernelVersion": "10.0.20348"},
        {"gpus": ["Tesla T4"], "platform": "windows"},
    ),
    # marosset/aks-windows-gpu-acceleration, the results of its sample: AKS, Windows
    "aks windows": (
        {
            "accelerator": "nvidia",
            "kubernetes.azure.com/accelerator": "nvidia",
            "kubernetes.azure.com/os-sku": "Windows2019",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "windows",
            "node.kubernetes.io/instance-type": "Standard_NC4as_T4_v3",
        },
        {"microsoft.com/directx": "1"},
        {"osImage": "Windows Server 2019 Datacenter", "kernelVersion": "10.0.17763.3887"},
        {"gpus": ["Tesla T4"], "platform": "windows", "os": "windowsserver2019", "arch": "x86_64"},
    ),
    # JingchaoZhang/JingchaoZhang.github.io, on an NDm A100 v4 cluster: AKS with NVIDIA's operator
    "aks operator": (
        {
            "nvidia.com/gpu.compute.major": "8",
            "nvidia.com/gpu.compute.minor": "0",
            "nvidia.com/gpu.count": "8",
            "nvidia.com/gpu.machine": "Virtual-Machine",
            "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
            "nvidia.com/gpu.replicas": "1",
        },
        {"nvidia.com/gpu": "8", "nvidia.com/mlnxnics": "8"},
        {},
        {"gpus": ["NVIDIA A100-SXM4-80GB"] * 8},
    ),
    # aws/karpenter-provider-aws, pull request 1476: EKS, a node of March 2022; the instance type alone tells its GPU
    "eks g5.xlarge": (
        {**EKS, "karpenter.sh/capacity-type": "spot", "beta.kubernetes.io/instance-type": "g5.xlarge"},
        {},
        {},
        {"gpus": ["NVIDIA A10G"], "arch": "x86_64"},
    ),
    # kubernetes/kubernetes, issue 55005: GKE, `kubectl get nodes -o yaml` of November 2017; no resource for the GPU yet
    "gke k80": (
        {
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/instance-type": "n1-standard-2",
            "beta.kubernetes.io/os": "linux",
            "cloud.google.com/gke-accelerator": "nvidia-tesla-k80",
            "cloud.google.com/gke-nodepool": "default-pool",
        },
        {},
        {},
        {"gpus": ["nvidia tesla k80"], "arch": "x86_64"},
    ),
    # Red Hat OpenShift 4.19, "Specialized hardware": `oc get node -o json` with AMD's operator; no label of a product
    "openshift amd": (
        {
            "amd.com/gpu.cu-count": "304",
            "amd.com/gpu.device-id": "74b5",
            "amd.com/gpu.driver-version": "6.12.12",
            "amd.com/gpu.family": "AI",
            "amd.com/gpu.simd-count": "1216",
            "amd.com/gpu.vram": "191G",
            "beta.amd.com/gpu.device-id.74b5": "8",
        },
        {"amd.com/gpu": "8"},
        {},
        {"gpus": ["AMD Instinct MI300X"] * 8, "amdgpu": "6.12.12"},
    ),
    # `kubectl describe node | grep nvidia.com` in the notes of a repository hello-k8s: a server at home with NVIDIA's
    # operator, of whose one card time slicing makes six
    "bare metal operator": (
        {
            "nvidia.com/cuda.driver-version.full": "560.35.03",
            "nvidia.com/cuda.driver.major": "560",
            "nvidia.com/cuda.driver.minor": "35",
            "nvidia.com/cuda.driver.rev": "03",
            "nvidia.com/cuda.runtime.major": "12",
            "nvidia.com/cuda.runtime.minor": "6",
            "nvidia.com/gpu.compute.major": "7",
            "nvidia.com/gpu.compute.minor": "5",
            "nvidia.com/gpu.count": "1",
            "nvidia.com/gpu.machine": "B560M-AORUS-PRO",
            "nvidia.com/gpu.memory": "6144",
            "nvidia.com/gpu.product": "NVIDIA-GeForce-GTX-1660-Ti-SHARED",
            "nvidia.com/gpu.replicas": "6",
            "nvidia.com/gpu.sharing-strategy": "time-slicing",
        },
        {"nvidia.com/gpu": "6"},
        {},
        {"gpus": ["NVIDIA GeForce GTX 1660 Ti"], "driver": "560.35.03", "driver_cuda": "12.6"},
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_node(name, tmp_path):
    labels, capacity, info, told = RECORDED[name]
    status = {"capacity": capacity, "allocatable": capacity, "nodeInfo": info}
    document = {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"taints": []}, "status": status}
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": [document]}))
    found = survey([str(tmp_path / "nodes.json")], ("torch==2.9.1",), load())
    (group,) = found.groups
    gpus = ", ".join(f"{count} x {gpu}" for gpu, count in Counter(told["gpus"]).items())
    assert (told | {"gpus": gpus}).items() <= group.facts.items()
    assert ("driver" in group.facts) == ("driver" in told)  # without it no build is sure to run
    assert [one.verdict for one in found.nodes] == ["clashes" if "k80" in name else "unknown"]  # too old for torch 2.9


def test_a_build_that_windows_lacks_cannot_run_on_a_windows_node(tmp_path):
    labels, capacity, info, _ = RECORDED["aks windows"]
    status = {"capacity": capacity, "nodeInfo": info}
    document = {"kind": "Node", "metadata": {"name": "n1", "labels": labels}, "status": status}
    (tmp_path / "nodes.json").write_text(json.dumps(document))
    (node,) = survey([str(tmp_path / "nodes.json")], ("tensorflow==2.18.1",), load()).nodes
    assert (node.verdict, "platform windows" in node.why) == ("clashes", True)


DESCRIBED = """\
Name:               akswin19000005
Roles:              agent
Labels:             accelerator=nvidia
                    beta.kubernetes.io/instance-type=Standard_NC4as_T4_v3
                    kubernetes.azure.com/accelerator=nvidia
                    kubernetes.io/arch=amd64
                    kubernetes.io/os=windows
                    node.kubernetes.io/instance-type=Standard_NC4as_T4_v3
                    node.kubernetes.io/windows-build=10.0.17763
System Info:
  Kernel Version:             10.0.17763.3887
  OS Image:                   Windows Server 2019 Datacenter
  Operating System:           windows
  Architecture:               amd64
  Container Runtime Version:  containerd://1.6.14+azure
  Kubelet Version:            v1.25.4
"""


def test_a_described_node_has_its_own_name_and_its_instance_type():
    """As marosset/aks-windows-gpu-acceleration recorded it."""
    (node,) = read(DESCRIBED, "reports/n1.txt")
    assert (node.name, node.instance) == ("akswin19000005", "Standard_NC4as_T4_v3")
    assert (node.facts["platform"], node.facts["os"]) == ("windows", "windowsserver2019")
    yaml = DESCRIBED.replace("Name:  ", "metadata:\n  name:").replace("type=Standard", "type: Standard")
    (node,) = read(yaml.replace("name:             ", "name: "), "n1.yaml")
    assert (node.name, node.instance) == ("akswin19000005", "Standard_NC4as_T4_v3")


def test_several_nodes_in_one_text_are_not_taken_for_one():
    (broken,) = read(DESCRIBED + DESCRIBED.replace("akswin19000005", "akswin19000006"), "all.txt")
    assert broken == Broken("all.txt", "several nodes in one text: give `kubectl get nodes -o json`")


def test_what_is_no_node_is_named_and_the_rest_is_read():
    items = [{"kind": "Pod", "metadata": {}}, kubernetes(GFD), [], {"kind": "Node"}]
    found = list(read(json.dumps({"items": items}), "k.json"))
    assert [one.record for one in found if isinstance(one, Broken)] == [f"k.json items[{n}]" for n in (0, 2, 3)]
    assert [one.name for one in found if isinstance(one, Node)] == ["n1"]


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("gpu:h100:8(S:0-1)", [{"name": "h100"}] * 8),
        ("gpu:nvidia_a100-sxm4-80gb:1,nvme:2", [{"name": "nvidia a100-sxm4-80gb"}]),
        ("gpu:a100:1(S:0),gpu:v100:1(S:1)", [{"name": "a100"}, {"name": "v100"}]),
        ("gpu:4", None),  # no type: nobody knows which
        ("", []),
    ],
)
def test_a_node_of_slurm(gres, gpus):
    item = {"name": "n1", "architecture": "x86_64", "operating_system": "Linux 6.1.0-26-amd64 #1 SMP", "gres": gres}
    facts = nodes({"meta": {}, "nodes": [item]})["n1"].facts
    assert facts.get("gpus") == gpus
    assert (facts["arch"], facts["kernel"]) == ("x86_64", "6.1.0-26-amd64")


def test_groups_of_sinfo_are_their_nodes():
    groups = [
        {
            "nodes": {"nodes": ["n1", "n2"]},
            "partition": {"name": "gpu"},
            "gres": {"total": "gpu:h100:2(S:0-1)", "used": ""},
        },
        {"nodes": {"nodes": ["n3"]}, "partition": {"name": "cpu"}, "gres": {"total": "", "used": ""}},
        {"nodes": {"total": 4}, "gres": "gpu:a100:4"},
    ]
    found = list(read(json.dumps({"meta": {}, "errors": [], "sinfo": groups}), "s.json"))
    assert {one.name: one.facts for one in found[:3]} == {"n1": H100S, "n2": H100S, "n3": {"gpus": []}}
    assert [one.record for one in found[3:]] == ["s.json sinfo[2]"]


H100S = {"gpus": [{"name": "h100"}] * 2}
DCGM = """\
# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a",modelName="Tesla T4",Hostname="n1",DCGM_FI_DRIVER_VERSION="550.144.03"} 45
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",modelName="Tesla T4",Hostname="n1",DCGM_FI_DRIVER_VERSION="550.144.03"} 9
DCGM_FI_DEV_GPU_TEMP{gpu="1",UUID="GPU-b",modelName="Tesla T4",Hostname="n1",DCGM_FI_DRIVER_VERSION="550.144.03"} 46
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-c",modelName="Tesla T4",Hostname="n2"} 41
"""


def test_series_of_dcgm_count_each_card_once():
    found = nodes(DCGM, "dcgm.prom")
    card = {"name": "Tesla T4", "vendor": "nvidia"}
    assert found["n1"].facts == {"driver": "550.144.03", "gpus": [card, card]}
    assert found["n2"].facts == {"gpus": [card]}


def test_a_query_of_prometheus():
    metric = {"__name__": "DCGM_FI_DEV_GPU_TEMP", "instance": "10.0.0.7:9400", "modelName": "Tesla T4", "gpu": "0"}
    answer = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": metric, "value": [1, "45"]}]}}
    assert nodes(answer)["10.0.0.7"].facts == {"gpus": [{"name": "Tesla T4", "vendor": "nvidia"}]}


def test_our_own_series():
    text = """\
envcheck_ok{node="n1"} 0
envcheck_finding{code="no-driver",severity="error",confidence="certain",node="n1"} 1
envcheck_gpus{name="Tesla T4",target="sm_75",node="n1"} 2
envcheck_host_info{os="debian12",driver="535.54.03",node="n1"} 1
envcheck_checked{node="n2"} 0
envcheck_ok{node="n2"} 0
"""
    found = nodes(text)
    assert found["n1"].findings == (Seen("no-driver", "error"),)
    card = {"name": "Tesla T4", "target": "sm_75"}
    assert found["n1"].facts == {"os": "debian12", "driver": "535.54.03", "gpus": [card, card]}
    assert (found["n2"].findings, found["n2"].checked) == ((), False)


SETUP = {
    "ansible_distribution": "Ubuntu",
    "ansible_distribution_version": "22.04",
    "ansible_kernel": "5.15.0-105-generic",
    "ansible_architecture": "x86_64",
    "ansible_system": "Linux",
}


def test_facts_of_ansible_are_named_by_their_file():
    node = nodes({"ansible_facts": SETUP, "changed": False}, "facts/n1")["n1"]
    told = {"os": "ubuntu22.04", "kernel": "5.15.0-105-generic", "arch": "x86_64", "platform": "linux"}
    assert node.facts == told
    local = {"ansible_local": {"envcheck": {"schema": "envcheck.host/1", "driver": "535.54.03"}}}
    assert nodes({"ansible_facts": SETUP | local}, "n1")["n1"].facts["driver"] == "535.54.03"


DOCTOR = {
    "schema": "envcheck.doctor/1",
    "summary": {"errors": 1, "warnings": 0, "ok": False},
    "findings": [{"code": "no-driver", "severity": "error", "detail": "There is none."}],
    "facts": {"os": "debian12"},
}


def test_results_of_a_play():
    tasks = [
        {"hosts": {"n1": {"stdout": json.dumps(DOCTOR)}, "n2": {"ansible_facts": SETUP}}},
        {"hosts": {"n1": {"changed": True}}},
    ]
    found = nodes({"plays": [{"tasks": tasks}], "stats": {}})
    assert found["n1"].findings == (Seen("no-driver", "error", "There is none."),)
    assert found["n2"].facts["os"] == "ubuntu22.04"


SMI = (Path(__file__).parents[1] / "reading" / "samples" / "nvidia_smi_no_bars.txt").read_text()


def test_a_pasted_report_is_a_node_by_the_name_of_its_file():
    (node,) = read(SMI, "reports/n1.txt")
    assert (node.name, node.facts["driver"], node.findings) == ("n1", "470.57.02", None)


def test_reports_of_several_nodes_are_told_apart_by_the_name_before_each_line():
    other = SMI.replace("470.57.02", "535.104.05")
    both = zip(SMI.splitlines(), other.splitlines(), strict=True)
    lines = [line for a, b in both for line in (f"a: {a}", f"b: {b}")]
    garbled = [f"c: {word}" for word in ("no", "such", "command", "here")]
    a, b, broken = read("\n".join([*lines, *garbled]), "smi.txt")
    assert [(one.name, one.facts["driver"]) for one in (a, b)] == [("a", "470.57.02"), ("b", "535.104.05")]
    assert broken == Broken("smi.txt (c)", "no report of a known program")


def test_a_text_of_which_nothing_is_known_says_what_was_expected():
    (broken,) = read("hello\nworld\n", "notes.txt")
    assert "a report of a known program" in broken.why


def test_lines_with_a_name_before_them_and_a_line_that_was_cut():
    line = json.dumps(DOCTOR)
    text = f"n1: {line}\n\nn2: {line[:40]}\nn3: {json.dumps({**DOCTOR, 'node': 'other'})}\n"
    found = list(read(text, "all.jsonl"))
    assert [one.name for one in found if isinstance(one, Node)] == ["n1", "other"]
    assert [one.record for one in found if isinstance(one, Broken)] == ["all.jsonl:3"]


@pytest.mark.parametrize(
    "text",
    [
        '{"nodes": 7}',
        '{"items": [7]}',
        '{"data": {}}',
        '{"ansible_facts": 3}',
        '{"plays": [{}]}',
        '{"schema": "envcheck.doctor/1"}',
        '{"schema": "other/1"}',
        "[1]",
        "{",
        "n1: {",
        "neither = = nor",
        '{"metadata": {"labels": [1]}}',
        "[" * 10_000,
    ],
)
def test_no_document_breaks_the_reader(text):
    found = list(read(text, "x.json"))
    assert found
    assert all(isinstance(one, Broken) for one in found)
