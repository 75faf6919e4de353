"""Base images as lint sees them: what the matrix knows of a reference, and what its tag says by its maker's scheme.

A tag that no table covers is "not known", never "does not exist".
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

from compat import versions
from compat.lazy import dataclass
from compat.sources import jobs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.matrix import Matrix
    from compat.matrix.rows import Image, System

CUDA_TAG: Final = re.compile(
    r"(?P<cuda>\d{1,2}\.\d(?:\.\d)?)-(?:(?P<cudnn>cudnn\d*)-)?(?P<flavour>base|runtime|devel)(?:-(?P<os>[a-z]+[\d.]+))?"
)
_TORCH_TAG: Final = re.compile(r"(?P<torch>[\d.]+)-cuda(?P<cuda>[\d.]+)-cudnn(?P<cudnn>\d+)-(?P<flavour>runtime|devel)")
_NIGHTLY_TAG: Final = re.compile(r"nightly-(?P<flavour>runtime|devel)-cuda(?P<cuda>[\d.]+)-cudnn(?P<cudnn>\d+)")
# CUDA as makers of other images write it into a tag: ``cuda11.2``, ``cuda-12.1.1``, ``cuda102``, ``cu121``.
_NAMED_CUDA: Final = re.compile(r"(?<![a-z])cu(?:da)?[-_]?(?:(\d{1,2}\.\d{1,2}(?:\.\d)?)|(\d{1,2})(\d))(?!\d)")
_PYTHON_TAG: Final = re.compile(r"(?:[\d]-)?(?P<python>3\.\d{1,2})\b")
_NEWEST_PYTHON: Final = re.compile(r"python:(?:3|latest)?-?(?:slim|alpine)?")  # that, or the one before it is out
_DISTRIBUTIONS: Final = ("ubuntu", "debian", "rockylinux", "almalinux", "fedora", "centos", "alpine", "amazonlinux")
_BOARD: Final = re.compile(r"(^|/)(l4t|jetson)|(^|/)dustynv/")
_BOARD_TAG: Final = re.compile(r"(^|-)(l4t-r\d|jetson|jetpack)")
_NGC: Final = "nvcr.io/nvidia/"
_OF_MONTHS: Final = re.compile(rf"{_NGC}(?:pytorch|tensorflow|jax|paddlepaddle|tensorrt|tritonserver|mxnet)")
_MONTH: Final = re.compile(r"\d\d\.\d\d-py3")  # tags of NVIDIA's framework images
# Repositories whose moving tags hold the newest release of a framework.
MOVING: Final = {"tensorflow/tensorflow": "tensorflow", "pytorch/pytorch": "torch"}
_FLOATING: Final = re.compile(r"(latest|nightly|edge|main|master|dev)([-_].*)?|.*[-_](latest|nightly)|latest.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """One base image.

    Attributes:
        reference: as it stands after filling in variables; ``repository`` and ``tag`` are its parts.
        row: the matrix's row, if it has one.
        kind: ``cuda``, ``rocm``, ``jetson``, ``plain``, ``python`` or empty if unknown.
        cuda: CUDA release inside; ``rocm`` likewise; ``cudnn`` is its major, ``yes`` if unnumbered, empty if none.
        major: CUDA's major where the release is not known and that of its neighbours tells it, else 0.
        cudnn_release: cuDNN's full version where the matrix has it.
        flavour: ``base``, ``runtime``, ``devel`` or empty.
        os: system inside, as far as known.
        python: minor version that the image itself provides; ``unknown`` if it has one of unknown version.
        installed: frameworks that it brings, name -> version.
        musl: whether its C library is musl.
        floating: whether its tag moves.
    """

    reference: str
    repository: str = ""
    tag: str = ""
    digest: bool = False
    row: Image | None = None
    kind: str = ""
    cuda: str = ""
    major: int = 0
    rocm: str = ""
    cudnn: str = ""
    cudnn_release: str = ""
    flavour: str = ""
    os: str = ""
    python: str = ""
    installed: Mapping[str, str] = field(default_factory=dict)
    musl: bool = False

    @property
    def floating(self) -> bool:
        """Whether the tag moves by its maker's own habit (``latest``, ``nightly``) or is left out."""
        return not self.digest and (not self.tag or _FLOATING.fullmatch(self.tag) is not None)

    @property
    def hidden(self) -> bool:
        """Whether nothing tells what it holds; Conda's own images hold no framework."""
        known = self.kind or self.installed or self.python != "unknown"
        return not (known or re.search(r"conda|mamba|forge", self.repository))

    @property
    def variable(self) -> bool:
        """Whether a build argument without a value decides it."""
        return "$" in self.reference

    @property
    def has_cuda_libraries(self) -> bool:
        """Whether CUDA's libraries (cuBLAS and the like) are inside."""
        return bool(self.cuda) and self.flavour in {"runtime", "devel"}


