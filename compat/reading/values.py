"""Readers of single values: what stands right of a label -> claims.

A reader takes a :class:`~compat.reading.page.Pair` and yields claims without line and program; it yields nothing when
the value is a placeholder (``N/A``, ``Could not collect``, an unfilled template).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from compat import versions
from compat.facts import Build
from compat.reading.claims import Claim, Weight
from compat.reading.systems import architecture, platform, spelling, split_architecture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from compat.reading.page import Pair

    Reader = Callable[[Pair], Iterator[Claim]]

# What programs and people write where there is no value.
EMPTY: Final = frozenset({
    "", "n/a", "na", "none", "null", "no", "yes", "true", "false", "unknown", "could not collect", "no cuda",
    "not found",
    "not installed", "not available", "not installed (na)", "_no response_", "no response", "<fill in>",
    "<fill>", "fill in",
    "not set", "<not set>", "module not found", "none - invalid!", "not applicable", "not used", "todo", "-",
    "?", "cpu",
    "auto", "undefined", "failed", "disabled", "enabled",
})  # fmt: skip

DOTTED = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)(?![\d])")
PACKAGE_VERSION = re.compile(
    r"v?(\d+(?:\.\d+)*(?:[._-]?(?:a|b|rc|alpha|beta)[._-]?\d*(?![a-z]))?(?:[._-]?(?:post|dev|nightly)[._-]?\d*)*"
    r"(?:\+[A-Za-z0-9_.\-]+)?)"
)
_BARE_SYSTEMS: Final = frozenset({"linux", "windows", "macos", "mac", "darwin", "mac os", "win", "unix", "gnu/linux"})
_PYTHON = re.compile(r"(?<![\w.])v?([23]\.\d{1,2}(?:\.\d{1,2})?(?:rc\d+|[ab]\d+)?)(?![\d])")
_LINUX = re.compile(
    r"Linux-(?P<kernel>\d[^\s'\",]*)-(?P<arch>x86_64|aarch64|ppc64le|arm64|armv7l|riscv64|s390x|AMD64)"
    r"(?:-with-(?P<libc>[^\s'\",)]+))?"
)
_MAC = re.compile(r"macOS-(?P<release>\d+(?:\.\d+)*)-(?P<arch>arm64|x86_64)")
_DARWIN = re.compile(r"Darwin-(?P<kernel>\d+(?:\.\d+)+)-(?P<arch>arm64|x86_64)")
_WINDOWS = re.compile(r"Windows-(?P<release>\d+)-\d")
_UNAME_RESULT = re.compile(r"(system|release|machine)='([^']*)'?")
_GLIBC = re.compile(r"(?:glibc|GLIBC)[ -]?(\d+\.\d+)")


def empty(text: str) -> bool:
    """Whether a value says that there is none."""
    return text.strip(" .*_`\"'").lower() in EMPTY


def dotted(text: str) -> str:
    """The first dotted number of ``text``; empty if there is none."""
    found = DOTTED.search(text)
    return found.group(1) if found else ""


def _taking(fact: str, of: Callable[[str], str], weight: Weight, key: str = "") -> Reader:
    """A reader of what a function makes of the value; of nothing it makes no claim."""

    def read(pair: Pair) -> Iterator[Claim]:
        if found := of(pair.value):
            yield Claim(fact, found, key=key, weight=weight)

    return read


def text(fact: str, weight: Weight = Weight.RUNNING) -> Reader:
    """A reader that takes the value as it stands."""
    return _taking(fact, lambda value: "" if empty(value) else value, weight)


def number(fact: str, weight: Weight = Weight.RUNNING) -> Reader:
    """A reader of the first dotted number in the value."""
    return _taking(fact, lambda value: "" if empty(value) else dotted(value), weight)


def first(fact: str, weight: Weight = Weight.RUNNING) -> Reader:
    """A reader of a dotted number that the value must begin with."""

    def read(pair: Pair) -> Iterator[Claim]:
        found = DOTTED.match(pair.value.removeprefix("cuda_"))
        if found and found.group(1) != "0.0":
            yield Claim(fact, found.group(1), weight=weight)

    return read


def package_version(value: str) -> str:
    """The package version that ``value`` begins with, as printed; empty if it begins otherwise."""
    found = PACKAGE_VERSION.match(value.strip(" '\"(=v"))
    return found.group(1).rstrip(".-_+") if found else ""


def package(name: str, weight: Weight = Weight.RUNNING) -> Reader:
    """A reader of one package's version."""
    return _taking("packages", package_version, weight, name)


