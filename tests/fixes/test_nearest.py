"""The doctor and the resolver take the same smallest step to a release that fits."""

from __future__ import annotations

import pytest

from compat import sources
from compat.app.doctor import judged
from compat.changes import Driver, Install, Python
from compat.facts import host
from compat.lint import lint
from compat.matrix import matrix
from compat.resolve import resolve

MATRIX = matrix()
TARGETS = {
    "NVIDIA GeForce RTX 5090": "sm_120",
    "NVIDIA B200": "sm_100",
    "NVIDIA H100 80GB HBM3": "sm_90",
    "NVIDIA GeForce RTX 4090": "sm_89",
    "Tesla V100-SXM2-16GB": "sm_70",
    "NVIDIA GeForce GTX 1080 Ti": "sm_61",
    "Tesla K80": "sm_37",
    "AMD Radeon RX 9070 XT": "gfx1201",
    "AMD Instinct MI355X": "gfx950",
}
BLACKWELL, B200, HOPPER, ADA, VOLTA, PASCAL, KEPLER, RDNA4, MI355 = TARGETS

# GPU, driver, Python, what is installed, and the releases of the nearest step that both name.
STEPS = [
    # a GPU that is too new: machine code for it, and PTX where no release for this Python has any
    (BLACKWELL, "570.26", "3.11", ["torch==2.6.0"], ["torch==2.7.0+cu128"]),
    (BLACKWELL, "580.65.06", "3.11", ["torch==2.0.1"], ["torch==2.7.0+cu128"]),
    (BLACKWELL, "570.26", "3.12", ["torch==2.5.1"], ["torch==2.7.0+cu128"]),
    (BLACKWELL, "580.65.06", "3.10", ["tensorflow==2.15.0"], ["tensorflow==2.18.0"]),
    (BLACKWELL, "580.65.06", "3.11", ["tensorflow==2.17.0"], ["tensorflow==2.18.0"]),
    (BLACKWELL, "570.26", "3.11", ["paddlepaddle-gpu==2.6.1"], ["paddlepaddle-gpu==3.2.0"]),
    (BLACKWELL, "580.65.06", "3.10", ["onnxruntime-gpu==1.17.0"], ["onnxruntime-gpu==1.19.0"]),
    (B200, "570.26", "3.11", ["torch==2.5.1"], ["torch==2.7.0+cu128"]),
    (HOPPER, "535.104.05", "3.11", ["torch==1.13.1"], ["torch==2.0.0+cu118"]),
    (RDNA4, "", "3.11", ["torch==2.5.1+rocm6.2"], ["torch==2.7.0+rocm6.3"]),
    (MI355, "", "3.11", ["torch==2.6.0+rocm6.2.4"], ["torch==2.10.0+rocm7.1"]),
    # with companions, of which only those move that must
    (
        BLACKWELL, "570.26", "3.11", ["torch==2.6.0", "torchvision==0.21.0"],
        ["torch==2.7.0+cu128", "torchvision==0.22.0+cu128"],
    ),
    (
        BLACKWELL, "570.26", "3.11", ["torch==2.5.1", "xformers==0.0.28.post3"],
        ["torch==2.7.0+cu128", "xformers==0.0.30"],
    ),
    # without a driver none is demanded that not everybody with such a GPU has: 0.0.33 has code for it, of CUDA 13
    (BLACKWELL, "", "3.11", ["torch==2.5.1", "xformers==0.0.28.post3"], ["torch==2.7.0+cu128", "xformers==0.0.30"]),
    (BLACKWELL, "570.26", "3.11", ["torch==2.5.1", "flash-attn==2.7.2.post1"], ["torch==2.7.0+cu128"]),
    (BLACKWELL, "570.26", "3.11", ["torch==2.5.1", "vllm==0.7.3"], ["torch==2.7.0+cu128", "vllm==0.9.2"]),
    # a GPU that is too old
    (PASCAL, "580.65.06", "3.12", ["torch==2.11.0+cu130"], ["torch==2.11.0+cu126"]),
    (PASCAL, "580.65.06", "3.11", ["torch==2.9.0"], ["torch==2.9.0+cu126"]),
    (
        VOLTA, "580.65.06", "3.12", ["torch==2.11.0+cu130", "torchvision==0.26.0+cu130"],
        ["torch==2.11.0+cu126", "torchvision==0.26.0+cu126"],
    ),
    (KEPLER, "470.82.01", "3.10", ["jax==0.4.30"], ["jax==0.4.3"]),
    (KEPLER, "470.82.01", "3.10", ["tensorflow==2.15.0"], ["tensorflow==2.14.1"]),
    # a driver that is too old
    (ADA, "525.60.13", "3.11", ["torch==2.9.0+cu130"], ["torch==2.9.0"]),
    (VOLTA, "450.80.02", "3.10", ["torch==2.4.0"], ["torch==2.4.0+cu118"]),
    (VOLTA, "450.80.02", "3.10", ["jax==0.8.0"], ["jax==0.4.25"]),
    (
        ADA, "525.60.13", "3.12", ["torch==2.9.0+cu130", "xformers==0.0.33"],
        ["torch==2.9.0", "xformers==0.0.33"],
    ),
]  # fmt: skip


