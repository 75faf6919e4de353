"""Build hook of the wheel: puts the matrix, its compiled form, the templates and the schemas into ``compat/_data``.

The top-level folders keep their names in the repository; an editable install reads them there, so nothing is copied
for it. Runs in the isolated build environment, which has the standard library and hatchling alone (hatchling brings
tomli where the standard library has no TOML reader).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class DataHook(BuildHookInterface):  # type: ignore[type-arg]  # generic only for type checkers
    """Force-includes what lies outside the package; hatchling calls it once per wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the data, unless the install is editable (``version`` says so)."""
        if version == "editable":
            return
        root = Path(self.root)
        include = build_data["force_include"]
        for path in (*sorted((root / "matrix").glob("*.toml")), root / "matrix" / "observed"):
            include[str(path)] = f"compat/_data/matrix/{path.name}"
        include[str(root / "dockerfiles")] = "compat/_data/dockerfiles"
        include[str(root / "docs" / "schemas")] = "compat/_data/docs/schemas"
        for name, text in sorted(compiled(root).items()):
            include[str(self._write(name, text))] = f"compat/_data/compiled/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was compiled, once it is in the wheel."""
        if self._folder is not None:
            self._folder.cleanup()

    _folder: tempfile.TemporaryDirectory[str] | None = None

    def _write(self, name: str, text: str) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="envcheck-matrix-")
        path = Path(self._folder.name) / name
        path.write_text(text, "utf-8")
        return path


def compiled(root: Path) -> dict[str, str]:
    """The compiled matrix of a checkout: file name -> JSON text."""
    sys.path.insert(0, str(root))
    try:
        from compat.matrix import store
    finally:
        sys.path.remove(str(root))
    return store.compile_files((root / "matrix").glob("*.toml"))