def packages(*names: str, weight: Weight = Weight.RUNNING) -> dict[str, Reader]:
    """Readers for programs that label a version with the package's own name."""
    return {name.lower(): package(name, weight) for name in names}


def python(pair: Pair) -> Iterator[Claim]:
    """``3.8.10 (default, ...) [GCC 9.4.0] (64-bit runtime)`` or pandas' ``3.12.7.final.0``."""
    if found := _PYTHON.search(pair.value[:80]):
        yield Claim("python", found.group(1))


def system(pair: Pair) -> Iterator[Claim]:
    """An operating system's own name, with its architecture in parentheses."""
    yield from system_claims(pair.value)


def system_claims(value: str) -> Iterator[Claim]:
    """Name, tag, platform and architecture that an operating-system line states."""
    value = value.strip(" \"'")
    if empty(value):
        return
    if value.startswith("arch="):  # SD.Next's fields (installer.py, get_platform)
        fields = dict(re.findall(r"(\w+)=(\S+)", value))
        value = f"{fields.get('system', '')} {fields['arch']}" if "arch" in fields else ""
    printed, arch = split_architecture(value)
    if tag := spelling(printed):
        yield Claim("os", tag)
    if not printed.lower().startswith(("linux-", "posix", "nt")) and printed.lower() not in _BARE_SYSTEMS:
        yield Claim("os_name", printed)
    if kind := platform(printed):
        yield Claim("platform", kind, weight=Weight.HINT)
    if arch:
        mac = kind == "darwin" and arch == "arm64"
        yield Claim("arch", "arm64" if mac else architecture(arch))
    if not tag and "Linux-" in value:
        yield from platform_claims(value)


def platform_string(pair: Pair) -> Iterator[Claim]:
    """Python's ``platform.platform()``: ``Linux-5.15.0-134-generic-x86_64-with-glibc2.35``."""
    yield from platform_claims(pair.value)


def platform_claims(value: str) -> Iterator[Claim]:
    """Kernel, architecture and C library that a platform string states."""
    if found := _LINUX.search(value):
        yield from kernel_claims(found["kernel"])
        yield Claim("arch", architecture(found["arch"]))
        libc = found["libc"] or ""
        if glibc := _GLIBC.match(libc):
            yield Claim("glibc", glibc.group(1), weight=Weight.HINT)
        elif tag := spelling(libc.replace("-", " ")):
            yield Claim("os", tag, weight=Weight.HINT)
    elif found := _MAC.search(value):
        yield Claim("os", f"macos{found['release']}", weight=Weight.HINT)
        yield Claim("platform", "darwin")
        yield Claim("arch", found["arch"])
    elif found := _DARWIN.search(value):
        yield Claim("platform", "darwin")
        yield Claim("kernel", found["kernel"])
        yield Claim("arch", found["arch"])
    elif found := _WINDOWS.search(value):
        yield Claim("platform", "windows")
        yield Claim("os", f"windows{found['release']}", weight=Weight.HINT)
    elif "uname_result(" in value:
        yield from uname_claims(value)


def arch(weight: Weight = Weight.RUNNING) -> Reader:
    """A reader of an architecture alone, ``x86_64`` or docker's ``amd64``; a second word is another field's."""
    return _taking("arch", lambda value: architecture(value.partition(" ")[0]), weight)


def kernel(pair: Pair) -> Iterator[Claim]:
    """A kernel release alone, ``5.15.0-91-generic``, with or without the word Linux before it."""
    if found := re.match(r"(?:Linux )?(\d+\.\d+\.\d+\S*)", pair.value):
        yield from kernel_claims(found.group(1))


