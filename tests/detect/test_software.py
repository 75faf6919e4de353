"""Toolkits, build tools and system packages."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from compat import versions
from compat.detect import detect
from compat.facts import Fact, Unknown

JSON = '{\n   "cuda" : {\n      "name" : "CUDA SDK",\n      "version" : "%s"\n   },\n "nvcc": {"version": "9.9"}}\n'


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"version.json": JSON % "12.4.1"}, "12.4.1"),
        ({"version.txt": "CUDA Version 10.2.89\n"}, "10.2.89"),
        ({"include/cuda.h": "/* x */\n#define CUDA_VERSION 11080\n"}, "11.8"),
        ({"targets/x86_64-linux/include/cuda.h": "#define CUDA_VERSION 12060\n"}, "12.6"),
        ({"version.json": "{", "version.txt": "CUDA Version 9.0.176"}, "9.0.176"),
        ({"bin/nvcc": ""}, None),
    ],
)
def test_version_of_a_toolkit_comes_from_its_own_files(seen, files, version):
    told = seen(
        "toolkits",
        files={f"/usr/local/cuda-x/{name}": text for name, text in files.items()},
        env={"CUDA_HOME": "/usr/local/cuda-x"},
    )
    assert told["cuda_toolkits"].value == ({} if version is None else {"/usr/local/cuda-x": version})


def test_toolkits_are_counted_once_however_many_links_lead_there(seen):
    told = seen(
        "toolkits",
        files={"/usr/local/cuda-12.4/version.json": JSON % "12.4.1", "/usr/local/cuda-11.8/version.json": JSON % "11.8.0"},
        links={"/usr/local/cuda": "/etc/alternatives/cuda", "/etc/alternatives/cuda": "/usr/local/cuda-12.4", "/usr/local/cuda-12": "cuda-12.4"},
        env={"CUDA_PATH": "/usr/local/cuda/"},
    )  # fmt: skip
    assert told["cuda_toolkits"].value == {"/usr/local/cuda-12.4": "12.4.1", "/usr/local/cuda-11.8": "11.8.0"}


NVCC = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.5, V11.5.119\nBuild cuda_11.5\n"


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ({"files": {"/usr/local/cuda-12.4/bin/nvcc": "", "/usr/local/cuda-12.4/version.json": JSON % "12.4.1"}, "env": {"PATH": "/usr/local/cuda-12.4/bin"}}, "12.4.1"),
        ({"files": {"/usr/bin/nvcc": ""}, "commands": {"nvcc --version": NVCC}}, "11.5.119"),
        ({"files": {"/usr/bin/nvcc": ""}, "commands": {"nvcc --version": "Cuda compilation tools, release 12.0"}}, "12.0"),
        ({"files": {"/usr/bin/nvcc": ""}, "commands": {"nvcc --version": "who knows"}}, "unknown"),
        ({"files": {"/usr/bin/nvcc": ""}, "commands": {"nvcc --version": {"code": 124, "why": "nvcc did not answer"}}}, "unknown"),
        ({}, None),
    ],
)  # fmt: skip
def test_first_toolkit_is_that_of_nvcc_on_path(seen, said, version):
    reading = seen("toolkits", **said)["cuda_toolkit"]
    assert (reading.value if isinstance(reading, Fact) else "unknown") == version


@pytest.mark.parametrize(
    ("number", "text"), [(12040, "12.4"), (13000, "13.0"), (9020, "9.2"), (10010, "10.1"), (13100, "13.10")]
)
def test_one_number_version_of_cuda(number, text):
    assert versions.unpacked_cuda(number) == text


TOOLS = {
    "gcc": ("gcc -dumpfullversion -dumpversion", "12.2.0\n", "12.2.0"),
    "clang": ("clang --version", "Ubuntu clang version 14.0.0-1ubuntu1.1\nTarget: x86_64-pc-linux-gnu\n", "14.0.0"),
    "cmake": ("cmake --version", "cmake version 3.25.1\n\nCMake suite\n", "3.25.1"),
    "ninja": ("ninja --version", "1.11.1.git.kitware.jobserver-1\n", "1.11.1"),
}


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_tool_on_path_tells_its_version(seen, name):
    command, out, version = TOOLS[name]
    told = seen("tools", files={f"/usr/bin/{name}": ""}, commands={command: out})
    assert told[name] == Fact(version, f"/usr/bin/{name}")


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_tool_that_says_nothing_useful_is_unknown(seen, name):
    told = seen("tools", files={f"/usr/bin/{name}": ""}, commands={TOOLS[name][0]: {"code": 1, "err": "broken"}})
    assert isinstance(told[name], Unknown)
    assert seen("tools")[name].value is None


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_tools_of_this_machine_are_found_as_the_shell_finds_them(name):
    host = detect()
    path = shutil.which(name)
    assert host.known(name)
    if path is None and shutil.which("ninja-build") is None:
        assert host.value(name) is None
    elif path is not None:
        assert (
            host.value(name) in subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        )


@pytest.mark.parametrize(
    ("folders", "version"),
    [(["cmake-3.25"], "3.25"), (["cmake"], "3.31.6"), (["cmake-3.25", "cmake-3.31"], "3.31.6"), ([], "3.31.6")],
)
def test_cmake_is_asked_only_where_its_folder_does_not_tell(seen, folders, version):
    files = {"/usr/bin/cmake": "", **{f"/usr/share/{name}/Modules/Platform": "" for name in folders}}
    told = seen("tools", files=files, commands={"cmake --version": "cmake version 3.31.6\n"})["cmake"]
    assert told == Fact(version, f"/usr/share/cmake-{version}" if version == "3.25" else "/usr/bin/cmake")


def test_programs_in_relative_folders_are_not_run(seen):
    assert seen("tools", files={"/desk/gcc": ""}, env={"PATH": ".:desk:"})["gcc"].value is None


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("C:/Windows;C:/tools", "3.30.1"),
        ("C:\\Windows;C:/tools/", "3.30.1"),
        ("/tools;tools;.;;C:tools", None),
        ("C:/Windows:C:/tools", None),
    ],
)
def test_programs_of_windows_are_run_from_full_paths_alone(seen, path, version):
    """A ``cmake.exe`` in the folder that somebody stands in, or on whatever drive that is, may be anybody's."""
    files = dict.fromkeys(("/C:/tools/cmake.exe", "/tools/cmake.exe", "/cmake.exe", "/C:tools/cmake.exe"), "")
    said = {"files": files, "commands": {"cmake.exe --version": "cmake version 3.30.1\n"}}
    assert seen("tools", system="windows", env={"PATH": path}, **said)["cmake"].value == version


