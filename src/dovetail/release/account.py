"""What a release needs of whoever keeps the budget; the ledger implements it, `session.py` joins the two."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dovetail.answers.quote import Standing
    from dovetail.privacy import Charge


def canonical_text(data: object) -> str:
    """Return the one JSON text that a request or plan is known by.

    >>> canonical_text({"b": 1, "a": "ü"})
    '{"a":"ü","b":1}'
    """
    return json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Request:
    """One question as the account sees it.

    `body` is the canonical JSON of the typed query, its noise and its neighbours: two requests are the same
    exactly when their bodies are equal. `question` is the same without the noise; where it is told, `accepts`
    says of the body of another stored answer to it whether that one will do. `key` is the caller's retry key.
    `fresh` asks for a new answer even when one is stored. `plan` names the plan that pays; then `charge` is
    not added again and `slots` of the plan's answers are used up, all or none (a mean is a sum and a count:
    two). `vintages` are the labels of the rows that are meant, `version` the state of the data (None: as its
    curator last said). With `hold`, the plan is an online run and one of its updates is held until the batch
    ends. `public` is a random identifier for the reservation, where its caller wants to know it beforehand.
    """

    body: str
    charge: Charge
    analyst: str
    key: str | None = None
    fresh: bool = False
    plan: int | None = None
    slots: int = 1
    vintages: tuple[str, ...] = ()
    version: str | None = None
    hold: bool = False
    public: str | None = None
    question: str | None = None
    accepts: Callable[[str], bool] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Reservation:
    """Permission to touch the data: the charge is already recorded as spent.

    `attempt` counts who took it over after a lease was over; `public` is what outsiders may see of it.
    `begun` is when, by the clock of this process.
    """

    id: int
    attempt: int = 1
    public: str = ""
    begun: float = field(default_factory=monotonic, compare=False)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer given before; it costs nothing to give it again.

    It is `stale` when the data have another `version` now than the one that it is about; where one of the
    two has none (not `versioned`), nobody knows. `body` is that of the request that was answered,
    `public` what its analyst may call it; None where that is somebody else. `standing` is where the budget
    stood when it was found, if that was looked up with it.
    """

    body: str
    answer: str
    answered_at: datetime
    version: str | None = None
    stale: bool = False
    versioned: bool = True
    public: str | None = None
    standing: Standing | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PlanState:
    """A plan as the account keeps it: paid once, `left` of `slots` answers still to give.

    `vintages` are the labels of the rows that it is for, none for all of them.
    """

    id: int
    body: str
    charge: Charge
    slots: int
    left: int
    name: str | None = None
    public: str = ""
    shared: bool = False
    vintages: tuple[str, ...] = ()


class Account(Protocol):
    """One dataset's budget, kept durably."""

    @property
    def secret(self) -> bytes:
        """The dataset's own key, fixed for its life: it decides which rows of a person are used."""

    def standing(self, plans_of: str | None = None) -> Standing:
        """Return the budget and everything charged so far, as they stood at one moment.

        Unanswered reservations are charged too. With `plans_of`, also the plans that this analyst may use.
        """

    def reserve(self, request: Request) -> Reservation | StoredAnswer:
        """Charge the request durably, or return the stored answer to the same question.

        Raises BudgetExceeded (nothing is spent), RequestConflict or LedgerBusy.
        """

    def stored(self, request: Request) -> StoredAnswer | None:
        """Return the stored answer that the request would get, without reserving anything."""

    def settle_with_standing(
        self, reservation: Reservation, answer: str, plans_of: str | None = None
    ) -> tuple[datetime, Standing]:
        """Store the noised answer (JSON) durably; only then may it be shown.

        Return its date, and what `standing` told at that moment.
        """

    def fail(self, reservation: Reservation, reason: str) -> None:
        """Record that no answer was given. The charge stays; `reason` names no value."""

    def abandon(self, public: str) -> None:
        """Record that no answer was given to what was reserved under an identifier, if anything is open."""

    def open_plan(
        self,
        body: str,
        charge: Charge,
        slots: int,
        analyst: str,
        *,
        name: str | None = None,
        shared: bool = False,
    ) -> PlanState:
        """Charge a plan of `slots` answers at once; unused slots are not refunded.

        The same body, slots, analyst and name give the same plan, charged once; a `shared` one is everyone's.
        """
