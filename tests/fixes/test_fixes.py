"""Prescriptions: what is typed for a finding on this machine, and that a fix called checked was tried."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_cases import FAULTY

from compat.app.doctor import judged
from compat.changes import applied
from compat.facts import host
from compat.matrix import matrix
from compat.rules import RULES, judge

MATRIX = matrix()
ADA = [{"name": "NVIDIA GeForce RTX 4090", "vendor": "nvidia", "target": "sm_89", "driver": "nvidia"}]
BLACKWELL = [{"name": "NVIDIA GeForce RTX 5090", "vendor": "nvidia", "target": "sm_120", "driver": "nvidia"}]
LINUX = {"platform": "linux", "arch": "x86_64", "python": "3.11"}
JAX_PLUGIN = ("jax-cuda12-plugin", "jax-cuda12-pjrt")
OPTIONS = ("error", "wishes", "commands")
MISSING = "{}: cannot open shared object file: No such file or directory"
DLL = "Could not load dynamic library '{0}'; dlerror: {0} not found"
NO_NVCC = (
    "UserWarning: flash_attn was requested, but nvcc was not found. OSError: CUDA_HOME environment variable is not set."
)
NONE = "ERROR: Could not find a version that satisfies the requirement {}"
SYMBOL = "undefined symbol: _ZN3c104cuda9SetDeviceEi"

# What is known -> code of the first finding, what its fix holds, and what it must never hold.
CASES = [
    ({"packages": {"torch": "2.5.1+cpu"}, "gpus": ADA, **LINUX}, "cpu-only-build", "torch==2.5.1", "jax"),
    (
        {
            "packages": {"torch": "2.6.0+cu124", "torchvision": "0.21.0+cu124"},
            "gpus": BLACKWELL,
            "driver": "570.26",
            **LINUX,
        },
        "arch-too-new-for-build",
        "torch==2.7.0+cu128 torchvision==0.22.0+cu128",
        "cu13",
    ),
    (
        {"packages": {"torch": "2.9.1+cu130"}, "gpus": ADA, "driver": "550.54.14", **LINUX},
        "driver-too-old-for-runtime",
        "or upgrade the NVIDIA driver to 580.65.06 or newer",
        "ubuntu-drivers",
    ),
    (
        {"packages": {"torch": "2.1.0", "torchvision": "0.15.2"}, **LINUX},
        "framework-pair-mismatch",
        "torchvision==0.16.0",
        "torchaudio",
    ),
    (
        {"packages": {"torch": "2.0.1", "numpy": "2.0.0"}, "python": "3.10"},
        "framework-pair-mismatch",
        "numpy<2",
        "torch==",
    ),
    ({"error": f"ImportError: {MISSING.format('libcudnn.so.8')}"}, "library-missing", "nvidia-cudnn-cu1", "ldconfig"),
    ({"error": f"ImportError: {MISSING.format('libcufft.so.11')}"}, "library-missing", "nvidia-cufft-cu12", "cu11"),
    ({"error": f"ImportError: {MISSING.format('libcudnn.so.7')}"}, "library-missing", "cuDNN 7", "nvidia-cudnn"),
    (
        {
            "error": f"ImportError: flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: {SYMBOL}",
            "packages": {"torch": "2.4.0"},
        },
        "abi-mismatch",
        "flash-attn",
        "<package>",
    ),
    (
        {"error": "nvcc fatal   : Unsupported gpu architecture 'compute_89'", "cuda_toolkit": "11.5"},
        "toolkit-too-old-for-arch",
        "11.8",
        "8.0+PTX",
    ),
    (
        {"cuda_toolkit": "11.7", "gcc": "13.2.0", "commands": ["make"]},
        "host-compiler-unsupported",
        "g++-11",
        "apt",
    ),
    (
        {"error": 'could not select device driver "" with capabilities: [[gpu]]', "os": "ubuntu22.04"},
        "container-no-gpu",
        "apt install nvidia-container-toolkit",
        "IMAGE",
    ),
    (
        {
            "packages": {"tensorflow": "2.15.0"},
            "gpus": ADA,
            "platform": "windows",
            "arch": "x86_64",
            "python": "3.11",
            "error": "tf.config.list_physical_devices('GPU') returns []",
        },
        "cpu-only-build",
        "WSL2",
        "and-cuda",
    ),
    (
        {"packages": {"jax": "0.9.0.1", "jaxlib": "0.9.0.1", "jax-cuda12-plugin": "0.9.2"}},
        "framework-pair-mismatch",
        "jax-cuda12-plugin==",
        "torch",
    ),
    (  # jaxlib's own release has no plug-in
        {"packages": dict.fromkeys(("jax", "jaxlib"), "0.4.16") | dict.fromkeys(JAX_PLUGIN, "0.5.1")},
        "framework-pair-mismatch",
        "jaxlib==0.5.1",
        "0.4.16",
    ),
    (
        {"l4t": "35.4.1", "packages": {"torch": "2.1.0+cpu"}, "arch": "aarch64", "platform": "linux", "python": "3.10"},
        "jetson-generic-wheel",
        "JetPack",
        "download.pytorch.org",
    ),
    (
        {
            "packages": {"torch": "2.2.2", "torchvision": "0.17.2"},
            "conda_packages": {"pytorch": "2.2.2 py3.10_cpu_0", "torchvision": "0.17.2 py310_cpu"},
            "builds": {"torch": {"runtime": "cpu"}},
            "gpus": ADA,
            **LINUX,
            "python": "3.10",
        },
        "cpu-only-build",
        "conda install pytorch=2.2.2 torchvision=0.17.2 pytorch-cuda=12.1 -c pytorch -c nvidia",
        "pip",
    ),
    (
        {
            "packages": {"torch": "2.2.2"},
            "conda_packages": {"pytorch": "2.2.2 py3.10_cpu_0", "cpuonly": "2.0 0"},
            "builds": {"torch": {"runtime": "cpu"}},
            "gpus": ADA,
            **LINUX,
            "python": "3.10",
        },
        "cpu-only-build",
        "conda remove --force -y cpuonly\nconda install pytorch=2.2.2",
        "pip",
    ),
    (
        {
            "packages": {"torch": "2.9.1"},
            "conda_packages": {"pytorch": "2.9.1 cpu_generic_py311_0"},
            "builds": {"torch": {"runtime": "cpu"}},
            "gpus": ADA,
            **LINUX,
        },
        "cpu-only-build",
        "conda remove --force -y pytorch\npip install",
        "uninstall",
    ),
    (
        {"packages": {"torch": "2.5.1+cpu"}, "installers": {"torch": "uv"}, "gpus": ADA, **LINUX},
        "cpu-only-build",
        "uv pip uninstall torch\nuv pip install torch==2.5.1",
        "force",
    ),
    (
        {"packages": {"torch": "2.5.1+cpu"}, "installers": {"torch": "system"}, "gpus": ADA, **LINUX},
        "cpu-only-build",
        "python3 -m venv .venv\n.venv/bin/pip install",
        "sudo",
    ),
    (
        {"packages": {"torch": "2.4.0+cu121", "torchvision": "0.20.1+cu124"}, **LINUX},
        "framework-pair-mismatch",
        "pip install torchvision==0.19.0",
        "torch==",
    ),
    (
        {"packages": {"torch": "1.8.1"}, "platform": "linux", "arch": "x86_64", "python": "3.12"},
        "python-unsupported",
        "uv venv --python 3.9\nuv pip install",
        "sudo",
    ),
    (
        {"platform": "windows", "packages": {"tensorflow": "2.9.1"}, "error": DLL.format("cudart64_110.dll")},
        "library-missing",
        "Install CUDA 11.2 and cuDNN 8, which tensorflow 2.9.1 was built for, and put it first on PATH.",
        "nvidia-",
    ),
    (
        {"packages": {"tensorflow-gpu": "2.2.0"}, "error": DLL.format("cudart64_101.dll")},
        "library-missing",
        "CUDA 10.1 and cuDNN 7",
        "lib64",
    ),
    (
        {
            "platform": "windows",
            "packages": {"torch": "2.4.0+cu121"},
            "error": "OSError: [WinError 126] The specified module could not be found. Error loading "
            '"D:\\\\kit\\\\venv\\\\lib\\\\site-packages\\\\torch\\\\lib\\\\shm.dll" or one of its dependencies.',
        },
        "library-missing",
        "winget install Microsoft.VCRedist.2015+.x64",
        "sudo",
    ),
    (
        {
            "packages": {"torch": "2.7.0+rocm6.3"},
            "builds": {"torch": {"runtime": "rocm6.3"}},
            "error": NO_NVCC,
            **LINUX,
        },
        "toolkit-missing",
        "hipcc",
        "CUDA toolkit",
    ),
    ({"platform": "windows", "error": NO_NVCC}, "toolkit-missing", "let CUDA_PATH name it", "devel"),
    (
        {
            "platform": "wsl2",
            "error": "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open",
        },
        "container-no-gpu",
        "wsl --update",
        "nvidia-ctk",
    ),
    (
        {"error": f"{NONE.format('torch==1.13.1')} (from versions: 2.0.0, 2.0.1, 2.4.1)"},
        "python-unsupported",
        "uv venv --python 3.10",
        "3.11",
    ),
    (
        {
            "platform": "darwin",
            "python": "3.11",
            "error": f"{NONE.format('torch==2.6.0')} (from versions: 2.0.0, 2.2.1, 2.2.2)",
        },
        "platform-unsupported",
        "pip install torch==2.2.2",
        "uv venv",
    ),
    (
        {"gpus": BLACKWELL, "packages": {"torch": "2.6.0+cu126"}, "platform": "windows", "python": "3.12"},
        "arch-too-new-for-build",
        "torch==2.7.0+cu128",
        "cu118",
    ),
    (
        {
            "error": f"Failed to load library libonnxruntime_providers_cuda.so with error: {MISSING.format('libcudnn.so.9')}"
            "\nFailed to create CUDAExecutionProvider. Require cuDNN 9.* and CUDA 12.*."
        },
        "library-missing",
        "nvidia-cudnn-cu12",
        "cu13",
    ),
]


def doctor(facts):
    options = {name: facts[name] for name in OPTIONS if name in facts}
    return judged(host("test", **{name: one for name, one in facts.items() if name not in OPTIONS}), MATRIX, **options)


@pytest.mark.parametrize(
    ("facts", "code", "holds", "never"), CASES, ids=[f"{n}-{case[1]}" for n, case in enumerate(CASES)]
)
def test_the_fix_is_for_this_machine(facts, code, holds, never):
    found = next(item for item in doctor(facts).findings if item.code == code)
    said = "\n".join([found.fix.text, *found.fix.commands])
    assert holds in said, said
    assert never not in said, said
    assert len(said) <= 207


OLD_DRIVER = {"gpus": BLACKWELL, "driver": "470.82.01", "driver_cuda": "11.4", "os": "ubuntu22.04", **LINUX}


def test_one_driver_serves_the_gpu_and_the_build_and_the_next_fix_is_for_the_machine_that_has_it():
    packages = {"torch": "2.9.1+cu128", "xformers": "0.0.20", "numpy": "2.1.0"}
    first, *others = doctor({"packages": packages, **OLD_DRIVER}).findings
    fixes = {found.code: found.fix for found in others}
    assert first.fix.text == "Install NVIDIA driver 570.26 or newer."  # what sm_120 needs, more than CUDA 12.8 does
    assert first.fix.checked
    assert fixes["driver-too-old-for-runtime"].text == "The steps above mend this too."
    assert fixes["framework-pair-mismatch"].commands == ("pip install xformers==0.0.33.post2",)
    assert fixes["framework-pair-mismatch"].checked


def test_a_fix_of_one_framework_is_checked_though_another_has_the_same_fault():
    windows = {"platform": "windows", "arch": "x86_64", "python": "3.12", "gpus": ADA, "driver": "560.94"}
    packages = {"torch": "2.5.1+cpu", "torchvision": "0.20.1+cpu", "tensorflow": "2.16.1"}
    found = doctor({"packages": packages, **windows}).findings[0]
    assert found.code == "cpu-only-build"
    assert found.fix.commands[0].endswith(
        "torch==2.5.1+cu124 torchvision==0.20.1+cu124 --index-url https://download.pytorch.org/whl/cu124"
    )
    assert found.fix.checked


def test_a_driver_past_the_gpus_last_branch_is_not_answered_with_a_newer_one():
    kepler = [{"name": "Tesla K80", "vendor": "nvidia", "target": "sm_37", "driver": "nvidia"}]
    found = doctor({"gpus": kepler, "driver": "550.54.15", "os": "ubuntu22.04", **LINUX}).findings[0]
    assert found.code == "driver-gpu-unsupported-by-branch"
    assert "470" in found.fix.text
    assert "or newer" not in found.fix.text


@pytest.mark.parametrize(("code", "facts"), FAULTY, ids=[f"{n}-{code}" for n, (code, _) in enumerate(FAULTY)])
def test_a_fix_that_is_called_checked_mends_and_harms_nothing(code, facts):
    held(facts)


def held(facts):
    """The checked fixes applied one after the other by hand: each finding goes, no error comes. An unchecked one says so."""
    known = host("test", **{name: one for name, one in facts.items() if name not in OPTIONS})
    gone = set()
    for found in doctor(facts).findings:
        before = {item.code for item in judge(known, MATRIX).findings}
        assert not any(
            "<" in command and ">" in command.partition("<")[2] and " <" in command for command in found.fix.commands
        )
        if found.fix.checked and not facts.get("error"):
            known = applied(known, found.fix.changes) or known
            report = judge(known, MATRIX)
            now = {about(item) for item in report.findings if item.severity != "info"}
            errors = {item.code for item in report.findings if item.severity == "error"}
            assert about(found) not in now
            assert errors <= before
            gone.add(found.code)
        elif not found.fix.checked and found.fix.changes:
            assert found.fix.unchecked
    assert not gone & {item.code for item in judge(known, MATRIX).findings if item.severity != "info"}


def about(finding):
    """A finding is of what it cites: a driver too old for one package may be so for another that a later step moves."""
    return finding.code, frozenset(item.fact for item in finding.evidence)


GPUS = st.sampled_from([row for row in MATRIX.table("gpus") if row.target.startswith(("sm_", "gfx"))])
TORCH = st.sampled_from([row for row in MATRIX.builds("torch") if "linux_x86_64" in row.platforms and not row.yanked])
VISION = st.sampled_from(sorted({row.version for row in MATRIX.builds("torchvision")}))


@settings(max_examples=25)
@given(GPUS, TORCH, VISION, st.sampled_from(["470.57.02", "535.54.03", "580.65.06", None]), st.randoms())
def test_fixes_in_random_worlds(gpu, torch, vision, driver, dice):
    vendor = "nvidia" if gpu.target.startswith("sm_") else "amd"
    packages = {"torch": torch.full_version, **({"torchvision": vision} if dice.random() < 0.5 else {})}
    card = {"name": gpu.name, "vendor": vendor, "target": gpu.target}
    python = random.Random(0).choice([one for one in torch.python if not one.endswith("t")] or ["3.11"])
    facts = {"platform": "linux", "arch": "x86_64", "python": python, "gpus": [card], "packages": packages}
    held({**facts, **({"driver": driver} if vendor == "nvidia" else {})})


def commands(facts, code):
    found = next(item for item in doctor(facts).findings if item.code == code)
    return list(found.fix.commands)


def test_a_new_python_gets_what_is_installed_beside_the_framework_by_the_tool_that_made_it():
    packages = {"torch": "2.4.0", "vllm": "0.6.0", "flash-attn": "2.5.8"}
    facts = {"packages": packages, "gpus": ADA, "driver": "535.183.01", **LINUX, "python": "3.13.1"}
    assert commands(facts, "python-unsupported") == [
        "uv venv --python 3.10",
        "uv pip install torch==2.4.0 vllm==0.6.0",
        "uv pip install ninja packaging psutil setuptools wheel",  # flash-attn is published as source
        "uv pip install --no-build-isolation flash-attn==2.5.8",
    ]


def test_a_companion_that_fits_the_new_build_stays():
    pascal = [{"name": "Tesla P100-PCIE-16GB", "vendor": "nvidia", "target": "sm_60", "driver": "nvidia"}]
    packages = {"torch": "2.9.0+cu128", "bitsandbytes": "0.48.0"}
    facts = {"packages": packages, "gpus": pascal, "driver": "550.144.03", **LINUX}
    assert commands(facts, "arch-too-old-for-build") == [
        "pip install torch==2.9.0+cu126 --index-url https://download.pytorch.org/whl/cu126"
    ]


@pytest.mark.parametrize(
    ("known", "holds", "never"),
    [
        ({}, ": nvidia-cudnn-cu11 or nvidia-cudnn-cu12 or nvidia-cudnn-cu13.", "pip install"),
        ({"driver": "550.54.15"}, ": nvidia-cudnn-cu11 or nvidia-cudnn-cu12.", "cu13"),
        ({"cuda_toolkit": "12.4"}, "pip install nvidia-cudnn-cu12", "cu13"),
        ({"packages": {"torch": "2.9.1+cu130"}}, "cu13", "cu12"),
    ],
)
def test_a_library_of_several_cuda_majors_is_not_guessed(known, holds, never):
    found = next(item for item in doctor({"error": MISSING.format("libcudnn_ops.so.9"), **LINUX, **known}).findings)
    said = "\n".join([found.fix.text, *found.fix.commands])
    assert holds in said
    assert never not in said


TORCH_12 = {"packages": {"torch": "2.9.1+cu128"}, "builds": {"torch": {"runtime": "cuda12.8"}}, "python": "3.12"}


def test_a_library_of_another_cuda_than_the_frameworks_is_of_a_package_built_beside_another():
    error = "libcudart.so.11.0: cannot open shared object file: No such file or directory"
    fix = judged(host("test", platform="linux", arch="x86_64", **TORCH_12), MATRIX, error=error).findings[0].fix
    assert "reinstall" in fix.text
    assert "CUDA 12.8" in fix.text
    assert fix.commands == ()


def test_a_gpu_that_is_passed_into_a_virtual_machine_is_reset_from_outside():
    cards = [{"name": "NVIDIA A100-SXM4-40GB"}]
    inside = judged(host("test", virtual_machine=True, gpus=cards, driver="550.54.14", xids=["79"]), MATRIX)
    own = judged(host("test", virtual_machine=False, gpus=cards, driver="550.54.14", xids=["79"]), MATRIX)
    assert inside.findings[0].fix.commands == ()
    assert own.findings[0].fix.commands == ("sudo reboot",)


def test_nothing_is_said_of_the_driver_of_a_gpu_that_is_not_there():
    found = judged(
        host("test", platform="linux", gpus=[]), MATRIX, error="RuntimeError: Found no NVIDIA driver on your system"
    )
    assert [one.code for one in found.findings] == ["no-gpu-here"]


@pytest.mark.parametrize("platform", ["windows", "darwin"])
@pytest.mark.parametrize("code", RULES)
def test_no_rules_own_fix_speaks_of_the_loader_of_another_system(code, platform):
    rule, machine = RULES[code], host("test", platform=platform)
    if not rule.platforms or platform in rule.platforms:
        words = rule().mend(machine, MATRIX).text
        assert platform == "darwin" or "LD_LIBRARY_PATH" not in words
        assert "ldconfig" not in words


NO_CODE = "{} with CUDA capability sm_120 is not compatible with the current PyTorch installation."


@pytest.mark.parametrize(
    ("image", "holds"),
    [
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime", "pytorch/pytorch:2.7.0-cuda12.8-cudnn9-runtime python t.py"),
        ("pytorch/pytorch:2.4.0-cuda12.4-cudnn9-devel", "pytorch/pytorch:2.7.0-cuda12.8-cudnn9-devel python t.py"),
        ("our/own:1", "In the Dockerfile of our/own:1: install torch"),
    ],
)
def test_an_image_without_code_for_the_gpu_is_answered_by_the_next_one_or_by_its_recipe(image, holds):
    case = {
        "error": NO_CODE.format("NVIDIA GeForce RTX 5090"),
        "commands": [f"docker run --gpus all {image} python t.py"],
    }
    fix = (
        judged(host("test", gpus=[{"name": "NVIDIA GeForce RTX 5090", "target": "sm_120"}]), MATRIX, **case)
        .findings[0]
        .fix
    )
    assert holds in "\n".join([fix.text, *fix.commands])


BLIND = "torch.cuda.is_available() is False"


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("it is an RTX 3060", "If RTX 3060 is its GPU: install torch"),
        ("with a rx 6500 xt in it", "whl/rocm"),
        ("an RTX 3060 here and an RX 7900 XTX there", "Tell which machine it is"),  # two: neither is meant
        ("a card", "Tell which machine it is"),
    ],
)
def test_the_one_card_that_a_text_names_is_prescribed_for_and_no_fact(text, holds):
    report = judged(host("test"), MATRIX, error=f"{BLIND}\n{text}")
    assert holds in "\n".join([report.findings[0].fix.text, *report.findings[0].fix.commands])
    assert not report.findings[0].fix.checked
    assert report.findings[0].confidence == "possible"
