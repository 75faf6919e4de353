"""Small made-up matrices and questions about them, for tests that need every answer to be checkable by hand or by brute force."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from compat.facts import Fact, Gpu, Host
from compat.matrix import Matrix

PYTHONS = ("3.9", "3.10", "3.11")
DEVICES = ("sm_70", "sm_80", "sm_80", "sm_86", "sm_90", "gfx900", "gfx1100")
CODES = (
    "sm_70",
    "sm_70 sm_80",
    "sm_80 compute_80",
    "sm_90",
    "compute_70",
    "sm_70 sm_80 sm_90",
    "sm_70 sm_80 sm_90",
    "",
)
GFX_CODES = ("gfx900", "gfx900 gfx1100", "gfx1100", "")
DRIVERS = ("450.50", "460.10", "520.10", "530.20", "530.20", "590.10", "590.10")
SPECS = ("", "<2", ">=2", "==1", "==3", "<=3", ">=1,<3", ">=3")
"""Specifiers on shared dependencies, so made that two of them meet on the line exactly if they meet on 1, 2, 3, 4."""

WINDOWS_DRIVERS = ("450.40", "452.50", "463.10", "521.10", "522.10", "526.10", "527.60", "531.30", "585.10", "591.10")
"""Drivers as Windows numbers them, where a branch goes over several numbers: 585.10 is of R580, and 527.60 of R520."""

CUDA = (
    {"cuda": "11.0.1", "driver_linux": "450.36", "family_linux": "450.30"},
    {"cuda": "11.8.0", "driver_linux": "520.05", "family_linux": "450.30"},
    {"cuda": "12.1.0", "driver_linux": "530.15", "family_linux": "525.10"},
    {"cuda": "10.2.0", "driver_linux": "440.10", "family_linux": ""},
)
WINDOWS = {"11.0.1": ("451.10", "451.05"), "11.8.0": ("522.05", "451.05"), "12.1.0": ("531.15", "527.50")}
"""The same on Windows: driver and family floor by CUDA release; one that is not here has those of Linux."""
CAPABILITIES = (
    {"cc": "7.0", "architecture": "a", "first_cuda": "10.2", "last_driver": "R580"},
    {"cc": "8.0", "architecture": "b", "first_cuda": "11.0"},
    {"cc": "8.6", "architecture": "b", "first_cuda": "11.0"},
    {"cc": "9.0", "architecture": "c", "first_cuda": "11.8"},
)
SYSTEMS = (
    {"os": "ubuntu22.04", "glibc": "2.35", "python": "3.10", "pythons": "3.10 3.11", "manager": "apt"},
    {"os": "ubuntu18.04", "glibc": "2.27", "python": "3.9", "pythons": "3.9", "manager": "apt"},
)


FORWARD = {"11.8": ("R450", "R460"), "12.1": ("R460", "R520")}
"""CUDA release of a cuda-compat package -> driver branches that it runs on."""


class Rows:
    """A store of tables given as plain dictionaries."""

    def __init__(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        self.tables = tables

    def names(self) -> tuple[str, ...]:
        return tuple(self.tables)

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [{"source": "made-up", "how": "measured", **row} for row in self.tables.get(table, [])]

    def digest(self) -> str:
        return "sha256:made-up"

    def sources(self) -> dict[str, str]:
        return {"made-up": "made up for a test"}


@dataclass
class Question:
    """Tables of a matrix, requirements, and facts of a target; a fact that is missing is not known."""

    tables: dict[str, list[dict[str, Any]]]
    requirements: list[str]
    gpus: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    servers: bool = False
    """Whether its NVIDIA GPUs are products of the data-center line; else nothing is known of their class."""
    wsl: bool = False
    """Whether the target is Windows' subsystem for Linux, whose driver is that of Windows."""

    @property
    def kinds(self) -> list[str]:
        """Its GPUs as far as they differ: those that are alike are one constraint."""
        return list(dict.fromkeys(self.gpus))

    def matrix(self) -> Matrix:
        return Matrix(Rows(self.tables))

    def host(self) -> Host:
        readings = {
            name: Fact(value, "--os" if name == "os" else "test", option=name == "os")
            for name, value in self.facts.items()
        }
        if self.wsl:
            readings["platform"] = Fact("wsl2", "test")
        if self.gpus:
            kind = "Server" if self.servers else "card"
            found = tuple(Gpu(name=f"{kind} {target}", target=target) for target in self.gpus)
            readings["gpus"] = Fact(found, "test")
        return Host(readings)