def read(reference: str, matrix: Matrix) -> Base:
    """What is known of an image reference."""
    plain, _, digest = reference.partition("@")
    head, colon, tag = plain.rpartition(":")
    repository = head if colon and "/" not in tag else plain
    tag = tag if colon and "/" not in tag else ""
    repository = re.sub(r"^(docker\.io/)?(library/)?", "", repository)
    # Without a tag the engine asks for "latest", which not every repository has.
    row = _rows(matrix).get(f"{home(repository)}:{tag or ('' if digest else 'latest')}")
    if row is None:
        row = _of_the_month(repository, tag, matrix)
    base = _described(Base(reference=reference, repository=repository, tag=tag, digest=bool(digest), row=row))
    named = map(matrix.system, tag.split("-") if base.kind in {"python", "plain"} and not base.os else ())
    base = replace(base, os=next((row.os for row in named if row), "")) if not base.os else base
    return replace(base, major=major) if (major := _major(base, matrix)) else base


def _major(base: Base, matrix: Matrix) -> int:
    """The CUDA major of NVIDIA's framework image of a month without a row: that of the months before and after."""
    if base.cuda or not _MONTH.fullmatch(base.tag) or base.repository != f"{_NGC}pytorch":
        return 0
    around = [row.runtime.removeprefix("cuda") for row in _around(base.tag, matrix)]
    majors = {versions.major(cuda) for cuda in around if versions.is_release(cuda)}
    return majors.pop() if len(around) > 1 and len(majors) == 1 else 0


def _around(tag: str, matrix: Matrix) -> list[Image]:
    """The rows of PyTorch's image for the months before and after that of a tag; fewer where there is none."""
    rows = [row for row in matrix.select("images", repository=f"{_NGC}pytorch") if _MONTH.fullmatch(row.tag)]
    before, after = ([row for row in rows if row.tag < tag], [row for row in rows if row.tag > tag])
    return sorted(before, key=lambda row: row.tag)[-1:] + sorted(after, key=lambda row: row.tag)[:1]


def of_modules(modules: tuple[str, ...]) -> Base | None:
    """The CUDA and cuDNN that environment modules put in the place of an image's; ``None`` where none says a release.

    Modules bring the whole toolkit, compiler included; the Python is the machine's or the environment's own.
    """
    cuda, cudnn = jobs.toolkit(modules)
    if not cuda:
        return None
    named = "module load " + " ".join(name for name in modules if re.search(r"cuda|cudnn", name, re.IGNORECASE))
    return Base(reference=named, kind="cuda", cuda=cuda, cudnn=cudnn, flavour="devel", python="unknown")


def _of_the_month(repository: str, tag: str, matrix: Matrix) -> Image | None:
    """What NVIDIA's framework image of a month shares with PyTorch's of that month: CUDA, cuDNN, system and Python.

    Source: NVIDIA's Deep Learning Frameworks Support Matrix, which has one column for all containers of a release.
    """
    month = _month(repository, tag)
    row = _rows(matrix).get(f"{_NGC}pytorch:{month}-py3") if repository != f"{_NGC}pytorch" else None
    return replace(row, framework="") if row else None


def _month(repository: str, tag: str) -> str:
    """The month in the tag of one of NVIDIA's framework images; empty for any other image."""
    found = re.match(r"\d\d\.\d\d(?=-)", tag)
    return found.group() if found and _OF_MONTHS.fullmatch(repository) else ""


