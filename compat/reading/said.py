r"""What programs print beside their messages, captured once: whoever mends a finding sees names, and no text.

::

    (from versions: 2.2.0, 2.2.1)                                          listed    releases that pip has here
    Looking in indexes: https://download.pytorch.org/whl/cu131             index     the index that was asked
    Looking in links: https://download.pytorch.org/whl/torch_stable.html   links     the pages that were asked
    File "/home/me/.local/lib/python3.10/site-packages/numpy/__init__.py"  own       in the user's own packages
    error: Failed to build `flash-attn==2.7.4`                             unbuilt   what could not be built
    an RTX 3060, a rx6500xt, gfx1031                                       card      a card by its name or AMD's target
    torch.cuda.is_available()                                              called    a framework in code and tracebacks
    site-packages/mmcv/_ext.cpython-38-x86_64-linux-gnu.so                 frame     modules of loaders and tracebacks
    java.lang.UnsatisfiedLinkError, thread 'main' panicked at              foreign   a program that is none of Python's
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from compat.lazy import pattern

_LONGEST: Final = 50_000  # characters of a text that are looked at

# A card by its series and number, or of a data centre: a name, whoever writes it.
_CARD: Final = pattern(
    r"(?<![\w.-])((?:RTX|GTX|RX|Quadro|Tesla|Titan|Radeon|Arc)(?:[ -]?(?:RTX|GTX|RX|Pro))?[ -]?[A-Z]{0,2}\d{3,4}"
    r"[A-Z]{0,2}"
    r"(?: ?(?:Ti|Super|XTX?|GRE|Ada)\b)*|[AHVPB][12]00|GH200|MI\d{3}[AX]?|(?<!=)gfx\d{3,4}[a-f]?)(?![\w.])",
    re.IGNORECASE,
)

# Name -> what captures its values, in this order. Frames: a folder of site-packages, a module in its package's folder,
# a compiled module, a missing one; ``bare`` is a module in no folder, whose owner the frame before it tells.
_SAID: Final = (
    ("listed", pattern(r"\(from versions: (\d[^)\n]{1,4000})\)")),
    ("index", pattern(r"(?:^|\n)(Looking in indexes: [^\n]{1,400})")),
    ("links", pattern(r"(?:^|\n)Looking in links: ([^\n]{1,400})")),
    ("own", pattern(r"File \"/[^\"\n]{1,80}/\.local/lib/python3\.\d{1,2}/site-packages/(\w+)/")),
    ("card", _CARD),
    ("unbuilt", pattern(r"Failed to (?:download and )?build:? [`'\"]?([A-Za-z][\w.-]*(?:==[\w.+]+)?)")),
    ("called", pattern(r"\b(torch|tensorflow|jax|cupy)(?:_backends)?\.[a-z_]{2,}")),
    ("frame", pattern(r"(?:site|dist)-packages[/\\]((?!pip\b)\w{3,})")),
    ("frame", pattern(r"(?<![\w-])([A-Za-z]\w{3,})[/\\]_\w+\.(?:cpython-\d+|cp\d+|abi3|so|pyd)")),
    ("frame", pattern(r"(?<![/\\\w])([A-Za-z]\w{3,})(?:\.cpython-\d+\w*|\.cp\d+)[-\w]*\.(?:so|pyd)")),
    ("frame", pattern(r"[/\\](\w{4,})\.(?:cpython-\d+|cp\d+|abi3)[-\w]*\.(?:so|pyd): undefined symbol")),
    ("frame", pattern(r"[/\\](\w{4,})/csrc/[\w/.]{1,80}\.(?:cu|cuh|hip|cpp|cc|h)\b")),
    ("frame", pattern(r"No module named '(\w{3,})\.")),
    ("frame", pattern(r"(?i:DLL load failed) while importing ([A-Za-z]\w{3,})")),
    ("bare", pattern(r"(?:site|dist)-packages[/\\](\w+)\.(?:cpython|cp\d|abi3|so|pyd)")),
    ("absent", pattern(r"(?m)^(?:E +)?\w+Error: No module named '?(torch|tensorflow|jax|paddle|cupy)'?\s*$")),
    # a logger's name, as Python's logging writes it (BASIC_FORMAT of its module)
    ("logger", pattern(r"(?<!\w)(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):(?!root:|__)([a-z]\w{2,60})(?:\.[\w.]{1,80})?:")),
    ("binding", pattern(r"\b(llama_cpp(?:_python)?)\b")),
    # exceptions and frames of .NET, then of the JVM; Rust's panic; Node's loader
    (
        "dotnet",
        pattern(r"((?:\bat (?:Microsoft\.ML|TorchSharp)\.\w|\b(?:Microsoft\.ML|System)\.[\w.]{1,80}Exception: ))"),
    ),
    (
        "foreign",
        pattern(
            r"\b(java\.lang\.\w{1,60}(?:Error|Exception)\b|at ai\.djl\.|thread '[\w<>-]+' (?:\(\d+\) )?panicked at|"
            r"internal/modules/cjs/loader|node_modules[/\\]{1,2}@tensorflow)"
        ),
    ),
    # jax/_src/xla_bridge.py
    ("tpu", pattern(r"(A Google TPU may be present on this machine, but either a TPU-enabled jaxlib)")),
    # ComfyUI's and Fooocus's model_management.py, where they compute through DirectML
    ("directml", pattern(r"(?m)^\W*(Using directml with device:|Device: privateuseone\b)")),
    # docker compose logs: the service's name before each line, two blanks at least before the bar
    ("compose", pattern(r"(?m)^([a-z0-9][\w.-]{1,50}) {2,20}\| [^|\n]*\n\1 {2,20}\| [^|\n]*$")),
    # dpkg -l
    ("intel_driver", pattern(r"(?m)^ii {1,4}(intel-opencl-icd|libze-intel-gpu1)[ :]")),
    # images for Jetson boards, their folder of libraries, and a line of tegrastats
    (
        "board",
        pattern(
            r"\b((?:nvidia/l4t-|dustynv/)[\w.-]{1,60}:|lib/aarch64-linux-gnu/tegra\b|RAM \d{1,6}/\d{1,6}MB \(lfb )"
        ),
    ),
    # an image of NVIDIA's registry, whose address says all
    ("image", pattern(r"(?<![\w.-])(nvcr\.io/nvidia/[\w./-]{1,60}:[\w.-]{1,60}\w)")),
    # a Dockerfile's user that is not root
    ("user", pattern(r"(?m)^FROM [\w./:@-]+[^\n]{0,60}\n(?:[^\n]{0,400}\n){0,100}?USER (?!root\b|0\b)(\S+)[ \t]*$")),
    ("service", pattern(r"((?<!\w)(?:nvidia-docker|amd\.com/gpu|docker\.dockerd(?=\s))|/snap/)")),
    # packages of a driver branch that serves old cards alone: nvidia-legacy-390xx-driver, nvidia-470xx-dkms
    ("legacy", pattern(r"(?<![\w-])nvidia-(?:legacy-)?(\d{3})xx-\w")),
    # modinfo nvidia: the release of the module on disk
    (
        "module_file",
        pattern(
            r"(?m)^filename: {1,12}/\S{1,200}/nvidia\.ko\S{0,5}(?:\n[^\n]{0,200}){0,12}?\nversion: {1,12}([\d.]{5,12})$"
        ),
    ),
    # kubectl's tables of nodes and pods
    ("cluster", pattern(r"(?m)^\W{0,12}(?:NAMESPACE +)?NAME {2,90}(READY +STATUS +RESTARTS|STATUS +ROLES +AGE)\b")),
    # K3s: its folders, and the number of its release
    ("k3s", pattern(r"((?:/rancher|/run)/k3s/|\bv1\.\d{2}\.\d{1,2}[+-]k3s\.?\d)")),
)


def said(text: str) -> Mapping[str, tuple[str, ...]]:
    """Name -> the values captured, in the order of the table and then of the text."""
    found: dict[str, tuple[str, ...]] = {}
    for name, one in _SAID:
        found[name] = (*found.get(name, ()), *one.findall(text[:_LONGEST]))
    return found