def package(name: str, *, kind: str = "framework", follows: str = "") -> dict[str, Any]:
    return {"name": name, "title": name, "kind": kind, "follows": follows}


def build(versions: str, runtime: str, **more: Any) -> dict[str, Any]:
    plain = {"python": " ".join(PYTHONS), "platforms": "linux_x86_64"}
    return {"versions": versions, "runtime": runtime, **plain, **more}


def common_tables() -> dict[str, list[dict[str, Any]]]:
    images = [
        {"repository": "ubuntu", "tag": "22.04", "runtime": "cpu", "os": "ubuntu22.04", "arch": "x86_64 aarch64"},
        {"repository": "ubuntu", "tag": "18.04", "runtime": "cpu", "os": "ubuntu18.04", "status": "eol"},
        {
            "repository": "nvidia/cuda",
            "tag": "11.8.0-{flavour}-ubuntu22.04",
            "flavours": "base runtime devel",
            "runtime": "cuda11.8",
            "cuda": "11.8.0",
            "os": "ubuntu22.04",
        },
        {
            "repository": "nvidia/cuda",
            "tag": "11.8.0-{flavour}-ubuntu22.04",
            "flavours": "cudnn8-runtime cudnn8-devel",
            "runtime": "cuda11.8",
            "cuda": "11.8.0",
            "cudnn": "8.9.6",
            "os": "ubuntu22.04",
            "arch": "x86_64 aarch64",
            "require": "cuda>=11.8 driver>=460,driver<461",
        },
        {
            "repository": "nvidia/cuda",
            "tag": "11.0.1-{flavour}-ubuntu18.04",
            "flavours": "cudnn8-runtime",
            "runtime": "cuda11.0",
            "cuda": "11.0.1",
            "cudnn": "8.0.4",
            "os": "ubuntu18.04",
        },
        {
            "repository": "nvidia/cuda",
            "tag": "12.1.0-{flavour}-ubuntu22.04",
            "flavours": "base",
            "runtime": "cuda12.1",
            "cuda": "12.1.0",
            "os": "ubuntu22.04",
            "arch": "x86_64 aarch64",
        },
    ]
    servers = [
        {"name": f"Server {target}", "vendor": "nvidia", "target": target, "segment": "datacenter"}
        for target in sorted({one for one in DEVICES if one.startswith("sm_")})
    ]
    forward = [{"cuda": cuda, "branches": " ".join(branches)} for cuda, branches in FORWARD.items()]
    drivers = [
        {"branch": f"R{branch}", "cuda": cuda}
        for branch, cuda in ((450, "11.0"), (460, "11.2"), (520, "11.8"), (530, "12.1"), (580, "13.0"), (590, "13.1"))
    ]
    return {
        "cuda": [_with_windows(row) for row in CUDA],
        "capabilities": list(CAPABILITIES),
        "systems": list(SYSTEMS),
        "images": images,
        "drivers": drivers,
        "forward": forward,
        "gpus": servers,
        "gfx": [{"gfx": "gfx900", "architecture": "x"}, {"gfx": "gfx1100", "architecture": "y"}],
    }


def _with_windows(row: dict[str, str]) -> dict[str, str]:
    exact, family = WINDOWS.get(row["cuda"], (row["driver_linux"], row["family_linux"]))
    return {**row, "driver_windows": exact, "family_windows": family}


def random_question(seed: int) -> Question:
    """A random matrix of at most three packages and a random question, small enough for brute force."""
    rng = random.Random(seed)
    tables = common_tables()
    tables["packages"] = [package("alpha"), package("beta"), package("gamma", kind="companion", follows="alpha")]
    tables["indexes"] = [{"name": "vendor", "url": "https://vendor.example/{variant}"}]
    for name in ("alpha", "beta", "gamma"):
        tables[f"builds.{name}"] = _random_builds(rng, name)
    wanted = rng.choice(
        (["alpha"], ["alpha", "beta"], ["alpha", "gamma"], ["gamma"], ["beta", "gamma"], ["gamma", "beta", "alpha"])
    )
    requirements = [_random_wish(rng, name, tables) for name in wanted]
    question = Question(tables, requirements)
    _random_target(rng, question)
    side = random.Random(f"side {seed}")
    if side.random() < 0.25:
        question.wsl = True
        if "driver" in question.facts:
            question.facts["driver"] = side.choice(WINDOWS_DRIVERS)
    return question


