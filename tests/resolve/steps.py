"""Work counted instead of timed: a count is the same on every machine and under every load."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def calls(work: Callable[[], Any]) -> int:
    """How many Python functions ``work`` calls, itself included; those written in C are not counted."""
    count = 0

    def heed(_frame: Any, event: str, _given: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    gc.disable()  # a collection calls what other libraries hung on it
    sys.setprofile(heed)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count
