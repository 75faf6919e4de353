"""Nodes with many GPUs of a kind: each is told, the kind is judged, and nothing is said twice."""

import json

import pytest
from steps import calls

from compat.app import hosts
from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.knowledge import Knowledge
from compat.resolve.read_situation import situation
from compat.resolve.request import read
from compat.resolve.search import Search

REAL = matrix()
A100, T4, H100 = "NVIDIA A100-SXM4-80GB", "Tesla T4", "NVIDIA H100 80GB HBM3"


def node(tmp_path, *names, driver="550.54.14"):
    path = tmp_path / "node.json"
    gpus = [{"name": name} for name in names]
    path.write_text(json.dumps({"gpus": gpus, "driver": driver, "arch": "x86_64", "platform": "linux"}))
    return hosts.from_file(str(path), REAL)


def but_gpus(answer):
    return {name: getattr(answer.plan, name) for name in ("runtime", "python", "base_image", "builds", "driver", "env")}


@pytest.mark.parametrize("wish", ["torch", "torch==2.0.1", "jax", "tensorflow==2.15.0"])
def test_eight_of_a_kind_get_the_plan_of_one(tmp_path, wish):
    one, eight = (resolve([wish], node(tmp_path, *[A100] * count), REAL) for count in (1, 8))
    assert but_gpus(eight) == but_gpus(one)
    assert eight.plan.gpus == one.plan.gpus * 8
    assert eight.plan.conditions == one.plan.conditions


def test_each_gpu_is_told_in_the_order_of_the_host(tmp_path):
    names = [T4, A100, T4, T4, A100]
    assert [gpu.name for gpu in resolve(["torch"], node(tmp_path, *names), REAL).plan.gpus] == names


@pytest.mark.parametrize("wish", ["torch==1.4.0", "torch==2.15.0", "tensorflow==2.4.0"])
def test_eight_of_a_kind_clash_once_and_are_mended_as_one(tmp_path, wish):
    one, eight = (resolve([wish], node(tmp_path, *[H100] * count, driver="470.57.02"), REAL) for count in (1, 8))
    assert one.status == "conflict"
    assert eight.conflicts == one.conflicts
    assert [fix.text for fix in eight.fixes] == [fix.text for fix in one.fixes]
    assert [fix.asks for fix in eight.fixes] == [fix.asks for fix in one.fixes]


def test_two_kinds_clash_once_each(tmp_path):
    answer = resolve(["torch==2.15.0"], node(tmp_path, *["Tesla K80", "Tesla M60"] * 4), REAL)
    said = [tuple(one.text for one in clash.members if one.kind == "host") for clash in answer.conflicts]
    assert len(said) == len(set(said))


def test_leaving_a_kind_out_is_told_once_and_typed_once(tmp_path):
    answer = resolve(["torch==2.15.0"], node(tmp_path, *["Tesla K80"] * 3, *[A100] * 3, driver="580.65.06"), REAL)
    (fix,) = [fix for fix in answer.fixes if "leave" in fix.text and "K80" in fix.text]
    assert fix.text.count("K80") == fix.text.count("A100") == 1
    (asked,) = fix.asks
    assert [name for name, _ in asked.options].count("gpu") == 1


AMPERE, TURING = {"target": "sm_80", "vendor": "nvidia"}, {"target": "sm_75", "vendor": "nvidia"}


def test_a_thousand_gpus_are_searched_for_in_the_steps_of_two(tmp_path):
    alike = [AMPERE, TURING] * 500
    named = [{"name": f"board {number}", **one} for number, one in enumerate(alike[:60])]
    assert steps(tmp_path, [AMPERE, TURING]) > 0  # loads what the matrix has
    few = steps(tmp_path, [AMPERE, TURING])
    assert steps(tmp_path, alike) == few
    assert steps(tmp_path, named) < few * 1.1  # whether an image starts is asked of each


def steps(tmp_path, gpus):
    """Functions called in the search for the best builds, on an index of its own."""
    path = tmp_path / "node.json"
    path.write_text(json.dumps({"gpus": gpus, "driver": "535.54.03", "arch": "x86_64", "platform": "linux"}))
    known = Knowledge(REAL)
    wishes = read(["torch"], known)
    return calls(Search(situation(wishes, [hosts.from_file(str(path), REAL)], known), known).best)
