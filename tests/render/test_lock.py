"""Plans as files of installers, read back by the formats' own parsers."""

import sys

import pytest
import yaml
from packaging.requirements import Requirement

from compat import lock, plan

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CU118 = "https://download.pytorch.org/whl/cu118"
ROCM = "https://download.pytorch.org/whl/rocm6.2"
JAX = "https://storage.googleapis.com/jax-releases/jax_cuda_releases.html"


def build(name, version, **more):
    return plan.PlannedBuild(name=name, version=version, **more)


def planned(*builds, **more):
    return plan.Plan(runtime="cuda11.8", python="3.10", builds=builds, **more)


TORCH = build("torch", "2.0.1+cu118", runtime="cuda11.8", index=CU118)
VISION = build("torchvision", "0.15.2+cu118", runtime="cuda11.8", index=CU118)
ON_ROCM = build("torch", "2.5.1+rocm6.2", runtime="rocm6.2", index=ROCM)
AUDIO = build("torchaudio", "2.5.1+rocm6.2", runtime="rocm6.2", index=ROCM)
PLAIN = build("jax", "0.4.30", extras=("cuda12",), pins=("jax-cuda12-plugin==0.4.30",))
LINKED = build("jaxlib", "0.4.7+cuda11.cudnn86", runtime="cuda11.8", index=JAX, links=True)


def test_requirements_name_each_index_once_and_every_pin():
    lines = lock.requirements(planned(TORCH, VISION, PLAIN, constraints=("numpy<2",))).splitlines()
    assert lines[0] == "# cuda11.8, Python 3.10, x86_64; made by envcheck"
    assert [line for line in lines if line.startswith("--")] == [f"--extra-index-url {CU118}"]
    named = [str(Requirement(line)) for line in lines if line[0] not in "#-"]
    assert named == [
        "torch==2.0.1+cu118",
        "torchvision==0.15.2+cu118",
        "jax[cuda12]==0.4.30",
        "jax-cuda12-plugin==0.4.30",
        "numpy<2",
    ]


def test_a_plan_from_the_default_index_names_no_index():
    text = lock.requirements(planned(PLAIN))
    assert "--" not in text.replace("jax-cuda12", "")
    assert "tool.uv" not in lock.uv(planned(PLAIN))


@pytest.mark.parametrize(("item", "option"), [(TORCH, "--extra-index-url"), (LINKED, "--find-links")])
def test_a_page_of_links_is_another_option_than_an_index(item, option):
    assert f"{option} {item.index}\n" in lock.requirements(planned(item))
    (pip,) = [entry for entry in yaml.safe_load(lock.conda(planned(item)))["dependencies"] if isinstance(entry, dict)]
    assert pip["pip"] == [f"{option} {item.index}", item.requirement]


def test_an_untagged_build_comes_from_its_own_index_and_from_no_other():
    board = build("torch", "2.9.1", runtime="cuda12.6", index="https://pypi.jetson-ai-lab.io/jp6/cu126")
    assert f"--index-url {board.index}" in lock.requirements(planned(board)).splitlines()
    assert f"--index-url {board.index}" in yaml.safe_load(lock.conda(planned(board)))["dependencies"][-1]["pip"]
    mixed = lock.requirements(planned(board, PLAIN)).splitlines()
    assert f"--extra-index-url {board.index}" in mixed, "what comes from the default index must be found too"


def test_uv_binds_each_build_to_its_index_and_to_no_other():
    document = tomllib.loads(lock.uv(planned(TORCH, VISION, PLAIN, constraints=("numpy<2",))))
    assert document["project"]["requires-python"] == "==3.10.*"
    assert document["project"]["dependencies"] == [
        "torch==2.0.1+cu118",
        "torchvision==0.15.2+cu118",
        "jax[cuda12]==0.4.30",
        "jax-cuda12-plugin==0.4.30",
        "numpy<2",
    ]
    (index,) = document["tool"]["uv"]["index"]
    assert index == {"name": index["name"], "url": CU118, "explicit": True}
    assert document["tool"]["uv"]["sources"] == {name: {"index": index["name"]} for name in ("torch", "torchvision")}
    assert "index-strategy" not in document["tool"]["uv"]


def test_an_index_that_holds_dependencies_too_is_searched_for_all():
    tool = tomllib.loads(lock.uv(planned(ON_ROCM)))["tool"]["uv"]
    assert "explicit" not in tool["index"][0]
    assert tool["index-strategy"] == "unsafe-best-match"


def test_a_page_of_links_is_flat_open_to_all_and_no_package_is_bound_to_it():
    tool = tomllib.loads(lock.uv(planned(LINKED)))["tool"]["uv"]
    assert tool["index"] == [{"name": tool["index"][0]["name"], "url": JAX, "format": "flat"}]
    assert "sources" not in tool
    assert "index-strategy" not in tool


def test_an_open_index_beside_an_explicit_one_is_still_searched_for_all():
    tool = tomllib.loads(lock.uv(planned(TORCH, AUDIO)))["tool"]["uv"]
    assert tool["index-strategy"] == "unsafe-best-match"
    assert [item.get("explicit", False) for item in tool["index"]] == [True, False]


def test_two_indexes_have_two_names_and_a_name_is_readable():
    names = [item["name"] for item in tomllib.loads(lock.uv(planned(TORCH, AUDIO)))["tool"]["uv"]["index"]]
    assert names == ["download-pytorch-org-cu118", "download-pytorch-org-rocm6-2"]


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org", "example-org"),
        ("https://example.org/", "example-org"),
        ("http://Mirror.example:8080/Simple/", "mirror-example-8080-simple"),
        ("https://example.org/a/jax_cuda.html", "example-org-jax-cuda-html"),
    ],
)
def test_names_of_indexes(url, name):
    (index,) = tomllib.loads(lock.uv(planned(build("x", "1", index=url))))["tool"]["uv"]["index"]
    assert index["name"] == name


def test_the_conda_file_takes_python_from_conda_and_the_rest_from_pip():
    document = yaml.safe_load(lock.conda(planned(PLAIN, constraints=("numpy<2",))))
    assert document["channels"] == ["conda-forge"]
    assert document["dependencies"][:2] == ["python=3.10", "pip"]
    assert document["dependencies"][2] == {"pip": ["jax[cuda12]==0.4.30", "jax-cuda12-plugin==0.4.30", "numpy<2"]}


@pytest.mark.parametrize("format_", lock.FORMATS)
def test_every_format_names_every_build_and_ends_its_last_line(format_):
    text = lock.write(planned(TORCH, VISION, ON_ROCM, PLAIN, LINKED), format_)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    for item in (TORCH, VISION, ON_ROCM, PLAIN, LINKED):
        assert item.requirement in text