def home(repository: str) -> str:
    """The name under which the matrix lists a repository that is mirrored elsewhere."""
    return "nvidia/cuda" if re.fullmatch(r"(.*/)?nvidia/cuda(-arm64)?", repository) else repository


_INDEX: Final[dict[int, dict[str, Image]]] = {}


def _rows(matrix: Matrix) -> dict[str, Image]:
    """Every reference of the matrix's images; built once per matrix."""
    if id(matrix) not in _INDEX:
        _INDEX.clear()
        _INDEX[id(matrix)] = {name: row for row in matrix.table("images") for name in row.references()}
    return _INDEX[id(matrix)]


_SERVERS: Final = {"vllm/vllm-openai": "vllm", "lmsysorg/sglang": "sglang"}


def _described(base: Base) -> Base:
    """A base with all that its tag and its row of the matrix tell.

    What the tag says outranks the row, but for the system: a row stands for several tags, and its fields for what they
    share.
    """
    known = replace(base, **_from_tag(base))
    row = base.row
    if row is None:
        return known
    cuda = row.cuda or (row.runtime.removeprefix("cuda") if row.runtime.startswith("cuda") else "")
    rocm = row.rocm or (row.runtime.removeprefix("rocm") if row.runtime.startswith("rocm") else "")
    name, _, version = row.framework.partition("==")
    brought = {**known.installed, name: version}
    return replace(
        known,
        cuda=known.cuda or cuda,
        rocm=known.rocm or rocm,
        kind=known.kind or ("cuda" if cuda else "rocm" if rocm else ""),
        os=row.os or known.os,  # a tag may have a name of its own for a system (cm2, azl3)
        cudnn=known.cudnn or ("yes" if row.cudnn else ""),
        cudnn_release=row.cudnn,
        python=row.python or known.python,
        installed=known.installed if not name or (known.installed and known.kind != "jetson") else brought,
    )


def _from_tag(base: Base) -> dict[str, Any]:
    """What repository and tag say by themselves: the first scheme that fits."""
    repository, tag = home(base.repository), base.tag
    for scheme in (_nvidia, _framework, _server, _paddle, _jetson, _rocm, _python, _distribution):
        if said := scheme(repository, tag):
            return said
    gpu = (
        re.search(r"gpu|cuda|(?<![a-z])cu1\d\d(?!\d)", tag) is not None
        and "cpu" not in f"{repository.rpartition('/')[2]}:{tag}"
    )
    named = _NAMED_CUDA.search(tag) if gpu else None
    cuda = (named[1] or f"{named[2]}.{named[3]}") if named else ""
    return {"python": "unknown", "kind": "cuda" if gpu else "", "cuda": cuda}


def _framework(repository: str, tag: str) -> dict[str, Any]:
    """Images that come with a framework: NVIDIA's own, TensorFlow's and PyTorch's.

    Their Python is there, but its version is in no tag, so it is "unknown" rather than absent.
    """
    if found := re.fullmatch(r"nvcr\.io/nvidia/(pytorch|tensorflow|jax|paddlepaddle)", repository):
        framework = {"pytorch": "torch"}.get(found[1], found[1])
        return {"kind": "cuda", "python": "unknown", "flavour": "devel", "installed": {framework: ""}}
    if found := re.fullmatch(r"nvcr\.io/nvidia/(tensorrt|tritonserver|mxnet)", repository):
        said = {"kind": "cuda", "python": "unknown", "flavour": "devel", "cudnn": "yes"}
        return {**said, "installed": {found[1]: ""}}
    if found := re.match(r"([\d.]+(?:-?rc\d+)?)-gpu", tag) if repository == "tensorflow/tensorflow" else None:
        return {"kind": "cuda", "python": "unknown", "installed": {"tensorflow": found[1].replace("-", "")}}
    torch = repository.rpartition("/")[2] == "pytorch"
    if found := (_TORCH_TAG.search(tag) or _NIGHTLY_TAG.fullmatch(tag)) if torch else None:
        said = found.groupdict()
        return {"kind": "cuda", "python": "unknown", "installed": {"torch": said.pop("torch", "")}, **said}
    return {}


