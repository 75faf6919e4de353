"""Lint on the machine that the files are meant for: each fault beside the same file on a machine that it fits."""

import json

import pytest

from compat.app.lint import lint_files
from compat.app.plans import Target
from compat.cli import run
from compat.errors import InputError
from compat.matrix import matrix

MATRIX = matrix()
PYTORCH = "https://download.pytorch.org/whl"
SLIM = "FROM python:3.12-slim-trixie\nUSER 1000\n"
CUDA = "FROM nvidia/cuda:12.8.1-base-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\nUSER 1000\n"
AMD = "FROM rocm/dev-ubuntu-22.04:6.2\nRUN apt-get update && apt-get install -y python3-pip\nUSER 1000\n"


def faults(folder, text, name="Dockerfile", **machine):
    """(code, line) of the errors and warnings, in the order of the file."""
    (folder / name).write_text(text)
    report = lint_files([str(folder / name)], MATRIX, target=Target(**machine))
    return sorted(((item.code, item.place.line) for item in report.findings if item.severity != "info"), key=str)


TABLE = [
    # the build has no code for the GPU; one of another runtime has
    (SLIM + "RUN pip install torch==2.6.0\n", {"gpus": ("RTX 5090",)}, [("arch-too-new-for-build", 3)]),
    (SLIM + "RUN pip install torch==2.6.0\n", {"gpus": ("RTX 4090",)}, []),
    (SLIM + f"RUN pip install torch==2.8.0 --index-url {PYTORCH}/cu128\n", {"gpus": ("RTX 5090",)}, []),
    (SLIM + "RUN pip install torch==2.8.0\n", {"gpus": ("GTX 1080 Ti",)}, [("arch-too-old-for-build", 3)]),
    (SLIM + f"RUN pip install torch==2.8.0 --index-url {PYTORCH}/cu126\n", {"gpus": ("GTX 1080 Ti",)}, []),
    (SLIM + f"RUN pip install torch==2.8.0 --index-url {PYTORCH}/rocm6.4\n", {"gpus": ("MI300X",)}, []),
    (SLIM + f"RUN pip install torch==2.8.0 --index-url {PYTORCH}/rocm6.4\n", {"gpus": ("gfx803",)},
     [("rocm-gfx-unsupported", 3)]),
    # one of two GPUs is enough
    (SLIM + "RUN pip install torch==2.6.0\n", {"gpus": ("A100", "RTX 5090")}, [("arch-too-new-for-build", 3)]),
    # of its maker's own build the toolkit tells
    ("FROM nvcr.io/nvidia/pytorch:23.10-py3\nUSER 1000\n", {"gpus": ("B200",)}, [("arch-too-new-for-build", 1)]),
    ("FROM nvcr.io/nvidia/pytorch:23.10-py3\nUSER 1000\n", {"gpus": ("H100",)}, []),
    # a second vendor's GPU is not served, and may be meant to idle; one in the processor says nothing
    (SLIM + "RUN pip install torch==2.6.0\n", {"gpus": ("A100", "MI300X")}, [("wrong-vendor-build", 3)]),
    (SLIM + "RUN pip install jax==0.6.2\n", {"gpus": ("A100", "Intel Arc A770")}, [("accidental-cpu-wheel", 3)]),
    # the driver: too old for the runtime, right at its floor
    (SLIM + "RUN pip install torch==2.6.0\n", {"driver": "450.80.02"}, [("driver-too-old-for-runtime", 3)]),
    (SLIM + "RUN pip install torch==2.6.0\n", {"driver": "525.60.13"}, []),
    (SLIM + f"RUN pip install torch==2.6.0 --index-url {PYTORCH}/cu118\n", {"driver": "450.80.02"}, []),
    # the base image's own condition, whatever is installed on it
    (CUDA, {"driver": "450.80.02"}, [("container-requires-newer-driver", 1)]),
    (CUDA, {"driver": "570.124.06"}, []),
    # the other vendor's base, build and index
    (CUDA, {"gpus": ("MI300X",)}, [("wrong-vendor-build", 1)]),
    (AMD, {"gpus": ("A100",)}, [("wrong-vendor-build", 1)]),
    (SLIM + "RUN pip install torch==2.6.0\n", {"gpus": ("MI300X",)}, [("wrong-vendor-build", 3)]),
    (SLIM + f"RUN pip install torch==2.6.0 --index-url {PYTORCH}/rocm6.2.4\n", {"gpus": ("A100",)},
     [("wrong-vendor-build", 3)]),
    # a CPU build: by accident on any machine with a GPU, and on purpose where the machine says otherwise
    (SLIM + "RUN pip install jax==0.6.2\n", {"gpus": ("A100",)}, [("accidental-cpu-wheel", 3)]),
    (SLIM + "RUN pip install 'jax[cuda12]==0.6.2'\n", {"gpus": ("A100",)}, []),
    # JAX's devices are its plug-in's, which jaxlib uses where both are of one release
    (SLIM + "RUN pip install jax==0.7.1 jaxlib==0.7.1 jax-cuda12-plugin[with-cuda]==0.7.1\n",
     {"gpus": ("A100",)}, []),
    (SLIM + "RUN pip install jax==0.7.1 jax-cuda12-plugin[with-cuda]==0.7.2\n", {"gpus": ("A100",)},
     [("framework-pair-mismatch", 3)]),
    (SLIM + f"RUN pip install torch==2.6.0 --index-url {PYTORCH}/cpu jax-cuda12-plugin\n", {"gpus": ("A100",)},
     [("cpu-only-build", 3)]),
    (SLIM + f"RUN pip install torch==2.6.0 --index-url {PYTORCH}/cpu\n", {"gpus": ("A100",)}, [("cpu-only-build", 3)]),
    (SLIM + f"RUN pip install torch==2.6.0 --index-url {PYTORCH}/cpu\n", {}, []),
    # what a framework's image brings is judged as what a step installs
    ("FROM pytorch/pytorch:2.0.1-cuda11.7-cudnn8-runtime\nUSER 1000\n", {"gpus": ("RTX 5090",)},
     [("arch-too-new-for-build", 1)]),
    ("FROM pytorch/pytorch:2.0.1-cuda11.7-cudnn8-runtime\nUSER 1000\n", {"gpus": ("A100",)}, []),
    # what is replaced later, or is not shipped, is not judged
    (SLIM + "RUN pip install torch==2.6.0\nRUN pip install torch==2.8.0\n", {"gpus": ("RTX 5090",)}, []),
    ("FROM python:3.12-slim-trixie AS old\nRUN pip install torch==2.6.0\n" + SLIM, {"gpus": ("RTX 5090",)}, []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "machine", "expected"), TABLE)
