"""Readers of the files in which frameworks record their build; each takes a site-packages folder.

Files are read as text and never run: a broken or hostile package can therefore not do anything here. Each reader takes
the machine and a folder and answers ``None`` where its package is not in that folder.

=====================================  =====================================================================
file                                   what its build wrote there
=====================================  =====================================================================
torch/version.py                       ``cuda``, ``hip``, ``rocm``, ``xpu``: texts or None
tensorflow/.../build_info.py           one dict: CUDA, cuDNN, compute capabilities
jax_plugins/xla_*, jax_*_plugin        the plugin's folder name carries the runtime's major
paddle/version/__init__.py             CUDA, cuDNN, HIP and, in late releases, compiled_cuda_archs
onnxruntime/capi/build_and_*.py        package name, CUDA and ROCm
xformers/cpp_lib.json                  CUDA, torch and the arch list of the build's environment
deepspeed/git_version_info_*.py        torch and CUDA when kernels were compiled at installation
=====================================  =====================================================================
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from compat.facts import Build
from compat.lazy import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compat.detect.machine import Machine

_VALUE: Final = r"""(?::[^=\n]*)?\s*=\s*(?:['"]([^'"\n]*)['"]|None|False)"""
# xla_cuda12 (PJRT plugin), jax_cuda12_plugin (kernels); ROCm's carry major and minor: xla_rocm60
_JAX_PLUGIN: Final = pattern(r"(?:xla|jax)_(cuda|rocm)(\d{1,2})(?:_plugin)?")
_DIGITS: Final = pattern(r"\d{1,3}(?:\.\d{1,3}){0,3}")


def merged(build: Build, label: Build) -> Build:
    """A build as its own files tell it, completed by what its labels say."""
    blank = {item.name: item.default for item in fields(Build)}
    gaps = {key: getattr(label, key) for key, default in blank.items() if getattr(build, key) == default}
    # a local tag is finer than the HIP number in version.py: rocm6.2.4 against 6.2
    finer = label.runtime.startswith(build.runtime) and len(label.runtime) > len(build.runtime)
    return replace(build, **{**gaps, **({"runtime": label.runtime} if finer else {})})


def dotted(digits: str) -> str:
    """A version that labels write without its dot: ``118`` is 11.8, ``92`` is 9.2, ``12`` is the major 12 alone."""
    if "." in digits or (len(digits) < 3 and int(digits) < 20):
        return digits
    return f"{digits[:-1]}.{digits[-1]}"


def torch(machine: Machine, site: str) -> Build | None:
    """Read torch/version.py: ``cuda``, ``hip``, ``xpu`` are texts or None (written by generate_torch_version.py)."""
    path = f"{site}/torch/version.py"
    text = machine.text(path)
    if "__version__" not in text:
        return None
    cuda, hip, rocm, xpu = (_assigned(text, name) for name in ("cuda", "hip", "rocm", "xpu"))
    amd = rocm or _minor(hip)  # releases that state ROCm itself do so beside HIP, whose number has a patch of its own
    runtime = f"cuda{_minor(cuda)}" if cuda else f"rocm{amd}" if amd else "xpu" if xpu else "cpu"
    return Build(runtime=runtime, cudnn=_bundled_cudnn(machine, site), cxx11_abi=_torch_abi(machine, site), path=path)


def _bundled_cudnn(machine: Machine, site: str) -> str:
    """Major of the cuDNN beside torch or in NVIDIA's wheel, whichever its RPATH finds."""
    for folder in (f"{site}/torch/lib", f"{site}/nvidia/cudnn/lib"):
        for name in machine.names(folder):
            if found := re.fullmatch(r"libcudnn\.so\.(\d{1,2})", name):
                return found[1]
    return ""


def _torch_abi(machine: Machine, site: str) -> bool | None:
    """Which libstdc++ string ABI torch was built with, from the flags it hands to extensions."""
    text = machine.text(f"{site}/torch/share/cmake/Torch/TorchConfig.cmake")
    found = re.search(r"_GLIBCXX_USE_CXX11_ABI=([01])", text)
    return None if found is None else found[1] == "1"


def tensorflow(machine: Machine, site: str) -> Build | None:
    """tensorflow/python/platform/build_info.py: one dict literal, in two spellings over the years."""
    path = f"{site}/tensorflow/python/platform/build_info.py"
    text = machine.text(path)
    if "build_info" not in text:
        return None
    said = dict(re.findall(r"""["'](\w+)["']\s*[,:]\s*["']?([^"',)\]\[}]*)["']?""", text))
    cuda, cudnn = _number(said.get("cuda_version")), _number(said.get("cudnn_version"))
    listed = re.search(r"""cuda_compute_capabilities["']\s*[,:]\s*\[([^\]]*)\]""", text)
    kernels = tuple(re.findall(r"(?:sm|compute)_\d{2,3}[af]?", listed[1])) if listed else ()
    # TensorFlow does not record its ROCm release, only that it is a ROCm build
    rocm = said.get("is_rocm_build", "").strip() == "True"
    runtime = "rocm" if rocm else f"cuda{_minor(cuda)}" if said.get("is_cuda_build", "").strip() == "True" else "cpu"
    return Build(runtime=runtime, cudnn=cudnn, kernels=kernels, path=path)


