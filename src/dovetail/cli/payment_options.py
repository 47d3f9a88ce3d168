"""How an answer is paid, from the options that say so."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.check import integer, rational
from dovetail.errors import InvalidParameter, InvalidQuery, MissingPrice

from . import options as o
from .budget_syntax import chosen
from .noise_syntax import read_noise
from .terminal import working

if TYPE_CHECKING:
    from dovetail.answers.quote import Priced
    from dovetail.noise import Noise
    from dovetail.privacy import Budget
    from dovetail.query import Query
    from dovetail.session import Session


_WAYS = """Nothing says how this answer is paid for. Choose one:
  --within 5                 the error you can live with, 95 times of 100
  --epsilon 0.1              the worst-case privacy loss it may cost
  --noise mixture:0.2,1,5    a noise of your own
  --queries 20               one of 20 equal shares of the whole budget
  --within 5 --queries 20    20 answers of that error, paid together"""


@dataclass(frozen=True, slots=True)
class PaymentOptions:
    """The ways to pay; one of them is chosen."""

    title: ClassVar[str] = "How it is paid, one of these ways"

    within: o.Within = None
    probability: o.Probability = None
    epsilon: o.Epsilon = None
    delta: o.Chance = None
    zeta: o.Zeta = None
    max_epsilon: o.MaxEpsilon = None
    noise: o.Noise = None
    queries: o.Shares = None

    def read(self) -> Payment:
        """Return how the answer is paid: one way, for one answer or for many."""
        slots = None
        if self.queries is not None:
            slots = integer("queries", self.queries, low=1, high=10**6, fix="For example --queries 20.")
        priced = (self.epsilon, self.zeta, self.max_epsilon) != (None, None, None)
        spend = chosen(self.epsilon, self.delta if priced else None, self.zeta, self.max_epsilon)
        threshold = {} if priced or self.delta is None else {"delta": self.delta}
        ways = {"--within": self.within, "--epsilon or --zeta": spend, "--noise": self.noise}
        given = [way for way, value in ways.items() if value is not None]
        if not given and slots is None:
            raise MissingPrice(_WAYS)
        if len(given) > 1 or (spend is not None and slots is not None):
            listed = given if slots is None else [*given, "--queries"]
            raise InvalidQuery(
                f"{' and '.join(listed)} each say how to pay. Keep one and leave out the others."
            )
        if threshold and (slots is not None or not given):
            raise InvalidParameter(
                "delta",
                self.delta,
                "given beside --epsilon, --within or --noise, and left out with --queries",
            )
        if self.within is not None:
            goal = {"within": self.within, "probability": self.probability or "0.95"}
            return Payment(goal | threshold, slots)
        if self.probability is not None:
            raise InvalidParameter("probability", self.probability, "given together with --within")
        if spend is not None:
            return Payment({"spend": spend})
        return Payment({} if self.noise is None else {"noise": read_noise(self.noise)} | threshold, slots)


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

    def quoted(self, session: Session, query: Query | str, neighbours: str) -> Priced:
        """Return the price, and the noise that would be used; nothing is opened or spent."""
        if self.slots is None:
            return session.quote(query, **self.pay)
        noise = self._noise(session.budget, neighbours) if self.pay else None
        open_ = [plan for plan in session.plans if (plan.slots, plan.neighbours) == (self.slots, neighbours)]
        paid = next((plan for plan in open_ if (plan.noise == noise if noise else plan.session)), None)
        if paid is not None:
            quote = session.quote(query, plan=paid)
        elif noise is not None:
            quote = session.quote(query, queries=self.slots, noise=noise)
        else:
            with working("Planning the whole budget ..."):
                quote = session.quote(query, queries=self.slots)
        if "within" in self.pay and any(each.noises != (noise,) for each in quote.asked):
            raise InvalidQuery(
                "--within with --queries plans counts, whose error alone it can promise. Pay for a sum, a "
                "mean or many rows of one person with --noise or --epsilon."
            )
        return quote

    def on(
        self, session: Session, query: Query | str, neighbours: str, *, whole: bool = False
    ) -> dict[str, Any]:
        """Return the keywords that pay on this session; opens the plan of a noise unless it is open already.

        A plan whose answers are all given is not paid for a second time: the ledger refuses. The plan of the
        whole budget is opened by the session itself, or with `whole` here.
        """
        if self.slots is None or not (self.pay or whole):
            return self.pay
        # A question that cannot be asked must not open a plan.
        plan = self.quoted(session, query, neighbours).plan
        assert plan is not None
        return {"plan": plan if plan.id else session.plan(plan.noise, queries=self.slots)}

    def _noise(self, budget: Budget, neighbours: str) -> Noise:
        """Return the noise of a plan: the given one, or the cheapest one for the wish."""
        if "noise" in self.pay:
            found: Noise = self.pay["noise"]
            return found
        with working("Searching for the noise ..."):
            return _designed(self.pay["within"], self.pay["probability"], self.slots, budget, neighbours)


@lru_cache(maxsize=8)
def _designed(within: str, probability: str, slots: int, budget: Budget, neighbours: str) -> Noise:
    """Return the noise of least cost in the budget's currency; kept, as a price comes before an answer."""
    from dovetail.designer import design

    goal: dict[str, Any] = {"within": within, "probability": probability, "queries": slots}
    goal["sensitivity"] = 1 if neighbours == "add-remove" else (1, -1)
    if budget.currency == "approximate":
        return design(delta=budget.delta_limit, **goal).noise
    if budget.currency == "zeta":
        return design(minimise="zeta", max_epsilon=budget.epsilon_limit, **goal).noise
    return design(**goal).noise
