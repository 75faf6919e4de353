"""Names of operating systems: as they print themselves, and in image-tag spelling."""

from __future__ import annotations

import re
from typing import Final

_NUMBER = r"[^\d\n]{0,40}?(\d+(?:\.\d+)?)"
_MAJOR = r"[^\d\n]{0,40}?(\d+)"

# How systems write their name and release; the tag is the name that base images use (``rhel9.4``, ``debian12``).
_SPELLINGS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), tag)
    for pattern, tag in (
        (r"\bx?ubuntu(?:-server)?[ -]*(?:linux|[a-z]{4,8})?[ -]*v?(\d\d\.\d\d)", "ubuntu"),
        (r"\bubuntu[ -]?(\d\d)(04|10)\b", "ubuntu"),
        (r"\bpop!?_?os" + _NUMBER, "pop"),
        (r"\blinux ?mint" + _NUMBER, "linuxmint"),
        (r"\bdebian" + _MAJOR, "debian"),
        (r"\bcentos stream" + _MAJOR, "centos"),
        (r"\bcentos" + _MAJOR, "centos"),
        (r"\b(?:red ?hat enterprise|rhel)" + _NUMBER, "rhel"),
        (r"\brocky(?: linux)?" + _NUMBER, "rocky"),
        (r"\balma ?linux" + _NUMBER, "almalinux"),
        (r"\boracle linux" + _NUMBER, "ol"),
        (r"\bscientific linux" + _MAJOR, "scientific"),
        (r"\bfedora" + _MAJOR, "fedora"),
        (r"\bamazon linux(?: ami)?(?: release)?" + _MAJOR, "amazonlinux"),
        (r"\bopensuse leap" + _NUMBER, "opensuse"),
        (r"\bopensuse tumbleweed()", "opensuse-tumbleweed"),
        (r"\b(?:suse linux enterprise[a-z ]*|sles)[ -]?" + _MAJOR + r"(?: ?sp(\d))?", "sles"),
        (r"\balpine(?: linux)?" + _NUMBER, "alpine"),
        (r"\bopeneuler" + _NUMBER, "openeuler"),
        (r"\b(?:cbl-mariner|azure ?linux)" + _NUMBER, "azurelinux"),
        (r"\btencentos" + _NUMBER, "tencentos"),
        (r"\bnixos" + _NUMBER, "nixos"),
        (r"\bwindows[ -]?server[ -]?(\d{4})", "windowsserver"),
        (r"\bwin(?:dows?)?[ -]?(?:pro |home )?(\d\d?)(?![\d.])", "windows"),
        (r"\bmac ?os(?: ?x)?[ -]*(?:[a-z]+ )?(\d+(?:\.\d+)*)", "macos"),
        (r"\barch ?linux()", "arch"),
        (r"\bmanjaro()", "manjaro"),
    )
)

_ARCHITECTURES: Final = {
    "x86_64": "x86_64", "amd64": "x86_64", "x86-64": "x86_64", "x64": "x86_64",
    "aarch64": "aarch64", "arm64": "aarch64", "ppc64le": "ppc64le", "s390x": "s390x", "riscv64": "riscv64",
    "armv7l": "armv7l", "i686": "i686", "loongarch64": "loongarch64",
}  # fmt: skip

# The kernel that Windows names: 10.0 and a build of five digits, and an update's number.
_WINDOWS_BUILD: Final = re.compile(r"10\.0\.\d{5}(?:\.\d+)?$")
_ASIDE = re.compile(r"\s*\(([^()]*)\)\s*$")


def spelling(text: str) -> str:
    """``"Ubuntu 22.04.5 LTS"`` -> ``"ubuntu22.04"``; empty if the release cannot be told."""
    for pattern, tag in _SPELLINGS:
        if found := pattern.search(text):
            release = ".".join(part for part in found.groups() if part)
            return f"{tag}{release}"
    return ""


def architecture(text: str) -> str:
    """The architecture as Linux names it (macOS keeps its ``arm64``); empty if ``text`` is none."""
    return _ARCHITECTURES.get(text.strip().lower(), "")


def split_architecture(text: str) -> tuple[str, str]:
    """An operating-system line without its parenthesised architecture, and that architecture as printed.

    >>> split_architecture("CentOS Linux 7 (Core) (x86_64)")
    ('CentOS Linux 7 (Core)', 'x86_64')
    """
    found = _ASIDE.search(text)
    if found is None:
        head, _, last = text.strip().rpartition(" ")  # neofetch and fastfetch: ``Ubuntu 22.04.3 LTS x86_64``
        return (head.strip(), last.lower()) if head and last.lower() in _ARCHITECTURES else (text.strip(), "")
    inside = found.group(1).strip().lower()
    if inside in _ARCHITECTURES:
        return text[: found.start()].strip(), inside
    if inside.endswith(("-bit", " bit")):
        return text[: found.start()].strip(), ""
    return text.strip(), ""


def platform(text: str) -> str:
    """``linux``, ``windows``, ``darwin``, ``wsl1`` or ``wsl2`` from a system's name or kernel release."""
    low, known = text.lower(), spelling(text)
    if "microsoft-standard" in low or "wsl2" in low:
        return "wsl2"
    if "-microsoft" in low:
        return "wsl1"
    if "windows" in low or known.startswith("windows") or low == "nt" or _WINDOWS_BUILD.match(low):
        return "windows"
    if "mac" in low or "darwin" in low or low.startswith("os x"):
        return "darwin"
    return "linux" if "linux" in low or known else ""
