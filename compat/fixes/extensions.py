"""Fixes of packages that are compiled against a framework or NumPy: a release that belongs to it, or a rebuild."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.fixes.boards as boards
import compat.fixes.plans as plans
from compat import versions
from compat.changes import Command, Install, Package, Uninstall, Variable, install
from compat.commands import package_of
from compat.findings import Fix
from compat.joints import libc
from compat.joints.platform import is_at
from compat.joints.python import is_for
from compat.lazy import pattern
from compat.reading.commands import requirements
from compat.rules.lookups import is_version, recompiled
from compat.rules.stack import plain, platform_tag
from compat.versions import admits, requirement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.fixes.subject import Subject
    from compat.plan import PlannedBuild


_PAGE: Final = pattern(r"(https?://[\w./-]{1,80}/(torch)-)(\d+\.\d+\.\d+)(?:\+\w+)?\.html")  # of PyG's wheels
OWN: Final = pattern(r"a0\+|\+git")  # versions of builds that somebody made from the sources
# Where the sources are that the index does not have (the tags are the releases, https://github.com/pytorch).
_SOURCES: Final = {"torchvision": "https://github.com/pytorch/vision", "torchaudio": "https://github.com/pytorch/audio"}


def rebuilt(subject: Subject) -> Fix | None:
    """The compiled package that does not fit, of the release for the framework installed, or compiled again here."""
    if (fix := shadowed(subject)) is not None:
        return fix
    if "tensorrt-no-bindings" in subject.case.signals:
        return boards.bindings(subject) or Fix("Install TensorRT with its bindings.", changes=(install("tensorrt"),))
    if compiled := subject.compiled():
        return rebuild(compiled, subject)
    torch = f"torch {plain(subject.packages.get('torch', ''))}".strip()
    return next(
        (Fix(f"Reinstall the package that {one} is of, built for {torch}.") for one in subject.said("bare")), None
    )


def shadowed(subject: Subject) -> Fix | None:
    """A traceback that enters the user's own packages out of an environment's: Python without them.

    Source: Python, Command line and environment, PYTHONNOUSERSITE.
    """
    found = subject.said("own")
    if not found or subject.host.python_environment not in {"conda", "venv"}:
        return None
    text = f"{found[0]} of the user's own packages hides the environment's: leave those out."
    return Fix(text, changes=(Variable("PYTHONNOUSERSITE", "1"),))


def rebuild(name: str, subject: Subject) -> Fix:
    """A release of a compiled package for the framework that is there, or its rebuild."""
    package = subject.matrix.package(name)
    if package and not package.follows and not plans.requires(package.name, "", "torch", subject.matrix):
        change = install(name, upgrade=True)
        return Fix(f"Install the newest {name}, since this one does not load here.", changes=(change,))
    follows = package.follows if package and package.follows else "torch"
    version = plain(subject.packages.get(follows, ""))
    if maker := _maker(follows, subject):
        text = f"Compile {name} here: no wheel is made for {maker}'s own {follows} {version}".rstrip()
        return sourced((name,), version, subject) or Fix(f"{text}.", changes=recompiled(subject.matrix, name))
    pin = f"{follows}=={plans.exact(follows, subject) or version}"
    build = _published(package.name, pin, subject) if package and version else None
    if build and (subject.host.python or not package_of(build).address):  # a file's address is of one Python
        item = package_of(build)
        again = plain(subject.packages.get(name, "")) == plain(build.version)
        change = Install(packages=(item,), index=build.index, links=build.links, again=again)
        return Fix(f"Install {name} {plain(build.version)}, which belongs to {follows} {version}.", changes=(change,))
    if package and version and pin != f"{follows}=={version}" and (both := _together(package.name, follows, subject)):
        return both
    if "graphbolt-missing" in subject.case.signals:  # its wheels hold one part for each torch, and no sources
        return Fix(
            f"Take a release of {name} with a part for torch {version}, or a torch that this one has a part for."
        )
    unstated = _of_page(follows, subject) or _of_pin(name, follows, subject) if package and not version else None
    if package and subject.is_pure(package.name):  # a compiled one is not from the index
        unstated = Fix(f"Take the {name} that was built for this {follows}, from where this one came.")
    listed = bool(package or name in subject.packages or subject.matrix.repository(name))
    text = f"Compile {name} here again, for the installed {follows} {version}".rstrip()
    here = recompiled(subject.matrix, name, plain(subject.packages.get(name, "")))
    if not listed:  # known by its folder alone: no index need have it
        text += ", in the folder of its sources"
        here = (Command("pip install --no-build-isolation --no-deps --force-reinstall ."),)
    return unstated or Fix(f"{text}.", changes=here)


def _maker(name: str, subject: Subject) -> str:
    """Whose build of a framework is here, where no wheel of an extension is for it: its C++ ABI is its own."""
    build, version = (subject.host.builds or {}).get(name), subject.packages.get(name, "")
    named = {subject.host.image or "", *subject.said("image")}
    rows = [row for row in subject.matrix.table("images") if row.framework and named.intersection(row.references())]
    if any(OWN.search(one) for one in (version, *(row.framework for row in rows))):
        return "NVIDIA" if rows or ".nv" in version else "somebody"
    return "conda-forge" if build and build.location == "conda-forge" else ""


def _of_page(follows: str, subject: Subject) -> Fix | None:
    """Wheels from a page of links for one release of a framework, which is another one than is here: those for it."""
    for line in subject.case.commands:
        if (found := _PAGE.search(line)) and found[2] == follows and subject.host.platform != "windows":
            beside = [one for one in subject.case.commands if found[1] in one]
            names = " ".join(requirements(beside))
            tried = f"$(python -c 'import {follows}; print({follows}.__version__)')"
            text = f"Take wheels for the {follows} that is here: these are for {found[3]}."
            command = f"pip install --force-reinstall --no-deps {names} -f {found[1]}{tried}.html"
            return Fix(text, changes=(Command(command),))
    return None


def _of_pin(name: str, follows: str, subject: Subject) -> Fix | None:
    """A package whose wheels at the default index require one torch each: pip then moves torch."""
    rows = (row for row in subject.matrix.builds(name)[-1:] if not row.index and not row.compiled)
    if not any(line.startswith("torch==") for row in rows for line in row.requires):
        return None
    return Fix(f"Bring the {follows} that this {name} requires.", changes=(install(name),))


def _together(name: str, follows: str, subject: Subject) -> Fix | None:
    """Both of one CUDA, where the package has no build for that of the framework that is there."""
    found = plans.moved(follows, subject, extra=(name,))
    published = found and any(one.name == name and not one.compile for one in found.builds)
    return plans.belonging(found, follows, subject) if published else None


def without_cuda(subject: Subject) -> Fix | None:
    """Code of xFormers for the very torch that is there does not load: that torch has no CUDA, as on a Mac."""
    own = (subject.host.builds or {}).get("xformers")
    if own is None or not own.torch or own.torch != subject.packages.get("torch"):
        return None
    if subject.host.platform == "darwin":
        return Fix("A Mac has no CUDA, which this code is for: run without xFormers.")
    text = f"xFormers is built for torch {own.torch}, which is installed: if this prints None, that torch has no CUDA."
    return Fix(text, changes=(Command('python -c "import torch; print(torch.version.cuda)"'),))


def newest(name: str, subject: Subject) -> Fix:
    """The newest release of a package that keeps a library for each CUDA in its wheel: for the one in use, and here."""
    item, own = subject.framework(), (subject.host.builds or {}).get(name)
    cuda = f"cuda{versions.minor(item.cuda)}" if item and item.cuda else own.runtime if own else ""
    python, place = subject.host.python or "", platform_tag(subject.host) or "linux_x86_64"
    here = [row for row in subject.matrix.builds(name) if is_for(row, python) and is_at(row, place)]
    mine = {row.version: row for row in here if row.runtime == cuda}
    last = max(mine, key=versions.release, default="")
    if last and last != max((row.version for row in here), key=versions.release):
        change = subject.install(mine[last], settles=subject.missing)
        return Fix(f"Install {name} {last}, the last with a library for CUDA {cuda[4:]} here.", changes=(change,))
    what = "Windows" if subject.host.platform == "windows" else "the CUDA in use"
    change = install(name, settles=subject.missing, again=True)
    return Fix(f"Install the newest {name}, which has a library for {what}.", changes=(change,))


def with_ops(subject: Subject) -> Fix | None:
    """OpenMMLab's mmcv with its compiled part: before 2.0 that is mmcv-full, which writes the same folder as mmcv.

    Source: mmcv documentation, Installation.
    """
    if "mmcv-ops-missing" not in subject.case.signals:
        return None
    name = "mmcv-full" if subject.release("mmcv-full") else "mmcv"
    version, item = subject.release(name), subject.framework()
    if not version:
        return Fix("Install mmcv with its ops, compiled here where no wheel is for this torch: before 2.0 mmcv-full.")
    gone = Uninstall(("mmcv", "mmcv-full"))
    if name == "mmcv" and versions.release(version) < (2,):
        name = "mmcv-full"
    text = f"Keep {name} alone, of this torch: mmcv and mmcv-full write one folder."
    if item is None or item.name != "torch" or not item.cuda:
        return Fix(text, changes=(gone, Command("pip install openmim"), Command(f"mim install {name}=={version}")))
    page = next(row.url for row in subject.matrix.table("indexes") if row.name == "mmcv")
    variant = f"cu{item.cuda.replace('.', '')}/torch{versions.minor(item.version)}"
    index = page.replace("{variant}", f"{variant}/index.html")  # an overlay's text is data, and no format to run
    return Fix(text, changes=(gone, Install(packages=(Package(name=name, version=version),), index=index, links=True)))


def extended(name: str, subject: Subject) -> Fix | None:
    """A release of a compiled package that has code for the GPU and belongs to the framework that is there."""
    package = subject.matrix.package(name) if name else None
    if package is None:
        return None
    pin = (
        f"{package.follows}=={plain(subject.packages[package.follows])}" if package.follows in subject.packages else ""
    )
    build = _published(package.name, pin, subject)
    if build is None:
        return None
    item = package_of(build)
    if item.address and not (pin and subject.host.python):  # one wheel for each Python and each release of torch
        return rebuild(name, subject)
    change = Install(packages=(item,), index=build.index, links=build.links)
    return Fix(f"Install {name} {plain(build.version)}, which has code for this GPU.", changes=(change,))


def _published(name: str, pin: str, subject: Subject) -> PlannedBuild | None:
    """The published build of a package for a framework's release; ``None`` where it must be compiled, or is there."""
    plan = plans.planned([pin, name] if pin else [name], plans.target(subject), subject.matrix)
    build = next((one for one in plan.builds if one.name == name), None) if plan else None
    if build is None or build.compile or (not build.index and build.version == subject.packages.get(name)):
        return None
    return build


