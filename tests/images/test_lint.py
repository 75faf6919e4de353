"""hadolint, tally and our own lint over every family, builder and wish, and over answers of the resolver."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat import sources
from compat.dockerfile import Settings, write
from compat.errors import InputError
from compat.lint import lint as judge
from compat.matrix import matrix
from compat.resolve import resolve
from compat.resolve.target import from_options

WISHES = {
    "plain": {},
    "uv": {"installer": "uv"},
    "rich": {
        "requirements": ("rich", "flask==3.0.0"),
        "requirements_file": "requirements.txt",
        "apt": ("ffmpeg", "libgl1=1.*"),
        "compiler": True,
        "files": (("app.py", "/app/app.py"),),
        "env": {"A": 'x"$HOME\\ `id`'},
        "entrypoint": ("tini", "--"),
        "healthcheck": ("python", "-c", "pass"),
    },
    "conda": {"conda": ("gdal>=3.8", "bioconda::samtools"), "channels": ("conda-forge", "bioconda")},
    "secret": {"secrets": ("netrc", "ca", "pip.conf")},
    "lock": {"lock": "lock.txt", "digest": "sha256:" + "a" * 64},
    "compile": {"compile": ("flash-attn==2.5.8",)},
}

FORMS = ("plain", "factory")

REQUESTS = [
    (["torch==2.0.1"], {"gpus": ["NVIDIA A100"], "driver": "525.85.12"}),
    (["torch==2.9.1", "torchvision"], {"gpus": ["sm_90"], "driver": "580.65.06"}),
    (["torch==1.13.1"], {"gpus": ["sm_70"], "driver": "470.57.02"}),
    (["torch==2.6.0"], {"gpus": ["gfx90a"]}),
    (["torch==2.9.1"], {"cpu": True}),
    (["torch==2.0.1", "tensorflow==2.12.0"], {"gpus": ["NVIDIA A100"], "driver": "525.85.12"}),
    (["tensorflow==2.12.0"], {"gpus": ["sm_80"]}),
    (["tensorflow==2.18.0"], {"gpus": ["sm_80"]}),
    (["tensorflow==2.18.0"], {"cpu": True}),
    (["jax==0.4.30"], {"gpus": ["sm_80"]}),
    (["jax"], {"cpu": True}),
    (["paddlepaddle"], {"cpu": True}),
    (["paddlepaddle==3.0.0"], {"gpus": ["sm_80"]}),
]

OLD = [
    (["torch==1.0.0"], {"cpu": True}),
    (["torch==1.10.0"], {"gpus": ["sm_80"]}),
    (["torch==1.13.1"], {"gpus": ["gfx90a"], "rocm": "5.2"}),
    (["tensorflow==2.4.1"], {"cpu": True}),
    (["tensorflow==2.10.0"], {"gpus": ["sm_70"]}),
    (["jax==0.4.13"], {"gpus": ["sm_80"]}),
    (["torch==2.9.1"], {"gpus": ["sm_90"], "arch": "aarch64"}),
]
"""Releases whose Python no current distribution has, and other processors."""


def lint(folder):
    tool = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if tool is None:
        pytest.skip("hadolint is not installed (dependency group lint)")
    files = sorted(str(path) for path in folder.iterdir())
    assert files
    return subprocess.run([tool, "--no-color", *files], capture_output=True, text=True, check=False)


def test_hadolint_finds_nothing_in_any_form(plans, tmp_path):
    for (name, plan), (wish, values), builder, form in itertools.product(
        plans.items(), WISHES.items(), ("buildkit", "classic"), FORMS
    ):
        if builder == "classic" and wish == "secret":
            continue
        try:
            text = write(plan, Settings(builder=builder, form=form, **values))
        except InputError:
            assert wish == "compile" or (wish, form) == ("conda", "factory"), f"{name} {wish} {builder}"
            continue
        (tmp_path / f"{name}-{wish}-{builder}-{form}.Dockerfile").write_text(text)
    done = lint(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_hadolint_finds_nothing_in_what_the_resolver_plans(tmp_path):
    known = matrix()
    for number, (wishes, target) in enumerate(REQUESTS):
        answer = resolve(wishes, from_options(known, **target), known, cpu=target.get("cpu", False))
        assert answer.plan, f"{wishes} {target}: {answer.conflicts or answer.conditions}"
        for builder, form in itertools.product(("buildkit", "classic"), FORMS):
            text = write(answer.plan, Settings(builder=builder, form=form))
            (tmp_path / f"{number}-{builder}-{form}.Dockerfile").write_text(text)
    done = lint(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


DELIBERATE = {"base-tag-eol"}
"""What our own lint says of our own files where nothing else fits the plan: CUDA 11.2 exists on an old tag only."""


@pytest.mark.parametrize(("wishes", "target"), [*REQUESTS, *OLD], ids=lambda value: str(value)[:40])
def test_our_own_lint_finds_nothing_in_what_the_resolver_plans(wishes, target):
    known = matrix()
    answer = resolve(wishes, from_options(known, **target), known, cpu=target.get("cpu", False))
    assert answer.plan, f"{wishes} {target}: {answer.conflicts or answer.conditions}"
    listed = {name for row in known.table("images") if row.status != "gone" for name in row.references()}
    assert answer.plan.base_image.image in listed
    for builder, form in itertools.product(("buildkit", "classic"), FORMS):
        text = write(answer.plan, Settings(builder=builder, form=form))
        report = judge(sources.read(text, "Dockerfile"), known)
        assert {item.code for item in report.findings} <= DELIBERATE
        assert report.unchecked == ()


TALLY = {
    "tally/max-lines": "the check and the reasons in the comments are lines",
    "tally/prefer-run-heredoc": "here-documents need a newer frontend than engines 20.10 carry",
    "tally/prefer-copy-heredoc": "likewise",
    "tally/prefer-multi-stage-build": "the plain form is one stage",
    "tally/prefer-package-cache-mounts": "it wants all of /var/lib/apt mounted, which would lose apt's own marks",
}


def test_tally_finds_nothing_but_what_is_deliberate(plans, tmp_path):
    tool = shutil.which("tally")
    if tool is None:
        pytest.skip("tally is not installed (pip install tally-cli)")
    for (name, plan), (wish, values), form in itertools.product(plans.items(), WISHES.items(), FORMS):
        if wish != "compile" and not (wish == "conda" and form == "factory"):
            text = write(plan, Settings(form=form, **values))
            (tmp_path / f"{name}-{wish}-{form}.Dockerfile").write_text(text)
    ignored = [word for rule in TALLY for word in ("--ignore", rule)]
    files = sorted(str(path) for path in tmp_path.iterdir())
    words = [tool, "lint", "--no-config", *ignored, *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_hadolint_is_really_asked(tmp_path):
    (tmp_path / "bad.Dockerfile").write_text("FROM ubuntu\nRUN apt-get install curl\n")
    assert lint(tmp_path).returncode == 1
