"""How a plan is installed: the lines that are printed, read back by a shell's own rules."""

import shlex

import pytest

from compat.changes import Command, Service, Uninstall, Variable, install
from compat.commands import Place, installs, place_of, suited, typed
from compat.facts import Fact, Host
from compat.plan import PlannedBuild

TORCH = PlannedBuild(name="torch", version="2.4.0+cu124", runtime="cuda12.4", index="https://torch.example/cu124")
PLUGIN = "jax-cuda12-plugin[with-cuda]==0.4.30"
JAX = PlannedBuild(name="jax", version="0.4.30", extras=("cuda12",), pins=(PLUGIN, "jaxlib==0.4.30"))
JAXLIB = PlannedBuild(name="jaxlib", version="0.3.0+cuda11", index="https://jax.example/releases.html", links=True)
FLASH = PlannedBuild(name="flash-attn", version="2.5.8", compile=True)


def words(builds, constraints=(), place=None):
    return [shlex.split(line) for line in typed(installs(builds, constraints), place or Place())]


def test_each_index_has_a_command_of_its_own_the_default_one_last():
    assert words([JAX, TORCH], ("numpy<2",)) == [
        ["pip", "install", "torch==2.4.0+cu124", "--index-url", "https://torch.example/cu124"],
        ["pip", "install", "jax[cuda12]==0.4.30", PLUGIN, "jaxlib==0.4.30", "numpy<2"],
    ]


def test_a_page_of_links_is_asked_beside_the_default_index():
    """A wheel of such a page requires what the default index has, or is what a wheel from there requires."""
    page = ["--find-links", "https://jax.example/releases.html"]
    old = PlannedBuild(name="jax", version="0.3.0")
    assert words([old, TORCH, JAXLIB], ("numpy<2",)) == [
        ["pip", "install", "torch==2.4.0+cu124", "--index-url", "https://torch.example/cu124"],
        ["pip", "install", "jax==0.3.0", "jaxlib==0.3.0+cuda11", "numpy<2", *page],
    ]
    assert words([JAXLIB]) == [["pip", "install", "jaxlib==0.3.0+cuda11", *page]]


def test_two_pages_of_links_are_asked_in_one_command_with_the_default_index():
    """Either page's wheels may require the framework of the default index, which an earlier command would upgrade."""
    torch = PlannedBuild(name="torch", version="2.1.0")
    mmcv = PlannedBuild(name="mmcv", version="2.1.0", index="https://mm.example/cu121.html", links=True)
    line = words([mmcv, torch, JAXLIB])
    assert line == [
        [
            "pip", "install", "mmcv==2.1.0", "torch==2.1.0", "jaxlib==0.3.0+cuda11",
            "--find-links", "https://mm.example/cu121.html", "--find-links", "https://jax.example/releases.html",
        ]
    ]  # fmt: skip


def test_what_is_compiled_comes_last_against_what_was_installed_and_after_its_tools():
    assert words([FLASH, TORCH], ("numpy<2",)) == [
        ["pip", "install", "torch==2.4.0+cu124", "--index-url", "https://torch.example/cu124"],
        ["pip", "install", "numpy<2"],  # no other index is bound to have it
        ["pip", "install", "ninja", "packaging", "psutil", "setuptools", "wheel"],
        ["pip", "install", "--no-build-isolation", "flash-attn==2.5.8"],
    ]


@pytest.mark.parametrize(("manager", "program"), [("pip", ["pip"]), ("uv", ["uv", "pip"])])
def test_the_tool_of_the_place_installs(manager, program):
    (line,) = words([TORCH], place=Place(manager=manager))
    assert line[: len(program) + 1] == [*program, "install"]


@pytest.mark.parametrize("manager", ["uv project", "pdm", "pixi"])
def test_a_project_is_told_by_its_own_tool_what_to_hold(manager):
    changes = (*installs([TORCH]), Uninstall(("apex",)))
    lines = [shlex.split(line) for line in typed(changes, Place(manager=manager))]
    tool = manager.partition(" ")[0]
    assert {line[0] for line in lines} == {tool}
    assert any("https://torch.example/cu124" in word for line in lines for word in line)
    assert lines[-1][:2] == [tool, "remove"]
    assert not any("pip" in line for line in lines)


def test_poetry_adds_to_its_project_what_its_next_install_would_undo():
    source, add = words([TORCH], place=Place(manager="poetry"))
    assert source[:5] == ["poetry", "source", "add", "--priority", "explicit"]
    assert add[:4] == ["poetry", "add", "--source", source[5]]
    assert source[6].startswith("https://")
    assert typed([install("numpy", "<2")], Place(manager="poetry")) == ('poetry add "numpy<2"',)
    assert typed([Uninstall(("apex",))], Place(manager="poetry")) == ("poetry remove apex",)


def test_who_ran_something_by_a_projects_tool_has_a_project():
    assert place_of(Host({}), ["uv pip list", "uv run train.py"]).manager == "uv project"
    assert place_of(Host({"python_environment": Fact("uv", "test")}), ["uv pip list"]).manager == "uv"
    assert place_of(Host({}), ["pdm run train.py"]).manager == "pdm"


@pytest.mark.parametrize(
    ("init", "restart", "start"),
    [
        (None, "sudo systemctl restart docker", "sudo systemctl enable --now docker"),
        ("systemd", "sudo systemctl restart docker", "sudo systemctl enable --now docker"),
        ("openrc", "sudo rc-service docker restart", "sudo rc-service docker start"),
        ("init", "sudo service docker restart", "sudo service docker start"),
    ],
)
def test_a_service_is_started_by_what_manages_services_there(init, restart, start):
    place = place_of(Host({"init": Fact(init, "/run")} if init else {}))
    assert typed([Service("docker"), Service("docker", start=True)], place) == (restart, start)


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        ({"user_id": 0}, ("service docker start", "modprobe a && modprobe b", "echo x | tee /etc/y")),
        ({"user_id": 1000}, ("sudo service docker start", "sudo modprobe a && sudo modprobe b", "echo x | sudo tee /etc/y")),
        # what a container asks of its host is typed by whoever owns that
        ({"user_id": 0, "container": "docker"}, ("sudo service docker start", "sudo modprobe a && sudo modprobe b", "echo x | sudo tee /etc/y")),
    ],
)  # fmt: skip
def test_root_needs_no_sudo_which_a_machine_of_roots_may_lack(facts, lines):
    place = place_of(Host({name: Fact(value, "test") for name, value in {"init": "init", **facts}.items()}))
    deeds = [
        Service("docker", start=True),
        Command("sudo modprobe a && sudo modprobe b"),
        Command("echo x | sudo tee /etc/y"),
    ]
    assert typed(deeds, place) == lines


def test_windows_restarts_its_linux_and_no_other_loader_is_told_of_linux_paths():
    wsl = typed([Command("sudo reboot")], Place(platform="wsl2"))
    windows = Host({"platform": Fact("windows", "test")})
    assert wsl == ("wsl --shutdown",)
    assert suited([Variable("LD_LIBRARY_PATH")], windows) == ()