def of_machine(gpu, driver, python):
    """A machine with one GPU."""
    vendor = "nvidia" if TARGETS[gpu].startswith("sm_") else "amd"
    gpus = [{"name": gpu, "vendor": vendor, "target": TARGETS[gpu]}]
    known = {"driver": driver} if driver else {}
    return {"platform": "linux", "arch": "x86_64", "python": python, "gpus": gpus, **known}


def first_fix(machine, installed):
    """The doctor's first fix, what it installs, and whether it takes another Python or driver."""
    packages = dict(one.split("==") for one in installed)
    if "jax" in packages:  # whose GPU code is in a package of its own, without which a short list tells nothing
        packages["jax-cuda12-plugin"] = packages["jax"]
    fix = judged(host("test", **machine, packages=packages), MATRIX).findings[0].fix
    items = [one for change in fix.changes if isinstance(change, Install) for one in change.packages]
    kinds = {type(change) for change in fix.changes} & {Python, Driver}
    return fix, {f"{one.name}=={one.version}" for one in items if one.version}, kinds  # bounds of shared ones aside


def proposed(machine, installed, kinds):
    """The builds of the resolver's plan, or of its first remedy that changes the same kinds of things."""
    answer = resolve(installed, host("test", **machine), MATRIX)
    plans = [one.plans[0] for one in answer.fixes if {"python", "driver", "gpu", "cpu"} & one.changes.keys() == kinds]
    return {f"{one.name}=={one.version}" for one in (answer.plan or plans[0]).builds}


@pytest.mark.parametrize(
    ("gpu", "driver", "python", "installed", "near"),
    STEPS,
    ids=lambda value: (value if isinstance(value, str) else " ".join(value)) if value else "-",
)
def test_doctor_and_resolver_name_the_nearest_release_that_fits(gpu, driver, python, installed, near):
    machine = of_machine(gpu, driver, python)
    fix, told, kinds = first_fix(machine, installed)
    assert told == set(near)
    assert not kinds  # neither Python nor driver moves where a release serves them
    assert told <= proposed(machine, installed, set())
    assert fix.checked


# Lint tells something else of an AMD card, a release with another build for the GPU, and a plain jax, which is for the
# CPU.
AGED = [row for row in STEPS if row[1] and row[3][0] not in {"torch==2.9.0", "jax==0.4.30", "jax==0.8.0"}]


@pytest.mark.parametrize(("gpu", "driver", "python", "installed", "near"), AGED, ids=lambda value: "".join(value)[-40:])
def test_lint_names_the_release_that_the_doctor_installs(gpu, driver, python, installed, near):
    ask = sources.read("\n".join(installed), "requirements.txt")
    report = lint(ask, MATRIX, on=host("test", **of_machine(gpu, driver, python)))
    codes = {"arch-too-new-for-build", "arch-too-old-for-build", "driver-too-old-for-runtime"}
    aged = [one for one in report.findings if one.code in codes]
    told = {word.replace("[and-cuda]", "") for one in aged for word in one.fix.text.split() if "==" in word}
    assert told == set(near)


# Python, packages of which one belongs to another release of the framework, and what is asked for in its place; a pin
# that must move alone for two that fit each other is nearer than both of them.
PAIRS = [
    ("3.11", ["torch==2.3.0", "torchvision==0.16.0"], "torchvision==0.18.0"),
    ("3.11", ["torch==2.7.0", "xformers==0.0.22"], "xformers==0.0.30"),
    ("3.11", ["torch==2.3.0", "torchaudio==2.1.0", "torchvision==0.18.0"], "torchaudio==2.3.0"),
    ("3.11", ["torch==2.7.0", "vllm==0.4.0"], "vllm==0.9.0"),
    ("3.11", ["torch==2.3.0", "torchvision==0.16.0", "torchaudio==2.1.0"], "torch==2.1.0"),
]


@pytest.mark.parametrize(("python", "installed", "near"), PAIRS, ids=lambda value: "".join(value)[-40:])
def test_a_pair_is_mended_at_the_companion_where_that_is_enough(python, installed, near):
    machine = of_machine(ADA, "570.26", python)
    remedy = resolve(installed, host("test", **machine), MATRIX).fixes[0]
    assert f"ask for {near}" in remedy.text
    report = lint(sources.read("\n".join(installed), "requirements.txt"), MATRIX)
    told = {word.strip(".") for one in report.findings for word in one.fix.text.split() if "==" in word}
    assert told == {near}
    if not near.startswith("torch="):
        assert first_fix(machine, installed)[1] == {near}


