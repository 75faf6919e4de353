"""The plain form: short enough to read at once, and as exact as the other in what it installs and refuses."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from compat.build.verification import planned
from compat.dockerfile import Settings, labels, write
from compat.matrix import matrix
from compat.plan import digest
from compat.resolve import resolve
from compat.resolve.target import from_options

PLANS = sorted(path.stem for path in (Path(__file__).parent / "plans").glob("*.json"))
every_plan = pytest.mark.parametrize("plan", PLANS, indirect=True)
both_builders = pytest.mark.parametrize("builder", ["buildkit", "classic"])


@every_plan
@both_builders
def test_it_has_at_most_forty_lines_and_one_stage(plan, builder, parsed):
    text = write(plan, Settings(builder=builder))
    assert len(text.splitlines()) <= 40
    assert [rest for keyword, rest in parsed(text) if keyword == "FROM"] == [plan.base_image.image]
    assert ("USER", "10001:10001") in parsed(text)


@every_plan
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_each_build_is_pinned_in_a_call_with_its_own_index_alone(plan, installer, parsed):
    step = next(rest for keyword, rest in parsed(write(plan, Settings(installer=installer))) if "pip install" in rest)
    calls = [call.replace("'", "") for call in step.split("&&") if "pip install" in call]
    for build in plan.builds:
        (call,) = [call for call in calls if f" {build.requirement}" in call]
        assert "extra-index-url" not in call
        assert call.count("http") == bool(build.index)
        assert build.index in call


@every_plan
def test_its_labels_tell_verify_what_was_planned(plan, parsed, unquoted):
    found = unquoted(next(rest for keyword, rest in parsed(write(plan)) if keyword == "LABEL"))
    told = planned(found, {"x86_64": "amd64", "aarch64": "arm64"}[plan.arch])
    assert (told.runtime, told.python, told.versions()) == (plan.runtime, plan.python, plan.versions())
    assert told.archs == (plan.arch,)
    assert found["dev.envcheck.digest"] == digest(plan)


@pytest.mark.parametrize("missing", ["dev.envcheck.runtime", "dev.envcheck.versions"])
def test_half_a_set_of_labels_is_no_plan(missing):
    whole = {"dev.envcheck.runtime": "cpu", "dev.envcheck.versions": "python==3.11 jax==0.4.30"}
    assert planned(whole, "amd64").builds[0].module == "jax"
    assert planned({key: text for key, text in whole.items() if key != missing}, "amd64") is None
    assert planned({**whole, "dev.envcheck.versions": "jax 0.4.30"}, "amd64") is None


@every_plan
def test_the_builder_puts_the_whole_plan_in_place_of_its_digest(plan):
    assert planned(labels(plan)) == replace(plan, choices=(), conditions=())


def test_the_digest_is_of_what_is_built_and_not_of_its_reasons(plan):
    assert digest(plan) == digest(replace(plan, conditions=("assumed",), choices=()))
    assert digest(plan) != digest(replace(plan, python="3.9"))


def _checked(text, folder, **module):
    """Run the check of a Dockerfile against a torch that says this of itself."""
    (folder / "torch.py").write_text(
        f"class version: cuda = {module['cuda']!r}; hip = None; xpu = None\n__version__ = {module['version']!r}\n"
    )
    line = next(line for line in text.splitlines() if 'python -c "import torch' in line)
    command = line.removeprefix(" && ").replace("python ", f"{sys.executable} ", 1)
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(["sh", "-c", command], env=env, check=False, capture_output=True).returncode


def test_the_check_stops_the_build_for_another_version_and_for_another_runtime(plan, tmp_path):
    version, cuda = plan.builds[0].version, plan.runtime.removeprefix("cuda")
    text = write(plan)
    assert _checked(text, tmp_path, version=version, cuda=cuda) == 0
    assert _checked(text, tmp_path, version=version.partition("+")[0], cuda=cuda) == 0
    assert _checked(text, tmp_path, version=version, cuda=None) == 1
    assert _checked(text, tmp_path, version="9.9.9", cuda=cuda) == 1
    assert "import torch" not in write(plan, Settings(import_check=False))


@pytest.mark.parametrize(
    ("asked", "plugin"),
    [
        (("jax==0.6.0", "A100"), "jax_cuda12_plugin"),
        (("jax==0.8.0", "RTX 5090"), "jax_cuda13_plugin"),
        (("jax==0.12.0", "MI300X"), "jax_rocm10_plugin"),
    ],
    ids=["cuda12", "cuda13", "rocm"],
)
def test_jax_without_the_plugin_that_was_planned_stops_the_build(asked, plugin, tmp_path):
    wish, gpu = asked
    known = matrix()
    answer = resolve([wish], from_options(known, gpus=(gpu,), arch="x86_64"), known)
    (tmp_path / "jax.py").write_text(f"__version__ = {answer.plan.builds[0].version!r}\n")
    line = next(line for line in write(answer.plan).splitlines() if 'python -c "import jax' in line)
    command = [sys.executable, "-c", line.partition('"')[2].rpartition('"')[0]]
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    assert subprocess.run(command, env=env, check=False, capture_output=True).returncode == 1
    (tmp_path / plugin).mkdir()
    assert subprocess.run(command, env=env, check=False).returncode == 0


def test_bytecode_is_compiled_unless_told_otherwise(plan):
    assert "--no-compile" not in write(plan)
    assert "--no-compile" in write(plan, Settings(bytecode=False))
    assert "--compile-bytecode" in write(plan, Settings(installer="uv"))


def test_what_has_to_be_compiled_takes_the_form_with_stages(plan, parsed):
    stages = [
        rest for keyword, rest in parsed(write(plan, Settings(compile=("flash-attn==2.5.8",)))) if keyword == "FROM"
    ]
    assert len(stages) > 1


def test_further_requirements_come_from_the_default_index_and_move_no_build(plan, parsed):
    step = next(
        rest for keyword, rest in parsed(write(plan, Settings(requirements=("rich",)))) if "pip install" in rest
    )
    call = next(call for call in step.split("&&") if " rich" in call)
    assert plan.builds[0].index not in call
    assert f" {plan.builds[0].requirement}" in call
