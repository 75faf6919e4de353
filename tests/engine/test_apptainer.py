"""A definition file in Apptainer's own hands; archives of what the engine has play the images of a registry."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from compat.dockerfile import Settings, elsewhere

pytestmark = [
    pytest.mark.large("minutes"),
    pytest.mark.skipif(not shutil.which("apptainer"), reason="no apptainer is installed (Debian's unstable has it)"),
]


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_definition_file_is_built_and_computes(slim, jax, tmp_path, package_index, installer):
    # The image that plays Python's own has a virtual environment in /usr/local, which uv takes for no system's Python.
    played = {"UV_SYSTEM_PYTHON": "0", "UV_PYTHON": "/usr/local/bin/python3"} if installer == "uv" else {}
    text = elsewhere.apptainer(slim(jax), Settings(installer=installer, env={"A": "it's $x", **played}))
    for number, image in enumerate(re.findall(r"^From: (\S+)$", text, re.MULTILINE)):
        subprocess.run(["docker", "save", "--output", str(tmp_path / f"{number}.tar"), image], check=True)
        text = text.replace(f"Bootstrap: docker\nFrom: {image}\n", f"Bootstrap: docker-archive\nFrom: {number}.tar\n")
    (tmp_path / "image.def").write_text(text)

    def said(*words):
        done = subprocess.run(["apptainer", *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    said("build", "--fakeroot", "image.sif", "image.def")
    program = "import os, jax; print(jax.__version__, jax.numpy.arange(4).sum(), os.environ['A'])"
    assert said("exec", "--cleanenv", "image.sif", "python", "-c", program) == f"{jax.version} 6 it's $x\n"
    assert said("run", "--cleanenv", "image.sif", "-c", "print(1)") == "1\n"
    labels = json.loads(said("inspect", "--labels", "--json", "image.sif"))["data"]["attributes"]["labels"]
    assert labels["dev.envcheck.versions"].startswith("python==3.11 ")
