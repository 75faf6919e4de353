"""Inspection: what GPU code a path or an installed package carries, and which devices run it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compat.app import hosts
from compat.errors import InputError
from compat.lazy import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.facts import Gpu
    from compat.kernels import Inspection, Verdict
    from compat.matrix import Matrix
    from compat.registry.ranges import Tell


@dataclass(frozen=True, slots=True)
class Inspected:
    """What something carries, and whether each of some devices (by name) runs it."""

    inspection: Inspection
    verdicts: tuple[tuple[str, Verdict], ...] = ()

    def plain(self) -> dict[str, Any]:
        """The ``envcheck.inspect/1`` document."""
        from compat import kernels

        told = [{"gpu": name, **asdict(verdict)} for name, verdict in self.verdicts]
        return {**kernels.dump(self.inspection), "verdicts": told}


def inspected(
    subject: str,
    matrix: Matrix,
    *,
    gpus: Sequence[str] = (),
    host: str = "",
    python: str = "",
    index: str = "",
    tell: Tell | None = None,
) -> Inspected:
    """Inspect something, and judge whether some devices run it; see :func:`look` and :func:`devices`.

    Raises:
        InputError: for a device that is not known, before anything is read; or for a subject that is none.
    """
    asked = devices(matrix, gpus=gpus, host=host)  # refused before minutes of reading, not after
    seen = look(subject, python=python, index=index, tell=tell)
    return Inspected(seen, verdicts(seen, matrix, asked))


def look(subject: str, *, python: str = "", index: str = "", tell: Tell | None = None) -> Inspection:
    """Inspect a path if there is one of that name, else an installed package.

    Args:
        subject: file, folder, wheel or distribution name; or the address of a wheel, or ``name==version`` for the
            published one, both read in parts.
        python: interpreter or environment whose packages count; the obvious one of this machine by default.
        index: index that has the published wheel; the configured one by default.
        tell: called with the MiB of a published wheel that are here and those that were asked for.

    Raises:
        InputError: if it is neither a path nor an installed package.
    """
    from compat import kernels

    if subject.startswith(("http://", "https://")):
        from compat.registry import ranges

        return ranges.inspect(subject, tell)
    name, pinned, version = subject.partition("==")
    if pinned and name and version:
        from compat.registry import indexes, ranges

        return ranges.inspect(indexes.wheel(name, version, index=index), tell)
    if index:
        raise InputError("--index is for a published wheel", expected="name==version")
    if Path(subject).exists():
        return kernels.inspect(subject)
    if "/" in subject or subject.endswith((".so", ".whl", ".cubin", ".ptx", ".fatbin", ".hsaco")):
        raise InputError("no such file or folder", where=subject)
    for folder in _site_packages(python):
        try:
            return kernels.inspect_package(subject, folder)
        except InputError:
            continue
    raise InputError(
        f"{subject!r} is neither a path nor an installed package", expected="a path, or a name that pip lists"
    )


def _site_packages(python: str) -> tuple[Path, ...]:
    """The folders of packages of an interpreter, the obvious one of this machine where none is named."""
    from time import monotonic

    from compat.detect.interpreter import choose
    from compat.detect.machine import Machine
    from compat.detect.root import Root
    from compat.run import run

    found = choose(Machine(Root(), run, monotonic() + 5.0, python))
    if python and found.why:
        raise InputError(found.why, where=f"--python {python}", expected="an interpreter, or an environment's folder")
    return tuple(Path(folder) for folder in found.sites)


def devices(matrix: Matrix, *, gpus: Sequence[str] = (), host: str = "") -> tuple[Gpu, ...]:
    """The devices to judge: those named, then those of a host file.

    Raises:
        InputError: if a GPU is not known or a host file cannot be read.
    """
    from compat.resolve.target import named

    found = dict.fromkeys(one for name in gpus for one in named(matrix, name).gpus)
    return (*found, *((hosts.from_file(host, matrix).gpus or ()) if host else ()))


def verdicts(inspection: Inspection, matrix: Matrix, devices: Sequence[Gpu]) -> tuple[tuple[str, Verdict], ...]:
    """A verdict per device whose target is known: (name, verdict)."""
    from compat import kernels

    return tuple(
        (device.name or device.target, _with_driver(kernels.judge(inspection, device.target, matrix.families), matrix))
        for device in devices
        if device.target
    )


def _with_driver(verdict: Verdict, matrix: Matrix) -> Verdict:
    """The verdict with the driver that its PTX needs, where it runs by PTX."""
    from dataclasses import replace

    from compat.joints.driver import ptx_floor

    if not verdict.isa:
        return verdict
    floor = ptx_floor(matrix, verdict.isa)
    if floor is None:
        need = f"a driver that is not known: the matrix has no CUDA release with PTX {verdict.isa}"
    elif floor.exact:
        need = f"driver {floor.exact} or newer on Linux (CUDA {floor.row.cuda})"
    else:
        need = f"a driver that is not known: NVIDIA's table gives none for CUDA {floor.row.cuda}"
    return replace(verdict, why=f"{verdict.why}; PTX {verdict.isa} needs {need}")
