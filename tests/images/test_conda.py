"""Packages of conda's in an image: Python from their channel, the planned wheels by the pip beside them."""

import itertools
import shlex

import pytest

from compat.dockerfile import Settings, elsewhere, write
from compat.errors import InputErrors

WISH = {"conda": ("gdal>=3.8", "_x86-microarch-level"), "channels": ("bioconda", "conda-forge")}
every_plan = pytest.mark.parametrize(
    "plan", ["torch_cuda", "torch_rocm", "torch_uv", "jax_cpu", "torch_rocky"], indirect=True
)


@every_plan
@pytest.mark.parametrize("builder", ["buildkit", "classic"])
def test_python_and_the_packages_come_from_the_channels_and_the_wheels_follow(plan, builder, parsed):
    steps = parsed(write(plan, Settings(builder=builder, **WISH)))
    system, install = [rest for keyword, rest in steps if keyword == "RUN"]
    (create,) = [part for part in system.split(" && ") if "micromamba create" in part]
    words = shlex.split(create)
    assert [word for before, word in itertools.pairwise(words) if before == "--channel"] == ["bioconda", "conda-forge"]
    assert words[-4:] == [f"python={plan.python}", "pip", "_x86-microarch-level", "gdal>=3.8"]
    assert not any(word in system for word in ("-venv", f"python{plan.python}", "uv venv"))
    assert "ca-certificates" in system
    assert "pip install" in install
    assert ("uv pip" in install) is False
    brings = "--mount=from=mambaorg/micromamba:" if builder == "buildkit" else ""
    assert system.startswith(brings)
    copies = [rest for keyword, rest in steps if keyword == "COPY" and "micromamba" in rest]
    assert len(copies) == (builder == "classic")


@every_plan
def test_a_definition_file_has_them_too(plan):
    text = elsewhere.apptainer(plan, Settings(**WISH))
    assert text.startswith("Bootstrap: docker\nFrom: mambaorg/micromamba:")
    assert "%files from conda\n    /bin/micromamba /usr/local/bin/micromamba\n" in text
    assert "micromamba create --yes --prefix /opt/venv " in text
    assert "keyrings" not in text


@pytest.mark.parametrize("wish", [{"form": "factory"}, {"installer": "uv"}, {"compile": ("flash-attn==2.5.8",)}])
def test_what_has_no_place_for_them_is_refused(plan, wish):
    with pytest.raises(InputErrors, match="packages of conda's go into one stage"):
        write(plan, Settings(conda=("gdal",), **wish))


@pytest.mark.parametrize("name", ["--file=x", "--x::gdal", "gdal>=3;rm -rf /", "a\nUSER 0", "$(id)", "a`b`", ""])
def test_what_is_no_package_is_refused(plan, name):
    with pytest.raises(InputErrors, match="conda"):
        write(plan, Settings(conda=(name,)))


@pytest.mark.parametrize("name", ["--override-channels", "-c", "a b", "https://", ""])
def test_what_is_no_channel_is_refused(plan, name):
    with pytest.raises(InputErrors, match="channels"):
        write(plan, Settings(conda=("gdal",), channels=(name,)))
