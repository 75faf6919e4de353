"""The target made of options, or of facts that an image would replace.

An option becomes a fact whose source is the option, so that a conflict can name ``--driver`` as the member to change
and tell it from what was read on a machine. Names of GPUs are resolved here, at the border: inside, a device is its
kernel target.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat import facts, versions
from compat.errors import InputError
from compat.facts import Fact, Gpu, Host
from compat.lazy import dataclass, pattern
from compat.matrix.instances import find_instance, is_family, is_instance
from compat.matrix.processors import find_processor, hint, why
from compat.resolve.devices import driver_number, vendor_of
from compat.targets import is_gfx, sm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compat.matrix import Matrix
    from compat.matrix.rows import Product

ARCHES: Final = ("x86_64", "aarch64", "arm64", "amd64")
# Facts of a host that a container's image replaces.
IMAGE_BRINGS: Final = frozenset({"python", "glibc", "libc", "libstdcxx", "os"})

_DESKTOPS = pattern(r"(macos|darwin|osx|windows|win)[ _-]?[0-9]{0,4}(?:\.[0-9]{1,3}){0,2}")
_WSL = pattern(r"wsl[ _-]?2?")
_PYTHON = pattern(r"[0-9]\.[0-9]{1,2}t?")
_DRIVER = pattern(r"[vVrR]?([0-9]{1,5}(?:\.[0-9]{1,5}){0,3})(?:[-+~][\w.+~-]{0,60})?")  # with a package's revision


def from_options(
    matrix: Matrix,
    *,
    gpus: Sequence[str] = (),
    driver: str | None = None,
    cuda: str | None = None,
    rocm: str | None = None,
    cpu: bool = False,
    python: str | None = None,
    os: str | None = None,
    arch: str | None = None,
) -> Host:
    """The facts that options state; each fact's source is the option itself (``--driver``).

    Args:
        matrix: knows the products.
        gpus: product names, aliases, PCI ids (``10de:2684``), targets (``sm_89``, ``gfx1100``), slices
            (``H100:1g.10gb``) or instance types (``p5.48xlarge``).
        driver: version of the NVIDIA driver; of the amdgpu driver where all GPUs are AMD's.
        cuda: CUDA release of the runtime wanted, ``12.6``.
        rocm: ROCm release of the runtime wanted, ``6.4``.
        cpu: whether CPU builds are asked for.
        python: minor version, ``3.11``.
        os: system of the image, ``ubuntu22.04``; a platform without containers, ``macos14``, ``windows11``; or
            ``wsl2``, a Linux whose NVIDIA driver is that of Windows.
        arch: ``x86_64`` or ``aarch64``.

    Raises:
        InputError: if a value cannot be read or names nothing known, or if two options contradict each other.
    """
    _demand_sense(gpus=gpus, driver=driver, cuda=cuda, rocm=rocm, cpu=cpu)
    readings: dict[str, facts.Reading] = {}
    if gpus:
        told = tuple(named(matrix, one) for text in gpus for one in text.split(","))
        found = tuple(one for name in told for one in name.gpus)
        _demand_vendors(found, driver=driver, cuda=cuda, rocm=rocm)
        readings["gpus"] = Fact(found, "--gpu", option=True)
        if implied := arch_of(told, architecture(arch) if arch else ""):
            readings["arch"] = Fact(implied, "--gpu", option=True)
    if driver:
        readings["driver"] = Fact(_driver(driver), "--driver", option=True)
    for name, value, option in (("cuda_toolkit", cuda, "--cuda"), ("rocm", rocm, "--rocm")):
        if value:
            readings[name] = Fact(_number(value, option), option, option=True)
    if python:
        readings["python"] = Fact(_python(python), "--python", option=True)
    if os:
        readings.update(_system(matrix, os))
    if arch:
        readings["arch"] = Fact(architecture(arch), "--arch", option=True)
    return driver_settled(Host(readings), matrix)


def driver_settled(host: Host, matrix: Matrix) -> Host:
    """A host whose ``--driver`` is AMD's where it has no GPU but AMD's, or none that is known and asks for ROCm.

    Raises:
        InputError: if that is a branch of NVIDIA's driver, or if ROCm is asked for beside an NVIDIA GPU's driver.
    """
    if not host.is_option("driver"):
        return host
    vendors = {one.vendor.lower() for one in host.gpus or ()}
    asks_rocm = host.is_option("rocm")
    if not asks_rocm and vendors != {"amd"}:
        return host
    other = "--rocm" if asks_rocm else "--gpu"
    branch = f"R{driver_number(host.driver or '')[0]}"
    if vendors - {"amd"} or any(row.branch == branch for row in matrix.table("drivers")):
        raise _contradiction("--driver", other, f"{host.driver} is NVIDIA's driver, and {other} speaks of AMD GPUs")
    kept = {name: reading for name, reading in host.readings.items() if name != "driver"}
    return Host({**kept, "amdgpu": host.reading("driver")})


def for_image(host: Host) -> Host:
    """A host without the facts that a container's image replaces, unless an option states them."""
    kept = {
        name: reading for name, reading in host.readings.items() if name not in IMAGE_BRINGS or host.is_option(name)
    }
    return Host(kept)


