"""What a new user types, and what is answered: the next words to type stand in the answer."""

import json

import pytest


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("resolve", "torch=2.5", "--cpu"), 2, "did you mean torch==2.5"),
        (("resolve", "torhc", "--cpu"), 2, "did you mean torch"),
        (("resolve", "torch", "--gpu", "cu121"), 2, "--cuda cu121"),
        (("resolve", "torch", "--gpu", "ROCm6.2"), 2, "--rocm ROCm6.2"),
        (("resolve", "torch", "--gpu", "rtx 4900"), 2, "did you mean"),
        (("doctor", "--gpu", "4090"), 2, "envcheck resolve REQ --gpu NAME"),
        (("doctor", "torch", "--driver", "535"), 2, "--host FILE"),
        (("doctor", "--error", "a", "--error", "b"), 2, "given twice"),
        (("doctor", "--report", "-", "--report", "-"), 2, "only once"),
        (("doctor", "--report", "empty.txt"), 3, ""),
        (("lint", "empty.txt"), 3, ""),
        (("lint", "."), 3, "no Dockerfile"),
    ],
)
def test_a_slip_is_answered_with_what_to_type(envcheck, tmp_path, monkeypatch, words, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text("")
    got, _, err = envcheck(*words)
    assert got == code
    assert said in err


@pytest.mark.parametrize(
    ("gpu", "target"),
    [
        ("7900xtx", "gfx1100"),
        ("3090ti", "sm_86"),
        ("4090,3090", "sm_89 sm_86"),
        ("sm89", "sm_89"),
        ("RTX 4090", "sm_89"),
    ],
)
def test_a_gpu_is_known_as_people_type_it(envcheck, gpu, target):
    code, out, _ = envcheck("resolve", "torch", "--gpu", gpu, "--format", "json")
    assert code == 0
    assert [item["target"] for item in json.loads(out)["plan"]["gpus"]] == target.split()


def test_the_example_gpu_is_one_that_shops_sell(envcheck, monkeypatch):
    from compat.app import hosts
    from compat.facts import Fact, Host

    monkeypatch.setattr(
        hosts, "this_machine", lambda *_, **__: Host({"gpus": Fact((), "bus"), "arch": Fact("x86_64", "")})
    )
    code, out, _ = envcheck("resolve", "torch")
    assert code == 1
    assert "$ envcheck resolve torch --gpu 'NVIDIA GeForce RTX" in out


def test_a_tag_that_never_was_is_answered_with_the_one_that_is(envcheck, tmp_path):
    path = tmp_path / "Dockerfile"
    path.write_text("FROM nvidia/cuda:12.1-runtime-ubuntu22.04\n")
    out = envcheck("lint", str(path))[1]
    assert "Take nvidia/cuda:12.1.1-runtime-ubuntu22.04." in out


def test_no_tick_for_a_gpu_build_where_there_is_no_gpu(envcheck, host_file):
    told = '[packages]\ntorch = "2.9.1"\n[builds.torch]\nruntime = "cuda12.8"\n'
    head = 'platform = "linux"\narch = "x86_64"\ncontainer = "docker"\n'
    out = envcheck("doctor", "--host", host_file(head + "gpus = []\n" + told))[1]
    assert "✗" in out or "!" in out
    assert "is a GPU build\n" not in out
    out = envcheck("doctor", "--host", host_file(head + 'gpus = [{name = "RTX 4090"}]\n' + told))[1]
    assert "✓ torch 2.9.1 (cuda12.8) is a GPU build\n" in out


def test_one_cause_is_one_clash_though_several_packages_meet_it(envcheck, host_file):
    bare = host_file('os = "ubuntu22.04"\ngpus = []\n')
    code, out, _ = envcheck("resolve", "torch", "torchvision", "--host", bare)
    assert code == 1
    assert "Clash 2" not in out
    assert "The same holds for torchvision." in out
