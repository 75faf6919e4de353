"""Which number formats a device is asked for: what the silicon lacks is a skip with the reason, and no failure."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from compat.build import parcel

sys.path.insert(0, str(parcel.FOLDER))
import reporting
import torch_checks


def fake(*, hip=None, gcn="", has_fp64=True, refusal=""):
    """A torch as far as the choice of formats asks it."""

    def scaled(*_args, **_options):
        raise RuntimeError(refusal)

    return SimpleNamespace(
        version=SimpleNamespace(hip=hip, cuda=None if hip else "12.8"),
        cuda=SimpleNamespace(get_device_properties=lambda _: SimpleNamespace(gcnArchName=gcn)),
        xpu=SimpleNamespace(get_device_properties=lambda _: SimpleNamespace(has_fp64=has_fp64)),
        float8_e4m3fn="e4m3fn",
        float8_e4m3fnuz="e4m3fnuz",
        float64="float64",
        bfloat16="bfloat16",
        _scaled_mm=scaled,
    )


def adapter(torch, device="cuda", capability=(0, 0)):
    found = torch_checks.Torch()
    found.module, found.device, found.capability = torch, device, capability
    return found


def told(torch, kind, device="cuda", capability=(0, 0)):
    try:
        return adapter(torch, device, capability).kind(kind)
    except reporting.Skipped as skip:
        return f"skip: {skip}"


NO_FLOAT8 = "skip: this device or build has no float8 product"


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("gfx942:sramecc+:xnack-", "e4m3fnuz"),  # CDNA 3: MI300X
        ("gfx950", "e4m3fn"),  # CDNA 4
        ("gfx1201", "e4m3fn"),  # RDNA 4
        ("gfx1100", NO_FLOAT8),
        ("gfx90a", NO_FLOAT8),
        ("", NO_FLOAT8),
    ],
)
def test_an_amd_gpu_is_tried_with_the_float8_type_that_it_multiplies(target, kind):
    assert told(fake(hip="6.4", gcn=target), "float8", capability=(9, 4)) == kind


@pytest.mark.parametrize(("capability", "kind"), [((8, 9), "e4m3fn"), ((12, 0), "e4m3fn"), ((8, 6), NO_FLOAT8)])
def test_an_nvidia_gpu_has_float8_from_ada_on(capability, kind):
    assert told(fake(), "float8", capability=capability) == kind


def test_an_intel_gpu_without_float64_is_not_asked_for_it():
    assert told(fake(has_fp64=False), "float64", device="xpu") == "skip: this device has no float64"
    assert told(fake(), "float64", device="xpu") == "float64"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (
            "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, or ROCm MI300+",
            "skip",
        ),
        ("CUDA error: an illegal memory access was encountered", "fail"),
    ],
)
def test_a_build_that_refuses_float8_is_believed_and_another_error_is_not_hidden(text, status):
    report = reporting.Report("torch", lambda _: "probe-failed")
    lines = []
    reporting.say, before = lines.append, reporting.say
    try:
        report.check("float8", adapter(fake(refusal=text)).scaled, None, None, None)
    finally:
        reporting.say = before
    assert lines[-1]["status"] == status
    assert text[:40] in lines[-1]["why"]


def _loaded():
    raise ImportError("libgfortran.so.5: cannot open shared object file")


def _imported():
    try:
        _loaded()
    except ImportError as error:
        raise ImportError("Encountered an error while initializing the extension.") from error


def test_the_cause_of_an_import_error_is_kept():
    report = reporting.Report("jax", lambda text: "library-missing" if "shared object" in text else "probe-failed")
    status, why, code, _ = report._outcome(_imported, ())
    assert (status, code) == ("fail", "library-missing")
    assert "libgfortran.so.5" in why
