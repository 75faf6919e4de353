"""A person's own rows over the shipped matrix: private builds, mirrors, internal images, corrections.

An overlay is a matrix file like any other (``matrix/README.md`` has the keys). A row with the key of a shipped row
takes its place; later files win over earlier ones, files named on the command line over the configuration folder's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from compat.errors import InputErrors
from compat.matrix import Matrix, matrix


def user_files(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Overlays of the configuration folder, ``$XDG_CONFIG_HOME/envcheck/matrix/*.toml``, by name."""
    home = environment.get("HOME", "")
    config = environment.get("XDG_CONFIG_HOME", "") or (f"{home}/.config" if home else "")
    # the base directory specification tells programs to ignore a relative path
    if not config or not Path(config).is_absolute():
        return ()
    try:
        return tuple(sorted(Path(config, "envcheck", "matrix").glob("*.toml")))
    except PermissionError:  # the home of somebody else, as of a service: that specification says to pass over it
        return ()


def load(files: Iterable[Path], environment: Mapping[str, str]) -> Matrix:
    """The shipped matrix with the person's overlays and then ``files`` laid over it.

    The shape of every overlay row is checked here; the laws, which need all rows, by ``envcheck matrix check FILE``.

    Raises:
        InputErrors: with every fault of the overlays, each with its file, line and key.
    """
    overlays = (*user_files(environment), *files)
    if overlays:
        from compat.matrix.check import shape_faults

        if faults := shape_faults(overlays):
            raise InputErrors(faults)
    return matrix(*overlays)
