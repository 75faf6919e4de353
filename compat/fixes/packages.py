"""Fixes of frameworks and the packages beside them, from the resolver: for this GPU, driver, Python and platform."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.fixes.amd as amd
import compat.fixes.boards as boards
import compat.fixes.extensions as extensions
import compat.fixes.plans as plans
from compat import versions
from compat.changes import Change, Command, Install, Package, Python, Uninstall, Variable, install
from compat.facts import Fact, Host
from compat.findings import Fix
from compat.fixes.subject import Subject, continued, last_cuda
from compat.joints.python import is_for
from compat.names import normalise
from compat.reading.commands import asks_for_cuda, requirements
from compat.rules.lookups import is_version
from compat.rules.stack import FRAMEWORKS, canonical, is_unnamed, plain, platform_tag

if TYPE_CHECKING:
    from compat.matrix import Matrix
    from compat.plan import Plan

# Distributions of onnxruntime's one module (its docs, Install ONNX Runtime).
_SAME_MODULE: Final = frozenset(f"onnxruntime-{one}" for one in ("gpu", "directml", "openvino", "rocm", "qnn", "cann"))
_OF_NVIDIA: Final = ("driver", "driver_cuda", "cuda_toolkit")  # facts of machines with NVIDIA's software alone
_FORGE: Final = "-c conda-forge"


def gpu_build(subject: Subject) -> Fix | None:
    """A build with code for the GPUs that are there, of the release installed where that has one."""
    name = subject.framework_name()
    if subject.host.platform == "darwin":
        return _on_a_mac(name, subject)
    if own := _of_another(subject) or _untold(name, subject):
        return own
    if "llama-features" in subject.case.signals:
        return _llama(subject)
    if subject.program == "bitsandbytes" and name not in map(canonical, subject.cited()):
        return extensions.newest(subject.program, subject)
    if subject.said("tpu"):
        return Fix("Install jax with its TPU library.", changes=(install("jax", extras=("tpu",)),))
    intel = _for_intel(subject) if "xpu-not-compiled" in subject.case.signals else None
    bare = not subject.host.gpus and {gpu.vendor for gpu in subject.gpus} == {"amd"}
    unknown = {(gpu.vendor, gpu.target) for gpu in subject.gpus} == {("amd", "")}
    return intel or (not unknown and _with_code(name, subject)) or (amd.build(subject) if bare or unknown else None)


def _on_a_mac(name: str, subject: Subject) -> Fix | None:
    """What there is in place of CUDA, which no build for a Mac has."""
    if subject.program == "bitsandbytes":
        return Fix("A Mac has no CUDA, which this bitsandbytes is for: run without it.")
    if name == "tensorflow" and "tensorflow-metal" not in subject.packages:
        return Fix("Install TensorFlow's plug-in for Apple's GPU.", changes=(install("tensorflow-metal"),))
    text = "A Mac has no CUDA: take the plain build, and Apple's GPU through the device mps."
    return Fix(text, changes=(install(name),)) if name == "torch" else None


def _untold(name: str, subject: Subject) -> Fix | None:
    """What there is to choose from where nobody says what machine it is."""
    text = "Tell which machine it is: NVIDIA needs torch for CUDA, AMD for ROCm, a Jetson its JetPack's; a Mac has mps."
    unnamed = is_unnamed(subject.host) and not subject.gpus
    asks = name == "torch" and unnamed and "xpu-not-compiled" not in subject.case.signals
    if asks and subject.by_conda and not subject.release(name) and _FORGE in " ".join(subject.case.commands):
        change = Command(f"conda install {_FORGE} pytorch-gpu")
        return Fix("If its GPU is NVIDIA's, install conda-forge's torch for CUDA.", changes=(change,))
    return Fix(text) if asks and not asks_for_cuda(subject.case.commands) else None


def _hidden(subject: Subject) -> str:
    """The build of onnxruntime for another device that was installed, or is asked for: all of them write one module."""
    there = (*subject.packages, *requirements(subject.case.commands))
    if subject.program != "onnxruntime":
        return ""
    cuda = not subject.packages and not subject.by_amd and {gpu.vendor for gpu in subject.gpus} <= {"nvidia"}
    wanted = (
        ["onnxruntime-gpu"] if cuda and "ort-no-cuda" in subject.case.signals and not boards.is_one(subject) else []
    )
    return next((one for one in (*there, *wanted) if one in _SAME_MODULE), "")


def _of_another(subject: Subject) -> Fix | None:
    """The package that fails beside a framework: hidden, without a build for Windows, or itself built without CUDA."""
    if hidden := _hidden(subject):
        changes = (Uninstall(("onnxruntime", hidden)), install(hidden))
        return Fix(f"Keep {hidden} alone: onnxruntime is for the processor, and writes over it.", changes=changes)
    if subject.said("directml"):
        return Fix("DirectML computes beside torch's CPU build, and the program asks for CUDA: take a step without it.")
    package = subject.matrix.package(subject.compiled() or "torch")
    rows = subject.matrix.builds(package.name) if package else ()
    if not package or not rows or package.name in FRAMEWORKS:
        return None
    usual = [row for row in rows if not row.index and not row.compiled]
    if subject.host.platform == "windows" and usual and not any("win_amd64" in row.platforms for row in usual):
        return Fix(f"{package.name} has no build for Windows: use WSL2.", changes=(Command("wsl --install"),))
    beside = "dgl-cpu" in subject.case.signals and package.follows == "torch"
    return extensions.rebuild(package.name, subject) if beside else None


def _for_intel(subject: Subject) -> Fix | None:
    """A torch for Intel's GPUs, of the release that is installed where there is one."""
    place = platform_tag(subject.host) or "linux_x86_64"
    rows = [row for row in subject.matrix.builds("torch") if row.runtime == "xpu" and place in row.platforms]
    rows = [row for row in rows if is_for(row, subject.host.python or "")]
    if not rows:
        return None
    same = [row for row in rows if row.version == plain(subject.packages.get("torch", ""))]
    best = (same or [row for row in rows if row.how != "inferred"] or rows)[-1]
    return Fix(f"Install torch {best.version} for Intel GPUs.", changes=(subject.install(best, again=bool(same)),))