def _server(repository: str, tag: str) -> dict[str, Any]:
    """Images of a server for models, whose tag is its release: ``v0.8.5``, ``v0.5.2-cu129-b200``."""
    found = re.match(r"v?(\d+\.\d+\.\d+(?:\.post\d+)?)(?=-|$)", tag)
    name = next((package for end, package in _SERVERS.items() if f"/{repository}".endswith(f"/{end}")), "")
    if not name or found is None or re.search(r"rocm|xeon|npu|cpu|hpu|xpu|mi3", tag):
        return {}
    return {"kind": "cuda", "python": "unknown", "installed": {name: found[1]}}


def _paddle(repository: str, tag: str) -> dict[str, Any]:
    """PaddlePaddle's images: ``2.1.3-gpu-cuda10.2-cudnn7``, ``latest-dev-cuda10.1-cudnn7-gcc82``, ``2.5.1``."""
    if not re.search(r"(^|/)paddlepaddle/paddle$", repository):
        return {}
    release, cuda = re.match(r"\d+\.\d+[\w.]*", tag), re.search(r"cuda(\d+\.\d+)", tag)
    version = release.group() if release else ""
    if cuda is None:
        return {"python": "unknown", "installed": {"paddlepaddle": version}}
    cudnn = re.search(r"cudnn(\d+)", tag)
    said = {"kind": "cuda", "cuda": cuda[1], "cudnn": cudnn[1] if cudnn else "yes"}
    return {**said, "python": "unknown", "installed": {"paddlepaddle-gpu": version}}


def _jetson(repository: str, tag: str) -> dict[str, Any]:
    """Images for Jetson boards; ``l4t-base`` alone has no Python. Those of a framework name it: ``l4t-pytorch``.

    Source: the l4t images of NVIDIA's registry; dusty-nv/jetson-containers (its tags name the L4T release).
    """
    if not _BOARD.search(repository) and not _BOARD_TAG.search(tag):
        return {}
    name = f"{repository.rpartition('/')[2]}:{tag}"
    release = re.search(r"pth(\d+\.\d+)", tag)
    installed = {"torch": release[1] if release else ""} if re.search(r"torch|l4t-ml|ultralytics", name) else {}
    installed |= {"tensorflow": ""} if re.search(r"tensorflow|l4t-ml", name) else {}
    python = "" if repository.endswith("l4t-base") else "unknown"
    return {"kind": "jetson", "python": python, "installed": installed}


def _python(repository: str, tag: str) -> dict[str, Any]:
    """Official images of Python and PyPy; a tag names the minor, or not; a code name is a system's alias."""
    if repository.rpartition("/")[2] not in {"python", "pypy"}:
        return {}
    found = _PYTHON_TAG.search(tag)
    return {"kind": "python", "python": found["python"] if found else "unknown", "musl": "alpine" in tag}


def _distribution(repository: str, tag: str) -> dict[str, Any]:
    """Official images of the distributions, by number or by code name (``bookworm-slim``)."""
    name = repository.rpartition("/")[2]
    if name not in _DISTRIBUTIONS:
        return {}
    number = re.match(r"[\d.]+", tag)
    return {"kind": "plain", "os": f"{name}{number.group()}" if number else "", "musl": name == "alpine"}


def _nvidia(repository: str, tag: str) -> dict[str, Any]:
    """``nvidia/cuda``: CUDA, cuDNN, flavour and distribution are the parts of its tag."""
    if repository != "nvidia/cuda":
        return {}
    found = CUDA_TAG.match(tag)
    if found is None:
        return {"kind": "cuda"}
    cudnn = (found["cudnn"] or "").removeprefix("cudnn") or ("yes" if found["cudnn"] else "")
    return {"kind": "cuda", "cuda": found["cuda"], "cudnn": cudnn, "flavour": found["flavour"], "os": found["os"] or ""}