def unisolated(subject: Subject) -> Fix | None:
    """A package whose build script imports what is installed: it is built beside that, and in no place of its own."""
    if not is_isolated(subject):
        return None
    asked = requirements(subject.case.commands)
    unbuilt = next(iter(subject.said("unbuilt")), "") or subject.case.signals.value("unbuilt").replace("@", "==")
    name, _, version = unbuilt.partition("==") if unbuilt else (next(iter(asked), ""), "", "")
    if not name:
        return Fix(
            "Repeat the command with --no-build-isolation, by pdm --no-isolation: it then sees what is installed."
        )
    package = Package(name=name, version=version or asked.get(name, ""))
    build = Install(packages=(package,), compile=True)
    if (gone := subject.case.signals.get("pkg-resources-gone")) is not None:
        text = "Build it beside a setuptools that has pkg_resources: pip's own place for builds takes the newest."
        wish = requirement(gone.signal.installs)
        return Fix(text, changes=(*([install(wish.name, wish.spec)] if wish else []), build))
    text = "Build it beside the torch that is installed: pip's own place for builds has none."
    return Fix(text, changes=(build,))


def is_isolated(subject: Subject) -> bool:
    """Whether a build stopped in an environment of its own, where nothing that is installed is seen."""
    return subject.case.signals.get("build-isolation", "uv-build-isolation") is not None


