"""Questions about one joint each: pins of one package or two, and a machine that is sound in all else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from compat import markers, versions
from compat.facts import Fact, Host
from compat.facts import host as machine_of
from compat.matrix import matrix
from compat.names import normalise
from compat.targets import kernels_for

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from compat.matrix.rows import Build

MATRIX = matrix()


@dataclass(frozen=True)
class Joint:
    """A joint: what speaks of it. A fault of another code or another fact is no verdict about it.

    Attributes:
        facts: facts that are asked about; without them all else must fit, or the question is not put.
        main: codes of doctor and lint whose business it is: where one could not be checked, the verdict is unknown.
        also: further codes that are a verdict about it.
    """

    facts: frozenset[str]
    main: frozenset[str]
    also: frozenset[str] = frozenset()

    @property
    def codes(self) -> frozenset[str]:
        """Every code that is a verdict about it."""
        return self.main | self.also


def _joint(facts: str, main: str, also: str = "") -> Joint:
    return Joint(frozenset(facts.split()), frozenset(main.split()), frozenset(also.split()))


JOINTS: Final = {
    "packages": _joint(
        "",
        "framework-pair-mismatch framework-build-tag-mismatch",
        "numpy-abi-mismatch frameworks-conflict cuda-major-mixed-in-env abi-mismatch rocm-libs-mixed "
        "wrong-vendor-build",
    ),
    "libraries": _joint(
        "",
        "framework-pair-mismatch",
        "numpy-abi-mismatch frameworks-conflict cuda-major-mixed-in-env library-mismatch library-missing",
    ),
    "driver": _joint(
        "driver driver_cuda",
        "driver-too-old-for-runtime",
        "ptx-jit-too-new-for-driver driver-gpu-unsupported-by-branch",
    ),
    "amdgpu": _joint("amdgpu", "", "rocm-version-mismatch rocm-no-driver"),
    "board": _joint("l4t", "driver-too-old-for-runtime jetson-jetpack-mismatch"),
    "kernels": _joint(
        "gpus",
        "arch-too-new-for-build arch-too-old-for-build rocm-gfx-unsupported extension-arch-missing",
        "arch-integrated-vs-discrete arch-specific-target wrong-vendor-build cudnn-drops-gpu "
        "triton-gpu-too-old platform-unsupported jetson-generic-wheel driver-gpu-unsupported-by-branch",
    ),
    "python": _joint("python", "python-unsupported", "python-tag-mismatch version-does-not-exist"),
    "glibc": _joint("glibc libc", "glibc-too-old musl-libc", "libstdcxx-too-old version-does-not-exist"),
    "platform": _joint(
        "platform arch glibc libc",
        "platform-unsupported",
        "macos-no-cuda version-does-not-exist accidental-cpu-wheel cpu-only-build wrong-vendor-build "
        "python-unsupported python-tag-mismatch",  # the Pythons of a wheel differ from platform to platform
    ),
    "processor": _joint("cpu_flags cpu", "cpu-instructions-missing"),
    "image": _joint("", "container-requires-newer-driver"),
}
"""Joint -> what speaks of it. The one place where codes are mapped to joints."""

# What a whole machine has looked for and does not have, so that no check is open because of it.
_ABSENT: Final = ("l4t", "jetpack", "image", "image_env", "container", "rocm", "hip", "cann", "scheduler")

SHARED: Final = ("numpy", "protobuf", "nvidia-cudnn-cu12", "nvidia-cudnn-cu11", "nvidia-nccl-cu12", "ml-dtypes")


@dataclass(frozen=True)
class Question:
    """Pins of builds (and of ``plain`` packages, name -> version) on a machine, about one joint.

    ``image`` is the base image that is asked about, one that resolve weighs for these pins.
    """

    joint: str
    builds: tuple[Build, ...]
    machine: tuple[tuple[str, Any], ...]
    plain: tuple[tuple[str, str], ...] = ()
    image: str = ""

    @property
    def pins(self) -> list[str]:
        """What is asked of resolve."""
        return [*map(pin_of, self.builds), *(f"{name}=={version}" for name, version in self.plain)]

    @property
    def place(self) -> str:
        """Where it is installed: ``linux_x86_64``."""
        machine = dict(self.machine)
        return markers.place_of(machine.get("platform", ""), machine.get("arch", ""))

    def host(self, *without: str, **more: Any) -> Host:
        """The machine; each fact's source is its own name, by which resolve's members are told apart."""
        values = {name: value for name, value in self.machine if name not in without}
        made = machine_of("machine", **values | more)
        return Host({name: Fact(one.value, name) for name, one in made.readings.items() if isinstance(one, Fact)})

    def __str__(self) -> str:
        told = {name: value for name, value in self.machine if name in {*JOINTS[self.joint].facts, "platform"}}
        place = f"{told} Python {dict(self.machine).get('python')}"
        return f"{' '.join(self.pins)} on {place} {f'in {self.image}' if self.image else ''}".strip()


def pin_of(build: Build) -> str:
    """The requirement that means this build."""
    extras = f"[{','.join(build.extras)}]" if build.extras else ""
    return f"{build.package}{extras}=={build.full_version if build.local else build.version}"


@cache
def told_apart(package: str) -> tuple[Build, ...]:
    """Builds that are told apart by their pin and their index: others' verdicts would be about another build."""
    rows = [row for row in MATRIX.builds(package) if not row.yanked and row.runtime != "cpu"]
    return tuple(
        row
        for row in rows
        if not any(
            other is not row and pin_of(other) == pin_of(row) and other.runtime != row.runtime
            for other in _released(package, row.version)
        )
    )


