"""Builds that fail where they should, told by the step; and forms beyond the plain one. The wheels are hand-made."""

from __future__ import annotations

from dataclasses import replace

import pytest
from factory import Settings

from compat.build import build_image
from compat.errors import CannotCheckError, InputError
from compat.plan import GpuVerdict

GOOD = "import types\nversion = types.SimpleNamespace(cuda='11.8', hip=None)\n"
other = pytest.mark.large("cheaper tests build by each builder")
both = pytest.mark.parametrize("builder", ["buildkit", "classic"])
buildkit_first = pytest.mark.parametrize("builder", ["buildkit", pytest.param("classic", marks=other)])
classic_first = pytest.mark.parametrize("builder", [pytest.param("buildkit", marks=other), "classic"])


@pytest.fixture
def cuda(slim, torch):
    return slim(torch, runtime="cuda11.8", gpus=(GpuVerdict(name="A100", target="sm_80", kernels="native"),))


@both
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_private_index_and_a_lock_with_hashes(made, cuda, shelf, builder, installer, tmp_path):
    digest = shelf.add("torch", "2.0.1+cu118", GOOD)
    url = shelf.open()
    (tmp_path / "lock.txt").write_text(f"torch==2.0.1+cu118 --hash=sha256:{digest}\n")
    wish = Settings(builder=builder, installer=installer, lock="lock.txt")
    built = made(cuda, "lock", wish=wish, build_args={"TORCH_INDEX": url})
    assert built.ok, built.why
    (tmp_path / "lock.txt").write_text(f"torch==2.0.1+cu118 --hash=sha256:{'0' * 64}\n")
    built = made(cuda, "lock", wish=wish, build_args={"TORCH_INDEX": url})
    assert not built.ok
    assert "hash" in built.why.lower()


@both
def test_a_cpu_wheel_in_disguise_stops_the_build(made, cuda, shelf, builder):
    shelf.add("torch", "2.0.1+cu118", GOOD.replace("'11.8'", "None"))
    built = made(cuda, "disguise", wish=Settings(builder=builder), build_args={"TORCH_INDEX": shelf.open()})
    assert not built.ok
    assert "torch was built for cpu, planned cuda11.8" in built.why


@both
def test_a_version_that_the_index_lacks_is_named_with_its_step(made, cuda, shelf, builder):
    shelf.add("torch", "2.1.0+cu118", GOOD)
    built = made(cuda, "lacks", wish=Settings(builder=builder), build_args={"TORCH_INDEX": shelf.open()})
    assert not built.ok
    assert "RUN" in built.step
    assert "2.0.1+cu118" in built.why


@both
def test_a_dependency_cannot_pull_the_framework_away(made, cuda, shelf, default_index, builder):
    """A later step wants another torch: the constraints refuse instead of replacing the planned build."""
    shelf.add("torch", "2.0.1+cu118", GOOD)
    default_index.add("torch", "2.5.0", GOOD)
    default_index.add("greedy", "1.0", requires=["torch>=2.5"])
    wish = Settings(builder=builder, requirements=("greedy==1.0",))
    args = {"TORCH_INDEX": shelf.open(), "PIP_INDEX_URL": default_index.url}
    built = made(cuda, "greedy", wish=wish, build_args=args)
    assert not built.ok
    assert "greedy 1.0 depends on torch>=2.5" in built.why


@buildkit_first
def test_a_second_copy_of_cuda_in_the_base_stops_the_build(made, cuda, shelf, builder, client, tmp_path):
    text = "FROM python:3.11-slim\nRUN mkdir -p /usr/local/cuda/lib64 && touch /usr/local/cuda/lib64/libcublas.so.11\n"
    assert build_image(text, tag="envcheck-test/double-base", context=tmp_path, builder="classic").ok
    shelf.add("torch", "2.0.1+cu118", GOOD)
    plan = replace(cuda, base_image=replace(cuda.base_image, image="envcheck-test/double-base"))
    plan = replace(plan, builds=tuple(replace(item, cuda_from="") for item in plan.builds))
    built = made(plan, "double", wish=Settings(builder=builder), build_args={"TORCH_INDEX": shelf.open()})
    client.images.remove("envcheck-test/double-base", force=True)
    assert not built.ok
    assert "1 copies of the GPU toolkit, planned 0: /usr/local/cuda/lib64/libcublas.so.11" in built.why


