"""NVIDIA's metrics exporter: what its samples say of GPUs beside their figures.

::

    DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-6...",pci_bus_id="00000000:07:00.0",device="nvidia0",
        modelName="NVIDIA A100-SXM4-80GB",Hostname="n1",DCGM_FI_DRIVER_VERSION="535.104.05"} 139

Source: NVIDIA/dcgm-exporter, internal/pkg/rendermetrics. A scrape of several nodes names several hosts, so it states
nothing.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.reading.devices as devices
from compat.reading.claims import Claim, Weight
from compat.reading.program import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.reading.program import View

_SAMPLE = re.compile(r"\s*(?:DCGM_FI_\w+|nvidia_\w+)\{([^}]{1,1000})\}")
_TAG = re.compile(r'(\w+)="([^"]{0,120})"')


def facts(view: View) -> Iterator[Claim]:
    """Each GPU once, and the driver."""
    samples = [
        (index, dict(_TAG.findall(found[1])))
        for index, text in view.lines("DCGM_FI_")
        if (found := _SAMPLE.match(text))
    ]
    if len({tags.get("Hostname", "") for _, tags in samples}) != 1:
        return
    seen: set[str] = set()
    for index, tags in samples:
        key = tags.get("gpu", "")
        gpu = devices.device(tags.get("modelName", ""), vendor="nvidia")
        if gpu and key not in seen:
            seen.add(key)
            yield from view.stamp(index, [Claim("gpus", replace(gpu, bus=tags.get("pci_bus_id", "")), key=key)])
        if version := tags.get("DCGM_FI_DRIVER_VERSION"):
            yield from view.stamp(index, [Claim("driver", version, weight=Weight.RUNNING)])


PROGRAM: Final = Program(name="DCGM exporter", phrases=("DCGM_FI_",), beyond=facts)
