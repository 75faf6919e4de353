"""Every command that an answer suggests is typed again, and must do what the answer says of it."""

import json
import shlex

import pytest

from compat import cli

# questions that have no plan; the commands of their fixes are found and tried, not written here
CONFLICTS = {
    "a new card and an old release": ("torch==2.6.0", "--gpu", "RTX 5090", "--driver", "570.26", "--python", "3.12"),
    "an old driver": ("torch==2.9.1", "--gpu", "RTX 3090", "--driver", "470.256.02"),
    "an old driver, three frameworks": ("torch==2.9.1", "jax==0.6.2", "tensorflow==2.19.0", "--driver", "450.80.02"),
    "a Python without wheels": ("torch==2.9.1", "--python", "3.8", "--gpu", "A100"),
    "a Python too new": ("tensorflow==2.12.0", "--python", "3.13", "--gpu", "A100", "--driver", "525.85.12"),
    "a runtime that was not built": ("torch==2.9.1", "--cuda", "11.8", "--gpu", "A100"),
    "a runtime of ROCm that was not built": ("torch==2.9.1", "--rocm", "5.7", "--gpu", "MI300X"),
    "an old card and a newer runtime": ("torch==2.9.1", "--gpu", "K80", "--cuda", "12.8"),
    "a system with an old C library": ("torch==2.9.1", "--os", "ubuntu18.04", "--gpu", "A100"),
    "a system with musl": ("torch==2.9.1", "--os", "alpine3.20", "--gpu", "A100"),
    "a companion of another release": ("torch==2.9.1", "torchvision==0.19.0", "--gpu", "A100"),
    "a shared dependency": ("tensorflow==2.12.0", "numpy>=2", "--gpu", "A100", "--driver", "525.85.12"),
    "Windows without GPU builds": ("tensorflow==2.11.0", "--os", "windows11", "--driver", "570.65"),
    "a machine of another kind": ("torch==2.0.1", "--arch", "aarch64", "--gpu", "GH200", "--driver", "550.54.14"),
    "CPU builds of another machine": ("tensorflow==2.8.0", "--cpu", "--arch", "aarch64"),
    "two vendors": ("torch==2.9.1", "--gpu", "A10", "--gpu", "Radeon PRO W7900"),
    "two generations": ("torch==2.9.1", "--gpu", "GTX 1080 Ti", "--gpu", "RTX 5090", "--driver", "580.65.06"),
    "two cuDNNs": ("torch==2.0.1", "tensorflow==2.16.1", "--gpu", "A100", "--cuda", "11.7"),
    "an extra": ("jax[cuda12]==0.4.30", "--gpu", "RTX 3090", "--driver", "470.57.02"),
    "a driver too new": ("torch==2.9.1", "--gpu", "V100", "--driver", "590.48.01"),
    "a distribution": ("paddlepaddle-gpu==2.5.0", "--gpu", "A100", "--python", "3.12"),
}
MANNERS = {
    "resolve": ("resolve",),
    "resolve, smallest": ("resolve", "--prefer", "smallest", "--explain"),
    "dockerfile": ("dockerfile", "--apt", "git"),
}
OVERLAY = """
schema = "envcheck.matrix/1"

[[builds.torch]]
versions = "2.9.1+mine"
runtime = "cuda11.8"
python = "3.8"
platforms = "linux_x86_64"
glibc = "2.17"
kernels = "sm_80"
cuda_from = "wheel"
source = "us"
how = "measured"

[sources]
us = "Our pipeline"
"""


def typed(command, *question):
    """A question in the words of a command."""
    return (command[0], *question, *command[1:])


def suggested(text):
    """The commands in an answer that is written for people."""
    lines = (line.removeprefix("envcheck: ").strip() for line in text.splitlines())
    return [shlex.split(line[2:]) for line in lines if line.startswith("$ envcheck ")]


@pytest.mark.parametrize("manner", MANNERS.values(), ids=MANNERS)
@pytest.mark.parametrize("question", CONFLICTS.values(), ids=CONFLICTS)
def test_every_suggested_command_succeeds_and_is_the_one_that_was_typed(envcheck, question, manner):
    code, out, err = envcheck(*typed(manner, *question))
    if "windows11" in question and manner[0] == "dockerfile":
        assert (code, out) == (2, "")
        assert "no containers" in err
        return
    assert code == 1
    commands = suggested(out + err)
    assert commands
    for words in commands:
        assert words[:2] == ["envcheck", manner[0]]
        assert " ".join(manner[1:]) in " ".join(words)
        code, out, err = envcheck(*words[1:])
        assert (code, bool(out)) == (0, True), (words, err)


@pytest.mark.parametrize("question", CONFLICTS.values(), ids=CONFLICTS)
def test_a_suggested_command_gives_the_plan_that_the_fix_tells_of(envcheck, question):
    code, out, _ = envcheck("resolve", *question, "--format", "json")
    assert code == 1
    for fix in json.loads(out)["fixes"]:
        if not fix["command"]:
            continue
        code, again, err = envcheck(*shlex.split(fix["command"])[1:])
        assert code == 0, (fix["command"], err)
        plan, told = json.loads(again)["plan"], fix["plans"][0]
        assert plan["arch"] == told["arch"]
        changed = {name: value for name, value in fix["changes"].items() if name not in {"gpu", "driver", "cpu"}}
        versions = {build["name"]: build["version"] for build in plan["builds"]}
        versions |= {build["module"]: build["version"] for build in plan["builds"]}
        for name, value in changed.items():
            found = {"python": plan["python"], "runtime": plan["runtime"], "arch": plan["arch"]}.get(name)
            found = found or versions.get(name)
            assert found in {value, None} or value == "any", fix
        if fix["changes"].get("cpu"):
            assert all(build["runtime"] in {"cpu", ""} for build in plan["builds"])


def test_a_fix_keeps_the_matrix_the_hosts_and_the_preference_of_the_question(envcheck, tmp_path):
    """Without the overlay the suggested release would not exist, without the host the question would be another."""
    overlay, host = tmp_path / "my rows.toml", tmp_path / "host.toml"
    overlay.write_text(OVERLAY)
    host.write_text('python = "3.8"\nglibc = "2.31"\ngpus = [{ name = "NVIDIA A100" }]\ndriver = "535.54.03"\n')
    rest = ["--host", str(host), "--prefer", "stable", "--matrix", str(overlay)]
    code, out, _ = envcheck("resolve", "torch==2.9.1+cu128", *rest)
    assert code == 1
    commands = suggested(out)
    assert any("torch==2.9.1+mine" in words for words in commands)
    for words in commands:
        assert words[-6:] == rest
        assert cli.run(words[1:]) == 0


def test_each_of_several_hosts_keeps_its_file_in_its_fixes(envcheck, tmp_path):
    files = []
    for name, gpu in (("a", "RTX 5090"), ("b", "A100")):
        files.append(tmp_path / f"{name}.toml")
        files[-1].write_text(f'gpus = [{{ name = "{gpu}" }}]\ndriver = "570.26"\narch = "x86_64"\n')
    code, out, _ = envcheck("resolve", "torch==2.6.0", "--host", str(files[0]), "--host", str(files[1]))
    assert code == 1
    commands = suggested(out)
    assert commands
    for words in commands:
        assert str(files[0]) in words
        assert str(files[1]) not in words
        assert envcheck(*words[1:])[0] == 0