@cache
def _released(package: str, version: str) -> tuple[Build, ...]:
    return tuple(row for row in MATRIX.builds(package) if row.version == version)


@cache
def _tables() -> tuple[str, ...]:
    return tuple(sorted(name[7:] for name in MATRIX.names() if name.startswith("builds.")))


@cache
def _tied() -> tuple[tuple[str, str], ...]:
    """Packages of which the first's rows name the second."""
    found = set()
    for package in _tables():
        for row in MATRIX.builds(package):
            found |= {(package, name) for line in row.requires if (name := _name(line)) in _tables()}
    return tuple(sorted((one, other) for one, other in found if one != other))


def _name(line: str) -> str:
    from packaging.requirements import Requirement

    return normalise(Requirement(line).name)


@cache
def _gpus(vendor: str) -> tuple[tuple[str, str], ...]:
    """Product and target of a vendor's GPUs, one product per target."""
    rows = [row for row in MATRIX.table("gpus") if (row.vendor or _vendor(row.target)) == vendor]
    return tuple({row.target: (row.name, row.target) for row in rows if row.segment != "jetson"}.values())


def _vendor(target: str) -> str:
    """Vendor of the GPUs of a target."""
    return "nvidia" if target.startswith("sm_") else "amd" if target.startswith("gfx") else "intel"


@cache
def _drivers(platform: str) -> tuple[str, ...]:
    """Driver numbers that decide something: floors, first and last releases of branches, and just below each floor."""
    key = "windows" if platform == "windows" else "linux"
    floors = {getattr(row, f"{kind}_{key}") for row in MATRIX.table("cuda") for kind in ("driver", "family")} - {""}
    told = {row.windows if key == "windows" else row.latest for row in MATRIX.table("drivers")} - {""}
    below = {f"{int(one.partition('.')[0]) - 1}.10" for one in floors}
    return tuple(sorted(floors | told | below, key=versions.release))


def _newest_driver(target: str, platform: str) -> str:
    """The newest driver that serves a GPU."""
    row = MATRIX.capability(target) if target.startswith("sm_") else None
    last = row.last_driver if row else ""
    branches = [one for one in MATRIX.table("drivers") if not last or int(one.branch[1:]) <= int(last[1:])]
    numbers = [one.windows if platform == "windows" else one.latest for one in branches]
    return max(filter(None, numbers), key=versions.release)


def _sound(build: Build, dice: random.Random) -> dict[str, Any]:
    """A machine on which a build runs, as far as its row tells."""
    tag = dice.choice([one for one in build.platforms if one != "any"] or ["linux_x86_64"])
    if dice.random() < 0.7 and "linux_x86_64" in build.platforms:
        tag = "linux_x86_64"
    system, _, arch = tag.partition("_")
    platform = {"win": "windows", "macosx": "darwin"}.get(system, "linux")
    found: dict[str, Any] = {**dict.fromkeys(_ABSENT), "env": {}, "platform": platform}
    found["arch"] = {"amd64": "x86_64"}.get(arch, arch)
    found["python"] = dice.choice([one for one in build.python if not one.endswith("t")] or ["3.11"])
    if platform == "linux":
        found |= {"libc": "glibc", "glibc": "2.43"}
    vendor = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}.get(build.runtime.rstrip("0123456789."), "")
    cards = [one for one in _gpus(vendor or "nvidia") if _runs(build, one[1])] or [("NVIDIA A100-SXM4-80GB", "sm_80")]
    if platform != "darwin":
        found |= _with_gpu(dice.choice(cards), platform)
    return found