PARAGRAPH = "Package: {}\nStatus: {}\nPriority: optional\nVersion: {}\nDescription: x\n .\n more\n\n"


@pytest.mark.parametrize(
    ("name", "status", "kept"),
    [
        ("nvidia-driver-550", "install ok installed", True),
        ("libnvidia-compute-550", "install ok installed", True),
        ("cuda-drivers-550", "install ok installed", True),
        ("cuda-compat-12-4", "install ok installed", True),
        ("amdgpu-dkms", "hold ok installed", True),
        ("nvidia-driver-470", "deinstall ok config-files", False),
        ("nvidia-container-toolkit", "install ok installed", False),
        ("cuda-toolkit-12-4", "install ok installed", False),
        ("my-nvidia-driver", "install ok installed", False),
        ("bash", "install ok installed", False),
    ],
)
def test_driver_packages_of_dpkg(seen, name, status, kept):
    text = PARAGRAPH.format("adduser", "install ok installed", "1") + PARAGRAPH.format(name, status, "1:2.3-4")
    told = seen("system_packages", files={"/var/lib/dpkg/status": text})["driver_packages"]
    assert told.value == ((f"{name} 1:2.3-4",) if kept else ())


def test_a_paragraph_of_dpkg_is_read_by_itself(seen):
    """What a removed package lacks is not taken from the one that follows it."""
    removed = PARAGRAPH.format("nvidia-driver-470", "deinstall ok config-files", "470.1")
    bare = "Package: nvidia-dkms-550\nStatus: install ok installed\n\n"
    text = removed + bare + PARAGRAPH.format("nvidia-driver-550", "install ok installed", "550.2").rstrip("\n")
    assert seen("system_packages", files={"/var/lib/dpkg/status": text})["driver_packages"].value == (
        "nvidia-driver-550 550.2",
    )


def test_driver_packages_of_pacman(seen):
    folders = [
        f"/var/lib/pacman/local/{name}" for name in ("nvidia-550.90.07-1", "nvidia-utils-550.90.07-2", "bash-5.2.026-2")
    ]
    told = seen("system_packages", folders=folders)["driver_packages"]
    assert told.value == ("nvidia 550.90.07", "nvidia-utils 550.90.07")


@pytest.mark.parametrize(
    "commands", [{}, {"rpm -qa --qf %{NAME} %{VERSION}\\n": {"code": 124, "why": "rpm did not answer within 5 s"}}]
)
def test_rpm_that_cannot_be_asked_is_a_reason_not_an_empty_list(seen, commands):
    files = {"/var/lib/rpm/rpmdb.sqlite": "", **({"/usr/bin/rpm": ""} if commands else {})}
    assert isinstance(seen("system_packages", files=files, commands=commands)["driver_packages"], Unknown)


def test_database_that_may_not_be_read_is_a_reason(seen):
    assert isinstance(seen("system_packages", denied=["/var/lib/dpkg/status"])["driver_packages"], Unknown)


def test_dpkg_agrees_with_this_machines_dpkg():
    if shutil.which("dpkg-query") is None:
        pytest.skip("needs dpkg")
    from compat.detect import system_packages

    out = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = dict(line.split()[1:] for line in out.stdout.splitlines() if line.startswith("installed "))
    with open("/var/lib/dpkg/status", "rb") as file:
        found = system_packages._dpkg(file.read())
    assert found == {name: version for name, version in rows.items() if name in found}
