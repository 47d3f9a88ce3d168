"""How an answer is paid, and the session that pays for it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.check import integer, rational
from dovetail.errors import InvalidParameter, InvalidQuery, MissingPrice

from .budgets import read_budget
from .noises import read_noise
from .places import ledger_of
from .screen import note, working

if TYPE_CHECKING:
    from dovetail.ledger import Ledger
    from dovetail.noise import Noise
    from dovetail.privacy import Budget
    from dovetail.release import Source
    from dovetail.release.query import Query
    from dovetail.session import Session

    from .asking import Asked


_WAYS = """Nothing says how this answer is paid for. Choose one:
  --within 5                 the error you can live with, 95 times of 100
  --epsilon 0.1              the worst-case privacy loss it may cost
  --noise mixture:0.2,1,5    a noise of your own
  --queries 20               one of 20 equal shares of the whole budget
  --within 5 --queries 20    20 answers of that error, paid together"""


@dataclass(frozen=True, slots=True)
class Payment:
    """How an answer is paid: the keywords of a query and, if answers are planned, how many."""

    pay: dict[str, Any]
    slots: int | None = None

    @property
    def level(self) -> Fraction:
        """The level of the intervals to show: the probability that was asked for."""
        return rational("probability", self.pay.get("probability", "0.95"))

    @property
    def shares(self) -> int | None:
        """Among how many answers the whole budget is shared, where nothing else was said."""
        return None if self.pay else self.slots

    def check(self, asked: Asked) -> None:
        """Refuse a plan by accuracy for anything but counts, whose error alone it can promise."""
        if (
            self.slots is not None
            and "within" in self.pay
            and (asked.sum is not None or asked.mean is not None)
        ):
            raise InvalidQuery(
                "--within with --queries plans counts. Pay for a sum or mean with --noise or --epsilon."
            )

    def on(self, session: Session, query: Query, neighbours: str) -> dict[str, Any]:
        """Return the keywords that pay on this session; opens the plan of a noise unless it is open already.

        A plan whose answers are all given is not paid for a second time: the ledger refuses.
        """
        if not self.pay or self.slots is None:
            return self.pay
        noise = self.pay["noise"] if "noise" in self.pay else self._designed(session.budget, neighbours)
        for plan in session.plans:
            if (plan.noise, plan.slots, plan.neighbours) == (noise, self.slots, neighbours):
                return {"plan": plan}
        # A question that cannot be asked must not open a plan.
        session.price(query, noise=noise)
        return {"plan": session.plan(noise, queries=self.slots)}

    def _designed(self, budget: Budget, neighbours: str) -> Noise:
        """Return the noise that reaches the accuracy at the least cost in the currency of the budget."""
        with working("Searching for the noise ..."):
            return self._searched(budget, neighbours)

    def _searched(self, budget: Budget, neighbours: str) -> Noise:
        from dovetail.design import design

        goal = {
            **self.pay,
            "queries": self.slots,
            "sensitivity": 1 if neighbours == "add-remove" else (1, -1),
        }
        if budget.currency == "approximate":
            return design(delta=budget.delta_limit, **goal).noise
        if budget.currency == "zeta":
            return design(minimise="zeta", max_epsilon=budget.epsilon_limit, **goal).noise
        return design(**goal).noise


def read_payment(
    within: str | None,
    probability: str | None,
    spend: Budget | None,
    noise: str | None,
    queries: str | None = None,
) -> Payment:
    """Return how the answer is paid, from the options; one way, for one answer or for many."""
    slots = None if queries is None else integer("queries", queries, low=1, fix="For example --queries 20.")
    ways = {"--within": within, "--epsilon or --zeta": spend, "--noise": noise}
    given = [way for way, value in ways.items() if value is not None]
    if not given and slots is None:
        raise MissingPrice(_WAYS)
    if len(given) > 1 or (spend is not None and slots is not None):
        listed = given if slots is None else [*given, "--queries"]
        raise InvalidQuery(f"{' and '.join(listed)} each say how to pay. Keep one and leave out the others.")
    if within is not None:
        return Payment({"within": within, "probability": probability or "0.95"}, slots)
    if probability is not None:
        raise InvalidParameter("probability", probability, "given together with --within")
    if spend is not None:
        return Payment({"spend": spend})
    return Payment({} if noise is None else {"noise": read_noise(noise)}, slots)


def open_session(
    source: Source, *, budget: str | None, ledger: Ledger | str | None, **options: Any
) -> Session:
    """Return a session on the source; without a budget, its ledger must know the data already."""
    from dovetail.session import Session

    limit = read_budget(budget) if budget is not None else None
    if limit is None and ledger is None and not ledger_of(source).exists():
        # Found out before the session would leave an empty ledger behind.
        raise _no_budget(source.name)
    try:
        _warn_of_second_ledger(source, ledger)
        with working("Planning the whole budget ...") if options.get("queries") else nullcontext():
            return Session(source, budget=limit, ledger=ledger, **options)
    except InvalidParameter as error:
        if error.name == "budget" and limit is None:
            raise _no_budget(source.name) from None
        raise


def _warn_of_second_ledger(source: Source, ledger: Ledger | str | None) -> None:
    """Say so where the data have a budget in their usual place and are asked through another."""
    if not isinstance(ledger, str):
        return
    usual = ledger_of(source)
    if usual.exists() and ("://" in ledger or Path(ledger).resolve() != usual.resolve()):
        note(f"{source.name} has a ledger in {usual} too; what both allow adds up.")


def _no_budget(name: str) -> InvalidParameter:
    return InvalidParameter(
        "budget",
        None,
        f"given the first time that {name} is asked",
        "It is all that these data may ever spend, kept in a ledger: add, for example, --budget epsilon=1.",
    )
