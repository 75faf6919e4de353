"""Images of every framework, built from real wheels by a real engine and verified in a confined container."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from factory import Settings

from compat import dockerfile
from compat.build import verify
from compat.plan import Answer, PlannedBuild, dump

crossed = pytest.mark.large("other tests build by each builder and with each installer")
BUILDERS = [
    pytest.param({"builder": "buildkit", "installer": "pip"}, id="buildkit-pip", marks=crossed),
    pytest.param({"builder": "classic", "installer": "pip"}, id="classic-pip", marks=crossed),
    pytest.param({"builder": "buildkit", "installer": "uv"}, id="buildkit-uv"),
    pytest.param({"builder": "classic", "installer": "uv"}, id="classic-uv", marks=crossed),
]


def statuses(result):
    return {probe.name: probe.status for probe in result.probes}


@pytest.mark.parametrize("how", BUILDERS)
def test_jax_builds_and_computes(made, slim, jax, how, client, tmp_path):
    built = made(slim(jax), "jax", wish=Settings(**how))
    assert built.ok, built.why
    result = verify(built.tag)
    assert result.ok, result.findings
    found = statuses(result)
    assert found["jax.matmul_float32"] == found["jax.convolution"] == found["jax.compile"] == "pass"
    assert found["driver.load"] == "skip"
    config = client.images.get(built.tag).attrs["Config"]
    assert config["User"] == "10001:10001"
    assert config["Labels"]["org.opencontainers.image.title"] == "jax 0.10.2"
    stored = tmp_path / "plan.json"
    stored.write_text(json.dumps(dump(Answer(status="plan", plan=slim(jax)))))
    as_planned = ["verify", built.tag, "--plan", str(stored), "--level", "driver", "--format", "json"]
    status, said = answer(as_planned)
    assert (status, {probe["name"] for probe in said["probes"] if probe["status"] == "pass"}) == (
        0, {"plan.python", "plan.machine", "plan.packages"}
    )  # fmt: skip
    stored.write_text(json.dumps(dump(Answer(status="plan", plan=slim(replace(jax, version="0.9.0", pins=()))))))
    status, said = answer(as_planned)
    assert (status, [finding["code"] for finding in said["findings"]]) == (1, ["image-not-as-planned"])
    assert "jax is 0.10.2, planned 0.9.0" in said["findings"][0]["detail"]


def answer(words):
    """Exit status and document of a command."""
    done = subprocess.run([sys.executable, "-m", "compat", *words], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_torch_comes_from_the_index_that_is_named(made, slim, index):
    """PyTorch's own index is played by one on loopback; the plan's index is an argument, so a mirror can stand in."""
    url = index("torch==2.13.0+cpu")
    torch = PlannedBuild(
        name="torch", version="2.13.0+cpu", runtime="cpu", index="https://download.pytorch.org/whl/cpu", module="torch"
    )
    built = made(slim(torch), "torch", build_args={"TORCH_INDEX": url})
    assert built.ok, built.why
    result = verify(built.tag, timeout=300)
    assert result.ok, result.findings
    found = statuses(result)
    assert found["torch.matmul_float64"] == found["torch.training"] == "pass"
    assert found["torch.compile"] == "skip"  # no compiler was asked for, and the image has none


large = pytest.mark.large("large wheels")
FRAMEWORKS = {
    "jax": PlannedBuild(name="jax", version="0.10.2", runtime="cpu", pins=("jaxlib==0.10.2",), module="jax"),
    "torch": PlannedBuild(name="torch", version="2.13.0+cpu", runtime="cpu", module="torch"),
    "tensorflow": PlannedBuild(name="tensorflow-cpu", version="2.21.0", runtime="cpu", module="tensorflow"),
    "paddle": PlannedBuild(name="paddlepaddle", version="3.3.1", runtime="cpu", module="paddle"),
}


@pytest.mark.parametrize(
    ("framework", "form"),
    [
        pytest.param(name, form, marks=() if (name, form) == ("jax", "plain") else large)
        for name in FRAMEWORKS
        for form in ("plain", "factory")
    ],
)
def test_both_forms_of_every_framework_build_and_compute(made, slim, index, framework, form, usual_builder):
    build = FRAMEWORKS[framework]
    if "+" in build.version:  # not on the package index
        build = replace(build, index=index(f"{build.name}=={build.version}"))
    built = made(slim(build), f"{framework}-{form}", wish=dockerfile.Settings(form=form, builder=usual_builder))
    assert built.ok, built.why
    result = verify(built.tag, timeout=300)
    assert result.ok, result.findings
    assert statuses(result)[f"{build.module}.matmul_float32"] == "pass"
