"""The steps that guard an image, run for real: taken out of a Dockerfile as the builder's shell would get them."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from factory import Settings, write

from compat.plan import PlannedBuild

MACHINE = platform.machine()
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def environment(tmp_path):
    """A virtual environment without packages; ``install`` pretends that a distribution is there."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    site = next((tmp_path / "venv").glob("lib/python*/site-packages"))

    def install(name, version, code=""):
        (site / f"{name}-{version}.dist-info").mkdir()
        (site / f"{name}.py").write_text(code)

    install.python = tmp_path / "venv/bin/python"
    install.site = site
    return install


@pytest.fixture
def run_check(environment, plan, parsed):
    def run(builds, *, python=HERE, machine=MACHINE, system=(), imports=True, **changes):
        mine = replace(
            plan, builds=tuple(builds), python=python, arch=machine, system=system, constraints=(), **changes
        )
        found = parsed(write(mine, Settings(import_check=imports)))
        step = next(rest for keyword, rest in found if keyword == "RUN" and "import json" in rest)
        line = step.replace("/opt/venv/bin/python", str(environment.python))
        return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)

    return run


def torch(version="2.0.1+cu118", runtime="cuda11.8", **more):
    return PlannedBuild(name="torch", version=version, runtime=runtime, cuda_from="wheel", module="torch", **more)


SAYS = "import types\nversion = types.SimpleNamespace(cuda={cuda!r}, hip={hip!r})\n"


def test_the_planned_build_passes(environment, run_check):
    environment("torch", "2.0.1+cu118", SAYS.format(cuda="11.8", hip=None))
    done = run_check([torch()])
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "installed as planned", "")


@pytest.mark.parametrize(
    ("installed", "code", "says"),
    [
        ("2.0.1+cpu", SAYS.format(cuda=None, hip=None), "torch is 2.0.1+cpu, planned 2.0.1+cu118"),
        ("2.1.0+cu118", SAYS.format(cuda="11.8", hip=None), "torch is 2.1.0+cu118, planned 2.0.1+cu118"),
        ("2.0.1+cu118", SAYS.format(cuda=None, hip=None), "torch was built for cpu, planned cuda11.8"),
        ("2.0.1+cu118", SAYS.format(cuda="12.1", hip=None), "torch was built for cuda12.1, planned cuda11.8"),
        ("2.0.1+cu118", SAYS.format(cuda=None, hip="6.2.1"), "torch was built for rocm6.2.1, planned cuda11.8"),
    ],
)
def test_another_build_stops_the_image(environment, run_check, installed, code, says):
    environment("torch", installed, code)
    done = run_check([torch()])
    assert done.returncode == 1
    assert says in done.stderr


def test_a_library_that_the_framework_misses_stops_the_image(environment, run_check):
    environment("torch", "2.0.1+cu118", "import ctypes\nctypes.CDLL('libnowhere.so.1')\n")
    done = run_check([torch()])
    assert done.returncode == 1
    assert "libnowhere.so.1" in done.stderr
    assert run_check([torch()], imports=False).returncode == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"python": "3.7"}, f"Python is {HERE}, planned 3.7"), ({"machine": "ppc64le"}, "planned ppc64le")],
)
def test_another_python_or_processor_stops_the_image(environment, run_check, changes, says):
    environment("torch", "2.0.1+cu118", SAYS.format(cuda="11.8", hip=None))
    assert says in run_check([torch()], **changes).stderr


@pytest.mark.parametrize(("system", "copies", "passes"), [((), 1, True), ((), 2, False), (("cuda11.8",), 2, True)])
def test_a_second_copy_of_cuda_stops_the_image_unless_the_plan_needs_it(environment, run_check, system, copies, passes):
    environment("torch", "2.0.1+cu118", SAYS.format(cuda="11.8", hip=None))
    for number in range(copies):
        folder = environment.site / f"nvidia{number}" / "lib"
        folder.mkdir(parents=True)
        (folder / "libcublas.so.11").touch()
        (folder / "libcublas.so").symlink_to("libcublas.so.11")
    done = run_check([torch()], system=system)
    assert (done.returncode == 0) is passes, done.stderr
    if not passes:
        assert "2 copies of the GPU toolkit, planned 1" in done.stderr


