"""YAML read with the line of every value, aliases and merge keys followed, and nothing constructed.

PyYAML's composer gives nodes with marks; tags are ignored, so no document can make an object.
"""

from __future__ import annotations

from typing import Any, Final

from compat.errors import InputError
from compat.lazy import dataclass

_DEPTH: Final = 40


@dataclass(frozen=True, slots=True)
class Located:
    """A value and the line (from 1) it stands on: a text, a list of these, or a table of these.

    ``plain``: whether it stands without quotes, so that what looks like a number is one.
    """

    value: Any
    line: int
    plain: bool = False

    def get(self, key: str) -> Located:
        """The entry of a table; an empty one if there is none."""
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found if found is not None else Located(None, self.line)

    def items(self) -> list[Located]:
        """The entries of a list; a single value counts as a list of one."""
        if isinstance(self.value, list):
            return self.value
        return [] if self.value is None or isinstance(self.value, dict) else [self]

    def table(self) -> dict[str, Located]:
        """The entries of a table; empty if it is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def text(self) -> str:
        """The value as text, empty for anything that is not a scalar."""
        return self.value if isinstance(self.value, str) else ""


def read_yaml(text: str, where: str) -> Located:
    """The one document of a YAML text.

    Raises:
        InputError: naming line and column, if it is not YAML, or if it nests deeper than any real file.
    """
    return next(iter(_documents(text, where, several=False)), Located(None, 1))


def read_documents(text: str, where: str) -> tuple[Located, ...]:
    """All documents of a YAML text.

    Raises:
        InputError: as above.
    """
    return _documents(text, where, several=True)


def _documents(text: str, where: str, *, several: bool) -> tuple[Located, ...]:
    import yaml

    try:
        found = yaml.compose_all(text, yaml.SafeLoader) if several else [yaml.compose(text, yaml.SafeLoader)]
        nodes = [node for node in found if node is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise InputError(f"not valid YAML: {error.problem}", where=place) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"not valid YAML: {str(error).splitlines()[0]}", where=where) from None
    return tuple(_located(node, {}, 0, where) for node in nodes)


def _located(node: Any, seen: dict[int, Located], depth: int, where: str) -> Located:
    """The node with its lines; a node that several aliases share is read once, so a bomb of aliases stays small."""
    if id(node) in seen:
        return seen[id(node)]
    line = node.start_mark.line + 1
    if depth > _DEPTH:
        raise InputError("nests too deeply", where=f"{where}:{line}")
    seen[id(node)] = Located(None, line)  # an alias to a node inside itself ends here
    if node.id == "scalar":
        value: Any = node.value if node.value not in {"", "~", "null"} or node.style else None
    elif node.id == "sequence":
        value = [_located(item, seen, depth + 1, where) for item in node.value]
    else:
        value = _mapping(node, seen, depth, where)
    seen[id(node)] = Located(value, line, node.id == "scalar" and not node.style)
    return seen[id(node)]


def _mapping(node: Any, seen: dict[int, Located], depth: int, where: str) -> dict[str, Located]:
    """A mapping's keys with their lines; merge keys (``<<``) are laid under the mapping's own."""
    table: dict[str, Located] = {}
    for key, item in node.value:
        found = _located(item, seen, depth + 1, where)
        if key.value == "<<":
            for merged in found.items() or [found]:
                table = {**merged.table(), **table}
        elif isinstance(key.value, str):
            table[key.value] = found
    return table