def forward_question(seed: int) -> Question:
    """A random question whose driver is too old for many builds, on GPUs for which a newer one may come with the image."""
    question, rng = random_question(seed), random.Random(seed)
    for name in ("alpha", "beta", "gamma"):
        for row in question.tables[f"builds.{name}"]:
            if row["runtime"].startswith("cuda") and not row.get("system") and rng.random() < 0.8:
                row["runtime"] = "cuda12.1"
                row["kernels"] = rng.choice(("sm_70 sm_80 sm_90", "sm_70 sm_80", "compute_70"))
    question.wsl = False
    question.gpus = rng.sample(["sm_70", "sm_80", "sm_86"], rng.choice((1, 1, 2)))
    question.servers = rng.random() < 0.9
    question.facts["driver"] = rng.choice(("450.50", "460.10", "520.10"))
    return question


def _random_wish(rng: random.Random, name: str, tables: dict[str, list[dict[str, Any]]]) -> str:
    versions = sorted({row["versions"] for row in tables[f"builds.{name}"]})
    return name + rng.choice(
        ["", "", f"=={rng.choice(versions)}", f">={rng.choice(versions)}", f"<={rng.choice(versions)}"]
    )


def _random_target(rng: random.Random, question: Question) -> None:
    if rng.random() < 0.85:
        question.gpus = rng.sample(DEVICES, rng.choice((1, 1, 1, 2)))
        question.servers = rng.random() < 0.5
    facts: dict[str, Any] = {
        "driver": rng.choice(DRIVERS),
        "python": rng.choice(PYTHONS),
        "glibc": rng.choice(("2.17", "2.31")),
        "os": rng.choice(("ubuntu22.04", "ubuntu18.04")),
        "arch": rng.choice(("x86_64", "aarch64")),
        "cpu_flags": rng.choice((["avx"], ["sse4_2"])),
    }
    for name, value in facts.items():
        if rng.random() < {"driver": 0.7, "python": 0.4}.get(name, 0.2):
            question.facts[name] = value


def _random_builds(rng: random.Random, name: str) -> list[dict[str, Any]]:
    kinds = ("cuda11.0", "cuda11.8", "cuda12.1", "cuda10.2", "rocm5.4", "cpu", "xpu")
    return [
        _random_build(rng, name, version, runtime)
        for version in ("1.0", "2.0", "3.0")
        for runtime in rng.sample(kinds, rng.choice((2, 3, 4)))
    ]


def _random_build(rng: random.Random, name: str, version: str, runtime: str) -> dict[str, Any]:
    row = build(version, runtime)
    row["python"] = " ".join(sorted(rng.sample(PYTHONS, rng.choice((1, 2, 3))), key=PYTHONS.index))
    row["platforms"] = rng.choice(("linux_x86_64", "linux_x86_64", "linux_x86_64 linux_aarch64", "linux_aarch64"))
    row["glibc"] = rng.choice(("", "2.17", "2.28"))
    row["how"] = rng.choice(("measured", "measured", "documented", "inferred"))
    row["cpu"] = rng.choice(("", "", "avx"))
    if runtime.startswith("cuda"):
        row["kernels"] = rng.choice(CODES)
        row["cuda_from"] = rng.choice(("wheel", "packages", "system"))
        if row["cuda_from"] == "system":
            row["system"] = f"{runtime} cudnn{rng.choice('88889')}"
    elif runtime.startswith("rocm"):
        row["kernels"] = rng.choice(GFX_CODES)
    requires = []
    for shared in ("shared", "common"):
        if rng.random() < 0.5:
            marker = rng.choice(("", "", '; python_version < "3.10"', '; python_version >= "3.11"'))
            requires.append(f"{shared}{rng.choice(SPECS)}{marker}")
    if name == "gamma":
        row["index"], row["variant"] = "vendor", runtime
        requires.append(f"alpha{rng.choice(('', '==1.0', '==2.0', '>=2.0'))}")
    elif name == "alpha" and rng.random() < 0.5:
        row["index"], row["variant"] = "vendor", runtime
    if requires:
        row["requires"] = requires
    return row
