"""The files of a folder that lint reads: those that git would keep, or all of a plain folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from compat.errors import CannotCheckError
from compat.lazy import pattern

_MOST: Final = 100_000  # names in one folder that is no repository
_SKIPPED: Final = frozenset({"node_modules", "site-packages", "__pycache__", "venv"})
# Names by which people and tools call the kinds of :func:`compat.sources.kind_of`.
_NAMES: Final = pattern(
    r"(?:.*[./_-])?(?:dockerfile|containerfile)|(?:dockerfile|containerfile)[._-](?!(?:py|md|rst|txt|j2|jinja2?|tmpl|json|ya?ml|toml|sh|js|ts|go|rs)$)[\w-]+"
    r"|pipfile(?:\.lock)?|pyproject\.toml|pixi\.toml|cog\.yaml|setup\.(?:py|cfg)|[\w.-]+\.(?:sbatch|slurm)"
    r"|(?:uv|poetry|pdm)\.lock|pylock(?:\.[\w-]+)?\.toml|\.?devcontainer\.json|(?:docker-)?compose(?:[.-][\w.-]+)?\.ya?ml"
    r"|(?:[\w-]*environment|env|conda|conda-lock)[\w-]*\.ya?ml|[\w.-]*(?:requirements|constraints)[\w.-]*\.(?:txt|in)",
    re.IGNORECASE,
)


def expanded(names: Sequence[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The names with each folder replaced by the files below it that lint knows; and which files came from folders.

    Raises:
        CannotCheckError: if a folder holds none.
    """
    files: list[str] = []
    walked: set[str] = set()
    for name in names:
        if name == "-" or not Path(name).is_dir():
            files.append(name)
            continue
        found = [str(Path(name, part)) for part in _below(name) if _is_known(part)]
        if not found:
            raise CannotCheckError(f"{name}: no Dockerfile, requirements, environment, lock or workflow is in it")
        walked.update(found)
        files += found
    return tuple(dict.fromkeys(files)), frozenset(walked)


def _is_known(path: str) -> bool:
    """Whether a name is one of a file that lint reads; any text is in ``requirements``, any YAML among workflows."""
    folder, _, name = path.rpartition("/")
    in_folder = folder.endswith("requirements") and name.endswith((".txt", ".in"))
    in_folder |= folder.endswith(".github/workflows") and name.endswith((".yml", ".yaml"))
    return in_folder or _NAMES.fullmatch(name) is not None


def _below(folder: str) -> Sequence[str]:
    """Paths of the files below a folder, relative to it, sorted.

    Git knows what a repository ignores. It is asked with its monitor off, which a repository could make a program of
    its own (git-config, ``core.fsmonitor``).
    """
    from compat import run

    git = run.which("git")
    words = ["-c", "core.fsmonitor=false", "-C", os.path.realpath(folder)]
    listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    outcome = run.run([git, *words, *listing], timeout=30.0) if git else None
    if outcome is not None and outcome.ok:
        told: Iterable[str] = (path for path in outcome.out.split("\0") if path)
        return sorted({path for path in told if Path(folder, path).is_file()})
    return sorted(_walked(Path(folder)))


def _walked(folder: Path) -> Iterator[str]:
    """Files of a folder that is no repository; environments, packages and hidden folders are passed over."""
    left = _MOST
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if _is_own(Path(place), one))
        left -= len(files)
        if left < 0:
            return
        yield from (Path(place, name).relative_to(folder).as_posix() for name in files)


def _is_own(place: Path, name: str) -> bool:
    hidden = name.startswith(".") and name not in {".devcontainer", ".github"}
    return not hidden and name not in _SKIPPED and not (place / name / "pyvenv.cfg").is_file()