def kernel_claims(release: str, weight: Weight = Weight.RUNNING) -> Iterator[Claim]:
    """A kernel release, and the platform it betrays (WSL signs its kernels)."""
    yield Claim("kernel", release, weight=weight)
    yield Claim("platform", platform(release) or "linux", weight=Weight.LISTED)
    if "tegra" in release:
        yield Claim("arch", "aarch64", weight=Weight.HINT)


def uname_claims(value: str) -> Iterator[Claim]:
    """Python's ``platform.uname()``: ``uname_result(system='Linux', ..., machine='x86_64')``."""
    fields = dict(_UNAME_RESULT.findall(value))
    system_name = fields.get("system", "Linux")
    if fields.get("release") and system_name == "Linux":
        yield from kernel_claims(fields["release"])
    elif kind := platform(system_name):
        yield Claim("platform", kind)
    if arch := architecture(fields.get("machine", "")):
        yield Claim("arch", "arm64" if system_name == "Darwin" and arch == "aarch64" else arch)


def libc(pair: Pair) -> Iterator[Claim]:
    """``glibc-2.35`` or paddle's ``glibc 2.27``."""
    if found := _GLIBC.search(pair.value):
        yield Claim("glibc", found.group(1))
        yield Claim("libc", "glibc")
    elif "musl" in pair.value.lower():
        yield Claim("libc", "musl")


def env(pair: Pair) -> Iterator[Claim]:
    """A variable that a program prints under its own name."""
    if not empty(pair.value):
        name = pair.label.removesuffix(" set to").upper()
        yield Claim("env", pair.value, key=name)


def runtime(kind: str, package_name: str = "torch", weight: Weight = Weight.RUNNING) -> Reader:
    """A reader of the CUDA or ROCm release that a framework was built for (``kind`` is ``cuda`` or ``rocm``)."""

    def read(pair: Pair) -> Iterator[Claim]:
        if claim := build_claim(kind, pair.value, package_name):
            yield replace(claim, weight=weight)

    return read


def build_claim(kind: str, value: str, package_name: str = "torch") -> Claim | None:
    """``("cuda", "10.1.243")`` -> runtime ``cuda10.1``: a build serves its whole minor series."""
    found = DOTTED.match(value.strip())
    if found is None:
        return None
    release = ".".join(found.group(1).split(".")[:2])
    return Claim("builds", Build(runtime=f"{kind}{release}"), key=package_name)


def hip_version(pair: Pair) -> Iterator[Claim]:
    """``6.3.42133-1b9c17779`` -> the HIP runtime's number."""
    if (value := dotted(pair.value)) and value != "0.0":
        yield Claim("hip", value)


def hip_build(pair: Pair) -> Iterator[Claim]:
    """HIP's number of a build of torch, ``5.1.20531-cacfa990``; its first two parts are the ROCm release."""
    if claim := build_claim("rocm", pair.value):
        yield claim
        yield from hip_version(pair)


def packed(fact: str, weight: Weight = Weight.RUNNING) -> Reader:
    """A reader of NVIDIA's packed numbers, or of the dotted ones that other releases print there."""

    def read(pair: Pair) -> Iterator[Claim]:
        found = re.match(r"\d{4,6}\b", pair.value)
        if found:
            yield Claim(fact, versions.unpacked_cuda(int(found.group())), weight=weight)
        elif plain := dotted(pair.value):
            yield Claim(fact, plain, weight=weight)

    return read


def cudnn_packed(pair: Pair) -> Iterator[Claim]:
    """Version of cuDNN as a packed number or a dotted one."""
    if found := re.match(r"\d{4,6}\b", pair.value):
        yield Claim("cudnn", versions.unpacked_cudnn(int(found.group())))
    elif value := dotted(pair.value):
        yield Claim("cudnn", value)


def silent(_pair: Pair) -> Iterator[Claim]:
    """No claims: for labels that only betray a program and state nothing that is a fact here."""
    return iter(())
