"""Measures which releases of a package keep a shared one below a release, by what their metadata requires.

    python scripts/bounds.py protobuf==4.21.0 3.8 ray wandb streamlit

It prints what ``bounded_by`` of the table ``majors`` holds: each package with the releases that do, as one range for
each run of them. A release counts if a Python of the version given can install it; one without a wheel is left out,
for its metadata is known only once it is built.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.markers import default_environment
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parent))

from polite import Client, UnreachableError, UnreadableError
from simple_index import Index, configured_index
from wheel_facts import is_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index_pages import File
    from packaging.tags import Tag

CACHE = Path.home() / ".cache" / "envcheck-bounds"


def keeps_below(metadata: str, name: str, later: list[str], python: str) -> bool | None:
    """Whether the metadata of a wheel admits none of the later releases; ``None`` if this Python is too old.

    Raises:
        InvalidRequirement, InvalidSpecifier: a line of it is none.
    """
    here = {key: str(value) for key, value in default_environment().items()}
    here |= {"python_version": python, "python_full_version": f"{python}.9", "extra": ""}
    kept = False
    for line in metadata.partition("\n\n")[0].splitlines():
        key, _, value = line.partition(": ")
        if key == "Requires-Python" and not SpecifierSet(value).contains(f"{python}.9"):
            return None
        if key == "Requires-Dist":
            each = Requirement(value)
            if canonicalize_name(each.name) == name and (each.marker is None or each.marker.evaluate(here)):
                kept |= not any(each.specifier.filter(later))
    return kept


def ranges(verdicts: dict[Version, bool]) -> list[str]:
    """The releases that keep it below, as ranges: ``>=1.9,<=2.3.1``; the newest run is left open."""
    runs = [(kept, list(run)) for kept, run in groupby(sorted(verdicts), key=verdicts.__getitem__)]
    return [
        f">={run[0]}" + (f",<={run[-1]}" if place < len(runs) - 1 else "")
        for place, (kept, run) in enumerate(runs)
        if kept
    ]


def wheels(index: Index, package: str) -> Iterator[tuple[File, Version, frozenset[Tag]]]:
    """The wheels of released versions with what their names say."""
    for file in filter(is_wheel, index.files(package)):
        try:
            _, version, _, tags = parse_wheel_filename(file.name)
        except InvalidWheelFilename:
            continue
        if not version.is_prerelease:
            yield file, version, tags


def measured(index: Index, package: str, name: str, later: list[str], python: str) -> list[str]:
    """The ranges of one package; a release whose metadata cannot be read counts for neither side."""
    verdicts: dict[Version, bool] = {}
    own = f"cp{python.replace('.', '')}"
    for file, version, tags in wheels(index, package):
        if version in verdicts or not any(tag.interpreter in {own, "py3"} or tag.abi == "abi3" for tag in tags):
            continue
        try:
            kept = keeps_below(index.metadata(file), name, later, python)
        except (InvalidRequirement, InvalidSpecifier, UnreachableError, UnreadableError):
            continue
        if kept is not None:
            verdicts[version] = kept
    return ranges(verdicts)


def main() -> None:
    """Print the ranges of the packages asked for."""
    shared, python, *packages = sys.argv[1:]
    name, _, first = shared.partition("==")
    index = Index(configured_index(), CACHE, Client())
    later = sorted({str(version) for _, version, _ in wheels(index, name) if version >= Version(first)})
    for package in packages:
        found = measured(index, package, name, later, python)
        print(package, *found, flush=True)


if __name__ == "__main__":
    main()
