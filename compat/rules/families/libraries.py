"""Shared libraries: missing ones, copies that the loader finds first, and those that will hurt sooner or later."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import compat.joints.libraries as joint
from compat import versions
from compat.changes import Command, Variable, install
from compat.findings import Fix
from compat.joints.verdict import FITS, Clash
from compat.reading.message_facts import cudnn_version
from compat.rules.families.rocm import amd_cards
from compat.rules.lookups import is_version
from compat.rules.rule import Fits, Found, NvidiaRule, Outcome, Rule
from compat.rules.stack import Installed, found_cudnn, installed, packages_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from compat.facts import Host, Library
    from compat.matrix import Matrix
    from compat.reading.messages import Hearing

# What the driver brings itself, and TensorRT, which is optional and which TensorFlow names on every start.
_NOT_NEEDED: Final = ("libcuda.so", "libnvidia-", "libnvcuvid", "libnvoptix", "libnvinfer")


def _was_loaded(signals: Hearing) -> bool:
    """Whether the message is of a library that complains about another's version: then it was found and loaded."""
    firsts = {heard.signal.candidates[0] for heard in signals.harmful if heard.signal.candidates}
    return "library-mismatch" in firsts and "library-missing" not in firsts


class LibraryMissing(Rule):
    """A shared library that the framework needs cannot be found.

    Why: TensorFlow, onnxruntime and others only warn and continue on the CPU, so this is the usual cause of an empty
        list of GPUs. The number in its name is part of it: another major is another library.
    Fix: Install the package that ships the library, or put its folder on the loader's path. Never link a library of
        another major to its name.
    Sources:
        - https://www.tensorflow.org/install/pip
        - https://man7.org/linux/man-pages/man8/ld.so.8.html
    """

    area = "libraries"
    requires = (
        "container-driver-capabilities", "musl-libc", "jetson-generic-wheel", "rocm-version-mismatch",
        "framework-duplicate-install",
    )  # fmt: skip
    asks = ("libraries", "packages", "env", "cuda_toolkit", "cudnn")

    def check(self, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """The loader finds no file for a library that the framework links to or opens at run time."""
        absent = [item.name for item in host.libraries or () if not item.path and not item.version]
        names = [name for name in absent if not name.startswith(_NOT_NEEDED)]
        known = {row.soname for row in matrix.table("sonames")} if names[1:] else frozenset[str]()
        missing = next((name for name in reversed(names) if name in known), *names[:1] or ("",))
        if missing:
            other = self._other_major(missing, host, matrix)
            told = [name for heard in signals for name in heard.further if name in names and name != missing]
            every = " and ".join([*dict.fromkeys(told), missing][-3:])
            return Found(detail=f"{every} cannot be found.{other}", facts=("libraries",))
        if _was_loaded(signals):
            return None
        if wrong := self._system(host, matrix, told=bool(signals.pointing("library-missing"))):
            return wrong
        silent = host.driver_faults or {"nvml", "cuda_init"} & set(host.hung or ())
        loaded = host.libraries and not signals.harmful and not silent
        return Fits("the libraries that were looked for can be loaded") if loaded else None

    @staticmethod
    def _system(host: Host, matrix: Matrix, *, told: bool) -> Outcome:
        """A build that takes CUDA from the system, where the system has another (its file names hold the major)."""
        cuda, cudnn = (text if is_version(text) else "" for text in (host.cuda_toolkit, found_cudnn(host)))
        for item in installed(host, matrix) if host.packages else ():
            guessed = item.inferred and host.platform == "windows" and not told
            if item.row is None or guessed:
                continue
            needs = any(part.startswith("cuda") for part in item.row.system)
            there = (
                ("cuda", cuda, "cuda_toolkit", joint.cuda(matrix, item.row, cuda or "") if needs else FITS),
                ("cudnn", cudnn, "cudnn", joint.cudnn(item.row, cudnn or "")),
            )
            for name, have, fact, found in there:
                if isinstance(found, Clash):
                    serves = host.gpus is None or any(gpu.vendor == "nvidia" for gpu in host.gpus)
                    return Found(
                        detail=f"{item.label} loads {name} {found.wants} from the system; {have} is there.",
                        facts=(fact, item.fact),
                        severity="error" if serves else "info",
                        confidence="likely",
                    )
        return None

    @staticmethod
    def _other_major(name: str, host: Host, matrix: Matrix) -> str:
        """The copy of another major that is there instead."""
        found = re.fullmatch(r"libcudnn\w*\.so\.(\d+)", name)
        have = found_cudnn(host)
        if found and is_version(have) and versions.release(have)[0] != int(found[1]):
            return f" cuDNN {have} is installed, which is another library."
        toolkit, made = host.cuda_toolkit, joint.releases(name, matrix)
        if toolkit and made and is_version(toolkit) and str(versions.major(toolkit)) not in made:
            return f" CUDA {toolkit} is installed, whose libraries have other numbers."
        return ""


class LibraryMismatch(Rule):
    """A different version of a bundled library is loaded.

    Why: The loader's path (on Windows PATH) beats the one inside the wheel, so that a system copy shadows the one that
        was tested.
    Fix: Unset LD_LIBRARY_PATH, or take the folder of the other copy out of it.
    Sources:
        - https://github.com/pytorch/pytorch/blob/HEAD/torch/backends/cudnn/__init__.py
        - https://docs.nvidia.com/deeplearning/cudnn/backend/latest/
    """

    area = "libraries"
    requires = ("frameworks-conflict",)
    asks = ("cudnn", "libraries", "env", "builds")
    changes = (Variable("LD_LIBRARY_PATH"),)

    def mend(self, host: Host, matrix: Matrix) -> Fix:
        """The deed on this machine: Windows' loader goes by PATH."""
        text = "Take the folder of the other copy off PATH, so that the library beside the package is loaded."
        return Fix(text) if host.platform == "windows" else super().mend(host, matrix)

    def check(self, host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """cuDNN, cuBLAS, NCCL or nvJitLink comes from elsewhere than the framework's own copy.

        It is of another major, or older than what the framework was built with.
        """
        path = (host.env or {}).get("LD_LIBRARY_PATH", "").lower()
        shadow = " LD_LIBRARY_PATH names CUDA folders." if "cuda" in path or "cudnn" in path else ""
        have = found_cudnn(host)
        told = signals.value("cudnn_want") or signals.value("torch_cudnn") or signals.value("jax_cudnn")
        if told and have:
            detail = f"cuDNN {have} is loaded; the framework was built with {cudnn_version(told.strip())}.{shadow}"
            return Found(detail=detail, facts=("cudnn",))
        for item in installed(host, matrix):
            system = item.row is not None and item.row.cuda_from == "system"
            if not is_version(have) or not is_version(item.cudnn):
                continue
            first = _put_first(host)
            older = first and is_version(first.version) and joint.stands_in(first.version, item.cudnn)
            if not system and first and isinstance(older, Clash) and older.wants.startswith(">"):
                return Found(
                    detail=f"{item.label} brings cuDNN {item.cudnn}; LD_LIBRARY_PATH puts {first.version} first.",
                    facts=("libraries", "env.LD_LIBRARY_PATH", item.fact),
                    severity=None if signals.pointing("library-mismatch") else "warning",
                )
            serves, heard = joint.stands_in(have, item.cudnn) == FITS, signals.pointing("library-mismatch")
            loaded = heard and "library" not in heard.values  # a file that is missing is not
            if (system or loaded) and not serves:
                detail = f"{item.label} was built with cuDNN {item.cudnn}; {have} is found.{shadow}"
                return Found(detail=detail, facts=("cudnn", item.fact))
        return self._nccl(host, signals) or self._hsa(host, matrix, signals)

    @staticmethod
    def _hsa(host: Host, matrix: Matrix, signals: Hearing) -> Outcome:
        """Under WSL, a wheel's own copy of AMD's runtime, which knows /dev/kfd and not the dxg device."""
        item = next((item for item in installed(host, matrix) if item.name == "torch" and item.rocm), None)
        heard = signals.get("hip-no-device", "torch-no-gpu-generic")
        others = host.gpus and not amd_cards(host.gpus)
        if not item or not heard or host.platform != "wsl2" or others:
            return None
        text = "Take torch's own copy of the runtime away, so that the one of ROCm for WSL is loaded."
        away = Command("rm \"$(python -c 'import torch; print(torch.__path__[0])')\"/lib/libhsa-runtime64.so*")
        return Found(
            detail=f"{item.label} brings its own libhsa-runtime64, which does not know the device of WSL.",
            facts=("platform", item.fact),
            confidence="likely",
            fix=Fix(text, changes=(away,)),
            sources=("https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-pytorch.html",),
        )

    @staticmethod
    def _nccl(host: Host, signals: Hearing) -> Outcome:
        """A symbol that NCCL or nvJitLink lacks, with the package that brings the old copy where it is installed."""
        heard = signals.get("nccl-symbol", "nvjitlink")
        if heard is None:
            return None
        wanted = "nccl" if heard.signal.signal == "nccl-symbol" else "nvjitlink"
        part = next((name for name in packages_of(host) if wanted in name), "")
        detail = f"{heard.signal.meaning} {part} {packages_of(host).get(part)} is installed."
        return Found(detail=detail, facts=(f"packages.{part}",)) if part else None


def _put_first(host: Host) -> Library | None:
    """The copy of cuDNN that LD_LIBRARY_PATH puts before every other one."""
    first = (item for item in host.libraries or () if item.loaded and item.origin == "LD_LIBRARY_PATH")
    return next((item for item in first if item.name.startswith("libcudnn.so")), None)


class LdLibraryPathShadow(NvidiaRule):
    """LD_LIBRARY_PATH has CUDA folders although the wheels bundle CUDA.

    Why: Even a compatible copy of today becomes a mismatch after the next upgrade of either side.
    Fix: Unset LD_LIBRARY_PATH, or keep only the driver's folders.
    Sources: https://docs.jax.dev/en/latest/installation.html
    """

    severity = "warning"
    area = "libraries"
    platforms = ("linux", "wsl2")
    requires = (
        "library-mismatch", "library-missing", "jax-plugin-init-failed", "frameworks-conflict", "driver-stub-loaded"
    )  # fmt: skip
    changes = (Variable("LD_LIBRARY_PATH"),)

    def check(self, env: Mapping[str, str], installed: tuple[Installed, ...], signals: Hearing) -> Outcome:
        """The variable names a folder of a CUDA toolkit, and an installed framework brings its own CUDA libraries.

        A toolkit of the same major serves as well: without a fault it is advice.
        """
        path = env.get("LD_LIBRARY_PATH", "")
        named = (part for part in path.split(":") if "compat" not in part)
        folders = [part for part in named if re.search(r"/cuda(?:[-/]|$)|cudnn|nccl", part)]
        bundled = [item for item in installed if item.cuda and item.row and item.row.cuda_from in {"wheel", "packages"}]
        if not folders or not bundled:
            return None
        other = re.search(r"/cuda-(\d+)", folders[0])
        same = not other or bundled[0].cuda.startswith(f"{other[1]}.")
        return Found(
            detail=f"{folders[0]} stands before the libraries of {bundled[0].label}.",
            facts=("env.LD_LIBRARY_PATH", bundled[0].fact),
            severity=None if signals.harmful or not same else "info",
        )


class NcclVersionMixed(Rule):
    """Two NCCL versions can be loaded.

    Why: The first library loaded serves everybody in the process.
    Fix: Keep one nvidia-nccl package, and remove the system's libnccl2.
    Sources: https://github.com/NVIDIA/nccl/blob/HEAD/src/init.cc
    """

    severity = "warning"
    area = "libraries"
    requires = ("library-mismatch",)
    asks = ("packages",)
    changes = (
        Command("pip list | grep nccl"),
        Command("ldconfig -p | grep libnccl", "linux"),
        Variable("LD_LIBRARY_PATH"),
    )

    def check(self, libraries: tuple[Library, ...]) -> Outcome:
        """libnccl.so.2 of more than one version can be loaded in one environment."""
        found = {item.version for item in libraries if item.name.startswith(("libnccl", "librccl")) and item.version}
        return Found(detail=f"NCCL {' and '.join(sorted(found))} can be loaded.") if len(found) > 1 else None


class LibraryKnownBad(NvidiaRule):
    """A library version with a known defect is installed.

    Why: JAX carries these versions as start-up checks; one of them breaks binary compatibility.
    Fix: Upgrade cuDNN.
    Sources: https://github.com/jax-ml/jax/blob/HEAD/jax_plugins/cuda/__init__.py
    """

    severity = "warning"
    area = "libraries"
    changes = (install("nvidia-cudnn-cu12", upgrade=True),)

    def check(self, cudnn: str, matrix: Matrix) -> Outcome:
        """The installed cuDNN is one that its users start with a warning about."""
        rows = [row for row in matrix.table("cudnn") if row.version == cudnn or row.version.startswith(f"{cudnn}.")]
        bad = [row for row in rows if "known defect: " in row.note]
        if not bad or len(bad) < len(rows):  # of a number cut short only some releases may be meant
            return None
        defect = bad[0].note.partition("known defect: ")[2]
        return Found(detail=f"cuDNN {cudnn} {defect}.", sources=(matrix.cite(bad[0]),))
