"""The chance to miss that independent numbers share."""

from fractions import Fraction

import pytest

from dovetail.query.measures import shared_chance


@pytest.mark.parametrize("cells", [1, 2, 7, 10**6])
@pytest.mark.parametrize("chance", ["1e-9", "0.05", "0.9"])
def test_all_hold_with_at_least_the_chance_that_is_shared(chance: str, cells: int) -> None:
    each = shared_chance(Fraction(chance), cells)
    miss = 1 - (1 - float(each)) ** cells if cells < 10 else 1 - 2.718281828459045 ** (-float(each) * cells)
    assert miss == pytest.approx(float(chance), rel=1e-5)
    assert each * cells >= Fraction(chance)
    if cells == 2:
        assert 1 - (1 - each) ** 2 <= Fraction(chance)


def test_where_nothing_needs_to_hold_each_may_miss() -> None:
    assert shared_chance(Fraction(1), 3) == 1
    assert shared_chance(Fraction(1, 3), 1) == Fraction(1, 3)
