"""Every expected failure and the exit code it ends with; this file is the table of exit codes.

====  ==========================================================================
code  meaning
====  ==========================================================================
0     fine
1     findings at or above ``--fail-on``, or no plan exists (:class:`NoPlanError` where a file was wanted)
2     bad usage or bad input (:class:`InputError`)
3     could not be checked: engine unreachable, device lost (:class:`CannotCheckError`), not known whether a plan
      exists (:class:`UnknownPlanError` where a file was wanted), a file of no known kind (:class:`UnknownKindError`)
130   interrupted (143 by SIGTERM, 129 by SIGHUP), with what was started cleaned up
====  ==========================================================================
"""

from __future__ import annotations

from typing import ClassVar


class EnvcheckError(Exception):
    """Base of the failures that a person can act on; never raised itself."""

    exit_code: ClassVar[int] = 1


class InputError(EnvcheckError):
    """Something the person gave cannot be used.

    Args:
        what: what was wrong, in one clause.
        where: file, and line, row or key, or the option, that it was found in.
        expected: what would have been accepted.
        hint: what to type next.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, what: str, *, where: str = "", expected: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.expected, self.hint = what, where, expected, hint

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        tail = [f"expected {self.expected}"] if self.expected else []
        return "; ".join([head, *tail, *([self.hint] if self.hint else [])])


class InputErrors(InputError):
    """Several faults of one input, reported together so that nobody mends them one run at a time."""

    def __init__(self, faults: list[InputError]) -> None:
        expected = "; ".join(dict.fromkeys(fault.expected for fault in faults if fault.expected))
        super().__init__(f"{len(faults)} faults" if len(faults) != 1 else "1 fault", expected=expected)
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


class UnknownKindError(InputError):
    """A file of no kind that can be checked: nothing is wrong with it, and nothing is known of it."""

    exit_code: ClassVar[int] = 3


class NoPlanError(EnvcheckError):
    """No single plan exists where one was needed; the message is the explanation."""

    exit_code: ClassVar[int] = 1


class UnknownPlanError(NoPlanError):
    """Whether a plan exists is not known; the message says what is missing."""

    exit_code: ClassVar[int] = 3


class CannotCheckError(EnvcheckError):
    """The question is fine but could not be answered here; says why and what would make it answerable."""

    exit_code: ClassVar[int] = 3

    def __init__(self, why: str, *, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint

    def __str__(self) -> str:
        return f"{self.why}; {self.hint}" if self.hint else self.why
