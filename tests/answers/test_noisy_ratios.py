"""Ratios of noisy numbers: what is spent of the chance to miss, and which ratios must stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import log

import pytest

from dovetail.answers.noisy_ratios import ratio_interval
from dovetail.query.measures import Bar

CHANCE = Fraction(1, 20)


@dataclass
class Number:
    """A number with Laplace noise of this scale; noises of two numbers may go together."""

    exact: Fraction
    scale: Fraction
    plainly_released: bool = True
    asked: list[Fraction] = field(default_factory=list)

    def width(self, chance: Fraction) -> Fraction:
        return self.scale * Fraction(log(1 / chance))

    def bar(self, level: Fraction) -> Bar:
        self.asked.append(1 - level)
        return Bar(self.exact - self.width(1 - level), self.exact + self.width(1 - level))

    def scaled(self, by: Fraction) -> Number:
        return Number(self.exact * by, self.scale * abs(by), asked=self.asked)

    def __sub__(self, other: Number) -> Difference:
        return Difference(self.exact - other.exact, self.scale + other.scale)


class Difference(Number):
    """What is released of a - m·b."""

    chances: set[Fraction] = set()  # noqa: RUF012

    def bar(self, level: Fraction) -> Bar:
        self.chances.add(1 - level)
        return super().bar(level)


@pytest.mark.parametrize(("a", "b"), [(300, 200), (-300, 200), (40, 900), (500, -100)])
def test_the_chances_of_all_bars_add_up_to_the_chance_to_miss(a: int, b: int) -> None:
    above, below = Number(Fraction(a), Fraction(3)), Number(Fraction(b), Fraction(5))
    Difference.chances.clear()
    ratio_interval(above, below, CHANCE)
    (pivot,) = Difference.chances
    assert CHANCE * Fraction(99, 100) < sum(above.asked) + sum(below.asked) + pivot <= CHANCE


@pytest.mark.parametrize(("a", "b"), [(300, 200), (-300, 200), (40, 900), (500, -100)])
def test_no_ratio_that_its_own_bar_keeps_is_passed_over(a: int, b: int) -> None:
    """The kept ratios are searched in 20,000 places; the noise of b counts in every step."""
    above, below = Number(Fraction(a), Fraction(3)), Number(Fraction(b), Fraction(5))
    Difference.chances.clear()
    found = ratio_interval(above, below, CHANCE)
    (pivot,) = Difference.chances
    wide, middle = float(log(1 / pivot)), a / b
    places = [middle + (place / 10_000 - 1) * abs(middle) for place in range(20_001)]
    kept = [m for m in places if abs(a - m * b) <= (3 + 5 * abs(m)) * wide]
    assert found.low <= min(kept)
    assert found.high >= max(kept)
    assert found.high - found.low == pytest.approx(max(kept) - min(kept), rel=0.01)


def test_bars_that_lean_share_the_chance_between_the_two_numbers() -> None:
    above, below = (Number(Fraction(n), Fraction(3), plainly_released=False) for n in (300, 200))
    found, wide = ratio_interval(above, below, CHANCE), 3 * log(40)
    assert float(found.low) == pytest.approx((300 - wide) / (200 + wide))
    assert float(found.high) == pytest.approx((300 + wide) / (200 - wide))
