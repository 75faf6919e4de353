"""Packages, interpreters and builds: against the standard library's own reading, and against known layouts."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.detect import builds, packages
from compat.detect.interpreter import at
from compat.detect.machine import Machine
from compat.detect.root import Root
from compat.run import run


@pytest.fixture
def here(monkeypatch):
    """The machine that runs the tests, looking at the interpreter that runs them."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return Machine(Root(), run, time.monotonic() + 10, sys.prefix)


def site(root, **packages_by_name):
    """A site-packages folder in a recording: file name -> text below one prefix."""
    base = "/venv/lib/python3.11/site-packages"
    files = {f"{base}/{name}": text for name, text in packages_by_name.items()} | root
    return {"files": {"/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.9\n", "/venv/bin/python": "", **files}}


def test_packages_agree_with_importlib_metadata(here):
    base = at(here, sys.prefix, "").sites
    expected = {
        packages.normalise(each.metadata["Name"]): each.version
        for each in importlib.metadata.distributions(path=list(base))
    }
    assert packages.installed(here).versions == expected


def test_requirements_agree_with_importlib_metadata(here, recorded):
    text = importlib.metadata.distribution("pytest").read_text("METADATA")
    renamed = text.replace("Name: pytest", "Name: torch", 1)
    host = recorded(site({}, **{"torch-2.0.dist-info/METADATA": renamed}), python="/venv")
    expected = [each for each in importlib.metadata.requires("pytest") if "extra ==" not in each]
    assert list(host.package_requires["torch"]) == expected


@pytest.mark.parametrize(
    ("said", "owner"),
    [("pip\n", "pip"), ("uv", "uv"), ("conda\n", "conda"), ("Poetry 1.8.2", "poetry"), ("rpm", "system")],
)
def test_who_installed_a_package_is_told_by_its_file(recorded, said, owner):
    files = {"torch-2.0.dist-info/METADATA": "Name: torch\n", "torch-2.0.dist-info/INSTALLER": said}
    host = recorded(site({}, **files, **{"requests-2.0.dist-info/INSTALLER": "pip"}), python="/venv")
    assert host.installers == {"torch": owner}


def test_version_of_a_venv_comes_from_its_own_file(tmp_path, recorded):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    machine = Machine(Root(), run, time.monotonic() + 10)
    found = at(machine, str(tmp_path / "venv"), "")
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.kind == "venv"
    assert found.sites == (f"{tmp_path}/venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages",)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"/venv/pyvenv.cfg": "home = /usr/bin\nversion_info = 3.11.9\nuv = 0.4.1\n"}, "uv"),
        ({"/venv/pyvenv.cfg": "home = /usr/bin\nversion = 3.11.9\n"}, "venv"),
        ({"/venv/conda-meta/python-3.11.9-h955ad1f_0.json": "{}"}, "conda"),
    ],
)
def test_kind_of_environment_is_told_by_its_marks(recorded, given, kind):
    said = {"files": {"/venv/bin/python": "", "/venv/lib/python3.11/site-packages/x.py": "", **given}}
    host = recorded(said, python="/venv/bin/python")
    assert (host.python, host.python_environment) == ("3.11.9", kind)


@pytest.mark.parametrize("program", ["bin/python3", "bin/python", "Scripts/python.exe", "python.exe"])
def test_interpreter_of_an_environment_is_found_in_each_layout(recorded, program):
    files = {"/ml/pyvenv.cfg": "version = 3.11.9\n", f"/ml/{program}": ""}
    assert recorded({"files": files}, python="/ml").python_path == f"/ml/{program}"


@pytest.mark.parametrize(
    ("system", "path", "version"),
    [
        ("linux", "/extra:relative:", "1.0"),
        ("linux", "relative:C:extra", "2.0"),
        ("windows", "relative;C:/extra", "1.0"),
        ("windows", "C:/none;C:\\extra", "2.0"),
    ],
)
def test_copy_on_pythonpath_comes_before_the_environments(recorded, system, path, version):
    folders = {"linux": "/extra", "windows": "/C:/extra"}
    said = site({f"{folders[system]}/numpy-1.0.dist-info/METADATA": ""}, **{"numpy-2.0.dist-info/METADATA": ""})
    host = recorded(said | {"system": system, "env": {"PYTHONPATH": path}}, python="/venv")
    assert host.packages["numpy"] == version


def test_missing_interpreter_is_a_reason(recorded):
    host = recorded({}, python="/nowhere/python")
    assert "nothing is at" in host.reading("packages").why