def _demand_sense(*, gpus: Sequence[str], driver: str | None, cuda: str | None, rocm: str | None, cpu: bool) -> None:
    """Refuse options that exclude each other."""
    given = {"--gpu": bool(gpus), "--driver": bool(driver), "--cuda": bool(cuda), "--rocm": bool(rocm)}
    named = [option for option, is_given in given.items() if is_given]
    if cpu and named:
        raise _contradiction("--cpu", named[0], "a CPU plan has no GPU, driver or GPU runtime")
    if given["--cuda"] and given["--rocm"]:
        raise _contradiction("--cuda", "--rocm", "CUDA is NVIDIA's, ROCm is AMD's")


def _demand_vendors(found: Sequence[Gpu], *, driver: str | None, cuda: str | None, rocm: str | None) -> None:
    """Refuse a runtime or driver of a vendor that none of the named GPUs is of."""
    vendors = {one.vendor for one in found}
    makers = {"--cuda": {"nvidia"}, "--driver": {"nvidia", "amd"}, "--rocm": {"amd"}}
    for option, value in (("--cuda", cuda), ("--driver", driver), ("--rocm", rocm)):
        if value and not makers[option] & vendors:
            raise _contradiction(
                option, "--gpu", f"{', '.join(one.name for one in found)} is not a GPU it could be for"
            )


def _contradiction(left: str, right: str, why: str) -> InputError:
    """The refusal of two options that exclude each other."""
    return InputError(
        f"{left} and {right} contradict each other", where=f"{left}, {right}", expected="one of them", hint=why
    )


def _number(text: str, option: str) -> str:
    """A release of CUDA or ROCm as minor version, ``cu121`` too; a major alone means any minor of it."""
    text = re.sub(r"^(cuda|cu|rocm)[ -]?", "", text.strip().lower())
    text = re.sub(r"^([0-9]{2})([0-9])$", r"\1.\2", text)
    if not versions.is_release(text):
        raise InputError(f"{text[:40]!r} is not a release", where=option, expected="a number such as 12.6")
    return versions.minor(text) if "." in text else text.strip()


def _driver(text: str) -> str:
    """A driver as its number alone."""
    if found := _DRIVER.fullmatch(text.strip()):
        return found[1]
    raise InputError(f"{text[:40]!r} is not a driver version", where="--driver", expected="a number such as 535.54.03")


def _python(text: str) -> str:
    """A Python as minor version, free-threaded or not."""
    threads = "t" if text.endswith("t") else ""
    plain = text.removesuffix("t")
    if "." in plain and versions.is_release(plain) and _PYTHON.fullmatch(versions.minor(plain)):
        return versions.minor(plain) + threads
    raise InputError(
        f"{text[:40]!r} is not a Python version", where="--python", expected="a minor version such as 3.11"
    )