def sourced(names: Sequence[str], version: str, subject: Subject) -> Fix | None:
    """A companion of a torch that somebody built: no wheel belongs to it, its own sources do."""
    base = version.partition("a")[0].partition("+")[0]
    for name, address in _SOURCES.items():
        rows = subject.matrix.builds(name) if name in names else ()
        release = next((row.version for row in rows if f"torch=={base}" in row.requires), "")
        if release:
            text = f"This torch is not PyTorch's own: compile {name} {release} against it."
            line = f"pip install --no-build-isolation --no-deps git+{address}@v{release}"
            return Fix(text, changes=(Command(line),))
    return None


def older_libc(subject: Subject) -> Fix | None:
    """A package that asks for a newer C library: compiled here, or its last release whose wheels load here."""
    matrix, module = subject.matrix, next(reversed(subject.said("frame")), "")
    package = matrix.package(subject.compiled() or subject.owner(module) or subject.wished)
    rows = matrix.builds(package.name) if package else ()
    if not package or not rows:
        return None
    mine = subject.release(package.name)
    if any(row.compiled for row in rows) and module:
        text = f"Compile {package.name} here, for this system's own C library, or run it on a newer system."
        known = any(row.compiled for row in matrix.builds_of(package.name, mine))
        return Fix(text, changes=recompiled(matrix, package.name, mine if known else ""))
    system = matrix.system(subject.host.os or "")
    have = subject.host.glibc or (system.glibc if system else "")
    place, python = platform_tag(subject.host) or "linux_x86_64", subject.host.python or ""
    there = [row for row in rows if place in row.platforms and row.glibc and is_for(row, python) and not row.index]
    loads = [row for row in there if have and libc.reaches(have, row.glibc) and row.version != mine]
    found = {versions.release(row.version): row for row in loads if is_version(row.version)}
    best = found[max(found)] if found else None
    if best is None or (is_version(mine) and not versions.at_least(mine, best.version)):
        return None
    text = f"Install {package.name} {best.version}, the last whose wheels load here, or run it on a newer system."
    return Fix(text, changes=(subject.install(best),))


