"""Fixes of shared libraries: the major that is missing, never another one, or a build for what is installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.fixes.boards as boards
from compat import versions
from compat.changes import Command, Install, Package, Python, System, Variable, install
from compat.findings import Fix
from compat.fixes.extensions import newest, rebuild
from compat.fixes.packages import companions, gpu_build
from compat.fixes.subject import series, with_conda
from compat.fixes.system_cuda import (
    beside_pins,
    cuda_in_use,
    cudnn,
    for_cuda,
    for_system,
    of_onnxruntime,
    on_windows,
    taker,
    takes,
    wanted,
)
from compat.joints.kernels import first_cuda
from compat.joints.python import is_for
from compat.lazy import pattern
from compat.names import normalise
from compat.reading.commands import requirements
from compat.reading.message_facts import runtime_of
from compat.rules.deeds import of_system
from compat.rules.lookups import cuda_of_driver, is_version
from compat.rules.stack import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from compat.changes import Change
    from compat.fixes.subject import Subject
    from compat.matrix.rows import Build, Soname

# DLLs whose number is the major of cuDNN or of CUDA.
_CUDA_DLL: Final = pattern(r"(cudnn|cublas|cublasLt|cudart|nvrtc)(?:_\w+?)?64_(\d+)(?:_\d+)?\.dll")
# Libraries of the CUDA toolkit, without their number.
_OF_TOOLKIT: Final = frozenset({"cudart", "cublas", "cublasLt", "cufft", "curand", "cusolver", "cusparse", "nvrtc"})
# Libraries of TensorRT, with its major.
_TENSORRT: Final = pattern(r"libnv(?:infer|onnxparser|parsers)\w*\.so\.(\d+)")
# Libraries of torch (its folder lib), which those compiled for it find once torch is imported.
_PAGE: Final = pattern(r"/(cu\d{2,3})/")  # of an index or a page of links, in a command
_TORCH: Final = pattern(r"lib(?:c10|torch|caffe2)(?:_\w+)?")
_KIND: Final = pattern(r"lib(?:torch|c10|caffe2)_(?:cuda|hip)")  # of torch's builds for NVIDIA, and for AMD
_PYTHON: Final = pattern(r"libpython(3\.\d{1,2})\w*\.so")
# Libraries of ROCm, by their names (ROCm documentation, "ROCm libraries").
_AMD: Final = pattern(r"lib(?:hip|roc|hsa|amd|MIOpen|rccl)")


def missing(subject: Subject) -> Fix | None:
    """A library that the loader does not find: a build for what is there, its own package, or its place on the path."""
    names = subject.missing
    if "nvvm-missing" in subject.case.signals:
        return _nvvm(subject)
    if on_windows(subject) and (fix := _windows(subject)) is not None:
        return fix
    lacks = subject.program == "cudarc" or any(one.startswith("libcuda.so") for one in names[-1:])
    if lacks and subject.host.platform == "wsl2":
        return _of_windows()
    if not names:
        return _unnamed(subject)
    name = next((one for one in reversed(names) if _rows(one, subject)), names[-1])
    if _AMD.match(name):
        return _amd(name, subject)
    found = gpu_build(subject) if _is_before(subject) else None
    found = found or _torn(name, subject) or _own(name, subject) or boards.library(name, subject)
    return found or for_system(subject) or _several(subject) or _brought(name, subject)


def _is_before(subject: Subject) -> bool:
    """Whether the CUDA in use makes no code for a GPU that is here: its libraries would serve nothing."""
    cuda = cuda_in_use(subject)
    firsts = (first_cuda(subject.matrix, gpu.target) for gpu in subject.gpus) if is_version(cuda) else ()
    return any(first and not versions.at_least(cuda, first) for first in firsts)


def _of_windows() -> Fix:
    """The driver's own library in WSL, which Windows has put there: its folder on the loader's path."""
    path = Variable("LD_LIBRARY_PATH", "/usr/lib/wsl/lib:$LD_LIBRARY_PATH")
    return Fix("Put the folder of Windows' driver in WSL on the loader's path.", changes=(path,))


def _nvvm(subject: Subject) -> Fix:
    """Numba's compiler, which comes with the toolkit, by conda, or with its package (Numba, CUDA installation)."""
    major = series(cuda_in_use(subject) or subject.host.driver_cuda or "")
    if subject.host.python_environment == "conda":
        names = 'cudatoolkit "cuda-version<12"' if major == "11" else "cuda-nvcc cuda-nvrtc"
        return Fix("Install NVVM, by conda.", changes=(Command(f"conda install -c conda-forge {names}"),))
    extra = f"cu{major}" if major in {"11", "13"} else "cu12"
    return Fix(
        "Install numba-cuda with NVVM and the rest of its CUDA.",
        changes=(install("numba-cuda", extras=(extra,)),),
    )


