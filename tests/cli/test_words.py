"""One way to say a thing: requirements stand alone, files come behind -r, and nothing that was typed is dropped."""

import json
import re
import shlex

import pytest

from compat.app.elsewhere import with_another_gpu
from compat.asking import written
from compat.facts import Fact, Host
from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

CARD = ("--gpu", "A100", "--driver", "535.54.03")


def planned(envcheck, *words):
    code, out, err = envcheck("resolve", *words, "--format", "json")
    assert code == 0, err
    return json.loads(out)["plan"]


@pytest.mark.parametrize("form", ["plain", "factory"])
def test_a_requirement_alone_and_behind_its_option_is_the_same(envcheck, form):
    alone = envcheck("dockerfile", "torch==2.0.1", *CARD, "--form", form)
    assert alone == envcheck("dockerfile", "--framework", "torch==2.0.1", *CARD, "--form", form)
    assert alone[0] == 0


def test_a_file_of_requirements_is_planned_and_the_rest_of_it_installed_beside(envcheck, tmp_path):
    file = tmp_path / "needs.txt"
    file.write_text("torch==2.0.1\nflask==3.0.0\n")
    code, text, _ = envcheck("dockerfile", "-r", str(file), *CARD)
    assert code == 0
    assert "torch==2.0.1+cu118" in text
    assert " flask==3.0.0 " in text
    assert [build["name"] for build in planned(envcheck, "-r", str(file), *CARD)["builds"]] == ["torch"]
    file.write_text("# nothing yet\n")
    assert envcheck("resolve", "-r", str(file), *CARD)[0] == 2


def test_an_environment_of_conda_is_planned_and_loses_no_package(envcheck, tmp_path):
    file = tmp_path / "environment.yml"
    file.write_text("dependencies: [python=3.10, pytorch=2.0.1, pip, {pip: [flask==3.0.0]}]\n")
    code, text, err = envcheck("dockerfile", "-r", str(file), *CARD)
    assert code == 0
    assert "torch==2.0.1+cu118" in text
    assert " flask==3.0.0 " in text
    assert "names Python 3.10, which only --python asks for" in err
    file.write_text(
        "channels: [bioconda]\ndependencies: [pytorch=2.0.1, rdkit >=2024, typing_extensions, blas=*=mkl]\n"
    )
    code, _, err = envcheck("resolve", "-r", str(file), *CARD)
    assert code == 2
    assert "packages of conda's, which a plan does not install: rdkit, typing-extensions, blas; expected" in err
    (command,) = re.findall("`envcheck (.*)`", err)
    code, text, _ = envcheck(*command.split(), "-r", str(file), "--conda", "gdal", *CARD)
    assert code == 0
    (asked,) = re.findall(r"micromamba create (.*?) &&", " ".join(text.replace("\\\n", " ").split()))
    assert shlex.split(asked)[3:] == [
        *("--channel", "bioconda", f"python={text.partition('Python ')[2][:4].rstrip(',')}", "pip"),
        *("blas=*=mkl", "gdal", "rdkit >=2024", "typing_extensions"),
    ]
    file.write_text("dependencies: [gdal]\n")  # a file of nothing but conda's
    code, text, _ = envcheck("dockerfile", "torch==2.0.1", "-r", str(file), *CARD)
    assert (code, text.count(" gdal")) == (0, 1)
    file.write_text("dependencies: [pytorch=2.0.1, pytorch-cuda=11.8]\n")  # the plan chooses it
    code, _, err = envcheck("dockerfile", "-r", str(file), *CARD)
    assert code == 2
    assert "which a plan does not install: pytorch-cuda; expected" in err


@pytest.mark.parametrize(
    "words",
    [
        ("dockerfile", "torch", "requirements.txt"),
        ("resolve", "environment.yml"),
        ("doctor", "./needs"),
        ("ci", "requirements.txt"),
        ("dockerfile", "torch", "--requirement", "requirements.txt"),
        ("build", "torch", "--cpu", "--requirement", "./requirements.in"),
    ],
)
def test_a_file_in_place_of_a_requirement_is_refused_with_the_option_that_reads_it(envcheck, words):
    code, out, err = envcheck(*words)
    assert (code, out) == (2, "")
    assert f"read it with -r {words[-1]}" in err


def test_one_equals_sign_is_refused_with_two(envcheck):
    code, _, err = envcheck("resolve", "torch[x]=2.5")
    assert code == 2
    assert "did you mean torch[x]==2.5?" in err


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("doctor", "--error=a", "--error", "b"), "--error"),
        (("resolve", "torch", "--driver", "535.54.03", "--driver", "470.57.02"), "--driver"),
        (("lint", "Dockerfile", "-f", "json", "--format", "text"), "--format"),
    ],
)
def test_a_second_value_of_an_option_that_takes_one_is_refused(envcheck, words, option):
    code, out, err = envcheck(*words)
    assert (code, out) == (2, "")
    assert f"{option}: given twice" in err