def _runs(build: Build, target: str) -> bool:
    """Whether a build has native code for a target, or carries none of its own."""
    carried = tuple(one for one in build.kernels if one != "-")
    return (
        kernels_for(target, carried, MATRIX.families) == "native" if carried else target in {"sm_80", "gfx90a", "pvc"}
    )


def _with_gpu(card: tuple[str, str], platform: str) -> dict[str, Any]:
    """A GPU and its newest driver, as facts."""
    name, target = card
    vendor = _vendor(target)
    bound = {"nvidia": "nvidia", "amd": "amdgpu", "intel": "xe"}.get(vendor, "")
    found: dict[str, Any] = {"gpus": ({"name": name, "vendor": vendor, "target": target, "driver": bound},)}
    found |= {"modules": (bound,) if bound else (), "driver": None, "amdgpu": "inbox" if vendor == "amd" else None}
    return found | (_with_driver(_newest_driver(target, platform), platform) if vendor == "nvidia" else {})


def _with_driver(number: str, platform: str) -> dict[str, Any]:
    """A driver and the CUDA that nvidia-smi prints for it."""
    key = "windows" if platform in {"windows", "wsl2"} else "latest"
    rows = [row for row in MATRIX.table("drivers") if getattr(row, key)]
    told = [row.cuda for row in rows if versions.release(getattr(row, key)) >= versions.release(number)]
    return {"driver": number, "driver_cuda": told[0] if told else max((row.cuda for row in rows), key=versions.release)}


def question(joint: str, dice: random.Random) -> Question | None:
    """A random question about a joint; ``None`` where the dice made none."""
    if joint in {"packages", "libraries"}:
        return _of_two(joint, dice)
    kind = {"amdgpu": "rocm", "driver": "cuda", "image": "cuda", "kernels": dice.choice(("cuda", "cuda", "rocm"))}.get(
        joint, ""
    )
    rows = [row for row in told_apart(dice.choice(_tables())) if row.runtime.startswith(kind)]
    rows = [row for row in rows if row.cpu] if joint == "processor" else rows
    rows = list(_for_boards()) if joint == "board" else rows
    if not rows:
        return None
    build = dice.choice(rows)
    machine = _sound(build, dice)
    if joint == "board":
        card = {"name": "a board's GPU", "vendor": "nvidia", "target": dice.choice(build.kernels), "integrated": True}
        machine = {name: value for name, value in machine.items() if name not in _NO_DRIVER} | {"gpus": (card,)}
    if joint == "image":
        machine |= {"platform": "linux", "arch": "x86_64"}
    changed = _CHANGES[joint](machine, dice)
    return Question(joint, (build,), tuple(sorted({**machine, **changed}.items()))) if changed else None


@cache
def _for_boards() -> tuple[Build, ...]:
    """Builds whose code is for Jetson boards alone."""
    boards = MATRIX.families.integrated
    return tuple(
        row for name in _tables() for row in told_apart(name) if row.kernels and boards.issuperset(row.kernels)
    )


