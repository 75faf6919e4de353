"""The words of frameworks beside a failed probe: their meaning is told, and a cause only where there is no other."""

from __future__ import annotations

import pytest

from compat.build import heard, outcome
from compat.build.outcome import Probe

# As jax 0.6.2 with its CUDA 12 plug-in, tensorflow 2.21.0 and paddlepaddle-gpu 2.6.2 wrote them without a driver.
SAID = {
    "jax": ["    raise RuntimeError(err_msg) from e", "RuntimeError: Unable to load CUDA. Is it installed?"],
    "tensorflow": [
        (
            "I0000 00:00:1795313142.495514   30858 cudart_stub.cc:31] Could not find cuda drivers on your machine, "
            "GPU will not be used."
        )
    ],
    "paddle": [
        (
            "W1122 02:06:03.749815 31151 dynamic_loader.cc:314] The third-party dynamic library (libcudnn.so) that Paddle "
            "depends on is not configured correctly. (error code is /usr/local/cuda/lib64/libcudnn.so: cannot open shared "
            "object file: No such file or directory)"
        )
    ],
}


@pytest.mark.parametrize(
    ("framework", "meaning"),
    [
        ("jax", "JAX's CUDA plug-in could not load its libraries"),
        ("tensorflow", "TensorFlow could not load the CUDA runtime library"),
        ("paddle", "Paddle finds no such CUDA library"),
    ],
)
def test_a_fallback_is_told_with_what_the_framework_said_of_it(framework, meaning):
    probe = Probe(f"{framework}.device", "fail", "it sees no GPU", {"stderr": SAID[framework]}, "probe-cpu-fallback")
    (told,) = heard.explained([probe])
    assert (told.code, told.why) == ("probe-cpu-fallback", f"it sees no GPU ({meaning})")
    assert meaning in outcome.findings([told], "this machine")[0].detail


@pytest.mark.parametrize(
    ("why", "code"),
    [
        # as jax 0.4.13 said it with NumPy 2.2
        ("AttributeError: `np.issubsctype` was removed in the NumPy 2.0 release.", "framework-pair-mismatch"),
        # two causes are known for it, and nothing here decides
        ("Cannot dlopen some GPU libraries.", "probe-failed"),
        # words that may mean anything
        ("ImportError: cannot import name 'x' from 'y'", "probe-failed"),
        ("RuntimeError: nobody knows this", "probe-failed"),
        ("", "probe-failed"),
    ],
)
def test_a_cause_is_named_only_where_there_is_no_other(why, code):
    (told,) = heard.explained([Probe("jax.import", "fail", why, {}, "probe-failed")])
    assert told.code == code
    assert told.why.startswith(why)


@pytest.mark.parametrize("status", ["pass", "skip"])
def test_what_did_not_fail_is_left_alone(status):
    probe = Probe("jax.device", status, "Unable to load CUDA. Is it installed?", {}, "")
    assert heard.explained([probe]) == (probe,)


def test_a_failure_whose_cause_its_probe_knows_is_left_alone():
    probe = Probe("jax.device", "fail", "Unable to load CUDA. Is it installed?", {}, "out-of-memory")
    assert heard.explained([probe]) == (probe,)


@pytest.mark.parametrize("stderr", ["text", 7, None, [1, {"a": 2}], ["x" * 10_000_000], [["deep"]]])
def test_what_an_image_writes_in_place_of_the_lines_does_no_harm(stderr):
    probe = Probe("jax.device", "fail", "it sees no GPU", {"stderr": stderr}, "probe-cpu-fallback")
    assert heard.explained([probe]) == (probe,)
