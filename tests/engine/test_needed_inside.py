"""What wheels need of the distribution is in the image: the loader itself finds every library that they name."""

from __future__ import annotations

import re

import pytest
from factory import Settings

from compat.plan import PlannedBuild

# Every object below site-packages, as the loader of the image sees it; a library of the same wheel may be loaded by
# code before, so that its own folder counts as found.
MISSING = """
import glob, os, re, subprocess, sysconfig
root = sysconfig.get_paths()["purelib"]
objects = [path for path in glob.glob(root + "/**/*.so*", recursive=True) if os.path.isfile(path)]
objects = [path for path in objects if not re.search("qxcb|XcbQpa", path)]  # opened where a window is shown
carried = {os.path.basename(path) for path in objects}
said = [subprocess.run(["ldd", path], capture_output=True, text=True).stdout for path in objects]
print(len(objects), sorted({name for text in said for name in re.findall(r"(\\S+) => not found", text)} - carried))
"""


@pytest.mark.parametrize("form", ["plain", "factory"])
def test_lightgbm_finds_the_openmp_that_its_wheel_does_not_carry(made, slim, client, form, usual_builder):
    lightgbm = PlannedBuild(name="lightgbm", version="4.6.0", runtime="cpu")
    built = made(slim(lightgbm), f"lightgbm-{form}", wish=Settings(form=form, builder=usual_builder))
    assert built.ok, built.why
    words = ["python", "-c", "import lightgbm; print(lightgbm.__version__)"]
    assert client.containers.run(built.tag, words, remove=True, network_mode="none").decode().split() == ["4.6.0"]
    count, missing = inside(client, built.tag)
    assert (count > 10, missing) == (True, "[]")


def test_opencv_finds_the_libraries_of_the_desktop_that_ultralytics_brings(made, slim, client, usual_builder):
    """ultralytics itself wants torch and its gigabytes; its packages of the system and opencv's wheel are enough."""
    from compat.dockerfile import system

    build = PlannedBuild(name="opencv-python", version="5.0.0.93", runtime="cpu")
    ultralytics = slim(PlannedBuild(name="ultralytics", version="8.3.0", runtime="cpu"))
    packages = system.loose(ultralytics, ultralytics.base_image, Settings())
    assert packages
    for apt, expected in ((tuple(packages), "[]"), ((), "libGL.so.1")):
        built = made(slim(build), f"opencv-{len(apt)}", wish=Settings(apt=apt, builder=usual_builder))
        assert built.ok, built.why
        assert expected in inside(client, built.tag)[1]


def test_torchcodec_finds_the_ffmpeg_of_the_distribution(made, slim, client, usual_builder):
    """Its wheel has objects for each FFmpeg from 4 to 8, of which an image has one; torch itself is of another wheel."""
    build = PlannedBuild(name="torchcodec", version="0.8.1", runtime="cpu")
    built = made(slim(build), "torchcodec", wish=Settings(builder=usual_builder, import_check=False))
    assert built.ok, built.why
    count, missing = inside(client, built.tag)
    assert (count, len(set(re.findall(r"libavcodec\.so\.\d+", missing)))) == (15, 4)


def inside(client, image):
    """How many objects the image's packages have, and the libraries that the loader does not find for them."""
    told = client.containers.run(image, ["python", "-c", MISSING], remove=True, network_mode="none").decode()
    count, _, missing = told.strip().partition(" ")
    return int(count), missing
