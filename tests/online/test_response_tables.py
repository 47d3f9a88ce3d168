"""Tables of response curves, entry by entry, and the limits of what is made."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import log

import mpmath
import pytest

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric
from dovetail.online import response_tables
from dovetail.online.response_tables import (
    FLOOR,
    WHOLE,
    _cost,
    _steepest,
    even_renyi,
    exponential,
    tails,
)


@pytest.fixture
def short_tables(monkeypatch: pytest.MonkeyPatch) -> float:
    """Tables may have a thousand entries; return the least slope that is allowed then."""
    monkeypatch.setattr(response_tables, "MOST_ENTRIES", 1000)
    return 40 * log(2) / 1000


def test_a_table_of_tails_is_the_noise_to_its_last_bit() -> None:
    """Geometric noise reaches k with chance r^k/(1 + r); what it misses below is what it reaches above."""
    table, start = tails(Geometric("0.7"))
    with mpmath.workdps(80):
        r = mpmath.exp(-mpmath.mpf(7) / 10)

        def tail(k: int) -> int:
            return int(mpmath.ceil(WHOLE * r**k / (1 + r)))

        reach = next(k for k in range(1, 1000) if tail(k) <= FLOOR)
        above = [max(tail(k), FLOOR) for k in range(1, reach + 1)]
        below = [WHOLE - tail(k) for k in range(reach, 0, -1)]
    assert start == -reach
    assert list(table) == [WHOLE, *below, *above]


def test_a_narrow_noise_has_a_table_of_two_sides() -> None:
    table, start = tails(Geometric(60))
    assert start == -1
    assert table == (WHOLE, WHOLE - 1, FLOOR)


def test_tails_that_are_too_long_are_refused(short_tables: float) -> None:
    """Half of the entries are above the threshold, half below."""
    assert len(tails(Geometric("0.0555"))[0]) <= 1001
    with pytest.raises(InvalidParameter, match="narrower"):
        tails(Geometric("0.053"))


def test_a_rate_is_refused_where_its_table_would_be_too_long(short_tables: float) -> None:
    assert len(exponential(Fraction(short_tables * 1.001))) <= 1001
    with pytest.raises(InvalidParameter, match="over 1000 entries"):
        exponential(Fraction(short_tables * 0.999))


@pytest.mark.parametrize("order", [2, 30])
def test_a_cost_is_refused_where_its_table_would_be_too_long(short_tables: float, order: int) -> None:
    limit = Fraction(short_tables**2 * order / 2)
    with pytest.raises(InvalidParameter, match="over 1000 entries"):
        even_renyi(limit * Fraction("0.98"), Fraction(order))
    assert 700 < len(even_renyi(limit * Fraction("1.2"), Fraction(order))) <= 1001


def test_a_table_whose_beginning_alone_makes_it_too_long_is_refused_on_the_way(short_tables: float) -> None:
    """Where a test all but surely fires, a step of the same cost is flatter than far out."""
    with pytest.raises(InvalidParameter, match="passes 1000 entries"):
        even_renyi(Fraction(short_tables**2 * 1.02), Fraction(2))


def test_the_last_entry_is_the_floor_and_every_other_is_above_it() -> None:
    for table in (exponential(Fraction(1, 3)), even_renyi(Fraction(1, 10), Fraction(3))):
        assert table[0] == WHOLE
        assert table[-1] == FLOOR
        assert all(one > other for one, other in pairwise(table))


CHANCES = [1.0, 1 - 1e-9, 0.9, 0.5, 0.1, 1e-6]


@pytest.mark.parametrize("power", [0.25, 1.0, 40.0])
@pytest.mark.parametrize("chance", CHANCES)
def test_the_cost_of_a_step_is_its_formula(chance: float, power: float) -> None:
    for fall in (1e-3, 0.3, 2.0):
        with mpmath.workdps(60):
            p, q = mpmath.mpf(chance), mpmath.mpf(chance) * mpmath.exp(-mpmath.mpf(fall))
            order = mpmath.mpf(power) + 1
            missed = (1 - p) ** order * (1 - q) ** (1 - order) if chance < 1 else mpmath.mpf(0)
            exact = mpmath.log(p**order * q ** (1 - order) / (1 - missed)) / power
        assert _cost(chance, fall, power) == pytest.approx(float(exact), rel=1e-6)


@pytest.mark.parametrize("guess", [1e-6, 0.05, 50.0])
@pytest.mark.parametrize("chance", CHANCES)
def test_the_steepest_fall_costs_just_what_it_may(chance: float, guess: float) -> None:
    for cost, power in ((0.01, 19.0), (0.2, 1.0), (2.0, 0.5)):
        fall = _steepest(chance, cost, power, guess)
        assert _cost(chance, fall, power) <= cost
        assert _cost(chance, fall * (1 + 1e-9), power) >= cost * (1 - 1e-12)