def test_what_is_no_interpreter_is_never_run(replay):
    from compat.detect import detect

    recording = replay.Recording({"files": {"/usr/bin/rm": "", "/usr/bin/python3.12": ""}})
    ran = []

    def watch(argv, **options):
        ran.append(argv[0])
        return recording.run(argv, **options)

    host = detect(root=recording, run=watch, python="/usr/bin/rm")
    assert "is no Python interpreter" in host.reading("packages").why
    assert "/usr/bin/rm" not in ran
    assert detect(root=recording, run=watch, python="python3.12").python == "3.12"
    assert "/usr/bin/python3.12" in ran


def test_active_environment_wins_over_our_own(recorded):
    said = site({}, **{"numpy-1.26.4.dist-info/METADATA": ""}) | {"env": {"VIRTUAL_ENV": "/venv"}}
    host = recorded(said)
    assert host.packages == {"numpy": "1.26.4"}
    assert host.source("python") == "active (VIRTUAL_ENV)"


def test_python_on_path_is_meant_if_only_it_holds_a_framework(recorded):
    base = "/usr/local/lib/python3.11/dist-packages"
    said = {
        "files": {"/usr/bin/python3.11": "", f"{base}/torch/version.py": "__version__ = '2.1'\ncuda = None\n"},
        "links": {"/usr/bin/python3": "python3.11"},
        "commands": {f"python3 -c {at.__globals__['_ASK']}": f"3.11.2\n/usr\n{base}\n"},
    }
    host = recorded(said)
    assert (host.python, host.python_path, host.python_environment) == ("3.11.2", "/usr/bin/python3", "system")
    assert host.builds["torch"].runtime == "cpu"


def test_our_own_python_stays_if_no_other_holds_a_framework(recorded):
    said = {"files": {"/usr/bin/python3.11": ""}, "links": {"/usr/bin/python3": "python3.11"}}
    assert recorded(said).python_path == "/opt/envcheck/bin/python"


def test_tool_environment_gives_way_to_the_python_on_path(recorded):
    said = {
        "python": {
            "executable": "/root/.local/pipx/venvs/envcheck/bin/python",
            "prefix": "/root/.local/pipx/venvs/envcheck",
        },
        "files": {"/usr/bin/python3.10": ""},
        "links": {"/usr/bin/python3": "python3.10"},
    }
    host = recorded(said)
    assert (host.python, host.python_path) == ("3.10", "/usr/bin/python3")


def test_two_copies_are_told_and_the_first_on_the_path_counts(recorded):
    said = site({"/user/site/torch-1.13.1.dist-info/METADATA": ""}, **{"torch-2.0.1+cu118.dist-info/METADATA": ""})
    host = recorded(said | {"env": {"PYTHONPATH": "/user/site"}}, python="/venv")
    assert host.packages["torch"] == "1.13.1"
    assert host.duplicate_packages == {"torch": ("1.13.1", "2.0.1+cu118")}


def test_what_pip_could_not_remove_is_no_package(recorded):
    host = recorded(
        site({}, **{"~orch-2.0.1.dist-info/METADATA": "", "torch-2.1.0.dist-info/METADATA": ""}), python="/venv"
    )
    assert host.packages == {"torch": "2.1.0"}


def test_nothing_of_the_environment_is_imported(tmp_path):
    folder = tmp_path / "torch"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "version.py").write_text("__version__ = '2.1.0'\ncuda = '12.1'\nhip = None\nraise SystemExit('run')\n")
    machine = Machine(Root(), run, time.monotonic() + 10)
    assert builds.torch(machine, str(tmp_path)).runtime == "cuda12.1"
    assert "torch" not in sys.modules


TF_NEW = """build_info = collections.OrderedDict([('cpu_compiler', '/usr/lib/llvm-18/bin/clang'), ('cuda_compute_capabilities',
 ['sm_60', 'sm_80', 'compute_90']), ('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True),
 ('is_rocm_build', False), ('is_tensorrt_build', True)])"""
TF_OLD = (
    """build_info = {'cuda_version': '10.1', 'cudnn_version': '7', 'is_cuda_build': True, 'is_rocm_build': False}"""
)