def test_pins_that_belong_to_a_build_are_checked_too(environment, run_check):
    environment("jax", "0.4.30")
    environment("jax_cuda12_plugin", "0.4.31")
    build = PlannedBuild(
        name="jax", version="0.4.30", runtime="cuda12", pins=("jax-cuda12-plugin==0.4.30",), module="jax"
    )
    assert "jax-cuda12-plugin is 0.4.31, planned 0.4.30" in run_check([build]).stderr


@pytest.mark.parametrize("plan", ["torch_rocm"], indirect=True)
def test_trimming_deletes_other_devices_kernels_and_nothing_else(plan, parsed, tmp_path):
    library = tmp_path / "venv/lib/torch/lib/rocblas/library"
    library.mkdir(parents=True)
    keep = [
        "TensileLibrary_gfx90a.dat",
        "Kernels.so-000-gfx90a-xnack+.hsaco",
        "TensileLibrary_lazy_gfx1030.dat",
        "TensileManifest.txt",
    ]
    drop = ["TensileLibrary_gfx942.dat", "Kernels.so-000-gfx1100.hsaco", "TensileLibrary_lazy_gfx1201.dat"]
    for name in keep + drop:
        (library / name).touch()
    (library.parent / "librocblas_gfx1100.so").touch()
    step = next(rest for keyword, rest in parsed(write(plan)) if keyword == "RUN" and "-delete" in rest)
    line = step[step.index("find /opt/venv") :].replace("/opt/venv", str(tmp_path / "venv"))
    subprocess.run(["sh", "-c", line], check=True)
    assert sorted(path.name for path in library.iterdir()) == sorted(keep)
    assert (library.parent / "librocblas_gfx1100.so").exists()


def test_an_apt_mirror_replaces_the_distributions_hosts_only(plan, parsed, tmp_path):
    sources = tmp_path / "apt"
    (sources / "sources.list.d").mkdir(parents=True)
    (sources / "sources.list").write_text("deb http://one.example/ubuntu jammy main\n")
    (sources / "sources.list.d/vendor.list").write_text("deb https://vendor.example/repo /\n")
    (sources / "sources.list.d/ubuntu.sources").write_text("URIs: https://two.example/ubuntu/\n")
    step = next(rest for keyword, rest in parsed(write(plan)) if keyword == "RUN" and "APT_MIRROR" in rest)
    command = next(part for part in step.split(" && ") if "APT_MIRROR" in part).replace("/etc/apt", str(sources))
    for mirror, expected in (("", "http://one.example/ubuntu"), ("http://mine.example", "http://mine.example/ubuntu")):
        subprocess.run(
            ["sh", "-c", command],
            check=True,
            env={"PATH": "/usr/bin:/bin", **({"APT_MIRROR": mirror} if mirror else {})},
        )
        assert expected in (sources / "sources.list").read_text()
    assert "http://mine.example/ubuntu/" in (sources / "sources.list.d/ubuntu.sources").read_text()
    assert "vendor.example" in (sources / "sources.list.d/vendor.list").read_text()


def test_the_constraints_hold_every_planned_version(plan, parsed, tmp_path):
    step = next(
        rest
        for keyword, rest in parsed(write(plan))
        if keyword == "RUN" and "constraints.txt" in rest and "printf" in rest
    )
    command = step[step.index("printf") :].replace("/opt/tools/constraints.txt", str(tmp_path / "c.txt"))
    subprocess.run(["sh", "-c", command], check=True)
    lines = (tmp_path / "c.txt").read_text().splitlines()
    assert lines == ["torch==2.0.1+cu118", "torchvision==0.15.2+cu118", "accelerate==0.20.3", "numpy<2"]


def test_the_check_runs_under_old_pythons():
    """Nothing newer than Python 3.7 may be in it; the standard library's own grammar decides."""
    import ast

    text = (Path(__file__).parents[2] / "dockerfiles/check.py").read_text()
    ast.parse(text, feature_version=(3, 7))
    assert json  # the program reads its plan as JSON