def _with_code(name: str, subject: Subject) -> Fix | None:
    """A build of a framework with GPU code, by the resolver; of a Jetson's by NVIDIA."""
    if not name or {"onnxruntime", "onnxruntime-gpu"} <= subject.packages.keys() or subject.by_amd:
        return None
    if boards.is_one(subject):
        return boards.framework(name, subject)
    found = plans.moved(name, subject)
    if found is None or found.runtime in {"cpu", "none"}:
        return _elsewhere(name, subject)
    changes = plans.changes_of(found, subject) or _bare(name, found, subject)
    if not changes:
        return None
    refused = subject.case.signals.get("ptx-jit-failed", "ptx-version-target")
    if refused and any(gpu.kernels == "ptx" for gpu in found.gpus):
        return _own_image(name, subject)
    past = not subject.release(name) and any(last_cuda(gpu.target, subject) for gpu in subject.gpus)
    step = ": an older release" if plans.is_older(found, name, subject, newest=past) else ""
    step += f", for Python up to {plans.last_python(found, name, subject)}" if step and not subject.host.python else ""
    code = found.ptx_of(name) if subject.gpus else ""
    text = f"Install {plans.told(found, name)}{code}{step}{_kept(name, subject) if step else ''}."
    asked = asks_for_cuda(subject.case.commands) or "+cu" in "".join(subject.packages.values())
    told = subject.gpus or asked or any(map(subject.host.known, _OF_NVIDIA))
    text = text if told else f"If its GPU is NVIDIA's: {continued(text)}"
    return Fix(text, changes=(*_replaced(name, subject), *changes))


