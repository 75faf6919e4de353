"""Tables of answers: each question is answered once, and a long-lived process does not grow with what it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
V = TypeVar("V")


# Answers that are kept where nobody says how many: more than any matrix asks for.
_MOST: Final = 1 << 16


class Table(dict[K, V], Generic[K, V]):
    """Answers by question, emptied when there are more than ``most``."""

    def __init__(self, most: int = _MOST) -> None:
        super().__init__()
        self._most = most

    def keep(self, question: K, answer: V) -> V:
        """The answer, which is there from now on."""
        if len(self) > self._most:
            self.clear()
        self[question] = answer
        return answer


class Answers(Table[K, V]):
    """Answers by question, each made by ``make`` at the first asking."""

    def __init__(self, make: Callable[[K], V], most: int = _MOST) -> None:
        super().__init__(most)
        self._make = make

    def __missing__(self, question: K) -> V:
        return self.keep(question, self._make(question))