def _unnamed(subject: Subject) -> Fix | None:
    """A library that no message names: what the package that misses it was built for, or another build of it."""
    if subject.program == "bitsandbytes":
        return newest("bitsandbytes", subject)
    if fix := for_system(subject):
        return fix
    if subject.program == "onnxruntime" and not subject.host.l4t and series(subject.host.cuda_toolkit or "") != "11":
        return _whole_onnxruntime("", subject)
    taken = taker(subject)
    named = subject.framework_name() in {"tensorflow", "jax"}
    if named or taken:
        return gpu_build(subject) if named else wanted(*taken, subject) if taken else None
    of_paddle = subject.case.signals.value("paddle_library")
    return _unpackaged(f"lib{of_paddle}.so", subject) if of_paddle else None


def _several(subject: Subject) -> Fix | None:
    """Several libraries of one CUDA: the release that a build takes from the system, else what brings them all."""
    names = max((heard.further for heard in subject.case.signals), key=len, default=())
    found = [rows for name in names if (rows := runnable(_rows(name, subject), subject))]
    majors = [{row.cuda for row in rows} for rows in found]
    common = set.intersection(*majors) if len(majors) > 1 else set[str]()
    if len(common) != 1 or subject.program == "onnxruntime":
        return None
    if taken := taker(subject):
        return wanted(*taken, subject)
    built = gpu_build(subject) if subject.framework_name() in {"tensorflow", "jax"} else None
    if built and not any(isinstance(one, Python) for one in built.changes):
        return built
    mine = {row.package: row for rows in found for row in rows if row.cuda == min(common)}
    items = (Package(name=name, spec=_below(row), settles=subject.missing) for name, row in mine.items())
    text = f"Install what brings {' and '.join(names[:3])}: site-packages/nvidia/*/lib go on the loader's path."
    return Fix(text, changes=(Install(packages=tuple(items)),)) if len(mine) > 1 else None


def _brought(name: str, subject: Subject) -> Fix | None:
    """What brings a library of this name: a package of the CUDA in use, NVIDIA's own, or another onnxruntime."""
    rows = runnable(_rows(name, subject), subject)
    packages = {row.package: row for row in sorted(rows, key=_below, reverse=True)}  # the newest, if that has it too
    if rows and (fix := _older_onnxruntime(rows, subject)) is not None:
        return fix
    if rows and cuda_in_use(subject):
        beside = beside_pins(rows[-1], subject) if name.startswith("libcudnn") else None
        return _of_another(name, rows, subject) or beside or _packaged(name, rows[-1], subject)
    most = _major(subject)
    if rows and most and min(int(row.cuda or 0) for row in rows) > int(most):  # which the driver does not run
        return _rebuilt(name, rows[-1].cuda, most, subject)
    if len(packages) > 1:
        found = " or ".join(name + _below(row) for name, row in sorted(packages.items()))
        text = f"Install what brings {name}, for the CUDA of the program that asks for it: {found}"
        if not any("ImportError" in one.line for one in subject.case.signals):
            return Fix(f"{text}.")
        uv = "uv " * any(line.startswith("uv ") for line in subject.case.commands)
        return Fix(f"{text}; this names it if none is there.", changes=(Command(f"{uv}pip check"),))
    return _packaged(name, rows[-1], subject) if rows else _unpackaged(name, subject)


def _of_another(name: str, rows: Sequence[Soname], subject: Subject) -> Fix | None:
    """A library of another CUDA than the framework brings: what asks for it was built beside another framework."""
    item = subject.framework()
    here = item.cuda if item else subject.typed_cuda
    majors = {row.cuda for row in rows}
    if not here or series(here) in majors or not all(map(str.isdigit, majors)):
        return None
    if name.startswith("libcudnn") and int(series(here)) < min(map(int, majors)):
        return _unpackaged(name, subject)  # no wheel brings it for that CUDA, and NVIDIA does (cuDNN support matrix)
    return (companions(subject) if item else None) or _rebuilt(name, max(majors), here, subject)