def test_a_value_that_looks_like_an_option_is_a_value(envcheck):
    code, out, _ = envcheck("doctor", "--error", "--log", "--log", "/dev/null", "--format", "json")
    assert (code, json.loads(out)["summary"]["ok"]) == (3, None)


@pytest.mark.parametrize(
    ("typed", "name", "target"),
    [
        ("7900xtx", "Radeon RX 7900 XTX", "gfx1100"),
        ("3090ti", "GeForce RTX 3090 Ti", "sm_86"),
        ("4070super", "GeForce RTX 4070 SUPER", "sm_89"),
        ("sm89", "sm_89", "sm_89"),
        ("SM_90", "sm_90", "sm_90"),
    ],
)
def test_a_gpu_is_understood_as_people_write_it(envcheck, typed, name, target):
    (gpu,) = planned(envcheck, "torch", "--gpu", typed)["gpus"]
    assert gpu["name"].endswith(name)
    assert gpu["target"] == target


def test_several_gpus_in_one_word_are_several(envcheck):
    gpus = planned(envcheck, "torch", "--gpu", "4090,3090")["gpus"]
    assert [gpu["target"] for gpu in gpus] == ["sm_89", "sm_86"]


@pytest.mark.parametrize("typed", ["cu126", "cuda12.6", "12.6"])
def test_a_runtime_is_understood_as_indexes_spell_it(envcheck, typed):
    assert planned(envcheck, "torch", "--gpu", "A100", "--cuda", typed)["runtime"] == "cuda12.6"


@pytest.mark.parametrize("command", ["dockerfile", "ci"])
def test_an_image_does_not_depend_on_the_machine_that_writes_it(envcheck, monkeypatch, command):
    from compat.app import hosts

    def refuse(*_given, **_more):
        raise AssertionError("this machine was looked at")

    monkeypatch.setattr(hosts, "this_machine", refuse)
    code, text, _ = envcheck(command, "torch==2.0.1")
    assert code == 0
    if command == "dockerfile":
        head = text.partition("FROM")[0]
        assert "450.80.02 or newer" in head
        assert "sm_80" in head
        with pytest.raises(AssertionError):
            envcheck(command, "torch==2.0.1", "--host", "this")


@pytest.mark.parametrize("wish", ["torch==2.0.1", "vllm", "jax[cuda12]"])
def test_without_a_gpu_here_the_first_way_out_names_one_and_works(envcheck, wish):
    known = matrix()
    machine = Host({"gpus": Fact((), "/sys"), "platform": Fact("linux", "/sys"), "arch": Fact("x86_64", "uname")})
    answer = written(with_another_gpu(resolve([wish], machine, known), [wish], machine, known))
    words = answer.fixes[0].command
    assert " --gpu " in words
    import shlex

    assert envcheck(*shlex.split(words)[1:])[0] == 0


@pytest.mark.parametrize(
    ("wishes", "python", "first"),
    [
        (["torch"], "3.12", "resolve torch --python 3.12 --gpu"),
        (["torch==2.2.0", "numpy>=2"], "", "resolve torch==2.2.0 'numpy<2' --arch x86_64"),
        (["tensorflow==2.18"], "3.13", "resolve tensorflow==2.20.0 --python 3.13 --arch x86_64"),
    ],
)
def test_without_a_gpu_here_what_clashes_anywhere_is_mended_and_the_python_that_was_asked_for_stays(
    envcheck, wishes, python, first
):
    known = matrix()
    facts = {"gpus": Fact((), "/sys"), "platform": Fact("linux", "/sys"), "arch": Fact("x86_64", "uname")}
    facts |= {"python": Fact(python, "--python", option=True)} if python else {"python": Fact("3.11", "runs envcheck")}
    machine = Host(facts)
    answer = written(with_another_gpu(resolve(wishes, machine, known), wishes, machine, known))
    words = answer.fixes[0].command
    assert words.startswith(f"envcheck {first}")
    import shlex

    assert envcheck(*shlex.split(words)[1:])[0] == 0


def test_a_machine_with_a_gpu_is_not_told_of_another_one():
    known = matrix()
    machine = from_options(known, gpus=["RTX 5090"])
    answer = resolve(["torch==2.0.1"], machine, known)
    assert answer.status == "conflict"
    assert with_another_gpu(answer, ["torch==2.0.1"], machine, known) is answer
