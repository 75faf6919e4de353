"""Package fixes by the resolver: the nearest plan that keeps everything else as it is.

The framework's release is kept where that can be, then the next ones are tried in order; the companions that are
installed and the requirement tables tie to it move along in the same command.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.joints.driver as joint
from compat import versions
from compat.changes import Change, Install, Uninstall
from compat.commands import installs
from compat.errors import InputError, InputErrors
from compat.facts import Fact, Gpu, Host
from compat.findings import Fix
from compat.joints.platform import is_at
from compat.lazy import pattern
from compat.names import normalise
from compat.reading.message_facts import runtime_of
from compat.rules.lookups import is_version
from compat.rules.stack import FRAMEWORKS, PLUGIN, installed, named, plain, platform_tag
from compat.versions import admits, requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.fixes.subject import Subject
    from compat.matrix import Matrix
    from compat.matrix.rows import Build
    from compat.plan import Plan, PlannedBuild

_TOO_OLD: Final = "arch-too-old-for-build"  # of a GPU: the last release that still has it is the nearest one
_NAME: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def target(subject: Subject, *, python: str = "") -> Host:
    """The machine as the resolver is asked for it: its GPUs, driver, Python and platform, as far as they are known."""
    host, readings = subject.host, {}
    gpus = tuple(
        Gpu(name=gpu.name, vendor=gpu.vendor, target=gpu.target.partition(":")[0]) for gpu in subject.gpus if gpu.target
    )
    if gpus:
        readings["gpus"] = Fact(gpus, "machine")
    driver = host.driver or _driver(host.driver_cuda, gpus, host.platform in {"windows", "wsl2"}, subject.matrix)
    if driver and is_version(driver) and all(gpu.vendor == "nvidia" for gpu in gpus):
        readings["driver"] = Fact(driver, "machine")
    for name in ("platform", "arch", "l4t", "glibc", "libc"):
        if host.value(name):
            readings[name] = Fact(host.value(name), "machine")
    number = python or host.python or ""
    if is_version(number):
        readings["python"] = Fact(versions.minor(number), "machine")
    return Host(readings)


def _driver(cuda: str | None, gpus: tuple[Gpu, ...], windows: bool, matrix: Matrix) -> str:
    """The first driver that nvidia-smi prints a CUDA version for; empty for one that knows none of the GPUs here."""
    if not is_version(cuda):
        return ""
    fits = [row for row in matrix.table("drivers") if row.first and versions.at_least(row.cuda, cuda or "")]
    first = min((row.first for row in fits), key=versions.release, default="")
    least = [joint.span(matrix, gpu.target, windows)[0] for gpu in gpus if gpu.vendor == "nvidia"]
    return first if first and all(versions.at_least(first, one) for one in least if one) else ""


def planned(wishes: Sequence[str], machine: Host, matrix: Matrix, *, newest: bool = False) -> Plan | None:
    """The plan for exactly these wishes on a machine; ``None`` where there is none, or none that is sure.

    Where the driver is not known and no release is asked for, it is one that the first driver of the newest GPUs runs,
    or else the one that needs the oldest driver, unless the ``newest`` that serves the GPU is sought.
    """
    from compat.resolve import resolve

    free = bool(machine.gpus) and not machine.driver and "==" not in wishes[0] and not newest
    nvidia = all(gpu.vendor == "nvidia" for gpu in machine.gpus or ())
    usual = joint.customary(matrix, machine.platform in {"windows", "wsl2"}) if free and nvidia else ""
    known = [(Host({**machine.readings, "driver": Fact(usual, "machine")}), "proven")] if usual else []
    for target, prefer in (*known, (machine, "oldest-driver" if free else "proven")):
        try:
            answer = resolve(wishes, target, matrix, prefer=prefer)
        except (InputError, InputErrors):
            continue
        if answer.status == "plan":
            return answer.plan
    return None


def with_code(name: str, version: str, place: str, matrix: Matrix) -> list[Build]:
    """The builds of a release, or of all, with GPU code for a platform, oldest first."""
    rows = matrix.builds_of(name, version) if version else matrix.builds(name)
    return [row for row in rows if row.runtime != "cpu" and (not place or is_at(row, place))]


def ties(name: str, subject: Subject) -> tuple[str, ...]:
    """Packages whose rows require a framework, by the matrix: installed ones, or those that were typed with it."""
    there = subject.packages if name in subject.packages else {**subject.typed, **subject.packages}
    return tuple(
        other
        for other, version in there.items()
        if other != name and subject.matrix.package(other) and requires(other, plain(version), name, subject.matrix)
    )


def requires(other: str, version: str, name: str, matrix: Matrix) -> bool:
    """Whether a package requires another one, in a release or, where that is not known, in its last row."""
    package = matrix.package(other)
    rows = matrix.builds_of(package.name, version) or matrix.builds(package.name)[-1:] if package else ()
    return any(normalise(found[0]) == name for row in rows for line in row.requires if (found := _NAME.match(line)))


def moved(name: str, subject: Subject, *, keep: bool = True, extra: Sequence[str] = ()) -> Plan | None:
    """The nearest plan for a framework and what is installed beside it.

    ``keep``: whether the release that is installed is tried first, for the same CUDA or ROCm before another.
    """
    machine, have = target(subject), subject.release(name) or _by_targets(name, subject)
    if not (have or machine.gpus or machine.driver or subject.by_amd):
        unseen = Host({**machine.readings, "gpus": Fact(usual(name, subject.matrix), "machine")})
        if plan := with_ties(name, name, subject, unseen, extra=extra):
            return plan
    same = [exact(name, subject)] if extra and keep else []
    same += [have] if keep and is_version(have) else []
    for version in filter(None, same):
        if plan := with_ties(f"{name}=={version}", name, subject, machine, extra=extra):
            return plan
    if first := _anchor(name, have, subject.matrix):
        return _nearest(f"{name}=={first}", name, subject, machine, extra)
    own = [Fact(versions.minor(one), "machine", option=True) for one in [subject.host.rocm or ""] if is_version(one)]
    nearer = (Host({**machine.readings, "rocm": one}) for one in own)  # a build for the ROCm that is there
    plans = (with_ties(name, name, subject, one, extra=extra) for one in (*nearer, machine))
    return next(filter(None, plans), None)


def _by_targets(name: str, subject: Subject) -> str:
    """The first release with a build for exactly the targets that a message lists; empty where it lists none.

    Of these one that has a build of a CUDA that compiles for the GPUs, where there is one.
    """
    stated, rows = (subject.host.builds or {}).get(name), subject.matrix.builds(name)
    listed = {*stated.kernels} if stated else set[str]()
    known = [row.first_cuda for gpu in subject.gpus if (row := subject.matrix.capability(gpu.target))]
    least = max(filter(is_version, known), key=versions.release, default="0")
    alike = {row.version for row in rows if listed and {*row.kernels} == listed and is_version(row.version)}
    later = {row.version for row in rows if is_version(own := row.runtime[4:]) and versions.at_least(own, least)}
    return min(alike & later or alike, key=versions.release, default="")


def usual(name: str, matrix: Matrix) -> tuple[Gpu, ...]:
    """The oldest and the newest GPUs that current CUDA compiles for and a framework has code for: most are between."""
    published = {one for row in matrix.builds(name) for one in row.kernels}
    rows = (row for row in matrix.table("capabilities") if not row.integrated and not row.last_cuda)
    targets = [target for row in rows if (target := f"sm_{row.cc.replace('.', '')}") in published]
    return tuple(Gpu(target=one, vendor="nvidia") for one in dict.fromkeys((*targets[:1], *targets[-1:])))


def companion(name: str, subject: Subject) -> Plan | None:
    """The nearest plan that moves the one companion that a finding names, and no release of the framework."""
    from compat.resolve import nearest

    beside = dict.fromkeys((*ties(name, subject), *required(name, subject)))
    moving = [other for other in beside if other in subject.cited()]
    have = exact(name, subject) or subject.release(name)
    if len(moving) != 1 or not is_version(plain(have)):
        return None
    kept = (f"{name}=={have}", *(_pinned(other, subject) for other in beside if other not in moving))
    plan = nearest(_pinned(moving[0], subject), kept, target(subject), subject.matrix)
    stays = plan and any(build.name == name and plain(build.version) == plain(have) for build in plan.builds)
    return plan if stays else None


def required(name: str, subject: Subject) -> tuple[str, ...]:
    """Installed packages that a framework requires and the matrix knows, such as torch's Triton."""
    have, matrix = subject.release(name), subject.matrix
    return tuple(one for one in subject.packages if name and matrix.package(one) and requires(name, have, one, matrix))


