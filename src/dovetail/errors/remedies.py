"""What a person can do about an error, as data: each front end has its own table of words for them.

A parameter goes by its name in Python; "spend:delta" and "keys:discover" name one of several forms that its
value can take. A front end that has no such parameter leaves the remedy out.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, dataclass_transform


@dataclass_transform(frozen_default=True)
class Remedy:
    """One thing that a person can do: a frozen value, of the members that its class annotates.

    Every program loads all of these. As dataclasses, each would take half a millisecond to make.

    >>> AskForLess(smaller_delta=True)
    AskForLess(within=None, probability=None, smaller_delta=True)
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        names = self.members()
        given = dict(zip(names, values, strict=False)) | named
        absent = [name for name in names if name not in given and not hasattr(type(self), name)]
        if absent or len(given) != len(values) + len(named) or not given.keys() <= set(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names) or 'nothing'}")
        vars(self).update(given)

    @classmethod
    def members(cls) -> tuple[str, ...]:
        """Return the names of what this kind of remedy holds."""
        return tuple(cls.__annotations__)

    @classmethod
    def json_name(cls) -> str:
        """Return the name of this kind of remedy in JSON."""
        return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form.

        >>> LeaveOut("clamp").to_dict()
        {'remedy': 'leave-out', 'parameter': 'clamp'}
        """
        return {"remedy": self.json_name()} | {name: _plain(value) for name, value in self._held()}

    def _held(self) -> tuple[tuple[str, Any], ...]:
        return tuple((name, getattr(self, name)) for name in self.members())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._held())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remedy) and type(self) is type(other) and self._held() == other._held()

    def __hash__(self) -> int:
        return hash((type(self), self._held()))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a remedy is frozen: {name} cannot be set")


def _plain(value: object) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)


class Advice(Remedy):
    """A sentence that is as good in one front end as in another: it names no parameter, method or command."""

    text: str


class Give(Remedy):
    """Give a parameter, or one of several."""

    parameters: tuple[str, ...]

    def __init__(self, *parameters: str) -> None:
        super().__init__(parameters)


class Spend(Remedy):
    """Name this epsilon as the price."""

    epsilon: str


class LeaveOut(Remedy):
    """Leave a parameter out."""

    parameter: str


class KeepOne(Remedy):
    """Keep one of several parameters."""

    parameters: tuple[str, ...]


class DidYouMean(Remedy):
    """Another word is close to the one that was given."""

    word: str


class ChoosePayment(Remedy):
    """Say how the answer is paid."""


class ProtectPersons(Remedy):
    """Say which column identifies persons, when the data are opened."""


class Declare(Remedy):
    """Declare something of a column in the schema."""

    column: str
    what: tuple[str, ...]


class DraftSchema(Remedy):
    """Let a schema be proposed from the rows, for the curator to review."""

    data: str | None = None


class Confirm(Remedy):
    """Confirm a column that was drafted, after looking at it."""

    column: str
    schema: str | None = None


class Ask(Remedy):
    """Ask for a statistic of a column: with all of some parameters, or with one of them."""

    statistic: str
    column: str
    all_of: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


class AskForLess(Remedy):
    """Ask for less: what remains pays for an error of `within` with this probability, where that is known."""

    within: Fraction | None = None
    probability: Fraction | None = None
    smaller_delta: bool = False


class SeeContributions(Remedy):
    """Look at how many rows persons have before choosing how many are used."""


class PayKnowingly(Remedy):
    """Ask the same with this price, typed; an epsilon of 1 would buy an error of `within`, where known.

    `answers` is how many are planned and paid for together, if more than one.
    """

    epsilon: str
    within: Fraction | None = None
    probability: Fraction | None = None
    answers: int | None = None


class ShareBudget(Remedy):
    """Say that data are the same as others with a budget, under their name and in their ledger."""

    name: str | None = None
    ledger: str | None = None


class SeePlans(Remedy):
    """Look at the plans that are open, or open another."""


class ChangeBudget(Remedy):
    """Let the curator set another budget."""


class ChooseProtected(Remedy):
    """Say whom a budget protects: persons, whom this column identifies, or single rows."""

    column: str


class DeclareVintage(Remedy):
    """Declare which rows a label means, once for each label."""

    label: str


class CreateLedger(Remedy):
    """Create a ledger where there is none."""


class OpenLedger(Remedy):
    """Open the ledger that is there."""


class VerifyLedger(Remedy):
    """Check the ledger, which shows its head."""


class MigrateLedger(Remedy):
    """Bring a ledger of an older version to this one."""


class StartWitness(Remedy):
    """Begin a witness that remembers the ledger's head."""


class Install(Remedy):
    """Install an optional part of the package."""

    extra: str
