"""What installers and compilers say of a system, and sentences of people, which are no evidence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.facts import host
from compat.matrix import matrix as shipped
from compat.reading import read
from compat.rules import judge

TAGS = {"linux": "linux_x86_64", "windows": "win_amd64", "darwin": "macosx_arm64"}
ARCHES = {"linux": "x86_64", "windows": "x86_64", "darwin": "arm64"}
PACKAGES = ("vllm", "triton", "xformers", "flash-attn", "deepspeed", "bitsandbytes", "sglang", "jax", "torch")


def report(text, commands=(), **facts):
    return judge(host(**facts), shipped(), error=text, commands=commands)


def first(text, commands=(), **facts):
    found = report(text, commands, **facts).findings
    return found[0] if found else None


def serves(package, tag):
    """Whether the newest release of a package has a file for a system, read from the rows alone."""
    rows = shipped().builds(package)
    newest = max(tuple(map(int, row.version.split(".")[:2])) for row in rows if row.version[0].isdigit())
    last = [row for row in rows if row.version.split(".")[:2] == [str(part) for part in newest]]
    return any(item == "any" or item.startswith(tag) for row in last for item in row.platforms)


@pytest.mark.parametrize("system", TAGS)
@pytest.mark.parametrize("package", PACKAGES)
def test_an_installation_is_refused_by_system_where_the_newest_release_has_no_file_for_it(package, system):
    found = report("the installation fails", (f"pip install {package}",), platform=system, arch=ARCHES[system])
    refused = any(item.code == "platform-unsupported" and item.severity == "error" for item in found.findings)
    assert refused is not serves(package, TAGS[system])


SAID = [
    ("Conv1D currently requires the cuDNN library which is not integrated in this build", {}, "library-missing"),
    ("Can not find library: libcublas.so", {}, "library-missing"),
    ("Unable to load DSO libcudnn.so.8", {}, "library-missing"),
    ("CUDAError InsufficientDriver", {}, "driver-too-old-for-runtime"),
    ("CUDA_ERROR_INSUFFICIENT_DRIVER", {}, "driver-too-old-for-runtime"),
    ("Failed to determine best cudnn convolution algorithm", {}, "out-of-memory"),
    ("ResolvePackageNotFound: \n  - cudatoolkit=11.3", {"platform": "darwin"}, "platform-unsupported"),
    (
        "meson.build:1:0: ERROR: Compiler nvcc cannot compile programs.",
        {"gcc": "16.1", "cuda_toolkit": "13.0"},
        "host-compiler-unsupported",
    ),
    (
        'The CUDA compiler\n\n    "/usr/bin/nvcc"\n\n  is not able to compile a simple test program.',
        {},
        "host-compiler-unsupported",
    ),
]


@pytest.mark.parametrize(("text", "facts", "code"), SAID, ids=[row[0][:40] for row in SAID])
def test_the_first_finding_is_what_is_mostly_meant(text, facts, code):
    assert first(text, **facts).code == code


BANNER = "This container was built for NVIDIA Driver Release {} or later, but\n  version {} was detected and {}."


def test_an_image_that_tells_the_driver_it_needs_explains_the_error_number_that_follows():
    text = BANNER.format("525.85", "470.199.02", "compatibility mode is UNAVAILABLE")
    found = first(f"{text}\n\n [[CUDA Driver UNAVAILABLE (cuInit(0) returned 803)]]", container="docker")
    assert (found.code, found.severity) == ("container-requires-newer-driver", "error")
    assert "525.85" in found.detail


def test_an_image_that_brings_the_libraries_it_needs_has_no_fault():
    text = BANNER.format("525.85", "470.199.02", "compatibility mode is ENABLED")
    assert report(f"NOTE: {text}", container="docker").findings == ()


@pytest.mark.parametrize("name", ["numpy", "pandas", "cudatoolkits"])
def test_a_package_that_is_not_made_for_cuda_is_no_fault_of_macos(name):
    found = report(f"ResolvePackageNotFound: \n  - {name}", platform="darwin").findings
    assert not [item for item in found if "macOS does not have" in item.detail]


@pytest.mark.parametrize(
    "packages",
    [
        {"jax": "0.4.30", "jaxlib": "0.4.10"},
        {"torch": "2.1.0", "mmcv": "2.1.0"},
        {"torchvision": "0.16.0"},
    ],
)
def test_a_companion_of_which_nothing_is_known_is_not_called_fitting(packages):
    assert not any("the installed framework fits" in text for text in report("", packages=packages).fine)


@pytest.mark.parametrize(
    "packages",
    [
        {"torch": "2.1.0", "torchvision": "0.16.0"},
        {"jax": "0.4.30", "jaxlib": "0.4.30"},
        {"jax": "0.4.30", "jaxlib": "0.4.30", "jax-cuda12-plugin": "0.4.30"},
    ],
)
def test_companions_that_belong_are_said_to(packages):
    assert any("the installed framework fits" in text for text in report("", packages=packages).fine)


NEUTRAL = [
    "It works without problems on my GPU, no error at all",
    "Does it support AMD GPUs?",
    "Does vllm run on Windows?",
    "How do I print the version of CUDA that torch uses?",
    "docker compose file: please document the environment variables",
    "Will this ever run on RTX 50 series cards?",
    "my card is a GTX 780, is it supported?",
    # a plan for a release
    "Idea for the roadmap: ship kernels for compute capability 12.1 in the next release.",
    "We plan to drop Python 3.8 and to publish wheels for aarch64.",
    # what a file holds
    "ImportError: cannot import name 'foo' from 'mypackage.utils'",
    "This example fails since the update:\nfrom jax import numpy as jnp\njnp.fft.fft(x, norm=None)",
    "import torch, torchvision, torchaudio",
    "if torch.cuda.is_available():\n    model = model.to('cuda')",
    "os.environ['CUDA_VISIBLE_DEVICES'] = '0'",
    # a form that nobody filled in
    "Fill in:\n- OS (e.g. Debian 12)\n- Compiler (e.g. gcc 11)\n- CUDA (e.g. 12.1)",
    "- OS: [e.g. Ubuntu 22.04]\n- Python version: [e.g. 3.10]\n- GPU: [e.g. RTX 3090]",
    "<!-- e.g. CUDA error: out of memory, driver 535.54 -->",
]


@pytest.mark.parametrize("system", [{}, {"os": "ubuntu22.04"}, {"platform": "windows"}], ids=str)
@pytest.mark.parametrize("text", NEUTRAL, ids=lambda text: text[:40])
def test_what_no_program_said_gives_no_finding(text, system):
    assert report(text, **system).findings == ()


@pytest.mark.parametrize("text", NEUTRAL, ids=lambda text: text[:40])
def test_nor_does_it_in_a_report(text):
    page = read(text)
    assert page.host.readings == {}
    assert judge(page.host, shipped(), error=page.rest(text)).findings == ()


WORDS = ("GPU", "not", "container", "docker", "driver", "CUDA", "torch", "CPU", "support", "cuDNN", "Python", "wheel",
         "видеокарта", "mismatch", "update", "Windows", "compile", "0", "3090", "12.4", "?", ".\n")  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=30))
@settings(max_examples=40, deadline=None)
def test_words_alone_are_never_an_error(words):
    findings = judge(host(), shipped(), error=" ".join(words)).findings
    assert {item.severity for item in findings} <= {"warning", "info"}


@pytest.mark.parametrize(("package", "toolkit"), [("tensorflow", "11.0"), ("torch", "10.2"), ("torch", "11.0")])
def test_the_list_of_targets_is_named_to_torch_alone_and_of_targets_that_the_toolkit_has(package, toolkit):
    found = report(
        "", packages={package: "2.4.0"}, cuda_toolkit=toolkit, gpus=[{"name": "RTX 3080", "target": "sm_86"}]
    )
    changes = next(one for one in found.findings if one.code == "toolkit-too-old-for-arch").fix.changes
    assert bool(changes) is ((package, toolkit) == ("torch", "11.0"))
