"""Fixes of libraries of which another copy is loaded than the build was made with: the right one, or its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compat import versions
from compat.changes import Command, Variable, install
from compat.findings import Fix
from compat.fixes.libraries import of_builds, runnable
from compat.fixes.subject import series, with_conda
from compat.fixes.system_cuda import cuda_in_use, for_system, taker
from compat.fixes.toolkits import outdated
from compat.reading.message_facts import cudnn_version
from compat.rules.lookups import is_version

if TYPE_CHECKING:
    from compat.fixes.subject import Subject


def rocm(subject: Subject) -> Fix | None:
    """Libraries of the system's ROCm before those that the wheel brings."""
    item = subject.framework()
    if item is None or not item.rocm or not subject.case.signals.heard or subject.host.platform == "windows":
        return None
    text = f"The wheel brings its own ROCm {item.rocm}: take the system's libraries off the loader's path."
    return Fix(text, changes=(Variable("LD_LIBRARY_PATH"),))


def mismatched(subject: Subject) -> Fix | None:
    """Another copy of cuDNN than the build was made with: the one it asks for, or the foreign one off the path."""
    signals = subject.case.signals
    if older := signals.value("older"):
        text = f"Take {older.rpartition('/')[0]} off the loader's path: this build brings its own oneAPI."
        return Fix(text, changes=(Variable("LD_LIBRARY_PATH"),))
    if fix := outdated(signals.value("jax_library"), signals.value("jax_least"), subject):
        return fix
    least = signals.value("jax_least") if signals.value("jax_library").lower() == "cudnn" else ""
    taken = taker(subject) if any(item.fact == "cudnn" for item in subject.finding.evidence) else None
    built = taken[1].cudnn if taken and for_system(subject) is None else ""
    want = cudnn_version(signals.value("cudnn_want") or signals.value("jax_cudnn") or least) or built
    if want and not signals.value("torch_cudnn"):
        have = cudnn_version(signals.value("cudnn") or "") or subject.host.cudnn or ""
        return _cudnn(want, have, subject)
    if (fix := for_system(subject)) is not None:
        return fix
    if "dnn-not-found" in signals and not (subject.host.env or {}).get("LD_LIBRARY_PATH"):
        return Fix("Give the framework the cuDNN that it was built with: none is found, or another one before it.")
    return None


def _cudnn(want: str, have: str, subject: Subject) -> Fix:
    """The cuDNN that a build asks for: its major, and no older minor; the same minor where a newer one was refused."""
    major, minor = series(want), series(want, 2)
    newer = is_version(have) and series(have) == major and versions.release(have) > versions.release(want)
    spec = f"=={minor}.*" if newer else f">={minor},<{int(major) + 1}"
    cuda = series(cuda_in_use(subject))
    if subject.by_conda:
        change = with_conda("nvidia-cudnn", spec)
        return Fix(f"Update the cuDNN of the conda environment to {minor} or newer.", changes=(change,))
    rows = [row for row in subject.matrix.table("sonames") if row.soname == f"libcudnn.so.{major}"]
    mine = [row for row in rows if row.cuda == cuda] or ([] if cuda else runnable(rows, subject))
    made = {series(one) for row in subject.matrix.table("cudnn") if series(row.version, 2) == minor for one in row.cuda}
    mine = [row for row in mine if row.cuda in made] or mine
    mine = of_builds(mine, subject, lambda row: series(row.cudnn, 2) == minor)
    told = f"cuDNN {minor}{'' if newer else ' or newer'} of major {major}"
    if len({row.package for row in mine}) > 1:
        names = " or ".join(dict.fromkeys(f'"{row.package}{spec}"' for row in mine))
        return Fix(f"Install {told}, for the CUDA of the program: {names}.")
    if mine and subject.host.platform != "windows":
        changes = (install(mine[-1].package, spec),)
        return Fix(f"Install {told}.", changes=changes)
    said = f"cuDNN {minor}" if newer or "." not in minor else f"cuDNN {minor} or a newer {major}.x"
    return Fix(f"Install {said}, and take the other copy off the loader's path.")


def libstdcxx(subject: Subject) -> Fix | None:
    """A C++ library that the distribution has in no release as new: conda's, before the system's."""
    have = next((row.libstdcxx for row in subject.matrix.table("systems") if row.os == subject.host.os), "")
    need = subject.case.signals.value("glibcxx_need").removeprefix("GLIBCXX_")
    served = is_version(have) and is_version(need) and versions.at_least(have, need)
    if served or (subject.host.python_environment != "conda" and not is_version(have)):
        return None
    if subject.host.python_environment != "conda":
        return Fix(
            f"This system's libstdc++ ends at GLIBCXX_{have}: take conda-forge's libstdcxx-ng, or a newer system."
        )
    update = Command("conda install -c conda-forge libstdcxx-ng")
    heard = subject.case.signals.pointing(subject.finding.code)
    if heard and "conda" in heard.line.partition("libstdc++.so")[0]:  # the environment's own is the one that is loaded
        return Fix("Update the libstdc++ of the conda environment.", changes=(update,))
    first = Variable("LD_LIBRARY_PATH", "$CONDA_PREFIX/lib:$LD_LIBRARY_PATH")
    return Fix("Update the libstdc++ of the conda environment, and put it first.", changes=(update, first))