def test_a_base_with_another_python_fails_at_the_first_step(made, cuda, base):
    base("debian:12")
    image = replace(cuda.base_image, image="debian:12", python_from="distribution")
    built = made(replace(cuda, python="3.9", base_image=image), "python")
    assert not built.ok
    assert "python3.9" in built.why


@both
def test_a_full_disk_is_told_with_the_step_that_met_it(base, builder, usual_builder, tmp_path):
    base("python:3.11-slim")
    if builder != usual_builder == "classic":
        pytest.skip("Podman's API has no BuildKit")
    text = "FROM python:3.11-slim\nRUN true\nRUN cat /dev/zero > /dev/full\n"
    built = build_image(text, tag="envcheck-test/full", context=tmp_path, builder=builder, network="host")
    assert not built.ok
    assert "RUN cat /dev/zero > /dev/full" in built.step
    assert "No space left on device" in built.why


def test_a_base_that_does_not_exist_is_named(made, cuda):
    built = made(replace(cuda, base_image=replace(cuda.base_image, image="localhost:9/none:1")), "base")
    assert not built.ok
    assert "localhost:9" in built.log


@buildkit_first
def test_the_distributions_python_serves_a_cuda_base(made, cuda, shelf, builder, base, client):
    """NVIDIA's base has no Python: ours installs it, where copies of the tutorials' form fail at once."""
    base("nvidia/cuda:12.6.3-base-ubuntu22.04")
    shelf.add("torch", "2.0.1+cu118", GOOD)
    image = replace(cuda.base_image, image="nvidia/cuda:12.6.3-base-ubuntu22.04", python_from="distribution")
    wish = Settings(builder=builder, env={"ODD": 'a"b$HOME\\c `id`'}, command=("python", "-c", "print('$HOME')"))
    built = made(replace(cuda, base_image=image), "base", wish=wish, build_args={"TORCH_INDEX": shelf.open()})
    assert built.ok, built.why
    out = client.containers.run(built.tag, remove=True, network_mode="none")
    assert out == b"$HOME\n"
    words = ["sh", "-c", 'id -u; printf "%s\\n" "$ODD"; command -v pip || echo no pip; ls /opt']
    lines = client.containers.run(built.tag, words, remove=True, network_mode="none").decode().splitlines()
    assert lines[:3] == ["10001", 'a"b$HOME\\c `id`', "no pip"]
    assert "venv" in lines


@classic_first
def test_files_and_requirements_of_the_context_arrive(made, cuda, shelf, default_index, builder, client, tmp_path):
    shelf.add("torch", "2.0.1+cu118", GOOD)
    default_index.add("tool", "1.5", "VALUE = 7\n")
    args = {"TORCH_INDEX": shelf.open(), "PIP_INDEX_URL": default_index.url}
    (tmp_path / "requirements.txt").write_text("tool==1.5\n")
    (tmp_path / "app.py").write_text("import os, tool\nprint(tool.VALUE, os.getuid(), os.stat(__file__).st_uid)\n")
    wish = Settings(
        builder=builder,
        requirements_file="requirements.txt",
        files=(("app.py", "/app/app.py"),),
        command=("python", "/app/app.py"),
        user=2345,
    )
    built = made(cuda, "files", wish=wish, build_args=args)
    assert built.ok, built.why
    assert client.containers.run(built.tag, remove=True, network_mode="none") == b"7 2345 2345\n"


def test_no_client_with_the_wanted_builder_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotCheckError, match="no docker command"):
        build_image("FROM x\n", tag="t", context=tmp_path)


@pytest.mark.parametrize(("tag", "context"), [("Upper", "."), ("a b", "."), ("ok", "/nowhere/at/all"), ("-x", ".")])
def test_a_name_or_folder_that_cannot_be_used_is_refused(tag, context):
    with pytest.raises(InputError):
        build_image("FROM x\n", tag=tag, context=context)
