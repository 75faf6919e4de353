"""Random requests on the real matrix, each answer reviewed by code of its own, row by row, and by the doctor's rules.

The suite reviews a small sample; thousands are one command, which prints what it asked and every fault it found:

    python tests/resolve/review.py 3000
"""

from __future__ import annotations

import argparse
import random
import re
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from compat import versions
from compat.app.plans import Target, replies
from compat.errors import InputError
from compat.facts import load as load_host
from compat.matrix import Matrix, matrix
from compat.resolve.target import from_options
from compat.rules import judge
from compat.targets import Sm, kernels_for, sm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.app.plans import Reply
    from compat.facts import Host
    from compat.matrix.rows import Build, Product
    from compat.plan import Answer, Plan, PlannedBuild, Remedy

GROUPS = (
    ["torch"],
    ["torch"],
    ["torch", "torchvision"],
    ["torch", "torchvision", "torchaudio"],
    ["tensorflow"],
    ["jax"],
    ["paddlepaddle"],
    ["torch", "tensorflow"],
    ["torch", "jax"],
    ["jax", "tensorflow"],
    ["torch", "tensorflow", "jax"],
    ["vllm"],
    ["flash-attn"],
    ["xformers", "torch"],
    ["onnxruntime-gpu", "torch"],
    ["cupy"],
    ["torch", "numpy"],
)
VENDORS = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu"}
BOARDS = "nvcr.io/nvidia/l4t-"
OLD, RECENT = Sm(0, 0), Sm(6, 0)
_PREFERENCES = ("proven", "proven", "newest", "smallest", "oldest-driver", "stable")


@cache
def real() -> Matrix:
    return matrix()


@dataclass(frozen=True)
class Request:
    """A random request: its requirements, its options as ``resolve`` and as :func:`from_options` take them."""

    wishes: tuple[str, ...]
    words: tuple[str, ...]
    options: dict[str, Any]

    @property
    def host(self) -> Host:
        return from_options(real(), **self.options)

    @property
    def command(self) -> str:
        return shlex.join(["envcheck", "resolve", *self.wishes, *self.words])


@dataclass(frozen=True)
class Reviewed:
    """A request with its answer (none where it was refused), and the faults that were found."""

    request: Request
    answer: Answer | None
    faults: tuple[str, ...]


# --- asking ---