def _nearest(wish: str, name: str, subject: Subject, machine: Host, extra: Sequence[str]) -> Plan | None:
    """The nearest plan for a pinned framework: with what is installed beside it as it is, moved along, or left out."""
    from compat.resolve import nearest

    beside = tuple(dict.fromkeys((*ties(name, subject), *extra)))
    pins = {other: _pinned(other, subject) for other in beside}
    return nearest(wish, tuple(pins.values()), machine, subject.matrix, left=[pins[one] for one in extra])


def _pinned(name: str, subject: Subject) -> str:
    """An installed package with its release, where the matrix has that; else by its name alone."""
    have = subject.release(name)
    return f"{name}=={have}" if is_version(have) and subject.matrix.builds_of(name, have) else name


def _anchor(name: str, have: str, matrix: Matrix) -> str:
    """The release that is installed, or the one nearest to it that the matrix has; empty where it is not known."""
    if not is_version(have):
        return ""
    package = matrix.package(name)
    rows = matrix.builds(package.name) if package else ()
    known = sorted({row.version for row in rows if is_version(row.version)}, key=versions.release)
    newer = [version for version in known if versions.release(version) >= versions.release(have)]
    return next(iter((*newer, *known[-1:])), "")


def with_ties(wish: str, name: str, subject: Subject, machine: Host, *, extra: Sequence[str] = ()) -> Plan | None:
    """The plan for a framework with what is installed beside it, or without where that has no plan.

    What need not move stays: each companion's installed release is taken where it fits as well.
    """
    beside = tuple(dict.fromkeys((*ties(name, subject), *extra)))
    kernels = subject.finding.code.startswith("arch-")  # machine code is what is missing
    for companions in dict.fromkeys((beside, tuple(extra))):
        plan = planned([wish, *companions], machine, subject.matrix, newest=subject.finding.code == _TOO_OLD)
        if plan and not (kernels and any(gpu.kernels == "ptx" for gpu in plan.gpus)):
            return _keeping(plan, [wish, *companions], subject, machine)
    return None


