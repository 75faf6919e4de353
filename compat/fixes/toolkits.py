"""Fixes of CUDA toolkits and host compilers: the first release that serves, and its place on the path."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from compat import versions
from compat.changes import Command, System, Toolkit, Variable, install
from compat.findings import Fix
from compat.fixes.packages import gpu_build
from compat.fixes.subject import Subject, series, with_conda
from compat.joints.platform import is_at
from compat.joints.python import is_for
from compat.lazy import pattern
from compat.rules.deeds import of_system, of_windows
from compat.rules.lookups import is_version, knows
from compat.rules.stack import FRAMEWORKS, platform_tag

# Where NVIDIA's packages put a toolkit, in the value of a variable.
_FOLDER: Final = pattern(r"(/usr/local/cuda-(\d{1,2}\.\d))\b")


def newer(subject: Subject) -> Fix | None:
    """The first toolkit that compiles for the device, or the last one where it was dropped."""
    toolkit = subject.host.cuda_toolkit or ""
    if "nvrtc-arch" in subject.case.signals and subject.framework_name() and (fix := gpu_build(subject)):
        return fix  # its CUDA brings NVRTC
    asked = [subject.case.signals.value("arch"), *(gpu.target for gpu in subject.gpus)]
    for text in filter(None, asked):
        row = subject.matrix.capability(text)
        if row is None or not row.first_cuda:
            continue
        stand = knows(subject.matrix, versions.minor(toolkit), row.cc) if is_version(toolkit) else ""
        stand = stand or ("too old" if row.last_cuda else "too new")  # the last that has it serves in both cases
        first, target = versions.minor(row.first_cuda), f"sm_{row.cc.replace('.', '')}"
        own = item.cuda if (item := subject.framework()) and is_version(item.cuda) else ""
        if stand == "too new" and own and versions.at_least(own, first):
            return _take(
                versions.minor(own), f"Install CUDA toolkit {versions.minor(own)}, that of the framework", subject
            )
        if stand == "too new" and (fix := _set(first, subject)):
            return fix
        if stand == "too new":
            return _take(first, f"Install CUDA toolkit {first} or newer, the first for {target}", subject)
        if stand == "too old" and row.last_cuda:
            last = versions.minor(row.last_cuda)
            return _take(last, f"Install CUDA toolkit {last}, the last for {target}", subject)
    return None


def _set(least: str, subject: Subject) -> Fix | None:
    """A toolkit that a variable names already, and that an older nvcc stands before on PATH."""
    used = subject.host.cuda_toolkit or ""
    for name, value in (subject.host.env or {}).items():
        for folder, release in _FOLDER.findall(value):
            if versions.at_least(release, least) and not used.startswith(release):
                text = (
                    f"Put the nvcc of CUDA {release}, which {name} names, first on PATH: an older one stands before it."
                )
                return Fix(text, changes=(Toolkit(release), Variable("PATH", f"{folder}/bin:$PATH")))
    return None


def _take(release: str, text: str, subject: Subject) -> Fix:
    """A toolkit first on the path; where it lies on disk already, it need not be installed."""
    folders = {folder: version for folder, version in (subject.host.cuda_toolkits or {}).items() if is_version(version)}
    there = next((folder for folder, version in folders.items() if versions.same_series(version, release)), "")
    if there:
        return Fix(
            f"Use the CUDA toolkit {release} that is installed.",
            changes=(Toolkit(release), Variable("CUDA_HOME", there)),
        )
    if subject.host.platform == "windows":
        return Fix(f"{text}, and let CUDA_PATH name it.", changes=(Toolkit(release),))
    task = System("cuda-toolkit", release=release.replace(".", "-"))
    install, _ = of_system([task], subject.host, subject.matrix)
    path = Variable("PATH", f"/usr/local/cuda-{release}/bin:$PATH")
    return Fix(f"{text}, and put it first on PATH.", changes=(*install, Toolkit(release), path))


def matching(subject: Subject) -> Fix | None:
    """The toolkit of the framework's CUDA: the one on disk, or how to get it."""
    item = subject.framework()
    if item is None or not is_version(item.cuda):
        return None
    if subject.finding.code == "toolkit-mismatch-extension" and subject.finding.confidence == "possible":
        ask = Command('python -c "import torch; print(torch.version.cuda)"')
        return Fix("See which CUDA torch is built with, and build with a toolkit of that major.", changes=(ask,))
    folders = subject.host.cuda_toolkits or {}
    minor = versions.minor(item.cuda) if "." in item.cuda else item.cuda
    if any(is_version(one) and versions.same_series(one, minor) for one in folders.values()):
        return _take(minor, "", subject)
    if subject.host.container:
        return Fix(
            f"Build in an image with CUDA toolkit {minor} (devel), that of {item.label}.", changes=(Toolkit(minor),)
        )
    fix = _take(minor, f"Install CUDA toolkit {minor}, that of {item.name}", subject)
    here, place = subject.host.python or "", platform_tag(subject.host) or "linux_x86_64"
    rows = [row for row in subject.matrix.builds(item.name) if is_for(row, here) and is_at(row, place)]
    releases = {item.version} if item.version else {row.version for row in rows if row.runtime == f"cuda{minor}"}
    made = f"cuda{subject.host.cuda_toolkit}"
    there = [row for row in rows if row.index and row.runtime == made and row.version in releases][-1:]
    other = "".join(
        f", or take {row.package}=={row.full_version} from {subject.matrix.index_url(row)}" for row in there
    )
    return replace(fix, text=f"{fix.text.rstrip('.')}{other}.")


