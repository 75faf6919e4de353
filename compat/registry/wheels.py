"""What the file name of a wheel says (PEP 425, PEP 600): for which platforms and Pythons it is."""

from __future__ import annotations

import re
from typing import Final

_LEGACY: Final = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}  # PEP 513, 571, 599


def platforms(name: str) -> list[str]:
    """Platforms of a wheel with its floor: ``linux_x86_64 2.28``, ``macosx_arm64 11.0``, ``win_amd64``, ``any``.

    Of several manylinux tags on one wheel the loosest counts, as for an installer.
    """
    from packaging.utils import parse_wheel_filename

    found: dict[str, tuple[int, ...]] = {}
    for tag in parse_wheel_filename(name)[3]:
        platform, floor = _platform(tag.platform)
        found[platform] = min(found.get(platform, floor), floor)
    return [f"{platform} {'.'.join(map(str, floor))}".strip() for platform, floor in sorted(found.items())]


def _platform(tag: str) -> tuple[str, tuple[int, ...]]:
    """The platform of a tag, and its floor of glibc or macOS."""
    if found := re.fullmatch(r"manylinux_(\d{1,3})_(\d{1,3})_(\w+)", tag):
        return f"linux_{found[3]}", (int(found[1]), int(found[2]))
    if (found := re.fullmatch(r"(manylinux\d+)_(\w+)", tag)) and found[1] in _LEGACY:
        return f"linux_{found[2]}", _LEGACY[found[1]]
    if found := re.fullmatch(r"macosx_(\d{1,3})_(\d{1,3})_(\w+)", tag):
        return f"macosx_{found[3]}", (int(found[1]), int(found[2]))
    return tag, ()


def pythons(name: str) -> set[str]:
    """Python minors of a wheel: ``3.11``, ``3.13t`` free-threaded, ``3.8+`` for the stable ABI, ``3`` for any."""
    from packaging.utils import parse_wheel_filename

    found = set()
    for tag in parse_wheel_filename(name)[3]:
        parts = re.fullmatch(r"(py|cp)(\d)(\d{0,3})", tag.interpreter)
        if not parts:
            continue  # another implementation
        kind, major, minor = parts.groups()
        if kind == "py":
            found.add(f"{major}.{minor}+" if minor else major)
        else:
            suffix = "+" if tag.abi == "abi3" else "t" if tag.abi.endswith("t") else ""
            found.add(f"{major}.{minor}{suffix}")
    return found