@pytest.mark.parametrize(
    ("path", "text", "name", "want"),
    [
        ("torch/version.py", "__version__ = '2.9.1+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", "torch", {"runtime": "cuda12.8"}),
        ("torch/version.py", "__version__ = '2.5'\ncuda = None\nhip = '6.2.41133-dd7f95766'\n", "torch", {"runtime": "rocm6.2"}),
        ("torch/version.py", "__version__ = '2.15.0'\ncuda: Optional[str] = None\nhip: Optional[str] = '7.1.2'\nrocm: Optional[str] = '7.14.0'\n", "torch", {"runtime": "rocm7.14.0"}),
        ("paddle/version/__init__.py", "full_version     = '3.3.1'\ncuda_version     = '12.6'\ncudnn_version    = '9.5.1'\nhip_version      = None\ncompiled_cuda_archs     = [75, 80, 90]\n", "paddle", {"runtime": "cuda12.6", "kernels": ("sm_75", "sm_80", "sm_90")}),
        ("torch/version.py", "__version__ = '2.5'\ncuda = None\nhip = None\nxpu = '20250000'\n", "torch", {"runtime": "xpu"}),
        ("tensorflow/python/platform/build_info.py", TF_NEW, "tensorflow", {"runtime": "cuda12.5", "cudnn": "9", "kernels": ("sm_60", "sm_80", "compute_90")}),
        ("tensorflow/python/platform/build_info.py", TF_OLD, "tensorflow", {"runtime": "cuda10.1", "cudnn": "7"}),
        ("tensorflow/python/platform/build_info.py", "build_info = {'is_cuda_build': False, 'is_rocm_build': False}", "tensorflow", {"runtime": "cpu"}),
        ("jaxlib/version.py", "", "jax", {"runtime": "cpu"}),
        ("paddle/version/__init__.py", "full_version = '2.6.2'\ncuda_version = '12.0'\ncudnn_version = '8.9.1'\n", "paddle", {"runtime": "cuda12.0", "cudnn": "8.9.1"}),
        ("paddle/version/__init__.py", "full_version = '2.6.2'\ncuda_version = 'False'\ncudnn_version = 'False'\n", "paddle", {"runtime": "cpu", "cudnn": ""}),
        ("onnxruntime/capi/build_and_package_info.py", "package_name = 'onnxruntime-gpu'\n__version__ = '1.18.0'\ncuda_version = '11.8'\n", "onnxruntime", {"runtime": "cuda11.8"}),
        ("onnxruntime/capi/build_and_package_info.py", "package_name = 'onnxruntime'\n__version__ = '1.18.0'\n", "onnxruntime", {"runtime": "cpu"}),
        ("xformers/cpp_lib.json", '{"version": {"cuda": 1201, "hip": null, "torch": "2.1.2+cu121"}, "env": {"TORCH_CUDA_ARCH_LIST": "5.0+PTX 8.0 9.0a"}}', "xformers", {"runtime": "cuda12.1", "torch": "2.1.2+cu121", "kernels": ("sm_50", "compute_50", "sm_80", "sm_90a")}),
        ("deepspeed/git_version_info_installed.py", "version='0.14'\ntorch_info={'version': '2.1', 'bf16_support': True, 'cuda_version': '12.1'}\n", "deepspeed", {"runtime": "cuda12.1", "torch": "2.1"}),
    ],
)  # fmt: skip
def test_build_is_read_from_the_file_that_records_it(recorded, path, text, name, want):
    host = recorded(site({}, **{path: text, "x-1.dist-info/METADATA": ""}), python="/venv")
    build = host.builds[name]
    assert {key: getattr(build, key) for key in want} == want


@pytest.mark.parametrize(
    ("folder", "files", "name", "want"),
    [
        ("torchvision-0.15.2+cu118", {}, "torchvision", {"runtime": "cuda11.8"}),
        ("torch_scatter-2.1.2+pt21cu121", {}, "torch-scatter", {"runtime": "cuda12.1", "torch": "2.1"}),
        ("jaxlib-0.4.13+cuda12.cudnn89", {}, "jaxlib", {"runtime": "cuda12"}),
        ("torchaudio-2.6.0+rocm6.2.4", {}, "torchaudio", {"runtime": "rocm6.2.4"}),
        ("cupy_cuda12x-13.3.0", {}, "cupy-cuda12x", {"runtime": "cuda12"}),
        ("flash_attn-2.5.8", {"direct_url.json": '{"url": "https://github.com/x/flash_attn-2.5.8+cu122torch2.3cxx11abiFALSE-cp310-cp310-linux_x86_64.whl"}', "WHEEL": "Tag: cp310-cp310-linux_x86_64\n"}, "flash-attn", {"runtime": "cuda12.2", "torch": "2.3", "cxx11_abi": False, "python_tag": "cp310"}),
    ],
)  # fmt: skip
def test_build_is_read_from_its_labels(recorded, folder, files, name, want):
    said = {f"{folder}.dist-info/{file}": text for file, text in ({"METADATA": ""} | files).items()}
    build = recorded(site({}, **said), python="/venv").builds[name]
    assert {key: getattr(build, key) for key in want} == want


