"""What rules may ask for that is derived from facts, each made once where a rule names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import compat.rules.stack as stack
import compat.rules.together as together

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from compat.facts import Host
    from compat.matrix import Matrix

# Parameter of ``check`` -> how it is made.
DERIVED: Final[Mapping[str, Callable[[Host, Matrix], Any]]] = {
    "distributions": lambda host, _: stack.packages_of(host),
    "cited": lambda host, _: stack.cited_of(host),
    "installed": stack.installed,
    "device_free": lambda host, _: stack.has_no_device(host),
    "vendors": lambda host, _: stack.vendors_of(host),
    "world": lambda host, _: stack.world(host),
    "pairs": together.pairs,
    "here": together.here,
}
