"""The same image for Compose, development containers and Apptainer: read back by their own rules, and by our readers."""

import json
import re
import shlex
import subprocess
import sys

import pytest
import yaml

from compat import sources
from compat.dockerfile import Settings, elsewhere, write
from compat.errors import InputError

PLANS = ["torch_cuda", "torch_rocm", "torch_xpu", "torch_uv", "torch_jetson", "jax_cpu", "torch_rocky"]


@pytest.mark.parametrize("name", PLANS)
def test_compose_reads_its_file_and_hands_the_devices_in(plans, tmp_path, name):
    pytest.importorskip("check_jsonschema")
    text = elsewhere.compose(plans[name], Settings())
    path = tmp_path / "compose.yaml"
    path.write_text(text)
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    service = yaml.safe_load(text)["services"]["app"]
    assert service["build"] == "."
    nodes = {"torch_rocm": ["/dev/kfd", "/dev/dri"], "torch_xpu": ["/dev/dri"]}.get(name, [])
    assert service.get("devices", []) == nodes
    assert bool(service.get("group_add")) == bool(nodes)
    assert ("deploy" in service) == (name in {"torch_cuda", "torch_uv", "torch_rocky"})
    assert len(sources.read(text, "compose.yaml").services) == 1
    assert (service.get("runtime") == "nvidia") == (name == "torch_jetson")


@pytest.mark.parametrize("name", PLANS)
def test_a_development_container_builds_the_dockerfile_beside_it(plans, name):
    text = elsewhere.devcontainer(plans[name], Settings())
    document = json.loads(text)
    assert document["build"] == {"dockerfile": "Dockerfile"}
    wanted = {"torch_rocm": "--device=/dev/kfd", "torch_xpu": "--device=/dev/dri", "torch_jetson": "--runtime=nvidia"}
    assert wanted.get(name, "--gpus=all") in [*document["runArgs"], *(["--gpus=all"] if name == "jax_cpu" else [])]
    assert (name == "jax_cpu") == (document["runArgs"] == [])
    assert sources.read(text, ".devcontainer/devcontainer.json").files == ("Dockerfile",)


def sections(text):
    """Section -> its lines, of the last stage of a definition file, by Apptainer's "Definition Files"."""
    found, name = {"": []}, ""
    for line in text.split("\n"):
        if line.startswith("%"):
            name = line[1:].split()[0]
            found[name] = []
        elif line.startswith("Bootstrap:") and name:
            raise AssertionError("a section stands before the last stage")
        else:
            found[name].append(line)
    return found


@pytest.mark.parametrize("name", PLANS)
def test_a_definition_file_does_what_the_dockerfile_does(plans, parsed, tmp_path, name):
    plan = plans[name]
    settings = Settings(files=(("src", "/app/src"),), env={"A": "it's $x"}, command=("python", "-m", "app"))
    found = sections(elsewhere.apptainer(plan, settings))
    heads = dict(line.split(": ", 1) for line in found[""] if ": " in line and not line.startswith("#"))
    assert heads["Bootstrap"] == "docker"
    assert heads["From"] == plan.base_image.image
    post = "\n".join(found["post"])
    done = subprocess.run(["sh", "-n"], input=post, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert shlex.split(found["post"][0]) == ["set", "-eu"]
    said = " ".join(post.replace("\\\n", " ").split())
    for keyword, rest in parsed(write(plan, settings)):
        for command in re.split(r" +&& ", re.sub(r"--mount=\S+ +", "", rest)) if keyword == "RUN" else ():
            theirs = command.startswith(("useradd", "install --directory"))  # it runs as the caller
            assert (" ".join(command.split()) in said) != theirs
    assert "    src /app/src" in found["files"]
    environment = subprocess.run(
        ["sh", "-c", "\n".join([*found["environment"], 'printf %s "$A"'])], capture_output=True, text=True
    )
    assert environment.stdout == "it's $x"
    assert shlex.split(found["runscript"][0]) == ["exec", "python", "-m", "app", "$@"]
    assert any(line.startswith("    dev.envcheck.versions python==") for line in found["labels"])


def test_what_signs_a_repository_is_there_before_it_is_read(plans):
    post = "\n".join(sections(elsewhere.apptainer(plans["torch_xpu"], Settings()))["post"])
    order = [
        post.index(word) for word in ("ca-certificates curl", "--output /etc/apt/keyrings", "vendor.list", "libze1")
    ]
    assert order == sorted(order)


def test_uv_comes_from_its_own_stage(plans):
    text = elsewhere.apptainer(plans["torch_uv"], Settings(installer="uv"))
    assert text.startswith("Bootstrap: docker\nFrom: ghcr.io/astral-sh/uv:")
    assert "%files from uv\n    /uv /usr/local/bin/uv\n" in text


@pytest.mark.parametrize("wish", [{"compile": ("flash-attn",)}, {"secrets": ("netrc",)}])
def test_what_has_no_counterpart_is_refused(plan, wish):
    with pytest.raises(InputError, match="counterpart"):
        elsewhere.apptainer(plan, Settings(**wish))


def test_the_formats_are_written_by_the_command(tmp_path, capsys):
    from compat import cli

    words = ["dockerfile", "torch==2.9.1", "--gpu", "H100", "--output", str(tmp_path / "out")]
    for name, mark in (("compose", "services:"), ("devcontainer", '"runArgs"'), ("apptainer", "%post")):
        assert cli.run([*words, "--format", name]) == 0
        assert mark in (tmp_path / "out").read_text()
    assert cli.run([*words, "--format", "helm"]) == 2
    capsys.readouterr()