def _rebuilt(name: str, number: str, here: str, subject: Subject) -> Fix:
    """What asks for a library of one CUDA, built for the one in use."""
    if not subject.compiled() and (fix := for_cuda(name, number, here, subject)):
        return fix
    compiled = subject.compiled() or _for_torch(subject) or "the package that asks for it"
    pages = (found[1] for line in subject.case.commands if compiled in line and (found := _PAGE.search(line)))
    if not here and (page := next(pages, "")) and series(runtime_of(page)) != series(number):
        return Fix(f"Take another release of {compiled} from the page of {page}: this one is built for CUDA {number}.")
    if not here:
        return Fix(f"Reinstall {compiled} for the CUDA in use, or install CUDA {number}.")
    return Fix(f"{name} is of CUDA {number}: reinstall {compiled}, built for CUDA {here}.")


def _windows(subject: Subject) -> Fix | None:
    """A DLL that Windows does not find: it looks into the folders of PATH, and into no other package's."""
    if subject.program == "bitsandbytes":
        return newest("bitsandbytes", subject)
    signals = subject.case.signals
    package = subject.matrix.package("" if subject.missing else subject.compiled())
    bound = package.name if package and package.follows == "torch" else ""
    if own := signals.value("dll_package") or (not subject.missing and signals.value("dll_module")):
        return rebuild(bound, subject) if bound and signals.value("dll_module") else _runtime_for(own)
    if taken := taker(subject):
        named = subject.missing if all(name.startswith("cudnn") for name in subject.missing) else ()
        rows = [row for row in subject.matrix.table("sonames") if row.soname in named]
        mine = next((row for row in rows if row.cuda == series(taken[1].runtime)), None)
        brought = _packaged(mine.soname, mine, subject) if mine else None
        return for_system(subject) or brought or wanted(*taken, subject)
    for name in subject.missing:
        if of := _of_dll(name, subject):
            return Fix(f"Install {of}, which brings {name}, and put its bin folder on PATH.")
    if subject.program != "onnxruntime":
        return rebuild(bound, subject) if bound else None
    return of_onnxruntime(subject)


def _runtime_for(package: str) -> Fix:
    """What the libraries of most packages need of Windows, and do not bring."""
    text = f"Install Microsoft's Visual C++ runtime, which {package}'s libraries need; else take another release."
    return Fix(text, changes=(Command("winget install Microsoft.VCRedist.2015+.x64"),))


def _of_dll(name: str, subject: Subject) -> str:
    """The CUDA or cuDNN of a DLL: 90 is 9.0 and 101 is 10.1, later ones name the major, 110 or 12, as packages do."""
    if (found := _CUDA_DLL.match(name)) is None:
        majors = {row.cuda for row in _rows(name, subject)}
        return f"CUDA {min(majors)}" if len(majors) == 1 and min(majors).isdigit() else ""
    number = found[2]
    if found[1] == "cudnn":
        return cudnn(number, subject)
    exact = number if number[0] in "6789" else number[2:] and number.startswith("10") and number
    return f"CUDA {exact[:-1]}.{exact[-1]}" if exact else f"CUDA {number[:2]}"


def _own(name: str, subject: Subject) -> Fix | None:
    """A library that a package keeps one of per CUDA release: a release of it with one for the CUDA in use."""
    if found := _PYTHON.match(name):
        return Fix(f"Install Python {found[1]} with its shared library {name}, or put its folder on the loader's path.")
    first = subject.compiled() or "what asks for it"
    bound = subject.matrix.package(first) if _KIND.search(name) else None
    if bound and bound.follows == "torch" and any(row.index == "pytorch" for row in subject.matrix.builds(bound.name)):
        other = Fix(f"Reinstall {bound.name} from the index of the torch that is installed: it was built for another.")
        return companions(subject) or other
    if _TORCH.fullmatch(name.partition(".")[0]):
        return Fix(f"Import torch before {first}: {name} is torch's own, which the loader then knows.")
    stem = name.partition(".")[0].removeprefix("lib").partition("_")[0]
    package = subject.matrix.package(stem)
    if (found := _TENSORRT.match(name)) and not _rows(name, subject):
        return Fix(f"Install TensorRT {found[1]}, which brings {name}, and put its lib folder on the loader's path.")
    if package is None or not re.search(r"(?:cuda|rocm|hip)\d|_cpu\.", name):
        return None
    return newest(package.name, subject)