def missing(subject: Subject) -> Fix | None:
    """No nvcc is there: the toolkit of the framework's CUDA; none where the framework is built for ROCm."""
    item = subject.framework()
    runtimes = [item.runtime if item else "", *(build.runtime for build in (subject.host.builds or {}).values())]
    if rocm := next((one for one in runtimes if one.startswith("rocm")), ""):
        text = (
            f"The framework is built for ROCm {rocm[4:]}, whose compiler is hipcc: install this package's ROCm build."
        )
        return Fix(text, changes=(Variable("ROCM_HOME", "/opt/rocm"),))
    windows = subject.host.platform == "windows"
    asked = "cuda-home-unset" in subject.case.signals and not subject.host.cuda_toolkits
    if asked and subject.host.source("cuda_toolkit").startswith("nvcc"):
        home = Variable("CUDA_HOME", "$(dirname $(dirname $(readlink -f $(command -v nvcc))))")
        folder = "the folder above the bin that this prints" if windows else "its folder"
        text = f"nvcc {subject.host.cuda_toolkit} is there: let CUDA_HOME name {folder}."
        return Fix(text, changes=(Command("where nvcc") if windows else home,))
    if (fix := matching(subject)) is not None or subject.host.container:
        return fix
    path = "let CUDA_PATH name it" if windows else "put it first on PATH"
    return Fix(f"Install the CUDA toolkit of torch's CUDA release, and {path}: its nvcc compiles the package.")


def compiler(subject: Subject) -> Fix | None:
    """The newest gcc that the toolkit accepts; on Windows the newest Visual Studio, or a toolkit that accepts it."""
    signals = subject.case.signals
    if subject.host.platform == "windows" or signals.value("msvc_max") or "msvc-stl" in signals:
        return _visual_studio(subject)
    toolkit = subject.host.cuda_toolkit or ""
    row = subject.matrix.cuda(toolkit) if is_version(toolkit) else None
    number = series(signals.value("gcc_max") or (row.gcc if row else ""))
    if not number:
        return None
    install, _ = of_system([System("host-compiler", major=number)], subject.host, subject.matrix)
    text = f"Install gcc {number} and g++ {number}, the newest that this nvcc accepts, and name it to nvcc."
    if install:
        return Fix(text, changes=install)
    return Fix(text, changes=(Variable("NVCC_PREPEND_FLAGS", f"'-ccbin g++-{number}'"),))