def _rocm(repository: str, tag: str) -> dict[str, Any]:
    """AMD's images: ROCm is in the tag, distribution or framework in the name or the tag."""
    if not repository.startswith("rocm/"):
        return {}
    name = repository.rpartition("/")[2]
    found = re.search(r"rocm[-_]?(\d+\.\d+(?:\.\d+)?)", tag) or re.match(r"(\d+\.\d+(?:\.\d+)?)", tag)
    said: dict[str, Any] = {"kind": "rocm", "rocm": found[1] if found else ""}
    python = re.search(r"py(3\.\d+)", tag)
    if name.startswith("dev-"):
        os = re.fullmatch(r"dev-([a-z]+)-([\d.]+)", name)
        return {**said, "os": "".join(os.groups()) if os else ""}
    framework = re.search(r"(pytorch|tf)[-_]?(?:release[-_])?(\d+\.\d+(?:\.\d+)?)", tag)
    names = {"pytorch": "torch", "tf": "tensorflow"}
    installed = {names[framework[1]]: framework[2]} if framework else {}
    return {**said, "python": python[1] if python else "unknown", "installed": installed}


def python_of(base: Base, matrix: Matrix) -> str:
    """Minor version of the Python that ``apt-get install python3`` or the image itself gives; empty if not known."""
    if base.python and base.python != "unknown":
        return base.python
    row = matrix.system(base.os) if base.os and not base.python else None
    return row.python if row else ""


def systems_of(base: Base, matrix: Matrix) -> list[System]:
    """The systems that a base may hold: its own, or of an image without a number the newest, or the one before it.

    The newest system of a distribution may not be out yet. An image that brings a Python of its own uses no system's.
    """
    if base.python or base.os:
        row = None if base.python else matrix.system(base.os)
        return [row] if row else []
    if base.kind != "plain" or base.tag not in {"", "latest"} or base.digest:
        return []
    rows = [row for row in matrix.table("systems") if row.image.rpartition(":")[0] == home(base.repository)]
    return sorted(rows, key=lambda row: versions.release(row.os.lstrip("abcdefghijklmnopqrstuvwxyz")))[-2:]


def archive_of(base: Base, matrix: Matrix) -> System | None:
    """The system whose packages apt gives: of Python's images that name none the newest, as far as they are rebuilt."""
    turn, plain = matrix.turn("python-image"), re.fullmatch(r"(?:3(?:\.\d+)?|latest)?(?:-?slim)?", base.tag)
    if base.repository != "python" or base.digest or not plain:
        return matrix.system(base.os) if base.os else None
    old = base.python != "unknown" and not versions.at_least(base.python, turn.version)
    return None if old else matrix.system(turn.name)


def pythons_of(base: Base, matrix: Matrix) -> frozenset[str]:
    """Pythons that a framework image of unknown Python can have: those of its framework's wheels; empty if not known.

    A tag that moves holds the newest release of the matrix or a later one, whose Pythons only grow newer.
    """
    if _NEWEST_PYTHON.fullmatch(f"{base.repository.rpartition('/')[2]}:{base.tag}") and not base.digest:
        return frozenset([row.python for row in matrix.table("pythons") if row.python[-1].isdigit()][-2:])
    if base.kind == "plain" and (systems := systems_of(base, matrix)):
        return frozenset(row.python for row in systems if row.python)
    if (month := _month(base.repository, base.tag)) and len(around := _around(f"{month}-py3", matrix)) > 1:
        ends = [versions.release(row.python) for row in around if row.python]
        return frozenset(f"3.{minor}" for minor in range(ends[0][1], ends[-1][1] + 1)) if len(ends) > 1 else frozenset()
    name, version = next(iter(base.installed.items()), ("", ""))
    if base.repository in MOVING and base.floating:
        name = MOVING[base.repository]
        version = matrix.builds(name)[-1].version
    return frozenset(python for build in matrix.builds(name) if build.version == version for python in build.python)


def glibc_of(base: Base, matrix: Matrix) -> str:
    """C library of a base's system, as far as known; empty for musl."""
    row = matrix.system(base.os) if base.os and not base.musl else None
    return row.glibc if row else ""


def named_of(base: Base, matrix: Matrix) -> str:
    """The newest glibc in the name of a wheel that the pip of a base's system reads; empty if all, or not known."""
    row = matrix.system(base.os) if base.os and not base.python else None
    return row.named if row else ""


def cuda_minor(base: Base) -> str:
    """CUDA major.minor of a base, empty if it has none."""
    return versions.minor(base.cuda) if base.cuda and versions.is_release(base.cuda) else ""
