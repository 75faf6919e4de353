"""Running questions side by side without ever waiting for one that hangs.

The standard library's executors wait for their workers when the program ends; a worker that is stuck in a driver would
keep it alive for ever. Daemon threads do not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_STACK: Final = 1 << 20  # bytes


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
    _start(threads.values())
    for key, thread in threads.items():
        left = until - time.monotonic()
        if thread.ident is not None and thread.is_alive():
            thread.join(None if left == float("inf") else max(0.0, left))
        if not thread.is_alive() and key in answers:
            yield key, answers[key]
    if slips:
        raise slips[0]


def _start(threads: Iterable[threading.Thread]) -> None:
    """Start all; where the system gives no more threads, the question is asked here and now.

    No detector calls deeper than a small stack holds, and the usual one of 8 MiB each is more than a small machine has.
    """
    usual = threading.stack_size(_STACK)
    try:
        for thread in threads:
            try:
                thread.start()
            except (RuntimeError, MemoryError):  # the interpreter's word for EAGAIN
                thread.run()
    finally:
        threading.stack_size(usual)