def _keeping(plan: Plan, wishes: list[str], subject: Subject, machine: Host) -> Plan:
    """The same plan with the installed releases of those companions that it fits."""
    for name in wishes[1:]:
        have = plain(subject.packages.get(name, ""))
        taken = next((plain(build.version) for build in plan.builds if build.name == name), have)
        if not is_version(have) or have == taken:
            continue
        pinned = [f"{name}=={have}" if wish == name else wish for wish in wishes]
        if kept := planned(pinned, machine, subject.matrix):
            plan, wishes = kept, pinned
    return plan


def exact(name: str, subject: Subject) -> str:
    """The build that is installed, with its local tag; empty where it is one for the CPU, or not published.

    Of a release without one it is told by what it says of itself, or by NVIDIA's packages of its CUDA beside it.
    """
    have, item = subject.packages.get(name, ""), named(installed(subject.host, subject.matrix), name)
    rows = [row for row in subject.matrix.builds_of(name, plain(have)) if row.local and row.runtime != "cpu"]
    if "+" in have or item is None or not is_version(have):
        return next((have for row in rows if row.full_version == have), "")
    suffix = f"-cu{item.cuda.partition('.')[0]}"
    told = not item.inferred or any(one.startswith("nvidia-") and one.endswith(suffix) for one in subject.packages)
    return next((row.full_version for row in rows if told and row.runtime == item.runtime), "")


def belonging(plan: Plan | None, name: str, subject: Subject) -> Fix | None:
    """A plan of a framework and of what is installed beside it; ``None`` where nothing moves."""
    changes = changes_of(plan, subject)
    return Fix(f"Install what belongs to {told(plan, name)}.", changes=changes) if plan and changes else None


def changes_of(plan: Plan | None, subject: Subject, *, kind: str = "", whole: bool = False) -> tuple[Change, ...]:
    """A plan as changes: one command per index, the framework first; none where its runtime is of another ``kind``.

    Packages that stay as they are are left out, but for a ``whole`` plan, which is for another environment. JAX's
    plug-ins for another CUDA go first: JAX loads each that is installed.
    """
    if plan is None or not plan.runtime.startswith(kind):
        return ()
    have = subject.packages
    moves = any(build.name in FRAMEWORKS and not _stays(build, have, subject) for build in plan.builds)
    new = [build for build in plan.builds if whole or not _stays(build, have, subject, moves=moves)]

    def again(one: Install) -> bool:
        pinned = ((have.get(package.name, ""), package.version) for package in one.packages if package.version)
        return any(plain(there) == plain(version) for there, version in pinned)

    jax = next((build.runtime for build in new if build.name == "jax" and not whole), "")
    gone = tuple(one for one in have if jax and (found := PLUGIN.fullmatch(one)) and not jax.startswith(found[1]))
    held = _held(plan, {} if whole else have, subject) if new else ()
    added = tuple(
        replace(one, again=again(one)) for one in installs([_everywhere(build, subject) for build in new], held)
    )
    return (Uninstall(gone), *added) if gone else added


