"""Rows of what software runs on: products, systems, Jetson and other accelerators."""

from __future__ import annotations

from compat.matrix.rows.base import Row, row


@row("gpus", key="name vendor target memory_gib")
class Product(Row):
    """A GPU one can buy (table ``gpus``).

    Attributes:
        name: as its driver prints it, ``NVIDIA GeForce RTX 4090``.
        vendor: ``nvidia``, ``amd``, ``intel``, ``google``, ``huawei``.
        target: ``sm_89``, ``gfx1100``; ``xpu`` family name for Intel; generation of a TPU (``tpu-v5e``), series of an
            Ascend processor (``ascend-910b``).
        aliases: other spellings; a TOML list is not needed, items are joined by ``;``.
        pci: ids, ``10de:2684``.
        brand: NVIDIA's brand word in NVIDIA_REQUIRE_CUDA: ``geforce``, ``tesla``, ``quadrortx``, ...
        segment: ``datacenter``, ``workstation``, ``consumer``, ``laptop``, ``jetson``, ``apu``.
        arch: machine architecture of a product that comes with its processor, ``aarch64``; empty for a card.
        memory_gib: memory of the card; ``bandwidth_gbs`` peak bandwidth, and peak rates in dense TFLOP/s with sums in
            float32, of what the driver shows as one device (a card can be two).
        unified: whether its memory is the machine's too (boards and processors with a GPU need no word).
        watts: power that it is rated for, of what the driver shows as one device.
        form: ``SXM``, ``OAM``, ``MXM``, or the slots that a card takes: ``dual slot``.
        pcie: the fastest link of its own to the machine, as ``pcie_max`` of a GPU: ``gen4 x16``.
        links: links to other GPUs (NVLink, Infinity Fabric); ``links_gbs`` their bandwidth together, both ways.
        mig: profiles of its MIG slices, each with how many of it one card can be cut into: ``1g.10gb:7``.
    """

    name: str
    vendor: str
    target: str
    aliases: str = ""
    pci: tuple[str, ...] = ()
    chip: str = ""
    brand: str = ""
    segment: str = ""
    arch: str = ""
    year: int = 0
    memory_gib: float = 0
    bandwidth_gbs: float = 0
    fp32_tflops: float = 0
    tf32_tflops: float = 0
    fp16_tflops: float = 0
    bf16_tflops: float = 0
    fp8_tflops: float = 0
    unified: bool = False
    watts: float = 0
    form: str = ""
    pcie: str = ""
    links: int = 0
    links_gbs: float = 0
    mig: tuple[str, ...] = ()


@row("sharing", key="way")
class Sharing(Row):
    """A way for programs to share one GPU of NVIDIA's (table ``sharing``).

    Attributes:
        way: ``mig``, ``mps``, ``time-slicing``, as the device plugin for Kubernetes names them.
        memory: what each program has of the memory; ``compute`` of the processors.
        faults: whom a fault of one program ends.
        limits: what else it changes.
        first_cc: the oldest compute capability that has it.
    """

    way: str
    memory: str
    compute: str
    faults: str
    limits: str = ""
    first_cc: str = ""


@row("instances", key="name")
class Instance(Row):
    """A cloud's instance type with GPUs (table ``instances``).

    Attributes:
        name: as its cloud spells it, ``p5.48xlarge``, or, without ``gpu``, those of a family: ``p2vs.*.*``.
        cloud: ``alibaba``, ``aws``, ``azure``, ``gcp``, ``huaweicloud``, ``tencent``, ``volcengine`` ...
        gpu: name of its GPU in ``gpus``: the product of the model and memory that the source states.
        count: GPUs that a guest sees.
        arch: machine architecture.
        part: fraction of one GPU that a guest has, ``1/6``; empty for whole GPUs.
        image: an image of the cloud's own for it, with its date; ``driver`` the driver that it brings, or its branch.
    """

    name: str
    cloud: str
    gpu: str = ""
    count: int = 1
    arch: str = "x86_64"
    part: str = ""
    image: str = ""
    driver: str = ""


@row("systems", key="os")
class System(Row):
    """An operating-system release (table ``systems``).

    Attributes:
        os: ``ubuntu22.04``.
        glibc: its C library; ``libstdcxx`` its highest GLIBCXX symbol version.
        python: minor version of its ``python3``; ``pythons`` those it packages.
        unfinished: those of ``pythons`` that it packages as a release candidate: nothing to plan an image on.
        pip: release of pip that it packages, where that is too old for what the index has today.
        named: the newest glibc in the names of wheels that this pip reads (manylinux1 is 2.5); empty if it reads all.
        manager: ``apt``, ``dnf``, ``zypper``, ``apk``, ``tdnf``, ``yum``.
        aliases: other spellings, as os-release makes them (``rocky9``), and code names; a minor release without a row
            (``rhel9.4``) takes the row of its major.
        image: plain base image, ``ubuntu:22.04``.
        eol: end of standard support.
        moved: day from which its packages are no longer on the mirrors that its images name.
        gone: packages that others of its maker have, or had, and it has not: a name, or ``name=`` what took its place.
        managed: whether its Python is marked as externally managed (PEP 668), which pip heeds.
        runner: the oldest Python that the action setup-python has for GitHub's machines with it.
    """

    os: str
    aliases: tuple[str, ...] = ()
    glibc: str = ""
    libstdcxx: str = ""
    python: str = ""
    pythons: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    pip: str = ""
    named: str = ""
    manager: str = ""
    image: str = ""
    eol: str = ""
    moved: str = ""
    gone: tuple[str, ...] = ()
    managed: bool = False
    runner: str = ""


