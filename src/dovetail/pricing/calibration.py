"""Find the noise for an accuracy, for a price, for a whole budget or for what remains of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Any

from dovetail.answers.plan import parts_per_slot
from dovetail.errors import DovetailError, InvalidParameter
from dovetail.exact.bisection import bracket
from dovetail.exact.figures import rounded
from dovetail.noise import Geometric, IntegerNoise, StaircaseNoise
from dovetail.privacy import Budget, Charge, privacy_loss
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.neighbours import Neighbours

from .accuracy import noises_reaching
from .composition import charge_of, payable
from .sensitivity import contribution, moves, units
from .stretching import component_noises, covering_noises

_UNIT = 10**9
# How near to the largest rate that keeps a limit is near enough, relative to it.
_CLOSE = 1e-7
# Of fewer integers that move together, a delta cannot lower the error.
_FEWEST_SHAPED, _MOST_SHAPED = 3, 10**6
# A delta is only paid for a gain that shows.
_GAIN = 0.95
# Of what remains, for saying what it would buy.
_DIGITS = 3
# As many pieces as the designer may use: twice the default bring half a per cent where queries are many.
PIECES = 16


def noises_within(
    question: CheckedQuery, within: Fraction, probability: Fraction, budget: Budget, neighbours: Neighbours
) -> tuple[IntegerNoise, ...]:
    """Return the noise that keeps the error within the goal at the least cost in the budget's currency.

    >>> from dovetail.query.measures import Rows
    >>> noises_within(CheckedQuery(Rows()), Fraction(5), Fraction(95, 100), Budget.pure(1), "add-remove")
    (PiecewiseGeometric(rates=('0.53818',)),)
    """
    if not question.measure.one_integer():
        return noises_reaching(question, within, probability)
    shifts = _furthest(question, neighbours)
    cost: dict[str, Any] = {}
    if budget.currency == "zeta" and _worth_shaping(shifts):
        cost = {"minimise": "zeta", "max_epsilon": budget.epsilon_limit}
    cost["steps"] = _one_number(question, neighbours)
    return (_designed(shifts, within=within / question.step, probability=probability, **cost),)


def noises_at_price(
    question: CheckedQuery, spend: Budget, neighbours: Neighbours, together: int = 1
) -> tuple[IntegerNoise, ...]:
    """Return the noise of least error that costs at most one share of `spend` among `together` questions.

    >>> from dovetail.query.measures import Rows
    >>> noises_at_price(CheckedQuery(Rows()), Budget.pure(1), "replace", together=2)
    (PiecewiseGeometric(rates=('0.5',)),)
    """
    epsilon = spend.epsilon_limit / together
    if spend.zeta_limit is None:
        return _plain(question, epsilon, neighbours)
    zeta, shifts = spend.zeta_limit / together, _furthest(question, neighbours)
    if len(units(question)) == 1 and _worth_shaping(shifts):
        noises = (_designed(shifts, zeta=zeta, max_epsilon=epsilon),)
        charge = charge_of([question], [noises], neighbours)
        if (charge.zeta or 0) <= zeta and (charge.epsilon or 0) <= epsilon:
            return noises
    return _plain(question, min(zeta, epsilon), neighbours)


def noises_composed(
    questions: Sequence[CheckedQuery], spend: Budget, neighbours: Neighbours
) -> list[tuple[IntegerNoise, ...]] | None:
    """Return the noises with which all questions keep (epsilon, delta) together, None if that gains nothing.

    Noise of one shape, which composes exactly over all the integers that one neighbour moves; none of them
    costs more than an integer that moves by 1.

    >>> from dovetail.query.measures import Rows
    >>> found = noises_composed([CheckedQuery(Rows())] * 20, Budget.approximate(1, "1e-6"), "add-remove")
    >>> found is not None and found[0][0].variance() < 0.5 * Geometric("0.05").variance()
    True
    """
    shaped = noises_shaped(questions, spend, neighbours)
    if shaped is None:
        return None
    pairs = {
        pair
        for each, mine in zip(questions, shaped, strict=True)
        for pair in zip(mine, noises_at_price(each, spend, neighbours, len(questions)), strict=True)
    }
    ratios = [mine.variance() / worst_case.variance() for mine, worst_case in pairs]
    return shaped if max(ratios) <= 1 and sum(ratios) <= _GAIN * len(ratios) else None


def noises_shaped(
    questions: Sequence[CheckedQuery], spend: Budget, neighbours: Neighbours, uses: int | None = None
) -> list[tuple[IntegerNoise, ...]] | None:
    """Return noise of one shape with which all questions keep (epsilon, delta); None if there are too few.

    With `uses`, it is noise of which so many integers keep the price, those of other questions included.
    """
    from dovetail.designer import design

    delta, ways = payable(spend.delta_limit), [moves(each, neighbours, grows=True) for each in questions]
    uses = sum(max(map(len, each)) for each in ways) if uses is None else uses
    if not delta or not _FEWEST_SHAPED <= uses <= _MOST_SHAPED:
        return None
    noise = design(epsilon=spend.epsilon_limit, delta=delta, queries=uses, pieces=PIECES).noise
    return [covering_noises(noise, each, way) for each, way in zip(questions, ways, strict=True)]


def noises_even(
    questions: Sequence[CheckedQuery], epsilon: Fraction, neighbours: Neighbours
) -> list[tuple[IntegerNoise, ...]]:
    """Return geometric noise that is the same for all that one neighbour moves, at a worst case of `epsilon`.

    >>> from dovetail.query.measures import Rows
    >>> noises_even([CheckedQuery(Rows())] * 4, Fraction(1), "add-remove")[0]
    (PiecewiseGeometric(rates=('0.25',)),)
    """
    total = sum((_total_shift(each, neighbours) for each in questions), Fraction(0))
    rate = _even_rate(epsilon, total)
    return [component_noises(each, Geometric(rate)) for each in questions]


@lru_cache(maxsize=64)
def noise_of_budget(budget: Budget, slots: int, neighbours: Neighbours) -> IntegerNoise:
    """Return the noise of least error of which `slots` histograms cost at most the whole budget.

    >>> noise_of_budget(Budget.pure(1), 10, "add-remove")
    PiecewiseGeometric(rates=('0.1',))
    """
    from dovetail.designer import design

    cells = (1,) * parts_per_slot(neighbours)
    if budget.zeta_limit is None:
        delta = payable(budget.delta_limit) or None
        return design(
            epsilon=budget.epsilon_limit, delta=delta, queries=slots, sensitivity=cells, pieces=PIECES
        ).noise
    shaped = design(
        zeta=budget.zeta_limit, max_epsilon=budget.epsilon_limit, queries=slots, sensitivity=cells
    ).noise
    plain = _geometric_of_zeta(budget, slots * len(cells))
    return min(shaped, plain, key=lambda noise: noise.variance())


def noise_of_plan(
    within: Fraction, probability: Fraction, slots: int, budget: Budget, neighbours: Neighbours
) -> IntegerNoise:
    """Return the noise of which `slots` counts of such an accuracy cost least in the budget's currency.

    >>> noise_of_plan(Fraction(5), Fraction(95, 100), 10, Budget.pure(1), "add-remove")
    PiecewiseGeometric(rates=('0.53818',))
    """
    cost: dict[str, Any] = {}
    if budget.currency == "approximate":
        cost = {"delta": budget.delta_limit}
    if budget.currency == "zeta":
        cost = {"minimise": "zeta", "max_epsilon": budget.epsilon_limit}
    cells = (1,) * parts_per_slot(neighbours)
    return _designed(cells, within=within, probability=probability, queries=slots, **cost)


def _geometric_of_zeta(budget: Budget, uses: int) -> IntegerNoise:
    """Return the geometric noise that spends the budget: uses together have less than their sum of zeta."""
    assert budget.zeta_limit is not None
    limit = budget.zeta_limit
    low, high = min(limit, budget.epsilon_limit) / uses, budget.epsilon_limit / uses

    def fits(rate: float) -> bool:
        return privacy_loss(Geometric(whole_units(rate))).compose(uses).zeta <= limit

    largest = bracket(float(high), float(low), fits, close=_CLOSE)[1] if low < high else low
    # The sum of zeta fits in any case.
    return Geometric(max(low, whole_units(largest)))


def whole_units(rate: float | Fraction) -> Fraction:
    """Round a rate down to whole billionths, in which charges are counted."""
    return Fraction(floor(rate * _UNIT), _UNIT)


def _plain(question: CheckedQuery, epsilon: Fraction, neighbours: Neighbours) -> tuple[IntegerNoise, ...]:
    """Return the noise that costs `epsilon` in the worst case and is the best for it.

    That is the geometric noise, or the staircase where one neighbour moves one number far.
    """
    widths = units(question)
    shifts = _furthest(question, neighbours)
    if len(widths) == 1 and max(shifts) > 1 and _one_number(question, neighbours):
        price = whole_units(epsilon)
        if price > 0 and isinstance(stairs := _designed(shifts, epsilon=price), StaircaseNoise):
            return (stairs,)
    return component_noises(question, Geometric(_even_rate(epsilon, _total_shift(question, neighbours))))


def _total_shift(question: CheckedQuery, neighbours: Neighbours) -> Fraction:
    """Return how far one neighbour moves a question at most, in units of its components, added up.

    A shift beyond the unit costs in proportion, so the largest total decides on a worst case.
    """
    widths = units(question)
    return max(
        sum((Fraction(shift.by, widths[shift.component]) for shift in move), Fraction(0))
        for move in moves(question, neighbours, grows=True)
    )


def _even_rate(epsilon: Fraction, total: Fraction) -> Fraction:
    """Return the rate of noise that costs `epsilon` where so much moves."""
    # Whole units of 1e-9, so that the charges of a batch add up to the price and not to a unit more.
    rate = whole_units(epsilon / total)
    if not rate:
        least = f"at least {float(total) / _UNIT:g} here: a ledger counts billionths"
        raise InvalidParameter("spend", float(epsilon), least, "Spend more, or ask for an accuracy.")
    return rate


def _furthest(question: CheckedQuery, neighbours: Neighbours) -> tuple[int, ...]:
    """Return the shifts of the move that moves an answer most."""
    move = max(moves(question, neighbours, grows=True), key=lambda move: sum(shift.by for shift in move))
    return tuple(shift.by for shift in move)


def _one_number(question: CheckedQuery, neighbours: Neighbours) -> bool:
    """Tell whether no neighbour moves two numbers: else a staircase's price at one shift is no bound."""
    parted = any(component.parts > 1 for component in question.measure.components())
    if parted or contribution(question, neighbours, grows=False).cells > 1:
        return False
    return all(len(move) == 1 for move in moves(question, neighbours))


