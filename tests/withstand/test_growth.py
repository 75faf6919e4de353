"""Work grows with the length of a file, and not with its square: counted, so that no machine is too slow to pass."""

import importlib.util
import json
import resource
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "growth.py"


@pytest.fixture(scope="module")
def growth():
    spec = importlib.util.spec_from_file_location("growth", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "case",
    [
        "requirements", "companions", "stages", "bases", "here-document", "documents", "script", "chain", "GPUs",
        "nodes", "log",
    ],
)  # fmt: skip
def test_twice_the_file_is_at_most_twice_the_work(growth, case):
    assert growth.exponent(case) <= 1.2


def test_files_that_name_each_other_are_read_once(envcheck):
    for name, pin in (("requirements.txt", ""), ("b.txt", "torch==2.0.9\n")):
        (envcheck.folder / name).write_text("-r requirements.txt\n-r b.txt\n" * 2000 + pin)
    code, out, _ = envcheck("lint", "requirements.txt", timeout=100)
    assert (code, out.count("version-does-not-exist ")) == (1, 1)


def test_stages_that_no_engine_could_build_upon_each_other_are_refused(envcheck):
    stages = "".join(f"FROM s{number} AS s{number + 1}\nRUN true\n" for number in range(20_000))
    (envcheck.folder / "Dockerfile").write_text(f"FROM ubuntu:22.04 AS s0\n{stages}")
    code, _, err = envcheck("lint", "Dockerfile", timeout=100)
    assert (code, err.partition(";")[0]) == (
        2,
        "envcheck: Dockerfile:252: more stages stand upon each other than an image has layers",
    )


def test_more_gpus_than_a_machine_has_are_refused(envcheck):
    gpus = "".join(f'[[gpus]]\nname = "RTX {number}"\ntarget = "sm_86"\n' for number in range(60_000))
    (envcheck.folder / "host.toml").write_text(gpus)
    for words in (["doctor"], ["resolve", "torch"]):
        code, _, err = envcheck(*words, "--host", "host.toml", timeout=100)
        assert (code, err.partition(";")[0]) == (2, "envcheck: host.toml: gpus holds 60000")


def test_more_nodes_than_a_cluster_has_are_refused_before_they_are_kept(envcheck):
    (envcheck.folder / "nodes.jsonl").write_text('{"os": "ubuntu22.04"}\n' * 60_000)
    code, _, err = envcheck("fleet", "nodes.jsonl", timeout=100)
    assert (code, err.partition(";")[0].strip()) == (2, "envcheck: nodes.jsonl: more than 50,000 records")


def test_more_versions_of_a_package_than_a_person_asks_for_are_refused(envcheck):
    (envcheck.folder / "requirements.txt").write_text("".join(f"torch=={n}.0\n" for n in range(100_000)))
    code, _, err = envcheck("lint", "requirements.txt", timeout=100)
    assert (code, err.partition(";")[0]) == (2, "envcheck: requirements.txt:1: names 100,000 versions of torch")


def test_more_environment_markers_than_a_person_writes_are_refused(envcheck):
    lines = "".join(f'p{n}==1 ; python_version<"3.{n}"\n' for n in range(100_000))
    (envcheck.folder / "requirements.txt").write_text(lines)
    code, _, err = envcheck("lint", "requirements.txt", timeout=100)
    assert (code, err.partition(";")[0]) == (
        2,
        "envcheck: requirements.txt: names 100,000 different environment markers",
    )


def test_constraints_under_many_markers_do_not_multiply_the_requests():
    from compat.sources.requirements import constrained, request

    asked = [request(f"numpy>=1.{n}", n) for n in range(500)]
    limits = [request(f"numpy<{n}; python_version > '3.{n}'", n) for n in range(500)]
    assert len(constrained(asked, limits)) == len(asked)
    assert {one.spec for one in constrained(asked[:1], limits[:2])} == {">=1.0,<0", ">=1.0,<1"}


def test_a_marker_of_many_unknown_variables_is_unknown_and_not_tried_for_minutes():
    from compat import markers

    variables = ("python_version", "platform_machine", "sys_platform", "os_name", "platform_system")
    marker = " or ".join(f"{name} == 'x{n}'" for n in range(5) for name in variables)
    assert markers.holds(marker, markers.Environment("", "")) is None
    assert markers.holds(marker, markers.Environment("linux_x86_64", "3.12")) is False


def test_more_kinds_of_nodes_than_are_judged_are_refused(monkeypatch, tmp_path):
    from compat.app import fleet
    from compat.errors import InputError
    from compat.matrix import matrix

    monkeypatch.setattr(fleet, "KINDS", 3)
    path = tmp_path / "nodes.jsonl"
    path.write_text("".join(f'{{"os": "ubuntu{n}.04"}}\n' for n in (18, 20, 22, 22)))
    assert len(fleet.survey([str(path)], (), matrix()).nodes) == 4
    path.write_text("".join(f'{{"os": "ubuntu{n}.04"}}\n' for n in (18, 20, 22, 24)))
    with pytest.raises(InputError, match="none is like another"):
        fleet.survey([str(path)], (), matrix())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"' + "k" * 5_000_000 + '": 1}', "unknown fact 'kkk"),
        (json.dumps({f"k{n}": n for n in range(300_000)}), "holds 300,000 keys"),
    ],
    ids=["long", "many"],
)
def test_keys_that_are_no_facts_are_told_in_short(envcheck, text, said):
    (envcheck.folder / "host.json").write_text(text)
    for words in (["doctor"], ["resolve", "torch"]):
        code, _, err = envcheck(*words, "--host", "host.json", timeout=100)
        assert (code, said in err, len(err) < 300) == (2, True, True), err[:300]


def test_a_long_text_of_a_matrix_file_costs_little(envcheck):
    (envcheck.folder / "own.toml").write_text('x = """' + "a\\n" * 3_000_000 + '"""\n')
    bound = lambda: resource.setrlimit(resource.RLIMIT_AS, (800 << 20, 800 << 20))  # noqa: E731
    code, _, err = envcheck("matrix", "check", "own.toml", timeout=100, preexec_fn=bound)
    assert (code, "x is not a table" in err) == (2, True)
