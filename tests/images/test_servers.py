"""Images that serve, and images that compile: what starts, and what a compiler is told."""

import json
import shlex
from dataclasses import replace

import pytest

from compat.dockerfile import Settings, notes, write
from compat.errors import InputError
from compat.plan import GpuVerdict, PlannedBuild

FORMS = ["plain", "factory"]


def with_build(plan, name, version, module=""):
    build = PlannedBuild(name=name, version=version, runtime=plan.runtime, module=module or name)
    return replace(plan, builds=(*plan.builds, build))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "version", "program", "port"),
    [
        ("vllm", "0.11.0", ["vllm", "serve"], 8000),
        ("vllm", "0.5.3", ["python", "-m", "vllm.entrypoints.openai.api_server"], 8000),
        ("sglang", "0.5.3", ["python", "-m", "sglang.launch_server", "--host", "0.0.0.0"], 30000),
    ],
)
def test_a_server_is_started_asked_and_keeps_its_models(plan, parsed, unquoted, form, name, version, program, port):
    text = write(with_build(plan, name, version), Settings(form=form))
    steps = parsed(text)
    found = dict(steps[[keyword for keyword, _ in steps].index("LABEL") :])
    assert json.loads(found["ENTRYPOINT"]) == program
    assert json.loads(found["CMD"]) == ["--help"]
    assert found["EXPOSE"] == str(port)
    assert 'HF_HOME="/models"' in text
    variables = {key: value for keyword, rest in steps if keyword == "ENV" for key, value in unquoted(rest).items()}
    assert variables["HF_HOME"] == "/models"
    options, _, check = found["HEALTHCHECK"].partition("CMD ")
    assert "--start-period" in options  # a model is loaded before the first answer
    compile(json.loads(check)[-1], "check", "exec")
    assert f":{port}/health" in check
    owned = [rest for keyword, rest in steps if keyword == "RUN" and "--owner=app" in rest]
    assert len(owned) == 1
    assert "/models" in owned[0]
    line = next(line for line in text.split("\n") if "docker run" in line)
    assert f"-p {port}:{port} -v models:/models IMAGE" in line


@pytest.mark.parametrize("mine", [{"entrypoint": ("serve",)}, {"command": ("python", "x.py")}])
def test_who_starts_something_else_gets_no_server(plan, parsed, mine):
    found = dict(parsed(write(with_build(plan, "vllm", "0.11.0"), Settings(**mine))))
    assert "EXPOSE" not in found
    assert found["HEALTHCHECK"] == "NONE"


def test_an_image_that_serves_has_at_most_forty_lines(plan):
    plan = replace(plan, builds=plan.builds[:1], constraints=())
    assert len(write(with_build(plan, "vllm", "0.11.0")).splitlines()) <= 40


@pytest.mark.parametrize("form", FORMS)
def test_a_compiler_is_there_where_it_was_asked_for_and_said_to_lack_where_not(plans, parsed, form):
    for name, compiler in (("torch_cuda", "gcc"), ("jax_cpu", "g++")):
        plan = plans[name]
        assert compiler not in write(plan, Settings(form=form)).split()
        (installing,) = [
            rest
            for keyword, rest in parsed(write(plan, Settings(form=form, compiler=True)))
            if keyword == "RUN" and compiler in rest.split()
        ]
        assert "apt-get install" in installing
    torch, jax = plans["torch_cuda"], plans["jax_cpu"]
    assert any("--compiler" in note for note in notes(torch, Settings()))
    assert notes(torch, Settings(compiler=True)) == notes(jax, Settings()) == ()
    assert notes(with_build(torch, "vllm", "0.11.0"), Settings()) == ()  # it brings one by itself
    old = replace(torch, builds=tuple(replace(build, version="1.13.1") for build in torch.builds))
    assert notes(old, Settings()) == ()  # torch.compile came with 2.0


def arguments(text):
    """The build arguments of the stage that compiles."""
    stage = text.split(" AS compile\n")[1].split("\nFROM ")[0]
    return dict(
        shlex.split(line[4:])[0].split("=", 1) for line in stage.split("\n") if line.startswith("ARG ") and "=" in line
    )


def test_each_package_is_told_the_devices_in_its_own_words(plan):
    gpus = tuple(GpuVerdict(name=target, target=target, kernels="native") for target in ("sm_80", "sm_89", "sm_120"))
    made = replace(plan, gpus=gpus)
    told = arguments(write(made, Settings(compile=("flash-attn==2.8.3",))))
    assert told["TORCH_CUDA_ARCH_LIST"] == "8.0;8.9;12.0"
    assert told["FLASH_ATTN_CUDA_ARCHS"] == "80;120"  # one for each major: code for 8.0 runs on 8.9
    assert told["FLASH_ATTENTION_FORCE_BUILD"] == "TRUE"
    assert int(told["MAX_JOBS"]) > 0
    assert int(told["NVCC_THREADS"]) > 0
    other = arguments(write(made, Settings(compile=("xformers==0.0.32",))))
    assert not any(name.startswith("FLASH") for name in other)
    spelled = arguments(write(made, Settings(compile=("Flash_Attn",))))
    assert "FLASH_ATTN_CUDA_ARCHS" in spelled


@pytest.mark.parametrize("form", FORMS)
def test_amds_compilers_are_told_the_devices_and_come_from_an_image_that_is_named(plans, form):
    """AMD's plans stand on a plain Ubuntu, whose toolkit has no other flavour that could be taken by itself."""
    with pytest.raises(InputError, match="no image with compilers is known beside ubuntu") as told:
        write(plans["torch_rocm"], Settings(form=form, compile=("flash-attn==2.8.3",)))
    assert "devel_image" in told.value.hint
    devel = "rocm/dev-ubuntu-24.04:6.2-complete"
    text = write(plans["torch_rocm"], Settings(form=form, compile=("flash-attn==2.8.3",), devel_image=devel))
    assert f"\nARG DEVEL={devel}\n" in text
    told, archs = arguments(text), "gfx90a;gfx1031;gfx1030"  # of the second the plan runs the code for the third
    assert (told["PYTORCH_ROCM_ARCH"], told["GPU_ARCHS"]) == (archs, archs)  # flash-attn asks the machine without it
    assert (told["MAX_JOBS"], told["FLASH_ATTENTION_FORCE_BUILD"]) == ("4", "TRUE")
    assert not any("CUDA" in key or "NVCC" in key for key in told)