def jax(machine: Machine, site: str) -> Build | None:
    """Plugins carry the accelerators (jax_plugins/xla_cuda12, xla_rocm60); jaxlib itself is then for the processor."""
    if not machine.exists(f"{site}/jaxlib"):
        return None
    for folder in (f"{site}/jax_plugins", site):
        for name in machine.names(folder):
            if found := _JAX_PLUGIN.fullmatch(name):
                return Build(runtime=found[1] + dotted(found[2]), path=f"{folder}/{name}")
    # releases before the plugins carried their CUDA kernels here and told the runtime in a local tag only
    in_jaxlib = machine.names(f"{site}/jaxlib/cuda")  # until the plugins, kernels lay here
    return Build(runtime="" if in_jaxlib else "cpu", path=f"{site}/jaxlib")


def paddle(machine: Machine, site: str) -> Build | None:
    """paddle/version/__init__.py: ``cuda_version`` and ``cudnn_version`` are texts, 'False' in a CPU build."""
    path = f"{site}/paddle/version/__init__.py"
    text = machine.text(path)
    if "full_version" not in text:
        return None
    cuda, cudnn = _number(_assigned(text, "cuda_version")), _number(_assigned(text, "cudnn_version"))
    rocm = _number(_assigned(text, "hip_version"))
    runtime = f"cuda{_minor(cuda)}" if cuda else f"rocm{_minor(rocm)}" if rocm else "cpu"
    listed = re.search(r"^compiled_cuda_archs\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
    kernels = tuple(f"sm_{number}" for number in re.findall(r"\d{2,3}", listed[1])) if listed else ()
    return Build(runtime=runtime, cudnn=cudnn, kernels=kernels, path=path)


def onnxruntime(machine: Machine, site: str) -> Build | None:
    """onnxruntime/capi/build_and_package_info.py: ``package_name`` and, for GPU builds, ``cuda_version``."""
    path = f"{site}/onnxruntime/capi/build_and_package_info.py"
    text = machine.text(path)
    if "package_name" not in text:
        return None
    cuda, rocm = _number(_assigned(text, "cuda_version")), _number(_assigned(text, "rocm_version"))
    runtime = f"cuda{_minor(cuda)}" if cuda else f"rocm{_minor(rocm)}" if rocm else ""
    plain = _assigned(text, "package_name") == "onnxruntime"
    return Build(
        runtime=runtime or ("cpu" if plain else ""), cudnn=_number(_assigned(text, "cudnn_version")), path=path
    )


def xformers(machine: Machine, site: str) -> Build | None:
    """xformers/cpp_lib.json: CUDA as ``1201``, the torch it was built with, and TORCH_CUDA_ARCH_LIST of the build."""
    path = f"{site}/xformers/cpp_lib.json"
    said = _json(machine.text(path))
    version, settings = said.get("version"), said.get("env")
    if not isinstance(version, dict):
        return None
    number = str(version.get("cuda") or "")
    cuda = f"cuda{int(number) // 100}.{int(number) % 100}" if number.isdecimal() and len(number) < 6 else ""
    listed = settings.get("TORCH_CUDA_ARCH_LIST") if isinstance(settings, dict) else None
    return Build(runtime=cuda, torch=str(version.get("torch") or ""), kernels=_arches(str(listed or "")), path=path)


def _arches(listed: str) -> tuple[str, ...]:
    """``8.0+PTX 9.0a`` as kernel targets: sm_80 compute_80 sm_90a (torch's own reading of TORCH_CUDA_ARCH_LIST)."""
    targets = []
    for high, low, ptx in re.findall(r"(\d{1,2})\.(\d[af]?)(\+PTX)?", listed):
        targets += [f"sm_{high}{low}", *([f"compute_{high}{low}"] if ptx else [])]
    return tuple(dict.fromkeys(targets))


def deepspeed(machine: Machine, site: str) -> Build | None:
    """deepspeed/git_version_info_installed.py: ``torch_info`` of the build."""
    path = f"{site}/deepspeed/git_version_info_installed.py"
    text = machine.text(path)
    said = dict(re.findall(r"""["'](version|cuda_version|hip_version)["']\s*:\s*["']([^"']*)["']""", text))
    if "version" not in said:
        return None
    cuda = _number(said.get("cuda_version"))
    torch_release = _number(said["version"])  # 0.0 where its kernels are compiled on first use
    return (
        Build(runtime=f"cuda{_minor(cuda)}" if cuda else "", torch=torch_release, path=path) if torch_release else None
    )


# Package -> reader of the file in which its build recorded itself.
READERS: Final[Mapping[str, Callable[[Machine, str], Build | None]]] = {
    "torch": torch,
    "tensorflow": tensorflow,
    "jax": jax,
    "paddle": paddle,
    "onnxruntime": onnxruntime,
    "xformers": xformers,
    "deepspeed": deepspeed,
}


def _assigned(text: str, name: str) -> str:
    """The text assigned to a name at the left margin; empty for None, False or no assignment."""
    found = re.search(rf"^{name}{_VALUE}", text, re.MULTILINE)
    return (found[1] or "") if found else ""


def _number(text: str | None) -> str:
    """The dotted number at the start of a text; empty if there is none or it is a CPU build's zero."""
    found = _DIGITS.match((text or "").strip())
    return found[0] if found and found[0].strip("0.") else ""


def _minor(version: str) -> str:
    """Major and minor of a version; the major alone where no more is said."""
    return ".".join(version.split(".")[:2])


def _json(text: str) -> dict[str, Any]:
    """A JSON object; empty for anything else."""
    if not text.startswith("{"):
        return {}
    import json

    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