def _system(matrix: Matrix, text: str) -> dict[str, facts.Reading]:
    """What ``--os`` states: WSL, a platform without containers, or the system of an image."""
    plain = text.strip().lower()
    if _WSL.fullmatch(plain):
        return {"platform": Fact("wsl2", "--os", option=True)}
    if found := _DESKTOPS.fullmatch(plain):
        platform = "windows" if found[1].startswith("win") else "darwin"
        return {"platform": Fact(platform, "--os", option=True), "os": Fact(text, "--os", option=True)}
    return {"os": Fact(_os(matrix, text), "--os", option=True)}


def _os(matrix: Matrix, text: str) -> str:
    """A system in image-tag spelling; ``Ubuntu 22.04``, ``ubuntu:22.04`` and other names (``rocky9``) are read too.

    Of systems that share one plain image (RHEL and UBI) it is the one that images are named by.
    """
    name = re.sub(r"[\s:_-]+", "", text.strip().lower())
    if (row := matrix.system(name)) is not None:
        shared = [one.os for one in matrix.table("systems") if row.image and one.image == row.image]
        named = {image.os for image in matrix.table("images")}
        own = row.os if name in row.aliases else name
        return own if own in named else next((other for other in shared if other in named), own)
    from difflib import get_close_matches

    known = [row.os for row in matrix.table("systems")]
    near = get_close_matches(name, known, 3, 0.5)
    raise InputError(
        f"unknown system {text[:40]!r}", where="--os", expected=" or ".join(near) if near else ", ".join(known)
    )


def architecture(text: str) -> str:
    """An architecture in the spelling of wheel tags.

    Raises:
        InputError: if it is none for which builds are published.
    """
    if text not in ARCHES:
        raise InputError(f"unknown architecture {text[:40]!r}", where="--arch", expected=" or ".join(ARCHES[:2]))
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(text, text)


# --- what --gpu names ---

# A MIG slice behind the name of its card: ``H100:1g.10gb``, or ``... MIG 1g.10gb`` as CUDA names it.
_SLICE: Final = pattern(
    r"(.{1,200}?)(?::|\s(?:MIG\s)?(?=[0-9]g\.)|\sMIG\s)([0-9]g(?:\.[0-9]{1,3}gb)?(?:[+-][a-z.]{2,8})?)", re.IGNORECASE
)
# Several of a card: ``8xH100``, ``2 x A100``, ``H100 x8``, ``H100:8``.
_SEVERAL: Final = pattern(
    r"(?P<n>[1-9][0-9]?) ?x ?(?P<name>.{1,200})|(?P<card>.{1,200}?) ?(?:x ?|:)(?P<of>[1-9][0-9]?)", re.IGNORECASE
)
_RUNTIME: Final = pattern(r"(?i:cu|cuda|rocm)[ _-]?[0-9][0-9.]{0,7}")


@dataclass(frozen=True, slots=True)
class Named:
    """The GPUs that a name stands for, and the architecture of the machine where the name tells it too."""

    gpus: tuple[Gpu, ...]
    arch: str = ""


def named(matrix: Matrix, text: str) -> Named:
    """The GPUs that a name, alias, PCI id, target, slice (``H100:1g.10gb``) or instance type stands for.

    Raises:
        InputError: if it is not known, or names products of several targets.
    """
    from compat.matrix.products import find_gpu

    text, count = counted(matrix, text)
    if found := _SLICE.fullmatch(text.strip()):
        return Named((_sliced(matrix, found[1], found[2].lower()),) * count)
    if not is_instance(text):
        one = gpu(matrix, text)
        boards = (row for row in find_gpu(matrix, text) if row.name == one.name and row.segment == "jetson")
        return Named((one,) * count, next((row.arch for row in boards), ""))
    row = find_instance(matrix, text)
    one = gpu(matrix, row.gpu)
    if row.part:
        one = replace(one, name=f"{one.name} ({row.part})", virtual="vgpu")
    return Named((one,) * row.count, row.arch)


def counted(matrix: Matrix, text: str) -> tuple[str, int]:
    """A name, and how many of it are asked for: two of ``2xH100``; a product's own name is never taken apart."""
    from compat.matrix.products import find_gpu

    found = _SEVERAL.fullmatch(text.strip())
    if found is None or is_instance(text) or find_gpu(matrix, text):
        return text, 1
    name, count = found["name"] or found["card"], int(found["n"] or found["of"])
    return (name, count) if find_gpu(matrix, _SLICE.sub(r"\1", name)) else (text, 1)


