"""Charges are integers, rounded up, and add up entry by entry."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from math import inf, nan

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.exact.figures import rounded
from dovetail.privacy import ORDERS, Charge
from dovetail.privacy.charge import DELTA_UNIT, UNIT, response_curve

entries = st.none() | st.integers(0, 10**14)
charges = st.builds(Charge, entries, entries, st.tuples(*[entries] * len(ORDERS)), st.integers(0, 10**18))


@given(charges, charges, charges)
def test_addition_is_exact_commutative_and_associative(one, two, three):
    assert one + two == two + one
    assert (one + two) + three == one + (two + three)
    assert one + Charge.zero() == one


@given(charges, st.integers(0, 20))
def test_times_is_repeated_addition(charge, uses):
    total = Charge.zero()
    for _ in range(uses):
        total = total + charge
    assert charge.times(uses) == total


@given(charges)
def test_a_charge_survives_json_and_pickle(charge):
    assert Charge.from_dict(json.loads(json.dumps(charge.to_dict()))) == charge
    assert pickle.loads(pickle.dumps(charge)) == charge


@given(st.fractions(0, 100), st.fractions(0, 1))
def test_rounding_never_goes_down_and_by_less_than_a_unit(epsilon, delta):
    charge = Charge.approximate(epsilon, delta)
    assert 0 <= charge.epsilon_units * UNIT - epsilon < UNIT
    assert 0 <= charge.delta_units * DELTA_UNIT - delta < DELTA_UNIT


@given(st.integers(1, 10**12))
def test_the_response_curve_is_just_above_that_of_randomised_response(units):
    with mpmath.workdps(60):
        epsilon = mpmath.mpf(units) / 10**9
        yes = 1 / (1 + mpmath.exp(-epsilon))
        no = 1 / (1 + mpmath.exp(epsilon))
        for order, bound in zip(ORDERS, response_curve(units), strict=True):
            truth = mpmath.log(yes**order * no ** (1 - order) + no**order * yes ** (1 - order)) / (order - 1)
            assert -1e-30 < bound - truth * 10**9 < 1.001


def test_tiny_charges_still_cost_something():
    charge = Charge.approximate("1e-30", "1e-40")
    assert charge.epsilon_units == 1
    assert charge.delta_units == 1
    assert min(charge.renyi_units) == 1


def test_infinite_losses_are_kept_as_none_and_stay_infinite():
    charge = Charge.rounded_up(epsilon=inf, zeta=inf, renyi=None, delta="1e-3")
    assert charge.epsilon_units is None
    assert charge.renyi_units == (None,) * len(ORDERS)
    assert (charge + Charge.approximate(1)).zeta is None
    assert "without bound" in str(charge)
    assert charge.times(0) == Charge.zero()


@pytest.mark.parametrize("wrong", [-1, True, 2.0, "2"])
def test_a_charge_is_taken_a_whole_number_of_times(wrong: object) -> None:
    with pytest.raises(InvalidParameter, match="uses"):
        Charge.approximate(1).times(wrong)  # type: ignore[arg-type]


def test_no_other_figure_exceeds_the_worst_case():
    charge = Charge.rounded_up(epsilon=1, zeta=3, renyi=lambda order: 5)
    assert charge.zeta_units == 10**9
    assert set(charge.renyi_units) == {10**9}


@pytest.mark.parametrize("bad", [nan, -1, -inf, True, "1_0", "x", None])
def test_impossible_figures_are_refused(bad):
    with pytest.raises(InvalidParameter):
        Charge.approximate(bad)


@pytest.mark.parametrize("bad", [-1, 0.5, True, "1"])
def test_units_must_be_whole_and_not_negative(bad):
    with pytest.raises(InvalidParameter):
        Charge(bad, 0, (0,) * len(ORDERS))
    with pytest.raises(InvalidParameter, match="zeta"):
        Charge(None, bad, (0,) * len(ORDERS))
    with pytest.raises(InvalidParameter, match="renyi"):
        Charge(0, 0, (*(0,) * (len(ORDERS) - 1), bad))
    with pytest.raises(InvalidParameter):
        Charge(0, 0, (0,) * len(ORDERS), bad)


def test_a_changed_set_of_orders_is_not_read_as_ours():
    data = Charge.zero().to_dict()
    data["renyi"] = {**data["renyi"], "2048": 0}
    with pytest.raises(InvalidParameter, match="orders"):
        Charge.from_dict(data)
    with pytest.raises(InvalidParameter):
        Charge.from_dict({"epsilon": 1})


@given(st.fractions(Fraction(1, 10**12), 10**6))
def test_shown_figures_round_to_the_safe_side(value):
    assert Fraction(rounded(value, down=True)) <= value <= Fraction(rounded(value))
