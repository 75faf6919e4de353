"""The matrix's rows as frozen values: this module is the schema of ``matrix/*.toml``.

Every row has ``source`` (ids of the file's ``[sources]`` table), ``how`` it is known, and perhaps a ``note``. A field
annotated ``tuple[str, ...]`` is spelled in TOML as one text with spaces between its items (or as a list, where
an item may contain a space: the fields in :data:`LISTS`), so that a row stays on one line and diffs stay readable.
"""

from __future__ import annotations

from typing import Final

from compat.matrix.rows.base import KEYS, TABLES, Row
from compat.matrix.rows.images import Image, Requirement
from compat.matrix.rows.machines import (
    Accelerator,
    Cache,
    Command,
    Format,
    Instance,
    Interpreter,
    Jetpack,
    Processor,
    Product,
    Sharing,
    System,
)
from compat.matrix.rows.signals import Signal
from compat.matrix.rows.software import (
    Application,
    Build,
    Compiled,
    Conda,
    Confined,
    Days,
    Index,
    Major,
    Misspelt,
    Notice,
    Package,
    Repository,
    Script,
    Turn,
)
from compat.matrix.rows.toolkits import (
    Capability,
    CudaRelease,
    DriverBranch,
    Forward,
    Gfx,
    Intel,
    LibraryRelease,
    RocmRelease,
    Soname,
)

__all__ = [
    "KEYS",
    "LISTS",
    "TABLES",
    "Accelerator",
    "Application",
    "Build",
    "Cache",
    "Capability",
    "Command",
    "Compiled",
    "Conda",
    "Confined",
    "CudaRelease",
    "Days",
    "DriverBranch",
    "Format",
    "Forward",
    "Gfx",
    "Image",
    "Index",
    "Instance",
    "Intel",
    "Interpreter",
    "Jetpack",
    "LibraryRelease",
    "Major",
    "Misspelt",
    "Notice",
    "Package",
    "Processor",
    "Product",
    "Repository",
    "Requirement",
    "RocmRelease",
    "Row",
    "Script",
    "Sharing",
    "Signal",
    "Soname",
    "System",
    "Turn",
    "row_type",
]

# Fields whose items may hold spaces; they are TOML lists.
LISTS: Final = frozenset({"requires", "pins", "examples", "commands"})


def row_type(table: str) -> type[Row]:
    """The row type of a table.

    Raises:
        KeyError: if there is no such table.
    """
    return Build if table.startswith("builds.") else TABLES[table]