def _sliced(matrix: Matrix, name: str, profile: str) -> Gpu:
    """A MIG slice of a card, named as CUDA names it."""
    from compat.matrix.products import find_gpu

    rows = find_gpu(matrix, name)
    fitting = [row for row in rows if profile in _profiles(row)]
    if fitting:
        return replace(gpu(matrix, fitting[0].name), name=f"{fitting[0].name} MIG {profile}", mig="enabled")
    whole = gpu(matrix, name) if not rows else rows[0]
    known = next((row for row in rows if row.mig), None)
    raise InputError(
        f"no MIG profile {profile} of {whole.name} is known",
        where="--gpu",
        expected=f"{known.name} with one of {', '.join(_profiles(known))}" if known else "a card that has MIG profiles",
        hint="" if known else "the rows have none for it: `envcheck matrix show A30` lists those of an A30",
    )


def _profiles(row: Product) -> list[str]:
    """The MIG profiles of a product, without their numbers."""
    return [word.partition(":")[0] for word in row.mig]


def arch_of(found: Sequence[Named], stated: str) -> str:
    """The architecture that names and ``--arch`` agree on; empty where none tells it.

    Raises:
        InputError: if they contradict each other.
    """
    told = sorted({one.arch for one in found if one.arch} | ({stated} if stated else set()))
    if len(told) > 1:
        what = f"a machine with what --gpu names is {told[0]}, and another, or --arch, is {told[1]}"
        raise InputError(what, where="--gpu", expected="one architecture", hint="leave --arch out")
    return told[0] if told else ""


def gpu(matrix: Matrix, text: str) -> Gpu:
    """The GPU that a name, alias, PCI id or target means.

    Raises:
        InputError: if it is not known, or names products of several targets.
    """
    from compat.matrix.products import find_gpu, nearest_gpus, spelled

    wanted = text.strip()
    number = sm(spelled(wanted))
    if number is not None:
        target, known = f"sm_{number.major}{number.minor}", matrix.table("capabilities")
        if known and matrix.capability(target) is None:  # nearest plans for what nobody knows would be nonsense
            expected = ", ".join(f"sm_{row.cc.replace('.', '')}" for row in known)
            raise InputError(f"unknown GPU {target!r}", where="--gpu", expected=f"one of {expected}")
        return Gpu(name=target, vendor="nvidia", target=target)
    if is_gfx(wanted.lower()):
        return Gpu(name=wanted.lower(), vendor="amd", target=wanted.lower())
    rows = find_gpu(matrix, wanted)
    if not rows and (other := find_processor(matrix, wanted)):
        raise InputError(f"{wanted[:60]!r} {why(other)}", where="--gpu", hint=hint(matrix, other))
    if not rows and is_family(matrix, wanted):
        find_instance(matrix, wanted)
    if not rows:
        near = nearest_gpus(matrix, wanted)
        advice = f"did you mean {' or '.join(near)}?" if near else "`envcheck matrix list gpus` lists them"
        if _RUNTIME.fullmatch(wanted):
            advice = f"a runtime is asked for by --cuda or --rocm: --{'rocm' if wanted[0] in 'rR' else 'cuda'} {wanted}"
        raise InputError(
            f"unknown GPU {wanted[:60]!r}", where="--gpu", expected="a product, sm_XY, gfxNNN or a PCI id", hint=advice
        )
    rows = tuple(row for row in rows if wanted.lower() in {row.name.lower(), row.target}) or rows
    row = rows[0]
    if len({row.target for row in rows}) > 1:
        meant = ", ".join(f"{row.name} ({row.target})" for row in rows[:6])
        raise InputError(
            f"GPU {wanted[:60]!r} may be of several kinds",
            where="--gpu",
            expected=f"one of {meant}, by its PCI id or target",
        )
    return Gpu(
        name=row.name, vendor=row.vendor or vendor_of(row.target), target=row.target, pci=row.pci[0] if row.pci else ""
    )