def _own_image(name: str, subject: Subject) -> Fix | None:
    """NVIDIA's image of a framework whose PTX the driver refused, of a CUDA that knows the GPU."""
    row = next((known for gpu in subject.gpus if (known := subject.matrix.capability(gpu.target))), None)
    images = [
        image.references()[-1]
        for image in subject.matrix.table("images")
        if image.repository == f"nvcr.io/nvidia/{name}" and row and versions.at_least(image.cuda, row.first_cuda)
    ]
    text = f"No wheel of {name} has machine code for {subject.gpus[0].target}: take NVIDIA's image "
    return Fix(f"{text}{images[-1]}.") if images else None


def _llama(subject: Subject) -> Fix:
    """llama.cpp compiled with its GPU code (its docs/build.md); the binding for Python passes CMake's options on."""
    option = "-DGGML_HIP=on" if {gpu.vendor for gpu in subject.gpus} == {"amd"} else "-DGGML_CUDA=on"
    names = {
        *subject.packages,
        *requirements(subject.case.commands),
        "llama-cpp-python" * bool(subject.said("binding")),
    }
    binding = next((name for name in names if name.replace("_", "-") == "llama-cpp-python"), "")
    if not binding:
        return Fix(f"Compile it again: llama.cpp with {option}, llama-cpp-python with CMAKE_ARGS={option}.")
    again = Command("pip install --force-reinstall --no-cache-dir llama-cpp-python")
    return Fix("Compile llama-cpp-python with its GPU code.", changes=(Variable("CMAKE_ARGS", option), again))


def _bare(name: str, plan: Plan, subject: Subject) -> tuple[Change, ...]:
    """The plan of a framework whose plain wheel has no GPU code, where no package that brings it is listed."""
    brought = any(build.name == name and build.extras for build in plan.builds)
    listed = any(there.startswith((f"{name}-cuda", f"{name}-rocm")) for there in subject.packages)
    return plans.changes_of(plan, subject, whole=True) if brought and not listed else ()


def _replaced(name: str, subject: Subject) -> tuple[Change, ...]:
    """What keeps a framework on the CPU: its CPU distribution of another name, and conda's mark for CPU builds."""
    row = subject.matrix.package(name)
    others = {row.cpu_name, *row.aliases} if row else set()
    same = [there for there in subject.packages if there in others or (there != name and canonical(there) == name)]
    gone = [there for there in same if there.endswith("-cpu") or there in {"onnxruntime", "paddlepaddle"}]
    gone += ["cpuonly"] if name == "torch" and "cpuonly" in (subject.host.conda_packages or {}) else []
    return (Uninstall(tuple(gone)),) if gone else ()


def _kept(name: str, subject: Subject) -> str:
    """The release that is installed, in WSL2, which has a GPU build of it where Windows has none; else empty."""
    machine, have = plans.target(subject), subject.release(name)
    if machine.platform != "windows":
        return ""
    linux = Host({**machine.readings, "platform": Fact("linux", "machine")})
    plan = plans.planned([f"{name}=={have}" if is_version(have) else name], linux, subject.matrix)
    if plan is None or plan.runtime in {"cpu", "none"}:
        return ""
    extras = next((f"[{','.join(one.extras)}]" for one in plan.builds if one.name == name and one.extras), "")
    return f"; or keep {name}{extras} {have} in WSL2".replace("  ", " ")


