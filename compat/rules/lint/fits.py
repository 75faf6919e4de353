"""Lint of what must fit together: pairs of packages, toolkits, architectures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.findings import Evidence
from compat.rules.lint import origins
from compat.rules.lint.finding import finding
from compat.targets import sm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.findings import Finding
    from compat.rules.lint.scene import Scene, Taken

_DEPENDENCY: Final = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?")
_EXTENSION: Final = re.compile(
    r"flash[-_]attn|deepspeed|\bapex\b|detectron2|mmcv-full|torch-(scatter|sparse|cluster)|pytorch3d|"
    r"setup\.py (install|develop|bdist)",
    re.IGNORECASE,
)
_NAMES: Final = {
    "kepler": "3.7",
    "maxwell": "5.2",
    "pascal": "6.1",
    "volta": "7.0",
    "turing": "7.5",
    "ampere": "8.6",
    "ada": "8.9",
    "hopper": "9.0",
}
"""PyTorch's own names for TORCH_CUDA_ARCH_LIST (torch.utils.cpp_extension), each with its highest capability."""


def pairs(scene: Scene) -> Iterator[Finding]:
    """framework-pair-mismatch, frameworks-conflict: what one build requires excludes another request."""
    pinned = {item.request.name: item for item in scene.taken if item.request.spec and not item.request.marker}
    for item in scene.builds:
        if item.build is None or "--no-deps" in item.step.options or not item.request.exact:
            continue
        for name, spec in _requirements(item, scene):
            other = pinned.get(name)
            if other and other is not item and other.request.exact and not _allows(spec, other.request.exact):
                yield _mismatch(item, other, spec, scene)


def _requirements(item: Taken, scene: Scene) -> Iterator[tuple[str, str]]:
    assert item.build is not None
    for line in item.build.requires:
        found = _DEPENDENCY.fullmatch(line.strip())
        if found and _applies(found[3] or "", scene):
            yield re.sub(r"[-_.]+", "-", found[1]).lower(), found[2].replace(" ", "")


def _applies(marker: str, scene: Scene) -> bool:
    if not marker.strip():
        return True
    from packaging.markers import InvalidMarker, Marker

    values = {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": scene.arch,
        "extra": "",
    }
    python = {"python_version": scene.python, "python_full_version": f"{scene.python}.0"} if scene.python else {}
    try:
        return Marker(marker).evaluate({**values, **python})
    except InvalidMarker:
        return False


def _allows(spec: str, version: str) -> bool:
    wanted = origins.specifiers(spec)
    if wanted is None or ("+" in spec and "+" not in version):
        return True  # which local build an index offers for the plain version is not known here
    return wanted.contains(version if "+" in spec else version.partition("+")[0], prereleases=True)


def _mismatch(item: Taken, other: Taken, spec: str, scene: Scene) -> Finding:
    package = scene.matrix.package(other.request.name)
    both = package is not None and package.kind == "framework"
    later = max(item.request.line, other.request.line)
    separate = item.step is not other.step
    return finding(
        "framework-pair-mismatch",
        scene,
        later,
        f"{item.request.text} requires {other.request.name}{spec}, and {other.request.text} is asked for.",
        severity="error",
        evidence=tuple(
            Evidence("requirement", each.request.text, f"{scene.ask.file}:{each.request.line}")
            for each in (item, other)
        ),
        fix=f"Pin {other.request.name}{spec}." if both else "",
        confidence="likely" if separate else "certain",
        sources=(scene.matrix.cite(item.build),) if item.build else (),
    )


