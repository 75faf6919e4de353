"""What installed frameworks say of their own build, from the files their build left behind; nothing is imported.

Kernel targets inside the binaries are read by :mod:`compat.kernels`, which costs more than all of this: whoever needs
them asks it with the ``path`` told here.

Two kinds of evidence are joined: files that the build wrote, and labels on the distribution (PEP 440 local versions
such as ``+cu118``, wheel names kept in direct_url.json, names such as ``cupy-cuda12x``). Files win; a label fills their
gaps and may be finer (``rocm6.2.4`` where the file has 6.2). Files are read as text and never run: a broken or hostile
package can therefore not do anything here.

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
from typing import TYPE_CHECKING, Final

from compat.detect.base import ANYWHERE
from compat.detect.packages import environment, installed
from compat.facts import Build, Fact, Reading
from compat.lazy import pattern
from compat.untrusted import json_of, table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compat.detect.machine import Machine

NAME: Final = "builds"
FACTS: Final = ("builds",)
SYSTEMS: Final = ANYWHERE
SOUGHT: Final = "site-packages"

# Distributions whose version or wheel name carries the build in a local tag: 0.15.2+cu118, 2.1.2+pt21cu121
_TAGGED: Final = pattern(
    r"torch\S*|torchvision|torchaudio|jaxlib|paddlepaddle\S*|vllm|flash-attn\S*|xformers|mmcv\S*|detectron2|pytorch3d|dgl"
    r"|auto-gptq|autoawq\S*|exllamav2|llama-cpp-python|spconv\S*|cupy\S*|cumm\S*|faiss-gpu\S*|onnxruntime\S*|tinycudann|natten"
    r"|apex|deepspeed|fbgemm-gpu\S*|intel-extension-for-pytorch|kaolin|mamba-ssm|causal-conv1d|flashinfer\S*|sgl-kernel"
)
_CUDA: Final = pattern(r"cu(?:da)?[-_]?(\d{1,2}\.\d|\d{2,3})(?!\d)")
_ROCM: Final = pattern(r"rocm[-_]?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?|\d{2,3})(?!\d)")
_TORCH: Final = pattern(r"(?:pt|torch)(\d\.\d{1,2}(?:\.\d{1,2})?|\d{2,3})(?!\d)")
_ABI: Final = pattern(r"cxx11abi(TRUE|FALSE)", re.IGNORECASE)
_TAG: Final = pattern(r"^Tag:\s*(?:\w+\.)*([a-z]{2}\d[\d_]*)\S*-\S+-\S+", re.MULTILINE)
_LABELLED: Final = {"jax": "jaxlib", "paddle": "paddlepaddle-gpu"}  # package -> distribution that carries its label
_CU_NAME: Final = pattern(r"-cu(?:da)?(\d{2,3})x?$")
_VALUE: Final = r"""(?::[^=\n]*)?\s*=\s*(?:['"]([^'"\n]*)['"]|None|False)"""
# xla_cuda12 (PJRT plugin), jax_cuda12_plugin (kernels); ROCm's carry major and minor: xla_rocm60
_JAX_PLUGIN: Final = pattern(r"(?:xla|jax)_(cuda|rocm)(\d{1,2})(?:_plugin)?")
_DIGITS: Final = pattern(r"\d{1,3}(?:\.\d{1,3}){0,3}")


def facts(machine: Machine) -> Mapping[str, Reading]:
    """One :class:`compat.facts.Build` per framework or companion that says something."""
    found: dict[str, Build] = {}
    for name in installed(machine).folders:
        said = _from_labels(machine, name) if _TAGGED.fullmatch(name) else Build()
        if said.runtime or said.torch or _is_foreign(machine, said.python_tag):
            found[name] = said
    for name, reader in READERS.items():
        read = (reader(machine, site) for site in _roots(machine))
        if (build := next((each for each in read if each is not None), None)) is not None:
            label = _LABELLED.get(name, name)
            labels = _from_labels(machine, label) if label in installed(machine).folders else Build()
            found[name] = merged(build, labels)
    return {"builds": Fact(found, ", ".join(environment(machine).sites) or SOUGHT)}


def _is_foreign(machine: Machine, tag: str) -> bool:
    """Whether a tag (``cp310``) names another CPython than the chosen one: it came by copying or a shared folder."""
    version = environment(machine).version.split(".")
    return tag.startswith("cp3") and len(version) > 1 and tag != f"cp{version[0]}{version[1]}"


def _roots(machine: Machine) -> tuple[str, ...]:
    """Folders that packages are imported from: those that hold a distribution's metadata, and the environment's own."""
    held = (folder.rsplit("/", 1)[0] for folder in installed(machine).folders.values())
    return tuple(dict.fromkeys((*held, *environment(machine).sites)))


def _from_labels(machine: Machine, name: str) -> Build:
    """From version, distribution name, wheel tags and the address it was installed from."""
    known, folder = installed(machine), installed(machine).folders[name]
    label = known.versions[name].partition("+")[2] + " " + _wheel_name(machine, folder)
    wheel = machine.text(f"{folder}/WHEEL", 4096)
    tag = _TAG.search(wheel) if "-abi3-" not in wheel else None  # the stable ABI serves later Pythons too (PEP 384)
    return Build(
        runtime=runtime(label) or _named(name),
        torch=_dotted(_TORCH.search(label)),
        python_tag=tag[1] if tag else "",
        cxx11_abi=_abi(label),
        path=folder,
        location=environment(machine).kind,
    )


def _wheel_name(machine: Machine, folder: str) -> str:
    """File name in direct_url.json (PEP 610): extensions put CUDA, torch and ABI there rather than in the version."""
    found = re.search(r'"url"\s*:\s*"[^"]*/([^"/]+\.whl)', machine.text(f"{folder}/direct_url.json", 8192))
    return found[1] if found else ""


def runtime(label: str) -> str:
    """``cu118`` -> ``cuda11.8``, ``rocm6.2`` -> ``rocm6.2``, ``cpu``, ``xpu``; empty if the label names none."""
    if found := _CUDA.search(label):
        return f"cuda{dotted(found[1])}"
    if found := _ROCM.search(label):
        return f"rocm{'.'.join(found[1]) if len(found[1]) == 3 and found[1].isdecimal() else dotted(found[1])}"
    return next((word for word in ("xpu", "cpu") if re.search(rf"\b{word}\b", label)), "")


def _named(name: str) -> str:
    """Runtime in a distribution's name: ``cupy-cuda12x``, ``faiss-gpu-cu12``; the major alone."""
    found = _CU_NAME.search(name)
    return f"cuda{dotted(found[1])}" if found else ""