def _visual_studio(subject: Subject) -> Fix | None:
    """The newest Visual Studio that nvcc's own words name, or the CUDA that this one's C++ library asks for.

    Visual Studio 2022 numbers its compilers 14.30 to 14.44 (microsoft/STL, changelog of Visual Studio 2022 17.10).
    """
    signals, toolkit = subject.case.signals, subject.host.cuda_toolkit or ""
    year, least = signals.value("msvc_max"), signals.value("cuda_least")
    rows, refused = [row for row in subject.matrix.table("cuda") if row.msvc], subject.matrix.turn("msvc-17-10").version
    old = max((row.msvc for row in rows if not versions.at_least(row.msvc, refused)), key=versions.release)
    new = min((row.cuda for row in rows if versions.at_least(row.msvc, refused)), key=versions.release)
    if least or (year == "2022" and not (is_version(toolkit) and versions.at_least(toolkit, new))):
        return Fix(
            f"Install MSVC {old} of Visual Studio 2022, the newest that older toolkits accept, and build in its "
            f"prompt; or CUDA toolkit {least or versions.minor(new)} or newer."
        )
    text = f"Install the C++ build tools of Visual Studio {year}, the newest that this nvcc accepts, and build by them."
    return Fix(text) if year else None


def outdated(library: str, least: str, subject: Subject) -> Fix | None:
    """A release of a CUDA library that JAX takes, by the number that the library's header gives it.

    Source: CUSPARSE_VERSION, CUFFT_VERSION and CUSOLVER_VERSION are major * 1000 + minor * 100 + patch, CUBLAS_VERSION
    is major * 10000 + minor * 100 + patch (cusparse.h, cufft.h, cusolver_common.h, cublas_api.h of CUDA 12).
    """
    if not library or len(least) not in {5, 6}:
        return None
    major, rest = divmod(int(least), 10 ** (len(least) - 2))
    minor = rest // 100
    known = [row for row in subject.matrix.table("sonames") if row.soname == f"lib{library.lower()}.so.{major}"]
    rows = [row for row in known if versions.admits(row.versions, f"{major}.{minor}.99") is True]
    if not rows:
        return None
    spec = f">={major}.{minor},<{major + 1}"
    change = with_conda(rows[0].package, spec) if subject.by_conda else install(rows[0].package, spec)
    text = f"Install {library} {major}.{minor} or newer, and take older copies off the loader's path."
    return Fix(text, changes=(change,))


def no_driver(subject: Subject) -> Fix | None:
    """A driver whose module was not made for the running kernel; or a framework that nobody told whose GPU there is."""
    outside = not subject.host.container and subject.host.platform in {None, "linux"} and not of_windows(subject.host)
    if "smi-failed" in subject.case.signals and outside:
        text = "Build the driver's kernel module for the running kernel, whose headers it needs; then load it."
        return Fix(text, changes=(Command("sudo dkms autoinstall"), Command("sudo modprobe nvidia")))
    if "libcuda-missing" in subject.case.signals and outside and subject.host.driver:
        text = f"The kernel has driver {subject.host.driver}, whose libcuda.so.1 is not found: install the libraries"
        return Fix(f"{text} of that release, or start the container with --gpus all.")
    known = subject.host.gpus or subject.host.driver or subject.host.l4t or subject.host.platform == "wsl2"
    if known or subject.finding.confidence != "possible" or subject.program not in {*FRAMEWORKS, "cuda", "loader"}:
        return None
    return Fix(
        "Tell which GPU it is: NVIDIA's needs the NVIDIA driver, on the host if this is a container; AMD's or Intel's "
        "needs another build, from whl/rocm or whl/xpu."
    )