def _rows(name: str, subject: Subject) -> list[Soname]:
    """Packages that bring a library of exactly this name, by what their wheels hold."""
    found, cuda = [row for row in subject.matrix.table("sonames") if row.soname == name], cuda_in_use(subject)
    mine = [row for row in found if row.cuda == series(cuda)] if cuda else []
    return mine or found


def _older_onnxruntime(rows: Sequence[Soname], subject: Subject) -> Fix | None:
    """An onnxruntime that asks for a CUDA major that is past: one whose CUDA the indexes still bring whole."""
    toolkit = series(subject.host.cuda_toolkit or "")
    if subject.program != "onnxruntime" or toolkit == "11" or {row.cuda for row in rows} != {"11"}:
        return None
    return _whole_onnxruntime(": this one was built for CUDA 11", subject)


def _whole_onnxruntime(why: str, subject: Subject) -> Fix | None:
    """The newest onnxruntime that brings its own CUDA, of the major that is there; else of the one that asks least."""
    most, python = _major(subject) or series(subject.host.cuda_toolkit or ""), subject.host.python or ""
    rows = [row for row in subject.matrix.builds("onnxruntime-gpu") if row.extras and is_for(row, python)]
    majors = sorted({int(series(row.runtime)) for row in rows if not most or int(series(row.runtime)) <= int(most)})
    if not majors:
        return None
    major = str(majors[-1] if most else majors[0])
    row = max((one for one in rows if series(one.runtime) == major), key=lambda one: versions.release(one.version))
    package = subject.matrix.package(row.package)
    first = f", and call {package.preload} first" if package and package.preload else ""
    name, own = row.install_name, f"with its CUDA {major} and cuDNN{first}{why}."
    after = [one.version for one in rows if int(series(one.runtime)) > int(major)]
    if python or not after:
        return Fix(f"Install {name} {row.version} {own}", changes=(subject.install(row, settles=subject.missing),))
    end = min(after, key=versions.release)  # of those before it the newest for the Python, which nobody names
    item = Package(name=name, spec=f"<{end}", extras=row.extras, settles=subject.missing)
    return Fix(f"Install the newest {name} before {end} {own}", changes=(Install(packages=(item,)),))


def _major(subject: Subject) -> str:
    """The CUDA major that the driver runs; empty if unknown."""
    return series(cuda_of_driver(subject.matrix, subject.host.driver) or subject.host.driver_cuda or "")


def runnable(rows: list[Soname], subject: Subject) -> list[Soname]:
    """Packages of CUDA majors that the driver runs, none later than its own, and that a build for this Python has."""
    python = series(subject.host.python or "", 2)
    rows = of_builds(rows, subject, lambda row: python in row.python)
    rows = [row for row in rows if takes(row, subject)] or rows
    most = _major(subject)
    return [row for row in rows if not most or int(row.cuda or 0) <= int(most)] or rows


def of_builds(rows: list[Soname], subject: Subject, fits: Callable[[Build], bool]) -> list[Soname]:
    """Packages of the CUDA majors that fitting builds of the framework have; all where none fits."""
    made = {series(row.runtime) for row in subject.matrix.builds(subject.framework_name()) if fits(row)}
    return [row for row in rows if row.cuda in made] or rows


def _torn(name: str, subject: Subject) -> Fix | None:
    """Frameworks of one environment that want different majors of the library."""
    stem = name.partition(".so")[0].removeprefix("lib")
    packages = [one for one in subject.packages if canonical(one) in {"torch", "jax", "tensorflow", "paddlepaddle"}]
    pinned = any(stem[:5] in other for other in subject.packages if other.startswith("nvidia-"))
    frameworks = sorted({canonical(one) for one in packages if one != "jaxlib"})
    if len(frameworks) < 2 or not pinned:
        return None
    told = " and ".join(f"{one} {subject.packages.get(one, '')}".strip() for one in frameworks[:2])
    return Fix(
        f"{told} pin different {stem} releases: give each an environment of its own.",
        changes=(Command("python -m venv .venv-2"),),
    )