def outside(subject: Subject) -> str:
    """A compiled package that the message is about and whose releases the matrix does not tie to a framework."""
    compiled = subject.compiled()
    if compiled and not subject.matrix.package(compiled):
        return compiled
    heard = subject.case.signals.pointing(subject.finding.code)
    stem = heard.signal.program if heard and not subject.matrix.package(heard.signal.program) else ""
    there = (*subject.packages, *requirements(subject.case.commands))
    return next((name for name in there if stem and (name == stem or name.startswith(f"{stem}-"))), "")


def numpy(subject: Subject) -> Fix | None:
    """The NumPy that the installed builds were compiled for."""
    compiled, have = (int(subject.case.signals.value(one) or "0", 16) for one in ("numpy_built", "numpy_api"))
    turns = {row.turn: row.version for row in subject.matrix.table("turns")}
    if compiled > have and (first := turns.get(f"numpy-c-{compiled}", "")):  # NumPy numbers its C interface
        text = f"Upgrade numpy to {first} or newer, which the module was compiled for."
        return Fix(text, changes=(install("numpy", f">={first}"),))
    asked = (_numpy_spec(name, version, subject) for name, version in subject.packages.items())
    spec = next(filter(None, asked), "<2")
    return Fix(f"Install numpy{spec}.", changes=(install("numpy", spec),))


def _numpy_spec(name: str, version: str, subject: Subject) -> str:
    """What a release asks of NumPy; empty if nothing is known, or it admits the one installed."""
    package, have = subject.matrix.package(name), subject.packages.get("numpy", "")
    rows = subject.matrix.builds_of(package.name, plain(version)) if package and have else ()
    asked = [item for row in rows for item in map(requirement, row.requires) if item and item.name == "numpy"]
    return next((item.spec for item in asked if admits(item.spec, have) is False), "")
