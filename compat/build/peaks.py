"""What a bench figure is worth: its share of the device's peak, as the matrix has it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compat.build.outcome import Probe
    from compat.matrix.rows import Product

_LOW: Final = {"copy": 0.5, "product": 0.3, "links": 0.0}
# Shares under which a figure is called low. Slices, power caps, laptops and other programs lower figures honestly, so
# the marks are wide and the finding a warning; of a GPU's links a pair may have one, or none, by how they were laid.

_RATES: Final[Mapping[str, str]] = {
    "float32": "fp32_tflops",
    "tf32": "tf32_tflops",
    "float16": "fp16_tflops",
    "bfloat16": "bf16_tflops",
    "float8": "fp8_tflops",
}


def weighed(probes: Iterable[Probe]) -> tuple[Probe, ...]:
    """Bench results with their share of the peak; a low one fails as ``probe-bandwidth-low``.

    Figures of a device that the matrix does not know, or whose peak it does not have, stay as they are.
    """
    found = tuple(probes)
    if not any(item.name.startswith("bench-") for item in found):
        return found
    from compat.matrix import matrix

    known = {product.name: product for product in matrix().table("gpus")}
    return tuple(_weighed(item, known.get(str(item.figures.get("device", "")))) for item in found)


def _weighed(item: Probe, product: Product | None) -> Probe:
    """One result, peak and share beside its figure; what did not pass or has no peak stays as it is."""
    kind, have, peak = _measure(item, product)
    if item.status != "pass" or not (have and peak):
        return item
    share = round(have / peak, 3)
    figures = {**item.figures, "peak": peak, "share": share}
    if share >= _LOW[kind]:
        return replace(item, figures=figures)
    why = f"{have:g} of {peak:g} that the device can do at most"
    return replace(item, status="fail", code="probe-bandwidth-low", why=why, figures=figures)


def _measure(item: Probe, product: Product | None) -> tuple[str, float, float]:
    """Kind, figure and peak; zeros where there is nothing to compare."""
    figures = item.figures
    if ".device_copy" in item.name:
        stated = product.bandwidth_gbs if product else 0
        return "copy", _number(figures.get("gb_per_s")), stated or _number(figures.get("peak_gb_per_s"))
    if ".to_device" in item.name or ".from_device" in item.name:  # its link's, as the kernel tells it
        return "copy", _number(figures.get("gb_per_s")), _number(figures.get("peak_gb_per_s"))
    between = _number(figures.get("slowest")) or _number(figures.get("bus_gb_per_s"))
    if between and product and product.links_gbs:
        return "links", between, product.links_gbs / 2  # a row has both ways together
    format_ = item.name.rpartition("matmul_")[2]
    if product and format_ in _RATES:
        return "product", _number(figures.get("tflops")), float(getattr(product, _RATES[format_]))
    return "copy", 0.0, 0.0


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and value == value else 0.0  # noqa: PLR0124 - NaN