def _board(_: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    return {"l4t": dice.choice([row.l4t for row in MATRIX.table("jetpack") if not row.sbsa])}


def _driver(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    if not machine.get("driver"):
        return {}
    platform = "wsl2" if machine["platform"] == "linux" and dice.random() < 0.1 else machine["platform"]
    number = dice.choice(_drivers("windows" if platform == "wsl2" else platform))
    return {"platform": platform, **_with_driver(number, platform)}


def _amdgpu(_: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    return {"amdgpu": dice.choice(sorted({one for row in MATRIX.table("rocm") for one in row.drivers}))}


def _card(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    if "gpus" not in machine:
        return {}
    own = machine["gpus"][0]["vendor"]
    vendor = own if dice.random() < 0.9 else dice.choice(("nvidia", "amd"))
    return _with_gpu(dice.choice(_gpus(vendor)), machine["platform"])


def _python(_: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    return {"python": dice.choice([row.python for row in MATRIX.table("pythons") if not row.python.endswith("t")])}


def _glibc(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    if machine["platform"] != "linux":
        return {}
    if dice.random() < 0.1:
        machine.pop("glibc")
        return {"libc": "musl"}
    return {"glibc": dice.choice(sorted({row.glibc for row in MATRIX.table("systems") if row.glibc}))}


def _platform(machine: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    place = dice.choice((("linux", "x86_64"), ("linux", "aarch64"), ("windows", "x86_64"), ("darwin", "aarch64")))
    for name in ("libc", "glibc"):
        machine.pop(name, None)
    if place[0] == "darwin":
        apple = ({"name": "Apple M2", "vendor": "apple"},)
        return {
            "platform": "darwin",
            "arch": "arm64",
            "gpus": apple,
            "driver": None,
            "driver_cuda": None,
            "modules": (),
        }
    more = {"libc": "glibc", "glibc": "2.43"} if place[0] == "linux" else {}
    return {"platform": place[0], "arch": place[1], **more}


def _processor(_: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    flags = sorted({flag for package in _tables() for row in MATRIX.builds(package) for flag in row.cpu})
    return {"cpu": "a processor", "cpu_flags": tuple(flag for flag in flags if dice.random() < 0.7) or ("sse2",)}


_NO_DRIVER: Final = {"driver": None, "driver_cuda": None, "modules": ()}
_CHANGES: Final = {
    "driver": _driver,
    "image": _driver,
    "amdgpu": _amdgpu,
    "board": _board,
    "kernels": _card,
    "python": _python,
    "glibc": _glibc,
    "platform": _platform,
    "processor": _processor,
}


def _of_two(joint: str, dice: random.Random) -> Question | None:
    """Two packages of which one's rows name the other, or a package and a dependency that is no build of a table."""
    if joint == "libraries":
        package = dice.choice(_tables())
        rows = [row for row in told_apart(package) if any(_name(line) in SHARED for line in row.requires)]
        if not rows:
            return None
        build = dice.choice(rows)
        line = dice.choice([line for line in build.requires if _name(line) in SHARED])
        return _with_plain(build, line, dice)
    one, other = dice.choice(_tied())
    rows, others = told_apart(one), told_apart(other)
    return _pair(dice.choice(rows), dice.choice(others), dice) if rows and others else None


def _pair(build: Build, beside: Build, dice: random.Random) -> Question | None:
    """Two builds on a machine on which each of them alone can be installed; ``None`` where there is none."""
    pythons = [one for one in build.python if one in beside.python and not one.endswith("t")]
    if "linux_x86_64" not in build.platforms and "any" not in build.platforms:
        return None
    if "linux_x86_64" not in beside.platforms and "any" not in beside.platforms:
        return None
    if not pythons and build.python and beside.python:
        return None
    machine = _sound(beside, dice)
    machine |= {"platform": "linux", "arch": "x86_64", "libc": "glibc", "glibc": "2.43"}
    machine["python"] = dice.choice(pythons or [*build.python, *beside.python] or ["3.11"])
    return Question("packages", (build, beside), tuple(sorted(machine.items())))


def _with_plain(build: Build, line: str, dice: random.Random) -> Question | None:
    """A build and a version of what it requires: one that its specifier names, or one beside it."""
    from packaging.requirements import Requirement

    wanted = Requirement(line)
    named = sorted(one.version for one in wanted.specifier if "*" not in one.version)
    if not named:
        return None
    version = dice.choice(named)
    first, _, rest = version.partition(".")
    near = dice.choice((version, f"{int(first) + 1}.0.0", f"{max(int(first) - 1, 0)}.{rest or 0}"))
    if (there := MATRIX.days(normalise(wanted.name))) and near not in there:
        return None  # no index has it: refused before any joint is asked
    return Question(
        "libraries", (build,), tuple(sorted(_sound(build, dice).items())), ((normalise(wanted.name), near),)
    )


def every_pair(dice: random.Random) -> Iterator[Question]:
    """Every companion release x framework release whose rows name each other: one build of each release."""
    for one, other in _tied():
        rows = {row.version: row for row in told_apart(one)}
        for beside in {row.version: row for row in told_apart(other)}.values():
            yield from filter(None, (_pair(row, beside, dice) for row in rows.values()))
