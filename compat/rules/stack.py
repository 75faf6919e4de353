"""What is installed, as far as facts and matrix tell: one record per framework, with the row of its build.

A build's runtime is taken from, in this order: what it says of itself, its local version tag, nvidia-* packages beside
it, and the build that the default index gives for this platform. The last is an inference and marked as such.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat.facts import Build, Host
from compat.joints.build import is_unseen
from compat.joints.platform import is_at
from compat.lazy import dataclass, pattern
from compat.markers import Environment, place_of
from compat.names import normalise
from compat.reading.message_facts import cudnn_version, runtime_of
from compat.versions import same_release

if TYPE_CHECKING:
    from compat.findings import Confidence
    from compat.matrix import Matrix, rows

# Distributions that carry or choose a GPU runtime, in the order in which a reader cares.
FRAMEWORKS: Final = (
    "torch", "tensorflow", "jax", "paddlepaddle", "onnxruntime-gpu", "cupy", "mxnet", "tensorflow-rocm"
)  # fmt: skip

# JAX's packages of GPU code, each for one major of CUDA or ROCm.
PLUGIN: Final = pattern(r"jax-((?:cuda|rocm)\d+)-(?:plugin|pjrt)")

_ALIASES: Final = {
    "pytorch": "torch",
    "tensorflow-gpu": "tensorflow",
    "tensorflow-cpu": "tensorflow",
    "tensorflow-rocm": "tensorflow",
    "jaxlib": "jax",
    "paddlepaddle-gpu": "paddlepaddle",
    "paddle": "paddlepaddle",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One framework of the interpreter in question.

    Attributes:
        name: canonical distribution name.
        version: release without local tag; empty if unknown.
        runtime: ``cuda11.8``, ``rocm5.4``, ``cpu``; empty if unknown.
        kernels: GPU targets it carries; empty if unknown.
        cudnn: cuDNN it was built for; empty if unknown.
        fact: the fact that says so, for the evidence.
        inferred: whether the runtime is merely what the default index gives.
        row: the matrix row of the build.
        sure: how sure a verdict by its kernels is: ``likely`` where they are those of a row that nobody saw.
    """

    name: str
    version: str = ""
    runtime: str = ""
    kernels: tuple[str, ...] = ()
    cudnn: str = ""
    fact: str = ""
    inferred: bool = False
    row: rows.Build | None = None
    sure: Confidence = "certain"

    @property
    def cuda(self) -> str:
        """Its CUDA version (``11.8``, or only the major); empty if it is no CUDA build or does not say."""
        return self.runtime.removeprefix("cuda") if self.runtime.startswith("cuda") else ""

    @property
    def supposed(self) -> bool:
        """Whether its GPU code comes by an extra that nothing shows: a short list of packages may leave it out."""
        return self.inferred and self.row is not None and bool(self.row.extras)

    @property
    def rocm(self) -> str:
        """Its ROCm version; empty if it is no ROCm build."""
        return self.runtime.removeprefix("rocm") if self.runtime.startswith("rocm") else ""

    @property
    def label(self) -> str:
        """How to name it in a sentence: ``torch 2.0.1 (cuda11.8)``."""
        return " ".join(part for part in (self.name, self.version, f"({self.runtime})" if self.runtime else "") if part)


def named(items: tuple[Installed, ...], name: str) -> Installed | None:
    """One framework, if it is there."""
    return next((item for item in items if item.name == name), None)


def canonical(name: str) -> str:
    """The framework that a distribution is a form of: ``tensorflow-gpu`` -> ``tensorflow``; any other name as it is."""
    return _ALIASES.get(name, name)


def plain(version: str) -> str:
    """A version without local tag: ``2.0.1+cu118`` -> ``2.0.1``."""
    return version.partition("+")[0]


def packages_of(host: Host) -> dict[str, str]:
    """Distribution -> version from pip and conda together, names canonical, pip winning."""
    found = {**(host.conda_packages or {}), **(host.packages or {})}
    return {normalise(name): version for name, version in found.items()}


def cited_of(host: Host) -> dict[str, str]:
    """Canonical name of a distribution -> the fact of its version, ``packages.torch``, or of what it requires."""
    tables = ("package_requires", "conda_packages", "packages")
    return {normalise(name): f"{table}.{name}" for table in tables for name in host.value(table) or {}}


def vendors_of(host: Host) -> frozenset[str]:
    """Vendors of the GPUs; where none is known AMD, if ROCm is there and nothing of NVIDIA's. Empty if unknown."""
    known = frozenset(gpu.vendor for gpu in host.gpus or () if gpu.vendor)
    if known or any((host.driver, host.driver_cuda, host.cuda_toolkit, host.l4t)):
        return known
    builds = (build.runtime for build in (host.builds or {}).values())
    of_amd = any((host.rocm, host.hip, host.amdgpu)) or any(item.startswith("rocm") for item in builds)
    tagged = any("+rocm" in version for version in (host.packages or {}).values())
    return frozenset({"amd"}) if of_amd or tagged else frozenset()


def has_no_device(host: Host) -> bool:
    """Whether the machine itself is known to have no GPU, so that nothing that needs one can be its fault.

    A container may hide the machine's, and neither WSL nor a Jetson shows its own on the PCI bus.
    """
    elsewhere = host.container or host.l4t or host.platform in {"wsl2", "darwin", "windows"}
    return host.known("gpus") and not host.gpus and not elsewhere