def test_a_file_is_judged_on_the_machine_it_is_meant_for(tmp_path, text, machine, expected):
    assert faults(tmp_path, text, **machine) == expected


@pytest.mark.parametrize("text", dict.fromkeys(text for text, _, _ in TABLE))
def test_without_a_machine_nothing_is_said_of_one(tmp_path, text):
    said = {code for code, _ in faults(tmp_path, text)}
    assert not [code for code in said if code.startswith(("arch-", "driver-", "container-req", "rocm-gfx", "wrong-"))]


def test_a_companion_is_judged_by_its_own_kernels(tmp_path):
    text = SLIM + "RUN pip install xformers==0.0.35\n"
    assert faults(tmp_path, text, gpus=("Tesla K80",)) == [("extension-arch-missing", 3)]
    assert faults(tmp_path, text, gpus=("A100",)) == []
    assert faults(tmp_path, text, gpus=("Intel Arc A770",)) == [("wrong-vendor-build", 3)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("torch==2.6.0; python_version < '3.9'", "which build"),
        ("torch @ git+https://github.com/pytorch/pytorch@v2.6.0", "which build"),
    ],
)
def test_what_could_not_be_judged_is_said_and_not_shown_as_fine(tmp_path, line, why):
    (tmp_path / "requirements.txt").write_text(f"{line}\n")
    report = lint_files([str(tmp_path / "requirements.txt")], MATRIX, target=Target(gpus=("RTX 5090",)))
    assert not report.findings
    assert [why in item.why for item in report.unchecked] == [True]


def test_a_range_leaves_its_build_to_the_line_that_pins_it(tmp_path):
    (tmp_path / "requirements.txt").write_text(
        "--find-links https://download.pytorch.org/whl/torch_stable.html\ntorch<2.1\ntorch==1.8.0+cu111\nnumpy<2\n"
    )
    report = lint_files([str(tmp_path / "requirements.txt")], MATRIX, target=Target(gpus=("A100",)))
    assert (report.findings, report.unchecked) == ((), ())