def _elsewhere(name: str, subject: Subject) -> Fix | None:
    """No build here: the platform that has one, or a Python."""
    from compat.resolve import nearest

    machine = plans.target(subject)
    have = subject.release(name)
    wish = f"{name}=={have}" if is_version(have) else name
    if machine.platform == "windows" and {gpu.vendor for gpu in subject.gpus} == {"amd"} and name == "torch":
        text = "Install AMD's own torch for Windows, where its guide lists this GPU, rocm.docs.amd.com/projects/"
        return Fix(f"{text}radeon-ryzen, or use WSL2.")
    if machine.platform == "windows" and _kept(name, subject):
        text = f"{name} {have} has no GPU build for Windows: use WSL2".replace("  ", " ")
        for last in plans.with_code(name, "", platform_tag(subject.host), subject.matrix)[-1:]:
            held = [line for line in last.requires if line.partition("<")[0] in last.undeclared]
            beside = " and ".join((f"Python {last.python[-1]}", *held))
            text += f", or {last.version}, the last that has one, with {beside}"
        return Fix(f"{text}.", changes=(Command("wsl --install"),))
    free = Host({key: one for key, one in machine.readings.items() if key != "python"})
    plan = plans.planned([wish], free, subject.matrix) or nearest(wish, (), free, subject.matrix)
    if plan is None or not machine.python or plan.runtime in {"cpu", "none"}:
        return None
    changes = (Python(plan.python), *plans.changes_of(plan, subject))
    return Fix(f"Take Python {plan.python}, and {plans.told(plan, name)}.", changes=changes)


def companions(subject: Subject) -> Fix | None:
    """The companions of the framework's release, in one command; of another framework where theirs is not known."""
    if (fix := extensions.shadowed(subject)) is not None:
        return fix
    if "numpy" in subject.cited():
        return extensions.numpy(subject)
    if (fix := extensions.with_ops(subject) or _jax_parts(subject)) is not None:
        return fix
    heard = subject.case.signals.get("graphbolt-missing")
    if compiled := (heard.signal.program if heard else extensions.outside(subject) or _unpaired(subject)):
        return extensions.rebuild(compiled, subject)
    if (fix := extensions.without_cuda(subject)) is not None:
        return fix
    leads = (row.follows for one in _told(subject) if (row := subject.matrix.package(one)))
    return _beside(subject.framework_name() or next(leads, ""), subject)


def _unpaired(subject: Subject) -> str:
    """The compiled package that failed beside a torch whose release nobody states: that one does not move.

    Packages of torch's own index move along with it.
    """
    compiled = subject.compiled()
    package = subject.matrix.package(compiled) if compiled and "torch" not in subject.packages else None
    bound = package is not None and plans.requires(package.name, "", "torch", subject.matrix)
    own = bound and not any(row.index == "pytorch" for row in subject.matrix.builds(compiled))
    return compiled if own else ""


def _beside(name: str, subject: Subject) -> Fix | None:
    """A framework's companions, of its release or, where it is somebody's own build, from their sources."""
    beside = [other for other in (*plans.ties(name, subject), *_told(subject)) if other != name] if name else []
    beside += [other for other in plans.required(name, subject) if other in subject.cited()]
    version = subject.packages.get(name, "")
    if extensions.OWN.search(version):
        return extensions.sourced((*beside, subject.compiled()), version, subject)
    if not beside:
        return None
    known = version and subject.matrix.builds_of(name, plain(version))
    if not known or "dev" in version:
        return _of_companion(name, beside, subject)
    found = plans.companion(name, subject) or plans.moved(name, subject, extra=tuple(beside))
    return plans.belonging(found, name, subject)


def _told(subject: Subject) -> tuple[str, ...]:
    """Companions that the message is of."""
    heard = subject.case.signals.pointing(subject.finding.code)
    known = subject.matrix.package(normalise(heard.values.get("beside") or heard.signal.program)) if heard else None
    return (known.name,) if known and known.kind == "companion" else ()


