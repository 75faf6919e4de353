"""What holds on any machine: no traceback, evidence for every verdict, and no verdict on facts that are unknown."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from compat.facts import CATALOGUE, Build, Fact, Gpu, Host, Library, Unknown
from compat.matrix import matrix
from compat.rules import RULES, judge

MATRIX = matrix()

words = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "",
            "12.4",
            "550.54.14",
            "3.11.4",
            "2.5.1+cu124",
            "linux",
            "wsl2",
            "docker",
            "ubuntu22.04",
            "sm_90",
            "x86_64",
            "-1",
            "0",
            "..",
            "9" * 40,
            "running",
        ]
    ),
)
numbers = st.integers(-5, 10**12)
texts = st.lists(words, max_size=3).map(tuple)
names = st.sampled_from(
    [
        "torch",
        "torchvision",
        "tensorflow",
        "jax",
        "jaxlib",
        "numpy",
        "triton",
        "jax-cuda12-plugin",
        "nvidia-cudnn-cu12",
        "CUDA_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",
        "HSA_OVERRIDE_GFX_VERSION",
        "TORCH_CUDA_ARCH_LIST",
        "NVIDIA_REQUIRE_CUDA",
        "BNB_CUDA_VERSION",
    ]
)
maybe = st.none() | st.booleans()
gpus = st.builds(
    Gpu,
    name=st.sampled_from(["", "NVIDIA A100", "Tesla K80", "AMD Radeon RX 6800", "junk"]) | words,
    vendor=st.sampled_from(["", "nvidia", "amd", "intel", "huawei"]),
    target=st.sampled_from(["", "sm_37", "sm_89", "sm_120", "gfx1030", "gfx90a:xnack-", "xpu", "sm_9"]) | words,
    driver=st.sampled_from(["", "nvidia", "nouveau", "vfio-pci", "none"]),
    mig=st.sampled_from(["", "enabled", "disabled"]),
    memory_mib=st.none() | numbers,
    memory_used_mib=st.none() | numbers,
    integrated=maybe,
    lost=maybe,
    remap_pending=maybe,
    mig_devices=st.none() | st.integers(0, 7),
    ecc_uncorrected=st.none() | numbers,
    pcie=words,
    pcie_max=words,
    throttle=texts,
)
builds = st.builds(
    Build,
    runtime=words | st.sampled_from(["cuda12.4", "cuda12", "cuda", "rocm6.2", "cpu", "xpu"]),
    kernels=texts | st.just(("sm_80", "compute_90")),
    torch=words,
    python_tag=words,
    cudnn=words,
)
libraries = st.builds(
    Library,
    name=words | st.sampled_from(["libcuda.so.1", "libcudnn.so.9", "libnccl.so.2"]),
    version=words,
    path=words,
    origin=st.sampled_from(["", "compat", "stubs", "wheel"]),
    loaded=maybe,
)

KINDS = {
    "text": words,
    "version": words,  # a detector may read anything: rules must survive it
    "number": numbers,
    "flag": st.booleans(),
    "texts": texts,
    "table": st.dictionaries(names, words, max_size=4),
    "tables": st.dictionaries(
        names, texts | st.just(("torch==2.1.0", "nvidia-cudnn-cu12==9.1.0.70; extra == 'x'", "###")), max_size=3
    ),
    "gpus": st.lists(gpus, max_size=3).map(tuple),
    "builds": st.dictionaries(names, builds, max_size=3),
    "libraries": st.lists(libraries, max_size=3).map(tuple),
}


def readings(name):
    value = KINDS[CATALOGUE[name].kind]
    return st.one_of(
        value.map(lambda item: Fact(item, "test")),
        value.map(lambda item: Fact(item, "test")),
        st.just(Fact(None, "test")),
        st.just(Unknown("denied", "test")),
    )


hosts = st.fixed_dictionaries({}, optional={name: readings(name) for name in CATALOGUE}).map(Host)
errors = st.lists(
    st.sampled_from(
        [
            "CUDA error: no kernel image is available for execution on the device",
            "No matching distribution found for torch==2.0.1",
            "CUDA driver version is insufficient for CUDA runtime version",
            "undefined symbol: _ZN3c105ErrorC2E",
            "libcudart.so.11.0: cannot open shared object file",
            "torch.cuda.is_available() returns False",
            "HIP error: invalid device function",
            "ResolutionImpossible: tensorflow[and-cuda] and torch",
            "The detected CUDA version (12.4) mismatches the version that was used to compile PyTorch (11.8)",
        ]
    )
    | st.text(max_size=30),
    max_size=3,
).map("\n".join)
commands = st.lists(
    st.sampled_from(
        ["docker build .", "pip install torch==2.0.1 numpy", "python setup.py install", "docker run --gpus all x"]
    )
    | st.text(max_size=20),
    max_size=2,
)


def everything(report):
    return [item for root in report.findings for item in (root, *root.consequences)]


@settings(max_examples=200)
@given(
    hosts, errors, commands, st.lists(st.sampled_from(["torch==2.0.1", "jax", "??", "tensorflow>=2.10"]), max_size=2)
)
def test_no_machine_and_no_text_makes_it_fail(host, error, ran, wishes):
    report = judge(host, MATRIX, error=error, commands=ran, wishes=wishes)
    for finding in everything(report):
        assert finding.code in RULES
        assert finding.fix.text
        assert finding.sources
        assert finding.detail
    told = [finding.code for finding in everything(report)]
    assert len(told) == len(set(told)), "a code is told once"


@settings(max_examples=100)
@given(hosts)
def test_without_a_message_every_finding_cites_a_fact_that_was_read(host):
    for finding in everything(judge(host, MATRIX)):
        assert finding.evidence, finding
        assert all(item.source for item in finding.evidence)


@given(st.sampled_from(sorted(CATALOGUE)))
def test_one_unknown_fact_more_never_adds_a_certain_finding(name):
    assert everything(judge(Host({name: Unknown("denied", "test")}), MATRIX)) == []


def test_a_host_of_which_nothing_is_known_has_no_finding_and_nothing_fine():
    report = judge(Host(), MATRIX)
    assert report.findings == ()
    assert report.fine == ()
    assert report.unchecked


@settings(max_examples=60)
@given(hosts, errors)
def test_judging_twice_gives_the_same_report(host, error):
    assert judge(host, MATRIX, error=error) == judge(host, MATRIX, error=error)