def _dotted(found: re.Match[str] | None) -> str:
    """``pt21`` -> ``2.1``, ``torch2.3`` -> ``2.3``, ``pt210`` -> ``2.10``."""
    if found is None:
        return ""
    return found[1] if "." in found[1] else f"{found[1][0]}.{found[1][1:]}"


def _abi(label: str) -> bool | None:
    """The string ABI that a wheel's name states, ``cxx11abiFALSE`` (flash-attn and its kin)."""
    found = _ABI.search(label)
    return None if found is None else found[1].upper() == "TRUE"


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
    in_jaxlib = machine.names(f"{site}/jaxlib/cuda")
    return Build(runtime="" if in_jaxlib else "cpu", path=f"{site}/jaxlib")


def paddle(machine: Machine, site: str) -> Build | None:
    """paddle/version/__init__.py: ``cuda_version`` and ``cudnn_version`` are texts, 'False' in a CPU build."""
    path = f"{site}/paddle/version/__init__.py"
    text = machine.text(path)
    if "full_version" not in text:
        return None
    runtime, cudnn = _stated(text, "hip_version") or "cpu", _number(_assigned(text, "cudnn_version"))
    listed = re.search(r"^compiled_cuda_archs\s*=\s*\[([^\]]*)\]", text, re.MULTILINE)
    kernels = tuple(f"sm_{number}" for number in re.findall(r"\d{2,3}", listed[1])) if listed else ()
    return Build(runtime=runtime, cudnn=cudnn, kernels=kernels, path=path)


def onnxruntime(machine: Machine, site: str) -> Build | None:
    """onnxruntime/capi/build_and_package_info.py: ``package_name`` and, for GPU builds, ``cuda_version``."""
    path = f"{site}/onnxruntime/capi/build_and_package_info.py"
    text = machine.text(path)
    if "package_name" not in text:
        return None
    plain = "cpu" if _assigned(text, "package_name") == "onnxruntime" else ""
    runtime = _stated(text, "rocm_version") or plain
    return Build(runtime=runtime, cudnn=_number(_assigned(text, "cudnn_version")), path=path)


def xformers(machine: Machine, site: str) -> Build | None:
    """xformers/cpp_lib.json: CUDA as ``1201``, the torch it was built with, and TORCH_CUDA_ARCH_LIST of the build."""
    path = f"{site}/xformers/cpp_lib.json"
    said = table(json_of(machine.text(path)))
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
    cuda, release = _number(said.get("cuda_version")), _number(said["version"])
    build = Build(runtime=f"cuda{_minor(cuda)}" if cuda else "", torch=release, path=path)
    return build if release else None  # it is 0.0 where its kernels are compiled on first use


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


def _stated(text: str, amd: str) -> str:
    """The runtime of which a file states ``cuda_version``, or AMD's number under its own name; empty if neither."""
    cuda, rocm = _number(_assigned(text, "cuda_version")), _number(_assigned(text, amd))
    return f"cuda{_minor(cuda)}" if cuda else f"rocm{_minor(rocm)}" if rocm else ""


def _number(text: str | None) -> str:
    """The dotted number at the start of a text; empty if there is none or it is a CPU build's zero."""
    found = _DIGITS.match((text or "").strip())
    return found[0] if found and found[0].strip("0.") else ""


def _minor(version: str) -> str:
    """Major and minor of a version; the major alone where no more is said."""
    return ".".join(version.split(".")[:2])
