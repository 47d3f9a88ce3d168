"""What a person can do about an error, as data: each front end has its own table of words for them.

A parameter goes by its name in Python; "spend:delta" and "keys:discover" name one of several forms that its
value can take. A front end that has no such parameter leaves the remedy out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class Remedy:
    """One thing that a person can do."""

    @classmethod
    def json_name(cls) -> str:
        """Return the name of this kind of remedy in JSON."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form.

        >>> LeaveOut("clamp").to_dict()
        {'remedy': 'leave-out', 'parameter': 'clamp'}
        """
        return {"remedy": self.json_name()} | {
            each.name: _plain(getattr(self, each.name)) for each in fields(self)
        }


def _plain(value: object) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


@dataclass(frozen=True, slots=True)
class Advice(Remedy):
    """A sentence that is as good in one front end as in another: it names no parameter, method or command."""

    text: str


@dataclass(frozen=True, slots=True)
class Give(Remedy):
    """Give a parameter, or one of several."""

    parameters: tuple[str, ...]

    def __init__(self, *parameters: str) -> None:
        object.__setattr__(self, "parameters", parameters)


@dataclass(frozen=True, slots=True)
class Spend(Remedy):
    """Name this epsilon as the price."""

    epsilon: str


@dataclass(frozen=True, slots=True)
class LeaveOut(Remedy):
    """Leave a parameter out."""

    parameter: str


@dataclass(frozen=True, slots=True)
class KeepOne(Remedy):
    """Keep one of several parameters."""

    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DidYouMean(Remedy):
    """Another word is close to the one that was given."""

    word: str


@dataclass(frozen=True, slots=True)
class ChoosePayment(Remedy):
    """Say how the answer is paid."""


@dataclass(frozen=True, slots=True)
class ProtectPersons(Remedy):
    """Say which column identifies persons, when the data are opened."""


@dataclass(frozen=True, slots=True)
class Declare(Remedy):
    """Declare something of a column in the schema."""

    column: str
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DraftSchema(Remedy):
    """Let a schema be proposed from the rows, for the curator to review."""

    data: str | None = None


@dataclass(frozen=True, slots=True)
class Confirm(Remedy):
    """Confirm a column that was drafted, after looking at it."""

    column: str
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Ask(Remedy):
    """Ask for a statistic of a column: with all of some parameters, or with one of them."""

    statistic: str
    column: str
    all_of: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskForLess(Remedy):
    """Ask for less: what remains pays for an error of `within` with this probability, where that is known."""

    within: Fraction | None = None
    probability: Fraction | None = None
    smaller_delta: bool = False


@dataclass(frozen=True, slots=True)
class SeeContributions(Remedy):
    """Look at how many rows persons have before choosing how many are used."""


@dataclass(frozen=True, slots=True)
class PayKnowingly(Remedy):
    """Ask the same with this price, typed; an epsilon of 1 would buy an error of `within`, where known.

    `answers` is how many are planned and paid for together, if more than one.
    """

    epsilon: str
    within: Fraction | None = None
    probability: Fraction | None = None
    answers: int | None = None


@dataclass(frozen=True, slots=True)
class ShareBudget(Remedy):
    """Say that data are the same as others with a budget, under their name and in their ledger."""

    name: str | None = None
    ledger: str | None = None


@dataclass(frozen=True, slots=True)
class SeePlans(Remedy):
    """Look at the plans that are open, or open another."""


@dataclass(frozen=True, slots=True)
class ChangeBudget(Remedy):
    """Let the curator set another budget."""


@dataclass(frozen=True, slots=True)
class ChooseProtected(Remedy):
    """Say whom a budget protects: persons, whom this column identifies, or single rows."""

    column: str


@dataclass(frozen=True, slots=True)
class DeclareVintage(Remedy):
    """Declare which rows a label means, once for each label."""

    label: str


@dataclass(frozen=True, slots=True)
class CreateLedger(Remedy):
    """Create a ledger where there is none."""


@dataclass(frozen=True, slots=True)
class OpenLedger(Remedy):
    """Open the ledger that is there."""


@dataclass(frozen=True, slots=True)
class VerifyLedger(Remedy):
    """Check the ledger, which shows its head."""


@dataclass(frozen=True, slots=True)
class MigrateLedger(Remedy):
    """Bring a ledger of an older version to this one."""


@dataclass(frozen=True, slots=True)
class StartWitness(Remedy):
    """Begin a witness that remembers the ledger's head."""


@dataclass(frozen=True, slots=True)
class Install(Remedy):
    """Install an optional part of the package."""

    extra: str