def _held(plan: Plan, have: dict[str, str], subject: Subject) -> tuple[str, ...]:
    """Bounds of shared packages that pip does not know: what is installed, or what the builds bring, is beyond them."""
    builds = {build.name: build for build in plan.builds}
    every = (row for one in builds.values() for row in subject.matrix.builds_of(one.name, plain(one.version)))
    rows = [row for row in every if row.runtime == builds[row.package].runtime]
    lines = [(row, item) for row in rows for item in map(requirement, row.requires) if item]
    served = (one for row in rows for one in row.python if is_version(one) and is_version(plan.python))
    stated = not have or is_version(subject.host.python)
    python = plan.python if stated else max(served, key=versions.release, default=plan.python)
    held = []
    for item in filter(None, map(requirement, () if subject.by_conda else plan.constraints)):
        mine = [(row, one.spec) for row, one in lines if one.name == item.name]
        loose = [spec for row, spec in mine if item.name in row.undeclared and ">" in spec]  # as its wheel says it
        told = [*loose, *(spec for row, spec in mine if item.name not in row.undeclared)]
        majors = (row for row in subject.matrix.table("majors") if row.name == item.name and loose)
        newest = (row.version for row in majors if versions.at_least(python, row.python))
        there = plain(have.get(item.name, "")) or next(newest, "")
        bounds = [one for one in item.spec.split(",") if one[:1] == "<"]
        beyond = bounds and there and admits(item.spec, there) is False
        if beyond and all(admits(spec, there) for spec in told):
            held.append(f"{item.name}{','.join(bounds)}")
    return tuple(held)


def _everywhere(build: PlannedBuild, subject: Subject) -> PlannedBuild:
    """A build by an index that names its CUDA, where the platform is unknown and elsewhere the default one has none."""
    rows = subject.matrix.builds_of(build.name, plain(build.version)) if build.runtime.startswith("cuda") else ()
    if subject.host.platform or build.index or not any(row.runtime == "cpu" and not row.index for row in rows):
        return build
    named = (row for row in rows if row.index and row.runtime == build.runtime)
    if (found := next(named, None)) is None:
        return build
    index, links = subject.matrix.index_url(found), subject.matrix.is_page(found)
    return replace(build, version=found.full_version, index=index, links=links)


def _stays(build: PlannedBuild, have: dict[str, str], subject: Subject, *, moves: bool = False) -> bool:
    """Whether a package is installed as the plan has it, by release and, as far as that is known, by runtime.

    One whose runtime nobody states goes where the framework ``moves``, if it has a build for each runtime.
    """
    there = have.get(build.name, "")
    if not there or plain(there) != plain(build.version):
        return False
    stated = (subject.host.builds or {}).get(build.name)
    if "cpu" in (subject.host.conda_packages or {}).get(build.name, "") and build.runtime != "cpu":
        return False
    read = named(installed(subject.host, subject.matrix), build.name)
    runtimes = (runtime_of(there.partition("+")[2]), read.runtime if read else "", stated.runtime if stated else "")
    runtime = next(filter(None, runtimes), "" if moves and (build.index or "+" in build.version) else build.runtime)
    return not build.runtime or runtime == build.runtime


def is_older(plan: Plan, name: str, subject: Subject, *, newest: bool) -> bool:
    """Whether a plan's release of a framework comes before the one installed, or before the ``newest``."""
    version = plain(_of(plan, name).version)
    rows = subject.matrix.builds(name) if newest else ()
    have = rows[-1].version if rows else subject.release(name)
    return is_version(version) and is_version(have) and versions.release(version) < versions.release(have)


def last_python(plan: Plan, name: str, subject: Subject) -> str:
    """The newest Python that the build of a plan has files for."""
    build = _of(plan, name)
    rows = with_code(build.name, plain(build.version), platform_tag(subject.host), subject.matrix)
    return rows[-1].python[-1] if rows else plan.python


def _of(plan: Plan, name: str) -> PlannedBuild:
    return next((build for build in plan.builds if build.name == name), plan.builds[0])


def told(plan: Plan, name: str) -> str:
    """A framework of a plan in words: ``torch 2.7.0 for CUDA 12.8``."""
    build = _of(plan, name)
    kind = build.runtime.rstrip("0123456789.")
    ours, system = ("the system's ", " and cuDNN") if kind == "cuda" and build.cuda_from == "system" else ("", "")
    made = f" for {ours}{_KINDS[kind]}{build.runtime[len(kind) :]}{system}" if kind in _KINDS else ""
    return f"{build.name} {plain(build.version)}{made}"


_KINDS: Final = {"cuda": "CUDA ", "rocm": "ROCm ", "xpu": "Intel GPUs"}
