"""Fixes of the NVIDIA driver: the first one that serves every GPU and every CUDA build that is here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import compat.fixes.plans as plans
import compat.joints.driver as joint
from compat import versions
from compat.changes import Command, Driver, System
from compat.facts import Fact, Gpu, Host
from compat.findings import Fix
from compat.lazy import pattern
from compat.reading.commands import container_of
from compat.rules.deeds import RELOAD, install_driver, last_branch, of_system, spelled
from compat.rules.lookups import cuda_of_driver
from compat.rules.stack import installed

if TYPE_CHECKING:
    from compat.fixes.subject import Subject


# From this major of CUDA on a driver runs every build of its own major (CUDA Compatibility, "Minor Version").
_FAMILIES: Final = 11
_ASKED: Final = pattern(r"cuda\s*>=?\s*(\d{1,2}\.\d)")


def newer(subject: Subject) -> Fix | None:
    """A driver that is new enough, in the words of the place; ``None`` where it is not its age that is wrong."""
    host, least = subject.host, lowest(subject)
    have = host.driver or ""
    if not least or (versions.is_release(have) and versions.at_least(have, least)):
        return None
    general = install_driver(host, subject.matrix, f"Install NVIDIA driver {least} or newer.")
    steps, _ = of_system(general.changes, host, subject.matrix)
    return Fix(general.text, changes=(Driver(least, tuple(one for one in steps if isinstance(one, Command))),))


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
    if not (subject.host.driver or subject.host.driver_cuda):
        return None
    served = item and item.cuda and _runs(subject, item.cuda)
    if fix := _of_last_branch(subject):
        return fix
    if item is None or not item.cuda or served:
        either = "tf-driver-old" in subject.case.signals and item is None  # XLA's own line, of TensorFlow or of JAX
        known = subject.host.driver and not _in_image(subject)  # whose library is there, then
        old = either or subject.case.signals.get("driver-too-old", *["insufficient-35"] * bool(known))
        return _unknown_build("" if either else name, subject) if old else None
    found = plans.moved(name, subject)
    changes = plans.changes_of(found, subject, kind="cuda")
    least = lowest(subject)
    if not least or not found or not changes:
        fix, package = newer(subject), found.driver.package if found else ""
        return replace(fix, text=f"{fix.text} Or run it in an image with {package}.") if fix and package else fix
    text = f"Install {plans.told(found, name)}, or upgrade the NVIDIA driver to {least} or newer."
    return Fix(text, changes=changes)


def _runs(subject: Subject, cuda: str) -> bool:
    """Whether the driver is of this CUDA or a later one by its own words: what it is too old for is another build."""
    own = subject.host.driver_cuda or ""
    return versions.is_release(own) and versions.is_release(cuda) and versions.at_least(own, cuda)


def _next_family(subject: Subject) -> tuple[str, str]:
    """The CUDA that the driver reports, and the first driver that runs the next major; empty where it is not known."""
    have = subject.host.driver_cuda or cuda_of_driver(subject.matrix, subject.host.driver)
    known = joint.floor(subject.matrix, str(versions.major(have) + 1), subject.host.platform in {"windows", "wsl2"})
    return have, (known.family or known.exact) if known else ""


def _unknown_build(name: str, subject: Subject) -> Fix | None:
    """A program whose CUDA nobody states needs a later major than the driver's, which runs every build of its own."""
    have, first = _next_family(subject)
    if not have or not first:
        return None
    if _in_image(subject):
        return replace(_or_image(f"{first} or newer", subject), changes=(Driver(first),))
    found = plans.moved(name, subject) if name else None
    changes = plans.changes_of(found, subject, kind="cuda")
    far = found and not subject.release(name) and versions.major(found.runtime[4:]) < versions.major(have) >= _FAMILIES
    if found and changes and not far:  # a release that nobody names may be far from one for an older CUDA
        least = f" to {first} or newer" if versions.major(have) >= _FAMILIES else ""
        return Fix(f"Install {plans.told(found, name)}, or upgrade the NVIDIA driver{least}.", changes=changes)
    if versions.major(have) < _FAMILIES:
        return None
    text = f"Upgrade the NVIDIA driver to {first} or newer, or take the build for CUDA {versions.major(have)}."
    return Fix(text, changes=(Driver(first),))


def _of_last_branch(subject: Subject) -> Fix | None:
    """A GPU whose last driver branch is too old: no newer one is."""
    host, matrix, name = subject.host, subject.matrix, subject.framework_name()
    last, least = _last(subject), lowest(subject) or _next_family(subject)[1]
    if not last or not least or versions.major(least) <= int(last):
        return None
    card = next((row for row in matrix.table("capabilities") if row.last_driver == f"R{last}"), None)
    gpus = subject.gpus or tuple(Gpu(vendor="nvidia", target=f"sm_{one.cc.replace('.', '')}") for one in [card] if one)
    known = Host({**host.readings, "gpus": Fact(gpus, "machine")})
    found = plans.moved(name, replace(subject, case=replace(subject.case, host=known, derived={}))) if name else None
    changes = plans.changes_of(found, subject, kind="cuda")
    why = f"R{last} is the last driver branch for this GPU"
    if found and changes:
        return Fix(f"Install {plans.told(found, name)}: {why}.", changes=changes)
    return Fix(f"{why}, and no published build runs on it: compute on the CPU, or take another GPU.")


