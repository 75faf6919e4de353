"""Kubernetes manifests, as written or as Helm prints them: each container's image, GPUs, environment and node.

Sources: Kubernetes documentation, "Schedule GPUs" (``nvidia.com/gpu``, ``amd.com/gpu``), "Assigning Pods to Nodes";
NVIDIA GPU feature discovery (label ``nvidia.com/gpu.product``); Google Kubernetes Engine (``gke-accelerator``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from compat.sources import installers, shell
from compat.sources.compose import words
from compat.sources.documents import Located, read_documents
from compat.sources.values import Ask, Service, Stage, number_of_gpus

# Resources of device plug-ins, and whose GPUs they give.
_RESOURCE: Final = re.compile(r"(nvidia|amd)\.com/(?:gpu|mig-.*)(?:\.shared)?")
# The resource of before device plug-ins (Kubernetes 1.11, change log: "accelerators" feature removed).
_WITHDRAWN: Final = "alpha.kubernetes.io/nvidia-gpu"
_PRODUCTS: Final = frozenset(
    ["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "amd.com/gpu.product-name", "accelerator"]
)
_FIRST: Final = ("CUDA_VISIBLE_DEVICES", "0")  # the first of those that the plug-in gives: right for one
_POD: Final = 6  # tables between a document and the pod that it describes


def read(text: str, file: str) -> Ask:
    """What the pods of a manifest ask for: one stage for each container, with its image as the base.

    Raises:
        InputError: if it is not YAML; a chart's template is none before Helm has filled it in.
    """
    pods = [pod for document in read_documents(text, file) for pod in _pods(document, 0)]
    containers = [
        (each, tuple(dict.fromkeys(_products(pod))), pod.get("runtimeClassName").text)
        for pod in pods
        for kind in ("initContainers", "containers")
        for each in pod.get(kind).items()
    ]
    return Ask(
        file=file,
        kind="kubernetes",
        stages=tuple(replace(_stage(each), gpus=gpus) for each, gpus, _ in containers if each.get("image").text),
        services=tuple(replace(_service(each), gpus=gpus, runtime=runtime) for each, gpus, runtime in containers),
        gpu=any(_vendor(each) for each, _, _ in containers),
        gpus=tuple(dict.fromkeys(name for _, gpus, _ in containers for name in gpus)),
    )


def _pods(document: Located, depth: int) -> Iterator[Located]:
    """The pod specifications below a document: of a pod, a deployment, a job, a cron job, an operator's own kind."""
    if document.get("containers").items():
        yield document
    elif depth < _POD:
        for item in document.table().values():
            yield from _pods(item, depth + 1)
        for item in document.items() if isinstance(document.value, list) else ():
            yield from _pods(item, depth + 1)


def _products(pod: Located) -> Iterator[str]:
    """The GPU that the nodes of a pod must have, by the labels that say it."""
    for key, item in pod.get("nodeSelector").table().items():
        if key in _PRODUCTS and item.text:
            yield _gpu(item.text)
    required = pod.get("affinity").get("nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    for term in required.get("nodeSelectorTerms").items():
        for rule in term.get("matchExpressions").items():
            if rule.get("key").text in _PRODUCTS and rule.get("operator").text == "In":
                yield from (_gpu(item.text) for item in rule.get("values").items())


def _gpu(label: str) -> str:
    """A label's value as the GPU's name: ``NVIDIA-A100-SXM4-80GB`` and ``nvidia-tesla-t4`` name it with dashes."""
    return re.sub(r"^(?:nvidia|amd)[ -](?:tesla[ -])?", "", label.replace("-", " "), flags=re.IGNORECASE)


def _vendor(container: Located) -> str:
    """Whose GPUs a container asks for; empty if none."""
    return next((found[1] for key in _resources(container) if (found := _RESOURCE.fullmatch(key))), "")


def _resources(container: Located) -> dict[str, Located]:
    """The resources that a container asks for."""
    asked = container.get("resources")
    return {**asked.get("requests").table(), **asked.get("limits").table()}


def _stage(container: Located) -> Stage:
    """A container: its image, and what its own command installs before it starts."""
    image = container.get("image")
    starts = shell.started(words(container.get("command")), words(container.get("args")))
    env = _environment(container)
    return Stage(
        name=container.get("name").text,
        base=image.text,
        written=image.text,
        line=image.line,
        installs=installers.of_container(starts),
        env={key: item.text for key, item in env.items()},
        env_lines={key: item.line for key, item in env.items()},
        vendor=_vendor(container),
        starts=starts,
    )


def _environment(container: Located) -> dict[str, Located]:
    """The variables with a value of their own, with their lines."""
    return {item.get("name").text: item.get("value") for item in container.get("env").items() if item.get("value").text}


def _service(container: Located) -> Service:
    """The devices that a container's variables fix, which the device plug-in numbers anew, and whether it gets any.

    A resource with a maker's name before a slash is a device plug-in's, whatever it calls a GPU or a part of one.
    """
    env = {key: item for key, item in _environment(container).items() if (key, item.text) != _FIRST}
    fixed = next((item.line for key, item in env.items() if key.endswith("VISIBLE_DEVICES")), container.line)
    asked = _resources(container)
    private = container.get("securityContext").get("privileged").text == "true"
    claims = container.get("resources").get("claims").items()
    gone, counts = asked.get(_WITHDRAWN), [item.text for key, item in asked.items() if _RESOURCE.fullmatch(key)]
    return Service(
        name=container.get("name").text,
        image=container.get("image").text,
        image_line=container.get("image").line,
        gpu=bool(private or claims or any("/" in name for name in asked)),
        env={key: item.text for key, item in env.items()},
        env_lines={key: item.line for key, item in env.items()},
        line=container.line,
        device_line=fixed,
        starts=shell.started(words(container.get("command")), words(container.get("args"))),
        given=number_of_gpus(counts[0]) if len(counts) == 1 else 0,
        withdrawn=_WITHDRAWN if gone else "",
        resource_line=gone.line if gone else 0,
    )
