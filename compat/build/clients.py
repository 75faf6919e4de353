"""Which ``docker`` on this machine can do what: its command line is how images are built."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from compat import versions
from compat.errors import CannotCheckError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compat.run import Runner


def client(run: Runner, *, buildkit: bool, buildx: bool = False) -> tuple[str, ...]:
    """The words that start a build: ``("docker", "build")`` or ``("docker", "buildx", "build")``.

    Docker's client carried BuildKit itself; a later one needs the buildx plugin for it. Every ``docker`` on PATH is
    asked, because a machine may have both kinds.

    ``buildx``: whether the plugin itself is needed (several platforms, attestations, cache export).

    Raises:
        CannotCheckError: if there is no such client, with what to install.
    """
    found = list(_executables())
    if not found:
        raise CannotCheckError("there is no docker command on PATH", hint="install Docker Engine or its client")
    if not buildkit and not buildx:
        return (found[0], "build")
    for path in found:
        if run([path, "buildx", "version"], timeout=20).ok:
            return (path, "buildx", "build", "--load") if not buildx else (path, "buildx", "build")
        if not buildx and _carries_buildkit(run, path):
            return (path, "build")
    raise CannotCheckError(
        "no docker client here has BuildKit" if not buildx else "this needs the buildx plugin, which is not installed",
        hint="install the docker-buildx plugin" + ("" if buildx else ", or build with --builder classic"),
    )


def _executables() -> Iterator[str]:
    """Every ``docker`` on PATH, each folder asked once; relative folders may be anybody's and do not count."""
    for folder in dict.fromkeys(os.environ.get("PATH", "").split(os.pathsep)):
        path = Path(folder) / "docker"
        if path.is_absolute() and path.is_file() and os.access(path, os.X_OK):
            yield str(path)


def _carries_buildkit(run: Runner, path: str) -> bool:
    """Whether the client's own version is one that still has BuildKit inside."""
    from compat.matrix import matrix

    words = run([path, "--version"], timeout=20).out.replace(",", " ").split()
    number = next((word for word in words if word[:1].isdigit()), "")
    return bool(number) and not versions.at_least(number, matrix().turn("docker-buildx").version)
