"""``kubectl get nodes -o json``: labels of GPU feature discovery, of clouds and of AMD's node labeller; the system.

Sources: NVIDIA/k8s-device-plugin, internal/lm (labels); ROCm/k8s-device-plugin, cmd/k8s-node-labeller; GKE, "Run GPUs
in GKE Standard node pools"; Karpenter, "Well-known labels"; Kubernetes, NodeSystemInfo, "Well-Known Labels".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from compat import facts
from compat.fleet.records import Node, Record, each
from compat.reading import devices, values
from compat.reading.programs.kubernetes import stated
from compat.survey import Broken

# Label of a product's name -> label of how many there are, or the resource of that many.
_PRODUCTS: Final = {
    "karpenter.k8s.aws/instance-gpu-name": "karpenter.k8s.aws/instance-gpu-count",
    "eks.amazonaws.com/instance-gpu-name": "eks.amazonaws.com/instance-gpu-count",
    "amd.com/gpu.product-name": "amd.com/gpu",
    "amd.com/gpu.device-id": "amd.com/gpu",  # the node labeller names no product of a virtual function
}

# The labels that are read; others differ from node to node.
_TELLING: Final = (
    "nvidia.com/gpu.", "nvidia.com/cuda.", "amd.com/gpu.", "kubernetes.io/arch", "beta.kubernetes.io/arch",
    "cloud.google.com/gke-accelerator", "karpenter.k8s.aws/instance-gpu-", "eks.amazonaws.com/instance-gpu-",
)  # fmt: skip

# The label of the instance type, since Kubernetes 1.17 and before.
_INSTANCE: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_KIND: Final = re.compile(rf"(?:{'|'.join(_INSTANCE)})(?:=|: )\"?([\w.-]{{1,80}})")
_NAME: Final = re.compile(r"^(?:Name: {1,40}|  name: )([\w.-]{1,253})$", re.MULTILINE)
_RUNTIME: Final = re.compile(r"\b(?:containerd|docker|cri-o)://\d+\.\d")  # each form has one for each node


def nodes(document: Mapping[str, Any], name: str, place: str) -> Iterator[Record]:
    """The nodes of a list; what is no node is broken."""
    return each(document, "items", place, lambda item, where: node(item, name, where))


def node(document: Mapping[str, Any], name: str, place: str) -> Iterator[Record]:
    """One node.

    Raises:
        ValueError: if it is another kind of object.
    """
    if document.get("kind", "Node") != "Node":
        raise ValueError(f"kind {document['kind']!r:.60}")
    labels, status = document["metadata"].get("labels", {}), document.get("status", {})
    told = {str(key): str(value) for key, value in labels.items() if key.startswith(_TELLING)}
    capacity = {key: str(status.get("capacity", {}).get(key, "")) for key in ("nvidia.com/gpu", "amd.com/gpu")}
    info = status.get("nodeInfo", {})
    system = str(info.get("osImage", "")), str(info.get("kernelVersion", ""))
    found = _facts(tuple(sorted(told.items())), tuple(capacity.items()), *system)
    kind = next((str(labels[key]) for key in _INSTANCE if key in labels), "")
    yield Node(name=document["metadata"].get("name", name), place=place, facts=found, instance=kind)


def described(node: Node, text: str) -> Record:
    """The node of ``kubectl describe node`` or of one node as YAML, with its name and instance type."""
    if len(_RUNTIME.findall(text)) > 1:
        return Broken(node.place, "several nodes in one text: give `kubectl get nodes -o json`")
    name, kind = _NAME.search(text), _KIND.search(text)
    return replace(node, name=name[1] if name else node.name, instance=kind[1] if kind else "")


@lru_cache(maxsize=1024)
def _facts(
    told: tuple[tuple[str, str], ...], capacity: tuple[tuple[str, str], ...], image: str, kernel: str
) -> Mapping[str, Any]:
    """The facts that labels, numbers of devices and the system's names state; nodes that are alike are read once."""
    labels, counts = dict(told), dict(capacity)
    if counts["nvidia.com/gpu"]:
        labels.setdefault("nvidia.com/gpu.count", counts["nvidia.com/gpu"])  # GKE's labels name a product, no number
    found: dict[str, Any] = {}
    for claim in (*values.system_claims(image), *(values.kernel_claims(kernel) if kernel else ()), *stated(labels)):
        if claim.fact == "gpus":
            found.setdefault("gpus", []).append(facts.plain(claim.value))
        else:
            found[claim.fact] = claim.value
    if driver := labels.get("amd.com/gpu.driver-version"):
        found["amdgpu"] = driver
    if "gpus" not in found and (gpus := _by_product(labels, counts)):
        found["gpus"] = gpus
    return found


def _by_product(labels: Mapping[str, str], capacity: Mapping[str, str]) -> list[dict[str, str]]:
    """GPUs by the labels of a cloud or of AMD; none where there is no such label."""
    for label, counted in _PRODUCTS.items():
        if product := labels.get(label):
            count = str(labels.get(counted, capacity.get(counted, "1")))
            vendor = "amd" if label.startswith("amd.") else "nvidia"
            one = {} if label.endswith("-id") else {"name": product.replace("-", " ").replace("_", " ")}
            one["vendor"] = vendor
            if vendor == "amd" and (device := labels.get("amd.com/gpu.device-id")):
                one["pci"] = f"1002:{device}"
            return [one] * min(int(count) if count.isdecimal() else 1, devices.MOST)
    return []