def _packaged(name: str, row: Soname, subject: Subject) -> Fix:
    """The package that brings the library, in the releases that do, and its folder on the loader's path."""
    if subject.by_conda:
        change = with_conda(row.package, _below(row))
        return Fix(f"Install conda's own package that brings {name}, for the same CUDA.", changes=(change,))
    changes: tuple[Change, ...] = (install(row.package, _below(row), settles=subject.missing),)
    module = _module(row.package)
    if on_windows(subject):
        text = f"Install {row.package}, which brings {name}, and put its folder site-packages/{row.folder} on PATH."
        return Fix(text, changes=changes)
    if module and subject.framework_name() != "torch":
        found = f"$(python -c 'import {module}.lib as m; print(m.__path__[0])')"
        changes = (*changes, Variable("LD_LIBRARY_PATH", f"{found}:$LD_LIBRARY_PATH"))
    return Fix(f"Install {row.package}, which brings {name}.", changes=changes)


def _below(row: Soname) -> str:
    """The bound of the releases that bring a library, ``<9``; empty where the newest does."""
    upper = re.search(r"<(\d+(?:\.[1-9]\d*)*)", row.versions)  # <9.0.0.312, whose zeros say no more than <9
    return f"<{upper[1]}" if upper else ""


def _module(package: str) -> str:
    """The import name of one of NVIDIA's library packages: ``nvidia-cudnn-cu12`` -> ``nvidia.cudnn``."""
    plainly = re.sub(r"-cu\d+$", "", package).removeprefix("nvidia-").replace("-", "_")
    return f"nvidia.{plainly}" if package.endswith(("-cu11", "-cu12")) else ""


def _unpackaged(name: str, subject: Subject) -> Fix | None:
    """A library that no wheel brings: of NVIDIA's own packages, or the package that wants it is for another CUDA."""
    found = re.fullmatch(r"lib(?P<stem>\w+?)\.so(?:\.(?P<number>[\d.]+))?", name)
    if not found:
        return None
    number, folder = found["number"] or "", "/usr/local/cuda/lib64"
    looked = f"{folder}/{name}" in subject.case.signals.text
    bare = looked or subject.host.platform == "windows"
    path: tuple[Change, ...] = () if bare else (Variable("LD_LIBRARY_PATH", f"{folder}:$LD_LIBRARY_PATH"),)
    if found["stem"].startswith("cudnn"):
        there = f"into {folder}, where it is looked for" if looked else "and put its folder on the loader's path"
        return Fix(f"Install {cudnn(series(number), subject)} {there}.", changes=path)
    if found["stem"] in _OF_TOOLKIT and number:
        return _rebuilt(name, number, cuda_in_use(subject), subject)
    if found["stem"] in _OF_TOOLKIT:
        return Fix(f"Put the lib64 of the CUDA toolkit, which has {name}, on the loader's path.", changes=path)
    return None if found["stem"].startswith(("cu", "nv", "nccl")) else _of_distribution(name, subject)


def _of_distribution(name: str, subject: Subject) -> Fix:
    """A library of the distribution, by its package here; where the distribution is not known by that of Debian."""
    tasks = (System(normalise(f"library-{name}")), System("library", option=name))
    steps = next((found for task in tasks if (found := of_system([task], subject.host, subject.matrix)[0])), ())
    rows = subject.matrix.table("commands") if not subject.host.os else ()
    known = (one.commands[0].split()[-1] for one in rows if (one.deed, one.system) == (tasks[0].task, "debian"))
    aside = next((f" (Debian, Ubuntu: {package})" for package in known), "")
    return Fix(f"Install the system package that brings {name}{aside}.", changes=steps)


def _for_torch(subject: Subject) -> str:
    """The packages that are there or asked for and hold CUDA code for torch, where no message tells which one asks."""
    there = (*subject.packages, *requirements(subject.case.commands))
    rows = (row for one in there if (row := subject.matrix.package(one)) and row.follows == "torch")
    names = dict.fromkeys(row.name for row in rows if any(build.runtime for build in subject.matrix.builds(row.name)))
    return " or ".join(names) if len(names) < 4 else ""


def _amd(name: str, subject: Subject) -> Fix:
    """A library of ROCm: its folder on the path, of the release that the build was made for."""
    item = subject.framework()
    made = f" ROCm {item.rocm} of" if item and item.rocm else " ROCm of"
    return Fix(
        f"Put the folder of{made} this build on the loader's path; another release has no {name}.",
        changes=(Variable("LD_LIBRARY_PATH", "/opt/rocm/lib:$LD_LIBRARY_PATH"),),
    )
