"""Response curves: exact tables, exact tests, and prices that widening does not change."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, Laplace
from dovetail.online import ResponseCurve
from dovetail.online.response_tables import FLOOR, MOST_ENTRIES, WHOLE


def test_a_rate_beyond_what_a_table_can_fall_costs_what_the_table_falls() -> None:
    """From about 60 on it was priced in floats that end before it, so a large budget was a fault."""
    curve = ResponseCurve.pure(10**9)
    assert curve.table == (WHOLE, FLOOR)
    with mpmath.workdps(30):
        assert 0 <= curve.slope - Fraction(str(40 * mpmath.log(2))) < Fraction(1, 10**4)
    assert curve.loss().epsilon == pytest.approx(float(curve.slope))


@pytest.mark.parametrize("rate", ["0.01", "0.3", "5"])
def test_a_pure_table_is_the_exponential_rounded_up(rate: str) -> None:
    table = ResponseCurve.pure(rate).table
    with mpmath.workdps(60):
        step = mpmath.exp(mpmath.mpf(Fraction(rate).numerator) / Fraction(rate).denominator)
        for t in (0, 1, 2, len(table) // 2, len(table) - 2):
            exact = WHOLE * step**-t
            assert exact <= table[t] <= exact + t + 1
        # The claim is exact: no step is steeper than the rate.
        assert all(p <= q * step for p, q in pairwise(table))
    assert table[0] == WHOLE
    assert table[-1] == FLOOR


@settings(max_examples=20, deadline=None)
@given(st.fractions(Fraction(1, 500), 1), st.integers(2, 64))
def test_a_designed_curve_costs_what_was_asked_and_is_as_steep_as_it_can_be(cost, order) -> None:
    curve = ResponseCurve.renyi(cost, order)
    figure = curve.loss().forward.renyi(order)
    assert float(cost) * (1 - 1e-6) <= figure <= float(cost)
    # Every step but the last costs nearly all of it: none could be steeper.
    pair = (curve.table[3], curve.table[4])
    if pair[1] > FLOOR:
        alone = ResponseCurve((WHOLE, *pair), 40.0)
        p, q = (Fraction(entry, WHOLE) for entry in pair)
        with mpmath.workdps(40):
            p, q = (mpmath.mpf(x.numerator) / x.denominator for x in (p, q))
            theta = p**order * q ** (1 - order) / (1 - (1 - p) ** order * (1 - q) ** (1 - order))
            assert mpmath.log(theta) / (order - 1) == pytest.approx(float(cost), rel=1e-6)
        assert alone.table[1] == pair[0]


def test_small_costs_tend_to_the_squared_hyperbolic_secant() -> None:
    """Where the cost is small, one firing costs one Gaussian count whose sigma is 1/k."""
    order, slope = 2, 0.005
    curve = ResponseCurve.renyi(order * slope**2 / 2, order)
    for t in (100, 300, 600):
        assert curve.probability(t) == pytest.approx(float(mpmath.sech(slope * t / 2) ** 2), rel=0.02)


@pytest.mark.parametrize("noise", [Geometric("0.4"), DiscreteGaussian(3)])
def test_the_textbook_curve_is_the_tail_of_its_noise(noise) -> None:
    curve = ResponseCurve.of(noise)
    for t in (-12, -1, 0, 1, 5, 20):
        assert curve.probability(t) == pytest.approx(float(noise.sf(t - 1)), abs=1e-11)
    assert curve.weight(curve.certain) == WHOLE > curve.weight(curve.certain + 1)


def test_a_test_is_a_comparison_with_all_64_bits() -> None:
    curve = ResponseCurve.pure("0.7")
    for t in (1, 3, 10, 10**9):
        weight = curve.weight(t)
        assert curve.fires(t, weight - 1)
        assert not curve.fires(t, weight)
    # 1 is 2^64, which no word of 64 bits reaches.
    assert curve.weight(0) == curve.weight(-5) == WHOLE
    assert curve.fires(0, WHOLE - 1)
    assert curve.weight(10**9) == FLOOR


@given(st.integers(1, 9), st.integers(-30, 60), st.integers(0, 9))
def test_a_wide_step_moves_at_most_one_entry(width: int, t: int, shift: int) -> None:
    curve = ResponseCurve.pure("0.5")
    wide = curve.widened(width)
    places = [curve.table.index(wide.weight(t + s)) for s in (0, min(shift, width))]
    assert places[1] - places[0] in (0, 1)
    assert wide.loss().worst == curve.loss().worst
    assert wide.probabilities([t])[0] == wide.probability(t)


@pytest.mark.parametrize("curve", [ResponseCurve.pure(2).widened(4), ResponseCurve.renyi("0.3", 5)])
def test_a_stored_curve_comes_back_entry_by_entry(curve: ResponseCurve) -> None:
    assert ResponseCurve.from_dict(curve.to_dict()) == curve


@pytest.mark.parametrize(
    "make",
    [
        lambda: ResponseCurve.pure(0),
        lambda: ResponseCurve.pure(float("nan")),
        lambda: ResponseCurve.pure("1e-9"),
        lambda: ResponseCurve.renyi("1e-10", 4),
        lambda: ResponseCurve.renyi("0.1", 1),
        lambda: ResponseCurve.renyi(-1, 4),
        lambda: ResponseCurve.of(Laplace(1)),
        lambda: ResponseCurve.of(Geometric("1e-6")),
        lambda: ResponseCurve.pure(1).widened(0),
        lambda: ResponseCurve((WHOLE, WHOLE // 2, WHOLE // 2 + 1), 1.0),
        lambda: ResponseCurve((WHOLE, 0), 1.0),
        lambda: ResponseCurve((WHOLE // 2, FLOOR), 1.0),
        lambda: ResponseCurve((WHOLE,), 1.0),
        lambda: ResponseCurve((WHOLE, WHOLE), 1.0),
        lambda: ResponseCurve((WHOLE, WHOLE // 2, FLOOR - 1), 1.0),
        lambda: ResponseCurve((WHOLE, *[FLOOR] * (MOST_ENTRIES + 2)), 1.0),
        lambda: ResponseCurve((WHOLE, FLOOR), 1.0, width=0),
        lambda: ResponseCurve((WHOLE, FLOOR), 1.0, width=2**31 + 1),
    ],
)
def test_what_is_no_curve_is_refused(make) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_what_is_just_a_curve_is_taken() -> None:
    assert ResponseCurve((WHOLE, FLOOR), 40.0, width=2**31).certain == 2**31 - 1
    assert ResponseCurve((WHOLE, WHOLE, WHOLE - 1, WHOLE - 1), 1.0).weight(1) == WHOLE
    assert ResponseCurve((WHOLE, *[FLOOR] * (MOST_ENTRIES + 1)), 40.0).weight(1) == FLOOR


@pytest.mark.parametrize("start", [-7, 0, 3])
def test_all_places_at_once_are_each_place_by_itself(start: int) -> None:
    table = (WHOLE, WHOLE - 5, WHOLE // 3, FLOOR)
    curve = ResponseCurve(table, 40.0, start, width=2)
    places = range(-30, 30)
    expected = [table[min(max(t // 2 - start, 0), 3)] for t in places]
    assert [curve.weight(t) for t in places] == expected
    assert curve.probabilities(places).tolist() == [weight / WHOLE for weight in expected]
    assert curve.certain == max(t for t, weight in zip(places, expected, strict=True) if weight == WHOLE)


def test_the_longest_table_is_still_quick_to_make() -> None:
    assert 0.9 * MOST_ENTRIES < len(ResponseCurve.pure("0.00011").table) <= MOST_ENTRIES + 2


def test_an_order_lies_between_its_limits_themselves_included() -> None:
    assert ResponseCurve.renyi("0.05", 10**4).table[0] == WHOLE
    assert ResponseCurve.renyi("0.05", "1.001").table[0] == WHOLE
    for wrong in (1, "1.0009", 10**4 + 1):
        with pytest.raises(InvalidParameter, match="order"):
            ResponseCurve.renyi("0.05", wrong)