def shared(scene: Scene) -> Iterator[Finding]:
    """cuda-major-mixed-in-env: two frameworks whose builds are of different CUDA majors."""
    found: dict[str, Taken] = {}
    for item in scene.builds:
        package = scene.matrix.package(item.request.name)
        if item.build and item.build.runtime.startswith("cuda") and package and package.kind == "framework":
            found[str(versions.major(item.build.runtime.removeprefix("cuda")))] = item
    if len(found) > 1:
        what = " and ".join(f"{item.request.text} (CUDA {major})" for major, item in sorted(found.items()))
        line = max(item.request.line for item in found.values())
        yield finding("cuda-major-mixed-in-env", scene, line, f"One environment holds {what}.", severity="warning")
        if any(item.build and item.build.cuda_from == "system" for item in found.values()):
            detail = f"One environment holds {what}; the one that takes CUDA from the system cannot load the other's."
            yield finding("frameworks-conflict", scene, line, detail, severity="warning", confidence="likely")


def rocm(scene: Scene) -> Iterator[Finding]:
    """rocm-libs-mixed, framework-duplicate-install: what replaces the framework that the base brings."""
    base = scene.base
    if base is None:
        return
    for item in scene.own:
        if item.build is None or base.kind != "rocm" or not base.rocm or not item.build.runtime.startswith("rocm"):
            continue
        if not versions.same_series(item.build.runtime.removeprefix("rocm"), base.rocm):
            brought = item.build.runtime.removeprefix("rocm")
            detail = f"{item.request.text} brings ROCm {brought} beside the {base.rocm} of {base.reference}."
            yield finding("rocm-libs-mixed", scene, item.request.line, detail, severity="warning")
            return


def toolkit(scene: Scene) -> Iterator[Finding]:
    """toolkit-mismatch-extension: extensions compiled by a toolkit of another major than torch's."""
    base, torch = scene.base, scene.build_of("torch")
    if base is None or torch is None or torch.build is None or base.flavour != "devel" or not base.cuda:
        return
    built = torch.build.runtime.removeprefix("cuda")
    compiled = next((command for command in scene.commands if _compiles_extension(command.text)), None)
    if compiled and torch.build.runtime.startswith("cuda") and versions.major(built) != versions.major(base.cuda):
        yield finding(
            "toolkit-mismatch-extension",
            scene,
            compiled.line,
            f"`{compiled.text[:60]}`: torch {torch.build.full_version} is of CUDA {built}, nvcc of {base.cuda}.",
            severity="error",
            fix=f"Start from a devel image of CUDA {built}, or take torch for CUDA {versions.minor(base.cuda)}.",
            evidence=(Evidence("base image", base.reference, f"{scene.ask.file}:{scene.chain[0].line}"),),
        )


def _compiles_extension(text: str) -> bool:
    return _EXTENSION.search(text) is not None and "torch==" not in text


def arch_list(scene: Scene) -> Iterator[Finding]:
    """extension-arch-missing: TORCH_CUDA_ARCH_LIST ends early and has no PTX."""
    value = scene.stage.env.get("TORCH_CUDA_ARCH_LIST", "")
    base = scene.base
    if not value or base is None or not base.cuda or not scene.stage.env_lines.get("TORCH_CUDA_ARCH_LIST"):
        return
    words = [word for word in re.split(r"[;, ]+", value) if word]
    listed = [
        found for word in words if (found := sm(_NAMES.get(word.split("+")[0].lower(), word.replace("+PTX", ""))))
    ]
    release = scene.matrix.cuda(base.cuda)
    known = [found for target in release.targets if (found := sm(target)) and not found.suffix] if release else []
    if listed and known and "PTX" not in value.upper() and max(listed).major < max(known).major:
        newest, last = max(known), max(listed)
        yield finding(
            "extension-arch-missing",
            scene,
            scene.stage.env_lines["TORCH_CUDA_ARCH_LIST"],
            f"The list ends at {last.capability} without PTX: no code for {newest.capability} and later, "
            f"which CUDA {base.cuda} could target.",
            severity="warning",
            fix="Add the capabilities of the GPUs in use, or +PTX to the last one.",
        )


RULES: Final = (pairs, shared, rocm, toolkit, arch_list)