@pytest.mark.parametrize(
    ("label", "runtime"),
    [
        ("cu118", "cuda11.8"),
        ("cu92", "cuda9.2"),
        ("cu12.1", "cuda12.1"),
        ("cuda12.cudnn89", "cuda12"),
        ("pt210cu128", "cuda12.8"),
        ("rocm6.2.4", "rocm6.2.4"),
        ("rocm60", "rocm6.0"),
        ("rocm571", "rocm5.7.1"),
        ("cpu", "cpu"),
        ("xpu", "xpu"),
        ("cpu.cxx11.abi", "cpu"),
        ("git1234", ""),
        ("", ""),
    ],
)
def test_runtime_of_a_label(label, runtime):
    assert builds.runtime(label) == runtime


@pytest.mark.parametrize(
    ("version", "text", "runtime"),
    [
        ("2.6.0+rocm6.2.4", "cuda = None\nhip = '6.2.41134-65d174c3e'\n", "rocm6.2.4"),
        ("2.1.0+cu118", "cuda = '12.1'\nhip = None\n", "cuda12.1"),
        ("2.1.0", "cuda = '12.1'\nhip = None\n", "cuda12.1"),
    ],
)
def test_file_of_a_build_wins_and_a_label_may_be_finer(recorded, version, text, runtime):
    files = {"torch/version.py": f"__version__ = '{version}'\n{text}", f"torch-{version}.dist-info/METADATA": ""}
    assert recorded(site({}, **files), python="/venv").builds["torch"].runtime == runtime


@pytest.mark.parametrize(
    ("flags", "abi"),
    [("-D_GLIBCXX_USE_CXX11_ABI=1", True), ("-D_GLIBCXX_USE_CXX11_ABI=0 -O2", False), ("-O2", None), (None, None)],
)
def test_string_abi_of_torch_is_that_of_the_flags_it_hands_on(recorded, flags, abi):
    config = {} if flags is None else {"torch/share/cmake/Torch/TorchConfig.cmake": f'set(TORCH_CXX_FLAGS "{flags}")'}
    said = site({}, **{"torch/version.py": "__version__ = '2.9'\ncuda = '12.8'\n", **config})
    assert recorded(said, python="/venv").builds["torch"].cxx11_abi is abi


def test_jax_takes_the_runtime_of_its_plugin(recorded):
    said = {"jaxlib/version.py": "", "jax_plugins/xla_cuda12/__init__.py": "", "jax-0.5.0.dist-info/METADATA": ""}
    assert recorded(site({}, **said), python="/venv").builds["jax"].runtime == "cuda12"


def test_library_in_a_wheel_has_the_version_of_its_distribution(recorded):
    said = {
        "nvidia/cudnn/lib/libcudnn.so.9": "",
        "nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA": "",
        "torch/lib/libcudart.so.12": "",
    }
    found = {each.name: each for each in recorded(site({}, **said), python="/venv").libraries}
    assert (found["libcudnn.so.9"].version, found["libcudnn.so.9"].origin, found["libcudnn.so.9"].loaded) == (
        "9.1.0.70",
        "wheel",
        False,
    )
    assert found["libcudart.so.12"].origin == "wheel"


@given(st.text(max_size=200))
def test_label_reader_takes_any_text(text):
    assert isinstance(builds.runtime(text), str)


@given(path=st.sampled_from(sorted(builds.READERS)), data=st.binary(max_size=400))
def test_build_readers_take_any_bytes(replay, path, data):
    files = {
        "torch": "torch/version.py",
        "tensorflow": "tensorflow/python/platform/build_info.py",
        "jax": "jaxlib/version.py",
        "paddle": "paddle/version/__init__.py",
        "onnxruntime": "onnxruntime/capi/build_and_package_info.py",
        "xformers": "xformers/cpp_lib.json",
        "deepspeed": "deepspeed/git_version_info_installed.py",
    }
    text = {"torch": b"__version__ = '1'\n", "tensorflow": b"build_info = ", "xformers": b'{"version": '}.get(
        path, b"full_version package_name version "
    )
    recording = replay.Recording({"binary": {f"/s/{files[path]}": (text + data).hex()}})
    build = builds.READERS[path](Machine(recording, recording.run, 0), "/s")
    assert build is None or isinstance(build.runtime, str)
