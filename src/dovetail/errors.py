"""Every error that Dovetail raises on purpose.

    DovetailError
    ├── InvalidParameter (also a ValueError)   a number, bound or option outside what is allowed
    ├── GoalUnreachable                        no noise meets the goal within the limits
    ├── InvalidQuery                           the question itself is not one we can answer
    │   ├── UnsupportedSQL                     a part of the SQL text is outside the closed language
    │   ├── MissingKeys                        the cells of a histogram are not public
    │   └── MissingPrice                       nothing says how the answer is paid for
    ├── BudgetExceeded                         what remains does not cover the request
    │   └── UpdatesExhausted                   an online run has used all the updates it paid for
    ├── DataError                              the source cannot be read
    └── LedgerError
        ├── LedgerCorrupt                      the record does not verify
        ├── LedgerBusy                         another process held the ledger too long
        ├── RequestConflict                    one request key, two different requests
        ├── BudgetMismatch                     the dataset already has another budget
        └── AccessRefused                      a key or a grant is missing, wrong, revoked or over

A message says what was given, what is allowed and what to do next, and never holds a private value.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

_LONGEST_SHOWN = 80


class DovetailError(Exception):
    """The root of every error raised on purpose."""


def shown(value: object) -> str:
    """Return `repr(value)`, cut where a hostile value would fill the screen."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"an integer of about {value.bit_length() * 30103 // 100000} digits"
    try:
        text = _decimal(value) if isinstance(value, Fraction) else repr(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def _decimal(value: Fraction) -> str:
    """Return an exact number as a person writes it: a decimal where that is exact."""
    short = repr(float(value)) if abs(value) < 10**300 else ""
    return short if short and Fraction(short) == value else str(value)


class InvalidParameter(DovetailError, ValueError):
    """A parameter is outside what is allowed.

    >>> str(InvalidParameter("outer", float("nan"), "a finite number above 0", "Give r·epsilon."))
    'outer=nan must be a finite number above 0. Give r·epsilon.'
    """

    def __init__(self, name: str, value: object, allowed: str, fix: str = "") -> None:
        super().__init__(name, value, allowed, fix)
        self.name = name
        self.allowed = allowed
        self.fix = fix
        self._shown = shown(value)

    def __str__(self) -> str:
        return f"{self.name}={self._shown} must be {self.allowed}. {self.fix}".rstrip()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_parameter, (self.name, self._shown, self.allowed, self.fix)


def _restored_parameter(name: str, value_shown: str, allowed: str, fix: str) -> InvalidParameter:
    """Rebuild after pickling; the value itself may not survive the trip, what was shown of it does."""
    error = InvalidParameter(name, None, allowed, fix)
    error._shown = value_shown
    return error


class GoalUnreachable(DovetailError):
    """No noise meets the goal within the limits; the message says how close one can get."""


class InvalidQuery(DovetailError):
    """The question is not one that can be answered privately as it stands."""


class UnsupportedSQL(InvalidQuery):
    """A part of the SQL text is outside the closed language; `line` and `column` say where it stands.

    >>> str(UnsupportedSQL("A join cannot be answered.", 1, 27))
    'Line 1, column 27: A join cannot be answered.'
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message, line, column)
        self.line = line
        self.column = column

    def __str__(self) -> str:
        place = "" if self.line is None else f"Line {self.line}, column {self.column}: "
        return f"{place}{self.args[0]}"


class MissingKeys(InvalidQuery):
    """The cells of a histogram were not declared public."""


class MissingPrice(InvalidQuery):
    """Nothing says how the answer is paid for."""


class BudgetExceeded(DovetailError):
    """What remains of the budget does not cover the request; nothing was spent."""

    def __init__(self, message: str, requested: Any = None, remaining: Any = None) -> None:
        super().__init__(message, requested, remaining)
        self.requested = requested
        self.remaining = remaining

    def __str__(self) -> str:
        return str(self.args[0])


class UpdatesExhausted(BudgetExceeded):
    """An online run has used all the updates it paid for; `asked` questions used `updates` of them.

    >>> UpdatesExhausted("All 50 updates are used.", asked=812, updates=50).updates
    50
    """

    def __init__(self, message: str, asked: int | None = None, updates: int | None = None) -> None:
        super().__init__(message, asked, updates)
        self.asked = asked
        self.updates = updates


class DataError(DovetailError):
    """The source cannot be read, or is not what its schema says."""


class LedgerError(DovetailError):
    """The ledger cannot do what was asked."""


class LedgerCorrupt(LedgerError):
    """The ledger does not verify; it is not used until its keeper has looked."""


class LedgerBusy(LedgerError):
    """Another process held the ledger for too long; nothing was spent."""


class RequestConflict(LedgerError):
    """One request key was used for two different requests."""


class BudgetMismatch(LedgerError):
    """The dataset already has another budget."""


class AccessRefused(LedgerError):
    """Whoever asks has no right to, or not any more; nothing was spent."""
