"""Every error that Dovetail raises on purpose.

    DovetailError
    ├── InvalidParameter (also a ValueError)   a number, bound or option outside what is allowed
    ├── GoalUnreachable                        no noise meets the goal within the limits
    ├── InvalidQuery                           the question itself is not one we can answer
    │   ├── UnsupportedSQL                     a part of the SQL text is outside the closed language
    │   ├── MissingKeys                        the cells of a histogram are not public
    │   ├── MissingPrice                       the question names no accuracy and no price
    │   └── CostlyAnswer                       an accuracy costs much, and nobody typed the price
    ├── BudgetExceeded                         what remains does not cover the request
    │   └── UpdatesExhausted                   an online run has used all the updates it paid for
    ├── DataError                              the source cannot be read
    └── LedgerError
        ├── LedgerCorrupt                      the record does not verify
        ├── LedgerBusy                         another process held the ledger too long
        ├── LedgerUnavailable                  its disk or its server failed
        ├── RequestConflict                    one request key, two different requests
        ├── BudgetMismatch                     the dataset already has another budget
        └── AccessRefused                      a key or a grant is missing, wrong, revoked or over

An error is data: what is wrong, which parameter, what was given, what is allowed, where, and typed remedies.
`str` says it in the words of Python; the command line and the service have words of their own for the same
data, so `problem`, `allowed` and `Advice` name no keyword, option or method. None of them ever holds a
private value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from .values import shown

if TYPE_CHECKING:
    from . import remedies
    from .remedies import Remedy


class Place(NamedTuple):
    """Where in a text something stands; both count from 1."""

    line: int
    column: int


# Remedies and their words load with the first error: most programs raise none.
def _typed(fixes: Iterable[Remedy | str]) -> tuple[Remedy, ...]:
    from .remedies import Advice

    return tuple(Advice(fix) if isinstance(fix, str) else fix for fix in fixes if fix)


def _sentences(problem: str, fixes: Iterable[Remedy]) -> str:
    from .python_words import words

    return " ".join([problem, *map(words, fixes)])


class DovetailError(Exception):
    """The root of every error raised on purpose.

    >>> str(DovetailError("The ledger is locked.", "Try again."))
    'The ledger is locked. Try again.'
    """

    def __init__(
        self,
        problem: str = "",
        *fixes: Remedy | str,
        parameter: str | None = None,
        given: str | None = None,
        allowed: str | None = None,
        place: Place | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.parameter = parameter
        self.given = given
        self.allowed = allowed
        self.place = place
        self.remedies = _typed(fixes)

    @classmethod
    def json_name(cls) -> str:
        """Return the name of this kind of error in JSON."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()

    @property
    def code(self) -> str:
        """The kind of error as a word.

        >>> InvalidQuery("").code
        'invalid-query'
        """
        return self.json_name()

    @property
    def statement(self) -> str:
        """What is wrong, in Python's words."""
        where = "" if self.place is None else f"Line {self.place.line}, column {self.place.column}: "
        return where + self.problem

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form."""
        return {
            "code": self.code,
            "problem": self.problem,
            "parameter": self.parameter,
            "given": self.given,
            "allowed": self.allowed,
            "place": None if self.place is None else self.place._asdict(),
            "remedies": [remedy.to_dict() for remedy in self.remedies],
        }

    def __str__(self) -> str:
        return _sentences(self.statement, self.remedies)

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: the line that was typed and the message, no frame of the package."""
        from traceback import extract_tb, format_list

        inside = os.path.dirname(os.path.dirname(__file__))
        typed = [frame for frame in extract_tb(self.__traceback__) if not frame.filename.startswith(inside)]
        # The frames before it are the notebook's own.
        return [*format_list(typed[-1:]), f"{type(self).__name__}: {self}"]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[DovetailError], args: tuple[Any, ...], fields: dict[str, Any]) -> DovetailError:
    """Rebuild after pickling."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class InvalidParameter(DovetailError, ValueError):
    """A parameter is outside what is allowed.

    >>> str(InvalidParameter("outer", float("nan"), "a finite number above 0", "Give r·epsilon."))
    'outer=nan must be a finite number above 0. Give r·epsilon.'
    """

    def __init__(self, parameter: str, value: object, allowed: str, *fixes: Remedy | str) -> None:
        given = shown(value)
        name = parameter.partition(":")[0]
        problem = f"{name if value is None else f'{name} {given}'} must be {allowed}."
        super().__init__(problem, *fixes, parameter=parameter, given=given, allowed=allowed)

    @property
    def statement(self) -> str:
        """What is wrong, in Python's words."""
        name = str(self.parameter).partition(":")[0]
        return f"{name}={self.given} must be {self.allowed}."


