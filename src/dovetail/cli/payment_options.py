"""How an answer is paid, from the options that say so."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar

from dovetail.check import integer
from dovetail.errors import InvalidParameter, InvalidQuery, MissingPrice

from . import options as o
from .budget_syntax import chosen
from .noise_syntax import read_noise
from .terminal import working


@dataclass(frozen=True, slots=True)
class PaymentOptions:
    """The ways to pay; one of them is chosen."""

    title: ClassVar[str] = "How to pay: choose one way"

    within: o.Within = None
    probability: o.Probability = None
    epsilon: o.Epsilon = None
    delta: o.Chance = None
    zeta: o.Zeta = None
    max_epsilon: o.MaxEpsilon = None
    noise: o.Noise = None
    queries: o.Shares = None

    def keywords(self) -> dict[str, Any]:
        """Return the keywords of a query that say how it is paid: one way, for one answer or for many."""
        slots = None
        if self.queries is not None:
            slots = integer("queries", self.queries, low=1, high=10**6, fix="For example --queries 20.")
        priced = (self.epsilon, self.zeta, self.max_epsilon) != (None, None, None)
        spend = chosen(self.epsilon, self.delta if priced else None, self.zeta, self.max_epsilon)
        threshold = None if priced else self.delta
        ways = {"--within": self.within, "--epsilon or --zeta": spend, "--noise": self.noise}
        given = [way for way, value in ways.items() if value is not None]
        if not given and slots is None:
            raise MissingPrice
        if len(given) > 1 or (spend is not None and slots is not None):
            listed = given if slots is None else [*given, "--queries"]
            raise InvalidQuery(
                f"{' and '.join(listed)} are different ways to pay.", "Keep one and leave out the others."
            )
        if threshold is not None and (slots is not None or not given):
            raise InvalidParameter(
                "delta",
                self.delta,
                "given beside --epsilon, --within or --noise, and left out with --queries",
            )
        if self.probability is not None and self.within is None:
            raise InvalidParameter("probability", self.probability, "given together with --within")
        noise = None if self.noise is None else read_noise(self.noise)
        accuracy = {"within": self.within, "probability": self.probability}
        return accuracy | {"spend": spend, "noise": noise, "queries": slots, "delta": threshold}

    def working(self) -> AbstractContextManager[object]:
        """Show on a terminal that a plan takes a moment; elsewhere, and of one answer, do nothing."""
        if self.queries is None:
            return nullcontext()
        planned = "Searching for the noise ..." if self.within or self.noise else "Planning the budget ..."
        return working(planned)
