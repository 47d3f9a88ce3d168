"""Choose how numbers are measured to keep an accuracy: the way that leaves most of the budget.

Each way is first priced with noise whose error is about the goal; the noise of the best is then fitted to the
goal by its exact law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise, PiecewiseGeometric
from dovetail.privacy import Budget, Charge
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.neighbours import Neighbours

from .accuracy import noises_reaching
from .composition import charge_of
from .sensitivity import used_rows
from .strategies_at_price import GAUSSIAN, shapes_under

_ROUGH_STEPS, _FINE_STEPS = 4, 40
_CLOSE_ENOUGH, _BACK = Fraction(1, 200), 0.998
_LEAST, _LARGEST = 1e-9, 1e6


def cheapest_reaching(
    question: CheckedQuery,
    within: Fraction,
    probability: Fraction,
    budget: Budget,
    spent: Charge,
    neighbours: Neighbours,
) -> tuple[CheckedQuery, tuple[IntegerNoise, ...]] | None:
    """Return how a question is measured to keep an accuracy at the least cost; None if in one way only."""
    rows, chance = used_rows(question), 1 - probability
    whole = "persons" if rows > 1 else neighbours
    candidates: list[tuple[Charge, _Family]] = []
    for measure, widths in question.measure.alternatives(whole):
        for name, shape in shapes_under(budget).items():
            family = _Family(replace(question, measure=measure), shape, widths)
            if (rows > 1 and name == GAUSSIAN) or not family.near(within, chance):
                continue
            candidates.append((charge_of([family.question], [family.noises], neighbours), family))
    if not candidates:
        return None
    _, chosen = min(candidates, key=lambda pair: _cost(pair[0], budget, spent))
    if chosen.even_geometric:
        return chosen.question, noises_reaching(chosen.question, within, probability)
    chosen.fit(within, chance)
    return chosen.question, chosen.noises


def _cost(charge: Charge, budget: Budget, spent: Charge) -> tuple[Fraction, Fraction]:
    """Rank charges by what they leave of a budget, then by their worst case; those beyond it come last.

    A charge without a worst case must leave a hundredth of the budget more.
    """
    worst = Fraction(10**9 if charge.epsilon is None else charge.epsilon)
    if not budget.allows(spent, charge):
        return Fraction(0), worst
    more = budget.epsilon_limit / 100 if charge.epsilon is None else Fraction(0)
    return more - 1 - Fraction(budget.remaining(spent + charge).epsilon), worst


class _Family:
    """Noises of one shape around the components of a question, wider and narrower together."""

    def __init__(self, question: CheckedQuery, shape: IntegerNoise, widths: Sequence[float]) -> None:
        self.question = question
        self.noises: tuple[IntegerNoise, ...] = ()
        self._shape, self._widths = shape, widths
        self._scale = 1 / max(widths)
        self._set(1.0)

    @property
    def even_geometric(self) -> bool:
        """Whether one rate decides: then the narrowest noise is found by it."""
        alone = isinstance(self._shape, PiecewiseGeometric) and len(self._shape.rates) == 1
        return alone and len(set(self._widths)) == 1

    def _set(self, factor: float) -> None:
        from dovetail.workloads.planning import scaled

        self._scale *= factor
        self.noises = tuple(scaled(self._shape, width * self._scale) for width in self._widths)

    def near(self, within: Fraction, chance: Fraction) -> bool:
        """Make the rough error about the goal; False where no error is known."""
        for _ in range(_ROUGH_STEPS):
            error = self.question.measure.rough_error(self.noises, chance)
            if error is None:
                return False
            self._set(max(min(float(within / error), _LARGEST), _LEAST) if error else 1e3)
        return True

    def fit(self, within: Fraction, chance: Fraction) -> None:
        """Make the error at most the goal, and nearly that."""
        step = 1.0
        for _ in range(_FINE_STEPS):
            error = self.question.measure.error(self.noises, chance)
            assert error is not None
            if error <= within and (within - error <= within * _CLOSE_ENOUGH or step < 1):
                return
            if error > within:
                step *= _BACK
            self._set(float(within / error) * step if error else 2.0)
        raise InvalidParameter("within", within, "an error that some noise can meet", "Ask for a larger one.")
