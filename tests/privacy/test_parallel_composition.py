"""Charges on disjoint vintages compose in parallel: every strategy on small tables, in exact fractions.

A strategy asks after each answer about one vintage, or about both together, as long as the vintages' own
limits allow it. The best one is found by trying all of them. The noise has rate ln 2 and the noisy count is
cut to three outcomes, so one question changes a chance by a factor of at most 2, and that factor is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

Counts = tuple[int, ...]
# Which vintages a question counts in.
QUESTIONS = ((0,), (1,), (0, 1))
LIMIT = 2
FACTOR = Fraction(2)


def noise(at: int) -> Fraction:
    """Return the chance of a noise of rate ln 2."""
    return Fraction(1, 3) * Fraction(1, 2) ** abs(at)


@cache
def outcomes(count: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return the chances of a noisy count of at most 0, of 1, and of 2 or more."""
    zero = sum((noise(at) for at in range(-count, -count - 60, -1)), Fraction(0)) + noise(-count - 59)
    one = noise(1 - count)
    return zero, one, 1 - zero - one


def charged_to_each(asked: tuple[int, ...], spent: Counts) -> Counts:
    return tuple(each + (vintage in asked) for vintage, each in enumerate(spent))


def charged_to_the_first(asked: tuple[int, ...], spent: Counts) -> Counts:
    return tuple(each + (vintage == asked[0]) for vintage, each in enumerate(spent))


Rule = Callable[[tuple[int, ...], Counts], Counts]


def worst_ratio(one: Counts, other: Counts, rule: Rule = charged_to_each, limit: int = LIMIT) -> Fraction:
    """Return how much more likely any path of any strategy is on one table than on the other."""

    @cache
    def best(spent: Counts) -> Fraction:
        found = Fraction(1)
        for asked in QUESTIONS:
            after = rule(asked, spent)
            if max(after) <= limit:
                ratios = ratios_of(total(one, asked), total(other, asked))
                found = max(found, *(ratio * best(after) for ratio in ratios))
        return found

    return best(tuple(0 for _ in one))


def best_delta(
    one: Counts, other: Counts, epsilon: Fraction, questions: Iterable[tuple[int, ...]]
) -> Fraction:
    """Return the largest delta of any strategy at exp(epsilon) = `epsilon`."""
    allowed = tuple(questions)

    @cache
    def best(p: Fraction, q: Fraction, spent: Counts) -> Fraction:
        found = max(p - epsilon * q, Fraction(0))
        for asked in allowed:
            after = charged_to_each(asked, spent)
            if max(after) <= LIMIT:
                pairs = zip(outcomes(total(one, asked)), outcomes(total(other, asked)), strict=True)
                found = max(found, sum((best(p * a, q * b, after) for a, b in pairs), Fraction(0)))
        return found

    return best(Fraction(1), Fraction(1), tuple(0 for _ in one))


def total(counts: Counts, asked: tuple[int, ...]) -> int:
    return sum(counts[vintage] for vintage in asked)


def ratios_of(one: int, other: int) -> list[Fraction]:
    return [a / b for a, b in zip(outcomes(one), outcomes(other), strict=True)]


TABLES = list(product(range(3), repeat=2))


def neighbours(counts: Counts, vintage: int) -> Iterable[Counts]:
    """Yield the tables with a row more or less in a vintage.

    A row replaced within its vintage moves a count of some of its rows by 1 too.
    """
    for step in (-1, 1):
        if 0 <= counts[vintage] + step <= 2:
            yield tuple(each + step * (place == vintage) for place, each in enumerate(counts))


PAIRS = [(one, other, v) for one in TABLES for v in range(2) for other in neighbours(one, v)]


def test_one_question_is_worth_its_factor() -> None:
    assert all(sum(outcomes(count)) == 1 for count in range(5))
    steps = [ratio for count in range(4) for ratio in ratios_of(count, count + 1)]
    assert max([*steps, *(1 / step for step in steps)]) == FACTOR


def test_a_row_in_one_vintage_bears_the_charges_of_that_one_only() -> None:
    worst = [worst_ratio(one, other) for one, other, _ in PAIRS]
    assert max(worst) == FACTOR**LIMIT
    # Both vintages together may be asked twice as often as that.
    assert FACTOR ** (2 * LIMIT) > FACTOR**LIMIT


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3, 2), Fraction(5, 2)])
def test_with_delta_two_complete_vintages_give_no_more_than_one_alone(epsilon: Fraction) -> None:
    for one, other, vintage in PAIRS:
        # What concerns the row is a count of its vintage, with the public rest of the other added or not.
        alone = max(
            best_delta((one[vintage] + more,), (other[vintage] + more,), epsilon, [(0,)])
            for more in (0, one[1 - vintage])
        )
        mixed = best_delta(one, other, epsilon, QUESTIONS)
        lone = best_delta(one, other, epsilon, [(vintage,), (0, 1)])
        assert alone <= mixed == lone


def test_a_row_that_changes_its_vintage_bears_both() -> None:
    """Which vintage a row is in is public: replacement stays within it."""
    worst = max(worst_ratio((1, 0), (0, 1)), worst_ratio((0, 1), (1, 0)))
    assert worst == FACTOR ** (2 * LIMIT)


def test_a_person_with_rows_in_both_bears_both() -> None:
    assert max(worst_ratio((0, 0), (1, 1)), worst_ratio((1, 1), (0, 0))) == FACTOR ** (2 * LIMIT)


def test_a_question_over_both_that_is_charged_to_one_costs_too_much() -> None:
    """The negative control of charging each."""
    worst = max(worst_ratio(one, other, charged_to_the_first) for one, other, _ in PAIRS)
    assert worst > FACTOR**LIMIT


def entering(limit: int = LIMIT) -> Fraction:
    """Return the worst ratio where the row enters a vintage that is chosen after seeing answers."""

    @cache
    def best(counts: Counts, place: int | None, spent: Counts) -> Fraction:
        found = Fraction(1)
        if place is None:
            found = max(best(counts, vintage, spent) for vintage in range(2))
        for asked in QUESTIONS:
            after = charged_to_each(asked, spent)
            if max(after) <= limit:
                there = total(counts, asked) + (place is not None and place in asked)
                for one, other in ((there, total(counts, asked)), (total(counts, asked), there)):
                    found = max(
                        found, *(ratio * best(counts, place, after) for ratio in ratios_of(one, other))
                    )
        return found

    return max(best(counts, None, (0, 0)) for counts in TABLES)


def test_a_row_that_enters_where_answers_tell_it_to_bears_a_pure_limit_once() -> None:
    """On every path the row is in one vintage, and the losses there add up to its limit at most.

    Mixing the two directions of a pair on one path is more than any adversary can do; even that keeps it.
    """
    assert entering() == FACTOR**LIMIT


# A mechanism with a state: at once, with chance `failure`, it says that it will tell if the row is there.
def announced(failure: Fraction, chosen_later: bool) -> Fraction:
    """Return the delta, at epsilon 0, of two of them; the row's vintage is fixed, or chosen afterwards."""
    found = Fraction(0)
    for broken in product((True, False), repeat=2):
        chance = Fraction(1)
        for each in broken:
            chance *= failure if each else 1 - failure
        told = any(broken) if chosen_later else broken[0]
        found += chance if told else 0
    return found


def test_with_delta_a_row_that_enters_later_finds_the_vintage_that_failed() -> None:
    """Why open vintages are apart only under pure budgets: each is (0, delta), and together they are not."""
    failure = Fraction(1, 100)
    assert announced(failure, chosen_later=False) == failure
    assert failure < announced(failure, chosen_later=True) <= 2 * failure
