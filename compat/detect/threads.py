"""Running questions side by side without ever waiting for one that hangs.

The standard library's executors wait for their workers when the program ends; a worker that is stuck in a driver would
keep it alive for ever. Daemon threads do not.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

K = TypeVar("K")
V = TypeVar("V")


def gather(questions: Mapping[K, Callable[[], V]]) -> dict[K, V]:
    """Ask all at once and wait for all; each must come to an end by itself."""
    return dict(answered(questions, float("inf")))


def answered(questions: Mapping[K, Callable[[], V]], until: float) -> Iterator[tuple[K, V]]:
    """Answers that came before ``time.monotonic()`` reached ``until``; what still hangs then is left behind.

    The threads are daemons: one that is stuck in the kernel does not keep the program from ending. An exception is a
    slip of ours and is raised here, in the thread that asked.
    """
    answers: dict[K, V] = {}
    slips: list[Exception] = []

    def work(key: K, question: Callable[[], V]) -> None:
        try:
            answers[key] = question()
        except Exception as error:  # noqa: BLE001 - carried over to the asking thread
            slips.append(error)

    threads = {
        key: threading.Thread(target=work, args=(key, question), daemon=True) for key, question in questions.items()
    }
    for thread in threads.values():
        thread.start()
    for key, thread in threads.items():
        left = until - time.monotonic()
        thread.join(None if left == float("inf") else max(0.0, left))
        if not thread.is_alive() and key in answers:
            yield key, answers[key]
    if slips:
        raise slips[0]