def request(seed: int) -> Request:
    """A random request: one to three packages, pinned, bounded or free, for one or two GPUs of any vendor."""
    rng = random.Random(seed)
    wishes = tuple(name + _bound(rng, name) for name in rng.choice(GROUPS))
    options: dict[str, Any] = {}
    if rng.random() < 0.07:
        options["cpu"] = True
    elif rng.random() < 0.97:
        _machine(rng, options)
    for name, likely, values in (
        ("python", 0.2, ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14t")),
        ("os", 0.1, ("ubuntu22.04", "ubuntu20.04", "debian12", "rocky9", "windows11", "macos15", "wsl2")),
        ("arch", 0.08, ("x86_64", "aarch64")),
    ):
        if rng.random() < likely:
            options[name] = rng.choice(values)
    words = [word for name, value in options.items() for word in _typed(name, value)]
    prefer = rng.choice(_PREFERENCES)
    return Request(wishes, (*words, *(["--prefer", prefer] if prefer != "proven" else [])), options)


def _machine(rng: random.Random, options: dict[str, Any]) -> None:
    """One or two GPUs, of the last ten years more often than not, and drivers and runtimes that may go with them."""
    products = [row for row in real().table("gpus") if row.vendor in VENDORS and row.segment != "jetson"]
    recent = [row for row in products if row.vendor != "nvidia" or (sm(row.target) or OLD) >= RECENT]
    cards = [rng.choice(recent if rng.random() < 0.8 else products) for _ in range(rng.choice((1, 1, 1, 1, 1, 2)))]
    options["gpus"] = [_spelling(rng, card) for card in cards]
    vendors = {card.vendor for card in cards}
    if "nvidia" in vendors and rng.random() < 0.6:
        branches = [row.first for row in real().table("drivers") if row.first]
        options["driver"] = rng.choice(branches[-16:] if rng.random() < 0.8 else branches)
    if rng.random() < 0.08 and vendors <= {"nvidia"}:
        options["cuda"] = rng.choice(("11.8", "12.1", "12.6", "12.8", "13.0", "12"))
    elif rng.random() < 0.2 and vendors == {"amd"}:
        options["rocm"] = rng.choice(("5.7", "6.2", "6.4", "7.2"))


def _spelling(rng: random.Random, card: Product) -> str:
    return rng.choice((card.name, card.name, card.target, card.pci[0] if card.pci else card.name))


def _typed(name: str, value: Any) -> Iterator[str]:
    if name == "cpu":
        yield "--cpu"
        return
    for one in value if isinstance(value, list) else [value]:
        yield from ({"gpus": "--gpu"}.get(name, f"--{name}"), one)


def _bound(rng: random.Random, name: str) -> str:
    known = [row for row in real().builds(name) if re.fullmatch(r"[0-9.]+", row.version)]
    found = sorted({row.version for row in known}, key=versions.release)
    if not found:
        return rng.choice(("", "<2", ">=1.26"))
    first = len(found) // 2 if rng.random() < 0.7 else 0
    low, high = sorted(rng.sample(range(first, len(found)), 2)) if len(found) - first > 1 else (first, first)
    pins = (f"=={found[low]}", f"=={found[high]}", f">={found[high]}", f"<={found[low]}")
    return rng.choice(("", "", "", *pins, f">={found[low]},<{found[high]}"))


def ask(command: str) -> tuple[Reply, ...]:
    """Answer a printed command as the command line does, on one matrix for all.

    Raises:
        InputError: if it is refused.
        SystemExit: if it has an option that ``resolve`` does not have.
    """
    parser = argparse.ArgumentParser("envcheck resolve")
    parser.add_argument("wishes", nargs="*")
    parser.add_argument("--gpu", action="append", dest="gpus", default=[])
    parser.add_argument("--host", action="append", dest="hosts", default=[])
    parser.add_argument("--cpu", action="store_true")
    for name in ("driver", "cuda", "rocm", "python", "os", "arch"):
        parser.add_argument(f"--{name}", default="")
    parser.add_argument("--prefer", default="proven")
    given = vars(parser.parse_intermixed_args(shlex.split(command)[2:]))
    wishes, gpus, hosts = (tuple(given.pop(name)) for name in ("wishes", "gpus", "hosts"))
    return replies(wishes, Target(gpus=gpus, hosts=hosts, **given), real())


def reviewed(seed: int) -> Reviewed:
    """Ask one random request and review the answer; a request may be refused, but then in words."""
    given = request(seed)
    try:
        (reply,) = ask(given.command)
    except InputError as error:
        return Reviewed(given, None, () if str(error) else ("refused without a reason",))
    return Reviewed(given, reply.answer, tuple(faults(given, reply.answer)))


def faults(given: Request, answer: Answer) -> Iterator[str]:
    """Everything that is wrong with an answer, in words; nothing for a good one."""
    if answer.plan is not None and answer.status == "plan":
        yield from _of_plan(given, answer.plan)
    if answer.status == "conflict":
        yield from _of_conflict(given, answer)
    for fix in answer.fixes:
        yield from _of_fix(given, fix)


# --- plans ---


def _of_plan(given: Request, plan: Plan) -> Iterator[str]:
    host = given.host
    rows = [(build, row_of(build, plan, host)) for build in plan.builds]
    for build, row in rows:
        if row is None:
            yield f"no row of the matrix is {build.requirement} on {build.runtime or 'no runtime'}"
        else:
            yield from _of_build(given, build, row, host)
    yield from _of_driver(host, plan)
    yield from _of_image(plan, [row for _, row in rows if row is not None])
    yield from of_python(plan, host)
    yield from _of_constraints(plan)
    yield from of_wishes(given.wishes, plan)
    yield from _of_doctor(host, plan)
    yield from _of_hints(given, plan)


def _place(plan: Plan, host: Host) -> str:
    system = host.platform
    arch = {"windows": plan.arch.replace("x86_64", "amd64"), "darwin": plan.arch.replace("aarch64", "arm64")}
    prefix = {"windows": "win", "darwin": "macosx"}.get(system or "", "linux")
    return f"{prefix}_{arch.get(system or '', plan.arch)}"


@cache
def _rows() -> dict[tuple[str, str, str, str], list[Build]]:
    """The rows of all builds by what a plan says of them."""
    found: dict[tuple[str, str, str, str], list[Build]] = {}
    for package in real().packages:
        for row in real().builds(package):
            both = row.runtime == "metal" or real().packages[package].on_cpu  # what a processor runs of it has no row
            for runtime in {row.runtime, "cpu"} if both else {row.runtime}:
                key = (row.install_name, row.full_version, runtime, real().index_url(row))
                found.setdefault(key, []).append(row)
    return found


def row_of(build: PlannedBuild, plan: Plan, host: Host) -> Build | None:
    """The matrix row of a planned build, published for the plan's place and Python."""
    version, page = build.version, build.index
    if build.address:  # a release's file, of which the name tells the version with its tag
        folder, _, file = build.address.rpartition("/")
        version, page = file.split("-")[1], folder.replace("/download/", "/expanded_assets/")
    for row in _rows().get((build.name, version, build.runtime, page), ()):
        is_here = {_place(plan, host), "any"} & {*row.platforms} and (not row.python or plan.python in row.python)
        if is_here and set(row.extras) <= set(build.extras):
            return row
    return None


def _of_build(given: Request, build: PlannedBuild, row: Build, host: Host) -> Iterator[str]:
    if row.runtime == "cpu" and "cpu" not in given.options and not any("cpu" in text for text in given.wishes):
        cards = [row for row in real().builds(build.name) if row.runtime not in {"", "cpu"}]
        if cards:
            yield f"{build.requirement} is a CPU build that nobody asked for"
    if row.kernels not in {(), ("-",)} and row.runtime not in {"", "cpu"}:
        idle = {gpu.target for gpu in host.gpus or () if gpu.integrated or _is_apu(gpu.name, gpu.target)}
        for gpu in host.gpus or ():
            if gpu.target not in idle and kernels_for(gpu.target, row.kernels, real().families) == "none":
                yield f"{build.requirement} has no code for {gpu.target}"
    if row.yanked and not any("==" in text for text in given.wishes):
        yield f"{build.requirement} was withdrawn"


def _is_apu(name: str, target: str) -> bool:
    rows = [row for row in real().table("gpus") if row.name == name or (name == target and row.target == target)]
    return bool(rows) and any(row.segment in {"apu", "integrated", "igpu"} for row in rows)


def _of_driver(host: Host, plan: Plan) -> Iterator[str]:
    if host.driver and plan.driver.minimum and not versions.at_least(host.driver, plan.driver.minimum):
        yield f"the driver {host.driver} is below the plan's {plan.driver.minimum}"
    if plan.driver.package:
        yield from _of_forward(host, plan)
    elif plan.runtime.startswith("cuda"):
        floor = real().cuda(plan.runtime.removeprefix("cuda"))
        linux, windows = ("family_linux", "driver_linux"), ("family_windows", "driver_windows")
        names = windows if host.platform in {"windows", "wsl2"} else linux
        lowest = next(filter(None, (getattr(floor, name) for name in names)), "") if floor else ""
        image = plan.base_image.image if plan.base_image else ""
        is_board = image.startswith(BOARDS)  # a Jetson's driver is its system's, and has numbers of its own
        if not is_board and lowest and not versions.at_least(plan.driver.minimum or "0", lowest):
            yield f"{plan.runtime} needs driver {lowest}, and the plan says {plan.driver.minimum or 'nothing'}"


def _of_forward(host: Host, plan: Plan) -> Iterator[str]:
    """A newer user-space driver: of the plan's CUDA, in an image of it, on a branch and GPUs that NVIDIA allows."""
    cuda = plan.runtime.removeprefix("cuda")
    (row,) = [row for row in real().table("forward") if row.cuda == cuda]
    image = plan.base_image.image if plan.base_image else ""
    checks = {
        "its branch": f"R{host.driver.partition('.')[0]}" in row.branches,
        "its package": plan.driver.package == f"cuda-compat-{cuda.replace('.', '-')}",
        "its image": re.match(rf"nvidia/cuda:{re.escape(cuda)}[.-]", image) is not None,
        "its path": (plan.env or {}).get("LD_LIBRARY_PATH", "").startswith(f"/usr/local/cuda-{cuda}/compat:"),
        "its machine": plan.arch == "x86_64",
    }
    yield from (f"forward compatibility fails in {name}" for name, holds in checks.items() if not holds)
    for gpu in host.gpus:
        segments = {row.segment for row in real().table("gpus") if row.name == gpu.name}
        if segments != {"datacenter"} or not _is_served(gpu.target, host.driver):
            yield f"forward compatibility is not for {gpu.name}"


def _is_served(target: str, driver: str) -> bool:
    row = real().capability(target)
    last = row.last_driver.removeprefix("R") if row else "0"
    return not last or int(driver.partition(".")[0]) <= int(last)


def _of_image(plan: Plan, rows: list[Build]) -> Iterator[str]:
    if plan.base_image is None:
        return
    found = [row for row in real().table("images") if plan.base_image.image in row.references()]
    system = real().system(plan.base_image.os)
    if not found or found[0].status == "gone":
        yield f"the image {plan.base_image.image} does not exist"
        return
    for row in rows:
        if row.glibc and system is not None and not versions.at_least(system.glibc, row.glibc):
            yield f"{system.os} has glibc {system.glibc}, and {row.full_version} needs {row.glibc}"
    for need in () if found[0].repository.startswith(BOARDS) else plan.system:
        name = need.rstrip("0123456789.")
        held = f"cudnn{found[0].cudnn}" if name == "cudnn" else found[0].runtime
        if held != need and not held.startswith(f"{need}."):
            yield f"{plan.base_image.image} holds {held}, and the plan needs {need}"


def of_python(plan: Plan, host: Host) -> Iterator[str]:
    """The Python must be in the image, packaged by its system, or published as a standalone build; and one to install into."""
    image, ready = plan.base_image, {row.python: row.standalone for row in real().table("pythons")}
    if plan.python.startswith("2.") and host.python != plan.python:
        yield f"Python {plan.python} that nobody asked for"
    if image is None:
        return
    system = real().system(image.os)
    (row, *_) = [row for row in real().table("images") if image.image in row.references()] or [None]
    places = {
        "image": row is not None and row.python == plan.python,
        "distribution": system is not None and plan.python in {system.python, *system.pythons},
        "uv": ready.get(plan.python, False),
    }
    if plan.python not in ready or not places.get(image.python_from, False):
        yield f"Python {plan.python} cannot come from the {image.python_from} of {image.image}"


def _of_constraints(plan: Plan) -> Iterator[str]:
    from packaging.requirements import Requirement

    for text in plan.constraints:
        if Requirement(text).specifier.to_range().is_empty:
            yield f"no version meets {text}"


def machine_of(host: Host, plan: Plan) -> Host:
    """The target's machine with the plan installed in its image: what the doctor would find inside."""
    image = plan.base_image
    system = real().system(image.os) if image else None
    facts: dict[str, Any] = {
        "arch": plan.arch,
        "python": plan.python,
        "packages": {build.name: build.version for build in plan.builds},
        "builds": {build.module or build.name: {"runtime": build.runtime} for build in plan.builds if build.runtime},
    }
    if image:
        facts |= {"platform": "wsl2" if host.platform == "wsl2" else "linux", "os": image.os}
    if system and system.glibc:
        facts["glibc"] = system.glibc
    if plan.driver.package:
        folder = (plan.env or {})["LD_LIBRARY_PATH"].partition(":")[0]
        compat = {"path": f"{folder}/libcuda.so.1", "origin": "compat", "loaded": True, "version": "999.0"}
        facts["libraries"] = [{"name": "libcuda.so.1", **compat}]
    if plan.driver.minimum and not host.driver:
        facts["driver"] = plan.driver.comfortable
    kept = _without(host, {"os", "python"}) if image else host
    return kept.over(load_host(facts, "plan"))


def _without(host: Host, names: set[str]) -> Host:
    return type(host)({name: reading for name, reading in host.readings.items() if name not in names})


def of_wishes(wishes: tuple[str, ...], plan: Plan) -> Iterator[str]:
    """Nothing that was asked for may be missing: a package has its build, a dependency without builds its constraint."""
    from packaging.requirements import Requirement

    rows = [real().package(build.name) for build in plan.builds]
    there = {row.name for row in rows if row} | {build.name for build in plan.builds}
    there |= {Requirement(text).name for text in plan.constraints}
    for wish in wishes:
        name = Requirement(wish).name
        row = real().package(name)
        if (row.name if row else name) not in there:
            yield f"{wish} was asked for and is not in the plan"


def _of_doctor(host: Host, plan: Plan) -> Iterator[str]:
    """A plan that the doctor would fault is a bug of one of the two."""
    told = {gpu.kernels for gpu in plan.gpus}  # that PTX is compiled is said by the plan itself
    idle = [gpu.name for gpu in plan.gpus if gpu.kernels == "none"]  # and so is what it leaves idle
    for finding in judge(machine_of(host, plan), real()).findings:
        known = finding.code == "arch-ptx-only" and "ptx" in told
        known |= finding.severity == "warning" and any(finding.detail.startswith(f"{name} is ") for name in idle)
        if finding.severity in {"error", "warning"} and not known:
            yield f"doctor {finding.severity} ({finding.confidence}) {finding.code}: {finding.detail}"


def _of_hints(given: Request, plan: Plan) -> Iterator[str]:
    """A release that the plan says to be had by asking for its version must then be planned."""
    for condition in plan.conditions:
        if found := re.fullmatch(r"(\S+) (\S+) (?:is newer|runs on this driver).*ask for it by version.*", condition):
            others = [text for text in given.wishes if not re.match(rf"{re.escape(found[1])}(?![\w-])", text)]
            command = shlex.join(["envcheck", "resolve", f"{found[1]}=={found[2]}", *others, *given.words])
            try:
                ends = [reply.answer.status for reply in ask(command)]
            except InputError as error:
                ends = [f"refused: {error}"]
            if ends != ["plan"]:
                yield f"a release that is recommended has no plan: {command}: {', '.join(ends)}"


# --- conflicts and fixes ---


def _of_conflict(given: Request, answer: Answer) -> Iterator[str]:
    if not answer.conflicts:
        yield "a conflict without a reason"
    for conflict in answer.conflicts:
        named = [member for member in conflict.members if member.kind != "matrix"]
        if not any(member.text in given.wishes for member in named):
            yield f"the conflict names no wish: {conflict.why}"
        if not any(member.kind == "matrix" for member in conflict.members):
            yield f"the conflict cites no row: {conflict.why}"


def _of_fix(given: Request, fix: Remedy) -> Iterator[str]:
    builds = [build for plan in fix.plans for build in plan.builds]
    if not builds:
        yield f"no plan behind: {fix.text}"
    if "cpu" not in fix.changes and "cpu" not in given.options and any(plan.runtime == "cpu" for plan in fix.plans):
        yield f"a CPU build that nobody asked for: {fix.text}"
    for command in commands_of(fix):
        try:
            ends = [reply.answer.status for reply in ask(command)]
        except (InputError, SystemExit) as error:
            ends = [f"refused: {error}"]
        if set(ends) != {"plan"}:
            yield f"a printed command has no plan: {command}: {', '.join(ends)}"


def commands_of(fix: Remedy) -> tuple[str, ...]:
    """The commands that a fix prints."""
    return tuple(filter(None, (fix.command, *fix.commands)))


def main(count: int, first: int = 0) -> int:
    """Review ``count`` requests; prints the counts and every fault. 1 if there are any."""
    ends: Counter[str] = Counter()
    found: Counter[str] = Counter()
    commands = 0
    for seed in range(first, first + count):
        one = reviewed(seed)
        ends[one.answer.status if one.answer else "refused"] += 1
        commands += sum(len(commands_of(fix)) for fix in one.answer.fixes) if one.answer else 0
        for fault in one.faults:
            found[fault.partition(":")[0]] += 1
            print(f"seed {seed}: {fault}\n    {one.request.command}")
    told = ", ".join(f"{number} {name}" for name, number in sorted(ends.items()))
    print(f"{count} requests from seed {first}: {told}; {commands} printed commands run; {found.total()} faults")
    for name, number in found.most_common():
        print(f"  {number:5} {name}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*(int(word) for word in sys.argv[1:3])) if len(sys.argv) > 1 else main(1000))