def _of_companion(name: str, beside: list[str], subject: Subject) -> Fix | None:
    """Stable releases of all, by the companions', where the framework's is unknown or a build that nobody lists."""
    packages = subject.packages
    pins = [
        f"{other}=={plain(packages[other])}" for other in beside if versions.is_release(plain(packages.get(other, "")))
    ]
    one = _of_runtime(name, subject)
    if not pins and not packages and one == name:  # nothing is known of what is there, and so not what has to move
        return Fix(f"Reinstall {name} and {' and '.join(beside)} in one command, from one index.")
    for wishes in [[name, *pins]] * bool(pins) + [[one, *beside]]:
        if plan := plans.planned(wishes, plans.target(subject), subject.matrix):
            text = "Install releases that belong together"
            told = f"{text}, stable ones." if name in packages else f"{text}."
            return Fix(told, changes=plans.changes_of(plan, subject, whole=True))
    return None


def _of_runtime(name: str, subject: Subject) -> str:
    """A framework with the newest release for the CUDA that a message says it was built with; else its name."""
    stated = (subject.host.builds or {}).get(name)
    if stated is None or subject.packages or not stated.runtime.startswith("cuda"):
        return name
    rows = [row for row in subject.matrix.builds(name) if row.runtime == stated.runtime and row.index and row.local]
    return f"{name}=={rows[-1].full_version}" if rows else name


def _jax_parts(subject: Subject) -> Fix | None:
    """Jax, jaxlib and the plug-ins of one release: that of jaxlib where all have it; a plan's where none is listed."""
    packages = subject.packages
    parts = [name for name in packages if name.startswith("jax-") and name.endswith(("-plugin", "-pjrt"))]
    both = [plain(packages[name]) for name in ("jax", "jaxlib") if name in packages]
    alike = len(both) == 2 and both[0] == both[1] and not parts  # it is the plug-in that is of another release
    if subject.program == "jax" and (alike or not both):
        typed = requirements(subject.case.commands)
        release = next(iter(both), plain(typed.get("jax") or typed.get("jaxlib") or ""))
        plan = plans.planned([f"jax=={release}" if release else "jax"], plans.target(subject), subject.matrix)
        changes = plans.changes_of(plan, subject, whole=True)
        return Fix("Install jax, jaxlib and plug-ins of one release.", changes=changes) if changes else None
    about = {"jaxlib", "jax", *parts} & set(subject.cited()) or "jax" in subject.program
    if not packages.keys() & {"jax", "jaxlib"} or not about:
        return None
    told = [plain(packages[name]) for name in ("jaxlib", "jax", *parts) if name in packages]
    rows = filter(None, map(subject.matrix.package, ("jax", "jaxlib", *parts)))
    listed = {row.name for row in rows}  # a plug-in's two packages are of one row
    known = [one for one in told if all(subject.matrix.builds_of(name, one) for name in listed)]
    if not known:
        return None
    release = max(known, key=told.count)  # the fewest packages move; of equals, to jaxlib's
    names = tuple(Package(name=name, version=release) for name in ("jax", "jaxlib", *parts))
    return Fix(f"Install jax, jaxlib and plug-ins of one release, {release}.", changes=(Install(packages=names),))


def with_sources(change: Install, matrix: Matrix) -> Install:
    """An installation with what the matrix tells of its sources: repositories, and the channel ``pytorch`` of conda.

    That channel names the CUDA of a release by ``pytorch-cuda`` or, of older ones, by ``cudatoolkit``.
    """
    new = change.packages
    if not change.index:
        new = tuple(replace(one, address=one.address or matrix.repository(one.name)) for one in new)
    rows = {row.distribution or row.name: row for row in matrix.table("conda") if "pytorch" in row.channels}
    releases = [(rows.get(one.name), plain(one.version)) for one in new]
    had = all(
        row and version and versions.release(version) <= versions.release(row.newest) for row, version in releases
    )
    if not had or new[0].name != "torch" or not new[0].runtime.startswith("cuda"):
        return replace(change, packages=new)
    later = versions.release(plain(new[0].version)) >= versions.release(matrix.turn("pytorch-cuda").version)
    return replace(change, packages=new, names_cuda="pytorch-cuda" if later else "cudatoolkit")
