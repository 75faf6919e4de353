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

sys.path.insert(0, str(Path(__file__).parent))

from polite import Client, UnreachableError, UnreadableError
from simple_index import Index, configured_index
from wheel_facts import is_wheel

if TYPE_CHECKING:
    from packaging.version import Version

CACHE = Path.home() / ".cache" / "envcheck-bounds"


def keeps_below(metadata: str, shared: Requirement, python: str) -> bool | None:
    """Whether the metadata of a wheel admits no release from the one named on; ``None`` if this Python is too old.

    Raises:
        InvalidRequirement, InvalidSpecifier: a line of it is none.
    """
    first = next(iter(shared.specifier)).version
    here = {**default_environment(), "python_version": python, "python_full_version": f"{python}.9", "extra": ""}
    kept = False
    for line in metadata.partition("\n\n")[0].splitlines():
        name, _, value = line.partition(": ")
        if name == "Requires-Python" and not SpecifierSet(value).contains(f"{python}.9"):
            return None
        if name == "Requires-Dist":
            each = Requirement(value)
            if canonicalize_name(each.name) == shared.name and (each.marker is None or each.marker.evaluate(here)):
                kept |= not each.specifier.contains(first, prereleases=True) and _ends(each.specifier)
    return kept


def _ends(specifier: SpecifierSet) -> bool:
    """Whether a specifier has an upper end at all."""
    return any(item.operator in {"<", "<=", "==", "~="} for item in specifier)


def ranges(verdicts: dict[Version, bool]) -> list[str]:
    """The releases that keep it below, as ranges: ``>=1.9,<=2.3.1``; the newest run is left open."""
    runs = [(kept, list(run)) for kept, run in groupby(sorted(verdicts), key=verdicts.__getitem__)]
    return [
        f">={run[0]}" + (f",<={run[-1]}" if place < len(runs) - 1 else "")
        for place, (kept, run) in enumerate(runs)
        if kept
    ]


def measured(index: Index, package: str, shared: Requirement, python: str) -> list[str]:
    """The ranges of one package; a release whose metadata cannot be read counts for neither side."""
    verdicts: dict[Version, bool] = {}
    for file in filter(is_wheel, index.files(package)):
        try:
            _, version, _, tags = parse_wheel_filename(file.name)
            own = f"cp{python.replace('.', '')}"
            fits = any(tag.interpreter in {own, "py3"} or tag.abi == "abi3" for tag in tags)
            if version in verdicts or version.is_prerelease or not fits:
                continue
            kept = keeps_below(index.metadata(file), shared, python)
        except (InvalidWheelFilename, InvalidRequirement, InvalidSpecifier, UnreachableError, UnreadableError):
            continue
        if kept is not None:
            verdicts[version] = kept
    return ranges(verdicts)


def main() -> None:
    """Print the ranges of the packages asked for."""
    shared, python, *packages = sys.argv[1:]
    index = Index(configured_index(), CACHE, Client())
    for package in packages:
        found = measured(index, package, Requirement(shared), python)
        print(package, *found, flush=True)


if __name__ == "__main__":
    main()
