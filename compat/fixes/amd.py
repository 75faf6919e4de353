"""Fixes of AMD's GPUs that a build has no code for: a build that has it, a sibling's code, or its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compat.fixes.plans as plans
from compat import versions
from compat.changes import Change, Command, Variable
from compat.facts import Fact, Gpu, Host
from compat.findings import Fix
from compat.fixes.extensions import extended
from compat.rules.families.rocm import overridden
from compat.rules.lookups import is_version
from compat.targets import kernels_for

if TYPE_CHECKING:
    from compat.fixes.subject import Subject


def build(subject: Subject) -> Fix | None:
    """A ROCm build with code for the AMD GPU; where none is published, what to compile for."""
    targets = [gpu.target.partition(":")[0] for gpu in subject.gpus if gpu.target.startswith("gfx")]
    if not targets:
        return _unknown_card(subject)
    compiled = subject.compiled() if not subject.framework() else ""
    if compiled:
        text = f"Compile {compiled} again for {targets[0]}: its copy has no code for that."
        return extended(compiled, subject) or Fix(text)
    if subject.host.platform == "windows" and not subject.framework():  # whose HIP has no HSA, and so no override
        other = "hide that GPU with HIP_VISIBLE_DEVICES if another one is there, or take a HIP SDK or a build for it"
        return Fix(f"What is installed has no code for {targets[0]}: {other}, or one for Vulkan.")
    own = subject.program == "ollama"  # which brings its own ROCm
    name = "ollama" if own else subject.framework_name() or "torch"
    found = None if own else plans.moved(name, subject, keep=False)
    changes = plans.changes_of(found, subject, kind="rocm")
    if changes and not subject.framework_name():
        row, have = subject.matrix.gfx(targets[0]), subject.host.rocm or ""
        first = row.first_rocm if row and row.override and subject.host.platform != "windows" else ""
        if row and first and is_version(have) and not versions.at_least(have, first):
            text = f"Borrow its sibling's code, without AMD's support, or take ROCm {first} or newer."
            return Fix(text, changes=(Variable("HSA_OVERRIDE_GFX_VERSION", row.override),))
        return Fix(f"Use a build of ROCm with code for {targets[0]}, on a kernel and firmware that know the GPU.")
    plan = Fix(f"Install {plans.told(found, name)}.", changes=changes) if found and changes else None
    return plan or _without_wheel(targets[0], name, subject)


def _unknown_card(subject: Subject) -> Fix:
    """A card that nothing names: its target decides what there is to do."""
    ask = "hipinfo" if subject.host.platform == "windows" else "rocminfo | grep gfx"
    text = "Use a build that lists the target of the GPU, which this prints."
    if "gpu-memory-fault" in subject.case.signals:
        text = f"{text[:-1]}; where an update broke it, the kernel and linux-firmware from before."
    return Fix(text, changes=(Command(ask),))


def _without_wheel(target: str, name: str, subject: Subject) -> Fix:
    """What is left where no plan serves an AMD GPU: a release for elsewhere, a sibling's code, or its own."""
    families = subject.matrix.families
    if any(kernels_for(target, row.kernels, families) == "native" for row in subject.matrix.builds(name)):
        return Fix(f"Take a newer {name} of ROCm, whose Linux builds have code for {target}.")
    row = subject.matrix.gfx(target)
    if row and row.override:
        none = "It has no" if name == "ollama" else "No wheel has"
        text = f"{none} code for {target}; that of its sibling runs on it, which AMD does not support."
        moved = _of_sibling(row.override, name, subject)
        text = "Borrow its sibling's code, without AMD's support." if moved else text
        return Fix(text, changes=(*moved, Variable("HSA_OVERRIDE_GFX_VERSION", row.override)))
    if name == "ollama":
        text = f"Its ROCm has no code for {target}: a newer ollama serves such GPUs through Vulkan."
        return Fix(text, changes=(Variable("OLLAMA_VULKAN", "1"),))
    text = f"No wheel has code for {target}: compile {name} for it, or compute on the CPU."
    return Fix(text, changes=(Variable("PYTORCH_ROCM_ARCH", target),) if name == "torch" else ())


def _of_sibling(override: str, name: str, subject: Subject) -> tuple[Change, ...]:
    """A build of ROCm with the code of a sibling, where another one is installed, or none is known to be."""
    item = subject.framework()
    if name != subject.framework_name() or (item and item.rocm) or (subject.host.gpus and not item):
        return ()
    card = Gpu(vendor="amd", target=overridden(override))
    machine = Host({**plans.target(subject).readings, "gpus": Fact((card,), "machine")})
    return plans.changes_of(plans.planned([name], machine, subject.matrix), subject, kind="rocm")
