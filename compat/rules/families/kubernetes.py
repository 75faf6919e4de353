"""Kubernetes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from compat.rules.rule import Found, Outcome, Rule, family

if TYPE_CHECKING:
    from compat.reading.messages import Hearing


class K8sNoGpuResource(Rule):
    """The pod did not request a GPU.

    Why:
        Device plug-ins inject only what the pod asks for.
    Fix:
        Add resources.limits nvidia.com/gpu: 1 to the container of the pod. AMD's is amd.com/gpu; check the device
        plug-in and the runtime class.
    Sources:
        - https://kubernetes.io/docs/tasks/manage-gpus/scheduling-gpus/
    """

    area = "kubernetes"
    severity = "warning"
    requires = ("container-no-gpu",)
    commands = ("kubectl describe node | grep nvidia.com/gpu",)

    def check(self, container: str, device_nodes: tuple[str, ...], signals: Hearing) -> Outcome:
        """The process runs in Kubernetes, and no GPU device node is there."""
        nodes = [node for node in device_nodes if re.search(r"nvidia\d|kfd|dxg|renderD", node)]
        if container != "kubernetes" or nodes:
            return None
        return Found(detail="No GPU device node is in this pod.", severity="error" if signals.harmful else None)


RULES = family(K8sNoGpuResource)