@pytest.mark.parametrize("more", [[], ["flash-attn==2.5.8"]], ids=["two", "three"])
def test_a_pair_that_the_machine_cannot_run_either_gets_one_answer(more):
    """Pinning torch==2.1.0 would mend the pair, and run on this GPU no better."""
    pins = ["torch==2.3.0", "torchvision==0.16.0", *more]
    machine = of_machine(BLACKWELL, "570.26", "3.11")
    report = lint(sources.read("\n".join(pins), "requirements.txt"), MATRIX, on=host("test", **machine))
    told = {one.code: one.fix.text for one in report.findings}
    assert told["framework-pair-mismatch"] == told["arch-too-new-for-build"]
    assert "torch==2.7.0+cu128 and torchvision==0.22.0+cu128" in told["framework-pair-mismatch"]


@pytest.mark.parametrize(
    ("pins", "asked"),
    [
        (
            "torch==1.12.1+cu113 torchvision==0.13.1",
            "Ask for torchvision==0.13.1+cu113 from https://download.pytorch.org/whl/cu113.",
        ),
        (
            "torch==2.5.1+cu118 torchaudio==2.5.1+cu124",
            "Ask for torchaudio==2.5.1+cu118 from https://download.pytorch.org/whl/cu118.",
        ),
        (
            "triton==2.0.0 torch==2.5.0",
            "Pin triton==3.1.0.",
        ),  # torch 2.5 wants it below Python 3.13, as triton 2.0 does
    ],
)
def test_lint_names_the_build_for_the_frameworks_own(pins, asked):
    report = lint(sources.read(pins.replace(" ", "\n"), "requirements.txt"), MATRIX)
    codes = {"framework-build-tag-mismatch", "framework-pair-mismatch", "frameworks-conflict"}
    assert [one.fix.text for one in report.findings if one.code in codes] == [asked]


# Python, what is installed that has no files for it, and the build that both keep beside another Python. The number
# of that Python may differ: the doctor takes the one next to yours, the resolver the one that its base image has.
PYTHONS = [
    ("3.13", "torch==2.4.0", "torch==2.4.0+cu124"),
    ("3.13", "tensorflow==2.15.0", "tensorflow==2.15.0"),
    ("3.14", "jax==0.4.30", "jax==0.4.30"),
    ("3.13", "paddlepaddle-gpu==2.6.1", "paddlepaddle-gpu==2.6.1"),
]


@pytest.mark.parametrize(("python", "installed", "kept"), PYTHONS, ids=lambda value: value)
def test_a_release_that_is_kept_for_another_python_is_the_same_build(python, installed, kept):
    machine = of_machine(ADA, "550.54.14", python)
    _, told, kinds = first_fix(machine, [installed])
    assert (told, kinds) == ({kept}, {Python})
    assert kept in proposed(machine, [installed], {"python"})


def test_a_release_that_runs_through_ptx_is_told_as_such():
    machine = of_machine(BLACKWELL, "580.65.06", "3.10")
    fix, _, _ = first_fix(machine, ["tensorflow==2.15.0"])
    remedy = resolve(["tensorflow==2.15.0"], host("test", **machine), MATRIX).fixes[0]
    assert "CUDA 12.5, through PTX" in fix.text
    assert "through PTX" in remedy.text
    fix, _, _ = first_fix(of_machine(BLACKWELL, "570.26", "3.11"), ["torch==2.5.1", "xformers==0.0.28.post3"])
    assert "torch 2.7.0 for CUDA 12.8, xformers through PTX" in fix.text


@pytest.mark.parametrize("gpu", [HOPPER, ADA])
def test_a_release_that_fits_is_not_moved(gpu):
    machine = of_machine(gpu, "570.26", "3.11")
    found = judged(host("test", **machine, packages={"torch": "2.6.0"}), MATRIX).findings
    assert not [one for one in found if one.fix.changes]
    assert resolve(["torch==2.6.0"], host("test", **machine), MATRIX).status == "plan"


def test_a_server_card_runs_the_build_in_the_image_that_resolve_takes_for_it():
    card = {"name": VOLTA, "vendor": "nvidia", "target": TARGETS[VOLTA]}
    machine = {"platform": "linux", "arch": "x86_64", "python": "3.11", "gpus": [card], "driver": "470.256.02"}
    plan = resolve(["torch==2.9.1"], host("machine", **machine), MATRIX).plan
    told = judged(host("machine", **machine, packages={"torch": "2.9.1+cu128"}), MATRIX).findings[0].fix.text
    assert plan.driver.package == "cuda-compat-12-8"
    assert plan.driver.package in told