def test_every_host_file_is_asked_and_names_itself(tmp_path, capsys):
    for name, gpu in (("old", "Tesla V100"), ("new", "RTX 5090")):
        (tmp_path / f"{name}.toml").write_text(f'[[gpus]]\nname = "{gpu}"\n')
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\n")
    hosts = [word for name in ("old", "new") for word in ("--host", str(tmp_path / f"{name}.toml"))]
    assert run(["lint", str(tmp_path / "requirements.txt"), *hosts, "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert found["code"] == "arch-too-new-for-build"
    assert str(tmp_path / "new.toml") in [item["source"] for item in found["evidence"]]


def test_standard_input_is_read_once_for_all_machines(tmp_path, capsys, monkeypatch):
    from io import BytesIO, TextIOWrapper

    hosts = []
    for name, gpu in (("old", "Tesla V100"), ("new", "RTX 5090")):
        (tmp_path / f"{name}.toml").write_text(f'[[gpus]]\nname = "{gpu}"\n')
        hosts += ["--host", str(tmp_path / f"{name}.toml")]
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"torch==2.6.0\n")))
    assert run(["lint", "-", *hosts, "--format", "json"]) == 1
    assert [found["code"] for found in json.loads(capsys.readouterr().out)["findings"]] == ["arch-too-new-for-build"]


def test_a_gpu_that_is_none_is_refused_with_its_option(tmp_path):
    with pytest.raises(InputError, match="--gpu"):
        faults(tmp_path, SLIM, gpus=("GeForce Banana",))


def test_a_gpu_that_a_runtime_does_not_know_cites_the_builds_row(tmp_path):
    build = next(
        row for row in MATRIX.builds("torch") if row.full_version == "1.6.0+cu101" and "win_amd64" in row.platforms
    )
    (tmp_path / "host.toml").write_text(
        'platform = "windows"\narch = "x86_64"\npython = "3.6"\ndriver = "581.80"\n'
        '[[gpus]]\nname = "NVIDIA GeForce RTX 5090"\nvendor = "nvidia"\ntarget = "sm_120"\n'
    )
    (tmp_path / "requirements.txt").write_text(
        "--find-links https://download.pytorch.org/whl/torch_stable.html\ntorch==1.6.0+cu101\n"
    )
    target = Target(hosts=(str(tmp_path / "host.toml"),))
    found = lint_files([str(tmp_path / "requirements.txt")], MATRIX, target=target).findings
    cited = [one.sources for one in found if one.code == "arch-too-new-for-build"]
    assert cited
    assert MATRIX.cite(build) in cited[0]


def test_wheels_for_a_newer_c_library_than_the_machine_has_say_both(tmp_path):
    asked, machine = tmp_path / "requirements.txt", tmp_path / "machine.toml"
    asked.write_text("xformers==0.0.31.post1\n")
    machine.write_text('platform = "linux"\narch = "x86_64"\nlibc = "glibc"\nglibc = "2.26"\npython = "3.12"\n')
    (found,) = lint_files([str(asked)], MATRIX, target=Target(hosts=(str(machine),))).findings
    assert (found.code, found.confidence) == ("glibc-too-old", "certain")
    assert found.detail == "xformers==0.0.31.post1 has wheels for glibc 2.28 and later; the machine has 2.26."


POD = "apiVersion: v1\nkind: Pod\nspec:\n  nodeSelector: {{nvidia.com/gpu.product: {}}}\n  containers:\n    - name: m\n      image: {}\n"
OLD, NEW = "pytorch/pytorch:1.7.1-cuda11.0-cudnn8-runtime", "pytorch/pytorch:2.9.1-cuda13.0-cudnn9-runtime"


def test_each_pod_of_a_manifest_is_judged_on_the_gpu_of_its_own_node(tmp_path):
    right = POD.format("Tesla-V100-SXM2-16GB", OLD) + "---\n" + POD.format("NVIDIA-H100-80GB-HBM3", NEW)
    swapped = POD.format("NVIDIA-H100-80GB-HBM3", OLD) + "---\n" + POD.format("Tesla-V100-SXM2-16GB", NEW)
    assert faults(tmp_path, right, "pods.yaml") == []
    assert faults(tmp_path, swapped, "pods.yaml") == [("arch-too-new-for-build", 7), ("arch-too-old-for-build", 15)]


def test_of_a_framework_of_the_images_maker_it_is_said_that_its_code_is_not_known(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM nvcr.io/nvidia/pytorch:23.10-py3\n")
    report = lint_files([str(tmp_path / "Dockerfile")], MATRIX, target=Target(gpus=("H100",)))
    assert any("the base's torch" in one.what for one in report.unchecked)