def is_unnamed(host: Host) -> bool:
    """Whether nothing tells what machine it is, so that it may be a Mac: a wheel's local tag tells that it is none."""
    named = ("platform", "os", "arch", "gpus", "driver", "driver_cuda", "l4t", "container", "kernel", "glibc")
    return not any(map(host.known, named)) and "+" not in "".join(packages_of(host).values())


def installed(host: Host, matrix: Matrix) -> tuple[Installed, ...]:
    """Each framework that is known to be there, by what pip or conda lists and by what a build said of itself."""
    packages = packages_of(host)
    builds: dict[str, Build] = {canonical(name): build for name, build in (host.builds or {}).items()}
    names: dict[str, str] = {}
    for raw in (*packages, *(host.builds or {})):
        if canonical(raw) in FRAMEWORKS:
            names.setdefault(canonical(raw), raw)
    return tuple(_one(name, raw, packages, builds.get(name, Build()), host, matrix) for name, raw in names.items())


def _one(name: str, raw: str, packages: dict[str, str], build: Build, host: Host, matrix: Matrix) -> Installed:
    """One framework from all that tells of it, in the order that the module's first lines give."""
    full = packages.get("jaxlib", packages.get("jax", "")) if name == "jax" else packages.get(raw, "")
    tag = runtime_of(full.partition("+")[2].lower())
    runtime = tag or build.runtime or ("cpu" if raw == "tensorflow-cpu" else "") or _by_plugin(name, packages, matrix)
    row = row_of(matrix, name, full, runtime, host)
    inferred = not runtime and row is not None
    exact = row if row is not None and (not runtime or _same_runtime(row.runtime, runtime)) else None
    return Installed(
        name=name,
        version=plain(full),
        runtime=runtime or (exact.runtime if exact else ""),
        kernels=build.kernels or (tuple(item for item in exact.kernels if item != "-") if exact else ()),
        cudnn=build.cudnn or _tagged_cudnn(full) or (exact.cudnn if exact else ""),
        fact=f"builds.{raw}" if raw in (host.builds or {}) else f"packages.{raw}",
        inferred=inferred,
        row=exact,
        sure="likely" if exact and not build.kernels and is_unseen(matrix, exact, "kernels") else "certain",
    )


def _tagged_cudnn(full: str) -> str:
    """``0.1.74+cuda11.cudnn82`` -> ``8.2``."""
    found = re.search(r"\+cuda[\d]+\.cudnn(\d)(\d{0,2})$", full)
    return ".".join(part for part in found.groups() if part) if found else ""


def _by_plugin(name: str, packages: dict[str, str], matrix: Matrix) -> str:
    """The runtime of the plug-in that jaxlib uses; only JAX keeps its GPU code in plug-ins."""
    parts = {part: found[1] for part in packages if (found := PLUGIN.fullmatch(part))} if name == "jax" else {}
    unused = set()
    for part, runtime in parts.items():
        row = matrix.package(part)
        other = plain(packages.get(row.same, "")) if row else ""
        if other and not same_release(other, plain(packages[part])):
            unused.add(runtime)
    return next((runtime for runtime in parts.values() if runtime not in unused), "")


def _same_runtime(ours: str, theirs: str) -> bool:
    """Whether two runtimes agree as far as both say: ``cuda12`` and ``cuda12.1`` do."""
    mine, other = re.match(r"([a-z]+)([\d.]*)", ours), re.match(r"([a-z]+)([\d.]*)", theirs)
    if not mine or not other or mine[1] != other[1]:
        return False
    left, right = mine[2].split("."), other[2].split(".")
    return all(a == b for a, b in zip(left[:2], right[:2], strict=False)) or "" in (mine[2], other[2])


def row_of(matrix: Matrix, name: str, version: str, runtime: str, host: Host) -> rows.Build | None:
    """The matrix row of a build: of that runtime, or where it is unknown of the default index for this platform."""
    if not version:
        return None
    release, _, local = version.partition("+")
    fits = matrix.builds_of(name, release)
    here = [row for row in fits if is_at(row, platform_tag(host) or "linux_x86_64")] or fits
    here = [row for row in here if row.local == local] or here
    if runtime:
        return next((row for row in here if _same_runtime(row.runtime, runtime)), None)
    named = packages_of(host)  # tensorflow 2.0.0 is a CPU build: that release's GPU build is a distribution of its own
    others = {row.distribution for row in matrix.builds(name)} & {*named}
    plain = name in named or not others  # of a distribution of its own its own rows count alone
    own = [row for row in here if not row.index and (row.distribution in named or (plain and not row.distribution))]
    if is_whole(named):
        own = [row for row in own if not row.extras] or own  # what an extra brings is listed by its own name
    return next((row for row in own if row.runtime != "cpu"), own[0] if own else None)


def is_whole(packages: dict[str, str]) -> bool:
    """Whether a list of packages is long enough to be all of them, so that what it lacks is not there."""
    return len(packages) > 3


def platform_tag(host: Host) -> str:
    """The platform as the matrix writes it (``linux_x86_64``); empty as far as unknown."""
    return place_of(host.platform or "", host.arch or "")


def world(host: Host) -> Environment:
    """Where a requirement of an installed package counts: the host's own platform and Python, as far as known."""
    return Environment(platform_tag(host), host.python or "")


def found_cudnn(host: Host) -> str:
    """The cuDNN in force, dotted."""
    return cudnn_version(host.cudnn or "")
