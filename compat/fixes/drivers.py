"""Fixes of the NVIDIA driver: the first one that serves every GPU and every CUDA build that is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import compat.fixes.plans as plans
import compat.joints.driver as joint
from compat import versions
from compat.changes import Driver
from compat.findings import Fix
from compat.rules.remedies import install_driver, typed_here
from compat.rules.stack import installed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compat.fixes.subject import Subject


def newer(subject: Subject) -> Fix | None:
    """A driver that is new enough, in the words of the place; ``None`` where it is not its age that is wrong."""
    host, least = subject.host, lowest(subject)
    have = host.driver or ""
    if not least or (versions.is_release(have) and versions.at_least(have, least)):
        return None
    general = install_driver(host, subject.matrix, f"Install NVIDIA driver {least} or newer.")
    commands, _ = typed_here(general, host, subject.matrix)
    return Fix(general.text, commands, changes=(Driver(least),))


def lowest(subject: Subject) -> str:
    """The first driver that serves all NVIDIA GPUs and CUDA builds that are known; empty where none has a floor."""
    windows = subject.host.platform in {"windows", "wsl2"}
    firsts = [joint.span(subject.matrix, gpu.target, windows)[0] for gpu in subject.gpus if gpu.vendor == "nvidia"]
    for item in installed(subject.host, subject.matrix):
        known = joint.floor(subject.matrix, item.cuda, windows) if versions.is_release(item.cuda) else None
        firsts.append((known.family or known.exact) if known else "")
    return max(filter(None, firsts), key=versions.release, default="")


def older_cuda(subject: Subject) -> Fix | None:
    """A driver that is too old: the build of the same release for the CUDA that it runs, or a newer driver."""
    item, name = subject.framework(), subject.framework_name()
    if item is None or not item.cuda or not (subject.host.driver or subject.host.driver_cuda):
        return None
    found = plans.moved(name, subject)
    changes = plans.changes_of(found[0], subject) if found and found[0].runtime.startswith("cuda") else ()
    least = lowest(subject)
    if not least or not found or not changes:
        return newer(subject)
    text = f"Install {plans.told(found[0], name)}, or upgrade the NVIDIA driver to {least} or newer."
    return Fix(text, changes=changes)


FIXES: Final[Mapping[str, Callable[[Subject], Fix | None]]] = {
    "driver-gpu-unsupported-by-branch": newer,
    "driver-too-old-for-runtime": older_cuda,
}
"""Codes of findings -> what mends them."""
