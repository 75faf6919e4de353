"""Changes: what a machine is like after them, and what is typed for them."""

import pytest

from compat.changes import (
    Command,
    Container,
    Driver,
    Example,
    Install,
    Package,
    Python,
    Toolkit,
    Uninstall,
    Variable,
    applied,
    install,
)
from compat.commands import Place, suited, typed
from compat.facts import host

CU126 = "https://download.pytorch.org/whl/cu126"
TORCH = Install(packages=(Package(name="torch", version="2.8.0+cu126", runtime="cuda12.6"),), index=CU126, again=True)


def machine(**facts):
    return host("test", **facts)


@pytest.mark.parametrize(
    ("change", "name", "value"),
    [
        (TORCH, "packages", {"numpy": "2.0", "torch": "2.8.0+cu126"}),
        (Install(packages=(Package(name="numpy", spec="<2"),)), "packages", {"torch": "2.1.0", "numpy": "1.99"}),
        (Install(packages=(Package(name="numpy", spec="<1.24"),)), "packages", {"torch": "2.1.0", "numpy": "1.23.99"}),
        (Uninstall(("torch",)), "packages", {"numpy": "2.0"}),
        (Driver("580.65.06"), "driver", "580.65.06"),
        (Toolkit("12.8"), "cuda_toolkit", "12.8"),
        (Variable("CUDA_VISIBLE_DEVICES"), "env", {"A": "1"}),
        (Variable("A", "2"), "env", {"CUDA_VISIBLE_DEVICES": "", "A": "2"}),
        (Python("3.12"), "python", "3.12"),
    ],
)
def test_what_a_change_does_to_the_facts(change, name, value):
    before = machine(
        packages={"torch": "2.1.0", "numpy": "2.0"}, env={"A": "1", "CUDA_VISIBLE_DEVICES": ""}, driver="535.54"
    )
    after = applied(before, [change])
    assert after.value(name) == value


def test_what_a_build_said_of_itself_goes_with_it():
    before = machine(packages={"torch": "2.1.0"}, builds={"torch": {"runtime": "cpu"}, "flash-attn": {"torch": "2.1"}})
    builds = applied(before, [TORCH]).builds
    assert builds["torch"].runtime == "cuda12.6"
    assert builds["flash-attn"].torch == "2.1"


def test_a_library_that_a_package_brings_is_no_longer_missing():
    before = machine(libraries=[{"name": "libcudnn.so.9"}, {"name": "libcufft.so.11"}])
    package = Package(name="nvidia-cudnn-cu12", settles=("libcudnn.so.9",))
    assert [one.name for one in applied(before, [Install(packages=(package,))]).libraries] == ["libcufft.so.11"]


@pytest.mark.parametrize(
    "change",
    [Command("reboot"), Install(packages=(Package(name="mmcv"),), compile=True), install("numpy", upgrade=True)],
)
def test_what_facts_do_not_tell_is_not_replayed(change):
    assert applied(machine(packages={"torch": "2.1.0"}), [TORCH, change]) is None


def test_no_change_is_no_machine_after_it():
    assert applied(machine(), []) is None


@pytest.mark.parametrize(
    ("change", "place", "line"),
    [
        (TORCH, Place(), f"pip install torch==2.8.0+cu126 --index-url {CU126}"),
        (TORCH, Place(manager="uv"), f"uv pip install torch==2.8.0+cu126 --index-url {CU126}"),
        (Install(packages=(Package(name="jax", extras=("cuda12",)),)), Place(), 'pip install "jax[cuda12]"'),
        (
            Install(packages=(Package(name="a", version="1"),), index="https://h/p.html", links=True),
            Place(manager="poetry"),
            "poetry run pip install a==1 --find-links https://h/p.html",
        ),
        (
            Install(packages=(Package(name="mmcv"),), compile=True, again=True),
            Place(),
            "pip install --no-build-isolation --no-deps --force-reinstall --no-cache-dir mmcv",
        ),
        (Uninstall(("onnxruntime",)), Place(), "pip uninstall -y onnxruntime"),
        (Variable("A"), Place(), "unset A"),
        (Variable("A", "1"), Place(), "export A=1"),
        (Variable("A", "1"), Place(platform="windows"), "set A=1"),
        (Python("3.11"), Place(), "uv venv --python 3.11"),
        (Command("wsl --install"), Place(), "wsl --install"),
        (install("jax", extras=("cuda12",), upgrade=True), Place(), 'pip install --upgrade "jax[cuda12]"'),
        (Driver("580", (Command("sudo apt install nvidia-open"),)), Place(), "sudo apt install nvidia-open"),
        (Container(gpus=True), Place(), "docker run --gpus all IMAGE"),
        (
            Container(gpus=True, group="7", engine="podman"),
            Place(),
            "podman run --device nvidia.com/gpu=all --group-add 7 IMAGE",
        ),
        (Container("-q", image="a:1", command="pull", engine="podman"), Place(), "podman pull -q a:1"),
    ],
)
def test_what_is_typed(change, place, line):
    assert typed([change], place) == (line,)


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        (Place(), ("pip uninstall -y torch", "pip install torch==2.5.1")),
        (Place(manager="uv"), ("uv pip uninstall torch", "uv pip install torch==2.5.1")),
        (Place(manager="venv"), ("python3 -m venv .venv", ".venv/bin/pip install torch==2.5.1")),
        (Place(fresh=True), ("pip install torch==2.5.1",)),
    ],
)
def test_a_copy_that_satisfies_the_pin_is_taken_out_and_what_it_requires_stays(place, lines):
    pinned = Install(packages=(Package(name="torch", version="2.5.1"),), again=True)
    assert typed([pinned], place) == lines


def test_an_unpinned_package_is_brought_up_to_date_without_what_it_requires():
    newest = Install(packages=(Package(name="bitsandbytes"),), again=True)
    assert typed([newest], Place()) == ("pip install --upgrade bitsandbytes",)


def test_a_driver_has_no_line_of_its_own():
    assert typed([Driver("580"), Toolkit("12.8")], Place()) == ()


SHM, NODES = Container("--shm-size=8g"), Container("--device /dev/kfd", where="linux")
GROUP, CONFIG, PIP = Command("sudo usermod -aG render x", "host"), Command("sudo ldconfig", "linux"), install("y")


@pytest.mark.parametrize(
    ("facts", "changes", "left"),
    [
        ({"platform": "windows"}, [Variable("A"), CONFIG, NODES], [Variable("A")]),
        ({"platform": "darwin"}, [GROUP, PIP], [PIP]),
        ({"container": "docker"}, [GROUP, CONFIG, SHM], [CONFIG, SHM]),
        ({"platform": "linux"}, [GROUP, SHM], [GROUP]),
        ({"platform": "linux"}, [SHM, NODES], [SHM, NODES]),
        ({"platform": "linux"}, [Example("kill <number>"), PIP], [PIP]),
        ({"image": "app:1"}, [SHM], [Container("--shm-size=8g", image="app:1")]),
    ],
)
def test_what_a_rule_proposes_is_typed_only_where_it_can_be(facts, changes, left):
    assert list(suited(changes, machine(**facts))) == left