def _worth_shaping(shifts: tuple[int, ...]) -> bool:
    """Tell whether a shaped noise is looked for: several wide shifts at once take the designer too long."""
    return len(shifts) == 1 or max(shifts) == 1


def _designed(shifts: tuple[int, ...], **wanted: Any) -> IntegerNoise:
    from dovetail.designer import design

    return design(sensitivity=shifts, **wanted).noise


def error_of_rest(
    question: CheckedQuery, budget: Budget, spent: Charge, neighbours: Neighbours, level: Fraction
) -> Fraction | None:
    """Return the error that the rest of a budget buys for a question; None where it buys none that is known.

    The error of a mean depends on the number of rows, which is private. The rest is rounded down to three
    digits: each refusal sees another one, and its noise and tables would never be used again.

    >>> from dovetail.query.measures import Rows
    >>> rows, level = CheckedQuery(Rows()), Fraction(95, 100)
    >>> print(error_of_rest(rows, Budget.pure(1), Charge.zero(), "add-remove", level))
    3
    """
    left = budget.remaining(spent)
    try:
        epsilon = rounded(Fraction(left.epsilon), down=True, digits=_DIGITS)
        rest = Budget.pure(epsilon)
        if left.zeta is not None:
            zeta = rounded(Fraction(left.zeta), down=True, digits=_DIGITS)
            rest = Budget.zeta(zeta, max_epsilon=epsilon)
        noises = noises_at_price(question, rest, neighbours)
        noises[0].sample(0)
    except DovetailError:  # nothing remains, or so little that no noise is wide enough
        return None
    affordable = budget.allows(spent, charge_of([question], [noises], neighbours))
    return question.measure.error(noises, 1 - level) if affordable else None