def _last(subject: Subject) -> str:
    """The last driver branch for the GPU, by the card or by a package that is named for it; empty if it is served."""
    cards = Host({**subject.host.readings, "gpus": Fact(subject.gpus, "machine")})
    return last_branch(cards, subject.matrix) or next(iter(subject.said("legacy")), "")


def for_image(subject: Subject) -> Fix | None:
    """An image that demands a newer CUDA than the driver's: the driver of that CUDA, or an image for the driver's."""
    asked = _ASKED.match(subject.case.signals.value("require") or subject.case.signals.value("require2"))
    windows, last = subject.host.platform in {"windows", "wsl2"}, _last(subject)
    known = joint.floor(subject.matrix, asked[1], windows) if asked else None
    if not known or not known.exact:
        return None
    if last and versions.major(known.exact) > int(last):
        text = f"R{last} is the last driver branch for this GPU: take an image for {_most(subject)}"
        return Fix(f"{text}, or compute on the CPU.")
    text = f"{known.exact} or newer{'' if subject.gpus else ', if its GPU has one'}"
    return replace(_or_image(text, subject, asked[1] if asked else ""), changes=(Driver(known.exact),))


def _or_image(least: str, subject: Subject, asked: str = "") -> Fix:
    """A newer driver where the container's host is, or another image than that which ``asked`` for more CUDA."""
    where = "Windows" if subject.host.platform in {"windows", "wsl2"} else "the host"
    return Fix(f"Upgrade the NVIDIA driver of {where} to {least}, or take an image for {_most(subject, asked)}.")


def _most(subject: Subject, asked: str = "") -> str:
    """The CUDA that images may be of, for the driver that is there or the last one for the GPU."""
    host, last = subject.host, _last(subject)
    have = host.driver_cuda or cuda_of_driver(subject.matrix, host.driver or (last and f"{last}.0"), host.platform)
    if asked and have and versions.at_least(have, asked):
        return f"a CUDA before {asked}"
    return f"CUDA {have} or older" if have else "the CUDA that the driver reports in nvidia-smi"


def _in_image(subject: Subject) -> bool:
    """Whether the program runs in a container's image, by the facts or by the command that was typed."""
    return bool(subject.host.container or subject.host.image or container_of(subject.case.commands))


def compat_libcuda(subject: Subject) -> Fix | None:
    """An image whose libcuda the host's GPU does not take: its files are not the host's to remove."""
    if (
        not _in_image(subject)
        or "compat-804" not in subject.case.signals
        or "compat" in (subject.host.env or {}).get("LD_LIBRARY_PATH", "")
        or any("compat" in (one.path or "") for one in subject.host.libraries or ())
    ):
        return None
    return _or_image("that of the image's CUDA", subject)


def own_libraries(subject: Subject) -> Fix | None:
    """The package of a kernel module that is not of its libraries' release; or a container's own libraries."""
    host = subject.host
    module, libraries, stored = host.driver, host.driver_library, subject.said("module_file")
    if module and libraries and host.platform in {None, "linux"} and not _in_image(subject):
        if module in stored:
            text = f"The module on disk is {module} too: let its package (dkms status) make that of {libraries}."
            return spelled(Fix(text, changes=(Command("dkms status"), System("module-rebuild"))), host, subject.matrix)
        text = f"If modinfo tells {module} after this or a restart, update its package (dkms status) to {libraries}."
        return Fix(text, changes=(RELOAD, Command("modinfo -F version nvidia")))
    if not _in_image(subject) or not module or any("cli-" in one.signal.signal for one in subject.case.signals):
        return None
    own = f"Take the driver's libraries, {libraries or 'of another driver'}, out of the image"
    return Fix(f"{own}: the container toolkit mounts the host's.")


def memory(subject: Subject) -> Fix | None:
    """No memory at CUDA's very start, where nothing of a program is on the GPU yet."""
    if "init-out-of-memory" not in subject.case.signals:
        return None
    if subject.host.platform == "wsl2":
        text = "Update WSL and the NVIDIA driver of Windows, and start WSL again."
        return Fix(text, changes=(Command("wsl --update"), Command("wsl --shutdown")))
    text = "CUDA got no memory at its very start: look for what holds the GPU, and for limits of memory (ulimit -v)."
    return Fix(text, changes=(Command("nvidia-smi"),))
