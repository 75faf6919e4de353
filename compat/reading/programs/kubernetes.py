"""Kubernetes' word on its nodes: ``kubectl describe node``, ``kubectl get nodes -o wide``, and a node as YAML.

::

    Labels:             kubernetes.io/arch=amd64
                        nvidia.com/cuda.driver-version.full=535.104.05
                        nvidia.com/gpu.count=8
                        nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB
    System Info:
      Kernel Version:             5.15.0-91-generic
      OS Image:                   Ubuntu 22.04.3 LTS

    NAME   STATUS   VERSION   OS-IMAGE             KERNEL-VERSION       CONTAINER-RUNTIME
    node   Ready    v1.19.0   Ubuntu 18.04.4 LTS   4.15.0-117-generic   docker://19.3.12

The labels are GPU feature discovery's (NVIDIA/k8s-device-plugin, internal/lm): its "cuda.runtime" is the CUDA version
that the driver supports, and in a product's name it sets dashes for blanks. A label with two values is two nodes', so
it states nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
import compat.reading.values as values
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program
from compat.reading.systems import architecture

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from compat.reading.program import View

_MARKS: Final = ("os image", "osimage", "kubelet version", "kubeletversion", "container runtime version",
                 "containerruntimeversion")  # fmt: skip
_NEEDLES: Final = ("nvidia.com/gpu", "nvidia.com/cuda", "kubernetes.io/arch", "kubernetes.io/os", "OS-IMAGE ")
_LABEL = re.compile(
    r"(?<![\w./-])(?:nvidia\.com/((?:gpu|cuda)\.[\w.-]{1,40})|(?:beta\.)?kubernetes\.io/(arch)"
    r"|cloud\.google\.com/(gke-accelerator))\"?\s{0,3}[=:]\s{0,3}\"?([\w.-]{1,80})"
)
_SHARED = re.compile(r"(?:-SHARED|-MIG-[\w.]+)+$")
# The dashes that NVIDIA's own names have; the others were blanks: A100-SXM4-80GB, but H100 80GB HBM3.
_DASHES = re.compile(r"-(?!(?:SXM\d?|PCIE)\b|(?<=SXM\d-)\d+GB|(?<=PCIE-)\d+GB)")
# Rows of a table of nodes that are read.
NODES: Final = 100


def _nodes(view: View) -> Iterator[Claim]:
    """The labels of a node, and rows of a table of nodes."""
    yield from _labels(view)
    for index, line in view.lines("OS-IMAGE "):
        for row, text in view.span(index + 1, index + 1 + NODES):
            if not text.strip():
                break
            yield from view.stamp(row, _row(line, text))


def _row(head: str, text: str) -> Iterator[Claim]:
    """One node's system and kernel; no cell of such a table is empty, so a row has as many as the head."""
    words, cells = (re.split(r"\s{2,}", line.strip()) for line in (head, text))
    if len(words) == len(cells):
        row = dict(zip(words, cells, strict=True))
        yield from values.system_claims(row.get("OS-IMAGE", ""))
        if re.match(r"\d+\.\d+\.\d+", row.get("KERNEL-VERSION", "")):
            yield from values.kernel_claims(row["KERNEL-VERSION"])


def stated(labels: Mapping[str, str]) -> Iterator[Claim]:
    """What the labels of one node state, by their full names."""
    found = (_LABEL.fullmatch(f"{name}={value}") for name, value in labels.items())
    known = {one[1] or one[2] or one[3]: one[4] for one in found if one}
    for _, claims in _told(known):
        yield from claims


def _labels(view: View) -> Iterator[Claim]:
    """What the labels say, those with one value on the whole page."""
    said: dict[str, set[str]] = {}
    first: dict[str, int] = {}
    for needle in ("nvidia.com/", "kubernetes.io/arch", "gke-accelerator"):
        for index, line in view.lines(needle):
            for product, arch, cloud, value in _LABEL.findall(line):
                name = product or arch or cloud
                said.setdefault(name, set()).add(value)
                first.setdefault(name, index)
    known = {name: min(found) for name, found in said.items() if len(found) == 1}
    for names, claims in _told(known):
        index = next((first[name] for name in names if name in first), 0)
        yield from view.stamp(index, claims)


def _told(known: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], Iterator[Claim]]]:
    """What labels state, each with the labels that it may come from."""
    yield ("arch",), _arch(known)
    driver = _number("driver", known, "cuda.driver", ("rev", "revision"))
    yield ("cuda.driver-version.full", "cuda.driver.major"), driver
    yield ("cuda.runtime-version.full", "cuda.runtime.major"), _number("driver_cuda", known, "cuda.runtime", ())
    yield ("gpu.product", "gke-accelerator"), _cards(known)
    yield ("gpu.sharing-strategy", "gpu.replicas"), _sharing(known)


def _arch(known: Mapping[str, str]) -> Iterator[Claim]:
    """The processor's architecture, in Go's words."""
    if arch := architecture(known.get("arch", "")):
        yield Claim("arch", arch, weight=Weight.LISTED)


def _number(fact: str, known: Mapping[str, str], stem: str, tails: tuple[str, ...]) -> Iterator[Claim]:
    """A version that has a label, or a label per part: major and minor, and for drivers a revision or none."""
    parts = [known.get(f"{stem}.{tail}", "") for tail in ("major", "minor", *tails[:1])]
    whole = known.get(f"{stem}-version.full") or (parts[0] and ".".join(part for part in parts if part))
    if re.fullmatch(r"\d+(?:\.\d+){1,2}", whole):
        yield Claim(fact, whole, weight=Weight.LISTED)


def _sharing(known: Mapping[str, str]) -> Iterator[Claim]:
    """How a GPU is shared; before there was a label for the way (release 0.15), it was by time slices."""
    replicas, way = known.get("gpu.replicas", ""), known.get("gpu.sharing-strategy", "time-slicing")
    if replicas.isdigit() and len(replicas) < 6 and int(replicas) > 1 and way in {"time-slicing", "mps"}:
        yield Claim("gpu_sharing", f"{way} {replicas}", weight=Weight.LISTED)


def _cards(known: Mapping[str, str]) -> Iterator[Claim]:
    """The node's cards; slices of one card are counted instead of cards, so such a count says nothing."""
    product = known.get("gpu.product", "")
    name = _DASHES.sub(" ", _SHARED.sub("", product)) or known.get("gke-accelerator", "").replace("-", " ")
    target = devices.capability(f"{known.get('gpu.compute.major', '')}.{known.get('gpu.compute.minor', '')}")
    gpu = devices.device(name, target=target, vendor="nvidia")
    count = known.get("gpu.count", "1") if "-MIG-" not in product else "1"
    for _ in range(min(int(count), devices.MOST) if gpu and count.isdigit() else 0):
        yield Claim("gpus", gpu, weight=Weight.LISTED)


PROGRAM: Final = Program(
    name="kubernetes",
    labels={
        "os image": values.system,
        "osimage": values.system,
        "kernel version": values.kernel,
        "kernelversion": values.kernel,
        "architecture": values.arch(),
    },
    marks=_MARKS,
    phrases=_NEEDLES,
    beyond=_nodes,
    alone=True,
)
