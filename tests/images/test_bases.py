"""What stands below the wheels: the Python that packages serve, a tag that was seen, the driver's own libraries."""

import re
from dataclasses import replace

import pytest

from compat.app.matrices import load
from compat.dockerfile import Settings, write
from compat.errors import InputError
from compat.resolve import resolve
from compat.resolve.target import from_options
from compat.versions import release


@pytest.fixture(scope="module")
def matrix():
    return load([])


def planned(matrix, *wishes, **options):
    answer = resolve(list(wishes), from_options(matrix, **options), matrix, cpu=options.get("cpu", False))
    assert answer.plan, answer.conflicts
    return answer.plan


def test_a_python_is_early_while_a_tenth_of_the_packages_have_no_wheel_for_it(matrix):
    """A package whose last release is two years old says nothing of the Pythons that came since."""
    days = {name: max((row.date for row in matrix.builds(name)), default="") for name in matrix.packages}
    last = max(days.values())
    living = [
        name
        for name, day in days.items()
        if int(day[:4] or 0) * 12 + int(day[5:7] or 0) > int(last[:4]) * 12 + int(last[5:7]) - 24
    ]
    newest = {}
    for name in living:
        by_release = {}
        for row in matrix.builds(name):
            by_release.setdefault(release(row.version.partition("+")[0]), set()).update(row.python)
        if found := {number: pythons for number, pythons in by_release.items() if pythons}:
            newest[name] = found[max(found)]
    share = {
        row.python: sum(row.python in pythons for pythons in newest.values()) / len(newest)
        for row in matrix.table("pythons")
    }
    newest_served = max((python for python, part in share.items() if part >= 0.9 and "t" not in python), key=release)
    early = {row.python for row in matrix.table("pythons") if row.early}
    assert early == {
        row.python
        for row in matrix.table("pythons")
        if row.python.endswith("t") or release(row.python) > release(newest_served)
    }


@pytest.mark.parametrize(
    "options", [{"gpus": ["H100"]}, {"gpus": ["MI300X"]}, {"gpus": ["Intel Arc B580"]}, {"cpu": True}], ids=str
)
def test_no_vendor_gets_a_python_that_packages_do_not_serve_yet(matrix, options):
    made = planned(matrix, "torch", **options)
    assert made.python in {"3.12", "3.13"}
    asked = planned(matrix, "torch", **options, python="3.14")  # who asks for one gets it
    assert asked.python == "3.14"


def test_a_tag_that_was_not_seen_is_taken_last_and_said(matrix):
    rows = [row for row in matrix.table("images") if row.repository == "nvidia/cuda" and "base" in row.flavours]
    seen = {row.runtime for row in rows if row.how != "inferred" and row.os == "ubuntu24.04"}
    for runtime in sorted({row.runtime for row in rows if row.os == "ubuntu24.04"}):
        answer = resolve(["torch"], from_options(matrix, gpus=["H100"], cuda=runtime.removeprefix("cuda")), matrix)
        image = answer.plan and answer.plan.base_image
        if not image or image.os != "ubuntu24.04":
            continue
        assert (image.how == "inferred") == (runtime not in seen), image.image
        said = any(f"the tag {image.image} was not seen" in text for text in answer.plan.conditions)
        assert said == (image.how == "inferred")
        for form in ("plain", "factory"):
            assert ("was not seen" in write(answer.plan, Settings(form=form))) == said


@pytest.mark.parametrize("form", ["plain", "factory"])
@pytest.mark.parametrize("builder", ["buildkit", "classic"])
@pytest.mark.parametrize(("os", "suite"), [("ubuntu22.04", "jammy"), ("ubuntu24.04", "noble"), ("ubuntu26.04", "")])
def test_an_image_for_xpus_holds_the_loader_and_the_driver_of_level_zero(plans, parsed, form, builder, os, suite):
    xpu = plans["torch_xpu"]
    made = replace(xpu, base_image=replace(xpu.base_image, os=os, image=os.replace("ubuntu", "ubuntu:")))
    steps = parsed(write(made, Settings(form=form, builder=builder)))
    installing = [rest for keyword, rest in steps if keyword == "RUN" and "libze1" in rest]
    assert len(installing) == 1
    assert "libze-intel-gpu1" in installing[0]
    keys = [rest.split() for keyword, rest in steps if keyword == "ADD"]
    source = re.search(r"echo '(deb [^']*)'", installing[0])
    assert bool(source) == bool(keys) == bool(suite)
    if source:  # what apt reads is signed by the key that lies there, and is read before it is asked
        assert f"signed-by={keys[0][-1]}]" in source[1]
        assert source[1].endswith(f" {suite} unified")
        order = [installing[0].index(word) for word in ("ca-certificates", "vendor.list", "libze1")]
        assert order == sorted(order)
        assert installing[0].count("apt-get update", 0, order[2]) == 2


def test_a_system_without_the_driver_of_level_zero_is_refused(plans):
    xpu = plans["torch_xpu"]
    made = replace(xpu, base_image=replace(xpu.base_image, os="almalinux9", image="almalinux:9"))
    with pytest.raises(InputError, match="Intel's compute runtime"):
        write(made)


@pytest.mark.parametrize("name", ["torch_cuda", "torch_rocm", "jax_cpu"])
def test_other_images_hold_nothing_of_intel(plans, name):
    assert "intel" not in write(plans[name]).lower()


@pytest.mark.parametrize(
    ("wish", "image"),
    [({}, r"ghcr\.io/astral-sh/uv:[\w.]+"), ({"conda": ("gdal",)}, r"mambaorg/micromamba:[\w.]+")],
    ids=["uv", "conda"],
)
def test_the_image_that_brings_python_is_a_row_of_the_matrix(matrix, wish, image):
    text = write(planned(matrix, "torch==2.6.0", gpus=["A100"], os="ubuntu22.04", python="3.12"), Settings(**wish))
    named = set(re.findall(image, text))
    known = {name for row in matrix.table("images") if row.status == "active" for name in row.references()}
    assert named
    assert named <= known