class GoalUnreachable(DovetailError):
    """No noise meets the goal within the limits; the message says how close one can get."""


class InvalidQuery(DovetailError):
    """The question cannot be answered privately in this form."""


class UnsupportedSQL(InvalidQuery):
    """A part of the SQL text is outside the closed language; `place` says where it stands.

    >>> str(UnsupportedSQL("A join cannot be answered.", place=Place(1, 27)))
    'Line 1, column 27: A join cannot be answered.'
    """

    @property
    def line(self) -> int | None:
        """The line in which the refused part begins."""
        return None if self.place is None else self.place.line

    @property
    def column(self) -> int | None:
        """The column at which it begins."""
        return None if self.place is None else self.place.column


class MissingKeys(InvalidQuery):
    """The cells of a histogram were not declared public."""


class MissingPrice(InvalidQuery):
    """The question names no accuracy and no price."""

    def __init__(self, problem: str = "This answer has no price yet.", *fixes: Remedy | str) -> None:
        from .remedies import ChoosePayment

        super().__init__(problem, *(fixes or [ChoosePayment()]))


class CostlyAnswer(InvalidQuery):
    """An accuracy costs much, and the price was not confirmed; nothing was spent."""


class BudgetExceeded(DovetailError):
    """What remains of the budget does not cover the request; nothing was spent."""

    def __init__(
        self, problem: str = "", *fixes: Remedy | str, requested: Any = None, remaining: Any = None
    ) -> None:
        super().__init__(problem, *fixes)
        self.requested = requested
        self.remaining = remaining

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form; both amounts as they print, null where there is none.

        >>> BudgetExceeded("", requested=2).to_dict()["requested"], BudgetExceeded("").to_dict()["remaining"]
        ('2', None)
        """
        amounts = {"requested": self.requested, "remaining": self.remaining}
        return super().to_dict() | {
            name: None if amount is None else str(amount) for name, amount in amounts.items()
        }


class UpdatesExhausted(BudgetExceeded):
    """An online run has used all the updates it paid for; `asked` questions used `updates` of them.

    >>> UpdatesExhausted("All 50 updates are used.", asked=812, updates=50).updates
    50
    """

    def __init__(
        self, problem: str, *fixes: Remedy | str, asked: int | None = None, updates: int | None = None
    ) -> None:
        super().__init__(problem, *fixes)
        self.asked = asked
        self.updates = updates

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form."""
        return super().to_dict() | {"asked": self.asked, "updates": self.updates}


class DataError(DovetailError):
    """The source cannot be read, or is not what its schema says."""


class LedgerError(DovetailError):
    """The ledger cannot do what was asked.

    `kept_at` is where the ledger or its witness is, if the message names it: that is for the operator only.
    """

    def __init__(self, problem: str = "", *fixes: Remedy | str, kept_at: str | None = None) -> None:
        super().__init__(problem, *fixes)
        self.kept_at = kept_at


class LedgerCorrupt(LedgerError):
    """The ledger does not verify; it cannot be used until this is resolved."""


class LedgerBusy(LedgerError):
    """Another process held the ledger for too long; nothing was spent."""


class LedgerUnavailable(LedgerError):
    """The disk or the server that keeps the ledger failed; a charge may have been recorded."""


class RequestConflict(LedgerError):
    """One request key was used for two different requests."""


class BudgetMismatch(LedgerError):
    """The dataset already has another budget."""


class AccessRefused(LedgerError):
    """The caller has no right to ask, or no longer has it; nothing was spent."""


class DovetailWarning(UserWarning):
    """A warning with its remedies.

    >>> str(DovetailWarning("Two names share a budget.", "Use one."))
    'Two names share a budget. Use one.'
    """

    def __init__(self, problem: str, *fixes: Remedy | str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedies = _typed(fixes)

    def __str__(self) -> str:
        return _sentences(self.problem, self.remedies)


class UndecidedUnit(DovetailWarning):
    """A budget was begun that protects rows, and a column may identify persons."""


class StaleAnswer(DovetailWarning):
    """A stored answer was given, and the data have changed since."""


__all__ = [
    "AccessRefused",
    "BudgetExceeded",
    "BudgetMismatch",
    "CostlyAnswer",
    "DataError",
    "DovetailError",
    "DovetailWarning",
    "GoalUnreachable",
    "InvalidParameter",
    "InvalidQuery",
    "LedgerBusy",
    "LedgerCorrupt",
    "LedgerError",
    "LedgerUnavailable",
    "MissingKeys",
    "MissingPrice",
    "Place",
    "RequestConflict",
    "StaleAnswer",
    "UndecidedUnit",
    "UnsupportedSQL",
    "UpdatesExhausted",
    "remedies",
    "shown",
]