@row("pythons", key="python")
class Interpreter(Row):
    """A Python minor for which a virtual environment can be made and filled (table ``pythons``).

    Attributes:
        python: ``3.11``, free-threaded ``3.13t``.
        standalone: whether uv brings a final release of it to any Linux with glibc, on x86_64 and aarch64; the others
            have to come from an image or its distribution.
        early: whether fewer than nine in ten packages of the matrix have wheels for it in their newest release.
    """

    python: str
    standalone: bool = False
    early: bool = False


@row("commands", key="deed system")
class Command(Row):
    """What is typed for a deed on a distribution (table ``commands``).

    Attributes:
        deed: what is to be done, ``driver-hold``.
        system: family of distributions, perhaps with a release: ``debian``, ``rhel10``.
        commands: what is typed, in order; ``{branch}`` and the like stand for values of the machine.
    """

    deed: str
    system: str
    commands: tuple[str, ...]


@row("jetpack", key="jetpack l4t")
class Jetpack(Row):
    """A JetPack release (table ``jetpack``): ``l4t``, the versions that it brings, and the modules it runs on.

    Attributes:
        jetpack: ``6.2``; ``preview`` marks a developer preview.
        kernel: series of the kernel it comes with, ``5.15``; the running one is named ``5.15.148-tegra``.
        modules: Jetson modules in words.
        sbsa: whether ordinary arm64 images run on it, rather than l4t images only.
    """

    jetpack: str
    l4t: str
    kernel: str = ""
    cuda: str = ""
    cudnn: str = ""
    tensorrt: str = ""
    os: str = ""
    capabilities: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    modules: str = ""
    preview: bool = False
    sbsa: bool = False


@row("accelerators", key="accelerator package versions framework stack image")
class Accelerator(Row):
    """What one release of an accelerator's package needs, outside CUDA and ROCm (table ``accelerators``).

    Attributes:
        accelerator: ``intel``, ``apple``, ``tpu``, ``ascend``, ``mlu``, ``musa``, ``xpu`` (Kunlunxin), ``dcu``, ...
        package: distribution that brings it, ``torch-npu``, ``jax``, ``intel-extension-for-pytorch``.
        versions: its releases that share the row; ``a..b`` spans published releases from a to b.
        framework: framework release that it is for, ``torch==2.9.0``; empty if the package is the framework.
        stack: vendor's software, ``cann8.5.0``, ``oneapi2025.1``, ``libtpu0.0.50``, ``macos14``.
        python: minor versions; empty if not known.
        devices: devices it serves, in words.
        os: systems it is stated for, in words.
        index: address or name of the index that has it; empty for the default index.
        image: container image that carries it.
        driver: driver or firmware it states.
    """

    accelerator: str
    package: str
    versions: tuple[str, ...] = ()
    framework: str = ""
    stack: str = ""
    python: tuple[str, ...] = ()
    devices: str = ""
    os: str = ""
    index: str = ""
    image: str = ""
    driver: str = ""
    date: str = ""


@row("formats", key="format package versions weights")
class Format(Row):
    """Which GPUs a package uses a number format on (table ``formats``).

    Attributes:
        format: ``fp8``, ``bf16``, ``int8``, ``awq``, ``gptq``; ``fa3`` for kernels of FlashAttention 3.
        package: whose kernels these are, ``vllm``.
        versions: its releases that the row is of; empty for all.
        first_cc: the oldest compute capability of NVIDIA's that they run on; ``last_cc`` the newest, empty for all.
        gfx: AMD's targets that they run on; others are not known.
        weights: whether only weights are in the format, and arithmetic is in another one.
        options: how it is asked for: ``--quantization fp8``.
        instead: what to do on GPUs that are older.
    """

    format: str
    package: str
    versions: str = ""
    first_cc: str = ""
    last_cc: str = ""
    gfx: tuple[str, ...] = ()
    weights: bool = False
    options: str = ""
    instead: str = ""


@row("caches", key="rule models")
class Cache(Row):
    """How models keep keys and values while they answer (table ``caches``).

    Attributes:
        rule: what the rule is called: ``grouped queries``, ``sliding window``, ``state space``.
        models: ``model_type`` of a ``config.json``, ``general.architecture`` of a GGUF file.
        token: numbers that a layer keeps of each token, as a sum of products of fields,
            ``2*num_key_value_heads*head_dim``; of several behind ``|`` the first whose fields a file has.
        window: and a layer that looks back no further than a window; empty for the same.
        state: numbers that each of the other layers keeps, however long the sequence is; empty where none is known.
        split: fields whose number tensor parallelism divides among cards.
        layers: fields that tell which layers keep each token: a word per layer, the numbers of them, or an interval.
        words: words and marks for those layers.
        every: the interval of those layers where a file tells none; 0 for all layers.
    """

    rule: str
    models: tuple[str, ...]
    token: str = ""
    window: str = ""
    state: str = ""
    split: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    every: int = 0


@row("processors", key="maker")
class Processor(Row):
    """Accelerators of a maker for which the matrix has no builds (table ``processors``).

    Attributes:
        maker: ``Cambricon``.
        accelerator: as in ``accelerators``, ``mlu``.
        names: words that name them, each with its variants: ``MLU`` stands for ``MLU370-X8`` too.
    """

    maker: str
    accelerator: str
    names: tuple[str, ...]
